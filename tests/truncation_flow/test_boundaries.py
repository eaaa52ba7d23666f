"""Made-up data just inside and just outside of what each claim allows, part by part, with the verdict by name.

A case is data on which the claim's verdict is known and, per variable, a value just inside and one just outside of
its region with the verdict there. In a variable with several entries the last one alone is changed.
"""

import numpy as np
import pytest
import xarray as xr
from tests.made_up import CORRECTED, HOLDS, READING, REFUTED, changed, claims_by_id, filled

from repdyn.base.errors import NotEnoughDataError

CLAIMS = claims_by_id("truncation_flow")

AUDITED = {  # claim: equation of the audit, tolerance
    "tf-tau-def": ("(6.2) tau without W_*", 1e-10),
    "tf-tau-affine": ("(3.12) affine form", 1e-10),
    "tf-tau-beta": ("(3.13) derivative of tau", 1e-10),
    "tf-layer-pullback": ("(2.17) hidden layer", 1e-10),
    "tf-output": ("(2.18) output", 1e-10),
    "tf-225": ("(2.25) invariance of the metric", 1e-10),
    "tf-cost-decomp": ("(3.7) split of the cost", 1e-10),
    "tf-thm32-beta": ("(3.19) bias flow", 1e-10),
    "tf-thm32-omega": ("(3.22) weight flow", 1e-10),
    "tf-sign": ("(4.1) sign of the weight flow", 1e-10),
    "tf-thm32-dissip": ("(3.26) dissipation", 1e-7),
    "tf-327": ("(3.27) blocks of the commutator", 1e-10),
    "tf-335": ("(3.35) elements of the commutator", 1e-10),
    "tf-cor35-half": ("(3.38) matrix elements", 1e-10),
    "tf-cor35-count": ("(3.39) counted shares", 1e-10),
    "tf-nobackprop": ("moment form", 1e-10),
    "tf-btilde": ("(4.23) motion of the residual", 1e-7),
    "tf-64": ("(6.4) bias gradient of any weight", 1e-10),
    "tf-68": ("(6.8) cancellation", 1e-10),
    "tf-lemma61": ("(6.11) Lemma 6.1", 1e-7),
    "tf-616": ("(6.16) gradient in R", 1e-10),
    "tf-thm51-beta": ("(5.4) bias flow of layers", 1e-10),
    "tf-thm51-omega": ("(5.6) weight flow of layers", 1e-10),
    "tf-lemma71": ("(7.2) Lemma 7.1", 1e-10),
    "tf-lemma72": ("(7.11) Lemma 7.2", 1e-10),
    "tf-82-cost": ("(8.2) collapsed cost", 1e-10),
    "tf-84-87": ("(8.4)-(8.7) collapsed gradient", 1e-10),
    "tf-88": ("(8.8)", 1e-4),
    "tf-89-811": ("(8.9), (8.11)", 1e-9),
    "tf-810": ("(8.10)", 1e-5),
    "tf-93": ("(9.3) cost of untruncated data", 1e-10),
    "tf-96": ("(9.6) hidden layers at rest", 1e-10),
    "tf-97": ("(9.7) output gradient", 1e-10),
}
OWN = {"tf-output-beta": ("(2.7) last bias", 1e-10), "tf-thm32-51": ("Thm 3.2 against Thm 5.1", 1e-10)}


def audit(equation, printed, corrected):
    """An audit of two draws; the errors given are those of the second, of this equation."""
    errors = {"printed": (0.0, printed), "corrected": (0.0, corrected), "control": (1.0, 1.0)}
    data = {name: (("draw", "equation"), np.array(pair)[:, None]) for name, pair in errors.items()}
    notes = {"relative_error": ("draw", [0.1, 0.2]), "cosine": ("draw", [0.5, -0.5])}
    return xr.Dataset(data | notes, {"equation": [equation]})


