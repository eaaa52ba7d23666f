"""A small synthetic run with hostile texts, in its state before the report."""

import csv
import json

import numpy as np
import pandas as pd
import xarray as xr

from repdyn.base import tables
from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.decisions import decide_claim
from repdyn.base.verdicts import Verdict, deviation
from repdyn.pipeline.report.build import Checkout
from repdyn.pipeline.run.kinds.manifest import build as build_manifest
from repdyn.plotting import figures

EVIL = """<!--<script>alert("1")</script> & 'quoted' "double" </td></figure>{{ 7 * 7 }} --> ω"""
STUDY = "x_study"
ORIGIN = {"code": "repdyn.base.files:sha256", "code_version": "c0de", "datasets": ["loss"]}
DATA = ("data/loss.nc", "data/training/bn.nc", "data/training/he.nc")
PAGE = f"""---
summary: {{claims: Losses $a^2$ fall., breaks: One <b> rises., survives: The others fall.}}
findings:
  x-thm1: {{figure: x_study/fig1, show: top, verdict: holds as corrected, headline: One <b>, sentence: Another <b>.}}
concept: {{question: Which?, formula: a^2, says: Square., figure: fig2}}
terms: {{fall: {{term: fall, says: "To rise, turned round."}}}}
chosen_after_looking: [{{chosen: The region, claims: [x-thm1]}}]
---
# Page

In short, {{{{x-thm1: how far}}}} and {{{{x-thm1: unheard of}}}}: [losses](claim:x-thm1) [fall](term:fall).

## More

![](fig2)

# Derivations and details

The derivation of <a id="x-thm1">`x-thm1`</a>: $a$. {EVIL}
"""
JOBS = {
    f"{STUDY}/figures": [f"{STUDY}/figures/fig1.svg", f"{STUDY}/figures/fig2.svg"],
    f"{STUDY}/claims": [f"{STUDY}/claims.csv"],
}


def _decided():
    """Rows of a claim with one check in ledger and evidence."""
    declared = claim(
        "x-thm1",
        where="Theorem 1",
        kind="identity",
        states="S.",
        control=false_world("one more", lambda loss: loss + 1),
    )
    check = declared(lambda loss: Verdict.from_tests(deviation(float(loss["r"]), 1, expected="0", reason="one")))
    decided = decide_claim(check, {"loss": xr.Dataset({"r": ((), 0.5)})})
    text = {name: str(value) for name, value in decided.ledger.items()}
    return text, {name: str(value) for name, value in decided.evidence[0].items()}


LEDGER_ROW, EVIDENCE_ROW = _decided()
CLAIM = LEDGER_ROW | {"study": STUDY, "origin": "paper", "verdict": "holds as corrected", "correction": "Another."}
CLAIM |= {"kind_of_slip": "result changes", "formula": r"a = \frac{1}{2}", "corrected_formula": r"a = \frac{1}{3}"}
CLAIM |= {"datasets": "loss training images", "code": "repdyn.x_study.claims:two", "code_version": "c0de"}
CLAIM |= {"expected_verdict": "holds as corrected", "change": "", "possible_ocr_error": "False"}
CLAIM |= {"facts": json.dumps({"how far": 0.12345})}
PART = EVIDENCE_ROW | {"study": STUDY, "form": "corrected", "value": "2.5"}
PART |= {"interval_low": "2.25", "interval_high": "2.75", "region_low": "2", "region_high": "3", "n": "24"}
TEXTS = (
    "where",
    "kind",
    "statement",
    "words",
    "assumes",
    "correction",
    "tolerance_reason",
    "control",
    "code",
    "sought",
    "defence",
    "answer",
    "remark",
    "why",
)
EMPTY = dict.fromkeys(
    ("correction", "formula", "corrected_formula", "margin", "datasets", "control", "kind_of_slip"), ""
)
CLAIMS = [
    CLAIM,
    CLAIM | dict.fromkeys(TEXTS, EVIL) | {"id": "x-evil", "change": "new claim", "formula": EVIL + r"\evil"},
    CLAIM | EMPTY | {"id": "x-exists", "verdict": "not testable"},
    CLAIM | EMPTY | {"id": "x-number", "kind": "published number", "verdict": "not reproducible as stated"},
    CLAIM | EMPTY | {"id": "x-ours", "origin": "ours", "verdict": "does not hold"},
]
EVIDENCE = [
    PART | {"form": "printed", "outcome": "fails", "value": "3"},
    PART,
    PART
    | {"id": "x-evil"}
    | {name: EVIL for name in ("part", "measured", "expected", "tolerance_reason") if name in PART},
    PART | {"id": "x-number", "form": "printed"},
]


def write_rows(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, dict.fromkeys(name for row in rows for name in row), restval="")
        writer.writeheader()
        writer.writerows(rows)


def _draw(stem, title):
    drawn, axes = figures.new()
    axes[0, 0].plot(np.arange(5), np.arange(5) ** 2)
    axes[0, 0].set_title(EVIL.replace("$", ""))
    described = figures.figure(title=title, caption=EVIL, alt=EVIL)(lambda: figures.Drawn(drawn, {EVIL: 0.25}))
    figures.save(described(), stem, ORIGIN)


def make_run(root, claims):
    """A results folder before the report; its files of figures and tables."""
    for name in (*(f"{STUDY}/{file}" for file in DATA), "data/images.nc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        attributes = {"title": EVIL, "experiment": "experiments:x", "code_version": "c0de", "paper": "A. Author, X."}
        xr.Dataset(attrs=attributes | {"settings": "{}"}).to_netcdf(root / name)
    _draw(root / STUDY / "figures" / "fig1", "Figure 1: " + EVIL)
    _draw(root / STUDY / "figures" / "fig2", "Figure 2")
    frame = pd.DataFrame({EVIL: ["none", "NA", EVIL], "value": [0.123456, np.nan, 2e-9], "count": [1, 20, 300]})
    tables.save(tables.Table(frame, title=EVIL, caption=EVIL, digits=3), root / STUDY / "tables" / "t1", ORIGIN)
    write_rows(root / "claims.csv", claims)
    write_rows(root / "evidence.csv", EVIDENCE)
    files = sorted(path for path in root.rglob("*.*") if path.parent != root)
    logs = root.parent / "logs" / root.name
    (logs / STUDY).mkdir(parents=True)
    cost = {"cpu_seconds": 90.0, "wall_seconds": 1.5, "peak_memory_mb": 80.0, "job": {"threads": 1}}
    record = cost | {"outputs": {path.as_posix(): "digest" for path in files}}
    (logs / STUDY / "figures.log.cost.json").write_text(json.dumps(record))
    settings = {"data": {"source": EVIL}, STUDY: {"width": 7, "depth": [2, 3]}}
    configuration = {"run": {"name": root.name, "seed": 1}} | settings
    content = [path.relative_to(root).as_posix() for path in files]
    build_manifest(content, root, logs, root, configuration, root / "manifest.json")
    return [path for path in files if path.parent.name in ("figures", "tables")]


def make_checkout(folder):
    """A checkout as far as the report reads it; the study has a page with hostile words."""
    (folder / "x").mkdir(parents=True, exist_ok=True)
    (folder / "x/page.md").write_text(PAGE, encoding="utf-8")
    return Checkout(folder, JOBS, {STUDY: folder / "x"})
