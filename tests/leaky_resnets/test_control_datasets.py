"""What controls of claims change, recomputed on synthetic datasets."""

import numpy as np
import pytest
from tests.worlds import changed, world

STUDY = "leaky_resnets"


def changed_values(before, after, *names):
    """Changed values of the dataset, in the order of its own dimensions."""
    assert changed(before, after) == set(names)
    return [after[name].transpose(*before[name].dims).values for name in names]


def test_controls_of_schemes():
    (own,), (spoiled,) = world(STUDY, "lrn-fig2a", "adaptive")
    (ratio,) = changed_values(own, spoiled, "test_ratio_by_layers")
    np.testing.assert_allclose(ratio * own["test_ratio_by_layers"].values, 1)
    before, after = world(STUDY, "lrn-fig2b")
    assert after[1].identical(before[1])
    own = before[0]
    (spectrum,) = changed_values(own, after[0], "weight_spectrum")
    np.testing.assert_array_equal(spectrum[..., 0], own["weight_spectrum"].values[..., 0])
    assert not spectrum[..., 1:].any()
    assert own["weight_spectrum"].dims[-1] == "value"
    (own,), (even,) = world(STUDY, "lrn-fig2b-steps", "especially")
    p = even["p"].transpose("scheme", *own["p"].sel(scheme="irregular").dims)
    for scheme in range(own.sizes["scheme"]):
        np.testing.assert_allclose(p[scheme], own["p"].sel(scheme="equidistant"))
    (own,), (few,) = world(STUDY, "lrn-appb-layers")
    (errors,) = changed_values(own, few, "test_error_by_layers")
    axis = own["test_error_by_layers"].dims.index("layers")
    wanted = np.take(own["test_error_by_layers"].values, [0] * own.sizes["layers"], axis)
    np.testing.assert_allclose(errors, wanted)


def test_adaptive_steps_are_clumped_in_pairs_of_one_long_and_one_short():
    (own,), (clumped,) = world(STUDY, "lrn-fig2c")
    (steps,) = changed_values(own, clumped, "plane_step")
    axis = own["plane_step"].dims.index("scheme")
    for place, scheme in enumerate(own["scheme"].values):
        old = np.moveaxis(own["plane_step"].sel(scheme=scheme).values, -1, 0)
        new = np.moveaxis(np.take(steps, place, axis), -1, 0)
        assert own["plane_step"].dims[-1] == "layer"
        if scheme != "adaptive":
            np.testing.assert_array_equal(new, old)
            continue
        wanted = old.copy()
        for place, layer in enumerate(own["layer"].values):
            if layer % 2 == 0:
                wanted[place] -= 0.9 * old[place]
                if layer < own["layer"].values[-1]:
                    wanted[place + 1] += 0.9 * old[place]
        np.testing.assert_allclose(new, wanted)


@pytest.mark.parametrize(("id", "maps"), [("lrn-fig1a-decayed", "decayed maps"), ("lrn-fig1a-free", "free maps")])
def test_fixed_maps_at_the_least_depth_stand_for_some_at_the_largest(id, maps):
    (own,), (shallow,) = world(STUDY, id, "stable H")
    names = ("median_hamiltonian", "median_stable", "least_cost")
    for name, values in zip(names, changed_values(own, shallow, *names), strict=True):
        wanted = own[name].copy(deep=True)
        depth = own["effective_depth"].values
        source = own[name].sel(maps="fixed maps", effective_depth=depth.min())
        wanted.loc[{"maps": maps, "effective_depth": depth.max()}] = source.values
        np.testing.assert_array_equal(values, wanted)


