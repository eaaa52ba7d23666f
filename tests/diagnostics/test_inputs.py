"""Networks and inputs of many kinds: rows of a layer against a computation without the package."""

import copy
import random
from collections import UserDict
from functools import partial

import numpy as np
import pytest
import torch
import xarray as xr
from tests.diagnostics.networks import counted, effective_rank, network_of
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import ConcatDataset, DataLoader, RandomSampler, Subset, TensorDataset

from repdyn.diagnostics.measure import Recorder, measure, names
from repdyn.diagnostics.methods.batches import StoredBatches
from repdyn.diagnostics.methods.inputs import read_inputs
from repdyn.diagnostics.methods.loaders import usual_unpack
from repdyn.diagnostics.methods.reader import Features

N = 6
RANKS = ["ranks", "angles"]
LABELS = np.arange(12) % 3
POINTS = torch.tensor(np.random.default_rng(0).normal(size=(12, 5)), dtype=torch.float32)
LENGTHS = torch.tensor([4, 3, 2, 4, 1, 2])


def normal(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@network_of(lambda: {"map": nn.Linear(4, 5), "head": nn.Linear(5, 2)})
def Two(self, x, mask=None):
    """Two inputs, one of them a mask by keyword."""
    h = self.map(x)
    return self.head(h if mask is None else h * mask[:, None])


@network_of(lambda: {"first": nn.Linear(5, 8), "last": nn.Linear(8, 3)})
def InPlace(self, parts):
    """Changes what its first map returned, after the map's hook, and an input within a dict."""
    x = parts["x"]
    x -= 1
    hidden = self.first(x)
    hidden -= 1.0
    return self.last(hidden.relu_())


class Graph:
    """Graphs as torch_geometric has them: an object with `to` and `clone`; `batch` is the graph of each node."""

    def __init__(self, x, edge_index, batch=None):
        self.x, self.edge_index = x, edge_index
        if batch is not None:
            self.batch = batch

    def parts(self):
        return [part for part in (self.x, self.edge_index, getattr(self, "batch", None)) if part is not None]

    def __iter__(self):
        return iter(zip(("x", "edge_index", "batch"), self.parts(), strict=False))

    def to(self, place, *more):
        return Graph(self.x.to(place, *more), *(part.to(place) for part in self.parts()[1:]))

    def clone(self):
        return Graph(*(part.clone() for part in self.parts()))


@network_of(lambda: {"first": nn.Linear(5, 4), "last": nn.Linear(4, 3)})
def OfGraph(self, graph=None, *, x=None, edge_index=None, batch=None):
    """Message passing with nodes as points; rows of each graph where there are several."""
    if graph is not None:
        graph.x -= 1
        x, edge_index, batch = graph.x, graph.edge_index, getattr(graph, "batch", None)
    hidden = self.first(x).relu()
    hidden = hidden.index_add(0, edge_index[1], hidden[edge_index[0]])
    if batch is not None:
        hidden = means(hidden, batch)
    return self.last(hidden)


def means(nodes, batch):
    sizes = torch.bincount(batch)[:, None]
    return nodes.new_zeros(len(sizes), nodes.shape[1]).index_add(0, batch, nodes) / sizes


def graphs(count=7):
    """Graphs of 2, 3, 4, 2, ... nodes."""
    batch = torch.repeat_interleave(torch.arange(count), 2 + torch.arange(count) % 3)
    return Graph(normal(len(batch), 5), torch.arange(60).reshape(2, 30) % len(batch), batch)


@network_of(lambda: {"map": nn.Linear(5, 3)})
def OfImages(self, images):
    """Takes a list of images of several sizes, as detection networks do."""
    return self.map(torch.stack([image.mean(dim=0) for image in images]))


@network_of(lambda: {"map": nn.Linear(5, 3)})
def OfTwo(self, first, second):
    return self.map(first + second)


def perceptron():
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)).eval()


class Stubbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.net = torch.ao.quantization.QuantStub(), perceptron()
        self.leave = torch.ao.quantization.DeQuantStub()

    def forward(self, x):
        return self.leave(self.net(self.enter(x)))


@network_of(lambda: {"memory": nn.GRU(5, 7, batch_first=True), "last": nn.Linear(7, 3)})
def Packed(self, x, lengths=None):
    if lengths is not None:
        x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    sequence, state = self.memory(x)
    return self.last(state[-1]) if lengths is not None else sequence


class Complex(nn.Module):
    def __init__(self, *, real=True):
        super().__init__()
        self.map, self.last, self.real = nn.Linear(5, 4, dtype=torch.complex64), nn.Linear(4, 3), real

    def forward(self, x):
        hidden = self.map(torch.fft.fft(x))
        return self.last(hidden.abs()) if self.real else hidden


@network_of(lambda: {"memory": nn.LSTM(3, 4), "head": nn.Linear(4, 2)})
def TimeFirst(self, x):
    """A recurrent layer with time first inside, as many moments as points."""
    sequence, _ = self.memory(x.transpose(0, 1))
    return self.head(sequence[-1])


@network_of(lambda: {"embed": nn.Linear(3, 8), "norm": nn.LayerNorm(8), "head": nn.Linear(8, 4)})
def Tokens(self, x):
    return self.head(self.norm(self.embed(x)))


@network_of(lambda: {"block": Block()})
def Functional(self, x):
    """A residual block in functional code that runs twice."""
    x = self.block(self.block(x))
    x += 1
    return torch.flatten(x, 1)


