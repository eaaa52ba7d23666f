"""Rules for the claims of all studies; those about papers quote them, and state no more than words and assumptions.

The texts of the papers are looked for beside the checkout, in `shared/papers`, or in the folder `REPDYN_PAPERS`.
"""

import os
import re
from pathlib import Path

import pytest
import xarray as xr

from repdyn.base.claims import SLIPS, Claim, claims_of
from repdyn.base.markup import DOLLARS
from repdyn.base.verdicts import KINDS, REFUTED, STATUSES
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

ROOT = Path(__file__).parents[1]
PAPERS = Path(os.environ.get("REPDYN_PAPERS", ROOT.parent / "shared" / "papers"))
NUMBERS = {
    "bn_decomposed": "000",
    "truncation_flow": "001",
    "bn_mean_field": "002",
    "leaky_resnets": "003",
    "universality": "004",
}
QUANTIFIERS = re.compile(r"\b(every|all|any|only|always|whatever|never|each)\b", re.IGNORECASE)
SAME_QUANTIFIER = {"every": r"every|each|all|any|\\forall", "each": r"each|every|all|any|\\forall"}
SAME_QUANTIFIER |= {"all": r"all|every|each|any|\\forall", "any": r"any|all|every|each|arbitrary|\\forall"}
SAME_QUANTIFIER |= {"never": r"never|no|not|cannot|impossible"}
REACH = 60  # lines over which the pieces of a quotation may be spread
PAPER_STUDIES = pytest.mark.parametrize("study", NUMBERS)


def of_paper(study: str) -> list[Claim]:
    return [claim for claim in claims_of(*load_modules(study, "claims")) if claim.origin == "paper"]


def lines_of(study: str) -> list[str]:
    texts = sorted(PAPERS.glob(f"{NUMBERS[study]}_*.txt"))
    if not texts:
        pytest.skip(f"no text of the paper in {PAPERS}; set REPDYN_PAPERS to the folder that has it")
    return texts[0].read_text(encoding="utf-8").splitlines()


def folded(text: str) -> str:
    return " ".join(text.split())


def unmarked(text: str) -> str:
    """Without the marks of formulas and of emphasis, which our copies set at random."""
    return folded(re.sub(r"[$*]", "", text))


def fault_of_quotation(claim: Claim, lines: list[str]) -> str:
    """Differences of a quotation from the paper; empty without any."""
    text, end = unmarked("\n".join(lines[claim.line - 1 : claim.line + REACH])), 0
    for place, piece in enumerate(claim.words.split(" ... ")):
        start = text.find(unmarked(piece), end)
        if start < 0:
            return f"not found from line {claim.line} on: {piece}"
        if place == 0 and start >= len(unmarked(lines[claim.line - 1])):
            return f"begins after line {claim.line}: {piece}"
        end = start + len(unmarked(piece))
    return ""


# All claims

PLACE = r"Abstract|Introduction|Section|Appendix|Discussion|Conclusion|Definition|Theorem|Lemma|Corollary|Proposition"
PLACE += r"|Assumption|Remark|Example|Figure|Table|Algorithm|Caption|eqs?\. \(|^\(\w+\)"


@pytest.fixture(scope="module")
def claims() -> list[tuple[str, Claim]]:
    """All claims with their study."""
    return [
        (study, claim)
        for study in STUDIES
        if read_study(study).claims
        for claim in claims_of(*load_modules(study, "claims"))
    ]


def test_ids_are_unique_and_have_the_study_prefix(claims):
    ids = [claim.id for _, claim in claims]
    assert sorted({id for id in ids if ids.count(id) > 1}) == []
    assert [id for id in ids if not re.fullmatch(r"[a-z]{2,4}(-[A-Za-z0-9]+)+", id)] == []
    letters_of = {study: {claim.id.split("-")[0] for home, claim in claims if home == study} for study, _ in claims}
    assert {study: names for study, names in letters_of.items() if len(names) != 1} == {}
    assert len(set.union(*letters_of.values())) == len(letters_of)
    assert set(ids) == set(accepted_verdicts())


HOLDS = ("holds", "holds as corrected")
THEOREM = re.compile("theorem|proposition|lemma|corollary", re.IGNORECASE)
SECTION = re.compile("Abstract|Introduction|Discussion|Conclusion|Section|Appendix|Caption|Figure|Table")


def is_controlled(claim: Claim) -> bool:
    if claim.controls:
        return bool(claim.data)
    return claim(*(xr.Dataset() for _ in claim.data)).status == "not testable"


