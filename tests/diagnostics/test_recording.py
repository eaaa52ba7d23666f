"""Recordings in memory and in files: bit-neutral trainings, kills, resumption."""

import gc
import os
import signal
import subprocess
import sys
import weakref

import netCDF4
import numpy as np
import pytest
import torch
import xarray as xr
from tests.conftest import ROOT
from tests.diagnostics.networks import counted
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.base.errors import DataError
from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods.recording import Series, aligned, load, missing_moment

FIRST = xr.Dataset(
    {"units": ("layer", [3, 4]), "stable_rank": ("layer", [1.5, 2.5]), "loss": 0.5},
    {"layer": ["a", "b"]},
    {"left_out": ""},
)


def test_a_later_moment_is_put_in_the_order_of_the_first_along_every_dimension():
    classes = {"layer": ["a", "b", "c"], "class": [1, 4, 6]}
    first = xr.Dataset({"sectors": (("layer", "class"), np.zeros((3, 3))), "loss": 1.0}, classes)
    values = np.arange(9.0).reshape(3, 3)
    moment = xr.Dataset(
        {"loss": 0.5, "sectors": (("layer", "class"), values)}, {"layer": ["a", "b", "c"], "class": [6, 1, 9]}
    )
    later = aligned(moment, first)
    assert list(later.data_vars) == ["sectors", "loss"]
    np.testing.assert_array_equal(later["sectors"], np.array([values[:, 1], [np.nan] * 3, values[:, 0]]).T)
    assert float(later["loss"]) == 0.5


TIME = "hours (of 3+)"  # a name with signs that patterns would read differently
SERIES = Series(TIME, "h")
STEPS, TEXTS = [0.5, 2.5, 30.0, 1e7], ["", "ranks (a, b): too wide; loss: none", "", "all: lost"]


def moments():
    return [
        FIRST.assign(stable_rank=number * FIRST["stable_rank"], loss=1.0 / number).assign_attrs(left_out=text)
        for number, text in enumerate(TEXTS, 1)
    ]


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[::-1], ["a: b"] * 4, [""] * 4, ["a: b", "a: b", "c: d", "a: b"]])
def test_a_file_equals_the_joined_moments_and_is_cut_at_any_step(texts, tmp_path):
    path = tmp_path / "found.nc"
    parts = [part.assign_attrs(left_out=text) for part, text in zip(moments(), texts, strict=True)]
    SERIES.create(path, parts[0], STEPS[0])
    for written, (part, step) in enumerate(zip(parts[1:], STEPS[1:], strict=True), 1):
        SERIES.append(path, part, step, written)
    xr.testing.assert_identical(load(path, TIME), SERIES.joined(parts, STEPS))
    xr.testing.assert_identical(load(path), load(path, TIME))
    for count in (3, 2, 1):
        SERIES.cut(path, STEPS[count])
        xr.testing.assert_identical(load(path, TIME), SERIES.joined(parts[:count], STEPS[:count]))
        whole = SERIES.extended(load(path, TIME), parts[count:], STEPS[count:])
        xr.testing.assert_identical(whole, SERIES.joined(parts, STEPS))
    SERIES.append(path, parts[3], 99.0, 1)
    whole = SERIES.joined([parts[0], parts[3]], [STEPS[0], 99.0])
    xr.testing.assert_identical(load(path, TIME), whole)
    SERIES.cut(path, 0.0)
    assert not path.exists()


def test_a_changed_bit_in_any_moment_is_seen(tmp_path):
    path = tmp_path / "found.nc"
    for written, (part, step) in enumerate(zip(moments(), STEPS, strict=True)):
        SERIES.create(path, part, step) if not written else SERIES.append(path, part, step, written)
    content = path.read_bytes()
    for part in moments():
        place = content.index(part["stable_rank"].values.tobytes())
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DataError, match=r"found\.nc: not a readable"):
            load(path, TIME)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (0, 3, 1), (0, 3, 2)])
def test_whole_numbers_and_truth_values_are_missing_in_a_gap(tmp_path, order):
    values = {"constant": ("layer", [0, 1]), "numerical_rank": ("layer", [3, 0]), "flag": ("layer", [True, False])}
    first = xr.Dataset(values | {"truth": True}, {"layer": ["a", "b"]}, {"left_out": ""})
    kinds = [first, missing_moment(first, "all: lost"), aligned(first.isel(layer=[1]), first)]
    kinds.append(aligned(first.drop_vars(["flag", "truth", "constant"]), first))
    parts = [kinds[number] for number in order]
    series = Series("step")
    series.create(tmp_path / "found.nc", parts[0], 0)
    for at in (1, 2):
        series.append(tmp_path / "found.nc", parts[at], at, at)
    wanted = series.joined(parts, range(3))
    for found in (load(tmp_path / "found.nc"), xr.load_dataset(tmp_path / "found.nc")):
        for name, recorded in wanted.data_vars.items():
            np.testing.assert_array_equal(found[name].astype(float), recorded.astype(float))
            gaps = np.array([np.broadcast_to(part[name].isnull(), recorded.shape[1:]) for part in parts])
            np.testing.assert_array_equal(found[name].isnull(), gaps)


