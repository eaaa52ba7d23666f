"""Rows of the ledger and of evidence: every column holds what its name says, of the form and the part it is about."""

import math
from dataclasses import replace

import pytest

from repdyn.base.claims import Claim
from repdyn.base.controls import false_world, wrong_formula
from repdyn.base.ledger import Rejection, decision
from repdyn.base.readings import over_readings
from repdyn.base.verdicts import Test, Verdict, all_of, weakest

SAYS = {name: f"its {name}" for name in ("where", "states", "correction", "formula", "corrected_formula", "assumes")}


def one(name, outcome="passes", margin=2.0, **further):
    return Test(outcome, f"measured {name}", f"expected {name}", margin, f"reason {name}", **further)


def claimed(controls=None, **further):
    says = SAYS | {"origin": "ours", "kind_of_slip": "misprint", "possible_ocr_error": True, "words": "w", "line": 7}
    return Claim(
        id="x-1", kind="bound", data=("a", "b"), check=print, controls=controls or {}, decided="", **(says | further)
    )


def sampled(name, outcome, margin, low, n=9, alarm=0.01):
    return one(
        name, outcome, margin, n=n, interval=(low, low + 1), false_alarm=alarm, value=low + 0.5, region=(0.0, 8.0)
    )


CORRECTED = Verdict.from_tests(sampled("printed", "fails", 0.5, 9.0), sampled("right", "passes", 4.0, 3.0, 12, 0.02))


def test_a_row_of_the_ledger_tells_the_printed_form_and_the_one_that_decides():
    row = decision(claimed(), CORRECTED, {}).ledger
    assert row == {
        "id": "x-1", "where": "its where", "kind": "bound", "origin": "ours", "statement": "its states",
        "verdict": "holds as corrected", "correction": "its correction", "possible_ocr_error": True,
        "kind_of_slip": "misprint", "words": "w", "line": 7, "assumes": "its assumes", "formula": "its formula",
        "corrected_formula": "its corrected_formula", "printed_measured": "measured printed",
        "printed_expected": "expected printed", "printed_margin": "0.5", "measured": "measured right",
        "expected": "expected right", "margin": "4", "tolerance_reason": "reason right", "n": 12, "interval_low": "3",
        "interval_high": "4", "false_alarm": "0.02", "control": "", "control_outcome": "", "control_margin": "",
        "uncontrolled_parts": "", "datasets": "a b", "code": "", "note": "",
    }  # fmt: skip


def test_rows_of_evidence_tell_each_form_with_the_control_of_the_one_that_decides():
    turn = {"": wrong_formula("half of it", lambda *data: data)}
    rows = decision(claimed(turn), CORRECTED, {"": Rejection("rejected", "far off", 0.125, "other numbers")}).evidence
    assert [row["form"] for row in rows] == ["printed", "corrected"]
    printed, corrected = rows
    assert corrected == {
        "id": "x-1", "form": "corrected", "part": "", "reading": "", "outcome": "passes", "value": "3.5",
        "interval_low": "3", "interval_high": "4", "region_low": "0", "region_high": "8", "measured": "measured right",
        "expected": "expected right", "margin": "4", "tolerance_reason": "reason right", "n": 12, "false_alarm": "0.02",
        "control": "half of it", "control_of": "whole check", "control_kind": "wrong formula",
        "control_change": "other numbers", "control_outcome": "rejected", "control_margin": "0.125",
    }  # fmt: skip
    assert (printed["outcome"], printed["value"], printed["margin"]) == ("fails", "9.5", "0.5")
    assert {name for name, value in printed.items() if name.startswith("control") and value} == set()


