"""Equations (6), (7), (8), Theorem 2 and their printed forms against autograd and torch.nn.BatchNorm1d."""

import numpy as np
import pytest
import torch

from repdyn.bn_mean_field.theory import flows, manifold
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


def moments_by_hand(x, y, a, v):
    residual = np.maximum(x @ v.T, 0) @ a / len(a) - y
    force = np.mean(residual[:, None] * np.maximum(x @ v.T, 0), axis=0)
    return force, ((x @ v.T > 0) * residual[:, None]).T @ x / len(x)


def centered_sample(seed):
    x, y, a, b = sample(seed)
    x = x - x.mean(axis=0)
    return x, y, a, b, x.T @ x / len(x)


def test_printed_signs_of_eq6_give_ascent():
    x, y, a, b, cov = centered_sample(2)
    da, db, _ = autograd_of_network(x, y, a, b, batch_norm=True)
    moments = moments_by_hand(x, y, a, manifold.normalize(b, cov))
    printed = flows.bn_flow_as_printed(*moments, a, b, cov, 1 / len(a))
    corrected = flows.bn_flow(*moments, a, b, cov, 1 / len(a))
    np.testing.assert_allclose(printed[0] / da, -1.0, rtol=1e-9)
    np.testing.assert_allclose(printed[1], -db, atol=ROUNDING)
    np.testing.assert_allclose(corrected[1], db, atol=ROUNDING)


@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0])
def test_eq7_is_the_chain_rule_only_with_the_radius(radius):
    x, y, a, b, cov = centered_sample(3)
    b = radius * b / np.linalg.norm(b, axis=1, keepdims=True)
    bbar = manifold.normalize(b, cov)
    da, db, _ = autograd_of_network(x, y, a, b, batch_norm=True)
    along = np.sum((bbar @ cov) * db, axis=1, keepdims=True)
    pushed = (db - bbar * along) / manifold.sigma_norm(b, cov)[:, None]
    moments = moments_by_hand(x, y, a, bbar)
    corrected = flows.normalized_flow(*moments, a, bbar, cov, 1 / len(a), radius)[1]
    printed = flows.normalized_flow_as_printed(*moments, a, bbar, cov, 1 / len(a))[1]
    np.testing.assert_allclose(corrected, pushed, atol=10 * ROUNDING)
    np.testing.assert_allclose(flows.normalized_flow(*moments, a, bbar, cov, 1 / len(a))[0], da, atol=ROUNDING)
    np.testing.assert_allclose(
        flows.normalized_flow_as_printed(*moments, a, bbar, cov, 1 / len(a))[0], -da, atol=ROUNDING
    )
    np.testing.assert_allclose(printed, radius**2 * pushed, atol=10 * ROUNDING)


def test_theorem2_states_minus_the_gradient():
    """The gradient's pairing with a tangent vector is the derivative of L_0 along a curve of Omega."""
    x, y, a, b, cov = centered_sample(4)
    bbar = manifold.normalize(b, cov)
    moments = moments_by_hand(x, y, a, bbar)
    grad = flows.manifold_gradient(*moments, a, bbar, cov, 1 / len(a))[1]
    printed = flows.manifold_gradient_as_printed(*moments, a, bbar, cov, 1 / len(a))[1]
    direction = np.random.default_rng(0).normal(size=b.shape)
    step = 1e-6
    moved = [manifold.normalize(bbar + s * step * direction, cov) for s in (1, -1)]
    loss = [np.mean((np.maximum(x @ v.T, 0) @ a / len(a) - y) ** 2) / 2 for v in moved]
    tangent = direction - bbar * np.sum((bbar @ cov) * direction, axis=1, keepdims=True)
    pairing = np.einsum("mi,mij,mj->", tangent, manifold.bn_metric(bbar, cov), grad)
    np.testing.assert_allclose(pairing, (loss[0] - loss[1]) / (2 * step), rtol=1e-6)  # step^2 + eps/step
    np.testing.assert_allclose(printed, -grad)


def test_vanilla_printed_a_line_is_ascent():
    x, y, a, b = sample(5)
    da, db, _ = autograd_of_network(x, y, a, b, batch_norm=False)
    printed = flows.vanilla_flow_as_printed(*moments_by_hand(x, y, a, b), a, 1 / len(a))
    np.testing.assert_allclose(printed[0], -da, rtol=1e-10)
    np.testing.assert_allclose(printed[1], db, atol=10 * ROUNDING)


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


