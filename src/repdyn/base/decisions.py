"""Decides a claim: runs its check and its controls on the data of a run, and records the outcome.

A record is a row of the ledger, and a row of evidence per test and reading; `docs/outputs.md` explains their columns.
"""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import xarray as xr

from repdyn.base import controls as spoiling
from repdyn.base.claims import WHOLE, Claim
from repdyn.base.controls import Control, Datasets
from repdyn.base.datasets import explained_gaps, said_to_have_diverged
from repdyn.base.errors import NotEnoughDataError, NotFiniteError, RepdynError
from repdyn.base.facts import plain_facts
from repdyn.base.verdicts import DECIDED, DEPENDS, FAILED, REFUTED, STATUSES, UNDECIDED, Test, Verdict, weakest

TEXTS = (
    *("correction", "possible_ocr_error", "kind_of_slip", "message", "cause", "consequence", "sought", "defence"),
    *("answer", "remark", "words", "line", "assumes", "formula", "corrected_formula"),
)
"""Texts of a claim in the ledger; `NOT_OF` those that a verdict leaves empty."""
OF_REFUTED = ("correction", "kind_of_slip", "message", "cause", "consequence", "corrected_formula")
NOT_OF = {"holds": (*OF_REFUTED, "defence", "answer"), "holds as corrected": (), "does not hold": ("sought",)}
NUMBERS = (
    *("measured", "statistic", "value", "unit", "region_low", "region_high", "expected", "margin", "tolerance"),
    *("tolerance_reason", "n", "interval_low", "interval_high", "false_alarm"),
)
"""What the ledger has of the decisive test."""
NO_TEST = Test("undecided", "", math.nan, "", false_alarm=math.nan)
Row = dict[str, object]


@dataclass(frozen=True)
class Decision:
    """A claim's row of the ledger and its evidence, a row per part of the check."""

    ledger: Row
    evidence: list[Row]


@dataclass(frozen=True)
class Rejection:
    """Result of a control: the outcome of the part it should change, and the kind of change it makes."""

    outcome: str
    measured: str
    margin: float | None
    change: str


def decide_claim(claim: Claim, datasets: Mapping[str, xr.Dataset | Mapping[str, xr.Dataset]]) -> Decision:
    """Runs a claim's check and its controls.

    If a run lacks data for the check or a control, or a control does not change the outcome, the claim is undecided,
    with the reason. The same holds for diverged networks and explained missing values, for which a check need not be
    prepared. Any other error of the check is a bug: the claim's status says that the check failed, and the traceback is
    printed.

    Raises:
        RepdynError: a check has no control or did not return a verdict, or a dataset is missing.
    """
    if missing := [name for name in claim.data if name not in datasets]:
        raise RepdynError(
            f"claim {claim.id} needs the datasets {', '.join(missing)}, but the rule has only "
            f"{', '.join(sorted(datasets)) or 'none'}"
        )
    inputs = tuple(datasets[name] for name in claim.data)
    diverged = said_to_have_diverged(*inputs)
    try:
        return _decided(claim, inputs, diverged)
    except NotEnoughDataError as error:
        why = f"Needs more than this run has: {error}{f'; {diverged}' if diverged else ''}."
        return decision(claim, Verdict(UNDECIDED, why=why, trials=error.trials), {})
    except _BadClaimError:
        raise
    except Exception as error:  # any error, so that the other claims are still decided
        if diverged:
            why = f"Needs more than this run has: networks that train; {diverged}."
            return decision(claim, Verdict(UNDECIDED, why=why), {})
        if isinstance(error, NotFiniteError) and (gaps := explained_gaps(*inputs)):
            why = f"Needs more than this run has: numbers without gaps in {gaps}."
            return decision(claim, Verdict(UNDECIDED, why=why), {})
        traceback.print_exc()
        return decision(claim, Verdict(FAILED, why=f"{type(error).__name__}: {error}"), {})


class _BadClaimError(RepdynError):
    """A claim whose declaration makes it undecidable."""


