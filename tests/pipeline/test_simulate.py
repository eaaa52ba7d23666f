"""Jobs of each kind: provenance of datasets, arguments by name, resuming, rows of claims, missing data."""

import csv
import json
import socket
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.pipeline import jobs_for_tests
from tests.pipeline.jobs_for_tests import IMAGES, SETTINGS, STUDY

from repdyn.base import datasets, sampled
from repdyn.base.checkpoints import Checkpoint, Store
from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.errors import DataError, NotEnoughDataError, RepdynError
from repdyn.base.streams import Stream
from repdyn.base.verdicts import Verdict, deviation
from repdyn.bn_decomposed.settings.study import PAPER, RecenteringDepth
from repdyn.pipeline.run.declare.workflow import FIGURE_FILES
from repdyn.pipeline.run.execute import loading, members
from repdyn.pipeline.run.execute.loading import load_function, load_module, load_runner
from repdyn.pipeline.run.kinds import decide, draw, simulate, tabulate
from repdyn.pipeline.run.kinds import images as images_job


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return jobs_for_tests.results(tmp_path_factory.mktemp("run"))


def run(member, results):
    """Runs a task without checkpoints; returns its dataset."""
    simulate.run(member, results, None)
    return datasets.read(results / member["outputs"][0])


@pytest.fixture(scope="module")
def dataset(results):
    return run(jobs_for_tests.member(), results)


def replace_function(monkeypatch, function, runner=simulate):
    monkeypatch.setattr(runner, "load_function", lambda study, name: function)


# Experiments


def test_dataset_has_its_provenance_and_no_time_path_or_machine(dataset, results):
    attrs = {name: dataset.attrs[name] for name in ("study", "experiment", "paper", "code_version", "device", "seed")}
    experiment = "experiments.random_networks:recentering_depth"
    wanted = {"study": STUDY, "experiment": experiment, "paper": PAPER, "code_version": "0123456789abcdef"}
    assert attrs == wanted | {"device": "cpu", "seed": 5}
    assert json.loads(dataset.attrs["settings"]) == {"seed": 5, "settings": {"settings": SETTINGS}, "arguments": {}}
    assert set(json.loads(dataset.attrs["versions"])) == {"numpy", "scipy", "xarray", "netCDF4"}
    assert datasets.problems(dataset) == []
    words = " ".join(map(str, dataset.attrs.values())).split()
    assert not {str(results), str(Path.cwd()), str(Path.home()), socket.gethostname()} & set(words)
    assert not {"history", "date", "created", "host", "commit"} & set(dataset.attrs)


def test_dataset_is_independent_of_the_folder_and_depends_on_the_seed(dataset, results, tmp_path):
    other, file = jobs_for_tests.results(tmp_path / "a folder"), jobs_for_tests.member()["outputs"][0]
    run(jobs_for_tests.member(), other)
    assert (other / file).read_bytes() == (results / file).read_bytes()
    again = load_function(STUDY, "experiments:recentering_depth")(
        RecenteringDepth(**SETTINGS), datasets.read(results / IMAGES), Stream(5, (STUDY, "recentering_depth"))
    )
    np.testing.assert_array_equal(dataset["difference"], again["difference"])
    changed = run(jobs_for_tests.member(seed=6, outputs=[f"{STUDY}/data/other.nc"]), results)
    assert not np.array_equal(dataset["difference"], changed["difference"])


CHANGES = {
    "the same": ({}, False),
    "settings": ({"settings": {"settings": SETTINGS | {"width": 9}}}, True),
    "seed": ({"seed": 6}, True),
    "code": ({"code": "fedcba9876543210"}, True),
    "arguments": ({"arguments": {"mode": "he"}}, True),
    "device": ({"device": "other"}, True),
}


