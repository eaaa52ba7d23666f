"""Validation of arguments: representations and effective depths, for all of the theory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from repdyn.base.arguments import positive, shaped
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def as_matrix(
    values: Float[ArrayLike, "w N"], name: str, shape: tuple[int | None, int | None] = (None, None)
) -> Float[Array, "w N"]:
    """A finite float64 matrix, neurons in rows, points in columns; None in `shape` leaves a size free.

    Ours: validation of arguments.
    """
    return shaped(values, name, shape, "one column per point")


def effective_depth_of(value: float) -> float:
    """An effective depth, which the energies and the penalty divide by.

    Ours: validation of arguments.
    """
    return float(positive(value, "effective_depth", "at 0, a plain ResNet, kinetic energy and penalty are not defined"))


def representation_pair(
    A: Float[ArrayLike, "w N"], B: Float[ArrayLike, "w N"], names: tuple[str, str] = ("A", "B")
) -> tuple[Float[Array, "w N"], Float[Array, "w N"]]:
    """Two matrices of one shape (w, N).

    Ours: validation of arguments.
    """
    A = as_matrix(A, names[0])
    return A, as_matrix(B, names[1], A.shape)
