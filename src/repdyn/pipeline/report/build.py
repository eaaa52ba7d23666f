"""The report of a run: one HTML file with the ledger, errata, figures, tables, derivations, costs; opens offline."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import netCDF4
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from repdyn.base.claims import REFUTED
from repdyn.base.errors import DataError
from repdyn.base.files import write_text
from repdyn.base.verdicts import LARGEST_MARGIN, STATUSES
from repdyn.pipeline.report import listings
from repdyn.pipeline.report.markup import Page, mathml, page

SHOWN = ("figures", "tables")
TITLES = {
    "bn_decomposed": "Batch Normalization Decomposed",
    "truncation_flow": "Effective gradient flow and dynamical truncation",
    "bn_mean_field": "Riemannian mean field for two-layer networks with batch normalization",
    "leaky_resnets": "Hamiltonian mechanics of Leaky ResNets",
    "universality": "Universality in representation learning dynamics",
    "diagnostics": "The diagnostics of all papers on an own network",
    "across_papers": "Across the papers: four networks, three questions",
}
MEANINGS = {
    "holds": "The statement as printed passed its check.",
    "holds as corrected": "The printed form was refuted and the corrected form passed; both stand with their numbers.",
    "does not hold": "Refuted, and no small correction repairs it.",
    "not reproducible as stated": "The paper leaves out settings; the note says what was tried.",
    "not testable": "No finite computation decides it (existence, subsequences); the note says why.",
    "not decidable at this scale": "The samples of this run are too few; a larger scale decides it.",
}
WARNINGS = {
    "smoke": "Sizes are cut to seconds: figures show the form, not the result, and sampled claims may be undecided.",
    "default": "Sized for a laptop: the papers' own sizes where they fit, else smaller; each caption says its own.",
    "full": "The papers' own sizes, with as many trials as decide each claim.",
}
LARGEST_PICTURE = 150_000  # bytes; a vector graphic above it is shown as its bitmap, so that the page stays small
Row = dict[str, object]
Scale = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Source:
    """What the report takes from the checkout.

    Attributes:
        workflow: folder of the checkout, with `docs/<study>.md` and `workflow/rules/*.smk`.
        makers: rule -> files it makes, inside the run's results, wildcards in braces.
        scale: dotted key -> (value of this run, the papers' own), where they differ.
    """

    workflow: Path = Path()
    makers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scale: Scale = field(default_factory=dict)


def build(root: Path, files: Iterable[Path], output: Path, source: Source) -> None:
    """Writes the report, and beside it the captions for Snakemake's own.

    Args:
        root: the run's results folder, with `claims.csv` and `manifest.json`.
        files: files of figures and tables, in the order of the papers, whose JSON files describe them; others in
            between are passed over.
        output: HTML file; figures are inside it, data is linked relative to it.
        source: what is shown of the checkout.
    """
    ledger = pd.read_csv(root / "claims.csv", keep_default_na=False, dtype=str).to_dict("records")
    manifest = json.loads((root / "manifest.json").read_text(encoding="utf-8"))
    rules = listings.rules(sorted((source.workflow / "workflow" / "rules").glob("*.smk")))
    source = replace(source, makers={rule: made for rule, made in source.makers.items() if rule in rules})
    shown = [_described(path, root, manifest["content"], source) for path in map(Path, files) if _is_shown(path)]
    names = list(dict.fromkeys(str(one["study"]) for one in [*ledger, *shown]))  # a room above may claim nothing
    pages = {name: _page(name, ledger, source.workflow) for name in names}
    claims = [_claim(claim, shown, manifest["content"], pages[claim["study"]], source) for claim in ledger]
    rendered = _template().render(
        run=manifest["configuration"]["run"],
        claims=claims,
        kinds=sorted({claim["kind"] for claim in claims}),
        counts=_counts(claims),
        meanings=MEANINGS,
        warning=WARNINGS.get(manifest["configuration"]["run"]["name"], ""),
        scale=len(source.scale),
        changes=[claim for claim in claims if claim["change"]],
        verdicts={claim["id"]: claim["verdict"] for claim in claims},
        studies=[
            _study(name, claims, shown, pages[name], _data(name, root, manifest, source), source) for name in names
        ],
        manifest=manifest,
        costs=_costs(manifest["costs"]),
        total_cpu=sum(record["cpu_seconds"] for record in manifest["costs"]),
        rules={name: rules[name] for name in source.makers},
    )
    write_captions(shown, output.parent / "captions")
    write_text(output, rendered)


def write_captions(shown: Iterable[Row], folder: Path) -> None:
    """Title and caption of every figure and table as reStructuredText, for `snakemake --report`."""
    for one in shown:
        title, caption = (_plain_rst(str(one[part])) for part in ("title", "caption"))
        write_text(folder / str(one["study"]) / str(one["kind"]) / f"{one['name']}.rst", f"**{title}**\n\n{caption}\n")


def _plain_rst(text: str) -> str:
    """Text that neither reStructuredText nor the template engine before it takes for markup."""
    marked = re.sub(r"([\\*`|_:<>\[\]])", r"\\\1", " ".join(text.split()))
    return re.sub(r"[{}]+", lambda braces: '{{ "' + braces[0] + '" }}', marked)


def _template() -> Template:
    loader = PackageLoader("repdyn.pipeline.report", "page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["margin"] = _margin
    for name, file in (("style", "report.css"), ("script", "report.js")):
        environment.globals[name] = Markup(loader.get_source(environment, file)[0])
    return environment.get_template("report.html.j2")


def _page(study: str, ledger: Iterable[Row], workflow: Path) -> Page:
    path = workflow / "docs" / f"{study}.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return page(text, study, {str(claim["id"]) for claim in ledger})


def _study(name: str, claims: list[Row], shown: list[Row], told: Page, data: list[Row], source: Source) -> Row:
    """What the page tells of one study."""
    own = [claim for claim in claims if claim["study"] == name]
    return {
        "name": name,
        "title": TITLES.get(name, name),
        "paper": next((one["paper"] for one in data if one["paper"]), ""),
        "claims": own,
        "counts": _counts(own),
        "figures": [one for one in shown if one["study"] == name and one["kind"] == "figures"],
        "tables": [one for one in shown if one["study"] == name and one["kind"] == "tables"],
        "errata": [claim for claim in own if claim["verdict"] in REFUTED],
        "published": [claim for claim in own if claim["kind"] == "published number"],
        "settings": told.settings,
        "page": told.html,
        "data": data,
        "scale": {key: values for key, values in source.scale.items() if key.split(".")[0] in (name, "data")},
    }


def _claim(claim: Row, shown: Iterable[Row], files: Iterable[str], told: Page, source: Source) -> Row:
    """A row of the ledger with its tests, formulas, and what it links to."""
    return claim | {
        "tests": _tests(claim),
        "printed": mathml(claim["formula"]) if claim["formula"] else "",
        "corrected": mathml(claim["corrected_formula"]) if claim["corrected_formula"] else "",
        "figures": [(one["anchor"], one["title"]) for one in shown if claim["id"] in one.get("claims", ())],
        "data": _data_of(claim["study"], claim["datasets"].split(), files),
        "derived": claim["id"] in told.claims,
        "listing": listings.function(claim["code"]),
        "rule": listings.maker(f"{claim['study']}/claims.csv", source.makers),
    }


def _tests(claim: Row) -> list[Row]:
    """The forms that were tested, each with what came out: printed, corrected, negative control."""
    printed = [claim[f"printed_{part}"] for part in ("measured", "expected", "margin")]
    decisive = [claim[part] for part in ("measured", "expected", "margin")]
    forms = [("as printed", *printed)] + ([("as corrected", *decisive)] if decisive[:2] != printed[:2] else [])
    tests = [
        {"form": form, "measured": measured, "asked": asked, "margin": _margin(margin)}
        | {"outcome": {"fails": "refuted"}.get(_outcome(margin), _outcome(margin))}
        for form, measured, asked, margin in forms
        if measured
    ]
    if claim["control_measured"]:
        asked = "to pass" if claim["verdict"] == "does not hold" else "to be rejected"
        tests.append(
            {"form": f"negative control: {claim['control']}", "measured": claim["control_measured"], "asked": asked}
            | {"margin": _margin(claim["control_margin"])}
            | {
                "outcome": {"fails": "rejected"}.get(
                    _outcome(claim["control_margin"]), _outcome(claim["control_margin"])
                )
            }
        )
    return tests


def _outcome(margin: str) -> str:
    value = float(margin or 1)
    return "passes" if value > 1 else "fails" if value < 1 else "undecided"


def _is_shown(path: Path) -> bool:
    return path.suffix == ".json" and path.parent.name in SHOWN


def _described(path: Path, root: Path, files: Iterable[str], source: Source) -> Row:
    """What the page shows of one figure or table: its description, its picture or rows, links to its files."""
    about = json.loads(path.read_text(encoding="utf-8"))
    stem, kind, study = path.with_suffix(""), path.parent.name, path.parent.parent.name
    inside = stem.relative_to(root).as_posix()
    suffixes = ("svg", "png") if kind == "figures" else ("csv", "tex")
    common = about | {
        "kind": kind,
        "name": stem.name,
        "study": study,
        "anchor": f"{study}-{kind}-{stem.name}",
        "links": [f"../{inside}.{suffix}" for suffix in suffixes],
        "data": _data_of(study, about.get("datasets", ()), files),
        "rule": listings.maker(f"{inside}.{suffixes[0]}", source.makers),
        "code": about.get("code", ""),
        "code_version": about.get("code_version", ""),
        "listing": listings.function(about.get("code", "")),
    }
    return common | (_picture(stem) if kind == "figures" else _rows(stem, about["digits"]))


def _picture(stem: Path) -> Row:
    """The figure as a data address: its vector graphic, or where that is large its bitmap."""
    vector = stem.with_suffix(".svg").read_bytes()
    kind, content = "svg+xml", vector
    if len(vector) > LARGEST_PICTURE:
        kind, content = "png", stem.with_suffix(".png").read_bytes()
    return {"picture": f"data:image/{kind};base64,{base64.b64encode(content).decode()}"}


def _rows(stem: Path, digits: int) -> Row:
    frame = pd.read_csv(stem.with_suffix(".csv"), keep_default_na=False, na_values=[""])
    rows = [[_cell(value, digits) for value in row] for row in frame.itertuples(index=False)]
    return {"columns": list(frame.columns), "rows": rows}


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.{digits}g}"
    return str(value)


def _margin(text: str) -> str:
    """A margin as a reader takes it in: three digits, "exact" without any deviation, "none" without any agreement."""
    if not text:
        return ""
    margin = float(text)
    return "exact" if margin >= LARGEST_MARGIN else "none" if margin <= 1 / LARGEST_MARGIN else f"{margin:.3g}"


def _data_of(study: str, names: Iterable[str], files: Iterable[str]) -> list[str]:
    """Files behind datasets: one each, all variants of it, or the one that the studies share."""
    starts = tuple(
        start for name in names for start in (f"{study}/data/{name}.nc", f"{study}/data/{name}/", f"data/{name}.nc")
    )
    return [file for file in files if file.startswith(starts)] if starts else []


def _data(study: str, root: Path, manifest: Row, source: Source) -> list[Row]:
    """The study's datasets: what each holds, what made it, its digest."""
    files = [file for file in manifest["content"] if file.startswith(f"{study}/data/")]
    return [
        _attributes(root / file)
        | {"file": file, "digest": manifest["content"][file], "rule": listings.maker(file, source.makers)}
        for file in files
    ]


def _attributes(path: Path) -> Row:
    try:
        with netCDF4.Dataset(path) as opened:
            return {name: opened.getncattr(name) for name in ("title", "experiment", "code_version", "paper")}
    except (OSError, AttributeError) as error:
        raise DataError(f"{path}: not a dataset of this pipeline ({error}); delete it and run again") from error


def _counts(claims: Iterable[Row]) -> list[tuple[str, int]]:
    counted = Counter(claim["verdict"] for claim in claims)
    return [(status, counted[status]) for status in STATUSES]


def _costs(records: Iterable[Row]) -> list[tuple[str, int, float, float]]:
    """Jobs, core-minutes and peak memory of each study; what serves all comes last."""
    by_study: dict[str, list[Row]] = {}
    for record in records:
        by_study.setdefault(str(record["study"]), []).append(record)
    return [
        (
            TITLES.get(name, name) or "shared by all",
            len(own),
            sum(one["cpu_seconds"] for one in own) / 60,
            max(one["peak_memory_mb"] for one in own),
        )
        for name, own in sorted(by_study.items(), key=lambda pair: (not pair[0], pair[0]))
    ]
