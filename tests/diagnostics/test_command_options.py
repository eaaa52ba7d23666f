"""Every option of `measure` and `similarity` on the command line reaches the function that it is for."""

import importlib
import os
import re

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.__main__ import main
from repdyn.base.devices import THREAD_VARIABLES
from repdyn.diagnostics.methods import checkpoints
from repdyn.diagnostics.methods.reader import Features
from repdyn.diagnostics.theory.identity import Residual

POINTS = np.random.default_rng(0).normal(size=(12, 6))
OTHERS = np.random.default_rng(1).normal(size=(9, 6))
SHARED = "--layers 0 1 --output 3 --batch-size 5 --batch-statistics --features pool --channels -1 --heads 2"
OPTIONS = f"{SHARED} --measures ranks pairs --residual 1 2 --effective-depth 0.5 --embeddings 0 --classifier 2"


def build():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A user's folder with two files of points and the weights of a checkpoint."""
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", inputs=POINTS, labels=np.arange(12) % 3, pairs=[[0, 1]], targets=POINTS[:, :3])
    np.savez("others.npz", inputs=OTHERS, labels=np.arange(9) % 2)
    (tmp_path / "weights").mkdir()
    for seed in (1, 2):
        torch.manual_seed(seed)
        torch.save(build().state_dict(), f"weights/step_{seed}.pt")


@pytest.fixture
def calls(monkeypatch):
    """Arguments of a function of a module, which then raises an error."""

    def watch(module, name):
        given = []

        def refuse(*words, **options):
            given.append((words, options))
            raise ValueError(f"{name} was called")

        monkeypatch.setattr(importlib.import_module(f"repdyn.diagnostics.{module}"), name, refuse)
        return given

    networks = {}
    monkeypatch.setattr(checkpoints, "build_network", lambda name: networks.setdefault(name, build()))
    watch.networks = networks
    return watch


def as_lists(options):
    """Options with arrays as lists."""
    if isinstance(options, dict):
        return {name: as_lists(value) for name, value in options.items()}
    if isinstance(options, tuple):
        return tuple(map(as_lists, options))
    return np.asarray(options).tolist() if isinstance(options, np.ndarray | torch.Tensor) else options


@pytest.mark.parametrize(("function", "more"), [("measure", ""), ("Recorder", "--checkpoints weights --resume")])
def test_every_command_line_option_is_passed_to_measure(calls, capsys, function, more):
    given = calls("measure", function)
    words = f"measure my:net --data data.npz --out one.nc --held-out others.npz --other-form data.npz {OPTIONS} {more}"
    assert main(words.split()) == 1
    assert f"error: {function} was called" in capsys.readouterr().err
    (((model, inputs), options),) = given
    assert model is calls.networks["my:net"]
    np.testing.assert_array_equal(inputs, POINTS)
    expected = {
        "layers": ["0", "1"],
        "measures": ["ranks", "pairs"],
        "residual": Residual(("1", "2"), 0.5),
        "features": Features("pool", -1, heads=2),
        "held_out": (OTHERS.tolist(), (np.arange(9) % 2).tolist()),
        "other_form": POINTS.tolist(),
        "labels": (np.arange(12) % 3).tolist(),
        "targets": POINTS[:, :3].tolist(),
        "pairs": [[0, 1]],
        "output": "3",
        "embeddings": "0",
        "classifier": "2",
        "batch_size": 5,
        "batch_statistics": True,
        "progress": False,
    }
    if function == "Recorder":
        assert str(options.pop("file")) == "one.nc"
        expected |= {"time": "checkpoint", "resume": True}
    assert as_lists(options) == expected


