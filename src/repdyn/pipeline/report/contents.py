"""Contents of a run as the report reads them: ledger, evidence, manifest, figures, tables, datasets."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypedDict

import netCDF4
import pandas as pd

from repdyn.base.errors import DataError
from repdyn.base.facts import shown_facts
from repdyn.base.tables import read_cells, rows
from repdyn.pipeline import studies
from repdyn.pipeline.kept_runs import Manifest, read_manifest
from repdyn.pipeline.run.declare.graph import read_study

SHOWN = ("figures", "tables")
LARGEST_PICTURE = 1_000_000  # bytes; a larger vector graphic is shown as its bitmap, so that pages open quickly
NUMBER = re.compile(r"(figure|fig\.|table) *(\d+)", re.IGNORECASE)
Row = Mapping[str, str]


class Attributes(TypedDict):
    """Attributes of a dataset's file."""

    title: str
    experiment: str
    code_version: str
    paper: str
    settings: str


class DatasetFile(Attributes):
    """A dataset of a run: its file in the results, its digest, the job that created it."""

    file: str
    digest: str
    job: str


@dataclass(frozen=True)
class Product:
    """A figure or a table: its files, its place in the report, its origin.

    Attributes:
        study: its study.
        kind: "figures" or "tables".
        name: its name.
        title: what it shows, with the number in the paper, if any.
        caption: its caption.
        alt: alternative text of a figure.
        facts: its named numbers, formatted.
        datasets: names of the datasets it shows.
        files: its files, inside the run's results.
        picture: a figure's picture in the report; "" for a table.
        source: the picture's file.
        size: width and height of the picture, which reserve its place before it is loaded.
        columns: a table's columns.
        rows: a table's cells as text.
        code: the function that made it.
        code_version: its code version.
        job: the job that ran it.
        claim: the claim whose page shows it, the only one on its data; "" where the study's page does.
    """

    study: str
    kind: str
    name: str
    title: str
    caption: str
    alt: str
    facts: Mapping[str, str]
    datasets: tuple[str, ...]
    files: tuple[str, ...]
    picture: str
    source: Path
    size: tuple[int, int]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    code: str
    code_version: str
    job: str
    claim: str = ""

    @property
    def page(self) -> str:
        """Where the report shows it."""
        return f"{f'claims/{self.claim}' if self.claim else f'studies/{self.study}'}.html#{self.name}"

    @property
    def numbers(self) -> str:
        """Its numbers as CSV, in the run's results."""
        return f"{self.study}/{self.kind}/{self.name}.csv"


@dataclass(frozen=True)
class Contents:
    """A run.

    Attributes:
        ledger: the claims, in the order of the papers.
        evidence: claim -> its rows of evidence.
        manifest: content of the manifest.
        products: figures and tables, in the order of the papers.
        jobs: file in the results -> name of the job that creates it.
        root: folder of the results.
    """

    ledger: Sequence[Row]
    evidence: Mapping[str, Sequence[Row]]
    manifest: Manifest
    products: Sequence[Product]
    jobs: Mapping[str, str]
    root: Path

    @property
    def run(self) -> str:
        """Name of the run."""
        return str(self.manifest["configuration"]["run"]["name"])

    @property
    def studies(self) -> list[str]:
        """Studies with claims, figures or tables."""
        return list(dict.fromkeys([*(row["study"] for row in self.ledger), *(item.study for item in self.products)]))

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Claim -> its row of the ledger."""
        return {row["id"]: row for row in self.ledger}

    def claims_of(self, study: str) -> list[Row]:
        """A study's rows of the ledger."""
        return [row for row in self.ledger if row["study"] == study]

    def products_of(self, study: str, kind: str) -> list[Product]:
        """A study's figures or tables."""
        return [product for product in self.products if (product.study, product.kind) == (study, kind)]

    def figures_of(self, claim: Row) -> list[Product]:
        """Figures of a dataset that the claim reads: of its place in the paper first, then those of fewest claims."""
        figures = self.products_of(claim["study"], "figures")
        shared = [figure for figure in figures if set(figure.datasets) & set(claim["datasets"].split())]
        return sorted(
            shared, key=lambda figure: (not same_number(figure.title, claim["where"]), len(self.claims_on(figure)))
        )

    def claims_on(self, product: Product) -> list[Row]:
        """Claims that read a dataset of a figure or table, those of the same number in the paper first."""
        return sorted(
            _on_data_of(product, self.ledger), key=lambda claim: not same_number(product.title, claim["where"])
        )

    def files_of(self, study: str, names: Iterable[str]) -> list[str]:
        """Files of datasets: one each, all variants, or the shared one."""
        starts = tuple(
            start for name in names for start in (f"{study}/data/{name}.nc", f"{study}/data/{name}/", f"data/{name}.nc")
        )
        return [file for file in self.manifest["content"] if file.startswith(starts)] if starts else []

    @cached_property
    def data(self) -> dict[str, list[DatasetFile]]:
        """Study -> its datasets: content, origin, digest."""
        datasets: dict[str, list[DatasetFile]] = defaultdict(list)
        for file, digest in self.manifest["content"].items():
            study, _, name = file.partition("/data/")
            if name:
                about = _attributes(self.root / file)
                datasets[study].append({**about, "file": file, "digest": digest, "job": self.jobs.get(file, "")})
        return dict(datasets)

    def paper(self, study: str) -> str:
        """The paper that a study is about, as its datasets name it."""
        return next((data["paper"] for data in self.data.get(study, ()) if data["paper"]), "")


