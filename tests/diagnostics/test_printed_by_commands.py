"""All that `measure` and `similarity` print and write, line by line, on three checkpoints, sentences and figures."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from repdyn.__main__ import main
from repdyn.base.devices import THREAD_VARIABLES
from repdyn.diagnostics import command, similarity_command
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.methods import own_network
from repdyn.diagnostics.summary import Sentence

POINTS = np.random.default_rng(0).normal(size=(12, 6)).astype(np.float32)
SAID = [Sentence("learned", "cannot tell", "Cannot tell"), Sentence("collapse", "yes", "Classes collapse")]
TRAINING = [Sentence("rank over time", "no", "No rank changes"), Sentence("odd point over time", "yes", "One is odd")]
STEPS = (10, 9, 100)


def build(seed=0, *, constant=False):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    if constant:
        nn.init.zeros_(model[0].weight)
        nn.init.ones_(model[0].bias)
    return model


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A user's folder with three checkpoints; sentences that are given, and what was asked for, drawn and written."""
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", inputs=POINTS)
    (tmp_path / "weights").mkdir()
    for step in STEPS:
        torch.save(build(step).state_dict(), f"weights/step_{step}.pt")
    monkeypatch.setattr(own_network, "made_by", lambda name: build(constant=name == "my:constant"))
    asks = SimpleNamespace(folder=tmp_path, models=[], saved=[], pages=[])

    def summarize(model, *_, **options):
        asks.models.append((model[0].weight.detach().clone(), options["before"]))
        return list(SAID)

    for name, stand_in in {
        "summary.summarize": summarize,
        "training_summary.summarize_training": lambda _dataset: list(TRAINING),
        "page.write_page": lambda *arguments: asks.pages.append(arguments),
        "figures.network.draw_all": lambda _dataset: {"ranks": 1, "angles": 2, "energies": 3},
    }.items():
        monkeypatch.setattr(f"repdyn.diagnostics.{name}", stand_in)
    monkeypatch.setattr("repdyn.base.figures.save", lambda figure, path: asks.saved.append((figure, str(path))))
    return asks


def printed(capsys, words):
    assert main(f"measure my:net --data data.npz --out one.nc --measures ranks {words}".split()) == 0
    return capsys.readouterr().out.splitlines()


def diagnostics(name="one.nc"):
    return len(xr.load_dataset(name).data_vars)


def test_of_one_moment_the_command_prints_its_size_sentences_page_and_figures(asked, capsys):
    lines = printed(capsys, "--layers 0 2 --words --page my.html --figures drawn/here")
    assert lines == [
        f"one.nc: 2 layers, 12 points, {diagnostics()} diagnostics",
        "Classes collapse. Cannot tell.",
        "my.html: page",
        "drawn/here: figures",
    ]
    ((path, dataset, sentences),) = asked.pages
    assert (str(path), sentences) == ("my.html", SAID)
    xr.testing.assert_equal(dataset, xr.load_dataset("one.nc"))
    assert asked.saved == [(1, "drawn/here/ranks"), (2, "drawn/here/angles"), (3, "drawn/here/energies")]
    assert [before for _, before in asked.models] == [None]
    assert json.loads(dataset.attrs["settings"])["layers"] == ["0", "2"]
    assert "progress" not in json.loads(dataset.attrs["settings"])


def test_without_words_and_page_nothing_is_summarized(asked, capsys):
    assert printed(capsys, "--layers 0") == [f"one.nc: 1 layers, 12 points, {diagnostics()} diagnostics"]
    assert asked.models == asked.pages == asked.saved == []


def test_what_is_left_out_is_printed_whole(asked, capsys, monkeypatch):
    monkeypatch.setattr(own_network, "made_by", lambda _name: build(constant=True).append(nn.Flatten(0)))
    lines = printed(capsys, "--page my.html")
    left_out = xr.load_dataset("one.nc").attrs["left_out"]
    assert lines[1:] == [f"left out: {left_out}", "my.html: page"]
    assert left_out


