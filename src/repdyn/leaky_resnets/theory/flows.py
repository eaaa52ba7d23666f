"""Paths in p: Hamiltonian flow, leaky ResNets with given weights, and the steps of critical discrete networks.

ReLU's kinks cost a fixed-step Runge-Kutta method its order, so paths are integrated by adaptive DOP853.
Paper: Hamiltonian Mechanics of Feature Learning, Sections 1.1, 1.2 and 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite
from repdyn.base.arrays import Array
from repdyn.leaky_resnets.theory.arguments import effective_depth_of, representation_pair
from repdyn.leaky_resnets.theory.compiled_rates import rates
from repdyn.leaky_resnets.theory.hamiltonian import force, velocity
from repdyn.leaky_resnets.theory.identity_cost import activation

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

ATOL = 1e-12
IMPLICIT = 1e-15  # relative change at which the implicit step counts as solved
ITERATIONS = 200
EVALUATIONS = 1_000_000  # right sides after which a path is given up, a quarter of a minute of small matrices


class Trajectory(NamedTuple):
    """Representations and momenta along p.

    Attributes:
        p: positions, shape (P,).
        A: representations, shape (P, w, N).
        B: momenta, shape (P, w, N).
        evaluations: right sides that the integrator asked for.
    """

    p: Array
    A: Array
    B: Array
    evaluations: int


def hamiltonian_flow(
    A0: Float[ArrayLike, "w N"],
    B0: Float[ArrayLike, "w N"],
    effective_depth: float,
    bias: bool,
    p: Float[ArrayLike, "P"],
    rtol: float = 1e-9,
    *,
    start: float | None = None,
) -> Trajectory:
    r"""dA/dp = dH/dB = Lt (B K - A), -dB/dp = dH/dA = Lt (sigma'(A) o [S B^T B] - B) (Section 1.5).

    Args:
        A0: representation at the start.
        B0: momentum at the start.
        effective_depth: Lt > 0.
        bias: whether S carries a row of ones.
        p: positions wanted, increasing.
        rtol: relative tolerance of DOP853; the drift of H is its measure.
        start: position of A0 and B0, by default p[0]; from inside the range the flow runs both ways.

    Raises:
        ValueError: shapes differ, a value is not finite, Lt <= 0, or the path grows or stiffens too much.
    """
    A0, B0 = representation_pair(A0, B0, ("A0", "B0"))
    Lt, p = effective_depth_of(effective_depth), finite(p, "p")
    start, shape = p[0] if start is None else start, (2, *A0.shape)

    def right_side(_: float, y: Array) -> Array:
        A, B = y.reshape(shape)
        return rates(A, B, Lt, bias).ravel()

    first = np.stack([A0, B0]).ravel()
    back, ahead = p[p < start][::-1], p[p >= start]
    pieces = [_integrate(right_side, first, start, part, rtol) for part in (back, ahead)]
    path = np.concatenate([pieces[0][0][::-1], pieces[1][0]]).reshape(-1, *shape)
    return Trajectory(p, path[:, 0], path[:, 1], pieces[0][1] + pieces[1][1])


def _integrate(
    right_side: Callable[[float, Array], Array], first: Array, start: float, stops: Array, rtol: float
) -> tuple[Array, int]:
    if stops.size == 0:
        return np.empty((0, first.size)), 0
    if stops[-1] == start:
        return first[None], 0

    counted = count()

    def checked_rates(p: float, y: Array) -> Array:
        moved = right_side(p, y)
        if next(counted) > EVALUATIONS or not math.isfinite(moved @ moved):  # NaN would halve the step for ever
            reached = f"the path from {start:g} grows or stiffens too much at {p:.6g}, before {stops[-1]:g}"
            raise ValueError(f"{reached}; start smaller, or with a smaller effective depth")
        return moved

    with np.errstate(over="ignore", invalid="ignore"):
        path = scipy.integrate.solve_ivp(
            checked_rates, (start, stops[-1]), first, method="DOP853", t_eval=stops, rtol=rtol, atol=ATOL
        )
    if not path.success:
        raise ValueError(f"the path from {start:g} does not reach {stops[-1]:g} ({path.message}); ask for less")
    return path.y.T, path.nfev


def leaky_path(
    weights: Callable[[float], Float[Array, "w s"]],
    A0: Float[ArrayLike, "w N"],
    effective_depth: float,
    q: Float[ArrayLike, "P"],
    rtol: float = 1e-10,
) -> Float[Array, "P w N"]:
    r"""Solution of dA/dq = -Lt A + W_q S at the positions q, increasing from the start (Section 1.1).

    Args:
        weights: W_q, shape (w, w + 1) with bias or (w, w).
        A0: representation at q[0].
        effective_depth: leak Lt >= 0.
        q: positions.
        rtol: relative tolerance of DOP853.

    Returns:
        Representations.
    """
    A0, q = finite(A0, "A0"), finite(q, "q")

    def right_side(at: float, y: Array) -> Array:
        A, W = y.reshape(A0.shape), weights(at)
        return (W @ activation(A, W.shape[1] > W.shape[0]) - effective_depth * A).ravel()

    return _integrate(right_side, A0.ravel(), q[0], q, rtol)[0].reshape(-1, *A0.shape)


def linear_path(
    weights: Callable[[float], Float[Array, "w w"]],
    A0: Float[ArrayLike, "w N"],
    effective_depth: float,
    q: Float[ArrayLike, "P"],
) -> Float[Array, "P w N"]:
    r"""Path of a linear network, dA/dq = (W_q - Lt) A (footnote 1): A_q = Phi_q A_0 with Phi_q invertible.

    Every representation, shape (P, w, N), has the rank of A0.

    Args:
        weights: W_q.
        A0: representation at q[0].
        effective_depth: leak Lt >= 0.
        q: positions.
    """
    A0, q = finite(A0, "A0"), finite(q, "q")
    identity = np.eye(len(A0))

    def right_side(at: float, y: Array) -> Array:
        return ((weights(at) - effective_depth * identity) @ y.reshape(len(A0), -1)).ravel()

    transport = _integrate(right_side, identity.ravel(), q[0], q, 1e-12)[0].reshape(-1, *identity.shape)
    return transport @ A0


def symplectic_euler(
    A0: Float[ArrayLike, "w N"], B0: Float[ArrayLike, "w N"], effective_depth: float, bias: bool, L: int
) -> Trajectory:
    r"""A critical equidistant network of L layers from (A_0, B_0): the symplectic Euler scheme of the Hamiltonian flow.

    A_l = A_{l-1} + dH/dB(A_{l-1}, B_l) / L, B_{l-1} = B_l + dH/dA(A_{l-1}, B_l) / L: momenta are implicit, solved by
    iteration. Its weights are W_l = Lt B_l S_{l-1}^T; its invariant is H(A_{l-1}, B_l), up to O(1 / L). Ours: a
    discretization of Section 1.5.

    Args:
        A0: representation before the first layer.
        B0: momentum before the first layer.
        effective_depth: Lt > 0.
        bias: whether S carries a row of ones.
        L: number of layers.

    Raises:
        ValueError: the implicit equation of a layer is not solved by iteration.
    """
    A0, B0 = representation_pair(A0, B0, ("A0", "B0"))
    Lt = effective_depth_of(effective_depth)
    A, B = np.empty((2, L + 1, *A0.shape))
    A[0], B[0] = A0, B0
    for layer in range(L):
        B[layer + 1] = _implicit_momentum(A[layer], B[layer], Lt, bias, 1 / L)
        A[layer + 1] = A[layer] + velocity(A[layer], B[layer + 1], Lt, bias) / L
    return Trajectory(np.arange(L + 1) / L, A, B, L)


def _implicit_momentum(A: Array, B: Array, effective_depth: float, bias: bool, step: float) -> Array:
    new = B
    with np.errstate(over="ignore", invalid="ignore"):  # a step too long diverges before it is given up
        for _ in range(ITERATIONS):
            new, last = B - step * force(A, new, effective_depth, bias), new
            if np.linalg.norm(new - last) <= IMPLICIT * np.linalg.norm(B):
                return new
    raise ValueError(f"the implicit momentum of a layer of step {step:g} is not found by iteration; take more layers")
