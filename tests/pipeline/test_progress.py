"""`repdyn progress` and the summary of a failed run: running, killed and failed jobs with their reasons."""

import json
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.pipeline import jobs_for_tests

from repdyn.pipeline.ask import failed, progress
from repdyn.pipeline.run.declare.jobs import Job


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    (folder / "smoke/bn").mkdir(parents=True)
    return folder


def mark(logs, name, log="", *, pid=None, host=None, ago=65.0):
    """Writes log and marker of a running job."""
    path = logs / "smoke/bn" / f"{name}.log"
    path.write_text(log)
    began = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
    about = {"pid": pid or os.getpid(), "host": host or socket.gethostname(), "began": began}
    path.with_name(f"{name}.log.running").write_text(json.dumps(about))


def test_each_running_job_has_a_line_with_its_time_and_its_last_output(logs, monkeypatch):
    assert len(progress.show(logs).splitlines()) == len(progress.show(logs / "nowhere").splitlines()) == 1
    monkeypatch.setattr(progress, "_alive", lambda pid: True)
    mark(logs, "training", "resuming: 2 finished trials\nbn: step 3/5 loss 0.1 eta 4 s\n\n")
    mark(logs, "ablation", ago=7261)
    mark(logs, "colored", "x" * 10_000 + "\n\x1b[31mred\x07\n")
    mark(logs, "endless", "x" * 10_000)
    ablation, colored, endless, training = progress.show(logs).splitlines()
    assert ablation.startswith("smoke/bn/ablation  2 h 01 min")
    assert training == "smoke/bn/training  1 min 05 s  bn: step 3/5 loss 0.1 eta 4 s"
    assert colored.endswith("  [31mred")  # no control characters
    assert endless.count("x") == 4096


def test_killed_jobs_are_distinguished_from_live_ones(logs):
    """An ended process, another program's process under the old number, a job of another machine."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with subprocess.Popen(["sleep", "20"]) as other:
        mark(logs, "a", pid=ended.pid)
        mark(logs, "b", pid=other.pid)
        mark(logs, "c", host="node7", pid=1)
        lines = progress.show(logs).splitlines()
        other.kill()
    assert ["killed" in line for line in lines] == [True, True, False]
    assert "node7" in lines[2]


@pytest.mark.parametrize(
    "text", ["{}", "[]", "{", '{"began": "2026-01-01T00:00:00"}', '{"began": "2026-01-01T00:00:00Z"}']
)
def test_damaged_job_marker_is_ignored(logs, text):
    (logs / "smoke/bn/a.log.running").write_text(text)
    assert "a" in progress.show(logs)


# The summary of a failed run

BEGAN = 1000.0


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Creates a job whose log, record and marker have these times."""
    monkeypatch.chdir(tmp_path)

    def job(name, log=None, text="error: full disk\n", record=None, *, running=False):
        simulation = Job("mine", f"bn/{name}", "simulate", [jobs_for_tests.gap()])
        for path, when, content in ((simulation.log, log, text), (f"{simulation.log}.cost.json", record, "{}")):
            if when is not None:
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_text(content)
                os.utime(tmp_path / path, (when, when))
        if running:
            (tmp_path / f"{simulation.log}.running").write_text("{}")
        return simulation

    return job


def test_failed_jobs_are_listed_by_reason(job):
    jobs = [
        job("one", log=BEGAN),
        job("two", log=1002),
        job("three", log=1002, text="step 3\nTraceback\nValueError: shapes\n", record=900),
        job("killed", log=1003, text="step 3\n", running=True),
    ]
    others = [job("never"), job("done", log=1001, record=1001), job("failed before", log=999)]
    lines = failed.summary([*jobs, *others], BEGAN).splitlines()
    assert lines[0].startswith("4 of 7 ")
    assert [line.strip() for line in lines[1:9]] == [
        "error: full disk",
        "bn/one: logs/mine/bn/one.log",
        "bn/two: logs/mine/bn/two.log",
        "ValueError: shapes",
        "bn/three: logs/mine/bn/three.log",
        failed.KILLED,
        "bn/killed: logs/mine/bn/killed.log",
        lines[-1].strip(),
    ]
    assert failed.summary(others, BEGAN) == ""


# Checks, figures and tables that ended with an error


def test_failed_checks_and_figures_of_this_run_are_listed_with_their_logs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = "id,verdict,why\nx-1,holds,\nx-2,check failed,KeyError: 'depth'\n"
    contents = {"claims.csv": ledger, "evidence.csv": "id\n", "fig.json": '{"failed": "ValueError: shapes"}'}
    jobs = []
    for kind, names in (("decide", ("claims.csv", "evidence.csv")), ("draw", ("fig.json", "fig.svg"))):
        member = {"study": "x", "outputs": [f"x/{name}" for name in names], "inputs": {}, "function": "f", "code": ""}
        job = Job("mine", f"x/{kind}", kind, [member])
        for path in job.outputs:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(contents.get(Path(path).name, ""))
        Path(job.log).parent.mkdir(parents=True, exist_ok=True)
        Path(job.log).write_text("")
        jobs.append(job)
    listed = failed.errors(jobs, 0.0)
    for text in ("2 of ", "x-2: KeyError: 'depth'", "fig: ValueError: shapes", jobs[0].log, jobs[1].log):
        assert text in listed
    assert "x-1" not in listed
    assert failed.errors(jobs, time.time() + 60) == ""
