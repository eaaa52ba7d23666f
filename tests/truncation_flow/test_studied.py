"""Tiny experiments recomputed by short scripts of their own, claims on them, and figures that draw their variables."""

import inspect

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import ortho_group

from repdyn.base import claims
from repdyn.base.decisions import decide_claim
from repdyn.base.streams import Stream
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.experiments.audits import gradient_audit, random_clusters
from repdyn.truncation_flow.experiments.cluster_flow import printed_and_corrected, staircase
from repdyn.truncation_flow.experiments.collapse import neural_collapse
from repdyn.truncation_flow.experiments.collapsed_clusters import collapsed_clusters
from repdyn.truncation_flow.experiments.examples import counterexamples
from repdyn.truncation_flow.experiments.propagators import propagators
from repdyn.truncation_flow.experiments.proposition import proposition
from repdyn.truncation_flow.experiments.trained_output import output_layer, reduced_network

STREAM = Stream(5, ("truncation_flow", "studied"))
MATRICES = sizes.CollapsedClusters(dimension=3, seeds=2, horizon=6, samples=25, euler_steps=(0.01, 0.1), nodes=301)
SMALL = {
    gradient_audit: sizes.GradientAudit(dimensions=(2, 3), points=10, draws=2),
    random_clusters: sizes.RandomClusters(dimensions=(2, 2), points=(5, 20), draws=40),
    counterexamples: sizes.Counterexamples(draws=40),
    staircase: sizes.Staircase(horizon=8.0, samples=41),
    printed_and_corrected: sizes.PrintedAndCorrected(horizon=20.0, samples=41, step=0.1, clusters=3, points=4),
    neural_collapse: sizes.NeuralCollapse(
        dimensions=(2, 3), points=10, fill=0.8, start=-0.3, horizon=8.0, samples=33, step=0.05
    ),
    proposition: sizes.Proposition(points=200, outliers=(0.02, 0.01), gamma=0.09, horizon=4.0, step=0.04),
    **dict.fromkeys((collapsed_clusters, propagators), MATRICES),
    reduced_network: sizes.ReducedNetwork(points=4, horizon=6.0, samples=31, step=0.02),
    output_layer: sizes.OutputLayer(dimension=3, points=20, horizon=5.0),
}


@pytest.fixture(scope="module")
def study():
    """All small experiments that need neither images nor minutes."""
    datasets = {}
    for function, settings in SMALL.items():
        stream = {"stream": STREAM} if "stream" in inspect.signature(function).parameters else {}
        datasets[function.__name__] = function(settings, **stream)
    return datasets


def test_every_claim_is_decided_as_expected_and_every_part_rejects_its_control(study):
    wrong, expected_refuted = {}, {"tf-410": "depends on the reading", "tf-411": "not testable"}
    for claim in claims.claims_of(*load_modules("truncation_flow", "claims")):
        if not set(claim.data) <= set(study):
            continue
        decision = decide_claim(claim, study)
        corrected = "holds as corrected" if claim.correction else "holds"
        outcomes = {row["control_outcome"] for row in decision.evidence if row["control"]}
        summary = (decision.ledger["verdict"], decision.ledger["uncontrolled_parts"], outcomes <= {"rejected"})
        if summary != (expected_refuted.get(claim.id, corrected), "", True):
            wrong[claim.id] = summary
    assert wrong == {}


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


def test_trials_differ_and_equal_those_of_a_single_run(study):
    many = study["collapsed_clusters"]["cost"]
    assert float(np.abs(many.isel(seed=0) - many.isel(seed=1)).max()) > 1e-3
    alone = collapsed_clusters(SMALL[collapsed_clusters].model_copy(update={"seeds": 1}), STREAM)
    np.testing.assert_array_equal(alone["cost"].isel(seed=0), many.isel(seed=0))
    errors = study["gradient_audit"]["control"]
    assert float(np.abs(errors.isel(draw=0) - errors.isel(draw=1)).min("dimension").max()) > 1e-3


def test_proposition_of_false_data_is_not_certified(study):
    data = study["proposition"]
    assert data["hypotheses_hold"].values.tolist() == [1, 1]
    assert data["hypotheses_hold_beyond"].values.tolist() == [0, 0]
    assert np.isinf(data["arrival_beyond"]).all()
    assert float(data["arrival"].max()) < 1
