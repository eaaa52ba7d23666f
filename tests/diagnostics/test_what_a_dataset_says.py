"""Attributes, coordinates and reasons of a measured dataset, where all sizes and names differ."""

import numpy as np
import pytest
import torch
from tests.diagnostics.test_held_out import Graphs, graphs
from torch import nn

from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.measure import Recorder, measure, names
from repdyn.diagnostics.methods.features import Features

X = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
LABELS = np.array([5, 5, 2, 7, 2, 7, -100, 2, 5])


def network():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 3))


def test_a_dataset_says_how_it_was_measured():
    labels = np.where(LABELS < 0, LABELS, LABELS % 3)
    found = measure(network(), X, labels=labels, residual=["0", "2", "3"], gamma=0.02, bias=True)
    assert found.attrs["title"] == "Diagnostics of Sequential on 9 points"
    assert (found.attrs["gamma"], found.attrs["identity_with_bias"]) == (0.02, 1)
    assert found.attrs["normalized_by"] == "running statistics, as in evaluation"
    assert found.attrs["last_map"] == "4"
    assert found["step_from"].values.tolist() == ["0", "2"]
    assert found["label"].values.tolist() == labels.tolist()
    assert found["class"].values.tolist() == [1, 2]
    assert found["pair"].values.tolist() == ["0-3"]  # the first points of both classes
    units = {"angle": "rad", "input_distance": "input^2", "prediction_distance": "output^2", "nc1": "1"}
    assert {name: found[name].attrs["units"] for name in units} == units
    plain = measure(network(), X, batch_statistics=True, classifier="2", measures=["ranks"])
    assert (plain.attrs["identity_with_bias"], plain.attrs["normalized_by"]) == (0, "batch statistics")
    assert plain.attrs["last_map"] == "2"


def test_the_stable_cost_follows_its_regularizer_and_bias():
    costs = [
        measure(network(), X, ["1"], gamma=gamma, bias=bias, measures=["cost_of_identity"])["stable_cost_of_identity"]
        for gamma, bias in ((1e-3, False), (0.3, False), (0.3, True))
    ]
    with torch.no_grad():
        A = network()[:2](X).double().numpy()
    for cost, gamma, bias in zip(costs, (1e-3, 0.3, 0.3), (False, False, True), strict=True):
        K = np.maximum(A, 0) @ np.maximum(A, 0).T + bias
        regular = K + gamma * np.linalg.eigvalsh(K)[-1] * np.eye(len(K))
        assert float(cost.item()) == pytest.approx(np.trace(A.T @ np.linalg.solve(regular, A)), rel=1e-6)


@pytest.mark.parametrize("in_file", [False, True])
def test_time_of_a_recording_has_the_name_and_unit_that_were_given(in_file, tmp_path):
    file = tmp_path / "recorded.nc" if in_file else None
    recorder = Recorder(network(), X, ["0"], time="hour", units="h", file=file, measures=["ranks"])
    with pytest.raises(ValueError, match=r"nothing was recorded; call recorder\(hour\) during training"):
        recorder.dataset()
    recorder(2.5)
    recorder(4.0)
    found = recorder.dataset()
    assert found["hour"].values.tolist() == [2.5, 4.0]
    assert (found["hour"].attrs["units"], found["hour"].attrs["long_name"]) == ("h", "hour of training")
    assert found.attrs["time"] == "hour"
    with pytest.raises(ValueError, match=r"hour 3 comes after 4\.0; .* call rewind\(3\) where"):
        recorder(3)
    with pytest.raises(ValueError, match=r"hour 4\.0 comes after 4\.0"):
        recorder(4.0)


class Losing(nn.Module):
    """Loses three numbers of the second point."""

    def forward(self, x):
        lost = torch.zeros_like(x)
        lost[1, :3] = torch.nan
        return x + lost


def test_numbers_that_are_lost_are_counted_among_those_of_the_layer():
    found = measure(nn.Sequential(nn.Linear(4, 5), Losing()), X, measures=["ranks"])
    assert "layer (1): 3 of 45 values are NaN or infinite" in found.attrs["left_out"]


def test_a_stream_of_other_sizes_is_told_layer_by_layer():
    with pytest.raises(ValueError, match=r"different sizes \(0: 6, 4: 3\); name layers of one size"):
        measure(network(), X, residual=["0", "4"])


def test_labels_that_are_not_the_places_of_the_classifier_are_told_with_its_rows():
    found = measure(network(), X, labels=np.where(LABELS < 0, -100, LABELS % 3), measures=["classifier"])
    assert "the labels are not 0 .. 2, a point of each of the classifier's classes at least" in found.attrs["left_out"]