@pytest.mark.parametrize("begun", [False, True])
def test_of_checkpoints_the_command_prints_those_it_measures_and_what_changed(asked, capsys, begun):
    """They are measured in the order of their numbers, and the words are on the last one."""
    checkpoints = [f"weights/step_{step}.pt: measured" for step in (9, 10, 100)]
    if begun:
        (asked.folder / "weights/step_100.pt").rename("later.pt")
        assert printed(capsys, "--checkpoints weights")[:-1] == checkpoints[:2]
        (asked.folder / "later.pt").rename("weights/step_100.pt")
    lines = printed(capsys, f"--checkpoints weights --words --page my.html {'--resume' * begun}")
    assert lines == [
        *checkpoints[2 * begun :],
        f"one.nc: 4 layers, 12 points, {diagnostics()} diagnostics",
        "Classes collapse. One is odd. No rank changes. Cannot tell.",
        "my.html: page",
    ]
    ((_, dataset, sentences),) = asked.pages
    assert sentences == [*SAID, *TRAINING]
    assert dataset["checkpoint"].values.tolist() == [9, 10, 100]
    assert dataset.attrs["experiment"] == "my:net"
    ((weight, _),) = asked.models
    np.testing.assert_array_equal(weight, build(100)[0].weight.detach())


def test_weights_before_training_are_of_a_network_of_its_own(asked, capsys):
    printed(capsys, "--checkpoints weights --page my.html --before weights/step_10.pt")
    ((weight, before),) = asked.models
    np.testing.assert_array_equal(weight, build(100)[0].weight.detach())
    np.testing.assert_array_equal(before[0].weight.detach(), build(10)[0].weight.detach())


@pytest.mark.parametrize("depth", ["nan", "inf", "-inf"])
def test_depths_that_are_no_numbers_are_refused(asked, capsys, depth):
    words = f"measure my:net --data data.npz --out one.nc --residual 0 1 --effective-depth={depth}"
    assert main(words.split()) == 1
    assert capsys.readouterr().err == f"error: effective_depth is {depth}; give a finite number\n"


def test_a_command_that_was_stopped_says_which_file_has_what_there_is(asked, capsys, monkeypatch):
    from repdyn.diagnostics.methods.progress import Interrupted

    whole = command.signed(xr.Dataset({"a": ("b", [1.0])}), "my:net", {})

    def stopped(*_, **__):
        raise Interrupted(whole)

    written = []
    monkeypatch.setattr("repdyn.diagnostics.measure.measure", stopped)
    monkeypatch.setattr("repdyn.base.datasets.write", lambda dataset, path: written.append((dataset, str(path))))
    assert main(["measure", "my:net", "--data", "data.npz", "--out", "one.nc"]) == command.STOPPED
    assert capsys.readouterr().out == "one.nc: what was measured until it was stopped\n"
    ((dataset, path),) = written
    assert (path, dataset["a"].item(), dataset.attrs["experiment"]) == ("one.nc", 1, "my:net")


# similarity


def test_similarity_prints_what_is_left_out_and_every_layer_that_both_have(asked, capsys):
    words = (
        "--against my:constant --layers 0 2 input --other-layers input 1 2 --measures cka --reruns weights/step_9.pt"
    )
    assert main(f"similarity my:net --data data.npz --out two.nc {words}".split()) == 0
    found = compare(
        build(), build(constant=True), torch.tensor(POINTS), ["0", "2", "input"], other_layers=["input", "1", "2"],
        measures=["cka"], reruns=[build(9)],
    )  # fmt: skip
    run = [float(found["cka_of_runs"].sel(layer=name).item()) for name in ("input", "2")]
    assert capsys.readouterr().out.splitlines() == [
        "two.nc: 3 x 3 layers, cka",
        f"left out: {found.attrs['left_out']}",
        "linear CKA, biased, same layer in both networks",
        f"  input{'1.000':>27}   between runs {run[0]:.3f} to {run[0]:.3f}",
        f"  2{'nan':>31}   between runs {run[1]:.3f} to {run[1]:.3f}",
    ]
    assert found.attrs["left_out"].startswith("other, 1: all points are the same")
    assert xr.load_dataset("two.nc").attrs["device"] == "cpu"


def test_a_file_of_weights_may_have_a_colon_in_its_name(asked):
    first = build()
    torch.save(build(5).state_dict(), "run:5.pt")
    other = similarity_command._network("run:5.pt", first)
    np.testing.assert_array_equal(other[0].weight.detach(), build(5)[0].weight.detach())
    np.testing.assert_array_equal(first[0].weight.detach(), build()[0].weight.detach())
