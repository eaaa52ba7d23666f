r"""Initial data with cluster separated truncations: explicit for simplex data, by Procrustes for a user's own.

Three conditions make the gradient flow of L = Q layers split into Q separate flows (Definition 3.1, mended):
    1. others: tau_l leaves every other cluster alone, at the start and at beta_l = -yt_l;
    2. own: tau_l truncates cluster l fully at beta_l = -yt_l;
    3. images: tau_l(X_l) stays where every later tau_{l'} (l' > l) is the identity. Definition 3.1 does not say so,
       yet (3.4) needs it: composition fails without it.
At fixed R the pre-activations interpolate coordinate by coordinate between start and end, so conditions that hold at
both ends hold in between. A margin is the distance to the nearest coordinate plane; below 0 the condition fails.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from repdyn.base import checks
from repdyn.base.checks import Array
from repdyn.truncation_flow.theory import inputs


class InitialData(NamedTuple):
    """Rotations (Q, Q, Q), biases (Q, Q), pulled-back labels (Q, Q), and the margins of the three conditions."""

    R: Array
    beta: Array
    yt: Array
    margin: "Margins"


class Margins(NamedTuple):
    """Smallest distance to failure of each condition, input units; `smallest` decides."""

    others: float
    own: float
    images: float

    @property
    def smallest(self) -> float:
        """The least of the three."""
        return min(self)


def balanced_shift(Q: int) -> float:
    """Shift of labels towards the barycentre with equal margins, t* = Q (sqrt(m) - 1)/(2 m^{3/2}), m = Q - 1.

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
    """Margins of own and other cluster centres at beta = -yt: t sqrt(m)/Q, and the smaller of two distances."""
    m = Q - 1
    others = 1 / np.sqrt(m) - t * np.sqrt(m) / Q
    across = (1 - t * m / Q) / np.sqrt(m) - (1 / m if Q > 2 else 0.0)
    return t * np.sqrt(m) / Q, min(others, across) if Q > 2 else others


def simplex_rotations(Q: int) -> Array:
    """Rotations by pi/2 in the plane of p = e_l and q = (1 - e_l)/sqrt(m): R_l = I - pp^T - qq^T + pq^T - qp^T.

    R_l sends the axis from e_l to the barycentre onto the diagonal of the positive orthant; shape (Q, Q, Q).
    """
    _at_least_two(Q)
    one = np.eye(Q)
    rotations = []
    for p in one:
        q = (1 - p) / np.sqrt(Q - 1)
        rotations.append(one - np.outer(p, p) - np.outer(q, q) + np.outer(p, q) - np.outer(q, p))
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
    """Points uniform in balls around the means, shape (K, N, Q)."""
    K, Q = means.shape
    directions = generator.normal(size=(K, N, Q))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    lengths = radius * generator.uniform(size=(K, N, 1)) ** (1.0 / Q)
    return means[:, None, :] + lengths * directions


def separation_margin(X: Sequence[ArrayLike], R: ArrayLike, beta: ArrayLike, yt: ArrayLike) -> Margins:
    """Margins of the three conditions for clusters X with truncation maps (R_l, beta_l) on their way to -yt_l.

    Args:
        X: Q clusters, each (N_l, Q).
        R: orthogonal matrices, shape (Q, Q, Q).
        beta: biases at the start, shape (Q, Q).
        yt: pulled-back labels, shape (Q, Q).

    Returns:
        Margins in input units; all positive if and only if the truncations are cluster separated at both ends.

    Raises:
        ValueError: if shapes disagree, an R_l is not orthogonal, or the labels are dependent.
    """
    arrays = inputs.clusters(X, np.shape(X[0])[-1])
    Q = arrays[0].shape[1]
    if len(arrays) != Q:
        raise ValueError(f"X: got {len(arrays)} clusters in R^{Q}; expected as many clusters as dimensions (L = Q)")
    rotations = [checks.orthogonal(matrix, Q, f"R[{index}]") for index, matrix in enumerate(np.asarray(R))]
    yt, beta = inputs.independent_labels(yt), checks.finite(beta, "beta")
    others, own, images = np.inf, np.inf, np.inf
    for layer, rotation in enumerate(rotations):
        own = min(own, float(np.min(-(arrays[layer] - yt[layer]) @ rotation.T)))
        for offset in (beta[layer], -yt[layer]):
            for index, cluster in enumerate(arrays):
                if index != layer:
                    others = min(others, float(np.min((cluster + offset) @ rotation.T)))
            images = min(images, _image_margin(layer, arrays, rotations, beta, yt, offset))
    return Margins(others, own, images)


