"""What would decide an open claim: how many trials, and in which settings."""

import math

import pytest

from repdyn.pipeline import open_claims
from repdyn.pipeline.run.declare.graph import read_study

POSITIVE = (0.0, math.inf)
CLAIM = {"study": "leaky_resnets", "datasets": "staged", "why": "", "trials_needed": "", "trials_present": ""}
SETTINGS = {"discretized": {"staged_seeds": 6, "blocks": 2}}


def evidence(outcome, value, interval, region, **more):
    """A row of evidence; empty where there is no number."""
    numbers = dict(zip(("interval_low", "interval_high"), interval or ("", ""), strict=True))
    numbers |= dict(zip(("region_low", "region_high"), region, strict=True)) | {"value": value}
    texts = {name: "" if number == "" or math.isinf(number) else str(number) for name, number in numbers.items()}
    row = {"id": "x", "form": "printed", "part": "", "reading": "", "n": "100", "false_alarm": "0.001"}
    return row | {"measured": "", "tolerance_reason": "", "outcome": outcome} | texts | more


def undecided(value, interval, region=POSITIVE, **more):
    return evidence("undecided", value, interval, region, **more)


def doublings(*rows):
    return open_claims.doublings(list(rows), "")[0]


def test_interval_needs_this_many_doublings_of_trials():
    cases = [
        (undecided(1.0, (-0.1, 2.1)), 1),  # 1.21 times as many would do
        (undecided(1.0, (-1.0, 3.0)), 3),  # four times, and wider intervals of two analyses: eight
        (undecided(-1.0, (-3.0, 1.0)), 3),  # refuted by as many
        (undecided(1.0, (-6.0, 8.0)), None),  # 49 times
        (undecided(0.0, (-1.0, 1.0)), None),  # on the boundary
        (undecided(1e-9, (-1e300, 1e300)), None),  # of networks that have diverged
        (undecided(0.9, (0.0, 1.8), (0.3, 1.5)), 2),  # 2.25 times as many and another analysis
        (undecided(0.9, (0.0, 1.8), (0.3, 1e9)), 2),
        (undecided(0.9, (0.0, 1.8), (-1e9, 1.5)), 2),
        (undecided(1.2, (0.3 - 1e-9, 2.1 + 1e-9), (0.3, 1.5)), 4),  # 0.3 to the nearer end, a third of the width
        (undecided("", (-1.0, 3.0)), 3),  # without an estimate, the middle of the interval
        (undecided("", (-3.0, 1.0), (-math.inf, 0.0)), 3),
        (undecided(2.5, (1.0, 3.0), (-math.inf, 2.0)), 4),  # 1.5 below must shrink to 0.5: nine times as many
        (undecided(1.0, (-1.0, 3.0), n="1"), None),
        (undecided(1.0, (-1.0, 3.0), n=""), None),
        (undecided(1.0, (0.0, 3.0)), None),  # the boundary is the end
        (undecided(1.0, (-1.0, 3.0), false_alarm="0"), None),
        (undecided(1.0, None, ("", "")), None),
        (undecided(1.0, (-0.7, 2.7)), 2),
        (undecided(1.0, (-0.7, 2.7), n="8"), 1),  # Student's quantile falls as well
    ]
    assert [(row, wanted, doublings(row)) for row, wanted in cases if doublings(row) != wanted] == []


def test_least_certain_undecided_part_determines_the_trials():
    near, far = undecided(1.0, (-0.1, 2.1), part="a"), undecided(1.0, (-1.0, 3.0), part="b")
    decided, hopeless = evidence("passes", 9.0, (1.0, 17.0), POSITIVE, part="c"), undecided(1.0, None, ("", ""))
    assert doublings(near, far, decided) == 3
    assert doublings(near, hopeless) is doublings(hopeless, near) is doublings() is None


def test_nine_readings_in_ten_are_enough():
    readings = [undecided(1.0, (-0.1, 2.1), reading=f"{k}") for k in range(9)]
    hopeless, whole = undecided(0.0, (-1.0, 1.0), reading="last"), undecided("", None, ("", ""))
    assert doublings(whole, *readings, hopeless) == 1
    assert doublings(whole, *readings[:8], hopeless, hopeless) is None


def test_no_trials_decide_a_part_whose_readings_are_decided_already():
    """Nine of ten pass and the tenth stays open, so that something else, as a control, keeps the claim open."""
    readings = [evidence("passes", 9.0, (1.0, 17.0), POSITIVE, reading=f"{k}") for k in range(9)]
    whole, last = undecided("", None, ("", "")), undecided(1.0, None, ("", ""), reading="last")
    assert open_claims.doublings([whole, *readings, last], "the control is open") == (None, "the control is open")


def test_readings_are_grouped_by_part_and_form():
    whole = undecided("", None, ("", ""), part="a")
    near = [undecided(1.0, (-0.1, 2.1), part="a", reading=f"{k}") for k in range(3)]
    for other in ({"part": "b"}, {"part": "a", "form": "corrected"}):
        far = [undecided(1.0, (-1.0, 3.0), reading=f"{k}", **other) for k in range(3)]
        assert doublings(whole, *far, *near) == 1


def test_claim_needs_the_trials_that_evidence_and_data_require():
    row = undecided(1.0, (-1.0, 3.0))
    wanted = open_claims.wanted(CLAIM, [row], SETTINGS)
    assert (wanted.doublings, wanted.factor, wanted.seen) == (3, 8.0, True)
    assert wanted.trial_settings == {("discretized", "staged_seeds"): 6}
    for datasets, settings, evidence in (
        ("exact", SETTINGS, row),  # no setting counts its trials
        ("images", SETTINGS, row),
        ("", SETTINGS, row),
        ("staged", {}, undecided(0.0, (-1.0, 1.0))),  # no number of trials decides it
    ):
        wanted = open_claims.wanted(CLAIM | {"datasets": datasets}, [evidence], settings)
        assert (wanted.doublings, wanted.trial_settings, wanted.factor) == (None, {}, 1.0), datasets


@pytest.mark.parametrize(
    ("study", "experiment", "counts"),
    [
        ("leaky_resnets", "trained", [("trained", "blocks")]),
        ("leaky_resnets", "staged", [("discretized", "staged_seeds")]),
        ("leaky_resnets", "overregularized", [("restarts", "teachers")]),
        ("universality", "default_ensemble", [("default_ensemble", "seeds")]),
        ("universality", "image_training", [("image_training", "trials")]),
        ("bn_decomposed", "largest_norm", [("largest_norm", "runs")]),
    ],
)
def test_setting_with_the_number_of_trials_is_found(study, experiment, counts):
    assert open_claims.counts(study, read_study(study), experiment) == counts


def test_analysis_has_the_trials_of_its_input():
    settings = {"default_ensemble": {"seeds": 5}, "default_network": {"seeds": 2}}
    found = open_claims.trial_settings("universality", ["default_ensemble_fits"], settings)
    assert found == {("default_ensemble", "seeds"): 5}
    settings = {"discretized": {"staged_seeds": 7}, "geodesics": {"seeds": 6}}
    for names in (("staged", "geodesics"), ("geodesics", "staged_measures")):
        found = open_claims.trial_settings("leaky_resnets", names, settings)
        assert found == {("discretized", "staged_seeds"): 7, ("geodesics", "seeds"): 6}
