"""Sentences on recordings whose layers, pairs and seeds all differ: which of them each number is of."""

import numpy as np
import xarray as xr
from tests.diagnostics.test_training_summary import CURVES, LATE, STEPS, of_pairs, through, told, where

from repdyn.diagnostics.training_summary import MOST_PAIRS, summarize_training

ANGLES = {"input": (0.1, 0.2, 0.3), "3": (0.3, 0.4, 0.6), "7": (1.26, 1.3, 1.36), "last": (2.0, 2.1, 2.2)}
EXPECTS = "theory expects"


def with_angles(shift=0.0):
    """A recording whose layers are at angles of their own at the first moment, and at none later."""
    first = np.array(list(ANGLES.values())) + shift
    angles = np.stack([first, *[np.full_like(first, 0.05)] * 20])
    recorded = through().assign(expected_angle=1.31, angle=(("step", "layer", "quantile"), angles))
    return recorded.assign_coords(quantile=[0.05, 0.5, 0.95]).assign_attrs(normalized_by="batch statistics")


def test_angles_are_those_of_the_last_hidden_layer_before_training():
    sentence = told(with_angles(), "angles and theory")
    assert sentence.verdict == "yes"
    assert sentence.text == f"At step 0 the points of '7' are at {100 * 1.3 / 1.31:.0f} % of the angle that {EXPECTS}"
    np.testing.assert_allclose(sentence.interval, (1.3, 1.26, 1.36))
    far = told(with_angles(-0.5), "angles and theory")
    assert (far.verdict, far.text) == (
        "no",
        f"At step 0 the points of '7' are at {100 * 0.8 / 1.31:.0f} % of the angle that {EXPECTS}",
    )


def test_angles_of_several_seeds_reach_from_the_least_to_the_largest():
    seeds = xr.concat([with_angles(shift) for shift in (-0.3, 0.0, 0.1)], "seed", data_vars="all")
    sentence = told(seeds, "angles and theory")
    assert (sentence.verdict, sentence.threshold) == ("cannot tell", 1.31)
    assert sentence.text.endswith("the pairs of '7' differ too much")
    np.testing.assert_allclose(sentence.interval, (1.3, 0.96, 1.46))


def test_points_without_a_direction_have_no_angles_to_tell_of():
    recorded = with_angles()
    recorded["angle"].loc[{"layer": "7", "quantile": 0.95}] = np.nan
    assert told(recorded, "angles and theory").text.endswith("'7' has points without a direction")
    recorded = with_angles()
    recorded["angle"].loc[{"layer": "3"}] = np.nan
    assert told(recorded, "angles and theory").verdict == "yes"


def test_the_lead_of_the_odd_point_is_the_largest_of_all_moments_and_layers():
    leads = {
        "3": np.where(STEPS == 700, 14.0, np.where(LATE, 12.0, 1.5)),
        "7": np.where(STEPS == 550, 17.0, np.where(LATE, 11.0, 1.4)),
    }
    sentence = told(through(norm_ratio=leads), "odd point over time")
    assert sentence.text == (
        "One point is odd from step 400 on; in '7' at step 550 has 85 % of the lead that theory expects"
    )
    assert tuple(sentence.interval) == (17, 17, 17)
    others = [through(norm_ratio={"7": leads["7"] * factor}) for factor in (1.1, 1.2)]
    seeds = xr.concat([through(norm_ratio=leads), *others], "seed", data_vars="all")
    several = told(seeds, "odd point over time")
    np.testing.assert_allclose(several.interval, 17 * np.array([1.1, 1.0, 1.2]))
    assert f"has {100 * 17 * 1.1 / 20:.0f} % of the lead" in several.text


