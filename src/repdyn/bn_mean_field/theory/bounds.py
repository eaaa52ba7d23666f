"""Bounds of the proof of Theorem 4 and the discrete-step laws of section 4.3, printed and corrected.

Ma and Ying, eqs. (18), (19), the equicontinuity display, and section 4.3. Times are mean-field times, steps
are mean-field steps h (the learning rate of the parameters is h m).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base.arguments import finite, not_negative, positive, refuse
from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float


def growth_constants(activation_bound: float, loss_slope_at_zero: float, loss_curvature: float) -> tuple[float, float]:
    """A and B with |a'| <= A + B r on M_r: A = M E|l'(0, y)|, B = L_l' M^2 (before eq. 18).

    The printed text has |l'(0)|, which hides y: the mean over the data is enough, since |a'| <= E|l'(f, y)| M.

    Args:
        activation_bound: M = |sigma(0)| + L_sigma C_b C_x.
        loss_slope_at_zero: E|l'(0, y)|, or a bound of it.
        loss_curvature: Lipschitz constant of l' in f.

    Returns:
        A and B.
    """
    M = float(not_negative(activation_bound, "activation_bound"))
    slope = float(not_negative(loss_slope_at_zero, "loss_slope_at_zero"))
    return M * slope, float(not_negative(loss_curvature, "loss_curvature")) * M**2


def exit_time(r: Float[ArrayLike, "*shape"], r0: float, A: float, B: float) -> Float[Array, "*shape"]:
    """Lower bound (18) of the time to leave [-r, r] x Omega: (r - r0) / (A + B r).

    Args:
        r: radii > r0.
        r0: radius of the initial support.
        A: constant of `growth_constants`.
        B: constant of `growth_constants`.

    Returns:
        Bounds in mean-field time, shape of r.
    """
    r, A, B = _arguments(r, r0, A, B)
    return (r - r0) / (A + B * r)


def exit_time_by_stages(stages: int, r0: float, A: float, B: float) -> float:
    """Partial sum of eq. (19): sum_{i=1}^{stages} r0 / (A + B (i + 1) r0) bounds t at r = (stages + 1) r0.

    Args:
        stages: number of terms, at least 1.
        r0: radius of the initial support, units of a.
        A: constant of `growth_constants`.
        B: constant of `growth_constants`.
    """
    if stages != int(stages) or stages < 1:
        raise refuse("stages", repr(stages), "a whole number of 1 or more")
    radii, A, B = _arguments(r0 * np.arange(2, int(stages) + 2), r0, A, B)
    return float(np.sum(r0 / (A + B * radii)))


def exit_time_by_gronwall(r: Float[ArrayLike, "*shape"], r0: float, A: float, B: float) -> Float[Array, "*shape"]:
    """The sharper bound log((A + B r)/(A + B r0)) / B from Gronwall's lemma (not in the paper).

    At B = 0 the bound is its limit (r - r0)/A.

    Ours: a sharper form of (18).

    Args:
        r: radii > r0, any shape.
        r0: radius of the initial support, units of a.
        A: constant of `growth_constants`.
        B: constant of `growth_constants`.
    """
    r, A, B = _arguments(r, r0, A, B)
    return np.log1p(B * (r - r0) / (A + B * r0)) / B if B > 0 else (r - r0) / A


def equicontinuity_bound(losses: Float[ArrayLike, "n"], times: Float[ArrayLike, "n"]) -> Float[Array, "n n"]:
    r"""W_2(rho_t, rho_t')^2 <= (t' - t)(L(t) - L(t')), all pairs t < t'.

    Corrects the display before the Arzela-Ascoli step of Theorem 4, which has L(t') - L(t) <= 0.

    Args:
        losses: L at the times.
        times: increasing times.

    Returns:
        Bounds on the squared distance, shape (n, n), row t, column t', NaN where t' <= t.
    """
    L, t = _loss_curve(losses, times)
    return lags(t) * (L[:, None] - L[None, :])


def equicontinuity_bound_as_printed(losses: Float[ArrayLike, "n"], times: Float[ArrayLike, "n"]) -> Float[Array, "n n"]:
    """The last line of that display as printed: (t' - t) L(t'); arguments as above.

    From the proof of Theorem 4.
    """
    L, t = _loss_curve(losses, times)
    return lags(t) * L[None, :]


def lags(times: Float[Array, "n"]) -> Float[Array, "n n"]:
    """Differences t' - t of all pairs of times t < t', row t, column t', NaN elsewhere.

    Ours: the factor of the bounds in the proof of Theorem 4.
    """
    later = times[None, :] - times[:, None]
    return np.where(later > 0, later, np.nan)


def bounded_lipschitz_constant(r: float, bound: float, slope: float, condition: float) -> float:
    r"""C with |int a sigma(bbar^T x) d(rho - rho')| <= C ||rho - rho'||_BL on M_r, before eq. (20).

    The larger of the supremum r M and the Lipschitz constant of a sigma(bbar^T x) on M,
    sqrt(M^2 + (r L C_b C_x (k+1)/(2 sqrt k))^2): a step of bbar of length 1 in G is at most C_b (k+1)/(2 sqrt k) long.

    Args:
        r: bound of |a|.
        bound: M = |sigma(0)| + L_sigma C_b C_x.
        slope: L_sigma C_b C_x.
        condition: condition number k of Sigma.
    """
    stretch = (condition + 1) / (2 * np.sqrt(condition))
    return float(max(r * bound, np.hypot(bound, r * slope * stretch)))


def bounded_lipschitz_constant_as_printed(r: float, bound: float) -> float:
    """The supremum r M alone, as printed in the display before eq. (20)."""
    return float(r * bound)


def first_step_norm(
    radius: Float[ArrayLike, "*#shape"], gradient_norm: Float[ArrayLike, "*#shape"], step: Float[ArrayLike, "*#shape"]
) -> Float[Array, "*shape"]:
    """Norm after one step of descent: r_1 = sqrt(r^2 + (h g / r)^2), as the gradient is tangent (4.3).

    Args:
        radius: r = ||b|| before the step, > 0.
        gradient_norm: g, norm of the b-velocity at radius 1 in the same direction.
        step: mean-field step h.

    Returns:
        Norms, broadcast shape.
    """
    r = positive(radius, "radius", "at b = 0 the model is undefined")
    return np.hypot(r, not_negative(step, "step") * not_negative(gradient_norm, "gradient_norm") / r)


def critical_radius(
    gradient_norm: Float[ArrayLike, "*#shape"], step: Float[ArrayLike, "*#shape"]
) -> Float[Array, "*shape"]:
    """r* = sqrt(h g): below it, and only there, "the smaller initially, the bigger after" (section 4.3).

    Example:
        >>> critical_radius([0.25, 1.0], 0.01).round(3).tolist()
        [0.05, 0.1]
    """
    return np.sqrt(not_negative(step, "step") * not_negative(gradient_norm, "gradient_norm"))


def effective_angular_rate(
    step: Float[ArrayLike, "*#shape"], radius: Float[ArrayLike, "*#shape"]
) -> Float[Array, "*shape"]:
    """Step of the direction, h / r^2: what the norm of a batch-normalized neuron does to its learning rate.

    Ours: the law behind Section 4.3.

    Args:
        step: mean-field step h.
        radius: r = ||b|| > 0.

    Returns:
        Rates, broadcast shape.
    """
    r = positive(radius, "radius", "at b = 0 the model is undefined")
    return not_negative(step, "step") / r**2


def _arguments(r: ArrayLike, r0: float, A: float, B: float) -> tuple[Array, float, float]:
    r, A, B = finite(r, "r"), float(not_negative(A, "A")), float(not_negative(B, "B"))
    if r.size == 0 or (r <= r0).any() or r0 <= 0:
        raise ValueError(f"r is {r.min(initial=np.inf):.3g}, r0 {r0:.3g}; expected r > r0 > 0")
    if A == B == 0:
        raise ValueError("A and B are both 0; then no particle moves and every exit time is infinite")
    return r, A, B


def _loss_curve(losses: ArrayLike, times: ArrayLike) -> tuple[Array, Array]:
    L, t = finite(losses, "losses"), finite(times, "times")
    if L.ndim != 1 or L.shape != t.shape or (np.diff(t) <= 0).any():
        raise ValueError(f"losses {L.shape} and times {t.shape} must be 1-d, of equal length, times increasing")
    return L, t
