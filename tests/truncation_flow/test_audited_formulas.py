"""Audits of formulas on clusters, networks and layers: right ones at rounding, wrong ones far off, some by hand."""

import numpy as np
import pytest

from repdyn.truncation_flow.methods import cost_audit
from repdyn.truncation_flow.methods import formula_audit as audit

Q, N = 3, 18
BY_DRAW = (
    (audit.OF_CLUSTERS, audit.random_cluster),
    (audit.OF_NETWORKS, audit.random_network),
    (audit.OF_LAYERS, audit.random_layers),
    (cost_audit.OF_WEIGHTS, cost_audit.random_weights),
)
FORMULAS = [(formula, draw) for formulas, draw in BY_DRAW for formula in formulas.values()]
TOLERANCE = 1e-6  # central differences of step 1e-6; algebra and complex steps are at rounding


def rng(seed=0):
    return np.random.default_rng(seed)


def check(errors):
    assert errors.corrected < TOLERANCE
    assert errors.control > 1e-3
    assert errors.printed in (errors.corrected, errors.control)


def test_corrected_formulas_are_right_and_controls_are_not():
    for seed in (1, 2):
        for formula, draw in FORMULAS:
            check(formula(draw(Q, N, rng(seed))))
        for formula in audit.OF_CLUSTERS_WITH_CHANCE.values():
            check(formula(audit.random_cluster(Q, N, rng(seed)), rng(seed + 10)))


def test_corrected_formulas_of_trained_outputs_are_right_and_controls_are_not():
    errors = cost_audit.trained_errors(Q, N, rng(3))
    assert len(errors) == len(cost_audit.OF_TRAINED)
    assert all(each.corrected < TOLERANCE and each.control > 1e-3 for each in errors)


@pytest.mark.parametrize("near", [False, True])
def test_state_of_a_random_cluster(near):
    draw = audit.random_cluster(Q, N, rng(4), near=near)
    for k in range(N):
        u = draw.R @ (draw.X[k] + draw.beta)
        np.testing.assert_allclose(draw.u[k], u)
        np.testing.assert_array_equal(draw.H[k], u > 0)
    np.testing.assert_allclose(draw.b, draw.R @ (draw.beta + draw.yt))
    np.testing.assert_allclose(draw.R @ draw.R.T, np.eye(Q), atol=1e-12)
    np.testing.assert_allclose(draw.w, 1 / N)
    assert bool(np.abs(draw.beta + draw.yt).max() < 0.5) is near


def test_errors_by_hand():
    draw = audit.random_cluster(Q, N, rng(5))
    image = np.array([draw.R.T @ np.maximum(u, 0) - draw.beta for u in draw.u])
    distance = 0.5 * ((image.mean(axis=0) - draw.yt) ** 2).sum()
    assert audit.cost_split(draw).control == pytest.approx(distance)
    shares = draw.H.mean(axis=0)
    assert audit.counted_shares(draw).control == pytest.approx(np.abs(2 * shares - 1).max())


def test_the_output_follows_the_descent_of_equal_points_in_unequal_classes():
    """(9.7) as printed, weights 1/N."""
    trained = cost_audit.untruncated(audit.random_layers(Q, N + 1, rng(6)), rng(6))
    descent = (trained.X @ trained.W.T - trained.y[trained.cluster]).T @ trained.X / (N + 1)
    errors = cost_audit.output_gradient(trained)
    assert errors.printed == pytest.approx(0, abs=1e-12)
    assert errors.control == pytest.approx(2 * np.abs(descent).max())


def test_a_margin_is_the_least_distance_of_all_conditions():
    """Own points are negative in every coordinate; others, collapsed ones too, are positive."""
    trained = cost_audit.collapsed(Q, N, rng(7))
    clusters, distances = trained.X.reshape(Q, -1, Q), []
    for layer in range(Q):
        for cluster in range(Q):
            points = clusters[cluster] if cluster >= layer else [-trained.beta[cluster]]
            for x in points:
                u = trained.V[layer] @ (x + trained.beta[layer])
                distances.append(min(-u) if cluster == layer else min(u))
    margin = cost_audit.collapse_margin(clusters, trained.V, trained.beta)
    assert margin == pytest.approx(min(distances))
    assert margin > 0