@network_of(lambda: {"first": nn.Linear(4, 4), "second": nn.Linear(4, 4)})
def Block(self, x):
    return functional.relu(x + self.second(functional.relu(self.first(x))))


def two(by):
    model, X, mask = Two(), normal(N, 4), torch.tensor([1.0, 0, 1, 1, 0, 1])
    inputs = {"position": (X, mask), "keyword": {"x": X, "mask": mask}}[by]
    return model, inputs, "head", model(X, mask), {}


def two_of_a_list():
    model = OfTwo()
    return model, [POINTS, POINTS.flip(0)], "map", model(POINTS, POINTS.flip(0)), {}


def in_place(by):
    model, X = InPlace(), POINTS.clone()
    inputs = {"position": ({"x": X},), "keyword": {"parts": {"x": X}}}[by]
    return model, inputs, "first", model.first(POINTS - 1), {}


def in_place_features():
    model = perceptron()
    return model, POINTS.clone(), "2", 2 * model(POINTS), {"features": lambda _, tensor: tensor.mul_(2).flatten(1)}


def compiled():
    model = perceptron()
    expected = model(POINTS)
    model[0], model[2] = (torch.compile(model[k], backend="eager") for k in (0, 2))
    return model, POINTS, "2", expected, {}


def one_graph():
    model, graph = OfGraph(), Graph(POINTS.clone(), torch.arange(24).reshape(2, 12) % 12)
    return model, graph, "first", model.first(POINTS - 1), {"labels": LABELS}


def several_graphs(by):
    model, batch = OfGraph(), graphs()
    nodes = model.first(batch.x - int(by != "keyword"))
    if by == "nodes":
        return model, batch, "first", nodes, {"labels": np.arange(len(nodes)) % 2}
    inputs = dict(batch) if by == "keyword" else batch
    return model, inputs, "first", means(nodes, batch.batch), {"labels": np.arange(7) % 2}


def as_many_graphs_as_units():
    model, batch = OfGraph(), graphs(4)
    return model, batch, "first", means(model.first(batch.x - 1), batch.batch), {"labels": np.arange(4) % 2}


def loader_of_graphs():
    model, batches = OfGraph(), [graphs(7), graphs(5)]
    expected = [means(model.first(batch.x - 1), batch.batch) for batch in batches]
    return model, iter(batches), "first", torch.cat(expected), {}


def images(wrapped, batch_size):
    model, parts = OfImages(), [normal(4 + k % 3, 5, seed=k) for k in range(6)]
    return model, (parts,) if wrapped else parts, "map", model(parts), {"batch_size": batch_size}


def dynamic_int8():
    model = torch.ao.quantization.quantize_dynamic(perceptron(), {nn.Linear}, dtype=torch.qint8)
    return model, POINTS, "2", model(POINTS), {"labels": LABELS}


def static_int8():
    model = Stubbed().eval()
    model.qconfig = torch.ao.quantization.get_default_qconfig(torch.backends.quantized.engine)
    torch.ao.quantization.prepare(model, inplace=True)
    model(POINTS)
    torch.ao.quantization.convert(model, inplace=True)
    return model, POINTS, "net.0", model.net[0](model.enter(POINTS)).dequantize(), {"labels": LABELS}


def packed(layer):
    model, x = Packed(), normal(6, 4, 5)
    expected = torch.zeros(6, 4, 7)
    for k, size in enumerate(LENGTHS):
        expected[k, :size] = model.memory(x[k : k + 1, :size])[0][0]
    inputs = (x, LENGTHS)
    if layer == "output":
        inputs = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    return model, inputs, layer, expected, {"measures": ["angles"]}


def complex_numbers():
    model = Complex()
    hidden = model.map(torch.fft.fft(POINTS))
    return model, POINTS, "map", torch.cat([hidden.real, hidden.imag], dim=1), {"labels": LABELS}


def time_first():
    model, X = TimeFirst(), normal(N, N, 3)
    return model, X, "memory", model.memory(X.transpose(0, 1))[0].transpose(0, 1), {}


def points_second():
    model, X = nn.LSTM(3, 4), normal(N, N, 3)
    return model, X, "output", model(X)[0].transpose(0, 1), {"axes": {"input": 1}}


def axis_by_name():
    """As many units as nodes, and edges of another length: the axis of points has to be named."""

    class Square(OfGraph):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(5, N), nn.Linear(N, 3)

    model, X = Square(), normal(N, 5)
    inputs = {"x": X, "edge_index": torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])}
    return model, inputs, "first", model.first(X), {"axes": {"first": 0}}


MASK = np.arange(5)[None] < np.array([2, 3, 5, 5, 4, 2])[:, None]


def tokens(kind, mask=None):
    model, X = Tokens(), normal(N, 5, 3)
    h, labels = model.embed(X), np.arange(N * 5).reshape(N, 5) % 4
    features = Features(kind, channels=-1, mask=mask)
    if kind == "pool":
        counted = torch.ones(N, 5) if mask is None else torch.from_numpy(mask).float()
        mean = torch.einsum("ntc,nt->nc", h, counted) / counted.sum(1, keepdim=True)
        return model, X, "embed", mean, {"features": features, "batch_size": 4 if mask is not None else None}
    return model, X, "embed", h.flatten(0, 1) if mask is None else h[mask], {"features": features, "labels": labels}


