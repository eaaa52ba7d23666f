"""Facts: named numbers of a verdict, a figure or a table; texts are templates around them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Fact = float | int | str | list[float | int | str | None] | None
Facts = Mapping[str, Any]
"""Name -> number, text, or array of numbers."""


def plain_facts(facts: Facts) -> dict[str, Fact]:
    """Facts for JSON: numbers with six digits, arrays as lists, None for numbers that are not finite.

    Example:
        >>> plain_facts({"slope": np.float64(1 / 3), "sizes": np.array([2, 4]), "limit": np.nan})
        {'slope': 0.333333, 'sizes': [2, 4], 'limit': None}
    """
    return {name: _plain(value) for name, value in facts.items()}


def shown_facts(facts: Mapping[str, Fact]) -> dict[str, str]:
    """Facts for readers: numbers with four digits, lists with commas, missing numbers as unknown.

    Example:
        >>> shown_facts({"steps": 40, "range of the ratio": [0.25, 1.0], "slope": None})
        {'steps': '40', 'range of the ratio': '0.25, 1', 'slope': 'unknown'}
    """
    return {name: shown_fact(value) for name, value in facts.items()}


def shown_fact(value: Fact) -> str:
    """One of `shown_facts`."""
    if value is None:
        return "unknown"
    if isinstance(value, list):
        return ", ".join(map(shown_fact, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: object) -> Fact:
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    numbers = [_rounded(number) for number in array.ravel().tolist()]
    return numbers if array.ndim else numbers[0]


def _rounded(number: float | int | str) -> float | int | str | None:
    if not isinstance(number, float):
        return number
    return float(f"{number:.6g}") if math.isfinite(number) else None


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Slope of the least-squares line through the logarithms of the finite positive points; nan below two of them.

    Example:
        >>> round(slope([1, 2, 4], [3, 12, 48]), 6), slope([1, 2, 4], [1, np.nan, 0])
        (2.0, nan)
    """
    points = np.stack(np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float)))
    logs = np.log(points[:, (np.isfinite(points) & (points > 0)).all(axis=0)])
    return float(np.polyfit(logs[0], logs[1], 1)[0]) if logs.shape[1] > 1 else math.nan
