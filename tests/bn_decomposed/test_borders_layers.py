"""Claims on layers and networks: one entry, cell or draw alone just inside and just outside of its region.

For each claim made-up data of a known verdict and, per variable, a place and two values for it. All other entries stay
well inside, so a claim on all batches, widths or points must fail at the one that is outside.
"""

import numpy as np
import pytest
import xarray as xr
from tests.bn_decomposed.deciding import changed, check_boundary, on
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

from repdyn.base.claims import claims_of
from repdyn.bn_decomposed.theory.kernel import arccos_kernel
from repdyn.pipeline.run.execute.loading import load_modules

CLAIMS = {claim.id: claim for claim in claims_of(*load_modules("bn_decomposed", "claims"))}
HOLDS, CORRECTED, REFUTED, READING = "holds", "holds as corrected", "does not hold", "depends on the reading"
EPS = np.finfo(float).eps

KAPPA, LEAST = arccos_kernel(np.array([-0.5]))[0], (2 / 3) ** 3  # at 120 degrees, of 180
TWO = clusters(limit=0.5).isel(batch=[0, 0])
NARROWING = clusters(narrow=0.8).isel(batch=[0, 0], spread=[0, 2])
WIDE_ANGLE = rests(points=(5, 7, 20, 50, 100))
WIDE_ANGLE["iterated_norm_ratio"] = WIDE_ANGLE["batch"] - 1.0  # no dot, on the scale of the odd point either
DEEP = deep()
LIKE_12 = changed([deep(sizes=(20, 50), ratio=1 / 19, cluster=9.9)], "second_to_first", (slice(None), 1), 1 / 49)
ONE_LONG = xr.concat([longest(), longest().assign_coords(width=[400])], "width", data_vars="minimal")
LAST = (1, 2, slice(None), -1)  # Gaussian points, the largest batch, the last layer
INVARIANT, FAR = (0, 1, 1), (1, 1, 1)  # the last batch and width of either start


def plus(difference):
    return lambda value: value + difference


def of_squares(start):
    """Values at which the squared norms of one start fail, in closed form and in one cell of sampled layers."""
    closed = [
        ({"closed form"}, "expected_odd_square", start, 1 + 0.99e-12, 1 + 1.01e-12),
        ({"closed form"}, "expected_cluster_square", start, 1 - 0.99e-12, 1 - 1.01e-12),
    ]
    return closed + [
        ({part}, name, start, edge * (1 + inward) * OF_DRAWS, edge * (1 - inward) * OF_DRAWS)
        for part, name in (("odd point sampled", "odd_square"), ("cluster sampled", "cluster_square"))
        for edge, inward in ((0.95, 1e-4), (1.05, -1e-4))
    ]


