"""Claims on the simplified model, second part: geometry in the limit (Theorem 11 and the Remark before it)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import xarray as xr
from scipy import stats

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_most, deviation, interval_within
from repdyn.bn_decomposed.claims.simplified_model import none
from repdyn.bn_decomposed.theory.tree_formulas import (
    angle_bound,
    limit_of_amplitudes,
    printed_bounds,
    ratio_bound,
    sharp_bounds,
    split_rate,
)

REACHED = "the symmetric batch reaches the sharp bound, so rounding decides the last digits"


def amplitudes_exchanged(tree_limits: xr.Dataset) -> xr.Dataset:
    """Exchanges A and B."""
    return tree_limits.assign(deep_A=tree_limits["deep_B"], deep_B=tree_limits["deep_A"])


@claim(
    "bnd-eq45-47",
    where="(45)-(50), (53)-(58), Appendix D",
    kind="limit",
    states="With A and B the squared amplitudes of the rows that part point 1, or point n, from all others, "
    "||x_i||^2 / ||x_1||^2 tends to (A + B) / ((n-1)^2 A + B) and cos(x_i, x_1) to "
    "B / sqrt((A + B) ((n-1)^2 A + B)) for every interior point i, and likewise for x_n with A and B exchanged.",
    data="tree_limits",
    control=wrong_formula("A and B exchanged", amplitudes_exchanged),
)
def amplitudes_give_the_limits(tree_limits: xr.Dataset) -> Verdict:
    """Gram matrices that hold every row, three clusters included, against the formulas from A and B alone."""
    ratios, angles = [], []
    for deep in range(tree_limits.sizes["deep"]):
        one = tree_limits.isel(deep=deep)
        limit = limit_of_amplitudes(float(one["deep_A"]), float(one["deep_B"]), int(one["deep_points"]))
        for end in ("first", "last"):
            ratios.append(one[f"deep_ratio_{end}"].values / getattr(limit, f"ratio_{end}") - 1)
            angles.append(np.arccos(one[f"deep_cosine_{end}"].values) - getattr(limit, f"angle_{end}"))
    decayed = "the other splits have lost e^40 in squares, 4e-12 even if they began a millionfold; rounding of a "
    decayed += "thousand layers adds 2e-13"
    return Verdict.from_tests(
        all_of(
            norm_ratio=deviation(ratios, 1e-9, expected="the limit", reason=decayed),
            angle=deviation(angles, 1e-9, unit=" rad", expected="the limit", reason=decayed),
        ),
        note="Appendix D leaves three-cluster rows out; they only feed A and B, so the formulas stay exact with them "
        "if A and B are taken at great depth. In (56) the root in the numerator is one too many (in the text at "
        "hand); (57) is right.",
    )


def neighbours(cluster_rows: xr.Dataset) -> xr.Dataset:
    """Puts points 1 and 2 in the place of points 1 and n."""
    return cluster_rows.assign(both_extremes=cluster_rows["first_two"])


@claim(
    "bnd-thm11-1",
    where="Theorem 11, item 1",
    kind="identity",
    states="The smallest and the largest point are orthogonal in every layer t >= 1.",
    data="cluster_rows",
    control=wrong_formula("points 1 and 2 in place of 1 and n", neighbours),
)
def extremes_are_orthogonal(cluster_rows: xr.Dataset) -> Verdict:
    """Rows are non-negative, so an inner product of zero is no row with both points positive."""
    after = cluster_rows["both_extremes"].sel(layer=slice(1, None))
    return Verdict.from_tests(
        none(after, "no row in which both are positive"),
        note="At t = 0 the points are numbers on a line and the statement is empty.",
    )


def renumbered(interior_angles: xr.Dataset) -> xr.Dataset:
    """Numbers the points from one too few."""
    return interior_angles.assign(angle=interior_angles["angle"].roll(first=1, second=1))


@claim(
    "bnd-thm11-2",
    where="Theorem 11, item 2",
    kind="limit",
    states="The angles between interior points tend to zero.",
    data="interior_angles",
    control=wrong_formula("points renumbered by one, so that an extreme is among them", renumbered),
)
def interior_points_collapse(interior_angles: xr.Dataset) -> Verdict:
    """Rate per layer of every pair over the last quarter against that of the slowest split between the two."""
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
        all_of(
            largest_angle_in_the_last_layer=at_most(
                angle.isel(layer=-1).sel(first=slice(2, n - 1), second=slice(2, n - 1)),
                1e-6,
                unit=" degree",
                expected="zero",
                reason="the slowest split has decayed to e^-20 rad or less by 4 n^2 layers",
            ),
            rate_per_layer=deviation(
                differences,
                1e-5,
                expected="sqrt(lambda_m / lambda_1), m the most unbalanced split between the two points, "
                "lambda_m = (m^2 + (n-m)^2) / n^2",
                reason="by 3 n^2 layers the closest other split has lost e^-12 in squares; the rates of neighbouring "
                "splits differ by 2e-2",
            ),
        ),
        note=f"n = {n}: the slowest pair keeps {slowest:.4f} of its angle per layer. Point 2 joins the others at a "
        "rate that takes about n layers per factor e.",
    )


def _best(tree_limits: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of points, smaller ratio and larger angle of the two extremes, by batch."""
    ratio = np.minimum(tree_limits["ratio_first"], tree_limits["ratio_last"]).values
    angle = np.maximum(tree_limits["angle_first"], tree_limits["angle_last"]).values
    return tree_limits["points"].values, ratio, angle


