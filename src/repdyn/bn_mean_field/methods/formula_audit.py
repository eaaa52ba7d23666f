"""The paper's velocities and gradients, printed and corrected, against automatic differentiation of its loss.

One function per formula. The data are neither Gaussian nor isotropic; their empirical law is mu, for which section 2 of
Ma and Ying holds exactly. The reference is torch's autograd through its own `BatchNorm1d`. Errors are relative to the
largest entry of the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from repdyn.base.arrays import Array
from repdyn.base.formula_audit import Errors, fixed, holds, relative_error
from repdyn.bn_mean_field.theory import equations, flows, manifold
from repdyn.bn_mean_field.theory.flows import Velocity

Layer = Callable[[torch.Tensor], torch.Tensor]
IDENTITY = torch.nn.Identity()
NO_EPS = 1e-300  # torch refuses eps = 0; this vanishes next to any variance
SCALE = 10.0  # c of section 4.2


@dataclass(frozen=True)
class Draw:
    """Centered inputs, targets, a network with inner weights of unit length, and the lengths tried in eq. (7)."""

    x: Array
    y: Array
    a: Array
    b: Array
    radii: tuple[float, ...]

    @property
    def rate(self) -> float:
        """1/m of the paper's parameter time."""
        return 1 / len(self.a)

    @cached_property
    def cov(self) -> Array:
        """Covariance of the data."""
        return self.x.T @ self.x / len(self.x)

    @cached_property
    def bbar(self) -> Array:
        """Normalized weights."""
        return manifold.normalize(self.b, self.cov)

    @cached_property
    def on_omega(self) -> tuple[Array, Array, Array, Array, Array]:
        """Arguments of the flows of (a, bbar): the moments at the normalized weights, a, bbar, Sigma."""
        return *self.moments(self.bbar), self.a, self.bbar, self.cov

    @cached_property
    def bn(self) -> Velocity:
        """Autograd's velocity of the BN model."""
        return autograd_flow(self.x, self.y, self.a, self.b, batch_norm)

    @cached_property
    def vanilla(self) -> Velocity:
        """Autograd's velocity of the vanilla model at the same weights."""
        return autograd_flow(self.x, self.y, self.a, self.b, IDENTITY)

    @cached_property
    def normalized(self) -> Velocity:
        """Autograd's velocity of the vanilla model at the normalized weights."""
        return autograd_flow(self.x, self.y, self.a, self.bbar, IDENTITY)

    def moments(self, v: Array) -> Velocity:
        """E l' sigma and E l' sigma' x at the weights v, written out."""
        hidden = np.maximum(self.x @ v.T, 0)
        residual = (hidden @ self.a / len(self.a) - self.y)[:, None] / len(self.x)
        return np.sum(residual * hidden, axis=0), ((hidden > 0) * residual).T @ self.x


def random_draw(
    samples: int, dimension: int, width: int, radii: tuple[float, ...], generator: np.random.Generator
) -> Draw:
    """Log-normal inputs, mixed and centered; a noisy target; unit weights in random directions.

    Ours: random draws for the audit.

    Args:
        samples: number of inputs N.
        dimension: their dimension d.
        width: number of neurons m.
        radii: lengths of the inner weights that eq. (7) is tried at.
        generator: source of the draws.
    """
    mixing = np.eye(dimension) + generator.standard_normal((dimension, dimension)) / 2
    x = np.exp(generator.standard_normal((samples, dimension)) / 2) @ mixing
    x = x - x.mean(axis=0)
    y = np.sin(x[:, 0]) + x[:, 1] + 0.1 * generator.standard_normal(len(x))
    b = generator.standard_normal((width, dimension))
    return Draw(x, y, generator.standard_normal(width), b / np.linalg.norm(b, axis=1, keepdims=True), radii)


def autograd_flow(x: Array, y: Array, a: Array, b: Array, normalize: Layer) -> Velocity:
    """-dL/da and -dL/db of the ReLU network of eq. (1), half the mean squared error, by torch.

    Args:
        x: inputs, shape (N, d).
        y: targets, shape (N,).
        a: output weights, shape (m,).
        b: inner weights, shape (m, d).
        normalize: what b^T x, shape (N, m), goes through before the ReLU.
    """
    outer, inner = (torch.tensor(value, requires_grad=True) for value in (a, b))
    hidden = torch.relu(normalize(torch.tensor(x) @ inner.T))
    loss = ((hidden @ outer / len(outer) - torch.tensor(y)) ** 2).mean() / 2
    da, db = torch.autograd.grad(loss, (outer, inner))
    return -da.numpy(), -db.numpy()