def _decided(claim: Claim, inputs: Datasets, diverged: str) -> Decision:
    verdict = claim(*inputs)
    if not isinstance(verdict, Verdict) or verdict.status not in STATUSES:
        raise _BadClaimError(f"claim {claim.id}: the check returned {verdict!r}, not a verdict")
    if verdict.status == "not testable":
        return decision(claim, verdict, {})
    if not claim.controls:
        raise _BadClaimError(f"claim {claim.id}: no negative control, so the check may be unable to fail; add one")
    rejections = {part: _reject(claim, part, inputs, verdict) for part in _controlled(claim, verdict)}
    if reason := _doubt(claim, verdict, rejections):
        verdict = replace(verdict, status=UNDECIDED, why=reason)
    if weak := _weak_controls(claim, rejections):
        verdict = replace(verdict, why=f"{verdict.why} {weak}".strip())
    if diverged:
        verdict = _on_the_rest(verdict, diverged)
    return decision(claim, verdict, rejections)


def _on_the_rest(verdict: Verdict, diverged: str) -> Verdict:
    """The verdict if networks have diverged: nothing is refuted, since missing numbers fail comparisons."""
    status = UNDECIDED if verdict.status in (*REFUTED, DEPENDS) else verdict.status
    return replace(verdict, status=status, why=f"{verdict.why} Gaps in the data: {diverged}.".strip())


def _controlled(claim: Claim, verdict: Verdict) -> list[str]:
    """Parts with a control; the parts may depend on the run's variants."""
    return [part for part in claim.controls if verdict.decisive is None or _part(verdict.decisive, part) is not None]


def _doubt(claim: Claim, verdict: Verdict, rejections: Mapping[str, Rejection]) -> str:
    """Why the verdict does not count: its control was not rejected; one failing part suffices to refute."""
    if verdict.status not in (*DECIDED, DEPENDS):
        return ""
    if not rejections:
        return f"No control names a part of the check (controls: {', '.join(claim.controls)})."
    open_parts = [part for part, rejection in rejections.items() if rejection.outcome != "rejected"]
    if verdict.status == "does not hold":
        tests = {part: _part(verdict.decisive, part) for part in rejections}
        failing = [part for part, test in tests.items() if test is not None and test.outcome == "fails"]
        open_parts = failing if set(failing) <= set(open_parts) else []
    return " ".join(_why(claim.controls[part], part, rejections[part]) for part in open_parts)


def _why(control: Control, part: str, rejection: Rejection) -> str:
    name = f"The control of {part or 'the check'} ({control.says})"
    measured = f" ({rejection.measured})" if rejection.measured else ""
    if rejection.outcome == "undecided":
        return f"{name} is undecided{measured}."
    if rejection.change == spoiling.UNCHANGED:
        return f"{name} changes nothing in the data, so it can never be rejected."
    return f"{name} has the same outcome{measured}: at these sizes the check cannot tell it from the statement."


def _weak_controls(claim: Claim, rejections: Mapping[str, Rejection]) -> str:
    """What controls lack that are rejected only because they shift a number or invent data."""
    weak = [
        f"The control of {part or 'the check'} ({claim.controls[part].says}) {spoiling.WEAK[rejection.change]}."
        for part, rejection in rejections.items()
        if rejection.outcome == "rejected" and rejection.change in spoiling.WEAK
    ]
    return " ".join(weak)


def _reject(claim: Claim, part: str, inputs: Datasets, verdict: Verdict) -> Rejection:
    control = claim.controls[part]
    before = _part(verdict.decisive, part)
    try:
        spoiled = control.data(*inputs)
        spoiled = spoiled if isinstance(spoiled, tuple) else (spoiled,)
        turned = claim(*spoiled)
    except NotEnoughDataError as error:
        return Rejection("undecided", f"too little data, {error}", None, "")
    change = spoiling.kind_of_change(control, inputs, spoiled)
    test = _part(_same_form(verdict, turned), part)
    if test is None:
        return Rejection("not rejected", f"gives no test, {turned.status!r}", None, change)
    wanted = "passes" if before is not None and before.outcome == "fails" else "fails"
    if test.outcome in ("undecided", wanted):
        return Rejection("rejected" if test.outcome == wanted else "undecided", test.measured, test.margin, change)
    return Rejection("not rejected", test.measured, test.margin, change)


def _same_form(verdict: Verdict, turned: Verdict) -> Test | None:
    """The control's test of the decisive form; a claim that now holds as printed has only that one."""
    return (turned.corrected if verdict.corrected and turned.corrected else None) or turned.printed


def _part(test: Test | None, part: str) -> Test | None:
    """A test's part by name, the test itself for the whole, None if there is no such part."""
    return test if test is None or part == WHOLE else test.parts.get(part)


# Records


