"""What claims on trained networks share: statistics per seed, and regions with reasons."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.verdicts import Test, Verdict, mean_within

LEAST_SEEDS = 5
FALSE_ALARM = 1e-3
MIDDLE = (0.2, 0.8)  # positions p away from the ends
NEIGHBOURS = "up to one dimension more or less: the paper's own runs differ by 1 or 2"


def judge_sampled(seeds: int, printed: Test, corrected: Test | None = None, note: str = "") -> Verdict:
    """`judge`, but undecided under five seeds, where an interval can be short by chance."""
    if seeds < LEAST_SEEDS:
        return Verdict("not decidable at this scale", printed, corrected, f"{note} Fewer than {LEAST_SEEDS} seeds.")
    return Verdict.from_tests(printed, corrected, note)


def change(values: xr.DataArray, dim: str = "effective_depth") -> Array:
    """Last minus first value along a dimension, per seed."""
    return (values.isel({dim: -1}) - values.isel({dim: 0})).values


def growth(values: xr.DataArray, dim: str = "effective_depth") -> Array:
    """Exponent of the values in the dimension's coordinate, least squares of logarithms, per seed."""
    logs = np.log(values.transpose(dim, "seed").values)
    return np.polyfit(np.log(values[dim].values), logs, 1)[0]


def near(values: xr.DataArray, rank: int, what: str) -> Test:
    """Mean over seeds within one of the teacher's rank."""
    return mean_within(values.values, rank - 1, rank + 1, expected=f"{what} at {rank}", reason=NEIGHBOURS)


def positive(values: Array, expected: str, reason: str = "a sign") -> Test:
    """Mean over seeds above 0."""
    return mean_within(values, 0, np.inf, expected=expected, reason=reason)


def middle_layers(count: int) -> Array:
    """Layers whose middle lies strictly inside (0.2, 0.8), of equidistant ones."""
    p = (np.arange(count) + 0.5) / count
    return np.flatnonzero((p > MIDDLE[0]) & (p < MIDDLE[1]))


def spoken(values: xr.DataArray, digits: int = 3) -> str:
    """Mean over seeds along the remaining dimension, for notes."""
    return ", ".join(f"{value:.{digits}g}" for value in values.mean("seed").values)
