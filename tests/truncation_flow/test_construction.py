import numpy as np
import pytest

from repdyn.truncation_flow.methods.construction import (
    balanced_shift,
    ball_clusters,
    largest_radius,
    simplex_initial_data,
    simplex_margins,
    simplex_rotations,
)
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.methods.separation import separation_margin
from repdyn.truncation_flow.theory import general, truncation

DIMENSIONS = range(2, 9)


@pytest.mark.parametrize("Q", DIMENSIONS)
def test_margins_by_formula_and_measured(Q):
    R, _, yt = simplex_initial_data(Q)
    measured = separation_margin(np.eye(Q)[:, None, :], R, -yt, yt)
    own, others = simplex_margins(Q, balanced_shift(Q))
    assert measured.own == pytest.approx(own, abs=1e-14)
    assert measured.others == pytest.approx(others, abs=1e-14)


def test_largest_radii():
    expected = [0.25, 0.10355, 0.12201, 0.12500, 0.12361, 0.12079, 0.11755]
    np.testing.assert_allclose([largest_radius(Q) for Q in DIMENSIONS], expected, atol=5e-6)  # five printed digits


@pytest.mark.parametrize("Q", range(3, 9))
def test_balanced_shift_is_the_best(Q):
    t = balanced_shift(Q)
    best = min(simplex_margins(Q, t))
    assert best == pytest.approx(largest_radius(Q), abs=1e-14)
    assert max(min(simplex_margins(Q, t + change)) for change in (-0.02, 0.02)) < best


@pytest.mark.parametrize("Q", DIMENSIONS)
def test_rotations_are_orthogonal_and_send_the_axis_to_the_diagonal(Q):
    for layer, R in enumerate(simplex_rotations(Q)):
        np.testing.assert_allclose(R @ R.T, np.eye(Q), atol=1e-14)
        inwards = R @ (np.full(Q, 1 / Q) - np.eye(Q)[layer])
        np.testing.assert_allclose(inwards, np.full(Q, np.sqrt(Q - 1) / Q), atol=1e-14)


@pytest.mark.parametrize("Q", [2, 3, 5])
def test_separated_clusters_collapse_and_stay_separated(Q):
    X = ball_clusters(np.eye(Q), 25, 0.8 * largest_radius(Q), np.random.default_rng(Q))
    R, beta, yt = simplex_initial_data(Q)
    assert separation_margin(X, R, beta, yt).smallest > 0
    data = integrate_flow(list(X), R, beta, yt, [1.0, 8.0], step=0.02)
    assert (data["truncated_share"].isel(time=1) == 1).all()
    cost = data["cost"].sum("cluster")
    assert cost[1] < 2e-5 * cost[0]  # exp(-2 (8 - s_1)), s_1 below 2.5
    for t in range(2):
        now = separation_margin(X, data["R"].values[t], data["beta"].values[t], yt)
        assert min(now.others, now.images) > 0


def test_composition_reduces_under_all_conditions_and_not_under_definition_3_1():
    X = ball_clusters(np.eye(3), 10, 0.08, np.random.default_rng(0))
    R, beta, _ = simplex_initial_data(3)
    z = general.forward(X.reshape(-1, 3), R, beta).z[-1].reshape(X.shape)
    own = np.array([truncation.truncation_map(X[k], R[k], beta[k]) for k in range(3)])
    np.testing.assert_allclose(z, own, atol=1e-13)
    rotations, offsets = np.array([-np.eye(2), np.eye(2)]), np.array([[0.5, 0.5], [0.0, 0.0]])
    pair, labels = [np.ones((1, 2)), -np.ones((1, 2))], np.array([[1.0, 0.2], [0.1, 1.0]])
    assert separation_margin(pair, rotations, offsets, labels).images < 0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="1"):
        simplex_initial_data(1)
