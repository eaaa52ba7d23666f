r"""Random layers with the components of batch normalization switched on and off.

One layer is Z = W X, then recentering (RC), rescaling (RS) and the non-linearity (NL), eqs. (1)-(4) of Nachum,
Bondaschi, Gastpar and Khina, "Batch Normalization Decomposed". A batch X is k x n: a column is a data point,
a row is a neuron, and all statistics of a neuron are taken over the batch.

Two conventions that the paper leaves open. `rescale="std"` divides by sigma of eq. (2), the deviation about
the mean, also where the mean is not subtracted; `rescale="rms"` divides by sqrt(mean z^2). With recentering
the two coincide; without it only "rms" gives the orthonormal limit of the linear network and the 60 degrees
of Figure 5(a).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

Rescale = Literal["rms", "std"] | None


def as_batch(X: Float[Array, "k n"]) -> Float[Array, "k n"]:
    """Check a batch and return it as a float64 matrix.

    Ours: a check; the batch is that of eqs. (1)-(4).

    Args:
        X: batch, one column per data point.

    Raises:
        ValueError: not two-dimensional, no row, fewer than two columns, or a value that is not finite.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"got a batch of {X.ndim} dimensions, expected a matrix (k, n): one column per data point")
    if X.shape[0] < 1 or X.shape[1] < 2:
        raise ValueError(
            f"got a batch of shape {X.shape}, expected (k, n) with k >= 1 and n >= 2: "
            "batch statistics of one data point are empty, pass at least two columns"
        )
    if not np.isfinite(X).all():
        bad = np.unique(np.argwhere(~np.isfinite(X))[:, 1])
        raise ValueError(f"got values that are not finite in columns {bad.tolist()}: drop or repair these points")
    return X


def bn_components(
    X: Float[Array, "k n"], W: Float[Array, "d k"], recenter: bool, rescale: Rescale, relu: bool
) -> Float[Array, "d n"]:
    r"""One layer X' = F((W X - mu) / s), eqs. (1)-(4), with each component optional.

    A neuron that is constant over the batch has sigma = 0; with recentering its row is returned as zero.
    "Zero" means below the rounding error of the product, eps k ||w|| max ||x_i||; nothing is ever added to
    sigma.

    Args:
        X: batch.
        W: weights.
        recenter: subtract the mean mu over the batch from every row.
        rescale: None, "rms" (sqrt of the mean square of the row as it is divided) or "std" (sigma of eq.
            (2)).
        relu: apply F = ReLU; without it F is the identity.

    Returns:
        Next batch.

    Raises:
        ValueError: bad batch, weights that do not fit, unknown `rescale`, or without recentering a row whose
            scale is zero (all zero for "rms", constant for "std").
    """
    X = as_batch(X)
    W = np.asarray(W, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] < 1 or W.shape[1] != X.shape[0]:
        raise ValueError(f"got weights of shape {W.shape}, expected (d, {X.shape[0]}) to act on a batch {X.shape}")
    rounding = _rounding(W, X)
    return _components(W @ X, rounding, recenter, rescale, relu)


def random_layer(
    X: Float[Array, "k n"], width: int, rng: np.random.Generator, *, recenter: bool, rescale: Rescale, relu: bool
) -> Float[Array, "d n"]:
    r"""A layer with i.i.d. N(0, 1) weights, exact in law in O(width n min(k, n)) operations.

    With X = Q R (Q with orthonormal columns) W Q is again i.i.d. N(0, 1), so W X = N R in law with N of shape
    (width, min(k, n)): the k columns of W are never drawn. QR of X, not Cholesky of X'X, keeps all digits of
    a batch that has nearly collapsed. Another variance of the weights only multiplies the result.

    Ours: a sampler for the layer of eqs. (1)-(4) with the random weights of Section II.

    Args:
        X: batch.
        width: number d of neurons.
        rng: source of the weights.
        recenter: see `bn_components`.
        rescale: see `bn_components`.
        relu: see `bn_components`.

    Returns:
        Next batch, shape (width, n).

    Raises:
        ValueError: as `bn_components`, and for width < 1.
    """
    R = cast("Array", np.linalg.qr(as_batch(X), mode="r"))
    N = rng.standard_normal((_at_least_one(width), R.shape[0]))
    return _components(N @ R, _rounding(N, R), recenter, rescale, relu)


