"""Moments of a recording beside the first one, and radial shares of gradients, against numbers by hand."""

import numpy as np
import torch
import xarray as xr

from repdyn.diagnostics.methods import radial
from repdyn.diagnostics.methods.losses import usual_loss
from repdyn.diagnostics.methods.recording import aligned, changing, joined, nothing_of

FIRST = xr.Dataset(
    {"units": ("layer", [3, 4]), "stable_rank": ("layer", [1.5, 2.5]), "loss": 0.5},
    {"layer": ["a", "b"]},
    {"left_out": ""},
)


def test_a_later_moment_has_the_layers_and_diagnostics_of_the_first():
    moment = xr.Dataset({"other": 1.0, "stable_rank": ("layer", [5.0, 6.0])}, {"layer": ["b", "c"]})
    later = aligned(moment, FIRST)
    assert list(later.data_vars) == ["units", "stable_rank", "loss"]
    assert later["layer"].values.tolist() == ["a", "b"]
    np.testing.assert_array_equal(later["stable_rank"], [np.nan, 5.0])
    assert np.isnan(later["loss"])
    np.testing.assert_array_equal(aligned(FIRST, FIRST)["stable_rank"], [1.5, 2.5])


def test_a_moment_without_numbers_keeps_what_never_changes():
    empty = nothing_of(FIRST, "all: lost")
    assert changing(FIRST) == ["stable_rank", "loss"]
    assert empty["units"].values.tolist() == [3, 4]
    assert empty["stable_rank"].isnull().all()
    assert np.isnan(empty["loss"])
    assert empty.attrs["left_out"] == "all: lost"
    assert FIRST["stable_rank"].values.tolist() == [1.5, 2.5]


def test_moments_are_joined_along_the_time_of_the_recording():
    moments = [FIRST, FIRST.assign(stable_rank=2 * FIRST["stable_rank"], loss=0.25), nothing_of(FIRST, "all: lost")]
    whole = joined(moments, [0.0, 5.0, 20.0], "hour", "h")
    assert whole["stable_rank"].dims == ("hour", "layer")
    np.testing.assert_array_equal(whole["stable_rank"], [[1.5, 2.5], [3.0, 5.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(whole["loss"], [0.5, 0.25, np.nan])
    assert whole["units"].dims == ("layer",)
    assert whole["hour"].values.tolist() == [0.0, 5.0, 20.0]
    assert (whole["hour"].attrs["units"], whole.attrs["time"]) == ("h", "hour")
    assert whole.attrs["left_out"] == "hour 20: all: lost"


def test_shares_are_of_each_row_and_rows_without_a_gradient_are_left_out():
    weights = np.array([[3.0, 4.0], [2.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    slopes = np.array([[4.0, -3.0], [-1.0, 1.0], [0.0, 1e-9], [0.6, 0.8]])
    shares = [0.0, 1 / np.sqrt(2), 0.6]  # the third row's gradient is rounding beside the largest
    fraction = radial._fraction(weights, slopes)
    np.testing.assert_allclose(fraction[:2], [np.median(shares), np.max(shares)], atol=1e-15)
    assert np.isnan(radial._fraction(weights, 0 * slopes)[:2]).all()


def test_what_may_be_scaled_are_rows_of_weights_or_weights_and_bias_together():
    weight, bias = torch.arange(12.0).reshape(2, 3, 2, 1), torch.tensor([20.0, 30.0])
    rows = radial._rows({"weight": weight, "bias": bias}, True)
    np.testing.assert_array_equal(rows, np.arange(12.0).reshape(2, 6))
    np.testing.assert_array_equal(radial._rows({"weight": weight, "bias": bias}, False), [[*range(12), 20, 30]])
    np.testing.assert_array_equal(radial._rows({"weight": weight}, False), [[*range(12)]])


def test_the_usual_loss_is_of_labels_else_of_targets_else_of_zero():
    output = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 4.0]])
    exponentials = np.exp(output.numpy())
    entropy = np.mean([np.log(row.sum() / row[label]) for row, label in zip(exponentials, (1, 0), strict=True)])
    targets, square = np.ones((2, 3)), float((output**2).mean()) / 2
    error = np.mean((output.numpy() - 1) ** 2) / 2
    for labels, wanted, loss in (
        (np.array([1, 0]), None, entropy),
        (np.array([1, 0]), targets, error),
        (None, targets, error),
        (None, None, square),
        (np.array([1, 3]), None, square),  # a label beyond the outputs
        (np.array([1, 0, 2]), None, square),
        (None, np.ones(3), square),
    ):
        np.testing.assert_allclose(float(usual_loss(labels, wanted)(output)), loss, rtol=1e-6)
