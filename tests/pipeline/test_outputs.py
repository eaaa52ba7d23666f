"""The page of outputs names what the code writes: columns, attributes, keys, figures, tables, datasets."""

import json

import pytest
import xarray as xr

from repdyn.base.claims import claim, decide
from repdyn.base.datasets import REQUIRED
from repdyn.base.verdicts import Verdict, deviation
from repdyn.pipeline.reference import outputs
from repdyn.pipeline.reference.pages import outputs_page
from repdyn.pipeline.run.manifest import build as build_manifest


def test_columns_are_those_of_a_row_in_their_order():
    def control(first):
        return first + 9

    declared = claim("x", where="1", kind="identity", states="A.", data="first", control=control, control_says="nine")
    one = declared(lambda first: Verdict.from_tests(deviation(float(first["r"]), 1, expected="0", reason="one")))
    row = decide(one, {"first": xr.Dataset({"r": ((), 0.5)})})
    assert list(outputs.COLUMNS) == ["study", *row, "code_version", "expected_verdict", "change"]


def test_attributes_are_those_that_every_dataset_has():
    assert set(outputs.ATTRIBUTES) == {*REQUIRED, "title", "Conventions"}


def test_keys_are_those_of_a_manifest(tmp_path):
    build_manifest([], tmp_path, tmp_path, tmp_path, "{}", tmp_path / "manifest.json")
    assert set(json.loads((tmp_path / "manifest.json").read_text())) == set(outputs.MANIFEST)


def test_keys_are_those_of_a_cost_record(tmp_path):
    from repdyn.__main__ import main

    cost = tmp_path / "x.log.cost.json"
    assert main(["reference", "--root", str(make_root(tmp_path)), "--cost", str(cost)]) == 0
    assert set(json.loads(cost.read_text())) == set(outputs.COSTS)


def make_root(folder):
    from tests.conftest import ROOT

    (folder / "docs").mkdir()
    for name in ("workflow", "config.yaml"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.mark.parametrize(("room", "kind"), [("figures", "Figure"), ("tables", "Table")])
def test_products_are_read_from_one_file_or_a_folder(room, kind):
    found = {
        one.name: one for study in ("bn_decomposed", "bn_mean_field") for one in outputs.products(study, room, kind)
    }
    known = {"figures": ("fig5_layer_angles", "matched_loss"), "tables": ("fixed_points", "stability")}[room]
    assert set(known) <= set(found)
    assert all(one.shows and one.reads for one in found.values())


def test_a_study_without_a_room_has_no_products():
    assert list(outputs.products("no_such_study", "tables", "Table")) == []


def test_every_mark_of_a_table_stays_in_its_cell():
    rows = [line for line in outputs_page().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} <= {3, 4}
