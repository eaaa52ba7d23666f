"""`python -m repdyn measure` and `similarity`, and the example scripts, as a user runs them."""

import html
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from tests.conftest import ROOT

from repdyn.__main__ import STOPPED, main
from repdyn.base import datasets
from repdyn.base.devices import THREAD_VARIABLES
from repdyn.diagnostics import command
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.summary import summarize
from repdyn.diagnostics.training_summary import summarize_training

NETWORK = """
from torch import nn

def build():
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))

def nothing():
    return 3

def leaves():
    raise SystemExit

def goes_elsewhere():
    import os
    os.chdir("/")
    return build()

class Leaving(nn.Linear):
    def forward(self, inputs):
        raise SystemExit

def leaving():
    return Leaving(6, 3)

def dollars():
    network = nn.Sequential()
    for name, layer in (("a$b_{", nn.Linear(6, 8)), ("$\\\\frac$", nn.BatchNorm1d(8)), ("$", nn.Linear(8, 3))):
        network.add_module(name, layer)
    return network
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A user's folder with a module, data, and neither in the list of modules afterwards."""
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, os.environ.get(name, "1"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_network.py").write_text(NETWORK)
    (tmp_path / "my_seeded.py").write_text(
        NETWORK.replace("return nn.Seq", "import torch; torch.manual_seed(0); return nn.Seq")
    )
    X = np.random.default_rng(0).normal(size=(12, 6))
    np.savez("data.npz", inputs=X, labels=np.arange(12) % 3, pairs=[[0, 1]])
    np.savez("bare.npz", X=X)
    np.savez("both.npz", inputs=X, input_x=X)
    torch.save({"other": torch.zeros(2)}, "weights.pt")
    with zipfile.ZipFile("huge.npz", "w") as archive, archive.open("inputs.npy", "w") as array:
        np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": (10**14,)})
    yield tmp_path
    for name in ("my_network", "my_seeded"):
        sys.modules.pop(name, None)


def measured(*arguments) -> int:
    return main(["measure", *arguments, "--out", "diag.nc"])


def test_the_command_writes_a_dataset_and_figures(folder, capsys):
    assert measured("my_network:build", "--data", "data.npz", "--residual", "1", "2", "--figures", "figures") == 0
    dataset = datasets.read(folder / "diag.nc")
    assert list(dataset["layer"].values) == ["input", "0", "1", "2", "3"]
    assert {"within_over_between", "kinetic_energy", "radial_fraction", "prediction_alignment"} <= set(dataset)
    assert list(dataset["pair"].values) == ["0-1"]
    assert str(len(dataset.data_vars)) in capsys.readouterr().out
    assert {path.stem for path in (folder / "figures").iterdir()} == {"residual_stream", "through_depth"}


NET, DATA = "my_network:build", ("--data", "data.npz")
STREAM = ("--residual", "1", "2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("my_network:biuld", *DATA), "'biuld'; did you mean 'build'"),
        (("my_network:leaves", *DATA), "my_network:leaves raised SystemExit"),
        (("my_network:leaving", *DATA), "Leaving does not take inputs"),
        ((NET, "--data", "huge.npz"), "huge.npz"),
        ((NET, *DATA, "--words", "--before", "absent.pt"), "absent.pt"),
        ((NET, *DATA, "--figures", "my_network.py"), "my_network.py is no folder"),
        ((NET, *DATA, "--page", "my_network.py/page.html"), "my_network.py is no folder"),
        ((NET, "--data", "bare.npz"), "bare.npz"),
        ((NET, "--data", "absent.npz"), "absent.npz"),
        ((NET, *DATA, "--layers", "9"), "'9'"),
        ((NET, *DATA, *STREAM, "--effective-depth=nan"), "nan"),
        ((NET, *DATA, *STREAM, "--effective-depth=inf"), "inf"),
        ((NET, *DATA, *STREAM, "--effective-depth=-1"), "-1.0"),
        ((NET, *DATA, "--effective-depth=2"), "residual"),
        ((NET, *DATA, "--features", "pool", "--heads", "2"), "channels"),
        ((NET, *DATA, "--before", "weights/step_0.pt"), "before"),
        ((NET, *DATA, "--words", "--held-out", "bare.npz"), "bare.npz"),
        ((NET, *DATA, "--words", "--before", "weights.pt"), "weights.pt: no weights of Sequential"),
        ((NET, *DATA, "--resume"), "checkpoints"),
        ((NET, *DATA, "--figures", "data.npz"), "figures: data.npz"),
        ((NET, *DATA, "--output", "logits"), "output='logits'"),
        ((NET, "--data", "both.npz"), "inputs and input_x"),
        ((NET, "--data", "weights.pt"), "weights.pt"),
    ],
)
def test_mistakes_end_with_one_line_and_leave_no_file(words, message, capsys, folder):
    assert measured(*words) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "diag.nc").exists()


