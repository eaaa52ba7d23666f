"""The API reference: it lists all public functions, examples are correct, the site is complete."""

import ast
import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.conftest import ROOT

import repdyn

SOURCE = ROOT / "src"
STUDIES = sorted(path.parent.name for path in (SOURCE / "repdyn").glob("*/study.py"))
LISTED = re.findall(r"^   (repdyn[\w.]+)$", (ROOT / "docs/api/index.md").read_text(encoding="utf-8"), re.MULTILINE)
EXAMPLE = "    Example:\n"
OF_THE_MACHINE = {str(ROOT), str(Path.home()), sys.prefix} - {"/"}


def files(name):
    """The files of a listed module, or of a listed package and those within."""
    place = SOURCE.joinpath(*name.split("."))
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def module(path):
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


FILES = [path for name in LISTED for path in files(name) if path.stem != "__init__"]
EXAMPLES = {module(path): path.read_text(encoding="utf-8").count(EXAMPLE) for path in FILES}


def test_formulas_and_methods_of_every_study_are_listed():
    rooms = {
        f"repdyn.{study}.{room}"
        for study in STUDIES
        if study != "diagnostics"  # lists its modules, since others are a study's
        for room in ("theory", "methods")
        if any((SOURCE / "repdyn" / study).glob(f"{room}*"))
    }
    assert rooms <= set(LISTED)
    assert all(path.is_file() for path in FILES)


def test_base_modules_used_by_studies_are_listed():
    folders = [SOURCE / "repdyn" / study for study in STUDIES] + [ROOT / "examples"]
    imports = "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    taken = set(re.findall(r"^\s*from (repdyn\.base\.\w+) import", imports, re.MULTILINE))
    assert len(taken) > 15
    assert taken - set(LISTED) <= {"repdyn.base.files"}  # writes files, as no study should in its public functions


@pytest.mark.parametrize("name", [name for name, examples in EXAMPLES.items() if examples])
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted >= EXAMPLES[name]
    assert result.failed == 0


@pytest.mark.parametrize("study", [study for study in STUDIES if study != "across_papers"])
def test_every_study_has_examples(study):
    assert sum(count for name, count in EXAMPLES.items() if name.startswith(f"repdyn.{study}.")) >= 3


def test_public_functions_have_docstrings():
    trees = {module(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
    public = {
        f"{name}.{node.name}": ast.get_docstring(node)
        for name, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    assert len(public) > 500
    assert [name for name, text in public.items() if not text] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The documentation, built as CONTRIBUTING says in a checkout where it was not built before."""
    folder = tmp_path_factory.mktemp("checkout")
    (command,) = re.findall(r"^sphinx-build .*$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    listed = subprocess.run(["git", "ls-files", "docs"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(lambda name: (ROOT / name).is_file(), listed.splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((ROOT / name).read_bytes())
    for name in ("src", "examples", "tests", "config.yaml"):
        (folder / name).symlink_to(ROOT / name)
    words = [sys.executable, "-m", "sphinx", *command.split()[1:]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build/docs"


def lost(site):
    """Links within the site to missing files or anchors."""
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    places = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    for path, text in texts.items():
        for link in map(urlsplit, re.findall(r'(?:href|src)="([^"]+)"', text)):
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            there = target.is_file() and (not link.fragment or unquote(link.fragment) in places.get(target, ()))
            if not (link.scheme or there):
                yield path.name, link.geturl()


@pytest.mark.slow
def test_links_have_existing_targets(site):
    assert list(lost(site.resolve())) == []


@pytest.mark.slow
def test_every_listed_module_has_its_page(site):
    pages = {path.stem for path in (site / "api/generated").glob("*.html")}
    assert {module(path) for path in FILES} <= pages


@pytest.mark.slow
def test_pages_name_no_machine_and_need_no_network(site):
    machine = {*OF_THE_MACHINE, str(site.parents[1])}
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*") if path.suffix in (".html", ".js")}
    assert len(texts) > 150
    assert [(path.name, place) for path, text in texts.items() for place in machine if place in text] == []
    assert [path.name for path, text in texts.items() if re.search(r'<(script|link)[^>]*(src|href)="http', text)] == []


def test_package_offers_the_diagnostics_without_loading_torch():
    """In a fresh interpreter: the names are listed, torch comes with the first use."""
    code = (
        "import sys, repdyn; assert 'torch' not in sys.modules; names = dir(repdyn);"
        "from repdyn.diagnostics.measure import Recorder, measure;"
        "assert repdyn.measure is measure and repdyn.Recorder is Recorder;"
        "assert {'measure', 'Recorder', 'compare', 'summarize'} <= set(names)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="'mesure'; it has Recorder, compare, measure, summarize"):
        _ = repdyn.mesure
