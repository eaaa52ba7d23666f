"""`python -m repdyn measure` and the example script, as a user runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from tests.conftest import ROOT

from repdyn.__main__ import main
from repdyn.base import datasets
from repdyn.base.devices import THREAD_VARIABLES
from repdyn.diagnostics import command
from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.methods.own_network import read_arrays
from repdyn.diagnostics.summary import summarize
from repdyn.diagnostics.theory.identity import Residual

NETWORK = """
from torch import nn

def build():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))

def nothing():
    return 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A user's folder with a module, data, and neither in the list of modules afterwards."""
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, os.environ.get(name, "1"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_network.py").write_text(NETWORK)
    (tmp_path / "my_missing.py").write_text("import no_such_package")
    (tmp_path / "my_seeded.py").write_text(
        NETWORK.replace("return nn.Seq", "import torch; torch.manual_seed(0); return nn.Seq")
    )
    X = np.random.default_rng(0).normal(size=(12, 6))
    np.savez("data.npz", inputs=X, labels=np.arange(12) % 3, pairs=[[0, 1]])
    np.savez("bare.npz", X=X)
    np.savez("objects.npz", inputs=np.array([{}], dtype=object))
    np.save("single.npy", X)
    (tmp_path / "text.npz").write_text("no zip")
    np.savez("words.npz", inputs=np.full((12, 6), "one"))
    np.savez("keyword_words.npz", input_x=np.full(12, "one"))
    np.savez("dates.npz", inputs=np.full((12, 6), "2020-01-01", dtype="datetime64[D]"))
    np.savez("no_points.npz", inputs=np.zeros((0, 6)))
    np.savez("word_targets.npz", inputs=X, targets=np.full((12, 3), "one"))
    np.savez("half_pairs.npz", inputs=X, pairs=[[0.5, 1.0]])
    np.savez("nan_pairs.npz", inputs=X, pairs=[[np.nan, 1.0]])
    np.savez("word_pairs.npz", inputs=X, pairs=[["a", "b"]])
    yield tmp_path
    for name in ("my_network", "my_missing", "my_seeded"):
        sys.modules.pop(name, None)


def measured(*arguments) -> int:
    return main(["measure", *arguments, "--out", "diag.nc"])


def test_dataset_is_one_of_the_house(folder, capsys):
    assert measured("my_network:build", "--data", "data.npz", "--residual", "1", "2", "--figures", "figures") == 0
    dataset = datasets.read(folder / "diag.nc")
    assert list(dataset["layer"].values) == ["input", "0", "1", "2", "3"]
    assert {"within_over_between", "kinetic_energy", "radial_fraction", "prediction_alignment"} <= set(dataset)
    assert list(dataset["pair"].values) == ["0-1"]
    assert "5 layers, 12 points" in capsys.readouterr().out
    assert sorted(path.name for path in (folder / "figures").iterdir()) == [
        f"{name}.{suffix}" for name in ("residual_stream", "through_depth") for suffix in ("csv", "json", "png", "svg")
    ]
    assert json.loads((folder / "figures/through_depth.json").read_text())["caption"]


def test_layers_are_chosen(folder):
    assert measured("my_network:build", "--data", "data.npz", "--layers", "0", "3", "--batch-statistics") == 0
    dataset = xr.load_dataset(folder / "diag.nc")
    assert list(dataset["layer"].values) == ["0", "3"]
    assert dataset.attrs["normalized_by"] == "batch statistics"


ERRORS = {
    "my_network": "is not of the form module:function",
    "my_netwrok:build": "no module 'my_netwrok' in",
    "my_network:biuld": "no function 'biuld'; did you mean 'build'?",
    "my_network:zzz": "no function 'zzz'; it has build, nothing",
    "my_network:nothing": "returned a int; it must return a torch.nn.Module",
    "../my_network:build": "'../my_network:build' is not of the form module:function",
    "my_network.py:build": "no module 'my_network.py' in",
    "my_network:build()": "is not of the form module:function",
    "..my_network:build": "is not of the form module:function",
    "my_missing:build": "my_missing imports no_such_package, which is not installed",
}


@pytest.mark.parametrize("maker", ERRORS)
def test_networks_that_cannot_be_made(maker, capsys, folder):
    assert measured(maker, "--data", "data.npz") == 1
    error = capsys.readouterr().err
    assert ERRORS[maker] in error
    assert error.count("\n") == 1
    assert not (folder / "diag.nc").exists()


FILES = {
    "bare.npz": "holds X; expected inputs (or input_NAME for each keyword) and, as wanted, labels, targets, pairs",
    "objects.npz": "not a usable npz file (it holds Python objects",
    "single.npy": "it holds a single array",
    "text.npz": "not a usable npz file",
    "absent.npz": "No such file",
    "words.npz": "words.npz: inputs has type <U3; give numbers",
    "keyword_words.npz": "keyword_words.npz: input_x has type <U3; give numbers",
    "dates.npz": "dates.npz: inputs has type datetime64[D]; give numbers",
    "no_points.npz": "no_points.npz: inputs has shape (0, 6); give one point or more",
    "word_targets.npz": "word_targets.npz: targets has type <U3; give numbers",
    "half_pairs.npz": "half_pairs.npz: pairs has type float64; give indices of points, whole numbers",
    "nan_pairs.npz": "nan_pairs.npz: pairs has type float64; give indices",
    "word_pairs.npz": "word_pairs.npz: pairs has type <U1; give numbers",
}


@pytest.mark.parametrize("file", FILES)
def test_files_that_cannot_be_read(file, capsys):
    assert measured("my_network:build", "--data", file) == 1
    error = capsys.readouterr().err
    assert FILES[file] in error
    assert error.count("\n") == 1


def test_what_cannot_be_measured_is_one_line(capsys):
    assert measured("my_network:build", "--data", "data.npz", "--layers", "9") == 1
    error = capsys.readouterr().err
    assert error.startswith("error: the network has no layer '9'")
    assert error.count("\n") == 1


DEPTHS = {"nan": "is nan; give a finite number", "inf": "is inf; give a finite number", "-1": "effective_depth is -1.0"}


@pytest.mark.parametrize("depth", DEPTHS)
def test_effective_depths_that_are_none(depth, capsys, folder):
    for residual, words in ((("--residual", "1", "2"), DEPTHS[depth]), ((), "the leak of a residual stream")):
        assert measured("my_network:build", "--data", "data.npz", f"--effective-depth={depth}", *residual) == 1
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1
        assert not (folder / "diag.nc").exists()


def test_the_effective_depth_of_the_command_line_is_that_of_the_energies(folder):
    """The kinetic energy is of the rates of change beside the leak; the file says how it was measured."""
    energies = {}
    for depth in (0.0, 2.5):
        arguments = ("--data", "data.npz", "--residual", "1", "2", f"--effective-depth={depth}")
        assert measured("my_seeded:build", *arguments) == 0
        dataset = xr.load_dataset(folder / "diag.nc")
        assert json.loads(dataset.attrs["settings"])["effective_depth"] == depth
        arrays = np.load("data.npz")
        stream = Residual(("1", "2"), depth)
        again = measure(sys.modules["my_seeded"].build(), arrays["inputs"], labels=arrays["labels"], residual=stream)
        energies[depth] = dataset["kinetic_energy"].values
        np.testing.assert_allclose(energies[depth], again["kinetic_energy"], rtol=1e-6)
    assert not np.allclose(energies[0.0], energies[2.5], rtol=0.01)


BUILDERS = {
    "raises": ("raise KeyError('weights')", "my_own:build raised KeyError: 'weights' (my_own.py, line 2)"),
    "divides": ("return 1 / 0", "my_own:build raised ZeroDivisionError: division by zero (my_own.py, line 2)"),
    "says what": ("raise ValueError('two heads')", "my_own:build raised ValueError: two heads (my_own.py, line 2)"),
    "deeper": (
        "return inner()\n\ndef inner():\n    raise RuntimeError('too deep')",
        "my_own:build raised RuntimeError: too deep (my_own.py, line 5)",
    ),
    "in a library": (
        "import statistics; return statistics.mean([])",
        "raised StatisticsError: mean requires at least one data point (my_own.py, line 2)",
    ),
    "syntax": ("return (", "importing my_own raised SyntaxError: '(' was never closed (my_own.py, line 2)"),
    "shapes": (
        "from torch import nn; return nn.Linear(3, 2)",
        "Linear does not take inputs of shape (12, 6), torch.float32: mat1 and mat2 shapes cannot be multiplied",
    ),
}


@pytest.mark.parametrize("case", BUILDERS)
def test_errors_of_the_users_builder_are_theirs_in_one_line(case, folder, capsys):
    body, words = BUILDERS[case]
    (folder / "my_own.py").write_text(f"def build():\n    {body}\n")
    sys.modules.pop("my_own", None)
    try:
        assert measured("my_own:build", "--data", "data.npz") == 1
    finally:
        sys.modules.pop("my_own", None)
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_keyword_inputs_and_measures_on_the_command_line(folder):
    (folder / "my_own.py").write_text(
        "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.map = nn.Linear(6, 4)\n\n    def forward(self, x, mask):\n"
        "        return {'logits': self.map(x) * mask[:, None], 'mask': mask}\n\ndef build():\n    return Net()\n"
    )
    np.savez("keywords.npz", input_x=np.random.default_rng(0).normal(size=(8, 6)), input_mask=np.ones(8))
    try:
        assert measured(
            "my_own:build", "--data", "keywords.npz", "--output", "logits", "--measures", "ranks", "--layers", "map"
        ) == 0  # fmt: skip
    finally:
        sys.modules.pop("my_own", None)
    dataset = xr.load_dataset(folder / "diag.nc")
    assert list(dataset["layer"].values) == ["map"]
    assert "angle" not in dataset


@pytest.mark.parametrize("names", [("ids", "token_type_ids"), ("x", "mask"), ("tuning", "input_x")])
def test_keyword_inputs_keep_their_names_whatever_letters_they_begin_with(names, tmp_path):
    """`input_` is a prefix; letters of it also begin names of usual tokenizers and models."""
    np.savez(
        tmp_path / "data.npz", labels=np.arange(3), **{f"input_{name}": np.full(3, k) for k, name in enumerate(names)}
    )
    arrays = read_arrays(tmp_path / "data.npz")
    assert set(arrays) == {"inputs", "labels"}
    assert {name: values.tolist() for name, values in arrays["inputs"].items()} == {
        name: [k] * 3 for k, name in enumerate(names)
    }


EXAMPLES = {
    "own_network": ("own_network.nc", "own_network.png"),
    "convolutional_network": ("convolutional_network.nc", "similarity.png"),
    "graph_network": ("graph_network.nc", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path):
    script = ROOT / "examples" / f"{name}.py"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error::UserWarning", str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data, figure = EXAMPLES[name]
    dataset = xr.load_dataset(tmp_path / data)
    last = dataset.isel(epoch=-1) if "epoch" in dataset.dims else dataset
    assert float(last["accuracy"]) > 0.7  # chance is a tenth to a third
    assert np.isfinite(last["nc1"]).all()
    assert not figure or (tmp_path / figure).stat().st_size > 10_000


# From a script


def test_a_script_can_measure_and_save_what_the_command_does(folder, capsys):
    words = ("--layers", "1", "2", "--measures", "ranks", "pairs", "--batch-size", "5")
    command.run(["my_seeded:build", "--data", "data.npz", "--out", "one.nc", *words])
    options = {"layers": ["1", "2"], "measures": ["ranks", "pairs"], "batch_size": 5, "output": None}
    options |= {"embeddings": None, "classifier": None, "batch_statistics": False}
    command.measure_and_save("my_seeded:build", Path("data.npz"), Path("other.nc"), **options)
    reference, other = (datasets.read(folder / name) for name in ("one.nc", "other.nc"))
    xr.testing.assert_identical(reference, other)
    line = f"one.nc: 2 layers, 12 points, {len(reference.data_vars)} diagnostics"
    assert capsys.readouterr().out.splitlines()[0] == line
    assert not list(folder.glob("**/*.png"))


def test_heads_are_layers_of_the_file(folder, capsys):
    words = ["--layers", "0", "--measures", "ranks", "--features", "pool"]
    command.run(
        ["my_seeded:build", "--data", "data.npz", "--out", "one.nc", *words, "--channels", "-1", "--heads", "2"]
    )
    found = datasets.read(folder / "one.nc")
    assert found["layer"].values.tolist() == ["0", "0[head 0]", "0[head 1]"]
    sys.path.insert(0, str(folder))
    import my_seeded

    with torch.no_grad():
        A = my_seeded.build()[0].double()(torch.tensor(np.load("data.npz")["inputs"])).numpy()
    for name, part in {"0": A, "0[head 0]": A[:, :4], "0[head 1]": A[:, 4:]}.items():
        s = np.linalg.svd(part, compute_uv=False)
        wanted = np.exp(-np.sum(s / s.sum() * np.log(s / s.sum())))
        np.testing.assert_allclose(found["effective_rank"].sel(layer=name), wanted, rtol=1e-5)
    assert main(["measure", "my_seeded:build", "--data", "data.npz", "--out", "one.nc", *words, "--heads", "2"])
    assert "channels is None; heads are parts of the last axis, give channels=-1" in capsys.readouterr().err


def test_a_file_says_which_network_it_is_of_and_how_it_was_measured(folder):
    command.measure_and_save("my_seeded:build", Path("data.npz"), Path("one.nc"), measures=["ranks"])
    attrs = datasets.read(folder / "one.nc").attrs
    assert (attrs["study"], attrs["experiment"], attrs["code_version"]) == (
        "diagnostics",
        "my_seeded:build",
        "unversioned",
    )
    assert json.loads(attrs["settings"]) == {
        "residual": None,
        "effective_depth": 0.0,
        "features": ["flatten", None, None],
        "measures": ["ranks"],
    }
    assert set(json.loads(attrs["versions"])) == {"numpy", "scipy", "torch", "xarray"}
    assert (attrs["seed"], attrs["device"]) == (0, "cpu")


@pytest.mark.parametrize(
    ("measures", "drawn"),
    [
        (["ranks", "angles"], []),
        (["radial"], ["residual_stream"]),
        (["angles", "ranks", "cost_of_identity"], ["through_depth"]),
    ],
)
def test_figures_are_those_that_the_measures_allow(folder, measures, drawn):
    command.measure_and_save(
        "my_seeded:build", Path("data.npz"), Path("one.nc"), figures=folder / "figures", measures=measures
    )
    assert [path.stem for path in folder.glob("figures/*.svg")] == drawn


def test_what_is_left_out_is_told(folder, capsys):
    np.savez("six.npz", inputs=np.random.default_rng(0).normal(size=(12, 6)), labels=np.arange(12) % 6)
    command.measure_and_save("my_seeded:build", Path("six.npz"), Path("one.nc"))
    line = capsys.readouterr().out.splitlines()[1]
    assert line.startswith("left out: ")
    assert "labels run from 0 to 5 but the network has 3 outputs" in line


def test_a_users_folder_comes_first_and_does_not_stay(folder):
    before = list(sys.path)
    command.measure_and_save("my_seeded:build", Path("data.npz"), Path("one.nc"), measures=["ranks"])
    assert sys.path == before
    assert Path(sys.modules["my_seeded"].__file__).parent == folder


# a folder of checkpoints, and a user who stops


def weights(folder, name, seed, wrap=lambda state: state):
    import torch

    torch.manual_seed(seed)
    namespace = {}
    exec(NETWORK, namespace)
    network = namespace["build"]()
    (folder / "weights").mkdir(exist_ok=True)
    torch.save(wrap(network.state_dict()), folder / "weights" / name)
    return network


def recorded(*arguments):
    return measured(
        "my_network:build", "--data", "data.npz", "--measures", "ranks", "--checkpoints", "weights", *arguments
    )


def test_a_folder_of_checkpoints_is_measured_in_the_order_of_their_numbers(folder, capsys):
    import torch

    def as_lightning(state):
        return {"state_dict": {f"model.{name}": part for name, part in state.items()}, "epoch": 1}

    networks = {10: weights(folder, "step_10.ckpt", 1, as_lightning), 9: weights(folder, "step_9.pt", 0)}
    assert recorded() == 0
    found = xr.load_dataset(folder / "diag.nc")
    assert found["checkpoint"].values.tolist() == [9, 10]
    X = torch.tensor(np.load("data.npz")["inputs"])
    for step, network in networks.items():
        alone = measure(network, X, measures=["ranks"])
        np.testing.assert_allclose(found["effective_rank"].sel(checkpoint=step), alone["effective_rank"], rtol=1e-6)
    assert recorded() == 1
    assert "diag.nc: is there already; give --resume" in capsys.readouterr().err
    weights(folder, "step_11.pt", 2)
    assert recorded("--resume") == 0
    assert xr.load_dataset(folder / "diag.nc")["checkpoint"].values.tolist() == [9, 10, 11]
    printed = capsys.readouterr().out
    assert "step_11.pt: measured" in printed
    assert "step_9.pt" not in printed


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], "holds no checkpoint; expected files that end in .pt"),
        (["last.pt"], "no number in its name"),
        (["a_1.pt", "b_01.pt"], "has the number 01 of a_1.pt"),
    ],
)
def test_folders_that_hold_no_series_of_checkpoints(files, words, folder, capsys):
    (folder / "weights").mkdir()
    for name in files:
        weights(folder, name, 0)
    assert recorded() == 1
    assert words in capsys.readouterr().err


