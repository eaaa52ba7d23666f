"""What open claims want and what that costs, of runs with several claims, studies, datasets and jobs."""

import csv
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from repdyn.base.errors import DataError
from repdyn.pipeline.ask import decide

COLUMNS = ("id", "verdict", "note", "study", "datasets")
CLAIMS = [
    ("b-1", decide.UNDECIDED, "of one", "t", "loss"),
    ("b-2", "holds", "", "s", "loss"),
    ("a-3", decide.UNDECIDED, "of two", "s", "loss rate"),
    ("c-4", decide.UNDECIDED, "of three", "u", "rate"),
    ("c-5", "does not hold", "", "u", "rate"),
    ("c-6", decide.UNDECIDED, "of four", "t", "loss"),
]
EVIDENCE = [
    ("a-3", "left"),
    ("b-1", "sum"),
    ("c-4", ""),
    ("b-2", "rest"),
    ("a-3", "right"),
    ("b-1", "mean"),
    ("a-3", ""),
]
SETTINGS = {"s": {"trained": {"seeds": 3}}, "t": {"drawn": {"trials": 5}}, "u": {"chains": {"runs": 7}}}


def written(path, *rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def test_each_open_claim_is_asked_by_its_own_row_evidence_and_settings_and_they_come_by_cost(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    results = Path("results/mine")
    results.mkdir(parents=True)
    written(results / "claims.csv", COLUMNS, *CLAIMS)
    written(results / "evidence.csv", ("id", "part"), *EVIDENCE)
    (results / "manifest.json").write_text(json.dumps({"configuration": SETTINGS, "costs": []}))
    wants = {
        "b-1": decide.Wanted(1, "twice", {("drawn", "trials"): 5}, 2.0),
        "a-3": decide.Wanted(3, "5 along seed", {("trained", "seeds"): 3}, 5.0, seen=False),
        "c-4": decide.Wanted(None, "a border case"),
        "c-6": decide.Wanted(2, "four times", {("drawn", "trials"): 6}, 4.0),
    }
    asked, costs = [], {"a file": decide.Cost("a job", 1.0, True)}

    def wanted(row, evidence, settings):
        asked.append((row["id"], row["note"], [part["part"] for part in evidence], settings))
        return wants[row["id"]]

    prices = {("t", 5, 2.0): 50.0, ("s", 3, 5.0): 30.0, ("t", 6, 4.0): 40.0}
    monkeypatch.setattr(decide, "wanted", wanted)
    monkeypatch.setattr(decide, "_costs", lambda run: costs if run == "mine" else {})
    monkeypatch.setattr(
        decide, "_seconds", lambda study, knobs, factor, known: prices[study, *knobs.values(), factor] * len(known)
    )
    assert decide.needs("mine") == [
        decide.Need(3, "5 along seed", {("trained", "seeds"): 3}, 5.0, False, "a-3", "s", 30.0),
        decide.Need(2, "four times", {("drawn", "trials"): 6}, 4.0, True, "c-6", "t", 40.0),
        decide.Need(1, "twice", {("drawn", "trials"): 5}, 2.0, True, "b-1", "t", 50.0),
        decide.Need(None, "a border case", {}, 1.0, True, "c-4", "u", 0.0),
    ]
    assert asked == [
        ("b-1", "of one", ["sum", "mean"], SETTINGS["t"]),
        ("a-3", "of two", ["left", "right", ""], SETTINGS["s"]),
        ("c-4", "of three", [""], SETTINGS["u"]),
        ("c-6", "of four", [], SETTINGS["t"]),
    ]


KEEPING = {"loss", "rate"}
EXPERIMENTS = ("first", "loss", "rate", "last")


@pytest.fixture
def job(monkeypatch):
    """A record of a job with members of every kind; of its experiments two of four keep finished trials."""
    parameters = {name: ("settings", *(("checkpoint",) if name in KEEPING else ())) for name in EXPERIMENTS}
    graphs = {study: SimpleNamespace(experiments={}) for study in ("other", "s")}
    graphs["s"].experiments = {name: SimpleNamespace(parameters=own) for name, own in parameters.items()}
    monkeypatch.setattr(decide, "read_study", graphs.__getitem__)
    members = [
        {"source": "digits", "outputs": ["data/images.nc"]},
        {"study": "s", "function": "figures:loss", "outputs": ["s/figures/loss.svg"]},
        {"study": "s", "paper": "a paper", "outputs": ["s/claims.csv"]},
    ]
    members += [
        {"study": "s", "paper": "a paper", "function": f"experiments.a:{name}", "outputs": [f"s/data/{name}.nc"]}
        for name in EXPERIMENTS
    ]
    outputs = {f"results/mine/{file}": f"digest of {file}" for member in members for file in member["outputs"]}
    return {"log": "s/all", "cpu_seconds": 70.5, "outputs": outputs, "job": {"members": members}, "finished": "2"}


def test_a_dataset_costs_its_member_or_the_whole_job_where_any_of_its_experiments_may_keep_trials(job, monkeypatch):
    asked = []
    took = {("loss.nc", "digest of s/data/loss.nc"): 8.0, ("last.nc", "digest of s/data/last.nc"): 9.5}
    took |= {("rate.nc", "digest of another"): 1.0, ("loss.svg", "digest of s/figures/loss.svg"): 2.0}
    monkeypatch.setattr(decide, "member_seconds", lambda log: asked.append(log) or took)
    monkeypatch.setattr(decide.records, "of_run", lambda run: [job] if run == "mine" else [])
    whole = decide.Cost("s/all", 70.5, True)
    assert decide._costs("mine") == {
        "data/images.nc": whole,
        "s/figures/loss.svg": whole,
        "s/claims.csv": whole,
        "s/data/first.nc": whole,
        "s/data/loss.nc": decide.Cost("s/all:s/data/loss.nc", 8.0, True),
        "s/data/rate.nc": whole,
        "s/data/last.nc": decide.Cost("s/all:s/data/last.nc", 9.5, False),
    }
    assert set(asked) == {Path("logs/mine/s/all.log")}
    with pytest.raises(DataError) as caught:
        decide._costs("other")
    assert str(caught.value) == "logs/other: no job of this run left a record of its cost; finish the run first"


def test_a_job_of_which_no_experiment_keeps_trials_keeps_none(job, monkeypatch):
    monkeypatch.setattr(decide, "member_seconds", lambda _: {})
    job["job"]["members"] = [
        member for member in job["job"]["members"] if not KEEPING & {Path(file).stem for file in member["outputs"]}
    ]
    cost = decide._cost("results/mine/s/data/last.nc", job, "s/data/last.nc", Path("logs/mine"))
    assert cost == decide.Cost("s/all", 70.5, False)


def test_files_of_other_runs_cost_this_one_nothing_and_the_last_job_that_made_a_file_counts(job, monkeypatch):
    """A run that starts as a copy of another may have records of it."""
    file = "results/mine/s/data/first.nc"
    before = job | {"log": "s/before", "cpu_seconds": 3.0, "outputs": {file: "old"}, "finished": "1"}
    apart = job | {"log": "s/apart", "outputs": {"results/mine-decided/s/data/first.nc": "x"}, "finished": "3"}
    latest = job | {"outputs": {file: "new", "results/minedata/s/a.nc": "y"}}
    monkeypatch.setattr(decide, "member_seconds", lambda _: {})
    monkeypatch.setattr(decide.records, "of_run", lambda _: [latest, before, apart])
    assert decide._costs("mine") == {"s/data/first.nc": decide.Cost("s/all", 70.5, True)}


GROWN = {  # study -> section -> datasets with more trials -> claims on them
    "s": {"a": {"loss": ["x-1", "z-1"]}, "b": {"rate": ["x-2", "z-1"], "fit": ["x-9"]}, "c": {"cut": ["z-3", "x-4"]}},
    "t": {"a": {"norm": ["y-3", "y-2", "y-6"]}, "b": {"other": ["y-7"]}},
}


@pytest.mark.parametrize(("budget", "bought"), [(35.0, ["y-6", "x-1", "x-2", "x-4"]), (34.9, ["y-6", "x-1"])])
def test_a_look_grows_every_setting_of_what_it_buys_and_counts_for_every_claim_on_it(
    tmp_path, monkeypatch, budget, bought
):
    """The last of s wants no more than what others have asked for and is for nothing; one of t is too dear.

    x-4 wants twice as many of the settings of x-1 and of x-2: without those of x-2 it is too dear as well.
    """
    monkeypatch.chdir(tmp_path)
    Path("results/mine").mkdir(parents=True)
    configuration = {"run": {"name": "mine", "looks": {"x-1": 3, "w-0": 5, "y-2": 1}}}
    Path("results/mine/manifest.json").write_text(json.dumps({"configuration": configuration}))
    datasets = {
        study: {name: ids for own in parts.values() for name, ids in own.items()} for study, parts in GROWN.items()
    }
    monkeypatch.setattr(
        decide, "read_study", lambda study: SimpleNamespace(name=study, claims_of=datasets[study].__getitem__)
    )
    monkeypatch.setattr(
        decide,
        "_grown",
        lambda study, graph, sections: [name for part in sorted(sections) for name in GROWN[graph.name][part]],
    )
    needs = [
        decide.Need(1, "", {("a", "seeds"): 3}, 1.5, False, "y-6", "t", 5.0),
        decide.Need(2, "", {("a", "seeds"): 3, ("b", "runs"): 5}, 4.0, True, "x-1", "s", 10.0),
        decide.Need(1, "", {("b", "runs"): 5, ("c", "draws"): 7, ("a", "seeds"): 3}, 2.0, True, "x-2", "s", 20.0),
        decide.Need(3, "", {("b", "seeds"): 2}, 8.0, False, "y-3", "t", 100.0),
        decide.Need(1, "", {("a", "seeds"): 3, ("c", "draws"): 7}, 2.0, True, "x-4", "s", 200.0),
        decide.Need(None, "a border case", id="y-7", study="t"),
    ]
    step = decide.plan("mine", budget, iter(needs))
    assert [need.id for need in step.chosen] == bought
    looks = {"x-1": 5, "w-0": 5, "y-2": 2, "z-1": 3, "x-2": 3, "x-9": 3}
    settings = {"a": {"seeds": 12}, "b": {"runs": 20}}
    if "x-2" in bought:
        looks |= {"z-3": 2, "x-4": 2}
        settings["c"] = {"draws": 14}
    assert step.settings == {"run": {"looks": looks}, "s": settings, "t": {"a": {"seeds": 5}}}


RECORD = (
    '{{"outputs": {{"results/{run}/s/a.nc": "1", "results/{run}/t/b.nc": "2"}}, '
    '"inputs": {{"results/{run}/c.nc": "3", "results/mine-too/d.nc": "4"}}}}'
)
RECORDS = ("s/a.log.cost.json", "s/deeper/b.log.cost.json", "images.log.cost.json")
LINKED = ("results/{run}/manifest.json", "results/{run}/s/a.nc", "results/{run}/t/deep/b.nc", "logs/{run}/s/a.log")
KEPT = ("logs/{run}/s/a.log.kept/one/a.nc", "logs/{run}/s/b.log.kept/two/b.nc")


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """Starts a run as a copy of another with several results, logs and records."""
    monkeypatch.chdir(tmp_path)
    for name in (*LINKED, *KEPT, *(f"logs/{{run}}/{record}" for record in RECORDS)):
        file = Path(name.format(run="mine"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(RECORD.format(run="mine") if name.endswith(".cost.json") else f"text of {name}")
        os.utime(file, (1000, 1000))
    return lambda: decide.begin("mine", "new")


def files(pattern):
    return sorted(path.as_posix() for path in Path().glob(pattern) if path.is_file())


def test_a_run_starts_as_a_copy_of_another_that_it_never_changes(begun):
    before = {name: Path(name).read_text() for name in files("*/mine/**/*")}
    begun()
    assert files("*/new/**/*") == [name.replace("/mine/", "/new/") for name in before]
    for name in (*LINKED, *KEPT):
        old, new = (Path(name.format(run=run)) for run in ("mine", "new"))
        assert new.samefile(old) is (name in LINKED), name  # what is kept gets another time when it is put back
        assert (new.read_text(), new.stat().st_mtime) == (f"text of {name}", 1000)
    for record in RECORDS:
        assert Path("logs/new", record).read_text() == RECORD.format(run="new")
    assert {name: Path(name).read_text() for name in files("*/mine/**/*")} == before


def test_where_a_file_has_no_second_name_it_is_copied_with_its_time(begun, monkeypatch):
    def refused(*_):
        raise OSError("no links here")

    monkeypatch.setattr(decide.os, "link", refused)
    begun()
    for name in LINKED:
        old, new = (Path(name.format(run=run)) for run in ("mine", "new"))
        assert not new.samefile(old)
        assert (new.read_text(), new.stat().st_mtime) == (f"text of {name}", 1000)


@pytest.mark.parametrize("kind", ["results", "logs"])
def test_a_copy_that_has_gone_on_is_left_as_it_is_and_what_it_lacks_is_copied(begun, kind):
    """The second look goes on in the copy; a start may have been stopped between results and logs."""
    own = Path(kind, "new/s/own")
    own.parent.mkdir(parents=True)
    own.write_text("of the copy")
    begun()
    assert files(f"{kind}/new/**/*") == [own.as_posix()]
    other = {"results": "logs", "logs": "results"}[kind]
    assert files(f"{other}/new/**/*") == [name.replace("/mine/", "/new/") for name in files(f"{other}/mine/**/*")]


def test_trials_of_several_sections_grow_their_datasets_and_what_is_made_from_these_in_any_order(monkeypatch):
    """Two thirds of three times as many are new; the two analyses are one job, which computes all."""
    reads = {"deep": ["fit"], "loss": [], "apart": ["other"], "rate": [], "fit": ["other", "rate"], "other": []}
    sections = {"loss": ["a"], "rate": ["d", "b"], "other": ["c"]}
    graph = SimpleNamespace(experiments={name: SimpleNamespace(reads=own) for name, own in reads.items()})
    monkeypatch.setattr(decide, "read_study", lambda study: graph if study == "s" else None)
    monkeypatch.setattr(
        decide, "counts", lambda study, graph, name: [(part, "seeds") for part in sections.get(name, [])]
    )
    assert decide._grown("s", graph, {"a", "b"}) == ["deep", "loss", "rate", "fit"]
    assert decide._grown("s", graph, {"c"}) == ["deep", "apart", "fit", "other"]
    costs = {
        "s/data/other.nc": decide.Cost("s/other", 900.0, True),
        "s/data/loss.nc": decide.Cost("s/loss", 10.0, True),
        "s/data/rate/x.nc": decide.Cost("s/rate-x", 20.0, True),
        "s/data/rate/y.nc": decide.Cost("s/rate-y", 30.0, True),
        "s/data/rate_more.nc": decide.Cost("s/more", 700.0, True),
        "s/data/fit.nc": decide.Cost("s/measures", 5.0, False),
        "s/data/deep.nc": decide.Cost("s/measures", 5.0, False),
        "s/data/apart.nc": decide.Cost("s/apart", 800.0, False),
        "t/data/loss.nc": decide.Cost("t/loss", 600.0, False),
    }
    knobs = {("a", "seeds"): 3, ("b", "seeds"): 4}
    assert decide._seconds("s", knobs, 3.0, costs) == 2 * (10 + 20 + 30) + 3 * 5


def test_an_overlay_says_what_it_is_for_and_holds_all_settings_under_the_name_of_the_copy():
    looks = {"b-2": 3, "a-1": 2, "c-3": 5}
    settings = {"s": {"trained": {"seeds": 6, "nets": 4}, "drawn": {"trials": 8}}, "run": {"looks": looks}}
    assert (
        decide.overlay(settings | {"t": {"chains": {"runs": 10}}}, "mine-decided")
        == """\
# Written by `python -m repdyn decide`: more trials for claims that were open, and how often each was
# looked at since. To repeat the run by hand, give this file after that of its scale.

s:
  trained:
    seeds: 6
    nets: 4
  drawn:
    trials: 8
run:
  name: mine-decided
  looks:
    b-2: 3
    a-1: 2
    c-3: 5
t:
  chains:
    runs: 10
"""
    )
