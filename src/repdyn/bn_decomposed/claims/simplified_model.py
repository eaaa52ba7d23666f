"""Claims on the simplified model, first part: rows and their clusters (Section III, Appendices C to E)."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most, deviation, equal
from repdyn.bn_decomposed.theory.tree_formulas import (
    split_contribution,
    split_contribution_by_paths,
    three_cluster_bound,
    three_cluster_sum,
)


def none(count: object, expected: str) -> Test:
    """Passes if a count of exceptions, summed over everything that was enumerated, is zero."""
    return equal(int(np.sum(count)), 0, expected=expected, reason="rows are integers and counted exactly")


def parents_for_children(cluster_rows: xr.Dataset) -> xr.Dataset:
    """Counts the rows that have fewer clusters than their parent in place of those that have more."""
    return cluster_rows.assign(gaining=cluster_rows["losing"])


@claim(
    "bnd-lem7",
    where="Lemma 7",
    kind="bound",
    states="A deterministic function of the entries cannot raise the number of clusters: no row has more clusters than "
    "the row it comes from.",
    data="cluster_rows",
    control=wrong_formula("parents in the place of children", parents_for_children),
)
def clusters_never_increase(cluster_rows: xr.Dataset) -> Verdict:
    """Clusters of every child against its parent, all rows of all batches."""
    return Verdict.from_tests(none(cluster_rows["gaining"], "no row with more clusters than its parent"))


def ties_forgotten(cluster_rows: xr.Dataset) -> xr.Dataset:
    """Takes all clusters for off the mean."""
    return cluster_rows.assign(ties=0 * cluster_rows["ties"], three_tied=0 * cluster_rows["three_tied"])


@claim(
    "bnd-excess",
    where="Appendix E, second paragraph",
    kind="identity",
    states="The middle cluster of a three-cluster row holds one point. More is true at every layer: the sum over all "
    "rows of (clusters - 2) is n - 2, less one for each cluster that has met its row's mean exactly; so at most n - 2 "
    "rows have three clusters or more, and each point but the extremes is strictly inside exactly one row.",
    data="cluster_rows",
    control=wrong_formula("clusters that meet the mean are not counted", ties_forgotten),
)
def excess_is_conserved(cluster_rows: xr.Dataset) -> Verdict:
    """Enumeration of all rows and the exact algorithm, each against n - 2 less the ties so far."""
    ties = cluster_rows["ties"]
    lost = ties.cumsum("layer") - ties
    expected = cluster_rows["points"] - 2 - lost
    at_most_once = cluster_rows["interior_rows_most"] > 1
    exactly_once = (cluster_rows["interior_rows_least"] != 1) & (lost == 0)
    return Verdict.from_tests(
        all_of(
            layers_with_another_excess=none(cluster_rows["excess"] != expected, "none"),
            layers_where_the_algorithm_differs=none(
                cluster_rows["excess_by_algorithm"] != cluster_rows["excess"], "none"
            ),
            layers_with_more_wide_rows=none(cluster_rows["wide_rows"] > cluster_rows["points"] - 2, "none"),
            layers_where_a_point_is_not_inside_exactly_one_row=none(at_most_once | exactly_once, "none"),
            pairs_of_points_in_one_middle_cluster=none(cluster_rows["shared_middles"], "none"),
            gram_matrices=deviation(
                cluster_rows["gram_difference"],
                1e-12,
                expected="algorithm equal to enumeration",
                reason="float64 sums of thousands of positive terms, scale taken through a logarithm",
            ),
        ),
        note="A row of k clusters, a of them below its mean, has children of k - a + 1 and a + 1 clusters, together "
        "k + 2, whence the conservation. From t0 on n - 2 rows of three clusters are left, less ties, for ever.",
    )


@claim(
    "bnd-fig8-tie",
    where="Caption of Figure 8, Appendix E",
    kind="identity",
    states="A three-cluster row always generates one row of three clusters and one of two.",
    correction="Unless its middle cluster equals the mean, as in (0, 1, 2): then both children have two clusters. "
    "Distinct points do not exclude it.",
    data="cluster_rows",
    control=wrong_formula("clusters that meet the mean are not counted", ties_forgotten),
)
def three_clusters_give_three_and_two(cluster_rows: xr.Dataset) -> Verdict:
    """All three-cluster rows whose children are others than 3 and 2, against those whose middle is at the mean."""
    otherwise, tied = cluster_rows["three_split_otherwise"], cluster_rows["three_tied"]
    return Verdict.from_tests(
        none(otherwise, "no three-cluster row with other children"),
        none(otherwise != tied, "other children exactly where the middle equals the mean"),
        f"{int(tied.sum())} ties, all in equally spaced batches; Theorem 11 is not touched.",
    )


def a_layer_early(tree_limits: xr.Dataset, narrow_gap: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Looks one layer before the depth of stability."""
    return tree_limits.assign(clusters_then=tree_limits["clusters_before"]), narrow_gap


