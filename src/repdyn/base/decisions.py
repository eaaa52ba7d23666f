"""Decides a claim: runs its check and its controls on the data of a run."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import replace

import xarray as xr

from repdyn.base import controls as spoiling
from repdyn.base.claims import WHOLE, Claim
from repdyn.base.controls import Control, Datasets
from repdyn.base.datasets import explained_gaps, said_to_have_diverged
from repdyn.base.errors import NotEnoughDataError, NotFiniteError, RepdynError
from repdyn.base.ledger import Decision, Rejection, decision
from repdyn.base.verdicts import DECIDED, DEPENDS, FAILED, REFUTED, STATUSES, UNDECIDED, Test, Verdict


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
