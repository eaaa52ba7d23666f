"""Claims: statements of a paper with the check that decides each and negative controls that the check must reject.

A study's `claims` package holds one function per claim under the decorator `claim`. The function's parameters are named
like the datasets it reads, and it returns a `Verdict`. It trains and samples nothing.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Literal, Required, TypedDict

import xarray as xr

from repdyn.base import controls as spoiling
from repdyn.base.controls import Control, Datasets
from repdyn.base.datasets import explained_gaps, said_to_have_diverged
from repdyn.base.errors import NotEnoughDataError, NotFiniteError, RepdynError
from repdyn.base.ledger import WHOLE, Decision, Rejection, decision
from repdyn.base.verdicts import DECIDED, DEPENDS, FAILED, KINDS, REFUTED, STATUSES, UNDECIDED, Test, Verdict

SLIPS = ("misprint", "slip in a proof", "missing hypothesis", "result changes", "conclusion fails")  # by severity
LONGEST_QUOTE = 15  # words
LONGEST = {"message": 70, "cause": 320, "consequence": 320}  # characters
FORMULA = re.compile(r"\$\$?[^$]*\$\$?")


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, where it stands, and how it is decided; arguments as in `claim`.

    Attributes:
        data: the datasets that the check reads, by name.
        check: takes them and returns the verdict.
        controls: what the check must reject, by the part that it turns.
        decided: how, in a line.
    """

    id: str
    where: str
    kind: str
    states: str
    data: tuple[str, ...]
    check: Callable[..., Verdict]
    controls: Mapping[str, Control]
    origin: str
    correction: str
    possible_ocr_error: bool
    formula: str
    corrected_formula: str
    words: str
    line: int
    assumes: str
    kind_of_slip: str
    message: str
    cause: str
    consequence: str
    remark: str
    labels: Mapping[str, str]
    decided: str

    def __call__(self, *datasets: xr.Dataset | Mapping[str, xr.Dataset]) -> Verdict:
        """Runs the check on the datasets named in `data`."""
        return self.check(*datasets)


class Statement(TypedDict, total=False):
    """What a claim says and where that stands; arguments as in `claim`."""

    where: Required[str]
    states: Required[str]
    kind: str
    origin: Literal["paper", "ours"]
    correction: str
    possible_ocr_error: bool
    formula: str
    corrected_formula: str
    words: str
    line: int
    assumes: str
    kind_of_slip: str
    message: str
    cause: str
    consequence: str
    remark: str
    labels: Mapping[str, str]


def claim(
    id: str,
    *,
    where: str,
    kind: str,
    states: str,
    control: Control | Mapping[str, Control] | None = None,
    origin: Literal["paper", "ours"] = "paper",
    correction: str = "",
    possible_ocr_error: bool = False,
    formula: str = "",
    corrected_formula: str = "",
    words: str = "",
    line: int = 0,
    assumes: str = "",
    kind_of_slip: str = "",
    message: str = "",
    cause: str = "",
    consequence: str = "",
    remark: str = "",
    labels: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Verdict]], Claim]:
    """Declares the decorated check as the decision of a claim; its parameters are the datasets that it reads.

    Args:
        id: the claim's id in the ledger.
        where: section, then theorem, equation or figure.
        kind: one of `verdicts.KINDS`.
        states: the statement in one sentence.
        control: what the check must reject, from `controls.wrong_formula` or `controls.false_world`; for a
            conjunction one per part, by the part's name. Where the claim itself
            does not hold, the control is a world in which it would hold, and the check must accept it.
        origin: whether the paper makes the statement or we do.
        correction: the right statement, where the printed one is wrong.
        possible_ocr_error: the slip may be the scan's.
        formula: the statement as printed, in LaTeX, where it is a formula; the report typesets it.
        corrected_formula: the right one, in LaTeX.
        words: the decisive words of the paper, exact as in its text but for white space, with their quantifier; at
            most 15, a formula between dollars counts as one; pieces are joined by " ... ".
        line: line of the paper's text at which they begin.
        assumes: standing assumptions at that place (case of a proof, convention, definition), in our words.
        kind_of_slip: what is wrong as printed, one of `SLIPS`; empty where nothing is.
        message: what is wrong with a refuted statement, in plain words; heads its page in the report.
        cause: why the printed form is wrong; an id in parentheses leads to that claim.
        consequence: what changes in the paper, or that nothing does.
        remark: what a reader of the verdict should know besides, true at every scale; numbers of a run are facts.
        labels: what a part of the check measured, by the part's name, where the name says too little.

    Raises:
        ValueError: unknown kind, origin or kind of slip; a corrected formula without a correction; a quotation that is
            too long, has no line, or is ascribed to us; message, cause and consequence not together, or too long.
    """
    if kind not in KINDS:
        raise ValueError(f"claim {id}: kind {kind!r} is not one of {', '.join(KINDS)}")
    if origin not in ("paper", "ours"):
        raise ValueError(f"claim {id}: origin {origin!r} is not one of paper, ours")
    if corrected_formula and not correction:
        raise ValueError(f"claim {id}: say in correction, in words, what corrected_formula sets right")
    if kind_of_slip not in ("", *SLIPS):
        raise ValueError(f"claim {id}: kind of slip {kind_of_slip!r} is not one of {', '.join(SLIPS)}")
    _check_quotation(id, words, line, origin)
    _check_message(id, {"message": message, "cause": cause, "consequence": consequence})
    controls = {WHOLE: control} if isinstance(control, Control) else dict(control or {})

    def declare(check: Callable[..., Verdict]) -> Claim:
        return Claim(
            id,
            where,
            kind,
            states,
            tuple(inspect.signature(check).parameters),
            check,
            controls,
            origin,
            correction,
            possible_ocr_error,
            formula,
            corrected_formula,
            words,
            line,
            assumes,
            kind_of_slip,
            message,
            cause,
            consequence,
            remark,
            labels or {},
            inspect.getdoc(check) or "",
        )

    return declare