def decision(claim: Claim, verdict: Verdict, rejections: Mapping[str, Rejection]) -> Decision:
    """The rows of a decided claim; `rejections` has the parts whose control ran."""
    evidence = [
        row
        for form, test in (("printed", verdict.printed), ("corrected", verdict.corrected))
        if test is not None
        for whole, part in (test.parts or {WHOLE: test}).items()
        for leaf, leaf_test in part.leaves.items()
        for row in _evidence_of(claim, form, whole, rejections if test is verdict.decisive else {}, leaf, leaf_test)
    ]
    return Decision(_row(claim, verdict, rejections), evidence)


def _evidence_of(
    claim: Claim, form: str, part: str, rejections: Mapping[str, Rejection], leaf: str, test: Test
) -> Iterator[Row]:
    """A row for one test with the control of its part or of the whole check, and a row for each of its readings."""
    name = f"{part} {leaf}".strip()
    about = {"id": claim.id, "form": form, "part": name, "label": claim.labels.get(name, "")}
    turned = part if part in rejections else WHOLE
    control, rejection = claim.controls.get(turned), rejections.get(turned)
    known = control is not None and rejection is not None
    of_control = {
        "control": control.says if control and known else "",
        "control_of": (turned or "whole check") if known else "",
        "control_kind": control.kind if control and known else "",
        "control_change": rejection.change if rejection else "",
        "control_outcome": rejection.outcome if rejection else "",
        "control_margin": _number(rejection.margin if rejection else None),
    }
    yield {**about, "reading": "", **_measured(test), **of_control}
    for reading, read in test.readings.items():
        deciding = replace(weakest(read.leaves.values()), outcome=read.outcome)
        yield {**about, "reading": reading, **_measured(deciding), **dict.fromkeys(of_control, "")}


def _measured(test: Test) -> Row:
    """What a test measured and required, as cells."""
    (low, high), (bottom, top) = test.interval or (None, None), test.region or (None, None)
    return {
        "outcome": test.outcome,
        "statistic": test.statistic,
        "value": _number(test.value),
        "out_of": test.out_of or "",
        "unit": test.unit,
        "interval_low": _number(low),
        "interval_high": _number(high),
        "region_low": _number(bottom),
        "region_high": _number(top),
        "measured": test.measured,
        "expected": test.expected,
        "margin": _number(test.margin),
        "tolerance": _number(test.tolerance),
        "tolerance_reason": test.reason,
        "n": test.n,
        "false_alarm": _number(test.false_alarm),
    }


def _row(claim: Claim, verdict: Verdict, rejections: Mapping[str, Rejection]) -> Row:
    texts = {name: getattr(claim, name) for name in TEXTS} | dict.fromkeys(NOT_OF.get(verdict.status, OF_REFUTED), "")
    texts["line"] = claim.line or ""
    printed, decisive = _measured(verdict.printed or NO_TEST), _measured(verdict.decisive or NO_TEST)
    parts = verdict.decisive.parts if verdict.decisive and rejections else {}
    trials = verdict.trials or ("", "")
    return {
        "id": claim.id,
        "where": claim.where,
        "kind": claim.kind,
        "origin": claim.origin,
        "statement": claim.states,
        "verdict": verdict.status,
        **texts,
        **{f"printed_{name}": printed[name] for name in ("measured", "expected", "margin")},
        **{name: decisive[name] for name in NUMBERS},
        "control": "; ".join(control.says for part, control in claim.controls.items() if part in rejections),
        "control_outcome": _controls_outcome(rejections.values()),
        "control_margin": _number(_nearest_to_one([rejection.margin for rejection in rejections.values()])),
        "uncontrolled_parts": "; ".join(part for part in parts if part not in claim.controls),
        "datasets": " ".join(claim.data),
        "code": "",  # a job knows the name under which it found the claim
        "facts": json.dumps(plain_facts(verdict.facts)) if verdict.facts else "",
        "why": verdict.why,
        "trials_needed": trials[0],
        "trials_present": trials[1],
    }


def _controls_outcome(rejections: Iterable[Rejection]) -> str:
    """The worst of the outcomes: not rejected, undecided, rejected; empty without controls."""
    outcomes = {rejection.outcome for rejection in rejections}
    return next((name for name in ("not rejected", "undecided", "rejected") if name in outcomes), "")


def _nearest_to_one(margins: Iterable[float | None]) -> float | None:
    """The margin nearest to 1: a control that fails by a factor 1.1 is weaker than one that fails by 100."""
    return min((margin for margin in margins if margin), key=lambda margin: abs(math.log(margin)), default=None)


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"
