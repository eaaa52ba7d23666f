"""Validation of arguments: valid ones are returned as arrays, invalid ones are rejected by name."""

import re

import numpy as np
import pytest
import xarray as xr

from repdyn.base.arguments import finite, increasing, not_negative, one_of, orthogonal, positive, shaped

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


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
REFUSED = [  # check, argument, part of the message
    (finite, [1.0, np.nan, np.inf], "2"),
    (finite, [1 + 2j], "complex128"),
    (finite, "1.5", "<U3"),
    (finite, [None, 1.0], "object"),
    (finite, [[1.0], [1.0, 2.0]], ""),
    (positive, [3.0, 0.0], "0"),
    (positive, [3.0, -2.0, 5.0], "-2"),
    (not_negative, [1.0, -0.5], "-0.5"),
    (positive, np.inf, "1"),
    *((increasing, values, "") for values in ([], [1.0, 1.0], [2.0, 1.0], [-1.0, 1.0], [[1.0, 2.0]])),
]


@pytest.mark.parametrize(("check", "value", "wanted"), ACCEPTED)
def test_valid_arguments_are_returned_as_arrays(check, value, wanted):
    array = check(value, "rate")
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, np.asarray(wanted, float), strict=True)


@pytest.mark.parametrize(("check", "value", "message"), REFUSED)
def test_invalid_arguments_are_rejected_by_name(check, value, message):
    with pytest.raises(ValueError, match=f"rate.*{re.escape(message)}"):
        check(value, "rate")


@pytest.mark.parametrize("shape", [(2, 3), (None, 3), (None, None)])
def test_shape_leaves_sizes_free(shape):
    assert shaped(np.ones((2, 3)), "weights", shape).shape == (2, 3)


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        (np.ones((2, 3)), (2, 2), "(2, 3)"),
        (np.ones(3), (None, 3), "(3,)"),
        (np.ones((0, 3)), (None, 3), "(0, 3)"),
        (np.ones(2), (3,), "(2,)"),
        (1.0, (None,), "()"),
    ],
)
def test_other_shapes_are_rejected(value, shape, message):
    with pytest.raises(ValueError, match=f"weights.*{re.escape(message)}"):
        shaped(value, "weights", shape)


def test_orthogonality_is_checked_to_rounding():
    assert orthogonal(TURN, 2, "Q") is TURN
    nearly = TURN * (1 + 4e-9)  # defect 8e-9, below 1e-8
    assert orthogonal(nearly, 2, "Q") is nearly
    with pytest.raises(ValueError, match=r"Q.*2\.00e-08"):
        orthogonal(TURN * (1 + 1e-8), 2, "Q")
    for smaller in (TURN * (1 - 1e-8), 0.5 * TURN, np.diag([1.0, 0.0])):
        with pytest.raises(ValueError, match="Q"):
            orthogonal(smaller, 2, "Q")
    with pytest.raises(ValueError, match="Q"):
        orthogonal(TURN, 3, "Q")


def test_word_must_be_one_of_the_choices():
    assert one_of("adaptive", ("adaptive", "fixed"), "scheme") == "adaptive"
    with pytest.raises(ValueError, match=r"scheme.*adaptiv'"):
        one_of("adaptiv", ("adaptive", "fixed"), "scheme")