def _check_quotation(id: str, words: str, line: int, origin: str) -> None:
    if bool(words) != bool(line):
        raise ValueError(f"claim {id}: words and line go together, got words {words!r} and line {line}")
    if words and origin == "ours":
        raise ValueError(f"claim {id}: a statement of ours quotes no paper, got words {words!r}")
    if (length := len(FORMULA.sub("formula", words).replace(" ... ", " ").split())) > LONGEST_QUOTE:
        raise ValueError(f"claim {id}: {length} quoted words, at most {LONGEST_QUOTE}; quote the decisive ones")


def _check_message(id: str, texts: Mapping[str, str]) -> None:
    if any(texts.values()) and (missing := [name for name, text in texts.items() if not text]):
        raise ValueError(f"claim {id}: message, cause and consequence go together, got no {', '.join(missing)}")
    for name, text in texts.items():
        if len(text) > LONGEST[name]:
            raise ValueError(f"claim {id}: {name} has {len(text)} characters, at most {LONGEST[name]}: {text!r}")


def claims_of(*modules: ModuleType) -> list[Claim]:
    """The claims of a study's modules, in the order they are written.

    Raises:
        RepdynError: two claims share an id.
    """
    claims = [value for module in modules for value in vars(module).values() if isinstance(value, Claim)]
    ids = [claim.id for claim in claims]
    if repeated := sorted({id for id in ids if ids.count(id) > 1}):
        raise RepdynError(f"{modules[0].__name__}: two claims share the id {', '.join(repeated)}")
    return claims


def decide_claim(claim: Claim, datasets: Mapping[str, xr.Dataset | Mapping[str, xr.Dataset]]) -> Decision:
    """Runs a claim's check and its controls.

    A run that lacks what the check or a control needs, or in which a control does not change the outcome, leaves the
    claim undecided and says why. So do networks that have diverged and gaps that the data explain, whose missing
    numbers a check may not foresee. Any other error of the check is a bug: the claim's status says that the check
    failed, and the traceback is printed.

    Raises:
        RepdynError: a check has no control, or returned something else than a verdict; or a dataset is missing.
    """
    if missing := [name for name in claim.data if name not in datasets]:
        raise RepdynError(
            f"claim {claim.id} wants the datasets {', '.join(missing)}, but the rule gives only "
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
    except Exception as error:  # of any kind: it must not take the other claims down
        if diverged:
            why = f"Needs more than this run has: networks that train; {diverged}."
            return decision(claim, Verdict(UNDECIDED, why=why), {})
        if isinstance(error, NotFiniteError) and (gaps := explained_gaps(*inputs)):
            why = f"Needs more than this run has: numbers without gaps in {gaps}."
            return decision(claim, Verdict(UNDECIDED, why=why), {})
        traceback.print_exc()
        return decision(claim, Verdict(FAILED, why=f"{type(error).__name__}: {error}"), {})


class _BadClaimError(RepdynError):
    """A claim that cannot be decided because of how it is written."""


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
    if diverged:
        verdict = _on_the_rest(verdict, diverged)
    return decision(claim, verdict, rejections)


def _on_the_rest(verdict: Verdict, diverged: str) -> Verdict:
    """The verdict where networks have diverged: nothing is refuted, since numbers that are missing fail comparisons."""
    status = UNDECIDED if verdict.status in (*REFUTED, DEPENDS) else verdict.status
    return replace(verdict, status=status, why=f"{verdict.why} Gaps in the data: {diverged}.".strip())


def _controlled(claim: Claim, verdict: Verdict) -> list[str]:
    """Parts with a control; which parts there are may depend on the run's variants."""
    return [part for part in claim.controls if verdict.decisive is None or _part(verdict.decisive, part) is not None]


def _doubt(claim: Claim, verdict: Verdict, rejections: Mapping[str, Rejection]) -> str:
    """Why the verdict does not count: a control that it rests on did not turn; one failing part is enough to refute."""
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
    says = "is undecided" if rejection.outcome == "undecided" else "does not change the outcome at these sizes"
    return f"{name} {says}{f': {rejection.measured}' if rejection.measured else ''}."


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
    """The control's test of the form that carried the verdict; a claim that now holds as printed has no other."""
    return (turned.corrected if verdict.corrected and turned.corrected else None) or turned.printed


def _part(test: Test | None, part: str) -> Test | None:
    """A test's part by name, itself for the whole, None where there is no such part."""
    return test if test is None or part == WHOLE else test.parts.get(part)
