"""Batches of several inputs of several kinds: their points, some of them, their copies, their answers and precision."""

from collections import UserDict

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

from repdyn.diagnostics.methods.inputs import Batch, Inputs, as_inputs, split, spread, usual_unpack

GENERATOR = torch.Generator().manual_seed(0)
X, Y, Z = torch.randn(7, 3, generator=GENERATOR), torch.arange(7), torch.randn(7, 2, 4, generator=GENERATOR)
SECOND = torch.randn(5, 7, generator=GENERATOR)  # points on its second axis


def same(first, second):
    """Whether nested arguments hold equal tensors and equal others."""
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, list | tuple):
        return type(first) is type(second) and len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[name], second[name]) for name in first)
    return first == second


class Graph:
    def __init__(self, batch):
        self.batch = batch

    def to(self, *_):
        return self

    def clone(self):
        return Graph(self.batch.clone())


def test_the_tensors_of_a_batch_are_its_arguments_or_where_there_are_none_those_within():
    batch = Batch((X, "mean", [Z]), {"y": Y, "scale": 2.0})
    assert [id(part) for part in batch.tensors()] == [id(X), id(Y)]
    nested = Batch(([X, [Y]], 3), {"more": {"z": Z, "n": 1}, "pair": (SECOND, "a")})
    assert [id(part) for part in nested.tensors()] == [id(X), id(Y), id(Z), id(SECOND)]
    assert nested.shapes() == "(7, 3), (7,), (7, 2, 4), (5, 7)"


@pytest.mark.parametrize(
    ("batch", "axis", "points"),
    [
        (Batch((X, Y), {"z": Z}), 0, 7),
        (Batch((X, Y), {"z": SECOND}), 0, None),
        (Batch((SECOND, Z[:5].movedim(0, 2).expand(2, 4, 5)), {}), 1, None),
        (Batch((SECOND, SECOND[:2]), {"scale": 2.0}), 1, 7),
        (Batch((SECOND, Y), {}), 1, None),  # no second axis
        (Batch(([X, Z, SECOND],), {"sizes": [Y, Y, Y]}), 0, 3),
        (Batch(([X, Z, SECOND],), {"sizes": [Y, Y]}), 0, None),
        (Batch(([X, Z], X), {}), 0, 7),  # a list beside a tensor
        (Batch(([X, 3],), {}), 0, 7),
        (Batch(([np.zeros((4, 2)), X],), {}), 0, 2),
        (Batch((), {"x": X, "batch": torch.tensor([0, 0, 0, 1, 1, 2, 2])}), 0, None),
        (Batch((), {}), 0, None),
    ],
)
def test_points_are_counted_where_all_arguments_agree(batch, axis, points):
    assert batch.length(axis) == points


def test_the_graph_of_each_node_is_a_vector_of_whole_numbers_named_batch():
    nodes = torch.tensor([0, 0, 1, 2, 2, 2, 3])
    assert Batch((X, Graph(nodes)), {}).graphs() is nodes
    assert Batch((), {"a": X, "b": Graph(nodes)}).graphs() is nodes
    assert Batch((Graph(None),), {"b": Graph(nodes)}).graphs() is nodes
    assert Batch((X,), {"batch": nodes}).graphs() is nodes
    for other in (nodes[:, None], nodes.float(), nodes > 0, nodes + 0j, None, 7):
        assert Batch((X,), {"batch": other}).graphs() is None


def test_some_points_are_taken_of_every_tensor_or_of_lists_alone():
    def first_two(part):
        return part[:2]

    batch = Batch((X, [Y, 5], "mean"), {"z": Z, "scale": 2.0})
    wanted = Batch((X[:2], [Y, 5], "mean"), {"z": Z[:2], "scale": 2.0})  # lists beside tensors stay
    assert same(batch.taken(first_two, lambda part: part[-1:]), wanted)
    lists = Batch(([X, Z, Y],), {"more": [Y, X, Z]})
    assert same(lists.taken(first_two, lambda part: part[-1:]), Batch(([Y],), {"more": [Z]}))
    nested = Batch(({"x": X, "more": (Y, "a")},), {"z": [Z, 3]})
    wanted = Batch(({"x": X[:2], "more": (Y[:2], "a")},), {"z": [Z[:2], 3]})
    assert same(nested.taken(first_two, lambda part: part[-1:]), wanted)


