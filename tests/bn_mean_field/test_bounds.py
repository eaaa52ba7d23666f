"""Bounds of Theorem 4 and the step laws of section 4.3: limits, orders between them, brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

from repdyn.bn_mean_field.experiments import exit_times
from repdyn.bn_mean_field.methods.starts_and_targets import linear
from repdyn.bn_mean_field.theory import bounds
from repdyn.bn_mean_field.theory.manifold import normalize

POSITIVE = st.floats(0.05, 20.0)


@given(POSITIVE, POSITIVE, POSITIVE, st.floats(1.01, 50.0))
def test_gronwall_is_the_sharper_exit_time(A, B, r0, factor):
    r = r0 * factor
    assert bounds.exit_time_by_gronwall(r, r0, A, B) >= bounds.exit_time(r, r0, A, B) * (1 - 1e-12)


def test_gronwall_is_the_exact_time_of_the_extreme_growth():
    """r' = A + B r from r0: the time to reach r by quadrature of dr / (A + B r)."""
    r = np.linspace(0.5, 6.0, 200_001)
    time = np.trapezoid(1 / (0.7 + 1.3 * r), r)  # error of order spacing^2 = 1e-9
    np.testing.assert_allclose(bounds.exit_time_by_gronwall(6.0, 0.5, 0.7, 1.3), time, rtol=1e-8)


def test_stages_diverge_like_the_logarithm_and_stay_below_gronwall():
    A, B, r0 = 0.7, 1.3, 0.5
    sums = [bounds.exit_time_by_stages(n, r0, A, B) for n in (100, 1000, 10_000)]
    np.testing.assert_allclose(np.diff(sums), np.log(10) / B, rtol=0.02)  # harmonic series: next term A/(B r)
    for n, total in zip((100, 1000, 10_000), sums, strict=True):
        assert total <= bounds.exit_time_by_gronwall((n + 1) * r0, r0, A, B)


def test_growth_constants_by_hand():
    assert bounds.growth_constants(2.0, 3.0, 5.0) == (6.0, 20.0)


def test_growth_constants_bound_the_a_velocity():
    """|a'| = |E (f - y) relu(bbar x)| on bounded data against A + B r."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2))
    x *= np.sqrt(2) / np.linalg.norm(x, axis=1, keepdims=True)
    b, y, r = rng.normal(size=(30, 2)), 3 * x[:, 0], 1.7
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    h = np.maximum(x @ b.T, 0)
    A, B = bounds.growth_constants(np.sqrt(2), np.abs(y).mean(), 1.0)
    for _ in range(20):
        a = rng.uniform(-r, r, size=30)
        assert np.abs((h @ a / 30 - y) @ h / 500).max() <= A + B * r


def test_equicontinuity_forms():
    t, L = np.array([2.0, 3.0, 5.0]), np.array([4.0, 1.0, 0.5])
    corrected = bounds.equicontinuity_bound(L, t)
    printed = bounds.equicontinuity_bound_as_printed(L, t)
    np.testing.assert_allclose(corrected[0, 1:], [3.0, 10.5])
    np.testing.assert_allclose(printed[0, 1:], [1.0, 1.5])
    np.testing.assert_allclose((corrected[1, 2], printed[1, 2]), [1.0, 1.0])
    assert np.isnan(corrected[np.tril_indices(3)]).all()


@given(st.floats(1e-3, 10.0), st.floats(1e-3, 3.0), st.floats(1e-3, 0.3))
def test_first_step_is_pythagoras_and_minimal_at_the_critical_radius(r, g, h):
    tangent, radial = np.array([0.0, h * g / r]), np.array([r, 0.0])
    np.testing.assert_allclose(bounds.first_step_norm(r, g, h), np.linalg.norm(radial + tangent), rtol=1e-14)
    least = bounds.first_step_norm(bounds.critical_radius(g, h), g, h)
    np.testing.assert_allclose(least, np.sqrt(2 * h * g), rtol=1e-14)
    assert bounds.first_step_norm(r, g, h) >= least * (1 - 1e-14)


def test_gronwall_at_the_limit_of_no_growth():
    np.testing.assert_allclose(bounds.exit_time_by_gronwall([2.0], 1.0, 0.5, 0.0), [2.0])
    np.testing.assert_allclose(bounds.exit_time_by_gronwall([2.0], 1.0, 0.5, 1e-9), [2.0], rtol=1e-8)


@pytest.mark.parametrize("r", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("variances", [(5.0, 1.0), (0.2, 0.1)])
def test_bounded_lipschitz_constant_bounds_slopes_and_values_of_the_output(r, variances):
    """Difference quotients of a sigma(bbar^T x) over the distance of M, erf shifted to sigma(0) = 0.3."""
    cov, rng = np.diag(variances), np.random.default_rng(0)
    reach, longest = 1.7, 1 / np.sqrt(min(variances))
    slope = 2 / np.sqrt(np.pi) * reach * longest
    args = r, 0.3 + slope, slope, max(variances) / min(variances)
    a, turn = rng.uniform(-r, r, (2, 400)), rng.uniform(0, 2 * np.pi, 400)
    turns = np.stack([turn, turn + rng.normal(scale=1e-3, size=400)])
    b = normalize(np.stack([np.cos(turns), np.sin(turns)], axis=-1), cov)
    a[1] = a[0] + rng.normal(scale=1e-3, size=400)
    x = reach * np.stack([np.cos(turn * 3), np.sin(turn * 3)], axis=-1)
    values = a * (0.3 + erf(np.sum(b * x, axis=-1)))
    distance = np.hypot(a[0] - a[1], turns[0] - turns[1])
    constant = bounds.bounded_lipschitz_constant(*args)
    assert (np.abs(values[0] - values[1]) <= constant * distance).all()
    assert np.abs(values).max() <= constant * max(1, (r + 5e-3) / r)
    assert constant >= bounds.bounded_lipschitz_constant_as_printed(*args[:2])


def test_the_mean_slope_of_the_exit_times_by_quadrature():
    """E|y| of y = slope x_1 over the ellipse that covers it with covariance diag(5, 1)."""
    angle = np.linspace(0, 2 * np.pi, 200_001)[:-1]
    x = np.stack([np.sqrt(10) * np.cos(angle), np.sqrt(2) * np.sin(angle)])
    np.testing.assert_allclose(x @ x.T / angle.size, np.diag([5.0, 1.0]), atol=1e-12)
    A, B = exit_times._constants(3.0)
    largest = np.sqrt(10)  # |x|, and |bbar| <= 1 where bbar has norm 1 under diag(5, 1)
    assert pytest.approx(largest * 3.0 * np.abs(x[0]).mean(), rel=1e-8) == A
    assert pytest.approx(largest**2) == B
    target = linear(0, 3.0)
    np.testing.assert_allclose(target.c @ np.maximum(target.w @ x, 0), 3.0 * x[0], atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "constant"),
    [
        ((3.0, 2.0, 0.5, 1.0), 6.0),  # the supremum 3 * 2
        ((0.5, 2.0, 3.0, 1.0), 2.5),  # the slope: sqrt(2^2 + (0.5 * 3)^2)
        ((0.5, 2.0, 2.4, 4.0), 2.5),  # condition number 4 stretches by 5/4
    ],
)
def test_bounded_lipschitz_constant_by_hand(arguments, constant):
    assert bounds.bounded_lipschitz_constant(*arguments) == pytest.approx(constant)
    assert bounds.bounded_lipschitz_constant_as_printed(*arguments[:2]) == arguments[0] * arguments[1]
