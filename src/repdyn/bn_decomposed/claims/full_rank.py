"""Claims on the rank of ReLU(W X): Definition 1, Theorem 3, Corollary 4 and the text of Section I."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import xarray as xr
from scipy.special import gammaincinv

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, in_dataset, replace_labels, replace_variables, wrong_formula
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.sampled import interval_within, spent
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most, deviation, equal
from repdyn.bn_decomposed.claims.worst_of import FALSE_ALARM, worst_mean_over_bound, worst_survival
from repdyn.bn_decomposed.theory.full_rank import full_rank_tail_bound, geometric_sum_tail
from repdyn.bn_decomposed.theory.rank import circle_cells, circle_cells_as_printed

LARGEST_RESOLVED = 6  # points of a circle on which (7b) is above what the draws resolve
LARGEST_LOGARITHM = 700.0  # of a float64
HALF_A_FACTOR_TWO = (
    r"a factor $\sqrt 2$ either way, half of the factor 2 by which the example after the definition slips"
)


def equal_cells(sign_cells: xr.Dataset) -> xr.Dataset:
    """Gives every cell of a batch the same volume."""
    return sign_cells.assign(smallest_share=sign_cells["smallest_count"] / sign_cells["cell_count"])


def _sampled_volume(cells: xr.Dataset) -> Test:
    """Hits of the smallest cells over those expected, pooled over batches; an exact Poisson interval."""
    hits = int(cells["smallest_hits"].sum())
    expected = float((cells["smallest_share"] * cells["draws"]).sum())
    rate = spent(FALSE_ALARM)
    low = gammaincinv(hits, rate / 2) if hits else 0.0
    high = gammaincinv(hits + 1, 1 - rate / 2)
    return interval_within(
        (float(low) / expected, float(high) / expected),
        1 / np.sqrt(2),
        np.sqrt(2),
        estimate=hits / expected,
        expected="sampled over exact volume of the smallest cells: 1",
        reason=HALF_A_FACTOR_TWO,
        n=hits,
        false_alarm=rate,
    )


@claim(
    "bnd-def1-gamma",
    where="Section I, Definition 1, eq. (5)",
    line=95,
    assumes="columns that are not zero",
    words="We denote the finite set of equivalence classes induced by this relation by",
    kind="identity",
    states=r"The rows fall into finitely many classes of equal signs, and $\gamma(X)$, the smallest positive Gaussian "
    "volume of a class, is positive.",
    control={
        "classes": wrong_formula("rows $w$ and $-w$ taken for one class", replace_variables(cell_count="pair_count")),
        "sum of volumes": wrong_formula(
            "the smallest classes left out", replace_variables(volume_sum="volume_sum_without_smallest")
        ),
        "rows outside all classes": false_world(
            "the classes of the batch with its last point reflected", replace_variables(strays="strays_of_reflection")
        ),
        "k 2": wrong_formula("equal volumes for all classes of a batch", equal_cells, recomputes=True),
        "k 3": wrong_formula("equal volumes for all classes of a batch", equal_cells, recomputes=True),
    },
    labels={
        "classes": "number of sign classes, against the count by formula",
        "k 2": "sampled over exact volume of the smallest cells, two dimensions",
        "k 3": "sampled over exact volume of the smallest cells, three dimensions",
    },
)
def classes_are_finite(sign_cells: xr.Dataset) -> Verdict:
    """Arrangement of lines or great circles against Schlaefli's count and against sampled sign patterns."""
    gaussian = sign_cells.isel(batch=sign_cells["kind"].values != "circle")
    n = gaussian["n"].values
    by_count = np.where(gaussian["k"].values == 2, 2 * n, n * (n - 1) + 2)
    volumes = {
        f"k {k}": _sampled_volume(gaussian.isel(batch=gaussian["k"].values == k)) for k in np.unique(gaussian["k"])
    }
    return Verdict.from_tests(
        {
            "classes": equal(
                gaussian["cell_count"].values, by_count, expected="$2n$ in two dimensions, $n (n - 1) + 2$ in three"
            ),
            "sum of volumes": deviation(
                gaussian["volume_sum"] - 1,
                1e-9,
                expected="1",
                reason="corners of cells as thin as 1e-6 are known to 1e-10",
            ),
            "rows outside all classes": equal(int(sign_cells["strays"].sum()), 0, expected="0"),
            **volumes,
        }
    )


