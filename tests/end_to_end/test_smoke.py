"""The whole pipeline at smoke scale: outputs, reproducibility to the byte, working folders."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT, SMOKE, snakemake
from tests.dag.declared import declared

from repdyn.__main__ import main
from repdyn.base.verdicts import FAILED
from repdyn.pipeline.ask import controls
from repdyn.pipeline.report import page_md
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

pytestmark = pytest.mark.slow


def ledger(folder) -> list[dict[str, str]]:
    with (folder / "results/smoke/claims.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_verdict_is_the_accepted_one(smoke_run):
    rows = ledger(smoke_run)
    assert {row["id"] for row in rows} == set(accepted_verdicts())
    changed = {row["id"]: f"{row['verdict']} ({row['change']})" for row in rows if row["change"]}
    assert changed == {}, "a person must decide: fix the code, or accept in verdicts.yaml of its study"


def test_verdicts_and_key_numbers_are_those_of_the_stored_run(smoke_run):
    assert main(["compare", str(smoke_run / "results/smoke"), str(ROOT / "reference/smoke")]) == 0


def test_every_fact_that_a_page_names_is_in_the_ledger(smoke_run):
    rows = {row["id"]: row for row in ledger(smoke_run)}
    named = {
        found[0]
        for page in page_md.pages().values()
        for found in page_md.FACT.finditer(page.path.read_text(encoding="utf-8"))
    }
    assert {fact for fact in named if page_md.with_facts(fact, rows) == page_md.UNKNOWN} == set()


def test_identities_and_bounds_are_decided_even_at_smoke_scale(smoke_run):
    undecided = [
        row["id"] for row in ledger(smoke_run) if row["kind"] in ("identity", "bound") and "decidable" in row["verdict"]
    ]
    assert undecided == []


def test_every_sampled_claim_states_its_false_alarm_rate(smoke_run):
    """Identities and bounds hold for every draw, so they have no false alarms; other claims with samples may have."""
    rows = ledger(smoke_run)
    sampled = [row for row in rows if int(row["n"] or 0) and row["kind"] not in ("identity", "bound")]
    with_interval = [row for row in rows if row["interval_low"]]
    assert {row["study"] for row in sampled} >= {"bn_decomposed", "bn_mean_field", "leaky_resnets", "universality"}
    assert [row["id"] for row in (*sampled, *with_interval) if not 0 < float(row["false_alarm"]) <= 0.05] == []


def test_every_decided_claim_rejects_its_control(smoke_run):
    for row in ledger(smoke_run):
        if row["verdict"] in ("holds", "holds as corrected"):
            assert row["control_outcome"] == "rejected", row["id"]
            assert float(row["control_margin"]) < 1 <= float(row["margin"]), row["id"]


def test_every_control_is_a_wrong_theory(smoke_run):
    audit = controls.examine(smoke_run / "results/smoke")
    assert audit.faults == []


def test_no_check_figure_or_table_fails_on_its_data(smoke_run):
    """At a shipped scale no check fails, each control changes the verdict, and every figure is plotted."""
    rows = ledger(smoke_run)
    assert [row["id"] for row in rows if row["verdict"] == FAILED or row["control_outcome"] == "not rejected"] == []
    records = {path: json.loads(path.read_text()) for path in (smoke_run / "results/smoke").glob("*/[ft]*/*.json")}
    assert len(records) > 80
    assert [path for path, record in records.items() if record["caption"].startswith(("Not drawn", "Not filled"))] == []


PRODUCTS = (
    "bn_decomposed/data/cluster_rows.nc",
    "bn_decomposed/figures/fig5_layer_angles.svg",
    "bn_mean_field/tables/first_steps.json",
    "truncation_flow/claims.csv",
    "bn_mean_field/evidence.csv",
    "claims.csv",
    "manifest.json",
    "report/index.html",
    "report/captions",
)
TELL_THE_TIME = ("manifest.json", "index.html")


def test_deleted_and_edited_products_are_found_without_snakemake_metadata(finished):
    shutil.rmtree(finished / ".snakemake")
    gone = [finished / "results/smoke" / product for product in PRODUCTS]
    files = {file for path in gone for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()}
    before = {file: file.read_bytes() for file in files if file.name not in TELL_THE_TIME}
    for path in gone:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    done = snakemake(finished, "--cores", "2", "--configfile", SMOKE, "--", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(file.is_file() for file in files)
    assert {file: file.read_bytes() for file in before} == before
    assert due(finished) == set()
    tables = finished / "src/repdyn/bn_decomposed/tables.py"
    tables.write_text(tables.read_text().replace('"effective rank"', '"eff. rank"'))
    assert due(finished) == {"bn_decomposed_tables", "manifest", "report"}


def due(folder) -> set[str]:
    """Rules that a dry run would run, without aggregate targets."""
    shown = snakemake(folder, "-n", "--cores", "1", "--configfile", SMOKE, "--", "all")
    text = shown.stdout + shown.stderr
    assert shown.returncode == 0, text
    table = text.split("Job stats:")[1].split("total")[0] if "Job stats:" in text else ""
    return set(re.findall(r"^(\w+)\s+\d+\s*$", table, re.MULTILINE)) - {"all"}


def test_second_run_has_nothing_to_do(smoke_run):
    again = snakemake(smoke_run, "--cores", "2", "--configfile", SMOKE, "--", "all")
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr


def test_run_in_another_directory(smoke_run, tmp_path):
    """Results go to the working directory, code and settings are those of the workflow."""
    target, folder = "results/smoke/bn_decomposed/data/fixed_point.nc", tmp_path / "elsewhere"
    place = ("--snakefile", str(smoke_run / "Snakefile"), "--directory", str(folder))
    done = snakemake(tmp_path, *place, "--cores", "1", "--configfile", str(smoke_run / SMOKE), "--", target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / target).read_bytes() == (smoke_run / target).read_bytes()


def test_claim_command_shows_the_verdict_and_the_command_that_decides(smoke_run):
    words = [sys.executable, "-m", "repdyn", "claim", "bnd-sec2-rc"]
    shown = subprocess.run(words, cwd=smoke_run, capture_output=True, text=True, check=True).stdout
    assert re.search(r"^verdict +holds  \[run smoke", shown, re.MULTILINE)
    assert "snakemake --cores 1 results/smoke/bn_decomposed/claims.csv" in shown


@pytest.mark.parametrize("overlay", [(), ("workflow/scales/full.yaml",), ("workflow/scales/paper.yaml",)])
def test_every_scale_is_one_dag_with_its_own_results(smoke_run, overlay):
    name = Path(overlay[0]).stem if overlay else "default"
    assert f"results/{name}/report/index.html" in declared(smoke_run, *overlay).wanted
