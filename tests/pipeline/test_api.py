"""The pages of public functions: committed as generated, its examples true, enough of them."""

import doctest
import importlib

import pytest
from tests.conftest import ROOT

from repdyn.base.fingerprint import SOURCE
from repdyn.pipeline.pages import api

MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts): path.read_text(encoding="utf-8").count("    Example:\n")
    for package in api.packages()
    for path in api.modules(package)
}


def test_committed_pages_are_the_generated_ones():
    folder = ROOT / api.FOLDER
    committed = {f"{api.FOLDER}/{path.name}": path.read_text(encoding="utf-8") for path in folder.iterdir()}
    pages = api.pages()
    stale = sorted(path for path in committed | pages if committed.get(path) != pages.get(path))
    assert not stale, f"{', '.join(stale)} differ from the code: run `python -m repdyn reference`"


@pytest.mark.parametrize("name", [name for name, examples in MODULES.items() if examples])
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted >= MODULES[name]
    assert result.failed == 0


@pytest.mark.parametrize("package", [package for package in api.packages() if package != "base"])
def test_every_study_has_examples(package):
    assert sum(count for name, count in MODULES.items() if name.startswith(f"repdyn.{package}.")) >= 3


def test_rooms_of_one_file_and_of_several():
    assert {"bn_decomposed", "universality", "diagnostics", "base"} <= set(api.packages())
    assert "across_papers" not in api.packages()  # has no theory of its own
    assert all(api.modules(package) for package in api.packages())


def test_every_public_function_says_what_it_does():
    assert not [path for path, page in api.pages().items() if "\n```\n\n\n" in page]


def test_no_module_is_shown_twice():
    for path, page in api.pages().items():
        heads = [line for line in page.splitlines() if line.startswith("## ")]
        assert len(heads) == len(set(heads)), path


def test_signatures_are_as_one_calls_them():
    page = "".join(api.pages().values())
    assert "\nStream(seed: int, key: tuple[Key, ...] = ())\n" in page
    assert "\nsimplex_angle(n: float) -> float\n" in page
    assert "self" not in page.split("### `Recorder`")[1].split("```")[1]
