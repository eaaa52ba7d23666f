"""`repdyn plan` and `repdyn dev costs`: sums per study, what a run took against its plan, where costs are kept."""

import json
from pathlib import Path

import pytest
from tests.conftest import ROOT, SMOKE
from tests.dag.declared import copy_sources, declared
from tests.pipeline.test_costs import HEAD, job, record

from repdyn.base.errors import DataError
from repdyn.pipeline.ask import plan, verify, workflow
from repdyn.pipeline.run.declare import costs
from repdyn.pipeline.run.declare.jobs import Job

JOBS = [  # name, what it reads, CPU seconds, MB, whether these are recorded
    ("b/fit", ["b/train"], 300.0, 1200.0, False),
    ("images", [], 24.0, 250.0, True),
    ("b/train", ["images"], 600.0, 900.0, True),
    ("a/one", [], 120.0, 400.0, True),
    ("manifest", ["b/fit", "a/two"], 6.0, 100.0, True),
    ("c/new", [], None, None, None),
    ("a/two", [], 180.0, 700.0, False),
    ("a/three", [], None, None, None),
    ("b/draw", ["b/fit"], 36.0, 300.0, True),
]


def test_plan_lists_studies_and_shared_jobs():
    """On two cores the chain of 960 s determines the time: 1266 s are 65.9 % of twice as long."""
    jobs = []
    for name, reads, *cost in JOBS:
        member = {"inputs": {read: f"{read}.nc" for read in reads}, "outputs": [f"{name}.nc"]}
        jobs.append((Job("mine", name, "k", [member]), None if cost[0] is None else plan.Cost(*cost)))
    lines = plan.show(jobs, "snakemake -- all", [1, 2, 64]).splitlines()
    rows = [line.split() for line in lines[3:8]]
    assert [row[:1] for row in rows[:3]] == [["a"], ["b"], ["c"]]  # shared jobs and the sum come last
    assert [[word for word in row if word.replace(".", "").isdigit()] for row in rows] == [
        ["3", "5.0", "700", "1", "1"],  # jobs, core-minutes, MB of the largest, estimated, unknown
        ["3", "15.6", "1200", "1"],
        ["1", "0.0", "0", "1"],
        ["2", "0.5", "250"],
        ["9", "21.1", "1200", "2", "2"],
    ]
    assert [line.split()[:3] for line in lines[10:13]] == [
        ["1", "21.1", "100"],
        ["2", "16.0", "65.9"],
        ["64", "16.0", "2.1"],
    ]
    path = next(line for line in lines if "b/draw" in line)
    assert [path.index(name) for name in ("images", "b/train", "b/fit", "b/draw")] == sorted(
        path.index(name) for name in ("images", "b/train", "b/fit", "b/draw")
    )


def finish(name, seconds, output, ran=None):
    """Writes the record of a job of the run `smoke`."""
    Path(output).write_text("")
    content = json.loads((ran or job(a=400)).text())
    about = {"job": content, "cpu_seconds": seconds, "peak_memory_mb": 200.5, "finished": "2"}
    path = Path(f"logs/smoke/{name}.log.cost.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(about | {"outputs": {output: "digest"}}))


def test_costs_of_a_run_replace_its_former_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("workflow").mkdir()
    file = record(Path("workflow"), "smoke,s/gone,1.0,1,", "default,s/train,50.0,310.0,4000")
    with pytest.raises(DataError, match="logs/smoke"):
        plan.keep("smoke", tmp_path)
    finish("s/train", 9.5, "out.nc")
    finish("s/former", 9.5, "gone.nc")
    Path("gone.nc").unlink()
    assert plan.keep("smoke", tmp_path) == 1
    assert file.read_text().splitlines() == [HEAD, "default,s/train,50.0,310.0,4000", "smoke,s/train,9.5,200.5,400"]


@pytest.mark.parametrize(("name", "folder"), [("s/train", "home"), ("s-images", "workflow"), ("other/x", "workflow")])
def test_costs_are_stored_in_the_study_folder_and_shared_ones_in_workflow(name, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("repdyn.pipeline.studies.folders", lambda: {"s": tmp_path / "home"})
    for place in ("home", "workflow"):
        Path(place).mkdir()
    finish(name, 9.5, "out.nc")
    assert plan.keep("smoke", tmp_path) == 1
    assert [place for place in ("home", "workflow") if Path(place, "costs.csv").is_file()] == [folder]


def test_jobs_with_costs_far_from_the_plan_are_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("much", "more", "as_planned", "less", "little")
    file = record(tmp_path, *(f"smoke,s/{name},30,310.0,400" for name in names))
    for name, seconds in zip((*names, "a_new"), (46.0, 44.0, 30.0, 21.0, 19.0, 5.0), strict=True):
        finish(f"s/{name}", seconds, f"{name}.nc")
    head, *beyond = plan.missed("smoke", [file]).splitlines()
    assert "2.5" in head and "2.7" in head  # noqa: PT018 (minutes planned and taken)
    assert [line.split(":")[0].strip() for line in beyond] == ["s/little", "s/much"]
    with pytest.raises(DataError, match="logs/default"):
        plan.missed("default", [file])


# The real workflow


@pytest.mark.slow
def test_every_job_of_the_smoke_scale_is_recorded(tmp_path):
    names = set(declared(copy_sources(tmp_path / "checkout"), SMOKE).texts)
    recorded = {row["job"] for file in costs.files(ROOT) for row in costs.rows(file) if row["run"] == "smoke"}
    assert names == recorded, "after a finished smoke run: python -m repdyn dev costs smoke"


@pytest.mark.slow
def test_nothing_remains_after_a_finished_run(finished, monkeypatch):
    monkeypatch.chdir(finished)
    jobs = workflow.jobs(finished, ["--configfile", SMOKE])
    assert verify.due(jobs) == []
    Path("results/smoke/report/index.html").unlink()
    assert [job.name for job in verify.due(jobs)] == ["report"]
