"""Names of networks, moments and what is recorded, shared by experiments, claims and figures; imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import xarray as xr

from repdyn.base.datasets import variable

Four = Literal["plain", "batch norm", "residual", "leaky"]
FOUR: tuple[Four, ...] = ("plain", "batch norm", "residual", "leaky")
ENDS = ("before training", "after training")
HALF = "after half of the steps"
CURVES = ("representation_distance", "prediction_distance", "prediction_alignment", "pair_loss")
PAIR_FACTS = ("input_distance", "target_distance")
DIMENSIONS = {
    "network": "kind of network",
    "task": "what the images are told apart into",
    "data": "what was learned",
    "end": "before training, half way, or after it",
    "layer": "layer",
    "seed": "draw of the weights, shared by all networks",
    "step": "steps of full-batch descent",
    "moment": "steps of full-batch descent",
    "pair": "two points",
    "curve": "h, y or w",
    "index": "singular value, the largest first",
}


def named(coords: Mapping[str, np.ndarray]) -> dict[str, xr.Variable]:
    """Coordinates with their words."""
    return {name: variable(name, values, DIMENSIONS[name]) for name, values in coords.items()}


def middle_layer(layers: list[str]) -> str:
    """Name of the hidden layer at half depth."""
    hidden = [name for name in layers if name.startswith("layers.")]
    return hidden[len(hidden) // 2 - 1]
