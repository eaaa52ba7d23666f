"""Jobs of all kinds: datasets with their provenance, arguments by name, and what is said where something is missing."""

import csv
import json
import re
import socket
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.pipeline import jobs_for_tests
from tests.pipeline.jobs_for_tests import IMAGES, SETTINGS, STUDY

from repdyn.base import datasets
from repdyn.base.checkpoints import Checkpoint, Store
from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.errors import DataError, NotEnoughDataError, RepdynError
from repdyn.base.streams import Stream
from repdyn.base.verdicts import Verdict, deviation
from repdyn.bn_decomposed.settings.study import PAPER, RecenteringDepth
from repdyn.pipeline.run.declare.workflow import FIGURE_FILES
from repdyn.pipeline.run.execute import loading, members
from repdyn.pipeline.run.execute.loading import load_function, load_module, load_modules, load_runner
from repdyn.pipeline.run.kinds import decide, draw, simulate, tabulate
from repdyn.pipeline.run.kinds import images as images_job


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return jobs_for_tests.results(tmp_path_factory.mktemp("run"))


def run(member, results):
    """Runs a member without checkpoints; its dataset."""
    simulate.run(member, results, None)
    return datasets.read(results / member["outputs"][0])


@pytest.fixture(scope="module")
def dataset(results):
    return run(jobs_for_tests.member(), results)


# Experiments


def test_a_dataset_says_where_it_comes_from(dataset):
    attrs = {name: dataset.attrs[name] for name in ("study", "experiment", "paper", "code_version", "device", "seed")}
    assert attrs == {
        "study": STUDY,
        "experiment": "experiments.random_networks:recentering_depth",
        "paper": PAPER,
        "code_version": "0123456789abcdef",
        "device": "cpu",
        "seed": 5,
    }
    assert json.loads(dataset.attrs["settings"]) == {"seed": 5, "settings": {"settings": SETTINGS}, "arguments": {}}
    assert set(json.loads(dataset.attrs["versions"])) == {"numpy", "scipy", "xarray", "netCDF4"}
    assert datasets.problems(dataset) == []


def test_a_dataset_tells_no_time_path_or_machine(dataset, results):
    attrs = " ".join(map(str, dataset.attrs.values()))
    for secret in (str(results), str(Path.cwd()), str(Path.home()), socket.gethostname()):
        assert secret not in attrs.split()
    assert not {"history", "date", "created", "host", "commit"} & set(dataset.attrs)


def test_bytes_are_equal_in_another_folder(dataset, results, tmp_path):
    other = jobs_for_tests.results(tmp_path / "a folder")
    run(jobs_for_tests.member(), other)
    file = jobs_for_tests.member()["outputs"][0]
    assert (other / file).read_bytes() == (results / file).read_bytes()


