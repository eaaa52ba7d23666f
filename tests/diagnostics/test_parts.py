"""Small parts by themselves: labels, targets, pairs, windows, outputs, findings, and the network as it was."""

import re

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.methods import forward, options, pairs, progress, targets, windows
from repdyn.diagnostics.methods.findings import Findings
from repdyn.diagnostics.methods.outputs import adapted
from repdyn.diagnostics.methods.per_layer import OF_LAYER, Layer
from repdyn.diagnostics.theory.angles import angles
from repdyn.diagnostics.theory.identity import Residual, costs, energies
from repdyn.diagnostics.theory.similarity import shape_of, similarities
from repdyn.diagnostics.theory.spectra import spectrum

NAN = np.nan
FIVE = np.array([0, 1, 2, 1, 0])
MASK = np.array([[True, True, False], [True, False, False]])


def rows(labels, points, tokens=1, mask=None):
    return targets.labels_of_rows(labels, points, tokens, mask)


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (rows([0, 1, 1], 3), [0, 1, 1]),
        (rows(np.array([0, 1], np.uint8), 2), [0, 1]),
        (rows([0, 1], 2, 3), [0, 0, 0, 1, 1, 1]),
        (rows([[0, 1, 2], [1, 0, 2]], 2, 3), [0, 1, 2, 1, 0, 2]),
        (rows([0, 1], 2, 3, MASK), [0, 0, 1]),
        (rows([[0, 1, 2], [2, 0, 1]], 2, 3, MASK), [0, 1, 2]),
        (rows([-100, 0, 1], 3), [-100, 0, 1]),
    ],
)
def test_each_row_has_the_label_of_its_point_or_token(labels, wanted):
    assert labels.dtype == np.int64
    assert labels.tolist() == wanted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], 3), "labels has shape (2,) and type int64; give 3 integers, one per point"),
        (([0.0, 1.0], 2), "labels has shape (2,) and type float64"),
        (([[0, 1]], 2), "labels has shape (1, 2)"),
        (([[0, 1], [1, 0]], 2, 3), "labels has shape (2, 2) and type int64; give 2 integers"),
        (([True, False], 2), "type bool"),
        (([1, 1], 2), "labels names one class only"),
        (([-100, 1, 1], 3), "labels names one class only"),
    ],
)
def test_labels_of_another_form_are_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rows(*arguments)


def test_points_without_a_class_are_left_out_and_arrays_of_others_are_the_same():
    A, labels = np.arange(6.0).reshape(3, 2), np.array([1, -100, 0])
    kept, classes = targets.with_classes(A, labels)
    assert (kept.tolist(), classes.tolist()) == ([[0, 1], [4, 5]], [1, 0])
    all_kept = np.array([1, 2, 0])
    assert targets.with_classes(A, all_kept)[0] is A
    assert targets.with_classes(A, all_kept)[1] is all_kept


def test_labels_stand_for_ones_at_their_place():
    assert targets.one_hot(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("labels", "outputs", "accepted"),
    [([0, 2], 3, True), ([0, 3], 3, False), ([-1, 2], 3, False), ([0, 0], 1, False), ([0, 1], 2, True)],
)
def test_labels_are_places_among_the_outputs(labels, outputs, accepted):
    if accepted:
        assert targets.one_hot(np.array(labels), outputs).sum() == len(labels)
        return
    message = f"labels run from {min(labels)} to {max(labels)} but the network has {outputs} outputs per point"
    with pytest.raises(ValueError, match=message):
        targets.one_hot(np.array(labels), outputs)


def test_targets_have_the_shape_of_the_outputs():
    assert targets.as_targets([[1, 2], [3, 4]], (2, 2)).dtype == np.float64
    assert targets.as_targets([1, 2], (2, 1)).tolist() == [[1], [2]]
    assert targets.as_targets(np.ones((2, 2, 3)), (2, 6)).shape == (2, 6)
    for wrong, message in (
        (np.ones((3, 2)), r"targets has shape \(3, 2\); the network returns \(2, 2\)"),
        (np.ones((2, 3)), r"targets has shape \(2, 3\)"),
        ([[1, NAN], [np.inf, 1]], "targets holds 2 values that are NaN or infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            targets.as_targets(wrong, (2, 2))


@pytest.mark.parametrize(
    ("named", "points", "labels", "wanted"),
    [
        (None, 6, None, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]),
        (None, 3, None, [(0, 1), (0, 2), (1, 2)]),
        (None, 5, FIVE, [(0, 1), (0, 2), (1, 2)]),
        (None, 4, np.array([-100, 3, 3, 1]), [(1, 3)]),
        ([(np.int64(3), 1)], 4, FIVE, [(3, 1)]),
    ],
)
def test_pairs_are_those_named_or_among_the_first_of_each_class(named, points, labels, wanted):
    assert pairs.as_pairs(named, points, labels) == wanted


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ([(0, 1), (2, 2)], "pairs holds (2, 2); give two different points among 0 .. 3"),
        ([(0, 4)], "pairs holds (0, 4)"),
        ([(-1, 0)], "pairs holds (-1, 0)"),
        ([(0, 1, 2)], "pairs holds (0, 1, 2)"),
        ([], "pairs is empty; give at least one"),
    ],
)
def test_pairs_of_other_than_two_points_are_refused(named, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        pairs.as_pairs(named, 4, None)


def test_numbers_of_pairs_by_hand():
    A, chosen = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], np.float32), [(0, 1), (1, 2)]
    assert pairs.distances(A, chosen).tolist() == [5, 4]
    np.testing.assert_allclose(pairs.angles_of_pairs(A, chosen), [np.pi / 2, NAN])
    found = pairs.alignment(np.array([[1.0], [3.0], [4.0]]), np.array([[0.0], [1.0], [4.0]]), chosen)
    assert found["target_distance"].tolist() == [1, 9]
    assert found["prediction_alignment"].tolist() == [2, -2]  # (2 - 1) 2 and (1 - 3) 1
    assert found["pair_loss"].tolist() == [1.25, 1]  # errors 1/2, 2 and 0


