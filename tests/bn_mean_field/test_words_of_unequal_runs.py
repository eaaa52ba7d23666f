"""Words of figures where no two starts, neurons, iterations and sizes are alike: which of them count, and how."""

import numpy as np
import pytest
import xarray as xr
from tests.titled import drawn, made_up

from repdyn.bn_mean_field.figures.batch_statistics import _power
from repdyn.bn_mean_field.figures.first_steps import _order
from repdyn.bn_mean_field.figures.learning_speed import _contrast, _faster, _move_of_steps, _shift_of_steps
from repdyn.bn_mean_field.figures.neuron_directions import _more_small, _near_at_end, _nearer
from repdyn.bn_mean_field.figures.particle_limit import _bounds, _trend
from repdyn.bn_mean_field.figures.switched_off import _gathers, _learns


def of_starts(values, networks):
    """Variables by network and start from rows of each network."""
    return {name: (("network", "start"), np.array(rows, float)) for name, rows in values.items()}, {"network": networks}


def test_steps_that_learn_are_compared_by_medians_over_starts():
    """BN's largest step 8 against 2, its range 1.5 against 0.5 decades; means would be 36 against 21 and 1 and 3."""
    rates = xr.Dataset(
        *of_starts(
            {
                "largest_step": [[1.0, 100.0, 8.0], [60.0, 2.0, 1.0]],
                "smallest_step": [[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]],
                "decades": [[0.2, 1.5, 1.6], [8.0, 0.5, 0.1]],
            },
            ["BN", "vanilla"],
        )
    )
    words = "BN makes the largest 4 times and their range 10 times as large as vanilla, medians"
    assert _shift_of_steps(rates) == words
    assert _move_of_steps(rates) == "widens the range of steps that learn more than it moves it"
    rates["largest_step"][0] *= 100  # moved by 2.6 decades: the middle by 2.1, more than the range grows
    assert _move_of_steps(rates) == "moves the range of steps that learn more than it widens it"
    rates["largest_step"][0] /= 1e4  # down by 1.4, the middle by 1.9
    assert _move_of_steps(rates) == "moves the range of steps that learn more than it widens it"


def test_a_ratio_of_one_is_no_slower():
    assert [_faster(xr.DataArray(ratio)) for ratio in (0.99, 1.0, 1.01)] == ["slower", "faster", "faster"]
    assert _faster(xr.DataArray(0.5), "no faster") == "no faster"


def test_contrasts_are_medians_at_the_first_and_the_last_angle_in_any_order():
    scan = xr.Dataset(
        {
            "outer_contrast": (("angle", "seed"), [[0.0, 1.0, 5.0], [-1.0, -7.0, 2.0], [3.0, -2.0, -3.0]]),
            "contrast": (("angle", "seed"), np.full((3, 3), 9.0)),
        },
        {"angle": [45.0, 0.0, 90.0]},
    )
    assert [float(_contrast(scan, place)) for place in (0, -1)] == pytest.approx([0.1, 0.01])


def test_lengths_after_a_step_are_medians_of_bn_from_small_to_large():
    """Medians 3, 2, 1 at lengths 0.1, 1, 10, which stand in no order; of means and of the other model they rise."""
    norm = np.full((2, 3, 3, 3), 50.0)
    norm[0, 1] = [[2.0, 0.5, 2.5], [0.1, 3.0, 3.1], [1.0, 0.9, 99.0]]
    norm[1, 1] = [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0], [3.0, 3.0, 3.0]]
    start = xr.Dataset(
        {"norm": (("model", "iteration", "radius", "neuron"), norm)},
        {"model": ["BN", "vanilla"], "iteration": [0, 1, 2], "radius": [1.0, 0.1, 10.0]},
    )
    assert _order(start) == "smaller neurons are longer than larger ones"
    norm[0, 1, 1] = [0.1, 1.9, 3.1]  # the smallest below the middle one, above the largest
    assert (
        _order(start.assign(norm=(start["norm"].dims, norm))) == "not all smaller neurons are longer than larger ones"
    )


def test_neurons_near_the_axis_are_those_at_the_end_without_the_first_start():
    """Small ones 20, 40 and 90 %, large ones 45 %; the first start, other iterations and medians say the reverse."""
    near = np.zeros((2, 4, 3))
    near[0, :, -1] = [1.0, 0.45, 0.4, 0.5]
    near[1, :, -1] = [0.0, 0.9, 0.2, 0.4]
    near[0, :, :-1] = 0.9
    shares = xr.DataArray(near, dims=("radius", "start", "iteration"), coords={"radius": [10.0, 1.0]})
    assert _near_at_end(shares) == "45% of length 10, 50% of length 1"
    assert _more_small(shares) == "more small neurons than large ones"
    shares[1, 1, -1] = 0.6
    assert _near_at_end(shares) == "45% of length 10, 40% of length 1"
    assert _more_small(shares) == "no more small neurons than large ones"


def test_neurons_are_nearer_the_axis_of_each_target_by_the_median_at_the_end():
    """Angles of three neurons to the first axis: BN 10 against 20 for its target, 80 against 70 for the other one."""
    angle = np.full((2, 2, 3, 3), 45.0)
    angle[0, 0, -1], angle[1, 0, -1] = [10.0, 0.0, 89.0], [20.0, 21.0, 1.0]
    angle[0, 1, -1], angle[1, 1, -1] = [80.0, 90.0, 1.0], [70.0, 69.0, 89.0]
    dims = ("model", "target", "iteration", "neuron")
    coords = {"model": ["BN", "vanilla"], "target": ["y = x1", "y = x2"]}
    runs = xr.Dataset({"axis_angle": (dims, angle)}, coords)
    assert _nearer(runs) == "nearer"
    for target, neuron, value in ((0, 0, 30.0), (1, 0, 60.0)):  # one target alone
        other = runs.copy(deep=True)
        other["axis_angle"][0, target, -1, neuron] = value
        assert _nearer(other) == "not nearer"


