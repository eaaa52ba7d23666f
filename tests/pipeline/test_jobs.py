"""Job files: what a job is, written where it changes; members skipped where nothing changed; records; the entry."""

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
from repdyn.pipeline.run.execute.kept import Kept, forget, member_seconds
from repdyn.pipeline.run.execute.records import Spared
from repdyn.pipeline.run.machine import environment


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Job files


def test_a_job_file_is_read_as_it_was_written(here):
    file = jobs_for_tests.write(here, jobs_for_tests.member(), jobs_for_tests.gap())
    job = jobs.read(file)
    assert (job.run, job.name, job.kind, job.study, job.threads) == ("mine", f"{STUDY}/made", "simulate", STUDY, 1)
    assert job.inputs == ["results/mine/data/images.nc"]
    assert job.outputs == [
        f"results/mine/{STUDY}/data/{name}.nc" for name in ("recentering_depth", "orthogonality_gap")
    ]
    assert job.text() == file.read_text()


def test_the_runs_name_is_not_in_a_job_file():
    first, other = (Job(run, "s/a", "simulate", [jobs_for_tests.gap()]) for run in ("one", "other"))
    assert first.text() == other.text()
    assert first.file != other.file


def test_letters_of_a_job_file_are_read_as_they_are():
    assert '"paper": "Müller, Ω"' in Job("mine", "s/a", "simulate", [{"paper": "Müller, Ω"}]).text()


@pytest.mark.parametrize("text", ["{bad", "[]", '{"job": "s/a"}', "3"])
def test_damaged_job_files_are_named(here, text):
    file = jobs_for_tests.write(here)
    file.write_text(text)
    with pytest.raises(
        DataError, match=r"made.job.json: not a job file \((?!/).*\); delete it and run snakemake again$"
    ):
        jobs.read(file)


def test_missing_job_files_are_told_with_what_writes_them(here):
    with pytest.raises(DataError, match=r"a.job.json: no such job file; the workflow writes it"):
        jobs.read(Path("logs/mine/s/a.job.json"))


def test_results_stand_beside_the_logs_in_any_folder(here):
    assert jobs.results_of(Path("logs/mine/s/a.job.json")) == Path("results/mine")
    assert jobs.results_of(here / "logs/mine/a.job.json") == here / "results/mine"
    assert jobs.results_of(here / "logs/of/logs/mine/s/a.job.json") == here / "logs/of/results/mine"
    with pytest.raises(DataError, match="not below logs"):
        jobs.run_of(Path("/elsewhere/a.job.json"))


def ages(names):
    return {name: Path(f"logs/mine/{name}.job.json").stat().st_mtime for name in names}


def write(*names, finished=(), **changes):
    declared = [Job("mine", name, "simulate", [jobs_for_tests.gap(**changes)], memory_mb=7) for name in names]
    began = "2020-01-01T00:00:00.000+00:00"
    jobs.write_all(
        declared,
        {job.name: {"job": json.loads(job.text()), "began": began} for job in declared if job.name in finished},
    )
    return declared


def test_job_files_are_written_only_where_they_change(here):
    names = ("s/a", "s/b")
    write(*names)
    old = ages(names)
    for name in names:
        os.utime(f"logs/mine/{name}.job.json", (1, 1))
    write(*names)
    assert set(ages(names).values()) == {1}
    write(*names, code="another")
    assert all(ages(names)[name] >= old[name] for name in names)


def test_a_job_file_is_older_than_the_job_that_ran_it(here):
    write("s/a", code="new")
    write("s/a", finished=("s/a",))  # undone: its record holds the same content again
    assert ages(["s/a"])["s/a"] < time.time() - 1e8
    write("s/a", code="new")
    assert ages(["s/a"])["s/a"] > time.time() - 1e8


def test_a_job_file_with_other_content_than_what_ran_is_younger_than_the_outputs(here):
    """Snakemake runs a job again where an input is younger: an edit dated back would never run."""
    (ran,) = write("s/a", finished=["s/a"])
    outputs_made = time.time() - 1
    record = {"job": json.loads(ran.text()), "began": "2020-01-01T00:00:00.000+00:00"}
    (edited,) = write("s/a", code="another")
    assert edited.text() != ran.text()
    for _ in range(2):  # the file is new, then as it was left
        jobs.write_all([edited], {"s/a": record})
        assert Path(edited.file).stat().st_mtime > outputs_made


