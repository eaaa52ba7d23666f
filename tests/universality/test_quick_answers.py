"""Questions of the study's page whose quick answer is wrong: the quick answer and the right one, computed."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_digits


def descent(alpha, v, until, target=1.0, **options):
    """Gradient descent of |alpha v - d|^2 / 2, dh = alpha u, dy = alpha v, dx = 1, equal rates; d is the first axis."""

    def velocity(_, state):
        error = state[0] * state[1:]
        error[0] -= target
        return -np.concatenate([[state[1:] @ error], state[0] * error])

    return solve_ivp(velocity, (0, until), [alpha, *v], method="LSODA", rtol=1e-9, atol=1e-12, **options)


@pytest.mark.parametrize("scale", [5.0, 20.0])
def test_large_balanced_weights_forget_where_they_started(scale):
    state = descent(scale, scale * np.array([0.6, 0.8]), 60.0, target=1.3).y[:, -1]
    assert state[0] ** 2 == pytest.approx(1.3, rel=1e-6)  # the distance at small weights; the start was scale^2


def test_large_weights_wait_the_longer_the_larger_they_are():
    def half_time(scale, cosine):
        def above_half(_, state):
            return np.hypot(state[0] * state[1] - 1, state[0] * state[2]) - 0.5

        v = 2 * scale * np.array([cosine, np.sqrt(1 - cosine**2)])
        return descent(scale, v, 20 * scale**2, events=above_half).t_events[0][-1]

    waits = [half_time(scale, 0.5) for scale in (20.0, 40.0)]
    assert waits == pytest.approx([3 * scale**2 * np.log(9) / 2 for scale in (20.0, 40.0)], rel=1e-2)
    along = [half_time(scale, 1.0) for scale in (20.0, 40.0)]
    assert along[1] < along[0] < 0.01


def test_representations_that_meet_pass_through_each_other():
    meet = lambda _, state: state[0]  # noqa: E731
    path = descent(1.0, [-2.0], 60.0, events=meet)
    assert len(path.t_events[0]) == 1
    assert path.y[0, -1] == pytest.approx(-np.sqrt((-3 + np.sqrt(13)) / 2), rel=1e-6)
    assert path.y[0, -1] * path.y[1, -1] == pytest.approx(1, rel=1e-6)


def curves(times, start, first, eta_h, eta_y, target):
    """h, y, w of equation (7) at dx = 1, its first line times a factor."""

    def velocity(_, state):
        h, y, w = state
        third = -eta_y / 2 * (3 * w - y + target) * h - eta_h / 2 * (y + w) * w / h
        return [-first * eta_h * w, -w * (eta_y * h + eta_h * y / h), third]

    return solve_ivp(velocity, (0, times[-1]), start, t_eval=times, method="LSODA", rtol=1e-8, atol=1e-11).y


def test_search_finds_the_rival_far_away_on_its_line_and_equal_off_it():
    target, times = 0.5, np.linspace(0, 60, 121)
    start = np.array([1e-2, 5e-5, 5e-5 - 5e-3])  # y = h^2 eta_y / eta_h, where all small starts go; w for one output
    data = curves(times, start, 1, 1.0, 0.5, target)
    same = curves(times, start, 2, 0.5, 0.75, target)
    np.testing.assert_allclose(same, data, atol=1e-6)

    def loss(log, ratio=data[0, -1] ** 2 / target):
        return np.mean((curves(times, start, 2, ratio * np.exp(log), np.exp(log), target) - data) ** 2)

    assert minimize_scalar(loss, bounds=(-4, 2), method="bounded").fun > 0.2 * np.mean(data**2)


def test_weighed_prediction_is_a_table_of_labels():
    digits = load_digits()
    x, classes = digits.data[:100] * 255 / 16, digits.target[:100]
    labels = np.eye(10)[classes]
    distance = lambda z: np.sqrt(np.maximum(np.sum((z[:, None] - z) ** 2, -1), 0))  # noqa: E731
    A = distance(x) * distance(labels)
    weights = np.exp(-A)
    prediction = weights @ A @ weights
    same = labels @ labels.T
    np.testing.assert_allclose(prediction, same @ A @ same, rtol=1e-12, atol=1e-200)
    assert len(np.unique(np.round(prediction, 3))) == 46
    assert len(np.unique(np.round(A, 3))) > 46