def _bounds(n: np.ndarray, which: str) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on the ratio, and on 90 degrees less the angle, by batch."""
    bounds = np.array([(printed_bounds if which == "printed" else sharp_bounds)(int(k)) for k in n])
    return bounds[:, 0], 90 - np.degrees(bounds[:, 1])


def the_other_extreme(tree_limits: xr.Dataset) -> xr.Dataset:
    """Puts the worse of the two extremes in the place of both: "and" for "or"."""
    ratio = np.maximum(tree_limits["ratio_first"], tree_limits["ratio_last"])
    angle = np.minimum(tree_limits["angle_first"], tree_limits["angle_last"])
    return tree_limits.assign(ratio_first=ratio, ratio_last=ratio, angle_first=angle, angle_last=angle)


def _sharp_numbers(n: np.ndarray, values: np.ndarray, which: str, digits: int) -> str:
    bound, place = (ratio_bound, 0) if which == "ratio" else (angle_bound, 1)
    scale = 1 if which == "ratio" else 180 / np.pi
    worst = np.max if place == 0 else np.min
    return "; ".join(
        f"n = {k}: {worst(values[n == k]):.{digits}f} ({scale * bound(k, 'sharp'):.{digits}f}, "
        f"{scale * bound(k, 'theorem'):.{digits}f})"
        for k in np.unique(n).tolist()
    )


@claim(
    "bnd-thm11-3",
    where="Theorem 11, item 3; (51)-(52), (72)-(73), (79)-(80)",
    kind="bound",
    states="For one of the two extremes the limit of ||x_i|| over its norm is at most 3/(n-2), i any interior point.",
    data="tree_limits",
    control=wrong_formula("both extremes in place of one", the_other_extreme),
)
def interior_norms_are_small(tree_limits: xr.Dataset) -> Verdict:
    """Smaller ratio of every batch against the printed bound and against sqrt(2 / ((n-1)^2 + 1))."""
    n, ratio, _ = _best(tree_limits)
    (printed, _), (sharp, _) = _bounds(n, "printed"), _bounds(n, "sharp")
    symmetric = tree_limits["kind"].values == "symmetric"
    return Verdict.from_tests(
        all_of(
            ratio_over_printed_bound=at_most(ratio / printed, 1, expected="at most 1", reason="an upper bound"),
            ratio_over_sharp_bound=at_most(ratio / sharp, 1 + 1e-9, expected="at most 1", reason=REACHED),
            symmetric_batches=deviation(
                (ratio / sharp)[symmetric] - 1, 1e-9, expected="the sharp bound is reached", reason=REACHED
            ),
        ),
        note="The best constant is sqrt(2 / ((n-1)^2 + 1)), which the two-cluster bound (51)-(52) all but states: "
        "three-cluster rows do not make it larger, because (2, n-2) rows vanish beside (1, n-1) rows, so the "
        "8/(n-2)^2 of (72)-(73) is loose. Largest ratio seen (sharp, printed bound): "
        + _sharp_numbers(n, ratio, "ratio", 4)
        + ".",
    )


@claim(
    "bnd-thm11-4",
    where="Theorem 11, item 4; (59)-(60), (87)-(88), (93)-(94)",
    kind="bound",
    states="For one of the two extremes the limit of its angle to an interior point lies between "
    "pi/2 - sqrt(2) pi/(n-2) and pi/2.",
    data="tree_limits",
    control=wrong_formula("both extremes in place of one", the_other_extreme),
)
def the_odd_point_is_orthogonal(tree_limits: xr.Dataset) -> Verdict:
    """Larger angle of every batch, as the distance from 90 degrees, against the printed and the sharp bound."""
    n, _, angle = _best(tree_limits)
    (_, printed), (_, sharp) = _bounds(n, "printed"), _bounds(n, "sharp")
    symmetric = tree_limits["kind"].values == "symmetric"
    missing = 90 - angle
    return Verdict.from_tests(
        all_of(
            distance_from_90_over_printed_bound=at_most(
                missing / printed, 1, expected="at most 1", reason="a lower bound on the angle"
            ),
            largest_angle=at_most(angle, 90, unit=" degree", expected="at most 90 degrees", reason="an upper bound"),
            distance_from_90_over_sharp_bound=at_most(missing / sharp, 1 + 1e-9, expected="at most 1", reason=REACHED),
            symmetric_batches=deviation(
                (missing / sharp)[symmetric] - 1, 1e-9, expected="the sharp bound is reached", reason=REACHED
            ),
        ),
        note="The printed bound says nothing up to n = 4, where it is negative. The best one is "
        "arccos(1 / sqrt(2 ((n-1)^2 + 1))). Smallest angle seen (sharp, printed bound), degree: "
        + _sharp_numbers(n, angle, "angle", 2)
        + ".",
    )


def first_layer(tree_limits: xr.Dataset) -> xr.Dataset:
    """Puts the first layer in the place of the last."""
    return tree_limits.assign(deep_apart=tree_limits["deep_apart_early"])


@claim(
    "bnd-thm11-ntwo",
    where="Section III, interpretation of Theorem 11",
    kind="qualitative",
    states="After enough layers the points are all clustered together except for one or two.",
    data="tree_limits",
    control=wrong_formula("the first layer in place of a deep one", first_layer),
)
def one_or_two_points_escape(tree_limits: xr.Dataset) -> Verdict:
    """Points at more than 45 degrees from an interior point, counted over all points of deep layers."""
    apart = tree_limits["deep_apart"]
    gaussian = tree_limits.where(tree_limits["kind"] == "gaussian", drop=True)
    both = (np.maximum(gaussian["ratio_first"], gaussian["ratio_last"]) < 0.5) & (
        np.minimum(gaussian["angle_first"], gaussian["angle_last"]) > 45
    )
    shares = ", ".join(
        f"{n}: {float(both[gaussian['points'] == n].mean()):.0%} "
        f"({float(gaussian['extremes'][gaussian['points'] == n].median()):.2f})"
        for n in np.unique(gaussian["points"].values).astype(int).tolist()
    )
    return Verdict.from_tests(
        none((apart < 1) | (apart > 2), "no batch with none or more than two points apart"),
        note="With many points two is typical. Gaussian batches where both extremes are at more than 45 degrees from "
        f"the cluster and more than twice as long, by n, with the median of the shorter over the longer: {shares}. The "
        "single odd point of Figure 3, whose norm exceeds every other by a factor of order n, is then not what the "
        "model gives.",
    )


def mirrored(tree_limits: xr.Dataset) -> xr.Dataset:
    """Takes the extreme nearer to the mean for the farther one."""
    return tree_limits.assign(farther_is_last=1 - tree_limits["farther_is_last"])


def _share(agrees: np.ndarray) -> Test:
    interval = stats.binomtest(int(agrees.sum()), agrees.size).proportion_ci(0.999)
    return interval_within(
        (interval.low, interval.high),
        0.5,
        1.0,
        estimate=float(agrees.mean()),
        expected="more than half",
        reason="typically: more often than not; exact binomial interval",
        n=agrees.size,
        false_alarm=1e-3,
    )


@claim(
    "bnd-thm11-which",
    where="Section III, intuition and Remark; case distinction (51)-(52)",
    kind="qualitative",
    states="The odd point is typically the extreme that is farther from the mean of the rest.",
    data="tree_limits",
    control=wrong_formula("the nearer extreme in place of the farther", mirrored),
)
def the_far_extreme_is_odd(tree_limits: xr.Dataset) -> Verdict:
    """Share of Gaussian batches, by n, in which the extreme of larger limiting norm was the farther one."""
    gaussian = tree_limits.where(tree_limits["kind"] == "gaussian", drop=True)
    odd, points = gaussian["odd_is_last"].values, gaussian["points"].values
    farther = odd == gaussian["farther_is_last"].values
    longer = odd == gaussian["longer_is_last"].values
    sizes = np.unique(points).astype(int).tolist()
    shares = ", ".join(f"{n}: {farther[points == n].mean():.2f} ({longer[points == n].mean():.2f})" for n in sizes)
    return Verdict.from_tests(
        all_of(**{f"n_{n}": _share(farther[points == n]) for n in sizes}),
        note=f"Share by n, in brackets that of the extreme of larger modulus in the input: {shares}. The model does "
        "not see a shift of the batch, so the norm itself can matter only where the mean is near zero.",
    )


def free_extremes(several_coordinates: xr.Dataset) -> xr.Dataset:
    """Puts batches without shared extremes in the place of those with them."""
    return several_coordinates.sel(extremes=["free", "free"]).assign_coords(extremes=["shared", "free"])


@claim(
    "bnd-remark-dgt1",
    where="Remark before (9)",
    kind="bound",
    states="Theorem 11 holds for an input of several coordinates if one point is the largest and one the smallest in "
    "each of them.",
    data="several_coordinates",
    control=wrong_formula("points in random order in each coordinate", free_extremes),
)
def several_coordinates_share_extremes(several_coordinates: xr.Dataset) -> Verdict:
    """The four items of the theorem on the joint Gram matrix of the coordinates' trees."""
    shared, n = several_coordinates.sel(extremes="shared"), int(several_coordinates["points"])
    ratio, angle = ratio_bound(n, "theorem"), 90 - np.degrees(angle_bound(n, "theorem"))
    return Verdict.from_tests(
        all_of(
            item_1=deviation(
                shared["extremes_angle"] - 90, 1e-9, unit=" degree from 90", expected="orthogonal", reason="rounding"
            ),
            item_2=at_most(
                shared["interior_angle"],
                1e-4,
                unit=" degree",
                expected="zero",
                reason="the slowest split has decayed to e^-20 rad, and a cosine near 1 resolves 1e-8 rad",
            ),
            item_3=at_most(shared["ratio"] / ratio, 1, expected="at most 1", reason="an upper bound"),
            item_4=at_most(
                (90 - shared["odd_angle"]) / angle, 1, expected="at most 1", reason="a lower bound on the angle"
            ),
        ),
        note="The trees do not interact: A and B add up over the coordinates and the formulas stay.",
    )
