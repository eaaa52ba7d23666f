"""The manifest: digests of what was made, equal for equal runs; commit, costs and machine beside them."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from repdyn.base import datasets
from repdyn.pipeline.run.kinds import manifest as job
from repdyn.pipeline.run.kinds.manifest import build, costs, made_with
from repdyn.pipeline.run.machine.environment import PACKAGES, versions

COSTS = [("b/slow", 30.5, "claims.csv"), ("a/quick", 0.4, "x/data/loss.nc"), ("c/former", 100.0, "x/data/loss.nc")]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A results folder with two files and a log folder with costs, outside any git checkout."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name, content in (("x/data/loss.nc", b"abc"), ("claims.csv", b"id,verdict\n")):
        path = tmp_path / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name, seconds, output in COSTS:
        path = tmp_path / "logs" / f"{name}.log.cost.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {"job": name, "cpu_seconds": seconds, "finished": f"2026-01-0{1 if 'former' in name else 2}"}
        path.write_text(json.dumps(record | {"outputs": {str(tmp_path / "results" / output): "digest"}}))
        path.with_name("other.json").write_text("{}")
    return tmp_path


def manifest(folder, files=("x/data/loss.nc", "claims.csv"), workflow=None):
    root = folder / "results"
    output = root / "manifest.json"
    build(files, root, folder / "logs", workflow or folder, {"run": {"name": "mine"}}, output)
    return json.loads(output.read_text())


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_content_is_digests_of_all_files_relative_to_the_run(run):
    assert manifest(run)["content"] == {
        "x/data/loss.nc": hashlib.sha256(b"abc").hexdigest(),
        "claims.csv": hashlib.sha256(b"id,verdict\n").hexdigest(),
    }


def test_the_job_tells_of_its_files_with_the_configuration_it_was_given(run, monkeypatch):
    monkeypatch.setattr(job, "_commit", str)
    names = ("x/data/loss.nc", "claims.csv")
    folders = {"logs": str(run / "logs"), "workflow": str(run / "checkout")}
    member = {"inputs": dict(zip(names, names, strict=True)), "outputs": ["made.json"], **folders}
    job.run(member | {"config": {"run": {"name": "mine"}}}, run / "results", None)
    document, wanted = json.loads((run / "results/made.json").read_text()), manifest(run, workflow=run / "checkout")
    assert document | {"made": ""} == wanted | {"made": ""}
    assert document["commit"] == str(run / "checkout")


def test_the_verdicts_of_the_ledger_stand_in_it(run):
    (run / "results/claims.csv").write_text("id,verdict\nx-2,does not hold\nx-1,holds\ny-1,not testable\n")
    assert manifest(run)["verdicts"] == {"x-2": "does not hold", "x-1": "holds", "y-1": "not testable"}
    assert manifest(run, files=("x/data/loss.nc",))["verdicts"] is None


def test_content_is_equal_in_another_order_folder_and_time(run, tmp_path_factory):
    first = manifest(run)
    other = tmp_path_factory.mktemp("another folder")
    (run / "results").rename(other / "results")
    (other / "logs").mkdir()
    again = manifest(other, files=("claims.csv", "x/data/loss.nc"))
    assert list(again["content"].items()) == list(first["content"].items())
    assert again["costs"] == []


def test_content_follows_the_bytes(run):
    before = manifest(run)["content"]
    (run / "results/x/data/loss.nc").write_bytes(b"abd")
    after = manifest(run)["content"]
    assert {name for name in before if before[name] != after[name]} == {"x/data/loss.nc"}


def test_a_missing_file_leaves_no_manifest(run):
    with pytest.raises(FileNotFoundError):
        manifest(run, files=("x/data/lost.nc",))
    assert not (run / "results/manifest.json").exists()


def test_time_and_place_stand_outside_the_content(run):
    document = manifest(run)
    assert document["configuration"] == {"run": {"name": "mine"}}
    assert set(document["versions"]) == {"python", *PACKAGES}
    assert all(document["versions"][name][0].isdigit() for name in ("numpy", "scipy", "torch", "numba", "netCDF4"))
    assert set(document["machine"]) == {"system", "processor", "cores", "kernels"}
    assert document["made"].endswith("+00:00")
    assert str(run) not in json.dumps(document["content"])


def test_the_machine_is_the_one_that_the_system_tells(run, monkeypatch):
    monkeypatch.setattr(job.os, "cpu_count", lambda: 7)
    monkeypatch.setattr(job.platform, "platform", lambda: "a system")
    monkeypatch.setattr(job, "processor", lambda: "a processor")
    monkeypatch.setattr(job, "kernels", lambda: "a kernel")
    assert manifest(run)["machine"] == {
        "system": "a system",
        "processor": "a processor",
        "cores": 7,
        "kernels": "a kernel",
    }


def test_the_kernels_that_the_environment_names_are_recorded(run, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert manifest(run)["machine"]["kernels"] == "Haswell"
    monkeypatch.delenv("OPENBLAS_CORETYPE")
    assert manifest(run)["machine"]["kernels"] == "chosen by OpenBLAS"


def test_a_package_that_is_not_installed_is_said_to_be_so(run, monkeypatch):
    monkeypatch.setattr("repdyn.pipeline.run.machine.environment.PACKAGES", ("no-such-package",))
    assert manifest(run)["versions"]["no-such-package"] == "not installed"


def test_versions_are_those_that_the_jobs_ran_with():
    ran = [{"versions": {"numpy": "1.0", "scipy": "2"}}, {"versions": {"numpy": "2.0", "scipy": "2"}}, {}]
    assert made_with(ran) == {"numpy": "1.0 and 2.0", "scipy": "2"}
    assert made_with([{}]) == versions()


def test_versions_are_those_that_the_datasets_tell_whatever_the_jobs_say(run):
    ran = [{"versions": {"numpy": "2.0", "torch": "2.5+cpu"}}]
    told = [{"numpy": "1.0", "torch": "2.5"}, {"numpy": "2.0"}]
    assert made_with(ran, told) == {"numpy": "1.0 and 2.0", "torch": "2.5+cpu"}
    assert made_with([], told[1:]) == {"numpy": "2.0"}
    attributes = dict.fromkeys(datasets.REQUIRED, "x") | {"versions": json.dumps({"numpy": "0.1"})}
    datasets.write(datasets.dataset({}, {}, title="a loss").assign_attrs(attributes), run / "results/x/data/loss.nc")
    assert manifest(run)["versions"]["numpy"] == "0.1"


def test_versions_of_three_jobs_and_three_datasets_are_all_told():
    ran = [{"versions": {"numpy": own, "scipy": "1"}} for own in ("2.1", "1.9+mkl", "2.0")]
    told = [{"numpy": "1.9"}, {"numpy": "2.0", "xarray": "7"}, {"numpy": "1.8", "scipy": "0"}]
    assert made_with(ran, told) == {
        "numpy": "1.8 and 1.9+mkl and 2.0 and 2.1",
        "scipy": "0 and 1",
        "xarray": "7",
    }


def test_costs_of_many_jobs_come_dearest_first_whatever_their_names(tmp_path):
    """A job that made two of the files is told once; numbers are no texts: 9 is less than 10."""
    took = {"b": 9.0, "d": 100.5, "a": 10.0, "c": 0.25}
    files = [tmp_path / f"{name}{place}" for name in took for place in range(2)]
    for name, seconds in took.items():
        outputs = dict.fromkeys([path.as_posix() for path in files if path.name.startswith(name)], "digest")
        record = {"cpu_seconds": seconds, "finished": "2026", "outputs": outputs}
        (tmp_path / f"{name}.log.cost.json").write_text(json.dumps(record))
    assert [record["log"] for record in costs(tmp_path, files)] == ["d", "a", "b", "c"]
    assert [record["log"] for record in costs(tmp_path, [files[1], files[6], files[4]])] == ["a", "b", "c"]


def test_costs_are_those_of_the_jobs_that_made_the_files_dearest_first(run):
    files = [run / "results" / name for name in ("x/data/loss.nc", "claims.csv")]
    assert [record["job"] for record in costs(run / "logs", files)] == ["b/slow", "a/quick"]
    assert [record["log"] for record in costs(run / "logs", files[:1])] == ["a/quick"]
    assert manifest(run)["costs"] == costs(run / "logs", files)


def test_no_log_folder_is_no_cost(run):
    assert costs(run / "nowhere", [run / "results/claims.csv"]) == []


@pytest.mark.parametrize("place", [".", "nowhere", "results/claims.csv"])
def test_what_is_no_git_checkout_is_said_to_be_none(run, place):
    assert manifest(run, workflow=run / place)["commit"] == "not a git checkout"


def test_no_git_at_all_is_no_error(run, monkeypatch):
    monkeypatch.setenv("PATH", str(run))
    assert manifest(run)["commit"] == "not a git checkout"


def test_commit_and_edits_of_a_checkout(run):
    checkout = run / "checkout"
    checkout.mkdir()
    git(checkout, "init", "-q")
    assert manifest(run, workflow=checkout)["commit"] == "not a git checkout"  # no commit yet
    (checkout / "Snakefile").write_text("one")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "first")
    head = git(checkout, "rev-parse", "HEAD").strip()
    assert manifest(run, workflow=checkout)["commit"] == head
    (checkout / "new.py").write_text("untracked")
    assert manifest(run, workflow=checkout)["commit"] == f"{head} + edits"
    (checkout / "new.py").unlink()
    (checkout / "Snakefile").write_text("two")
    assert manifest(run, workflow=checkout)["commit"] == f"{head} + edits"


def test_the_processor_is_named(run):
    named = manifest(run)["machine"]["processor"]
    info = Path("/proc/cpuinfo")
    assert isinstance(named, str)
    assert not info.is_file() or named == "unknown" or named in info.read_text()
