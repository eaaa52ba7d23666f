"""Sentences on recordings of three seeds that differ, and which layer and which moments a sentence is of."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.diagnostics.test_training_of_unequal_layers import with_angles
from tests.diagnostics.test_training_summary import LATE, STEPS, through, told, where

from repdyn.diagnostics.theory.intervals import share
from repdyn.diagnostics.training_summary import summarize_training


def seeds(of_one, *numbers):
    """A recording of as many seeds as there are numbers."""
    return xr.concat([of_one(*each) for each in numbers], "seed", data_vars="all")


def test_ranks_of_three_seeds_are_their_geometric_mean():
    recorded = seeds(
        lambda start, end: through(effective_rank={"7": np.where(LATE, end, start)}), (11, 4), (8, 5), (20, 1)
    )
    sentence = told(recorded, "rank over time")
    assert sentence.text == "The effective rank of '7' falls from 12.1 to 2.71 between step 350 and step 400"
    np.testing.assert_allclose(sentence.interval, (11 / 4, 8 / 5, 20 / 1))


def test_the_share_before_collapse_is_that_of_the_seed_in_the_middle():
    def one(start, end):
        share = np.where(LATE, end, start)
        return through(within={"7": share}, between={"7": 1 - share})

    sentence = told(seeds(one, (0.5, 0.03), (0.9, 0.05), (0.58, 0.02)), "collapse over time")
    assert sentence.text == "Classes collapse in '7' from step 400 on; in '7', from 0.58 before"
    np.testing.assert_allclose(sentence.interval, (0.03, 0.02, 0.05))


def test_the_layer_nearest_to_the_task_is_that_of_the_seed_in_the_middle():
    def one(third, seventh):
        return through(centered_effective_rank={"3": np.where(LATE, third, 9.5), "7": np.where(LATE, seventh, 9.5)})

    sentence = told(seeds(one, (5.0, 5.5), (5.2, 5.6), (9.0, 5.7)), "rank of the task")
    assert sentence.text == "No layer comes down to the rank of the task, 3; nearest to it is '3'"
    np.testing.assert_allclose(sentence.interval, (5.2, 5.0, 9.0))  # of the second half of the moments


def test_the_largest_lead_is_of_one_seed_and_told_with_the_seed_in_the_middle():
    def one(third, seventh):
        return through(
            norm_ratio={
                "3": np.where(STEPS == 700, third, 1.5),
                "7": np.where(STEPS == 550, seventh, np.where(LATE, 11, 1.4)),
            }
        )

    sentence = told(seeds(one, (19.0, 15), (1.6, 14), (3.0, 13)), "odd point over time")
    assert sentence.text == (
        "One point is odd from step 400 on; in '3' at step 700 has 15 % of the lead that theory expects"
    )
    np.testing.assert_allclose(sentence.interval, (3, 1.6, 19))


NO_CLASS = -100
CLASSES = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, NO_CLASS], [30, 20, 10, 7]))
THEIRS = np.random.default_rng(1).permutation(np.repeat([0, 1, NO_CLASS], [24, 16, 9]))


@pytest.mark.parametrize("layers", [["input", "3", "7", "last"], ["input", "last"]])
def test_accuracy_is_of_the_worst_seed_and_the_points_that_have_a_class(layers):
    """Layers have no part in it. One seed has no accuracy at first."""

    def one(start, end, other_start, other_end):
        accuracies = np.where(LATE, end, start) / 60, np.where(LATE, other_end, other_start) / 40
        recorded = through(accuracy=accuracies[0]).assign(accuracy_held_out=("step", accuracies[1]))
        return recorded.drop_vars("label")

    recorded = seeds(one, (40, 57, 40, 22), (20, 54, 39, 20), (np.nan, 60, 38, 24)).sel(layer=layers)
    recorded = recorded.assign_coords(label=("point", CLASSES), label_held_out=("point_held_out", THEIRS))
    learned = told(recorded, "accuracy over time")
    assert learned.text == "More points are right than the largest class has from step 400 on"
    assert (learned.verdict, learned.interval, learned.threshold) == ("yes", share(54, 60), 30 / 60)
    memorized = told(recorded, "memorized over time")
    assert (memorized.verdict, memorized.interval, memorized.threshold) == ("yes", share(20, 40), 24 / 40)


# which layer, which moments


def test_the_interval_of_a_rank_is_students_for_as_many_layers_as_are_hidden():
    logs = np.linspace(2.4, 0.6, 21) + 0.03 * (-1) ** np.arange(21)
    sentence = told(through(effective_rank={"7": np.exp(logs)}), "rank over time")
    step = np.median(np.abs(np.diff(logs))) / stats.norm.ppf(0.75)
    half = stats.t.ppf(1 - 0.01 / 2 / 2, 10) * step
    assert (sentence.verdict, sentence.threshold) == ("yes", 1.5)
    np.testing.assert_allclose(np.log(sentence.interval), [1.8, 1.8 - half, 1.8 + half])


def test_the_rank_that_changes_most_may_rise():
    ranks = {"3": np.where(LATE, 12.0, 4.0), "7": np.where(LATE, 5.0, 10.0)}
    rises = told(through(effective_rank=ranks), "rank over time")
    assert rises.text == "The effective rank of '3' rises from 4 to 12 between step 350 and step 400"
    ranks["3"] = np.where(LATE, 6.4, 4.0)
    falls = told(through(effective_rank=ranks), "rank over time")
    assert falls.text == "The effective rank of '7' falls from 10 to 5 between step 350 and step 400"
    ranks["3"] = np.where(STEPS == 50, np.nan, np.where(LATE, 1.0, 4.0))
    assert told(through(effective_rank=ranks), "rank over time") == falls


def test_a_rank_that_changes_by_less_is_told_with_the_factor():
    steady = through(effective_rank={"3": np.where(LATE, 8.0, 8.4), "7": np.where(LATE, 8.0, 8.8)})
    sentence = told(steady, "rank over time")
    assert sentence.text == "The effective rank of no layer changes by a factor of 1.5; most in '7'"


def test_of_ranks_that_scatter_the_widest_is_told():
    waves = np.sin(2 * np.arange(21))
    ranks = {"3": 8 * np.exp(0.4 * waves), "7": 8 * np.exp(0.9 * waves)}
    both, first, second = (
        told(through(effective_rank=part), "rank over time") for part in (ranks, {"3": ranks["3"]}, {"7": ranks["7"]})
    )
    for name, sentence in (("3", first), ("7", second)):
        why = f"the rank of {name!r} scatters too much from moment to moment"
        assert sentence.text == f"Cannot tell whether training changes ranks: {why}"
    assert both == second
    assert both.interval.high / both.interval.low > first.interval.high / first.interval.low


def test_a_rank_that_may_have_risen_is_not_told():
    logs = np.linspace(1.4, 2.0, 21) + 0.04 * (-1) ** np.arange(21)
    sentence = told(through(effective_rank={"7": np.exp(logs)}), "rank over time")
    assert sentence.interval.low < 1 / 1.5 < sentence.interval.high < 1.5
    why = "the rank of '7' scatters too much from moment to moment"
    assert sentence.text == f"Cannot tell whether training changes ranks: {why}"


def test_what_holds_before_training_is_no_change_though_it_is_lost_in_between():
    at_ends = LATE | (STEPS == 0)
    share = np.where(at_ends, 0.03, 0.58)
    collapse = told(through(within={"7": share}, between={"7": 1 - share}), "collapse over time")
    assert collapse.text == "Cannot tell whether training collapses classes: '7' is collapsed at step 0 already"
    task = told(through(centered_effective_rank={"7": np.where(at_ends, 3.1, 9.0)}), "rank of the task")
    whether = "Cannot tell whether training brings a layer to the rank of the task"
    assert task.text == f"{whether}: '7' has it at step 0 already"


def test_a_layer_whose_rank_is_missing_is_not_the_nearest_to_the_task():
    ranks = {"3": np.where(STEPS == 50, np.nan, np.where(LATE, 3.0, 9.0)), "7": np.where(LATE, 3.3, 9.0)}
    sentence = told(through(centered_effective_rank=ranks), "rank of the task")
    assert sentence.text == "'7' comes down to the rank of the task, 3, from step 400 on"


def test_one_layer_may_have_the_odd_point_after_another():
    leads = {"3": np.where(LATE & (STEPS < 700), 16.0, 1.5), "7": np.where(STEPS >= 700, 13.0, 1.5)}
    sentence = told(through(norm_ratio=leads), "odd point over time")
    assert sentence.text.startswith("One point is odd from step 400 on; in '3' at step 400 has 80 %")


@pytest.mark.parametrize(
    ("angles", "verdict"),
    [((1.5, 1.6, 1.7), "no"), ((1.26, 1.3, 1.6), "cannot tell"), ((1.1, 1.3, 1.4), "cannot tell")],
)
def test_angles_may_lie_above_those_of_the_theory(angles, verdict):
    recorded = with_angles()
    recorded["angle"].loc[{"layer": "7", "step": 0}] = np.array(angles)
    assert told(recorded, "angles and theory").verdict == verdict


def test_few_moments_are_counted():
    for moments, words in ((3, "there are 3"), (1, "there is 1")):
        (sentence,) = summarize_training(through().isel(step=slice(moments)))
        assert sentence.text == f"Cannot tell whether training changes anything: it takes 4 moments and {words}"


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_output_is_no_hidden_layer_whatever_its_scale_and_where_numbers_are_lost(scale):
    recorded = through(norm_ratio={"7": where(LATE, 12.0, 1.5), "last": where(LATE, 19.0, 1.5)})
    for name in ("representation_distance", "prediction_distance"):
        recorded[name] *= scale
        recorded[name].loc[{"step": STEPS[STEPS > 800], "pair": "0-2"}] = np.nan
    assert "in '7'" in told(recorded, "odd point over time").text
