"""The page of terms is that of today's studies, and explains every term that the report links."""

import re

import yaml
from tests.conftest import ROOT

from repdyn.pipeline.pages import generate, glossary

PAGE = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r'^- <a id="([a-z0-9-]+)"></a>\*\*([^*]+)\*\*: (.+)$', PAGE, re.MULTILINE)


def test_the_page_is_what_the_studies_say():
    assert glossary.page() == PAGE, "run `python -m repdyn reference`"


def test_every_term_of_every_study_is_an_entry_in_its_words_and_terms_are_in_order():
    written = {id: (term, says) for id, term, says in ENTRIES}
    assert len(written) == len(re.findall("^- ", PAGE, re.MULTILINE)) > 20
    files = sorted(ROOT.glob("src/repdyn/*/glossary.yaml"))
    assert len(files) >= 5
    for path in files:
        for slug, entry in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            assert written[slug] == (entry["term"], entry["says"])
    terms = [term.lower() for _, term, _ in ENTRIES]
    assert terms == sorted(terms)
    assert {"margin", "control", "interval", "reading"} <= set(terms)


def test_the_command_writes_it(tmp_path, monkeypatch):
    """With the other pages left aside, which take longer."""
    (tmp_path / "docs").mkdir()
    for name in ("claims_page", "configuration_page", "json_schema"):
        monkeypatch.setattr(generate, name, lambda *_: "")
    for module, name in ((generate.outputs, "page"), (generate.measures, "page"), (generate.chosen, "page")):
        monkeypatch.setattr(module, name, lambda *_: "")
    generate.write(tmp_path)
    assert (tmp_path / "docs/glossary.md").read_text(encoding="utf-8") == PAGE