def test_a_formula_is_decided_by_its_largest_error():
    found, own = {}, {}
    for id, (equation, tolerance) in AUDITED.items():
        inside, outside = 0.99 * tolerance, 1.01 * tolerance
        errors = ((inside, inside), (outside, inside), (outside, outside))
        found[id] = [CLAIMS[id](audit(equation, *pair)).status for pair in errors]
    for id, (equation, tolerance) in OWN.items():
        own[id] = [CLAIMS[id](audit(equation, 1.0, factor * tolerance)).status for factor in (0.99, 1.01)]
    assert found == {id: [HOLDS, CORRECTED, REFUTED] for id in AUDITED}
    assert own == {id: [HOLDS, REFUTED] for id in OWN}


TIMES = np.array([0.0, 2.0, 10.0])
SMALLEST = {"eta_0": 0.05, "eta_1": 0.02, "eta_1_prime": 0.1, "highest": -0.5, "eta_2": 0.2}
AT_THE_END = {"late_generator": 0.0, "late_rotation": 0.0, "residual_rate": 1.0, "cost_rate": 2.0}
PROPOSITION = xr.Dataset(
    filled(["time"], [3], rotation=[0.0, 0.1, 0.1], residual=np.exp([0.0, -1.8, -9.0]))
    | filled(["equation"], [2], eta_2_printed=0.1)
    | {"truncated_share": (("time", "coordinate"), [[0.96, 0.97], [0.98, 0.98], [1.0, 1.0]])}
    | {
        "points": 100,
        "step": 0.15,
        "decay_rate": 0.9,
        "arrival": 2.0,
        "sharp_arrival_bound": 3.0,
        **SMALLEST,
        **AT_THE_END,
    },
    {"time": TIMES, "equation": ["(4.13)", "(4.32)"]},
)
OF_RADIUS = {"radius_eta_0": 0.9, "radius_eta_1": 0.9, "radius_highest": -0.1, "radius_turned": 0.09}
EXAMPLE = xr.Dataset(OF_RADIUS | {"printed_radius": 0.06, "sufficient_radius": 0.16, "radius_left": 1.0})
STATIONS = np.arange(4)
STAIRCASE = xr.Dataset(
    filled(("case", "station"), (5, 4), meeting=1.0 * STATIONS, meeting_by_events=1.0 * STATIONS)
    | filled(("case", "station"), (5, 4), stage_slope=1.0, stage_rate=1.0)
    | filled(("case", "time"), (5, 2), rate=[[0.25, 1.0]] + [[0.25, 0.5]] * 4, b_by_events=0.0)
    | {"printed_time": ("station", [np.nan, 0.0, 1.0, 2.0])},
    {"case": ["beyond", "between", "at a point", "below", "frozen"], "time": [0.0, 9.0], "station": STATIONS},
)
BEYOND, BETWEEN, BELOW = 0, 1, 3

