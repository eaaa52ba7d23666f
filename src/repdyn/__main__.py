"""`python -m repdyn ...`: every step of the pipeline by hand, and questions about its results."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from repdyn.base.devices import pin_threads
from repdyn.base.errors import RepdynError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; a user's mistake ends with one readable line and exit status 1, not with a traceback."""
    given = parser().parse_args(arguments)
    pin_threads(given.threads)  # before any command imports numpy or torch
    began = time.perf_counter()
    try:
        given.run(given)
        if given.cost:
            _record_cost(given, began)
    except RepdynError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line, one sub-command per step."""
    top = argparse.ArgumentParser(prog="repdyn", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="command")

    def command(
        name: str, run: Callable[[argparse.Namespace], None], help: str, *positional: str
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=help, description=help)
        for argument in positional:
            made.add_argument(argument)
        made.add_argument(
            "--threads",
            type=int,
            default=1,
            help="threads of numerical libraries; part of the recipe (default 1)",
        )
        made.add_argument("--cost", type=Path, help="file for a record of time and memory")
        made.set_defaults(run=run, name=name)
        return made

    made = command("simulate", _simulate, "run an experiment or analysis and save its dataset", "study", "function")
    made.add_argument("--job", required=True, help="JSON: seed, settings, further arguments")
    made.add_argument("--code", default="unversioned", help="code version written into the dataset")
    made.add_argument("--checkpoints", type=Path, help="folder for the finished trials of a long job")
    _files(made, "dataset files", required=False)
    made = command("draw", _draw, "draw figures of a study", "study")
    made.add_argument("names", nargs="+", help="figure functions")
    _files(made, "dataset files", outputs="+")
    made = command("tabulate", _tabulate, "write tables of a study", "study")
    made.add_argument("names", nargs="+", help="table functions")
    _files(made, "dataset files", outputs="+")
    made = command("judge", _judge, "decide every claim of a study and run its negative controls", "study")
    _files(made, "dataset files")
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
    made.add_argument("--config", required=True)
    _files(made, "result files")
    made = command("report", _report, "build the self-contained report of a run")
    _files(made, "ledger, manifest, figure and table descriptions")
    _add_questions(command)
    return top


def _add_questions(command: Callable[..., argparse.ArgumentParser]) -> None:
    made = command("claim", _claim, "show one claim: statement, numbers, verdict, command", "id")
    made.add_argument("--results", type=Path, default=Path("results"))
    made = command("check-config", _check_config, "validate configuration files")
    made.add_argument("files", nargs="*", type=Path)
    made = command("reference", _reference, "rewrite the generated pages under docs/")
    made.add_argument("--root", type=Path, default=Path())


def _files(made: argparse.ArgumentParser, inputs: str, *, required: bool = True, outputs: str | None = None) -> None:
    least = "+" if required else "*"
    made.add_argument("--inputs", nargs=least, type=Path, default=[], required=required, help=inputs)
    made.add_argument("--output", nargs=outputs, type=Path, required=True, help="files to write; all in one folder")


def _simulate(given: argparse.Namespace) -> None:
    from repdyn.pipeline import runners

    runners.simulate(given.study, given.function, given.job, given.inputs, given.code, given.output, given.checkpoints)


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

    report.build(given.output.parents[1], given.inputs, given.output)


def _claim(given: argparse.Namespace) -> None:
    from repdyn.pipeline import ledger

    print(ledger.show(given.id, given.results))


def _check_config(given: argparse.Namespace) -> None:
    from repdyn.pipeline import config

    print(f"{config.load(given.files or [Path('config.yaml')]).run.name}: the configuration is valid")


def _reference(given: argparse.Namespace) -> None:
    from repdyn.pipeline import reference

    reference.write(given.root)


def _record_cost(given: argparse.Namespace, began: float) -> None:
    from repdyn.base.files import write_json

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    write_json(
        given.cost,
        {
            "job": given.cost.name.removesuffix(".log.cost.json"),
            "command": given.name,
            "study": getattr(given, "study", ""),
            "wall_seconds": round(time.perf_counter() - began, 2),
            "cpu_seconds": round(sum(one.ru_utime + one.ru_stime for one in used), 2),
            "peak_memory_mb": round(max(one.ru_maxrss for one in used) / 1024, 1),
            "threads": given.threads,
        },
    )


if __name__ == "__main__":
    sys.exit(main())
