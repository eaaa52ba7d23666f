"""The generated pages and the schema: committed as generated, and true to the models."""

import json

import pytest
import yaml
from tests.conftest import ROOT

from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.config.messages import describe
from repdyn.pipeline.pages import measures, outputs
from repdyn.pipeline.pages.generate import SCALES, claims_page, configuration_page, json_schema, write

ADVICE = "differs from the models: run `python -m repdyn reference` in the repository's folder"


def test_committed_reference_is_the_generated_one():
    committed = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert committed == configuration_page(ROOT), f"docs/configuration.md {ADVICE}"


def test_committed_schema_is_the_generated_one():
    committed = (ROOT / "docs" / "config.schema.json").read_text(encoding="utf-8")
    assert committed == json_schema(), f"docs/config.schema.json {ADVICE}"


def test_committed_list_of_claims_is_the_generated_one():
    committed = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert committed == claims_page(), f"docs/claims.md differs from the checks: {ADVICE.split(':')[1]}"


def test_committed_page_of_outputs_is_the_generated_one():
    committed = (ROOT / "docs" / "outputs.md").read_text(encoding="utf-8")
    assert committed == outputs.page(STUDIES), f"docs/outputs.md differs from the code: {ADVICE.split(':')[1]}"


def test_committed_page_of_measures_is_the_generated_one():
    committed = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert committed == measures.page(), f"docs/measures.md differs from the catalog: {ADVICE.split(':')[1]}"


def test_every_overlay_has_its_column():
    assert sorted(SCALES) == sorted(path.stem for path in (ROOT / "workflow" / "scales").glob("*.yaml"))


def test_write_makes_all_files(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "workflow").symlink_to(ROOT / "workflow")
    (tmp_path / "config.yaml").symlink_to(ROOT / "config.yaml")
    write(tmp_path)
    assert (tmp_path / "docs" / "configuration.md").read_text(encoding="utf-8") == configuration_page(ROOT)
    assert (tmp_path / "docs" / "outputs.md").read_text(encoding="utf-8") == outputs.page(STUDIES)
    assert (tmp_path / "docs" / "measures.md").read_text(encoding="utf-8") == measures.page()
    assert (tmp_path / "docs" / "claims.md").read_text(encoding="utf-8") == claims_page()
    assert (tmp_path / "docs" / "config.schema.json").read_text(encoding="utf-8") == json_schema()


def test_a_row_shows_range_default_scales_and_meaning():
    values = ROOT / "src/repdyn/bn_decomposed/values"
    default, smoke = (
        yaml.safe_load((values / f"{name}.yaml").read_text())["ablation"]["width"] for name in ("default", "smoke")
    )
    section = configuration_page(ROOT).split("### bn_decomposed.ablation\n")[1].split("###")[0]
    row = next(line for line in section.splitlines() if line.startswith("| `width`"))
    assert f"| integer from 8 to 8192 | `{default}` |" in row
    assert f"smoke `{smoke}`" in row
    assert "Neurons per layer" in row


def test_the_schema_refuses_unknown_keys_everywhere():
    schema = json.loads(json_schema())
    sections = [schema, *schema["$defs"].values()]
    assert all(section["additionalProperties"] is False for section in sections if section["type"] == "object")


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"type": "integer", "minimum": 2, "maximum": 8}, "an integer from 2 to 8"),
        ({"type": "integer", "minimum": 2}, "an integer of at least 2"),
        ({"type": "number", "exclusiveMinimum": 0}, "a number above 0"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "a number above 0 and at most 1"),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, "a number of at least 0 and below 1"),
        ({"type": "boolean"}, "true or false"),
        ({"const": "auto"}, "auto"),
        ({"enum": ["a", "b"]}, "one of a, b"),
        ({"type": "string", "minLength": 1}, "non-empty text"),
        ({"type": "string", "minLength": 2}, "text of at least 2 characters"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "an integer, or null"),
        ({"type": "array", "items": {"type": "boolean"}}, "a list of booleans"),
        ({"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}, "a list of 2 numbers"),
        ({"type": "array", "minItems": 1, "items": {"enum": ["a", "b"]}}, "a list of one or more values among a, b"),
        (
            {"type": "array", "minItems": 2, "maxItems": 3, "items": {"type": "array", "items": {"type": "number"}}},
            "a list of at least 2 and at most 3 lists of numbers",
        ),
        ({"$ref": "#/$defs/Section"}, "a mapping with the keys x, y"),
        ({}, "a value"),
    ],
)
def test_a_schema_in_words(node, words):
    root = {"$defs": {"Section": {"type": "object", "properties": {"x": {}, "y": {}}}}}
    assert describe(node, root) == words