DEFINITE = {"sign": ["positive", "negative", "indefinite"]}
SIGNED = ("sign", "seed")
COLLAPSED = xr.Dataset(
    filled((*SIGNED, "time"), (3, 2, 3), drift=0.0, rate_excess=-1.0)
    | filled(SIGNED, (3, 2), gram_floor=1.5, output_error=0.0, gap=0.2, late_motion=0.0)
    | filled(SIGNED, (3, 2), weight_size=0.9, bias_size=0.9, speed_of_W=0.9, speed_of_B=0.9)
    | filled(["time"], [3], slow_cost=np.exp(-2 * TIMES), weight_norm=1.0, weight_speed=0.7)
    | filled(["time"], [3], weight_bound_printed=[2.0, 2.0, 0.5], weight_bound_corrected=1.0)
    | filled(["time"], [3], speed_bound_printed=[2.0, 2.0, 0.4], speed_bound_corrected=0.7)
    | {"euler_drift": (("euler_step", "seed"), [[0.1, 0.1], [1.0, 1.0]]), "slow_gap": 1.0, "saddle_ratio": 1.0}
    | {"indefinite_ratio": ("seed", [0.1, 0.2])},
    DEFINITE | {"time": TIMES, "euler_step": [0.01, 0.1], "seed": [0, 1]},
).isel(sign=[2, 0, 1])  # definite ones last, so that the last entry counts
PROPAGATORS = xr.Dataset(
    filled(["seed"], [2], propagator_rate=2.0, propagator_rate_W=2.0, product_ratio=2.0, free_directions=9)
)
OUTPUT = xr.Dataset(
    filled(["time"], [2], formula_error=0.0)
    | filled(["weighting"], [2], limit_error=0.0, crossed_error=0.1)
    | {"columns_of_Y": 3, "rows_of_P": 20, "columns_of_P": 3, "projector_defect": 0.0, "range_error": 0.0}
)
TRIANGLES = xr.Dataset(
    {
        "triangle_margin": ("triangle", [0.1, 0.1, -0.1, -0.1]),
        "digit_margin": (("condition", "shrink"), [[0.1, -0.1]]),
        "acute_share": ("dimension", [0.4]),
    },
    {"triangle_angle": ("triangle", [60.0, 89.0, 90.0, 120.0]), "shrink": [0.1, 1.0], "dimension": [3]},
)
COLLAPSE = xr.Dataset({"margin_least": [0.1, 0.1], "within_late": ("Q", [0.0, 0.0]), "cost_rate": ("Q", [2.0, 2.0])})
FLOWS = xr.Dataset(
    {
        "example_cost": (("formula", "example", "time"), [[[0.5, 0.6]], [[0.5, 0.4]]]),
        "cost": (("formula", "cluster", "time"), [[[0.5, 0.6]], [[0.5, 0.4]]]),
        "step": 0.1,
    },
    {"formula": ["printed", "corrected"], "example": ["rise"], "time": [0.0, 1000.0]},
)
RATES = xr.Dataset({"printed_rate": (("case", "draw"), [[0.1, -0.1]])})
FALLING = [1.0, 0.5, 0.1]
REDUCED = xr.Dataset(
    filled(("labels", "time"), (2, 3), **dict.fromkeys(("cost_network", "cost_network_free", "cost_reduced"), FALLING))
    | filled(["labels"], [2], lost=[np.inf, 3.0], lost_free=[np.inf, 3.0])
    | {"step": 0.01},
    {"labels": ["benign", "adverse"], "time": TIMES},
)


EXCHANGED = REDUCED.assign(cost_network=REDUCED["cost_network"] + [[0.0], [1.0]] * np.array([0.0, 0.0, 1.0])).isel(
    labels=[1, 0]  # labels near the images last
)
DECAYING = (
    REDUCED.assign(  # a gap of 1/2 bounds the cost by e^{-s}; exchanged labels, in their sectors until 3, exceed it
        cost_network=(("labels", "time"), np.exp(-TIMES) * [[1.0, 1.0, 1.0], [1.0, 1.0, 2.0]]), integral_gap=0.5
    )
)


def scalars(**values):
    return xr.Dataset(values)


