r"""Velocities of whole models: population (closed form, Gaussian data) and empirical (a given data set).

The population model is y = sum_j c_j sigma(w_j^T x), x ~ N(0, Sigma), l = (f - y)^2/2, so the residual is a
sum of neurons too: students with charge a_k/m, teachers with charge -c_j, and the loss is c^T K c / 2. Two
dimensions with ReLU take the O(m log m) field, everything else blocked pairs. Ma and Ying, eqs. (6), (8),
(10), (14), (21), (22).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, expit

from repdyn.base.arguments import finite, one_of
from repdyn.base.arrays import Array
from repdyn.bn_mean_field.theory import arguments, flows
from repdyn.bn_mean_field.theory.circular import planar_field
from repdyn.bn_mean_field.theory.kernels import ACTIVATIONS, unchecked_potential
from repdyn.bn_mean_field.theory.manifold import unchecked_norm

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

NORMALIZATIONS = ("batch", "none", "manifold")
TIME_SCALES = ("mean_field", "parameter")
LOSSES = ("squared", "logistic")


@dataclass(frozen=True)
class Teacher:
    """The target y = sum_j c_j sigma(w_j^T x).

    Attributes:
        c: output weights, shape (J,).
        w: directions, shape (J, d).
    """

    c: Array
    w: Array

    def __post_init__(self) -> None:
        w = np.asarray(self.w, dtype=np.float64)
        c, w = arguments.particles(self.c, w, w.shape[-1] if w.ndim else 0)
        object.__setattr__(self, "c", c)
        object.__setattr__(self, "w", w)


@dataclass(frozen=True)
class Population:
    """A population problem, checked once: everything a run needs besides its particles.

    Attributes:
        teacher: the target.
        cov: covariance Sigma, shape (d, d).
        normalization: "batch" (eq. 21), "none" (eq. 22) or "manifold" (eq. 14, particles on Omega).
        activation: "relu" or "erf".
        root: symmetric square root of Sigma.
    """

    teacher: Teacher
    cov: Array
    normalization: str = "batch"
    activation: str = "relu"
    root: Array = field(init=False)

    def __post_init__(self) -> None:
        cov = arguments.covariance(self.cov)
        arguments.vectors(self.teacher.w, len(cov), "teacher.w")
        one_of(self.normalization, NORMALIZATIONS, "normalization")
        one_of(self.activation, ACTIVATIONS, "activation")
        eigenvalues, basis = np.linalg.eigh(cov)
        object.__setattr__(self, "cov", cov)
        object.__setattr__(self, "root", basis * np.sqrt(eigenvalues) @ basis.T)

    def moments(
        self, a: Float[Array, "*batch m"], b: Float[Array, "*batch m d"]
    ) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"], Float[Array, "*batch"]]:
        """Force (..., m), moment (..., m, d) and loss (...) of the residual at the model's weights."""
        m, c, w = a.shape[-1], self.teacher.c, self.teacher.w
        if self.normalization != "none":
            b = b / unchecked_norm(b, self.cov)[..., None]
        v = np.concatenate([b, np.broadcast_to(w, (*b.shape[:-2], *w.shape))], axis=-2)
        charge = np.concatenate([a / m, np.broadcast_to(-c, (*a.shape[:-1], len(c)))], axis=-1)
        if len(self.cov) == 2 and self.activation == "relu":
            force, moment = self._planar(v, charge)
        else:
            force, moment = unchecked_potential(v, v, charge, self.cov, self.activation)
        return force[..., :m], moment[..., :m, :], np.sum(charge * force, axis=-1) / 2

    def velocity(
        self, a: Float[Array, "*batch m"], b: Float[Array, "*batch m d"]
    ) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"], Float[Array, "*batch"]]:
        """Velocities of a and b in mean-field time, and the loss; no input checks."""
        force, moment, loss = self.moments(a, b)
        if self.normalization == "none":
            return *flows.vanilla_flow(force, moment, a), loss
        if self.normalization == "batch":
            return *flows.bn_flow(force, moment, a, b, self.cov), loss
        bbar = b / unchecked_norm(b, self.cov)[..., None]
        return *flows.normalized_flow(force, moment, a, bbar, self.cov), loss

    def _planar(self, v: Array, charge: Array) -> tuple[Array, Array]:
        points = v @ self.root
        length = np.sqrt(points[..., 0] ** 2 + points[..., 1] ** 2)
        field, slope = planar_field(points, charge * length)
        outward = points / length[..., None]
        across = np.stack([-outward[..., 1], outward[..., 0]], axis=-1)
        return length * field, (field[..., None] * outward + slope[..., None] * across) @ self.root


def mean_field_velocity(
    a: Float[ArrayLike, "*batch m"],
    b: Float[ArrayLike, "*batch m d"],
    teacher: Teacher,
    cov: Float[ArrayLike, "d d"],
    *,
    normalization: str = "batch",
    activation: str = "relu",
    time_scale: str = "mean_field",
) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch m d"], Float[Array, "*batch"]]:
    r"""Exact population velocity of the gradient flow, eqs. (21) and (22), and the loss.

    Args:
        a: output weights.
        b: inner weights; on Omega if normalization is "manifold".
        teacher: the target.
        cov: covariance Sigma.
        normalization: "batch", "none", or "manifold" (vanilla loss on M, eq. 14).
        activation: "relu" or "erf".
        time_scale: "mean_field" as in (10), (21), or "parameter" as in (6): 1/m of it.

    Returns:
        Velocities of a and b, and the loss, shapes (..., m), (..., m, d), (...).
    """
    model = Population(teacher, np.asarray(cov), normalization, activation)
    a, b = arguments.particles(a, b, len(model.cov))
    if normalization == "manifold":
        arguments.on_omega(b, model.cov)
    da, db, loss = model.velocity(a, b)
    scale = _scale(time_scale, a.shape[-1])
    return scale * da, scale * db, loss


