"""Made-up data just inside and just outside of what claims on formulas and exact paths allow, the verdict by name.

Claims on trained networks are in `test_boundaries_trained` and `test_boundaries_settings`.
"""

import numpy as np
import pytest
import xarray as xr
from tests.leaky_resnets import made_up_paths as paths
from tests.leaky_resnets.made_up import CLAIMS, decided
from tests.made_up import CORRECTED, HOLDS, READING, REFUTED, UNDECIDED, changed

from repdyn.base.errors import NotEnoughDataError

AUDITED = {  # claim: equation of the audit, tolerance
    "lrn-sym-range": ("1.2 range of p", 1e-5),
    "lrn-sym-output": ("1.2 scale of outputs", 1e-5),
    "lrn-lt-zero": ("1.1 no leak", 1e-12),
    "lrn-lagr-weights": ("1.3 least weights", 1e-9),
    "lrn-lagr-terms": ("1.3 three terms", 1e-9),
    "lrn-linear-remark": ("footnote 1", 1e-9),
    "lrn-zero-representation": ("1.3 zero representation", 1e-12),
    "lrn-infinite-terms": ("1.3 infinite terms", 1e-5),
    "lrn-a3-connected": ("A.3 fully connected", 1e-9),
    "lrn-ham-eqs": ("1.5 Hamilton's equations", 1e-8),
    "lrn-ham-split": ("2.1 split of H", 1e-9),
    "lrn-thm4-identity": ("Theorem 7 identity", 1e-9),
    "lrn-e14-gamma": ("2.1 gamma_p", 1e-9),
    "lrn-lagr-neurons": ("1.3 neurons", 1e-9),
    "lrn-lagr-kernel": ("1.3 covariance", 1e-12),
    "lrn-potential-inverse": ("4 potential energy", 1e-9),
    "lrn-prop3": ("Prop. 3 merged neurons", 1e-8),
    "lrn-prop5-norm": ("Prop. 8 norm", 1e-5),
}


def audit(equation, printed, corrected):
    """An audit of two draws with and without bias; the errors given are those of the last, of this equation."""
    errors = {"printed": printed, "corrected": corrected}
    data = {name: (("bias", "draw", "equation"), [[[0.0], [0.0]], [[0.0], [e]]]) for name, e in errors.items()}
    return xr.Dataset(data | {"control": (("bias", "draw", "equation"), np.ones((2, 2, 1)))}, {"equation": [equation]})


def test_a_formula_is_decided_by_its_largest_error():
    failed = []
    for id, (equation, tolerance) in AUDITED.items():
        inside, outside = 0.99 * tolerance, 1.01 * tolerance
        errors = ((inside, inside), (outside, inside), (outside, outside))
        found = [CLAIMS[id](audit(equation, *pair)).status for pair in errors]
        control = decided(id, (audit(equation, inside, inside),))
        failed += [id] if (found, control) != ([HOLDS, CORRECTED, REFUTED], (HOLDS, "rejected")) else []
    assert failed == []


