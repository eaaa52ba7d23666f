"""Fits of the effective theory to stored trajectories. Each trial's convergence is tested first; dropped ones count.

Numbers of dropped trials are NaN. A fit loss (49) grows with the square of h, so networks are compared by the
explained variance of each curve, never by their fit losses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.datasets import dataset, variable
from repdyn.universality.methods.fit import EffectiveFit, Solution, fit_effective_rates, fit_mean_rate, squared_error
from repdyn.universality.settings.two_points import Fits
from repdyn.universality.theory.alternatives import ALTERNATIVES, altered_solution
from repdyn.universality.theory.effective import effective_loss
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
    "h_end": ("squared representational distance at the end", "1"),
    "h_theory": ("final distance of the theory at the fitted rates, eq. (10)", "1"),
}
STEP = 2.5  # epochs per Runge-Kutta step: rates are below 0.1 per epoch, so a step errs by 1e-5 of 0.25^5
DROPPED = "trials that did not converge are not fitted"


def numbers(fit: EffectiveFit, h: Array, y: Array, dx2: float, dy2: float) -> dict[str, float]:
    """The numbers of a fit that are stored, by the names in `NUMBERS`."""
    return {
        "eta_h": fit.eta_h,
        "eta_y": fit.eta_y,
        "fit_loss": fit.loss,
        "error_h": float(np.sqrt(max(fit.covariance[0, 0], 0.0))),
        "error_y": float(np.sqrt(max(fit.covariance[1, 1], 0.0))),
        "agreeing": fit.agreeing / fit.starts,
        "at_bound": float(fit.at_bound),
        "h_end": float(h[-1]),
        "h_theory": float(final_distance(h[0], y[0], np.sqrt(dx2), np.sqrt(dy2), fit.eta_h / fit.eta_y)),
    }


def fit_run(run: xr.Dataset, solution: Solution | None = None, *, allow_unconverged: bool = False) -> EffectiveFit:
    """Fits one trial: h, y, w over epoch, with dx2, dy2."""
    epoch = run["epoch"].values
    return fit_effective_rates(
        *(run[name].values for name in CURVES),
        float(run["dx2"]),
        float(run["dy2"]),
        every=float(epoch[1] - epoch[0]),
        solution=solution,
        allow_unconverged=allow_unconverged,
    )


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


def _fit_all(runs: xr.Dataset, dim: str, limit: float) -> tuple[dict[str, xr.Variable], dict[tuple, EffectiveFit]]:
    """Fits of all converged trials of runs (dim, seed, epoch); stored numbers, and the fits by place."""
    good = converged(runs, limit).broadcast_like(runs["h"].isel(epoch=0, drop=True)).transpose(dim, "seed").values
    stored = {name: np.full(good.shape, np.nan) for name in NUMBERS}
    r2, fits = np.full((*good.shape, 3), np.nan), {}
    for place in zip(*np.nonzero(good), strict=True):
        run = runs.isel({dim: place[0], "seed": place[1]})
        fits[place] = fit = fit_run(run)
        found = numbers(fit, run["h"].values, run["y"].values, float(run["dx2"]), float(run["dy2"]))
        for name, value in found.items():
            stored[name][place] = value
        r2[place] = fit.r2
    made = {name: _with_gaps((dim, "seed"), stored[name], *NUMBERS[name]) for name in NUMBERS}
    made["r2"] = _with_gaps((dim, "seed", "curve"), r2, "explained variance R2 of the curve")
    made["converged"] = variable((dim, "seed"), good.astype(np.int8), "1 where the final loss is below the limit")
    return made, fits


def _with_gaps(dims: tuple[str, ...], values: Array, long_name: str, units: str = "1") -> xr.Variable:
    made = variable(dims, values, long_name, units)
    made.attrs["missing"] = DROPPED
    return made


def _shown(fits: Mapping[tuple, EffectiveFit], count: int, frames: int) -> tuple[Array, Array]:
    """Trial that figures show, the first converged (-1 for none), and the theory's curves for it."""
    seeds, theory = np.full(count, -1), np.full((count, 3, frames), np.nan)
    for (row, seed), fit in sorted(fits.items(), reverse=True):
        seeds[row], theory[row] = seed, fit.theory
    return seeds, theory


