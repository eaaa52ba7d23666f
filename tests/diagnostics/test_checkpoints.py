"""A user's own files by themselves: arrays, checkpoints, weights and builders, several of each and in no order."""

import sys

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.base.errors import DataError, RepdynError
from repdyn.diagnostics.methods.checkpoints import build_network, checkpoints, load_weights, read_arrays

THREE = np.array([[1.0, 2.0], [3.0, 5.0], [8.0, 13.0]])


def test_arrays_of_a_file_are_read_by_name(tmp_path):
    wanted = {"targets": 2 * THREE, "pairs": np.array([[2, 0], [1, 2]]), "inputs": THREE, "labels": np.array([1, 0, 1])}
    np.savez(tmp_path / "data.npz", **wanted)
    found = read_arrays(tmp_path / "data.npz")
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": THREE, "inputs": THREE, "y": THREE, "labels": THREE[0], "Z": THREE}, "X, y, Z"),
        ({"targets": THREE, "labels": np.arange(3)}, "targets, labels.*inputs"),
        ({}, "inputs"),
        ({"input_x": THREE, "input_y": THREE[:0], "labels": np.array(["a"])}, r"input_y.*\(0, 2\)"),
        ({"inputs": THREE, "pairs": THREE, "labels": np.arange(3.0)}, "pairs.*float64"),
        ({"inputs": np.full((3, 2), "one")}, "inputs.*<U3"),
        ({"input_x": np.full(3, "one")}, "input_x.*<U3"),
        ({"inputs": np.full((3, 2), "2020-01-01", dtype="datetime64[D]")}, "inputs.*datetime64"),
        ({"inputs": THREE, "targets": np.full((3, 2), "one")}, "targets.*<U3"),
        ({"inputs": THREE, "pairs": [["a", "b"]]}, "pairs.*<U1"),
        ({"inputs": np.array([{}], dtype=object)}, "Python objects"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(DataError, match=rf"data\.npz.*{message}"):
        read_arrays(tmp_path / "data.npz")


def test_files_that_are_no_npz_are_refused(tmp_path):
    np.save(tmp_path / "one.npy", THREE)
    (tmp_path / "empty.npz").write_text("")
    (tmp_path / "text.npz").write_text("no zip")
    for name in ("one.npy", "empty.npz", "text.npz"):
        with pytest.raises(DataError, match=name):
            read_arrays(tmp_path / name)


@pytest.mark.parametrize("names", [("ids", "token_type_ids"), ("x", "mask"), ("tuning", "input_x")])
def test_keyword_inputs_keep_their_names_whatever_letters_they_begin_with(names, tmp_path):
    """`input_` is a prefix; letters of it also begin names of usual tokenizers and models."""
    inputs = {f"input_{name}": np.full(3, k) for k, name in enumerate(names)}
    np.savez(tmp_path / "data.npz", labels=np.arange(3), **inputs)
    arrays = read_arrays(tmp_path / "data.npz")
    assert set(arrays) == {"inputs", "labels"}
    assert {name: values.tolist() for name, values in arrays["inputs"].items()} == {
        name: [k] * 3 for k, name in enumerate(names)
    }


def test_checkpoints_are_sorted_by_the_last_number_of_their_names(tmp_path):
    names = ("run9_step_100.ckpt", "run7-20.pt", "3.bin", "5_of_8.pth", "notes_1.txt", "step_2.pt.old")
    for name in names:
        (tmp_path / name).touch()
    found = checkpoints(tmp_path)
    assert [(step, path.name) for step, path in found.items()] == [
        (3, "3.bin"), (8, "5_of_8.pth"), (20, "run7-20.pt"), (100, "run9_step_100.ckpt"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a.txt",), r"\.pt, \.pth, \.ckpt, \.bin"),
        (("step_1.pt", "last.pt"), "last.pt"),
        (("c_7.pt", "b_3.pt", "a_07.bin", "d_9.pt"), "c_7.pt.*7.*a_07.bin"),
    ],
)
def test_folders_that_are_no_series_of_checkpoints_are_refused(names, message, tmp_path):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=message):
        checkpoints(tmp_path)


