"""Runners: datasets with their provenance, arguments by name, and what is said where something is missing."""

import csv
import json
import os
import socket
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

from repdyn.base import datasets
from repdyn.base.claims import claim
from repdyn.base.datasets import variable
from repdyn.base.errors import DataError, RepdynError
from repdyn.base.fingerprint import code_version
from repdyn.base.streams import Stream
from repdyn.base.verdicts import Verdict, deviation
from repdyn.bn_decomposed.settings.study import PAPER, RecentringDepth
from repdyn.pipeline.run import loading, runners
from repdyn.pipeline.run.loading import load_function, load_module, load_rooms

STUDY = "bn_decomposed"
SETTINGS = {"batch": 4, "width": 8, "depth": 3, "seeds": 2}
JOB = json.dumps({"seed": 5, "settings": SETTINGS})


def images(count=6):
    image = np.random.default_rng(0).random((count, 4, 4))
    coords = {
        name: variable(name, np.arange(size), name)
        for name, size in zip(("point", "row", "column"), image.shape, strict=True)
    }
    made = datasets.dataset(
        {"image": variable(("point", "row", "column"), image, "ink")}, coords, title="images", figures="", claims=()
    )
    return made.assign_attrs(dict.fromkeys(set(datasets.REQUIRED) - set(made.attrs), "x"))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "data" / "images.nc"
    datasets.write(images(), path)
    return [path]


def simulate(inputs, output, *, function="experiments:recentring_depth", job=JOB, code="0123456789abcdef"):
    runners.simulate(STUDY, function, job, inputs, code, output)
    return datasets.read(output)


@pytest.fixture(scope="module")
def made(inputs):
    return simulate(inputs, inputs[0].parents[1] / STUDY / "data" / "recentring_depth.nc")


# Experiments


def test_a_dataset_says_where_it_comes_from(made):
    told = {name: made.attrs[name] for name in ("study", "experiment", "paper", "code_version", "device")}
    assert told == {
        "study": STUDY,
        "experiment": "experiments:recentring_depth",
        "paper": PAPER,
        "code_version": "0123456789abcdef",
        "device": "cpu",
    }
    assert made.attrs["seed"] == 5
    assert json.loads(made.attrs["settings"]) == json.loads(JOB)
    assert set(json.loads(made.attrs["versions"])) == {"numpy", "scipy", "xarray", "netCDF4"}
    assert datasets.problems(made) == []


def test_a_dataset_tells_no_time_path_or_machine(made, inputs):
    told = " ".join(map(str, made.attrs.values()))
    for secret in (str(inputs[0].parent), str(Path.cwd()), str(Path.home()), socket.gethostname(), str(os.getpid())):
        assert secret not in told
    assert not {"history", "date", "created", "host", "commit"} & set(made.attrs)


def test_bytes_are_equal_in_another_folder(made, inputs, tmp_path):
    simulate(inputs, tmp_path / "a folder" / "any.nc")
    first = inputs[0].parents[1] / STUDY / "data" / "recentring_depth.nc"
    assert (tmp_path / "a folder" / "any.nc").read_bytes() == first.read_bytes()


def test_the_seed_counts_and_the_numbers_are_the_functions(made, inputs, tmp_path):
    again = load_function(STUDY, "experiments:recentring_depth")(
        RecentringDepth(**SETTINGS), datasets.read(inputs[0]), Stream(5, (STUDY, "recentring_depth"))
    )
    np.testing.assert_array_equal(made["difference"], again["difference"])
    other = simulate(inputs, tmp_path / "o.nc", job=json.dumps({"seed": 6, "settings": SETTINGS}))
    assert not np.array_equal(made["difference"], other["difference"])


def test_an_experiment_that_breaks_the_conventions_is_not_saved(inputs, tmp_path, monkeypatch):
    def unnamed(stream):
        return xr.Dataset({"a": ("i", [1.0])}, attrs={"title": "t", "serves_figures": "", "serves_claims": ""})

    monkeypatch.setattr(runners, "load_function", lambda study, function: unnamed)
    with pytest.raises(DataError, match="dimension 'i' has no coordinate"):
        simulate(inputs, tmp_path / "o.nc")
    assert list(tmp_path.iterdir()) == []


