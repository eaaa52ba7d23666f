import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.layers import bn_components, propagate, random_layer, random_layer_naive

COMBINATIONS = list(itertools.product([False, True], [None, "rms", "std"], [False, True]))
# Sums of tens of terms of order one: a few hundred roundings of 1e-16.
ROUNDING = 1e-12


def by_rows(X, W, recenter, rescale, relu):
    """The definition, neuron by neuron."""
    rows = []
    for w in W:
        z = np.array([sum(w[a] * X[a, i] for a in range(len(w))) for i in range(X.shape[1])])
        mean = sum(z) / len(z)
        out = z - mean if recenter else z
        if rescale == "rms":
            out = out / np.sqrt(sum(v * v for v in out) / len(out))
        if rescale == "std":
            out = out / np.sqrt(sum((v - mean) ** 2 for v in z) / len(z))
        rows.append([max(v, 0.0) if relu else v for v in out])
    return np.array(rows)


@pytest.mark.parametrize(("recenter", "rescale", "relu"), COMBINATIONS)
def test_components_follow_the_definition(recenter, rescale, relu):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((4, 7)) + 1, rng.standard_normal((5, 4))
    expected = by_rows(X, W, recenter, rescale, relu)
    np.testing.assert_allclose(bn_components(X, W, recenter, rescale, relu), expected, atol=ROUNDING)


def test_full_layer_is_torch_batch_norm():
    rng = np.random.default_rng(1)
    X, W = rng.standard_normal((6, 9)), rng.standard_normal((11, 6))
    Z = torch.tensor(W @ X).T
    expected = torch.relu(torch.nn.functional.batch_norm(Z, None, None, training=True, eps=1e-300)).T.numpy()
    np.testing.assert_allclose(bn_components(X, W, True, "std", True), expected, atol=ROUNDING)


@settings(deadline=None, max_examples=25)
@given(st.floats(1e-3, 1e3), st.sampled_from(COMBINATIONS), st.integers(0, 99))
def test_layers_are_homogeneous_and_rescaled_ones_scale_free(factor, combination, seed):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((4, 6)), rng.standard_normal((5, 4))
    once, scaled = bn_components(X, W, *combination), bn_components(factor * X, W, *combination)
    grown = once * (factor if combination[1] is None else 1.0)
    # Dividing by the deviation of a row amplifies its rounding: rows here have a deviation above 1e-3.
    np.testing.assert_allclose(scaled, grown, rtol=1e-9, atol=1e-9 * factor)


def test_neuron_constant_over_the_batch_is_zero_with_recentering():
    X = np.array([[0.1, 0.1, 0.1], [1.0, 2.0, 4.0]])
    W = np.array([[3.0, 0.0], [0.0, 1.0]])
    for rescale in ("rms", "std"):
        out = bn_components(X, W, True, rescale, True)
        assert (out[0] == 0).all()
        assert out[1].max() > 1
    assert bn_components(X, W, False, "rms", False)[0] == pytest.approx(1.0)


def test_rescaling_resolves_small_but_real_differences():
    X = np.array([[1.0, 1.0 + 1e-9, 1.0 - 1e-9]])
    out = bn_components(X, np.ones((1, 1)), True, "std", False)
    # 1e-9 is known to 1e-16 / 1e-9 relative precision.
    np.testing.assert_allclose(out[0], np.array([0.0, 1.0, -1.0]) * np.sqrt(1.5), atol=1e-6)


@pytest.mark.parametrize("k", [3, 40])
def test_fast_sampler_has_the_law_of_the_naive_one(k):
    X = np.random.default_rng(3).standard_normal((k, 6))
    samples = {}
    for name, layer in (("fast", random_layer), ("naive", random_layer_naive)):
        rng = np.random.default_rng(4)
        batches = [layer(X, 8, rng, recenter=True, rescale=None, relu=True) for _ in range(600)]
        samples[name] = np.array([np.linalg.norm(Y[:, 0] - Y[:, 1]) for Y in batches])
    # Two samples of 600 of the same law; a p-value under 1e-3 has that probability at a fixed seed.
    assert ks_2samp(samples["fast"], samples["naive"]).pvalue > 1e-3
    other = [random_layer(X, 8, np.random.default_rng(5), recenter=False, rescale=None, relu=True) for _ in range(600)]
    distances = [np.linalg.norm(Y[:, 0] - Y[:, 1]) for Y in other]
    assert ks_2samp(samples["naive"], distances).pvalue < 1e-3


def test_propagation_neither_overflows_nor_underflows():
    X = np.random.default_rng(6).standard_normal((5, 4))
    for recenter in (False, True):
        Y = propagate(X, 30, 1500, np.random.default_rng(7), recenter=recenter, rescale=None, relu=True)
        assert 0.5 <= np.abs(Y).max() < 1


def test_global_scale_changes_no_geometry():
    X = np.random.default_rng(8).standard_normal((5, 4))
    flags = {"recenter": True, "rescale": None, "relu": True}
    rng, Y = np.random.default_rng(9), X
    for _ in range(4):
        Y = random_layer(Y, 20, rng, **flags)
    Z = propagate(X, 20, 4, np.random.default_rng(9), **flags)
    ratio = Y.max() / Z.max()
    # The factors are powers of two; QR of a scaled matrix may round differently.
    np.testing.assert_allclose(Z * ratio, Y, rtol=1e-10, atol=1e-12 * Y.max())
    assert np.log2(ratio) == pytest.approx(round(np.log2(ratio)), abs=1e-12)


def test_recorded_layers_come_in_the_requested_order():
    X = np.random.default_rng(10).standard_normal((5, 4))
    flags = {"recenter": True, "rescale": "std", "relu": True}
    last = propagate(X, 10, 5, np.random.default_rng(11), **flags)
    five, zero = propagate(X, 10, 5, np.random.default_rng(11), **flags, record=[5, 0])
    np.testing.assert_array_equal(five, last)
    np.testing.assert_array_equal(zero, X)
    np.testing.assert_array_equal(propagate(X, 10, 0, np.random.default_rng(11), **flags), X)


def test_rms_orthogonalises_the_linear_network_and_std_collapses_it():
    X = np.random.default_rng(12).standard_normal((10, 8)) + 1
    angles = {}
    for rescale in ("rms", "std"):
        rng = np.random.default_rng(13)
        Y = propagate(X, 400, 120, rng, recenter=False, rescale=rescale, relu=False)
        angles[rescale] = np.degrees(pair_angles(Y))
    # Chance correlations at width 400 are 1/sqrt(400), three degrees; 28 angles, bound at five deviations.
    assert np.abs(angles["rms"] - 90).max() < 15
    # At infinite width the deviation loses (n - 3) / (n - 1) of its square to the mean per layer: e^{-20} after 120.
    assert angles["std"].max() < 1e-3


def test_total_collapse_under_std_is_an_error_not_noise():
    X = np.random.default_rng(12).standard_normal((10, 5)) + 1
    with pytest.raises(ValueError, match="fewer layers"):
        propagate(X, 400, 200, np.random.default_rng(13), recenter=False, rescale="std", relu=False)