DATA = {  # claim: data, verdict on them
    "tf-22-free": (scalars(cumulative_error=0.0), HOLDS),
    "tf-22-flow": (scalars(layer_rate=1.25, layer_rate_error=0.0, layer_rate_biased=5.0), HOLDS),
    "tf-unaligned": (scalars(misaligning=1.0, unaligned_left=0.0, unaligned_angle=0.1), HOLDS),
    "tf-tau-fix": (scalars(fixed_mismatch=0, apex_mismatch=0, fixed_mismatch_open=100), HOLDS),
    "tf-cor35-moments": (scalars(equal_means_true=0.1, equal_second_true=0.0, equal_second_means=0.3), CORRECTED),
    "tf-eq-untrunc": (scalars(free_speed=0.0, border_speed=0.5), HOLDS),
    "tf-eq-trunc": (
        scalars(truncated_speed=1.0, truncated_formula=0.0, truncated_rotation=0.0, truncated_at_label=0.0),
        CORRECTED,
    ),
    "tf-trunc-stays": (scalars(kept_events=0), HOLDS),
    "tf-trunc-released": (scalars(release_error=0.0, released_runs=6, release_time=0.7), HOLDS),
    "tf-410": (scalars(free_share=0.0, one_direction_share=0.0, partial_share=0.5), READING),
    "tf-425": (scalars(bound_ratio=0.5, bound_ratio_outside=50.0), HOLDS),
    "tf-def31-comp": (
        (scalars(composition_moved=1.0, composition_others=0.0), scalars(composed_error_largest=0.0)),
        CORRECTED,
    ),
    "tf-own-clusters": (TRIANGLES.isel(triangle=[2, 3, 0, 1]), HOLDS),
    "tf-collapse": (COLLAPSE, HOLDS),
    "tf-thm51-domain": (scalars(domain_violations=5, domain_corrected_violations=0, domain_acting=9), CORRECTED),
    "tf-512": (scalars(projection_own=1.0, pattern_other=0.0), CORRECTED),
    "tf-513": (
        scalars(cross_product_moved=0.5, cross_product=0.0, cross_product_others=0.0, cross_product_512=0.0),
        CORRECTED,
    ),
    "tf-thm32-monotone": ((FLOWS, RATES), HOLDS),
    "tf-68-standard": (xr.Dataset({"cross_term": (("draw", "dimension"), [[1.0, 1.0]])}), HOLDS),
    **dict.fromkeys(
        ("tf-42-share", "tf-424", "tf-427", "tf-prop42-hyp", "tf-prop42-freeze", "tf-prop42-rate"), (PROPOSITION, HOLDS)
    ),
    "tf-413": (PROPOSITION.assign(eta_2_printed=("equation", [0.1, 0.3])), CORRECTED),
    "tf-prop42-s1": ((PROPOSITION, EXAMPLE), CORRECTED),
    "tf-82-reduction": (EXCHANGED, CORRECTED),
    "tf-816-817": (
        xr.Dataset(
            {"printed": ("equation", [0.1, 0.1]), "corrected": ("equation", [0.0, 0.0])},
            {"equation": ["(8.16)", "(8.17)"]},
        ),
        CORRECTED,
    ),
    **dict.fromkeys(("tf-lemma81", "tf-lemma81-UW", "tf-lemma82"), (PROPAGATORS, HOLDS)),
    "tf-820": (PROPAGATORS, CORRECTED),
    **dict.fromkeys(
        ("tf-prop83", "tf-831", "tf-828", "tf-thm84-indef", "tf-837", "tf-thm84-limits"), (COLLAPSED, HOLDS)
    ),
    "tf-thm84-rate": ((COLLAPSED, DECAYING.isel(labels=[1, 0])), CORRECTED),
    **dict.fromkeys(("tf-835", "tf-838"), (COLLAPSED, CORRECTED)),
    **dict.fromkeys(("tf-thm91", "tf-thm91-proj"), (OUTPUT, CORRECTED)),
    "tf-thm91-limit": (OUTPUT, HOLDS),
    **dict.fromkeys(("tf-stair-times", "tf-stair-frozen"), (STAIRCASE, HOLDS)),
}
BORDERS = [  # claim, variable, a value of its last entry just inside and one just outside, which refutes
    ("tf-22-free", "cumulative_error", 0.99e-10, 1.01e-10),
    ("tf-22-flow", "layer_rate", 1.101, 1.099),
    ("tf-22-flow", "layer_rate_error", 0.99e-12, 1.01e-12),
    ("tf-unaligned", "misaligning", 0.101, 0.099),
    ("tf-unaligned", "unaligned_left", 0.99e-12, 1.01e-12),
    ("tf-tau-fix", "fixed_mismatch", 0, 1),
    ("tf-tau-fix", "apex_mismatch", 0, 1),
    ("tf-cor35-moments", "equal_second_true", 0.99e-12, 1.01e-12),
    ("tf-eq-untrunc", "free_speed", 0.99e-12, 1.01e-12),
    ("tf-eq-trunc", "truncated_formula", 9.9e-13, 1.01e-12),
    ("tf-eq-trunc", "truncated_rotation", 9.9e-13, 1.01e-12),
    ("tf-eq-trunc", "truncated_at_label", 9.9e-13, 1.01e-12),
    ("tf-trunc-stays", "kept_events", 0, 1),
    ("tf-trunc-released", "release_error", 0.99e-9, 1.01e-9),
    ("tf-trunc-released", "released_runs", 1, 0),
    ("tf-410", "partial_share", 1.01e-6, 0.99e-6),
    ("tf-425", "bound_ratio", 0.999, 1.001),
    ("tf-def31-comp", "composed_error_largest", 0.99e-10, 1.01e-10),
    ("tf-own-clusters", "triangle_margin", 1.01e-6, 0.99e-6),
    ("tf-collapse", "margin_least", 1.01e-6, 0.99e-6),
    ("tf-collapse", "within_late", 0.99e-24, 1.01e-24),
    ("tf-collapse", "cost_rate", 2.00099, 2.00101),
    ("tf-thm51-domain", "domain_corrected_violations", 0, 1),
    ("tf-512", "pattern_other", 0.99e-12, 1.01e-12),
    ("tf-513", "cross_product", 0.99e-12, 1.01e-12),
    ("tf-thm32-monotone", "cost", 0.5099, 0.5101),
    ("tf-68-standard", "cross_term", 1.01e-3, 0.99e-3),
    ("tf-42-share", "truncated_share", 0.9951, 0.9949),
    ("tf-424", "truncated_share", 0.951, 0.949),
    ("tf-413", "rotation", 0.199, 0.201),
    ("tf-427", "decay_rate", 0.8501, 0.8499),
    ("tf-427", "residual", 0.999 * np.exp(-8.5), 1.001 * np.exp(-8.5)),
    ("tf-427", "rotation", 0.999, 1.001),
    ("tf-prop42-hyp", "eta_0", 0.0999, 0.1001),
    ("tf-prop42-hyp", "eta_1", 0.0999, 0.1001),
    ("tf-prop42-hyp", "highest", -1e-9, 1e-9),
    ("tf-prop42-s1", "arrival", 2.999, 3.001),
    ("tf-prop42-freeze", "late_generator", 9.9e-13, 1.01e-12),
    ("tf-prop42-freeze", "late_rotation", 9.9e-13, 1.01e-12),
    ("tf-prop42-rate", "residual_rate", 1.0224, 1.0226),
    ("tf-prop42-rate", "cost_rate", 2.0448, 2.0452),
    ("tf-82-reduction", "cost_network", 0.10199, 0.10201),
    ("tf-82-reduction", "cost_network_free", 0.10199, 0.10201),
    ("tf-82-reduction", "cost_reduced", 0.10199, 0.10201),
    ("tf-816-817", "corrected", 0.99e-4, 1.01e-4),
    ("tf-lemma81", "propagator_rate", 1.001, 0.999),
    ("tf-lemma81-UW", "propagator_rate_W", 1.001, 0.999),
    ("tf-lemma82", "product_ratio", 1.001, 0.999),
    ("tf-820", "free_directions", 1, 0),
    ("tf-prop83", "drift", 0.99e-10, 1.01e-10),
    ("tf-831", "gram_floor", 1.001, 0.999),
    ("tf-thm84-rate", "rate_excess", 0.99e-9, 1.01e-9),
    ("tf-thm84-rate", "cost_network", np.exp(-10.0) * (1 + 0.9e-9), np.exp(-10.0) * (1 + 1.1e-9)),
    ("tf-828", "output_error", 0.999 * np.exp(-2), 1.001 * np.exp(-2)),
    ("tf-thm84-indef", "saddle_ratio", 0.501, 0.499),
    ("tf-835", "weight_bound_corrected", 1.001, 0.999),
    ("tf-835", "weight_size", 1 + 0.9e-9, 1 + 1.1e-9),
    ("tf-837", "bias_size", 1 + 0.9e-9, 1 + 1.1e-9),
    ("tf-838", "speed_bound_corrected", 0.701, 0.699),
    ("tf-838", "speed_of_W", 0.999, 1.001),
    ("tf-838", "speed_of_B", 0.999, 1.001),
    ("tf-thm84-limits", "late_motion", 0.99e-8, 1.01e-8),
    ("tf-thm91", "formula_error", 0.99e-7, 1.01e-7),
    ("tf-thm91-proj", "projector_defect", 9.9e-11, 1.01e-10),
    ("tf-thm91-proj", "range_error", 9.9e-11, 1.01e-10),
    ("tf-thm91-limit", "limit_error", 0.99e-9, 1.01e-9),
    ("tf-stair-times", "printed_time", 2 + 0.99e-9, 2 + 1.01e-9),
    ("tf-stair-frozen", "b_by_events", 0.99e-12, 1.01e-12),
]
PRINTED = {  # claims that hold as corrected: the printed form's variable, just inside, where they hold as printed
    "tf-cor35-moments": {"equal_means_true": 0.99e-12},
    "tf-eq-trunc": {"truncated_speed": 0.99e-12},
    "tf-def31-comp": {"composition_moved": 0.99e-12},
    "tf-thm51-domain": {"domain_violations": 0},
    "tf-512": {"projection_own": 0.99e-12},
    "tf-513": {"cross_product_moved": 0.99e-12},
    "tf-413": {"eta_2_printed": 0.1 + 0.99e-12},
    "tf-835": {"weight_bound_printed": 1.001},
    "tf-838": {"speed_bound_printed": 0.701},
    "tf-prop42-s1": {"radius_left": 0},
    "tf-thm84-rate": {"integral_gap": 0.4},
    "tf-thm91": {"columns_of_Y": 20},
    "tf-thm91-proj": {"columns_of_P": 20},
}


