"""Commands that ask about runs: their arguments, and what they print."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from repdyn.base.errors import DataError


def claim(words: Sequence[str]) -> None:
    """Prints one claim of every run that knows it."""
    from repdyn.pipeline.run.kinds import ledger

    parser = _parser("claim", "Show one claim: statement, numbers, verdict, the smallest command that decides it.")
    parser.add_argument("id")
    parser.add_argument("--results", type=Path, default=Path("results"))
    arguments = parser.parse_args(words)
    print(ledger.show(arguments.id, arguments.results))


def compare(words: Sequence[str]) -> int:
    """Prints how two runs differ, or whether a run reproduces a reference; status 1 where they do, or it does not."""
    from repdyn.pipeline import kept_runs
    from repdyn.pipeline.ask import compare as comparison
    from repdyn.pipeline.ask import pictures

    parser = _parser("compare", "Compare two runs, or a run with a folder of reference/: verdicts first, then numbers.")
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    tiers = comparison.TIERS
    parser.add_argument(
        "--tier",
        choices=tiers,
        help=f"what counts as a difference between two runs (default: {tiers[0]}; see docs/reproducibility.md)",
    )
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="write the figures that differ side by side into a new folder"
    )
    arguments = parser.parse_args(words)
    if kept_runs.is_reference(arguments.second):
        if arguments.pictures:
            raise DataError(f"{arguments.second}: a reference has no pictures; give --pictures two results folders")
        if arguments.tier:
            raise DataError(f"{arguments.second}: a reference has no data; give --tier two results folders")
        return _reproduces(arguments.first, arguments.second)
    tier = arguments.tier or tiers[0]
    outcome = comparison.compare(arguments.first, arguments.second, tier)
    print(comparison.show(outcome, arguments.first, arguments.second, tier))
    if arguments.pictures:
        count = pictures.write(outcome, arguments.first, arguments.second, arguments.pictures)
        print(f"{arguments.pictures}/index.html: {count} figures differ")
    return int(bool(outcome.differences(tier)))


def _reproduces(run: Path, reference: Path) -> int:
    from repdyn.pipeline import kept_runs
    from repdyn.pipeline.ask import reproduces

    here = kept_runs.read(run) if kept_runs.is_reference(run) else kept_runs.of_run(run)
    there = kept_runs.read(reference)
    reproduction = reproduces.hold_against(here, there)
    print(reproduces.show(reproduction, here, there))
    return int(not reproduction.reproduced)


def keep(words: Sequence[str]) -> None:
    """Keeps a finished run as a reference."""
    from repdyn.pipeline import kept_runs

    parser = _parser("dev keep", "Write a finished run's ledger, key numbers and digests, to compare others with.")
    parser.add_argument("results", type=Path, help="folder of a finished run, e.g. results/default")
    parser.add_argument("--into", type=Path, help="folder to write (default: reference/<name of the run's folder>)")
    parser.add_argument(
        "--beside", action="store_true", help="also keep what the folder has about studies that are not in the run"
    )
    arguments = parser.parse_args(words)
    folder = arguments.into or Path("reference") / arguments.results.resolve().name
    kept_runs.keep(arguments.results, folder, arguments.beside)
    print(f"{folder}: kept")


def verify(words: Sequence[str]) -> int:
    """Prints which results are out of date; status 1 where some are."""
    from repdyn.pipeline.ask import verify as verification
    from repdyn.pipeline.ask import workflow

    parser = _parser("verify", "List results that are older than today's code or settings, changed or missing.")
    parser.add_argument("run", nargs="?", default="default", help="name of the run (default: default)")
    _snakemake_options(parser)
    arguments = parser.parse_args(words)
    folder = workflow.folder()
    options = workflow.options(folder, arguments.run, arguments.configfile, arguments.config)
    jobs = workflow.jobs(folder, options)
    reasons = verification.examine(arguments.run, jobs)
    command = ["snakemake", "--cores", "8", *options, *verification.remedy(reasons, jobs), "--", "all"]
    print(verification.report(arguments.run, reasons, shlex.join(command)))
    return int(any(reasons.values()))


def plan(words: Sequence[str]) -> None:
    """Prints what a run will cost."""
    from repdyn.pipeline.ask import plan as planning
    from repdyn.pipeline.ask import verify as verification
    from repdyn.pipeline.ask import workflow
    from repdyn.pipeline.run.declare.costs import files

    parser = _parser("plan", "Show the jobs, core-minutes and memory of a run before it starts.")
    parser.add_argument("--remaining", action="store_true", help="count only what today's results lack")
    parser.add_argument(
        "--cores", type=numbers_of_cores, default=[], help="show the time on these numbers of cores, e.g. 1,8,64,512"
    )
    _snakemake_options(parser)
    arguments = parser.parse_args(words)
    folder = workflow.folder()
    options = workflow.options(folder, "default", arguments.configfile, arguments.config)
    jobs = workflow.jobs(folder, options)
    if arguments.remaining:
        jobs = verification.due(jobs)
    wanted = shlex.join(["snakemake", *options, "--", "all"])
    expected = planning.costs(jobs, files(folder))
    print(planning.show(expected, wanted, arguments.cores) if jobs else f"{wanted}: nothing to be done")


def numbers_of_cores(text: str) -> list[int]:
    """Numbers of cores from a list with commas.

    Raises:
        argparse.ArgumentTypeError: one is no whole number above 0.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected numbers above 0, e.g. 1,8,64")
    return [int(part) for part in parts]


