"""Mutation audit: does a wrong sign, factor, constant or exponent in a theory room make some test or claim fail?

    python -m audits.mutation truncation_flow --mutants 100 --results results/smoke --output audits/truncation_flow.csv

Each mutant runs in a process of its own that sees the changed module in place of the real one. First the tests that
reach the changed definition, until one fails; then, for survivors, the datasets of a finished run that reach it are
made again with the run's own settings, and every claim that reads them or reaches the definition is decided: a verdict
that differs, an error, or no end within the time limit counts as caught. Needs fork (Linux, macOS).
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.util
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from scipy import stats

from audits.mutants import Mutant, mutants
from repdyn.base.fingerprint import reached
from repdyn.base.streams import Stream

ROOT = Path(__file__).resolve().parents[1]
RUN = ("-x", "-q", "-o", "addopts=", "--import-mode=importlib", "-p", "no:xdist", "-p", "no:cacheprovider")
KEEP = "not dag and not pipeline"
UNCHANGED = "unchanged"


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed source wherever the module is imported."""

    def __init__(self, module: str, source: str) -> None:
        self.module, self.source = module, source

    def find_spec(self, fullname, path=None, target=None):
        """Claims the changed module alone."""
        return importlib.util.spec_from_loader(fullname, self) if fullname == self.module else None

    def exec_module(self, module: ModuleType) -> None:
        """Runs the changed source as the module."""
        exec(compile(self.source, f"<mutant of {self.module}>", "exec"), module.__dict__)


def roots_of(test: Path) -> list[str]:
    """What a test file takes from the package, as roots of `fingerprint.reached`."""
    found = []
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("repdyn."):
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                found.append(inside if _is_module(inside) else f"{node.module}:{alias.name}")
    return found


def tests_by_definition(study: str) -> dict[tuple[str, str], list[Path]]:
    """Test files of a study by the definitions they reach; the file with the fewest definitions first."""
    reach = {}
    for test in sorted((ROOT / "tests" / study).glob("test_*.py")):
        roots = [root for root in roots_of(test) if not root.split(".")[2].startswith("settings")]
        reach[test] = set(reached(*roots)) if roots else set()
    ordered = sorted(reach, key=lambda test: len(reach[test]))
    every = set().union(*reach.values())
    return {one: [test for test in ordered if one in reach[test]] for one in every}


def fate(module: str, mutant: Mutant, tests: Sequence[Path], results: Path, limit: float) -> tuple[str, float]:
    """What became of a mutant ("test", "claim", "time", or "survived") and the seconds it took."""
    began = time.monotonic()
    context = multiprocessing.get_context("fork")
    for by, run, arguments in (("test", _fails_tests, (tests,)), ("claim", _fails_claims, (results,))):
        child = context.Process(target=_in_child, args=(run, module, mutant, arguments))
        child.start()
        child.join(limit)
        if child.is_alive():
            child.kill()
            child.join()
            return "time", time.monotonic() - began
        if child.exitcode != 0:
            return by, time.monotonic() - began
    return "survived", time.monotonic() - began


def _in_child(run, module: str, mutant: Mutant, arguments: tuple) -> None:
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    for name, known in list(sys.modules.items()):  # what the parent has imported would not be changed
        if (getattr(known, "__file__", None) or "").startswith((f"{ROOT}/src/", f"{ROOT}/tests/")):
            del sys.modules[name]
    sys.meta_path.insert(0, Replaced(module, mutant.source))
    os._exit(int(run(module, mutant, *arguments)))


def _fails_tests(module: str, mutant: Mutant, tests: Sequence[Path]) -> bool:
    return bool(tests) and any(pytest.main([*RUN, "-m", KEEP, str(test)]) != 0 for test in tests)


