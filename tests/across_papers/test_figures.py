"""The figures of the questions draw what their datasets hold: networks, seeds, moments and tasks in their places."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.titled import dataset_of, drawn_as

from repdyn.across_papers.figures import bottlenecks, odd_points, theory_fits
from repdyn.base import wording
from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, RED, SKY

NETWORKS = ["plain", "batch norm", "residual", "leaky"]


def lines_in(panel, color):
    return [line for line in panel.get_lines() if line.get_color() == color]


def band_of(panel, number):
    """x, lower and upper edge of a band."""
    x, y = panel.collections[number].get_paths()[0].vertices.T
    inside = np.unique(x)
    return inside, [y[x == at].min() for at in inside], [y[x == at].max() for at in inside]


# question 1


@pytest.fixture(scope="module")
def fits():
    runs, fits = dataset_of("across_papers", "two_points"), dataset_of("across_papers", "theory_fits")
    fits["unexplained"].loc[{"data": "digits", "seed": fits["seed"][5:]}] = np.nan
    return runs, fits, theory_fits(runs, fits)


def middle_seed(fits):
    """The seed whose ratio of batch norm's share to the plain one is the upper middle one of all."""
    two = fits["unexplained"].sel(data="two points")
    ratio = (two.sel(network="batch norm") / two.sel(network="plain")).values
    return int(fits["seed"].values[[np.sum(ratio < own) for own in ratio].index(len(ratio) // 2)])


def test_two_points_of_the_middle_seed_stand_above_the_theory_of_their_own_curve(fits):
    runs, fits, figure = fits
    seed = middle_seed(fits)
    for column, network in enumerate(NETWORKS):
        top, bottom = figure.axes[column], figure.axes[4 + column]
        assert top.get_title("left") == f"({'abcd'[column]}) {network}"
        run = runs.sel(network=network, seed=seed).isel(pair=0)
        fit = fits.sel(network=network, seed=seed)
        for panel, curves in ((top, ("h",)), (bottom, ("y", "w"))):
            theories = [line for line in panel.get_lines() if line.get_label() == "theory"]
            for theory, curve in zip(theories, curves, strict=True):
                drawn_as(theory, fit["moment"], fit["theory"].sel(curve=curve))
                assert (theory.get_color(), theory.is_dashed()) == (BLACK, True)
        for panel, color, name in (
            (top, BLUE, "representation_distance"),
            (bottom, RED, "prediction_distance"),
            (bottom, GREEN, "prediction_alignment"),
        ):
            (line,) = lines_in(panel, color)
            drawn_as(line, run["step"], run[name])
        h, theory = run["representation_distance"].values, fit["theory"].sel(curve="h").values
        assert top.get_ylim() == pytest.approx((0, 1.15 * max(h.max(), theory.max())))
        assert top.texts[0].get_text() == f"range {wording.number(100 * (h.max() - h.min()) / h.mean())} %"
        assert bottom.get_xlabel() == "step"
    assert (figure.axes[0].get_ylabel(), figure.axes[4].get_ylabel()) == ("$h$", "$y$ and $w$")


def test_the_legend_names_three_curves_and_the_theory_once(fits):
    (legend,) = fits[2].legends
    entries = [
        (text.get_text(), line.get_color()) for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
    ]
    assert entries == [
        ("$h$, half depth", BLUE), ("$y$, outputs", RED), ("$w$, alignment", GREEN), ("theory", BLACK),
    ]  # fmt: skip


def test_unexplained_shares_are_filled_on_two_points_and_open_on_digits(fits):
    _, fits, figure = fits
    panel = figure.axes[-1]
    assert panel.get_yscale() == "log"
    assert [tick.get_text() for tick in panel.get_xticklabels()] == NETWORKS
    dots = [line for line in panel.get_lines() if line.get_marker() == "o"]
    bars = [line for line in panel.get_lines() if line.get_marker() == "_"]
    for place, network in enumerate(NETWORKS):
        for side, (data, fill) in enumerate((("two points", BLUE), ("digits", "none"))):
            line, bar = dots[2 * place + side], bars[2 * place + side]
            shares = fits["unexplained"].sel(network=network, data=data).values
            shares = shares[np.isfinite(shares)]
            np.testing.assert_allclose(line.get_ydata(), shares)
            assert line.get_markerfacecolor() == fill
            assert np.sign(np.asarray(line.get_xdata()) - place).tolist() == [-1 + 2 * side] * shares.size
            assert np.abs(np.asarray(line.get_xdata()) - place).max() < 0.5
            np.testing.assert_allclose(bar.get_ydata(), np.median(shares))
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["two points alone", "pairs of digits"]
    plain = float(fits["unexplained"].sel(network="plain", data="two points").median())
    (shade,) = panel.patches
    assert shade.get_y() + shade.get_height() == pytest.approx(2 * plain)
    low, high = panel.get_ylim()
    assert low == pytest.approx(float(fits["unexplained"].min()) / 1.5)
    assert high >= float(fits["unexplained"].max())


def test_question_1_tells_the_medians_of_two_points_and_counts_the_seeds_of_both(fits):
    _, fits, figure = fits
    two = fits["unexplained"].sel(data="two points")
    words = ", ".join(f"{np.median(two.sel(network=kind).values):.0%} ({kind})" for kind in NETWORKS)
    assert f"bars: medians, of the filled ones {words}; " in figure.repdyn["caption"]
    assert (
        f"two points alone ({fits.sizes['seed']} seeds); open: pairs of digits in a batch (5 seeds)"
        in figure.repdyn["caption"]
    )


# question 2


@pytest.fixture(scope="module")
def digits():
    data = dataset_of("across_papers", "digits")
    count = data.sizes["seed"]
    for place, (task, network) in enumerate((task, network) for task in range(2) for network in range(4)):
        data["learned"][task, network] = np.arange(count) < count - place % 3
        data["at_rest"][task, network] = np.arange(count) >= 1
    return data, bottlenecks(data)


def test_ranks_stand_in_the_row_of_their_task_and_the_column_of_their_network(digits):
    data, figure = digits
    for place, panel in enumerate(figure.axes):
        row, column = divmod(place, 4)
        own = data.isel(task=row, network=column)
        ranks = own["centered_effective_rank"]
        for number, (end, color, dash) in enumerate((("before training", ORANGE, "--"), ("after training", BLUE, "-"))):
            (line,) = [line for line in panel.get_lines() if line.get_label() == end]
            draws = ranks.sel(end=end).transpose("layer", "seed").values
            drawn_as(line, range(data.sizes["layer"]), draws.mean(axis=1))
            assert (line.get_color(), line.get_linestyle()) == (color, dash)
            _, low, high = band_of(panel, number)
            np.testing.assert_allclose([low, high], [draws.min(axis=1), draws.max(axis=1)])
            assert to_hex(panel.collections[number].get_facecolor()[0]) == color.lower()
        assert panel.get_yscale() == "log"
        (shade,) = panel.patches
        rank = float(own["centered_task_rank"])
        assert (shade.get_y(), shade.get_y() + shade.get_height()) == pytest.approx((rank / 2, 2 * rank))
        assert to_hex(shade.get_facecolor()) == SKY.lower()


def test_half_depth_is_marked_and_layers_are_counted_from_the_input(digits):
    data, figure = digits
    names = data["layer"].values.tolist()
    hidden = [name for name in names if name.startswith("layers.")]
    middle = names.index(f"layers.{len(hidden) // 2 - 1}")
    for panel in figure.axes:
        (mark,) = [line for line in panel.get_lines() if line.get_color() == BLACK]
        assert set(mark.get_xdata()) == {middle}
    assert figure.axes[4].get_xticks().tolist() == list(range(0, len(names), 2))
    written = [tick.get_text() for tick in figure.axes[4].get_xticklabels()]
    assert written == ["in", *(f"{int(names[place].split('.')[1]) + 1}" for place in range(2, len(names), 2))]


def test_networks_that_learned_and_rest_are_counted_below_their_panel(digits):
    data, figure = digits
    both = ((data["learned"] == 1) & (data["at_rest"] == 1)).sum("seed").transpose("task", "network").values
    counts = [int(re.search(r"(\d+) of 6 at rest", panel.get_xlabel())[1]) for panel in figure.axes]
    assert counts == both.ravel().tolist()
    assert len(set(counts)) > 1
    assert [panel.get_title("left") for panel in figure.axes[:4]] == [f"({'abcd'[k]}) {NETWORKS[k]}" for k in range(4)]
    assert [figure.axes[place].get_ylabel() for place in (0, 4)] == [
        f"{task}: effective rank" for task in data["task"].values
    ]
    ranks = [int(rank) for rank in data["centered_task_rank"].values[:, 0]]
    assert f"tasks of rank {ranks[0]} and {ranks[1]} " in figure.repdyn["caption"]
    assert f"means over {data.sizes['seed']} seeds" in figure.repdyn["caption"]


# question 3


def fixed_ratio(n):
    """Norm of an odd point over that of the others, found by iterating recentering and ReLU at infinite width."""
    gram = np.eye(n) * 1e-3 + 1
    gram[0] = gram[:, 0] = 0.0
    gram[0, 0] = float(n)
    for _ in range(4000):
        gram = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        norm = np.sqrt(np.diag(gram))
        cosine = np.clip(gram / norm[:, None] / norm, -1, 1)
        gram = norm[:, None] * norm * (np.sqrt(1 - cosine**2) + (np.pi - np.arccos(cosine)) * cosine) / np.pi
        gram /= np.trace(gram)
    norm = np.sort(np.sqrt(np.diag(gram)))
    return norm[-1] / norm[-2]


def test_norm_ratios_before_and_after_training_of_those_that_learned():
    data = dataset_of("across_papers", "odd_batch")
    for place in range(data.sizes["network"]):
        data["learned"][place] = np.arange(data.sizes["seed"]) > place
    figure = odd_points(data)
    n = int(data["point_count"])
    depth = [1, 5, 10, *(int(name.split(".")[1]) + 1 for name in data["layer"].values[3:])]
    for place, (panel, network) in enumerate(zip(figure.axes, data["network"].values, strict=True)):
        assert panel.get_title("left") == f"({'abcde'[place]}) {network}"
        assert panel.get_xlabel() == f"layer; {data.sizes['seed'] - 1 - place} learned"
        ratio = data["norm_ratio"].sel(network=network).transpose("end", "layer", "seed")
        for end, color, dash in (("before training", ORANGE, "--"), ("after training", BLUE, "-")):
            draws = ratio.sel(end=end).values[:, 0 if end[0] == "b" else place + 1 :]
            *thin, thick = lines_in(panel, color)
            for line, values in zip(thin, draws.T, strict=True):
                drawn_as(line, depth, values)
                assert line.get_linestyle() == dash
            drawn_as(thick, depth, np.median(draws, axis=1))
            assert (thick.get_label(), thick.get_linestyle()) == (end, dash)
            assert thick.get_linewidth() > thin[0].get_linewidth()
        solid, dashed = lines_in(panel, BLACK)
        assert (set(solid.get_ydata()), solid.get_linestyle()) == ({2}, "-")
        assert dashed.get_ydata()[0] == pytest.approx(fixed_ratio(n), rel=0.02)
        assert panel.get_yscale() == "log"
    assert f"norm of {n} digits in networks of {max(depth)} layers" in figure.repdyn["caption"]