@pytest.fixture
def trials(monkeypatch):
    """How often the one trial of an experiment with checkpoints was computed."""
    computed = []

    def drawn(images: dict[str, xr.Dataset], stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
        trial = checkpoint.get("trial")
        if trial is None:
            computed.append("trial")
            trial = checkpoint.put("trial", {"x": stream.generator().random(2)})
        coords = {"i": datasets.index("i", 2, "place")}
        return datasets.dataset({"x": datasets.variable("i", trial["x"], "number")}, coords, title="numbers")

    replace_function(monkeypatch, drawn)
    monkeypatch.setattr(simulate, "choose_device", lambda device: device)
    return computed


@pytest.mark.parametrize("what", CHANGES)
def test_job_resumes_only_trials_of_the_same_job(what, trials, results, tmp_path):
    change, anew = CHANGES[what]
    simulate.run(jobs_for_tests.member(), results, Store(tmp_path))
    simulate.run(jobs_for_tests.member(**change), results, Store(tmp_path))
    assert len(trials) == 1 + anew
    forced = Store(tmp_path, since=time.time() + 1e6)
    simulate.run(jobs_for_tests.member(**change), results, forced)
    assert (len(trials), forced.tally.read, forced.tally.computed) == (2 + anew, 0, 1)


def test_trials_are_not_resumed_with_another_content_of_an_input(trials, tmp_path):
    here, files = jobs_for_tests.results(tmp_path / "run"), {"one": IMAGES, "other": "data/others.nc"}
    for inputs in ({"images": IMAGES}, {"images": files}):
        trials.clear()
        for count, times in ((5, 1), (5, 1), (7, 2)):
            changed = files["other"] if isinstance(inputs["images"], dict) else IMAGES
            datasets.write(jobs_for_tests.images(count=count), here / changed)
            simulate.run(jobs_for_tests.member(inputs=inputs), here, Store(tmp_path / "store"))
            assert len(trials) == times


def test_invalid_dataset_is_not_saved(tmp_path, monkeypatch):
    replace_function(monkeypatch, lambda stream: xr.Dataset({"a": ("i", [1.0])}, attrs={"title": "t"}))
    with pytest.raises(DataError, match="'i'"):
        run(jobs_for_tests.member(inputs={}), tmp_path)
    assert list(tmp_path.rglob("*.nc")) == []


@pytest.mark.parametrize("diverged", ["images", "other", "one of the variants", None])
def test_analysis_records_that_networks_of_an_input_diverged(tmp_path, monkeypatch, diverged):
    files = {"images": "a.nc", "other": "b.nc", "variants": {"x": "c.nc", "one of the variants": "d.nc"}}
    names = {"images": "a.nc", "other": "b.nc", "x": "c.nc", "one of the variants": "d.nc"}
    for name, file in names.items():
        attributes = {datasets.LEFT_OUT: f"1 of 2 networks of {name}"} if name == diverged else {}
        datasets.write(jobs_for_tests.images().assign_attrs(attributes), tmp_path / file)

    def experiment(images: xr.Dataset, other: xr.Dataset, variants: dict[str, xr.Dataset]) -> xr.Dataset:
        return jobs_for_tests.images()

    replace_function(monkeypatch, experiment)
    data = run(jobs_for_tests.member(inputs=files, settings={}), tmp_path)
    assert data.attrs.get(datasets.LEFT_OUT) == (diverged and f"1 of 2 networks of {diverged}")


# Arguments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": {}}, "recentering_depth.*images.*settings, stream"),
        ({"inputs": {"images": "data/gone.nc"}}, r"gone\.nc"),
        ({"settings": {"settings": SETTINGS | {"widht": 3}}}, r"settings\.widht"),
        ({"settings": {"settings": SETTINGS | {"depth": "3"}}}, r"settings\.depth"),
        ({"settings": {"settings": SETTINGS | {"depth": 0, "widht": 3}}}, r"settings\.depth.*settings\.widht"),
    ],
)
def test_invalid_job_arguments_are_reported_in_one_line(results, change, message):
    with pytest.raises(RepdynError, match=message) as caught:
        run(jobs_for_tests.member(**change), results)
    assert "\n" not in str(caught.value)


def test_arguments_are_passed_by_name_with_annotated_types(results, monkeypatch):
    seen = {}

    def experiment(images, stream, device, variant, row: RecenteringDepth, extra=7, seeds=0):
        seen.update(locals())
        return datasets.read(results / IMAGES)

    replace_function(monkeypatch, experiment)
    arguments = {"variant": "he", "row": SETTINGS, "unused": 1, "seeds": 0}
    data = run(jobs_for_tests.member(arguments=arguments, device="cpu", outputs=[f"{STUDY}/data/x.nc"]), results)
    assert (seen["variant"], seen["device"], seen["extra"]) == ("he", "cpu", 7)
    assert seen["row"] == RecenteringDepth(**SETTINGS)
    assert (seen["stream"].seed, seen["stream"].key) == (5, (STUDY, "experiment"))
    assert seen["images"].sizes["point"] == 6
    assert "torch" in json.loads(data.attrs["versions"])  # the function takes a device