def convolution(features):
    model, X = nn.Conv2d(2, 3, 3), normal(N, 2, 4, 4)
    expected = {"pool": lambda h: h.mean(dim=(2, 3)), "function": lambda h: h[:, 0].flatten(1)}[features]
    how = {"pool": Features("pool", channels=1), "function": lambda name, h: h[:, 0].flatten(1)}[features]
    return model, X, "output", expected(model(X)), {"features": how}


def functions(layer):
    model, X = Functional(), normal(N, 4)
    block = model.block
    z = X + block.second(torch.relu(block.first(X)))
    once = torch.relu(z)
    again = once + block.second(torch.relu(block.first(once)))
    expected = {"block.add": z, "block.relu_1": once, "block.add_1": again, "block#2": torch.relu(again)}
    return model, X, layer, expected[layer], {}


CASES = {
    **{f"two inputs by {by}": (two, by) for by in ("position", "keyword")},
    "two inputs of a list": (two_of_a_list,),
    **{f"in place by {by}": (in_place, by) for by in ("position", "keyword")},
    "features in place": (in_place_features,),
    "compiled parts": (compiled,),
    "one graph": (one_graph,),
    **{f"graphs by {by}": (several_graphs, by) for by in ("object", "keyword", "nodes")},
    "as many graphs as units": (as_many_graphs_as_units,),
    "loader of graphs": (loader_of_graphs,),
    **{f"images {wrapped} {size}": (images, wrapped, size) for wrapped in (False, True) for size in (None, 4)},
    "dynamic int8": (dynamic_int8,),
    "static int8": (static_int8,),
    **{f"packed {layer}": (packed, layer) for layer in ("memory", "output")},
    "complex": (complex_numbers,),
    "time first inside": (time_first,),
    "points second": (points_second,),
    "axis by name": (axis_by_name,),
    **{f"{kind} {mask is not None}": (tokens, kind, mask) for kind, mask in (("pool", None), ("tokens", None))},
    **{f"masked {kind}": (tokens, kind, MASK) for kind in ("tokens", "pool")},
    **{f"convolution, {features}": (convolution, features) for features in ("pool", "function")},
    **{name: (functions, name) for name in ("block.add", "block.relu_1", "block.add_1", "block#2")},
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("case", CASES)
def test_rows_of_a_layer_equal_a_computation_by_hand(case):
    torch.manual_seed(0)
    make, *arguments = CASES[case]
    with torch.no_grad():
        model, inputs, layer, expected, options = make(*arguments)
        expected = expected.flatten(1).double().numpy()
    tensors = [part.clone() for part in inputs] if isinstance(inputs, tuple) and torch.is_tensor(inputs[0]) else None
    found = measure(model, inputs, [layer], **{"measures": RANKS} | options).sel(layer=layer)
    np.testing.assert_allclose(found["norm"], np.linalg.norm(expected, axis=1), rtol=1e-5)
    assert found["units"] == expected.shape[1]
    if "effective_rank" in found:
        np.testing.assert_allclose(found["effective_rank"], effective_rank(expected), rtol=1e-4)
    assert tensors is None or all(map(torch.equal, inputs, tensors))


def test_every_moment_of_inputs_changed_in_place_is_the_same():
    X, model = POINTS.clone(), InPlace()
    recorder = Recorder(model, {"parts": {"x": X}}, ["first"], measures=["angles"])
    for step in range(2):
        recorder(step)
    moments = recorder.dataset()["norm"]
    np.testing.assert_array_equal(moments.isel(step=0), moments.isel(step=1))
    assert torch.equal(X, POINTS)


def test_input_distances_need_one_input_with_coordinates():
    """Of token ids, a layer is named that stands for the inputs."""
    diagnostics = measure(Two(), {"x": normal(N, 4), "mask": torch.ones(N)})
    assert diagnostics["input_distance"].isnull().all()
    assert "input_distance" in diagnostics.attrs["left_out"]
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 3), nn.Flatten(), nn.Linear(6, 2))
    ids = np.array([[0, 1], [2, 3], [4, 0], [8, 7]])
    assert measure(model, ids)["input_distance"].isnull().all()
    with torch.no_grad():
        rows = model[0](torch.tensor(ids)).flatten(1).double().numpy()
    named = measure(model, ids, embeddings="0")
    np.testing.assert_allclose(named["input_distance"][0], np.sum((rows[1] - rows[0]) ** 2), rtol=1e-6)


# batches and loaders


@pytest.mark.parametrize(
    ("memory", "groups"),
    [(0, 3), (4 * 12 * (6 + 6) - 1, 2), (4 * 12 * (6 + 6), 2), (4 * 12 * 9 - 1, 3), (4 * 12 * 15, 1)],
)
def test_as_many_layers_at_a_time_as_the_memory_holds(memory, groups):
    torch.manual_seed(0)
    model, X = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)), torch.randn(12, 4)
    calls = counted(model[2])
    options = {"measures": RANKS, "batch_size": 3, "memory": memory}
    measure(model, X, ["0"], **options)
    alone = len(calls)
    calls.clear()
    measure(model, X, ["0", "1", "2"], **options)
    assert len(calls) - alone == 4 * (groups - 1)  # batches in every further group


