"""`python -m repdyn ...`: every step of the pipeline by hand, and questions about its results."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from repdyn.base.devices import pin_threads
from repdyn.base.errors import RepdynError
from repdyn.pipeline.records import recorded


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; a user's mistake ends with one readable line and exit status 1, not with a traceback."""
    given = parser().parse_args(arguments)
    given.arguments = list(sys.argv[1:] if arguments is None else arguments)
    pin_threads(given.threads)  # before any command imports numpy or torch
    try:
        with recorded(given):
            return given.run(given) or 0
    except RepdynError as error:
        print(f"error: {error}", file=sys.stderr)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
    return 1


def parser() -> argparse.ArgumentParser:
    """The command line, one sub-command per step."""
    top = argparse.ArgumentParser(prog="repdyn", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="command")

    def command(
        name: str, run: Callable[[argparse.Namespace], int | None], help: str, *positional: str
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        for argument in positional:
            made.add_argument(argument)
        made.add_argument(
            "--threads",
            type=_at_least(int, 1),
            default=1,
            help="threads of numerical libraries; part of the recipe (default 1)",
        )
        made.add_argument("--cost", type=Path, help="file for a record of files, time and memory")
        made.set_defaults(run=run, name=name)
        return made

    made = command("simulate", _simulate, "run experiments or analyses and save their datasets", "study")
    made.add_argument("functions", nargs="+", help="module:function, each with a job, a code version and an output")
    made.add_argument("--job", nargs="+", required=True, help="JSON: seed, settings, further arguments")
    made.add_argument("--checkpoints", type=Path, help="folder for the finished trials of a long job")
    _files(made, "dataset files", required=False, outputs="+", codes="+")
    made = command("draw", _draw, "draw figures of a study", "study")
    made.add_argument("names", nargs="+", help="figure functions")
    _files(made, "dataset files", outputs="+")
    made = command("tabulate", _tabulate, "write tables of a study", "study")
    made.add_argument("names", nargs="+", help="table functions")
    _files(made, "dataset files", outputs="+")
    made = command("judge", _judge, "decide every claim of a study and run its negative controls", "study")
    _files(made, "dataset files")
    _add_gathering(command)
    _add_questions(command)
    _add_own_network(command)
    return top


def _add_gathering(command: Callable[..., argparse.ArgumentParser]) -> None:
    made = command("images", _images, "save the images that the studies read")
    made.add_argument("--job", required=True, help="JSON: source, mnist_folder, mnist_mirrors")
    made.add_argument("--code", default="unversioned")
    made.add_argument("--output", type=Path, required=True)
    made = command("ledger", _ledger, "join the studies' claims and compare with the accepted verdicts", "run_name")
    made.add_argument("--expected", type=Path, required=True)
    _files(made, "claims.csv of the studies")
    made = command("manifest", _manifest, "digests, versions, costs of a run")
    made.add_argument("--logs", type=Path, required=True)
    made.add_argument("--workflow", type=Path, required=True)
    made.add_argument("--config", type=_json, required=True, help="JSON: the run's configuration")
    _files(made, "result files")
    made = command("report", _report, "build the self-contained report of a run")
    made.add_argument("--workflow", type=Path, default=Path(), help="folder of the checkout (default: here)")
    made.add_argument("--makers", type=_json, default="{}", help="JSON: rule -> files it makes")
    made.add_argument("--scale", type=_json, default="{}", help="JSON: key -> this run's value and the papers' own")
    _files(made, "ledger, manifest, figure and table descriptions")


def _add_questions(command: Callable[..., argparse.ArgumentParser]) -> None:
    made = command("claim", _claim, "show one claim: statement, numbers, verdict, command", "id")
    made.add_argument("--results", type=Path, default=Path("results"))
    made = command("false-alarms", _false_alarms, "how often other seeds refute cheap sampled claims")
    made.add_argument("results", type=Path, help="folder of a finished run, e.g. results/smoke")
    made.add_argument("--seeds", type=_at_least(int, 1), default=200)
    made.add_argument(
        "--seconds", type=_at_least(float, 0), default=1.0, help="a claim is cheap if its data takes at most this long"
    )
    made.add_argument("--output", type=Path, help="CSV file; shown only, if left out")
    made = command("progress", _progress, "the last line of every running job")
    made.add_argument("--logs", type=Path, default=Path("logs"))
    made = command("compare", _compare, "two runs: changed verdicts, then largest deviations", "first", "second")
    made.add_argument(
        "--tier",
        choices=("identical", "rounding", "verdicts"),
        default="identical",
        help="what counts as a difference (default: any; see the README)",
    )
    made = command("verify", _verify, "which results are older than today's code or settings, changed or missing")
    made.add_argument("run_name", metavar="run", nargs="?", default="default", help="its name (default: default)")
    _snakemake_options(made)
    made = command("plan", _plan, "jobs, core-minutes and memory of a run before it starts")
    made.add_argument("--remaining", action="store_true", help="only what today's results lack")
    _snakemake_options(made)
    made = command("costs", _costs, "keep what the jobs of a finished run took in workflow/costs.csv, for `plan`")
    made.add_argument("run_name", metavar="run", help="name of the run")
    made = command("check-config", _check_config, "validate configuration files")
    made.add_argument("files", nargs="*", type=Path)
    made = command("reference", _reference, "rewrite the generated pages under docs/")
    made.add_argument("--root", type=Path, default=Path())


def _snakemake_options(made: argparse.ArgumentParser) -> None:
    made.add_argument("--configfile", nargs="+", type=Path, help="overlays, as for Snakemake")
    made.add_argument("--config", nargs="+", default=[], help="settings KEY=VALUE, as for Snakemake")


def _add_own_network(command: Callable[..., argparse.ArgumentParser]) -> None:
    from repdyn.diagnostics.command import add_arguments

    add_arguments(command("measure", _measure, "the papers' diagnostics on your own network", "maker"))


def _at_least(kind: type, least: float) -> Callable[[str], float]:
    """A number of this kind that is not below `least`, for argparse."""

    def number(text: str) -> float:
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"got {text}, expected {least} or more")
        return value

    number.__name__ = kind.__name__
    return number


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not JSON ({error})") from error


