"""Datasets with several faults at once, and their files as they are met: older ones, others than ours, damaged."""

import json

import numpy as np
import pytest
import xarray as xr

from repdyn.base.datasets import CHECKSUM, REQUIRED, dataset, problems, read, require, variable, versions_of, write
from repdyn.base.errors import DataError, NotEnoughDataError

ATTRS = dict.fromkeys((*REQUIRED, "title"), "x")


def test_a_file_tells_the_versions_it_was_made_with_and_what_is_none_of_ours_tells_none(tmp_path):
    made = {"torch": "2.4", "numpy": "2.1", "scipy": "1.3"}
    write(xr.Dataset(attrs=ATTRS | {"versions": json.dumps(made)}), tmp_path / "ours.nc")
    xr.Dataset(attrs={"title": "t"}).to_netcdf(tmp_path / "foreign.nc")
    xr.Dataset(attrs={"versions": "two"}).to_netcdf(tmp_path / "words.nc")
    (tmp_path / "text.nc").write_text("no netCDF")
    assert versions_of(tmp_path / "ours.nc") == made
    for name in ("foreign", "words", "text", "missing"):
        assert versions_of(tmp_path / f"{name}.nc") == {}, name


def test_what_is_no_dataset_is_told_apart_from_one_that_is_damaged(tmp_path):
    for name, advice in (("run.csv", "name a dataset (.nc)"), ("run.nc", "delete it and run the same command again")):
        (tmp_path / name).write_text("a,b\n")
        with pytest.raises(DataError) as caught:
            read(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: not a readable netCDF file (")
        assert str(caught.value).endswith(f"); {advice}")


def test_a_file_without_checksums_is_read(tmp_path):
    made = xr.Dataset({"loss": ("run", [0.5, 0.25])}, {"run": [3, 1]}, ATTRS)
    made.to_netcdf(tmp_path / "run.nc")
    xr.testing.assert_identical(read(tmp_path / "run.nc"), made)


def test_each_variable_that_is_not_what_was_written_is_named(tmp_path):
    """Another number, label and truth value under the checksums of those that were written."""
    kinds = {"loss": np.array([0.5, 0.25]), "count": np.array(3), "done": np.array([True, False]), "kept": np.ones(3)}
    kinds |= {"name": np.array([[f"{row} {column}" for column in range(600)] for row in range(2)])}
    sizes = {"done": ("run",), "loss": ("run",), "kept": ("step",), "count": (), "name": ("run", "label")}
    coords = {dim: variable(dim, np.arange(size), dim) for dim, size in (("run", 2), ("step", 3), ("label", 600))}
    made = xr.Dataset({name: variable(dims, kinds[name], name) for name, dims in sizes.items()}, coords, ATTRS)
    write(made, tmp_path / "run.nc")
    stored = xr.load_dataset(tmp_path / "run.nc")
    assert all(CHECKSUM in array.attrs for array in stored.variables.values())
    stored["loss"][1] = 0.125
    stored["count"] = stored["count"] + 1
    stored["done"][0] = False
    stored["name"][1, 300] = "other"
    stored["label"] = stored["label"].copy(data=np.arange(600) + 1)
    stored.to_netcdf(tmp_path / "damaged.nc")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "damaged.nc")
    names = str(caught.value).partition(": damaged, ")[2].partition(" is not what was written")[0].split(", ")
    assert sorted(names) == ["count", "done", "label", "loss", "name"]


def test_all_breaches_are_told_at_once_and_in_order():
    variables = {
        "c": xr.Variable(("run", "step"), np.ones((2, 3)), {"units": "nat"}),
        "a": xr.Variable("run", [1.0, np.nan], {"long_name": "a"}),
        "d": variable(("layer", "run"), np.array([[None, 1]], object), ""),
        "e": variable("run", [np.nan, np.inf], "e"),
        "b": variable("run", [1.0, 2.0], "b", ""),
    }
    variables["e"].attrs["missing"] = "diverged"
    ds = dataset(variables, {"step": variable("step", [0.0, np.inf, 1.0], "step", "epoch")}, title="t")
    lacking = [name for name in REQUIRED if name not in ("study", "seed", "device")]
    gap = "is not finite everywhere and has no attribute 'missing' that says why"
    assert problems(ds.assign_attrs(study="x", seed=1, device="cpu")) == [
        *(f"attribute {name!r} is missing" for name in lacking),
        "dimension 'run' has no coordinate",
        "dimension 'layer' has no coordinate",
        "variable 'c' has no long_name",
        "variable 'a' has no units",
        f"variable 'a' {gap}",
        "variable 'd' has no long_name",
        "variable 'd' has type object",
        "variable 'b' has no units",
        f"variable 'step' {gap}",
    ]


def test_each_of_several_variants_is_asked_for_each_of_several_needs():
    def part(steps, *networks):
        sizes = {"loss": (("step", "network"), np.zeros((steps, len(networks))))}
        return xr.Dataset(sizes, {"network": list(networks), "step": np.arange(steps) / 4})

    data = {"c": part(4, "tanh", "relu"), "a": part(5, "relu", "gelu", "tanh"), "b": part(3, "tanh", "sin", "relu")}
    enough = {"step": 3, "network": ("relu", "tanh"), "variant": ("b", "c")}
    assert require(data, "runs", **enough) is None
    for needs, message in (
        ({"variant": ("b", "d", "a", "e")}, "runs: variant = d, e"),
        ({"step": 4}, "runs b: 4 along step, has 3"),
        ({"network": ("sin", "tanh", "gelu")}, "runs c: network = sin, gelu"),
        ({"step": (0.25, 0.75, 1.0)}, "runs c: step = 1.0"),
        ({"step": 0.75}, "runs b: step = 0.75"),
        ({"variant": 4}, "runs: 4 along variant, has 3"),
        ({"network": 2, "depth": 1}, "runs c: 1 along depth, has 0"),
    ):
        with pytest.raises(NotEnoughDataError) as caught:
            require(data, "runs", **needs)
        assert str(caught.value) == message
