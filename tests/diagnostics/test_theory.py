"""Numbers of the theory: neural collapse, costs, energies, angles and shapes at their limits."""

import tracemalloc

import numpy as np
import pytest
import torch
from tests.diagnostics.networks import network_of
from torch import nn

from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.methods.reader import Features
from repdyn.diagnostics.theory.angles import angles
from repdyn.diagnostics.theory.collapse import ClassMeans, class_means, classifier_collapse, collapse
from repdyn.diagnostics.theory.identity import costs, energies
from repdyn.diagnostics.theory.similarity import shape_of, similarities
from repdyn.diagnostics.theory.spectra import spectrum

K, D = 4, 6
LABELS = np.array([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 1, 1])  # classes of different sizes


def by_matrices(H, labels):
    """NC1 with Sigma_W and Sigma_B written out and numpy's pseudo-inverse."""
    classes = np.unique(labels)
    means = np.array([H[labels == c].mean(axis=0) for c in classes])
    centered = means - means.mean(axis=0)
    differences = H - means[np.searchsorted(classes, labels)]
    within, between = differences.T @ differences / len(H), centered.T @ centered / len(classes)
    return np.trace(within @ np.linalg.pinv(between, rcond=1e-10)) / len(classes)


@pytest.mark.parametrize("units", [2, 6, 30])
def test_nc1_is_the_trace_with_the_pseudo_inverse(units):
    H = np.random.default_rng(0).normal(size=(12, units)) + 3 * np.random.default_rng(1).normal(size=(4, units))[LABELS]
    assert collapse(H, LABELS)["nc1"] == pytest.approx(by_matrices(H, LABELS), rel=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_nc1_counts_no_direction_of_rounding(classes):
    """Means on a line have one direction; the others are rounding, and their inverse would be anything."""
    rng = np.random.default_rng(0)
    labels = np.arange(12) % classes
    H = 0.1 * rng.normal(size=(12, 5)) + 1.0
    for c in range(classes):
        H[labels == c] += c * np.array([1.0, 2.0, 0.5, -1.0, 3.0]) - H[labels == c].mean(axis=0)
    assert collapse(H, labels)["nc1"] == pytest.approx(by_matrices(H, labels), rel=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
def test_class_means_differ_by_rounding_up_to_one_of_each_point(sign):
    """A sum of n numbers is right to n roundings of the largest."""
    groups, eps = np.split(np.arange(100), 2), np.finfo(float).eps

    def centered(difference):
        return ClassMeans(np.arange(2), groups, sign * np.array([[1.0], [1.0 + difference]])).centered

    assert (centered(100 * eps) == 0).all()
    np.testing.assert_allclose(centered(400 * eps), sign * np.array([[-200 * eps], [200 * eps]]), rtol=0.01)


def test_nc1_does_not_change_under_linear_maps_and_the_ratio_of_traces_does():
    H = np.random.default_rng(0).normal(size=(12, 3)) + 2 * np.eye(4)[:, :3][LABELS]
    stretched = H * np.array([1.0, 5.0, 0.2])
    original, other = collapse(H, LABELS), collapse(stretched, LABELS)
    assert other["nc1"] == pytest.approx(original["nc1"], rel=1e-9)
    assert abs(other["within_over_between"] / original["within_over_between"] - 1) > 0.1


def test_a_collapsed_network_is_zero_in_all_four():
    simplex = np.eye(K) - 1 / K
    measures = collapse(simplex[LABELS], LABELS)
    decided = classifier_collapse(simplex[LABELS], LABELS, 3 * simplex, LABELS)
    for name in ("nc1", "equinorm", "equiangularity", "maximal_angle", "equiangle"):
        assert measures[name] == pytest.approx(0, abs=1e-12)
    for name in ("classifier_equinorm", "classifier_equiangularity", "classifier_maximal_angle", "nc3", "nc4"):
        assert decided[name] == pytest.approx(0, abs=1e-12)


def test_unequal_classes_points_count_alike_within_and_classes_between():
    """Means (0, 0), (6, 0), (0, 9) of 1, 2 and 4 points; two of the last class are nearer to another mean."""
    H = np.array([[6.0, 1], [-1, 15], [0, 0], [6, -1], [1, 15], [4, 2], [-4, 4]])
    labels = np.array([70, -3, 8, 70, -3, -3, -3])
    found = collapse(H, labels)
    within = (0 + 2 * 1 + 37 + 37 + 65 + 41) / 7
    between = np.mean([4 + 9, 16 + 9, 4 + 36])
    assert found["within"] == pytest.approx(within)
    assert found["between"] == pytest.approx(between)
    assert found["within_over_between"] == pytest.approx(within / between)
    assert found["nearest_mean_accuracy"] == pytest.approx(5 / 7)  # (4, 2) and (-4, 4) are nearer to other means
    means = class_means(H, labels)
    assert means.names.tolist() == [-3, 8, 70]
    assert [group.tolist() for group in means.groups] == [[1, 4, 5, 6], [2], [0, 3]]
    np.testing.assert_allclose(means.means, [[0, 9], [0, 0], [6, 0]])
    np.testing.assert_allclose(means.centered, [[-2, 6], [-2, -3], [4, -3]])


def test_nc2_of_class_means_and_of_the_classifiers_rows_by_hand():
    W = np.array([[2.0, 0, 0], [0, 1.0, 1.0], [-1.0, 0, 1.0], [0, -2.0, 0.5]])
    H = np.random.default_rng(0).normal(size=(12, 3)) + np.arange(4)[LABELS, None]
    measures = classifier_collapse(H, LABELS, W, LABELS)
    lengths = np.linalg.norm(W, axis=1)
    cosines = np.array([W[i] @ W[j] / lengths[i] / lengths[j] for i in range(4) for j in range(4) if i != j])
    assert measures["classifier_equinorm"] == pytest.approx(lengths.std() / lengths.mean())
    assert measures["classifier_equiangularity"] == pytest.approx(np.std(cosines))
    assert measures["classifier_maximal_angle"] == pytest.approx(np.mean(np.abs(cosines + 1 / 3)))
    of_means = collapse(np.repeat(W - W.mean(axis=0), 2, axis=0), np.repeat(np.arange(4), 2))
    of_rows = classifier_collapse(H, LABELS, W - W.mean(axis=0), LABELS)
    for name in ("equinorm", "equiangularity", "maximal_angle"):
        assert of_means[name] == pytest.approx(of_rows[f"classifier_{name}"])


def test_the_classifier_is_compared_with_its_input():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, K)).double()
    X = np.random.default_rng(0).normal(size=(12, 5))
    diagnostics = measure(model, X, labels=LABELS)
    with torch.no_grad():
        H, W = model[:2](torch.tensor(X)).numpy(), model[2].weight.numpy()
        decisions = model(torch.tensor(X)).numpy().argmax(axis=1)
    means = np.array([H[c == LABELS].mean(axis=0) for c in range(K)])
    centered = means - means.mean(axis=0)
    nc3 = np.sum((W / np.linalg.norm(W) - centered / np.linalg.norm(centered)) ** 2)
    nearest = np.array([np.argmin([np.linalg.norm(h - mean) for mean in means]) for h in H])
    assert float(diagnostics["nc3"]) == pytest.approx(nc3, rel=1e-9)
    assert float(diagnostics["nc4"]) == np.mean(nearest != decisions)
    named = measure(nn.Sequential(model, nn.Softmax(dim=1)), X, labels=LABELS, classifier="0.2")
    assert float(named["nc3"]) == pytest.approx(nc3, rel=1e-9)
    found = measure(nn.Sequential(model, nn.Softmax(dim=1)), X, labels=LABELS)
    assert (float(found["nc3"]), float(found["nc4"])) == (float(named["nc3"]), float(named["nc4"]))
    unknown = measure(nn.Sequential(model, Turned()), X, labels=LABELS)
    assert np.isnan(unknown["nc3"])


