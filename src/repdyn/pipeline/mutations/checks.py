"""What may notice a mutant: the test files that reach what it changes, and the claims of a finished run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from repdyn.base.claims import claims_of, decide_claim
from repdyn.base.errors import ConfigError
from repdyn.base.fingerprint import Location, Outside, reached
from repdyn.pipeline.ask.remake import Remaker
from repdyn.pipeline.packages import package_of
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute.loading import load_modules

if TYPE_CHECKING:
    import pytest

ONE_PROCESS = ("-x", "-q", "-o", "addopts=", "--import-mode=importlib", "-p", "no:xdist", "-p", "no:cacheprovider")
MARKED = "not slow"
"""Tests that are run, as pytest's -m has it."""


class _Failures:
    """Plugin that remembers what fails: a test, or the reading of its file."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.names += [report.nodeid] if report.failed else []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.names += [report.nodeid] if report.failed else []


def failing(test: Path, marked: str = MARKED) -> str:
    """The first of a file's tests that fails in this process, or nothing.

    Raises:
        ConfigError: pytest is not installed.
    """
    try:
        import pytest
    except ImportError as error:
        raise ConfigError('pytest is not installed: pip install -e ".[test]"') from error
    failures = _Failures()
    status = pytest.main([*ONE_PROCESS, "-m", marked, str(test)], plugins=[failures])
    return "" if status in (0, 5) else (failures.names or [str(test)])[0]


def failing_quietly(test: Path, marked: str = MARKED) -> str:
    """The first of a file's tests that fails, with all that pytest says of it; or nothing."""
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        first = failing(test, marked)
    return f"{first}\n{said.getvalue()}" if first else ""


def reaching_tests(tests: Sequence[Path], packages: Sequence[str], outside: Outside = ()) -> dict[Location, list[Path]]:
    """Test files by the definitions that they reach by name; the file with the fewest definitions first.

    Args:
        tests: the files.
        packages: whose definitions count, e.g. `["repdyn"]`.
        outside: of these, those that are not `repdyn`, each with its folder.
    """
    reach = {test: _reached_by(test, packages, outside) for test in tests}
    ordered = sorted(reach, key=lambda test: len(reach[test]))
    every = set().union(*reach.values())
    return {definition: [test for test in ordered if definition in reach[test]] for definition in every}


def _reached_by(test: Path, packages: Sequence[str], outside: Outside) -> set[Location]:
    definitions: set[Location] = set()
    for choices in _imports(test, packages):
        for root in choices:
            with suppress(ValueError):  # no module, or an imported name, which is no definition of that module
                definitions |= set(reached(root, outside=outside))
                break
    return definitions


def _imports(test: Path, packages: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """What a test file takes from packages, as roots of `fingerprint.reached`: a module, else a definition."""
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in packages:
            for alias in node.names:
                yield f"{node.module}.{alias.name}", f"{node.module}:{alias.name}"
        elif isinstance(node, ast.Import):
            yield from ((alias.name,) for alias in node.names if alias.name.split(".")[0] in packages)


def other_verdict(study: str, results: Path, changed: Location | None = None, outside: Outside = ()) -> str:
    """The first claim of a study that comes to another verdict than a finished run, or nothing.

    The datasets whose making reaches what was changed are made again, as the run's records say; each claim that
    reads them or reaches what was changed is decided.

    Args:
        study: its name.
        results: folder of the run, which must have the study's claims.
        changed: module and definition; None for all.
        outside: packages of studies that are not in this one, each with its folder.
    """
    ledger = pd.read_csv(results / study / "claims.csv", keep_default_na=False)
    accepted = dict(zip(ledger["id"], ledger["verdict"], strict=True))
    remaker = Remaker(results, study)
    names = [name for name in read_study(study).experiments if remaker.members(name)]
    touched = [name for name in names if changed is None or _touches(remaker, name, changed, outside)]
    kept = remaker.stored(names)
    arguments = {**kept, **remaker.datasets(touched)}
    for claim in claims_of(*load_modules(study, "claims")):
        reach = _reach(read_study(study).claims[claim.id].root, outside)
        concerned = changed is None or changed in reach or bool(set(claim.data) & set(touched))
        if concerned and decide_claim(claim, arguments).ledger["verdict"] != accepted.get(claim.id):
            return str(claim.id)
    return ""


def turned_claim(study: str, results: Path, changed: Location, outside: Outside = ()) -> str:
    """The same with code that was changed: what dies of the change has turned, too."""
    try:
        return other_verdict(study, results, changed, outside)
    except Exception as error:
        return f"{study}: {type(error).__name__}"


@cache
def _reach(root: str, outside: Outside) -> frozenset[Location]:
    return frozenset(reached(root, outside=outside))


def _touches(remaker: Remaker, name: str, changed: Location, outside: Outside) -> bool:
    return any(
        changed in _reach(f"{package_of(member['study'])}.{member['function']}", outside)
        or any(_touches(remaker, read, changed, outside) for read in member["inputs"])
        for member in remaker.members(name)
    )
