"""Starts and maps inside the stated hypotheses that look most dangerous to statements of the theory."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from repdyn.universality.theory import effective, final

ETA_H, ETA_Y, DX2, D = 0.3, 0.2, 0.8, 1.3
A, B = np.sqrt(ETA_H * DX2), np.sqrt(ETA_Y)
G = A * B / 2


def lifted(alpha, v, until):
    """h after a time, of dh = alpha u and dy = alpha v; the target difference lies along the first output."""

    def flow(_, z):
        alpha, v = z[0], z[1:]
        off = alpha * v - D * np.eye(len(v))[0]
        return np.concatenate([[-ETA_H * DX2 / 2 * (v @ off)], -ETA_Y / 2 * alpha * off])

    return solve_ivp(flow, (0, until), [alpha, *v], rtol=1e-12, atol=1e-14).y[0, -1] ** 2


def exceptional(x, s=0.9):
    """Start at A_high <= 0 without a part along the growing direction: r = -x s, the rest across; x in (0, 1]."""
    across = np.sqrt((s**2 + D / (2 * x * G)) * (1 - x**2))
    return A * s, B * np.array([-x * s, across])


@pytest.mark.parametrize("x", [1.0, 0.7])
def test_exceptional_starts_end_at_the_saddle_and_their_neighbors_at_the_final_distance(x):
    """One output at A_high = 0 (x = 1), two outputs at A_high < 0."""
    alpha, v = exceptional(x)
    wanted = final.final_distance(alpha**2, alpha**2 * (v @ v), np.sqrt(DX2), D, ETA_H / ETA_Y)
    assert lifted(alpha, v, 8 / (G * D)) < 1e-4 * wanted
    for nearby in (0.99, 1.01):
        moved = v * np.array([nearby, 1])
        ends = final.final_distance(alpha**2, alpha**2 * (moved @ moved), np.sqrt(DX2), D, ETA_H / ETA_Y)
        assert lifted(alpha, moved, 200 / (G * D)) == pytest.approx(ends, rel=1e-6)


@pytest.mark.parametrize("high", [-3.0, -1e-9, 0.0, 2.0])
@pytest.mark.parametrize("low", [0.0, 1e-9, 0.6])
def test_final_distance_differs_from_low_by_at_most_high(high, low):
    assert abs(final.from_amplitudes(high, low) - low) <= abs(high)


def test_ratio_less_distance_is_conserved_on_the_edge_of_possible_starts():
    """w = y + D sqrt(y), dy opposite to the target, and dy = 0."""
    kappa = ETA_Y / (ETA_H * DX2)
    for y in (0.0, 1e-12, 4.0):
        h, w = 1e-3, y + D * np.sqrt(y)
        dh, dy, _ = effective.effective_rhs(h, y, w, ETA_H, ETA_Y, DX2, D**2)
        terms = dy / h, -y * dh / h**2, -kappa * dh
        assert abs(sum(terms)) <= 1e-13 * max(1.0, *map(abs, terms))


@pytest.mark.parametrize(
    ("encoder", "slope", "order"),
    [(lambda x: np.where(x > 0, x, 0.01 * x), 0.505, 1.0), (np.sin, 1.0, 3.0)],
    ids=["kink of a leaky ReLU at the midpoint", "sine"],
)
def test_remainder_of_the_linear_approximation_is_of_first_order_at_a_kink(encoder, slope, order):
    points = np.array([1e-3, 2e-3])
    remainder = np.abs(encoder(points) - encoder(np.zeros(2)) - slope * points)
    assert np.log2(remainder[1] / remainder[0]) == pytest.approx(order, abs=1e-3)
