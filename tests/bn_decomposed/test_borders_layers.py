"""Claims on layers and networks: one entry, cell or draw alone just inside and just outside of its region.

For each claim made-up data of a known verdict and, per variable, a place and two values for it. All other entries stay
well inside, so a claim on all batches, widths or points must fail at the one that is outside.
"""

import numpy as np
import pytest
import xarray as xr
from tests.bn_decomposed.deciding import CLAIMS, check_borders, on
from tests.bn_decomposed.made_up_layers import (
    OF_DRAWS,
    OF_SEEDS,
    at_rest,
    clusters,
    deep,
    layers,
    longest,
    moments,
    neurons,
    point_neurons,
    rests,
    trained,
)
from tests.made_up import CORRECTED, HOLDS, READING, REFUTED, changed

from repdyn.bn_decomposed.theory.kernel import arccos_kernel

EPS = np.finfo(float).eps

KAPPA, LEAST = arccos_kernel(np.array([-0.5]))[0], (2 / 3) ** 3  # at 120 degrees, of 180
TWO = clusters(limit=0.5).isel(batch=[0, 0])
NARROWING = clusters(narrow=0.8).isel(batch=[0, 0], spread=[0, 2])
WIDE_ANGLE = rests(points=(5, 7, 20, 50, 100))
WIDE_ANGLE["iterated_norm_ratio"] = WIDE_ANGLE["batch"] - 1.0  # no dot, on the scale of the odd point either
DEEP = deep()
LIKE_12 = changed(deep(sizes=(20, 50), ratio=1 / 19, cluster=9.9), (slice(None), 1), second_to_first=1 / 49)
ONE_LONG = xr.concat([longest(), longest().assign_coords(width=[400])], "width", data_vars="minimal")
LAST = (1, 2, slice(None), -1)  # Gaussian points, the largest batch, the last layer
INVARIANT, FAR = (0, 1, 1), (1, 1, 1)  # the last batch and width of either start


def plus(difference):
    return lambda value: value + difference


def draws(value):
    return value * OF_DRAWS


def seeds(value):
    return value * OF_SEEDS[:, None]


def of_squares(id, start):
    """Values at which the squared norms of one start fail, in closed form and in one cell of sampled layers."""
    return [
        (id, {"closed form"}, "expected_odd_square", start, 1 + 0.99e-12, 1 + 1.01e-12),
        (id, {"closed form"}, "expected_cluster_square", start, 1 - 0.99e-12, 1 - 1.01e-12),
        *sampled(id, "odd point sampled", "odd_square", start),
        *sampled(id, "cluster sampled", "cluster_square", start),
    ]


def sampled(id, part, name, place, ratio=1.0):
    """Both edges of a tolerance of 5 percent."""
    return [
        (id, {part}, name, place, draws(ratio * edge * (1 + inward)), draws(ratio * edge * (1 - inward)))
        for edge, inward in ((0.95, 1e-4), (1.05, -1e-4))
    ]


