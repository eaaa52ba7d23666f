"""The plan of the package: imports run downwards, no study imports another, a study has its seven modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import repdyn

SOURCE = Path(repdyn.__file__).parent
BASE = "base"
UPPER = ("pipeline", "diagnostics", "across_papers")
PACKAGES = sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.rglob("*.py")))
STUDIES = [name for name in PACKAGES if name not in (BASE, *UPPER)]
MODULES = ("study", "settings", "theory", "methods", "experiments", "claims", "figures", "tables")
BELOW = {"across_papers": {"diagnostics"}}
"""What an upper package may import besides `base`, the studies and itself."""

SHOWN = {"study", "experiments", "claims", "figures", "tables"}
FORBIDDEN = {
    "study": {*MODULES} - {"settings"},
    "settings": set(MODULES),
    "theory": set(MODULES),
    "methods": SHOWN,
    "experiments": SHOWN,
    "claims": SHOWN | {"settings"},
    "figures": SHOWN | {"settings"},
    "tables": SHOWN - {"figures"} | {"settings"},
}
"""Modules of its own study that a module may not import, itself aside."""


def imports(path: Path) -> Iterator[str]:
    """Absolute dotted names of what a file imports, `from a import b` as a.b."""
    here = path.relative_to(SOURCE.parent).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = here[: len(here) + 1 - node.level] if node.level else ()
            base = ".".join([*start, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """File below the package -> what it imports."""
    return {str(path.relative_to(SOURCE)): set(imports(path)) for path in sorted(SOURCE.rglob("*.py"))}


def packages(names: set[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("repdyn.")}


def allowed(package: str) -> set[str]:
    if package == BASE:
        return {BASE}
    if package in STUDIES:
        return {BASE, package}
    return {BASE, package, *(STUDIES if package != "pipeline" else ())} | BELOW.get(package, set())


def test_the_five_studies_are_there():
    assert STUDIES == ["bn_decomposed", "bn_mean_field", "leaky_resnets", "truncation_flow", "universality"]


def test_imports_run_downwards(imported):
    problems = {}
    for file, names in imported.items():
        package = file.split("/")[0]
        if package in PACKAGES and (too_high := packages(names) - allowed(package)):
            problems[file] = too_high
    assert problems == {}, "what two studies need belongs in base, see docs/extending.md"


@pytest.mark.parametrize("study", [*STUDIES, "across_papers"])
def test_a_study_has_its_modules_and_no_other(study):
    modules = {path.stem for path in (SOURCE / study).iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    assert modules - {"__init__"} <= set(MODULES)
    if study in STUDIES:
        assert modules >= set(MODULES)


@pytest.mark.parametrize("study", [*STUDIES, "across_papers"])
def test_modules_of_a_study_import_what_they_may(imported, study):
    """Theory and settings stand alone, nothing imports a check or a figure."""
    problems = []
    for file, names in imported.items():
        if not file.startswith(f"{study}/") or file == f"{study}/__init__.py":
            continue
        own = file.split("/")[1].removesuffix(".py")
        inside = {name.split(".")[2] for name in names if name.startswith(f"repdyn.{study}.")}
        problems += [f"{file}: {name}" for name in sorted(inside & FORBIDDEN[own] - {own})]
    assert problems == []


def test_package_files_hold_no_code():
    """A docstring at most: what an `__init__` file runs or hands on, nobody asked for by name."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("__init__.py")}
    filled = [path for path, tree in trees.items() if len(tree.body) > (ast.get_docstring(tree) is not None)]
    assert filled == []


def test_snakemake_is_imported_nowhere(imported):
    importers = {file for file, names in imported.items() if any(name.split(".")[0] == "snakemake" for name in names)}
    assert importers == set()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("import repdyn.base.files", "repdyn.base.files"),
        ("from repdyn.base import files", "repdyn.base.files"),
        ("from ..universality.theory import fits", "repdyn.universality.theory.fits"),
        ("from . import other", "repdyn.base.other"),
        ("def f():\n    import snakemake.api", "snakemake.api"),
    ],
)
def test_every_kind_of_import_is_seen(tmp_path, monkeypatch, line, name):
    monkeypatch.setitem(globals(), "SOURCE", tmp_path / "repdyn")
    path = tmp_path / "repdyn/base/one.py"
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert list(imports(path)) == [name]
