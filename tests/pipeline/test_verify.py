"""`repdyn verify`: files are vouched for by what their jobs recorded, never by their times."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import SMOKE, snakemake

from repdyn.__main__ import main
from repdyn.base.errors import DataError, RepdynError
from repdyn.base.files import sha256
from repdyn.pipeline.ask import dryrun, verify
from repdyn.pipeline.ask.dryrun import Job

DATA, FIGURE, CLAIMS = "results/mine/s/data/loss.nc", "results/mine/s/figures/f.svg", "results/mine/s/claims.csv"
JOB = {"seed": 1, "settings": {"width": 64, "rates": {"bn": [0.1, 0.2]}}}
MAKES = {
    DATA: ("simulate", "s", "f", "--job", json.dumps(JOB), "--code", "c1", "--output", DATA),
    FIGURE: ("draw", "s", "f", "--code", "c2", "--inputs", DATA, "--output", FIGURE),
    CLAIMS: ("judge", "s", "--code", "c3", "--inputs", DATA, "--output", CLAIMS),
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of three jobs with their records."""
    monkeypatch.chdir(tmp_path)
    for path in MAKES:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(path)
    for path, arguments in MAKES.items():
        inputs = {} if path == DATA else {DATA: sha256(DATA)}
        record = {"arguments": arguments, "inputs": inputs, "outputs": {path: sha256(path)}, "finished": "1"}
        write_record(Path(path).stem, record)
    return tmp_path


def write_record(name, record):
    path = Path("logs/mine/s") / f"{name}.log.cost.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record))


def wrong(**changed):
    """What `examine` finds wrong, with some commands of today changed."""
    makes = {path: changed.get(Path(path).stem, arguments) for path, arguments in MAKES.items()}
    jobs = [Job("r", f"logs/mine/s/{Path(path).stem}.log", tuple(words), 1) for path, words in makes.items()]
    return {path: why for path, why in verify.examine("mine", jobs).items() if why}


def edited(path, old, new):
    return [word.replace(old, new) for word in MAKES[path]]


def test_nothing_is_wrong_after_a_run_whatever_the_times(run):
    Path(DATA).touch()
    assert wrong() == {}


def test_older_code_and_what_is_made_from_it(run):
    downstream = "made from files that are out of date"
    assert wrong(loss=edited(DATA, "c1", "c9")) == {DATA: "older code", FIGURE: downstream, CLAIMS: downstream}
    assert wrong(f=edited(FIGURE, "c2", "c9")) == {FIGURE: "older code"}


def test_settings_are_named(run):
    assert wrong(loss=edited(DATA, "64", "65"))[DATA] == "other settings (settings.width)"
    both = edited(DATA, "c1", "c9")
    both = [word.replace("0.2", "0.3").replace('"seed": 1', '"seed": 2') for word in both]
    assert wrong(loss=both)[DATA] == "older code and other settings (seed, settings.rates.bn)"


def test_another_input_on_the_command_line(run):
    assert wrong(f=[*MAKES[FIGURE][:-2], "results/mine/x.nc", *MAKES[FIGURE][-2:]])[FIGURE] == "another command line"


def test_files_changed_by_hand_or_missing(run):
    Path(FIGURE).write_text("by hand")
    Path(CLAIMS).unlink()
    assert wrong() == {FIGURE: "changed since it was made", CLAIMS: "missing"}


def test_data_made_again_outdates_what_was_made_from_the_old(run):
    Path(DATA).write_text("new")
    write_record("loss", {"arguments": MAKES[DATA], "inputs": {}, "outputs": {DATA: sha256(DATA)}, "finished": "2"})
    assert wrong() == dict.fromkeys([FIGURE, CLAIMS], f"made from {DATA} as it was before")


def test_what_no_job_recorded_is_not_vouched_for(run):
    Path("logs/mine/s/f.log.cost.json").unlink()
    assert wrong() == {FIGURE: "no record of the job that made it"}


