"""`python -m repdyn`: quick to start, threads before numpy, one line where a user errs."""

import ast
import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.pipeline import jobs_for_tests

import repdyn
from repdyn.__main__ import COMMANDS, main
from repdyn.base.devices import THREAD_VARIABLES

SOURCE = Path(repdyn.__file__).parents[1]
HEAVY = {"numpy", "scipy", "xarray", "pandas", "torch", "matplotlib"}


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


def imported_by(*command):
    done = run(sys.executable, "-X", "importtime", *command)
    assert done.returncode == 0, done.stderr
    return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}, done.stdout


def test_the_overview_imports_no_numerical_package():
    imported, shown = imported_by("-m", "repdyn", "--help")
    assert not (HEAVY | {"pydantic"}) & imported
    assert all(name in shown for name in COMMANDS)


def test_reading_the_snakefile_imports_no_numerical_package():
    """What `pipeline/rules/common.smk` imports, at every start and again in every job of a cluster."""
    modules = ("config.configuration", "run.machine.checkout", "run.declare.workflow")
    imported, _ = imported_by("-c", ";".join(f"import repdyn.pipeline.{module}" for module in modules))
    assert "pydantic" in imported
    assert not HEAVY & imported


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: repdyn {name}")


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


@pytest.mark.parametrize(("options", "threads"), [([], "1"), (["--threads", "3"], "3")])
def test_threads_are_pinned_before_numpy_is_imported(tmp_path, options, threads):
    file = jobs_for_tests.write(tmp_path, jobs_for_tests.gap())
    done = run(sys.executable, "-c", WATCH, "run", str(file), *options)
    assert done.returncode == 0, done.stderr
    seen = [line for line in done.stderr.splitlines() if line.startswith("numpy")]
    assert seen[0] == f"numpy {dict.fromkeys(THREAD_VARIABLES, threads)}"


# A user's mistakes


def job(**changes):
    """The words that run a job with something wrong in its member."""
    kind = changes.pop("kind", "simulate")
    return ["run", str(jobs_for_tests.write(Path.cwd(), jobs_for_tests.gap(**changes), kind=kind))]


MISTAKES = {
    "no job file": (lambda: ["run", "logs/mine/s/a.job.json"], "no such job file; the workflow writes it"),
    "job file elsewhere": (lambda: ["run", str(ROOT / "README.md")], "README.md: not a job file"),
    "unknown study": (lambda: job(study="nostudy"), "no study 'nostudy': no package nostudy with a module study"),
    "unknown function": (lambda: job(function="experiments:a"), " ablation, "),
    "unknown kind": (lambda: job(kind="paint"), "no kind of job 'paint'"),
    "missing dataset": (lambda: job(inputs={"images": "data/images.nc"}), "data/images.nc"),
    "setting out of range": (
        lambda: job(settings={"settings": {"batch": 4, "input_dim": 5, "widths": [8], "depth": 0, "seeds": 2}}),
        "settings.depth",
    ),
    "claim before any run": (lambda: ["claim", "x-1"], "results: no ledger here yet"),
    "missing configuration": (lambda: ["check-config", "no.yaml"], "no.yaml: no such file"),
    "controls before any run": (lambda: ["controls", "results/mine"], "claims.csv: missing"),
    "costs before any run": (lambda: ["costs", "nowhere"], "no job of this run left a record"),
    "compare with nothing": (lambda: ["compare", "a", "b"], "a: neither a results folder nor a manifest"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_with_one_line_and_status_1(capsys, mistake):
    words, message = MISTAKES[mistake]
    assert main(words()) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not list(Path().rglob("*.nc"))


def test_the_process_ends_with_status_1_and_no_traceback():
    done = run(sys.executable, "-m", "repdyn", "claim", "x-1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: results: no ledger here yet; make one with: snakemake --cores 8 all\n"


def test_a_command_that_is_none_is_told_with_all_commands(capsys):
    assert main(["nothing"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: no command 'nothing'")
    assert "false-alarms" in error
    assert main([]) == 2


@pytest.mark.parametrize("words", [["run"], ["false-alarms", "x", "--seeds", "0"], ["compare", "a"]])
def test_wrong_arguments_are_told_with_the_usage(capsys, words):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith(f"usage: repdyn {words[0]}")


def test_a_reader_that_closes_early_is_no_error():
    command = f"{sys.executable} -m repdyn --help | head -1"
    done = run("bash", "-c", f"set -o pipefail; {command}")
    assert done.stderr == ""


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch):
    def fault(*_):
        raise KeyError("seed")

    monkeypatch.setattr("repdyn.pipeline.run.kinds.ledger.show", fault)
    with pytest.raises(KeyError):
        main(["claim", "x-1"])


def test_a_record_tells_the_cost(tmp_path):
    assert main(["run", str(jobs_for_tests.write(tmp_path, jobs_for_tests.gap())), "--threads", "2"]) == 0
    record = jobs_for_tests.record(tmp_path)
    assert set(record) == {
        "job",
        "inputs",
        "outputs",
        "versions",
        "began",
        "finished",
        "wall_seconds",
        "cpu_seconds",
        "spared_cpu_seconds",
        "trials_read",
        "peak_memory_mb",
    }
    assert json.loads(jobs_for_tests.write(tmp_path, jobs_for_tests.gap()).read_text()) == record["job"]
    assert record["wall_seconds"] >= 0
    assert 20 < record["peak_memory_mb"] < 100_000


def test_a_reader_that_has_seen_enough_is_no_error():
    config = shlex.quote(str(ROOT / "config.yaml"))
    command = f"{sys.executable} -m repdyn check-config {config} | head -c 0; echo ${{PIPESTATUS[0]}}"
    done = run("bash", "-c", command)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize(
    ("number", "message"), [(errno.ENOSPC, "kept.nbi: cannot be written (No space left"), (errno.EIO, None)]
)
def test_a_disk_that_takes_no_more_is_one_line_and_other_failures_of_the_system_are_not_hidden(
    number, message, monkeypatch, capsys
):
    def full(words):
        raise OSError(number, os.strerror(number), "kept.nbi")

    monkeypatch.setattr("repdyn.pipeline.run.execute.entry.run", full)
    if message:
        assert main(["run", "a.job.json"]) == 1
        assert f"error: {message}" in capsys.readouterr().err
    else:
        with pytest.raises(OSError, match=r"kept\.nbi"):
            main(["run", "a.job.json"])


def options_and_reads(function):
    """Names of the options that a function adds to a parser, and of the attributes that it reads."""
    options = set()
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            names = [argument.value for argument in call.args]
            long = next((name for name in names if name.startswith("--")), names[0])
            named = [part.value.value for part in call.keywords if part.arg == "dest"]
            options.add(named[0] if named else long.lstrip("-").replace("-", "_"))
    return options, {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize(
    "file", ["pipeline/ask/commands.py", "diagnostics/command.py", "diagnostics/similarity_command.py"]
)
def test_every_option_is_read(file):
    """By the function that adds it, by one that it calls, or by one that calls it."""
    tree = ast.parse((ROOT / "src/repdyn" / file).read_text(encoding="utf-8"))
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    calls = {
        name: {n.id for n in ast.walk(f) if isinstance(n, ast.Name)} & set(functions) for name, f in functions.items()
    }
    seen = 0
    for name, function in functions.items():
        options, reads = options_and_reads(function)
        for other in calls[name] | {caller for caller, called in calls.items() if name in called}:
            reads |= options_and_reads(functions[other])[1]
        assert options <= reads, name
        seen += len(options)
    assert seen >= 15
