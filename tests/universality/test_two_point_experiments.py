"""Fits of layers and of printed data at toy size; trainings too short to fit are refused."""

import inspect

import numpy as np
import pytest
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.universality.experiments import fits, two_points
from repdyn.universality.settings.two_points import DefaultNetwork, Fits, Networks, NetworkSettings, PrintedData
from repdyn.universality.theory.alternatives import ALTERNATIVES

ROW = {
    "nonlinearity": "leaky relu",
    "connections": "dense",
    "gain": 0.5,
    "learning_rate": 0.05,
    "units": 30,
    "hidden": 2,
    "dropout": 0.0,
    "channels": 1,
    "kernel": 1,
}
CHANGES = {"shallow": {"gain": 0.9}, "tanh": {"nonlinearity": "tanh"}, "linear": {"learning_rate": 1e-6}}
NETWORKS = Networks(**{name: NetworkSettings(**ROW | CHANGES.get(name, {})) for name in Networks.model_fields})
RUN = {"seeds": 3, "epochs": 1500, "every": 10, "stop": 1e-12, "dtype": "float64", "engine": "auto"}
LIMIT = Fits(converged=0.01)
NOTHING_KEPT = Checkpoint(None, "")


def run(function, settings, **more):
    stream = Stream(1, ("universality", function.__name__))
    wanted = {
        "default": NETWORKS.default,
        "networks": {name: getattr(NETWORKS, name) for name in Networks.model_fields},
    }
    wanted |= {"stream": stream, "device": "cpu", "checkpoint": NOTHING_KEPT}
    taken = {name: value for name, value in wanted.items() if name in inspect.signature(function).parameters}
    return function(settings, **taken, **more)


@pytest.fixture(scope="module")
def default() -> xr.Dataset:
    return run(two_points.default_network, DefaultNetwork(units=30, **RUN))


def test_every_layer_and_every_alternative_is_fitted(default):
    estimates = fits.default_network_fits(LIMIT, default, NOTHING_KEPT)
    assert estimates["fit_loss"].dims == ("layer", "seed")
    assert estimates["alternative"].values.tolist() == list(ALTERNATIVES)
    halfway = estimates["fit_loss"].sel(layer=1)
    assert np.allclose(estimates["alternative_loss"].sel(alternative="theory"), halfway)
    assert np.abs(estimates["residual"]).max() < 1e-12
    theory = estimates["ratio"].sel(source="theory").values
    h = estimates["shown_curves"].sel(source="theory", curve="h").values
    assert np.abs(np.polyval(np.polyfit(h, theory, 1), h) - theory).max() < 1e-10  # (24): a straight line
    wanted = 0.5**2 * (1 + 0.01**2) / 2
    assert np.allclose(estimates["layer_gain"], wanted, rtol=0.8)  # two layers of 30 units: a rough value


def test_printed_data_are_fitted_even_on_a_plateau():
    data = run(two_points.printed_data, PrintedData(rows=("linear",), dx=0.5, dy=1.0, **RUN | {"epochs": 200}))
    estimates = fits.printed_data_fits(LIMIT, data, NOTHING_KEPT)
    assert float(data["dx2"][0]) == 0.25
    assert float(data["dy2"][0]) == pytest.approx(1.0)
    assert not estimates["converged"].any()
    assert (estimates["fit_loss"] < 1.0).all()
