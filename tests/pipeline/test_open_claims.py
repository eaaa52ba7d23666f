"""What an open claim wants, at the borders: no interval, one sample, no estimate, no setting, several studies."""

import math
from types import SimpleNamespace

import pytest
from tests.pipeline.test_decide import ABOVE_ZERO, evidence

from repdyn.base.settings import Settings
from repdyn.pipeline import open_claims

CLAIM = {"study": "leaky_resnets", "datasets": "staged", "note": ""}
SETTINGS = {"discretized": {"staged_seeds": 6, "blocks": 2}}


def of(value, interval, region, **more):
    (row,) = evidence(("undecided", value, interval, region, *more.items()))
    return row


def test_a_claim_wants_twice_its_trials_as_often_as_they_are_doubled():
    wants = open_claims.wanted(CLAIM, [of(1.0, (-1.0, 3.0), ABOVE_ZERO)], SETTINGS)
    assert (wants.doublings, wants.factor, wants.seen) == (3, 8.0, True)
    assert (wants.reason, wants.knobs) == ("8 times as many trials", {("discretized", "staged_seeds"): 6})


def test_too_few_trials_are_told_before_the_evidence_is_asked():
    note = "Needs more than this run has: staged: 9 along seed, has 6."
    wants = open_claims.wanted(CLAIM | {"note": note}, [of(1.0, (-1.0, 3.0), ABOVE_ZERO)], SETTINGS)
    assert (wants.doublings, wants.factor, wants.seen, wants.reason) == (1, 1.5, False, "9 along seed, has 6")
    assert wants.knobs == {("discretized", "staged_seeds"): 6}


@pytest.mark.parametrize("datasets", ["exact", "images", ""])
def test_data_whose_trials_no_setting_counts_want_nothing(datasets):
    wants = open_claims.wanted(CLAIM | {"datasets": datasets}, [of(1.0, (-1.0, 3.0), ABOVE_ZERO)], SETTINGS)
    assert (wants.doublings, wants.knobs, wants.factor) == (None, {}, 1.0)
    assert wants.says == "More trials do not: no setting says how many trials its data have."


def test_what_no_trials_decide_is_asked_of_no_setting():
    wants = open_claims.wanted(CLAIM, [of(0.0, (-1.0, 1.0), ABOVE_ZERO)], {})
    assert (wants.doublings, wants.knobs, wants.factor) == (None, {}, 1.0)
    assert wants.reason == "a border case: not even 64 times as many trials"


@pytest.mark.parametrize(
    ("row", "doublings"),
    [
        (of("", (-1.0, 3.0), ABOVE_ZERO), 3),  # no estimate: the middle of the interval stands for it
        (of("", (-3.0, 1.0), (-math.inf, 0.0)), 3),
        (of(1.0, (-1.0, 3.0), ABOVE_ZERO, n="1"), None),
        (of(1.0, (-1.0, 3.0), ABOVE_ZERO, n=""), None),
        (of(1.0, (0.0, 3.0), ABOVE_ZERO), None),  # the border is the end
        (of(1.0, (-1.0, 0.0), ABOVE_ZERO), None),
        (of(1.0, (0.5, 3.0), ABOVE_ZERO), None),
        (of(2.5, (1.0, 3.0), (-math.inf, 2.0)), 4),  # the reach below, 1.5, is to shrink to 0.5: nine times as many
        (of(0.0, (-1.0, 1.0), ABOVE_ZERO), open_claims.MOST_DOUBLINGS + 1),
    ],
)
def test_doublings_of_one_interval(row, doublings):
    assert open_claims._of_interval(row) == doublings


def test_no_false_alarm_to_spend_is_no_interval():
    assert open_claims._of_interval(of(1.0, (-1.0, 3.0), ABOVE_ZERO) | {"false_alarm": "0"}) is None
    assert open_claims._of_interval(of(1.0, (-1.0, 3.0), ABOVE_ZERO) | {"false_alarm": ""}) is None


