"""Each diagnostic against a computation of its own, from activations written down by hand."""

import copy

import numpy as np
import pytest
import torch
import xarray as xr
from tests.diagnostics.networks import effective_rank, network_of
from torch import nn
from torch.utils.checkpoint import checkpoint

from repdyn.base.datasets import problems
from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.theory.identity import Residual

N, CLASSES = 12, 3
EXACT = {"rtol": 1e-9, "atol": 1e-9}  # float64 sums over some dozen terms, and a condition number of some hundred
LABELS = np.arange(N) % CLASSES


def network() -> nn.Sequential:
    torch.manual_seed(1)
    layers = (nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 6), nn.Tanh(), nn.Linear(6, CLASSES))
    return nn.Sequential(*layers).double()


def points() -> np.ndarray:
    return np.random.default_rng(2).normal(size=(N, 5))


def by_hand(model: nn.Sequential, X: np.ndarray) -> dict[str, np.ndarray]:
    """Activations from the weights alone."""
    (W, b), (V, c), (U, d) = (
        (layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in model if isinstance(layer, nn.Linear)
    )
    z = X @ W.T + b
    h = np.maximum(z, 0)
    t = h @ V.T + c
    return {"input": X, "0": z, "1": h, "2": t, "3": np.tanh(t), "4": np.tanh(t) @ U.T + d}


@pytest.fixture(scope="module")
def measured():
    model = network()
    return measure(model, points(), labels=LABELS), by_hand(model, points())


def test_layers_are_all_leaves_with_the_input(measured):
    diagnostics, hand = measured
    assert list(diagnostics["layer"].values) == list(hand)
    np.testing.assert_array_equal(diagnostics["units"], [A.shape[1] for A in hand.values()])


def test_angles_and_odd_point(measured):
    diagnostics, hand = measured
    for name, A in hand.items():
        norms = np.linalg.norm(A, axis=1)
        cosines = (A / norms[:, None]) @ (A / norms[:, None]).T
        angles = np.arccos(np.clip(cosines, -1, 1))
        pairs = angles[np.triu_indices(N, 1)]
        here = diagnostics.sel(layer=name)
        # arccos keeps half of the digits near 0
        np.testing.assert_allclose(here["angle"], np.quantile(pairs, here["quantile"]), atol=1e-7)
        odd = int(np.argmax(norms))
        others = np.delete(np.arange(N), odd)
        assert int(here["odd_point"]) == odd
        np.testing.assert_allclose(here["norm"], norms, **EXACT)
        np.testing.assert_allclose(here["norm_ratio"], norms[odd] / norms[others].max(), **EXACT)
        np.testing.assert_allclose(here["odd_angle"], np.median(angles[odd, others]), atol=1e-7)
        rest = angles[np.ix_(others, others)][np.triu_indices(N - 1, 1)]
        np.testing.assert_allclose(here["intra_angle"], np.median(rest), atol=1e-7)


def test_ranks_and_orthogonality_gap(measured):
    diagnostics, hand = measured
    for name, A in hand.items():
        here, gram = diagnostics.sel(layer=name), A @ A.T
        s = np.sqrt(np.clip(np.linalg.eigvalsh(gram), 0, None))[::-1]
        s = s[: min(A.shape)]
        assert int(here["numerical_rank"]) == np.linalg.matrix_rank(A, tol=1e-6 * s[0])
        np.testing.assert_allclose(here["effective_rank"], effective_rank(A), rtol=1e-7)
        np.testing.assert_allclose(here["stable_rank"], np.sum(s**2) / s[0] ** 2, **EXACT)
        np.testing.assert_allclose(here["nuclear_rank"], np.sum(s) ** 2 / np.sum(s**2), rtol=1e-7)
        gap = np.linalg.norm(gram / np.trace(gram) - np.eye(N) / N)
        np.testing.assert_allclose(here["orthogonality_gap"], gap, **EXACT)
        np.testing.assert_allclose(here["centered_effective_rank"], effective_rank(A - A.mean(axis=0)), rtol=1e-7)


@pytest.mark.parametrize("bias", [False, True])
def test_cost_of_identity_is_that_of_the_least_weights(bias):
    model, X = network(), points()
    diagnostics = measure(model, X, bias=bias)
    for name, A in by_hand(model, X).items():
        S = np.hstack([np.maximum(A, 0), np.ones((N, int(bias)))])
        W, *_ = np.linalg.lstsq(S, A, rcond=1e-8)
        reached = np.linalg.norm(S @ W - A) < 1e-6 * np.linalg.norm(A)
        cost, gamma = float(diagnostics["cost_of_identity"].sel(layer=name)), 1e-3 * np.linalg.norm(S, 2) ** 2
        assert np.isfinite(cost) == reached
        if reached:
            np.testing.assert_allclose(cost, np.sum(W**2), rtol=1e-6)
        K = S @ S.T
        stable = np.trace(A.T @ np.linalg.solve(K + gamma * np.eye(N), A))
        np.testing.assert_allclose(diagnostics["stable_cost_of_identity"].sel(layer=name), stable, rtol=1e-8)


def test_classes(measured):
    diagnostics, hand = measured
    for name, A in hand.items():
        here = diagnostics.sel(layer=name)
        means = np.array([A[c == LABELS].mean(axis=0) for c in range(CLASSES)])
        within = np.mean(np.sum((A - means[LABELS]) ** 2, axis=1))
        centered = means - means.mean(axis=0)
        between = np.mean(np.sum(centered**2, axis=1))
        unit = centered / np.linalg.norm(centered, axis=1)[:, None]
        off = (unit @ unit.T)[~np.eye(CLASSES, dtype=bool)]
        np.testing.assert_allclose(here["within_over_between"], within / between, **EXACT)
        np.testing.assert_allclose(here["equiangle"], np.abs(off + 1 / (CLASSES - 1)).max(), **EXACT)
        nearest = [np.argmin([np.linalg.norm(a - m) for m in means]) for a in A]
        np.testing.assert_allclose(here["nearest_mean_accuracy"], np.mean(nearest == LABELS))
        for c in range(CLASSES):
            signs = A[c == LABELS] > 0
            sectors = [tuple(row) for row in signs]
            cell = here.sel({"class": c})
            np.testing.assert_allclose(cell["truncated_share"], 1 - signs.mean())
            np.testing.assert_allclose(cell["units_truncating_all"], np.mean([not column.any() for column in signs.T]))
            np.testing.assert_allclose(cell["units_passing_all"], np.mean([column.all() for column in signs.T]))
            np.testing.assert_allclose(cell["sectors"], len(set(sectors)) / len(sectors))
            np.testing.assert_allclose(cell["largest_sector"], max(map(sectors.count, sectors)) / len(sectors))


def test_pairs():
    model, X, Y = network(), points(), np.random.default_rng(3).normal(size=(N, CLASSES))
    diagnostics, hand = measure(model, X, targets=Y, pairs=[(0, 5), (3, 1)]), by_hand(model, X)
    for k, (i, j) in enumerate([(0, 5), (3, 1)]):
        dy, wanted = hand["4"][j] - hand["4"][i], Y[j] - Y[i]
        here = diagnostics.isel(pair=k)
        np.testing.assert_allclose(here["representation_distance"], [np.sum((A[j] - A[i]) ** 2) for A in hand.values()])
        np.testing.assert_allclose(here["prediction_distance"], dy @ dy)
        np.testing.assert_allclose(here["prediction_alignment"], dy @ dy - dy @ wanted)
        np.testing.assert_allclose(here["target_distance"], wanted @ wanted)
        np.testing.assert_allclose(here["input_distance"], np.sum((X[j] - X[i]) ** 2))
        loss = np.mean([np.sum((hand["4"][p] - Y[p]) ** 2) / 2 for p in (i, j)])
        np.testing.assert_allclose(here["pair_loss"], loss)
        cosine = hand["2"][i] @ hand["2"][j] / np.linalg.norm(hand["2"][i]) / np.linalg.norm(hand["2"][j])
        np.testing.assert_allclose(np.cos(here["pair_angle"].sel(layer="2")), cosine)


@pytest.mark.parametrize(
    ("wanted", "rank", "centered"),
    [
        (np.add([1.0, 2.0, 4.0], np.outer(np.arange(N), [1.0, 0.0, -3.0])), 2, 1),  # a line beside the origin
        (np.outer(np.arange(N) - (N - 1) / 2, [1.0, 0.0, -3.0]), 1, 1),  # a line whose middle is the origin
        (np.eye(CLASSES)[LABELS], CLASSES, CLASSES - 1),
    ],
)
def test_the_rank_of_the_task_with_and_without_the_mean_over_points(wanted, rank, centered):
    diagnostics = measure(network(), points(), targets=wanted, measures=["targets"])
    assert (int(diagnostics["task_rank"]), int(diagnostics["centered_task_rank"])) == (rank, centered)


def test_one_hot_labels_are_the_usual_targets(measured):
    diagnostics, hand = measured
    again = measure(network(), points(), targets=np.eye(CLASSES)[LABELS], pairs=[(0, 1), (0, 2), (1, 2)])
    np.testing.assert_array_equal(diagnostics["prediction_alignment"], again["prediction_alignment"])
    np.testing.assert_allclose(diagnostics["half_mse"], np.mean((hand["4"] - np.eye(CLASSES)[LABELS]) ** 2) / 2)
    np.testing.assert_allclose(diagnostics["accuracy"], np.mean(hand["4"].argmax(axis=1) == LABELS))


class Leaky(nn.Module):
    """A_l = (1 - Lt / L) A + W relu(A) / L."""

    def __init__(self, leak, layers=4):
        super().__init__()
        torch.manual_seed(4)
        self.maps = nn.ModuleList(nn.Linear(5, 5, bias=False) for _ in range(layers))
        self.blocks = nn.ModuleList(nn.Identity() for _ in range(layers))
        self.leak = leak

    def forward(self, x):
        L = len(self.maps)
        for layer, block in zip(self.maps, self.blocks, strict=True):
            x = block((1 - self.leak / L) * x + layer(torch.relu(x)) / L)
        return x


@pytest.mark.parametrize("leak", [0.0, 2.0])
@pytest.mark.parametrize("bias", [False, True])
def test_energies_of_a_residual_stream(leak, bias):
    model, X = Leaky(leak).double(), points()
    stream = Residual(["input", *(f"blocks.{i}" for i in range(4))], effective_depth=leak)
    diagnostics = measure(model, X, residual=stream, gamma=0.05, bias=bias)
    A = X
    for step, layer in enumerate(model.maps):
        S = np.maximum(A, 0)
        new = (1 - leak / 4) * A + S @ layer.weight.detach().numpy().T / 4
        K = S @ S.T + bias  # of a column of ones
        inverse = np.linalg.inv(K + 0.05 * np.linalg.norm(K, 2) * np.eye(N))
        moved, kept = (np.trace(M.T @ inverse @ M) for M in ((new - A) * 4, A))
        here = diagnostics.isel(step_from=step)
        np.testing.assert_allclose(here["kinetic_energy"], moved / 2 / (leak or 1), rtol=1e-8)
        np.testing.assert_allclose(here["potential_energy"], -leak / 2 * kept, rtol=1e-8)
        np.testing.assert_allclose(here["hamiltonian"], moved / 2 / (leak or 1) - leak / 2 * kept, rtol=1e-7)
        A = new


def test_a_step_whose_first_layer_is_not_measured_before_it_has_no_energies():
    """The stream's order is not the network's: the first step ends before it begins, the second starts at the input."""
    model, X = Leaky(0.0).double(), points()
    diagnostics = measure(model, X, residual=["blocks.1", "input", "blocks.2"])
    assert diagnostics["kinetic_energy"].isnull().all()
    assert all(start in diagnostics.attrs["left_out"] for start in ("blocks.1", "input"))


def test_steps_of_a_stream_have_the_given_sizes():
    model, X, steps = Leaky(0.0).double(), points(), [0.1, 0.2, 0.3, 0.4]
    names = ["input", *(f"blocks.{i}" for i in range(4))]
    equal, own = (measure(model, X, residual=Residual(names, steps=sizes)) for sizes in (None, steps))
    assert Residual(names, steps=steps).step_sizes == steps
    assert Residual(["a", "b", "c"], steps=[0.25, 0.75 + 5e-10]).step_sizes == pytest.approx([0.25, 0.75])
    np.testing.assert_allclose(own["kinetic_energy"], equal["kinetic_energy"] * (0.25 / np.array(steps)) ** 2)


WANTED = np.random.default_rng(6).normal(size=(N, CLASSES))
LOSSES = {
    "own of outputs and labels": (
        {"labels": LABELS, "loss": nn.CrossEntropyLoss()},
        lambda output: nn.functional.cross_entropy(output, torch.tensor(LABELS)),
    ),
    "own": ({"loss": lambda output: 7 * output.pow(4).mean()}, lambda output: output.pow(4).mean()),
    "labels": ({"labels": LABELS}, lambda output: nn.functional.cross_entropy(output, torch.tensor(LABELS))),
    "targets": ({"targets": WANTED}, lambda output: (output - torch.tensor(WANTED)).pow(2).mean()),
    "targets and labels": (
        {"targets": WANTED, "labels": LABELS},
        lambda output: (output - torch.tensor(WANTED)).pow(2).mean(),
    ),
    "none": ({}, lambda output: output.pow(2).mean()),
}


@pytest.mark.parametrize("case", LOSSES)
def test_radial_fractions_are_those_of_the_rows_of_the_gradient(case):
    """An eps as large as the variance leaves a gradient that is not orthogonal to the weights."""
    torch.manual_seed(7)
    layers = (nn.Linear(5, 8), nn.BatchNorm1d(8, eps=0.5), nn.Tanh(), nn.Linear(8, CLASSES))
    model, X = nn.Sequential(*layers).double().train(), points()
    options, loss = LOSSES[case]
    diagnostics = measure(model, X, batch_statistics=True, **options)
    loss(model(torch.tensor(X))).backward()
    weights, slopes = (part.detach().numpy() for part in (model[0].weight, model[0].weight.grad))
    rows = np.abs(np.sum(weights * slopes, axis=1))
    rows /= np.linalg.norm(weights, axis=1) * np.linalg.norm(slopes, axis=1)
    assert rows.min() > 1e-4
    np.testing.assert_allclose(diagnostics["radial_fraction"], [np.median(rows)], rtol=1e-9)
    np.testing.assert_allclose(diagnostics["largest_radial_fraction"], [np.max(rows)], rtol=1e-9)


def test_layer_norm_frees_weights_and_bias_together():
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8, eps=1e-12), nn.Tanh(), nn.Linear(8, 2)).double()
    X = points()
    model(torch.tensor(X)).pow(2).mean().backward()
    first = model[0]
    along = (first.weight * first.weight.grad).sum() + (first.bias * first.bias.grad).sum()
    size = (first.weight.grad.pow(2).sum() + first.bias.grad.pow(2).sum()).sqrt()
    alone = abs((first.weight * first.weight.grad).sum()) / first.weight.norm() / first.weight.grad.norm()
    diagnostics = measure(model, X)
    assert list(diagnostics["normalized"].values) == ["0"]
    # rounding of the gradient, against a gradient that is not orthogonal to the weights without the bias
    assert abs(along / size) < 1e-10
    assert float(diagnostics["radial_fraction"][0]) < 1e-10
    assert alone > 1e-3


