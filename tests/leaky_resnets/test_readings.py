"""What claims, figures and tables read of stored data, on paths and measures made up by hand."""

import numpy as np
import pytest
import xarray as xr
from tests.leaky_resnets.test_exact_experiments import run

from repdyn.leaky_resnets.methods import readings
from repdyn.leaky_resnets.theory.hamiltonian import theorem4_bounds, theorem4_speed_gap


def test_stage_is_read_in_the_layer_next_to_it():
    p = np.array([[0.0, 0.2, 0.5, 1.0], [0.0, 0.25, 0.3, 1.0]])  # middles .1, .35, .75 and .125, .275, .65
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    measures = xr.Dataset({"p": (("seed", "node"), p), "weight_dimension": (("seed", "layer"), values)})
    np.testing.assert_array_equal(readings.at_stage(measures, "weight_dimension"), [2, 5])


def test_unevenness_of_steps_in_the_plane():
    plane = np.array([[[0, 0], [3, 4], [3, 5]], [[0, 0], [1, 0], [1, 1]]], float)  # lengths 5, 1 and 1, 1
    path = xr.DataArray(plane, dims=("seed", "node", "axis"))
    np.testing.assert_allclose(readings.steps_in_plane(path), [[5, 1], [1, 1]])
    np.testing.assert_allclose(readings.unevenness_in_plane(path), [2 / 3, 0])


def test_factor_of_proposition_9_reads_the_last_layer_that_is_there():
    weights = np.array([[[1.0, 3.0, np.nan, np.nan]], [[1.0, 2.0, 4.0, 7.0]]])
    balance = np.array([[[1.0, 3.0, np.nan, np.nan]], [[1.0, 2.0, 3.0, 13.0]]])
    dims = ("layers", "seed", "layer")
    refined = xr.Dataset({"weight_sq": (dims, weights), "balance": (dims, balance)}, {"layers": [2, 4]})
    np.testing.assert_allclose(readings.balance_factor(refined), [[2], [1]])


def test_bounds_of_bottlenecks_are_theorem_4s():
    lab = run("geodesics", effective_depths=(3.0, 6.0, 9.0), seeds=1)
    middle, lower, upper = readings.bottleneck_bounds(lab)
    gap = readings.bottleneck_speed_gap(lab)
    for bias in (0, 1):
        for Lt in (3.0, 6.0, 9.0):
            path = {"bias": bias, "effective_depth": Lt, "seed": 0}
            one = lab.sel(path)
            gamma_c = float((one["gamma"] * one["momentum_sq"]).max())
            wanted = theorem4_bounds(np.trapezoid(one["speed"], lab["p"]), Lt, gamma_c)
            assert (lower.sel(path), upper.sel(path)) == pytest.approx((wanted.lower, wanted.upper))
            H = float(one["scaled_hamiltonian"].mean())
            assert float(middle.sel(path)) == pytest.approx(H - float(one["cost"].min()))
            size = Lt * np.sqrt(one["gamma"] * one["momentum_sq"])
            found = theorem4_speed_gap(one["speed"], one["cost"], H, Lt) / size
            np.testing.assert_allclose(gap.sel(path), found, atol=1e-5)  # H drifts by the integrator's tolerance


def test_size_and_distance_name_the_networks():
    measures = xr.Dataset(
        {"relative_distance": (("maps", "seed"), [[0.1, 0.3], [2.0, 4.0]])},
        {"maps": ["decayed maps", "fixed maps"], "dimension": 10, "width": 30, "points": 300, "steps": 500},
    )
    told = readings.size_and_distance(measures)
    assert "d = 10, w = 30, N = 300, 500 steps" in told
    assert "0.2 (decayed maps), 3 (fixed maps)" in told