def test_variants_are_passed_as_a_dict(tmp_path):
    paths = {name: f"x/data/training/{name}.nc" for name in ("bn", "he")}
    for size, path in enumerate(paths.values(), 4):
        datasets.write(jobs_for_tests.images(size), tmp_path / path)
    inputs = members.read_inputs({"inputs": {"training": paths}}, tmp_path)
    assert {name: data.sizes["point"] for name, data in inputs["training"].items()} == {"bn": 4, "he": 5}
    (tmp_path / paths["he"]).unlink()
    with pytest.raises(DataError, match=r"he\.nc"):
        members.read_inputs({"inputs": {"training": paths}}, tmp_path)


# Functions by name


def test_unknown_studies_modules_functions_and_kinds_are_rejected(monkeypatch):
    cases = [
        (load_function, (STUDY, "experiments:ablatoin"), "'ablatoin'.* ablation"),
        *(
            (load_function, (STUDY, f"experiments:{name}"), f"'{name}'")
            for name in ("product", "dataset", "_iterate", "")
        ),
        (load_module, ("nostudy", "experiments"), "'nostudy'"),
        (load_module, (STUDY, "nomodule"), "'nomodule'"),
        (load_runner, ("paint",), "'paint'.*simulate, draw"),
    ]
    for load, arguments, message in cases:
        with pytest.raises(RepdynError, match=message):
            load(*arguments)
    for package in ("torch", None):

        def missing(name, package=package):
            raise ModuleNotFoundError("No module named 'torch'", name=package)

        monkeypatch.setattr(loading.importlib, "import_module", missing)
        with pytest.raises(ModuleNotFoundError):  # of a package that is not installed
            load_module(STUDY, "experiments")


# Figures and tables


def product(kind, name, inputs, suffixes):
    outputs = [f"{STUDY}/{kind}/{name}.{suffix}" for suffix in suffixes]
    return {"study": STUDY, "function": f"{kind}:{name}", "code": "c0de", "inputs": inputs, "outputs": outputs}


def test_figures_and_tables_are_written_with_their_origin(results):
    run(jobs_for_tests.gap(), results)
    settings = {"settings": SETTINGS | {"record": [0, 3]}}
    outputs = {"function": "experiments:ablation", "outputs": [f"{STUDY}/data/ablation.nc"]}
    run(jobs_for_tests.member(settings=settings, **outputs), results)
    for runner, kind, name, suffixes in (
        (draw, "figures", "orthogonality_gap", FIGURE_FILES),
        (tabulate, "tables", "ablation", ("csv", "tex", "json")),
    ):
        member = product(kind, name, {name: f"{STUDY}/data/{name}.nc"}, suffixes)
        runner.run(member, results, None)
        folder = results / STUDY / kind
        assert {path.name for path in folder.iterdir()} == {f"{name}.{suffix}" for suffix in suffixes}
        about = json.loads((folder / f"{name}.json").read_text())
        assert (about["code_version"], about["datasets"]) == ("c0de", [name])
    lacking = product("figures", "fig1_ablation", {"ablation_": f"{STUDY}/data/ablation.nc"}, FIGURE_FILES)
    with pytest.raises(RepdynError, match=r"fig1_ablation.*ablation.*ablation_"):
        draw.run(lacking, results, None)


@pytest.mark.parametrize(("runner", "kind", "suffix"), [(draw, "figures", "svg"), (tabulate, "tables", "csv")])
def test_figure_or_table_with_too_few_data_still_writes_its_files(tmp_path, monkeypatch, runner, kind, suffix):
    def needy():
        raise NotEnoughDataError("loss: 5 along seed, has 1")

    replace_function(monkeypatch, needy, runner)
    runner.run(product(kind, "needy", {}, (suffix, "json")), tmp_path, None)
    assert (tmp_path / STUDY / kind / f"needy.{suffix}").is_file()
    about = json.loads((tmp_path / STUDY / kind / "needy.json").read_text())
    assert (about["code_version"], about["datasets"]) == ("c0de", [])