@pytest.mark.parametrize(
    ("lengths", "sizes", "count"),
    [
        ((8, 12), (2, 3), 4),
        ((8, 8), (2, 3), 0),
        ((2, 3), (2, 3), 0),
        ((3, 3), (2, 2), 0),
        ((8,), (2,), 4),
        ((8, 12), (2, 2), 0),
    ],
)
def test_a_point_has_as_many_rows_in_every_pass(lengths, sizes, count):
    assert windows.rows_per_point([torch.zeros(length, 5) for length in lengths], sizes) == count


def test_rows_are_of_floating_tensors_of_one_width():
    floats, wide = torch.zeros(4, 5), torch.zeros(4, 6)
    assert windows.rows_per_point([floats, floats], (2, 2)) == 2
    for other in (wide, floats.long(), torch.zeros(4), [1, 2, 3, 4]):
        assert windows.rows_per_point([floats, other], (2, 2)) == 0


def test_rows_follow_their_points_only_where_they_stand_side_by_side():
    first, back = torch.arange(12.0).reshape(6, 2), [2, 1, 0]
    together = first.unflatten(0, (3, 2))[back].flatten(0, 1)
    apart = first.unflatten(0, (2, 3))[:, back].flatten(0, 1)
    assert windows.rows_follow(first, together, back, 2)
    assert not windows.rows_follow(first, apart, back, 2)
    assert not windows.rows_follow(first, first, back, 2)
    assert not windows.rows_follow(0 * first, 0 * first, back, 2)


@pytest.mark.parametrize(
    ("returned", "adapter", "wanted"),
    [
        (torch.ones(2), None, 1),
        ((torch.ones(2), torch.zeros(2)), None, 1),
        ((torch.ones(2), torch.zeros(2)), 1, 0),
        ({"a": torch.zeros(2), "b": torch.ones(2)}, "b", 1),
        ({"a": 3, "b": torch.ones(2)}, None, 1),
        (torch.ones(2), lambda returned: 2 * returned, 2),
    ],
)
def test_the_part_of_an_output_that_counts(returned, adapter, wanted):
    assert (adapted(returned, adapter) == wanted).all()


@pytest.mark.parametrize(
    ("returned", "adapter", "message"),
    [
        ({"a": torch.ones(2), "b": torch.ones(2)}, None, "returns a dict with a, b; name .*: output='a' or 'b'"),
        ({"a": 1}, None, "returns a dict with a; name .*: output='key'"),
        ({}, None, "returns a dict with nothing"),
        ((torch.ones(2),), 1, "output=1: the network returns .* without it"),
        ({"a": torch.ones(2)}, "b", "output='b': the network returns .* without it"),
        ("text", None, "give output=, a key, an index or a function to a tensor"),
        ((), None, "give output="),
    ],
)
def test_an_output_without_a_tensor_is_told(returned, adapter, message):
    with pytest.raises(ValueError, match=message):
        adapted(returned, adapter)


def test_what_failed_keeps_its_reason_and_its_places_once():
    found = Findings(["ranks"], {"layer": 2})
    assert all(np.isnan(value).all() for value in found.values.values())
    found.put({"numerical_rank": 3.0, "accuracy": 0.5}, at=1)
    assert found.values["numerical_rank"].tolist()[1] == 3
    assert np.isnan(found.values["numerical_rank"][0])
    assert "accuracy" not in found.values
    for place in ("a", "b", "a"):
        with found.isolated("ranks", place):
            raise ValueError("too wide\nby two")
    with found.isolated("angles"):
        found.put({"numerical_rank": [1.0, 2.0]})
    found.leave_out("classes", "no labels")
    assert found.values["numerical_rank"].tolist() == [1, 2]
    assert found.text() == "ranks (a, b): too wide; classes: no labels"


