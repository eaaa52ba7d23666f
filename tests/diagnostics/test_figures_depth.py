"""Figures through depth and along the residual stream: lines, bands, scales and names against made-up datasets."""

import numpy as np
import pytest
import xarray as xr
from tests.made_up_cells import dataset

from repdyn.base.figures import BLUE, CYCLE, ORANGE, new
from repdyn.diagnostics.figures import shared
from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.network import draw_all
from repdyn.diagnostics.figures.stream import draw_stream

LAYERS = ["input", "a", "b", "c"]
ENDS = (("step 0", 0, ORANGE, "--"), ("step 40", 2, BLUE, "-"))


def measured(*, seeds=True, steps=True, leak=0.5):
    """What `measure` and `Recorder` give, with a number of its own in every cell."""
    tail = " step" * steps + " seed" * seeds
    names = ("norm_ratio", "centered_effective_rank", "effective_rank", "stable_cost_of_identity")
    names += ("nuclear_rank", "numerical_rank", "nc1", "equiangle")
    variables = dict.fromkeys(names, f"layer{tail}")
    variables |= {"angle": f"layer quantile{tail}", "units_truncating_all": f"layer class{tail}"}
    variables |= {"sectors": f"layer class{tail}", "norm": f"layer point{tail}"}
    variables |= dict.fromkeys(("kinetic_energy", "potential_energy"), f"step_from{tail}")
    variables |= dict.fromkeys(("radial_fraction", "largest_radial_fraction"), f"normalized{tail}")
    labels = {"layer": LAYERS, "quantile": [0.05, 0.25, 0.5, 0.75, 0.95], "class": range(4), "point": range(9)}
    labels |= {"step_from": LAYERS[:3], "normalized": ["a", "c"]}
    labels |= {"step": [0, 10, 40]} if steps else {}
    data = dataset(labels | ({"seed": range(3)} if seeds else {}), variables, effective_depth=leak)
    angles = data["angle"]
    data["angle"] = angles.copy(data=np.sort(angles / 10, axis=angles.dims.index("quantile")))
    data["expected_angle"], data["expected_norm_ratio"] = ((), 1.45), ((), 5.5)
    data["task_rank"], data["centered_task_rank"] = ((), 4), ((), 3)
    attrs = {"title": "Made up", "gamma": 0.001, "normalized_by": "batch statistics"}
    return data.assign_attrs(attrs | ({"time": "step"} if steps else {}))


@pytest.fixture(scope="module")
def depth():
    """The figure through depth of what was measured."""
    return draw_depth(measured())


def title(panel):
    return panel.get_title("left").partition(") ")[2] or panel.get_title()


def panels(figure):
    return {title(panel): panel for panel in figure.axes}


def line(panel, label, style=None):
    """The only line of a label, and of a style where there are several."""
    lines = [drawn for drawn in panel.get_lines() if drawn.get_label() == label]
    (only,) = [drawn for drawn in lines if style is None or drawn.get_linestyle() == style]
    return only


def edges(band):
    """The lower and the upper edge of a band, point by point."""
    x, y = band.get_paths()[0].vertices.T
    places = np.unique(x)
    return np.array([[y[x == at].min() for at in places], [y[x == at].max() for at in places]])


def of(data, name, step):
    """A measure at a moment with the layers first and the seeds last."""
    values = data[name].isel(step=step)
    return values.transpose(values.dims[0], ..., "seed").values


SCALES = {
    "angles between points": "linear",
    "odd point": "log",
    "effective rank, centered": "log",
    "stable cost of identity": "log",
    "collapse of classes: NC1 dots, NC2 triangles": "log",
    "units that truncate a whole class": "linear",
}
PLAIN = {
    "odd point": "norm_ratio",
    "effective rank, centered": "centered_effective_rank",
    "stable cost of identity": "stable_cost_of_identity",
}