def test_a_fresh_batch_shares_nothing_with_the_first():
    packed = pack_padded_sequence(Z, torch.tensor([2, 1, 2, 2, 1, 1, 2]), batch_first=True, enforce_sorted=False)
    batch = Batch((X, [Y, {"z": Z}], packed, "mean"), {"graph": Graph(Y), "pair": (X, 3)})
    fresh = batch.fresh()
    own, other = fresh.args[2], batch.args[2]
    assert isinstance(own, PackedSequence)
    assert own.data.data_ptr() != other.data.data_ptr()
    for name in ("data", "batch_sizes", "sorted_indices", "unsorted_indices"):
        assert torch.equal(getattr(own, name), getattr(other, name))
    places = (lambda b: b.args[0]), (lambda b: b.args[1][0]), (lambda b: b.args[1][1]["z"])
    for place in (*places, lambda b: b.kwargs["graph"].batch, lambda b: b.kwargs["pair"][0]):
        assert torch.equal(place(fresh), place(batch))
        assert place(fresh).data_ptr() != place(batch).data_ptr()
    assert (fresh.args[3], fresh.kwargs["pair"][1]) == ("mean", 3)


def test_sizes_are_of_each_batch_or_of_its_answers():
    agree, differ = Batch((X, Y), {}), Batch((X, SECOND), {})
    assert Inputs([agree, Batch((X[:4], Y[:4]), {}), Batch((X[:2], Y[:2]), {})]).sizes == [7, 4, 2]
    assert Inputs([differ, agree, differ], answers=[Y[:5], Y, Y[:3]]).sizes == [5, 7, 3]
    assert Inputs([differ, agree, differ]).sizes == [None, 7, None]
    assert Inputs([differ], points=6).sizes == [6]
    assert Inputs([differ, differ], points=6).sizes == [None, None]
    assert Inputs([agree], points=6).sizes == [7]
    assert [Inputs(parts).sliceable for parts in ([agree], [agree, differ], [differ, agree])] == [True, False, False]


def test_some_points_of_the_first_batch_along_its_axis_over_again_where_there_are_fewer():
    inputs = Inputs([Batch((SECOND, SECOND[:2]), {"scale": 2.0}), Batch((SECOND[:, :3],), {})], axis=1)
    places = [6, 2, 9, 7]
    wanted = Batch((SECOND[:, [6, 2, 2, 0]], SECOND[:2, [6, 2, 2, 0]]), {"scale": 2.0})
    assert same(inputs.some(places), wanted)
    lists = Inputs([Batch(([X, Y, Z],), {})])
    assert same(lists.some([2, 0, 4]), Batch(([Z, X, Y],), {}))


def test_points_are_not_spread_where_a_batch_cannot_be_cut():
    uneven = Inputs([Batch((X, Y), {}), Batch((X, SECOND), {})])
    assert uneven.spread(2) == (uneven.batches[0], None)
    even = Inputs([Batch((X, Y), {}), Batch((X[:3], Y[:3]), {})])
    some, places = even.spread(3)
    assert places.tolist() == [0, 3, 6]
    assert same(some, Batch((X[[0, 3, 6]], Y[[0, 3, 6]]), {}))
    assert even.spread(7)[1] is None
    assert [spread(points, 4).tolist() for points in (3, 4, 5, 10)] == [
        [0, 1, 2],
        [0, 1, 2, 3],
        [0, 1, 3, 4],
        [0, 3, 6, 9],
    ]


@pytest.mark.parametrize(
    ("batch", "wanted"),
    [
        ({"x": X, "target": 1, "labels": 2, "mask": Y, "label": 3, "targets": 4}, ({"x": X, "mask": Y}, 2)),
        ({"x": X, "target": 1, "targets": 4}, ({"x": X}, 4)),
        ({"x": X}, ({"x": X}, None)),
        (UserDict(x=X, label=3), ({"x": X}, 3)),
        ((X, Y), (X, Y)),
        ([X, Y], (X, Y)),
        ((X,), (X, None)),
        (X, (X, None)),
    ],
)
def test_a_batch_of_a_loader_is_inputs_and_answers(batch, wanted):
    assert same(usual_unpack(batch), wanted)


def test_answers_of_a_loader_count_where_every_batch_has_some():
    parts = [(X[:3], Y[:3]), (X[3:5], Y[3:5]), (X[5:], Y[5:].numpy())]
    found = as_inputs(nn.Linear(3, 2), iter(parts))
    assert [part.tolist() for part in found.answers] == [[0, 1, 2], [3, 4], [5, 6]]
    assert found.sizes == [3, 2, 2]
    for lacking in (0, 2):
        some = [(part[0],) if number == lacking else part for number, part in enumerate(parts)]
        assert as_inputs(nn.Linear(3, 2), iter(some)).answers == []


