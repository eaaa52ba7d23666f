"""Snakemake's own report of the smoke run: one file with figures, tables and ledger by study, each with its caption."""

import json

import pytest
from tests.conftest import SMOKE, snakemake

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(smoke_run, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / "report.html"
    done = snakemake(smoke_run, "--cores", "1", "--configfile", SMOKE, "--report", str(target), "--", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    return target.read_text(encoding="utf-8")


def test_it_names_every_figure_and_table_with_its_study(page, smoke_run):
    root = smoke_run / "results/smoke"
    stems = sorted(path for kind in ("figures", "tables") for path in root.glob(f"*/{kind}/*.json"))
    assert len(stems) > 40
    for path in stems:
        product = path.with_suffix(".svg" if path.parent.name == "figures" else ".csv")
        assert str(product.relative_to(smoke_run)) in page
    assert "results/smoke/claims.csv" in page


def test_captions_are_those_of_the_figures(page, smoke_run):
    path = next((smoke_run / "results/smoke").glob("bn_decomposed/figures/fig5*.json"))
    start = json.loads(path.read_text())["caption"][:30]
    assert start in page
    assert "System Message" not in page  # docutils' word for a caption it could not read


def test_entries_are_listed_by_title_with_the_verdicts_of_their_claims(page, smoke_run):
    labels = json.loads((smoke_run / "results/smoke/report/captions/labels.json").read_text())
    assert len(labels) > 40
    for label in labels.values():
        assert json.dumps(label["title"])[1:-1] in page
        assert label["claims"] in page


def test_it_needs_our_report_for_captions_only(smoke_run, tmp_path):
    """A study's target alone has a report, too."""
    done = snakemake(
        smoke_run, "--cores", "1", "--configfile", SMOKE, "--report", str(tmp_path / "one.zip"), "--", "bn_mean_field"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "one.zip").stat().st_size > 1e5
