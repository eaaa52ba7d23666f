"""Claims on the simplified model, first part: rows and their clusters (Section III, Appendices C to E)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, cast

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, in_dataset, replace_variables, wrong_formula
from repdyn.base.verdicts import Test, Verdict, at_most, deviation, equal
from repdyn.bn_decomposed.theory.tree_formulas import split_contribution, split_contribution_by_paths, three_cluster_sum


def none(count: ArrayLike, expected: str) -> Test:
    """Passes if a count of exceptions, summed over everything that was enumerated, is zero."""
    return equal(int(np.sum(count)), 0, expected=expected, reason="rows are integers and counted exactly")


@claim(
    "bnd-lem7",
    where="Section III, Lemma 7",
    line=217,
    words=r"for all $i \in [n]$ for some deterministic function f. Then, $c(y) \leq c(x)$",
    kind="bound",
    states="A deterministic function of the entries cannot raise the number of clusters: no row has more clusters "
    "than the row it comes from.",
    control=false_world("parents for children", replace_variables(gaining="losing")),
    sought="Proof: the entries of $y$ are the image under $f$ of the set of entries of $x$, and a map has no more "
    "values than arguments. No property of $f$ is used: it may jump, be constant, or depend on $x$ through "
    "its mean, as Definition 5 does. Counted in addition where a cluster at the mean falls together with the "
    "zeros in both children.",
)
def clusters_never_increase(cluster_rows: xr.Dataset) -> Verdict:
    """Clusters of every child against its parent, all rows of all batches."""
    return Verdict.from_tests(none(cluster_rows["gaining"], "no row with more clusters than its parent"))


@claim(
    "bnd-appE-middle",
    where="Appendix E, second paragraph",
    line=751,
    assumes="distinct components of one input dimension",
    words="the cluster in the middle must contain only one element by construction",
    kind="identity",
    states="The cluster in the middle of a three-cluster row holds one point.",
    control=wrong_formula(
        "pairs of points in any cluster for pairs in a middle one", replace_variables(shared_middles="shared_clusters")
    ),
    labels={"": "pairs of points in one cluster between the ends of its row"},
)
def middle_clusters_hold_one_point(cluster_rows: xr.Dataset) -> Verdict:
    """Pairs of points in one cluster strictly between its row's ends, rows of any number of clusters."""
    return Verdict.from_tests(none(cluster_rows["shared_middles"], "none"))


def ties_forgotten(cluster_rows: xr.Dataset) -> xr.Dataset:
    """Takes all clusters for off the mean."""
    return cluster_rows.assign(ties=0 * cluster_rows["ties"], three_tied=0 * cluster_rows["three_tied"])


def algorithm_without_ties(cluster_rows: xr.Dataset) -> xr.Dataset:
    """Takes n - 2 for the excess of the algorithm, whatever the ties."""
    excess = xr.zeros_like(cluster_rows["excess_by_algorithm"]) + cluster_rows["points"] - 2
    return cluster_rows.assign(excess_by_algorithm=excess)


