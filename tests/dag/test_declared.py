"""Declarations of the workflow: every function in a job, every task with the version of its code."""

import ast
import json
import os
import re
from contextlib import redirect_stderr
from hashlib import sha256
from io import StringIO
from pathlib import Path

import pytest
from tests.conftest import ROOT, SMOKE
from tests.dag.declared import copy_sources, declared

from repdyn.base.settings import plain
from repdyn.pipeline import studies
from repdyn.pipeline.config import configuration
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.report.texts import FILES, FOLDERS
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.versions.fingerprint import code_version

ENTRY = "repdyn.pipeline.run.execute.entry:main"
ENDS = ("images", "ledger", "manifest", "report")
MNIST = {"mnist_folder": "/nowhere", "split": "train", "mnist_mirrors": ["https://example.org/mnist"]}
KINDS = {"draw": "figures", "tabulate": "tables"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("declared") / "checkout")


@pytest.fixture(scope="module")
def jobs(folder):
    return declared(folder, SMOKE, gpus=0)


@pytest.fixture(scope="module")
def on_gpu(folder):
    """The jobs with a GPU, the images of MNIST and another seed."""
    config = {"run": {"device": "cuda", "seed": 2}, "data": {"source": "mnist", **MNIST}}
    return declared(folder, SMOKE, config=config, gpus=1)


def members(jobs, kind):
    contents = (json.loads(text) for text in jobs.texts.values())
    return [member for content in contents if content["kind"] == kind for member in content["members"]]


def test_every_experiment_figure_table_and_claim_is_in_a_job(jobs):
    missing = []
    for kind, part in (("simulate", "experiments"), ("draw", "figures"), ("tabulate", "tables")):
        run = {(member["study"], member["function"]) for member in members(jobs, kind)}
        functions = [f for study in STUDIES for f in getattr(read_study(study), part).values()]
        missing += [function.root for function in functions if (function.study, function.path) not in run]
    decided = {id for member in members(jobs, "decide") for id in member["claims"]}
    missing += [id for study in STUDIES for id in read_study(study).claims if id not in decided]
    assert missing == []


def test_each_task_has_the_code_version_of_its_function_and_runner(jobs):
    wrong = []
    for kind in ("simulate", "draw", "tabulate"):
        runner = f"repdyn.pipeline.run.kinds.{kind}:run"
        for member in members(jobs, kind)[::7]:
            root = f"repdyn.{member['study']}.{member['function']}"
            if member["code"] != code_version(root, runner, ENTRY):
                wrong.append(root)
    assert wrong == []


def test_every_file_has_one_producer(jobs):
    outputs = [path for paths in jobs.outputs.values() for path in paths]
    assert len(outputs) == len(set(outputs))
    assert {path for paths in jobs.inputs.values() for path in paths} <= set(outputs)


def test_rule_inputs_outputs_and_logs_equal_those_of_its_job(jobs):
    """Each belongs to one rule and one job: Snakemake's rule agrees with the job file."""
    wrong = []
    for job, rules in jobs.rules.items():
        file, log = jobs.files[job]
        said = sorted([file, *jobs.inputs[job]]), sorted(jobs.outputs[job]), [log]
        if [tuple(parts) for _, *parts in rules] != [said]:
            wrong.append(job)
    assert wrong == []
    assert len({name for rules in jobs.rules.values() for name, *_ in rules}) > 50


def test_retried_job_requests_twice_the_memory(jobs, on_gpu):
    """Jobs that train request 2000 MB more, and twice that at the second attempt, with or without CUDA."""
    for memory in (jobs.memory, on_gpu.memory):
        assert [job for job, (first, second) in memory.items() if second != 2 * first] == []
    assert {on_gpu.memory[job][0] - first for job, (first, _) in jobs.memory.items()} == {0, 2000}


def test_manifest_and_report_depend_on_all_products(jobs):
    """The ledger every claim, the manifest every product, the report every figure, table, dataset and number."""
    kinds = {job: json.loads(text)["kind"] for job, text in jobs.texts.items()}
    products = {job: set(jobs.outputs[job]) for job in kinds}
    of = {kind: set().union(*(products[job] for job in kinds if kinds[job] == kind)) for kind in set(kinds.values())}
    ends = {
        kind: set(jobs.inputs[job]) for kind in ("ledger", "manifest", "site") for job in kinds if kinds[job] == kind
    }
    shown = of["simulate"] | of["images"] | of["draw"] | of["tabulate"]
    assert ends["ledger"] == of["decide"]
    assert ends["manifest"] >= shown | of["decide"]
    assert ends["site"] == shown | of["ledger"] | of["manifest"]
    assert set(jobs.wanted) == set().union(*products.values())


