r"""The bias flow at fixed R, exactly: Chen, Section 4.3.

At fixed R the coordinates of R beta decouple (4.42): with b = -(R beta)_r, x_i = (R x_i)_r, y = (R yt)_r::

    d(y - b)/ds = -(n(b)/N) (y - b),  n(b) = #{i : x_i <= b}.

So b moves toward y at an exponential rate n/N that steps at every point it meets. Upwards (b < y) points are
truncated one by one (4.49). Downwards (b > y), a case the paper leaves out, they are released, and b stops at the
smallest point, in finite time, where no classical solution exists (h(0) = 0) and Filippov's does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base import arguments
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


class Schedule(NamedTuple):
    """Times at which points are met, shape (M,), and truncated numbers between them, shape (M + 1,)."""

    times: Array
    counts: Array


def truncation_times(x: Float[ArrayLike, "N"], b0: float, y: float) -> Schedule:
    """Times at which the moving bias meets each point, s_{n+1} = s_n + (N/n) log((y - x_n)/(y - x_{n+1})) (4.49).

    Args:
        x: data of one coordinate, any order, ties allowed.
        b0: initial bias b(0).
        y: label of the coordinate.

    Returns:
        `times` of the points that lie ahead, in the order of meeting, infinite where b never arrives; `counts[m]`
        the truncated number before the m-th of them. Empty where nothing is truncated at the start: b rests (4.44).

    Raises:
        ValueError: if x is empty or a number is not finite.

    Example:
        >>> found = truncation_times([0.0, 1.0, 2.0], b0=1.5, y=-3.0)
        >>> found.times.round(3).tolist(), found.counts.tolist()
        ([0.177, 1.04], [2.0, 1.0, 0.0])
    """
    x = _coordinate(x)
    counts, ahead = _path(x, float(arguments.finite(b0, "b0")), float(arguments.finite(y, "y")))
    stations = np.concatenate(([b0], ahead))
    return Schedule(np.cumsum(_waiting_times(stations, counts[:-1], len(x), y)), counts)


def bias_flow(x: Float[ArrayLike, "N"], b0: float, y: float, s: Float[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
    """Exact bias b(s) at fixed R: y - b(s) = exp(-(n/N)(s - s_n)) (y - b(s_n)) between meetings (4.47).

    Args:
        x: data of one coordinate.
        b0: initial bias.
        y: label of the coordinate.
        s: flow times, any shape, >= 0.

    Returns:
        Bias at every time, shape of s.

    Raises:
        ValueError: if x is empty, a number is not finite or a time is negative.
    """
    x, s = _coordinate(x), arguments.finite(s, "s")
    if np.any(s < 0):
        raise ValueError(f"s: got a negative time {s.min()}; expected times >= 0")
    times, counts = truncation_times(x, b0, y)
    starts = np.concatenate(([0.0], times[np.isfinite(times)]))
    stations = np.concatenate(([b0], _path(x, b0, y)[1][: len(starts) - 1]))
    stage = np.searchsorted(starts, s, side="right") - 1
    return y - (y - stations[stage]) * np.exp(-counts[stage] / len(x) * (s - starts[stage]))


def truncation_times_upward(x: Float[ArrayLike, "N"], y: float) -> Float[Array, "N"]:
    """The recursion (4.49) as printed, from s_1 = 0 at b = x_1, for distinct points below y.

    Raises:
        ValueError: if a point does not lie below y, where (4.49) has no real time, or two points coincide.
    """
    x, y = np.sort(_coordinate(x)), float(arguments.finite(y, "y"))
    if x[-1] >= y or np.any(np.diff(x) == 0):
        raise arguments.refuse("x", f"{x.tolist()}"[:60], f"distinct points below y = {y:g}", "use truncation_times")
    n = np.arange(1, len(x))
    return np.concatenate(([0.0], np.cumsum(len(x) / n * np.log((y - x[:-1]) / (y - x[1:])))))


def _coordinate(x: ArrayLike) -> Array:
    array = arguments.finite(x, "x")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"x: got shape {array.shape}; expected (N,), the data of one coordinate, N >= 1")
    return array


def _path(x: Array, b0: float, y: float) -> tuple[Array, Array]:
    """Truncated numbers between meetings and the points met, in order."""
    ordered = np.sort(x)
    n0 = int(np.searchsorted(ordered, b0, side="right"))
    if n0 == 0:
        return np.zeros(1), np.zeros(0)
    if y >= b0:
        return np.arange(n0, len(x) + 1, dtype=np.float64), ordered[n0:]
    return np.arange(n0, -1, -1, dtype=np.float64), ordered[:n0][::-1]


def _waiting_times(stations: Array, counts: Array, N: int, y: float) -> Array:
    """Time from each station to the next at rate n/N; infinite where the next lies at or beyond the label y."""
    start, goal = y - stations[:-1], y - stations[1:]
    same = stations[:-1] == stations[1:]
    reachable = (start * goal > 0) & ~same
    ratio = np.divide(start, goal, out=np.ones_like(start), where=reachable)
    return np.where(reachable | same, N / counts * np.log(ratio), np.inf)