@claim(
    "bnd-excess",
    where="Appendix E, beside the second paragraph",
    kind="identity",
    origin="ours",
    states="At every layer the sum over all rows of the number of clusters less 2 is $n - 2$, less one for each "
    "cluster that has met its row's mean exactly. So at most $n - 2$ rows have three clusters or more, and "
    "each point but the extremes is strictly inside at most one row; before any cluster meets a mean, inside "
    "exactly one.",
    formula=r"\sum_{\text{rows}} (c - 2) = n - 2 - \#\{\text{clusters so far at the mean of their row}\}",
    control={
        "layers with another excess": wrong_formula("clusters that meet the mean are not counted", ties_forgotten),
        "layers where the algorithm differs": wrong_formula("$n - 2$ in spite of ties", algorithm_without_ties),
        "layers with more wide rows": wrong_formula(
            "rows of two clusters counted as wide", replace_variables(wide_rows="parted_rows")
        ),
        "layers where a point is not inside exactly one row": wrong_formula(
            "every point counted in every wide row", replace_variables(interior_rows_most="wide_rows")
        ),
        "gram matrices": wrong_formula(
            "the rows of two clusters left out", replace_variables(gram_difference="gram_difference_of_wide_rows")
        ),
    },
    labels={
        "gram matrices": "matrix of inner products by the fast algorithm, minus that by enumeration",
        "layers where a point is not inside exactly one row": "layers with an interior point inside two rows "
        "or, before a cluster has met a mean, inside none",
    },
    remark="A row of $k$ clusters, $a$ of them below its mean, has children of $k - a + 1$ and $a + 1$ clusters, "
    "together $k + 2$, hence the conservation. From $t_0$ on $n - 2$ rows of three clusters remain forever, apart "
    "from ties.",
    assumes="the simplified model, distinct components of one input dimension; rows counted with their multiplicity",
)
def excess_is_conserved(cluster_rows: xr.Dataset) -> Verdict:
    """Enumeration of all rows and the exact algorithm, each against n - 2 less the ties so far."""
    ties = cluster_rows["ties"]
    lost = ties.cumsum("layer") - ties
    expected = cluster_rows["points"] - 2 - lost
    at_most_once = cluster_rows["interior_rows_most"] > 1
    exactly_once = (cluster_rows["interior_rows_least"] != 1) & (lost == 0)
    return Verdict.from_tests(
        {
            "layers with another excess": none(cluster_rows["excess"] != expected, "none"),
            "layers where the algorithm differs": none(
                cluster_rows["excess_by_algorithm"] != cluster_rows["excess"], "none"
            ),
            "layers with more wide rows": none(cluster_rows["wide_rows"] > cluster_rows["points"] - 2, "none"),
            "layers where a point is not inside exactly one row": none(at_most_once | exactly_once, "none"),
            "gram matrices": deviation(
                cluster_rows["gram_difference"],
                1e-12,
                expected="algorithm equal to enumeration",
                reason="float64 sums of thousands of positive terms, scale taken through a logarithm",
            ),
        }
    )


@claim(
    "bnd-fig8-tie",
    where="Caption of Figure 8; Appendix E",
    line=745,
    kind_of_slip="missing hypothesis",
    assumes="distinct components of one input dimension",
    words=("a three-cluster neuron always generates one three-cluster neuron and one two-cluster neuron"),
    kind="identity",
    states="A three-cluster row always generates one row of three clusters and one of two.",
    correction="Unless its middle cluster equals the mean, as in (0, 1, 2): then both children have two clusters. "
    "Distinct points do not exclude it.",
    control=wrong_formula("clusters that meet the mean are not counted", ties_forgotten),
    message="A row of three clusters can generate two rows of two",
    cause="When the middle cluster equals the mean, as in $(0, 1, 2)$, both children have two clusters, and "
    "distinct points do not exclude it.",
    consequence="The sentence needs that exception; Theorem 11 is unaffected.",
)
def three_clusters_give_three_and_two(cluster_rows: xr.Dataset) -> Verdict:
    """All three-cluster rows whose children are others than 3 and 2, against those whose middle is at the mean."""
    otherwise, tied = cluster_rows["three_split_otherwise"], cluster_rows["three_tied"]
    return Verdict.from_tests(
        none(otherwise, "no three-cluster row with other children"),
        none(otherwise != tied, "other children exactly where the middle equals the mean"),
        {"rows whose middle cluster is at the mean": int(tied.sum())},
    )


