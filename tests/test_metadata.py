"""What is said of the software in four files is the same."""

import json
import tomllib

from tests.conftest import ROOT

from repdyn.pipeline.config import yaml_positions

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml_positions.values(ROOT / "CITATION.cff")
ZENODO = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
CODEMETA = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))


def test_versions_are_equal():
    assert {str(CITATION["version"]), ZENODO["version"], CODEMETA["version"]} == {PROJECT["version"]}


def test_licenses_are_equal():
    assert {CITATION["license"], ZENODO["license"], CODEMETA["license"].rpartition("/")[2]} == {PROJECT["license"]}
    assert f"{PROJECT['license']} License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_titles_are_equal_and_begin_with_the_name():
    assert ZENODO["title"] == CODEMETA["name"] == CITATION["title"]
    assert CITATION["title"].startswith(f"{PROJECT['name']}: ")
    assert CODEMETA["identifier"] == PROJECT["name"]


def test_authors_are_equal():
    authors = [author["name"] for author in PROJECT["authors"]]
    assert [author["name"] for author in CITATION["authors"]] == authors
    assert [author["name"] for author in ZENODO["creators"]] == authors
    assert [author["name"] for author in CODEMETA["author"]] == authors


def test_descriptions_keywords_and_python_are_equal():
    assert ZENODO["description"] == CODEMETA["description"] == PROJECT["description"]
    assert ZENODO["keywords"] == CODEMETA["keywords"] == PROJECT["keywords"]
    assert CODEMETA["runtimePlatform"] == f"Python {PROJECT['requires-python']}"
    assert ZENODO["upload_type"] == CITATION["type"] == "software"


def test_the_changelog_speaks_of_the_version():
    assert f"## {PROJECT['version']} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
