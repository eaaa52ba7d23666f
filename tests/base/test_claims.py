"""Claims: a check must be able to fail, each part has its control, missing data decide nothing."""

import math
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

from repdyn.base.claims import claim, claims_of
from repdyn.base.controls import exchange, false_world, knock_out, wrong_formula
from repdyn.base.datasets import LEFT_OUT, require
from repdyn.base.decisions import decide_claim
from repdyn.base.errors import NotEnoughDataError, RepdynError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import interval_within, mean_within
from repdyn.base.verdicts import FAILED, Verdict, all_of, at_most, deviation, not_reproducible, not_testable

UNDECIDED = "not decidable at this scale"


def data(value, **others):
    return xr.Dataset({name: ((), number) for name, number in ({"residual": value} | others).items()})


def near(value, target):
    return deviation(float(value) - target, 0.5, expected=f"{target}", reason="half a unit")


def across(low, high):
    """An interval that must be above 0."""
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
    return Verdict.from_tests(all_of({"a": near(first["a"], 1), "b": near(first["b"], 2)}))


def sides(first):
    """Each part by the sign of its number; across 0 it is undecided."""
    a, b = float(first["a"]), float(first["b"])
    return Verdict.from_tests(all_of(a=across(a - 1, a + 1), b=across(b - 1, b + 1)))


def holds_or_not_testable(first):
    return holds(first) if first["residual"] < 2 else not_testable("too large")


def tried_and_tested(first):
    return not_reproducible("tried", near(first["residual"], 1))


def lacking(first):
    raise NotEnoughDataError("losses: network = tanh")


def put(value):
    """A control with another residual in all datasets."""
    return wrong_formula("another value", lambda *arguments: tuple(data(value) for _ in arguments))


def turn(**values):
    """A control that changes variables."""
    return wrong_formula("others", lambda first: first.assign({k: ((), v) for k, v in values.items()}))


def decide(claim, *arguments):
    return decide_claim(claim, dict(zip(("first", "second"), arguments, strict=False)))


LACKS = wrong_formula("lacks data", lacking)
ACROSS = claimed(lambda first: Verdict.from_tests(across(float(first["residual"]) - 1, float(first["residual"]))))
ONE_CONTROL = [  # check, its control, residual, verdict, outcome of the control
    (holds, put(3.0), 1.25, "holds", "rejected"),
    (holds, put(1.1), 1.0, UNDECIDED, "not rejected"),
    (lambda first: Verdict.from_tests(near(1, 1)), put(3.0), 1.0, UNDECIDED, "not rejected"),  # reads nothing
    (holds, put(1.0), 9.0, "does not hold", "rejected"),  # data for which it would hold
    (holds, put(8.0), 9.0, UNDECIDED, "not rejected"),
    (corrected, put(4.0), 2.25, "holds as corrected", "rejected"),
    (corrected, put(2.1), 2.0, UNDECIDED, "not rejected"),
    (corrected, put(1.0), 2.0, UNDECIDED, "not rejected"),
    (corrected, put(2.0), 9.0, "does not hold", "rejected"),
    (corrected, put(8.0), 9.0, UNDECIDED, "not rejected"),
    (corrected, put(2.0), 1.0, "holds", "rejected"),  # as printed: that it fits the corrected form does not count
    (holds, LACKS, 1.0, UNDECIDED, "undecided"),
    (holds, {"a": put(3.0)}, 1.0, UNDECIDED, ""),  # matches no part
    (ACROSS.check, put(0.5), 3.0, UNDECIDED, "undecided"),
    (ACROSS.check, put(-4.0), 2.0, "holds", "rejected"),
    (holds_or_not_testable, put(3.0), 1.0, UNDECIDED, "not rejected"),
    (tried_and_tested, put(1.0), 1.0, "not reproducible as stated", "not rejected"),
    (lambda first: not_reproducible("tried"), put(1.0), 1.0, "not reproducible as stated", "not rejected"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "control", "value", "verdict", "outcome"), ONE_CONTROL)
def test_claim_is_decided_if_its_control_is_rejected(check, control, value, verdict, outcome):
    row = decide(claimed(check, control), data(value)).ledger
    assert (row["verdict"], row["control_outcome"]) == (verdict, outcome)


