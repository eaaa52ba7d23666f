"""Verdicts on recordings whose course is written down by hand, and on noise."""

import itertools

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from repdyn.diagnostics.theory.intervals import between, change, since, smallest_share_by_chance
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


def decided(recorded, topic):
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
    sentence = decided(through(accuracy=np.where(LATE, hits, hits - 1) / 60), "accuracy over time")
    assert (sentence.verdict, sentence.threshold) == ("yes", pytest.approx(1 / 3))
    assert sentence.interval.value == hits / 60
    below = through(accuracy=np.where(LATE, hits - 1, 60) / 60)
    assert decided(below, "accuracy over time").verdict == "cannot tell"


# when classes collapsed


def falling(*layers, to=0.03):
    shares = where(LATE, to, 0.58)
    return through(within=dict.fromkeys(layers, shares), between=dict.fromkeys(layers, 1 - shares)), shares


def test_collapse_has_the_range_of_the_shares_after_it_began():
    recorded, shares = falling("3", "7", "last")
    sentence = decided(recorded, "collapse over time")
    assert sentence.verdict == "yes"
    np.testing.assert_allclose(sentence.interval, [shares[-1], shares[LATE].min(), shares[LATE].max()])
    gone = where(STEPS < 200, 0.03, 0.58)  # collapse that does not last
    sentence = decided(through(within={"7": gone}, between={"7": 1 - gone}), "collapse over time")
    assert sentence.verdict == "no"
    np.testing.assert_allclose(sentence.interval, [gone[-1], gone[10:].min(), gone[10:].max()])


def test_collapse_of_the_output_alone_is_no_collapse_of_a_layer():
    assert decided(falling("3", "last")[0], "collapse over time").verdict == "no"
    whole = through().drop_vars("prediction_distance")  # the last layer is then not known to be the output
    whole["within"].loc[{"layer": "last"}] = 1e-3
    assert decided(whole, "collapse over time").verdict == "cannot tell"
    named = whole.assign_attrs(last_map="last")  # the recorder says that it is
    assert decided(named, "collapse over time").verdict == decided(through(), "collapse over time").verdict


UNDECIDED = {
    "collapsed inputs": falling("input", "7")[0],
    "few moments at the end": falling("7")[0].isel(step=slice(6, 11)),
    "collapsed from the start": falling("7")[0].isel(step=slice(8, None)),
    "few points of a class": falling("7")[0].assign_coords(label=("point", np.arange(60) % 59)),
    "not recorded": through().drop_vars("within"),
    "no hidden layer": through().sel(layer=["input", "last"]),
    "one seed of two": xr.concat([falling("7")[0], through()], "seed", data_vars="all"),
}


def test_collapse_is_undecided_where_it_may_be_chance_or_precedes_training():
    verdicts = {name: decided(recorded, "collapse over time").verdict for name, recorded in UNDECIDED.items()}
    assert verdicts == dict.fromkeys(UNDECIDED, "cannot tell")
    early, late = falling("7")[0], falling("7")[0]
    late["within"].loc[{"layer": "7", "step": STEPS[STEPS < 600]}] = 0.6
    both = xr.concat([early, late], "seed", data_vars="all")
    assert decided(both, "collapse over time").verdict == "yes"


# ranks


def test_the_factor_by_which_a_rank_falls_or_rises():
    ranks = np.interp(STEPS, [100, 300], [11, 4]) * (1 + 1e-3 * np.sin(STEPS))
    sentence = decided(through(effective_rank={"3": ranks}), "rank over time")
    assert (sentence.verdict, sentence.threshold) == ("yes", 1.5)
    assert sentence.interval.value == pytest.approx(11 / 4, rel=2e-3)
    rising = decided(through(effective_rank={"3": ranks[::-1].copy()}), "rank over time")
    assert rising.verdict == "yes"
    assert rising.interval.high < rising.threshold == 1 / 1.5
    assert decided(through(effective_rank={"7": where(LATE, 8.0, 8.8)}), "rank over time").verdict == "no"
    missing = through(effective_rank=dict.fromkeys(("3", "7"), np.full(21, np.nan)))
    assert decided(missing, "rank over time").verdict == "cannot tell"


