"""Trained networks: initializations against torch's own, training that repeats itself, ranks through a hook."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.images import load_images
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import point_neurons as experiment
from repdyn.bn_decomposed.experiments.point_neurons import point_neurons
from repdyn.bn_decomposed.experiments.training import training
from repdyn.bn_decomposed.methods import networks
from repdyn.bn_decomposed.settings.networks import PointNeurons, Rates, Training
from repdyn.bn_decomposed.theory.initialization import point_neuron_init, unit_columns

NOTHING_KEPT = Checkpoint(None, "")

SMALL = Training(
    width=32,
    depths=(1, 3),
    rates=Rates(bn=(0.1, 0.1), default=(0.1, 0.1), he=(0.03, 0.03)),
    batch=128,
    epochs=5,
    seeds=2,
    rank_points=64,
)


@pytest.fixture(scope="module")
def images():
    return load_images("digits").isel(point=slice(0, 300))


def run(images, mode="he", checkpoint=None, **changes):
    configuration = SMALL.model_copy(update=changes)
    return training(configuration, images, Stream(1, ("test",)), "cpu", checkpoint or Checkpoint(None, ""), mode)


def linear_weights(mode, rng):
    layers = networks.mlp(200, 300, 2, 10, mode, rng)
    return next(layer for layer in layers if isinstance(layer, nn.Linear))


def test_default_weights_have_the_range_and_variance_of_torch():
    """torch.nn.Linear draws weights and biases uniformly in +-1/sqrt(fan-in)."""
    ours, theirs = linear_weights("default", np.random.default_rng(0)), nn.Linear(200, 300)
    for mine, other in ((ours.weight, theirs.weight), (ours.bias, theirs.bias)):
        assert mine.abs().max() <= 200**-0.5 + 1e-7
        error = 5 * other.var() * (2 / mine.numel()) ** 0.5  # five standard errors of a variance, generous for uniform
        assert abs(mine.var() - other.var()) < error + 5 * other.var() * (2 / other.numel()) ** 0.5


def test_he_weights_have_variance_two_over_fan_in_and_no_bias():
    layer = linear_weights("he", np.random.default_rng(0))
    assert layer.weight.var().item() == pytest.approx(2 / 200, rel=5 * (2 / 60_000) ** 0.5)
    assert not layer.bias.any()


def test_batch_normalization_uses_batch_statistics_when_measured():
    network = networks.mlp(8, 16, 2, 3, "bn", np.random.default_rng(0)).eval()
    X = torch.randn(40, 8, generator=torch.Generator().manual_seed(0))
    hidden = network[:2](X)
    assert hidden.mean(dim=0).abs().max() < 1e-5
    assert (hidden.var(dim=0, unbiased=False) - 1).abs().max() < 1e-2


def test_a_trial_is_what_a_network_of_its_own_gives(images):
    """Trials differ from each other and equal those of a single run; ranks are those before training."""
    dataset = run(images)
    stream, flat = Stream(1, ("test",)).child(3, 1), images["image"].values.reshape(300, -1)
    X = torch.from_numpy((flat - flat.mean()) / flat.std()).float()
    y = torch.from_numpy(images["label"].values.astype(np.int64))
    network = networks.mlp(X.shape[1], 32, 3, int(y.max()) + 1, "he", stream.generator("weights"))
    ranks = networks.rank_profile(network, X[:64])
    [accuracy] = networks.train(network, X, y, rate=0.03, batch=128, epochs=5, rng=stream.generator("order"))
    cell = dataset.sel(depth=3, seed=1)
    assert {name: float(cell[name]) for name in ranks} == ranks
    assert float(cell["accuracy"][-1]) == accuracy
    assert networks.rank_profile(network, X[:64]) != ranks
    assert len(np.unique(dataset["effective_rank"])) == dataset["effective_rank"].size


def by_hand(network, x, labels, rate):
    """One step of descent on the mean cross-entropy by the chain rule, float64; the last linear layer has no ReLU."""
    layers, seen, normal = list(network), [x], {}
    for place, layer in enumerate(layers):
        below = seen[-1]
        if isinstance(layer, nn.Linear):
            seen.append(below @ array(layer.weight).T + array(layer.bias))
        elif isinstance(layer, nn.BatchNorm1d):
            spread = np.sqrt(below.var(axis=0) + 1e-5)
            normal[place] = (below - below.mean(axis=0)) / spread, spread
            seen.append(normal[place][0] * array(layer.weight) + array(layer.bias))
        else:
            seen.append(np.maximum(below, 0))
    share = np.exp(seen[-1] - seen[-1].max(axis=1, keepdims=True))
    slope = (share / share.sum(axis=1, keepdims=True) - np.eye(share.shape[1])[labels]) / len(x)
    for place, layer in reversed(list(enumerate(layers))):
        if isinstance(layer, nn.ReLU):
            slope = slope * (seen[place] > 0)
            continue
        if isinstance(layer, nn.Linear):
            weight, bias, below = slope.T @ seen[place], slope.sum(axis=0), slope @ array(layer.weight)
        else:
            z, spread = normal[place]
            weight, bias, inner = (slope * z).sum(axis=0), slope.sum(axis=0), slope * array(layer.weight)
            below = (inner - inner.mean(axis=0) - z * (inner * z).mean(axis=0)) / spread
        with torch.no_grad():
            layer.weight -= torch.from_numpy(rate * weight)
            layer.bias -= torch.from_numpy(rate * bias)
        slope = below


def array(part):
    return part.detach().numpy()


@pytest.mark.parametrize("mode", networks.MODES)
def test_training_is_descent_on_the_cross_entropy_in_batches_of_shuffled_points(mode):
    """Every fifth epoch is measured; a last batch of several points counts, one of a single point does not."""
    draws, batch = np.random.default_rng(3), 8
    for points in (3 * batch + 1, 3 * batch + 3):
        X, labels = draws.standard_normal((points, 6)), draws.integers(0, 3, points)
        ours, theirs = (networks.mlp(6, 9, 2, 3, mode, np.random.default_rng(4)).double() for _ in range(2))
        args = torch.from_numpy(X), torch.from_numpy(labels)
        accuracy = list(networks.train(theirs, *args, rate=0.1, batch=batch, epochs=10, rng=np.random.default_rng(5)))
        order, expected = np.random.default_rng(5), []
        for epoch in range(1, 11):
            shuffled = order.permutation(points)
            for first in range(0, points, batch):
                chosen = shuffled[first : first + batch]
                if len(chosen) > 1:
                    by_hand(ours, X[chosen], labels[chosen], 0.1)
            if epoch in (5, 10):
                expected.append(np.mean(array(ours(args[0])).argmax(axis=1) == labels))
        assert accuracy == expected
        for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            np.testing.assert_allclose(array(mine), array(other), rtol=0, atol=1e-12)


def test_an_output_beyond_all_numbers_is_wrong():
    outputs = torch.tensor([[2.0, 1.0], [1.0, 3.0], [math.inf, 1.0], [1.0, math.nan], [1.0, -math.inf]])
    assert networks.accuracy(nn.Identity(), outputs, torch.tensor([0, 0, 0, 1, 0])) == 0.2


def test_rank_profile_reads_what_the_last_linear_layer_gets():
    """A model whose last hidden layer has rank one by construction, and one of full rank."""
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(50, 6, generator=generator)
    thin = nn.Sequential(nn.Linear(6, 1, bias=False), nn.Linear(1, 5, bias=False), nn.Linear(5, 2))
    assert networks.rank_profile(thin, X)["numerical_rank"] == 1
    wide = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 2))
    profile = networks.rank_profile(wide, X)
    assert profile["numerical_rank"] == 5
    assert 1 <= profile["stable_rank"] <= profile["effective_rank"] <= 5


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 12), st.integers(2, 9), st.floats(0.05, 0.95), st.integers(0, 2**31))
def test_point_neurons_fire_for_their_own_point_alone(n, k, margin, seed):
    X = np.random.default_rng(seed).standard_normal((k, n))
    W, b = point_neuron_init(X, margin)
    H = np.maximum(W @ unit_columns(X) + b[:, None], 0)
    # own response 1 up to the rounding of cosine minus threshold, enlarged by the gain
    np.testing.assert_allclose(np.diag(H), 1, atol=1e-13 * np.abs(W).max())
    assert np.count_nonzero(H - np.diag(np.diag(H))) == 0


def test_wider_margins_let_neighbors_in():
    X = np.random.default_rng(0).standard_normal((5, 20))
    W, b = point_neuron_init(X, 3.0)
    assert np.mean(W @ unit_columns(X) + b[:, None] > 0) > 1 / 20


def test_gradient_of_the_two_layer_network_is_that_of_autograd(images):
    """One step of the hand-written descent against torch in float64, through predictions after the step."""
    from repdyn.bn_decomposed.experiments.point_neurons import _descend, _drawn, _predict

    configuration = PointNeurons(points=20, margins=(0.5,), rates=(0.7,), steps=3, seeds=2)
    U, labels = _drawn(images, np.random.default_rng(0))
    W, b = point_neuron_init(U[:, :20], 2.0)
    _, train, test = _descend(W, b, U, labels, 0.7, configuration)
    parameters = [torch.tensor(value, requires_grad=True) for value in (W, b, np.zeros((10, 20)), np.zeros(10))]
    X, y = torch.tensor(U[:, :20]), torch.tensor(labels[:20]).long()
    for _ in range(3):
        w, c, v, d = parameters
        out = v @ torch.relu(w @ X + c[:, None]) + d[:, None]
        grads = torch.autograd.grad(nn.functional.cross_entropy(out.T, y), parameters)
        parameters = [(p - 0.7 * g).detach().requires_grad_() for p, g in zip(parameters, grads, strict=True)]
    final = [p.detach().numpy() for p in parameters]
    right = _predict(*final, U) == labels
    assert (train, test) == (right[:20].mean(), right[20:].mean())


def test_a_scheme_counts_at_the_rate_whose_test_accuracy_is_best_on_average(images, monkeypatch):
    """Not by what it has learned by heart, nor by its best draw."""
    ends = {0.1: (3, 1.0, 0.5), 0.2: (3, 0.6, 0.7), 0.3: (3, 0.8, 0.6)}
    monkeypatch.setattr(experiment, "_descend", lambda W, b, U, labels, rate, settings: ends[rate])
    few = PointNeurons(points=20, margins=(0.5,), rates=tuple(ends), steps=3, seeds=2)
    dataset = point_neurons(few, images, Stream(1), NOTHING_KEPT)
    assert dataset["best_rate"].values.tolist() == [0.2, 0.2]
