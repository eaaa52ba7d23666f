"""Exact 2-Wasserstein distances between particle systems on M, eq. (16), by network simplex.

The cost is exact too: M is a round cylinder (`theory.manifold.geodesic_distance`). Ma and Ying, section 3.
"""

import os

import numpy as np
import scipy
from numpy.typing import ArrayLike

from repdyn.base.arguments import one_of
from repdyn.base.arrays import Array
from repdyn.bn_mean_field.theory import arguments
from repdyn.bn_mean_field.theory.manifold import geodesic_distance, normalize

METRICS = ("manifold", "chord")
Measure = tuple[ArrayLike, ArrayLike]


def wasserstein2(measure1: Measure, measure2: Measure, cov: ArrayLike, metric: str = "manifold") -> float:
    r"""W_2 = (min_gamma sum dist^2 gamma)^(1/2) of two systems of equally weighted particles, eq. (16).

    Args:
        measure1: output weights (m,) and inner weights (m, d).
        measure2: output weights (n,) and inner weights (n, d).
        cov: covariance Sigma, shape (d, d).
        metric: "manifold", the distance of M, or "chord", the Euclidean one of (a, bbar).

    Returns:
        The distance, exact to the rounding of the linear program.
    """
    cost = squared_cost(measure1, measure2, cov, metric)
    m, n = cost.shape
    if m == n:
        rows, columns = scipy.optimize.linear_sum_assignment(cost)
        return float(np.sqrt(cost[rows, columns].mean()))
    for backend in ("PYTORCH", "TENSORFLOW", "JAX", "CUPY"):  # saves POT the import of frameworks that it finds
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{backend}", "1")
    import ot  # takes a second, which systems of equal size need not pay

    value, log = ot.emd2(np.full(m, 1 / m), np.full(n, 1 / n), cost, numItermax=10_000_000, log=True)
    if log["warning"] is not None:
        raise RuntimeError(f"optimal transport did not converge: {log['warning']}")
    return float(np.sqrt(max(value, 0.0)))


def squared_cost(measure1: Measure, measure2: Measure, cov: ArrayLike, metric: str = "manifold") -> Array:
    """Squared distances of all pairs, the cost of eq. (16).

    Arguments as in `wasserstein2`.

    Returns:
        Costs, shape (m, n).
    """
    cov = arguments.covariance(cov)
    (a1, b1), (a2, b2) = (arguments.particles(a, b, len(cov)) for a, b in (measure1, measure2))
    if one_of(metric, METRICS, "metric") == "manifold":
        return geodesic_distance(a1, b1, a2, b2) ** 2
    apart = normalize(b1, cov)[:, None, :] - normalize(b2, cov)[None, :, :]
    return (a1[:, None] - a2[None, :]) ** 2 + np.sum(apart**2, axis=-1)


def coupled_distance(measure1: Measure, measure2: Measure, cov: ArrayLike, metric: str = "manifold") -> float:
    """Root mean square distance of equally numbered particles: the coupling in the proof of Theorem 4.

    An upper bound of `wasserstein2`, for as many particles in both systems.

    Args:
        measure1: output weights (m,) and inner weights (m, d).
        measure2: output weights (m,) and inner weights (m, d).
        cov: covariance Sigma, shape (d, d).
        metric: "manifold", the distance of M, or "chord", the Euclidean one of (a, bbar).
    """
    if np.shape(measure1[0]) != np.shape(measure2[0]):
        raise ValueError(f"m is {np.shape(measure1[0])} and {np.shape(measure2[0])}; a coupling needs equal m")
    return float(np.sqrt(np.diagonal(squared_cost(measure1, measure2, cov, metric)).mean()))