@pytest.mark.parametrize("normalization", ["batch", "none"])
def test_population_is_the_mean_over_samples(normalization):
    """Velocities on independent samples scatter around the closed form: 5 standard errors of 40 means."""
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=3), rng.normal(size=(3, 3))
    exact = mean_field_velocity(a, b, TEACHER, COV, normalization="none")
    if normalization == "batch":
        b = manifold.normalize(b, COV)
        exact = mean_field_velocity(a, b, TEACHER, COV)
    moments = []
    for _ in range(40):
        x = rng.multivariate_normal(np.zeros(3), COV, size=4000)
        y = np.maximum(x @ TEACHER.w.T, 0) @ TEACHER.c
        force, moment = moments_by_hand(x, y, a, b)
        rule = flows.vanilla_flow if normalization == "none" else flows.bn_flow
        extra = () if normalization == "none" else (b, COV)
        moments.append(np.concatenate([v.ravel() for v in rule(force, moment, a, *extra)]))
    error = np.mean(moments, axis=0) - np.concatenate([exact[0], exact[1].ravel()])
    assert np.all(np.abs(error) < 5 * np.std(moments, axis=0, ddof=1) / np.sqrt(40))


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


def test_scaling_laws_of_section_42():
    """b2 = c b1: BN slows b by c and the direction by c^2; the vanilla ReLU only the direction, by c."""
    rng = np.random.default_rng(9)
    a, b = rng.normal(size=6), rng.normal(size=(6, 3))
    for normalization, power in (("batch", 2), ("none", 1)):
        model = Population(TEACHER, COV, normalization)
        b2 = b.copy()
        b2[0] *= 10
        force, moment, _ = model.moments(a, b)
        rule = flows.bn_flow if normalization == "batch" else flows.vanilla_flow
        extra = (COV,) if normalization == "batch" else ()
        first = rule(force, moment, a, *((b, *extra) if extra else ()))[1]
        second = rule(force, moment, a, *((b2, *extra) if extra else ()))[1]
        speeds = [flows.tangential_speed(p, v)[0] / np.linalg.norm(p[0]) for p, v in ((b, first), (b2, second))]
        np.testing.assert_allclose(speeds[1] / speeds[0], 10.0**-power, rtol=1e-12)


def test_time_scales_differ_by_the_width():
    rng = np.random.default_rng(10)
    a, b = rng.normal(size=6), rng.normal(size=(6, 3))
    slow = mean_field_velocity(a, b, TEACHER, COV, time_scale="parameter")
    fast = mean_field_velocity(a, b, TEACHER, COV)
    np.testing.assert_allclose(fast[0], 6 * slow[0])
    np.testing.assert_allclose(fast[2], slow[2])


X, Y, A, B = sample(11)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mean_field_velocity(A, B, TEACHER, np.diag([1.0, 1.0, 0.0])), "smallest eigenvalue 0"),
        (lambda: mean_field_velocity(A, B, TEACHER, np.triu(np.ones((3, 3)))), "not symmetric"),
        (lambda: mean_field_velocity(A, B, TEACHER, np.eye(2)), "match cov"),
        (lambda: mean_field_velocity(A[:2], B, TEACHER, COV), "a has shape"),
        (lambda: mean_field_velocity(A[:0], B[:0], TEACHER, COV), "m = 0"),
        (lambda: mean_field_velocity(A, 0 * B, TEACHER, COV), "zero row"),
        (lambda: mean_field_velocity(A * np.inf, B, TEACHER, COV), "NaN or infinite"),
        (lambda: mean_field_velocity(A, B, TEACHER, COV, normalization="manifold"), "differs from 1"),
        (lambda: mean_field_velocity(A, B, TEACHER, COV, normalization="layer"), "expected one of"),
        (lambda: mean_field_velocity(A, B, TEACHER, COV, time_scale="t"), "expected one of"),
        (lambda: empirical_velocity(A, B, X, Y), "E x = 0"),
        (lambda: empirical_velocity(A, B, X, Y[:9], normalization="none"), r"expected \(N, d\)"),
        (lambda: Teacher(np.ones(2), np.ones((3, 2))), "a has shape"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
