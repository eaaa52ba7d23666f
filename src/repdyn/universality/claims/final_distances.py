"""The claim on final distances of networks trained on two points: Figure 5."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import ndtri

from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.readings import over_readings
from repdyn.base.sampled import interval_within, share_within, spent
from repdyn.base.verdicts import Test, Verdict
from repdyn.universality.claims.intervals import FALSE_ALARM, undecided, worst_of

FEWEST = 8
CORRELATION_REASON = "half or four fifths of the variance of the final distances explained"
FACTOR_REASON = "most: more than half of the trials"
NOT_COVERED = "the paper's target distances go down to 0, where (10) goes to its smallest values; these do not"


def _of_trials(row: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Measured and predicted distances of the trials that converged."""
    good, measured, theory = (row[name].transpose("dx", "dy", "seed").values for name in ("good", "measured", "theory"))
    return measured[good == 1], theory[good == 1]


def correlates(least: float, measured: np.ndarray, theory: np.ndarray, share: int) -> Test:
    """Fisher's interval of the correlation of final distances with equation (10)."""
    expected = f"correlation with (10) {least:.2f} or more"
    if measured.size < FEWEST or measured.std() == 0 or theory.std() == 0:
        return undecided("trials that converged", expected, CORRELATION_REASON, measured.size)
    r = float(np.clip(np.corrcoef(measured, theory)[0, 1], -1 + 1e-12, 1 - 1e-12))
    rate = spent(FALSE_ALARM) / share
    half = float(ndtri(1 - rate / 2)) / np.sqrt(measured.size - 3)
    ends = np.tanh(np.arctanh(r) + half * np.array([-1, 1]))
    return interval_within(
        (float(ends[0]), float(ends[1])),
        least,
        1.0,
        estimate=r,
        expected=expected,
        reason=CORRELATION_REASON,
        n=measured.size,
        false_alarm=rate,
    )


def near(factor: float, measured: np.ndarray, theory: np.ndarray, share: int) -> Test:
    """Share of the trials whose final distance lies within a factor of equation (10)."""
    expected = f"most trials within a factor {factor:g} of (10)"
    if measured.size < FEWEST:
        return undecided("trials that converged", expected, FACTOR_REASON, measured.size)
    inside = (measured <= factor * theory) & (theory <= factor * measured)
    return share_within(inside, 0.5, np.inf, expected=expected, reason=FACTOR_REASON, false_alarm=FALSE_ALARM / share)


def _measure(kind: Callable[..., Test], level: float) -> Callable[..., Test]:
    return lambda *trials: kind(level, *trials)


MEASURES = {
    "half of the variance": _measure(correlates, np.sqrt(0.5)),
    "four fifths of the variance": _measure(correlates, np.sqrt(0.8)),
    "within a factor of 1.5": _measure(near, 1.5),
    "within a factor of 2": _measure(near, 2.0),
}


def extrapolates(final_predictions: xr.Dataset) -> Test:
    """Final distances against (10), over the networks and over what "compared against the theory" may ask for."""
    names = final_predictions["network"].values.tolist()
    trials = {name: _of_trials(final_predictions.sel(network=name)) for name in names}

    def decide(networks: list[str], measure: Callable[..., Test]) -> Test:
        return worst_of({name: measure(*trials[name], len(networks)) for name in networks})

    networks = {name: [name] for name in names} | {"each of them": names}
    return over_readings(decide, networks=networks, measure=MEASURES)


def _elsewhere(final_predictions: xr.Dataset) -> xr.Dataset:
    """Final distances of other cells of the grid: dx and dy reversed, and ten times as large."""
    turned = final_predictions["measured"].isel(dx=slice(None, None, -1), dy=slice(None, None, -1)).values
    return final_predictions.assign(measured=(final_predictions["measured"].dims, 10 * turned))


@claim(
    "uni-fig5-final",
    where="Section 4.2, Figure 5; Appendix B.1",
    line=180,
    assumes="small initial weights, rates fitted at one choice of distances; final distances at dx from 0.5 to 1.5 "
    "and dy from 0 to 1, trials that did not converge discarded; networks of 500 units",
    words=("we can extrapolate to predictions about the final representational distance for other distances"),
    kind="comparison",
    states=("With rates fitted at one pair of distances, (10) extrapolates to the final distances at others."),
    formula=r"\|dh(\infty)\|^2 = \frac{1}{2} A_{\text{high}} + \sqrt{\frac{1}{4} A_{\text{high}}^2 + "
    r"A_{\text{low}}^2}, \quad A_{\text{low}} = \sqrt{\frac{\tau_y}{\tau_h}} \|x_2 - x_1\| \|y_2 - y_1\|",
    control=false_world(
        "networks whose final distances belong to other cells of the grid", _elsewhere, recomputes=True
    ),
)
def final_distances_follow(final_predictions: xr.Dataset) -> Verdict:
    """Final distances against (10) per network; undecided on a grid that leaves out the smallest target distances."""
    test = extrapolates(final_predictions)
    if least := float(final_predictions["dy"].min()):
        reason = f"{NOT_COVERED}, from {least:g} on"
        test = replace(test, outcome="undecided", margin=1.0, reason=reason)
    return Verdict.from_tests(test, facts=_facts(final_predictions))


def _facts(final_predictions: xr.Dataset) -> dict[str, object]:
    """The grid, and per network the correlation of logarithms with (10)."""
    correlations = final_predictions["correlation"].to_series()
    return {
        "smallest target distance": float(final_predictions["dy"].min()),
        "units per layer": int(final_predictions["units"][0]),
        "trials that did not converge": int(final_predictions["dropped"].sum()),
        **{f"correlation of logarithms, {name}": value for name, value in correlations.items()},
    }
