"""Each measure alone, layers by other names, gradients of shared maps, held-out points."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.methods.catalog import MEASURES
from repdyn.diagnostics.methods.features import Features
from repdyn.diagnostics.methods.progress import Interrupted
from repdyn.diagnostics.methods.radial import POINTS
from repdyn.diagnostics.methods.request import Request
from repdyn.diagnostics.theory.identity import Residual

LABELS = np.array([2, 0, 1, 1, 0, 2, 2, 1, 0])
X = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def request(**more):
    nothing = dict.fromkeys(
        ("layers", "labels", "targets", "pairs", "residual", "measures", "embeddings", "classifier")
    )
    return Request(**nothing | {"gamma": 0.1, "bias": False, "loss": None, "progress": False} | more)


def network(*more):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3), *more).double()


ALWAYS = {"angles", "ranks", "cost_of_identity", "pairs", "radial"}
OF_LABELS = {"collapse", "classifier", "sectors", "accuracy"}
OPTIONS = {"labels": LABELS, "targets": X.numpy(), "loss": nn.functional.mse_loss, "residual": Residual(["0", "1"])}


@pytest.mark.parametrize(
    ("names", "more"),
    [
        ((), set()),
        (("labels",), OF_LABELS | {"targets", "loss"}),
        (("targets",), {"targets", "loss"}),
        (("loss",), {"loss"}),
        (("residual",), {"energies"}),
        (("labels", "targets", "loss", "residual"), OF_LABELS | {"targets", "loss", "energies"}),
    ],
)
def test_measures_are_chosen_by_the_options_that_they_need(names, more):
    options = {name: OPTIONS[name] for name in names}
    possible = [name for name in MEASURES if name in ALWAYS | more]
    assert request(**options).chosen() == possible
    for name in MEASURES:
        alone = request(**options, measures=[name])
        if name in possible:
            assert alone.chosen() == [name]
        else:
            with pytest.raises(ValueError, match=name):
                alone.chosen()


@pytest.mark.parametrize("layers", [None, []])
def test_every_measure_has_alone_the_numbers_that_it_has_among_all(layers):
    model = network()
    options = {"labels": LABELS, "targets": X[:, :3], "residual": ["1", "0"], "loss": nn.functional.mse_loss}
    stream = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)).double()
    for network_of, more in ((model, {"residual": None}), (stream, {"residual": ["0", "1", "2"]})):
        whole = measure(network_of, X, layers, **options | more)
        for name in MEASURES:
            if name == "energies" and more["residual"] is None:
                continue
            alone = measure(network_of, X, layers, **options | more, measures=[name])
            for variable in alone.data_vars:
                np.testing.assert_array_equal(alone[variable], whole[variable], err_msg=variable)


class Stream(nn.Module):
    """A block that is called three times, whose outputs may then be changed in place."""

    def __init__(self, *, in_place=False):
        super().__init__()
        torch.manual_seed(5)
        self.block, self.in_place = nn.Linear(4, 4).double(), in_place

    def forward(self, x):
        x = self.block(x)
        x = self.block(x.relu_() if self.in_place else x.relu())
        x = self.block(x.relu_() if self.in_place else x.relu())
        return x.flip(-1)


def test_layers_of_a_stream_and_of_inputs_may_have_torchvision_s_names():
    by_call = measure(Stream(), X, ["block"], residual=["block", "block#2", "block#3"], embeddings="block#2")
    other = measure(Stream(), X, ["block"], residual=["block", "block_1", "block_2"], embeddings="block_1")
    assert other.attrs["left_out"] == by_call.attrs["left_out"] == ""
    for name in ("kinetic_energy", "input_distance"):
        assert np.isfinite(by_call[name]).all()
        np.testing.assert_array_equal(other[name], by_call[name])
    with torch.no_grad():
        second = Stream().block(Stream().block(X).relu()).numpy()
    np.testing.assert_allclose(by_call["input_distance"][0], np.sum((second[1] - second[0]) ** 2))


def test_a_stream_whose_layers_are_changed_in_place_has_the_energies_of_the_layers():
    plain, in_place = (
        measure(
            Stream(in_place=flag).float(), X.float(), residual=["block", "block#2", "block#3"], measures=["energies"]
        )
        for flag in (False, True)
    )
    np.testing.assert_array_equal(in_place["kinetic_energy"], plain["kinetic_energy"])


class Mapped(nn.Module):
    """The last map is called twice, the second time on the first one's output."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(6)
        self.conv, self.map, self.computed = nn.Conv1d(1, 1, 3, padding=1), nn.Linear(3, 3), nn.Identity()

    def forward(self, x):
        hidden = self.conv(x[:, None, :3]).flatten(1)
        return self.computed(self.map(self.map(hidden).relu()))


