"""Texts for facts and captions that depend on data, also if no value is finite."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

UNKNOWN = "?"
PLAIN = 1e5  # below it no exponent


def number(value: ArrayLike, form: str = ".2g") -> str:
    """A number in a format, without an exponent below `PLAIN`; a question mark if it is not finite."""
    scalar = float(np.asarray(value, float))
    if not np.isfinite(scalar):
        return UNKNOWN
    text = f"{scalar:{form}}"
    return f"{scalar:.0f}" if "e+" in text and abs(scalar) < PLAIN else text


def span(values: ArrayLike, form: str = ".2g") -> str:
    """The smallest and the largest finite value; one number if both look equal; a question mark if there is none.

    Example:
        >>> span([0.251, 0.75, np.nan]), span([2.0, 2.001]), span([np.nan])
        ('0.25 to 0.75', '2', '?')
    """
    drawn = np.asarray(values, float).ravel()
    known = drawn[np.isfinite(drawn)]
    if not known.size:
        return UNKNOWN
    return " to ".join(dict.fromkeys(number(end, form) for end in (known.min(), known.max())))


def outcome(margins: ArrayLike, holds: str, fails: str, unknown: str) -> str:
    """Words that depend on whether all finite margins are at least zero; other words if there is none."""
    drawn = np.asarray(margins, float).ravel()
    known = drawn[np.isfinite(drawn)]
    if not known.size:
        return unknown
    return holds if (known >= 0).all() else fails


def counted(margins: ArrayLike) -> str:
    """Number of finite margins that are at least zero.

    Example:
        >>> counted([1.0, 0.5]), counted([1.0, -1.0, np.nan]), counted([np.nan])
        ('all 2', '1 of 2', 'none known')
    """
    drawn = np.asarray(margins, float).ravel()
    known = drawn[np.isfinite(drawn)]
    kept = int((known >= 0).sum())
    if not known.size:
        return "none known"
    return f"all {kept}" if kept == known.size else f"{kept} of {known.size}"


def least(values: Mapping[str, ArrayLike]) -> str:
    """Name of the smallest finite value, the first of equal ones; a question mark if there is none.

    Example:
        >>> least({"a": 2, "b": 1, "c": np.nan}), least({"a": np.nan})
        ('b', '?')
    """
    known = {name: float(np.asarray(value, float)) for name, value in values.items()}
    finite = [name for name, value in known.items() if np.isfinite(value)]
    return min(finite, key=known.__getitem__) if finite else UNKNOWN


def exponent(x: ArrayLike, y: ArrayLike, form: str = ".2f") -> str:
    """Slope of the line through the logarithms of the finite positive points; a question mark below two of them.

    Example:
        >>> exponent([1, 2, 4], [3, 12, 48]), exponent([1, 2, 4], [1, np.nan, 0])
        ('2.00', '?')
    """
    points = np.stack(np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float)))
    kept = points[:, (np.isfinite(points) & (points > 0)).all(axis=0)]
    logs = np.log(kept)
    return number(np.polyfit(logs[0], logs[1], 1)[0], form) if kept.shape[1] > 1 else UNKNOWN


def which(margins: Mapping[str, ArrayLike]) -> str:
    """Names with finite margins all at least zero; a question mark if no margin is finite.

    Example:
        >>> which({"a": 1, "b": [1, -1]}), which({"a": 1, "b": 2}), which({"a": -1, "b": np.nan}), which({"a": np.nan})
        ('only a', 'all 2', 'none of 1', '?')
    """
    known = {name: values for name, values in margins.items() if np.isfinite(np.asarray(values, float)).any()}
    kept = [name for name, values in known.items() if outcome(values, "holds", "fails", "unknown") == "holds"]
    if not known:
        return UNKNOWN
    if len(kept) == len(known):
        return f"all {len(known)}"
    return f"only {', '.join(kept)}" if kept else f"none of {len(known)}"
