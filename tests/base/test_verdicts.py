"""Verdicts: outcomes, values, regions and margins of every kind of test, and what several of them decide."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repdyn.base.errors import NotEnoughDataError, NotFiniteError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import interval_within
from repdyn.base.verdicts import (
    LARGEST_MARGIN,
    STATUSES,
    Verdict,
    all_of,
    at_least,
    at_most,
    deviation,
    equal,
    not_reproducible,
    not_testable,
    rounding,
    weakest,
)

SAY = {"expected": "this", "reason": "that"}
INF = math.inf


def part(outcome, margin=None, n=0, false_alarm=0.0):
    """A test with this outcome."""
    if outcome == "depends":
        return over_readings(lambda reading: part(reading), reading={"one": "passes", "other": "fails"})
    if outcome == "undecided":
        return interval_within((1.0, 3.0), 2.5, 9.0, **SAY, n=n, false_alarm=false_alarm or 0.01)
    limit = margin or (2.0 if outcome == "passes" else 0.5)
    return deviation(1.0, limit, **SAY, n=n, false_alarm=false_alarm)


# Tests of exact numbers

EXACT = [  # test, outcome, margin, value, region
    (deviation([0.1, -0.2], 0.4, **SAY), "passes", 2.0, 0.2, (-INF, 0.4)),
    (deviation([0.5, -3.0, 1.0], 2.0, **SAY), "fails", 2 / 3, 3.0, (-INF, 2.0)),
    (deviation(0.2, 0.2, **SAY), "passes", 1.0, 0.2, (-INF, 0.2)),
    (deviation([[0.0], [0.0]], 1e-12, **SAY), "passes", LARGEST_MARGIN, 0.0, (-INF, 1e-12)),
    (deviation(0.0, 0.0, **SAY), "passes", LARGEST_MARGIN, 0.0, (-INF, 0.0)),
    (deviation(1e-300, 0.0, **SAY), "fails", 1 / LARGEST_MARGIN, 1e-300, (-INF, 0.0)),
    (at_most([0.2, 0.5], 1.0, **SAY), "passes", 2.0, 0.5, (-INF, 1.0)),
    (at_most([0.2, 4.0], 1.0, **SAY), "fails", 0.25, 4.0, (-INF, 1.0)),
    (at_most([0.2, 1.0], 1.0, **SAY), "passes", 1.0, 1.0, (-INF, 1.0)),
    (at_most([-3.0], 1.0, **SAY), "passes", LARGEST_MARGIN, -3.0, (-INF, 1.0)),
    (at_least([4.0, 2.0], 1.0, **SAY), "passes", 2.0, 2.0, (1.0, INF)),
    (at_least([4.0, 0.5], 1.0, **SAY), "fails", 0.5, 0.5, (1.0, INF)),
    (at_least([1.0], 1.0, **SAY), "passes", 1.0, 1.0, (1.0, INF)),
    (at_least([np.nextafter(0.3, 0)], 0.3, **SAY), "fails", 1.0, 0.3, (0.3, INF)),
    (at_least([-2.0], 1.0, **SAY), "fails", 1 / LARGEST_MARGIN, -2.0, (1.0, INF)),
    (at_least([0.0], 0.0, **SAY), "passes", LARGEST_MARGIN, 0.0, (0.0, INF)),
    (equal([1, 2], [1, 2], expected="this"), "passes", LARGEST_MARGIN, None, None),
    (equal([1, 2], [1, 3], expected="this"), "fails", 1 / LARGEST_MARGIN, None, None),
    (equal([1, 2], [1, 2, 3], expected="this"), "fails", 1 / LARGEST_MARGIN, None, None),
]


@pytest.mark.parametrize(("test", "outcome", "margin", "value", "region"), EXACT)
def test_outcome_margin_value_and_region(test, outcome, margin, value, region):
    assert (test.outcome, test.margin, test.region) == (outcome, pytest.approx(margin), region)
    if region:
        assert test.value == pytest.approx(value)


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_margin_and_outcome_agree(value, limit):
    for test in (deviation(value, limit, **SAY), at_most(value, limit, **SAY), at_least(value, limit, **SAY)):
        assert 0 < test.margin <= LARGEST_MARGIN
        assert test.margin == 1 or (test.outcome == "passes") == (test.margin > 1)


@pytest.mark.parametrize("check", [deviation, at_most, at_least])
@pytest.mark.parametrize(
    ("values", "error"),
    [([1.0, math.nan], NotFiniteError), ([INF], NotFiniteError), ([-INF], NotFiniteError), ([], NotEnoughDataError)],
)
def test_missing_and_infinite_values_are_rejected(check, values, error):
    with pytest.raises(error):
        check(values, 1.0, **SAY)


def test_rounding_bounds_the_error_of_a_sum():
    values = np.random.default_rng(3).standard_normal(1000)
    error = abs(np.add.reduce(values[::-1]) - math.fsum(values))
    assert error <= rounding(np.abs(values).sum(), 1000)
    assert rounding([1.0, -8.0], 3) == 3 * 8 * 2.0**-52


# Several tests


@pytest.mark.parametrize(
    ("parts", "outcome", "margin"),
    [
        ({"a": part("passes", 3), "b": part("passes", 2)}, "passes", 2),
        ({"a": part("passes", 1.1), "b": part("undecided")}, "undecided", 1.0),
        ({"a": part("undecided"), "b": part("fails", 0.9)}, "fails", 0.9),
        ({"a": part("fails", 0.1), "b": part("fails", 0.9), "c": part("passes", 2)}, "fails", 0.1),
        ({"a": part("depends"), "b": part("undecided")}, "depends", None),
        ({"a": part("depends"), "b": part("passes")}, "depends", None),
        ({"a": part("depends"), "b": part("fails", 0.5)}, "fails", 0.5),
        ({"a": part("passes", 5)}, "passes", 5),
    ],
)
def test_conjunction_is_decided_by_its_worst_part(parts, outcome, margin):
    for order in itertools.permutations(parts.items()):
        test = all_of(dict(order))
        assert test.outcome == outcome == weakest(parts.values()).outcome
        assert margin is None or test.margin == pytest.approx(margin)


def test_conjunction_has_its_parts_summed_false_alarms_and_smallest_n():
    parts = {name: part("passes", n=n, false_alarm=alarm) for name, n, alarm in (("a", 9, 0.01), ("b", 4, 0.02))}
    test = all_of(parts, c=part("passes"))
    assert list(test.parts) == ["a", "b", "c"]
    assert test.parts["a"] is parts["a"]
    assert (test.n, test.false_alarm, test.value, test.region) == (4, pytest.approx(0.03), None, None)
    assert all_of(a=part("passes")).n == 0
    most = {"false_alarm": 0.7}
    assert all_of(a=part("passes", **most), b=part("passes", **most)).false_alarm == 1.0
    with pytest.raises(ValueError):
        all_of()


def test_leaves_of_nested_conjunctions_have_joined_names():
    first, inner = part("passes"), part("fails")
    test = all_of({"first one": first, "group": all_of({"at 2": inner, "at 4": first})})
    assert test.leaves == {"first one": first, "group at 2": inner, "group at 4": first}
    assert first.leaves == {"": first}


# What the tests of the printed and the corrected form decide

UNDECIDED, DEPENDS = "not decidable at this scale", "depends on the reading"
DECISIONS = {
    ("passes", None): "holds",
    ("fails", None): "does not hold",
    ("undecided", None): UNDECIDED,
    ("depends", None): DEPENDS,
    ("passes", "passes"): "holds",
    ("passes", "fails"): "holds",
    ("passes", "undecided"): "holds",
    ("fails", "passes"): "holds as corrected",
    ("fails", "fails"): "does not hold",
    ("fails", "undecided"): UNDECIDED,
    ("fails", "depends"): DEPENDS,
    ("undecided", "passes"): UNDECIDED,
    ("undecided", "fails"): UNDECIDED,
    ("undecided", "undecided"): UNDECIDED,
    ("undecided", "depends"): DEPENDS,
    ("depends", "passes"): DEPENDS,
    ("depends", "undecided"): DEPENDS,
}


@pytest.mark.parametrize(("outcomes", "status"), DECISIONS.items())
def test_outcomes_of_both_forms_decide_the_verdict(outcomes, status):
    printed, corrected = (part(outcome) if outcome else None for outcome in outcomes)
    verdict = Verdict.from_tests(printed, corrected)
    assert (verdict.status, verdict.printed) == (status, printed)
    assert verdict.decisive is (printed if status == "holds" or not corrected else corrected)


def test_named_parts_are_a_conjunction():
    parts = {"first half": part("passes"), "second half": part("fails")}
    verdict = Verdict.from_tests(parts, {"all": part("passes")})
    assert verdict.status == "holds as corrected"
    assert (verdict.printed, verdict.corrected) == (all_of(parts), all_of(all=part("passes")))


def test_untestable_and_irreproducible_statements_have_no_outcome():
    printed = part("fails")
    assert not_reproducible("tried three learning rates", printed).printed is printed
    assert not_testable("no finite computation").decisive is None
    reached = {*DECISIONS.values(), not_testable("").status, not_reproducible("").status}
    assert reached == set(STATUSES)