def same_number(title: str, where: str) -> bool:
    """Whether a title and a claim's place name the same figure or table of the paper."""
    return bool(_numbers(title) & _numbers(where))


def _numbers(text: str) -> set[tuple[str, str]]:
    return {(kind[:3].lower(), number) for kind, number in NUMBER.findall(text)}


def read(root: Path, files: Iterable[Path], outputs: Mapping[str, Sequence[str]]) -> Contents:
    """Reads a run.

    Args:
        root: the run's results folder, with `claims.csv`, `evidence.csv` and `manifest.json`.
        files: files of figures and tables, among others; each is described by a JSON file among them.
        outputs: job -> files it creates in the run's results.
    """
    jobs = {file: job for job, paths in outputs.items() for file in paths}
    evidence: dict[str, list[Row]] = defaultdict(list)
    for row in rows(read_cells(root / "evidence.csv")):
        evidence[row["id"]].append(row)
    described = [path for path in map(Path, files) if path.suffix == ".json" and path.parent.name in SHOWN]
    products = [_product(path, root, jobs) for path in described]
    ledger = rows(read_cells(root / "claims.csv"))
    placed = [
        replace(product, claim=claims[0]["id"]) if len(claims := _on_data_of(product, ledger)) == 1 else product
        for product in _sorted(products)
    ]
    return Contents(ledger, evidence, read_manifest(root), placed, jobs, root)


def _on_data_of(product: Product, ledger: Iterable[Row]) -> list[Row]:
    """Claims of its study that read a dataset of a figure or table."""
    own = (claim for claim in ledger if claim["study"] == product.study)
    return [claim for claim in own if set(product.datasets) & set(claim["datasets"].split())]


def _sorted(products: Sequence[Product]) -> list[Product]:
    """In the order of each paper if the study declares it; others unchanged."""
    order: dict[tuple[str, str, str], int] = {}
    for study in dict.fromkeys(product.study for product in products):
        if study in studies.declared():
            graph = read_study(study)
            named = [(study, kind, name) for kind in SHOWN for name in getattr(graph, kind)]
            order |= {key: place for place, key in enumerate(named)}
    return sorted(products, key=lambda product: order.get((product.study, product.kind, product.name), len(order)))


def _product(path: Path, root: Path, jobs: Mapping[str, str]) -> Product:
    try:
        return _described(path, root, jobs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: damaged, or a file beside it ({error}); delete it and run the command again"
        ) from error


def _described(path: Path, root: Path, jobs: Mapping[str, str]) -> Product:
    about = json.loads(path.read_text(encoding="utf-8"))
    stem, kind, study = path.with_suffix(""), path.parent.name, path.parent.parent.name
    inside = stem.relative_to(root).as_posix()
    suffixes = ("svg", "png", "csv") if kind == "figures" else ("csv", "tex")
    source = _picture(stem) if kind == "figures" else Path()
    columns, rows = _cells(stem, about["digits"]) if kind == "tables" else ((), ())
    return Product(
        study=study,
        kind=kind,
        name=stem.name,
        title=about["title"],
        caption=about["caption"],
        alt=about.get("alt", ""),
        facts=shown_facts(about["facts"]),
        datasets=tuple(about.get("datasets", ())),
        files=tuple(f"{inside}.{suffix}" for suffix in suffixes),
        picture=f"figures/{study}/{source.name}" if kind == "figures" else "",
        source=source,
        size=_size(source) if kind == "figures" else (0, 0),
        columns=columns,
        rows=rows,
        code=about.get("code", ""),
        code_version=about.get("code_version", ""),
        job=jobs.get(f"{inside}.{suffixes[0]}", ""),
    )


def _picture(stem: Path) -> Path:
    vector = stem.with_suffix(".svg")
    return vector if vector.stat().st_size <= LARGEST_PICTURE else stem.with_suffix(".png")


def _size(picture: Path) -> tuple[int, int]:
    """Width and height: of a vector graphic from its header, of a bitmap in pixels."""
    head = picture.read_bytes()[:4000]
    if picture.suffix == ".png":
        return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    width, height = (re.search(rb' %b="([\d.]+)pt"' % name, head) for name in (b"width", b"height"))
    if not width or not height:
        raise DataError(f"{picture}: no width and height in points at its head; delete it and run again")
    return round(float(width[1])), round(float(height[1]))


def _cells(stem: Path, digits: int) -> tuple[list[str], list[list[str]]]:
    frame = pd.read_csv(stem.with_suffix(".csv"), keep_default_na=False, na_values=[""])
    return list(frame.columns), [[_cell(value, digits) for value in row] for row in frame.itertuples(index=False)]


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}g}"
    return str(value)


def _attributes(path: Path) -> Attributes:
    try:
        with netCDF4.Dataset(path) as opened:
            return {
                "title": opened.getncattr("title"),
                "experiment": opened.getncattr("experiment"),
                "code_version": opened.getncattr("code_version"),
                "paper": opened.getncattr("paper"),
                "settings": opened.getncattr("settings"),
            }
    except (OSError, AttributeError) as error:
        raise DataError(f"{path}: not a dataset of this pipeline ({error}); delete it and run again") from error
