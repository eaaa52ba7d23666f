"""Words of figures are held to what is drawn: colors that they name, panels, networks, seeds that they count.

Datasets have the shapes of the default scale (`tests.drawn`); `tests/end_to_end` looks at the files of a run.
"""

import warnings

import pytest
import xarray as xr
from tests.drawn import given, makers, read
from tests.pictured import bitmaps, color_words, datasets_of, drawn_colors, names_of, wrong_counts

from repdyn.base.figures import BLUE, RED, SKY, color_bar, color_map, describe, new, style
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.execute.loading import load_function

CASES = [(study, name) for study in STUDIES for name in sorted(makers(study, "figures"))]


def pictured(study, name):
    """A figure of made-up data, and these."""
    function = makers(study, "figures")[name]
    data = given(study, function, read(study))
    with style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_function(study, function.path)(**data), datasets_of(data)


@pytest.mark.parametrize(("study", "name"), CASES)
def test_colors_and_counts_in_words_are_those_drawn(study, name):
    figure, datasets = pictured(study, name)
    unseen = color_words(" ".join(figure.repdyn.values())) - names_of(drawn_colors(figure))
    assert unseen == set(), "the words name colors that the figure lacks"
    assert wrong_counts(figure, datasets) == []
    assert bitmaps(figure) == [], "a vector graphic that holds a bitmap"


def test_a_bitmap_within_a_figure_is_noticed():
    figure, axes = new(1, 3)
    axes[0, 0].plot([0, 1], [0, 1], rasterized=True)
    axes[0, 1].imshow([[0, 1]])
    figure.colorbar(axes[0, 2].pcolormesh([[0, 1]], cmap="viridis"))
    assert bitmaps(figure) == ["Line2D", "AxesImage", "QuadMesh"]
    figure, axes = new(1, 1)
    color_bar(figure, axes[0, 0].pcolormesh([[0, 1]], cmap=color_map("viridis")))
    assert bitmaps(figure) == []


def test_a_color_that_is_not_drawn_is_noticed():
    figure, axes = new(1, 2)
    axes[0, 0].plot([0, 1], [0, 1], color=RED)
    axes[0, 1].axvspan(0, 1, color="0.9")
    assert names_of(drawn_colors(figure)) == {"orange-red", "gray"}
    assert names_of([BLUE, SKY]) == {"blue", "light blue"}
    text = "Orange-red: one; red, Gold and gray: others; colored, an evergreen, darkred."
    assert color_words(text) == {"orange-red", "red", "gold", "gray"}


@pytest.mark.parametrize(("alt", "problems"), [
    ("Two panels of three seeds in two networks.", []),
    ("Three panels.", ["alt: Three panels"]),
    ("Nine seeds.", ["alt: Nine seeds"]),
    ("Panels of ten networks.", ["alt: ten networks"]),
])  # fmt: skip
def test_a_wrong_count_is_noticed(alt, problems):
    figure, _ = new(1, 2)
    describe(figure, title="Two", caption="Means over 3 seeds.", alt=alt)
    assert wrong_counts(figure, [xr.Dataset({"x": ("seed", [1.0, 2.0, 3.0])})]) == problems


def test_networks_of_figure_12_are_counted():
    figure, datasets = pictured("universality", "fig12_training_loss")
    assert "11 networks" in figure.repdyn["alt"]
    figure.repdyn["alt"] = figure.repdyn["alt"].replace("11 networks", "ten networks")
    assert wrong_counts(figure, datasets) == ["alt: ten networks"]