class Turned(nn.Module):
    """Something after the last map."""

    def __init__(self, turn=lambda logits: logits.flip(-1)):
        super().__init__()
        self.turn = turn

    def forward(self, logits):
        return self.turn(logits)


@pytest.mark.parametrize(
    ("turn", "last_map"),
    [
        (lambda logits: 8 * logits, "2"),
        (lambda logits: logits.log_softmax(dim=-1), "2"),
        (lambda logits: (3 * logits).softmax(dim=-1), "2"),
        (lambda logits: logits[:, :1].sigmoid()[:, 0], ""),  # other numbers than the map's
        (lambda logits: -logits, ""),
        (lambda logits: logits.relu(), ""),
        (lambda logits: logits.flip(-1), ""),
        (lambda logits: logits.abs(), ""),
    ],
)
def test_the_last_map_is_one_that_orders_the_outputs(turn, last_map):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 6), Turned(turn))
    assert measure(model, torch.randn(12, 5), measures=["ranks"]).attrs["last_map"] == last_map
    early = nn.Sequential(nn.Linear(5, 6), nn.Softmax(dim=1), nn.Linear(6, 6), nn.ReLU())  # a softmax within
    assert measure(early, torch.randn(12, 5), measures=["ranks"]).attrs["last_map"] == ""


