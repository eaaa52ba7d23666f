"""A forward pass: what runs in it by name, programs of torch.export, and the network as it was afterwards."""

import numpy as np
import pytest
import torch
from tests.diagnostics.networks import network_of
from torch import nn

from repdyn.diagnostics.measure import Recorder, measure, names
from repdyn.diagnostics.methods.forward import watched


@network_of(lambda: {"map": nn.Linear(3, 3), "pair": Pair(), "add": nn.Identity(), "unused": nn.Linear(3, 3)})
def Parts(self, x):
    """A map called three times, by keyword once; a module of parts, one of which has parts itself; functions."""
    hidden = self.map(x)
    hidden = self.map(input=hidden + 1)
    first, second = self.pair(None, hidden, scale=2.0)
    hidden = self.add(first) + second
    hidden += self.map(hidden).relu()
    return hidden[:, :2] - torch.tanh(hidden)[:, 1:]


@network_of(lambda: {"inner": nn.Sequential(nn.ReLU(), nn.Tanh())})
def Pair(self, _nothing, x, scale):
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


@pytest.mark.parametrize("functions", [False, True])
def test_every_call_is_reported_once_in_the_order_in_which_it_ends(functions):
    found, model, X = [], Parts(), torch.randn(4, 3)
    with watched(model, lambda name, value: found.append((name, value)), functions=functions), torch.no_grad():
        model(X)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())
    wanted = [entry for name in CALLS for entry in (name, *(BETWEEN.get(name, []) if functions else []))]
    assert [name for name, _ in found] == wanted
    values = dict(found)
    assert torch.equal(values["map#2:input"], values["map"] + 1)
    assert torch.equal(values["pair:input"], values["map#2"])
    assert torch.equal(values["pair"], 2 * values["pair.inner"])
    assert torch.equal(values["pair[1]"], values["map#2"])


class Nested(nn.Module):
    """Leaves, a part whose parts do not run, one that does not run, one with no parts, computed weights."""

    def __init__(self):
        super().__init__()
        self.outer = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 5)))
        self.around, self.skipped, self.none = Around(), nn.Sequential(nn.Linear(3, 3)), nn.Sequential()
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(5, 2))

    def forward(self, x):
        return self.normed(self.around(self.none(self.outer(x)))).flip(-1)


@network_of(lambda: {"map": nn.Linear(5, 5)})
def Around(self, x):
    return nn.functional.linear(x, self.map.weight)


def test_layers_are_calls_inside_which_no_other_ran():
    found = measure(Nested(), torch.randn(7, 3))
    units = {"input": 3, "outer.0": 4, "outer.1.0": 5, "none": 5, "around": 5, "normed": 2, "output": 2}
    assert dict(zip(found["layer"].values.tolist(), found["units"].values.tolist(), strict=True)) == units
    assert "around.map" in found.attrs["left_out"]
    assert "skipped.0" in found.attrs["left_out"]


@network_of(lambda: {"wide": Wide(), "some": nn.Identity(), "last": nn.Linear(3, 2)})
def Uneven(self, x):
    """As many units as the largest number of a batch; runs for none of the points that are all above ten."""
    self.wide(x)
    if not (x > 10).all():
        self.some(x)
    return self.last(x)


class Wide(nn.Module):
    def forward(self, x):
        return x.new_ones(len(x), int(x.max())) * x[:, :1]


@pytest.mark.parametrize("memory", [1, 2**29])
def test_layers_that_differ_between_batches_are_left_out_and_the_others_are_whole(memory):
    parts = [torch.rand(size, 3) + place for size, place in ((4, 2), (3, 3), (5, 20))]
    model = Uneven()
    found = measure(model, iter(parts), memory=memory, measures=["angles", "ranks"])
    assert found["effective_rank"].isnull().values.tolist() == [False, True, True, False]
    assert found["layer"].values.tolist() == ["input", "wide", "some", "last"]
    with torch.no_grad():
        np.testing.assert_allclose(found["norm"][3], model.last(torch.cat(parts)).norm(dim=1), rtol=1e-5)


torch.manual_seed(0)
X, LABELS = torch.randn(6, 4), [0, 1, 2] * 2
MODEL = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)).eval()


@pytest.fixture(scope="module", params=["of one size", "of any size"])
def program(request):
    shapes = ({0: torch.export.Dim("points")},) if request.param == "of any size" else None
    return torch.export.export(MODEL, (X,), dynamic_shapes=shapes)


class Beside(nn.Module):
    """An exported part in a network that has modes."""

    def __init__(self, part):
        super().__init__()
        self.before, self.part, self.after = nn.Dropout(), part, nn.Dropout()

    def forward(self, x):
        return self.after(self.part(self.before(x)))


def modes(model):
    return [module.training for module in model.modules()]


def test_the_program_itself_is_refused_with_both_ways_to_measure_it(program):
    with pytest.raises(ValueError, match=r"module\(\).*unflatten"):
        measure(program, X)


def test_its_module_has_the_numbers_of_the_network(program):
    model = program.module()
    before = modes(model)
    assert "relu.default" in names(model, X)
    found = measure(model, X, ["input", "relu.default", "output"], labels=LABELS)
    expected = measure(MODEL, X, ["input", "2", "output"], labels=LABELS)
    for name in ("angle", "effective_rank", "nc1", "loss", "accuracy"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, err_msg=name)
    assert modes(model) == before


@pytest.mark.parametrize("way", [lambda program: Beside(program.module()), torch.export.unflatten])
def test_as_a_part_and_with_its_modules(program, way):
    model = way(program)
    before = modes(model)
    recorder = Recorder(model, X, labels=LABELS)
    for step in range(2):
        recorder(step)
    expected = measure(MODEL, X, ["output"], labels=LABELS)
    np.testing.assert_allclose(recorder.dataset()["loss"], [expected["loss"]] * 2, rtol=1e-6)
    assert modes(model) == before


def test_unflattened_its_layers_are_the_modules(program):
    found = measure(torch.export.unflatten(program), X)
    assert list(found["layer"].values) == ["input", "0", "1", "2", "3"]
    np.testing.assert_allclose(found["angle"], measure(MODEL, X)["angle"], rtol=1e-6)
