"""Debiased and minibatch CKA of all pairs of layers beside other ways, for docs/performance.md, at equal numbers.

Peers are Gram matrices in torch, as most scripts have them, and `torch_cka` and `pytorch-cka` where they are installed:

    pip install --no-deps --target FOLDER torch_cka pytorch-cka tqdm
    PYTHONPATH=FOLDER python benchmarks/performance.py --rows diagnostics

All take the unbiased HSIC of each batch, ours in double precision from the layers on, the peers in single.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io

import numpy as np
import torch
from measuring import OURS, Race, Row, Way, products
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.diagnostics.compare import compare

CLOSE = 1e-3  # torch_cka and pytorch-cka keep their sums in single precision


def network(width: int, depth: int, seed: int) -> nn.Sequential:
    """A deep perceptron in single precision, the only one that torch_cka takes."""
    torch.manual_seed(seed)
    hidden = [part for _ in range(depth) for part in (nn.Linear(width, width, bias=False), nn.Tanh())]
    for map_ in hidden[::2]:
        nn.init.orthogonal_(map_.weight)  # points stay apart, where torch_cka's single precision loses nothing
    return nn.Sequential(*hidden)


def hsic(K: torch.Tensor, L: torch.Tensor) -> torch.Tensor:
    """Unbiased HSIC of Gram matrices without diagonal (Song et al. 2012)."""
    n, k, m = len(K), K.sum(dim=1), L.sum(dim=1)
    inner = (K * L).sum() + k.sum() * m.sum() / (n - 1) / (n - 2) - 2 / (n - 2) * (k @ m)
    return inner / (n * (n - 3))


@torch.no_grad()
def by_grams(first: nn.Sequential, other: nn.Sequential, X: torch.Tensor, batch: int) -> np.ndarray:
    """From Gram matrices of each batch, float64 sums."""
    pairs, norms = 0.0, [0.0, 0.0]
    for part in X.split(batch):
        grams = []
        for network in (first, other):
            layers, A = [], part
            for layer in network:
                A = layer(A)
                layers.append((A @ A.T).double().fill_diagonal_(0))
            grams.append(layers)
        norms = [norm + torch.stack([hsic(K, K) for K in layers]) for norm, layers in zip(norms, grams, strict=True)]
        pairs = pairs + torch.stack([torch.stack([hsic(K, L) for L in grams[1]]) for K in grams[0]])
    return (pairs / torch.outer(*norms).sqrt()).numpy()


def by_torch_cka(first: nn.Sequential, other: nn.Sequential, X: torch.Tensor, batch: int) -> np.ndarray:
    from torch_cka import CKA

    layers = [str(k) for k in range(len(first))]
    with contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
        peer = CKA(first, other, "one", "other", layers, layers, device="cpu")
        peer.compare(DataLoader(TensorDataset(X), batch_size=batch))
        return peer.export()["CKA"].numpy()


def by_pytorch_cka(first: nn.Sequential, other: nn.Sequential, X: torch.Tensor, batch: int) -> np.ndarray:
    from cka import compute_cka

    layers = [str(k) for k in range(len(first))]
    loader = DataLoader(TensorDataset(X), batch_size=batch)
    return compute_cka(first, other, loader, layers=layers, device="cpu", progress=False)[0].numpy()


PEERS = {"torch_cka": by_torch_cka, "cka": by_pytorch_cka}  # by the name of the module


def similarity_race(points: int, width: int, depth: int, batch: int, measure: str) -> Race:
    """All pairs of layers of two networks."""
    X = torch.randn(points, width, generator=torch.Generator().manual_seed(0))
    layers = [str(k) for k in range(2 * depth)]
    first, other = (network(width, depth, seed) for seed in (0, 1))
    runs = {"Gram matrices in torch": lambda: by_grams(first, other, X, batch)}
    for module, way in PEERS.items():
        if importlib.util.find_spec(module):
            name = {"cka": "pytorch-cka"}.get(module, module)
            runs[name] = lambda way=way: way(copy.deepcopy(first), copy.deepcopy(other), X, batch)
    how = {"measures": [measure], "batch_size": batch, "most_points": points}
    runs[OURS] = lambda: compare(first, other, X, layers, **how)[measure].values
    shapes = [(points, width, width)] * (2 * depth)
    shapes += [(batch, width, batch)] * (4 * depth * (points // batch))
    return Race({name: Way(run, run) for name, run in runs.items()}, CLOSE, [products(shapes)])


ROWS = [
    Row(
        engine="diagnostics, similarity",
        name="6 x 6 layers",
        work="debiased CKA of all pairs, 256 points x 1024 units",
        unit="run",
        build=similarity_race,
        size={"points": 256, "width": 1024, "depth": 3, "batch": 256, "measure": "cka_debiased"},
        tiny={"points": 12, "width": 16, "depth": 1, "batch": 12, "measure": "cka_debiased"},
        dtype="float32",
        goal=1.0,
    ),
    Row(
        engine="diagnostics, similarity",
        name="6 x 6 layers in minibatches",
        work="minibatch CKA of all pairs, 4096 points in batches of 256 x 512 units",
        unit="run",
        build=similarity_race,
        size={"points": 4096, "width": 512, "depth": 3, "batch": 256, "measure": "cka_minibatch"},
        tiny={"points": 24, "width": 16, "depth": 1, "batch": 8, "measure": "cka_minibatch"},
        dtype="float32",
        goal=1.0,
    ),
]
