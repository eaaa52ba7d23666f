"""The summary at the end of a failed run names each failed job with its reason, and no other job."""

import os

import pytest
from tests.pipeline import jobs_for_tests

from repdyn.pipeline.ask import failed
from repdyn.pipeline.run.declare.jobs import Job

BEGAN = 1000.0


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Makes a job whose log, record and mark have these times."""
    monkeypatch.chdir(tmp_path)

    def job(name, log=None, text="error: no room\n", record=None, *, running=False):
        simulation = Job("mine", f"bn/{name}", "simulate", [jobs_for_tests.gap()])
        for path, time, content in ((simulation.log, log, text), (f"{simulation.log}.cost.json", record, "{}")):
            if time is not None:
                (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / path).write_text(content)
                os.utime(tmp_path / path, (time, time))
        if running:
            (tmp_path / f"{simulation.log}.running").write_text("{}")
        return simulation

    return job


def test_failed_jobs_stand_under_their_reason(job):
    jobs = [
        job("one", log=1001),
        job("two", log=1002),
        job("three", log=1002, text="step 3\nTraceback\nValueError: shapes\n", record=900),
        job("killed", log=1003, text="step 3\n", running=True),
    ]
    lines = failed.summary(jobs, BEGAN).splitlines()
    assert lines[:-1] == [
        "4 of 4 jobs failed:",
        "  error: no room",
        "    bn/one: logs/mine/bn/one.log",
        "    bn/two: logs/mine/bn/two.log",
        "  ValueError: shapes",
        "    bn/three: logs/mine/bn/three.log",
        f"  {failed.KILLED}",
        "    bn/killed: logs/mine/bn/killed.log",
    ]
    assert "run the same command again" in lines[-1]


def test_others_are_not_named(job):
    jobs = [job("never"), job("done", log=1001, record=1002), job("failed before", log=999, record=None)]
    assert failed.summary(jobs, BEGAN) == ""
    assert "bn/done" not in failed.summary([*jobs, job("one", log=1001)], BEGAN)


def test_a_log_as_old_as_the_run_counts_and_a_record_as_old_as_the_log_does(job):
    summary = failed.summary([job("one", log=BEGAN), job("done", log=1001, record=1001)], BEGAN)
    assert summary.startswith("1 of 2 jobs failed:")
    assert "bn/one" in summary


def test_twenty_reasons_are_told(job):
    jobs = [job(f"{k}", log=1001, text=f"error: {k}\n") for k in range(20)]
    assert "further reasons" not in failed.summary(jobs, BEGAN)
    assert "  error: 19" in failed.summary(jobs, BEGAN).splitlines()


def test_many_reasons_are_counted(job):
    summary = failed.summary([job(f"{k}", log=1001, text=f"error: {k}\n") for k in range(23)], BEGAN)
    assert summary.startswith("23 of 23 jobs failed:")
    assert "and 3 further reasons" in summary
