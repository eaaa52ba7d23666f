"""Rates of costs by differences, trials against single runs, and a proposition whose data are false."""

import numpy as np
from scipy.linalg import expm
from scipy.stats import ortho_group

from repdyn.base.streams import Stream
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.experiments.audits import gradient_audit, random_clusters
from repdyn.truncation_flow.experiments.collapsed_clusters import collapsed_clusters
from repdyn.truncation_flow.experiments.proposition import proposition

STREAM = Stream(5, ("truncation_flow", "studied"))


def cost_of_cluster(X, target, R, beta):
    return sum(np.sum((np.maximum(R @ (x + beta), 0) - R @ (beta + target)) ** 2) for x in X) / (2 * len(X))


def slope(function):
    return (function(1e-6) - function(-1e-6)) / 2e-6


def slopes_of_cluster(X, target, R, beta):
    """Derivatives by the bias; and the steepest descent of the weights, an antisymmetric matrix.

    In the metric Tr(A^T A) a turn in the plane of two coordinates has the length sqrt(2).
    """
    Q = len(beta)
    bias = np.array([slope(lambda h, e=e: cost_of_cluster(X, target, R, beta + h * e)) for e in np.eye(Q)])
    turning = np.zeros((Q, Q))
    for i in range(Q):
        for j in range(i):
            turn = np.zeros((Q, Q))
            turn[i, j], turn[j, i] = 1, -1
            turning -= turn * slope(lambda h, turn=turn: cost_of_cluster(X, target, expm(h * turn) @ R, beta)) / 2
    return bias, turning


def test_cost_rates_of_random_clusters_equal_recomputation():
    """The cost's derivatives by central differences, the printed weight flow point by point."""
    rates = random_clusters(sizes.RandomClusters(dimensions=(2, 3), points=(5, 8), draws=3), STREAM)
    for Q, N in ((2, 5), (3, 8)):
        rng = STREAM.generator(Q, N)
        for draw in (0, 1, 2):
            X, target = rng.normal(size=(N, Q)), rng.normal(size=Q)
            R = ortho_group.rvs(Q, random_state=rng)
            beta = -target + 0.1 * rng.normal(size=Q)
            bias, true = slopes_of_cluster(X, target, R, beta)
            b, printed = R @ (beta + target), np.zeros((Q, Q))
            for x in X:
                u = R @ (x + beta)
                H, M = np.diag((u > 0) * 1.0), (np.outer(u, b) + np.outer(b, u)) / 2
                printed += (H @ M - M @ H) / N
            here, still = rates.sel(case=f"Q={Q}, N={N}", draw=draw), -(bias**2).sum()
            np.testing.assert_allclose(here["corrected_rate"], still - (true**2).sum(), rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(here["printed_rate"], still - (true * printed).sum(), rtol=1e-6, atol=1e-9)
            lengths = np.linalg.norm(printed) * np.linalg.norm(true)  # 0 where all points are on one side
            np.testing.assert_allclose(here["cosine"] * lengths, (printed * true).sum(), rtol=1e-5, atol=1e-9)


def test_trials_differ_and_equal_those_of_a_single_run():
    settings = sizes.CollapsedClusters(dimension=3, seeds=2, horizon=6, samples=25, euler_steps=(0.01, 0.1), nodes=301)
    many = collapsed_clusters(settings, STREAM)["cost"]
    assert float(np.abs(many.isel(seed=0) - many.isel(seed=1)).max()) > 1e-3
    alone = collapsed_clusters(settings.model_copy(update={"seeds": 1}), STREAM)
    np.testing.assert_array_equal(alone["cost"].isel(seed=0), many.isel(seed=0))
    errors = gradient_audit(sizes.GradientAudit(dimensions=(2, 3), points=10, draws=2), STREAM)["control"]
    assert float(np.abs(errors.isel(draw=0) - errors.isel(draw=1)).min("dimension").max()) > 1e-3


def test_proposition_of_false_data_is_not_certified():
    settings = sizes.Proposition(points=200, outliers=(0.02, 0.01), gamma=0.09, horizon=4.0, step=0.04)
    data = proposition(settings, STREAM)
    assert data["hypotheses_hold"].values.tolist() == [1, 1]
    assert data["hypotheses_hold_beyond"].values.tolist() == [0, 0]
    assert np.isinf(data["arrival_beyond"]).all()
    assert float(data["arrival"].max()) < 1
