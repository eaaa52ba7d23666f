"""What controls change in a dataset where theory decides it, recomputed."""

import numpy as np
import pytest
from tests.worlds import changed, world

from repdyn.base.errors import NotEnoughDataError
from repdyn.bn_decomposed.claims.full_rank import tail_of_rows

STUDY = "bn_decomposed"
SQUARES = ("odd_square", "cluster_square", "expected_odd_square", "expected_cluster_square")


def test_cells_of_a_batch_become_equal_and_odd_circles_even():
    (own,), (equal,) = world(STUDY, "bnd-def1-gamma", "k 3")
    assert changed(own, equal) == {"smallest_share"}
    np.testing.assert_allclose(equal["smallest_share"] * own["cell_count"], own["smallest_count"])
    (own,), (even,) = world(STUDY, "bnd-ex1-count", "classes seen")
    assert changed(own, even) == {"patterns_seen", "cell_count", "gamma"}
    circles = {int(n): place for place, n in enumerate(own["n"].values) if own["kind"].values[place] == "circle"}
    for name in ("patterns_seen", "cell_count", "gamma"):
        wanted = own[name].values.copy()
        for n, place in circles.items():
            wanted[place] = own[name].values[circles[n + 1] if n % 2 else place]
        np.testing.assert_array_equal(even[name], wanted)


@pytest.mark.parametrize(("id", "part"), [("bnd-yt-dominated", ""), ("bnd-e4-columns", "later waits")])
def test_the_last_wait_becomes_that_of_three_antipodal_pairs(id, part):
    (own,), (spoiled,) = world(STUDY, id, part)
    assert changed(own, spoiled) == {"wait", "column_gamma"}
    wait, gamma = own["wait"].values.copy(), own["column_gamma"].values.copy()
    wait[:, :, -1] = own["wait_antipodal"].values
    gamma[:, own.sizes["column"] - 1] = 1 / 6  # three lines through the origin make six equal cells
    np.testing.assert_array_equal(spoiled["wait"], wait)
    np.testing.assert_allclose(spoiled["column_gamma"], gamma)


@pytest.mark.parametrize(
    ("id", "part"),
    [("bnd-thm13-norm", "closed form"), ("bnd-thm14-1-2", "cluster sampled"), ("bnd-thm14-hyp", "items 1 and 2")],
)
def test_variance_without_alpha_divides_every_square_by_it(id, part):
    (own, *_), (spoiled, *_) = world(STUDY, id, part)
    assert changed(own, spoiled) == set(SQUARES)
    alpha = own["alpha"].values
    for name in SQUARES:
        values = own[name].values
        np.testing.assert_allclose(spoiled[name], values / alpha.reshape(alpha.shape + (1,) * (values.ndim - 2)))


def test_layer_without_relu_keeps_the_norm_of_theorem_13():
    """Theorem 13: 2 alpha / d keeps the norm of x_1 where alpha is what the dataset has as `norm_keeping_alpha`."""
    (own, _), (narrow, _) = world(STUDY, "bnd-cluster-rest", "wide cluster")
    assert changed(own, narrow) == {"factor"}
    wanted = np.broadcast_to(own["norm_keeping_alpha"].values[:, None, None], own["factor"].shape)
    np.testing.assert_array_equal(narrow["factor"], wanted)


@pytest.mark.parametrize(
    ("id", "part"), [("bnd-thm14-4", "factor"), ("bnd-thm14-hyp", "item 4"), ("bnd-thm14-iter", "")]
)
def test_an_odd_point_at_the_invariant_distance_has_the_variance_of_theorem_13(id, part):
    before, after = world(STUDY, id, part)
    own, near = (next(data for data in datasets if "largest_factor" in data) for datasets in (before, after))
    assert changed(own, near) == {"largest_factor"} | ({"family_multiplier"} if id == "bnd-thm14-iter" else set())
    for place, n in enumerate(own["batch"].values.tolist()):
        alpha = n**2 / ((n - 1) ** 2 + 1)
        wanted = own["largest_factor"].values[place] / own["alpha"].values[place] * alpha
        np.testing.assert_allclose(near["largest_factor"].values[place], wanted)
    if id == "bnd-thm14-iter":
        np.testing.assert_array_equal(near["family_multiplier"], own["point_multiplier"])


def test_an_odd_point_kept_at_its_distance_has_the_variance_of_theorem_14():
    (own, layer), (far, same) = world(STUDY, "bnd-cluster-rest", "narrow cluster")
    assert same.identical(layer)
    assert changed(own, far) == {"factor"}
    for place, n in enumerate(own["batch"].values.tolist()):
        wanted = own["factor"].values[place] / float(layer["distance"]) ** 2 * ((n - 1) ** 2 + 1) / n**2
        np.testing.assert_allclose(far["factor"].values[place], wanted)


def test_a_stalled_hexagon_never_gains_rank():
    """ReLU(a) - ReLU(-a) = a: the odd part of what three antipodal pairs show is linear, 2 + 3 dimensions in all."""
    (own,), (stuck,) = world(STUDY, "bnd-lem2-prob", "probability over its bound")
    assert changed(own, stuck) == {"probability"}
    np.testing.assert_allclose(stuck["probability"], 0, atol=1e-12)


@pytest.mark.parametrize("part", ["below geometric", "below 7b"])
def test_six_antipodal_points_take_the_place_of_every_circle_and_of_nothing_else(part):
    (own,), _ = world(STUDY, "bnd-thm3-mean")
    tail, spoiled = tail_of_rows.controls[part].data("tail", own)
    assert tail == "tail"
    circle = own["kind"].values == "circle"
    assert 0 < circle.sum() < circle.size
    assert {"n", "y", "gamma"} == changed(own, spoiled)
    for name, level in (("n", 6), ("gamma", 1 / 6)):
        np.testing.assert_allclose(spoiled[name], np.where(circle, level, own[name].values))
    y = spoiled["y"].transpose("batch", "draw").values
    for place, row in enumerate(own["y"].values):
        np.testing.assert_array_equal(y[place], own["y_antipodal"].values if circle[place] else row)


def test_neighbors_are_let_in_by_the_widest_threshold_in_place_of_the_strict_one():
    (own,), (wide,) = world(STUDY, "bnd-disc-init", "orthogonal")
    strict, widest = "margin 0.5", [name for name in own["scheme"].values if name.startswith("margin")][-1]
    for name, source in {strict: widest, widest: strict}.items():
        np.testing.assert_array_equal(wide["activity"].sel(scheme=name), own["activity"].sel(scheme=source))
    with pytest.raises(NotEnoughDataError, match="margin above 1"):
        world(STUDY, "bnd-disc-init", "orthogonal", {"point_neurons": own.sel(scheme=[strict, "margin 1", "he"])})
