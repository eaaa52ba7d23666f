"""Datasets of recorded shapes with synthetic numbers, and the resulting figures, tables and claims.

    python -m tests.drawn [STUDY ...]    # after an intended change of these; of a dataset: python -m tests.shapes

`shapes.json` of a study holds, for every dataset that its figures, tables and claims read, dimensions, attributes and
the range of each variable (`tests.shapes`); dependencies come from their signatures. Figures and tables are listed by
name, claims by id; titles, labels, colors and notes are omitted. `synthetic_dataset` fills such a shape with numbers
that depend on the variable's name and place alone, so that no two variables, rows or points are alike and every machine
has the same. `shown` reads back from a figure what it has plotted, panel by panel; `rows` does so for a table,
`decided` for a claim. Claims are decided twice: on numbers over the whole range of each variable, most of which leave a
statement open (in one line), and on numbers that differ little over what is sampled, with what `MET` changes, so that
nearly all are decided (value, interval, region and samples of every part, and what its controls do). The last reviewed
result is in `figures.txt`, `tables.txt` and `claims.txt`.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from repdyn.base import verdicts
from repdyn.base.claims import Claim
from repdyn.base.decisions import decide_claim
from repdyn.base.tables import Table
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import Function, read_study
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.plotting import figures

GOLDEN = Path(__file__).parent / "golden"
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
STEEP = 1e3  # ratio of largest to smallest value above which a positive variable is spaced logarithmically
SAMPLES, MANY = 4, 3
KINDS = ("figures", "tables", "claims")
SAMPLED = ("seed", "trial", "start", "teacher", "sample", "draw", "resample")
TILT = 0.03
NARROW = 0.04  # share of its range that a variable takes along these
HEAVY = {"bnd-thm3-tail"}  # uses n / gamma rows: millions if gamma is meaningless
MET = {  # requirements of claims that the default scale does not meet: sizes and ranges
    "leaky_resnets/data/paper_measures.nc": {"seed": 6},
    "leaky_resnets/data/restart_measures.nc": {"relative_distance": (0.01, 0.2)},
    "across_papers/data/theory_fits.nc": {"learned": (1, 1), "at_bound": (0, 0)},
    "source": "mnist",
}
ROUNDING = 1e-9  # relative to the largest of an array
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?|nan|inf")
ROUND_OFF = 1e-12  # smaller numbers are rounding errors, which differ between machines
LAST_DIGIT = 2e-3  # for numbers with four digits: the last digit and rounding on other machines


# data of a shape


def synthetic_dataset(shape: Mapping[str, object], file: str, width: float = 1.0) -> xr.Dataset:
    """A dataset of a shape; the file's name makes it different from others of the same shape.

    A width below 1 is the share of its range that a variable takes along `SAMPLED`; then what claims ask is met.
    """
    if width < 1:
        shape = _met(shape, MET.get(file, {}))
    variables, coords = (
        {
            name: (entry["dims"], _values(entry, f"{file} {name}", width), entry["attrs"] | {"long_name": name})
            for name, entry in shape[kind].items()
        }
        for kind in ("variables", "coords")
    )
    if width == 1:
        variables = {name: (dims, _tilted(values, name), attrs) for name, (dims, values, attrs) in variables.items()}
    return xr.Dataset(variables, coords, shape["attrs"])


def _met(shape: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, object]:
    sizes = {name: size for name, size in changes.items() if isinstance(size, int)}
    ranges = {name: limits for name, limits in changes.items() if not isinstance(limits, int)}
    coords = {name: _enlarged(entry, sizes) for name, entry in shape["coords"].items()}
    variables = {name: _enlarged(entry, sizes) for name, entry in shape["variables"].items()}
    for name, (least, largest) in ranges.items():
        kept = {key: value for key, value in variables[name].items() if key not in ("values", "choices")}
        variables[name] = kept | {"least": least, "largest": largest}
    for entry in (entry for name, entry in (coords | variables).items() if name == "source"):
        entry["values"] = [MET["source"]] * len(entry["values"])
    return {"attrs": shape["attrs"], "coords": coords, "variables": variables}


def _enlarged(entry: Mapping[str, object], sizes: Mapping[str, int]) -> dict[str, object]:
    """A variable with other sizes: a coordinate is continued, other values become their range."""
    if not set(entry["dims"]) & set(sizes):
        return dict(entry)
    larger = [sizes.get(dim, size) for dim, size in zip(entry["dims"], entry["sizes"], strict=True)]
    about = {name: value for name, value in entry.items() if name != "values"} | {"sizes": larger}
    if "values" not in entry:
        return about
    numbers = [float(value) for value in entry["values"]]
    return about | {"from": 0, "to": larger[0] - 1, "least": min(numbers), "largest": max(numbers)}


def _tilted(values: np.ndarray, name: str) -> np.ndarray:
    """Several numbers and a few percent, which the name decides: a formula and its measurement are not alike."""
    return values * (1 + TILT * _begin(name)) if values.dtype.kind == "f" and values.size > 1 else values


def _begin(name: str) -> float:
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 2**32


def _values(entry: Mapping[str, object], name: str, width: float) -> np.ndarray:
    dtype, sizes = np.dtype(entry["dtype"]), entry["sizes"]
    if "values" in entry:
        values = [float(value) for value in entry["values"]] if dtype.kind == "f" else entry["values"]
        return np.array(values, dtype).reshape(sizes)
    if "from" in entry and len(sizes) == 1:
        return np.linspace(entry["from"], entry["to"], sizes[0]).astype(dtype)
    begin = _begin(name)
    share = (begin + GOLDEN_RATIO * np.arange(1, math.prod(sizes) + 1)).reshape(sizes) % 1
    if "choices" in entry:
        return np.array(entry["choices"], dtype)[(share * len(entry["choices"])).astype(int)]
    if width < 1:  # a level for each of the compared cases
        counts = [1 if dim in SAMPLED else size for dim, size in zip(entry["dims"], sizes, strict=True)]
        level = (begin + GOLDEN_RATIO * np.arange(math.prod(counts)).reshape(counts)) % 1
        share = level * (1 - width) + width * share
    low, high = entry["least"], entry["largest"]
    steep = low > 0 and high / low > STEEP
    values = low * (high / low) ** share if steep else low + (high - low) * share
    return (np.round(values) if dtype.kind in "iu" else values).astype(dtype)


# what a figure shows


def shown(figure: Figure) -> Iterator[str]:
    """Lines of text: panels with the scales of their axes, below each what is plotted: its kind and its numbers."""
    for number, panel in enumerate(figure.axes):
        yield f"  panel {number} | x {panel.get_xscale()} | y {panel.get_yscale()}"
        for kind, artists in itertools.groupby(_plotted(panel), key=lambda artist: artist[0]):
            yield from _few(kind, [numbers for _, numbers in artists])


def _few(kind: str, artists: Sequence[Mapping[str, np.ndarray]]) -> Iterator[str]:
    """A line per artist; of many of one kind the first ones, and the others together in one line."""
    one_by_one = artists if len(artists) <= MANY + 1 else artists[:MANY]
    rest = artists[len(one_by_one) :]
    for numbers in one_by_one:
        yield _line(f"    {kind}", numbers)
    if rest:
        names = dict.fromkeys(name for numbers in rest for name in numbers)
        joined = {name: [numbers[name] for numbers in rest if name in numbers] for name in names}
        yield _line(f"    {len(rest)} more {kind}", {name: np.concatenate(parts) for name, parts in joined.items()})


def _line(kind: str, numbers: Mapping[str, np.ndarray]) -> str:
    return " | ".join([kind, *(f"{name} {_digest(values)}" for name, values in numbers.items())])


def _plotted(panel: Axes) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Kind and numbers of each artist of a panel."""
    for text in panel.texts:
        if getattr(text, "arrow_patch", None):
            (x_end, y_end), (x, y) = text.xy, text.xyann
            yield "arrow", _plain(x=[x, x_end], y=[y, y_end])
    for line in panel.lines:
        yield "line", _plain(x=line.get_xdata(), y=line.get_ydata())
    for artist in panel.collections:
        yield type(artist).__name__.removesuffix("Collection").lower(), _plain(**_of_collection(artist))
    for patch in panel.patches:
        yield _of_patch(patch)
    for image in panel.images:
        yield "image", _plain(array=image.get_array())


