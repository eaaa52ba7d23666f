r"""Cluster separated truncations for a user's own clusters: margins, the angle condition, and a search.

Three conditions make the gradient flow of L = Q layers split into Q separate flows (Definition 3.1, corrected):

    1. others: tau_l leaves every other cluster alone, at the start and at beta_l = -yt_l;
    2. own: tau_l truncates cluster l fully at beta_l = -yt_l;
    3. images: tau_l(X_l), at the start and at the end, stays where every later tau_{l'} (l' > l) is the identity.
       Definition 3.1 does not say so, yet (3.4) needs it: composition fails without it.

At fixed R the pre-activations interpolate coordinate by coordinate between start and end, so conditions that hold at
both ends hold in between. A margin is the distance to the nearest coordinate plane; below 0 the condition fails.

The angle condition. Let all margins be at least e. With m the means and d = R_l (m_i - m_l), the conditions `own` and
`others` at yt_l give d >= 2 e in every coordinate, for every i != l, so <m_i - m_l, m_j - m_l> >= 4 Q e^2. Hence no
aligned weights separate clusters of which three means form an angle of 90 degrees or more, however narrow they are.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from repdyn.base import arguments
from repdyn.base.arguments import refuse
from repdyn.base.arrays import Array
from repdyn.truncation_flow.methods.occupation import cayley
from repdyn.truncation_flow.theory import inputs
from repdyn.truncation_flow.theory.truncation import truncate

SHIFTS = np.linspace(0.05, 0.95, 19)  # labels between mean and barycenter that are tried before the search
NEAREST = 6  # points per cluster and coordinate plane that enter a linear program
ROUNDS = 60
LARGEST_MOVE, SMALLEST_MOVE = 0.2, 1e-4  # of a rotation in radians, of a label in units of the clusters' distance
SMALLEST_GAIN = 1e-6  # of the clusters' distance
COINCIDENT = 1e-9


Clusters = Array | Sequence[ArrayLike]


class Margins(NamedTuple):
    """Smallest distance to failure of each condition, input units; `smallest` decides."""

    others: float
    own: float
    images: float

    @property
    def smallest(self) -> float:
        """The least of the three."""
        return min(self)


class InitialData(NamedTuple):
    """Rotations (Q, Q, Q), biases (Q, Q), pulled-back labels (Q, Q), and the margins of the three conditions."""

    R: Array
    beta: Array
    yt: Array
    margin: Margins


class Angle(NamedTuple):
    """The widest angle at a mean between two others: vertex, the two others, degrees."""

    vertex: int
    others: tuple[int, int]
    degrees: float


def separation_margin(X: Clusters, R: ArrayLike, beta: ArrayLike, yt: ArrayLike) -> Margins:
    """Margins of the three conditions of separation for clusters, rotations, biases at the start and labels.

    Definition 3.1, corrected by the third condition.

    Args:
        X: Q clusters in R^Q, each (N_l, Q), input units.
        R: orthogonal matrices, shape (Q, Q, Q).
        beta: pulled-back biases at the start, shape (Q, Q), input units.
        yt: pulled-back labels, one per row, shape (Q, Q), input units.

    Raises:
        ValueError: if there are not as many clusters as dimensions, an R_l is not orthogonal, or labels depend.
    """
    arrays = _square_problem(X)
    Q = len(arrays)
    rotations, beta = inputs.rotations(R, Q, "R"), arguments.shaped(beta, "beta", (Q, Q))
    return _margins(arrays, rotations, beta, inputs.independent_labels(yt))


def _square_problem(X: Clusters) -> list[Array]:
    arrays = inputs.clusters(X)
    K, Q = len(arrays), arrays[0].shape[1]
    if K != Q or Q < 2:
        raise refuse("X", f"{K} clusters in R^{Q}", "as many clusters as dimensions (L = Q), at least 2")
    return arrays


def _margins(X: list[Array], R: Array, beta: Array, yt: Array) -> Margins:
    others, own, images = np.inf, np.inf, np.inf
    for layer, rotation in enumerate(R):
        for cluster, points in enumerate(X):
            end = (points - yt[layer]) @ rotation.T
            if cluster == layer:
                own = min(own, -end.max())
            else:
                others = min(others, end.min(), ((points + beta[layer]) @ rotation.T).min())
        for offset in (beta[layer], -yt[layer]):
            image = truncate(X[layer], rotation, offset)
            for later in range(layer + 1, len(X)):
                for apex in (-beta[later], yt[later]):
                    images = min(images, float(((image - apex) @ R[later].T).min()))
    return Margins(float(others), float(own), float(images))


def widest_angle(means: ArrayLike) -> Angle:
    """The widest angle that three means form; 0 degrees where there are only two.

    Ours: what Definition 3.1 excludes from 90 degrees on.
    """
    means = inputs.points(means, "means")
    widest = Angle(0, (1, 1), 0.0)
    for vertex, i, j in _triples(len(means)):
        a, b = means[i] - means[vertex], means[j] - means[vertex]
        degrees = float(np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1))))
        if degrees > widest.degrees:
            widest = Angle(vertex, (i, j), degrees)
    return widest


def margin_bound(means: ArrayLike) -> float:
    """What no aligned separation can exceed: the least root of <m_i - m_l, m_j - m_l>/(4 Q), i = j included.

    Ours: a bound for Definition 3.1.

    Returns:
        The bound, input units; 0 where three means form an angle of 90 degrees or more.
    """
    means = inputs.points(means, "means")
    Q = means.shape[1]
    pairs = [means[i] - means[j] for i in range(len(means)) for j in range(i)]
    products = [float(d @ d) for d in pairs]
    products += [float((means[i] - means[l]) @ (means[j] - means[l])) for l, i, j in _triples(len(means))]
    return float(np.sqrt(max(min(products), 0.0) / (4 * Q)))


def _triples(count: int) -> Iterator[tuple[int, int, int]]:
    for vertex in range(count):
        for i in range(count):
            for j in range(i):
                if vertex not in (i, j):
                    yield vertex, i, j


def procrustes_rotations(means: Array, yt: Array) -> Array:
    """Orthogonal R_l that turn the directions d_j = mean_j - yt_l (j != l) toward the positive orthant.

    R = U V^T from the SVD of T D^T, the orthogonal Procrustes solution for unit directions D and targets T with
    columns e_j + (1/Q)(1, .., 1); the own direction yt_l - mean_l fills the place of j = l.

    Ours: candidates for Definition 3.1.
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


