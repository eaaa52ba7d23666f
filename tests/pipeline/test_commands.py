"""`python -m repdyn`: commands and their arguments, quick starts, exit status, one line for user errors."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.pipeline import jobs_for_tests
from tests.pipeline.test_reproduces import run

import repdyn
from repdyn.__main__ import COMMANDS, DEV, main
from repdyn.base.devices import THREAD_VARIABLES
from repdyn.base.errors import ConfigError, DataError
from repdyn.pipeline import kept_runs, studies
from repdyn.pipeline.ask import commands, decide, verify, workflow
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.studies import COSTS

SOURCE = Path(repdyn.__file__).parents[1]
HEAVY = {"numpy", "scipy", "xarray", "pandas", "torch", "matplotlib"}
MEMBER = {"inputs": {}, "settings": {"settings": {"a": 4}}}
JOBS = [Job("mine", f"s/{name}", "k", [MEMBER | {"outputs": [f"{name}.nc"]}]) for name in ("done", "due")]


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    """Restores the number of threads, in a working directory without a project."""
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, os.environ.get(name, "1"))
    monkeypatch.chdir(tmp_path)


def execute(*arguments):
    env = {"PYTHONPATH": str(SOURCE), "PATH": os.environ["PATH"], "OMP_NUM_THREADS": "9"}
    return subprocess.run(list(arguments), env=env, capture_output=True, text=True, check=False)


def record_calls(monkeypatch, module, *names, answer=""):
    """Replaces functions of a module and records the calls."""
    calls = []
    for name in names:
        function = lambda *words, name=name, **named: calls.append((name, *words, named)) or answer  # noqa: E731
        monkeypatch.setattr(module, name, function)
    return calls


# Start


def imported_by(*command):
    done = execute(sys.executable, "-X", "importtime", *command)
    assert done.returncode == 0, done.stderr
    return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}, done.stdout


def test_help_and_snakefile_import_no_numerical_package():
    imported, shown = imported_by("-m", "repdyn", "--help")
    assert not (HEAVY | {"pydantic"}) & imported
    assert all(name in shown for name in COMMANDS)
    modules = ("config.configuration", "run.machine.environment", "run.declare.workflow")
    imported, _ = imported_by("-c", ";".join(f"import repdyn.pipeline.{module}" for module in modules))
    assert not HEAVY & imported


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
    done = execute(sys.executable, "-c", WATCH, "run", str(file), *options)
    assert done.returncode == 0, done.stderr
    seen = [line for line in done.stderr.splitlines() if line.startswith("numpy")]
    assert seen[0] == f"numpy {dict.fromkeys(THREAD_VARIABLES, threads)}"


def test_compiled_code_is_read_only_from_where_nobody_else_can_write(tmp_path, monkeypatch, capsys):
    """Two users share a folder: each has one in it, and one that is open to others stops the job."""
    tmp_path.chmod(0o777)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    own = tmp_path / f"user-{os.getuid()}"
    assert main(["run", "none.job.json"])
    assert os.environ["NUMBA_CACHE_DIR"] == str(own)
    assert own.stat().st_mode & 0o777 == 0o700
    assert "no such job file" in capsys.readouterr().err
    own.chmod(0o775)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert main(["run", "none.job.json"])
    assert capsys.readouterr().err.startswith(f"error: {own}: others can write here")


def test_commands_have_help_and_unknown_ones_are_rejected(capsys):
    assert len(COMMANDS) <= 12
    for words in ([name] for name in COMMANDS), (["dev", name] for name in DEV):
        for command in words:
            with pytest.raises(SystemExit) as caught:
                main([*command, "--help"])
            assert caught.value.code == 0
            assert " ".join(command) in capsys.readouterr().out.splitlines()[0]
    assert main(["dev", "--help"]) == 0
    overview = capsys.readouterr().out
    assert all(name in overview for name in DEV)
    assert main(["nothing"]) == main([]) == main(["dev", "claim"]) == main(["dev"]) == 2
    assert "'nothing'" in capsys.readouterr().err
    for words in (["run"], ["dev", "false-alarms", "x", "--seeds", "0"], ["compare", "a"]):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2


@pytest.mark.parametrize(("chosen", "file", "called"), [(None, True, 1), (None, False, 0), ("mine", True, 0)])
def test_studies_come_from_the_local_configuration_unless_given(monkeypatch, chosen, file, called):
    monkeypatch.delenv(studies.CHOICE, raising=False)
    if chosen is not None:
        monkeypatch.setenv(studies.CHOICE, chosen)
    if file:
        Path("config.yaml").write_text("run: {}\n")
    calls = record_calls(monkeypatch, studies, "choose")
    record_calls(monkeypatch, commands, "progress", answer=0)
    assert main(["progress"]) == 0
    assert len(calls) == called


# Mistakes and failures


def job(**changes):
    """The arguments that run a job with an error in its task."""
    kind = changes.pop("kind", "simulate")
    return ["run", str(jobs_for_tests.write(Path.cwd(), jobs_for_tests.gap(**changes), kind=kind))]


MISTAKES = {
    "no job file": (lambda: ["run", "logs/mine/s/a.job.json"], "a.job.json"),
    "job file elsewhere": (lambda: ["run", str(ROOT / "README.md")], "README.md"),
    "unknown study": (lambda: job(study="nostudy"), "'nostudy'"),
    "unknown function": (lambda: job(function="experiments:a"), " ablation, "),
    "unknown kind": (lambda: job(kind="paint"), "'paint'"),
    "missing dataset": (lambda: job(inputs={"images": "data/images.nc"}), "data/images.nc"),
    "setting out of range": (
        lambda: job(settings={"settings": {"batch": 4, "input_dim": 5, "widths": [8], "depth": 0, "seeds": 2}}),
        "settings.depth",
    ),
    "claim before any run": (lambda: ["claim", "x-1"], "results"),
    "controls before any run": (lambda: ["dev", "controls", "results/mine"], "claims.csv"),
    "costs before any run": (lambda: ["dev", "costs", "nowhere"], "logs/nowhere"),
    "compare with nothing": (lambda: ["compare", "a", "b"], "a: "),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_user_error_prints_one_line_and_exits_with_1(capsys, mistake):
    words, message = MISTAKES[mistake]
    assert main(words()) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not list(Path().rglob("*.nc"))


FAILURES = {  # exception of a command, content of its message; None: a traceback
    ConfigError("a.yaml:1: x: no\na.yaml:2: y: no"): "a.yaml:2: y: no",
    DataError("results/mine: no run"): "results/mine",
    OSError(errno.ENOENT, "No such file", "a.nc"): "a.nc",
    OSError(errno.EACCES, "Permission denied", "e"): "e: Permission denied",
    OSError(errno.ENOSPC, "No space", "f.nc"): "f.nc",
    OSError(errno.EROFS, "Read-only"): "Read-only",
    OSError(errno.EIO, "I/O error", "a.nc"): "a.nc: I/O error",
    OSError("no number"): "no number",
    KeyError("seed"): None,
}


def test_only_unexpected_errors_print_a_traceback(monkeypatch, capsys):
    for failure, message in FAILURES.items():

        def fail(*_, failure=failure):
            raise failure

        monkeypatch.setattr("repdyn.pipeline.run.kinds.ledger.show", fail)
        if message is None:
            with pytest.raises(type(failure)):
                main(["claim", "x-1"])
        else:
            assert main(["claim", "x-1"]) == 1
            assert message in capsys.readouterr().err


def test_closed_output_pipe_is_no_error():
    for words, reader in (("--help", "head -1"), ("progress", "head -c 0")):
        done = execute("bash", "-c", f"{sys.executable} -m repdyn {words} | {reader}; echo ${{PIPESTATUS[0]}}")
        assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")


# Comparison of runs


def test_two_runs_are_compared_at_the_required_tier_or_with_a_reference(tmp_path):
    first, other = run(tmp_path / "one"), run(tmp_path / "other", value="2.6", verdicts=("holds", "holds"))
    assert commands.compare([str(first), str(first)]) == 0
    assert commands.compare([str(first), str(other)]) == 1
    for name in ("one", "other"):
        commands.keep([str(tmp_path / name), "--into", str(tmp_path / "reference" / name)])
    for path in (first, tmp_path / "reference/one"):
        assert commands.compare([str(path), str(tmp_path / "reference/one")]) == 0
        assert commands.compare([str(path), str(tmp_path / "reference/other")]) == 1
    for option, value in (("--tier", "rounding"), ("--pictures", "x")):
        with pytest.raises(DataError, match=f"reference/one.*{option}"):
            commands.compare([str(first), str(tmp_path / "reference/one"), option, value])


def test_keep_replaces_a_stored_run_or_merges_into_it(tmp_path):
    for name in ("mine", "other"):
        claims = run(tmp_path / "results" / name) / "claims.csv"
        claims.write_text(claims.read_text().replace("x-0", f"{name}-0").replace(",s,", f",{name},"))
    reference = tmp_path / "reference/mine"
    with pytest.raises(DataError, match="reference/mine"):
        commands.keep(["results/mine", "--into", str(reference), "--beside"])
    assert not reference.exists()
    with pytest.raises(DataError, match="results/mine: holds files and no reference"):
        commands.keep(["results/other", "--into", "results/mine"])
    for words, held in (
        (["results/mine"], {"mine"}),
        (["results/other", "--into", str(reference), "--beside"], {"mine", "other"}),
        (["results/mine", "--into", str(reference)], {"mine"}),
    ):
        commands.keep(words)
        assert set(kept_runs.read(reference).claims["study"]) == held


def test_a_stored_run_is_replaced_whole_or_stays(tmp_path, monkeypatch):
    reference = tmp_path / "reference"
    kept_runs.keep(run(tmp_path / "one"), reference)
    before = {path: path.read_bytes() for path in reference.iterdir()}

    def full(*_):
        raise OSError(errno.ENOSPC, "No space")

    monkeypatch.setattr(kept_runs, "write_json", full)
    with pytest.raises(OSError, match="No space"):
        kept_runs.keep(run(tmp_path / "other", value="2.6"), reference)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path in before} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other", "reference"]


# Plan, verify, decide


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A checkout in the working directory whose workflow declares two jobs, and the options it received."""
    asked = []
    monkeypatch.setattr(workflow, "folder", lambda: tmp_path)
    monkeypatch.setattr(workflow, "jobs", lambda folder, options: asked.append((folder, options)) or JOBS)
    (tmp_path / "workflow/scales").mkdir(parents=True)
    (tmp_path / "workflow/scales/smoke.yaml").touch()
    (tmp_path / "workflow" / COSTS).write_text("run,job,cpu_seconds,peak_memory_mb,sizes\nsmoke,s/done,60.0,300.0,4\n")
    return asked


