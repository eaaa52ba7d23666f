"""What a figure draws, for tests that hold its words to it: names of its colors, how much of what there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colors import is_color_like, to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from repdyn.base import figures

PALETTE = {
    figures.BLACK: ("black",),
    figures.ORANGE: ("orange",),
    figures.SKY: ("light blue", "blue"),
    figures.GREEN: ("green",),
    figures.YELLOW: ("yellow",),
    figures.BLUE: ("blue",),
    figures.RED: ("orange-red",),
    figures.PURPLE: ("purple", "pink"),
}
COLOR = re.compile(
    r"(?<![\w-])(light blue|blue|orange-red|vermilion|orange|gold|golden|yellow|green|purple|pink|magenta|violet|brown"
    r"|red|gray|grey|black|cyan)(?![\w-])",
    re.IGNORECASE,
)
SPELLED = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
COUNT = re.compile(
    rf"\b(?P<number>{'|'.join(SPELLED)}|\d+) (?P<noun>panels|histograms|networks|seeds|trials|draws|starts)\b"
    r"(?! did not)",
    re.IGNORECASE,
)
DASH = re.compile(r"(?<![\w-])(dash-dotted|dotted|dashed|dashes)(?![\w-])", re.IGNORECASE)
DOT = 2.5  # line widths: longer is a dash
LETTER = re.compile(r"(?<![\w$\\])\(([a-l])(?:\)?-\(?([a-l]))?\)")
GETTERS = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")


# colors


def color_words(text: str) -> set[str]:
    """Colors that a text names."""
    return {word.lower() for word in COLOR.findall(text)}


def names_of(colors: Iterable[str]) -> set[str]:
    """What the colors of the palette are called, and gray; other colors have no name."""
    shades = [color.lower() for color in colors]
    names = {name for shade, words in PALETTE.items() for name in words if shade.lower() in shades}
    return names | {"gray" for shade in shades if shade[1:3] == shade[3:5] == shade[5:] and "10" < shade[1:3] < "f5"}


def drawn_colors(figure: Figure) -> set[str]:
    """Colors of all data, marks and words in the panels and of the legends' handles."""
    return {color for artist in _artists(figure) for color in _colors(artist)}


def _artists(figure: Figure) -> Iterator[Artist]:
    panels = [each for panel in figure.axes for each in (panel, *panel.child_axes)]
    for panel in panels:
        yield from (*panel.lines, *panel.collections, *panel.patches, *panel.texts)
        yield from (arrow for text in panel.texts if (arrow := getattr(text, "arrow_patch", None)))
    for legend in [*figure.legends, *(panel.get_legend() for panel in panels)]:
        yield from legend.legend_handles if legend else ()


def _colors(artist: Artist) -> Iterator[str]:
    if isinstance(artist, Collection):
        artist.update_scalarmappable()
    for getter in GETTERS:
        value = getattr(artist, f"get_{getter}", lambda: None)()
        values = [value] if is_color_like(value) else value if isinstance(value, np.ndarray) else []
        shades = [to_hex(color) for color in values if is_color_like(color)]
        yield from shades
        if isinstance(alpha := artist.get_alpha(), float) and alpha < 1 and figures.BLACK in shades:
            yield to_hex((1 - alpha,) * 3)  # on white


def dash_words(text: str) -> set[str]:
    """Kinds of broken lines that a text names."""
    return {"dashed" if word == "dashes" else word for word in map(str.lower, DASH.findall(text))}


def drawn_dashes(figure: Figure, *, with_keys: bool = True) -> set[str]:
    """Kinds of broken lines in the panels, with or without those that legends name."""
    keys = set[tuple[str | None, str]]()
    for legend in [*figure.legends, *(panel.get_legend() for panel in figure.axes)]:
        for handle in legend.legend_handles if legend else ():
            keys |= {(dash, color) for dash in dashes(handle) for color in _colors(handle)}
    return {
        dash
        for panel in figure.axes
        for artist in (*panel.lines, *panel.collections, *panel.patches)
        for dash in dashes(artist)
        if dash and (with_keys or not any((dash, color) in keys for color in _colors(artist)))
    }


def dashes(artist: Artist) -> set[str | None]:
    """Ways in which the lines of an artist are broken; None: not at all."""
    if isinstance(artist, Line2D):
        patterns = [artist._unscaled_dash_pattern] if artist.get_linestyle() not in ("None", "none", "", " ") else []
    elif isinstance(artist, Patch):
        patterns = [artist._unscaled_dash_pattern] if artist.get_edgecolor()[3] else []
    else:
        patterns = artist.get_linestyle() if isinstance(artist, Collection) else []
    return {_kind_of_dash(pattern) for _, pattern in patterns}


