"""Legibility checks of a figure: legends and texts over data or each other, cut or small letters, missing glyphs."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from repdyn.base.arrays import Array

SMALLEST = 7.5  # points, the smallest letters in print
TOUCHING = 1.0  # pixels by which boxes may overlap: the leading above and below letters
SAMPLES = 12  # per side, of a legend over filled areas
SHARE = 0.05  # share of a legend over a filled area above which it is an error
GLYPH = re.compile(r"[Gg]lyph.*(missing|not have|replaced)|not have a glyph")


def problems(figure: Figure, *, is_drawn: bool = False) -> list[str]:
    """Legibility problems, in words; empty if the files are missing.

    Args:
        figure: the figure.
        is_drawn: whether it was just rendered at its resolution, so that its layout is final.
    """
    if not is_drawn:
        figure.draw_without_rendering()
    texts = [(text, text.get_window_extent()) for text in _texts(figure)]
    return sorted(
        {
            *_small(text for text, _ in texts),
            *_cut(figure, texts),
            *_colliding(texts),
            *(problem for panel in figure.axes for problem in _covering(panel, figure)),
        }
    )


class _Glyphs(logging.Handler):
    """Collects the messages about characters that a font lacks."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self.messages = messages
        self.addFilter(lambda record: bool(GLYPH.search(record.getMessage())))

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def missing_glyphs() -> Iterator[list[str]]:
    """Collects messages about missing characters while a figure is rendered; other warnings are passed on."""
    messages: list[str] = []
    handler = _Glyphs(messages)
    logger = logging.getLogger("matplotlib.mathtext")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield messages
    finally:
        logger.removeHandler(handler)
    for warning in caught:
        if GLYPH.search(str(warning.message)):
            messages.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    messages[:] = sorted(set(messages))


def _texts(figure: Figure) -> list[Text]:
    """Visible texts: not empty, in visible artists, ticks only within their axis."""
    holders: list[Artist] = [*figure.axes, *figure.findobj(Legend)]
    hidden = {id(part) for holder in holders if not holder.get_visible() for part in holder.findobj()}
    for panel in figure.axes:
        hidden |= {id(label) for label in _labels_outside(panel)}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in texts if id(text) not in hidden and not _is_clear(text)]


def _is_clear(artist: Artist) -> bool:
    alpha = artist.get_alpha()
    return alpha is not None and not np.any(np.asarray(alpha) > 0)  # each dot may have its own


def _labels_outside(panel: Axes) -> Iterator[Text]:
    """Labels of ticks that are not shown: outside the view, or of an axis that is off."""
    for axis in (panel.xaxis, panel.yaxis):
        scale = axis.get_transform()
        low, high = sorted(scale.transform(axis.get_view_interval()))
        margin = 1e-9 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            inside = low - margin <= scale.transform([tick.get_loc()])[0] <= high + margin
            if not (inside and axis.get_visible() and panel.axison):
                yield from (tick.label1, tick.label2)
        if not panel.axison or not axis.get_visible():
            yield from (axis.label, axis.offsetText)


def _small(texts: Iterable[Text]) -> Iterator[str]:
    for text in texts:
        size = float(text.get_fontsize())
        if size < SMALLEST - 1e-6:
            yield f"{_shown(text)} has letters of {size:.3g} pt, under {SMALLEST} pt"


def _cut(figure: Figure, texts: Iterable[tuple[Text, Bbox]]) -> Iterator[str]:
    edge = figure.bbox.padded(TOUCHING)
    for text, box in texts:
        if box.x0 < edge.x0 or box.y0 < edge.y0 or box.x1 > edge.x1 or box.y1 > edge.y1:
            yield f"{_shown(text)} is cut off by the figure's edge"


def _colliding(texts: Iterable[tuple[Text, Bbox]]) -> Iterator[str]:
    drawn = [(text, box, _corners(text, box)) for text, box in texts]
    for (first, box, corners), (second, other, others) in combinations(drawn, 2):
        if box.overlaps(other) and _overlap(corners, others):
            yield f"{_shown(first)} and {_shown(second)} cover each other"


def _corners(text: Text, box: Bbox) -> Array:
    """Corners of a text in order, shape (4, 2), pixels: the rotated box of its letters without leading.

    Args:
        text: the text.
        box: its upright bounding box.
    """
    turn = text.get_rotation()
    text.set_rotation(0)
    level = text.get_window_extent()
    text.set_rotation(turn)
    x, y = max(level.width - TOUCHING, 0) / 2, max(level.height - 2 * TOUCHING, 0) / 2
    cosine, sine = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    middle = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    rectangle, rotation = (np.array([[-x, -y], [x, -y], [x, y], [-x, y]]), np.array([[cosine, sine], [-sine, cosine]]))
    return np.asarray(middle + rectangle @ rotation)


def _overlap(corners: np.ndarray, others: np.ndarray) -> bool:
    """Whether two rectangles overlap, by the separating axis theorem."""
    sides = np.concatenate([np.diff(corners[:3], axis=0), np.diff(others[:3], axis=0)])
    shadows, other_shadows = sides @ corners.T, sides @ others.T
    apart = (shadows.max(axis=1) <= other_shadows.min(axis=1)) | (other_shadows.max(axis=1) <= shadows.min(axis=1))
    return not apart.any()


