"""Job files, skipped unchanged tasks, records of jobs, the command that runs one."""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import ROOT
from tests.pipeline import jobs_for_tests
from tests.pipeline.jobs_for_tests import STUDY

from repdyn.__main__ import main
from repdyn.base import datasets
from repdyn.base.errors import ConfigError, DataError
from repdyn.base.files import sha256
from repdyn.pipeline.run.declare import jobs
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.execute import entry, records
from repdyn.pipeline.run.execute.kept import Kept, forget, member_seconds
from repdyn.pipeline.run.execute.records import Spared
from repdyn.pipeline.run.kinds import simulate
from repdyn.pipeline.run.machine import environment

RESULTS = Path("results/mine")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Job files


def test_job_file_round_trips_and_does_not_contain_the_run_name(here):
    file = jobs_for_tests.write(here, jobs_for_tests.member(), jobs_for_tests.gap())
    job = jobs.read(file)
    assert (job.run, job.name, job.kind, job.study, job.threads) == ("mine", f"{STUDY}/made", "simulate", STUDY, 1)
    assert job.inputs == ["results/mine/data/images.nc"]
    assert job.outputs == [
        f"results/mine/{STUDY}/data/{name}.nc" for name in ("recentering_depth", "orthogonality_gap")
    ]
    assert job.text() == file.read_text()
    first, other = (Job(run, "s/a", "simulate", [jobs_for_tests.gap() | {"paper": "Müller"}]) for run in ("one", "two"))
    assert first.text() == other.text()
    assert "Müller" in first.text()
    assert first.file != other.file


@pytest.mark.parametrize("text", ["{bad", "[]", '{"job": "s/a"}', "3", None])
def test_damaged_and_missing_job_files_are_rejected(here, text):
    file = jobs_for_tests.write(here)
    file.write_text(text) if text else file.unlink()
    with pytest.raises(DataError, match=r"made.job.json"):
        jobs.read(file)


def test_results_are_next_to_the_logs_in_any_folder(here):
    assert jobs.results_of(Path("logs/mine/s/a.job.json")) == RESULTS
    assert jobs.results_of(here / "logs/mine/a.job.json") == here / "results/mine"
    assert jobs.results_of(here / "logs/of/logs/mine/s/a.job.json") == here / "logs/of/results/mine"
    with pytest.raises(DataError, match="elsewhere"):
        jobs.run_of(Path("/elsewhere/a.job.json"))


def age(name):
    return Path(f"logs/mine/{name}.job.json").stat().st_mtime


def write(*names, finished=(), **changes):
    declared = [Job("mine", name, "simulate", [jobs_for_tests.gap(**changes)], memory_mb=7) for name in names]
    began = "2020-01-01T00:00:00.000+00:00"
    ran = {job.name: {"job": json.loads(job.text()), "began": began} for job in declared if job.name in finished}
    jobs.write_all(declared, ran)
    return declared


def test_job_files_are_written_only_if_changed(here):
    names = ("s/a", "s/b")
    write(*names)
    for name in names:
        os.utime(f"logs/mine/{name}.job.json", (1, 1))
    write(*names)
    assert {age(name) for name in names} == {1}
    write(*names, code="another")
    assert min(age(name) for name in names) > 1


def test_job_file_is_newer_than_outputs_only_if_changed(here):
    """Snakemake runs a job again if an input is newer."""
    write("s/a", code="new")
    (ran,) = write("s/a", finished=("s/a",))  # reverted: its record has the same content again
    assert age("s/a") < time.time() - 1e8
    (edited,) = write("s/a", code="new")
    assert age("s/a") > time.time() - 1e8
    outputs_written = time.time() - 1
    record = {"job": json.loads(ran.text()), "began": "2020-01-01T00:00:00.000+00:00"}
    for _ in range(2):  # the file is new, then unchanged
        jobs.write_all([edited], {"s/a": record})
        assert age("s/a") > outputs_written


def test_index_has_all_current_jobs(here):
    write("s/a", "s/b", "s/c")
    write("s/c", "s/a")
    assert [(job.name, job.memory_mb) for job in jobs.load_all("mine")] == [("s/c", 7), ("s/a", 7)]
    with pytest.raises(DataError, match=r"logs/other/jobs.json"):
        jobs.load_all("other")


def test_unwritable_folder_is_reported(here):
    Path("logs").write_text("a file")
    with pytest.raises(ConfigError, match=r"logs/mine/s/a.job.json"):
        write("s/a")


# The command that runs a job


