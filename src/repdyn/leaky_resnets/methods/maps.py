"""Kinds of linear maps in and out, which the paper leaves open ("learned or fixed")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Maps(NamedTuple):
    """How the linear maps in and out are treated, and whether layers have biases.

    Attributes:
        learned: trained with the layers; else they pad with zeros and cut.
        decay: their weight in the penalty, beside 1 for the layers.
        bias: whether layers have biases.
    """

    learned: bool
    decay: float
    bias: bool


MAPS: Mapping[str, Maps] = {
    "decayed maps": Maps(True, 1.0, True),
    "free maps": Maps(True, 0.0, True),
    "fixed maps": Maps(False, 0.0, True),
    "decayed maps, no bias": Maps(True, 1.0, False),
}
