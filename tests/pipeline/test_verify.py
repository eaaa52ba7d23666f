"""`repdyn verify`: files are confirmed by the records of their jobs, never by their times."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import snakemake

from repdyn.base.errors import DataError
from repdyn.base.files import sha256
from repdyn.pipeline.ask import verify
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.machine.environment import versions

DATA, FIGURE, CLAIMS = "results/mine/s/data/loss.nc", "results/mine/s/figures/f.svg", "results/mine/s/claims.csv"
SETTINGS = {"settings": {"width": 64, "rates": {"bn": [0.1, 0.2]}}}
LOSS = {"code": "c1", "seed": 1, "settings": SETTINGS, "inputs": {}, "outputs": ["s/data/loss.nc"]}
MEMBERS = {
    DATA: LOSS,
    FIGURE: {"code": "c2", "inputs": {"loss": "s/data/loss.nc"}, "outputs": ["s/figures/f.svg"]},
    CLAIMS: {"code": "c3", "inputs": {"loss": "s/data/loss.nc"}, "outputs": ["s/claims.csv"]},
}


def job(path, **changes):
    return Job("mine", f"s/{Path(path).stem}", "k", [MEMBERS[path] | changes])


def write_record(single, outputs, inputs=(), finished="1", **more):
    """The record of a job with the current files."""
    record = {"job": json.loads(single.text()), "inputs": {path: sha256(path) for path in inputs}, "finished": finished}
    record |= {"outputs": {path: sha256(path) for path in outputs}} | more
    file = Path(f"{single.log}.cost.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record))


def write_records(finished="1"):
    for path in MEMBERS:
        write_record(job(path), [path], [] if path == DATA else [DATA], finished)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of three jobs with their records."""
    monkeypatch.chdir(tmp_path)
    for path in MEMBERS:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(path)
    write_records()
    return tmp_path


def wrong(**changed):
    """Reasons for outdated files, with some tasks changed."""
    jobs = [job(path, **changed.get(Path(path).stem, {})) for path in MEMBERS]
    return {path: why for path, why in verify.examine("mine", jobs).items() if why}


def test_finished_run_verifies_whatever_the_modification_times(run):
    Path(DATA).touch()
    assert wrong() == {}
    assert verify.due([job(path) for path in MEMBERS]) == []


def test_changed_code_settings_inputs_and_texts_outdate_their_dependents(run):
    later = {"settings": {"settings": {"width": 65, "rates": {"bn": [0.1, 0.2]}}}}
    both = {"code": "c9", "seed": 2, "settings": {"settings": {"width": 64, "rates": {"bn": [0.1, 0.3]}}}}
    cases = [  # changes, file that is wrong, names in the reason
        ({"f": {"code": "c9"}}, FIGURE, ["code"]),
        ({"loss": later}, DATA, ["settings.width"]),
        ({"loss": both}, DATA, ["code", "settings.rates.bn", "seed"]),
        ({"f": {"inputs": {"loss": "s/data/other.nc"}}}, FIGURE, ["loss"]),
        ({"f": {"texts": ["docs/s.md 0123456789abcdef"]}}, FIGURE, ["texts"]),
    ]
    for changes, file, names in cases:
        reasons = wrong(**changes)
        assert all(name in reasons[file] for name in names), changes
        downstream = {FIGURE: verify.DOWNSTREAM, CLAIMS: verify.DOWNSTREAM} if file == DATA else {}
        assert {path: why for path, why in reasons.items() if path != file} == downstream


def test_files_changed_by_hand_missing_or_without_record_are_found(run):
    Path(FIGURE).write_text("by hand")
    Path(CLAIMS).unlink()
    assert set(wrong()) == {FIGURE, CLAIMS}
    assert [due.name for due in verify.due([job(path) for path in MEMBERS])] == ["s/f", "s/claims"]
    Path(f"{job(DATA).log}.cost.json").unlink()
    assert DATA in wrong()


def test_each_changed_or_missing_input_is_found(run):
    names = [f"results/mine/s/data/{name}.nc" for name in ("rate", "loss", "gap")]
    reader = job(FIGURE, inputs={"all": [name.removeprefix("results/mine/") for name in names]})
    for name in names:
        Path(name).write_text(name)
    write_record(reader, [FIGURE], names)
    assert verify.examine("mine", [reader]) == {FIGURE: ""}
    for name in names:
        Path(name).write_text("another")
        assert name in verify.examine("mine", [reader])[FIGURE]
        Path(name).unlink()
        assert name in verify.examine("mine", [reader])[FIGURE]
        Path(name).write_text(name)


