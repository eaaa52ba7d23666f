"""What claims on trained networks share: which networks speak, statistics per seed, regions with reasons."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.verdicts import Test, Verdict, mean_within
from repdyn.leaky_resnets.theory.checks import Array

LEAST_SEEDS = 5
FALSE_ALARM = 1e-3
MIDDLE = (0.2, 0.8)  # positions p away from the ends
NEIGHBOURS = "up to one dimension more or less: the paper's own runs differ by 1 or 2"


def judge_sampled(seeds: int, printed: Test, corrected: Test | None = None, note: str = "") -> Verdict:
    """`judge`, but undecided under five seeds, where an interval can be short by chance."""
    if seeds < LEAST_SEEDS:
        return Verdict("not decidable at this scale", printed, corrected, f"{note} Fewer than {LEAST_SEEDS} seeds.")
    return Verdict.from_tests(printed, corrected, note)


def median_hamiltonian(measures: xr.Dataset) -> xr.DataArray:
    """Median over layers of -2 H / Lt."""
    return measures["hamiltonian"].median("layer")


def median_stable(measures: xr.Dataset) -> xr.DataArray:
    """Median over layers of -2 H_gamma / Lt, first gamma."""
    return measures["stable_hamiltonian"].isel(gamma=0).median("layer")


def least_cost(measures: xr.Dataset) -> xr.DataArray:
    """Least stable cost of identity over layers, first gamma."""
    return measures["cost"].isel(gamma=0).min("layer")


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


def _steps(spectrum: xr.DataArray, among: int) -> Array:
    s = spectrum.transpose("seed", "value").values
    return np.log(s[:, :among] / np.maximum(s[:, 1 : among + 1], 1e-12 * s[:, :1]))


def largest_gap(spectrum: xr.DataArray, count: int, among: int = 6) -> Array:
    """log(s_k / s_{k+1}) minus the largest other such step among the first ones, per seed."""
    steps = _steps(spectrum, among)
    return steps[:, count - 1] - np.delete(steps, count - 1, axis=1).max(axis=1)


def largest_step(spectrum: xr.DataArray, among: int = 6) -> tuple[Array, Array]:
    """After how many values the largest step comes, and its logarithm, per seed."""
    steps = _steps(spectrum, among)
    return steps.argmax(axis=1) + 1.0, steps.max(axis=1)


def spoken(values: xr.DataArray, digits: int = 3) -> str:
    """Mean over seeds along the remaining dimension, for notes."""
    return ", ".join(f"{value:.{digits}g}" for value in values.mean("seed").values)