SEVERAL_CONTROLS = [  # check, controls, values of a and b, verdict, outcomes of the controls of a and b
    (both, {"a": turn(a=3.0), "b": turn(b=2.75)}, (1.25, 2.125), "holds", ["rejected", "rejected"]),
    (both, {"a": turn(a=3.0), "b": turn(a=3.0)}, (1.25, 2.125), UNDECIDED, ["rejected", "not rejected"]),
    (both, turn(a=3.0, b=3.0), (1.25, 2.125), "holds", ["rejected", "rejected"]),
    (both, {"a": turn(a=1.0), "b": turn(b=9.0)}, (5.0, 2.0), "does not hold", ["rejected", "rejected"]),
    (both, {"a": turn(a=4.0), "b": turn(b=9.0)}, (5.0, 2.0), UNDECIDED, ["not rejected", "rejected"]),
    (both, {"a": turn(a=5.0), "b": LACKS}, (1.0, 2.0), UNDECIDED, ["rejected", "undecided"]),
    (both, {"a": turn(a=1.0), "b": LACKS}, (5.0, 2.0), "does not hold", ["rejected", "undecided"]),
    (both, {"a": LACKS, "b": turn(b=9.0)}, (5.0, 2.0), UNDECIDED, ["undecided", "rejected"]),
    (both, {"a": turn(a=1.0), "b": LACKS}, (5.0, 9.0), "does not hold", ["rejected", "undecided"]),
    (sides, {"a": turn(a=5.0), "b": turn(b=5.0)}, (-5.0, 0.0), "does not hold", ["rejected", "not rejected"]),
    (sides, {"a": turn(a=-6.0), "b": turn(b=5.0)}, (-5.0, 0.0), UNDECIDED, ["not rejected", "not rejected"]),
    (sides, {"b": turn(b=5.0)}, (-5.0, 0.0), "does not hold", ["", "not rejected"]),
]


@pytest.mark.parametrize(("check", "controls", "values", "verdict", "outcomes"), SEVERAL_CONTROLS)
def test_each_part_has_its_control(check, controls, values, verdict, outcomes):
    decision = decide(claimed(check, controls), data(0.0, a=values[0], b=values[1]))
    assert decision.ledger["verdict"] == verdict
    assert [row["part"] for row in decision.evidence] == ["a", "b"]
    assert [row["control_outcome"] for row in decision.evidence] == outcomes


def test_ledger_row_has_the_numbers_of_test_and_control():
    decision = decide(claimed(both, {"a": turn(a=3.0), "b": turn(b=2.75)}), data(0.0, a=1.25, b=2.125))
    numbers = ("value", "region_low", "region_high", "margin", "control_margin")
    rows = [[float(row[name]) for name in numbers] for row in decision.evidence]
    assert rows == [pytest.approx([0.25, -math.inf, 0.5, 2, 0.25]), pytest.approx([0.125, -math.inf, 0.5, 4, 2 / 3])]
    assert float(decision.ledger["control_margin"]) == pytest.approx(2 / 3, rel=1e-5), "the weakest control"
    assert {row["control_kind"] for row in decision.evidence} == {"wrong formula"}


def test_control_of_a_corrected_claim_uses_the_corrected_form():
    decision = decide(claimed(corrected, put(4.0)), data(2.25))
    assert {row["form"]: row["control_outcome"] for row in decision.evidence} == {
        "printed": "",
        "corrected": "rejected",
    }
    row = decision.ledger
    assert [float(row[name]) for name in ("printed_margin", "margin", "control_margin")] == [0.4, 2, 0.25]


def test_sampled_test_has_its_interval_and_number_of_samples():
    def sampled(first):
        return Verdict.from_tests(mean_within(first["residual"], 0, 2, expected="1", reason="why"))

    first = xr.Dataset({"residual": ("i", np.array([0.9, 1.0, 1.1, 1.05]))})
    decision = decide(claimed(sampled, wrong_formula("nine more", lambda first: first + 9)), first)
    for row in (decision.ledger, *decision.evidence):
        assert int(row["n"]) == 4
        assert float(row["interval_low"]) < 1.0125 < float(row["interval_high"])


@pytest.mark.parametrize(
    ("control", "left"), [(turn(a=3.0, b=3.0), ["a", "b"]), ({"a": turn(a=3.0)}, ["b"]), ({"b": turn(b=3)}, ["a"])]
)
def test_parts_without_a_control_are_listed(control, left):
    row = decide(claimed(both, control), data(0.0, a=1.25, b=2.125)).ledger
    assert row["uncontrolled_parts"] == "; ".join(left)