SHARE = 82 / 81  # of the odd point's square in the next square distance at ten points
DATA = {  # claim: datasets, verdict on them, verdict outside
    **dict.fromkeys(("bnd-eq98", "bnd-eq111", "bnd-eq111-ineq"), (on(moments()), HOLDS, REFUTED)),
    **dict.fromkeys(("bnd-thm13-norm", "bnd-thm13-orth", "bnd-thm14-3"), (on(layers()), HOLDS, REFUTED)),
    **dict.fromkeys(("bnd-thm13-EX", "bnd-thm14-1-2"), (on(layers()), CORRECTED, REFUTED)),
    **dict.fromkeys(("bnd-thm14-4", "bnd-cluster-rest"), (on(TWO, layers()), HOLDS, REFUTED)),
    "bnd-thm14-hyp": (on(layers(), TWO), CORRECTED, REFUTED),
    "bnd-thm14-iter": (on(NARROWING, layers()), HOLDS, READING),
    "bnd-eq8-closed": (on(moments(), rests()), HOLDS, REFUTED),
    "bnd-infwidth": (on(WIDE_ANGLE, TWO), CORRECTED, REFUTED),
    "bnd-fig3": (
        on(DEEP),
        READING,
        READING,
    ),  # as printed, of all batches; the parts are those of twenty points and more
    "bnd-fig3, right angle": (on(DEEP), READING, REFUTED),  # of which the sentence leaves nothing open
    "bnd-def12-resembles": (on(*LIKE_12), HOLDS, READING),
    "bnd-finite-width": (on(DEEP), HOLDS, REFUTED),
    "bnd-sec3-signs": (on(DEEP), CORRECTED, REFUTED),
    "bnd-disc-fire": (on(DEEP), HOLDS, READING),
    "bnd-fig5-rest": (on(at_rest(0.0)), HOLDS, REFUTED),
    "bnd-disc-init": (on(point_neurons()), HOLDS, REFUTED),
}
BORDERS = [  # claim, parts that fail, variable, place, a value just inside, one just outside
    ("bnd-eq98", {"quadrature"}, "quadrature", -1, 1 + 0.99e-12, 1 + 1.01e-12),
    ("bnd-eq98", {"sampled"}, "square", slice(None), 1.0499 * OF_DRAWS, 1.0501 * OF_DRAWS),
    ("bnd-eq98", {"sampled"}, "square", slice(None), 0.9501 * OF_DRAWS, 0.9499 * OF_DRAWS),
    ("bnd-eq111", {"quadrature"}, "quadrature", 0, KAPPA - 0.99e-12, KAPPA - 1.01e-12),
    ("bnd-eq111", {"quadrature"}, "quadrature", -1, 1 + 0.99e-12, 1 + 1.01e-12),
    ("bnd-eq111", {"sampled"}, "inner", 0, KAPPA + 0.0499 * OF_DRAWS, KAPPA + 0.0501 * OF_DRAWS),
    ("bnd-eq111", {"sampled"}, "inner", -1, 1 - 0.0499 * OF_DRAWS, 1 - 0.0501 * OF_DRAWS),
    ("bnd-eq111-ineq", {"excess over its lower bound"}, "quadrature", 0, 1.001 * LEAST - 0.5, 0.999 * LEAST - 0.5),
    ("bnd-eq111-ineq", {"excess for collinear vectors"}, "quadrature", -1, 1 - 0.99e-12, 1 - 1.01e-12),
    *of_squares("bnd-thm13-norm", INVARIANT),
    ("bnd-thm13-orth", {""}, "inner", (*INVARIANT, -1), 0.99e-12, 1.01e-12),
    *of_squares("bnd-thm13-EX", INVARIANT),
    ("bnd-thm13-EX", {"inner"}, "expected_inner", INVARIANT, -0.99e-12, -1.01e-12),
    *of_squares("bnd-thm14-1-2", FAR),
    *(
        row
        for part, name in (("norm of the odd point", "odd_norm"), ("norm of the cluster", "cluster_norm"))
        for width, ratio in enumerate((0.7, 0.9))
        for row in sampled("bnd-thm14-1-2", part, name, (1, 1, width), ratio)
    ),
    ("bnd-thm14-3", {""}, "inner", (*FAR, -1), -0.99e-12, -1.01e-12),
    ("bnd-thm14-4", {"factor"}, "largest_factor", (-1, -1), 0.999, 1.001),
    ("bnd-thm14-4", {"factor over its limit"}, "0.alpha", (-1, -1), 0.9 / (1 + 0.99e-12), 0.9 / (1 + 1.01e-12)),
    ("bnd-thm14-4", {"sampled over closed form"}, "pair_factor", FAR, 0.9 * 1.0499 * OF_DRAWS, 0.9 * 1.0501 * OF_DRAWS),
    ("bnd-thm14-4", {"sampled over closed form"}, "pair_factor", FAR, 0.9 * 0.9501 * OF_DRAWS, 0.9 * 0.9499 * OF_DRAWS),
    ("bnd-thm14-hyp", {"items 1 and 2"}, "expected_odd_square", FAR, 1 + 0.99e-12, 1 + 1.01e-12),
    ("bnd-thm14-hyp", {"items 1 and 2"}, "expected_cluster_square", FAR, 1 - 0.99e-12, 1 - 1.01e-12),
    ("bnd-thm14-hyp", {"item 3"}, "inner", (*FAR, -1), 0.99e-12, 1.01e-12),
    ("bnd-thm14-hyp", {"item 4"}, "largest_factor", (-1, -1), 0.999, 1.001),
    ("bnd-thm14-iter", {""}, "factor", (-1, 0, -1), 0.999, 1.001),
    ("bnd-thm14-iter", {""}, "largest_factor", (-1, -1), 0.999, 1.001),
    ("bnd-thm14-iter", {""}, "family_multiplier", -1, 0.999, 1.001),
    ("bnd-thm14-iter", {""}, "full_multiplier", -1, 0.999, 1.001),
    ("bnd-thm14-iter", {""}, "resting_spread", -1, 24.99, 25.01),
    (
        "bnd-cluster-rest",
        {"next square distance"},
        "odd_square",
        FAR,
        draws(1 + 0.0499 * SHARE),
        draws(1 + 0.0501 * SHARE),
    ),
    (
        "bnd-cluster-rest",
        {"next square distance"},
        "cluster_square",
        FAR,
        draws(1 - 0.0499 * 82),
        draws(1 - 0.0501 * 82),
    ),
    ("bnd-cluster-rest", {"narrow cluster"}, "factor", (-1, 0, -1), 1.22 * 1.0099, 1.22 * 1.0101),
    ("bnd-cluster-rest", {"narrow cluster"}, "factor", (0, 0, 0), 1.22 * 0.9901, 1.22 * 0.9899),
    ("bnd-cluster-rest", {"wide cluster"}, "factor", (-1, -1, -1), 0.999, 1.001),
    ("bnd-cluster-rest", {"multiplier of the fixed point"}, "family_multiplier", -1, 0.999, 1.001),
    ("bnd-cluster-rest", {"multiplier of the fixed point"}, "full_multiplier", -1, 0.999, 1.001),
    ("bnd-eq8-closed", {"closed form minus sampled"}, "recentered_sampled", -1, plus(0.0499), plus(0.0501)),
    ("bnd-eq8-closed", {"closed form minus sampled"}, "recentered_sampled", 0, plus(-0.0499), plus(-0.0501)),
    ("bnd-eq8-closed", {"reduced minus iterated cluster angle"}, "odd_intra_angle", 2, plus(0.0099), plus(0.0101)),
    ("bnd-eq8-closed", {"reduced minus iterated odd angle"}, "odd_angle", -1, plus(-0.0099), plus(-0.0101)),
    ("bnd-eq8-closed", {"equal angles up to six points"}, "simplex_angle", 0, plus(0.0099), plus(0.0101)),
    ("bnd-eq8-closed", {"reduced over iterated norm ratio"}, "odd_norm_ratio", 1, 1.00099, 1.00101),
    ("bnd-infwidth", {"cluster angle over leading term"}, "odd_intra_angle", 3, 10.8 * 1.0999, 10.8 * 1.1001),
    ("bnd-infwidth", {"cluster angle over leading term"}, "odd_intra_angle", 4, 5.4 * 0.9001, 5.4 * 0.8999),
    ("bnd-infwidth", {"equal angles up to six points"}, "simplex_angle", 0, plus(-0.0099), plus(-0.0101)),
    ("bnd-infwidth", {"multipliers"}, "odd_multiplier", 1, 0.999, 1.001),
    ("bnd-infwidth", {"multipliers"}, "full_multiplier", -1, 0.999, 1.001),
    ("bnd-infwidth", {"multipliers"}, "full_multiplier_of_equal_points", -1, 0.999, 1.001),
    ("bnd-fig3", {"second over first norm"}, "second_to_first", LAST, 0.2499 * OF_SEEDS, 0.2501 * OF_SEEDS),
    ("bnd-fig3", {"cluster angle"}, "intra_angle", LAST, 44.95 * OF_SEEDS, 45.05 * OF_SEEDS),
    ("bnd-fig3, right angle", {"odd angle"}, "odd_angle", LAST, 85.05 * OF_SEEDS, 84.95 * OF_SEEDS),
    ("bnd-fig3, right angle", {"odd angle"}, "odd_angle", LAST, 94.95 * OF_SEEDS, 95.05 * OF_SEEDS),
    ("bnd-def12-resembles", {""}, "second_to_first", (1, 1), seeds(1.499 / 49), seeds(1.501 / 49)),
    ("bnd-def12-resembles", {""}, "second_to_first", (1, 1), seeds(1 / 73), seeds(1 / 74)),
    ("bnd-def12-resembles", {""}, "intra_angle", (1, 1), seeds(9.99), seeds(10.01)),
    ("bnd-def12-resembles", {""}, "odd_angle", (1, 1), seeds(80.05), seeds(79.95)),
    ("bnd-def12-resembles", {""}, "odd_angle", (1, 1), seeds(99.95), seeds(100.05)),
    ("bnd-finite-width", {""}, "intra_angle", (slice(None), 2, slice(None), -1), 39.95 * OF_SEEDS, 40.05 * OF_SEEDS),
    ("bnd-finite-width", {""}, "intra_angle", (slice(None), 1, slice(None), -1), 10.05 * OF_SEEDS, 9.95 * OF_SEEDS),
    ("bnd-sec3-signs", {""}, "zeros_if_cluster_below", (1, 2), seeds(50 * 0.1501), seeds(50 * 0.1499)),
    ("bnd-sec3-signs", {""}, "zeros_if_cluster_above", (0, 1), seeds(20 * 0.2499), seeds(20 * 0.2501)),
    ("bnd-disc-fire", {""}, "above_fifth_of_layer", LAST, 0.9502 * OF_SEEDS, 0.9498 * OF_SEEDS),
    ("bnd-disc-fire", {""}, "above_tenth_of_neuron", (0, 1), seeds(0.9502), seeds(0.9498)),
    ("bnd-fig5-rest", {"root mean square"}, "mean_angle", (0, 1), plus(0.999 * OF_SEEDS), plus(1.001 * OF_SEEDS)),
    ("bnd-fig5-rest", {"root mean square"}, "mean_angle", (0, 0), plus(-0.999 * OF_SEEDS), plus(-1.001 * OF_SEEDS)),
    ("bnd-fig5-rest", {"batch normalization"}, "mean_angle", (1, 1), plus(0.999 * OF_SEEDS), plus(1.001 * OF_SEEDS)),
    ("bnd-disc-init", {"orthogonal"}, "off_diagonal", (0, -1), 99 * EPS, 101 * EPS),
    ("bnd-disc-init", {"activity"}, "activity", (0, -1), (1 + 98 * EPS) / 100, (1 + 102 * EPS) / 100),
    ("bnd-disc-init", {"activity"}, "activity", (0, 0), (1 - 98 * EPS) / 100, (1 - 102 * EPS) / 100),
]
ONE_DRAW = OF_DRAWS + 0.1 * (np.arange(OF_DRAWS.size) == 3)  # one draw of sixteen beyond the boundary, the mean inside
NOT_COUNTED = [  # claim, datasets, its verdict, variable, place and a value there that must not change it
    ("bnd-eq98", on(moments()), HOLDS, "square", slice(None), ONE_DRAW),
    ("bnd-eq98", on(moments()), HOLDS, "quadrature", 0, 7.0),
    ("bnd-thm13-norm", on(layers()), HOLDS, "odd_square", INVARIANT, ONE_DRAW),
    ("bnd-thm13-norm", on(layers()), HOLDS, "odd_square", FAR, 2.0),
    ("bnd-thm13-norm", on(layers()), HOLDS, "expected_cluster_square", FAR, 2.0),
    ("bnd-thm13-orth", on(layers()), HOLDS, "inner", FAR, 0.1),
    ("bnd-thm13-EX", on(layers()), CORRECTED, "cluster_square", FAR, 2.0),
    ("bnd-thm14-1-2", on(layers()), CORRECTED, "cluster_norm", INVARIANT, 2.0),
    ("bnd-thm14-1-2", on(layers()), CORRECTED, "odd_square", INVARIANT, 2.0),
    ("bnd-thm14-3", on(layers()), HOLDS, "inner", INVARIANT, 0.1),
    ("bnd-thm14-4", on(TWO, layers()), HOLDS, "pair_factor", INVARIANT, 2.0),
    ("bnd-cluster-rest", on(TWO, layers()), HOLDS, "full_multiplier", -1, np.nan),  # computed for few batches
    ("bnd-cluster-rest", on(TWO, layers()), HOLDS, "factor", (-1, 1, -1), 1.3),  # neither narrow nor wide
    ("bnd-thm14-iter", on(NARROWING, layers()), HOLDS, "factor", (-1, 1, -1), 1.3),  # wider than Theorem 14's
    ("bnd-eq8-closed", on(moments(), rests()), HOLDS, "simplex_angle", 1, 50.0),  # seven points
    ("bnd-eq8-closed", on(moments(), rests()), HOLDS, "odd_intra_angle", 0, 50.0),  # five
    ("bnd-infwidth", on(WIDE_ANGLE, TWO), CORRECTED, "odd_intra_angle", 2, 40.0),  # twenty: no leading term yet
    ("bnd-infwidth", on(WIDE_ANGLE, TWO), CORRECTED, "odd_multiplier", 0, 1.2),  # five: no odd point
    ("bnd-infwidth", on(rests(scale=1e-3), TWO), READING, "iterated_intra_angle", 1, 10.0),  # seven points alone
    ("bnd-infwidth", on(rests(scale=1e-3), TWO), HOLDS, "iterated_intra_angle", 0, 78.0),
    ("bnd-fig3", on(deep(least=3)), HOLDS, "second_to_first", (1, 2, slice(None), 0), 0.9),  # the first layer
    ("bnd-finite-width", on(DEEP), HOLDS, "intra_angle", (slice(None), 0), 80.0),  # five points
    ("bnd-sec3-signs", on(DEEP), CORRECTED, "zeros_if_cluster_below", (slice(None), 0), 0.0),
    ("bnd-sec3-signs", on(DEEP), CORRECTED, "zeros_if_cluster_below", LAST, 4.9 * OF_SEEDS),  # a layer, not the mean
    ("bnd-disc-fire", on(DEEP), HOLDS, "above_tenth_of_layer", (slice(None), 0), 0.1),  # five points
    ("bnd-disc-fire", on(DEEP), HOLDS, "above_tenth_of_layer", (1, 2, slice(None), 0), 0.1),  # the first layer
    ("bnd-fig6-a", on(neurons()), HOLDS, "active", (0, -1), neurons(always=0.25)["active"][0, 0].values),  # one draw
    ("bnd-fig6-a", on(neurons()), HOLDS, "active", 1, 0.95),  # networks with recentering
    ("bnd-disc-init", on(point_neurons()), HOLDS, "off_diagonal", 1, 0.9),  # He's networks
    ("bnd-remark-largest", on(longest(longest=0.9, limit=0.9, farthest=0.0)), HOLDS, "limit_odd", -1, 7),  # unit norms
]


