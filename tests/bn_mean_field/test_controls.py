"""What the controls of claims change, worked out again from made-up datasets with numbers of their own."""

import numpy as np
import pytest
import xarray as xr
from tests.worlds import changed, world

STUDY = "bn_mean_field"


def test_gradients_next_to_their_norm_stand_for_those_with_eps():
    (own,), (spoiled,) = world(STUDY, "bnm-eps", "exponent")
    assert changed(own, spoiled) == {"radial"}
    radial = own["radial"].values.copy()
    radial[own["with_eps"].values == 1] = own["radial_next_to_norm"].values
    np.testing.assert_array_equal(spoiled["radial"].transpose(*own["radial"].dims), radial)


def test_the_cosine_of_the_metric_is_not_squared():
    (own,), (spoiled,) = world(STUDY, "bnm-prop1-spectrum", "smallest")
    assert changed(own, spoiled) == {"alignment"}
    np.testing.assert_allclose(spoiled["alignment"] ** 2, own["alignment"])


@pytest.mark.parametrize(
    ("part", "start", "target"),
    [
        ("iid opposite signs", "i.i.d.", "opposite signs"),
        ("low discrepancy equal signs", "low discrepancy", "equal signs"),
    ],
)
def test_the_order_of_widths_is_reversed_draw_by_draw_and_only_for_one_kind(part, start, target):
    """Five widths of the first draw, three of the second, the reference and runs of other kinds among them."""
    kinds = [(start, target, width, seed) for width, seed in ((8, 0), (8, 1), (16, 0), (32, 0), (32, 1))]
    kinds += [("other", target, 16, 0), (start, target, 2048, 0), (start, "other", 16, 0)]
    kinds += [(start, target, 64, 0), (start, target, 64, 1), (start, target, 128, 0)]
    starts, targets, widths, seeds = (list(column) for column in zip(*kinds, strict=True))
    distance = np.arange(22.0).reshape(11, 2) ** 2
    own = xr.Dataset(
        {"distance": (("run", "time"), distance), "loss": (("run", "time"), distance + 0.5)},
        {"start": ("run", starts), "target": ("run", targets), "width": ("run", widths), "seed": ("run", seeds)}
        | {"reference": 2048, "random_reference": 512, "time": [0.0, 1.0]},
    )
    _, (spoiled, _) = world(
        STUDY, "bnm-thm4-conv", part, {"propagation_distances": own, "well_posedness": xr.Dataset()}
    )
    assert changed(own, spoiled) == {"distance"}
    order = [10, 9, 8, 3, 4, 5, 6, 7, 2, 1, 0]  # draw 0: runs 0, 2, 3, 8, 10; draw 1: runs 1, 4, 9
    np.testing.assert_array_equal(spoiled["distance"], distance[order])


@pytest.mark.parametrize("part", ["loss left", "still falling"])
def test_counter_examples_are_taken_for_separating_starts(part):
    (own,), (spoiled,) = world(STUDY, "bnm-thm5", part)
    assert changed(own, spoiled) == {"separates"}
    assert spoiled["separates"].values.tolist() == [1 - value for value in own["separates"].values.tolist()]
    assert spoiled["separates"].dims == ("start",)


@pytest.mark.parametrize("part", ["loss", "speed", "thin arc"])
def test_starts_that_do_not_separate_get_the_losses_and_speeds_of_the_first_that_does(part):
    names, good = ["loss", "relative_loss", "speed", "time"], np.array([0, 0, 1, 1, 0])
    (own,), _ = world(STUDY, "bnm-thm5-counter", "loss")
    own = own.isel(start=[7, 6, 2, 1, 9])
    assert own["separates"].values.tolist() == good.tolist()
    _, (spoiled,) = world(STUDY, "bnm-thm5-counter", part, {"minimization": own})
    assert changed(own, spoiled) == {"relative_loss", "speed"}
    for name in names[1:3]:
        np.testing.assert_array_equal(spoiled[name], own[name].values[[2, 2, 2, 3, 2]])


def test_speeds_without_the_factor_of_the_metric_are_torques():
    (own,), (spoiled,) = world(STUDY, "bnm-fig1-speed", "because")
    assert changed(own, spoiled) == {"speed"}
    np.testing.assert_array_equal(spoiled["speed"], own["torque"])
    (own,), (spoiled,) = world(STUDY, "bnm-sec41-law")
    assert changed(own, spoiled) == {"torque"}
    np.testing.assert_allclose(spoiled["torque"], own["torque"].values * own["variance"].values ** 0.5)
    (own,), (along,) = world(STUDY, "bnm-fig1-speed", "faster")
    assert changed(own, along) == {"speed", "axis_angle"}
    (right,) = np.flatnonzero(own["angle"].values == 90)
    for place in range(own.sizes["angle"]):
        np.testing.assert_array_equal(along["speed"][place], own["torque"].values[right])
        np.testing.assert_array_equal(along["axis_angle"][place], own["axis_angle"].values[right])


@pytest.mark.parametrize(("id", "part"), [("bnm-fig1-conc", "concentrate"), ("bnm-sec41-escape", "concentrate")])
def test_neurons_at_rest_keep_their_first_angles(id, part):
    (own,), (rest,) = world(STUDY, id, part)
    assert changed(own, rest) == {"axis_angle"}
    angles = rest["axis_angle"].transpose(*own["axis_angle"].dims)
    for place in range(own.sizes["iteration"]):
        np.testing.assert_array_equal(angles.isel(iteration=place), own["axis_angle"].isel(iteration=0))


def test_controls_of_the_first_step():
    (own,), (long,) = world(STUDY, "bnm-fig3-smaller-bigger")
    assert changed(own, long) == {"norm"}
    dims = ("start", "step", "neuron")
    after = long["norm"].transpose("iteration", "radius", "model", *dims).values
    critical = own["critical"].transpose(*dims).values
    for place, r in enumerate(own["radius"].values):
        wanted = np.hypot(r, critical**2 * r**2)  # h g = critical^2
        np.testing.assert_allclose(after[:, place], np.broadcast_to(wanted, after[:, place].shape))
    for part, power in (("below", 0.5), ("above", 2.0)):
        (own,), (spoiled,) = world(STUDY, "bnm-fig3-critical", part)
        assert changed(own, spoiled) == {"critical"}
        np.testing.assert_allclose(spoiled["critical"], own["critical"].values ** power)
    (own,), (kept,) = world(STUDY, "bnm-fig3-stable")
    assert changed(own, kept) == {"turn_quantile", "loss_growth"}
    for name in ("turn_quantile", "loss_growth"):
        for model in own["model"].values:
            wanted = own[f"{name}_kept"]
            np.testing.assert_array_equal(kept[name].sel(model=model).transpose(*wanted.dims), wanted)
