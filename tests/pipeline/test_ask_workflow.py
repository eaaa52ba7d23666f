"""Jobs of a run as the workflow declares them: which checkout, which options, content of errors."""

import shutil
from pathlib import Path

import pytest
from tests.conftest import ROOT, SMOKE, snakemake
from tests.dag.declared import copy_sources

from repdyn.base.errors import ConfigError, RepdynError
from repdyn.pipeline.ask import workflow
from repdyn.pipeline.studies import CHOICE


def test_errors_of_the_configuration_are_propagated():
    with pytest.raises(RepdynError, match="widht"):
        workflow.jobs(workflow.folder(), ["--config", "bn_decomposed={training: {widht: 1}}"])


def test_jobs_are_those_that_snakemake_declares(tmp_path, monkeypatch):
    """The same job files under the same options, values on the command line included."""
    folder = copy_sources(tmp_path / "a b")
    config = ["run={name: mine, seed: 3, device: cpu}", "leaky_resnets={trained: {blocks: 2}}"]
    options = ["--configfile", SMOKE, "--config", *config]
    monkeypatch.chdir(folder)
    jobs = workflow.jobs(Path(), options)
    mine = {path.relative_to("logs"): path.read_bytes() for path in Path("logs").rglob("*.json")}
    shutil.rmtree("logs")
    assert snakemake(folder, "--cores", "1", *options, "--list-rules").returncode == 0
    theirs = {path.relative_to("logs"): path.read_bytes() for path in Path("logs").rglob("*.json")}
    assert mine == theirs
    assert {job.run for job in jobs} == {"mine"}
    assert len(mine) == len(jobs) + 1


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
    with pytest.raises(ConfigError, match=r"got foo run\.name=x, expected KEY=VALUE"):
        workflow.options(tmp_path, "smoke", None, ["x=1", "foo", "run.name=x"])