def test_job_runs_from_its_file_and_writes_a_record(here, monkeypatch):
    compiled, threads, pin = [], [], entry.pin_threads
    monkeypatch.setattr(entry, "pin_threads", lambda count: threads.append(count) or pin(count))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(entry, "compiled_code", lambda source: compiled.append(source) or Path("cache"))
    jobs_for_tests.results(here)
    file = jobs_for_tests.write(here, jobs_for_tests.member(), jobs_for_tests.gap())
    entry.main(file)
    record = jobs_for_tests.record(here)
    assert record["job"] == json.loads(file.read_text())
    images = "results/mine/data/images.nc"
    assert record["inputs"] == {images: sha256(images)}
    outputs = [member["outputs"][0] for member in (jobs_for_tests.member(), jobs_for_tests.gap())]
    assert record["outputs"] == {str(RESULTS / path): sha256(RESULTS / path) for path in outputs}
    assert record["cpu_seconds"] > 0
    assert 20 < record["peak_memory_mb"] < 100_000
    assert record["began"] <= record["finished"]
    assert not list(here.rglob("*.running"))
    assert (threads, compiled) == ([1], [ROOT / "src"])
    assert os.environ["NUMBA_CACHE_DIR"] == str(here / "cache")


def test_failed_job_prints_one_line_and_leaves_no_record(here, capsys):
    assert main(["run", str(jobs_for_tests.write(here, jobs_for_tests.member()))]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "results/mine/data/images.nc" in line
    assert not [*here.rglob("*.cost.json"), *here.rglob("*.running")]


# Unchanged tasks


@pytest.fixture
def ran(here):
    """Runs a job of some tasks; returns the names of those that ran."""
    jobs_for_tests.results(here)
    seen = []

    def watched(member, results, trials):
        seen.append(Path(member["outputs"][0]).stem)
        return simulate.run(member, results, trials)

    def ran(*members):
        seen.clear()
        file = jobs_for_tests.write(here, *members)
        for member in members:  # as Snakemake does
            (RESULTS / member["outputs"][0]).unlink(missing_ok=True)
        entry.run_members(jobs.read(file), file, watched, Spared())
        assert all((RESULTS / member["outputs"][0]).is_file() for member in members)
        return list(seen)

    return ran


def test_unchanged_tasks_are_not_run_again(ran, here, monkeypatch):
    depth, gap = jobs_for_tests.member, jobs_for_tests.gap
    assert ran(depth(), gap()) == ["recentering_depth", "orthogonality_gap"]
    assert ran(depth(), gap()) == []
    assert ran(depth(code="new"), gap()) == ["recentering_depth"]
    assert ran(depth(code="new"), gap(seed=9)) == ["orthogonality_gap"]
    assert ran(gap(seed=9)) == []
    assert ran(depth(code="new"), gap(seed=9)) == ["recentering_depth"]  # removed by the previous run
    datasets.write(jobs_for_tests.images(5), RESULTS / "data/images.nc")
    assert ran(depth(code="new")) == ["recentering_depth"]  # inputs count by content
    other = environment.recipe() | {"versions": environment.versions() | {"numpy": "0.1"}}
    monkeypatch.setattr("repdyn.pipeline.run.execute.kept.recipe", lambda: other)
    assert ran(depth(code="new")) == ["recentering_depth"]  # created with other package versions


def test_restored_output_is_identical_and_a_modified_one_is_recomputed(ran):
    output = RESULTS / jobs_for_tests.gap()["outputs"][0]
    ran(jobs_for_tests.gap())
    before, old = output.read_bytes(), output.stat().st_mtime_ns
    assert ran(jobs_for_tests.gap()) == []
    assert (output.read_bytes(), output.stat().st_nlink) == (before, 2)
    assert output.stat().st_mtime_ns >= old
    with output.open("ab") as file:  # the cached name is the same file
        file.write(b"x")
    assert ran(jobs_for_tests.gap()) == ["orthogonality_gap"]


@pytest.mark.parametrize(("forced", "again"), [(None, True), ("rule", True), ("output", True), ("other", False)])
def test_forced_tasks_are_run_again(ran, here, forced, again):
    ran(jobs_for_tests.gap())
    job = jobs.read(jobs_for_tests.write(here, jobs_for_tests.gap()))
    forget([job], forced and {"rule": {job.rule}, "output": set(job.outputs), "other": {"another_rule"}}[forced])
    assert bool(ran(jobs_for_tests.gap())) is again


def test_job_runs_without_a_writable_cache(here, monkeypatch):
    def refused(*_):
        raise OSError("no links, no copies")

    monkeypatch.setattr("repdyn.pipeline.run.execute.kept._link", refused)
    jobs_for_tests.results(here)
    entry.main(jobs_for_tests.write(here, jobs_for_tests.gap()))
    assert Kept(Path(f"logs/mine/{STUDY}/made.log")).restore(jobs_for_tests.gap(), RESULTS) is None


TWO: jobs.Member = {"code": "", "inputs": {}, "outputs": ["s/a.csv", "s/b.csv"]}
ANOTHER: jobs.Member = {"code": "", "inputs": {}, "outputs": ["s/c.csv"]}


@pytest.fixture
def two(here):
    """The cache of a task with two outputs, which took 7 CPU seconds, and of another, which took 3."""
    kept = Kept(Path("logs/mine/s/made.log"))
    for member, seconds in ((TWO, 7.0), (ANOTHER, 3.0)):
        for path in member["outputs"]:
            (RESULTS / path).parent.mkdir(parents=True, exist_ok=True)
            (RESULTS / path).write_text(f"of {path}")
        kept.keep(member, RESULTS, seconds)
    return kept


@pytest.mark.parametrize("damage", ["a.csv", "b.csv", "digests.json"])
def test_task_is_run_again_if_a_cached_output_is_damaged(two, damage):
    assert two.restore(TWO, RESULTS) == 7.0
    (file,) = two.folder.glob(f"*/{damage}" if damage != "digests.json" else f"{two._name(TWO, Path())}/{damage}")
    digests = json.loads(file.read_text()) if damage == "digests.json" else {}
    file.unlink()
    file.write_text(json.dumps({key: digests[key] for key in digests if key != "b.csv"}) if digests else "else")
    assert two.restore(TWO, RESULTS) is None
    assert two.restore(ANOTHER, RESULTS) == 3.0


def test_restored_outputs_are_newer_than_inputs_and_keep_their_costs(two):
    for path in TWO["outputs"]:
        os.utime(RESULTS / path, (1, 1))  # of the cached file, too: it is another name of it
    two.restore(TWO, RESULTS)
    assert all((RESULTS / path).stat().st_mtime > time.time() - 1e8 for path in TWO["outputs"])
    seconds = {"a.csv": 7.0, "b.csv": 7.0, "c.csv": 3.0}
    assert member_seconds(Path("logs/mine/s/made.log")) == {
        (name, sha256(RESULTS / "s" / name)): took for name, took in seconds.items()
    }


def test_each_task_records_the_cost_of_its_trials(here):
    job, folders = Job("mine", "s/made", "simulate", [TWO | {"study": "s"}, ANOTHER | {"study": "s"}]), []

    def run(member, results, finished):
        folders.append(finished.folder)
        finished.tally.seconds += 1e6
        finished.tally.read += 1
        for path in member["outputs"]:
            (results / path).parent.mkdir(parents=True, exist_ok=True)
            (results / path).write_text(path)

    spared, again = Spared(), Spared()
    entry.run_members(job, Path(job.file), run, spared)
    seconds = member_seconds(Path(job.log))
    assert sorted(name for name, _ in seconds) == ["a.csv", "b.csv", "c.csv"]
    assert list(seconds.values()) == pytest.approx([1e6] * 3, rel=0.1)
    assert (spared.trials, spared.seconds) == (2, pytest.approx(2e6))
    entry.run_members(job, Path(job.file), run, again)
    assert folders == [Path(".cache/trials")] * 2  # both tasks are unchanged
    assert again.seconds == pytest.approx(2e6, rel=0.1)


# Records


def test_records_come_from_the_logs_or_else_from_the_manifest_and_damaged_ones_are_skipped(here):
    assert records.of_run("mine") == []
    manifest = RESULTS / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"costs": [{"log": "s/a"}]}))
    assert records.of_run("mine") == [{"log": "s/a"}]
    jobs_for_tests.results(here)
    entry.main(jobs_for_tests.write(here, jobs_for_tests.gap()))
    assert [record["log"] for record in records.of_run("mine")] == [f"{STUDY}/made"]
    Path(f"logs/mine/{STUDY}/made.log.cost.json").write_text("{half")
    assert records.read(Path("logs/mine")) == []


