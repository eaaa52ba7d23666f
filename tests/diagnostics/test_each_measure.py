"""Each measure alone, layers by other names, gradients of shared maps, held-out points."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.methods.catalog import MEASURES
from repdyn.diagnostics.methods.collecting import Request
from repdyn.diagnostics.methods.radial import POINTS
from repdyn.diagnostics.methods.reader import Features
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
    """A block that is called three times, whose outputs are then changed in place."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.block = nn.Linear(4, 4).double()

    def forward(self, x):
        x = self.block(self.block(x).relu_())
        return self.block(x.relu_()).flip(-1)


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
