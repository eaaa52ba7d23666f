"""Fits of the effective theory to stored trajectories. Each trial's convergence is tested first; dropped ones count.

Numbers of dropped trials are NaN. A fit loss (49) grows with the square of h, so networks are compared by the
explained variance of each curve, never by their fit losses.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Annotated

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, variable
from repdyn.base.settings import EACH
from repdyn.universality.methods.fit import EffectiveFit, explained_variance, fit_mean_rate, squared_error
from repdyn.universality.methods.networks import LEAK
from repdyn.universality.methods.trajectory_fits import (
    CURVES,
    converged,
    crossing,
    fit_all,
    kept_fit,
    loss_on_line,
    with_gaps,
)
from repdyn.universality.settings.two_points import Fits
from repdyn.universality.theory.alternatives import ALTERNATIVES
from repdyn.universality.theory.effective import effective_loss
from repdyn.universality.theory.published import FIT_LOSSES


def _fitted(
    runs: xr.Dataset, dim: str, settings: Fits, checkpoint: Checkpoint
) -> tuple[dict[str, xr.Variable], dict[tuple, EffectiveFit], Array]:
    """Fits of all trials with the theory's curves for those that figures show; the fits; the shown trials."""
    variables, fits = fit_all(runs, dim, settings.converged, checkpoint)
    seeds, theory = np.full(runs.sizes[dim], -1), np.full((runs.sizes[dim], 3, runs.sizes["epoch"]), np.nan)
    for (row, seed), fit in sorted(fits.items(), reverse=True):
        seeds[row], theory[row] = seed, fit.theory
    variables |= {
        "shown": variable(dim, seeds, "trial that figures show; -1 where none converged"),
        "theory": with_gaps((dim, "curve", "epoch"), theory, "theory of the shown trial"),
    }
    return variables, fits, seeds


def _coords(runs: xr.Dataset, *names: str) -> dict[str, xr.Variable]:
    return {name: runs[name].variable for name in names} | {
        "curve": variable("curve", np.array(CURVES), "curve of eq. (8)")
    }


def architecture_fits(settings: Fits, architectures: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint) -> xr.Dataset:
    """Figures 2, 3, 12: rates, explained variance, plateau and loss curve of every network of Table 1."""
    variables, fits, seeds = _fitted(architectures, "network", settings, checkpoint)
    losses, shown = _loss_fits(architectures, fits, seeds)
    return dataset(
        variables
        | losses
        | _plateaus(architectures)
        | {"theory_loss": with_gaps(("network", "epoch"), shown, "loss (9) of the shown trial")},
        _coords(architectures, "network", "seed", "epoch"),
        title="Effective rates of the networks of Table 1",
    )


def _loss_fits(runs: xr.Dataset, fits: Mapping[tuple, EffectiveFit], seeds: Array) -> tuple[dict, Array]:
    """Third constant: eta_b, squared residual and explained variance of the loss, and the shown trials' curves."""
    shape = (runs.sizes["network"], runs.sizes["seed"])
    words = {
        "eta_b": ("fitted rate of the mean output 1/tau_ybar", "1/epoch"),
        "loss_residual": ("squared residual of the loss", "epoch"),
        "loss_r2": ("explained variance R2 of the training loss", "1"),
        "pair_r2": ("explained variance R2 of the loss less the mean output's part", "1"),
        "loss_r2_without_mean": ("R2 of the training loss by eq. (9) without its first term", "1"),
        "pair_r2_without_y": ("R2 of the loss less the mean output's part by eq. (9) without ||dy||^2", "1"),
    }
    numbers = {name: np.full(shape, np.nan) for name in words}
    shown, t, dy2 = np.full((shape[0], runs.sizes["epoch"]), np.nan), runs["epoch"].values, None
    for place, fit in fits.items():
        run = runs.isel(network=place[0], seed=place[1])
        loss, offset, dy2 = run["loss"].values, float(run["offset2"][0]), float(run["dy2"])
        eta_b, residual = fit_mean_rate(t, loss, fit.theory[1], fit.theory[2], dy2, offset)
        curve = effective_loss(t, fit.theory[1], fit.theory[2], dy2, offset, eta_b)
        numbers["eta_b"][place], numbers["loss_residual"][place] = eta_b, residual
        pair = loss - run["offset2"].values / 2
        numbers["loss_r2"][place] = explained_variance(loss, curve)
        of_pair = squared_error(fit.theory[1], fit.theory[2], dy2) / 8
        numbers["pair_r2"][place] = explained_variance(pair, of_pair)
        numbers["loss_r2_without_mean"][place] = explained_variance(loss, of_pair)
        without_y = squared_error(0.0, fit.theory[2], dy2) / 8
        numbers["pair_r2_without_y"][place] = explained_variance(pair, without_y)
        if seeds[place[0]] == place[1]:
            shown[place[0]] = curve
    return {name: with_gaps(("network", "seed"), numbers[name], *word) for name, word in words.items()}, shown


