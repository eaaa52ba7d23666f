"""Datasets: conventions refused one by one, equal bytes from any process and folder, every way a file is wrong."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import repdyn
from repdyn.base.datasets import (
    CHECKSUM,
    CONVENTIONS,
    REQUIRED,
    dataset,
    explain_gaps,
    package_versions,
    problems,
    read,
    require,
    require_finite,
    variable,
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
    """Runs code that uses this file in a process of its own."""
    environment = {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(HERE)])} | run.pop("env", {})
    command = [sys.executable, "-c", f"import sys, test_datasets\n{code}", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, **run)


@pytest.fixture
def file(tmp_path):
    write(make(), tmp_path / "run.nc")
    return tmp_path / "run.nc"


# Conventions


def test_what_keeps_the_conventions_has_no_problems():
    assert problems(make()) == []


@pytest.mark.parametrize("name", [*REQUIRED, "title"])
def test_every_attribute_is_wanted(name):
    run = make()
    del run.attrs[name]
    assert problems(run) == [f"attribute {name!r} is missing"]


def without_coordinate(run):
    return run.drop_vars("step")


def without_units(run):
    del run["loss"].attrs["units"]
    return run


def without_long_name(run):
    run["loss"].attrs["long_name"] = ""
    return run


def coordinate_without_units(run):
    del run["step"].attrs["units"]
    return run


def with_objects(run):
    return run.assign(label=variable("seed", np.array([None, "a", 1], dtype=object), "what"))


def with_an_unexplained_gap(run):
    del run["gap"].attrs["missing"]
    return run


def with_unexplained_infinities(run):
    run["gap"].values[~np.isfinite(run["gap"].values)] = np.inf
    return with_an_unexplained_gap(run)


BREACHES = [
    (without_coordinate, "dimension 'step' has no coordinate"),
    (without_units, "variable 'loss' has no units"),
    (without_long_name, "variable 'loss' has no long_name"),
    (coordinate_without_units, "variable 'step' has no units"),
    (with_objects, "variable 'label' has type object"),
    (with_an_unexplained_gap, "variable 'gap' is not finite everywhere and has no attribute 'missing' that says why"),
    (
        with_unexplained_infinities,
        "variable 'gap' is not finite everywhere and has no attribute 'missing' that says why",
    ),
]


def test_gaps_are_explained_where_there_are_any_and_no_reason_stands_yet():
    gaps = {"some": variable("step", np.array([1.0, np.nan]), "some"), "none": variable("step", np.ones(2), "none")}
    own = variable("step", np.array([np.inf, 1.0]), "own")
    own.attrs["missing"] = "diverged"
    steps = {"step": variable("step", np.arange(2), "step")}
    explained = explain_gaps(dataset(gaps | {"own": own}, steps, title="gaps"), "not recorded")
    reasons = {name: explained[name].attrs.get("missing") for name in explained.variables}
    assert reasons == {"some": "not recorded", "none": None, "own": "diverged", "step": None}


@pytest.mark.parametrize(("spoil", "message"), BREACHES)
def test_a_breach_is_told_and_nothing_is_written(tmp_path, spoil, message):
    run = spoil(make())
    assert problems(run) == [message]
    with pytest.raises(DataError) as caught:
        write(run, tmp_path / "run.nc")
    assert str(caught.value) == f"{tmp_path}/run.nc: not written, the dataset breaks the conventions: {message}"
    assert list(tmp_path.iterdir()) == []


def test_dataset_says_what_it_is():
    labelled = dataset(
        {"a": variable("i", [1.0], "a", "m")},
        {"i": variable("i", [0], "i")},
        title="A",
    )
    assert labelled.attrs == {"title": "A"}
    assert labelled["a"].attrs == {"long_name": "a", "units": "m"}
    assert labelled["i"].attrs == {"long_name": "i", "units": "1"}


def test_package_versions_are_sorted_and_without_build_tags(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"torch": "2.4.0+cu124", "numpy": "2.1.0"}[name])
    assert package_versions("torch", "numpy") == '{"numpy": "2.1.0", "torch": "2.4.0"}'


# Round trip and bytes


def test_what_is_read_is_what_was_written(file):
    expected = make().assign_attrs(Conventions=CONVENTIONS)
    xr.testing.assert_identical(read(file), expected)
    assert read(file)["loss"].dtype == np.float64
    assert read(file)["kept"].dtype == bool


def test_it_opens_with_plain_xarray(file):
    with xr.open_dataset(file) as opened:
        assert opened.attrs["Conventions"] == CONVENTIONS
        np.testing.assert_array_equal(opened["loss"], make()["loss"])


def test_writing_leaves_the_dataset_as_it_was(tmp_path):
    run = make()
    write(run, tmp_path / "run.nc")
    xr.testing.assert_identical(run, make())


def test_order_of_attributes_does_not_matter(file, tmp_path):
    run = make()
    run.attrs = dict(reversed(run.attrs.items()))
    write(run, tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == file.read_bytes()


def test_bytes_are_equal_from_another_process_and_folder(file, tmp_path):
    other = tmp_path / "another folder"
    other.mkdir()
    env = {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "HOME": str(other), "USER": "other"}
    code = "test_datasets.write(test_datasets.make(), sys.argv[1])"
    done = elsewhere(code, "run.nc", cwd=other, env=env)
    assert done.returncode == 0, done.stderr
    assert (other / "run.nc").read_bytes() == file.read_bytes()


def test_numbers_are_compressed(tmp_path):
    run = make(size=20_000)
    run["loss"][:] = 1.0
    write(run, tmp_path / "flat.nc")
    assert (tmp_path / "flat.nc").stat().st_size < run["loss"].nbytes / 5


# Files that are wrong


def test_a_missing_file_is_named_with_the_command_that_makes_it(tmp_path):
    with pytest.raises(DataError, match=r"no.nc: no such dataset; make it with: snakemake --cores 8 .*no.nc"):
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
def test_a_damaged_file_is_named_with_advice(file, spoil):
    spoil(file)
    with pytest.raises(DataError, match=r"run.nc: not a readable netCDF file \(.*\); delete it and run"):
        read(file)


def test_a_foreign_file_is_named_with_what_it_lacks(tmp_path):
    xr.Dataset({"a": ("i", [1, 2])}, attrs={"title": "t", "study": "s"}).to_netcdf(tmp_path / "foreign.nc")
    with pytest.raises(DataError) as caught:
        read(tmp_path / "foreign.nc")
    lacks = ", ".join(name for name in REQUIRED if name != "study")
    assert str(caught.value) == (
        f"{tmp_path}/foreign.nc: not a dataset of this pipeline (no attribute {lacks}); delete it or name another file"
    )


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    test_datasets.write(test_datasets.make(size=20_000), sys.argv[1])
except test_datasets.DataError as error:
    print(error)
"""


