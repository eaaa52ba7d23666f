"""Repeated analyses of growing samples: their false-alarm rates, and how often a true statement is refuted."""

import math

import numpy as np
import pytest

from repdyn.base.sampled import at_look, mean_within, share_within, spent

FALSE_ALARM = 0.02
FIRST, LOOKS = 8, 6
WORDS = {"expected": "at least 0", "reason": "test", "false_alarm": FALSE_ALARM}


def test_each_repeated_analysis_halves_the_false_alarm_rate():
    assert spent(0.001) == 0.001
    for look in (2, 3, 4):
        with at_look(look):
            assert spent(0.001) == 0.001 / 2 ** (look - 1)
    assert spent(0.001) == 0.001
    with pytest.raises(ValueError, match="0"), at_look(0):
        pass


@pytest.mark.parametrize("decide", [mean_within, share_within])
def test_later_analysis_of_the_same_samples_has_a_wider_interval(decide):
    samples = np.random.default_rng(0).random(30)
    samples = samples > 0.5 if decide is share_within else samples
    first = decide(samples, 0.2, 0.8, **WORDS)
    with at_look(3):
        third = decide(samples, 0.2, 0.8, **WORDS)
    assert third.false_alarm == FALSE_ALARM / 4
    assert third.interval[0] < first.interval[0] < first.interval[1] < third.interval[1]
    assert first.false_alarm == FALSE_ALARM


def stopped_at_the_first_decision(draw, decide, spending):
    """The outcome when samples are doubled until it is decided, at most `LOOKS` times."""
    samples = draw(FIRST * 2 ** (LOOKS - 1))
    for look in range(1, LOOKS + 1):
        with at_look(look if spending else 1):
            test = decide(samples[: FIRST * 2 ** (look - 1)])
        if test.outcome != "undecided":
            return test.outcome
    return "undecided"


CASES = {  # a statement that is just true: the boundary belongs to it
    "mean": (lambda rng: lambda n: rng.standard_normal(n), lambda x: mean_within(x, 0.0, math.inf, **WORDS)),
    "share": (lambda rng: lambda n: rng.random(n) < 0.5, lambda x: share_within(x, 0.5, math.inf, **WORDS)),
}


@pytest.mark.parametrize("case", CASES)
def test_stopping_at_the_first_decision_refutes_a_true_statement_at_most_twice_as_often(case):
    """1000 runs, doubled up to five times; without the correction the rate for means is exceeded."""
    draws, decide = CASES[case]
    runs = 1000
    refuted = {}
    for spending in (True, False):
        outcomes = [
            stopped_at_the_first_decision(draws(np.random.default_rng(seed)), decide, spending) for seed in range(runs)
        ]
        refuted[spending] = outcomes.count("fails") / runs
    at_most = 2 * (FALSE_ALARM / 2)  # the statement can be refuted on one side only
    noise = 3 * math.sqrt(at_most / runs)
    assert refuted[True] <= at_most + noise
    assert refuted[False] > refuted[True]
    if case == "mean":
        assert refuted[False] > at_most + noise
