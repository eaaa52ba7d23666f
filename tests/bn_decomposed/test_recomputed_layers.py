"""One Gaussian layer and ranks of ReLU(W X) recomputed: moments, Theorems 3, 13 and 14, cells, tails, point neurons."""

from functools import cache

import numpy as np
import pytest
import scipy
from tests.bn_decomposed.reference import circle, images, kernel, sectors

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import full_rank, gaussian_layers, relu_rank
from repdyn.bn_decomposed.experiments.point_neurons import point_neurons
from repdyn.bn_decomposed.settings import study as sizes
from repdyn.bn_decomposed.theory import full_rank as draws_of
from repdyn.bn_decomposed.theory import invariance
from repdyn.bn_decomposed.theory.kernel import gram_map_multiplier
from repdyn.bn_decomposed.theory.odd_cluster import expected_gram_fixed_point, odd_fixed_point, odd_map_multiplier

STREAM = Stream(13, ("bn_decomposed", "recomputed"))
REST = Stream(15, ("bn_decomposed", "recomputed"))
NOTHING_KEPT = Checkpoint(None, "")
close = np.testing.assert_allclose


def test_moments_of_one_layer():
    settings = sizes.ReluMoments(cosines=[-1.0, 0.3, 1.0], batch=3, width=8, draws=20)
    data = gaussian_layers.relu_moments(settings, images(), STREAM)
    weights, unit = STREAM.generator("weights"), 8 * 0.49 / 2
    x, Y = np.array([1.0, 0, 0]), 2 * np.array([[-1, 0.3, 1], [0, np.sqrt(0.91), 0], [0, 0, 0]])
    for draw in range(20):
        W = 0.7 * weights.standard_normal((8, 3))
        a, B = np.maximum(W @ x, 0), np.maximum(W @ Y, 0)
        close(data.square[draw], (B[:, 0] ** 2).sum() / 4 / unit)
        close(data.inner[:, draw], a @ B / 2 / unit)
        close(data.square_linear[draw], ((W @ Y)[:, 0] ** 2).sum() / 4 / unit)
        close(data.inner_linear[:, draw], (W @ x) @ (W @ Y) / 2 / unit, atol=1e-14)
    theta = np.arccos(settings.cosines)
    close(data.quadrature, (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / np.pi, atol=1e-13)
    close(data.quadrature_linear, [-2, 0.6, 2])
    chosen = np.sort(STREAM.generator("batch").choice(40, 3, replace=False))
    X = images().image.values[chosen].reshape(3, 12).T
    weights, pairs = STREAM.generator("image weights"), np.triu_indices(3)
    centered = X - X.mean(axis=1, keepdims=True)
    lengths = np.outer(*2 * [np.linalg.norm(centered, axis=0)])
    for draw in range(3):
        Z = np.maximum(0.7 * weights.standard_normal((8, 12)) @ centered, 0)
        close(data.recentered_sampled[draw], (Z.T @ Z / lengths / unit)[pairs])
    close(data.recentered, (kernel(centered) / lengths)[pairs])
    close(data.not_recentered, (kernel(X) / np.outer(*2 * [np.linalg.norm(X, axis=0)]))[pairs])


def test_eq8_does_not_see_a_shift_of_the_batch():
    settings = sizes.ReluMoments(cosines=[-1.0, 1.0], batch=5, width=8, draws=20)
    shifted = images().assign(image=images()["image"] + 3)
    original, moved = (gaussian_layers.relu_moments(settings, source, STREAM) for source in (images(), shifted))
    # H removes the shift; cosines of centered images lose a few digits to the larger entries.
    close(original["recentered"], moved["recentered"], atol=1e-9)
    assert np.abs(original["not_recentered"] - moved["not_recentered"]).max() > 0.1


LAYER = sizes.GaussianLayer(batches=[3, 5], widths=[1, 4], distance=1.5, rows=100, blocks=12)


def start_of(kind, n):
    """Batch and alpha: Definition 12 in five dimensions, or a cluster at 1.5 n/(n-1)."""
    if kind == 0:
        X = np.zeros((5, n))
        X[0, 0], X[1, 1:] = 1, 1 / (n - 1)
        return X, n**2 / ((n - 1) ** 2 + 1)
    R = 1.5 * n / (n - 1)
    X = invariance.separated_cluster(n, R, 0.5 / n**2, STREAM.child(n).generator("batch"), k=5)
    return X, (n / (n - 1) / R) ** 2


@pytest.mark.parametrize(("kind", "n", "width", "block"), [(0, 3, 4, 0), (1, 5, 1, 11), (1, 3, 4, 7), (0, 5, 4, 10)])
def test_sampled_layers_of_theorems_13_and_14(kind, n, width, block):
    data = gaussian_layers.gaussian_layer(LAYER, STREAM, NOTHING_KEPT)
    cell = data.isel(start=kind).sel(batch=n, width=width, block=block)
    (X, alpha), count, m = start_of(kind, n), 100 // width, n - 1
    W = np.sqrt(2 * alpha / width) * STREAM.generator(n, width, block, "weights").standard_normal((count, width, 5))
    mean, nu = X.mean(axis=1), X[:, 1:].mean(axis=1)
    odd, cluster = (np.maximum(W @ (column - mean), 0) for column in (X[:, 0], nu))
    close(cell.odd_square, (odd**2).sum(axis=1).mean())
    close(cell.cluster_square, m**2 * (cluster**2).sum(axis=1).mean())
    close(cell.odd_norm, np.linalg.norm(odd, axis=1).mean())
    close(cell.cluster_norm, m * np.linalg.norm(cluster, axis=1).mean())
    close(cell.odd_mean, np.sqrt(width) * odd.mean())
    close(cell.inner, m * np.abs((odd * cluster).sum(axis=1)).max(), atol=1e-12)
    plain = [np.maximum(W @ column, 0) for column in (X[:, 0], nu)]
    close(cell.inner_not_recentered, m * (plain[0] * plain[1]).sum(axis=1).max(), atol=1e-12)
    second, third = (np.maximum(W @ (X[:, k] - mean), 0) for k in (1, 2))
    apart = ((X[:, 1] - X[:, 2]) ** 2).sum()
    factor = ((second - third) ** 2).sum(axis=1).mean() / apart if kind else np.nan
    close(cell.pair_factor, factor)
    z = np.column_stack([X, nu]) - mean[:, None]
    K = alpha * kernel(z)
    close(cell.alpha, alpha)
    close(cell.expected_odd_square, K[0, 0])
    close(cell.expected_cluster_square, m**2 * K[-1, -1])
    close(cell.expected_inner, m * K[0, -1], atol=1e-12)
    means = alpha / np.pi * np.outer(*2 * [np.linalg.norm(z[:, [0, -1]], axis=0)])
    close(cell.square_of_mean_odd, means[0, 0])
    close(cell.square_of_mean_cluster, m**2 * means[1, 1])
    close(cell.inner_of_means, m * means[0, 1])
    new, cross = K[1:n, 1:n].mean(), K[0, 1:n].mean()
    close(cell.cluster_mean_excess, new / K[-1, -1] - 1, atol=1e-12)
    close(cell.cluster_mean_cosine, cross / np.sqrt(K[0, 0] * new), atol=1e-12)
    if kind:
        close(cell.expected_pair_factor, (K[1, 1] + K[2, 2] - 2 * K[1, 2]) / apart, rtol=1e-6)
        lengths, P = np.linalg.norm(z[:, 1:3], axis=0), alpha * kernel(z, wrong=True)
        close(cell.wrong_pair_factor, (alpha * (lengths**2).sum() - 2 * P[1, 2]) / apart, rtol=1e-6)
    ratio = {1: 1 / np.sqrt(2) * np.sqrt(2 / np.pi)}.get(width)
    if ratio:
        close(cell.norm_ratio, ratio)


def test_contraction_of_clusters():
    settings = sizes.Contraction(batches=[7, 9], spreads=[0.5, 20.0], draws=2, configurations=11, multiplier_up_to=7)
    data = gaussian_layers.contraction(settings, STREAM, NOTHING_KEPT)
    for n, spread, draw in ((7, 0.5, 1), (9, 20.0, 0)):
        X = invariance.perturbed_invariant(n, spread / n**2, STREAM.generator(n, draw, "cluster"))
        z, alpha, pairs = (
            (X - X.mean(axis=1, keepdims=True))[:, 1:],
            n**2 / ((n - 1) ** 2 + 1),
            np.triu_indices(n - 1, 1),
        )
        K = alpha * kernel(z)
        after = np.add.outer(np.diag(K), np.diag(K)) - 2 * K
        before = ((z[:, :, None] - z[:, None]) ** 2).sum(axis=0)
        factor = data.factor.sel(batch=n, spread=spread, draw=draw)
        assert float(factor) == pytest.approx(after[pairs].sum() / before[pairs].sum(), rel=0.05)
    for n, c in ((7, 10), (9, 3)):
        generator, least = STREAM.generator(n, c, "configuration"), n / (n - 1)
        R, spread = least * generator.uniform(1, 3), 10 ** generator.uniform(-4, 2) / n
        X = invariance.separated_cluster(n, R, spread, generator)
        cell, alpha = data.sel(batch=n, configuration=c), (least / R) ** 2
        assert float(cell.alpha) == pytest.approx(alpha)
        z = np.column_stack([X, X[:, 1:].mean(axis=1)])[:, 1:] - X.mean(axis=1)[:, None]
        before, square, pairs = (
            ((z[:, :, None] - z[:, None]) ** 2).sum(axis=0),
            (z**2).sum(axis=0),
            np.triu_indices(n, 1),
        )
        for name, wrong in (("largest_factor", False), ("wrong_largest_factor", True)):
            after = np.add.outer(square, square) - 2 * kernel(z, wrong=wrong)
            largest = (alpha * after[pairs] / before[pairs]).max()
            assert float(cell[name]) == pytest.approx(largest, rel=0.05)
    for n in (7, 9):
        rest = data.sel(batch=n)
        assert float(rest.norm_keeping_alpha) == pytest.approx(n**2 / ((n - 1) ** 2 + 1))
        assert float(rest.invariant_distance) == pytest.approx(np.sqrt(1 + 1 / (n - 1) ** 2))
        assert float(rest.required_distance) == pytest.approx(n / (n - 1))
    assert np.isnan(data.full_multiplier.sel(batch=9))
    assert 0 < float(data.full_multiplier.sel(batch=7)) < 1


@cache
def contraction():
    settings = sizes.Contraction(batches=[7, 8], spreads=[0.5, 20.0], draws=2, configurations=1, multiplier_up_to=7)
    return gaussian_layers.contraction(settings, REST, NOTHING_KEPT)


@pytest.mark.parametrize("n", [7, 8])
def test_a_cluster_at_rest(n):
    """The root mean square distance of the cluster's points from their mean, in units of ||x_1|| / n^2."""
    cell, G = contraction().sel(batch=n), expected_gram_fixed_point(n, "odd")
    cluster = G[1:, 1:] / G[0, 0]
    close(cell.resting_spread, n**2 * np.sqrt(np.diag(cluster).mean() - cluster.mean()), rtol=1e-6)
    close(cell.point_multiplier, odd_map_multiplier(1e-4, n))
    close(cell.family_multiplier, odd_fixed_point(n).multiplier)
    both = [cell.full_multiplier, cell.full_multiplier_of_equal_points]
    starts = [gram_map_multiplier(expected_gram_fixed_point(n, start)) for start in ("odd", "simplex")]
    close(both, starts if n == 7 else [np.nan, np.nan])
    assert starts[0] != pytest.approx(starts[1], rel=1e-3)


def test_cells_of_planar_batches():
    settings = sizes.SignCells(largest_circle=3, planar=[4], spatial=[4], batches=2, draws=2000, steps=100)
    data = full_rank.sign_cells(settings, STREAM)
    assert data.kind.values.tolist() == ["circle"] * 2 + ["Gaussian k=2"] * 2 + ["Gaussian k=3"] * 2
    assert data.n.values.tolist() == [3, 4, 4, 4, 4, 4]
    for place, X in ((0, circle(3)), (3, STREAM.generator("Gaussian k=2", 2, 4, 1).standard_normal((2, 4)))):
        cell, volumes = data.isel(batch=place), sectors(X)
        rows = STREAM.generator("rows", place).standard_normal((2000, 2))
        patterns = {tuple(row) for row in rows @ X > 0}
        assert int(cell.cell_count) == len(volumes)
        assert int(cell.patterns_seen) == len(patterns)
        assert int(cell.strays) == 0
        smallest = volumes <= volumes.min() * (1 + 1e-6)
        close([cell.volume_sum, cell.gamma], [1, volumes.min()])
        close([cell.smallest_share, cell.smallest_count], [volumes[smallest].sum(), smallest.sum()])
        close(cell.volume_sum_without_smallest, volumes[~smallest].sum(), atol=1e-12)
        assert int(cell.pair_count) == len(volumes) / 2
        share = float(cell.smallest_share)
        assert abs(int(cell.smallest_hits) / 2000 - share) < 5 * np.sqrt(share / 2000)
        mirrored = X * np.array([1] * (X.shape[1] - 1) + [-1])
        fine = 2 * np.pi * (np.arange(4000) + 0.5) / 4000
        flipped = {tuple(row) for row in np.stack([np.cos(fine), np.sin(fine)], axis=1) @ mirrored > 0}
        strays = sum(tuple(row) not in flipped for row in rows @ X > 0)
        assert abs(int(cell.strays_of_reflection) - strays) <= 5  # rows next to an edge of the grid
    assert data.cell_count.values[-2:].tolist() == [4**2 - 4 + 2] * 2
    close(data.volume_sum, 1, atol=1e-9)
    crossed = data.not_one.sel(shape="k=2, n=3")
    assert int(crossed.sel(step="corrected")) == 0
    assert int(crossed.sel(step="printed")) > 0
    assert int(crossed.sel(step="overshot")) > 0


def test_chance_of_the_next_row():
    """Rows w raise the rank where ReLU(w X) is not in the span of the rows so far."""
    settings = sizes.StalledRows(planar=[2], spatial=[2], configurations=2, draws=400)
    data = full_rank.stalled_rows(settings, STREAM)
    for case, k in ((0, 2), (1, 3)):
        generator = STREAM.generator(k, 2, 1)
        X, W = full_rank._stalled(k, 2, generator)
        before = np.maximum(W @ X, 0)
        assert np.linalg.matrix_rank(before) == np.linalg.matrix_rank(before[:, :2]) == 2
        assert np.linalg.matrix_rank(before[:-1, :2]) < 2
        rows = generator.standard_normal((400, k))
        hits = [np.linalg.matrix_rank(np.vstack([before, np.maximum(row @ X, 0)])) == 3 for row in rows]
        cell = data.isel(case=case).sel(configuration=1)
        assert float(cell.frequency) == np.mean(hits)
        chance = float(cell.probability)
        assert abs(chance - np.mean(hits)) < 5 * np.sqrt(chance * (1 - chance) / 400) + 1e-9
        if k == 2:
            assert float(cell.gamma) == pytest.approx(sectors(X).min())


ROWS = sizes.RowsToFullRank(
    circles=[3], planar=[3], spatial=[3], recentered=[3], batches=2, draws=20, wait_points=3, wait_draws=100
)


def test_rows_until_full_rank():
    data = full_rank.rows_to_full_rank(ROWS, STREAM, NOTHING_KEPT)
    assert data.recentered.values.tolist() == [0, 0, 0, 0, 0, 1, 1]
    moved = STREAM.generator("recentred", 2, 3, 1).standard_normal((2, 3)) + 5
    planar = STREAM.generator("Gaussian k=2", 2, 3, 0).standard_normal((2, 3))
    for place, X in ((0, circle(3)), (1, planar), (6, moved - moved.mean(axis=1, keepdims=True))):
        cell = data.isel(batch=place)
        np.testing.assert_array_equal(cell.y, draws_of.rows_to_full_rank(X, STREAM.generator("rows", place), 20))
        least = [0.5, sectors(X[:, :2]).min(), sectors(X).min()]
        close([cell.gamma, cell.bound], [least[2], 3 / least[2]])
        close(cell.bound_by_column, sum(1 / volume for volume in least))
    waits = np.hstack([circle(3)[:, [2, 0, 1]], [[np.cos(np.radians(1))], [np.sin(np.radians(1))]]])
    second = STREAM.generator("waits", 2, 4, 1).standard_normal((2, 4))
    for place, X in ((0, waits), (2, second)):
        reached = draws_of.rows_to_rank_by_column(X[:, :3], STREAM.generator("waits", place), 100)
        np.testing.assert_array_equal(data.wait[place], np.diff(reached, axis=1, prepend=0))
        least = [0.5, *(sectors(X[:, :t]).min() for t in (2, 3, 4))]
        close(data.column_gamma[place], least)
        close(data.wait_gamma[place], least[2])
    hexagon = STREAM.generator("antipodal")
    ranks = draws_of.relu_rank_profile(circle(6), hexagon, 108, 20)
    np.testing.assert_array_equal(data.y_antipodal, 1 + (ranks < 6).sum(axis=1))
    ranks = draws_of.relu_rank_profile(circle(6), STREAM.generator("antipodal"), 108, 100)
    np.testing.assert_array_equal(data.wait_antipodal, 1 + ((ranks >= 5) & (ranks < 6)).sum(axis=1))
    assert len(np.unique(data.y_antipodal)) == 1  # never of full rank, in more rows than the claim on (7b) looks at
    assert data.y_antipodal.min() > 2.05 * 6 / (1 / 6)
    assert data.wait_antipodal.min() > 1 / data.wait_gamma.max()
    alpha, gamma = 2.0, 1 / 6
    curves = data.tail_bound.sel(circle_points=3, alpha=alpha, method="nearest")
    trials = alpha * 3 / gamma
    close(curves.sel(form="geometric"), scipy.stats.binom.cdf(2, trials, gamma))
    close(curves.sel(form="7b"), np.exp(-3 * (alpha - 1 - np.log(alpha))))
    exponent = np.log(1 / alpha) + (alpha / gamma - 1) * np.log((1 - gamma / alpha) / (1 - gamma))
    close(curves.sel(form="7a"), np.exp(-3 * exponent))


def test_tails_of_sums_of_geometric_variables():
    settings = sizes.FullRankTail(points=[2, 5], alphas=[1.3, 2.5], gammas=[0.1, 0.3])
    data = full_rank.full_rank_tail(settings)
    for n, alpha, gamma in ((2, 2.5, 0.1), (5, 1.3, 0.3)):
        rows = np.floor(n * alpha / gamma)
        close(data.log_tail.sel(n=n, alpha=alpha, gamma=gamma), np.log(scipy.stats.nbinom.sf(rows - n, n, gamma)))
        s = np.linspace(1e-6, -np.log(1 - gamma) - 1e-6, 200_001)
        values = np.log(gamma * np.exp(s) / (1 - (1 - gamma) * np.exp(s))) - s * alpha / gamma
        close(data.log_chernoff.sel(alpha=alpha, gamma=gamma), values.min(), atol=1e-7)
        close(data.exponent_a.sel(alpha=alpha, gamma=gamma), -values.min(), atol=1e-7)
        close(data.exponent_b.sel(alpha=alpha), alpha - 1 - np.log(alpha))
        close(data.wrong_exponent_b.sel(alpha=alpha), alpha - 1 + np.log(alpha))
        near = gamma, 2 * alpha / gamma * np.log(alpha)
        close(data.wrong_exponent_a.sel(alpha=alpha, gamma=gamma), -values.min() + near[1], atol=1e-7)
        fine = data.sel(alpha=alpha).sel(gamma_fine=gamma, method="nearest")
        close([fine.exponent_fine, fine.wrong_exponent_fine], [-values.min(), -values.min() + near[1]], atol=1e-7)


RANK = sizes.ReluRank(
    largest_circle=6,
    antipodal_pairs=[3, 4],
    rows=300,
    input_dims=[2, 4],
    points=5,
    record=[2, 6, 40],
    image_rows=[2, 4],
    draws=2,
)


@cache
def ranks():
    return relu_rank.relu_rank(RANK, STREAM)


def rank(X):
    return np.linalg.matrix_rank(X, rtol=1e-10)


def test_ranks_in_the_end():
    data = ranks()
    assert data.case_kind.values.tolist() == ["circle"] * 4 + ["antipodal pairs"] * 2 + ["shifted circle"] * 4
    assert data.points.values.tolist() == [3, 4, 5, 6, 8, 10, 3, 4, 5, 6]
    for case, (X, linear, pairs) in {
        1: (circle(4), 2, 2),
        3: (circle(6), 2, 3),
        4: (pairs_of(3), 3, 3),
        5: (pairs_of(4), 3, 4),
    }.items():
        rows = np.random.default_rng(case).standard_normal((2000, len(X)))
        end = rank(np.maximum(rows @ X, 0))
        cell = data.isel(case=case)
        assert [int(cell[name]) for name in ("rank_cells", "rank_lines", "rank_sampled")] == [end] * 3
        assert [int(cell.rank_linear), int(cell.pairs_given), int(cell.pairs_used)] == [linear, pairs, pairs]
    shifted = data.isel(case=slice(6, 10))
    assert shifted.pairs_given.values.tolist() == [0, 0, 0, 0]
    assert shifted.pairs_used.values.tolist() == [0, 2, 0, 3]
    np.testing.assert_array_equal(shifted.rank_cells, data.rank_cells[:4])


def pairs_of(m):
    D = STREAM.generator("pairs", m).standard_normal((3, m + 2))
    return np.hstack([D, -2 * D[:, :m]])


def test_ranks_row_by_row_of_layers_images_and_products():
    data = ranks()
    for draw in (0, 1):
        generator = STREAM.generator("recentred", draw)
        X, W = generator.standard_normal((2, 6)) + np.array([[5.0], [1.7]]), generator.standard_normal((12, 2))
        Z = W @ X
        ways = {
            "BN(W X)": Z - Z.mean(axis=1, keepdims=True),
            "W (X - mean)": Z - Z.mean(axis=1, keepdims=True),
            "W X / sigma": Z,
        }
        for way, before in ways.items():
            own = [rank(np.maximum(before, 0)[:d]) for d in range(1, 13)]
            assert data.rank_normalized.sel(way=way, draw=draw).values.tolist() == own
        for k in (2, 4):
            generator = STREAM.generator("layer", k, draw)
            X = generator.standard_normal((k, 5))
            own = draws_of.relu_rank_profile(X, generator, 40)[0][[1, 5, 39]]
            assert data["rank"].sel(activation="relu", input_dim=k, draw=draw).values.tolist() == own.tolist()
            assert data["rank"].sel(activation="linear", input_dim=k, draw=draw).values.tolist() == [2, k, k]
        for d in (2, 4):
            W = STREAM.generator("image", d, draw).standard_normal((2, d))
            points = np.random.default_rng(0).standard_normal((2000, 2))
            assert int(data.image.sel(draw=draw, image_row=d)) == rank(np.maximum(points @ W, 0))
            assert int(data.image_linear.sel(draw=draw, image_row=d)) == 2
    product = 0
    for width in (2, 5, 10, 40):
        for low in (1, 2, 3, 8):
            for draw in (0, 1):
                generator = STREAM.generator("product", width, low, draw)
                W = generator.standard_normal((width, 10))
                X = generator.standard_normal((10, low)) @ generator.standard_normal((low, 12))
                own = [rank(W), rank(X), rank(W @ X), rank(np.maximum(W @ X, 0))]
                assert data.product_rank[product].values.tolist() == own
                assert data.product_bound[product].values.tolist() == [max(own[:2]), min(own[:2])]
                product += 1
    assert data.sizes["product"] == product
    assert [int(data[name]) for name in ("rows_many", "layer_points")] == [300, 5]


@pytest.mark.parametrize(("scheme", "margin", "seed"), [("margin 0.5", 0.5, 1), ("margin 2", 2.0, 0), ("he", None, 1)])
def test_point_neurons_before_training(scheme, margin, seed):
    settings = sizes.PointNeurons(points=10, margins=(0.5, 2.0), rates=(0.1, 1.0), steps=3, seeds=2)
    cell = point_neurons(settings, images(), STREAM, NOTHING_KEPT).sel(scheme=scheme, seed=seed)
    assert (int(cell.points), int(cell.steps_made)) == (10, 3)
    order = STREAM.generator(seed, "points").permutation(40)
    U = images().image.values[order].reshape(40, 12).T
    U = U / np.linalg.norm(U, axis=0)
    if margin is None:
        U = U * np.sqrt(12)
        W, b = STREAM.generator(seed, "weights").standard_normal((10, 12)) * np.sqrt(2 / 12), np.zeros(10)
    else:
        cosine = U[:, :10].T @ U[:, :10] - 2 * np.eye(10)
        gap = margin * (1 - cosine.max(axis=1))
        W, b = U[:, :10].T / gap[:, None], -(1 - gap) / gap
    H = np.maximum(W @ U[:, :10] + b[:, None], 0)
    G = H.T @ H
    close(cell.off_diagonal, (G * (1 - np.eye(10))).max() / np.diag(G).min(), atol=1e-12)
    assert float(cell.activity) == (H > 0).mean()
    assert float(cell.silent) == (W @ U[:, 10:] + b[:, None] <= 0).all(axis=0).mean()


def test_cases_of_the_next_row_are_named_by_dimension_and_columns():
    settings = sizes.StalledRows(planar=[1, 3], spatial=[2], configurations=2, draws=100)
    data = full_rank.stalled_rows(settings, REST)
    assert data.case.values.tolist() == ["k=2, t=1", "k=2, t=3", "k=3, t=2"]
    assert int(data.draws) == 100
    X, _ = full_rank._stalled(3, 2, REST.generator(3, 2, 0))
    fine = np.random.default_rng(0).standard_normal((200_000, 3)) @ X > 0
    least = np.unique(fine, axis=0, return_counts=True)[1].min() / len(fine)
    assert abs(float(data.gamma[2, 0]) - least) < 5 * np.sqrt(least / len(fine))


def test_steps_that_change_more_than_one_sign_are_counted_by_form_and_shape():
    settings = sizes.SignCells(largest_circle=3, planar=[3], spatial=[3], batches=1, draws=1000, steps=100)
    data = full_rank.sign_cells(settings, REST)
    assert data.step.values.tolist() == ["printed", "printed, norm squared", "corrected", "overshot"]
    assert data["shape"].values.tolist() == ["k=2, n=3", "k=3, n=6", "k=8, n=12"]
    assert (int(data.rows_tried), int(data.draws)) == (100, 1000)
    for column, (k, n) in enumerate(((2, 3), (3, 6), (8, 12))):
        generator = REST.generator("steps", k)
        X = generator.standard_normal((k, n)) * generator.uniform(0.2, 5.0, n)
        w = generator.standard_normal((100, k))
        for row, step in enumerate(full_rank.STEPS.values()):
            changed = ((step(w, X) @ X > 0) != (w @ X > 0)).sum(axis=1)
            assert int(data.not_one[row, column]) == (changed != 1).sum()