def _fails_claims(module: str, mutant: Mutant, results: Path) -> bool:
    from repdyn.base import claims
    from repdyn.pipeline.ask.remake import Remaker
    from repdyn.pipeline.run import runners
    from repdyn.pipeline.run.loading import load_rooms

    study, changed = module.split(".")[1], (module, mutant.function)
    known = claims.claims_of(*load_rooms(study, "claims"))
    accepted = pd.read_csv(results / study / "claims.csv", keep_default_na=False).set_index("id")["verdict"]
    remaker = Remaker(results, study)
    kept = runners.read_inputs(
        [
            *(results / study / "data").glob("*.nc"),
            *(results / study / "data").glob("*/*.nc"),
            *(results / "data").glob("*.nc"),
        ]
    )
    single = [path.stem for path in (results / study / "data").glob("*.nc")]
    every = mutant.function == UNCHANGED
    touched = [name for name in single if every or _touches(remaker, name, study, changed)]
    given = kept | remaker.made(touched)
    for one in known:
        concerned = (
            every or set(one.data) & set(touched) or changed in reached(f"{one.check.__module__}:{one.check.__name__}")
        )
        if concerned and claims.decide(one, given)["verdict"] != accepted[one.id]:
            return True
    return False


def _touches(remaker, name: str, study: str, changed: tuple[str, str]) -> bool:
    function = f"repdyn.{study}.{remaker.attrs(name)['experiment']}"
    return changed in reached(function) or any(_touches(remaker, one, study, changed) for one in remaker.inputs(name))


def check_baseline(study: str, results: Path) -> None:
    """Makes sure that unchanged code survives.

    Raises:
        SystemExit: a test or claim fails without any mutant, so nothing could be learnt from one.
    """
    module = f"repdyn.{study}.settings"
    source = (ROOT / "src" / Path(*module.split("."))).with_suffix(".py").read_text(encoding="utf-8")
    tests = sorted((ROOT / "tests" / study).glob("test_*.py"))
    by, _ = fate(module, Mutant(UNCHANGED, 0, "", source), tests, results, limit=1800)
    if by != "survived":
        raise SystemExit(f"{study}: unchanged code fails by {by}; mend that first (results: {results})")


def _is_module(name: str) -> bool:
    path = ROOT / "src" / Path(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def audit(study: str, count: int, seed: int, results: Path, limit: float) -> pd.DataFrame:
    """The fates of mutants drawn evenly from all of a study's theory rooms; all of them if `count` is 0."""
    files = sorted((ROOT / "src/repdyn" / study).glob("theory*/*.py")) + sorted(
        (ROOT / "src/repdyn" / study).glob("theory.py")
    )
    every = [
        (f"repdyn.{study}." + ".".join(path.relative_to(ROOT / "src/repdyn" / study).with_suffix("").parts), one)
        for path in files
        for one in mutants(path)
    ]
    drawn = range(len(every))
    if count and count < len(every):
        drawn = sorted(Stream(seed, ("mutation", study)).generator().choice(len(every), count, replace=False))
    tests = tests_by_definition(study)
    rows = []
    for position in drawn:
        module, one = every[position]
        by, seconds = fate(module, one, tests.get((module, one.function), []), results, limit)
        rows.append(
            {
                "module": module,
                "function": one.function,
                "line": one.line,
                "change": one.change,
                "fate": by,
                "seconds": round(seconds, 1),
            }
        )
        print(f"{len(rows)}/{len(drawn)} {by:8s} {seconds:5.1f} s  {module}:{one.line} {one.change}", flush=True)
    return pd.DataFrame(rows)


def summary(found: pd.DataFrame) -> str:
    """Share caught with its 95 % interval (Clopper-Pearson; all mutants drawn at random), and the minutes it took."""
    n, caught = len(found), int((found["fate"] != "survived").sum())
    low = stats.beta.ppf(0.025, caught, n - caught + 1) if caught else 0.0
    high = stats.beta.ppf(0.975, caught + 1, n - caught) if caught < n else 1.0
    return (
        f"{caught} of {n} caught: {caught / n:.1%} [{low:.1%}, {high:.1%}], {found['seconds'].sum() / 60:.1f} minutes"
    )


def main(arguments: Iterable[str] | None = None) -> None:
    """Runs the audit and prints the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--mutants", type=int, default=100, help="how many to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=ROOT / "results/smoke", help="a finished run at smoke scale")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds per mutant and stage")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args(arguments)
    check_baseline(given.study, given.results)
    found = audit(given.study, given.mutants, given.seed, given.results, given.limit)
    print(found[found["fate"] == "survived"].to_string(index=False))
    print(summary(found))
    if given.output:
        found.to_csv(given.output, index=False)


if __name__ == "__main__":
    main()
