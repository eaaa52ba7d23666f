"""Small experiments recomputed by short scripts that share only the random draws."""

import numpy as np
from scipy.linalg import expm
from scipy.stats import ortho_group

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments.random_networks import orthogonality_gap
from repdyn.bn_decomposed.settings.study import OrthogonalityGap
from repdyn.bn_mean_field.experiments.batch_norm_eps import batch_norm_eps
from repdyn.bn_mean_field.settings import BatchNormEps
from repdyn.leaky_resnets.experiments.identity_costs import identity_costs
from repdyn.leaky_resnets.settings.theory import IdentityCosts
from repdyn.truncation_flow.experiments.audits import random_clusters
from repdyn.truncation_flow.settings import RandomClusters
from repdyn.universality.experiments.two_points import default_ensemble
from repdyn.universality.settings.two_points import DefaultEnsemble, NetworkSettings


def test_gaps_of_random_linear_networks_equal_recomputation():
    """bn_decomposed: Gram matrices of batches that go through drawn weights, neuron by neuron rescaled."""
    settings = OrthogonalityGap(batch=4, input_dim=5, widths=(8, 12), depth=3, seeds=2)
    stream = Stream(3, ("recomputed",))
    gaps = orthogonality_gap(settings, stream)["gap"]
    for rescale in ("rms", "std"):
        for width in (8, 12):
            for seed in (0, 1):
                X = stream.generator(seed, "batch").standard_normal((5, 4))
                weights = stream.generator(seed, width, "weights")
                for layer in range(4):
                    if layer:
                        R = np.linalg.qr(X, mode="r")  # the package draws the weights in coordinates of the batch
                        Z = weights.standard_normal((width, len(R))) @ R
                        deviation = Z - Z.mean(axis=1, keepdims=True) if rescale == "std" else Z
                        X = Z / np.sqrt((deviation**2).mean(axis=1, keepdims=True))
                    G = X.T @ X / np.trace(X.T @ X)
                    gap = np.sqrt(((G - np.eye(4) / 4) ** 2).sum())
                    np.testing.assert_allclose(
                        gaps.sel(rescale=rescale, width=width, seed=seed, layer=layer), gap, rtol=1e-9
                    )