def network():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))


class Around(nn.Module):
    """A network whose only part has the name of a prefix that trainers put in front."""

    def __init__(self):
        super().__init__()
        self.model = network()


@pytest.mark.parametrize("make", [network, Around])
@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.", "model.", "module._orig_mod.", "_orig_mod.model."])
def test_weights_are_found_in_the_files_of_usual_trainers(make, prefix, tmp_path):
    saved = make()
    weights = {f"{prefix}{name}": part for name, part in saved.state_dict().items()}
    for key in (None, "state_dict", "model_state_dict", "model"):
        torch.save(weights if key is None else {"epoch": 3, key: weights, "loss": 0.5}, tmp_path / "weights.pt")
        load_weights(loaded := make(), tmp_path / "weights.pt")
        assert all(torch.equal(part, loaded.state_dict()[name]) for name, part in saved.state_dict().items())


def test_a_prefix_of_some_weights_alone_belongs_to_the_network(tmp_path):
    class WithHead(Around):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(2, 2)

    saved, loaded = WithHead(), WithHead()
    torch.save(saved.state_dict(), tmp_path / "weights.pt")
    load_weights(loaded, tmp_path / "weights.pt")
    assert torch.equal(saved.model[2].weight, loaded.model[2].weight)
    assert torch.equal(saved.head.weight, loaded.head.weight)


def test_weights_that_do_not_fit_are_refused_with_all_their_names(tmp_path):
    torch.save([torch.zeros(2)], tmp_path / "list.pt")
    weights = network().state_dict()
    weights["2.weight"], weights["9.bias"] = torch.zeros(7, 7), weights.pop("0.bias")
    torch.save(weights, tmp_path / "other.pt")
    (tmp_path / "text.pt").write_text("nothing")
    for name, message in (
        ("list.pt", r"list\.pt.*list"),
        ("other.pt", r'other\.pt.*"0\.bias".*"9\.bias".*2\.weight'),
        ("text.pt", r"text\.pt"),
    ):
        with pytest.raises(DataError, match=message) as raised:
            load_weights(network(), tmp_path / name)
        assert "\n" not in str(raised.value)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes modules of a user, who is in their folder; none is known afterwards."""
    monkeypatch.chdir(tmp_path)
    written = []

    def write(**modules):
        written.extend(modules)
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)

    yield write
    for name in written:
        sys.modules.pop(name, None)


BUILDERS = {
    "own_three:build": r"own_three.*SyntaxError.*own_four\.py, line 1",
    "own_none.part:build": "'own_none.part'",
    "own_one:build:other": "'own_one:build:other'",
    ":build": "':build'",
    "../own_one:build": "'../own_one:build'",
    "own_one:build()": r"'own_one:build\(\)'",
    "own_one": "'own_one'",
    "own_one:bild": "'bild'.*'build'",
    "own_one:zzz": "'zzz'.*other, build, last$",
    "own_one:own_two": "'own_two'",
    "own_five:build": "own_five:build.*list",
    "own_five:fails": r"own_five:fails.*JSONDecodeError.*own_two\.py, line 8",
    "own_six:build": "own_six.*no_such_package",
}


def test_builders_return_networks_and_their_errors_name_the_users_line(own):
    """The place of an error is the last one in the user's own files; the path of imports is unchanged."""
    own(
        own_one="from torch import nn\nimport own_two\ndef other(): return nn.ReLU()\n"
        "def build(): return nn.Linear(own_two.SIZE, 3)\ndef last(): return nn.Tanh()\n",
        own_two="SIZE = 5\n\n\nimport json\n\n\ndef inner():\n    return json.loads('[1, 2')\n",
        own_three="import own_four\n",
        own_four="def broken(:\n",
        own_five="import own_two\ndef build(): return [1, 2]\ndef fails(): return own_two.inner()\n",
        own_six="import no_such_package\n",
    )
    before = list(sys.path)
    assert build_network("own_one:build").in_features == 5
    for maker, message in BUILDERS.items():
        with pytest.raises(RepdynError, match=message):
            build_network(maker)
        assert sys.path == before
