"""Claims: statements of a paper, each with the check that decides it and negative controls that it must reject.

A study's `claims` package holds one function per claim under the decorator `claim`. The function's parameters name the
datasets it reads, and it returns a `Verdict`. It trains and samples nothing.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Literal, Required, TypedDict, Unpack

import xarray as xr

from repdyn.base.controls import Control
from repdyn.base.errors import RepdynError
from repdyn.base.verdicts import KINDS, Verdict

WHOLE = ""  # the part of a check that is not a conjunction
SLIPS = ("misprint", "slip in a proof", "missing hypothesis", "result changes", "conclusion fails")  # by severity
LONGEST_QUOTE = 15  # words
LONGEST = {"message": 70, "cause": 320, "consequence": 320, "sought": 500, "defence": 600, "answer": 600}  # characters
TOGETHER = (("message", "cause", "consequence"), ("defence", "answer"))
FORMULA = re.compile(r"\$\$?[^$]*\$\$?")


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, its place, and how it is decided.

    Attributes:
        id: the claim's id in the ledger.
        where: section, then theorem, equation or figure.
        states: the statement in one sentence.
        data: the datasets that the check reads, by name.
        check: takes them and returns the verdict.
        controls: what the check must reject, by the part of the check.
        decided: how, in a line.
        kind: one of `verdicts.KINDS`.
        origin: whether the statement is the paper's or ours.
        correction: the correct statement, if the printed one is wrong.
        possible_ocr_error: the error may come from the scan.
        formula: the statement as printed, in LaTeX, if it is a formula; the report typesets it.
        corrected_formula: the correct one, in LaTeX.
        words: the decisive words of the paper, exact as in its text but for white space, with their quantifier; at
            most 15, a formula between dollars counts as one; pieces are joined by " ... ".
        line: line of the paper's text at which they begin.
        assumes: standing assumptions at that place (case of a proof, convention, definition), in our words.
        kind_of_slip: severity of the error in the printed form, one of `SLIPS`; empty without one.
        message: what is wrong with a refuted statement, in plain words; heads its page in the report.
        cause: why the printed form is wrong; an id in parentheses leads to that claim.
        consequence: what changes in the paper, if anything.
        sought: of a theorem, proposition or lemma that holds: how a counterexample inside its stated hypotheses was
            looked for (least regular activations and data, ties, atoms, degenerate cases, smallest sizes), or the
            proof.
        defence: of a statement refuted in substance: the strongest defence of the paper (another reading, a missing
            convention, the proof's own constant, the scan).
        answer: what that defence does not save, or what it does.
        remark: further information on the verdict, true at every scale; numbers of a run are facts.
        labels: what a part of the check measured, by the part's name, if the name is not clear enough.
    """

    id: str
    where: str
    states: str
    data: tuple[str, ...]
    check: Callable[..., Verdict]
    controls: Mapping[str, Control]
    decided: str
    kind: str = ""
    origin: Literal["paper", "ours"] = "paper"
    correction: str = ""
    possible_ocr_error: bool = False
    formula: str = ""
    corrected_formula: str = ""
    words: str = ""
    line: int = 0
    assumes: str = ""
    kind_of_slip: str = ""
    message: str = ""
    cause: str = ""
    consequence: str = ""
    sought: str = ""
    defence: str = ""
    answer: str = ""
    remark: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Rejects a declaration that is incomplete or too long; see `claim`."""
        if fault := next(self._faults(), ""):
            raise ValueError(f"claim {self.id}: {fault}")

    def __call__(self, *datasets: xr.Dataset | Mapping[str, xr.Dataset]) -> Verdict:
        """Runs the check on the datasets named in `data`."""
        return self.check(*datasets)

    def _faults(self) -> Iterator[str]:
        known = (("kind", KINDS), ("origin", ("paper", "ours")), ("kind_of_slip", ("", *SLIPS)))
        for name, allowed in known:
            if (value := getattr(self, name)) not in allowed:
                yield f"{name} {value!r} is not one of {', '.join(filter(None, allowed))}"
        if self.corrected_formula and not self.correction:
            yield "explain the change by corrected_formula in words in correction"
        if bool(self.words) != bool(self.line):
            yield f"words and line go together, got words {self.words!r} and line {self.line}"
        if self.words and self.origin == "ours":
            yield f"a statement of ours quotes no paper, got words {self.words!r}"
        if (length := len(FORMULA.sub("formula", self.words).replace(" ... ", " ").split())) > LONGEST_QUOTE:
            yield f"{length} quoted words, at most {LONGEST_QUOTE}; quote the decisive ones"
        for names in TOGETHER:
            missing = [name for name in names if not getattr(self, name)]
            if 0 < len(missing) < len(names):
                yield f"{' and '.join(names)} go together, got no {', '.join(missing)}"
        for name, most in LONGEST.items():
            if len(text := getattr(self, name)) > most:
                yield f"{name} has {len(text)} characters, at most {most}: {text!r}"


class Statement(TypedDict, total=False):
    """Statement and place of a claim; as in `Claim`."""

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
    sought: str
    defence: str
    answer: str
    remark: str
    labels: Mapping[str, str]


def claim(
    id: str, *, control: Control | Mapping[str, Control] | None = None, **statement: Unpack[Statement]
) -> Callable[[Callable[..., Verdict]], Claim]:
    """Declares the decorated check as the decision of a claim; its parameters are the datasets that it reads.

    Args:
        id: the claim's id in the ledger.
        control: what the check must reject, from `controls.wrong_formula` or `controls.false_world`; for a
            conjunction one per part, by the part's name. Where the claim itself
            does not hold, the control is data for which it would hold, and the check must accept them.
        statement: statement and place of the claim, by the names of the attributes of `Claim`.

    Raises:
        ValueError: unknown kind, origin or kind of slip; a corrected formula without a correction; a quotation that is
            too long, has no line, or is ascribed to us; message, cause and consequence, or defence and answer, not
            together; one of these texts too long.
    """
    controls = {WHOLE: control} if isinstance(control, Control) else dict(control or {})

    def declare(check: Callable[..., Verdict]) -> Claim:
        data, decided = tuple(inspect.signature(check).parameters), inspect.getdoc(check) or ""
        return Claim(id, data=data, check=check, controls=controls, decided=decided, **statement)

    return declare


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