def _coords(runs: xr.Dataset, *names: str) -> dict[str, xr.Variable]:
    return {name: runs[name].variable for name in names} | {
        "curve": variable("curve", np.array(CURVES), "curve of eq. (8)")
    }


def architecture_fits(settings: Fits, architectures: xr.Dataset) -> xr.Dataset:
    """Figures 2, 3, 12: rates, explained variance, plateau and loss curve of every network of Table 1."""
    made, fits = _fit_all(architectures, "network", settings.converged)
    seeds, theory = _shown(fits, architectures.sizes["network"], architectures.sizes["epoch"])
    losses, shown = _loss_fits(architectures, fits, seeds)
    return dataset(
        made
        | losses
        | _plateaus(architectures)
        | {
            "shown": variable("network", seeds, "trial that figures show; -1 where none converged"),
            "theory": _with_gaps(("network", "curve", "epoch"), theory, "theory of the shown trial"),
            "theory_loss": _with_gaps(("network", "epoch"), shown, "loss (9) of the shown trial"),
            "limit": variable((), settings.converged, "largest final loss of a trial that is fitted"),
        },
        _coords(architectures, "network", "seed", "epoch"),
        title="Effective rates of the networks of Table 1",
    )


def _loss_fits(runs: xr.Dataset, fits: Mapping[tuple, EffectiveFit], seeds: Array) -> tuple[dict, Array]:
    """Third constant: eta_b, squared residual and explained variance of the loss, and the shown trials' curves."""
    shape = (runs.sizes["network"], runs.sizes["seed"])
    found = {name: np.full(shape, np.nan) for name in ("eta_b", "loss_residual", "loss_r2", "pair_r2")}
    shown, t, dy2 = np.full((shape[0], runs.sizes["epoch"]), np.nan), runs["epoch"].values, None
    for place, fit in fits.items():
        run = runs.isel(network=place[0], seed=place[1])
        loss, offset, dy2 = run["loss"].values, float(run["offset2"][0]), float(run["dy2"])
        eta_b, residual = fit_mean_rate(t, loss, fit.theory[1], fit.theory[2], dy2, offset)
        curve = effective_loss(t, fit.theory[1], fit.theory[2], dy2, offset, eta_b)
        found["eta_b"][place], found["loss_residual"][place] = eta_b, residual
        pair = loss - run["offset2"].values / 2
        found["loss_r2"][place] = _explained(loss, curve)
        found["pair_r2"][place] = _explained(pair, squared_error(fit.theory[1], fit.theory[2], dy2) / 8)
        if seeds[place[0]] == place[1]:
            shown[place[0]] = curve
    dims = ("network", "seed")
    return {
        "eta_b": _with_gaps(dims, found["eta_b"], "fitted rate of the mean output 1/tau_ybar", "1/epoch"),
        "loss_residual": _with_gaps(dims, found["loss_residual"], "squared residual of the loss", "epoch"),
        "loss_r2": _with_gaps(dims, found["loss_r2"], "explained variance R2 of the training loss"),
        "pair_r2": _with_gaps(dims, found["pair_r2"], "explained variance R2 of the loss less the mean output's part"),
    }, shown


def _explained(measured: Array, theory: Array) -> float:
    """R2 of a curve; NaN where nothing varies."""
    spread = ((measured - measured.mean()) ** 2).sum() if measured.size else 0.0
    return float(1 - ((theory - measured) ** 2).sum() / spread) if spread > 0 else np.nan


def _plateaus(runs: xr.Dataset) -> dict[str, xr.Variable]:
    """Epochs until y is a quarter, half, three quarters of dy2."""
    shape, made = (runs.sizes["network"], runs.sizes["seed"]), {}
    for name, share in {"quarter": 0.25, "half": 0.5, "three_quarters": 0.75}.items():
        values = [crossing(runs.isel(network=row, seed=seed), share) for row, seed in np.ndindex(shape)]
        made[name] = variable(
            ("network", "seed"), np.reshape(values, shape), f"epoch at which y reaches {share} of dy2", "epoch"
        )
        made[name].attrs["missing"] = "trials that never get there"
    return made


