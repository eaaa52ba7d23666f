"""The numbers behind a figure as a table: its lines, points, bars, bands and images, read from the artists.

One row per point, bar or cell, with ten digits; `docs/outputs.md` explains the columns. It includes everything visible
at data coordinates, each line and point; texts next to the data and color bars are omitted.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import (
    Collection,
    FillBetweenPolyCollection,
    LineCollection,
    PathCollection,
    PolyCollection,
    QuadMesh,
)
from matplotlib.colors import to_hex, to_rgba
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle, StepPatch
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Transform

from repdyn.base.arrays import Array

COLUMNS = ("panel", "x_axis", "y_axis", "kind", "series", "part")
NUMBERS = ("x", "y", "x_low", "x_high", "y_low", "y_high", "value")
CELLS = 50_000  # a larger image is one row
BESIDE = frozenset({"level", "span", "text", "arrow"})  # next to the data
COLORBAR = "<colorbar>"  # matplotlib's name of the axes of a color bar
MARKS = frozenset({"", " ", "none", "None"})  # line styles that draw no line
Block = Mapping[str, Any]


def table(figure: Figure) -> str:
    """The rows of all panels as CSV, in plotting order; insets follow their panel, color bars are omitted."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow((*COLUMNS, *NUMBERS))
    panels = [each for panel in figure.axes for each in (panel, *panel.child_axes) if isinstance(each, Axes)]
    for number, panel in enumerate(filter(_is_shown, panels), start=1):
        title = " ".join(filter(None, (_flat(panel.get_title(where)) for where in ("left", "center", "right"))))
        about = (f"{number} {title}".strip(), _name(panel, "x"), _name(panel, "y"))
        names, parts = _Names(panel, figure), Counter[tuple[str, str]]()
        for artist, block in _drawn(panel):
            series = block["kind"], names.of(artist, block)
            parts[series] += 1
            writer.writerows((*about, *series, parts[series], *numbers) for numbers in _numbers(block))
    return written.getvalue()


def is_missing(panel: Axes, *columns: str) -> bool:
    """Whether a panel has artists, but none with finite numbers in all of its columns.

    Args:
        panel: the panel.
        columns: some of `NUMBERS`; without any, levels, spans and texts do not count. Lines between two points, such as
            that of equality, count only if there is nothing else.
    """
    every = [block for _, block in _drawn(panel) if columns or block["kind"] not in BESIDE]
    blocks = [block for block in every if block["kind"] != "line" or np.size(block["x"]) > 2] or every
    wanted = [[name for name in columns or ("x", "y", "value") if name in block] for block in blocks]
    values = [[np.ravel(block[name]) for name in names] for block, names in zip(blocks, wanted, strict=True) if names]
    values = [columns for columns in values if columns[0].size]
    return bool(values) and not any(np.isfinite(columns).all(axis=0).any() for columns in values)


def _numbers(block: Block) -> Iterator[tuple[str, ...]]:
    """The columns of numbers of a block, row by row."""
    known = [name for name in NUMBERS if name in block]
    texts = {name: map(_number, np.ravel(block[name]).tolist()) for name in known}
    for row in zip(*texts.values(), strict=True):
        cells = dict(zip(known, row, strict=True))
        yield tuple(cells.get(name, "") for name in NUMBERS)


def _number(value: float) -> str:
    return "" if value != value else f"{value:.10g}"


# panels and names


def _is_shown(panel: Axes) -> bool:
    return bool(panel.get_visible()) and panel.get_label() != COLORBAR


def _flat(words: object) -> str:
    return " ".join(str(words).split()).replace(r"\$", "$")


def _name(panel: Axes, which: str) -> str:
    """An axis's label, if necessary from the panel that shares it, and the labels of its ticks."""
    shared = {"x": panel.get_shared_x_axes, "y": panel.get_shared_y_axes}[which]().get_siblings(panel)
    axes: list[Axis] = [getattr(each, f"{which}axis") for each in (panel, *shared)]
    overall = panel.figure.get_supxlabel() if which == "x" else panel.figure.get_supylabel()
    words = next(filter(None, (_flat(axis.get_label_text()) for axis in axes)), _flat(overall))
    return f"{words} {_ticks(axes[0])}".strip()


