"""`repdyn progress`: the last line of every running job, and which were killed."""

import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from repdyn.pipeline.ask import progress
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.execute import records


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    (folder / "smoke/bn").mkdir(parents=True)
    return folder


def mark(logs, name, log="", *, pid=None, host=None, ago=65.0):
    path = logs / "smoke/bn" / f"{name}.log"
    path.write_text(log)
    began = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
    about = {"pid": pid or os.getpid(), "host": host or socket.gethostname(), "began": began}
    path.with_name(f"{name}.log.running").write_text(json.dumps(about))


def test_nothing_runs(logs):
    assert progress.show(logs) == f"{logs}: no job is running"
    assert progress.show(logs / "nowhere").endswith("no job is running")


def test_each_running_job_has_a_line(logs, monkeypatch):
    monkeypatch.setattr(progress, "_alive", lambda pid: True)
    mark(logs, "training", "resuming: 2 finished trials\nbn: step 3/5 loss 0.1 eta 4 s\n\n")
    mark(logs, "ablation", ago=7261)
    first, second = progress.show(logs).splitlines()
    assert first == "smoke/bn/ablation  2 h 01 min  (nothing logged so far)"
    assert second == "smoke/bn/training  1 min 05 s  bn: step 3/5 loss 0.1 eta 4 s"


def test_a_killed_job_is_told_from_a_live_one(logs):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mark(logs, "killed", "step 1/5\n", pid=ended.pid)
    mark(logs, "elsewhere", "step 1/5\n", host="node7", pid=1)
    elsewhere, killed = progress.show(logs).splitlines()
    assert "killed: run the same command again  step 1/5" in killed
    assert "on node7  step 1/5" in elsewhere


def test_another_programs_process_under_the_old_number_is_no_job(logs):
    with subprocess.Popen(["sleep", "20"]) as other:
        mark(logs, "training", pid=other.pid)
        text = progress.show(logs)
        other.kill()
    assert "killed" in text


def test_long_logs_and_control_characters(logs, monkeypatch):
    monkeypatch.setattr(progress, "_alive", lambda pid: True)
    mark(logs, "a", "x" * 10_000 + "\n\x1b[31mred\x07\n")
    assert progress.show(logs).endswith("  [31mred")


def test_of_a_line_without_an_end_the_last_page_is_shown(logs, monkeypatch):
    monkeypatch.setattr(progress, "_alive", lambda pid: True)
    mark(logs, "a", "x" * 10_000)
    assert progress.show(logs).count("x") == 4096


@pytest.mark.parametrize(
    "text", ["{}", "[]", "{", '{"began": "2026-01-01T00:00:00"}', '{"began": "2026-01-01T00:00:00Z"}']
)
def test_a_mark_that_is_none_of_ours(logs, text):
    (logs / "smoke/bn/a.log.running").write_text(text)
    assert "no mark of ours" in progress.show(logs)


def test_a_job_is_marked_while_it_runs_and_only_then(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = Job("smoke", "images", "images", [])
    with records.recorded(job):
        assert json.loads((tmp_path / "logs/smoke/images.log.running").read_text())["pid"] == os.getpid()
    assert [path.name for path in (tmp_path / "logs/smoke").iterdir()] == ["images.log.cost.json"]
    assert [record["log"] for record in records.read(tmp_path / "logs/smoke")] == ["images"]


def test_a_job_that_fails_leaves_no_mark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError), records.recorded(Job("smoke", "images", "images", [])):
        raise RuntimeError("stopped")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(("answer", "alive"), [(None, True), (PermissionError, True), (ProcessLookupError, False)])
def test_where_the_system_shows_no_processes_a_signal_tells_whether_one_lives(tmp_path, monkeypatch, answer, alive):
    asked = []

    def kill(process, signal):
        asked.append((process, signal))
        if answer:
            raise answer

    monkeypatch.setattr(progress, "Path", lambda place: tmp_path / "nothing")
    monkeypatch.setattr(progress.os, "kill", kill)
    assert progress._alive(77) is alive
    assert asked == [(77, 0)]