def test_files_are_written_where_the_command_began(folder):
    assert measured("my_network:goes_elsewhere", *DATA) == 0
    assert (folder / "diag.nc").is_file()


def test_words_figures_and_a_page_need_no_dataset(folder, capsys):
    assert main(["measure", NET, *DATA, "--words", "--page", "network.html", "--figures", "figures"]) == 0
    assert (folder / "network.html").is_file()
    assert (folder / "figures/through_depth.svg").is_file()
    assert not list(folder.glob("*.nc"))
    for missing in ((), ("--words", "--checkpoints", str(folder))):
        assert main(["measure", NET, *DATA, *missing]) == 1
        assert "error: out is missing" in capsys.readouterr().err


def test_names_of_layers_with_dollars_are_no_formulas(folder):
    assert measured("my_network:dollars", *DATA, "--page", "network.html", "--figures", "figures") == 0
    assert main(["similarity", "my_network:dollars", *DATA, "--out", "similar.nc", "--figure", "map"]) == 0
    for shown in ("figures/through_depth.svg", "map.svg", "network.html"):
        assert all(name in (folder / shown).read_text() for name in ("a$b_{", r"$\frac$"))


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


def test_measure_and_save_writes_the_file_of_the_command(folder):
    words = ("--layers", "1", "2", "--measures", "ranks", "pairs", "--batch-size", "5")
    command.run(["my_seeded:build", "--data", "data.npz", "--out", "one.nc", *words])
    options = {"layers": ["1", "2"], "measures": ["ranks", "pairs"], "batch_size": 5, "output": None}
    options |= {"embeddings": None, "classifier": None, "batch_statistics": False}
    command.measure_and_save("my_seeded:build", Path("data.npz"), Path("other.nc"), **options)
    reference, other = (datasets.read(folder / name) for name in ("one.nc", "other.nc"))
    xr.testing.assert_identical(reference, other)
    assert not list(folder.glob("**/*.png"))


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


# a folder of checkpoints, and a user who stops


def weights(folder, name, seed, wrap=lambda state: state):

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
    assert "diag.nc" in capsys.readouterr().err
    weights(folder, "step_11.pt", 2)
    assert recorded("--resume") == 0
    assert xr.load_dataset(folder / "diag.nc")["checkpoint"].values.tolist() == [9, 10, 11]
    printed = capsys.readouterr().out
    assert "step_11.pt" in printed
    assert "step_9.pt" not in printed


def test_resuming_measures_what_the_file_lacks_and_what_was_written_anew(folder, capsys):
    def values():
        found = xr.load_dataset(folder / "diag.nc")["effective_rank"]
        return {step: found.sel(checkpoint=step).values for step in found["checkpoint"].values.tolist()}

    def alone(network):
        X = torch.tensor(np.load("data.npz")["inputs"])
        return measure(network, X, measures=["ranks"])["effective_rank"].values

    networks = {step: weights(folder, f"step_{step}.pt", step) for step in (10, 30)}
    assert recorded() == 0
    networks |= {step: weights(folder, f"step_{step}.pt", step) for step in (5, 20)}
    networks[30] = weights(folder, "step_30.pt", 3)
    (folder / "weights" / "step_10.pt").unlink()  # as trainers do that keep the last few
    capsys.readouterr()
    assert recorded("--resume") == 0
    printed = capsys.readouterr().out
    assert [f"step_{step}.pt: measured" in printed for step in (5, 10, 20, 30)] == [True, False, True, True]
    found = values()
    assert list(found) == [5, 10, 20, 30]
    for step, network in networks.items():
        np.testing.assert_allclose(found[step], alone(network), rtol=1e-6, err_msg=str(step))
    assert recorded("--resume") == 0
    assert "measured" not in capsys.readouterr().out
    (folder / "weights" / "step_20.pt").rename(folder / "weights" / "step_21.pt")
    assert recorded("--resume") == 1
    assert "step_21.pt" in capsys.readouterr().err