def test_the_seed_counts_and_the_numbers_are_the_functions(dataset, results):
    again = load_function(STUDY, "experiments:recentering_depth")(
        RecenteringDepth(**SETTINGS), datasets.read(results / IMAGES), Stream(5, (STUDY, "recentering_depth"))
    )
    np.testing.assert_array_equal(dataset["difference"], again["difference"])
    other = run(jobs_for_tests.member(seed=6, outputs=[f"{STUDY}/data/other.nc"]), results)
    assert not np.array_equal(dataset["difference"], other["difference"])


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
    """How often the one trial of an experiment with checkpoints was run."""
    made_anew = []

    def drawn(images: xr.Dataset, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
        trial = checkpoint.get("trial")
        if trial is None:
            made_anew.append("trial")
            trial = checkpoint.put("trial", {"x": stream.generator().random(2)})
        coords = {"i": datasets.index("i", 2, "place")}
        return datasets.dataset({"x": datasets.variable("i", trial["x"], "number")}, coords, title="numbers")

    monkeypatch.setattr(simulate, "load_function", lambda study, function: drawn)
    monkeypatch.setattr(simulate, "choose_device", lambda device: device)
    return made_anew


@pytest.mark.parametrize("what", CHANGES)
def test_a_job_resumes_from_what_the_same_job_left(what, trials, results, tmp_path):
    change, anew = CHANGES[what]
    simulate.run(jobs_for_tests.member(), results, Store(tmp_path))
    simulate.run(jobs_for_tests.member(**change), results, Store(tmp_path))
    assert len(trials) == 1 + anew


def test_a_forced_job_computes_what_an_earlier_one_left(trials, results, tmp_path):
    simulate.run(jobs_for_tests.member(), results, Store(tmp_path))
    forced = Store(tmp_path, since=time.time() + 1e6)
    simulate.run(jobs_for_tests.member(), results, forced)
    assert (len(trials), forced.tally.read, forced.tally.computed) == (2, 0, 1)


def test_the_log_of_a_job_says_what_each_member_read(trials, results, tmp_path, capsys, monkeypatch):
    """A member that keeps no trials says nothing of those of the members before it."""

    def plain(stream: Stream) -> xr.Dataset:
        coords = {"i": datasets.index("i", 2, "place")}
        return datasets.dataset({"x": datasets.variable("i", np.zeros(2), "number")}, coords, title="numbers")

    store = Store(tmp_path)
    for _ in range(2):
        simulate.run(jobs_for_tests.member(), results, store)
    monkeypatch.setattr(simulate, "load_function", lambda study, function: plain)
    simulate.run(jobs_for_tests.member(inputs={}), results, store)
    assert re.findall("finished trials: (.+) read .+, (.+) computed", capsys.readouterr().err) == [("1", "0")]


def test_a_job_with_other_contents_of_its_inputs_resumes_nothing(trials, tmp_path):
    here = jobs_for_tests.results(tmp_path / "run")
    simulate.run(jobs_for_tests.member(), here, Store(tmp_path / "kept"))
    datasets.write(jobs_for_tests.images(count=7), here / IMAGES)
    simulate.run(jobs_for_tests.member(), here, Store(tmp_path / "kept"))
    assert len(trials) == 2


def test_other_contents_of_one_of_the_variants_that_it_reads_resume_nothing(trials, tmp_path, monkeypatch):
    here = jobs_for_tests.results(tmp_path / "run")
    files = {"one": IMAGES, "other": "data/others.nc"}
    made = simulate.load_function("", "")

    def drawn(images: dict[str, xr.Dataset], stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
        return made(images["one"], stream, checkpoint)

    monkeypatch.setattr(simulate, "load_function", lambda study, function: drawn)
    for count, times in ((5, 1), (5, 1), (7, 2)):
        datasets.write(jobs_for_tests.images(count=count), here / "data/others.nc")
        simulate.run(jobs_for_tests.member(inputs={"images": files}), here, Store(tmp_path / "kept"))
        assert len(trials) == times


def test_an_experiment_that_breaks_the_conventions_is_not_saved(tmp_path, monkeypatch):
    def unnamed(stream):
        return xr.Dataset({"a": ("i", [1.0])}, attrs={"title": "t"})

    monkeypatch.setattr(simulate, "load_function", lambda study, function: unnamed)
    with pytest.raises(DataError, match="dimension 'i' has no coordinate"):
        run(jobs_for_tests.member(inputs={}), tmp_path)
    assert list(tmp_path.rglob("*.nc")) == []


# Arguments


def test_a_missing_input_is_named(results):
    with pytest.raises(RepdynError, match=r"recentering_depth wants images, but the job gives only .*settings, stream"):
        run(jobs_for_tests.member(inputs={}), results)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"images.nc: no such dataset"):
        run(jobs_for_tests.member(), tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"widht": 3}, "job file: settings.widht: Extra inputs"),
        ({"depth": 0}, "job file: settings.depth: Input should be greater"),
        ({"depth": "3"}, "job file: settings.depth: Input should be"),
        ({"depth": 0, "widht": 3}, "job file: settings.depth: Input should .+; settings.widht: Extra inputs"),
    ],
)
def test_wrong_settings_are_told_in_one_line(results, change, message):
    with pytest.raises(RepdynError, match=message) as caught:
        run(jobs_for_tests.member(settings={"settings": SETTINGS | change}), results)
    assert "\n" not in str(caught.value)


