"""Efficient against naive, side by side, equal results first: `python benchmarks/bn_decomposed_gaussian_layers.py`.

1. A Gaussian layer drawn from the QR factor of the batch against explicit weights: the same numbers when the weights
   are the same (W X = (W Q) R), the same law when they are not, then the time.
2. The fixed point with one odd point: root of a map of one angle against iterating the n x n Gram matrix.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.kernel import expected_gram_step
from repdyn.bn_decomposed.theory.layers import bn_components, random_layer, random_layer_naive
from repdyn.bn_decomposed.theory.odd_cluster import cluster_width, odd_fixed_point, odd_gram, odd_map

COMPONENTS = {"recenter": True, "rescale": None, "relu": True}


def seconds(run: Callable[[], object], repeats: int) -> float:
    """Least CPU time of several runs."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def same_numbers(rng: np.random.Generator, n: int = 20, width: int = 500) -> float:
    X, W = rng.standard_normal((width, n)), rng.standard_normal((width, width))
    Q, R = np.linalg.qr(X)
    explicit, reduced = bn_components(X, W, True, None, True), bn_components(R, W @ Q, True, None, True)
    return float(np.linalg.norm(explicit - reduced) / np.linalg.norm(explicit))


def same_law(draws: int = 300, n: int = 8, width: int = 64, depth: int = 4) -> float:
    """p-value of Kolmogorov and Smirnov for the mean angle of a batch after some layers, same batch, own weights."""
    X = np.random.default_rng(1).standard_normal((width, n))
    means = []
    for seed, layer in ((2, random_layer), (3, random_layer_naive)):
        rng = np.random.default_rng(seed)
        means.append([])
        for _ in range(draws):
            Y = X
            for _ in range(depth):
                Y = layer(Y, width, rng, **COMPONENTS)
            means[-1].append(pair_angles(Y).mean())
    return float(stats.ks_2samp(*means).pvalue)


def layers() -> None:
    rng = np.random.default_rng(0)
    difference, p = same_numbers(rng), same_law()
    assert difference < 1e-12, "the two layers differ on the same weights"
    assert p > 1e-4, "the two layers differ in law"
    print(f"same weights, relative difference   {difference:.1e}")
    print(f"own weights, p of equal law (KS)    {p:.2f}")
    print(f"{'n':>5}{'width':>7}{'explicit ms':>13}{'QR ms':>9}{'ratio':>8}")
    for n, width, repeats in ((20, 1000, 5), (20, 4000, 3), (64, 1000, 5), (256, 1000, 3)):
        X = rng.standard_normal((width, n))
        naive, fast = (
            seconds(lambda layer=layer, X=X, width=width: layer(X, width, rng, **COMPONENTS), repeats)
            for layer in (random_layer_naive, random_layer)
        )
        print(f"{n:5}{width:7}{1e3 * naive:13.2f}{1e3 * fast:9.2f}{naive / fast:8.1f}")


def iterated(n: int) -> float:
    """Cluster angle in degrees where the n x n map stops moving by more than 1e-13."""
    G = odd_gram(0.5 * cluster_width(n), n)
    while True:
        following = expected_gram_step(G)
        following /= np.trace(following)
        if np.abs(following - G).max() < 1e-13:
            return float(np.degrees(np.arccos(following[1, 2] / following[1, 1])))
        G = following


def fixed_points() -> None:
    print(f"\n{'n':>5}{'difference deg':>16}{'n x n ms':>11}{'root ms':>9}{'ratio':>8}{'one step, ratio':>17}")
    for n in (10, 50, 100):
        difference = abs(iterated(n) - np.degrees(odd_fixed_point(n).intra_angle))
        assert difference < 1e-4, "the two ways to the fixed point differ"
        naive, fast = seconds(lambda n=n: iterated(n), 1), seconds(lambda n=n: odd_fixed_point(n), 3)
        G, theta = odd_gram(0.1, n), 0.1
        many = seconds(lambda G=G: [expected_gram_step(G) for _ in range(100)], 3)
        scalar = seconds(lambda n=n, theta=theta: [odd_map(theta, n) for _ in range(100)], 3)
        print(f"{n:5}{difference:16.1e}{1e3 * naive:11.1f}{1e3 * fast:9.2f}{naive / fast:8.0f}{many / scalar:17.1f}")


if __name__ == "__main__":
    layers()
    fixed_points()
