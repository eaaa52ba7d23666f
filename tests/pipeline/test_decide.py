"""`repdyn decide`: needs and costs of open claims, analyses within a budget, a run that starts from another."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from repdyn.base.errors import DataError, RepdynError
from repdyn.pipeline.ask import decide
from repdyn.pipeline.ask.decide import Need
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.run.declare.graph import read_study


def write_manifest(**configuration):
    path = Path("results/mine/manifest.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    rest = {"content": {}, "verdicts": None, "versions": {}, "machine": {}, "commit": "", "made": "", "costs": []}
    path.write_text(json.dumps({"configuration": configuration} | rest))


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# What is open and what it costs


def test_unfinished_runs_and_runs_without_costs_are_rejected():
    with pytest.raises(DataError):
        decide.needs("mine")
    with pytest.raises(DataError, match="logs/mine"):
        decide._costs("mine")


def test_more_trials_cost_the_new_ones_and_analyses_in_full(monkeypatch):
    """Two thirds of three times as many are new where finished trials are cached; other files and studies cost nothing.

    A run that starts as a copy of another may have records of it; the last job that wrote a file counts.
    """
    reads = {"deep": ["fit"], "loss": [], "apart": ["other"], "rate": [], "fit": ["other", "rate"], "other": []}
    sections = {"loss": ["a"], "rate": ["d", "b"], "other": ["c"]}
    keeping = {"loss", "rate"}
    graph = SimpleNamespace(
        experiments={
            name: SimpleNamespace(reads=own, parameters={"checkpoint"} & {name in keeping and "checkpoint"})
            for name, own in reads.items()
        }
    )
    monkeypatch.setattr(decide, "read_study", lambda study: graph if study == "s" else None)
    monkeypatch.setattr(
        decide, "counts", lambda study, graph, name: [(part, "seeds") for part in sections.get(name, [])]
    )
    costs = {"s/data/other": 900, "s/data/loss": 10, "s/data/rate/x": 20, "s/data/rate/y": 30, "s/data/rate_more": 700}
    costs |= {"s/data/fit": 5, "s/data/deep": 6, "s/data/apart": 800, "t/data/loss": 600}
    seconds = {f"results/mine/{name}.nc": float(took) for name, took in costs.items()}
    latest = {"outputs": dict.fromkeys(seconds, ""), "file_cpu_seconds": seconds, "finished": "2"}
    before = {"outputs": latest["outputs"], "file_cpu_seconds": dict.fromkeys(seconds, 1e3), "finished": "1"}
    copied = {"results/mine-decided/s/data/loss.nc": 9.0}
    apart = {"outputs": copied, "file_cpu_seconds": copied, "finished": "3"}
    monkeypatch.setattr(decide.records, "of_run", lambda _: [latest, before, apart])
    trial_settings = {("a", "seeds"): 3, ("b", "seeds"): 4}
    known = decide._costs("mine")
    assert known == {f"{name}.nc": took for name, took in costs.items()}
    assert decide._seconds("s", trial_settings, 3.0, known) == 2 * (10 + 20 + 30) + 3 * (5 + 6)


# Analyses within a budget


def needs(*ids):
    """Claims that each need one doubling, of different settings."""
    trial_settings = {"lrn-fig2b": {("discretized", "staged_seeds"): 3}, "lrn-fig1b": {("trained", "blocks"): 1}}
    return [Need(1, "2 times", trial_settings[id], 2.0, True, id, "leaky_resnets", seconds) for id, seconds in ids]


def leaky_run(**run):
    discretized = {"blocks": 2, "staged_seeds": 3}
    write_manifest(run={"name": "mine"} | run, leaky_resnets={"discretized": discretized, "trained": {"blocks": 1}})


def test_budget_selects_the_cheapest_and_counts_an_analysis_per_affected_claim():
    leaky_run(looks={"lrn-fig2b": 2})
    step = decide.plan("mine", 100.0, needs(("lrn-fig2b", 60.0), ("lrn-fig1b", 60.0)))
    assert [need.id for need in step.chosen] == ["lrn-fig2b"]
    assert step.settings["leaky_resnets"] == {"discretized": {"staged_seeds": 6}}
    looks = step.settings["run"]["looks"]
    assert looks["lrn-fig2b"] == 3
    assert set(read_study("leaky_resnets").claims_of("staged")) <= set(looks)
    assert set(looks.values()) == {2, 3}
    assert decide.plan("mine", 10.0, needs(("lrn-fig2b", 60.0))).chosen == []


@pytest.mark.parametrize("order", [1, -1])
def test_claims_on_the_same_trials_get_the_larger_number_once(order):
    """Four times as many also serve a claim that needs twice as many, at no cost; this is two analyses, not three."""
    leaky_run()
    trial_settings = {("discretized", "staged_seeds"): 3}
    wants = [(2, 4.0, "lrn-fig2b", 30.0), (1, 2.0, "lrn-fig1b", 10.0)][::order]
    found = [
        Need(more, "", trial_settings, factor, True, id, "leaky_resnets", took) for more, factor, id, took in wants
    ]
    step = decide.plan("mine", 30.0 if order == 1 else 40.0, found)
    assert [need.id for need in step.chosen] == [id for _, _, id, _ in wants]
    assert step.settings["leaky_resnets"] == {"discretized": {"staged_seeds": 12}}
    assert set(step.settings["run"]["looks"].values()) == {3}


def test_too_few_trials_are_first_increased_to_what_an_interval_requires():
    """Five networks, not eight; if no claim on the data has been analyzed, this is not a repeated analysis."""
    leaky_run()
    ids = ("lrn-literal", "lrn-sgd")
    found = [Need(3, "", {("paper_settings", "seeds"): 1}, 5.0, False, id, "leaky_resnets", 60.0) for id in ids]
    step = decide.plan("mine", 100.0, found)
    assert [need.id for need in step.chosen] == list(ids)
    assert step.settings["leaky_resnets"] == {"paper_settings": {"seeds": 5}}
    assert not set(ids) & set(step.settings["run"]["looks"])
    assert decide.plan("mine", 100.0, found[:1]).settings["run"]["looks"] == {ids[1]: 4}


# Repeated analyses


class Looks:
    """Synthetic runs: what is open after each analysis, the cost of each, and the recorded calls."""

    def __init__(self, monkeypatch, open_after, *, took=60.0, settings=()):
        self.open_after, self.took, self.settings = list(open_after), took, iter(settings)
        self.begun, self.options, self.budgets = [], [], []
        for name in ("needs", "plan", "begin", "go_on"):
            monkeypatch.setattr(decide, name, getattr(self, name))

    def needs(self, run):
        return [Need(1, "", {}, 2.0, True, id, "s", 30.0) for id in self.open_after[len(self.options)]]

    def plan(self, run, budget, found):
        self.budgets.append(budget)
        chosen = [need for need in found if not need.id.startswith("boundary") and need.seconds <= budget]
        return decide.Round(next(self.settings, {"run": {"looks": {}}}), chosen)

    def begin(self, run, name):
        self.begun.append((run, name))

    def go_on(self, name, options, cores):
        self.options.append((name, options, cores))
        return self.took

    def decide(self, run="mine", *, budget=1000.0, looks=None):
        decide.decide(run, ["--configfile", "full.yaml"], budget=budget, looks=looks, cores=3, say=lambda _: None)


def test_analyses_end_if_more_trials_decide_nothing(monkeypatch):
    first = {"run": {"looks": {"b": 2, "a": 2}}, "s": {"trained": {"seeds": 6, "nets": 2}}}
    second = {"run": {"looks": {"a": 3}}, "s": {"trained": {"seeds": 12}}}
    looks = Looks(monkeypatch, [["boundary", "b", "a"], ["boundary", "a"], ["boundary"]], settings=[first, second])
    looks.decide()
    overlay = str(Path("config/mine-decided.yaml"))
    assert looks.begun == [("mine", "mine-decided"), ("mine-decided", "mine-decided")]
    assert looks.options == [("mine-decided", ["--configfile", "full.yaml", overlay], 3)] * 2
    assert looks.budgets == [1000.0, 940.0, 880.0]
    assert yaml_positions.values(Path(overlay)) == {
        "run": {"name": "mine-decided", "looks": {"b": 2, "a": 3}},
        "s": {"trained": {"seeds": 12, "nets": 2}},
    }


@pytest.mark.parametrize(
    ("limits", "number"), [({"looks": 1}, 1), ({"looks": 0}, 0), ({"budget": 89.0}, 1), ({"budget": 90.0}, 2)]
)
def test_analyses_end_at_their_limit_or_the_budget(monkeypatch, limits, number):
    looks = Looks(monkeypatch, [["a"]] * 9)
    looks.decide("mine-decided", **limits)
    assert len(looks.options) == number
    assert set(looks.begun) <= {("mine-decided", "mine-decided")}
    assert Path("config/mine-decided.yaml").exists() is bool(number)


def test_each_analysis_runs_the_workflow_and_costs_the_jobs_that_ran(monkeypatch):
    """An earlier, more expensive run of a job is not credited; a job that read cached trials cost the rest."""
    before = [{"log": "a", "finished": 1, "cpu_seconds": 90.0}, {"log": "b", "finished": 1, "cpu_seconds": 20.0}]
    after = [{"log": "a", "finished": 2, "cpu_seconds": 100.0, "read_cpu_seconds": 90.0}, before[1]]
    after += [{"log": "c", "finished": 2, "cpu_seconds": 5.0}]
    states, commands, status = iter([before, after, before]), [], [0, 1]
    monkeypatch.setattr(decide.records, "of_run", lambda name: next(states))
    monkeypatch.setattr(
        decide.subprocess,
        "run",
        lambda command, **options: commands.append(command) or SimpleNamespace(returncode=status.pop(0), stderr="Lock"),
    )
    monkeypatch.setattr(decide.workflow, "jobs", lambda folder, options: [])
    monkeypatch.setattr(decide.verify, "examine", lambda name, jobs: {})
    assert decide.go_on("mine", ["--configfile", "a.yaml"], 3) == 15.0
    assert commands[0][1:] == ["-m", "snakemake", "--cores", "3", "--configfile", "a.yaml", "--", "all"]
    with pytest.raises(RepdynError, match=r"logs/mine(.|\n)*Lock"):
        decide.go_on("mine", [], 3)


def test_copied_files_that_are_not_those_of_the_settings_are_made_again(monkeypatch):
    reasons = iter([{"results/mine/a.nc": "other settings (s.seeds)"}, {"results/mine/a.nc": ""}])
    commands = []
    monkeypatch.setattr(decide.records, "of_run", lambda name: [])
    monkeypatch.setattr(decide, "_snakemake", lambda command, name: commands.append(command[5:]))
    monkeypatch.setattr(
        decide.workflow, "jobs", lambda folder, options: [SimpleNamespace(outputs=["results/mine/a.nc"])]
    )
    monkeypatch.setattr(decide.verify, "examine", lambda name, jobs: next(reasons))
    decide.go_on("mine", [], 1)
    assert commands == [["--", "all"], ["--forcerun", "results/mine/a.nc", "--", "all"]]


# A run that starts from another

RECORD = (
    '{{"outputs": {{"results/{run}/s/a.nc": "1", "results/{run}/t/b.nc": "2"}}, '
    '"inputs": {{"results/{run}/c.nc": "3", "results/mine-too/d.nc": "4"}}}}'
)
RECORDS = ("s/a.log.cost.json", "s/deeper/b.log.cost.json", "images.log.cost.json")
LINKED = ("results/{run}/manifest.json", "results/{run}/s/a.nc", "results/{run}/t/deep/b.nc", "logs/{run}/s/a.log")


def files(pattern):
    return sorted(path.as_posix() for path in Path().glob(pattern) if path.is_file())


@pytest.fixture
def begin():
    """Starts a run as a copy of another with several results, logs and records."""
    for name in (*LINKED, *(f"logs/{{run}}/{record}" for record in RECORDS)):
        file = Path(name.format(run="mine"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(RECORD.format(run="mine") if name.endswith(".cost.json") else f"text of {name}")
        os.utime(file, (1000, 1000))
    return lambda: decide.begin("mine", "new")


@pytest.mark.parametrize("links", [True, False])
def test_run_starts_as_a_copy_and_never_changes_the_original(begin, monkeypatch, links):
    def refuse(*_):
        raise OSError("no links here")

    if not links:
        monkeypatch.setattr(decide.os, "link", refuse)
    before = {name: Path(name).read_text() for name in files("*/mine/**/*")}
    begin()
    assert files("*/new/**/*") == [name.replace("/mine/", "/new/") for name in before]
    for name in LINKED:
        old, new = (Path(name.format(run=run)) for run in ("mine", "new"))
        assert new.samefile(old) is links, name
        assert (new.read_text(), new.stat().st_mtime) == (f"text of {name}", 1000)
    for record in RECORDS:
        assert Path("logs/new", record).read_text() == RECORD.format(run="new")
    assert {name: Path(name).read_text() for name in files("*/mine/**/*")} == before


@pytest.mark.parametrize("kind", ["results", "logs"])
def test_continued_copy_is_unchanged_and_missing_files_are_copied(begin, kind):
    """The second analysis continues in the copy; copying may have stopped between results and logs."""
    own = Path(kind, "new/s/own")
    own.parent.mkdir(parents=True)
    own.write_text("of the copy")
    begin()
    assert files(f"{kind}/new/**/*") == [own.as_posix()]
    other = {"results": "logs", "logs": "results"}[kind]
    assert files(f"{other}/new/**/*") == [name.replace("/mine/", "/new/") for name in files(f"{other}/mine/**/*")]
