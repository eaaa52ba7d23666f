"""Files of the forge: workflows run the commands that the pages give, by pinned actions; forms of issues are whole."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.conftest import ROOT

from repdyn.__main__ import COMMANDS
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.new import project

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TEMPLATES = [*WORKFLOWS, *sorted((project.TEMPLATE / ".github/workflows").glob("*.yml.in"))]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[0-9]*.yml"))
PAGES = ("README.md", "CONTRIBUTING.md", "docs/usage.md", "docs/without_a_checkout.md")
OF_THE_FORGE = {
    "python -m pip install build",
    "python -m build",
    "pip install -c envs/constraints.txt dist/*.whl",
}
"""Commands that no page has, since only a workflow wants them."""
WRITES = {"release": {"contents"}, "site": {"pages", "id-token"}}
PYTHON = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")


def by_name(paths):
    return pytest.mark.parametrize("file", paths, ids=lambda path: path.name.partition(".")[0])


def jobs(file):
    return yaml_positions.values(file)["jobs"]


def steps(file):
    return [step for job in jobs(file).values() for step in job.get("steps", [])]


def plain(command):
    """A command as the pages write it: from an active environment, in the folder itself."""
    return re.sub(r"(?<![\w/])(\.\./)?\.venv/bin/", "", command).strip()


def commands(file):
    """What a workflow runs: every part between `&&`, which no string of ours holds."""
    lines = [line for step in steps(file) for line in step.get("run", "").splitlines()]
    return [plain(part) for line in lines for part in line.split("&&")]


def is_ours(command):
    """Whether the command is `python -m repdyn` with a command that there is."""
    words = command.split()
    return words[:3] == ["python", "-m", "repdyn"] and words[3] in COMMANDS


def is_known(command, pages):
    asks_the_forge = command.startswith(("gh release create ", "gh run download ", "test "))
    a_dry_run = command.replace("snakemake --dry-run ", "snakemake ")
    script = ROOT / command
    is_script = command.startswith(".ci/") and script.is_file() and os.access(script, os.X_OK)
    written = any(known in pages for known in (command, a_dry_run))
    return command in OF_THE_FORGE or asks_the_forge or is_ours(command) or is_script or written


def test_there_is_a_workflow_for_each_purpose():
    assert {path.stem for path in WORKFLOWS} == {"tests", "slow", "nightly", "release", "site"}


@by_name(WORKFLOWS)
def test_every_command_is_one_of_a_page_or_of_repdyn(file):
    pages = plain("\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES))
    pages = "\n".join(part for line in pages.splitlines() for part in re.split(r"&& |`", line))
    run = commands(file)
    assert run
    assert [command for command in run if not is_known(command, {part.strip() for part in pages.splitlines()})] == []


@pytest.mark.parametrize("wrong", ["python -m repdyn compair a b", "snakemake --cores 8 none", ".ci/none", "make"])
def test_a_command_that_no_page_has_is_noticed(wrong):
    assert not is_known(wrong, {"snakemake --cores 8 all"})


@by_name(TEMPLATES)
def test_actions_are_pinned_to_a_commit_with_its_version_beside(file):
    used = re.findall(r"uses: (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert [line for line in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line)] == []


def test_an_action_has_one_version_everywhere():
    used = {line for file in TEMPLATES for line in re.findall(r"uses: (.*)$", file.read_text(), re.MULTILINE)}
    names = [line.partition("@")[0] for line in used]
    assert sorted(names) == sorted(set(names))


@by_name(WORKFLOWS)
def test_python_is_that_of_pyproject(file):
    versions = [step["with"]["python-version"] for step in steps(file) if "python-version" in step.get("with", {})]
    images = [job["container"] for job in jobs(file).values() if "container" in job]
    assert {*versions, *(re.fullmatch(r"python:([\d.]+)-\w+", image)[1] for image in images)} == {PYTHON}
    assert f"FROM python:{PYTHON}-" in (ROOT / "envs/Dockerfile").read_text()


@by_name(WORKFLOWS)
def test_a_job_may_write_only_what_it_must_and_ends(file):
    granted = yaml_positions.values(file)["permissions"]
    assert granted == {"contents": "read"}
    for job in jobs(file).values():
        writing = {name for name, grant in job.get("permissions", {}).items() if grant == "write"}
        assert writing <= WRITES.get(file.stem, set())
        assert 0 < job["timeout-minutes"] < 360
    for step in steps(file):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert "${{ github.event" not in step.get("run", ""), "text of others reaches a shell"


def test_the_nightly_run_is_held_against_a_reference_that_is_there():
    comparison, _ = (command for command in commands(ROOT / ".github/workflows/nightly.yml") if " compare " in command)
    run, reference = comparison.split()[-2:]
    assert run.removeprefix("results/") == reference.removeprefix("reference/")
    assert (ROOT / reference / "claims.csv").is_file()


def test_the_night_before_is_compared_by_the_files_that_it_kept():
    """The artifact's root is what its paths share."""
    night = ROOT / ".github/workflows/nightly.yml"
    kept = {step["with"]["name"]: step["with"] for step in steps(night) if "retention-days" in step.get("with", {})}
    (fetch,) = (command for command in commands(night) if command.startswith("gh run download "))
    folder = re.search(r"--name figures --dir (\S+)", fetch)[1]
    (comparison,) = (command for command in commands(night) if " --pictures " in command)
    assert comparison.split()[4:6] == [folder, "results/default"]
    assert kept["figures"]["path"].split() == ["results/default/claims.csv", "results/default/*/figures/*.png"]
    assert kept["moved"]["path"] == comparison.split()[-1]


def test_no_file_names_a_registry():
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / ".github").rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if re.search("pypi|index-url|anaconda", text, re.IGNORECASE)] == []


def test_a_dispute_comes_first_and_asks_what_is_needed_to_answer():
    assert [path.stem for path in FORMS] == ["1-dispute-a-verdict", "2-bug", "3-new-study"]
    fields = {field["id"]: field for field in yaml_positions.values(FORMS[0])["body"]}
    needed = {id for id, field in fields.items() if field.get("validations", {}).get("required")}
    assert needed == {"claim", "words", "derivation", "run"}


@by_name(FORMS)
def test_a_form_has_what_a_forge_demands(file):
    form = yaml_positions.values(file)
    assert all(isinstance(form[key], str) and form[key] for key in ("name", "description"))
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids)) <= 6
    assert {field["type"] for field in form["body"]} <= {"input", "textarea", "checkboxes"}
    assert all(field["attributes"]["label"] for field in form["body"])


def test_an_example_in_a_form_is_a_claim():
    fields = {field["id"]: field for field in yaml_positions.values(FORMS[0])["body"]}
    id = fields["claim"]["attributes"]["placeholder"]
    assert id in (ROOT / "docs/claims.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)],
        ["check-jsonschema", "--builtin-schema", "vendor.github-issue-forms", *map(str, FORMS)],
        ["check-jsonschema", "--builtin-schema", "vendor.github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"],
        ["check-jsonschema", "--builtin-schema", "vendor.citation-file-format", "CITATION.cff"],
        ["zizmor", "--offline", "--no-progress", ".github"],
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_files_of_the_forge_pass_the_linters(command):
    tool = shutil.which(command[0], path=str(Path(sys.executable).parent))
    assert tool, f"{command[0]} is not beside {sys.executable}: install the extra test"
    done = subprocess.run([tool, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