def test_the_last_map_is_its_last_call_and_none_of_its_heads():
    @network_of(lambda: {"map": nn.Linear(4, 4)})
    def Twice(self, X):
        return self.map(self.map(X).relu()).softmax(dim=-1)

    torch.manual_seed(0)
    features = Features("pool", channels=-1, heads=2)
    found = measure(Twice(), torch.randn(12, 4), ["map", "map#2"], measures=["ranks"], features=features)
    assert found.attrs["last_map"] == "map#2"


def test_one_output_beyond_a_sigmoid_is_of_the_last_map():
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1), Turned(lambda logit: logit.sigmoid()[:, 0]))
    assert measure(model, torch.randn(12, 5), measures=["ranks"]).attrs["last_map"] == "2"


def test_a_thousand_classes_need_no_array_of_points_classes_and_units():
    rng = np.random.default_rng(0)
    labels = np.arange(2000) % 1000
    H = 4 * rng.normal(size=(1000, 64))[labels] + rng.normal(size=(2000, 64))
    tracemalloc.start()
    measures = collapse(H, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert measures["nearest_mean_accuracy"] > 0.99
    assert peak < 10 * (2000 * 1000 * 8)  # a few arrays of points x classes; points x classes x units is 64 of them


def test_three_points_have_one_angle_within_the_cluster_and_two_have_none():
    F = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 5.0]])
    assert angles(F, np.linalg.norm(F, axis=1)).intra == pytest.approx(np.pi / 4, abs=1e-15)
    assert np.isnan(angles(F[1:], np.linalg.norm(F[1:], axis=1)).intra)


def test_directions_of_zero_points_and_shapes_of_other_points_are_refused():
    with pytest.raises(ValueError, match="2 points"):
        angles(np.array([[1.0], [0.0], [0.0]]), np.array([1.0, 0.0, 0.0]))
    first, second = (shape_of(np.random.default_rng(0).normal(size=(n, 2))) for n in (4, 5))
    with pytest.raises(ValueError, match="4 and 5"):
        similarities(first, second)
    assert similarities(first, first)["cka"] == pytest.approx(1)


def test_a_step_between_layers_of_different_sizes_is_refused():
    with pytest.raises(ValueError, match=r"2.*3"):
        energies(np.ones((4, 2)), np.ones((4, 3)), step=0.5, Lt=1.0, gamma=0.1, bias=False)


@pytest.mark.parametrize(("points", "units"), [(12, 300), (12, 40), (30, 9)])
def test_costs_of_a_mirrored_layer_keep_their_digits(points, units):
    """A = [P, -P] with P >= 0 has S = [P, 0]: twice the rank, and twice the sum of s^2 / (s^2 + gamma s_1^2)."""
    rng = np.random.default_rng(0)
    scales = np.logspace(0, -5, min(points, units))  # a Gram matrix would keep six digits of the last one
    P = np.zeros((points, units))
    P[: len(scales), : len(scales)] = np.diag(scales)
    P[:, units // 2 :] += 0.1 * rng.random((points, 1)) * rng.random(units - units // 2)
    s = np.linalg.svd(P, compute_uv=False)
    A = np.hstack([P, -P])
    plain, stable = costs(A, spectrum(A), 1e-3, False)
    assert (plain.feasible, plain.value) == (True, pytest.approx(2 * len(scales), rel=1e-9))
    assert stable == pytest.approx(2 * np.sum(s**2 / (s**2 + 1e-3 * s[0] ** 2)), rel=1e-9)
    nowhere, missing = costs(-P, spectrum(-P), 1e-3, False)
    assert (nowhere.feasible, nowhere.value, nowhere.gap) == (False, np.inf, 1.0)
    assert np.isnan(missing)