def test_weights_of_another_network_and_files_that_are_none(folder, capsys):
    weights(folder, "step_1.pt", 0, lambda state: {"0.weight": state["0.weight"]})
    assert recorded() == 1
    assert "step_1.pt: the weights do not fit the network" in capsys.readouterr().err
    (folder / "weights" / "step_1.pt").write_text("nothing")
    assert recorded() == 1
    assert "step_1.pt: not a readable file of weights" in capsys.readouterr().err


def test_a_stopped_command_saves_what_it_measured(folder, monkeypatch, capsys):
    from repdyn.diagnostics.methods import collecting

    within, seen = collecting.Layer, []

    def stopping(*arguments):
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return within(*arguments)

    monkeypatch.setattr(collecting, "Layer", stopping)
    assert measured("my_network:build", "--data", "data.npz", "--measures", "ranks") == command.STOPPED
    found = datasets.read(folder / "diag.nc")["effective_rank"]
    assert np.isfinite(found.values).tolist() == [True, True, False, False, False]
    assert "what was measured until it was stopped" in capsys.readouterr().out


def test_the_command_says_in_words_what_the_network_does(folder, capsys):
    assert measured("my_seeded:build", "--data", "data.npz", "--measures", "ranks", "--words") == 0
    printed = capsys.readouterr().out
    assert "Cannot tell whether it has learned these points: the largest class alone would be as often right" in printed
    assert "threshold 0.333; accuracy; Wilson 1927)." in printed