def test_a_write_that_breaks_off_leaves_the_old_file_and_says_so(file):
    """The limit on a file's size stands for a full disk: the library fails in the middle of writing."""
    before = file.read_bytes()
    done = elsewhere(LIMITED, str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{file}: cannot be written (")
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["run.nc"]


# What a claim or a figure needs


ENOUGH = [
    {},
    {"seed": 3},
    {"seed": np.int64(2)},
    {"label": "none"},
    {"label": ("ω", "none")},
    {"seed": [0, 2], "step": 20},
]
TOO_LITTLE = [
    ({"seed": 4}, "loss: 4 along seed, has 3"),
    ({"width": 1}, "loss: 1 along width, has 0"),
    ({"seed": (1, 7, 9)}, "loss: seed = 7, 9"),
    ({"width": "64"}, "loss: width = 64"),
    ({"seed": 3, "step": 21}, "loss: 21 along step, has 20"),
]


def labeled():
    return make().swap_dims(seed="label")


@pytest.mark.parametrize("needs", ENOUGH)
def test_what_a_dataset_has_is_not_refused(needs):
    assert require(labeled() if "label" in needs else make(), "loss", **needs) is None


@pytest.mark.parametrize(("needs", "message"), TOO_LITTLE)
def test_what_a_dataset_lacks_is_named(needs, message):
    with pytest.raises(NotEnoughDataError, match=f"^{message}$"):
        require(make(), "loss", **needs)


def test_variants_are_labels_too_and_each_is_asked():
    variants = {"relu": make(), "tanh": make(10)}
    require(variants, "loss", variant=("tanh", "relu"), seed=3, step=10)
    require(variants, "loss", variant=2)
    for needs, message in (
        ({"variant": "gelu"}, "loss: variant = gelu"),
        ({"variant": 3}, "loss: 3 along variant, has 2"),
        ({"step": 20}, "loss tanh: 20 along step, has 10"),
    ):
        with pytest.raises(NotEnoughDataError, match=f"^{message}$"):
            require(variants, "loss", **needs)


def test_a_flipped_bit_is_never_silent(tmp_path):
    """In numbers, whole or a single one, in labels, in truth values: the file is refused or holds what was written."""
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
    if enough:
        require_finite(xr.DataArray(values), "a network that has not diverged")
        return
    with pytest.raises(NotEnoughDataError, match=r"^a network that has not diverged$"):
        require_finite(xr.DataArray(values), "a network that has not diverged")


def test_gaps_are_explained_where_they_are_and_keep_an_explanation_of_their_own():
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