def test_files_that_are_no_recording_are_refused(tmp_path):
    (tmp_path / "text.nc").write_text("nothing")
    for name in ("text.nc", "absent.nc"):
        with pytest.raises(DataError, match=name):
            load(tmp_path / name)
    Series("hour", "h").create(tmp_path / "hours.nc", moments()[0], 0.5)
    with pytest.raises(DataError, match=r"hours\.nc.*step"):
        load(tmp_path / "hours.nc", "step")


LABELS = np.arange(8) % 2


def points():
    return torch.randn(8, 4, generator=torch.Generator().manual_seed(0))


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3), nn.Linear(6, 2))


def trained(kind, *, recorded):
    """AdamW with a schedule, shuffled batches, accumulated gradients, in one of three ways."""
    model = network()
    run = torch.compile(model, backend="eager") if kind == "compiled" else model
    loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.arange(24) % 2), batch_size=4, shuffle=True)
    recorder = Recorder(run, loader if kind == "loader" else points(), labels=None if kind == "loader" else LABELS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    for epoch in range(2):
        for step, (x, y) in enumerate(loader):
            with torch.autocast("cpu", torch.bfloat16, enabled=kind == "mixed"):
                loss = nn.functional.cross_entropy(run(x), y)
                if recorded and step % 3 == 1:
                    recorder(10 * epoch + step)  # between forward and backward, inside autocast
                loss = loss + nn.functional.cross_entropy(run(x), y)
            loss.backward()
            if step % 2:
                optimizer.step()
                optimizer.zero_grad()
        schedule.step()
    return model.state_dict(), torch.get_rng_state()


@pytest.mark.parametrize("kind", ["plain", "mixed", "compiled", "loader"])
def test_a_recorded_training_is_the_same_to_the_bit(kind):
    alone, recorded = trained(kind, recorded=False), trained(kind, recorded=True)
    assert all(torch.equal(alone[0][name], part) for name, part in recorded[0].items())
    assert torch.equal(alone[1], recorded[1])


def test_a_file_grows_and_is_resumed(tmp_path):
    path, model = tmp_path / "found.nc", network()
    whole = Recorder(model, points(), labels=LABELS)
    first = Recorder(model, points(), labels=LABELS, file=path)
    for step in (0, 5):
        whole(step)
        first(step)
        assert xr.load_dataset(path).sizes["step"] == len(first.steps)
    with pytest.raises(DataError, match=r"found\.nc.*resume"):
        Recorder(model, points(), labels=LABELS, file=path)
    second = Recorder(model, points(), labels=LABELS, file=path, resume=True)
    with pytest.raises(ValueError, match=r"5.*5"):
        second(5)
    with torch.no_grad():
        model[0].weight.mul_(2)
    whole(9)
    second(9)
    xr.testing.assert_identical(second.dataset(), whole.dataset())
    second.rewind(5)
    second(6)
    assert second.dataset()["step"].values.tolist() == [0, 6]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"inputs": points()[:6], "labels": LABELS[:6]}, "labels, points"),
        ({"inputs": points() + 1e-6}, "points"),
        ({"labels": 1 - LABELS}, "labels"),
        ({"measures": ["ranks", "pairs"]}, "measures"),
        ({"layers": ["0"]}, "layers"),
        ({"model": nn.Sequential(nn.Linear(4, 7), nn.ReLU(), nn.Linear(7, 2))}, "network"),
    ],
)
def test_a_series_is_resumed_of_the_same_points_network_and_options_only(tmp_path, change, what):
    same = {"model": network(), "inputs": points(), "labels": LABELS, "measures": ["ranks"]}
    same |= {"file": tmp_path / "found.nc"}
    Recorder(**same)(0)
    before = (tmp_path / "found.nc").read_bytes()
    with pytest.raises(DataError, match=rf"found\.nc: {what} differ"):
        Recorder(**same | change, resume=True)
    assert (tmp_path / "found.nc").read_bytes() == before
    Recorder(**same, progress=False, resume=True)(1)  # changes no number