def costs(words: Sequence[str]) -> None:
    """Says how true the plan of a finished run was, and keeps its costs."""
    from repdyn.pipeline.ask import plan as planning
    from repdyn.pipeline.ask import workflow
    from repdyn.pipeline.run.declare.costs import files

    parser = _parser("dev costs", "Record the costs of a finished run's jobs in each study's costs.csv, for `plan`.")
    parser.add_argument("run", help="name of the run")
    run = parser.parse_args(words).run
    folder = workflow.folder()
    print(planning.missed(run, files(folder)))
    print(f"costs of {planning.keep(run, folder)} jobs of {run} are kept")


def decide(words: Sequence[str]) -> None:
    """Adds trials to a run until its claims are decided, or prints what that would take."""
    from repdyn.pipeline.ask import decide as deciding
    from repdyn.pipeline.ask import workflow

    parser = _parser("decide", "Run more trials for the claims that a run leaves open, in a copy named <run>-decided.")
    parser.add_argument("run", help="name of a finished run, e.g. default")
    parser.add_argument(
        "--budget", type=_at_least(float, 0), help="core-minutes to spend; without it, only list what is needed"
    )
    parser.add_argument(
        "--looks", type=_at_least(int, 1), help="stop after this many analyses (default: when the budget is used)"
    )
    parser.add_argument("--cores", type=_at_least(int, 1), default=2, help="cores to use (default: 2)")
    _snakemake_options(parser)
    arguments = parser.parse_args(words)
    if arguments.budget is None:
        print(deciding.show(deciding.needs(arguments.run)))
        return
    scale = arguments.run.removesuffix(deciding.SUFFIX)
    options = workflow.options(workflow.folder(), scale, arguments.configfile, arguments.config)
    deciding.decide(
        arguments.run,
        options,
        budget=60 * arguments.budget,
        looks=arguments.looks,
        cores=arguments.cores,
        say=lambda text: print(text, flush=True),
    )


