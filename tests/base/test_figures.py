"""Figures: equal bytes from any process, colors told apart by color-blind readers, words beside the picture."""

import itertools
import json
import os
import re
import subprocess
import sys
import warnings
import xml.dom.minidom
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import repdyn
from repdyn.base.figures import (
    BLACK,
    CYCLE,
    NOTHING,
    RED,
    STYLE,
    WIDTH,
    YELLOW,
    band,
    describe,
    half_width,
    label_panels,
    legend_below,
    new,
    placeholder,
    save,
    say_what_is_missing,
    selectable,
    style,
)

HERE, SOURCE = Path(__file__).parent, Path(repdyn.__file__).parents[1]
SUFFIXES = ("csv", "json", "png", "svg")
WORDS = {
    "title": 'Figure 1: <loss> & "gap" – ω',
    "caption": "n = 3.",
    "alt": "A line that rises.",
}


def make():
    """A figure with everything whose bytes could vary; other processes import it from this file."""
    figure, axes = new(1, 2)
    x = np.linspace(0.1, 1, 20)
    for panel in axes.ravel():
        panel.plot(x, x**2, label="square")
        band(panel, x, x**2 - 0.1, x**2 + 0.1, color=RED)
        panel.scatter(x, x, rasterized=True)
        panel.set_title("a panel")
        panel.set_ylabel("turned")
        panel.legend()
    axes[0, 1].set_yscale("log")
    label_panels(axes)
    return describe(figure, **WORDS)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    stem = tmp_path_factory.mktemp("figures") / "fig1_losses"
    with warnings.catch_warnings(), style():
        warnings.simplefilter("error")
        save(make(), stem)
    return stem


def test_four_files_and_no_other(saved):
    assert sorted(path.name for path in saved.parent.iterdir()) == [f"fig1_losses.{suffix}" for suffix in SUFFIXES]


def test_json_holds_title_caption_and_text(saved):
    about = json.loads(Path(f"{saved}.json").read_text(encoding="utf-8"))
    assert about == WORDS | {"problems": []}


def test_every_text_of_the_picture_can_be_selected_and_lies_where_it_is_drawn(saved):
    """Each text is drawn by shapes and stands once more, transparent, in the same place, size and direction."""
    svg = Path(f"{saved}.svg").read_text(encoding="utf-8")
    shapes = re.findall(r"<!-- (.*?) -->\n *<g [^>]*transform=\"(.*?) scale\(([\d.]+)", svg)
    texts = re.findall(r'<text transform="(.*?)" fill-opacity="0" [^>]*font-size="([\d.]+)">(.*?)</text>', svg)
    assert [(place, float(size), words) for place, size, words in texts] == [
        (place, pytest.approx(100 * float(scale)), words) for words, place, scale in shapes
    ]
    assert {"(a) a panel", "square", "0.2"} <= {words for _, _, words in texts}
    assert "rotate(-90)" in {place.split()[-1] for place, _, words in texts if words == "turned"}
    xml.dom.minidom.parseString(svg)


def test_what_a_reader_could_not_read_is_told_beside_the_picture(tmp_path):
    figure, axes = new()
    axes[0, 0].set_title("small \N{CJK UNIFIED IDEOGRAPH-4E00} < & -- letters", fontsize=6)
    save(describe(figure, **WORDS), tmp_path / "figure")
    small, glyph = json.loads((tmp_path / "figure.json").read_text())["problems"]
    assert "has letters of 6 pt, under 7.5 pt" in small
    assert "4E00" in glyph.upper()
    xml.dom.minidom.parse(str(tmp_path / "figure.svg"))


def test_picture_tells_no_time(saved):
    svg = Path(f"{saved}.svg").read_text(encoding="utf-8")
    assert "<dc:date>" not in svg
    assert "Figure 1: &lt;loss&gt; &amp; " in svg
    assert b"tIME" not in Path(f"{saved}.png").read_bytes()


def test_bytes_are_equal_when_drawn_again(saved, tmp_path):
    with style():
        save(make(), tmp_path / saved.name)
    for suffix in SUFFIXES:
        assert (tmp_path / f"{saved.name}.{suffix}").read_bytes() == Path(f"{saved}.{suffix}").read_bytes(), suffix


def test_bytes_are_equal_from_another_process_and_folder(saved, tmp_path):
    """Another hash seed, language and back end, and a matplotlibrc that would change everything."""
    (tmp_path / "matplotlibrc").write_text("font.size: 20\nsvg.fonttype: none\nsavefig.dpi: 30\naxes.grid: true\n")
    environment = {
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(HERE)]),
        "PYTHONHASHSEED": "5",
        "LC_ALL": "C",
        "MPLBACKEND": "svg",
        "MPLCONFIGDIR": mpl.get_configdir(),
    }
    code = "import test_figures as t\nwith t.style():\n    t.save(t.make(), 'fig1_losses')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    for suffix in SUFFIXES:
        assert (tmp_path / f"fig1_losses.{suffix}").read_bytes() == Path(f"{saved}.{suffix}").read_bytes(), suffix


