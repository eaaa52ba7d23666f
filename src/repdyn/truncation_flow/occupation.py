r"""Occupation-time midpoint scheme for the discontinuous flow on R^Q x O(Q), batched.

The right side jumps where a point crosses a coordinate plane, so schemes that sample the pattern lose their order.
Here 1[u > 0] is replaced by the fraction of the step in which u > 0, found by linear interpolation of u between the
ends of the step; the velocity is taken at the midpoint with these fractions, corrected twice; R moves by the Cayley
map, which keeps it orthogonal to rounding. Second order between and across crossings, first order while sliding.

Leading axes are batch: X (..., N, Q), w (..., N), yt (..., Q), R (..., Q, Q), beta (..., Q).
"""

from collections.abc import Callable

import numpy as np

from repdyn.truncation_flow.theory import separated
from repdyn.truncation_flow.theory.inputs import Array

Generator = Callable[[Array, Array, Array, Array], Array]
GENERATORS: dict[str, Generator] = {
    "corrected": separated.generator,
    "printed": separated.generator_as_printed,
}
CORRECTIONS = 2


def cayley(A: Array) -> Array:
    """Orthogonal matrix (1 - A/2)^{-1} (1 + A/2) of an antisymmetric A, second-order accurate for exp(A); batched."""
    one = np.eye(A.shape[-1])
    return np.linalg.solve(one - 0.5 * A, one + 0.5 * A)


def occupation(u0: Array, u1: Array) -> Array:
    """Fraction of the step in which u > 0, if u moves linearly from u0 to u1: (u0^+ + u1^+)/(|u0| + |u1|)."""
    crossing = (u0 > 0) != (u1 > 0)
    total = np.abs(u0) + np.abs(u1)
    fraction = (np.maximum(u0, 0) + np.maximum(u1, 0)) / np.where(crossing & (total > 0), total, 1.0)
    return np.where(crossing, fraction, (u0 > 0).astype(np.float64))


def occupation_step(
    X: Array, w: Array, yt: Array, R: Array, beta: Array, h: float, generator: Generator
) -> tuple[Array, Array]:
    """One step of length h; returns R and beta at its end."""
    u0, b0 = pre_activation(X, R, beta), residual_bias(R, beta, yt)
    H = (u0 > 0).astype(np.float64)
    dbeta, Omega = separated.bias_velocity(H, R, b0, w), generator(H, u0, b0, w)
    for _ in range(CORRECTIONS):
        R1, beta1 = cayley(h * Omega) @ R, beta + h * dbeta
        u1, b1 = pre_activation(X, R1, beta1), residual_bias(R1, beta1, yt)
        H, u, b = occupation(u0, u1), 0.5 * (u0 + u1), 0.5 * (b0 + b1)
        dbeta, Omega = separated.bias_velocity(H, 0.5 * (R + R1), b, w), generator(H, u, b, w)
    return cayley(h * Omega) @ R, beta + h * dbeta


def occupation_flow(
    X: Array,
    w: Array,
    yt: Array,
    R: Array,
    beta: Array,
    times: Array,
    *,
    step: float,
    formula: str = "corrected",
) -> tuple[Array, Array]:
    """States at the given times, starting at time 0; steps are at most `step` long and end on every output time.

    Returns:
        R (T, ..., Q, Q) and beta (T, ..., Q).
    """
    generator, now, rotations, biases = GENERATORS[formula], 0.0, [], []
    for time in times:
        count = int(np.ceil((time - now) / step - 1e-9))
        for _ in range(count):
            R, beta = occupation_step(X, w, yt, R, beta, (time - now) / count, generator)
        now = time
        rotations.append(R)
        biases.append(beta)
    return np.array(rotations), np.array(biases)


def pre_activation(X: Array, R: Array, beta: Array) -> Array:
    """U = R (x + beta), shape (..., N, Q)."""
    return (X + beta[..., None, :]) @ np.swapaxes(R, -1, -2)


def residual_bias(R: Array, beta: Array, yt: Array) -> Array:
    """B = R (beta + yt), shape (..., Q)."""
    return (R @ (beta + yt)[..., None])[..., 0]
