"""Inputs and outputs as people have them: several, keywords, loaders, axes, tokens, functional code, shared modules."""

from collections import UserDict

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

from repdyn.diagnostics.measure import measure, names
from repdyn.diagnostics.methods.features import Features
from repdyn.diagnostics.methods.inputs import as_inputs, usual_unpack

N = 6
RANKS = ["ranks", "angles"]


def same(actual, expected, variables=("effective_rank", "norm", "angle")):
    for name in variables:
        np.testing.assert_allclose(actual[name].values, expected[name].values, rtol=1e-6, atol=1e-7, err_msg=name)


class Two(nn.Module):
    """Two inputs, one of them a mask by keyword."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.map, self.head = nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x, mask=None):
        h = self.map(x)
        return self.head(h if mask is None else h * mask[:, None])


def test_positional_and_keyword_inputs():
    X, mask = torch.randn(N, 4, generator=torch.Generator().manual_seed(1)), torch.tensor([1.0, 0, 1, 1, 0, 1])
    by_position = measure(Two(), (X, mask), ["map", "head"], measures=RANKS)
    by_keyword = measure(Two(), {"x": X, "mask": mask}, ["map", "head"], measures=RANKS)
    same(by_position, by_keyword)
    with torch.no_grad():
        output = Two()(X, mask).double().numpy()
    np.testing.assert_allclose(by_keyword["norm"].sel(layer="head"), np.linalg.norm(output, axis=1), rtol=1e-6)


def test_input_distances_need_one_input_with_coordinates():
    X = torch.randn(N, 4)
    diagnostics = measure(Two(), {"x": X, "mask": torch.ones(N)})
    assert diagnostics["input_distance"].isnull().all()
    assert "input_distance" in diagnostics.attrs["left_out"]


def test_token_ids_are_no_coordinates():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(9, 3), nn.Flatten(), nn.Linear(6, 2))
    tokens = np.array([[0, 1], [2, 3], [4, 0], [8, 7]])
    diagnostics = measure(model, tokens)
    assert diagnostics["input_distance"].isnull().all()
    assert "embeddings=" in diagnostics.attrs["left_out"]
    with torch.no_grad():
        rows = model[0](torch.tensor(tokens)).flatten(1).double().numpy()
    named = measure(model, tokens, embeddings="0")
    np.testing.assert_allclose(named["input_distance"][0], np.sum((rows[1] - rows[0]) ** 2), rtol=1e-6)


def test_batches_and_loaders_give_the_same_as_all_at_once():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    X, labels = torch.randn(12, 4), torch.arange(12) % 3
    whole = measure(model, X, labels=labels)
    loader = DataLoader(TensorDataset(X, labels), batch_size=5)
    for batched in (
        measure(model, X, labels=labels, batch_size=5),
        measure(model, X, labels=labels, batch_size=5, memory=1),  # one layer at a time
        measure(model, loader),
    ):
        for name in set(whole.data_vars) - {"radial_fraction", "largest_radial_fraction"}:
            np.testing.assert_allclose(batched[name], whole[name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("memory", "groups"),
    [(0, 3), (4 * 12 * (6 + 6) - 1, 2), (4 * 12 * (6 + 6), 2), (4 * 12 * 9 - 1, 3), (4 * 12 * 15, 1)],
)
def test_as_many_layers_at_a_time_as_the_memory_holds(memory, groups):
    torch.manual_seed(0)
    model, X = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)), torch.randn(12, 4)
    calls = []
    model[2].register_forward_hook(lambda *_: calls.append(1))
    options = {"measures": RANKS, "batch_size": 3, "memory": memory}
    measure(model, X, ["0"], **options)
    alone = len(calls)
    calls.clear()
    measure(model, X, ["0", "1", "2"], **options)
    assert len(calls) - alone == 4 * (groups - 1)  # batches in every further group


def test_a_batch_of_equal_points_is_measured_with_others():
    X = torch.randn(9, 4)
    X[:3] = X[0]
    assert measure(nn.Linear(4, 2), X, batch_size=3, measures=RANKS).sizes["point"] == 9
    with pytest.raises(ValueError, match="inputs"):
        measure(nn.Linear(4, 2), X[:1].repeat(6, 1), batch_size=3, measures=RANKS)


@pytest.mark.parametrize("batch_size", [4, 9, 20])
def test_labels_of_a_loader_of_one_batch_stay_with_its_points_where_it_is_cut(batch_size):
    X, labels = torch.randn(9, 4, generator=torch.Generator().manual_seed(1)), torch.arange(9) % 2
    loader = DataLoader(TensorDataset(X, labels), batch_size=9)
    found = measure(nn.Linear(4, 2), loader, batch_size=batch_size, measures=["ranks", "accuracy"])
    assert found["label"].values.tolist() == labels.tolist()


def test_batches_of_a_loader_by_keyword():
    torch.manual_seed(0)
    X, labels = torch.randn(8, 4), torch.arange(8) % 2
    batches = [{"x": X[:4], "mask": torch.ones(4), "labels": labels[:4]}]
    batches += [{"x": X[4:], "mask": torch.ones(4), "labels": labels[4:]}]
    diagnostics = measure(Two(), iter(batches), ["map"])
    np.testing.assert_array_equal(diagnostics["label"], labels)
    same(measure(Two(), iter([(X, X, labels)]), ["map"], unpack=lambda batch: (batch[0], batch[2])), diagnostics)


def test_a_shuffling_loader_leaves_random_states_alone():
    generators = [torch.Generator().manual_seed(seed) for seed in (3, 4, 5)]
    data = TensorDataset(torch.randn(8, 4), torch.arange(8) % 2)
    sampler = RandomSampler(data, generator=generators[1])
    before = [*(own.get_state() for own in generators), torch.get_rng_state()]
    measure(nn.Linear(4, 2), DataLoader(data, 4, shuffle=True, generator=generators[0]))
    measure(nn.Linear(4, 2), DataLoader(data, 4, sampler=sampler, generator=generators[2]))
    after = [*(own.get_state() for own in generators), torch.get_rng_state()]
    assert all(map(torch.equal, before, after))


@pytest.mark.parametrize(
    ("batch", "wanted"),
    [
        ({"x": 1, "target": 2, "labels": 3, "mask": 4, "label": 5, "targets": 6}, ({"x": 1, "mask": 4}, 3)),
        ({"x": 1, "target": 2, "targets": 6}, ({"x": 1}, 6)),
        ({"x": 1}, ({"x": 1}, None)),
        (UserDict(x=1, label=3), ({"x": 1}, 3)),
        ((1, 2), (1, 2)),
        ([1, 2], (1, 2)),
        ((1,), (1, None)),
        (1, (1, None)),
    ],
)
def test_a_batch_of_a_loader_is_inputs_and_answers(batch, wanted):
    assert usual_unpack(batch) == wanted


def test_numbers_are_converted_to_the_precision_of_the_network_and_integers_are_not():
    inputs = (torch.randn(7, 3), torch.arange(7), torch.ones(7) > 0, {"x": torch.randn(7, 3).half()}, "mean")
    found = as_inputs(nn.Linear(3, 2).double(), inputs).batches[0].args
    types = [found[0].dtype, found[1].dtype, found[2].dtype, found[3]["x"].dtype, found[4]]
    assert types == [torch.float64, torch.int64, torch.bool, torch.float64, "mean"]


# the axis of points


class TimeFirst(nn.Module):
    """A recurrent layer with time first inside, as many moments as points."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.memory, self.head = nn.LSTM(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        sequence, _ = self.memory(x.transpose(0, 1))
        return self.head(sequence[-1])