def _of_collection(artist: Collection) -> dict[str, object]:
    array = {} if artist.get_array() is None else {"array": artist.get_array()}
    if isinstance(artist, PathCollection):
        x, y = np.ma.getdata(artist.get_offsets()).T
        return {"x": x, "y": y} | array
    if isinstance(artist, LineCollection | PolyCollection):
        paths = [path.vertices for path in artist.get_paths()]
        x, y = (np.concatenate(paths) if paths else np.zeros((0, 2))).T
        return {"x": x, "y": y} | array
    return array


def _of_patch(patch: mpl.patches.Patch) -> tuple[str, dict[str, np.ndarray]]:
    if isinstance(patch, Rectangle):
        return "bar", _plain(x=[patch.get_x(), patch.get_width()], y=[patch.get_y(), patch.get_height()])
    x, y = patch.get_path().transformed(patch.get_patch_transform()).vertices.T
    return type(patch).__name__.lower(), _plain(x=x, y=y)


def _plain(**numbers: object) -> dict[str, np.ndarray]:
    """Numbers as flat arrays; masked ones are NaN."""
    return {
        name: np.ma.filled(np.ma.asarray(values, dtype=object).astype(float), np.nan).ravel()
        for name, values in numbers.items()
    }


def _digest(values: object) -> str:
    """How many numbers, some of them, and their mean with weights that order changes."""
    numbers = np.asarray(values, dtype=float)
    largest = np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0)
    numbers = np.where(np.abs(numbers) < ROUNDING * largest, 0.0, numbers)
    places = np.unique(np.linspace(0, len(numbers) - 1, min(SAMPLES, len(numbers))).astype(int)) if len(numbers) else []
    some = [f"{numbers[k]:.4g}" for k in places]
    finite = np.where(np.isfinite(numbers), numbers, 0)
    weighed = float(np.mean(finite * (1 + np.arange(len(finite)) % 7))) if len(numbers) else 0.0
    return f"{len(numbers)}: {' '.join(some)}" + (f" ~ {weighed:.4g}" if len(numbers) > SAMPLES else "")


