"""Claims on the simplified model, second part: geometry in the limit (Theorem 11 and the Remark before it)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, in_dataset, replace_variables, wrong_formula
from repdyn.base.verdicts import Verdict, at_most, deviation
from repdyn.bn_decomposed.claims.simplified_model import none
from repdyn.bn_decomposed.claims.worst_of import worst_share
from repdyn.bn_decomposed.theory.tree_formulas import Bound, angle_bound, limit_of_amplitudes, ratio_bound, split_rate

REACHED = (
    "the other splits have lost a factor $e^{40}$ in squares; the symmetric batch reaches the sharp bound within "
    "round-off"
)
DEEP_ENOUGH = 1e-9  # relative; what the other splits leave after e^40, with a wide margin


@claim(
    "bnd-eq45-47",
    where="Appendix D, eqs. (45)-(50), (53)-(58)",
    line=640,
    assumes="the simplified model, i in {2, ..., n-1}, A or B positive; L_1 and L_2 are the rows that separate point 1 "
    "and point n from all others, as the text before (46) says, not those with one point at zero and with one positive",
    words="the norm of any vector $x_i^{(t+T)}$ ... is equal to, following equation ... "
    r"$\|\boldsymbol{x}_{i}^{(t+T)}\|^{2} \simeq \frac{1}{n^{2}} \left\{ \left(\frac{1}{n}\right)^{2} + "
    r"\left(\frac{n-1}{n}\right)^{2} \right\}^{T-1} \sum_{\ell \in L^{(t)}} c_{\ell}^{2}.$",
    kind="limit",
    states="With $A$ and $B$ the squared amplitudes of the rows that separate point 1, or point $n$, from all "
    r"others, $\|x_i\|^2 / \|x_1\|^2$ tends to $\frac{A + B}{(n-1)^2 A + B}$ and $\cos \angle(x_i, x_1)$ to "
    r"$\frac{B}{\sqrt{(A + B) ((n-1)^2 A + B)}}$ for every interior point $i$, and likewise for $x_n$ with $A$ and $B$ "
    "exchanged.",
    control=dict.fromkeys(
        ("norm ratio", "angle"),
        wrong_formula("$A$ and $B$ exchanged", replace_variables(deep_A="deep_B", deep_B="deep_A")),
    ),
    labels={
        "angle": "angle to an extreme point in deep layers, minus the formula",
        "norm ratio": "ratio of norms in deep layers, minus the formula",
    },
    remark="Appendix D leaves three-cluster rows out; they only feed $A$ and $B$, so the formulas stay exact with them "
    "if $A$ and $B$ are taken at great depth. In (56) the root in the numerator is one too many (in our copy); "
    "(57) is right.",
)
def amplitudes_give_the_limits(tree_limits: xr.Dataset) -> Verdict:
    """Gram matrices that hold every row, three clusters included, against the formulas from A and B alone."""
    ratios, angles = [], []
    for deep in range(tree_limits.sizes["deep"]):
        batch = tree_limits.isel(deep=deep)
        limit = limit_of_amplitudes(float(batch["deep_A"]), float(batch["deep_B"]), int(batch["deep_points"]))
        for end in ("first", "last"):
            ratios.append(batch[f"deep_ratio_{end}"].values / getattr(limit, f"ratio_{end}") - 1)
            angles.append(np.arccos(batch[f"deep_cosine_{end}"].values) - getattr(limit, f"angle_{end}"))
    decayed = "the other splits have lost a factor $e^{40}$ in squares, 4e-12 even if they began a millionfold; "
    decayed += "rounding of a thousand layers adds 2e-13"
    return Verdict.from_tests(
        {
            "norm ratio": deviation(ratios, 1e-9, expected="the limit", reason=decayed),
            "angle": deviation(angles, 1e-9, unit=" rad", expected="the limit", reason=decayed),
        }
    )


@claim(
    "bnd-thm11-1",
    where="Section III, Theorem 11, item 1",
    line=241,
    assumes=("distinct ordered components of one input dimension, t from 1 on: the angle of numbers is 0 or pi"),
    words=r"$= \pi/2$ for all $t \in \mathbb{N}$",
    kind="identity",
    states=r"The smallest and the largest point are orthogonal in all layers $t \ge 1$.",
    control=false_world("points 1 and 2 for 1 and $n$", replace_variables(both_extremes="first_two")),
    remark="At $t = 0$ the points are numbers on a line and the statement is empty.",
    sought="Proof: a transformation keeps or reverses the order, so points 1 and $n$ are the extremes of each row, "
    "its mean lies between them, and one of the two is zero in each child. Neither is the zero vector: from "
    "layer 1 on each is the largest entry of some row, and stays it in the positive child. Tried: two points,"
    " arithmetic progressions, whose middle meets the mean, gaps of 1e-9. A batch of one is excluded: its "
    "layers are zero and have no angle.",
)
def extremes_are_orthogonal(cluster_rows: xr.Dataset) -> Verdict:
    """Rows are non-negative, so an inner product of zero is no row with both points positive."""
    after = cluster_rows["both_extremes"].sel(layer=slice(1, None))
    return Verdict.from_tests(none(after, "no row in which both are positive"))


def renumbered(interior_angles: xr.Dataset) -> xr.Dataset:
    """Numbers the points from one too few."""
    return interior_angles.assign(angle=interior_angles["angle"].roll(first=1, second=1))


@claim(
    "bnd-thm11-2",
    where="Section III, Theorem 11, item 2",
    line=241,
    assumes="the simplified model, distinct components of one input dimension",
    words=r"$= 0$ for all $i, j \in \{2, \ldots, n-1\}$",
    kind="limit",
    states="The angles between interior points tend to zero.",
    control=dict.fromkeys(
        ("largest angle in the last layer", "rate per layer"),
        false_world("points renumbered by one, so that an extreme is among them", in_dataset(0, renumbered)),
    )
    | {
        "all batches": false_world(
            "the first layer in which A and B are positive for a deep one",
            in_dataset(1, replace_variables(interior_angle="interior_angle_early")),
        )
    },
    labels={"all batches": "largest angle between interior points in the last layer"},
    remark="Point 2 joins the others at a rate that takes about $n$ layers per factor $e$.",
    sought=r"Proof on the page: the split $m \mid n - m$ carries $\lambda_m < \lambda_1$ for $2 \le m \le n - 2$, "
    r"three-cluster rows carry $((n-1)/n)^2 < \lambda_1$, and $A, B > 0$ from some layer on. Tried: $n = 4$, "
    r"where $\lambda_2/\lambda_1 = 4/5$; two interior points 1e-9 apart or at the mean. In $(0, 1, 2)$ and "
    r"$(0, \dots, 4)$ the middle point is the zero vector in layer 1, so that its angle is undefined there, "
    "but in no later layer.",
)
def interior_points_collapse(interior_angles: xr.Dataset, split_amplitudes: xr.Dataset) -> Verdict:
    """Rate of every pair over the last quarter against that of the slowest split between the two; many batches."""
    angle, layer = interior_angles["angle"], interior_angles["layer"].values
    n, start = angle.sizes["first"], 3 * layer.size // 4
    differences, slowest = [], 0.0
    for i, j in combinations(range(2, n), 2):
        pair = angle.sel(first=i, second=j)
        rate = float(pair[-1] / pair[start]) ** (1 / (layer[-1] - layer[start]))
        expected = np.sqrt(max(split_rate(m, n) for m in range(i, j)) / split_rate(1, n))
        differences.append(rate / expected - 1)
        slowest = max(slowest, rate)
    return Verdict.from_tests(
        {
            "largest angle in the last layer": at_most(
                angle.isel(layer=-1).sel(first=slice(2, n - 1), second=slice(2, n - 1)),
                1e-6,
                unit=" degree",
                expected="zero",
                reason="the slowest split has decayed to $e^{-20}$ rad or less by $4 n^2$ layers",
            ),
            "rate per layer": deviation(
                differences,
                1e-5,
                expected=r"$\sqrt{\lambda_m / \lambda_1}$, $m$ the most unbalanced split between the two points, "
                r"$\lambda_m = (m^2 + (n - m)^2) / n^2$",
                reason="by $3 n^2$ layers the closest other split is at $e^{-12}$ in squares; the rates of "
                "neighboring splits differ by 2e-2",
            ),
            "all batches": at_most(
                split_amplitudes["interior_angle"],
                1e-4,
                unit=" degree",
                expected="zero in every batch",
                reason="the splits between interior points have lost $e^{20}$ against the others, 1e-7 degree, "
                "even if they began a thousandfold",
            ),
        },
        facts={"points": n, "factor per layer on the angle of the slowest pair": slowest},
    )


def _better(tree_limits: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, smaller norm ratio and larger angle (radians) to an extreme, worst interior point, by deep batch."""
    ratio, cosine = (
        np.minimum(*(tree_limits[f"deep_{name}_{extreme}"].sel(end="most").values for extreme in ("first", "last")))
        for name in ("ratio", "cosine")
    )
    return tree_limits["deep_points"].values, ratio, np.arccos(cosine)


