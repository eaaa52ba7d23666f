"""Claims: statements of a paper with the check that decides each and a negative control that the check must reject.

A study's `claims.py` holds one function per claim under the decorator `claim`. The function takes the datasets the
claim names, in that order, and returns a `Verdict`. It trains and samples nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType

import xarray as xr

from repdyn.base.errors import RepdynError
from repdyn.base.verdicts import KINDS, STATUSES, Test, Verdict

Datasets = tuple[xr.Dataset, ...]
UNTESTED = ("not testable",)
REFUTED = ("holds as corrected", "does not hold")


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, where it stands, and how it is decided; arguments as in `claim`."""

    id: str
    where: str
    kind: str
    states: str
    data: tuple[str, ...]
    check: Callable[..., Verdict]
    control: Callable[..., Datasets | xr.Dataset] | None
    control_says: str
    correction: str
    at_hand: bool
    formula: str
    corrected_formula: str

    def __call__(self, *datasets: xr.Dataset) -> Verdict:
        """Runs the check on the datasets named in `data`."""
        return self.check(*datasets)


def claim(
    id: str,
    *,
    where: str,
    kind: str,
    states: str,
    data: str | tuple[str, ...] = (),
    control: Callable[..., Datasets | xr.Dataset] | None = None,
    control_says: str = "",
    correction: str = "",
    at_hand: bool = False,
    formula: str = "",
    corrected_formula: str = "",
) -> Callable[[Callable[..., Verdict]], Claim]:
    """Declares the decorated check as the decision of a claim.

    Args:
        id: the claim's id in the ledger.
        where: theorem, equation or figure.
        kind: one of `verdicts.KINDS`.
        states: the statement in one sentence.
        data: names of the datasets that the check reads, in the order of its arguments.
        control: takes the same datasets and returns them spoilt (a wrong constant, sign, exponent, data); where the
            claim itself does not hold, mended instead, so that it would hold. The verdict must turn.
        control_says: what the control spoils, in words.
        correction: the right statement, where the printed one is wrong.
        at_hand: the slip may be the scan's; the ledger then says "in the text at hand".
        formula: the statement as printed, in LaTeX, where it is a formula; the report typesets it.
        corrected_formula: the right one, in LaTeX.

    Raises:
        ValueError: unknown kind, a control that does not say what it spoils, or a corrected formula without words.
    """
    if kind not in KINDS:
        raise ValueError(f"claim {id}: kind {kind!r} is not one of {', '.join(KINDS)}")
    if control and not control_says:
        raise ValueError(f"claim {id}: say in control_says what the control spoils")
    if corrected_formula and not correction:
        raise ValueError(f"claim {id}: say in correction, in words, what corrected_formula sets right")
    names = (data,) if isinstance(data, str) else tuple(data)

    def declare(check: Callable[..., Verdict]) -> Claim:
        said = (id, where, kind, states, names, check, control, control_says)
        return Claim(*said, correction, at_hand, formula, corrected_formula)

    return declare


def claims_of(*modules: ModuleType) -> list[Claim]:
    """The claims of a study's modules, in the order they are written.

    Raises:
        RepdynError: two claims share an id.
    """
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Claim)]
    ids = [one.id for one in found]
    if repeated := sorted({id for id in ids if ids.count(id) > 1}):
        raise RepdynError(f"{modules[0].__name__}: two claims share the id {', '.join(repeated)}")
    return found


def decide(one: Claim, datasets: Mapping[str, xr.Dataset]) -> dict[str, object]:
    """Runs a claim's check and its control; a row of the ledger.

    Raises:
        RepdynError: the control was not rejected though the claim was decided, or is missing, or the check returned
            something else than a verdict, or a dataset is missing.
    """
    if missing := [name for name in one.data if name not in datasets]:
        raise RepdynError(
            f"claim {one.id} wants the datasets {', '.join(missing)}, but the rule gives only "
            f"{', '.join(sorted(datasets)) or 'none'}"
        )
    given = tuple(datasets[name] for name in one.data)
    verdict = one(*given)
    if not isinstance(verdict, Verdict) or verdict.status not in STATUSES:
        raise RepdynError(f"claim {one.id}: the check returned {verdict!r}, not a verdict")
    control = None if verdict.status in UNTESTED else _controlled(one, given, verdict)
    return _row(one, verdict, control)


def _controlled(one: Claim, given: Datasets, verdict: Verdict) -> Test | None:
    if one.control is None:
        raise RepdynError(f"claim {one.id}: no negative control, so the check may be unable to fail; add one")
    spoilt = one.control(*given)
    turned = one(*(spoilt if isinstance(spoilt, tuple) else (spoilt,)))
    test = _same_form(verdict, turned)
    wanted = "passes" if verdict.status == "does not hold" else "fails"
    decided = verdict.status not in ("not decidable at this scale", "not reproducible as stated")
    if decided and (test is None or test.outcome != wanted):
        found = f"it {test.outcome} with {test.measured}" if test else f"gives no test, {turned.status!r}"
        raise RepdynError(
            f"claim {one.id}: the control ({one.control_says}) should give a test that {wanted}, "
            f"but {found}; the check does not see the difference"
        )
    return test


def _same_form(verdict: Verdict, turned: Verdict) -> Test | None:
    """The control's test of the form that carried the verdict; a claim that now holds as printed has no other."""
    return (turned.corrected if verdict.corrected and turned.corrected else None) or turned.printed


def _row(one: Claim, verdict: Verdict, control: Test | None) -> dict[str, object]:
    decisive, printed, refuted = verdict.decisive, verdict.printed, verdict.status in REFUTED
    interval = decisive.interval if decisive and decisive.interval else ("", "")
    return {
        "id": one.id,
        "where": one.where,
        "kind": one.kind,
        "statement": one.states,
        "verdict": verdict.status,
        "correction": one.correction if refuted else "",
        "text_at_hand": one.at_hand,
        "formula": one.formula,
        "corrected_formula": one.corrected_formula if refuted else "",
        "printed_measured": printed.measured if printed else "",
        "printed_expected": printed.expected if printed else "",
        "printed_margin": _number(printed.margin if printed else None),
        "measured": decisive.measured if decisive else "",
        "expected": decisive.expected if decisive else "",
        "margin": _number(decisive.margin if decisive else None),
        "tolerance_reason": decisive.reason if decisive else "",
        "n": decisive.n if decisive else 0,
        "interval_low": _number(interval[0]),
        "interval_high": _number(interval[1]),
        "false_alarm": _number(decisive.false_alarm if decisive else None),
        "control": one.control_says,
        "control_measured": control.measured if control else "",
        "control_margin": _number(control.margin if control else None),
        "datasets": " ".join(one.data),
        "code": f"{one.check.__module__}:{one.check.__name__}",
        "note": verdict.note,
    }


def _number(value: float | str | None) -> str:
    return "" if value in (None, "") else f"{value:.6g}"


def rows(claims: Iterable[Claim], datasets: Mapping[str, xr.Dataset]) -> list[dict[str, object]]:
    """The ledger rows of several claims."""
    return [decide(one, datasets) for one in claims]
