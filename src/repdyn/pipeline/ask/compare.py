"""Comparison of two runs: changed verdicts, then the largest deviations. Equality has three named tiers.

- `identical`: the same files with the same digests, as on one machine with pinned versions for any number of cores,
  order and folder.
- `rounding`: the same verdicts, the same data files, every number within its band, as on another CPU or with another
  build of the libraries.
- `verdicts`: the same verdict for every claim, as with other seeds or on a GPU.

The band of a variable is the square root of the unit roundoff it was computed with, relative to its largest magnitude:
1.5e-8 in double precision, 3.5e-4 in single (float32, and all results of torch). Kernels of another CPU add in another
order, which changes a sum by a few units in the last place; later steps multiply this by their condition number.
Deviations up to half of the digits count as rounding; beyond, the computation amplifies differences without bound
(training, weights sampled in the frame of a nearly collapsed batch), and statements about it can be reproduced, but not
its numbers. Numbers that differ by at most 1e-9 are equal: an error that small is itself due to rounding and
integrators. Tables and figures are computed from the data, so they do not count a second time.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from repdyn.base import datasets
from repdyn.base.errors import DataError
from repdyn.base.files import sha256
from repdyn.pipeline.run.kinds import ledger

TIERS = ("identical", "rounding", "verdicts")
RESIDUE = 1e-9
SHOWN = 12
APART = ("manifest.json", "report/")
"""Outputs with times, hosts and costs, which differ in every run: a file and a folder."""


@dataclass(frozen=True)
class Side:
    """One of the two: digests by path inside the run; verdicts by claim; the folder, if its files exist."""

    name: str
    digests: Mapping[str, str]
    verdicts: Mapping[str, str] | None
    folder: Path | None


@dataclass(frozen=True)
class Deviation:
    """Deviation of a variable or column, relative to its scale, and the band that rounding explains."""

    file: str
    variable: str
    size: float
    band: float
    note: str = ""

    @property
    def beyond(self) -> bool:
        """Whether rounding cannot explain it."""
        return self.file.endswith(".nc") and self.size > self.band


@dataclass(frozen=True)
class Comparison:
    """What differs between two runs.

    Attributes:
        verdicts: claim id -> (verdict there, verdict here), where they differ; None for a side without one.
        deviations: of variables and columns in files that differ, the largest first.
        only: files of only one side.
        differing: files with different digests.
        equal: number of files with equal digests.
    """

    verdicts: dict[str, tuple[str, str]] | None
    deviations: list[Deviation]
    only: tuple[list[str], list[str]]
    differing: list[str]
    equal: int

    def differences(self, tier: str) -> list[str]:
        """What differs at a tier, in words; empty if the runs are equal."""
        lost = [path for paths in self.only for path in paths if tier == "identical" or path.endswith(".nc")]
        beyond = [item for item in self.deviations if item.beyond]
        counts = {
            "verdicts": len(self.verdicts or ()),
            "files only on one side": len(lost) if tier != "verdicts" else 0,
            "files with other digests": len(self.differing) if tier == "identical" else 0,
            "variables beyond rounding": len(beyond) if tier == "rounding" else 0,
        }
        return [f"{count} {what}" for what, count in counts.items() if count]


def compare(first: Path, second: Path, tier: str = "identical") -> Comparison:
    """Compares two results folders, or manifests.

    Raises:
        DataError: a path is neither, or the tier needs more than the digests in a manifest.
    """
    a, b = side(first), side(second)
    for run in (a, b):
        if tier == "rounding" and run.folder is None:
            raise DataError(
                f"{run.name}: its files are not next to it, and tier {tier} reads them; give the results folder"
            )
        if tier == "verdicts" and run.verdicts is None:
            raise DataError(f"{run.name}: has no ledger (claims.csv), and tier {tier} compares ledgers; finish the run")
    both = sorted(set(a.digests) & set(b.digests))
    differing = [path for path in both if a.digests[path] != b.digests[path]]
    deviations = [item for path in differing if a.folder and b.folder for item in _deviations(path, a.folder, b.folder)]
    return Comparison(
        verdict_changes(a.verdicts, b.verdicts) if a.verdicts is not None and b.verdicts is not None else None,
        sorted(deviations, key=lambda item: -item.size / item.band),
        (sorted(set(a.digests) - set(b.digests)), sorted(set(b.digests) - set(a.digests))),
        differing,
        len(both) - len(differing),
    )


def side(path: Path) -> Side:
    """A run by its results folder or by its manifest, whose files may be elsewhere."""
    if path.is_dir():
        files = [file for file in sorted(path.rglob("[!.]*")) if file.is_file()]  # .part: partial file of a killed job
        names = [file.relative_to(path).as_posix() for file in files]
        digests = {name: sha256(file) for name, file in zip(names, files, strict=True) if not name.startswith(APART)}
        if not digests:
            raise DataError(f"{path}: no results in this folder; give results/<run>")
        return Side(str(path), digests, _verdicts(path), path)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        content, verdicts = manifest["content"], manifest.get("verdicts") or None
        inside = not any(Path(name).is_absolute() or ".." in Path(name).parts for name in content)
        if not inside or not all(isinstance(digest, str) for digest in content.values()):
            raise ValueError("content names no files of a run")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: neither a results folder nor a manifest.json of a run") from error
    whole = path.name == APART[0] and all((path.parent / name).is_file() for name in content)
    return side(path.parent) if whole else Side(str(path), content, verdicts, None)


def show(outcome: Comparison, first: Path, second: Path, tier: str) -> str:
    """The comparison as text, changed verdicts first."""
    lines = _verdict_lines(outcome.verdicts)
    if outcome.deviations:
        beyond = sum(item.beyond for item in outcome.deviations)
        lines.append(f"{len(outcome.deviations)} variables and columns differ, {beyond} beyond rounding; the largest:")
        lines += _largest(outcome.deviations)
    for where, paths in zip((first, second), outcome.only, strict=True):
        lines += [f"only in {where}: {listed(paths)}"] if paths else []
    lines.append(f"{outcome.equal} files have equal digests, {len(outcome.differing)} differ")
    differences = outcome.differences(tier)
    lines.append(f"tier {tier}: " + (f"DIFFERENT ({', '.join(differences)})" if differences else "equal"))
    return "\n".join(lines)


def listed(words: list[str]) -> str:
    """The first words of a list, which may be long, in a line."""
    return ", ".join(words[:SHOWN]) + (", ..." if len(words) > SHOWN else "")


def _verdict_lines(changed: Mapping[str, tuple[str, str]] | None) -> list[str]:
    if changed is None:
        return ["verdicts are not compared: one side has none"]
    lines = [f"  {id}: {old} -> {new}" for id, (old, new) in changed.items()]
    return [f"{len(lines)} verdicts differ", *lines] if lines else ["every verdict is equal"]


def _largest(deviations: list[Deviation]) -> list[str]:
    """The largest deviation in each of the files with the largest deviations."""
    by_file: dict[str, list[Deviation]] = {}
    for item in deviations:
        by_file.setdefault(item.file, []).append(item)
    lines = []
    for file, (worst, *others) in list(by_file.items())[:SHOWN]:
        amount = worst.note or f"{worst.size:.2g} of its scale (rounding: up to {worst.band:.2g})"
        lines.append(f"  {file}: {worst.variable}: {amount}" + (f"; {len(others)} more" if others else ""))
    return lines + ([f"  ... and {len(by_file) - SHOWN} more files"] if len(by_file) > SHOWN else [])


def verdict_changes(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Claim -> (verdict there, verdict here), where they differ."""
    changed = [id for id in dict.fromkeys([*old, *new]) if old.get(id) != new.get(id)]
    return {id: (old.get(id, "no such claim"), new.get(id, "no such claim")) for id in changed}


