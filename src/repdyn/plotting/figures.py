"""Figures: one style for all studies, deterministic files, constants that say what is plotted, named facts.

Colors are the eight of Okabe and Ito, distinguishable for color-blind readers; line style or marker repeats the color's
meaning. A figure's title, caption, alternative text and facts, and what `legibility` finds in it, are saved with it in
a JSON file of the same name, and the numbers that it shows in a CSV file (`plotted`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, TypedDict, Unpack, cast

import matplotlib as mpl
import numpy as np
from matplotlib import style as styles
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from repdyn.base.facts import Fact, Facts, plain_facts
from repdyn.base.files import atomic, write_json, write_text
from repdyn.plotting import legibility, plotted

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
CYCLE = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK)
SHAPED_TEXT = re.compile(
    r"(?P<indent>^ *)<!-- (?P<words>.*?) -->\n *<g [^>]*?transform=\"translate\((?P<place>[^)]*)\)"
    r"(?: rotate\((?P<turn>[^)]*)\))? scale\((?P<scale>[\d.]+) ",
    re.MULTILINE,
)
HIDDEN_TEXT = 'fill-opacity="0" font-family="DejaVu Sans, sans-serif"'
BELOW = 32  # points from a panel to the legend below it: ticks, their labels and the label of the axis
NOTHING = "no finite value:\nnothing converged"
COLORS = 48  # of a color map; matplotlib draws the bar of one with 50 or more as a bitmap
DPI = 160
WIDTH = 6.9  # inches: the text width of a journal page, so that 8 pt in the file is 8 pt in print
STYLE = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=CYCLE),
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "savefig.dpi": DPI,
    "svg.fonttype": "path",  # `selectable` adds the text
}


P = ParamSpec("P")


class Drawn(NamedTuple):
    """A figure with facts of its data.

    Attributes:
        figure: the figure, made by `new`.
        facts: named numbers for readers: counts, sizes, slopes, shares.
    """

    figure: Figure
    facts: Facts


class Description(TypedDict):
    """Description of a figure, with the entries of `figure`."""

    title: str
    caption: str
    alt: str
    facts: dict[str, Fact]


class DescribedFigure(Figure):
    """A figure with its description.

    Attributes:
        repdyn: what the decorator `figure` says, and the facts.
    """

    repdyn: Description


SharedAxis = Literal["none", "all", "row", "col"] | bool


class Subplots(TypedDict, total=False):
    """Further arguments of `Figure.subplots`."""

    sharex: SharedAxis
    sharey: SharedAxis
    width_ratios: Sequence[float]
    height_ratios: Sequence[float]
    subplot_kw: dict[str, Any]
    gridspec_kw: dict[str, Any]


def style() -> AbstractContextManager[None]:
    """The style as a context in which to plot; a user's matplotlibrc has no effect."""
    return styles.context(["default", STYLE])


def new(
    rows: int = 1, columns: int = 1, *, height: float = 2.6, width: float = WIDTH, **subplots: Unpack[Subplots]
) -> tuple[Figure, np.ndarray]:
    """A figure in the common style with an array of axes, shape (rows, columns).

    Args:
        rows: rows of panels.
        columns: columns of panels.
        height: inches per row.
        width: inches, whole figure.
        subplots: further arguments of `Figure.subplots`.
    """
    with style():
        figure = DescribedFigure(figsize=(width, height * rows), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, squeeze=False, **subplots)


def figure(
    *, title: str, caption: str, alt: str
) -> Callable[[Callable[P, Figure | Drawn]], Callable[P, DescribedFigure]]:
    """Decorator of a function that plots a figure from datasets; its texts say what is plotted and hold at every scale.

    Args:
        title: what the figure shows, with the number in the paper, if any.
        caption: what lines, bands and panels are; numbers of the run are in the figure's facts.
        alt: alternative text of one or two sentences.

    Example:
        >>> @figure(title="Decay of the cost", caption="One line per seed.", alt="Falling lines.")
        ... def decay(descent):
        ...     drawn, axes = new()
        ...     axes[0, 0].plot(descent["cost"])
        ...     return Drawn(drawn, {"seeds": descent["cost"].size})
        >>> decay({"cost": np.ones(3)}).repdyn["facts"]
        {'seeds': 3}
    """

    def decorate(draw: Callable[P, Figure | Drawn]) -> Callable[P, DescribedFigure]:
        @functools.wraps(draw)
        def described(*args: P.args, **kwargs: P.kwargs) -> DescribedFigure:
            result = draw(*args, **kwargs)
            drawn, facts = result if isinstance(result, Drawn) else (result, {})
            carrier = _from_here(drawn)
            carrier.repdyn = {"title": title, "caption": caption, "alt": alt, "facts": plain_facts(facts)}
            return carrier

        return described

    return decorate


def _from_here(figure: Figure) -> DescribedFigure:
    if not isinstance(figure, DescribedFigure):
        raise TypeError(f"figure: got {type(figure).__name__}; expected one made by plotting.figures.new")
    return figure


def label_panels(axes: np.ndarray) -> None:
    """Letters (a), (b), ... in reading order, before each panel's title."""
    for letter, panel in zip("abcdefghijklmnopqrstuvwxyz", np.ravel(axes), strict=False):
        words = f"({letter}) {panel.get_title()}"
        panel.set_title("")
        panel.set_title(words, loc="left")


