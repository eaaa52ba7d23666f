"""Networks as people have them: what cannot be measured is missing, and the rest is measured."""

import warnings

import numpy as np
import pytest
import torch
from tests.diagnostics.networks import network_of
from torch import nn
from torch.nn.utils import parametrizations

from repdyn.diagnostics.measure import measure

LABELS = np.arange(12) % 3
MEASURES = ["ranks", "collapse", "radial", "accuracy", "classifier", "targets"]


def points():
    return np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)


def perceptron(first):
    return nn.Sequential(first, nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = perceptron(nn.Linear(5, 8))


class WithoutGradient(Wrapped):
    def forward(self, x):
        with torch.no_grad():
            return self.net(x)


class Decisions(Wrapped):
    def forward(self, x):
        return self.net(x).argmax(dim=1)


@network_of(lambda: {"head": nn.Linear(5, 4), "norm": nn.BatchNorm1d(4)}, base=Wrapped)
def Auxiliary(self, x):
    """A head beside the output, normalized as well."""
    self.beside = self.norm(self.head(x))
    return self.net(x)


class Pair(nn.Module):
    def forward(self, x):
        return x.relu(), x.sum()


class Tuples(Wrapped):
    def __init__(self):
        super().__init__()
        self.net[2] = Pair()

    def forward(self, x):
        hidden, _ = self.net[2](self.net[1](self.net[0](x)))
        return self.net[3](hidden), hidden


class Parts(Wrapped):
    def forward(self, x):
        return {"hidden": self.net[:3](x), "logits": self.net(x)}


def old_weight_norm():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return perceptron(nn.utils.weight_norm(nn.Linear(5, 8)))


CASES = {
    "weight_norm": (lambda: perceptron(parametrizations.weight_norm(nn.Linear(5, 8))), "radial (0)"),
    "old weight_norm": (old_weight_norm, "radial (0)"),
    "spectral_norm": (lambda: perceptron(parametrizations.spectral_norm(nn.Linear(5, 8))), "radial (0)"),
    "no_grad": (WithoutGradient, "radial (net.0)"),
    "argmax": (Decisions, "accuracy"),
    "auxiliary head": (Auxiliary, "radial (head)"),
    "tuples": (Tuples, ""),
    "dictionary": (Parts, "output='hidden' or 'logits'"),
    "scripted": (lambda: torch.jit.script(perceptron(nn.Linear(5, 8))), "layer (0, 1, 2, 3)"),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore:`torch.jit")
@pytest.mark.parametrize("case", CASES)
def test_failing_measures_are_missing_and_the_others_are_finite(case):
    torch.manual_seed(0)
    make, left_out = CASES[case]
    diagnostics = measure(make(), points(), labels=LABELS, measures=MEASURES)
    assert left_out in diagnostics.attrs["left_out"] if left_out else diagnostics.attrs["left_out"] == ""
    assert np.isfinite(diagnostics["effective_rank"]).all()
    assert np.isfinite(diagnostics["nc1"]).all()
    if "output" not in diagnostics.attrs["left_out"]:
        assert np.isfinite(diagnostics["accuracy"])
    if case == "auxiliary head":
        assert np.isnan(diagnostics["radial_fraction"].sel(normalized="head"))
        assert float(diagnostics["radial_fraction"].sel(normalized="net.0")) < 1e-3


class Sometimes(nn.Module):
    """A tensor for two points and nothing for more."""

    def forward(self, x):
        return x if len(x) == 2 else None


def test_a_layer_that_is_a_tensor_at_some_passes_only_is_left_out():
    @network_of(lambda: {"sometimes": Sometimes()}, base=Wrapped)
    def Within(self, x):
        self.sometimes(x)
        return self.net(x)

    diagnostics = measure(Within(), points(), measures=["ranks"])
    assert "layer (sometimes)" in diagnostics.attrs["left_out"]
    assert np.isfinite(diagnostics["effective_rank"]).all()


def test_targets_of_an_output_without_distances_leave_the_layers_alone():
    targets = np.random.default_rng(1).normal(size=(12, 3))
    diagnostics = measure(Decisions(), points(), targets=targets, measures=["ranks", "targets", "loss"])
    parts = [part.partition(":")[0] for part in diagnostics.attrs["left_out"].split("; ")]
    assert parts == ["layer (output)", "targets", "loss"]
    assert np.isfinite(diagnostics["effective_rank"]).all()


def test_compiled_and_parallel_networks_are_the_network_within():
    torch.manual_seed(0)
    model = perceptron(nn.Linear(5, 8))
    plain = measure(model, points(), labels=LABELS)
    for other in (nn.DataParallel(model), torch.compile(model, backend="eager")):
        wrapped = measure(other, points(), labels=LABELS)
        for name in plain.data_vars:
            np.testing.assert_array_equal(wrapped[name], plain[name], err_msg=name)


def test_a_layer_that_diverged_is_missing_with_those_after_it():
    model = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    with torch.no_grad():
        model[2].weight[0, 0] = torch.nan
    diagnostics = measure(model, points(), labels=LABELS)
    assert "layer (2, output): 12 of 36" in diagnostics.attrs["left_out"]
    assert np.isfinite(diagnostics["effective_rank"].sel(layer=["input", "0", "1"])).all()
    assert diagnostics["effective_rank"].sel(layer="2").isnull()
    assert diagnostics["layer"].values.tolist() == ["input", "0", "1", "2"]  # the output is layer 2, NaN included
    assert diagnostics.attrs["last_map"] == "2"
    assert diagnostics["numerical_rank"].dtype == float  # a count that is missing once


def test_a_point_without_a_direction_leaves_out_the_angles_of_its_layer_alone():
    X = points()
    X[3] = -np.abs(X[3])
    diagnostics = measure(nn.Sequential(nn.ReLU()), X, measures=["angles", "ranks"])
    assert diagnostics["zero_points"].values.tolist() == [0, 1]
    assert diagnostics["angle"].sel(layer="0").isnull().all()
    assert diagnostics["angle"].sel(layer="input").notnull().all()
    assert diagnostics["effective_rank"].notnull().all()


def test_labels_beyond_the_outputs_leave_the_classes_alone():
    diagnostics = measure(nn.Linear(5, 3), points(), labels=np.arange(12) % 6)
    assert "accuracy" in diagnostics.attrs["left_out"]
    assert np.isfinite(diagnostics["nc1"]).all()
    assert np.isnan(diagnostics["accuracy"])
    assert np.isnan(diagnostics["loss"])


# which maps normalization makes free


class PreNorm(nn.Module):
    """What the first map returns goes into a normalization and round it."""

    def __init__(self, *, residual):
        super().__init__()
        torch.manual_seed(1)
        self.first, self.norm, self.last, self.residual = nn.Linear(5, 5), nn.LayerNorm(5), nn.Linear(5, 3), residual

    def forward(self, x):
        z = self.first(x)
        return self.last(self.norm(z) + (z if self.residual else 0))


def test_a_map_that_also_enters_the_residual_stream_is_not_free():
    diagnostics = measure(PreNorm(residual=True), points())
    assert diagnostics["radial_fraction"].isnull().all()
    assert "radial (first)" in diagnostics.attrs["left_out"]
    free = measure(PreNorm(residual=False), points())
    assert float(free["radial_fraction"][0]) < 1e-3
    assert free.attrs["left_out"] == ""


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("residual", [False, True])
def test_whether_a_map_is_free_does_not_depend_on_the_size_of_the_output(scale, residual):
    model = PreNorm(residual=residual)
    with torch.no_grad():
        model.last.weight.mul_(scale)
        model.last.bias.mul_(scale)
    assert ("radial (first)" in measure(model, points()).attrs["left_out"]) is residual


def test_the_map_in_front_of_every_pre_norm_block_is_refused():
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.Sequential(nn.Linear(5, 8), nn.TransformerEncoder(block, 2, enable_nested_tensor=False), nn.Flatten())
    diagnostics = measure(model, torch.randn(6, 4, 5), measures=["radial"])
    assert list(diagnostics["normalized"].values) == ["0"]
    assert diagnostics["radial_fraction"].isnull().all()


@pytest.mark.parametrize("more", [{"classifier": "2"}, {"embeddings": "0"}], ids=["classifier", "embeddings"])
def test_a_layer_that_is_read_for_another_measure_is_not_measured_itself(more):
    net = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
    assert measure(net, points(), labels=LABELS, layers=["1"], **more).layer.values.tolist() == ["1"]