def test_comparisons_say_of_what_they_are():
    itself, other = compare(network(), None, X, ["0"]), compare(network(), network(), X, ["0"], other_layers=["2"])
    assert itself.attrs["title"] == "Similarity of Sequential to itself"
    assert other.attrs["title"] == "Similarity of Sequential to another network"
    assert (other["layer"].values.tolist(), other["other_layer"].values.tolist()) == (["0"], ["2"])
    assert other["layer"].attrs["long_name"] == "layer of the first network"
    assert other["other_layer"].attrs["long_name"] == "layer of the second network"
    runs = compare(network(), network(), X, ["0", "2"], reruns=[network(), network()], intervals=True)
    assert runs["runs"].values.tolist() == ["0-1", "0-2", "1-2"]
    assert runs["cka_low"].attrs["long_name"] == "linear CKA, biased, lower end of its 99 % interval"
    assert runs["cka_of_runs"].attrs["long_name"] == "linear CKA, biased, same layer in two runs"
    assert (runs["angular"].attrs["units"], runs["cka"].attrs["units"]) == ("rad", "1")
    assert compare(network(), None, X, ["0"], reruns=[network()]).attrs["title"] == "Similarity of Sequential to itself"
    for name in ("cka", "procrustes"):
        assert (
            runs[f"{name}_high"].attrs["long_name"]
            == f"{runs[name].attrs['long_name']}, upper end of its 99 % interval"
        )
        low, high = runs[f"{name}_low"], runs[f"{name}_high"]
        assert bool(((low <= runs[name]) & (runs[name] <= high)).all())


def test_layers_that_cannot_be_compared_are_told_with_their_network():
    constant = network()
    with torch.no_grad():
        constant[0].weight.zero_()
    found = compare(network(), constant, X, ["0", "2"], reruns=[constant])
    why = "all points are the same in this layer, which has no shape to compare"
    assert found.attrs["left_out"] == "; ".join(
        f"{place}, {name}: {why}" for place in ("other", "rerun 0") for name in ("0", "2")
    )
    assert found["cka"].isnull().all()


SOURCES = {
    "cka": "Kornblith, Norouzi, Lee, Hinton 2019",
    "cka_debiased": "Song, Smola, Gretton, Bedo, Borgwardt 2012",
    "procrustes": "Schonemann 1966",
    "angular": "Williams, Kunz, Kornblith, Linderman 2021",
    "cka_minibatch": "Nguyen, Raghu, Kornblith 2021",
    "cka_rbf": "Kornblith, Norouzi, Lee, Hinton 2019",
    "rsa": "Kriegeskorte, Mur, Bandettini 2008",
}


def test_every_measure_of_similarity_has_its_source_and_its_reason():
    found = compare(network(), None, X, ["0", "2"], measures=list(SOURCES), reruns=[network()], intervals=True)
    assert set(found.data_vars) == {
        f"{name}{end}{of}" for name in SOURCES for end in ("", "_low", "_high") for of in ("", "_of_runs")
    }
    for name, values in found.data_vars.items():
        measure_of = max((known for known in SOURCES if str(name).startswith(known)), key=len)
        assert values.attrs["source"] == SOURCES[measure_of], name
        assert values.attrs["missing"] == "the layer could not be compared, for the reason in `left_out`"
        assert values.attrs["units"] == ("rad" if measure_of == "angular" else "1")


def test_all_that_wants_all_pairs_is_named(monkeypatch):
    monkeypatch.setattr("repdyn.diagnostics.compare.MOST_POINTS", 5)
    with pytest.raises(ValueError, match=r"^cka_rbf and rsa and intervals: of 5 points at most; give most_points=5 or"):
        compare(network(), None, X, measures=["rsa", "cka", "cka_rbf"], intervals=True, most_points=9)


class Branching(nn.Module):
    """A map of what goes in, and two branches, of which one returns no row per point; it may lose its weights."""

    def __init__(self, *, constant=False):
        super().__init__()
        self.a, self.lost, self.b = nn.Linear(4, 6), Summed(), nn.Linear(6, 3)
        if constant:
            nn.init.zeros_(self.a.weight)

    def forward(self, x):
        hidden = self.a(x)
        self.lost(hidden)
        return self.b(hidden)


class Summed(nn.Module):
    def forward(self, x):
        return x.sum(dim=0)


