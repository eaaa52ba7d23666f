"""The pages as shown on GitHub: links work, tables have consistent columns, verdicts are current."""

import importlib
import re
from functools import cache
from pathlib import Path

import pytest
from tests.conftest import ROOT

from repdyn.base.verdicts import STATUSES
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

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
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
OF_REPORT = re.compile(r"!\[\]\(\w+\)|\]\((claim|term):[\w-]+\)")  # figures, claims, terms in the story of a study
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


def named(page: Path) -> str:
    """A page in the names of tests."""
    return page.relative_to(ROOT).with_suffix("").as_posix()


@cache
def prose(path: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(path: Path) -> set[str]:
    """Anchors of a page: `<a id="...">`, and headings in lower case with hyphens, numbered when they repeat."""
    slugs = set(re.findall(r'<a id="([^"]+)">', prose(path)))
    for heading in re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<[^>]*>", "", heading)).lower()
        slug = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        repeated = sum(re.fullmatch(rf"{re.escape(slug)}(-\d+)?", earlier) is not None for earlier in slugs)
        slugs.add(f"{slug}-{repeated}" if repeated else slug)
    return slugs


def links(page: Path) -> list[str]:
    return LINK.findall(OF_REPORT.sub("", re.sub(r"`[^`\n]*`", "``", prose(page))))


def leads_somewhere(page: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    return link.startswith(("http://", "https://")) or (target.exists() and (not anchor or anchor in anchors(target)))


def test_links_have_existing_targets():
    lost = [f"{named(page)}: {link}" for page in PAGES for link in links(page) if not leads_somewhere(page, link)]
    assert lost == []


def test_pictures_are_shown_and_small():
    shown = {(page.parent / link).resolve() for page in PAGES for link in links(page) if link.endswith(".png")}
    assert shown == set((ROOT / "docs/images").glob("*.png"))
    assert [path.name for path in shown if path.stat().st_size > 120_000] == []


def test_table_rows_have_equal_numbers_of_columns():
    """A bar inside a cell, in code too, splits it unless it is escaped."""
    wrong = []
    for page in PAGES:
        columns = 0
        for line in prose(page).splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line)) if ROW.match(line) else 0
            columns = cells if not (columns and cells) else columns
            wrong += [f"{named(page)}: {line}"] if cells != columns else []
    assert wrong == []


def test_claims_on_pages_exist_and_have_the_accepted_verdicts():
    accepted = accepted_verdicts()
    prefixes = "|".join(sorted({id.split("-")[0] for id in accepted}))
    unknown, other = set(), {}
    for page in PAGES:
        unknown |= set(re.findall(rf"`((?:{prefixes})-[\w-]+)`", page.read_text(encoding="utf-8"))) - set(accepted)
        for line in ROW.findall(prose(page)):
            id = re.match(r'\| (?:<a id="[^"]*">)?`([\w-]+)`(?:</a>)? \|', line)
            verdicts = [cell for cell in (cell.strip() for cell in line.split("|")) if cell in STATUSES]
            if id and id[1] in accepted and verdicts not in ([], [accepted[id[1]]["verdict"]]) and len(verdicts) == 1:
                other[f"{named(page)} {id[1]}"] = verdicts[0]
    assert unknown == set()
    assert other == {}


BLOCKS = [
    pytest.param(block, id=named(page))
    for page in PAGES
    for block in re.findall(r"^```python\n(import .*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("block", BLOCKS)
def test_self_contained_code_blocks_run(block):
    exec(compile(block, "documentation", "exec"), {})


def test_names_of_base_on_the_page_on_extending_exist():
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    table = page.partition("## The names of `base` to know")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    known = {(module, name) for module, names in rows for name in re.findall(r"`(\w+)`", names)}
    missing = [
        f"{module}.{name}"
        for module, name in known - {("arrays", "Float")}  # for type checkers alone
        if not hasattr(importlib.import_module(f"repdyn.base.{module}"), name)
    ]
    assert len(known) > 20
    assert missing == []
