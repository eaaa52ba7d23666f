"""What was chosen after looking: the list, its page, and the draws that decide again."""

import pandas as pd
import pytest
import yaml
from tests.conftest import ROOT

from repdyn.base.errors import ConfigError
from repdyn.pipeline import kept_runs, studies
from repdyn.pipeline.config.configuration import load
from repdyn.pipeline.pages import chosen


def test_the_committed_page_is_the_generated_one():
    assert (ROOT / "docs/fresh_draws.md").read_text(encoding="utf-8") == chosen.page(ROOT), "python -m repdyn reference"


def test_every_claim_listed_exists_under_its_study_and_stands_once_per_choice():
    claims = kept_runs.ledgers(ROOT / "reference")["default"]
    listed = [
        (study, tuple(choice["claims"]))
        for study, choices in chosen.read_all(studies.files(studies.CHOSEN)).items()
        for choice in choices
    ]
    assert [
        ids for study, ids in listed if len(set(ids)) != len(ids) or set(claims.loc[list(ids), "study"]) != {study}
    ] == []


def test_pages_of_studies_lead_to_the_list_with_its_count():
    for study, choices in chosen.read_all(studies.files(studies.CHOSEN)).items():
        page = " ".join((ROOT / f"docs/{study}.md").read_text(encoding="utf-8").split())
        assert f"[{len(choices)} choices](fresh_draws.md#{study})" in page, study


def test_the_fresh_scale_has_a_seed_of_its_own():
    seeds = [load([ROOT / "config.yaml"]).run.seed]
    seeds += [
        load([ROOT / "config.yaml", ROOT / f"workflow/scales/{name}.yaml"]).run.seed for name in ("smoke", "full")
    ]
    assert seeds[2] not in seeds[:2]


def test_page_shows_both_verdicts_and_what_is_missing(tmp_path):
    file = tmp_path / "a" / studies.CHOSEN
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump({"after_looking": [{"chosen": "a region", "claims": ["a-1", "a-2"]}]}))
    for run, verdicts in {"default": ["holds", "holds"], "full": ["does not hold"]}.items():
        folder = tmp_path / "reference" / run
        folder.mkdir(parents=True)
        frame = pd.DataFrame({"id": ["a-1", "a-2"][: len(verdicts)], "verdict": verdicts})
        frame.assign(**dict.fromkeys(set(kept_runs.CLAIM_COLUMNS) - {"id", "verdict"}, "")).to_csv(
            folder / "claims.csv", index=False
        )
        pd.DataFrame(columns=kept_runs.NUMBER_COLUMNS).to_csv(folder / "numbers.csv", index=False)
        pd.DataFrame(columns=["file", "sha256"]).to_csv(folder / "digests.csv", index=False)
        (folder / "run.json").write_text("{}")
    shown = chosen.page(tmp_path, {"a_study": tmp_path / "a"})
    assert "| a region | `a-1` | holds | does not hold |" in shown
    assert "|  | `a-2` | holds | not judged |" in shown
    assert chosen.by_claim({"a_study": chosen.read(file)}) == {"a-1": ["a region"], "a-2": ["a region"]}


@pytest.mark.parametrize(
    "entry", ["text", [{"chosen": "a"}], [{"chosen": 1, "claims": []}], [{"chosen": "a", "claims": "b"}]]
)
def test_a_damaged_list_is_refused(tmp_path, entry):
    path = tmp_path / "chosen.yaml"
    path.write_text(yaml.safe_dump({"after_looking": entry}))
    with pytest.raises(ConfigError, match=r"chosen\.yaml: .*a list of"):
        chosen.read(path)
