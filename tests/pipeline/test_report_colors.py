"""Colors of the report and of the figures: enough contrast to read, told apart by color-blind readers.

Contrast ratios are those of WCAG 2. Color-blind sight is simulated by the matrices of Machado, Oliveira and Fernandes
(2009) at full severity, on linear RGB; differences are Euclidean distances in CIELAB (CIE 1976), where 2.3 is just
noticeable.
"""

import itertools
import re

import numpy as np
import pytest

from repdyn.base import web
from repdyn.base.figures import CYCLE

STYLE = web.STYLE.read_text(encoding="utf-8")
SCHEMES = [
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
]
LIGHT, DARK = SCHEMES[0], SCHEMES[0] | SCHEMES[1]
COLORS = LIGHT
SIGHT = {
    "full": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
}
VERDICTS = ("holds", "corrected", "refuted", "open")


def linear(color: str) -> np.ndarray:
    """Linear RGB of #rrggbb."""
    value = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(first: str, other: str) -> float:
    light = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) + 0.05 for color in (first, other))
    return light[1] / light[0]


def lab(color: str, sight: str) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = to_xyz @ np.clip(np.asarray(SIGHT[sight]) @ linear(color), 0, 1) / [0.9505, 1.0, 1.089]
    f = [np.cbrt(t) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def smallest_distance(colors, sight: str) -> float:
    return min(
        float(np.linalg.norm(lab(first, sight) - lab(other, sight)))
        for first, other in itertools.combinations(colors, 2)
    )


def test_black_on_white_has_the_largest_contrast():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_words_have_contrast(colors):
    """4.5 is what WCAG 2 asks of text at level AA."""
    pairs = [(ink, ground) for ink in ("ink", "soft", "accent") for ground in ("paper", "shade")]
    pairs += [(verdict, f"{verdict}-shade") for verdict in VERDICTS]
    pairs += [("ink", "refuted-shade"), ("ink", "corrected-shade")]
    low = {pair: contrast(*(colors[name] for name in pair)) for pair in pairs}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_borders_and_focus_have_contrast(colors):
    """3 is what WCAG 2 asks of what is no text but has to be seen."""
    for name in ("focus", *(f"{verdict}-line" for verdict in VERDICTS)):
        assert contrast(colors[name], colors["paper"]) >= 3, name


@pytest.mark.parametrize("sight", SIGHT)
def test_verdicts_differ(sight):
    """By 10, four times what is just noticeable; every badge says its verdict in words and a sign besides."""
    assert smallest_distance([COLORS[f"{verdict}-line"] for verdict in VERDICTS], sight) >= 10


@pytest.mark.parametrize("sight", SIGHT)
def test_lines_of_figures_differ(sight):
    """By 10; line style or marker repeats what color says."""
    assert smallest_distance(CYCLE, sight) >= 10


def test_the_simulation_sees_what_color_blind_readers_do_not():
    """Control: red and green of equal lightness, far apart in full sight, fall together."""
    pair = ("#c1272d", "#4d7a17")
    assert smallest_distance(pair, "full") > 60
    assert smallest_distance(pair, "deuteranopia") < 5
