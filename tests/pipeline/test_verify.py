"""`repdyn verify`: files are vouched for by what their jobs recorded, never by their times."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import snakemake

from repdyn.base import datasets
from repdyn.base.errors import DataError, RepdynError
from repdyn.base.files import sha256
from repdyn.pipeline.ask import verify, workflow
from repdyn.pipeline.run.declare.jobs import Job, write_all
from repdyn.pipeline.run.machine.environment import versions

DATA, FIGURE, CLAIMS = "results/mine/s/data/loss.nc", "results/mine/s/figures/f.svg", "results/mine/s/claims.csv"
LOSS = {
    "code": "c1",
    "seed": 1,
    "settings": {"settings": {"width": 64, "rates": {"bn": [0.1, 0.2]}}},
    "inputs": {},
    "outputs": ["s/data/loss.nc"],
}
MEMBERS = {
    DATA: LOSS,
    FIGURE: {"code": "c2", "inputs": {"loss": "s/data/loss.nc"}, "outputs": ["s/figures/f.svg"]},
    CLAIMS: {"code": "c3", "inputs": {"loss": "s/data/loss.nc"}, "outputs": ["s/claims.csv"]},
}


def job(path, **changes):
    return Job("mine", f"s/{Path(path).stem}", "k", [MEMBERS[path] | changes])


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of three jobs with their records."""
    monkeypatch.chdir(tmp_path)
    for path in MEMBERS:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(path)
    for path in MEMBERS:
        write_record(path)
    return tmp_path


def write_record(path, finished="1"):
    inputs = {} if path == DATA else {DATA: sha256(DATA)}
    outputs = {path: sha256(path)}
    record = {"job": json.loads(job(path).text()), "inputs": inputs, "outputs": outputs, "finished": finished}
    file = Path(f"logs/mine/s/{Path(path).stem}.log.cost.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record))


def wrong(**changed):
    """What `examine` finds wrong, with some members of today changed."""
    jobs = [job(path, **changed.get(Path(path).stem, {})) for path in MEMBERS]
    return {path: why for path, why in verify.examine("mine", jobs).items() if why}


def test_nothing_is_wrong_after_a_run_whatever_the_times(run):
    Path(DATA).touch()
    assert wrong() == {}


def test_a_job_is_due_where_one_of_its_files_is_out_of_date(run):
    both = Job("mine", "s/both", "k", [{"code": "c", "inputs": {}, "outputs": ["s/data/loss.nc", "s/figures/f.svg"]}])
    record = {"job": json.loads(both.text()), "inputs": {}, "outputs": {}, "finished": "2"}
    record["outputs"] = {DATA: sha256(DATA), FIGURE: sha256(FIGURE)}
    Path("logs/mine/s/both.log.cost.json").write_text(json.dumps(record))
    assert verify.due([both]) == []
    Path(FIGURE).write_text("changed")
    assert verify.due([both]) == [both]
    assert verify.due([]) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ({"a": [{"code": "1"}, {"code": "2"}]}, {"a": [{"code": "1"}, {"code": "3"}]}, "older code"),
        ({"a": [1, 2]}, {"a": [1, 3]}, "other a"),
        ({"a": [{"code": "1"}, 7]}, {"a": [{"code": "1"}, 8]}, "other 1"),
        (
            {"m": [{"settings": {"s": {"width": 1, "seeds": 2}}, "seed": 1}]},
            {"m": [{"settings": {"s": {"width": 3, "seeds": 2}}, "seed": 9}]},
            "other settings (s.width) and other seed",
        ),
        (
            {
                "kind": "simulate",
                "members": [
                    {"code": "1", "seed": 1, "settings": {"t": {"rate": 1, "runs": [1, 2]}}, "inputs": {"loss": "a"}},
                    {"code": "2", "seed": 1, "settings": {"s": {"width": 1, "seeds": 2}}, "gone": 1},
                ],
            },
            {
                "kind": "draw",
                "members": [
                    {"code": "1", "seed": 2, "settings": {"t": {"rate": 1, "runs": [1, 3]}}, "inputs": {"loss": "b"}},
                    {"code": "3", "seed": 2, "settings": {"s": {"width": 3, "depth": 2}}},
                ],
            },
            "older code and other settings (t.runs, s.depth, s.seeds, s.width) and other kind, loss, seed, gone",
        ),
    ],
)
def test_how_two_job_files_differ(old, new, words):
    assert verify.difference(old, new) == words
    assert verify.difference(old, old) == ""


