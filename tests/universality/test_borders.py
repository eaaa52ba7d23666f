"""Made-up data just inside and just outside of what each claim on the theory allows, with the verdict by name.

Claims on networks have theirs in `test_borders_default_network`, `test_borders_two_points` and
`test_borders_data_sets`. In a variable with several entries the last one alone is changed.
"""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.made_up import CORRECTED, HOLDS, REFUTED, Border, changed, claims_by_id, controls_that_do_not_turn, filled
from tests.universality import test_borders_data_sets, test_borders_default_network, test_borders_two_points

CLAIMS = claims_by_id("universality")
ROUNDING, SOLVED, STEPPED = 1e-11, 1e-7, 1e-6
AUDITED = {  # claim: equation of the audit, tolerance
    "uni-eq7-reduction": ("(7), (19)-(21)", SOLVED),
    "uni-eq9-loss": ("(9), (22)", SOLVED),
    "uni-eq10-final": ("(10), (36)", SOLVED),
    "uni-eq18-mean": ("(18)", SOLVED),
    "uni-eq23-24-invariant": ("(23), (24)", SOLVED),
    "uni-eq25-2d": ("(25)", ROUNDING),
    "uni-eq17-grad": ("(17)", ROUNDING),
    "uni-eq38-40-identical": ("(39), (40)", SOLVED),
    "uni-eq43-scaling": ("(42), (43)", ROUNDING),
}
SIGNED = {  # claim: equation, the signs stated with it, tolerance of the equation
    "uni-eq29-31-stable": ("(29)-(31)", "(30), (31) signs", ROUNDING),
    "uni-eq32-35-saddle": ("(32)-(35)", "(35) signs", STEPPED),
}


def audit(errors, control=1.0):
    """An audit of two draws: errors as printed and as corrected by equation, those of the second draw."""
    errors = errors | dict.fromkeys(("(17) middle", "(37), (38)"), (1.0, 1.0))  # in facts
    forms = zip(("printed", "corrected"), np.array(list(errors.values())).T, strict=True)
    data = {form: (("draw", "equation"), np.stack([0 * values, values])) for form, values in forms}
    wrong = {"control": (("draw", "equation"), np.full((2, len(errors)), control))}
    return xr.Dataset(data | wrong, {"equation": list(errors)})


@pytest.mark.parametrize("id", AUDITED)
def test_a_formula_is_decided_by_its_largest_error(id):
    equation, tolerance = AUDITED[id]
    inside, outside = 0.99 * tolerance, 1.01 * tolerance
    assert CLAIMS[id](audit({equation: (inside, inside)})).status == HOLDS
    assert CLAIMS[id](audit({equation: (outside, inside)})).status == CORRECTED
    assert CLAIMS[id](audit({equation: (outside, outside)})).status == REFUTED
    printed, status = (1.0, CORRECTED) if CLAIMS[id].correction else (0.0, HOLDS)
    assert controls_that_do_not_turn(CLAIMS[id], [audit({equation: (printed, 0.0)})], status) == {}


@pytest.mark.parametrize("id", SIGNED)
def test_an_equation_and_the_signs_stated_with_it_are_two_parts(id):
    equation, signs, tolerance = SIGNED[id]
    right = {equation: (0.99 * tolerance, 1.0), signs: (0.0, 1.0)}
    assert CLAIMS[id](audit(right)).status == HOLDS
    assert CLAIMS[id](audit(right | {equation: (1.01 * tolerance, 0.0)})).status == REFUTED
    assert CLAIMS[id](audit(right | {signs: (1.0, 0.0)})).status == REFUTED
    assert controls_that_do_not_turn(CLAIMS[id], [audit(right)], HOLDS) == {}


@pytest.mark.parametrize(("off", "status"), [(0.099, HOLDS), (-0.099, HOLDS), (0.101, REFUTED), (-0.101, REFUTED)])
def test_the_remainder_of_a_linear_approximation_has_the_exponent_2(off, status):
    assert CLAIMS["uni-eq5-taylor"](audit({"(5), (15)": (off, 0.0)})).status == status
    if status == HOLDS:
        assert controls_that_do_not_turn(CLAIMS["uni-eq5-taylor"], [audit({"(5), (15)": (off, 0.0)})], HOLDS) == {}