def even_circles(sign_cells: xr.Dataset) -> xr.Dataset:
    """Puts the circle of n + 1 points, whose antipodal pairs share their lines, in place of each odd n."""
    odd = _odd_circles(sign_cells)["batch"].values
    spoiled = sign_cells.copy(deep=True)
    for name in ("patterns_seen", "cell_count", "gamma"):
        spoiled[name].loc[{"batch": odd}] = sign_cells[name].sel(batch=odd + 1).values
    return spoiled


def _odd_circles(sign_cells: xr.Dataset) -> xr.Dataset:
    return sign_cells.isel(batch=(sign_cells["kind"].values == "circle") & (sign_cells["n"].values % 2 == 1))


@claim(
    "bnd-ex1-count",
    where="Section I, Example after Definition 1",
    line=104,
    kind_of_slip="result changes",
    assumes="odd number of equally spaced points on the unit circle",
    words=r"It is clear that* $|\{\text{vol}(\Gamma_l): \text{vol}(\Gamma_l) > 0\}| = n$ and $\gamma(X) = 1/n$",
    kind="identity",
    states="For an odd number $n$ of equally spaced points on the circle there are $n$ classes of positive volume and "
    r"$\gamma = 1/n$.",
    correction=r"There are $2n$ classes and $\gamma = 1/(2n)$: the $n$ lines orthogonal to the points are distinct, "
    "and $n$ lines through the origin cut the plane into $2n$ equal sectors.",
    formula=r"|\{\mathrm{vol}(\Gamma_l) : \mathrm{vol}(\Gamma_l) > 0\}| = n, \quad \gamma(X) = \frac{1}{n}",
    corrected_formula=r"|\{l : \mathrm{vol}(\Gamma_l) > 0\}| = 2n, \quad \gamma(X) = \frac{1}{2n}",
    control=dict.fromkeys(
        ("classes seen", "smallest cell"),
        false_world("the circle of $n + 1$ points, an even number, in place of each odd $n$", even_circles),
    ),
    message="An odd circle of n points has 2n classes, not n",
    cause="The $n$ lines orthogonal to the points are distinct and cut the plane into $2n$ equal sectors; the "
    "printed count is as if $w$ and $-w$ were in one class.",
    consequence=r"In the example $\gamma$ is $1/(2n)$, half of what is printed.",
    labels={
        "classes seen": "number of sign classes of positive volume on the circle, against $n$",
        "smallest cell": "smallest volume of a class over the stated one, minus 1",
    },
    defence="As a set of values the volumes have one element for any odd $n$. If $w$ and $-w$ are one class (lines "
    "through the origin, not sectors), $n$ classes of volume $1/n$ are right. No theorem uses the example, "
    r"and even with $\gamma = 1/n$ the bound of Theorem 3, $n^2$, exceeds what circles need (3.8 rows of 9 at "
    "three points).",
    answer="Definition 1 compares signs, which differ between $w$ and $-w$ for each column; three points show six "
    r"sign patterns. With both in one class Lemma 2 would be false: one point has $\gamma = 1$ then, but a row sees "
    "it with probability 1/2. The numbers are therefore wrong by the paper's own definition, and a reader who takes "
    r"$\gamma$ from the example halves the bound of Theorem 3. The theorems are unaffected.",
)
def classes_on_the_circle(sign_cells: xr.Dataset) -> Verdict:
    """Sign patterns seen among sampled rows, and gamma from the sorted lines, for every odd n."""
    odd = _odd_circles(sign_cells)

    def form(law, words: str) -> Test:
        counts, volumes = zip(*map(law, odd["n"].values.tolist()), strict=True)
        return all_of(
            {
                "classes seen": equal(odd["patterns_seen"].values, counts, expected=words),
                "smallest cell": deviation(
                    odd["gamma"] / np.array(volumes) - 1,
                    1e-12,
                    expected=r"zero relative to the stated $\gamma$",
                    reason="angles between lines are known to 1e-15 rad, the smallest is 0.03 rad and more",
                ),
            }
        )

    return Verdict.from_tests(form(circle_cells_as_printed, "n"), form(circle_cells, "2n"))


def without_gamma(rows_to_full_rank: xr.Dataset) -> xr.Dataset:
    """The bound at gamma = 1, that is n rows."""
    return rows_to_full_rank.assign(bound=rows_to_full_rank["n"].astype(float))