SHARE = 82 / 81  # of the odd point's square in the next square distance at ten points
NORMS = [
    ({part}, name, (1, 1, width), ratio * edge * (1 + inward) * OF_DRAWS, ratio * edge * (1 - inward) * OF_DRAWS)
    for part, name in (("norm of the odd point", "odd_norm"), ("norm of the cluster", "cluster_norm"))
    for width, ratio in enumerate((0.7, 0.9))
    for edge, inward in ((0.95, 1e-4), (1.05, -1e-4))
]
# claim: datasets, verdict inside, verdict outside, per variable the parts that fail, the place, both values
CASES = {
    "bnd-eq98": (
        on(moments()),
        (HOLDS, REFUTED),
        [
            ({"quadrature"}, "quadrature", -1, 1 + 0.99e-12, 1 + 1.01e-12),
            ({"sampled"}, "square", slice(None), 1.0499 * OF_DRAWS, 1.0501 * OF_DRAWS),
            ({"sampled"}, "square", slice(None), 0.9501 * OF_DRAWS, 0.9499 * OF_DRAWS),
        ],
    ),
    "bnd-eq111": (
        on(moments()),
        (HOLDS, REFUTED),
        [
            ({"quadrature"}, "quadrature", 0, KAPPA - 0.99e-12, KAPPA - 1.01e-12),
            ({"quadrature"}, "quadrature", -1, 1 + 0.99e-12, 1 + 1.01e-12),
            ({"sampled"}, "inner", 0, KAPPA + 0.0499 * OF_DRAWS, KAPPA + 0.0501 * OF_DRAWS),
            ({"sampled"}, "inner", -1, 1 - 0.0499 * OF_DRAWS, 1 - 0.0501 * OF_DRAWS),
        ],
    ),
    "bnd-eq111-ineq": (
        on(moments()),
        (HOLDS, REFUTED),
        [
            ({"excess over its lower bound"}, "quadrature", 0, 1.001 * LEAST - 0.5, 0.999 * LEAST - 0.5),
            ({"excess for collinear vectors"}, "quadrature", -1, 1 - 0.99e-12, 1 - 1.01e-12),
        ],
    ),
    "bnd-thm13-norm": (on(layers()), (HOLDS, REFUTED), of_squares(INVARIANT)),
    "bnd-thm13-orth": (on(layers()), (HOLDS, REFUTED), [({""}, "inner", (*INVARIANT, -1), 0.99e-12, 1.01e-12)]),
    "bnd-thm13-EX": (
        on(layers()),
        (CORRECTED, REFUTED),
        [*of_squares(INVARIANT), ({"inner"}, "expected_inner", INVARIANT, -0.99e-12, -1.01e-12)],
    ),
    "bnd-thm14-1-2": (on(layers()), (CORRECTED, REFUTED), [*of_squares(FAR), *NORMS]),
    "bnd-thm14-3": (on(layers()), (HOLDS, REFUTED), [({""}, "inner", (*FAR, -1), -0.99e-12, -1.01e-12)]),
    "bnd-thm14-4": (
        on(TWO, layers()),
        (HOLDS, REFUTED),
        [
            ({"factor"}, "largest_factor", (-1, -1), 0.999, 1.001),
            ({"factor over its limit"}, "alpha@0", (-1, -1), 0.9 / (1 + 0.99e-12), 0.9 / (1 + 1.01e-12)),
            ({"sampled over closed form"}, "pair_factor", FAR, 0.9 * 1.0499 * OF_DRAWS, 0.9 * 1.0501 * OF_DRAWS),
            ({"sampled over closed form"}, "pair_factor", FAR, 0.9 * 0.9501 * OF_DRAWS, 0.9 * 0.9499 * OF_DRAWS),
        ],
    ),
    "bnd-thm14-hyp": (
        on(layers(), TWO),
        (CORRECTED, REFUTED),
        [
            ({"items 1 and 2"}, "expected_odd_square", FAR, 1 + 0.99e-12, 1 + 1.01e-12),
            ({"items 1 and 2"}, "expected_cluster_square", FAR, 1 - 0.99e-12, 1 - 1.01e-12),
            ({"item 3"}, "inner", (*FAR, -1), 0.99e-12, 1.01e-12),
            ({"item 4"}, "largest_factor", (-1, -1), 0.999, 1.001),
        ],
    ),
    "bnd-thm14-iter": (
        on(NARROWING, layers()),
        (HOLDS, READING),
        [
            ({""}, "factor", (-1, 0, -1), 0.999, 1.001),
            ({""}, "largest_factor", (-1, -1), 0.999, 1.001),
            ({""}, "family_multiplier", -1, 0.999, 1.001),
            ({""}, "full_multiplier", -1, 0.999, 1.001),
            ({""}, "resting_spread", -1, 24.99, 25.01),  # a quarter of n^2 = 100
        ],
    ),
    "bnd-cluster-rest": (
        on(TWO, layers()),
        (HOLDS, REFUTED),
        [
            (
                {"next square distance"},
                "odd_square",
                FAR,
                (1 + 0.0499 * SHARE) * OF_DRAWS,
                (1 + 0.0501 * SHARE) * OF_DRAWS,
            ),
            (
                {"next square distance"},
                "cluster_square",
                FAR,
                (1 - 0.0499 * 82) * OF_DRAWS,
                (1 - 0.0501 * 82) * OF_DRAWS,
            ),
            ({"narrow cluster"}, "factor", (-1, 0, -1), 1.22 * 1.0099, 1.22 * 1.0101),
            ({"narrow cluster"}, "factor", (0, 0, 0), 1.22 * 0.9901, 1.22 * 0.9899),
            ({"wide cluster"}, "factor", (-1, -1, -1), 0.999, 1.001),
            ({"multiplier of the fixed point"}, "family_multiplier", -1, 0.999, 1.001),
            ({"multiplier of the fixed point"}, "full_multiplier", -1, 0.999, 1.001),
        ],
    ),
    "bnd-eq8-closed": (
        on(moments(), rests()),
        (HOLDS, REFUTED),
        [
            ({"closed form minus sampled"}, "recentered_sampled", -1, plus(0.0499), plus(0.0501)),
            ({"closed form minus sampled"}, "recentered_sampled", 0, plus(-0.0499), plus(-0.0501)),
            ({"reduced minus iterated cluster angle"}, "odd_intra_angle", 2, plus(0.0099), plus(0.0101)),
            ({"reduced minus iterated odd angle"}, "odd_angle", -1, plus(-0.0099), plus(-0.0101)),
            ({"equal angles up to six points"}, "simplex_angle", 0, plus(0.0099), plus(0.0101)),
            ({"reduced over iterated norm ratio"}, "odd_norm_ratio", 1, 1.00099, 1.00101),
        ],
    ),
    "bnd-infwidth": (
        on(WIDE_ANGLE, TWO),
        (CORRECTED, REFUTED),
        [
            ({"cluster angle over leading term"}, "odd_intra_angle", 3, 10.8 * 1.0999, 10.8 * 1.1001),
            ({"cluster angle over leading term"}, "odd_intra_angle", 4, 5.4 * 0.9001, 5.4 * 0.8999),
            ({"equal angles up to six points"}, "simplex_angle", 0, plus(-0.0099), plus(-0.0101)),
            ({"multipliers"}, "odd_multiplier", 1, 0.999, 1.001),
            ({"multipliers"}, "full_multiplier", -1, 0.999, 1.001),
            ({"multipliers"}, "full_multiplier_of_equal_points", -1, 0.999, 1.001),
        ],
    ),
    "bnd-fig3": (
        on(DEEP),
        (READING, READING),  # as printed, of all batches; the parts are those of twenty points and more
        [
            ({"second over first norm"}, "second_to_first", LAST, 0.2499 * OF_SEEDS, 0.2501 * OF_SEEDS),
            ({"cluster angle"}, "intra_angle", LAST, 44.95 * OF_SEEDS, 45.05 * OF_SEEDS),
        ],
    ),
    "bnd-fig3, right angle": (
        on(DEEP),
        (READING, REFUTED),  # of which the sentence leaves nothing open
        [
            ({"odd angle"}, "odd_angle", LAST, 85.05 * OF_SEEDS, 84.95 * OF_SEEDS),
            ({"odd angle"}, "odd_angle", LAST, 94.95 * OF_SEEDS, 95.05 * OF_SEEDS),
        ],
    ),
    "bnd-def12-resembles": (
        on(*LIKE_12),
        (HOLDS, READING),
        [
            ({""}, "second_to_first", (1, 1), 1.499 / 49 * OF_SEEDS[:, None], 1.501 / 49 * OF_SEEDS[:, None]),
            ({""}, "second_to_first", (1, 1), 1 / 73 * OF_SEEDS[:, None], 1 / 74 * OF_SEEDS[:, None]),
            ({""}, "intra_angle", (1, 1), 9.99 * OF_SEEDS[:, None], 10.01 * OF_SEEDS[:, None]),
            ({""}, "odd_angle", (1, 1), 80.05 * OF_SEEDS[:, None], 79.95 * OF_SEEDS[:, None]),
            ({""}, "odd_angle", (1, 1), 99.95 * OF_SEEDS[:, None], 100.05 * OF_SEEDS[:, None]),
        ],
    ),
    "bnd-finite-width": (
        on(DEEP),
        (HOLDS, REFUTED),
        [
            ({""}, "intra_angle", (slice(None), 2, slice(None), -1), 39.95 * OF_SEEDS, 40.05 * OF_SEEDS),
            ({""}, "intra_angle", (slice(None), 1, slice(None), -1), 10.05 * OF_SEEDS, 9.95 * OF_SEEDS),
        ],
    ),
    "bnd-sec3-signs": (
        on(DEEP),
        (CORRECTED, REFUTED),
        [
            ({""}, "zeros_if_cluster_below", (1, 2), 50 * 0.1501 * OF_SEEDS[:, None], 50 * 0.1499 * OF_SEEDS[:, None]),
            ({""}, "zeros_if_cluster_above", (0, 1), 20 * 0.2499 * OF_SEEDS[:, None], 20 * 0.2501 * OF_SEEDS[:, None]),
        ],
    ),
    "bnd-disc-fire": (
        on(DEEP),
        (HOLDS, READING),
        [
            ({""}, "above_fifth_of_layer", LAST, 0.9502 * OF_SEEDS, 0.9498 * OF_SEEDS),
            ({""}, "above_tenth_of_neuron", (0, 1), 0.9502 * OF_SEEDS[:, None], 0.9498 * OF_SEEDS[:, None]),
        ],
    ),
    "bnd-fig5-rest": (
        on(at_rest(0.0)),
        (HOLDS, REFUTED),
        [
            ({"root mean square"}, "mean_angle", (0, 1), plus(0.999 * OF_SEEDS), plus(1.001 * OF_SEEDS)),
            ({"root mean square"}, "mean_angle", (0, 0), plus(-0.999 * OF_SEEDS), plus(-1.001 * OF_SEEDS)),
            ({"batch normalization"}, "mean_angle", (1, 1), plus(0.999 * OF_SEEDS), plus(1.001 * OF_SEEDS)),
        ],
    ),
    "bnd-disc-init": (
        on(point_neurons()),
        (HOLDS, REFUTED),
        [
            ({"orthogonal"}, "off_diagonal", (0, -1), 99 * EPS, 101 * EPS),
            ({"activity"}, "activity", (0, -1), (1 + 98 * EPS) / 100, (1 + 102 * EPS) / 100),
            ({"activity"}, "activity", (0, 0), (1 - 98 * EPS) / 100, (1 - 102 * EPS) / 100),
        ],
    ),
}
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