def test_older_code_and_what_is_made_from_it(run):
    downstream = "made from files that are out of date"
    assert wrong(loss={"code": "c9"}) == {DATA: "older code", FIGURE: downstream, CLAIMS: downstream}
    assert wrong(f={"code": "c9"}) == {FIGURE: "older code"}


def test_settings_are_named(run):
    settings = {"width": 65, "rates": {"bn": [0.1, 0.2]}}
    assert wrong(loss={"settings": {"settings": settings}})[DATA] == "other settings (settings.width)"
    both = {"code": "c9", "seed": 2, "settings": {"settings": {"width": 64, "rates": {"bn": [0.1, 0.3]}}}}
    assert wrong(loss=both)[DATA] == "older code and other settings (settings.rates.bn) and other seed"


def test_another_input(run):
    assert wrong(f={"inputs": {"loss": "s/data/other.nc"}})[FIGURE] == "other loss"


def test_another_text_of_the_checkout(run):
    assert wrong(f={"texts": ["docs/s.md 0123456789abcdef"]})[FIGURE] == "other texts"


def test_files_changed_by_hand_or_missing(run):
    Path(FIGURE).write_text("by hand")
    Path(CLAIMS).unlink()
    assert wrong() == {FIGURE: "changed since it was made", CLAIMS: "missing"}


def test_data_made_again_outdates_what_was_made_from_the_old(run):
    Path(DATA).write_text("new")
    write_record(DATA, "2")
    assert wrong() == dict.fromkeys([FIGURE, CLAIMS], f"made from {DATA} as it was before")


@pytest.mark.parametrize("changed", [0, 1, 2])
@pytest.mark.parametrize("gone", [True, False])
def test_each_of_several_inputs_counts(run, changed, gone):
    names = [f"results/mine/s/data/{name}.nc" for name in ("rate", "loss", "gap")]
    for name in names:
        Path(name).write_text(name)
    reader = job(FIGURE, inputs={"all": [name.removeprefix("results/mine/") for name in names]})
    record = {"job": json.loads(reader.text()), "inputs": {name: sha256(name) for name in names}, "finished": "3"}
    Path("logs/mine/s/f.log.cost.json").write_text(json.dumps(record | {"outputs": {FIGURE: sha256(FIGURE)}}))
    assert verify.examine("mine", [reader]) == {FIGURE: ""}
    Path(names[changed]).unlink() if gone else Path(names[changed]).write_text("another")
    assert verify.examine("mine", [reader]) == {FIGURE: f"made from {names[changed]} as it was before"}


def test_every_package_of_another_version_is_named():
    """A tag behind a plus, as torch has one, does not count where it is not told."""
    today = {"numpy": "2.1", "torch": "2.4.0+cpu", "scipy": "1.15", "xarray": "2025.1", "pandas": "2.2"}
    installed = today.__getitem__
    assert verify._other_versions(today, installed) == ""
    assert verify._other_versions(today | {"torch": "2.4.0"}, installed) == ""
    old = {"xarray": "2024.9", "numpy": "2.1", "torch": "2.4.0+cu124", "scipy": "1.14", "snakemake": "8"}
    assert verify._other_versions(old, installed) == (
        "xarray 2024.9 (now 2025.1), torch 2.4.0+cu124 (now 2.4.0+cpu), scipy 1.14 (now 1.15)"
    )


