r"""Geodesics of one neuron and one point without bias, in closed form: the example that decides Theorem 4.

w = N = 1, A > 0: H = Lt (u^2 / 2 - u) with u = A B conserved, A_p = a e^{Lt (u - 1) (p - 1)}, B = u / A. Its weight
Lt u is constant, so it has the least norm of all weights that join its ends: a true geodesic.
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
        scaled_hamiltonian: -2 H / Lt = 2 u - u^2.
        least_cost: min_p A^2 / (A^2 + gamma).
        length: integral of |dA|_{K + gamma}, in closed form |asinh(A_1 / sqrt(gamma)) - asinh(A_0 / sqrt(gamma))|.
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