def _kind_of_dash(pattern: list[float] | None) -> str | None:
    if pattern is None:
        return None
    strokes = pattern[::2]
    return "dotted" if max(strokes) < DOT else "dash-dotted" if min(strokes) < DOT else "dashed"


# panels


def wrong_letters(figure: Figure) -> list[str]:
    """What is wrong with the letters of panels in the caption: of no panel, out of order, some of them left out.

    A caption that begins with the second panel or later tells of single panels.
    """
    panels = {title[1] for panel in figure.axes if re.match(r"\([a-z]\)", title := panel.get_title("left"))}
    named = list[str]()
    for first, last in LETTER.findall(figure.repdyn["caption"]):
        named += [chr(code) for code in range(ord(first), ord(last or first) + 1)]
    named = list(dict.fromkeys(named))
    problems = [f"({letter}) is no panel" for letter in named if letter not in panels]
    if named[:1] == ["a"] and named != sorted(named):
        problems.append(f"({'), ('.join(named)}) are out of order")
    if named[:1] == ["a"] and (left_out := sorted(panels - set(named))):
        problems.append(f"({'), ('.join(left_out)}) left out")
    return problems


def bitmaps(figure: Figure) -> list[str]:
    """Kinds of what a vector graphic of the figure holds as a bitmap."""
    artists = figure.findobj(include_self=False)
    return [type(artist).__name__ for artist in artists if artist.get_rasterized() or isinstance(artist, AxesImage)]


# counts


def wrong_counts(figure: Figure, datasets: Iterable[xr.Dataset]) -> list[str]:
    """Counts in the figure's words that are not of what is drawn.

    Panels are counted. Networks in the title and in what is told to those who cannot see it are panels, panels of a
    row, or rows by name; seeds, trials, draws and starts are as many as a dimension or a number of the data says, or
    one fewer where the first start is shown alone, or as many as an index has values.
    """
    panels = [panel for panel in figure.axes if panel.get_visible() and panel.axison and not _is_color_bar(panel)]
    drawn = {len(panels), *_in_rows(panels), *(len(panel.get_yticks()) for panel in panels)}
    sizes = set[int]()
    for data in datasets:
        sizes |= set(data.sizes.values()) | {size - 1 for size in data.sizes.values()} | set(_numbers(data))
    allowed = {"panels": {len(panels)}, "histograms": {len(panels)}, "networks": drawn}
    words = figure.repdyn
    problems = []
    for kind in ("title", "caption", "alt"):
        for match in COUNT.finditer(words[kind]):
            number, noun = _number(match["number"]), match["noun"].lower()
            if noun == "networks" and kind == "caption":
                continue  # those over which a mean is taken, or the paper's
            if number not in allowed.get(noun, sizes):
                problems.append(f"{kind}: {match[0]}")
    return problems


def datasets_of(arguments: Mapping[str, object]) -> list[xr.Dataset]:
    """The datasets given to a figure, those of variants among them."""
    parts = [list(part.values()) if isinstance(part, dict) else [part] for part in arguments.values()]
    return [data for part in parts for data in part]


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else SPELLED.index(word.lower()) + 2


def _is_color_bar(panel: Axes) -> bool:
    return panel.get_label() == "<colorbar>"


def _in_rows(panels: Iterable[Axes]) -> Iterator[int]:
    rows = [panel.get_subplotspec().rowspan.start for panel in panels if panel.get_subplotspec()]
    yield from (rows.count(row) for row in set(rows))


def _numbers(data: xr.Dataset) -> Iterator[int]:
    for variable in data.variables.values():
        if variable.dtype.kind in "iu":
            yield variable.values.item() if variable.size == 1 else len(np.unique(variable.values))


# places


def bands_without_their_line(figure: Figure) -> list[str]:
    """Bands in whose panel no line of their color lies inside of them."""
    problems = []
    for number, panel in enumerate(figure.axes):
        for band in panel.collections:
            if not isinstance(band, PolyCollection) or not len(band.get_facecolor()):
                continue
            color = to_hex(band.get_facecolor()[0])
            lines = [line for line in panel.lines if to_hex(line.get_color()) == color]
            if not any(_lies_inside(line, band) for line in lines):
                problems.append(f"panel {number + 1}: no line of {color} lies inside of its band")
    return problems


def _lies_inside(line: Line2D, band: PolyCollection) -> bool:
    corners = np.concatenate([path.vertices for path in band.get_paths()])
    inside = []
    for x, y in np.transpose([np.asarray(values, float) for values in line.get_data(orig=False)]):
        heights = corners[np.isclose(corners[:, 0], x), 1]
        if len(heights) and np.isfinite(y):
            room = 1e-9 * (1 + abs(y))
            inside.append(heights.min() - room <= y <= heights.max() + room)
    return bool(inside) and all(inside)


