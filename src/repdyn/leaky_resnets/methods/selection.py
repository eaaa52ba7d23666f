"""Which trained networks figures and claims are about, and facts on their size and training."""

from __future__ import annotations

from typing import Any, TypeVar

import xarray as xr

Selected = TypeVar("Selected", xr.Dataset, xr.DataArray)

DECAYED = "decayed maps"
"""Linear maps that weight decay keeps finite, so that training has where to settle."""
PAPER_DEPTH = 7.0
"""Effective depth of Figures 1b and 1c."""
STAGE = 0.3
"""Position p of Figure 2b's 6-dimensional stage."""
PAPER_SIZES = (
    "The paper: dimension 30, width 100, 1000 points, penalty times effective depth 0.001, 5000 epochs of "
    "Adam, then usually 1000 of SGD."
)
"""Settings of Appendix B for captions."""


def of_maps(measures: Selected, maps: str = DECAYED) -> Selected:
    """The networks with one kind of linear maps."""
    return measures.sel(maps=maps)


def at_paper_depth(measures: xr.Dataset) -> xr.Dataset:
    """The effective depth next to the paper's 7."""
    return measures.sel(effective_depth=PAPER_DEPTH, method="nearest")


def by_label(words: str, values: xr.DataArray) -> dict[str, Any]:
    """Values along their only dimension as facts, a fact per label."""
    return {f"{words}, {label}": value for label, value in values.to_series().items()}


def training(chains: xr.Dataset) -> dict[str, Any]:
    """Number, penalty and length of training of Figure 1's and 3's networks, as facts."""
    return {
        "seeds": chains.sizes["seed"],
        "layers": chains.sizes["layer"],
        "penalty times effective depth": float((chains["lam"] * chains["effective_depth"]).values.flat[0]),
        "Adam steps per effective depth": int(chains["steps"]),
    }


def size_and_distance(measures: xr.Dataset) -> dict[str, Any]:
    """Size, length of training and distance from a critical point of Figure 2's networks, as facts."""
    kind = "maps" if "maps" in measures.dims else "teacher"
    distance = measures["relative_distance"]
    means = distance.mean([dim for dim in distance.dims if dim != kind])
    sizes = {"dimension": "dimension", "width": "width", "points": "points", "Adam steps": "steps"}
    return {
        **{words: int(measures[name]) for words, name in sizes.items()},
        **by_label("relative distance from a critical point", means),
    }
