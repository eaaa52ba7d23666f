"""Names of everything that runs in a forward pass: calls, what goes in, parts of what comes out, functions, leaves."""

import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from repdyn.diagnostics.measure import network_reader
from repdyn.diagnostics.methods import layer_shapes, streaming
from repdyn.diagnostics.methods.features import Features
from repdyn.diagnostics.methods.layer_shapes import LayerShape, base, find_shapes
from repdyn.diagnostics.methods.layers import function_label, parts_of, watched

A, B, C = (torch.full((2, 3), float(k)) for k in (1, 2, 3))


def packed():
    return pack_padded_sequence(torch.ones(2, 3, 4), torch.tensor([3, 2]), batch_first=True)


@pytest.mark.parametrize(
    ("returned", "names"),
    [
        (A, {"m": A}),
        (3, {"m": 3}),
        ((A, B, C), {"m": A, "m[1]": B, "m[2]": C}),
        ([A, "b", C], {"m": A, "m[2]": C}),
        (("a", B, C), {"m": ("a", B, C), "m[1]": B, "m[2]": C}),
        ((), {"m": ()}),
        ({"x": A, 1: B, "y": "c", "z": C}, {"m[x]": A, "m[1]": B, "m[z]": C, "m": {"x": A, 1: B, "y": "c", "z": C}}),
    ],
)
def test_parts_of_what_a_call_returns_have_the_names_of_their_places(returned, names):
    found = list(parts_of("m", returned))
    assert [name for name, _ in found] == list(names)
    for name, part in found:
        assert part is names[name] or part == names[name]


def test_a_packed_sequence_is_one_part_alone_or_first_of_a_tuple():
    sequence = packed()
    assert list(parts_of("m", sequence)) == [("m", sequence)]
    (first, own), (second, other) = parts_of("m", (sequence, B))
    assert (first, second) == ("m", "m[1]")
    assert own is sequence
    assert other is B


class Parts(nn.Module):
    """A map called three times, by keyword once; a module of parts, one of which has parts itself; functions."""

    def __init__(self):
        super().__init__()
        self.map, self.pair, self.add, self.unused = nn.Linear(3, 3), Pair(), nn.Identity(), nn.Linear(3, 3)

    def forward(self, x):
        hidden = self.map(x)
        hidden = self.map(input=hidden + 1)
        first, second = self.pair(None, hidden, scale=2.0)
        hidden = self.add(first) + second
        hidden += self.map(hidden).relu()
        return hidden[:, :2] - torch.tanh(hidden)[:, 1:]


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.ReLU(), nn.Tanh())

    def forward(self, _nothing, x, scale):
        return self.inner(x) * scale, x


CALLS = [
    "map:input", "map", "map#2:input", "map#2", "pair:input", "pair.inner:input", "pair.inner.0:input",
    "pair.inner.0", "pair.inner.1:input", "pair.inner.1", "pair.inner", "pair", "pair[1]", "add:input", "add",
    "map#3:input", "map#3",
]  # fmt: skip
BETWEEN = {
    "map": ["add_1"],  # after the module `add`
    "pair.inner": ["pair.mul"],
    "add": ["add_2"],
    "map#3": ["relu", "add_3", "getitem", "tanh", "getitem_1", "sub"],
}


def reported(functions):
    found, model, X = [], Parts(), torch.randn(4, 3)
    with watched(model, lambda name, value: found.append((name, value)), functions=functions), torch.no_grad():
        model(X)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
    return found


def test_every_call_is_reported_once_in_the_order_in_which_it_ends():
    found = reported(functions=False)
    assert [name for name, _ in found] == CALLS
    values = dict(found)
    assert torch.equal(values["map#2:input"], values["map"] + 1)
    assert torch.equal(values["pair:input"], values["map#2"])
    assert torch.equal(values["pair"], 2 * values["pair.inner"])
    assert torch.equal(values["pair[1]"], values["map#2"])


def test_functions_are_reported_where_a_module_s_own_code_calls_them():
    found = reported(functions=True)
    wanted = [entry for name in CALLS for entry in (name, *BETWEEN.get(name, []))]
    assert [name for name, _ in found] == wanted


