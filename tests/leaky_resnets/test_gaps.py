"""A network with a number that is not finite is left out whole; the others stay as they are."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments import output_growth
from repdyn.leaky_resnets.methods.network_datasets import LARGEST, diverged, without_diverged
from repdyn.leaky_resnets.settings.training import OutputGrowth

PARTS = ("W", "into", "out")


def network():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=shape) for name, shape in zip(PARTS, ((3, 4, 5), (4, 2), (2, 4)), strict=True)}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, LARGEST, -LARGEST])
def test_one_parameter_beyond_all_bounds_is_enough(name, value):
    parts = network()
    parts[name].flat[-1] = np.nextafter(LARGEST, 0)
    assert not diverged(parts)
    parts[name].flat[-1] = value
    assert diverged(parts)


def networks():
    """Four networks over two kinds of maps and two seeds, with a score of each and one by layers."""
    rng, dims = np.random.default_rng(1), ("maps", "seed")
    own = {"W": ("layer", "neuron", "input"), "into": ("neuron", "feature"), "out": ("feature", "neuron")}
    variables = {
        name: ((*dims, *own[name]), rng.normal(size=(2, 2, *part.shape)).astype(np.float32), {"long_name": name})
        for name, part in network().items()
    }
    scores = {"test_error": (dims, np.ones((2, 2))), "by_layers": ((*dims, "layers"), np.ones((2, 2, 3)))}
    return xr.Dataset(variables | scores)


@pytest.mark.parametrize("name", PARTS)
def test_a_network_of_which_one_part_has_diverged_is_left_out_whole(name):
    data, kept = networks(), networks()
    data[name][1, 0].values.flat[-1] = np.inf
    left = without_diverged(data, "trained", SimpleNamespace(rate=0.01, descent_steps=0, descent_rate=0.5))
    for part in PARTS:
        assert np.isnan(left[part][1, 0]).all()
        for place in ((0, 0), (0, 1), (1, 1)):
            np.testing.assert_array_equal(left[part][place], kept[part][place])
        assert (left[part].dims, left[part].dtype, left[part].long_name) == (kept[part].dims, np.float32, part)
    assert re.search(r"1 of 4.*trained\.rate.*0\.01", left.attrs["diverged"])


@pytest.mark.parametrize("name", ["test_error", "by_layers"])
def test_networks_without_a_score_are_counted_and_the_rate_of_descent_is_named(name):
    data, kept = networks(), networks()
    data[name].values[(0, 1, -1)[: data[name].ndim]] = np.nan
    settings = SimpleNamespace(rate=0.01, descent_steps=5, descent_rate=0.5)
    left = without_diverged(data, "trained", settings)
    assert re.search(r"1 of 4.*trained\.rate.*0\.01.*trained\.descent_rate.*0\.5", left.attrs["diverged"])
    for part in PARTS:
        np.testing.assert_array_equal(left[part], kept[part])


def test_networks_that_are_all_finite_are_as_they_were():
    settings = SimpleNamespace(rate=0.01, descent_steps=0, descent_rate=0.5)
    xr.testing.assert_identical(without_diverged(networks(), "trained", settings), networks())


def test_outputs_that_end_beyond_all_bounds_are_counted_by_seed(monkeypatch):
    settings = OutputGrowth(
        dimension=2, width=3, layers=2, points=10, classes=2, rate=0.25, records=(1, 2, 4, 8), seeds=3
    )
    runs = np.ones((2, 4, 2, 3))
    runs[1, -1, 1, 2] = np.inf  # the loss of one seed, at the last record of the second loss
    seeds = iter(np.moveaxis(runs, -1, 0))
    monkeypatch.setattr(output_growth, "_trained", lambda settings, generator: next(seeds))
    data = output_growth.output_growth(settings, Stream(1, ("outputs",)), Checkpoint(None, ""))
    assert re.search(r"1 of 6.*output_growth\.rate.*0\.25", data.attrs["diverged"])
    assert int(data["loss"].isnull().sum()) == 1
    assert not data["output_size"].isnull().any()
