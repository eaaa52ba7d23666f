"""Which trained networks figures and claims are about, and what is said of their size and training."""

from __future__ import annotations

from typing import TypeVar

import xarray as xr

Selected = TypeVar("Selected", xr.Dataset, xr.DataArray)

DECAYED = "decayed maps"
"""Linear maps that weight decay keeps finite, so that training has where to settle."""
PAPER_DEPTH = 7.0
"""Effective depth of Figures 1b and 1c."""
STAGE = 0.3
"""Position p of Figure 2b's 6-dimensional stage."""
PAPER_STEPS = "5000 epochs of Adam, then usually 1000 of SGD"
"""Length of training in Appendix B, "after training on Adam ... usually 1000 epochs" of SGD."""
PAPER_SIZES = f"the paper: 30, 100, 1000; {PAPER_STEPS}"
"""Dimension, width, points and length of training of the paper."""
PAPER_LAM = 0.001
"""Penalty of the paper times the effective depth."""


def of_maps(measures: Selected, maps: str = DECAYED) -> Selected:
    """The networks with one kind of linear maps."""
    return measures.sel(maps=maps)


def at_paper_depth(measures: xr.Dataset) -> xr.Dataset:
    """The effective depth next to the paper's 7."""
    return measures.sel(effective_depth=PAPER_DEPTH, method="nearest")


def penalty_and_steps(measures: xr.Dataset) -> str:
    """Penalty and length of training of Figure 1's and 3's networks, next to the paper's settings, in words."""
    scaled = (measures["lam"] * measures["effective_depth"]).values.ravel()
    return (
        f"$\\lambda \\tilde L$ = {float(scaled[0]):.2g}, {int(measures['steps'])} steps of Adam per effective depth, "
        f"each trained from the one before (the paper: {PAPER_LAM:g}, {PAPER_STEPS}, input 30, width 100, 1000 points; "
        "this run's sizes: `leaky_resnets.trained` of the configuration)."
    )


def size_and_distance(measures: xr.Dataset) -> str:
    """Size, length of training and distance from a critical point of Figure 2's networks, in words."""
    kind = "maps" if "maps" in measures.dims else "teacher"
    distance = measures["relative_distance"]
    means = distance.mean([dim for dim in distance.dims if dim != kind])
    far = ", ".join(f"{float(mean):.2g} ({name})" for name, mean in zip(means[kind].values, means, strict=True))
    d, w, N, steps = (int(measures[name]) for name in ("dimension", "width", "points", "steps"))
    size = f"$d$ = {d}, $w$ = {w}, $N$ = {N}, {steps} steps of Adam ({PAPER_SIZES})"
    return f"{size}; $\\|W - \\tilde L B S^T\\| / \\|W\\|$ with most layers: {far}."
