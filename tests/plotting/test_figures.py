"""Figures: equal bytes from any process, texts of the figure that can be selected, the widths of bands."""

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
from scipy import stats

import repdyn
from repdyn.plotting.figures import RED, band, figure, half_width, label_panels, new, save, style

HERE, SOURCE = Path(__file__).parent, Path(repdyn.__file__).parents[1]
SUFFIXES = ("csv", "json", "png", "svg")
WORDS = {"title": 'Figure 1: <loss> & "gap" – ω', "caption": "n = 3.", "alt": "A line that rises."}


@figure(**WORDS)
def make():
    """A figure with everything whose bytes could vary; other processes import it from this file."""
    drawn, axes = new(1, 2)
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
    return drawn


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    stem = tmp_path_factory.mktemp("figures") / "fig1_losses"
    with warnings.catch_warnings(), style():
        warnings.simplefilter("error")
        save(make(), stem)
    return stem


def test_svg_text_is_selectable_in_place(saved):
    """Each text is drawn as shapes and added as transparent text in the same place, size and direction."""
    svg = Path(f"{saved}.svg").read_text(encoding="utf-8")
    shapes = re.findall(r"<!-- (.*?) -->\n *<g [^>]*transform=\"(.*?) scale\(([\d.]+)", svg)
    texts = re.findall(r'<text transform="(.*?)" fill-opacity="0" [^>]*font-size="([\d.]+)">(.*?)</text>', svg)
    assert [(place, float(size), words) for place, size, words in texts] == [
        (place, pytest.approx(100 * float(scale)), words) for words, place, scale in shapes
    ]
    assert {"(a) a panel", "square", "0.2"} <= {words for _, _, words in texts}
    assert "rotate(-90)" in {place.split()[-1] for place, _, words in texts if words == "turned"}
    xml.dom.minidom.parseString(svg)


def test_saved_figure_has_no_timestamp(saved):
    svg = Path(f"{saved}.svg").read_text(encoding="utf-8")
    assert "<dc:date>" not in svg
    assert "Figure 1: &lt;loss&gt; &amp; " in svg
    assert b"tIME" not in Path(f"{saved}.png").read_bytes()


def test_bytes_do_not_depend_on_process_and_folder(saved, tmp_path):
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


def test_half_width_is_that_of_the_t_interval():
    draws = np.random.default_rng(0).standard_normal((3, 5))
    low, high = stats.t.interval(0.95, 4, draws.mean(axis=1), stats.sem(draws, axis=1))
    np.testing.assert_allclose(half_width(draws), (high - low) / 2, rtol=1e-12)
    np.testing.assert_array_equal(half_width(draws[:, :1]), np.zeros(3))