def test_a_recording_says_whether_it_is_of_the_weights_or_of_their_averages(folder):
    both = {name: torch.zeros_like(part) for name, part in weights(folder, "step_1.pt", 0).state_dict().items()}
    weights(folder, "step_1.pt", 1, lambda state: {"state_dict": state, "ema": both})
    assert recorded() == 0
    weights(folder, "step_2.pt", 2, lambda state: {"ema": state})
    assert recorded("--resume", "--page", "network.html") == 0
    taken = json.loads(xr.load_dataset(folder / "diag.nc").attrs["checkpoint_weights"])
    assert "of 'state_dict'; left: all of 'ema'" in taken["1"]
    assert "of 'ema'" in taken["2"]
    page = html.unescape((folder / "network.html").read_text())
    assert all(text in page for text in taken.values())


def test_checkpoints_that_cannot_be_read_end_with_their_name(folder, capsys):
    weights(folder, "step_1.pt", 0, lambda state: {"0.weight": state["0.weight"]})
    assert recorded() == 1
    assert "step_1.pt" in capsys.readouterr().err
    weights(folder, "last.pt", 0)
    assert recorded() == 1
    assert "last.pt" in capsys.readouterr().err
    assert measured(NET, *DATA, "--words", "--before", "data.npz") == 1
    assert "data.npz" in capsys.readouterr().err


def test_an_interrupted_command_saves_the_finished_layers(folder, monkeypatch):
    from repdyn.diagnostics.methods import collecting

    within, seen = collecting.Layer, []

    def stopping(*arguments):
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return within(*arguments)

    monkeypatch.setattr(collecting, "Layer", stopping)
    assert measured("my_network:build", "--data", "data.npz", "--measures", "ranks") == STOPPED
    found = datasets.read(folder / "diag.nc")["effective_rank"]
    assert np.isfinite(found.values).tolist() == [True, True, False, False, False]


def test_the_command_writes_a_page_with_held_out_points_and_weights_before_training(folder):
    weights(folder, "step_0.pt", 0)
    np.savez("others.npz", inputs=np.random.default_rng(1).normal(size=(12, 6)), labels=np.arange(12) % 3)
    more = ("--before", "weights/step_0.pt", "--held-out", "others.npz")
    assert measured("my_network:build", "--data", "data.npz", "--page", "network.html", *more) == 0
    accuracy = float(xr.load_dataset(folder / "diag.nc")["accuracy_held_out"])
    assert f"{accuracy:.4g}" in (folder / "network.html").read_text(encoding="utf-8")


def test_words_are_about_the_last_checkpoint_where_all_are_measured_already(folder, capsys):
    networks = [weights(folder, f"step_{step}.pt", step) for step in (9, 10)]
    arrays = np.load("data.npz")
    values = [
        {f"{sentence.interval.value:.3g}" for sentence in summarize(network, arrays["inputs"], labels=arrays["labels"])}
        for network in networks
    ]
    assert values[0] != values[1]
    for more in ((), ("--resume",)):
        assert recorded("--words", *more) == 0
        printed = capsys.readouterr().out
        assert any(value in printed for value in values[1] - values[0])


def test_words_about_a_folder_of_checkpoints_have_the_verdicts_of_the_recording(folder):
    for step in range(4):
        weights(folder, f"step_{step}.pt", step)
    assert recorded("--words", "--page", "network.html") == 0
    text = (folder / "network.html").read_text(encoding="utf-8")
    sentences = summarize_training(xr.load_dataset(folder / "diag.nc"))
    assert all(sentence.topic in text for sentence in sentences)


NETWORKS = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))

def wider():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 3))

def longer():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(12, 5), nn.ReLU())
"""


@pytest.fixture
def networks(tmp_path, monkeypatch):
    """A module of two architectures, points, and weights of other runs of the first, in a user's folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_networks.py").write_text(NETWORKS)
    np.savez("data.npz", inputs=np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32))
    sys.path.insert(0, str(tmp_path))
    import my_networks

    for seed in (1, 2):
        model = my_networks.build()
        torch.manual_seed(seed)
        torch.nn.init.normal_(model[0].weight)
        torch.save(model.state_dict(), f"seed_{seed}.pt")
    yield my_networks
    sys.path.remove(str(tmp_path))
    sys.modules.pop("my_networks", None)


def similarity(*words):
    return main(["similarity", "my_networks:build", "--data", "data.npz", "--out", "similar.nc", *words])


