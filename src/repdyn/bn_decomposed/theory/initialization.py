r"""One neuron per data point: the initialization proposed in the Discussion of "Batch Normalization Decomposed".

The paper associates every data point with a neuron "that will fire only for its associated input", for orthogonal and
sparse representations, and gives no formula. Here neuron i has weights x_i / ||x_i|| and fires where the cosine with
x_i exceeds a threshold b_i between the cosine of the nearest other point and 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.layers import as_batch

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def unit_columns(X: Float[Array, "k n"]) -> Float[Array, "k n"]:
    """The batch with every column divided by its norm.

    Ours: what `point_neuron_init` needs.

    Raises:
        ValueError: bad batch, or a column of zeros, which has no direction.
    """
    X = as_batch(X)
    norms = np.linalg.norm(X, axis=0)
    if (norms == 0).any():
        raise ValueError(f"got zero columns {np.flatnonzero(norms == 0).tolist()}, which have no direction: drop them")
    return X / norms


def point_neuron_init(X: Float[Array, "k n"], margin: float = 0.5) -> tuple[Float[Array, "n k"], Float[Array, "n"]]:
    r"""Weights and biases of n neurons, neuron i for data point i: ReLU(W x + b) on unit vectors x.

    W_i = g_i x_i, b_i = -g_i t_i, threshold t_i = 1 - margin (1 - c_i), c_i the largest cosine to another point,
    gain g_i = 1 / (1 - t_i), so that neuron i answers 1 to its own point. For margin <= 1 no neuron fires for another
    point of the batch and the Gram matrix of the representation is the identity; beyond 1 neighbors are let in.

    Ours: the paper's Discussion proposes neurons that fire for one data point alone and gives no formula.

    Args:
        X: batch, shape (k, n), n >= 2; columns are normalized.
        margin: where the threshold lies: 0 (excluded) at the point itself, 1 at its nearest neighbor.

    Returns:
        Weights and biases, for inputs of unit norm.

    Raises:
        ValueError: bad batch, margin not positive, or two points on one ray (named), which no threshold separates.
    """
    if not margin > 0:
        raise ValueError(f"got margin {margin}, expected a positive number: 0.5 is half-way to the nearest neighbor")
    U = unit_columns(X)
    cosines = U.T @ U
    np.fill_diagonal(cosines, -1.0)
    nearest = cosines.max(axis=1)
    if (nearest >= 1 - 1e-12).any():
        i = int(np.argmax(nearest))
        raise ValueError(f"points {i} and {int(np.argmax(cosines[i]))} lie on one ray: no threshold separates them")
    threshold = 1 - margin * (1 - nearest)
    gain = 1 / (1 - threshold)
    return gain[:, None] * U.T, -gain * threshold
