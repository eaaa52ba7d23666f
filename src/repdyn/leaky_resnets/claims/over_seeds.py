"""What claims on trained networks share: what they need of a run, statistics per seed, regions with reasons."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.controls import false_world, reverse
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test
from repdyn.leaky_resnets.methods.selection import DECAYED, PAPER_DEPTH

FREE, FIXED, NO_BIAS = "free maps", "fixed maps", "decayed maps, no bias"
LEARNED_MAPS = {"learned, decayed": DECAYED, "learned, free": FREE}
ALL_MAPS = {**LEARNED_MAPS, "fixed": FIXED}
"""Readings of "linear mappings can be either learned or fixed" (Appendix B); fixed ones stay far from critical."""

REVERSED = false_world("effective depths in reversed order", reverse("effective_depth"))
LEAST_SEEDS = 5  # below, an interval can be short by chance
NEAR = 0.25  # distance from W = Lt B S^T, relative, up to which a network counts as near a critical point
MIDDLE = (0.2, 0.8)  # positions p away from the ends
NEIGHBORS = "up to one dimension more or less: the paper's own runs differ by 1 or 2"


def need_chains(chains: xr.Dataset, *maps: str) -> None:
    """Five seeds of chains with these linear maps over three effective depths."""
    require(chains, "chain_measures", seed=LEAST_SEEDS, maps=maps, effective_depth=3)


def need_near_critical(distance: xr.DataArray, name: str) -> None:
    """Networks whose mean distance from a critical point is at most 0.25.

    Raises:
        NotEnoughDataError: they are farther, so that training has not done its work.
    """
    mean = float(distance.mean())
    if not mean <= NEAR:
        raise NotEnoughDataError(f"{name}: networks within {NEAR:g} of a critical point, mean distance {mean:.2g}")


def change(values: xr.DataArray, dim: str = "effective_depth") -> Array:
    """Last minus first value along a dimension, per seed."""
    return (values.isel({dim: -1}) - values.isel({dim: 0})).values


def growth(values: xr.DataArray, dim: str = "effective_depth") -> Array:
    """Exponent of the values in the dimension's coordinate, least squares of logarithms, per seed."""
    logs = np.log(values.transpose(dim, "seed").values)
    return np.polyfit(np.log(values[dim].values), logs, 1)[0]


def near(values: xr.DataArray, rank: int, what: str) -> Test:
    """Mean over seeds within one of the teacher's rank."""
    return mean_within(values.values, rank - 1, rank + 1, expected=f"{what} at {rank}", reason=NEIGHBORS)


def positive(values: Array, expected: str) -> Test:
    """Mean over seeds above 0."""
    return mean_within(values, 0, np.inf, expected=expected, reason="a sign")


def gammas(chains: xr.Dataset) -> dict[str, int]:
    """Readings of the gamma_0 that the paper leaves open: its value in words -> its place."""
    return {f"{float(value):g}": place for place, value in enumerate(chains["gamma"].values)}


def deep(chains: xr.Dataset) -> dict[str, int]:
    """Readings of a large effective depth: the one next to the paper's 7, and the largest."""
    depths = chains["effective_depth"].values
    places = sorted({int(np.abs(depths - PAPER_DEPTH).argmin()), len(depths) - 1})
    return {f"{depths[place]:g}": place for place in places}


def means(values: xr.DataArray) -> Array:
    """Means over seeds along the remaining dimension, as a fact."""
    return values.mean("seed").values