def _mean_bounded(rows_to_full_rank: xr.Dataset, recentered: int) -> Test:
    chosen = rows_to_full_rank.isel(batch=rows_to_full_rank["recentered"].values == recentered)
    return worst_mean_over_bound(
        chosen["y"].values,
        chosen["bound"].values,
        expected=f"at most 1 in each of {chosen.sizes['batch']} batches",
        reason="the bound itself",
    )


@claim(
    "bnd-thm3-mean",
    where="Section I, Theorem 3, item 1",
    line=118,
    assumes="no two columns are collinear (a zero column counts as collinear, also alone), i.i.d. standard Gaussian "
    "rows",
    words=r"$\mathbb{E}[y] \leq n/\gamma$",
    kind="bound",
    states=r"The expected number of rows until $\operatorname{ReLU}(W X)$ has full rank is at most $n/\gamma(X)$, if "
    "no two columns are collinear.",
    control=wrong_formula(r"$n$ rows for the bound: $\gamma$ left out", without_gamma, recomputes=True),
    remark="It is far from sharp: the bound grows with the thinnest cell, the number of rows needed hardly does.",
    sought="Proof: given the rows before, the wait for a further column is at most geometric (bnd-lem2-prob), and a "
    r"further column cuts cells in two, so that $\gamma$ never grows. Reached by a batch of one point: "
    r"$\mathbb{E}[y] = 2 = n/\gamma$. Tried: thin cells (bound 1e4 times too large), exact laws on circles. "
    "Just outside the hypothesis it fails: six points on the circle and a single zero column have $y = "
    r"\infty$.",
)
def mean_rows(rows_to_full_rank: xr.Dataset) -> Verdict:
    """Mean of y over its bound, circles and Gaussian batches of two and three dimensions with exact gamma."""
    return Verdict.from_tests(_mean_bounded(rows_to_full_rank, 0))


def antipodal_circles(rows_to_full_rank: xr.Dataset) -> xr.Dataset:
    """Puts six points on the circle, three antipodal pairs, in place of every circle."""
    circle = rows_to_full_rank["kind"] == "circle"
    points = int(rows_to_full_rank["antipodal_points"])
    return rows_to_full_rank.assign(
        y=xr.where(circle, rows_to_full_rank["y_antipodal"], rows_to_full_rank["y"])
    ).assign_coords(
        n=rows_to_full_rank["n"].where(~circle, points),
        gamma=rows_to_full_rank["gamma"].where(~circle, circle_cells(points)[1]),
    )


def _survival(rows_to_full_rank: xr.Dataset) -> dict[str, Test]:
    """Survival of y on the circles: under the sum of geometric variables, under (7b) just above alpha = 2."""
    circles = rows_to_full_rank.isel(batch=rows_to_full_rank["kind"].values == "circle")
    if int(circles["n"].min()) > LARGEST_RESOLVED:
        raise NotEnoughDataError(f"rows_to_full_rank: a circle of {LARGEST_RESOLVED} points or fewer")
    cases_by_bound: dict[str, list[tuple[np.ndarray, float, float]]] = {"below geometric": [], "below 7b": []}
    for b in range(circles.sizes["batch"]):
        circle = circles.isel(batch=b)
        n, gamma, y = int(circle["n"]), float(circle["gamma"]), circle["y"].values
        rows = range(n, int(n / gamma) + 1)
        cases_by_bound["below geometric"] += [(y, d, float(geometric_sum_tail(d, gamma, n))) for d in rows]
        if n <= LARGEST_RESOLVED:  # beyond, the bound is below what the draws can resolve
            limit = 1 - float(full_rank_tail_bound(2.05, gamma, n, "b"))
            cases_by_bound["below 7b"].append((y, 2.05 * n / gamma, limit))
    words = {"expected": "survival over its bound at most 1", "reason": "the bound itself"}
    return {name: worst_survival(cases, **words) for name, cases in cases_by_bound.items()}


