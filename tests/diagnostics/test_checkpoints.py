"""A user's own files by themselves: arrays, checkpoints, weights and builders, several of each and in no order."""

import sys

import numpy as np
import pytest
import torch

from repdyn.base.errors import DataError, RepdynError
from repdyn.diagnostics.methods.checkpoints import build_network, checkpoints, read_arrays

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


MOMENTS = {
    "steps": ("run9_step_100.ckpt 100", "run7_step_20.pt 20", "step-3.bin 3", "global_step10k.pth 10000"),
    "epochs of Lightning": (
        "epoch=02-val_loss=0.94.ckpt 2",
        "epoch=10-val_loss=0.31.ckpt 10",
        "epoch=9-val_loss=2.ckpt 9",
    ),
    "steps of Lightning": ("epoch=0-step=50.ckpt 50", "epoch=1-step=100-v1.ckpt 100", "epoch=1-step=150.ckpt 150"),
    "Lightning without names": ("02-0.94.ckpt 2", "10-0.31-v1.ckpt 10"),
    "numbers": ("run7-20.pt 20", "run7-5.pt 5", "run7-100.pth.tar 100"),
    "one file": ("resnet18_5.pt 5",),
    "versions alone": ("model-v1.pt 1", "model-v12.pt 12"),
    "metrics": ("ckpt_5_acc_91.pt 5", "ckpt_10_acc_88.pt 10"),
    "thousands": ("step_1,000.pt 1000", "step_500.pt 500", "step_12,500.pt 12500"),
    "hidden files": ("step_1.pt 1", "._step_1.pt", ".step_2.pt", "step_3.pt 3"),
    "learning rates": ("lr=1e-05_epoch3.pt 3", "lr=1e-05_epoch12.pt 12"),
    "other files": ("step_1.pt 1", "notes_1.txt", "step_2.pt.old", "optimizer_7.pt", "training_args.bin"),
}


@pytest.mark.parametrize("kind", MOMENTS)
def test_checkpoints_are_sorted_by_the_moment_that_their_names_tell(kind, tmp_path):
    entries = [name.split(" ") for name in MOMENTS[kind]]
    for name, *_ in entries:
        (tmp_path / name).touch()
    wanted = sorted((int(step[0]), name) for name, *step in entries if step)
    assert [(step, path.name) for step, path in checkpoints(tmp_path).items()] == wanted


def test_folders_of_hugging_face_are_checkpoints(tmp_path):
    for step in (500, 1000, 20):
        (tmp_path / f"checkpoint-{step}").mkdir()
        for name in ("model.safetensors", "optimizer.pt", "rng_state.pth", "training_args.bin"):
            (tmp_path / f"checkpoint-{step}" / name).touch()
    (tmp_path / "runs").mkdir()
    (tmp_path / "training_args.bin").touch()
    assert list(checkpoints(tmp_path)) == [20, 500, 1000]


def test_a_link_to_a_checkpoint_is_none(tmp_path):
    for step in (1, 2):
        (tmp_path / f"step_{step}.pt").touch()
    for name in ("last.pt", "best_1.pt"):
        (tmp_path / name).symlink_to(tmp_path / "step_2.pt")
    assert {step: path.name for step, path in checkpoints(tmp_path).items()} == {1: "step_1.pt", 2: "step_2.pt"}


def test_files_tell_their_moment_where_their_names_do_not(tmp_path):
    """Lightning's own numbers count steps; those of names count epochs."""
    for name, epoch in (("epoch=0.ckpt", 0), ("epoch=1.ckpt", 1), ("last.ckpt", 2)):
        torch.save({"global_step": 10 * epoch + 10, "epoch": epoch, "state_dict": {}}, tmp_path / name)
    assert [(step, path.name) for step, path in checkpoints(tmp_path).items()] == [
        (10, "epoch=0.ckpt"), (20, "epoch=1.ckpt"), (30, "last.ckpt"),
    ]  # fmt: skip
    torch.save({"epoch": 3}, tmp_path / "model_a2_b3.pt")  # two numbers, and a file that tells
    (tmp_path / "last.ckpt").unlink()
    assert list(checkpoints(tmp_path)) == [0, 1, 3]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a.txt",), r"\.pt, \.pth, \.ckpt, \.bin"),
        (("step_1.pt", "last.pt"), "last.pt"),
        (("c_7.pt", "b_3.pt", "a_07.bin", "d_9.pt"), "c_7.pt.*7.*a_07.bin"),
        (("a2_b5.pt", "a3_b1.pt"), "a2_b5.pt.*2 or 5"),
        (("5_of_8.pth", "3.pt"), "5_of_8.pth.*5 or 8"),
        (("epoch_1.pt", "step_100.pt"), "step and others an epoch"),
        (("epoch=0-step=90.ckpt", "epoch=1-step=10.ckpt"), "epoch=0-step=90.ckpt.*epoch=1-step=10.ckpt"),
        (("model_0.5.pt", "model_1.5.pt"), "model_0.5.pt.*no number"),
        (("acc_91.pt", "acc_93.pt"), "acc_91.pt.*no number"),
        (("pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"), "part of one network"),
    ],
)
def test_folders_that_are_no_series_of_checkpoints_are_refused(names, message, tmp_path):
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=message):
        checkpoints(tmp_path)


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
