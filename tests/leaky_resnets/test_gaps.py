"""One number that is not finite makes a network a gap: which networks are left out, which stay as they are."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.figures import new
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments import discretized, network_measures, output_growth
from repdyn.leaky_resnets.figures import shared, trained
from repdyn.leaky_resnets.methods.network_datasets import LARGEST, diverged, without_diverged
from repdyn.leaky_resnets.settings.training import OutputGrowth

PARTS = ("W", "into", "out")
SETTINGS = SimpleNamespace(rate=0.01, descent_steps=0, descent_rate=0.5)


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
    left = without_diverged(data, "trained", SETTINGS)
    for part in PARTS:
        assert np.isnan(left[part][1, 0]).all()
        for place in ((0, 0), (0, 1), (1, 1)):
            np.testing.assert_array_equal(left[part][place], kept[part][place])
        assert (left[part].dims, left[part].dtype, left[part].long_name) == (kept[part].dims, np.float32, part)
    assert left.attrs["diverged"] == "1 of 4 networks have diverged (trained.rate: 0.01)"


@pytest.mark.parametrize("name", ["test_error", "by_layers"])
def test_networks_without_a_score_are_counted_and_the_rate_of_descent_is_named(name):
    data, kept = networks(), networks()
    data[name].values[(0, 1, -1)[: data[name].ndim]] = np.nan
    settings = SimpleNamespace(rate=0.01, descent_steps=5, descent_rate=0.5)
    left = without_diverged(data, "trained", settings)
    assert left.attrs["diverged"].startswith(
        "1 of 4 networks have diverged (trained.rate: 0.01; trained.descent_rate: 0.5)"
    )
    for part in PARTS:
        np.testing.assert_array_equal(left[part], kept[part])


def test_networks_that_are_all_finite_are_as_they_were():
    left = without_diverged(networks(), "trained", SETTINGS)
    xr.testing.assert_identical(left, networks())


def test_outputs_that_end_beyond_all_bounds_are_counted_by_seed(monkeypatch):
    settings = OutputGrowth(
        dimension=2, width=3, layers=2, points=10, classes=2, rate=0.25, records=(1, 2, 4, 8), seeds=3
    )
    runs = np.ones((2, 4, 2, 3))
    runs[1, -1, 1, 2] = np.inf  # the loss of one seed, at the last record of the second loss
    monkeypatch.setattr(output_growth, "_trained", lambda settings, seeds, stream: runs[..., seeds.start : seeds.stop])
    data = output_growth.output_growth(settings, Stream(1, ("outputs",)), Checkpoint(None, ""))
    assert data.attrs["diverged"] == "1 of 6 networks have diverged (output_growth.rate: 0.25)"
    assert int(data["loss"].isnull().sum()) == 1
    assert not data["output_size"].isnull().any()


@pytest.mark.parametrize(
    ("changed", "layers", "missing"),
    [
        ((), (2, 2), None),
        ((), (2, 1), "beyond the last layer"),
        ((1,), (2, 2), "beyond the last layer, or after a network has diverged"),
    ],
)
def test_measures_say_why_they_have_gaps(changed, layers, missing, monkeypatch):
    """A measure by layer, of two networks, and one that is whole."""
    monkeypatch.setattr(network_measures, "MEASURES", {"one": ((), "a number"), "each": (("layer",), "by layer")})
    stored = networks().isel(maps=0)
    for seed in changed:
        stored["W"][seed, 0, 0, 0] = np.nan
    made = [{"one": np.array(1.0), "each": np.where(seed in changed, np.nan, np.ones(layers[seed]))} for seed in (0, 1)]
    measured = iter(made)
    monkeypatch.setattr(network_measures, "_measures", lambda *_: next(measured))
    variables = network_measures._measured(stored, ("seed",), None, None)
    assert variables["each"].shape == (2, 2)
    assert "missing" not in variables["one"].attrs
    assert variables["each"].attrs.get("missing") == missing


def test_a_path_with_a_gap_has_no_layers_at_its_ends():
    paths = np.stack([np.linspace(0, 1, 11)] * 3)
    paths[1, -1] = np.nan
    fifths = network_measures._fifths(xr.Variable(("seed", "node"), paths))
    for name in ("first_fifth", "last_fifth"):
        np.testing.assert_allclose(fifths[name], [1, np.nan, 1])


def test_steps_of_a_network_that_diverged_stay_and_others_move():
    """Of three networks the second has one infinite activation; others take steps by their own paths."""
    rng, steps = np.random.default_rng(2), np.full((4, 3), 0.25)
    paths = (
        rng.normal(size=(3, 5, 2, 6))
        * np.array([1, 3, 9, 27, 81])[:, None, None] ** np.array([1, 1, 2])[:, None, None, None]
    )
    paths[1, 2, 0, 3] = np.inf
    seen = []
    run = SimpleNamespace(representations=lambda: paths, steps=steps, set_steps=seen.append)
    discretized._adapt(run, SimpleNamespace(damping=0.5, effective_depth=3.0))
    (moved,) = seen
    np.testing.assert_array_equal(moved[:, 1], 0.25)
    np.testing.assert_allclose(moved.sum(axis=0), 1)
    for seed in (0, 2):
        assert np.ptp(moved[:, seed]) > 0.005
    assert not np.allclose(moved[:, 0], moved[:, 2])


def test_an_axis_without_one_of_its_ends_stays_as_it_is():
    panel = new(1, 1)[1][0, 0]
    for ends in ((np.nan, 2.0), (0.5, np.inf), (np.nan, np.nan)):
        before = panel.get_ylim()
        shared.limits(panel, *ends)
        assert panel.get_ylim() == before
    shared.limits(panel, 0.5, 2.0)
    assert panel.get_ylim() == (0.5, 2.0)


@pytest.mark.parametrize(
    ("energies", "shown"), [([5.0, 1.0, 3.0], 2), ([np.nan, 1.0, 3.0, np.nan, 2.0], 4), ([np.nan] * 2, 0)]
)
def test_the_network_that_is_shown_has_the_middle_energy_of_those_that_are_known(energies, shown):
    energy = np.full((2, 2, len(energies)), 7.0)
    energy[0, 1] = energies
    chains = xr.Dataset(
        {"median_hamiltonian": (("maps", "effective_depth", "seed"), energy)},
        {"maps": ["decayed maps", "free maps"], "effective_depth": [2.0, 8.0], "seed": range(len(energies))},
    )
    assert int(trained._shown(chains)["seed"]) == shown
