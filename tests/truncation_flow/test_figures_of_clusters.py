"""Figures of separation, of printed and corrected flows and of Proposition 4.2 draw what the datasets say."""

import numpy as np
import pytest
import xarray as xr
from tests.drawn import read, synthetic_dataset

from repdyn.base.figures import BLUE, RED, style
from repdyn.truncation_flow.figures import geometry, one_cluster


def made(name):
    file = f"truncation_flow/data/{name}.nc"
    return synthetic_dataset(read("truncation_flow")[file], file)


def draw(function, *datasets):
    with style():
        figure = function(*datasets)
        figure.canvas.draw()
        return figure


def labeled(panel):
    return {line.get_label(): line for line in panel.get_lines() if not line.get_label().startswith("_")}


def panel_of(figure, letter):
    return next(panel for panel in figure.axes if panel.get_title(loc="left").startswith(f"({letter})"))


def test_every_triangle_has_its_bound_search_and_procrustes_joined():
    data = made("own_clusters")
    panel = panel_of(draw(geometry.own_clusters, data), "a")
    marks = labeled(panel)
    names = {"upper bound": "triangle_bound", "search": "triangle_margin"}
    for label, name in (names | {"Procrustes alone": "triangle_margin_procrustes"}).items():
        np.testing.assert_array_equal(marks[label].get_xdata(), data["triangle_angle"])
        np.testing.assert_array_equal(marks[label].get_ydata(), data[name])
    three = np.array([line.get_ydata() for line in marks.values()])
    ends = np.array([segment[:, 1] for segment in panel.collections[0].get_segments()])
    np.testing.assert_array_equal(ends, np.stack([three.min(axis=0), three.max(axis=0)], axis=1))


def test_margins_that_agree_can_be_told_apart():
    data = made("own_clusters")
    data["margin"].loc[{"condition": "own"}] = data["margin"].sel(condition="others")
    figure = draw(geometry.own_clusters, data)
    for letter, name, axis in (("b", "margin", "width"), ("c", "digit_margin", "shrink")):
        lines = labeled(panel_of(figure, letter))
        for condition, (words, _) in geometry.CONDITIONS.items():
            np.testing.assert_array_equal(lines[words].get_xdata(), data[axis])
            np.testing.assert_array_equal(lines[words].get_ydata(), data[name].sel(condition=condition))
        assert lines["own cluster truncated"].get_linewidth() >= 4 * lines["other clusters untouched"].get_linewidth()


@pytest.mark.parametrize(("margins", "title"), [((0.1, 0.2, -0.1), "2 of 2 acute"), ((-0.1, 0.2, 0.3), "1 of 2 acute")])
def test_the_title_counts_the_triangles_drawn(margins, title):
    data = made("own_clusters").isel(triangle=slice(3))
    data["triangle_angle"][:] = [60.0, 89.0, 90.0 - 1e-12]  # the last is a right angle
    data["triangle_margin"][:] = list(margins)
    figure = draw(geometry.own_clusters, data)
    assert f"{title} triangles of means and {int(margins[2] > 0)} of 1 others" in figure.repdyn["title"]


def test_the_caption_says_up_to_where_digits_can_be_separated():
    data = made("own_clusters")
    data["digit_margin"][:] = np.where(data["shrink"] < 0.25, 0.1, -0.1)[:, None]
    assert "all conditions hold up to a scale of 0.2." in draw(geometry.own_clusters, data).repdyn["caption"]
    data["digit_margin"][:] = -1.0
    assert "all conditions hold at no scale drawn." in draw(geometry.own_clusters, data).repdyn["caption"]


def test_clusters_are_drawn_at_their_first_cost_with_the_ratio_of_the_last():
    flows, clusters = made("printed_and_corrected"), made("random_clusters")
    flows["cost"][:] = np.abs(flows["cost"]) + 0.01
    flows["cost"].loc[{"cluster": 2, "formula": "printed"}] = np.nan  # diverged
    panel = panel_of(draw(one_cluster.printed_and_corrected, flows, clusters), "c")
    for formula, color, kept in (("printed", RED, flows["cluster"] != 2), ("corrected", BLUE, flows["cluster"] >= 0)):
        line, cost = labeled(panel)[formula], flows["cost"].sel(formula=formula)[kept.values]
        np.testing.assert_allclose(line.get_xdata(), cost.isel(time=0))
        np.testing.assert_allclose(line.get_ydata(), cost.isel(time=-1) / cost.isel(time=0))
        assert (line.get_color(), line.get_linestyle()) == (color, "None")
    assert panel.get_xscale() == "log"


