"""The generated pages and the schema: committed as generated, and true to the code."""

import json

import pytest
from tests.conftest import ROOT
from tests.pipeline import jobs_for_tests
from tests.pipeline.made_up_run import EVIDENCE_ROW, LEDGER_ROW

from repdyn.base.datasets import REQUIRED
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.pages import measures, outputs
from repdyn.pipeline.pages.generate import SCALES, claims_page, configuration_page, json_schema, write
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute import entry
from repdyn.pipeline.run.kinds.manifest import build as build_manifest

PAGES = {
    "configuration.md": lambda: configuration_page(ROOT),
    "config.schema.json": json_schema,
    "claims.md": claims_page,
    "outputs.md": lambda: outputs.page(STUDIES),
    "measures.md": measures.page,
}


@pytest.mark.parametrize("name", PAGES)
def test_committed_pages_are_the_generated_ones(name):
    advice = "differs from the code: run `python -m repdyn dev pages` in the repository's folder"
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == PAGES[name](), f"docs/{name} {advice}"


def test_write_creates_all_pages(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "workflow").symlink_to(ROOT / "workflow")
    (tmp_path / "config.yaml").symlink_to(ROOT / "config.yaml")
    write(tmp_path)
    written = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "docs").iterdir()}
    assert {name: page() for name, page in PAGES.items()}.items() <= written.items()
    assert sorted(SCALES) == sorted(path.stem for path in (ROOT / "workflow" / "scales").glob("*.yaml"))


def test_schema_rejects_unknown_keys_everywhere():
    schema = json.loads(json_schema())
    sections = [schema, *schema["$defs"].values()]
    assert all(section["additionalProperties"] is False for section in sections if section["type"] == "object")


def test_page_of_outputs_names_columns_attributes_and_keys_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(outputs.COLUMNS) == ["study", *LEDGER_ROW, "code_version", "expected_verdict", "change"]
    assert {name for names in outputs.EVIDENCE for name in names.split(", ")} <= set(EVIDENCE_ROW)
    assert set(outputs.ATTRIBUTES) == {*REQUIRED, "title", "Conventions"}
    build_manifest([], tmp_path, tmp_path, tmp_path, {}, tmp_path / "manifest.json")
    assert set(json.loads((tmp_path / "manifest.json").read_text())) == set(outputs.MANIFEST)
    entry.main(jobs_for_tests.write(tmp_path, jobs_for_tests.gap()))
    assert set(jobs_for_tests.record(tmp_path)) == set(outputs.COSTS)


def test_page_of_outputs_names_every_dataset_figure_and_table_in_closed_cells():
    page, studies = outputs.page(STUDIES), map(read_study, STUDIES)
    names = [name for study in studies for part in (study.experiments, study.figures, study.tables) for name in part]
    assert [name for name in names if f"`{name}`" not in page] == []
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} <= {3, 4, 5}