def test_a_figure_without_words_is_not_saved(tmp_path):
    figure, _ = new()
    with pytest.raises(AttributeError):
        save(figure, tmp_path / "mute")
    assert list(tmp_path.iterdir()) == []


def test_panels_and_letters():
    figure, axes = new(2, 3, height=2.0, sharex=True)
    assert isinstance(figure, Figure)
    assert axes.shape == (2, 3)
    assert tuple(figure.get_size_inches()) == (WIDTH, 4.0)
    axes[1, 0].set_title("gap")
    label_panels(axes)
    assert [panel.get_title(loc="left") for panel in axes.ravel()] == [
        "(a) ",
        "(b) ",
        "(c) ",
        "(d) gap",
        "(e) ",
        "(f) ",
    ]
    assert axes[1, 0].get_title() == ""


@pytest.mark.parametrize("columns", [1, 3])
def test_a_legend_below_lies_under_the_words_of_the_axis_and_covers_nothing(columns):
    """Its upper edge is 32 points below the panel, which leaves room for ticks, numbers and the words."""
    with style():
        figure, axes = new(height=3.0)
        panel = axes[0, 0]
        for place in range(3):
            panel.plot([0, 1], [place, place], label=f"line {place}")
        panel.set_xlabel("words of the axis")
        legend_below(panel, columns=columns)
        figure.draw_without_rendering()
        box, frame = panel.get_legend().get_window_extent(), panel.get_window_extent()
        assert frame.y0 - box.y1 == pytest.approx(32 / 72 * figure.dpi, abs=0.2)
        assert (box.x0 + box.x1) / 2 == pytest.approx((frame.x0 + frame.x1) / 2, abs=1)
        assert box.y1 < panel.xaxis.label.get_window_extent().y0
        assert figure.bbox.y0 <= box.y0
        rows = {round(text.get_window_extent().y0) for text in panel.get_legend().get_texts()}
        assert len(rows) == 3 // columns


def test_a_figure_that_cannot_be_drawn_says_what_it_needs(tmp_path):
    save(placeholder("fig1_losses", "5 seeds, has 1"), tmp_path / "figure")
    about = json.loads((tmp_path / "figure.json").read_text())
    text = "Not drawn: needs more than this run has (5 seeds, has 1)."
    assert about == {"title": "fig1 losses", "caption": text, "alt": text, "problems": []}
    shown = re.findall(r"<text [^>]*>(.*?)</text>", (tmp_path / "figure.svg").read_text())
    assert " ".join(shown) == "Needs more than this run has: 5 seeds, has 1"


def test_style_ends_with_its_context():
    before = mpl.rcParams["font.size"]
    with style():
        assert mpl.rcParams["font.size"] == STYLE["font.size"] != before
    assert mpl.rcParams["font.size"] == before


def test_text_is_legible_in_print():
    """At the width of a page the file is printed as large as it is: nothing below 7 pt."""
    assert min(size for name, size in STYLE.items() if name.endswith("size") and "marker" not in name) >= 7


# Colors, as seen by readers with normal sight and without one kind of cone

