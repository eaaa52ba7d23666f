"""The page of outputs names what the code writes: columns, attributes, keys, figures, tables, datasets."""

import json

import xarray as xr
from tests.pipeline import jobs_for_tests

from repdyn.base.claims import claim, decide_claim
from repdyn.base.controls import false_world
from repdyn.base.datasets import REQUIRED
from repdyn.base.verdicts import Verdict, deviation
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.pages import outputs
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute import entry
from repdyn.pipeline.run.kinds.manifest import build as build_manifest


def decided():
    """A claim decided on one number."""
    control = false_world("nine more", lambda first: first + 9)
    declared = claim("x", where="1", kind="identity", states="A.", control=control)
    check = declared(lambda first: Verdict.from_tests(deviation(float(first["r"]), 1, expected="0", reason="one")))
    return decide_claim(check, {"first": xr.Dataset({"r": ((), 0.5)})})


def test_columns_are_those_of_a_row_in_their_order():
    assert list(outputs.COLUMNS) == ["study", *decided().ledger, "code_version", "expected_verdict", "change"]


def test_columns_of_evidence_are_those_of_a_row():
    listed = {name for names in outputs.EVIDENCE for name in names.split(", ")}
    assert listed <= set(decided().evidence[0])


def test_attributes_are_those_that_every_dataset_has():
    assert set(outputs.ATTRIBUTES) == {*REQUIRED, "title", "Conventions"}


def test_keys_are_those_of_a_manifest(tmp_path):
    build_manifest([], tmp_path, tmp_path, tmp_path, {}, tmp_path / "manifest.json")
    assert set(json.loads((tmp_path / "manifest.json").read_text())) == set(outputs.MANIFEST)


def test_keys_are_those_of_a_cost_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry.main(jobs_for_tests.write(tmp_path, jobs_for_tests.gap()))
    assert set(jobs_for_tests.record(tmp_path)) == set(outputs.COSTS)


def test_every_dataset_figure_and_table_is_on_the_page():
    page = outputs.page(STUDIES)
    studies = map(read_study, STUDIES)
    names = [name for study in studies for part in (study.experiments, study.figures, study.tables) for name in part]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_mark_of_a_table_stays_in_its_cell():
    rows = [line for line in outputs.page(STUDIES).splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} <= {3, 4, 5}
