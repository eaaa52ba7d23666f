"""Mutation audit: does a changed sign, constant, comparison, axis, seed, index or name make some test or claim fail?

    python -m audits.mutation truncation_flow/theory --mutants 100 --results results/smoke --output theory.csv
    python -m audits.mutation base pipeline/run universality/figures --mutants 20

`python -m repdyn mutations`, which any project has, on all parts of this package and with the guards of this
repository: arithmetic alone is changed in `theory`, in other modules also what `pipeline.mutations.operators` lists.
All mutants start from one process that has imported the libraries, the package and the tests and has passed the tests;
each is a fork of it that forgets the modules which import the changed one. First come the claims, figures and tables
on drawn data (`tests.drawn`) and the small experiments (`tests.small`) that reach the changed definition, then the test
files that reach it, the narrowest first, until something fails; then, for survivors, where a finished run is named, its
datasets that reach the definition are made again with the run's own settings, and every claim that reads them or
reaches the definition is decided: a verdict that differs, an error, or no end within the CPU limit counts as caught.
What cannot even be imported is counted apart. Needs fork (Linux, macOS).
"""

from __future__ import annotations

import argparse
import ast
import importlib
import shutil
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path

import pandas as pd

from audits.guards import KEPT, Guard, guards, notices, notices_anew
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.mutations import checks
from repdyn.pipeline.mutations.audit import Site, audit, check_baseline, sample, sites, summary, survivors
from repdyn.pipeline.mutations.mutants import Mutant
from repdyn.pipeline.mutations.trial import Fate, Stage, try_mutant

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [ROOT / name for name in ("src", "tests", "audits")]
ROOMS = ("claims", "experiments", "figures", "tables", "methods", "theory")
WARM = ("hypothesis", "matplotlib.pyplot", "netCDF4", "numba", "pydantic", "sklearn.manifold", "torch", "xarray")


@cache
def tests_by_definition(package: str) -> dict[tuple[str, str], list[Path]]:
    """Test files of a package by the definitions they reach; the file with the fewest definitions first."""
    return checks.reaching_tests(sorted((ROOT / "tests" / package).glob("test_*.py")), ["repdyn"])


def stages(
    definition: tuple[str, str], named: Sequence[Guard], tests: Sequence[Path], results: Path | None
) -> list[Stage]:
    """What a mutant of a definition meets: guards, test files, the claims of a finished run."""
    study = [definition[0].split(".")[1]] if results else []
    decide = partial(checks.turned_claim, results=results, changed=definition)
    return [
        Stage("guard", named, lambda guard: " ".join(guard) if notices_anew(guard) else "", _differs),
        Stage("test", tests, checks.failing, checks.failing_quietly),
        Stage("claim", study, decide, lambda _: ""),
    ]


def _differs(guard: Guard) -> str:
    return " ".join(guard) if notices(guard, KEPT) else ""


def fate(
    module: str, mutant: Mutant, tests: Sequence[Path], results: Path | None, limit: int, named: Sequence[Guard] = ()
) -> Fate:
    """Tries a mutant on the guards, the test files and the claims of a finished run, until something fails."""
    every = stages((module, mutant.function), named, tests, results)
    for stage in every[:1]:
        check_baseline(stage, set())
    return try_mutant(module, source_file(module), mutant, every, folders=FOLDERS, limit=limit)


def source_file(module: str) -> Path:
    """The file of a module or of a package."""
    base = (ROOT / "src").joinpath(*module.split("."))
    return base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"


def definitions_of(module: str) -> list[str]:
    """Names that a module defines at its top."""
    tree = ast.parse(source_file(module).read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def mutants_of(part: str) -> list[Site]:
    """All mutants of a part of the package: "universality/figures", "base", "claims" for all."""
    if part in ROOMS:
        return [site for study in STUDIES for site in mutants_of(f"{study}/{part}")]
    base = ROOT / "src/repdyn" / part
    files = [base.with_suffix(".py")] if base.with_suffix(".py").is_file() else sorted(base.rglob("*.py"))
    modules = {file: ".".join(file.relative_to(ROOT / "src").with_suffix("").parts) for file in files}
    return sites({modules[file]: file for file in files if file.name != "__init__.py"})


def audit_part(
    part: str, count: int, seed: int, results: Path | None, limit: int, most: int, operators: Sequence[str] = ()
) -> pd.DataFrame:
    """The fates of mutants drawn evenly from a part of the package, or from some operators; all if `count` is 0."""

    def stages_of(site: Site) -> list[Stage]:
        package, definition = site.module.split(".")[1], (site.module, site.mutant.function)
        tests = tests_by_definition(package).get(definition, [])[:most] if most else []
        return stages(definition, guards(package, definition), tests, results)

    every = [site for site in mutants_of(part) if not operators or site.mutant.operator in operators]
    drawn = sample(every, count, seed, part)
    fates = audit(drawn, stages_of, folders=FOLDERS, limit=limit, say=partial(print, flush=True))
    fates.insert(0, "part", part)
    return fates


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
    parser.add_argument("--operators", nargs="+", default=[], help="some operators alone: several filter refusal")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    warm_up()
    audits = [
        audit_part(part, options.mutants, options.seed, options.results, options.limit, options.most, options.operators)
        for part in options.parts
    ]
    fates = pd.concat(audits, ignore_index=True)
    clean_up(KEPT)
    print(survivors(fates).to_string(index=False))
    for part, rows in fates.groupby("part", sort=False):
        print(f"{part}: {summary(rows)}")
    if options.output:
        fates.to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
