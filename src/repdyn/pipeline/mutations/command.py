"""`python -m repdyn mutations`: the mutation audit of a project's studies."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path

import pandas as pd

from repdyn.base.errors import ConfigError
from repdyn.base.fingerprint import SOURCE
from repdyn.base.tables import write_csv
from repdyn.pipeline import studies
from repdyn.pipeline.mutations import audit, checks
from repdyn.pipeline.mutations.trial import Stage
from repdyn.pipeline.packages import package_of

NO_FORMULAS = ("settings", "study")  # values that are checked as they are read, and what is declared
DESCRIPTION = """\
Changes one place of the studies' code at a time (a sign, an exponent, an axis, an index, a comparison, ...) and says
which changes no test notices. Each mutant meets the test files that reach what is changed, then the others, and with
--results the claims of a finished run on data made again. No file is changed. Needs fork (Linux, macOS)."""


def run(words: Sequence[str]) -> None:
    """Runs the audit; prints a line per mutant, then how many were caught by operator, and the survivors.

    Raises:
        ConfigError: an argument names nothing that is there, or unchanged code fails.
    """
    options = _arguments(words)
    files = modules(options.parts)
    tests = files_with_tests(options.tests)
    outside = studies.outside()
    every = audit.sites(files)
    key = " ".join(options.parts)
    draw, count = (audit.of_each_operator, options.each) if options.each else (audit.sample, options.sample)
    tried = draw(every, count, options.seed, key)
    if not tried:
        raise ConfigError(f"{', '.join(files)}: nothing to change there")
    if options.results:
        _check_results(options.results, files)
    print(f"{len(tried)} of {len(every)} mutants of {len(files)} modules, {len(tests)} test files", flush=True)
    packages = ["repdyn", *(package.split(".")[0] for package, _ in outside)]
    reach = checks.reaching_tests(tests, packages, outside)
    for module in files:
        importlib.import_module(module)
    fates = audit.audit(
        tried,
        lambda site: _stages(site, reach, tests, options),
        folders=[*_folders(options.tests), *(folder for _, folder in outside)],
        limit=options.limit,
        say=partial(print, flush=True),
    )
    reaches = [(row.module, row.function) in reach for row in fates.itertuples()]
    fates.loc[(fates["fate"] == "survived") & ~pd.Series(reaches, fates.index), "fate"] = "untested"
    if options.output:
        write_csv(options.output, fates)
    print(show(fates))


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="repdyn mutations", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = "a study, a module of all studies or of one: my_paper, theory, my_paper/theory (default: all)"
    parser.add_argument("parts", nargs="*", help=parts)
    parser.add_argument("--sample", type=int, default=30, help="how many mutants to draw (default: 30); 0 for all")
    parser.add_argument("--each", type=int, default=0, help="instead, how many of each operator")
    parser.add_argument("--seed", type=int, default=1, help="of the drawing (default: 1)")
    parser.add_argument("--tests", nargs="+", type=Path, default=[Path("tests")], help="folders or files (tests)")
    parser.add_argument("--marked", default=checks.MARKED, help="tests to run, as pytest -m has it (default: not slow)")
    parser.add_argument("--most", type=int, default=0, help="test files per mutant, the narrowest first; 0 for all")
    parser.add_argument("--results", type=Path, help="a finished run, whose claims are decided again for survivors")
    parser.add_argument("--limit", type=int, default=120, help="CPU seconds per mutant and stage (default: 120)")
    parser.add_argument("--output", type=Path, help="CSV file with the fate of each mutant")
    options = parser.parse_args(words)
    for name in ("sample", "each", "most"):
        if getattr(options, name) < 0:
            parser.error(f"--{name}: got {getattr(options, name)}, expected 0 or more")
    if options.limit < 1:
        parser.error(f"--limit: got {options.limit}, expected 1 or more")
    return options


def modules(parts: Sequence[str]) -> dict[str, Path]:
    """Modules of the studies that parts name, with their files: what holds formulas, algorithms, checks, pictures.

    Args:
        parts: studies, modules of all studies, or `study/module`; nothing for all.

    Raises:
        ConfigError: a part names nothing that is there.
    """
    known: dict[str, dict[str, Path]] = {}
    for study, folder in studies.folders().items():
        for file in sorted(folder.rglob("*.py")):
            inside = file.relative_to(folder).with_suffix("").parts
            if file.name == "__init__.py" or inside[0] in NO_FORMULAS:
                continue
            name = ".".join([package_of(study), *inside])
            for part in (study, inside[0], f"{study}/{inside[0]}", f"{study}/{'/'.join(inside)}"):
                known.setdefault(part, {})[name] = file
    for part in parts:
        if part not in known:
            near = get_close_matches(part, known, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"the studies are {', '.join(studies.folders())}"
            raise ConfigError(f"{part!r} is no study, nor a module of one; {advice}")
    return {name: file for part in parts or studies.folders() for name, file in known[part].items()}


def files_with_tests(places: Sequence[Path]) -> list[Path]:
    """Files with tests in folders, or the named files themselves.

    Raises:
        ConfigError: a place is not there or holds no tests.
    """
    files: list[Path] = []
    for place in places:
        found = [place] if place.is_file() else sorted({*place.rglob("test_*.py"), *place.rglob("*_test.py")})
        if not found:
            raise ConfigError(f"{place}: no tests there (test_*.py); name their folder with --tests")
        files += [file.resolve() for file in found]
    return files


def _folders(tests: Sequence[Path]) -> list[Path]:
    """Sources of the engine and folders of tests."""
    return [SOURCE / "repdyn", *((place.parent if place.is_file() else place).resolve() for place in tests)]


def _check_results(results: Path, files: dict[str, Path]) -> None:
    for study in _studies_of(files):
        if not (results / study / "claims.csv").is_file():
            raise ConfigError(f"{results}: no finished run of {study} (no {study}/claims.csv); run snakemake first")
        if fails := checks.other_verdict(study, results, outside=studies.outside()):
            raise ConfigError(
                f"{fails}: unchanged code comes to another verdict than {results} has; run snakemake first"
            )


def _studies_of(files: dict[str, Path]) -> list[str]:
    packages = {study: f"{package_of(study)}." for study in studies.folders()}
    return [study for study, package in packages.items() if any(name.startswith(package) for name in files)]


def _stages(
    site: audit.Site,
    reach: dict[tuple[str, str], list[Path]],
    tests: Sequence[Path],
    options: argparse.Namespace,
) -> list[Stage]:
    """Test files that reach the definition and the others, then the claims of the run."""
    changed = (site.module, site.mutant.function)
    near = reach.get(changed, [])
    wanted = [*near, *(test for test in tests if test not in near)][: options.most or None]
    outcome = partial(checks.failing, marked=options.marked)
    stages = [Stage("test", wanted, outcome, partial(checks.failing_quietly, marked=options.marked))]
    if options.results:
        outside = studies.outside()
        (study,) = _studies_of({site.module: site.file})
        decide = partial(checks.turned_claim, results=options.results, changed=changed, outside=outside)
        stages.append(Stage("claim", [study], decide, lambda _: ""))
    return stages


def show(fates: pd.DataFrame) -> str:
    """A table by operator, the survivors, and one line that sums up."""
    left = audit.survivors(fates)
    parts = [audit.by_operator(fates).to_string(index=False)]
    if len(left):
        shown = left[["fate", "module", "function", "line", "operator", "change"]]
        why = 'Noticed by nothing: a test is missing, or nothing changes. No test file names what is "untested".'
        parts += [why, shown.to_string(index=False)]
    return "\n\n".join(["", *parts, audit.summary(fates)])
