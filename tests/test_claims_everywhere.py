"""Rules for every claim of every study; each test lists all claims that break its rule."""

import ast
import re
from pathlib import Path

import pytest
import xarray as xr

import repdyn
from repdyn.base.claims import Claim, claims_of
from repdyn.base.markup import DOLLARS
from repdyn.base.verdicts import KINDS, REFUTED
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

PACKAGE = Path(repdyn.__file__).parent
STUDIES = sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.glob("*/claims*")} - {"base", "pipeline"})
NAMES_NO_CLAIM = ("settings", "theory", "methods", "experiments", "figures", "tables")
PLACE = r"Abstract|Introduction|Section|Appendix|Discussion|Conclusion|Definition|Theorem|Lemma|Corollary|Proposition"
PLACE += r"|Assumption|Remark|Example|Figure|Table|Algorithm|Caption|eqs?\. \(|^\(\w+\)"
LONGEST = {"states": 320, "correction": 400, "where": 70}
LONGEST_CONTROL = 120  # a cell of a table
TYPED_FORMULA = r"\^|\w_\w|[<>]=| = |->|~|\b(?:sqrt|alpha|beta|gamma|sigma|rho|tau|eps|lam|Lt|R2|infinity)\b|\|\w+\|"


@pytest.fixture(scope="module")
def claims() -> list[tuple[str, Claim]]:
    """All claims with their study."""
    return [(study, claim) for study in STUDIES for claim in claims_of(*load_modules(study, "claims"))]


def letters(claim: Claim) -> str:
    return claim.id.split("-")[0]


def test_there_are_claims_of_each_study(claims):
    assert len(STUDIES) >= 5
    assert {study for study, _ in claims} == set(STUDIES)


def test_no_id_stands_twice(claims):
    ids = [claim.id for _, claim in claims]
    assert sorted({id for id in ids if ids.count(id) > 1}) == []


def test_an_id_is_the_letters_of_its_study_and_words(claims):
    assert [claim.id for _, claim in claims if not re.fullmatch(r"[a-z]{2,4}(-[A-Za-z0-9]+)+", claim.id)] == []
    of_study = {study: {letters(claim) for home, claim in claims if home == study} for study in STUDIES}
    assert {study: names for study, names in of_study.items() if len(names) != 1} == {}
    assert len(set.union(*of_study.values())) == len(STUDIES), "two studies share their letters"


def test_a_claim_says_where_it_stands_and_what_it_states(claims):
    problems = {}
    for _, claim in claims:
        problems[claim.id] = [
            *(["where: theorem, section, equation or figure"] if not re.search(PLACE, claim.where) else []),
            *(["kind"] if claim.kind not in KINDS else []),
            *(["a statement is a sentence"] if not re.fullmatch(r"\S(.*\S)?\.", claim.states) else []),
            *(
                ["a correction is a sentence"]
                if claim.correction and not re.fullmatch(r"\S(.*\S)?\.", claim.correction)
                else []
            ),
            *(["the check says in one line how it decides"] if not claim.decided else []),
            *(
                f"{name} over {longest} characters"
                for name, longest in LONGEST.items()
                if len(getattr(claim, name)) > longest
            ),
        ]
    assert {id: faults for id, faults in problems.items() if faults} == {}


def test_formulas_in_sentences_are_latex(claims):
    """What stands outside of dollars is words."""
    problems = [
        f"{claim.id} {name}: {formula[0]}"
        for _, claim in claims
        for name in ("states", "correction")
        if (formula := re.search(TYPED_FORMULA, DOLLARS.sub("", getattr(claim, name))))
    ]
    assert problems == []


def test_a_claim_has_a_control_unless_it_cannot_be_tested(claims):
    problems = []
    for _, claim in claims:
        if claim.controls:
            problems += [f"{claim.id}: a control spoils data"] if not claim.data else []
        elif claim(*(xr.Dataset() for _ in claim.data)).status != "not testable":
            problems.append(f"{claim.id}: no control")
    assert problems == []


def test_a_control_says_in_a_few_words_what_is_wrong(claims):
    problems = [
        f"{claim.id} {part}: {control.says}"
        for _, claim in claims
        for part, control in claim.controls.items()
        if not 3 < len(control.says) <= LONGEST_CONTROL or control.says.endswith(".")
    ]
    assert problems == []


def test_nothing_but_claims_knows_a_claim(claims):
    """Experiments, figures and tables name no claim: which claims they serve follows from the claims' data."""
    ids, prefixes = {claim.id for _, claim in claims}, "|".join(sorted({letters(claim) for _, claim in claims}))
    pattern = re.compile(rf"\b(?:{prefixes})-[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
    problems = []
    for study in STUDIES:
        for path in sorted((PACKAGE / study).rglob("*.py")):
            part = path.relative_to(PACKAGE / study).parts[0].removesuffix(".py")
            if part in NAMES_NO_CLAIM:
                problems += [
                    f"{path.relative_to(PACKAGE)}: {id}"
                    for text in _texts(path)
                    for id in pattern.findall(text)
                    if id in ids
                ]
    assert problems == []


def _texts(path: Path) -> list[str]:
    """Texts in the code of a file, docstrings too."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def test_a_claim_that_the_accepted_verdicts_refute_has_a_message(claims):
    refuted = {id for id, entry in accepted_verdicts().items() if entry["verdict"] in REFUTED}
    assert {claim.id for _, claim in claims if claim.message} == refuted