NO_ROW = "it returns shape (6,) for 3 points, which is no row per point"
SAME = "all points are the same in this layer, which has no shape to compare"


@pytest.mark.parametrize("measures", [["cka"], ["cka_minibatch"], ["cka", "cka_minibatch"]])
@pytest.mark.parametrize("most", [1000, 5])
def test_layers_that_are_left_out_are_told_of_every_network_kept_or_streamed(monkeypatch, most, measures):
    monkeypatch.setattr("repdyn.diagnostics.compare.MOST_POINTS", most)
    found = compare(
        Branching(), Branching(constant=True), X, reruns=[Branching(), Branching(constant=True)],
        measures=measures, most_points=9,
    )  # fmt: skip
    assert found["layer"].values.tolist() == found["other_layer"].values.tolist() == ["input", "a", "b"]
    alone = most == 5 and measures == ["cka_minibatch"]
    same = SAME.replace("points are", "points of each minibatch are") if alone else SAME
    assert sorted(found.attrs["left_out"].split("; ")) == sorted(
        [f"{place}, lost: {NO_ROW}" for place in ("one", "other")]
        + [f"{place}, {name}: {same}" for place in ("other", "rerun 1") for name in "ab"]
    )
    for name in measures:
        assert found[name].isnull().values.tolist() == [[False, True, True]] * 3
        of_runs = found[f"{name}_of_runs"].isnull()
        assert of_runs["runs"].values.tolist() == ["0-1", "0-2", "1-2"]
        assert of_runs.values.tolist() == [[False] * 3, [False, True, True], [False, True, True]]


def test_layers_of_points_and_of_tokens_are_not_compared_with_each_other():
    class Pooled(nn.Module):
        def forward(self, x):
            return x.mean(dim=1)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), Pooled(), nn.Linear(6, 3))
    tokens = torch.randn(9, 2, 4)

    def rows(_name, tensor):
        return tensor.flatten(0, 1) if tensor.ndim == 3 else tensor

    found = compare(model, None, tokens, features=rows, measures=["cka"])
    assert found["layer"].values.tolist() == ["input", "0", "1", "2"]
    assert found["cka"].isnull().values.tolist() == [[False] * 2 + [True] * 2] * 2 + [[True] * 2 + [False] * 2] * 2


@pytest.mark.parametrize("most", [1000, 5])
def test_graphs_are_kept_however_many_they_are(monkeypatch, most):
    """One batch of graphs cannot be cut, so that it is not streamed."""
    monkeypatch.setattr("repdyn.diagnostics.compare.MOST_POINTS", most)
    found = compare(Graphs(), None, graphs(9), ["last"], measures=["cka", "rsa"], most_points=9)
    assert found.attrs["left_out"] == ""
    np.testing.assert_allclose([found["cka"].item(), found["rsa"].item()], 1, rtol=1e-6)


def test_masked_tokens_are_counted_by_the_mask():
    mask = np.ones((9, 2), bool)
    mask[3:5, 1] = False
    features = Features("tokens", channels=-1, mask=mask)
    found = measure(nn.Linear(2, 5), X.reshape(9, 2, 2), features=features, measures=["ranks", "angles"])
    assert found.attrs["title"] == "Diagnostics of Linear on 16 points"
    assert found.sizes["point"] == 16


def test_names_are_those_of_layers_with_a_row_per_point():
    class Twice(nn.Module):
        """One map, called two times, between two that are called once."""

        def __init__(self):
            super().__init__()
            self.first, self.again, self.branching = nn.Linear(4, 4), nn.Linear(4, 4), Branching()

        def forward(self, x):
            return self.branching(self.again(torch.relu(self.again(self.first(x)))))

    wanted = ["input", "first", "again", "relu", "again#2", "branching.a", "branching.b", "branching", "output"]
    assert names(Twice(), X) == wanted


def test_targets_may_be_what_another_network_returns():
    torch.manual_seed(5)
    teacher = network()(X)
    assert teacher.requires_grad
    found, wanted = (measure(network(), X, targets=part, measures=["loss"]) for part in (teacher, teacher.detach()))
    assert float(found["loss"]) == float(wanted["loss"])


def test_batch_statistics_take_all_points_in_one_batch():
    with pytest.raises(ValueError, match="batch_statistics normalizes by all points at once; give them in one batch"):
        measure(network(), X, batch_statistics=True, batch_size=4)
    loader = torch.utils.data.DataLoader(X, batch_size=9)
    assert measure(network(), loader, batch_statistics=True).attrs["normalized_by"] == "batch statistics"
