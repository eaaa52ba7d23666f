"""Geometry of representations against scikit-learn, closed forms and brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from repdyn.universality.methods import representations as geometry
from repdyn.universality.methods.blob_task import blob_images

ROUNDING = 1e-10  # sums of some thousand products of numbers up to ten


def square(irrelevant):
    """Representations of a grid of two features, the second scaled, embedded by a rotation."""
    steps = np.linspace(-1, 1, 7)
    relevant, other = (part.ravel() for part in np.meshgrid(steps, steps, indexing="ij"))
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0][:2]
    return np.column_stack([relevant, irrelevant * other]) @ rotation, relevant, other


@given(st.integers(0, 1000), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_classical_scaling_is_the_principal_components(seed, components):
    h = np.random.default_rng(seed).standard_normal((30, 6)) * np.array([9, 5, 3, 1, 1, 1])
    shown, share = geometry.classical_mds(h, components)
    fitted = PCA(components).fit(h)
    assert np.allclose(np.abs(shown), np.abs(fitted.transform(h)), atol=1e-8)  # a component's sign is free
    assert share == pytest.approx(fitted.explained_variance_ratio_.sum(), rel=1e-9)
    assert np.all(shown[np.abs(shown).argmax(axis=0), np.arange(components)] > 0)


def test_scaling_to_full_dimension_keeps_all_distances():
    h = np.random.default_rng(2).standard_normal((12, 3))
    shown, share = geometry.classical_mds(h, 3)
    assert np.allclose(geometry.squared_distances(shown), geometry.squared_distances(h), atol=ROUNDING)
    assert share == pytest.approx(1.0)


def test_majorization_does_not_raise_the_stress_and_repeats_itself():
    h = np.random.default_rng(3).standard_normal((40, 6))
    start, _ = geometry.classical_mds(h, 2)
    wanted = np.sqrt(geometry.squared_distances(h))

    def stress(x):
        return np.sum((np.sqrt(geometry.squared_distances(x)) - wanted) ** 2)

    embedding = geometry.smacof(h, start)
    assert stress(embedding) < 0.9 * stress(start)
    assert np.array_equal(embedding, geometry.smacof(h, start))


@given(st.floats(0.0, 3.0))
@settings(max_examples=20, deadline=None)
def test_collapse_index_is_the_squared_ratio_of_the_sides(side):
    """Invariant under rotation."""
    h, relevant, other = square(side)
    assert geometry.collapse_index(h, relevant, other) == pytest.approx(side**2, abs=1e-10)
    if side > 0.1:
        assert geometry.collapse_index(h, other, relevant) == pytest.approx(side**-2, rel=1e-8)


def test_taylor_terms_of_a_quadratic_map_are_exact():
    """h(x) = A x + x^T B x: first order (A + (B + B^T) m) D, second D^T B D."""
    rng = np.random.default_rng(4)
    A, B = rng.standard_normal((3, 4)), rng.standard_normal((3, 4, 4))

    def encode(x):
        return x @ A.T + np.einsum("pi,kij,pj->pk", x, B, x)

    def derivative(x, v):
        return v @ A.T + np.einsum("pi,kij,pj->pk", v, B + np.swapaxes(B, 1, 2), x)

    a, b = rng.standard_normal((2, 20, 4))
    first, second = geometry.taylor_terms(encode, derivative, a, b)
    middle, half = (a + b) / 2, (a - b) / 2
    assert np.allclose(first, np.linalg.norm(derivative(middle, half), axis=1), atol=ROUNDING)
    assert np.allclose(second, np.linalg.norm(np.einsum("pi,kij,pj->pk", half, B, half), axis=1), atol=ROUNDING)


def test_second_order_of_a_smooth_map_is_exact_up_to_fourth_order():
    """Halving the distance divides |second - D^T H D / 2| by sixteen: exp has H = exp."""
    m, errors = np.array([[0.3]]), []
    for half in (0.2, 0.1):
        _, second = geometry.taylor_terms(np.exp, lambda x, v: np.exp(x) * v, m + half, m - half)
        errors.append(abs(second[0] - np.exp(0.3) * half**2 / 2))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.05)  # next order is relative half^2


def test_a_linear_map_has_no_second_order_and_odd_shapes_are_refused():
    a, b = np.eye(3)[:2], np.zeros((2, 3))
    assert np.all(geometry.taylor_terms(lambda x: x, lambda x, v: v, a, b)[1] == 0)
    with pytest.raises(ValueError):
        geometry.taylor_terms(lambda x: x, lambda x, v: v, a, b[:1])


def test_blobs_are_images_of_unit_mass_at_their_places():
    """Mass 1; mirrored places give mirrored images; the target is the feature that the context names."""
    inputs, targets, features = blob_images(7, 5)
    images = inputs[:, :25].reshape(2, 7, 7, 5, 5)
    assert inputs.shape == (98, 27)
    assert np.allclose(images.sum(axis=(-1, -2)), 1.0)
    assert np.allclose(images[0], images[0, ::-1, :, ::-1, :])
    assert np.allclose(images[0], np.swapaxes(np.swapaxes(images[0], 0, 1), -1, -2))
    assert np.array_equal(inputs[:49, 25:], np.tile([1, 0], (49, 1)))
    assert np.array_equal(targets[:49, 0], features[:49, 0])
    assert np.array_equal(targets[49:, 0], features[49:, 1])


def test_a_blobs_pixels_fall_off_as_a_gaussian_of_unit_variance():
    """log of two pixels' ratio at distances r and 0 of the center is -r^2/2."""
    inputs, _, _ = blob_images(3, 5)
    middle = inputs[4, :25].reshape(5, 5)
    assert np.log(middle[4, 2] / middle[2, 2]) == pytest.approx(-0.5, rel=1e-12)
    assert np.log(middle[3, 3] / middle[2, 2]) == pytest.approx(-(0.5**2), rel=1e-12)