def _verdicts(folder: Path) -> dict[str, str] | None:
    """Claim id -> verdict, from the ledger or, if there is none yet, from the studies' ledgers; None without any."""
    whole = folder / "claims.csv"
    files = [whole] if whole.is_file() else sorted(folder.glob("*/claims.csv"))
    frames = [ledger.read(file) for file in files]
    verdicts = {id: verdict for frame in frames for id, verdict in zip(frame["id"], frame["verdict"], strict=True)}
    return verdicts or None


def _deviations(path: str, a: Path, b: Path) -> Iterator[Deviation]:
    """Deviations of a dataset's variables, or of the columns of a table or of a figure's numbers."""
    precision: type = float
    if path.endswith(".nc"):
        loaded = [datasets.read(folder / path) for folder in (a, b)]
        old, new = (_arrays(dataset.variables) for dataset in loaded)
        precision = np.float32 if any("torch" in dataset.attrs["versions"] for dataset in loaded) else float
    elif path.endswith(".csv") and Path(path).parent.name in ("tables", "figures"):
        old, new = (_arrays(dict(pd.read_csv(folder / path).items())) for folder in (a, b))
    else:
        return
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            yield Deviation(path, name, np.inf, 1.0, "only on one side")
        elif (measured := deviation(old[name], new[name], precision))[0]:
            yield Deviation(path, name, *measured)


def _arrays(columns: Mapping[Hashable, xr.Variable | pd.Series]) -> dict[str, np.ndarray]:
    return {str(name): np.asarray(column) for name, column in columns.items()}


def deviation(old: np.ndarray, new: np.ndarray, precision: type = float) -> tuple[float, float, str]:
    """Largest deviation relative to the scale, its band, and a word if there is no number; 0 for equal arrays.

    Args:
        old: an array.
        new: the other.
        precision: the precision of the computation, if lower than that of the stored numbers.
    """
    if old.shape != new.shape:
        return np.inf, 1.0, f"shape {old.shape} against {new.shape}"
    if "f" not in (old.dtype.kind, new.dtype.kind) or {old.dtype.kind, new.dtype.kind} - set("fiu"):
        other = int(np.sum((old != new) & ~(pd.isna(old) & pd.isna(new))))
        return (np.inf, 1.0, f"{other} of {old.size} entries differ") if other else (0.0, 1.0, "")
    old, new = (array if array.dtype.kind == "f" else array.astype(float) for array in (old, new))
    band = float(np.sqrt(max(np.finfo(dtype).eps for dtype in (old.dtype, new.dtype, precision))))
    finite = np.isfinite(old) & np.isfinite(new)
    if np.any(~finite & ~((old == new) | (np.isnan(old) & np.isnan(new)))):
        return np.inf, band, "not finite at different places"
    old, new = old[finite].astype(float), new[finite].astype(float)
    largest = np.max(np.abs(old - new), initial=0.0)
    if largest <= RESIDUE:
        return 0.0, band, ""
    return float(largest / max(np.max(np.abs(old)), np.max(np.abs(new)))), band, ""