def test_what_the_receiver_computes_is_no_layer():
    found, model, X = [], nn.Sequential(nn.Linear(3, 3), nn.ReLU()), torch.randn(4, 3)
    with watched(model, lambda name, value: found.append((name, value + 1)), functions=True), torch.no_grad():
        model(X)
    assert [name for name, _ in found] == ["0:input", "0", "1:input", "1"]


def test_packed_inputs_and_states_are_reported_padded():
    found, model = {}, nn.Sequential(nn.LSTM(4, 5, batch_first=True))
    with watched(model, lambda name, value: found.update({name: value})):
        model(packed())
    assert not any(isinstance(value, PackedSequence) for value in found.values())
    assert found["0:input"].shape == (2, 3, 4)
    assert found["0"].shape == (2, 3, 5)


def test_names_of_operators_in_place_or_from_the_right_are_those_of_the_operator():
    operators = ("add", "sub", "mul", "truediv", "floordiv", "matmul", "pow", "mod")
    for operator in operators:
        assert {function_label(form) for form in (f"__{operator}__", f"__i{operator}__", f"__r{operator}__")} == {
            operator
        }
    assert [function_label(name) for name in ("sub_", "tanh_", "__div__", "__rdiv__", "__neg__", "__bool__", "")] == [
        "sub", "tanh_", "truediv", "truediv", "neg", "", "",
    ]  # fmt: skip


@pytest.mark.parametrize("more", ["", "#3", ":input", "#12:input", "[1]", "[key]", "#2[head 3]", ":input[head 0]"])
def test_the_module_behind_a_name(more):
    assert base(f"blocks.1.map{more}") == "blocks.1.map"


# which layers there are


def reader(model, X, **options):
    return network_reader(model, X, **options)


SHAPES = {
    name: LayerShape(0, units=units) for name, units in (("a", 3), ("a#2", 4), ("a#10", 5), ("ab#2", 6), ("b", 7))
}


def test_a_name_means_itself_or_the_call_that_torchvision_counts_from_zero():
    wanted = {
        "a": "a",
        "a#2": "a#2",
        "a_1": "a#2",
        "a_9": "a#10",
        "a_2": None,
        "ab_1": "ab#2",
        "b_0": None,
        "a_x": None,
    }
    assert {name: streaming._resolved(name, SHAPES) for name in wanted} == wanted


def test_a_module_named_without_a_number_is_all_of_its_calls():
    assert streaming._wanted(["b", "a", "a_1"], {"a_1": "a#2"}, SHAPES) == ["b", "a", "a#2", "a#10", "a#2"]


def test_every_unknown_name_is_told_with_the_nearest_ones():
    known = ["input", "conv", "conv1", "norm", "conv1:input", "norm", "output"]
    text = "'cnv' (did you mean 'conv' or 'conv1'?), 'zzzz', 'nrom' (did you mean 'norm'?)"
    assert streaming._unknown(["cnv", "zzzz", "nrom"], known) == (
        f"the network has no layer {text}; it has input, conv, conv1, norm, output"
    )


class Nested(nn.Module):
    """Leaves, a part whose parts do not run, one that does not run, one with no parts, computed weights."""

    def __init__(self):
        super().__init__()
        self.outer = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 5)))
        self.around, self.skipped, self.none = Around(), nn.Sequential(nn.Linear(3, 3)), nn.Sequential()
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(5, 2))

    def forward(self, x):
        return self.normed(self.around(self.none(self.outer(x)))).flip(-1)


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.map = nn.Linear(5, 5)

    def forward(self, x):
        return nn.functional.linear(x, self.map.weight)


def test_layers_are_calls_inside_which_none_ran_and_parts_that_never_ran_are_told():
    plan = streaming.plan(reader(Nested(), torch.randn(7, 3)), None)
    assert plan.layers == ["input", "outer.0", "outer.1.0", "none", "around", "normed", "output"]
    assert plan.left_out == {"around.map": streaming.NEVER, "skipped.0": streaming.NEVER}
    assert {name: plan.shapes[name].units for name in plan.layers} == {
        "input": 3, "outer.0": 4, "outer.1.0": 5, "none": 5, "around": 5, "normed": 2, "output": 2,
    }  # fmt: skip
    assert (plan.classifier, plan.points, plan.tokens, plan.functions) == (None, 7, 1, False)


