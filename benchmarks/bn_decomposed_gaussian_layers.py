"""Gaussian layers beside other ways, for docs/performance.md, and the fixed point with one odd point.

A layer drawn from the QR factor of the batch stands against explicit weights: the same numbers when the weights are the
same (W X = (W Q) R), then the time.

    python benchmarks/bn_decomposed_gaussian_layers.py

prints what the page does not hold:

1. Whether the layers have the same law when the weights are not the same.
2. The fixed point with one odd point: root of a map of one angle against iterating the n x n Gram matrix.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from collections.abc import Callable

import measuring
import numpy as np
import torch
from measuring import OURS, Limit, Race, Row, Way, products
from scipy import stats

from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.kernel import expected_gram_step
from repdyn.bn_decomposed.theory.layers import bn_components, propagate, random_layer, random_layer_naive
from repdyn.bn_decomposed.theory.odd_cluster import cluster_width, odd_fixed_point, odd_gram, odd_map

COMPONENTS = {"recenter": True, "rescale": None, "relu": True}


def seconds(run: Callable[[], object], repeats: int) -> float:
    """Least CPU time of several runs."""
    return min(measuring.seconds(run) for _ in range(repeats))


def by_torch(n: int, width: int, depth: int) -> tuple[Callable[..., np.ndarray], Callable[[], object]]:
    """The layers with given weights, and with its own from some batch."""
    generator, start = torch.Generator().manual_seed(0), torch.randn(width, n, dtype=torch.float64)

    def layer(X: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
        Z = W @ X
        return torch.relu(Z - Z.mean(dim=1, keepdim=True))

    def run() -> None:
        X = start
        for _ in range(depth):
            X = layer(X, torch.randn(width, width, dtype=torch.float64, generator=generator))
            X /= X.abs().max()

    def given(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        X = torch.from_numpy(X)
        for W in weights:
            X = layer(X, torch.from_numpy(W))
        return X.numpy()

    return given, run


def by_jax(n: int, width: int, depth: int) -> tuple[Callable[..., np.ndarray], Callable[[], object]]:
    """The same by jit and lax.scan."""
    import jax
    import jax.numpy as jnp
    import peers_jax  # noqa: F401 (one thread, float64)

    def layer(X: jax.Array, W: jax.Array) -> jax.Array:
        Z = W @ X
        return jnp.maximum(Z - Z.mean(axis=1, keepdims=True), 0)

    def step(X: jax.Array, key: jax.Array) -> tuple[jax.Array, None]:
        X = layer(X, jax.random.normal(key, (width, width), jnp.float64))
        return X / jnp.abs(X).max(), None

    start = jax.random.normal(jax.random.key(0), (width, n), jnp.float64)
    several = jax.jit(lambda key: jax.lax.scan(step, start, jax.random.split(key, depth))[0])

    def given(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        for W in weights:
            X = layer(jnp.asarray(X), jnp.asarray(W))
        return np.asarray(X)

    return given, lambda: several(jax.random.key(1)).block_until_ready()


def reduced(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Ours on given weights: W X = (W Q) R."""
    for W in weights:
        Q, R = np.linalg.qr(X)
        X = bn_components(R, W @ Q, **COMPONENTS)
    return X


def explicit(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    for W in weights:
        X = bn_components(X, W, **COMPONENTS)
    return X


def layers_race(n: int, width: int, depth: int) -> Race:
    """Two layers on the same weights agree; then each way draws its own."""
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((width, n)), rng.standard_normal((2, width, width))

    def naive() -> None:
        Y = X
        for _ in range(depth):
            Y = random_layer_naive(Y, width, rng, **COMPONENTS)
            Y /= Y.max()

    torch_given, torch_run = by_torch(n, width, depth)
    jax_given, jax_run = by_jax(n, width, depth)
    ways = {
        "numpy, all weights": Way(lambda: explicit(X, weights), naive, depth),
        "torch, all weights": Way(lambda: torch_given(X, weights), torch_run, depth),
        "JAX, all weights": Way(lambda: jax_given(X, weights), jax_run, depth),
        OURS: Way(lambda: reduced(X, weights), lambda: propagate(X, width, depth, rng, **COMPONENTS), depth),
    }
    draws = Limit("its random numbers", (lambda: rng.standard_normal((width, n)),), 1)
    return Race(ways, 1e-12, [products([(width, n, n)], dtype="float64"), draws])


ROWS = [
    Row(
        engine="bn_decomposed, Gaussian layers",
        name=f"{n} points, width {width}",
        work="a random layer with recentering and ReLU",
        unit="layer",
        build=layers_race,
        size={"n": n, "width": width, "depth": depth},
        tiny={"n": 4, "width": 6, "depth": 2},
    )
    for n, width, depth in ((20, 1000, 5), (256, 1000, 2))
]


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


def law() -> None:
    p = same_law()
    assert p > 1e-4, "the two layers differ in law"
    print(f"own weights, p of equal law (KS)    {p:.2f}")


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
    law()
    fixed_points()
