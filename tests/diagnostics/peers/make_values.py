"""Writes `values.json`: similarities of two fixed representations, as other packages compute them.

Run by hand where the packages are installed, never by the tests:

    pip install torch_cka==0.21 ckatorch==1.0.3 pytorch-cka==1.1.3 qc-procrustes==1.1.3 rsatoolbox==0.3.2
    pip install --no-deps thingsvision==2.7.3
    python tests/diagnostics/peers/make_values.py

Of thingsvision the module of CKA alone is imported, which needs numpy only. The points are random numbers of two
decimals and are stored with the values.
"""

import contextlib
import io
import json
import sys
import types
from importlib.metadata import distribution, version
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FILE = Path(__file__).with_name("values.json")
POINTS, UNITS = 24, (5, 40)  # fewer units than points, and more
MINIBATCH = 8
UNEQUAL = 10  # 24 points in minibatches of 10, 10 and 4


def representations() -> list[np.ndarray]:
    """Two that share a part, with means that are not zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(POINTS, UNITS[0]))
    Y = np.hstack([2 * X[:, :2], rng.normal(size=(POINTS, UNITS[1] - 2)) / 2]) + 1
    return [X.round(2), Y.round(2)]


def of_thingsvision(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    package = types.ModuleType("thingsvision")
    package.__path__ = [str(distribution("thingsvision").locate_file("thingsvision"))]
    sys.modules["thingsvision"] = package  # its own imports are of trained networks
    sys.modules["thingsvision.core.cka"] = inner = types.ModuleType("thingsvision.core.cka")
    inner.__path__ = [package.__path__[0] + "/core/cka"]
    from thingsvision.core.cka.cka_numpy import CKANumPy

    def of(**options: object) -> float:
        return float(CKANumPy(m=POINTS, **options).compare(X, Y))

    return {
        "cka": of(kernel="linear"),
        "cka_debiased": of(kernel="linear", unbiased=True),
        "cka_rbf": of(kernel="rbf", sigma=None),
    }


def of_ckatorch(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    from ckatorch.core import cka_base, cka_batch

    A, B = map(torch.from_numpy, (X, Y))
    minibatches = [torch.stack(part.split(MINIBATCH)) for part in (A, B)]
    return {
        "cka": float(cka_base(A, B)),
        "cka_debiased": float(cka_base(A, B, unbiased=True)),
        "cka_rbf": float(cka_base(A, B, kernel="rbf")),
        "cka_minibatch": float(cka_batch(*minibatches)),
    }


def networks(X: np.ndarray, Y: np.ndarray) -> tuple[nn.Module, nn.Module, TensorDataset]:
    """Two networks that take both representations side by side and have one of them as their layer `part`."""

    class Part(nn.Module):
        def __init__(self, columns: slice) -> None:
            super().__init__()
            self.columns, self.part = columns, nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.part(x[:, self.columns])

    both = TensorDataset(torch.from_numpy(np.hstack([X, Y])))
    return Part(slice(0, UNITS[0])), Part(slice(UNITS[0], None)), both


def of_torch_cka(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    from torch_cka import CKA

    def of(batch_size: int) -> float:
        first, second, points = networks(X, Y)
        with contextlib.redirect_stderr(io.StringIO()):
            peer = CKA(first, second, "first", "second", ["part"], ["part"], device="cpu")
            peer.compare(DataLoader(points, batch_size=batch_size))
        return float(peer.export()["CKA"])

    return {
        "cka_debiased": of(POINTS),
        "cka_minibatch": of(MINIBATCH),
        "cka_minibatch, unequal": of(UNEQUAL),
    }


def of_pytorch_cka(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    from cka import cka_from_features, compute_cka

    def of(batch_size: int) -> float:
        first, second, points = networks(X, Y)
        loader = DataLoader(points, batch_size=batch_size)
        (found,) = compute_cka(first, second, loader, layers=["part"], device="cpu", progress=False)
        return float(found)

    return {
        "cka_debiased": float(cka_from_features(torch.from_numpy(X), torch.from_numpy(Y))),
        "cka_debiased, unrelated": float(cka_from_features(torch.from_numpy(X), torch.from_numpy(Y[::-1].copy()))),
        "cka_minibatch": of(MINIBATCH),
        "cka_minibatch, unequal": of(UNEQUAL),
    }


def of_procrustes(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    from procrustes import orthogonal

    return {"squared procrustes": float(orthogonal(X, Y, pad=True, translate=True, scale=True).error)}


def of_scipy(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    from scipy.spatial import procrustes
    from scipy.spatial.distance import pdist
    from scipy.stats import spearmanr

    padded = np.pad(X, ((0, 0), (0, UNITS[1] - UNITS[0])))
    return {"disparity": float(procrustes(padded, Y)[2]), "rsa": float(spearmanr(pdist(X), pdist(Y)).statistic)}


def of_rsatoolbox(X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    import rsatoolbox

    rdms = [rsatoolbox.rdm.calc_rdm(rsatoolbox.data.Dataset(A), method="euclidean") for A in (X, Y)]
    wanted = {"rsa": "spearman", "bures": "bures"}
    return {name: rsatoolbox.rdm.compare(*rdms, method=method).item() for name, method in wanted.items()}


PEERS = {
    "thingsvision": of_thingsvision,
    "ckatorch": of_ckatorch,
    "torch_cka": of_torch_cka,
    "pytorch-cka": of_pytorch_cka,
    "qc-procrustes": of_procrustes,
    "scipy": of_scipy,
    "rsatoolbox": of_rsatoolbox,
}


def main() -> None:
    torch.set_default_dtype(torch.float64)  # of the sums of torch_cka and pytorch-cka
    X, Y = representations()
    values = {name: {"version": version(name), "values": of(X, Y)} for name, of in PEERS.items()}
    content = {"X": X.tolist(), "Y": Y.tolist(), "minibatch": MINIBATCH, "unequal": UNEQUAL, "peers": values}
    FILE.write_text(json.dumps(content).replace('"peers"', '\n"peers"').replace("}}, ", "}},\n") + "\n")


if __name__ == "__main__":
    main()
