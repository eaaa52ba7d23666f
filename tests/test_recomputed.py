"""Small experiments computed a second time by short scripts that share the random draws and nothing else."""

import numpy as np

from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments.random_networks import orthogonality_gap
from repdyn.bn_decomposed.settings.study import OrthogonalityGap
from repdyn.bn_mean_field.experiments.batch_norm_eps import batch_norm_eps
from repdyn.bn_mean_field.settings import BatchNormEps
from repdyn.leaky_resnets.experiments.identity_costs import identity_costs
from repdyn.leaky_resnets.settings.theory import IdentityCosts


def test_gaps_of_random_linear_networks():
    """bn_decomposed: Gram matrices of batches that go through drawn weights, neuron by neuron rescaled."""
    settings = OrthogonalityGap(batch=4, input_dim=5, widths=(8, 12), depth=3, seeds=2)
    stream = Stream(3, ("recomputed",))
    found = orthogonality_gap(settings, stream)["gap"]
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
                        found.sel(rescale=rescale, width=width, seed=seed, layer=layer), gap, rtol=1e-9
                    )


def test_radial_fractions_under_batch_normalization():
    """bn_mean_field: the gradient by central differences of the loss written out."""
    settings = BatchNormEps(draws=2, samples=50, dimension=3, width=4, radii=(0.05, 2.0), eps=1e-2)
    stream = Stream(3, ("recomputed",))
    found = batch_norm_eps(settings, stream)["radial"]
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
            slope = np.array([(loss(b + one) - loss(b - one)) / (2 * h) for one in steps]).reshape(4, 3)
            radial = np.abs((slope * directions).sum(axis=1)) / np.linalg.norm(slope, axis=1)
            np.testing.assert_allclose(found.sel(with_eps=1, draw=draw, radius=radius), np.median(radial), rtol=1e-4)


def test_costs_of_identity():
    """leaky_resnets: least-squares weights with W S = A, ranks of eigenvalues of A^T A."""
    stream = Stream(3, ("recomputed",))
    found = identity_costs(IdentityCosts(draws=2, searches=2), stream)
    for w, points in ((3, 6), (9, 4), (12, 40)):
        for bias in (0, 1):
            rng = stream.generator("random", w, points)
            for draw in (0, 1):
                A = rng.standard_normal((w, points))
                S = np.vstack([np.maximum(A, 0), np.ones((bias, points))])
                weights = np.linalg.lstsq(S.T, A.T, rcond=None)[0]
                s = np.sqrt(np.linalg.eigvalsh(A @ A.T if w < points else A.T @ A))
                here = found.sel(shape=f"{w} x {points}", bias=bias, draw=draw)
                np.testing.assert_allclose(here["plain_cost"], (weights**2).sum(), rtol=1e-7)
                np.testing.assert_allclose(
                    here["gap"], np.linalg.norm(weights.T @ S - A) / np.linalg.norm(A), atol=1e-7
                )
                np.testing.assert_allclose(here["bound_printed"], s.sum() ** 2 / (s**2).sum(), rtol=1e-9)
                corrected = s.sum() ** 2 / ((s**2).sum() + bias * points)
                np.testing.assert_allclose(here["bound_corrected"], corrected, rtol=1e-9)
                np.testing.assert_allclose(here["spectral_rank"], (s**2).sum() / s.max() ** 2, rtol=1e-9)