def _covering(panel: Axes, figure: Figure) -> Iterator[str]:
    """Legends, and free texts of a panel, that cover its data."""
    if not panel.get_visible():
        return
    legends = [legend for legend in (panel.get_legend(), *figure.legends) if legend is not None]
    legends += [artist for artist in panel.artists if isinstance(artist, Legend)]
    boxes = [("the legend", box, True) for legend in legends for box in _legend_boxes(legend)]
    texts = [text for text in panel.texts if text.get_visible() and text.get_text().strip()]
    boxes += [(_shown(text), text.get_window_extent(), False) for text in texts]
    for name, box, over_areas in boxes:
        inner = Bbox.from_extents(box.x0 + TOUCHING, box.y0 + TOUCHING, box.x1 - TOUCHING, box.y1 - TOUCHING)
        for artist in _data(panel):
            if (over_areas or not _is_area(artist)) and _lies_under(artist, inner, panel):
                yield f"{_place(panel)}: {name} covers {_name(artist)}"


def _legend_boxes(legend: Legend) -> list[Bbox]:
    """Boxes of a legend's texts and of the handles before them."""
    if not legend.get_visible():
        return []
    handles = [handle for handle in legend.legend_handles if handle is not None]
    boxes = [part.get_window_extent() for part in (*legend.get_texts(), legend.get_title(), *handles)]
    return [box for box in boxes if box.width > 2 * TOUCHING and box.height > 0]


def _data(panel: Axes) -> list[Artist]:
    artists = [*panel.lines, *panel.collections, *panel.patches, *panel.images]
    return [artist for artist in artists if artist.get_visible() and not _is_clear(artist)]


def _is_area(artist: Artist) -> bool:
    return not isinstance(artist, Line2D | LineCollection | PathCollection)


def _lies_under(artist: Artist, box: Bbox, panel: Axes) -> bool:
    """Whether the visible part of an artist passes through a box."""
    seen = Bbox.intersection(box, panel.bbox)
    if seen is None or seen.width <= 0 or seen.height <= 0:
        return False
    if isinstance(artist, Line2D):
        return _line_passes(artist, seen)
    if isinstance(artist, PathCollection):
        return _markers_lie(artist, seen)
    if isinstance(artist, LineCollection):
        paths = [artist.get_transform().transform_path(path) for path in artist.get_paths()]
        return any(path.intersects_bbox(seen, filled=False) for path in paths)
    return _area_covers(artist, seen, box)


def _line_passes(line: Line2D, box: Bbox) -> bool:
    points = line.get_transform().transform(np.column_stack(line.get_data(orig=False)))
    points = points[np.isfinite(points).all(axis=1)]
    if line.get_marker() not in (None, "", " ", "None", "none") and _inside(points, box, line.get_markersize() / 2):
        return True
    drawn = line.get_linestyle() not in ("None", "", " ") and len(points) > 1
    return drawn and bool(line.get_transform().transform_path(line.get_path()).intersects_bbox(box, filled=False))


def _markers_lie(markers: PathCollection, box: Bbox) -> bool:
    points = markers.get_offset_transform().transform(np.ma.filled(markers.get_offsets(), np.nan))
    sizes = markers.get_sizes()
    return _inside(points, box, float(np.sqrt(sizes.mean())) / 2 if len(sizes) else 0.0)


def _inside(points: np.ndarray, box: Bbox, radius: float) -> bool:
    x, y = points[:, 0], points[:, 1]
    across = (x > box.x0 - radius) & (x < box.x1 + radius)
    return bool((across & (y > box.y0 - radius) & (y < box.y1 + radius)).any())


def _area_covers(artist: Artist, seen: Bbox, box: Bbox) -> bool:
    """Whether a filled area lies under more than a small share of a box."""
    if isinstance(artist, Collection):
        transform, paths = artist.get_transform(), artist.get_paths()
        paths = [transform.transform_path(path) for path in paths]
    elif hasattr(artist, "get_path"):
        paths = [artist.get_transform().transform_path(artist.get_path())]
    else:
        extent = artist.get_window_extent()
        paths = [Path([[extent.x0, extent.y0], [extent.x1, extent.y0], [extent.x1, extent.y1], [extent.x0, extent.y1]])]
    x, y = np.linspace(box.x0, box.x1, SAMPLES), np.linspace(box.y0, box.y1, SAMPLES)
    points = np.array([[a, b] for a in x for b in y if seen.x0 <= a <= seen.x1 and seen.y0 <= b <= seen.y1])
    covered = np.zeros(len(points), bool)
    for path in paths if len(points) else []:
        covered |= path.contains_points(points)
    return bool(covered.sum() > SHARE * SAMPLES**2)


def _shown(text: Text) -> str:
    words = " ".join(text.get_text().split())
    return repr(words if len(words) <= 40 else f"{words[:37]}...")


def _place(panel: Axes) -> str:
    title = panel.get_title(loc="left") or panel.get_title()
    return f"panel {title[:40]!r}" if title else f"panel {panel.figure.axes.index(panel) + 1}"


def _name(artist: Artist) -> str:
    label = str(artist.get_label())
    kind = {Line2D: "a line", PathCollection: "points"}.get(type(artist), "an area" if _is_area(artist) else "lines")
    return kind if not label or label.startswith("_") else f"{kind} ({label})"
