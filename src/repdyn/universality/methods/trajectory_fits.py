"""The effective theory and its alternatives fitted to stored runs of two points, trial by trial."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import variable
from repdyn.universality.methods.fit import EffectiveFit, Solution, fit_effective_rates, least_loss_on_line
from repdyn.universality.theory.alternatives import altered_solution
from repdyn.universality.theory.final import final_distance

CURVES = ("h", "y", "w")
NUMBERS = {
    "eta_h": ("fitted rate of the encoder 1/tau_h", "1/epoch"),
    "eta_y": ("fitted rate of the decoder 1/tau_y", "1/epoch"),
    "fit_loss": ("squared fit loss, eq. (49)", "epoch"),
    "error_h": ("standard error of log eta_h from the residuals", "1"),
    "error_y": ("standard error of log eta_y from the residuals", "1"),
    "agreeing": ("share of the polished starts that end in the best minimum", "1"),
    "at_bound": ("1 where the best rates lie on the border of the search: no rates fit", "1"),
}
STEP = 2.5  # epochs per Runge-Kutta step: rates are below 0.1 per epoch, so a step errs by 1e-5 of 0.25^5
FEWEST_PASSES = 2  # three records, which a fit needs
DROPPED = "trials that did not converge are not fitted"


def numbers(fit: EffectiveFit) -> dict[str, float]:
    """The numbers of a fit that are stored, by the names in `NUMBERS`."""
    return {
        "eta_h": fit.eta_h,
        "eta_y": fit.eta_y,
        "fit_loss": fit.loss,
        "error_h": float(np.sqrt(max(fit.covariance[0, 0], 0.0))),
        "error_y": float(np.sqrt(max(fit.covariance[1, 1], 0.0))),
        "agreeing": fit.agreeing / fit.starts,
        "at_bound": float(fit.at_bound),
    }


def fit_run(run: xr.Dataset, **more: Any) -> EffectiveFit:
    """Fits one trial: h, y, w over epoch, with dx2, dy2; further arguments are those of `fit_effective_rates`.

    Rates of equation (7).
    """
    (h, y, w), epoch = (run[name].values for name in CURVES), run["epoch"].values
    return fit_effective_rates(h, y, w, float(run["dx2"]), float(run["dy2"]), every=float(epoch[1] - epoch[0]), **more)


def kept_fit(
    run: xr.Dataset, checkpoint: Checkpoint, name: str = "theory", *, allow_unconverged: bool = False
) -> EffectiveFit:
    """The fit of one trial by `fit_run`, kept under the content of its trajectory.

    Args:
        run: h, y, w over epoch, with dx2, dy2.
        checkpoint: where fits are kept.
        name: the theory, or which alternative of (51) is fitted.
        allow_unconverged: as in `fit_effective_rates`.
    """
    own = checkpoint.of(*(run[part].values for part in (*CURVES, "epoch", "dx2", "dy2")))
    if (kept := own.get(name)) is None:
        fit = fit_run(run, solution=alternative(name, run), allow_unconverged=allow_unconverged)
        kept = own.put(name, asdict(fit))
    parts: dict[str, Any] = {part: values if values.ndim else values.item() for part, values in kept.items()}
    return EffectiveFit(**parts)


def loss_on_line(run: xr.Dataset, name: str = "theory") -> float:
    """The least fit loss of one trial on the line of rates of `least_loss_on_line`; arguments as in `kept_fit`."""
    (h, y, w), epoch = (run[curve].values for curve in CURVES), run["epoch"].values
    every = float(epoch[1] - epoch[0])
    dx2, dy2 = float(run["dx2"]), float(run["dy2"])
    return least_loss_on_line(h, y, w, dx2, dy2, every=every, solution=alternative(name, run))


def converged(runs: xr.Dataset, limit: float) -> xr.DataArray:
    """Trials whose final loss is below the limit; a diverged trial has none."""
    return runs["loss"].isel(epoch=-1).fillna(np.inf) < limit


def crossing(run: xr.Dataset, share: float) -> float:
    """First epoch at which y exceeds that share of dy2, between records by a straight line; NaN if never."""
    y, epoch, level = run["y"].values, run["epoch"].values, share * float(run["dy2"])
    above = np.flatnonzero(y > level)
    if not len(above) or above[0] == 0:
        return float(epoch[0]) if len(above) else np.nan
    place = above[0]
    return float(np.interp(level, y[place - 1 : place + 1], epoch[place - 1 : place + 1]))


def fit_all(
    runs: xr.Dataset, dim: str, limit: float, checkpoint: Checkpoint
) -> tuple[dict[str, xr.Variable], dict[tuple, EffectiveFit]]:
    """Fits of all converged trials; stored numbers, and the fits by place.

    Args:
        runs: h, y, w and loss over (dim, seed, epoch), with dx2, dy2.
        dim: what the runs differ in besides the seed.
        limit: largest final loss of a trial that is fitted.
        checkpoint: where fits are kept.
    """
    good = converged(runs, limit).broadcast_like(runs["h"].isel(epoch=0, drop=True)).transpose(dim, "seed").values
    stored = {name: np.full(good.shape, np.nan) for name in NUMBERS}
    r2, fits = np.full((*good.shape, 3), np.nan), {}
    for place in zip(*np.nonzero(good), strict=True):
        fits[place] = fit = kept_fit(runs.isel({dim: place[0], "seed": place[1]}), checkpoint)
        for name, value in numbers(fit).items():
            stored[name][place] = value
        r2[place] = fit.r2
    variables = {name: with_gaps((dim, "seed"), stored[name], *NUMBERS[name]) for name in NUMBERS}
    variables["r2"] = with_gaps((dim, "seed", "curve"), r2, "explained variance R2 of the curve")
    variables["converged"] = variable((dim, "seed"), good.astype(np.int8), "1 where the final loss is below the limit")
    return variables, fits


def predicted_distance(h0: ArrayLike, y0: ArrayLike, dx: ArrayLike, dy: ArrayLike, rho: ArrayLike) -> Array:
    """Final distances of equation (10) by `final_distance`; NaN where the theory says nothing.

    That is where no rates were fitted (rho is NaN), and where a dead layer makes two inputs equal (h0 is 0).

    Args:
        h0: squared representational distance at t = 0.
        y0: squared output distance at t = 0.
        dx: input distance, not squared.
        dy: target distance, not squared.
        rho: eta_h/eta_y, NaN where no rates were fitted; all arguments broadcast.
    """
    h0, y0, dx, dy, rho = np.broadcast_arrays(h0, y0, dx, dy, rho)
    defined = np.isfinite(rho) & ((h0 > 0) | (dx == 0))
    distances = np.full(defined.shape, np.nan)
    distances[defined] = final_distance(*(array[defined] for array in (h0, y0, dx, dy, rho)))
    return distances


def with_gaps(
    dims: str | tuple[str, ...], values: ArrayLike, long_name: str, units: str = "1", missing: str = DROPPED
) -> xr.Variable:
    """A variable that is NaN where a trial was dropped, or for the reason given.

    Args:
        dims: dimensions.
        values: numbers, one axis per dimension.
        long_name: in words.
        units: `1` where it has none.
        missing: why numbers are missing.
    """
    array = variable(dims, values, long_name, units)
    array.attrs["missing"] = missing
    return array


def alternative(name: str, run: xr.Dataset) -> Solution | None:
    """Solution of an alternative of (51) from the trial's start, for `fit_effective_rates`; None for the theory."""
    if name == "theory":
        return None
    epoch = run["epoch"].values
    start = np.array([float(run[curve][0]) for curve in CURVES])
    dx2, dy2, every = float(run["dx2"]), float(run["dy2"]), int(epoch[1] - epoch[0])

    def solve(rates: Array, frames: NDArray[np.intp]) -> Array:
        count = int(frames[-1]) + 1
        each = [
            altered_solution(name, count, every, start, eta_h, eta_y, dx2, dy2, STEP)[:, frames]
            for eta_h, eta_y in rates.T
        ]
        return np.stack(each, axis=1)

    return solve