def test_layers_that_are_refused_are_all_told():
    class Three(nn.Module):
        def __init__(self):
            super().__init__()
            self.total, self.last, self.unused, self.whole = Total(), nn.Linear(3, 2), nn.Linear(3, 2), Whole()

        def forward(self, x):
            self.total(x)
            self.whole(x)
            return self.last(x)

    refused = (
        "layer 'total': it returns shape () for 3 points, which is no row per point; "
        f"layer 'unused': {streaming.NEVER}; "
        "layer 'whole': it returns int64, which has no distances. Name a module around it or after it"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(refused)}$"):
        streaming.plan(reader(Three(), torch.randn(7, 3)), ["unused", "last"], ["whole"], ["total"])


class Total(nn.Module):
    def forward(self, x):
        return x.sum()


class Whole(nn.Module):
    def forward(self, x):
        return x.long()


def test_layers_go_into_groups_in_their_order():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 5), nn.Linear(5, 1), nn.Linear(1, 4), nn.Linear(4, 6))
    batches = torch.utils.data.DataLoader(torch.randn(10, 3), batch_size=4)
    plan = streaming.plan(reader(model, batches, memory=4 * 10 * 7), ["0", "1", "2", "3", "4"])
    assert streaming._groups(plan, ["0", "1", "2", "3", "4"]) == [["0", "1"], ["2", "3"], ["4"]]  # 2 + 5, 1 + 4, 6
    assert plan.sizes == [4, 4, 2]


def test_the_mean_over_the_nodes_of_each_graph():
    rows = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0], [2.0, 2.0], [9.0, 4.0]])
    graphs = torch.tensor([2, 0, 2, 2, 3])
    wanted = [[3, 6], [0, 0], [8 / 3, 5 / 3], [9, 4]]
    torch.testing.assert_close(streaming._mean_by_graph(rows, graphs), torch.tensor(wanted))


