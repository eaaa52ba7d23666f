r"""The simplified model of recentering and ReLU, eqs. (9)-(10), exactly and at any depth.

Each row of the batch has two children, ReLU(x - mean) and ReLU(mean - x), so the matrix doubles with each
layer. Almost all of it is redundant. A row with k clusters (distinct values), a of them below its mean, has a
positive child with k - a + 1 clusters and a negative one with a + 1: the excess, the sum over rows of
(clusters - 2), is conserved, n - 2 at every depth (one is lost when a cluster equals the mean exactly). Hence

- at most n - 2 rows of any layer have three or more clusters, whatever its 2^t rows: they are kept one by one, as
  Python integers with their greatest common divisor taken out and a logarithmic scale, since the positions are
  chaotic and float64 loses them after some fifty layers;
- all other rows have two clusters, points 1..m against m + 1..n: they are kept as squared amplitudes p_m (the lower
  side is positive) and q_m (the upper side is), which obey eqs. (36)-(37) in the mean square:
  p' = ((n - m)/n)^2 (p + q), q' = (m/n)^2 (p + q).

The cost per layer is O(n) integer operations. Gram matrices, norms and angles follow exactly. Paper: Nachum,
Bondaschi, Gastpar and Khina, "Batch Normalization Decomposed", Theorems 10 and 11, Appendices C to E.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm, log
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.tree_formulas import TreeLimit, limit_of_amplitudes

if TYPE_CHECKING:
    from repdyn.base.arrays import Float, Shaped

NEGLIGIBLE = -40.0


@dataclass(frozen=True)
class Row:
    """A row as consecutive clusters: integer `values` in units of exp(log_scale), `sizes` in points."""

    values: tuple[int, ...]
    sizes: tuple[int, ...]
    log_scale: float

    def children(self) -> tuple["Row", "Row"]:
        """Positive and negative transformation, Definition 5."""
        n = sum(self.sizes)
        total = sum(v * s for v, s in zip(self.values, self.sizes, strict=True))
        centered = [n * v - total for v in self.values]
        log_scale = self.log_scale - log(n)
        return (
            _merged([max(c, 0) for c in centered], self.sizes, log_scale),
            _merged([max(-c, 0) for c in centered], self.sizes, log_scale),
        )

    def log_largest(self) -> float:
        """Logarithm of the largest modulus in the row."""
        return self.log_scale + log(max(abs(v) for v in self.values))

    def entries(self) -> Float[Array, "n"]:
        """The row over all points, divided by its largest modulus."""
        largest = max(abs(v) for v in self.values)
        return np.repeat([float(Fraction(v, largest)) for v in self.values], self.sizes)

    def gaps(self) -> Float[Array, "n-1"]:
        """Differences of neighboring points in the unit of `entries`, taken on the integers."""
        largest = max(abs(v) for v in self.values)
        gaps = np.zeros(sum(self.sizes) - 1)
        ends = np.cumsum(self.sizes)[:-1] - 1
        gaps[ends] = [float(Fraction(v - u, largest)) for u, v in pairwise(self.values)]
        return gaps


class ClusterTree:
    r"""Layers t = 0, 1, 2, ... of the simplified model, X^(t+1) = ReLU([I; -I] (X^(t) - mean)), eqs. (9)-(10).

    Points are sorted; index 0 is the smallest. `order[i]` is the place of point i in the input.

    Attributes:
        n: number of points.
        depth: current layer t.
        order: permutation that sorts the input, shape (n,).
        rows: rows that are not of the two-cluster kind, at most n - 2 after the first layer.
        lower: squared amplitudes p_m for m = 1..n-1, times exp(-2 log_scale), shape (n - 1,).
        upper: squared amplitudes q_m likewise.
        log_scale: logarithm of the common scale that is taken out of `lower`, `upper` and `gram`.
    """

    def __init__(self, x: Float[Array, "n"] | Sequence[Fraction | float]) -> None:
        """Start from one-dimensional points.

        Args:
            x: points, in any order; floats, integers or fractions, all taken exactly.

        Raises:
            ValueError: fewer than two points, not one-dimensional, not finite, or repeated values.
        """
        values = _exact_points(x)
        self.n = len(values)
        self.order = np.array(sorted(range(self.n), key=values.__getitem__))
        values.sort()
        _no_repeats(values, self.order)
        common = lcm(*(v.denominator for v in values))
        integers = [v.numerator * (common // v.denominator) for v in values]
        self._start = Row(tuple(integers), (1,) * self.n, -log(common))
        self.depth = 0
        self.rows = [self._start]
        self.lower = np.zeros(self.n - 1)
        self.upper = np.zeros(self.n - 1)
        self.log_scale = 0.0

    @property
    def excess(self) -> int:
        """Sum over all rows of (clusters - 2); n - 2 unless a cluster has met the mean exactly."""
        return sum(len(row.values) - 2 for row in self.rows)

    @property
    def stable_depth(self) -> int:
        """First layer t_0 with all rows of at most three clusters, Theorem 10; does not move the tree."""
        rows, depth = [self._start], 0
        while any(len(row.values) > 3 for row in rows):
            rows = [child for row in rows for child in row.children() if len(child.values) > 2]
            depth += 1
        return depth

    def step(self, layers: int = 1) -> "ClusterTree":
        """Advance by so many layers, in place, and return the tree itself.

        Raises:
            ValueError: layers < 0.
        """
        if layers < 0:
            raise ValueError(f"got {layers} layers, expected 0 or more: the tree only grows")
        for _ in range(layers):
            self._step()
        return self

    def _step(self) -> None:
        n, m = self.n, np.arange(1, self.n)
        both = self.lower + self.upper
        self.lower, self.upper = ((n - m) / n) ** 2 * both, (m / n) ** 2 * both
        children = [child for row in self.rows for child in row.children()]
        self.rows = [child for child in children if len(child.values) > 2]
        self._rescale([child.log_largest() for child in children])
        for child in children:
            if len(child.values) == 2:
                side = self.lower if child.values[0] > 0 else self.upper
                side[child.sizes[0] - 1] += np.exp(2 * (child.log_largest() - self.log_scale))
        self.depth += 1

    def _rescale(self, log_sizes: list[float]) -> None:
        largest = max(self.lower.max(), self.upper.max())
        old = self.log_scale
        log_weights = old + 0.5 * np.log(largest) if largest > 0 else -np.inf
        self.log_scale = float(max([log_weights, *log_sizes]))
        factor = np.exp(2 * (old - self.log_scale)) if largest > 0 else 0.0
        self.lower = self.lower * factor
        self.upper = self.upper * factor

    def _row_entries(self) -> Array:
        rows = [row.entries() * self._weight(row) for row in self.rows]
        return np.array(rows).reshape(len(rows), self.n)

    def gram(self) -> Float[Array, "n n"]:
        r"""Gram matrix X'X of the layer divided by exp(2 log_scale), sorted points.

        From depth 1 on element (0, n - 1) is exactly zero, Theorem 11, item 1.
        """
        entries = self._row_entries()
        from_above = np.append(np.cumsum(self.lower[::-1])[::-1], 0.0)
        from_below = np.insert(np.cumsum(self.upper), 0, 0.0)
        i = np.arange(self.n)
        two_clusters = from_above[np.maximum.outer(i, i)] + from_below[np.minimum.outer(i, i)]
        return two_clusters + entries.T @ entries

    def angles(self) -> Float[Array, "n n"]:
        r"""Angles between the points, eq. (11), resolved however narrow the cluster.

        ||u - v||^2 and ||u||^2 - ||v||^2 are sums over the splits that part u from v, so a narrow cluster
        costs no digits: ||u/|u| - v/|v|||^2 = (||u - v||^2 - (|u| - |v|)^2) / (|u| |v|). The error is 1e-8 of
        the larger of the angle and the relative difference of the norms squared over the angle, which counts
        only in the first layers, where two points may differ in length alone.

        Returns:
            Radians, shape (n, n), zero on the diagonal; NaN for a point that is zero (possible at depth 0).
        """
        gaps = [_between(row.gaps() * self._weight(row)) for row in self.rows]
        apart = np.abs(_between(self.lower + self.upper)) + sum(gap**2 for gap in gaps)
        square = np.diag(self.gram())
        with np.errstate(invalid="ignore", divide="ignore"):
            norm = np.sqrt(square)
            longer = self._square_differences(gaps) / np.add.outer(norm, norm)
            chord = (apart - longer**2) / np.outer(norm, norm)
        return 2 * np.arcsin(np.sqrt(np.clip(chord, 0.0, 4.0)) / 2)

    def _square_differences(self, gaps: list[Array]) -> Array:
        entries = self._row_entries()
        squares = sum(g * np.add.outer(e, e) for g, e in zip(gaps, entries, strict=True))
        return _between(self.upper - self.lower) + squares

    def _weight(self, row: Row) -> float:
        return float(np.exp(row.log_largest() - self.log_scale))

    def amplitudes(self) -> tuple[float, float]:
        r"""Squared amplitudes (A, B) of the rows with point 1 alone and with point n alone, cf. (46)-(47).

        Both are divided by exp(2 log_scale), as in `gram`. A = p_1 + q_1, B = p_{n-1} + q_{n-1}.
        """
        both = self.split_squares()
        return float(both[0]), float(both[-1])

    def split_squares(self) -> Float[Array, "n-1"]:
        r"""Sums of c^2 over the rows that part points 1..m from the others, m = 1..n-1.

        Divided by exp(2 log_scale), as `gram`. Entry 0 is A, the last one B of `amplitudes`; the next ones inwards are
        C and D of (63)-(65).
        """
        return self.lower + self.upper

    def wide_square(self) -> float:
        r"""Sum over the rows of three clusters and more of their largest coordinate squared, in the same unit."""
        return float(sum(self._weight(row) ** 2 for row in self.rows))

    def limit(self, max_layers: int = 20_000) -> TreeLimit:
        r"""Limits of norm ratios and angles, eqs. (45)-(50), (53)-(58), three-cluster rows included.

        A copy of the tree is advanced until the rows that still have three clusters hold, in squared
        amplitude and even if they fed A and B for ever, less than e^{-40} of them; from there A/B is
        constant.

        Args:
            max_layers: give up beyond this number of layers.

        Raises:
            ValueError: n < 3 (no interior point) or not settled within `max_layers`.
        """
        tree = ClusterTree([Fraction(v) for v in self._start.values])
        for _ in range(max_layers):
            tree.step()
            if tree._settled():
                A, B = tree.amplitudes()
                return limit_of_amplitudes(A, B, self.n)
        raise ValueError(f"got no limit within {max_layers} layers, expected settled rows: allow more")

    def _settled(self) -> bool:
        smaller = min(self.amplitudes())
        if smaller <= 0:
            return False
        log_rows = [2 * (row.log_largest() - self.log_scale) for row in self.rows]
        persistence = 2 * log(self.n)
        return all(size + persistence < NEGLIGIBLE + log(smaller) for size in log_rows)


def simplified_layer(X: Shaped[Array, "d n"]) -> Shaped[Array, "2*d n"]:
    r"""One layer of the simplified model by its definition, X -> ReLU([I; -I] (X - mean)), eqs. (9)-(10).

    Args:
        X: batch; floats, or an object array of exact numbers.

    Returns:
        All positive children above all negative ones.
    """
    return _both_sides(X - X.sum(axis=1, keepdims=True) / X.shape[1])


def integer_layer(X: Shaped[np.ndarray, "d n"]) -> Shaped[np.ndarray, "2*d n"]:
    """The same layer times n, which keeps integers integers.

    Ours: `simplified_layer`, eqs. (9)-(10), scaled by n, which changes no cluster.
    """
    return _both_sides(X.shape[1] * X - X.sum(axis=1, keepdims=True))


def enumerate_tree(x: Float[Array, "n"] | list[Fraction] | list[int], t: int) -> Shaped[Array, "{2**t} n"]:
    r"""All 2^t rows of layer t, exactly, times n^t: the definition without any insight.

    Eqs. (9)-(10), t times, scaled.

    Args:
        x: points in increasing order; floats, integers or fractions, all taken exactly.
        t: layer, >= 0; the size doubles with each.

    Returns:
        Object array of `Fraction`, the rows of n^t X^(t).

    Raises:
        ValueError: t < 0, or points as for `ClusterTree`.
    """
    if t < 0:
        raise ValueError(f"got t = {t}, expected layer 0 or later")
    X = np.array([_exact_points(x)], dtype=object)
    for _ in range(t):
        X = integer_layer(X)
    return X


def _both_sides(centered: Array) -> Array:
    return np.vstack([np.maximum(centered, 0), np.maximum(-centered, 0)])


def _merged(values: list[int], sizes: tuple[int, ...], log_scale: float) -> Row:
    merged_values, merged_sizes = [values[0]], [sizes[0]]
    for value, size in zip(values[1:], sizes[1:], strict=True):
        if value == merged_values[-1]:
            merged_sizes[-1] += size
        else:
            merged_values.append(value)
            merged_sizes.append(size)
    divisor = gcd(*merged_values) or 1
    return Row(tuple(v // divisor for v in merged_values), tuple(merged_sizes), log_scale + log(divisor))


def _between(weights: Array) -> Array:
    """Sum of weights[i:j] for i < j, the same for j, i; each sum is taken from i on, so none cancels."""
    n = len(weights) + 1
    sums = np.zeros((n, n))
    sums[:, 1:] = np.cumsum(np.triu(np.ones((n, 1)) * weights), axis=1)
    return sums + sums.T


def _exact_points(x: Array | Sequence[Fraction | float]) -> list[Fraction]:
    shape = np.shape(cast("ArrayLike", x))  # numpy takes fractions as objects
    if len(shape) != 1 or len(x) < 2:
        raise ValueError(f"got points of shape {shape}, expected a vector of at least two numbers (n,)")
    return [_exact(value) for value in x]


def _exact(value: Fraction | float) -> Fraction:
    try:
        return Fraction(value) if not isinstance(value, np.generic) else Fraction(value.item())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"got the point {value}, expected finite numbers: repair or drop it") from error


def _no_repeats(values: list[Fraction], order: Array) -> None:
    same = [i for i, (u, v) in enumerate(pairwise(values)) if u == v]
    if same:
        pair = (int(order[same[0]]), int(order[same[0] + 1]))
        raise ValueError(
            f"got {len(same)} repeated values, first at inputs {pair}, expected distinct points (Theorems 10 and 11): "
            "drop the copies, which stay equal in every layer"
        )
