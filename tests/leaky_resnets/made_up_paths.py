"""Made-up layer steps, costs of identity, proofs, exact paths and descents in which every claim on them is right."""

import numpy as np
import xarray as xr
from tests.leaky_resnets.made_up import samples
from tests.made_up import changed

LAYER_COUNTS, IRREGULARITIES = np.array([17, 18]), np.array([0.5, 1.0])
SHORT = -IRREGULARITIES / (4 * 17**2)  # the sum of the printed steps of 17 layers less 1
STEPS = xr.Dataset(
    {
        "excess": (("layer_count", "irregularity"), [SHORT, 0 * SHORT]),
        "asymmetry": (("layer_count", "irregularity"), np.full((2, 2), 0.1)),
        "corrected_asymmetry": (("layer_count", "irregularity"), np.zeros((2, 2))),
        "float_error": (("layer_count", "irregularity"), np.zeros((2, 2))),
        "symmetric_error": (("layer_count", "irregularity"), np.full((2, 2), 0.1)),
        "cap": (("layer_count", "irregularity"), [-IRREGULARITIES / 34, 0 * SHORT]),
    },
    {"layer_count": LAYER_COUNTS, "irregularity": IRREGULARITIES},
)
ODD = {"layer_count": 17, "irregularity": 1.0}

