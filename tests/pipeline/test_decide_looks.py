"""Look after look at open claims: what is asked of the workflow, how the budget falls, what a person is told."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from repdyn.base.errors import RepdynError
from repdyn.pipeline.ask import decide
from repdyn.pipeline.ask.decide import Need
from repdyn.pipeline.config import yaml_positions


class Looks:
    """Runs that are made up: what is open after each look, what each look takes, and what was asked of them."""

    def __init__(self, monkeypatch, tmp_path, open_after, *, took=60.0, settings=()):
        monkeypatch.chdir(tmp_path)
        self.open_after, self.took, self.begun, self.options, self.said = list(open_after), took, [], [], []
        self.asked, self.budgets, self.settings = [], [], iter(settings)
        for name in ("needs", "plan", "begin", "go_on"):
            monkeypatch.setattr(decide, name, getattr(self, name))

    def needs(self, run):
        self.asked.append(run)
        return [Need(1, "2 times", {}, 2.0, True, id, "s", 30.0) for id in self.open_after[len(self.options)]]

    def plan(self, run, budget, found):
        self.budgets.append(budget)
        own = next(self.settings, {"run": {"looks": {}}})
        decidable = [need for need in found if not need.id.startswith("border")]
        return decide.Round(own, [need for need in decidable if need.seconds <= budget])

    def begin(self, run, name):
        self.begun.append((run, name))

    def go_on(self, name, options, cores):
        self.options.append((name, options, cores))
        return self.took

    def decide(self, run="mine", *, budget=1000.0, looks=None):
        decide.decide(run, ["--configfile", "full.yaml"], budget=budget, looks=looks, cores=3, say=self.said.append)


def test_looks_end_where_nothing_is_open_that_trials_decide(monkeypatch, tmp_path):
    first = {"run": {"looks": {"b": 2, "a": 2}}, "s": {"trained": {"seeds": 6, "nets": 2}}}
    second = {"run": {"looks": {"a": 3}}, "s": {"trained": {"seeds": 12}}}
    open_after = [["border-2", "b", "border-1", "a"], ["border-2", "a", "border-1"], ["border-2", "border-1"]]
    looks = Looks(monkeypatch, tmp_path, open_after, settings=[first, second])
    looks.decide()
    overlay = str(Path("config/mine-decided.yaml"))
    assert looks.begun == [("mine", "mine-decided"), ("mine-decided", "mine-decided")]
    assert looks.options == [("mine-decided", ["--configfile", "full.yaml", overlay], 3)] * 2
    assert looks.budgets == [1000.0, 940.0, 880.0]
    assert yaml_positions.values(Path(overlay)) == {
        "run": {"name": "mine-decided", "looks": {"b": 2, "a": 3}},
        "s": {"trained": {"seeds": 12, "nets": 2}},
    }
    assert [line.split()[0] for line in looks.said[-1].splitlines()] == ["claim", "border-2", "border-1"]
    assert looks.said[:-1] == [
        "mine: 4 claims open; more trials for b, a",
        "mine-decided: 1.0 core-minutes, 15.7 left",
        "mine-decided: 3 claims open; more trials for a",
        "mine-decided: 1.0 core-minutes, 14.7 left",
        f"decided: a, b\nby hand: snakemake --cores 3 --configfile full.yaml {overlay} -- all",
    ]


@pytest.mark.parametrize(
    ("limits", "number"), [({"looks": 1}, 1), ({"looks": 0}, 0), ({"budget": 89.0}, 1), ({"budget": 90.0}, 2)]
)
def test_looks_end_with_their_number_and_with_the_budget(monkeypatch, tmp_path, limits, number):
    looks = Looks(monkeypatch, tmp_path, [["a"]] * 9)
    looks.decide(**limits)
    assert len(looks.options) == number
    assert Path("config/mine-decided.yaml").exists() is bool(number)
    assert any(text.startswith("decided: none") for text in looks.said) is bool(number)


def test_what_a_look_takes_beyond_the_budget_leaves_none(monkeypatch, tmp_path):
    looks = Looks(monkeypatch, tmp_path, [["a"]] * 3, took=600.0)
    looks.decide(budget=300.0)
    assert looks.said[1] == "mine-decided: 10.0 core-minutes, 0.0 left"
    assert len(looks.options) == 1


def test_a_run_that_was_looked_at_goes_on_under_its_name(monkeypatch, tmp_path):
    looks = Looks(monkeypatch, tmp_path, [["a"], []])
    looks.decide("mine-decided")
    assert looks.begun == [("mine-decided", "mine-decided")]
    assert looks.said[-2].startswith("decided: a\n")
    assert set(looks.asked) == {"mine-decided"}


def test_what_is_open_is_shown_with_what_it_wants_and_costs():
    wanted = [Need(1, "2 times", {}, 2.0, True, "lrn-fig2b", "s", 90.0), Need(None, "no trials", id="lrn-x", study="s")]
    head, first, second = decide.show(wanted).splitlines()
    assert (head.split(), first.split(), second.split()) == (
        ["claim", "core-minutes", "wants"],
        ["lrn-fig2b", "1.5", "2", "times"],
        ["lrn-x", "-", "no", "trials"],
    )
    assert head.index("core-minutes") + len("core-minutes") == first.index("1.5") + 3 == second.index("- ") + 1


@pytest.mark.parametrize("fails", [False, True])
def test_a_look_is_all_of_the_workflow_and_takes_what_its_jobs_took(monkeypatch, fails):
    commands, states = [], iter([[{"log": "a", "finished": 1, "cpu_seconds": 9}], []])
    again = [{"log": "a", "finished": 2, "cpu_seconds": 9, "spared_cpu_seconds": 4}]
    monkeypatch.setattr(decide.records, "of_run", lambda name: next(states) or again)
    monkeypatch.setattr(
        decide.subprocess,
        "run",
        lambda command, **options: commands.append(command) or SimpleNamespace(returncode=int(fails)),
    )
    if fails:
        with pytest.raises(
            RepdynError, match="the run mine failed: its logs are in logs/mine; the same command resumes"
        ):
            decide.go_on("mine", ["--configfile", "a.yaml"], 3)
    else:
        assert decide.go_on("mine", ["--configfile", "a.yaml"], 3) == 5
    assert commands[0][1:] == ["-m", "snakemake", "--cores", "3", "--configfile", "a.yaml", "--", "all"]