def _bounds(n: np.ndarray, which: Bound) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the ratio, and on a right angle less the angle in radians, by batch."""
    sizes = n.tolist()
    return np.array([ratio_bound(k, which) for k in sizes]), np.pi / 2 - np.array(
        [angle_bound(k, which) for k in sizes]
    )


def the_other_extreme(tree_limits: xr.Dataset) -> xr.Dataset:
    """Puts the worse of the two extremes in place of both: "and" for "or"."""
    worse = {
        f"deep_{name}_{end}": np.maximum(tree_limits[f"deep_{name}_first"], tree_limits[f"deep_{name}_last"])
        for name in ("ratio", "cosine")
        for end in ("first", "last")
    }
    return tree_limits.assign(worse)


BOTH = wrong_formula("both extremes for one", the_other_extreme)


@claim(
    "bnd-thm11-3",
    where="Section III, Theorem 11, item 3; Appendices D, E",
    line=241,
    assumes="the simplified model, distinct components of one input dimension",
    words=r"For any $i \in \{2, \ldots, n-1\}$, either $\lim_{t \to \infty}$ ... $\leq \frac{3}{n-2}$",
    kind="bound",
    states="For one of the two extremes the norm of every interior point over its norm tends to a limit of at most $3 "
    r"/ (n - 2)$; for two-cluster rows and for the points next to the extremes $\sqrt{2} / (n - 1)$ is enough.",
    formula=r"\min_{e \in \{1, n\}} \lim_{t \to \infty} \frac{\|x_i^{(t)}\|}{\|x_e^{(t)}\|} \le \frac{3}{n-2}",
    control=dict.fromkeys(("ratio over 3 over n minus 2", "ratio over eqs 51 and 79"), BOTH),
    remark="(72)-(73) are loose because they keep the $(2, n - 2)$ rows, which vanish beside the $(1, n - 1)$ rows.",
    sought="Proof: $(A, B)$ of deep layers is positive and its ratio has a limit (bnd-appE-ratio), and the smaller "
    r"of both ratios is then at most $\sqrt{2/((n-1)^2 + 1)}$ (bnd-thm11-sharp), below $3/(n-2)$ for each $n "
    r"\ge 3$. Reached by symmetric batches, so that ties of the two extremes are the worst case. Tried: three "
    "points (.632 of 3), four and five with gaps of 1e-9 and extremes of 1e9. Two points have no interior "
    "one.",
)
def interior_norms_are_small(tree_limits: xr.Dataset) -> Verdict:
    """Norms from the Gram matrices of deep layers, which hold every row, against both bounds."""
    n, ratio, _ = _better(tree_limits)
    bound: dict[str, Any] = {"expected": "at most 1", "reason": "an upper bound"}
    return Verdict.from_tests(
        {
            "ratio over 3 over n minus 2": at_most(ratio / _bounds(n, "theorem")[0], 1, **bound),
            "ratio over eqs 51 and 79": at_most(ratio / _bounds(n, "two_clusters")[0], 1, **bound),
        }
    )


@claim(
    "bnd-thm11-4",
    where="Section III, Theorem 11, item 4; Appendices D, E",
    line=242,
    assumes="the simplified model, distinct components of one input dimension",
    words=r"For any $i \in \{2, ..., n-1\}$ , either ... $\frac{\pi}{2} - \frac{\sqrt{2}\pi}{n-2} \le \lim_{t "
    r"\to \infty} \angle \left(\boldsymbol{x}_i^{(t)}, \boldsymbol{x}_1^{(t)}\right) \le \frac{\pi}{2}$",
    kind="bound",
    states=r"For one of the two extremes the angle to every interior point tends to a limit within $\sqrt{2} "
    r"\pi/(n-2)$ below a right angle and not above it.",
    formula=r"\frac\pi2 - \frac{\sqrt2 \pi}{n-2} \le \max_{e \in \{1, n\}} \lim_{t \to \infty} \angle(x_i^{(t)}, "
    r"x_e^{(t)}) \le \frac\pi2",
    control=dict.fromkeys(("distance from 90 degree over its bound", "the same over eq 59"), BOTH),
    remark="The printed bound says nothing up to $n = 4$, where it is negative. The angle is never above 90 degrees: "
    "entries are not negative.",
    sought="Proof: entries are not negative, which gives the upper bound; for the lower one the larger angle is at "
    r"least $\arccos(1/\sqrt{2((n-1)^2+1)})$, reached where $A = B$ (bnd-thm11-sharp). Up to four points the "
    "printed lower bound is negative. Tried: three points, where that is 71.6 degrees; arithmetic "
    "progressions, a far point (the angle tends to 90), two narrow pairs.",
)
def the_odd_point_is_orthogonal(tree_limits: xr.Dataset) -> Verdict:
    """Angles from the Gram matrices of deep layers against the printed bound and that of two-cluster rows."""
    n, _, angle = _better(tree_limits)
    missing = np.pi / 2 - angle
    bound: dict[str, Any] = {"expected": "at most 1", "reason": "a lower bound on the angle"}
    return Verdict.from_tests(
        {
            "distance from 90 degree over its bound": at_most(missing / _bounds(n, "theorem")[1], 1, **bound),
            "the same over eq 59": at_most(missing / _bounds(n, "two_clusters")[1], 1, **bound),
        }
    )


SYMMETRIC_FOR_OUTLIER = "a batch with a far point for the symmetric one"


def outlier_for_symmetric(tree_limits: xr.Dataset) -> xr.Dataset:
    """Puts the batch with a far point in place of the symmetric one and the reverse."""
    kind = tree_limits["deep_kind"].values
    order = np.arange(kind.size)
    symmetric, outlier = np.flatnonzero(kind == "symmetric"), np.flatnonzero(kind == "outlier")
    order[symmetric], order[outlier] = outlier, symmetric
    names = [f"deep_{name}_{end}" for name in ("ratio", "cosine") for end in ("first", "last")]
    return tree_limits.assign({name: (tree_limits[name].dims, tree_limits[name].values[order]) for name in names})


@claim(
    "bnd-thm11-sharp",
    where="Section III, beside Theorem 11",
    kind="bound",
    origin="ours",
    states="The best possible bounds of items 3 and 4, three-cluster rows included; symmetric batches reach them.",
    formula=r"\min_e \lim \frac{\|x_i\|}{\|x_e\|} \le \sqrt{\frac{2}{(n-1)^2 + 1}}, \quad \max_e \lim \angle(x_i, "
    r"x_e) \ge \arccos \frac{1}{\sqrt{2 ((n-1)^2 + 1)}}",
    control={
        "ratio over its bound": BOTH,
        "distance from 90 degree over its bound": BOTH,
        "ratio of symmetric batches": false_world(SYMMETRIC_FOR_OUTLIER, outlier_for_symmetric),
        "distance of symmetric batches": false_world(SYMMETRIC_FOR_OUTLIER, outlier_for_symmetric),
    },
    remark="The two-cluster bounds (51)-(52), (59)-(60) all but state the sharp ones.",
    assumes="the simplified model, three or more distinct components of one input dimension; $i$ is any interior "
    "point, the limits are those of deep layers",
)
def best_possible_bounds(tree_limits: xr.Dataset) -> Verdict:
    """Gram matrices of deep layers against the sharp bounds; equality where A = B."""
    n, ratio, angle = _better(tree_limits)
    (of_ratio, of_angle), missing = _bounds(n, "sharp"), np.pi / 2 - angle
    symmetric = tree_limits["deep_kind"].values == "symmetric"
    bound: dict[str, Any] = {"expected": "at most 1", "reason": REACHED}
    reached: dict[str, Any] = {"expected": "the bound is reached", "reason": REACHED}
    sizes = np.unique(n).tolist()
    return Verdict.from_tests(
        {
            "ratio over its bound": at_most(ratio / of_ratio, 1 + DEEP_ENOUGH, **bound),
            "distance from 90 degree over its bound": at_most(missing / of_angle, 1 + DEEP_ENOUGH, **bound),
            "ratio of symmetric batches": deviation((ratio / of_ratio)[symmetric] - 1, DEEP_ENOUGH, **reached),
            "distance of symmetric batches": deviation((missing / of_angle)[symmetric] - 1, DEEP_ENOUGH, **reached),
        },
        facts={
            "batch sizes": sizes,
            "largest ratio by batch size": [ratio[n == k].max() for k in sizes],
            "smallest angle by batch size (degree)": [np.degrees(angle[n == k].min()) for k in sizes],
        },
    )


@claim(
    "bnd-thm11-ntwo",
    where="Section III, interpretation of Theorem 11",
    line=249,
    assumes="the simplified model, one input dimension",
    words="the datapoint representations are all clustered together except for one or two points",
    kind="qualitative",
    states="After enough layers the points are all clustered together except for one or two.",
    control=false_world("the first layer for a deep one", replace_variables(deep_apart="deep_apart_early")),
    remark="The single odd point of Figure 3, whose norm exceeds every other by a factor of order $n$, is not what the "
    "model gives for most batches of many points.",
    sought="Follows from items 1, 2 and 4: all interior points share a direction in the limit, which leaves the two "
    "extremes, and these are orthogonal, so that not both can be within 45 degrees of it; the farther one is "
    "at 71.6 degrees or more, at any $n$ from 3 on, so that every angle up to that in place of 45 degrees gives "
    "one or two as well. Tried: three points, where the cluster is a single point, and equal extremes, where both "
    "leave it.",
)
def one_or_two_points_escape(tree_limits: xr.Dataset) -> Verdict:
    """Points at more than 45 degrees from an interior point, counted over all points of deep layers."""
    apart = tree_limits["deep_apart"]
    gaussian = tree_limits.where(tree_limits["kind"] == "gaussian", drop=True)
    first, last = ((gaussian[f"ratio_{end}"] < 0.5) & (gaussian[f"angle_{end}"] > 45) for end in ("first", "last"))
    both = (first & last).values
    sizes, points = np.unique(gaussian["points"].values).astype(int).tolist(), gaussian["points"].values
    return Verdict.from_tests(
        none((apart < 1) | (apart > 2), "no batch with none or more than two points apart"),
        facts={
            "batch sizes": sizes,
            "share of Gaussian batches with both extremes over 45 degrees from the cluster and twice as long": [
                both[points == n].mean() for n in sizes
            ],
            "median of shorter over longer extreme by batch size": [
                np.median(gaussian["extremes"].values[points == n]) for n in sizes
            ],
        },
    )


def mirrored(tree_limits: xr.Dataset) -> xr.Dataset:
    """Takes the extreme nearer to the mean for the farther one."""
    return tree_limits.assign(farther_is_last=1 - tree_limits["farther_is_last"])


@claim(
    "bnd-thm11-which",
    where="Section III, intuition and Remark; Appendix D, (51)-(52)",
    origin="ours",
    kind="qualitative",
    states="Of a Gaussian batch, the odd point is typically the extreme that is farther from the mean of the rest.",
    control=wrong_formula("the nearer extreme for the farther", mirrored),
    remark="The model does not depend on a shift of the batch, so the norm itself can matter only where the mean is "
    "near zero.",
    assumes="the simplified model on batches of independent Gaussian numbers; one input dimension; the odd point is "
    "the extreme of larger norm in the limit; typically means in more than half of the batches",
)
def the_far_extreme_is_odd(tree_limits: xr.Dataset) -> Verdict:
    """Share of Gaussian batches, by n, in which the extreme of larger limiting norm was the farther one."""
    gaussian = tree_limits.where(tree_limits["kind"] == "gaussian", drop=True)
    odd, points = gaussian["odd_is_last"].values, gaussian["points"].values
    farther = odd == gaussian["farther_is_last"].values
    longer = odd == gaussian["longer_is_last"].values
    sizes = np.unique(points).astype(int).tolist()
    return Verdict.from_tests(
        worst_share(
            [farther[points == n] for n in sizes],
            0.5,
            np.inf,
            expected="more than half at every $n$",
            reason="typically: more often than not; exact binomial interval",
        ),
        facts={
            "batch sizes": sizes,
            "share by batch size, extreme farther from the mean": [farther[points == n].mean() for n in sizes],
            "share by batch size, extreme of larger modulus": [longer[points == n].mean() for n in sizes],
        },
    )


@claim(
    "bnd-remark-dgt1",
    where="Section III, Remark before (9)",
    line=187,
    assumes="the simplified model; one point is the largest and one the smallest in each coordinate",
    words="under the condition that there are two points such that for each coordinate",
    kind="bound",
    states="Theorem 11 holds for an input of several coordinates if one point is the largest and one the smallest in "
    "each of them.",
    control=dict.fromkeys(
        ("item 1", "item 2", "item 3", "item 4"),
        false_world("points in random order in each coordinate", exchange("extremes", "shared", "free")),
    ),
    labels={
        "item 1": "angle between the two extreme points less 90 degrees",
        "item 2": "angle between interior points in the last layer",
        "item 3": "ratio of norms over the bound of the third statement",
        "item 4": "distance from a right angle over the bound of the fourth statement",
    },
    remark="The trees do not interact: $A$ and $B$ add up over the coordinates and the formulas stay.",
    sought="The condition parts only the two points from the others, so that interior points may tie in a "
    "coordinate, which Theorem 11 excludes. Ties only merge clusters: $A$ and $B$ stay positive and the split"
    " of one point from the others stays the slowest to decay. Tried: (0, 1, 1, 1, 5) with (0, 2, 1, 2, 3), "
    "where interior angles fall (5 degrees after 18 layers) and both bounds hold. "
    "Points in free order are the control, and fail.",
)
def several_coordinates_share_extremes(several_coordinates: xr.Dataset) -> Verdict:
    """The four items of the theorem on the joint Gram matrix of the coordinates' trees."""
    shared, n = several_coordinates.sel(extremes="shared"), int(several_coordinates["points"])
    ratio, angle = ratio_bound(n, "theorem"), 90 - np.degrees(angle_bound(n, "theorem"))
    return Verdict.from_tests(
        {
            "item 1": deviation(
                shared["extremes_angle"] - 90, 1e-9, unit=" degree from 90", expected="orthogonal", reason="rounding"
            ),
            "item 2": at_most(
                shared["interior_angle"],
                1e-4,
                unit=" degree",
                expected="zero",
                reason="the slowest split has decayed to $e^{-20}$ rad, and a cosine near 1 resolves 1e-8 rad",
            ),
            "item 3": at_most(shared["ratio"] / ratio, 1, expected="at most 1", reason="an upper bound"),
            "item 4": at_most(
                (90 - shared["odd_angle"]) / angle, 1, expected="at most 1", reason="a lower bound on the angle"
            ),
        }
    )
