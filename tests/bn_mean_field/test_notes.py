"""Notes of claims give the numbers that their words name, worked out again from made-up datasets."""

import numpy as np
import pytest
import xarray as xr
from tests.noted import data_of, note_of

STUDY = "bn_mean_field"


def noted(id, data=None):
    data = data or data_of(STUDY, id)
    return note_of(STUDY, id, data), *data.values()


def near_axis(values):
    return float((values.values < 15).mean())


def test_speeds_over_targets_are_geometric_means_over_seeds():
    note, scan = noted("bnm-fig1-speed")
    logs = scan["outer_contrast"].transpose("angle", "seed").values.mean(axis=1)
    words = ", ".join(f"{10**log:.2g} at {angle:g}" for log, angle in zip(logs, scan["angle"].values, strict=True))
    assert f"in degrees: {words}. At equal torque" in note


def at_look(data, name, **cell):
    return data[name].sel(problem="y = x1", iteration=int(data["look"]), **cell)


def test_ratios_of_figure_1_are_medians_over_starts_with_random_signs():
    """The first start has both signs at each direction and is none of them."""
    note, ratios = noted("bnm-fig1-order")
    for step in ratios["step"].values:
        median = np.median(at_look(ratios, "ratio", step=step).values[1:])
        assert f"{median:.3g} at $h$ = {step:g}" in note


def test_speeds_at_matched_loss_are_told_of_both_signs_of_a():
    note, ratios = noted("bnm-fig1-matched")
    step = float(ratios["paper_step"])
    bn, vanilla = (float(at_look(ratios, "loss", step=step, model=model)[0]) for model in ("BN", "vanilla"))
    matched, ratio = (float(at_look(ratios, name, step=step)[0]) for name in ("matched_iteration", "matched_ratio"))
    assert f"loss {bn:.3g} with BN, {vanilla:.2g} without; " in note
    assert f"at iteration {matched:.0f}, where the ratio is {ratio:.2f}." in note


def test_shares_near_the_axis_at_the_end_are_those_of_each_target_and_model():
    note, runs = noted("bnm-fig1-conc")
    for target, words in (("y = x1", "$y = x_1$"), ("y = x2", "$y = x_2$")):
        bn, vanilla = (
            near_axis(runs["axis_angle"].sel(target=target, model=m, iteration=8000)) for m in ("BN", "vanilla")
        )
        assert f"{bn:.2f} and {vanilla:.2f} for {words}" in note


def test_shares_with_and_without_equal_speeds_are_means_over_starts():
    data = data_of(STUDY, "bnm-sec41-escape")
    angles = data["concentration"]["axis_angle"]
    for name, value in (("BN", 10.0), ("BN, equal speeds", 20.0)):
        angles.loc[{"network": name, "angle": 0.0, "iteration": angles["iteration"][-1]}] = value
    angles.loc[
        {
            "network": "BN",
            "angle": 0.0,
            "iteration": angles["iteration"][-1],
            "start": 0,
        }
    ] = 90.0
    note, _ = noted("bnm-sec41-escape", data)
    starts = angles.sizes["start"]
    assert f"ends at {1 - 1 / starts:.2f} with BN and at 0.00 with equal speeds" in note


def test_mean_turns_are_those_of_short_and_of_long_neurons():
    note, runs = noted("bnm-fig2")
    turns = runs["mean_turn"].isel(start=slice(1, None), iteration=-1)
    small, large = sorted(runs["radius"].values)
    short, long = (float(turns.sel(radius=radius).values.mean()) for radius in (small, large))
    assert f"at the end {short:.0f} and {long:.1f} degrees" in note


def test_the_worst_iteration_is_looked_for_from_the_second_one_on():
    note, steps = noted("bnm-fig3-stable")
    turns = steps["turn_quantile"].sel(model="BN").isel(later=slice(1, None))
    median, farthest = (float(turns.sel(quantile=q).max()) for q in (0.5, 1.0))
    assert f"median neuron turns by {median:.0f} degrees, the farthest by {farthest:.0f};" in note
    growth = float(steps["loss_growth"].sel(model="BN").isel(later=slice(1, None)).max())
    kept = float(steps["loss_growth_kept"].isel(later=slice(1, None)).max())
    assert f"multiplied by at most {growth:.3f}, with lengths kept {kept:.3f}." in note


def test_iterations_of_a_linear_target_are_medians_and_geometric_means():
    note, rates = noted("bnm-sec41-linear")
    bn, vanilla = (np.median(rates["fewest"].sel(network=name)) for name in ("BN", "vanilla"))
    assert f"each at its best step {bn:.0f} and {vanilla:.0f}." in note


def test_off_by_and_fails_for_are_counted_over_all_pairs():
    note, pairs = noted("bnm-dissipation")
    off = np.abs(pairs["rate_euclidean"].values / pairs["rate"].values - 1).max()
    assert f"off by up to {100 * off:.1f} %." in note
    note, pairs = noted("bnm-thm4-equicont")
    violated = (pairs["w2"].values > pairs["bound_printed"].values).sum()
    assert f"The printed bound fails for {violated} of " in note
    for factor, words in ((0.5, "none"), (2.0, str(pairs["coupled"].size))):
        pairs["coupled"][:] = factor * pairs["bound"]
        note, _ = noted("bnm-thm4-equicont", {"equicontinuity": pairs})
        assert f"the corrected one for {words} of {pairs['coupled'].size} pairs" in note
    note, pairs = noted("bnm-thm4-weak")
    assert f"the left side is {float(pairs['weak_left'][-1]):.1g}." in note