def batch_norm(z: torch.Tensor, eps: float = NO_EPS) -> torch.Tensor:
    """Torch's batch normalization in training mode.

    What eq. (3) says in closed form.
    """
    return torch.nn.BatchNorm1d(z.shape[1], eps=eps, affine=False, dtype=torch.float64).train()(z)


def normalizer(draw: Draw) -> Errors:
    """Eq. (3): BN(b^T x) = bbar^T x for centered data; the control has data of mean 1."""
    pairs = [(x @ draw.bbar.T, batch_norm(torch.tensor(x @ draw.b.T)).numpy()) for x in (draw.x, draw.x + 1)]
    return holds(*(relative_error(*pair) for pair in pairs))


def equal_functions(draw: Draw) -> Errors:
    """Section 2.2 and after eq. (12): f = f_0 at the normalized weights; the control leaves them as they are."""
    hidden = torch.relu(batch_norm(torch.tensor(draw.x @ draw.b.T))).numpy()
    f = hidden @ draw.a
    return holds(*(relative_error(np.maximum(draw.x @ v.T, 0) @ draw.a, f) for v in (draw.bbar, draw.b)))


def bn_outer(draw: Draw) -> Errors:
    """Eq. (6), line of a_k: the printed right-hand side lacks the minus."""
    return _bn(draw, 0)


def bn_inner(draw: Draw) -> Errors:
    """Eq. (6), line of b_k: likewise."""
    return _bn(draw, 1)


def _bn(draw: Draw, line: int) -> Errors:
    arguments = *draw.moments(draw.bbar), draw.a, draw.b, draw.cov, draw.rate
    forms = (flow(*arguments) for flow in (flows.bn_flow_as_printed, flows.bn_flow))
    return fixed(*(relative_error(form[line], draw.bn[line]) for form in forms))


def kept_length(draw: Draw) -> Errors:
    """After eq. (6): b_k is orthogonal to its velocity; the control is the vanilla model's velocity."""
    return holds(*(float(radial_fraction(draw.b, flow[1]).max()) for flow in (draw.bn, draw.vanilla)))


def radial_fraction(b: Array, db: Array) -> Array:
    """|b^T b'| / (|b| |b'|) of every neuron, shape (m,).

    It is 0 where the flow (6) keeps lengths.
    """
    return np.abs(np.sum(b * db, axis=1)) / (np.linalg.norm(b, axis=1) * np.linalg.norm(db, axis=1))


def normalized_outer(draw: Draw) -> Errors:
    """Eq. (7), line of a_k: lacks the minus."""
    forms = (flow(*draw.on_omega, draw.rate) for flow in (flows.normalized_flow_as_printed, flows.normalized_flow))
    return fixed(*(relative_error(form[0], draw.bn[0]) for form in forms))


def normalized_inner(draw: Draw) -> Errors:
    """Eq. (7), line of bbar_k, for weights of several lengths: the printed factor needs length 1."""
    return fixed(*np.max([_pushed_errors(draw, radius) for radius in draw.radii], axis=0))


def normalized_inner_of_unit_length(draw: Draw) -> Errors:
    """Eq. (7), line of bbar_k, for ||b_k|| = 1, where it holds; the control drops the factor ||bbar||^2."""
    pushed = _pushed(draw, 1.0)
    printed = flows.normalized_flow_as_printed(*draw.on_omega, draw.rate)[1]
    bare = printed / np.sum(draw.bbar**2, axis=1, keepdims=True)
    return holds(relative_error(printed, pushed), relative_error(bare, pushed))


def _pushed_errors(draw: Draw, radius: float) -> tuple[float, float]:
    printed = flows.normalized_flow_as_printed(*draw.on_omega, draw.rate)[1]
    corrected = flows.normalized_flow(*draw.on_omega, draw.rate, radius)[1]
    pushed = _pushed(draw, radius)
    return relative_error(printed, pushed), relative_error(corrected, pushed)


