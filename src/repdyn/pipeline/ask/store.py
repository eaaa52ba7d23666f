"""Contents of the trial cache as text, and freeing space."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

from repdyn.base.errors import DataError
from repdyn.pipeline.run.execute import trials

DAY = 86400.0


def show(root: Path, experiment: str | None = None) -> str:
    """The cache's contents by experiment, or what the trials of one experiment depend on.

    Raises:
        DataError: no trials of that experiment are cached.
    """
    place = trials.folder(root)
    rows = trials.contents(place)
    if experiment is not None:
        if experiment not in {row.experiment for row in rows}:
            known = ", ".join(row.experiment for row in rows) or "nothing"
            raise DataError(f"{place}: no finished trials of {experiment!r}; it holds {known}")
        return "\n\n".join(
            f"{entry['folder']}\n{json.dumps(entry['about'], indent=1, ensure_ascii=False)}"
            for entry in trials.identities(place, experiment)
        )
    if not rows:
        return f"{place}: no finished trials"
    lines = [f"{'experiment':44}{'trials':>8}{'states':>8}{'MB':>10}{'last used':>14}"]
    lines += [
        f"{row.experiment:44}{row.trials:>8}{row.kinds:>8}{row.bytes / 1e6:>10.1f}{_ago(row.used):>14}" for row in rows
    ]
    total = sum(row.bytes for row in rows) / 1e9
    return "\n".join(
        [*lines, "", f"{place}: {total:.2f} of {trials.limit() / 1e9:g} GB ({trials.LIMIT} sets the limit)"]
    )


def clean(root: Path, gigabytes: float | None, days: float) -> str:
    """Frees space; returns what was removed.

    Raises:
        DataError: a limit below 0 or not finite.
    """
    if not all(0 <= value < math.inf for value in (gigabytes or 0.0, days)):
        raise DataError(f"got {gigabytes} gigabytes and {days} days, expected finite numbers of at least 0")
    most = trials.limit() if gigabytes is None else gigabytes * 1e9
    place = trials.folder(root)
    return f"{place}: {trials.trim(place, most, longest=days * DAY)} trials removed"


def _ago(used: float) -> str:
    days = (time.time() - used) / DAY
    return "today" if days < 1 else f"{days:.0f} days ago"