@pytest.mark.parametrize(("off", "status"), [(1.01e-3, HOLDS), (0.99e-3, REFUTED)])
def test_a_formula_off_by_a_thousandth_does_not_solve_the_system(off, status):
    assert CLAIMS["uni-closed-form"](audit({"closed form": (0.0, off)})).status == status
    assert controls_that_do_not_turn(CLAIMS["uni-closed-form"], [audit({"closed form": (0, 1e-9)})], REFUTED) == {}


DRAWS, CELLS = 1000, 4  # two ratios of rates, two gains
BAND = np.sqrt(np.log(2 * CELLS / 1e-3) / (2 * DRAWS)) + 1 / DRAWS  # Dvoretzky, Kiefer, Wolfowitz; union over cells
ERRORS = stats.norm.ppf(1 - 1e-3 / (2 * CELLS))  # standard errors, union over cells
LEVELS = np.linspace(0.1, 0.9, 5)
CELL = ("rho", "gain")


def law(printed, corrected, mean_printed, mean_corrected):
    """Distances of the two laws from the drawn one at the last level, and of their means in standard errors."""
    off = {name: np.zeros((2, 2, 5)) for name in ("printed", "corrected")}
    means = {name: np.zeros((2, 2)) for name in ("mean_printed", "mean_corrected")}
    for values, worst in zip(
        (*off.values(), *means.values()), (printed, corrected, mean_printed, mean_corrected), strict=True
    ):
        values.reshape(-1)[-1] = worst
    return xr.Dataset(
        {name: ((*CELL, "level"), LEVELS + values) for name, values in off.items()}
        | {name: (CELL, 0.6 + values * 0.1 / np.sqrt(DRAWS)) for name, values in means.items()}
        | {"deviation": (CELL, np.full((2, 2), 0.1)), "mean": (CELL, np.full((2, 2), 0.6)), "draws": DRAWS},
        {"level": LEVELS, "gain": [0.3, 0.01]},
    )


INSIDE, OUTSIDE = 0.99, 1.01


@pytest.mark.parametrize(
    ("printed", "corrected", "status"),
    [
        ((INSIDE, INSIDE), (9, 9), HOLDS),
        ((-INSIDE, -INSIDE), (9, 9), HOLDS),
        ((OUTSIDE, 0), (INSIDE, INSIDE), CORRECTED),
        ((0, -OUTSIDE), (INSIDE, INSIDE), CORRECTED),
        ((9, 9), (OUTSIDE, 0), REFUTED),
        ((9, 9), (-OUTSIDE, 0), REFUTED),
        ((9, 9), (0, OUTSIDE), REFUTED),
    ],
)
def test_random_features_are_those_of_a_law_and_its_mean(printed, corrected, status):
    data = law(printed[0] * BAND, corrected[0] * BAND, printed[1] * ERRORS, corrected[1] * ERRORS)
    assert CLAIMS["uni-eq44-48-random"](data).status == status
    if status == CORRECTED:
        both = law(2 * BAND, 0.0, 2 * ERRORS, 0.0)
        assert controls_that_do_not_turn(CLAIMS["uni-eq44-48-random"], [both], CORRECTED) == {}


