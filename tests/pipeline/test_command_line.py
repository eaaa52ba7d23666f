"""`python -m repdyn`: quick to start, threads before numpy, one line where a user errs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import repdyn
from repdyn.__main__ import main, parser
from repdyn.base.devices import THREAD_VARIABLES
from repdyn.base.files import sha256

SOURCE = Path(repdyn.__file__).parents[1]
FIXED_POINT = ["simulate", "bn_decomposed", "experiments:fixed_point"]
SETTINGS = json.dumps({"seed": 1, "settings": {"batches": [3]}})


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """Threads as they were, and a working directory without a project."""
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, os.environ.get(name, "1"))
    monkeypatch.chdir(tmp_path)


def run(*arguments, **further):
    env = {"PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"], "OMP_NUM_THREADS": "9"}
    return subprocess.run(list(arguments), env=env, capture_output=True, text=True, **further)


# Start


def test_help_imports_no_numerical_package():
    done = run(sys.executable, "-X", "importtime", "-m", "repdyn", "--help")
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert done.returncode == 0
    assert "argparse" in imported
    assert not {"numpy", "scipy", "xarray", "pandas", "torch", "pydantic", "matplotlib"} & imported
    assert "usage: repdyn" in done.stdout


def test_reading_the_snakefile_imports_no_numerical_package():
    """What `workflow/rules/common.smk` imports, at every start and again in every job of a cluster."""
    modules = "checkout, config"
    done = run(
        sys.executable,
        "-X",
        "importtime",
        "-c",
        f"from repdyn.pipeline import {modules}; import repdyn.base.fingerprint",
    )
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}
    assert done.returncode == 0
    assert "pydantic" in imported
    assert not {"numpy", "scipy", "xarray", "pandas", "torch", "matplotlib"} & imported


def test_every_command_explains_itself(capsys):
    commands = parser()._subparsers._group_actions[0].choices
    assert {"simulate", "draw", "tabulate", "judge", "ledger", "manifest", "report", "claim"} <= set(commands)
    for name, command in commands.items():
        assert command.description, name
        with pytest.raises(SystemExit) as caught:
            main([name, "--help"])
        assert caught.value.code == 0
    assert "threads of numerical libraries; part of the recipe (default 1)" in " ".join(capsys.readouterr().out.split())


WATCH = """
import os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in ("numpy", "torch"):
            print(name, {variable: os.environ.get(variable) for variable in %r}, file=sys.stderr)

