"""The imports that the documentation shows give functions; the one that it warns of gives a module."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import repdyn.diagnostics
from repdyn.diagnostics import measure

PAGE = (Path(__file__).parents[2] / "src/repdyn/diagnostics/page.md").read_text(encoding="utf-8")
IMPORT = re.compile(r"^ *(from repdyn\.diagnostics\S* import .+)$", re.MULTILINE)


def imported(text):
    """What the import lines of a text give, by name."""
    nodes = [node for line in IMPORT.findall(text) for node in ast.parse(line.strip()).body]
    return {entry.name: getattr(import_module(node.module), entry.name) for node in nodes for entry in node.names}


def test_the_page_and_the_package_show_imports_that_give_functions_and_classes():
    shown = {"Recorder", "measure", "names", "compare", "summarize", "words", "summarize_training"}
    for text, wanted in (
        (PAGE, shown | {"draw_depth", "every", "growing"}),
        (inspect.getdoc(repdyn.diagnostics), shown),
    ):
        found = imported(text)
        assert set(found) == wanted
        assert all(map(callable, found.values()))


def test_the_page_opens_with_the_import_and_with_the_one_that_gives_the_module():
    opening = PAGE.partition("\n# In detail")[0]
    assert set(imported(opening)) == {"Recorder", "measure", "names"}
    assert "`from repdyn.diagnostics import measure` gives the module" in opening
    assert isinstance(measure, ModuleType)
    assert callable(measure.measure)