def test_panels_have_their_scales_and_the_lowest_ones_the_names_of_layers(depth):
    assert {title: panel.get_yscale() for title, panel in panels(depth).items()} == SCALES
    for place, panel in enumerate(depth.axes):
        names = [text.get_text() for text in panel.get_xticklabels()]
        assert names == (LAYERS if place > 3 else [""] * 4 if names else [])
        assert list(panel.get_xticks()) == [0, 1, 2, 3]


BANDS = "5 to 95 % of pairs (a), range of classes (f), else range of seeds"


def looks(handle):
    """Color, opacity and dash of a line or of a band."""
    line = not hasattr(handle, "get_facecolor")
    color = handle.get_color() if line else tuple(np.ravel(handle.get_facecolor()))
    return color, handle.get_alpha(), handle.get_linestyle() if line else None


@pytest.mark.parametrize("of", [measured(), measured(seeds=False, steps=False).drop_vars(["task_rank", "sectors"])])
def test_every_line_and_band_of_its_own_look_has_one_entry_in_the_legend(of):
    figure = draw_depth(of)
    entries = [text.get_text() for text in figure.legends[0].get_texts()]
    ends, whole = (["step 0", "step 40"], True) if "step" in of.dims else (["measured"], False)
    shade = "rank of the targets (c), " * whole + "nuclear to numerical rank (d)"
    wanted = [*ends, BANDS if whole else "5 to 95 % of pairs (a)", "theory: fixed points (a, b)", shade]
    assert sorted(entries) == sorted(wanted)
    drawn = {entry: set() for entry in entries}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            drawn[label].add(looks(handle))
    moments = {entry: {look for look in drawn.pop(entry) if look[2] != ":"} for entry in ends}  # NC2: in the title
    assert all(len(found) == 1 for found in (drawn | moments).values())
    assert len(set.union(*(drawn | moments).values())) == len(entries)


@pytest.mark.parametrize("panel", PLAIN)
def test_the_first_and_the_last_moment_are_drawn_as_means_over_seeds_with_their_range(panel, depth):
    data, drawn = measured(), panels(depth)[panel]
    for place, (label, step, color, dash) in enumerate(ENDS):
        values, own = of(data, PLAIN[panel], step), line(drawn, label)
        np.testing.assert_array_equal(own.get_xdata(), range(4))
        np.testing.assert_allclose(own.get_ydata(), values.sum(axis=1) / 3)
        assert (own.get_color(), own.get_linestyle()) == (color, dash)
        np.testing.assert_allclose(edges(drawn.collections[place]), [values.min(axis=1), values.max(axis=1)])


def test_angles_are_medians_in_degrees_between_the_quantiles_of_the_pairs(depth):
    data, panel = measured(), panels(depth)["angles between points"]
    for place, (label, step, _, _) in enumerate(ENDS):
        degrees = of(data, "angle", step) * 180 / np.pi
        np.testing.assert_allclose(line(panel, label).get_ydata(), degrees[:, 2].mean(axis=-1))
        pairs = panel.collections[2 * place]  # the range of the seeds comes after it
        np.testing.assert_allclose(edges(pairs), [degrees[:, q].mean(axis=-1) for q in (0, 4)])
    (expected,) = (drawn for drawn in panel.get_lines() if len(drawn.get_xdata()) == 2)
    np.testing.assert_allclose(expected.get_ydata(), 2 * [1.45 * 180 / np.pi])


def test_theory_and_task_lie_beside_what_they_are_about(depth):
    data, drawn = measured(), panels(depth)
    (expected,) = (own for own in drawn["odd point"].get_lines() if len(own.get_xdata()) == 2)
    assert list(expected.get_ydata()) == [5.5, 5.5]
    (task,) = drawn["effective rank, centered"].patches
    assert (task.get_bbox().y0, task.get_bbox().y1) == (3, 4)
    ranks = [of(data, name, 2).mean(axis=1) for name in ("nuclear_rank", "numerical_rank")]
    shade = edges(drawn["stable cost of identity"].collections[-1])
    np.testing.assert_allclose(shade, [np.minimum(*ranks), np.maximum(*ranks)])
    few = panels(draw_depth(data.assign(expected_norm_ratio=((), np.nan))))["odd point"]
    assert len(few.get_lines()) == 2