def test_rates_are_a_distribution_whose_share_beyond_zero_the_title_tells():
    flows, clusters = made("printed_and_corrected"), made("random_clusters")
    n = clusters.sizes["draw"]
    clusters["printed_rate"][1] = np.linspace(-1, 1, n) ** 3 + 1e-12
    clusters["corrected_rate"][1] = -np.linspace(2, 1, n)
    clusters["printed_rate"][1, -n // 2 :] = np.nan  # all positive ones but one or none
    figure = draw(one_cluster.printed_and_corrected, flows, clusters)
    known = clusters["printed_rate"][1].values[: n - n // 2 - n % 2]
    panel = panel_of(figure, "d")
    drawn = labeled(panel)["printed"]
    np.testing.assert_allclose(drawn.get_xdata(), known[np.isfinite(known)])
    np.testing.assert_allclose(drawn.get_ydata()[[0, -1]], [0, 1])
    np.testing.assert_allclose(labeled(panel)["corrected"].get_xdata(), -np.linspace(2, 1, n))
    low, high = panel.get_xlim()
    assert low <= -2
    assert high >= np.nanmax(known)
    share = (known[np.isfinite(known)] > 0).mean()
    assert f"{share:.0%} of random clusters, as corrected of 0%" in figure.repdyn["title"]


def test_curves_under_the_hypotheses_and_beyond_are_those_of_the_dataset():
    data = made("proposition")
    figure, time = draw(one_cluster.proposition, data), data["time"].values
    for suffix, words, color in (("", "hypotheses met", BLUE), ("_beyond", "(4.16) broken", RED)):
        for Q, dash in ((2, "-"), (3, "--")):
            part, label = data.sel(dimension=Q), f"$Q$ = {Q}, {words}"
            residual = part[f"residual{suffix}"].values
            wanted = {
                "a": 1 - part[f"truncated_share{suffix}"].values,
                "b": part[f"rotation{suffix}"].values,
                "c": part[f"generator_norm{suffix}"].values,
                "d": residual / residual[0] * np.exp(time),
            }
            for letter, values in wanted.items():
                line = labeled(panel_of(figure, letter))[label]
                shown = values if letter == "a" else np.where(values > 0, values, np.nan)
                np.testing.assert_allclose(line.get_ydata(), shown, atol=1e-15)
                assert (line.get_color(), line.get_linestyle()) == (color, dash)
    scales = [panel_of(figure, letter).get_yscale() for letter in "abcd"]
    assert scales == ["linear", "log", "log", "linear"]
    vertical = [line for line in panel_of(figure, "a").get_lines() if line.get_label().startswith("_")]
    np.testing.assert_allclose([line.get_xdata()[0] for line in vertical], data["arrival_bound"])
    level = [line for line in panel_of(figure, "b").get_lines() if line.get_label().startswith("_")]
    np.testing.assert_allclose([line.get_ydata()[0] for line in level], data["eta_2"])


def test_the_title_of_the_proposition_says_what_the_data_say():
    data = made("proposition")
    data["arrival"][:], data["late_rotation"][:] = [0.5, 0.25], 0.0
    title = draw(one_cluster.proposition, data).repdyn["title"]
    assert title.endswith("truncation is full at $s$ = 0.5 and 0.25, then the weights rest")
    data["arrival"][:], data["late_rotation"][:] = [0.5, np.inf], [0.0, np.nan]
    data["arrival_bound"][:] = np.inf  # no line
    figure = draw(one_cluster.proposition, data)
    assert figure.repdyn["title"].endswith("truncation is full at $s$ = 0.5 and no time seen")
    assert not [line for line in panel_of(figure, "a").get_lines() if line.get_label().startswith("_")]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0.123456, np.inf], "$s$ = 0.12 and no time seen"),
        ([np.inf, 1.987654], "no time seen and $s$ = 2"),
        ([np.inf, np.inf], "no time seen"),
        ([0.123456, 0.987654], "$s$ = 0.12 and 0.99"),
    ],
)
def test_times_of_truncation_have_two_digits_each(times, words):
    assert one_cluster._moments(xr.DataArray(times, dims="dimension")) == words