def test_the_index_tells_all_jobs_of_today(here):
    write("s/a", "s/b", "s/c")
    write("s/c", "s/a")
    assert [job.name for job in jobs.load_all("mine")] == ["s/c", "s/a"]
    assert [job.memory_mb for job in jobs.load_all("mine")] == [7, 7]
    with pytest.raises(DataError, match=r"logs/other/jobs.json: missing"):
        jobs.load_all("other")


def test_a_folder_that_cannot_be_written_is_named(here):
    Path("logs").write_text("a file")
    with pytest.raises(ConfigError, match=r"job files cannot be written: logs/mine/s/a.job.json"):
        write("s/a")


# The entry


def test_a_job_runs_by_its_file_and_leaves_a_record(here):
    results = jobs_for_tests.results(here)
    file = jobs_for_tests.write(here, jobs_for_tests.member(), jobs_for_tests.gap())
    entry.main(file)
    record = jobs_for_tests.record(here)
    assert record["job"] == json.loads(file.read_text())
    images = "results/mine/data/images.nc"
    assert record["inputs"] == {images: sha256(images)}
    assert set(record["outputs"]) == {
        str(Path("results/mine", m["outputs"][0])) for m in (jobs_for_tests.member(), jobs_for_tests.gap())
    }
    assert all(sha256(path) == digest for path, digest in record["outputs"].items())
    assert record["cpu_seconds"] > 0
    assert record["began"] <= record["finished"]
    assert not list(here.rglob("*.running"))
    assert (results / jobs_for_tests.member()["outputs"][0]).is_file()


