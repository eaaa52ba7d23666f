"""Figures of the experiments on data sets draw what their datasets hold, under the names that they write."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from scipy import stats
from tests.drawn import read, synthetic_dataset

from repdyn.base.figures import BLUE, GREEN, ORANGE, RED
from repdyn.universality.figures.blobs import fig8_blob_structure, fig17_blob_structure_adam
from repdyn.universality.figures.digits import fig9_structure, fig14_taylor, fig18_structure_adam
from repdyn.universality.figures.printed import other_settings
from repdyn.universality.figures.xor import PANELS, fig6_xor, fig16_xor_adam


def made_up(name):
    """A dataset of the recorded shape with numbers of its own, all of whose networks have learned."""
    file = f"universality/data/{name}.nc"
    data = synthetic_dataset(read("universality")[file], file)
    return data.assign(learned=data["learned"] * 0 + 1) if "learned" in data else data


@pytest.mark.parametrize(("figure", "prefix"), [(fig6_xor, ""), (fig16_xor_adam, "adam_")])
def test_xor_matrices_share_a_scale_by_column_and_are_sorted_by_target(figure, prefix):
    data = made_up("xor_structure")
    axes = figure(data).axes
    order = [0, 3, 1, 2]  # (0, 0), (1, 1): target 0; (1, 0), (0, 1): target 1
    for column, run in enumerate(PANELS, start=1):
        means = [data[name].sel(run=f"{prefix}{run}").mean("trial").values for name in ("theory", "distance")]
        for panel, mean in zip((axes[column], axes[5 + column]), means, strict=True):
            drawn = panel.collections[0]
            np.testing.assert_allclose(drawn.get_array().reshape(4, 4), mean[np.ix_(order, order)])
            assert drawn.get_clim() == (0, max(map(np.max, means)))
            assert [label.get_text() for label in panel.get_xticklabels()] == ["00", "11", "10", "01"]
            colors = [to_hex(label.get_color()) for label in panel.get_yticklabels()]
            assert colors == [color.lower() for color in (BLUE, BLUE, ORANGE, ORANGE)]
            assert panel.get_ylim() == (4, 0), "the first row is above"
    assert (axes[1].get_ylabel(), axes[6].get_ylabel()) == ("theory (10)", "network")


def test_what_the_paper_says_of_each_xor_network_is_written_below_it():
    written = [panel.get_xlabel() for panel in fig6_xor(made_up("xor_structure")).axes[6:10]]
    assert written == [f"paper: {words}" for words in ("2 pairs merge", "as in (10)", "none merges", "1 pair merges")]


def test_settings_that_differ_from_table_2_are_told_with_what_it_prints():
    data = made_up("xor_structure")
    places = {"gain": 0.85, "rate": 0.015, "epochs": 3000, "units": 500, "nonlinearity": "leaky relu"}
    data = data.assign_coords({name: ("run", [value] * data.sizes["run"]) for name, value in places.items()})
    words = other_settings("xor", data, {"low": "small"})
    assert words == "Used here for what Table 2 prints: gain 0.85 for 0.7, epochs 3000 for 1000 (small)."
    same = data.assign_coords(gain=("run", [0.7] * data.sizes["run"]), epochs=("run", [1000] * data.sizes["run"]))
    assert other_settings("xor", same, {"low": "small"}) == "Used here for what Table 2 prints: the same."
    kinds = ["adam" if str(run).startswith("adam") else "sgd" for run in same["run"].values]
    both = other_settings("xor", same.assign_coords(optimizer=("run", kinds)), {"low": "small", "adam_low": "Adam"})
    assert both.endswith(" It prints no gain, rate or length for Adam.")


def with_squares(data, sides):
    """Pictures of context 1 in a tilted plane whose side along the irrelevant feature is given, by run."""
    side = np.array([sides.get(run, 1.0) for run in data["run"].values])
    x, y = np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 3), indexing="ij")
    feature = np.stack([x.ravel(), y.ravel()], axis=1)
    plane = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0][:2]
    points = 7 * feature[None, :, :1] * plane[0] + 7 * side[:, None, None] * feature[None, :, 1:] * plane[1]
    small = data.isel(point=slice(0, 2 * len(feature)))
    return small.assign(
        picture=(("run", "point", "component"), np.concatenate([points, points], axis=1)),
        feature=(("point", "axis"), np.concatenate([feature, feature])),
        context=("point", np.repeat([0, 1], len(feature))),
    )


def test_a_square_is_a_mesh_and_a_collapsed_context_a_line_to_scale():
    """Context 1 has the first feature as its target, context 2 the second; a quarter of a side is drawn as one."""
    data = with_squares(made_up("blob_structure"), {"low": 0.25})
    axes = fig8_blob_structure(data).axes
    heights = {"high": (1.0, 1.0), "low": (0.25, 4.0)}  # over the length along the target
    for column, run in enumerate(heights):
        for row, height in enumerate(heights[run]):
            across, along = (c for c in axes[4 * row + column].collections if isinstance(c, LineCollection))
            assert [to_hex(c.get_colors()[0]) for c in (along, across)] == [BLUE.lower(), ORANGE.lower()]
            assert (len(along.get_segments()), len(across.get_segments())) == ((3, 4), (4, 3))[row]
            drawn = np.concatenate(along.get_segments())
            np.testing.assert_allclose(np.ptp(drawn, axis=0), [1, height], rtol=1e-6)
            assert all(np.all(np.diff(line[:, 0]) > 0) for line in along.get_segments())
            (low, high), vertical = axes[4 * row + column].get_xlim(), axes[4 * row + column].get_ylim()
            assert (low, high) == vertical, "to scale"
            assert low <= drawn.min() <= drawn.max() <= high


@pytest.mark.parametrize("figure", [fig8_blob_structure, fig17_blob_structure_adam])
def test_every_network_that_has_learned_has_its_marks_of_collapse_and_distance(figure):
    data = made_up("blob_structure")
    data["learned"][:, 0] = 0
    axes = figure(data).axes
    runs = ["high", "low", "very_low"] if len(axes) == 8 else ["adam_high", "adam_low", "leaky_high", "leaky_low"]
    collapse, between = axes[len(runs)], axes[-1]
    assert collapse.get_yscale() == between.get_yscale() == "log"
    for place, run in enumerate(runs):
        nets = data.sel(run=run).isel(trial=slice(1, None))
        first, second, bar = collapse.get_lines()[3 * place : 3 * place + 3]
        for context, (line, color) in enumerate(((first, GREEN), (second, RED))):
            np.testing.assert_allclose(line.get_ydata(), nets["collapse"].isel(context_of=context))
            assert line.get_color() == color
        np.testing.assert_allclose(bar.get_ydata(), float(nets["typical_collapse"]))
        np.testing.assert_allclose(between.get_lines()[2 * place].get_ydata(), nets["between"])
        np.testing.assert_allclose(between.get_lines()[2 * place + 1].get_ydata(), float(nets["typical_between"]))


def test_a_network_without_a_picture_has_an_empty_panel():
    data = made_up("blob_structure")
    gaps = data.assign(picture=data["picture"].where(data["run"] != "low"))
    assert not fig8_blob_structure(gaps).axes[1].collections


@pytest.mark.parametrize(("figure", "run"), [(fig9_structure, "sgd"), (fig18_structure_adam, "adam")])
def test_structure_shows_network_below_and_the_prediction_of_each_pair_of_digits_above(figure, run):
    data = made_up("representational_structure")
    n = data.sizes["row"]
    labels = np.sort(np.arange(n) % 3)
    data = data.assign_coords(label=("row", labels))
    matrix, pairs = figure(data).axes[:2]
    apart = labels[:, None] != labels
    measured = data["measured"].sel(run=run).values
    predicted = data["predicted"].sel(prediction="weighed (50)").values
    below, above = (drawn for drawn in matrix.collections if isinstance(drawn, PolyCollection))
    assert below.get_clim() == above.get_clim() == (0, 2)
    rows, columns = np.tril_indices(n, -1)
    np.testing.assert_allclose(below.get_array(), (measured / measured[apart].mean())[rows, columns])
    centers = np.array([path.vertices[:4].mean(axis=0) for path in below.get_paths()])
    np.testing.assert_allclose(centers, np.stack([columns, rows], axis=1), err_msg="row downwards, column across")
    assert matrix.get_ylim() == (n - 0.5, -0.5)

    def mean(values, first, second):
        return values[np.ix_(labels == first, labels == second)].mean() / values[apart].mean()

    blocks = [(a, b) for a in range(3) for b in range(a, 3)]
    np.testing.assert_allclose(above.get_array(), [mean(predicted, *block) for block in blocks])
    place = above.get_paths()[1].vertices[:4].mean(axis=0)  # digit 0 across digit 1: right of the diagonal
    assert place[0] > place[1]
    two, one = (next(line for line in pairs.get_lines() if line.get_label() == f"{count} digit{'s' * (count == 'two')}")
                for count in ("two", "one"))  # fmt: skip
    for line, chosen in ((two, [(0, 1), (0, 2), (1, 2)]), (one, [(0, 0), (1, 1), (2, 2)])):
        np.testing.assert_allclose(line.get_xdata(), [mean(predicted, *pair) for pair in chosen])
        np.testing.assert_allclose(line.get_ydata(), [mean(measured, *pair) for pair in chosen])


def test_taylor_ratios_have_their_map_time_and_interval():
    data = made_up("taylor_ratios")
    data = data.assign_coords(progress=("look", np.array([0, 2.9, 139.2, 870])[: data.sizes["look"]]))
    looks = data.sizes["look"]
    axes = fig14_taylor(data).axes
    titles = [panel.get_title() for panel in axes[:looks]]
    assert (
        titles
        == [
            "before training\npaper: no trend",
            "0.62 epochs\npaper at 1: falls",
            "30 epochs\npaper at 30: falls",
            "186 epochs\nnot in the paper",
        ][:looks]
    )
    for row, kind in enumerate(("encoder", "decoder")):
        assert axes[row * looks].get_ylabel() == f"{kind}: ratio"
        for look in range(looks):
            panel = axes[row * looks + look]
            logs = np.log10(data["ratio"].isel(look=look).sel(map=kind).transpose("network", "bin").values)
            level, curve = panel.get_lines()
            assert panel.get_yscale() == "log"
            np.testing.assert_allclose(curve.get_ydata(), 10 ** logs.mean(axis=0))
            np.testing.assert_allclose(level.get_ydata(), 10 ** logs[:, 0].mean())
            interval = stats.t.interval(0.95, len(logs) - 1, logs.mean(axis=0), stats.sem(logs))
            edges = panel.collections[0].get_paths()[0].vertices[:, 1]
            assert edges.max() == pytest.approx(10 ** interval[1].max())
            assert edges.min() == pytest.approx(10 ** interval[0].min())
            change = logs[:, -1] - logs[:, 0]
            low, high = stats.t.interval(0.95, len(change) - 1, change.mean(), stats.sem(change))
            assert panel.texts[0].get_text() == f"x {10 ** change.mean():.2f} ({10**low:.2f} to {10**high:.2f})"
