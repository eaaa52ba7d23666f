"""Validation of arguments: what each lets through unchanged, and what it says of the rest."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.arguments import finite, increasing, not_negative, one_of, orthogonal, positive, shaped

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def of_shape(value, name, advice=""):
    return shaped(value, name, (None, 3, 2), advice)


ACCEPTED = [
    (finite, 3, 3.0),
    (finite, [1, -2.5], [1.0, -2.5]),
    (finite, [], []),
    (finite, np.array([True, False]), [1.0, 0.0]),
    (finite, xr.DataArray([1, 2]), [1.0, 2.0]),
    (positive, 1e-300, 1e-300),
    (not_negative, [0.0, 2.0], [0.0, 2.0]),
    (increasing, [0, 0.5, 2], [0.0, 0.5, 2.0]),
    (increasing, 1.5, [1.5]),
]
REFUSED = [
    (finite, [1.0, np.nan, np.inf], "rate: got 2 values that are NaN or infinite; expected finite numbers only"),
    (finite, [1 + 2j], "rate: got values of type complex128; expected finite real numbers"),
    (finite, np.array([1j]), "rate: got values of type complex128"),
    (finite, "1.5", "rate: got values of type <U3"),
    (finite, [None, 1.0], "rate: got values of type object"),
    (finite, [[1.0], [1.0, 2.0]], "rate: got no array"),
    (positive, [3.0, 0.0], "rate: got 0; expected finite numbers above 0"),
    (positive, -1e-9, "rate: got -1e-09; expected finite numbers above 0"),
    (not_negative, [1.0, -0.5], "rate: got -0.5; expected finite numbers of 0 or more"),
    (positive, np.inf, "rate: got 1 values that are NaN or infinite"),
    (increasing, [], "a strictly increasing sequence"),
    (increasing, [1.0, 1.0], "a strictly increasing sequence"),
    (increasing, [2.0, 1.0], "a strictly increasing sequence"),
    (increasing, [-1.0, 1.0], "a strictly increasing sequence"),
    (increasing, [[1.0, 2.0]], "a strictly increasing sequence"),
]


@pytest.mark.parametrize(("check", "value", "wanted"), ACCEPTED)
def test_what_is_right_comes_back_as_numbers(check, value, wanted):
    array = check(value, "rate")
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, np.asarray(wanted, float), strict=True)


@pytest.mark.parametrize(("check", "value", "message"), REFUSED)
def test_what_is_wrong_is_refused_with_its_name(check, value, message):
    with pytest.raises(ValueError) as caught:
        check(value, "rate")
    assert message in str(caught.value)


ADVISED = [
    (finite, "1.5", "values of type <U3; expected finite real numbers"),
    (finite, [2.0, np.inf], "1 values that are NaN or infinite; expected finite numbers only"),
    (positive, "1.5", "values of type <U3; expected finite real numbers"),
    (positive, [2.0, -1.0, 3.0], "-1; expected finite numbers above 0"),
    (not_negative, [np.nan], "1 values that are NaN or infinite; expected finite numbers only"),
    (not_negative, [2.0, -1.0, 3.0], "-1; expected finite numbers of 0 or more"),
    (increasing, [np.nan], "1 values that are NaN or infinite; expected finite numbers only"),
    (
        increasing,
        [3.0, 1.0, 2.0],
        "[3.0, 1.0, 2.0]; expected a strictly increasing sequence of numbers of 0 or more",
    ),
    (
        increasing,
        [4.5] * 20,
        f"{str([4.5] * 20)[:60]}; expected a strictly increasing sequence of numbers of 0 or more",
    ),
    (of_shape, "1.5", "values of type <U3; expected finite real numbers"),
    (of_shape, [[1.0, 2.0]], "shape (1, 2); expected a non-empty array of shape (any, 3, 2)"),
]


@pytest.mark.parametrize(("check", "value", "message"), ADVISED)
def test_a_refusal_tells_the_name_what_came_what_is_wanted_and_advice(check, value, message):
    for advice in ("", "use fewer"):
        with pytest.raises(ValueError) as caught:
            check(value, "step", advice)
        assert str(caught.value) == f"step: got {message}" + (": use fewer" if advice else "")


def test_an_array_of_floats_is_not_copied():
    values = np.arange(3.0)
    assert finite(values, "values") is values


@pytest.mark.parametrize("shape", [(2, 3), (None, 3), (None, None)])
def test_a_shape_leaves_sizes_free(shape):
    assert shaped(np.ones((2, 3)), "weights", shape).shape == (2, 3)


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        (np.ones((2, 3)), (2, 2), r"weights: got shape (2, 3); expected a non-empty array of shape (2, 2)"),
        (np.ones(3), (None, 3), r"weights: got shape (3,); expected a non-empty array of shape (any, 3)"),
        (np.ones((0, 3)), (None, 3), r"weights: got shape (0, 3)"),
        (np.ones(2), (3,), r"of shape (3,)"),
        (1.0, (None,), r"weights: got shape (); expected a non-empty array of shape (any,)"),
    ],
)
def test_another_shape_is_refused(value, shape, message):
    with pytest.raises(ValueError) as caught:
        shaped(value, "weights", shape)
    assert message in str(caught.value)


def test_orthogonal_matrices_to_rounding():
    assert orthogonal(TURN, 2, "Q") is TURN
    nearly = TURN * (1 + 4e-9)  # defect 8e-9, below 1e-8
    assert orthogonal(nearly, 2, "Q") is nearly
    with pytest.raises(ValueError, match=r"Q: got max\|Q Q\^T - 1\| = 2\.00e-08; expected an orthogonal matrix"):
        orthogonal(TURN * (1 + 1e-8), 2, "Q")
    for smaller in (TURN * (1 - 1e-8), 0.5 * TURN, np.diag([1.0, 0.0])):
        with pytest.raises(ValueError, match="expected an orthogonal matrix"):
            orthogonal(smaller, 2, "Q")
    with pytest.raises(ValueError, match="shape"):
        orthogonal(TURN, 3, "Q")


def test_a_word_of_a_list():
    assert one_of("adaptive", ("adaptive", "fixed"), "scheme") == "adaptive"
    with pytest.raises(ValueError, match="scheme: got 'adaptiv'; expected one of adaptive, fixed"):
        one_of("adaptiv", ("adaptive", "fixed"), "scheme")
