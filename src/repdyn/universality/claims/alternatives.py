"""Claims on the altered dynamics that Figure 11 fits beside the theory."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from repdyn.base.claims import claim
from repdyn.base.controls import Control, exchange, false_world, in_every_dataset
from repdyn.base.readings import over_readings
from repdyn.base.sampled import spent
from repdyn.base.verdicts import Outcome, Test, Verdict
from repdyn.universality.claims.intervals import FALSE_ALARM, mean_of, undecided
from repdyn.universality.theory.published import FIT_LOSSES

PRINTED = tuple(name for name in FIT_LOSSES if name != "theory")
WIDEST = np.log(100)
OTHER_READING = "factor two in h"


def log_ratios(fits: xr.Dataset, name: str) -> np.ndarray:
    """Log of an alternative's fit loss over the theory's, per converged seed."""
    ratio = fits["alternative_loss"].sel(alternative=name) / fits["alternative_loss"].sel(alternative="theory")
    return np.log(ratio.values)


def _theory_exchanged(name: str) -> Control:
    swap = exchange("alternative", "theory", name)
    return false_world(
        f"networks that follow the altered dynamics ({name}) and not the theory",
        in_every_dataset(swap),
    )


@claim(
    "uni-fig11-alt",
    where="Appendix C.1, Figure 11, eq. (51)",
    line=594,
    assumes="two points; effective theory (7) with its two rates fitted",
    words="Trajectories of the alternatives are not as good of a fit compared to",
    kind="comparison",
    states="The four altered dynamics fit the default network worse than the theory does.",
    control={name: _theory_exchanged(name) for name in PRINTED},
    labels={
        "square": "fit loss with the square over the theory's, logarithm",
        "factor two": "log fit loss with the change of $y$ doubled, less the theory's",
        "minus removed": "log fit loss with the minus sign removed, less the theory's",
        "term removed": "log fit loss with a term removed, less the theory's",
    },
)
def alternatives_fit_worse(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset) -> Verdict:
    """Paired over seeds: log ratio of the global minima; the other reading of the square is a fact."""
    tests = {name: fits_worse(default_ensemble_fits, name) for name in PRINTED}
    other = fits_worse(default_ensemble_fits, OTHER_READING)
    return Verdict.from_tests(
        tests,
        facts={
            "log of the ratio of fit losses with a factor 2 in the first line in place of the square": other.value,
            "interval of that number": other.interval,
            "units per layer": int(default_ensemble_fits["units"]),
        },
    )


def fits_worse(fits: xr.Dataset, name: str) -> Test:
    """The mean log ratio of an alternative's fit loss to the theory's is above 0."""
    return mean_of(
        log_ratios(fits, name),
        0.0,
        np.inf,
        len(PRINTED),
        expected="log of the ratio of fit losses above 0",
        reason="worse means a larger minimum, seed by seed",
    )


def predicted(logs: np.ndarray, published: float) -> Test:
    """Whether a published number lies in the prediction interval of one more network, on the log scale."""
    logs = logs[np.isfinite(logs)]
    expected, rate = f"{published:.3g} in the prediction interval", spent(FALSE_ALARM)
    reason = f"one more network, log-normal over seeds, false alarm {rate:g}; wider than a factor 100 says nothing"
    if logs.size < 4:
        return undecided("networks", expected, reason, logs.size)
    half = stdtrit(logs.size - 1, 1 - rate / 2) * logs.std(ddof=1) * np.sqrt(1 + 1 / logs.size)
    gap, ends = abs(np.log(published) - logs.mean()), np.exp(logs.mean() + half * np.array([-1, 1]))
    if half > WIDEST:
        return undecided("geometric mean", expected, reason, float(np.exp(logs.mean())))
    outcome: Outcome = "passes" if gap <= half else "fails"
    interval = (float(ends[0]), float(ends[1]))
    return Test(
        outcome,
        expected,
        float(half / max(gap, 1e-12)),
        reason,
        logs.size,
        interval,
        rate,
        value=float(published),
        region=interval,
        statistic="published",
    )


def _one_of_ours(fits: xr.Dataset) -> xr.Dataset:
    """The losses of the last converged network for the printed ones, compared with the others."""
    loss = fits["alternative_loss"]
    seeds = np.flatnonzero(cast("xr.DataArray", np.isfinite(loss)).all("alternative").values)
    if seeds.size == 0:
        return fits
    return fits.isel(seed=slice(0, int(seeds[-1]))).assign(published_loss=loss.isel(seed=int(seeds[-1]), drop=True))


def _losses_of_square(name: str) -> Control:
    swap = exchange("alternative", name, "square")
    return false_world(
        f"the losses of 'square' in place of those of '{name}'",
        lambda fits: fits.assign(alternative_loss=cast("xr.Dataset", swap(fits))["alternative_loss"]),
    )


ONE_OF_OURS = false_world("a published network that is one of ours", _one_of_ours, recomputes=True)


def _one_square(fits: xr.Dataset) -> xr.Dataset:
    """Both readings of the square have the losses of the printed one, and one of them is published."""
    loss = fits["alternative_loss"].copy(deep=True)
    loss.loc[{"alternative": OTHER_READING}] = loss.sel(alternative="square").values
    return _one_of_ours(fits.assign(alternative_loss=loss))


@claim(
    "uni-fig11-numbers",
    where="Appendix C.1",
    line=589,
    kind_of_slip="result changes",
    assumes="squared fit loss (49), default network; the data set on which it trains; the search and its start are "
    "not stated, so the loss is the minimum",
    words="increases from 0.92 to 15.35, 16.61, 2.99 and 5.64 respectively",
    kind="published number",
    states="The squared fit loss is 0.92 for the theory and 15.35, 16.61, 2.99, 5.64 for the four altered dynamics.",
    control={
        "theory": _losses_of_square("theory"),
        "factor two": ONE_OF_OURS,
        "square": false_world(
            "a published network that is one of ours, under either reading", _one_square, recomputes=True
        ),
        "minus removed": _losses_of_square("minus removed"),
        "term removed": _losses_of_square("term removed"),
    },
    message="Two of the five published fit losses are not reproduced",
    cause="The loss 15.35 for the factor two is far above all of our networks, and 16.61 for the square lies "
    "outside the range of either reading; ours are minima over both rates, and a local search can end well above "
    "them.",
    consequence="The theory's 0.92 and the other two are ordinary draws, and that the loss increases holds "
    "(uni-fig11-alt): numbers change, the conclusion does not.",
    labels={
        "theory": "published fit loss of the theory, against those of our networks",
        "square": "published fit loss with the square, against those of our networks",
        "factor two": "squared fit loss with a factor two in the equation of $y$",
        "minus removed": "squared fit loss of the dynamics without the minus sign",
        "term removed": "squared fit loss of the dynamics without a term",
    },
)
def published_fit_losses(default_network_fits: xr.Dataset) -> Verdict:
    """Published losses against prediction intervals of one more network of the same width."""
    logs = cast("xr.DataArray", np.log(default_network_fits["alternative_loss"]))
    published = default_network_fits["published_loss"]
    tests = {
        name: predicted(logs.sel(alternative=name).values, float(published.sel(alternative=name)))
        for name in FIT_LOSSES
    }
    tests["square"] = over_readings(
        lambda square: predicted(logs.sel(alternative=square).values, float(published.sel(alternative="square"))),
        square={"of w, as printed": "square", "a factor 2 in the first line": OTHER_READING},
    )
    return Verdict.from_tests(tests)
