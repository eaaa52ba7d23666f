"""Parts of the fits against values known beforehand: losses, units of time, errors of rates, gaps, alternatives."""

import numpy as np
import pytest
import xarray as xr

from repdyn.universality.experiments.digit_pairs import digit_pairs
from repdyn.universality.methods import fit, trajectory_fits
from repdyn.universality.settings.data_sets import TrajectoryFits
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


def test_least_loss_on_the_line_by_a_dense_scan():
    """Every guess at eta_h/eta_y = h_end^2/(dx2 dy2) is at least as bad, the free minimum at most."""
    t, data = noisy()
    least = fit.least_loss_on_line(*data, DX2, DY2, every=EVERY)
    ratio = data[0, -1] ** 2 / (DX2 * DY2)
    decoder = np.geomspace(1e-3, 1, 4000)[:, None]
    theory = effective_solution(t, *data[:, 0, None, None], ratio * decoder, decoder, DX2, DY2)
    scanned = EVERY * ((theory - data[:, None]) ** 2).sum(axis=(0, 2)).min()
    assert least == pytest.approx(scanned, rel=1e-3)
    assert least <= scanned * (1 + 1e-9)
    assert least >= fit.fit_effective_rates(*data, DX2, DY2, every=EVERY).loss


def run_of(t, data):
    curves = {name: ("epoch", row) for name, row in zip("hyw", data, strict=True)}
    return xr.Dataset(curves, {"epoch": t, "dx2": DX2, "dy2": DY2})


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


def test_curves_of_a_pair_of_digits_pooled():
    """The stored theory of the first pair against its curves, all deviations from a curve's own mean together."""
    t, data = noisy(frames=60)
    dims = ("epoch", "trial", "kind", "pair")
    curves = {name: (dims, row[:, None, None, None]) for name, row in zip("hyw", data, strict=True)}
    about = {"dx2": DX2, "dy2": DY2, "steps": 10}
    coords = {"trial": [0], "kind": ["dissimilar"], "pair": [0], "epoch": t}
    runs = xr.Dataset(curves | about, coords | {"source": "mnist", "point_count": 100, "units": 200})
    fits = digit_pairs(TrajectoryFits(steps=10 * len(t)), {"sgd": runs}).isel(trial=0, kind=0, pair=0)
    for weighting in fits["weighting"].values:
        chosen = fits.sel(weighting=weighting)
        missed = ((chosen["theory"].values - data) ** 2).sum()
        spread = ((data - data.mean(axis=1, keepdims=True)) ** 2).sum()
        assert float(chosen["pooled_r2"]) == pytest.approx(1 - missed / spread)
