"""Compiled steps of the event-driven flow against theory, numpy and differences."""

import numpy as np
import pytest

from repdyn.truncation_flow.methods import event_steps
from repdyn.truncation_flow.theory import separated

NONE = np.empty((0, 2), np.int64)


def cluster(Q, N, seed):
    """Moments and data of a random cluster, its pattern and a state (R, b)."""
    rng = np.random.default_rng(seed)
    R = np.linalg.qr(rng.normal(size=(Q, Q)))[0]
    d, b, w = rng.normal(size=(N, Q)), rng.normal(size=Q), np.full(N, 1 / N)
    H = (d @ R.T + b > 0).astype(float)
    return (w @ H, np.einsum("k,ki,ka,kb->iab", w, H, d, d)), (d, w), H, R, b


@pytest.mark.parametrize("Q", [1, 2, 5])
def test_velocity_is_the_corrected_theorem(Q):
    moments, data, _, R, b = cluster(Q, 30, Q)
    Omega, db, phi = event_steps.velocity(moments, data, NONE, R, b)
    wanted = separated.velocity_of_columns(data[0].T, R, b)
    np.testing.assert_allclose(Omega, wanted.Omega, atol=1e-13)
    np.testing.assert_allclose(db, wanted.Omega @ b + R @ wanted.dbeta, atol=1e-13)
    assert phi.size == 0


@pytest.mark.parametrize("sliding", [[[0, 1]], [[0, 1], [3, 0]], [[2, 0], [2, 1], [4, 2]]])
def test_sliding_points_stay_on_their_planes(sliding):
    moments, data, H, R, b = cluster(3, 8, 7)
    for k, i in sliding:  # their share of the pattern is what the fractions stand for
        moments[0][i] -= data[1][k] * H[k, i]
        moments[1][i] -= data[1][k] * H[k, i] * np.outer(data[0][k], data[0][k])
    Omega, db, phi = event_steps.velocity(moments, data, np.array(sliding), R, b)
    for k, i in sliding:
        assert abs(Omega[i] @ R @ data[0][k] + db[i]) < 1e-12
    full = (moments[0].copy(), moments[1].copy())
    for (k, i), fraction in zip(sliding, phi, strict=True):
        full[0][i] += data[1][k] * fraction
        full[1][i] += data[1][k] * fraction * np.outer(data[0][k], data[0][k])
    again = event_steps.velocity(full, data, NONE, R, b)
    np.testing.assert_allclose(Omega, again[0], atol=1e-12)
    np.testing.assert_allclose(db, again[1], atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 6])
def test_systems_are_solved_as_by_numpy(size):
    rng = np.random.default_rng(size)
    A, B = rng.normal(size=(size, size)), rng.normal(size=(size, 3))
    A[0, 0] = 0.0 if size > 1 else A[0, 0]  # wants an exchange of rows
    X = B.copy()
    event_steps._solve(A.copy(), X)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=1e-9)


def test_a_step_is_of_fifth_order_and_keeps_rotations():
    moments, data, _, R, b = cluster(3, 20, 1)
    start = event_steps.velocity(moments, data, NONE, R, b)

    def end(parts, h=0.4):
        state, rates = (R, b), start
        for _ in range(parts):
            R1, b1, rates, _ = event_steps.step(moments, data, NONE, *state, rates, h / parts)
            state = R1, b1
        return state

    exact = end(64)
    errors = [max(np.abs(part - best).max() for part, best in zip(end(n), exact, strict=True)) for n in (2, 4, 8)]
    assert errors[0] / errors[1] > 2**4.3
    assert errors[1] / errors[2] > 2**4.3
    np.testing.assert_allclose(end(2)[0] @ end(2)[0].T, np.eye(3), atol=1e-13)


def test_the_first_change_of_sign_is_found_and_reached():
    moments, data, H, R, b = cluster(3, 40, 3)
    start = event_steps.velocity(moments, data, NONE, R, b)
    begin, h = (R, b, start, 0.0), 0.3

    def u(length):
        R1, b1, _, _ = event_steps.step(moments, data, NONE, R, b, start, length) if length else begin
        return data[0] @ R1.T + b1

    end = event_steps.step(moments, data, NONE, R, b, start, h)
    k, i, when = event_steps.first_crossing(H, data[0], NONE, begin, end, h)
    grid = np.linspace(0, h, 601)
    turned = np.array([(u(length) > 0) != (H > 0) for length in grid])
    first = int(np.argmax(turned.any(axis=(1, 2))))
    assert first > 0
    assert turned[first, k, i]
    reached, length = event_steps.onto_plane(moments, data, NONE, begin, (k, i), when, h)
    assert grid[first - 1] - 1e-9 < length <= grid[first] + 1e-9
    assert abs((data[0] @ reached[0].T + reached[1])[k, i]) < 1e-12
    skipped = event_steps.first_crossing(H, data[0], np.array([[k, i]]), begin, end, h)
    assert skipped[:2] != (k, i)
    assert skipped[2] >= when