def test_of_several_controls_the_worst_outcome_and_the_margin_nearest_to_1_are_told():
    parts = {"first": one("1", margin=3.0), "second": one("2", margin=5.0), "third": one("3", margin=7.0)}
    says = {name: false_world(f"world {name}", lambda *data: data) for name in ("first", "second")}
    found = {"first": Rejection("rejected", "", 0.01, "a"), "second": Rejection("rejected", "", 0.6, "b")}
    result = decision(claimed(says), Verdict.from_tests(parts), found)
    row = result.ledger
    assert (row["control"], row["control_outcome"], row["control_margin"]) == (
        "world first; world second",
        "rejected",
        "0.6",
    )
    assert (row["uncontrolled_parts"], row["margin"]) == ("third", "3")
    shown = [(line["part"], line["control_of"], line["control"], line["control_margin"]) for line in result.evidence]
    assert shown == [
        ("first", "first", "world first", "0.01"),
        ("second", "second", "world second", "0.6"),
        ("third",) + ("",) * 3,
    ]
    for worse in ("undecided", "not rejected"):
        mixed = found | {"first": Rejection(worse, "", None, "")}
        row = decision(claimed(says), Verdict.from_tests(parts), mixed).ledger
        assert (row["control_outcome"], row["control_margin"]) == (worse, "0.6")
    both = {"first": Rejection("undecided", "", 1.5, ""), "second": Rejection("not rejected", "", 0.9, "")}
    row = decision(claimed(says), Verdict.from_tests(parts), both).ledger
    assert (row["control_outcome"], row["control_margin"]) == ("not rejected", "0.9")


def test_a_claim_that_holds_tells_neither_correction_nor_slip():
    row = decision(claimed(), Verdict.from_tests(one("x", margin=math.pi)), {}).ledger
    assert [row[name] for name in ("correction", "kind_of_slip", "corrected_formula")] == ["", "", ""]
    assert (row["formula"], row["margin"], row["interval_low"], row["n"]) == ("its formula", "3.14159", "", 0)


def test_groups_and_readings_have_a_row_each_under_their_names():
    group = Test(**vars(one("group")) | {"members": {"tanh": one("tanh"), "relu": one("relu", margin=9.0)}})
    read = over_readings(lambda width: one(f"w{width}", margin=float(width)), width={"narrow": 2, "wide": 3})
    rows = decision(claimed(), Verdict.from_tests({"all": group, "late": read}), {}).evidence
    assert [(row["part"], row["reading"]) for row in rows] == [
        ("all tanh", ""), ("all relu", ""), ("late", ""), ("late", "width: narrow"), ("late", "width: wide"),
    ]  # fmt: skip
    assert [row["margin"] for row in rows] == ["2", "9", "2", "2", "3"]


def test_a_conjunction_adds_false_alarms_and_takes_the_least_number_of_samples():
    parts = {
        "a": sampled("a", "passes", 3.0, 1.0, 9, 0.01),
        "b": one("b", margin=5.0),
        "c": sampled("c", "passes", 2.0, 2.0, 4, 0.02),
    }
    whole = all_of(parts)
    assert (whole.false_alarm, whole.n, whole.margin, whole.interval) == (pytest.approx(0.03), 4, 2.0, (2.0, 3.0))
    assert (whole.value, whole.region) == (None, None)
    assert whole.measured == "a: measured a; b: measured b; c: measured c"
    assert whole.expected == "a: expected a; b: expected b; c: expected c"
    assert all_of(x=one("x", false_alarm=0.7), y=one("y", false_alarm=0.6)).false_alarm == 1


def test_what_fails_decides_before_what_depends_is_undecided_or_passes():
    order = ["fails", "depends", "undecided", "passes"]
    tests = [one(outcome, outcome, margin) for outcome, margin in zip(order, (0.9, 0.1, 0.01, 0.001), strict=True)]
    for place in range(4):
        assert weakest(tests[place:][::-1]).outcome == order[place]
    assert weakest([one("a", margin=3.0), one("b", margin=2.0)]).margin == 2


def agreed(*outcomes, **further):
    tests = {str(k): one(f"r{k}", outcome, 2.0 + k, **further) for k, outcome in enumerate(outcomes)}
    return over_readings(lambda choice: tests[choice], choice=dict(zip(tests, tests, strict=True)))


@pytest.mark.parametrize(
    ("passes", "fails", "undecided", "outcome"),
    [
        (9, 0, 1, "passes"), (8, 0, 1, "undecided"), (0, 9, 1, "fails"), (0, 8, 1, "undecided"), (19, 1, 0, "depends"),
        (1, 19, 0, "depends"), (18, 0, 2, "passes"), (17, 0, 3, "undecided"),
    ],
)  # fmt: skip
def test_nine_readings_in_ten_carry_a_verdict_that_no_other_contradicts(passes, fails, undecided, outcome):
    read = agreed(*["passes"] * passes, *["fails"] * fails, *["undecided"] * undecided)
    assert read.outcome == outcome
    words = ((passes, "pass"), (fails, "fail"), (undecided, "stay undecided"))
    counts = ", ".join(f"{count} {word}" for count, word in words if count)
    assert read.measured.startswith(f"of {passes + fails + undecided} readings {counts}; choice: ")


