"""The closed form, its limits and invariants, against integrated flows that do not know it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from repdyn.universality.methods.random_cases import Case, lifted_flow, matrix_flow, random_case, random_network
from repdyn.universality.theory import effective, linearized
from repdyn.universality.theory.final import final_distance

TIGHT = 1e-9  # DOP853 at 1e-12 per step over some ten growth times; its own error reached 5e-11 in 40 cases


def case(target, alpha, v, eta_h=0.02, eta_y=0.05, dx2=0.8):
    return Case(eta_h, eta_y, dx2, np.atleast_1d(np.array(target, float)), alpha, np.atleast_1d(np.array(v, float)))


CASES = {
    "rich": case([0.7], 0.02, [0.03]),
    "lazy": case([0.7], 1.5, [2.0]),
    "three outputs": case([0.7, 0.0, 0.0], 0.3, [0.2, 0.5, -0.4]),
    "only orthogonal": case([0.7, 0.0], 0.3, [0.0, 0.8]),
    "equal targets": case([0.0], 0.5, [0.9]),
    "equal targets, balanced (A_high = 0)": case([0.0], 0.5, [0.5 * np.sqrt(0.05 / 0.02 / 0.8)]),
    "balanced": case([0.7], 0.3, [0.3 * np.sqrt(0.05 / 0.02 / 0.8)]),
    "opposed (w0 > 0)": case([0.7], 0.3, [-0.25]),
    "strongly opposed": case([0.7], 0.5, [-0.9]),
    "no output yet": case([0.7], 0.3, [0.0]),
}


@pytest.mark.parametrize("name", CASES)
def test_closed_form_is_the_lifted_flow(name):
    problem, t = CASES[name], np.linspace(0, 300, 61)
    solution = effective.effective_solution(t, *problem.start, *problem.rates)
    assert np.abs(solution - lifted_flow(problem, t)).max() < TIGHT


@given(st.integers(0, 2**32 - 1), st.floats(0.05, 3), st.floats(0.05, 3))
@settings(max_examples=60, deadline=None)
def test_the_solution_is_a_flow(seed, first, second):
    """Going on from where it is gives the later value: a semigroup, whatever the rates and the start."""
    problem = random_case(np.random.default_rng(seed), outputs=seed % 3 + 1, equal=seed % 5 == 0)
    times = np.array([first, first + second]) / problem.growth
    middle, end = effective.effective_solution(times, *problem.start, *problem.rates).T
    if middle[0] < 1e-9:
        return  # close to h = 0 the direction of the outputs is lost to round-off
    again = effective.effective_solution(times[1] - times[0], *middle, *problem.rates)
    assert np.allclose(again, end, rtol=1e-7, atol=1e-10)  # w at the middle is a difference of O(1) numbers


def test_the_start_is_the_start():
    problem = CASES["three outputs"]
    assert np.allclose(effective.effective_solution(0.0, *problem.start, *problem.rates), problem.start, rtol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_no_overflow_and_the_right_limit(name):
    problem = CASES[name]
    h, y, w = effective.effective_solution(1e9, *problem.start, *problem.rates)
    rho = problem.eta_h / problem.eta_y
    wanted = float(final_distance(problem.h0, problem.y0, np.sqrt(problem.dx2), np.sqrt(problem.dy2), rho))
    assert np.isfinite([h, y, w]).all()
    assert abs(h - wanted) < 1e-7 * max(wanted, 1)  # at A_high = 0 and equal targets h falls as 1/t: 4e-8 at 1e9
    assert abs(y - problem.dy2) < 1e-7
    assert abs(w) < 1e-7


def test_right_hand_side_is_the_derivative_of_the_solution():
    problem, step = CASES["three outputs"], 1e-3
    t = np.array([10.0, 30.0, 80.0])
    around = [effective.effective_solution(t + shift, *problem.start, *problem.rates) for shift in (-step, 0, step)]
    slope = (around[2] - around[0]) / (2 * step)
    # central difference, step 1e-3
    assert np.abs(slope - effective.effective_rhs(*around[1], *problem.rates)).max() < 1e-9


def test_broadcasting_over_rates_equals_single_calls():
    problem, t = CASES["rich"], np.linspace(0, 100, 11)
    eta_h, eta_y = np.array([[0.01], [0.02]]), np.array([[0.05], [0.03]])
    both = effective.effective_solution(t, *problem.start, eta_h, eta_y, problem.dx2, problem.dy2)
    single = [
        effective.effective_solution(t, *problem.start, *pair, problem.dx2, problem.dy2)
        for pair in ((0.01, 0.05), (0.02, 0.03))
    ]
    assert np.array_equal(both[:, 0], single[0])
    assert np.array_equal(both[:, 1], single[1])


def test_the_plane_system_follows_the_full_one():
    problem = CASES["three outputs"]
    constant = float(effective.conserved(problem.h0, problem.y0, problem.eta_h, problem.eta_y, problem.dx2))
    solved = solve_ivp(
        lambda _, z: effective.plane_rhs(*z, *problem.rates, constant),
        (0, 100),
        (problem.h0, problem.w0),
        rtol=1e-11,
        atol=1e-13,
        t_eval=[20, 100],
    ).y
    assert np.abs(solved - effective.effective_solution([20, 100], *problem.start, *problem.rates)[[0, 2]]).max() < 1e-8


def test_observables_of_a_network():
    generator = np.random.default_rng(0)
    h1, h2 = generator.normal(size=(2, 5, 7))
    o1, o2, y1, y2 = generator.normal(size=(4, 5, 3))
    h, y, w = effective.two_point_observables(h1, h2, o1, o2, y1, y2)
    assert np.allclose(h, np.linalg.norm(h1 - h2, axis=1) ** 2)
    assert np.allclose(y, np.linalg.norm(o1 - o2, axis=1) ** 2)
    assert np.allclose(w, [(a - b) @ ((a - b) - (c - d)) for a, b, c, d in zip(o2, o1, y2, y1, strict=True)])
    assert ((y - w) ** 2 <= y * ((y2 - y1) ** 2).sum(1) * (1 + 1e-12)).all()  # Cauchy-Schwarz


def test_loss_and_mean_along_the_matrix_flow():
    state, points = random_network(np.random.default_rng(3))
    t = np.linspace(0, 4, 9)
    flow = matrix_flow(state, points, 0.2, 0.3, 0.7, t)
    m = (points.y1 + points.y2) / 2
    assert np.abs(effective.mean_prediction(t[:, None], state.ybar, m, 0.7) - flow.ybar).max() < TIGHT
    dy = np.einsum("tij,tjk,k->ti", flow.D_y, flow.D_h, points.x2 - points.x1)
    target = points.y2 - points.y1
    y, w = (dy**2).sum(1), (dy**2).sum(1) - dy @ target
    losses = effective.effective_loss(t, y, w, target @ target, ((state.ybar - m) ** 2).sum(), 0.7)
    wanted = [
        linearized.linear_loss(linearized.Linearized(*snapshot), points).real for snapshot in zip(*flow, strict=True)
    ]
    assert np.abs(losses - wanted).max() < TIGHT
