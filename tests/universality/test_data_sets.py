"""Experiments on data sets at small size: repeatable, paired, resumable; analyses of stored data; broken settings."""

import numpy as np
import pytest
import xarray as xr
from pydantic import ValidationError

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.images import load_images
from repdyn.base.streams import Stream
from repdyn.universality.experiments import images as experiment
from repdyn.universality.experiments.blob_structure import blob_structure
from repdyn.universality.experiments.blobs import blobs
from repdyn.universality.experiments.digit_pairs import digit_pairs
from repdyn.universality.experiments.digits import representational_structure, taylor_ratios
from repdyn.universality.experiments.images import image_training
from repdyn.universality.experiments.xor import xor, xor_gains
from repdyn.universality.experiments.xor_structure import xor_structure
from repdyn.universality.methods import minibatch_loop
from repdyn.universality.settings.data_sets import (
    BlobNetwork,
    BlobStructure,
    BlobTraining,
    ImageNetwork,
    ImageRuns,
    Images,
    RepresentationalStructure,
    TaylorRatios,
    TrainedNetwork,
    TrajectoryFits,
    Xor,
    XorGains,
    XorRuns,
)

STREAM = Stream(1, ("test",))
NOTHING_KEPT = Checkpoint(None, "")


def network(**changes):
    settings = {"nonlinearity": "leaky relu", "gain": 1.0, "rate": 0.05, "epochs": 6, "units": 12, "hidden": 4}
    return TrainedNetwork(**(settings | {"optimizer": "sgd"} | changes))


def on_images(**changes):
    return ImageNetwork(
        **network(**{name: changes[name] for name in ("rate", "optimizer") if name in changes}).model_dump(
            exclude={"epochs"}
        ),
        steps=changes["steps"],
    )


def xor_settings(**changes):
    runs = {name: network(epochs=40, hidden=2, gain=1.2) for name in XorRuns.model_fields}
    runs["high"] = network(epochs=40, hidden=2, gain=0.6)
    return Xor(**({"trials": 3, "looks": 5, "runs": XorRuns(**runs)} | changes))


def blob_settings(**changes):
    return BlobTraining(**({"trials": 2, "batch": 16, "positions": 5, "pixels": 4, "looks": 4} | changes))


def trained_blobs(run):
    plain = BlobNetwork(**network(nonlinearity="tanh").model_dump())
    return blobs(blob_settings(), plain, STREAM, "cpu", Checkpoint(None, ""), run)


def image_settings(**changes):
    settings = {
        "trials": 2,
        "batch": 32,
        "tracked": 30,
        "pairs": 2,
        "stored_steps": (0, 14, 84),
        "parameters_at": (0, 84),
    }
    runs = ImageRuns(sgd=on_images(steps=84, rate=0.2), adam=on_images(steps=21, optimizer="adam", rate=0.01))
    return Images(**(settings | {"parameters_of": 2, "runs": runs} | changes))


def trained_on(images, run, checkpoint=NOTHING_KEPT):
    settings = image_settings()
    return image_training(settings, getattr(settings.runs, run), images, STREAM, "cpu", checkpoint, run)


@pytest.fixture(scope="module")
def images():
    return load_images("digits").isel(point=slice(0, 200))


@pytest.fixture(scope="module")
def trained(images):
    return {run: trained_on(images, run) for run in ("sgd", "adam")}


def test_another_network_changes_no_old_number_and_gains_share_their_draws():
    few, many = (xor(xor_settings(trials=n), STREAM, "cpu", Checkpoint(None, "")) for n in (3, 4))
    xr.testing.assert_identical(few, many.isel(trial=slice(0, 3)))
    start = np.sqrt(few["h"].isel(look=0))
    ratio = start.sel(run="low") / start.sel(run="high").where(start.sel(run="high") > 0)
    assert np.allclose(ratio.values[np.isfinite(ratio)], 4.0, rtol=1e-5)  # float32; two layers, gains 1.2 and 0.6


