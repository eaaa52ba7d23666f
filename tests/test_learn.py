"""The code on the pages for learning prints the output shown."""

import doctest
import re

import pytest
from tests.conftest import ROOT

PAGES = sorted((ROOT / "docs/learn").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_output_shown_equals_output_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages may write files
    blocks = re.findall(r"^```pycon\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.stem, str(page), 0)
    told: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(parsed, out=told.append)
    assert result.attempted > 10
    assert result.failed == 0, "".join(told)
