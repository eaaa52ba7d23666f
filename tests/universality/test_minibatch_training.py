"""The trainer by hand against autograd with torch's optimizers, its initial weights, its independence of company."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.universality.methods import minibatch_training as trainer
from repdyn.universality.methods.engines import compiled_minibatch
from repdyn.universality.methods.networks import LEAK

SIZES, POINTS, TRIALS = [5, 12, 11, 3], 37, 3
MODULES = {"leaky relu": nn.LeakyReLU(LEAK), "relu": nn.ReLU(), "tanh": nn.Tanh(), "none": nn.Identity()}
ROUNDING = 1e-13  # six epochs of sums over some hundred numbers of order one in float64


def networks(nonlinearity="tanh", trials=TRIALS, gain=1.0, dtype=torch.float64, sizes=SIZES):
    return trainer.xavier(
        sizes, gain, [np.random.default_rng(seed) for seed in range(trials)], nonlinearity, dtype=dtype
    )


def data(dtype=torch.float64):
    rng = np.random.default_rng(9)
    return tuple(torch.tensor(rng.standard_normal((POINTS, n)), dtype=dtype) for n in (SIZES[0], SIZES[-1]))


def orders(trials, epochs):
    rngs = [np.random.default_rng(100 + trial) for trial in range(trials)]
    return [np.stack([rng.permutation(POINTS) for rng in rngs]) for _ in range(epochs)]


def reference(ensemble, trial, nonlinearity):
    """The same network as a torch module."""
    modules = []
    for layer, (fan_in, fan_out) in enumerate(pairwise(SIZES)):
        linear = nn.Linear(fan_in, fan_out).double()
        with torch.no_grad():
            linear.weight.copy_(ensemble.weights[layer][trial])
            linear.bias.copy_(ensemble.biases[layer][trial, 0])
        modules += [linear, MODULES[nonlinearity]]
    return nn.Sequential(*modules[:-1])


def by_autograd(module, optimizer, X, Y, batch, order, factor):
    """Epochs of torch's optimizer on factor times the mean squared error."""
    for epoch in order:
        for start in range(0, POINTS, batch):
            chosen = torch.from_numpy(epoch[start : start + batch])
            optimizer.zero_grad()
            (factor * ((module(X[chosen]) - Y[chosen]) ** 2).mean()).backward()
            optimizer.step()
    return [parameter.detach() for parameter in module.parameters()]


@pytest.mark.parametrize("batch", [8, 4, 37], ids=["few points", "four, then one", "all"])
@pytest.mark.parametrize("batched", [False, True], ids=["compiled", "batched"])
@pytest.mark.parametrize("nonlinearity", trainer.NONLINEARITIES)
@pytest.mark.parametrize(("optimizer", "rate"), [("sgd", 0.05), ("adam", 0.003)])
def test_training_equals_autograd_to_round_off(nonlinearity, optimizer, rate, batched, batch):
    """37 points: of batches of 8 the last of an epoch has five, of batches of 4 one."""
    X, Y = data()
    ensemble, order = networks(nonlinearity), orders(TRIALS, 6)
    modules = [reference(ensemble, trial, nonlinearity) for trial in range(TRIALS)]
    training = trainer.Trainer(
        ensemble, X, Y, rate=rate, batch=batch, optimizer=optimizer, loss_factor=0.5, batched=batched
    )
    training.epochs(2, np.array(order[:2]))
    training.epochs(4, np.array(order[2:]))
    maker = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer]
    for trial, module in enumerate(modules):
        wanted = by_autograd(module, maker(module.parameters(), lr=rate), X, Y, batch, [o[trial] for o in order], 0.5)
        for layer in range(3):
            assert (ensemble.weights[layer][trial] - wanted[2 * layer]).abs().max() < ROUNDING
            assert (ensemble.biases[layer][trial, 0] - wanted[2 * layer + 1]).abs().max() < ROUNDING


@pytest.mark.parametrize("nonlinearity", trainer.NONLINEARITIES)
def test_single_precision_is_double_precision_rounded(nonlinearity):
    """Some hundred steps of numbers of order one, 6e-8 each; also where tanh saturates."""
    ends = []
    for dtype in (torch.float32, torch.float64):
        ensemble = networks(nonlinearity, gain=3.0 if nonlinearity == "tanh" else 1.0, dtype=dtype)
        trainer.Trainer(ensemble, *data(dtype), rate=0.01, batch=9).epochs(20, np.array(orders(TRIALS, 20)))
        ends.append(trainer.parameters(ensemble).astype(float))
    assert np.abs(ends[0] - ends[1]).max() < 1e-4


