"""Claims on randomness in trained networks: how final distances spread over draws of the weights (A.6)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.special import fdtri, ndtri, polygamma

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, in_every_dataset, replace_labels
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.sampled import interval_within, spent
from repdyn.base.verdicts import Test, Verdict
from repdyn.universality.claims.intervals import FALSE_ALARM, FEWEST_NETWORKS, undecided
from repdyn.universality.methods.trajectory_fits import predicted_distance
from repdyn.universality.theory.published import FIGURE_3

SMALLEST, LARGEST = FIGURE_3[0], FIGURE_3[-1]
TREND = "a trend is a slope whose interval excludes 0"
TENTH = "a tenth: what the starts explain is then no more than a hundredth of the variance"
WHOLE_GRID = false_world(
    "the five gains in reverse order",
    in_every_dataset(replace_labels("network", dict(zip(FIGURE_3, FIGURE_3[::-1], strict=True)))),
)


def _converged(fits: xr.Dataset, values: xr.DataArray) -> np.ndarray:
    return values.values[fits["converged"].values.astype(bool)]


def final_distances(architecture_fits: xr.Dataset, architectures: xr.Dataset, row: str) -> np.ndarray:
    """Squared distances after training of a row's networks that converged."""
    return _converged(architecture_fits.sel(network=row), architectures["h"].sel(network=row).isel(epoch=-1))


def slope_of_spread(samples: list[np.ndarray]) -> Test:
    """Slope of the log standard deviation in the rank of the gain.

    The log of the deviation of n normal samples has the variance psi'((n - 1) / 2) / 4; that all gains share their
    draws of the weights makes the slope's interval wider than it need be.
    """
    expected = "log spread rises with the gain"
    if min(sample.size for sample in samples) < FEWEST_NETWORKS:
        return undecided("networks", expected, TREND, min(sample.size for sample in samples))
    ranks = np.arange(len(samples)) - (len(samples) - 1) / 2
    weights = ranks / (ranks**2).sum()
    logs = np.log([sample.std(ddof=1) for sample in samples])
    variances = polygamma(1, [(sample.size - 1) / 2 for sample in samples]) / 4
    slope, error = float(weights @ logs), float(np.sqrt(weights**2 @ variances))
    half = float(ndtri(1 - spent(FALSE_ALARM) / 4)) * error  # half of the rate is kept for the skewness of the logs
    return interval_within(
        (slope - half, slope + half),
        0.0,
        np.inf,
        estimate=slope,
        expected=expected,
        reason=TREND,
        n=min(sample.size for sample in samples),
        false_alarm=spent(FALSE_ALARM),
    )


SPREADS = {"of logarithms": np.log, "of squared distances": np.array, "of distances": np.sqrt}


@claim(
    "uni-a6-networks",
    where="Appendix A.6",
    line=455,
    assumes="default network, two points, the gains of Figure 3; randomness is the spread over draws of the weights",
    words="random features, as opposed to the more consistent structured features learned at small initialization",
    kind="comparison",
    states="Features learned at small initial weights are more consistent over draws of the weights than those at "
    "large ones.",
    control=WHOLE_GRID,
)
def consistent_at_small_weights(architecture_fits: xr.Dataset, architectures: xr.Dataset) -> Verdict:
    """Spread of the final distance over networks, in the rank of the gain."""
    for name, data in (("architecture_fits", architecture_fits), ("architectures", architectures)):
        require(data, name, network=FIGURE_3)
    ends = [final_distances(architecture_fits, architectures, row) for row in FIGURE_3]
    test = over_readings(lambda spread: slope_of_spread([spread(end) for end in ends]), spread=SPREADS)
    gains = architectures["gain"].sel(network=list(FIGURE_3)).values
    spreads = [np.log(end).std(ddof=1) if end.size > 1 else np.nan for end in ends]
    facts = {"gains": gains, "standard deviation of the log of the squared final distance, by gain": spreads}
    return Verdict.from_tests(test, facts=facts)


def deviation_ratio(first: np.ndarray, second: np.ndarray, largest: float) -> Test:
    """Standard deviation of the first samples over that of the second, by the F distribution, at most `largest`."""
    expected, n, m = f"at most {largest:g} of the spread", first.size, second.size
    if min(n, m) < FEWEST_NETWORKS:
        return undecided("networks", expected, TENTH, min(n, m))
    ratio = float(first.std(ddof=1) / second.std(ddof=1))
    rate = spent(FALSE_ALARM)
    low = ratio / np.sqrt(fdtri(n - 1, m - 1, 1 - rate / 2))
    high = ratio * np.sqrt(fdtri(m - 1, n - 1, 1 - rate / 2))
    return interval_within(
        (float(low), float(high)),
        0.0,
        largest,
        estimate=ratio,
        expected=expected,
        reason=TENTH,
        n=min(n, m),
        false_alarm=rate,
    )


def from_the_starts(architecture_fits: xr.Dataset, architectures: xr.Dataset, row: str) -> np.ndarray:
    """Final distances (10) from a row's starts and the rates of the default network, the same for all draws."""
    default, runs = architecture_fits.sel(network="default"), architectures.sel(network=row)
    rho = float(np.exp(np.log(default["eta_h"] / default["eta_y"]).mean()))
    start = runs[["h", "y"]].isel(epoch=0)
    dx, dy = np.sqrt(float(runs["dx2"])), np.sqrt(float(runs["dy2"]))
    theory = xr.DataArray(predicted_distance(start["h"].values, start["y"].values, dx, dy, rho), dims="seed")
    return _converged(architecture_fits.sel(network=row), theory)


@claim(
    "uni-a6-left",
    where="Appendix A.6",
    kind="comparison",
    origin="ours",
    assumes="default network on the public data set at gain 0.9, the smallest of Figure 3; (10) with one ratio of "
    "rates for all networks, that of gain 1; spreads of logarithms",
    states="At the smallest weights final distances still spread over networks, ten times and more as much as (10) "
    "makes of their starts.",
    control=false_world(
        "networks of the largest gain, where starts make the spread",
        in_every_dataset(exchange("network", SMALLEST, LARGEST)),
    ),
)
def randomness_left(architecture_fits: xr.Dataset, architectures: xr.Dataset) -> Verdict:
    """Spread of the log of (10), from each network's start at common rates, over that of the networks."""
    require(architecture_fits, "architecture_fits", network=("default", SMALLEST, LARGEST))
    ends = np.log(final_distances(architecture_fits, architectures, SMALLEST))
    theory = np.log(from_the_starts(architecture_fits, architectures, SMALLEST))
    return Verdict.from_tests(deviation_ratio(theory, ends, 0.1))
