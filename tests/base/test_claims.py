"""Claims: a check must be able to fail, each part has its control, rows are complete."""

import math
import re
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

from repdyn.base.claims import claim, claims_of, decide_claim
from repdyn.base.controls import exchange, false_world, knock_out, wrong_formula
from repdyn.base.datasets import LEFT_OUT, require
from repdyn.base.errors import NotEnoughDataError, RepdynError
from repdyn.base.ledger import parts_without_control
from repdyn.base.readings import over_readings
from repdyn.base.sampled import interval_within, mean_within
from repdyn.base.verdicts import Verdict, all_of, at_most, deviation, not_reproducible, not_testable

LEDGER = (
    "id,where,kind,origin,statement,verdict,correction,possible_ocr_error,kind_of_slip,words,line,assumes,"
    "formula,corrected_formula,printed_measured,printed_expected,printed_margin,measured,expected,margin,tolerance_reason,n,interval_low,interval_high,"
    "false_alarm,control,control_outcome,control_margin,uncontrolled_parts,datasets,code,note"
)
EVIDENCE = (
    "id,form,part,reading,outcome,value,interval_low,interval_high,region_low,region_high,measured,expected,margin,"
    "tolerance_reason,n,false_alarm,control,control_of,control_kind,control_change,control_outcome,control_margin"
)


def data(value, **others):
    return xr.Dataset({name: ((), number) for name, number in ({"residual": value} | others).items()})


def near(value, target):
    return deviation(float(value) - target, 0.5, expected=f"{target}", reason="half a unit")


def across(low, high):
    """An interval that must lie above 0."""
    return interval_within((low, high), 0, math.inf, expected="above 0", reason="by sign", n=5, false_alarm=0.01)


def claimed(check, control=None, **further):
    """A claim about the datasets `first` (and `second`), decided by the check."""
    arguments = {"where": "Theorem 1", "kind": "identity", "states": "A statement."} | further
    return claim("x-thm1", control=control, **arguments)(check)


def holds(first):
    """Printed: the residual is 1."""
    return Verdict.from_tests(near(first["residual"], 1))


def corrected(first):
    """Printed: the residual is 1; corrected: it is 2."""
    return Verdict.from_tests(near(first["residual"], 1), near(first["residual"], 2))


def both(first):
    """Two parts: a is 1 and b is 2."""
    return Verdict.from_tests(all_of({"a is 1": near(first["a"], 1), "b": near(first["b"], 2)}))


def put(value):
    """A control with another residual in all datasets."""
    return wrong_formula("another value", lambda *arguments: tuple(data(value) for _ in arguments))


def turn(**values):
    """A control that changes variables."""
    return wrong_formula(
        f"other {' '.join(values)}", lambda first: first.assign({k: ((), v) for k, v in values.items()})
    )


def decide(claim, *arguments):
    return decide_claim(claim, dict(zip(("first", "second"), arguments, strict=False)))


# Negative controls


def test_a_claim_whose_control_is_rejected_is_decided():
    decision = decide(claimed(holds, put(3.0)), data(1.25))
    row, (evidence,) = decision.ledger, decision.evidence
    assert (row["verdict"], row["margin"], row["control_margin"], row["control_outcome"]) == (
        "holds",
        "2",
        "0.25",
        "rejected",
    )
    assert (evidence["control"], evidence["control_kind"]) == ("another value", "wrong formula")
    assert (evidence["control_change"], evidence["control_of"]) == ("shifted number", "whole check")


SEEN = "At these sizes the check does not see the difference: "


@pytest.mark.parametrize(
    ("check", "control", "value", "reason"),
    [
        (holds, put(1.1), 1.0, r"the control of the check \(another value\) passes with largest deviation 0.1"),
        (lambda first: Verdict.from_tests(near(1, 1)), put(3.0), 1.0, "the control of the check .* passes with"),
        (corrected, put(2.1), 2.0, "the control of the check .* passes with"),
        (corrected, put(1.0), 2.0, "the control of the check .* passes with"),
        (holds, put(8.0), 9.0, "the control of the check .* fails with largest deviation"),
        (corrected, put(8.0), 9.0, "the control of the check .* fails with largest deviation"),
        (holds, {"a": put(3.0)}, 1.0, r"no control names a part of the check \(controls: a\)"),
    ],
)
def test_a_control_that_does_not_turn_leaves_the_claim_undecided_and_is_named(check, control, value, reason):
    row = decide(claimed(check, control), data(value)).ledger
    assert row["verdict"] == "not decidable at this scale"
    assert re.fullmatch(SEEN + reason + r".*\.", row["note"])
    assert row["control_outcome"] in ("not rejected", "")


