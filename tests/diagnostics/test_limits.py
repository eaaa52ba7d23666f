"""Labels of rows, outputs, the network as it was, and numbers of the theory at their limits."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.methods import forward, measures
from repdyn.diagnostics.methods.reader import adapted
from repdyn.diagnostics.theory.angles import angles
from repdyn.diagnostics.theory.identity import Residual, costs, energies
from repdyn.diagnostics.theory.similarity import shape_of, similarities
from repdyn.diagnostics.theory.spectra import spectrum

NAN = np.nan
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


ONE, TWO = torch.ones(2), torch.zeros(2)


def test_the_part_of_an_output_that_counts():
    for returned, output, wanted in (
        (ONE, None, 1),
        ((ONE, TWO), None, 1),
        ((ONE, TWO), 1, 0),
        ({"a": TWO, "b": ONE}, "b", 1),
        ({"a": 3, "b": ONE}, None, 1),
        (ONE, lambda returned: 2 * returned, 2),
    ):
        assert (adapted(returned, output) == wanted).all()


@pytest.mark.parametrize(
    ("returned", "output", "message"),
    [
        ({"a": ONE, "b": ONE}, None, "'a'.*'b'"),
        ({"a": 1}, None, "dict with a"),
        ({}, None, "dict"),
        ((ONE,), 1, "output=1"),
        ({"a": ONE}, "b", "output='b'"),
        ("text", None, "output="),
        ((), None, "output="),
    ],
)
def test_outputs_without_a_tensor_are_refused(returned, output, message):
    with pytest.raises(ValueError, match=message):
        adapted(returned, output)


class Normalized(nn.Module):
    """Batch normalization and dropout, of which the forward pass writes and draws."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop = nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(self.first(x)))


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("batch_statistics", [False, True])
def test_modes_buffers_and_random_numbers_are_restored(batch_statistics, fails):
    model, x = Normalized(), torch.randn(5, 2)
    model.drop.eval()
    held = {name: (part, part.clone()) for name, part in model.named_buffers()}
    state = torch.get_rng_state()
    try:
        with torch.autocast("cpu"), forward.undisturbed(model, batch_statistics=batch_statistics):
            assert [part.training for part in model.modules()] == [False, False, batch_statistics, False]
            assert not torch.is_autocast_enabled("cpu")
            assert all(model.get_buffer(name) is not part for name, (part, _) in held.items())
            assert model(x).dtype == torch.float32
            torch.rand(3)
            if fails:
                raise ValueError("inside")
    except ValueError:
        assert fails
    assert [part.training for part in model.modules()] == [True, True, True, False]
    for name, (part, before) in held.items():
        assert model.get_buffer(name) is part
        assert torch.equal(part, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_weights_of_another_network_are_put_into_a_copy():
    model, other = Normalized(), Normalized()
    before = {name: part.clone() for name, part in model.state_dict().items()}
    assert forward.with_weights(model, other, "other") is other
    copied = forward.with_weights(nn.DataParallel(model), other.state_dict(), "other")
    assert all(torch.equal(part, other.state_dict()[name]) for name, part in copied.state_dict().items())
    assert all(torch.equal(part, before[name]) for name, part in model.state_dict().items())
    places = {part.data_ptr() for network in (model, other) for part in network.parameters()}
    assert not places & {part.data_ptr() for part in copied.parameters()}
    with pytest.raises(ValueError, match="other"):
        forward.with_weights(model, {"first.weight": torch.zeros(3, 2)}, "other")


def test_directions_and_shapes_of_equal_points_are_refused():
    with pytest.raises(ValueError, match="2 points"):
        angles(np.array([[1.0], [0.0], [0.0]]), np.array([1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="same"):
        shape_of(np.ones((3, 2)))
    first, second = (shape_of(np.random.default_rng(0).normal(size=(n, 2))) for n in (4, 5))
    with pytest.raises(ValueError, match="4 and 5"):
        similarities(first, second)
    assert similarities(first, first)["cka"] == pytest.approx(1)


def test_steps_of_a_stream_are_as_given_or_equal():
    assert Residual(["a", "b", "c"], steps=[0.25, 0.75 + 5e-10]).step_sizes == pytest.approx([0.25, 0.75])
    assert Residual(["a", "b", "c", "d"], effective_depth=0).step_sizes == pytest.approx([1 / 3] * 3)


def test_a_step_keeps_the_number_of_units():
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
