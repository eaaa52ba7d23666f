"""Readings of a sentence: nine in ten that agree give a verdict unless two contradict each other."""

import math

import numpy as np
import pytest
from scipy import stats

from repdyn.base.readings import over_readings
from repdyn.base.sampled import interval_within
from repdyn.base.verdicts import at_least, at_most

SAY = {"expected": "this", "reason": "that"}


def one(outcome, false_alarm=0.05, n=9):
    ends = {"passes": (2.0, 3.0), "fails": (-3.0, -2.0), "undecided": (-1.0, 1.0)}[outcome]
    return interval_within(ends, 0.0, math.inf, **SAY, n=n, false_alarm=false_alarm)


@pytest.mark.parametrize(
    ("passes", "fails", "undecided", "outcome"),
    [
        (9, 0, 1, "passes"),
        (8, 0, 1, "undecided"),
        (18, 0, 2, "passes"),
        (17, 0, 3, "undecided"),
        (0, 9, 1, "fails"),
        (0, 8, 1, "undecided"),
        (99, 1, 0, "depends"),
        (1, 19, 0, "depends"),
        (0, 0, 2, "undecided"),
        (2, 0, 0, "passes"),
    ],
)
def test_nine_in_ten_agreeing_readings_decide_unless_contradicted(passes, fails, undecided, outcome):
    tests = [*[one("passes")] * passes, *[one("fails")] * fails, *[one("undecided")] * undecided]
    test = over_readings(lambda window: tests[window], window={f"window {k}": k for k in range(len(tests))})
    assert test.outcome == outcome
    assert list(test.readings.values()) == tests
    assert (test.interval, test.value, test.region) == (None, None, None)


def test_readings_are_the_grid_of_choices_with_the_smallest_margin():
    test = over_readings(
        lambda first_window, power: at_most(power * first_window, 1.0, **SAY, n=int(10 * first_window)),
        first_window={"a tenth": 0.1, "a fifth": 0.2},
        power={"once": 1, "twice": 2},
    )
    assert [leaf.value for leaf in test.readings.values()] == pytest.approx([0.1, 0.2, 0.2, 0.4])
    assert (test.outcome, test.n, test.margin) == ("passes", 1, pytest.approx(2.5))
    with pytest.raises(ValueError):
        over_readings(lambda window: one("passes"), window={"all": 1})


def test_margin_is_that_of_a_reading_with_the_overall_outcome():
    """Of nineteen that pass, the one nearest to the limit; one that stays undecided is nearer still."""
    tests = [at_least([2.0 + place], 1.0, **SAY) for place in range(19)] + [one("undecided")]
    test = over_readings(lambda at: tests[at], at={str(at): at for at in range(20)})
    assert (test.outcome, test.margin) == ("passes", 2.0)


def test_nine_in_ten_rule_keeps_the_false_alarm_rate():
    """Each reading of a true sentence fails with probability a; nine in ten dependent ones with at most a / 0.9."""
    rate, random = 0.05, np.random.default_rng(11)
    allowed, refuted = stats.norm.isf(rate / 2), 0
    for _ in range(4000):
        noise = random.standard_normal() * 0.9 + random.standard_normal(10) * math.sqrt(1 - 0.81)
        tests = [one("fails" if abs(value) > allowed else "passes", rate) for value in noise]
        test = over_readings(lambda w, tests=tests: tests[w], w={f"{i}": i for i in range(10)})
        refuted += test.outcome == "fails"
    assert test.false_alarm == pytest.approx(rate / 0.9)
    assert stats.binomtest(refuted, 4000, test.false_alarm, alternative="greater").pvalue > 1e-4
