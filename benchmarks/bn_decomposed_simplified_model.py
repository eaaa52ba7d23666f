"""The simplified model: the exact tree of at most n - 2 rows against the enumeration of all 2^t.

First all give the same Gram matrix, and the exact ones the same count of clusters; then the processor time of each is
printed side by side: enumeration in exact fractions, in float64 (vectorized, positions lost after some fifty layers),
and the tree. Last, how the time of the tree grows with n where enumeration is out of reach.

    python benchmarks/bn_decomposed_simplified_model.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, enumerate_tree, simplified_layer

POINTS = 8
LAYERS = (4, 8, 12, 14, 16, 18)
EXACT_UP_TO = 12
SIZES = (5, 10, 20, 50, 100)
DEPTH = 200


def seconds(work: Callable[[], object], least: float = 0.05) -> float:
    """Processor time of one call: as many calls as fill `least` seconds, the best of three such rounds."""
    rounds = []
    for _ in range(3):
        calls, began = 0, time.process_time()
        while (spent := time.process_time() - began) < least or calls == 0:
            work()
            calls += 1
        rounds.append(spent / calls)
        if spent > 1:
            break
    return min(rounds)


def clusters_beyond_two(rows: np.ndarray) -> int:
    return sum(len(set(row)) - 2 for row in rows)


def floats(x: list[int], layers: int) -> np.ndarray:
    X = np.array([x], float)
    for _ in range(layers):
        X = simplified_layer(X)
    return X


def check(x: list[int], layers: int) -> float:
    """Largest difference of the Gram matrices over their largest entry; raises where results differ."""
    tree, entries = ClusterTree(x).step(layers), floats(x, layers)
    if layers <= EXACT_UP_TO:
        rows = enumerate_tree(x, layers)
        if tree.excess != clusters_beyond_two(rows):
            raise SystemExit(f"after {layers} layers the tree counts {tree.excess}, not {clusters_beyond_two(rows)}")
        entries = (rows / len(x) ** layers).astype(float)
    gram = entries.T @ entries
    difference = np.abs(tree.gram() * np.exp(2 * tree.log_scale) - gram).max() / gram.max()
    if difference > 1e-12:
        raise SystemExit(f"after {layers} layers the Gram matrices differ by {difference:.1e}")
    return float(difference)


def main() -> None:
    rng = np.random.default_rng(0)
    x = np.sort(rng.choice(10_000, POINTS, replace=False)).tolist()
    print(f"n = {POINTS}: equal clusters and Gram matrices, then seconds of processor time")
    print(f"{'layers':>7}{'rows':>8}{'kept':>6}{'difference':>12}{'fractions':>11}{'float64':>10}{'tree':>10}", end="")
    print(f"{'fractions/tree':>16}{'float64/tree':>14}")
    for layers in LAYERS:
        difference = check(x, layers)
        kept = len(ClusterTree(x).step(layers).rows)
        exact = seconds(lambda t=layers: enumerate_tree(x, t)) if layers <= EXACT_UP_TO else np.nan
        rounded = seconds(lambda t=layers: floats(x, t))
        fast = seconds(lambda t=layers: ClusterTree(x).step(t).gram())
        print(f"{layers:7d}{2**layers:8d}{kept:6d}{difference:12.1e}{exact:11.5f}{rounded:10.5f}{fast:10.5f}", end="")
        print(f"{exact / fast:16.1f}{rounded / fast:14.2f}")
    print(f"\n{DEPTH} layers of the tree alone; enumeration would hold 2^{DEPTH} rows")
    print(f"{'n':>7}{'seconds':>12}{'power of n':>12}")
    before = None
    for n in SIZES:
        points = rng.standard_normal(n)
        spent = seconds(lambda batch=points: ClusterTree(batch).step(DEPTH))
        power = "" if before is None else f"{np.log(spent / before[1]) / np.log(n / before[0]):.2f}"
        print(f"{n:7d}{spent:12.4f}{power:>12}")
        before = (n, spent)


if __name__ == "__main__":
    main()
