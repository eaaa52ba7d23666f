"""Tiny experiments recomputed by short scripts of their own, claims on them, and figures that draw their variables."""

import inspect

import numpy as np
import pytest

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
from repdyn.truncation_flow.experiments.own_clusters import general_margin, triangle
from repdyn.truncation_flow.experiments.propagators import propagators
from repdyn.truncation_flow.experiments.proposition import proposition
from repdyn.truncation_flow.experiments.trained_output import output_layer, reduced_network

STREAM = Stream(5, ("truncation_flow", "studied"))
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
    collapsed_clusters: sizes.CollapsedClusters(
        dimension=3, seeds=2, horizon=6.0, samples=25, euler_steps=(0.01, 0.1), nodes=301
    ),
    propagators: sizes.CollapsedClusters(
        dimension=3, seeds=2, horizon=6.0, samples=25, euler_steps=(0.01, 0.1), nodes=301
    ),
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


def test_random_clusters_recomputed(study):
    generator = STREAM.generator(2, 5)
    for draw in range(3):
        X, yt = generator.normal(size=(5, 2)), generator.normal(size=2)
        from scipy.stats import ortho_group

        R = ortho_group.rvs(2, random_state=generator)
        beta = -yt + 0.1 * generator.normal(size=2)
        u, b = (X + beta) @ R.T, R @ (beta + yt)
        H = (u > 0).astype(float)
        true, printed = np.zeros((2, 2)), np.zeros((2, 2))
        for h, v in zip(H, u, strict=True):
            M = 0.5 * (np.outer(v, b) + np.outer(b, v))
            for target, matrix in ((printed, M), (true, M - 0.5 * np.outer(v, v))):
                target += (np.diag(h) @ matrix - matrix @ np.diag(h)) / 5
        bias = -np.sum(((1 - H.mean(axis=0)) * b) ** 2)
        rates = study["random_clusters"].isel(case=0, draw=draw)
        assert float(rates["corrected_rate"]) == pytest.approx(bias - np.sum(true**2))
        assert float(rates["printed_rate"]) == pytest.approx(bias - np.sum(true * printed))
        cosine = float(rates["cosine"]) * np.linalg.norm(true) * np.linalg.norm(printed)
        assert cosine == pytest.approx(np.vdot(printed, true), abs=1e-15)


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


def test_weights_that_are_not_aligned_separate_obtuse_triangles():
    assert min(general_margin(triangle(degrees)) for degrees in (60, 100, 150)) > 0.01
