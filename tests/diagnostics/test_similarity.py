"""More points than memory holds, minibatches, and torch on a device: the numbers of all points at once by numpy."""

import tracemalloc
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from tests.diagnostics.networks import counted, hsic, leaving_folds_out
from tests.pretended_gpu import OneDevice
from torch import nn
from torch.utils.data import DataLoader

from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.methods import comparing as module
from repdyn.diagnostics.methods import similarity as streamed
from repdyn.diagnostics.methods.reader import Features
from repdyn.diagnostics.theory import similarity, spectra
from repdyn.diagnostics.theory.similarity import MEASURES, ON_REQUEST, shape_of, similarities, u_centered

NAMES = ("cka", "cka_debiased", "procrustes", "angular")


def model(seed, units=30):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, units), nn.ReLU(), nn.Linear(units, 3)).double()


def points(n=90, *more):
    return 2 + torch.randn(n, *more, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


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


@pytest.mark.parametrize("measures", [NAMES, ("cka_minibatch",)])
def test_layers_with_constant_or_missing_values_are_left_out_when_streamed(measures, small):
    small(20)
    network, lost = model(0), nn.Sequential(nn.Linear(5, 4), nn.Threshold(0.5, torch.nan)).double()
    with torch.no_grad():
        network[0].weight.zero_()
    options = {"measures": measures, "batch_size": 12, "most_points": 48}
    found = compare(network, lost, points(48), ["input", "0"], other_layers=["0", "1"], **options)
    assert "one, 0" in found.attrs["left_out"]
    assert "other, 1" in found.attrs["left_out"]
    for name in measures:
        assert np.isfinite(found[name].values).tolist() == [[True, False], [False, False]]


def test_layers_of_many_units_have_cka_alone(small, monkeypatch):
    small(20)
    monkeypatch.setattr(streamed, "MOST_UNITS", 29)
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


NAME = ("cka_minibatch",)


def expected(X, Y, batches):
    """Means of unbiased HSIC over minibatches, then the ratio (Nguyen, Raghu and Kornblith 2021, eq. (2))."""
    sums = np.mean([[hsic(A, B) for A, B in ((X[b], Y[b]), (X[b], X[b]), (Y[b], Y[b]))] for b in batches], axis=0)
    return sums[0] / np.sqrt(sums[1] * sums[2])


def two(n, units=(5, 9)):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, units[0]))
    return X, np.hstack([X[:, :2], rng.normal(size=(n, units[1] - 2))]) + 3


@pytest.mark.parametrize("units", [(5, 9), (30, 9), (30, 40)])
@pytest.mark.parametrize("more", [(), ("angular",)])
def test_it_is_the_ratio_of_means_over_minibatches(units, more):
    X, Y = two(20, units)
    minibatch, measures = np.repeat([0, 1, 2, 3], [7, 4, 6, 3]), (*NAME, *more)  # three points tell nothing
    found = similarities(shape_of(X, measures, minibatch), shape_of(Y, measures, minibatch), measures)
    wanted = expected(X, Y, [slice(0, 7), slice(7, 11), slice(11, 17)])
    assert found["cka_minibatch"] == pytest.approx(wanted, rel=1e-9)
    assert abs(wanted - expected(X, Y, [slice(0, 20)])) > 0.01


def test_a_single_minibatch_is_debiased_cka_and_none_of_four_points_is_nothing():
    X, Y = two(12)
    measures = ("cka_minibatch", "cka_debiased")
    found = similarities(shape_of(X, measures), shape_of(Y, measures), measures)
    assert found["cka_minibatch"] == pytest.approx(found["cka_debiased"], rel=1e-12)
    minibatch = np.arange(12) // 3
    found = similarities(shape_of(X, measures, minibatch), shape_of(Y, measures, minibatch), measures)
    assert np.isnan(found["cka_minibatch"])
    assert np.isfinite(found["cka_debiased"])


def test_over_all_ways_to_deal_minibatches_out_the_numerator_is_that_of_all_points():
    X, Y = two(8)
    numerators = []
    for first in combinations(range(8), 4):
        parts = list(first), [k for k in range(8) if k not in first]
        numerators.append(np.mean([np.sum(u_centered(X[b] @ X[b].T) * u_centered(Y[b] @ Y[b].T)) / 4 for b in parts]))
    assert np.mean(numerators) == pytest.approx(hsic(X, Y), rel=1e-9)
    assert np.std(numerators) > 0.1 * abs(hsic(X, Y))