def printed_data_fits(settings: Fits, printed_data: xr.Dataset) -> xr.Dataset:
    """Fits on the data set as printed, whether converged or not: a plateau gives a small loss that means nothing."""
    shape = (printed_data.sizes["network"], printed_data.sizes["seed"])
    loss, r2 = np.empty(shape), np.empty((*shape, 3))
    for place in np.ndindex(shape):
        fit = fit_run(printed_data.isel(network=place[0], seed=place[1]), allow_unconverged=True)
        loss[place], r2[place] = fit.loss, fit.r2
    good = converged(printed_data, settings.converged).transpose("network", "seed").values
    return dataset(
        {
            "fit_loss": variable(("network", "seed"), loss, "squared fit loss, eq. (49), fitted even on a plateau"),
            "r2": variable(("network", "seed", "curve"), r2, "explained variance R2 of the curve"),
            "converged": variable(
                ("network", "seed"), good.astype(np.int8), "1 where the final loss is below the limit"
            ),
            "loss_end": variable(
                ("network", "seed"), printed_data["loss"].isel(epoch=-1).values, "training loss at the end"
            ),
        },
        _coords(printed_data, "network", "seed"),
        title="Fits on the data set of section B.1 as printed",
    )


def adam_fits(settings: Fits, adam_runs: xr.Dataset) -> xr.Dataset:
    """Figure 15: fits of the theory to the default network trained by Adam."""
    made, fits = _fit_all(adam_runs, "rate", settings.converged)
    seeds, theory = _shown(fits, adam_runs.sizes["rate"], adam_runs.sizes["epoch"])
    return dataset(
        made
        | {
            "shown": variable("rate", seeds, "trial that figures show; -1 where none converged"),
            "theory": _with_gaps(("rate", "curve", "epoch"), theory, "theory of the shown trial"),
        },
        _coords(adam_runs, "rate", "seed", "epoch"),
        title="Fits to the default network trained by Adam",
    )


def default_network_fits(settings: Fits, default_network: xr.Dataset) -> xr.Dataset:
    """Figures 10, 11 at the paper's width: every layer of one run, and the alternatives (51) halfway."""
    return _default_fits(settings, default_network)


def default_ensemble_fits(settings: Fits, default_ensemble: xr.Dataset) -> xr.Dataset:
    """Figures 10, 11 for the narrower network with many seeds."""
    return _default_fits(settings, default_ensemble)


def _default_fits(settings: Fits, runs: xr.Dataset) -> xr.Dataset:
    layers, _ = _fit_all(runs, "layer", settings.converged)
    halfway = runs.sel(layer=int(runs["halfway"]))
    altered, shown = _alternatives(halfway, converged(halfway, settings.converged).values)
    more = {
        "layer_gain": variable("seed", _layer_gain(runs), "factor of h per layer at the start, log-linear fit"),
        "halfway": runs["halfway"].variable,
        "units": runs["units"].variable,
        "shown": variable((), shown, "trial that figures show; -1 where none converged"),
    }
    return dataset(
        layers
        | altered
        | more
        | _quantities(halfway.isel(seed=max(shown, 0)), altered["alternative_theory"].values[0]),
        _coords(runs, "layer", "seed", "epoch")
        | {
            "alternative": variable("alternative", np.array(list(ALTERNATIVES)), "change to equation (7), eq. (51)"),
            "source": variable("source", np.array(["network", "theory"]), "what was measured"),
        },
        title="Fits to every layer of the default network, and of the alternatives (51)",
    )


def _alternatives(halfway: xr.Dataset, good: Array) -> tuple[dict[str, xr.Variable], int]:
    """Fits of the theory and of the alternatives (51) to the layer halfway, and the trial whose curves are kept."""
    shape, frames = (len(ALTERNATIVES), len(good)), halfway.sizes["epoch"]
    loss, agree, r2 = np.full(shape, np.nan), np.full(shape, np.nan), np.full((*shape, 3), np.nan)
    curves, shown = np.full((shape[0], 3, frames), np.nan), int(np.argmax(good)) if good.any() else -1
    for place in zip(*np.nonzero(np.broadcast_to(good, shape)), strict=True):
        run = halfway.isel(seed=place[1])
        fit = fit_run(run, alternative(list(ALTERNATIVES)[place[0]], run))
        loss[place], agree[place], r2[place] = fit.loss, fit.agreeing / fit.starts, fit.r2
        if place[1] == shown:
            curves[place[0]] = fit.theory
    dims = ("alternative", "seed")
    return {
        "alternative_loss": _with_gaps(dims, loss, "squared fit loss, eq. (49), halfway", "epoch"),
        "alternative_r2": _with_gaps((*dims, "curve"), r2, "explained variance R2 of the curve, halfway"),
        "alternative_agreeing": _with_gaps(dims, agree, "share of the polished starts in the best minimum"),
        "alternative_theory": _with_gaps(("alternative", "curve", "epoch"), curves, "fitted curves of the shown trial"),
    }, shown