@pytest.mark.parametrize("name", DATA)
def test_one_entry_outside_its_region_changes_the_verdict(name):
    check_borders(CLAIMS[name.split(",")[0]], *DATA[name], [row[1:] for row in BORDERS if row[0] == name])


@pytest.mark.parametrize(("id", "datasets", "status", "variable", "place", "value"), NOT_COUNTED)
def test_entries_that_the_statement_leaves_out_change_no_verdict(id, datasets, status, variable, place, value):
    assert CLAIMS[id](*changed(datasets, place, **{variable: value})).status == status


ONE = layers()["odd_square"]  # ratios of one
AS_PRINTED = layers().assign(
    square_of_mean_odd=layers()["square_of_mean_odd"] * 0 + 1,
    square_of_mean_cluster=layers()["square_of_mean_cluster"] * 0 + 1,
    inner_of_means=layers()["inner_of_means"] * 0,
    odd_mean=ONE,
    odd_norm=ONE,
    cluster_norm=ONE,
)
PRINTED = [  # claim, datasets in which it holds as printed, variable, place, a value just inside and one just outside
    ("bnd-thm13-EX", on(AS_PRINTED), "square_of_mean_odd", INVARIANT, 1 + 0.99e-12, 1 + 1.01e-12),
    ("bnd-thm13-EX", on(AS_PRINTED), "square_of_mean_cluster", INVARIANT, 1 - 0.99e-12, 1 - 1.01e-12),
    ("bnd-thm13-EX", on(AS_PRINTED), "inner_of_means", INVARIANT, 0.99e-12, 1.01e-12),
    ("bnd-thm13-EX", on(AS_PRINTED), "odd_mean", INVARIANT, 1.0499 * OF_DRAWS, 1.0501 * OF_DRAWS),
    ("bnd-thm14-1-2", on(AS_PRINTED), "odd_norm", FAR, 0.9501 * OF_DRAWS, 0.9499 * OF_DRAWS),
    ("bnd-thm14-1-2", on(AS_PRINTED), "cluster_norm", FAR, 1.0499 * OF_DRAWS, 1.0501 * OF_DRAWS),
    ("bnd-thm14-hyp", on(layers(), TWO), "invariant_distance", -1, 1.001, 0.999),
]


