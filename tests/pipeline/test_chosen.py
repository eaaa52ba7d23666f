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


@pytest.mark.parametrize("content", [{"after_looking": [], "more": 1}, {"before_looking": []}, {"after_looking": {}}])
def test_a_list_under_another_key_or_beside_one_is_refused(tmp_path, content):
    path = tmp_path / "chosen.yaml"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigError) as caught:
        chosen.read(path)
    form = "{chosen: text, claims: [id, ...]}"
    assert str(caught.value) == f"{path}: expected the key after_looking with a list of {form}, got {content!r}"


def test_a_damaged_entry_among_good_ones_is_told(tmp_path):
    good, path = {"chosen": "a", "claims": ["x-1", "x-2"]}, tmp_path / "chosen.yaml"
    for damaged in ({"chosen": "b", "claims": ["x-1", 2]}, {"chosen": "b", "claims": [], "why": "c"}, "d"):
        path.write_text(yaml.safe_dump({"after_looking": [good, damaged, good]}))
        with pytest.raises(ConfigError) as caught:
            chosen.read(path)
        assert str(caught.value).endswith(f"a list of {{chosen: text, claims: [id, ...]}}, got {damaged!r}")


def test_choices_of_three_studies_are_known_by_each_of_their_claims():
    told = {"z": [("z one", ["z-2", "z-1"]), ("z two", ["z-2", "z-3", "m-1"])], "a": [], "m": [("m one", ["m-1"])]}
    choices = {
        study: [dict(zip(("chosen", "claims"), entry, strict=True)) for entry in own] for study, own in told.items()
    }
    assert chosen.by_claim(choices) == {
        "z-2": ["z one", "z two"], "z-1": ["z one"], "z-3": ["z two"], "m-1": ["z two", "m one"],
    }  # fmt: skip