def test_moments_that_cannot_be_written_wait_and_do_not_end_the_training(tmp_path):
    folder = tmp_path / "there"
    whole, recorder = Recorder(network(), points()), Recorder(network(), points(), file=folder / "found.nc")
    for step in range(4):
        whole(step)
    recorder(0)
    folder.rename(tmp_path / "gone")
    folder.write_text("a file in place of the folder")
    for step in (1, 2):
        with pytest.warns(UserWarning, match=f"cannot be written.*{step} moments wait"):
            recorder(step)
    folder.unlink()
    (tmp_path / "gone").rename(folder)
    recorder(3)
    assert xr.load_dataset(folder / "found.nc").sizes["step"] == 4
    xr.testing.assert_identical(recorder.dataset(), whole.dataset())


def test_a_moment_whose_writing_is_stopped_is_written_with_the_next(tmp_path, monkeypatch):
    recorder = Recorder(network(), points(), file=tmp_path / "found.nc")
    recorder(0)
    before = (tmp_path / "found.nc").read_bytes()
    with monkeypatch.context() as stopped:
        stopped.setattr(netCDF4, "Dataset", interrupted)
        with pytest.raises(KeyboardInterrupt):
            recorder(1)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]
    recorder(2)
    assert xr.load_dataset(tmp_path / "found.nc")["step"].values.tolist() == [0, 1, 2]


def test_a_full_disk_at_the_first_moment_names_the_file_and_loses_no_step(tmp_path, monkeypatch):
    recorder = Recorder(network(), points(), file=tmp_path / "found.nc")
    with monkeypatch.context() as full:
        full.setattr(xr.Dataset, "to_netcdf", lambda *_, **__: no_room())
        with pytest.raises(DataError, match=r"found\.nc: cannot be written \(HDF error\)"):
            recorder(0)
    assert list(tmp_path.iterdir()) == []
    recorder(0)
    assert recorder.dataset()["step"].values.tolist() == [0]


def no_room():
    raise RuntimeError("HDF error")  # netCDF's error on a full disk


def test_a_logger_that_fails_later_ends_no_training():
    logged = []

    def log(values, step):
        if step == 1:
            raise OSError("no connection")
        logged.append(step)

    recorder = Recorder(network(), points(), logger=log)
    recorder(0)
    with pytest.warns(UserWarning, match="no connection; step 1 is recorded, not logged"):
        recorder(1)
    recorder(2)
    assert (logged, recorder.dataset()["step"].values.tolist()) == ([0, 2], [0, 1, 2])


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_two_recorders_on_one_file_lose_nothing(tmp_path):
    one, other = (Recorder(network(), points(), file=tmp_path / "found.nc") for _ in range(2))
    one(0)
    with pytest.raises(DataError, match="another recorder"):
        other(0)
    third = Recorder(network(), points(), file=tmp_path / "found.nc", resume=True)
    third(1)
    with pytest.warns(UserWarning, match="2 moments for 1; another recorder"):
        one(1)
    assert xr.load_dataset(tmp_path / "found.nc").sizes["step"] == 2


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize(("step", "kept"), [(0, []), (2, [0]), (3, [0, 2]), (9, [0, 2, 4, 6, 8])])
def test_a_rewound_recorder_has_the_moments_before_the_step(tmp_path, step, kept, in_file):
    recorder = Recorder(network(), points(), measures=["ranks"], file=tmp_path / "found.nc" if in_file else None)
    for moment in (0, 2, 4, 6, 8):
        recorder(moment)
    recorder.rewind(step)
    recorder(step)
    assert recorder.dataset()["step"].values.tolist() == [*kept, step]


