"""Compiled steps of the event-driven flow against theory, numpy and differences."""

import numpy as np
import pytest

from repdyn.truncation_flow.methods import event_crossings, event_steps
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


def test_a_step_is_of_fifth_order_and_preserves_rotations():
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


def test_the_first_change_of_sign_is_found_and_its_plane_is_hit():
    moments, data, H, R, b = cluster(3, 40, 3)
    start = event_steps.velocity(moments, data, NONE, R, b)
    begin, h = (R, b, start, 0.0), 0.3

    def u(length):
        R1, b1, _, _ = event_steps.step(moments, data, NONE, R, b, start, length) if length else begin
        return data[0] @ R1.T + b1

    end = event_steps.step(moments, data, NONE, R, b, start, h)
    k, i, when = event_crossings.first_crossing(H, data[0], NONE, begin, end, h)
    grid = np.linspace(0, h, 601)
    turned = np.array([(u(length) > 0) != (H > 0) for length in grid])
    first = int(np.argmax(turned.any(axis=(1, 2))))
    assert first > 0
    assert turned[first, k, i]
    reached, length = event_crossings.onto_plane(moments, data, NONE, begin, (k, i), when, h)
    assert grid[first - 1] - 1e-9 < length <= grid[first] + 1e-9
    assert abs((data[0] @ reached[0].T + reached[1])[k, i]) < 1e-12
    skipped = event_crossings.first_crossing(H, data[0], np.array([[k, i]]), begin, end, h)
    assert skipped[:2] != (k, i)
    assert skipped[2] >= when


def every_entry_looked_at(H, d, begin, end, h):
    """Entry and time of the first crossing, by each entry's cubic on a fine grid."""
    (R0, b0, (Omega0, db0, _), _), (R1, b1, (Omega1, db1, _), _) = begin, end
    sides, t = 2 * H - 1, np.linspace(0, 1, 2001)[:, None, None]
    ends = [sides * (d @ R.T + b) for R, b in ((R0, b0), (R1, b1))]
    slopes = [h * sides * (d @ R.T @ Omega.T + db) for R, Omega, db in ((R0, Omega0, db0), (R1, Omega1, db1))]
    along = (1 - t) ** 2 * ((1 + 2 * t) * ends[0] + t * slopes[0]) + t**2 * (
        (3 - 2 * t) * ends[1] + (t - 1) * slopes[1]
    )
    first = np.where((along < 0).any(axis=0), (along < 0).argmax(axis=0), len(t))
    k, i = np.unravel_index(first.argmin(), first.shape)
    return (k, i, h * t[first.min(), 0, 0]) if first.min() < len(t) else (-1, -1, np.inf)


@pytest.mark.parametrize("h", [1e-4, 0.01, 0.1, 0.4])
@pytest.mark.parametrize("Q", [1, 2, 4])
def test_no_entry_that_crosses_is_passed_over(Q, h):
    found = 0
    for seed in range(12):
        moments, data, H, R, b = cluster(Q, 30, seed)
        begin = (R, b, event_steps.velocity(moments, data, NONE, R, b), 0.0)
        end = event_steps.step(moments, data, NONE, R, b, begin[2], h)
        k, i, when = event_crossings.first_crossing(H, data[0], NONE, begin, end, h)
        wanted = every_entry_looked_at(H, data[0], begin, end, h)
        assert (k, i) == wanted[:2]
        assert when == wanted[2] or abs(when - wanted[2]) < 1e-3 * h
        found += k >= 0
    assert found > 0 or h < 0.01 or Q == 1


def test_an_entry_on_its_plane_goes_where_both_sides_push_it():
    """Against the theory of a cluster whose point lies a hair on either side."""
    kinds = []
    for seed in range(60):
        _, (d, w), H, R, b = cluster(2, 6, seed)
        d[0] -= R[1] * (R[1] @ d[0] + b[1])  # entry (0, 1) is zero
        rates = []
        for side in (-1, 1):
            moved = separated.velocity_of_columns((d + side * 1e-9 * np.outer(np.eye(6)[0], R[1])).T, R, b)
            rates.append(moved.Omega[1] @ (R @ d[0] + b) + R[1] @ moved.dbeta)
        for previous in (0.0, 1.0):
            H[0, 1] = previous
            moments = w @ H, np.einsum("k,ki,ka,kb->iab", w, H, d, d)
            kind = event_crossings.settle(moments, (d, w), NONE, H, (R, b), (0, 1))
            slides = rates[0] > 0 > rates[1]
            assert kind == (event_crossings.SLIDES if slides else rates[int(previous)] > 0)
            assert H[0, 1] == (0 if slides else kind)
            np.testing.assert_allclose(moments[0], w @ H, atol=1e-15)
            kinds.append(kind)
    assert set(kinds) == {event_crossings.OFF, event_crossings.ON, event_crossings.SLIDES}