def test_xor_learns_and_the_loss_is_the_mean_squared_error():
    dataset = xor(xor_settings(), STREAM, "cpu", Checkpoint(None, ""))
    assert (dataset["loss"].isel(look=-1) < dataset["loss"].isel(look=0)).mean() > 0.9
    two = dataset.sel(run="high").isel(look=0)  # outputs near zero: half of the targets are one
    assert np.all(np.abs(two["loss"] - 0.5) < 0.5)
    assert dataset["epoch"].values[0].tolist() == [0, 10, 20, 30, 40]
    assert np.allclose(dataset["h"], dataset["h"].transpose(..., "other", "point").values)
    assert dataset["dx"].values[0].tolist() == [0.0, 1.0, 1.0, np.sqrt(2)]
    assert dataset["dy"].values[1].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_more_gains_start_from_the_draws_of_xor():
    usual = xor_settings()
    gain = usual.runs.adam_intermediate.gain
    scan = xor_gains(XorGains(gains=(gain, 1.4)), usual, STREAM.of("xor_gains"), "cpu", Checkpoint(None, ""))
    trained = xor(usual, STREAM.of("xor"), "cpu", Checkpoint(None, "")).sel(run="adam_intermediate")
    assert scan["gain"].values.tolist() == [gain, 1.4]
    for name in ("h", "y", "loss"):
        assert np.array_equal(scan[name].isel(run=0), trained[name])
        assert not np.array_equal(scan[name].isel(run=1), trained[name])


def test_brightness_scales_the_images_alone():
    plain, bright = (
        blobs(
            blob_settings(),
            BlobNetwork(**network(nonlinearity="tanh", epochs=1).model_dump(), brightness=brightness),
            STREAM,
            "cpu",
            Checkpoint(None, ""),
            "low",
        )
        for brightness in (1.0, 5.0)
    )
    assert not np.array_equal(plain["h"], bright["h"])
    assert (float(plain["brightness"]), float(bright["brightness"])) == (1.0, 5.0)


def made_xor(h):
    """An XOR data set whose representations end at the given squared distances, from tiny ones."""
    dataset = xor(xor_settings(), STREAM, "cpu", Checkpoint(None, ""))
    start = 1e-8 * dataset["dx"] ** 2
    return dataset.assign(
        h=xr.where(dataset["look"] == 0, start, h).broadcast_like(dataset["h"]).transpose(*dataset["h"].dims),
        y=(1e-12 * dataset["dx"] ** 2).broadcast_like(dataset["h"]).transpose(*dataset["h"].dims),
    )


def fits(ratio):
    return xr.Dataset(
        {"eta_h": (("network", "seed"), [[ratio * 2, ratio / 2, np.nan]]), "eta_y": (("network", "seed"), [[1, 1, 1]])},
        coords={"network": ["default"]},
    )


def test_xor_structure_of_a_network_that_obeys_the_theory():
    """Small start: h_inf = sqrt(rho) dx dy, so distances match, have the right size, and equal targets merge."""
    dataset = xor(xor_settings(), STREAM, "cpu", Checkpoint(None, ""))
    structure = xor_structure(made_xor(0.3 * dataset["dx"] * dataset["dy"]), fits(0.09))
    assert float(structure["rho"]) == pytest.approx(0.09)
    assert np.allclose(structure["match"], 1.0, atol=1e-6)
    assert np.allclose(structure["scale"], 1.0, rtol=1e-3)  # the start of 1e-8 is not zero
    assert np.all(structure["merged"] < 1e-3)
    assert np.all(structure["growth_apart"] > 1000)


def test_xor_structure_of_a_network_that_keeps_the_square():
    dataset = xor(xor_settings(), STREAM, "cpu", Checkpoint(None, ""))
    structure = xor_structure(made_xor(4e-8 * dataset["dx"] ** 2), fits(0.09))
    assert np.allclose(structure["merged"], np.sqrt(2), rtol=1e-9)
    assert np.allclose(structure["growth_equal"], 2.0, rtol=1e-9)
    assert np.all(np.abs(structure["match"] + 1) < 0.1)  # the longest distances are predicted to vanish


def test_blobs_repeat_themselves_and_their_structure_is_measured():
    runs = {name: trained_blobs(name) for name in ("high", "low")}
    assert runs["high"].identical(trained_blobs("high"))
    runs["low"] = runs["low"].assign_coords(gain=0.25, rate=0.5)
    for method in ("classical", "smacof"):
        structure = blob_structure(BlobStructure(method=method, shown=20), runs)
        assert structure["picture"].shape == (2, 20, 3)
        for key in ("gain", "rate", "epochs"):  # each run under its own settings
            assert structure[key].values.tolist() == [runs[name][key].item() for name in ("high", "low")]
    task = runs["high"]["feature"].values[:, :2]
    line = task[np.arange(50), runs["high"]["context"].values]
    aligned = xr.zeros_like(runs["high"]["h"]).astype(float)
    aligned[..., 0] = line
    aligned[..., 1] = 2.0 * runs["high"]["context"].values
    collapsed_runs = {"made": runs["high"].assign(h=aligned)}
    structure = blob_structure(BlobStructure(method="classical", shown=50), collapsed_runs)
    assert np.all(structure["collapse"] < 1e-20)
    assert np.allclose(structure["between"], 4.0 / np.linspace(-1, 1, 5).var())
    assert float(structure["share"][0]) == pytest.approx(1.0)
    assert runs["high"]["h"].shape == (2, 50, 12)