def test_a_check_without_a_control_is_an_error():
    with pytest.raises(RepdynError, match="claim x-thm1: no negative control"):
        decide(claimed(holds), data(1.0))


def test_what_cannot_be_tested_needs_no_control():
    decision = decide(claimed(lambda: not_testable("existence")))
    row = decision.ledger
    assert (row["verdict"], row["note"], row["n"], row["margin"]) == ("not testable", "existence", 0, "")
    assert decision.evidence == []


def test_a_control_without_a_test_leaves_the_claim_undecided():
    def check(first):
        return holds(first) if first["residual"] < 2 else not_testable("too large")

    row = decide(claimed(check, put(3.0)), data(1.0)).ledger
    assert (row["verdict"], row["control_outcome"]) == ("not decidable at this scale", "not rejected")
    assert row["note"] == SEEN + "the control of the check (another value) gives no test, 'not testable'."


def test_a_corrected_claim_is_controlled_in_its_corrected_form():
    decision = decide(claimed(corrected, put(4.0)), data(2.25))
    row = decision.ledger
    assert row["verdict"] == "holds as corrected"
    assert (row["printed_margin"], row["margin"], row["control_margin"]) == ("0.4", "2", "0.25")
    forms = {row["form"]: row["control_outcome"] for row in decision.evidence}
    assert forms == {"printed": "", "corrected": "rejected"}
    printed = next(row for row in decision.evidence if row["form"] == "printed")
    assert {name: value for name, value in printed.items() if name.startswith("control") and value} == {}


@pytest.mark.parametrize("check", [holds, corrected])
def test_a_claim_that_does_not_hold_wants_a_world_in_which_it_would(check):
    right = false_world("a world in which it holds", put(1.0 if check is holds else 2.0).data)
    decision = decide(claimed(check, right), data(9.0))
    row = decision.ledger
    assert (row["verdict"], row["control_margin"], row["control_outcome"]) == ("does not hold", "1e+300", "rejected")
    assert decision.evidence[-1]["control_kind"] == "false world"


def test_what_is_undecided_needs_a_control_but_not_its_rejection():
    undecided = claimed(lambda first: not_reproducible("tried", near(first["residual"], 1)), put(1.0))
    row = decide(undecided, data(1.0)).ledger
    assert (row["control_outcome"], row["control_margin"]) == ("not rejected", "1e+300")
    with pytest.raises(RepdynError, match="no negative control"):
        decide(claimed(undecided.check), data(1.0))


def test_several_datasets_come_in_the_order_they_are_named():
    def check(second, first):
        return Verdict.from_tests(near(second["residual"] - first["residual"], 1))

    swapped = claimed(check, false_world("exchanged", lambda a, b: (b, a)))
    decision = decide_claim(swapped, {"first": data(2.0), "second": data(3.0), "third": data(9.0)})
    assert (decision.ledger["verdict"], decision.ledger["datasets"]) == ("holds", "second first")
    assert decision.evidence[0]["control_change"] == "recorded"


def test_a_claim_reads_variants_of_a_dataset():
    def check(first):
        return Verdict.from_tests(near(first["a"]["residual"], 1))

    control = false_world("the other network", lambda nets: {"a": nets["b"], "b": nets["a"]})
    decision = decide(claimed(check, control), {"a": data(1.0), "b": data(5.0)})
    assert (decision.ledger["verdict"], decision.evidence[0]["control_change"]) == ("holds", "recorded")


@pytest.mark.parametrize("returned", [None, True, "holds", Verdict("true")])
def test_a_check_returns_a_verdict(returned):
    with pytest.raises(RepdynError, match=r"claim x-thm1: the check returned .*, not a verdict"):
        decide(claimed(lambda first: returned, put(3.0)), data(1.0))


def test_missing_datasets_are_named():
    wanting = claimed(lambda first, second: holds(first), put(3.0))
    message = "claim x-thm1 wants the datasets second, but the rule gives only first, other"
    with pytest.raises(RepdynError, match=message):
        decide_claim(wanting, {"other": data(1.0), "first": data(1.0)})


# A control for each part

PARTS = data(0.0, a=1.25, b=2.125)