class Cut(nn.Module):
    """A normalized map whose gradient does not arrive."""

    def __init__(self, way):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last, self.way = nn.Linear(5, 6), nn.Linear(6, 3), way
        self.block = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Tanh())

    def forward(self, x):
        x = self.first(x)
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.way != "no_grad"):
            y = checkpoint(self.block, x, use_reentrant=True) if self.way == "reentrant" else self.block(x)
        return self.last(x + {"detach": y.detach(), "does not depend": 0 * y.detach()}.get(self.way, y))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("way", ["reentrant", "no_grad", "detach", "does not depend"])
def test_a_gradient_that_does_not_arrive_has_its_true_reason(way):
    found = measure(Cut(way), points(), labels=np.arange(len(points())) % 3, measures=["radial"])
    assert np.isnan(found["radial_fraction"].values).all()
    assert way in found.attrs["left_out"]


def test_a_map_that_is_not_normalized_has_no_radial_fraction():
    @network_of(lambda: {"first": nn.Linear(5, 5), "norm": nn.LayerNorm(5), "second": nn.Linear(5, 2)})
    def Residual(self, x):
        return self.second(self.norm(x + self.first(x)))

    assert "radial_fraction" not in measure(Residual(), points())


def test_the_dataset_is_complete(measured):
    assert not [problem for problem in problems(measured[0]) if not problem.startswith("attribute")]