def test_the_rank_of_several_seeds_is_the_middle_one_and_its_interval_that_of_all():
    seeds = [through(effective_rank={"3": where(LATE, end, 11.0)}) for end in (4.0, 5.0, 1.0)]
    each = [decided(recorded, "rank over time").interval for recorded in seeds]
    together = decided(xr.concat(seeds, "seed", data_vars="all"), "rank over time").interval
    assert (together.low, together.high) == (min(one.low for one in each), max(one.high for one in each))
    assert together.value == each[0].value
    steady = through(effective_rank={"3": where(LATE, 11.0, 11.0)})
    some = xr.concat([seeds[0], steady], "seed", data_vars="all")
    assert decided(some, "rank over time").verdict == "cannot tell"


def test_a_layer_falls_to_the_rank_of_the_task():
    sentence = decided(through(centered_effective_rank={"7": where(LATE, 3.1, 9.0)}), "rank of the task")
    assert (sentence.verdict, sentence.threshold) == ("yes", 4.5)
    assert decided(through(), "rank of the task").verdict == "no"
    always = through(centered_effective_rank={"7": where(LATE, 3.1, 3.3)})
    assert decided(always, "rank of the task").verdict != "yes"


# an odd point, angles


def test_an_odd_point_has_more_than_half_of_the_expected_lead():
    verdicts = [
        decided(through(norm_ratio=ratios), "odd point over time").verdict
        for ratios in (
            {"3": where(LATE, 16.0, 1.5)},
            {"3": where(LATE, 18.0, 16.0)},
            dict.fromkeys(("input", "3"), where(LATE, 16.0, 1.5)),
        )
    ]
    assert verdicts == ["yes", "yes", "cannot tell"]
    sentence = decided(through(norm_ratio={"7": np.where(STEPS == 250, 4.0, 1.5)}), "odd point over time")
    assert (sentence.verdict, sentence.threshold, sentence.interval.value) == ("no", 10, 4)


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.95, 1.05, "yes"), (0.7, 0.88, "no"), (0.7, 1.2, "cannot tell")]
)
def test_angles_before_training_are_compared_with_the_theory(low, high, verdict):
    recorded = through().assign(expected_angle=1.3)
    angles = np.broadcast_to(1.3 * np.array([low, (low + high) / 2, high]), (21, 4, 3)).copy()
    angles[1:] = 0.1  # later moments do not count
    recorded["angle"] = ("step", "layer", "quantile"), angles
    recorded = recorded.assign_coords(quantile=[0.05, 0.5, 0.95])
    assert decided(recorded, "angles and theory").verdict == "cannot tell"
    sentence = decided(recorded.assign_attrs(normalized_by="batch statistics"), "angles and theory")
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
    sentence = decided(of_pairs(*CURVES), "pairs and theory")
    assert sentence.verdict == "yes"
    np.testing.assert_allclose(sentence.interval, 1, atol=1e-6)


def test_pairs_that_leave_the_theory_do_not_follow_it():
    """From half of the moments on, or scattered at all moments alike, slightly and widely."""
    h, y, w = CURVES
    assert decided(of_pairs(np.where(STEPS > 700, 0.2 * h, h), y, w), "pairs and theory").verdict == "no"
    for spread, low, high in ((0.2, 0.5, 0.9), (2.0, -9, 0.5)):
        scattered = h * np.exp(spread * np.sin(2 * np.arange(21)))
        sentence = decided(of_pairs(scattered, y, w), "pairs and theory")
        assert sentence.verdict == "no"
        assert low < sentence.interval.low <= sentence.interval.high < high


def test_pairs_of_which_some_follow():
    recorded = of_pairs(*CURVES)
    scatter = np.exp(2 * np.sin(2 * np.arange(21)))
    recorded["representation_distance"][:, 0, :3] *= scatter[:, None]
    sentence = decided(recorded, "pairs and theory")
    assert sentence.verdict == "cannot tell"
    assert sentence.interval.low < 0.5 < 0.99 < sentence.interval.high