SPREAD = xr.Dataset(
    {
        "deviation": (("gain", "rho"), [[0.2, 0.2], [0.001, 0.001]]),
        "mean": (("gain", "rho"), [[0.7, 0.7], [0.6, 0.6]]),
        "low": ("rho", [0.6, 0.6]),
    },
    {"gain": [0.3, 0.01]},
)
RHO, SIZES = np.array([0.1, 10.0]), np.array([1e-6, 1.0, 1e6])
HIGH = SIZES * np.array([[0.5], [-0.5]])
LOW = np.sqrt(RHO[:, None] * 0.5) * np.ones(3)
REGIMES = xr.Dataset(
    filled(("rho", "size"), (2, 3), regime_high=HIGH, regime_low=LOW, regime_printed=HIGH)
    | filled(("rho", "size"), (2, 3), regime_corrected=np.maximum(HIGH, 0))
    | {"regime_h": (("rho", "size"), np.where(SIZES > 1, np.maximum(HIGH, 0), LOW)), "dy2": 0.5},
    {"rho": RHO, "size": SIZES},
).isel(rho=[1, 0])  # the positive limit last, so that the last entry counts for both forms
POSITIVE = REGIMES.isel(rho=[1, 1])
SCALE = np.array([1.0, 0.1, 0.01, 0.001])
LARGE = np.array([10.0, 100.0, 1000.0])
STARTS, DIRECTIONS = ["decoder larger", "encoder larger"], ["along the target", "across it", "at a slant"]
FALLING, CUBED = 1 / LARGE, LARGE**2
WAITS = [[FALLING, (4 * np.log(LARGE) + 1) * CUBED, np.log(9) * CUBED], [FALLING, FALLING, FALLING]]
MAPS = xr.Dataset(
    filled(("start", "scale"), (2, 4), plateau_half=-np.log(SCALE) / 0.01)
    | filled(("start", "large_scale"), (2, 3), large_growth=1 / CUBED, large_high=np.outer([-1, 1], CUBED))
    | {"learning_time": (("start", "direction", "large_scale"), WAITS)}
    | {"plateau_growth": 0.01, "plateau_growth_wrong": 0.1, "direction_cosine": ("direction", [1.0, 0.0, 0.5])},
    {"start": STARTS, "direction": DIRECTIONS, "large_scale": LARGE, "scale": SCALE},
)
FOLD = np.log(10) / 0.01  # time by which the half time grows over the last step of the scale
# claim: world, verdict in it, per variable values just inside and values just outside with the verdict there
CASES = {
    "uni-a6-limit": (
        SPREAD,
        HOLDS,
        {
            "deviation": ([0.99 * 0.012], [1.01 * 0.012], REFUTED),
            "mean": ([0.6 + 0.0119, 0.6 - 0.0119], [0.6 + 0.0121, 0.6 - 0.0121], REFUTED),
        },
    ),
    "uni-s41-large": (
        REGIMES,
        CORRECTED,
        {"regime_h": ([0.5e6 + 9.9, 0.5e6 - 9.9], [0.5e6 + 10.1, 0.5e6 - 10.1], REFUTED)},
    ),
    "uni-s32-plateau": (
        MAPS,
        CORRECTED,
        {
            "plateau_half": (
                [3 * FOLD + 0.0099 * FOLD, 3 * FOLD - 0.0099 * FOLD],
                [3 * FOLD + 0.0101 * FOLD, 3 * FOLD - 0.0101 * FOLD],
                REFUTED,
            ),
            "learning_time": ([0.999 * FALLING[1]], [1.001 * FALLING[1]], REFUTED),
        },
    ),
    "uni-a5-decay": (MAPS, CORRECTED, {"learning_time": ([0.999 * FALLING[1]], [1.001 * FALLING[1]], REFUTED)}),
}
PRINTED = {  # claims that hold as corrected: a world in which they hold as printed
    "uni-s41-large": POSITIVE,
    "uni-s32-plateau": MAPS.isel(start=[1, 1]),
}


@pytest.mark.parametrize("id", CASES)
def test_a_verdict_changes_at_its_boundary_and_not_before(id):
    world, status, variables = CASES[id]
    assert controls_that_do_not_turn(CLAIMS[id], [world], status) == {}
    for name, (inside, outside, turned) in variables.items():
        for value in inside:
            assert CLAIMS[id](*changed([world], **{name: value})).status == status, (name, value)
        for value in outside:
            assert CLAIMS[id](*changed([world], **{name: value})).status == turned, (name, value)


@pytest.mark.parametrize("id", PRINTED)
def test_a_corrected_claim_would_hold_as_printed_where_the_printed_form_is_right(id):
    assert CLAIMS[id](PRINTED[id]).status == HOLDS


STEP = 4 * np.log(10) / (4 * np.log(1000) + 1)  # by which the wait across the target grows over the last step
FACTORS = [  # claim, data, variable, place, factor there, verdict
    *(("uni-s41-large", POSITIVE, "regime_printed", (-1, -1), 1 + off, HOLDS) for off in (1.98e-5, -1.98e-5)),
    *(("uni-s41-large", POSITIVE, "regime_printed", (-1, -1), 1 + off, CORRECTED) for off in (2.02e-5, -2.02e-5)),
    *(("uni-s41-small", REGIMES, "regime_h", (1, 0), 1 + off, HOLDS) for off in (0.99e-4, -0.99e-4)),
    *(("uni-s41-small", REGIMES, "regime_h", (1, 0), 1 + off, REFUTED) for off in (1.01e-4, -1.01e-4)),
    ("uni-s41-small", REGIMES, "regime_h", (1, 1), 1.5, HOLDS),  # the smallest weights alone count
    *(("uni-a5-decay", MAPS, "learning_time", (0, 2, -1), factor, CORRECTED) for factor in (1.0099, 0.9901)),
    *(("uni-a5-decay", MAPS, "learning_time", (0, 2, -1), factor, REFUTED) for factor in (1.0101, 0.9899)),
    ("uni-a5-decay", MAPS, "learning_time", (0, 2, -2), 0.9, CORRECTED),  # the law at an angle is of the largest scale
    *(("uni-a5-decay", MAPS, "learning_time", (0, 1, -1), 1 + off * STEP, CORRECTED) for off in (0.0199, -0.0199)),
    *(("uni-a5-decay", MAPS, "learning_time", (0, 1, -1), 1 + off * STEP, REFUTED) for off in (0.0201, -0.0201)),
]


