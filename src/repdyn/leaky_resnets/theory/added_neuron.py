r"""A neuron added along a path: the perturbation in the proof of Proposition 5.

At each p: A_i the representation of point i, shape (w,), dA_i its derivative by p, S_i its activation, shape (w + 1,)
or (w,), W the weights, shape (w, w + 1) with the bias in the last column, or (w, w), t = t(p) in [0, 1] a triangle of
height 1 around p_0, eps the size of the perturbation, small, Lt > 0 the effective depth.
Paper: Hamiltonian Mechanics of Feature Learning, Proposition 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def triangle(p: Float[ArrayLike, "*shape"], center: float, radius: float) -> Float[Array, "*shape"]:
    """t(p) = max(0, 1 - |p - p_0| / r).

    From the proof of Proposition 8.
    """
    return np.maximum(0.0, 1 - np.abs(np.asarray(p, float) - center) / radius)


def enlarged_weights(
    W: Float[Array, "w s"], A_i: Float[Array, "w"], S_i: Float[Array, "s"], t: float, eps: float, effective_depth: float
) -> Float[Array, "w+1 s+1"]:
    r"""[[W - Lt eps^2 t^2 A_i S_i^T, eps Lt t A_i], [eps Lt t S_i^T, 0]], shape (w + 1, columns of W + 1).

    The printed block has t in place of t^2; the later displays have t^2 (proof of Proposition 8). The new neuron's
    column comes last.

    Args:
        W: weights, shape (w, w + 1) with bias or (w, w).
        A_i: representation of point i.
        S_i: its activation, shape (w + 1,) with bias or (w,).
        t: height t(p) of the triangle, 0 to 1.
        eps: size of the perturbation.
        effective_depth: Lt > 0.
    """
    return _enlarged(W, A_i, S_i, t**2, t, eps, effective_depth)


def enlarged_weights_as_printed(
    W: Float[Array, "w s"], A_i: Float[Array, "w"], S_i: Float[Array, "s"], t: float, eps: float, effective_depth: float
) -> Float[Array, "w+1 s+1"]:
    """The same with the block W - Lt eps^2 t A_i S_i^T, as printed.

    From the proof of Proposition 8.

    Arguments as in `enlarged_weights`.
    """
    return _enlarged(W, A_i, S_i, t, t, eps, effective_depth)


def _enlarged(W: Array, A_i: Array, S_i: Array, inner: float, t: float, eps: float, Lt: float) -> Array:
    block = W - Lt * eps**2 * inner * np.outer(A_i, S_i)
    return np.block([[block, eps * Lt * t * A_i[:, None]], [eps * Lt * t * S_i[None, :], np.zeros((1, 1))]])


def objective_change(
    c: Float[Array, "L w"],
    r: Float[Array, "L s"],
    momenta: Float[Array, "L w N"],
    activation: Float[Array, "L N"],
    rho: Float[Array, "L"],
    effective_depth: float,
) -> float:
    r"""Coefficient of eps^2 in the objective over lam, at a critical network, by a neuron that is added to it.

    sum_l rho_l ((|c_l|^2 + |r_l|^2) / (2 Lt) - c_l . B_l a_{l-1}): whatever is done to the other weights at order eps^2
    drops out, since they are critical (Proposition 5, in place of its Gronwall argument).

    Args:
        c: outgoing weights over eps.
        r: incoming weights over eps, shape (L, w) or with bias (L, w + 1).
        momenta: B_l of the layers.
        activation: relu(a_{l-1}) of the neuron over eps.
        rho: layer steps.
        effective_depth: Lt > 0.
    """
    sizes = (np.sum(c**2, axis=1) + np.sum(r**2, axis=1)) / (2 * effective_depth)
    return float(rho @ (sizes - np.einsum("lw,lwn,ln->l", c, momenta, activation)))


def norm_change(
    A_i: Float[Array, "w"], S_i: Float[Array, "s"], dA_i: Float[Array, "w"], t: float, effective_depth: float
) -> float:
    r"""Coefficient of eps^2 in |enlarged W|^2: Lt^2 t^2 (|S_i|^2 - |A_i|^2 - (2 / Lt) A_i . dA_i) (Proposition 8).

    Args:
        A_i: representation of point i.
        S_i: its activation, shape (w + 1,) with bias or (w,).
        dA_i: derivative of A_i by p.
        t: height t(p) of the triangle, 0 to 1.
        effective_depth: Lt > 0.
    """
    Lt = effective_depth
    return float(Lt**2 * t**2 * (S_i @ S_i - A_i @ A_i - 2 / Lt * A_i @ dA_i))


def norm_change_as_printed(
    A_i: Float[Array, "w"], S_i: Float[Array, "s"], dA_i: Float[Array, "w"], t: float, effective_depth: float
) -> float:
    """The same with -(1 / Lt) A_i . dA_i, as printed.

    From the proof of Proposition 8.

    Arguments as in `norm_change`.
    """
    Lt = effective_depth
    return float(Lt**2 * t**2 * (S_i @ S_i - A_i @ A_i - 1 / Lt * A_i @ dA_i))


def added_activation(p: float, kernel: float, center: float, radius: float, effective_depth: float) -> float:
    r"""a_p = Lt int_0^p t(q) K_i e^{Lt (q - p)} dq for a constant row entry K_i of the kernel.

    At the end of the path it is of order e^{-Lt (1 - p_0 - r)}: a_1 -> 0, where print has a_1 -> 1 (Proposition 8).

    Args:
        p: position in [0, 1].
        kernel: K_i, held constant along the path.
        center: p_0, top of the triangle t.
        radius: r, half the base of the triangle.
        effective_depth: Lt > 0.
    """
    low, high = max(0.0, center - radius), min(p, center + radius)
    if high <= low:
        return 0.0
    value, _ = scipy.integrate.quad(
        lambda q: float(triangle(q, center, radius)) * np.exp(effective_depth * (q - high)),
        low,
        high,
        points=[min(center, high)],
        epsabs=0,
        epsrel=1e-10,
        limit=200,
    )
    return float(effective_depth * kernel * value * np.exp(effective_depth * (high - p)))