def test_another_architecture_and_the_band_of_reruns(networks, capsys):
    assert (
        similarity("--against", "my_networks:wider", "--reruns", "seed_1.pt", "seed_2.pt", "--figure", "similar") == 0
    )
    first, other = networks.build(), networks.wider()
    runs = [networks.build(), networks.build()]
    for model, seed in zip(runs, (1, 2), strict=True):
        model.load_state_dict(torch.load(f"seed_{seed}.pt"))
    wanted = compare(first, other, torch.tensor(np.load("data.npz")["inputs"]), reruns=runs)
    with xr.open_dataset("similar.nc") as found:
        xr.testing.assert_allclose(found, wanted)
        assert found.attrs["experiment"] == "my_networks:build"
        settings = json.loads(found.attrs["settings"])
    expected = {"weights": None, "against": "my_networks:wider", "reruns": ["seed_1.pt", "seed_2.pt"]}
    assert {name: settings[name] for name in expected} == expected
    value = float(wanted["cka_debiased"].sel(layer="0", other_layer="0"))
    low, high = (float(getattr(wanted["cka_debiased_of_runs"].sel(layer="0"), end)()) for end in ("min", "max"))
    printed = capsys.readouterr().out
    assert all(f"{number:.3f}" in printed for number in (value, low, high))
    assert found.sizes["runs"] == 3


def test_a_checkpoint_is_a_file_of_weights(networks):
    assert (
        similarity("--against", "seed_1.pt", "--weights", "seed_1.pt", "--measures", "angular", "--layers", "0", "1")
        == 0
    )
    with xr.open_dataset("similar.nc") as found:
        assert set(found.data_vars) == {"angular"}
        assert found["layer"].values.tolist() == ["0", "1"]
        np.testing.assert_allclose(np.diag(found["angular"]), 0, atol=1e-3)
        settings = json.loads(found.attrs["settings"])
    expected = {"weights": "seed_1.pt", "against": "seed_1.pt", "layers": ["0", "1"], "measures": ["angular"]}
    assert {name: settings[name] for name in expected} == expected


def test_minibatches_and_a_device(networks):
    words = ("--measures", "cka_minibatch", "cka", "--batch-size", "5", "--most-points", "9", "--device", "cpu")
    assert similarity("--against", "my_networks:wider", "--layers", "0", *words) == 0
    points = torch.tensor(np.load("data.npz")["inputs"])
    options = {"measures": ["cka_minibatch", "cka"], "batch_size": 5, "most_points": 9}
    wanted = compare(networks.build(), networks.wider(), points, ["0"], **options)
    with xr.open_dataset("similar.nc") as found:
        xr.testing.assert_allclose(found, wanted)
        settings = json.loads(found.attrs["settings"])
        assert (settings["batch_size"], settings["most_points"], found.attrs["device"]) == (5, 9, "cpu")
    whole = compare(networks.build(), networks.wider(), points, ["0"], measures=["cka_minibatch"])
    assert abs(float(whole["cka_minibatch"].item() - wanted["cka_minibatch"].item())) > 0.01


def test_the_other_network_takes_the_points_in_a_form_of_its_own(networks):
    X, labels = np.load("data.npz")["inputs"], np.arange(12) % 3
    np.savez("more.npz", inputs=np.hstack([X, X**2]), labels=labels)
    assert similarity("--against", "my_networks:longer", "--other-data", "more.npz", "--layers", "0") == 0
    wanted = compare(networks.build(), networks.longer(), X, ["0"], other_inputs=np.hstack([X, X**2]))
    with xr.open_dataset("similar.nc") as found:
        xr.testing.assert_allclose(found, wanted)
    np.savez("data.npz", inputs=X, labels=labels[::-1])
    assert similarity("--against", "my_networks:longer", "--other-data", "more.npz", "--layers", "0") == 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--against", "seed_9.pt"], "seed_9.pt"),
        (["--against", "my_networks:deeper"], "deeper"),
        (["--measures", "ckaa"], "'ckaa'"),
        (["--layers", "7"], "7"),
        (["--device", "gpu"], "'gpu'"),
        (["--measures", "cka_minibatch", "--batch-size", "3"], "cka_minibatch"),
    ],
)
def test_mistakes_end_with_one_line_and_leave_no_file_of_similarity(networks, capsys, tmp_path, words, reason):
    assert similarity(*words) == 1
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
    assert not (tmp_path / "similar.nc").exists()