def test_layers_and_heads_are_those_that_are_asked_for():
    class Three(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(4, 6), nn.Linear(6, 9), nn.Linear(9, 4)

        def forward(self, x):
            return self.c(self.b(self.a(x)))

    features = Features("flatten", channels=-1, heads=3)
    plan = streaming.plan(reader(Three(), torch.randn(7, 4), features=features), ["b", "c", "a"])
    heads = [f"{name}[head {k}]" for name in "ab" for k in range(3)]
    assert plan.layers == ["a", *heads[:3], "b", *heads[3:], "c"]
    assert [plan.shapes[name].units for name in heads] == [2, 2, 2, 3, 3, 3]
    some = streaming.plan(reader(Three(), torch.randn(7, 4), features=features), ["c"], ["b"], ["a"])
    assert some.layers == ["b", *heads[3:], "c"], "the hidden one is found and not measured"


@pytest.mark.parametrize(
    ("shapes", "sizes", "axis", "why"),
    [
        ([(2, 5, 3), (3, 5, 3)], (2, 3), 0, ""),
        ([(7, 2, 2), (7, 3, 2)], (2, 3), 1, ""),
        (
            [(2, 2), (3, 3)],
            (2, 3),
            None,
            "shape (3, 3) for 3 points, which may be any of its axes 0, 1: say which with ",
        ),
        ([(5, 5), (5, 5)], (2, 3), None, "shape (5, 5) for 3 points, which is no row per point"),
        ([(2, 5), (3, 5, 1)], (2, 3), None, "shapes (2, 5) and (3, 5, 1) for 2 and 3 points"),
        ([()], (4,), None, "shape () for 4 points, which is no row per point"),
    ],
)
def test_the_axis_of_points_is_the_one_that_grows_with_them(shapes, sizes, axis, why):
    found = layer_shapes.point_axis(shapes, sizes)
    assert found[0] == axis
    assert found[1].startswith(why)
    assert bool(found[1]) == bool(why)


def test_the_last_map_is_the_last_one_whose_result_is_returned():
    first, last = nn.Linear(3, 3), nn.Linear(3, 3)
    for model, wanted, repeats in (
        (nn.Sequential(nn.Linear(3, 3), nn.Tanh(), first, nn.Identity()), "2", True),
        (nn.Sequential(first, nn.Tanh()), "0", True),  # in the order of the map's results
        (nn.Sequential(first, last, nn.Flatten()), "1", True),
        (nn.Sequential(nn.Flatten()), None, True),
    ):
        _, classifier, again = find_shapes(reader(model, torch.randn(9, 3)), functions=False)
        assert (classifier, again) == (wanted, repeats)
    _, classifier, again = find_shapes(reader(Nested(), torch.randn(9, 3)), functions=False)
    assert (classifier, again) == (None, False)


LOGITS = torch.tensor([[0.0, 5, 1, 7, 2, 11], [6, 3, 10, 4, 9, 8]])  # ten pairs of neighbors in order


@pytest.mark.parametrize(
    ("output", "alike"),
    [
        (LOGITS.softmax(dim=-1), True),
        (3 * LOGITS - 40, True),
        (LOGITS.clamp(min=1.0), True),  # one pair of ten has become equal
        (LOGITS.clamp(min=2.0), False),  # two have
        (LOGITS.clamp(max=9.0), True),
        (LOGITS * torch.tensor([[1.0], [-1.0]]), False),
        (torch.where(LOGITS == 7, 0.5, LOGITS), False),
        (LOGITS.reshape(12), True),  # the same numbers in another shape
        (LOGITS[:, :5], False),
        (LOGITS.long(), False),
        ("text", False),
    ],
)
def test_outputs_are_in_the_order_of_a_map_point_by_point(output, alike):
    assert layer_shapes._ordered_alike(LOGITS, output) == alike
    assert not layer_shapes._ordered_alike(LOGITS.long(), output)
    assert not layer_shapes._ordered_alike(torch.tensor(1.0), torch.tensor(1.0))


def test_values_are_equal_number_by_number_of_one_type_with_what_is_lost():
    lost = torch.tensor([1.0, torch.nan, 3.0])
    assert layer_shapes._equal(lost, lost.clone())
    assert layer_shapes._equal(lost.isnan(), lost.isnan())
    for other in (lost[:2], lost.double(), lost + torch.tensor([0, 0, 1e-6]), lost.nan_to_num(), None, lost[None]):
        assert not layer_shapes._equal(lost, other)
        assert not layer_shapes._equal(other, lost)


class Uneven(nn.Module):
    """As many units as the largest number of a batch; runs for none of the points that are all above ten."""

    def __init__(self):
        super().__init__()
        self.wide, self.some, self.last = Wide(), nn.Identity(), nn.Linear(3, 2)

    def forward(self, x):
        self.wide(x)
        if not (x > 10).all():
            self.some(x)
        return self.last(x)


class Wide(nn.Module):
    def forward(self, x):
        return x.new_ones(len(x), int(x.max())) * x[:, :1]


@pytest.mark.parametrize("memory", [1, 2**29])
def test_layers_that_differ_between_batches_are_told_and_the_others_are_handed_on_whole(memory):
    parts = [torch.rand(size, 3) + place for size, place in ((4, 2), (3, 3), (5, 20))]
    plan = streaming.plan(reader(Uneven(), iter(parts), memory=memory), None)
    rows = {}
    failed = streaming.stream(plan, ["output", "last"], lambda name, A: rows.update({name: A}))
    assert failed == {
        "wide": "it did not return the same number of units in every batch",
        "some": "it did not run this time",
    }
    assert plan.layers == ["input", "wide", "some", "last"]
    assert list(rows) == ["input", "last", "output"]  # the output is asked for as well
    np.testing.assert_array_equal(rows["output"], rows["last"])
    X = torch.cat(parts)
    np.testing.assert_array_equal(rows["input"], X)
    with torch.no_grad():
        np.testing.assert_allclose(rows["last"], plan.reader.model.last(X), rtol=1e-5)
    found, why = streaming.batch_rows(plan, 2, ["some", "wide", "input"])
    assert list(found) == ["input", "wide"]
    assert (found["wide"].shape[0], why) == (5, {"some": "it did not run this time"})
    assert streaming.batch_rows(plan, 0, []) == ({}, {})
