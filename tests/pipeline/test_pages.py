"""The generated parts of docs and the schema: committed as generated, and true to the code."""

import json
import re
import shutil

import pytest
from tests.conftest import ROOT
from tests.pipeline import jobs_for_tests
from tests.pipeline.made_up_run import EVIDENCE_ROW, LEDGER_ROW

from repdyn.base.datasets import REQUIRED
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.pages.generate import BEGIN, SCALES, json_schema, texts, write
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute import entry
from repdyn.pipeline.run.kinds.manifest import build as build_manifest

OUTPUTS = (ROOT / "docs/outputs.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def generated():
    return texts(ROOT)


def test_committed_pages_are_up_to_date(generated):
    old = [name for name, text in generated.items() if text != (ROOT / "docs" / name).read_text(encoding="utf-8")]
    assert old == [], "run `python -m repdyn dev pages` in the repository's folder"
    assert sorted(SCALES) == sorted(path.stem for path in (ROOT / "workflow" / "scales").glob("*.yaml"))


def test_write_changes_the_generated_parts_alone(tmp_path, generated):
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("[!a-z]*", "images", "api"))
    for name in ("workflow", "config.yaml", "reference"):
        (tmp_path / name).symlink_to(ROOT / name)
    page = tmp_path / "docs/measures.md"
    page.write_text(page.read_text(encoding="utf-8").replace(BEGIN, f"{BEGIN}\n\nold").replace("# Measures", "# Ours"))
    write(tmp_path)
    assert page.read_text(encoding="utf-8") == generated["measures.md"].replace("# Measures", "# Ours")
    page.write_text("no marks")
    with pytest.raises(ValueError, match="no place for its generated part"):
        write(tmp_path)


def test_schema_rejects_unknown_keys_everywhere():
    schema = json.loads(json_schema())
    sections = [schema, *schema["$defs"].values()]
    assert all(section["additionalProperties"] is False for section in sections if section["type"] == "object")


def explained(heading):
    """Names in the first column of the table under a heading of the page of outputs."""
    section = OUTPUTS.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"\w+", cell)]


def test_page_of_outputs_names_columns_attributes_and_keys_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert explained("Columns of claims.csv") == ["study", *LEDGER_ROW, "code_version", "expected_verdict", "change"]
    assert set(explained("Columns of evidence.csv")) <= set(EVIDENCE_ROW)
    assert set(explained("Datasets")) == {*REQUIRED, "title", "Conventions"}
    build_manifest([], tmp_path, tmp_path, tmp_path, {}, tmp_path / "manifest.json")
    assert set(json.loads((tmp_path / "manifest.json").read_text())) == set(explained("manifest.json"))
    entry.main(jobs_for_tests.write(tmp_path, jobs_for_tests.gap()))
    assert set(jobs_for_tests.record(tmp_path)) == set(explained("Logs and costs"))


def test_page_of_outputs_names_every_dataset_figure_and_table_in_closed_cells():
    studies = map(read_study, STUDIES)
    names = [name for study in studies for part in (study.experiments, study.figures, study.tables) for name in part]
    assert [name for name in names if f"`{name}`" not in OUTPUTS] == []
    rows = [line for line in OUTPUTS.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} <= {3, 4, 5}