def _plateaus(runs: xr.Dataset) -> dict[str, xr.Variable]:
    """Epochs until y is a quarter, half, three quarters of dy2."""
    shape, plateaus = (runs.sizes["network"], runs.sizes["seed"]), {}
    for name, share in {"quarter": 0.25, "half": 0.5, "three_quarters": 0.75}.items():
        values = [crossing(runs.isel(network=row, seed=seed), share) for row, seed in np.ndindex(shape)]
        word, missing = f"epoch at which y reaches {share} of dy2", "trials that never get there"
        plateaus[name] = with_gaps(("network", "seed"), np.reshape(values, shape), word, "epoch", missing)
    return plateaus


def printed_data_fits(settings: Fits, printed_data: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint) -> xr.Dataset:
    """Fits on the data set as printed, whether converged or not: a plateau gives a small loss that means nothing."""
    shape = (printed_data.sizes["network"], printed_data.sizes["seed"])
    runs = [printed_data.isel(network=row, seed=seed) for row, seed in np.ndindex(shape)]
    loss = np.reshape([_loss_of_any(run, checkpoint) for run in runs], shape)
    good = converged(printed_data, settings.converged).transpose("network", "seed").values
    return dataset(
        {
            "fit_loss": variable(("network", "seed"), loss, "squared fit loss, eq. (49), fitted even on a plateau"),
            "converged": variable(
                ("network", "seed"), good.astype(np.int8), "1 where the final loss is below the limit"
            ),
        },
        {name: printed_data[name].variable for name in ("network", "seed")},
        title="Fits on the data set of section B.1 as printed",
    )


def _loss_of_any(run: xr.Dataset, checkpoint: Checkpoint) -> float:
    """Fit loss (49) of a trial, converged or not; NaN where it has diverged."""
    gone = not np.isfinite(run["loss"].values[-1])
    return np.nan if gone else kept_fit(run, checkpoint, allow_unconverged=True).loss


def adam_fits(settings: Fits, adam_runs: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint) -> xr.Dataset:
    """Figure 15: fits of the theory to the default network trained by Adam."""
    return dataset(
        _fitted(adam_runs, "rate", settings, checkpoint)[0],
        _coords(adam_runs, "rate", "seed", "epoch"),
        title="Fits to the default network trained by Adam",
    )