def test_the_manifest_stands_in_for_the_logs(run):
    costs = [json.loads(path.read_text()) for path in Path("logs").rglob("*.json")]
    shutil.rmtree("logs")
    with pytest.raises(DataError, match=r"neither logs/mine nor results/mine/manifest.json tells"):
        wrong()
    Path("results/mine/manifest.json").write_text(json.dumps({"costs": costs, "versions": {}}))
    assert wrong() == {}


def test_another_runs_configuration_is_refused(run):
    with pytest.raises(DataError, match=r"makes results/mine/s/data/loss.nc, not results/other/: name its run"):
        verify.examine("other", [Job("r", "logs/mine/s/loss.log", MAKES[DATA], 1)])


def test_the_report_says_what_to_do_and_what_is_left_over(run):
    Path("results/mine/old.nc").write_text("")
    Path("results/mine/report/captions").mkdir(parents=True)
    Path("results/mine/report/captions/a.rst").write_text("")
    versions = {"numpy": "0.1", "python": "3"}
    Path("results/mine/manifest.json").write_text(json.dumps({"versions": versions}))
    reasons = {
        DATA: "older code",
        FIGURE: "",
        CLAIMS: "",
        "results/mine/manifest.json": "",
    }
    told = verify.report("mine", reasons, "snakemake all")
    assert told.splitlines()[0] == "results/mine: 3 of 4 files are what today's code and settings make"
    assert "older code: s/data/loss.nc" in told
    assert "no rule makes these today (safe to delete): old.nc" in told.splitlines()
    assert "made with other versions: numpy 0.1, now " in told
    assert told.endswith("to make them again: snakemake all")


def test_the_remedy_names_one_file_of_each_job_that_is_wrong_by_itself(run):
    jobs = [Job("r", f"logs/mine/s/{Path(path).stem}.log", words, 1) for path, words in MAKES.items()]
    assert verify.remedy({DATA: "older code", FIGURE: verify.DOWNSTREAM, CLAIMS: ""}, jobs) == ["--forcerun", DATA]
    assert verify.remedy(dict.fromkeys(MAKES, ""), jobs) == []
    assert verify.remedy(dict.fromkeys(MAKES, "missing"), jobs * 5) == ["--forceall"]


def test_snakemakes_own_words_where_it_refuses(tmp_path):
    with pytest.raises(RepdynError, match=r"(?s)refuses to plan this run:\nWorkflowError.*unknown key \"widht\""):
        dryrun.planned(dryrun.folder_of_workflow(), ["--config", "bn_decomposed={training: {widht: 1}}"])


def test_a_scale_is_known_by_its_name(run):
    workflow = Path(verify.__file__).parents[3]
    assert dryrun.options(workflow, "mine", None, []) == []
    assert dryrun.options(workflow, "smoke", None, ["run={seed: 2}"]) == [
        "--configfile",
        str(workflow / SMOKE),
        "--config",
        "run={seed: 2}",
    ]
    assert dryrun.options(workflow, "smoke", [Path("a.yaml")], []) == ["--configfile", "a.yaml"]
    assert main(["verify", "nowhere"]) == 1


def test_on_the_finished_run(smoke_run, tmp_path):
    """All of a finished run is vouched for; after one number is changed by hand, the remedy brings it back."""
    folder = tmp_path / "checkout"
    shutil.copytree(smoke_run, folder, copy_function=shutil.copy2, symlinks=True)
    command = [sys.executable, "-m", "repdyn", "verify", "smoke"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    table = folder / "results/smoke/bn_decomposed/tables/fixed_points.csv"
    table.write_text(table.read_text().replace("3", "4", 1))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "changed since it was made: bn_decomposed/tables/fixed_points.csv" in done.stdout
    mend = shlex.split(done.stdout.splitlines()[-1].split(": ")[1])
    again = snakemake(folder, *mend[1:])
    assert again.returncode == 0, again.stdout + again.stderr
    assert "bn_decomposed_tables" in again.stdout + again.stderr
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
