"""Parts of the fits against values known beforehand: losses, units of time, errors of rates, gaps, alternatives."""

import numpy as np
import pytest
import xarray as xr

from repdyn.universality.methods import fit, trajectory_fits
from repdyn.universality.theory.alternatives import altered_solution
from repdyn.universality.theory.effective import effective_solution
from repdyn.universality.theory.final import final_distance

DX2, DY2, EVERY = 1.0, 0.5, 20
START, RATES = (1e-3, 4e-9, -4.4e-5), (7e-4, 4e-2)


def noisy(frames=300):
    """A theory's trajectory with smooth deviations of h, and its times."""
    t = np.arange(frames) * EVERY
    curves = effective_solution(t, *START, *RATES, DX2, DY2)
    curves[0] += 0.01 * np.sin(t / 400) ** 2
    return t, curves


def test_errors_and_explained_variances_by_hand():
    output, target = np.array([0.3, -0.2]), np.array([0.5, 0.4])
    y, w = output @ output, output @ (output - target)
    assert fit.squared_error(y, w, target @ target) == pytest.approx((target - output) @ (target - output))
    measured, theory = np.array([[1.0, 2.0, 6.0], [2.0, 2.0, 2.0]]), np.array([[1.0, 3.0, 5.0], [2.0, 2.0, 2.0]])
    r2 = fit.explained_variance(measured, theory)
    assert r2[0] == pytest.approx(1 - 2 / 14)
    assert np.isnan(r2[1])


@pytest.mark.parametrize(("left", "converged"), [(0.159, True), (0.161, False)])
def test_convergence_compares_the_end_with_the_start(left, converged):
    error = np.array([2.0, 0.01, 2.0 * left])
    assert fit.has_converged(np.full(3, 0.5), error / 2, 0.5) is converged


def test_a_loss_is_an_integral_over_epochs():
    t, data = noisy()
    weights = np.array([1.0, 2.0, 0.5])
    result = fit.fit_effective_rates(*data, DX2, DY2, every=EVERY, weights=weights)
    theory = effective_solution(t, *data[:, 0], result.eta_h, result.eta_y, DX2, DY2)
    np.testing.assert_allclose(result.theory, theory, rtol=1e-9)
    assert result.loss == pytest.approx(EVERY * (weights[:, None] * (theory - data) ** 2).sum())
    np.testing.assert_allclose(result.r2, fit.explained_variance(data, theory))
    slower = fit.fit_effective_rates(*data, DX2, DY2, every=2 * EVERY, weights=weights)
    assert (slower.eta_h, slower.eta_y) == pytest.approx((result.eta_h / 2, result.eta_y / 2), rel=1e-5)
    assert slower.loss == pytest.approx(2 * result.loss)


def test_variances_of_rates_are_widened_by_the_autocorrelation():
    rng = np.random.default_rng(0)
    frames = 40
    curves = np.cumsum(rng.normal(size=(3, frames)), axis=1) * 0.9 ** np.arange(frames)
    slope = rng.normal(size=(3 * frames, 2))
    lagged = np.array([sum(row[lag:] @ row[: frames - lag] for row in curves) for lag in range(frames)])
    until = next((lag for lag in range(frames) if lagged[lag] <= 0), frames)
    time = 1 + 2 * sum(lagged[1:until]) / lagged[0]
    variance = (curves**2).sum() / (3 * frames - 2)
    expected = time * variance * np.linalg.inv(slope.T @ slope)
    np.testing.assert_allclose(fit._covariance(curves.ravel(), slope), expected)


def test_stored_numbers_have_the_place_of_their_rate():
    covariance = np.array([[0.04, 0.01], [0.01, 0.09]])
    own = fit.EffectiveFit(0.1, 0.2, 0.3, np.zeros(3), covariance, 4, 3, False, np.zeros((3, 5)))
    numbers = trajectory_fits.numbers(own)
    assert numbers == {
        "eta_h": 0.1,
        "eta_y": 0.2,
        "fit_loss": 0.3,
        "error_h": pytest.approx(0.2),
        "error_y": pytest.approx(0.3),
        "agreeing": 0.75,
        "at_bound": 0.0,
    }
    empty = fit.no_fit(5)
    assert (empty.theory.shape, empty.covariance.shape, empty.starts, empty.at_bound) == ((3, 5), (2, 2), 0, True)
    assert np.isnan([empty.eta_h, empty.eta_y, empty.loss, *empty.r2, *empty.theory.ravel()]).all()


def run_of(t, data):
    curves = {name: ("epoch", row) for name, row in zip("hyw", data, strict=True)}
    return xr.Dataset(curves, {"epoch": t, "dx2": DX2, "dy2": DY2})


def test_a_stored_run_is_fitted_in_epochs():
    t, data = noisy()
    own, direct = trajectory_fits.fit_run(run_of(t, data)), fit.fit_effective_rates(*data, DX2, DY2, every=EVERY)
    assert (own.eta_h, own.eta_y, own.loss) == (direct.eta_h, direct.eta_y, direct.loss)


@pytest.mark.parametrize("name", ["square", "term removed"])
def test_alternatives_start_where_the_run_does(name):
    t, data = noisy(frames=12)
    rates, frames = np.array([[0.01, 0.02], [0.015, 0.004]]), np.array([0, 3, 7])
    curves = trajectory_fits.alternative(name, run_of(t, data))(rates, frames)
    assert curves.shape == (3, 2, 3)
    for place, pair in enumerate(rates.T):
        whole = altered_solution(name, 12, EVERY, data[:, 0], *pair, DX2, DY2, trajectory_fits.STEP)
        np.testing.assert_allclose(curves[:, place], whole[:, frames], rtol=1e-6)
    assert trajectory_fits.alternative("theory", run_of(t, data)) is None


@pytest.mark.parametrize(
    ("y", "epoch"), [([0.0, 0.1, 0.3, 0.4], 15.0), ([0.3, 0.1, 0.3, 0.4], 0.0), ([0.0, 0.1, 0.1, 0.2], np.nan)]
)
def test_crossings_lie_on_the_line_between_records(y, epoch):
    run = xr.Dataset({"y": ("epoch", y)}, {"epoch": [0.0, 10.0, 20.0, 30.0], "dy2": 0.4})
    np.testing.assert_equal(trajectory_fits.crossing(run, 0.5), epoch)


def test_a_trial_has_converged_by_its_last_loss():
    loss = [[1.0, 0.2], [0.001, 0.02], [0.5, np.nan], [1.0, 0.009]]
    runs = xr.Dataset({"loss": (("seed", "epoch"), loss)})
    np.testing.assert_array_equal(trajectory_fits.converged(runs, 0.02), [False, False, False, True])


def test_predictions_have_gaps_where_there_is_no_rate_or_no_distance():
    h0, rho = np.array([0.1, 0.1, 0.0, 0.0]), np.array([2.0, np.nan, 2.0, 2.0])
    dx = np.array([1.0, 1.0, 1.0, 0.0])
    values = trajectory_fits.predicted_distance(h0, 0.02, dx, 0.7, rho)
    assert values[0] == pytest.approx(float(final_distance(0.1, 0.02, 1.0, 0.7, 2.0)))
    np.testing.assert_array_equal(np.isnan(values), [False, True, True, False])
