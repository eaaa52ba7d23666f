"""Progress: a line now and then, on standard error, and always at the end."""

import pytest

from repdyn.base import progress
from repdyn.base.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that changes only when set."""
    now = {"seconds": 100.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: now["seconds"])
    return now


def test_progress_lines_have_a_minimum_interval(clock, capsys):
    shown = Progress("training", 100, every=10)
    for done in range(1, 100):
        clock["seconds"] = 100.0 + done
        shown.step(done)
    steps = [line.split()[2] for line in capsys.readouterr().err.splitlines()]
    assert steps == [f"{done}/100" for done in range(10, 100, 10)]


def test_last_step_is_always_reported(clock, capsys):
    shown = Progress("training", 3)
    for done in range(1, 4):
        shown.step(done)
    assert capsys.readouterr().err == "training: step 3/3 eta 0 s\n"