def _ticks(axis: Axis) -> str:
    """The labels of ticks that are not numbers; "" if all are."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return ""
    places = axis.get_majorticklocs().tolist()
    named = list(zip(places, map(_flat, axis.get_major_formatter().format_ticks(places)), strict=True))
    if all(label in ("", f"{place:g}") for place, label in named):
        return ""
    return f"({', '.join(f'{place:g}: {label}' for place, label in named)})"


class _Names:
    """Names of a panel's artists: their label, or the matching entry of a legend."""

    def __init__(self, panel: Axes, figure: Figure) -> None:
        self.labels: dict[Artist, object] = {}
        self.known: dict[Artist, str] = {}
        for container in panel.containers:
            for part in _parts(container):
                self.labels[part] = container.get_label()
        own = panel.get_legend()
        others = (other.get_legend() for other in figure.axes if other is not panel)
        self.legends: list[Legend] = [legend for legend in (own, *figure.legends, *others) if legend]

    def of(self, artist: Artist, block: Block) -> str:
        """The name, else the color, or "" if values determine it."""
        if "series" in block:
            return _flat(block["series"])
        if artist not in self.known:
            self.known[artist] = self._found(artist, "" if "value" in block else _color(artist))
        return self.known[artist]

    def _found(self, artist: Artist, color: str) -> str:
        for label in (artist.get_label(), self.labels.get(artist, "")):
            if label and not str(label).startswith("_"):
                return _flat(label)
        if (bar := getattr(artist, "colorbar", None)) is not None:
            return _flat(bar.ax.get_ylabel() or bar.ax.get_xlabel())
        return next(filter(None, (_entry(legend, artist, color) for legend in self.legends)), color)


def _entry(legend: Legend, artist: Artist, color: str) -> str:
    """The only entry of a legend with the artist's color and, if several have it, its line style and marker."""
    entries = list(zip(legend.legend_handles, legend.get_texts(), strict=True))
    alike = [(handle, words) for handle, words in entries if _color(handle) == color != ""]
    if len(alike) > 1 and isinstance(artist, Line2D):
        alike = [(handle, words) for handle, words in alike if _look(handle) == _look(artist)]
    return _flat(alike[0][1].get_text()) if len(alike) == 1 else ""


def _look(artist: Artist | None) -> tuple[object, ...]:
    return (artist.get_linestyle(), artist.get_marker()) if isinstance(artist, Line2D) else ()


def _color(artist: Artist | None) -> str:
    """The color as #rrggbb; "" if parts differ."""
    if isinstance(artist, Line2D | Text):
        return to_hex(artist.get_color())
    if isinstance(artist, Patch):
        filled = artist.get_fill() and to_rgba(artist.get_facecolor())[3] > 0
        return to_hex(artist.get_facecolor() if filled else artist.get_edgecolor())
    if isinstance(artist, Collection):
        colors = artist.get_edgecolor() if isinstance(artist, LineCollection) else artist.get_facecolor()
        every = {to_hex(tuple(color)) for color in np.reshape(colors, (-1, 4)).tolist()}
        return every.pop() if len(every) == 1 else ""
    return ""


# artists


def _parts(container: object) -> list[Artist]:
    """The artists of a container."""
    if isinstance(container, BarContainer):
        return list(container)
    if isinstance(container, ErrorbarContainer):
        line, caps, bars = container.lines
        return [*filter(None, [line]), *caps, *bars]
    return []


def _drawn(panel: Axes) -> Iterator[tuple[Artist, Block]]:
    """Everything visible in a panel in units of its axes, as columns of numbers."""
    done: set[Artist] = set()
    for container in panel.containers:
        done.update(_parts(container))
        if isinstance(container, ErrorbarContainer):
            yield from _errorbar(container)
        elif isinstance(container, BarContainer):
            yield from _bars(container)
    artists: Iterable[Artist] = (*panel.lines, *panel.collections, *panel.patches, *panel.images, *panel.texts)
    for artist in artists:
        if artist.get_visible() and artist not in done:
            for block in _blocks(artist, panel):
                yield artist, block


