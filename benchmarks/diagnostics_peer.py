"""CKA of all pairs of layers beside `torch_cka`, at equal numbers.

    pip install --no-deps --target FOLDER torch_cka tqdm
    PYTHONPATH=FOLDER python benchmarks/diagnostics_peer.py

Both take the debiased estimate on one batch. Equal numbers are asserted before any time is printed.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.diagnostics.compare import compare

POINTS, WIDTH, DEPTH = 256, 2048, 6


def network(seed: int) -> nn.Module:
    """A deep perceptron in single precision, the only one that torch_cka takes."""
    torch.manual_seed(seed)
    hidden = [part for _ in range(DEPTH) for part in (nn.Linear(WIDTH, WIDTH, bias=False), nn.Tanh())]
    for map_ in hidden[::2]:
        nn.init.orthogonal_(map_.weight)  # points stay apart, where torch_cka's single precision loses nothing
    return nn.Sequential(*hidden)


def main() -> None:
    """Prints CPU seconds of both."""
    from torch_cka import CKA

    torch.set_num_threads(1)
    X = torch.randn(POINTS, WIDTH, generator=torch.Generator().manual_seed(0))
    layers = [str(k) for k in range(2 * DEPTH)]
    first, other = network(0), network(1)
    start = time.process_time()
    ours = compare(first, other, X, layers)["cka_debiased"].values
    own = time.process_time() - start
    peer = CKA(first, other, "one", "other", layers, layers, device="cpu")
    start = time.process_time()
    with torch.no_grad():
        peer.compare(DataLoader(TensorDataset(X), batch_size=POINTS))
    theirs = time.process_time() - start
    matrix = peer.export()["CKA"].numpy()
    np.testing.assert_allclose(ours, matrix, rtol=1e-3, atol=1e-4)  # torch_cka keeps its sums in single precision
    print(f"{len(layers)} x {len(layers)} layers, {POINTS} points x {WIDTH} units")
    print(f"repdyn, with CKA, Procrustes and angular distance: {own:.1f} CPU s")
    print(f"torch_cka, debiased CKA alone: {theirs:.1f} CPU s; ratio {theirs / own:.1f}")
    print(f"largest difference {np.abs(ours - matrix).max():.1e}")


if __name__ == "__main__":
    main()
