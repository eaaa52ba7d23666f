"""Claims with several of everything: parts and controls in no order, datasets and variants, ids that stand twice."""

import re
from types import ModuleType

import pytest
from tests.base.test_claims import SEEN, claimed, corrected, data, decide, holds, lacking, near, put, turn

from repdyn.base.claims import Claim, claim, claims_of, decide_claim
from repdyn.base.controls import false_world, wrong_formula
from repdyn.base.datasets import LEFT_OUT, require
from repdyn.base.errors import RepdynError
from repdyn.base.verdicts import Verdict, not_reproducible


def three(first):
    """Three parts: c is 3, a is 1, b is 2."""
    wanted = {"c": 3, "a": 1, "b": 2}
    return Verdict.from_tests({name: near(first[name], value) for name, value in wanted.items()})


UNDECIDED = "not decidable at this scale"
LACKS = wrong_formula("a lacks", lacking)
REFUTED, KEPT = data(0.0, a=5.0, b=2.25, c=9.0), data(0.0, a=1.0, b=2.25, c=3.125)
A_LACKS = "The control of a (a lacks) is undecided: too little data, losses: network = tanh."


@pytest.mark.parametrize(
    ("first", "controls", "verdict", "outcomes", "note"),
    [
        (
            KEPT,
            {"b": turn(b=9.0), "c": turn(c=5.0), "a": turn(a=4.0)},
            "holds",
            ["rejected", "rejected", "rejected"],
            "",
        ),
        (
            KEPT,
            {"b": turn(b=9.0), "c": turn(c=3.25), "a": LACKS},
            UNDECIDED,
            ["not rejected", "undecided", "rejected"],
            f"{SEEN}the control of c (other c) passes with largest deviation 0.25. {A_LACKS}",
        ),
        (
            REFUTED,
            {"b": turn(b=9.0), "c": turn(c=8.0), "a": LACKS},
            UNDECIDED,
            ["not rejected", "undecided", "rejected"],
            f"{SEEN}the control of c (other c) fails with largest deviation 5. {A_LACKS}",
        ),
        (
            REFUTED,
            {"b": turn(b=2.0), "c": turn(c=8.0), "a": turn(a=1.0)},
            "does not hold",
            ["not rejected", "rejected", "not rejected"],
            "",
        ),
        (
            REFUTED,
            {"b": turn(b=2.0), "a": LACKS, "c": turn(c=3.0)},
            "does not hold",
            ["rejected", "undecided", "not rejected"],
            "",
        ),
    ],
)
def test_of_three_parts_each_control_that_does_not_turn_is_named(first, controls, verdict, outcomes, note):
    decision = decide(claimed(three, controls), first)
    assert (decision.ledger["verdict"], decision.ledger["note"]) == (verdict, note)
    assert [row["part"] for row in decision.evidence] == ["c", "a", "b"]
    assert [row["control_outcome"] for row in decision.evidence] == outcomes
    assert [row["control"] for row in decision.evidence] == [controls[part].says for part in "cab"]
    assert decision.ledger["control"] == "; ".join(control.says for control in controls.values())


def test_what_is_not_reproducible_keeps_its_verdict_and_note_whatever_its_controls_give():
    for check in (
        lambda first: not_reproducible("tried", near(first["residual"], 1)),
        lambda first: not_reproducible("tried"),
    ):
        row = decide(claimed(check, put(1.0)), data(1.0)).ledger
        assert (row["verdict"], row["note"]) == ("not reproducible as stated", "tried")
        assert (row["control"], row["control_outcome"]) == ("another value", "not rejected")


def test_a_control_of_what_gives_no_test_must_be_refused_by_the_check():
    def check(first):
        return not_reproducible("tried", near(first["residual"], 1) if first["residual"] > 2 else None)

    row = decide(claimed(check, put(3.0)), data(1.0)).ledger
    assert (row["control_outcome"], row["control_margin"]) == ("rejected", "0.25")
    parts = claimed(lambda first: not_reproducible("tried"), {"a": put(3.0), "b": put(5.0)})
    assert decide(parts, data(1.0)).ledger["control"] == "another value; another value"


def test_what_holds_as_printed_is_controlled_as_printed():
    """The control's world fits the corrected form, which has no part in the verdict."""
    decision = decide(claimed(corrected, put(2.0)), data(1.0))
    row = decision.ledger
    assert (row["verdict"], row["control_outcome"], row["control_margin"]) == ("holds", "rejected", "0.5")