def test_pairs_that_were_never_learned_are_no_fits():
    """The second pair rests at its start; the first follows the theory, so that all that was learned does."""
    recorded = of_pairs(*CURVES)
    for name in ("representation_distance", "prediction_distance", "prediction_alignment"):
        recorded[name][{"pair": 1}] = recorded[name].isel(pair=1, step=0)
    assert decided(recorded, "pairs and theory").verdict == "yes"


def test_pairs_that_were_not_learned_or_are_noise_decide_nothing():
    noise = np.random.default_rng(2).uniform(0.5, 1, (3, 21))
    assert decided(of_pairs(*CURVES[:, :1].repeat(21, axis=1)), "pairs and theory").verdict == "cannot tell"
    assert decided(of_pairs(*noise), "pairs and theory").verdict != "yes"


# held-out points


@pytest.mark.parametrize(("others", "verdict"), [(0.35, "yes"), (0.8, "no")])
def test_points_are_memorized_where_held_out_points_are_at_chance(others, verdict):
    recorded = through(accuracy=np.where(LATE, 1.0, 0.3))
    recorded = recorded.assign(accuracy_held_out=("step", np.full(21, others)))
    recorded = recorded.assign_coords(label_held_out=("point_held_out", LABELS))
    sentence = decided(recorded, "memorized over time")
    assert (sentence.verdict, sentence.interval.value) == (verdict, pytest.approx(others, abs=1 / 60))
    assert decided(through(), "memorized over time").verdict == "cannot tell"


def test_chance_on_held_out_points_is_the_share_of_their_largest_class():
    recorded = through(accuracy=np.where(LATE, 1.0, 0.3)).assign(accuracy_held_out=("step", np.full(21, 0.75)))
    recorded = recorded.assign_coords(label_held_out=("point_held_out", np.repeat([0, 1], [30, 10])))
    sentence = decided(recorded, "memorized over time")
    assert (sentence.verdict, sentence.threshold, sentence.interval.value) == ("yes", 0.75, 0.75)


# nothing to decide


def test_recordings_of_one_moment_or_of_a_constant_decide_nothing():
    same = through().isel(step=[3] * 21).assign_coords(step=STEPS)
    missing = same.assign(loss=("step", np.full(21, np.nan)))
    for recorded in (through().isel(step=[0]), same, missing):
        assert [sentence.verdict for sentence in summarize_training(recorded)] == ["cannot tell"]
    changed = same.assign(loss=("step", np.where(STEPS > 0, 1.0, np.nan)))
    for recorded in (changed, through()):
        assert [sentence.topic for sentence in summarize_training(recorded)] == list(TOPICS)
    with pytest.raises(ValueError, match="moment"):
        summarize_training(through().isel(step=0, drop=True))


def test_noise_around_the_thresholds_is_decided_no_more_often_than_by_chance():
    generator, noises, of_noise = np.random.default_rng(4), 30, []
    for _ in range(noises):
        shares = {layer: np.exp(generator.normal(np.log(0.1), 0.5, 21)).clip(0, 0.9) for layer in LAYERS}
        recorded = through(
            within=shares,
            between={layer: 1 - share for layer, share in shares.items()},
            effective_rank={layer: np.exp(generator.normal(2, 0.5, 21)) for layer in LAYERS},
            centered_effective_rank={layer: np.exp(generator.normal(np.log(4.5), 0.3, 21)) for layer in LAYERS},
            norm_ratio={layer: np.exp(generator.normal(np.log(10), 0.3, 21)) for layer in LAYERS},
        )
        of_noise += [sentence.topic for sentence in summarize_training(recorded) if sentence.verdict == "yes"]
    for topic in set(of_noise):
        assert stats.binomtest(of_noise.count(topic), noises, 0.02, alternative="greater").pvalue > 1e-3, topic
