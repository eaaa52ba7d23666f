"""What a member of a job takes of what it is given: what all inputs say, the look of a claim, the split of images."""

import json

import numpy as np
import pytest
import xarray as xr
from tests.pipeline import jobs_for_tests
from tests.pipeline.jobs_for_tests import IMAGES, STUDY

from repdyn.base import datasets, sampled
from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.errors import DataError, NotEnoughDataError, RepdynError
from repdyn.base.verdicts import Verdict, deviation
from repdyn.pipeline.run.execute.members import arguments_of
from repdyn.pipeline.run.kinds import decide, draw, images, simulate


@pytest.mark.parametrize("diverged", [{"images"}, {"other"}, {"one of the variants"}, set()])
def test_what_any_of_the_inputs_says_of_diverged_networks_is_said_on(tmp_path, monkeypatch, diverged):
    files = {"images": "a.nc", "other": "b.nc", "variants": {"x": "c.nc", "one of the variants": "d.nc"}}
    names = {"images": "a.nc", "other": "b.nc", "x": "c.nc", "one of the variants": "d.nc"}
    for name, file in names.items():
        said = {datasets.LEFT_OUT: f"1 of 2 networks of {name}"} if name in diverged else {}
        datasets.write(jobs_for_tests.images().assign_attrs(said), tmp_path / file)

    def experiment(images: xr.Dataset, other: xr.Dataset, variants: dict[str, xr.Dataset]) -> xr.Dataset:
        return jobs_for_tests.images()

    monkeypatch.setattr(simulate, "load_function", lambda study, function: experiment)
    member = jobs_for_tests.member(inputs=files, settings={})
    simulate.run(member, tmp_path, None)
    data = datasets.read(tmp_path / member["outputs"][0])
    assert data.attrs.get(datasets.LEFT_OUT) == next((f"1 of 2 networks of {name}" for name in diverged), None)


def test_a_claim_is_decided_at_the_look_of_its_own_and_the_first_where_none_is_said(tmp_path, monkeypatch):
    spent = {}

    def checked(id):
        def check(images):
            spent[id] = sampled.spent(1.0)
            return Verdict.from_tests(deviation(0, 1, expected="0", reason=""))

        half = false_world("half of them", lambda images: images.isel(point=slice(3)))
        return claim(id, where="Theorem 1", kind="identity", states="It is looked at.", control=half)(check)

    monkeypatch.setattr(decide, "load_function", lambda study, function: checked(function))
    claims = {id: {"function": id, "code": ""} | look for id, look in (("x-1", {"look": 3}), ("x-2", {}))}
    outputs = ["x/claims.csv", "x/evidence.csv"]
    member = {"study": STUDY, "claims": claims, "inputs": {"images": IMAGES}, "outputs": outputs}
    decide.run(member, jobs_for_tests.results(tmp_path), None)
    assert spent == {"x-1": 1 / 4, "x-2": 1.0}


def test_the_images_are_of_the_split_that_is_asked_for(tmp_path):
    member = {"source": "mnist", "split": "train", "mnist_folder": str(tmp_path), "mnist_mirrors": []}
    with pytest.raises(DataError, match="put train-images-idx3-ubyte, train-labels-idx1-ubyte there"):
        images.run(member, tmp_path, None)


def test_images_tell_their_source_split_and_making(tmp_path, monkeypatch):
    asked = []

    def load(source, folder, mirrors, *, split):
        asked.append((source, folder, mirrors, split))
        return jobs_for_tests.images(5)

    monkeypatch.setattr(images, "load_images", load)
    member = {"source": "mnist", "split": "both", "mnist_folder": "here", "mnist_mirrors": ["there"], "code": "c0de"}
    images.run(member | {"inputs": {}, "outputs": ["data/made.nc"]}, tmp_path, None)
    data = datasets.read(tmp_path / "data/made.nc")
    assert asked == [("mnist", "here", ["there"], "both")]
    assert data.sizes["point"] == 5
    told = {name: data.attrs[name] for name in (*datasets.REQUIRED, "title")}
    assert told.pop("versions") == datasets.package_versions("numpy", "scipy", "xarray", "netCDF4", "scikit-learn")
    assert (
        told.items()
        >= {
            "title": "Images of mnist, as all studies read them",
            "study": "all",
            "experiment": "images",
            "paper": "",
            "settings": '{"source": "mnist"}',
            "seed": 0,
            "code_version": "c0de",
            "device": "cpu",
        }.items()
    )


@pytest.mark.parametrize(
    ("values", "error", "reason"),
    [
        ([np.nan, np.nan], ValueError("x"), "a network that converged: no finite value in {lost}"),
        ([np.nan, np.nan], NotEnoughDataError("loss: 5 along seed, has 1"), "loss: 5 along seed, has 1"),
        ([np.nan, 1.0], ValueError("x"), "the figure ended with ValueError: x"),
    ],
    ids=["all diverged", "too few", "some diverged"],
)
def test_a_figure_of_diverged_networks_names_what_has_no_number(tmp_path, values, error, reason):
    loss = datasets.dataset({"loss": datasets.variable("seed", np.array(values), "loss")}, {}, title="t")

    def drawn(training):
        raise error

    draw.save(drawn, {"training": loss}, tmp_path / "drawn", {"code": "a:b"})
    about = json.loads((tmp_path / "drawn.json").read_text())
    needs = reason.format(lost=datasets.without_a_number({"training": loss}))
    assert about["caption"] == f"Not drawn: needs more than this run has ({needs})."
    assert about["code"] == "a:b"
    assert "loss" in needs or values[1] == 1.0


def test_a_function_gets_what_it_names_and_may_do_without_what_has_a_default():
    """Any default counts, one that is false, too."""

    def function(settings, stream, device=None, seeds=0, words=""):
        return settings, stream, device, seeds, words

    offered = {"settings": 1, "stream": 2, "tally": 3}
    assert arguments_of(function, offered) == {"settings": 1, "stream": 2}
    assert arguments_of(function, offered | {"seeds": 0}) == {"settings": 1, "stream": 2, "seeds": 0}
    with pytest.raises(RepdynError, match=r"function wants stream, but the job gives only settings$"):
        arguments_of(function, {"settings": 1})
    with pytest.raises(
        RepdynError, match=r"function wants settings, stream, but the job gives only other, seeds, tally$"
    ):
        arguments_of(function, {"tally": 1, "seeds": 2, "other": 3})


def test_a_claim_of_another_id_than_the_job_file_says_is_refused(tmp_path, monkeypatch):
    """The second of three, whose function decides another claim by now."""
    made = {"f:one": "x-1", "f:two": "x-9", "f:three": "x-3"}

    def declared(study, function):
        half = false_world("half of them", lambda images: images.isel(point=slice(3)))
        check = claim(made[function], where="Theorem 1", kind="identity", states="S.", control=half)
        return check(lambda images: Verdict.from_tests(deviation(0, 1, expected="0", reason="")))

    monkeypatch.setattr(decide, "load_function", declared)
    claims = {id: {"function": function, "code": ""} for id, function in zip(("x-1", "x-2", "x-3"), made, strict=True)}
    member = {"study": STUDY, "claims": claims, "inputs": {"images": IMAGES}, "outputs": ["x/a.csv", "x/b.csv"]}
    results = jobs_for_tests.results(tmp_path)
    with pytest.raises(RepdynError) as caught:
        decide.run(member, results, None)
    assert str(caught.value) == "f:two decides x-9, the job file says x-2; run snakemake"
    assert not (results / "x").exists()
