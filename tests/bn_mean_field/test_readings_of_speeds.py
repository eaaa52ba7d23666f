"""Section 4.1 reading by reading: which neurons, iterations, targets and ratios each number is made of."""

import numpy as np
import pytest
from tests.worlds import claim_of, data_of

from repdyn.bn_mean_field.claims import section4_2_learning

STUDY = "bn_mean_field"


def decided(id, data):
    claim = claim_of(STUDY, id)
    return claim(*(data[name] for name in claim.data))


def reading(verdict, part, *words):
    """The only reading of a part whose choices have all these words."""
    test = verdict.printed.parts[part] if part else verdict.printed
    (only,) = [own for name, own in test.readings.items() if set(name.split("; ")) == set(words)]
    return only


def scan():
    data = data_of(STUDY, "bnm-fig1-speed")
    own = data["target_scan"]
    shape, dims = own["speed"].shape, own["speed"].dims
    rng = np.random.default_rng(7)
    own["axis_angle"] = (dims, rng.uniform(0, 90, shape))
    own["speed"], own["torque"] = (dims, rng.uniform(1, 9, shape)), (dims, rng.uniform(1, 9, shape))
    return data, own


@pytest.mark.parametrize(("words", "width"), [("within 15 degrees of the axes", 15), ("nearer to either axis", 45)])
@pytest.mark.parametrize(("statistic", "of"), [("mean speed", np.mean), ("median speed", np.median)])
@pytest.mark.parametrize("angle", [0.0, 90.0])
def test_speeds_near_the_small_axis_are_over_those_near_the_large_one(words, width, statistic, of, angle):
    data, own = scan()
    cell = own.sel(angle=angle).transpose("seed", ...)

    def contrast(name):
        pairs = zip(cell[name].values, cell["axis_angle"].values, strict=True)
        return np.array([np.log10(of(v[at > 90 - width]) / of(v[at < width])) for v, at in pairs])

    verdict = decided("bnm-fig1-speed", data)
    choices = f"target: {angle:g} degrees from $x_1$", f"neurons: {words}", f"statistic: {statistic}"
    assert reading(verdict, "faster", *choices).value == pytest.approx(contrast("speed").mean())
    gain = contrast("speed") - contrast("torque")
    assert reading(verdict, "because", *choices).value == pytest.approx(gain.mean())
    assert reading(verdict, "because", *choices).region == (0.1, np.inf)


def lawful(change=lambda name, value: value):
    _, own = scan()
    rng = np.random.default_rng(8)
    for name in ("length", "variance"):
        own[name] = (own[name].dims, rng.uniform(1, 3, own[name].shape))
    own["determinant"] = own["determinant"] * 0 + 5.0
    own["speed"] = own["torque"] * 5.0**0.5 / (own["length"] * own["variance"])
    for name in ("torque", "length", "variance", "determinant", "speed"):
        own[name] = change(name, own[name])
    return {"target_scan": own}


def test_the_law_of_the_speed_holds_neuron_by_neuron_and_not_with_another_power():
    assert decided("bnm-sec41-law", lawful()).status == "holds"
    for spoiled, power in (("torque", 1.1), ("length", 2.0), ("variance", 0.5), ("determinant", 2 / 3), ("speed", 2.0)):
        world = lawful(lambda name, value, spoiled=spoiled, power=power: value**power if name == spoiled else value)
        assert decided("bnm-sec41-law", world).status == "does not hold", spoiled


def test_shares_near_the_axis_are_over_those_at_the_start_and_over_the_vanilla_models():
    data = data_of(STUDY, "bnm-fig1-conc")
    own = data["anisotropy"]
    dims = own["axis_angle"].dims
    own["axis_angle"] = (dims, np.random.default_rng(9).uniform(0, 90, own["axis_angle"].shape))
    verdict = decided("bnm-fig1-conc", data)

    def share(model, iteration, width):
        cell = own["axis_angle"].sel(model=model, target="y = x1", iteration=iteration)
        return float((cell.values < width).mean())

    for width, last in ((10, 4000), (15, 8000), (30, 6000)):
        choices = "target: $y = x_1$", f"width: {width} degrees", f"read at: iteration {last}"
        bn = share("BN", last, width)
        assert reading(verdict, "concentrate", *choices).value == pytest.approx(bn / share("BN", 0, width))
        assert reading(verdict, "more than vanilla", *choices).value == pytest.approx(
            bn / share("vanilla", last, width)
        )


def test_growth_of_shares_is_from_the_start_to_the_record_that_is_read():
    data = data_of(STUDY, "bnm-sec41-escape")
    own = data["concentration"]
    dims = own["axis_angle"].dims
    own["axis_angle"] = (dims, np.random.default_rng(10).uniform(0, 90, own["axis_angle"].shape))
    verdict = decided("bnm-sec41-escape", data)

    def growth(network, angle, width, place):
        near = (own["axis_angle"].sel(network=network, angle=angle) < width).mean("neuron")
        return (near.isel(iteration=place) - near.isel(iteration=0)).values

    for angle in own["angle"].values:
        for width in (15, 30):
            for words, place in (("half of the iterations", -2), ("the end", -1)):
                choices = f"target: {angle:g} degrees from $x_1$", f"width: {width} degrees", f"read at: {words}"
                bn, equal = (growth(name, angle, width, place) for name in ("BN", "BN, equal speeds"))
                assert reading(verdict, "concentrate", *choices).value == pytest.approx(bn.mean())
                assert reading(verdict, "helped", *choices).value == pytest.approx((bn - equal).mean(), abs=1e-12)
    assert reading(verdict, "concentrate", *choices).region[0] == 0.05
    assert reading(verdict, "helped", *choices).region[0] == 0.01


def test_iterations_are_compared_at_the_steps_that_both_learn_with():
    """A start with two such steps, one with a single one, one without: there the least that is possible counts."""
    none = np.inf
    name = np.array([[80.0, 20.0, none], [none, 40.0, 40.0], [none, none, none]])
    base = np.array([[10.0, 10.0, 10.0], [10.0, none, 10.0], [none, 25.0, 50.0]])
    ratios = section4_2_learning._at_equal_step(name, base, 200)
    np.testing.assert_allclose(ratios[[0, 1]], [np.log10(np.sqrt(8.0 * 2.0)), np.log10(4.0)])
    assert ratios[2] == np.log10(200 / 25)
    best = section4_2_learning._at_best_step(name, base, 200)
    np.testing.assert_allclose(best, np.log10([20 / 10, 40 / 10, 200 / 25]))
    np.testing.assert_allclose(section4_2_learning._at_best_step(base[2:], name[2:], 200), np.log10(25 / 200))
