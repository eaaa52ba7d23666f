"""The convolutional network of the study: layers, start, descent and points against computations by hand."""

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from repdyn.base.datasets import problems
from repdyn.base.streams import Stream
from repdyn.diagnostics.experiments import network as experiment
from repdyn.diagnostics.methods import convolutional
from repdyn.diagnostics.settings import ConvolutionalNetwork

SETTINGS = ConvolutionalNetwork(
    channels=2, blocks=2, width=4, gain=0.5, rate=0.25, batch=3, record=(0, 1, 2, 4), per_class=2, seeds=2
)


def images(points=40):
    """Made-up images in no order of their classes."""
    rng = np.random.default_rng(5)
    values = rng.lognormal(size=(points, 4, 4))
    labels = rng.permutation(np.arange(points) % 10)
    return xr.Dataset({"image": (("point", "row", "column"), values), "label": ("point", labels)})


def test_the_network_is_the_chain_of_its_layers():
    torch.manual_seed(0)
    model, x = convolutional.ConvolutionalNetwork(3, 2, 5, 6, 10).double().eval(), torch.randn(7, 1, 6, 6).double()
    with torch.no_grad():
        hidden = nn.functional.conv2d(x, model.conv.weight, padding=1) / np.sqrt(1 + 1e-5)  # running variance 1
        for block in model.blocks:
            hidden = hidden + nn.functional.conv2d(hidden.clamp(min=0), block.conv.weight, padding=1) / 2
        pooled = hidden.clamp(min=0).reshape(7, 3, 3, 2, 3, 2).mean(dim=(3, 5)).flatten(1)
        dense = (pooled @ model.dense.weight.T + model.dense.bias) / np.sqrt(1 + 1e-5)
        wanted = dense.clamp(min=0) @ model.output.weight.T + model.output.bias
        torch.testing.assert_close(model(x), wanted)
    assert list(model.stream.layers) == ["norm", "blocks.0", "blocks.1"]
    assert model.layers == ["input", "conv", *model.stream.layers, "pool", "dense", "dense_norm", "relu", "output"]


def test_initial_weights_have_hes_variance_times_the_gain():
    model = convolutional.ConvolutionalNetwork(32, 2, 300, 8, 10)
    convolutional.start(model, 0.5, np.random.default_rng(0))
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            inputs = 9 * module.in_channels if isinstance(module, nn.Conv2d) else module.in_features
            own = module.weight.detach().numpy()
            assert own.std() == pytest.approx(0.5 * np.sqrt(2 / inputs), rel=4 / np.sqrt(2 * own.size))
            assert module.bias is None or not module.bias.any()
    blocks = [block.conv.weight for block in model.blocks]
    assert not torch.equal(*blocks)


def test_images_are_standardized_as_a_whole():
    data = images()
    values, labels = experiment.standardized(data)
    raw = data["image"].values
    np.testing.assert_allclose(values, (raw - raw.sum() / raw.size) / np.sqrt(np.mean((raw - raw.mean()) ** 2)))
    np.testing.assert_array_equal(labels, data["label"].values)


def test_the_measured_points_are_the_first_of_every_class():
    labels = images()["label"].values
    held = experiment.first_of_each_class(labels, 2)
    wanted = [place for place, label in enumerate(labels) if (labels[:place] == label).sum() < 2]
    assert held.tolist() == wanted


def test_descent_goes_through_permuted_points_in_batches_with_half_the_squared_error():
    """Batches of three of seven points: what a pass leaves over comes first in the next one."""
    rng = np.random.default_rng(0)
    X, labels = torch.tensor(rng.normal(size=(7, 5))), rng.integers(0, 10, 7)
    torch.manual_seed(1)
    model = nn.Linear(5, 10).double()
    weights, bias = (part.detach().numpy().copy() for part in (model.weight, model.bias))
    seen = []
    for step in experiment.descend(model, X, labels, SETTINGS, np.random.default_rng(9)):
        seen.append((step, model.weight.detach().numpy().copy(), model.bias.detach().numpy().copy()))
    draws = np.random.default_rng(9)
    order = np.concatenate([draws.permutation(7) for _ in range(3)])
    for place, (step, own_weights, own_bias) in enumerate(seen):
        assert step == place
        np.testing.assert_allclose(own_weights, weights)
        np.testing.assert_allclose(own_bias, bias)
        chosen = order[3 * step : 3 * step + 3]
        x = X.numpy()[chosen]
        error = x @ weights.T + bias - np.eye(10)[labels[chosen]]
        weights, bias = weights - 0.25 * error.T @ x / 3, bias - 0.25 * error.sum(axis=0) / 3
    assert len(seen) == 5
    np.testing.assert_allclose(model.weight.detach().numpy(), weights)


SMALL = ConvolutionalNetwork(
    channels=3, blocks=2, width=8, gain=0.1, rate=0.1, batch=16, record=(0, 1, 2, 4, 8), per_class=2, seeds=2
)


@pytest.fixture(scope="module")
def measured():
    return experiment.convolutional_network(SMALL, images(60), Stream(1, ("diagnostics", "convolutional_network")))


def test_the_network_learns_at_every_seed(measured):
    assert not [problem for problem in problems(measured) if not problem.startswith("attribute")]
    assert dict(measured.sizes)["seed"] == 2
    assert list(measured["step"].values) == [0, 1, 2, 4, 8]
    assert measured.attrs["normalized_by"] == "batch statistics"
    labels = images(60)["label"].values
    np.testing.assert_array_equal(measured["label"], labels[experiment.first_of_each_class(labels, 2)])
    first, second = (measured["norm"].isel(seed=seed) for seed in (0, 1))
    assert (first.sel(layer="input") == second.sel(layer="input")).all()  # the same points, other weights
    assert (first.sel(layer="conv") != second.sel(layer="conv")).any()
    assert list(measured["normalized"].values) == ["conv", "dense"]
    assert float(measured["loss"].isel(step=-1).max()) < float(measured["loss"].isel(step=0).min())


def test_a_seed_does_not_depend_on_the_others(measured):
    settings = SMALL.model_copy(update={"seeds": 1})
    assert ConvolutionalNetwork.model_validate(settings.model_dump()) == settings
    alone = experiment.convolutional_network(settings, images(60), Stream(1, ("diagnostics", "convolutional_network")))
    xr.testing.assert_identical(alone.isel(seed=0).drop_vars("seed"), measured.isel(seed=0).drop_vars("seed"))


def test_records_without_the_start_are_refused():
    with pytest.raises(ValueError, match="record"):
        ConvolutionalNetwork.model_validate(SMALL.model_dump() | {"record": (1, 2, 3, 4)})
