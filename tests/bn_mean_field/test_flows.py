"""Equations (6), (7), (8), Theorem 2 and their printed forms against autograd and torch.nn.BatchNorm1d."""

import numpy as np
import pytest
import torch

from repdyn.bn_mean_field.theory import manifold
from repdyn.bn_mean_field.theory.kernels import unchecked_potential
from repdyn.bn_mean_field.theory.velocity import (
    Population,
    Teacher,
    empirical_velocity,
    mean_field_velocity,
    minibatch_velocity,
)

ROUNDING = 1e-13  # sums over 300 samples of terms of order 1 in float64
TINY = 1e-300  # torch refuses eps = 0; this one vanishes beside any variance


def sample(seed=0, n=300, d=3, m=5):
    """Non-Gaussian, non-centered data, a target with noise, random particles."""
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(size=(n, d))) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=n)
    return x, y, rng.normal(size=m), rng.normal(size=(m, d))


def autograd_of_network(x, y, a, b, *, batch_norm, activation="relu", loss="squared", eps=0.0):
    """-dL/da, -dL/db and L of f = (1/m) sum a sigma(BN(b x)) with torch's own layers."""
    a, b = (torch.tensor(t, requires_grad=True) for t in (a, b))
    z, y = torch.tensor(x) @ b.T, torch.tensor(y)
    if batch_norm:
        layer = torch.nn.BatchNorm1d(len(a), eps=eps or TINY, affine=False, dtype=torch.float64)
        z = layer.train()(z)
    h = torch.relu(z) if activation == "relu" else torch.erf(z)
    f = h @ a / len(a)
    L = ((f - y) ** 2).mean() / 2 if loss == "squared" else torch.nn.functional.softplus(-y * f).mean()
    L.backward()
    return -a.grad.numpy(), -b.grad.numpy(), float(L.detach())


@pytest.mark.parametrize("activation", ["relu", "erf"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("eps", [0.0, 1e-2])
def test_batch_norm_velocity_is_torchs(activation, loss, eps):
    x, y, a, b = sample()
    y = np.sign(y) if loss == "logistic" else y
    expected = autograd_of_network(x, y, a, b, batch_norm=True, activation=activation, loss=loss, eps=eps)
    velocity = minibatch_velocity(a, b, x, y, activation=activation, loss=loss, eps=eps, time_scale="parameter")
    for component, other in zip(velocity, expected, strict=True):
        np.testing.assert_allclose(component, other, atol=ROUNDING)


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_vanilla_velocity_is_torchs(activation):
    x, y, a, b = sample(1)
    expected = autograd_of_network(x, y, a, b, batch_norm=False, activation=activation)
    velocity = empirical_velocity(a, b, x, y, normalization="none", activation=activation, time_scale="parameter")
    for component, other in zip(velocity, expected, strict=True):
        np.testing.assert_allclose(component, other, atol=10 * ROUNDING)  # pre-activations up to 30


TEACHER = Teacher(np.array([1.0, -0.5]), np.array([[1.0, 0.3, 0.0], [-0.2, 0.4, 1.0]]))
COV = np.array([[5.0, 0.7, 0.2], [0.7, 1.0, -0.1], [0.2, -0.1, 0.6]])


@pytest.mark.parametrize("activation", ["relu", "erf"])
@pytest.mark.parametrize("normalization", ["batch", "none"])
def test_population_velocity_is_the_gradient_of_the_population_loss(activation, normalization):
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=4), rng.normal(size=(4, 3))
    velocity = lambda a, b: mean_field_velocity(  # noqa: E731
        a, b, TEACHER, COV, normalization=normalization, activation=activation, time_scale="parameter"
    )
    da, db, _ = velocity(a, b)
    step = 1e-5  # central differences: error step^2 + eps/step
    for k in range(4):
        up, down = (velocity(a + s * step * np.eye(4)[k], b)[2] for s in (1, -1))
        np.testing.assert_allclose(da[k], -(up - down) / (2 * step), atol=1e-8)
        for i in range(3):
            shift = np.zeros((4, 3))
            shift[k, i] = step
            up, down = velocity(a, b + shift)[2], velocity(a, b - shift)[2]
            np.testing.assert_allclose(db[k, i], -(up - down) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("normalization", ["batch", "none", "manifold"])
def test_planar_field_and_pairs_agree(normalization):
    cov = np.array([[5.0, 0.4], [0.4, 1.0]])
    teacher = Teacher(np.array([1.0, -1.0]), np.array([[1.0, 0.0], [-1.0, 0.2]]))
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(2, 50)), rng.normal(size=(2, 50, 2))
    b = manifold.normalize(b, cov) if normalization == "manifold" else b
    model = Population(teacher, cov, normalization)
    pairs = Population(teacher, cov, normalization)
    object.__setattr__(pairs, "_planar", lambda v, charge: unchecked_potential(v, v, charge, cov, "relu"))
    for planar, other in zip(model.velocity(a, b), pairs.velocity(a, b), strict=True):
        np.testing.assert_allclose(planar, other, atol=1e-13)  # arccos near 1 loses half the digits of theta


def test_time_scales_differ_by_the_width():
    rng = np.random.default_rng(10)
    a, b = rng.normal(size=6), rng.normal(size=(6, 3))
    slow = mean_field_velocity(a, b, TEACHER, COV, time_scale="parameter")
    fast = mean_field_velocity(a, b, TEACHER, COV)
    np.testing.assert_allclose(fast[0], 6 * slow[0])
    np.testing.assert_allclose(fast[2], slow[2])
