"""Whole figures of a measured network: names and scales of every panel, whole captions, what each line is drawn at."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from tests.diagnostics.test_figures_depth import measured
from tests.diagnostics.test_figures_of_similarity import compared, of_pairs
from tests.made_up_cells import dataset

from repdyn.base.figures import BLUE, ORANGE, new
from repdyn.diagnostics.figures import report, shared
from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.held_out import draw_held_out
from repdyn.diagnostics.figures.network import draw_all
from repdyn.diagnostics.figures.pairs import draw_pairs
from repdyn.diagnostics.figures.similarity import BEST, draw_similarity
from repdyn.diagnostics.figures.stream import draw_stream
from repdyn.diagnostics.figures.training import draw_training
from repdyn.diagnostics.theory.similarity import MEASURES, ON_REQUEST

SEEDS = "; means over 3 seeds, bands without another meaning are their range"


def names(figure):
    """Title, name of the x axis and name of the y axis of every panel that is seen."""
    seen = [panel for panel in figure.axes if panel.get_visible()]
    return [(panel.get_title("left") or panel.get_title(), panel.get_xlabel(), panel.get_ylabel()) for panel in seen]


def ticks(panel):
    return [text.get_text() for text in panel.get_xticklabels()]


# through depth

OF_CLASSES = (
    " (e) $\\operatorname{Tr}(\\Sigma_W \\Sigma_B^+) / K$ (NC1) and largest deviation of the class means from a "
    "simplex (NC2). (f) Units that are at most zero on all points of a class: mean over classes, band: range of the "
    "classes."
)


@pytest.mark.parametrize("classes", [True, False])
def test_the_figure_through_depth_names_its_panels(classes):
    figure = draw_depth(measured().drop_vars([] if classes else ["nc1"]))
    titles = {
        "(a) angles between points": "angle (degree)",
        "(b) odd point": "largest / second norm",
        "(c) effective rank, centered": "effective rank",
        "(d) stable cost of identity": "cost, in dimensions",
    }
    if classes:
        titles["(e) collapse of classes: NC1 dots, NC2 triangles"] = "distance from collapse"
        titles["(f) units that truncate a whole class"] = "share of units"
    assert names(figure) == [(title, "", label) for title, label in titles.items()]
    assert [any(ticks(panel)) for panel in figure.axes] == [False] * (len(titles) - 2) + [True] * 2
    assert figure.axes[2].yaxis.get_transform().base == 2
    assert figure.repdyn["caption"] == (
        f"Made up: 9 points, normalized by batch statistics{SEEDS}. (a) Angles between points, median and 5 to 95 % of "
        "the pairs; dashed: the symmetric fixed point of wide networks with batch normalization and ReLU. (b) Largest "
        "norm over the second; dashed: the fixed point with one odd point. (c) Effective rank without the mean; band: "
        "rank of the targets. (d) Stable cost of identity at $\\gamma$ = 0.001 $\\|K\\|$; band: nuclear to numerical "
        "rank at the last moment." + (OF_CLASSES if classes else "")
    )
    assert figure.repdyn["alt"] == (
        "Panels of angles, norms, ranks and costs against the layers of a network, before and after training."
    )


def test_the_band_of_pairs_in_the_legend_is_that_of_the_last_moment_and_one_seed_has_no_range():
    figure = draw_depth(measured().isel(seed=[1]).drop_vars(["sectors", "task_rank"]))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "step 0", "step 40", "5 to 95 % of pairs (a)", "theory: fixed points (a, b)", "nuclear to numerical rank (d)",
    ]  # fmt: skip
    handles, labels = figure.axes[0].get_legend_handles_labels()
    of_pairs = handles[labels.index("5 to 95 % of pairs (a)")]
    last = handles[labels.index("step 40")]
    assert to_hex(of_pairs.get_facecolor()[0]) == to_hex(last.get_color())


def test_the_title_of_one_moment_names_the_first_and_the_last_of_four_ranks():
    single = measured(steps=False, seeds=False)
    single["centered_effective_rank"][:] = [2.5, 7, 4, 3]
    assert draw_depth(single).repdyn["title"] == "Through depth: effective rank 2.5 in the first layer, 3 in the last"


# held-out points


def held_out():
    """Four measures of the points and of six held-out ones at three moments and of three seeds."""
    variables = {}
    for suffix in ("", "_held_out"):
        variables |= {f"{name}{suffix}": "epoch seed" for name in ("loss", "accuracy")}
        variables |= {f"{name}{suffix}": "layer epoch seed" for name in ("effective_rank", "within_over_between")}
    labels = {"layer": ["a", "b", "c", "d"], "epoch": [3, 10, 45], "seed": range(3)}
    data = dataset(labels | {"point": range(9), "point_held_out": range(6)}, variables)
    return data.assign_attrs(title="Made up", time="epoch")


def test_held_out_points_are_drawn_at_their_moments_and_their_layers():
    data = held_out()
    figure = draw_held_out(data)
    assert names(figure) == [
        ("(a) loss", "epoch", ""),
        ("(b) accuracy", "epoch", ""),
        ("(c) effective rank", "", ""),
        ("(d) within over between classes", "", ""),
    ]
    for panel, name in zip(figure.axes, ("loss", "accuracy", "effective_rank", "within_over_between"), strict=True):
        whole = name in ("loss", "accuracy")
        for line, suffix, color in zip(panel.get_lines(), ("", "_held_out"), (BLUE, ORANGE), strict=True):
            values = data[f"{name}{suffix}"].transpose(..., "seed").values
            values = values if whole else values[:, 2]
            np.testing.assert_allclose(line.get_ydata(), values.mean(axis=-1))
            assert list(line.get_xdata()) == ([3, 10, 45] if whole else [0, 1, 2, 3])
            assert line.get_color() == color
        if not whole:
            assert ticks(panel) == ["a", "b", "c", "d"]
    assert figure.repdyn == {
        "title": f"Of the points {100 * float(data['accuracy'][2].mean()):.0f} % are right, of held-out ones "
        f"{100 * float(data['accuracy_held_out'][2].mean()):.0f} %",
        "caption": f"Made up, solid, and 6 held-out points, dashed{SEEDS}. Layers: epoch 45, in the order of depth.",
        "alt": "Loss, accuracy, effective rank and within over between classes of the points as solid lines and of "
        "held-out points as dashed ones.",
    }


def test_of_three_measures_of_held_out_points_the_fourth_panel_is_not_seen():
    figure = draw_held_out(held_out().drop_vars("loss_held_out"))
    assert [title for title, *_ in names(figure)] == [
        "(a) accuracy", "(b) effective rank", "(c) within over between classes",
    ]  # fmt: skip
    assert not figure.axes[3].get_title("left")


def test_of_one_moment_held_out_points_have_no_axis_of_training():
    single = held_out().isel(epoch=1, seed=0, drop=True)
    del single.attrs["time"]
    for panel in draw_held_out(single).axes[:2]:
        assert (panel.get_xlabel(), list(panel.get_xticks())) == ("", [])
        assert [list(line.get_xdata()) for line in panel.get_lines()] == [[0], [0]]


# through training


def trained():
    """What `Recorder` gives of three moments with loss and accuracy."""
    data = measured()
    more = dataset({"step": [0, 10, 40], "seed": range(3)}, {"loss": "step seed", "accuracy": "step seed"}, seed=7)
    data["loss"], data["accuracy"] = more["loss"].assign_attrs(long_name="cross-entropy"), more["accuracy"]
    return data


def test_the_figure_through_training_names_its_panels_and_lines():
    figure = draw_training(trained())
    assert names(figure) == [
        ("(a) effective rank", "step", ""),
        ("(b) stable cost of identity", "step", ""),
        ("(c) NC1: collapse within classes", "step", ""),
        ("(d) loss and accuracy", "step", ""),
    ]
    entries = [text.get_text() for text in figure.legends[0].get_texts()]
    assert set(entries[:3]) < {"input", "a", "b", "c"}
    assert entries[3:] == ["1 other", "rank of the targets"]
    assert figure.repdyn["caption"] == (
        f"Made up, measured at 3 moments{SEEDS}. One line per layer; in color the 3 whose measures change most from "
        "the first to the last moment (largest mean of the absolute logarithms of their ratios), gray the others; "
        "band: rank of the task. Last panel: loss, cross-entropy."
    )
    a, b, c = entries[:3]
    assert figure.repdyn["alt"] == (
        f"Lines of rank, cost of identity and collapse per layer against training; those of {a}, {b} and {c} change "
        "most."
    )
    for panel in figure.axes[:3]:
        heights = {line.get_label(): line.get_zorder() for line in panel.get_lines()}
        assert min(heights[name] for name in entries[:3]) > heights["1 other"]
        assert [panel.yaxis.get_major_formatter()(value) for value in (0.5, 20.0)] == ["0.5", "20"]


def test_panels_that_are_not_needed_have_no_letter():
    figure = draw_training(trained().drop_vars(["nc1", "accuracy"]))
    assert [title for title, *_ in names(figure)] == [
        "(a) effective rank", "(b) stable cost of identity", "(c) loss",
    ]  # fmt: skip
    assert not figure.axes[3].get_title("left")


def test_one_positive_number_makes_an_axis_logarithmic():
    data = trained()
    data["effective_rank"][:] = 0.0
    data["effective_rank"][2, 1, 1] = 3.0
    data["stable_cost_of_identity"][:] = np.nan
    data["loss"][:] = np.nan
    assert [panel.get_yscale() for panel in draw_training(data).axes] == ["log", "linear", "log", "log"]
    data["accuracy"][:] = 0.0
    assert draw_training(data).axes[3].get_yscale() == "linear"


# along the residual stream


def test_the_figure_along_the_stream_names_its_panels():
    data = measured()
    data["largest_radial_fraction"][:] = 0.05
    data["largest_radial_fraction"].loc[{"normalized": "c", "step": 10, "seed": 1}] = 0.25
    data["kinetic_energy"].loc[{"step": 40}] = xr.DataArray([3.0, 9.0, 1.0], dims="step_from")
    figure = draw_stream(data.rename(step="hour").assign_attrs(time="hour"))
    assert names(figure) == [
        ("(a) energy along the residual stream", "", "energy, in dimensions"),
        ("(b) radial share of the gradient", "hour", "largest over the rows"),
    ]
    assert figure.repdyn == {
        "title": "Kinetic energy falls along the residual stream, gradients are at most 25.0% radial",
        "caption": f"Made up{SEEDS}. Energies in the norm of $K + \\gamma \\|K\\| I$ along the residual stream, "
        "$\\gamma$ = 0.001. Radial gradient fraction: share of the gradient along a weight that normalization makes "
        "free; 0 in the theory, which has no $\\epsilon$.",
        "alt": "Energies against the blocks of the residual stream; radial fractions of the normalized layers.",
    }
    panel = figure.axes[1]
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["a", "c"]


# pairs


def test_every_row_is_of_its_own_pair():
    fit, recorded = of_pairs([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7], [0.5, 0.5, 0.5]])
    figure = draw_pairs(recorded, fit)
    assert names(figure) == [
        ("(a) representations, h\n$R^2$ = 0.90", "", "points 0-2"),
        ("(b) outputs, y\n$R^2$ = 0.80", "", ""),
        ("(c) alignment, w\n$R^2$ = 0.70", "", ""),
        ("$R^2$ = 0.50", "", "points 0-3"),
        ("$R^2$ = 0.50", "", ""),
        ("$R^2$ = 0.50", "", ""),
        ("$R^2$ = 0.10", "step", "points 0-1"),
        ("$R^2$ = 0.20", "step", ""),
        ("$R^2$ = 0.30", "step", ""),
        ("$R^2$ of all pairs", "", ""),
    ]
    for row, pair in enumerate(("0-2", "0-3", "0-1")):
        for panel, curve in zip(figure.axes[3 * row : 3 * row + 3], "hyw", strict=True):
            dots, curves = panel.get_lines()
            np.testing.assert_allclose(dots.get_ydata(), fit[f"{curve}_measured"].sel(pair=pair))
            np.testing.assert_allclose(curves.get_ydata(), fit[f"{curve}_theory"].sel(pair=pair))
            assert (list(dots.get_xdata()), list(curves.get_xdata())) == ([0, 1, 2], [0, 0.5, 1, 1.5, 2])
            assert panel.get_xlim() == pytest.approx((-0.05, 2.04))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["network", "effective theory"]
    assert [panel.get_ylabel() for panel in draw_pairs(recorded, fit, most=2).axes[:6:3]] == [
        "points 0-2",
        "points 0-1",
    ]


# similarity


def test_all_measures_that_were_compared_are_named():
    assert set(BEST) == {*MEASURES, *ON_REQUEST}
    data = compared("cka", runs=False)
    for name in ("rsa", "angular", "cka_rbf"):
        data[name] = data["cka"]
    with pytest.raises(ValueError, match="no similarity 'procrustes' in this dataset; give one of ") as caught:
        draw_similarity(data, "procrustes")
    assert set(str(caught.value).rpartition(" of ")[2].split(", ")) == {"cka", "rsa", "angular", "cka_rbf"}


def test_debiased_cka_is_drawn_where_no_measure_is_named():
    data = compared("cka", runs=False).assign(compared("cka_debiased", runs=False)).assign(compared("rsa", runs=False))
    assert draw_similarity(data).repdyn["title"] == "Similarity of layers: words of cka_debiased"


def test_of_layers_that_both_have_each_is_drawn_in_its_place():
    data = compared("cka", runs=True).assign_coords(other_layer=["b", "c"])
    chance = draw_similarity(data, "cka").axes[1]
    lines = {line.get_label(): line for line in chance.get_lines()}
    assert lines["the two networks"].get_xdata().tolist() == [1, 2]
    np.testing.assert_allclose(lines["the two networks"].get_ydata(), [0.3, 0.8])


# axes and legends


def test_a_label_of_several_panels_has_the_first_handle():
    figure, axes = new(1, 3)
    for panel, color in zip(axes[0], ("C3", "C1", "C2"), strict=True):
        panel.plot([0, 1], color=color, label="both")
        panel.plot([0, 1], color=color, label=f"of {color}")
    shared.legend_of_all(figure, axes[0])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["both", "of C3", "of C1", "of C2"]
    assert [line.get_color() for line in legend.get_lines()] == ["C3", "C3", "C1", "C2"]


def test_an_axis_of_training_that_has_not_begun_has_room_for_its_moment():
    panel = new()[1][0, 0]
    shared.time_axis(panel, xr.DataArray([0.0]), "step")
    assert panel.get_xlim() == (-0.5, pytest.approx(0, abs=0.1))


def test_the_axis_of_training_is_linear_up_to_the_first_moment_after_the_start():
    panel = new()[1][0, 0]
    shared.time_axis(panel, xr.DataArray([0, 5, 100, 600]), "step")
    assert panel.xaxis.get_transform().linthresh == 5
    assert panel.get_xticks().tolist() == [0, 5, 50, 500]
    assert panel.xaxis.get_minorticklocs().tolist() == []


# of the report, and of every network


def test_the_figures_of_the_report_are_those_of_its_datasets(monkeypatch):
    for kind in ("depth", "training", "stream", "pairs"):
        monkeypatch.setattr(report, f"draw_{kind}", lambda *data, kind=kind: (kind, *data))
    network, pairs = xr.Dataset(attrs={"of": "network"}), xr.Dataset(attrs={"of": "pairs"})
    assert report.through_depth(network) == ("depth", network)
    assert report.through_training(network) == ("training", network)
    assert report.residual_stream(network) == ("stream", network)
    kind, first, second = report.pairs_and_theory(network, pairs)
    assert (kind, first.attrs["of"], second.attrs["of"]) == ("pairs", "network", "pairs")


def test_every_figure_of_a_network_has_the_name_of_what_it_shows():
    data = trained().assign_coords(point_held_out=range(6))
    for name in ("loss", "accuracy"):
        data[f"{name}_held_out"] = data[name] / 2
    figures = draw_all(data)
    assert {name: figure.repdyn["title"].split(" ")[0] for name, figure in figures.items()} == {
        "through_depth": "Through",
        "through_training": "Training",
        "held_out": "Of",
        "residual_stream": "Kinetic",
    }
    assert list(draw_all(data.isel(step=[1]))) == ["through_depth", "held_out", "residual_stream"]
    assert "point_held_out" not in trained().dims
    assert "held_out" not in draw_all(trained())