def test_trajectories_are_those_of_the_network(trained, images):
    """Start and end of h, y, w from stored parameters and representations, float32 stored."""
    dataset = trained["sgd"]
    assert np.all(dataset["accuracy"].isel(look=-1) > dataset["accuracy"].isel(look=0))
    assert np.allclose(dataset["dy2"].sel(kind="same"), 0)
    assert np.allclose(dataset["dy2"].sel(kind="similar"), 2)
    y, w, dy2 = (dataset[name].values for name in ("y", "w", "dy2"))
    assert np.all((y - w) ** 2 <= y * dy2 * (1 + 1e-6) + 1e-12)  # Cauchy and Schwarz
    assert np.allclose(w[:, :, 2], y[:, :, 2])  # equal targets: w = y
    assert "parameters" not in trained["adam"]


def test_a_part_of_the_images_at_a_time_gives_the_same_means(trained, images, monkeypatch):
    monkeypatch.setattr(experiment, "PART", 64)
    again = trained_on(images, "sgd")
    for name in ("loss", "representation"):
        np.testing.assert_allclose(again[name], trained["sgd"][name], rtol=1e-5, atol=1e-6)
    assert np.array_equal(again["accuracy"], trained["sgd"]["accuracy"])


def test_training_resumes_bit_for_bit(tmp_path, monkeypatch, images):
    """A run that is killed half-way, with its state on disk, ends like an uninterrupted one."""
    whole = trained_on(images, "sgd")
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
        trained_on(images, "sgd", Checkpoint(tmp_path, "x"))
    seen = []
    monkeypatch.setattr(minibatch_loop, "_orders", lambda *arguments: seen.append(arguments[2]) or orders(*arguments))
    again = trained_on(images, "sgd", Checkpoint(tmp_path, "x"))
    assert seen[0] == range(7, 8)
    xr.testing.assert_identical(whole, again)


def test_analyses_of_digits_read_what_was_stored(trained, images):
    settings = RepresentationalStructure(length_scales=(0.3, 3.0), resamples=200)
    structure = representational_structure(settings, STREAM, images, trained)
    assert float(structure["table_error"]) < 1e-12
    assert float(structure["mean_table_error"]) > 0.05
    assert float(structure["pair_spread"]) > 1e-12
    assert np.all(np.diff(structure["label"]) >= 0)
    assert np.isnan(structure["correlation"].sel(prediction="labels alone", part="between classes")).all()
    last = structure["correlation_by_look"].isel(look=-1)
    assert np.array_equal(structure["correlation"].sel(run="sgd"), last, equal_nan=True)
    ratios = taylor_ratios(TaylorRatios(pairs=60, bins=4), STREAM, images, trained)
    assert ratios["look"].values.tolist() == [0, 12]
    assert np.all(np.diff(ratios["distance"].values, axis=-1) > 0)
    assert float(ratios["progress"][-1]) == pytest.approx(12 * 0.2 * 7)  # 200 images in batches of 32
    pairs = digit_pairs(TrajectoryFits(steps=84), trained)
    assert pairs.sizes["epoch"] == 13  # 84 steps, seven to a pass, and the start
    assert pairs["r2"].shape == (2, 3, 2, 2, 3)
    assert np.all(pairs["r2"] <= 1)
    assert digit_pairs(TrajectoryFits(steps=70), trained).sizes["epoch"] == 11


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: image_settings(stored_steps=(0, 14), parameters_at=(0, 14)), "end with the last step"),
        (lambda: image_settings(stored_steps=(7, 84), parameters_at=(7, 84)), "begin with 0"),
        (lambda: image_settings(parameters_at=(0, 5)), "not one of stored_steps"),
        (lambda: image_settings(parameters_of=3), "trials is 2"),
        (lambda: TaylorRatios(pairs=50, bins=20), "below five pairs"),
        (lambda: RepresentationalStructure(length_scales=(1.0, 0.5), resamples=200), "increasing order"),
        (lambda: network(gain=0.0), "greater than 0"),
        (lambda: network(optimizer="lbfgs"), "'sgd' or 'adam'"),
    ],
)
def test_broken_settings_are_refused(make, message):
    with pytest.raises(ValidationError, match=message):
        make()
