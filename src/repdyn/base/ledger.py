"""Records of a decided claim: its row of the ledger, and a row of evidence per test and reading."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from repdyn.base.claims import WHOLE, Claim
from repdyn.base.facts import plain_facts
from repdyn.base.verdicts import REFUTED, Test, Verdict, weakest


class LedgerRow(TypedDict):
    """A claim's row of the ledger, columns in order; `docs/outputs.md` explains them."""

    id: str
    where: str
    kind: str
    origin: str
    statement: str
    verdict: str
    correction: str
    possible_ocr_error: bool
    kind_of_slip: str
    message: str
    cause: str
    consequence: str
    sought: str
    defence: str
    answer: str
    remark: str
    words: str
    line: int | str
    assumes: str
    formula: str
    corrected_formula: str
    printed_measured: str
    printed_expected: str
    printed_margin: str
    measured: str
    statistic: str
    value: str
    unit: str
    region_low: str
    region_high: str
    expected: str
    margin: str
    tolerance: str
    tolerance_reason: str
    n: int
    interval_low: str
    interval_high: str
    false_alarm: str
    control: str
    control_outcome: str
    control_margin: str
    uncontrolled_parts: str
    datasets: str
    code: str
    facts: str
    why: str
    trials_needed: int | str
    trials_present: int | str


class EvidenceRow(TypedDict):
    """A row of evidence: one test of one form of a claim, under one reading; columns as in `LedgerRow`."""

    id: str
    form: str
    part: str
    label: str
    reading: str
    outcome: str
    statistic: str
    value: str
    out_of: int | str
    unit: str
    interval_low: str
    interval_high: str
    region_low: str
    region_high: str
    measured: str
    expected: str
    margin: str
    tolerance: str
    tolerance_reason: str
    n: int
    false_alarm: str
    control: str
    control_of: str
    control_kind: str
    control_change: str
    control_outcome: str
    control_margin: str


@dataclass(frozen=True)
class Decision:
    """A claim's row of the ledger and its evidence, a row per part of the check."""

    ledger: LedgerRow
    evidence: list[EvidenceRow]


@dataclass(frozen=True)
class Rejection:
    """Result of a control: the outcome of the part it should change, and the kind of change it makes."""

    outcome: str
    measured: str
    margin: float | None
    change: str


def parts_without_control(claim: Claim, verdict: Verdict) -> list[str]:
    """Parts of the decisive conjunction without a control of their own."""
    decisive = verdict.decisive
    return [part for part in (decisive.parts if decisive else {}) if part not in claim.controls]


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
) -> Iterator[EvidenceRow]:
    """A row for one test, and a row without controls for each of its readings."""
    yield _evidence(claim, form, part, rejections, leaf, test)
    for reading, read in test.readings.items():
        deciding = weakest(read.leaves.values())
        yield _evidence(claim, form, part, {}, leaf, replace(deciding, outcome=read.outcome)) | {"reading": reading}


def _evidence(
    claim: Claim, form: str, part: str, rejections: Mapping[str, Rejection], leaf: str, test: Test
) -> EvidenceRow:
    """A row for one test; its control is that of the part it belongs to, or of the whole check."""
    turned = part if part in rejections else WHOLE
    control, rejection = claim.controls.get(turned), rejections.get(turned)
    low, high = test.interval or (None, None)
    region = test.region or (None, None)
    name = f"{part} {leaf}".strip()
    return {
        "id": claim.id,
        "form": form,
        "part": name,
        "label": claim.labels.get(name, ""),
        "reading": "",
        "outcome": test.outcome,
        "statistic": test.statistic,
        "value": _number(test.value),
        "out_of": test.out_of or "",
        "unit": test.unit,
        "interval_low": _number(low),
        "interval_high": _number(high),
        "region_low": _number(region[0]),
        "region_high": _number(region[1]),
        "measured": test.measured,
        "expected": test.expected,
        "margin": _number(test.margin),
        "tolerance": _number(test.tolerance),
        "tolerance_reason": test.reason,
        "n": test.n,
        "false_alarm": _number(test.false_alarm),
        "control": control.says if control and rejection else "",
        "control_of": (turned or "whole check") if control and rejection else "",
        "control_kind": control.kind if control and rejection else "",
        "control_change": rejection.change if rejection else "",
        "control_outcome": rejection.outcome if rejection else "",
        "control_margin": _number(rejection.margin if rejection else None),
    }


def _row(claim: Claim, verdict: Verdict, rejections: Mapping[str, Rejection]) -> LedgerRow:
    decisive, printed, refuted = verdict.decisive, verdict.printed, verdict.status in REFUTED
    interval = decisive.interval if decisive and decisive.interval else (None, None)
    region = decisive.region if decisive and decisive.region else (None, None)
    trials = verdict.trials or ("", "")
    return {
        "id": claim.id,
        "where": claim.where,
        "kind": claim.kind,
        "origin": claim.origin,
        "statement": claim.states,
        "verdict": verdict.status,
        "correction": claim.correction if refuted else "",
        "possible_ocr_error": claim.possible_ocr_error,
        "kind_of_slip": claim.kind_of_slip if refuted else "",
        "message": claim.message if refuted else "",
        "cause": claim.cause if refuted else "",
        "consequence": claim.consequence if refuted else "",
        "sought": claim.sought if verdict.status != "does not hold" else "",
        "defence": claim.defence if verdict.status != "holds" else "",
        "answer": claim.answer if verdict.status != "holds" else "",
        "remark": claim.remark,
        "words": claim.words,
        "line": claim.line or "",
        "assumes": claim.assumes,
        "formula": claim.formula,
        "corrected_formula": claim.corrected_formula if refuted else "",
        "printed_measured": printed.measured if printed else "",
        "printed_expected": printed.expected if printed else "",
        "printed_margin": _number(printed.margin if printed else None),
        "measured": decisive.measured if decisive else "",
        "statistic": decisive.statistic if decisive else "",
        "value": _number(decisive.value if decisive else None),
        "unit": decisive.unit if decisive else "",
        "region_low": _number(region[0]),
        "region_high": _number(region[1]),
        "expected": decisive.expected if decisive else "",
        "margin": _number(decisive.margin if decisive else None),
        "tolerance": _number(decisive.tolerance if decisive else None),
        "tolerance_reason": decisive.reason if decisive else "",
        "n": decisive.n if decisive else 0,
        "interval_low": _number(interval[0]),
        "interval_high": _number(interval[1]),
        "false_alarm": _number(decisive.false_alarm if decisive else None),
        "control": "; ".join(control.says for part, control in claim.controls.items() if part in rejections),
        "control_outcome": _controls_outcome(rejections.values()),
        "control_margin": _number(_weakest([rejection.margin for rejection in rejections.values()])),
        "uncontrolled_parts": "; ".join(parts_without_control(claim, verdict)) if rejections else "",
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


def _weakest(margins: Iterable[float | None]) -> float | None:
    """The margin nearest to 1: a control that fails by a factor 1.1 is weaker than one that fails by 100."""
    return min((margin for margin in margins if margin), key=lambda margin: abs(math.log(margin)), default=None)


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"
