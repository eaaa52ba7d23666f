"""The jobs that a checkout declares: its Snakefile read in a separate process, nothing run."""

import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, copy_checkout


@dataclass(frozen=True)
class Declared:
    """Code, inputs and outputs of each job, and the inputs of the rule `all`.

    Attributes:
        texts: job -> its job file.
        inputs: job -> the data that it reads.
        outputs: job -> its outputs.
        wanted: inputs of the default rule.
        files: job -> its job file's and its log's path.
        rules: job -> name, inputs, outputs and logs of the rules that make its outputs, wildcards filled in.
        memory: job -> megabytes requested by its rule at the first and at the second attempt.
        asked: job -> other requests of its rule; see `_asked`.
        shown: file -> category, subcategory, labels and caption that Snakemake's own report gives it.
    """

    texts: Mapping[str, str]
    inputs: Mapping[str, list[str]]
    outputs: Mapping[str, list[str]]
    wanted: list[str]
    files: Mapping[str, tuple[str, str]]
    rules: Mapping[str, list[tuple[str, list[str], list[str], list[str]]]]
    memory: Mapping[str, tuple[int, int]]
    asked: Mapping[str, Mapping[str, object]]
    shown: Mapping[str, tuple[str, str | None, Mapping[str, str], str]]

    def changed(self, other: "Declared") -> set[str]:
        """Jobs whose functions, code, settings or files differ, and jobs that only one side has."""
        return {job for job in {*self.texts, *other.texts} if self.texts.get(job) != other.texts.get(job)}

    @cached_property
    def members(self) -> dict[str, dict]:
        """`kind|job:member` -> the job file's entry for the task, named by its first output."""
        contents = {job: json.loads(text) for job, text in self.texts.items()}
        return {
            f"{content['kind']}|{job}:{_name(member)}": member
            for job, content in contents.items()
            for member in content["members"]
        }

    def changed_members(self, other: "Declared") -> set[str]:
        """Tasks that differ, and those of only one side."""
        return {
            name
            for name in self.members | other.members
            if json.dumps(self.members.get(name)) != json.dumps(other.members.get(name))
        }

    def downstream(self, jobs: Iterable[str]) -> set[str]:
        """The jobs and all jobs that depend on them."""
        dependents = set(jobs)
        while True:
            products = {path for job in dependents & set(self.outputs) for path in self.outputs[job]}
            more = {job for job, paths in self.inputs.items() if products & set(paths)} - dependents
            if not more:
                return dependents
            dependents |= more


def _name(member: dict) -> str:
    """`training/bn` of `bn_decomposed/data/training/bn.nc`."""
    path = member["outputs"][0].rpartition(".")[0]
    return path.split("/", 2)[2] if path.count("/") > 1 else path.rpartition("/")[2]


def declared(
    folder: Path,
    *configfiles: str,
    config: Mapping[str, object] | None = None,
    gpus: int | None = None,
    told: Callable[[Any], Any] | None = None,
) -> Any:
    """Reads a checkout's Snakefile; job files are written below it. The command may grant GPUs.

    Returns:
        A `Declared`, or the result of `told` for the workflow.

    Raises:
        RuntimeError: Snakemake rejects the workflow; with its message.
    """
    import snakemake.api  # noqa: F401  before the fork, so that it is read once

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_read, args=(theirs, folder, configfiles, dict(config or {}), gpus, told or _declared)
    )
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


def _read(pipe, folder: Path, configfiles: tuple[str, ...], config: dict[str, object], gpus, told) -> None:
    from snakemake.api import ConfigSettings, OutputSettings, ResourceSettings, SnakemakeApi, WorkflowSettings

    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name in [name for name in sys.modules if name.split(".")[0] == "repdyn"]:
        del sys.modules[name]  # the checkout's own package is the one that is read
    settings = ConfigSettings(configfiles=[folder / name for name in configfiles], config=config)
    try:
        with SnakemakeApi(OutputSettings(quiet={"all"})) as api:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=1, resources={} if gpus is None else {"gpu": gpus}),
                config_settings=settings,
                workflow_settings=WorkflowSettings(),
                snakefile=folder / "Snakefile",
                workdir=folder,
            )._workflow
        os.chdir(folder)  # Snakemake has left it again
        answer = told(workflow)
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}"
    pipe.send(answer)
    pipe.close()


def _declared(workflow) -> Declared:
    jobs = workflow.globals["JOBS"].jobs
    rules = {name: _rules(workflow, job.outputs) for name, job in jobs.items()}
    return Declared(
        {name: job.text() for name, job in jobs.items()},
        {name: job.inputs for name, job in jobs.items()},
        {name: job.outputs for name, job in jobs.items()},
        [str(path) for path in workflow.get_rule(workflow.default_target).input],
        {name: (job.file, job.log) for name, job in jobs.items()},
        rules,
        {job: _memory(workflow.get_rule(made[0][0]), jobs[job].outputs[0]) for job, made in rules.items()},
        {job: _asked(workflow, made[0][0], jobs[job].outputs[0]) for job, made in rules.items()},
        _shown(workflow),
    )


def _rules(workflow, outputs: Iterable[str]) -> list[tuple[str, list[str], list[str], list[str]]]:
    """Name, inputs, outputs and logs of every rule that makes one of the files."""
    made_by = {}
    for path in outputs:
        for rule in workflow.rules:
            if rule.is_producer(path):
                filled = rule.get_wildcards(path)
                parts = rule.expand_input(filled)[0], rule.expand_output(filled)[0], rule.expand_log(filled)
                made_by[rule.name] = (rule.name, *(sorted(map(str, part)) for part in parts))
    return list(made_by.values())


def _memory(rule, output: str) -> tuple[int, int]:
    """Megabytes for a file of a rule, at the first and at the second attempt."""
    filled = rule.get_wildcards(output)
    read = rule.expand_input(filled)[0]
    first, second = (rule.expand_resources(filled, read, attempt)["mem_mb"] for attempt in (1, 2))
    return first, second


def _asked(workflow, name: str, output: str) -> dict[str, object]:
    """Priority, minutes, GPUs, threads, environment, container, group and location of a rule."""
    rule = workflow.get_rule(name)
    filled = rule.get_wildcards(output)
    resources = rule.expand_resources(filled, rule.expand_input(filled)[0], 1)
    return {
        "priority": rule.priority,
        "minutes": resources["runtime"],
        "gpu": resources.get("gpu", 0),
        "threads": resources["_cores"],
        "environment": rule.conda_env and Path(rule.conda_env).name,
        "container": rule.container_img,
        "groups": (rule._group, workflow.parent_groupids.get(rule._group)),  # `group` itself is None without a cluster
        "local": rule.name in workflow._localrules,
    }


def _shown(workflow) -> dict[str, tuple[str, str | None, Mapping[str, str], str]]:
    flagged = [file for rule in workflow.rules for file in rule.output if "report" in getattr(file, "flags", {})]
    entries = {str(file): file.flags["report"] for file in flagged}
    return {
        file: (entry.category, entry.subcategory, entry.labels, str(entry.caption and Path(entry.caption).name))
        for file, entry in entries.items()
    }


def copy_sources(target: Path) -> Path:
    """A copy of all that the Snakefile reads, including the stored references, without results."""
    shutil.copytree(ROOT / "reference", target / "reference")
    return copy_checkout(target)