def rows(table: Table) -> Iterator[str]:
    """A table's size and the numbers of its first rows."""
    frame = table.frame
    yield f"  {len(frame)} rows, {len(frame.columns)} columns, {table.digits} digits"
    for row in frame.head(8).itertuples(index=False):
        yield "    " + " | ".join(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row)


DECIDED = ("form", "part", "outcome", "value", "interval_low", "interval_high", "region_low", "region_high", "margin")
CONTROLLED = ("n", "false_alarm", "control_change", "control_outcome", "control_margin")


def decided(claim: Claim, arguments: Mapping[str, object], *, in_full: bool) -> Iterator[str]:
    """The parts of a claim's check and the effect of the controls: a line per part, or outcomes and values in one."""
    controls = {part: replace(control, data=blind(control.data)) for part, control in claim.controls.items()}
    evidence = decide_claim(replace(claim, controls=controls), arguments).evidence
    if in_full:
        for row in evidence:
            yield "  " + " | ".join(str(row[name]) for name in (*DECIDED, *CONTROLLED))
    else:
        outcomes = itertools.groupby(f"{row['form']} {row['outcome']}" for row in evidence)
        counted = ", ".join(f"{len(list(alike))} {outcome}" for outcome, alike in outcomes)
        values = [float(row[name]) for row in evidence for name in ("value", "margin") if row[name] not in ("", None)]
        yield f"  full range: {counted} | {_digest(values)}"