def test_rewritten_data_outdate_their_dependents(run):
    Path(DATA).write_text("new")
    write_record(job(DATA), [DATA], finished="2")
    assert set(wrong()) == {FIGURE, CLAIMS}


def test_all_files_of_a_folder_are_verified(run):
    home = Path("results/mine/report/captions")
    home.mkdir(parents=True)
    (home / "a.rst").write_text("a caption")
    shown = Job("mine", "s/report", "k", [{"code": "c", "inputs": {}, "outputs": ["report/captions"]}])
    write_record(shown, [str(home)])
    assert verify.examine("mine", [shown]) == {str(home): ""}
    for change in (lambda: (home / "a.rst").rename(home / "b.rst"), lambda: (home / "b.rst").write_text("another")):
        change()
        assert verify.examine("mine", [shown])[str(home)]


def test_manifest_replaces_missing_logs(run):
    costs = [json.loads(path.read_text()) for path in Path("logs").rglob("*.json")]
    shutil.rmtree("logs")
    with pytest.raises(DataError, match=r"logs/mine.*results/mine/manifest.json"):
        wrong()
    Path("results/mine/manifest.json").write_text(json.dumps({"costs": costs, "versions": {}}))
    assert wrong() == {}


# Versions of packages


def test_results_of_other_package_versions_are_found_and_irrelevant_packages_do_not_count(run):
    write_record(job(DATA), [DATA], versions=versions() | {"python": "2", "snakemake": "1"})
    assert wrong() == {}
    write_record(job(DATA), [DATA], versions=versions() | {"numpy": "0.1"})
    assert "numpy 0.1" in wrong()[DATA]
    assert wrong()[FIGURE] == verify.DOWNSTREAM


# What to do


def test_configuration_of_another_run_is_rejected(run):
    Path("results/second").mkdir()
    with pytest.raises(DataError, match=rf"{DATA}.*results/other.*mine, second"):
        verify.examine("other", [Job("other", "s/a", "k", [LOSS]), job(DATA), job(FIGURE)])


def test_suggested_command_forces_one_file_of_each_outdated_job(run):
    made = {"one": "abc", "two": "def", "three": "ghi", "four": "jkl"}
    jobs = [
        Job("mine", f"s/{name}", "k", [{"inputs": {}, "outputs": [f"{file}.nc" for file in files]}])
        for name, files in made.items()
    ]
    reasons = {f"results/mine/{file}.nc": "" for files in made.values() for file in files}
    causes = {"b": "missing", "c": "older", "d": verify.DOWNSTREAM, "f": "missing", "g": verify.DOWNSTREAM, "l": "x"}
    reasons |= {f"results/mine/{file}.nc": why for file, why in causes.items()}
    wanted = ["--forcerun", *(f"results/mine/{file}.nc" for file in "bfl")]
    assert verify.remedy(reasons, iter(jobs)) == wanted
    assert verify.remedy(dict.fromkeys(reasons, ""), jobs) == []


@pytest.mark.parametrize(("number", "option"), [(12, "--forcerun"), (13, "--forceall")])
def test_more_than_twelve_outdated_jobs_suggest_a_full_rerun(number, option):
    jobs = [Job("mine", f"s/{place}", "k", [LOSS | {"outputs": [f"{place}.nc"]}]) for place in range(number)]
    options = verify.remedy({job.outputs[0]: "missing" for job in jobs}, jobs)
    assert options == [option, *(job.outputs[0] for job in jobs if option == "--forcerun")]


@pytest.mark.slow
def test_smoke_run_verifies(finished):
    """A finished run verifies; after one number is changed by hand, the suggested command restores it."""
    folder, command = finished, [sys.executable, "-m", "repdyn", "verify", "smoke"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    table = folder / "results/smoke/bn_decomposed/tables/fixed_points.csv"
    table.write_text(table.read_text().replace("3", "4", 1))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "bn_decomposed/tables/fixed_points.csv" in done.stdout
    fix = shlex.split(done.stdout.splitlines()[-1].split(": ")[1])
    again = snakemake(folder, *fix[1:])
    assert again.returncode == 0, again.stdout + again.stderr
    assert "bn_decomposed_tables" in again.stdout + again.stderr
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