def bars_without_their_mark(figure: Figure) -> list[str]:
    """Error bars beside their marks."""
    return [
        f"panel {number + 1}: {axis} = {place:g} lies outside of its bar {sorted(ends)}"
        for number, panel in enumerate(figure.axes)
        for bars in panel.containers
        if isinstance(bars, ErrorbarContainer) and bars.lines[0] is not None
        for axis, place, ends in _bars(bars)
        if not min(ends) - 1e-9 * (1 + abs(place)) <= place <= max(ends) + 1e-9 * (1 + abs(place))
    ]


def _bars(bars: ErrorbarContainer) -> Iterator[tuple[str, float, list[float]]]:
    """Axis, place of the mark and both ends of each bar that is drawn."""
    marks = dict(zip("xy", (np.asarray(values, float) for values in bars.lines[0].get_data(orig=False)), strict=True))
    axes = [axis for axis, has in (("x", bars.has_xerr), ("y", bars.has_yerr)) if has]
    for axis, drawn in zip(axes, bars.lines[2], strict=True):
        for segment, place in zip(drawn.get_segments(), marks[axis], strict=True):
            ends = [float(corner["xy".index(axis)]) for corner in segment]
            if ends and np.isfinite([place, *ends]).all():
                yield axis, float(place), ends


def keys_of_nothing(figure: Figure) -> list[str]:
    """Entries of legends that look like nothing that is drawn: other colors, lines or marks."""
    drawn = [
        artist
        for panel in figure.axes
        for each in (panel, *panel.child_axes)
        for artist in (*each.lines, *each.collections, *each.patches)
    ]
    legends = [*figure.legends, *(panel.get_legend() for panel in figure.axes)]
    return [
        text.get_text()
        for legend in legends
        if legend
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
        if not any(_looks_like(handle, artist) for artist in drawn)
    ]


def _looks_like(handle: Artist, artist: Artist) -> bool:
    if not isinstance(handle, Line2D) or not isinstance(artist, Line2D):
        return bool(set(_colors(handle)) & set(_colors(artist)))
    none = ("None", "none", " ", "", None)
    return (
        to_hex(handle.get_color()) == to_hex(artist.get_color())
        and handle.get_linestyle() in (*none, artist.get_linestyle())
        and handle.get_marker() in (*none, artist.get_marker())
    )


# axes


def axes_without_a_name(figure: Figure) -> set[str]:
    """Names, x or y, of axes of numbers that have no label, and neither has a panel below or to the left."""
    panels = [panel for panel in figure.axes if panel.get_visible() and panel.axison and not _is_color_bar(panel)]
    unnamed = set[str]()
    for panel in panels:
        for name in "xy":
            beside = [other for other in panels if other is panel or _shares_its_label(panel, other, name)]
            if _has_numbers(panel, name) and not any(getattr(other, f"get_{name}label")() for other in beside):
                unnamed.add(name)
    return unnamed


def _shares_its_label(panel: Axes, other: Axes, name: str) -> bool:
    """Whether another panel lies below in the same column, or to the left in the same row."""
    places = [one.get_subplotspec() for one in (panel, other)]
    if None in places:
        return False
    (rows, columns), (other_rows, other_columns) = ((place.rowspan.start, place.colspan.start) for place in places)
    return (
        columns == other_columns and other_rows > rows
        if name == "x"
        else rows == other_rows and other_columns < columns
    )


def _has_numbers(panel: Axes, name: str) -> bool:
    axis = getattr(panel, f"{name}axis")
    if isinstance(axis.get_major_formatter(), NullFormatter) or not len(axis.get_majorticklocs()):
        return False
    words = [label.get_text() for label in axis.get_ticklabels()]
    return not any(word.strip("\N{MINUS SIGN}-.0123456789") for word in words)


def even_axes_of_growing_steps(figure: Figure) -> list[str]:
    """Linear axes on which a line has four or more places over a decade, each at least 1.4 times the one before."""
    return [
        f"panel {number + 1}, {name}: {places.tolist()}"
        for number, panel in enumerate(figure.axes)
        for name in "xy"
        if getattr(panel, f"get_{name}scale")() == "linear"
        for places in (_places(line, name) for line in panel.lines if line.get_transform() == panel.transData)
        if len(places) > 3 and places[0] > 0 and places[-1] >= 10 * places[0] and (places[1:] > 1.4 * places[:-1]).all()
    ]


def _places(line: Line2D, name: str) -> np.ndarray:
    places = np.asarray(getattr(line, f"get_{name}data")(orig=False), float)
    return np.unique(places[np.isfinite(places)])
