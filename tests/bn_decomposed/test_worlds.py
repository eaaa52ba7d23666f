"""What the controls of claims change, worked out again from made-up datasets with numbers of their own."""

import numpy as np
import pytest
import xarray as xr
from tests.worlds import changed, world

from repdyn.base.errors import NotEnoughDataError
from repdyn.bn_decomposed.claims.full_rank import tail_of_rows

STUDY = "bn_decomposed"
SQUARES = ("odd_square", "cluster_square", "expected_odd_square", "expected_cluster_square")
GEOMETRY = {"odd_angle", "second_to_first", "intra_angle"}


def test_worlds_of_combinations_take_the_geometry_of_other_components():
    places = {"recenter": 1, "rescale": "none", "relu": 1}
    cases = {
        ("bnd-fig1-others", ""): {"rescale": "std"},
        ("bnd-fig1-ablation", "without the others"): {"rescale": "std"},
        ("bnd-fig1-cause", "by recentering"): {"recenter": 0},
        ("bnd-fig1-cause", "by the non linearity"): {"relu": 0},
    }
    for (id, part), other in cases.items():
        (own, *_), (spoiled, *_) = world(STUDY, id, part)
        assert changed(own, spoiled) == GEOMETRY
        back = places | other if id == "bnd-fig1-others" else {}
        for name in GEOMETRY:
            wanted = own[name].copy(deep=True)
            wanted.loc[places] = own[name].sel(places | other).values
            if back:
                wanted.loc[back] = own[name].sel(places).values
            np.testing.assert_array_equal(spoiled[name], wanted)
    (_, layers), (_, first) = world(STUDY, "bnd-fig1-ablation", "larger batches")
    xr.testing.assert_identical(first, layers.isel(layer=slice(0, 1)))


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


def test_bounds_without_gamma_are_the_numbers_of_points():
    for id in ("bnd-thm3-mean", "bnd-cor4"):
        (own, *_), (spoiled, *_) = world(STUDY, id, "mean over bound" if id == "bnd-cor4" else "")
        assert changed(own, spoiled) == {"bound"}
        np.testing.assert_array_equal(spoiled["bound"], own["n"])


def test_waits_are_drawn_apart_column_by_column():
    (own,), (apart,) = world(STUDY, "bnd-yt-indep")
    assert changed(own, apart) == {"wait"}
    wait, draws = own["wait"].values, own.sizes["wait_draw"]
    for column in range(wait.shape[2]):
        order = (np.arange(draws) - 7 * column) % draws
        np.testing.assert_array_equal(apart["wait"].values[:, :, column], wait[:, order, column])


@pytest.mark.parametrize(("id", "part"), [("bnd-yt-dominated", ""), ("bnd-e4-columns", "later waits")])
def test_the_last_wait_becomes_that_of_three_antipodal_pairs(id, part):
    (own,), (spoiled,) = world(STUDY, id, part)
    assert changed(own, spoiled) == {"wait", "column_gamma"}
    wait, gamma = own["wait"].values.copy(), own["column_gamma"].values.copy()
    wait[:, :, -1] = own["wait_antipodal"].values
    gamma[:, own.sizes["column"] - 1] = 1 / 6  # three lines through the origin make six equal cells
    np.testing.assert_array_equal(spoiled["wait"], wait)
    np.testing.assert_allclose(spoiled["column_gamma"], gamma)


def test_gamma_is_read_a_column_too_late_or_too_early():
    (own,), (above,) = world(STUDY, "bnd-e4-columns", "sum of bounds")
    gamma = own["column_gamma"].values
    np.testing.assert_array_equal(above["column_gamma"].values[:, :-1], gamma[:, 1:])
    (own,), (below,) = world(STUDY, "bnd-e4-columns", "first wait")
    np.testing.assert_array_equal(below["column_gamma"].values[:, 1:], gamma[:, :-1])
    assert (below["column_gamma"].values[:, 0] == 1).all()
    assert changed(own, above) == changed(own, below) == {"column_gamma"}


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


def test_points_at_equal_angles_stay_so_and_wide_clusters_become_the_last_one():
    (moments, own), (kept, equal) = world(STUDY, "bnd-eq8-closed", "reduced minus iterated odd angle")
    assert kept.identical(moments)
    assert changed(own, equal) == {"iterated_intra_angle", "iterated_odd_angle", "iterated_norm_ratio"}
    for name in ("intra", "odd"):
        np.testing.assert_array_equal(equal[f"iterated_{name}_angle"], own["simplex_angle"])
    np.testing.assert_array_equal(equal["iterated_norm_ratio"], own["batch"] - 1)
    (own, _), (narrow, _) = world(STUDY, "bnd-infwidth", "equal angles up to six points")
    assert changed(own, narrow) == {"iterated_intra_angle"}
    assert set(narrow["iterated_intra_angle"].values) == {own["iterated_intra_angle"].values[-1]}


