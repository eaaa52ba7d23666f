"""Debiased CKA of all pairs of layers beside other ways, for docs/performance.md, at equal numbers.

Peers are Gram matrices in torch, as most scripts have them, and `torch_cka` where it is installed:

    pip install --no-deps --target FOLDER torch_cka tqdm
    PYTHONPATH=FOLDER python benchmarks/performance.py --rows diagnostics

All take the debiased estimate on one batch; ours in double precision from the Gram matrices on, the peers in single.
"""

from __future__ import annotations

import contextlib
import io

import numpy as np
import torch
from measuring import OURS, Race, Row, Way, products
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.diagnostics.compare import compare

CLOSE = 1e-3  # torch_cka keeps its sums in single precision


def network(width: int, depth: int, seed: int) -> nn.Sequential:
    """A deep perceptron in single precision, the only one that torch_cka takes."""
    torch.manual_seed(seed)
    hidden = [part for _ in range(depth) for part in (nn.Linear(width, width, bias=False), nn.Tanh())]
    for map_ in hidden[::2]:
        nn.init.orthogonal_(map_.weight)  # points stay apart, where torch_cka's single precision loses nothing
    return nn.Sequential(*hidden)


@torch.no_grad()
def by_grams(first: nn.Sequential, other: nn.Sequential, X: torch.Tensor) -> np.ndarray:
    """Debiased CKA from Gram matrices without diagonal (Song et al. 2012), float64 sums."""
    grams = []
    for network in (first, other):
        layers, A = [], X
        for part in network:
            A = part(A)
            layers.append((A @ A.T).double().fill_diagonal_(0))
        grams.append(layers)
    n = len(X)

    def hsic(K: torch.Tensor, L: torch.Tensor) -> torch.Tensor:
        k, m = K.sum(dim=1), L.sum(dim=1)
        return (K * L).sum() + k.sum() * m.sum() / (n - 1) / (n - 2) - 2 / (n - 2) * (k @ m)

    norms = [[hsic(K, K) for K in layers] for layers in grams]
    pairs = [
        [hsic(K, L) / (a * b).sqrt() for L, b in zip(grams[1], norms[1], strict=True)]
        for K, a in zip(grams[0], norms[0], strict=True)
    ]
    return np.array(pairs, dtype=float)


def by_torch_cka(first: nn.Sequential, other: nn.Sequential, X: torch.Tensor, layers: list[str]) -> np.ndarray:
    from torch_cka import CKA

    with contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
        peer = CKA(first, other, "one", "other", layers, layers, device="cpu")
        peer.compare(DataLoader(TensorDataset(X), batch_size=len(X)))
        return peer.export()["CKA"].numpy()


def similarity_race(points: int, width: int, depth: int) -> Race:
    """All pairs of layers of two networks."""
    X = torch.randn(points, width, generator=torch.Generator().manual_seed(0))
    layers = [str(k) for k in range(2 * depth)]
    first, other = (network(width, depth, seed) for seed in (0, 1))
    runs = {"Gram matrices in torch": lambda: by_grams(first, other, X)}
    with contextlib.suppress(ImportError):
        import torch_cka  # noqa: F401

        runs["torch_cka"] = lambda: by_torch_cka(first, other, X, layers)
    runs[OURS] = lambda: compare(first, other, X, layers, measures=["cka_debiased"])["cka_debiased"].values
    shapes = [(points, width, width)] * (2 * depth) + [(points, width, points)] * (4 * depth)
    return Race({name: Way(run, run) for name, run in runs.items()}, CLOSE, [products(shapes)])


ROWS = [
    Row(
        engine="diagnostics, similarity",
        name="6 x 6 layers",
        work="debiased CKA of all pairs, 256 points x 1024 units",
        unit="run",
        build=similarity_race,
        size={"points": 256, "width": 1024, "depth": 3},
        tiny={"points": 12, "width": 16, "depth": 1},
        dtype="float32",
        goal=1.0,
    )
]
