"""Training: the batched gradient against autograd, Adam against PyTorch's, batches, resuming."""

import numpy as np
import pytest
import torch
from tests.leaky_resnets.test_networks import by_autograd, random_net

from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.methods.training import MAP_RATE, Trainer, cosine
from repdyn.leaky_resnets.theory.layers import layer_steps

torch.set_num_threads(1)
ROUNDING = 1e-12


def data(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets of `count` networks of four features."""
    X, Y = np.random.default_rng((seed, 1)).standard_normal((2, count, 4, 11))
    return X, Y


def nets(count: int, bias: bool = True) -> list[LeakyResNet]:
    """Random networks of one shape."""
    return [random_net(np.random.default_rng((seed, 2)), bias) for seed in range(count)]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("count", [1, 3])
def test_gradient_is_autograds_for_every_network_of_a_batch(bias, learned, count):
    X, Y = data(count)
    decay = 0.7 if learned else 0.0
    run = Trainer(nets(count, bias), X, Y, penalty=0.3, learned=learned, map_decay=decay, dtype=torch.float64)
    with torch.inference_mode():
        run.gradient()
    for m, net in enumerate(nets(count, bias)):
        wanted = by_autograd(net, X[m], Y[m], 0.3, decay)["parts"]
        ours = (run.dW[:, m], run.dP[m], run.dQ[m]) if learned else (run.dW[:, m],)
        for gradient, right in zip(ours, wanted, strict=False):
            np.testing.assert_allclose(gradient.numpy(), right, rtol=0, atol=ROUNDING * np.abs(right).max())


@pytest.mark.parametrize("optimizer", ["adam", "descent"])
def test_steps_are_pytorchs(optimizer):
    X, Y = data(1)
    run = Trainer(nets(1), X, Y, penalty=0.3, map_decay=1.0, dtype=torch.float64)
    rates = cosine(1e-3, 30)
    run.adam(rates) if optimizer == "adam" else run.descend(rates)
    net = nets(1)[0]
    parts = [torch.tensor(part, requires_grad=True) for part in (net.W, net.into, net.out)]
    paces = (1.0, MAP_RATE, MAP_RATE)
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    theirs = kind([{"params": [part], "lr": 1.0} for part in parts])
    for rate in rates:
        for group, pace in zip(theirs.param_groups, paces, strict=True):
            group["lr"] = rate * pace
        now = LeakyResNet(parts[0].detach().numpy(), net.rho, 2.3, parts[1].detach().numpy(), parts[2].detach().numpy())
        for part, slope in zip(parts, by_autograd(now, X[0], Y[0], 0.3, 1.0)["parts"], strict=True):
            part.grad = torch.tensor(slope)
        theirs.step()
    trained = run.trained()[0]
    # Adam's epsilon meets uncorrected moments, 0.03 of a slope at first: 1e-3 * 1e-8 / (0.03 * 1e-5) for the least one
    for ours, part in zip((trained.W, trained.into, trained.out), parts, strict=True):
        np.testing.assert_allclose(ours, part.detach().numpy(), rtol=0, atol=3e-5)


def test_resumed_training_is_the_uninterrupted_one():
    X, Y = data(2)
    rates = cosine(0.01, 30)
    whole, first, second = (Trainer(nets(2), X, Y, penalty=0.3) for _ in range(3))
    whole.adam(rates)
    first.adam(rates[:13])
    second.restore(first.state())
    second.adam(rates[13:])
    for ours, theirs in zip(whole.trained(), second.trained(), strict=True):
        np.testing.assert_array_equal(ours.W, theirs.W)
        np.testing.assert_array_equal(ours.into, theirs.into)


@pytest.mark.parametrize("batched", [False, True])
def test_a_state_stays_what_it_was_while_training_goes_on(batched):
    """Descents from one state must not begin where the one before has ended."""
    X, Y = data(2)
    run = Trainer(nets(2), X, Y, penalty=0.3, batched=batched)
    run.adam(cosine(0.01, 5))
    end = run.state()
    before = {name: part.copy() for name, part in end.items()}
    ends = []
    for _ in range(2):
        run.restore(end)
        run.descend(np.full(5, 0.01))
        ends.append(run.trained())
    run.adam(cosine(0.01, 2))
    for name, part in before.items():
        np.testing.assert_array_equal(end[name], part)
    for once, again in zip(*ends, strict=True):
        np.testing.assert_array_equal(once.W, again.W)
        np.testing.assert_array_equal(once.out, again.out)


def test_new_steps_are_used_from_then_on():
    X, Y = data(1)
    run = Trainer(nets(1), X, Y, penalty=0.3, dtype=torch.float64)
    rho = layer_steps("irregular", 5, 0.9)
    run.adam(np.zeros(3), 2, lambda: run.set_steps(rho[:, None]))
    net = run.trained()[0]
    np.testing.assert_array_equal(net.rho, rho)
    np.testing.assert_allclose(run.representations()[0], net.forward(X[0]), rtol=0, atol=1e-11)


def test_bad_input_is_refused_with_its_name_and_value():
    arguments = {"networks": nets(2), "X": data(2)[0], "Y": data(2)[1], "penalty": 0.3}
    for change, words in (
        ({"penalty": 0.0}, "penalty.*0.0"),
        ({"X": np.ones((1, 4, 11))}, r"X.*\(1, 4, 11\)"),
        ({"Y": np.full((2, 4, 11), np.inf)}, "Y.*88"),
        ({"networks": [nets(1)[0], nets(1, bias=False)[0]]}, "2"),
    ):
        with pytest.raises(ValueError, match=words):
            Trainer(**(arguments | change))


@pytest.mark.parametrize("learned", [True, False])
def test_compiled_and_batched_networks_take_the_same_step(learned):
    """One network at a time, and in torch's batched products, as on a GPU."""
    X, Y = data(2)
    options = {"penalty": 0.3, "learned": learned, "map_decay": 0.7 * learned, "dtype": torch.float64}
    compiled, batched = Trainer(nets(2), X, Y, **options), Trainer(nets(2), X, Y, **options, batched=True)
    for run in (compiled, batched):
        run.adam(np.full(20, 0.01))
        run.descend(np.full(5, 0.01))
    for first, other in zip(compiled.trained(), batched.trained(), strict=True):
        np.testing.assert_allclose(first.W, other.W, rtol=0, atol=1e-10)  # Adam divides by small gradients
        np.testing.assert_allclose(first.out, other.out, rtol=0, atol=1e-10)