def test_each_package_is_asked_for_its_version_once(run, monkeypatch):
    asked = []
    monkeypatch.setattr(verify, "version_of", lambda name: asked.append(name) or "1")
    monkeypatch.setattr(verify, "_told_by", lambda path: {"numpy": "1", "scipy": "1"})
    assert set(verify.examine("mine", [job(path) for path in MEMBERS]).values()) == {""}
    assert sorted(asked) == ["numpy", "scipy"]


def test_jobs_with_something_to_do(run):
    jobs = [job(path) for path in MEMBERS]
    assert verify.due(jobs) == []
    Path(CLAIMS).unlink()
    assert verify.due(jobs) == [jobs[2]]


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


def test_what_other_versions_made_is_not_vouched_for(run):
    path = next(path for path in Path("logs").rglob("*.cost.json") if DATA in json.loads(path.read_text())["outputs"])
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"versions": versions() | {"python": "2", "snakemake": "1"}}))
    assert wrong() == {}, "no number depends on these"
    path.write_text(json.dumps(record | {"versions": versions() | {"numpy": "0.1"}}))
    assert wrong()[DATA] == f"made with numpy 0.1 (now {versions()['numpy']})"
    assert wrong()[FIGURE] == verify.DOWNSTREAM


def test_a_dataset_is_not_vouched_for_against_its_own_word(run):
    """Old bytes that a record of today's packages vouches for."""
    data = datasets.dataset({}, {}, title="a loss")
    old = dict.fromkeys(datasets.REQUIRED, "x") | {"versions": json.dumps({"numpy": "0.1"})}
    Path(DATA).unlink()
    datasets.write(data.assign_attrs(old), DATA)
    for path in MEMBERS:
        write_record(path)
    assert wrong()[DATA] == f"made with numpy 0.1 (now {versions()['numpy']})"
    Path(DATA).unlink()
    datasets.write(data.assign_attrs(old | {"versions": datasets.package_versions("numpy", "torch")}), DATA)
    for path in MEMBERS:
        write_record(path)
    assert wrong() == {}


def test_another_runs_configuration_is_refused(run):
    Path("results/second").mkdir()
    Path("results/note.txt").write_text("no run")
    own = Job("other", "s/a", "k", [LOSS])
    with pytest.raises(DataError) as caught:
        verify.examine("other", [own, job(DATA), job(FIGURE)])
    assert str(caught.value) == (
        f"this configuration makes {DATA}, not results/other/: name its run or give its --configfile "
        "(runs here: mine, second)"
    )


def test_the_report_says_what_is_wrong_by_reason_what_to_do_and_what_is_left_over(run):
    """Of a folder that a rule makes nothing is left over; files are told by the run's own folder."""
    for name in ("s/z.nc", "old.nc", "t/data/m.nc", "report/captions/s/a.rst", "manifest.json"):
        Path("results/mine", name).parent.mkdir(parents=True, exist_ok=True)
        Path("results/mine", name).write_text("")
    reasons = {
        "results/mine/t/b.nc": "missing",
        DATA: "older code",
        FIGURE: "",
        CLAIMS: verify.DOWNSTREAM,
        "results/mine/manifest.json": "",
        "results/mine/t/a.nc": "missing",
        "results/mine/s/f.nc": "older code",
        "results/mine/report/captions": "",
        "results/mine/t/c.nc": "missing",
    }
    assert verify.report("mine", reasons, "snakemake all").splitlines() == [
        "results/mine: 3 of 9 files are what today's code and settings make",
        "missing: t/b.nc, t/a.nc, t/c.nc",
        "older code: s/data/loss.nc, s/f.nc",
        "made from files that are out of date: s/claims.csv",
        "no rule makes these today (safe to delete): old.nc, s/z.nc, t/data/m.nc",
        "to make them again: snakemake all",
    ]
    assert verify.report("mine", dict.fromkeys(reasons, ""), "snakemake all").splitlines() == [
        "results/mine: 9 of 9 files are what today's code and settings make",
        "no rule makes these today (safe to delete): old.nc, s/z.nc, t/data/m.nc",
    ]