def empirical_velocity(
    a: Float[ArrayLike, "m"],
    b: Float[ArrayLike, "m d"],
    x: Float[ArrayLike, "N d"],
    y: Float[ArrayLike, "N"],
    *,
    normalization: str = "batch",
    activation: str = "relu",
    loss: str = "squared",
    eps: float = 0.0,
    time_scale: str = "mean_field",
) -> tuple[Float[Array, "m"], Float[Array, "m d"], float]:
    r"""Velocity of the gradient flow on a data set, mu its empirical law: section 2 holds exactly, O(m N d).

    Args:
        a: output weights.
        b: inner weights.
        x: inputs, of mean zero if normalization is "batch" (Assumption 1).
        y: targets; labels -1, 1 for the logistic loss.
        normalization: "batch" or "none".
        activation: "relu" or "erf".
        loss: "squared", (f - y)^2/2, or "logistic", log(1 + exp(-y f)).
        eps: added to the variance as torch.nn.BatchNorm1d does; the paper's model is eps = 0.
        time_scale: "mean_field" or "parameter" (1/m of it).

    Returns:
        Velocities of a and b, and the loss.
    """
    one_of(normalization, NORMALIZATIONS[:2], "normalization")
    x, y = arguments.data(x, y, centered=normalization == "batch")
    a, b = arguments.particles(a, b, x.shape[1])
    scale = _scale(time_scale, len(a))
    if normalization == "none":
        force, moment, value = _empirical_moments(a, b, x, y, activation, loss)
        return *flows.vanilla_flow(force, moment, a, scale), value
    cov = x.T @ x / len(x)
    norm = np.sqrt(unchecked_norm(b, cov) ** 2 + eps)
    if not norm.all():
        raise ValueError("some b^T x is constant on the data; batch normalization needs b^T Sigma b > 0")
    force, moment, value = _empirical_moments(a, b / norm[:, None], x, y, activation, loss)
    return *flows.bn_flow_of_norm(force, moment, a, b, cov, norm, scale), value


def minibatch_velocity(
    a: Float[ArrayLike, "m"],
    b: Float[ArrayLike, "m d"],
    x: Float[ArrayLike, "N d"],
    y: Float[ArrayLike, "N"],
    **options: Any,
) -> tuple[Float[Array, "m"], Float[Array, "m d"], float]:
    """Velocity from one batch normalized by its own mean and biased variance, as BatchNorm1d does.

    What is returned is that of `empirical_velocity`; the inputs may have any mean.

    Ours: the paper's eq. (3) normalizes by the covariance of all data.

    Args:
        a: output weights.
        b: inner weights.
        x: inputs of the batch, any mean.
        y: targets.
        **options: further options of `empirical_velocity`.
    """
    x = finite(x, "x")
    return empirical_velocity(a, b, x - x.mean(axis=0), y, **options)


def batch_velocities(
    a: Float[Array, "m"], b: Float[Array, "m d"], x: Float[Array, "R B d"], y: Float[Array, "R B"]
) -> Float[Array, "R m d"]:
    """b-velocities in mean-field time of `minibatch_velocity` for many batches at once: ReLU, squared loss, eps = 0.

    Ours: the paper's eq. (3) normalizes by the covariance of all data.

    Args:
        a: output weights.
        b: inner weights.
        x: inputs of the batches, any mean.
        y: targets.

    Returns:
        Velocities of b.
    """
    x = x - x.mean(axis=1, keepdims=True)
    cov = np.swapaxes(x, 1, 2) @ x / x.shape[1]
    pushed = b @ cov
    norm = np.sqrt(np.sum(pushed * b, axis=-1))
    hidden = x @ (b / norm[..., None]).swapaxes(1, 2)
    residual = (np.maximum(hidden, 0) @ a / len(a) - y) / x.shape[1]
    moment = ((hidden > 0) * residual[..., None]).swapaxes(1, 2) @ x
    radial = np.sum(b * moment, axis=-1) / norm**2
    return -(a / norm)[..., None] * (moment - radial[..., None] * pushed)


def _scale(time_scale: str, m: int) -> float:
    return 1.0 if one_of(time_scale, TIME_SCALES, "time_scale") == "mean_field" else 1.0 / m


def _empirical_moments(
    a: Array, v: Array, x: Array, y: Array, activation: str, loss: str
) -> tuple[Array, Array, float]:
    value, slope = _activate(x @ v.T, activation)
    risk, residual = _risk(value @ a / len(a), y, loss)
    weighted = residual[:, None] / len(x)
    return np.sum(weighted * value, axis=0), (weighted * slope).T @ x, float(risk)


def _activate(z: Array, activation: str) -> tuple[Array, Array]:
    if one_of(activation, ACTIVATIONS, "activation") == "relu":
        return np.maximum(z, 0.0), (z > 0).astype(np.float64)
    return erf(z), 2 / np.sqrt(np.pi) * np.exp(-(z**2))


def _risk(f: Array, y: Array, loss: str) -> tuple[np.floating, Array]:
    if one_of(loss, LOSSES, "loss") == "squared":
        return np.mean((f - y) ** 2) / 2, f - y
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"y has labels {np.unique(y)[:5].tolist()}; the logistic loss expects -1 and 1: map 0 to -1")
    return np.mean(np.logaddexp(0.0, -y * f)), -y * expit(-y * f)
