"""Similarities against their definitions and other packages; networks, checkpoints, reruns."""

import copy
import random

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from tests.diagnostics.networks import leaving_folds_out
from torch import nn

from repdyn.diagnostics.compare import Arrays, compare
from repdyn.diagnostics.theory.similarity import shape_of, similarities

N = 14


def two(units=(5, 9)):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, units[0]))
    return X, np.hstack([X[:, :2], rng.normal(size=(N, units[1] - 2))]) + 3


def cka_of(K, L):
    """CKA of two kernels by its definition."""
    H = np.eye(N) - 1 / N
    K, L = H @ K @ H, H @ L @ H
    return np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)


@pytest.mark.parametrize("units", [(5, 9), (30, 9), (30, 40)])
def test_similarities_are_their_definitions(units):
    X, Y = two(units)
    wanted = {"cka": cka_of(X @ X.T, Y @ Y.T), "rsa": spearmanr(pdist(X), pdist(Y)).statistic}
    gauss = [np.exp(-((squareform(pdist(A)) / np.median(pdist(A))) ** 2) / 2) for A in (X, Y)]
    wanted["cka_rbf"] = cka_of(*gauss)
    centered = [(A - A.mean(axis=0)) / np.linalg.norm(A - A.mean(axis=0)) for A in (X, Y)]
    nuclear = np.linalg.svd(centered[0].T @ centered[1], compute_uv=False).sum()
    distances = {"angular": np.arccos(nuclear), "procrustes": np.sqrt(2 - 2 * nuclear)}
    for asked in (wanted, wanted | distances):  # from Gram matrices, and from coordinates
        found = similarities(shape_of(X, asked), shape_of(Y, asked), asked)
        assert list(found) == list(asked)
        assert found == pytest.approx(asked, rel=1e-7)


@pytest.mark.parametrize("units", [(5, 9), (30, 9), (9, 30), (30, 40)])
def test_cka_alone_is_the_same_from_gram_matrices_and_from_coordinates(units):
    X, Y = two(units)
    whole, wanted = similarities(shape_of(X), shape_of(Y)), ("cka", "cka_debiased")
    alone = similarities(shape_of(X, wanted), shape_of(Y, wanted), wanted)
    assert shape_of(X, wanted).is_gram == (units[0] > N)
    assert list(alone) == list(wanted)
    assert [alone[name] for name in wanted] == pytest.approx([whole[name] for name in wanted], rel=1e-12)


@pytest.mark.parametrize("place", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_equal_distances_share_the_mean_of_their_ranks(place):
    """Points with whole numbers as coordinates, of whose distances many are the same."""
    X, Y = np.random.default_rng(0).integers(-2, 3, size=(2, 30, 3)).astype(float)
    squared = [pdist(A, "sqeuclidean") for A in (X, Y)]  # whole numbers, without rounding
    assert len(np.unique(squared[0])) < 40
    found = similarities(shape_of(place(X), ("rsa",)), shape_of(place(Y), ("rsa",)), ("rsa",))
    assert found["rsa"] == pytest.approx(spearmanr(*squared).statistic, rel=1e-12)


def test_intervals_leave_out_a_tenth_of_the_points_at_a_time():
    torch.manual_seed(0)
    model, X = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 2)), torch.randn(59, 3)
    wanted = ["cka_debiased", "rsa"]
    found = compare(model, None, X, ["0", "1"], measures=wanted, intervals=True, most_points=30)
    assert set(found.data_vars) == {name + end for name in wanted for end in ("", "_low", "_high")}
    A, B = (part(X[::2]).detach().numpy() for part in (model[:1], model[:2]))
    cell = found.sel(layer="0", other_layer="1")
    for name in wanted:

        def of(points, name=name):
            return similarities(shape_of(A[points], [name]), shape_of(B[points], [name]), [name])[name]

        value, half = leaving_folds_out(of, 30)
        assert float(cell[name]) == pytest.approx(value, rel=1e-6)
        assert float(cell[f"{name}_low"]) == pytest.approx(float(cell[name]) - half, rel=1e-5)
        assert float(cell[f"{name}_high"]) == pytest.approx(float(cell[name]) + half, rel=1e-5)


