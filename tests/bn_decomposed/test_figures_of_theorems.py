"""Figures of Theorems 3 and 14 and of the tree: what stands beside which bound, at which size, in which row."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.titled import dataset_of, named

from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED
from repdyn.bn_decomposed.figures.full_rank import thm3_full_rank
from repdyn.bn_decomposed.figures.gaussian_layers import fig3_odd_point, thm14_contraction
from repdyn.bn_decomposed.figures.simplified_model import POINT_COLORS, POINT_MARKERS, fig4_tree

# Theorem 3


@pytest.fixture(scope="module")
def rows():
    data = dataset_of("bn_decomposed", "rows_to_full_rank").isel(draw=slice(400))
    data["y"][:] = data["n"].values[:, None] + np.arange(400) % 37 * (1 + np.arange(data.sizes["batch"]) % 4)[:, None]
    data["gamma"][:] = np.linspace(0.02, 0.3, data.sizes["batch"])
    data["bound"][:] = data["n"].values / data["gamma"].values
    return data, thm3_full_rank(data)


def test_means_stand_over_the_bound_of_their_batch_in_the_color_of_its_kind(rows):
    data, figure = rows
    panel = figure.axes[0]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    for kind, color, marker, words in (
        ("circle", BLUE, "o", "circle"),
        ("Gaussian k=2", RED, "s", "Gaussian, $k = 2$"),
        ("Gaussian k=3", GREEN, "^", "Gaussian, $k = 3$"),
        ("recentered", ORANGE, "D", "recentered, $k = 2$"),
    ):
        (points,) = named(panel, words)
        own = data["kind"].values == kind
        np.testing.assert_allclose(points.get_xdata(), data["bound"].values[own])
        np.testing.assert_allclose(points.get_ydata(), data["y"].values[own].mean(axis=1))
        assert (points.get_color(), points.get_marker(), points.get_linestyle()) == (color, marker, "None")
    (equal,) = [line for line in panel.get_lines() if line.get_color() == BLACK]
    np.testing.assert_allclose(*equal.get_data())
    low, high = panel.get_ylim()
    assert low < data["y"].values.mean(axis=1).min() <= data["y"].values.mean(axis=1).max() < high


def test_tails_are_those_of_the_smallest_and_the_largest_circle(rows):
    data, figure = rows
    circles = np.flatnonzero(data["kind"].values == "circle")
    for panel, batch, points in zip(figure.axes[1:], circles[[0, -1]], (0, -1), strict=True):
        n, gamma, y = (data[name].values[batch] for name in ("n", "gamma", "y"))
        assert panel.get_title("left").endswith(f"circle, $n$ = {n}")
        (simulated,) = named(panel, "simulated tail")
        d = simulated.get_xdata()
        np.testing.assert_array_equal(d, range(n - 1, y.max()))
        np.testing.assert_allclose(simulated.get_ydata(), [(y >= rows + 1).mean() for rows in d])
        assert (simulated.get_drawstyle(), simulated.get_color()) == ("steps-post", BLUE)
        bounds = data["tail_bound"].isel(circle_points=points)
        for form, color, words, least in (
            ("geometric", GREEN, "geometric sum", 0),
            ("7a", RED, "bound (7a)", 1),
            ("7b", ORANGE, "bound (7b)", 1),
        ):
            (line,) = named(panel, words)
            kept = bounds.sel(form=form, alpha=bounds["alpha"] >= least)
            np.testing.assert_allclose(line.get_xdata(), kept["alpha"] * n / gamma)
            np.testing.assert_allclose(line.get_ydata(), kept)
            assert line.get_color() == color
        (mark,) = [line for line in panel.get_lines() if line.get_color() == BLACK]
        np.testing.assert_allclose(mark.get_xdata(), 2 * n / gamma)
        assert panel.get_xlim() == pytest.approx((n - 1, 3 * n / gamma))
        assert panel.get_ylim() == pytest.approx((0.4 / y.size, 2))
        ticks = [int(tick.get_text()) for tick in panel.get_xticklabels()]
        assert ticks == [tick for tick in (3, 10, 30, 100, 300, 1000, 3000) if n - 1 <= tick <= 3 * n / gamma]


def test_the_legend_of_theorem_3_alternates_kinds_and_bounds_with_their_own_colors(rows):
    (legend,) = rows[1].legends
    entries = [
        (text.get_text(), line.get_color()) for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
    ]
    assert entries == [
        ("circle", BLUE), ("simulated tail", BLUE), ("Gaussian, $k = 2$", RED), ("geometric sum", GREEN),
        ("Gaussian, $k = 3$", GREEN), ("bound (7a)", RED), ("recentered, $k = 2$", ORANGE), ("bound (7b)", ORANGE),
    ]  # fmt: skip


def test_the_caption_of_theorem_3_says_between_which_shares_of_the_bound_the_means_lie(rows):
    data, figure = rows
    share = data["y"].values.mean(axis=1) / data["bound"].values
    caption = figure.repdyn["caption"]
    assert f"The mean is between {share.min():.1e} and {share.max():.2f} of the bound." in caption
    assert f"$n$ from {data['n'].values.min()} to {data['n'].values.max()}," in caption
    assert caption.count("400 draws") == 2


# Theorem 14


def test_factors_over_the_size_of_the_cluster_have_their_mark_at_rest():
    data, fixed = dataset_of("bn_decomposed", "contraction"), dataset_of("bn_decomposed", "fixed_point")
    spread = data["spread"].values
    data["resting_spread"][:] = spread[2] * (spread[3] / spread[2]) ** (0.5 + 0.1 * np.arange(data.sizes["batch"]) / 4)
    panel = thm14_contraction(data, fixed).axes[0]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "linear")
    marks = [line for line in panel.get_lines() if line.get_marker() in list("os^D")]
    for n, color, mark in zip(data["batch"].values, (BLUE, ORANGE, GREEN, PURPLE), marks, strict=True):
        batch = data.sel(batch=n)
        (line,) = named(panel, f"$n$ = {n}")
        factor = batch["factor"].transpose("spread", "draw").values.mean(axis=1)
        np.testing.assert_allclose(line.get_xdata(), spread)
        np.testing.assert_allclose(line.get_ydata(), factor)
        rest = float(batch["resting_spread"])
        share = np.log(rest / spread[2]) / np.log(spread[3] / spread[2])
        np.testing.assert_allclose(np.ravel(mark.get_data()), [rest, (1 - share) * factor[2] + share * factor[3]])
        assert line.get_color() == mark.get_color() == color
    (level,) = [line for line in panel.get_lines() if line.get_color() == BLACK]
    assert set(level.get_ydata()) == {1}
    (shade,) = panel.patches
    assert shade.get_x() + shade.get_width() == pytest.approx(1), "sizes up to 1 / n^2 are those of the theorem"


def test_angles_at_rest_stand_under_their_names_beside_540_over_n():
    fixed = dataset_of("bn_decomposed", "fixed_point")
    figure = thm14_contraction(dataset_of("bn_decomposed", "contraction"), fixed)
    panel, n = figure.axes[1], fixed["batch"].values
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    for name, color, words in (
        ("odd_angle", RED, "odd point to cluster"),
        ("simplex_angle", GREEN, "equal points"),
        ("odd_intra_angle", BLUE, "within the cluster"),
    ):
        (line,) = named(panel, words)
        np.testing.assert_allclose(line.get_xydata(), np.stack([n, fixed[name]], axis=1))
        assert line.get_color() == color
    (law,) = named(panel, "$540/n$")
    np.testing.assert_array_equal(law.get_xdata(), n[n >= 7])
    np.testing.assert_allclose(law.get_ydata() * law.get_xdata(), 540)
    circles = [line.get_ydata() for line in panel.get_lines() if line.get_marker() == "o"]
    np.testing.assert_allclose(circles, [fixed["iterated_intra_angle"], fixed["iterated_odd_angle"]])
    (shade,) = panel.patches
    assert shade.get_x() + shade.get_width() == pytest.approx(6.5)
    ticks = [(place, text.get_text()) for place, text in zip(panel.get_xticks(), panel.get_xticklabels(), strict=True)]
    assert ticks == [(place, f"{place}") for place in (3, 7, 20, 50, 200)]
    draws = dataset_of("bn_decomposed", "contraction").sizes["draw"]
    assert f"mean of {draws} clusters" in figure.repdyn["caption"]


# the tree


def tree():
    """Three layers below the batch 0, 1, 2, 5, 9: rows by the positive and the negative transformation."""
    rows, parents, layers = [np.array([0.0, 1.0, 2.0, 5.0, 9.0])], [-1], [0]
    for node in range(7):
        apart = rows[node] - rows[node].mean()
        rows += [np.maximum(apart, 0), np.maximum(-apart, 0)]
        parents += [node, node]
        layers += [layers[node] + 1] * 2
    rows = np.array(rows)
    data = dataset_of("bn_decomposed", "tree_example")
    data["value"][:], data["parent"][:], data["layer"][:] = rows, parents, layers
    data["mean"][:] = rows.mean(axis=1)
    data["clusters"][:] = [len(np.unique(np.round(row, 9))) for row in rows]
    return data


def test_the_tree_stacks_points_of_one_cluster_and_marks_the_mean_in_every_row():
    data = tree()
    (panel,) = fig4_tree(data).axes
    ranks = {node: node + 1 - 2 ** int(data["layer"][node]) for node in range(15)}
    for node in range(15):
        layer, row = int(data["layer"][node]), data.sel(node=node)
        center = (ranks[node] + 0.5) * 2 ** (3 - layer)
        base = -layer - 0.1
        text = next(text for text in panel.texts if np.allclose(text.get_position(), (center, base - 0.22)))
        assert text.get_text() == f"{int(row['clusters'])} clusters"
        (axis,) = [
            line for line in panel.get_lines()
            if line.get_linewidth() == 0.7 and np.allclose(line.get_ydata(), base)
            and np.isclose(np.mean(line.get_xdata()), center)
        ]  # fmt: skip
        left, right = axis.get_xdata()
        assert right - left == pytest.approx(2 * (0.9, 0.9, 0.65, 0.4)[layer])
        values = row["value"].values
        counts = {}
        for point, value in enumerate(values):
            x = left + (right - left) * value / values.max()
            height = base + 0.075 * counts.get(value, 0)
            counts[value] = counts.get(value, 0) + 1
            assert any(
                line.get_marker() == POINT_MARKERS[point] and line.get_color() == POINT_COLORS[point]
                and len(line.get_xdata()) == 1 and np.allclose([line.get_xdata()[0], line.get_ydata()[0]], [x, height])
                for line in panel.get_lines()
            )  # fmt: skip
        mean = left + (right - left) * values.mean() / values.max()
        assert any(
            line.get_linewidth() == 1.6 and len(line.get_xdata()) == 2 and np.allclose(line.get_xdata(), mean)
            and min(line.get_ydata()) < base < max(line.get_ydata())
            for line in panel.get_lines()
        )  # fmt: skip


def test_edges_of_the_tree_are_green_to_the_positive_child_and_purple_to_the_other():
    panel = fig4_tree(tree()).axes[0]
    signs = [
        (text.get_text(), to_hex(text.get_color()), text.xy)
        for text in panel.texts
        if text.get_text() in "+\N{MINUS SIGN}"
    ]
    assert len(signs) == 14
    assert {(sign, color) for sign, color, _ in signs} == {("+", GREEN.lower()), ("\N{MINUS SIGN}", PURPLE.lower())}
    heights = sorted({round(y) for *_, (_, y) in signs})
    for height in heights:
        row = sorted((x, sign) for sign, _, (x, y) in signs if round(y) == height)
        assert [sign for _, sign in row] == ["+", "\N{MINUS SIGN}"] * (len(row) // 2), "positive child on the left"


def test_beside_each_layer_of_the_tree_stand_its_clusters_beyond_two():
    data = tree()
    figure = fig4_tree(data)
    big = {
        round(text.get_position()[1] + 0.1): int(text.get_text())
        for text in figure.axes[0].texts
        if re.fullmatch(r"\d+", text.get_text())
    }
    wanted = {-t: int((data["clusters"].values[data["layer"].values == t] - 2).sum()) for t in range(4)}
    assert big == wanted
    assert "from the batch (0, 1, 2, 5, 9)." in figure.repdyn["caption"]
    assert "stays n - 2 = 3:" in figure.repdyn["caption"]


# Figure 3


def test_figure_3_dots_the_rest_of_each_size_at_which_an_odd_point_can_rest():
    """The fixed point's ratio of norms in (c), 540 / n degrees in (d), in the color of the size."""
    data = dataset_of("bn_decomposed", "odd_point")
    sizes = data["batch"].values
    rests = sizes >= 7
    data["resting_ratio"][:] = np.where(rests, 1 / (sizes - 1), np.nan)
    data["leading_width"][:] = 540 / sizes
    figure = fig3_odd_point(data)
    shown = [*sizes[~rests][-1:], *sizes[rests][-3:]]
    for panel, level in ((figure.axes[2], 1 / (sizes - 1)), (figure.axes[3], 540 / sizes)):
        wanted = {
            color: float(level[sizes == n][0])
            for color, n in zip((BLUE, ORANGE, GREEN, PURPLE), shown, strict=False)
            if n >= 7
        }
        flat = [line for line in panel.get_lines() if len(set(np.ravel(line.get_ydata()))) == 1]
        assert {line.get_color(): float(line.get_ydata()[0]) for line in flat} == pytest.approx(wanted)
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert figure.axes[2].get_ylabel() == "2nd largest over largest norm"
    assert figure.axes[3].get_ylabel() == "angle in the cluster (degree)"


@pytest.mark.parametrize("up", [1.0, -1.0])
def test_the_odd_points_name_stands_beside_it_towards_the_middle(up):
    data = dataset_of("bn_decomposed", "odd_point")
    last = int(data["batch"][-1])
    mine = np.flatnonzero(data["point_batch"].values == last)
    odd = mine[data["is_odd"].values[mine].astype(bool)][:1]
    data["is_odd"][:] = 0
    data["is_odd"][odd] = 1
    y = data["projection"].values
    y[1, odd] = 0.8 * up
    panel = fig3_odd_point(data.assign(projection=(data["projection"].dims, y))).axes[0]
    (words,) = [text for text in panel.texts if text.get_text() == "odd point"]
    assert words.xy[1] == pytest.approx(0.8 * up)
    assert np.sign(words.xyann[1]) == -up
    assert to_hex(words.get_color()) == RED.lower()
    assert words.get_va() == ("top" if up > 0 else "bottom")
