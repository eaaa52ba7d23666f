"""The pages as a forge shows them: links lead somewhere, tables keep their columns, verdicts are today's."""

import ast
import importlib
import re
import runpy
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.conftest import ROOT

from repdyn.base.claims import SLIPS, claims_of
from repdyn.base.figures import RED
from repdyn.base.verdicts import REFUTED, STATUSES
from repdyn.pipeline.pages import counts, generate
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

OPEN = "not decidable at this scale"
PAGES = sorted(
    {
        *(path for path in ROOT.glob("docs/**/*.md") if path.parent.name != "studies"),  # those are copies for the site
        *(
            path
            for folder in ("", "benchmarks/", "examples/**/", "src/repdyn/*/")
            for path in ROOT.glob(f"{folder}*.md")
        ),
    }
)
PROSE = (".md", ".py", ".j2", ".yaml", ".js", ".in")  # suffixes of files with words that readers see
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
OF_REPORT = re.compile(r"!\[\]\(\w+\)|\]\((claim|term):[\w-]+\)")  # figures, claims, terms in the story of a study
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
PREFIXES = {
    "bn_decomposed": "bnd",
    "truncation_flow": "tf",
    "bn_mean_field": "bnm",
    "leaky_resnets": "lrn",
    "universality": "uni",
    "across_papers": "acr",
}


def named(page: Path) -> str:
    """A page in the names of tests."""
    return page.relative_to(ROOT).with_suffix("").as_posix()


