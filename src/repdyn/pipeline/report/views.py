"""Content of the pages of studies and claims, from the contents of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from repdyn.base.declarations import Explorer
from repdyn.base.facts import shown_facts
from repdyn.base.verdicts import DECIDED, DEPENDS, OUTCOMES, STATUSES, UNDECIDED
from repdyn.pipeline import open_claims, studies
from repdyn.pipeline.report import evidence, readings
from repdyn.pipeline.report.contents import Contents, Product, Row
from repdyn.pipeline.report.errata import errata as errata_of
from repdyn.pipeline.report.errata import severities
from repdyn.pipeline.report.evidence import Part
from repdyn.pipeline.report.notes import Notes
from repdyn.pipeline.report.readings import Curve
from repdyn.pipeline.report.texts import TERMS
from repdyn.pipeline.run.execute.records import Record
from repdyn.pipeline.run.kinds.ledger import overlay

PROVED = ("identity", "bound", "limit")
"""Kinds of statements with a derivation."""

SPELLED = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
MOST_CLAIMS = 12  # a figure of more claims is an overview and shows none of them clearly


Shown = dict[str, Any]
"""What a template shows, by the names that it uses."""


def counts(claims: Iterable[Row]) -> list[tuple[str, int]]:
    """How many claims have each verdict, all verdicts in their order."""
    counted = Counter(claim["verdict"] for claim in claims)
    return [(status, counted[status]) for status in STATUSES]


def heading(claims: Sequence[Row], titles: Mapping[str, str], subject: str = "") -> str:
    """The first page's headline; `titles` are those of the studies, `subject` follows the word "papers"."""
    studied = list(dict.fromkeys(claim["study"] for claim in claims))
    if len(studied) == 1:
        return f"{titles[studied[0]]}, tested numerically"
    papers = len({claim["study"] for claim in claims if claim["origin"] != "ours"})
    count = SPELLED[papers] if papers < len(SPELLED) else str(papers)
    return f"{count} paper{'' if papers == 1 else 's'}{subject}, tested numerically"


def tally(claims: Sequence[Row]) -> str:
    """The verdicts of the papers' statements in one sentence."""
    number = dict(counts(claims))
    rest = len(claims) - sum(number[status] for status in (*DECIDED, DEPENDS))
    parts = (
        (number["holds"], "holds", "hold", " as printed"),
        (number["holds as corrected"], "holds", "hold", " once corrected"),
        (number["does not hold"], "does", "do", " not hold"),
        (number[DEPENDS], "depends", "depend", " on how the words are read"),
        (rest, "stays", "stay", " open"),
    )
    return ", ".join(f"{count} {one if count == 1 else many}{words}" for count, one, many, words in parts if count)


def study(
    name: str,
    title: str,
    explorer: Explorer | None,
    contents: Contents,
    notes: Notes,
    larger: Mapping[str, Mapping[str, str]],
) -> Shown:
    """Content of the page of a study, except settings; `larger` are the verdicts of the reference runs."""
    claims, figures = contents.claims_of(name), contents.products_of(name, "figures")
    still = next((figure for figure in figures if explorer and figure.name == explorer.still), None)
    errata = errata_of(claims, contents.run, larger)
    published = [claim for claim in claims if claim["kind"] == "published number"]
    own = [claim for claim in claims if claim["origin"] != "ours"]
    return {
        "name": name,
        "title": title,
        "paper": contents.paper(name),
        "notes": notes,
        "claims": claims,
        "counts": counts(own or claims),
        "own": len(own),
        "theory": {"title": explorer.title, "says": explorer.says, "still": still} if explorer else None,
        "figures": figures,
        "tables": contents.products_of(name, "tables"),
        "published": [(claim, _decisive(claim, contents)) for claim in published],
        "errata": errata,
        "severities": [(slip, count) for slip, count in severities(claims) if count],
        "first_failure": lambda claim: _worst(contents.evidence[claim["id"]], "printed"),
        "corrected_numbers": lambda claim: _worst(contents.evidence[claim["id"]], "corrected"),
        "data": contents.data.get(name, []),
    }


