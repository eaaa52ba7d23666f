"""The ledger's entries of this study: accepted verdicts, controls, datasets that exist."""

import re
from pathlib import Path

import pytest
import yaml

from repdyn.base.claims import claims_of
from repdyn.pipeline.run.loading import load_rooms

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = claims_of(*load_rooms("bn_mean_field", "claims"))


def test_every_claim_has_an_accepted_verdict():
    accepted = yaml.safe_load((ROOT / "workflow" / "expected_verdicts.yaml").read_text(encoding="utf-8"))
    assert {one.id for one in CLAIMS} == {id for id in accepted if id.startswith("bnm-")}


@pytest.mark.parametrize("one", CLAIMS, ids=lambda one: one.id)
def test_claims_have_data_and_a_control_or_neither(one):
    assert bool(one.data) == bool(one.control)
    rules = (ROOT / "workflow" / "rules" / "bn_mean_field.smk").read_text(encoding="utf-8")
    judged = re.search(r"rule bn_mean_field_claims:.*?output:", rules, re.DOTALL)[0]
    assert all(f'BNM_DATA["{name}"]' in judged for name in one.data)


def test_the_page_of_the_paper_names_every_claim():
    page = (ROOT / "docs" / "bn_mean_field.md").read_text(encoding="utf-8")
    assert [one.id for one in CLAIMS if f"`{one.id}`" not in page] == []