def test_report_names_every_text_that_it_shows(folder, jobs):
    """An edit of one of them updates the report: each is in its job file with a digest."""
    (site,) = (json.loads(text) for text in jobs.texts.values() if json.loads(text)["kind"] == "site")
    named = {line.rpartition(" ")[0] for member in site["members"] for line in member["texts"]}
    own = ("page.md", "verdicts.yaml", "values/sources.yaml", "explorer.js", "opening.js")
    shown = [f"src/repdyn/{study}/{name}" for study in STUDIES for name in own] + ["workflow/settings_sources.yaml"]
    folders = ["reference", "src/repdyn/pipeline/report/page", "src/repdyn/base/site.css"]
    folders += [f"src/repdyn/{study}/{part}" for study in STUDIES for part in ("claims", "figures", "tables")]
    paths = [path for name in folders for path in (folder / name, *(folder / name).rglob("*"), folder / f"{name}.py")]
    shown += [
        path.relative_to(folder).as_posix() for path in paths if path.is_file() and "__pycache__" not in path.parts
    ]
    assert [path for path in shown if (folder / path).is_file() and path not in named] == []
    digests = dict(line.rsplit(" ", 1) for member in site["members"] for line in member["texts"])
    told = {path: sha256((folder / path).read_bytes()).hexdigest()[:16] for path in shown if (folder / path).is_file()}
    assert {path: digests[path] for path in told} == told
    assert sum((folder / path).is_file() for path in shown) > 30


def test_default_run_has_fewer_than_ninety_jobs(jobs):
    assert len(jobs.texts) < 90


def test_workflow_names_shadow_no_snakemake_names():
    """The Snakefile is executed among the names of snakemake.workflow."""
    import snakemake.api  # first, since the two import each other
    import snakemake.workflow

    text = (ROOT / "src/repdyn/pipeline/rules/common.smk").read_text().split("wildcard_constraints:")[0]
    tree = ast.parse(text)
    names = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert not names & set(vars(snakemake.workflow)) - {"Path"}


# Requests of the rules


def kinds(jobs):
    return {job: json.loads(text)["kind"] for job, text in jobs.texts.items()}


def training(jobs):
    """Jobs that are given a device."""
    contents = {job: json.loads(text) for job, text in jobs.texts.items()}
    return {job for job, content in contents.items() if any("device" in member for member in content["members"])}


def of_all(jobs, what):
    return {job: asked[what] for job, asked in jobs.asked.items()}


def test_trainings_have_the_highest_priority(jobs):
    trains = training(jobs)
    assert len(trains) > 5
    assert of_all(jobs, "priority") == {job: 10 if job in trains else 0 for job in jobs.texts}


def test_time_limits_depend_on_the_kind_of_job(jobs):
    """Unless its study declares another time."""
    known, trains = kinds(jobs), training(jobs)
    said = {
        f"{study}/{part.name}": part.resources.minutes
        for study in STUDIES
        for part in studies.declared()[study].jobs
        if part.resources.minutes
    }
    usual = {job: 480 if job in trains else 10 if known[job] in (*KINDS, "decide") else 30 for job in jobs.texts}
    parts = {job: job.partition(".")[0].rpartition("-")[0] for job in jobs.texts}
    wanted = {job: said.get(job, said.get(parts[job], usual[job])) for job in jobs.texts}
    assert len(said) > 2
    assert of_all(jobs, "minutes") == wanted


def test_only_trainings_request_a_gpu_and_its_environment(jobs, on_gpu):
    trains = training(jobs)
    assert set(of_all(jobs, "gpu").values()) == {0}
    assert set(of_all(jobs, "environment").values()) == {"repdyn.yaml"}
    assert of_all(on_gpu, "gpu") == {job: int(job in trains) for job in on_gpu.texts}
    environments = {job: "repdyn-cuda.yaml" if job in trains else "repdyn.yaml" for job in on_gpu.texts}
    assert of_all(on_gpu, "environment") == environments


def test_every_job_runs_in_the_same_container_on_one_core(jobs):
    assert set(of_all(jobs, "container").values()) == {"envs/repdyn.sif"}
    assert set(of_all(jobs, "threads").values()) == {1}


def test_short_jobs_are_grouped_and_shared_jobs_are_local(jobs):
    known = kinds(jobs)
    shown = {job: job.partition("/")[0] for job in known if known[job] in (*KINDS, "decide")}
    groups = {job: (f"{shown[job]}_shown", "shown") if job in shown else (None, None) for job in known}
    assert of_all(jobs, "groups") == groups
    assert of_all(jobs, "local") == {job: job in ENDS for job in known}


