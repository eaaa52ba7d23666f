"""All jobs of a run: those of its studies, then what is made once for all: images, claims, manifest, report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from repdyn.base.devices import collect_seldom
from repdyn.base.errors import RepdynError
from repdyn.base.files import sha256
from repdyn.base.settings import plain
from repdyn.pipeline import studies
from repdyn.pipeline.config import configuration
from repdyn.pipeline.report.texts import FILES, FOLDERS
from repdyn.pipeline.run.declare import costs
from repdyn.pipeline.run.declare.workflow import Rule, RunJobs
from repdyn.pipeline.versions.fingerprint import SOURCE

ENDS = {
    "images": "The images that the studies share, of the source that the configuration names.",
    "ledger": "All claims of the run: verdicts, and the evidence behind them.",
    "manifest": "What the run was: configuration, versions, digests of all files, costs of all jobs.",
    "report": "The report: a site that opens without a network, from report/index.html.",
}
"""Jobs of no study: what each makes, in one line."""

CODE_SHOWN = ("claims", "figures", "tables")
"""Modules of a study whose source the report shows."""


def declare(config: configuration.Workflow, workflow: Path) -> tuple[RunJobs, dict[str, list[Rule]]]:
    """All jobs of a run, in an order in which they can run, and the rules that make the data of each study.

    Args:
        config: the run's settings.
        workflow: folder of the Snakefile.
    """
    jobs = RunJobs(config, SOURCE, workflow / ".cache" / "code_versions.json", costs.files(workflow))
    _images(jobs)
    rules: dict[str, list[Rule]] = {}
    for study in studies.declared():
        rules[study] = jobs.data(study)
        jobs.figures(study), jobs.tables(study), jobs.claims(study)
    images = jobs.jobs["images"]
    if not any(set(images.outputs) & set(job.inputs) for job in jobs.jobs.values()):
        del jobs.jobs["images"]  # no study reads them
    _ends(jobs, workflow)
    return jobs, rules


def _images(jobs: RunJobs) -> None:
    data = jobs.config.data
    mnist = data.source == "mnist"
    jobs.other(
        "images",
        "images",
        outputs=["data/images.nc"],
        source=data.source,
        split=data.split if mnist else "test",
        mnist_folder=data.mnist_folder if mnist else None,
        mnist_mirrors=list(data.mnist_mirrors) if mnist else [],
    )


def _ends(jobs: RunJobs, workflow: Path) -> None:
    here = os.path.relpath(workflow)  # relative, so that a copy of the whole folder has nothing to do
    jobs.other(
        "ledger",
        "ledger",
        reads=jobs.outputs("decide"),
        outputs=["claims.csv", "evidence.csv"],
        run=jobs.run,
        texts=_texts(workflow, studies.every(studies.ACCEPTED)),
    )
    jobs.other(
        "manifest",
        "manifest",
        reads=jobs.outputs(),
        outputs=["manifest.json"],
        logs=f"logs/{jobs.run}/",
        workflow=here,
        config=plain(jobs.config),
    )
    page = [*(SOURCE / "repdyn/pipeline/report/page").rglob("*"), SOURCE / "repdyn/base/site.css"]
    words = (studies.PAGE, studies.REPLIES, studies.ERRATA)
    read = (*words, studies.ACCEPTED, studies.SOURCES, studies.EXPLORER, studies.OPENING)
    shown = (pattern for part in CODE_SHOWN for pattern in (f"{part}.py", f"{part}/**/*.py"))
    jobs.other(
        "report",
        "site",
        reads=["claims.csv", "evidence.csv", "manifest.json", *jobs.outputs("draw", "tabulate", "simulate", "images")],
        outputs=[f"report/{part}" for part in (*FILES, *FOLDERS)],
        workflow=here,
        made=jobs.rule_outputs(),
        declared={
            study: f"{declared.title}; {declared.explorer}; {declared.opening}"
            for study, declared in studies.declared().items()
        },
        texts=_texts(workflow, [*workflow.glob("reference/**/*"), *workflow.glob("workflow/settings_sources.yaml")])
        + _texts(workflow, page)
        + _texts(workflow, (path for pattern in (*read, *shown) for path in studies.every(pattern))),
    )


def _texts(workflow: Path, paths: Iterable[Path]) -> list[str]:
    """Files that a job reads besides its data, named from the checkout, the package or a study, with digests."""
    places = [workflow, SOURCE, *(folder.parent for folder in studies.folders().values())]
    files = sorted({path for path in paths if path.is_file()})
    above = [next(place for place in places if path.is_relative_to(place)) for path in files]
    return [
        f"{path.relative_to(place).as_posix()} {sha256(path)[:16]}" for path, place in zip(files, above, strict=True)
    ]


def main(words: Sequence[str]) -> int:
    """Writes the job files of a run as the Snakefile does, without Snakemake, and prints the run's name.

    Args:
        words: folder of the Snakefile, then Snakemake's options `--configfile FILE ...` and `--config KEY=VALUE ...`.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("workflow", type=Path)
    parser.add_argument("--configfile", nargs="+", default=[])
    parser.add_argument("--config", nargs="+", default=[])
    arguments = parser.parse_args(words)
    workflow = arguments.workflow.absolute()
    collect_seldom()
    try:
        studies.choose(workflow)
        settings = dict(setting.split("=", 1) for setting in arguments.config)
        files = [workflow / "config.yaml", *arguments.configfile]
        config = configuration.load(files, {key: _sections(value) for key, value in settings.items()})
        declare(config, workflow)[0].write()
    except RepdynError as error:
        print(error, file=sys.stderr)
        return 1
    print(config.run.name)
    return 0


def _sections(text: str) -> str | Mapping[str, Any]:
    """A mapping of texts where a value on the command line is one, as Snakemake reads it."""
    try:
        value = YAML(typ="base", pure=True).load(text)
    except YAMLError:
        return text
    return value if isinstance(value, dict) else text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
