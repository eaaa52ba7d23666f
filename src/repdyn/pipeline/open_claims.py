"""What an open claim needs: how many times as many trials, in which settings, or why more trials decide nothing.

`python -m repdyn decide` uses it for planning, and the claim's page of the report shows it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scipy.special import stdtrit

from repdyn.base.readings import AGREEMENT
from repdyn.pipeline import studies
from repdyn.pipeline.run.declare.graph import Function, Study, home, read_study
from repdyn.pipeline.run.declare.workflow import sections_of

COUNTS = ("blocks", "seeds", "trials", "draws", "runs", "teachers", "staged_seeds")
"""Settings that say how many independent trials there are."""
MOST_DOUBLINGS = 6


@dataclass(frozen=True)
class Wanted:
    """What an open claim needs.

    Attributes:
        doublings: of the number of its trials; None if more trials decide nothing, for the reason in `reason`.
        reason: in words.
        trial_settings: section and name of the settings to double -> current value.
        factor: of its number of trials; below 2^doublings if there are too few for any interval.
        seen: whether the claim has been analyzed, which is impossible with too few trials for an interval.
    """

    doublings: int | None
    reason: str
    trial_settings: Mapping[tuple[str, str], int] = field(default_factory=dict)
    factor: float = 1.0
    seen: bool = True

    @property
    def says(self) -> str:
        """What would decide the claim, as a sentence."""
        if self.doublings is None:
            return f"More trials do not: {self.reason.rstrip('.')}."
        return f"{self.reason}." if self.seen else f"Enough trials for an interval: {self.reason}."


def wanted(claim: Mapping[str, str], evidence: Sequence[Mapping[str, str]], settings: Mapping[str, Any]) -> Wanted:
    """What an open claim of a run needs.

    Args:
        claim: its row of the ledger.
        evidence: its rows of evidence.
        settings: those of its study.
    """
    few = of_too_few(claim)
    times, reason = few[1:] if few else doublings(evidence, claim["why"])
    own = trial_settings(claim["study"], claim["datasets"].split(), settings) if times else {}
    if times and not own:
        times, reason = None, "no setting says how many trials its data have"
    return Wanted(times, reason, own, few[0] if few else 2.0 ** (times or 0), few is None)


def of_too_few(claim: Mapping[str, str]) -> tuple[float, int, str] | None:
    """Factor from too few trials to the smallest number with an interval, its doublings, the reason; else None."""
    if not claim["trials_needed"]:
        return None
    needed, present = int(claim["trials_needed"]), int(claim["trials_present"])
    return needed / present, math.ceil(math.log2(needed / present)), f"{needed} trials, this run has {present}"


def doublings(evidence: Sequence[Mapping[str, str]], why: str) -> tuple[int | None, str]:
    """How often to double the trials until the open parts of a claim are decided, and why."""
    whole = [row for row in evidence if not row["reading"] and row["outcome"] == "undecided"]
    if not whole:
        return None, why or "no part of the claim is sampled"
    by_part = []
    for row in whole:
        part = row["part"], row["form"]
        readings = [other for other in evidence if other["reading"] and (other["part"], other["form"]) == part]
        by_part.append(_of_readings(readings) if readings else _of_interval(row))
        if by_part[-1] is None:
            return None, "; ".join(filter(None, (row["measured"], row["tolerance_reason"])))
    most = max(number or 0 for number in by_part)
    if not most:  # its readings are decided enough, and something else is open, such as a control
        return None, why or "its readings are decided; more trials of them do not help"
    if most > MOST_DOUBLINGS:
        return None, f"a boundary case: not even {2**MOST_DOUBLINGS} times as many trials"
    return most, f"{2**most} times as many trials"


def _of_readings(readings: Sequence[Mapping[str, str]]) -> int | None:
    """Doublings at which enough readings are decided for a verdict."""
    by_reading = [0 if row["outcome"] != "undecided" else _of_interval(row) for row in readings]
    known = sorted(number for number in by_reading if number is not None)
    enough = math.ceil(AGREEMENT * len(by_reading))
    return known[enough - 1] if len(known) >= enough else None


def _of_interval(row: Mapping[str, str]) -> int | None:
    """Doublings until an interval no longer crosses the boundary inside it; one more than the maximum if none suffices.

    Assumes the t-interval with the same standard deviation, at the false-alarm rate of that analysis. None without an
    interval that contains a boundary.
    """
    names = ("interval_low", "interval_high", "region_low", "region_high", "value", "n", "false_alarm")
    low, high, bottom, top, value, n, rate = (float(row[name]) if row[name] else math.nan for name in names)
    center = value if math.isfinite(value) else (low + high) / 2
    borders = [border for border in (bottom, top) if low < border < high]
    if not borders or not n >= 2 or not rate > 0:
        return None
    reaches = [(center - low if border < center else high - center, abs(center - border)) for border in borders]
    for number in range(1, MOST_DOUBLINGS + 1):
        samples, spent = n * 2**number, rate / 2**number
        quantiles = stdtrit(samples - 1, 1 - spent / 2) / stdtrit(n - 1, 1 - rate / 2)
        shrunk = quantiles / math.sqrt(2**number)
        if all(reach * shrunk <= distance for reach, distance in reaches):
            return number
    return MOST_DOUBLINGS + 1


def trial_settings(study: str, names: Iterable[str], settings: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """The settings with the number of trials of datasets: of the experiment, or of those whose data it analyzes."""
    graph = read_study(study)
    found: dict[tuple[str, str], int] = {}
    for name in names:
        if name not in graph.experiments:
            continue
        own = counts(study, graph, name)
        values = {setting: settings[setting[0]][setting[1]] for setting in own}
        found |= values or trial_settings(study, graph.experiments[name].reads, settings)
    return found


def counts(study: str, graph: Study, name: str) -> list[tuple[str, str]]:
    """Section and name of the settings with an experiment's number of trials."""
    settings, function = studies.declared()[study].settings, graph.experiments[name]
    found = []
    for parameter, annotation in function.parameters.items():
        sections = sections_of(settings, function, annotation)
        if parameter in function.reads or len(sections) != 1:
            continue
        ((section, model),) = sections.items()
        names = [key for key in COUNTS if key in model.model_fields and model.model_fields[key].annotation is int]
        if "blocks" in names and "block" in function.parameters:
            names = ["blocks"]
        elif used := [key for key in names if key in _attributes(study, function)]:
            names = used
        found += [(section, key) for key in names]
    return found


def _attributes(study: str, function: Function) -> set[str]:
    """Names of the attributes that a function reads itself: `settings.seeds`."""
    file = home(study)[1].joinpath(*function.module.split(".")).with_suffix(".py")
    nodes = ast.parse(file.read_text(encoding="utf-8")).body
    own = next(node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == function.name)
    return {node.attr for node in ast.walk(own) if isinstance(node, ast.Attribute)}
