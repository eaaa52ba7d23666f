"""`repdyn init`: what the studies need to run without a checkout, identical to the repository."""

import re
import runpy
import subprocess
import sys
import tarfile
from importlib.util import find_spec

import numpy as np
import pytest
from tests.conftest import ROOT, SMOKE
from tests.installed import ask, environment, said, without_network

from repdyn.__main__ import main
from repdyn.base import files
from repdyn.base.errors import ConfigError
from repdyn.pipeline.new import folder as to_write

NEEDED = {
    "Snakefile",
    "config.yaml",
    "workflow/scales/smoke.yaml",
    "profiles/slurm/config.yaml",
    "src/repdyn/universality/page.md",
}


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".snakemake" not in path.parts
    }


def in_the_repository(names):
    return {name: (ROOT / name).read_bytes() for name in names}


def test_init_writes_the_repository_files(tmp_path, capsys):
    assert main(["init", str(tmp_path / "a/runs")]) == 0
    written = contents(tmp_path / "a/runs")
    assert set(written) >= NEEDED
    assert written == in_the_repository(written)
    assert (tmp_path / "a/runs/profiles/cluster-generic/status").stat().st_mode & 0o111
    assert "--configfile workflow/scales/smoke.yaml" in capsys.readouterr().out


def test_wheel_has_all_of_workflow_and_profiles():
    for folder in ("workflow", "profiles", "reference"):
        there = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert there <= set(to_write.files()), folder


def test_build_contains_the_files_of_a_checkout(monkeypatch):
    pytest.importorskip("setuptools")
    monkeypatch.setattr("setuptools.setup", lambda **_: None)
    build = runpy.run_path(str(ROOT / "setup.py"))
    assert {path.as_posix() for path in build["carried"]()} == set(to_write.files())
    assert ROOT / "src" / build["INSIDE"] == to_write.CARRIED


def test_wheel_writes_its_packaged_files(tmp_path, monkeypatch):
    for name in ("Snakefile", "workflow/scales/a.yaml"):
        (tmp_path / "carried" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "carried" / name).write_text(name)
    monkeypatch.setattr(to_write, "CARRIED", tmp_path / "carried")
    to_write.write(tmp_path / "runs")
    assert contents(tmp_path / "runs") == contents(tmp_path / "carried")


def test_init_accepts_only_empty_folders(tmp_path, capsys):
    to_write.write(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "Snakefile").write_text("mine")
    assert main(["init", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: ")
    assert contents(tmp_path) == before | {"Snakefile": b"mine"}
    assert main(["init", str(tmp_path / "Snakefile")]) == 1
    assert "not an empty folder" in capsys.readouterr().err


def test_dangling_link_is_rejected(tmp_path):
    (tmp_path / "runs").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="not an empty folder"), files.fresh(tmp_path / "runs"):
        pass


def test_installation_without_the_files_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(to_write, "CARRIED", tmp_path / "none")
    monkeypatch.setattr(to_write, "CHECKOUT", tmp_path)
    for text in (None, "[tool.other]\nkey = 1\n"):
        if text:
            (tmp_path / "pyproject.toml").write_text(text)
        with pytest.raises(ConfigError, match="neither an installed wheel nor a checkout"):
            to_write.write(tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


NETWORK = (
    "from torch import nn\n\ndef build():\n    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))\n"
)


@pytest.mark.slow
def test_wheel_runs_the_studies_in_an_empty_folder_as_a_checkout_does(site, smoke_run, tmp_path):
    """In a folder with spaces, on other cores, without a network: one study decided, the whole run planned."""
    ask(tmp_path, site, "init", "my first runs")
    runs, claims = tmp_path / "my first runs", "results/smoke/truncation_flow/claims.csv"
    assert contents(runs) == in_the_repository(to_write.files())
    words = ("snakemake", "--cores", "8", "--configfile", SMOKE, "--")
    said(runs, site, *words, claims, prefix=without_network())
    assert (runs / claims).read_bytes() == (smoke_run / claims).read_bytes()
    plan = said(runs, site, *words[:-1], "--dry-run", "--", "all")
    table = re.search(r"^Job stats:\n.*?\n-+.*?\n(.*?)\n\n", plan, re.MULTILINE | re.DOTALL)[1]
    rules = {line.split()[0] for line in table.splitlines()}
    assert {"universality_claims", "bn_decomposed_claims", "claims", "report"} <= rules
    assert "truncation_flow_claims" not in rules
    assert str(ROOT / "src") not in plan
    assert not [path for path in (site / "repdyn").rglob("*") if path.name in ("results", "logs", ".snakemake")]


@pytest.mark.slow
def test_wheel_installs_a_console_command_that_measures_a_network_of_the_current_folder(site, tmp_path):
    """Unlike `python -m`, a script does not have the current folder on its path."""
    (tmp_path / "my_network.py").write_text(NETWORK)
    np.savez(tmp_path / "points.npz", inputs=np.random.default_rng(0).normal(size=(12, 6)))
    words = ("measure", "my_network:build", "--data", "points.npz", "--out", "diag.nc", "--measures", "ranks")
    done = subprocess.run([site / "bin/repdyn", *words], cwd=tmp_path, env=environment(site), check=False)
    assert done.returncode == 0
    assert (tmp_path / "diag.nc").is_file()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("setuptools") is None, reason="the build backend is not installed here")
def test_source_distribution_has_what_a_wheel_is_built_from(wheel_source, tmp_path):
    code = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    build = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(build, cwd=wheel_source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("repdyn-*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"setup.py", "pyproject.toml", "README.md", "LICENSE", *to_write.files()}
