"""Claims on the altered dynamics that Figure 11 fits beside the theory."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from repdyn.base.claims import claim
from repdyn.base.controls import Control, exchange, false_world, in_every_dataset, replace_labels
from repdyn.base.readings import over_readings
from repdyn.base.sampled import spent
from repdyn.base.verdicts import Outcome, Test, Verdict, all_of, not_reproducible
from repdyn.universality.claims.intervals import FALSE_ALARM, mean_of, undecided
from repdyn.universality.theory.published import FIT_LOSSES

WIDEST = np.log(100)
SQUARE = {"of w, as printed": "square", "a factor 2 in the first line, as in the public code": "factor two in h"}
PRINTED = ("factor two", "square", "minus removed", "term removed")
SEARCH = {
    "minimum over both rates": "alternative_loss",
    "on the line of the public guesses": "alternative_loss_on_line",
}


def log_ratios(fits: xr.Dataset, name: str) -> np.ndarray:
    """Log of an alternative's fit loss over the theory's, per converged seed."""
    ratio = fits["alternative_loss"].sel(alternative=name) / fits["alternative_loss"].sel(alternative="theory")
    return np.log(ratio.values)


def _theory_exchanged(name: str) -> Control:
    taken = list(SQUARE.values()) if name == "square" else [name]
    swap = replace_labels("alternative", {"theory": name, **dict.fromkeys(taken, "theory")})
    return false_world(f"networks that follow the altered dynamics ({name}) and not the theory", in_every_dataset(swap))


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
    """Paired over seeds: log ratio of the global minima; the square is read as printed and as in the public code."""
    tests = {name: fits_worse(default_ensemble_fits, name) for name in PRINTED}
    tests["square"] = over_readings(lambda square: fits_worse(default_ensemble_fits, square), square=SQUARE)
    return Verdict.from_tests(tests, facts={"units per layer": int(default_ensemble_fits["units"])})


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


WHY = (
    "The paper says neither where its search over both rates starts nor where it stops. Tried: the minimum over both "
    r"rates, and the least loss at $\eta_h / \eta_y = h(\infty)^2 / (dx^2 dy^2)$, the line from which the authors' "
    "public search takes its hundred guesses and which it often does not leave."
)


def _losses_of(other: str, name: str) -> Control:
    swap = exchange("alternative", name, other)
    losses = list(SEARCH.values())
    return false_world(
        f"the losses of '{other}' in place of those of '{name}'",
        lambda fits: fits.assign(cast("xr.Dataset", swap(fits))[losses].data_vars),
    )


@claim(
    "uni-fig11-numbers",
    where="Appendix C.1",
    line=589,
    assumes="squared fit loss (49), default network, the data set on which it trains; the square is the factor 2 in "
    "the first line that has this loss in the authors' public notebook; the search and its start are not stated",
    words="increases from 0.92 to 15.35, 16.61, 2.99 and 5.64 respectively",
    kind="published number",
    states="The squared fit loss is 0.92 for the theory and 15.35, 16.61, 2.99, 5.64 for the four altered dynamics.",
    control={name: _losses_of("theory" if "factor" in name else "square", name) for name in FIT_LOSSES},
    defence="The losses are what the paper's own procedure gave, and its notebook stores them to five decimals. It "
    "takes a hundred guesses on the line of rates at which the theory's small-weight limit is the final distance, and "
    "a search that stays there ends far above the minimum: 15.35 and 16.61 are ordinary numbers of that line.",
    answer="The defence wins: nothing is refuted, since the paper says neither where the search starts nor where it "
    "stops. What it does not save is their size as evidence: with both rates free a factor 2 in the first line fits "
    "1.5 to 2.3 times worse than the theory in our networks, not 18 times; one in the second line 2 to 15 "
    "times.",
    labels={
        "theory": "published fit loss of the theory, against those of our networks",
        "factor two": "squared fit loss with a factor two in the equation of $y$",
        "factor two in h": "squared fit loss with a factor two in the equation of $h$, for the square",
        "minus removed": "squared fit loss of the dynamics without the minus sign",
        "term removed": "squared fit loss of the dynamics without a term",
    },
    remark="16.61 is told of a square; the public notebook has a factor 2 in the first line there.",
)
def published_fit_losses(default_network_fits: xr.Dataset) -> Verdict:
    """Published losses against prediction intervals of one more network of the same width, by where one searches."""
    fits, published = default_network_fits, default_network_fits["published_loss"]

    def at(name: str, search: str) -> Test:
        losses = fits[search].sel(alternative=name).values
        return predicted(np.log(losses), float(published.sel(alternative=name)))

    tests = {name: over_readings(lambda search, name=name: at(name, search), search=SEARCH) for name in FIT_LOSSES}
    facts = {
        f"least and largest squared fit loss, {name}, {words}": [float(losses.min()), float(losses.max())]
        for name in FIT_LOSSES
        for words, search in SEARCH.items()
        if (losses := fits[search].sel(alternative=name).dropna("seed")).size
    }
    if (whole := all_of(tests)).outcome == "depends":
        return replace(not_reproducible(WHY, whole), facts=facts)
    return Verdict.from_tests(tests, facts=facts)
