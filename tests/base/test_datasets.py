"""Datasets: each violated convention, equal bytes from any process and folder, every kind of invalid file."""

import json
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import repdyn
from repdyn.base.datasets import (
    CHECKSUM,
    CONVENTIONS,
    DIVERGED,
    LEFT_OUT,
    REQUIRED,
    dataset,
    explain_gaps,
    inherit,
    left_out,
    problems,
    read,
    require,
    require_finite,
    said_to_have_diverged,
    variable,
    versions_of,
    without_a_number,
    write,
)
from repdyn.base.errors import DataError, NotEnoughDataError

SOURCE = Path(repdyn.__file__).parents[1]

HERE = Path(__file__).parent


def make(size=20):
    """A dataset with every kind of variable; other processes import it from this file."""
    rng = np.random.default_rng(5)
    variables = {
        "loss": variable(("seed", "step"), rng.standard_normal((3, size)), "loss", "nat"),
        "kept": variable("step", rng.random(size) < 0.5, "1 if kept"),
        "count": variable((), 3, "points"),
        "label": variable("seed", np.array(["none", "all of it", "ω"]), "what"),
        "gap": variable("seed", np.array([0.1, np.nan, np.inf]), "gap"),
    }
    variables["gap"].attrs["missing"] = "no fixed point"
    coords = {name: variable(name, np.arange(n), name) for name, n in (("seed", 3), ("step", size))}
    run = dataset(variables, coords, title="A run")
    return run.assign_attrs(dict.fromkeys(REQUIRED, "x") | {"seed": 1})


def elsewhere(code, *arguments, **run):
    """Runs code that uses this file in a separate process."""
    environment = {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(HERE)])} | run.pop("env", {})
    command = [sys.executable, "-c", f"import sys, test_datasets\n{code}", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, **run)


@pytest.fixture
def file(tmp_path):
    write(make(), tmp_path / "run.nc")
    return tmp_path / "run.nc"


# Conventions


@pytest.mark.parametrize("name", [*REQUIRED, "title"])
def test_every_attribute_is_required(name):
    run = make()
    del run.attrs[name]
    (problem,) = problems(run)
    assert name in problem


def with_gap(run, value, **attrs):
    return run.assign(gap=xr.Variable("seed", [0.1, value, 1.0], {"long_name": "gap", "units": "1"} | attrs))


def with_attrs(run, name, **attrs):
    run[name].attrs |= attrs
    return run


OBJECTS = np.array([None, "a", 1], dtype=object)
BREACHES = [  # change, the variable or dimension in the message
    (lambda run: run.drop_vars("step"), "step"),
    (lambda run: with_attrs(run, "loss", units=""), "loss"),
    (lambda run: with_attrs(run, "loss", long_name=""), "loss"),
    (lambda run: with_attrs(run, "step", units=""), "step"),
    (lambda run: run.assign(label=variable("seed", OBJECTS, "what")), "label"),
    (lambda run: with_gap(run, np.nan), "gap"),
    (lambda run: with_gap(run, np.inf), "gap"),
]