def test_zeros_whatever_the_sign_are_the_mean_over_both():
    (own,), (spoiled,) = world(STUDY, "bnd-sec3-signs")
    above, below = (f"zeros_if_cluster_{side}" for side in ("above", "below"))
    assert changed(own, spoiled) == {above, below}
    for name in (above, below):
        np.testing.assert_allclose(spoiled[name], (own[above].values + own[below].values) / 2)
    for id, part in (("bnd-fig3", "odd angle"), ("bnd-def12-resembles", ""), ("bnd-finite-width", "")):
        (own,), (first,) = world(STUDY, id, part)
        xr.testing.assert_identical(first, own.isel(layer=slice(0, 1)))


def test_a_quiet_neuron_turned_round_is_loud():
    (own,), (loud,) = world(STUDY, "bnd-fig6-b", "quiet for most inputs")
    names = changed(own, loud)
    assert names
    assert all(name.startswith("above_") for name in names)
    for name in names:
        np.testing.assert_allclose(loud[name] + own[name], 1)


def test_interior_points_are_numbered_from_one_too_few():
    (own, _), (late, _) = world(STUDY, "bnd-thm11-2", "rate per layer")
    assert changed(own, late) == {"angle"}
    order = np.arange(own.sizes["first"]) - 1
    np.testing.assert_array_equal(late["angle"], own["angle"].values[:, order][:, :, order])


def test_the_worse_of_two_extremes_stands_for_both():
    (own,), (worse,) = world(STUDY, "bnd-thm11-3", "ratio over eqs 51 and 79")
    names = {f"deep_{name}_{end}" for name in ("ratio", "cosine") for end in ("first", "last")}
    assert changed(own, worse) == names
    for name in ("ratio", "cosine"):
        largest = np.stack([own[f"deep_{name}_{end}"].values for end in ("first", "last")]).max(axis=0)
        for end in ("first", "last"):
            np.testing.assert_array_equal(worse[f"deep_{name}_{end}"], largest)


def test_the_batch_with_a_far_point_and_the_symmetric_one_change_places():
    (own,), (other,) = world(STUDY, "bnd-thm11-sharp", "distance of symmetric batches")
    kinds, points = own["deep_kind"].values, own["deep_points"].values
    for name in ("deep_ratio_first", "deep_ratio_last", "deep_cosine_first", "deep_cosine_last"):
        wanted = own[name].values.copy()
        for n in set(points):
            (symmetric,), (outlier,) = (
                np.flatnonzero((points == n) & (kinds == kind)) for kind in ("symmetric", "outlier")
            )
            wanted[[symmetric, outlier]] = wanted[[outlier, symmetric]]
        np.testing.assert_array_equal(other[name], wanted)
    (own,), (mirrored,) = world(STUDY, "bnd-thm11-which")
    assert changed(own, mirrored) == {"farther_is_last"}
    np.testing.assert_array_equal(mirrored["farther_is_last"], np.where(own["farther_is_last"] == 1, 0, 1))


def test_worlds_of_the_simplified_model():
    for id, part in (("bnd-excess", "layers with another excess"), ("bnd-fig8-tie", "")):
        (own,), (untied,) = world(STUDY, id, part)
        assert changed(own, untied) <= {"ties", "three_tied"}
        assert not untied["ties"].any()
        assert not untied["three_tied"].any()
    (own,), (plain,) = world(STUDY, "bnd-excess", "layers where the algorithm differs")
    assert changed(own, plain) == {"excess_by_algorithm"}
    wanted = np.broadcast_to(own["points"].values[:, None, None] - 2, own["excess_by_algorithm"].shape)
    np.testing.assert_array_equal(plain["excess_by_algorithm"], wanted)
    before, after = world(STUDY, "bnd-thm10", "depth over bound")
    for own, equal in zip(before[:2], after[:2], strict=True):
        assert changed(own, equal) == {"depth_bound"}
        np.testing.assert_array_equal(equal["depth_bound"], own["depth_bound_of_equal_gaps"])
    assert after[2].identical(before[2])
    (*_, own), (*_, late) = world(STUDY, "bnd-thm10", "layers where the widest rows differ")
    most = own["most_by_algorithm"].values
    np.testing.assert_array_equal(late["most_by_algorithm"].values[:, :, :-1], most[:, :, 1:])
    assert (late["most_by_algorithm"].values[:, :, -1] == 2).all()
    (own,), (roots,) = world(STUDY, "bnd-eq61-62", "enumeration over eq 61")
    assert changed(own, roots) == {"parted_square"}
    np.testing.assert_allclose(roots["parted_square"] ** 2, own["parted_square"])