@pytest.mark.parametrize(("wrong", "status"), [("", 0), ("older code", 1)])
def test_results_are_verified_by_the_workflow_of_their_scale(tmp_path, asked, monkeypatch, capsys, wrong, status):
    reasons = {path: "" for job in JOBS for path in job.outputs} | {JOBS[1].outputs[0]: wrong}
    monkeypatch.setattr(verify, "examine", lambda run, jobs: reasons if (run, jobs) == ("smoke", JOBS) else {})
    assert commands.verify(["smoke"]) == status
    scale = ["--configfile", str(tmp_path / "workflow/scales/smoke.yaml")]
    assert asked == [(tmp_path, scale)]
    shown = capsys.readouterr().out
    assert f"{2 - status} of 2" in shown
    assert (f"snakemake --cores 8 {' '.join(scale)} --forcerun {JOBS[1].outputs[0]} -- all" in shown) is bool(status)


def test_plan_is_of_all_jobs_or_of_those_that_remain(tmp_path, asked, monkeypatch, capsys):
    def sums():
        return [line.split()[:3] for line in capsys.readouterr().out.splitlines() if line.startswith("s ")]

    commands.plan(["--configfile", "mine.yaml"])
    assert asked == [(tmp_path, ["--configfile", "mine.yaml"])]
    assert sums() == [["s", "2", "1.0"]]  # the minute that is recorded
    monkeypatch.setattr(verify, "due", lambda jobs: jobs[1:])
    commands.plan(["--remaining"])
    assert sums() == [["s", "1", "0.0"]]
    monkeypatch.setattr(verify, "due", lambda jobs: [])
    commands.plan(["--remaining"])
    assert sums() == []
    commands.plan(["--cores", "64,1, 8"])
    table = [line.split()[:3] for line in capsys.readouterr().out.splitlines() if line[:5].strip().isdigit()]
    assert table == [["64", "1.0", "1.6"], ["1", "1.0", "100"], ["8", "1.0", "12.5"]]


