"""Final distance, node and saddle, equal targets, distribution, linearized gradient."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad, solve_ivp

from repdyn.universality.methods.random_cases import lifted_flow, opposed, random_case, random_network
from repdyn.universality.theory import distribution, effective, final, identical, linearized

RATES = (0.02, 0.05, 0.8)  # eta_h, eta_y, dx2


def test_final_distance_solves_its_quadratic():
    generator = np.random.default_rng(0)
    high, low = generator.normal(size=100) * 10 ** generator.uniform(-6, 6, 100), 10 ** generator.uniform(-3, 3, 100)
    h = final.from_amplitudes(high, low)
    assert (h > 0).all()
    assert (np.abs(h - high - low**2 / h) <= 1e-12 * (np.abs(high) + low)).all()  # h^2 - A_high h - A_low^2 = 0 over h


def test_starts_against_the_target_end_at_the_final_distance_whether_they_pass_zero_or_not():
    cases = [opposed(random_case(np.random.default_rng(seed))) for seed in range(8)]
    assert all(case.v @ case.target < 0 for case in cases)
    passed = []
    for case in cases:
        h = lifted_flow(case, np.linspace(0, 1e3 / case.growth, 20000), method="LSODA")[0]
        wanted = final.final_distance(case.h0, case.y0, np.sqrt(case.dx2), np.sqrt(case.dy2), case.eta_h / case.eta_y)
        passed.append(h.min() < 1e-3 * min(case.h0, wanted))
        assert h[-1] == pytest.approx(wanted, rel=1e-3)
    assert any(passed)
    assert not all(passed)


def test_no_cancellation_for_large_negative_high():
    assert final.from_amplitudes(-1e9, 1.0) == pytest.approx(1e-9, rel=1e-12)


def test_pairwise_matrices_have_a_zero_diagonal():
    dx = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    distances = final.final_distance(0.1 * dx, 0.01 * dx, dx, dx, 0.5)
    assert np.array_equal(np.diag(distances), np.zeros(3))
    assert np.allclose(distances, distances.T)
    assert (distances[~np.eye(3, dtype=bool)] > 0).all()


@pytest.mark.parametrize("high", [-1.5, 0.0, 0.8])
def test_node_and_saddle_are_those_of_the_flow(high):
    low, (eta_h, eta_y, dx2) = 0.6, RATES
    kappa = eta_y / (eta_h * dx2)
    rates = (eta_h, eta_y, dx2, kappa * low**2)

    def flow(z):
        return np.array(effective.plane_rhs(*z, *rates, -kappa * high))

    node = final.stable_point(high, low, *RATES)
    assert np.abs(flow((node.h, 0.0))).max() < 1e-14
    step = 1e-6
    numeric = np.stack([(flow((node.h + step, 0)) - flow((node.h - step, 0))) / (2 * step),
                        (flow((node.h, step)) - flow((node.h, -step))) / (2 * step)], axis=1)  # fmt: skip
    assert np.abs(node.jacobian - numeric).max() < 1e-8  # central differences
    assert np.allclose(np.sort(np.linalg.eigvals(numeric).real), np.sort(node.eigenvalues), atol=1e-8)
    for value, slope in zip(node.eigenvalues, node.directions, strict=True):
        assert np.allclose(node.jacobian @ [1, slope], value * np.array([1, slope]))
    saddle = final.saddle_point(high, low, *RATES)
    assert saddle.eigenvalues[0] > 0 > saddle.eigenvalues[1]
    for value, slope in zip(saddle.eigenvalues, saddle.directions, strict=True):
        near = flow((1e-8, 1e-8 * slope)) / 1e-8
        assert np.allclose(near, value * np.array([1, slope]), rtol=1e-6)  # the next term is h itself


def test_large_weights_go_to_the_positive_part():
    high = np.array([-1e6, 1e6])
    reached = final.from_amplitudes(high, 1.0)
    assert np.allclose(reached / 1e6, final.large_weight_limit(high) / 1e6, atol=1e-5)
    assert np.abs(reached / 1e6 - final.large_weight_limit_as_printed(high) / 1e6).max() > 0.9


@pytest.mark.parametrize(("h0", "y0"), [(0.5, 0.1), (0.5, 0.5 * 0.5 * 0.05 / 0.016), (0.2, 1.0), (0.3, 0.0)])
def test_equal_targets(h0, y0):
    """The Bernoulli solution against (7), for A_high above, at and below 0."""
    t = np.linspace(0, 200, 21)
    solution = np.stack(identical.identical_solution(t, h0, y0, *RATES))
    solved = solve_ivp(
        lambda _, z: effective.effective_rhs(z[0], z[1], z[1], *RATES, 0.0)[:2],
        (0, 200),
        (h0, y0),
        method="DOP853",
        rtol=1e-12,
        atol=1e-14,
        t_eval=t,
    ).y
    assert np.abs(solution - solved).max() < 1e-10  # DOP853 at 1e-12
    assert np.allclose(solution[0], effective.effective_solution(t, h0, y0, y0, *RATES, 0.0)[0], atol=1e-13)
    if y0:
        printed = np.stack(identical.identical_solution_as_printed(t, h0, y0, *RATES))
        assert np.abs(printed - solved).max() > 1e-3


def test_equal_targets_survive_long_times():
    h, y = identical.identical_solution(np.array([1e9]), 0.2, 1.0, *RATES)
    assert h[0] == 0.0
    assert 0 <= y[0] < 1e-12


def test_change_of_scale():
    G, state = 3.0, np.array([0.3, 0.2, -0.1])
    for change, power in ((identical.rescaled, -2), (identical.rescaled_as_printed, 2)):
        *primed, stretch = change(*state, G)
        *speeds, _ = change(*effective.effective_rhs(*state, *RATES, 0.7), G)
        wanted = effective.effective_rhs(*primed, *RATES, 0.7 * G**power)
        assert np.allclose(np.array(speeds) / stretch, wanted, rtol=1e-12)


@pytest.mark.parametrize("rho", [0.4, 1.0, 2.5])
def test_distribution_of_the_final_distance(rho):
    """Kolmogorov-Smirnov at a false alarm of 1e-4, fixed seed; the printed law is rejected unless rho = 1."""
    arguments = (0.9, 1.1, rho, 0.3)
    draws = distribution.sample_final_distance(20_000, *arguments, np.random.default_rng(7))
    assert stats.kstest(draws, lambda q: distribution.final_distance_cdf(q, *arguments)).pvalue > 1e-4
    printed = stats.kstest(draws, lambda q: distribution.final_distance_cdf_as_printed(q, *arguments)).pvalue
    assert (printed > 1e-4) == (rho == 1.0)
    q = np.linspace(0.3, 2.5, 12)
    for cdf, density in (
        (distribution.final_distance_cdf, distribution.final_distance_density),
        (distribution.final_distance_cdf_as_printed, distribution.final_distance_density_as_printed),
    ):
        slope = (cdf(q + 1e-5, *arguments) - cdf(q - 1e-5, *arguments)) / 2e-5
        assert np.allclose(slope, density(q, *arguments), rtol=1e-5, atol=1e-7)  # central difference
        assert quad(lambda x, f=density: float(f(x, *arguments)), 1e-9, 20, limit=200)[0] == pytest.approx(1, abs=1e-6)


def test_equal_targets_leave_an_atom():
    low = distribution.final_distance_cdf(1e-9, 1.0, 0.0, 1.0, 0.3)
    assert low == pytest.approx(0.5, abs=1e-6)  # A_high is symmetric for rho = 1


def test_gradient_of_the_linearized_loss_is_autograd():
    state, points = random_network(np.random.default_rng(1))
    tensors = [torch.tensor(part, requires_grad=True) for part in state]
    x1, x2, y1, y2 = (torch.tensor(part) for part in points)
    half = tensors[2] @ tensors[1] @ (x2 - x1) / 2
    loss = (((tensors[0] - half - y1) ** 2).sum() + ((tensors[0] + half - y2) ** 2).sum()) / 4
    loss.backward()
    assert linearized.linear_loss(state, points) == pytest.approx(loss.item(), rel=1e-14)
    for form in (linearized.loss_gradient, linearized.middle_lines):
        for gradient, tensor in zip(form(state, points), tensors, strict=True):
            assert np.abs(gradient - tensor.grad.numpy()).max() < 1e-13
    printed = linearized.loss_gradient_as_printed(state, points)
    assert np.allclose(printed.D_h, 2 * tensors[1].grad.numpy())
    assert np.allclose(printed.D_y, 2 * tensors[2].grad.numpy())
