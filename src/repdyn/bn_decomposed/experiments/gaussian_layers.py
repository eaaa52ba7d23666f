"""Experiments on one Gaussian layer: expected inner products (8), (98), (111) and Theorems 13 and 14.

Closed forms stand beside two independent ways: quadrature over the angle of the weights, and layers of explicit
i.i.d. weights. Inner products are given in units of (d sigma^2 / 2) ||x|| ||y||, in which eq. (111) is kappa(rho).
"""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint, Trial, groups, stacked
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments.random_networks import image_batch
from repdyn.bn_decomposed.settings.study import Contraction, GaussianLayer, ReluMoments
from repdyn.bn_decomposed.theory import invariance
from repdyn.bn_decomposed.theory.kernel import (
    arccos_kernel_complement,
    expected_gram_step,
    expected_relu_gram,
    gram_map_multiplier,
)
from repdyn.bn_decomposed.theory.odd_cluster import expected_gram_fixed_point, odd_fixed_point, odd_map_multiplier

LENGTHS = (1.0, 2.0)  # of x and y: unequal, so that a norm put in the wrong place shows
SIGMA = 0.7  # of the weights: not He's, so that sigma put in the wrong place shows
NARROW = 1e-4  # radians
STARTS = ("definition 12", "R > n/(n-1)")
Starts = tuple[tuple[np.ndarray, float], ...]
GROUP = 10  # blocks that are kept together when they are finished


def relu_moments(settings: ReluMoments, images: xr.Dataset, stream: Stream) -> xr.Dataset:
    """Eqs. (98) and (111) over the cosine and eq. (8) on a batch of images: closed form, quadrature, sampled."""
    cosines = np.array(settings.cosines)
    sampled = _sampled_pairs(cosines, settings.width, settings.draws, stream)
    X = image_batch(images, settings.batch, stream)
    i, j = np.triu_indices(settings.batch)
    return dataset(
        {
            "square": variable("draw", sampled["square"], "||ReLU(Wy)||^2 in units of d sigma^2 ||y||^2 / 2, sampled"),
            "inner": variable(
                ("cosine", "draw"), sampled["inner"], "ReLU(Wx).ReLU(Wy) in units of its value at x = y, sampled"
            ),
            "quadrature": variable("cosine", angular_average(cosines), "the same, expected, by quadrature"),
            "square_linear": variable("draw", sampled["square_linear"], "||Wy||^2 in the unit of `square`"),
            "inner_linear": variable(("cosine", "draw"), sampled["inner_linear"], "Wx.Wy in the unit of `inner`"),
            "quadrature_linear": variable("cosine", 2 * cosines, "Wx.Wy in the unit of `inner`, expected"),
            "recentered_sampled": variable(
                ("draw", "pair"),
                _sampled_gram(X, settings.width, settings.draws, stream),
                "eq. (8) in units of (d sigma^2 / 2) ||x~_i|| ||x~_j||, sampled",
            ),
            "recentered": variable("pair", _closed_gram(X, True)[i, j], "eq. (8), closed form K(HGH)"),
            "not_recentered": variable("pair", _closed_gram(X, False)[i, j], "the closed form without H, K(G)"),
        },
        {
            "cosine": variable("cosine", cosines, "cosine between x and y"),
            "draw": index("draw", settings.draws, "draw of the weights"),
            "pair": index("pair", i.size, "pair of images i <= j, row by row"),
            "width": variable((), settings.width, "neurons of a sampled layer"),
            "point_count": variable((), settings.batch, "images in the batch"),
        },
        title="Expected inner products after one Gaussian layer with ReLU, without and with recentering",
    )


def angular_average(cosines: np.ndarray, nodes: int = 40) -> np.ndarray:
    """Integral of cos(phi) cos(phi - theta) 2/pi over the weights' angles phi at which both are positive.

    It is eq. (111) in units of (d sigma^2 / 2) ||x|| ||y||: a Gaussian weight in the plane of x and y has
    E r^2 = 2 sigma^2 and a uniform angle. Gauss-Legendre on [theta - pi/2, pi/2].
    """
    theta = np.arccos(cosines)[:, None]
    x, weight = np.polynomial.legendre.leggauss(nodes)
    half = (np.pi - theta) / 2
    phi = theta / 2 + half * x
    return (2 / np.pi * half * weight * np.cos(phi) * np.cos(phi - theta)).sum(axis=1)