# what stays the same when a layer is scaled or rotated


def test_scale_changes_nothing_but_lengths():
    X = points()
    original, other = (measure(nn.Identity(), factor * X, ["input"], labels=LABELS) for factor in (1.0, 1e3))
    for name in original.data_vars:
        power = {"norm": 1, "within": 2, "between": 2, "representation_distance": 2, "input_distance": 2}.get(name, 0)
        if name not in ("prediction_distance", "prediction_alignment", "pair_loss", "half_mse", "loss"):
            np.testing.assert_allclose(other[name], original[name] * 1e3**power, rtol=1e-7, err_msg=name)


def test_rotation_changes_only_numbers_that_depend_on_the_basis():
    X = points()
    Q, _ = np.linalg.qr(np.random.default_rng(8).normal(size=(5, 5)))
    original, other = (measure(nn.Identity(), A, ["input"], labels=LABELS) for A in (X, X @ Q))
    basis_matters = {"cost_of_identity", "stable_cost_of_identity", "identity_gap", "accuracy", "half_mse", "loss"}
    basis_matters |= {"pair_loss"}
    basis_matters |= {"truncated_share", "units_truncating_all", "units_passing_all", "sectors", "largest_sector"}
    for name in set(original.data_vars) - basis_matters - {"prediction_alignment"}:
        np.testing.assert_allclose(other[name], original[name], rtol=1e-7, atol=1e-9, err_msg=name)