@pytest.mark.parametrize(("id", "datasets", "variable", "place", "inside", "outside"), PRINTED)
def test_one_entry_outside_its_region_refutes_the_printed_form(id, datasets, variable, place, inside, outside):
    turned = REFUTED if variable in ("odd_norm", "cluster_norm") else CORRECTED  # other norms than in closed form, too
    assert CLAIMS[id](*changed(datasets, place, **{variable: inside})).status == HOLDS
    assert CLAIMS[id](*changed(datasets, place, **{variable: outside})).status == turned


@pytest.mark.parametrize("kind", [0, 1])
def test_one_kind_of_batch_alone_in_which_the_farthest_input_is_not_odd_refutes_the_correction(kind):
    claim, few = CLAIMS["bnd-remark-largest"], longest(farthest=0.1)["limit_odd"][0].values
    assert claim(ONE_LONG).status == CORRECTED
    assert claim(*changed(ONE_LONG, kind, limit_odd=few)).status == REFUTED


@pytest.mark.parametrize("width", [0, 1])
def test_one_width_alone_at_which_the_long_vector_is_not_odd_refutes_the_correction(width):
    claim, few = CLAIMS["bnd-remark-largest"], longest(twice=0.1)["odd"][-1, 0].values
    assert claim(*changed(ONE_LONG, (-1, width), odd=few)).status == REFUTED
    assert claim(*changed(ONE_LONG, (0, width), odd=few)).status == CORRECTED  # no vector of twice the length