def _sampled_pairs(cosines: np.ndarray, width: int, draws: int, stream: Stream) -> dict[str, np.ndarray]:
    """||ReLU(Wy)||^2 and ReLU(Wx).ReLU(Wy) of explicit layers over draws, in their units, and both without ReLU."""
    rng = stream.generator("weights")
    x = np.array([LENGTHS[0], 0, 0])
    Y = LENGTHS[1] * np.stack([cosines, np.sqrt(1 - cosines**2), 0 * cosines])
    unit = width * SIGMA**2 / 2
    square, inner = np.empty((2, draws)), np.empty((2, cosines.size, draws))
    for draw in range(draws):
        W = SIGMA * rng.standard_normal((width, 3))
        linear = W @ x, W @ Y
        for place, (of_x, of_y) in enumerate((tuple(np.maximum(values, 0) for values in linear), linear)):
            square[place, draw] = of_y[:, 0] @ of_y[:, 0] / (unit * LENGTHS[1] ** 2)
            inner[place, :, draw] = of_x @ of_y / (unit * LENGTHS[0] * LENGTHS[1])
    return {"square": square[0], "inner": inner[0], "square_linear": square[1], "inner_linear": inner[1]}


def _sampled_gram(X: np.ndarray, width: int, draws: int, stream: Stream) -> np.ndarray:
    """Inner products of the images after explicit layers with recentering and ReLU, shape (draws, pairs)."""
    rng = stream.generator("image weights")
    length = np.linalg.norm(X - X.mean(axis=1, keepdims=True), axis=0)
    i, j = np.triu_indices(X.shape[1])
    products = np.empty((draws, i.size))
    for draw in range(draws):
        Z = SIGMA * rng.standard_normal((width, X.shape[0])) @ X
        after = np.maximum(Z - Z.mean(axis=1, keepdims=True), 0)
        products[draw] = (after.T @ after / np.outer(length, length))[i, j] / (width * SIGMA**2 / 2)
    return products


def _closed_gram(X: np.ndarray, recenter: bool) -> np.ndarray:
    """Closed form of eq. (8) in units of ||x~_i|| ||x~_j|| d sigma^2 / 2; without recentering x~ = x inside K."""
    G = X.T @ X
    K = expected_gram_step(G) if recenter else expected_relu_gram(G)
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K)))