def blind(change: Callable[..., object]) -> Callable[..., object]:
    """The change of a control, which fails where it makes a test: a control is one dataset, named beforehand.

    A control that tests the data may use the check's outcome, and then always changes it.
    """

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a control makes a test of its own")

    def changed(*datasets: object) -> object:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(verdicts.Test, "__init__", refuse)
            return change(*datasets)

    return changed


# what was shown


def golden(study: str, kind: str) -> dict[str, list[str]]:
    """Content of a file, by its lines that are not indented: figures.txt by function."""
    text = (GOLDEN / study / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
    begins = [k for k, line in enumerate(text) if line and not line.startswith(" ")]
    return {text[a]: text[a:b] for a, b in zip(begins, [*begins[1:], len(text)], strict=bool(begins))}


def alike(first: str, other: str) -> bool:
    """Equal words, numbers within rounding."""
    if NUMBER.sub("#", first) != NUMBER.sub("#", other):
        return False
    pairs = zip(map(float, NUMBER.findall(first)), map(float, NUMBER.findall(other)), strict=True)
    return all(a == b or abs(a - b) <= _rounding(max(abs(a), abs(b))) or (a != a and b != b) for a, b in pairs)


def difference(recorded: Sequence[str], now: Sequence[str]) -> str:
    """The lines of a recording that changed."""
    return "\n".join(difflib.unified_diff(recorded, now, "recorded", "now", n=0, lineterm=""))


def _rounding(size: float) -> float:
    return max(LAST_DIGIT * size, ROUND_OFF)


# a study at a time


def read(study: str) -> dict[str, dict]:
    """Dataset's file -> its shape."""
    return json.loads((GOLDEN / study / "shapes.json").read_text(encoding="utf-8"))


def makers(study: str, kind: str) -> dict[str, Function]:
    """A study's figures and tables by name, or its claims by id."""
    return {name: made for name, made in getattr(read_study(study), kind).items() if name not in HEAVY}


def given(study: str, function: Function, shapes: Mapping[str, dict], width: float = 1.0) -> dict[str, object]:
    """The datasets that a figure, table or claim reads, of the stored shapes; those of variants by variant."""

    def load(dataset: str) -> object:
        file = f"data/{dataset}.nc" if dataset == "images" else f"{study}/data/{dataset}.nc"
        if file in shapes:
            return synthetic_dataset(shapes[file], file, width)
        folder = f"{study}/data/{dataset}/"
        variants = [path for path in shapes if path.startswith(folder)]
        return {Path(path).stem: synthetic_dataset(shapes[path], path, width) for path in variants}

    return {dataset: load(dataset) for dataset in function.reads}


def text_of(study: str, kind: str, name: str, shapes: Mapping[str, dict]) -> list[str]:
    """The content of one figure or table of the synthetic datasets, or the decision of a claim on them."""
    function = makers(study, kind)[name]
    widths = (1.0, NARROW) if kind == "claims" else (1.0,)
    lines = [name]
    with warnings.catch_warnings(), figures.style():
        warnings.simplefilter("ignore")  # of axes that numbers without meaning squeeze
        called = load_function(study, function.path)
        for width in widths:
            arguments = given(study, function, shapes, width)
            if kind == "claims":
                lines += decided(called, arguments, in_full=width < 1)
            else:
                result = called(**arguments)
                lines += shown(result) if kind == "figures" else rows(result)
    return lines


def rewrite(study: str) -> None:
    """Writes the results for the stored shapes; lines that differ only by rounding are unchanged."""
    shapes = read(study)
    for kind in KINDS:
        file = GOLDEN / study / f"{kind}.txt"
        before = golden(study, kind) if file.is_file() else {}
        lines = []
        for name in sorted(makers(study, kind)):
            old, new = before.get(name, []), text_of(study, kind, name, shapes)
            same = len(old) == len(new) and all(map(alike, new, old))
            lines += old if same else new
            if not same:
                print(f"{kind} {name}")
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or STUDIES:
        rewrite(name)
