"""Checkpoints keep finished trials and nothing else."""

from contextlib import suppress

import numpy as np
import pytest
import xarray as xr

from repdyn.base import checkpoints
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.files import atomic


def test_trials_come_back_and_the_file_goes(tmp_path):
    first = Checkpoint(tmp_path / "kept", "job")
    first.put("depth2-seed0", {"accuracy": np.array([0.1, 0.2]), "rank": 3.0})
    second = Checkpoint(tmp_path / "kept", "job")
    np.testing.assert_array_equal(second.get("depth2-seed0")["accuracy"], [0.1, 0.2])
    assert second.get("depth2-seed0")["rank"] == 3.0
    assert second.get("depth2-seed1") is None
    other = Checkpoint(tmp_path / "kept", "other job")
    other.put("trial", {"x": 1.0})
    second.remove()
    assert other.path.is_dir()
    other.remove()
    assert list(tmp_path.iterdir()) == []


def test_another_job_finds_nothing(tmp_path):
    Checkpoint(tmp_path, "job").put("trial", {"x": 1.0})
    assert Checkpoint(tmp_path, "job with other settings").trials == {}


def test_a_corrupted_file_costs_its_trial_alone(tmp_path, capsys):
    kept = Checkpoint(tmp_path, "job")
    kept.put("good", {"x": np.arange(3)})
    kept.put("bad", {"x": np.arange(1000)})
    file = kept._file("bad")
    whole = file.read_bytes()
    for damaged in (b"", b"not a zip", whole[: len(whole) // 2]):
        file.write_bytes(damaged)
        assert set(Checkpoint(tmp_path, "job").trials) == {"good"}
        assert "cannot be read" in capsys.readouterr().err


def test_a_file_that_a_kill_left_half_written_is_passed_over_in_silence(tmp_path, capsys):
    kept = Checkpoint(tmp_path, "job")
    kept.put("trial", {"x": np.arange(3)})
    with suppress(KeyboardInterrupt), atomic(kept._file("killed")) as temporary:
        temporary.write_bytes(b"half a zip")
        assert len(list(kept.path.iterdir())) == 2
        assert set(Checkpoint(tmp_path, "job").trials) == {"trial"}
        raise KeyboardInterrupt
    assert "cannot be read" not in capsys.readouterr().err


@pytest.mark.slow
def test_no_byte_can_change_what_a_trial_was(tmp_path, capsys):
    """Whatever byte is damaged: the trial comes back as it was, or not at all."""
    kept, rng = Checkpoint(tmp_path, "job"), np.random.default_rng(0)
    trial = kept.put("trial", {"x": np.arange(20), "n": 3})
    (file,) = kept.path.iterdir()
    whole = bytearray(file.read_bytes())
    for _ in range(500):
        place, value = rng.integers(len(whole)), rng.integers(1, 256)
        file.write_bytes(whole[:place] + bytes([whole[place] ^ value]) + whole[place + 1 :])
        restored = Checkpoint(tmp_path, "job").get("trial")
        if restored is not None:
            assert set(restored) == set(trial)
            assert all(np.array_equal(restored[key], trial[key]) for key in trial)
    assert "cannot be read" in capsys.readouterr().err


def rewritten(kept, name, **changes):
    """Writes a trial's file again as somebody else might, other entries of the archive replaced."""
    file = kept._file(name)
    with np.load(file) as stored:
        entries = dict(stored) | changes
    np.savez(file, **entries)


@pytest.mark.parametrize(
    "changes",
    [
        {"/x": np.arange(3.0) + 1},
        {"/x": np.arange(3)},
        {"/x": np.arange(3.0)[:, None]},
        {"/y": np.arange(3.0)},
        {"seal": np.array(["other", "0" * 64])},
    ],
    ids=["another number", "another type", "another shape", "one more array", "another seal"],
)
def test_a_file_that_is_whole_but_not_what_was_written_is_refused(tmp_path, capsys, changes):
    kept = Checkpoint(tmp_path, "job")
    kept.put("trial", {"x": np.arange(3.0)})
    rewritten(kept, "trial")
    assert set(Checkpoint(tmp_path, "job").trials) == {"trial"}
    rewritten(kept, "trial", **changes)
    assert Checkpoint(tmp_path, "job").trials == {}
    assert "cannot be read (not what was written)" in capsys.readouterr().err


def test_the_name_of_a_trial_is_under_its_seal(tmp_path):
    kept = Checkpoint(tmp_path, "job")
    kept.put("seed 0", {"x": np.arange(3.0)})
    with np.load(kept._file("seed 0")) as stored:
        entries = dict(stored)
    np.savez(kept._file("seed 1"), **entries | {"seal": np.array(["seed 1", entries["seal"][1]])})
    np.savez(kept._file("seed 2"), **entries)
    assert set(Checkpoint(tmp_path, "job").trials) == {"seed 0"}


def test_a_file_of_another_job_is_refused_even_in_this_ones_folder(tmp_path):
    first, second = Checkpoint(tmp_path, "seed 1"), Checkpoint(tmp_path, "seed 2")
    first.put("trial", {"x": 1.0})
    second.path.mkdir()
    second._file("trial").write_bytes(first._file("trial").read_bytes())
    assert Checkpoint(tmp_path, "seed 2").trials == {}
    assert set(Checkpoint(tmp_path, "seed 1").trials) == {"trial"}


def test_a_half_written_file_is_not_read(tmp_path, monkeypatch):
    kept = Checkpoint(tmp_path, "job")
    kept.put("done", {"x": 1.0})
    whole = kept._file("done").read_bytes()

    def killed(file, **arrays):
        file.write_bytes(whole)
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", killed)
    with pytest.raises(KeyboardInterrupt):
        kept.put("half", {"x": 2.0})
    (kept.path / ".half.npz.host.1.part.npz").write_bytes(whole)
    assert set(Checkpoint(tmp_path, "job").trials) == {"done"}


def test_other_versions_of_packages_resume_nothing(tmp_path, monkeypatch):
    Checkpoint(tmp_path, "job").put("trial", {"x": 1.0})
    assert set(Checkpoint(tmp_path, "job").trials) == {"trial"}
    monkeypatch.setattr(checkpoints, "package_versions", lambda *names: '{"numpy": "99"}')
    assert Checkpoint(tmp_path, "job").trials == {}


def test_a_dropped_trial_is_gone(tmp_path):
    kept = Checkpoint(tmp_path, "job")
    kept.put("unfinished", {"x": 1.0})
    kept.drop("unfinished")
    assert kept.get("unfinished") is None
    assert Checkpoint(tmp_path, "job").trials == {}


def test_a_trial_writes_itself_alone(tmp_path):
    """What is kept of a hundred trials costs a hundred writes of one, not five thousand."""
    kept = Checkpoint(tmp_path, "job")
    kept.put("first", {"x": np.arange(10)})
    (first,) = kept.path.iterdir()
    before = first.stat().st_mtime_ns
    kept.put("second", {"x": np.arange(10)})
    assert first.stat().st_mtime_ns == before


def test_pickles_are_not_loaded(tmp_path, capsys):
    kept = Checkpoint(tmp_path, "job")
    kept.path.mkdir()
    np.savez(kept._file("trial"), **{"/x": np.array([{"a": 1}], dtype=object), "seal": np.array(["trial", ""])})
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