def test_a_failed_job_leaves_one_line_and_no_record(here, capsys):
    assert main(["run", str(jobs_for_tests.write(here, jobs_for_tests.member()))]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert "results/mine/data/images.nc" in lines[0]
    assert not list(here.rglob("*.cost.json"))
    assert not list(here.rglob("*.running"))


def test_threads_are_those_of_the_job(here, monkeypatch):
    seen = []
    monkeypatch.setattr(entry, "pin_threads", seen.append)
    file = jobs_for_tests.write(here, jobs_for_tests.gap())
    entry.main(file)
    entry.main(file, 3)
    assert seen == [1, 3]


def test_functions_are_compiled_into_the_checkout_of_the_package(here, monkeypatch):
    asked = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(entry, "compiled_code", lambda source: asked.append(source) or Path("kept"))
    entry.main(jobs_for_tests.write(here, jobs_for_tests.gap()))
    assert asked == [ROOT / "src"]
    assert os.environ["NUMBA_CACHE_DIR"] == str(here / "kept")


# Members that are unchanged


@pytest.fixture
def ran(here, monkeypatch):
    """Runs a job of some members; names of those that were really run."""
    jobs_for_tests.results(here)
    seen = []
    from repdyn.pipeline.run.kinds import simulate

    run = simulate.run

    def watched(member, results, trials):
        seen.append(Path(member["outputs"][0]).stem)
        return run(member, results, trials)

    def ran(*members):
        seen.clear()
        file = jobs_for_tests.write(here, *members)
        for member in members:  # as Snakemake does
            (here / "results/mine" / member["outputs"][0]).unlink(missing_ok=True)
        entry.run_members(jobs.read(file), file, watched, Spared())
        assert all((here / "results/mine" / member["outputs"][0]).is_file() for member in members)
        return list(seen)

    return ran


def test_unchanged_members_are_not_run_again(ran):
    assert ran(jobs_for_tests.member(), jobs_for_tests.gap()) == ["recentering_depth", "orthogonality_gap"]
    assert ran(jobs_for_tests.member(), jobs_for_tests.gap()) == []
    assert ran(jobs_for_tests.member(code="new"), jobs_for_tests.gap()) == ["recentering_depth"]
    assert ran(jobs_for_tests.member(code="new"), jobs_for_tests.gap(seed=9)) == ["orthogonality_gap"]
    assert ran(jobs_for_tests.gap(seed=9)) == []
    # forgotten by the run before
    assert ran(jobs_for_tests.member(code="new"), jobs_for_tests.gap(seed=9)) == ["recentering_depth"]


def test_the_inputs_count_by_content(ran, here):
    from repdyn.base import datasets

    ran(jobs_for_tests.member())
    datasets.write(jobs_for_tests.images(5), here / "results/mine/data/images.nc")
    assert ran(jobs_for_tests.member()) == ["recentering_depth"]


def test_a_kept_output_that_was_changed_is_made_again(ran, here):
    ran(jobs_for_tests.gap())
    output = here / "results/mine" / jobs_for_tests.gap()["outputs"][0]
    with output.open("ab") as file:  # in place: the kept name is the same file
        file.write(b"x")
    assert ran(jobs_for_tests.gap()) == ["orthogonality_gap"]


def test_what_is_put_back_is_the_same_file(ran, here):
    output = here / "results/mine" / jobs_for_tests.gap()["outputs"][0]
    ran(jobs_for_tests.gap())
    before, old = output.read_bytes(), output.stat().st_mtime_ns
    ran(jobs_for_tests.gap())
    assert output.read_bytes() == before
    assert output.stat().st_mtime_ns >= old
    assert output.stat().st_nlink == 2


def test_what_other_packages_made_is_not_put_back(ran, monkeypatch):
    assert ran(jobs_for_tests.gap()) == ["orthogonality_gap"]
    assert ran(jobs_for_tests.gap()) == []
    other = environment.recipe() | {"versions": environment.versions() | {"numpy": "0.1"}}
    monkeypatch.setattr("repdyn.pipeline.run.execute.kept.recipe", lambda: other)
    assert ran(jobs_for_tests.gap()) == ["orthogonality_gap"]


@pytest.mark.parametrize(("device", "there"), [(Path("/dev/null"), True), (Path("/dev/no such device"), False)])
def test_a_recipe_tells_whether_the_device_file_of_a_gpu_is_there(monkeypatch, device, there):
    monkeypatch.setattr(environment, "Path", lambda path: device if path == "/dev/nvidiactl" else Path(path))
    assert environment.recipe.__wrapped__()["gpu"] is there


@pytest.mark.parametrize(("forced", "again"), [(None, True), ("rule", True), ("output", True), ("other", False)])
def test_what_a_person_forces_is_computed(ran, here, forced, again):
    ran(jobs_for_tests.gap())
    job = jobs.read(jobs_for_tests.write(here, jobs_for_tests.gap()))
    forget([job], forced and {"rule": {job.rule}, "output": set(job.outputs), "other": {"another_rule"}}[forced])
    assert bool(ran(jobs_for_tests.gap())) is again


def test_where_nothing_can_be_kept_the_job_runs_all_the_same(here, monkeypatch):
    def refused(*_):
        raise OSError("no links, no copies")

    monkeypatch.setattr("repdyn.pipeline.run.execute.kept._link", refused)
    jobs_for_tests.results(here)
    entry.main(jobs_for_tests.write(here, jobs_for_tests.gap()))
    assert Kept(Path(f"logs/mine/{STUDY}/made.log")).restore(jobs_for_tests.gap(), Path("results/mine")) is None


@pytest.fixture
def two(here):
    """What is kept of a member with two outputs, which took 7 CPU seconds, and of another, which took 3."""
    kept = Kept(Path("logs/mine/s/made.log"))
    for member, seconds in ((TWO, 7.0), (ANOTHER, 3.0)):
        for path in member["outputs"]:
            Path("results/mine", path).parent.mkdir(parents=True, exist_ok=True)
            Path("results/mine", path).write_text(f"of {path}")
        kept.keep(member, Path("results/mine"), seconds)
    return kept


TWO: jobs.Member = {"code": "", "inputs": {}, "outputs": ["s/a.csv", "s/b.csv"]}
ANOTHER: jobs.Member = {"code": "", "inputs": {}, "outputs": ["s/c.csv"]}


@pytest.mark.parametrize("damage", ["a.csv", "b.csv", "digests.json"])
def test_a_member_of_which_one_kept_output_is_another_is_run(two, damage):
    assert two.restore(TWO, Path("results/mine")) == 7.0
    (file,) = two.folder.glob(f"*/{damage}" if damage != "digests.json" else f"{two._name(TWO, Path())}/{damage}")
    told = json.loads(file.read_text()) if damage == "digests.json" else {}
    file.unlink()
    file.write_text(json.dumps({key: told[key] for key in told if key != "b.csv"}) if told else "else")
    assert two.restore(TWO, Path("results/mine")) is None
    assert two.restore(ANOTHER, Path("results/mine")) == 3.0


def test_what_is_put_back_is_younger_than_what_it_was_made_from(two):
    for path in TWO["outputs"]:
        os.utime(Path("results/mine", path), (1, 1))  # of the kept file, too: it is another name of it
    two.restore(TWO, Path("results/mine"))
    assert all(Path("results/mine", path).stat().st_mtime > time.time() - 1e8 for path in TWO["outputs"])


def test_seconds_of_members_are_told_by_each_file_of_each(two):
    digest = {name: sha256(f"results/mine/s/{name}") for name in ("a.csv", "b.csv", "c.csv")}
    seconds = {("a.csv", digest["a.csv"]): 7.0, ("b.csv", digest["b.csv"]): 7.0, ("c.csv", digest["c.csv"]): 3.0}
    assert member_seconds(Path("logs/mine/s/made.log")) == seconds


def test_a_member_is_told_the_seconds_of_its_own_trials(here):
    """Not those that members before it read."""
    job = Job("mine", "s/made", "simulate", [TWO | {"study": "s"}, ANOTHER | {"study": "s"}])

    def run(member, results, finished):
        finished.tally.seconds += 1e6
        for path in member["outputs"]:
            (results / path).parent.mkdir(parents=True, exist_ok=True)
            (results / path).write_text(path)

    spared = Spared()
    entry.run_members(job, Path(job.file), run, spared)
    kept = member_seconds(Path(job.log))
    assert sorted(name for name, _ in kept) == ["a.csv", "b.csv", "c.csv"]
    assert list(kept.values()) == pytest.approx([1e6] * 3, rel=0.1)
    assert spared.seconds == pytest.approx(2e6)


# Records


def test_records_come_from_the_logs_or_else_from_the_manifest(here):
    assert records.of_run("mine") == []
    manifest = here / "results/mine/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"costs": [{"log": "s/a"}]}))
    assert records.of_run("mine") == [{"log": "s/a"}]
    jobs_for_tests.results(here)
    entry.main(jobs_for_tests.write(here, jobs_for_tests.gap()))
    assert [record["log"] for record in records.of_run("mine")] == [f"{STUDY}/made"]


def test_a_damaged_record_is_none(here):
    entry.main(jobs_for_tests.write(here, jobs_for_tests.gap()))
    Path(f"logs/mine/{STUDY}/made.log.cost.json").write_text("{half")
    assert records.read(Path("logs/mine")) == []


def test_a_record_adds_the_time_and_takes_the_larger_memory_of_a_job_and_its_children(here, monkeypatch):
    used = iter([(3.0, 0.5, 2**20), (1.0, 0.25, 3 * 2**20)])

    def usage(_who):
        user, system, kilobytes = next(used)
        return SimpleNamespace(ru_utime=user, ru_stime=system, ru_maxrss=kilobytes)

    monkeypatch.setattr(records.resource, "getrusage", usage)
    with records.recorded(Job("mine", "s/a", "simulate", [])):
        pass
    (record,) = records.read(Path("logs/mine"))
    assert (record["cpu_seconds"], record["peak_memory_mb"]) == (4.75, 3 * 1024)


def test_the_last_job_that_made_a_file_counts():
    old, new = ({"outputs": {"a": "1"}, "finished": when, "n": n} for when, n in (("2020", 1), ("2021", 2)))
    assert records.by_output([new, old, {"finished": "2022"}])["a"]["n"] == 2