def without_the_gap(
    tree_limits: xr.Dataset, narrow_gap: xr.Dataset, cluster_rows: xr.Dataset
) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Takes a bound in n alone, that of equal gaps."""
    equal_gaps = cast("Callable[[xr.Dataset], xr.Dataset]", replace_variables(depth_bound="depth_bound_of_equal_gaps"))
    return equal_gaps(tree_limits), equal_gaps(narrow_gap), cluster_rows


def a_layer_late(cluster_rows: xr.Dataset) -> xr.Dataset:
    """Reads the algorithm one layer late."""
    return cluster_rows.assign(most_by_algorithm=cluster_rows["most_by_algorithm"].shift(layer=-1, fill_value=2))


IN_N_ALONE = wrong_formula("a bound in $n$ alone, that of equal gaps", without_the_gap)


@claim(
    "bnd-thm10",
    where="Section III, Theorem 10; Appendix C",
    line=227,
    assumes="distinct components; every sequence of positive and negative transformations",
    words=r"Then, there exists a finite $t_0 \geq 0$ such that $\mathsf{x}^{(t_0)}$ is stable",
    kind="limit",
    states="From distinct points, every row has at most three clusters from some finite layer on.",
    formula=r"\exists\, t_0 < \infty: \quad c(x^{(t_0)}) \le 3",
    control={
        "depth over bound": IN_N_ALONE,
        "depth over bound for a narrow gap": IN_N_ALONE,
        "layers where the widest rows differ": wrong_formula(
            "the algorithm read one layer late", in_dataset(2, a_layer_late)
        ),
    },
    remark="The depth is not bounded in $n$ alone, it grows as a gap narrows. One layer serves all rows, since a "
    "binary tree whose branches all end is finite.",
    sought="Proof with a bound on the layer (page): inner gaps are only passed on, and the mean of a child is at "
    "most $1 - 1/n$ of its parent's. The exact depth of all sequences at once was held against it for two and"
    " three points (stable at once), two narrow pairs far apart (the logarithm in the bound is negative, and "
    "counts as 0), clusters exactly at the mean, gaps from 1e-9 to 1e-40 of the range, and entries of 1e9 "
    "around unit gaps.",
)
def rows_become_stable(tree_limits: xr.Dataset, narrow_gap: xr.Dataset, cluster_rows: xr.Dataset) -> Verdict:
    """The exact depth of stability against a bound from the input's gaps; the algorithm against all rows."""
    bound: dict[str, Any] = {
        "expected": "at most 1",
        "reason": "Appendix C: the mean falls by $1 - 1/n$ per layer, the inner gaps stay",
    }
    depth, decade = narrow_gap["stable_depth"], narrow_gap["decade"]
    by_n = tree_limits["stable_depth"].where(tree_limits["kind"] == "gaussian", drop=True).groupby("points")
    return Verdict.from_tests(
        {
            "depth over bound": at_most(tree_limits["stable_depth"] / tree_limits["depth_bound"], 1, **bound),
            "depth over bound for a narrow gap": at_most(depth / narrow_gap["depth_bound"], 1, **bound),
            "layers where the widest rows differ": none(
                cluster_rows["most_by_algorithm"] != cluster_rows["most_clusters"].clip(min=2), "none"
            ),
        },
        facts={
            "batch sizes": by_n.median()["points"],
            "depth of Gaussian batches by batch size, median (layers)": by_n.median(),
            "depth of Gaussian batches by batch size, largest (layers)": by_n.max(),
            "layers per decade of the gap of (0, 0.3, 0.5, 0.5 + gap, 1)": (depth[-1] - depth[0])
            / (decade[-1] - decade[0]),
        },
    )