@pytest.mark.parametrize("most", [1000, 20])
def test_a_layer_that_differs_between_minibatches_alone_has_none(monkeypatch, most):
    monkeypatch.setattr(module, "MOST_POINTS", most)
    X = torch.randn(48, 5, generator=torch.Generator().manual_seed(0))
    X[:, :2] = torch.randn(4, 2).repeat_interleave(12, dim=0)
    first = nn.Linear(5, 30)
    with torch.no_grad():
        first.weight[:, 2:] = 0
    measures = ["cka", "cka_minibatch"]
    found = compare(first, None, X, ["input", "output"], measures=measures, batch_size=12, most_points=48)
    assert np.isfinite(found["cka"]).all()
    assert np.isfinite(found["cka_minibatch"].values).tolist() == [[True, False], [False, False]]


def activations(network, X):
    return {"input": X.numpy(), "0": network[0](X).detach().numpy(), "2": network(X).detach().numpy()}


def slices(sizes):
    ends = np.cumsum([0, *sizes])
    return [slice(low, high) for low, high in pairwise(ends)]


@pytest.mark.parametrize("most", [1000, 20])
@pytest.mark.parametrize("memory", [1, 2**29])
def test_minibatches_are_the_batches_of_a_loader_in_memory_or_streamed(monkeypatch, most, memory):
    monkeypatch.setattr(module, "MOST_POINTS", most)
    X, first, second = points(50), model(0), model(1)
    loader = DataLoader(X, batch_size=12)
    found = compare(first, second, loader, ["input", "0", "2"], measures=NAME, reruns=[second], memory=memory)
    A, B = activations(first, X), activations(second, X)
    for layer in A:
        for other in B:
            wanted = expected(A[layer], B[other], slices([12, 12, 12, 12]))  # the last two points are too few
            assert float(found["cka_minibatch"].sel(layer=layer, other_layer=other)) == pytest.approx(wanted, rel=1e-9)
        of_runs = found["cka_minibatch_of_runs"].sel(layer=layer, runs="0-1")
        assert float(of_runs) == pytest.approx(expected(A[layer], B[layer], slices([12] * 4)), rel=1e-9)
    assert found.attrs["left_out"] == ""


@pytest.mark.parametrize("most", [1000, 20])
def test_tokens_of_a_point_are_in_its_minibatch_and_masked_ones_in_none(monkeypatch, most):
    monkeypatch.setattr(module, "MOST_POINTS", most)
    X, network = points(15, 4), model(0)
    mask = np.arange(4) < np.arange(15)[:, None] % 4 + 1
    features = Features("tokens", channels=-1, mask=mask)
    found = compare(network, None, X, ["input", "0"], measures=NAME, features=features, batch_size=5)
    rows = [X[part][torch.from_numpy(mask[part])] for part in slices([5, 5, 5])]
    A = activations(network, torch.cat(rows))
    wanted = expected(A["input"], A["0"], slices(map(len, rows)))
    assert float(found["cka_minibatch"].sel(layer="input", other_layer="0")) == pytest.approx(wanted, rel=1e-9)


def test_more_points_than_memory_holds_are_compared_in_one_run(monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 20)
    network = model(0)
    runs = counted(network)
    compare(network, None, DataLoader(points(48), batch_size=12), measures=NAME, memory=1)
    assert runs[-4:] == [12, 12, 12, 12]
    assert sum(size == 12 for size in runs) == 4


@pytest.mark.parametrize(
    ("options", "most"), [({"batch_size": 3}, 3), ({"batch_size": 12, "most_points": 8}, 2)], ids=["batches", "points"]
)
def test_minibatches_that_are_too_small_are_refused(options, most):
    with pytest.raises(ValueError, match=rf"cka_minibatch.*\b{most}\b"):
        compare(model(0), None, points(48), measures=NAME, **options)


