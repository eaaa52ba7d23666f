"""Words of figures are held to what is drawn: colors that they name, panels, networks, seeds that they count.

Datasets have the shapes of the default scale (`tests.drawn`); `tests/end_to_end` looks at the files of a run.
"""

import warnings

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from tests.drawn import given, makers, read
from tests.pictured import (
    axes_without_a_name,
    bands_without_their_line,
    bars_without_their_mark,
    bitmaps,
    color_words,
    dash_words,
    datasets_of,
    drawn_colors,
    drawn_dashes,
    even_axes_of_growing_steps,
    keys_of_nothing,
    names_of,
    wrong_counts,
    wrong_letters,
)
from tests.statistics_drawn import statistics_drawn, statistics_named

from repdyn.base.figures import BLUE, RED, SKY, color_bar, color_map, describe, label_panels, new, style
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.execute.loading import load_function

CASES = [(study, name) for study in STUDIES for name in sorted(makers(study, "figures"))]

BESIDE = {  # the line is one start and the band is of others; both ends of the band are numbers of their own
    ("bn_mean_field", "matched_loss"),
    ("diagnostics", "through_depth"),
    ("universality", "fig9_structure"),  # cells of a matrix
    ("universality", "fig18_structure_adam"),
}
TITLED = {  # axes of panels whose titles say what is drawn, and whose caption the rest
    ("bn_decomposed", "disc_point_neurons"): {"y"},
    ("bn_decomposed", "fig1_ablation"): {"x"},
    ("truncation_flow", "proposition"): {"y"},
    ("bn_mean_field", "round_manifold"): {"x", "y"},
    ("leaky_resnets", "fig3_bounded"): {"y"},
    ("universality", "fig2_architectures"): {"y"},
    ("universality", "fig11_alternatives"): {"y"},
    ("universality", "fig12_training_loss"): {"x"},
    ("universality", "fig15_adam"): {"y"},
    ("universality", "fig1_two_points"): {"y"},
    ("diagnostics", "through_training"): {"y"},
}
UNTOLD = {  # broken lines that are named beside them in the panel, or without the way they are broken
    "n1_phase_plane": {"dashed"},
    "fig2_training": {"dashed", "dash-dotted"},
    "thm3_full_rank": {"dotted"},
    "balancedness": {"dotted"},
    "fig2a_test_error": {"dotted"},
    "fig2c_paths": {"dotted"},
    "geodesic_laboratory": {"dotted"},
    "paper_settings": {"dotted"},
    "bottlenecks": {"dotted"},
    "matched_loss": {"dashed"},
    "pairs_and_theory": {"dotted"},
    "through_depth": {"dotted"},
}
EVEN = {("leaky_resnets", "paper_settings")}  # lengths of training, which end at the paper's


def pictured(study, name):
    """A figure of made-up data, and these."""
    function = makers(study, "figures")[name]
    data = given(study, function, read(study))
    with style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_function(study, function.path)(**data), datasets_of(data)


@pytest.mark.parametrize(("study", "name"), CASES)
def test_words_bands_bars_legends_and_axes_are_of_what_is_drawn(study, name):
    figure, datasets = pictured(study, name)
    unseen = color_words(" ".join(figure.repdyn.values())) - names_of(drawn_colors(figure))
    assert unseen == set(), "the words name colors that the figure lacks"
    words = " ".join(figure.repdyn.values())
    assert dash_words(words) - drawn_dashes(figure) == set(), "the words name broken lines that the figure lacks"
    assert drawn_dashes(figure, with_keys=False) - dash_words(words) == UNTOLD.get(name, set())
    assert wrong_letters(figure) == []
    assert statistics_drawn(figure, datasets) - statistics_named(words) == set(), "drawn, and not named"
    assert wrong_counts(figure, datasets) == []
    assert bitmaps(figure) == [], "a vector graphic that holds a bitmap"
    assert keys_of_nothing(figure) == [], "legends name what is not drawn"
    assert bars_without_their_mark(figure) == []
    assert axes_without_a_name(figure) == TITLED.get((study, name), set())
    assert bool(even_axes_of_growing_steps(figure)) is ((study, name) in EVEN)
    if (study, name) not in BESIDE:
        assert bands_without_their_line(figure) == []


def test_a_broken_line_of_another_kind_is_noticed():
    figure, axes = new(1, 1)
    axes[0, 0].plot([0, 1], [0, 1], ":", color=BLUE, label="named by its key")
    axes[0, 0].legend()
    axes[0, 0].axhline(1, linestyle=(0, (6, 2, 1, 2)), color=RED)
    axes[0, 0].axhspan(0, 1, color="0.9", linestyle="--")
    axes[0, 0].add_collection(LineCollection([[(0, 0), (1, 1)]], linestyles=[(0, (4, 4))], color=RED))
    assert drawn_dashes(figure) == {"dotted", "dash-dotted", "dashed"}
    assert drawn_dashes(figure, with_keys=False) == {"dash-dotted", "dashed"}
    assert dash_words("Dotted: one; gray dashes: another; dash-dotted: a third.") == drawn_dashes(figure)
    assert dash_words("dashed-out") == set()