def test_a_folder_is_vouched_for_with_all_that_is_in_it(run):
    home = Path("results/mine/report/captions")
    home.mkdir(parents=True)
    (home / "a.rst").write_text("a caption")
    shown = Job("mine", "s/report", "k", [{"code": "c", "inputs": {}, "outputs": ["report/captions"]}])
    record = {"job": json.loads(shown.text()), "inputs": {}, "outputs": {str(home): sha256(home)}, "finished": "1"}
    Path("logs/mine/s/report.log.cost.json").write_text(json.dumps(record))
    assert verify.examine("mine", [shown]) == {str(home): ""}
    for change in (lambda: (home / "a.rst").rename(home / "b.rst"), lambda: (home / "b.rst").write_text("another")):
        change()
        assert verify.examine("mine", [shown]) == {str(home): "changed since it was made"}


def test_the_remedy_names_the_first_file_of_each_job_that_is_wrong_by_itself():
    made = {"one": "abc", "two": "def", "three": "ghi", "four": "jkl"}
    jobs = [
        Job("mine", f"s/{name}", "k", [{"inputs": {}, "outputs": [f"{file}.nc" for file in files]}])
        for name, files in made.items()
    ]
    reasons = {f"results/mine/{file}.nc": "" for files in made.values() for file in files}
    wrong = {
        "b": "missing",
        "c": "older code",
        "d": verify.DOWNSTREAM,
        "f": "missing",
        "g": verify.DOWNSTREAM,
        "l": "x",
    }
    reasons |= {f"results/mine/{file}.nc": why for file, why in wrong.items()}
    outputs = [f"results/mine/{file}.nc" for file in "bfl"]
    assert verify.remedy(reasons, iter(jobs)) == ["--forcerun", *outputs]


def test_what_is_made_from_a_file_that_is_wrong_needs_no_remedy(run):
    jobs = [job(path) for path in MEMBERS]
    assert verify.remedy({DATA: "older code", FIGURE: verify.DOWNSTREAM, CLAIMS: ""}, jobs) == ["--forcerun", DATA]
    assert verify.remedy(dict.fromkeys(MEMBERS, ""), jobs) == []
    assert verify.remedy(dict.fromkeys(MEMBERS, "missing"), jobs * 5) == ["--forceall"]


@pytest.mark.parametrize(("number", "option"), [(12, "--forcerun"), (13, "--forceall")])
def test_many_jobs_that_are_wrong_are_all_run_again(number, option):
    jobs = [Job("mine", f"s/{place}", "k", [LOSS | {"outputs": [f"{place}.nc"]}]) for place in range(number)]
    options = verify.remedy({job.outputs[0]: "missing" for job in jobs}, jobs)
    assert options[0] == option
    assert options[1:] == ([job.outputs[0] for job in jobs] if option == "--forcerun" else [])


def test_of_many_files_with_one_fault_six_are_named(run):
    wrong = {f"results/mine/s/{place}.nc": "missing" for place in range(6)}
    assert "missing: s/0.nc, s/1.nc, s/2.nc, s/3.nc, s/4.nc, s/5.nc" in verify.report("mine", wrong, "").splitlines()
    wrong["results/mine/s/6.nc"] = "missing"
    assert verify.report("mine", wrong, "").splitlines()[1].endswith(", s/5.nc and 1 more")


