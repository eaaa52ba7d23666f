"""Checkpoints keep finished trials and nothing else."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.checkpoints import Checkpoint


def test_trials_come_back_and_the_file_goes(tmp_path):
    first = Checkpoint(tmp_path, "job")
    first.put("depth2-seed0", {"accuracy": np.array([0.1, 0.2]), "rank": 3.0})
    second = Checkpoint(tmp_path, "job")
    np.testing.assert_array_equal(second.get("depth2-seed0")["accuracy"], [0.1, 0.2])
    assert second.get("depth2-seed0")["rank"] == 3.0
    assert second.get("depth2-seed1") is None
    second.remove()
    assert list(tmp_path.iterdir()) == []


def test_another_job_finds_nothing(tmp_path):
    Checkpoint(tmp_path, "job").put("trial", {"x": 1.0})
    assert Checkpoint(tmp_path, "job with other settings").trials == {}


def test_a_corrupted_file_is_told_and_ignored(tmp_path, capsys):
    kept = Checkpoint(tmp_path, "job")
    kept.put("trial", {"x": np.arange(1000)})
    whole = kept.path.read_bytes()
    for damaged in (b"", b"not a zip", whole[: len(whole) // 2]):
        kept.path.write_bytes(damaged)
        assert Checkpoint(tmp_path, "job").trials == {}
        assert "cannot be read" in capsys.readouterr().err


def test_pickles_are_not_loaded(tmp_path, capsys):
    kept = Checkpoint(tmp_path, "job")
    tmp_path.mkdir(exist_ok=True)
    np.savez(kept.path, **{"trial/x": np.array([{"a": 1}], dtype=object)})
    assert Checkpoint(tmp_path, "job").trials == {}
    assert "cannot be read" in capsys.readouterr().err


def finished():
    """A dataset with what diagnostics put into theirs: texts, attributes of numpy's, a coordinate beside the index."""
    values = {"loss": ("seed", np.array([0.5, 0.25]), {"units": "1", "n": np.int64(3), "range": np.array([0.0, 1.0])})}
    coords = {"seed": [0, 1], "layer": ("seed", np.array(["input", "layers.0"], dtype=object)), "depth": 4.0}
    return xr.Dataset(values, coords, {"title": "t"})


def test_a_dataset_comes_back_as_it_was(tmp_path):
    first = Checkpoint(tmp_path, "job").dataset("plain", finished)
    again = Checkpoint(tmp_path, "job").dataset("plain", lambda: pytest.fail("made again"))
    xr.testing.assert_identical(first, again)
    xr.testing.assert_equal(first, finished())
    assert list(first.coords) == list(finished().coords)
    assert first["loss"].attrs == {"units": "1", "n": 3, "range": [0.0, 1.0]}
    assert first["layer"].dtype.kind == "U"


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory = Checkpoint(None, "job")
    memory.put("trial", {"x": 1.0})
    memory.remove()
    assert list(tmp_path.iterdir()) == []
