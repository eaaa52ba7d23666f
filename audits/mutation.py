"""Mutation audit: does a changed sign, constant, comparison, axis, seed, index or name make some test or claim fail?

    python -m audits.mutation truncation_flow/theory --mutants 100 --results results/smoke --output theory.csv
    python -m audits.mutation base pipeline/run universality/figures --mutants 20

Arithmetic alone is changed in `theory`, in other modules also what `audits.operators` lists. All mutants start from
one process that has imported the libraries, the package and the tests and has passed the tests; each is a fork of it
that forgets the modules which import the changed one. First come the claims, figures and tables on drawn data
(`tests.drawn`) and the small experiments (`tests.small`) that reach the changed definition, then the test files that
reach it, the narrowest first, until something fails; then, for survivors, where a finished run is named, its datasets
that reach the definition are made again with the run's own settings, and every claim that reads them or reaches the
definition is decided: a verdict that differs, an error, or no end within the CPU limit counts as caught. What cannot
even be imported is counted apart. Needs fork (Linux, macOS).
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.util
import multiprocessing
import os
import resource
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pandas as pd
import pytest
from scipy import stats

from audits.guards import KEPT, Guard, forget, guards, notices, notices_anew
from audits.mutants import Mutant, mutants
from repdyn.base.fingerprint import reached
from repdyn.base.streams import Stream
from repdyn.pipeline.config.configuration import STUDIES

ROOT = Path(__file__).resolve().parents[1]
RUN = ("-x", "-q", "-o", "addopts=", "--import-mode=importlib", "-p", "no:xdist", "-p", "no:cacheprovider")
KEEP = "not slow"
UNCHANGED = "unchanged"
CAUGHT = ("guard", "test", "claim", "time")
UNIMPORTABLE = 3  # exit status
ROOMS = ("claims", "experiments", "figures", "tables", "methods", "theory")
WARM = ("hypothesis", "matplotlib.pyplot", "netCDF4", "numba", "pydantic", "sklearn.manifold", "torch", "xarray")


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed source wherever the module is imported."""

    def __init__(self, module: str, source: str) -> None:
        self.module, self.source = module, source

    def find_spec(self, fullname, path=None, target=None):
        """Claims the changed module alone."""
        if fullname != self.module:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=str(source_file(self.module)))

    def exec_module(self, module: ModuleType) -> None:
        """Runs the changed source as the module, which may ask for its own file."""
        module.__file__ = str(source_file(self.module))
        exec(compile(self.source, f"<mutant of {self.module}>", "exec"), module.__dict__)


def roots_of(test: Path) -> list[str]:
    """What a test file takes from the package, as roots of `fingerprint.reached`."""
    roots = []
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("repdyn."):
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                roots.append(inside if _is_module(inside) else f"{node.module}:{alias.name}")
    return roots


@cache
def tests_by_definition(package: str) -> dict[tuple[str, str], list[Path]]:
    """Test files of a package by the definitions they reach; the file with the fewest definitions first."""
    reach = {test: _reached_by(test) for test in sorted((ROOT / "tests" / package).glob("test_*.py"))}
    ordered = sorted(reach, key=lambda test: len(reach[test]))
    every = set().union(*reach.values())
    return {definition: [test for test in ordered if definition in reach[test]] for definition in every}


def _reached_by(test: Path) -> set[tuple[str, str]]:
    definitions: set[tuple[str, str]] = set()
    for root in roots_of(test):
        with suppress(ValueError):  # an imported name, which is no definition of that module
            definitions |= set(reached(root))
    return definitions


class Fate(NamedTuple):
    """What became of a mutant.

    Attributes:
        by: "import", "guard", "test", "claim", "time" or "survived".
        first: the guard, test or claim that noticed it first.
        seconds: of CPU.
    """

    by: str
    first: str
    seconds: float