def test_radial_fractions_equal_recomputation():
    """bn_mean_field: the gradient by central differences of the loss written out."""
    settings = BatchNormEps(draws=2, samples=50, dimension=3, width=4, radii=(0.05, 2.0), eps=1e-2)
    stream = Stream(3, ("recomputed",))
    fractions = batch_norm_eps(settings, stream)["radial"]
    for draw in (0, 1):
        rng = stream.generator(draw)
        mixing = np.eye(3) + rng.standard_normal((3, 3)) / 2
        x = np.exp(rng.standard_normal((50, 3)) / 2) @ mixing
        x -= x.mean(axis=0)
        y = np.sin(x[:, 0]) + x[:, 1] + 0.1 * rng.standard_normal(50)
        directions = rng.standard_normal((4, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        a = rng.standard_normal(4)

        def loss(b, a=a, x=x, y=y):
            z = x @ b.T
            normal = (z - z.mean(axis=0)) / np.sqrt(z.var(axis=0) + 1e-2)
            return ((np.maximum(normal, 0) @ a / 4 - y) ** 2).mean() / 2

        for radius in (0.05, 2.0):
            b, h = radius * directions, 1e-6 * radius
            steps = h * np.eye(12).reshape(12, 4, 3)
            slope = np.array([(loss(b + step) - loss(b - step)) / (2 * h) for step in steps]).reshape(4, 3)
            radial = np.abs((slope * directions).sum(axis=1)) / np.linalg.norm(slope, axis=1)
            np.testing.assert_allclose(
                fractions.sel(with_eps=1, draw=draw, radius=radius), np.median(radial), rtol=1e-4
            )


def test_costs_of_identity_equal_recomputation():
    """leaky_resnets: least-squares weights with W S = A, ranks of eigenvalues of A^T A."""
    stream = Stream(3, ("recomputed",))
    costs = identity_costs(IdentityCosts(draws=2, searches=2), stream, Checkpoint(None, ""))
    for w, points in ((3, 6), (9, 4), (12, 40)):
        for bias in (0, 1):
            rng = stream.generator("random", w, points)
            for draw in (0, 1):
                A = rng.standard_normal((w, points))
                S = np.vstack([np.maximum(A, 0), np.ones((bias, points))])
                weights = np.linalg.lstsq(S.T, A.T, rcond=None)[0]
                s = np.sqrt(np.linalg.eigvalsh(A @ A.T if w < points else A.T @ A))
                here = costs.sel(shape=f"{w} x {points}", bias=bias, draw=draw)
                np.testing.assert_allclose(here["plain_cost"], (weights**2).sum(), rtol=1e-7)
                np.testing.assert_allclose(
                    here["gap"], np.linalg.norm(weights.T @ S - A) / np.linalg.norm(A), atol=1e-7
                )
                np.testing.assert_allclose(here["bound_printed"], s.sum() ** 2 / (s**2).sum(), rtol=1e-9)
                corrected = s.sum() ** 2 / ((s**2).sum() + bias * points)
                np.testing.assert_allclose(here["bound_corrected"], corrected, rtol=1e-9)
                np.testing.assert_allclose(here["spectral_rank"], (s**2).sum() / s.max() ** 2, rtol=1e-9)


def cost_of_cluster(X, target, R, beta):
    return sum(np.sum((np.maximum(R @ (x + beta), 0) - R @ (beta + target)) ** 2) for x in X) / (2 * len(X))


def slope(function):
    return (function(1e-6) - function(-1e-6)) / 2e-6


def slopes_of_cluster(X, target, R, beta):
    """Derivatives by the bias; and the steepest descent of the weights, an antisymmetric matrix.

    In the metric Tr(A^T A) a turn in the plane of two coordinates has the length sqrt(2).
    """
    Q = len(beta)
    bias = np.array([slope(lambda h, e=e: cost_of_cluster(X, target, R, beta + h * e)) for e in np.eye(Q)])
    turning = np.zeros((Q, Q))
    for i in range(Q):
        for j in range(i):
            turn = np.zeros((Q, Q))
            turn[i, j], turn[j, i] = 1, -1
            turning -= turn * slope(lambda h, turn=turn: cost_of_cluster(X, target, expm(h * turn) @ R, beta)) / 2
    return bias, turning


def test_cost_rates_of_random_clusters_equal_recomputation():
    """truncation_flow: the cost's derivatives by central differences, the printed weight flow point by point."""
    stream = Stream(3, ("recomputed",))
    rates = random_clusters(RandomClusters(dimensions=(2, 3), points=(5, 8), draws=3), stream)
    for Q, N in ((2, 5), (3, 8)):
        rng = stream.generator(Q, N)
        for draw in (0, 1, 2):
            X, target = rng.normal(size=(N, Q)), rng.normal(size=Q)
            R = ortho_group.rvs(Q, random_state=rng)
            beta = -target + 0.1 * rng.normal(size=Q)
            bias, true = slopes_of_cluster(X, target, R, beta)
            b, printed = R @ (beta + target), np.zeros((Q, Q))
            for x in X:
                u = R @ (x + beta)
                H, M = np.diag((u > 0) * 1.0), (np.outer(u, b) + np.outer(b, u)) / 2
                printed += (H @ M - M @ H) / N
            here, still = rates.sel(case=f"Q={Q}, N={N}", draw=draw), -(bias**2).sum()
            np.testing.assert_allclose(here["corrected_rate"], still - (true**2).sum(), rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(here["printed_rate"], still - (true * printed).sum(), rtol=1e-6, atol=1e-9)
            cosine = (printed * true).sum() / np.linalg.norm(printed) / np.linalg.norm(true)
            np.testing.assert_allclose(here["cosine"], cosine, rtol=1e-5)


def test_two_point_ensemble_equals_recomputation():
    """universality: descent written out with matrices; h of every layer, y, w and the loss before each step."""
    about = {"connections": "dense", "dropout": 0.0, "channels": 1, "kernel": 1, "hidden": 3, "units": 4}
    row = NetworkSettings(nonlinearity="leaky relu", gain=1.1, learning_rate=0.05, **about)
    settings = DefaultEnsemble(units=5, seeds=2, epochs=40, every=8, stop=0.0, dtype="float64", engine="batched")
    stream = Stream(3, ("universality", "recomputed"))
    ensemble = default_ensemble(settings, row, stream, "cpu", Checkpoint(None, ""))
    X, Y = np.array([[-1.0, 0.0]]), np.array([[0.6, 0.6 + np.sqrt(0.5)]])
    for seed in (0, 1):
        rng = Stream(3, ("universality", "two points")).generator(seed, "weights")
        sizes = ((5, 1), *[(5, 5)] * 2, (1, 5))
        W = [1.1 * np.sqrt(2 / sum(size)) * rng.standard_normal(size) for size in sizes]
        c = [np.zeros((size[0], 1)) for size in sizes]
        for step in range(40):
            a, z = [X], []
            for k in range(4):
                z.append(W[k] @ a[k] + c[k])
                a.append(np.where(z[k] > 0, z[k], 0.01 * z[k]) if k < 3 else z[k])
            if step % 8 == 0:
                here = ensemble.sel(seed=seed, epoch=step)
                apart, wanted = a[4][0, 1] - a[4][0, 0], Y[0, 1] - Y[0, 0]
                np.testing.assert_allclose(here["h"], [np.sum((h[:, 1] - h[:, 0]) ** 2) for h in a[1:4]], rtol=1e-9)
                np.testing.assert_allclose(here["y"], apart**2, rtol=1e-9)
                np.testing.assert_allclose(here["w"], apart * (apart - wanted), rtol=1e-9)
                np.testing.assert_allclose(here["loss"], ((a[4] - Y) ** 2).sum() / 4, rtol=1e-9)
                np.testing.assert_allclose(here["offset2"], (a[4] - Y).mean() ** 2, rtol=1e-9)
            back = (a[4] - Y) / 2
            for k in (3, 2, 1, 0):
                before = W[k].T @ back * (np.where(z[k - 1] > 0, 1, 0.01) if k else 1)
                W[k] = W[k] - 0.05 * back @ a[k].T
                c[k] = c[k] - 0.05 * back.sum(axis=1, keepdims=True)
                back = before
