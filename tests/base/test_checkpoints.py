"""Checkpoints store finished trials and nothing else."""

import time
from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr

from repdyn.base import checkpoints
from repdyn.base.checkpoints import Checkpoint, groups
from repdyn.base.settings import Many, Settings


def test_cached_trials_are_read_until_removed(tmp_path):
    first = Checkpoint(tmp_path / "kept", "job")
    first.put("depth2-seed0", {"accuracy": np.array([0.1, 0.2]), "rank": 3.0})
    second = Checkpoint(tmp_path / "kept", "job")
    np.testing.assert_array_equal(second.get("depth2-seed0")["accuracy"], [0.1, 0.2])
    assert second.get("depth2-seed0")["rank"] == 3.0
    assert second.get("depth2-seed1") is None
    other = Checkpoint(tmp_path / "kept", "other job")
    other.put("trial", {"x": 1.0})
    second.remove()
    assert not second.path.exists()
    assert other.get("trial")["x"] == 1.0


def test_groups_contain_every_number_once():
    assert [list(group) for group in groups(5, 2)] == [[0, 1], [2, 3], [4]]
    assert list(groups(6, 2))[:2] == list(groups(5, 2))[:2]
    assert not list(groups(0, 2))


def test_corrupted_file_invalidates_only_its_trial(tmp_path, capsys):
    kept = Checkpoint(tmp_path, "job")
    kept.put("good", {"x": np.arange(3)})
    kept.put("bad", {"x": np.arange(1000)})
    file = kept._file("bad")
    whole = file.read_bytes()
    for damaged in (b"", b"not a zip", whole[: len(whole) // 2]):
        file.write_bytes(damaged)
        assert set(Checkpoint(tmp_path, "job").trials) == {"good"}
        assert str(file) in capsys.readouterr().err


@pytest.mark.slow
def test_any_changed_byte_invalidates_a_trial(tmp_path, capsys):
    """Whatever byte is damaged, the trial is read unchanged or not at all."""
    kept, rng = Checkpoint(tmp_path, "job"), np.random.default_rng(0)
    trial = kept.put("trial", {"x": np.arange(20), "n": 3})
    (file,) = kept.path.glob("*.npz")
    whole = bytearray(file.read_bytes())
    for _ in range(500):
        place, value = rng.integers(len(whole)), rng.integers(1, 256)
        file.write_bytes(whole[:place] + bytes([whole[place] ^ value]) + whole[place + 1 :])
        restored = Checkpoint(tmp_path, "job").get("trial")
        if restored is not None:
            assert set(restored) == set(trial)
            assert all(np.array_equal(restored[key], trial[key]) for key in trial)


def rewritten(kept, name, **changes):
    """Rewrites a trial's file with some entries of the archive replaced."""
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
def test_intact_file_with_other_content_is_rejected(tmp_path, capsys, changes):
    kept = Checkpoint(tmp_path, "job")
    kept.put("trial", {"x": np.arange(3.0)})
    rewritten(kept, "trial")
    assert set(Checkpoint(tmp_path, "job").trials) == {"trial"}
    rewritten(kept, "trial", **changes)
    assert Checkpoint(tmp_path, "job").trials == {}


def test_file_of_another_job_is_rejected(tmp_path):
    first, second = Checkpoint(tmp_path, "seed 1"), Checkpoint(tmp_path, "seed 2")
    first.put("trial", {"x": 1.0})
    second.path.mkdir()
    second._file("trial").write_bytes(first._file("trial").read_bytes())
    assert Checkpoint(tmp_path, "seed 2").trials == {}
    assert set(Checkpoint(tmp_path, "seed 1").trials) == {"trial"}


def test_partial_file_is_not_read(tmp_path, monkeypatch):
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


def test_trials_of_other_package_versions_are_not_read(tmp_path, monkeypatch):
    Checkpoint(tmp_path, "job").put("trial", {"x": 1.0})
    assert set(Checkpoint(tmp_path, "job").trials) == {"trial"}
    monkeypatch.setattr(checkpoints, "package_versions", lambda *names: '{"numpy": "99"}')
    assert Checkpoint(tmp_path, "job").trials == {}


def test_pickles_are_not_loaded(tmp_path, capsys):
    kept = Checkpoint(tmp_path, "job")
    kept.path.mkdir()
    objects = np.array([{"a": 1}], dtype=object)
    np.savez(kept._file("trial"), **{"/x": objects, "made": np.zeros(2), "seal": np.array(["trial", ""])})
    assert Checkpoint(tmp_path, "job").trials == {}


def finished():
    """A dataset as in diagnostics: texts, numpy attributes, a coordinate in addition to the index."""
    values = {"loss": ("seed", np.array([0.5, 0.25]), {"units": "1", "n": np.int64(3), "range": np.array([0.0, 1.0])})}
    coords = {"seed": [0, 1], "layer": ("seed", np.array(["input", "layers.0"], dtype=object)), "depth": 4.0}
    return xr.Dataset(values, coords, {"title": "t"})


def test_dataset_is_restored_exactly(tmp_path):
    first = Checkpoint(tmp_path, "job").dataset("plain", finished)
    again = Checkpoint(tmp_path, "job").dataset("plain", lambda: pytest.fail("made again"))
    xr.testing.assert_identical(first, again)
    xr.testing.assert_equal(first, finished())
    assert list(first.coords) == list(finished().coords)
    assert first["loss"].attrs == {"units": "1", "n": 3, "range": [0.0, 1.0]}
    assert first["layer"].dtype.kind == "U"


def test_read_trials_are_counted_with_their_original_cost(tmp_path, monkeypatch):
    clock = iter([0.0, 6.0, 7.0])
    monkeypatch.setattr(checkpoints.time, "process_time", lambda: next(clock))
    first = Checkpoint(tmp_path, "job")
    first.put_all({"a": {"x": 1.0}, "b": {"x": 2.0}})
    again = Checkpoint(tmp_path, "job")
    assert again.get("a")["x"] == 1.0
    assert again.get("c") is None
    assert (again.tally.read, again.tally.computed, again.tally.seconds) == (1, 0, 3.0)
    assert (first.tally.read, first.tally.computed) == (0, 2)


def test_forced_job_ignores_earlier_trials(tmp_path):
    Checkpoint(tmp_path, "job").put("trial", {"x": 1.0})
    assert Checkpoint(tmp_path, "job", since=time.time() + 60).get("trial") is None
    assert Checkpoint(tmp_path, "job", since=time.time() - 60).get("trial") is not None


@dataclass(frozen=True)
class Shape:
    """What a trial may depend on."""

    width: int
    inputs: np.ndarray


class Layers(Settings):
    """Settings that a trial may depend on."""

    widths: Many[int]
    rate: float


OWN = {
    "number": (0.1, 0.2),
    "tenth digit": (0.3, 0.30000000004),
    "array": (np.arange(3.0), np.arange(3.0) + 1e-16 * np.array([0, 1, 8])),
    "type": (np.arange(3), np.arange(3.0)),
    "shape": (np.arange(4.0), np.arange(4.0).reshape(2, 2)),
    "dataclass": (Shape(3, np.ones(2)), Shape(4, np.ones(2))),
    "array in a dataclass": (Shape(3, np.ones(2)), Shape(3, np.zeros(2))),
    "text": ("1", 1),
    "names": ({"rate": 1.0}, {"rates": 1.0}),
    "last of several names": ({"rate": 1.0, "b": 2, "a": 3}, {"rate": 1.0, "b": 2, "a": 4}),
    "last of a list": ([1, 2, [3, 4]], [1, 2, [3, 5]]),
    "last of a tuple": ((1, 2, 3), (1, 2, 4)),
    "number of numpy's": (np.float64(0.5), np.float64(0.25)),
    "nothing": (None, 0),
    "settings": (Layers(widths=(3, 1, 2), rate=0.5), Layers(widths=(3, 1, 4), rate=0.5)),
}


@pytest.mark.parametrize("own", OWN)
def test_trials_with_different_settings_have_different_keys(own, tmp_path):
    one, other = OWN[own]
    kept = Checkpoint(tmp_path, "job")
    kept.of(one).put("trial", {"x": 1.0})
    assert kept.of(other).get("trial") is None
    assert kept.get("trial") is None
    assert kept.of(one).get("trial") is not None
    assert kept.of(one).of(2).get("trial") is None


@pytest.mark.parametrize("value", [object(), Shape, {1, 2}, 1j, [3, object()]], ids=lambda value: type(value).__name__)
def test_settings_without_exact_text_are_rejected(tmp_path, value):
    with pytest.raises(TypeError, match=type(value[-1] if isinstance(value, list) else value).__name__):
        Checkpoint(tmp_path, "job").of("first", value)


def test_arrays_keep_their_memory_layout(tmp_path):
    """Matrix products in another memory order round differently, so that a run would depend on what was read."""
    odd = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    kept = Checkpoint(tmp_path, "job").put("trial", {"x": odd, "n": 3})
    read = Checkpoint(tmp_path, "job").get("trial")
    assert kept["x"].strides == read["x"].strides
    assert kept["n"].shape == read["n"].shape == ()
