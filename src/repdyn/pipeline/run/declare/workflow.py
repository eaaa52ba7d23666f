"""The workflow's own view of the studies: which job makes what, from the graph, the settings and the code.

A study's module `study.py` declares which experiments share a job; everything else (inputs, settings, code versions,
figures, tables, claims) derives from the functions' signatures. Nothing heavy is imported.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from repdyn.base.declarations import Simulation, Variants
from repdyn.base.errors import ConfigError
from repdyn.base.settings import Settings, canonical
from repdyn.pipeline import studies
from repdyn.pipeline.config.configuration import Workflow
from repdyn.pipeline.run.declare import costs, parts
from repdyn.pipeline.run.declare.digests import CodeVersions
from repdyn.pipeline.run.declare.graph import OFFERED, Function, Study, modules, read_study, statements
from repdyn.pipeline.run.declare.jobs import SOURCES, Check, Inputs, Job, Member, write_all
from repdyn.pipeline.run.execute import records
from repdyn.pipeline.versions.fingerprint import SOURCE

ENTRY = "repdyn.pipeline.run.execute.entry:main"
FIGURE_FILES, TABLE_FILES = ("svg", "png", "csv", "json"), ("csv", "tex", "json")
IMAGES = "images"
KINDS = {"simulate": "experiments", "draw": "figures", "tabulate": "tables", "decide": "claims"}
"""Kind of a study's job -> the functions that it runs."""


@dataclass(frozen=True)
class Rule:
    """A rule of the workflow that makes data.

    Attributes:
        name: its name.
        makes: what it makes, in one line.
        inputs: `job`, the job file, and `data`, the datasets it reads.
        outputs: the files it makes.
        log: its log.
        trains: whether it trains networks, which an experiment says by taking a device: it starts before others, may
            take hours and gets a GPU where there is one.
        runtime: its time limit on a cluster, minutes.
        constraints: wildcard -> what it may be.
    """

    name: str
    makes: str
    inputs: dict[str, Any]
    outputs: list[str]
    log: str
    trains: bool
    runtime: int
    constraints: dict[str, str] = field(default_factory=dict)