# Claims


def count_points(id, seen=None):
    """A claim on the number of images."""
    control = false_world("half of them", lambda images: images.isel(point=slice(3)))

    def check(images):
        if seen is not None:
            seen[id] = sampled.spent(1.0)
        return Verdict.from_tests(deviation(images.sizes["point"] - 6, 1, expected="6", reason=""))

    return claim(id, where="Theorem 1", kind="identity", states='Points, "six", of them.', control=control)(check)


def decided(monkeypatch, function, claims):
    monkeypatch.setattr(decide, "load_function", lambda study, name: function(name))
    outputs = ["x/claims.csv", "x/evidence.csv"]
    return {"study": STUDY, "claims": claims, "inputs": {"images": IMAGES}, "outputs": outputs}


def test_each_claim_has_a_row_with_its_own_code_version_and_its_evidence(results, monkeypatch):
    claims = {id: {"function": id, "code": f"code of {id}"} for id in ("x-late", "x-early")}
    member = decided(monkeypatch, count_points, claims)
    decide.run(member, results, None)
    ledger, evidence = (list(csv.DictReader((results / path).open(newline=""))) for path in member["outputs"])
    columns = ("study", "id", "verdict", "code", "code_version", "control_outcome", "statement")
    assert [[row[column] for column in columns] for row in ledger] == [
        [STUDY, id, "holds", f"repdyn.{STUDY}.{id}", f"code of {id}", "rejected", 'Points, "six", of them.']
        for id in claims
    ]
    assert [(row["id"], row["outcome"], row["control_outcome"]) for row in evidence] == [
        (id, "passes", "rejected") for id in claims
    ]
    assert all(b"\r" not in (results / output).read_bytes() for output in member["outputs"])


def test_claim_uses_its_number_of_analyses_one_by_default(tmp_path, monkeypatch):
    seen = {}
    claims = {id: {"function": id, "code": ""} | look for id, look in (("x-1", {"look": 3}), ("x-2", {}))}
    member = decided(monkeypatch, lambda id: count_points(id, seen), claims)
    decide.run(member, jobs_for_tests.results(tmp_path), None)
    assert seen == {"x-1": 1 / 4, "x-2": 1.0}


def test_claim_with_another_id_than_in_the_job_file_is_rejected(tmp_path, monkeypatch):
    ids = {"f:one": "x-1", "f:two": "x-9", "f:three": "x-3"}
    claims = {id: {"function": function, "code": ""} for id, function in zip(("x-1", "x-2", "x-3"), ids, strict=True)}
    member = decided(monkeypatch, lambda name: count_points(ids[name]), claims)
    results = jobs_for_tests.results(tmp_path)
    with pytest.raises(RepdynError, match=r"f:two.*x-9.*x-2"):
        decide.run(member, results, None)
    assert not (results / "x").exists()


# Images


def test_images_are_a_valid_dataset_with_their_source(tmp_path, monkeypatch):
    member = {"source": "digits", "split": "test", "mnist_folder": None, "mnist_mirrors": [], "code": "c0de"}
    images_job.run(member | {"inputs": {}, "outputs": [IMAGES]}, tmp_path, None)
    data = datasets.read(tmp_path / IMAGES)
    assert data.sizes["point"] == 1797
    assert datasets.problems(data) == []
    attrs = {name: data.attrs[name] for name in ("experiment", "settings", "code_version", "seed")}
    assert attrs == {"experiment": "images", "settings": '{"source": "digits"}', "code_version": "c0de", "seed": 0}
    asked = []
    monkeypatch.setattr(
        images_job, "load_images", lambda *words, split: asked.append((*words, split)) or jobs_for_tests.images(5)
    )
    mnist = member | {"source": "mnist", "split": "both", "mnist_folder": "here", "mnist_mirrors": ["there"]}
    images_job.run(mnist | {"inputs": {}, "outputs": ["data/mnist.nc"]}, tmp_path, None)
    assert asked == [("mnist", "here", ["there"], "both")]
