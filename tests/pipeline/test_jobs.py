"""Job files, records of jobs, the command that runs one."""

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
from repdyn.base.errors import ConfigError, DataError
from repdyn.base.files import sha256
from repdyn.pipeline.run.declare import jobs
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.execute import entry, records
from repdyn.pipeline.run.execute.records import Work

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
    for file in ("s/a.job.json", jobs.INDEX):
        Path("logs/mine", file).write_bytes(b"\xff")
    write(*names, code="another")
    assert [job.name for job in jobs.load_all("mine")] == list(names)


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
    assert record["file_cpu_seconds"].keys() == record["outputs"].keys()
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


def test_files_have_the_seconds_of_their_member_with_those_of_its_trials(here):
    members = [{"code": "", "inputs": {}, "outputs": paths, "study": "s"} for paths in (["s/a", "s/b"], ["s/c"])]
    job, folders = Job("mine", "s/made", "simulate", members), []

    def run(member, results, finished):
        folders.append(finished.folder)
        finished.tally.seconds += 1e6
        finished.tally.read += 1

    work = Work()
    entry.run_members(job, Path(job.file), run, work)
    assert folders == [Path(".cache/trials")] * 2
    assert work.files == pytest.approx(dict.fromkeys(("s/a", "s/b", "s/c"), 1e6), rel=0.1)
    assert (work.trials, work.read) == (2, 2e6)


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
