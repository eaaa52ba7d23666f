"""Ranks from singular values, by hand: scale changes nothing, equal values give the number of them."""

import numpy as np
import pytest

from repdyn.base import ranks

S = np.array([4.0, 2.0, 2.0, 0.0])
OF_VALUES = {"effective_rank": ranks.effective_rank, "stable_rank": ranks.stable_rank, "nuclear": ranks.nuclear_rank}


def test_ranks_equal_hand_computed_values():
    assert ranks.stable_rank(S) == pytest.approx(24 / 16)
    assert ranks.nuclear_rank(S) == pytest.approx(64 / 24)
    assert ranks.effective_rank(S) == pytest.approx(2**1.5)  # entropy of 1/2, 1/4, 1/4
    share = np.array([16, 4, 4, 0, 0]) / 24
    assert ranks.orthogonality_gap(S, 5) == pytest.approx(np.linalg.norm(share - 1 / 5))


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 3.0, 1e3])
def test_ranks_are_scale_invariant(scale):
    for rank in OF_VALUES.values():
        assert rank(S[:3] * max(scale, 1e-100)) == pytest.approx(rank(S[:3]))
    assert ranks.numerical_rank(scale * np.array([1.0, 2e-6, 0.5e-6])) == 2
    assert ranks.numerical_rank(scale * S, tolerance=0.6) == 1
    assert ranks.orthogonality_gap(scale * S, 4) == pytest.approx(ranks.orthogonality_gap(S, 4))


def test_equal_singular_values_give_their_number_as_rank():
    for rank in OF_VALUES.values():
        assert rank(np.full(5, 3.0)) == pytest.approx(5)
    assert ranks.numerical_rank(np.full(5, 3.0)) == 5
    assert ranks.orthogonality_gap(np.full(5, 3.0), 5) == pytest.approx(0, abs=1e-15)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [1, 3])
def test_zeros_have_no_rank(count):
    zeros = np.zeros(count)
    assert ranks.numerical_rank(zeros) == 0
    assert all(np.isnan(rank(zeros)) for rank in OF_VALUES.values())
    assert np.isnan(ranks.orthogonality_gap(zeros, 3))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("zeros", [0, 2])
def test_one_value_has_rank_one(zeros):
    s = np.array([3.0] + [0.0] * zeros)
    assert [rank(s) for rank in OF_VALUES.values()] == pytest.approx([1, 1, 1])
    assert ranks.numerical_rank(s) == 1


def test_singular_value_at_the_tolerance_does_not_count():
    assert ranks.numerical_rank(np.array([4.0, 2.0, 1.0]), tolerance=0.5) == 1
    assert ranks.numerical_rank(np.array([4.0, np.nextafter(2.0, 3), 1.0]), tolerance=0.5) == 2
    assert ranks.numerical_rank(np.array([1.0, 1.1e-6, 0.9e-6])) == 2


def test_ranks_satisfy_the_known_inequalities():
    """|A|_F^2 / |A|_op^2 is at most |A|_*^2 / |A|_F^2, and both at most the rank."""
    for s in (np.array([5.0, 3.0, 1.0, 0.5]), np.array([2.0, 2.0, 0.1]), np.array([9.0, 1.0])):
        assert 1 <= ranks.stable_rank(s) <= ranks.nuclear_rank(s) <= ranks.numerical_rank(s) == s.size
        assert ranks.nuclear_rank(s) <= ranks.effective_rank(s) ** 2 <= s.size**2
    assert ranks.orthogonality_gap(np.array([3.0]), 4) == pytest.approx(np.sqrt(3 / 4)), "one direction only"
