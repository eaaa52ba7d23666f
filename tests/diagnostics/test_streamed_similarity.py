"""More points than can be kept: the numbers of those that are kept, in bounded memory."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics import compare as module
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.methods import minibatch_similarity, streamed_similarity
from repdyn.diagnostics.methods.features import Features
from repdyn.diagnostics.methods.minibatch_similarity import Minibatches
from repdyn.diagnostics.methods.streamed_similarity import ChosenRows, Streamed
from repdyn.diagnostics.theory.similarity import shape_of, similarities

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
def test_streamed_numbers_are_the_kept_ones(memory, most_points, small):
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
    monkeypatch.setattr(streamed_similarity, "MOST_UNITS", 29)
    found = compare(network, constant, points(), ["input", "0"], other_layers=["0", "1"], most_points=90)
    assert "one, 0: values that are NaN or infinite" in found.attrs["left_out"]
    assert "other, 1: all points are the same in this layer" in found.attrs["left_out"]
    assert np.isfinite(found["cka"].values).tolist() == [[True, False], [False, False]]
    wide = compare(model(0), None, points(), most_points=90)
    assert "one, 0: more than" in wide.attrs["left_out"]
    assert np.isfinite(wide["cka_debiased"]).all()
    assert wide["procrustes"].isnull().sum() == 2 * 4 * 2 - 2 * 2


def test_points_that_change_each_other_are_refused(small):
    small(20)
    network = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4, track_running_stats=False)).double()
    with pytest.raises(ValueError, match="normalizes the points of a batch by each other; give most_points=20"):
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


# rows written down by hand: two networks, four batches of points with two rows each

SIZES, CHOSEN = [3, 2, 4, 3], np.array([0, 1, 5, 10, 11, 13, 16, 17, 18, 20, 23])
LAYERS = [["a", "b"], ["a", "c", "d"]]


def made_up(monkeypatch, **changed):
    """Rows of each layer, of which those of some batches are as told; and the chosen ones."""
    rng = np.random.default_rng(0)
    whole = {
        (at, name): rng.normal(size=(24, 3 + at + k)) + at
        for at, own in enumerate(LAYERS)
        for k, name in enumerate(own)
    }
    ends, asked = 2 * np.cumsum([0, *SIZES]), []

    def batch_rows(planned, batch, names):
        asked.append((planned.number, batch, tuple(names)))
        rows = {name: whole[planned.number, name][ends[batch] : ends[batch + 1]].copy() for name in names}
        failed = {}
        for key, change in changed.items():
            number, name, place = int(key[1]), key[2], int(key[3])
            if (number, batch) == (planned.number, place) and name in rows:
                rows[name] = change(rows[name])
                if isinstance(rows[name], str):
                    failed[name] = rows.pop(name)
        return rows, failed

    monkeypatch.setattr(streamed_similarity, "batch_rows", batch_rows)
    inputs = SimpleNamespace(inputs=SimpleNamespace(sizes=SIZES))
    plans = [SimpleNamespace(number=at, layers=own, tokens=2, reader=inputs) for at, own in enumerate(LAYERS)]
    return ChosenRows(plans, CHOSEN, lambda A: A), whole, asked


def test_the_chosen_rows_of_every_batch_and_layer(monkeypatch):
    rows, whole, asked = made_up(monkeypatch)
    assert rows.places.tolist() == [0, 3, 3, 8, 11]
    assert rows.batches == [0, 2, 3]  # none of the second batch is chosen
    assert rows.keys == [(0, "a"), (0, "b"), (1, "a"), (1, "c"), (1, "d")]
    keys = [(1, "d"), (0, "b"), (1, "a")]
    for batch, chosen in ((0, [0, 1, 5]), (2, [10, 11, 13, 16, 17]), (3, [18, 20, 23])):
        found = rows.read(batch, keys)
        assert set(found) == set(keys)
        for key in keys:
            np.testing.assert_array_equal(found[key], whole[key][chosen])
    assert asked[:2] == [(0, 0, ("b",)), (1, 0, ("d", "a"))]
    assert rows.reasons == {}


def lost(place):
    def change(A):
        A[place, 1] = np.nan
        return A

    return change


def test_layers_that_lack_rows_keep_their_first_reason_and_the_others_are_compared(monkeypatch):
    changed = {
        "k0b2": lost(3),
        "k0b3": lambda _: "later",
        "k1c0": lambda A: A[:4],
        "k1d3": lambda _: "gone",
        "k1a0": lost(2),
    }
    rows, whole, _ = made_up(monkeypatch, **changed)
    assert set(rows.read(0, rows.keys)) == {(0, "a"), (0, "b"), (1, "a"), (1, "d")}  # what is lost is not chosen
    assert set(rows.read(2, rows.keys)) == {(0, "a"), (1, "a"), (1, "c"), (1, "d")}
    rows.read(3, rows.keys)
    wanted = {
        (0, "b"): "values that are NaN or infinite",
        (1, "c"): "it has 4 rows where 6 are compared",
        (1, "d"): "gone",
    }
    assert rows.reasons == wanted
    rows = made_up(monkeypatch, **changed)[0]
    usual, minibatches = Streamed(rows, 300), Minibatches(made_up(monkeypatch, **changed)[0], 300)
    assert rows.reasons == wanted
    assert usual.keys == [(0, "a"), (1, "a")]
    assert minibatches.reasons == wanted
    pairs = [((1, "a"), (0, "a")), ((0, "a"), (1, "d")), ((0, "a"), (0, "a"))]
    first, missing, itself = usual.similarities(pairs)
    assert np.isnan([*missing.values()]).all()
    X, Y = (whole[key][CHOSEN] for key in pairs[0])
    assert first == pytest.approx(similarities(shape_of(X), shape_of(Y)), rel=1e-9)
    assert itself["cka"] == pytest.approx(1)
    assert np.isnan([*minibatches.similarities(pairs)]).tolist() == [False, True, False]


def test_a_batch_of_which_no_layer_has_rows_takes_nothing_down(monkeypatch):
    changed = {f"k{at}{name}2": lambda _: "gone" for at, own in enumerate(LAYERS) for name in own}
    rows = made_up(monkeypatch, **changed)[0]
    found = Minibatches(rows, 300)
    assert found.reasons == dict.fromkeys(rows.keys, "gone")
    assert np.isnan([*found.similarities([((0, "a"), (1, "c"))])]).all()
    usual = Streamed(made_up(monkeypatch, **changed)[0], 300)
    assert usual.keys == []
    assert np.isnan([*next(usual.similarities([((0, "a"), (1, "c"))])).values()]).all()


def test_layers_that_are_the_same_for_the_chosen_points_are_told_and_keep_an_earlier_reason(monkeypatch):
    constant = {f"k1c{batch}": lambda A: 0 * A + 5 for batch in range(4)}
    own = {f"k0b{batch}": lambda A: 0 * A + 1 / 3 for batch in range(4)}
    rows = made_up(monkeypatch, **constant, **own)[0]
    Streamed(rows, 2**20)
    assert rows.reasons == dict.fromkeys([(0, "b"), (1, "c")], streamed_similarity.CONSTANT)
    of_minibatches = Minibatches(made_up(monkeypatch, **constant, **own)[0], 2**20)
    assert of_minibatches.reasons == dict.fromkeys([(0, "b"), (1, "c")], minibatch_similarity.CONSTANT)
