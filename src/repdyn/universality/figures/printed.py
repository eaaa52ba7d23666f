"""Where the settings of a run differ from those that Table 2 of the paper prints."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from repdyn.universality.theory.published import TABLE_2, TABLE_2_UNITS


def other_settings(task: str, data: xr.Dataset, runs: Mapping[str, str]) -> str:
    """A sentence for the caption: printed and used gain, rate, epochs and units, where they differ.

    Args:
        task: first key of `TABLE_2`.
        data: dataset with the settings as coordinates along `run`.
        runs: name of a run -> what the figure calls it.
    """
    parts = []
    for run, words in runs.items():
        used, printed = data.sel(run=run), TABLE_2.get((task, run))
        pairs = {} if printed is None else {name: getattr(printed, name) for name in ("gain", "rate", "epochs")}
        pairs["units"] = TABLE_2_UNITS[task]
        changes = [
            f"{name} {used[name].item():g} for {value:g}" for name, value in pairs.items() if used[name] != value
        ]
        if printed and printed.nonlinearity != used["nonlinearity"].item():
            changes.append(f"{used['nonlinearity'].item()} for {printed.nonlinearity}")
        parts += [f"{words}: {', '.join(changes)}"] if changes else []
    adam = any(data["optimizer"].sel(run=run).item() == "adam" for run in runs)
    unstated = " It prints no gain, rate or length for Adam." if adam else ""
    return f"Used here for what Table 2 prints: {'; '.join(parts) or 'the same'}.{unstated}"
