"""The fit recovers what made a trajectory, finds the global minimum, and refuses what cannot be fitted."""

from functools import partial

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

from repdyn.universality.methods import fit
from repdyn.universality.theory import alternatives
from repdyn.universality.theory.effective import effective_loss, effective_solution

START, DX2, DY2 = (1e-3, 4e-9, -4.4e-5), 1.0, 0.5
EVERY = 20
EPOCHS = np.arange(0, 6000, EVERY)
RATES = (7e-4, 4e-2)


def trajectory(eta_h=RATES[0], eta_y=RATES[1], start=START):
    return effective_solution(EPOCHS, *start, eta_h, eta_y, DX2, DY2)


def noisy(size, seed=0):
    """White noise on h alone, below its smallest value; y and w of real outputs obey Cauchy-Schwarz."""
    generator = np.random.default_rng(seed)
    curves = trajectory()
    curves[0, 1:] += size * generator.normal(size=curves[0, 1:].shape)
    return curves


@pytest.mark.parametrize("rates", [RATES, (5e-3, 3e-3), (2e-4, 8e-2)])
def test_exact_trajectories_give_their_rates(rates):
    estimate = fit.fit_effective_rates(*trajectory(*rates), DX2, DY2, every=EVERY)
    assert (estimate.eta_h, estimate.eta_y) == pytest.approx(rates, rel=1e-7)  # the loss is quadratic: 1e-14 in it
    assert estimate.loss < 1e-12
    assert np.allclose(estimate.r2, 1)
    assert estimate.agreeing >= 1
    assert not estimate.at_bound


def test_the_minimum_is_that_of_another_optimizer():
    data = noisy(1e-4)
    estimate = fit.fit_effective_rates(*data, DX2, DY2, every=EVERY)

    def residual(logs):
        return np.sqrt(EVERY) * (trajectory(*np.exp(logs)) - data).ravel()

    other = least_squares(residual, np.log(RATES), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    assert estimate.loss == pytest.approx(2 * other.cost, rel=1e-10)
    assert estimate.loss == pytest.approx(EVERY * ((estimate.theory - data) ** 2).sum(), rel=1e-12)


def test_uncertainty_covers_white_noise():
    """Errors over standard errors of 40 noisy copies: mean square within the 99.99 % range of chi^2 with 80 degrees."""
    scores = []
    for seed in range(40):
        estimate = fit.fit_effective_rates(*noisy(1e-4, seed), DX2, DY2, every=EVERY, weights=(1, 0, 0))
        error = np.log([estimate.eta_h / RATES[0], estimate.eta_y / RATES[1]])
        scores.append(error @ np.linalg.solve(estimate.covariance, error))
    assert 0.4 < np.mean(scores) / 2 < 1.8


def test_weights_select_a_curve():
    data = trajectory()
    data[0, 1:] *= 1.5  # h spoilt
    estimate = fit.fit_effective_rates(*data, DX2, DY2, every=EVERY, weights=(0, 1, 1))
    assert (estimate.eta_h, estimate.eta_y) == pytest.approx(RATES, rel=1e-6)


def test_a_plateau_is_refused_and_fits_well_if_allowed():
    data = trajectory()[:, :40]
    with pytest.raises(ValueError):
        fit.fit_effective_rates(*data, DX2, DY2, every=EVERY)
    assert fit.fit_effective_rates(*data, DX2, DY2, every=EVERY, allow_unconverged=True).loss < 1e-10


def test_bad_trajectories_are_refused():
    h, y, w = trajectory()
    with pytest.raises(ValueError):
        fit.fit_effective_rates(h[:-1], y, w, DX2, DY2)
    with pytest.raises(ValueError, match="y"):
        fit.fit_effective_rates(h, np.where(y > 0.2, np.nan, y), w, DX2, DY2)
    with pytest.raises(ValueError):
        fit.fit_effective_rates(h, y, w + 1, DX2, DY2)
    with pytest.raises(ValueError, match="dx2"):
        fit.fit_effective_rates(h, y, w, 0.0, DY2)


def test_a_falling_distance_has_rates_at_the_bound():
    """h that falls while the outputs learn has no rates: eta_h runs to the border of the box."""
    h, y, w = trajectory()
    estimate = fit.fit_effective_rates(0.4 - 0.3 * y / DY2 + h * 0, y, w, DX2, DY2, every=EVERY)
    assert estimate.at_bound
    assert estimate.r2[0] < 0.5


def test_third_rate_of_the_loss():
    _h, y, w = trajectory()
    loss = effective_loss(EPOCHS, y, w, DY2, 0.4, 3e-3)
    rate, residual = fit.fit_mean_rate(EPOCHS, loss, y, w, DY2, 0.4)
    assert rate == pytest.approx(3e-3, rel=1e-6)
    assert residual < 1e-12


@pytest.mark.parametrize("name", list(alternatives.ALTERNATIVES))
def test_altered_dynamics_solve_their_equations(name):
    """Against a solver on equation (7) with the change written out anew."""
    dx2, ey = 0.6, RATES[1]
    ex = RATES[0] * dx2

    def speed(_, z):
        h, y, w = z
        dh, dy = -ex * w, -w * (ey * h + ex * y / h)
        first, second = -ey / 2 * (3 * w - y + DY2) * h, -ex / 2 * (y + w) * w / h
        if name == "factor two":
            dy = 2 * dy
        if name == "square":
            dh = -ex * w**2
        if name == "factor two in h":
            dh = 2 * dh
        if name == "minus removed":
            second = -second
        if name == "term removed":
            dy = -w * ey * h
        return dh, dy, first + second

    t = np.arange(0, 1500, 100)
    wanted = solve_ivp(speed, (0, t[-1]), START, method="LSODA", rtol=1e-11, atol=1e-14, t_eval=t).y
    solution = alternatives.altered_solution(name, len(t), 100, np.array(START), *RATES, dx2, DY2, 0.25)
    assert np.abs(solution - wanted).max() < 1e-6  # LSODA; under the square h falls and 1/h grows, which costs most
    if name == "theory":
        assert np.abs(solution - effective_solution(t, *START, *RATES, dx2, DY2)).max() < 1e-10


def test_runge_kutta_has_fourth_order():
    wanted = effective_solution(np.arange(0, 200, 20), 0.1, 0.02, -0.05, 0.02, 0.05, DX2, DY2)
    errors = [
        np.abs(
            alternatives.altered_solution("theory", 10, 20, np.array([0.1, 0.02, -0.05]), 0.02, 0.05, DX2, DY2, step)
            - wanted
        ).max()
        for step in (10.0, 5.0)
    ]
    assert 3.5 < np.log2(errors[0] / errors[1]) < 4.5


def test_other_dynamics_can_be_fitted():
    name, rates = "factor two in h", (1e-3, 3e-2)  # it keeps (y - w)^2 = y dy2
    solve = partial(alternatives.altered_solution, name, len(EPOCHS), EVERY, np.array(START))

    def solution(pairs, frames):
        return np.stack([solve(*pair, DX2, DY2)[:, frames] for pair in pairs.T], axis=1)

    data = solve(*rates, DX2, DY2)
    estimate = fit.fit_effective_rates(*data, DX2, DY2, every=EVERY, solution=solution, allow_unconverged=True)
    assert (estimate.eta_h, estimate.eta_y) == pytest.approx(rates, rel=1e-5)
    theory = fit.fit_effective_rates(*data, DX2, DY2, every=EVERY, allow_unconverged=True)
    assert theory.loss > 0.01 > 1e-6 > estimate.loss  # the theory does not fit what is not it