class RunJobs:
    """All jobs of one run, as the studies declare them.

    Args:
        config: the run's settings.
        source: folder that holds the package.
        memory: file in which code versions are remembered.
        records: files of recorded costs; None for those of the studies and of the checkout.
    """

    def __init__(self, config: Workflow, source: Path, memory: Path, records: Iterable[Path] | None = None) -> None:
        self.config, self.source, self.run = config, source, config.run.name
        self._versions = CodeVersions(source, memory, studies.outside())
        self._known = costs.recorded(costs.files(source.parent) if records is None else records)
        self.jobs: dict[str, Job] = {}
        self._data: dict[str, Inputs] = {}
        split = config.data.split if config.data.source == "mnist" else "test"
        self._images = SOURCES[config.data.source][split]

    def data(self, study: str) -> list[Rule]:
        """The rules that make a study's data; what they make is declared.

        Raises:
            ConfigError: there is no such function, or a dataset it reads is made by no earlier job.
        """
        rules = []
        for part in studies.declared()[study].jobs:
            name, memory, trains = f"{study}/{part.name}", part.resources.memory_mb, self._trains(study, part)
            if isinstance(part, Variants):
                pieces, values = [], part.values(getattr(self.config, study))
                form = self.variants(name, part.experiment, part.key, values, memory_mb=memory)
                form["constraints"] = {part.key: r"\d+"} if isinstance(values[0], int) else {}
                job = self.jobs[f"{name}-{_label(part.key, values[0])}"]
            else:
                *pieces, job = self._cut(part, name, memory, trains)
                form = _form(job)
            options: dict[str, Any] = {"trains": trains, "runtime": part.resources.minutes or (480 if trains else 30)}
            rules.append(Rule(job.rule, self.makes(job), **options, **form))
            rules += [Rule(piece.rule, self.makes(piece), **options, **_form(piece)) for piece in pieces]
        return rules

    def makes(self, job: Job) -> str:
        """What the rule of a study's job makes, in one line: the summary of its function, or the names of several."""
        graph, kind = self._study(job.study), KINDS[job.kind]
        if kind == "claims":
            return f"Verdicts on the {len(graph.claims)} claims of {job.study}, and their evidence."
        names = list(dict.fromkeys(member["function"].partition(":")[2] for member in job.members))
        if job.part_of:
            return f"Some trials of {names[0]}, for {job.part_of}."
        several = f"{'Datasets' if kind == 'experiments' else kind.capitalize()} {', '.join(names)}."
        return several if len(names) > 1 else getattr(graph, kind)[names[0]].summary

    def _cut(self, part: Simulation, name: str, memory_mb: int, trains: bool) -> list[Job]:
        """The jobs of a simulation: its parts, if it is long, and last itself; on a GPU ensembles train at once."""
        whole = self._simulations(name, *part.experiments, memory_mb=memory_mb)
        pieces, job = parts.cut(whole, part.cut) if self.config.run.device == "cpu" or not trains else ([], whole)
        return [self._add(single) for single in (*pieces, job)]

    def _trains(self, study: str, part: Simulation | Variants) -> bool:
        named = [part.experiment] if isinstance(part, Variants) else part.experiments
        functions = self._study(study).experiments
        return any("device" in functions[name if isinstance(name, str) else name[0]].parameters for name in named)

    def simulate(self, name: str, *experiments: str | tuple[str, Mapping[str, Any]], memory_mb: int = 800) -> Job:
        """A job that runs experiments or analyses and saves their datasets.

        Args:
            name: study and job, "leaky_resnets/exact".
            experiments: functions by name; with the value of one further argument for a variant of its own:
                `("blobs", {"run": "sgd"})` makes `data/blobs/sgd.nc`.
            memory_mb: memory of the first try, where no record lets expect more.

        Raises:
            ConfigError: there is no such function, or a dataset it reads is made by no earlier job.
        """
        return self._add(self._simulations(name, *experiments, memory_mb=memory_mb))

    def _simulations(self, name: str, *experiments: str | tuple[str, Mapping[str, Any]], memory_mb: int) -> Job:
        pairs = ((part, {}) if isinstance(part, str) else part for part in experiments)
        members = [self._simulation(name.partition("/")[0], function, variant) for function, variant in pairs]
        return Job(self.run, name, "simulate", members, memory_mb=memory_mb, images=self._images)

    def variants(self, name: str, experiment: str, key: str, values: list[Any], memory_mb: int = 800) -> dict[str, Any]:
        """`inputs`, `outputs` and `log` of a rule with the wildcard `{key}`, for the jobs of all values of `key`."""
        study = name.partition("/")[0]
        jobs = [self.simulate(f"{name}-{_label(key, v)}", (experiment, {key: v}), memory_mb=memory_mb) for v in values]
        form = f"{key}{{{key}}}" if isinstance(values[0], int) else f"{{{key}}}"
        return {
            "inputs": {"job": f"logs/{self.run}/{name}-{form}.job.json", "data": jobs[0].inputs},
            "outputs": [f"results/{self.run}/{study}/data/{experiment}/{form}.nc"],
            "log": f"logs/{self.run}/{name}-{form}.log",
        }

    def figures(self, study: str) -> dict[str, Job]:
        """Jobs that draw a study's figures, by module: one job per module of the study's `figures`."""
        graph = self._study(study)
        return {
            module: self._add(
                Job(
                    self.run,
                    f"{study}/figures" if module == "figures" else f"{study}/figures_{module}",
                    "draw",
                    [self._shown(study, figure, "figures", FIGURE_FILES) for figure in figures],
                    memory_mb=1000,
                )
            )
            for module, figures in graph.figures_by_module().items()
        }

    def tables(self, study: str) -> Job | None:
        """The job that writes a study's tables, None where it has none."""
        tables = self._study(study).tables.values()
        members = [self._shown(study, table, "tables", TABLE_FILES) for table in tables]
        return self._add(Job(self.run, f"{study}/tables", "tabulate", members, memory_mb=800)) if members else None

    def claims(self, study: str) -> Job | None:
        """The job that decides a study's claims, None where it has none."""
        checks = self._study(study).claims
        if not checks:
            return None
        names = dict.fromkeys(name for check in checks.values() for name in check.reads)
        member: Member = {
            "study": study,
            "claims": {id: self._check(id, check) for id, check in checks.items()},
            "code": self._code("decide"),
            "inputs": {name: self._input(study, name) for name in names},
            "outputs": [f"{study}/claims.csv", f"{study}/evidence.csv"],
        }
        return self._add(Job(self.run, f"{study}/claims", "decide", [member], memory_mb=1000))

    def _check(self, id: str, function: Function) -> Check:
        """How a claim is decided; the number of the look where it is not the first."""
        check: Check = {"function": function.path, "code": self._versions.of(function.root)}
        if (look := self.config.run.looks.get(id, 1)) > 1:
            check["look"] = look
        return check

    def other(self, name: str, kind: str, *, outputs: Iterable[str], reads: Iterable[str] = (), **extra: Any) -> Job:
        """A job at an end of the workflow: images, ledger, manifest, report.

        Args:
            name: name of the job.
            kind: one of `loading.RUNNERS`.
            outputs: files it writes, below the run's results.
            reads: files it reads, below the run's results.
            extra: what its runner gets besides.
        """
        inputs: Inputs = {path: path for path in reads}
        member: Member = {"code": self._code(kind), "inputs": inputs, "outputs": list(outputs), **extra}  # type: ignore[typeddict-item]  # the kind's own keys
        return self._add(Job(self.run, name, kind, [member], memory_mb=600))

    def outputs(self, *kinds: str) -> list[str]:
        """Files below the results that all jobs declared so far make, or those of some kinds; parts are left out."""
        jobs = (job for job in self.jobs.values() if (not kinds or job.kind in kinds) and not job.part_of)
        return [path for job in jobs for member in job.members for path in member["outputs"]]

    def write(self) -> None:
        """Writes the job files; see `jobs.write_all`.

        Raises:
            ConfigError: they cannot be written, or a record of this run is another user's and cannot be read.
        """
        self._versions.save()
        try:
            finished = {record["log"]: record for record in records.of_run(self.run)}
        except PermissionError as error:
            advice = "users of one folder need a group and a umask (002) with which all read and write there"
            raise ConfigError(f"{error.filename}: permission denied; {advice}") from error
        write_all(list(self.jobs.values()), finished)

    def memory(self, file: str) -> int:
        """Megabytes that the job of a job file asks for at the first try; 800 for a file that is none of ours."""
        return next((job.memory_mb for job in self.jobs.values() if job.file == file), 800)

    def rule_outputs(self) -> dict[str, list[str]]:
        """Rule's job -> files below the results that it makes, for the report's links."""
        whole = (job for job in self.jobs.values() if not job.part_of)
        return {job.name: [path for member in job.members for path in member["outputs"]] for job in whole}

    def _add(self, job: Job) -> Job:
        if job.name in self.jobs:
            raise ConfigError(f"the workflow declares the job {job.name} twice")
        made = {path: part for part in self.jobs.values() if part.part_of for path in part.members[0]["outputs"]}
        own = parts.share(job, made) if job.part_of else 1.0  # what joins the parts holds all trials
        asked = costs.memory(job, costs.of_job(job, self._known), own)
        self.jobs[job.name] = replace(job, memory_mb=asked)
        return self.jobs[job.name]

    def _study(self, study: str) -> Study:
        return read_study(study, self.source)

    def _code(self, kind: str, *roots: str) -> str:
        """The code version of a member: of its runner and of what it runs."""
        return self._versions.of(*roots, f"repdyn.pipeline.run.kinds.{kind}:run", ENTRY)

    def _simulation(self, study: str, name: str, variant: Mapping[str, Any]) -> Member:
        functions = self._study(study).experiments
        if name not in functions:
            raise ConfigError(f"{study} has no experiment {name!r}; it has {', '.join(functions)}")
        function = functions[name]
        label = "".join(_label(key, value) for key, value in variant.items())
        output = f"{study}/data/{name}/{label}.nc" if label else f"{study}/data/{name}.nc"
        member: Member = {
            "study": study,
            "function": function.path,
            "code": self._code("simulate", function.root),
            "seed": self.config.run.seed,
            "paper": paper_of(study, self.source),
            "settings": self._settings(study, function, variant),
            "arguments": dict(variant),
            "inputs": {read: self._input(study, read) for read in function.reads},
            "outputs": [output],
        }
        if "device" in function.parameters:
            member["device"] = self.config.run.device
        known = self._data.setdefault(study, {})
        if label:
            variants = known.get(name, {})
            known[name] = {**(variants if isinstance(variants, dict) else {}), label: output}
        else:
            known[name] = output
        return member

    def _shown(self, study: str, function: Function, kind: str, suffixes: Iterable[str]) -> Member:
        runner = {"figures": "draw", "tables": "tabulate"}[kind]
        return {
            "study": study,
            "function": function.path,
            "code": self._code(runner, function.root),
            "inputs": {name: self._input(study, name) for name in function.reads},
            "outputs": [f"{study}/{kind}/{function.name}.{suffix}" for suffix in suffixes],
        }

    def _input(self, study: str, name: str) -> str | dict[str, str]:
        known: Inputs = {IMAGES: f"data/{IMAGES}.nc", **self._data.get(study, {})}
        if name not in known:
            raise ConfigError(f"{study}: the dataset {name!r} is made by no job declared before; add it to a rule")
        return known[name]

    def _settings(self, study: str, function: Function, variant: Mapping[str, Any]) -> dict[str, Any]:
        """Sections of the study's settings by parameter: those whose model class, or a parent of it, annotates it.

        A parameter annotated by a parent gets the parent's knobs alone, so that a change of others concerns it not.

        Raises:
            ConfigError: no section is of that class, or several and none has the experiment's name.
        """
        sections: Settings = getattr(self.config, study)
        values, own = {}, None
        for parameter, annotation in function.parameters.items():
            if parameter in function.reads or parameter in OFFERED[1:]:
                continue
            models = sections_of(type(sections), function, annotation)
            names = list(models)
            if len(names) > 1 or (parameter == "settings" and not names):
                options = f"sections {', '.join(names)}" if names else "no section"
                raise ConfigError(f"{study}: {function.path} wants {parameter}: {annotation}; {options} of this class")
            if names:
                section = json.loads(canonical(getattr(sections, names[0])))
                values[parameter] = {key: section[key] for key in section if key in models[names[0]].model_fields}
                own = getattr(sections, names[0]) if parameter == "settings" else own
        entries = {
            parameter: _of_variant(own, annotation, variant)
            or _entries(sections, parameter, annotation, values.get("settings", {}))
            for parameter, annotation in function.parameters.items()
            if parameter not in values
        }
        return values | {parameter: entry for parameter, entry in entries.items() if entry is not None}