def test_a_map_that_is_called_twice_is_the_classifier_of_its_last_call():
    points, model = X.float(), Mapped()
    found = measure(model, points, labels=LABELS, measures=["classifier"])
    assert found.attrs["last_map"] == "map#2"
    with torch.no_grad():
        hidden = model.map(model.conv(points[:, None, :3]).flatten(1)).relu().double().numpy()
        decisions, W = model(points).argmax(dim=1).numpy(), model.map.weight.double().numpy()
    means = np.array([hidden[label == LABELS].mean(axis=0) for label in range(3)])
    centered = means - means.mean(axis=0)
    nc3 = np.sum((W / np.linalg.norm(W) - centered / np.linalg.norm(centered)) ** 2)
    nearest = np.argmin(((hidden[:, None] - means) ** 2).sum(axis=2), axis=1)
    np.testing.assert_allclose(found["nc3"], nc3, rtol=1e-5)
    assert float(found["nc4"]) == np.mean(nearest != decisions)


def test_targets_of_images_are_compared_number_by_number_whatever_the_features():
    torch.manual_seed(7)
    model, images = nn.Conv2d(2, 3, 3).double(), torch.randn(5, 2, 4, 4, dtype=torch.float64)
    targets = torch.randn(5, 3, 2, 2, dtype=torch.float64)
    error = float(((model(images) - targets) ** 2).mean().detach()) / 2
    found = measure(model, images, targets=targets, measures=["loss", "targets"])
    np.testing.assert_allclose([found["loss"], found["half_mse"]], error, rtol=1e-12)
    features = Features("pool", channels=1)
    pooled = measure(model, images, targets=targets.mean(dim=(2, 3)), measures=["loss"], features=features)
    error = ((model(images) - targets).mean(dim=(2, 3)) ** 2).mean().detach() / 2
    np.testing.assert_allclose(pooled["loss"], error, rtol=1e-12)


@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_the_radial_fraction_of_many_points_is_of_some_with_their_own_answers(kind):
    torch.manual_seed(8)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6, eps=0.5), nn.Tanh(), nn.Linear(6, 3)).double().train()
    points = torch.randn(2 * POINTS + 7, 4, dtype=torch.float64)
    labels, targets = torch.randint(3, (len(points),)), torch.randn(len(points), 3, dtype=torch.float64)
    options = {"labels": labels} if kind == "labels" else {"targets": targets}
    found = measure(model, points, measures=["radial"], **options)
    some = np.linspace(0, len(points) - 1, POINTS).round().astype(int)
    output = model(points[some])
    loss = (
        nn.functional.cross_entropy(output, labels[some])
        if kind == "labels"
        else (output - targets[some]).pow(2).mean()
    )
    loss.backward()
    W, slopes = (part.detach().numpy() for part in (model[0].weight, model[0].weight.grad))
    shares = np.abs((W * slopes).sum(axis=1)) / np.linalg.norm(W, axis=1) / np.linalg.norm(slopes, axis=1)
    assert shares.min() > 1e-4
    np.testing.assert_allclose(found["radial_fraction"], [np.median(shares)], rtol=1e-9)
    np.testing.assert_allclose(found["largest_radial_fraction"], [shares.max()], rtol=1e-9)