def test_the_axis_of_points_is_found_where_all_axes_are_as_long():
    X = torch.randn(N, N, 3, generator=torch.Generator().manual_seed(1))
    model = TimeFirst()
    diagnostics = measure(model, X, ["memory"], measures=RANKS)
    with torch.no_grad():
        sequence, _ = model.memory(X.transpose(0, 1))
    rows = sequence.transpose(0, 1).reshape(N, -1).double().numpy()
    np.testing.assert_allclose(diagnostics["norm"][0], np.linalg.norm(rows, axis=1), rtol=1e-6)


class Attention(nn.Module):
    """Attends over the first axis, as torch's layer does without `batch_first`."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2)

    def forward(self, x):
        return self.attention(x, x, x)[0]


@pytest.mark.parametrize("make", [lambda: nn.LSTM(4, 4), Attention], ids=["recurrent", "attention"])
def test_time_is_not_taken_for_points(make):
    torch.manual_seed(0)
    model, X = make(), torch.randn(N, N, 4)
    with pytest.raises(ValueError, match=r"axes=\{'input': 0\}"):
        measure(model, X, measures=RANKS)
    assert measure(model, X, measures=RANKS, axes={"input": 0}).sizes["point"] == N  # whoever says so
    assert measure(model, X, measures=RANKS, axes={"input": 1}).sizes["point"] == N


class Leaning(nn.Module):
    """Each point is drawn a little to the mean of those beside it."""

    def forward(self, x):
        return x + 0.01 * x.mean(dim=0)


def test_a_small_pull_from_the_points_beside_is_seen():
    with pytest.raises(ValueError, match="axes="):
        measure(Leaning(), torch.randn(N, N, 4), measures=RANKS)


def test_points_that_share_a_normalization_are_measured():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, track_running_stats=False))
    assert measure(model, torch.randn(N, 4), measures=RANKS).attrs["left_out"] == ""


def test_inputs_with_points_second():
    torch.manual_seed(0)
    model, X = nn.LSTM(3, 4), torch.randn(N, N, 3)
    diagnostics = measure(model, X, ["output"], axes={"input": 1}, measures=RANKS)
    rows = model(X)[0].detach().transpose(0, 1).reshape(N, -1).double().numpy()
    np.testing.assert_allclose(diagnostics["norm"][0], np.linalg.norm(rows, axis=1), rtol=1e-6)


class Graph(nn.Module):
    """Message passing on one graph: nodes are the points, edges have another length."""

    def __init__(self, width):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(3, width), nn.Linear(width, 2)

    def forward(self, x, edge_index):
        h = self.first(x)
        h = torch.relu(h.index_add(0, edge_index[1], h[edge_index[0]]))
        return self.second(h)


def test_a_graph_has_nodes_as_points():
    X, edges = torch.randn(N, 3), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    diagnostics = measure(Graph(5), {"x": X, "edge_index": edges}, ["first", "relu"], labels=np.arange(N) % 2)
    assert diagnostics.sizes["point"] == N
    with pytest.raises(ValueError, match=r"0, 1.*axes="):
        measure(Graph(N), {"x": X, "edge_index": edges}, ["first"])
    with pytest.raises(ValueError, match=rf"batch_size.*\({N}, 3\), \(2, 4\)"):
        measure(Graph(5), {"x": X, "edge_index": edges}, ["first"], batch_size=2)
    named = measure(Graph(N), {"x": X, "edge_index": edges}, ["first"], axes={"first": 0}, measures=RANKS)
    norms = Graph(N).first(X).detach().double().norm(dim=1)
    np.testing.assert_allclose(named["norm"][0], norms, rtol=1e-6)


def test_a_single_number_does_not_give_the_number_of_points():
    class Total(Two):
        def forward(self, *parts):
            return torch.stack([part.sum() for part in parts]).sum()

    with pytest.raises(ValueError, match=r"\(5, 4\), \(2, 3\).*\(\)"):
        measure(Total(), (torch.randn(5, 4), torch.randn(2, 3)), measures=RANKS)


# features


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.norm, self.head = nn.Linear(3, 8), nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.norm(self.embed(x)))


def test_tokens_pooled_and_one_by_one():
    X = torch.randn(N, 5, 3, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        h = Tokens().embed(X).double().numpy()
    pooled = measure(Tokens(), X, ["embed"], features=Features("pool", channels=-1), measures=RANKS)
    np.testing.assert_allclose(pooled["norm"][0], np.linalg.norm(h.mean(axis=1), axis=1), rtol=1e-5)
    labels = np.arange(N * 5).reshape(N, 5) % 4
    single = measure(Tokens(), X, ["embed"], features=Features("tokens", channels=-1), labels=labels)
    assert single.sizes["point"] == N * 5
    np.testing.assert_allclose(single["norm"][0], np.linalg.norm(h.reshape(N * 5, 8), axis=1), rtol=1e-5)
    assert np.isfinite(single["accuracy"])
    of_points = measure(Tokens(), X, ["embed"], features=Features("tokens", channels=-1), labels=labels[:, 0])
    np.testing.assert_array_equal(of_points["label"], np.repeat(labels[:, 0], 5))
    mask = np.arange(5)[None] < np.array([2, 3, 5, 5, 4, 2])[:, None]
    masked = measure(Tokens(), X, ["embed"], features=Features("tokens", channels=-1, mask=mask), labels=labels)
    np.testing.assert_allclose(masked["norm"][0], np.linalg.norm(h[mask], axis=1), rtol=1e-5)
    np.testing.assert_array_equal(masked["label"], labels[mask])


def test_channels_of_convolutions_are_required_and_never_guessed():
    X = torch.randn(N, 2, 4, 4)
    torch.manual_seed(0)
    model = nn.Conv2d(2, 3, 3)
    diagnostics = measure(model, X, ["output"], features=Features("pool", channels=1), measures=RANKS)
    np.testing.assert_allclose(
        diagnostics["norm"][0], model(X).detach().double().mean(dim=(2, 3)).norm(dim=1), rtol=1e-5
    )
    left = measure(model, X, ["output"], features=Features("pool"), measures=RANKS)
    assert "channels=1" in left.attrs["left_out"]


def test_features_by_a_function():
    X = torch.randn(N, 2, 4, 4)
    first = measure(nn.Conv2d(2, 3, 3), X, ["output"], features=lambda name, values: values[:, 0].flatten(1))
    assert first["units"].item() == 4


@pytest.mark.parametrize(
    ("returned", "shape"), [(lambda values: values, "shape (6, 3, 2, 2)"), (lambda values: [1.0], "a list")]
)
def test_a_function_of_features_that_returns_no_rows_is_left_out(returned, shape):
    X, features = torch.randn(N, 2, 4, 4), lambda name, values: returned(values)
    diagnostics = measure(nn.Conv2d(2, 3, 3), X, ["output"], features=features, measures=RANKS)
    assert shape in diagnostics.attrs["left_out"]


# names inside functional code


def test_layers_are_leaves_without_what_holds_them():
    inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    diagnostics = measure(nn.Sequential(inner, nn.Linear(4, 2)), torch.randn(N, 4), measures=RANKS)
    assert diagnostics["layer"].values.tolist() == ["input", "0.0", "0.1", "1"]
    assert diagnostics.attrs["left_out"] == ""


class Functional(nn.Module):
    """A residual block in functional code, a block that runs twice."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.block = Block()

    def forward(self, x):
        x = self.block(self.block(x))
        x += 1
        return torch.flatten(x, 1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return functional.relu(x + self.second(functional.relu(self.first(x))))


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


def test_functions_are_named_as_torch_fx_names_them():
    listed = names(Functional(), torch.randn(3, 4))
    assert [name for name in listed if name.rpartition(".")[2].split("_")[0] in ("relu", "add", "flatten")] == fx_names(
        Functional()
    )


def test_a_residual_addition_and_a_relu_are_layers():
    X, block = torch.randn(N, 4), Functional().block
    diagnostics = measure(Functional(), X, ["block.add", "block.relu_1", "block.add_1", "block#2"], measures=RANKS)
    with torch.no_grad():
        z = X + block.second(torch.relu(block.first(X)))
        once = torch.relu(z)
        again = once + block.second(torch.relu(block.first(once)))
    expected = {"block.add": z, "block.relu_1": once, "block.add_1": again, "block#2": torch.relu(again)}
    assert set(diagnostics["layer"].values) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(
            diagnostics["norm"].sel(layer=name), values.double().norm(dim=1), rtol=1e-5, err_msg=name
        )


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