def test_batches_and_loaders_give_the_same_as_all_at_once():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    X, labels = torch.randn(12, 4), torch.arange(12) % 3
    X[:3] = X[0]  # a batch of equal points
    whole = measure(model, X, labels=labels)
    data = TensorDataset(X, labels)
    for batched in (
        measure(model, X, labels=labels, batch_size=3),
        measure(model, X, labels=labels, batch_size=5, memory=1),  # one layer at a time
        measure(model, DataLoader(data, batch_size=5)),
        measure(model, DataLoader(data, batch_size=12), batch_size=5),
        measure(model, iter([(X[:4], None, labels[:4]), (X[4:], None, labels[4:])]), unpack=lambda batch: batch[::2]),
    ):
        assert batched["label"].values.tolist() == labels.tolist()
        for name in set(whole.data_vars) - {"radial_fraction", "largest_radial_fraction"}:
            np.testing.assert_allclose(batched[name], whole[name], rtol=1e-5, atol=1e-6, err_msg=name)


class Drawn:
    """A data set of random points, in many places of which there may be a generator."""

    def __init__(self, **kept):
        vars(self).update(kept)

    def __len__(self):
        return 12

    def __getitem__(self, at):
        return self.draw() + torch.arange(4) + at, at % 3


def test_reading_a_loader_leaves_generators_alone_wherever_they_are():
    generators = [torch.Generator().manual_seed(seed) for seed in (3, 4, 5)]
    rngs = [*(np.random.default_rng(seed) for seed in range(3)), np.random.RandomState(2), random.Random(3)]
    dataset = ConcatDataset(
        [
            Drawn(draw=lambda: rngs[0].random() + random.random() + np.random.random()),  # noqa: NPY002
            Drawn(draw=partial(lambda rng: rng.random(), rngs[1])),
            Subset(Drawn(transforms=[{"rng": rngs[2]}, rngs[3]], draw=rngs[2].random), range(5)),
        ]
    )

    class Collate:
        def __init__(self):
            self.own, self.other = rngs[4], rngs[3]

        def __call__(self, batch):
            points, labels = zip(*batch, strict=True)
            return torch.stack(points).float() * self.own.random() + self.other.rand(), torch.tensor(labels)

    def states():
        of_torch = [part.tolist() for part in (torch.get_rng_state(), *(own.get_state() for own in generators))]
        shared = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
        return of_torch, shared, [rng.bit_generator.state for rng in rngs[:3]], rngs[3].rand(), rngs[4].random()

    model, sampler = nn.Linear(4, 3), RandomSampler(dataset, generator=generators[1])
    before, rngs[3:] = states(), [np.random.RandomState(2), random.Random(3)]
    for how in ({"shuffle": True, "generator": generators[0]}, {"sampler": sampler, "generator": generators[2]}):
        measure(model, DataLoader(dataset, 8, collate_fn=Collate(), **how), measures=["ranks"])
    assert states() == before


def test_labels_of_batches_of_one_point_are_numbers():
    X, labels = normal(12, 4), np.arange(12) % 3
    model = nn.Linear(4, 3)
    for label in (int, np.int64, torch.tensor):
        batches = ((X[at : at + 1], label(int(labels[at]))) for at in range(12))
        found, wanted = measure(model, batches, measures=["loss"]), measure(model, X, labels=labels, measures=["loss"])
        np.testing.assert_allclose(found["loss"], wanted["loss"], rtol=1e-6)


def test_a_batch_of_a_loader_is_inputs_and_answers():
    for batch, wanted in (
        ({"x": 1, "target": 2, "labels": 3, "mask": 4, "label": 5, "targets": 6}, ({"x": 1, "mask": 4}, 3)),
        ({"x": 1, "target": 2, "targets": 6}, ({"x": 1}, 6)),
        (UserDict(x=1, label=3), ({"x": 1}, 3)),
        ([1, 2], (1, 2)),
        ((1,), (1, None)),
        (1, (1, None)),
    ):
        assert usual_unpack(batch) == wanted


# the axis of points


@network_of(lambda: {"attention": nn.MultiheadAttention(4, 2)})
def Attention(self, x):
    """Attends over the first axis, as torch's layer does without `batch_first`."""
    return self.attention(x, x, x)[0]


class Leaning(nn.Module):
    """Moves each point a little to the mean of the others."""

    def forward(self, x):
        return x + 0.01 * x.mean(dim=0)


@pytest.mark.parametrize("make", [lambda: nn.LSTM(4, 4), Attention, Leaning], ids=["recurrent", "attention", "mean"])
def test_points_that_depend_on_each_other_are_refused_unless_the_axis_is_named(make):
    torch.manual_seed(0)
    model, X = make(), torch.randn(N, N, 4)
    with pytest.raises(ValueError, match=r"axes=\{'input': 0\}"):
        measure(model, X, measures=RANKS)
    assert measure(model, X, measures=RANKS, axes={"input": 0}).sizes["point"] == N
    shared = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, track_running_stats=False))
    assert measure(shared, torch.randn(N, 4), measures=RANKS).attrs["left_out"] == ""


def test_shapes_that_do_not_give_the_points_are_refused():
    class Total(nn.Module):
        def forward(self, *parts):
            return torch.stack([part.sum() for part in parts]).sum()

    inputs = {"x": torch.randn(N, 5), "edge_index": torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])}
    with pytest.raises(ValueError, match=rf"batch_size.*\({N}, 5\), \(2, 4\)"):
        measure(OfGraph(), inputs, ["first"], batch_size=2)
    with pytest.raises(ValueError, match=r"0, 1.*axes="):
        measure(axis_by_name()[0], inputs, ["first"])
    with pytest.raises(ValueError, match=r"\(5, 4\), \(2, 3\).*\(\)"):
        measure(Total(), (torch.randn(5, 4), torch.randn(2, 3)), measures=RANKS)
    for kind in ("pool", "tokens", "first", "last"):
        with pytest.raises(ValueError, match=rf"'{kind}' and channels is None.*\(points, 3, 2, 2\).*channels=1"):
            measure(nn.Conv2d(2, 3, 3), torch.randn(N, 2, 4, 4), ["output"], features=Features(kind), measures=RANKS)
    assert measure(nn.Linear(4, 3), torch.randn(N, 4), features=Features("pool")).attrs["left_out"] == ""


