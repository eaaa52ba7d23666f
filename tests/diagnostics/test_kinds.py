"""Networks and inputs of unusual kinds: compiled parts, graphs, lists of images, int8, packed and complex layers."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from repdyn.diagnostics.measure import Recorder, measure

LABELS = np.arange(12) % 3
POINTS = torch.tensor(np.random.default_rng(0).normal(size=(12, 5)), dtype=torch.float32)


def norms(diagnostics, layer):
    return diagnostics["norm"].sel(layer=layer).values


# what works in place


class InPlace(nn.Module):
    """Changes what its first map returned, after the map's hook, and one of its inputs within a dict."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(5, 8), nn.Linear(8, 3)

    def forward(self, parts):
        x = parts["x"]
        x -= 1
        hidden = self.first(x)
        hidden -= 1.0
        return self.last(hidden.relu_())


@pytest.mark.parametrize("positional", [True, False])
def test_a_layer_changed_after_its_hook_is_measured_as_it_was_and_inputs_are_copied(positional):
    X, model = POINTS.clone(), InPlace()
    inputs = ({"x": X},) if positional else {"parts": {"x": X}}
    recorder = Recorder(model, inputs, ["first"], measures=["angles"])
    recorder(0)
    recorder(1)
    with torch.no_grad():
        expected = model.first(POINTS - 1).norm(dim=1).numpy()
    for moment in recorder.dataset().transpose("step", ...)["norm"].values:
        np.testing.assert_allclose(moment[0], expected, rtol=1e-6)
    assert torch.equal(X, POINTS)


def test_a_function_of_features_that_works_in_place_changes_no_layer_after_it():
    def doubled(_, tensor):
        return tensor.mul_(2).flatten(1)

    X, model = POINTS.clone(), nn.Sequential(nn.Linear(5, 4), nn.ReLU())
    diagnostics = measure(model, X, measures=["angles"], features=doubled)
    with torch.no_grad():
        expected = 2 * model(POINTS).norm(dim=1)
    np.testing.assert_allclose(norms(diagnostics, "1"), expected, rtol=1e-6)
    assert torch.equal(X, POINTS)


# compiled parts


def test_a_compiled_part_is_measured_under_its_own_name():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
    plain = measure(model, POINTS, labels=LABELS)
    model[0], model[2] = (torch.compile(model[k], backend="eager") for k in (0, 2))
    compiled = measure(model, POINTS, labels=LABELS)
    assert plain.attrs["left_out"] == compiled.attrs["left_out"] == ""
    assert plain.identical(compiled)
    assert "nc3" in compiled  # the compiled last map is the classifier


def test_a_part_whose_length_is_zero_is_measured():
    class Empty(nn.Linear):
        def __len__(self):
            return 0

    assert "0" in measure(nn.Sequential(Empty(5, 3)), POINTS)["layer"].values


# inputs that are one object


class Graph:
    """A graph as torch_geometric has them: it is gone through by its keys and knows `to` and `clone`."""

    def __init__(self, x, edge_index):
        self.x, self.edge_index = x, edge_index

    def __iter__(self):
        return iter([("x", self.x), ("edge_index", self.edge_index)])

    def to(self, *args):
        return Graph(self.x.to(*args), self.edge_index.to(*args))

    def clone(self):
        return Graph(self.x.clone(), self.edge_index.clone())


class GraphNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(5, 4), nn.Linear(4, 3)

    def forward(self, graph):
        graph.x -= 1
        hidden, (source, target) = self.first(graph.x).relu(), graph.edge_index
        return self.last(hidden.index_add(0, target, hidden[source]))


def test_a_graph_is_one_input_with_its_nodes_as_points():
    torch.manual_seed(0)
    graph, model = Graph(POINTS.clone(), torch.randint(0, 12, (2, 30))), GraphNetwork()
    diagnostics = measure(model, graph, labels=LABELS)
    assert list(diagnostics["layer"].values) == ["first", "last"]
    with torch.no_grad():
        np.testing.assert_allclose(norms(diagnostics, "first"), model.first(POINTS - 1).norm(dim=1), rtol=1e-6)
    assert torch.equal(graph.x, POINTS)
    assert "layer (input)" in diagnostics.attrs["left_out"]


class GraphBatch(Graph):
    """Several graphs as one, as torch_geometric's `Batch`: `batch` tells the graph of each node."""

    def __init__(self, x, edge_index, batch):
        super().__init__(x, edge_index)
        self.batch = batch

    def to(self, *args):
        return GraphBatch(self.x.to(*args), self.edge_index.to(*args), self.batch.to(args[0]))

    def clone(self):
        return GraphBatch(self.x.clone(), self.edge_index.clone(), self.batch.clone())


class GraphClassifier(GraphNetwork):
    """A row per node, then the mean over each graph and a row per graph."""

    def forward(self, graph):
        return self.of_parts(graph.x, graph.edge_index, graph.batch)

    def of_parts(self, x, edge_index, batch):
        hidden = self.first(x).relu()
        hidden = hidden.index_add(0, edge_index[1], hidden[edge_index[0]])
        sizes = torch.bincount(batch)[:, None]
        return self.last(hidden.new_zeros(len(sizes), 4).index_add(0, batch, hidden) / sizes)


