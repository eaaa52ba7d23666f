import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from repdyn.bn_decomposed.theory import full_rank
from repdyn.bn_decomposed.theory.rank import NEW_DIRECTION, cell_volume_min, circle_batch

GRID = [(a, g, n) for a in (1.05, 1.3, 2, 2.5, 4, 8) for g in (0.5, 0.3, 0.1, 0.01, 0.001) for n in (1, 2, 5, 20, 50)]


def test_incremental_rank_is_the_rank_by_singular_values():
    X = circle_batch(7)
    profile = full_rank.relu_rank_profile(X, np.random.default_rng(0), 20)[0]
    rng = np.random.default_rng(0)
    rows = []
    for d in range(20):
        if d and profile[d - 1] == 7:
            assert profile[d] == 7
            continue
        rows.append(np.maximum(rng.standard_normal((1, 2)) @ X, 0)[0])
        assert profile[d] == np.linalg.matrix_rank(np.array(rows), rtol=1e-10)


def rows_by_svd(X, rng):
    """One draw of `rows_to_full_rank` by its definition, a singular value decomposition per row."""
    values = np.empty((0, X.shape[1]))
    while np.linalg.matrix_rank(values, rtol=NEW_DIRECTION) < X.shape[1]:
        values = np.vstack([values, np.maximum(rng.standard_normal((1, len(X))) @ X, 0.0)])
    return len(values)


def test_fast_and_naive_waiting_times_agree():
    X, rng = circle_batch(5), np.random.default_rng(2)
    fast = full_rank.rows_to_full_rank(X, np.random.default_rng(1), 3000)
    slow = np.array([rows_by_svd(X, rng) for _ in range(600)])
    error = np.hypot(fast.std() / np.sqrt(3000), slow.std() / np.sqrt(600))
    assert abs(fast.mean() - slow.mean()) < 4 * error  # four standard errors, fixed seeds
    assert fast.min() >= 5


def test_two_points_need_three_rows_after_recentering():
    # Antipodal after recentering: full rank once both signs have come, 1 + Geometric(1/2).
    X = np.array([[0.0, 1.0], [2.0, 5.0]])
    y = full_rank.rows_to_full_rank(X - X.mean(axis=1, keepdims=True), np.random.default_rng(3), 20_000)
    assert abs(y.mean() - 3) < 4 * np.sqrt(2 / 20_000)  # variance of Geometric(1/2) is 2


def test_the_bound_by_columns_is_a_sum_of_geometric_means():
    assert full_rank.expected_rows_bound_by_column([1 / 2, 1 / 4, 1 / 5]) == pytest.approx(2 + 4 + 5)
    assert full_rank.expected_rows_bound_by_column([0.1] * 7) == pytest.approx(full_rank.expected_rows_bound(0.1, 7))


def test_waiting_times_by_column():
    r = full_rank.rows_to_rank_by_column(circle_batch(3), np.random.default_rng(5), 4000)
    assert (np.diff(r, axis=1) >= 0).all()
    y = np.diff(r, axis=1, prepend=0)
    correlation = np.corrcoef(y.T)[0, 1]
    # Independence would give 1/sqrt(4000) = 0.016; the text before (28a) claims it.
    assert correlation < -0.3
    # y_2 = 0 if a row has seen x_2 alone (probability 1/3) before one sees x_1 (1/2): (1/3) / (1/3 + 1/2) = 0.4.
    assert abs(np.mean(y[:, 1] == 0) - 0.4) < 4 * np.sqrt(0.24 / 4000)
    assert abs(y[:, 0].mean() - 2) < 4 * np.sqrt(2 / 4000)  # Geometric(1/2)
    gamma = cell_volume_min(circle_batch(3), "exact2d")
    for t in (1, 2):
        for wait in range(1, 6):
            # Conditional domination by Geometric(gamma) holds in the marginal: P(y > s) <= (1 - gamma)^s.
            assert np.mean(y[:, t] > wait) < (1 - gamma) ** wait + 4 * 0.5 / np.sqrt(4000)