def test_wide_systems_are_nearer_by_the_mean_at_every_time_of_every_kind():
    """Of widths 8, 32 and 16 in no order two draws each, and references; 16 may lie above and below."""
    kinds = [(start, target) for start in ("low discrepancy", "i.i.d.") for target in ("equal signs", "opposite signs")]
    widths = [16, 8, 32, 16, 8, 32, 100]
    draws = [[9.0, 0.1], [0.2, 4.0], [1.9, 0.1], [0.1, 9.0], [4.0, 0.2], [0.1, 1.9], [50.0, 50.0]]
    limit = xr.Dataset(
        {"distance": (("run", "time"), np.array(draws * 4))},
        {
            "start": ("run", [start for start, _ in kinds for _ in widths]),
            "target": ("run", [target for _, target in kinds for _ in widths]),
            "width": ("run", widths * 4),
            "reference": 100,
        },
    )
    assert _trend(limit) == "wide systems are nearer the mean-field flow than narrow ones"
    for kind in range(4):
        for time in (0, 1):
            other = limit.copy(deep=True)
            other["distance"][7 * kind + 2, time] = 5.0
            assert _trend(other) == "not all wide systems are nearer the mean-field flow than narrow ones"


def test_one_pair_of_times_alone_breaks_a_bound():
    """A distance at its bound, off by rounding, obeys it."""
    flow = xr.Dataset(
        {
            "w2": (("time", "later"), [[1.0, 2.0], [np.nan, 3.0]]),
            "bound": (("time", "later"), [[1.0 - 1e-12, 5.0], [0.0, 7.0]]),
            "bound_printed": (("time", "later"), [[4.0, 6.0], [0.0, 2.999]]),
        }
    )
    assert _bounds(flow) == "the printed bound fails, the corrected one holds"
    flow["bound"][0, 1] = 1.999
    flow["bound_printed"][1, 1] = 3.001
    assert _bounds(flow) == "the printed bound holds, the corrected one fails"


def test_equal_speeds_learn_sooner_by_the_median_start_at_its_best_step():
    """Best of each start 10, 20, 400 against 30, 25, 15: medians 20 and 25; other tasks and thresholds differ."""
    needed = np.full((2, 2, 2, 3, 3), 1.0)
    needed[0, 0, 0] = [[10.0, 90.0, np.inf], [70.0, 20.0, 60.0], [np.inf, 500.0, 400.0]]
    needed[0, 0, 1] = [[np.inf, 30.0, 40.0], [25.0, 99.0, np.inf], [80.0, 15.0, 99.0]]
    dims = ("task", "threshold", "network", "start", "step")
    features = xr.Dataset({"needed": (dims, needed)}, {"network": ["BN, equal speeds", "vanilla"]})
    assert _learns(features) == "in fewer iterations"
    needed[0, 0, 0, 1, 1] = 26.0
    assert _learns(features.assign(needed=(dims, needed))) == "in no fewer iterations"


def test_neurons_gather_alike_where_shares_at_the_end_differ_by_a_twentieth_at_most_for_every_target():
    """Of 40 neurons 20 are near at the end with BN, 18 with equal speeds, and for the other target 22 and 24."""
    angle = np.full((2, 2, 2, 2, 20), 80.0)  # network, target, iteration, start, neuron
    for network, target, first, second in ((0, 0, 14, 6), (0, 1, 2, 20), (1, 0, 8, 10), (1, 1, 13, 11)):
        angle[network, target, -1, 0, :first] = 14.9
        angle[network, target, -1, 1, :second] = 3.0
    angle[0, :, 0] = 1.0
    dims = ("network", "angle", "iteration", "start", "neuron")
    runs = xr.Dataset({"axis_angle": (dims, angle)}, {"network": ["BN", "BN, equal speeds"]})
    assert _gathers(runs) == "as many neurons end"
    for target, start, neuron in ((0, 0, 7), (1, 1, 11)):
        other = runs.copy(deep=True)
        other["axis_angle"][1, target, -1, start, neuron] = 15.0 if target == 0 else 14.9
        assert _gathers(other) == "not as many neurons end"


def test_powers_are_of_the_mean_over_groups():
    batches = xr.DataArray(
        [[0.5, 0.5, 5.0], [0.0, 1.0, 0.5], [0.1, 7.9, 16.0]],
        dims=("batch", "group"),
        coords={"batch": [16, 64, 4]},
    )  # means 2, 0.5 and 8
    assert _power(batches) == "-1.00"


def test_theorem_5_names_the_largest_loss_left_of_separating_starts():
    data = made_up("bn_mean_field", "global_minimum")
    flows = data["minimization"]
    place = np.arange(flows.sizes["start"])
    separates = flows["separates"].values == 1
    flows["relative_loss"][:] = 0.9
    last = np.where(separates, 0.001 * (1 + place % 4), 0.5)
    last[np.flatnonzero(separates)[1]] = 0.02
    flows["relative_loss"].loc[{"frame": flows["frame"][-1]}] = last
    title = drawn("bn_mean_field", "global_minimum", data).repdyn["title"]
    assert title == "Theorem 5: from separating starts at most 0.02 of the loss is left"
