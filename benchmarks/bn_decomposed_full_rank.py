"""Rank of a growing matrix, and the smallest cell: the methods of the study against the plain ones, side by side.

Run: python benchmarks/bn_decomposed_full_rank.py

Results are compared before anything is timed. The first table follows rank
ReLU(W^(d) X) row by row: incremental Gram-Schmidt, n^2 operations per row, all trials at once, against one singular
value decomposition per row and trial. The second finds gamma(X) exactly from the arrangement and by Monte Carlo with
enough rows for a standard error of 5 %, at most four million.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from repdyn.bn_decomposed.theory.full_rank import relu_rank_profile
from repdyn.bn_decomposed.theory.largest_rank import exact_method
from repdyn.bn_decomposed.theory.rank import NEW_DIRECTION, cell_volume_min, cells, circle_batch

TRIALS = 100
STANDARD_ERROR = 0.05
LARGEST_DRAW = 4_000_000


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Least processor time of a few runs."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def rank_by_svd(X: np.ndarray, rng: np.random.Generator, rows: int, trials: int) -> np.ndarray:
    """`relu_rank_profile` by a singular value decomposition per row of every trial that is not yet full; same rows."""
    n = X.shape[1]
    rank, values = np.zeros((trials, rows), dtype=int), np.zeros((trials, rows, n))
    for row in range(rows):
        growing = np.flatnonzero(rank[:, row - 1] < n) if row else np.arange(trials)
        values[growing, row] = np.maximum(rng.standard_normal((growing.size, len(X))) @ X, 0)
        rank[:, row] = n
        rank[growing, row] = np.linalg.matrix_rank(values[growing, : row + 1], rtol=NEW_DIRECTION)
    return rank


def compare_ranks() -> None:
    print(f"rank of ReLU(W X), row by row, {TRIALS} trials (ms)")
    print(f"{'batch':>18} {'rows':>5} {'Gram-Schmidt':>13} {'SVD per row':>12} {'ratio':>6}")
    for name, X, rows in (
        ("circle, n = 5", circle_batch(5), 15),
        ("circle, n = 15", circle_batch(15), 40),
        ("Gaussian, n = 40", np.random.default_rng(0).standard_normal((10, 40)), 60),
    ):
        fast = relu_rank_profile(X, np.random.default_rng(1), rows, TRIALS)
        slow = rank_by_svd(X, np.random.default_rng(1), rows, TRIALS)
        assert (fast == slow).all(), "the two ways to the rank differ"
        a = seconds(lambda X=X, rows=rows: relu_rank_profile(X, np.random.default_rng(1), rows, TRIALS))
        b = seconds(lambda X=X, rows=rows: rank_by_svd(X, np.random.default_rng(1), rows, TRIALS), 1)
        print(f"{name:>18} {rows:5d} {1e3 * a:13.1f} {1e3 * b:12.1f} {b / a:6.0f}")


def sampled_gamma(X: np.ndarray, draws: int) -> float:
    """Frequency of the smallest cell, which the exact method has named; without it the estimate would be biased."""
    signs, volumes = cells(X, exact_method(X))
    smallest = np.packbits(signs[np.argmin(volumes)] > 0)
    rng, hits, block = np.random.default_rng(2), 0, 200_000
    for start in range(0, draws, block):
        W = rng.standard_normal((min(block, draws - start), len(X)))
        hits += int((np.packbits(W @ X > 0, axis=1) == smallest).all(axis=1).sum())
    return hits / draws


def compare_gammas() -> None:
    print(f"\ngamma(X) exactly and by Monte Carlo, standard error {STANDARD_ERROR:.0%} or {LARGEST_DRAW:.0e} rows (ms)")
    print(f"{'batch':>18} {'gamma':>9} {'sampled':>9} {'rows':>8} {'exact':>7} {'sampling':>9} {'ratio':>7}")
    rng = np.random.default_rng(3)
    for name, X in (
        ("circle, n = 9", circle_batch(9)),
        ("Gaussian, k=2 n=8", rng.standard_normal((2, 8))),
        ("Gaussian, k=3 n=5", rng.standard_normal((3, 5))),
    ):
        exact = cell_volume_min(X, exact_method(X))
        draws = min(LARGEST_DRAW, int(1 / (exact * STANDARD_ERROR**2)))
        sampled = sampled_gamma(X, draws)
        assert abs(sampled - exact) < 5 * np.sqrt(exact / draws), "exact and sampled gamma differ by five errors"
        a = seconds(lambda X=X: cell_volume_min(X, exact_method(X)))
        b = seconds(lambda X=X, draws=draws: sampled_gamma(X, draws), 1)
        print(f"{name:>18} {exact:9.2e} {sampled:9.2e} {draws:8d} {1e3 * a:7.2f} {1e3 * b:9.1f} {b / a:7.0f}")


if __name__ == "__main__":
    compare_ranks()
    compare_gammas()