def store(words: Sequence[str]) -> None:
    """Prints what is kept of finished trials, or makes room."""
    from repdyn.pipeline.ask import store as kept

    parser = _parser("store", "List the finished trials of all runs, show what they depend on, or free space.")
    parser.add_argument("experiment", nargs="?", help="study/experiment: show what its trials depend on")
    parser.add_argument("--clean", action="store_true", help="remove trials, least recently used first")
    parser.add_argument(
        "--gigabytes", type=_at_least(float, 0), help="with --clean: how much may remain (default: the store's limit)"
    )
    parser.add_argument(
        "--days", type=_at_least(float, 0), default=0.0, help="with --clean: remove what was unused for so many days"
    )
    arguments = parser.parse_args(words)
    if arguments.clean:
        print(kept.clean(Path(), arguments.gigabytes, arguments.days))
    else:
        print(kept.show(Path(), arguments.experiment))


def site(words: Sequence[str]) -> None:
    """Writes the report of a finished run as a site."""
    from repdyn.pipeline.ask import site as publishing

    parser = _parser("dev site", "Write a run's report as a static site, ready to be hosted.")
    parser.add_argument("results", type=Path, help="folder of a finished run, e.g. results/default")
    parser.add_argument("--into", type=Path, default=Path("site"), help="new or empty folder (default: site)")
    parser.add_argument(
        "--url", required=True, help="address at which it will be published, e.g. https://example.org/repdyn"
    )
    parser.add_argument("--docs", type=Path, help="the built documentation, e.g. build/docs, to include under docs/")
    arguments = parser.parse_args(words)
    pages, outside = publishing.publish(arguments.results, arguments.into, arguments.url, arguments.docs)
    print(f"{arguments.into}: {pages} pages")
    if outside:
        print(f"not published, since these are links to files elsewhere: {', '.join(outside)}")


def progress(words: Sequence[str]) -> None:
    """Prints the last line of every running job."""
    from repdyn.pipeline.ask import progress as running

    parser = _parser("progress", "Show the last line of every running job.")
    parser.add_argument("--logs", type=Path, default=Path("logs"))
    print(running.show(parser.parse_args(words).logs))


def controls(words: Sequence[str]) -> int:
    """Prints the kind of every control of a run; status 1 where one only shifts a number or a part has none."""
    from repdyn.pipeline.ask import controls as audit

    parser = _parser("dev controls", "List claims whose controls only shift a number, and parts without a control.")
    parser.add_argument("results", type=Path, help="folder of a finished run, e.g. results/smoke")
    examination = audit.examine(parser.parse_args(words).results)
    print(audit.show(examination))
    return int(bool(examination.faults))


def false_alarms(words: Sequence[str]) -> None:
    """Prints how often other seeds refute cheap sampled claims."""
    from repdyn.base.tables import write_csv
    from repdyn.pipeline.ask import false_alarms as counting

    parser = _parser("dev false-alarms", "Count how often other seeds refute cheap sampled claims.")
    parser.add_argument("results", type=Path, help="folder of a finished run, e.g. results/smoke")
    parser.add_argument("--seeds", type=_at_least(int, 1), default=200)
    cheap = "a claim is cheap if its data takes at most this long"
    parser.add_argument("--seconds", type=_at_least(float, 0), default=1.0, help=cheap)
    parser.add_argument("--output", type=Path, help="CSV file to write (default: only print)")
    arguments = parser.parse_args(words)
    counted = counting.measure(arguments.results, arguments.seeds, arguments.seconds)
    print(counted.to_string(index=False))
    if arguments.output:
        write_csv(arguments.output, counted)


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=f"repdyn {name}", description=description)


def _snakemake_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--configfile", nargs="+", type=Path, help="overlays, as for Snakemake")
    parser.add_argument("--config", nargs="+", default=[], help="settings KEY=VALUE, as for Snakemake")


def _at_least(kind: type[int] | type[float], least: float) -> Callable[[str], float]:
    """A finite number of this kind that is not below `least`, for argparse."""

    def number(text: str) -> float:
        value = kind(text)
        if not least <= value < math.inf:
            raise argparse.ArgumentTypeError(f"got {text}, expected a finite number of {least} or more")
        return value

    number.__name__ = kind.__name__
    return number
