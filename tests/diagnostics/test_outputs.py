"""The recorded loss is the one that the training minimizes; labels of rows."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods import measures
from repdyn.diagnostics.methods.reader import Features

torch.manual_seed(0)
LABELS = torch.arange(24) % 3
X = torch.randn(24, 4) + torch.eye(4)[LABELS] * 2
ENTROPY = nn.functional.cross_entropy


def classifier():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))


@pytest.mark.parametrize("own", [None, ENTROPY, nn.CrossEntropyLoss()])
def test_the_loss_of_a_classifier_is_its_cross_entropy_all_through_training(own):
    model = classifier()
    recorder = Recorder(model, X, [], labels=LABELS, measures=["loss", "targets"], loss=own)
    optimizer, losses = torch.optim.Adam(model.parameters(), 0.03), []
    for step in range(201):
        loss = ENTROPY(model(X), LABELS)
        if step % 50 == 0:
            recorder(step)
            losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    recorded = recorder.dataset()
    np.testing.assert_allclose(recorded["loss"], losses, atol=1e-6)
    assert losses[0] > 0.5
    assert losses[-1] < 0.01
    assert (recorded["loss"].diff("step") < 0).all()
    assert recorded["half_mse"][-1] > recorded["half_mse"][0]  # why squared error is another thing


def test_targets_have_half_the_mean_squared_error_with_labels_or_without():
    model, Y = classifier(), torch.randn(24, 3)
    expected = (model(X) - Y).square().mean().item() / 2
    for labels in (None, LABELS):
        found = measure(model, X, [], labels=labels, targets=Y)
        np.testing.assert_allclose(found["loss"], expected, rtol=1e-6)


class Picture(nn.Module):
    """Points first or second, an image each."""

    def __init__(self, axis):
        super().__init__()
        self.axis = axis

    def forward(self, x):
        return (x[:, :, None] * x[:, None]).movedim(0, self.axis)


@pytest.mark.parametrize(
    "options", [{}, {"batch_size": 7}, {"features": Features("pool", channels=1), "batch_size": 7}]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_the_users_loss_gets_the_output_in_its_shape(options, axis):
    shapes = []

    def loss(output):
        shapes.append(output.shape)
        return (output - 1).abs().mean()

    found = measure(Picture(axis), X, measures=["loss"], loss=loss, **options)
    assert shapes == [Picture(axis)(X).shape]
    np.testing.assert_allclose(found["loss"], (Picture(0)(X) - 1).abs().mean(), rtol=1e-6)


def test_the_users_loss_of_targets_and_a_loader():
    loader = DataLoader(TensorDataset(X, X[:, :3]), batch_size=10)
    found = measure(model := classifier(), loader, [], loss=nn.functional.l1_loss)
    np.testing.assert_allclose(found["loss"], (model(X) - X[:, :3]).abs().mean().item(), rtol=1e-6)
    normed = nn.Sequential(nn.Linear(4, 5), nn.LayerNorm(5, eps=1e-9), nn.Linear(5, 3))
    found = measure(normed, loader, [], loss=nn.functional.l1_loss)  # its gradient is of the first batch
    assert found["radial_fraction"].item() < 1e-3


@pytest.mark.parametrize(
    ("loss", "why"), [(lambda output, _: output.sum() * np.nan, "NaN"), (lambda output, _: output.sum(1), "(24,)")]
)
def test_a_loss_that_is_no_number_is_left_out(loss, why):
    found = measure(classifier(), X, [], labels=LABELS, measures=["loss"], loss=loss)
    assert np.isnan(found["loss"])
    assert why in found.attrs["left_out"]


def test_a_large_vocabulary_needs_no_square_array():
    torch.manual_seed(2)
    model, tokens = nn.Linear(4, 60_000), torch.randint(60_000, (24,))
    found = measure(model, X, [], labels=tokens, measures=["loss", "accuracy"])
    np.testing.assert_allclose(found["loss"], ENTROPY(model(X), tokens).item(), rtol=1e-5)


@pytest.mark.parametrize("masked", [False, True])
def test_targets_of_tokens_are_compared_token_by_token(masked):
    torch.manual_seed(4)
    model, points = nn.Linear(3, 2).double(), torch.randn(5, 4, 3, dtype=torch.float64)
    targets, mask = torch.randn(5, 4, 2, dtype=torch.float64), np.arange(4) < np.array([1, 4, 2, 3, 4])[:, None]
    features = Features("tokens", channels=-1, mask=mask if masked else None)
    wanted = targets[torch.from_numpy(mask)] if masked else targets
    found = measure(model, points, targets=wanted, measures=["loss", "targets"], features=features)
    error = (model(points) - targets).pow(2)
    error = (error[torch.from_numpy(mask)] if masked else error).mean().item() / 2
    np.testing.assert_allclose([found["loss"], found["half_mse"]], error, rtol=1e-12)


def test_a_random_loss_leaves_the_random_state_alone():
    model, state = classifier(), torch.get_rng_state()
    measure(model, X, measures=["loss"], loss=lambda output: nn.functional.dropout(output, 0.5).mean())
    assert torch.equal(torch.get_rng_state(), state)


MASK = np.array([[True, True, False], [True, False, False]])


def test_each_row_has_the_label_of_its_point_or_token():
    for arguments, wanted in (
        (([0, 1, 1], 3, 1, None), [0, 1, 1]),
        (([-100, 0, 1], 3, 1, None), [-100, 0, 1]),
        ((np.array([0, 1], np.uint8), 2, 1, None), [0, 1]),
        (([0, 1], 2, 3, None), [0, 0, 0, 1, 1, 1]),
        (([[0, 1, 2], [1, 0, 2]], 2, 3, None), [0, 1, 2, 1, 0, 2]),
        (([0, 1], 2, 3, MASK), [0, 0, 1]),
        (([[0, 1, 2], [2, 0, 1]], 2, 3, MASK), [0, 1, 2]),
    ):
        labels = measures.labels_of_rows(*arguments)
        assert (labels.dtype, labels.tolist()) == (np.int64, wanted)


def entropy_of(z, labels):
    """Cross-entropy of logits in double precision, by its definition."""
    z = np.asarray(z, float)
    return float(np.mean(np.log(np.exp(z - z.max(1, keepdims=True)).sum(1)) + z.max(1) - z[np.arange(len(z)), labels]))


@pytest.mark.parametrize("tail", [nn.Softmax(1), nn.LogSoftmax(1), nn.Identity()])
def test_the_loss_of_probabilities_is_that_of_their_logits(tail):
    logits = classifier()
    found = measure(nn.Sequential(*logits, tail), X, [], labels=LABELS, measures=["loss", "accuracy"])
    expected = logits(X).detach().double().numpy()
    np.testing.assert_allclose(found["loss"], entropy_of(expected, LABELS), rtol=1e-6)
    assert found["accuracy"] == np.mean(expected.argmax(1) == LABELS.numpy())


def test_a_probability_rounded_to_zero_has_no_logarithm():
    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(1))
    with torch.no_grad():
        model[0].weight.mul_(1e4)
    found = measure(model, X, [], labels=LABELS, measures=["loss"])
    assert np.isnan(found["loss"])
    assert "rounded to 0" in found.attrs["left_out"]


@pytest.mark.parametrize("tail", ["sigmoid", "hardsigmoid", "logsigmoid"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_sigmoid_of_each_class_has_an_accuracy_and_no_cross_entropy(tail, outputs):
    class Ending(nn.Module):
        def __init__(self):
            super().__init__()
            self.map = nn.Linear(4, outputs)
            self.tail = nn.LogSigmoid() if tail == "logsigmoid" else getattr(nn.functional, tail)

        def forward(self, x):
            return self.tail(self.map(x))

    model = Ending()
    found = measure(model, X, [], labels=LABELS % outputs if outputs > 1 else LABELS % 2, measures=["loss", "accuracy"])
    assert np.isnan(found["loss"])
    assert "loss" in found.attrs["left_out"]
    right = np.mean(model(X).argmax(1).numpy() == LABELS.numpy()) if outputs > 1 else np.nan
    np.testing.assert_equal(found["accuracy"].item(), right)


def test_targets_in_eight_or_sixteen_bits_are_their_numbers():
    model = classifier()
    for kind in (torch.bfloat16, torch.float16, torch.float8_e4m3fn):
        Y = torch.randn(24, 3).to(kind)
        expected = (model(X).double() - Y.double()).square().mean().item() / 2
        for found in (measure(model, X, [], targets=Y, measures=["loss"]), measure(model, [(X, Y)].__iter__(), [])):
            np.testing.assert_allclose(found["loss"], expected, rtol=1e-6)


@pytest.mark.parametrize("tail", [nn.Identity(), nn.Sigmoid(), nn.Flatten(0)])
def test_one_output_tells_two_classes_apart(tail):
    torch.manual_seed(1)
    labels, map_ = LABELS % 2, nn.Linear(4, 1)
    found = measure(nn.Sequential(map_, tail), X, [], labels=labels, measures=["loss", "accuracy"])
    z = map_(X).detach().double().numpy()[:, 0]
    np.testing.assert_allclose(found["loss"], entropy_of(np.stack([0 * z, z], axis=1), labels), rtol=1e-6)
    assert found["accuracy"] == np.mean((z > 0) == labels.numpy())


def test_an_output_that_may_be_probability_or_logit_is_left_out():
    class Between(nn.Module):
        def forward(self, x):
            return x.sum(1, keepdim=True).sigmoid()

    found = measure(Between(), X, [], labels=LABELS % 2, measures=["loss", "accuracy"])
    assert np.isnan(found["loss"])
    assert np.isnan(found["accuracy"])
    assert "a probability or a logit" in found.attrs["left_out"]


@pytest.mark.parametrize(("side", "measured"), [(1, True), (5, False)])
def test_a_map_has_no_class_of_a_point_unless_it_is_a_single_place(side, measured):
    torch.manual_seed(0)
    model, images = nn.Conv2d(2, 3, 1), torch.randn(24, 2, side, side)
    found = measure(model, images, [], labels=LABELS, measures=["loss", "accuracy", "targets"])
    z = model(images).detach().double().numpy()[:, :, 0, 0]
    expected = [entropy_of(z, LABELS), np.mean(z.argmax(1) == LABELS.numpy())] if measured else [np.nan] * 2
    np.testing.assert_allclose([found["loss"], found["accuracy"]], expected, rtol=1e-6)
    assert np.isfinite(found["half_mse"]) == measured


def test_the_gradient_of_a_softmax_is_that_of_its_logits():
    torch.manual_seed(0)
    logits = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6, eps=1e-2), nn.ReLU(), nn.Linear(6, 3))
    options = {"labels": LABELS, "measures": ["radial"], "batch_statistics": True}
    found = [measure(model, X, [], **options) for model in (logits, nn.Sequential(*logits, nn.Softmax(1)))]
    np.testing.assert_allclose(found[0]["radial_fraction"], found[1]["radial_fraction"], rtol=1e-2)
