"""The compared networks: each layer against its formula, seeds against one another, weights shared by kinds."""

import numpy as np
import pytest
import torch
from tests.across_papers.reference import LEAK, layers

from repdyn.across_papers.experiments import training
from repdyn.across_papers.methods import networks
from repdyn.base.streams import Stream

KINDS = ("plain", "batch norm", "recentered", "residual", "leaky")
STREAM = Stream(1, ("across_papers", "test"))
WIDTH, DEPTH = 6, 4


def built(kind, seeds=3):
    return networks.build(kind, 5, WIDTH, DEPTH, 2, gain=0.8, leak=LEAK, stream=STREAM, seeds=seeds)


def points(n=7):
    return np.random.default_rng(0).normal(size=(n, 5))


def by_hand(network, seed, X):
    """Outputs of one seed's network."""
    part = {name: value.detach()[seed] for name, value in network.named_parameters()}
    places = [*["into"] * ("into.weight" in part), *(f"layers.{layer}.linear" for layer in range(DEPTH)), "output"]
    weights, biases = ([part[f"{place}.{name}"] for place in places] for name in ("weight", "bias"))
    scales, shifts = ([part.get(f"layers.{layer}.{name}") for layer in range(DEPTH)] for name in ("scale", "shift"))
    return layers(network.kind, weights, biases, torch.from_numpy(X), scales, shifts)[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_network_computes_its_formula(kind):
    network, X = built(kind), points()
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for part in network.parameters():
            part.add_(torch.from_numpy(0.1 * rng.normal(size=tuple(part.shape))))  # biases and scales, too
    out = network(torch.from_numpy(X)).detach().numpy()
    for seed in range(3):
        np.testing.assert_allclose(out[seed], by_hand(network, seed, X), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_network_is_that_of_its_seed(kind):
    network, X = built(kind), torch.from_numpy(points())
    single = network.single(2)
    torch.testing.assert_close(single(X), network(X)[2], rtol=1e-13, atol=1e-15)  # outputs of order 1 may cancel
    for _ in networks.descend(network, X, torch.zeros(7, 2).double(), rate=0.1, decay=0.0, steps=2):
        pass
    assert not torch.equal(single(X), network(X)[2])
    networks.follow(single, network, 2)
    torch.testing.assert_close(single(X), network(X)[2], rtol=1e-13, atol=1e-15)  # outputs of order 1 may cancel


def test_kinds_share_the_numbers_behind_their_weights():
    ratios = {}
    for kind in KINDS:
        weight = built(kind).layers[2].linear.weight.detach()
        ratios[kind] = (weight / built("plain").layers[2].linear.weight.detach()).unique()
    assert all(ratio.max() - ratio.min() < 1e-12 for ratio in ratios.values())
    assert ratios["residual"][0] == ratios["leaky"][0]


def test_a_seed_does_not_depend_on_how_many_there_are():
    assert torch.equal(built("plain", 2).output.weight, built("plain", 5).output.weight[:2])


@pytest.mark.parametrize(
    ("kind", "place", "wanted"),
    [
        ("plain", "layers.3.linear", 0.8 * np.sqrt(2 / 300)),
        ("plain", "output", np.sqrt(1 / 300)),
        ("residual", "layers.3.linear", np.sqrt(1 / 900)),
        ("leaky", "into", np.sqrt(1 / 600)),
    ],
)
def test_spread_of_the_weights(kind, place, wanted):
    network = networks.build(kind, 200, 300, 4, 200, gain=0.8, leak=1.0, stream=STREAM, seeds=1)
    spread = network.get_submodule(place).weight.std().item()
    assert spread == pytest.approx(wanted, rel=0.02)  # 6e4 draws or more: standard error 0.3 %


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_steps_are_those_of_torch(kind, momentum):
    network, X, Y = built(kind), torch.from_numpy(points()), torch.ones(7, 2).double()
    single, wanted = network.single(1), []
    optimizer = torch.optim.SGD(single.parameters(), lr=0.02, momentum=momentum, weight_decay=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        loss = ((single(X) - Y) ** 2).sum(dim=-1).mean() / 2
        wanted.append(loss.item())
        loss.backward()
        optimizer.step()
    options = {"rate": 0.02, "decay": 0.01, "momentum": momentum}
    losses = [loss[1] for _, loss in networks.descend(network, X, Y, steps=4, moments={3}, **options)]
    assert losses[0] == pytest.approx(wanted[3], rel=1e-12)  # a stop after three steps changes nothing
    for own, shared in zip(single.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(shared[1].detach(), own.detach(), rtol=1e-10, atol=1e-12)


def test_batch_normalization_does_not_oppose_the_decay_above_its_floor():
    """The gradient of incoming weights has no part along them (Euler) unless the variance is near the floor."""
    X, Y = torch.from_numpy(points()), torch.ones(7, 2).double()
    shares = {}
    for size in (1.0, 1e-2):
        single = built("batch norm").single(0)
        weight = single.layers[2].linear.weight
        with torch.no_grad():
            weight.mul_(size)
        (((single(X) - Y) ** 2).sum(dim=-1).mean() / 2).backward()
        shares[size] = abs((weight * weight.grad).sum() / (weight.norm() * weight.grad.norm())).item()
    assert shares[1.0] < 1e-4
    assert shares[1e-2] > 100 * shares[1.0]


def test_points_on_a_line_are_interpolated_by_one_layer():
    """Rank 1 suffices for any targets: a ReLU at every point of a line interpolates them."""
    rng = np.random.default_rng(0)
    line, Y = np.sort(rng.normal(size=8)), rng.normal(size=(8, 5))
    hidden = np.maximum(line[:, None] - line[None, :-1], 0)
    slopes = np.diff(np.diff(Y, axis=0) / np.diff(line)[:, None], axis=0, prepend=np.zeros((1, 5)))
    np.testing.assert_allclose(Y[0] + hidden @ slopes, Y, rtol=1e-9)
    assert np.linalg.matrix_rank(Y - Y.mean(axis=0)) == 5


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
