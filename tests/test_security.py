"""Hostile names and values are only data: nothing reaches a shell unquoted; ruff forbids executing file contents."""

import re

import pytest
import yaml
from tests.conftest import ROOT, SMOKE, copy_checkout, snakemake

from repdyn.base.errors import ConfigError
from repdyn.pipeline.config import configuration as config

SNAKEFILES = [ROOT / "Snakefile", ROOT / "workflow/Snakefile"]
RULES = [*SNAKEFILES, *sorted((ROOT / "src/repdyn/pipeline/rules").glob("*.smk"))]
WORDS = {"params.code", "params.functions", "params.names"}
"""Placeholders that need no quotes: digests and names of functions, written in the rules themselves."""
HOSTILE = (
    "a'b\"c; touch pwned; $(touch pwned) `touch pwned` | tee pwned > pwned\n../&<script>alert(1)</script> {input} *"
)


# Shell


@pytest.mark.parametrize("file", RULES, ids=lambda file: file.name)
def test_every_placeholder_in_a_shell_command_is_quoted(file):
    """`{name:q}` quotes each value for the shell; what is not quoted comes from the rules, not from the user."""
    commands = re.findall(r"^ {4}shell:\n((?: {8}.*\n?)+)", file.read_text(), re.MULTILINE)
    placeholders = [name for command in commands for name in re.findall(r"(?<!\{)\{([^{}]+)\}(?!\})", command)]
    assert [name for name in placeholders if not name.endswith(":q") and name not in WORDS] == []


@pytest.mark.slow
def test_hostile_folders_and_settings_are_passed_verbatim(tmp_path):
    """The checkout, and so the working folder, the interpreter's path to the code and every log, has such a name."""
    folder = copy_checkout(tmp_path / "it's $(touch pwned) `touch pwned`; touch pwned #")
    target = "results/smoke/bn_decomposed/data/cluster_rows.nc"
    done = snakemake(folder, "--cores", "1", "--configfile", SMOKE, "--", target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / target).is_file()
    overlay = {"run": {"name": "hostile"}, "data": {"source": "mnist", "mnist_folder": HOSTILE}}
    (tmp_path / "hostile.yaml").write_text(yaml.safe_dump(overlay))
    options = ["--cores", "1", "--configfile", str(tmp_path / "hostile.yaml")]
    done = snakemake(folder, *options, "--", "results/hostile/data/images.nc")
    assert done.returncode != 0
    assert f"{HOSTILE} does not exist" in done.stdout + done.stderr
    assert [path for path in tmp_path.rglob("*") if path.name == "pwned"] == []


@pytest.mark.parametrize(
    "name", ["../up", "a b", "$(touch pwned)", "a;b", "a'b", "", ".hidden", "a/b", "a\nb", "x" * 101]
)
def test_run_names_are_restricted_to_words(name, tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(yaml.safe_dump({"run": {"name": name}}))
    with pytest.raises(ConfigError, match=r"run\.name"):
        config.load([ROOT / "config.yaml", overlay])


@pytest.mark.parametrize("mirror", ["http://example.org/mnist", "file:///etc", "ftp://example.org", "https://a b"])
def test_only_https_mirrors_are_accepted(mirror, tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(yaml.safe_dump({"data": {"mnist_mirrors": [mirror]}}))
    with pytest.raises(ConfigError, match="mnist_mirrors"):
        config.load([ROOT / "config.yaml", overlay])


def test_yaml_creates_no_objects(tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(f"run:\n  name: !!python/object/apply:os.system ['touch {tmp_path}/pwned']\n")
    with pytest.raises(ConfigError):
        config.load([ROOT / "config.yaml", overlay])
    assert not (tmp_path / "pwned").exists()
