r"""Geodesics of one neuron and one point in closed form: the examples that decide Theorem 4 and what follows it.

w = N = 1, A > 0. Without bias H = Lt (u^2 / 2 - u) with u = A B conserved, A_p = a e^{Lt (u - 1) (p - 1)}, B = u / A;
the weight Lt u is constant, so it has the least norm of all weights that join its ends: a true geodesic. With bias
(dA / (Lt dp))^2 = (1 + e) A^2 + e with e = 2 H / Lt; for e > 0 the path grows and has the least norm as well.
Paper: Hamiltonian Mechanics of Feature Learning, Theorems 4 and 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


class ScalarGeodesic(NamedTuple):
    """What Theorem 4 is about, for one scalar geodesic; fields broadcast over u and gamma.

    Attributes:
        scaled_hamiltonian: -2 H / Lt, 2 u - u^2 without bias.
        least_cost: min_p A^2 / (K + gamma); K = A^2, with bias A^2 + 1.
        length: integral of |dA|_{K + gamma}, without bias |asinh(A_1 / sqrt(gamma)) - asinh(A_0 / sqrt(gamma))|.
        c: sup_p B^2.
    """

    scaled_hamiltonian: Array
    least_cost: Array
    length: Array
    c: Array


def scalar_path(
    u: Float[ArrayLike, "*#shape"],
    end: Float[ArrayLike, "*#shape"],
    effective_depth: Float[ArrayLike, "*#shape"],
    p: Float[ArrayLike, "*#shape"],
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """A_p = a e^{Lt (u - 1) (p - 1)} and B_p = u / A_p.

    Ours: an example of Hamilton's equations, Section 1.5.

    Args:
        u: A B, conserved, any shape.
        end: A_1 = a > 0.
        effective_depth: Lt > 0.
        p: positions in [0, 1], broadcast with u.
    """
    A = np.asarray(end) * np.exp(np.asarray(effective_depth) * (np.asarray(u) - 1) * (np.asarray(p) - 1))
    return A, np.asarray(u) / A


def scalar_geodesic(
    u: Float[ArrayLike, "*#shape"],
    end: Float[ArrayLike, "*#shape"],
    effective_depth: Float[ArrayLike, "*#shape"],
    gamma: Float[ArrayLike, "*#shape"],
) -> ScalarGeodesic:
    """Quantities of Theorem 4 along the scalar geodesic that ends at A_1 = a > 0, with the regularizer gamma > 0.

    Args:
        u: A B, conserved, any shape.
        end: A_1 = a > 0.
        effective_depth: Lt > 0.
        gamma: regularizer > 0, units of A squared, broadcast with u.
    """
    u, gamma = np.asarray(u, float), np.asarray(gamma, float)
    first, last = (scalar_path(u, end, effective_depth, p)[0] for p in (0.0, 1.0))
    least = np.minimum(first, last) ** 2
    return ScalarGeodesic(
        2 * u - u**2,
        least / (least + gamma),
        np.abs(np.arcsinh(last / np.sqrt(gamma)) - np.arcsinh(first / np.sqrt(gamma))),
        u**2 / least,
    )


def growing_path(
    energy: float, start: float, effective_depth: float, p: Float[Array, "P"]
) -> tuple[Float[Array, "P"], Float[Array, "P"]]:
    """A_p = sqrt(e / (1 + e)) sinh(sqrt(1 + e) Lt p + const) and B_p = (A + dA / (Lt dp)) / (A^2 + 1), with bias.

    Ours: the example for what stands after Theorem 4.

    Args:
        energy: e = 2 H / Lt > 0.
        start: A_0 >= 0.
        effective_depth: Lt > 0.
        p: positions in [0, 1].
    """
    scale, rate = np.sqrt(energy / (1 + energy)), np.sqrt(1 + energy)
    along = rate * effective_depth * np.asarray(p, float) + np.arcsinh(start / scale)
    A = scale * np.sinh(along)
    return A, (A + scale * rate * np.cosh(along)) / (A**2 + 1)


def growing_geodesic(energy: float, start: float, effective_depth: float, gamma: float) -> ScalarGeodesic:
    """Quantities of Theorem 4 along `growing_path`, for any Lt, since A_1 enters by its logarithm alone.

    Args:
        energy: e = 2 H / Lt > 0.
        start: A_0 >= 1, where B falls along the path.
        effective_depth: Lt > 0.
        gamma: regularizer > 0, units of A squared.
    """
    scale, rate = np.sqrt(energy / (1 + energy)), np.sqrt(1 + energy)
    size, last = np.sqrt(1 + gamma), rate * effective_depth + np.arcsinh(start / scale)
    log_end = np.log(scale / 2) + last + np.log1p(-np.exp(-2 * last)) - np.log(size)
    length = log_end + np.log1p(np.sqrt(1 + np.exp(-2 * log_end))) - np.arcsinh(start / size)
    first = growing_path(energy, start, effective_depth, np.zeros(1))[1][0]
    return ScalarGeodesic(np.array(-energy), start**2 / (start**2 + size**2), length, first**2)