def test_order_of_points_does_not_matter():
    X, order = points(), np.random.default_rng(9).permutation(N)
    original = measure(network(), X, labels=LABELS, pairs=[(0, 1)])
    other = measure(network(), X[order], labels=LABELS[order], pairs=[(list(order).index(0), list(order).index(1))])
    for name in set(original.data_vars) - {"odd_point", "norm"}:
        np.testing.assert_allclose(other[name], original[name], rtol=1e-6, atol=1e-9, err_msg=name)


# the network comes back as it was


class Ordinary(nn.Module):
    """Dropout, running statistics, in-place activations, one activation module used twice."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(10)
        self.first, self.norm, self.act = nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True)
        self.drop, self.second, self.last = nn.Dropout(0.5), nn.Linear(8, 8), nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.last(self.drop(self.act(self.second(self.act(self.norm(self.first(x)))))))


@pytest.mark.parametrize("batch_statistics", [False, True])
def test_nothing_about_the_network_changes(batch_statistics):
    model = Ordinary().train()
    model.drop.eval()
    model(torch.tensor(points()).float()).sum().backward()
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    slopes = [part.grad.clone() for part in model.parameters()]
    measure(model, points(), labels=LABELS, batch_statistics=batch_statistics)
    assert [module.training for module in model.modules()] == [True, True, True, True, False, True, True]
    assert all(torch.equal(before[name], part) for name, part in model.state_dict().items())
    assert all(torch.equal(part.grad, slope) for part, slope in zip(model.parameters(), slopes, strict=True))
    assert all(part.requires_grad for part in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_the_network_comes_back_after_an_error_too():
    model = Ordinary().train()
    with pytest.raises(ValueError, match=r"\(4, 9\)"):
        measure(model, np.random.default_rng(0).normal(size=(4, 9)))
    assert all(module.training for module in model.modules())
    assert not any(module._forward_hooks for module in model.modules())


def test_evaluation_and_batch_statistics():
    model, X = Ordinary().double(), points()
    z = X @ model.first.weight.detach().numpy().T + model.first.bias.detach().numpy()
    running = z / np.sqrt(1 + 1e-5)  # nothing seen yet: mean 0, variance 1
    batch = (z - z.mean(axis=0)) / np.sqrt(z.var(axis=0) + 1e-5)
    for normalized, flag in ((running, False), (batch, True)):
        norms = measure(model, X, ["norm"], batch_statistics=flag)["norm"].values[0]
        np.testing.assert_allclose(norms, np.linalg.norm(normalized, axis=1), rtol=1e-12)


def test_in_place_and_repeated_modules_are_separate_layers():
    diagnostics = measure(Ordinary(), points())
    assert list(diagnostics["layer"].values) == ["input", "first", "norm", "act", "second", "act#2", "drop", "last"]
    assert float(diagnostics["norm"].sel(layer="norm").sum()) > float(diagnostics["norm"].sel(layer="act").sum())


# layers and points that are degenerate


def test_dead_points_and_dead_layers():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2), nn.ReLU()).double()
    with torch.no_grad():
        for layer in (model[0], model[2]):
            layer.weight.copy_(torch.eye(2))
            layer.bias.zero_()
        model[2].bias.fill_(-9.0)
    X = np.array([[1.0, 2.0], [-1.0, -1.0], [2.0, -1.0], [0.5, 0.5]])
    diagnostics = measure(model, X, labels=[0, 0, 1, 1])
    np.testing.assert_array_equal(diagnostics["zero_points"], [0, 0, 1, 0, 4])
    np.testing.assert_array_equal(diagnostics["constant"], [0, 0, 0, 0, 1])
    assert np.isnan(diagnostics["odd_angle"].sel(layer="1")).all()
    assert float(diagnostics["effective_rank"].sel(layer="1")) > 1
    np.testing.assert_allclose(diagnostics["norm_ratio"].sel(layer="1"), np.sqrt(5) / 2)
    assert np.isnan(diagnostics["cost_of_identity"].sel(layer="2"))
    np.testing.assert_array_equal(diagnostics[["numerical_rank", "cost_of_identity"]].sel(layer="3").to_array(), [0, 0])
    assert np.isnan(diagnostics["within_over_between"].sel(layer="3"))


# through training


def test_recorder_follows_training():
    model, X = network(), torch.tensor(points())
    recorder = Recorder(model, X, labels=LABELS, time="epoch")
    descent = torch.optim.SGD(model.parameters(), lr=0.5)
    alone = []
    for epoch in range(4):
        recorder(epoch)
        alone.append(measure(model, X, labels=LABELS))
        descent.zero_grad()
        nn.functional.cross_entropy(model(X), torch.tensor(LABELS)).backward()
        descent.step()
    dataset = recorder.dataset()
    assert dict(dataset.sizes)["epoch"] == 4
    assert dataset["epoch"].attrs["units"] == "1"
    for epoch, moment in enumerate(alone):
        for name in moment.data_vars:
            here = dataset[name].isel(epoch=epoch) if "epoch" in dataset[name].dims else dataset[name]
            np.testing.assert_array_equal(here, moment[name], err_msg=name)
            assert here.attrs == moment[name].attrs
    assert float(dataset["accuracy"][-1]) >= float(dataset["accuracy"][0])
    assert "epoch" not in dataset["input_distance"].dims


# what is measured stays as it was


def test_the_layer_of_embeddings_is_recorded_before_it_is_changed_in_place():
    torch.manual_seed(0)
    X, labels = torch.randn(12, 4), np.arange(12) % 3
    first = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    in_place = nn.Sequential(first[0], nn.ReLU(inplace=True), first[2])
    wanted, found = (measure(model, X, labels=labels, embeddings="0") for model in (first, in_place))
    xr.testing.assert_equal(found.drop_attrs(), wanted.drop_attrs())
