"""Experiments and analyses of the two-point part at toy size: shapes, pairing, dropped trials, what the audit sees."""

import inspect

import numpy as np
import pytest
import xarray as xr
from pydantic import ValidationError

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.universality.claims import initial_weights
from repdyn.universality.experiments import fits, theory_maps, two_points
from repdyn.universality.experiments.formula_audit import formula_audit
from repdyn.universality.settings.two_points import (
    AdamRuns,
    Architectures,
    DefaultNetwork,
    FinalDistribution,
    Fits,
    FormulaAudit,
    Networks,
    NetworkSettings,
    PrintedData,
)
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
def architectures() -> xr.Dataset:
    return run(two_points.architectures, Architectures(rows=("default", "shallow", "tanh", "linear"), **RUN))


@pytest.fixture(scope="module")
def default() -> xr.Dataset:
    return run(two_points.default_network, DefaultNetwork(units=30, **RUN))


def test_networks_of_one_shape_share_their_draws(architectures, default):
    start = architectures["h"].isel(epoch=0)
    assert np.allclose(start.sel(network="shallow") / start.sel(network="default"), (0.9 / 0.5) ** 4)  # two maps
    assert np.allclose(start.sel(network="default"), default["h"].sel(layer=1).isel(epoch=0))
    adam = run(two_points.adam_runs, AdamRuns(rates=(0.01,), **RUN | {"epochs": 30}))
    assert np.allclose(adam["h"].isel(rate=0, epoch=0), start.sel(network="default"))


def test_records_are_consistent(architectures):
    y, w, dy2 = architectures["y"], architectures["w"], architectures["dy2"]
    assert np.allclose((y - w) ** 2, y * dy2, rtol=1e-9)  # one output
    pair = (w + (dy2 - y) / 2) / 4
    assert np.allclose(architectures["loss"], architectures["offset2"] / 2 + pair, rtol=1e-9)  # (9) for any network
    assert architectures["engine"].values.tolist() == ["compiled"] * 4


def test_fits_drop_what_has_not_converged(architectures):
    estimates = fits.architecture_fits(LIMIT, architectures, NOTHING_KEPT)
    assert estimates["converged"].sum("seed").values.tolist() == [3, 3, 3, 0]
    fitted = estimates.isel(network=[0, 1, 2])
    assert np.isfinite(fitted["eta_h"]).all()
    assert np.isnan(estimates["eta_h"].sel(network="linear")).all()
    assert int(estimates["shown"].sel(network="linear")) == -1
    assert (fitted["r2"].sel(curve="y") > 0.9).all()
    assert (fitted["loss_r2"] > 0.9).all()
    assert (fitted["quarter"] < fitted["half"]).all()
    assert (fitted["half"] < fitted["three_quarters"]).all()
    shown = architectures.isel(network=0, seed=int(estimates["shown"][0]))
    off = estimates["theory"].isel(network=0).values - np.stack([shown[name].values for name in fits.CURVES])
    loss = estimates["fit_loss"].isel(network=0, seed=int(estimates["shown"][0]))
    assert float(10 * (off**2).sum()) == pytest.approx(float(loss), rel=1e-9)


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


def test_the_audit_separates_printed_from_corrected():
    audit = formula_audit(FormulaAudit(draws=3), Stream(1, ("universality", "test")))
    wrong = {"(17)", "(39), (40)", "(42), (43)", "closed form"}
    for name in audit["equation"].values.tolist():
        row = audit.sel(equation=name)
        limit = 0.1 if name == "(5), (15)" else 1e-6
        assert (row["corrected"] < limit).all(), name
        assert bool((row["printed"] > 1e-4).any()) == (name in wrong or name == "(5), (15)"), name
        assert (row["control"] > 1e-4).any(), name


def test_distribution_dataset_separates_the_two_laws():
    distribution = theory_maps.final_distribution(FinalDistribution(draws=20_000), Stream(1, ("universality", "law")))
    off = {form: np.abs(distribution[form] - distribution["level"]).max("level") for form in ("printed", "corrected")}
    assert (off["corrected"] < 0.02).all()  # 20000 draws: Dvoretzky-Kiefer-Wolfowitz at 1e-6
    assert (off["printed"].sel(rho=[0.4, 2.5]) > 0.1).all()
    assert np.allclose(distribution["mass"], 1, atol=1e-6)
    assert initial_weights.density_mean(distribution, "corrected").outcome == "passes"
    assert initial_weights.density_mean(distribution, "printed").outcome == "fails"
    assert (np.diff(distribution["deviation"]) < 0).all()


@pytest.mark.parametrize(("kind", "more"), [(DefaultNetwork, {"units": 30}), (AdamRuns, {"rates": (0.01,)})])
def test_trainings_of_two_records_are_refused_since_nothing_could_be_fitted(kind, more):
    kind(**RUN | {"epochs": 30, "every": 10} | more)
    with pytest.raises(ValidationError, match=r"20.*10"):
        kind(**RUN | {"epochs": 20, "every": 10} | more)
