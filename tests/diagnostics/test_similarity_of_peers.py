"""Similarities are the numbers of other packages on the same points; `peers/make_values.py` says how they were made.

Where a package has another convention, the test says which, and turns its number into ours.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from repdyn.diagnostics.theory.similarity import MEASURES, ON_REQUEST, shape_of, similarities

STORED = json.loads(Path(__file__).with_name("peers").joinpath("values.json").read_text())
PEERS = STORED["peers"]
X, Y = (np.array(STORED[name]) for name in "XY")
ALL = (*MEASURES, *ON_REQUEST)
ROUNDING = 1e-10  # relative; double precision throughout


def ours(size=STORED["minibatch"]):
    minibatch = np.arange(len(X)) // size
    return similarities(shape_of(X, ALL, minibatch), shape_of(Y, ALL, minibatch), ALL)


def test_similarities_are_those_of_other_packages():
    own = {name: ours()[name] for name in ("cka", "cka_debiased", "cka_minibatch", "rsa")}
    own["cka_minibatch, unequal"] = ours(STORED["unequal"])["cka_minibatch"]
    compared = [(peer, name) for peer, found in PEERS.items() for name in found["values"] if name in own]
    assert {name for _, name in compared} == set(own)
    wrong = [
        (peer, name) for peer, name in compared if own[name] != pytest.approx(PEERS[peer]["values"][name], rel=ROUNDING)
    ]
    assert wrong == []


def test_unrelated_points_have_a_negative_debiased_cka():
    """pytorch-cka cuts it off at 0, so that its mean over unrelated points is not 0."""
    assert similarities(shape_of(X), shape_of(Y[::-1]))["cka_debiased"] < -0.01
    assert PEERS["pytorch-cka"]["values"]["cka_debiased, unrelated"] == 0


def test_the_width_of_gaussian_kernels_is_the_median_over_pairs_of_different_points():
    """thingsvision takes the same; ckatorch, after the authors' notebook, counts the zeros of the diagonal, too."""
    assert ours()["cka_rbf"] == pytest.approx(PEERS["thingsvision"]["values"]["cka_rbf"], rel=ROUNDING)
    centered = []
    for A in (X, Y):
        squared = squareform(pdist(A)) ** 2
        lower = np.sort(squared.ravel())[(squared.size - 1) // 2]  # torch's median is the lower of two in the middle
        K = np.exp(-squared / (2 * lower))
        centered.append(K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean())
    K, L = centered
    with_zeros = np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)
    assert with_zeros == pytest.approx(PEERS["ckatorch"]["values"]["cka_rbf"], rel=ROUNDING)
    assert abs(with_zeros - ours()["cka_rbf"]) > 1e-3


def test_procrustes_distance_squared_is_the_error_of_the_best_rotation():
    """qc-procrustes centers, scales both to norm one and returns the squared distance."""
    assert ours()["procrustes"] ** 2 == pytest.approx(PEERS["qc-procrustes"]["values"]["squared procrustes"])


def test_disparity_of_scipy_is_after_the_best_factor_too():
    """scipy.spatial.procrustes scales the second one, too: sin^2 of the angular distance, not the squared distance."""
    disparity = PEERS["scipy"]["values"]["disparity"]
    assert np.sin(ours()["angular"]) ** 2 == pytest.approx(disparity, rel=ROUNDING)
    assert 1 - (1 - ours()["procrustes"] ** 2 / 2) ** 2 == pytest.approx(disparity, rel=ROUNDING)


def test_the_cosine_of_the_angular_distance_is_the_bures_similarity():
    """rsatoolbox takes roots of eigenvalues, some of which are rounding: 1e-16 becomes 1e-8."""
    assert np.cos(ours()["angular"]) == pytest.approx(PEERS["rsatoolbox"]["values"]["bures"], abs=1e-7)
