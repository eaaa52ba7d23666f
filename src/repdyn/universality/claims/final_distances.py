"""The claim on final distances (Figure 5): whether equation (10) predicts them from rates fitted elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import xarray as xr
from scipy.special import ndtri, stdtrit

from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.verdicts import OUTCOMES, Test, Verdict, interval_within, over_readings
from repdyn.universality.claims.intervals import FALSE_ALARM, undecided, worst_of
from repdyn.universality.methods.power_laws import FEWEST

HALF = 0.5**0.5
CORRELATED_REASON = "half of the variance explained"
MISSED = 0.25
MISSED_REASON = "a quarter power is a fifth over a doubling of the distance"


def follows(row: xr.Dataset, share: int) -> Test:
    """Student's intervals of the powers of dx and dy that the theory misses lie within a quarter of 0."""
    expected, trials = "$h$ over the theory depends on no distance, powers 0 within 0.25", int(row["trials"])
    if trials < FEWEST or not np.isfinite(row["missed"]).all():
        return undecided(f"{trials} trials converged", expected, MISSED_REASON)
    half = stdtrit(trials - 3, 1 - FALSE_ALARM / share / 4) * row["missed_error"].values
    return worst_of(
        {
            word: interval_within(
                (float(slope - reach), float(slope + reach)),
                -MISSED,
                MISSED,
                estimate=float(slope),
                expected=expected,
                reason=MISSED_REASON,
                n=trials,
                false_alarm=FALSE_ALARM / share / 2,
            )
            for word, slope, reach in zip(row["distance"].values, row["missed"].values, half, strict=True)
        }
    )


def correlates(row: xr.Dataset, share: int, name: str) -> Test:
    """Fisher's interval of the correlation of the final distances with (10) lies above the root of a half."""
    trials, expected = int(row["trials"]), f"correlation with (10) above {HALF:.2g}"
    if trials < FEWEST or not np.isfinite(row[name]):
        return undecided(f"{trials} trials converged", expected, CORRELATED_REASON)
    middle, half = np.arctanh(float(row[name])), ndtri(1 - FALSE_ALARM / share / 2) / np.sqrt(trials - 3)
    return interval_within(
        (float(np.tanh(middle - half)), float(np.tanh(middle + half))),
        HALF,
        np.inf,
        estimate=float(row[name]),
        expected=expected,
        reason=CORRELATED_REASON,
        n=trials,
        false_alarm=FALSE_ALARM / share,
    )


def most_of(tests: Mapping[str, Test]) -> Test:
    """The test of the network in the middle: passes (fails) if more than half of the networks do."""
    ranked = sorted(tests.values(), key=lambda test: OUTCOMES.index(test.outcome))
    counts = [sum(test.outcome == outcome for test in ranked) for outcome in ("passes", "fails")]
    outcome = next(
        (name for name, n in zip(("passes", "fails"), counts, strict=True) if 2 * n > len(ranked)), "undecided"
    )
    return replace(ranked[len(ranked) // 2], outcome=outcome)


def _turned_round(final_predictions: xr.Dataset) -> xr.Dataset:
    """H to the power -1: exponents and correlations change sign."""
    turned = {name: -final_predictions[name] for name in ("correlation", "correlation_plain", "exponent")}
    theory = final_predictions["exponent"] - final_predictions["missed"]
    return final_predictions.assign(**turned, missed=-final_predictions["exponent"] - theory)


@claim(
    "uni-fig5-final",
    where="Section 4.2, Figure 5; Appendix B.1",
    line=180,
    assumes=("rates fitted at fixed distances; inputs .5 to 1.5 apart, targets 0 to 1 apart, 5 x 5, B.1"),
    words=("we can extrapolate to predictions about the final representational distance for other distances"),
    kind="comparison",
    states=(
        "With rates fitted at one pair of distances (10) gives predictions of the final distance at "
        "other distances, which the networks follow."
    ),
    formula=(
        r"\|dh(\infty)\|^2 = \frac{1}{2} A_{\text{high}} + \sqrt{\frac{1}{4} A_{\text{high}}^2 +"
        r" A_{\text{low}}^2}, \quad A_{\text{low}} = \sqrt{\frac{\tau_y}{\tau_h}} \|x_2 - x_1\| \|y_2 - y_1\|"
    ),
    data="final_predictions",
    control=false_world("final distances turned round: the largest where (10) has the smallest", _turned_round),
)
def final_distances_follow(final_predictions: xr.Dataset) -> Verdict:
    """Powers of dx and dy in h over the theory, per network; correlations and the baseline of dy in the note."""
    names = final_predictions["network"].values.tolist()
    rows = {name: final_predictions.sel(network=name) for name in names}
    shown = "; ".join(
        f"{name}: $r$ {float(row['correlation_plain']):.2f}, of logarithms "
        f"{float(row['correlation']):.2f} ($dy$ alone {float(row['correlation_dy']):.2f}), exponents $dx$ "
        f"{float(row['exponent'][0]):.2f}, $dy$ {float(row['exponent'][1]):.2f}, dropped {int(row['dropped'])}"
        if np.isfinite(row["correlation"])
        else f"{name}: too few trials, dropped {int(row['dropped'])}"
        for name, row in rows.items()
    )
    test = over_readings(
        lambda networks, statistic: networks({name: statistic(row, len(names)) for name, row in rows.items()}),
        networks={"all of them": worst_of, "most of them": most_of},
        statistic={
            "powers of the distances": follows,
            "correlation of the logarithms, equal targets left out": partial(correlates, name="correlation"),
            "correlation as plotted, all targets": partial(correlates, name="correlation_plain"),
        },
    )
    return Verdict.from_tests(test, note=shown)