def claim(row: Row, contents: Contents, notes: Notes, chosen: Product | None = None) -> Shown:
    """Content of the page of a claim; `chosen` is its assigned figure, if any."""
    own = [product for product in contents.products if product.claim == row["id"]]
    figures = [figure for figure in contents.figures_of(row) if figure not in own]
    few = (figure for figure in figures if len(contents.claims_on(figure)) <= MOST_CLAIMS)
    leading = None if own else chosen or next(few, None)
    rows = contents.evidence[row["id"]]
    printed, corrected = forms(row, rows)
    decisive = corrected or printed
    curves = readings.curves([part for part in rows if part["form"] == "printed" or corrected])
    return {
        "claim": row,
        "corrected": row["correction"],
        "printed_parts": printed,
        "corrected_parts": corrected,
        "short": short(row, printed, corrected, curves),
        "checked": checked(row, decisive),
        "wants": _wants(row, contents),
        "facts": shown_facts(json.loads(row["facts"] or "{}")),
        "curves": curves,
        "control": _unshown_control(row, [*printed, *corrected]),
        "explained": explained([*printed, *corrected], curves),
        "reasons": _reasons(decisive),
        "samples": _samples(row),
        "own": own,
        "leading": leading,
        "figures": [figure for figure in figures if figure != leading],
        "passage": notes.passages.get(row["id"], ""),
        "passage_title": passage_title(row),
        "data": contents.files_of(row["study"], row["datasets"].split()),
        "job": contents.jobs.get(f"{row['study']}/claims.csv", ""),
        "command": _command(contents.run, row["study"]),
    }


def forms(row: Row, rows: Sequence[Row]) -> tuple[list[Part], list[Part]]:
    """The parts of the printed and of the correct form of a claim.

    A claim that is not refuted has no correct form; while it is open, a correction may be tested.
    """
    has_correction = bool(row["correction"]) or row["verdict"] == UNDECIDED
    return evidence.parts(rows, "printed"), evidence.parts(rows, "corrected") if has_correction else []


def passage_title(row: Row) -> str:
    """Title of the notes on a claim: its derivation, or what was measured and why."""
    is_sampled = row["n"] not in ("", "0")
    if row["kind"] in PROVED or (not is_sampled and (row["formula"] or row["kind"] == "scaling")):
        return "Derivation"
    return "What was measured, and why"


def short(row: Row, printed: Sequence[Part], corrected: Sequence[Part], curves: Sequence[Curve] = ()) -> str:
    """A claim's verdict in a few sentences, with the decisive choice if it depends on the reading."""
    verdict = row["verdict"]
    sentences = {
        "holds": f"The statement passes {_all(printed)}.",
        "holds as corrected": f"As printed it fails {_share(printed, 'fails')}; the correct form passes "
        f"{_all(corrected)}.",
        "does not hold": f"It fails {_share(printed, 'fails')}, and no small correction fixes it.",
        "depends on the reading": " ".join(
            ["Some plausible readings of the sentence pass, others fail.", *_turns_on(curves)]
        ),
        "not decidable at this scale": _open(row, corrected or printed),
        "not reproducible as stated": "The paper leaves out settings that this needs.",
        "not testable": "No finite computation decides it.",
        "check failed": "The check ended with an error, so there is no verdict.",
    }
    return " ".join(filter(None, [sentences[verdict], checked(row, corrected or printed)]))


def _turns_on(curves: Sequence[Curve]) -> list[str]:
    """The decisive choices of each part; once if they are the same for all."""
    if len(said := {curve.turns_on for curve in curves}) == 1:
        return list(filter(None, said))
    return [f"Of “{curve.part}”: {curve.turns_on}" for curve in curves if curve.turns_on]


def checked(row: Row, parts: Sequence[Part]) -> str:
    """Outcome of the controls of the parts that decide a claim, in a sentence."""
    outcomes = [part.control["outcome"] for part in parts if part.control]
    if not outcomes:
        return ""
    noticed = sum(outcome == "rejected" for outcome in outcomes)
    if row["verdict"] == "does not hold":
        share = "" if len(outcomes) == 1 else f" in {noticed} of {len(outcomes)} controls"
        taken = "accepted" if noticed else "not accepted"
        return f"Data for which the claim is true were {taken}{share}."
    if len(outcomes) == 1:
        return f"Its negative control was {outcomes[0]}."
    if noticed < len(outcomes):
        return f"{noticed} of {len(outcomes)} negative controls were rejected."
    return f"{'Both' if noticed == 2 else f'All {noticed}'} negative controls were rejected."


def explained(parts: Sequence[Part], curves: Sequence[Curve]) -> list[str]:
    """Names of the terms of the report that the evidence of a claim uses."""
    kinds = [part.control["kind"].replace(" ", "-") for part in parts if part.control]
    used = {"margin": any(part.margin for part in parts), "control": bool(kinds), "reading": bool(curves)}
    used |= {"interval": any("interval" in part.qualifier + part.measured for part in parts)}
    return [name for name in TERMS if used.get(name, name in kinds)]


