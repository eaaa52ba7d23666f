"""Replies of authors: read in the order of their dates; errors are reported with their positions, all at once."""

import datetime
from pathlib import Path

import pytest
import yaml

from repdyn.base.errors import ConfigError
from repdyn.pipeline import studies
from repdyn.pipeline.report import replies

KNOWN = {"tf-thm32-omega", "tf-cor33-fixed"}
REPLY = {"author": "A. Author", "date": "2026-12-01", "verdict": "holds as corrected", "stance": "disputes"}
REPLY |= {"words": "The term is absorbed.", "source": "issue 12"}


def write(folder: Path, content) -> Path:
    path = folder / studies.REPLIES
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return path


def refused(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as error:
        replies.read(path, KNOWN)
    return [line.removeprefix(f"{path}:") for line in str(error.value).splitlines()]


def test_replies_to_every_claim_are_read_by_date(tmp_path):
    days = [REPLY | {"date": f"2026-10-0{day}", "words": f"Day {day}."} for day in (3, 1, 4, 2)]
    later = REPLY | {"date": datetime.date(2026, 12, 3), "words": "  Padded. "}
    found = replies.read(write(tmp_path, {"tf-a": [later], "tf-b": days}), {"tf-a", "tf-b", "tf-c"})
    assert [reply.words for reply in found["tf-b"]] == [f"Day {day}." for day in (1, 2, 3, 4)]
    assert found["tf-a"] == [replies.Reply(**REPLY | {"date": "2026-12-03", "words": "Padded."})]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({"date": "1 December"}, '"1 December"'),
        ({"date": "2026-02-30"}, '"2026-02-30"'),
        ({"date": 20261201}, "20261201"),
        ({"verdict": "wrong"}, '"wrong"'),
        ({"stance": "agrees"}, '"agrees"'),
        ({"words": " "}, '" "'),
        ({"author": 3}, "3"),
    ],
)
def test_invalid_value_is_reported_with_its_line(tmp_path, change, value):
    (line,) = refused(write(tmp_path, {"tf-thm32-omega": [REPLY | change]}))
    at, _, text = line.partition(": ")
    assert text.startswith(f"tf-thm32-omega[0].{next(iter(change))}: {value} is not ")
    assert int(at) == 2 + [*REPLY].index(*change)


def test_all_problems_of_all_replies_are_reported_at_once(tmp_path):
    row = "  - {author: A, date: 2026-12-01, verdict: holds, stance: accepts, words: Yes., source: a letter}\n"
    text = f"tf-thm32-omgea:\n{row}tf-thm32-omega:\n{row.replace('accepts', 'agrees')}  - no\n"
    text += f"{row.replace('author: A, ', '').replace('source', 'from')}tf-cor33-fixed: 3\n"
    wanted = [
        ("1: tf-thm32-omgea", "tf-thm32-omega"),
        ("4: tf-thm32-omega[0].stance", '"agrees"'),
        ("5: tf-thm32-omega[1]", '"no"'),
        ("6: tf-thm32-omega[2]", '"author"'),
        ("6: tf-thm32-omega[2]", '"source"'),
        ("6: tf-thm32-omega[2]", '"from"'),
        ("7: tf-cor33-fixed", "3"),
    ]
    for line, words in zip(refused(write(tmp_path, text)), wanted, strict=True):
        assert line.startswith(words[0])
        assert all(word in line for word in words)


def test_lists_and_duplicate_claims_are_rejected(tmp_path):
    assert refused(write(tmp_path, "- a\n"))
    assert "tf-thm32-omega" in refused(write(tmp_path, "tf-thm32-omega: []\ntf-thm32-omega: []\n"))[0]


def test_replies_belong_to_claims_of_their_study(tmp_path):
    folders = {name: tmp_path / name for name in ("one", "two", "none", "three")}
    for name, folder in folders.items():
        path = write(folder, {f"{name}-claim": [REPLY | {"words": name}]})
        if name == "none":
            path.unlink()
    with pytest.raises(ConfigError, match="one-claim"):
        replies.of_studies(folders)
    for name, folder in folders.items():
        (folder / studies.ACCEPTED).write_text(f"{name}-claim: {{verdict: holds, undecided_at: []}}\n")
    found = replies.of_studies(folders)
    assert {id: listed[0].words for id, listed in found.items()} == {
        f"{name}-claim": name for name in ("one", "two", "three")
    }
    accepted = {id for path in studies.files(studies.ACCEPTED).values() for id in yaml.safe_load(path.read_text())}
    assert set(replies.of_studies()) <= accepted