def test_each_part_is_turned_by_its_own_control():
    decision = decide(claimed(both, {"a is 1": turn(a=3.0), "b": turn(b=2.75)}), PARTS)
    rows = {row["part"]: row for row in decision.evidence}
    assert list(rows) == ["a is 1", "b"]
    assert [(row["control"], row["control_margin"], row["control_of"]) for row in rows.values()] == [
        ("other a", "0.25", "a is 1"),
        ("other b", "0.666667", "b"),
    ]
    assert [(row["value"], row["region_low"], row["region_high"], row["margin"]) for row in rows.values()] == [
        ("0.25", "0", "0.5", "2"),
        ("0.125", "0", "0.5", "4"),
    ]
    assert (decision.ledger["control"], decision.ledger["uncontrolled_parts"]) == ("other a; other b", "")
    assert decision.ledger["control_margin"] == "0.666667", "the weakest control"


def test_a_control_that_turns_another_part_leaves_the_claim_undecided():
    row = decide(claimed(both, {"a is 1": turn(a=3.0), "b": turn(a=3.0)}), PARTS).ledger
    assert row["verdict"] == "not decidable at this scale"
    assert row["note"] == SEEN + "the control of b (other a) passes with largest deviation 0.125."


@pytest.mark.parametrize(
    ("control", "left"),
    [(turn(a=3.0, b=3.0), ["a is 1", "b"]), ({"a is 1": turn(a=3.0)}, ["b"]), ({"b": turn(b=3)}, ["a is 1"])],
)
def test_parts_without_a_control_are_told(control, left):
    conjunction = claimed(both, control)
    assert parts_without_control(conjunction, conjunction(PARTS)) == left
    assert decide(conjunction, PARTS).ledger["uncontrolled_parts"] == "; ".join(left)


def test_a_control_of_the_whole_is_shown_with_each_part():
    decision = decide(claimed(both, turn(a=3.0, b=3.0)), PARTS)
    assert [(row["part"], row["control_of"], row["control_outcome"]) for row in decision.evidence] == [
        ("a is 1", "whole check", "rejected"),
        ("b", "whole check", "rejected"),
    ]


def test_a_part_that_fails_is_turned_the_other_way_and_one_that_passes_is_not():
    controls = {"a is 1": turn(a=1.0), "b": turn(b=9.0)}
    decision = decide(claimed(both, controls), data(0.0, a=5.0, b=2.0))
    assert decision.ledger["verdict"] == "does not hold"
    assert [row["control_outcome"] for row in decision.evidence] == ["rejected", "rejected"]
    row = decide(claimed(both, controls | {"a is 1": turn(a=4.0)}), data(0.0, a=5.0, b=2.0)).ledger
    assert row["verdict"] == "not decidable at this scale"
    assert row["note"] == SEEN + "the control of a is 1 (other a) fails with largest deviation 3."


def test_which_parts_there_are_may_depend_on_the_run():
    def check(first):
        return Verdict.from_tests(all_of({name: near(first[name], 1) for name in "ab" if name in first}))

    one_part = claimed(check, {"a": turn(a=3.0), "b": turn(b=3.0)})
    assert [row["part"] for row in decide(one_part, data(0.0, a=1.0)).evidence] == ["a"]
    row = decide(claimed(check, {"c": turn(a=3.0), "d": turn(b=3.0)}), data(0.0, a=1.0, b=1.0)).ledger
    assert row["verdict"] == "not decidable at this scale"
    assert row["note"] == SEEN + "no control names a part of the check (controls: c, d)."


def sides(first):
    """Each part by the sign of its number; across 0 it is undecided."""
    a, b = float(first["a"]), float(first["b"])
    return Verdict.from_tests(all_of(left=across(a - 1, a + 1), right=across(b - 1, b + 1)))


@pytest.mark.parametrize(
    ("controls", "verdict"),
    [
        ({"left": turn(a=5.0), "right": turn(b=5.0)}, "does not hold"),
        ({"left": turn(a=-6.0), "right": turn(b=5.0)}, "not decidable at this scale"),
        ({"right": turn(b=5.0)}, "does not hold"),
    ],
)
def test_an_undecided_part_beside_one_that_fails_never_stops_the_job(controls, verdict):
    decision = decide(claimed(sides, controls), data(0.0, a=-5.0, b=0.0))
    assert decision.ledger["verdict"] == verdict
    assert {row["part"]: row["control_outcome"] for row in decision.evidence}["right"] == "not rejected"