def test_labels_of_points_and_tokens_are_those_of_the_rows():
    model, X, _, _, options = tokens("tokens", MASK)
    labels = options["labels"]
    masked = measure(model, X, ["embed"], **options)
    np.testing.assert_array_equal(masked["label"], labels[MASK])
    of_points = measure(model, X, ["embed"], features=Features("tokens", channels=-1), labels=labels[:, 0])
    np.testing.assert_array_equal(of_points["label"], np.repeat(labels[:, 0], 5))


# names inside functional code


def fx_names(model):
    """Names as torchvision makes them of the nodes of torch.fx: path of the module and name of the function."""

    class Tracer(torch.fx.Tracer):
        path = ""

        def call_module(self, m, forward, args, kwargs):
            before, self.path = self.path, self.path_of_module(m)
            try:
                return super().call_module(m, forward, args, kwargs)
            finally:
                self.path = before

        def create_node(self, kind, target, *args, **kwargs):
            node = super().create_node(kind, target, *args, **kwargs)
            nodes.append((kind, self.path, target))
            return node

    nodes = []
    Tracer().trace(model)
    counts, labels = {}, []
    for kind, path, target in nodes:
        if kind == "call_function":
            name = f"{path}.{target.__name__}".lstrip(".")
            counts[name] = counts.get(name, 0) + 1
            labels.append(name if counts[name] == 1 else f"{name}_{counts[name] - 1}")
    return labels


class Divided(nn.Module):
    def forward(self, x):
        x = (x / 2) % 3 // 1
        x = 2 / (x + 5)
        return torch.div(x, 3)


@pytest.mark.parametrize("make", [Functional, Divided])
def test_functions_are_named_as_torch_fx_names_them(make):
    own = {name for name, _ in make().named_modules()} | {"input", "output"}
    listed = [name for name in names(make(), torch.randn(3, 4)) if name.partition("#")[0] not in own]
    assert listed == fx_names(make())