def test_an_odd_point_that_comes_and_goes_or_divides_by_zero_is_not_told():
    flags = (np.arange(21) // 3) % 2 == 1
    sentence = told(through(norm_ratio={"3": where(flags, 16.0, 1.5)}), "odd point over time")
    assert (sentence.verdict, sentence.text[-39:]) == ("cannot tell", "it comes and goes from moment to moment")
    endless = told(through(norm_ratio={"3": np.where(LATE, np.inf, 1.5)}), "odd point over time")
    assert endless.text.endswith("in some layer all points but one are zero at some moment")
    few = through().assign(expected_norm_ratio=np.nan)
    assert told(few, "odd point over time").text.endswith("the theory has one from seven points on")


def test_the_layer_nearest_to_the_rank_of_the_task_is_that_of_the_least_rank_at_the_end():
    ranks = {"3": where(LATE, 6.0, 5.0), "7": where(LATE, 5.2, 9.0)}
    sentence = told(through(centered_effective_rank=ranks), "rank of the task")
    assert sentence.text == "No layer comes down to the rank of the task, 3; nearest to it is '7'"
    run = ranks["7"][len(STEPS) // 2 :]
    np.testing.assert_allclose(sentence.interval, (run[-1], run.min(), run.max()))
    seeds = [through(centered_effective_rank={"3": where(LATE, low, 9.0)}) for low in (3.3, 3.9, 3.6)]
    several = told(xr.concat(seeds, "seed", data_vars="all"), "rank of the task")
    late = [where(LATE, low, 9.0)[LATE] for low in (3.3, 3.9, 3.6)]
    np.testing.assert_allclose(several.interval, (late[2][-1], np.min(late), np.max(late)))
    one_stays = [*seeds[:2], through(centered_effective_rank={"3": where(LATE, 5.0, 9.0)})]
    assert told(xr.concat(one_stays, "seed", data_vars="all"), "rank of the task").verdict != "yes"


def test_ranks_around_the_threshold_or_missing_are_not_told():
    flags = (np.arange(21) // 3) % 2 == 1
    around = told(through(centered_effective_rank={"7": where(flags, 3.5, 5.5)}), "rank of the task")
    assert around.text.endswith("the rank of '7' lies around the threshold")
    missing = dict.fromkeys(("3", "7"), np.where(STEPS == 50, np.nan, 4.0))
    assert told(through(centered_effective_rank=missing), "rank of the task").text.endswith("missing at some moment")
    scatter = np.exp(0.8 * np.sin(2 * np.arange(21)))
    sentence = told(through(effective_rank={"7": 8 * scatter}), "rank over time")
    assert sentence.text.endswith("the rank of '7' scatters too much from moment to moment")  # that of '3' is steady
    assert sentence.interval.low < 1 / 1.5 < 1.5 < sentence.interval.high


def test_pairs_are_followed_in_the_last_hidden_layer():
    recorded = of_pairs(*CURVES)
    noise = np.random.default_rng(3).uniform(0.5, 1, (21, 2))
    recorded["representation_distance"].loc[{"layer": "3"}] = noise
    sentence = told(recorded, "pairs and theory")
    assert sentence.verdict == "yes"
    assert "distances h and y in '7', range over 2 fits" in sentence.source
    recorded["representation_distance"].loc[{"layer": "7"}] = noise
    assert told(recorded, "pairs and theory").verdict != "yes"


def test_the_theory_is_fitted_to_the_first_pairs():
    pairs = of_pairs(*CURVES).isel(pair=[0] * MOST_PAIRS + [1] * 3)
    pairs = pairs.assign_coords(pair=[f"0-{place}" for place in range(1, MOST_PAIRS + 4)])
    pairs["representation_distance"].loc[{"layer": "7", "pair": pairs["pair"][MOST_PAIRS:]}] = 0.5
    sentence = told(pairs, "pairs and theory")
    assert sentence.verdict == "yes"
    assert f"range over {MOST_PAIRS} fits" in sentence.source


def test_a_start_that_the_theory_describes_may_be_half_of_the_moments():
    h, y, w = CURVES
    half = STEPS[len(STEPS) // 2 - 1]
    sentence = told(of_pairs(np.where(half + 50 < STEPS, 0.2 * h, h), y, w), "pairs and theory")
    gone = np.ptp(y[: len(STEPS) // 2]) >= np.ptp(y) / 2
    assert gone == sentence.text.startswith(f"Pairs follow the two-point theory until step {half} and not")


def test_what_lacks_is_named_with_its_verb():
    one, two = (summarize_training(through().drop_vars(names)) for names in (["within"], ["within", "between"]))
    assert one[1].text.endswith(": within was not recorded")
    assert two[1].text.endswith(": within, between were not recorded")


def test_a_recording_without_the_inputs_has_none_that_are_collapsed_or_odd_already():
    shares = where(LATE, 0.03, 0.58)
    names = dict.fromkeys(("3", "7", "last"))
    recorded = through(
        within=dict.fromkeys(names, shares),
        between=dict.fromkeys(names, 1 - shares),
        norm_ratio={"3": where(LATE, 16.0, 1.5)},
    ).sel(layer=["3", "7", "last"])
    assert told(recorded, "collapse over time").text.startswith(
        "Classes collapse in '3' and all layers after it to '7'"
    )
    assert told(recorded, "odd point over time").text.startswith("One point is odd from step 400 on; in '3'")
