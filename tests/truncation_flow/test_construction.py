import numpy as np
import pytest

from repdyn.truncation_flow.methods.construction import (
    balanced_shift,
    largest_radius,
    simplex_initial_data,
    simplex_margins,
    simplex_rotations,
)
from repdyn.truncation_flow.methods.separation import separation_margin

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


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="1"):
        simplex_initial_data(1)
