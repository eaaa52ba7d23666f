"""Where the settings of a run differ from those that Tables 1 and 2 of the paper print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import xarray as xr

from repdyn.universality.theory.published import TABLE_1, TABLE_2, TABLE_2_UNITS


def other_settings(task: str, data: xr.Dataset, runs: Mapping[str, str]) -> str:
    """A sentence for the caption: used and printed settings of data sets, where they differ.

    Args:
        task: first key of `TABLE_2`.
        data: dataset with the settings as coordinates along `run`.
        runs: name of a run -> what the figure calls it.
    """
    changes = {}
    for run, words in runs.items():
        used, printed = data.sel(run=run), TABLE_2.get((task, run))
        wanted: dict[str, object] = {"units": TABLE_2_UNITS[task]}
        if printed is not None:
            names = ("gain", "rate", "epochs", "nonlinearity")
            wanted = {name: getattr(printed, name) for name in names} | wanted
        changes[words] = _changes({name: used[name].item() for name in wanted}, wanted)
    adam = any(data["optimizer"].sel(run=run).item() == "adam" for run in runs)
    return _sentence(2, changes) + (" It prints no gain, rate or length for Adam." if adam else "")


def other_two_point_settings(data: xr.Dataset, networks: Mapping[str, str]) -> str:
    """The same for two points and Table 1, whose epochs are those of the dataset's last record.

    Args:
        data: dataset with the settings as variables along `network`.
        networks: name of a network -> what the figure calls it.
    """
    changes = {}
    for network, words in networks.items():
        used, printed = data.sel(network=network), TABLE_1[network]
        names = {"gain": "gain", "rate": "learning_rate", "units": "units", "hidden": "hidden"}
        ours = {name: used[own].item() for name, own in names.items()}
        changes[words] = _changes(ours, {name: getattr(printed, name) for name in names})
    shown = data.sel(network=list(networks)).isel(network=0)  # all networks see the same two points
    distances = f"$dx^2 = {float(shown['dx2']):g}$, $dy^2 = {float(shown['dy2']):g}$"
    return f"{_sentence(1, changes)} Points at {distances}; Appendix B.1 prints $dx = 0.5$, $dy = 1$."


def size_of_default(*units: int) -> str:
    """Widths of the default networks shown beside that of Table 1."""
    printed, shown = TABLE_1["default"].units, list(dict.fromkeys(units))
    here = ", as here." if shown == [printed] else f"; here {' and '.join(map(str, shown))}."
    return f"Table 1 prints {printed} units per layer{here}"


def _changes(used: Mapping[str, object], printed: Mapping[str, object]) -> str:
    return ", ".join(
        f"{name} {_short(used[name])} for {_short(value)}" for name, value in printed.items() if used[name] != value
    )


def _short(value: object) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _sentence(table: int, changes: Mapping[str, str]) -> str:
    """Networks with the same changes together."""
    shared = {words: [name for name, own in changes.items() if own == words] for words in changes.values() if words}
    parts = [f"{words} ({_named(names, changes)})" for words, names in shared.items()]
    return f"Used here for what Table {table} prints: {'; '.join(parts) or 'the same'}."


def _named(names: Iterable[str], changes: Mapping[str, str]) -> str:
    names = list(names)
    return "all" if len(names) == len(changes) > 1 else ", ".join(names)