def test_modules_named_input_and_output_are_not_what_the_network_takes_and_returns():
    @network_of(lambda: {"input": nn.Linear(4, 6), "output": nn.Linear(6, 3)}, seed=0)
    def Named(self, x):
        return self.output(self.input(x).relu()).sigmoid()

    model, X, labels = Named(), normal(12, 4), np.arange(12) % 3
    hidden = model.input(X).detach()
    maps = {"input": X, "input#1": hidden, "output#1": model.output(hidden.relu()), "output": model(X)}
    for batch_size in (None, 5):
        found = measure(model, X, labels=labels, batch_size=batch_size)
        assert found["layer"].values.tolist() == list(maps)
        for name, rows in maps.items():
            norms = rows.detach().double().norm(dim=1)
            np.testing.assert_allclose(found["norm"].sel(layer=name), norms, rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(found["input_distance"][0], (X[1] - X[0]).double().square().sum(), rtol=1e-6)
        named = measure(model, X, labels=labels, classifier="output", measures=["classifier"])
        assert named["nc3"] == found["nc3"]
    assert measure(model, X, ["input"], measures=["ranks"])["layer"].values.tolist() == ["input"]


def test_what_runs_inside_functional_transforms_has_no_points_of_its_own():
    @network_of(lambda: {"parts": nn.ModuleList(nn.Linear(4, 6) for _ in range(3)), "last": nn.Linear(6, 3)}, seed=0)
    def Ensemble(self, x):
        weights, _ = torch.func.stack_module_state(list(self.parts))
        call = partial(torch.func.functional_call, self.parts[0])
        mean = torch.vmap(lambda one: call(one, (x,)))(weights).mean(dim=0)
        return self.last(torch.func.jvp(torch.tanh, (mean,), (x[:, :1].expand_as(mean),))[1])

    model, X = Ensemble(), normal(12, 4)
    found = measure(model, X, measures=["angles"])
    mean = sum(part(X) for part in model.parts) / 3
    rows = model.last((1 - mean.tanh() ** 2) * X[:, :1]).detach().double()
    np.testing.assert_allclose(found["norm"].sel(layer="last"), rows.norm(dim=1), rtol=1e-4)
    assert "torch.func" in found.attrs["left_out"]


def test_calls_of_a_shared_module_are_addressed_one_by_one():
    X = torch.randn(N, 4)
    assert list(measure(Functional(), X, ["block"])["layer"].values) == ["block", "block#2"]
    assert list(measure(Functional(), X, ["block#2"])["layer"].values) == ["block#2"]
    stream = measure(Functional(), X, ["block#2"], residual=["input", "block", "block#2"])
    assert np.isfinite(stream["kinetic_energy"]).all()
    with pytest.raises(ValueError, match=r"'blocc.add'.*'block.add'"):
        measure(Functional(), X, ["blocc.add"])
    with pytest.raises(ValueError, match="'block_add'"):
        measure(Functional(), X, ["block_add"])


# layers and points that lack something


def test_complex_outputs_decide_for_no_class():
    diagnostics = measure(Complex(real=False), POINTS, labels=LABELS, measures=["accuracy", "ranks", "targets", "loss"])
    for name in ("accuracy", "half_mse", "loss"):
        assert np.isnan(diagnostics[name])
    assert "accuracy" in diagnostics.attrs["left_out"]


def test_points_of_label_minus_hundred_have_no_class():
    labels = np.where(np.arange(12) < 4, -100, LABELS)
    model = perceptron()
    diagnostics, fewer = measure(model, POINTS, labels=labels), measure(model, POINTS[4:], labels=LABELS[4:])
    assert diagnostics.attrs["left_out"] == ""
    assert list(diagnostics["class"].values) == [0, 1, 2]
    assert diagnostics.sizes["point"] == 12
    names = ["nc1", "within", "equiangle", "nearest_mean_accuracy", "accuracy", "loss", "half_mse", "nc3", "nc4"]
    for name in (*names, "truncated_share"):
        np.testing.assert_allclose(diagnostics[name], fewer[name], rtol=1e-6, err_msg=name)
    assert list(diagnostics["pair"].values) == ["4-5", "4-6", "5-6"]
    assert np.isfinite(diagnostics["pair_loss"]).all()


class Equal(nn.Module):
    """Beside the path a layer that is the same for all points and one that is zero."""

    def __init__(self):
        super().__init__()
        self.same, self.zero, self.last = nn.Linear(5, 4), nn.Linear(5, 4), nn.Linear(5, 3)
        with torch.no_grad():
            for module, bias in ((self.same, [0.1, 0.2, -0.3, 0.4]), (self.zero, [0.0] * 4)):
                module.weight.zero_()
                module.bias.copy_(torch.tensor(bias))

    def forward(self, x):
        self.same(x)
        self.zero(x)
        return self.last(x)


RATIOS = ["centered_effective_rank", "within_over_between", "nc1", "equinorm", "equiangularity", "maximal_angle"]
CHOICES = ["equiangle", "odd_point", "nearest_mean_accuracy"]


@pytest.mark.parametrize("points", [7, 11, 12])  # the mean of seven times 0.1 is rounded
def test_in_a_constant_layer_ratios_of_zeros_and_choices_between_equals_are_missing(points):
    diagnostics = measure(Equal().double(), POINTS[:points], labels=LABELS[:points])
    same, zero = diagnostics.sel(layer="same"), diagnostics.sel(layer="zero")
    for layer in (same, zero):
        assert [name for name in RATIOS + CHOICES if not np.isnan(layer[name])] == []
        assert float(layer["within"]) + float(layer["between"]) < 1e-28
    for name in ("effective_rank", "stable_rank", "identity_gap", "stable_cost_of_identity", "angle", "norm_ratio"):
        assert np.isnan(zero[name]).all(), name
    np.testing.assert_allclose([same["effective_rank"], same["stable_rank"], same["norm_ratio"]], 1, rtol=1e-12)
    assert float(abs(same["angle"]).max()) < 1e-12
    assert [int(layer["numerical_rank"]) for layer in (same, zero)] == [1, 0]
    assert [float(layer["norm"][0]) for layer in (same, zero)] == pytest.approx([np.sqrt(0.3), 0])


@network_of(lambda: {"experts": nn.ModuleList(nn.Linear(5, 4) for _ in range(3)), "last": nn.Linear(4, 3)})
def Experts(self, x):
    """Points with a positive first number go to expert 1, the others to expert 0; none reaches expert 2."""
    hidden, route = torch.zeros(len(x), 4), (x[:, 0] > 0).long()
    for number, expert in enumerate(self.experts):
        if len(own := (route == number).nonzero()[:, 0]):
            hidden = hidden.index_copy(0, own, expert(x[own]))
    return self.last(hidden)


def test_experts_that_some_points_miss_are_left_out():
    x = POINTS.clone()
    x[:, 0] = torch.where(torch.arange(12) < 6, -1.0, 1.0)
    text = measure(Experts(), x, measures=["ranks"]).attrs["left_out"]
    assert all(f"layer (experts.{number})" in text for number in range(3))


@pytest.mark.parametrize("spilled", [False, True])
def test_inputs_that_were_read_are_not_read_again_in_memory_or_on_disk(spilled, monkeypatch):
    if spilled:
        monkeypatch.setattr("repdyn.diagnostics.methods.loaders.MOST_IN_MEMORY", 100)
    torch.manual_seed(0)
    model, other = (nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)) for _ in range(2))
    X, labels = torch.randn(12, 4), torch.arange(12) % 3
    once = iter([(X[:5], labels[:5]), (X[5:], labels[5:])])
    read = read_inputs(model, once)
    assert isinstance(read.batches, StoredBatches) is spilled
    for network in (model, other, copy.deepcopy(model).half(), copy.deepcopy(model).double()):
        found, wanted = measure(network, read), measure(network, X, labels=labels, batch_size=7)
        for name in ("effective_rank", "loss", "nc1"):
            np.testing.assert_allclose(found[name], wanted[name], rtol=1e-5, err_msg=name)