def default_network_fits(
    settings: Fits, default_network: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """Figures 10, 11 at the paper's width: every layer of one run, and the alternatives (51) halfway."""
    runs = default_network
    layers, fits = fit_all(runs, "layer", settings.converged, checkpoint)
    middle = runs.get_index("layer").get_loc(int(runs["halfway"]))
    halfway, gain = runs.isel(layer=middle), float(runs["gain"])
    of_theory = {seed: fit for (layer, seed), fit in fits.items() if layer == middle}
    altered, shown = _alternatives(halfway, of_theory, checkpoint)
    more = {
        "layer_gain": variable("seed", _layer_gain(runs), "factor of h per layer at the start, log-linear fit"),
        "layer_gain_theory": variable((), gain**2 * (1 + LEAK**2) / 2, "gain^2 times the mean of phi'^2, leaky ReLU"),
        "layer_gain_linear": variable((), gain**2, "gain^2, as for a linear network"),
        "published_loss": _published_losses(),
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


def default_ensemble_fits(
    settings: Fits, default_ensemble: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """Figures 10, 11 for the narrower network with many seeds."""
    return default_network_fits(settings, default_ensemble, checkpoint)


def _published_losses() -> xr.Variable:
    """The paper's fit losses, NaN for the square, whose loss the authors' notebook does not have."""
    values = [FIT_LOSSES.get(name, np.nan) for name in ALTERNATIVES]
    missing = "a reading of (51) whose loss is not published"
    return with_gaps("alternative", values, "squared fit loss that the paper prints, C.1", "epoch", missing)


def _alternatives(
    halfway: xr.Dataset, of_theory: Mapping[int, EffectiveFit], checkpoint: Checkpoint
) -> tuple[dict[str, xr.Variable], int]:
    """Fits of the alternatives (51) to the layer halfway beside the theory's, and the trial whose curves are kept.

    Args:
        halfway: the runs in that layer, (seed, epoch).
        of_theory: converged trial -> the theory's fit to it.
        checkpoint: where fits are kept.
    """
    shape, frames = (len(ALTERNATIVES), halfway.sizes["seed"]), halfway.sizes["epoch"]
    loss, on_line, r2 = np.full(shape, np.nan), np.full(shape, np.nan), np.full((*shape, 3), np.nan)
    curves, shown = np.full((shape[0], 3, frames), np.nan), int(min(of_theory, default=-1))
    for (row, name), (seed, theory) in product(enumerate(ALTERNATIVES), of_theory.items()):
        run = halfway.isel(seed=seed)
        fit = theory if name == "theory" else kept_fit(run, checkpoint, name)
        loss[row, seed], r2[row, seed], on_line[row, seed] = fit.loss, fit.r2, loss_on_line(run, name)
        if seed == shown:
            curves[row] = fit.theory
    dims = ("alternative", "seed")
    return {
        "alternative_loss": with_gaps(dims, loss, "squared fit loss, eq. (49), halfway", "epoch"),
        "alternative_loss_on_line": with_gaps(
            dims, on_line, "least squared fit loss, eq. (49), at eta_h/eta_y = h_end^2/(dx2 dy2), halfway", "epoch"
        ),
        "alternative_r2": with_gaps((*dims, "curve"), r2, "explained variance R2 of the curve, halfway"),
        "alternative_theory": with_gaps(("alternative", "curve", "epoch"), curves, "fitted curves of the shown trial"),
    }, shown


def _quantities(run: xr.Dataset, theory: Array) -> dict[str, xr.Variable]:
    """What the theory keeps, for the network and for the theory: Cauchy-Schwarz residual and the ratio y/h."""
    network = np.stack([run[name].values for name in CURVES])
    both = np.stack([network, theory])
    h, y, w = np.moveaxis(both, 1, 0)
    residual, ratio = (y - w) ** 2 - y * float(run["dy2"]), y / h
    return {
        "shown_curves": with_gaps(("source", "curve", "epoch"), both, "h, y, w of the shown trial, halfway"),
        "residual": with_gaps(("source", "epoch"), residual, "(y - w)^2 - y dy2, 0 for one output"),
        "ratio": with_gaps(("source", "epoch"), ratio, "y/h, linear in h by eq. (24)"),
    }


def _layer_gain(runs: xr.Dataset) -> Array:
    start = np.log(runs["h"].isel(epoch=0).transpose("layer", "seed").values)
    return np.exp(np.polyfit(runs["layer"].values, start, 1)[0])
