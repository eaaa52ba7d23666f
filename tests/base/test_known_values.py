"""Numbers of the shared code against values known beforehand: verdicts, readings, gaps, images, intervals, Adam."""

import gzip
import hashlib
import math

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.stats import beta
from scipy.stats import t as student

from repdyn.base.adam import adam_numbers
from repdyn.base.datasets import inherit, left_out, said_to_have_diverged, variable, without_a_number
from repdyn.base.figures import half_width, label_panels, new, plain_numbers
from repdyn.base.formula_audit import FORMS, audit_variables, largest_errors
from repdyn.base.images import CHOICES, SPLITS, load_images
from repdyn.base.readings import over_readings
from repdyn.base.sampled import at_look, mean_within, share_within
from repdyn.base.verdicts import all_of, at_least, at_most, deviation, rounding, weakest

WORDS = {"expected": "a number", "reason": "why"}


def test_a_deviation_is_an_absolute_value_and_the_largest():
    test = deviation([0.5, -3.0, 1.0], 2.0, **WORDS)
    assert (test.outcome, test.value, test.region) == ("fails", 3.0, (0.0, 2.0))
    assert test.margin == pytest.approx(2 / 3)


def test_bounds_look_at_the_worst_value():
    above, below = at_least([4.0, 3.0, 9.0], 2.0, **WORDS), at_most([4.0, 3.0, 9.0], 2.0, **WORDS)
    assert (above.outcome, above.value, above.margin) == ("passes", 3.0, 1.5)
    assert (below.outcome, below.value) == ("fails", 9.0)
    assert below.margin == pytest.approx(2 / 9)
    assert above.region == (2.0, math.inf)
    assert below.region == (-math.inf, 2.0)


def test_rounding_takes_the_largest_magnitude():
    assert rounding([1.0, -8.0], 3) == 3 * 8 * 2.0**-52


def test_a_conjunction_adds_false_alarms_and_has_the_least_n():
    parts = {
        "first": deviation([0.1], 1.0, n=7, false_alarm=0.01, **WORDS),
        "second": deviation([0.9], 1.0, n=5, false_alarm=0.02, **WORDS),
        "third": deviation([0.0], 1.0, **WORDS),
    }
    test = all_of(parts)
    assert test.false_alarm == pytest.approx(0.03)
    assert (test.n, test.outcome) == (5, "passes")
    assert test.margin == pytest.approx(1 / 0.9)
    assert weakest(parts.values()) is parts["second"]


def test_readings_take_nine_in_ten_and_show_the_least_clear():
    values = [2.0] * 17 + [1.1, 40.0]
    tests = [at_least([value], 1.0, n=index + 3, **WORDS) for index, value in enumerate(values)]
    assert over_readings(lambda at: tests[at], at={str(at): at for at in range(19)}).measured.startswith(
        "of 19 readings 19 pass; at: 17: smallest 1.1"
    )
    across = mean_within([0.0, 2.0], 0.5, 9.0, **WORDS)
    assert across.outcome == "undecided"
    for undecided, outcome in ((1, "passes"), (2, "undecided")):
        own = tests[: 10 - undecided] + [across] * undecided
        combined = over_readings(lambda at, own=own: own[at], at={str(at): at for at in range(10)})
        assert combined.outcome == outcome
        assert combined.false_alarm == pytest.approx(0.001 / 0.9)
        assert combined.n == 2