def fate(
    module: str, mutant: Mutant, tests: Sequence[Path], results: Path | None, limit: int, named: Sequence[Guard] = ()
) -> Fate:
    """Tries a mutant on the guards, the test files and the claims of a finished run, until something fails."""
    context = multiprocessing.get_context("fork")
    began = _spent()
    stages = (("guard", _fails_guards, named), ("test", _fails_tests, tests), ("claim", _fails_claims, results))
    for by, run, argument in stages:
        if not argument:
            continue
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=_in_child, args=(theirs, run, module, mutant, argument, limit))
        child.start()
        theirs.close()
        first = ""
        with suppress(EOFError):  # it ended without a word
            first = ours.recv() if ours.poll(20 * limit) else ""
        child.join(1)
        if child.is_alive():
            child.kill()
            child.join()
        if child.exitcode == 1 and not first:
            raise RuntimeError(f"{module}: the process that tries its mutant broke down; nothing was learned")
        if child.exitcode != 0:
            return Fate({1: by, UNIMPORTABLE: "import"}.get(child.exitcode, "time"), first, _spent() - began)
    return Fate("survived", "", _spent() - began)


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _in_child(pipe: Connection, run, module: str, mutant: Mutant, argument: object, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    forget(module)
    sys.meta_path.insert(0, Replaced(module, mutant.source))
    try:
        importlib.import_module(module)
    except Exception:
        os._exit(UNIMPORTABLE)
    first = run(module, mutant, argument)
    pipe.send(first)
    os._exit(int(first != ""))


def _fails_guards(module: str, mutant: Mutant, named: Sequence[Guard]) -> str:
    return next((" ".join(guard) for guard in named if notices_anew(guard)), "")


def _fails_tests(module: str, mutant: Mutant, tests: Sequence[Path]) -> str:
    return next((first for test in tests if (first := failing(test))), "")


class _Failures:
    """Plugin that remembers what fails: a test, or the reading of its file."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.names += [report.nodeid] if report.failed else []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.names += [report.nodeid] if report.failed else []


def failing(test: Path) -> str:
    """The first of a file's tests that fails in this process, or nothing."""
    failures = _Failures()
    status = pytest.main([*RUN, "-m", KEEP, str(test)], plugins=[failures])
    return "" if status in (0, 5) else (failures.names or [str(test)])[0]


def _fails_claims(module: str, mutant: Mutant, results: Path) -> str:
    from repdyn.base import claims
    from repdyn.pipeline.ask.remake import Remaker
    from repdyn.pipeline.run.declare.graph import read_study
    from repdyn.pipeline.run.execute.loading import load_modules
    from repdyn.pipeline.run.execute.members import read_inputs

    study, changed = module.split(".")[1], (module, mutant.function)
    accepted = pd.read_csv(results / study / "claims.csv", keep_default_na=False).set_index("id")["verdict"]
    remaker, every = Remaker(results, study), mutant.function == UNCHANGED
    names = [name for name in read_study(study).experiments if remaker.members(name)]
    touched = [name for name in names if every or _touches(remaker, name, changed)]
    kept = read_inputs({"inputs": {name: remaker._paths(name) for name in names}}, results)
    arguments = kept | remaker.datasets(touched)
    for claim in claims.claims_of(*load_modules(study, "claims")):
        reaches = changed in reached(read_study(study).claims[claim.id].root)
        concerned = every or reaches or set(claim.data) & set(touched)
        if concerned and claims.decide_claim(claim, arguments).ledger["verdict"] != accepted[claim.id]:
            return claim.id
    return ""


def _touches(remaker, name: str, changed: tuple[str, str]) -> bool:
    members = remaker.members(name)
    return any(
        changed in reached(f"repdyn.{member['study']}.{member['function']}")
        or any(_touches(remaker, read, changed) for read in member["inputs"])
        for member in members
    )


def check_baseline(tests: Iterable[Path], named: Iterable[Guard]) -> None:
    """Makes sure that unchanged code passes, in this process, which is warm afterwards.

    Raises:
        SystemExit: a test fails without any mutant, so nothing could be learned from one.
    """
    output = StringIO()
    for check in (*named, *tests):
        with redirect_stdout(output), redirect_stderr(output):
            fails = bool(failing(check)) if isinstance(check, Path) else notices(check, KEPT)
        if fails:
            raise SystemExit(f"{check}: fails on unchanged code; correct that first\n{output.getvalue()}")


def source_file(module: str) -> Path:
    """The file of a module or of a package."""
    base = (ROOT / "src").joinpath(*module.split("."))
    return base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"


def definitions_of(module: str) -> list[str]:
    """Names that a module defines at its top."""
    tree = ast.parse(source_file(module).read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _is_module(name: str) -> bool:
    path = ROOT / "src" / Path(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def mutants_of(part: str) -> list[tuple[str, Mutant]]:
    """All mutants of a part of the package, each with its module: "universality/figures", "base", "claims" for all."""
    if part in ROOMS:
        return [pair for study in STUDIES for pair in mutants_of(f"{study}/{part}")]
    base = ROOT / "src/repdyn" / part
    files = [base.with_suffix(".py")] if base.with_suffix(".py").is_file() else sorted(base.rglob("*.py"))
    is_theory = "theory" in Path(part).parts
    modules = {file: ".".join(file.relative_to(ROOT / "src").with_suffix("").parts) for file in files}
    return [
        (modules[file], mutant)
        for file in files
        if file.name != "__init__.py"
        for mutant in mutants(file, formulas_only=is_theory)
    ]


def audit(part: str, count: int, seed: int, results: Path | None, limit: int, most: int) -> pd.DataFrame:
    """The fates of mutants drawn evenly from all of a part of the package; all of them if `count` is 0.

    They come in the order drawn, so that those before a stop are a sample too.
    """
    every = mutants_of(part)
    places = range(len(every))
    if count and count < len(every):
        places = Stream(seed, ("mutation", part)).generator().choice(len(every), count, replace=False)
    rows, sound = [], set()
    for position in places:
        module, mutant = every[position]
        package, definition = module.split(".")[1], (module, mutant.function)
        named = guards(package, definition)
        tests = tests_by_definition(package).get(definition, [])[:most] if most else []
        check_baseline([], [guard for guard in named if guard not in sound])
        by, first, seconds = fate(module, mutant, [], None, limit, named)
        if by == "survived" and (tests or results):
            check_baseline([test for test in tests if test not in sound], [])
            sound |= set(tests)
            by, first, more = fate(module, mutant, tests, results, limit)
            seconds += more
        sound |= set(named)
        by = by if named or tests or by != "survived" else "untested"
        about = {"part": part, "module": module, "function": mutant.function, "line": mutant.line}
        rows.append(about | {"change": mutant.change, "fate": by, "first": first, "seconds": round(seconds, 1)})
        print(f"{len(rows)}/{len(places)} {by:8s} {seconds:5.1f} s  {module}:{mutant.line} {mutant.change}", flush=True)
    return pd.DataFrame(rows)


def summary(fates: pd.DataFrame) -> str:
    """Share caught of what can be imported, its 95 % interval (Clopper-Pearson), and the minutes it took."""
    importable = fates[fates["fate"] != "import"]
    n, caught = len(importable), int(importable["fate"].isin(CAUGHT).sum())
    low = stats.beta.ppf(0.025, caught, n - caught + 1) if caught else 0.0
    high = stats.beta.ppf(0.975, caught + 1, n - caught) if caught < n else 1.0
    return (
        f"{caught} of {n} caught: {caught / n:.1%} [{low:.1%}, {high:.1%}], {fates['seconds'].sum() / 60:.1f} minutes"
        f"; {len(fates) - n} more cannot be imported"
    )


def warm_up() -> None:
    """Imports what every fork would import for seconds."""
    for name in WARM:
        importlib.import_module(name)


def clean_up(folder: Path) -> None:
    """Removes what unchanged code made."""
    shutil.rmtree(folder, ignore_errors=True)


def main(arguments: Iterable[str] | None = None) -> None:
    """Runs the audit, prints the survivors and a line per part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", help="parts of the package: base, pipeline/run, universality/figures")
    parser.add_argument("--mutants", type=int, default=100, help="how many to draw of each part; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, help="a finished run at smoke scale, to decide its claims again")
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds per mutant and stage")
    parser.add_argument("--most", type=int, default=2, help="test files per survivor of the guards")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    warm_up()
    audits = [
        audit(part, options.mutants, options.seed, options.results, options.limit, options.most)
        for part in options.parts
    ]
    fates = pd.concat(audits, ignore_index=True)
    clean_up(KEPT)
    print(fates[~fates["fate"].isin([*CAUGHT, "import"])].to_string(index=False))
    for part, rows in fates.groupby("part", sort=False):
        print(f"{part}: {summary(rows)}")
    if options.output:
        fates.to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
