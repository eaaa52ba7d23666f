"""The generated glossary: the terms that the report explains, in alphabetical order."""

from __future__ import annotations

from collections.abc import Mapping

from repdyn.pipeline.report import page_md
from repdyn.pipeline.report.texts import TERMS

INTRODUCTION = """\
# Glossary

Terms of the papers and of the report, in plain words. What each variable of a measured network is:
[measures](measures.md).

This page is generated from the studies' `page.md` and the report's own terms (`python -m repdyn dev pages`); a test
checks that it agrees with them.
"""


def page() -> str:
    """The page as Markdown, with an anchor for each term."""
    return markdown(page_md.terms(page_md.pages(), TERMS))


def markdown(terms: Mapping[str, tuple[str, str]]) -> str:
    """Terms, in their order: slug -> term and what it means."""
    entries = (f'- <a id="{slug}"></a>**{term}**: {says}\n' for slug, (term, says) in terms.items())
    return "".join([f"{INTRODUCTION}\n", *entries])
