"""What the rules ask of Snakemake: time, GPUs, order, environments, groups, and what its own report shows of them."""

import json
import os
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

ENDS = ("images", "ledger", "manifest", "report")
MNIST = {"mnist_folder": "/nowhere", "split": "train", "mnist_mirrors": ["https://example.org/mnist"]}
KINDS = {"draw": "figures", "tabulate": "tables"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return copy_sources(tmp_path_factory.mktemp("asked") / "checkout")


@pytest.fixture(scope="module")
def jobs(folder):
    return declared(folder, SMOKE, config={"data": {"source": "digits", **MNIST}}, gpus=0)


@pytest.fixture(scope="module")
def on_gpu(folder):
    return declared(folder, SMOKE, config={"run": {"device": "cuda"}, "data": {"source": "mnist", **MNIST}}, gpus=1)


def kinds(jobs):
    return {job: json.loads(text)["kind"] for job, text in jobs.texts.items()}


def training(jobs):
    """Jobs that are given a device."""
    contents = {job: json.loads(text) for job, text in jobs.texts.items()}
    return {job for job, content in contents.items() if any("device" in member for member in content["members"])}


def of_all(jobs, what):
    return {job: asked[what] for job, asked in jobs.asked.items()}


def test_trainings_start_before_all_else(jobs):
    trains = training(jobs)
    assert len(trains) > 5
    assert of_all(jobs, "priority") == {job: 10 if job in trains else 0 for job in jobs.texts}


def test_a_job_has_eight_hours_to_train_ten_minutes_to_show_and_else_half_an_hour(jobs):
    """Where its study says no other time."""
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


def test_only_trainings_ask_for_a_gpu_and_its_environment(jobs, on_gpu):
    trains = training(jobs)
    assert set(of_all(jobs, "gpu").values()) == {0}
    assert set(of_all(jobs, "environment").values()) == {"repdyn.yaml"}
    assert of_all(on_gpu, "gpu") == {job: int(job in trains) for job in on_gpu.texts}
    environments = {job: "repdyn-cuda.yaml" if job in trains else "repdyn.yaml" for job in on_gpu.texts}
    assert of_all(on_gpu, "environment") == environments


def test_every_job_runs_in_the_same_container_on_one_core(jobs):
    assert set(of_all(jobs, "container").values()) == {"envs/repdyn.sif"}
    assert set(of_all(jobs, "threads").values()) == {1}


def test_what_a_study_shows_is_a_group_and_what_is_made_for_all_runs_at_home(jobs):
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


def test_snakemakes_report_takes_labels_and_captions_that_ours_left(folder, jobs):
    """Each file those of its own study, kind and name; the name alone before a report was made."""
    file = next(path for path in jobs.shown if "/figures/" in path)
    study, kind, name = file.removesuffix(".svg").split("/")[-3:]
    assert jobs.shown[file][2:] == ({"name": name}, "None")
    captions = folder / "results/smoke/report/captions"
    (captions / study / kind).mkdir(parents=True)
    (captions / study / kind / f"{name}.rst").write_text("What it shows.")
    labels = {"title": "A title", "claims": "1 of 2 hold"}
    (captions / "labels.json").write_text(json.dumps({f"{study}/{kind}/{name}": labels}))
    later = declared(folder, SMOKE, config={"data": {"source": "digits", **MNIST}})
    assert later.shown[file][2:] == (labels, f"{name}.rst")
    assert [path for path in later.shown if path != file and later.shown[path] != jobs.shown[path]] == []


def test_the_images_know_only_the_settings_of_their_source(jobs, on_gpu):
    """Split, folder and mirrors of MNIST are no settings of the digits, which come whole."""
    digits, mnist = (json.loads(run.texts["images"])["members"][0] for run in (jobs, on_gpu))
    own = ("source", *MNIST)
    assert {name: digits[name] for name in own} == {
        "source": "digits", "split": "test", "mnist_folder": None, "mnist_mirrors": [],
    }  # fmt: skip
    assert {name: mnist[name] for name in own} == {"source": "mnist"} | MNIST


def test_gpus_that_a_run_would_not_use_are_not_granted_in_silence(folder):
    with pytest.raises(RuntimeError, match=r"grants GPUs \(resource gpu = 1\), but run.device is cpu"):
        declared(folder, SMOKE, gpus=1)


def test_the_report_is_made_again_when_a_study_says_something_else_of_itself(jobs):
    (site,) = (json.loads(text)["members"][0] for text in jobs.texts.values() if json.loads(text)["kind"] == "site")
    assert set(site["declared"]) == set(STUDIES)
    for study, said in site["declared"].items():
        about = studies.declared()[study]
        assert [part for part in (about.title, about.explorer, about.opening) if str(part) not in said] == [], study


def test_the_ledger_is_held_to_the_verdicts_that_each_study_accepted(folder, jobs):
    """Their files are named, and an edit of one of them makes the ledger again."""
    (ledger,) = (json.loads(text)["members"][0] for text in jobs.texts.values() if json.loads(text)["kind"] == "ledger")
    paths = (folder / "src/repdyn").glob("*/verdicts.yaml")
    accepted = sorted(path.relative_to(folder).as_posix() for path in paths)
    assert sorted(ledger["expected"]) == accepted
    assert len(accepted) > 5
    digests = {path: sha256((folder / path).read_bytes()).hexdigest()[:16] for path in accepted}
    assert dict(line.rsplit(" ", 1) for line in ledger["texts"]) == digests


def test_the_ends_of_the_line_know_their_run_its_folders_and_who_made_what(jobs):
    contents = {job: json.loads(text) for job, text in jobs.texts.items()}
    ledger, manifest, site = (contents[job]["members"][0] for job in ("ledger", "manifest", "report"))
    assert ledger["run"] == "smoke"
    assert (manifest["logs"], manifest["workflow"], site["workflow"]) == ("logs/smoke/", ".", ".")
    config = configuration.load([ROOT / "config.yaml", ROOT / SMOKE], {"data": {"source": "digits", **MNIST}})
    assert manifest["config"] == json.loads(json.dumps(plain(config)))
    assert list(site["folders"].items()) == [(study, f"src/repdyn/{study}") for study in STUDIES]
    below = {job: [path.removeprefix("results/smoke/") for path in paths] for job, paths in jobs.outputs.items()}
    assert site["made"] == {job: paths for job, paths in below.items() if job != "report"}
    assert (ledger["outputs"], manifest["outputs"]) == (["claims.csv", "evidence.csv"], ["manifest.json"])
    assert site["outputs"] == [f"report/{name}" for name in (*FILES, *FOLDERS)]


def start_and_fail(workflow):
    """A run that forces a rule starts and fails: whether it drops what is kept of jobs, and what it says at the end."""
    from snakemake.settings.types import DAGSettings

    forced, other = (workflow.globals["JOBS"].jobs[name] for name in ("leaky_resnets/claims", "bn_mean_field/features"))
    for job in (forced, other):
        Path(f"{job.log}.kept/member").mkdir(parents=True)
        Path(job.log).write_text(f"error: no room for {job.name}\n")
    os.utime(other.log, (1, 1))  # of an earlier run
    workflow.dag_settings = DAGSettings(forcerun={forced.rule})
    workflow._onstart("")
    with redirect_stderr(StringIO()) as said:
        workflow._onerror("")
    dropped = [not Path(f"{job.log}.kept").exists() for job in (forced, other)]
    return dropped, [Path(f"{job.log}.forced").exists() for job in (forced, other)], said.getvalue()


def test_a_run_drops_what_is_kept_of_forced_jobs_and_ends_with_those_that_failed_in_it(folder):
    dropped, forced, said = declared(folder, SMOKE, told=start_and_fail)
    assert (dropped, forced) == ([True, False], [True, False])
    assert said.startswith("1 of ")
    assert "error: no room for leaky_resnets/claims\n" in said
    assert "bn_mean_field" not in said


def test_a_run_without_its_images_does_not_start(folder):
    nowhere = {"data": {"source": "mnist", **MNIST}}
    with pytest.raises(RuntimeError, match=r"WorkflowError: .*/nowhere"):
        declared(folder, SMOKE, config=nowhere, told=lambda workflow: workflow._onstart(""))