class Tied(nn.Module):
    """Maps in front of normalizations; the weights of `shared` are those of the last map too."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(9)
        self.free, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.shared, self.whole, self.last = nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4)
        self.rooted, self.root = nn.Linear(4, 4), nn.RMSNorm(4)
        self.last.weight = self.shared.weight

    def forward(self, x):
        x = self.norm(self.free(x)).tanh()
        x = self.root(self.rooted(x)).tanh()
        return self.last(self.whole(self.shared(x)).tanh())


def test_a_map_with_shared_weights_has_no_radial_fraction_and_the_network_is_unchanged():
    model = Tied().double()
    before = {name: (part, part.detach().clone()) for name, part in model.named_parameters()}
    eps = [part.eps for part in (model.norm, model.whole, model.root)]
    found = measure(model, X, measures=["radial"])
    assert found["normalized"].values.tolist() == ["free", "rooted", "shared"]
    assert np.isnan(found["radial_fraction"]).values.tolist() == [False, False, True]
    assert found.attrs["left_out"].startswith("radial (shared)")
    assert float(found["largest_radial_fraction"][:2].max()) < 1e-3
    assert [part.eps for part in (model.norm, model.whole, model.root)] == eps
    for name, part in model.named_parameters():
        assert part is before[name][0]
        assert torch.equal(part, before[name][1])
    assert model.last.weight is model.shared.weight


def test_where_the_gradient_fails_the_maps_that_are_not_free_keep_their_own_reason():
    def loss(_output):
        raise ValueError("no loss today")

    found = measure(Tied().double(), X, measures=["radial"], loss=loss)
    first, second = found.attrs["left_out"].split("; ")
    assert first.startswith("radial (free, rooted)")
    assert first.endswith("no loss today")
    assert second.startswith("radial (shared)")
    assert found["radial_fraction"].isnull().all()


class Stopped(nn.Module):
    """Raises what Ctrl-C raises for the points that hold a number above a hundred."""

    def forward(self, x):
        if (x > 100).any() and len(x) > 3:
            raise KeyboardInterrupt
        return x


def test_a_measurement_that_is_stopped_at_held_out_points_holds_the_others():
    model, others = nn.Sequential(nn.Linear(4, 6), Stopped(), nn.Linear(6, 3)).double(), X[:7].clone()
    whole = measure(model, X, labels=LABELS, held_out=(others, LABELS[:7]), measures=["ranks", "accuracy"])
    with torch.no_grad():
        model[0].weight.copy_(torch.eye(6, 4))
    others[5] = 300.0
    with pytest.raises(Interrupted) as stopped:
        measure(model, X, labels=LABELS, held_out=(others, LABELS[:7]), measures=["ranks", "accuracy"])
    found = stopped.value.dataset
    assert list(found.data_vars) == list(whole.data_vars)
    alone = measure(model, X, labels=LABELS, measures=["ranks", "accuracy"])
    for name in alone.data_vars:
        np.testing.assert_array_equal(found[name], alone[name])
    ranks = found["effective_rank_held_out"]
    assert np.isnan(ranks).values.tolist() == [False, False, True, True]
    assert found.attrs["left_out"].startswith("held-out points, all")


def test_pairs_and_streams_are_of_the_points_alone_however_few_are_held_out():
    found = measure(
        network(), X, labels=LABELS, held_out=(X[:3], LABELS[:3]), pairs=[(7, 8)], residual=["0", "1"], classifier="2"
    )
    assert found.attrs["left_out"] == ""
    assert {str(name) for name in found.data_vars if str(name).startswith(("nc3", "kinetic", "pair_loss"))} == {
        "nc3", "kinetic_energy", "pair_loss",
    }  # fmt: skip