def texts(width=9, points=6):
    """Texts as numbers, their lengths, and which tokens are no padding."""
    lengths = torch.tensor([3, 9, 5, 2, 7, 4]).repeat(points // 6)
    return normal(points, width, 4), lengths, torch.arange(width) < lengths[:, None]


@network_of(lambda: {"layer": nn.Linear(4, 5)}, seed=0)
def Texts(self, x, attention_mask=None, src_key_padding_mask=None, decoder_attention_mask=None):
    """What it is told of padding counts for the measurement alone."""
    return self.layer(x)


def rank_of(hidden, kept, row=lambda h: h.mean(axis=0)):
    """Effective rank of a row made of the tokens that are kept of each point, their mean unless said otherwise."""
    hidden = hidden.detach().double().numpy()
    return effective_rank([row(h[own]) for h, own in zip(hidden, kept.numpy(), strict=True)])


ROWS_OF = {"pool": lambda h: h.mean(axis=0), "first": lambda h: h[0], "last": lambda h: h[-1]}


@pytest.mark.parametrize("batch_size", [None, 7])
@pytest.mark.parametrize("name", ["attention_mask", "src_key_padding_mask"])
@pytest.mark.parametrize(("width", "kind"), [(9, "pool"), (15, "pool"), (15, "first"), (15, "last")])
def test_padding_does_not_count_however_long_it_is(width, kind, name, batch_size):
    X, lengths, _ = texts(width, points=24)
    before = 0 if kind == "pool" else np.random.default_rng(0).integers(0, width - 8, (24, 1))  # and in front of a text
    places = torch.as_tensor(np.arange(width) - before)
    kept, model = (places >= 0) & (places < lengths[:, None]), Texts()
    inputs = {"x": X, name: kept.long() if name == "attention_mask" else ~kept}
    features = Features(kind, channels=-1)
    found = measure(model, inputs, ["layer"], features=features, measures=["ranks"], batch_size=batch_size)
    np.testing.assert_allclose(found["effective_rank"], rank_of(model.layer(X), kept, ROWS_OF[kind]), rtol=1e-5)


MASKS = {
    "truth values": lambda kept: kept,
    "single precision": lambda kept: kept.float(),
    "added to scores": lambda kept: torch.zeros(kept.shape).masked_fill(~kept, -1e4),
    "added, of all heads": lambda kept: torch.zeros(kept.shape).masked_fill(~kept, -torch.inf)[:, None, None],
}


@pytest.mark.parametrize("form", MASKS)
@pytest.mark.parametrize("by_name", [True, False])
def test_padding_does_not_count_whatever_the_form_of_its_mask(form, by_name):
    (X, _, kept), model = texts(), Texts()
    inputs = {"x": X, "attention_mask": MASKS[form](kept)} if by_name else (X, MASKS[form](kept))
    found = measure(model, inputs, ["layer"], features=Features("pool", channels=-1), measures=["ranks"])
    np.testing.assert_allclose(found["effective_rank"], rank_of(model.layer(X), kept), rtol=1e-5)


def test_masks_that_do_not_say_what_is_padding_are_refused():
    X, _, kept = texts()
    causal = torch.ones(6, 9, 9).tril()
    for masks, message in (
        ({"attention_mask": causal}, r"attention_mask has shape \(6, 9, 9\).*mask="),
        ({"attention_mask": kept / 2}, "attention_mask.*padding"),
        ({"attention_mask": kept, "decoder_attention_mask": kept.flip(0)}, "attention_mask and decoder.* differ"),
    ):
        with pytest.raises(ValueError, match=message):
            measure(Texts(), {"x": X} | masks, features=Features("pool", channels=-1), measures=["ranks"])
    with pytest.raises(ValueError, match="mask has shape"):
        measure(Tokens(), normal(N, 5, 3), features=Features("pool", channels=-1, mask=MASK[:4]))


@pytest.mark.parametrize("batched", [False, True])
def test_what_a_packed_sequence_lacks_does_not_count(batched):
    @network_of(lambda: {"memory": nn.GRU(4, 5, batch_first=True)}, seed=0)
    def Packing(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.memory(packed)[0], batch_first=True)[0]

    (X, lengths, kept), model = texts(), Packing()
    inputs = {"x": X, "lengths": lengths}
    given = iter([{n: part[:3] for n, part in inputs.items()}, {n: part[3:] for n, part in inputs.items()}])
    hidden = model(X, lengths).detach()
    options = {"layers": ["memory"], "measures": ["ranks"]}
    found = measure(model, given if batched else inputs, features=Features("pool", channels=-1), **options)
    np.testing.assert_allclose(found["effective_rank"], rank_of(hidden, kept), rtol=1e-5)
    if not batched:
        last = measure(model, inputs, features=Features("last", channels=-1), **options)
        alone = torch.arange(9) == lengths[:, None] - 1
        np.testing.assert_allclose(last["effective_rank"], rank_of(hidden, alone), rtol=1e-5)
        tokens = measure(model, inputs, ["memory", "output"], features=Features("tokens", channels=-1))
        assert "packed" in tokens.attrs["left_out"]


@pytest.mark.parametrize(("kind", "at"), [("first", 0), ("last", -1)])
def test_without_padding_the_first_and_the_last_token_are_those_of_the_axis(kind, at):
    model, X, _, _, _ = tokens("pool")
    found = measure(model, X, ["embed"], features=Features(kind, channels=-1), measures=["angles"])
    np.testing.assert_allclose(found["norm"][0], model.embed(X)[:, at].norm(dim=1).detach(), rtol=1e-5)
    maps = measure(nn.Conv2d(3, 2, 1), normal(N, 3, 4, 4), features=Features(kind, channels=1), measures=["angles"])
    assert "no mask says which of its axes" in maps.attrs["left_out"]


def test_layers_of_other_tokens_than_the_masks_have_no_mean_unless_all_tokens_count():
    model, X = nn.Sequential(nn.Conv1d(3, 4, 3, stride=2)), normal(N, 3, 5)
    found = [
        measure(model, X, ["0"], measures=["angles"], features=Features("pool", channels=1, mask=mask))
        for mask in (MASK, np.ones((N, 5), bool))
    ]
    assert np.isnan(found[0]["norm"]).all()
    assert "no axis has the 5 tokens" in found[0].attrs["left_out"]
    norms = model(X).mean(dim=2).norm(dim=1).detach()
    np.testing.assert_allclose(found[1]["norm"].sel(layer="0"), norms, rtol=1e-5)


def test_an_encoder_with_padding_is_measured_as_it_is_trained():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True)
    model, X = nn.TransformerEncoder(layer, 2), normal(N, 5, 8)
    padding = ~torch.from_numpy(MASK)
    padding[0] = False
    model.eval()
    expected = model(X, src_key_padding_mask=padding).detach()  # with gradients: not by the fast path
    inputs = {"src": X, "src_key_padding_mask": padding}
    found = measure(model, inputs, ["output"], measures=["angles"])
    np.testing.assert_allclose(found["norm"].sel(layer="output"), expected.flatten(1).norm(dim=1), rtol=1e-5)
    assert torch.backends.mha.get_fastpath_enabled()
    assert "layers.1.linear1" in measure(model, inputs, measures=["angles"])["layer"]