def test_snakemakes_report_lists_figures_and_tables_under_their_study(jobs):
    known = kinds(jobs)
    own = {
        path: (job.partition("/")[0], KINDS[kind])
        for job, kind in known.items()
        for path in jobs.outputs[job]
        if kind in KINDS and path.endswith({"draw": ".svg", "tabulate": ".csv"}[kind])
    }
    listed = {path: entry[:2] for path, entry in jobs.shown.items()}
    assert listed == own | {"results/smoke/claims.csv": ("claims", None)}
    assert jobs.shown["results/smoke/claims.csv"][3] == "ledger.rst"


def test_mnist_job_depends_on_the_source_settings(jobs, on_gpu):
    digits, mnist = (json.loads(run.texts["images"])["members"][0] for run in (jobs, on_gpu))
    assert {name: mnist[name] for name in ("source", *MNIST)} == {"source": "mnist"} | MNIST
    assert (digits["source"], digits["mnist_folder"], digits["mnist_mirrors"]) == ("digits", None, [])


def test_unused_gpus_are_reported(folder):
    with pytest.raises(RuntimeError, match=r"gpu = 1.*run\.device is cpu"):
        declared(folder, SMOKE, gpus=1)


def test_manifest_and_report_know_their_run_and_its_jobs(jobs):
    contents = {job: json.loads(text) for job, text in jobs.texts.items()}
    ledger, manifest, site = (contents[job]["members"][0] for job in ("ledger", "manifest", "report"))
    assert ledger["run"] == "smoke"
    assert (manifest["logs"], manifest["workflow"], site["workflow"]) == ("logs/smoke/", ".", ".")
    config = configuration.load([ROOT / "config.yaml", ROOT / SMOKE])
    assert manifest["config"] == json.loads(json.dumps(plain(config)))
    below = {job: [path.removeprefix("results/smoke/") for path in paths] for job, paths in jobs.outputs.items()}
    assert site["made"] == {job: paths for job, paths in below.items() if job != "report"}
    assert (ledger["outputs"], manifest["outputs"]) == (["claims.csv", "evidence.csv"], ["manifest.json"])
    assert site["outputs"] == [f"report/{name}" for name in (*FILES, *FOLDERS)]


def rule_lines(workflow):
    return {rule.name: rule.docstring for rule in workflow.rules}


def test_rules_are_named_by_the_path_of_what_they_make_and_have_a_line_on_it(folder, jobs):
    names = {job: rules[0][0] for job, rules in jobs.rules.items()}
    of_studies = {job: name for job, name in names.items() if "/" in job}
    paths = {job: Path(jobs.outputs[job][0]).with_suffix("").parts[2:4] for job in of_studies}
    assert [job for job, name in of_studies.items() if not name.startswith("_".join(paths[job]))] == []
    assert {names[end] for end in ENDS} == {"data_images", "claims", "manifest", "report"}
    lines = declared(folder, SMOKE, told=rule_lines)
    assert set(lines) == {"all", *STUDIES, *names.values()}
    assert [name for name, line in lines.items() if not re.fullmatch(r"[A-Z].+\.", line or "")] == []


def start_and_fail(workflow):
    """A run that forces a rule starts and fails: which jobs read no finished trials, and what it says at the end."""
    from snakemake.settings.types import DAGSettings

    forced, other = (workflow.globals["JOBS"].jobs[name] for name in ("leaky_resnets/claims", "bn_mean_field/features"))
    for job in (forced, other):
        Path(job.log).parent.mkdir(parents=True, exist_ok=True)
        Path(job.log).write_text(f"error: no room for {job.name}\n")
    os.utime(other.log, (1, 1))  # of an earlier run
    workflow.dag_settings = DAGSettings(forcerun={forced.rule})
    workflow._onstart("")
    with redirect_stderr(StringIO()) as said:
        workflow._onerror("")
    return [Path(f"{job.log}.forced").exists() for job in (forced, other)], said.getvalue()


def test_run_reads_no_trials_of_forced_jobs_and_ends_with_those_that_failed_in_it(folder):
    forced, said = declared(folder, SMOKE, told=start_and_fail)
    assert forced == [True, False]
    assert said.startswith("1 of ")
    assert "error: no room for leaky_resnets/claims\n" in said
    assert "bn_mean_field" not in said


def test_run_without_its_images_does_not_start(folder):
    nowhere = {"data": {"source": "mnist", **MNIST}}
    with pytest.raises(RuntimeError, match=r"WorkflowError: .*/nowhere"):
        declared(folder, SMOKE, config=nowhere, told=lambda workflow: workflow._onstart(""))