def test_arguments_come_by_name_with_the_types_of_their_annotations(results, monkeypatch):
    seen = {}

    def experiment(images, stream, device, variant, row: RecenteringDepth, extra=7):
        seen.update(locals())
        return datasets.read(results / IMAGES)

    monkeypatch.setattr(simulate, "load_function", lambda study, function: experiment)
    arguments = {"variant": "he", "row": SETTINGS, "unused": 1}
    data = run(jobs_for_tests.member(arguments=arguments, device="cpu", outputs=[f"{STUDY}/data/x.nc"]), results)
    assert (seen["variant"], seen["device"], seen["extra"]) == ("he", "cpu", 7)
    assert seen["row"] == RecenteringDepth(**SETTINGS)
    assert (seen["stream"].seed, seen["stream"].key) == (5, (STUDY, "experiment"))
    assert seen["images"].sizes["point"] == 6
    assert "torch" in json.loads(data.attrs["versions"])  # the function takes a device


def test_variants_come_as_a_dict(tmp_path):
    paths = {name: f"x/data/training/{name}.nc" for name in ("bn", "he")}
    for size, path in enumerate(paths.values(), 4):
        datasets.write(jobs_for_tests.images(size), tmp_path / path)
    inputs = members.read_inputs({"inputs": {"training": paths}}, tmp_path)
    assert {name: data.sizes["point"] for name, data in inputs["training"].items()} == {"bn": 4, "he": 5}
    (tmp_path / paths["he"]).unlink()
    with pytest.raises(DataError, match=r"he\.nc"):
        members.read_inputs({"inputs": {"training": paths}}, tmp_path)


# Functions by name


def test_an_unknown_function_is_told_with_those_there_are():
    with pytest.raises(RepdynError, match=r"experiments of \w+ has no function 'ablatoin'; it has .*ablation"):
        load_function(STUDY, "experiments:ablatoin")


def test_what_a_module_imports_or_hides_is_none_of_its_functions():
    for name in ("product", "dataset", "RESCALES", "_iterate", ""):
        with pytest.raises(RepdynError, match=f"has no function '{name}'"):
            load_function(STUDY, f"experiments:{name}")


@pytest.mark.parametrize(("study", "module"), [("nostudy", "experiments"), (STUDY, "nomodule"), (STUDY, "")])
def test_an_unknown_study_or_module_is_named(study, module):
    message = "no study 'nostudy'" if study == "nostudy" else f"no module '{module}' in study"
    with pytest.raises(RepdynError, match=message):
        load_module(study, module)


def test_an_unknown_kind_of_job_is_named():
    with pytest.raises(RepdynError, match="no kind of job 'paint'; the kinds are simulate, draw"):
        load_runner("paint")


@pytest.mark.parametrize("package", ["torch", None])
def test_a_package_that_is_not_installed_is_no_missing_module(monkeypatch, package):
    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'", name=package)

    monkeypatch.setattr(loading.importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError):
        load_module(STUDY, "experiments")


def test_modules_of_a_package_or_the_module():
    assert [module.__name__ for module in load_modules("truncation_flow", "settings")] == [
        "repdyn.truncation_flow.settings"
    ]
    assert "repdyn.bn_decomposed.theory.layers" in [module.__name__ for module in load_modules(STUDY, "theory")]


# Figures, tables, claims, images


def shown(kind, name, inputs, suffixes):
    outputs = [f"{STUDY}/{kind}/{name}.{suffix}" for suffix in suffixes]
    return {"study": STUDY, "function": f"{kind}:{name}", "code": "c0de", "inputs": inputs, "outputs": outputs}


def test_a_figure_is_drawn_with_its_origin(results):
    run(jobs_for_tests.gap(), results)
    inputs = {"orthogonality_gap": f"{STUDY}/data/orthogonality_gap.nc"}
    draw.run(shown("figures", "orthogonality_gap", inputs, FIGURE_FILES), results, None)
    folder = results / STUDY / "figures"
    assert {path.name for path in folder.iterdir()} == {f"orthogonality_gap.{suffix}" for suffix in FIGURE_FILES}
    about = json.loads((folder / "orthogonality_gap.json").read_text())
    assert (about["code_version"], about["datasets"]) == ("c0de", ["orthogonality_gap"])
    with pytest.raises(RepdynError, match="fig1_ablation wants ablation, but the job gives only orthogonality_gap"):
        draw.run(shown("figures", "fig1_ablation", inputs, FIGURE_FILES), results, None)