sys.meta_path.insert(0, Watch())
from repdyn.__main__ import main
sys.exit(main(sys.argv[1:]))
""" % (THREAD_VARIABLES,)  # noqa: UP031


@pytest.mark.parametrize(("given", "threads"), [([], "1"), (["--threads", "3"], "3")])
def test_threads_are_pinned_before_numpy_is_imported(tmp_path, given, threads):
    output = tmp_path / "fixed_point.nc"
    done = run(sys.executable, "-c", WATCH, *FIXED_POINT, "--job", SETTINGS, "--output", str(output), *given)
    assert done.returncode == 0, done.stderr
    assert output.is_file()
    seen = [line for line in done.stderr.splitlines() if line.startswith("numpy")]
    assert seen[0] == f"numpy {dict.fromkeys(THREAD_VARIABLES, threads)}"


# A user's mistakes

ROOT = Path(__file__).resolve().parents[2]
TEXT = str(ROOT / "README.md")
FILES = ["--inputs", "nofile.nc", "--output", "out/new.nc"]
MISTAKES = {
    "unknown study": (["simulate", "nostudy", "experiments:a", "--job", "{}", *FILES], "study 'nostudy'"),
    "unknown function": (["simulate", "bn_decomposed", "experiments:a", "--job", "{}", *FILES], " ablation, "),
    "missing dataset": (["draw", "bn_decomposed", "fig1_ablation", *FILES], "nofile.nc: no such dataset"),
    "missing data of claims": (["judge", "bn_decomposed", *FILES], "nofile.nc: no such dataset"),
    "job that is no JSON": ([*FIXED_POINT, "--job", "{bad", "--output", "a.nc"], "--job is not JSON"),
    "job without a seed": ([*FIXED_POINT, "--job", "{}", "--output", "a.nc"], "seed"),
    "setting out of range": (
        [*FIXED_POINT, "--job", SETTINGS.replace("[3]", "[2]"), "--output", "a.nc"],
        "settings.batches",
    ),
    "two jobs for one function": (
        [*FIXED_POINT, "--job", SETTINGS, SETTINGS, "--output", "a.nc"],
        "{'functions': 1, '--job': 2, '--code': 1, '--output': 1}: give one of each per function",
    ),
    "unknown image source": (["images", "--job", "{}", "--output", "a.nc"], "source, mnist_folder, mnist_mirrors"),
    "room that is no study": (
        ["simulate", "base", "files:sha256", "--job", "{}", *FILES],
        "no study 'base'; the studies",
    ),
    "room without claims": (["judge", "base", *FILES], "no study 'base'"),
    "text for a dataset": (["judge", "bn_decomposed", "--inputs", TEXT, *FILES[2:]], "name a dataset (.nc)"),
    "image source": (
        ["images", "--job", '{"source": "x", "mnist_folder": null, "mnist_mirrors": []}', "--output", "a.nc"],
        "source is 'x'; expected 'digits' or 'mnist'",
    ),
    "text for a ledger": (
        ["ledger", "smoke", "--expected", str(ROOT / "workflow/expected_verdicts.yaml"), "--inputs", TEXT, *FILES[2:]],
        "README.md: not a ledger",
    ),
    "missing list of verdicts": (["ledger", "smoke", "--expected", "no.yaml", *FILES], "no.yaml: no such file"),
    "missing result": (
        ["manifest", "--logs", ".", "--workflow", ".", "--config", "{}", "--inputs", "out/a.nc", "--output", "out/m"],
        "out/a.nc: No such file",
    ),
    "missing ledger": (["report", *FILES], "claims.csv: No such file"),
    "claim before any run": (["claim", "x-1"], "results: no ledger here yet"),
    "missing configuration": (["check-config", "no.yaml"], "no.yaml: no such file"),
}


@pytest.mark.parametrize(("arguments", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_ends_with_one_line_and_status_1(capsys, arguments, told):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert told in error
    assert not Path("out").exists()
    assert not Path("a.nc").exists()


def test_the_process_ends_with_status_1_and_no_traceback():
    done = run(sys.executable, "-m", "repdyn", "claim", "x-1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: results: no ledger here yet; make one with: snakemake --cores 8 all\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["simulate"],
        ["claim", "x", "--threads", "two"],
        ["progress", "--threads", "-4"],
        ["false-alarms", "x", "--seeds", "0"],
        ["report", "--makers", "{", *FILES],
    ],
)
def test_a_command_that_is_none_is_told_with_the_usage(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: repdyn")


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch):
    def fault(*_):
        raise KeyError("seed")

    monkeypatch.setattr("repdyn.pipeline.run.ledger.show", fault)
    with pytest.raises(KeyError):
        main(["claim", "x-1"])


# Costs


def test_a_job_leaves_a_record_of_its_cost(tmp_path):
    cost = tmp_path / "logs" / "fixed_point.log.cost.json"
    output = ["--output", str(tmp_path / "fixed_point.nc")]
    assert main([*FIXED_POINT, "--job", SETTINGS, *output, "--cost", str(cost), "--threads", "2"]) == 0
    record = json.loads(cost.read_text())
    about = {"job", "command", "study", "arguments", "inputs", "outputs", "finished"}
    assert set(record) == about | {"wall_seconds", "cpu_seconds", "peak_memory_mb", "threads"}
    assert record["outputs"] == {(tmp_path / "fixed_point.nc").as_posix(): sha256(tmp_path / "fixed_point.nc")}
    assert record["arguments"][:5] == [*FIXED_POINT, "--job", SETTINGS]
    assert (record["job"], record["command"], record["study"]) == ("fixed_point", "simulate", "bn_decomposed")
    assert record["threads"] == 2
    assert 0 <= record["wall_seconds"] < 60
    assert 20 < record["peak_memory_mb"] < 100_000


def test_a_job_that_fails_leaves_no_record(tmp_path):
    assert main([*FIXED_POINT, "--job", "{}", "--output", "a.nc", "--cost", str(tmp_path / "cost.json")]) == 1
    assert not (tmp_path / "cost.json").exists()
