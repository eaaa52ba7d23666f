"""Made-up layer steps, costs of identity, proofs, exact paths and descents in which every claim on them is right."""

import numpy as np
import xarray as xr
from tests.leaky_resnets.made_up import samples
from tests.made_up import changed, filled

LAYER_COUNTS, IRREGULARITIES = np.array([17, 18]), np.array([0.5, 1.0])
SHORT = -IRREGULARITIES / (4 * 17**2)  # the sum of the printed steps of 17 layers less 1
STEPS = xr.Dataset(
    filled(
        ("layer_count", "irregularity"),
        (2, 2),
        excess=[SHORT, 0 * SHORT],
        cap=[-IRREGULARITIES / 34, 0 * SHORT],
        **dict.fromkeys(("asymmetry", "symmetric_error"), 0.1),
        **dict.fromkeys(("corrected_asymmetry", "float_error"), 0.0),
    ),
    {"layer_count": LAYER_COUNTS, "irregularity": IRREGULARITIES},
)
ODD = {"layer_count": 17, "irregularity": 1.0}

BIAS, NEURON = [0, 1], ("bias", "negative_norm", "draw")
SHAPED, KICKED = ("bias", "shape", "draw"), ("draw", "kick")
CLOSED, KEPT = (
    [[[2.0, 2.0], [3.0, 3.0]], [[2.0, 1.5], [3.0, 2.4]]],
    [[[-1.0] * 2, [-1.0] * 2], [[10.0] * 2, [-0.9] * 2]],
)
OF_BIAS = [[[0.0, 0.0], [0.0, 0.0]], [[0.1, 0.1], [-0.1, -0.1]]]
COSTS = xr.Dataset(
    filled(SHAPED, (2, 2, 2), plain_cost=2.0, feasible=[[[1, 1], [1, 1]], [[0, 1], [1, 1]]], scaling=OF_BIAS)
    | filled(SHAPED, (2, 2, 2), bound_printed=1.9, bound_corrected=1.8, scaling_up=np.abs(OF_BIAS))
    | filled(SHAPED, (2, 2, 2), spectral_rank=1.5, nuclear_rank=2.0, full_rank=3.0)
    | filled(("search", "start"), (3, 2), least_ratio=[[1.0, 1.5], [0.4, 0.9], [1.0, 1.5]])
    | filled(["constant"], [2], constant_cost=[0.2, 0.5], constant_bound=[0.2, 0.5], constant_bound_printed=1.0)
    | filled(("bias", "rank", "row_space"), (2, 2, 2), nonnegative_cost=CLOSED, nonnegative_closed=CLOSED)
    | filled(KICKED, (2, 2), rank_change=[[1e-2, -1e-4], [1e-2, 1e-4]], rank_modulus=[2e-2, 2e-4], cost_change=0.3)
    | filled(NEURON, (2, 2, 2), kept_change=-1.0, kept_change_printed=KEPT)
    | filled(NEURON, (2, 2, 2), slow_norm_change=-1.0, slow_norm_change_printed=KEPT),
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
    filled(("draw", "equation"), (2, 3), printed=0.0, corrected=0.0, control=1.0)
    | filled(["effective_depth"], [2], end_activation=[1e-2, 1e-10], end_integrated=[1e-2, 1e-10])
    | {"middle_activation": ("effective_depth", [1 - (1 - np.exp(-x)) / x for x in (1.25, 20.0)])},
    {
        "equation": ["Prop. 2 positive neuron", "Prop. 2 added neuron", "Prop. 5 objective"],
        "effective_depth": [5.0, 80.0],
    },
)
NEAR = 1 - (1 - np.exp(-20.0)) / 20  # the added neuron at p_0, radius 1/4 and effective depth 80
DRAWN = ("bias", "draw")
RANDOM = xr.Dataset(
    filled((*DRAWN, "tolerance"), (2, 2, 2), drift=[1e-9, 1e-2])
    | filled(DRAWN, (2, 2), wrong_drift=1.0, sign_changes=3.0, norm_gain_all=0.5, lagrangian_middle=2.0)
    | filled(DRAWN, (2, 2), middle=-1.0, upper=1.0, lower=-2.0, lower_printed=-2.0, lower_without=-0.5)
    | filled(DRAWN, (2, 2), slowest=-0.5, slowest_doubled=-3.0, fastest=1.0, fastest_without=3.0)
    | filled(DRAWN, (2, 2), norm_gain=[[0.0], [2.0]], norm_range=[[0.0], [0.5]]),
    {"bias": BIAS, "draw": [0, 1], "tolerance": [1e-12, 1e-8]},
)
P, LAB_DEPTHS, LAB = np.linspace(0, 1, 21), np.array([3.0, 24.0]), ("bias", "effective_depth", "seed", "p")
KICK = np.exp(LAB_DEPTHS[:, None, None] * (0.5 - P))  # relative speed toward p = 0
OF_PATH, OF_PLACE, ENDS_NEGATIVE = (2, 2, 2), (2, 2, 2, 21), np.where(abs(P - 0.5) < 0.4, 1e-6, 0.4)
LABORATORY = xr.Dataset(
    filled(LAB, OF_PLACE, scaled_hamiltonian=3.0, cost=3.5, gamma=0.1, momentum_sq=1.0, product=10.0, bias_sq=1.0)
    | filled(LAB, OF_PLACE, speed_gap=0.5, speed_gap_doubled=-3.0, speed_gap_without=3.0)
    | filled(LAB, OF_PLACE, plain_speed=KICK, negative_mass=ENDS_NEGATIVE)
    | filled(LAB, OF_PLACE, weight_sq=1e-9 + 2 * LAB_DEPTHS[:, None, None] * P)
    | filled(LAB[:3], OF_PATH, drift=1e-9, wrong_drift=1.0, share_near_rank=0.5, middle=-1.0)
    | filled(LAB[:3], OF_PATH, proportion=0.99, mirrored_proportion=0.1),
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
    filled(PATHS, (2, 10, 4), spread=spreads(np.full(20, -1.0)), momenta=0.0, momenta_shifted=1.0)
    | filled(PATHS, (2, 10, 4), norm_gain=[[[0.0]], [[2.0]]], norm_gain_all=0.5),
    {"bias": BIAS, "seed": np.arange(10), "layer_count": COUNTS},
)
DEEPER, TURNS = np.array([80.0, 1280.0]), ["1 / 2", "Lt / 3"]
LIMIT = 10 * 7 / 1280  # ten times c / Lt at the largest Lt
GROWING_LOWER = np.array([-2.7, -2.4])
LOWER = -((np.array([[0.01, 0.001], [0.47, 0.47]]) + np.sqrt(7 / DEEPER)) ** 2)
SCALAR = xr.Dataset(
    filled(("u", "c"), (2, 2), middle=-1.0, upper=1.0, lower=-2.0, lower_printed=-0.5, other_sign_middle=2.0)
    | {"example": ("quantity", [-1.0, -1.0, -2.0, -2.0, -0.5])}
    | filled(("turn", "deeper"), (2, 2), turning_gap=[[0.08, 0.004], [0.2, 0.2]], turning_lower=LOWER, turning_c=7.0)
    | filled(("turn", "deeper"), (2, 2), turning_lower_without=1.0, turning_flow=0.0, turning_flow_back=1.0)
    | filled(["deeper"], [2], growing_gap=-1.7, growing_lower=GROWING_LOWER, growing_flow=0.0)
    | {"growing_lower_without": ("deeper", [-0.02, -0.001])},
    {
        "quantity": ["middle", "middle by the flow", "lower", "lower by the closed form", "lower as printed"],
        "turn": TURNS,
        "deeper": DEEPER,
    },
)
FIXED_ANGLE, FIXED_RATE = ({"turn": turn, "deeper": 1280.0} for turn in TURNS)
ENDS = xr.Dataset(
    filled(("case", "start"), (3, 20), end_cost=3.0, end_rank=3.0, slope=0.01)
    | filled(("case", "start"), (3, 20), negative_mass=0.0, negative_mass_at_start=0.5),
    {"case": ["small", "large", "with bias"], "start": np.arange(20)},
)


def of_path(rate):
    """Relative speed of one trajectory that leaves the bottleneck at a rate over the effective depth."""
    return xr.DataArray(np.exp(rate * 24 * (0.5 - P)), {"p": P})


def slopes(border, halves):
    """Spreads whose exponents have an interval that ends near a border."""
    return xr.DataArray(spreads(samples(border, halves)), CRITICAL["spread"].coords)