def _files(
    made: argparse.ArgumentParser,
    inputs: str,
    *,
    required: bool = True,
    outputs: str | None = None,
    codes: str | None = None,
) -> None:
    least = "+" if required else "*"
    made.add_argument("--code", nargs=codes, help="code version of what is run, kept with the result")
    made.add_argument("--inputs", nargs=least, type=Path, default=[], required=required, help=inputs)
    made.add_argument("--output", nargs=outputs, type=Path, required=True, help="files to write")


def _simulate(given: argparse.Namespace) -> None:
    from repdyn.pipeline import runners

    codes = given.code or ["unversioned"] * len(given.functions)
    counts = {
        "functions": len(given.functions),
        "--job": len(given.job),
        "--code": len(codes),
        "--output": len(given.output),
    }
    if len(set(counts.values())) > 1:
        raise RepdynError(f"simulate: {counts}: give one of each per function")
    kept = [
        runners.simulate(given.study, function, job, given.inputs, code, output, given.checkpoints)
        for function, job, code, output in zip(given.functions, given.job, codes, given.output, strict=True)
    ]
    for checkpoint in kept:
        checkpoint.remove()


def _draw(given: argparse.Namespace) -> None:
    from repdyn.pipeline import runners

    runners.draw(given.study, given.names, given.inputs, given.output[0].parent)


def _tabulate(given: argparse.Namespace) -> None:
    from repdyn.pipeline import runners

    runners.tabulate(given.study, given.names, given.inputs, given.output[0].parent)


def _judge(given: argparse.Namespace) -> None:
    from repdyn.pipeline import runners

    runners.judge(given.study, given.inputs, given.output)


def _images(given: argparse.Namespace) -> None:
    from repdyn.pipeline import runners

    job = runners.read_job(given.job, "source", "mnist_folder", "mnist_mirrors")
    runners.images(job["source"], job["mnist_folder"], job["mnist_mirrors"], given.code, given.output)


def _ledger(given: argparse.Namespace) -> None:
    from repdyn.pipeline import ledger

    ledger.build(given.inputs, given.expected, given.run_name, given.output)


def _manifest(given: argparse.Namespace) -> None:
    from repdyn.pipeline import manifest

    manifest.build(given.inputs, given.output.parent, given.logs, given.workflow, given.config, given.output)


def _report(given: argparse.Namespace) -> None:
    from repdyn.pipeline import report

    source = report.Source(given.workflow, given.makers, given.scale)
    report.build(given.output.parents[1], given.inputs, given.output, source)


def _claim(given: argparse.Namespace) -> None:
    from repdyn.pipeline import ledger

    print(ledger.show(given.id, given.results))


def _false_alarms(given: argparse.Namespace) -> None:
    from repdyn.base.files import write_text
    from repdyn.pipeline import false_alarms

    counted = false_alarms.measure(given.results, given.seeds, given.seconds)
    print(counted.to_string(index=False))
    if given.output:
        write_text(given.output, counted.to_csv(index=False, lineterminator="\n"))


def _progress(given: argparse.Namespace) -> None:
    from repdyn.pipeline import progress

    print(progress.show(given.logs))


def _compare(given: argparse.Namespace) -> int:
    from repdyn.pipeline import compare

    first, second = Path(given.first), Path(given.second)
    found = compare.compare(first, second, given.tier)
    print(compare.show(found, first, second, given.tier))
    return int(bool(found.differences(given.tier)))


def _verify(given: argparse.Namespace) -> int:
    from repdyn.pipeline import dryrun, verify

    workflow = dryrun.folder_of_workflow()
    options = dryrun.options(workflow, given.run_name, given.configfile, given.config)
    jobs = dryrun.planned(workflow, options)
    reasons = verify.examine(given.run_name, jobs)
    mend = ["snakemake", "--cores", "8", *options, *verify.remedy(reasons, jobs), "--", "all"]
    print(verify.report(given.run_name, reasons, shlex.join(mend)))
    return int(any(reasons.values()))


def _plan(given: argparse.Namespace) -> None:
    from repdyn.pipeline import dryrun, plan

    workflow = dryrun.folder_of_workflow()
    options = dryrun.options(workflow, "default", given.configfile, given.config)
    jobs = dryrun.planned(workflow, options, everything=not given.remaining)
    wanted = shlex.join(["snakemake", *options, "--", "all"])
    print(plan.show(plan.costs(jobs, workflow / plan.FILE), wanted) if jobs else f"{wanted}: nothing to be done")


def _costs(given: argparse.Namespace) -> None:
    from repdyn.pipeline import dryrun, plan

    file = dryrun.folder_of_workflow() / plan.FILE
    print(f"{file}: {plan.keep(given.run_name, file)} jobs of {given.run_name}")


def _check_config(given: argparse.Namespace) -> None:
    from repdyn.pipeline import config

    print(f"{config.load(given.files or [Path('config.yaml')]).run.name}: the configuration is valid")


def _reference(given: argparse.Namespace) -> None:
    from repdyn.pipeline import reference

    reference.write(given.root)


def _measure(given: argparse.Namespace) -> None:
    from repdyn.diagnostics.command import run_arguments

    run_arguments(given)


if __name__ == "__main__":
    sys.exit(main())
