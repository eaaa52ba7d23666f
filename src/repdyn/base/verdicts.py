"""Verdicts: what a claim's numbers decide.

A statement is put to the test by one or several `Test`s. Each has a deviation, a tolerance with the reason for its
size, and an outcome; the margin is tolerance / deviation, so above 1 passes and below 1 fails. Sampled quantities are
decided by intervals: inside the allowed region passes, outside fails, across the border stays undecided. The tests of
the printed and of the corrected form together give the verdict (`Verdict.from_tests`).

Who looks at undecided numbers and draws more looks again, and would sooner or later decide anything. So the first look
spends the false alarm fixed beforehand, the k-th one its 2^(1 - k)-th part, and the numbers of samples at the looks are
fixed beforehand, too: they double. By the union bound the chance of any wrong decision, whenever a person stops, is at
most twice that of one look (`at_look`, `spent`).

What a sentence leaves open (window, statistic, threshold, an unstated setting) is a grid of readings, and the sentence
is decided over all of them (`over_readings`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainccinv, betaincinv, stdtrit

from repdyn.base.errors import NotEnoughDataError

Outcome = Literal["passes", "fails", "undecided", "depends"]
OUTCOMES: tuple[Outcome, ...] = ("fails", "depends", "undecided", "passes")  # the weakest first
AGREEMENT = 0.9  # share of the readings that carries a verdict
READING_WORDS: dict[Outcome, str] = {
    "passes": "pass",
    "fails": "fail",
    "depends": "depend on more",
    "undecided": "stay undecided",
}
STATUSES = (
    "holds",
    "holds as corrected",
    "does not hold",
    "depends on the reading",
    "not reproducible as stated",
    "not testable",
    "not decidable at this scale",
)
KINDS = ("identity", "bound", "limit", "scaling", "comparison", "published number", "qualitative", "causal")
LARGEST_MARGIN = 1e300
_LOOK: ContextVar[int] = ContextVar("look", default=1)


@contextmanager
def at_look(number: int) -> Iterator[None]:
    """Decides what stands in the block as the look of this number, counted from 1, at samples that have doubled since.

    Raises:
        ValueError: a number below 1.
    """
    if number < 1:
        raise ValueError(f"got the look {number}, expected 1 or more")
    token = _LOOK.set(number)
    try:
        yield
    finally:
        _LOOK.reset(token)


def spent(false_alarm: float) -> float:
    """The part of a false alarm that today's look may spend: all of it at the first one, half of the last at the next.

    Example:
        >>> with at_look(3):
        ...     spent(0.001)
        0.00025
    """
    return false_alarm * 0.5 ** (_LOOK.get() - 1)


@dataclass(frozen=True)
class Test:
    """One form of a statement against the numbers.

    Attributes:
        outcome: passes, fails, undecided, or depends (some readings pass, others fail).
        measured: what was measured, in words and numbers with units.
        expected: what the statement asks for.
        margin: tolerance / deviation, capped at 1e300; above 1 passes.
        reason: why the tolerance or region has its size.
        n: number of independent samples; 0 where nothing is sampled.
        interval: confidence interval of the measured quantity, where sampled.
        false_alarm: chance to refute a true statement, fixed beforehand; 0 where nothing is sampled.
        value: the measured number, None where it is none (tables of integers).
        region: what the statement allows for it, from low to high; infinite where it has no bound.
        parts: of a conjunction, its tests by name; each may be a conjunction again.
        members: of one part on a list that the configuration sets, its tests by name; a control turns them together.
        readings: of a sentence that leaves something open, its test under each reading, by the reading's choices.
    """

    __test__ = False  # for pytest: not a test class

    outcome: Outcome
    measured: str
    expected: str
    margin: float
    reason: str
    n: int = 0
    interval: tuple[float, float] | None = None
    false_alarm: float = 0.0
    value: float | None = None
    region: tuple[float, float] | None = None
    parts: Mapping[str, Test] = field(default_factory=dict)
    members: Mapping[str, Test] = field(default_factory=dict)
    readings: Mapping[str, Test] = field(default_factory=dict)

    @property
    def leaves(self) -> dict[str, Test]:
        """The tests that are no conjunctions, under the names of all that lead to them; itself under ""."""
        inside = self.parts or self.members
        if not inside:
            return {"": self}
        return {f"{name} {inner}".strip(): leaf for name, test in inside.items() for inner, leaf in test.leaves.items()}


@dataclass(frozen=True)
class Verdict:
    """Where a claim stands.

    Attributes:
        status: one of `STATUSES`.
        printed: the test of the statement as printed, if it could be tested.
        corrected: the test of the corrected statement, if there is one.
        note: what a reader should know besides.
    """

    status: str
    printed: Test | None = None
    corrected: Test | None = None
    note: str = ""

    @classmethod
    def from_tests(
        cls, printed: Test | Mapping[str, Test], corrected: Test | Mapping[str, Test] | None = None, note: str = ""
    ) -> Verdict:
        """The verdict that follows from the tests of the printed and, if there is one, the corrected form.

        Named parts are a conjunction, as in `all_of`.
        """
        printed = printed if isinstance(printed, Test) else all_of(printed)
        corrected = corrected if isinstance(corrected, Test | None) else all_of(corrected)
        if printed.outcome == "passes":
            return cls("holds", printed, None, note)
        outcomes = (printed.outcome, corrected.outcome if corrected else "")
        for outcome, status in (("depends", "depends on the reading"), ("undecided", "not decidable at this scale")):
            if outcome in outcomes:
                return cls(status, printed, corrected, note)
        repaired = corrected is not None and corrected.outcome == "passes"
        return cls("holds as corrected" if repaired else "does not hold", printed, corrected, note)

    @property
    def decisive(self) -> Test | None:
        """The test that carries the verdict: the corrected form's where one is given, else the printed form's."""
        return self.corrected or self.printed


def rounding(scale: ArrayLike, operations: int) -> float:
    """Bound on accumulated float64 round-off: operations * eps * largest magnitude."""
    return float(operations * np.finfo(float).eps * np.max(np.abs(scale)))


def deviation(
    values: ArrayLike,
    tolerance: float,
    *,
    expected: str,
    reason: str,
    unit: str = "",
    n: int = 0,
    false_alarm: float = 0.0,
) -> Test:
    """Passes if the largest absolute value is within the tolerance: for identities, `values` are residuals.

    Where the values are estimates, the tolerance comes from their distribution, and `false_alarm` is the chance that
    they exceed it although the statement is true.

    Example:
        >>> found = deviation([1e-9, -2e-9], 1e-8, expected="zero", reason="rounding")
        >>> found.outcome, round(found.margin, 6), found.measured
        ('passes', 5.0, 'largest deviation 2e-09')
    """
    worst = _worst(np.abs(np.asarray(values, float)))
    test = _within_tolerance(worst, tolerance, f"largest deviation {worst:.3g}{unit}", expected, reason, n)
    return replace(test, false_alarm=false_alarm, region=(0.0, tolerance))


def at_most(values: ArrayLike, limit: float, *, expected: str, reason: str, unit: str = "", n: int = 0) -> Test:
    """Passes if every value is at most the limit (both positive): for bounds, ratios measured / bound against 1."""
    worst = _worst(np.asarray(values, float))
    return _within_tolerance(worst, limit, f"largest {worst:.4g}{unit}", expected, reason, n)


def at_least(values: ArrayLike, limit: float, *, expected: str, reason: str, unit: str = "", n: int = 0) -> Test:
    """Passes if every value is at least the limit (both positive)."""
    smallest = -_worst(-np.asarray(values, float))
    outcome: Outcome = "passes" if smallest >= limit else "fails"
    measured, margin = f"smallest {smallest:.4g}{unit}", _ratio(smallest, limit)
    text = f"limit {limit:.3g}: {reason}"
    return Test(outcome, measured, expected, margin, text, n, value=smallest, region=(limit, math.inf))


def equal(measured: object, wanted: object, *, expected: str, reason: str = "integers, compared exactly") -> Test:
    """Passes if two exact quantities (counts, tables of integers) are the same."""
    same = bool(np.array_equal(np.asarray(measured), np.asarray(wanted)))
    margin = LARGEST_MARGIN if same else 1 / LARGEST_MARGIN
    return Test("passes" if same else "fails", _differences(measured, wanted), expected, margin, reason)


def mean_within(
    samples: ArrayLike,
    low: float,
    high: float,
    *,
    expected: str,
    reason: str,
    unit: str = "",
    false_alarm: float = 1e-3,
) -> Test:
    """Decides by Student's interval of the mean of independent samples: inside [low, high], outside, or across.

    Args:
        samples: independent values, shape (n,), n >= 2.
        low: lower end of the region that the statement allows; -inf for none.
        high: upper end; inf for none.
        expected: the region in words.
        reason: why the region has this size.
        unit: unit with a leading space, for the text.
        false_alarm: 1 - confidence of the interval at the first look; later ones spend less (`spent`).

    Raises:
        NotEnoughDataError: fewer than two samples.
        ValueError: a sample is not finite.

    Example:
        >>> found = mean_within([0.9, 1.1, 1.0, 1.05], 0.3, 1.7, expected="near one", reason="where nothing is gained")
        >>> found.outcome, found.measured
        ('passes', '1.012, 99.9 % interval [0.4607, 1.564]')
    """
    samples = np.asarray(samples, float)
    if samples.size < 2:
        raise NotEnoughDataError(f"an interval of a mean needs 2 samples or more, got {samples.size}")
    _worst(samples)
    center, n, false_alarm = float(samples.mean()), samples.size, spent(false_alarm)
    half = float(stdtrit(n - 1, 1 - false_alarm / 2) * samples.std(ddof=1) / math.sqrt(n))
    return interval_within(
        (center - half, center + half),
        low,
        high,
        estimate=center,
        expected=expected,
        reason=reason,
        unit=unit,
        n=n,
        false_alarm=false_alarm,
    )


def share_within(
    hits: ArrayLike, low: float, high: float, *, expected: str, reason: str, false_alarm: float = 1e-3
) -> Test:
    """Decides by Clopper and Pearson's interval of a share of independent trials: inside [low, high], outside, across.

    Args as in `mean_within`, but `hits`: whether each trial is a hit, shape (n,), n >= 1.

    Raises:
        NotEnoughDataError: no trial.

    Example:
        >>> share_within([True] * 8, 0.5, math.inf, expected="most", reason="more than half", false_alarm=0.01).outcome
        'passes'
    """
    hits = np.asarray(hits, bool)
    if not hits.size:
        raise NotEnoughDataError("a share needs at least one trial, got none")
    false_alarm = spent(false_alarm)
    return interval_within(
        share_interval(int(hits.sum()), hits.size, false_alarm),
        low,
        high,
        estimate=float(hits.mean()),
        expected=expected,
        reason=reason,
        n=hits.size,
        false_alarm=false_alarm,
    )


def share_interval(hits: int, trials: int, false_alarm: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share: quantiles of beta distributions.

    Example:
        >>> share_interval(0, 1, 0.05)
        (0.0, 0.975)
    """
    low = float(betaincinv(hits, trials - hits + 1, false_alarm / 2)) if hits else 0.0
    high = float(betainccinv(hits + 1, trials - hits, false_alarm / 2)) if hits < trials else 1.0
    return low, high