def _blocks(artist: Artist, panel: Axes) -> Iterator[Block]:
    if isinstance(artist, Line2D):
        yield from _line(artist, panel)
    elif isinstance(artist, ContourSet):
        for level, path in zip(artist.levels, artist.get_paths(), strict=True):
            for curve in path.to_polygons(closed_only=False):
                yield {"kind": "contour", **_places(curve), "value": np.full(_array(curve).shape[0], level)}
    elif isinstance(artist, QuadMesh):
        yield _mesh(artist)
    elif isinstance(artist, AxesImage):
        yield _image(artist)
    elif isinstance(artist, Collection):
        yield from _collection(artist, panel)
    elif isinstance(artist, StepPatch):
        values, edges, _ = artist.get_data()
        yield {"kind": "steps", "y": values, "x_low": edges[:-1], "x_high": edges[1:]}
    elif isinstance(artist, Rectangle):
        yield _span(artist, panel)
    elif isinstance(artist, Polygon):
        yield {"kind": "area", **_places(artist.get_xy())}
    elif isinstance(artist, Text):
        yield from _text(artist, panel)


def _in_data(transform: Transform, panel: Axes) -> tuple[bool, bool]:
    """Whether x and y are in units of the axes; matplotlib's own test confuses transforms with equal numbers."""
    if transform is panel.transAxes:
        return False, False
    if transform is panel.get_xaxis_transform():
        return True, False
    if transform is panel.get_yaxis_transform():
        return False, True
    x, y = transform.contains_branch_seperately(panel.transData)
    return x, y


def _array(values: Any) -> Array:
    """Numbers, with masked ones missing."""
    return np.asarray(np.ma.filled(np.ma.asarray(values, float), np.nan))


def _places(points: Any) -> dict[str, Array]:
    x, y = _array(points).reshape(-1, 2).T
    return {"x": x, "y": y}


def _line(line: Line2D, panel: Axes) -> Iterator[Block]:
    along_x, along_y = _in_data(line.get_transform(), panel)
    x, y = (_array(values) for values in line.get_data(orig=False))
    if along_x and along_y:
        drawn_as = "points" if line.get_linestyle() in MARKS else "line"
        yield {"kind": "steps" if line.get_drawstyle() != "default" else drawn_as, "x": x, "y": y}
    elif along_x or along_y:
        yield {"kind": "level", "x": np.unique(x)} if along_x else {"kind": "level", "y": np.unique(y)}


def _collection(drawn: Collection, panel: Axes) -> Iterator[Block]:
    array = drawn.get_array()
    value = {} if array is None else {"value": _array(array)}
    if isinstance(drawn, PathCollection):
        places = _places(drawn.get_offsets())
        known = zip(places, _in_data(drawn.get_offset_transform(), panel), strict=True)
        yield {"kind": "points", **{axis: places[axis] for axis, is_data in known if is_data}, **value}
    elif not all(_in_data(drawn.get_transform(), panel)):
        return
    elif isinstance(drawn, FillBetweenPolyCollection):
        along = drawn.t_direction  # type: ignore[attr-defined]  # matplotlib's annotations lack it
        yield from (_band(_array(path.vertices), along) for path in drawn.get_paths())
    elif isinstance(drawn, LineCollection | PolyCollection):
        kind = "line" if isinstance(drawn, LineCollection) else "area"
        for place, path in enumerate(drawn.get_paths()):
            told = {"value": np.full(len(_array(path.vertices)), value["value"][place])} if value else {}
            yield {"kind": kind, **_places(_array(path.vertices)), **told}


def _band(vertices: Array, along: str) -> Block:
    """A band from its outline: a corner, one side, a corner, the other side backwards, and the first corner again."""
    count = (len(vertices) - 3) // 2
    first, second = vertices[1 : count + 1], vertices[count + 2 : 2 * count + 2][::-1]
    place, other = (0, 1) if along == "x" else (1, 0)
    across = "y" if along == "x" else "x"
    sides = {f"{across}_low": first[:, other], f"{across}_high": second[:, other]}
    return {"kind": "band", along: first[:, place], **sides}


