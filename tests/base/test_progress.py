"""Progress: a line now and then, on standard error, and always at the end."""

import pytest

from repdyn.base import progress
from repdyn.base.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is set."""
    now = {"seconds": 100.0}
    monkeypatch.setattr(progress.time, "monotonic", lambda: now["seconds"])
    return now


def test_lines_come_at_least_so_many_seconds_apart(clock, capsys):
    shown = Progress("training", 100, every=10)
    for done in range(1, 100):
        clock["seconds"] = 100.0 + done
        shown.step(done)
    steps = [line.split()[2] for line in capsys.readouterr().err.splitlines()]
    assert steps == [f"{done}/100" for done in range(10, 100, 10)]


def test_a_line_says_what_how_far_values_and_time_left(clock, capsys):
    shown = Progress("training", 400)
    clock["seconds"] = 130.0
    shown.step(100, loss=0.031254, rate=1e-5)
    output = capsys.readouterr()
    assert output.err == "training: step 100/400 loss 0.03125 rate 1e-05 eta 90 s\n"
    assert output.out == ""


def test_the_end_is_always_told(clock, capsys):
    shown = Progress("training", 3)
    for done in range(1, 4):
        shown.step(done)
    assert capsys.readouterr().err == "training: step 3/3 eta 0 s\n"


def test_no_step_done_is_no_error(clock, capsys):
    shown = Progress("training", 5)
    clock["seconds"] = 120.0
    shown.step(0)
    assert capsys.readouterr().err == "training: step 0/5 eta 100 s\n"
