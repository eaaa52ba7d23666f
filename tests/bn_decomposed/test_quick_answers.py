"""Questions of the study's page whose quick answer is wrong: the quick answer and the right one, computed."""

import numpy as np
import pytest
from tests.bn_decomposed.reference import angles_of, edges, step


def finite_width(gram, width, rng):
    """The same step by one layer of Gaussian weights, whose neurons are Gaussian with the batch's inner products."""
    values, vectors = np.linalg.eigh(gram)
    neurons = rng.normal(size=(width, len(gram))) * np.sqrt(np.maximum(values, 0)) @ vectors.T
    outputs = np.maximum(neurons - neurons.mean(1, keepdims=True), 0)
    return 2 / width * outputs.T @ outputs


def deep(layer, gram, layers):
    for _ in range(layers):
        gram = layer(gram)
        gram = gram / gram.max()
    return gram


def odd_point_and_cluster(n, degrees):
    """Inner products of one point of length 1 and, at right angles to it, n - 1 points of length 1 / (n - 1)."""
    gram = np.full((n, n), np.cos(np.radians(degrees)))
    np.fill_diagonal(gram, 1)
    gram[0, 1:] = gram[1:, 0] = 0
    lengths = np.r_[1, np.full(n - 1, 1 / (n - 1))]
    return gram * np.outer(lengths, lengths)


def test_narrow_cluster_widens_to_the_same_angle_as_a_wide_one():
    rng = np.random.default_rng(0)
    narrow = odd_point_and_cluster(20, 4)
    path = [angles_of(deep(step, narrow, layers))[1, 2] for layers in range(60)]
    np.testing.assert_allclose(path[:2], [4, 4.17], atol=0.005)
    assert np.all(np.diff(path) > 0)
    ends = [angles_of(deep(step, odd_point_and_cluster(20, start), 500)) for start in (4, 50)]
    np.testing.assert_allclose([end[1, 2] for end in ends], 24.5, atol=0.05)
    np.testing.assert_allclose([end[0, 1] for end in ends], 89.8, atol=0.05)
    sampled = [deep(lambda g: finite_width(g, 500, rng), narrow, 150) for _ in range(8)]
    assert np.mean([angles_of(gram)[1:, 1:][np.triu_indices(19, 1)] for gram in sampled]) == pytest.approx(
        24.5, rel=0.2
    )


def layers_until_one_point_is_twice_as_long(n, width, rng):
    gram, layer = np.eye(n), 0
    while True:
        gram, layer = deep(lambda gram: finite_width(gram, width, rng), gram, 1), layer + 1
        second, first = np.sqrt(np.sort(gram.diagonal())[-2:])
        if first > 2 * second or layer == 1000:
            return layer


def test_wider_networks_wait_longer_for_an_odd_point():
    rng = np.random.default_rng(0)
    waits = [np.median([layers_until_one_point_is_twice_as_long(10, w, rng) for _ in range(50)]) for w in (50, 800)]
    np.testing.assert_allclose(waits, [22, 75], rtol=0.3)
    almost_symmetric = np.eye(10) * np.where(np.arange(10) == 0, 1.02, 1)
    gram = deep(step, almost_symmetric, 1000)
    np.testing.assert_allclose(gram.diagonal(), 1, atol=1e-9)
    assert np.ptp(angles_of(gram)[np.triu_indices(10, 1)]) < 1e-6


def largest_rank(columns):
    """Largest rank of relu(W X) for points of the plane: a row is w x where w x > 0, so that cells of w decide."""
    ends = np.unique(edges(columns).round(9))
    middle = ends + np.diff(ends, append=ends[0] + 2 * np.pi) / 2
    cells = [columns * (np.array([np.cos(t), np.sin(t)]) @ columns > 0) for t in middle]
    return np.linalg.matrix_rank(np.vstack(cells), tol=1e-9)


def test_hexagon_off_the_origin_never_reaches_full_rank():
    turn = np.pi / 3 * np.arange(6)
    x, y = hexagon = np.array([3 + np.cos(turn), 1 + np.sin(turn)])
    assert np.abs(np.outer(x, y) - np.outer(y, x))[np.triu_indices(6, 1)].min() > 0.1, "no two points are collinear"
    centered = hexagon - hexagon.mean(1, keepdims=True)
    assert (largest_rank(hexagon), largest_rank(centered)) == (6, 5)
    weights = np.random.default_rng(0).normal(size=(20_000, 2))
    assert np.linalg.matrix_rank(np.maximum(weights @ centered, 0), tol=1e-9) == 5


@pytest.mark.parametrize("n", [4, 6, 8])
def test_rows_of_three_clusters_do_not_double_with_the_layers(n):
    rows = np.random.default_rng(n).choice(1000, size=(1, n), replace=False)
    for layer in range(1, 13):
        above = n * rows - rows.sum(1, keepdims=True)  # n (x - mean), in integers
        rows = np.maximum(np.concatenate([above, -above]), 0)
        rows //= np.maximum(np.gcd.reduce(rows, axis=1, keepdims=True), 1)
        clusters = 1 + (np.diff(np.sort(rows, axis=1), axis=1) > 0).sum(1)
        assert len(rows) == 2**layer
        assert (clusters - 2).sum() == n - 2
        assert (clusters > 2).sum() <= n - 2


def test_dividing_by_the_spread_without_subtracting_the_mean_collapses_a_batch():
    rng = np.random.default_rng(0)
    start = rng.normal(size=(128, 8))

    def cosines(scale, points):
        for _ in range(60):
            points = rng.normal(size=(128, 128)) @ points
            points = points / scale(points)
        points = points / np.linalg.norm(points, axis=0)
        return (points.T @ points)[np.triu_indices(8, 1)]

    spread = lambda z: z.std(1, keepdims=True)  # noqa: E731
    root_mean_square = lambda z: np.sqrt((z**2).mean(1, keepdims=True))  # noqa: E731
    assert np.abs(cosines(root_mean_square, start)).max() < 5 / np.sqrt(128)
    assert cosines(spread, start).min() > 0.999
    centered = start - start.mean(1, keepdims=True)
    assert cosines(spread, centered).mean() == pytest.approx(-1 / 7, abs=0.02)
