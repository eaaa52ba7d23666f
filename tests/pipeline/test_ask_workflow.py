"""Jobs of a run from Snakemake: which checkout, which options, content of errors."""

import subprocess
from pathlib import Path

import pytest
from tests.conftest import ROOT

from repdyn.base.errors import ConfigError, RepdynError
from repdyn.pipeline.ask import workflow
from repdyn.pipeline.run.declare.jobs import Job, write_all
from repdyn.pipeline.studies import CHOICE


def test_snakemake_errors_are_propagated():
    with pytest.raises(RepdynError, match=r"(?s)WorkflowError.*widht"):
        workflow.jobs(workflow.folder(), ["--config", "bn_decomposed={training: {widht: 1}}"])


def test_jobs_of_the_run_that_the_workflow_names_are_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = []
    answer = subprocess.CompletedProcess([], 0, stdout="all\nrun: mine\nrunner: no\n", stderr="host: a\n")
    monkeypatch.setattr(workflow.subprocess, "run", lambda words, **how: asked.append((words, how)) or answer)
    declared = [Job("mine", f"s/{name}", "k", [{"code": "", "inputs": {}, "outputs": [name]}]) for name in "ab"]
    write_all(declared, {})
    assert [job.name for job in workflow.jobs(Path("a b"), ["--config", "x=1"])] == ["s/a", "s/b"]
    ((words, how),) = asked
    assert words[1:] == [
        *("-m", "snakemake", "--snakefile", "a b/Snakefile", "--cores", "1", "--config", "x=1", "--list-rules")
    ]
    assert how["env"]["REPDYN_TELL_RUN"] == "1"
    answer.stdout = "all\n"
    with pytest.raises(RepdynError):
        workflow.jobs(Path(), [])


@pytest.mark.parametrize(
    ("file", "text", "chosen", "here"),
    [
        ("Snakefile", "rule all:\n", "", False),
        ("Snakefile", f'include: "{workflow.OUR_RULES}/common.smk"\n', "", True),
        ("Snakefile", "rule all:\n", "my_paper", True),
        ("src/repdyn/pipeline/ask/workflow.py", "", "", True),
        (None, "", "my_paper", False),
    ],
)
def test_folder_with_a_snakefile_is_used_if_it_has_our_code_our_rules_or_chosen_studies(
    tmp_path, monkeypatch, file, text, chosen, here
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CHOICE, chosen)
    if file:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path("Snakefile").touch()
        Path(file).write_text(text)
    assert workflow.folder() == (Path() if here else ROOT)


def test_options_are_the_given_overlays_and_settings_or_the_scale_of_the_run(tmp_path):
    scales = tmp_path / "workflow/scales"
    scales.mkdir(parents=True)
    for name in ("smoke", "full"):
        (scales / f"{name}.yaml").touch()
    settings = ["x=1", "run={seed: 2}"]
    for run, overlays, given, wanted in (
        (
            "full",
            [Path("c.yaml"), Path("a.yaml")],
            settings,
            ["--configfile", "c.yaml", "a.yaml", "--config", *settings],
        ),
        ("full", None, [], ["--configfile", str(scales / "full.yaml")]),
        ("full", [], settings, ["--config", *settings]),
        ("paper", None, settings, ["--config", *settings]),
        ("mine", None, [], []),
    ):
        assert workflow.options(tmp_path, run, overlays, given) == wanted


def test_setting_without_a_value_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="got foo, expected KEY=VALUE"):
        workflow.options(tmp_path, "smoke", None, ["x=1", "foo"])