@claim(
    "bnd-thm3-tail",
    where="Section I, Theorem 3, item 2, eqs. (7a), (7b); Appendix B, (28)",
    line=119,
    assumes="no two columns are collinear (a zero column counts as collinear, also alone), i.i.d. standard Gaussian "
    "rows; d rows are the whole part of d",
    words=r"$d = \alpha n / \gamma$ *for some* $\alpha > 2$",
    kind="bound",
    states=r"For $d = \alpha n/\gamma$ rows, $\alpha > 2$, the rank is full with probability at least (7a), which is "
    "at least (7b).",
    control=dict.fromkeys(
        ("exact tail over 7a", "the same below its range", "closed form 28c", "growth with the bound"),
        wrong_formula(
            r"the sign of $\log \alpha$ reversed in (7a) and (7b)",
            in_dataset(
                0,
                replace_variables(
                    exponent_a="wrong_exponent_a", exponent_b="wrong_exponent_b", exponent_fine="wrong_exponent_fine"
                ),
            ),
        ),
    )
    | {
        "exponent 7b over 7a": wrong_formula(
            r"the sign of $\log \alpha$ reversed in (7b)",
            in_dataset(0, replace_variables(exponent_b="wrong_exponent_b")),
        )
    }
    | dict.fromkeys(
        ("below geometric", "below 7b"),
        false_world(
            "six points on the circle, whose antipodal pairs the theorem excludes",
            in_dataset(1, antipodal_circles),
            recomputes=True,
        ),
    ),
    labels={
        "below 7b": "sampled probability of a rank below $n$ over the bound (7b)",
        "below geometric": "sampled probability of a rank below $n$ over the geometric tail",
    },
    remark=r"Holds for $\alpha > 1$ already: the minimum in (28b) is at $e^s = (\alpha - \gamma) / (\alpha (1 - "
    r"\gamma)) > 1$.",
    sought=r"Proof: (28b) needs Lemma 2 given the past only (bnd-yt-dominated), and $y > d$ is $y > \lfloor d "
    r"\rfloor$; the exponent of (7a) is a power series in $\gamma$ whose coefficients are not negative for "
    r"$\alpha \ge 1$ and whose first is that of (7b) (page). Tried: one point with $\gamma = 1/2$, the largest"
    r" that there is, $\alpha$ down to 1.05, $\gamma$ down to .001, all with exact tails.",
)
def tail_of_rows(full_rank_tail: xr.Dataset, rows_to_full_rank: xr.Dataset) -> Verdict:
    """Exact negative-binomial tail under (7a), (7a) under (7b), Chernoff's minimum by search, simulated survival."""
    if float(full_rank_tail["alpha"].min()) > 2:
        raise NotEnoughDataError("full_rank_tail: an alpha of 2 or less")
    a, b, fine = (full_rank_tail[f"exponent_{name}"] for name in ("a", "b", "fine"))
    logarithm = (full_rank_tail["log_tail"] + full_rank_tail["n"] * a).clip(max=LARGEST_LOGARITHM)
    over = cast("xr.DataArray", np.exp(logarithm))
    bound: dict[str, Any] = {"expected": "at most 1", "reason": "the bound itself, on an exact grid"}
    return Verdict.from_tests(
        {
            "exact tail over 7a": at_most(over.sel(alpha=over["alpha"] > 2), 1, **bound),
            "the same below its range": at_most(over.sel(alpha=over["alpha"] <= 2), 1, **bound),
            "exponent 7b over 7a": at_most(b / a, 1, **bound),
            "closed form 28c": deviation(
                full_rank_tail["log_chernoff"] / -a - 1,
                1e-9,
                expected="zero relative to the minimum in (28b)",
                reason="terms up to 1e5 times the exponent cancel, which leaves 11 digits",
            ),
            "growth with the bound": at_least(
                fine.values[:, 1:] / fine.values[:, :-1],
                1,
                expected=r"at least 1 from one $\gamma$ to the next",
                reason="monotone, by which (28d) follows from (28c)",
            ),
            **_survival(rows_to_full_rank),
        }
    )


FULL = "full rank for every batch, as if the hypothesis were not needed"