def test_only_errors_are_reasons():
    with pytest.raises(KeyboardInterrupt), Findings(["ranks"], {"layer": 1}).isolated("ranks"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("shown", [True, False])
def test_progress_is_one_line_that_ends(shown, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "21")
    with progress.Progress(3, shown=shown) as line:
        line.finish("first")
        line.finish("a layer with a long name")
    text = "\r1 of 3 layers, first\r2 of 3 layers, a lay\n"
    assert capsys.readouterr().err == (text if shown else "")
    with progress.Progress(3, shown=shown):
        pass
    assert capsys.readouterr().err == ""


def test_options_are_those_of_all_functions_once():
    def one(model, inputs, axes, *rest, batch_size=1, **more): ...
    def two(self, network, other, batch_size, seed=0): ...

    assert options.option_names(one, two) == ["axes", "batch_size", "seed"]
    options.check_options(["seed"], ["axes", "seed"])
    with pytest.raises(TypeError, match=r"^no option 'quux'; there are axes, seed$"):
        options.check_options(["seed", "quux"], ["axes", "seed"])


# the network as it was


class Normalized(nn.Module):
    """Batch normalization and dropout, of which the forward pass writes and draws."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop = nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(self.first(x)))


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("batch_statistics", [False, True])
def test_modes_buffers_and_random_numbers_come_back(batch_statistics, fails):
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


def test_numbers_of_another_network_are_put_into_a_copy():
    model, other = Normalized(), Normalized()
    before = {name: part.clone() for name, part in model.state_dict().items()}
    assert forward.with_weights(model, other, "other") is other
    copied = forward.with_weights(nn.DataParallel(model), other.state_dict(), "other")
    assert all(torch.equal(part, other.state_dict()[name]) for name, part in copied.state_dict().items())
    assert all(torch.equal(part, before[name]) for name, part in model.state_dict().items())
    places = {part.data_ptr() for network in (model, other) for part in network.parameters()}
    assert not places & {part.data_ptr() for part in copied.parameters()}
    with pytest.raises(ValueError, match=r"^other does not fit the network: "):
        forward.with_weights(model, {"first.weight": torch.zeros(3, 2)}, "other")


def test_the_network_within_wrappers_and_what_is_none():
    model = Normalized()
    assert forward.unwrapped(nn.DataParallel(nn.DataParallel(model))) is model
    with pytest.raises(ValueError, match=r"^the model is a str; give a torch\.nn\.Module, or call it in one's"):
        forward.unwrapped("model")


# theory


def test_directions_and_shapes_of_nothing_are_refused():
    with pytest.raises(ValueError, match=r"^2 points are all zero and have no direction$"):
        angles(np.array([[1.0], [0.0], [0.0]]), np.array([1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="all points are the same in this layer"):
        shape_of(np.ones((3, 2)))
    first, second = (shape_of(np.random.default_rng(0).normal(size=(n, 2))) for n in (4, 5))
    with pytest.raises(ValueError, match="representations of 4 and 5 points; give the same points to both"):
        similarities(first, second)
    assert similarities(first, first)["cka"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": ["a"]}, "residual names the layers ['a']; give two or more"),
        ({"layers": "ab"}, "residual names the layers 'ab'"),
        ({"effective_depth": -1.0}, "effective_depth is -1.0; give 0 for a plain residual network"),
        ({"effective_depth": NAN}, "effective_depth is nan"),
        ({"steps": [1.0]}, "steps are [1.0]; give 2 positive numbers of sum 1"),
        ({"steps": [0.0, 1.0]}, "steps are [0.0, 1.0]"),
        ({"steps": [0.5, 0.4]}, "steps are [0.5, 0.4]"),
        ({"steps": [0.5, 0.6]}, "steps are [0.5, 0.6]"),
    ],
)
def test_a_stream_that_is_none_is_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Residual(**{"layers": ["a", "b", "c"]} | arguments)


def test_steps_of_a_stream_are_as_given_or_equal():
    assert Residual(["a", "b", "c"], steps=[0.25, 0.75 + 5e-10]).step_sizes == pytest.approx([0.25, 0.75])
    assert Residual(["a", "b", "c", "d"], effective_depth=0).step_sizes == pytest.approx([1 / 3] * 3)


def test_a_step_keeps_the_number_of_units():
    with pytest.raises(ValueError, match="the stream has 2 units before the step and 3 after it"):
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


@pytest.mark.parametrize(("rows_alike", "odd"), [(2, 2), (3, 3), (4, NAN)])
def test_a_layer_is_constant_where_all_of_its_points_are_alike_and_not_where_some_are(rows_alike, odd):
    A = np.vstack([np.tile([1.0, 2.0], (4, 1))[:rows_alike], np.array([[3.0, 5.0], [2.0, 0.0]])[: 4 - rows_alike]])
    found = OF_LAYER["angles"](Layer(A, None, [], 1e-3, False))
    assert found["constant"] == (rows_alike == 4)
    np.testing.assert_equal(found["odd_point"], odd)