@pytest.mark.parametrize(("caption", "problems"), [
    ("(a) One. (b), (c) Others; (a) again.", []),
    ("(a) One. (b)-(c) Others.", []),
    ("(a-c) All.", []),
    ("Of two only: (c) and (b).", []),
    ("(b) Other. (a) One. (c) Last.", []),
    ("(a) One. (c) Last. (b) Other.", ["(a), (c), (b) are out of order"]),
    ("(a) One. (b) Other.", ["(c) left out"]),
    ("(b) Other. (d) None.", ["(d) is no panel"]),
    ("Without letters, $f(a)$.", []),
])  # fmt: skip
def test_a_wrong_letter_of_a_panel_is_noticed(caption, problems):
    figure, axes = new(1, 3)
    label_panels(axes)
    describe(figure, title="Three", caption=caption, alt="Three panels.")
    assert wrong_letters(figure) == problems


def test_a_statistic_of_another_name_is_noticed():
    draws = np.array([[1.0, 2.0, 9.0], [2.0, 3.0, 8.5], [5.0, 7.0, 11.0]])
    data = [xr.Dataset({"rank": (("layer", "seed"), draws)})]
    for name, middle in (("mean", draws.mean(axis=1)), ("median", np.median(draws, axis=1))):
        figure, axes = new(1, 1)
        axes[0, 0].plot(middle)
        assert statistics_drawn(figure, data) == {name}
        axes[0, 0].fill_between(range(3), draws.min(axis=1), draws.max(axis=1))
        assert statistics_drawn(figure, data) == {name, "range"}
        low, high = np.quantile(draws, (0.25, 0.75), axis=1)
        axes[0, 0].errorbar(range(3), middle, (middle - low, high - middle), fmt="o")
        assert statistics_drawn(figure, data) == {name, "range", "quartile"}
    assert statistics_named("Medians, bars: 5-95 % ranges; mean of all.") == {"median", "mean", "range", "5-95 %"}


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


def test_a_band_of_another_line_is_noticed():
    figure, axes = new(1, 2)
    for panel, shift in zip(axes[0], (0, 1), strict=True):
        panel.plot([0, 1], [0, 1], color=BLUE)
        panel.plot([0, 1], [5, 5], color=RED)
        panel.fill_between([0, 1], [-0.5 + shift, 0.5], [0.5 + shift, 1.5], color=BLUE, alpha=0.2)
    assert bands_without_their_line(figure) == ["panel 2: no line of #0072b2 lies inside of its band"]


def test_a_bar_beside_its_mark_is_noticed():
    figure, axes = new(1, 1)
    axes[0, 0].errorbar([0, 1], [2, 3], [[0.1, 0.1], [0.2, 0.2]], fmt="o")
    assert bars_without_their_mark(figure) == []
    axes[0, 0].containers[0].lines[0].set_ydata([2, 3.5])
    assert bars_without_their_mark(figure) == ["panel 1: y = 3.5 lies outside of its bar [2.9, 3.2]"]


def test_a_legend_of_what_is_not_drawn_is_noticed():
    figure, axes = new(1, 1)
    axes[0, 0].plot([0, 1], [0, 1], "--", color=BLUE)
    axes[0, 0].fill_between([0, 1], 0, 1, color=SKY)
    handles = [
        Line2D([], [], color=BLUE, linestyle="--"),
        Line2D([], [], color=BLUE, linestyle="-"),
        Line2D([], [], color=RED, linestyle="--"),
        Line2D([], [], color=BLUE, linestyle="", marker="o"),
        Patch(color=SKY),
        Patch(color=RED),
    ]
    axes[0, 0].legend(handles, ["dashed", "solid", "red", "dots", "area", "red area"])
    assert keys_of_nothing(figure) == ["solid", "red", "dots", "red area"]


def test_an_axis_without_a_name_is_noticed():
    figure, axes = new(2, 2)
    assert axes_without_a_name(figure) == {"x", "y"}
    for panel in axes[1]:
        panel.set_xlabel("depth")
    assert axes_without_a_name(figure) == {"y"}
    axes[0, 0].set_ylabel("rank")
    axes[1, 0].set_yticks([0, 1], ["BN", "none"])
    axes[1, 1].set_yticks([])
    assert axes_without_a_name(figure) == set()
    axes[1, 1].set_xlabel("")
    assert axes_without_a_name(figure) == {"x"}


def test_an_even_axis_of_growing_steps_is_noticed():
    figure, axes = new(1, 3)
    for panel, places in zip(axes[0], ([1, 2, 4, 16], [1, 2, 4, 16], [1, 8, 15, 16]), strict=True):
        panel.plot(places, [3, 1, 2, 4])
    axes[0, 1].set_xscale("log")
    assert even_axes_of_growing_steps(figure) == ["panel 1, x: [1.0, 2.0, 4.0, 16.0]"]


def test_a_band_without_a_line_is_noticed():
    figure, axes = new(1, 1)
    axes[0, 0].fill_between([0, 1], [0, 0], [1, 1], color=BLUE)
    axes[0, 0].plot([0, 1], [0.5, 0.5], color=RED)
    assert bands_without_their_line(figure) == ["panel 1: no line of #0072b2 lies inside of its band"]
