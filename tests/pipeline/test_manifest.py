"""The manifest: digests of outputs, equal for equal runs; commit, costs, versions and machine next to them."""

import hashlib
import json
import subprocess

import pytest

from repdyn.base import datasets
from repdyn.pipeline.run.kinds import manifest as kind
from repdyn.pipeline.run.kinds.manifest import build, costs, made_with
from repdyn.pipeline.run.machine.environment import PACKAGES, versions

FILES = {"x/data/loss.nc": b"abc", "claims.csv": b"id,verdict\n"}


def write_record(folder, name, seconds, outputs, finished="2026-01-02"):
    path = folder / f"{name}.log.cost.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"cpu_seconds": seconds, "finished": finished, "outputs": {str(path): "digest" for path in outputs}}
    path.write_text(json.dumps(record))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A results folder with two files, outside any git checkout."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name, content in FILES.items():
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def manifest(folder, files=tuple(FILES), workflow=None):
    root, output = folder / "results", folder / "results/manifest.json"
    build(files, root, folder / "logs", workflow or folder, {"run": {"name": "mine"}}, output)
    return json.loads(output.read_text())


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_content_depends_only_on_the_digests_of_all_files(run, tmp_path_factory):
    first = manifest(run)
    assert first["content"] == {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    other = tmp_path_factory.mktemp("another folder")
    (run / "results").rename(other / "results")
    again = manifest(other, files=tuple(FILES)[::-1])
    assert list(again["content"].items()) == list(first["content"].items())
    (other / "results/x/data/loss.nc").write_bytes(b"abd")
    changed = manifest(other)["content"]
    assert {name for name in FILES if changed[name] != first["content"][name]} == {"x/data/loss.nc"}


def test_missing_file_creates_no_manifest(run):
    with pytest.raises(FileNotFoundError):
        manifest(run, files=("x/data/lost.nc",))
    assert not (run / "results/manifest.json").exists()


def test_manifest_has_configuration_versions_machine_and_time_but_no_paths(run, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setattr(kind.os, "cpu_count", lambda: 7)
    monkeypatch.setattr(kind.platform, "platform", lambda: "a system")
    monkeypatch.setattr(kind, "processor", lambda: "a processor")
    document = manifest(run)
    assert document["configuration"] == {"run": {"name": "mine"}}
    assert set(document["versions"]) == {"python", *PACKAGES}
    machine = {"system": "a system", "processor": "a processor", "cores": 7, "kernels": "Haswell"}
    assert document["machine"] == machine
    assert document["made"].endswith("+00:00")
    assert str(run) not in json.dumps(document["content"])


def test_verdicts_are_those_of_the_ledger_if_it_is_among_the_files(run):
    (run / "results/claims.csv").write_text("id,verdict\nx-2,does not hold\nx-1,holds\n")
    assert manifest(run)["verdicts"] == {"x-2": "does not hold", "x-1": "holds"}
    assert manifest(run, files=("x/data/loss.nc",))["verdicts"] is None


def test_versions_come_from_datasets_then_jobs_then_the_environment(run):
    ran = [{"versions": {"numpy": own, "scipy": "1"}} for own in ("2.1", "1.9+mkl", "2.0")] + [{}]
    datasets_ = [{"numpy": "1.9"}, {"numpy": "2.0", "xarray": "7"}, {"numpy": "1.8", "scipy": "0"}]
    cases = [  # of jobs, of datasets, package -> versions
        (ran, datasets_, {"numpy": ["1.8", "1.9+mkl", "2.0", "2.1"], "scipy": ["0", "1"], "xarray": ["7"]}),
        (
            [{"versions": {"numpy": "2.0", "torch": "2.5+cpu"}}],
            [{"torch": "2.5"}],
            {"numpy": ["2.0"], "torch": ["2.5+cpu"]},
        ),
        ([], datasets_[1:2], {"numpy": ["2.0"], "xarray": ["7"]}),
    ]
    for jobs, of_data, wanted in cases:
        assert {name: text.split(" and ") for name, text in made_with(jobs, of_data).items()} == wanted
    assert made_with([{}]) == versions()
    attributes = dict.fromkeys(datasets.REQUIRED, "x") | {"versions": json.dumps({"numpy": "0.1"})}
    datasets.write(datasets.dataset({}, {}, title="a loss").assign_attrs(attributes), run / "results/x/data/loss.nc")
    assert manifest(run)["versions"]["numpy"] == "0.1"


def test_costs_are_those_of_the_last_writing_jobs_highest_first(run):
    """A job that wrote two of the files counts once; 9 is less than 10."""
    seconds = {"b": 9.0, "d": 100.5, "a": 10.0, "c": 0.25}
    files = {name: [run / f"results/{name}{place}" for place in range(2)] for name in seconds}
    for name, took in seconds.items():
        write_record(run / "logs", name, took, files[name])
    write_record(run / "logs", "former", 500.0, files["a"], finished="2026-01-01")
    listed = [path for paths in files.values() for path in paths]
    assert [record["log"] for record in costs(run / "logs", listed)] == ["d", "a", "b", "c"]
    assert [record["log"] for record in costs(run / "logs", [files["b"][0], files["a"][1]])] == ["a", "b"]
    assert costs(run / "nowhere", listed) == []


def test_commit_and_edits_are_recorded_in_a_checkout_only(run, monkeypatch):
    none = manifest(run)["commit"]
    for place in ("nowhere", "results/claims.csv"):
        assert manifest(run, workflow=run / place)["commit"] == none
    checkout = run / "checkout"
    checkout.mkdir()
    git(checkout, "init", "-q")
    assert manifest(run, workflow=checkout)["commit"] == none  # no commit yet
    (checkout / "Snakefile").write_text("one")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "first")
    head = git(checkout, "rev-parse", "HEAD").strip()
    assert manifest(run, workflow=checkout)["commit"] == head
    (checkout / "new.py").write_text("untracked")
    edited = manifest(run, workflow=checkout)["commit"]
    assert edited.startswith(head)
    assert edited != head
    (checkout / "new.py").unlink()
    (checkout / "Snakefile").write_text("two")
    assert manifest(run, workflow=checkout)["commit"] == edited
    monkeypatch.setenv("PATH", str(run))
    assert manifest(run, workflow=checkout)["commit"] == none  # no git at all
