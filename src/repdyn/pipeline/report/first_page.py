"""The report's first page: summary boxes of selected findings, and animations.

The text of a box is from `page.md`, all else is from the ledger; if the run's verdict differs, the box says so. An
animation shows numbers of a run's dataset by the study's script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from repdyn.base import datasets
from repdyn.base.declarations import Opening
from repdyn.pipeline.report.contents import Contents, Product, Row
from repdyn.pipeline.report.page_md import Page, with_facts

MOST = 201  # number of times shown
DIGITS = 6


@dataclass(frozen=True)
class Card:
    """A claim of the run, a figure, a headline and a sentence.

    Attributes:
        claim: the claim's row of the ledger.
        figure: the figure, None if the run has none of that name.
        show: the part of the figure that is shown: all, top or bottom.
        headline: the finding in a few words.
        sentence: what it means.
        corrected: the correct form in LaTeX, of the ledger or of the page; "" without one.
        is_current: whether the run's verdict is the one that headline and sentence are about.
    """

    claim: Row
    figure: Product | None
    show: str
    headline: str
    sentence: str
    corrected: str
    is_current: bool


def cards(pages: Mapping[str, Page], contents: Contents) -> list[Card]:
    """Summary boxes of the selected claims that the run decided."""
    claims = contents.rows
    figures = {f"{product.study}/{product.name}": product for product in contents.products if product.kind == "figures"}
    return [
        Card(
            claim=claims[id],
            figure=figures.get(finding.figure),
            show=finding.show,
            headline=with_facts(finding.headline, claims),
            sentence=with_facts(finding.sentence, claims),
            corrected=claims[id]["corrected_formula"] or finding.formula,
            is_current=claims[id]["verdict"] == finding.verdict,
        )
        for page in pages.values()
        for id, finding in page.items.findings.items()
        if id in claims
    ]


@dataclass(frozen=True)
class Animation:
    """An animation of a run.

    Attributes:
        study: its study.
        claim: the ledger's row of the claim linked in its caption.
        sentence: its caption.
        label: alternative text.
        numbers: variable -> its values, nested by dimension.
    """

    study: str
    claim: Row
    sentence: str
    label: str
    numbers: Mapping[str, object]


def animations(declared: Mapping[str, Opening], contents: Contents) -> list[Animation]:
    """The animations of studies whose claim the run decided and whose dataset is complete and finite.

    Args:
        declared: study -> what it declares.
        contents: the run.
    """
    return [one for study, opening in declared.items() for one in _animation(study, opening, contents)]


def _animation(study: str, opening: Opening, contents: Contents) -> Iterator[Animation]:
    claim = contents.rows.get(opening.claim)
    file = f"{study}/data/{opening.dataset}.nc"
    if claim is None or file not in contents.manifest["content"]:
        return
    shown = _shown(datasets.read(contents.root / file), opening)
    if shown is None:
        return
    moments = (shown.isel(time=place) for place in (0, -1, slice(None)))
    start, end, numbers = ({name: _rounded(data[name].values) for name in opening.shows} for data in moments)
    yield Animation(study, claim, opening.says.format(start=start, end=end), opening.label, numbers)


def _shown(data: xr.Dataset, opening: Opening) -> xr.Dataset | None:
    """The shown part of a dataset, at `MOST` times; None if a variable or a finite value is missing."""
    if not set(opening.shows) <= set(data.variables):
        return None
    chosen = data.sel(dict(opening.at))[list(opening.shows)]
    if not all(np.isfinite(values).all() for values in chosen.variables.values() if values.dtype.kind == "f"):
        return None
    n = chosen.sizes["time"]
    return chosen.isel(time=np.unique(np.linspace(0, n - 1, min(n, MOST)).round().astype(int)))


def _rounded(values: np.ndarray) -> object:
    """Nested lists of numbers with `DIGITS` digits, or of texts."""
    if values.dtype.kind != "f":
        return values.tolist()
    return np.array([float(f"{value:.{DIGITS}g}") for value in values.ravel()]).reshape(values.shape).tolist()