def test_snakemakes_own_words_where_it_refuses(tmp_path):
    with pytest.raises(RepdynError, match=r"(?s)refuses to plan this run:\nWorkflowError.*unknown key \"widht\""):
        workflow.jobs(workflow.folder(), ["--config", "bn_decomposed={training: {widht: 1}}"])


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("", range(2, 10)),  # the last eight of ten
        ("WorkflowError in file Snakefile:\nMissingInputError: a.nc\n", None),
        ("KeyError\n", None),
    ],
    ids=["no error", "two errors", "an error alone"],
)
def test_snakemakes_last_words_are_told_without_its_greeting(tmp_path, monkeypatch, said, shown):
    """From its first error on, or else the last lines; a warning that names an error begins none."""
    lines = [f"line {place}, no KeyError" for place in range(10)]
    greeting = "Using profile profiles/default for settings.\n\n"
    text = "\n".join(lines[:5]) + "\n" + said + "\n".join(lines[5:9]) + f"\n{greeting}{lines[9]}\n \n"
    refused = subprocess.CompletedProcess([], 1, stdout="", stderr=greeting + text)
    monkeypatch.setattr(workflow.subprocess, "run", lambda *_, **__: refused)
    with pytest.raises(RepdynError) as caught:
        workflow.jobs(tmp_path, [])
    wanted = [*said.splitlines(), *lines[5:]] if shown is None else [lines[place] for place in shown]
    assert str(caught.value).splitlines() == ["Snakemake refuses to plan this run:", *wanted]


def test_a_workflow_is_asked_for_the_name_of_its_run_and_its_jobs_are_loaded(run, monkeypatch):
    asked = []
    answer = subprocess.CompletedProcess([], 0, stdout="all\nrun: mine\nrunner: no\n", stderr="host: a\n")
    monkeypatch.setattr(workflow.subprocess, "run", lambda words, **how: asked.append((words, how)) or answer)
    write_all([job(path) for path in MEMBERS], {})
    assert [single.outputs for single in workflow.jobs(Path("a b"), ["--config", "x=1"])] == [
        [path] for path in MEMBERS
    ]
    ((words, how),) = asked
    assert words[1:] == [
        *("-m", "snakemake", "--snakefile", "a b/Snakefile", "--cores", "1", "--config", "x=1", "--list-rules")
    ]
    assert how["env"]["REPDYN_TELL_RUN"] == "1"
    answer.stdout = "all\n"
    with pytest.raises(RepdynError) as caught:
        workflow.jobs(Path(), [])
    assert str(caught.value) == "the workflow did not tell the name of its run:\nall\nhost: a"


def test_the_checkout_is_the_working_directory_or_else_that_of_the_package(tmp_path, monkeypatch):
    """A Snakefile alone does not make a folder ours."""
    package = Path(verify.__file__).parents[4]
    monkeypatch.chdir(tmp_path)
    assert workflow.folder() == package
    (tmp_path / "Snakefile").touch()
    assert workflow.folder() == package
    monkeypatch.chdir(package)
    assert workflow.folder() == Path()


def test_a_scale_is_known_by_its_name(run):
    folder = Path(verify.__file__).parents[4]
    assert workflow.options(folder, "mine", None, []) == []
    assert workflow.options(folder, "smoke", None, ["run={seed: 2}"]) == [
        "--configfile",
        str(folder / "workflow/scales/smoke.yaml"),
        "--config",
        "run={seed: 2}",
    ]
    assert workflow.options(folder, "smoke", [Path("a.yaml")], []) == ["--configfile", "a.yaml"]


@pytest.mark.slow
def test_on_the_finished_run(finished):
    """All of a finished run is vouched for; after one number is changed by hand, the remedy brings it back."""
    folder, command = finished, [sys.executable, "-m", "repdyn", "verify", "smoke"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    table = folder / "results/smoke/bn_decomposed/tables/fixed_points.csv"
    table.write_text(table.read_text().replace("3", "4", 1))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "changed since it was made: bn_decomposed/tables/fixed_points.csv" in done.stdout
    fix = shlex.split(done.stdout.splitlines()[-1].split(": ")[1])
    again = snakemake(folder, *fix[1:])
    assert again.returncode == 0, again.stdout + again.stderr
    assert "bn_decomposed_tables" in again.stdout + again.stderr
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