BIAS, NEURON = [0, 1], ("bias", "negative_norm", "draw")
SHAPED, KICKED = ("bias", "shape", "draw"), ("draw", "kick")
COSTS = xr.Dataset(
    {
        "plain_cost": (SHAPED, np.full((2, 2, 2), 2.0)),
        "feasible": (SHAPED, [[[1, 1], [1, 1]], [[0, 1], [1, 1]]]),
        "bound_printed": (SHAPED, np.full((2, 2, 2), 1.9)),
        "bound_corrected": (SHAPED, np.full((2, 2, 2), 1.8)),
        "least_ratio": (("search", "start"), [[1.0, 1.5], [0.4, 0.9], [1.0, 1.5]]),
        "constant_cost": ("constant", [0.2, 0.5]),
        "constant_bound": ("constant", [0.2, 0.5]),
        "constant_bound_printed": ("constant", [1.0, 1.0]),
        "spectral_rank": (SHAPED, np.full((2, 2, 2), 1.5)),
        "nuclear_rank": (SHAPED, np.full((2, 2, 2), 2.0)),
        "full_rank": (SHAPED, np.full((2, 2, 2), 3.0)),
        "nonnegative_cost": (("bias", "rank", "row_space"), [[[2.0, 2.0], [3.0, 3.0]], [[2.0, 1.5], [3.0, 2.4]]]),
        "nonnegative_closed": (("bias", "rank", "row_space"), [[[2.0, 2.0], [3.0, 3.0]], [[2.0, 1.5], [3.0, 2.4]]]),
        "rank_change": (KICKED, [[1e-2, -1e-4], [1e-2, 1e-4]]),
        "rank_modulus": (KICKED, [[2e-2, 2e-4], [2e-2, 2e-4]]),
        "cost_change": (KICKED, np.full((2, 2), 0.3)),
        "scaling": (SHAPED, [[[0.0, 0.0], [0.0, 0.0]], [[0.1, 0.1], [-0.1, -0.1]]]),
        "scaling_up": (SHAPED, [[[0.0, 0.0], [0.0, 0.0]], [[0.1, 0.1], [0.1, 0.1]]]),
        "kept_change": (NEURON, np.full((2, 2, 2), -1.0)),
        "kept_change_printed": (NEURON, [[[-1.0] * 2, [-1.0] * 2], [[10.0] * 2, [-0.9] * 2]]),
        "slow_norm_change": (NEURON, np.full((2, 2, 2), -1.0)),
        "slow_norm_change_printed": (NEURON, [[[-1.0] * 2, [-1.0] * 2], [[10.0] * 2, [-0.9] * 2]]),
    },
    {
        "bias": BIAS,
        "shape": ["3 x 7", "9 x 4"],
        "rank": [2, 3],
        "row_space": ["without 1", "with 1"],
        "search": ["no bias, printed", "bias, printed", "bias, corrected"],
        "negative_norm": [0.3, 3.0],
    },
)
INFEASIBLE = {"bias": 1, "shape": "3 x 7"}
PROOFS = xr.Dataset(
    {
        "printed": (("draw", "equation"), np.zeros((2, 3))),
        "corrected": (("draw", "equation"), np.zeros((2, 3))),
        "control": (("draw", "equation"), np.ones((2, 3))),
        "end_activation": ("effective_depth", [1e-2, 1e-10]),
        "end_integrated": ("effective_depth", [1e-2, 1e-10]),
        "middle_activation": ("effective_depth", [1 - (1 - np.exp(-x)) / x for x in (1.25, 20.0)]),
    },
    {
        "equation": ["Prop. 2 positive neuron", "Prop. 2 added neuron", "Prop. 5 objective"],
        "effective_depth": [5.0, 80.0],
    },
)
NEAR = 1 - (1 - np.exp(-20.0)) / 20  # the added neuron at p_0, radius 1/4 and effective depth 80
DRAWN = ("bias", "draw")
RANDOM = xr.Dataset(
    {
        "drift": ((*DRAWN, "tolerance"), np.broadcast_to([1e-9, 1e-2], (2, 2, 2))),
        **{
            name: (DRAWN, np.full((2, 2), value))
            for name, value in {
                "wrong_drift": 1.0,
                "sign_changes": 3.0,
                "norm_gain_all": 0.5,
                "middle": -1.0,
                "upper": 1.0,
                "lower": -2.0,
                "lower_printed": -2.0,
                "lower_without": -0.5,
                "lagrangian_middle": 2.0,
                "slowest": -0.5,
                "slowest_doubled": -3.0,
                "fastest": 1.0,
                "fastest_without": 3.0,
            }.items()
        },
        "norm_gain": (DRAWN, [[0.0, 0.0], [2.0, 2.0]]),
        "norm_range": (DRAWN, [[0.0, 0.0], [0.5, 0.5]]),
    },
    {"bias": BIAS, "draw": [0, 1], "tolerance": [1e-12, 1e-8]},
)
P, LAB_DEPTHS, LAB = np.linspace(0, 1, 21), np.array([3.0, 24.0]), ("bias", "effective_depth", "seed", "p")
KICK = np.exp(LAB_DEPTHS[:, None, None] * (0.5 - P))  # relative speed toward p = 0
LABORATORY = xr.Dataset(
    {
        **{
            name: (LAB, np.full((2, 2, 2, 21), value))
            for name, value in {
                "scaled_hamiltonian": 3.0,
                "cost": 3.5,
                "gamma": 0.1,
                "momentum_sq": 1.0,
                "product": 10.0,
                "speed_gap": 0.5,
                "speed_gap_doubled": -3.0,
                "speed_gap_without": 3.0,
                "bias_sq": 1.0,
            }.items()
        },
        **{
            name: (LAB[:3], np.full((2, 2, 2), value))
            for name, value in {
                "drift": 1e-9,
                "wrong_drift": 1.0,
                "proportion": 0.99,
                "mirrored_proportion": 0.1,
                "share_near_rank": 0.5,
                "middle": -1.0,
            }.items()
        },
        "plain_speed": (LAB, np.broadcast_to(KICK, (2, 2, 2, 21))),
        "negative_mass": (LAB, np.broadcast_to(np.where(abs(P - 0.5) < 0.4, 1e-6, 0.4), (2, 2, 2, 21))),
        "weight_sq": (LAB, np.broadcast_to(1e-9 + 2 * LAB_DEPTHS[:, None, None] * P, (2, 2, 2, 21))),
    },
    {"bias": BIAS, "effective_depth": LAB_DEPTHS, "seed": [0, 1], "p": P, "rank": 3},
)
(LABORATORY,) = changed(LABORATORY, {"effective_depth": 3.0, "p": P[5]}, negative_mass=1e-2)
ONE_PATH = {"bias": 1, "effective_depth": 24.0, "seed": 1}
COUNTS, PATHS = np.array([20, 40, 160, 640]), ("bias", "seed", "layer_count")