def legend_below(panel: Axes, *, columns: int = 1) -> None:
    """The panel's legend under the label of its x axis, away from the data."""
    under = ScaledTranslation(0, -BELOW / 72, panel.figure.dpi_scale_trans)
    panel.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=panel.transAxes + under, ncols=columns,
        borderaxespad=0, columnspacing=1.2,
    )  # fmt: skip


def plain_numbers(axis: Axis) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 of every decade, written out."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def color_bar(figure: Figure, shown: ScalarMappable, **place: Any) -> Colorbar:
    """The color bar of an artist with a `color_map`, without gaps between its steps; `place` as for `colorbar`."""
    bar = figure.colorbar(shown, **place)
    cast("QuadMesh", bar.solids).set_edgecolor("face")
    return bar


def color_map(name: str) -> Colormap:
    """A color map of matplotlib with few enough steps that its bar is a vector graphic."""
    return mpl.colormaps[name].resampled(COLORS)


def band(panel: Axes, x: np.ndarray, low: np.ndarray, high: np.ndarray, **style: Any) -> None:
    """A shaded band that prints well; `style` as for `Axes.fill_between`."""
    panel.fill_between(x, low, high, alpha=0.22, linewidth=0, **style)


def half_width(draws: ArrayLike) -> np.ndarray:
    """Half-width of the 95 % t-interval of the mean over the last axis; 0 for a single draw."""
    draws = np.asarray(draws, float)
    n = draws.shape[-1]
    if n < 2:
        return np.zeros(draws.shape[:-1])
    quantile = float(stdtrit(n - 1, 0.975))
    return np.asarray(quantile * draws.std(axis=-1, ddof=1) / np.sqrt(n))


def save(figure: Figure, stem: Path | str, origin: Mapping[str, object] | None = None) -> None:
    """Writes `<stem>.svg`, `<stem>.png`, `<stem>.csv`, `<stem>.json`; equal bytes every time.

    A panel whose data are all missing says so.

    Args:
        figure: the figure, described by the decorator `figure`.
        stem: path of the files without the suffix.
        origin: further entries of the JSON file: function, code version and datasets of the figure.
    """
    stem = Path(stem)
    about = _from_here(figure).repdyn
    figure.set_dpi(DPI)
    say_what_is_missing(figure)
    # Two calls are not type-checked: matplotlib's backends have no annotations.
    with style(), mpl.rc_context({"svg.hashsalt": stem.name}), legibility.missing_glyphs() as missing:
        with atomic(f"{stem}.png") as temporary:
            canvas = FigureCanvasAgg(figure)
            canvas.print_png(temporary, metadata={"Title": about["title"]})  # type: ignore[no-untyped-call]
        problems = legibility.problems(figure, is_drawn=True)
        figure.set_layout_engine("none")  # all keeps its place in the other file
        with atomic(f"{stem}.svg") as temporary:
            metadata = {"Date": None, "Title": about["title"]}
            FigureCanvasSVG(figure).print_svg(temporary, metadata=metadata)  # type: ignore[no-untyped-call]
            temporary.write_text(selectable(temporary.read_text(encoding="utf-8")), encoding="utf-8")
    write_text(f"{stem}.csv", plotted.table(figure))
    write_json(f"{stem}.json", {**about, "problems": [*problems, *missing], **(origin or {})})


def say_what_is_missing(figure: Figure) -> None:
    """Marks panels whose data are all missing; an axis without numbers becomes linear."""
    empty = [panel for panel in figure.axes if plotted.is_missing(panel)]
    for panel in empty:
        for axis, siblings in (("x", panel.get_shared_x_axes()), ("y", panel.get_shared_y_axes())):
            if all(one in empty and plotted.is_missing(one, axis) for one in siblings.get_siblings(panel)):
                panel.set(**{f"{axis}scale": "linear"})
        if not any("converged" in text.get_text() for text in panel.texts):
            panel.text(0.5, 0.5, NOTHING, ha="center", va="center", transform=panel.transAxes)


def selectable(svg: str) -> str:
    """An SVG file of matplotlib in which each text, drawn as shapes, is added as selectable text.

    Shapes look the same everywhere and lack no glyphs; the text above them is transparent.
    """

    def with_text(shape: re.Match[str]) -> str:
        words = shape["words"].strip()
        turned = f" rotate({shape['turn']})" if shape["turn"] else ""
        size = 100 * float(shape["scale"])  # matplotlib's shapes of letters are those of 100 pt
        text = (
            f'<text transform="translate({shape["place"]}){turned}" {HIDDEN_TEXT} font-size="{size:g}">{words}</text>'
        )
        return f"{shape['indent']}{text}\n{shape[0]}"

    return SHAPED_TEXT.sub(with_text, svg)


def placeholder(name: str, needs: str) -> Figure:
    """A figure that says which data are missing for it."""
    figure, axes = new(height=1.2)
    axes[0, 0].axis("off")
    axes[0, 0].text(0.5, 0.5, f"Needs more than this run has: {needs}", ha="center", va="center", wrap=True)
    text = f"Not drawn: needs more than this run has ({needs})."
    carrier = _from_here(figure)
    carrier.repdyn = {"title": name.replace("_", " "), "caption": text, "alt": text, "facts": {}}
    return carrier
