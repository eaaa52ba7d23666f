"""Tests of samples: t-intervals and binomial intervals, with the stated error rates."""

import math

import numpy as np
import pytest
from scipy import stats

from repdyn.base.errors import NotEnoughDataError, NotFiniteError
from repdyn.base.sampled import at_look, interval_within, mean_within, share_interval, share_within
from repdyn.base.verdicts import LARGEST_MARGIN

SAY = {"expected": "this", "reason": "that"}
SAMPLED = SAY | {"n": 10, "false_alarm": 0.05}


@pytest.mark.parametrize(
    ("interval", "low", "high", "outcome", "margin"),
    [  # the margin is in halves of the interval's width
        ((1.0, 3.0), 0.0, 4.0, "passes", 2.0),
        ((1.0, 3.0), 0.5, 9.0, "passes", 1.5),
        ((1.0, 3.0), 1.0, 4.0, "passes", 1.0),
        ((1.0, 3.0), -math.inf, 5.0, "passes", 3.0),
        ((2.0, 2.0), 0.0, 4.0, "passes", LARGEST_MARGIN),
        ((1.0, 3.0), 2.5, 9.0, "undecided", 1.0),
        ((1.0, 3.0), -9.0, 1.5, "undecided", 1.0),
        ((1.0, 3.0), 1.5, 2.5, "undecided", 1.0),
        ((1.0, 3.0), 4.0, 9.0, "fails", 0.5),
        ((1.0, 3.0), -9.0, -2.0, "fails", 0.25),
        ((1.0, 5.0), -9.0, -1.0, "fails", 0.5),
        ((2.0, 2.0), 3.0, 4.0, "fails", 1 / LARGEST_MARGIN),
    ],
)
def test_interval_inside_across_and_outside_of_a_region(interval, low, high, outcome, margin):
    test = interval_within(interval, low, high, **SAMPLED)
    assert (test.outcome, test.margin) == (outcome, pytest.approx(margin))
    assert (test.interval, test.region, test.n, test.false_alarm) == (interval, (low, high), 10, 0.05)


def test_interval_of_the_mean_is_the_t_interval():
    samples = np.random.default_rng(2).standard_normal(12)
    expected = stats.ttest_1samp(samples, 0).confidence_interval(0.99)
    test = mean_within(samples, -1, 1, false_alarm=0.01, **SAY)
    assert test.interval == pytest.approx((expected.low, expected.high))
    assert (test.n, test.false_alarm, test.value) == (12, 0.01, pytest.approx(samples.mean()))


@pytest.mark.parametrize("trials", [1, 8, 500])
@pytest.mark.parametrize("false_alarm", [0.01, 1e-3, 1e-6])
def test_interval_of_a_share_inverts_the_exact_binomial_test(trials, false_alarm):
    for hits in {0, 1, trials // 3, trials - 1, trials}:
        wanted = stats.binomtest(hits, trials).proportion_ci(1 - false_alarm, method="exact")
        assert share_interval(hits, trials, false_alarm) == pytest.approx((wanted.low, wanted.high), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(("hits", "outcome"), [(8, "passes"), (7, "undecided"), (1, "undecided"), (0, "fails")])
def test_share_is_decided_by_its_interval(hits, outcome):
    test = share_within([True] * hits + [False] * (8 - hits), 0.5, math.inf, **SAY, false_alarm=0.01)
    assert (test.outcome, test.n, test.false_alarm, test.value) == (outcome, 8, 0.01, hits / 8)


REFUSED = [
    (lambda: mean_within([], 0, 2, **SAY), NotEnoughDataError),
    (lambda: mean_within([1.0], 0, 2, **SAY), NotEnoughDataError),
    (lambda: mean_within([1.0, math.nan, 1.0], 0, 2, **SAY), NotFiniteError),
    (lambda: mean_within([1.0, math.inf], 0, 2, **SAY), NotFiniteError),
    (lambda: share_within([], 0.5, 1.0, **SAY), NotEnoughDataError),
    (lambda: interval_within((math.nan, 1.0), 0, 2, **SAMPLED), ValueError),
    (lambda: interval_within((0.0, math.nan), 0, 2, **SAMPLED), ValueError),
    (lambda: interval_within((0.0, math.inf), 0, 2, **SAMPLED), ValueError),
    (lambda: interval_within((2.0, 1.0), 0, 2, **SAMPLED), ValueError),
    (lambda: interval_within((0.0, 1.0), 0, 2, **SAY, n=3, false_alarm=0.0), ValueError),
    (lambda: interval_within((0.0, 1.0), 0, 2, **SAY, n=3, false_alarm=1.0), ValueError),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("call", "error"), REFUSED)
def test_uninformative_samples_and_intervals_are_rejected(call, error):
    with pytest.raises(error):
        call()


def outcomes(mean, low, high, samples=2000):
    """Outcomes of simulated samples, each of ten standard normals about `mean`, at a false alarm of 0.05."""
    draws = np.random.default_rng(11).standard_normal((samples, 10)) + mean
    return [mean_within(sample, low, high, false_alarm=0.05, **SAY).outcome for sample in draws]


def test_error_rates_are_at_most_the_stated_rates():
    """At four standard errors of the binomial law; on one side an interval can miss half as often."""
    error = [4 * math.sqrt(2000 * p * (1 - p)) for p in (0.05, 0.025)]
    assert abs(outcomes(0.0, 0.0, 0.0).count("fails") - 100) < error[0]
    assert outcomes(0.0, 0.0, 100.0).count("fails") < 50 + error[1]
    assert outcomes(-1e-9, 0.0, 100.0).count("passes") < 50 + error[1]
    assert outcomes(5.0, 0.0, 10.0).count("passes") == outcomes(-5.0, 0.0, 10.0).count("fails") == 2000


def test_each_repeated_analysis_halves_the_false_alarm_rate():
    samples = np.array([0.2, 0.9, 0.5, 0.4, 0.7])
    hits = np.array([True, True, False, True, True, True])
    with at_look(3):
        mean, share = mean_within(samples, 0, 1, false_alarm=0.04, **SAY), share_within(hits, 0, 1, **SAY)
    half = stats.t.ppf(1 - 0.005, 4) * samples.std(ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(mean.interval, [samples.mean() - half, samples.mean() + half])
    assert mean.false_alarm == pytest.approx(0.01)
    wanted = stats.binomtest(5, 6).proportion_ci(1 - 0.001 / 4)
    np.testing.assert_allclose(share.interval, [wanted.low, wanted.high])
    with pytest.raises(ValueError, match="0"), at_look(0):
        pass
