"""Verdicts: every test's outcomes and margins, what they add up to, and how often a true statement is refuted."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import WORDS, over_readings
from repdyn.base.sampled import interval_within, mean_within, share_interval, share_within
from repdyn.base.verdicts import (
    LARGEST_MARGIN,
    STATUSES,
    Test,
    Verdict,
    all_of,
    at_least,
    at_most,
    deviation,
    equal,
    not_reproducible,
    not_testable,
    rounding,
)

SAY = {"expected": "this", "reason": "that"}
ALARM = 0.01
SAMPLED = SAY | {"n": 10, "false_alarm": 0.05}


def part(outcome, margin=1.0, **further):
    return Test(outcome, f"measured {outcome}", "expected", margin, "reason", **further)


# One form of a statement


@pytest.mark.parametrize(
    ("test", "outcome", "margin"),
    [
        (deviation([0.1, -0.2], 0.4, **SAY), "passes", 2.0),
        (deviation([0.1, -0.2], 0.1, **SAY), "fails", 0.5),
        (deviation(0.2, 0.2, **SAY), "passes", 1.0),
        (deviation([[0.0], [0.0]], 1e-12, **SAY), "passes", LARGEST_MARGIN),
        (deviation(0.0, 0.0, **SAY), "passes", LARGEST_MARGIN),
        (deviation(1e-300, 0.0, **SAY), "fails", 1 / LARGEST_MARGIN),
        (at_most([0.2, 0.5], 1.0, **SAY), "passes", 2.0),
        (at_most([0.2, 4.0], 1.0, **SAY), "fails", 0.25),
        (at_most([0.2, 1.0], 1.0, **SAY), "passes", 1.0),
        (at_most([-3.0], 1.0, **SAY), "passes", LARGEST_MARGIN),
        (at_least([4.0, 2.0], 1.0, **SAY), "passes", 2.0),
        (at_least([4.0, 0.5], 1.0, **SAY), "fails", 0.5),
        (at_least([1.0], 1.0, **SAY), "passes", 1.0),
        (at_least([np.nextafter(0.3, 0)], 0.3, **SAY), "fails", 1.0),
        (at_least([-2.0], 1.0, **SAY), "fails", 1 / LARGEST_MARGIN),
        (at_least([0.0], 0.0, **SAY), "passes", LARGEST_MARGIN),
        (equal([1, 2], [1, 2], expected="this"), "passes", LARGEST_MARGIN),
        (equal([1, 2], [1, 3], expected="this"), "fails", 1 / LARGEST_MARGIN),
        (equal([1, 2], [1, 2, 3], expected="this"), "fails", 1 / LARGEST_MARGIN),
        (interval_within((1.0, 3.0), 0.0, 4.0, **SAMPLED), "passes", 2.0),
        (interval_within((1.0, 3.0), 1.0, 4.0, **SAMPLED), "passes", 1.0),
        (interval_within((1.0, 3.0), -math.inf, 5.0, **SAMPLED), "passes", 3.0),
        (interval_within((2.0, 2.0), 0.0, 4.0, **SAMPLED), "passes", LARGEST_MARGIN),
        (interval_within((1.0, 3.0), 2.5, 9.0, **SAMPLED), "undecided", 1.0),
        (interval_within((1.0, 3.0), -9.0, 1.5, **SAMPLED), "undecided", 1.0),
        (interval_within((1.0, 3.0), 1.5, 2.5, **SAMPLED), "undecided", 1.0),
        (interval_within((1.0, 3.0), 4.0, 9.0, **SAMPLED), "fails", 0.5),
        (interval_within((1.0, 3.0), -9.0, -2.0, **SAMPLED), "fails", 0.25),
        (interval_within((2.0, 2.0), 3.0, 4.0, **SAMPLED), "fails", 1 / LARGEST_MARGIN),
    ],
)
def test_outcome_and_margin(test, outcome, margin):
    assert (test.outcome, test.margin) == (outcome, pytest.approx(margin))


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_margin_and_outcome_agree(value, limit):
    for test in (deviation(value, limit, **SAY), at_most(value, limit, **SAY), at_least(value, limit, **SAY)):
        assert 0 < test.margin <= LARGEST_MARGIN
        assert test.margin == 1 or (test.outcome == "passes") == (test.margin > 1)


def test_a_test_says_what_was_measured_and_why_the_limit_has_its_size():
    test = deviation([0.1, -0.25], 0.5, unit=" degree", n=7, **SAY)
    assert (test.measured, test.expected) == ("largest deviation 0.25 degree", "this")
    assert test.reason == "tolerance 0.5: that"
    assert (test.n, test.interval, test.false_alarm) == (7, None, 0.0)
    test = at_least([3, 0.25], 0.5, unit=" nat", **SAY)
    assert (test.measured, test.reason) == ("smallest 0.25 nat", "limit 0.5: that")
    test = interval_within((1.0, 3.0), 0.0, 4.0, unit=" nat", **SAMPLED)
    assert test.measured == "95 % interval [1, 3] nat"
    skew = interval_within((1.0, 3.0), 0.0, 4.0, unit=" nat", estimate=1.5, **SAMPLED)
    assert skew.measured == "1.5 nat, 95 % interval [1, 3]"
    assert (test.n, test.interval, test.false_alarm) == (10, (1.0, 3.0), 0.05)


def test_interval_of_the_mean_is_students():
    samples = np.random.default_rng(2).standard_normal(12)
    expected = stats.ttest_1samp(samples, 0).confidence_interval(0.99)
    test = mean_within(samples, -1, 1, false_alarm=0.01, **SAY)
    assert test.interval == pytest.approx((expected.low, expected.high))
    assert (test.n, test.false_alarm) == (12, 0.01)


@pytest.mark.parametrize("check", [deviation, at_most, at_least])
@pytest.mark.parametrize("values", [[1.0, math.nan], [math.inf], [-math.inf]])
def test_values_that_are_not_finite_are_refused(check, values):
    with pytest.raises(ValueError, match="1 not finite; a check needs finite numbers"):
        check(values, 1.0, **SAY)


@pytest.mark.parametrize("check", [deviation, at_most, at_least])
def test_no_values_are_not_enough_data(check):
    with pytest.raises(NotEnoughDataError, match="at least one value"):
        check([], 1.0, **SAY)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        ([], NotEnoughDataError, "got 0"),
        ([1.0], NotEnoughDataError, "got 1"),
        ([1.0, math.nan, 1.0], ValueError, "3 values, 1 not finite"),
        ([1.0, math.inf], ValueError, "2 values, 1 not finite"),
    ],
)
def test_samples_that_give_no_interval_are_refused(samples, error, message):
    with pytest.raises(error, match=message):
        mean_within(samples, 0, 2, **SAY)


def test_no_trial_is_not_enough_data():
    with pytest.raises(NotEnoughDataError, match="at least one trial"):
        share_within([], 0.5, 1.0, **SAY)


@pytest.mark.parametrize("interval", [(math.nan, 1.0), (0.0, math.nan), (0.0, math.inf), (2.0, 1.0)])
def test_an_interval_that_is_none_is_refused(interval):
    with pytest.raises(ValueError, match="a check needs a finite one"):
        interval_within(interval, 0, 2, **SAMPLED)


# How often a true statement is refuted, a false one accepted


def share(outcome, mean, low, high, *, samples=2000, n=10, false_alarm=0.05):
    """Number of simulated samples, each of n standard normals about `mean`, with this outcome."""
    draws = np.random.default_rng(11).standard_normal((samples, n)) + mean
    return sum(mean_within(sample, low, high, false_alarm=false_alarm, **SAY).outcome == outcome for sample in draws)


def binomial(count, probability, errors=4):
    """Expected number and four standard errors of the binomial law."""
    return count * probability, errors * math.sqrt(count * probability * (1 - probability))


def test_a_true_statement_is_refuted_as_often_as_was_said():
    """The region is the true mean alone, so every interval that misses it refutes: 5 % of normal samples."""
    expected, band = binomial(2000, 0.05)
    assert abs(share("fails", 0.0, 0.0, 0.0) - expected) < band


def test_a_true_statement_at_the_border_of_its_region_is_refuted_at_most_so_often():
    expected, band = binomial(2000, 0.025)  # the interval can miss on one side only
    assert share("fails", 0.0, 0.0, 100.0) < expected + band


def test_a_false_statement_is_accepted_at_most_so_often():
    expected, band = binomial(2000, 0.025)
    assert share("passes", -1e-9, 0.0, 100.0) < expected + band


def test_what_is_far_from_the_border_is_decided():
    assert share("passes", 5.0, 0.0, 10.0) == 2000
    assert share("fails", -5.0, 0.0, 10.0) == 2000


# Several tests


@pytest.mark.parametrize(
    ("parts", "outcome", "margin"),
    [
        ({"a": part("passes", 3), "b": part("passes", 2)}, "passes", 2),
        ({"a": part("passes", 1.1), "b": part("undecided")}, "undecided", 1.0),
        ({"a": part("undecided"), "b": part("fails", 0.9)}, "fails", 0.9),
        ({"a": part("fails", 0.1), "b": part("fails", 0.9), "c": part("passes", 2)}, "fails", 0.1),
        ({"a": part("passes", 5)}, "passes", 5),
    ],
)
def test_the_worst_part_speaks(parts, outcome, margin):
    for order in itertools.permutations(parts.items()):
        test = all_of(dict(order))
        assert (test.outcome, test.margin) == (outcome, margin)


def test_all_parts_are_listed_and_their_chances_of_a_false_alarm_added():
    test = all_of(
        {
            "first one": part("passes", 3, n=8, interval=(1.0, 2.0), false_alarm=0.01),
            "other": part("passes", 2, n=5, interval=(3.0, 4.0), false_alarm=0.02),
            "exact": part("passes", 9),
        }
    )
    assert test.measured == "first one: measured passes; other: measured passes; exact: measured passes"
    assert test.expected == "first one: expected; other: expected; exact: expected"
    assert test.reason == "reason"
    assert (test.n, test.interval, test.false_alarm) == (5, (3.0, 4.0), pytest.approx(0.03))


def test_chances_add_up_to_one_at_most():
    assert all_of(a=part("passes", false_alarm=0.7), b=part("passes", false_alarm=0.7)).false_alarm == 1.0


def test_members_of_a_list_are_told_one_by_one():
    first, other = part("passes", 3), part("fails", 0.5)
    whole = replace(all_of(one=first, other=other), parts={}, members={"one": first, "other": other})
    assert (whole.outcome, whole.parts) == ("fails", {})
    assert whole.leaves == {"one": first, "other": other}


def test_a_conjunction_keeps_its_parts_by_name():
    first, inner = part("passes", 3, value=1.0, region=(0.0, 2.0)), part("fails", 0.5)
    test = all_of({"first one": first, "group": all_of({"at 2": inner, "at 4": first})})
    assert test.parts["first one"] is first
    assert list(test.parts) == ["first one", "group"]
    assert (test.value, test.region, test.outcome) == (None, None, "fails")
    assert test.leaves == {"first one": first, "group at 2": inner, "group at 4": first}
    assert first.leaves == {"": first}


@pytest.mark.parametrize(
    ("test", "value", "region"),
    [
        (deviation([0.1, -0.3], 0.4, **SAY), 0.3, (0.0, 0.4)),
        (at_most([0.1, -0.3], 0.4, **SAY), 0.1, (-math.inf, 0.4)),
        (at_least([0.1, -0.3], 0.4, **SAY), -0.3, (0.4, math.inf)),
        (equal([1, 2], [1, 2], expected="this"), None, None),
        (mean_within([1.0, 2.0], 0, 5, **SAY), 1.5, (0, 5)),
        (share_within([True, False, True, True], 0.5, math.inf, **SAY), 0.75, (0.5, math.inf)),
        (interval_within((1.0, 3.0), 0.0, 4.0, **SAMPLED), None, (0.0, 4.0)),
    ],
)
def test_a_test_keeps_its_number_and_the_region_it_must_lie_in(test, value, region):
    assert test.value == (None if value is None else pytest.approx(value))
    assert test.region == region


def test_a_part_is_called_what_a_reader_sees():
    first, second = (at_most([value], 2.0, expected="x", reason="y") for value in (1.0, 1.5))
    whole = all_of({"first half": first}, second=second)
    assert whole.parts == {"first half": first, "second": second}
    assert whole.measured == "first half: largest 1; second: largest 1.5"


def test_no_part_is_no_test():
    with pytest.raises(ValueError):
        all_of()


# What the tests of the printed and the corrected form decide

DECISIONS = {
    ("passes", None): "holds",
    ("fails", None): "does not hold",
    ("undecided", None): "not decidable at this scale",
    ("passes", "passes"): "holds",
    ("passes", "fails"): "holds",
    ("passes", "undecided"): "holds",
    ("fails", "passes"): "holds as corrected",
    ("fails", "fails"): "does not hold",
    ("fails", "undecided"): "not decidable at this scale",
    ("undecided", "passes"): "not decidable at this scale",
    ("undecided", "fails"): "not decidable at this scale",
    ("undecided", "undecided"): "not decidable at this scale",
    ("depends", None): "depends on the reading",
    ("depends", "passes"): "depends on the reading",
    ("depends", "undecided"): "depends on the reading",
    ("undecided", "depends"): "depends on the reading",
    ("fails", "depends"): "depends on the reading",
}


@pytest.mark.parametrize(("outcomes", "status"), DECISIONS.items())
def test_judgment(outcomes, status):
    printed, corrected = (part(outcome) if outcome else None for outcome in outcomes)
    verdict = Verdict.from_tests(printed, corrected, "a note")
    assert (verdict.status, verdict.printed, verdict.note) == (status, printed, "a note")
    assert verdict.decisive is (printed if status == "holds" or not corrected else corrected)


def test_named_parts_are_a_conjunction():
    parts = {"first half": part("passes"), "second half": part("fails")}
    verdict = Verdict.from_tests(parts, {"all": part("passes")}, "a note")
    assert (verdict.status, verdict.note) == ("holds as corrected", "a note")
    assert verdict.printed == all_of(parts)
    assert verdict.corrected == all_of(all=part("passes"))


def test_statements_without_a_decision():
    assert not_testable("no finite computation") == Verdict("not testable", note="no finite computation")
    printed = part("fails")
    assert not_reproducible("tried three learning rates", printed).printed is printed
    assert not_reproducible("tried").status == "not reproducible as stated"
    assert not_testable("").decisive is None


def test_every_status_can_be_reached():
    reached = {*DECISIONS.values(), not_testable("").status, not_reproducible("").status}
    assert reached == set(STATUSES)


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        ({"passes": 9, "undecided": 1}, "passes"),
        ({"passes": 8, "undecided": 2}, "undecided"),
        ({"passes": 99, "fails": 1}, "depends"),
        ({"fails": 9, "undecided": 1}, "fails"),
        ({"fails": 8, "undecided": 2}, "undecided"),
        ({"undecided": 2}, "undecided"),
        ({"passes": 19, "depends": 1}, "depends"),
        ({"passes": 2}, "passes"),
    ],
)
def test_readings_agree_at_nine_in_ten_without_contradiction(counts, outcome):
    tests = [part(name, {"passes": 2.0, "fails": 0.5}.get(name, 1.0)) for name, n in counts.items() for _ in range(n)]
    test = over_readings(lambda window: tests[window], window={f"window {i}": i for i in range(len(tests))})
    assert test.outcome == outcome
    assert list(test.readings.values()) == tests
    assert test.measured.startswith(f"of {len(tests)} readings ")
    for name, n in counts.items():
        assert f"{n} {WORDS[name]}" in test.measured


def test_readings_are_the_grid_of_all_choices_and_are_shown_by_the_least_clear():
    test = over_readings(
        lambda first_window, power: at_most(power * first_window, 1.0, **SAY, n=int(10 * first_window)),
        first_window={"a tenth": 0.1, "a fifth": 0.2},
        power={"once": 1, "twice": 2},
    )
    assert list(test.readings) == [
        "first window: a tenth; power: once",
        "first window: a tenth; power: twice",
        "first window: a fifth; power: once",
        "first window: a fifth; power: twice",
    ]
    assert (test.outcome, test.n, test.margin) == ("passes", 1, pytest.approx(2.5))
    assert "first window: a fifth; power: twice" in test.measured


def test_one_reading_is_none():
    with pytest.raises(ValueError, match="leaves nothing open"):
        over_readings(lambda window: part("passes"), window={"all": 1})


def test_nine_readings_in_ten_refute_a_true_sentence_as_rarely_as_promised():
    """Each reading of a true sentence fails with chance a; nine in ten of dependent readings with at most a / 0.9."""
    rate, random = 0.05, np.random.default_rng(11)
    allowed, refuted = stats.norm.isf(rate / 2), 0
    for _ in range(4000):
        noise = random.standard_normal() * 0.9 + random.standard_normal(10) * math.sqrt(1 - 0.81)
        false = [abs(value) > allowed for value in noise]
        test = over_readings(
            lambda w, false=false: part("fails" if false[w] else "passes", false_alarm=rate),
            w={f"{i}": i for i in range(10)},
        )
        refuted += test.outcome == "fails"
    assert test.false_alarm == pytest.approx(rate / 0.9)
    assert stats.binomtest(refuted, 4000, test.false_alarm, alternative="greater").pvalue > 1e-4


def test_a_conjunction_is_as_open_as_its_readings():
    tests = {
        "depends": part("depends"),
        "fails": part("fails", 0.5),
        "passes": part("passes"),
        "open": part("undecided"),
    }
    assert all_of(a=tests["depends"], b=tests["open"]).outcome == "depends"
    assert all_of(a=tests["depends"], b=tests["fails"]).outcome == "fails"
    assert all_of(a=tests["depends"], b=tests["passes"]).outcome == "depends"


def test_rounding_bounds_the_error_of_a_sum():
    values = np.random.default_rng(3).standard_normal(1000)
    error = abs(np.add.reduce(values[::-1]) - math.fsum(values))
    assert error <= rounding(np.abs(values).sum(), 1000)
    assert rounding([1.0, -4.0], 3) == 3 * 4 * np.finfo(float).eps


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_an_interval_has_a_false_alarm_rate(rate):
    with pytest.raises(ValueError, match="false-alarm rate"):
        interval_within((0.0, 1.0), 0.0, 2.0, expected="x", reason="x", n=3, false_alarm=rate)


def test_a_tolerance_from_a_distribution_has_its_rate():
    test = deviation([0.1, -0.2], 0.3, expected="x", reason="x", n=100, false_alarm=1e-3)
    assert (test.outcome, test.false_alarm, test.n) == ("passes", 1e-3, 100)
    assert deviation([0.1], 0.3, expected="x", reason="x").false_alarm == 0


@pytest.mark.parametrize("n", [1, 8, 40])
def test_a_share_is_bounded_by_the_binomial_tails(n):
    """All hits: the lower end is the share under which that many have half the false alarm; no hit: mirrored."""
    low, high = share_within([True] * n, 0.5, math.inf, **SAY, false_alarm=ALARM).interval
    assert (low, high) == (pytest.approx((ALARM / 2) ** (1 / n)), 1.0)
    assert share_within([False] * n, 0.5, math.inf, **SAY, false_alarm=ALARM).interval == pytest.approx((0, 1 - low))


@pytest.mark.parametrize(("hits", "outcome"), [(8, "passes"), (7, "undecided"), (1, "undecided"), (0, "fails")])
def test_a_share_is_decided_where_its_interval_lies(hits, outcome):
    test = share_within([True] * hits + [False] * (8 - hits), 0.5, math.inf, **SAY, false_alarm=ALARM)
    assert (test.outcome, test.n, test.false_alarm) == (outcome, 8, ALARM)


@pytest.mark.parametrize("trials", [1, 8, 500])
@pytest.mark.parametrize("false_alarm", [0.01, 1e-3, 1e-6])
def test_the_interval_of_a_share_is_that_of_the_exact_binomial_test(trials, false_alarm):
    for hits in {0, 1, trials // 3, trials - 1, trials}:
        wanted = stats.binomtest(hits, trials).proportion_ci(1 - false_alarm, method="exact")
        assert share_interval(hits, trials, false_alarm) == pytest.approx((wanted.low, wanted.high), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("measured", "wanted", "words"),
    [
        (3, 4, "3"),
        ([1, 2, 3], [1, 3, 2], "2 of 3 entries differ"),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]], "0 of 4 entries differ"),
        ([1, 2], [1, 2, 3], "shape (2,), expected (3,)"),
    ],
)
def test_exact_quantities_are_told_as_measured(measured, wanted, words):
    test = equal(measured, wanted, expected="this")
    assert (test.measured, test.expected, test.reason) == (words, "this", "integers, compared exactly")


def test_a_conjunction_has_the_smallest_sample_and_each_reason_once():
    parts = [replace(part("passes", n=n), reason=reason) for n, reason in ((9, "b"), (4, "a"), (0, "b"), (6, "c"))]
    test = all_of(dict(zip("wxyz", parts, strict=True)))
    assert test.n == 4
    assert test.reason == "b; a; c"
    assert all_of(x=part("passes")).n == 0
