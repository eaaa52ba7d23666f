"""What the analysis of trained networks computes beside the measures of one network, on paths made up by hand."""

import numpy as np
import xarray as xr
from tests.leaky_resnets.test_networks import random_net

from repdyn.base.datasets import variable
from repdyn.leaky_resnets.experiments import network_measures as analysis
from repdyn.leaky_resnets.methods import measures
from repdyn.leaky_resnets.methods.selection import size_and_distance


def test_stage_is_read_in_the_layer_next_to_it():
    p = np.array([[0.0, 0.2, 0.5, 1.0], [0.0, 0.25, 0.3, 1.0]])  # middles .1, .35, .75 and .125, .275, .65
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(analysis.at_stage(p, values), [2, 5])


def test_steps_in_the_plane():
    plane = np.array([[[0, 0], [3, 4], [3, 5]], [[0, 0], [1, 0], [1, 1]]], float)  # lengths 5, 1 and 1, 1
    steps, uneven = analysis.plane_steps(plane)
    np.testing.assert_allclose(steps, [[5 / 3, 1 / 3], [1, 1]])
    np.testing.assert_allclose(uneven, [2 / 3, 0])


def test_a_path_in_a_plane_keeps_its_lengths():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((12, 2)))[0]
    flat = rng.standard_normal((6, 2)) @ axes.T
    plane, share = analysis.plane_of(flat.reshape(6, 3, 4))
    wanted = np.linalg.norm(np.diff(flat, axis=0), axis=1) / 2  # over sqrt(4) points
    np.testing.assert_allclose(np.linalg.norm(np.diff(plane, axis=0), axis=1), wanted)
    assert abs(share - 1) < 1e-12


def test_layers_in_the_first_and_last_fifth():
    p = variable(("seed", "node"), np.stack([np.linspace(0, 1, 11), np.linspace(0, 1, 11) ** 2]), "p")
    fifths = analysis._fifths(p)
    # p = (l / 10)^2 reaches 0.2 at l = 4.47 and 0.8 at l = 8.94, up to linear interpolation
    np.testing.assert_allclose(fifths["first_fifth"].values, [1, 4.47 / 2], atol=0.02)
    np.testing.assert_allclose(fifths["last_fifth"].values, [1, 1.06 / 2], atol=0.02)


def test_factor_of_proposition_9_reads_the_last_layer_that_is_there():
    weights = np.array([[[1.0, 3.0, np.nan, np.nan], [1.0, 2.0, 4.0, 7.0]]])
    balance = np.array([[[1.0, 2.0, np.nan, np.nan], [1.0, 2.0, 3.0, 7.0]]])
    dims = ("seed", "layers", "layer")
    parts = {"weight_sq": variable(dims, weights, "w"), "balance_printed": variable(dims, balance, "b")}
    np.testing.assert_allclose(analysis._balance_factors(parts, np.array([2, 4])), [[2, 1]])


def test_error_ratios_are_paired():
    errors = np.arange(1.0, 13.0).reshape(1, 3, 2, 2)
    schemes = ["equidistant", "irregular", "adaptive"]
    stored = xr.Dataset({"test_error": (("maps", "scheme", "layers", "seed"), errors)}, {"scheme": schemes})
    ratio = analysis._error_ratios(stored)["test_ratio_by_layers"]
    np.testing.assert_allclose(ratio.values, errors / errors[:, :1])


def test_largest_step_of_a_spectrum():
    place, step = measures.largest_step(np.array([8.0, 7, 6, 1, 0.9, 0.8, 0.7]))
    assert (place, step) == (3, np.log(6))
    assert measures.largest_step(np.array([8.0, 2.0]))[0] == 1  # as many places as there are


def test_merging_equal_layers_of_a_network_at_rest_changes_nothing():
    """Where W S = Lt A the representation stands still, and one step of any length leaves it there."""
    rng = np.random.default_rng(0)
    net = random_net(rng, False, L=6)
    W = np.repeat(net.effective_depth * np.eye(net.W.shape[1])[None], 6, axis=0)
    rest = type(net)(W, np.full(6, 1 / 6), net.effective_depth, np.abs(net.into), net.out)
    X = np.abs(rng.standard_normal((net.into.shape[1], 8)))
    merged = measures.merged_layers(rest, 2, 3)
    np.testing.assert_allclose(merged.rho, [1 / 6, 1 / 6, 0.5, 1 / 6])
    np.testing.assert_allclose(merged.output(X), rest.output(X))


def test_sizes_along_a_path_are_of_the_norms_that_they_are_named_after():
    """Operator norm of the activations; Frobenius norms of the momenta and of their product with the activations."""
    rng = np.random.default_rng(0)
    net = random_net(rng, True, L=4, w=3, d=2)
    A, B = rng.normal(size=(2, 5, 3, 6))
    found = measures._paths(net, A, B)
    for layer in range(4):
        S = np.vstack([np.maximum(A[layer], 0), np.ones(6)])
        assert np.isclose(found["activation"][layer], np.sqrt(np.linalg.eigvalsh(S @ S.T)[-1]))
        assert np.isclose(found["momentum"][layer], np.sqrt((B[layer + 1] ** 2).sum()))
        assert np.isclose(found["alignment"][layer], np.sqrt(((B[layer + 1] @ S.T) ** 2).sum()))


def test_size_and_distance_name_the_networks():
    data = xr.Dataset(
        {"relative_distance": (("maps", "seed"), [[0.1, 0.3], [2.0, 4.0]])},
        {"maps": ["decayed maps", "fixed maps"], "dimension": 10, "width": 30, "points": 300, "steps": 500},
    )
    words = size_and_distance(data)
    assert "$d$ = 10, $w$ = 30, $N$ = 300, 500 steps" in words
    assert "0.2 (decayed maps), 3 (fixed maps)" in words
