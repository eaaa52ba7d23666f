"""Replies of authors on the pages of their claims: quoted as written, with the verdict that each speaks of."""

import pytest
import yaml
from tests.pipeline.test_report import CLAIMS, EVIL, STUDY, Page, make_run, make_source

from repdyn.base.errors import ConfigError
from repdyn.base.verdicts import REFUTED
from repdyn.pipeline import studies
from repdyn.pipeline.report.build import build
from repdyn.pipeline.run.kinds import site

FIRST = {
    "author": "A. Author",
    "date": "2026-12-01",
    "verdict": "does not hold",
    "stance": "disputes",
    "words": "Costs $5 and 1e-09.",
    "source": "issue 12",
}
SECOND = FIRST | {"date": "2026-12-03", "verdict": "holds as corrected", "stance": "accepts", "words": "It is right."}
HOSTILE = {"author": EVIL, "date": "2026-12-02", "verdict": "holds as corrected", "stance": "comments"}
HOSTILE |= {"words": EVIL, "source": EVIL}
MESSAGE = {"message": "Wrong", "cause": "For a reason.", "consequence": "Nothing changes."}


def written(folder, replies):
    """Files of the study: its claims are those of the run, and authors replied so."""
    accepted = {claim["id"]: {"verdict": claim["verdict"], "undecided_at": []} for claim in CLAIMS}
    messages = {claim["id"]: MESSAGE for claim in CLAIMS if claim["verdict"] in REFUTED}
    named = ((studies.ACCEPTED, accepted), (studies.MESSAGES, messages), (studies.REPLIES, replies))
    for name, content in named:
        (folder / "x" / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def pages(tmp_path, replies):
    root, checkout = tmp_path / "mine", tmp_path / "checkout"
    files, source = make_run(root, CLAIMS), make_source(checkout)
    written(checkout, replies)
    build(root, files, root / "report", source)
    return {path.stem: Page(path.read_text(encoding="utf-8")) for path in (root / "report/claims").glob("*.html")}


def test_replies_stand_on_the_page_of_their_claim(tmp_path):
    shown = pages(tmp_path, {"x-thm1": [SECOND, FIRST], "x-evil": [HOSTILE]})
    words = shown["x-thm1"].words
    earlier = "A. Author disputes 2026-12-01 to an earlier verdict: does not hold Costs $5 and 1e-09. issue 12"
    current = "A. Author accepts 2026-12-03 It is right. issue 12"
    assert f"Replies of the authors {earlier} {current}" in words
    assert [time["datetime"] for time in shown["x-thm1"].of("time")] == ["2026-12-01", "2026-12-03"]
    assert {id for id, page in shown.items() if "replies" in page.values("id")} == {"x-thm1", "x-evil"}


def test_a_reply_stays_words(tmp_path):
    page = pages(tmp_path, {"x-evil": [HOSTILE]})["x-evil"]
    evil = " ".join(EVIL.split())
    assert f"Reply of the author {evil} comments 2026-12-02 {evil} {evil}" in page.words
    assert all(script["src"].startswith("../assets/") for script in page.of("script"))


def test_a_bad_file_stops_the_job_with_its_place(tmp_path):
    root, checkout = tmp_path / "mine", tmp_path / "checkout"
    files = make_run(root, CLAIMS)
    make_source(checkout)
    written(checkout, {"x-thm1": [FIRST | {"stance": "agrees"}]})
    member = {"workflow": str(checkout), "made": {}, "folders": {STUDY: str(checkout / "x")}}
    member |= {"inputs": [path.relative_to(root).as_posix() for path in files], "outputs": ["report/index.html"]}
    with pytest.raises(ConfigError, match=r"replies\.yaml:5: x-thm1\[0\]\.stance: 'agrees' is not one of accepts, "):
        site.run(member, root, None)
    assert not (root / "report").exists()