def test_unusable_options_of_compare_are_refused(monkeypatch):
    monkeypatch.setattr("repdyn.diagnostics.methods.comparing.MOST_POINTS", 5)
    network, X = nn.Linear(2, 2), torch.randn(6, 2)
    for options, message in (
        ({"measures": ["rsa"], "most_points": 6}, "rsa.*5"),
        ({"intervals": True, "most_points": 6}, "intervals.*5"),
        ({"most_points": 1}, "most_points.*1"),
        ({"most_points": 0}, "most_points.*0"),
        ({"measures": ["ckaa"]}, "'ckaa'.*cka, cka_debiased, procrustes"),
        ({"measures": []}, "measures"),
        ({"other": {"weight": torch.zeros(3, 2)}}, "checkpoint"),
        ({"device": "gpu"}, "device.*'gpu'"),
        ({"device": "meta"}, "device.*'meta'"),
        ({"device": -2}, "device.*-2"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(network, options.pop("other", None), X, **options)


@pytest.mark.parametrize("most", [2000, 2])
def test_compare_gives_the_named_measures(monkeypatch, most):
    monkeypatch.setattr("repdyn.diagnostics.methods.comparing.MOST_POINTS", most)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 20), nn.Tanh(), nn.Linear(20, 2))
    other, X = copy.deepcopy(model), torch.randn(12, 3)
    nn.init.normal_(other[0].weight)
    whole = compare(model, other, X, reruns=[other], most_points=12)
    some = compare(model, other, X, reruns=[other], most_points=12, measures=["cka_debiased", "angular"])
    assert set(some.data_vars) - {"runs"} == {"cka_debiased", "angular", "cka_debiased_of_runs", "angular_of_runs"}
    xr.testing.assert_allclose(some, whole[list(some.data_vars)], rtol=1e-9)


def test_debiased_cka_is_the_unbiased_estimate_of_hsic():
    """Sum over four different points, as the estimate is defined, for a few points."""
    from itertools import permutations

    X, Y = (A[:6] for A in two())
    K, L = X @ X.T, Y @ Y.T

    def hsic(K, L):
        terms = [K[i, j] * (L[i, j] + L[k, m] - 2 * L[i, k]) for i, j, k, m in permutations(range(6), 4)]
        return np.mean(terms)

    expected = hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L))
    assert similarities(shape_of(X), shape_of(Y))["cka_debiased"] == pytest.approx(expected, rel=1e-9)


def model(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))


def test_networks_checkpoints_and_reruns():
    X = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    network, other = model(0), model(1)
    comparison = compare(network, other, X, reruns=[model(2), model(3).state_dict()])
    assert dict(comparison.sizes) == {"layer": 4, "other_layer": 4, "runs": 3}
    assert float(comparison["cka"].sel(layer="input", other_layer="input")) == pytest.approx(1)
    checkpoint = compare(network, other.state_dict(), X)
    np.testing.assert_array_equal(checkpoint["cka"], comparison["cka"])
    itself = compare(network, None, X)
    np.testing.assert_allclose(np.diag(itself["cka_debiased"]), 1)
    np.testing.assert_allclose(itself["procrustes"], itself["procrustes"].T, atol=1e-7)


def test_chance_is_two_different_runs_of_which_the_first_is_the_network_itself():
    X = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    runs = [model(seed) for seed in range(3)]
    chance = compare(runs[0], None, X, reruns=runs[1:])
    assert chance["runs"].values.tolist() == ["0-1", "0-2", "1-2"]
    for name in ("cka", "cka_debiased", "procrustes", "angular"):
        for pair in chance["runs"].values.tolist():
            first, second = (runs[int(number)] for number in pair.split("-"))
            both = np.diag(compare(first, second, X)[name])
            np.testing.assert_allclose(chance[f"{name}_of_runs"].sel(runs=pair), both, rtol=1e-9, atol=1e-9)
    assert float(chance["cka_of_runs"].sel(layer="2").max()) < 0.99