def test_a_group_of_tests_is_one_part_with_a_row_for_each():
    def check(first):
        group = all_of({"at 2": near(first["a"], 1), "at 4": near(first["b"], 2)})
        return Verdict.from_tests(all_of(start=near(first["residual"], 0), path=group))

    decision = decide(claimed(check, {"start": turn(residual=4.0), "path": turn(b=7.0)}), PARTS)
    assert [(row["part"], row["control_of"]) for row in decision.evidence] == [
        ("start", "start"),
        ("path at 2", "path"),
        ("path at 4", "path"),
    ]
    assert decision.ledger["uncontrolled_parts"] == ""


# What a run lacks


def test_too_little_data_leaves_the_claim_undecided_and_says_what_is_needed():
    def check(first):
        require(first, "losses", seed=5)
        raise AssertionError("not reached")

    decision = decide(claimed(check, put(3.0)), data(1.0))
    assert decision.ledger["verdict"] == "not decidable at this scale"
    assert decision.ledger["note"] == "Needs more than this run has: losses: 5 along seed, has 0."
    assert (decision.evidence, decision.ledger["control_outcome"]) == ([], "")


@pytest.mark.parametrize("error", [KeyError("tanh"), IndexError("1"), ZeroDivisionError("0"), ValueError("nan")])
def test_a_check_that_dies_of_its_data_leaves_the_claim_undecided_and_its_traceback_in_the_log(error, capsys):
    def check(first):
        raise error

    row = decide(claimed(check, put(3.0)), data(1.0)).ledger
    assert row["verdict"] == "not decidable at this scale"
    assert row["note"] == f"Needs more than this run has: the check ended with {type(error).__name__}: {error}."
    assert "Traceback" in capsys.readouterr().err
    row = decide(claimed(holds, wrong_formula("dies", check)), data(1.0)).ledger
    assert row["note"] == (
        f"The control of the check (dies) is undecided: too little data, it ended with {type(error).__name__}: {error}."
    )


@pytest.mark.parametrize("error", [TypeError, AttributeError, NameError, AssertionError])
def test_a_fault_of_the_code_is_an_error(error):
    def check(first):
        raise error

    with pytest.raises(error):
        decide(claimed(check, put(3.0)), data(1.0))


def lacking(first):
    raise NotEnoughDataError("losses: network = tanh")


@pytest.mark.parametrize("control", [wrong_formula("needs tanh", lacking), exchange("network", "relu", "tanh")])
def test_a_control_that_lacks_data_leaves_the_claim_undecided(control):
    control = control if not callable(control) else false_world("needs tanh", control)
    first = data(1.0).assign_coords(network=["relu"])
    decision = decide(claimed(holds, control), first)
    row = decision.ledger
    assert (row["verdict"], row["control_outcome"]) == ("not decidable at this scale", "undecided")
    assert re.fullmatch(
        r"The control of the check \(needs tanh\) is undecided: too little data, .*network = tanh\.", row["note"]
    )
    assert row["measured"] == "largest deviation 0", "what the check measured is kept"


def test_a_control_whose_test_is_undecided_leaves_the_claim_undecided():
    def check(first):
        return Verdict.from_tests(across(float(first["residual"]) - 1, float(first["residual"]) + 1))

    row = decide(claimed(check, put(0.5)), data(3.0)).ledger
    assert (row["verdict"], row["control_outcome"]) == ("not decidable at this scale", "undecided")


@pytest.mark.parametrize(
    ("values", "undecided", "verdict"),
    [
        ({"a": 1.0, "b": 2.0}, "b", "not decidable at this scale"),
        ({"a": 5.0, "b": 2.0}, "b", "does not hold"),
        ({"a": 5.0, "b": 2.0}, "a is 1", "not decidable at this scale"),
        ({"a": 5.0, "b": 9.0}, "b", "does not hold"),
    ],
)
def test_one_part_with_a_decided_control_is_enough_to_refute_but_not_to_hold(values, undecided, verdict):
    wanted = {"a is 1": turn(a=1.0 if values["a"] == 5 else 5.0), "b": turn(b=2.0 if values["b"] == 9 else 9.0)}
    decision = decide(claimed(both, wanted | {undecided: wrong_formula("x", lacking)}), data(0.0, **values))
    assert decision.ledger["verdict"] == verdict