@pytest.mark.parametrize("id", DATA)
def test_verdict_changes_at_the_boundary_and_not_before(id):
    data, status = DATA[id]
    assert CLAIMS[id](*changed(data)).status == status
    for _, name, inside, outside in (row for row in BORDERS if row[0] == id):
        assert CLAIMS[id](*changed(data, **{name: inside})).status == status, name
        assert CLAIMS[id](*changed(data, **{name: outside})).status == REFUTED, name


def test_corrected_claims_hold_as_printed_where_the_printed_form_is_right():
    found = {id: CLAIMS[id](*changed(DATA[id][0], **change)).status for id, change in PRINTED.items()}
    assert found == dict.fromkeys(PRINTED, HOLDS)


def met(between, at_a_point):
    """The staircase with so many points met in two cases."""
    times = [np.where(count > STATIONS, 1.0, np.inf) for count in (between, at_a_point)]
    return changed(STAIRCASE, slice(BETWEEN, BELOW), meeting_by_events=times)


def plus(difference):
    return lambda value: value + difference


def shares(free, one_direction):
    return scalars(free_share=free, one_direction_share=one_direction, partial_share=0.5)


EARLY, LATE = (1, 1), (1, 2)  # of exchanged labels, before and after the sectors are lost, at time 3
SINGLE = [  # claim, data, verdict
    ("tf-410", shares(0.99e-6, 0.5), READING),  # both clusters must show it
    ("tf-410", shares(0.5, 0.99e-6), READING),
    ("tf-410", shares(1.01e-6, 1.01e-6), HOLDS),
    ("tf-820", scalars(free_directions=-1), HOLDS),
    ("tf-820", scalars(free_directions=0), REFUTED),
    ("tf-820", scalars(free_directions=1), CORRECTED),
    ("tf-own-clusters", changed(TRIANGLES, triangle_margin=0.99e-6), HOLDS),  # of an obtuse triangle
    ("tf-own-clusters", changed(TRIANGLES, triangle_margin=1.01e-6), REFUTED),
    ("tf-42-share", changed(PROPOSITION, 1, truncated_share=0.971), HOLDS),
    ("tf-42-share", changed(PROPOSITION, 1, truncated_share=0.96), REFUTED),  # falls by a point
    ("tf-82-reduction", changed(REDUCED, EARLY, cost_network=plus(0.0019)), HOLDS),
    ("tf-82-reduction", changed(REDUCED, LATE, cost_network=plus(0.0021)), CORRECTED),
    ("tf-82-reduction", changed(REDUCED, LATE, cost_network_free=plus(0.0021)), CORRECTED),
    ("tf-82-reduction", changed(REDUCED, EARLY, cost_network=plus(0.0021)), REFUTED),
    ("tf-82-reduction", changed(REDUCED, EARLY, cost_network_free=plus(0.0021)), REFUTED),
    ("tf-stair-times", changed(STAIRCASE, (BELOW, 2), meeting=2 + 0.99e-9), HOLDS),
    ("tf-stair-times", changed(STAIRCASE, (BELOW, 2), meeting=2 + 1.01e-9), REFUTED),
    ("tf-stair-rate", changed(STAIRCASE, (BEYOND, 1), stage_slope=1 + 0.99e-6), HOLDS),
    ("tf-stair-rate", changed(STAIRCASE, (BEYOND, 1), stage_slope=1 + 1.01e-6), REFUTED),
    ("tf-stair-rate", changed(STAIRCASE, (BEYOND, -1), rate=1 + 0.9e-12), HOLDS),
    ("tf-stair-rate", changed(STAIRCASE, (BEYOND, -1), rate=1 + 1.1e-12), REFUTED),
    ("tf-stair-down", changed(STAIRCASE, (BELOW, -1), b_by_events=0.99e-9), HOLDS),
    ("tf-stair-down", changed(STAIRCASE, (BELOW, -1), b_by_events=1.01e-9), REFUTED),
    ("tf-stair-between", met(1, 1), CORRECTED),
    ("tf-stair-between", met(3, 3), HOLDS),
    ("tf-stair-between", met(1, 2), REFUTED),
    ("tf-stair-between", met(2, 1), REFUTED),
    ("tf-stair-between", changed(met(1, 1), (BETWEEN, -1), rate=0.5 + 0.9e-12), CORRECTED),
    ("tf-stair-between", changed(met(1, 1), (BETWEEN, -1), rate=0.5 + 1.1e-12), REFUTED),
    ("tf-stair-between", changed(met(1, 1), (BETWEEN, 1), stage_slope=1 + 0.99e-6), CORRECTED),
    ("tf-stair-between", changed(met(1, 1), (BETWEEN, 1), stage_slope=1 + 1.01e-6), REFUTED),
]


