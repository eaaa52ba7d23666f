"""The code that a job executes is part of its code version, and the files it opens are in its job file."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from tests.conftest import ROOT
from tests.dag.tracing import outside_closure

from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.costs import files, rows
from repdyn.pipeline.run.declare.jobs import read
from repdyn.pipeline.run.declare.workflow import ENTRY
from repdyn.pipeline.versions.fingerprint import code_version

pytestmark = pytest.mark.slow
SHOWN = ("figures", "tables", "claims")


def cheapest_jobs(study):
    """Of each kind of a study's jobs the cheapest; all of the first and last jobs ("")."""
    known = [row for file in files(ROOT) for row in rows(file) if row["run"] == "smoke"]
    jobs = [row["job"] for row in sorted(known, key=lambda row: -float(row["cpu_seconds"]))]
    own = [job for job in jobs if job.rpartition("/")[0] == study]
    kinds = {
        name.partition("_")[0] if (name := job.rpartition("/")[2]).startswith(SHOWN) else "data": job for job in own
    }
    return list(kinds.values()) if study else own


@pytest.fixture(scope="module")
def checkout(smoke_run, tmp_path_factory):
    """A finished run without its checkpoints, so that each member runs again."""
    folder = tmp_path_factory.mktemp("traced") / "checkout"
    kept = shutil.ignore_patterns("*.checkpoints", ".snakemake")
    return shutil.copytree(smoke_run, folder, ignore=kept)


def roots_of(job, member):
    """Sets of roots of a member with the code version that the job file gives for each."""
    runner = f"repdyn.pipeline.run.kinds.{job.kind}:run"
    if "function" in member:
        return [((f"repdyn.{member['study']}.{member['function']}", runner, ENTRY), member["code"])]
    claims = member.get("claims", {}).values()
    return [((runner, ENTRY), member["code"])] + [
        ((f"repdyn.{member['study']}.{claim['function']}",), claim["code"]) for claim in claims
    ]


@pytest.mark.parametrize("study", ["", *STUDIES])
def test_executed_code_and_opened_files_are_declared(checkout, study):
    files = [f"logs/smoke/{job}.job.json" for job in cheapest_jobs(study)]
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{ROOT}", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "tests.dag.traced", "traced.json", *files]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    traced = json.loads((checkout / "traced.json").read_text())
    kinds, outside, unnamed = set(), [], []
    for file in files:
        job = read(checkout / file)
        kinds.add(job.kind)
        for member, trace in zip(job.members, traced[file], strict=True):
            known = roots_of(job, member)
            assert [code_version(*roots) for roots, _ in known] == [version for _, version in known], file
            executed = {tuple(pair) for pair in trace["executed"]}
            assert ("repdyn.pipeline.run.execute.entry", "run_members") in executed
            outside += outside_closure(filter(computes, executed), [root for roots, _ in known for root in roots])
            named = {text.split()[0] for text in member.get("texts", ())}
            unnamed += [path for path in trace["opened"] if path not in named and not is_known(path)]
    assert outside == []
    assert unnamed == []
    assert kinds >= ({"simulate", "draw"} if study else {"images", "ledger", "manifest", "site"})


def computes(definition):
    """Settings are validated again in a job, but the result is in its file."""
    return "settings" not in definition[0].split(".")


def is_known(path):
    """Data and records of runs, and source files, which are read for the names of functions alone."""
    return path.startswith(("results/", "logs/", ".cache/")) or path.endswith(".py")