def test_the_cost_stands_for_the_energy():
    for id, part in (("lrn-fig1a", "Hamiltonian"), ("lrn-fig1a-free", "first")):
        (own,), (spoiled,) = world(STUDY, id, part)
        first, every = changed_values(own, spoiled, "median_hamiltonian", "median_stable")
        np.testing.assert_array_equal(first, own["least_cost"].isel(gamma=0))
        np.testing.assert_array_equal(every, own["least_cost"])
    (own,), (spoiled,) = world(STUDY, "lrn-fig1c", "varies")
    every, first = changed_values(own, spoiled, "stable_hamiltonian", "hamiltonian")
    np.testing.assert_array_equal(every, own["cost"])
    np.testing.assert_array_equal(first, own["cost"].isel(gamma=0))
    (own,), (spoiled,) = world(STUDY, "lrn-fig3", "BS")
    names = ("momentum", "alignment", "largest_momentum", "median_alignment")
    least = own["least_cost"].isel(gamma=0).values
    for name, values in zip(names, changed_values(own, spoiled, *names), strict=True):
        by_layer = "layer" in own[name].dims
        np.testing.assert_array_equal(values, np.broadcast_to(least[..., None], values.shape) if by_layer else least)
    (own,), (spoiled,) = world(STUDY, "lrn-balanced-size")
    (sizes,) = changed_values(own, spoiled, "weight_sq")
    np.testing.assert_array_equal(sizes, own["cost"].isel(gamma=0))
    (own,), (spoiled,) = world(STUDY, "lrn-refined")
    (ranges,) = changed_values(own, spoiled, "hamiltonian_range")
    np.testing.assert_array_equal(ranges, own["cost"].isel(gamma=0).values.max(axis=-1))


@pytest.mark.parametrize("part", ["beginning", "end"])
def test_the_kinetic_energy_at_constant_speed_keeps_the_length_of_the_path(part):
    (own,), (constant,) = world(STUDY, "lrn-fig1c-ends", part)
    (kinetic,) = changed_values(own, constant, "kinetic")
    mean = np.sqrt(own["kinetic"].values).mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(np.sqrt(kinetic), np.broadcast_to(mean, kinetic.shape))


@pytest.mark.parametrize(
    ("part", "wanted"),
    [
        ("everywhere", lambda kinetic: kinetic**2),
        ("first layer", lambda kinetic: np.broadcast_to(kinetic.min(axis=-1, keepdims=True), kinetic.shape)),
        ("slow", lambda kinetic: np.broadcast_to(kinetic[..., :1], kinetic.shape)),
    ],
)
def test_controls_of_other_speeds(part, wanted):
    (own,), (spoiled,) = world(STUDY, "lrn-fig1-speed", part)
    (kinetic,) = changed_values(own, spoiled, "kinetic")
    np.testing.assert_allclose(kinetic, wanted(own["kinetic"].values))


def test_printed_bounds_with_a_bias_stand_for_the_corrected_ones():
    for part in ("bound", "tight", "constant"):
        (own,), (printed,) = world(STUDY, "lrn-prop1", part)
        names = ("bound_corrected", "constant_bound", "least_ratio")
        bounds, constants, searched = changed_values(own, printed, *names)
        np.testing.assert_array_equal(bounds, own["bound_printed"])
        np.testing.assert_array_equal(constants, own["constant_bound_printed"])
        assert own["search"].values.tolist() == ["no bias, printed", "bias, printed", "bias, corrected"]
        np.testing.assert_array_equal(searched, own["least_ratio"].values[[0, 1, 1]])


def test_spectra_separate_two_dimensions_before_or_two_or_three_after_the_rank_in_turn():
    for part in ("A", "W"):
        (own,), (other,) = world(STUDY, "lrn-fig1b", part)
        (places,) = changed_values(own, other, "separation_place")
        rank = int(own["rank"])
        for seed, away in zip(own["seed"].values, (-2, 2, 3, -2, 2), strict=True):
            assert set(places.take(seed, axis=own["separation_place"].dims.index("seed")).ravel()) == {rank + away}


def test_negative_entries_are_everywhere_those_of_the_last_node():
    (own,), (last,) = world(STUDY, "lrn-only-nonneg")
    least, every = changed_values(own, last, "least_negative", "negative")
    np.testing.assert_array_equal(least, own["negative"].values[..., -1])
    np.testing.assert_array_equal(every, np.broadcast_to(least[..., None], every.shape))