@pytest.mark.parametrize("name", CASES)
def test_one_entry_outside_its_region_changes_the_verdict(name):
    datasets, (status, turned), variables = CASES[name]
    claim = CLAIMS[name.split(",")[0]]
    assert claim(*datasets).status == status
    for case in variables:
        check_boundary(claim, datasets, status, case, turned)


@pytest.mark.parametrize(("id", "datasets", "status", "variable", "place", "value"), NOT_COUNTED)
def test_entries_that_the_statement_leaves_out_change_no_verdict(id, datasets, status, variable, place, value):
    assert CLAIMS[id](*changed(datasets, variable, place, value)).status == status


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
    assert CLAIMS[id](*changed(datasets, variable, place, inside)).status == HOLDS
    assert CLAIMS[id](*changed(datasets, variable, place, outside)).status == turned


@pytest.mark.parametrize("kind", [0, 1])
def test_one_kind_of_batch_alone_in_which_the_farthest_input_is_not_odd_refutes_the_correction(kind):
    claim, few = CLAIMS["bnd-remark-largest"], longest(farthest=0.1)["limit_odd"][0].values
    assert claim(ONE_LONG).status == CORRECTED
    assert claim(*changed([ONE_LONG], "limit_odd", kind, few)).status == REFUTED


@pytest.mark.parametrize("width", [0, 1])
def test_one_width_alone_at_which_the_long_vector_is_not_odd_refutes_the_correction(width):
    claim, few = CLAIMS["bnd-remark-largest"], longest(twice=0.1)["odd"][-1, 0].values
    assert claim(*changed([ONE_LONG], "odd", (-1, width), few)).status == REFUTED
    assert claim(*changed([ONE_LONG], "odd", (0, width), few)).status == CORRECTED  # no vector of twice the length


def test_what_is_far_and_what_is_odd_must_be_the_same_input():
    """At infinite width the odd point is held against the farthest input, not against itself or the longest."""
    claim = CLAIMS["bnd-remark-largest"]
    verdict = claim(*changed([ONE_LONG], "limit_odd", slice(None), 3))
    assert verdict.corrected.parts["farthest at infinite width"].interval[1] < 0.05
    verdict = claim(*changed([ONE_LONG], "farthest", slice(None), 1))
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
    (data[mode],) = changed([data[mode]], measure, -1, 100 * share * OF_SEEDS)
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