SIGHT = {  # Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(color, sight="normal"):
    """CIE Lab of a color of sRGB as it is seen, white being (100, 0, 0)."""
    value = np.array(mpl.colors.to_rgb(color))
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    ratio = XYZ @ np.clip(np.array(SIGHT[sight]) @ linear, 0, 1) / XYZ.sum(axis=1)
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(first, other, sight):
    return np.linalg.norm(lab(first, sight) - lab(other, sight))


def test_the_simulation_confuses_what_the_color_blind_confuse():
    """Known values of Lab, and a green and a red that are far apart to all but those who lack a cone."""
    assert lab("#ffffff") == pytest.approx([100, 0, 0], abs=0.01)
    assert lab("#ff0000") == pytest.approx([53.24, 80.09, 67.20], abs=0.02)  # usual reference for sRGB red
    red, green = "tab:red", "tab:green"
    assert distance(red, green, "deuteranopia") < 10 < 100 < distance(red, green, "normal")


@pytest.mark.parametrize("sight", SIGHT)
def test_colors_of_lines_are_told_apart(sight):
    """A distance of 2.3 is just seen side by side; thin lines apart from each other want several times that."""
    assert min(distance(first, other, sight) for first, other in itertools.combinations(CYCLE, 2)) > 15


@pytest.mark.parametrize("sight", SIGHT)
def test_colors_of_lines_stand_out_on_paper(sight):
    assert min(distance(color, "white", sight) for color in CYCLE) > 30


def test_lines_cycle_through_the_palette():
    _, axes = new()
    lines = [axes[0, 0].plot([0, 1], [0, n])[0] for n in range(len(CYCLE))]
    assert [line.get_color() for line in lines] == list(CYCLE)
    assert BLACK in CYCLE
    assert YELLOW not in CYCLE  # too pale for a line


def test_half_width_is_that_of_students_interval():
    draws = np.random.default_rng(0).standard_normal((3, 5))
    low, high = stats.t.interval(0.95, 4, draws.mean(axis=1), stats.sem(draws, axis=1))
    np.testing.assert_allclose(half_width(draws), (high - low) / 2, rtol=1e-12)
    np.testing.assert_array_equal(half_width(draws[:, :1]), np.zeros(3))


def test_of_two_rows_of_panels_those_without_a_number_say_so_and_lose_scales_that_nobody_needs():
    """The rows share their y axes: the second panel keeps that of the first row, the second row has no number."""
    gone, x = [np.nan] * 3, [1.0, 10.0, 100.0]
    with style():
        figure, axes = new(2, 3, sharey="row")
        drawn = [(x, gone), (x, [3.0, 1.0, 2.0]), (gone, gone), (x, gone), (gone, gone), (x, gone)]
        for panel, (across, up) in zip(axes.ravel(), drawn, strict=True):
            panel.plot(across, up)
            panel.set(xscale="log", yscale="log")
        axes[0, 1].text(0.1, 0.1, "a note", transform=axes[0, 1].transAxes)
        axes[1, 2].text(0.1, 0.1, "a note", transform=axes[1, 2].transAxes)
        axes[1, 2].text(0.1, 0.9, "no run converged", transform=axes[1, 2].transAxes)
        say_what_is_missing(figure)
    found = [
        (panel.get_xscale(), panel.get_yscale(), *(text.get_text() for text in panel.texts)) for panel in axes.ravel()
    ]
    assert found == [
        ("log", "log", NOTHING), ("log", "log", "a note"), ("linear", "log", NOTHING),
        ("log", "linear", NOTHING), ("linear", "linear", NOTHING), ("log", "linear", "a note", "no run converged"),
    ]  # fmt: skip
    words = axes[0, 0].texts[0]
    assert (words.get_position(), words.get_transform()) == ((0.5, 0.5), axes[0, 0].transAxes)


def test_each_text_of_a_picture_stands_before_its_shapes_and_the_rest_stays():
    shapes = [
        '  <!-- one -->\n  <g style="a" transform="translate(1 2) scale(0.08 -0.08)">\n',
        '   <!--  two &amp; more  -->\n   <g transform="translate(3 4) rotate(-90) scale(0.075 -0.075)">\n',
        '<!-- three -->\n\n<g transform="translate(5.5 6) scale(0.1 -0.1)">\n',
    ]
    hidden = 'fill-opacity="0" font-family="DejaVu Sans, sans-serif"'
    texts = [
        f'  <text transform="translate(1 2)" {hidden} font-size="8">one</text>\n',
        f'   <text transform="translate(3 4) rotate(-90)" {hidden} font-size="7.5">two &amp; more</text>\n',
        "",
    ]
    other = '<!-- no shapes -->\n<path d="M 0 0"/>\n'
    assert selectable(other.join(shapes)) == other.join(text + shape for text, shape in zip(texts, shapes, strict=True))


def test_a_figure_says_what_it_was_made_from_beside_its_words(tmp_path):
    figure, axes = new(height=1.5)
    axes[0, 0].plot([0, 1], [2, 1])
    save(
        describe(figure, **WORDS), tmp_path / "figure", {"code": "a:b", "datasets": ["c", "a"], "alt": "of the origin"}
    )
    about = json.loads((tmp_path / "figure.json").read_text(encoding="utf-8"))
    assert about == WORDS | {"problems": [], "code": "a:b", "datasets": ["c", "a"], "alt": "of the origin"}


def test_a_figure_of_others_is_refused():
    with pytest.raises(TypeError, match=r"^figure: got Figure; expected one made by base\.figures\.new$"):
        describe(Figure(), **WORDS)


def test_half_widths_of_several_dimensions_are_over_the_last():
    """Two draws: 12.706 sample errors, of which each is half the distance between the two."""
    draws = np.array([[[0.0, 2.0], [1.0, 1.0], [5.0, 4.0]]])
    np.testing.assert_allclose(half_width(draws), stats.t.ppf(0.975, 1) * np.array([[1.0, 0.0, 0.5]]), rtol=1e-12)
    assert half_width(np.ones((2, 3, 1))).shape == (2, 3)
