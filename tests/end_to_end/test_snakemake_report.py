"""Snakemake's own report of the smoke run: one file with figures, tables and ledger by study."""

import json

import pytest
from tests.conftest import SMOKE, snakemake

pytestmark = pytest.mark.slow


def test_snakemake_report_has_every_figure_and_table(smoke_run, tmp_path):
    target = tmp_path / "report.html"
    done = snakemake(smoke_run, "--cores", "1", "--configfile", SMOKE, "--report", str(target), "--", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    page, root = target.read_text(encoding="utf-8"), smoke_run / "results/smoke"
    stems = sorted(path for kind in ("figures", "tables") for path in root.glob(f"*/{kind}/*.json"))
    products = [path.with_suffix(".svg" if path.parent.name == "figures" else ".csv") for path in stems]
    labels = json.loads((root / "report/captions/labels.json").read_text())
    assert len(stems) > 40
    assert [path.name for path in products if str(path.relative_to(smoke_run)) not in page] == []
    assert [label for label in labels.values() if json.dumps(label["title"])[1:-1] not in page] == []
    assert "System Message" not in page  # docutils' message for an invalid caption