def test_intervals_at_a_later_look_spend_less():
    samples = np.array([0.2, 0.9, 0.5, 0.4, 0.7])
    hits = np.array([True, True, False, True, True, True])
    with at_look(3):
        mean, share = mean_within(samples, 0, 1, false_alarm=0.04, **WORDS), share_within(hits, 0, 1, **WORDS)
    half = student.ppf(1 - 0.005, 4) * samples.std(ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(mean.interval, [samples.mean() - half, samples.mean() + half])
    assert mean.false_alarm == pytest.approx(0.01)
    alarm = 0.001 / 4
    np.testing.assert_allclose(share.interval, [beta.ppf(alarm / 2, 5, 2), beta.ppf(1 - alarm / 2, 6, 1)])


def with_values(values, **attrs):
    coords = {"trial": variable("trial", np.arange(len(values)), "trial")}
    return xr.Dataset({"loss": variable("trial", np.array(values), "loss")}, coords, attrs)


def test_gaps_of_networks_that_diverged_are_counted_and_inherited():
    whole, spoilt = with_values([1.0, 2.0, 3.0]), with_values([1.0, np.inf, np.nan])
    assert left_out(whole, [False, False, False], "x.rate = 1") is whole
    left = left_out(spoilt, [False, True, True], "x.rate = 1")
    np.testing.assert_array_equal(left["loss"], [1.0, np.nan, np.nan])
    assert said_to_have_diverged(left) == "2 of 3 networks have diverged (x.rate = 1)"
    assert left["loss"].attrs["missing"]
    other = left_out(with_values([np.inf]), [True], "y.rate = 2")
    own = inherit(with_values([np.inf, 5.0]), {"a": left, "b": whole}, other, left)
    np.testing.assert_array_equal(own["loss"], [np.nan, 5.0])
    both = "2 of 3 networks have diverged (x.rate = 1); 1 of 1 networks have diverged (y.rate = 2)"
    assert said_to_have_diverged(own) == both
    third = left_out(with_values([np.inf, 5.0]), [True, False], "z.rate = 3")
    all_of_them = f"1 of 2 networks have diverged (z.rate = 3); {both}"
    assert said_to_have_diverged(inherit(third, left, other, third)) == all_of_them
    assert said_to_have_diverged(inherit(whole, whole)) == ""


def test_arrays_without_a_number_are_named_with_their_reason():
    lost = with_values([np.nan, np.nan])
    lost["loss"].attrs["missing"] = "none learned"
    some = with_values([np.nan, 1.0])
    assert without_a_number({"runs": {"wide": lost, "deep": some}}) == "loss of runs wide (none learned)"
    assert without_a_number({"runs": some}) == ""
    assert without_a_number({"runs": with_values(np.empty(0))}) == "", "an array without entries lacks none"


def idx(array):
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


@pytest.mark.parametrize("split", ["test", "train", "both"])
def test_pixels_labels_and_order_of_the_splits(tmp_path, split):
    rng = np.random.default_rng(0)
    stored, checksums = {}, {}
    for part, count in (("test", 3), ("train", 4)):
        pair = rng.integers(0, 256, (count, 2, 5), np.uint8), rng.integers(0, 10, count).astype(np.uint8)
        stored[part] = pair
        for name, array in zip(SPLITS[part], pair, strict=True):
            content = idx(array)
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
            checksums[name] = hashlib.sha256(content).hexdigest()
    data = load_images("mnist", tmp_path, split=split, checksums=checksums)
    parts = ("train", "test") if split == "both" else (split,)
    assert CHOICES[split] == parts
    np.testing.assert_array_equal(data["image"], np.concatenate([stored[part][0] for part in parts]) / 255)
    np.testing.assert_array_equal(data["label"], np.concatenate([stored[part][1] for part in parts]))
    assert data.attrs["sha256_labels"] == " ".join(checksums[SPLITS[part][1]] for part in parts)
    assert data.attrs["sha256_images"] == " ".join(checksums[SPLITS[part][0]] for part in parts)


def test_half_widths_of_the_last_axis():
    draws = np.random.default_rng(1).normal(size=(2, 3, 6))
    expected = [[student.interval(0.95, 5, scale=row.std(ddof=1) / np.sqrt(6))[1] for row in rows] for rows in draws]
    np.testing.assert_allclose(half_width(draws), expected)
    np.testing.assert_array_equal(half_width(draws[..., :1]), np.zeros((2, 3)))


def test_steps_of_adam_follow_those_of_torch():
    parameter = torch.tensor([0.5, -2.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([parameter], lr=0.03)
    theta, mean, square = parameter.detach().numpy().copy(), np.zeros(2), np.zeros(2)
    numbers = np.concatenate([adam_numbers(0.03, 0, 2), adam_numbers(0.03, 2, 3)])
    for new_part, new_square, step, scale, epsilon in numbers:
        gradient = 3 * theta**2 + 1
        optimizer.zero_grad()
        (parameter**3 + parameter).sum().backward()
        optimizer.step()
        mean += new_part * (gradient - mean)
        square += new_square * (gradient**2 - square)
        theta -= step * mean / (np.sqrt(square) * scale + epsilon)
        np.testing.assert_allclose(theta, parameter.detach().numpy(), rtol=1e-10)


def test_forms_of_an_audit_keep_their_place_and_their_largest_error():
    errors = np.arange(12.0).reshape(2, 2, 3)
    variables = audit_variables(errors, ("draw", "equation"))
    assert list(variables) == list(FORMS) == ["printed", "corrected", "control"]
    audit = xr.Dataset(variables, {"equation": ["(1)", "(2)"]})
    np.testing.assert_array_equal(audit["control"], [[2, 5], [8, 11]])
    largest = largest_errors(audit)
    np.testing.assert_array_equal(largest["printed"], [6, 9])
    np.testing.assert_array_equal(largest["corrected"], [7, 10])
    assert set(largest) == {"printed", "corrected"}


def test_letters_run_along_rows_and_ticks_stand_at_1_2_5():
    _, axes = new(2, 2)
    for panel, words in zip(axes.flat, "pqrs", strict=True):
        panel.set_title(words)
    label_panels(axes)
    assert [panel.get_title("left") for panel in axes.flat] == ["(a) p", "(b) q", "(c) r", "(d) s"]
    panel = axes[0, 0]
    panel.set(yscale="log", ylim=(0.9, 60))
    plain_numbers(panel.yaxis)
    ticks = panel.yaxis.get_majorticklocs()
    np.testing.assert_allclose([tick for tick in ticks if 0.9 < tick < 60], [1, 2, 5, 10, 20, 50])
