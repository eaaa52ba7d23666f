"""Claims on rank and on the simplified model, on made-up data just inside and just outside each of their regions."""

import pytest
from tests.bn_decomposed.deciding import on, outcome
from tests.bn_decomposed.made_up_theorems import (
    all_batches,
    amplitudes,
    audit,
    cells,
    coordinates,
    descendants,
    hexagon,
    interior,
    limits,
    narrow,
    ranks,
    rows,
    stalled,
    survivors,
    tails,
    tree,
    waiting,
)

from repdyn.bn_decomposed.claims import (
    appendix_c,
    full_rank,
    full_rank_proof,
    rank_of_layers,
    simplified_limits,
    simplified_model,
)
from repdyn.bn_decomposed.theory.full_rank import full_rank_tail_bound, geometric_sum_tail

R, P, S, L = full_rank, full_rank_proof, simplified_model, simplified_limits
FINITE, COUNT, STEP = R.classes_are_finite, R.classes_on_the_circle, P.step_crosses_one_hyperplane
HYP, COR4, RANK = R.collinear_columns_matter, R.with_batch_normalization, rank_of_layers.rank_grows_with_rows
COLUMNS, PRODUCT, LEMMA2 = P.sum_over_columns, P.rank_of_a_product, P.next_row_raises_the_rank
EXCESS, STABLE, SHARP = S.excess_is_conserved, S.rows_become_stable, L.best_possible_bounds
INTERIOR, SEVERAL = L.interior_points_collapse, L.several_coordinates_share_extremes
NORMS, ODD = L.interior_norms_are_small, L.the_odd_point_is_orthogonal
TAIL, FEW = R.tail_of_rows, survivors(0.1, 20)
LATE = float(geometric_sum_tail(18, 1 / 6, 3))  # above n / gamma, the last number of rows that is tested
LATER = 1 - float(full_rank_tail_bound(2.05, 1 / 6, 3, "b"))
REGIONS = [  # claim, form, part, data just inside, data just outside
    (FINITE, "printed", "classes", on(cells()), on(cells(extra=1))),
    (FINITE, "printed", "sum of volumes", on(cells(volumes=9e-10)), on(cells(volumes=1.1e-9))),
    (FINITE, "printed", "rows outside all classes", on(cells()), on(cells(strays=1))),
    (FINITE, "printed", "k 2", on(cells(hits=1.36)), on(cells(hits=1.46))),  # 3.3 standard errors are 3.3 %
    (FINITE, "printed", "k 3", on(cells(hits=0.74)), on(cells(hits=0.67))),
    (COUNT, "corrected", "classes seen", on(cells()), on(cells(seen=1))),
    (COUNT, "corrected", "smallest cell", on(cells(gamma=9e-13)), on(cells(gamma=2e-12))),
    (R.mean_rows, "printed", "", on(rows(mean=0.99)), on(rows(mean=1.01))),
    (TAIL, "printed", "exact tail over 7a", on(tails(exact=0.999), FEW), on(tails(exact=1.001), FEW)),
    (TAIL, "printed", "the same below its range", on(tails(below=0.999), FEW), on(tails(below=1.001), FEW)),
    (TAIL, "printed", "exponent 7b over 7a", on(tails(loose=0.999), FEW), on(tails(loose=1.001), FEW)),
    (TAIL, "printed", "closed form 28c", on(tails(chernoff=9e-10), FEW), on(tails(chernoff=2e-9), FEW)),
    (TAIL, "printed", "growth with the bound", on(tails(growth=1.001), FEW), on(tails(growth=0.999), FEW)),
    (
        TAIL,
        "printed",
        "below geometric",
        on(tails(), survivors(0.9 * LATE, 20)),
        on(tails(), survivors(1.1 * LATE, 20)),
    ),
    (TAIL, "printed", "below 7b", on(tails(), survivors(0.9 * LATER, 40)), on(tails(), survivors(1.1 * LATER, 40))),
    (P.waits_are_dominated, "printed", "", on(waiting(0.9 * 0.9**10)), on(waiting(1.1 * 0.9**10))),
    (HYP, "printed", "even circles", on(ranks()), on(ranks(even=1))),
    (HYP, "printed", "with many rows", on(ranks()), on(ranks(sampled=1))),
    (HYP, "printed", "by lines", on(ranks()), on(ranks(lines=-1))),
    (HYP, "printed", "without collinear columns", on(ranks()), on(ranks(free=-1))),
    (COR4, "corrected", "largest rank", on(rows(), hexagon()), on(rows(), hexagon(shifted=-1))),
    (COR4, "corrected", "mean over bound", on(rows(recentered=0.99), hexagon()), on(rows(recentered=1.01), hexagon())),
    (
        COR4,
        "corrected",
        "rows where the scale changes the rank",
        on(rows(), hexagon()),
        on(rows(), hexagon(normalized=-1)),
    ),
    (PRODUCT, "corrected", "products above the bound", on(ranks()), on(ranks(above=1))),
    (PRODUCT, "corrected", "products whose rank it lets grow", on(ranks()), on(ranks(grows=1))),
    (LEMMA2, "printed", "probability over its bound", on(stalled(ratio=1.001)), on(stalled(ratio=0.999))),
    (LEMMA2, "printed", "frequency minus probability", on(stalled(frequency=0.0199)), on(stalled(frequency=0.0201))),
    (STEP, "corrected", "", on(cells(not_one=1.0)), on(cells(not_one=1.0, corrected=1.0))),
    (P.waits_are_independent, "printed", "", on(rows()), on(rows(correlation=0.5))),
    (COLUMNS, "printed", "sum of bounds", on(rows(total=0.999)), on(rows(total=1.001))),
    (COLUMNS, "printed", "first wait", on(rows(first=1.06)), on(rows(first=1.14))),
    (COLUMNS, "printed", "later waits", on(rows(later=0.9)), on(rows(later=1.1))),
    (COLUMNS, "printed", "all columns", on(rows(by_column=0.99)), on(rows(by_column=1.01))),
    (RANK, "printed", "image of two inputs", on(ranks()), on(ranks(image=-1))),
    (RANK, "printed", "batch rank over its limit", on(ranks(batch=0.951)), on(ranks(batch=0.949))),
    (RANK, "printed", "linear layer", on(ranks()), on(ranks(linear=1))),
    (S.clusters_never_increase, "printed", "", on(tree()), on(tree(gaining=1))),
    (S.middle_clusters_hold_one_point, "printed", "", on(tree()), on(tree(middles=1))),
    (EXCESS, "printed", "layers with another excess", on(tree()), on(tree(excess=1))),
    (EXCESS, "printed", "layers where the algorithm differs", on(tree()), on(tree(algorithm=1))),
    (EXCESS, "printed", "layers with more wide rows", on(tree()), on(tree(wide=1))),
    (EXCESS, "printed", "layers where a point is not inside exactly one row", on(tree()), on(tree(inside=1))),
    (EXCESS, "printed", "gram matrices", on(tree(gram=9e-13)), on(tree(gram=2e-12))),
    (S.three_clusters_give_three_and_two, "corrected", "", on(tree()), on(tree(otherwise=1))),
    (
        STABLE,
        "printed",
        "depth over bound",
        on(limits(depth=1.0), narrow(), tree()),
        on(limits(depth=1.1), narrow(), tree()),
    ),
    (
        STABLE,
        "printed",
        "depth over bound for a narrow gap",
        on(limits(), narrow(1.0), tree()),
        on(limits(), narrow(1.1), tree()),
    ),
    (
        STABLE,
        "printed",
        "layers where the widest rows differ",
        on(limits(), narrow(), tree()),
        on(limits(), narrow(), tree(late=1)),
    ),
    (
        S.two_cluster_rows_add_up,
        "printed",
        "enumeration over eq 40",
        on(descendants(square=9e-13)),
        on(descendants(square=2e-12)),
    ),
    (
        S.two_cluster_rows_add_up,
        "printed",
        "enumeration over eq 39",
        on(descendants(square=9e-13)),
        on(descendants(square=2e-12)),
    ),
    (
        S.three_cluster_rows_are_bounded,
        "printed",
        "enumeration over eq 61",
        on(descendants(parted=0.999)),
        on(descendants(parted=1.001)),
    ),
    (
        S.three_cluster_rows_are_bounded,
        "printed",
        "eq 61 over eq 62",
        on(descendants(quotient=1.0)),
        on(descendants(quotient=1.001)),
    ),
    (L.amplitudes_give_the_limits, "printed", "norm ratio", on(amplitudes(error=9e-10)), on(amplitudes(error=2e-9))),
    (L.amplitudes_give_the_limits, "printed", "angle", on(amplitudes(turned=9e-10)), on(amplitudes(turned=2e-9))),
    (L.extremes_are_orthogonal, "printed", "", on(tree()), on(tree(extremes=1))),
    (
        INTERIOR,
        "printed",
        "largest angle in the last layer",
        on(interior(last=9e-7), all_batches()),
        on(interior(last=2e-6), all_batches()),
    ),
    (
        INTERIOR,
        "printed",
        "rate per layer",
        on(interior(rate=1 + 9e-6), all_batches()),
        on(interior(rate=1 + 2e-5), all_batches()),
    ),
    (INTERIOR, "printed", "all batches", on(interior(), all_batches(9e-5)), on(interior(), all_batches(2e-4))),
    (NORMS, "printed", "ratio over 3 over n minus 2", on(limits(ratio=0.999)), on(limits(ratio=1.001))),
    (
        NORMS,
        "printed",
        "ratio over eqs 51 and 79",
        on(limits(ratio=0.999, which="two_clusters")),
        on(limits(ratio=1.001, which="two_clusters")),
    ),
    (ODD, "printed", "distance from 90 degree over its bound", on(limits(angle=0.999)), on(limits(angle=1.001))),
    (
        ODD,
        "printed",
        "the same over eq 59",
        on(limits(angle=0.999, which="two_clusters")),
        on(limits(angle=1.001, which="two_clusters")),
    ),
    (
        SHARP,
        "printed",
        "ratio over its bound",
        on(limits(ratio=0.999, which="sharp")),
        on(limits(ratio=1.001, which="sharp")),
    ),
    (
        SHARP,
        "printed",
        "distance from 90 degree over its bound",
        on(limits(angle=0.999, which="sharp")),
        on(limits(angle=1.001, which="sharp")),
    ),
    (SHARP, "printed", "ratio of symmetric batches", on(limits(symmetric=1 - 9e-10)), on(limits(symmetric=1 - 2e-9))),
    (
        SHARP,
        "printed",
        "distance of symmetric batches",
        on(limits(symmetric=1 - 9e-10)),
        on(limits(symmetric=1 - 2e-9)),
    ),
    (L.one_or_two_points_escape, "printed", "", on(limits(apart=2)), on(limits(apart=3))),
    (L.one_or_two_points_escape, "printed", "", on(limits(apart=1)), on(limits(apart=0))),
    (L.the_far_extreme_is_odd, "printed", "", on(limits(farther=0.6)), on(limits(farther=0.4))),
    (SEVERAL, "printed", "item 1", on(coordinates(extremes=90 - 9e-10)), on(coordinates(extremes=90 - 2e-9))),
    (SEVERAL, "printed", "item 2", on(coordinates(interior_angle=9e-5)), on(coordinates(interior_angle=2e-4))),
    (SEVERAL, "printed", "item 3", on(coordinates(ratio=0.999)), on(coordinates(ratio=1.001))),
    (SEVERAL, "printed", "item 4", on(coordinates(odd=0.999)), on(coordinates(odd=1.001))),
]
APPENDIX_C = [
    (appendix_c.inner_gaps_stay, "31", ""),
    (appendix_c.mean_stays_above_the_gap, "32", ""),
    (appendix_c.smallest_inner_gap_stays, "31 mixed", ""),
    (appendix_c.positive_transformations_lower_the_mean, "33", ""),
    *((appendix_c.negative_transformations_lower_the_mean, name, f"eq {name}") for name in appendix_c.CHAIN),
    (appendix_c.height_does_not_rise, "35d", ""),
]