@pytest.mark.parametrize(
    ("runner", "kind", "suffix", "lead", "reader"),
    [(draw, "figures", "svg", "Not drawn", "the figure"), (tabulate, "tables", "csv", "Not filled", "the table")],
)
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NotEnoughDataError("loss: 5 along seed, has 1"), "loss: 5 along seed, has 1"),
        (KeyError("tanh"), "{reader} ended with KeyError: 'tanh'"),
        (ValueError("x and y"), "{reader} ended with ValueError: x and y"),
    ],
)
def test_what_lacks_data_says_so(tmp_path, monkeypatch, runner, kind, suffix, lead, reader, error, reason):
    def needy_one():
        raise error

    monkeypatch.setattr(runner, "load_function", lambda study, function: needy_one)
    member = shown(kind, "needy", {}, (suffix, "json"))
    runner.run(member, tmp_path, None)
    about = json.loads((tmp_path / STUDY / kind / "needy.json").read_text())
    needs = reason.format(reader=reader)
    assert (about["title"], about["caption"]) == ("needy one", f"{lead}: needs more than this run has ({needs}).")
    assert (about["code_version"], about["datasets"]) == (member["code"], [])


def test_a_table_is_written_with_its_origin(results):
    settings = {"settings": SETTINGS | {"record": [0, 3]}}
    member = jobs_for_tests.member(
        function="experiments:ablation", settings=settings, outputs=[f"{STUDY}/data/ablation.nc"]
    )
    run(member, results)
    inputs = {"ablation": f"{STUDY}/data/ablation.nc"}
    tabulate.run(shown("tables", "ablation", inputs, ("csv", "tex", "json")), results, None)
    folder = results / STUDY / "tables"
    assert sorted(path.name for path in folder.iterdir()) == [f"ablation.{suffix}" for suffix in ("csv", "json", "tex")]
    about = json.loads((folder / "ablation.json").read_text())
    assert (about["code"], about["datasets"]) == ("repdyn.bn_decomposed.tables:ablation", ["ablation"])


def test_each_claim_has_a_row_with_its_own_code_version_and_its_evidence(results, monkeypatch):
    def points(id):
        declared = claim(
            id,
            where="Theorem 1",
            kind="identity",
            states='Points, "six", of them.',
            control=false_world("half of them", lambda images: images.isel(point=slice(3))),
        )
        return declared(
            lambda images: Verdict.from_tests(deviation(images.sizes["point"] - 6, 1, expected="6", reason=""))
        )

    monkeypatch.setattr(decide, "load_function", lambda study, function: points(function))
    claims = {id: {"function": id, "code": f"code of {id}"} for id in ("x-late", "x-early")}
    outputs = ["x/claims.csv", "x/evidence.csv"]
    decide.run({"study": STUDY, "claims": claims, "inputs": {"images": IMAGES}, "outputs": outputs}, results, None)
    with (results / outputs[0]).open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ("study", "id", "verdict", "code", "code_version", "control_outcome")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        (STUDY, "x-late", "holds", f"repdyn.{STUDY}.x-late", "code of x-late", "rejected"),
        (STUDY, "x-early", "holds", f"repdyn.{STUDY}.x-early", "code of x-early", "rejected"),
    ]
    assert rows[0]["statement"] == 'Points, "six", of them.'
    with (results / outputs[1]).open(newline="") as file:
        evidence = list(csv.DictReader(file))
    assert [(row["id"], row["outcome"], row["control"]) for row in evidence] == [
        ("x-late", "passes", "half of them"),
        ("x-early", "passes", "half of them"),
    ]
    assert all(b"\r" not in (results / output).read_bytes() for output in outputs)


def test_images_keep_the_conventions(tmp_path):
    member = {
        "source": "digits",
        "split": "test",
        "mnist_folder": None,
        "mnist_mirrors": [],
        "code": "c0de",
        "outputs": [IMAGES],
    }
    images_job.run(member, tmp_path, None)
    data = datasets.read(tmp_path / IMAGES)
    assert data.sizes["point"] == 1797
    assert datasets.problems(data) == []


def test_a_trial_depends_on_no_settings_of_others():
    """A mapping of settings has an entry for each trial; one of settings and something else is no such mapping."""
    settings = RecenteringDepth(batch=8, width=16, depth=2, seeds=2)
    assert simulate._of_one_trial({"first": settings, "second": settings}) is None
    for value in ({"first": settings, "second": 3}, {"first": 2, "second": settings}, {}, 3):
        assert simulate._of_one_trial(value) == value
    assert simulate._of_one_trial(settings) == {"batch": 8, "width": 16, "depth": 2, "seeds": 2}
