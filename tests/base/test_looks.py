"""Repeated analyses of growing samples: their false-alarm rates, and how often a true statement is refuted."""

import math

import numpy as np
import pytest

from repdyn.base.sampled import at_look, mean_within, share_within

FALSE_ALARM = 0.02
FIRST, LOOKS = 8, 6
WORDS = {"expected": "at least 0", "reason": "test", "false_alarm": FALSE_ALARM}


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