@pytest.mark.parametrize(("spoil", "name"), BREACHES)
def test_invalid_dataset_is_reported_and_not_written(tmp_path, spoil, name):
    run = spoil(make())
    (problem,) = problems(run)
    assert name in problem
    with pytest.raises(DataError, match=f"run.nc.*{name}"):
        write(run, tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []
    assert problems(with_gap(make(), np.nan, missing="no fixed point")) == []


# Round trip and bytes


def test_dataset_is_read_as_written(file):
    expected = make().assign_attrs(Conventions=CONVENTIONS)
    xr.testing.assert_identical(read(file), expected)
    assert read(file)["loss"].dtype == np.float64
    assert read(file)["kept"].dtype == bool


def test_bytes_do_not_depend_on_process_and_folder(file, tmp_path):
    other = tmp_path / "another folder"
    other.mkdir()
    env = {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "HOME": str(other), "USER": "other"}
    code = "test_datasets.write(test_datasets.make(), sys.argv[1])"
    done = elsewhere(code, "run.nc", cwd=other, env=env)
    assert done.returncode == 0, done.stderr
    assert (other / "run.nc").read_bytes() == file.read_bytes()


# Invalid files


def test_missing_file_error_names_the_command_that_creates_it(tmp_path):
    with pytest.raises(DataError, match=r"no\.nc"):
        read(tmp_path / "no.nc")


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def text(path):
    path.write_text("epoch,loss\n1,0.5\n")


def damaged_among_the_names(path):
    overwrite(path, path.stat().st_size // 3, path.stat().st_size - 200)


def damaged_among_the_numbers(path):
    """The file opens, but the compressed numbers cannot be unpacked."""
    write(make(size=20_000), path)
    overwrite(path, path.stat().st_size // 2, path.stat().st_size // 2 + 1000)


def overwrite(path, start, end):
    content = bytearray(path.read_bytes())
    content[start:end] = bytes(end - start)
    path.write_bytes(bytes(content))


DAMAGES = [truncated, empty, text, damaged_among_the_names, damaged_among_the_numbers]


@pytest.mark.parametrize("spoil", DAMAGES)
def test_damaged_file_error_has_advice(file, spoil):
    spoil(file)
    with pytest.raises(DataError, match=r"run\.nc"):
        read(file)


def test_foreign_file_error_lists_missing_attributes(tmp_path):
    xr.Dataset({"a": ("i", [1, 2])}, attrs={"title": "t", "study": "s"}).to_netcdf(tmp_path / "foreign.nc")
    with pytest.raises(DataError, match=r"foreign\.nc.*seed"):
        read(tmp_path / "foreign.nc")


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    test_datasets.write(test_datasets.make(size=20_000), sys.argv[1])
except test_datasets.DataError as error:
    print(error)
"""


def test_interrupted_write_keeps_the_old_file(file):
    """The limit on a file's size simulates a full disk: the library fails while writing."""
    before = file.read_bytes()
    done = elsewhere(LIMITED, str(file))
    assert done.returncode == 0, done.stderr
    assert str(file) in done.stdout
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["run.nc"]


# Requirements of claims and figures


ENOUGH = [
    {},
    {"seed": 3},
    {"seed": np.int64(2)},
    {"label": "none"},
    {"label": ("ω", "none")},
    {"seed": [0, 2], "step": 20},
]
TOO_LITTLE = [  # needs, parts of the message: dimension, needed and present
    ({"seed": 4}, "4.*seed.*3"),
    ({"width": 1}, "1.*width.*0"),
    ({"seed": (1, 7, 9)}, "seed.*7.*9"),
    ({"width": "64"}, "width.*64"),
    ({"seed": 3, "step": 21}, "21.*step.*20"),
]


def labeled():
    return make().swap_dims(seed="label")


@pytest.mark.parametrize("needs", ENOUGH)
def test_satisfied_requirements_pass(needs):
    assert require(labeled() if "label" in needs else make(), "loss", **needs) is None


@pytest.mark.parametrize(("needs", "message"), TOO_LITTLE)
def test_unmet_requirements_are_reported(needs, message):
    with pytest.raises(NotEnoughDataError, match=f"loss.*{message}"):
        require(make(), "loss", **needs)


def test_requirements_apply_to_each_variant():
    variants = {"relu": make(), "tanh": make(10)}
    require(variants, "loss", variant=("tanh", "relu"), seed=3, step=10)
    require(variants, "loss", variant=2)
    for needs, message in (
        ({"variant": "gelu"}, "variant.*gelu"),
        ({"variant": 3}, "3.*variant.*2"),
        ({"step": 20}, "tanh.*20.*step.*10"),
    ):
        with pytest.raises(NotEnoughDataError, match=f"loss.*{message}"):
            require(variants, "loss", **needs)


def test_flipped_bit_is_always_detected(tmp_path):
    """For numbers, integers, scalars, labels and truth values, the file is rejected or has what was written."""
    variables = {
        "loss": variable("i", np.linspace(0, 1, 3), "loss"),
        "count": variable((), 3, "count"),
        "single": variable((), 0.5, "single"),
        "done": variable("i", [True, False, True], "done"),
    }
    original = dataset(variables, {"i": variable("i", ["a", "b", "c"], "i")}, title="t").assign_attrs(
        dict.fromkeys(REQUIRED, "x")
    )
    file, damaged = tmp_path / "whole.nc", tmp_path / "damaged.nc"
    write(original, file)
    assert CHECKSUM not in original["loss"].attrs
    whole, written = file.read_bytes(), read(file)
    assert CHECKSUM not in written["loss"].attrs
    noticed = set()
    for value in (np.float64(0.5).tobytes(), np.int64(3).tobytes()):
        for place in (at.start() for at in re.finditer(re.escape(value), whole)):
            for bit in (0, 4):
                flipped = bytearray(whole)
                flipped[place + len(value) - 2] ^= 1 << bit
                damaged.write_bytes(flipped)
                try:
                    values = read(damaged)
                except DataError as error:
                    noticed |= set(re.findall(r"damaged, (\w+) ", str(error)))
                else:
                    assert all(np.array_equal(values[name], written[name]) for name in written.variables)
    assert noticed >= {"count", "single"}


@pytest.mark.parametrize(
    ("values", "enough"),
    [([1.0, 2.0], True), ([np.nan, 2.0], True), ([np.nan, np.inf], False), ([np.nan], False), ([], False)],
)
def test_one_finite_value_is_enough_for_a_figure_of_numbers(values, enough):
    with nullcontext() if enough else pytest.raises(NotEnoughDataError, match="converged"):
        require_finite(xr.DataArray(values), "a network that has converged")


def test_missing_values_without_a_reason_get_one():
    ds = xr.Dataset(
        {
            "whole": ("x", [1.0, 2.0]),
            "gap": ("x", [1.0, np.nan]),
            "own": ("x", [np.inf, 1.0], {"missing": "no fixed point"}),
            "words": ("x", ["a", "b"]),
            "count": ("x", [1, 2]),
        },
        coords={"x": ("x", [np.nan, 1.0])},
    )
    said = {name: array.attrs.get("missing") for name, array in explain_gaps(ds, "diverged").variables.items()}
    assert said == {
        "whole": None,
        "gap": "diverged",
        "own": "no fixed point",
        "words": None,
        "count": None,
        "x": "diverged",
    }


def test_versions_are_recorded_for_own_datasets_only(tmp_path):
    used = {"torch": "2.4", "numpy": "2.1", "scipy": "1.3"}
    write(make().assign_attrs(versions=json.dumps(used)), tmp_path / "ours.nc")
    xr.Dataset(attrs={"title": "t"}).to_netcdf(tmp_path / "foreign.nc")
    xr.Dataset(attrs={"versions": "two"}).to_netcdf(tmp_path / "words.nc")
    (tmp_path / "text.nc").write_text("no netCDF")
    assert versions_of(tmp_path / "ours.nc") == used
    for name in ("foreign", "words", "text", "missing"):
        assert versions_of(tmp_path / f"{name}.nc") == {}, name


# Networks that have diverged


def recorded(**attrs):
    """A whole array, counts, texts and two arrays with gaps, one of them with a separate reason."""
    values = {
        "count": [3, 1, 2],
        "loss": [0.5, np.inf, np.nan],
        "rank": [np.nan, 4.0, -np.inf],
        "whole": [2.0, 7.0, 1.0],
        "name": ["c", "a", "b"],
    }
    data = xr.Dataset({name: variable("run", np.array(array), name) for name, array in values.items()}, attrs=attrs)
    data["rank"].attrs["missing"] = "no layer"
    return data


def test_diverged_networks_leave_missing_values_with_a_reason():
    diverged = np.array([[True, False, False], [True, True, False]])
    left = left_out(recorded(title="t"), diverged, "training.rates: 0.5")
    np.testing.assert_array_equal(left["loss"], [0.5, np.nan, np.nan])
    np.testing.assert_array_equal(left["rank"], [np.nan, 4.0, np.nan])
    for name in ("count", "whole", "name"):
        np.testing.assert_array_equal(left[name], recorded()[name])
    reasons = {name: left[name].attrs.get("missing") for name in left}
    assert reasons == {"loss": DIVERGED, "rank": "no layer", "count": None, "whole": None, "name": None}
    assert re.search(r"3.*6.*training\.rates: 0\.5", said_to_have_diverged(left))
    assert said_to_have_diverged(recorded()) == ""
    same = left_out(recorded(), np.zeros((2, 3), bool), "training.rates: 0.5")
    xr.testing.assert_identical(same, recorded())


def test_datasets_inherit_missing_value_reasons_of_inputs_once():
    said = [xr.Dataset(attrs={LEFT_OUT: words} if words else {}) for words in ("", "4 of 5", "2 of 7", "3 of 8")]
    inputs = [said[0], said[1], {"sgd": said[2], "adam": said[0], "he": said[3]}, said[3]]
    own = inherit(recorded(**{LEFT_OUT: "6 of 6"}), *inputs)
    assert [said_to_have_diverged(own).count(words) for words in ("6 of 6", "4 of 5", "2 of 7", "3 of 8")] == [1] * 4
    np.testing.assert_array_equal(own["loss"], [0.5, np.nan, np.nan])
    xr.testing.assert_identical(inherit(recorded(), said[0], {"sgd": said[0]}), recorded())


def test_arrays_without_finite_values_are_reported():
    lost, some = ("run", [np.nan, np.inf], {"missing": "diverged"}), ("run", [np.nan, 1.0])
    whole = xr.Dataset({"some": some, "count": ("run", [1, 2]), "empty": ("other", np.zeros(0))})
    text = without_a_number(
        {"audit": whole, "training": {"sgd": xr.Dataset({"some": some, "loss": lost}), "he": whole}}
    )
    assert all(word in text for word in ("loss", "training", "sgd", "diverged"))
    assert not any(word in text for word in ("some", "he ", "audit"))
    assert without_a_number({"audit": whole, "training": {"he": whole}}) == ""
