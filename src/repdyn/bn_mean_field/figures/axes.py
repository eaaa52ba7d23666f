"""Ticks and guide lines that several figures share."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from repdyn.plotting.figures import BLACK


def slope_guide(panel: Axes, x: np.ndarray, first: float, slope: float, dash: str = "-") -> None:
    """A thin line of the given slope in doubly logarithmic axes."""
    panel.plot(x, first * (x / x[0]) ** slope, dash, color=BLACK, linewidth=0.6, label=f"slope {slope:g}")


def numbered(axis: Axis, values: Iterable[float]) -> None:
    """Ticks of a logarithmic axis at the given values, written out."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())
