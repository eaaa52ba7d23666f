"""What controls of claims change, recomputed on synthetic datasets."""

import numpy as np
import pytest
from tests.worlds import changed, own_data, world

STUDY = "universality"


def changed_values(before, after, *names):
    """Changed values of the dataset, in the order of its own dimensions."""
    assert changed(before, after) == set(names)
    return [after[name].transpose(*before[name].dims).values for name in names]


def test_contexts_of_a_weak_code_are_as_far_apart_as_the_brightest_pixel():
    (own,), (weak,) = world(STUDY, "uni-c3-contexts")
    (between,) = changed_values(own, weak, "input_between")
    assert float(between) == own["gallery"].values.max()


def test_halves_of_the_network_are_exchanged():
    (own,), (other,) = world(STUDY, "uni-s52-early")
    layers = own.sizes["layer"]
    order = [*range(layers // 2, layers), *range(layers // 2)]
    assert layers % 2 == 0
    for name in ("eta_h", "r2", "alternative_loss"):
        wanted = own[name].isel(layer=order) if "layer" in own[name].dims else own[name]
        np.testing.assert_array_equal(other[name], wanted)
    np.testing.assert_array_equal(other["layer"], own["layer"])


def test_gains_from_layer_to_layer_are_the_linear_ones_and_angled_inputs_those_after_training():
    before, after = world(STUDY, "uni-eq14-gain", "from layer to layer")
    for own, linear in zip(before[:2], after[:2], strict=True):
        (gain,) = changed_values(own, linear, "layer_gain_theory")
        np.testing.assert_array_equal(gain, own["layer_gain_linear"])
    assert after[2] is before[2]
    before, after = world(STUDY, "uni-eq14-gain", "in any direction")
    assert after[:2] == before[:2]
    own, trained = before[2], after[2]
    (h,) = changed_values(own, trained, "h")
    wanted = own["h"].copy(deep=True)
    wanted[{"look": 0, "point": 1, "other": 2}] = own["h"].isel(look=own.sizes["look"] - 1, point=0, other=1).values
    np.testing.assert_array_equal(h, wanted)


@pytest.mark.parametrize(("id", "run"), [("uni-fig9-pearson", "sgd"), ("uni-fig18", "adam")])
@pytest.mark.parametrize("part", ["all entries", "between classes"])
def test_untrained_networks_stand_for_those_of_one_run(id, run, part):
    (own,), (start,) = world(STUDY, id, part)
    names = ("correlation", "correlation_of_mean", "resampled")
    assert changed(own, start) == set(names)
    for name in names:
        wanted = own[name].copy(deep=True)
        source = own["correlation_by_look"].isel(look=0) if name == "correlation" else own[f"{name}_untrained"]
        dims = [dim for dim in wanted.dims if dim != "run"]
        wanted.loc[{"run": run}] = source.transpose(*dims).values
        np.testing.assert_array_equal(start[name], wanted)


def test_final_distances_are_those_of_the_opposite_cell_ten_times_as_large():
    (own,), (other,) = world(STUDY, "uni-fig5-final")
    (measured,) = changed_values(own, other, "measured")
    assert own["measured"].dims == ("network", "dx", "dy", "seed")
    np.testing.assert_allclose(measured, 10 * np.flip(own["measured"].values, (1, 2)))


def test_controls_of_initial_weights():
    (own,), (wrong,) = world(STUDY, "uni-s41-large")
    high = np.maximum(2 * own["size"].values - own["regime_high"].values, 0)
    for values in changed_values(own, wrong, "regime_printed", "regime_corrected"):
        np.testing.assert_allclose(values, high)
    (own,), (wrong,) = world(STUDY, "uni-s41-small")
    (low,) = changed_values(own, wrong, "regime_low")
    np.testing.assert_allclose(low, own["regime_low"].values ** 2 / float(own["dy2"]) ** 0.5)
    times = own["learning_time"]
    assert times.dims == ("start", "direction", "large_scale")
    for id, part in (("uni-s32-plateau", "decay at large weights"), ("uni-a5-decay", "decay")):
        (slow,) = changed_values(*[datasets[0] for datasets in world(STUDY, id, part)], "learning_time")
        np.testing.assert_array_equal(slow, np.broadcast_to(times.values[2, 2], times.shape))
    (own,), (wrong,) = world(STUDY, "uni-a5-decay", "across the target")
    (growth,) = changed_values(own, wrong, "large_growth")
    np.testing.assert_array_equal(growth, np.full(growth.shape, float(own["plateau_growth"])))
    given = own.assign(direction_cosine=("direction", [1.0, 0.5, 0.0, -0.5, -1.0]))
    _, (wrong,) = world(STUDY, "uni-a5-decay", "at an angle", {"theory_maps": given})
    (angled,) = changed_values(given, wrong, "learning_time")
    np.testing.assert_array_equal(angled, times.values[:, [0, 2, 2, 2, 4]])


def test_the_loss_without_the_pairs_part_keeps_that_of_the_mean_output():
    """Of (9), the pair's part is (w + (dy^2 - y) / 2) / 4."""
    before, after = world(STUDY, "uni-fig3-loss", "plateau at small weights")
    assert after[0] is before[0]
    own, rest = before[1], after[1]
    (loss,) = changed_values(own, rest, "loss")
    y, w, dy2 = (
        own[name].transpose("seed", "epoch", "network", missing_dims="ignore").values for name in ("y", "w", "dy2")
    )
    pair = own["loss"].transpose("seed", "epoch", "network").values - np.moveaxis(loss, 0, -1)
    np.testing.assert_allclose(pair, (dy2 - y + 2 * w) / 8, rtol=1e-6)


def test_controls_of_taylor_ratios():
    ratio = own_data(STUDY, "uni-c4-near")["taylor_ratios"]["ratio"].transpose("look", "network", "map", "bin")
    values, end = ratio.values, ratio.values[-1][:, [1]]
    assert ratio["map"].values.tolist() == ["encoder", "decoder"]
    wanted = {
        "uni-fig14-taylor": values[..., ::-1],
        "uni-fig14-start": np.concatenate([[np.broadcast_to(end, values[0].shape)], values[1:]]),
        "uni-fig14-first-epoch": np.concatenate([values[:1], values[0] * end / values[1:]]),
        "uni-c4-near": 1 / values,
    }
    for id, expected in wanted.items():
        for part in ("encoder", "decoder"):
            (own,), (spoiled,) = world(STUDY, id, part)
            (values_of_control,) = changed_values(own, spoiled, "ratio")
            np.testing.assert_allclose(values_of_control, expected)


def test_printed_settings_of_xor_stand_for_the_public_ones():
    (own,), (printed,) = world(STUDY, "uni-fig6-settings")
    wanted = own["learned"].copy(deep=True)
    wanted.loc[{"run": "low"}] = own["learned"].sel(run="low_as_printed").values
    np.testing.assert_array_equal(printed["learned"], wanted)
    assert changed(own, printed) <= {"learned"}


def test_proportional_rates_are_the_numbers_of_parameters_times_the_scatter_halfway():
    for part in ("encoder", "decoder"):
        before, after = world(STUDY, "uni-s52-parameters", part)
        for own, made in zip(before, after, strict=True):
            rates = dict(zip(("eta_h", "eta_y"), changed_values(own, made, "eta_h", "eta_y"), strict=True))
            halfway = np.log(own["eta_h"].transpose("layer", "seed").values[own.sizes["layer"] // 2])
            scatter = np.exp(halfway - halfway.mean())
            units, layers = int(own["units"]), own.sizes["layer"]
            for rate, values in rates.items():
                level = values / scatter / 1e-9
                np.testing.assert_allclose(level, np.broadcast_to(level[:, :1], level.shape))
                steps = np.diff(level[:, 0])
                np.testing.assert_allclose(np.abs(steps), units * (units + 1))
                assert (np.sign(steps) == (1 if rate == "eta_h" else -1)).all()
            assert layers > 2
