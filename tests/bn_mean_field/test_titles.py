"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import numpy as np
import pytest
import xarray as xr
from tests.titled import drawn, made_up, title_of

from repdyn.base.errors import NotEnoughDataError
from repdyn.base.wording import number
from repdyn.bn_mean_field.figures.manifold import _unevenness


def test_speeds_at_equal_iteration_and_at_equal_loss_are_compared_with_vanilla():
    data = made_up("bn_mean_field", "matched_loss")
    for ratio, matched, words in (
        (18.0, 0.5, "faster at equal iteration, slower at equal loss"),
        (0.2, 4.0, "slower at equal iteration, faster at equal loss"),
        (np.nan, np.nan, "of unknown speed at equal iteration, of unknown speed at equal loss"),
    ):
        data["speed_ratio"]["ratio"][:] = ratio
        data["speed_ratio"]["matched_ratio"][:] = matched
        figure = drawn("bn_mean_field", "matched_loss", data)
        assert figure.repdyn["title"].endswith(words)
        assert f"a ratio of {number(ratio)} (the paper: 10)" in figure.repdyn["caption"]


def test_steps_that_learn_are_moved_or_widened():
    data = made_up("bn_mean_field", "learning_over_steps")
    rates = data["learning_rates"]
    for shift, decades, words in (
        (10, 0, "moves the range of steps that learn more than it widens it"),
        (0.1, 0.2, "moves the range of steps that learn more than it widens it"),
        (10, 1, "widens the range of steps that learn more than it moves it"),
        (np.nan, np.nan, "in an unknown way"),
    ):
        rates["largest_step"][:] = 1
        rates["largest_step"].loc[{"network": "BN"}] = shift
        rates["decades"][:] = 1
        rates["decades"].loc[{"network": "BN"}] = 1 + decades
        figure = drawn("bn_mean_field", "learning_over_steps", data)
        assert figure.repdyn["title"].endswith(words)
        factors = f"{number(shift)} times and their range {number(10.0**decades)} times"
        assert factors in figure.repdyn["caption"]


def test_neurons_near_the_axis_of_low_variance_are_compared_for_both_targets():
    data = made_up("bn_mean_field", "speeds_over_targets")
    scan = data["target_scan"]
    for first, last, words in (
        (1.0, -1.0, "faster for target $x_1$, no faster for $x_2$"),
        (-1.0, 2.0, "no faster for target $x_1$, faster for $x_2$"),
        (np.nan, np.nan, "of unknown speed for target $x_1$, of unknown speed for $x_2$"),
    ):
        scan["outer_contrast"].loc[{"angle": 0.0}] = first
        scan["outer_contrast"].loc[{"angle": 90.0}] = last
        figure = drawn("bn_mean_field", "speeds_over_targets", data)
        assert figure.repdyn["title"].endswith(words)
        levels = f"{number(10**first)} for the target $x_1$ and {number(10**last)} for $x_2$"
        assert levels in figure.repdyn["caption"]
        turned = {"target_scan": scan.sortby("angle", ascending=False)}
        assert title_of("bn_mean_field", "speeds_over_targets", turned) == figure.repdyn["title"]


def test_figure_3_says_whether_smaller_neurons_are_longer_after_a_step():
    data = made_up("bn_mean_field", "fig3_first_step")
    norm = data["first_step"]["norm"]
    for slope, words in (
        (-1, "smaller neurons are longer than larger ones"),
        (1, "not all smaller neurons are longer than larger ones"),
    ):
        norm[:] = (norm["radius"] ** slope).broadcast_like(norm).transpose(*norm.dims)
        title = title_of("bn_mean_field", "fig3_first_step", data)
        assert title == f"Figure 3, computed: after the first step {words}"
    norm[:] = np.nan
    with pytest.raises(NotEnoughDataError, match="first steps that have not diverged"):
        title_of("bn_mean_field", "fig3_first_step", data)


def test_equal_speeds_learn_and_gather_as_before_or_not():
    data = made_up("bn_mean_field", "parts_switched_off")
    needed, angle = data["feature_learning"]["needed"], data["concentration"]["axis_angle"]
    for equal, turned, words in (
        (100.0, 5.0, "in fewer iterations than vanilla, and as many neurons end near $x_1$"),
        (np.inf, 80.0, "in no fewer iterations than vanilla, and not as many neurons end near $x_1$"),
        (np.nan, np.nan, "in no known fewer iterations than vanilla, and an unknown number of neurons ends near $x_1$"),
    ):
        needed[:], angle[:] = 200.0, 5.0
        needed.loc[{"network": "BN, equal speeds"}] = equal
        angle.loc[{"network": "BN, equal speeds"}] = turned
        title = title_of("bn_mean_field", "parts_switched_off", data)
        assert title == f"Section 4.1: without the anisotropic speed BN learns {words}"


