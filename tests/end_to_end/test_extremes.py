"""Every valid configuration gives a report: the smallest settings of all studies, all jobs in one process."""

import csv
import json

import pytest
import yaml
from tests.conftest import SMOKE
from tests.dag import extremes
from tests.dag.declared import copy_sources, declared
from tests.faults.interrupted import run

pytestmark = pytest.mark.slow


def in_order(jobs):
    """Jobs in the order of their dependencies."""
    made_by = {path: job for job, paths in jobs.outputs.items() for path in paths}
    ordered = {}

    def add(job):
        for path in jobs.inputs[job]:
            if made_by[path] not in ordered:
                add(made_by[path])
        ordered[job] = None

    for job in jobs.texts:
        if job not in ordered:
            add(job)
    return list(ordered)


def test_run_with_smallest_settings_creates_a_report(tmp_path):
    folder = copy_sources(tmp_path / "checkout")
    (folder / "extreme.yaml").write_text(yaml.safe_dump({"run": {"name": "extreme"}} | extremes.smallest()))
    jobs = declared(folder, SMOKE, "extreme.yaml")
    done = run(folder, 0, *(f"logs/extreme/{job}.job.json" for job in in_order(jobs)))
    assert done.returncode == 0, done.stdout + done.stderr
    results = folder / "results/extreme"
    assert json.loads((results / "manifest.json").read_text())["verdicts"]
    assert (results / "report/index.html").is_file()
    with (results / "claims.csv").open(newline="") as file:
        verdicts = {row["id"]: row["verdict"] for row in csv.DictReader(file)}
    assert {"holds", "not decidable at this scale"} <= set(verdicts.values())
    assert [id for id, verdict in verdicts.items() if verdict == "check failed"] == []
    products = {path.stem: json.loads(path.read_text()) for path in results.glob("*/[ft]*/*.json")}
    assert {name: product["failed"] for name, product in products.items() if "failed" in product} == {}
