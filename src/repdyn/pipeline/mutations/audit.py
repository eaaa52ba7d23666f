"""Mutation audit: many mutants of a part of the code, what noticed each of them, and how many nothing did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from repdyn.base.errors import ConfigError
from repdyn.base.streams import Stream
from repdyn.pipeline.mutations.mutants import Mutant, mutants
from repdyn.pipeline.mutations.trial import CAUGHT, Stage, try_mutant


class Site(NamedTuple):
    """A mutant and the module that it changes."""

    module: str
    file: Path
    mutant: Mutant


def sites(files: Mapping[str, Path]) -> list[Site]:
    """All mutants of modules, given by name with their files; in those of `theory` arithmetic alone is changed."""
    return [
        Site(module, file, mutant)
        for module, file in files.items()
        for mutant in mutants(file, formulas_only="theory" in module.split("."))
    ]


def sample(every: Sequence[Site], count: int, seed: int, key: str) -> list[Site]:
    """So many drawn evenly, in the order drawn, so that those before a stop are a sample too; all if `count` is 0."""
    if not count or count >= len(every):
        return list(every)
    places = Stream(seed, ("mutation", key)).generator().choice(len(every), count, replace=False)
    return [every[place] for place in places]


def of_each_operator(every: Sequence[Site], count: int, seed: int, key: str) -> list[Site]:
    """So many of every operator, drawn evenly among its own."""
    operators = sorted({site.mutant.operator for site in every})
    return [
        site
        for operator in operators
        for site in sample([site for site in every if site.mutant.operator == operator], count, seed, key)
    ]


def audit(
    tried: Sequence[Site],
    stages_of: Callable[[Site], Sequence[Stage]],
    *,
    folders: Sequence[Path],
    limit: int,
    say: Callable[[str], None],
) -> pd.DataFrame:
    """The fates of mutants.

    Args:
        tried: the mutants.
        stages_of: what may notice a mutant, the cheapest first. Each check is run once on unchanged code before it is
            first used; what is warm in this process afterwards is warm in all forks.
        folders: sources that must not be edited meanwhile; their modules are imported anew after a change.
        limit: CPU seconds per mutant and stage.
        say: takes a line per mutant.

    Returns:
        A row per mutant: module, function, line, operator, change, fate, first (what noticed it), seconds of CPU. The
        fate "untested" is that of a survivor that met no check at all.

    Raises:
        ConfigError: a check fails on unchanged code, or a source was edited meanwhile.
    """
    rows: list[dict[str, object]] = []
    sound: set[object] = set()
    before = _state(folders)
    for site in tried:
        by, first, seconds, met = "survived", "", 0.0, False
        for stage in stages_of(site):
            if by != "survived" or not stage.checks:
                continue
            check_baseline(stage, sound)
            by, first, more = try_mutant(site.module, site.file, site.mutant, [stage], folders=folders, limit=limit)
            seconds, met = seconds + more, True
            if edited := _edited(before, _state(folders)):
                raise ConfigError(f"{edited}: edited while mutants were tried; what stands above is sound, start again")
        by = by if met else "untested"
        rows.append(_row(site) | {"fate": by, "first": first, "seconds": round(seconds, 1)})
        place = f"{site.module}:{site.mutant.line}"
        say(f"{len(rows)}/{len(tried)} {by:8s} {seconds:5.1f} s  {place} {site.mutant.change}")
    return pd.DataFrame(rows)


def _row(site: Site) -> dict[str, object]:
    mutant = site.mutant
    about = {"module": site.module, "function": mutant.function, "line": mutant.line}
    return about | {"operator": mutant.operator, "change": mutant.change}


def check_baseline(stage: Stage, sound: set[object]) -> None:
    """Makes sure that unchanged code passes a stage's checks, and adds them to those known to be sound.

    Raises:
        ConfigError: one fails without any mutant, so nothing could be learned from one.
    """
    for check in stage.checks:
        if check not in sound and (fails := stage.baseline(check)):
            raise ConfigError(f"{check}: fails on unchanged code; correct that first\n{fails}")
        sound.add(check)


def _state(folders: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    files = (file for folder in folders for file in folder.rglob("*.py"))
    return {file: (file.stat().st_mtime_ns, file.stat().st_size) for file in files}


def _edited(before: Mapping[Path, object], now: Mapping[Path, object]) -> str:
    return next((str(file) for file in {**before, **now} if before.get(file) != now.get(file)), "")


def summary(fates: pd.DataFrame) -> str:
    """Share caught of what can be imported, its 95 % interval (Clopper-Pearson), and the minutes it took."""
    importable = fates[fates["fate"] != "import"]
    n, caught = len(importable), int(importable["fate"].isin(CAUGHT).sum())
    low = stats.beta.ppf(0.025, caught, n - caught + 1) if caught else 0.0
    high = stats.beta.ppf(0.975, caught + 1, n - caught) if caught < n else 1.0
    share = caught / n if n else np.nan
    return (
        f"{caught} of {n} caught: {share:.1%} [{low:.1%}, {high:.1%}], {fates['seconds'].sum() / 60:.1f} minutes"
        f"; {len(fates) - n} more cannot be imported"
    )


def survivors(fates: pd.DataFrame) -> pd.DataFrame:
    """The mutants that nothing noticed, those that no check reaches among them."""
    return fates[~fates["fate"].isin([*CAUGHT, "import"])]


def by_operator(fates: pd.DataFrame) -> pd.DataFrame:
    """How many were tried and caught by module and operator; those that cannot be imported are left out."""
    importable = fates[fates["fate"] != "import"]
    caught = importable["fate"].isin(CAUGHT)
    groups = importable.assign(caught=caught).groupby(["module", "operator"])["caught"]
    return groups.agg(tried="count", caught="sum").reset_index()
