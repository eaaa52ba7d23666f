"""Verdicts: what a claim's numbers decide.

A statement is put to the test by one or several `Test`s. Each has a deviation, a tolerance with the reason for its
size, and an outcome; the margin is tolerance / deviation, so above 1 passes and below 1 fails. The tests of the printed
and of the corrected form together give the verdict (`Verdict.from_tests`). Sampled quantities are decided by intervals
(`base.sampled`), a sentence that leaves something open over all of its readings (`base.readings`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.errors import NotEnoughDataError

Outcome = Literal["passes", "fails", "undecided", "depends"]
OUTCOMES: tuple[Outcome, ...] = ("fails", "depends", "undecided", "passes")  # the weakest first
UNDECIDED = "not decidable at this scale"
DEPENDS = "depends on the reading"
REFUTED = ("holds as corrected", "does not hold")
DECIDED = ("holds", *REFUTED)
STATUSES = (*DECIDED, DEPENDS, "not reproducible as stated", "not testable", UNDECIDED)
KINDS = ("identity", "bound", "limit", "scaling", "comparison", "published number", "qualitative", "causal")
LARGEST_MARGIN = 1e300


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
    worst = worst_of(np.abs(np.asarray(values, float)))
    test = _within_tolerance(worst, tolerance, f"largest deviation {worst:.3g}{unit}", expected, reason, n)
    return replace(test, false_alarm=false_alarm, region=(0.0, tolerance))


def at_most(values: ArrayLike, limit: float, *, expected: str, reason: str, unit: str = "", n: int = 0) -> Test:
    """Passes if every value is at most the limit (both positive): for bounds, ratios measured / bound against 1."""
    worst = worst_of(np.asarray(values, float))
    return _within_tolerance(worst, limit, f"largest {worst:.4g}{unit}", expected, reason, n)


def at_least(values: ArrayLike, limit: float, *, expected: str, reason: str, unit: str = "", n: int = 0) -> Test:
    """Passes if every value is at least the limit (both positive)."""
    smallest = -worst_of(-np.asarray(values, float))
    outcome: Outcome = "passes" if smallest >= limit else "fails"
    measured, margin = f"smallest {smallest:.4g}{unit}", margin_of(smallest, limit)
    text = f"limit {limit:.3g}: {reason}"
    return Test(outcome, measured, expected, margin, text, n, value=smallest, region=(limit, math.inf))


def equal(measured: object, wanted: object, *, expected: str, reason: str = "integers, compared exactly") -> Test:
    """Passes if two exact quantities (counts, tables of integers) are the same."""
    same = bool(np.array_equal(np.asarray(measured), np.asarray(wanted)))
    margin = LARGEST_MARGIN if same else 1 / LARGEST_MARGIN
    return Test("passes" if same else "fails", _differences(measured, wanted), expected, margin, reason)


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


def weakest(tests: Iterable[Test]) -> Test:
    """The test that decides a conjunction: one that fails before one that is undecided, then the smallest margin."""
    return min(tests, key=lambda test: (OUTCOMES.index(test.outcome), test.margin))


def not_reproducible(tried: str, printed: Test | None = None) -> Verdict:
    """Settings are missing in the paper; says what was tried."""
    return Verdict("not reproducible as stated", printed, None, tried)


def not_testable(why: str) -> Verdict:
    """No finite computation decides the statement; says why."""
    return Verdict("not testable", None, None, why)


def worst_of(values: np.ndarray) -> float:
    """The largest of a check's values.

    Raises:
        NotEnoughDataError: there is none.
        ValueError: one is not finite.
    """
    if values.size == 0:
        raise NotEnoughDataError("a check needs at least one value, got none")
    if bad := np.count_nonzero(~np.isfinite(values)):
        raise ValueError(f"a claim was given {values.size} values, {bad} not finite; a check needs finite numbers")
    return float(values.max())


def margin_of(top: float, bottom: float) -> float:
    """What is allowed over what is found, within what a table can hold."""
    if bottom <= 0:
        return LARGEST_MARGIN
    return float(np.clip(top / bottom, 1 / LARGEST_MARGIN, LARGEST_MARGIN))


def _within_tolerance(worst: float, tolerance: float, measured: str, expected: str, reason: str, n: int) -> Test:
    outcome: Outcome = "passes" if worst <= tolerance else "fails"
    margin, text = margin_of(tolerance, worst), f"tolerance {tolerance:.3g}: {reason}"
    return Test(outcome, measured, expected, margin, text, n, value=worst, region=(-math.inf, tolerance))


def _differences(measured: object, wanted: object) -> str:
    """Two exact quantities in words: a number as it is, a table by its size and how many entries differ."""
    measured, wanted = np.asarray(measured), np.asarray(wanted)
    if measured.ndim == 0:
        return f"{measured}"
    if measured.shape != wanted.shape:
        return f"shape {measured.shape}, expected {wanted.shape}"
    return f"{np.count_nonzero(measured != wanted)} of {measured.size} entries differ"