def test_figure_2_says_whether_more_small_neurons_than_large_ones_end_near_the_axis():
    data = made_up("bn_mean_field", "fig2_magnitudes")
    near = data["magnitudes"]["near"]
    small, large = np.sort(near["radius"].values)
    for shares, words in (
        ((1.0, 0.2), ": more small neurons than large ones end"),
        ((0.2, 1.0), ": no more small neurons than large ones end"),
        ((0.5, 0.5), ": no more small neurons than large ones end"),
        ((np.nan, np.nan), ": unknown shares of neurons end"),
    ):
        for radius, share in zip((small, large), shares, strict=True):
            near.loc[{"radius": radius}] = share
        figure = drawn("bn_mean_field", "fig2_magnitudes", data)
        assert words in figure.repdyn["title"]
        assert f"{number(shares[0], '.0%')} of length {small:g}" in figure.repdyn["caption"]


def test_theorem_4_says_whether_wide_systems_are_nearer_the_limit():
    data = made_up("bn_mean_field", "mean_field_limit")
    limit = data["propagation_distances"]
    limit["distance"][:] = 1 / limit["width"]
    assert title_of("bn_mean_field", "mean_field_limit", data).endswith(
        ": wide systems are nearer the mean-field flow than narrow ones"
    )
    widest = limit["width"].where((limit["width"] != limit["reference"]) & (limit["start"] == "i.i.d.")).max()
    limit["distance"][limit["width"] == widest] = 9
    assert ": not all wide systems are nearer" in title_of("bn_mean_field", "mean_field_limit", data)
    limit["distance"][:] = np.nan
    assert title_of("bn_mean_field", "mean_field_limit", data).endswith("is not known")


def test_equicontinuity_says_which_bound_holds():
    data = made_up("bn_mean_field", "equicontinuity_bounds")
    flow = data["equicontinuity"]
    for distance, printed, bound, words in (
        (1.0, 0.5, 2.0, "the printed bound fails, the corrected one holds"),
        (1.0, 2.0, 0.5, "the printed bound holds, the corrected one fails"),
        (np.nan, 2.0, 2.0, "the printed bound is not known, the corrected one is not known"),
    ):
        for name, level in (("w2", distance), ("bound_printed", printed), ("bound", bound)):
            flow[name][:] = level
        assert title_of("bn_mean_field", "equicontinuity_bounds", data).endswith(words)


def test_theorem_5_gives_the_most_that_separating_starts_leave():
    data = made_up("bn_mean_field", "global_minimum")
    flows = data["minimization"]
    for separating, others in ((0.001, 0.5), (0.2, 0.01)):
        flows["relative_loss"][:] = xr.where(flows["separates"] == 1, separating, others)
        figure = drawn("bn_mean_field", "global_minimum", data)
        assert f"from separating starts at most {separating:g} of the loss" in figure.repdyn["title"]
        assert f"{others:g} from others" in figure.repdyn["caption"]


def test_the_manifold_says_how_equal_the_angles_are():
    angles = np.radians(np.arange(0, 360, 10.0))
    data = made_up("bn_mean_field", "round_manifold")
    for moved in (0.0, 4.0):
        angles[1] = np.radians(10 + moved)
        unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        assert abs(_unevenness(unit) - moved) < 1e-5
        data["metric_audit"]["tick_position"][:] = unit
        title = title_of("bn_mean_field", "round_manifold", data)
        assert title.endswith(" 4 degree") == bool(moved)


def test_bias_and_noise_of_batches_go_as_the_powers_that_they_are():
    data = made_up("bn_mean_field", "batches_and_eps")
    batches = data["finite_batch"]
    size = batches["batch"].astype(float)
    for bias, noise in ((-1.0, -0.5), (-0.25, 0.5)):
        for name, power in (("bias", bias), ("noise", noise)):
            batches[name] = (size**power).broadcast_like(batches[name]).transpose(*batches[name].dims)
        title = title_of("bn_mean_field", "batches_and_eps", data)
        assert title == f"Finite batches: BN's bias goes as $B^{{{bias:.2f}}}$, its noise as $B^{{{noise:.2f}}}$"
    batches["bias"] = batches["bias"] * np.nan
    assert "bias goes as $B^{?}$" in title_of("bn_mean_field", "batches_and_eps", data)


def test_directions_say_whether_neurons_with_bn_end_nearer_the_axes():
    data = made_up("bn_mean_field", "directions_over_time")
    angle = data["anisotropy"]["axis_angle"]
    for first, second, words in (
        (5, 85, "end nearer the axis of each target"),
        (5, 20, "end not nearer the axis of each target"),
        (60, 85, "end not nearer the axis of each target"),
        (np.nan, np.nan, "end at an unknown distance from the axis of each target"),
    ):
        angle[:] = 40
        angle.loc[{"model": "BN", "target": "y = x1"}] = first
        angle.loc[{"model": "BN", "target": "y = x2"}] = second
        if np.isnan(first):
            angle[:] = np.nan
        assert title_of("bn_mean_field", "directions_over_time", data) == f"Over time: with BN neurons {words}"