UP, DOWN = 1 + 0.99e-4, 1 + 1.01e-4
WITHOUT, POSITIVE = {"bias": 1, "row_space": "without 1"}, {"equation": "Prop. 2 positive neuron"}
DATA = {  # claim: data, verdict on them
    "lrn-rho-sum": ((paths.STEPS,), CORRECTED),
    "lrn-rho-cap": ((paths.STEPS,), HOLDS),
    **dict.fromkeys(("lrn-prop1", "lrn-prop5-neuron"), ((paths.COSTS,), CORRECTED)),
    **dict.fromkeys(
        ("lrn-stable-rank", "lrn-coi-rank", "lrn-coi-bias", "lrn-rank-continuous", "lrn-e9-strict"),
        ((paths.COSTS,), HOLDS),
    ),
    "lrn-prop2": ((paths.PROOFS, paths.COSTS), HOLDS),
    "lrn-prop2-neuron": ((paths.PROOFS, paths.COSTS), CORRECTED),
    "lrn-prop5": ((paths.PROOFS, paths.COSTS, paths.LABORATORY), HOLDS),
    "lrn-e13-ends": ((paths.PROOFS,), CORRECTED),
    "lrn-ham-conserved": ((paths.RANDOM, paths.LABORATORY), HOLDS),
    "lrn-ham-discrete": ((paths.CRITICAL,), HOLDS),
    "lrn-prop9": ((paths.RANDOM, paths.CRITICAL), CORRECTED),
    **dict.fromkeys(("lrn-prop5-limit", "lrn-geodesic-lab"), ((paths.LABORATORY,), HOLDS)),
    "lrn-thm4-upper": ((paths.RANDOM, paths.SCALAR, paths.LABORATORY), HOLDS),
    "lrn-thm4-lower": ((paths.RANDOM, paths.SCALAR, paths.LABORATORY), CORRECTED),
    "lrn-thm4-speed": (changed((paths.RANDOM, paths.LABORATORY), cost=2.9), CORRECTED),
    "lrn-thm4-close": ((paths.SCALAR,), CORRECTED),
    "lrn-prop2-descent": ((paths.ENDS,), HOLDS),
}
# claim, variable, a value just inside, one just outside, the verdict there, labels if it is not the last entry
BORDERS = [
    ("lrn-rho-sum", "excess", 0.99e-15, 1.01e-15, REFUTED),
    ("lrn-rho-sum", "excess", paths.SHORT[1] - 0.99e-15, paths.SHORT[1] - 1.01e-15, REFUTED, paths.ODD),
    ("lrn-rho-sum", "corrected_asymmetry", 0.99e-12, 1.01e-12, REFUTED),
    ("lrn-rho-sum", "float_error", 0.99e-15, 1.01e-15, REFUTED),
    ("lrn-rho-cap", "cap", 0.99e-15, 1.01e-15, REFUTED),
    ("lrn-rho-cap", "cap", -0.99e-15, -1.01e-15, REFUTED),  # at even L the largest step is needed
    ("lrn-rho-cap", "cap", 0.99e-15, 1.01e-15, REFUTED, paths.ODD),
    ("lrn-prop1", "plain_cost", 1.8 * (1 - 0.99e-9), 1.8 * (1 - 1.01e-9), REFUTED),
    ("lrn-prop1", "least_ratio", 1 - 0.99e-9, 1 - 1.01e-9, REFUTED),
    ("lrn-prop1", "least_ratio", [1.0099, 1.5], [1.0101, 1.5], REFUTED, {"search": "bias, corrected"}),
    ("lrn-prop1", "least_ratio", [1.0099, 1.5], [1.0101, 1.5], REFUTED, {"search": "no bias, printed"}),
    ("lrn-prop1", "constant_cost", 0.5 + 0.99e-12, 0.5 + 1.01e-12, REFUTED),
    ("lrn-stable-rank", "spectral_rank", 2 * (1 + 0.99e-12), 2 * (1 + 1.01e-12), REFUTED),
    ("lrn-stable-rank", "full_rank", 2 * (1 - 0.99e-12), 2 * (1 - 1.01e-12), REFUTED),
    ("lrn-coi-rank", "nonnegative_cost", 3 - 0.99e-9, 3 - 1.01e-9, REFUTED, {"bias": 0, "rank": 3}),
    ("lrn-coi-rank", "nonnegative_cost", 3 + 0.99e-9, 3 + 1.01e-9, REFUTED, {"bias": 0, "rank": 3}),
    ("lrn-coi-bias", "nonnegative_cost", 2.4 + 0.99e-9, 2.4 + 1.01e-9, REFUTED),
    ("lrn-coi-bias", "nonnegative_closed", 2 + 0.99e-9, 2 + 1.01e-9, REFUTED, WITHOUT | {"rank": 2}),
    ("lrn-rank-continuous", "rank_change", 2e-4 * (1 + 0.99e-6), 2e-4 * (1 + 1.01e-6), REFUTED),
    ("lrn-rank-continuous", "rank_change", -2e-4 * (1 + 0.99e-6), -2e-4 * (1 + 1.01e-6), REFUTED),
    ("lrn-rank-continuous", "cost_change", 0.101, 0.099, REFUTED),
    ("lrn-rank-continuous", "cost_change", -0.101, -0.099, REFUTED),
    ("lrn-prop2", "scaling", -1.01e-6, -0.99e-6, REFUTED),
    ("lrn-prop2", "kept_change", -0.99901, -0.99899, REFUTED),
    ("lrn-prop2", "corrected", 0.99e-5, 1.01e-5, REFUTED, POSITIVE),
    ("lrn-prop2", "nonnegative_cost", 3 + 0.99e-9, 3 + 1.01e-9, REFUTED, WITHOUT | {"rank": 3}),
    ("lrn-prop2-neuron", "kept_change", -0.99901, -0.99899, REFUTED),
    ("lrn-prop2-neuron", "corrected", 0.99e-5, 1.01e-5, REFUTED, POSITIVE),
    ("lrn-prop2-neuron", "corrected", 0.99e-5, 1.01e-5, REFUTED, {"equation": "Prop. 2 added neuron"}),
    ("lrn-e9-strict", "scaling", 0.99e-9, 1.01e-9, REFUTED),
    ("lrn-e9-strict", "scaling", 0.99e-9, 1.01e-9, REFUTED, {"bias": 0, "shape": "9 x 4"}),
    ("lrn-prop5", "slow_norm_change", -0.99901, -0.99899, REFUTED),
    ("lrn-prop5", "corrected", 0.99e-5, 1.01e-5, REFUTED, {"equation": "Prop. 5 objective"}),
    ("lrn-prop5", "weight_sq", 48 / (1 + 0.99e-3), 48 / (1 + 1.01e-3), REFUTED, paths.ONE_PATH | {"p": 1.0}),
    ("lrn-prop5-neuron", "slow_norm_change", -0.99901, -0.99899, REFUTED),
    ("lrn-e13-ends", ("end_activation", "end_integrated"), 0.99e-3, 1.01e-3, REFUTED),
    ("lrn-e13-ends", "end_integrated", 1e-10 * (1 + 0.99e-6), 1e-10 * (1 + 1.01e-6), REFUTED),
    ("lrn-e13-ends", "middle_activation", paths.NEAR + 0.99e-9, paths.NEAR + 1.01e-9, REFUTED),
    ("lrn-e13-ends", "middle_activation", paths.NEAR - 0.99e-9, paths.NEAR - 1.01e-9, REFUTED),
    ("lrn-ham-conserved", "0.drift", 0.99e-5, 1.01e-5, REFUTED, {"bias": 0, "draw": 1, "tolerance": 1e-12}),
    ("lrn-ham-conserved", "1.drift", 0.99e-5, 1.01e-5, REFUTED),
    ("lrn-ham-discrete", "momenta", 0.99e-11, 1.01e-11, REFUTED),
    ("lrn-ham-discrete", "spread", paths.slopes(-0.9, -1.01), paths.slopes(-0.9, 1.01), REFUTED, {}),
    ("lrn-ham-discrete", "spread", paths.slopes(-0.9, -1.01), paths.slopes(-0.9, -0.99), UNDECIDED, {}),
    ("lrn-ham-discrete", "spread", paths.slopes(-1.1, 1.01), paths.slopes(-1.1, -1.01), REFUTED, {}),
    ("lrn-prop9", "0.norm_gain", 2.0099, 2.0101, REFUTED),
    ("lrn-prop9", "0.norm_gain", 1.9901, 1.9899, REFUTED),
    ("lrn-prop9", "1.norm_gain", 2 + 0.99 * 20 / 640, 2 + 1.01 * 20 / 640, REFUTED),
    ("lrn-prop9", "norm_range", 0.99e-5, 1.01e-5, REFUTED, {"bias": 0, "draw": 1}),
    ("lrn-prop5-limit", "negative_mass", 0.99e-4, 1.01e-4, REFUTED, paths.ONE_PATH | {"p": paths.P[5]}),
    ("lrn-prop5-limit", "negative_mass", 0.99e-4, 1.01e-4, REFUTED, paths.ONE_PATH | {"p": paths.P[15]}),
    ("lrn-prop5-limit", "negative_mass", 1.01e-4, 0.99e-4, REFUTED, {"effective_depth": 3.0, "p": paths.P[5]}),
    ("lrn-geodesic-lab", "plain_speed", paths.of_path(1.49), paths.of_path(1.51), REFUTED, paths.ONE_PATH),
    ("lrn-geodesic-lab", "plain_speed", paths.of_path(0.51), paths.of_path(0.49), REFUTED, paths.ONE_PATH),
    ("lrn-geodesic-lab", "proportion", 0.9501, 0.9499, REFUTED),
    ("lrn-thm4-upper", "0.middle", UP, DOWN, REFUTED),
    ("lrn-thm4-upper", "1.middle", UP, DOWN, REFUTED),
    ("lrn-thm4-upper", "scaled_hamiltonian", 3.5 + 0.1 * UP, 3.5 + 0.1 * DOWN, REFUTED),
    ("lrn-thm4-lower", "0.middle", -2 * UP, -2 * DOWN, REFUTED),
    ("lrn-thm4-lower", "1.lower", -1 / UP, -1 / DOWN, REFUTED),
    ("lrn-thm4-lower", "example", -1 + 0.99e-8, -1 + 1.01e-8, REFUTED, {"quantity": "middle by the flow"}),
    ("lrn-thm4-lower", "example", -2 + 0.99e-8, -2 + 1.01e-8, REFUTED, {"quantity": "lower by the closed form"}),
    ("lrn-thm4-speed", "slowest", -UP, -DOWN, REFUTED),
    ("lrn-thm4-speed", "fastest", 2 * UP, 2 * DOWN, REFUTED),
    ("lrn-thm4-speed", "speed_gap", -UP, -DOWN, REFUTED),
    ("lrn-thm4-speed", "speed_gap", 2 * UP, 2 * DOWN, REFUTED),
    ("lrn-thm4-close", "turning_gap", 0.99 * paths.LIMIT, 1.01 * paths.LIMIT, REFUTED, paths.FIXED_ANGLE),
    (
        "lrn-thm4-close",
        "turning_gap",
        paths.LOWER[1, 1] - 0.99e-4,
        paths.LOWER[1, 1] - 1.01e-4,
        REFUTED,
        paths.FIXED_RATE,
    ),
    ("lrn-thm4-close", "growing_gap", paths.GROWING_LOWER[1] - 0.99e-4, paths.GROWING_LOWER[1] - 1.01e-4, REFUTED),
    ("lrn-thm4-close", "turning_flow", 0.99e-8, 1.01e-8, REFUTED),
    ("lrn-thm4-close", "growing_flow", 0.99e-8, 1.01e-8, REFUTED),
    ("lrn-prop2-descent", "slope", 0.01, 0.2, HOLDS),
]
# the printed form's variable, of claims that hold as corrected: just inside, where they hold as printed; just outside
PRINTED = {
    "lrn-rho-sum": ({"layer_count": 17}, {"excess": 0.99e-15}, {"excess": paths.SHORT}),
    "lrn-prop1": ({"search": "bias, printed"}, {"least_ratio": 1 - 0.99e-9}, {"least_ratio": 1 - 1.01e-9}),
    "lrn-prop2-neuron": ({"bias": 1}, {"kept_change_printed": -0.99901}, {"kept_change_printed": -0.99899}),
    "lrn-prop5-neuron": ({"bias": 1}, {"slow_norm_change_printed": -0.99901}, {"slow_norm_change_printed": -0.99899}),
    "lrn-e13-ends": (
        {"effective_depth": 80.0},
        {"end_activation": 1 - 0.99e-3, "end_integrated": 1 - 0.99e-3},
        {"end_activation": 1e-4, "end_integrated": 1e-4},
    ),
    "lrn-prop9": ({"bias": 1}, {"0.norm_gain": 1.0099}, {"0.norm_gain": 2.0}),
    "lrn-thm4-lower": ({}, {"1.lower_printed": -1 / UP}, {"1.lower_printed": -1 / DOWN}),
    "lrn-thm4-speed": ({}, {"cost": 3 + 1e-9}, {"cost": 3 - 1e-9}),
    "lrn-thm4-close": ({}, {"growing_gap": 0.99 * paths.LIMIT}, {"growing_gap": 1.01 * paths.LIMIT}),
}
NOT_COUNTED = {  # what the sentence leaves out may be as it likes
    "lrn-prop1": ({"plain_cost": 0.0, "bound_corrected": 1.0}, paths.INFEASIBLE | {"draw": 0}),
    "lrn-coi-rank": ({"nonnegative_cost": 0.0}, {"bias": 1}),
    "lrn-coi-bias": ({"nonnegative_cost": 0.0}, {"bias": 0}),
    "lrn-prop2": ({"nonnegative_cost": 0.0}, {"row_space": "with 1"}),
    "lrn-e9-strict": ({"scaling": 1.0}, {"shape": "3 x 7"}),
    "lrn-prop5": ({"weight_sq": 1.0}, {"bias": 0}),
    "lrn-ham-conserved": ({"0.drift": 1.0}, {"tolerance": 1e-8}),
    "lrn-ham-discrete": ({"spread": 1e6}, {"layer_count": 20}),
    "lrn-prop9": ({"1.norm_gain": 1.0}, {"layer_count": 160}),
    "lrn-prop5-limit": ({"negative_mass": 0.5}, {"p": 0.0}),
    "lrn-geodesic-lab": ({"plain_speed": 1.0}, {"effective_depth": 3.0}),
    "lrn-thm4-close": ({"turning_gap": 1.0, "growing_gap": 1.0}, {"deeper": 80.0}),
}