SAID = ["1 of 2 networks have diverged (rate: 9)", "3 of 4 networks have diverged (rate: 8)"]
DIVERGED = {
    "whole": data(1.0),
    "one": data(1.0).assign_attrs({LEFT_OUT: SAID[0]}),
    "other": data(1.0).assign_attrs({LEFT_OUT: SAID[1]}),
}


def given(check, control=None, second=None):
    """The row of a claim that reads variants of which two lack networks, and a dataset that is whole."""
    inputs = {"first": DIVERGED, "second": data(2.0) if second is None else second}
    return decide_claim(claimed(check, control or false_world("the same", lambda *data: data)), inputs).ledger


def test_a_run_too_small_says_what_it_needs_and_which_networks_have_diverged():
    def foreseen(first, second):
        require(second, "losses", seed=5)

    def unforeseen(first, second):
        raise KeyError("tanh")

    said = "; ".join(SAID)
    assert given(foreseen)["note"] == f"Needs more than this run has: losses: 5 along seed, has 0; {said}."
    assert given(unforeseen)["note"] == f"Needs more than this run has: networks that train; {said}."


@pytest.mark.parametrize(
    ("value", "note", "verdict"),
    [(1.0, "", "holds"), (1.0, "Seen once.", "holds"), (2.0, "", UNDECIDED), (9.0, "Seen once.", UNDECIDED)],
)
def test_where_networks_have_diverged_a_claim_holds_or_is_undecided_and_tells_the_gaps(value, note, verdict):
    def check(first, second):
        residual = second["residual"]
        return Verdict.from_tests(near(residual, 1), near(residual, 2), note=note)

    turned = {1.0: 5.0, 2.0: 5.0, 9.0: 2.0}[value]
    control = wrong_formula("x", lambda first, second: (first, data(turned)))
    row = given(check, control, second=data(value))
    assert (row["verdict"], row["note"]) == (verdict, f"{note} Gaps in the data: {'; '.join(SAID)}.".strip())


def test_datasets_that_are_missing_are_named_beside_those_that_are_given():
    wanting = claimed(lambda third, first, second: None, put(3.0))
    for given, names in ((("z", "first", "b"), "b, first, z"), ((), "none")):
        wanted = [name for name in ("third", "first", "second") if name not in given]
        message = f"claim x-thm1 wants the datasets {', '.join(wanted)}, but the rule gives only {names}"
        with pytest.raises(RepdynError, match=f"^{re.escape(message)}$"):
            decide_claim(wanting, dict.fromkeys(given, data(1.0)))


def test_ids_that_stand_twice_are_named_in_order_with_the_first_module():
    modules = [ModuleType(f"claims.{name}") for name in ("late", "early", "middle")]
    ids = [["once", "m", "b"], ["z", "c", "m"], ["b", "c", "alone"]]
    for module, names in zip(modules, ids, strict=True):
        for place, name in enumerate(names):
            setattr(module, f"at_{place}", claim(name, where="w", kind="bound", states="s")(holds))
    with pytest.raises(RepdynError, match=r"^claims\.late: two claims share the id b, c, m$"):
        claims_of(*modules)
    assert [found.id for found in claims_of(modules[2])] == ids[2]


def test_a_claim_keeps_all_that_is_declared_of_it():
    says = {
        "where": "Theorem 1", "kind": "limit", "states": "It ends.", "origin": "paper", "correction": "It goes on.",
        "possible_ocr_error": True, "formula": "r = 1", "corrected_formula": "r = 2", "words": "so it ends", "line": 7,
        "assumes": "r is not 0", "kind_of_slip": "missing hypothesis",
    }  # fmt: skip
    controls = {"b": put(3.0), "a": put(4.0)}

    def check(third, first, second):
        """First line.

        Second line.
        """

    declared = claim("x-1", control=controls, **says)(check)
    assert declared == Claim(
        id="x-1", data=("third", "first", "second"), check=check, controls=controls,
        decided="First line.\n\nSecond line.", **says,
    )  # fmt: skip
    bare = claim("x-1", where="w", kind="bound", states="s", control=controls["a"])(lambda first: None)
    assert (bare.decided, bare.controls, bare.data) == ("", {"": controls["a"]}, ("first",))


def test_a_line_without_words_is_refused():
    with pytest.raises(ValueError, match="claim x-1: words and line go together, got words '' and line 3"):
        claim("x-1", where="w", kind="bound", states="s", line=3)