def test_tanh_in_single_precision_is_off_by_a_few_roundings_and_keeps_nan():
    x = np.concatenate([np.linspace(-12, 12, 100_000), np.logspace(-30, 0, 1000), [np.nan, np.inf, -np.inf]])
    z = x.astype(np.float32)
    wanted = np.tanh(z.astype(float))
    compiled_minibatch._tanh(z)
    np.testing.assert_allclose(z, wanted, rtol=6 * np.finfo(np.float32).eps, atol=0)


def test_full_batch_needs_no_order_and_the_loss_factor_scales_the_rate():
    X, Y = data()
    halves, wholes = networks(), networks()
    halved = trainer.Trainer(halves, X, Y, rate=0.1, batch=POINTS, loss_factor=0.5)
    other = trainer.Trainer(wholes, X, Y, rate=0.05, batch=1000, loss_factor=1.0)
    for _ in range(5):
        halved.epochs(1)
        other.epochs(1)
    assert halved.full_batch
    assert other.full_batch
    assert (halves.theta - wholes.theta).abs().max() < ROUNDING


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_network_does_not_depend_on_the_others_of_its_batch(dtype):
    """Bit for bit, for two networks and for five."""
    X, Y = data(dtype)
    few, many = networks(trials=2, dtype=dtype), networks(trials=5, dtype=dtype)
    for ensemble in (few, many):
        training = trainer.Trainer(ensemble, X, Y, rate=0.05, batch=8)
        for epoch in orders(ensemble.trials, 4):
            training.epochs(1, epoch[None])
    assert np.array_equal(trainer.parameters(few), trainer.parameters(many)[:2])


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_restored_state_resumes_bit_for_bit(optimizer):
    X, Y = data(torch.float32)
    order = orders(TRIALS, 6)

    def run(stop):
        ensemble = networks(dtype=torch.float32)
        training = trainer.Trainer(ensemble, X, Y, rate=0.01, batch=8, optimizer=optimizer)
        for epoch in order[:stop]:
            training.epochs(1, epoch[None])
        return training

    whole, part = run(6), run(3)
    fresh = run(0)
    fresh.restore(part.state())
    for epoch in order[3:]:
        fresh.epochs(1, epoch[None])
    assert np.array_equal(fresh.state()["theta"], whole.state()["theta"])
    assert np.array_equal(fresh.state()["moments"], whole.state()["moments"])


def test_layers_and_parameters_are_those_of_each_network():
    X, _ = data()
    ensemble = networks("leaky relu")
    for trial in range(TRIALS):
        module = reference(ensemble, trial, "leaky relu")
        hidden, output = module[:4](X).detach(), module(X).detach()
        assert (trainer.layers(ensemble, X)[1][trial] - hidden).abs().max() < ROUNDING
        assert (trainer.layers(ensemble, X)[-1][trial] - output).abs().max() < ROUNDING
        flat = torch.cat([parameter.detach().reshape(-1) for parameter in module.parameters()]).numpy()
        assert np.array_equal(trainer.parameters(ensemble)[trial], flat)
    own = X.expand(TRIALS, -1, -1).clone()
    assert torch.equal(trainer.layers(ensemble, own)[-1], trainer.layers(ensemble, X)[-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gain": 0.0}, "0"),
        ({"gain": float("nan")}, "nan"),
        ({"nonlinearity": "sigmoid"}, "sigmoid"),
        ({"trials": 1}, "1"),
        ({"sizes": [5]}, "5"),
    ],
)
def test_impossible_networks_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        networks(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rate": 0.0}, "rate"),
        ({"batch": 0}, "0"),
        ({"optimizer": "rmsprop"}, "rmsprop"),
        ({"X": torch.zeros(POINTS, 4, dtype=torch.float64)}, str(POINTS)),
        ({"Y": torch.zeros(POINTS - 1, 3, dtype=torch.float64)}, str(POINTS)),
    ],
)
def test_impossible_trainings_are_refused(change, message):
    X, Y = data()
    arguments = {"X": X, "Y": Y, "rate": 0.1, "batch": 8, "optimizer": "sgd"} | change
    with pytest.raises(ValueError, match=message):
        trainer.Trainer(networks(), arguments.pop("X"), arguments.pop("Y"), **arguments)
