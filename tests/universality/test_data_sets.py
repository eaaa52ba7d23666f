"""Experiments on data sets at small size: paired, resumable; analyses of stored data."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.images import load_images
from repdyn.base.streams import Stream
from repdyn.universality.experiments import images as experiment
from repdyn.universality.experiments.images import image_training
from repdyn.universality.experiments.xor import xor, xor_gains
from repdyn.universality.methods import minibatch_loop
from repdyn.universality.settings.data_sets import (
    ImageNetwork,
    ImageRuns,
    Images,
    TrainedNetwork,
    Xor,
    XorGains,
    XorRuns,
)

STREAM = Stream(1, ("test",))
NOTHING_KEPT = Checkpoint(None, "")


def network(**changes):
    settings = {"nonlinearity": "leaky relu", "gain": 1.0, "rate": 0.05, "epochs": 6, "units": 12, "hidden": 4}
    return TrainedNetwork(**(settings | {"optimizer": "sgd"} | changes))


def xor_settings(**changes):
    runs = {name: network(epochs=40, hidden=2, gain=1.2) for name in XorRuns.model_fields}
    runs["high"] = network(epochs=40, hidden=2, gain=0.6)
    return Xor(**({"trials": 3, "looks": 5, "runs": XorRuns(**runs)} | changes))


def trained_on(images, checkpoint=NOTHING_KEPT):
    stored = {"stored_steps": (0, 14, 84), "parameters_at": (0, 84), "parameters_of": 2}
    net = ImageNetwork(**network(rate=0.2).model_dump(exclude={"epochs"}), steps=84)
    settings = Images(
        **{"trials": 2, "batch": 32, "tracked": 30, "pairs": 2}, **stored, runs=ImageRuns(sgd=net, adam=net)
    )
    return image_training(settings, net, images, STREAM, "cpu", checkpoint, "sgd")


@pytest.fixture(scope="module")
def images():
    return load_images("digits").isel(point=slice(0, 200))


@pytest.fixture(scope="module")
def trained(images):
    return trained_on(images)


def test_more_gains_start_from_the_draws_of_xor():
    usual = xor_settings()
    gain = usual.runs.adam_intermediate.gain
    scan = xor_gains(XorGains(gains=(gain, 1.4)), usual, STREAM.of("xor_gains"), "cpu", Checkpoint(None, ""))
    trained = xor(usual, STREAM.of("xor"), "cpu", Checkpoint(None, "")).sel(run="adam_intermediate")
    assert scan["gain"].values.tolist() == [gain, 1.4]
    for name in ("h", "y", "loss"):
        assert np.array_equal(scan[name].isel(run=0), trained[name])
        assert not np.array_equal(scan[name].isel(run=1), trained[name])


def test_a_part_of_the_images_at_a_time_gives_the_same_means(trained, images, monkeypatch):
    monkeypatch.setattr(experiment, "PART", 64)
    again = trained_on(images)
    for name in ("loss", "representation"):
        np.testing.assert_allclose(again[name], trained[name], rtol=1e-5, atol=1e-6)
    assert np.array_equal(again["accuracy"], trained["accuracy"])


def test_training_resumes_bit_for_bit(tmp_path, monkeypatch, images, trained):
    """A run that is killed half-way, with its state on disk, ends like an uninterrupted one."""
    monkeypatch.setattr(minibatch_loop, "KEPT_EVERY", 0.0)

    class KilledError(Exception):
        pass

    def dies(trainer, stream, passes, batch):
        if 7 in passes:
            raise KilledError
        return orders(trainer, stream, passes, batch)

    orders = minibatch_loop._orders
    monkeypatch.setattr(minibatch_loop, "_orders", dies)
    with pytest.raises(KilledError):
        trained_on(images, Checkpoint(tmp_path, "x"))
    seen = []
    monkeypatch.setattr(minibatch_loop, "_orders", lambda *arguments: seen.append(arguments[2]) or orders(*arguments))
    again = trained_on(images, Checkpoint(tmp_path, "x"))
    assert seen[0] == range(7, 8)
    xr.testing.assert_identical(trained, again)
