"""Leaky ResNets in float64 against automatic differentiation, closed forms and limits."""

import numpy as np
import pytest
import torch

from repdyn.leaky_resnets.methods.networks import LeakyResNet, start

ROUNDING = 1e-12  # a few hundred float64 operations on numbers of order 1


def random_net(rng: np.random.Generator, bias: bool, L: int = 5, w: int = 7, d: int = 4) -> LeakyResNet:
    """Random weights, steps and maps."""
    rho = rng.uniform(0.5, 1.5, L)
    W = rng.standard_normal((L, w, w + bias))
    into, out = rng.standard_normal((w, d)), rng.standard_normal((d, w))
    return LeakyResNet(W, rho / rho.sum(), 2.3, into, out, long_steps=True)


def by_autograd(net: LeakyResNet, X: np.ndarray, Y: np.ndarray, lam: float, decay: float = 0.0) -> dict:
    """The objective's gradient by W, P and Q, and the cost's by every A_l, from the forward pass alone."""
    W, P, Q = (torch.tensor(part, requires_grad=True) for part in (net.W, net.into, net.out))
    rho = torch.tensor(net.rho)
    path = [P @ torch.tensor(X)]
    for weight, step in zip(W, rho, strict=True):
        A = path[-1]
        S = torch.cat([torch.relu(A), torch.ones(int(net.bias), A.shape[1], dtype=A.dtype)])
        path.append((1 - step * net.effective_depth) * A + step * weight @ S)
    cost = torch.sum((torch.tensor(Y) - Q @ path[-1]) ** 2) / X.shape[1]
    by_A = torch.autograd.grad(cost, path, retain_graph=True)
    penalty = torch.sum(rho * torch.sum(W**2, dim=(1, 2))) + decay * (torch.sum(P**2) + torch.sum(Q**2))
    gradients = torch.autograd.grad(cost + lam / (2 * net.effective_depth) * penalty, (W, P, Q))
    return {"parts": [part.numpy() for part in gradients], "A": [part.numpy() for part in by_A]}


@pytest.mark.parametrize("bias", [True, False])
def test_gradient_and_momenta_are_autograds(bias):
    rng = np.random.default_rng(bias)
    net = random_net(rng, bias)
    X, Y = rng.standard_normal((2, 4, 11))
    expected = by_autograd(net, X, Y, 0.3)
    for ours, theirs in zip(net.gradient(X, Y, 0.3), expected["parts"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=ROUNDING * np.abs(theirs).max())
    B = net.momenta(net.forward(X), Y, 0.3)
    np.testing.assert_allclose(-0.3 * B, np.stack(expected["A"]), rtol=0, atol=ROUNDING * np.abs(B).max())


def test_a_layer_of_step_one_over_its_leak_is_fully_connected():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((3, 6, 7))
    net = LeakyResNet(W, np.full(3, 1 / 3), 3.0, np.eye(6, 2), np.eye(2, 6), long_steps=True)
    A = np.eye(6, 2) @ (X := rng.standard_normal((2, 5)))
    for weight in W:
        A = weight @ np.vstack([np.maximum(A, 0), np.ones((1, 5))]) / 3
    np.testing.assert_allclose(net.output(X), A[:2], rtol=0, atol=ROUNDING)


def test_padded_rows_stay_zero_in_the_backward_pass():
    net = start(6, (2, 2), np.full(4, 0.25), 2.0, np.random.default_rng(4), learned=False, bias=False)
    A = net.forward(np.random.default_rng(5).standard_normal((2, 8)))
    B = net.momenta(A, np.ones((2, 8)), 0.1)
    assert not A[0, 2:].any()
    leak = 1 - 0.25 * 2.0
    np.testing.assert_allclose(B[0, 2:], leak * B[1, 2:], rtol=0, atol=ROUNDING)  # slope 0 at exactly 0


def test_bad_networks_and_points_are_refused_with_name_and_value():
    arguments = {"W": np.zeros((5, 7, 8)), "rho": np.full(5, 0.2), "effective_depth": 2.0}
    arguments |= {"into": np.zeros((7, 4)), "out": np.zeros((4, 7))}
    for change, words in (
        ({"rho": np.full(5, 0.3)}, "1.5"),
        ({"rho": np.array([-0.2, 0.3, 0.3, 0.3, 0.3])}, "-0.2"),
        ({"rho": np.full(4, 0.25)}, r"rho.*\(4,\)"),
        ({"effective_depth": 0.0}, "effective_depth.*0"),
        ({"effective_depth": 9.0}, "0.2.*layer 1"),
        ({"W": np.zeros((5, 7, 9))}, "W.*9"),
        ({"into": np.zeros((7, 8))}, "width.*7"),
        ({"out": np.zeros((4, 6))}, r"\(4, 6\)"),
    ):
        with pytest.raises(ValueError, match=f"(?s){words}"):
            LeakyResNet(**(arguments | change))
    net = random_net(np.random.default_rng(6), True)
    for X, words in ((np.ones((4, 1)), r"\(4, 1\)"), (np.ones((3, 5)), r"\(3, 5\)"), (np.full((4, 5), np.nan), "20")):
        with pytest.raises(ValueError, match=words):
            net.forward(X)
