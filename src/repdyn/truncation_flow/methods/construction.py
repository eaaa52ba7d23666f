"""Explicit cluster separated truncations for clusters around the unit vectors of R^Q, every Q >= 2."""

import numpy as np

from repdyn.base.arrays import Array


def balanced_shift(Q: int) -> float:
    """Shift of labels toward the barycenter with equal margins, t* = Q (sqrt(m) - 1)/(2 m^{3/2}), m = Q - 1.

    For Q = 2 this would be 0; t = 1/2 is taken (t = 1 lets the two labels coincide).
    """
    _at_least_two(Q)
    m = Q - 1
    return 0.5 if Q == 2 else Q * (np.sqrt(m) - 1) / (2 * m**1.5)


def largest_radius(Q: int) -> float:
    """Largest radius of clusters around e_l that the construction separates: (sqrt(m) - 1)/(2m), 1/4 for Q = 2."""
    _at_least_two(Q)
    m = Q - 1
    return 0.25 if Q == 2 else (np.sqrt(m) - 1) / (2 * m)


def simplex_margins(Q: int, t: float) -> tuple[float, float]:
    """Margins of own and other cluster centers at beta = -yt: t sqrt(m)/Q, and the smaller of two distances."""
    m = Q - 1
    others = 1 / np.sqrt(m) - t * np.sqrt(m) / Q
    across = (1 - t * m / Q) / np.sqrt(m) - (1 / m if Q > 2 else 0.0)
    return t * np.sqrt(m) / Q, min(others, across) if Q > 2 else others


def simplex_rotations(Q: int) -> Array:
    """Rotations by pi/2 in the plane of p = e_l and q = (1 - e_l)/sqrt(m): R_l = I - pp^T - qq^T + pq^T - qp^T.

    R_l sends the axis from e_l to the barycenter onto the diagonal of the positive orthant; shape (Q, Q, Q).
    """
    _at_least_two(Q)
    eye = np.eye(Q)
    rotations = []
    for p in eye:
        q = (1 - p) / np.sqrt(Q - 1)
        rotations.append(eye - np.outer(p, p) - np.outer(q, q) + np.outer(p, q) - np.outer(q, p))
    return np.array(rotations)


def simplex_initial_data(Q: int, *, start: float = 0.0, shift: float | None = None) -> tuple[Array, Array, Array]:
    """Explicit R, beta(0), yt for clusters around e_1, ..., e_Q, every Q >= 2.

    yt_l = (1 - t) e_l + (t/Q)(1, .., 1); the apex starts at -beta_l(0) = e_l + a (yt_l - e_l).

    Args:
        Q: number of clusters and dimension.
        start: position a of the apex between the mean (0) and the label (1); negative for a start behind the mean.
        shift: t, the balanced one if not given.

    Returns:
        R (Q, Q, Q), beta (Q, Q), yt (Q, Q), one row per cluster.
    """
    t = balanced_shift(Q) if shift is None else shift
    means = np.eye(Q)
    yt = (1 - t) * means + t / Q
    return simplex_rotations(Q), -(means + start * (yt - means)), yt


def ball_clusters(means: Array, N: int, radius: float, generator: np.random.Generator) -> Array:
    """Points uniform in balls around the means, shape (K, N, Q).

    Ours: data for the clusters of Section 3.

    Args:
        means: centers, shape (K, Q), input units.
        N: points per cluster.
        radius: radius of the balls, input units.
        generator: source of the points.
    """
    K, Q = means.shape
    directions = generator.normal(size=(K, N, Q))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    lengths = radius * generator.uniform(size=(K, N, 1)) ** (1.0 / Q)
    return means[:, None, :] + lengths * directions


def _at_least_two(Q: int) -> None:
    if Q < 2:
        raise ValueError(f"Q: got {Q}; expected at least 2 clusters")