def test_collapse_and_sectors_are_those_of_the_classes(depth):
    data, drawn = measured(), panels(depth)
    collapse, sectors = (drawn[name] for name in list(SCALES)[4:])
    for place, (label, step, _, dash) in enumerate(ENDS):
        np.testing.assert_allclose(line(collapse, label, dash).get_ydata(), of(data, "nc1", step).mean(axis=1))
        np.testing.assert_allclose(line(collapse, label, ":").get_ydata(), of(data, "equiangle", step).mean(axis=1))
        markers = [line(collapse, label, style).get_marker() for style in (dash, ":")]
        assert markers == ["o", "^"]
        share = of(data, "units_truncating_all", step).mean(axis=-1)
        np.testing.assert_allclose(line(sectors, label).get_ydata(), share.mean(axis=1))
        np.testing.assert_allclose(edges(sectors.collections[place]), [share.min(axis=1), share.max(axis=1)])
    assert sectors.get_ylim()[0] == 0


def test_of_one_moment_there_is_one_line_without_a_band():
    data = measured(seeds=False, steps=False)
    panel = panels(draw_depth(data))["odd point"]
    np.testing.assert_allclose(line(panel, "measured").get_ydata(), data["norm_ratio"])
    assert not panel.collections


# along the residual stream


@pytest.mark.parametrize("leak", [0.5, 0.0])
def test_energies_are_drawn_from_block_to_block(leak):
    data = measured(leak=leak)
    panel = panels(draw_stream(data))["energy along the residual stream"]
    kinds = (("kinetic", "-"), ("potential", ":")) if leak else (("kinetic", "-"),)
    assert len(panel.get_lines()) == 2 * len(kinds)
    for label, step, color, _ in ENDS:
        for kind, dash in kinds:
            own, values = line(panel, f"{kind}, {label}"), of(data, f"{kind}_energy", step)
            np.testing.assert_allclose(own.get_ydata(), values.mean(axis=1))
            assert (own.get_color(), own.get_linestyle()) == (color, dash)
    assert [text.get_text() for text in panel.get_xticklabels()] == LAYERS[:3]
    assert (panel.get_ylim()[0] == 0) == (not leak)


def test_radial_fractions_are_the_largest_ones_through_training():
    data = measured()
    panel = panels(draw_stream(data))["radial share of the gradient"]
    for place, name in enumerate(("a", "c")):
        own = line(panel, name)
        values = data["largest_radial_fraction"].transpose("normalized", "step", "seed").values[place]
        np.testing.assert_allclose(own.get_ydata(), values.mean(axis=1))
        assert (own.get_xdata().tolist(), own.get_color()) == ([0, 10, 40], CYCLE[place])
    assert (panel.get_yscale(), panel.get_xlabel()) == ("log", "step")
    single = panels(draw_stream(measured(seeds=False, steps=False)))["radial share of the gradient"]
    assert [len(own.get_xdata()) for own in single.get_lines()] == [1, 1]
    assert list(single.get_xticks()) == []


# what the figures share


def test_every_second_or_third_layer_is_named_where_there_are_many():
    names = [str(number) for number in range(40)]
    for count, every in ((16, 1), (17, 2), (32, 2), (33, 3), (40, 3)):
        places, texts = shared.layer_ticks(names[:count])
        assert (list(places), texts) == (list(range(0, count, every)), names[:count:every])


@pytest.mark.parametrize(("last", "scale"), [(30, "linear"), (31, "symlog"), (2500, "symlog")])
def test_moments_that_spread_widely_have_a_logarithmic_axis(last, scale):
    axes = new()[1][0, 0]
    shared.time_axis(axes, xr.DataArray([0, 1, 20, last]), "epoch")
    assert (axes.get_xscale(), axes.get_xlabel()) == (scale, "epoch")
    np.testing.assert_allclose(axes.get_xlim(), [-0.05, 1.02 * last])
    if scale == "symlog":
        assert axes.get_xticks().tolist() == ([0, 1, 10] if last < 100 else [0, 1, 10, 100, 1000])


