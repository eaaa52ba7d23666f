"""Jobs, their records and what is kept of them, in threes: several members, inputs, outputs and runs, none alike."""

import json
import os
import time
from pathlib import Path

import pytest

from repdyn.base.errors import RepdynError
from repdyn.base.files import sha256
from repdyn.pipeline.run.declare import jobs
from repdyn.pipeline.run.declare.jobs import SOURCES, Job, Parted
from repdyn.pipeline.run.execute import entry, records
from repdyn.pipeline.run.execute.kept import Kept, forget
from repdyn.pipeline.run.execute.records import Spared

BEGAN = "2020-01-01T00:00:00.000+00:00"
MEMBERS = (
    {"code": "1", "inputs": {"b": "s/b.nc", "runs": {"y": "s/y.nc", "x": "s/x.nc"}}, "outputs": ["s/out2.nc"]},
    {"code": "2", "inputs": {"x": "s/x.nc", "a": "data/a.nc"}, "outputs": ["s/out3.csv", "s/out1.csv"]},
    {"code": "3", "inputs": {}, "outputs": ["s/out0.nc"]},
)
READ, MADE = ["s/b.nc", "s/y.nc", "s/x.nc", "data/a.nc"], ["s/out2.nc", "s/out3.csv", "s/out1.csv", "s/out0.nc"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def below(*names):
    return [f"results/mine/{name}" for name in names]


def fill(*names):
    """Files of a run, each with words of its own."""
    for path in map(Path, below(*names)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{path} of itself")


def ends(*sources):
    return [{"source": source, "split": split, "outputs": [], "inputs": {}} for source, split in sources]


def test_a_job_reads_each_file_once_and_makes_those_of_all_its_members():
    job = Job("mine", "s/made", "simulate", MEMBERS)
    assert (job.inputs, job.outputs) == (below(*READ), below(*MADE))
    assert list(jobs.input_paths(MEMBERS)) == [*READ[:3], "s/x.nc", "data/a.nc"]
    waits = Parted("mine", "s/made", "simulate", MEMBERS, after=("s/parts/2.nc", "s/parts/1.nc"))
    assert waits.inputs == below(*READ, "s/parts/2.nc", "s/parts/1.nc")
    assert [jobs.is_part(one) for one in (job, waits, Parted("mine", "s/p", "simulate", [], part_of="s/made"))] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("members", "images"),
    [
        ([], SOURCES["digits"]["test"]),
        ([[{"outputs": []}], ends(("mnist", "train"))], (60_000, 784)),
        ([ends(("mnist", "both")), ends(("digits", "test"))], (70_000, 784)),
        ([MEMBERS, [*MEMBERS, *ends(("mnist", "test"))]], (10_000, 784)),
    ],
)
def test_images_of_a_run_are_those_that_its_first_job_with_a_source_saves(members, images):
    assert jobs.images_of(Job("mine", f"s/{k}", "images", own) for k, own in enumerate(members)) == images


def test_of_the_job_files_those_alone_are_dated_back_whose_content_has_run(here):
    """Of three jobs one has run as it is, one with another content, one never."""
    declared = [Job("mine", f"s/{name}", "simulate", [{"code": name}], memory_mb=k) for k, name in enumerate("cab", 5)]
    content = {job.name: json.loads(job.text()) for job in declared}
    finished = {"s/a": {"job": content["s/a"], "began": BEGAN}, "s/b": {"job": content["s/c"], "began": BEGAN}}
    jobs.write_all(declared, finished)
    old = {name: Path(f"logs/mine/s/{name}.job.json").stat().st_mtime < time.time() - 1e8 for name in "abc"}
    assert old == {"a": True, "b": False, "c": False}
    assert [(job.name, job.memory_mb) for job in jobs.load_all("mine")] == [("s/c", 5), ("s/a", 6), ("s/b", 7)]
    os.utime("logs/mine/s/a.job.json", (1, 1))  # older than the job began: it stays so
    jobs.write_all(declared, finished)
    assert Path("logs/mine/s/a.job.json").stat().st_mtime == 1


def test_the_command_runs_the_job_file_with_the_threads_that_it_names(monkeypatch):
    asked = []
    monkeypatch.setattr(entry, "main", lambda *told: asked.append(told))
    for words in (["a.job.json"], ["b.job.json", "--threads", "3"], ["--threads", "2", "logs/c.job.json"]):
        entry.run(words)
    assert asked == [(Path("a.job.json"), None), (Path("b.job.json"), 3), (Path("logs/c.job.json"), 2)]


# Records


def test_a_record_has_the_digest_of_every_file_and_what_was_spared(here):
    fill(*READ, *MADE)
    job = Job("mine", "s/made", "simulate", MEMBERS)
    with records.recorded(job) as spared:
        assert json.loads(Path(f"{job.log}.running").read_text())["pid"] == os.getpid()
        spared.seconds, spared.trials = 1e6 + 0.257, 42
    (record,) = records.read(Path("logs/mine"))
    assert record["inputs"] == {path: sha256(path) for path in below(*READ)}
    assert record["outputs"] == {path: sha256(path) for path in below(*MADE)}
    assert (record["spared_cpu_seconds"], record["trials_read"], record["log"]) == (1000000.26, 42, "s/made")
    assert 1e6 < record["cpu_seconds"] < 1.1e6
    assert 0 <= record["wall_seconds"] < 1000
    assert record["job"] == json.loads(job.text())


def test_a_job_that_ends_with_an_error_leaves_neither_record_nor_mark(here):
    job = Job("mine", "s/made", "simulate", [])
    with pytest.raises(RepdynError, match="no room"), records.recorded(job):
        raise RepdynError("no room")
    assert [path for path in here.rglob("*") if path.is_file()] == []


def test_records_of_a_run_are_all_but_the_damaged_ones(here):
    for name in ("s/two-b", "images", "s/deep/one", "t/bad", "t/worse"):
        file = Path(f"logs/mine/{name}.log.cost.json")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text({"t/bad": "{half", "t/worse": "3"}.get(name, json.dumps({"of": name, "log": "another"})))
    Path("logs/mine/s/other.json").write_text("{}")
    Path("logs/other/s").mkdir(parents=True)
    Path("logs/other/s/x.log.cost.json").write_text("{}")
    names = ["images", "s/deep/one", "s/two-b"]
    assert records.read(Path("logs/mine")) == [{"of": name, "log": name} for name in names]
    assert records.of_run("mine") == records.of_run("mine", here) == records.read(Path("logs/mine"))
    assert records.of_run("gone", here) == []


def test_each_file_is_of_the_job_that_made_it_last():
    told = [("2021", "ab"), ("2023", "cb"), ("2022", "abd"), ("", "e")]
    made = [
        {"finished": when, "outputs": dict.fromkeys(files, "digest"), "n": n} for n, (when, files) in enumerate(told)
    ]
    del made[3]["finished"]
    found = records.by_output([*made, {"finished": "2024"}])
    assert {file: record["n"] for file, record in found.items()} == {"a": 2, "b": 1, "c": 1, "d": 2, "e": 3}


# What is kept


def run_all(job, seen):
    """Runs the members of a job as Snakemake does; the seconds that were spared."""

    def run(member, results, trials):
        seen.append((member["code"], trials is not None))
        fill(*member["outputs"])

    for path in job.outputs:
        Path(path).unlink(missing_ok=True)
    spared = Spared()
    entry.run_members(job, Path(job.file), run, spared)
    assert [path for path in job.outputs if Path(path).read_text() != f"{path} of itself"] == []
    return spared


def test_of_three_members_those_alone_run_again_whose_inputs_changed(here):
    fill(*READ)
    seen = []
    job = Job("mine", "s/made", "simulate", MEMBERS)
    for changed, again in ((None, "123"), (None, ""), ("s/x.nc", "12"), ("s/y.nc", "1"), ("data/a.nc", "2")):
        seen.clear()
        if changed:
            Path("results/mine", changed).write_text(f"another, before {again}")
        run_all(job, seen)
        assert seen == [(code, True) for code in again], changed
    assert len(list(Kept(Path(job.log)).folder.iterdir())) == 3  # of former contents nothing is kept


def test_jobs_for_all_studies_run_again_without_trials_and_nothing_of_them_is_kept(here):
    fill(*READ)
    seen = []
    job = Job("mine", "ledger", "ledger", MEMBERS)
    for _ in range(2):
        assert run_all(job, seen) == Spared(0.0, 0)
    assert seen == [(code, False) for code in "123123"]
    assert not Kept(Path(job.log)).folder.exists()


def test_what_is_kept_of_forced_jobs_alone_is_forgotten(here):
    made = [Job("mine", f"s/{name}", "simulate", [MEMBERS[k]]) for k, name in enumerate(("one", "two", "three"))]
    for job in made:
        Kept(Path(job.log)).folder.mkdir(parents=True)
    forget(made, {"s_one", *made[2].outputs})
    assert [Kept(Path(job.log)).folder.exists() for job in made] == [False, True, False]
