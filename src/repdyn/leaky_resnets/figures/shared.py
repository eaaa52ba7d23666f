"""What the figures share: styles of the linear maps, names of axes, ticks, spectra, means with their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator
from numpy.typing import ArrayLike

from repdyn.plotting.figures import BLUE, GREEN, ORANGE, PURPLE, half_width

GRAY = "0.72"
LEAST = 1e-12  # of what a logarithmic axis shows
DEPTH = r"effective depth $\tilde L$"
ENERGY = r"$-2 \mathcal{H} / \tilde L$"
MAP_STYLES: dict[str, dict[str, Any]] = {
    "decayed maps": {"color": BLUE, "marker": "o"},
    "free maps": {"color": ORANGE, "marker": "s"},
    "fixed maps": {"color": GREEN, "marker": "^"},
    "decayed maps, no bias": {"color": PURPLE, "marker": "D"},
}


def ticks_at(axis: Axis, values: ArrayLike) -> None:
    """Plain numbers at a logarithmic axis."""
    axis.set_major_locator(FixedLocator(np.asarray(values, float).tolist()))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())


def limits(panel: Axes, bottom: float, top: float) -> None:
    """The range of an ordinate; unchanged where networks have diverged and there is none."""
    if np.isfinite([bottom, top]).all():
        panel.set_ylim(bottom, top)


def extremes(values: ArrayLike) -> list[float]:
    """The least and the largest finite value, as a fact."""
    numbers = np.asarray(values, float)
    finite = numbers[np.isfinite(numbers)]
    return [float(finite.min()), float(finite.max())] if finite.size else [np.nan, np.nan]


def geometric_mean(draws: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Geometric means over the last axis and the bars of their 95 % intervals, below and above."""
    logs = np.log(draws)
    middle, factor = np.exp(logs.mean(axis=-1)), np.exp(half_width(logs))
    return middle, (middle - middle / factor, middle * factor - middle)


def spectrum_lines(panel: Axes, p: np.ndarray, values: np.ndarray, count: int) -> None:
    """Singular values against p, the first ones in color, on a logarithmic axis of four decades."""
    for index in range(values.shape[1] - 1, -1, -1):
        color, width = (BLUE, 1.6) if index < count else (GRAY, 0.8)
        panel.semilogy(p, np.maximum(values[:, index], LEAST), color=color, linewidth=width)
    top = 1.6 * values.max()
    limits(panel, max(top * 1e-4, 0.5 * values[:, count:].min()), top)