def test_the_axis_of_moments_is_logarithmic_from_the_first_one_after_the_start():
    axes = new()[1][0, 0]
    shared.time_axis(axes, xr.DataArray([0, 4, 40, 400]), "step")
    assert axes.get_xticks().tolist() == [0, 4, 40, 400]
    np.testing.assert_allclose(axes.get_xlim(), [-0.2, 408])


def test_captions_count_the_seeds(depth):
    data = measured()
    assert shared.seeds_text(data.isel(seed=0)) == ""
    assert shared.seeds_text(data.isel(seed=[0])) == "; one seed"
    assert shared.seeds_text(data).startswith("; means over 3 seeds")
    caption = depth.repdyn["caption"]
    assert caption.startswith("Made up: 9 points, normalized by batch statistics; means over 3 seeds")
    assert "= 0.001 $" in caption


ALL = {"through_depth", "through_training", "residual_stream"}


@pytest.mark.parametrize(
    ("without", "drawn"),
    [
        ([], ALL),
        (["angle"], ALL - {"through_depth"}),
        (["centered_effective_rank"], ALL - {"through_depth"}),
        (["effective_rank"], ALL - {"through_training"}),
        (["stable_cost_of_identity"], {"residual_stream"}),
        (["kinetic_energy"], ALL),
        (["radial_fraction"], ALL),
        (["kinetic_energy", "radial_fraction"], ALL - {"residual_stream"}),
    ],
)
def test_a_figure_is_drawn_where_all_that_it_needs_was_measured(without, drawn, monkeypatch):
    for name in ("depth", "training", "stream"):
        monkeypatch.setattr(f"repdyn.diagnostics.figures.network.draw_{name}", lambda _data, name=name: name)
    data = measured().drop_vars(without)
    figures = draw_all(data)
    assert set(figures) == drawn
    assert all(name.endswith(figure) for name, figure in figures.items())
    assert set(draw_all(data.isel(step=[0]))) == drawn - {"through_training"}


def test_the_title_through_depth_counts_the_layers_whose_rank_training_raises():
    data = measured()
    rank = data["centered_effective_rank"]
    for raised in (1, 3):
        rank[:] = 4.0
        rank.loc[{"step": 40}] = 3.0
        rank.loc[{"step": 40, "layer": LAYERS[:raised]}] = 5.0
        words = f"{raised} of {len(LAYERS)} layers"
        assert draw_depth(data).repdyn["title"] == f"Through depth: training raises the effective rank of {words}"
    single = measured(steps=False)
    single["centered_effective_rank"][:] = 2.0
    single["centered_effective_rank"].loc[{"layer": LAYERS[-1]}] = 7.0
    assert draw_depth(single).repdyn["title"].endswith(": effective rank 2 in the first layer, 7 in the last")


def test_the_title_along_the_stream_says_how_energy_goes_and_how_radial_gradients_are():
    data = measured()
    for last, share, words in (
        (9.0, 0.005, "Kinetic energy rises along the residual stream, gradients are at most 0.5% radial"),
        (0.1, 0.25, "Kinetic energy falls along the residual stream, gradients are at most 25.0% radial"),
    ):
        data["kinetic_energy"][:] = 1.0
        data["kinetic_energy"].loc[{"step_from": LAYERS[2], "step": 40}] = last
        data["largest_radial_fraction"][:] = share / 2
        data["largest_radial_fraction"].loc[{"normalized": "c", "step": 10}] = share
        assert draw_stream(data).repdyn["title"] == words
    parts = [name for name in data if "energy" in name]
    assert draw_stream(data.drop_vars(parts)).repdyn["title"] == "Gradients are at most 25.0% radial"
