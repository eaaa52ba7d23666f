"""One number that is not finite makes a network a gap: its own measures alone, and what is said of it."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml
from tests.noted import data_of

import repdyn
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.figures import new
from repdyn.base.streams import Stream
from repdyn.universality.experiments import blob_structure, digit_pairs, two_points, xor
from repdyn.universality.experiments import blobs as blobs_experiment
from repdyn.universality.figures import digits as figures
from repdyn.universality.methods import minibatch_loop, two_point_training
from repdyn.universality.methods.engines.frames import Frames, Task
from repdyn.universality.methods.networks import Net
from repdyn.universality.study import STUDY

VALUES = Path(repdyn.__file__).parent / "universality" / "values" / "default.yaml"
DEFAULTS = STUDY.settings.model_validate(yaml.safe_load(VALUES.read_text(encoding="utf-8")))
NOTHING_KEPT = Checkpoint(None, "")


def blobs():
    """Three networks of eight points on a square in each of two contexts; the second has one infinite neuron."""
    rng = np.random.default_rng(0)
    feature = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (2, 1))
    context = np.repeat([0, 1], 4)
    h = rng.normal(size=(3, 8, 5)) + 10 * feature[None, :, :1] + 7 * feature[None, :, 1:] + context[:, None]
    return xr.Dataset(
        {"h": (("trial", "point", "neuron"), h), "loss": (("look", "trial"), np.zeros((2, 3)))},
        {"feature": (("point", "axis"), feature), "context": ("point", context)},
    )


def test_one_infinite_neuron_at_one_point_leaves_its_network_alone_without_measures():
    data, whole = blobs(), blobs()
    data["h"][1, 3, 2] = np.inf
    for measure in (blob_structure._collapse, blob_structure._between):
        measured, known = measure(data), measure(whole)
        assert np.isnan(measured[1]).all()
        np.testing.assert_array_equal(np.delete(measured, 1, axis=0), np.delete(known, 1, axis=0))
        assert np.isfinite(known).all()
    picture, share = blob_structure._picture(data["h"].values[1], "classical")
    assert picture.shape == (8, 3)
    assert np.isnan(picture).all()
    assert np.isnan(share)


@pytest.mark.parametrize(("gone", "first"), [((), 0), ((0,), 1), ((0, 1), 2), ((0, 1, 2), 0)])
def test_the_picture_is_of_the_first_network_that_is_finite(gone, first):
    data = blobs()
    for trial in gone:
        data["h"][trial, -1, -1] = np.nan
    np.testing.assert_array_equal(blob_structure._first_finite(data), data["h"].values[first])


@pytest.mark.parametrize("curve", ["h", "y", "w"])
def test_a_pair_with_one_infinite_record_has_no_rates(curve):
    frames = np.linspace(0, 1, 6)
    pair = xr.Dataset({name: ("epoch", k + frames) for k, name in enumerate("hyw")}, {"epoch": np.arange(6)})
    pair[curve][4] = np.inf
    fit = digit_pairs._fit(pair, "by variance")
    assert np.isnan([fit.eta_h, fit.eta_y, fit.loss, *fit.r2]).all()
    assert fit.theory.shape == (3, 6)
    assert fit.at_bound


# two points


def frames(trials=3, count=4):
    """Records of networks of one output that have not ended, losses 1, 0.5, 0.25, 0.125."""
    loss = np.tile(0.5 ** np.arange(count), (trials, 1))
    outputs = np.arange(trials * count * 2.0).reshape(trials, count, 2, 1)
    return Frames(1 + np.arange(trials * count * 1.0).reshape(trials, count, 1), outputs, loss)


def test_rows_in_which_a_trial_has_diverged_are_named_with_their_rate_and_gain():
    tasks = {
        name: Task(Net("tanh", gain, 4, 2), [[-1.0], [0.0]], [[0.6], [1.3]], rate)
        for name, gain, rate in (("a", 0.9, 0.1), ("b", 1.2, 0.2), ("c", 1.5, 0.3))
    }
    loss = np.ones((3, 2, 4))
    loss[0, :, 1] = np.inf  # in the middle of training alone
    loss[1, 1, -1], loss[2, 0, -1] = np.inf, np.nan
    runs = xr.Dataset({"loss": (("network", "seed", "epoch"), loss)}, {"network": list(tasks)})
    said = two_points._left_out(runs, "printed_data", tasks).attrs["diverged"]
    rows = "b, learning_rate 0.2, gain 1.2; c, learning_rate 0.3, gain 1.5"
    assert said == f"2 of 6 networks have diverged (printed_data: networks {rows})"


def test_a_trial_ends_at_its_last_finite_record():
    loss = np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 3.0, np.inf, np.nan], [np.nan] * 4])
    h = np.arange(12.0).reshape(3, 4, 1)
    run = xr.Dataset(
        {
            "loss": (("seed", "epoch"), loss),
            "h": (("seed", "epoch", "layer"), h),
            "y": (("seed", "epoch"), 10 + h[..., 0]),
            "trained_epochs": ("seed", [7, 8, 9]),
        }
    )
    ends = two_points._ends(run)
    assert ends["h0"].tolist() == [0, 4, 8]
    assert ends["y0"].tolist() == [10, 14, 18]
    assert ends["h_end"].tolist() == [3, 5, 8]
    assert ends["loss_end"].tolist() == [1.0, 3.0, 1e300]
    assert ends["epochs"].tolist() == [7, 8, 9]


def test_a_trial_that_stopped_keeps_its_last_record_and_one_that_diverged_has_gaps():
    recorded = frames()
    recorded.loss[1, 2:], recorded.loss[2, 2:] = np.nan, np.nan
    recorded.loss[1, 1], recorded.loss[2, 1] = 1e-9, 3.0  # the second has learned, the third has not
    task = Task(Net("tanh", 0.9, 4, 2), [[-1.0], [0.0]], [[0.6], [1.3]], 0.1, stop=1e-6)
    held, last = two_point_training._held(task, recorded)
    assert last.tolist() == [3, 1, 1]
    np.testing.assert_array_equal(held.h[1, :, 0], recorded.h[1, [0, 1, 1, 1], 0])
    np.testing.assert_array_equal(held.h[2], recorded.h[2])
    np.testing.assert_array_equal(held.loss[2], recorded.loss[2])
    np.testing.assert_array_equal(held.h[0], recorded.h[0])


def test_an_output_that_is_missing_at_one_point_is_a_gap_at_its_record_alone():
    outputs = np.zeros((2, 3, 2, 2))
    outputs[:, :, 1] = [3.0, 4.0]
    outputs[1, 2, 0, 1] = np.nan
    target = np.array([[0.0, 0.0], [3.0, 0.0]])
    y, w, offset2 = two_point_training._output_variables(outputs, target)
    known = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, np.nan]])
    np.testing.assert_allclose(y, 25 * known)
    np.testing.assert_allclose(w, 16 * known)  # (dy - (y2 - y1)) . dy
    np.testing.assert_allclose(offset2, 4 * known)


def test_rows_of_the_grid_of_distances_are_named_with_the_slower_rate(monkeypatch):
    """One trial of one cell has diverged, and one that went beyond all bounds for a while alone."""
    settings = DEFAULTS.final_distances.model_copy(
        update={"rows": ("default", "skip", "tanh"), "dx": (0.5, 1.0), "dy": (0.0, 1.0), "slower": 4.0, "seeds": 2}
    )

    def trained(settings, task, own, *, checkpoint, name):
        loss = np.ones((2, 3))
        loss[0, 1] = np.inf if name == "tanh 0.5 0.0" else 1.0
        loss[1, 2] = np.inf if name == "skip 1.0 1.0" else 1.0
        dims = ("seed", "epoch")
        ends = {"h": ((*dims, "layer"), np.ones((2, 3, 1))), "y": (dims, np.ones((2, 3))), "loss": (dims, loss)}
        return xr.Dataset(ends | {"trained_epochs": ("seed", [40, 40])})

    monkeypatch.setattr(two_points, "train_two_points", trained)
    networks = {name: getattr(DEFAULTS.networks, name) for name in settings.rows}
    grid = two_points.final_distances(settings, networks, Stream(1, ("t",)), NOTHING_KEPT)
    skip = networks["skip"]
    words = f"networks skip, learning_rate {skip.learning_rate / 4:g}, gain {skip.gain:g}"
    assert grid.attrs["diverged"] == f"1 of 24 networks have diverged (final_distances: {words})"


# data sets


def test_runs_of_xor_in_which_a_network_ends_beyond_all_bounds_are_named(monkeypatch):
    settings = DEFAULTS.xor.model_copy(update={"trials": 3, "looks": 4})

    def run(name, begin, trials, looks, stream, watch, checkpoint):
        loss = np.ones((4, 3))
        loss[0 if name == "high" else -1, 1] = np.inf if name in ("high", "low", "adam_high") else 1.0
        return {"h": np.ones((4, 3, 4, 4)), "y": np.ones((4, 3, 4, 4)), "loss": loss}

    monkeypatch.setattr(minibatch_loop, "run", run)
    data = xor.xor(settings, Stream(1, ("t",)), "cpu", NOTHING_KEPT)
    low, adam = settings.runs.low, settings.runs.adam_high
    rows = f"low: rate {low.rate:g}, gain {low.gain:g}; adam_high: rate {adam.rate:g}, gain {adam.gain:g}"
    assert data.attrs["diverged"] == f"2 of {3 * data.sizes['run']} networks have diverged (xor.runs {rows})"
    assert data["loss"].sel(run="low").isnull().sum() == 1


def test_blobs_whose_loss_ends_beyond_all_bounds_are_counted_with_their_rate_and_gain(monkeypatch):
    settings, network = DEFAULTS.blobs.model_copy(update={"positions": 2, "looks": 3}), DEFAULTS.blobs.runs.low
    trials = settings.trials

    def run(name, begin, trials, looks, stream, watch, checkpoint):
        loss = np.ones((len(looks), trials))
        loss[0, 0] = loss[-1, 2] = loss[-1, 3] = np.nan
        return {"h": np.ones((1, trials, 8, network.units)), "loss": loss}

    monkeypatch.setattr(minibatch_loop, "run", run)
    data = blobs_experiment.blobs(settings, network, Stream(1, ("t",)), "cpu", NOTHING_KEPT, "low")
    words = f"blobs.runs low: rate {network.rate:g}, gain {network.gain:g}"
    assert data.attrs["diverged"] == f"2 of {trials} networks have diverged ({words})"


def test_a_prediction_that_one_network_cannot_be_held_against_is_called_constant():
    data = data_of("universality", "uni-fig9-labels")["representational_structure"]
    prediction = data["prediction"].values[1]
    data["correlation"].loc[{"run": "sgd", "prediction": prediction, "trial": data["trial"][-1]}] = np.nan
    panel = new(1, 1)[1][0, 0]
    figures._predictions(panel, data, data["part"].values[0])
    (words,) = [text for text in panel.texts if text.get_text() == "constant"]
    assert panel.get_yticklabels()[int(words.xy[1])].get_text() == prediction