# Arguments


def test_a_missing_input_is_named(tmp_path):
    with pytest.raises(RepdynError, match=r"recentring_depth wants images, but the rule gives only .*settings, stream"):
        simulate([], tmp_path / "o.nc")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"images.nc: no such dataset"):
        simulate([tmp_path / "data" / "images.nc"], tmp_path / "o.nc")


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("{bad", r"--job is not JSON .*: \{bad"),
        ("[1]", r"--job wants an object with seed, got \[1\]"),
        ("{}", "--job wants an object with seed, got {}"),
        ('{"seed": 1}', "--job: settings: Input should be"),
        (json.dumps({"seed": 1, "settings": SETTINGS | {"widht": 3}}), "--job: settings.widht: Extra inputs"),
        (
            json.dumps({"seed": 1, "settings": SETTINGS | {"depth": 0}}),
            "--job: settings.depth: Input should be greater",
        ),
        (json.dumps({"seed": 1, "settings": SETTINGS | {"depth": "3"}}), "--job: settings.depth: Input should be"),
    ],
)
def test_a_wrong_job_is_told_in_one_line(inputs, tmp_path, job, message):
    with pytest.raises(RepdynError, match=message) as caught:
        simulate(inputs, tmp_path / "o.nc", job=job)
    assert "\n" not in str(caught.value)


def test_arguments_come_by_name_from_settings_stream_inputs_and_job(inputs, tmp_path, monkeypatch):
    seen = {}

    def experiment(images, stream, device, variant, extra=7):
        seen.update(locals())
        return datasets.read(inputs[0])

    monkeypatch.setattr(runners, "load_function", lambda study, function: experiment)
    made = simulate(inputs, tmp_path / "o.nc", job='{"seed": 3, "device": "cpu", "variant": "he", "unused": 1}')
    assert (seen["variant"], seen["device"], seen["extra"]) == ("he", "cpu", 7)
    assert (seen["stream"].seed, seen["stream"].key) == (3, (STUDY, "experiment"))
    assert seen["images"].sizes["point"] == 6
    assert "torch" in json.loads(made.attrs["versions"])  # the function takes a device


def test_datasets_by_name_and_variants_by_folder(tmp_path):
    paths = [tmp_path / "data" / name for name in ("loss.nc", "training/bn.nc", "training/he.nc")]
    for size, path in enumerate(paths, 3):
        datasets.write(images(size), path)
    found = runners.read_inputs(paths)
    assert set(found) == {"loss", "training"}
    assert found["loss"].sizes["point"] == 3
    assert {name: one.sizes["point"] for name, one in found["training"].items()} == {"bn": 4, "he": 5}


def test_datasets_are_found_from_inside_their_folder(inputs, monkeypatch):
    monkeypatch.chdir(inputs[0].parent)
    assert set(runners.read_inputs([Path("images.nc")])) == {"images"}


# Functions by name


def test_an_unknown_function_is_told_with_those_there_are():
    with pytest.raises(RepdynError, match=r"experiments of \w+ has no function 'ablatoin'; it has .*ablation"):
        load_function(STUDY, "experiments:ablatoin")


def test_what_a_module_imports_or_hides_is_none_of_its_functions():
    for name in ("product", "dataset", "RESCALES", "_iterate", ""):
        with pytest.raises(RepdynError, match=f"has no function '{name}'"):
            load_function(STUDY, f"experiments:{name}")


@pytest.mark.parametrize(("study", "room"), [("nostudy", "experiments"), (STUDY, "norooms"), (STUDY, "")])
def test_an_unknown_study_or_room_is_named(study, room):
    with pytest.raises(
        RepdynError, match="no study 'nostudy'" if study == "nostudy" else f"no module '{room}' in study"
    ):
        load_module(study, room)


