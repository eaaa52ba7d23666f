"""The claims ledger: all studies' claims in one table, compared with the accepted verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypedDict

import pandas as pd

from repdyn.base.errors import ConfigError, DataError
from repdyn.base.facts import shown_facts
from repdyn.base.tables import read_cells, write_csv
from repdyn.base.verdicts import DECIDED, STATUSES, UNDECIDED
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.run.declare.jobs import Member


class Entry(TypedDict):
    """An accepted verdict, and the runs in which the claim may be undecided."""

    verdict: str
    undecided_at: list[str]


Accepted = Mapping[str, Entry]
SCALES = ("smoke", "full", "paper")  # runs with an overlay in workflow/scales
SHOWN = (
    *("id", "study", "where", "kind", "statement", "verdict", "change", "correction", "possible_ocr_error"),
    *("printed_measured", "printed_expected", "printed_margin", "measured", "expected", "margin"),
    *("tolerance_reason", "n", "control", "control_outcome", "control_margin", "facts", "why"),
)


def run(member: Member, results: Path, _trials: object) -> None:
    """Joins the studies' ledgers and their evidence.

    Raises:
        DataError: a study's file is cut off within a line, where missing cells would pass for empty ones.
    """
    parts = [results / path for path in member["inputs"]]
    if cut := [str(part) for part in parts if not part.read_bytes().endswith(b"\n")]:
        raise DataError(f"{cut[0]}: cut off within a line; delete it and run the same command again")
    ledger, evidence = (results / path for path in member["outputs"])
    build([part for part in parts if part.name == "claims.csv"], accepted_verdicts(), member["run"], ledger)
    rows = [read_cells(part) for part in parts if part.name == "evidence.csv"]
    write_csv(evidence, pd.concat(rows, ignore_index=True))


def build(parts: Iterable[Path], accepted: Accepted, run: str, output: Path) -> None:
    """Joins the studies' ledgers and marks every verdict that differs from the accepted one.

    Args:
        parts: the studies' `claims.csv`.
        accepted: accepted verdicts by claim, in the ledger's order; other claims come last.
        run: name of the run; in the runs under `undecided_at` a claim may stay undecided.
        output: CSV file; adds the columns `expected_verdict` and `change` (empty, "new claim" or "was: ...").
    """
    frame = pd.concat([read(part) for part in parts], ignore_index=True)
    if repeated := sorted(frame["id"][frame["id"].duplicated()]):
        raise DataError(f"two studies share the claim ids {', '.join(repeated)}")
    order = {id: place for place, id in enumerate(accepted)}
    frame = frame.sort_values("id", key=lambda ids: ids.map(lambda id: order.get(id, len(order))), kind="stable")
    entries = [accepted.get(str(id)) for id in frame["id"]]
    frame["expected_verdict"] = [entry["verdict"] if entry else "" for entry in entries]
    pairs = zip(frame["verdict"], entries, strict=True)
    frame["change"] = [change(str(verdict), entry, run) for verdict, entry in pairs]
    write_csv(output, frame)


def read(path: Path, columns: Iterable[str] = ("id", "verdict")) -> pd.DataFrame:
    """A ledger of all studies or of one, or its evidence, with every cell as text.

    Raises:
        DataError: the file is missing, is not a table, or lacks one of the columns.
    """
    try:
        frame = read_cells(path)
    except (OSError, ValueError, pd.errors.ParserError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: not a ledger ({reason}); name the results folder of a finished run") from error
    if missing := sorted(set(columns) - set(frame.columns)):
        lacks = f"no column {', '.join(missing)}"
        raise DataError(f"{path}: not a ledger ({lacks}); name the results folder of a finished run")
    return frame


def change(verdict: str, accepted: Entry | None, run: str) -> str:
    """What differs from the accepted verdict: "", "new claim" or "was: <verdict>"."""
    if accepted is None:
        return "new claim"
    allowed = {accepted["verdict"]} | ({UNDECIDED} if run in accepted["undecided_at"] else set())
    return "" if verdict in allowed else f"was: {accepted['verdict']}"


def accepted_verdicts(files: Iterable[Path] | None = None) -> dict[str, Entry]:
    """The accepted verdicts by claim: `verdicts.yaml` of every study, or of some.

    Raises:
        ConfigError: as `read_expected`, or two studies decide one claim.
    """
    accepted: dict[str, Entry] = {}
    for path in studies.files(studies.ACCEPTED).values() if files is None else files:
        own = read_expected(path)
        if twice := sorted(set(own) & set(accepted)):
            raise ConfigError(f"{path}: {', '.join(twice)}: already decided by another study")
        accepted |= own
    return accepted


def read_expected(path: Path) -> dict[str, Entry]:
    """The accepted verdicts of a study: `id: {verdict: ..., undecided_at: [runs]}`, in the order of the paper.

    Raises:
        ConfigError: the file is missing or not a mapping, has an id twice, or an entry has other keys, an unknown
            verdict, or no list of runs.
    """
    accepted = yaml_positions.values(path)
    for id, entry in accepted.items():
        if not isinstance(entry, dict) or set(entry) != {"verdict", "undecided_at"}:
            raise ConfigError(f"{path}: {id}: expected the keys verdict and undecided_at, got {entry!r}")
        if entry["verdict"] not in STATUSES:
            raise ConfigError(f"{path}: {id}: verdict {entry['verdict']!r} is not one of {', '.join(STATUSES)}")
        if not isinstance(entry["undecided_at"], list):
            raise ConfigError(f"{path}: {id}: undecided_at {entry['undecided_at']!r} is not a list of runs: [smoke]")
    return accepted


def show(id: str, results: Path) -> str:
    """One claim as text: statement, numbers, verdict, and the smallest command that decides it.

    Raises:
        DataError: no run under `results` has a ledger, or none has the id; the message suggests the nearest ids.
    """
    import difflib

    own = [results / "claims.csv"] if (results / "manifest.json").is_file() else []  # the folder of one run
    ledgers = own or sorted(results.glob("*/claims.csv"), key=lambda path: path.stat().st_mtime, reverse=True)
    if not ledgers:
        raise DataError(f"{results}: no ledger here yet; create one with: snakemake --cores 8 all")
    frames = {path.resolve().parent.name: read(path, SHOWN) for path in ledgers}
    matches = [(run, row) for run, frame in frames.items() for _, row in frame[frame["id"] == id].iterrows()]
    if not matches:
        known = sorted({name for frame in frames.values() for name in frame["id"]})
        near = difflib.get_close_matches(id, known, 3) or known[:3]
        raise DataError(f"no claim {id!r} in {len(frames)} runs under {results}; the nearest: {', '.join(near)}")
    return "\n\n".join(_text(run, row) for run, row in matches)


def _text(run: str, row: pd.Series) -> str:
    lines = [
        f"{row['id']}  ({row['study']}, {row['where']}; {row['kind']})",
        f"states    {row['statement']}",
        f"verdict   {row['verdict']}  [run {run}{', ' + row['change'] if row['change'] else ''}]",
    ]
    if row["correction"]:
        lines.append(
            f"correct   {row['correction']}"
            + (" (possibly an OCR error)" if row["possible_ocr_error"] == "True" else "")
        )
    if row["printed_measured"]:
        lines.append(
            f"printed   {row['printed_measured']}; asked: {row['printed_expected']}; margin {row['printed_margin']}"
        )
    if row["measured"] != row["printed_measured"]:
        lines.append(f"corrected {row['measured']}; asked: {row['expected']}; margin {row['margin']}")
    if row["tolerance_reason"]:
        lines.append(f"why       {row['tolerance_reason']}" + (f"; n = {row['n']}" if row["n"] != "0" else ""))
    if row["control"]:
        lines.append(f"control   {row['control']}: {row['control_outcome']}; margin {row['control_margin']}")
    lines += [f"fact      {name}: {value}" for name, value in shown_facts(json.loads(row["facts"] or "{}")).items()]
    if row["why"]:
        lines.append(f"{'note     ' if row['verdict'] in DECIDED else 'why not  '} {row['why']}")
    lines.append(f"shown by  snakemake --cores 1 results/{run}/{row['study']}/claims.csv" + overlay(run))
    return "\n".join(lines)


def overlay(run: str) -> str:
    """Snakemake's option for a run at one of the scales; empty for any other."""
    return f" --configfile workflow/scales/{run}.yaml" if run in SCALES else ""
