r"""Discrete networks: layer steps, momenta, criticality, balancedness, spectra.

W_l, l = 1 .. L, shape (w, w + 1) with the bias in the last column or (w, w), maps A_{l-1} to
A_l = (1 - rho_l Lt) A_{l-1} + rho_l W_l S_{l-1}, Lt > 0. Stacked, as arguments: A of shape (L + 1, w, N), B the same
with B_l = -(1 / lam) dC/dA_l, W (L, w, w + 1) or (L, w, w), rho (L,).
Paper: Hamiltonian Mechanics of Feature Learning, Sections 1.5 and 3, Appendix A.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite, positive
from repdyn.base.arrays import Array
from repdyn.leaky_resnets.theory.arguments import as_matrix, effective_depth_of
from repdyn.leaky_resnets.theory.identity_cost import activation

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

Scheme = Literal["equidistant", "irregular"]
KINK = 1e-4  # |A| below KINK times its root mean square counts as a kink
SLOWEST = 1e-6  # relative speed of a layer, over the fastest, below which adaptive steps grow no more


def layer_steps(scheme: Scheme, L: int, a: float = 0.0) -> Float[Array, "L"]:
    r"""Layer steps rho of sum 1.

    Equidistant: 1 / L. Irregular: in proportion to 1 + a (1/4 - |(l - 1/2) / L - 1/2|), small at both ends.

    Args:
        scheme: "equidistant" or "irregular" ("adaptive" steps come from `adapt_layer_steps`).
        L: number of layers, at least 1.
        a: how irregular, 0 <= a < 4; the paper's range is [0, 1).

    Raises:
        ValueError: unknown scheme, L < 1, or a out of range.

    Example:
        >>> layer_steps("irregular", 4, a=1.0).round(3).tolist()
        [0.219, 0.281, 0.281, 0.219]
    """
    if L < 1 or not 0 <= a < 4:
        raise ValueError(f"L = {L} and a = {a}; give L >= 1 and 0 <= a < 4, so that all steps are positive")
    if scheme == "equidistant":
        return np.full(L, 1 / L)
    if scheme != "irregular":
        raise ValueError(f"scheme {scheme!r} is not one of equidistant, irregular; adaptive steps start equidistant")
    centers = (np.arange(L) + 0.5) / L
    rho = 1 + a * (0.25 - np.abs(centers - 0.5))
    return rho / rho.sum()


def irregular_steps_as_printed(L: int, a: float) -> Float[Array, "L"]:
    """rho_l = 1/L + (a/L) (1/4 - |l/L - 1/2|) (Section 3): of sum 1 for even L only, and not symmetric."""
    return (1 + a * (0.25 - np.abs(np.arange(1, L + 1) / L - 0.5))) / L


def relative_speeds(A: Float[ArrayLike, "L+1 w N"], rho: Float[ArrayLike, "L"]) -> Float[Array, "L"]:
    r"""c_l = |A_l - A_{l-1}| / (rho_l |A_l|) (Section 3).

    Raises:
        ValueError: a representation is 0 or not finite, or the shapes do not fit.
    """
    A, rho = finite(A, "A"), finite(rho, "rho")
    if A.ndim != 3 or rho.shape != (len(A) - 1,):
        raise ValueError(f"A has shape {A.shape} and rho {rho.shape}; give (L + 1, w, N) and (L,)")
    sizes = np.linalg.norm(A[1:], axis=(1, 2))
    if not sizes.all():
        raise ValueError(f"A is 0 at layer {int(np.argmin(sizes)) + 1}, where relative speeds are not defined")
    return np.linalg.norm(np.diff(A, axis=0), axis=(1, 2)) / (rho * sizes)


def adapt_layer_steps(
    A: Float[ArrayLike, "L+1 w N"], rho: Float[ArrayLike, "L"], damping: float = 0.5, largest: float | None = None
) -> Float[Array, "L"]:
    r"""Steps that even out |A_l - A_{l-1}| / |A_l|: rho_l <- c_l^{-1} / sum c^{-1}, damped and capped (Section 3).

    Args:
        A: representations.
        rho: present steps, of sum 1.
        damping: weight of the present steps in the new ones; 0 is the paper's rule.
        largest: cap on a step, e.g. 1 / Lt; what is cut goes to the other layers in proportion. None: no cap.

    Raises:
        ValueError: as `relative_speeds`; damping outside [0, 1); a cap below 1 / L.
    """
    if not 0 <= damping < 1:
        raise ValueError(f"damping is {damping}; give a number in [0, 1)")
    speeds = relative_speeds(A, rho)
    slowness = 1 / np.maximum(speeds, SLOWEST * (speeds.max() or 1.0))  # all at rest: equal steps
    new = damping * np.asarray(rho, float) + (1 - damping) * slowness / slowness.sum()
    return _capped(new / new.sum(), largest)


def _capped(rho: Array, largest: float | None) -> Array:
    if largest is None:
        return rho
    if largest * len(rho) < 1:
        raise ValueError(f"cap {largest:g} on {len(rho)} steps of sum 1; take more layers or a cap of at least 1/L")
    over = rho > largest
    while over.any():
        free = (1 - largest * over.sum()) / max(rho[~over].sum(), np.finfo(float).tiny)
        rho = np.where(over, largest, rho * free)
        fresh = ~over & (rho > largest)
        if not fresh.any():
            break
        over |= fresh
    return rho


def propagate(
    W: Float[ArrayLike, "L w s"], A0: Float[ArrayLike, "w N"], rho: Float[ArrayLike, "L"], effective_depth: float
) -> Float[Array, "L+1 w N"]:
    r"""A_0 .. A_L by A_l = (1 - rho_l Lt) A_{l-1} + rho_l W_l S_{l-1} (Section 3).

    Lt = 0 is a plain ResNet, equidistant steps with Lt = L a fully-connected network.

    Args:
        W: weights, shape (L, w, w + 1) with bias or (L, w, w).
        A0: input.
        rho: layer steps, sum 1.
        effective_depth: Lt >= 0.

    Raises:
        ValueError: shapes do not fit, a value is not finite, or Lt < 0.
    """
    W, rho = finite(W, "W"), finite(rho, "rho")
    if effective_depth < 0:
        raise ValueError(f"effective_depth is {effective_depth}; give 0 for a plain ResNet or a number above 0")
    A = np.empty((len(W) + 1, *np.shape(A0)))
    A[0] = as_matrix(A0, "A0", (W.shape[1], None))
    for layer, (weight, step) in enumerate(zip(W, rho, strict=True)):
        S = activation(A[layer], W.shape[2] == W.shape[1] + 1)
        A[layer + 1] = (1 - step * effective_depth) * A[layer] + step * weight @ S
    return A


def end_momentum(residual: Float[ArrayLike, "w N"], penalty: float) -> Float[Array, "w N"]:
    r"""B_1 = (2 / (lam N)) (f* - A_1) for C = |f* - A_1|^2 / N (Section 1.5, whose C = |f* - A|^2 / 2 does not fit).

    Args:
        residual: f* - A_1.
        penalty: lam > 0.
    """
    residual = as_matrix(residual, "residual")
    return 2 / (positive(penalty, "penalty") * residual.shape[1]) * residual


def momenta(
    W: Float[ArrayLike, "L w s"],
    A: Float[ArrayLike, "L+1 w N"],
    end: Float[ArrayLike, "w N"],
    rho: Float[ArrayLike, "L"],
    effective_depth: float,
) -> Float[Array, "L+1 w N"]:
    r"""B_0 .. B_L from B_L = end: B_{l-1} = (1 - rho_l Lt) B_l + rho_l sigma'(A_{l-1}) o [V_l^T B_l] (Section 1.5).

    Args:
        W: weights, shape (L, w, w + 1) with bias or (L, w, w).
        A: representations.
        end: momentum B_L.
        rho: layer steps, sum 1.
        effective_depth: Lt > 0.
    """
    W, A, Lt = finite(W, "W"), finite(A, "A"), effective_depth_of(effective_depth)
    rho, B = np.asarray(rho), np.empty_like(A)
    B[-1] = as_matrix(end, "end", A.shape[1:])
    for layer in range(len(W) - 1, -1, -1):
        pulled = W[layer, :, : A.shape[1]].T @ B[layer + 1]
        B[layer] = (1 - rho[layer] * Lt) * B[layer + 1] + rho[layer] * np.where(A[layer] > 0, pulled, 0.0)
    return B


class Criticality(NamedTuple):
    """How far a network is from a critical point.

    Attributes:
        relative: |W - Lt B S^T| / |W| over all layers, each weighed by its step.
        by_layer: the same per layer, shape (L,).
        kinks: share of nonzero entries of A_0 .. A_{L-1} within 1e-4 of their layer's root mean square.
    """

    relative: float
    by_layer: Array
    kinks: float


def criticality(
    W: Float[ArrayLike, "L w s"],
    A: Float[ArrayLike, "L+1 w N"],
    B: Float[ArrayLike, "L+1 w N"],
    rho: Float[ArrayLike, "L"],
    effective_depth: float,
) -> Criticality:
    r"""Distance from W_l = Lt B_l S_{l-1}^T, which holds at critical points (Section 1.5).

    The objective's gradient is rho_l (lam / Lt) (W_l - Lt B_l S_{l-1}^T). Padded entries, exactly 0, are no kinks.

    Args:
        W: weights, shape (L, w, w + 1) with bias or (L, w, w).
        A: representations.
        B: momenta.
        rho: layer steps, sum 1.
        effective_depth: Lt > 0.
    """
    W, A, B, Lt = finite(W, "W"), finite(A, "A"), finite(B, "B"), effective_depth_of(effective_depth)
    bias = W.shape[2] == W.shape[1] + 1
    aligned = np.stack([Lt * b @ activation(a, bias).T for a, b in zip(A[:-1], B[1:], strict=True)])
    off, size = np.sum((W - aligned) ** 2, axis=(1, 2)), np.sum(W**2, axis=(1, 2))
    return Criticality(float(np.sqrt(np.dot(rho, off) / np.dot(rho, size))), np.sqrt(off / size), kink_share(A[:-1]))


def kink_share(A: Float[ArrayLike, "L w N"]) -> float:
    """Share of the nonzero entries of A, shape (L, w, N), within 1e-4 of their layer's root mean square.

    Ours: how near a network is to ReLU's kinks, where gradients jump.
    """
    size = np.abs(finite(A, "A"))
    scale = np.sqrt(np.mean(size**2, axis=(1, 2), keepdims=True))
    return float(np.sum((size > 0) & (size < KINK * scale)) / max(np.sum(size > 0), 1))


class Balance(NamedTuple):
    """Squared weights per layer against what their biases predict, each of shape (L,)."""

    norm_sq: Array
    predicted: Array
    predicted_as_printed: Array


def balancedness(W: Float[ArrayLike, "L w s"], rho: Float[ArrayLike, "L"], effective_depth: float) -> Balance:
    r"""|W_p|^2 = |W_0|^2 + 2 Lt int_0^p |b_q|^2 dq at critical points; Proposition 9 prints the factor Lt.

    Discrete networks obey it up to O(1 / L). Integrals run from the middle of the first layer to the middle of each.
    """
    W, rho, Lt = finite(W, "W"), finite(rho, "rho"), effective_depth_of(effective_depth)
    norm_sq = np.sum(W**2, axis=(1, 2))
    rates = rho * np.sum(W[:, :, W.shape[1] :] ** 2, axis=(1, 2))
    gained = np.cumsum(rates) - (rates[0] + rates) / 2
    return Balance(norm_sq, norm_sq[0] + 2 * Lt * gained, norm_sq[0] + Lt * gained)


def momentum_identity(
    W: Float[ArrayLike, "L w s"],
    A: Float[ArrayLike, "L+1 w N"],
    B: Float[ArrayLike, "L+1 w N"],
    rho: Float[ArrayLike, "L"],
) -> Float[Array, "L"]:
    r"""<A_l, B_l> - <A_{l-1}, B_{l-1}> - rho_l b_l . (B_l 1): 0 for any weights, critical or not.

    Ours: a check of `momenta`, in the manner of Appendix A.3.

    Arguments as in `criticality`.
    """
    W, A, B = finite(W, "W"), finite(A, "A"), finite(B, "B")
    products = np.sum(A * B, axis=(1, 2))
    pulled = np.einsum("lij,li->lj", W[:, :, W.shape[1] :], B[1:].sum(axis=2)).sum(axis=1)
    return np.diff(products) - np.asarray(rho, float) * pulled


class Spectra(NamedTuple):
    """Singular values, falling: of A_0 .. A_L, shape (L + 1, min(w, N)), and of W_1 .. W_L, shape (L, w)."""

    representations: Array
    weights: Array


def bottleneck_spectra(A: Float[Array, "L+1 w N"], W: Float[Array, "L w s"], centered: bool = False) -> Spectra:
    """Singular values of representations and weights (Figures 1b and 2b).

    `centered` removes the mean over points from A, and from W_l the direction of the mean of S_{l-1}: with positive
    representations or a bias both carry a constant direction beside the k of the task.
    """
    A, W = finite(A, "A"), finite(W, "W")
    if centered:
        bias = W.shape[2] == W.shape[1] + 1
        means = np.stack([activation(part, bias).mean(axis=1) for part in A[:-1]])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        W = W - np.einsum("lij,lj,lk->lik", W, means, means)
        A = A - A.mean(axis=2, keepdims=True)
    of_A, of_W = (cast("Array", np.linalg.svd(stack, compute_uv=False)) for stack in (A, W))
    return Spectra(of_A, of_W)