def test_of_many_points_those_are_compared_that_are_spread_over_all_of_them():
    """Data often come sorted, so that the first points are of one kind."""
    X = torch.randn(20, 4, generator=torch.Generator().manual_seed(0)) + torch.arange(20)[:, None] / 3
    some, chosen = compare(model(0), model(1), X, most_points=6), compare(model(0), model(1), X[[0, 4, 8, 11, 15, 19]])
    for name in ("cka", "cka_debiased", "procrustes", "angular"):
        np.testing.assert_allclose(some[name], chosen[name], atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_leaves_its_layer_out_of_either_network(value):
    class OneLost(nn.Module):
        def forward(self, x):
            return torch.where(torch.arange(x.numel()).view(x.shape) == 5, value, x)

    X = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    whole, lost = (nn.Sequential(model(0)[0], layer) for layer in (nn.Identity(), OneLost()))
    found = compare(lost, whole, X, reruns=[whole])
    assert "one, 1" in found.attrs["left_out"]
    assert found["cka"].sel(layer="1").isnull().all()
    assert found["cka_of_runs"].sel(layer="1").isnull().all()
    assert found["cka"].sel(other_layer="1").notnull().sum() == 2  # of the input and of the layer before
    turned = compare(whole, lost, X)
    assert turned["cka"].sel(other_layer="1").isnull().all()
    assert turned["cka"].sel(layer="1").notnull().sum() == 2


def test_a_layer_without_shape_is_missing_and_comparing_changes_nothing():
    network = model(0)
    with torch.no_grad():
        network[0].bias.fill_(-100)
    before = copy.deepcopy(network.state_dict())
    comparison = compare(network, None, torch.randn(9, 4))
    assert "one, 1" in comparison.attrs["left_out"]
    assert comparison["cka"].sel(layer="1").isnull().all()
    assert np.isfinite(comparison["cka"].sel(layer="0", other_layer="input"))
    assert all(torch.equal(before[name], part) for name, part in network.state_dict().items())


NOISE = 1e-12 * np.random.default_rng(0).normal(size=(N, 40))


@pytest.mark.parametrize("A", [np.zeros((7, 3)), np.tile([0.1, 0.7, 0.3], (7, 1)), [[1e-9, 1e6, 0.1]] * 7, 1e6 + NOISE])
@pytest.mark.parametrize("measures", [("cka",), ("angular",)])  # from a Gram matrix of many units, and not
def test_equal_points_have_no_shape_whatever_rounding_leaves_of_them(A, measures):
    with pytest.raises(ValueError, match="same"):
        shape_of(A, measures)


# the same points for all networks, and representations from elsewhere


class Shuffled(torch.utils.data.IterableDataset):
    """Points in an order, and with noise, that torch's own generators do not know."""

    def __init__(self, X, labels, draw):
        self.X, self.labels, self.draw = X, labels, draw

    def __iter__(self):
        for at in self.draw(len(self.X)):
            yield self.X[at] + 0.1 * np.random.default_rng().normal(size=4).astype(np.float32), self.labels[at]


def by_python(points):
    order = list(range(points))
    random.shuffle(order)
    return order


ORDERS = {
    "python": by_python,
    "numpy": lambda points: np.random.permutation(points),  # noqa: NPY002 - as datasets of users do
    "own generator": np.random.default_rng(3).permutation,
}


def points(count=24):
    X = torch.randn(count, 4, generator=torch.Generator().manual_seed(0))
    return X.numpy(), np.arange(count) % 3


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("most", [2000, 10])  # in memory and streamed
def test_a_network_is_its_copy_whatever_order_the_loader_draws(order, most, monkeypatch):
    monkeypatch.setattr("repdyn.diagnostics.methods.comparing.MOST_POINTS", most)
    loader = torch.utils.data.DataLoader(Shuffled(*points(), ORDERS[order]), batch_size=6)
    network = model(0)
    found = compare(network, copy.deepcopy(network), loader, reruns=[network.state_dict()], most_points=24)
    np.testing.assert_allclose(np.diag(found["cka"]), 1, atol=1e-6)
    np.testing.assert_allclose(found["cka_of_runs"], 1, atol=1e-6)


def test_batches_that_come_once_or_in_the_same_memory_are_compared_as_they_came():
    X, _ = points()
    memory = np.empty((6, 4), np.float32)

    def batches():
        for low in range(0, 24, 6):
            memory[:] = X[low : low + 6]
            yield memory

    found, whole = compare(model(0), model(1), batches()), compare(model(0), model(1), X)
    np.testing.assert_allclose(found["cka"], whole["cka"], atol=1e-6)


def linear_cka(A, B):
    """By its definition, in double precision."""
    A, B = (np.asarray(part, float) for part in (A, B))
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    norm = np.linalg.norm
    return norm(A.T @ B) ** 2 / (norm(A.T @ A) * norm(B.T @ B))


@pytest.mark.parametrize("most", [2000, 10])
def test_the_second_network_takes_the_points_in_a_form_of_its_own(most, monkeypatch):
    monkeypatch.setattr("repdyn.diagnostics.methods.comparing.MOST_POINTS", most)
    X, _ = points()
    wide = np.hstack([X, X[:, :2] ** 2])
    torch.manual_seed(1)
    other = nn.Sequential(nn.Linear(6, 5), nn.Tanh())
    found = compare(model(0), other, X, ["0"], other_inputs=wide, other_layers=["1"], most_points=24)
    with torch.no_grad():
        A, B = model(0)[0](torch.tensor(X)), other(torch.tensor(wide))
    assert found["cka"].item() == pytest.approx(linear_cka(A, B), abs=1e-6)
    noisy = compare(model(0), None, X, ["0"], other_inputs=X + 1, most_points=24)
    assert noisy["cka"].item() == pytest.approx(1, abs=1e-6)  # a shift changes nothing before the ReLU


def test_a_second_form_of_other_points_is_refused():
    X, labels = points()

    def loader(order):
        data = torch.utils.data.TensorDataset(torch.tensor(X[order]), torch.tensor(labels[order]))
        return torch.utils.data.DataLoader(data, batch_size=8)

    kept, turned = np.arange(24), np.arange(24)[::-1].copy()
    compare(model(0), model(1), loader(kept), other_inputs=loader(kept))
    with pytest.raises(ValueError, match="16 of 24 labels"):
        compare(model(0), model(1), loader(kept), other_inputs=loader(turned))
    with pytest.raises(ValueError, match=r"other: 23 points.*24"):
        compare(model(0), model(1), X, other_inputs=X[1:])
    with pytest.raises(ValueError, match=r"batches of \[12, 12\].*\[8, 8, 8\]"):
        compare(model(0), model(1), loader(kept), other_inputs=iter([X[:12], X[12:]]), measures=["cka_minibatch"])


@pytest.mark.parametrize("most", [2000, 10])
def test_arrays_of_other_programs_are_compared_with_each_other_and_with_networks(most, monkeypatch):
    monkeypatch.setattr("repdyn.diagnostics.methods.comparing.MOST_POINTS", most)
    X, _ = points()
    ids = [f"image {at}" for at in range(24)]
    rng = np.random.default_rng(1)
    A, B, maps = rng.normal(size=(24, 7)), rng.normal(size=(24, 30)), rng.normal(size=(24, 2, 3, 3)).astype(np.float32)
    first, second = Arrays({"layer1.0.relu": A, "maps": maps}, ids), Arrays({"theirs": B}, ids)
    found = compare(first, second, most_points=24, reruns=[Arrays({"layer1.0.relu": A, "maps": maps}, ids)])
    wanted = [[linear_cka(A, B)], [linear_cka(maps.reshape(24, -1), B)]]
    np.testing.assert_allclose(found["cka"], wanted, atol=1e-6)
    np.testing.assert_allclose(found["cka_of_runs"], 1, atol=1e-6)
    with torch.no_grad():
        H = model(0)[0](torch.tensor(X))
    for given in (X, iter([X[:10], X[10:]])):
        mixed = compare(model(0), second, given, ["0"], ids=ids, most_points=24)
        assert mixed["cka"].item() == pytest.approx(linear_cka(H, B), abs=1e-6)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (range(1, 25), "1 of them, as 0, are in the first.*1 of them, as 24, are in the second"),
        (range(23, -1, -1), "another order"),
    ],
)
def test_arrays_of_other_points_are_refused(ids, message):
    A = np.random.default_rng(0).normal(size=(24, 3))
    with pytest.raises(ValueError, match=message):
        compare(Arrays({"a": A}, range(24)), Arrays({"b": A}, ids))
    with pytest.raises(ValueError, match=message):
        compare(model(0), Arrays({"b": A}, ids), points()[0], ids=range(24))
    with pytest.raises(ValueError, match="ids"):
        compare(model(0), Arrays({"b": A}, ids), points()[0])
    with pytest.raises(ValueError, match=r"ids.*23.*24"):
        compare(model(0), None, points()[0], ids=range(23))