def _pushed(draw: Draw, radius: float) -> Array:
    """Velocity of bbar by the chain rule from autograd's velocity of b of the given length."""
    b = radius * draw.b
    db = autograd_flow(draw.x, draw.y, draw.a, b, batch_norm)[1]
    along = np.sum((draw.bbar @ draw.cov) * db, axis=1, keepdims=True)
    return (db - draw.bbar * along) / manifold.sigma_norm(b, draw.cov)[:, None]


def vanilla_outer(draw: Draw) -> Errors:
    """Eq. (8), line of a_k: lacks the minus."""
    moments = draw.moments(draw.b)
    forms = (flow(*moments, draw.a, draw.rate) for flow in (flows.vanilla_flow_as_printed, flows.vanilla_flow))
    return fixed(*(relative_error(form[0], draw.vanilla[0]) for form in forms))


def vanilla_inner(draw: Draw) -> Errors:
    """Eq. (8), line of b_k; the control has the projection of the BN model."""
    moments = draw.moments(draw.b)
    printed = flows.vanilla_flow_as_printed(*moments, draw.a, draw.rate)[1]
    projected = flows.bn_flow(*moments, draw.a, draw.b, draw.cov, draw.rate)[1]
    return holds(*(relative_error(form, draw.vanilla[1]) for form in (printed, projected)))


def velocity_field_on_manifold(draw: Draw) -> Errors:
    """Eq. (14) against m times autograd, pushed to bbar; the control keeps the 1/m of eq. (7)."""
    return _in_mean_field_time(draw, flows.normalized_flow, draw.on_omega, (draw.bn[0], _pushed(draw, 1.0)))


def velocity_field_of_bn(draw: Draw) -> Errors:
    """Eqs. (10) and (21) against m times autograd; the control keeps the 1/m of eq. (6)."""
    return _in_mean_field_time(draw, flows.bn_flow, (*draw.moments(draw.bbar), draw.a, draw.b, draw.cov), draw.bn)


def velocity_field_of_vanilla(draw: Draw) -> Errors:
    """Eq. (22) against m times autograd; the control keeps the 1/m of eq. (8)."""
    return _in_mean_field_time(draw, flows.vanilla_flow, (*draw.moments(draw.b), draw.a), draw.vanilla)


def _in_mean_field_time(
    draw: Draw, flow: Callable[..., Velocity], arguments: tuple[Array, ...], wanted: Velocity
) -> Errors:
    """A flow at scale 1 against m times autograd's velocity; the control has the scale 1/m."""
    lines = [part / draw.rate for part in wanted]
    velocities = (flow(*arguments, scale) for scale in (1.0, draw.rate))
    return holds(*(max(map(relative_error, velocity, lines)) for velocity in velocities))


def longer_neuron_of_bn(draw: Draw) -> Errors:
    """Section 4.2, b2 = c b1: b2' = b1'/c with BN; the control is the vanilla model's b2' = b1'."""
    _, db = _proportional(draw, batch_norm)
    return holds(relative_error(SCALE * db[0], db[1]), relative_error(db[0], db[1]))


def longer_neuron_of_vanilla(draw: Draw) -> Errors:
    """Section 4.2: b2' = b1' without BN; the control is BN's b2' = b1'/c."""
    _, db = _proportional(draw, IDENTITY)
    return holds(relative_error(db[0], db[1]), relative_error(SCALE * db[0], db[1]))


def direction_of_longer_neuron_of_bn(draw: Draw) -> Errors:
    """The direction of b2 = c b1 turns 1/c^2 as fast with BN; the control is the vanilla model's 1/c.

    Section 4.2.
    """
    return _direction(_proportional(draw, batch_norm), SCALE**2, SCALE)


def direction_of_longer_neuron_of_vanilla(draw: Draw) -> Errors:
    """It turns 1/c as fast without BN; the control has directions that do not see the length.

    Section 4.2.
    """
    return _direction(_proportional(draw, IDENTITY), SCALE, 1.0)


def _direction(neurons: tuple[Array, Array], law: float, control: float) -> Errors:
    b, db = neurons
    speed = flows.tangential_speed(b, db) / np.linalg.norm(b, axis=1)
    return holds(*(relative_error(factor * speed[:1], speed[1:]) for factor in (law, control)))


def _proportional(draw: Draw, normalize: Layer) -> tuple[Array, Array]:
    """Two neurons with the same a, the first c times the second, in one model, and their velocities."""
    a, b = np.concatenate([draw.a[:1], draw.a]), np.concatenate([SCALE * draw.b[:1], draw.b])
    return b[:2], autograd_flow(draw.x, draw.y, a, b, normalize)[1][:2]


