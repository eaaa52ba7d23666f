"""Facts: numbers by name, beside a verdict, a figure or a table; words are templates around them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Fact = float | int | str | list[float | int | str | None] | None
Facts = Mapping[str, Any]
"""By name a number, a text, or an array of numbers."""


def plain_facts(facts: Facts) -> dict[str, Fact]:
    """Facts as JSON holds them: numbers with six digits, arrays as lists, None where a number is not finite.

    Example:
        >>> plain_facts({"slope": np.float64(1 / 3), "sizes": np.array([2, 4]), "limit": np.nan})
        {'slope': 0.333333, 'sizes': [2, 4], 'limit': None}
    """
    return {name: _plain(value) for name, value in facts.items()}


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