def cluster_separated_initial_data(X: Sequence[ArrayLike], *, start: float = 0.0, require: bool = True) -> InitialData:
    """Rotations and labels that separate a user's own clusters, with the largest margin that a search finds.

    The search begins at labels between means and barycenter with rotations by Procrustes, and moves all rotations and
    labels at once by linear programs in a trust region.

    Args:
        X: Q clusters in R^Q, each (N_l, Q), input units.
        start: position of the apex between mean (0) and label (1) at time 0.
        require: whether to raise if no separation is found.

    Returns:
        R (Q, Q, Q), beta (Q, Q), yt (Q, Q) and the margins of the three conditions.

    Raises:
        ValueError: if the clusters do not fit R^Q, two means coincide, or `require` and a margin is not positive; the
            message names the obstacle.
    """
    arrays = _square_problem(X)
    means = np.array([cluster.mean(axis=0) for cluster in arrays])
    gap = _least_distance(means)
    if not gap > COINCIDENT * max(1.0, float(np.abs(means).max())):
        raise refuse("X", f"clusters whose means are {gap:.2e} apart", "means that differ", "merge these clusters")
    best = _search(arrays, means, procrustes_initial_data(arrays, start=start), start, gap)
    if require and best.margin.smallest <= 0:
        raise ValueError(_obstacle(means, best.margin))
    return best


def _least_distance(means: Array) -> float:
    return min(float(np.linalg.norm(means[i] - means[j])) for i in range(len(means)) for j in range(i))


def procrustes_initial_data(X: Sequence[ArrayLike], *, start: float = 0.0) -> InitialData:
    """Labels yt_l = (1 - t) mean_l + t barycenter with the best t of `SHIFTS`, rotations by Procrustes, no search.

    Ours: candidates for Definition 3.1.
    """
    arrays = _square_problem(X)
    means = np.array([cluster.mean(axis=0) for cluster in arrays])
    candidates = []
    for t in SHIFTS:
        yt = (1 - t) * means + t * means.mean(axis=0)
        candidates.append(_initial_data(arrays, means, procrustes_rotations(means, yt), yt, start))
    return max(candidates, key=lambda data: data.margin.smallest)


def _initial_data(X: list[Array], means: Array, R: Array, yt: Array, start: float) -> InitialData:
    beta = -(means + start * (yt - means))
    return InitialData(R, beta, yt, _margins(X, R, beta, yt))