def name(value):
    return value if isinstance(value, str) else getattr(value, "id", "")


@pytest.mark.parametrize(("claim", "form", "part", "inside", "outside"), REGIONS, ids=name)
def test_the_outcome_turns_at_the_border_of_the_region(claim, form, part, inside, outside):
    assert outcome(claim(*inside), form, part) == "passes"
    assert outcome(claim(*outside), form, part) == "fails"


@pytest.mark.parametrize(("claim", "equation", "part"), APPENDIX_C, ids=name)
def test_formulas_of_appendix_c_turn_at_their_tolerance(claim, equation, part):
    assert outcome(claim(audit(equation, 9e-10)), "printed", part) == "passes"
    assert outcome(claim(audit(equation, 2e-9)), "printed", part) == "fails"


@pytest.mark.parametrize(
    ("claim", "data", "status"),
    [
        (COUNT, cells(), "holds as corrected"),
        (COUNT, cells(seen=1), "does not hold"),
        (STEP, cells(), "holds"),
        (STEP, cells(not_one=1.0), "holds as corrected"),
        (STEP, cells(not_one=1.0, corrected=1.0), "does not hold"),
        (PRODUCT, ranks(), "holds as corrected"),
        (PRODUCT, ranks(above=1), "does not hold"),
        (P.waits_are_independent, rows(), "holds"),
        (P.waits_are_independent, rows(correlation=0.5), "does not hold"),
        (S.three_clusters_give_three_and_two, tree(), "holds as corrected"),
        (S.three_clusters_give_three_and_two, tree(otherwise=1), "does not hold"),
        (S.three_clusters_give_three_and_two, tree(otherwise=-1), "holds"),
    ],
    ids=name,
)
def test_a_verdict_follows_its_two_forms(claim, data, status):
    assert claim(data).status == status


def test_corollary_4_asks_for_columns_that_are_apart_after_recentering():
    """A batch without collinear columns whose recentered columns are antipodal: the printed hypothesis lets it in."""
    assert COR4(rows(), hexagon()).status == "holds as corrected"
    assert COR4(rows(), ranks()).status == "holds"
    assert COR4(rows(recentered=1.01), hexagon()).status == "does not hold"