def test_collinear_pairs_keep_the_rank_down():
    for n in (6, 8):
        assert full_rank.relu_rank_profile(circle_batch(n), np.random.default_rng(6), 400)[0, -1] == n // 2 + 2
    shifted = circle_batch(6) + np.array([[5.0], [3.0]])
    recentered = shifted - shifted.mean(axis=1, keepdims=True)
    assert full_rank.relu_rank_profile(recentered, np.random.default_rng(7), 400)[0, -1] == 5
    assert full_rank.relu_rank_profile(shifted, np.random.default_rng(7), 400)[0, -1] == 6
    with pytest.raises(ValueError, match=r"rank 5 of 6 after 200 rows.*\(0, 3\)"):
        full_rank.rows_to_full_rank(circle_batch(6), np.random.default_rng(8), 2, max_rows=200)


def test_tail_bounds_hold_and_are_ordered():
    for alpha, gamma, n in GRID:
        exact = full_rank.geometric_sum_tail(alpha * n / gamma, gamma, n)
        sharp, loose = (np.exp(-n * full_rank.tail_exponent(alpha, gamma, form)) for form in ("a", "b"))
        assert exact <= sharp * (1 + 1e-9)
        assert sharp <= loose * (1 + 1e-9)
        assert full_rank.full_rank_tail_bound(alpha, gamma, n) == pytest.approx(1 - sharp, abs=1e-12)


def test_printed_exponent_is_the_chernoff_minimum():
    for alpha, gamma, _ in GRID[::5]:
        s_max = -np.log1p(-gamma)
        minimum = minimize_scalar(
            full_rank.chernoff_log_bound, bounds=(0, s_max * (1 - 1e-9)), args=(alpha, gamma), method="bounded",
            options={"xatol": 1e-12 * s_max},
        )  # fmt: skip
        # A minimum is flat: its value is found to 1e-9.
        assert -full_rank.tail_exponent(alpha, gamma) == pytest.approx(minimum.fun, rel=1e-8, abs=1e-12)


def test_exponent_grows_with_gamma_from_its_limit():
    gamma = np.linspace(1e-4, 0.999, 2000)
    for alpha in (1.05, 2.0, 8.0):
        assert (np.diff(full_rank.tail_exponent(alpha, gamma)) > 0).all()
        # At gamma = 1e-8 the next term is of relative size gamma; rounding is 1e-16/gamma.
        assert full_rank.tail_exponent(alpha, 1e-6) == pytest.approx(full_rank.tail_exponent(alpha, 0.5, "b"), rel=1e-3)


def test_geometric_sum_tail_steps_at_integers_that_rounding_misses():
    """1.2 * 2 / 0.8 is 2.9999999999999996: three rows, P = 1 - 0.8^2 (1 + 2 * 0.2) = 0.104, not two rows' 0.36."""
    assert 1.2 * 2 / 0.8 < 3
    np.testing.assert_allclose(full_rank.geometric_sum_tail(1.2 * 2 / 0.8, 0.8, 2), 0.104, rtol=1e-12)
    np.testing.assert_allclose(full_rank.geometric_sum_tail([2, 2.99, 3], 0.8, 2), [0.36, 0.36, 0.104], rtol=1e-12)


def test_geometric_sum_tail_against_sampling():
    rng = np.random.default_rng(10)
    total = rng.geometric(0.2, (100_000, 4)).sum(axis=1)
    for d in (4, 20, 35.5):
        p = full_rank.geometric_sum_tail(d, 0.2, 4)
        assert abs(np.mean(total > d) - p) < 4 * np.sqrt(p / 100_000) + 1e-12  # four standard errors


def test_nearly_collinear_points_are_told_apart():
    # Two rows that see both points are independent by the angle 1e-4 between them: y = NegativeBinomial(2, 1/2).
    X = np.array([[1.0, 1.0], [0.0, 1e-4]])
    y = full_rank.rows_to_full_rank(X, np.random.default_rng(11), 4000)
    assert abs(y.mean() - 4) < 4 * np.sqrt(4 / 4000)  # its variance is 4; the cells in between are 1e-4 wide
