"""The paper's own words: each claim of a paper quotes it, and states no more than its words and assumptions do.

The texts of the papers are looked for beside the checkout, in `shared/papers`, or in the folder `REPDYN_PAPERS`.
"""

import os
import re
from pathlib import Path

import pytest

from repdyn.base.claims import SLIPS, Claim, claims_of
from repdyn.base.markup import DOLLARS
from repdyn.base.verdicts import REFUTED, STATUSES
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


def fault_of_quotation(claim: Claim, lines: list[str]) -> str:
    """What keeps a quotation from being the paper's; empty where nothing does."""
    text, end = folded("\n".join(lines[claim.line - 1 : claim.line + REACH])), 0
    for place, piece in enumerate(claim.words.split(" ... ")):
        start = text.find(folded(piece), end)
        if start < 0:
            return f"not found from line {claim.line} on: {piece}"
        if place == 0 and start >= len(folded(lines[claim.line - 1])):
            return f"begins after line {claim.line}: {piece}"
        end = start + len(folded(piece))
    return ""


@PAPER_STUDIES
def test_a_claim_of_a_paper_quotes_it(study):
    assert [claim.id for claim in of_paper(study) if not claim.words] == []


@PAPER_STUDIES
def test_quoted_words_stand_in_the_paper_at_their_line(study):
    lines = lines_of(study)
    faults = {claim.id: fault_of_quotation(claim, lines) for claim in of_paper(study) if claim.words}
    assert {id: fault for id, fault in faults.items() if fault} == {}


def test_a_wrong_quotation_is_noticed():
    claim = of_paper("truncation_flow")[0]
    lines = ["nothing here", "every cluster  of the", "network rests", "in the end"]
    vars_of = {name: getattr(claim, name) for name in vars(claim)}

    def fault(words: str, line: int) -> str:
        return fault_of_quotation(Claim(**vars_of | {"words": words, "line": line}), lines)

    assert fault("cluster of the network ... the end", 2) == ""
    assert "not found" in fault("clusters of the network", 2)
    assert "not found" in fault("cluster of ... nothing", 2)
    assert "begins after line 1" in fault("cluster of the network", 1)


@PAPER_STUDIES
def test_a_claim_stands_in_a_section(study):
    place = re.compile(r"^(Abstract|Introduction|Discussion|Conclusion|Section|Appendix|Caption|Figure|Table)")
    assert [f"{claim.id}: {claim.where}" for claim in of_paper(study) if not place.search(claim.where)] == []


@PAPER_STUDIES
def test_a_statement_adds_no_quantifier(study):
    """A quantifier in `states` stands in the paper's words, or in an assumption of that place."""
    faults = []
    for claim in of_paper(study):
        source = f"{claim.words} {claim.assumes} {claim.formula}"
        for word in QUANTIFIERS.findall(DOLLARS.sub("", claim.states)):
            if not re.search(SAME_QUANTIFIER.get(word.lower(), rf"\b{word}\b"), source, re.IGNORECASE):
                faults.append(f"{claim.id}: {word!r} in {claim.states!r}")
    assert faults == []


@PAPER_STUDIES
def test_what_is_not_right_as_printed_says_how_severe_it_is(study):
    accepted = accepted_verdicts()
    wrong = {
        claim.id: claim.kind_of_slip
        for claim in of_paper(study)
        if claim.correction or accepted.get(claim.id, {}).get("verdict") in REFUTED
    }
    assert [id for id, slip in wrong.items() if slip not in SLIPS] == []


@PAPER_STUDIES
def test_what_holds_as_printed_is_no_slip(study):
    accepted = accepted_verdicts()
    holds = [claim for claim in of_paper(study) if accepted.get(claim.id, {}).get("verdict") == "holds"]
    assert [claim.id for claim in holds if claim.kind_of_slip] == []


@PAPER_STUDIES
def test_a_causal_sentence_has_its_cause_switched_off(study):
    causal = [claim for claim in of_paper(study) if claim.kind == "causal" and claim.controls]
    kinds = {claim.id: {control.kind for control in claim.controls.values()} for claim in causal}
    assert [id for id, controls in kinds.items() if "knock-out" not in controls] == []


# What the README and the pages of the studies quote

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MARKUP = re.compile(r"<[^>\n]+>|`[^`]*`")
ITEM = re.compile(r"\n\n|\n- |\n\d+\. |\n\|")  # a quotation ends with its paragraph, its item or its row
BETWEEN = re.compile(r"\.\.\.|\[[^\]]*\]|\$[^$]*\$")  # words left out or put in, formulas
FEWEST = 4  # words of a quotation; fewer are a term in quotation marks
QUOTING = ("README.md", "docs/index.md", *(f"src/repdyn/{study}/page.md" for study in NUMBERS))


def letters(text: str) -> str:
    """Letters and digits alone: a scan breaks lines, words and formulas elsewhere."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def quotations(page: str) -> list[str]:
    """What stands between straight quotation marks on a page, verdicts and single terms apart."""
    items = ITEM.split(MARKUP.sub("", FENCE.sub("", page)))
    quoted = [words for item in items for words in re.findall(r'"([^"]+)"', folded(item))]
    long = [words for words in quoted if len(re.findall(r"[A-Za-z]+", BETWEEN.sub(" ", words))) >= FEWEST]
    return [words for words in long if words not in STATUSES]


def misquoted(page: str, text: str) -> list[str]:
    """The quotations of a page of which a piece is not in a paper's text."""
    known = letters(text)
    return [words for words in quotations(page) if not all(letters(piece) in known for piece in BETWEEN.split(words))]


@pytest.mark.parametrize("name", QUOTING)
def test_a_page_quotes_the_papers_words(name):
    own = [study for study in NUMBERS if name == f"src/repdyn/{study}/page.md"] or list(NUMBERS)
    text = "|".join("\n".join(lines_of(study)) for study in own)
    assert misquoted((ROOT / name).read_text(encoding="utf-8"), text) == []


def test_quotation_marks_do_not_pair_across_paragraphs():
    odd = {
        name: item[:80]
        for name in QUOTING
        for item in ITEM.split(MARKUP.sub("", FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))))
        if item.count('"') % 2
    }
    assert odd == {}


def test_a_misquotation_is_noticed():
    text = "The model is remark-\nably similar to what $x$ happens."
    assert misquoted('It is "remarkably similar to what\nhappens" there.', text.replace("$x$ ", "")) == []
    assert misquoted('It is "similar to what $x_1$ happens".', text.replace("$x$ ", "")) == []
    assert misquoted('It is "remarkably ... what [it] happens to".', text) == ["remarkably ... what [it] happens to"]
    assert misquoted('- "The model is similar to"\n- a "term" and `"code that is long enough"`', text) == [
        "The model is similar to"
    ]
