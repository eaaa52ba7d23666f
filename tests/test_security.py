"""Hostile names and values stay values: nothing reaches a shell unquoted, nothing from a file is run."""

import ast
import re

import pytest
import yaml
from tests.conftest import ROOT, SMOKE, copy_checkout, snakemake

from repdyn.base.errors import ConfigError
from repdyn.pipeline.config import configuration as config

SNAKEFILES = [ROOT / "Snakefile", ROOT / "workflow/Snakefile"]
RULES = [*SNAKEFILES, *sorted((ROOT / "src/repdyn/pipeline/rules").glob("*.smk"))]
SOURCES = sorted(path for folder in ("src", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))
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
def test_hostile_settings_reach_the_job_as_they_were_written(tmp_path):
    folder = copy_checkout(tmp_path / "checkout")
    overlay = {"run": {"name": "hostile"}, "data": {"source": "mnist", "mnist_folder": HOSTILE}}
    (tmp_path / "hostile.yaml").write_text(yaml.safe_dump(overlay))
    options = ["--cores", "1", "--configfile", str(tmp_path / "hostile.yaml")]
    done = snakemake(folder, *options, "--", "results/hostile/data/images.nc")
    assert done.returncode != 0
    assert f"{HOSTILE} does not exist" in done.stdout + done.stderr
    assert [path for path in tmp_path.rglob("*") if "pwned" in path.name] == []


@pytest.mark.slow
def test_hostile_folders(tmp_path):
    """The checkout, and so the working folder, the interpreter's path to the code and every log, has such a name."""
    folder = copy_checkout(tmp_path / "it's $(touch pwned) `touch pwned`; touch pwned #")
    target = "results/smoke/bn_decomposed/data/cluster_rows.nc"
    done = snakemake(folder, "--cores", "1", "--configfile", SMOKE, "--", target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / target).is_file()
    assert [path for path in tmp_path.rglob("*") if path.name == "pwned"] == []


@pytest.mark.parametrize(
    "name", ["../up", "a b", "$(touch pwned)", "a;b", "a'b", "", ".hidden", "a/b", "a\nb", "x" * 101]
)
def test_names_of_runs_are_words(name, tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(yaml.safe_dump({"run": {"name": name}}))
    with pytest.raises(ConfigError, match=r"run\.name"):
        config.load([ROOT / "config.yaml", overlay])


@pytest.mark.parametrize("mirror", ["http://example.org/mnist", "file:///etc", "ftp://example.org", "https://a b"])
def test_mirrors_are_https(mirror, tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(yaml.safe_dump({"data": {"mnist_mirrors": [mirror]}}))
    with pytest.raises(ConfigError, match="mnist_mirrors"):
        config.load([ROOT / "config.yaml", overlay])


def test_yaml_makes_no_objects(tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text(f"run:\n  name: !!python/object/apply:os.system ['touch {tmp_path}/pwned']\n")
    with pytest.raises(ConfigError):
        config.load([ROOT / "config.yaml", overlay])
    assert not (tmp_path / "pwned").exists()


# Code from files


def calls(file):
    """Dotted name and node of every call in a source file."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def keyword(node, name):
    """The constant given for a keyword; None where it is not given."""
    return next(
        (
            argument.value.value
            for argument in node.keywords
            if argument.arg == name and isinstance(argument.value, ast.Constant)
        ),
        None,
    )


RUNS_TEXT = {"eval", "exec", "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}
UNCHECKED_YAML = {"yaml.load", "yaml.unsafe_load", "yaml.full_load", "yaml.load_all", "yaml.unsafe_load_all"}
FORBIDDEN = {"read_pickle", "to_pickle", "mktemp", "create_connection"}
PICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
NETWORK = {"requests", "urllib.request", "urllib3", "http.client", "ftplib", "pooch"}
MAY = {
    ("src/repdyn/base/images.py", "pooch"): "MNIST",
    ("src/repdyn/pipeline/run/machine/readiness.py", "urllib.request"): "asks whether a mirror of MNIST answers",
}


def faults(file):
    """What a source file does that none should."""
    for called, node in calls(file):
        last = called.split(".")[-1]
        if called in RUNS_TEXT | UNCHECKED_YAML or last in FORBIDDEN:
            yield called
        if keyword(node, "shell") is True:
            yield "shell=True"
        if called in ("np.load", "numpy.load") and keyword(node, "allow_pickle") is not False:
            yield "np.load without allow_pickle=False"
        if called == "torch.load" and keyword(node, "weights_only") is not True:
            yield "torch.load without weights_only=True"
        if called.endswith("pooch.retrieve") and len(node.args) < 2:
            yield "a download without a checksum"
    for node in ast.walk(ast.parse(file.read_text())):
        for alias in names_of(node):
            yield from {alias.name, alias.name.split(".")[0]} & (PICKLES | NETWORK)
        if isinstance(node, ast.ImportFrom) and node.module in ("yaml", "os", "numpy", "torch", "subprocess"):
            yield from {alias.name for alias in node.names} & {"load", "system", "popen", "unsafe_load", "full_load"}


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_source_runs_what_it_reads(file):
    """No pickles, no evaluation, no shell, no unchecked YAML; torch loads weights alone; one place has a network."""
    name = file.relative_to(ROOT).as_posix()
    assert [fault for fault in faults(file) if (name, fault) not in MAY] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("import pickle", "pickle"),
        ("from joblib import load", "joblib"),
        ("import urllib.request", "urllib.request"),
        ("import requests", "requests"),
        ("eval('1')", "eval"),
        ("yaml.load(text)", "yaml.load"),
        ("from yaml import load", "load"),
        ("np.load(path)", "np.load without allow_pickle=False"),
        ("numpy.load(path, allow_pickle=True)", "np.load without allow_pickle=False"),
        ("torch.load(path)", "torch.load without weights_only=True"),
        ("torch.load(path, weights_only=False)", "torch.load without weights_only=True"),
        ("subprocess.run('ls', shell=True)", "shell=True"),
        ("pd.read_pickle(path)", "read_pickle"),
        ("pooch.retrieve(url)", "a download without a checksum"),
    ],
)
def test_each_fault_is_noticed(tmp_path, text, fault):
    (tmp_path / "spoilt.py").write_text(text)
    assert any(message.endswith(fault) for message in faults(tmp_path / "spoilt.py"))


def test_what_is_excused_is_there():
    for name, fault in MAY:
        assert fault in faults(ROOT / name)


def names_of(node):
    """Aliases of an import; a `from` import counts by its module."""
    if isinstance(node, ast.ImportFrom):
        return [ast.alias(node.module or "")]
    return node.names if isinstance(node, ast.Import) else []
