r"""Fixed points at infinite width: one odd point and a cluster, the simplex, and rescaling by rms.

By symmetry the Gram recursion G <- K(H G H) (`kernel.expected_gram_step`) keeps "one odd point, n - 1
equivalent points". After recentering such a batch has, up to a scale, one number: the angle theta between two
recentered cluster points. With r = cos theta, unit cluster points and u = 1 + (n - 2) r, the odd point has
squared norm a = (n - 1) u and inner product -u with each cluster point. The recursion is thus a map theta ->
theta' of an interval onto itself, and it is iterated in the angle, so no digits are lost in a narrow cluster.

Two fixed points can be stable: the simplex (all n points equivalent, r = -1/(n - 1)) for every n, and, for n
>= 7, the odd point with a cluster of angular width of about 3 pi / n. This is the configuration of Section
III and Figure 3 of Nachum, Bondaschi, Gastpar and Khina, "Batch Normalization Decomposed"; the cluster is not
a point.

In all functions of the odd configuration theta is in radians, in [0, arccos(-1/(n-1))], and n >= 3 is the number of
points; fewer raise ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy
from scipy.special import ndtr, ndtri

from repdyn.base.arrays import Array
from repdyn.bn_decomposed.theory.kernel import arccos_kernel, arccos_kernel_complement, expected_gram_step

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

FEWEST_WITH_ODD_POINT = 7  # points from which an odd point can rest


@dataclass(frozen=True)
class OddFixedPoint:
    """Fixed point with one odd point, as the representation after ReLU.

    Attributes:
        n: number of points.
        centered_angle: angle theta between recentered cluster points, radians.
        intra_angle: angle between two cluster points, arccos kappa(cos theta), radians.
        odd_angle: angle between the odd point and a cluster point, radians.
        norm_ratio: (n - 1) ||x_i|| / ||x_1||, which Definition 12 puts at 1.
        multiplier: |d cos theta' / d cos theta|; below 1 the fixed point is stable within the family.
    """

    n: int
    centered_angle: float
    intra_angle: float
    odd_angle: float
    norm_ratio: float
    multiplier: float


def simplex_angle(n: float) -> float:
    r"""Angle between any two points at the symmetric fixed point: arccos kappa(-1/(n - 1)), radians.

    It is the fixed point of recentering + ReLU with and without rescaling, exact at every n: recentered
    equivalent points have Gram matrix proportional to H. 75.03 degrees at n = 9, arccos(1/pi) = 71.44 degrees
    for n -> infinity.

    Ours: a fixed point of the expectation (8).

    Args:
        n: number of points, n >= 2, or `numpy.inf`.

    Raises:
        ValueError: n < 2.

    Example:
        >>> import numpy as np
        >>> [round(float(np.degrees(simplex_angle(n))), 2) for n in (9, np.inf)]
        [75.03, 71.44]
    """
    _at_least(n, 2)
    return float(np.arccos(arccos_kernel(-1.0 / (n - 1))))


def odd_map(theta: Float[Array, "*shape"] | float, n: int) -> Float[Array, "*shape"]:
    r"""One layer of recentering + ReLU on the odd configuration: centered angle theta -> theta'.

    2 sin^2(theta'/2) = (1 - kappa(cos theta)) / D, where D = `odd_growth` is the factor of ||x_i - mean||^2.
    theta' is the angle after the layer and the next recentering, radians.

    Ours: the expectation (8) on the configuration of Definition 12, with theta free.
    """
    ratio = arccos_kernel_complement(theta) / (2 * odd_growth(theta, n))
    return 2 * np.arcsin(np.sqrt(np.clip(ratio, 0.0, 1.0)))


def odd_growth(theta: Float[Array, "*shape"] | float, n: int) -> Float[Array, "*shape"]:
    r"""Factor D of the squared norm of a recentered cluster point over one layer at sigma^2 = 2/d.

    D = 1 - 2 m + M with the row mean m = (q + 1 + (n-2) kappa(r)) / n of a cluster point, q = sqrt(a)
    kappa(-u/sqrt(a)), and the grand mean M = (a + (n-1)(2 q + 1 + (n-2) kappa(r))) / n^2. At theta = 0 it is
    ((n-1)^2 + 1) / n^2, the 1/alpha of Theorem 13.
    """
    _at_least(n, 3)
    u = 1 + (n - 2) * np.cos(theta)
    a = (n - 1) * np.maximum(u, 0.0)
    q = np.sqrt(a) * arccos_kernel(-np.sqrt(np.maximum(u, 0.0) / (n - 1)))
    cluster = 1 + (n - 2) * (1 - arccos_kernel_complement(theta))
    return 1 - 2 * (q + cluster) / n + (a + (n - 1) * (2 * q + cluster)) / n**2


def odd_map_multiplier(theta: float, n: int) -> float:
    r"""Derivative d cos(theta') / d cos(theta) of `odd_map`, in closed form from eq. (111).

    With r' = 1 - (1 - kappa)/D: dr'/dr = kappa'/D + (1 - kappa) D'/D^2, kappa' = 1 - theta/pi, and D' from
    dq/dr = (n-2) (sqrt(1-rho^2) sqrt((n-1)/u) / 2 - (pi - arccos rho)) / pi, rho = -sqrt(u/(n-1)).
    Its modulus at a fixed point decides stability within the family; theta > 0.
    """
    D = float(odd_growth(theta, n))
    u = 1 + (n - 2) * np.cos(theta)
    rho = -np.sqrt(u / (n - 1))
    dkappa = 1 - theta / np.pi
    dq = (n - 2) / np.pi * (np.sqrt(1 - rho**2) * np.sqrt((n - 1) / u) / 2 - (np.pi - np.arccos(rho)))
    dcluster = (n - 2) * dkappa
    da = (n - 1) * (n - 2)
    dD = -2 * (dq + dcluster) / n + (da + (n - 1) * (2 * dq + dcluster)) / n**2
    return float(dkappa / D + arccos_kernel_complement(theta) * dD / D**2)


def odd_gram(theta: float, n: int) -> Float[Array, "n n"]:
    r"""Gram matrix after ReLU of the odd configuration, shape (n, n), point 0 odd with norm 1.

    Ours: the configuration that `odd_map` follows.
    """
    _at_least(n, 3)
    u = 1 + (n - 2) * np.cos(theta)
    a = (n - 1) * u
    G = np.full((n, n), arccos_kernel(np.cos(theta)) / a)
    np.fill_diagonal(G, 1.0 / a)
    G[0, :] = G[:, 0] = arccos_kernel(-np.sqrt(u / (n - 1))) / np.sqrt(a)
    G[0, 0] = 1.0
    return G


def odd_fixed_point(n: int) -> OddFixedPoint | None:
    r"""Stable fixed point with one odd point: the first one that a point-like cluster meets as it widens.

    A very narrow cluster widens by the factor sqrt(n^2 / ((n-1)^2 + 1)) > 1 per layer and stops where
    1 - kappa(cos theta) = (1 - cos theta) D.

    Ours: a fixed point of the expectation (8).

    Returns:
        The fixed point, or None where the odd configuration dissolves into the simplex (n <= 6).
    """
    _at_least(n, 3)
    simplex = np.arccos(-1.0 / (n - 1))
    theta = np.geomspace(0.01 * cluster_width(n), simplex * (1 - 1e-6), 4000)
    widening = np.sign(odd_map(theta, n) - theta)
    stops = np.flatnonzero((widening[:-1] > 0) & (widening[1:] <= 0))
    if stops.size == 0:
        return None
    lower, upper = theta[stops[0]], theta[stops[0] + 1]
    root = float(scipy.optimize.brentq(lambda t: float(odd_map(t, n)) - t, lower, upper, xtol=1e-15, rtol=1e-14))
    u = 1 + (n - 2) * np.cos(root)
    return OddFixedPoint(
        n=n,
        centered_angle=root,
        intra_angle=float(2 * np.arcsin(np.sqrt(arccos_kernel_complement(root) / 2))),
        odd_angle=float(np.arccos(arccos_kernel(-np.sqrt(u / (n - 1))))),
        norm_ratio=float(np.sqrt((n - 1) / u)),
        multiplier=abs(odd_map_multiplier(root, n)),
    )


def expected_gram_fixed_point(n: int, start: Literal["odd", "simplex"]) -> Float[Array, "n n"]:
    r"""Fixed point of G -> K(H G H) up to a factor: a tight cluster with an odd point, or the simplex.

    Args:
        n: number of points.
        start: "odd" or "simplex"; for n <= 6 both lead to the simplex.

    Returns:
        Gram matrix, shape (n, n), point 0 of norm 1 (the odd one if there is one).

    Raises:
        ValueError: unknown start.

    Example:
        >>> import numpy as np
        >>> G = expected_gram_fixed_point(16, "odd")
        >>> np.degrees(np.arccos(G[0, 1] / np.sqrt(G[1, 1]))).round(1).item()  # angle of the odd point to the rest
        89.7
    """
    if start not in ("odd", "simplex"):
        raise ValueError(f'got start={start!r}, expected "odd" or "simplex"')
    point = odd_fixed_point(n) if start == "odd" else None
    return odd_gram(np.arccos(-1.0 / (n - 1)) if point is None else point.centered_angle, n)


def cluster_width(n: int) -> float:
    r"""Leading angular width of the cluster, theta = 3 pi / n, radians.

    From alpha (1 - 2 theta / (3 pi)) = 1 with alpha = n^2 / ((n-1)^2 + 1) = 1 + 2/n + O(1/n^2): the widening
    of small differences balances the contraction of 1 - kappa = theta^2/2 - theta^3/(3 pi).

    Ours: the paper gives no width of the cluster of Definition 12.
    """
    return 3 * np.pi / n


def rms_cosine_step(cosine: float, n: float) -> float:
    r"""ReLU + rescaling by rms without recentering, on n equivalent points: common cosine c -> c'.

    n finite: `expected_gram_step` of (1 - c) I + c 11'. n = inf: a neuron sees z_i = sqrt(c) g + sqrt(1-c)
    e_i, its mean square over the batch is c g^2 + 1 - c, and c' = 2 E_g[m(g)^2 / (c g^2 + 1 - c)] with m(g) =
    E_e ReLU(z) = sqrt(1-c) phi(t) + sqrt(c) g Phi(t), t = g sqrt(c / (1-c)).

    Ours: the expectation (8) with rescaling alone.

    Args:
        cosine: c in [0, 1).
        n: number of points, n >= 2, or `numpy.inf`.

    Raises:
        ValueError: n < 2 or a cosine outside [0, 1).
    """
    _at_least(n, 2)
    if not 0 <= cosine < 1:
        raise ValueError(f"got a cosine of {cosine}, expected 0 <= c < 1 between equivalent points")
    if np.isfinite(n):
        G = expected_gram_step((1 - cosine) * np.eye(int(n)) + cosine, recenter=False, rescale="rms")
        return float(G[0, 1] / G[0, 0])
    own, common = np.sqrt(1 - cosine), np.sqrt(cosine)

    def integrand(g: float) -> float:
        mean = own * _normal_density(common / own * g) + common * g * ndtr(common / own * g)
        return 2 * mean**2 / (cosine * g**2 + 1 - cosine) * _normal_density(g)

    return float(scipy.integrate.quad(integrand, -12, 12, points=[0.0], epsabs=1e-13, epsrel=1e-12)[0])


def rms_fixed_point(n: float) -> float:
    r"""Cosine at which ReLU + rms rescaling without recentering rests, Figure 5(a).

    Args:
        n: number of points, n >= 2, or `numpy.inf` (c = 0.5187, 58.75 degrees).

    Raises:
        ValueError: n < 2.
    """
    return float(scipy.optimize.brentq(lambda c: rms_cosine_step(c, n) - c, 0.0, 0.9, xtol=1e-13))


def active_fraction_tail(cosine: float, fraction: float) -> float:
    r"""Share of neurons active on more than `fraction` of many equivalent inputs of common cosine c.

    A neuron's pre-activations are sqrt(c) g + sqrt(1-c) e_i, so it is active on Phi(g sqrt(c / (1-c))) of
    them: P = 1 - Phi(Phi^{-1}(fraction) sqrt((1-c) / c)), Figure 6(a). The share active on less than 1 -
    fraction is the same by symmetry.

    Args:
        cosine: c in (0, 1).
        fraction: between 0 and 1.

    Raises:
        ValueError: an argument out of range.
    """
    if not (0 < cosine < 1 and 0 < fraction < 1):
        raise ValueError(f"got cosine {cosine} and fraction {fraction}, expected both strictly between 0 and 1")
    return float(ndtr(-ndtri(fraction) * np.sqrt((1 - cosine) / cosine)))


def active_fraction_deviation(n: int) -> float:
    r"""Standard deviation of the active fraction of a neuron over n recentered equivalent inputs, Figure 6(b).

    The mean is 1/2; Var = 1/(4 n) + (1 - 1/n) arcsin(-1/(n-1)) / (2 pi), about (1/4 - 1/(2 pi)) / n:
    recentering makes every neuron active on half of the batch.

    Args:
        n: number of points, n >= 2.

    Raises:
        ValueError: n < 2.
    """
    _at_least(n, 2)
    return float(np.sqrt(1 / (4 * n) + (1 - 1 / n) * np.arcsin(-1 / (n - 1)) / (2 * np.pi)))


def _normal_density(x: float) -> float:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def _at_least(n: float, least: int) -> None:
    if not n >= least:
        raise ValueError(f"got n = {n}, expected at least {least} points")
