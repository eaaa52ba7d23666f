"""Every accepted configuration ends in a report: the smallest settings of all studies, and lists in reverse."""

import csv
import json

import pytest
import yaml
from tests.conftest import SMOKE, copy_checkout, snakemake
from tests.dag import extremes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("overlay", [extremes.smallest, extremes.reversed_lists])
def test_the_run_ends_in_a_report(tmp_path, overlay):
    folder = copy_checkout(tmp_path / "checkout")
    (folder / "extreme.yaml").write_text(yaml.safe_dump({"run": {"name": "extreme"}} | overlay()))
    done = snakemake(folder, "--cores", "2", "--keep-going", "--configfile", SMOKE, "extreme.yaml", "--", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    results = folder / "results/extreme"
    assert json.loads((results / "manifest.json").read_text())["verdicts"]
    assert (results / "report/index.html").is_file()
    with (results / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["verdict"] for row in rows} >= {"holds", "not decidable at this scale"}
    undecided = [row for row in rows if row["verdict"] == "not decidable at this scale"]
    assert [row["id"] for row in undecided if not (row["note"] or row["measured"])] == [], "it is said why"
