r"""Closed forms of Theorem 11, the simplified model: two-cluster rows, limits, bounds printed and sharp.

Notation of Appendices D and E: a row has a zero cluster and a positive cluster at coordinate c; A and B are
the sums of c^2 over the rows in which point 1 alone, or point n alone, is parted from the rest. Paper:
Nachum, Bondaschi, Gastpar and Khina, "Batch Normalization Decomposed".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, comb, log
from typing import Literal

import numpy as np

Bound = Literal["theorem", "two_clusters", "sharp"]


@dataclass(frozen=True)
class TreeLimit:
    """Limits of Theorem 11 for t -> infinity, i any interior point.

    Attributes:
        A: squared amplitude of the rows with point 1 alone, arbitrary common unit.
        B: squared amplitude of the rows with point n alone, same unit.
        ratio_first: ||x_i|| / ||x_1||.
        ratio_last: ||x_i|| / ||x_n||.
        angle_first: angle between x_i and x_1, radians.
        angle_last: angle between x_i and x_n, radians.
        extremes: smaller over larger of ||x_1|| and ||x_n||, about sqrt(min(A, B) / max(A, B)) for large n.
        odd: 0 if x_1 has the larger norm, -1 if x_n has.
    """

    A: float
    B: float
    ratio_first: float
    ratio_last: float
    angle_first: float
    angle_last: float
    extremes: float
    odd: int


def limit_of_amplitudes(A: float, B: float, n: int) -> TreeLimit:
    r"""Limits from the amplitudes, eqs. (45)-(50) and (53)-(58).

    ||x_i||^2 / ||x_1||^2 = (A + B) / ((n-1)^2 A + B), cos(x_i, x_1) = B / sqrt((A + B) ((n-1)^2 A + B)), and
    the same with A and B exchanged for x_n. Appendix E only bounds the effect of three-cluster rows; they
    merely feed A and B.

    Args:
        A: sum of c^2 over rows with point 1 alone, > 0.
        B: sum of c^2 over rows with point n alone, > 0.
        n: number of points, n >= 3.

    Raises:
        ValueError: n < 3 or an amplitude that is not positive.
    """
    _at_least_three(n)
    if not (A > 0 and B > 0):
        raise ValueError(f"got amplitudes A = {A}, B = {B}, expected both positive: advance the tree first")
    first, last, interior = (n - 1) ** 2 * A + B, A + (n - 1) ** 2 * B, A + B
    return TreeLimit(
        A=A,
        B=B,
        ratio_first=float(np.sqrt(interior / first)),
        ratio_last=float(np.sqrt(interior / last)),
        angle_first=float(np.arccos(B / np.sqrt(interior * first))),
        angle_last=float(np.arccos(A / np.sqrt(interior * last))),
        extremes=float(np.sqrt(min(first, last) / max(first, last))),
        odd=0 if A >= B else -1,
    )


def split_rate(m: int, n: int) -> float:
    """Factor per layer of the squared amplitude of a split m | n-m: lambda_m = (m^2 + (n-m)^2) / n^2, (40)."""
    return (m**2 + (n - m) ** 2) / n**2


def split_contribution_by_paths(c: float, n_l: int, n: int, T: int) -> float:
    r"""Eq. (39): sum_k C(T-1, k) ((n-n_l)/n)^{2(T-k)} (n_l/n)^{2k} c^2, over all paths of T >= 1 layers.

    Args:
        c: coordinate of the positive cluster, units of the batch.
        n_l: number of points parted from the others.
        n: number of points.
        T: number of layers, at least 1.
    """
    away, own = (n - n_l) / n, n_l / n
    return sum(comb(T - 1, k) * away ** (2 * (T - k)) * own ** (2 * k) for k in range(T)) * c**2


def split_contribution(c: float, n_l: int, n: int, T: int) -> float:
    r"""Eq. (40), the same in closed form: c^2 ((n-n_l)/n)^2 lambda^{T-1} with lambda = `split_rate(n_l, n)`.

    Arguments as in `split_contribution_by_paths`.
    """
    return c**2 * ((n - n_l) / n) ** 2 * split_rate(n_l, n) ** (T - 1)


def three_cluster_sum(c: float, n: int, T: int) -> float:
    r"""Eq. (61): c^2 ((n-2)/n)^2 sum_{j=1}^{T-1} a^j b^{T-1-j}, a = ((n-1)/n)^2, b = (4 + (n-2)^2)/n^2.

    It leaves out the two-cluster child born at the last layer, of the same order.
    """
    a, b = ((n - 1) / n) ** 2, split_rate(2, n)
    return c**2 * ((n - 2) / n) ** 2 * sum(a**j * b ** (T - 1 - j) for j in range(1, T))


def three_cluster_bound(c: float, n: int, T: int) -> float:
    r"""Eq. (62): c^2 ((n-2)/n)^2 ((n-1)^2 / (2n-7)) ((n-1)/n)^{2(T-1)}, at least (61) for n >= 4.

    Raises:
        ValueError: n < 4, where 2 n - 7 is negative.
    """
    if n < 4:
        raise ValueError(f"got n = {n}, expected at least 4: the bound (62) divides by 2 n - 7")
    return c**2 * ((n - 2) / n) ** 2 * (n - 1) ** 2 / (2 * n - 7) * ((n - 1) / n) ** (2 * (T - 1))


def later_amplitude_ratios(A: float, B: float, C: float, D: float, wide: float, n: int) -> tuple[float, float]:
    r"""Interval that holds (A + C)/(B + D) of Appendix E in this layer and in every later one.

    Divide the squares by lambda_1 = `split_rate(1, n)` per layer. Those of A and B never fall, those of C and D never
    rise but by new rows, and a three-cluster row of largest coordinate c feeds at most ((n-1)/n)^(2r) c^2 after r
    layers, in all (n-1)^2 c^2. So A + C stays between A and A + C + (n-1)^2 wide, and B + D likewise.

    Args:
        A: sum of c^2 over the rows with point 1 alone, > 0, arbitrary common unit.
        B: the same for point n alone, > 0.
        C: the same for points 1 and 2 against the rest; 0 for the second definition of Appendix E.
        D: the same for points n - 1 and n against the rest.
        wide: sum of the squares of the largest coordinates of all three-cluster rows; there are no wider ones.
        n: number of points.

    Returns:
        Smallest and largest value of the ratio.
    """
    births = (n - 1) ** 2 * wide
    return A / (B + D + births), (A + C + births) / B


def parted_depth_bound(gap: float, mean: float, n: int) -> int:
    r"""Layer from which some row parts an extreme point from all others, of a batch with distinct points.

    Take positive transformations alone (after a negative one for the smallest point). While two entries are positive
    the largest is at least the gap above the next, so the mean exceeds gap/n; and a layer that leaves two positive
    entries leaves at most 1 - 2/n of the mean, cf. (33). Hence 1 + ceil(log(n mean / gap) / log(n / (n-2))).

    Args:
        gap: distance of the extreme point from the next one, > 0.
        mean: mean of the row after the first layer.
        n: number of points, n >= 3.

    Raises:
        ValueError: n < 3.
    """
    _at_least_three(n)
    return 1 + max(0, ceil(log(n * mean / gap) / log(n / (n - 2))))


def stable_depth_bound(x: Sequence[Fraction | float]) -> int:
    r"""Depth from which no row has more than three clusters, from the argument of Appendix C made quantitative.

    Let Delta be the smallest of the inner gaps of x (not the first, not the last). The inner gaps of every descendant
    are inner gaps of x, so a row of four clusters and more has mean above 2 Delta/n; and each layer leaves at most
    1 - 1/n of the mean of a non-negative row with minimum 0. With m the mean after one layer,
    t_0 <= 1 + ceil(log(n m / (2 Delta)) / log(n / (n-1))).

    Args:
        x: distinct points in increasing order; floats, integers or fractions, all taken exactly.

    Returns:
        The bound; 0 for three points or fewer, which are stable.

    Raises:
        ValueError: points that do not increase.
    """
    values = [Fraction(value) for value in x]
    gaps = [after - before for before, after in pairwise(values)]
    if min(gaps, default=1) <= 0:
        raise ValueError(f"got gaps down to {float(min(gaps))}, expected distinct points in increasing order")
    n = len(values)
    if n <= 3:
        return 0
    mean = sum(values) / n
    after_one = sum(max(value - mean, Fraction(0)) for value in values) / n
    layers = log(n * after_one / (2 * min(gaps[1:-1]))) / log(n / (n - 1))
    return 1 + max(0, ceil(layers))


def ratio_bound(n: int, which: Bound) -> float:
    r"""Upper bounds on min over the two extremes of lim ||x_i|| / ||x_extreme||, Theorem 11, item 3.

    "theorem": 3/(n-2), weaker than sqrt(8)/(n-2) of (72)-(73); "two_clusters": sqrt(2)/(n-1) of (51)-(52);
    "sharp": sqrt(2 / ((n-1)^2 + 1)), reached for A = B. All three hold with three-cluster rows included.

    Args:
        n: number of points, n >= 3.
        which: "theorem", "two_clusters" or "sharp".

    Raises:
        ValueError: n < 3 or unknown bound.
    """
    _at_least_three(n)
    bounds = {"theorem": 3 / (n - 2), "two_clusters": np.sqrt(2) / (n - 1), "sharp": np.sqrt(2 / ((n - 1) ** 2 + 1))}
    return float(_chosen(bounds, which))


def angle_bound(n: int, which: Bound) -> float:
    r"""Lower bounds on max over the two extremes of lim angle(x_i, x_extreme), radians, Theorem 11, item 4.

    "theorem": pi/2 - sqrt(2) pi/(n-2) of (12), (87); "two_clusters": pi/2 - pi/(2 sqrt(2) (n-1)) of
    (59)-(60); "sharp": arccos(1/sqrt(2 ((n-1)^2 + 1))), reached for A = B.

    Arguments and errors are those of `ratio_bound`.
    """
    _at_least_three(n)
    bounds = {
        "theorem": np.pi / 2 - np.sqrt(2) * np.pi / (n - 2),
        "two_clusters": np.pi / 2 - np.pi / (2 * np.sqrt(2) * (n - 1)),
        "sharp": np.arccos(1 / np.sqrt(2 * ((n - 1) ** 2 + 1))),
    }
    return float(_chosen(bounds, which))


def _chosen(bounds: dict[str, float], which: str) -> float:
    if which not in bounds:
        raise ValueError(f"got which={which!r}, expected one of {list(bounds)}")
    return bounds[which]


def _at_least_three(n: int) -> None:
    if n < 3:
        raise ValueError(f"got n = {n}, expected at least 3 points: with fewer there is no interior point")
