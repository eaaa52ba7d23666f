"""What an open claim wants, at the borders: no interval, one sample, no estimate, no setting, several studies."""

import math

import pytest
from tests.pipeline.test_decide import ABOVE_ZERO, evidence

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
