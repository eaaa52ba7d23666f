"""Tests of statements against numbers, and the verdicts that follow.

A statement is tested by one or several `Test`s. Each has a deviation, a tolerance with the reason for its size, and an
outcome; the margin is tolerance / deviation, so above 1 passes and below 1 fails. The tests of the printed and of the
corrected form together give the verdict (`Verdict.from_tests`). Sampled quantities are decided by intervals
(`base.sampled`), a sentence that leaves something open over all of its readings (`base.readings`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.errors import NotEnoughDataError, NotFiniteError
from repdyn.base.facts import Facts

Outcome = Literal["passes", "fails", "undecided", "depends"]
OUTCOMES: tuple[Outcome, ...] = ("fails", "depends", "undecided", "passes")  # the weakest first
UNDECIDED = "not decidable at this scale"
DEPENDS = "depends on the reading"
REFUTED = ("holds as corrected", "does not hold")
DECIDED = ("holds", *REFUTED)
FAILED = "check failed"  # the check ended with an error: no verdict
STATUSES = (*DECIDED, DEPENDS, "not reproducible as stated", "not testable", UNDECIDED)
KINDS = ("identity", "bound", "limit", "scaling", "comparison", "published number", "qualitative", "causal")
LARGEST_MARGIN = 1e300
WORDS = {"passes": "pass", "fails": "fail", "depends": "depend on more", "undecided": "stay undecided"}


@dataclass(frozen=True)
class Test:
    """Test of one form of a statement against numbers.

    Attributes:
        outcome: passes, fails, undecided, or depends (some readings pass, others fail).
        expected: what the statement requires.
        margin: tolerance / deviation, capped at 1e300; above 1 passes.
        reason: why the tolerance or region has its size.
        n: number of independent samples; 0 if nothing is sampled.
        interval: confidence interval of the measured quantity, if sampled.
        false_alarm: chance to refute a true statement, fixed beforehand; 0 if nothing is sampled.
        value: the measured number; None if there is none.
        region: the allowed region, from low to high; infinite without a bound.
        statistic: the kind of number: "largest deviation", "smallest", "mean", "share", ...
        unit: of value, interval and region; empty for 1.
        tolerance: the largest deviation that passes, if the region comes from one.
        out_of: for a count, the total number; else 0.
        parts: the tests of a conjunction by name; each may again be a conjunction.
        members: the tests of one part over a configured list, by name; they share a control.
        readings: the test under each reading of an ambiguous sentence, by the reading's choices.
    """

    __test__ = False  # for pytest: not a test class

    outcome: Outcome
    expected: str
    margin: float
    reason: str
    n: int = 0
    interval: tuple[float, float] | None = None
    false_alarm: float = 0.0
    value: float | None = None
    region: tuple[float, float] | None = None
    statistic: str = ""
    unit: str = ""
    tolerance: float | None = None
    out_of: int = 0
    parts: Mapping[str, Test] = field(default_factory=dict)
    members: Mapping[str, Test] = field(default_factory=dict)
    readings: Mapping[str, Test] = field(default_factory=dict)

    @property
    def measured(self) -> str:
        """The measured value as text."""
        return measured(self)

    @property
    def leaves(self) -> dict[str, Test]:
        """The tests that are not conjunctions, by the joined names of their parts; a single test under ""."""
        inside = self.parts or self.members
        if not inside:
            return {"": self}
        return {f"{name} {inner}".strip(): leaf for name, test in inside.items() for inner, leaf in test.leaves.items()}


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    Attributes:
        status: one of `STATUSES`.
        printed: the test of the statement as printed, if it could be tested.
        corrected: the test of the corrected statement, if there is one.
        facts: further named numbers; names are words with units in parentheses.
        why: why no test decides, in words.
        trials: numbers of trials needed and present, if there are too few.
    """

    status: str
    printed: Test | None = None
    corrected: Test | None = None
    facts: Facts = field(default_factory=dict)
    why: str = ""
    trials: tuple[int, int] | None = None

    @classmethod
    def from_tests(
        cls,
        printed: Test | Mapping[str, Test],
        corrected: Test | Mapping[str, Test] | None = None,
        facts: Facts | None = None,
    ) -> Verdict:
        """The verdict that follows from the tests of the printed and, if there is one, the corrected form.

        Named parts are a conjunction, as in `all_of`.
        """
        facts = facts or {}
        printed = printed if isinstance(printed, Test) else all_of(printed)
        corrected = corrected if isinstance(corrected, Test | None) else all_of(corrected)
        if printed.outcome == "passes":
            return cls("holds", printed, None, facts)
        outcomes = (printed.outcome, corrected.outcome if corrected else "")
        for outcome, status in (("depends", "depends on the reading"), ("undecided", "not decidable at this scale")):
            if outcome in outcomes:
                return cls(status, printed, corrected, facts)
        repaired = corrected is not None and corrected.outcome == "passes"
        return cls("holds as corrected" if repaired else "does not hold", printed, corrected, facts)

    @property
    def decisive(self) -> Test | None:
        """The decisive test: the corrected form's if there is one, else the printed form's."""
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

    If the values are estimates, the tolerance comes from their distribution, and `false_alarm` is the probability that
    they exceed it although the statement is true.

    Example:
        >>> test = deviation([1e-9, -2e-9], 1e-8, expected="zero", reason="rounding")
        >>> test.outcome, round(test.margin, 6), test.statistic, test.value
        ('passes', 5.0, 'largest deviation', 2e-09)
    """
    worst = worst_of(np.abs(np.asarray(values, float)))
    test = _within_tolerance(worst, tolerance, "largest deviation", expected, reason, n)
    return replace(test, false_alarm=false_alarm, unit=unit.strip())


def at_most(values: ArrayLike, limit: float, *, expected: str, reason: str, unit: str = "", n: int = 0) -> Test:
    """Passes if every value is at most the limit (both positive): for bounds, ratios measured / bound against 1."""
    test = _within_tolerance(worst_of(np.asarray(values, float)), limit, "largest", expected, reason, n)
    return replace(test, unit=unit.strip())


def at_least(values: ArrayLike, limit: float, *, expected: str, reason: str, unit: str = "", n: int = 0) -> Test:
    """Passes if every value is at least the limit (both positive)."""
    smallest = -worst_of(-np.asarray(values, float))
    return Test(
        "passes" if smallest >= limit else "fails",
        expected,
        margin_of(smallest, limit),
        reason,
        n,
        value=smallest,
        region=(limit, math.inf),
        statistic="smallest",
        unit=unit.strip(),
        tolerance=limit,
    )


def equal(measured: object, wanted: object, *, expected: str, reason: str = "integers, compared exactly") -> Test:
    """Passes if two exact quantities (counts, tables of integers) are the same."""
    here, there = np.asarray(measured), np.asarray(wanted)
    same = bool(np.array_equal(here, there))
    test = Test("passes" if same else "fails", expected, LARGEST_MARGIN if same else 1 / LARGEST_MARGIN, reason)
    if here.ndim or here.dtype.kind not in "iufb":
        differing = here.size if here.shape != there.shape else int(np.count_nonzero(here != there))
        return replace(test, value=float(differing), statistic="entries that differ", out_of=here.size)
    return replace(test, value=float(here), statistic="count")


def all_of(tests: Mapping[str, Test] | None = None, /, **more: Test) -> Test:
    """Passes if every named part passes; outcome and margin are those of the worst part.

    Names of parts are shown to readers: `all_of(place=..., step=...)`,
    `all_of({"first half": ..., "second half": ...})`.
    """
    parts = {**(tests or {}), **more}
    worst = weakest(parts.values())
    return replace(
        worst,
        expected="; ".join(f"{name}: {test.expected}" for name, test in parts.items()),
        reason="; ".join(dict.fromkeys(test.reason for test in parts.values())),
        n=min((test.n for test in parts.values() if test.n), default=0),
        interval=worst.interval,
        false_alarm=min(1.0, sum(test.false_alarm for test in parts.values())),
        value=None,
        region=None,
        statistic="",
        unit="",
        tolerance=None,
        out_of=0,
        parts=parts,
    )


def weakest(tests: Iterable[Test]) -> Test:
    """The test that decides a conjunction: one that fails before one that is undecided, then the smallest margin."""
    return min(tests, key=lambda test: (OUTCOMES.index(test.outcome), test.margin))


def not_reproducible(tried: str, printed: Test | None = None) -> Verdict:
    """The verdict if the paper omits settings, with what was tried."""
    return Verdict("not reproducible as stated", printed, why=tried)


def not_testable(why: str) -> Verdict:
    """The verdict if no finite computation decides the statement, with the reason."""
    return Verdict("not testable", why=why)


def worst_of(values: np.ndarray) -> float:
    """The largest of a check's values.

    Raises:
        NotEnoughDataError: there is none.
        NotFiniteError: one is not finite.
    """
    if values.size == 0:
        raise NotEnoughDataError("a check needs at least one value, got none")
    if bad := np.count_nonzero(~np.isfinite(values)):
        raise NotFiniteError(f"a claim was given {values.size} values, {bad} not finite; a check needs finite numbers")
    return float(values.max())


def margin_of(top: float, bottom: float) -> float:
    """Allowed over measured value, limited to what a table can represent."""
    if bottom <= 0:
        return LARGEST_MARGIN
    return float(np.clip(top / bottom, 1 / LARGEST_MARGIN, LARGEST_MARGIN))


def _within_tolerance(worst: float, tolerance: float, statistic: str, expected: str, reason: str, n: int) -> Test:
    return Test(
        "passes" if worst <= tolerance else "fails",
        expected,
        margin_of(tolerance, worst),
        reason,
        n,
        value=worst,
        region=(-math.inf, tolerance),
        statistic=statistic,
        tolerance=tolerance,
    )


# Numbers of tests as text: the only place that formats them, and nothing parses the result.


def measured(test: Test) -> str:
    """Measured value of a test: its number with statistic, unit and interval, or that of each part or reading.

    Example:
        >>> measured(at_least([3.0, 2.5], 2, expected="at least 2", reason="twice as many", unit="degree"))
        'smallest 2.5 degree'
    """
    if test.parts:
        return "; ".join(f"{name}: {measured(part)}" for name, part in test.parts.items())
    if test.readings:
        counts = Counter(reading.outcome for reading in test.readings.values())
        counted = ", ".join(f"{counts[name]} {words}" for name, words in WORDS.items() if counts[name])  # type: ignore[index]
        return f"of {len(test.readings)} readings {counted}"
    if test.members:
        worst = min(test.members.values(), key=lambda member: member.margin)
        return f"worst of {len(test.members)}: {measured(worst)}" if len(test.members) > 1 else measured(worst)
    value = "" if test.value is None else f"{test.statistic} {test.value:.4g}{_of(test)}{_unit(test)}".strip()
    return ", ".join(filter(None, (value, interval(test)))) or test.statistic


def interval(test: Test) -> str:
    """The confidence interval of a test with its level; empty without one."""
    if test.interval is None:
        return ""
    low, high = test.interval
    return f"{100 * (1 - test.false_alarm):g} % interval [{low:.4g}, {high:.4g}]{'' if test.value else _unit(test)}"


def _of(test: Test) -> str:
    return f" of {test.out_of}" if test.out_of else ""


def _unit(test: Test) -> str:
    return f" {test.unit}" if test.unit else ""