@cache
def prose(path: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(path: Path) -> set[str]:
    """What a forge can jump to: `<a id="...">`, and headings in lower case with hyphens, numbered when they repeat."""
    slugs = set(re.findall(r'<a id="([^"]+)">', prose(path)))
    for heading in re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<[^>]*>", "", heading)).lower()
        slug = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        repeated = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", earlier) is not None for earlier in slugs)
        slugs.add(f"{slug}-{repeated}" if repeated else slug)
    return slugs


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    lost = []
    for link in LINK.findall(OF_REPORT.sub("", re.sub(r"`[^`\n]*`", "``", prose(page)))):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not link.startswith(("http://", "https://")):
            fine = target.exists() and (not anchor or anchor in anchors(target))
            lost += [] if fine else [link]
    assert lost == []


def test_pictures_are_small_and_told_in_words():
    folder, shown = ROOT / "docs/images", {}
    for page in PAGES:
        for words, file in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", OF_REPORT.sub("", prose(page))):
            shown[(page.parent / file).resolve()] = words
    assert set(shown) == set(folder.glob("*.png")), "a picture that no page shows, or the reverse"
    for path, words in shown.items():
        assert len(words) > 40, f"{path.name} needs an alt text"
        assert path.stat().st_size <= 120_000
        with Image.open(path) as picture:
            assert picture.width <= 900


def test_small_pictures_keep_the_colors_of_their_figures():
    """Areas of every color beside a thousand others: 256 are left, and these are unchanged; so is the odd point."""
    refresh = runpy.run_path(str(ROOT / "docs/images/refresh.py"))
    kept = [tuple(bytes.fromhex(color[1:])) for color in refresh["KEPT"]]
    pixels = np.random.default_rng(0).integers(0, 256, (400, 1100, 3), np.uint8)
    for place, color in enumerate(kept):
        pixels[100:120, 100 * place : 100 * place + 20] = color
    small = refresh["few_colors"](refresh["scaled"](Image.fromarray(pixels)))
    assert (small.width, len(small.getcolors())) == (900, 256)
    shown = small.convert("RGB")
    assert [shown.getpixel((round((100 * place + 10) * 9 / 11), 90)) for place in range(len(kept))] == kept
    with Image.open(ROOT / "docs/images/bn_decomposed.png") as picture:
        pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    red = (pixels == np.array(bytearray.fromhex(RED[1:]))).all(axis=1)
    assert red.sum() > 200, "the odd point's mark and those of its angles"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_tables_keep_their_columns(page):
    """A bar inside a cell, in code too, splits it unless it is escaped."""
    wrong, columns = [], 0
    for line in prose(page).splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if ROW.match(line) else 0
        columns = cells if not (columns and cells) else columns
        wrong += [line] if cells != columns else []
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_verdicts_in_tables_are_the_accepted_ones(page):
    accepted = accepted_verdicts()
    tabulated = {}
    for line in ROW.findall(prose(page)):
        id = re.match(r'\| (?:<a id="[^"]*">)?`([\w-]+)`(?:</a>)? \|', line)
        verdicts = [cell for cell in (cell.strip() for cell in line.split("|")) if cell in STATUSES]
        if id and id[1] in accepted and len(verdicts) == 1:
            tabulated[id[1]] = verdicts[0]
    assert {id: verdict for id, verdict in tabulated.items() if accepted[id]["verdict"] != verdict} == {}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_claims_that_are_named_exist(page):
    named = re.findall(rf"`((?:{'|'.join(PREFIXES.values())})-[\w-]+)`", page.read_text(encoding="utf-8"))
    assert set(named) - set(accepted_verdicts()) == set()


BLOCKS = [
    pytest.param(block, id=named(page))
    for page in PAGES
    for block in re.findall(r"^```python\n(import .*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_that_imports_what_it_uses_runs(block):
    exec(compile(block, "documentation", "exec"), {})


def test_the_readme_is_one_screen():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 45
    assert text.count("![") == 1
    assert len(re.findall(r"^- \[[^\]]+\]\(docs/", text, re.MULTILINE)) == 4


def test_the_first_page_counts_the_accepted_verdicts():
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert text == counts.put(text, generate.counted(ROOT)), "run `python -m repdyn reference`"


def test_counts_of_claims_are_those_of_the_accepted_verdicts():
    """Against a count of its own: the ids of the papers' claims by study and verdict."""
    accepted = accepted_verdicts()
    claims = [claim for study in PREFIXES for claim in claims_of(*load_modules(study, "claims"))]
    printed = {claim.id: claim for claim in claims if claim.origin == "paper"}
    verdicts = {id: accepted[id]["verdict"] for id in printed}
    text = generate.counted(ROOT)
    told = [
        int(number)
        for number in re.findall(r"(\d+) (?:statements of the|hold|do not|depend|stay)", text.split("\n|")[0])
    ]
    decided = ("holds", "holds as corrected", "does not hold", "depends on the reading")
    by_verdict = [sum(verdict == status for verdict in verdicts.values()) for status in decided]
    assert told == [len(printed), *by_verdict, len(printed) - sum(by_verdict)]
    rows = {row.split("]")[0].strip("| ["): row.split("|")[2:-1] for row in text.splitlines() if row.startswith("| [")}
    for study, cells in rows.items():
        own = [id for id in printed if id.startswith(f"{PREFIXES[study]}-")]
        assert int(cells[0]) == len(own)
        refuted = [printed[id].kind_of_slip for id in own if verdicts[id] in REFUTED]
        assert [int(cell.strip() or 0) for cell in cells[-len(SLIPS) :]] == [
            refuted.count(slip) for slip in reversed(SLIPS)
        ]


def test_what_the_full_scale_says_of_the_default_scale_is_counted():
    default = {"a": "holds", "b": "holds", "c": "does not hold", "d": OPEN, "e": OPEN, "new": "holds"}
    full = {"a": "holds", "b": OPEN, "c": "holds", "d": "holds", "e": OPEN}
    text = counts.confirmed(default, full)
    assert "confirms 1 of the 3 verdicts that the default scale decides, " in text
    assert "leaves 1 of them open (refutations among them: none), contradicts 1, and decides 1 of the 2" in text
    assert text.endswith(" that the default scale leaves open.")


def test_refutations_that_the_full_scale_leaves_open_are_counted():
    default = {"a": "holds as corrected", "b": "does not hold", "c": "holds", "d": "depends on the reading"}
    text = counts.confirmed(default, dict.fromkeys(default, OPEN))
    assert "confirms 0 of the 4" in text
    assert "leaves 4 of them open (refutations among them: 2), contradicts none, and" in text


def test_phrases_that_readers_stumbled_over_are_gone():
    """Of the README, the pages and what the report says, in letters of any case; each was replaced by plain words."""
    phrases = ("turns none", "turns 0", "no choice has seen", "another processor's rounding", "every formula checked")
    phrases += ("the cluster is no point", "rarer than it reads", "was told apart")
    phrases += (
        "Whether it is depends",
        "no point at any",
        "which room",
        "1 of 1 parts",
        "one red point",
        "printed (red)",
        "also has to reject",
        "reject something false",
        "begun nearer",
        "wrong sign, clusters and layers",
        "from what they need",
        "off by two",
        "larger scale decides",
        "one order of magnitude faster",
        "verdicts again",
    )
    folders = (ROOT / "docs", ROOT / "src/repdyn", ROOT / "workflow")
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in PROSE]
    files += [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    texts = {path: " ".join(path.read_text(encoding="utf-8").casefold().split()) for path in files}
    assert len(files) > 200
    assert [
        (path.name, phrase) for path, text in texts.items() for phrase in phrases if phrase.casefold() in text
    ] == []


COLORS = {"BLACK", "BLUE", "GREEN", "ORANGE", "PURPLE", "RED", "SKY", "CYCLE"}


def from_base(files: Iterable[Path]) -> Counter[tuple[str, str]]:
    """Names that files import from `repdyn.base`, with their modules; colors are one another's equals and left out."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    imports = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return Counter(
        (str(node.module).removeprefix("repdyn.base."), alias.name)
        for node in imports
        if str(node.module).startswith("repdyn.base.")
        for alias in node.names
        if alias.name not in COLORS
    )


def test_names_of_base_to_know_are_enough():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    table = page.partition("## The names of `base` to know")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    known = {(module, name) for module, names in rows for name in re.findall(r"`(\w+)`", names)}
    package = ROOT / "src" / "repdyn"
    assert len(known) == 37, "the page says thirty-seven"
    for module, name in known - {("arrays", "Float")}:  # a word for type checkers alone
        assert hasattr(importlib.import_module(f"repdyn.base.{module}"), name)
    assert set(from_base((package / "pipeline" / "new" / "template" / "src").rglob("*.py.in"))) <= known
    used = from_base(file for study in PREFIXES for file in (package / study).rglob("*.py"))
    assert sum(used[name] for name in known) > 0.75 * used.total()
