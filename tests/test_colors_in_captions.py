"""Colors that captions name, where no legend ties them to a label: the marks of that color are what the words say."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from tests.titled import drawn, made_up

from repdyn.base.figures import BLUE, GREEN, ORANGE, RED


def color_of(artist):
    """The one color of a collection or of a line."""
    if isinstance(artist, LineCollection):
        return to_hex(artist.get_color()[0]).upper()
    return to_hex(artist.get_facecolor()[0]).upper() if isinstance(artist, PathCollection) else artist.get_color()


def test_pairs_with_the_longest_point_are_orange_red():
    data = made_up("bn_decomposed", "fig1_ablation")
    cells = data["ablation"].isel(layer=-1)
    figure = drawn("bn_decomposed", "fig1_ablation", data)
    assert "Orange-red: pairs that hold the point of largest norm" in figure.repdyn["caption"]
    regimes = [(0, "none"), (0, "std"), (0, "rms"), (1, "none"), (1, "std")]
    places = [(relu, *regime) for relu in (0, 1) for regime in regimes]
    for panel, (relu, recenter, rescale) in zip(figure.axes, places, strict=True):
        cell = cells.sel(relu=relu, recenter=recenter, rescale=rescale)
        heights = {RED: 0.0, BLUE: 0.0}
        for bar in panel.patches:
            heights[to_hex(bar.get_facecolor()).upper()] += bar.get_height()
        inside = (cell["angle"].values >= 0) & (cell["angle"].values <= 180)
        odd = cell["with_odd"].values == 1
        assert (heights[RED], heights[BLUE]) == (np.sum(inside & odd), np.sum(inside & ~odd))


def test_representations_with_a_bias_are_orange_red_and_without_blue():
    data = made_up("leaky_resnets", "identity_cost")
    costs, ends = data["identity_costs"], data["descents"]
    figure = drawn("leaky_resnets", "identity_cost", data)
    assert "blue: no bias, orange-red: bias (an appended 1)" in figure.repdyn["caption"]
    wanted = [[], [], []]
    for bias, bound, color in ((0, "printed", BLUE), (1, "printed", RED), (1, "corrected", RED)):
        part = costs.sel(bias=bias)
        ratios = (part[f"bound_{bound}"] / part["plain_cost"]).values[part["feasible"].values == 1]
        wanted[0].append((color, ratios))
    wanted[1] = [(color, 1 + costs["scaling"].sel(shape="9 x 4", bias=k).values) for k, color in ((0, BLUE), (1, RED))]
    for case in ends["case"].values:
        part = ends.sel(case=case)
        wanted[2].append((BLUE if "no bias" in str(case) else RED, (part["end_cost"] - part["end_rank"]).values))
    for panel, rows in zip(figure.axes, wanted, strict=True):
        shown = [line for line in panel.get_lines() if line.get_marker() == "o"]
        assert [line.get_color() for line in shown] == [color for color, _ in rows]
        for line, (_, values) in zip(shown, rows, strict=True):
            np.testing.assert_allclose(line.get_xdata(), np.sort(values.ravel()))


@pytest.mark.parametrize("name", ["fig8_blob_structure", "fig17_blob_structure_adam"])
def test_orange_lines_join_points_of_one_relevant_feature_and_blue_ones_of_the_other(name):
    """Where points lie at their features the relevant one, seen horizontally, is the same along each orange line."""
    data = made_up("universality", name)
    (blobs,) = data.values()
    feature = blobs["feature"].values.copy()
    for context in np.unique(blobs["context"].values):
        own = np.flatnonzero(blobs["context"].values == context)
        feature[own] = np.stack(np.divmod(np.arange(own.size), 3), axis=1)  # a grid three points wide
    blobs["feature"] = blobs["feature"].copy(data=feature)
    flat = np.pad(feature, ((0, 0), (0, 1)))
    blobs["picture"] = blobs["picture"].copy(data=np.broadcast_to(flat, blobs["picture"].shape))
    figure = drawn("universality", name, data)
    words = "Blue lines join points of one irrelevant feature, orange ones those of one relevant"
    assert words in figure.repdyn["caption"]
    meshes = [panel.collections for panel in figure.axes if len(panel.collections) == 2]
    assert len(meshes) >= 4
    for mesh in meshes:
        lines = {color_of(part): part.get_segments() for part in mesh}
        assert set(lines) == {ORANGE, BLUE}
        for color, same in ((ORANGE, 0), (BLUE, 1)):
            assert len(lines[color]) > 1
            for line in lines[color]:
                assert np.ptp(line[:, same]) < 1e-9
            assert all(np.ptp(line[:, 1 - same]) > 1e-9 for line in lines[color][:2])


@pytest.mark.parametrize(("name", "dimension"), [("truncation_in_the_plane", 2), ("truncation_in_three_dimensions", 3)])
def test_clusters_images_and_label_have_the_colors_of_the_words(name, dimension):
    data = made_up("truncation_flow", name)
    clusters = data["truncation_in_the_plane"].sel(dimension=dimension)
    figure = drawn("truncation_flow", name, data)
    overview, *enlarged = figure.axes
    points = [part for part in overview.collections if isinstance(part, PathCollection)]
    assert [color_of(part) for part in points] == [RED, BLUE, ORANGE][:dimension]
    frame = np.eye(2) if dimension == 2 else np.array([[1, -1, 0] / np.sqrt(2), [1, 1, -2] / np.sqrt(6)])
    for cluster, part in enumerate(points):
        there = clusters["data"].sel(cluster=cluster)
        there = there.transpose("point", "column").values[:, :dimension]
        np.testing.assert_allclose(part.get_offsets(), there @ frame.T, atol=1e-9)
    for place, panel in zip((1, 3, 4), enlarged, strict=True):
        pale, full = (part for part in panel.collections if isinstance(part, PathCollection))
        assert (color_of(pale), color_of(full)) == (RED, RED)
        assert pale.get_alpha() < 1
        assert full.get_alpha() is None
        images = clusters["image"].isel(snapshot=place).sel(cluster=0).transpose("point", "column")
        np.testing.assert_allclose(full.get_offsets(), images.values[:, :dimension] @ frame.T, atol=1e-9)
        (star,) = (line for line in panel.get_lines() if line.get_marker() == "*")
        assert star.get_color() == GREEN
