import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from repdyn.truncation_flow.theory import truncation

NETWORK = 1e-9  # products of up to 4 random matrices of condition below 1e4: round-off 1e-16 * 1e4 * 1e2


def network(Q, seed):
    g = np.random.default_rng(seed)
    weights = ortho_group.rvs(Q, size=Q, random_state=g) * g.uniform(0.5, 2, (Q, Q, 1))
    return list(weights), list(g.normal(size=(Q, Q))), g.normal(size=(20, Q))


@settings(max_examples=40, deadline=None)
@given(Q=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_map_is_identity_on_the_positive_cone_and_constant_on_the_negative(Q, seed):
    g = np.random.default_rng(seed)
    R = ortho_group.rvs(Q, random_state=g) if Q > 1 else np.eye(1)
    beta, u = g.normal(size=Q), g.uniform(0.1, 2, (10, Q))
    np.testing.assert_allclose(truncation.truncation_map(u @ R - beta, R, beta), u @ R - beta, atol=1e-12)
    np.testing.assert_allclose(truncation.truncation_map(-u @ R - beta, R, beta), np.tile(-beta, (10, 1)), atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(Q=st.integers(2, 6), seed=st.integers(0, 10**6))
def test_map_is_idempotent_and_never_expands(Q, seed):
    g = np.random.default_rng(seed)
    R, beta = ortho_group.rvs(Q, random_state=g), g.normal(size=Q)
    x, y = g.normal(size=(2, 8, Q))
    once, other = truncation.truncation_map(x, R, beta), truncation.truncation_map(y, R, beta)
    np.testing.assert_allclose(truncation.truncation_map(once, R, beta), once, atol=1e-12)
    assert np.all(np.linalg.norm(once - other, axis=1) <= np.linalg.norm(x - y, axis=1) + 1e-12)


def test_cumulative_bias_is_the_sum_of_pulled_back_biases():
    weights, biases, _ = network(4, 7)
    W, b, beta = truncation.cumulative_parameters(weights, biases)
    product = np.eye(4)
    total = np.zeros(4)
    for weight, bias in zip(weights, biases, strict=True):
        product = weight @ product
        total = total + np.linalg.inv(product) @ bias
    np.testing.assert_allclose(W[-1], product, atol=1e-12)
    np.testing.assert_allclose(beta[-1], total, atol=NETWORK)
    np.testing.assert_allclose(W[-1] @ beta[-1], b[-1], atol=NETWORK)


def test_boundary_counts_as_truncated():
    assert not truncation.sector_pattern(np.zeros((1, 2)), np.eye(2), np.zeros(2)).any()