def _image_margin(layer: int, X: list[Array], rotations: list[Array], beta: Array, yt: Array, offset: Array) -> float:
    """Distance of tau_l(X_l) from the planes of all later truncation maps, at their start and end."""
    image = np.maximum((X[layer] + offset) @ rotations[layer].T, 0) @ rotations[layer] - offset
    distances = [
        np.min((image + later_offset) @ rotations[later].T)
        for later in range(layer + 1, len(X))
        for later_offset in (beta[later], -yt[later])
    ]
    return float(min(distances, default=np.inf))


def procrustes_rotations(means: Array, yt: Array) -> Array:
    """Orthogonal R_l that turn the directions d_j = mean_j - yt_l (j != l) towards the positive orthant.

    R = U V^T from the SVD of T D^T, the orthogonal Procrustes solution for unit directions D and targets T with
    columns e_j + (1/Q)(1, .., 1); the own direction yt_l - mean_l fills the place of j = l.
    """
    Q = len(means)
    targets = np.eye(Q) + 1.0 / Q
    rotations = []
    for layer in range(Q):
        directions = means - yt[layer]
        directions[layer] = yt[layer] - means[layer]
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        left, _, right = np.linalg.svd(targets.T @ directions)
        rotations.append(left @ right)
    return np.array(rotations)


def cluster_separated_initial_data(
    X: Sequence[ArrayLike], *, shift: float | None = None, start: float = 0.0, require: bool = True
) -> InitialData:
    """Initial data for a user's own clusters: labels between means and barycentre, rotations by Procrustes.

    Args:
        X: Q clusters in R^Q, each (N_l, Q), input units.
        shift: t of yt_l = (1 - t) mean_l + t barycentre; the best of a grid if not given.
        start: position of the apex between mean (0) and label (1) at time 0.
        require: whether to raise if no separation exists.

    Returns:
        R (Q, Q, Q), beta (Q, Q), yt (Q, Q) and the margins of the three conditions.

    Raises:
        ValueError: if the clusters do not fit R^Q, or if `require` and a margin is negative.
    """
    arrays = inputs.clusters(X)
    means = np.array([cluster.mean(axis=0) for cluster in arrays])
    shifts = np.linspace(0.05, 0.95, 19) if shift is None else [shift]
    candidates = [_initial_data(arrays, means, t, start) for t in shifts]
    best = max(candidates, key=lambda candidate: candidate.margin.smallest)
    if require and best.margin.smallest <= 0:
        raise ValueError(
            f"no cluster separated truncations found: margins {_describe(best.margin)}; expected all positive."
            " Clusters must be narrow for their distance (for a simplex of edge sqrt(2) and Q = 3, radius below"
            f" {largest_radius(3):.3f}); use require=False to see the data, or fewer or tighter clusters"
        )
    return best


def _initial_data(X: list[Array], means: Array, t: float, start: float) -> InitialData:
    yt = (1 - t) * means + t * means.mean(axis=0)
    beta = -(means + start * (yt - means))
    R = procrustes_rotations(means, yt)
    return InitialData(R, beta, yt, separation_margin(X, R, beta, yt))


def _describe(margin: Margins) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in margin._asdict().items())


def _at_least_two(Q: int) -> None:
    if Q < 2:
        raise ValueError(f"Q: got {Q}; expected at least 2 clusters")