@claim(
    "bnd-thm10",
    where="Theorem 10, Appendix C",
    kind="limit",
    states="From distinct points, every row has at most three clusters from some finite layer t0 on.",
    data=("tree_limits", "narrow_gap"),
    control=wrong_formula("the layer before t0 in place of t0", a_layer_early),
)
def rows_become_stable(tree_limits: xr.Dataset, narrow_gap: xr.Dataset) -> Verdict:
    """Widest row at t0 and before it in every batch; growth of t0 as two points approach each other."""
    early = (tree_limits["stable_depth"] > 0) & (tree_limits["clusters_before"] <= 3)
    depth, decade = narrow_gap["stable_depth"], narrow_gap["decade"]
    slope = float((depth[-1] - depth[0]) / (decade[-1] - decade[0]))
    most = 2 * np.log(10) / np.log(5 / 3)
    gaussian = tree_limits["stable_depth"].where(tree_limits["kind"] == "gaussian", drop=True)
    by_n = gaussian.groupby("points")
    medians, largest = by_n.median(), by_n.max()
    depths = ", ".join(
        f"{n}: {float(medians.sel(points=n)):g} ({int(largest.sel(points=n))})" for n in medians["points"].values
    )
    return Verdict.from_tests(
        all_of(
            batches_with_a_wider_row_at_t0=none(tree_limits["clusters_then"] > 3, "none"),
            batches_stable_before_t0=none(early, "none"),
            layers_per_decade_of_the_gap=at_most(
                slope,
                most,
                expected=f"at most {most:.2f}",
                reason="Appendix C: the mean loses a factor 1 - 2/n = 3/5 in two layers while the gap stays",
            ),
            layers_gained_by_the_narrowest_gap=at_least(
                depth[-1] - depth[0], 1, expected="no bound in n alone", reason="whole layers"
            ),
        ),
        note=f"t0 of Gaussian batches, median (largest), by n: {depths}. It is not bounded in n alone: (0, 0.3, 0.5, "
        f"0.5 + gap, 1) needs {slope:.2f} layers per decade of the gap, {int(depth[-1])} at 1e-{int(decade[-1])}. One "
        "layer serves all rows, since a binary tree whose branches all end is finite. In the proof (31) holds with "
        "negative transformations only for the smallest of the inner gaps, which is enough for (32).",
    )


def a_layer_off(split_rows: xr.Dataset) -> xr.Dataset:
    """Counts the layers from one too many."""
    return split_rows.assign_coords(layer=split_rows["layer"] + 1)


@claim(
    "bnd-eq36-40",
    where="(36)-(40), Appendix D",
    kind="identity",
    states="The descendants after T layers of a two-cluster row with positive coordinate c contribute "
    "c^2 ((n-m)/n)^2 (((n-m)/n)^2 + (m/n)^2)^(T-1) to the squared norm of a point in a cluster of m points.",
    data="split_rows",
    control=wrong_formula("T + 1 in place of T", a_layer_off),
)
def two_cluster_rows_add_up(split_rows: xr.Dataset) -> Verdict:
    """Enumeration of all 2^T descendants against the sum over paths (39) and its closed form (40)."""
    closed, by_paths = [], []
    sizes = list(
        zip(split_rows["split_points"].values.tolist(), split_rows["split_zeros"].values.tolist(), strict=True)
    )
    for (row, (n, zeros)), (place, T) in product(enumerate(sizes), enumerate(split_rows["layer"].values.tolist())):
        for end, own in ((0, zeros), (1, n - zeros)):
            square = float(split_rows["square"][row, end, place])
            closed.append(square / split_contribution(1.0, own, n, T) - 1)
            by_paths.append(square / split_contribution_by_paths(1.0, own, n, T) - 1)
    reason = "sums of thousands of positive float64 terms after a dozen layers, each within a few eps"
    return Verdict.from_tests(
        all_of(
            enumeration_over_eq_40=deviation(closed, 1e-12, expected="equal", reason=reason),
            enumeration_over_eq_39=deviation(by_paths, 1e-12, expected="equal", reason=reason),
        )
    )


def norms_for_squares(split_rows: xr.Dataset) -> xr.Dataset:
    """Leaves out the square of the norms."""
    return split_rows.assign(parted_square=np.sqrt(split_rows["parted_square"]))


@claim(
    "bnd-eq61-62",
    where="(61)-(62), Appendix E",
    kind="bound",
    states="The (2, n-2) descendants of a three-cluster row contribute at most (61) to the squared norms of the middle "
    "point and of a point in the large cluster, and (61) is at most (62).",
    data="split_rows",
    control=wrong_formula("norms in place of squared norms", norms_for_squares),
)
def three_cluster_rows_are_bounded(split_rows: xr.Dataset) -> Verdict:
    """Enumerated descendants against (61) from T = 2 on and against (62) from T = 1 on; (61) against (62)."""
    parted = split_rows["parted_square"].sel(kept="2, n-2").max("point").transpose("row", "layer").values
    points, layers = split_rows["row_points"].values.tolist(), split_rows["layer"].values.tolist()
    sums = np.array([[three_cluster_sum(1.0, n, T) for T in layers] for n in points])
    bounds = np.array([[three_cluster_bound(1.0, n, T) for T in layers] for n in points])
    later = np.array(layers) >= 2
    formulas = [
        three_cluster_sum(1.0, n, T) / three_cluster_bound(1.0, n, T)
        for n, T in product((4, 5, 10, 50, 200), (2, 5, 50, 500))
    ]
    reason = "an upper bound"
    return Verdict.from_tests(
        all_of(
            enumeration_over_eq_61=at_most(
                parted[:, later] / sums[:, later], 1, expected="at most 1", reason=reason, n=len(points)
            ),
            enumeration_over_eq_62=at_most(parted / bounds, 1, expected="at most 1", reason=reason, n=len(points)),
            eq_61_over_eq_62=at_most(
                formulas,
                1 + 1e-12,
                expected="at most 1",
                reason="the quotient is 1 - (b/a)^(T-1) and reaches 1 within the rounding of 500 terms",
            ),
        ),
        note="From T = 2 on; at T = 1 the sum (61) is empty while a point of the large cluster already gains. Needs "
        "n >= 4. The births that (61) leaves out, those of the last layer, are smaller than its slack.",
    )
