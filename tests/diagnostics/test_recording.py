"""Moments of a recording in a file and in memory."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.errors import DataError
from repdyn.diagnostics.methods.recording import aligned, append, create, cut, joined, load, nothing_of

FIRST = xr.Dataset(
    {"units": ("layer", [3, 4]), "stable_rank": ("layer", [1.5, 2.5]), "loss": 0.5},
    {"layer": ["a", "b"]},
    {"left_out": ""},
)


def test_moments_are_joined_along_the_time_of_the_recording():
    moments = [FIRST, FIRST.assign(stable_rank=2 * FIRST["stable_rank"], loss=0.25), nothing_of(FIRST, "all: lost")]
    whole = joined(moments, [0.0, 5.0, 20.0], "hour", "h")
    assert whole["stable_rank"].dims == ("hour", "layer")
    np.testing.assert_array_equal(whole["stable_rank"], [[1.5, 2.5], [3.0, 5.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(whole["loss"], [0.5, 0.25, np.nan])
    assert whole["units"].dims == ("layer",)
    assert whole["hour"].values.tolist() == [0.0, 5.0, 20.0]
    assert (whole["hour"].attrs["units"], whole.attrs["time"]) == ("h", "hour")
    assert whole.attrs["left_out"] == "hour 20: all: lost"


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
STEPS, TEXTS = [0.5, 2.5, 30.0, 1e7], ["", "ranks (a, b): too wide; loss: none", "", "all: lost"]


def moments():
    return [
        FIRST.assign(stable_rank=number * FIRST["stable_rank"], loss=1.0 / number).assign_attrs(left_out=text)
        for number, text in enumerate(TEXTS, 1)
    ]


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[::-1], ["a: b"] * 4, [""] * 4, ["a: b", "a: b", "c: d", "a: b"]])
def test_a_file_holds_what_joined_moments_hold_and_is_cut_at_any_step(texts, tmp_path):
    path = tmp_path / "found.nc"
    parts = [part.assign_attrs(left_out=text) for part, text in zip(moments(), texts, strict=True)]
    create(path, parts[0], STEPS[0], TIME, "h")
    for part, step in zip(parts[1:], STEPS[1:], strict=True):
        append(path, part, step, TIME)
    xr.testing.assert_identical(load(path, TIME), joined(parts, STEPS, TIME, "h"))
    xr.testing.assert_identical(load(path), load(path, TIME))
    for count in (3, 2, 1):
        cut(path, STEPS[count], TIME)
        xr.testing.assert_identical(load(path, TIME), joined(parts[:count], STEPS[:count], TIME, "h"))
    append(path, parts[3], 99.0, TIME)
    whole = joined([parts[0], parts[3]], [STEPS[0], 99.0], TIME, "h")
    xr.testing.assert_identical(load(path, TIME), whole)
    cut(path, 0.0, TIME)
    assert not path.exists()


def test_counts_are_whole_numbers_where_none_is_missing(tmp_path):
    ranks = [xr.Dataset({"numerical_rank": ("layer", part)}, {"layer": ["a", "b"]}, {"left_out": ""}) for part in
             ([2, 3], [4.0, 1.0], [np.nan, 1.0])]  # fmt: skip
    path = tmp_path / "found.nc"
    create(path, ranks[0], 0, "step", "1")
    append(path, ranks[1], 1, "step")
    assert load(path)["numerical_rank"].dtype == np.int64
    append(path, ranks[2], 2, "step")
    assert load(path)["numerical_rank"].dtype == float
    np.testing.assert_array_equal(load(path)["numerical_rank"], [[2, 3], [4, 1], [np.nan, 1]])


def test_files_that_are_no_recording_are_refused(tmp_path):
    (tmp_path / "text.nc").write_text("nothing")
    for name in ("text.nc", "absent.nc"):
        with pytest.raises(DataError, match=name):
            load(tmp_path / name)
    create(tmp_path / "hours.nc", moments()[0], 0.5, "hour", "h")
    with pytest.raises(DataError, match=r"hours\.nc.*step"):
        load(tmp_path / "hours.nc", "step")
