"""The generated page of terms: those that the report explains, by the letters of the alphabet."""

from __future__ import annotations

from collections.abc import Mapping

from repdyn.pipeline import studies
from repdyn.pipeline.report import stories
from repdyn.pipeline.report.texts import TERMS

INTRODUCTION = """\
# Glossary

Terms of the papers and of the report, in plain words. What each variable of a measured network is:
[measures](measures.md).

This page is generated from the studies' `glossary.yaml` and the report's own terms (`python -m repdyn reference`); a
test holds it to them.
"""


def page() -> str:
    """The page as Markdown, with an anchor for each term."""
    return markdown(stories.glossary(studies.files(studies.GLOSSARY), TERMS))


def markdown(terms: Mapping[str, stories.Term]) -> str:
    """Terms, in their order: slug -> term and what it means."""
    entries = (f'- <a id="{slug}"></a>**{term}**: {says}\n' for slug, (term, says) in terms.items())
    return "".join([f"{INTRODUCTION}\n", *entries])