def sections_of(settings: type[Settings], function: Function, annotation: str) -> dict[str, type[Settings]]:
    """Sections whose model, or a parent of it, has the name that annotates a parameter, each with that model.

    Of several the one with the experiment's name, if there is one.
    """
    fields = {name: field.annotation for name, field in settings.model_fields.items()}
    models = {
        name: model
        for name, kind in fields.items()
        if isinstance(kind, type)
        for model in kind.__mro__
        if model.__name__ == annotation and issubclass(model, Settings)
    }
    return {function.name: models[function.name]} if function.name in models else models


def _of_variant(own: Settings | None, model: str, variant: Mapping[str, Any]) -> Any:
    """The entry of the experiment's own section that a variant is named by: `runs.high` for `{"run": "high"}`."""
    parts = [getattr(own, name) for name in type(own).model_fields] if own else []
    entries = ((part, value) for part in parts for value in variant.values() if value in _of_class(part, model))
    return next((json.loads(canonical(getattr(part, value))) for part, value in entries), None)


def _entries(sections: Settings, parameter: str, annotation: str, own: Mapping[str, Any]) -> Any:
    """Entries of a section of equal models, so that a change of one entry concerns its readers only.

    `networks: Mapping[str, Model]` gets those of the section `networks` that the experiment's own setting `rows` names,
    `default: Model` the entry `default` of any section; None where there is no such entry.
    """
    model = annotation.removeprefix("Mapping[str, ").removesuffix("]")
    for name in type(sections).model_fields:
        section = getattr(sections, name)
        entries = _of_class(section, model)
        if annotation == model and parameter in entries:
            return json.loads(canonical(getattr(section, parameter)))
        if annotation != model and parameter == name and entries:
            return {entry: json.loads(canonical(getattr(section, entry))) for entry in own.get("rows", sorted(entries))}
    return None


def _of_class(section: Any, model: str) -> set[str]:
    """Names of a section's entries whose class has this name; none where it is no section."""
    names = type(section).model_fields if isinstance(section, Settings) else {}
    return {name for name in names if type(getattr(section, name)).__name__ == model}


def _form(job: Job) -> dict[str, Any]:
    """Inputs, outputs and log of a job's rule."""
    return {"inputs": {"job": job.file, "data": job.inputs}, "outputs": job.outputs, "log": job.log}


def _label(key: str, value: object) -> str:
    """Name of a variant: the value, numbers after their key."""
    return f"{key}{value}" if isinstance(value, int) else str(value)


@cache
def paper_of(study: str, source: Path = SOURCE) -> str:
    """The paper's name, the constant PAPER of the study's settings; it is written into every dataset."""
    for _, path in modules(study, "settings", source):
        for node in statements(path):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAPER":
                return str(ast.literal_eval(node.value))
    raise ConfigError(f"{study}: no settings module defines PAPER")