def _search(X: list[Array], means: Array, best: InitialData, start: float, scale: float) -> InitialData:
    """Sequential linear programs: a move is kept if the true smallest margin grows, else the region shrinks."""
    reach = LARGEST_MOVE
    for _ in range(ROUNDS):
        if reach < SMALLEST_MOVE:
            break
        turns, moves, expected = _linear_step(X, best, start, reach, scale)
        if expected - best.margin.smallest < SMALLEST_GAIN * scale:
            break
        moved = _initial_data(X, means, cayley(turns) @ best.R, best.yt + moves, start)
        gained = moved.margin.smallest - best.margin.smallest
        reach *= 1.5 if gained > 0 else 0.4
        if gained > 0:
            best = moved
    return best


def _linear_step(
    X: list[Array], data: InitialData, start: float, reach: float, scale: float
) -> tuple[Array, Array, float]:
    """Turns (Q, Q, Q), antisymmetric, moves of the labels (Q, Q), and the smallest margin they would give if linear."""
    Q = len(X)
    pairs = list(zip(*np.triu_indices(Q, 1), strict=True))
    count = Q * len(pairs)
    blocks, limits = [], []
    for layer, sign, weight, points, owner in _conditions(X, data, start):
        values = sign * points @ data.R[layer].T
        for i in range(Q):
            near = np.argsort(values[:, i])[:NEAREST]
            block = np.zeros((len(near), count + Q * Q + 1))
            for n, (a, b) in enumerate(pairs):  # row i of R turns by theta_ij toward row j
                if i in (a, b):
                    block[:, layer * len(pairs) + n] = values[near, b] if i == a else -values[near, a]
            block[:, count + layer * Q : count + (layer + 1) * Q] -= sign * weight * scale * data.R[layer, i]
            if owner is not None:
                block[:, count + owner * Q : count + (owner + 1) * Q] += sign * scale * data.R[layer, i]
            block[:, -1] = -1.0
            blocks.append(-block)
            limits.append(values[near, i])
    goal = np.zeros(count + Q * Q + 1)
    goal[-1] = -1.0
    bounds = [(-reach, reach)] * (count + Q * Q) + [(None, None)]
    solved = scipy.optimize.linprog(
        goal, A_ub=np.concatenate(blocks), b_ub=np.concatenate(limits), bounds=bounds, method="highs"
    )
    if not solved.success:
        return np.zeros((Q, Q, Q)), np.zeros((Q, Q)), -np.inf
    turns = np.zeros((Q, Q, Q))
    for layer in range(Q):
        for n, (row, toward) in enumerate(pairs):
            turns[layer, row, toward] = solved.x[layer * len(pairs) + n]
            turns[layer, toward, row] = -turns[layer, row, toward]
    return turns, scale * solved.x[count:-1].reshape(Q, Q), float(solved.x[-1])


def _conditions(
    X: list[Array], data: InitialData, start: float
) -> Iterator[tuple[int, float, float, Array, int | None]]:
    """All conditions as (layer, sign, how far its apex follows the label, points - apex, label that is the point)."""
    for layer in range(len(X)):
        ends = ((1.0, data.yt[layer]), (start, -data.beta[layer]))
        for cluster, points in enumerate(X):
            if cluster == layer:
                yield layer, -1.0, 1.0, points - data.yt[layer], None
                continue
            for weight, apex in ends:
                yield layer, 1.0, weight, points - apex, None
                if cluster < layer:
                    yield layer, 1.0, weight, truncate(points, data.R[cluster], data.beta[cluster]) - apex, None
                    yield layer, 1.0, weight, data.yt[cluster][None] - apex, cluster


def _obstacle(means: Array, margin: Margins) -> str:
    """Why no separation was found, in words."""
    angle = widest_angle(means)
    values = ", ".join(f"{name} {value:.3g}" for name, value in margin._asdict().items())
    text = f"no cluster separated truncations found: margins {values}; expected all positive."
    if angle.degrees >= 90:
        return (
            f"{text} None exist: the means {angle.others[1]} and {angle.others[0]} form an angle of"
            f" {angle.degrees:.1f} degrees at mean {angle.vertex}, and aligned weights need less than 90; use"
            " require=False to see the data, or move or drop a cluster"
        )
    return (
        f"{text} No margin can exceed {margin_bound(means):.3g} for these means (widest angle {angle.degrees:.1f}"
        " degrees): the clusters are too wide; use require=False to see the data, or fewer or tighter clusters"
    )