def test_the_command_writes_a_page_with_words_on_weights_before_training_and_held_out_points(folder, capsys):
    weights(folder, "step_0.pt", 0)
    np.savez("others.npz", inputs=np.random.default_rng(1).normal(size=(12, 6)), labels=np.arange(12) % 3)
    more = ("--before", "weights/step_0.pt", "--held-out", "others.npz")
    assert measured("my_network:build", "--data", "data.npz", "--page", "network.html", *more) == 0
    printed = capsys.readouterr().out
    assert "network.html: page" in printed
    assert "threshold" not in printed
    text = (folder / "network.html").read_text(encoding="utf-8")
    assert "it may have learned nothing" in text
    assert "not given" not in text.split("<h2")[0]
    assert "<dt>held-out points</dt><dd>12</dd>" in text
    assert "accuracy_held_out" in xr.load_dataset(folder / "diag.nc")
    assert "<dt>network</dt><dd>my_network:build</dd>" in text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--before", "weights/step_0.pt"), "before is for the words; give words or page, too"),
        (("--words", "--before", "data.npz"), "data.npz: not a readable file of weights"),
        (("--words", "--held-out", "others.npz"), "others.npz: holds no labels"),
    ],
)
def test_what_the_words_compare_with_must_be_usable(more, words, folder, capsys):
    np.savez("others.npz", inputs=np.random.default_rng(1).normal(size=(12, 6)))
    assert measured("my_network:build", "--data", "data.npz", *more) == 1
    assert words in capsys.readouterr().err