def test_group_of_tests_is_one_part_with_a_row_for_each():
    def check(first):
        group = all_of({"at 2": near(first["a"], 1), "at 4": near(first["b"], 2)})
        return Verdict.from_tests(all_of(start=near(first["residual"], 0), path=group))

    decision = decide(claimed(check, {"start": turn(residual=4.0), "path": turn(b=7.0)}), data(0.0, a=1.25, b=2.125))
    rows = [(row["part"], row["control_of"], row["control_outcome"]) for row in decision.evidence]
    assert rows == [(name, name.split()[0], "rejected") for name in ("start", "path at 2", "path at 4")]


def test_parts_may_depend_on_the_run():
    def check(first):
        return Verdict.from_tests(all_of({name: near(first[name], 1) for name in "ab" if name in first}))

    one_part = claimed(check, {"a": turn(a=3.0), "b": turn(b=3.0)})
    assert [row["part"] for row in decide(one_part, data(0.0, a=1.0)).evidence] == ["a"]
    other = claimed(check, {"c": turn(a=3.0), "d": turn(b=3.0)})
    assert decide(other, data(0.0, a=1.0, b=1.0)).ledger["verdict"] == UNDECIDED


def test_check_without_a_control_is_an_error_unless_nothing_can_be_tested():
    for check in (holds, tried_and_tested):
        with pytest.raises(RepdynError, match="x-thm1"):
            decide(claimed(check), data(1.0))
    decision = decide(claimed(lambda: not_testable("existence")))
    assert (decision.ledger["verdict"], decision.evidence) == ("not testable", [])


def test_verdict_with_a_control_that_only_shifts_a_number_says_so():
    shifted = false_world("five more", lambda first: first + 5.0)
    exchanged = false_world("the other residual", lambda first: first.assign(residual=first["a"]))
    both = data(1.0, a=9.0)
    notes = [decide(claimed(holds, control), both).ledger["why"] for control in (shifted, exchanged)]
    assert [bool(note) for note in notes] == [True, False]


def test_knock_out_is_recorded_as_its_own_kind_of_control():
    rows = decide(claimed(holds, knock_out("weights frozen", lambda _: data(9.0))), data(1.0)).evidence
    assert [row["control_kind"] for row in rows] == ["knock-out"]


def test_datasets_and_variants_are_passed_by_name():
    def difference(second, first):
        return Verdict.from_tests(near(second["residual"] - first["residual"], 1))

    def of_variant(first):
        return Verdict.from_tests(near(first["a"]["residual"], 1))

    swapped = claimed(difference, false_world("exchanged", lambda a, b: (b, a)))
    others = claimed(of_variant, false_world("the other", lambda nets: {"a": nets["b"], "b": nets["a"]}))
    three = {"first": data(2.0), "second": data(3.0), "third": data(9.0)}
    for decision in (decide_claim(swapped, three), decide(others, {"a": data(1.0), "b": data(5.0)})):
        assert decision.ledger["verdict"] == "holds"
        assert decision.evidence[0]["control_change"] == "recorded"
    with pytest.raises(RepdynError, match=r"x-thm1.*second"):
        decide_claim(swapped, {"other": data(1.0), "first": data(1.0)})


@pytest.mark.parametrize("returned", [None, True, "holds", Verdict("true")])
def test_check_returns_a_verdict(returned):
    with pytest.raises(RepdynError, match="x-thm1"):
        decide(claimed(lambda first: returned, put(3.0)), data(1.0))


# Missing data


def test_claim_with_too_few_data_is_undecided():
    def check(first):
        require(first, "losses", seed=5)
        raise AssertionError("not reached")

    decision = decide(claimed(check, put(3.0)), data(1.0))
    assert (decision.ledger["verdict"], decision.evidence) == (UNDECIDED, [])
    absent = false_world("needs tanh", exchange("network", "relu", "tanh"))
    row = decide(claimed(holds, absent), data(1.0).assign_coords(network=["relu"])).ledger
    assert (row["verdict"], row["control_outcome"]) == (UNDECIDED, "undecided")


@pytest.mark.parametrize("where", ["check", "control"])
@pytest.mark.parametrize("error", [KeyError, ValueError, TypeError, ZeroDivisionError, AssertionError])
def test_claim_whose_check_raises_has_failed(error, where, capsys):
    def fail(first):
        raise error("lost axis")

    claim = claimed(corrected, wrong_formula("three more", fail)) if where == "control" else claimed(fail, put(3.0))
    row = decide(claim, data(1.0)).ledger
    assert row["verdict"] == FAILED
    assert error.__name__ in row["why"]
    assert "lost axis" in row["why"]
    assert "Traceback" in capsys.readouterr().err