def test_record_adds_the_time_and_takes_the_larger_memory_of_a_job_and_its_children(here, monkeypatch):
    used = iter([(3.0, 0.5, 2**20), (1.0, 0.25, 3 * 2**20)])

    def usage(_who):
        user, system, kilobytes = next(used)
        return SimpleNamespace(ru_utime=user, ru_stime=system, ru_maxrss=kilobytes)

    monkeypatch.setattr(records.resource, "getrusage", usage)
    with records.recorded(Job("mine", "s/a", "simulate", [])):
        assert json.loads(Path("logs/mine/s/a.log.running").read_text())["pid"] == os.getpid()
    (record,) = records.read(Path("logs/mine"))
    assert (record["cpu_seconds"], record["peak_memory_mb"]) == (4.75, 3 * 1024)
    with pytest.raises(RuntimeError), records.recorded(Job("mine", "s/b", "simulate", [])):
        raise RuntimeError("stopped")
    assert [path.name for path in Path("logs/mine/s").iterdir()] == ["a.log.cost.json"]


def test_last_job_that_wrote_a_file_counts():
    old, new = ({"outputs": {"a": "1"}, "finished": when, "n": n} for when, n in (("2020", 1), ("2021", 2)))
    assert records.by_output([new, old, {"finished": "2022"}])["a"]["n"] == 2