def test_words_are_on_the_last_checkpoint_where_all_are_measured_already(folder, capsys):
    networks = [weights(folder, f"step_{step}.pt", step) for step in (9, 10)]
    arrays = np.load("data.npz")
    earlier, last = (
        {str(sentence) for sentence in summarize(network, arrays["inputs"], labels=arrays["labels"])}
        for network in networks
    )
    assert last - earlier
    for more in ((), ("--resume",)):
        assert recorded("--words", *more) == 0
        printed = capsys.readouterr().out
        assert all(sentence in printed for sentence in last)
        assert not any(sentence in printed for sentence in earlier - last)


def test_words_on_a_folder_of_checkpoints_say_what_changed_between_them(folder, capsys):
    from repdyn.diagnostics.training_summary import summarize_training

    for step in range(4):
        weights(folder, f"step_{step}.pt", step)
    assert recorded("--words", "--page", "network.html") == 0
    printed = capsys.readouterr().out
    text = (folder / "network.html").read_text(encoding="utf-8")
    for sentence in summarize_training(xr.load_dataset(folder / "diag.nc")):
        assert str(sentence) in printed
        assert f'<th scope="row">{sentence.topic}</th>' in text
    assert measured("my_network:build", "--data", "data.npz", "--words", "--measures", "ranks") == 0
    assert "training changes" not in capsys.readouterr().out