def random_layer_naive(
    X: Float[Array, "k n"], width: int, rng: np.random.Generator, *, recenter: bool, rescale: Rescale, relu: bool
) -> Float[Array, "d n"]:
    """The same layer as `random_layer`, eqs. (1)-(4), with all width x k weights drawn; same law and errors, slower.

    Arguments as in `random_layer`.
    """
    X = as_batch(X)
    W = rng.standard_normal((_at_least_one(width), X.shape[0]))
    return bn_components(X, W, recenter, rescale, relu)


def propagate(
    X: Float[Array, "k n"],
    width: int,
    depth: int,
    rng: np.random.Generator,
    *,
    recenter: bool,
    rescale: Rescale,
    relu: bool,
    record: Iterable[int] | None = None,
) -> Float[Array, "_ n"] | list[Float[Array, "_ n"]]:
    """Send a batch through `depth` random layers of equal width.

    After every layer the whole batch is divided by one power of two that brings its largest entry into [1/2,
    1). Layers are homogeneous, so this changes no angle and no ratio of norms, not even in the last bit, and
    nothing overflows or underflows at any depth.

    Ours: eqs. (1)-(4) layer after layer.

    Args:
        X: batch; the input is layer 0.
        width: number d of neurons of each layer.
        depth: number of layers, 0 returns the input.
        rng: source of the weights.
        recenter: see `bn_components`.
        rescale: see `bn_components`.
        relu: see `bn_components`.
        record: layers to return, in any order, each in 0..depth; None for the last layer alone.

    Returns:
        The last batch, shape (width, n), or the list of the batches at the layers of `record`, in that order.

    Raises:
        ValueError: as `random_layer`, for depth < 0, and for a recorded layer outside 0..depth.
    """
    X = as_batch(X)
    if depth < 0:
        raise ValueError(f"got depth {depth}, expected 0 (the input) or more layers")
    wanted = [depth] if record is None else [int(layer) for layer in record]
    if any(layer < 0 or layer > depth for layer in wanted):
        raise ValueError(f"got record {wanted}, expected layers between 0 (the input) and depth = {depth}")
    kept = {0: X}
    for layer in range(1, depth + 1):
        X = _to_unit_range(random_layer(X, width, rng, recenter=recenter, rescale=rescale, relu=relu))
        if layer in wanted:
            kept[layer] = X
    return kept[depth] if record is None else [kept[layer] for layer in wanted]


def _components(Z: Array, rounding: Array, recenter: bool, rescale: Rescale, relu: bool) -> Array:
    centered = Z - Z.mean(axis=1, keepdims=True)
    out = centered if recenter else Z
    if rescale is not None:
        out = _rescaled(out, centered, rounding, recenter, rescale)
    return np.maximum(out, 0.0) if relu else out


def _rescaled(Z: Array, centered: Array, rounding: Array, recenter: bool, rescale: str) -> Array:
    if rescale not in ("rms", "std"):
        raise ValueError(f'got rescale={rescale!r}, expected None, "rms" or "std"')
    measured = Z if rescale == "rms" else centered
    scale = np.sqrt(np.mean(measured**2, axis=1, keepdims=True))
    silent = scale <= rounding
    if silent.any() and not recenter:
        rows = np.flatnonzero(silent)
        kind = "all zero" if rescale == "rms" else "constant over the batch"
        raise ValueError(
            f"got {rows.size} of {len(Z)} neurons {kind} (first: row {rows[0]}), no {rescale} scale: "
            "the batch has collapsed, use fewer layers or more points, or recenter (then such rows are zero)"
        )
    return np.where(silent, 0.0, Z / np.where(silent, 1.0, scale))


def _rounding(W: Array, X: Array) -> Array:
    largest = np.linalg.norm(X, axis=0).max()
    return np.finfo(np.float64).eps * X.shape[0] * np.linalg.norm(W, axis=1, keepdims=True) * largest


def _to_unit_range(X: Array) -> Array:
    _, exponent = np.frexp(np.abs(X).max())
    return np.ldexp(X, -exponent)


def _at_least_one(width: int) -> int:
    if width < 1:
        raise ValueError(f"got width {width}, expected at least one neuron")
    return width