def gaussian_layer(settings: GaussianLayer, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Layers of explicit weights on Definition 12 and on any batch with R > n/(n-1), beside the closed forms."""
    closed: list[dict[str, float]] = []
    sampled: dict[str, list[np.ndarray]] = {name: [] for name in SAMPLED}
    progress = Progress("gaussian_layer", len(settings.batches))
    for done, n in enumerate(settings.batches):
        starts = _starts(n, settings.distance, stream.child(n))
        closed += [_expected(X, alpha) for X, alpha in starts]
        for width in settings.widths:
            measured = _blocks(
                settings, starts, width, stream.child(n, width), checkpoint, f"{n} points, width {width}"
            )
            for name, values in sampled.items():
                values.append(measured[name])
        progress.step(done + 1)
    dims, shape = ("start", "batch", "width", "block"), (len(settings.batches), len(settings.widths), len(STARTS), -1)
    variables = {
        name: variable(dims, np.reshape(sampled[name], shape).transpose(2, 0, 1, 3), long_name)
        for name, long_name in SAMPLED.items()
    }
    variables |= {
        name: variable(dims[:2], np.reshape([values[name] for values in closed], (-1, len(STARTS))).T, long_name)
        for name, long_name in CLOSED.items()
    }
    for name in ("pair_factor", "expected_pair_factor", "wrong_pair_factor"):
        variables[name].attrs["missing"] = "the cluster of Definition 12 is a point"
    return dataset(
        variables,
        {
            "start": variable("start", np.array(STARTS), "batch before the layer"),
            "batch": variable("batch", np.array(settings.batches), "data points in the batch"),
            "width": variable("width", np.array(settings.widths), "neurons of the layer"),
            "block": index("block", settings.blocks, "independent block of neurons"),
            "norm_ratio": variable(
                "width",
                np.array([invariance.expected_norm_ratio(d) for d in settings.widths]),
                "E||x'|| / sqrt(E||x'||^2), closed form",
            ),
            "rows": variable((), settings.rows, "neurons per block and width"),
            "distance": variable((), settings.distance, "R in units of n/(n-1)"),
        },
        title="One Gaussian layer of recentering and ReLU on an odd point and a cluster",
    )


SAMPLED = {
    "odd_square": "||x_1'||^2, mean over layers",
    "cluster_square": "(n-1)^2 ||nu_c'||^2, mean over layers",
    "odd_norm": "||x_1'||, mean over layers",
    "cluster_norm": "(n-1) ||nu_c'||, mean over layers",
    "odd_mean": "sqrt(d) times the mean entry of x_1', whose expectation is ||E x_1'||",
    "inner": "(n-1) |x_1'.nu_c'|, largest over layers",
    "inner_not_recentered": "the same with the mean left in, ReLU(W x_1).ReLU(W nu_c)",
    "pair_factor": "||x_2' - x_3'||^2 / ||x_2 - x_3||^2, mean over layers",
}
CLOSED = {
    "alpha": "d sigma^2 / 2 of the theorem",
    "expected_odd_square": "E||x_1'||^2",
    "expected_cluster_square": "(n-1)^2 E||nu_c'||^2",
    "expected_inner": "(n-1) E x_1'.nu_c'",
    "square_of_mean_odd": "||E x_1'||^2",
    "square_of_mean_cluster": "(n-1)^2 ||E nu_c'||^2",
    "inner_of_means": "(n-1) E x_1'. E nu_c'",
    "expected_pair_factor": "E||x_2' - x_3'||^2 / ||x_2 - x_3||^2",
    "wrong_pair_factor": "the same with arccos rho for pi - arccos rho in (111)",
    "cluster_mean_cosine": "cosine of x_1' and the new cluster's mean in expectation",
    "cluster_mean_excess": "squared norm of the new cluster's mean over that of nu_c', in expectation, minus 1",
}


def _blocks(
    settings: GaussianLayer, starts: Starts, width: int, stream: Stream, checkpoint: Checkpoint, layer: str
) -> dict[str, np.ndarray]:
    """All blocks of one layer on both batches, names of `SAMPLED`, shape (start, block)."""
    parts: list[Trial] = []
    for group in groups(settings.blocks, GROUP):
        name = f"{layer}, blocks {group.start} to {group.stop - 1}"
        parts.append(checkpoint.get(name) or checkpoint.put(name, _group(settings, starts, width, group, stream)))
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in SAMPLED}


def _group(settings: GaussianLayer, starts: Starts, width: int, group: range, stream: Stream) -> Trial:
    """Some blocks of one layer on both batches, names of `SAMPLED`, shape (start, block)."""
    measured = [
        {
            name: np.array(value)
            for name, value in _measured(
                X, alpha, width, settings.rows // width, stream.generator(block, "weights")
            ).items()
        }
        for (X, alpha), block in product(starts, group)
    ]
    return {name: stacked(measured, name, len(starts), len(group)) for name in SAMPLED}


def _starts(n: int, distance: float, stream: Stream) -> Starts:
    """The batches of Theorems 13 and 14 with their alpha; the second has directions at random and no norm fixed."""
    R = distance * invariance.required_distance(n)
    far = invariance.separated_cluster(n, R, 0.5 / n**2, stream.generator("batch"), k=5)
    return (
        (invariance.invariant_representation(n, k=5), invariance.theorem13_alpha(n)),
        (far, invariance.theorem14_alpha(n, R)),
    )


def _expected(X: np.ndarray, alpha: float) -> dict[str, float]:
    """Closed forms for x_1 and nu_c of a batch, names of `CLOSED`."""
    m = X.shape[1] - 1
    ends = invariance.with_cluster_mean(X)[:, [0, -1]]
    K = alpha * expected_relu_gram(ends.T @ ends)
    means = alpha / np.pi * np.outer(*2 * [np.linalg.norm(ends, axis=0)])
    excess, cosine = invariance.cluster_mean_defect(X, alpha)
    point = np.ptp(X[:, 1:], axis=1).max() == 0
    return {
        "alpha": alpha,
        "expected_odd_square": K[0, 0],
        "expected_cluster_square": m**2 * K[1, 1],
        "expected_inner": m * K[0, 1],
        "square_of_mean_odd": means[0, 0],
        "square_of_mean_cluster": m**2 * means[1, 1],
        "inner_of_means": m * means[0, 1],
        "expected_pair_factor": np.nan if point else invariance.contraction_factors(X, alpha)[0],
        "wrong_pair_factor": np.nan if point else invariance.contraction_factors(X, alpha, _wrong_complement)[0],
        "cluster_mean_cosine": cosine,
        "cluster_mean_excess": excess,
    }


def _wrong_complement(theta: np.ndarray) -> np.ndarray:
    """1 - kappa(cos theta) with arccos rho in place of pi - arccos rho in (111)."""
    return 1 - (np.sin(theta) + theta * np.cos(theta)) / np.pi


def _measured(X: np.ndarray, alpha: float, width: int, layers: int, rng: np.random.Generator) -> dict[str, float]:
    """Layers of explicit weights on x_1, nu_c, x_2, x_3: means over the layers, names of `SAMPLED`."""
    m = X.shape[1] - 1
    columns = np.column_stack([X[:, 0], X[:, 1:].mean(axis=1), X[:, 1], X[:, 2]])
    W = np.sqrt(2 * alpha / width) * rng.standard_normal((layers, width, X.shape[0]))
    Z = W @ columns
    after = np.maximum(Z - W @ X.mean(axis=1)[:, None], 0)
    odd, cluster = np.linalg.norm(after[..., :2], axis=1).T
    apart = ((columns[:, 2] - columns[:, 3]) ** 2).sum()
    moved = ((after[..., 2] - after[..., 3]) ** 2).sum(axis=1).mean()
    before = np.maximum(Z, 0)
    return {
        "odd_square": (odd**2).mean(),
        "cluster_square": m**2 * (cluster**2).mean(),
        "odd_norm": odd.mean(),
        "cluster_norm": m * cluster.mean(),
        "odd_mean": np.sqrt(width) * after[..., 0].mean(),
        "inner": m * np.abs((after[..., 0] * after[..., 1]).sum(axis=1)).max(),
        "inner_not_recentered": m * np.abs((before[..., 0] * before[..., 1]).sum(axis=1)).max(),
        "pair_factor": moved / apart if apart > 0 else np.nan,
    }


def contraction(settings: Contraction, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Expected change of a cluster's size over one layer against its size, and the bound of item 4 of Theorem 14."""
    counts = len(settings.batches)
    factor = np.empty((counts, len(settings.spreads), settings.draws))
    largest, wrong, alpha = np.empty((3, counts, settings.configurations))
    rest = {name: np.empty(counts) for name in RESTING}
    progress = Progress("contraction", counts)
    for b, n in enumerate(settings.batches):
        for draw in range(settings.draws):
            name = f"{n} points, draw {draw}"
            kept = checkpoint.get(name) or checkpoint.put(name, {"factor": _factors(settings, n, draw, stream)})
            factor[b, :, draw] = kept["factor"]
        for group in groups(settings.configurations, GROUP):
            name = f"{n} points, configurations {group.start} to {group.stop - 1}"
            kept = checkpoint.get(name) or checkpoint.put(name, _largest_factors(n, group, stream))
            own = slice(group.start, group.stop)
            largest[b, own], wrong[b, own], alpha[b, own] = kept["largest"], kept["wrong"], kept["alpha"]
        name = f"{n} points at rest"
        for quantity, value in (checkpoint.get(name) or checkpoint.put(name, _resting(n, settings))).items():
            rest[quantity][b] = value
        progress.step(b + 1)
    variables = {name: variable("batch", rest[name], long_name) for name, long_name in RESTING.items()}
    for name in ("full_multiplier", "full_multiplier_of_equal_points"):
        variables[name].attrs["missing"] = "not computed above the batch of `multiplier_up_to`"
    return dataset(
        variables
        | {
            "factor": variable(
                ("batch", "spread", "draw"),
                factor,
                "mean square distance within the cluster after the layer over before, at the sigma that keeps ||x_1||",
            ),
            "largest_factor": variable(
                ("batch", "configuration"), largest, "largest factor of a pair, R > n/(n-1), alpha of Theorem 14"
            ),
            "wrong_largest_factor": variable(
                ("batch", "configuration"), wrong, "the same with arccos rho for pi - arccos rho in (111)"
            ),
            "alpha": variable(("batch", "configuration"), alpha, "alpha of Theorem 14"),
        },
        {
            "batch": variable("batch", np.array(settings.batches), "data points in the batch"),
            "spread": variable(
                "spread", np.array(settings.spreads, float), "root mean square distance from nu_c, times n^2"
            ),
            "draw": index("draw", settings.draws, "draw of the cluster"),
            "configuration": index("configuration", settings.configurations, "random configuration"),
        },
        title="Expected contraction of a cluster over one layer of recentering and ReLU",
    )


RESTING = {
    "norm_keeping_alpha": "d sigma^2 / 2 that keeps E||x_1||^2 = 1 (Theorem 13)",
    "invariant_distance": "||x_1 - nu_c|| of an invariant representation",
    "required_distance": "what Theorem 14 asks ||x_1 - nu_c|| to exceed, n/(n-1)",
    "resting_spread": "n^2 times the cluster's root mean square size at the fixed point of infinite width",
    "point_multiplier": "multiplier of a cluster of angle 1e-4 radians, next to the point of Definition 12",
    "family_multiplier": "multiplier of the fixed point within one odd point and n - 1 equivalent ones",
    "full_multiplier": "multiplier of the fixed point over all Gram matrices",
    "full_multiplier_of_equal_points": "the same for the fixed point of n equivalent points",
}


def _factors(settings: Contraction, n: int, draw: int, stream: Stream) -> list[float]:
    """Expected change of the size of one cluster of n points at every spread."""
    clusters = (
        invariance.perturbed_invariant(n, spread / n**2, stream.generator(n, draw, "cluster"))
        for spread in settings.spreads
    )
    return [invariance.cluster_contraction(X, invariance.theorem13_alpha(n)) for X in clusters]


def _largest_factors(n: int, group: range, stream: Stream) -> dict[str, np.ndarray]:
    """What `_largest_factor` gives of some configurations of n points, by name."""
    found = np.array([_largest_factor(n, stream.generator(n, c, "configuration")) for c in group])
    return dict(zip(("largest", "wrong", "alpha"), found.T, strict=True))


def _largest_factor(n: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """Item 4 on a batch with R between one and three times n/(n-1) and a cluster of any size.

    Returns:
        Largest factor of a pair, the same with a wrong kernel, and alpha.
    """
    R = invariance.required_distance(n) * rng.uniform(1, 3)
    spread = 10 ** rng.uniform(-4, 2) / n
    alpha = invariance.theorem14_alpha(n, R)
    X = invariance.separated_cluster(n, R, spread, rng)
    factors = (
        invariance.contraction_factors(X, alpha, kernel) for kernel in (arccos_kernel_complement, _wrong_complement)
    )
    largest, wrong = (float(np.nanmax(factor)) for factor in factors)
    return largest, wrong, alpha


def _resting(n: int, settings: Contraction) -> dict[str, float]:
    """Distances of Theorem 14 and the fixed point at infinite width, names of `RESTING`."""
    point = odd_fixed_point(n)
    if point is None:
        raise ValueError(f"got n = {n}, expected a batch that keeps its odd point, 7 points or more")
    square = (point.norm_ratio / (n - 1)) ** 2 * 2 * np.sin(point.intra_angle / 2) ** 2 * (n - 2) / (n - 1)
    full = [
        gram_map_multiplier(expected_gram_fixed_point(n, start)) if n <= settings.multiplier_up_to else np.nan
        for start in ("odd", "simplex")
    ]
    return {
        "norm_keeping_alpha": invariance.theorem13_alpha(n),
        "invariant_distance": float(np.linalg.norm(np.diff(invariance.invariant_representation(n)[:, :2], axis=1))),
        "required_distance": invariance.required_distance(n),
        "resting_spread": n**2 * np.sqrt(square),
        "point_multiplier": odd_map_multiplier(NARROW, n),
        "family_multiplier": point.multiplier,
        "full_multiplier": full[0],
        "full_multiplier_of_equal_points": full[1],
    }
