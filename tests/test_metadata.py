"""What is said of the software in four files is the same, and catalogs find what they look for."""

import json
import re
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


# The catalog of Snakemake workflows

RULES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/repdyn/pipeline/rules").glob("*.smk"))


def faults_for_the_catalog(readme: str, settings: dict, rules: str) -> set[str]:
    """What keeps a repository out of the catalog, or is told there and not so."""
    usage = settings.get("usage", {})
    deployed = usage.get("software-stack-deployment", {})
    faults = {word for word in ("snakemake", "workflow") if word not in readme.lower()}
    faults |= set(usage) - {"mandatory-flags", "software-stack-deployment", "report"}
    faults |= set(usage.get("mandatory-flags", {})) - {"desc", "flags"}
    faults |= set(deployed) - {"conda", "apptainer", "apptainer+conda"}
    for name, directive in (("conda", "conda"), ("apptainer", "container")):
        runs = [rule for rule in re.split(r"^ *rule\b.*:$", rules, flags=re.MULTILINE) if "shell:" in rule]
        if deployed.get(name) and not (runs and all(f"{directive}:" in rule for rule in runs)):
            faults.add(name)
    return faults | ({"report"} if usage.get("report") and "report(" not in rules else set())


def test_the_catalog_of_workflows_finds_what_it_looks_for():
    """By its page on adding workflows: two words in the README, a Snakefile, configuration told, usage in a file."""
    settings = yaml_positions.values(ROOT / ".snakemake-workflow-catalog.yml")
    assert set(settings) == {"usage"}
    assert {"conda", "apptainer"} == set(settings["usage"]["software-stack-deployment"])
    assert faults_for_the_catalog((ROOT / "README.md").read_text(encoding="utf-8"), settings, RULES) == set()
    assert (ROOT / "workflow/Snakefile").is_file()
    assert set(yaml_positions.values(ROOT / "config/config.yaml")) == {"run"}
    assert "config.yaml" in (ROOT / "config/README.md").read_text(encoding="utf-8")


def test_a_wrong_entry_of_the_catalog_is_noticed():
    usage = {"software-stack-deployment": {"conda": True, "apptainer": True, "singularity": True}, "report": True}
    both = 'rule a:\n    conda: "e.yaml"\n    container: "i.sif"\n    shell: "x"\n'
    rules = both + 'rule b:\n    conda: "e.yaml"\n    shell: "y"\n'
    faults = faults_for_the_catalog("A Snakemake pipeline.", {"usage": usage | {"flags": ""}}, rules)
    assert faults == {"workflow", "flags", "singularity", "apptainer", "report"}