def test_a_peak_in_the_middle_is_as_high_as_the_largest_value_beside_what_is_there():
    (own,), (peak,) = world(STUDY, "lrn-ends-jumps")
    for name, values in zip(("kinetic", "cost"), changed_values(own, peak, "kinetic", "cost"), strict=True):
        wanted = own[name].values.copy()
        (center,) = np.flatnonzero(own["layer"].values == own.sizes["layer"] // 2)
        wanted[..., center] += own[name].values.max(axis=-1)
        np.testing.assert_allclose(values, wanted)


def test_distances_before_and_after_the_last_step_of_adam_are_mirrored():
    (own,), (mirrored,) = world(STUDY, "lrn-sgd")
    distance, descending = own["relative_distance"].values, own["descent_rate"].values > 0
    (values,) = changed_values(own, mirrored, "relative_distance")
    before = distance[..., ~descending][..., -1:]
    np.testing.assert_array_equal(values[..., ~descending], distance[..., ~descending])
    np.testing.assert_allclose(values[..., descending], np.abs(2 * before - distance[..., descending]))
    assert 0 < descending.sum() < descending.size


def test_starts_keep_two_and_six_dimensions_in_turn():
    (own,), (other,) = world(STUDY, "lrn-rank-varies", "little")
    (places,) = changed_values(own, other, "separation_place")
    for start, kept in zip(own["start"].values, (2, 6, 2, 6, 2), strict=True):
        assert set(places.take(start, axis=own["separation_place"].dims.index("start")).ravel()) == {kept}


def test_without_negative_entries_an_image_of_full_rank_has_no_gap():
    """Four powers of twelve points span four dimensions: no row is in the image of the others' ReLU alone."""
    (own,), (spoiled,) = world(STUDY, "lrn-image-never")
    (gaps,) = changed_values(own, spoiled, "image_gap")
    assert np.ptp(gaps) == 0
    np.testing.assert_allclose(gaps, 0, atol=1e-9)


def test_controls_of_exact_paths():
    (own, other), (spoiled, kept) = world(STUDY, "lrn-ham-conserved", "random")
    assert kept is other
    assert changed(own, spoiled) == {"drift"}
    drift = spoiled["drift"].transpose(*own["drift"].dims)
    np.testing.assert_array_equal(drift, own["wrong_drift"].broadcast_like(own["drift"]).transpose(*own["drift"].dims))
    (own,), (spoiled,) = world(STUDY, "lrn-ham-discrete", "order")
    (spread,) = changed_values(own, spoiled, "spread")
    assert own["spread"].dims[-1] == "layer_count"
    np.testing.assert_allclose(spread * own["layer_count"].values, own["spread"])
    (own,), (spoiled,) = world(STUDY, "lrn-prop5-limit", "last")
    (mass,) = changed_values(own, spoiled, "negative_mass")
    first = np.take(own["negative_mass"].values, [0], own["negative_mass"].dims.index("p"))
    np.testing.assert_allclose(mass, np.broadcast_to(first, mass.shape))
    (own,), (spoiled,) = world(STUDY, "lrn-rho-sum", "odd")
    (excess,) = changed_values(own, spoiled, "excess")
    np.testing.assert_allclose(excess, (own["excess"] * own["layer_count"]).transpose(*own["excess"].dims))
    (own,), (spoiled,) = world(STUDY, "lrn-rho-cap", "needed")
    (cap,) = changed_values(own, spoiled, "cap")
    np.testing.assert_allclose(cap, (own["cap"] + own["irregularity"] / 4).transpose(*own["cap"].dims))
    (own,), (spoiled,) = world(STUDY, "lrn-cross-entropy", "slowly")
    (sizes,) = changed_values(own, spoiled, "output_size")
    np.testing.assert_allclose(np.log(sizes), own["output_size"])
