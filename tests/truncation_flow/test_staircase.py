import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repdyn.truncation_flow.theory.staircase import bias_flow, truncation_times, truncation_times_upward

PRINTED = 1e-10  # the ten digits of the reference


def test_reference_times():
    expected = [1.1507282898, 1.9616585061, 2.8858547468]
    np.testing.assert_allclose(truncation_times([3, 1, 0, 2], 0.0, 4.0).times, expected, atol=PRINTED)
    np.testing.assert_allclose(truncation_times_upward([0, 1, 2, 3], 4.0)[1:], expected, atol=PRINTED)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), N=st.integers(1, 12), ties=st.booleans())
def test_exact_flow_against_small_euler_steps(seed, N, ties):
    g = np.random.default_rng(seed)
    x = np.round(g.normal(size=N)) if ties else g.normal(size=N)
    b0, y = 1.5 * g.normal(size=2)
    h, b = 1e-3, b0
    for _ in range(2000):
        b = b + h * np.mean(x <= b) * (y - b)
    assert bias_flow(x, b0, y, [2.0])[0] == pytest.approx(b, abs=20 * h)  # first order, rates and jumps up to 4


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), N=st.integers(1, 10))
def test_flow_passes_the_points_at_the_meeting_times(seed, N):
    g = np.random.default_rng(seed)
    x = np.sort(g.normal(size=N))
    b0, y = 1.5 * g.normal(size=2)
    times = truncation_times(x, b0, y).times
    met = times[np.isfinite(times)]
    distance = np.abs(bias_flow(x, b0, y, met)[:, None] - x[None, :]).min(axis=1) if met.size else np.zeros(1)
    assert distance.max() < 1e-12


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), late=st.floats(0.1, 5))
def test_flow_is_a_semigroup(seed, late):
    g = np.random.default_rng(seed)
    x, (b0, y) = g.normal(size=6), g.normal(size=2)
    middle = bias_flow(x, b0, y, [1.0])[0]
    if middle != x.min():  # b rests at the smallest point; a start there is truncated
        assert bias_flow(x, middle, y, [late])[0] == pytest.approx(bias_flow(x, b0, y, [1.0 + late])[0], abs=1e-9)


def test_label_between_points_leaves_the_rest_untruncated():
    schedule = truncation_times([0, 1, 2, 3], 0.0, 1.5)
    assert np.isfinite(schedule.times).tolist() == [True, False, False]
    late = bias_flow([0, 1, 2, 3], 0.0, 1.5, [30.0, 31.0])
    assert -np.diff(np.log(1.5 - late))[0] == pytest.approx(0.5, abs=1e-6)


def test_downwards_the_bias_stops_at_the_smallest_point():
    late = bias_flow([0, 1, 2, 3], 3.5, -1.0, [4.0, 5.0, 50.0])
    assert late[0] > 0
    assert late[1:].tolist() == [0.0, 0.0]


def test_ties_take_no_time_and_nothing_truncated_is_at_rest():
    times = truncation_times([0, 1, 1, 3], 0.0, 4.0).times
    assert times[0] == times[1]
    empty = truncation_times([0, 1], -0.5, 4.0)
    assert empty.times.size == 0
    assert bias_flow([0, 1], -0.5, 4.0, [0.0, 9.0]).tolist() == [-0.5, -0.5]
