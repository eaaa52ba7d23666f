"""Numbers of tests as text: the only place that formats them, and nothing parses the result."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repdyn.base.verdicts import Test

WORDS = {"passes": "pass", "fails": "fail", "depends": "depend on more", "undecided": "stay undecided"}


def measured(test: Test) -> str:
    """Measured value of a test: its number with statistic, unit and interval, or that of each part or reading.

    Example:
        >>> from repdyn.base.verdicts import at_least
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
