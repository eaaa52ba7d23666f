"""`python -m repdyn similarity`: runs, seeds, checkpoints and architectures in one command."""

import json
import sys

import numpy as np
import pytest
import torch
import xarray as xr

from repdyn.__main__ import main
from repdyn.diagnostics.compare import compare

NETWORKS = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))

def wider():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Linear(20, 3))
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
def test_mistakes_end_with_one_line_and_leave_no_file(networks, capsys, tmp_path, words, reason):
    assert similarity(*words) == 1
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
    assert not (tmp_path / "similar.nc").exists()