def test_readings_are_shown_by_the_one_that_decides_least_clearly():
    margins = {"a": 8.0, "b": 1.5, "c": 0.01}
    outcomes = {"a": "passes", "b": "passes", "c": "undecided"}
    tests = {
        name: one(name, outcomes[name], margins[name], n=5 + place, false_alarm=0.01 * (place + 1))
        for place, name in enumerate(margins)
    }
    read = over_readings(lambda x: tests[x], x={name: name for name in "ab"} | {"c": "a"})
    assert (read.margin, read.measured.endswith("x: b: measured b")) == (1.5, True)
    assert read.n == 5
    assert read.false_alarm == pytest.approx(0.02 / 0.9), "nine in ten of them fail by chance: Markov"
    assert (read.interval, read.value, read.region) == (None, None, None)
    assert over_readings(lambda x: tests[x], x={name: name for name in "abc"}).outcome == "undecided"


def test_a_reading_that_decides_otherwise_is_not_the_one_shown():
    tests = {str(k): one(f"r{k}", "passes", 3.0 + k) for k in range(9)} | {"9": one("r9", "undecided", 1.01)}
    read = over_readings(lambda x: tests[x], x={name: name for name in tests})
    assert (read.outcome, read.margin, read.n) == ("passes", 3.0, 0)
    assert read.measured.endswith("x: 0: measured r0")


def test_a_row_tells_the_controls_that_ran_alone():
    says = {name: false_world(f"world {name}", lambda *data: data) for name in ("d", "b", "a", "c")}
    parts = {name: one(name, margin=margin) for name, margin in (("e", 3.0), ("b", 5.0), ("f", 4.0), ("c", 2.0))}
    ran = {name: Rejection("rejected", "", margin, "x") for name, margin in (("b", 9.0), ("c", 0.2))}
    row = decision(claimed(says, line=0), Verdict.from_tests(parts), ran).ledger
    assert (row["control"], row["control_margin"]) == ("world b; world c", "0.2")
    assert (row["uncontrolled_parts"], row["line"]) == ("e; f", "")


def test_a_number_that_is_none_is_left_empty():
    gone = one("gone", value=math.nan, interval=(math.nan, 2.0), region=(-math.inf, math.inf))
    (row,) = decision(claimed(), Verdict.from_tests(gone), {}).evidence
    assert [row[name] for name in ("value", "interval_low", "interval_high", "region_low", "region_high")] == [
        "", "", "2", "-inf", "inf",
    ]  # fmt: skip


def test_readings_of_several_choices_tell_every_reason_once_and_the_least_number_of_samples():
    """Three choices; what is sampled has at least 3 samples, and some tests sample nothing."""
    numbers = {(1, "x"): 0, (1, "y"): 7, (2, "x"): 3, (2, "y"): 5, (3, "x"): 0, (3, "y"): 9}
    reasons = {1: "as late", 2: "as early", 3: "as late"}

    def decide(at_depth, by):
        test = one(f"{at_depth}{by}", margin=10.0 - at_depth, n=numbers[at_depth, by], false_alarm=0.01 * at_depth)
        return replace(test, reason=reasons[at_depth])

    read = over_readings(decide, at_depth={"last": 1, "first": 2, "middle": 3}, by={"mean": "x", "median": "y"})
    assert list(read.readings) == [
        f"at depth: {depth}; by: {by}" for depth in ("last", "first", "middle") for by in ("mean", "median")
    ]
    assert read.measured == "of 6 readings 6 pass; at depth: middle; by: mean: measured 3x"
    assert (read.reason, read.n, read.expected) == ("as late; as early", 3, "expected 3x")
    assert read.false_alarm == pytest.approx(0.03 / 0.9)
    mixed = agreed("fails", "undecided", "depends", "passes", "undecided", "passes", "passes")
    assert mixed.measured.startswith("of 7 readings 3 pass, 1 fail, 1 depend on more, 2 stay undecided; choice: 2: ")