def test_a_package_that_is_not_installed_is_no_missing_room(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(loading.importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError):
        load_module(STUDY, "experiments")


def test_rooms_are_the_modules_of_a_folder_or_the_module():
    assert [module.__name__ for module in load_rooms(STUDY, "settings")] == ["repdyn.bn_decomposed.settings.study"]
    assert "repdyn.bn_decomposed.theory.layers" in [module.__name__ for module in load_rooms(STUDY, "theory")]


# Figures, tables, claims, images


@pytest.fixture
def gap(tmp_path):
    settings = {"batch": 4, "input_dim": 5, "widths": [8, 16], "depth": 5, "seeds": 2}
    job, path = json.dumps({"seed": 1, "settings": settings}), tmp_path / "data" / "orthogonality_gap.nc"
    simulate([], path, function="experiments:orthogonality_gap", job=job)
    return path


def test_figures_are_drawn_into_a_folder(gap, tmp_path):
    runners.draw(STUDY, ["orthogonality_gap"], [gap], tmp_path / "figures")
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == [f"orthogonality_gap.{suffix}" for suffix in ("json", "png", "svg")]
    about = json.loads((tmp_path / "figures/orthogonality_gap.json").read_text())
    code = "repdyn.bn_decomposed.figures.random_networks:orthogonality_gap"
    assert (about["code"], about["datasets"]) == (code, ["orthogonality_gap"])
    assert about["code_version"] == code_version(code)
    with pytest.raises(RepdynError, match="fig1_ablation wants ablation, but the rule gives only orthogonality_gap"):
        runners.draw(STUDY, ["fig1_ablation"], [gap], tmp_path / "figures")


def test_tables_are_written_into_a_folder(inputs, tmp_path):
    settings = SETTINGS | {"record": [0, 3]}
    job, path = json.dumps({"seed": 1, "settings": settings}), tmp_path / "data" / "ablation.nc"
    simulate(inputs, path, function="experiments:ablation", job=job)
    runners.tabulate(STUDY, ["ablation"], [path], tmp_path / "tables")
    names = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert names == [f"ablation.{suffix}" for suffix in ("csv", "json", "tex")]
    about = json.loads((tmp_path / "tables/ablation.json").read_text())
    assert (about["code"], about["datasets"]) == ("repdyn.bn_decomposed.tables:ablation", ["ablation"])


def test_claims_become_rows_in_order(inputs, tmp_path, monkeypatch):
    module = ModuleType("claims")
    for id in ("x-late", "x-early"):
        declared = claim(
            id,
            where="Theorem 1",
            kind="identity",
            states='Points, "six", of them.',
            data="images",
            control=lambda images: images.isel(point=slice(3)),
            control_says="half of them",
        )
        points = declared(
            lambda images: Verdict.from_tests(deviation(images.sizes["point"] - 6, 1, expected="6", reason="one"))
        )
        setattr(module, id, points)
    monkeypatch.setattr(runners, "load_rooms", lambda study, name: [module])
    monkeypatch.setattr(runners, "code_version", lambda code: f"version of {code.split(':')[1]}")
    runners.judge("x", inputs, tmp_path / "claims.csv")
    with (tmp_path / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["study"], row["id"], row["verdict"]) for row in rows] == [
        ("x", "x-late", "holds"),
        ("x", "x-early", "holds"),
    ]
    assert rows[0]["statement"] == 'Points, "six", of them.'
    assert rows[0]["code_version"] == "version of <lambda>"
    assert b"\r" not in (tmp_path / "claims.csv").read_bytes()


def test_images_keep_the_conventions(tmp_path):
    runners.images("digits", None, [], "c0de", tmp_path / "images.nc")
    made = datasets.read(tmp_path / "images.nc")
    assert made.sizes["point"] == 1797
    assert (made.attrs["study"], made.attrs["source"], made.attrs["code_version"]) == ("all", "digits", "c0de")
    assert str(tmp_path) not in str(made.attrs)