@claim(
    "bnd-eq36-40",
    where="Appendix D, eqs. (36)-(40)",
    line=591,
    assumes="a row of two clusters, one of them at zero",
    words="the total contribution is ... "
    r"$=c_{\ell}^{2}\left(\frac{n-n_{\ell}}{n}\right)^{2}"
    r"\left\{\left(\frac{n-n_{\ell}}{n}\right)^{2}+\left(\frac{n_{\ell}}{n}\right)^{2}\right\}^{T-1}$",
    kind="identity",
    states="The descendants after $T$ layers of a two-cluster row with positive coordinate $c$ contribute $c^2 "
    r"\left(\frac{n-m}{n}\right)^2 \left(\left(\frac{n-m}{n}\right)^2 + \left(\frac{m}{n}\right)^2\right)^{T-1}$ to "
    "the squared norm of a point in a cluster of $m$ points.",
    control=dict.fromkeys(
        ("enumeration over eq 40", "enumeration over eq 39"),
        wrong_formula("the other cluster's points for those of the point's own", exchange("end", "first", "last")),
    ),
)
def two_cluster_rows_add_up(split_rows: xr.Dataset) -> Verdict:
    """Enumeration of all 2^T descendants against the sum over paths (39) and its closed form (40)."""
    closed, by_paths = [], []
    sizes = list(
        zip(split_rows["split_points"].values.tolist(), split_rows["split_zeros"].values.tolist(), strict=True)
    )
    for (row, (n, zeros)), (place, T) in product(enumerate(sizes), enumerate(split_rows["layer"].values.tolist())):
        for end, size in ((0, zeros), (1, n - zeros)):
            square = float(split_rows["square"][row, end, place])
            closed.append(square / split_contribution(1.0, size, n, T) - 1)
            by_paths.append(square / split_contribution_by_paths(1.0, size, n, T) - 1)
    reason = "sums of thousands of positive float64 terms after a dozen layers, each within a few rounding errors"
    return Verdict.from_tests(
        {
            "enumeration over eq 40": deviation(closed, 1e-12, expected="equal", reason=reason),
            "enumeration over eq 39": deviation(by_paths, 1e-12, expected="equal", reason=reason),
        }
    )


def norms_for_squares(split_rows: xr.Dataset) -> xr.Dataset:
    """Leaves out the square of the norms."""
    return split_rows.assign(parted_square=np.sqrt(split_rows["parted_square"]))


NORMS = wrong_formula("norms for squared norms", norms_for_squares, recomputes=True)


@claim(
    "bnd-eq61-62",
    where="Appendix E, eqs. (61)-(62)",
    line=757,
    assumes="a three-cluster row of composition (1, 1, n-2) or (n-2, 1, 1); T at least 2, since (61) has T - 1 terms "
    "and begins with the exponent T - 2; n at least 4, so that there are two interior points and 2n - 7 is "
    "positive",
    words=r"can be upper bounded, thanks to equation ... $\leq c^{2} \left(\frac{n-2}{n}\right)^{2} "
    r"\left(\frac{n^{2}-2n+1}{2n-7}\right) \left(\frac{n-1}{n}\right)^{2(T-1)}$",
    kind="bound",
    states="The $(2, n - 2)$ descendants of a three-cluster row contribute at most (61) to the squared norms of the "
    "middle point and of a point in the large cluster, and (61) is at most (62).",
    control={
        "enumeration over eq 61": NORMS,
        "eq 61 over eq 62": wrong_formula("$2n - 3$ for $2n - 7$ in (62)", replace_variables(eq_62="wrong_eq_62")),
    },
    remark="At $T = 1$ the sum has no term, while a point of the large cluster already gains; at $n = 3$ its rows "
    "$(2, 1)$ are among the leading ones. The births that (61) leaves out, those of the last layer, are "
    "smaller than its slack.",
)
def three_cluster_rows_are_bounded(split_rows: xr.Dataset) -> Verdict:
    """Enumerated descendants against (61) from T = 2 on; (61) against (62)."""
    parted = split_rows["parted_square"].sel(kept="2, n-2").max("point").transpose("row", "layer").values
    points, layers = split_rows["row_points"].values.tolist(), split_rows["layer"].values.tolist()
    sums = np.array([[three_cluster_sum(1.0, n, T) for T in layers] for n in points])
    later = np.array(layers) >= 2
    reason = "an upper bound"
    return Verdict.from_tests(
        {
            "enumeration over eq 61": at_most(
                parted[:, later] / sums[:, later], 1, expected="at most 1", reason=reason, n=len(points)
            ),
            "eq 61 over eq 62": at_most(
                split_rows["eq_61"] / split_rows["eq_62"],
                1 + 1e-12,
                expected="at most 1",
                reason="the quotient is $1 - (b/a)^{T-1}$ and reaches 1 within the rounding of 500 terms",
            ),
        }
    )
