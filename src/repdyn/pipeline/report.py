"""The report of a run: one HTML file with the ledger, every figure and table, costs and versions; opens offline."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from repdyn.base.files import write_text
from repdyn.base.verdicts import LARGEST_MARGIN, STATUSES

TITLES = {
    "bn_decomposed": "Batch Normalization Decomposed",
    "truncation_flow": "Effective gradient flow and dynamical truncation",
    "bn_mean_field": "Riemannian mean field for two-layer networks with batch normalization",
    "leaky_resnets": "Hamiltonian mechanics of Leaky ResNets",
    "universality": "Universality in representation learning dynamics",
}


def build(root: Path, files: Iterable[Path], output: Path) -> None:
    """Writes the report.

    Args:
        root: the run's results folder, with `claims.csv` and `manifest.json`.
        files: files of figures and tables, in the order of the papers; their JSON files describe them.
        output: HTML file; figures are inside it, data is linked relative to it.
    """
    claims = pd.read_csv(root / "claims.csv", keep_default_na=False, dtype=str).to_dict("records")
    manifest = json.loads((root / "manifest.json").read_text(encoding="utf-8"))
    shown = [_described(path, root) for path in map(Path, files) if path.suffix == ".json"]
    studies = list(dict.fromkeys(claim["study"] for claim in claims))
    environment = Environment(
        loader=PackageLoader("repdyn.pipeline", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["margin"] = _margin
    page = environment.get_template("report.html.j2").render(
        run=manifest["configuration"]["run"],
        claims=claims,
        kinds=sorted({claim["kind"] for claim in claims}),
        counts=[(status, Counter(claim["verdict"] for claim in claims)[status]) for status in STATUSES],
        changes=[claim for claim in claims if claim["change"]],
        studies=[
            (study, TITLES.get(study, study), [one for one in shown if one["study"] == study]) for study in studies
        ],
        figures_of=_figures_of(shown),
        data_of={claim["id"]: _data_of(claim, manifest["content"]) for claim in claims},
        manifest=manifest,
        costs=manifest["costs"],
        total_cpu=sum(record["cpu_seconds"] for record in manifest["costs"]),
        digest_count=len(manifest["content"]),
    )
    write_text(output, page)


def _described(path: Path, root: Path) -> dict[str, object]:
    """What the page shows of one figure or table: its description, its picture or rows, links to its files."""
    about = json.loads(path.read_text(encoding="utf-8"))
    stem = path.with_suffix("")
    link = Path("..") / stem.relative_to(root)
    kind = path.parent.name
    shown = about | {
        "kind": kind,
        "name": stem.name,
        "study": path.parent.parent.name,
        "anchor": f"{path.parent.parent.name}-{kind}-{stem.name}",
    }
    if kind == "figures":
        picture = base64.b64encode(stem.with_suffix(".svg").read_bytes()).decode()
        return shown | {
            "picture": f"data:image/svg+xml;base64,{picture}",
            "links": [f"{link}.{suffix}" for suffix in ("svg", "png")],
        }
    frame = pd.read_csv(stem.with_suffix(".csv"), keep_default_na=False, na_values=[""])
    rows = [[_cell(value, about["digits"]) for value in row] for row in frame.itertuples(index=False)]
    return shown | {
        "columns": list(frame.columns),
        "rows": rows,
        "links": [f"{link}.{suffix}" for suffix in ("csv", "tex")],
    }


def _margin(text: str) -> str:
    """A margin as a reader takes it in: three digits, "exact" without any deviation, "none" without any agreement."""
    if not text:
        return ""
    margin = float(text)
    return "exact" if margin >= LARGEST_MARGIN else "none" if margin <= 1 / LARGEST_MARGIN else f"{margin:.3g}"


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}g}"
    return str(value)


def _data_of(claim: dict, files: Iterable[str]) -> list[str]:
    """Files behind a claim's datasets: one each, all variants of it, or the one that the studies share."""
    homes = {name: f"{claim['study']}/data/{name}" for name in claim["datasets"].split()}
    starts = [start for name, home in homes.items() for start in (f"{home}.nc", f"{home}/", f"data/{name}.nc")]
    return [file for file in files if file.startswith(tuple(starts))]


def _figures_of(shown: Iterable[dict]) -> dict[str, list[tuple[str, str]]]:
    """Claim id -> (anchor, title) of the figures that show it."""
    found: dict[str, list[tuple[str, str]]] = {}
    for one in shown:
        for id in one.get("claims", ()):
            found.setdefault(id, []).append((one["anchor"], one["title"]))
    return found
