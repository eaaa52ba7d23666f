"""Snakemake's dry run is read in full or not at all: another form of its words is an error that names its version."""

import re
import subprocess
from types import SimpleNamespace

import pytest
from tests.conftest import ROOT, SMOKE

from repdyn.base.errors import RepdynError
from repdyn.pipeline.ask import dryrun

STATS = """Job stats:
job       count
------  -------
images        1
train         2
all           1
total         4

"""


def block(rule, number, command=None):
    return f"""[Sat Nov 21 22:55:57 2026]
rule {rule}:
    output: results/x/{number}.nc
    log: logs/x/{rule}/{number}.log
    resources: tmpdir=/tmp, mem_mb=600, mem=600 MB
Shell command: {command or f"python -m repdyn simulate s e:f --output results/x/{number}.nc 2> logs/x/{number}.log"}

"""


LOCAL = block("images", 0).replace("rule images", "localrule images")
INSIDE = "\n".join(f"    {line}" for line in block("train", 2).splitlines()[:-2])  # in a group all but the command
GROUP = "Group job short (jobs in lexicogr. order):\n\n" + INSIDE + "\n" + block("train", 2).splitlines()[-2] + "\n\n"
TARGET = "rule all:\n    input: results/x/1.nc\n    jobid: 0\nShell command: None\n"
WHOLE = STATS + LOCAL + block("train", 1) + GROUP + TARGET


def planned(monkeypatch, text):
    def run(command, **_):
        return SimpleNamespace(returncode=0, stdout=text, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    return dryrun.planned(ROOT, [])


def test_jobs_are_read(monkeypatch):
    jobs = planned(monkeypatch, WHOLE)
    assert [(job.rule, job.memory_mb) for job in jobs] == [("images", 600), ("train", 600), ("train", 600)]
    assert [job.name for job in jobs] == ["images/0", "train/1", "train/2"]
    assert jobs[1].outputs == ["results/x/1.nc"]


def test_nothing_to_do_is_no_job(monkeypatch):
    assert (
        planned(monkeypatch, "Building DAG of jobs...\nNothing to be done (all requested files are present).\n") == []
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no table of job counts"),
        ("Building DAG of jobs...\n", "no table of job counts"),
        (WHOLE.removeprefix(STATS), "no table of job counts: all, images, train"),
        (WHOLE.replace("Job stats:", "Jobs:"), "no table of job counts: all, images, train"),
        (WHOLE.replace("Shell command: python", "Command: python"), "4 jobs counted, 1 found: images, train"),
        (WHOLE.replace("localrule images", "local rule images"), "4 jobs counted, 3 found: images"),
        (WHOLE.replace(GROUP, ""), "4 jobs counted, 3 found: train"),
        (WHOLE.replace("    rule train:", "    job train:"), "4 jobs counted, 3 found: train"),
        (WHOLE.replace("train         2", "train         3"), "4 jobs counted, 4 found: train"),
        (WHOLE.replace("total         4", "total         5"), "5 jobs counted, 4 found"),
        (WHOLE.replace("    log: logs/x/train/1.log\n", ""), "rule train: no log, memory or redirection"),
        (WHOLE.replace("mem_mb=600, ", ""), "rule images: no log, memory or redirection"),
        (WHOLE.replace(" 2> logs/x/1.log", ""), "rule train: no log, memory or redirection"),
    ],
)
def test_words_that_are_not_understood_are_an_error_with_the_version(monkeypatch, text, what):
    monkeypatch.setattr(dryrun.metadata, "version", lambda name: "99.1")
    with pytest.raises(RepdynError) as caught:
        planned(monkeypatch, text)
    assert str(caught.value) == (
        f"the dry run of Snakemake 99.1 is not in the form that this version of repdyn reads ({what}); "
        "install the Snakemake named in envs/constraints.txt"
    )


def test_every_job_of_the_workflow_is_found():
    """Also those in groups: by the rules that make results, not by Snakemake's own count."""
    rules = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
    made = set(re.findall(r"^rule (\w+):\n(?: {4}.*\n|\n)*? {4}shell:", rules, re.M))
    jobs = dryrun.planned(ROOT, ["--configfile", str(ROOT / SMOKE)])
    assert {job.rule for job in jobs} == made
    assert len({job.log for job in jobs}) == len(jobs)
