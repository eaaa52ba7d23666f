"""`python -m repdyn decide` on a finished smoke run: it adds trials to a copy, with the result of a full run."""

import re
import shlex
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from ruamel.yaml import YAML
from tests.conftest import SMOKE, copy_checkout, snakemake

from repdyn.base.files import sha256
from repdyn.base.tables import read_cells
from repdyn.base.verdicts import UNDECIDED
from repdyn.pipeline.run.execute import records

pytestmark = pytest.mark.slow
OVERLAY = "config/smoke-decided.yaml"
BUDGET = "0.02"  # core-minutes, which some claims on small networks cost


def ask(folder, *words):
    command = [sys.executable, "-m", "repdyn", "decide", "smoke", *words]
    environment = {"cwd": folder, "capture_output": True, "text": True, "check": False}
    done = subprocess.run(command, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def samples(evidence, id):
    """Numbers of samples of a claim's tests."""
    return pd.to_numeric(evidence.loc[evidence["id"] == id, "n"]).dropna()


def open_claims(ledger):
    return set(ledger.index[ledger["verdict"] == UNDECIDED])


def test_open_claims_get_trials_in_a_repeatable_run(finished, tmp_path, monkeypatch):
    before = {path: sha256(path) for path in (finished / "results/smoke").rglob("*") if path.is_file()}
    wants = ask(finished)
    assert "core-minutes  needs" in wants
    said = ask(finished, "--budget", BUDGET, "--looks", "1")
    assert {path: sha256(path) for path in before} == before
    told = re.search(r"^smoke: (\d+) claims open; more trials for (.+)$", said, re.MULTILINE)
    chosen = told[2].split(", ")

    ledgers = [
        pd.read_csv(finished / f"results/{run}/claims.csv", index_col="id") for run in ("smoke", "smoke-decided")
    ]
    gone = open_claims(ledgers[0]) - open_claims(ledgers[1])
    assert int(told[1]) == len(open_claims(ledgers[0]))
    assert re.search(r"^decided: (.*)$", said, re.MULTILINE)[1] == (", ".join(sorted(gone)) or "none")
    evidence = [read_cells(finished / f"results/{run}/evidence.csv") for run in ("smoke", "smoke-decided")]
    assert all(samples(evidence[1], id).sum() > samples(evidence[0], id).sum() for id in chosen)

    overlay = YAML(typ="safe").load((finished / OVERLAY).read_text(encoding="utf-8"))
    seen = [id for id in chosen if "has" not in re.search(rf"^{id} +\S+  (.*)$", wants, re.MULTILINE)[1]]
    assert all(overlay["run"]["looks"][id] > 1 for id in seen)  # their part of the false alarm has shrunk
    by_hand = shlex.split(re.search(r"^by hand: (.*)$", said, re.MULTILINE)[1])
    assert by_hand[0] == "snakemake"
    again = snakemake(finished, "--dry-run", *by_hand[1:])
    assert "Nothing to be done" in again.stdout + again.stderr

    monkeypatch.chdir(finished)
    grown = [job for job in records.of_run("smoke-decided") if job.get("trials_read")]
    assert grown, "no finished trial was read"
    cheapest = min(grown, key=lambda job: job["cpu_seconds"])
    fresh = copy_checkout(tmp_path / "fresh")
    (fresh / OVERLAY).parent.mkdir(exist_ok=True)
    shutil.copy(finished / OVERLAY, fresh / OVERLAY)
    paths = [path for path in cheapest["outputs"] if path.endswith(".nc")]
    done = snakemake(fresh, "--cores", "2", "--configfile", SMOKE, OVERLAY, "--", *paths)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: sha256(fresh / path) for path in paths} == {path: sha256(finished / path) for path in paths}
