"""Captions and labels for Snakemake's own report."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from repdyn.base.files import write_json, write_text
from repdyn.base.markup import plain

if TYPE_CHECKING:  # the Snakefile reads labels, and needs no dataset
    from repdyn.pipeline.report.contents import Contents, Product

LABELS = "labels.json"


def write(contents: Contents, folder: Path) -> None:
    """Title and caption of every figure and table as reStructuredText, and all labels in one file.

    `labels.json` maps `study/kind/name` to what Snakemake's report shows in its list: title and verdicts.
    """
    for product in contents.products:
        title, caption = _escaped(product.title), _escaped(product.caption)
        write_text(folder / product.study / product.kind / f"{product.name}.rst", f"**{title}**\n\n{caption}\n")
    labels = {f"{item.study}/{item.kind}/{item.name}": _labels(item, contents) for item in contents.products}
    write_json(folder / LABELS, labels)


def read_labels(file: Path) -> dict[str, dict[str, str]]:
    """`labels.json` of the last report of a run; empty where it is missing or damaged, as it is written again."""
    try:
        labels = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(labels, dict) and all(
        isinstance(texts, dict) and all(isinstance(text, str) for text in texts.values()) for texts in labels.values()
    )
    return labels if whole else {}


def _labels(product: Product, contents: Contents) -> dict[str, str]:
    number, _, words = product.title.partition(": ")
    named = bool(words) and re.match(r"(Figure|Table) ", number)
    return {
        "figure" if product.kind == "figures" else "table": number if named else "new",
        "title": _unmarked(words if named else product.title),
        "claims": _counted(claim["verdict"] for claim in contents.claims_on(product)),
    }


def _unmarked(title: str) -> str:
    """A title for a list without typesetting in which braces are wildcards: symbols by their names."""
    return re.sub(r"\\(?:mathrm|mathcal|mathbb|tilde)(?![a-z]) ?|[\\{}$]", "", title)


def _counted(verdicts: Iterable[str]) -> str:
    """Verdicts with their numbers, e.g. "3 holds, 1 does not hold"."""
    return ", ".join(f"{count} {verdict}" for verdict, count in Counter(verdicts).most_common()) or "none"


def _escaped(text: str) -> str:
    """Text escaped for reStructuredText and for the template engine before it."""
    marked = re.sub(r"([\\*`|_:<>\[\]])", r"\\\1", " ".join(plain(text).split()))
    return re.sub(r"[{}]+", lambda braces: '{{ "' + braces[0] + '" }}', marked)