def test_explained_missing_values_leave_the_claim_undecided():
    first = data(np.nan)
    assert decide(claimed(corrected, put(4.0)), first).ledger["verdict"] == FAILED
    first["residual"].attrs["missing"] = "no network has learned"
    row = decide(claimed(corrected, put(4.0)), first).ledger
    assert row["verdict"] == UNDECIDED
    assert "residual" in row["why"]


@pytest.mark.parametrize(("value", "verdict"), [(1.0, "holds"), (2.0, UNDECIDED), (9.0, UNDECIDED)])
def test_claim_on_diverged_networks_is_never_refuted(value, verdict):
    control = put({1.0: 5.0, 2.0: 5.0, 9.0: 2.0}[value])
    first = data(value).assign_attrs({LEFT_OUT: "1 of 2 networks have diverged (rate: 9)"})
    assert decide(claimed(corrected, control), first).ledger["verdict"] == verdict


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


FLAT, LOW = shares(0.9, 0.91, 0.9, 0.9, 0.91), shares(0.1, 0.11, 0.1, 0.1, 0.1)
MIXED = shares(*(np.r_[np.full(200, 0.4), 0.9, 0.91, 0.9, 0.9] + np.tile([0.001, 0.0], 102)))


def read_claim(world):
    huge = false_world("a share of 10", lambda _: shares(0.9, 0.91, 0.9, 0.9, 10.0))
    return claimed(read_early_and_late, {"late": false_world("nothing rises", lambda _: world), "finite": huge})


def test_readings_are_evidence_rows_and_their_agreement_is_the_verdict():
    decision = decide(read_claim(LOW), FLAT)
    assert decision.ledger["verdict"] == "holds"
    late = [row for row in decision.evidence if row["part"] == "late"]
    assert [bool(row["reading"]) for row in late] == [False, True, True, True]
    assert [row["control_outcome"] for row in late] == ["rejected", "", "", ""]
    assert [bool(row["interval_low"]) for row in late] == [False, True, True, True]


def test_verdict_that_depends_on_the_reading_needs_a_control_of_all_readings():
    assert decide(read_claim(LOW), MIXED).ledger["verdict"] == "depends on the reading"
    assert decide(read_claim(MIXED), MIXED).ledger["verdict"] == UNDECIDED


def test_contradicting_readings_on_diverged_networks_are_undecided():
    """Missing numbers fail comparisons, so that neither a refutation nor a contradiction counts."""

    def two_readings(first):
        windows = {"early": 0, "late": 1}
        return Verdict.from_tests(
            over_readings(lambda window: near(first["share"].isel(time=window), 1), window=windows)
        )

    world = shares(1.0, 5.0)
    check = claimed(two_readings, false_world("far off", lambda data: data + 9.0))
    assert decide(check, world).ledger["verdict"] == "depends on the reading"
    gone = world.assign_attrs({LEFT_OUT: "1 of 2 networks have diverged (rate: 9)"})
    assert decide(check, gone).ledger["verdict"] == UNDECIDED


# Declarations


@pytest.mark.parametrize(
    ("further", "named"),
    [
        ({"kind": "theorem"}, "theorem"),
        ({"origin": "someone"}, "someone"),
        ({"corrected_formula": "r = 2"}, "correction"),
        ({"kind_of_slip": "typo"}, "typo"),
        ({"words": "for all $x > 0$"}, "words"),
        ({"line": 3}, "line"),
        ({"words": "for all x", "line": 3, "origin": "ours"}, "ours"),
        ({"words": "so " * 16, "line": 3}, "16"),
    ],
)
def test_incomplete_declaration_is_rejected(further, named):
    with pytest.raises(ValueError, match=f"x-1.*{named}"):
        claim("x-1", **({"where": "Theorem 1", "kind": "identity", "states": "S."} | further))(holds)


def test_formula_counts_as_one_quoted_word():
    long = "w " * 13 + "$a + b + c = d + e$ ... $$f = g$$"
    assert claim("x-1", where="w", kind="bound", states="s", words=long, line=1)(holds).words == long


def test_claims_of_modules_keep_their_order_and_an_id_is_used_once():
    modules = [ModuleType("claims.early"), ModuleType("claims.late")]
    for name in ("z", "a", "m"):
        setattr(modules[0], name, claim(name, where="w", kind="bound", states="s")(holds))
    modules[0].helper = holds
    assert [claim.id for claim in claims_of(modules[0])] == ["z", "a", "m"]
    modules[1].b = claim("m", where="w", kind="bound", states="s")(holds)
    with pytest.raises(RepdynError, match="m"):
        claims_of(*modules)