@claim(
    "bnd-thm3-hyp",
    where="Section I, Theorem 3, hypothesis",
    kind="identity",
    states="Theorem 3 assumes that no two columns are collinear, and without this it fails: some batches with "
    "antipodal points never reach full rank.",
    origin="ours",
    control={
        "even circles": wrong_formula(FULL, replace_variables(rank_cells="points")),
        "with many rows": wrong_formula(FULL, replace_variables(rank_sampled="points")),
        "by lines": wrong_formula(FULL, replace_variables(rank_lines="points")),
        "without collinear columns": false_world("a layer without ReLU", replace_variables(rank_cells="rank_linear")),
    },
    labels={
        "by lines": "largest rank by antipodal lines, against that by counting cells",
        "even circles": "largest rank of even circles of points, against $n/2 + 2$",
    },
    remark="The sharp condition: no two columns of the same direction, and the lines that hold antipodal points "
    "linearly independent. In $k$ dimensions a batch can have $k$ antipodal pairs in general position, but not $k + "
    "1$.",
    assumes="i.i.d. Gaussian rows; no zero column; even circles of six points and more",
)
def collinear_columns_matter(relu_rank: xr.Dataset) -> Verdict:
    """Largest rank from the cells, from the lines, and with many rows; even circles of six and more points."""
    plain = relu_rank.isel(case=relu_rank["case_recentered"].values == 0)
    n, free = plain["points"].values, plain["pairs_used"].values == 0
    even = (plain["case_kind"].values == "circle") & (n % 2 == 0) & (n >= 6)
    return Verdict.from_tests(
        {
            "even circles": equal(plain["rank_cells"].values[even], n[even] // 2 + 2, expected="$n/2 + 2$, below $n$"),
            "with many rows": equal(
                plain["rank_sampled"].values, plain["rank_cells"], expected="the largest rank by the cells"
            ),
            "by lines": equal(
                plain["rank_lines"].values, plain["rank_cells"], expected="the largest rank by the cells"
            ),
            "without collinear columns": equal(plain["rank_cells"].values[free], n[free], expected="n"),
        }
    )


@claim(
    "bnd-cor4",
    where="Section I, Corollary 4",
    line=131,
    kind_of_slip="missing hypothesis",
    assumes="the hypothesis of Theorem 3, stated for X: no two of its columns are collinear",
    words=r"holds for $y \coloneqq \min \{d : \text{rank}(\text{ReLU}(BN(W^{(d)}X))) = n\}$",
    kind="bound",
    states=r"Theorem 3 holds with batch normalization before ReLU, with $\gamma$ of $X$ minus its mean; no two "
    "columns of $X$ are collinear.",
    correction="No two columns of $X$ minus its mean may be collinear, nor may one be zero: six points on a circle "
    "off the origin, no two of them collinear, become a centered hexagon whose rank stays at 5.",
    control={
        "largest rank": wrong_formula(
            "the printed hypothesis, on $X$ for $X$ minus its mean",
            in_dataset(1, replace_variables(pairs_used="pairs_given")),
        ),
        "mean over bound": wrong_formula(
            r"$n$ rows for the bound: $\gamma$ left out", in_dataset(0, without_gamma), recomputes=True
        ),
        "rows where the scale changes the rank": false_world(
            "rescaling alone", in_dataset(1, replace_labels("way", {"BN(W X)": "W X / sigma"}))
        ),
    },
    message="The hypothesis must hold for the batch minus its mean",
    cause="Batch normalization subtracts the mean, so Theorem 3 applies to $X$ minus its mean, whose columns may be "
    "collinear where those of $X$ are not.",
    consequence="Six points on a circle off the origin meet the printed hypothesis and can keep rank 5; the "
    "corollary holds if no two recentered columns are collinear.",
    labels={"largest rank": "largest rank of recentered batches, against the number of points"},
    sought="Corrected: Theorem 3 for $X$ minus its mean, since the scale of a row is positive unless all points "
    "coincide and changes no rank. Against the printed form: regular polygons off the origin (hexagon: rank 5 of 6), "
    "and a triangle with its center off the origin, whose center becomes a zero column (rank 3 of 4). Two points "
    "always become antipodal, so that the corrected hypothesis admits no batch of two, although such a batch reaches "
    "rank 2.",
)
def with_batch_normalization(rows_to_full_rank: xr.Dataset, relu_rank: xr.Dataset) -> Verdict:
    """Largest rank of recentered circles off the origin; mean of y on recentered batches; ranks after the layer."""
    shifted = relu_rank.isel(case=relu_rank["case_recentered"].values == 1)

    def full(condition: str) -> Test:
        allowed = shifted.isel(case=shifted[condition].values == 0)
        words = "$n$, for all batches that the hypothesis allows"
        return equal(allowed["rank_cells"].values, allowed["points"], expected=words)

    ranks = relu_rank["rank_normalized"]
    return Verdict.from_tests(
        {"largest rank": full("pairs_given"), "mean over bound": _mean_bounded(rows_to_full_rank, 1)},
        {
            "largest rank": full("pairs_used"),
            "mean over bound": _mean_bounded(rows_to_full_rank, 1),
            "rows where the scale changes the rank": equal(
                int((ranks.isel(way=0) != ranks.isel(way=1)).sum()), 0, expected="0"
            ),
        },
    )