def test_intervals_leave_points_out_of_their_minibatches():
    X, first, second = points(40), model(0), model(1)
    found = compare(first, second, X, ["0"], measures=NAME, intervals=True, batch_size=20)
    A, B = (activations(network, X)["0"] for network in (first, second))
    _, half = leaving_folds_out(lambda kept: expected(A, B, [kept[kept < 20], kept[kept >= 20]]), 40)
    assert (found["cka_minibatch_high"] - found["cka_minibatch"]).item() == pytest.approx(half, rel=1e-4)


ALL = (*MEASURES, *ON_REQUEST)
GPU = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device to compute on")
)


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("measures", [ALL, ("cka", "cka_debiased", *ON_REQUEST), ("cka_minibatch",)])
def test_recorded_layers_have_the_numbers_of_numpy(device, measures, monkeypatch):
    arguments = {"reruns": [model(2)], "measures": measures, "intervals": True, "batch_size": 20}
    by_numpy = compare(model(0), model(1), points(40), **arguments)
    kinds = []
    monkeypatch.setattr(module, "shape_of", lambda A, *more: kinds.append(A.device.type) or shape_of(A, *more))
    found = compare(model(0), model(1), points(40), device=device, **arguments)
    assert set(kinds) == {device}
    assert found.attrs == by_numpy.attrs
    for name, values in by_numpy.data_vars.items():
        assert values.notnull().all()
        atol = 1e-7 if name.startswith(MEASURES[2:]) else 1e-12  # distances are roots of 1 minus what may be nearly 1
        np.testing.assert_allclose(found[name], values, rtol=1e-10, atol=atol, err_msg=name)


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("memory", [1, 2**29])
def test_streamed_layers_have_the_numbers_of_numpy(device, memory, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 20)
    arguments = {"measures": (*MEASURES, "cka_minibatch"), "most_points": 90, "memory": memory, "batch_size": 16}
    by_numpy = compare(model(0), model(1), points(90), **arguments)
    found = compare(model(0), model(1), points(90), device=torch.device(device), **arguments)
    for name, values in by_numpy.data_vars.items():
        assert values.notnull().all()
        np.testing.assert_allclose(found[name], values, rtol=1e-10, atol=1e-7, err_msg=name)


@pytest.fixture
def without_numbers(monkeypatch):
    """Tensors of torch's device `meta` have no numbers; where one is asked for it is 1."""

    def number(value=0.0):
        return 1.0 if isinstance(value, torch.Tensor) and value.device.type == "meta" else float(value)

    for module_ in (module, similarity, streamed):
        monkeypatch.setattr(module_, "float", number, raising=False)
    monkeypatch.setattr(streamed, "_on_cpu", lambda A: np.ones(A.shape))


@pytest.mark.parametrize("small", [2**26, 0])
@pytest.mark.parametrize("measures", [(*MEASURES, "cka_minibatch", "cka_rbf"), ("cka", "cka_minibatch", "cka_rbf")])
def test_no_tensor_of_recorded_layers_is_left_on_the_cpu(measures, small, without_numbers, monkeypatch):
    monkeypatch.setattr(spectra, "SMALL", small)
    with OneDevice():
        found = compare(model(0), model(1), points(40), device="meta", measures=measures, batch_size=20)
    assert found.attrs["left_out"] == ""
    assert all(values.shape == (4, 4) for values in found.data_vars.values())


def test_no_tensor_of_streamed_layers_is_left_on_the_cpu(without_numbers, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 20)
    arguments = {"measures": (*MEASURES, "cka_minibatch"), "most_points": 90, "memory": 2**15, "batch_size": 16}
    with OneDevice():
        found = compare(model(0), model(1), points(90), device="meta", **arguments)
    assert found.attrs["left_out"] == ""
    assert found["cka"].notnull().all()


@pytest.mark.parametrize("place", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_large_wide_layers_go_through_their_gram_matrix(place, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 50)), rng.normal(size=(20, 3)) @ rng.normal(size=(3, 50))
    wanted = similarities(shape_of(X), shape_of(Y))
    monkeypatch.setattr(spectra, "SMALL", 0)
    assert shape_of(place(Y)).F.shape == (20, 20)
    found = similarities(shape_of(place(X)), shape_of(place(Y)))
    assert found == pytest.approx(wanted, rel=1e-12)  # 1e-8, were roots of eigenvalues that are rounding kept


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_gpu_is_refused():
    with pytest.raises(ValueError, match=r"device.*'cuda'"):
        compare(model(0), None, points(40), device="cuda")