@pytest.mark.parametrize("run", ["smoke", "smoke-decided"])
def test_decide_runs_the_workflow_of_the_scale_within_the_budget(tmp_path, asked, monkeypatch, run):
    calls = record_calls(monkeypatch, decide, "decide")
    commands.decide([run, "--budget", "2", "--looks", "3", "--cores", "5", "--config", "run={seed: 2}"])
    commands.decide([run, "--budget", "0.5", "--configfile", "mine.yaml"])
    scale = ["--configfile", str(tmp_path / "workflow/scales/smoke.yaml"), "--config", "run={seed: 2}"]
    passed = [(*words, {name: named[name] for name in ("budget", "looks", "cores")}) for _, *words, named in calls]
    assert passed == [
        (run, scale, {"budget": 120.0, "looks": 3, "cores": 5}),
        (run, ["--configfile", "mine.yaml"], {"budget": 30.0, "looks": None, "cores": 2}),
    ]


@pytest.mark.parametrize(
    "words",
    [
        "false_alarms results/smoke --seeds 1.5",
        "false_alarms results/smoke --seconds -0.1",
        "false_alarms results/smoke --seconds nan",
        "decide smoke --budget -1",
        "decide smoke --looks 0",
        "decide smoke --cores 0",
        "plan --cores 8,-1",
        "plan --cores many",
    ],
)
def test_numbers_out_of_range_are_rejected(words, capsys):
    command, *rest = words.split()
    with pytest.raises(SystemExit):
        getattr(commands, command)(rest)
    error = capsys.readouterr().err
    assert rest[-2] in error
    assert rest[-1] in error
