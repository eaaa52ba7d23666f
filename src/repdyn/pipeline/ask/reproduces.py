"""Whether a run reproduces a reference: verdicts, then key numbers within their bands, then files.

A sampled number reproduces if its interval overlaps the reference's: with other rounding, a training is another draw. A
number without interval reproduces within a twentieth of what its claim allows: errors far below their tolerance depend
on the steps of solvers and searches (two kinds of processors differed by up to 2 %). Every band is widened by rounding:
the square root of the unit roundoff of single precision, relative to the number's size. Numbers that differ by at most
1e-9 are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from repdyn.pipeline.ask.compare import RESIDUE, SHOWN, listed, verdict_changes
from repdyn.pipeline.kept_runs import KEY, Reference

ROUNDING = float(np.sqrt(np.finfo(np.float32).eps))
SHARE = 1 / 20  # of what a claim allows


@dataclass(frozen=True)
class Number:
    """A key number of both sides; `band` is the interval that the reference allows."""

    claim: str
    part: str
    here: float
    reference: float
    band: tuple[float, float]

    @property
    def beyond(self) -> bool:
        """Whether the number lies outside its band."""
        return not self.band[0] <= self.here <= self.band[1]


@dataclass(frozen=True)
class Reproduction:
    """A run compared with a reference.

    Attributes:
        verdicts: claim -> (verdict there, verdict here), where they differ.
        claims: number of claims on either side.
        numbers: key numbers that both sides have.
        missing: number of tests of only one side, and of those that have a number in the reference alone.
        equal_files: number of files with equal digests.
        files: number of files of the reference.
        settings: places where the configurations differ.
    """

    verdicts: dict[str, tuple[str, str]]
    claims: int
    numbers: list[Number]
    missing: int
    equal_files: int
    files: int
    settings: list[str]

    @property
    def reproduced(self) -> bool:
        """Whether every verdict is the reference's and every number lies within its band."""
        return not self.verdicts and not self.missing and not any(number.beyond for number in self.numbers)


def hold_against(run: Reference, reference: Reference) -> Reproduction:
    """Compares a run with a reference."""
    both = reference.numbers.merge(run.numbers, on=KEY, how="outer", suffixes=("_there", "_here"), indicator=True)
    shared = both[both["_merge"] == "both"]
    return Reproduction(
        verdict_changes(reference.verdicts, run.verdicts),
        len({**reference.verdicts, **run.verdicts}),
        [_number(row) for _, row in shared.iterrows() if row["value_there"] and row["value_here"]],
        len(both) - len(shared) + int(((shared["value_there"] != "") & (shared["value_here"] == "")).sum()),
        sum(run.digests.get(path) == digest for path, digest in reference.digests.items()),
        len(reference.digests),
        _differences(reference.run["configuration"], run.run["configuration"]),
    )


def show(reproduction: Reproduction, run: Reference, reference: Reference) -> str:
    """One line that says whether the run reproduces the reference, then what differs."""
    beyond = sorted((number for number in reproduction.numbers if number.beyond), key=_excess, reverse=True)
    word = "reproduces" if reproduction.reproduced else "does NOT reproduce"
    equal = reproduction.claims - len(reproduction.verdicts)
    lines = [
        f"{run.name} {word} {reference.name}: {equal} of {reproduction.claims} verdicts are equal,"
        f" {len(reproduction.numbers) - len(beyond)} of {len(reproduction.numbers)} key numbers within their bands,"
        f" {reproduction.equal_files} of {reproduction.files} files identical"
    ]
    if reproduction.settings:
        lines.append(f"{len(reproduction.settings)} settings differ: {listed(reproduction.settings)}")
    lines += [f"  {id}: {there} -> {here}" for id, (there, here) in reproduction.verdicts.items()]
    lines += [f"{reproduction.missing} key numbers on one side only"] if reproduction.missing else []
    lines += [
        f"  {number.claim}, {number.part or 'whole'}: {number.here:.4g}, reference {number.reference:.4g}"
        f" (band {number.band[0]:.4g} to {number.band[1]:.4g})"
        for number in beyond[:SHOWN]
    ]
    return "\n".join(lines + ([f"  ... and {len(beyond) - SHOWN} more"] if len(beyond) > SHOWN else []))


def _number(row: pd.Series) -> Number:
    there, here = float(row["value_there"]), float(row["value_here"])
    rounding = RESIDUE + ROUNDING * max(abs(there), abs(here)) if math.isfinite(there) else 0.0
    if row["interval_low_there"] and row["interval_low_here"]:
        low, high = (float(row[f"interval_{end}_there"]) for end in ("low", "high"))
        own_low, own_high = (float(row[f"interval_{end}_here"]) for end in ("low", "high"))
        low, high = min(low, there) - max(own_high - here, 0), max(high, there) + max(here - own_low, 0)
    else:
        slack = SHARE * _allowed(*(float(row[f"region_{end}_here"] or "inf") for end in ("low", "high")))
        low, high = there - slack, there + slack
    return Number(row["id"], row["part"], here, there, (low - rounding, high + rounding))


def _allowed(low: float, high: float) -> float:
    """Size of the region that a claim allows, for a one-sided region its limit; 0 without one."""
    if math.isfinite(low) and math.isfinite(high):
        return high - low
    return next((abs(end) for end in (low, high) if math.isfinite(end)), 0.0)


def _excess(number: Number) -> float:
    """Distance from the band, relative to the reference."""
    outside = max(number.band[0] - number.here, number.here - number.band[1])
    return outside / max(abs(number.reference), RESIDUE)


def _differences(there: object, here: object, place: str = "") -> list[str]:
    """Places where two configurations differ, the run's name left out."""
    if isinstance(there, dict) and isinstance(here, dict):
        keys = dict.fromkeys([*there, *here])
        deeper = (_differences(there.get(key), here.get(key), f"{place}.{key}".lstrip(".")) for key in keys)
        return [key for part in deeper for key in part]
    return [place] if there != here and place != "run.name" else []