def _quantities(run: xr.Dataset, theory: Array) -> dict[str, xr.Variable]:
    """What the theory keeps, for the network and for the theory: Cauchy-Schwarz residual and the ratio y/h."""
    network = np.stack([run[name].values for name in CURVES])
    both = np.stack([network, theory])
    h, y, w = np.moveaxis(both, 1, 0)
    residual, ratio = (y - w) ** 2 - y * float(run["dy2"]), y / h
    return {
        "shown_curves": _with_gaps(("source", "curve", "epoch"), both, "h, y, w of the shown trial, halfway"),
        "residual": _with_gaps(("source", "epoch"), residual, "(y - w)^2 - y dy2, 0 for one output"),
        "ratio": _with_gaps(("source", "epoch"), ratio, "y/h, linear in h by eq. (24)"),
    }


def alternative(name: str, run: xr.Dataset) -> Solution | None:
    """Solution of an alternative of (51) from the trial's start, for `fit_effective_rates`; None for the theory."""
    if name == "theory":
        return None
    epoch = run["epoch"].values
    start = np.array([float(run[curve][0]) for curve in CURVES])
    dx2, dy2, every = float(run["dx2"]), float(run["dy2"]), int(epoch[1] - epoch[0])

    def solve(rates: Array, frames: Array) -> Array:
        count = int(frames[-1]) + 1
        each = [altered_solution(name, count, every, start, *one, dx2, dy2, STEP)[:, frames] for one in rates.T]
        return np.stack(each, axis=1)

    return solve


def _layer_gain(runs: xr.Dataset) -> Array:
    start = np.log(runs["h"].isel(epoch=0).transpose("layer", "seed").values)
    return np.exp(np.polyfit(runs["layer"].values, start, 1)[0])


def final_predictions(settings: Fits, final_distances: xr.Dataset, architectures: xr.Dataset) -> xr.Dataset:
    """Figure 5: rates from the trials at dx = 1, dy2 = 0.5, averaged, then equation (10) over the grid."""
    names = list(final_distances["network"].values)
    rates, fits = _fit_all(architectures.sel(network=names), "network", settings.converged)
    del fits
    free = np.where(rates["at_bound"].values == 0, 1.0, np.nan)
    eta = {name: rates[name].values * free for name in ("eta_h", "eta_y")}
    geometric = np.exp(np.nanmean(np.log(eta["eta_h"] / eta["eta_y"]), axis=1))
    arithmetic = np.nanmean(eta["eta_h"], axis=1) / np.nanmean(eta["eta_y"], axis=1)
    grid = final_distances.transpose("network", "dx", "dy", "seed")
    dx, dy = np.meshgrid(grid["dx"].values, grid["dy"].values, indexing="ij")
    predict: Callable[[Array], Array] = lambda rho: final_distance(  # noqa: E731
        grid["h0"].values, grid["y0"].values, dx[None, :, :, None], dy[None, :, :, None], rho[:, None, None, None]
    )
    dims = ("network", "dx", "dy", "seed")
    good = grid["loss_end"].values < float(grid["converged"])
    return dataset(
        {
            "rho": variable("network", geometric, "eta_h/eta_y, geometric mean over fitted trials"),
            "rho_arithmetic": variable("network", arithmetic, "mean eta_h over mean eta_y, as the paper averages"),
            "fitted": variable("network", np.isfinite(eta["eta_h"]).sum(axis=1), "trials that the rates come from"),
            "theory": variable(dims, predict(geometric), "final distance of eq. (10), geometric mean of the rates"),
            "theory_arithmetic": variable(dims, predict(arithmetic), "final distance of eq. (10), mean of the rates"),
            "measured": variable(dims, grid["h_end"].values, "squared representational distance at the end"),
            "good": variable(dims, good.astype(np.int8), "1 where the trial converged"),
            "units": variable("network", grid["units"].values, "neurons per hidden layer"),
        },
        {name: grid[name].variable for name in dims},
        title="Final distances predicted by equation (10)",
    )