# Declarations and rows


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ({"kind": "theorem"}, "kind 'theorem' is not one of identity"),
        ({"origin": "someone"}, "origin 'someone' is not one of paper, ours"),
        ({"corrected_formula": "r = 2"}, "say in correction, in words"),
        ({"kind_of_slip": "typo"}, "kind of slip 'typo' is not one of misprint, slip in a proof"),
        ({"words": "for all $x > 0$"}, "words and line go together"),
        ({"words": "for all x", "line": 3, "origin": "ours"}, "a statement of ours quotes no paper"),
        ({"words": "so " * 16, "line": 3}, "16 quoted words, at most 15"),
    ],
)
def test_an_incomplete_declaration_is_refused(further, message):
    with pytest.raises(ValueError, match=f"claim x-1: {message}"):
        claim("x-1", **({"where": "Theorem 1", "kind": "identity", "states": "S."} | further))


def test_a_formula_counts_as_one_quoted_word():
    long = "w " * 13 + "$a + b + c = d + e$ ... $$f = g$$"
    assert claim("x-1", where="w", kind="bound", states="s", words=long, line=1)(holds).words == long


def test_claims_of_a_module_keep_their_order():
    module = ModuleType("claims")
    for name in ("z", "a", "m"):
        setattr(module, name, claim(name, where="w", kind="bound", states="s")(holds))
    module.helper = holds
    assert [claim.id for claim in claims_of(module)] == ["z", "a", "m"]


def test_one_id_for_two_claims_is_refused_within_and_across_modules():
    modules = [ModuleType("claims.early"), ModuleType("claims.late")]
    for name, module in zip(("first", "second"), modules, strict=True):
        setattr(module, name, claimed(holds))
    with pytest.raises(RepdynError, match="two claims share the id x-thm1"):
        claims_of(*modules)
    modules[0].again = claimed(corrected)
    with pytest.raises(RepdynError, match="two claims share the id x-thm1"):
        claims_of(modules[0])


@pytest.mark.parametrize(
    ("claim", "first"),
    [
        (claimed(holds, put(3.0)), data(1.0)),
        (claimed(corrected, put(4.0)), data(2.0)),
        (claimed(lambda: not_testable("existence")), None),
        (claimed(both, {"a is 1": turn(a=3.0)}), PARTS),
        (claimed(lacking, put(3.0)), data(1.0)),
    ],
    ids=["plain", "corrected", "not testable", "conjunction", "too little data"],
)
def test_every_row_has_every_column(claim, first):
    decision = decide(claim, *([] if first is None else [first]))
    assert ",".join(decision.ledger) == LEDGER
    assert {",".join(row) for row in decision.evidence} <= {EVIDENCE}
    for row in (decision.ledger, *decision.evidence):
        assert all(isinstance(value, str | int) for value in row.values())


def test_a_row_tells_the_correction_only_where_the_print_is_refuted():
    says = {
        "correction": "The residual is 2.",
        "possible_ocr_error": True,
        "formula": "r = 1",
        "corrected_formula": "r = 2",
        "origin": "ours",
        "kind_of_slip": "misprint",
        "assumes": "r is not 0",
    }
    refuted, kept = (decide(claimed(corrected, put(9.0), **says), data(value)).ledger for value in (2.0, 1.0))
    assert (refuted["correction"], refuted["possible_ocr_error"]) == ("The residual is 2.", True)
    assert (refuted["formula"], refuted["corrected_formula"], refuted["origin"]) == ("r = 1", "r = 2", "ours")
    assert [row["kind_of_slip"] for row in (refuted, kept)] == ["misprint", ""]
    assert refuted["assumes"] == "r is not 0"
    assert (kept["correction"], kept["measured"]) == ("", kept["printed_measured"])
    assert (kept["formula"], kept["corrected_formula"]) == ("r = 1", "")


def test_a_row_names_the_check_and_its_interval():
    def sampled(first):
        return Verdict.from_tests(mean_within(first["residual"], 0, 2, expected="1", reason="why"))

    first = xr.Dataset({"residual": ("i", np.array([0.9, 1.0, 1.1, 1.05]))})
    decision = decide(claimed(sampled, wrong_formula("nine more", lambda first: first + 9)), first)
    row, (evidence,) = decision.ledger, decision.evidence
    assert row["code"] == ""  # which the job knows
    assert (row["n"], row["false_alarm"]) == (4, "0.001")
    assert float(row["interval_low"]) < 1.0125 < float(row["interval_high"])
    assert (evidence["value"], evidence["region_low"], evidence["region_high"]) == ("1.0125", "0", "2")
    assert (evidence["interval_low"], evidence["n"]) == (row["interval_low"], 4)


def test_an_open_region_is_written_as_infinite():
    def check(first):
        return Verdict.from_tests(across(float(first["residual"]) - 1, float(first["residual"])))

    (evidence,) = decide(claimed(check, put(-4.0)), data(2.0)).evidence
    assert (evidence["region_low"], evidence["region_high"], evidence["value"]) == ("0", "inf", "")


