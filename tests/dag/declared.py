"""The jobs that a checkout declares: its Snakefile read in a process of its own, nothing run."""

import multiprocessing
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

SMOKE = "workflow/scales/smoke.yaml"


@dataclass(frozen=True)
class Declared:
    """What each job runs, reads and makes."""

    texts: Mapping[str, str]
    inputs: Mapping[str, list[str]]
    outputs: Mapping[str, list[str]]

    def changed(self, other: "Declared") -> set[str]:
        """Jobs whose functions, code, settings or files differ, and jobs that only one side has."""
        return {job for job in {*self.texts, *other.texts} if self.texts.get(job) != other.texts.get(job)}

    def downstream(self, jobs: Iterable[str]) -> set[str]:
        """The jobs and all that read what they make, directly or not."""
        found = set(jobs)
        while True:
            made = {path for job in found & set(self.outputs) for path in self.outputs[job]}
            more = {job for job, paths in self.inputs.items() if made & set(paths)} - found
            if not more:
                return found
            found |= more


def declared(folder: Path, *configfiles: str, config: Mapping[str, object] | None = None) -> Declared:
    """Reads a checkout's Snakefile; job files are written below it.

    Raises:
        RuntimeError: Snakemake refuses the workflow; with its words.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_read, args=(theirs, folder, configfiles, dict(config or {})))
    process.start()
    theirs.close()
    try:
        answer = ours.recv()
    except EOFError:
        answer = "the process ended without an answer"
    process.join()
    if isinstance(answer, str):
        raise RuntimeError(answer)
    return answer


def _read(pipe, folder: Path, configfiles: tuple[str, ...], config: dict[str, object]) -> None:
    from snakemake.api import ConfigSettings, OutputSettings, ResourceSettings, SnakemakeApi, WorkflowSettings

    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    settings = ConfigSettings(configfiles=[folder / name for name in configfiles], config=config)
    try:
        with SnakemakeApi(OutputSettings(quiet={"all"})) as api:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=1),
                config_settings=settings,
                workflow_settings=WorkflowSettings(),
                snakefile=folder / "Snakefile",
                workdir=folder,
            )._workflow
        jobs = workflow.globals["JOBS"].jobs
        texts = {name: job.text() for name, job in jobs.items()}
        answer = Declared(
            texts,
            {name: job.inputs for name, job in jobs.items()},
            {name: job.outputs for name, job in jobs.items()},
        )
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    pipe.send(answer)
    pipe.close()


def copy_sources(target: Path) -> Path:
    """A copy of what the Snakefile reads, without the results of any run."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("Snakefile", "config.yaml", "workflow", "profiles", "envs", "src", "docs"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        target.mkdir(parents=True, exist_ok=True)
        copy(ROOT / name, target / name, **({"ignore": ignored} if (ROOT / name).is_dir() else {}))
    return target
