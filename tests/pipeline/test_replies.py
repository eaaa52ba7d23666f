"""Replies of authors: read in the order of their dates; what is wrong is named with its place, all at once."""

import datetime
from pathlib import Path

import pytest
import yaml

from repdyn.base.errors import ConfigError
from repdyn.pipeline import replies, studies

KNOWN = {"tf-thm32-omega", "tf-cor33-fixed"}
REPLY = {
    "author": "A. Author",
    "date": "2026-12-01",
    "verdict": "holds as corrected",
    "stance": "disputes",
    "words": "The term is absorbed.",
    "source": "issue 12",
}
TEXT = """\
tf-thm32-omega:
  - author: A. Author
    date: 2026-12-03
    verdict: holds as corrected
    stance: comments
    words: >-
      Later, on
      two lines.
    source: issue 12
  - {author: B. Author, date: "2026-12-01", verdict: holds, stance: accepts, words: Earlier., source: a letter}
"""


def written(folder: Path, content) -> Path:
    path = folder / studies.REPLIES
    path.parent.mkdir(parents=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return path


def refused(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as error:
        replies.read(path, KNOWN)
    return [line.removeprefix(f"{path}:") for line in str(error.value).splitlines()]


def test_replies_to_every_claim_are_read_each_claims_by_date(tmp_path):
    more = {
        "tf-a": [REPLY | {"date": "2026-11-30", "words": "  Only. ", "source": "a page"}],
        "tf-b": [REPLY | {"date": f"2026-10-0{day}", "words": f"Day {day}."} for day in (3, 1, 4, 2)],
    }
    text = TEXT + yaml.safe_dump(more, sort_keys=False)
    found = replies.read(written(tmp_path, text), {"tf-thm32-omega", *more})
    assert {id: [(reply.date, reply.words) for reply in listed] for id, listed in found.items()} == {
        "tf-thm32-omega": [("2026-12-01", "Earlier."), ("2026-12-03", "Later, on two lines.")],
        "tf-a": [("2026-11-30", "Only.")],
        "tf-b": [(f"2026-10-0{day}", f"Day {day}.") for day in (1, 2, 3, 4)],
    }
    assert found["tf-thm32-omega"][1] == replies.Reply(
        "A. Author", "2026-12-03", "holds as corrected", "comments", "Later, on two lines.", "issue 12"
    )


def test_a_reply_knows_whether_its_verdict_is_still_that_of_the_run():
    reply = replies.Reply(**REPLY)
    assert reply.is_current("holds as corrected")
    assert not reply.is_current("holds")


def test_an_unknown_claim_is_named_with_the_nearest(tmp_path):
    path = written(tmp_path, {"tf-thm32-omgea": [REPLY]})
    (line,) = refused(path)
    assert line == '1: tf-thm32-omgea: no claim of this study has this id; did you mean "tf-thm32-omega"?'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"date": "1 December"}, "[0].date: '1 December' is no date as 2026-12-01"),
        ({"date": 20261201}, "[0].date: 20261201 is no date as 2026-12-01"),
        ({"date": datetime.datetime(2026, 12, 1, 8)}, "is no date as 2026-12-01"),
        ({"verdict": "wrong"}, "[0].verdict: 'wrong' is not one of holds, "),
        ({"verdict": ["holds"]}, "[0].verdict: ['holds'] is not one of holds, "),
        ({"stance": "agrees"}, "[0].stance: 'agrees' is not one of accepts, disputes, comments"),
        ({"words": " "}, "[0].words: expected text, got ' '"),
        ({"author": 3}, "[0].author: expected text, got 3"),
        ({"note": "more"}, "[0].note: not one of the keys author, date, verdict, stance, words, source"),
    ],
)
def test_a_wrong_value_is_named_with_its_line(tmp_path, change, message):
    (line,) = refused(written(tmp_path, {"tf-thm32-omega": [REPLY | change]}))
    at, _, text = line.partition(": ")
    assert message in text
    assert int(at) == 2 + [*(REPLY | change)].index(*change)


@pytest.mark.parametrize(
    ("replies_to_it", "message"),
    [
        ([], "expected a list of replies, got []"),
        (REPLY, "expected a list of replies, got {"),
        (["no"], "[0]: expected the keys author, date, "),
        ([{key: text for key, text in REPLY.items() if key not in ("date", "source")}], "[0]: missing: date, source"),
    ],
)
def test_a_wrong_form_is_named(tmp_path, replies_to_it, message):
    (line,) = refused(written(tmp_path, {"tf-thm32-omega": replies_to_it}))
    assert message in line


def test_all_problems_of_all_replies_to_all_claims_are_told_at_once(tmp_path):
    row = "  - {author: A, date: 2026-12-01, verdict: holds, stance: accepts, words: Yes., source: a letter}\n"
    text = f"tf-x:\n{row}"
    text += f"tf-thm32-omega:\n{row}{row.replace('accepts', 'agrees').replace('Yes.', '7')}  - no\n{row}"
    text += f"{row.replace('author: A, ', '').replace('source', 'from')}tf-cor33-fixed: 3\n"
    keys = "author, date, verdict, stance, words, source"
    assert refused(written(tmp_path, text)) == [
        "1: tf-x: no claim of this study has this id",
        "5: tf-thm32-omega[1].stance: 'agrees' is not one of accepts, disputes, comments",
        "5: tf-thm32-omega[1].words: expected text, got 7",
        f"6: tf-thm32-omega[2]: expected the keys {keys}, got 'no'",
        "8: tf-thm32-omega[4]: missing: author, source",
        f"8: tf-thm32-omega[4].from: not one of the keys {keys}",
        "9: tf-cor33-fixed: expected a list of replies, got 3",
    ]


def test_what_is_no_mapping_or_names_a_claim_twice_is_refused(tmp_path):
    path = written(tmp_path, "- a\n")
    assert "mapping" in refused(path)[0]
    path.write_text(f"{TEXT}tf-thm32-omega: []\n")
    assert "tf-thm32-omega" in refused(path)[0]


def test_a_study_is_searched_below_its_folder_for_replies_to_its_own_claims(tmp_path):
    written(tmp_path / "mine", {"own-claim": [REPLY]})
    folders = {"mine": tmp_path / "mine", "other": tmp_path / "other"}
    with pytest.raises(ConfigError, match="own-claim: no claim of this study"):
        replies.of_studies(folders)
    verdicts = tmp_path / "mine" / studies.ACCEPTED
    verdicts.write_text("own-claim: {verdict: holds, undecided_at: []}\n")
    assert replies.of_studies(folders) == {"own-claim": [replies.Reply(**REPLY)]}


def test_replies_to_several_studies_are_all_there(tmp_path):
    folders = {name: tmp_path / name for name in ("one", "two", "none", "three")}
    for name, folder in folders.items():
        path = written(folder, {f"{name}-claim": [REPLY | {"words": name}]})
        (folder / studies.ACCEPTED).write_text(f"{name}-claim: {{verdict: holds, undecided_at: []}}\n")
        if name == "none":
            path.unlink()
    found = replies.of_studies(folders)
    assert {id: listed[0].words for id, listed in found.items()} == {
        "one-claim": "one",
        "two-claim": "two",
        "three-claim": "three",
    }


def test_the_replies_of_the_studies_are_in_order():
    accepted = {id for path in studies.files(studies.ACCEPTED).values() for id in yaml.safe_load(path.read_text())}
    assert set(replies.of_studies()) <= accepted