@pytest.mark.parametrize(("id", "data", "name", "place", "factor", "status"), FACTORS)
def test_a_factor_at_one_place_changes_the_verdict_at_its_boundary(id, data, name, place, factor, status):
    assert CLAIMS[id](*changed(data, place, **{name: data[name].values[place] * factor})).status == status


def test_every_control_of_small_weights_changes_its_part():
    assert controls_that_do_not_turn(CLAIMS["uni-s41-small"], [REGIMES], HOLDS) == {}


def test_only_steps_between_small_scales_count_for_the_plateau():
    data = MAPS.copy(deep=True)
    data["plateau_half"][:, 0] = 1e4
    assert CLAIMS["uni-s32-plateau"](data).status == CORRECTED
    data["plateau_half"][0, 1] += 0.0101 * FOLD
    assert CLAIMS["uni-s32-plateau"](data).status == REFUTED


@pytest.mark.parametrize(
    ("degrees", "status"), [(0.0, REFUTED), (0.1, CORRECTED), (180.0, REFUTED), (179.9, CORRECTED)]
)
@pytest.mark.parametrize("id", ["uni-s32-plateau", "uni-a5-decay"])
def test_starts_on_the_targets_line_may_not_wait(id, degrees, status):
    cosine = np.cos(np.radians([0.0, 90.0, 60.0, degrees]))
    data = MAPS.isel(direction=[0, 1, 2, 2]).assign_coords(direction=[*DIRECTIONS, "one more"])
    data = data.assign(direction_cosine=("direction", [1.0, 0.0, 0.5, cosine[-1]]))
    assert CLAIMS[id](data).status == status


def test_where_nothing_waits_the_loss_decays_as_printed():
    """Times that fall for every start; what starts across the target do is then no part of the sentence."""
    data = MAPS.copy(deep=True)
    data["learning_time"][:] = FALLING
    assert CLAIMS["uni-a5-decay"](data).status == HOLDS
    data["learning_time"][-1, -1, -1] = 1.001 * FALLING[1]
    assert CLAIMS["uni-a5-decay"](data).status == REFUTED


OF_NETWORKS = (test_borders_default_network, test_borders_two_points, test_borders_data_sets)
BORDERS = [row for module in OF_NETWORKS for row in module.BORDERS]
RIGHT = [row for module in OF_NETWORKS for row in module.RIGHT]
CASES_OF_NETWORKS = {id: cases for module in OF_NETWORKS for id, cases in module.CASES.items()}


@pytest.mark.parametrize("row", BORDERS, ids=lambda row: row[0])
def test_an_interval_inside_across_and_outside_of_a_boundary_has_its_verdict(row):
    id, world, at, above, share, outside, inside = (*row, *(1, REFUTED, HOLDS)[len(row) - 4 :])
    cases = Border(world, at, above, share, outside=outside, inside=inside).cases()
    assert [CLAIMS[id](*world(values)).status for values, _ in cases] == [status for _, status in cases]


@pytest.mark.parametrize("id", CASES_OF_NETWORKS)
def test_datasets_inside_and_outside_of_a_boundary_have_their_verdict(id):
    cases = CASES_OF_NETWORKS[id]
    assert [CLAIMS[id](*datasets).status for datasets, _ in cases] == [status for _, status in cases]


@pytest.mark.parametrize(("id", "datasets", "status"), RIGHT)
def test_every_control_changes_its_part(id, datasets, status):
    assert controls_that_do_not_turn(CLAIMS[id], datasets, status) == {}


def test_every_claim_has_boundary_cases():
    here = {*AUDITED, *SIGNED, *CASES, "uni-eq5-taylor", "uni-closed-form", "uni-eq44-48-random", "uni-s41-small"}
    assert set(CLAIMS) == here.union(CASES_OF_NETWORKS, (row[0] for row in BORDERS))
