r"""Collapsed clusters with a trained output layer (Section 8): the matrix flow, its propagators, Euler for contrast.

State of one run: B, W and, where asked, the propagators U_B, U_W from time 0 of a given pair of Gram matrices.
"""

from collections.abc import Callable

import numpy as np
import scipy

from repdyn.base.arrays import Array
from repdyn.truncation_flow.theory import standard_cost

Rates = Callable[[Array, Array], tuple[Array, Array]]
RELATIVE, ABSOLUTE = 1e-12, 1e-14


def collapsed_trajectory(B: Array, W: Array, Y: Array, times: Array) -> tuple[Array, Array]:
    """Solution of (8.6)-(8.7) at the given times by DOP853, relative tolerance 1e-12.

    Args:
        B: pulled-back biases as columns at time 0, shape (Q, Q), input units.
        W: output weight at time 0, shape (Q, Q), output over input units.
        Y: labels as columns, shape (Q, Q), output units.
        times: output times, increasing, shape (T,).

    Returns:
        B and W, each (T, Q, Q).
    """
    B, W, *_ = trajectory_with_propagators(B, W, Y, times, standard_cost.propagator_rates)
    return B, W


def trajectory_with_propagators(
    B: Array, W: Array, Y: Array, times: Array, rates: Rates
) -> tuple[Array, Array, Array, Array]:
    """Solution of (8.6)-(8.7) with dU_B = -U_B G_B, dU_W = -G_W U_W from the identity.

    Args:
        B: pulled-back biases as columns at time 0, shape (Q, Q), input units.
        W: output weight at time 0, shape (Q, Q), output over input units.
        Y: labels as columns, shape (Q, Q), output units.
        times: output times, increasing, shape (T,).
        rates: gives (G_B, G_W), each (Q, Q), of B and W.

    Returns:
        B, W, U_B, U_W, each (T, Q, Q).
    """
    Q = len(B)

    def rate(s: float, flat: Array) -> Array:
        b, w, u_b, u_w = flat.reshape(4, Q, Q)
        gram_b, gram_w = rates(b, w)
        return np.concatenate(
            [part.ravel() for part in (*standard_cost.collapsed_flow(b, w, Y), -u_b @ gram_b, -gram_w @ u_w)]
        )

    start = np.concatenate([part.ravel() for part in (B, W, np.eye(Q), np.eye(Q))])
    span = (0.0, float(times[-1]))
    solution = scipy.integrate.solve_ivp(rate, span, start, method="DOP853", t_eval=times, rtol=RELATIVE, atol=ABSOLUTE)
    return tuple(solution.y.T.reshape(-1, 4, Q, Q).swapaxes(0, 1))


def euler_trajectory(B: Array, W: Array, Y: Array, h: float, steps: int) -> tuple[Array, Array]:
    """The same flow by Euler steps of length h, which let the integral of motion drift by O(h); (steps + 1, Q, Q).

    Ours: a discretization of (8.6)-(8.7).

    Args:
        B: pulled-back biases as columns at time 0, shape (Q, Q), input units.
        W: output weight at time 0, shape (Q, Q), output over input units.
        Y: labels as columns, shape (Q, Q), output units.
        h: length of a step, time.
        steps: number of steps.
    """
    path = [(B, W)]
    for _ in range(steps):
        dB, dW = standard_cost.collapsed_flow(B, W, Y)
        B, W = B + h * dB, W + h * dW
        path.append((B, W))
    return np.array([B for B, _ in path]), np.array([W for _, W in path])


def definite_start(Q: int, sign: str, generator: np.random.Generator) -> tuple[Array, Array]:
    """Random B, W with I = B B^T - W^T W positive, negative or of no definite sign.

    W, B = 0.6 N(0, 1); the dominant matrix gets singular values in (1.5, 2.5), the other is scaled by 0.3.

    Starts for Section 8, whose integral of motion is I.
    """
    B, W = 0.6 * generator.normal(size=(2, Q, Q))
    if sign == "indefinite":
        return B, W
    left, _, right = np.linalg.svd(B if sign == "positive" else W)
    large = (left * generator.uniform(1.5, 2.5, size=Q)) @ right
    return (large, 0.3 * W) if sign == "positive" else (0.3 * B, large)


def duhamel(B: Array, W: Array, Y: Array, U_B: Array, U_W: Array, times: Array, sign: float) -> tuple[Array, Array]:
    """Variation of constants (8.16), (8.17) at the last time by the trapezoid rule.

    B(s) = U_W(s) B(0) -+ int U_W(s, s') W^T Y ds', W(s) = W(0) U_B(s) -+ int Y B^T U_B(s, s') ds', with the
    propagators of (8.9) as printed, U(s, s') from U(s, 0) and U(s', 0)^{-1}.

    Args:
        B: biases along the path, shape (T, Q, Q), input units.
        W: output weights along the path, shape (T, Q, Q), output over input units.
        Y: labels as columns, shape (Q, Q), output units.
        U_B: propagator U_B(s, 0), shape (T, Q, Q).
        U_W: propagator U_W(s, 0), shape (T, Q, Q).
        times: times of the path, shape (T,).
        sign: -1 corrected, +1 as printed.

    Returns:
        B and W at times[-1].
    """
    from_W = U_W[-1] @ np.linalg.inv(U_W) @ W.mT @ Y
    from_B = Y @ B.mT @ np.linalg.inv(U_B) @ U_B[-1]
    return (
        U_W[-1] @ B[0] + sign * np.trapezoid(from_W, times, axis=0),
        W[0] @ U_B[-1] + sign * np.trapezoid(from_B, times, axis=0),
    )
