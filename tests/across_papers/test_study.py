"""Experiments at small size, claims on made-up data that must turn them, figures, settings."""

import numpy as np
import pytest
import torch
import xarray as xr

from repdyn.across_papers.experiments import training
from repdyn.across_papers.methods import networks
from repdyn.across_papers.settings import Digits, TwoPoints
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream

COMMON = {"width": 8, "depth": 4, "gain": 0.8, "leak": 1.0, "steps": 12}
RATES = {"plain": 0.05, "batch_norm": 0.05, "residual": 0.05, "leaky": 0.05}
TWO = TwoPoints.model_validate(COMMON | {"rates": RATES, "moments": 7, "seeds": 3})
SIXTY = Digits.model_validate(
    COMMON
    | {"rates": RATES, "moments": 6, "seeds": 2, "per_class": 2, "groups": (4, 3, 3), "decay": 0.01, "momentum": 0.5}
)


def no_checkpoint():
    return Checkpoint(None, "")


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {"image": (("point", "row", "column"), rng.uniform(size=(60, 4, 4))), "label": ("point", np.arange(60) % 10)}
    )


def test_seeds_differ_and_do_not_depend_on_their_number():
    stream, fewer = Stream(1, ("across_papers", "two_points")), TWO.model_copy(update={"seeds": 2})
    few = training.two_points(fewer, stream, no_checkpoint())
    many = training.two_points(TWO, stream, no_checkpoint()).isel(seed=slice(0, 2))
    for name in ("representation_distance", "pair_loss", "final_loss"):
        np.testing.assert_allclose(many[name], few[name], rtol=1e-9)  # products of a batch round by its size
        assert not np.allclose(many[name].isel(seed=0), many[name].isel(seed=1))


def test_coordinates_in_the_span_change_no_training(monkeypatch):
    monkeypatch.setattr(training, "PIXELS", 9)
    rng = np.random.default_rng(0)
    X, Y = torch.from_numpy(rng.normal(size=(4, 9))), torch.from_numpy(rng.normal(size=(4, 2)))
    for kind in ("plain", "leaky"):
        whole = networks.build(kind, 9, 6, 4, 2, gain=0.8, leak=1.0, stream=Stream(1, ("t",)), seeds=2)
        inside, Z = training._in_span(whole, X)
        assert Z.shape == (4, 4)
        options = {"rate": 0.1, "decay": 0.01, "steps": 20}
        runs = [[loss for _, loss in networks.descend(*pair, Y, **options)] for pair in ((whole, X), (inside, Z))]
        np.testing.assert_allclose(*runs, rtol=1e-10)


def test_finer_images_are_learned_at_the_same_rate():
    """Every pixel doubled in both directions: the outputs, the losses and so the rates stay."""
    rng = np.random.default_rng(0)
    images, Y = rng.normal(size=(4, 8, 8)), torch.from_numpy(rng.normal(size=(4, 2)))
    runs = []
    for times in (1, 2):
        X = torch.from_numpy(images.repeat(times, axis=1).repeat(times, axis=2).reshape(4, -1))
        network = networks.build("residual", 64, 6, 4, 2, gain=0.8, leak=1.0, stream=Stream(1, ("t",)), seeds=2)
        if times == 2:  # the same maps, shared out among the four pixels of each
            number = np.arange(64).reshape(8, 8).repeat(2, axis=0).repeat(2, axis=1).ravel()
            network.into.weight.data = network.into.weight.data[:, :, number] / 4
        inside, Z = training._in_span(network, X)
        np.testing.assert_allclose(inside(Z).detach(), network(X).detach(), rtol=1e-10)
        runs.append([loss for _, loss in networks.descend(inside, Z, Y, rate=0.1, decay=0.0, steps=20)])
    np.testing.assert_allclose(*runs, rtol=1e-10)


def test_a_rate_that_diverges_is_named(images):
    fast = SIXTY.model_copy(update={"rates": SIXTY.rates.model_copy(update={"residual": 10.0}), "steps": 300})
    trained = training.digits(fast, images, Stream(1, ("across_papers", "digits")), no_checkpoint())
    assert "residual 10" in trained.attrs["diverged"]
    gone = trained["final_loss"].isnull()
    assert gone.sel(network="residual").all()
    assert not gone.sel(network="plain").any()
    assert trained["middle_values"].sel(network="residual", end="after training").isnull().all()