def test_single_entries_change_the_verdict_or_do_not_count():
    found = [
        (number, id, CLAIMS[id](*changed(data)).status, status) for number, (id, data, status) in enumerate(SINGLE)
    ]
    assert [case for case in found if case[2] != case[3]] == []


def test_free_weights_may_end_near_singular_ones_after_the_sectors_are_lost_but_not_before():
    """The refutation must come from what is followed; before the loss a gap leaves the claim undecided."""
    data = REDUCED.copy(deep=True)
    data["cost_network_free"][1, 2] = np.nan
    assert CLAIMS["tf-82-reduction"](data).status == HOLDS
    data["cost_network"][1, 2] += 0.0021
    assert CLAIMS["tf-82-reduction"](data).status == CORRECTED
    data["cost_network_free"][1, 1] = np.nan
    with pytest.raises(NotEnoughDataError):
        CLAIMS["tf-82-reduction"](data)


@pytest.mark.parametrize(
    ("constant", "met", "broken"),
    [("radius_eta_0", 0.999, 1.0), ("radius_eta_1", 0.999, 1.0), ("radius_highest", -1e-3, 0.0)],
)
def test_an_example_that_breaks_the_hypotheses_decides_nothing(constant, met, broken):
    assert CLAIMS["tf-prop42-s1"](*changed((PROPOSITION, EXAMPLE), **{constant: met})).status == CORRECTED
    with pytest.raises(NotEnoughDataError):
        CLAIMS["tf-prop42-s1"](*changed((PROPOSITION, EXAMPLE), **{constant: broken}))