@pytest.mark.parametrize(
    ("layers", "ids"),
    [
        ({}, [0, 1]),
        ({"a": np.zeros((3, 2))}, [0, 1]),
        ({"a": np.zeros(2)}, [0, 1]),
        ({"a": np.eye(2)}, [1, 1]),
        ({"a": np.eye(2)}, [[0, 1]]),
        ({"a": [["x"], ["y"]]}, [0, 1]),
        ({"a:b": np.eye(2)}, [0, 1]),
    ],
)
def test_arrays_without_one_id_per_point_are_refused(layers, ids):
    with pytest.raises(ValueError, match=r"ids|layers|name|numbers"):
        Arrays(layers, ids)


@pytest.mark.parametrize("given", [np.eye(9), torch.eye(9), {"a": np.eye(9)}])
def test_bare_arrays_are_refused_with_the_way_to_give_them(given):
    with pytest.raises(ValueError, match="Arrays"):
        compare(given, None, np.eye(9))
    if not isinstance(given, dict):
        with pytest.raises(ValueError, match="Arrays"):
            compare(nn.Linear(9, 2), given, np.eye(9, dtype=np.float32))


def test_arrays_of_any_kind_are_compared_in_their_precision():
    """Differences of 1e-9 next to one are lost in single precision."""
    rng = np.random.default_rng(0)
    A, B = 1 + 1e-9 * rng.normal(size=(24, 3)), rng.normal(size=(24, 5))
    A.flags.writeable = False
    wanted = linear_cka(A, B)
    for values in (A, A[::-1][::-1], A.tolist(), torch.tensor(A), np.asfortranarray(A)):
        found = compare(Arrays({"a": values}, range(24)), Arrays({"b": B}, range(24)), measures=["cka"])
        assert found["cka"].item() == pytest.approx(wanted, rel=1e-6)
    backwards = compare(Arrays({"a": A[::-1]}, range(24)), Arrays({"b": B[::-1]}, range(24)), measures=["cka"])
    assert backwards["cka"].item() == pytest.approx(wanted, rel=1e-6)


def test_debiased_cka_of_three_points_says_why_it_is_missing():
    found = compare(model(0), None, points(3)[0], measures=["cka", "cka_debiased"])
    assert np.isnan(found["cka_debiased"]).all()
    assert np.isfinite(found["cka"]).any()
    assert "4 points" in found.attrs["left_out"]
