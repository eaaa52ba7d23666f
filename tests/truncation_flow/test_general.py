"""The flow of all layers against autograd; Theorem 3.2 as its case of one layer."""

import numpy as np
import pytest
from scipy.stats import ortho_group
from tests.truncation_flow.reference import descent

from repdyn.truncation_flow.theory import derivatives, general, separated

ROUNDING = 1e-11  # Q layers of products, sums over 30 points of numbers up to 10


def layers(Q, L, seed=0, N=30):
    g = np.random.default_rng((Q, L, seed))
    R, beta = ortho_group.rvs(Q, size=L, random_state=g), 0.5 * g.normal(size=(L, Q))
    return g.normal(size=(N, Q)), np.arange(N) % Q, R.reshape(L, Q, Q), beta, g.normal(size=(Q, Q))


@pytest.mark.parametrize("Q", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("seed", range(3))
def test_flow_of_all_layers_is_the_gradient(Q, seed):
    drawn = layers(Q, Q, seed)
    _, dbeta, Omega = descent(*drawn)
    gradient = general.general_effective_gradient(*drawn)
    np.testing.assert_allclose(gradient.dbeta, dbeta, atol=ROUNDING)
    np.testing.assert_allclose(gradient.Omega, Omega, atol=ROUNDING)
    X, cluster, R, beta, yt = drawn
    printed = general.bias_velocity_as_printed(X, cluster, R, beta, yt)
    assert np.abs(printed - dbeta).max() > 1e-2
    w = general.cluster_weights(cluster, Q)
    np.testing.assert_allclose(derivatives.flow_by_complex_step(X, w, yt[cluster], R, beta)[0], dbeta, atol=ROUNDING)


@pytest.mark.parametrize("Q", [2, 3])
def test_printed_bias_velocity_sums_the_gradients_of_later_clusters_with_the_wrong_sign(Q):
    X, cluster, R, beta, yt = layers(Q, Q)
    own = [descent(X[cluster == c], np.zeros(np.sum(cluster == c), int), R, beta, yt[[c]])[1][c] for c in range(Q)]
    by_hand = [-np.sum(own[layer:], axis=0) for layer in range(Q)]
    np.testing.assert_allclose(general.bias_velocity_as_printed(X, cluster, R, beta, yt), by_hand, atol=ROUNDING)


def test_one_layer_is_theorem_3_2_corrected_and_not_printed():
    X, _, R, beta, yt = layers(4, 1)
    gradient = general.general_effective_gradient(X, np.zeros(len(X), int), R, beta, yt[:1])
    single = separated.effective_gradient(X, R[0], beta[0], yt[0])
    np.testing.assert_allclose(gradient.Omega[0], single.Omega, atol=ROUNDING)
    np.testing.assert_allclose(gradient.dbeta[0], single.dbeta, atol=ROUNDING)
    printed = separated.effective_gradient(X, R[0], beta[0], yt[0], formula="printed")
    assert np.abs(gradient.Omega[0] - printed.Omega).max() > 1e-3


def test_batches_are_independent():
    first, second = layers(3, 2, 1), layers(3, 2, 2)
    X, R, beta = (np.array([a, b]) for a, b in ((first[0], second[0]), (first[2], second[2]), (first[3], second[3])))
    labels = np.array([first[4][first[1]], second[4][second[1]]])
    w = general.cluster_weights(first[1], 3)
    passed = general.forward(X, R, beta)
    dbeta, Omega = general.pull_back(passed, R, passed.z[-1] - labels, w)
    alone = general.general_effective_gradient(*second)
    np.testing.assert_allclose(dbeta[1], alone.dbeta, atol=ROUNDING)
    np.testing.assert_allclose(Omega[1], alone.Omega, atol=ROUNDING)
