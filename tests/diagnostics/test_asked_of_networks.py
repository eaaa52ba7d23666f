"""What is asked of a network in words that differ from the usual ones: each request alone, by other names, in parts."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods.catalog import MEASURES
from repdyn.diagnostics.methods.features import Features
from repdyn.diagnostics.methods.held_out import beside, inputs_and_answers
from repdyn.diagnostics.methods.losses import of_points
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


# which measures

ALWAYS = {"angles", "ranks", "cost_of_identity", "pairs", "radial"}
OF_LABELS = {"collapse", "classifier", "sectors", "accuracy"}
GIVEN = {"labels": LABELS, "targets": X.numpy(), "loss": nn.functional.mse_loss, "residual": Residual(["0", "1"])}


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
def test_every_measure_needs_what_it_is_of(names, more):
    given = {name: GIVEN[name] for name in names}
    possible = [name for name in MEASURES if name in ALWAYS | more]
    assert request(**given).chosen() == possible
    for name in MEASURES:
        one = request(**given, measures=[name])
        if name in possible:
            assert one.chosen() == [name]
        else:
            with pytest.raises(ValueError, match=f"^the measure '{name}' needs "):
                one.chosen()
    assert request(**given, measures=["ranks", "pairs", "angles"]).chosen() == ["angles", "ranks", "pairs"]


def test_of_what_is_missing_the_first_is_told_with_what_it_needs():
    for measures, message in (
        (["ranks", "loss", "energies"], "the measure 'loss' needs labels, targets or loss"),
        (["energies", "loss"], "the measure 'energies' needs residual"),
        (["targets"], "the measure 'targets' needs labels or targets"),
        (["ranks", "rank"], f"no measure 'rank'; give some of {', '.join(MEASURES)}"),
        ("ranks", "measures is the text 'ranks'; give a list: ['ranks']"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            request(measures=measures).chosen()


def test_of_held_out_points_their_own_answers_are_asked_and_nothing_of_the_others():
    whole = request(
        layers=["0"], labels=LABELS, targets=X.numpy(), pairs=[(0, 8)], residual=Residual(["0", "1"]), embeddings="0",
        classifier="2", gamma=0.3, bias=True, loss=nn.functional.mse_loss, progress=True,
    )  # fmt: skip
    own = {"layers": ["0"], "gamma": 0.3, "bias": True, "loss": nn.functional.mse_loss, "progress": True}
    theirs, numbers = np.array([1, 0]), np.array([[0.5], [1.0]])
    assert whole.of_held_out(theirs, ["ranks"]) == request(**own, labels=theirs, measures=["ranks"])
    assert whole.of_held_out(numbers, ["loss"]) == request(**own, targets=numbers, measures=["loss"])
    assert whole.answers is whole.targets
    assert request(labels=LABELS).answers is LABELS


# one measure alone


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


# other names of layers


class Stream(nn.Module):
    """A block that is called three times; functions add to the stream; what a call returned is then worked on."""

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


def test_a_stream_whose_layers_are_worked_on_in_place_has_the_energies_of_the_layers():
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


@pytest.mark.parametrize("name", ["conv", "computed"])
def test_a_classifier_that_is_no_matrix_is_told(name):
    found = measure(Mapped(), X.float(), labels=LABELS, classifier=name, measures=["classifier"])
    assert found.attrs["left_out"] == f"classifier: {name} has no matrix of weights"
    with pytest.raises(ValueError, match="no layer 'mop:input'"):
        measure(Mapped(), X.float(), labels=LABELS, classifier="mop")


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


# gradients of many points, of maps that share their weights


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


def test_answers_of_some_points_are_theirs_or_all_where_they_are_too_few():
    values, places = np.arange(10, 17), np.array([0, 3, 6])
    assert of_points(values, places).tolist() == [10, 13, 16]
    assert of_points(values[:6], places) is not None
    assert of_points(values[:6], places).tolist() == list(range(10, 16))
    assert of_points(values, None) is values
    assert of_points(None, places) is None


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


def test_of_several_maps_each_is_told_whether_it_is_free_and_one_with_shared_weights_is_not():
    model = Tied().double()
    before = {name: (part, part.detach().clone()) for name, part in model.named_parameters()}
    eps = [part.eps for part in (model.norm, model.whole, model.root)]
    found = measure(model, X, measures=["radial"])
    assert found["normalized"].values.tolist() == ["free", "rooted", "shared"]
    assert np.isnan(found["radial_fraction"]).values.tolist() == [False, False, True]
    assert found.attrs["left_out"].startswith("radial (shared): not free: it also goes elsewhere, doubling its weights")
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
    assert first == "radial (free, rooted): its gradient: no loss today"
    assert second.startswith("radial (shared): not free: ")
    assert found["radial_fraction"].isnull().all()


class SideBySide(nn.Module):
    """A normalization of what a map takes, not of what it returns."""

    def __init__(self):
        super().__init__()
        self.map, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

    def forward(self, x):
        return self.map(x) + self.norm(x)


def test_networks_whose_maps_no_normalization_takes_are_told_where_they_have_one_or_are_asked():
    why = "radial: no linear or convolutional map goes straight into a normalization layer"
    normed = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.LayerNorm(4), nn.Linear(4, 3)).double()
    for model, measures, text in (
        (normed, None, why),
        (SideBySide().double(), None, why),
        (normed, ["radial", "ranks"], why),
        (normed, ["ranks"], ""),
        (network(), None, ""),
        (network(), ["ranks", "radial"], why),
    ):
        found = measure(model, X, measures=measures)
        assert found.attrs["left_out"] == text
        assert "radial_fraction" not in found
        recorder = Recorder(model, X, measures=measures)
        for step in range(3):
            recorder(step)
        assert recorder.dataset().attrs["left_out"] == text  # the same at every step


# held-out points


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
    assert found.attrs["left_out"] == "held-out points, all: interrupted after 2 of 4 layers"


def test_pairs_and_streams_are_of_the_points_alone_however_few_are_held_out():
    found = measure(
        network(), X, labels=LABELS, held_out=(X[:3], LABELS[:3]), pairs=[(7, 8)], residual=["0", "1"], classifier="2"
    )
    assert found.attrs["left_out"] == ""
    assert {str(name) for name in found.data_vars if str(name).startswith(("nc3", "kinetic", "pair_loss"))} == {
        "nc3", "kinetic_energy", "pair_loss",
    }  # fmt: skip


def test_reasons_of_the_points_come_before_those_of_held_out_ones():
    measures = ["ranks", "collapse", "accuracy"]
    own, other = (measure(network(), X[:size], ["0"], labels=LABELS[:size], measures=measures) for size in (9, 7))
    for first, second, text in (
        ("a: b", "c: d; e: f", "a: b; held-out points, c: d; e: f"),
        ("a: b", "", "a: b"),
        ("", "c: d", "held-out points, c: d"),
        ("", "", ""),
    ):
        both = beside(own.assign_attrs(left_out=first), other.assign_attrs(left_out=second))
        assert both.attrs["left_out"] == text
    assert both["label_held_out"].dims == ("point_held_out",)
    assert set(both["effective_rank_held_out"].coords) == {"layer"}
    unlabelled = beside(own, measure(network(), X[:5], ["0"], targets=X[:5, :3], measures=["ranks"]))
    assert "label_held_out" not in unlabelled.coords
    assert unlabelled.sizes["point_held_out"] == 5


def test_answers_of_held_out_points_are_arrays_whatever_holds_them():
    for answers in (torch.ones(3, requires_grad=True), [1.0, 1.0, 1.0], np.ones(3)):
        inputs, found = inputs_and_answers((X, answers))
        assert inputs is X
        assert isinstance(found, np.ndarray)
        assert found.tolist() == [1, 1, 1]
    for given, words in (([X, LABELS], "a list"), ((X,), "1 parts"), ({"a": X, "b": X}, "a dict")):
        with pytest.raises(ValueError, match=f"^held_out has {words}; give"):
            inputs_and_answers(given)