def test_without_randomness_every_run_waits_as_long_as_the_limit():
    (own,), (limit,) = world(STUDY, "bnd-symmetric-wait", "an outlier forms")
    assert changed(own, limit) == {"wait"}
    for run in range(own.sizes["run"]):
        for width in range(own.sizes["width"]):
            np.testing.assert_array_equal(limit["wait"].values[:, :, width, run], own["wait_in_the_limit"])


def test_worlds_of_theorem_14_take_the_alpha_that_keeps_a_norm():
    """Theorem 13: 2 alpha / d keeps the norm of x_1 where alpha is what the dataset has as `norm_keeping_alpha`."""
    (own, _), (narrow, _) = world(STUDY, "bnd-cluster-rest", "wide cluster")
    assert changed(own, narrow) == {"factor"}
    wanted = np.broadcast_to(own["norm_keeping_alpha"].values[:, None, None], own["factor"].shape)
    np.testing.assert_array_equal(narrow["factor"], wanted)


def test_modes_of_training_are_exchanged_and_the_deepest_default_stands_for_he():
    training = {
        mode: xr.Dataset({"accuracy": (("depth", "seed"), level + np.arange(6.0).reshape(3, 2))}, {"depth": [2, 5, 9]})
        for mode, level in (("he", 0.0), ("default", 10.0), ("bn", 20.0))
    }
    cases = {
        "accuracy default when deep": {"he": "default", "default": "he", "bn": "bn"},
        "rank over width with batch normalization": {"he": "he", "default": "bn", "bn": "default"},
    }
    for part, sources in cases.items():
        _, (spoiled,) = world(STUDY, "bnd-fig2-he", part, {"training": training})
        assert {mode: data.identical(training[sources[mode]]) for mode, data in spoiled.items()} == dict.fromkeys(
            training, True
        )
    _, (deep,) = world(STUDY, "bnd-fig2-he", "he at low rank", {"training": training})
    assert deep["he"]["depth"].values.tolist() == [9]
    assert deep["he"]["accuracy"].values.tolist() == [[14, 15]]
    assert deep["default"] is training["default"]
    assert deep["bn"] is training["bn"]


def test_neighbors_are_let_in_by_the_widest_threshold_in_place_of_the_strict_one():
    (own,), (wide,) = world(STUDY, "bnd-disc-init", "orthogonal")
    schemes = own["scheme"].values.tolist()
    margins = [name for name in schemes if name.startswith("margin")]
    assert schemes == wide["scheme"].values.tolist()
    strict = "margin 0.5"
    for name, source in {strict: margins[-1], margins[-1]: strict}.items():
        np.testing.assert_array_equal(wide["activity"].sel(scheme=name), own["activity"].sel(scheme=source))
    with pytest.raises(NotEnoughDataError, match="point_neurons: a margin above 1"):
        world(STUDY, "bnd-disc-init", "orthogonal", {"point_neurons": own.sel(scheme=["margin 0.5", "margin 1", "he"])})


def test_norms_as_printed_are_1_at_every_width():
    for part in ("norm of the odd point", "norm of the cluster"):
        (own,), (printed,) = world(STUDY, "bnd-thm14-1-2", part)
        assert changed(own, printed) == {"norm_ratio"}
        assert (printed["norm_ratio"].values == 1).all()


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
    (own, layer), (far, kept) = world(STUDY, "bnd-cluster-rest", "narrow cluster")
    assert kept.identical(layer)
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
    kept, spoiled = tail_of_rows.controls[part].data("tail", own)
    assert kept == "tail"
    circle = own["kind"].values == "circle"
    assert 0 < circle.sum() < circle.size
    assert {"n", "y", "gamma"} == changed(own, spoiled)
    for name, level in (("n", 6), ("gamma", 1 / 6)):
        np.testing.assert_allclose(spoiled[name], np.where(circle, level, own[name].values))
    y = spoiled["y"].transpose("batch", "draw").values
    for place, row in enumerate(own["y"].values):
        np.testing.assert_array_equal(y[place], own["y_antipodal"].values if circle[place] else row)