def gradient_outer(draw: Draw) -> Errors:
    """Theorem 2, derivative in a_k: the statement gives minus the gradient."""
    return _gradient(draw, 0)


def gradient_inner(draw: Draw) -> Errors:
    """Theorem 2, manifold gradient in bbar_k against G^+ P dL with the paper's G formed and inverted: likewise."""
    return _gradient(draw, 1)


def _gradient(draw: Draw, line: int) -> Errors:
    da, db = (-part for part in draw.normalized)
    wanted = (da, manifold.gradient_by_metric(db, draw.bbar, draw.cov))[line]
    forms = (flow(*draw.on_omega, draw.rate) for flow in (flows.manifold_gradient_as_printed, flows.manifold_gradient))
    return fixed(*(relative_error(form[line], wanted) for form in forms))


def euclidean_gradient(draw: Draw) -> Errors:
    """Proof of Theorem 2: the Euclidean gradient in bbar_k is printed without its 1/m."""
    moment = draw.moments(draw.bbar)[1]
    printed = draw.a[:, None] * moment
    return fixed(*(relative_error(form, -draw.normalized[1]) for form in (printed, draw.rate * printed)))


def positivity_display(draw: Draw) -> Errors:
    """Proposition 1, proof: alpha^T (I - Sigma b b^T) alpha = ||alpha||^2 + alpha^T Sigma b b^T alpha for tangents.

    The control takes vectors that are not tangent.
    """
    normals = draw.bbar @ draw.cov
    vectors = np.roll(draw.b, 1, axis=0)
    along = np.sum(vectors * normals, axis=1, keepdims=True) / np.sum(normals**2, axis=1, keepdims=True)
    return holds(*(_display_error(alpha, draw) for alpha in (vectors - along * normals, vectors)))


def _display_error(alpha: Array, draw: Draw) -> float:
    squared, cross = np.sum(alpha**2, axis=1), np.sum(alpha * (draw.bbar @ draw.cov), axis=1)
    cross = cross * np.sum(draw.bbar * alpha, axis=1)
    matrices = np.eye(alpha.shape[1]) - np.einsum("mi,mj->mij", draw.bbar @ draw.cov, draw.bbar)
    return relative_error(squared + cross, np.einsum("mi,mij,mj->m", alpha, matrices, alpha))


def size_in_a_direction(draw: Draw) -> Errors:
    """Section 4.1: the size of the data in a direction is ||b||_Sigma, the root of E (b^T x)^2, not E b^T x."""
    projected, norm = draw.x @ draw.b.T, manifold.sigma_norm(draw.b, draw.cov)
    sizes = np.abs(projected.mean(axis=0)), np.sqrt((projected**2).mean(axis=0))
    return fixed(*(relative_error(size, norm) for size in sizes))


FORMULAS: dict[str, Callable[[Draw], Errors]] = {
    equations.NORMALIZER: normalizer,
    equations.EQUAL_FUNCTIONS: equal_functions,
    equations.BN_OUTER: bn_outer,
    equations.BN_INNER: bn_inner,
    equations.KEPT_LENGTH: kept_length,
    equations.NORMALIZED_OUTER: normalized_outer,
    equations.NORMALIZED_INNER: normalized_inner,
    equations.INNER_OF_UNIT_LENGTH: normalized_inner_of_unit_length,
    equations.VANILLA_OUTER: vanilla_outer,
    equations.VANILLA_INNER: vanilla_inner,
    equations.EQ_14: velocity_field_on_manifold,
    equations.EQ_21: velocity_field_of_bn,
    equations.EQ_22: velocity_field_of_vanilla,
    equations.LONGER_BN: longer_neuron_of_bn,
    equations.LONGER_VANILLA: longer_neuron_of_vanilla,
    equations.DIRECTION_BN: direction_of_longer_neuron_of_bn,
    equations.DIRECTION_VANILLA: direction_of_longer_neuron_of_vanilla,
    equations.GRADIENT_OUTER: gradient_outer,
    equations.GRADIENT_INNER: gradient_inner,
    equations.EUCLIDEAN_GRADIENT: euclidean_gradient,
    equations.POSITIVITY_DISPLAY: positivity_display,
    equations.SIZE_IN_A_DIRECTION: size_in_a_direction,
}