class KeywordClassifier(GraphClassifier):
    def forward(self, x, edge_index, batch):
        return self.of_parts(x, edge_index, batch)


def batch_of_graphs(number=7):
    """Graphs of 2, 3, 4, 2, ... nodes."""
    generator = torch.Generator().manual_seed(number)
    batch = torch.repeat_interleave(torch.arange(number), 2 + torch.arange(number) % 3)
    x = torch.randn(len(batch), 5, generator=generator)
    return GraphBatch(x, torch.randint(0, len(batch), (2, 30), generator=generator), batch)


def test_a_layer_of_nodes_with_as_many_units_as_graphs_counts_by_its_rows():
    """Four graphs, four units: the layer's second axis is no axis of graphs."""
    torch.manual_seed(0)
    graphs, model = batch_of_graphs(4), GraphClassifier()
    diagnostics = measure(model, graphs, ["first", "last"], labels=np.arange(4) % 2)
    with torch.no_grad():
        means = torch.stack([model.first(graphs.x)[graphs.batch == graph].mean(dim=0) for graph in range(4)])
    np.testing.assert_array_equal(diagnostics["units"], [4, 3])
    np.testing.assert_allclose(norms(diagnostics, "first"), means.norm(dim=1), rtol=1e-6)


@pytest.mark.parametrize("keywords", [False, True])
def test_layers_of_nodes_are_means_over_each_graph(keywords):
    torch.manual_seed(0)
    graphs, labels = batch_of_graphs(), np.arange(7) % 2
    model = KeywordClassifier() if keywords else GraphClassifier()
    inputs = {"x": graphs.x, "edge_index": graphs.edge_index, "batch": graphs.batch} if keywords else graphs
    for options in ({"labels": labels}, {}):
        diagnostics = measure(model, inputs, **options)
        assert list(diagnostics["layer"].values) == ["first", "last"]
        assert diagnostics.sizes["point"] == 7
    with torch.no_grad():
        hidden = model.first(graphs.x)
        means = torch.stack([hidden[graphs.batch == number].mean(dim=0) for number in range(7)])
    np.testing.assert_allclose(norms(diagnostics, "first"), means.norm(dim=1), rtol=1e-5)


def test_labels_of_nodes_make_the_nodes_points():
    torch.manual_seed(0)
    graphs, model = batch_of_graphs(), GraphClassifier()
    diagnostics = measure(model, graphs, ["first"], labels=np.arange(len(graphs.x)) % 2)
    with torch.no_grad():
        np.testing.assert_allclose(norms(diagnostics, "first"), model.first(graphs.x).norm(dim=1), rtol=1e-5)


def test_a_loader_of_batches_of_graphs():
    torch.manual_seed(0)
    batches, model = [batch_of_graphs(7), batch_of_graphs(5)], GraphClassifier()
    found = measure(model, iter(batches), ["first"])
    alone = [measure(model, batch, ["first"]) for batch in batches]
    np.testing.assert_allclose(norms(found, "first"), np.concatenate([norms(part, "first") for part in alone]))


class OfImages(nn.Module):
    """Takes a list of images of several sizes, as detection networks do."""

    def __init__(self):
        super().__init__()
        self.map = nn.Linear(5, 3)

    def forward(self, images):
        return self.map(torch.stack([image.mean(dim=0) for image in images]))


class OfTwo(nn.Module):
    def __init__(self):
        super().__init__()
        self.map = nn.Linear(5, 3)

    def forward(self, first, second):
        return self.map(first + second)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_a_network_of_a_list_of_images_gets_a_list(wrapped, batch_size):
    torch.manual_seed(0)
    images, model = [torch.randn(4 + k % 3, 5) for k in range(6)], OfImages()
    diagnostics = measure(model, (images,) if wrapped else images, measures=["angles"], batch_size=batch_size)
    with torch.no_grad():
        np.testing.assert_allclose(norms(diagnostics, "map"), model(images).norm(dim=1), rtol=1e-6)
    assert diagnostics.sizes["point"] == 6


def test_a_network_of_two_inputs_gets_the_two_of_a_list():
    model = OfTwo()
    diagnostics = measure(model, [POINTS, POINTS.flip(0)], measures=["angles"])
    with torch.no_grad():
        expected = model(POINTS, POINTS.flip(0)).norm(dim=1)
    np.testing.assert_allclose(norms(diagnostics, "map"), expected, rtol=1e-6)


# layers that are no plain tensor


def perceptron():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)).eval()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_dynamic_int8_is_measured_though_its_rounding_depends_on_the_batch():
    model = torch.ao.quantization.quantize_dynamic(perceptron(), {nn.Linear}, dtype=torch.qint8)
    diagnostics = measure(model, POINTS, labels=LABELS)
    assert list(diagnostics["layer"].values) == ["input", "0", "1", "2"]
    np.testing.assert_allclose(norms(diagnostics, "2"), model(POINTS).norm(dim=1), rtol=1e-6)
    assert np.isfinite(diagnostics["nc3"])
    assert diagnostics.attrs["left_out"] == ""


class Stubbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.net = torch.ao.quantization.QuantStub(), perceptron()
        self.leave = torch.ao.quantization.DeQuantStub()

    def forward(self, x):
        return self.leave(self.net(self.enter(x)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_static_int8_is_measured_in_numbers():
    model = Stubbed().eval()
    model.qconfig = torch.ao.quantization.get_default_qconfig(torch.backends.quantized.engine)
    torch.ao.quantization.prepare(model, inplace=True)
    model(POINTS)
    torch.ao.quantization.convert(model, inplace=True)
    diagnostics = measure(model, POINTS, labels=LABELS)
    assert list(diagnostics["layer"].values) == ["input", "enter", "net.0", "net.1", "net.2", "leave"]
    expected = model.net[0](model.enter(POINTS)).dequantize().norm(dim=1)
    np.testing.assert_allclose(norms(diagnostics, "net.0"), expected, rtol=1e-6)
    assert diagnostics.attrs["left_out"] == ""


class Packed(nn.Module):
    def __init__(self, *, whole):
        super().__init__()
        torch.manual_seed(0)
        self.memory, self.last, self.whole = nn.GRU(5, 7, batch_first=True), nn.Linear(7, 3), whole

    def forward(self, x, lengths=None):
        if lengths is not None:
            x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        sequence, state = self.memory(x)
        return sequence if self.whole else self.last(state[-1])


LENGTHS = torch.tensor([4, 3, 2, 4, 1, 2])


def by_hand(model, x):
    """Outputs of the recurrent layer of each sequence alone, zeros behind its end."""
    with torch.no_grad():
        rows = [model.memory(x[k : k + 1, :size])[0][0] for k, size in enumerate(LENGTHS)]
    return np.array([float(row.norm()) for row in rows])


def test_packed_sequences_are_layers_padded_with_zeros():
    x, model = torch.randn(6, 4, 5), Packed(whole=False)
    diagnostics = measure(model, (x, LENGTHS), measures=["angles"])
    np.testing.assert_allclose(norms(diagnostics, "memory"), by_hand(model, x), rtol=1e-5)
    assert diagnostics.attrs["left_out"] == ""


def test_a_packed_sequence_is_one_input_and_one_output():
    x, model = torch.randn(6, 4, 5), Packed(whole=True)
    packed = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    assert isinstance(packed, PackedSequence)
    diagnostics = measure(model, packed, ["input", "memory", "output"], measures=["angles"])
    np.testing.assert_allclose(norms(diagnostics, "output"), by_hand(model, x), rtol=1e-5)
    expected = [float(x[k, :size].norm()) for k, size in enumerate(LENGTHS)]
    np.testing.assert_allclose(norms(diagnostics, "input"), expected, rtol=1e-6)


class Complex(nn.Module):
    def __init__(self, *, real):
        super().__init__()
        torch.manual_seed(0)
        self.map, self.last, self.real = nn.Linear(5, 4, dtype=torch.complex64), nn.Linear(4, 3), real

    def forward(self, x):
        hidden = self.map(torch.fft.fft(x))
        return self.last(hidden.abs()) if self.real else hidden


def test_complex_layers_count_real_and_imaginary_parts_as_units():
    model = Complex(real=True)
    diagnostics = measure(model, POINTS, labels=LABELS)
    with torch.no_grad():
        hidden = model.map(torch.fft.fft(POINTS)).numpy().astype(complex)
    np.testing.assert_allclose(norms(diagnostics, "map"), np.linalg.norm(hidden, axis=1), rtol=1e-6)
    s = np.linalg.svd(np.hstack([hidden.real, hidden.imag]), compute_uv=False)
    share = s / s.sum()
    effective = np.exp(-np.sum(share * np.log(share)))
    np.testing.assert_allclose(diagnostics["effective_rank"].sel(layer="map"), effective, rtol=1e-5)
    assert int(diagnostics["units"].sel(layer="map")) == 8


def test_complex_outputs_decide_for_no_class():
    diagnostics = measure(Complex(real=False), POINTS, labels=LABELS, measures=["accuracy", "ranks", "targets", "loss"])
    for name in ("accuracy", "half_mse", "loss"):
        assert np.isnan(diagnostics[name])
    assert "accuracy" in diagnostics.attrs["left_out"]


# points without a class, layers without differences, experts


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


def test_a_named_pair_with_a_point_without_a_class_has_no_loss():
    labels = np.where(np.arange(12) < 4, -100, LABELS)
    diagnostics = measure(perceptron(), POINTS, labels=labels, pairs=[(0, 5), (4, 5)])
    assert np.isnan(diagnostics["pair_loss"].values).tolist() == [True, False]
    assert np.isfinite(diagnostics["prediction_distance"]).all()


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


class Experts(nn.Module):
    """Points with a positive first number go to expert 1, the others to expert 0; none reaches expert 2."""

    def __init__(self):
        super().__init__()
        self.experts, self.last = nn.ModuleList(nn.Linear(5, 4) for _ in range(3)), nn.Linear(4, 3)

    def forward(self, x):
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
