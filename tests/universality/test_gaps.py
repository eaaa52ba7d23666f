"""One number that is not finite makes a network a gap: its own measures alone, and what is said of it."""

import numpy as np
import xarray as xr

from repdyn.universality.experiments import blob_structure, two_points
from repdyn.universality.methods import two_point_training
from repdyn.universality.methods.engines.frames import Frames, Task
from repdyn.universality.methods.networks import Net


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


# two points


def frames(trials=3, count=4):
    """Records of networks of one output that have not ended, losses 1, 0.5, 0.25, 0.125."""
    loss = np.tile(0.5 ** np.arange(count), (trials, 1))
    outputs = np.arange(trials * count * 2.0).reshape(trials, count, 2, 1)
    return Frames(1 + np.arange(trials * count * 1.0).reshape(trials, count, 1), outputs, loss)


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