def test_numbers_come_in_the_precision_of_the_network_and_whole_ones_as_they_are():
    packed = pack_padded_sequence(Z, torch.full((7,), 2), batch_first=True)
    given = (X, Y, X > 0, [Z, Y], {"x": X.half()}, packed, "mean")
    found = as_inputs(nn.Sequential(nn.Embedding(3, 2), nn.Linear(3, 2)).double(), given).batches[0].args
    types = [found[0].dtype, found[1].dtype, found[2].dtype, found[3][0].dtype, found[3][1].dtype, found[4]["x"].dtype]
    assert types == [torch.float64, torch.int64, torch.bool, torch.float64, torch.int64, torch.float64]
    assert (found[5].data.dtype, found[6]) == (torch.float64, "mean")
    assert as_inputs(nn.Flatten(), (X, Z.half())).batches[0].args[1].dtype == torch.float16  # without weights
    again = as_inputs(nn.Linear(3, 2).half(), Inputs([Batch((X,), {}), Batch((X, Y), {})], axis=1, answers=[Y, Y]))
    assert [part.args[0].dtype for part in again.batches] == [torch.float16] * 2
    assert (again.axis, len(again.answers)) == (1, 2)


def test_a_batch_is_cut_along_its_axis_with_its_answers():
    inputs = Inputs([Batch((SECOND,), {"more": SECOND[:2], "scale": 2.0})], 1, [Y])
    cut = split(inputs, 3)
    wanted = [
        Batch((SECOND[:, s],), {"more": SECOND[:2, s], "scale": 2.0}) for s in (slice(3), slice(3, 6), slice(6, 7))
    ]
    assert all(map(same, cut.batches, wanted))
    assert [part.tolist() for part in cut.answers] == [[0, 1, 2], [3, 4, 5], [6]]
    assert (cut.axis, cut.sizes) == (1, [3, 3, 1])
    lists = split(Inputs([Batch(([X, Y, Z, SECOND],), {})]), 3)
    assert all(map(same, lists.batches, [Batch(([X, Y, Z],), {}), Batch(([SECOND],), {})]))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([(X, Y), (X[:2] / 0, Y), (X, Y), (X[:1] + torch.nan, Y)], "inputs holds 9 values that are NaN or infinite"),
        ([X[:1], X[:1], X[:1]], "all points of inputs are the same"),
        ([X, Y, X[0]], r"inputs has shape \(3,\); give \(points, ...\)"),
        ({"name": "x", "scale": 2.0}, "inputs is a dict without a tensor; give one tensor"),
        (("x", 2.0), "inputs is a tuple without a tensor"),
        (3, "inputs is a int; give one tensor"),
        ("text", "inputs is a str; give one tensor"),
        ([], "inputs is a list; give one tensor"),
        (iter([]), "the loader of inputs has no batches"),
        ([(X[:1], Y[:1])], "inputs holds a single point"),
    ],
)
def test_what_is_no_input_is_refused(inputs, message):
    given = iter(inputs) if isinstance(inputs, list) and inputs else inputs
    with pytest.raises(ValueError, match=message):
        as_inputs(nn.Linear(3, 2), given)


def test_points_are_different_where_any_batch_differs_and_equal_ones_beside_another_input_are_taken():
    alike = X[:1].expand(4, 3)
    assert as_inputs(nn.Linear(3, 2), iter([alike, alike, X])).sizes == [4, 4, 7]
    assert as_inputs(nn.Linear(3, 2), (alike, Y[:4])).sizes == [4]
    assert as_inputs(nn.Embedding(7, 2), Y).sizes == [7]  # a vector of whole numbers


@pytest.mark.parametrize("axis", [0, 1])
def test_equal_points_are_those_along_the_axis_of_points(axis):
    rows = torch.arange(4.0).expand(3, 4)
    with pytest.raises(ValueError, match="all points of inputs are the same"):
        as_inputs(nn.Linear(4, 2), rows.movedim(0, axis), axis=axis)
    assert as_inputs(nn.Linear(4, 2), rows.movedim(0, axis), axis=1 - axis).sizes == [4]


@pytest.mark.parametrize("cut", [0, -1])
def test_batches_of_no_points_are_refused(cut):
    with pytest.raises(ValueError, match=f"batch_size is {cut}; give 1 or more"):
        as_inputs(nn.Linear(3, 2), X, batch_size=cut)


def test_the_sampler_s_own_generator_and_the_loader_s_are_as_they_were():
    own, loaders = torch.Generator().manual_seed(3), torch.Generator().manual_seed(4)
    model, data = nn.Linear(3, 2), TensorDataset(X, Y)
    loader = DataLoader(data, 2, sampler=RandomSampler(data, generator=own), generator=loaders)
    before = own.get_state(), loaders.get_state(), torch.get_rng_state()
    found = as_inputs(model, loader)
    assert sorted(torch.cat(found.answers).tolist()) == list(range(7))
    for state, kept in zip((own.get_state(), loaders.get_state(), torch.get_rng_state()), before, strict=True):
        assert torch.equal(state, kept)