def test_negative_mass_counts_at_the_least_and_at_the_largest_depth_alone():
    three = paths.LABORATORY.isel(effective_depth=[0, 1, 1]).assign_coords(effective_depth=[3.0, 12.0, 24.0])
    mass = three["negative_mass"]
    between = mass.where(mass["effective_depth"] != 12.0, 1.0)
    assert CLAIMS["lrn-prop5-limit"](three.assign(negative_mass=between)).status == HOLDS


@pytest.mark.parametrize("case", paths.ENDS["case"].values)
@pytest.mark.parametrize(
    ("negative", "slope", "status"),
    [
        (0.99e-3, 0.01, HOLDS),
        (1.01e-3, 0.01, READING),
        (0.99e-2, 0.01, READING),
        (1.01e-2, 0.01, REFUTED),
        (1.01e-2, 0.099, REFUTED),
        (1.01e-2, 0.101, HOLDS),  # not at rest, does not count
    ],
)
def test_one_end_at_rest_with_negative_entries_refutes_only(case, negative, slope, status):
    data = changed(paths.ENDS, {"case": case, "start": 7}, negative_mass=negative, slope=slope)
    assert CLAIMS["lrn-prop2-descent"](*data).status == status


def test_fewer_than_ten_ends_at_rest_in_one_case_decide_nothing():
    for moving, enough in ((10, True), (11, False)):
        data = changed(paths.ENDS, {"case": "large", "start": np.arange(moving)}, slope=0.2)
        if enough:
            assert CLAIMS["lrn-prop2-descent"](*data).status == HOLDS
        else:
            with pytest.raises(NotEnoughDataError):
                CLAIMS["lrn-prop2-descent"](*data)


@pytest.mark.parametrize("id", DATA)
def test_verdict_changes_at_the_boundary_and_not_before(id):
    data, status = DATA[id]
    assert CLAIMS[id](*data).status == status
    for _, names, inside, outside, there, *place in (row for row in BORDERS if row[0] == id):
        for value, expected in ((inside, status), (outside, there)):
            values = dict.fromkeys((names,) if isinstance(names, str) else names, value)
            assert CLAIMS[id](*changed(data, *place, **values)).status == expected, (names, value)


def test_corrected_claims_hold_as_printed_where_the_printed_form_is_right():
    assert set(PRINTED) == {id for id, (_, status) in DATA.items() if status == CORRECTED}
    for id, (place, inside, outside) in PRINTED.items():
        found = [CLAIMS[id](*changed(DATA[id][0], place, **change)).status for change in (inside, outside)]
        assert found == [HOLDS, CORRECTED], id


def test_what_a_sentence_leaves_out_changes_nothing():
    for id, (change, place) in NOT_COUNTED.items():
        data, status = DATA[id]
        assert CLAIMS[id](*changed(data, place, **change)).status == status, id


def test_every_control_changes_its_part():
    for id, (data, status) in DATA.items():
        assert decided(id, data) == (status, "rejected"), id