# Readings


def read_early_and_late(first):
    late = over_readings(
        lambda window: mean_within(
            first["share"].isel(time=slice(-window, None)), 0.5, np.inf, expected="over half", reason="most"
        ),
        window={"last 3": 3, "last 4": 4, "all": 999},
    )
    return Verdict.from_tests(all_of(late=late, finite=at_most(first["share"], 9.0, expected="x", reason="x")))


def shares(*values):
    return xr.Dataset({"share": ("time", np.array(values))})


RISING, FLAT, LOW = (
    shares(0.0, 0.0, 0.9, 0.91, 0.9),
    shares(0.9, 0.91, 0.9, 0.9, 0.91),
    shares(0.1, 0.11, 0.1, 0.1, 0.1),
)


def read_claim(world):
    return claimed(read_early_and_late, {"late": false_world("nothing rises", lambda _: world), "finite": HUGE})


HUGE = false_world("a share of 10", lambda _: shares(0.9, 0.91, 0.9, 0.9, 10.0))


def test_readings_are_rows_of_evidence_and_their_agreement_the_verdict():
    decision = decide(read_claim(LOW), FLAT)
    assert decision.ledger["verdict"] == "holds"
    late = [row for row in decision.evidence if row["part"] == "late"]
    assert [row["reading"] for row in late] == ["", "window: last 3", "window: last 4", "window: all"]
    assert [row["control_outcome"] for row in late] == ["rejected", "", "", ""]
    assert late[0]["measured"].startswith("of 3 readings 3 pass; window: ")
    assert [bool(row["interval_low"]) for row in late] == [False, True, True, True]


def test_a_verdict_that_depends_on_the_reading_needs_a_control_that_turns_all_of_them():
    settings = {"share": ("time", np.r_[np.full(200, 0.4), 0.9, 0.91, 0.9, 0.9] + np.tile([0.001, 0.0], 102))}
    mixed = xr.Dataset(settings)
    assert decide(read_claim(LOW), mixed).ledger["verdict"] == "depends on the reading"
    doubted = decide(read_claim(mixed), mixed).ledger
    assert doubted["verdict"] == "not decidable at this scale"
    assert "does not see the difference" in doubted["note"]


def test_a_knock_out_is_a_control_of_its_own_kind():
    control = knock_out("weights frozen", lambda _: data(9.0))
    rows = decide(claimed(holds, control), data(1.0)).evidence
    assert [row["control_kind"] for row in rows] == ["knock-out"]


def test_where_networks_have_diverged_readings_that_contradict_decide_nothing():
    """Numbers that are missing fail comparisons, so that neither a refutation nor a contradiction counts."""

    def two_readings(first):
        windows = {"early": 0, "late": 1}
        return Verdict.from_tests(
            over_readings(lambda window: near(first["share"].isel(time=window), 1), window=windows)
        )

    world = shares(1.0, 5.0)
    check = claimed(two_readings, false_world("far off", lambda data: data + 9.0))
    assert decide_claim(check, {"first": world}).ledger["verdict"] == "depends on the reading"
    gone = world.assign_attrs({LEFT_OUT: "1 of 2 networks have diverged (rate: 9)"})
    assert decide_claim(check, {"first": gone}).ledger["verdict"] == "not decidable at this scale"


def test_a_check_that_no_control_turns_keeps_its_own_note():
    def noted(first):
        return Verdict.from_tests(near(first["residual"], 1), note="Seen once.")

    unturned = claimed(noted, false_world("the same again", lambda first: first))
    ledger = decide_claim(unturned, {"first": data(1.0)}).ledger
    assert ledger["verdict"] == "not decidable at this scale"
    assert ledger["note"].startswith("Seen once. ")
    assert len(ledger["note"]) > len("Seen once. ")


@pytest.mark.parametrize(
    ("values", "least"), [((30.0, 3.3, 9.0), 3.3), ((0.3, 2.9, 1.0), 2.9)], ids=["all fail", "all pass"]
)
def test_readings_are_shown_by_the_one_that_decides_least_clearly(values, least):
    """At most 3: what lies nearest to it, on whichever side."""

    def decide(size):
        return at_most(size, 3.0, expected="at most 3", reason="made up")

    shown = over_readings(decide, size={f"{value:g}": value for value in values})
    assert f"; size: {least:g}: " in shown.measured
    assert shown.margin == decide(least).margin