def costs(records: Iterable[Record], titles: Mapping[str, str]) -> list[tuple[str, int, float, float]]:
    """Jobs, core-minutes and peak memory of each study; shared jobs last."""
    by_study: dict[str, list[Record]] = {}
    for record in records:
        study, _, job = record["log"].partition("/")
        by_study.setdefault(study if job else "", []).append(record)
    return [
        (
            titles.get(name, name) or "all studies",
            len(own),
            sum(record["cpu_seconds"] for record in own) / 60,
            max(record["peak_memory_mb"] for record in own),
        )
        for name, own in sorted(by_study.items(), key=lambda pair: (not pair[0], pair[0]))
    ]


def _decisive(row: Row, contents: Contents) -> list[Part]:
    printed, corrected = forms(row, contents.evidence[row["id"]])
    return corrected or printed


def _wants(row: Row, contents: Contents) -> str:
    """What would decide an open claim, as in `python -m repdyn decide`."""
    if row["verdict"] != UNDECIDED or row["study"] not in studies.declared():
        return ""
    settings = contents.manifest["configuration"].get(row["study"], {})
    return open_claims.wanted(row, contents.evidence[row["id"]], settings).says


def _worst(rows: Iterable[Row], form: str) -> Markup:
    """The decisive part of a form: measured and required value."""
    own = (row for row in rows if row["form"] == form and not row["reading"])
    parts = sorted(own, key=lambda row: OUTCOMES.index(row["outcome"]))
    if not parts:
        return Markup("nothing")
    shown = evidence.part(parts[0])
    qualifier = shown.qualifier + " " if shown.qualifier and "interval" not in shown.qualifier else ""
    required = Markup(", required: {}").format(shown.required) if shown.required else ""
    return qualifier + shown.measured + required


def _all(parts: Sequence[Part]) -> str:
    return f"all {len(parts)} parts" if len(parts) > 2 else "both parts" if len(parts) == 2 else "its check"


def _share(parts: Sequence[Part], outcome: str) -> str:
    count = sum(part.outcome == outcome for part in parts)
    return f"{count} of {len(parts)} parts of its check" if len(parts) > 1 else "its check"


def _open(row: Row, parts: Sequence[Part]) -> str:
    undecided = [part for part in parts if part.outcome == "undecided"]
    why = " The reason is below." if row.get("why") else ""
    if not undecided:
        return f"This run does not decide it.{why}"
    crossing = sum(part.crosses for part in undecided)
    if crossing < len(undecided):
        kept = f"{len(undecided)} of {len(parts)} parts stay" if len(parts) > 1 else "Its one part stays"
        return f"{kept} undecided.{why}"
    if len(parts) == 1:
        return "It stays undecided: the interval crosses the boundary of the allowed region."
    return f"{crossing} of {len(parts)} parts stay undecided: their intervals cross the boundary of the allowed region."


def _reasons(parts: Sequence[Part]) -> list[tuple[Markup, str]]:
    """Each reason for a region with the names of its parts."""
    names: dict[Markup, list[str]] = {}
    for part in parts:
        if part.reason:
            names.setdefault(part.reason, []).append(part.name)
    return [(reason, ", ".join(filter(None, own)) if len(names) > 1 else "") for reason, own in names.items()]


def _samples(row: Row) -> str:
    if row["n"] in ("", "0"):
        return ""
    alarm = float(row["false_alarm"] or 0)
    chance = f", chance to refute a true statement {alarm:.2g}" if alarm else ""
    fixed = "number and chance were fixed beforehand" if chance else "a number fixed beforehand"
    return f"n = {row['n']} independent samples{chance}; {fixed}."


def _unshown_control(row: Row, parts: Sequence[Part]) -> str:
    """The negative control of a corrected form that the page omits, as when readings disagree; else ""."""
    if not row["control"] or any(part.control for part in parts):
        return ""
    says = "; ".join(dict.fromkeys(row["control"].split("; ")))
    return f"Negative control, tried on a corrected form that is not shown: {says}. It was {row['control_outcome']}."


def _command(run: str, study: str) -> str:
    option = overlay(run)
    return f"snakemake --cores 1{option}{' --' if option else ''} results/{run}/{study}/claims.csv"