def interval_within(
    interval: tuple[float, float],
    low: float,
    high: float,
    *,
    expected: str,
    reason: str,
    n: int,
    false_alarm: float,
    unit: str = "",
    estimate: float | None = None,
) -> Test:
    """Passes if the interval lies in [low, high], fails if it lies outside, is undecided across a border.

    The interval is given at `false_alarm`, which its caller has taken from `spent`.
    `estimate` is the point value to show beside the interval; the middle of a skew interval is none, so without it only
    the interval is shown.
    """
    bottom, top = interval
    if not -np.inf < bottom <= top < np.inf:
        raise ValueError(f"a claim was given the interval [{bottom}, {top}]; a check needs a finite one, low end first")
    if not 0 < false_alarm < 1:
        raise ValueError(f"a claim was given the false-alarm rate {false_alarm}; an interval has one between 0 and 1")
    center = (bottom + top) / 2
    if low <= bottom and top <= high:
        outcome: Outcome = "passes"
        margin = _ratio(min(center - low, high - center), (top - bottom) / 2)
    elif top < low or bottom > high:
        outcome, margin = "fails", _ratio((top - bottom) / 2, max(low - center, center - high))
    else:
        outcome, margin = "undecided", 1.0
    shown = "" if estimate is None else f"{estimate:.4g}{unit}, "
    measured = f"{shown}{100 * (1 - false_alarm):g} % interval [{bottom:.4g}, {top:.4g}]{unit if not shown else ''}"
    return Test(outcome, measured, expected, margin, reason, n, (bottom, top), false_alarm, estimate, (low, high))