def spreads(slopes):
    """Spreads that fall as a power of the layers from 40 on, a power for each of twenty paths."""
    powers = COUNTS ** np.asarray(slopes).reshape(2, 10, 1)
    powers[:, :, 0] = 1.0
    return powers


CRITICAL = xr.Dataset(
    {
        "spread": (PATHS, spreads(np.full(20, -1.0))),
        "momenta": (PATHS, np.zeros((2, 10, 4))),
        "momenta_shifted": (PATHS, np.ones((2, 10, 4))),
        "norm_gain": (PATHS, np.broadcast_to([[[0.0]], [[2.0]]], (2, 10, 4))),
        "norm_gain_all": (PATHS, np.full((2, 10, 4), 0.5)),
    },
    {"bias": BIAS, "seed": np.arange(10), "layer_count": COUNTS},
)
DEEPER, TURNS = np.array([80.0, 1280.0]), ["1 / 2", "Lt / 3"]
LIMIT = 10 * 7 / 1280  # ten times c / Lt at the largest Lt
GROWING_LOWER = np.array([-2.7, -2.4])
LOWER = -((np.array([[0.01, 0.001], [0.47, 0.47]]) + np.sqrt(7 / DEEPER)) ** 2)
SCALAR = xr.Dataset(
    {
        **{
            name: (("u", "c"), np.full((2, 2), value))
            for name, value in {
                "middle": -1.0,
                "upper": 1.0,
                "lower": -2.0,
                "lower_printed": -0.5,
                "other_sign_middle": 2.0,
            }.items()
        },
        "example": ("quantity", [-1.0, -1.0, -2.0, -2.0, -0.5]),
        "turning_gap": (("turn", "deeper"), [[0.08, 0.004], [0.2, 0.2]]),
        "turning_lower": (("turn", "deeper"), LOWER),
        "turning_lower_without": (("turn", "deeper"), np.ones((2, 2))),
        "turning_c": (("turn", "deeper"), np.full((2, 2), 7.0)),
        "turning_flow": (("turn", "deeper"), np.zeros((2, 2))),
        "turning_flow_back": (("turn", "deeper"), np.ones((2, 2))),
        "growing_gap": ("deeper", [-1.7, -1.7]),
        "growing_lower": ("deeper", GROWING_LOWER),
        "growing_lower_without": ("deeper", [-0.02, -0.001]),
        "growing_flow": ("deeper", [0.0, 0.0]),
    },
    {
        "quantity": ["middle", "middle by the flow", "lower", "lower by the closed form", "lower as printed"],
        "turn": TURNS,
        "deeper": DEEPER,
    },
)
FIXED_ANGLE, FIXED_RATE = ({"turn": turn, "deeper": 1280.0} for turn in TURNS)
ENDS = xr.Dataset(
    {
        "end_cost": (("case", "start"), np.full((3, 20), 3.0)),
        "end_rank": (("case", "start"), np.full((3, 20), 3.0)),
        "negative_mass": (("case", "start"), np.zeros((3, 20))),
        "negative_mass_at_start": (("case", "start"), np.full((3, 20), 0.5)),
        "slope": (("case", "start"), np.full((3, 20), 0.01)),
    },
    {"case": ["small", "large", "with bias"], "start": np.arange(20)},
)


def of_path(rate):
    """Relative speed of one trajectory that leaves the bottleneck at a rate over the effective depth."""
    return xr.DataArray(np.exp(rate * 24 * (0.5 - P)), {"p": P})


def slopes(border, halves):
    """Spreads whose exponents have an interval that ends near a border."""
    return xr.DataArray(spreads(samples(border, halves)), CRITICAL["spread"].coords)
