"""The workflow as a module of another workflow: its own configuration, its own results, every rule by a prefix."""

import json

import pytest
from tests.conftest import ROOT, snakemake

pytestmark = pytest.mark.slow
FIXED_POINT = "results/ours/bn_decomposed/data/fixed_point.nc"
IMPORTER = f"""
configfile: "config.yaml"
module repdyn:
    snakefile: "{ROOT}/Snakefile"
    config: config["repdyn"]
use rule * from repdyn as repdyn_*
rule mine:
    default_target: True
    input: "{FIXED_POINT}"
    output: "mine.txt"
    shell: "ls {{input}} > {{output}}"
"""
CONFIG = "own: 1\nrepdyn:\n  run: {name: ours, seed: 3}\n  bn_decomposed: {fixed_point: {batches: [3, 6]}}\n"


@pytest.fixture
def importer(tmp_path):
    (tmp_path / "Snakefile").write_text(IMPORTER)
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def test_a_target_of_the_module_is_made_in_the_importers_folder(importer):
    shown = snakemake(importer, "--cores", "1", "-n")
    text = shown.stdout + shown.stderr
    assert shown.returncode == 0, text
    assert "rule repdyn_bn_decomposed_gaussian_layers" in text
    job = json.loads((importer / "logs/ours/bn_decomposed/gaussian_layers.job.json").read_text())
    (member,) = [member for member in job["members"] if member["function"].endswith(":fixed_point")]
    assert (member["seed"], member["settings"]["settings"]["batches"]) == (3, [3, 6])


def test_a_wrong_setting_of_the_module_is_told(importer):
    (importer / "config.yaml").write_text(CONFIG.replace("seed: 3", "sede: 3"))
    shown = snakemake(importer, "--cores", "1", "-n")
    assert shown.returncode != 0
    assert 'unknown key "sede"; did you mean "seed"?' in shown.stdout + shown.stderr