RULES = {  # of a claim and its accepted verdict
    "has place, kind, statement and decision": lambda claim, _: (
        re.search(PLACE, claim.where) and claim.kind in KINDS and claim.states and claim.decided
    ),
    "has a control unless it cannot be tested": lambda claim, _: is_controlled(claim),
    "has a message if refuted": lambda claim, verdict: bool(claim.message) is (verdict in REFUTED),
    "refuted in substance has a defence": lambda claim, verdict: (
        claim.kind_of_slip not in SLIPS[3:] or verdict == "holds" or claim.defence
    ),
}
RULES_OF_PAPERS = {
    "says how a counterexample of a theorem was sought": lambda claim, verdict: (
        not THEOREM.search(claim.where) or verdict not in HOLDS or claim.sought
    ),
    "quotes its paper": lambda claim, _: claim.words,
    "is placed in a section": lambda claim, _: SECTION.match(claim.where),
    "has a severity if refuted": lambda claim, verdict: (
        not (claim.correction or verdict in REFUTED) or claim.kind_of_slip in SLIPS
    ),
    "has no severity if it holds": lambda claim, verdict: verdict != "holds" or not claim.kind_of_slip,
    "causal is knocked out": lambda claim, _: (
        claim.kind != "causal"
        or not claim.controls
        or "knock-out" in {control.kind for control in claim.controls.values()}
    ),
}


@pytest.mark.parametrize("rule", [*RULES, *RULES_OF_PAPERS])
def test_every_claim(rule, claims):
    accepted, obeys = accepted_verdicts(), (RULES | RULES_OF_PAPERS)[rule]
    own = [claim for _, claim in claims if rule in RULES or claim.origin == "paper"]
    assert [claim.id for claim in own if not obeys(claim, accepted[claim.id]["verdict"])] == []


# Words of the papers


@PAPER_STUDIES
def test_quoted_words_are_in_the_paper_at_their_line(study):
    lines = lines_of(study)
    faults = {claim.id: fault_of_quotation(claim, lines) for claim in of_paper(study) if claim.words}
    assert {id: fault for id, fault in faults.items() if fault} == {}


@PAPER_STUDIES
def test_statements_add_no_quantifier(study):
    """A quantifier in `states` is in the paper's words, or in an assumption of that place."""
    faults = []
    for claim in of_paper(study):
        source = f"{claim.words} {claim.assumes} {claim.formula}"
        for word in QUANTIFIERS.findall(DOLLARS.sub("", claim.states)):
            if not re.search(SAME_QUANTIFIER.get(word.lower(), rf"\b{word}\b"), source, re.IGNORECASE):
                faults.append(f"{claim.id}: {word!r} in {claim.states!r}")
    assert faults == []


# What the README and the pages of the studies quote

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MARKUP = re.compile(r"<[^>\n]+>|`[^`]*`")
LINKED = re.compile(r"\[([^\]]*)\]\((?:claim|term):[^)\s]+\)")
ITEM = re.compile(r"\n\n|\n- |\n\d+\. |\n\|")  # a quotation ends with its paragraph, its item or its row
BETWEEN = re.compile(r"\.\.\.|\[[^\]]*\]|\$[^$]*\$")  # words left out or put in, formulas
FEWEST = 4  # words of a quotation; fewer are a term in quotation marks
QUOTING = ("README.md", "docs/index.md", *(f"src/repdyn/{study}/page.md" for study in NUMBERS))


def letters(text: str) -> str:
    """Only letters and digits, since a scan breaks lines, words and formulas differently."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def quotations(page: str) -> list[str]:
    """Texts between straight quotation marks on a page, except verdicts and single terms."""
    items = ITEM.split(MARKUP.sub("", LINKED.sub(r"\1", FENCE.sub("", page))))
    quoted = [words for item in items for words in re.findall(r'"([^"]+)"', folded(item))]
    long = [words for words in quoted if len(re.findall(r"[A-Za-z]+", BETWEEN.sub(" ", words))) >= FEWEST]
    return [words for words in long if words not in STATUSES]


def misquoted(page: str, text: str) -> list[str]:
    """The quotations of a page of which a piece is not in a paper's text."""
    known = letters(text)
    return [words for words in quotations(page) if not all(letters(piece) in known for piece in BETWEEN.split(words))]


@pytest.mark.parametrize("name", QUOTING)
def test_quotations_on_pages_are_in_the_paper(name):
    own = [study for study in NUMBERS if name == f"src/repdyn/{study}/page.md"] or list(NUMBERS)
    text = "|".join("\n".join(lines_of(study)) for study in own)
    assert misquoted((ROOT / name).read_text(encoding="utf-8"), text) == []
