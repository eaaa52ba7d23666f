"""Large layers through Gram matrices: the same numbers as small ones through orthogonal decompositions."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.methods.per_layer import OF_LAYER, Layer
from repdyn.diagnostics.theory import angles, spectra

RNG = np.random.default_rng(0)
LAYERS = {
    "wide": RNG.normal(size=(30, 50)),
    "tall": RNG.normal(size=(50, 30)) + 0.5,
    "wide positive": np.maximum(RNG.normal(size=(30, 50)), 0),
    "tall positive": np.maximum(RNG.normal(size=(50, 30)), 0),
    "low rank": RNG.normal(size=(60, 5)) @ RNG.normal(size=(5, 40)),
    "wide of low rank": RNG.normal(size=(40, 5)) @ RNG.normal(size=(5, 60)),
    "tall with units twice": np.repeat(RNG.normal(size=(50, 15)), 2, axis=1),
    "tall negative": -np.abs(RNG.normal(size=(50, 30))),
    "tall of rank one": np.outer(RNG.normal(size=50) + 0.3, RNG.normal(size=30)),
    "wide of rank one": np.outer(RNG.normal(size=30) + 0.3, RNG.normal(size=50)),
    "wide negative": -np.abs(RNG.normal(size=(30, 50))),
}


def all_of(A, bias):
    layer = Layer(A, np.arange(len(A)) % 3, [(0, 1)], 1e-3, bias)
    return {name: value for function in OF_LAYER.values() for name, value in function(layer).items()}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("case", LAYERS)
def test_large_layers_have_the_numbers_of_small_ones(case, bias, monkeypatch):
    small = all_of(LAYERS[case], bias)
    monkeypatch.setattr(spectra, "SMALL", 0)
    monkeypatch.setattr(spectra, "BLOCK", 64)
    monkeypatch.setattr(spectra, "WIDTH", 7)
    monkeypatch.setattr(angles, "STABLE", 0)
    monkeypatch.setattr(angles, "ROWS", 7)
    large = all_of(LAYERS[case], bias)
    for name, value in small.items():
        # a Gram matrix squares the condition number: half of the digits in the worst case
        np.testing.assert_allclose(large[name], value, rtol=1e-6, atol=1e-7, err_msg=name)


def test_one_decomposition_serves_all_measures(monkeypatch):
    calls = []
    real = spectra.spectrum
    monkeypatch.setattr(spectra, "spectrum", lambda A: calls.append(A.shape) or real(A))
    measure(nn.Sequential(nn.Linear(5, 8), nn.ReLU()), torch.randn(6, 5), labels=[0, 1] * 3)
    assert sorted(calls) == [(6, 5), (6, 8), (6, 8)]


def test_layers_are_handed_on_and_not_kept():
    """Bytes of arrays that numpy holds at a time grow with the largest layer, not with the number of layers."""
    import tracemalloc

    def peak(depth):
        model = nn.Sequential(*(nn.Linear(400, 400) for _ in range(depth)))
        X = torch.randn(300, 400)
        tracemalloc.start()
        measure(model, X, measures=["ranks"])
        usage = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return usage

    peak(1)
    assert peak(8) < peak(2) + 2 * 300 * 400 * 8