def test_the_length_with_eps_is_a_median_at_the_shortest_weights():
    note, eps = noted("bnm-eps")
    reached = np.median(eps["length"].sel(with_eps=1, radius=eps["radius"].min()))
    assert rf"At $\|b\|$ = {float(eps['radius'].min()):g} the first step reaches {reached:.2f} of the length" in note


@pytest.mark.parametrize("fails", [0, 2])
def test_the_largest_radius_at_which_the_printed_constant_fails(fails):
    data = data_of(STUDY, "bnm-thm4-bl")
    points = data["well_posedness"]
    points["change"] = 0 * points["change"] + 0.5 * points["distance"] * points["constant_printed"]
    points["change"].loc[{"radius": points["radius"][fails], points["change"].dims[-1]: 0}] *= 3.0
    note, _ = noted("bnm-thm4-bl", data)
    assert f"fails up to $r$ = {float(points['radius'][fails]):g} on these data" in note


def test_distances_of_neighbors_with_a_smooth_activation_are_over_that_of_their_starts():
    note, clouds = noted("bnm-uniqueness")
    ratio = (clouds["cloud_distance"].sel(activation="erf") / clouds["gap"]).max()
    assert f"end at {float(ratio):.1f} times the starts' angle" in note


def test_iterations_twice_as_many_are_a_ratio_of_two():
    data = data_of("bn_mean_field", "bnm-sec41-speedup")
    needed = data["feature_learning"]["needed"]
    needed[:] = 100
    needed.loc[{"network": "BN"}] = 200
    note = note_of("bn_mean_field", "bnm-sec41-speedup", data)
    assert "of the vanilla network: 2.00 at equal step, 2.00 with each at its best;" in note
    assert "with equal speeds in all directions 2.00 and 2.00." in note


def test_angles_at_the_end_are_those_of_the_nearest_starts_by_activation():
    data = data_of(STUDY, "bnm-abstract-wellposed")
    ends = data["well_posedness"]["gap_at_end"]
    ends.loc[{"activation": "relu"}] = [0.31, 0.32, 0.33]
    ends.loc[{"activation": "erf"}] = [4e-7, 5e-5, 6e-3]
    note, points = noted("bnm-abstract-wellposed", data)
    least = float(points["gap"].min())
    assert note.startswith(f"Starts {least:.0e} radians apart end 0.31 apart with ReLU and 4.0e-07 with erf: ")


def test_differences_of_the_start_are_amplified_over_those_at_the_first_time():
    """Of low-discrepancy starts with opposite signs, the reference left out; others are amplified more."""
    data = data_of(STUDY, "bnm-thm4-conv", narrow=True)
    limit = data["propagation_distances"]
    own = (limit["start"] == "low discrepancy") & (limit["target"] == "opposite signs")
    own &= limit["width"] != limit["reference"]
    distance = limit["distance"].transpose("run", "time").values
    distance[:] = np.where(own.values[:, None], 0.2, np.geomspace(0.1, 9.0, limit.sizes["time"]))
    distance[np.flatnonzero(own)[1], 1:3] = 0.1, 0.5
    limit["distance"] = (("run", "time"), distance)
    note, _ = noted("bnm-thm4-conv", data)
    assert "amplified up to 2.5 times" in note


def test_exit_times_are_loose_by_the_least_ratio_to_the_bound():
    data = data_of(STUDY, "bnm-thm4-tr")
    passages = data["exit_times"]
    passages["exit_time"][:] = passages["bound"] * np.arange(12, 12 - passages.sizes["radius"], -1)
    passages["exit_time"][0] = np.nan
    note, _ = noted("bnm-thm4-tr", data)
    assert note.startswith(f"Loose: the times are at least {13 - passages.sizes['radius']} times the bound.")


LEARN = {  # network: how many steps learn, 0.1 decades apart
    "BN": 10,
    "vanilla": 6,
    "BN, many lengths": 7,
    "vanilla, many lengths": 9,
    "BN, two lengths": 15,
}


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("bnm-sec42-rate", "Wider by +0.40 decades at unit lengths, by -0.20 at many. "),
        ("bnm-sec42-adaptivity", "Range wider by -0.30 decades with lengths spread over two decades, by +0.50 with "),
    ],
)
def test_ranges_of_steps_are_wider_by_the_steps_that_learn_in_decades(id, words):
    data = data_of(STUDY, id)
    data["feature_learning"]["frozen"][:] = 0.5
    needed = data["feature_learning"]["needed"]
    for network, count in LEARN.items():
        needed.loc[{"network": network}] = xr.where(needed["step"] < count, 50.0, np.inf)
    note, features = noted(id, data)
    assert float(features["spacing"]) == 0.1
    assert note.startswith(words)


def test_iterations_at_equal_step_are_a_geometric_mean_over_the_steps_that_both_learn_with():
    data = data_of(STUDY, "bnm-sec41-linear")
    needed = data["learning_rates"]["needed"]
    needed[:] = 100.0
    needed.loc[{"network": "BN"}] = xr.where(needed["step"] < float(needed["step"].median()), 800.0, 200.0)
    needed.loc[{"network": "BN", "step": needed["step"][-1]}] = np.inf
    needed.loc[{"network": "vanilla", "step": needed["step"][0]}] = np.inf
    note, _ = noted("bnm-sec41-linear", data)
    count = needed.sizes["step"]
    below, above = count // 2 - 1, count - count // 2 - 1
    ratio = (8.0**below * 2.0**above) ** (1 / (below + above))
    assert f"BN needs {ratio:.1f} times the iterations at equal step" in note
