"""Choices made after numbers had been seen, and the verdicts of the affected claims on fresh draws.

`page.md` of a study lists it. The full scale has a different seed (`workflow/scales/full.yaml`), so that its reference
has the verdicts on fresh draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from repdyn.pipeline import kept_runs
from repdyn.pipeline.pages.markdown import table
from repdyn.pipeline.report import page_md

LOOKED_AT, FRESH = "default", "full"
INTRODUCTION = """\
# Decided again on fresh draws

Some regions, sizes and hypotheses were set after numbers of the default scale had been seen. Each is listed here with
the claims that it decides. The full scale uses a different seed, which had no part in any choice; its verdicts are
shown next to those of the default scale. A verdict that is not decidable at one scale does not contradict the other.

This page is generated from the studies' `page.md` and from `reference/` (`python -m repdyn dev pages`); a test holds it
to them.
"""


def page(root: Path, folders: Mapping[str, Path] | None = None) -> str:
    """All choices with the verdicts of their claims at both scales, as Markdown.

    Args:
        root: the checkout, with `reference/`.
        folders: study -> its folder; None for all studies.
    """
    frames = kept_runs.ledgers(root / kept_runs.FOLDER)
    columns = [name for name in (LOOKED_AT, FRESH) if name in frames]
    parts = [INTRODUCTION]
    for study, page in page_md.pages(folders).items():
        choices = page.items.chosen_after_looking
        if not choices:
            continue
        rows = [
            ("" if place else choice.chosen, f"`{id}`", *(_verdict(frames[name], id) for name in columns))
            for choice in choices
            for place, id in enumerate(choice.claims)
        ]
        parts += [f"## {study}\n", f"Chosen after seeing numbers: {len(choices)}.\n"]
        parts.append(table(("chosen", "claim", *columns), rows))
    return "\n".join(parts)


def _verdict(frame: pd.DataFrame, id: str) -> str:
    return str(frame.loc[id, "verdict"]) if id in frame.index else "not judged"
