"""Readings: what a sentence leaves open (window, statistic, threshold, an unstated setting), tested in all cases."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from repdyn.base.verdicts import Outcome, Test

AGREEMENT = 0.9  # share of the readings that suffices for a verdict


def over_readings(decide: Callable[..., Test], /, **choices: Mapping[str, object]) -> Test:
    """Decides a sentence over all readings of what it leaves open: one test per point of the grid of choices.

    Passes (fails) if at least nine readings in ten pass (fail) and none fails (passes); depends if some pass and others
    fail; else undecided. Each true reading fails with probability at most a; so nine in ten fail with probability at
    most a / 0.9, whatever their dependence (Markov's inequality). That is the combination's false-alarm rate.

    Args:
        decide: takes one value of each choice by name and returns the test under this reading.
        choices: for each choice left open: option in words -> the value for `decide`.

    Raises:
        ValueError: fewer than two readings.

    Example:
        >>> from repdyn.base.verdicts import at_least
        >>> late = over_readings(
        ...     lambda window: at_least([3.0, 1.0][-window:], 2, expected="at least 2", reason="twice as many"),
        ...     window={"last value": 1, "last two values": 2},
        ... )
        >>> late.outcome, list(late.readings)
        ('fails', ['window: last value', 'window: last two values'])
    """
    grid = itertools.product(*(options.items() for options in choices.values()))
    tests = {
        "; ".join(
            f"{name.replace('_', ' ')}: {words}" for name, (words, _) in zip(choices, point, strict=True)
        ): decide(**{name: value for name, (_, value) in zip(choices, point, strict=True)})
        for point in grid
    }
    if len(tests) < 2:
        raise ValueError(f"a claim was given {len(tests)} readings; a sentence that leaves nothing open needs none")
    return _agreement(tests)


def _agreement(readings: Mapping[str, Test]) -> Test:
    """The combination of readings, represented by the least clear decisive one."""
    counts = Counter(test.outcome for test in readings.values())
    outcome = _agreed(counts)
    deciding = {name: test for name, test in readings.items() if test.outcome == outcome} or readings
    least = min(deciding, key=lambda name: abs(math.log(deciding[name].margin)))
    return replace(
        readings[least],
        outcome=outcome,
        reason="; ".join(dict.fromkeys(test.reason for test in readings.values())),
        n=min((test.n for test in readings.values() if test.n), default=0),
        interval=None,
        false_alarm=min(1.0, max(test.false_alarm for test in readings.values()) / AGREEMENT),
        value=None,
        region=None,
        statistic="",
        unit="",
        tolerance=None,
        out_of=0,
        parts={},
        members={},
        readings=dict(readings),
    )


def _agreed(counts: Mapping[Outcome, int]) -> Outcome:
    if counts["depends"] or (counts["passes"] and counts["fails"]):
        return "depends"
    enough = AGREEMENT * sum(counts.values())
    return next((outcome for outcome in ("passes", "fails") if counts[outcome] >= enough), "undecided")
