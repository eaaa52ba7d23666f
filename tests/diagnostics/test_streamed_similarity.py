"""More points than can be kept: the numbers of those that are kept, in bounded memory."""

import tracemalloc

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics import compare as module
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.methods import similarity
from repdyn.diagnostics.methods.reader import Features

NAMES = ("cka", "cka_debiased", "procrustes", "angular")


def model(seed, units=30):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, units), nn.ReLU(), nn.Linear(units, 3)).double()


def points(n=90):
    return 2 + torch.randn(n, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.fixture
def small(monkeypatch):
    """Few points count as many, and go by in small batches."""

    def these(most, batch=16):
        monkeypatch.setattr(module, "MOST_POINTS", most)
        monkeypatch.setattr(module, "BATCH", batch)

    return these


@pytest.mark.parametrize("memory", [1, 20_000, 2**29])
@pytest.mark.parametrize("most_points", [90, 57])
def test_streamed_numbers_are_those_of_all_points_at_once(memory, most_points, small):
    arguments = (model(0), model(1), points())
    options = {"reruns": [model(2), model(3).state_dict()], "most_points": most_points}
    kept = compare(*arguments, **options)
    small(20)
    streamed = compare(*arguments, memory=memory, **options)
    assert list(streamed) == list(kept)
    assert streamed.attrs == kept.attrs
    for name in kept:
        # a Procrustes distance of 1e-8 is a difference of 1e-16 from one
        np.testing.assert_allclose(streamed[name], kept[name], rtol=1e-9, atol=1e-7, err_msg=name)


def test_layers_among_themselves_loaders_and_tokens(small):
    X = torch.randn(30, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mask = np.arange(4) < np.arange(30)[:, None] % 4 + 1
    features = Features("tokens", channels=-1, mask=mask)
    kept = compare(model(0), None, X, features=features)
    loader = torch.utils.data.DataLoader(X, batch_size=7)
    whole = compare(model(0), None, X)
    small(20)
    streamed = compare(model(0), None, X, features=features, most_points=1000)
    batches = compare(model(0), None, loader, most_points=1000)
    for name in NAMES:
        np.testing.assert_allclose(streamed[name], kept[name], rtol=1e-9, atol=1e-7)
        np.testing.assert_allclose(batches[name], whole[name], rtol=1e-9, atol=1e-7)


def test_tokens_that_a_mask_takes_out_are_not_compared():
    X = torch.randn(12, 4, 5, dtype=torch.float64)
    mask = np.arange(4) < np.arange(12)[:, None] % 4 + 1
    other = torch.where(torch.from_numpy(mask)[..., None], X, 100.0)
    features = Features("tokens", channels=-1, mask=mask)
    first, second = (compare(model(0), model(1), part, features=features) for part in (X, other))
    np.testing.assert_allclose(first["cka"], second["cka"], rtol=1e-12)


class Lost(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, x):
        return torch.where((x[:, :1] - points()[85, 0]).abs() < 1e-12, self.value, x)


def test_layers_without_a_shape_and_layers_of_many_units(small, monkeypatch):
    network = nn.Sequential(Lost(torch.nan), nn.Linear(5, 30)).double()
    constant = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 4)).double()
    with torch.no_grad():
        constant[1].weight.zero_()
    small(20)
    monkeypatch.setattr(similarity, "MOST_UNITS", 29)
    found = compare(network, constant, points(), ["input", "0"], other_layers=["0", "1"], most_points=90)
    assert "one, 0" in found.attrs["left_out"]
    assert "other, 1" in found.attrs["left_out"]
    assert np.isfinite(found["cka"].values).tolist() == [[True, False], [False, False]]
    wide = compare(model(0), None, points(), most_points=90)
    assert "one, 0" in wide.attrs["left_out"]
    assert np.isfinite(wide["cka_debiased"]).all()
    assert wide["procrustes"].isnull().sum() == 2 * 4 * 2 - 2 * 2


def test_points_that_change_each_other_are_refused(small):
    small(20)
    network = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4, track_running_stats=False)).double()
    with pytest.raises(ValueError, match="most_points=20"):
        compare(network, None, points(), most_points=90)


def test_memory_does_not_grow_with_points_times_layers():
    """Peak of what numpy holds for 2,500 points of 9 layers of 100 units, which are 18 MB in double precision."""
    torch.manual_seed(0)
    network = nn.Sequential(*(nn.Linear(100, 100) for _ in range(8)))
    X = torch.randn(2500, 100)
    tracemalloc.start()
    found = compare(network, None, X, most_points=2500, batch_size=64, memory=2**22)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 2**22
    np.testing.assert_allclose(np.diag(found["cka"]), 1)