def all_of(tests: Mapping[str, Test] | None = None, /, **more: Test) -> Test:
    """Passes if every named part passes; outcome and margin are those of the worst part.

    A part is called what a reader sees: `all_of(place=..., step=...)`,
    `all_of({"first half": ..., "second half": ...})`.
    """
    parts = {**(tests or {}), **more}
    worst = weakest(parts.values())
    return replace(
        worst,
        measured="; ".join(f"{name}: {test.measured}" for name, test in parts.items()),
        expected="; ".join(f"{name}: {test.expected}" for name, test in parts.items()),
        reason="; ".join(dict.fromkeys(test.reason for test in parts.values())),
        n=min((test.n for test in parts.values() if test.n), default=0),
        interval=worst.interval,
        false_alarm=min(1.0, sum(test.false_alarm for test in parts.values())),
        value=None,
        region=None,
        parts=parts,
    )


def over_readings(decide: Callable[..., Test], /, **choices: Mapping[str, object]) -> Test:
    """Decides a sentence over all readings of what it leaves open: one test per point of the grid of choices.

    Passes (fails) if at least nine readings in ten pass (fail) and none fails (passes); depends if some pass and others
    fail; else undecided. Of true readings each fails with chance at most a; so nine in ten fail with chance at most
    a / 0.9, however they depend on each other (Markov's inequality). That is the combination's false alarm.

    Args:
        decide: takes one value of each choice by name and returns the test under this reading.
        choices: what is left open: the options in words -> the value that `decide` takes.

    Raises:
        ValueError: fewer than two readings.

    Example:
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
    """The combination of readings, shown by the one that decides it least clearly."""
    counts = Counter(test.outcome for test in readings.values())
    outcome = _agreed(counts)
    deciding = {name: test for name, test in readings.items() if test.outcome == outcome} or readings
    least = min(deciding, key=lambda name: abs(math.log(deciding[name].margin)))
    counted = ", ".join(f"{counts[name]} {words}" for name, words in READING_WORDS.items() if counts[name])
    return replace(
        readings[least],
        outcome=outcome,
        measured=f"of {len(readings)} readings {counted}; {least}: {readings[least].measured}",
        reason="; ".join(dict.fromkeys(test.reason for test in readings.values())),
        n=min((test.n for test in readings.values() if test.n), default=0),
        interval=None,
        false_alarm=min(1.0, max(test.false_alarm for test in readings.values()) / AGREEMENT),
        value=None,
        region=None,
        parts={},
        members={},
        readings=dict(readings),
    )


def _agreed(counts: Mapping[Outcome, int]) -> Outcome:
    if counts["depends"] or (counts["passes"] and counts["fails"]):
        return "depends"
    enough = AGREEMENT * sum(counts.values())
    return next((outcome for outcome in ("passes", "fails") if counts[outcome] >= enough), "undecided")


def weakest(tests: Iterable[Test]) -> Test:
    """The test that decides a conjunction: one that fails before one that is undecided, then the smallest margin."""
    return min(tests, key=lambda test: (OUTCOMES.index(test.outcome), test.margin))


def not_reproducible(tried: str, printed: Test | None = None) -> Verdict:
    """Settings are missing in the paper; says what was tried."""
    return Verdict("not reproducible as stated", printed, None, tried)


def not_testable(why: str) -> Verdict:
    """No finite computation decides the statement; says why."""
    return Verdict("not testable", None, None, why)


def _worst(values: np.ndarray) -> float:
    if values.size == 0:
        raise NotEnoughDataError("a check needs at least one value, got none")
    if bad := np.count_nonzero(~np.isfinite(values)):
        raise ValueError(f"a claim was given {values.size} values, {bad} not finite; a check needs finite numbers")
    return float(values.max())


def _ratio(top: float, bottom: float) -> float:
    if bottom <= 0:
        return LARGEST_MARGIN
    return float(np.clip(top / bottom, 1 / LARGEST_MARGIN, LARGEST_MARGIN))


def _within_tolerance(worst: float, tolerance: float, measured: str, expected: str, reason: str, n: int) -> Test:
    outcome: Outcome = "passes" if worst <= tolerance else "fails"
    margin, text = _ratio(tolerance, worst), f"tolerance {tolerance:.3g}: {reason}"
    return Test(outcome, measured, expected, margin, text, n, value=worst, region=(-math.inf, tolerance))


def _differences(measured: object, wanted: object) -> str:
    """Two exact quantities in words: a number as it is, a table by its size and how many entries differ."""
    measured, wanted = np.asarray(measured), np.asarray(wanted)
    if measured.ndim == 0:
        return f"{measured}"
    if measured.shape != wanted.shape:
        return f"shape {measured.shape}, expected {wanted.shape}"
    return f"{np.count_nonzero(measured != wanted)} of {measured.size} entries differ"
