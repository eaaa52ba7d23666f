"""Sentences on recordings whose course is written down by hand, and silence on noise."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from repdyn.diagnostics.theory.moments import between, change, since, smallest_share_by_chance
from repdyn.diagnostics.training_summary import TOPICS, summarize_training
from repdyn.universality.theory.effective import effective_solution

STEPS = 50 * np.arange(21)
LATE = STEPS >= 400
LAYERS = ["input", "3", "7", "last"]
LABELS = np.arange(60) % 3
PAIRS = ["0-1", "0-2"]


def through(**values):
    """A recording of three classes; of what is not given, steady values that nothing follows from.

    Args:
        values: by name, for all layers or by layer a number per step.
    """
    wobble = 1 + 1e-3 * np.cos(STEPS)
    steady = {"within": 0.6, "between": 0.4, "effective_rank": 8.0, "centered_effective_rank": 8.0, "norm_ratio": 1.5}
    variables = {}
    for name, number in steady.items():
        given = values.get(name, {})
        columns = [wobble * number if layer not in given else given[layer] for layer in LAYERS]
        variables[name] = ("step", "layer"), np.transpose(columns)
    variables["accuracy"] = "step", values.get("accuracy", np.full(21, 20 / 60))
    variables["task_rank"], variables["expected_norm_ratio"] = ((), 3), ((), 20.0)
    recorded = xr.Dataset(variables, {"layer": LAYERS, "label": ("point", LABELS)}, {"time": "step"})
    # the last layer is what the network returns: its pairs are as far apart as those of the output
    h = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 3.0], [4.0, 5.0]]) * wobble[:, None, None]
    recorded["representation_distance"] = ("step", "layer", "pair"), h
    recorded["prediction_distance"] = ("step", "pair"), h[:, -1]
    return recorded.assign_coords(pair=PAIRS, step=("step", STEPS, {"units": "1"}))


def told(recorded, topic):
    return next(sentence for sentence in summarize_training(recorded) if sentence.topic == topic)


def where(condition, yes, no):
    """One of two numbers per step, wobbling so that it is no constant."""
    return np.where(condition, yes, no) * (1 + 1e-2 * np.sin(STEPS))


# since when, by which factor


@pytest.mark.parametrize(
    "flags", [[0, 0, 1, 1], [0, 1, 0, 1, 1], [1, 0, 0, 1], [1, 1, 1], [0, 0], [1, 0], [0, 1, 1, 1]]
)
def test_a_run_at_the_end_is_as_likely_as_among_all_orders(flags):
    def run(order):
        return next((place for place, flag in enumerate(reversed(order)) if not flag), len(order))

    orders = list(itertools.permutations(flags))
    longest = sum(run(order) >= run(flags) for order in orders) / len(orders)
    assert since(np.array(flags, bool)) == (len(flags) - run(flags), pytest.approx(longest))


@pytest.mark.parametrize("moments", [4, 6, 12, 40])
def test_the_interval_of_a_change_holds_one_in_99_of_100_cases_of_noise(moments):
    logs = 0.4 * np.random.default_rng(0).normal(size=(2000, moments))
    misses = sum(not entry.low <= 1 <= entry.high for entry in map(change, np.exp(logs)))
    assert stats.binomtest(misses, 2000, 0.01, alternative="greater").pvalue > 1e-3
    wider, found = change(np.exp(logs[0]), tests=5), change(np.exp(logs[0]))
    assert wider.value == found.value
    assert wider.low < found.low < found.high < wider.high


def test_the_interval_of_a_change_is_students():
    logs = np.array([3.0, 2.0, 2.5, 2.2, 0.0])
    half = stats.t.ppf(0.995, 2) * 0.75 / stats.norm.ppf(0.75)  # the steps are 1, 0.5, 0.3, 2.2
    np.testing.assert_allclose(np.log(change(np.exp(logs))), [3, 3 - half, 3 + half])


def test_the_factor_of_a_change_and_where_it_happens():
    assert change(np.array([6.0, 9.0, 1.0, 4.0])).value == pytest.approx(6 / 4)
    assert np.isnan(change(np.array([6.0, 0.0, 2.0, 2.0])).value)
    assert between(np.array([11.0, 11, 11, 7, 4, 4, 4, 4])) == (2, 4)
    assert between(np.array([4.0, 11, 11, 11])) == (0, 1)


@pytest.mark.parametrize(("points", "classes"), [(6, 2), (12, 3), (60, 3)])
def test_chance_alone_has_a_smaller_share_in_one_case_of_200(points, classes):
    labels = np.arange(points) % classes
    X = np.random.default_rng(1).normal(size=(20_000, points))
    means = np.stack([X[:, labels == c].mean(axis=1) for c in range(classes)], axis=1)
    within = ((X - means[:, labels]) ** 2).mean(axis=1)
    shares = within / (within + means.var(axis=1))
    below = int((shares < smallest_share_by_chance(labels)).sum())
    assert stats.binomtest(below, 20_000, 0.005).pvalue > 1e-3
    assert smallest_share_by_chance(np.arange(3)) == 0


# when it learned


def test_accuracy_is_above_chance_from_a_step_on():
    z2 = stats.norm.ppf(0.995) ** 2
    hits = next(k for k in range(61) if k > 20 and (k / 60 - 1 / 3) ** 2 > z2 * (1 / 3) * (2 / 3) / 60)  # of Wilson
    sentence = told(through(accuracy=np.where(LATE, hits, hits - 1) / 60), "accuracy over time")
    assert (sentence.verdict, sentence.threshold) == ("yes", pytest.approx(1 / 3))
    assert "from step 400 on" in sentence.text
    assert sentence.interval.value == hits / 60
    always = told(through(accuracy=np.where(STEPS > 0, hits, 60) / 60), "accuracy over time")
    assert always.text.endswith("at every moment")
    assert told(through(accuracy=np.where(LATE, hits - 1, 60) / 60), "accuracy over time").verdict == "cannot tell"


def test_of_several_seeds_the_worst_is_above_chance():
    learns = [through(accuracy=np.where(step <= STEPS, 60, 20) / 60) for step in (400, 600, 500)]
    sentence = told(xr.concat(learns, "seed", data_vars="all"), "accuracy over time")
    assert sentence.text.endswith("from step 600 on")


# when classes collapsed


def falling(*layers, to=0.03):
    shares = where(LATE, to, 0.58)
    return through(within=dict.fromkeys(layers, shares), between=dict.fromkeys(layers, 1 - shares)), shares


def test_the_step_of_collapse_and_the_first_layer_of_it():
    recorded, shares = falling("3", "7", "last")
    sentence = told(recorded, "collapse over time")
    assert sentence.verdict == "yes"
    assert "in '3' and all layers after it to '7' from step 400 on; in '7', from 0.58 before" in sentence.text
    np.testing.assert_allclose(sentence.interval, [shares[-1], shares[LATE].min(), shares[LATE].max()])
    assert told(falling("7")[0], "collapse over time").text.startswith("Classes collapse in '7' from step 400 on")


def test_all_layers_after_the_first_collapsed_one_are_collapsed():
    recorded, _ = falling("3", "7", "last")
    recorded = recorded.sel(layer=["input", "3", "7", "7", "last"]).assign_coords(
        layer=["input", "3", "5", "7", "last"]
    )
    for name, share in (("within", 0.6), ("between", 0.4)):
        recorded[name].loc[{"layer": "5"}] = share
    recorded["within"].loc[{"layer": "3", "step": 0}] *= 1.2
    assert told(recorded, "collapse over time").text.startswith("Classes collapse in '7' from step 400 on")


def test_the_share_before_collapse_is_that_of_the_last_layer():
    recorded, _ = falling("3", "7")
    for name, share in (("within", 0.7), ("between", 0.3)):
        recorded[name].loc[{"layer": "7", "step": STEPS[~LATE]}] = share
    assert "from step 400 on; in '7', from 0.7 before" in told(recorded, "collapse over time").text


def test_a_collapse_that_goes_is_none_by_the_end():
    shares = where(STEPS < 200, 0.03, 0.58)
    sentence = told(through(within={"7": shares}, between={"7": 1 - shares}), "collapse over time")
    assert (sentence.verdict, sentence.text) == ("no", "Classes do not collapse in '7' by the end")
    np.testing.assert_allclose(sentence.interval, [shares[-1], shares[10:].min(), shares[10:].max()])


def test_collapse_of_the_output_alone_is_none_of_a_layer():
    assert told(falling("3", "last")[0], "collapse over time").verdict == "no"
    whole = through().drop_vars("prediction_distance")  # without it nobody knows that the last layer is the output
    whole["within"].loc[{"layer": "last"}] = 1e-3
    assert "'last' is collapsed at step 0 already" in told(whole, "collapse over time").text
    named = whole.assign_attrs(last_map="last")  # the recorder says so
    assert told(named, "collapse over time").text == told(through(), "collapse over time").text


@pytest.mark.parametrize(
    ("recorded", "why"),
    [
        (falling("input", "7")[0], "the inputs are collapsed already"),
        (falling("7")[0].isel(step=slice(6, 11)), "too few moments at the end"),
        (falling("7")[0].isel(step=slice(8, None)), "'7' is collapsed at step 400 already"),
        (falling("7")[0].assign_coords(label=("point", np.arange(60) % 59)), "so few points may collapse by chance"),
        (through().drop_vars("within"), "within was not recorded"),
        (through().sel(layer=["input", "last"]), "no hidden layer"),
    ],
)
def test_what_keeps_collapse_untold(recorded, why):
    sentence = told(recorded, "collapse over time")
    assert sentence.verdict == "cannot tell"
    assert why in sentence.text


def test_of_several_seeds_all_collapse():
    early, late = falling("7")[0], falling("7")[0]
    late["within"].loc[{"layer": "7", "step": STEPS[STEPS < 600]}] = 0.6
    both = xr.concat([early, late], "seed", data_vars="all")
    assert "from step 600 on" in told(both, "collapse over time").text
    assert told(xr.concat([early, through()], "seed", data_vars="all"), "collapse over time").verdict == "cannot tell"


# ranks


def test_the_fall_of_a_rank_its_factor_and_its_steps():
    ranks = np.interp(STEPS, [100, 300], [11, 4]) * (1 + 1e-3 * np.sin(STEPS))
    sentence = told(through(effective_rank={"3": ranks}), "rank over time")
    assert (sentence.verdict, sentence.threshold) == ("yes", 1.5)
    assert sentence.text == "The effective rank of '3' falls from 11 to 4 between step 100 and step 300"
    assert sentence.interval.value == pytest.approx(11 / 4, rel=2e-3)
    rising = told(through(effective_rank={"3": ranks[::-1].copy()}), "rank over time")
    assert "rises from 4 to 11 between" in rising.text
    assert rising.interval.high < rising.threshold == 1 / 1.5


def test_of_several_seeds_the_rank_of_all_falls():
    falls, stays = (through(effective_rank={"3": where(LATE, low, 11.0)}) for low in (4.0, 11.0))
    several = told(xr.concat([falls, falls], "seed", data_vars="all"), "rank over time")
    alone = told(falls, "rank over time")
    assert (several.verdict, several.text, several.interval) == ("yes", alone.text, alone.interval)
    assert told(xr.concat([falls, stays], "seed", data_vars="all"), "rank over time").verdict == "cannot tell"


def test_the_rank_of_several_seeds_is_the_middle_one_and_its_interval_that_of_all():
    ends = (4.0, 5.0, 1.0)
    seeds = [through(effective_rank={"3": where(LATE, end, 11.0)}) for end in ends]
    each = [told(recorded, "rank over time").interval for recorded in seeds]
    together = told(xr.concat(seeds, "seed", data_vars="all"), "rank over time").interval
    assert (together.low, together.high) == (min(one.low for one in each), max(one.high for one in each))
    assert together.value == each[0].value


def test_ranks_that_stay():
    sentence = told(through(effective_rank={"7": where(LATE, 8.0, 8.8)}), "rank over time")
    assert sentence.verdict == "no"
    assert "most in '7'" in sentence.text
    missing = through(effective_rank=dict.fromkeys(("3", "7"), np.full(21, np.nan)))
    assert "missing at some moment" in told(missing, "rank over time").text


def test_a_layer_comes_down_to_the_rank_of_the_task():
    sentence = told(through(centered_effective_rank={"7": where(LATE, 3.1, 9.0)}), "rank of the task")
    assert (sentence.verdict, sentence.threshold) == ("yes", 4.5)
    assert sentence.text == "'7' comes down to the rank of the task, 3, from step 400 on"
    assert told(through(), "rank of the task").verdict == "no"
    always = told(through(centered_effective_rank={"7": where(LATE, 3.1, 3.3)}), "rank of the task")
    assert "'7' has it at step 0 already" in always.text


# an odd point, angles


def test_an_odd_point_that_comes_and_one_that_goes():
    comes = told(through(norm_ratio={"3": where(LATE, 16.0, 1.5)}), "odd point over time")
    assert comes.verdict == "yes"
    assert "odd from step 400 on; in '3'" in comes.text
    goes = told(through(norm_ratio={"3": where(~LATE, 16.0, 1.5)}), "odd point over time")
    assert "odd before step 400 and not after" in goes.text
    always = told(through(norm_ratio={"3": where(LATE, 18.0, 16.0)}), "odd point over time")
    assert "odd at every moment" in always.text
    there = through(norm_ratio=dict.fromkeys(("input", "3"), where(LATE, 16.0, 1.5)))
    assert "the inputs have one already" in told(there, "odd point over time").text


def test_no_odd_point_beside_what_theory_expects():
    sentence = told(through(norm_ratio={"7": np.where(STEPS == 250, 4.0, 1.5)}), "odd point over time")
    assert (sentence.verdict, sentence.threshold, sentence.interval.value) == ("no", 10, 4)
    assert sentence.text.endswith("in '7' at step 250 has 20 % of the lead that theory expects")


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.95, 1.05, "yes"), (0.7, 0.88, "no"), (0.7, 1.2, "cannot tell")]
)
def test_angles_before_training_beside_those_of_the_theory(low, high, verdict):
    recorded = through().assign(expected_angle=1.3)
    angles = np.broadcast_to(1.3 * np.array([low, (low + high) / 2, high]), (21, 4, 3)).copy()
    angles[1:] = 0.1  # later moments are not asked
    recorded["angle"] = ("step", "layer", "quantile"), angles
    recorded = recorded.assign_coords(quantile=[0.05, 0.5, 0.95])
    assert "running ones" in told(recorded, "angles and theory").text
    sentence = told(recorded.assign_attrs(normalized_by="batch statistics"), "angles and theory")
    assert (sentence.verdict, sentence.threshold) == (verdict, 1.3)


# two points


def of_pairs(h, y, w, dx2=1.0, dy2=1.0):
    """A recording whose pairs have these curves in every layer; the last is the output."""
    recorded = through()
    distances = np.transpose([[h, h], [h, h], [h, h], [y, y]])
    recorded["representation_distance"] = ("step", "pair", "layer"), distances.transpose(0, 1, 2)
    for name, curve in (("prediction_distance", y), ("prediction_alignment", w)):
        recorded[name] = ("step", "pair"), np.transpose([curve, curve])
    recorded["input_distance"], recorded["target_distance"] = ("pair", [dx2, dx2]), ("pair", [dy2, dy2])
    return recorded


CURVES = effective_solution(STEPS, 0.3, 1e-3, 0.0, 0.003, 0.02, 1.0, 1.0)


def test_pairs_that_follow_the_theory():
    sentence = told(of_pairs(*CURVES), "pairs and theory")
    assert sentence.verdict == "yes"
    np.testing.assert_allclose(sentence.interval, 1, atol=1e-6)


def test_pairs_that_leave_the_theory_after_half_of_the_moments():
    h, y, w = CURVES
    sentence = told(of_pairs(np.where(STEPS > 700, 0.2 * h, h), y, w), "pairs and theory")
    assert sentence.verdict == "no"
    assert sentence.text == "Pairs follow the two-point theory until step 700 and not to the end"


@pytest.mark.parametrize(
    ("spread", "low", "high", "says"),
    [
        (0.2, 0.5, 0.9, "The two-point theory describes pairs in outline only"),
        (2.0, -9, 0.5, "Pairs do not follow the two-point theory"),
    ],
)
def test_pairs_that_the_theory_describes_in_outline_and_not(spread, low, high, says):
    h, y, w = CURVES
    scattered = h * np.exp(spread * np.sin(2 * np.arange(21)))  # at all moments alike, so that no start follows
    sentence = told(of_pairs(scattered, y, w), "pairs and theory")
    assert low < sentence.interval.low <= sentence.interval.high < high
    assert (sentence.verdict, sentence.text) == ("no", says)


def test_pairs_of_which_some_follow():
    recorded = of_pairs(*CURVES)
    scatter = np.exp(2 * np.sin(2 * np.arange(21)))
    recorded["representation_distance"][:, 0, :3] *= scatter[:, None]
    sentence = told(recorded, "pairs and theory")
    assert sentence.verdict == "cannot tell"
    assert sentence.interval.low < 0.5 < 0.99 < sentence.interval.high


def test_pairs_that_were_never_learned_are_no_fits():
    """The second pair rests at its start; the first follows the theory, so that all that was learned does."""
    recorded = of_pairs(*CURVES)
    for name in ("representation_distance", "prediction_distance", "prediction_alignment"):
        recorded[name][{"pair": 1}] = recorded[name].isel(pair=1, step=0)
    sentence = told(recorded, "pairs and theory")
    assert sentence.verdict == "yes"
    assert "range over 1 fits" in sentence.source


def test_pairs_that_were_not_learned_or_are_noise_tell_nothing():
    noise = np.random.default_rng(2).uniform(0.5, 1, (3, 21))
    assert "no pair was learned" in told(of_pairs(*CURVES[:, :1].repeat(21, axis=1)), "pairs and theory").text
    assert told(of_pairs(*noise), "pairs and theory").verdict != "yes"


# held-out points


@pytest.mark.parametrize(("others", "verdict"), [(0.35, "yes"), (0.8, "no")])
def test_what_was_memorized_is_not_right_on_held_out_points(others, verdict):
    recorded = through(accuracy=np.where(LATE, 1.0, 0.3))
    recorded = recorded.assign(accuracy_held_out=("step", np.full(21, others)))
    recorded = recorded.assign_coords(label_held_out=("point_held_out", LABELS))
    sentence = told(recorded, "memorized over time")
    assert (sentence.verdict, sentence.interval.value) == (verdict, pytest.approx(others, abs=1 / 60))
    assert "accuracy_held_out was not recorded" in told(through(), "memorized over time").text


def test_chance_on_held_out_points_is_that_of_their_own_classes():
    recorded = through(accuracy=np.where(LATE, 1.0, 0.3)).assign(accuracy_held_out=("step", np.full(21, 0.75)))
    recorded = recorded.assign_coords(label_held_out=("point_held_out", np.repeat([0, 1], [30, 10])))
    sentence = told(recorded, "memorized over time")
    assert (sentence.verdict, sentence.threshold, sentence.interval.value) == ("yes", 0.75, 0.75)


# silence


def test_recordings_of_one_moment_or_of_a_constant_tell_nothing():
    same = through().isel(step=[3] * 21).assign_coords(step=STEPS)
    for recorded, why in ((through().isel(step=[0]), "there is 1"), (same, "nothing changes from moment to moment")):
        (sentence,) = summarize_training(recorded)
        assert sentence.verdict == "cannot tell"
        assert why in sentence.text
    missing = same.assign(loss=("step", np.full(21, np.nan)))
    assert "nothing changes from moment to moment" in summarize_training(missing)[0].text
    changed = same.assign(loss=("step", np.where(STEPS > 0, 1.0, np.nan)))
    assert len(summarize_training(changed)) == len(TOPICS)
    assert [sentence.topic for sentence in summarize_training(through())] == list(TOPICS)
    with pytest.raises(ValueError, match="one moment only and no dimension of training"):
        summarize_training(through().isel(step=0, drop=True))


def test_noise_around_the_thresholds_says_nothing_more_often_than_chance():
    generator, noises, told_of = np.random.default_rng(4), 30, []
    for _ in range(noises):
        shares = {layer: np.exp(generator.normal(np.log(0.1), 0.5, 21)).clip(0, 0.9) for layer in LAYERS}
        recorded = through(
            within=shares,
            between={layer: 1 - share for layer, share in shares.items()},
            effective_rank={layer: np.exp(generator.normal(2, 0.5, 21)) for layer in LAYERS},
            centered_effective_rank={layer: np.exp(generator.normal(np.log(4.5), 0.3, 21)) for layer in LAYERS},
            norm_ratio={layer: np.exp(generator.normal(np.log(10), 0.3, 21)) for layer in LAYERS},
        )
        told_of += [sentence.topic for sentence in summarize_training(recorded) if sentence.verdict == "yes"]
    for topic in set(told_of):
        assert stats.binomtest(told_of.count(topic), noises, 0.02, alternative="greater").pvalue > 1e-3, topic