def test_what_is_far_and_what_is_odd_must_be_the_same_input():
    """At infinite width the odd point is held against the farthest input, not against itself or the longest."""
    claim = CLAIMS["bnd-remark-largest"]
    verdict = claim(*changed(ONE_LONG, slice(None), limit_odd=3))
    assert verdict.corrected.parts["farthest at infinite width"].interval[1] < 0.05
    verdict = claim(*changed(ONE_LONG, slice(None), farthest=1))
    assert verdict.corrected.parts["farthest at infinite width"].outcome == "fails"


def trained_twice(**deepest):
    """Networks of two depths, the shallower ones with nothing as stated."""
    shallow = trained(accuracy=0.1, ranks=0.9, default=0.99, bn=0.1)
    return {
        mode: xr.concat([shallow[mode].assign_coords(depth=[2]), data], "depth", data_vars="minimal", coords="minimal")
        for mode, data in trained(**deepest).items()
    }


@pytest.mark.parametrize(
    ("mode", "measure", "share", "status"),
    [
        ("he", "effective_rank", 0.249, HOLDS),
        ("he", "effective_rank", 0.251, READING),
        ("he", "stable_rank", 0.251, READING),
        ("he", "r1", 0.251, READING),
        ("he", "numerical_rank", 0.251, READING),
        ("bn", "stable_rank", 0.501, HOLDS),
        ("bn", "stable_rank", 0.499, READING),
        ("bn", "effective_rank", 0.499, READING),
    ],
)
def test_one_measure_of_rank_alone_makes_low_or_high_rank_a_matter_of_reading(mode, measure, share, status):
    data = trained_twice()
    (data[mode],) = changed(data[mode], -1, **{measure: 100 * share * OF_SEEDS})
    assert CLAIMS["bnd-fig2-he"](data).status == status


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, HOLDS),
        ({"accuracy": 0.9502}, HOLDS),
        ({"accuracy": 0.9498}, REFUTED),
        ({"default": 0.1998}, HOLDS),
        ({"default": 0.2002}, REFUTED),
        ({"bn": 0.5002}, HOLDS),
        ({"bn": 0.4998}, REFUTED),
    ],
)
def test_the_deepest_networks_decide_accuracy_without_rank(changes, status):
    assert CLAIMS["bnd-fig2-he"](trained_twice(**changes)).status == status
