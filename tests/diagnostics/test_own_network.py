"""A user's own files by themselves: arrays, checkpoints, weights and builders, several of each and in no order."""

import re
import sys

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.base.errors import DataError, RepdynError
from repdyn.diagnostics.methods.own_network import checkpoints, load_weights, made_by, read_arrays

THREE = np.array([[1.0, 2.0], [3.0, 5.0], [8.0, 13.0]])


def test_a_file_of_inputs_holds_any_of_three_kinds_of_answers(tmp_path):
    wanted = {"targets": 2 * THREE, "pairs": np.array([[2, 0], [1, 2]]), "inputs": THREE, "labels": np.array([1, 0, 1])}
    np.savez(tmp_path / "data.npz", **wanted)
    found = read_arrays(tmp_path / "data.npz")
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": THREE, "inputs": THREE, "y": THREE, "labels": THREE[0], "Z": THREE}, "holds X, y, Z; expected inputs"),
        ({"targets": THREE, "labels": np.arange(3)}, "holds targets, labels; expected an array named inputs"),
        ({}, "holds nothing; expected an array named inputs"),
        ({"input_x": THREE, "input_y": THREE[:0], "labels": np.array(["a"])}, "input_y has shape (0, 2); give one"),
        ({"inputs": THREE, "pairs": THREE, "labels": np.arange(3.0)}, "pairs has type float64; give indices of points"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_all_that_is_wrong(arrays, message, tmp_path):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(DataError, match=re.escape(f"{tmp_path / 'data.npz'}: {message}")):
        read_arrays(tmp_path / "data.npz")


def test_a_file_that_is_no_npz_is_told_how_to_write_it(tmp_path):
    np.save(tmp_path / "one.npy", THREE)
    advice = r"\(it holds a single array\); write it with numpy\.savez\('one\.npy', inputs="
    with pytest.raises(DataError, match=advice):
        read_arrays(tmp_path / "one.npy")
    for content in ("", "no zip"):
        (tmp_path / "text.npz").write_text(content)
        with pytest.raises(DataError, match=r"text\.npz: not a usable npz file"):
            read_arrays(tmp_path / "text.npz")


def test_checkpoints_come_by_the_last_number_of_their_names_whatever_else_is_there(tmp_path):
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
        (("a.txt",), "holds no checkpoint; expected files that end in .pt, .pth, .ckpt, .bin"),
        (("step_1.pt", "last.pt"), "last.pt: no number in its name tells when it was written"),
        (("c_7.pt", "b_3.pt", "a_07.bin", "d_9.pt"), "c_7.pt: has the number 7 of a_07.bin; give each its own"),
    ],
)
def test_a_folder_that_is_no_series_of_checkpoints_is_told_with_its_files(names, message, tmp_path):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=re.escape(message)):
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


def test_weights_that_do_not_fit_are_told_whole_in_one_line(tmp_path):
    torch.save([torch.zeros(2)], tmp_path / "list.pt")
    with pytest.raises(DataError, match=r"list\.pt: holds a list; expected a state_dict$"):
        load_weights(network(), tmp_path / "list.pt")
    weights = network().state_dict()
    weights["2.weight"], weights["9.bias"] = torch.zeros(7, 7), weights.pop("0.bias")
    torch.save(weights, tmp_path / "other.pt")
    with pytest.raises(DataError, match=r"other\.pt: the weights do not fit the network: ") as raised:
        load_weights(network(), tmp_path / "other.pt")
    text = str(raised.value)
    assert "\n" not in text
    for part in ('Missing key(s) in state_dict: "0.bias"', '"9.bias"', "size mismatch for 2.weight"):
        assert part in text


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


def test_a_network_is_what_the_function_of_that_name_returns_and_the_path_stays_as_it_was(own):
    own(
        own_one="from torch import nn\nimport own_two\ndef other(): return nn.ReLU()\n"
        "def build(): return nn.Linear(own_two.SIZE, 3)\ndef last(): return nn.Tanh()\n",
        own_two="SIZE = 5\n",
        own_three="import own_four\n",
        own_four="def broken(:\n",
    )
    before = list(sys.path)
    assert made_by("own_one:build").in_features == 5
    assert sys.path == before
    for maker, message in (
        ("own_three:build", "importing own_three raised SyntaxError: invalid syntax (own_four.py, line 1)"),
        ("own_none.part:build", "no module 'own_none.part' in"),
        ("own_one:build:other", "'own_one:build:other' is not of the form module:function, such as my_network:build"),
        (":build", "':build' is not of the form module:function"),
        ("own_one:bild", "own_one has no function 'bild'; did you mean 'build'?"),
        ("own_one:zzz", "own_one has no function 'zzz'; it has other, build, last"),
        ("own_one:own_two", "own_one has no function 'own_two'"),
    ):
        with pytest.raises(RepdynError, match=re.escape(message)):
            made_by(maker)
        assert sys.path == before


def test_functions_that_a_user_keeps_private_and_what_is_no_function_are_not_offered(own):
    own(own_one="SIZE = 3\ndef _inner(): ...\ndef net_a(): ...\nclass Kept: ...\n", own_two="SIZE = 3\n")
    with pytest.raises(RepdynError, match=r"own_one has no function 'SIZE'; it has net_a$"):
        made_by("own_one:SIZE")
    with pytest.raises(RepdynError, match=r"own_two has no function 'x'; it has no functions$"):
        made_by("own_two:x")


def test_the_place_of_an_error_is_the_last_one_in_the_users_own_files(own):
    own(
        own_one="import own_two\n\n\ndef build():\n    return own_two.inner()\n",
        own_two="import json\n\n\ndef inner():\n    return json.loads('[1, 2')\n",
    )
    words = "own_one:build raised Expecting ',' delimiter: line 1 column 6 (char 5) (own_two.py, line 5)"
    with pytest.raises(RepdynError, match=re.escape(words.replace("raised", "raised JSONDecodeError:"))):
        made_by("own_one:build")
    own(own_three="def build():\n    return [1, 2]\n")
    with pytest.raises(RepdynError, match=r"own_three:build returned a list; it must return a torch\.nn\.Module"):
        made_by("own_three:build")
