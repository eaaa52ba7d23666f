"""The workflow as a module of another workflow: with its configuration and results, and prefixed rules."""

import json
import subprocess

import pytest
from tests.conftest import ROOT, copy_checkout, snakemake

pytestmark = pytest.mark.slow
FIXED_POINT = "results/ours/bn_decomposed/data/fixed_point.nc"
IMAGES = "results/ours/data/images.nc"
IMPORTER = """
configfile: "config.yaml"
module repdyn:
    snakefile: SNAKEFILE
    config: config["repdyn"]
use rule * from repdyn as repdyn_*
rule mine:
    default_target: True
    input: "TARGET"
    output: "mine.txt"
    shell: "ls {input} > {output}"
"""
CONFIG = "own: 1\nrepdyn:\n  run: {name: ours, seed: 3}\n  bn_decomposed: {fixed_point: {batches: [3, 6]}}\n"


@pytest.fixture
def importer(tmp_path):
    return write_importer(tmp_path, repr(str(ROOT / "Snakefile")), FIXED_POINT)


def write_importer(folder, snakefile, target):
    """Another project's workflow, which takes this one as a module."""
    (folder / "Snakefile").write_text(IMPORTER.replace("SNAKEFILE", snakefile).replace("TARGET", target))
    (folder / "config.yaml").write_text(CONFIG)
    return folder


def test_module_target_is_created_in_the_importing_folder(importer):
    shown = snakemake(importer, "--cores", "1", "-n")
    text = shown.stdout + shown.stderr
    assert shown.returncode == 0, text
    assert "rule repdyn_bn_decomposed_data_gaussian_layers" in text
    job = json.loads((importer / "logs/ours/bn_decomposed/gaussian_layers.job.json").read_text())
    (member,) = [member for member in job["members"] if member["function"].endswith(":fixed_point")]
    assert (member["seed"], member["settings"]["settings"]["batches"]) == (3, [3, 6])


def test_copy_in_another_projects_folder_runs(tmp_path):
    copy_checkout(tmp_path / "other workflows" / "repdyn")
    importer = write_importer(tmp_path, '"other workflows/repdyn/Snakefile"', IMAGES)
    done = snakemake(importer, "--cores", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (importer / IMAGES).is_file()
    assert (importer / "mine.txt").read_text() == f"{IMAGES}\n"
    assert (importer / "logs/ours/images.log").is_file()


def test_from_a_repository_the_rules_are_those_of_the_installed_package(tmp_path):
    """As from a remote repository, where files are fetched one at a time; `gitfile` uses a local repository."""
    repository, commit = (
        tmp_path / "repository",
        ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "1"],
    )
    (repository / "workflow").mkdir(parents=True)
    (repository / "workflow/Snakefile").write_bytes((ROOT / "workflow/Snakefile").read_bytes())
    for words in (["init", "-q"], ["add", "."], commit, ["tag", "v1"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    importer = write_importer(tmp_path, f'gitfile("{repository}", path="workflow/Snakefile", tag="v1")', IMAGES)
    done = snakemake(importer, "--cores", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (importer / "mine.txt").read_text() == f"{IMAGES}\n"
    assert sorted(path.name for path in importer.iterdir() if path.name in ("results", ".cache", "src")) == ["results"]


def test_deployed_configuration_is_a_run_of_the_usual_settings(tmp_path):
    """What `snakedeploy` writes: the folder `config`, and a Snakefile that takes all rules by their own names."""
    shown = snakemake(
        ROOT, "--snakefile", "workflow/Snakefile", "--configfile", "config/config.yaml", "-n", "--", "all"
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "results/default/report/index.html" in shown.stdout + shown.stderr
