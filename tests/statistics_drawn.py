"""Which statistics of the draws a figure shows: its lines and bars are looked up among those of its datasets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.collections import PolyCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from repdyn.base.figures import half_width

SAMPLED = ("seed", "trial", "start", "draw")
FEWEST = 3  # values of a line that are looked up, and draws whose mean is not their median
ROUNDING = 1e-9


def _quantile(draws: np.ndarray, share: float) -> np.ndarray:
    return np.quantile(draws, share, axis=-1)


def _end_of_interval(draws: np.ndarray, side: int) -> np.ndarray:
    return draws.mean(-1) + side * half_width(draws)


MIDDLES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mean": partial(np.mean, axis=-1),
    "median": partial(np.median, axis=-1),
}
ENDS = {
    "range": tuple(partial(_quantile, share=share) for share in (0, 1)),
    "quartile": tuple(partial(_quantile, share=share) for share in (0.25, 0.75)),
    "5-95 %": tuple(partial(_quantile, share=share) for share in (0.05, 0.95)),
    "10-90 %": tuple(partial(_quantile, share=share) for share in (0.1, 0.9)),
    "95 % interval": tuple(partial(_end_of_interval, side=side) for side in (-1, 1)),
}
WORDS = {"range": r"\branges?\b|least to the (?:largest|greatest)", "mean": r"\bmeans?\b", "median": r"\bmedians?\b"}


def statistics_named(text: str) -> set[str]:
    """Statistics that a text names."""
    return {name for name in (*MIDDLES, *ENDS) if re.search(WORDS.get(name, re.escape(name)), text, re.IGNORECASE)}


def statistics_drawn(figure: Figure, datasets: Iterable[xr.Dataset]) -> set[str]:
    """Statistics over draws of a variable that are the values of a line, or both ends of a band or of bars."""
    draws = list(_draws(datasets))
    lines = [line.get_data(orig=False) for panel in figure.axes for line in panel.lines]
    values = [known for line in lines for axis in line if len(known := _known(axis)) >= FEWEST]
    ends = [pair for pair in _ends(figure) if min(map(len, pair)) >= FEWEST]
    found = set[str]()
    for group, shown in ((MIDDLES, [(one,) for one in values]), (ENDS, ends)):
        if shown:
            found |= _found(group, shown, draws)
    return found


def _found(group: dict, shown: list[tuple[np.ndarray, ...]], draws: list[np.ndarray]) -> set[str]:
    """Names of those statistics that alone explain something that is shown."""
    tables = {}
    for name, functions in group.items():
        functions = functions if isinstance(functions, tuple) else (functions,)
        tables[name] = [_sorted(function, draws) for function in functions]
    explained = ([name for name, table in tables.items() if all(map(_among, values, table))] for values in shown)
    return {names[0] for names in explained if len(names) == 1}


def _draws(datasets: Iterable[xr.Dataset]) -> Iterator[np.ndarray]:
    """Numbers of every variable, the draws along the last axis; starts also without the first, which is shown alone."""
    for data in datasets:
        for variable in data.data_vars.values():
            for dim in set(SAMPLED) & set(variable.dims):
                if variable.dtype.kind in "fiu" and variable.sizes[dim] >= FEWEST:
                    values = variable.transpose(..., dim).values.astype(float)
                    yield values
                    if dim == "start":
                        yield values[..., 1:]


def _sorted(function: Callable[[np.ndarray], np.ndarray], draws: list[np.ndarray]) -> np.ndarray:
    values = np.concatenate([np.ravel(function(own)) for own in draws]) if draws else np.zeros(0)
    return np.unique(values[np.isfinite(values)])


def _known(values: np.ndarray) -> np.ndarray:
    numbers = np.asarray(values, float)
    return np.unique(numbers[np.isfinite(numbers)])


def _among(values: np.ndarray, table: np.ndarray) -> bool:
    if not len(table):
        return False
    place = np.searchsorted(table, values)
    beside = [table[np.clip(place - shift, 0, len(table) - 1)] for shift in (0, 1)]
    return bool((np.min(np.abs(beside - values), axis=0) <= ROUNDING * np.abs(values)).all())


def _ends(figure: Figure) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Lower and upper ends of every band and of the vertical bars of every line."""
    for panel in figure.axes:
        for band in panel.collections:
            if isinstance(band, PolyCollection):
                for path in band.get_paths():
                    x, y = path.vertices.T
                    heights = [y[x == place] for place in np.unique(x)]
                    yield tuple(_known([end(own) for own in heights]) for end in (np.min, np.max))
        for bars in panel.containers:
            if isinstance(bars, ErrorbarContainer) and bars.has_yerr:
                heights = [segment[:, 1] for segment in bars.lines[2][-1].get_segments() if len(segment)]
                if heights:
                    yield tuple(_known([end(own) for own in heights]) for end in (np.min, np.max))