FORMS = {
    "layout sparse_coo": lambda x: x.to_sparse(),
    "layout sparse_csr": lambda x: x.to_sparse_csr(),
    "a nested tensor": lambda x: torch.nested.as_nested_tensor(list(x), layout=torch.jagged),
    "a masked tensor": lambda x: torch.masked.masked_tensor(x, x > 0),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("last", [False, True])
def test_a_layer_without_a_number_at_each_place_is_left_out_alone(form, last):
    @network_of(lambda: {"first": nn.Linear(5, 4), "form": Form(), "last": nn.Linear(4, 3)})
    def Through(self, x):
        hidden = self.first(x)
        formed = self.form(hidden)
        return formed if last else self.last(hidden)

    class Form(nn.Module):
        def forward(self, x):
            return FORMS[form](x)

    model = Through()
    found = measure(model, POINTS, measures=["angles"])
    assert form in found.attrs["left_out"]
    np.testing.assert_allclose(found["norm"].sel(layer="first"), model.first(POINTS).norm(dim=1).detach(), rtol=1e-5)


def test_a_network_without_numbers_is_refused():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(5, 4), nn.ReLU())
    with pytest.raises(ValueError, match=r"2 parameters .* meta"):
        measure(model, POINTS)


class Offloaded(nn.Module):
    """A map whose weights are on meta but for the time of its call."""

    def __init__(self, inner):
        super().__init__()
        self.kept = {name: part.detach().clone() for name, part in inner.named_parameters()}
        self.inner = inner.to("meta")
        self.inner.register_forward_pre_hook(lambda *_: self.put())
        self.inner.register_forward_hook(lambda module, *_: module.to("meta") and None)

    def put(self):
        for name, part in self.kept.items():
            self.inner._parameters[name] = nn.Parameter(part.clone(), requires_grad=False)

    def forward(self, x):
        return self.inner(x)


def test_an_offloaded_network_is_measured_where_it_runs():
    torch.manual_seed(0)
    first, last = nn.Linear(5, 8), nn.Linear(8, 3)
    expected = last(first(POINTS).relu()).detach().norm(dim=1)
    model = nn.Sequential(Offloaded(first), nn.ReLU(), Offloaded(last))
    found = measure(model, POINTS, measures=["angles"])
    np.testing.assert_allclose(found["norm"].sel(layer="2.inner"), expected, rtol=1e-5)


class Mixed(nn.Module):
    """A frozen part in another precision than the maps, which take single precision or none but half."""

    def __init__(self, frozen, maps):
        super().__init__()
        self.frozen = nn.Parameter(torch.zeros(5).to(frozen), requires_grad=False)
        self.map = nn.Linear(5, 3).to(maps)

    def forward(self, x):
        return self.map(x + self.frozen.to(x.dtype))


@pytest.mark.parametrize("given", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("frozen", "maps", "wanted"),
    [
        (torch.float16, torch.float32, torch.float32),
        (torch.float32, torch.bfloat16, torch.bfloat16),
        (torch.float8_e4m3fn, torch.float32, torch.float32),
        (torch.float32, torch.float64, torch.float64),
    ],
)
def test_inputs_have_the_precision_that_the_network_takes(given, frozen, maps, wanted):
    large = (POINTS + 1000).to(given)
    found = measure(Mixed(frozen, maps), large, ["input"], measures=["angles"])
    np.testing.assert_array_equal(found["norm"][0], large.to(wanted).double().norm(dim=1))


def test_arrays_of_the_other_byte_order_are_read():
    network, points = nn.Linear(5, 3), POINTS.numpy()
    swapped = points.astype(points.dtype.newbyteorder("S"))
    assert swapped.dtype != points.dtype
    xr.testing.assert_identical(measure(network, swapped, measures=RANKS), measure(network, points, measures=RANKS))
