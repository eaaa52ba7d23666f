"""The house's floors: imports run downwards only, and no study imports another."""

import ast
from pathlib import Path

import pytest

import repdyn

SOURCE = Path(repdyn.__file__).parent
GROUND = "base"
ROOF = ("pipeline", "diagnostics", "across_papers")
ROOMS = sorted(path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists())
STUDIES = [room for room in ROOMS if room not in (GROUND, *ROOF)]


def imported(room: str) -> dict[str, set[str]]:
    """File -> rooms of the package that it imports."""
    found: dict[str, set[str]] = {}
    for path in (SOURCE / room).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        names += [
            f"repdyn.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "repdyn"
            for alias in node.names
        ]
        found[str(path.relative_to(SOURCE))] = {name.split(".")[1] for name in names if name.startswith("repdyn.")}
    return found


def allowed(room: str) -> set[str]:
    if room == GROUND:
        return {GROUND}
    if room in STUDIES:
        return {GROUND, room}
    below = {GROUND, *STUDIES, room}
    return below | {"pipeline": {"diagnostics", "across_papers"}, "across_papers": {"diagnostics"}}.get(room, set())


@pytest.mark.parametrize("room", ROOMS)
def test_imports_run_downwards(room):
    too_high = {file: rooms - allowed(room) for file, rooms in imported(room).items() if rooms - allowed(room)}
    assert too_high == {}, "see docs/extending.md: what two studies need belongs in base"


SHOWN = {"claims", "figures", "tables", "experiments"}
FORBIDDEN = {"theory": SHOWN | {"library"}, "claims": SHOWN, "figures": SHOWN, "tables": SHOWN - {"figures"}}
FORBIDDEN |= {"experiments": SHOWN, "library": SHOWN, "settings": SHOWN | {"theory", "library"}}


def part(name: str) -> str:
    """Which part of a study a module name belongs to; `library` is what stands beside the parts of the plan."""
    first = name.split(".")[0]
    return "settings" if first.startswith("settings") else first if first in FORBIDDEN else "library"


@pytest.mark.parametrize("study", STUDIES)
def test_parts_of_a_study_import_what_they_may(study):
    """Theory stands alone, nothing imports a check, and what claims and figures share is neither's."""
    wrong = []
    for path in (SOURCE / study).rglob("*.py"):
        own = part(".".join(path.relative_to(SOURCE / study).with_suffix("").parts))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(f"repdyn.{study}"):
                continue
            inside = node.module.removeprefix(f"repdyn.{study}").lstrip(".")
            for name in [inside] if inside else [alias.name for alias in node.names]:
                if part(name) in FORBIDDEN[own] - {own}:
                    wrong.append(f"{path.relative_to(SOURCE)}: {name}")
    assert wrong == []


def test_package_files_are_empty():
    filled = {path for path in SOURCE.rglob("__init__.py") if path.read_text(encoding="utf-8").strip()}
    assert filled <= {SOURCE / "__init__.py"}


def test_snakemake_is_imported_nowhere():
    files = [path for path in SOURCE.rglob("*.py") if "import snakemake" in path.read_text(encoding="utf-8")]
    assert files == []
