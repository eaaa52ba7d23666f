"""Similarities of layers beside other ways, for docs/performance.md, at equal numbers.

Of all pairs of layers of two networks debiased and minibatch CKA: peers are Gram matrices in torch, as most scripts
have them, and `torch_cka` and `pytorch-cka` where they are installed. All take the unbiased HSIC of each batch, ours in
double precision from the layers on, the peers in single. Of two layers shape distances, RSA and CKA of Gaussian
kernels, in double precision: peers are scipy and numpy, and `qc-procrustes`, `rsatoolbox` and `thingsvision` where they
are installed:

    pip install --no-deps --target FOLDER torch_cka pytorch-cka tqdm qc-procrustes thingsvision
    pip install --target FOLDER rsatoolbox
    PYTHONPATH=FOLDER python benchmarks/performance.py --rows diagnostics
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import io
import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.spatial
import torch
from measuring import OURS, Race, Row, Way, products
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.theory.similarity import shape_of, similarities

CLOSE = 1e-3  # torch_cka and pytorch-cka keep their sums in single precision
ROUNDING = 1e-6  # rsatoolbox takes roots of eigenvalues that are rounding


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


def layers_that_share(points: int, units: int) -> tuple[np.ndarray, np.ndarray]:
    """Two layers of a common part and noise, with means that are not zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(points, units)) + 1
    return X, X @ rng.normal(size=(units, units)) / units**0.5 + rng.normal(size=(points, units))


def distances_of(cosine: float) -> np.ndarray:
    """Procrustes and angular distance."""
    return np.array([np.sqrt(2 - 2 * cosine), np.arccos(cosine)])


def shapes_by_scipy(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Its disparity is after the best factor, too: the squared sine of the angular distance."""
    return distances_of(np.sqrt(1 - scipy.spatial.procrustes(X, Y)[2]))


def shapes_by_qc_procrustes(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    from procrustes import orthogonal

    return distances_of(1 - orthogonal(X, Y, translate=True, scale=True).error / 2)


def shapes_by_rsatoolbox(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return distances_of(by_rsatoolbox(X, Y, "bures"))


def by_rsatoolbox(X: np.ndarray, Y: np.ndarray, method: str) -> float:
    from rsatoolbox import data, rdm

    rdms = [rdm.calc_rdm(data.Dataset(A), method="euclidean") for A in (X, Y)]
    return rdm.compare(*rdms, method=method).item()


def rsa_by_scipy(X: np.ndarray, Y: np.ndarray) -> float:
    return spearmanr(pdist(X), pdist(Y)).statistic


def kernels_by_numpy(X: np.ndarray, Y: np.ndarray) -> float:
    centered = []
    for A in (X, Y):
        squared = pdist(A, "sqeuclidean")
        K = squareform(np.exp(-squared / (2 * np.median(squared))))
        np.fill_diagonal(K, 1)
        centered.append(K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean())
    K, L = centered
    return np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)


@cache
def of_thingsvision() -> Callable[..., Any]:
    """Its class of CKA, imported without the package, which wants networks that others have trained."""
    (folder,) = importlib.util.find_spec("thingsvision").submodule_search_locations
    names = ("thingsvision", "thingsvision.core.cka")
    for name in names:
        sys.modules[name] = package = types.ModuleType(name)
        package.__path__ = [folder + name.removeprefix("thingsvision").replace(".", "/")]
    from thingsvision.core.cka.cka_numpy import CKANumPy

    for name in names:
        del sys.modules[name]
    return CKANumPy


def kernels_by_thingsvision(X: np.ndarray, Y: np.ndarray) -> float:
    return float(of_thingsvision()(m=len(X), kernel="rbf", sigma=None).compare(X, Y))


PEERS_OF_TWO: dict[str, dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], object]]]] = {
    "shapes": {
        "scipy's procrustes": ("scipy", shapes_by_scipy),
        "qc-procrustes": ("procrustes", shapes_by_qc_procrustes),
        "rsatoolbox": ("rsatoolbox", shapes_by_rsatoolbox),
    },
    "rsa": {
        "scipy's pdist and spearmanr": ("scipy", rsa_by_scipy),
        "rsatoolbox": ("rsatoolbox", lambda X, Y: by_rsatoolbox(X, Y, "spearman")),
    },
    "cka_rbf": {
        "scipy's pdist and numpy": ("scipy", kernels_by_numpy),
        "thingsvision": ("thingsvision", kernels_by_thingsvision),
    },
}
"""Name of a peer -> its module, and how it is called."""


def two_layers_race(points: int, units: int, wanted: str) -> Race:
    """Two layers beside each other."""
    X, Y = layers_that_share(points, units)
    names = ("procrustes", "angular") if wanted == "shapes" else (wanted,)

    def ours() -> np.ndarray:
        found = similarities(shape_of(X, names), shape_of(Y, names), names)
        return np.squeeze([found[name] for name in names])

    peers = {name: way for name, (module, way) in PEERS_OF_TWO[wanted].items() if importlib.util.find_spec(module)}
    runs = {name: lambda way=way: way(X, Y) for name, way in peers.items()} | {OURS: ours}
    inner = (points, units, points) if wanted != "shapes" else (units, points, units)
    limit = products([inner] * (2 if wanted != "shapes" else 1), dtype="float64")
    return Race({name: Way(run, run) for name, run in runs.items()}, ROUNDING, [limit])


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
    Row(
        engine="diagnostics, similarity",
        name="shape distances",
        work="Procrustes and angular distance of two layers, 1000 points x 256 units",
        unit="run",
        build=two_layers_race,
        size={"points": 1000, "units": 256, "wanted": "shapes"},
        tiny={"points": 20, "units": 6, "wanted": "shapes"},
        goal=1.0,
    ),
    Row(
        engine="diagnostics, similarity",
        name="RSA",
        work="correlation of ranks of all distances in two layers, 1000 points x 256 units",
        unit="run",
        build=two_layers_race,
        size={"points": 1000, "units": 256, "wanted": "rsa"},
        tiny={"points": 20, "units": 6, "wanted": "rsa"},
        goal=1.0,
    ),
    Row(
        engine="diagnostics, similarity",
        name="CKA of Gaussian kernels",
        work="of two layers, 1000 points x 256 units",
        unit="run",
        build=two_layers_race,
        size={"points": 1000, "units": 256, "wanted": "cka_rbf"},
        tiny={"points": 20, "units": 6, "wanted": "cka_rbf"},
        goal=1.0,
    ),
]
