"""Docstrings: a formula says where it stands, and whoever takes many arguments says what each of them is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import repdyn

SOURCE = Path(repdyn.__file__).parent
STUDIES = sorted(path.parent.name for path in SOURCE.glob("*/study.py"))
MANY = 4
"""Parameters from which on a docstring lists them."""

PLACES = (
    r"\b[Ee]qs?\.",
    r"\b[Ee]quations?\b",
    r"\((\d+(\.\d+)*[a-z]?|[A-Z]\.?\d+)\)",  # (12), (7a), (3.22), (B.1)
    r"\b(Theorem|Proposition|Lemma|Corollary|Definition|Assumption|Remark|Algorithm)s?\b",
    r"\b([Ss]ection|Appendix|Figure|Table|[Ff]ootnote)s?\b",
    r"\bOurs: ",
)


class Function(NamedTuple):
    """A public function as its file has it."""

    where: str
    parameters: list[str]
    text: str

    @property
    def has_source(self) -> bool:
        return any(re.search(place, self.text) for place in PLACES)

    @property
    def listed(self) -> set[str]:
        """Names of the section `Args:`."""
        section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n(?=[ \t]))+)", self.text, re.MULTILINE)
        return set(re.findall(r"^ {4}\*{0,2}(\w+)(?: \(.*?\))?:", section[1], re.MULTILINE)) if section else set()


def functions(study: str, module: str) -> Iterator[Function]:
    """Public functions of a module of a study, a file or a package."""
    place = SOURCE / study / module
    for path in sorted([*place.rglob("*.py"), *SOURCE.glob(f"{study}/{module}.py")]):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                text = ast.get_docstring(node) or ""
                yield Function(f"{path.relative_to(SOURCE)}:{node.name}", names, text)


@pytest.mark.parametrize("study", STUDIES)
def test_theory_says_where_it_stands(study):
    missing = [function.where for function in functions(study, "theory") if not function.has_source]
    assert missing == [], "name equation, section or theorem; what is not in a paper begins a sentence with 'Ours: '"


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("module", ["theory", "methods"])
def test_many_arguments_are_listed(study, module):
    missing = {
        function.where: unlisted
        for function in functions(study, module)
        if len(function.parameters) >= MANY and (unlisted := set(function.parameters) - function.listed)
    }
    assert missing == {}, "list every parameter in `Args:`, with its unit; shapes stand in signatures"


@pytest.mark.parametrize("text", ["See (12).", "Corrects (3.22).", "Theorem 2, item 1.", "Ours: a check.", "eq. (8)"])
def test_a_source_is_recognized(text):
    assert Function("", [], text).has_source


@pytest.mark.parametrize("text", ["Shape (N, Q).", "A batch of n points.", "Hours: of no account", "at (n - 1)", ""])
def test_what_is_no_source_is_not(text):
    assert not Function("", [], text).has_source
