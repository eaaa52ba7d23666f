r"""Geodesics that turn for ever: three neurons that rotate about (1, 1, 1), in closed form.

No bias, all entries positive: W = Lt (1 + Omega) with Omega antisymmetric, Omega (1, 1, 1)^T = 0, is constant,
A_p = e^{Lt p Omega} A_0, B_p = (1 + Omega) A_p^{+T} solve Hamilton's equations, -2 H / Lt = 3 - |Omega|^2, and A and B
stay bounded for all Lt. Paper: Hamiltonian Mechanics of Feature Learning, after Theorem 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

AXIS = np.ones(3) / np.sqrt(3)
TURN = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]) / np.sqrt(3)  # TURN v = AXIS x v
ACROSS = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])  # orthogonal to the axis
OPENING = 0.35  # of the cone over its height; entries stay positive below root 1/2


def rotating_start(points: int) -> Float[Array, "3 {points}"]:
    """A_0 of rank 3, shape (3, N): points around the axis, all entries positive at every rotation.

    Ours: the start of `rotating_path`.
    """
    angles = 2 * np.pi * np.arange(points) / points
    return AXIS[:, None] + OPENING * ACROSS.T @ np.stack([np.cos(angles), np.sin(angles)])


def rotating_path(
    rate: float, effective_depth: float, p: Float[Array, "P"], points: int
) -> tuple[Float[Array, "P 3 {points}"], Float[Array, "P 3 {points}"]]:
    """A_p and B_p, shapes (P, 3, N); |Omega|^2 = 2 rate^2, so that -2 H / Lt = 3 - 2 rate^2.

    Ours: an example for what stands after Theorem 4.

    Args:
        rate: angle per unit of Lt p.
        effective_depth: Lt > 0.
        p: positions.
        points: N, at least 3.
    """
    angle = (rate * effective_depth * np.asarray(p, float))[:, None, None]
    rotation = np.eye(3) + np.sin(angle) * TURN + (1 - np.cos(angle)) * TURN @ TURN
    A = rotation @ rotating_start(points)
    return A, (np.eye(3) + rate * TURN) @ np.swapaxes(np.linalg.pinv(A), -1, -2)