def test_the_file_of_a_killed_training_holds_all_moments(tmp_path):
    script = (
        "import torch, os, signal\nfrom torch import nn\nfrom repdyn.diagnostics.measure import Recorder\n"
        "model = nn.Linear(4, 2)\nrecorder = Recorder(model, torch.randn(5, 4), file='found.nc', measures=['ranks'])\n"
        "for step in range(3):\n    recorder(step)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert xr.load_dataset(tmp_path / "found.nc")["step"].values.tolist() == [0, 1, 2]


def test_failed_measurements_do_not_end_a_training(tmp_path):
    """A layer that no longer runs, numbers that diverged, a network that fails: missing numbers."""
    model = network()
    recorder = Recorder(model, points(), labels=LABELS, file=tmp_path / "found.nc")
    recorder(0)
    weights = {name: part.clone() for name, part in model.state_dict().items()}
    with torch.no_grad():
        model[4].weight[0, 0] = torch.nan
    recorder(1)
    model.load_state_dict(weights)
    found = recorder(2)
    assert found.attrs["left_out"] == recorder.first.attrs["left_out"]
    xr.testing.assert_equal(found, recorder.first)
    del model[4]
    recorder(3)
    model.append(nn.Linear(99, 2))
    recorder(4)
    dataset = recorder.dataset()
    assert dataset["effective_rank"].sel(layer="4").isnull().values.tolist() == [False, True, False, True, True]
    assert dataset["effective_rank"].sel(layer="0").isnull().values.tolist() == [False, False, False, False, True]
    assert "step 1: layer (4, output)" in dataset.attrs["left_out"]
    assert "step 4: all" in dataset.attrs["left_out"]
    assert dataset["numerical_rank"].dtype == float


# what does not change with the weights is found once


def test_a_later_moment_takes_one_pass_over_the_points():
    model = network()
    passes = counted(model)
    recorder = Recorder(model, points(), labels=LABELS, measures=["accuracy", "loss", "ranks"])
    recorder(0)
    assert {2, 3} < set(passes)  # which axis of each layer counts points
    passes.clear()
    recorder(1)
    assert passes == [8]


def changed_type(recorder):
    recorder.model.double()


def changed_layer(recorder):
    recorder.model[2] = nn.Identity()


def another_model(recorder):
    torch.manual_seed(5)
    recorder.model = nn.Sequential(nn.Linear(4, 9), nn.Linear(9, 6), nn.ReLU(), nn.Dropout(0.3), nn.Linear(6, 2))


@pytest.mark.parametrize("change", [changed_type, changed_layer, another_model])
def test_a_network_that_changes_between_moments_is_measured_as_it_is_then(change):
    recorder = Recorder(network(), points(), labels=LABELS, measures=["ranks", "angles", "accuracy"])
    first = recorder(0)
    change(recorder)
    second = recorder(1)
    alone = measure(recorder.model, points(), labels=LABELS, measures=["ranks", "angles", "accuracy"])
    there = [name for name in first["layer"].values.tolist() if name in alone["layer"]]
    assert len(there) > 2
    np.testing.assert_array_equal(second["units"].sel(layer=there), alone["units"].sel(layer=there))
    np.testing.assert_array_equal(second["effective_rank"].sel(layer=there), alone["effective_rank"].sel(layer=there))
    assert float(second["accuracy"]) == float(alone["accuracy"])


def test_a_recorder_does_not_keep_a_network_alive():
    model = network()
    recorder = Recorder(model, points(), labels=LABELS, measures=["accuracy"])
    recorder(0)
    gone = weakref.ref(model)
    del model, recorder
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("filed", [True, False])
def test_moments_are_put_at_their_place_and_anew(filed, tmp_path):
    """As when all were recorded in order; what cannot be measured at one step has its reason there alone."""
    X = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    models = {step: nn.Sequential(nn.Linear(4, 3), nn.ReLU()) for step in (1, 2, 3, 5)}
    with torch.no_grad():
        models[2][0].weight.fill_(torch.nan)
    recorded = []
    for number, order in enumerate([(1, 2, 3, 5), (3, 5, 1, 2, 3)]):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        file = tmp_path / f"{number}.nc" if filed else None
        recorder = Recorder(model, X, measures=["ranks", "loss"], labels=np.arange(12) % 3, file=file)
        for at, step in enumerate(order):
            model.load_state_dict(models[step if number == 0 or at != 0 else 1].state_dict())  # then anew
            recorder.insert(step)
        recorded.append(recorder.dataset())
        assert recorder.steps == [1, 2, 3, 5]
    assert "step 2: " in recorded[0].attrs["left_out"]
    xr.testing.assert_identical(*recorded)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_a_step_between_whole_ones_is_recorded_as_it_is(stored, resume, tmp_path):
    options = {"file": tmp_path / "found.nc" if stored else None, "measures": ["ranks"]}
    recorder, given = Recorder(network(), points(), **options), [1, torch.tensor(2), np.float32(2.5), 3, 4.25]
    for at, step in enumerate(given):
        if resume and stored and at == 2:
            recorder = Recorder(network(), points(), resume=True, **options)
        recorder(step)
    recorder.insert(torch.tensor(3))  # again
    recorder.insert(1.5)
    assert recorder.dataset()["step"].values.tolist() == [1, 1.5, 2, 2.5, 3, 4.25]
    recorder.rewind(torch.tensor(2.5))
    assert recorder.dataset()["step"].values.tolist() == [1, 1.5, 2]
