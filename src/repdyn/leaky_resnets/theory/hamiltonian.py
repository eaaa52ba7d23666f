r"""Hamiltonian of representation geodesics, its equations, its stable relative and the bounds of Theorem 4.

A, B of shape (w, N); S = [relu(A); 1] or relu(A); Lt the effective depth. At a zero ReLU has slope 0.
Paper: Hamiltonian Mechanics of Feature Learning, Sections 1.5 and 2.1, Theorems 4 and 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array
from repdyn.leaky_resnets.theory.arguments import effective_depth_of, representation_pair
from repdyn.leaky_resnets.theory.identity_cost import activation, stable_norm_sq

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def hamiltonian(A: Float[ArrayLike, "w N"], B: Float[ArrayLike, "w N"], effective_depth: float, bias: bool) -> float:
    r"""H(A, B) = (Lt / 2) |B S^T|_F^2 - Lt Tr[B A^T] (Section 1.5).

    Conserved along geodesics; in a discrete network evaluate it at (A_{l-1}, B_l). -2 H / Lt estimates the rank of
    the bottleneck.

    Args:
        A: representation.
        B: momentum, -(1 / lam) of the cost's derivative by A.
        effective_depth: Lt > 0.
        bias: whether S carries a row of ones.

    Raises:
        ValueError: shapes differ, a value is not finite, Lt <= 0.

    Example:
        >>> hamiltonian([[2.0]], [[0.5]], 3.0, bias=False)  # A B = 1: -Lt/2, rank 1
        -1.5
    """
    A, B = representation_pair(A, B)
    S = activation(A, bias)
    return effective_depth_of(effective_depth) * float(0.5 * np.sum((B @ S.T) ** 2) - np.sum(A * B))


def velocity(A: Float[Array, "w N"], B: Float[Array, "w N"], effective_depth: float, bias: bool) -> Float[Array, "w N"]:
    """Derivative of A by p: dH/dB = Lt (B K - A) (Section 1.5); unchecked.

    Args:
        A: representation.
        B: momentum.
        effective_depth: Lt > 0.
        bias: whether S carries a row of ones.
    """
    S = activation(A, bias)
    return effective_depth * ((B @ S.T) @ S - A)


def force(A: Float[Array, "w N"], B: Float[Array, "w N"], effective_depth: float, bias: bool) -> Float[Array, "w N"]:
    """Derivative of H by A: Lt (sigma'(A) o [S B^T B] - B), without the row of the bias; equals -dB/dp; unchecked.

    Section 1.5.

    Arguments as in `velocity`.
    """
    S = activation(A, bias)
    pulled = ((S @ B.T) @ B)[: len(A)]
    return effective_depth * (np.where(A > 0, pulled, 0.0) - B)


class StableEnergies(NamedTuple):
    """Stable energies of a layer.

    Attributes:
        kinetic: |dA|^2_{K + gamma I}, units of (d/dp)^2.
        cost: stable cost of identity |A|^2_{K + gamma I}.
        hamiltonian: kinetic / (2 Lt) - Lt cost / 2.
    """

    kinetic: float
    cost: float
    hamiltonian: float


def stable_energies(
    A: Float[ArrayLike, "w N"], dA: Float[ArrayLike, "w N"], effective_depth: float, bias: bool, gamma: float
) -> StableEnergies:
    r"""Stable energies H_gamma = |dA|^2_{K + gamma I} / (2 Lt) - (Lt / 2) |A|^2_{K + gamma I} (after Theorem 4).

    In a network dA is (A_l - A_{l-1}) / rho_l.

    Args:
        A: representation.
        dA: its derivative by p.
        effective_depth: Lt > 0.
        bias: whether S carries a row of ones.
        gamma: regularizer gamma > 0, units of A squared.
    """
    A, dA = representation_pair(A, dA, ("A", "dA"))
    Lt, S = effective_depth_of(effective_depth), activation(A, bias)
    kinetic, cost = stable_norm_sq(dA, S, gamma), stable_norm_sq(A, S, gamma)
    return StableEnergies(kinetic, cost, kinetic / (2 * Lt) - Lt * cost / 2)


def stable_hamiltonian(
    A: Float[ArrayLike, "w N"], dA: Float[ArrayLike, "w N"], effective_depth: float, bias: bool, gamma: float
) -> float:
    """H_gamma of `stable_energies` alone (after Theorem 4). It needs no momentum, so no critical point.

    Arguments as in `stable_energies`.
    """
    return stable_energies(A, dA, effective_depth, bias, gamma).hamiltonian


def scaled_hamiltonian_from_cost(
    A: Float[ArrayLike, "w N"], B: Float[ArrayLike, "w N"], effective_depth: float, bias: bool, gamma: float
) -> float:
    r"""-2 H / Lt = |A|^2_g - |dA / Lt + gamma B|^2_g + gamma |B|^2, g = K + gamma I (proof of Theorem 7).

    Holds for any A and B, with the derivative of the Hamiltonian flow, dA / Lt = B K - A.

    Args:
        A: representation.
        B: momentum.
        effective_depth: Lt > 0.
        bias: whether S carries a row of ones.
        gamma: regularizer gamma > 0, units of A squared.
    """
    A, B = representation_pair(A, B)
    Lt, S = effective_depth_of(effective_depth), activation(A, bias)
    moved = velocity(A, B, Lt, bias) / Lt + gamma * B
    return stable_norm_sq(A, S, gamma) - stable_norm_sq(moved, S, gamma) + gamma * float(np.sum(B**2))


class Bounds(NamedTuple):
    """Interval in which a theorem puts a quantity."""

    lower: Array
    upper: Array


def theorem4_bounds(
    length: Float[ArrayLike, "*#shape"], effective_depth: float, gamma_c: Float[ArrayLike, "*#shape"]
) -> Bounds:
    r"""Theorem 4 corrected: -(l / Lt + sqrt(gamma c))^2 <= -2 H / Lt - min_p |A_p|^2_{K_p + gamma I} <= gamma c.

    Args:
        length: l, the integral over p of |dA_p|_{K_p + gamma I}.
        effective_depth: Lt > 0.
        gamma_c: gamma sup_p |B_p|_F^2; where gamma varies with p, sup_p gamma_p |B_p|_F^2.
    """
    length, Lt = np.asarray(length, float), effective_depth_of(effective_depth)
    return Bounds(-((length / Lt + np.sqrt(gamma_c)) ** 2), np.asarray(gamma_c, float))


def theorem4_bounds_as_printed(
    length: Float[ArrayLike, "*#shape"],
    effective_depth: float,
    gamma: Float[ArrayLike, "*#shape"],
    c: Float[ArrayLike, "*#shape"],
) -> Bounds:
    r"""Theorem 4 as printed: sqrt(gamma) c in the lower bound, sqrt(gamma c) in its proof; false for c < 1.

    Args:
        length: l, the length of the path in the norm of K_p + gamma I, any shape.
        effective_depth: Lt > 0.
        gamma: the same at every p, units of A squared, broadcast with length.
        c: sup_p |B_p|_F^2, broadcast with length.
    """
    length, gamma, c = np.asarray(length, float), np.asarray(gamma), np.asarray(c)
    Lt = effective_depth_of(effective_depth)
    return Bounds(-((length / Lt + np.sqrt(gamma) * c) ** 2), np.asarray(gamma * c, float))


def theorem4_speed_gap(
    speed: Float[ArrayLike, "*#shape"],
    cost: Float[ArrayLike, "*#shape"],
    scaled_hamiltonian: Float[Array, "*#shape"] | float,
    effective_depth: float,
) -> Float[Array, "*shape"]:
    r"""Middle of Theorem 4's second display: |dA|_g - Lt sqrt((|A|^2_g + 2 H / Lt)_+), within Lt sqrt(gamma c) [-1, 2].

    The positive part is missing in print, though the root's argument falls to -gamma |B|^2.

    Args:
        speed: |dA_p|_{K_p + gamma I}.
        cost: |A_p|^2_{K_p + gamma I}.
        scaled_hamiltonian: -2 H / Lt.
        effective_depth: Lt > 0.
    """
    extra = np.maximum(np.asarray(cost, float) - scaled_hamiltonian, 0)
    return np.asarray(speed, float) - effective_depth_of(effective_depth) * np.sqrt(extra)