@pytest.mark.parametrize("asks", ["--words", "--page network.html"])
def test_every_command_line_option_is_passed_to_summarize(calls, capsys, monkeypatch, asks):
    given = calls("summary", "summarize")
    monkeypatch.setattr("repdyn.diagnostics.command._measured", lambda *_: None)
    more = "--embeddings 0 --classifier 2 --before weights/step_1.pt --held-out others.npz"
    assert main(f"measure my:net --data data.npz --out one.nc {SHARED} {more} {asks}".split()) == 1
    assert "error: summarize was called" in capsys.readouterr().err
    (((model, inputs), options),) = given
    first = options.pop("before")
    assert model is calls.networks["my:net"]
    assert first is not model
    np.testing.assert_array_equal(first[0].weight.detach(), torch.load("weights/step_1.pt")["0.weight"])
    np.testing.assert_array_equal(inputs, POINTS)
    assert as_lists(options) == {
        "layers": ["0", "1"],
        "features": Features("pool", -1, heads=2),
        "output": "3",
        "embeddings": "0",
        "classifier": "2",
        "batch_size": 5,
        "batch_statistics": True,
        "labels": (np.arange(12) % 3).tolist(),
        "held_out": (OTHERS.tolist(), (np.arange(9) % 2).tolist()),
    }


# Files that a command must not replace


@pytest.mark.parametrize(
    ("words", "lost", "message"),
    [
        ("--out data.npz", "data.npz", "out.* would replace data"),
        ("--out a.nc --words --page data.npz", "data.npz", "page.* would replace data"),
        ("--out a.nc --words --page a.nc", "", "would replace page"),
        ("--out weights/step_1.pt --words --before weights/step_1.pt", "weights/step_1.pt", "would replace before"),
        ("--out weights/step_1.pt --checkpoints weights", "weights/step_1.pt", "would replace checkpoints"),
        ("--out others.npz --held-out others.npz", "others.npz", "would replace held_out"),
        ("--out others.npz --other-form others.npz", "others.npz", "would replace other_form"),
        ("--out link.nc", "data.npz", "would replace data"),
        ("--out nets.py", "nets.py", "would replace builder"),
        ("--out notes.txt", "notes.txt", r"notes.txt is there already and no \.nc file"),
        ("--out a.nc --words --page notes.txt", "notes.txt", r"no \.html file"),
        ("--out pipe", "", "no regular file"),
    ],
)
def test_outputs_replace_no_input_no_other_output_and_no_foreign_file(words, lost, message, tmp_path, capsys):
    (tmp_path / "nets.py").write_text("from torch import nn\n\ndef build():\n    return nn.Linear(6, 3)\n")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.nc").symlink_to(tmp_path / "data.npz")
    os.mkfifo(tmp_path / "pipe")
    before = (tmp_path / lost).read_bytes() if lost else b""
    assert main(["measure", "nets:build", "--data", "data.npz", *words.split()]) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not lost or (tmp_path / lost).read_bytes() == before
    assert not (tmp_path / "a.nc").exists()


@pytest.mark.parametrize(
    "words",
    [
        "--out data.npz",
        "--out others.npz --other-data others.npz",
        "--out weights/step_1.pt --against weights/step_1.pt",
    ],
)
def test_similarities_replace_no_input(words, tmp_path, capsys):
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert main(["similarity", "nets:build", "--data", "data.npz", *words.split()]) == 1
    assert "would replace" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()} == before


@pytest.mark.parametrize("suffix", [".csv", ".json", ".png"])
@pytest.mark.parametrize("command", ["measure", "similarity"])
def test_figures_replace_figures_alone(command, suffix, tmp_path, capsys):
    (tmp_path / "nets.py").write_text("from torch import nn\n\ndef build():\n    return nn.Linear(6, 3)\n")
    mine = tmp_path / f"through_depth{suffix}"
    mine.write_text("[1]")
    words = "--figures ." if command == "measure" else "--figure through_depth --out a.nc"
    arguments = [command, "nets:build", "--data", "data.npz", *words.split()]
    assert main(arguments) == 1
    assert re.search(rf"figures?: .*through_depth\{suffix} is there already", capsys.readouterr().err)
    assert mine.read_text() == "[1]"
    assert not (tmp_path / "a.nc").exists()
    mine.unlink()
    assert [main(arguments), main(arguments)] == [0, 0]  # again over its own


def test_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "nets.py").write_text("from torch import nn\n\ndef build():\n    return nn.Linear(6, 3)\n")
    (tmp_path / "link.nc").symlink_to(tmp_path / "found.nc")
    for _ in range(2):
        assert main(["measure", "nets:build", "--data", "data.npz", "--out", "link.nc", "--measures", "ranks"]) == 0
        assert (tmp_path / "link.nc").is_symlink()
        assert (tmp_path / "found.nc").read_bytes().startswith(b"\x89HDF")