def _errorbar(container: ErrorbarContainer) -> Iterator[tuple[Artist, Block]]:
    """The points with the ends of their bars."""
    line, _, bars = container.lines
    directions = [axis for axis, has in (("x", container.has_xerr), ("y", container.has_yerr)) if has]
    ends: dict[str, Array] = {}
    for axis, drawn in zip(directions, bars, strict=True):
        sides = np.array([_array(path.vertices)[:, "xy".index(axis)] for path in drawn.get_paths()]).reshape(-1, 2)
        ends |= {f"{axis}_low": sides[:, 0], f"{axis}_high": sides[:, 1]}
    if line is not None:
        kind = "points" if line.get_linestyle() in MARKS else "line"
        yield line, {"kind": kind, **_places(np.transpose(_array(line.get_data(orig=False)))), **ends}
    elif bars:
        yield bars[0], {"kind": "bar", **ends}


def _edges(boxes: Iterable[Rectangle]) -> dict[str, Array]:
    sides = np.array([(*box.get_xy(), box.get_width(), box.get_height()) for box in boxes], float)
    edges = np.sort([sides[:, :2], sides[:, :2] + sides[:, 2:]], axis=0)
    return {f"{axis}_{end}": edges[j, :, k] for k, axis in enumerate("xy") for j, end in enumerate(("low", "high"))}


def _bars(container: BarContainer) -> Iterator[tuple[Artist, Block]]:
    """Bars by their edges, with the middle of their ends as x and y."""
    bars = [bar for bar in container if isinstance(bar, Rectangle)]
    if not bars:
        return
    edges, flat = _edges(bars), container.orientation == "horizontal"
    ends = np.array([(bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height()) for bar in bars])
    middles = {axis: (edges[f"{axis}_low"] + edges[f"{axis}_high"]) / 2 for axis in "xy"}
    places = {"x": ends[:, 0], "y": middles["y"]} if flat else {"x": middles["x"], "y": ends[:, 1]}
    yield bars[0], {"kind": "bar", **places, **edges}


def _span(box: Rectangle, panel: Axes) -> Block:
    """A rectangle by its edges; a span across the whole panel has edges along one axis only."""
    known = dict(zip("xy", _in_data(box.get_data_transform(), panel), strict=True))
    return {"kind": "span", **{name: edge for name, edge in _edges([box]).items() if known[name[0]]}}


def _mesh(mesh: QuadMesh) -> Block:
    values, corners = _array(mesh.get_array()), mesh.get_coordinates()
    if values.size > CELLS:
        return _too_large(values.shape)
    corners = _array(corners)
    four = np.stack([corners[:-1, :-1], corners[:-1, 1:], corners[1:, :-1], corners[1:, 1:]])
    low, high = four.min(axis=0), four.max(axis=0)
    return {"kind": "cell", "value": values, **_box(low[..., 0], high[..., 0], low[..., 1], high[..., 1])}


def _image(image: AxesImage) -> Block:
    values = _array(image.get_array())
    if values.ndim > 2 or values.size > CELLS:
        return _too_large(values.shape)
    left, right, bottom, top = image.get_extent()
    first, last = (top, bottom) if image.origin == "upper" else (bottom, top)
    (rows, columns), size = values.shape, values.shape
    x, y = np.linspace(left, right, columns + 1), np.linspace(first, last, rows + 1)
    across = [np.broadcast_to(side, size) for side in (x[:-1], x[1:])]
    up = [np.broadcast_to(side[:, None], size) for side in (np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:]))]
    return {"kind": "cell", "value": values, **_box(*across, *up)}


def _box(left: Array, right: Array, low: Array, high: Array) -> dict[str, Array]:
    middles = {"x": (left + right) / 2, "y": (low + high) / 2}
    return middles | {"x_low": left, "x_high": right, "y_low": low, "y_high": high}


def _too_large(shape: tuple[int, ...]) -> Block:
    size = " x ".join(map(str, shape))
    return {"kind": "cell", "series": f"{size} values, not listed: see the figure's datasets", "value": np.nan}


def _text(words: Text, panel: Axes) -> Iterator[Block]:
    """A text or an arrow at data coordinates; others are not data."""
    if isinstance(words, Annotation):
        if words.xycoords != "data":
            return
        x, y = words.xy
        if words.arrow_patch is not None and words.anncoords == "data":
            yield {"kind": "arrow", "series": "", **_places([words.xyann, words.xy])}
    elif all(_in_data(words.get_transform(), panel)):
        x, y = words.get_position()
    else:
        return
    if words.get_text():
        yield {"kind": "text", "series": words.get_text(), "x": float(x), "y": float(y)}