def test_readings_are_those_of_their_own_part_and_form():
    whole = ("undecided", "", None, ("", ""), ("part", "a"))
    near = [("undecided", 1.0, (-0.1, 2.1), ABOVE_ZERO, ("part", "a"), ("reading", f"{k}")) for k in range(3)]
    far = [("undecided", 1.0, (-1.0, 3.0), ABOVE_ZERO, ("part", "b"), ("reading", f"{k}")) for k in range(3)]
    rows = evidence(whole, *far, *near)
    assert open_claims.doublings(rows, "")[0] == 1
    other = [row | {"form": "corrected"} if row["part"] == "b" else row for row in rows]
    moved = [row | {"part": "a"} for row in other]
    assert open_claims.doublings(moved, "")[0] == 1


class Few(Settings):
    note: str
    runs: int
    seeds: int


class Drawn(Settings):
    teachers: float
    draws: int


class Blocks(Settings):
    staged_seeds: int
    blocks: int


class Trained(Settings):
    trials: int


class First(Trained):
    pass


class Second(Trained):
    pass


class Sections(Settings):
    number: int
    few: Few
    drawn: Drawn
    blocks: Blocks
    first: First
    second: Second


EXPERIMENTS = {  # name -> parameters, what it reads, attributes that it uses, the settings that count
    "loss": ({"settings": "Few", "more": "Drawn", "checkpoint": "Store"}, (), {"runs"}, ["few runs", "drawn draws"]),
    "each": ({"settings": "Few"}, (), {"runs", "note", "seeds"}, ["few seeds", "few runs"]),
    "passed_on": ({"drawn": "Drawn", "settings": "Few"}, (), set(), ["drawn draws", "few seeds", "few runs"]),
    "a_block": ({"settings": "Blocks", "block": "int"}, (), {"staged_seeds"}, ["blocks blocks"]),
    "blocks_of_all": ({"settings": "Blocks"}, (), {"staged_seeds"}, ["blocks staged_seeds"]),
    "second": ({"settings": "Trained"}, (), set(), ["second trials"]),
    "of_either": ({"settings": "Trained", "few": "Few"}, (), {"seeds"}, ["few seeds"]),
    "fit": ({"loss": "Few", "second": "Dataset"}, ("loss", "second"), set(), []),
    "deeper": ({"fit": "Dataset", "a_block": "Dataset"}, ("fit", "a_block"), set(), []),
    "counted": ({"fit": "Dataset", "settings": "Drawn"}, ("fit",), set(), ["drawn draws"]),
}


@pytest.fixture
def study(monkeypatch):
    """A study with experiments of every kind."""
    functions = {
        name: SimpleNamespace(name=name, parameters=parameters, reads=reads)
        for name, (parameters, reads, _, _) in EXPERIMENTS.items()
    }
    graph = SimpleNamespace(experiments=functions)
    monkeypatch.setattr(open_claims.studies, "declared", lambda: {"s": SimpleNamespace(settings=Sections)})
    monkeypatch.setattr(open_claims, "read_study", lambda name: graph if name == "s" else None)
    monkeypatch.setattr(open_claims, "_attributes", lambda name, function: EXPERIMENTS[function.name][2])
    return graph


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_all_settings_that_count_an_experiments_trials_are_found_among_its_parameters(study, name):
    assert [" ".join(knob) for knob in open_claims.counts("s", study, name)] == EXPERIMENTS[name][3]


def test_a_claim_on_several_datasets_wants_the_settings_of_all_that_is_behind_them(study):
    """An analysis with trials of its own does not want those of what it reads."""
    values = {
        "few": {"seeds": 3, "runs": 4, "note": 0},
        "drawn": {"draws": 5, "teachers": 0},
        "blocks": {"blocks": 6, "staged_seeds": 7},
        "second": {"trials": 8},
        "first": {"trials": 9},
    }
    behind = {("few", "runs"): 4, ("drawn", "draws"): 5, ("second", "trials"): 8, ("blocks", "blocks"): 6}
    assert open_claims.knobs("s", ["deeper"], values) == behind
    assert open_claims.knobs("s", ["counted"], values) == {("drawn", "draws"): 5}
    assert open_claims.knobs("s", ["images", "counted", "a_block", "of_either"], values) == {
        ("drawn", "draws"): 5,
        ("blocks", "blocks"): 6,
        ("few", "seeds"): 3,
    }
    assert open_claims.knobs("s", ["images"], values) == {}
