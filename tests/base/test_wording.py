"""Words that follow from data, also where no value is finite."""

import numpy as np
import pytest

from repdyn.base.wording import counted, exponent, least, number, outcome, span, which


def test_numbers_are_read_without_exponents_and_unknown_ones_as_such():
    assert [number(x) for x in (209.0, 0.5, -3e7, np.nan, np.inf)] == ["209", "0.5", "-3e+07", "?", "?"]
    assert number(0.9, ".0%") == "90%"


@pytest.mark.parametrize("form", [".0e", ".1g", ".2g", ".3g", "g"])
def test_no_number_below_a_hundred_thousand_has_a_positive_exponent(form):
    for value in (1.0, 9.99, 99.6, 100.0, 104.2, 330.0, 12345.6, 99999.4):
        for signed in (value, -value):
            text = number(signed, form)
            assert "e" not in text
            assert float(text) == pytest.approx(signed, rel=0.5)
    assert [number(x) for x in (100.0, 104.2, 330.0, 99_999.0, 100_000.0)] == ["100", "104", "330", "99999", "1e+05"]


@pytest.mark.parametrize(
    ("values", "text"), [([0.3, 0.1, np.nan], "0.1 to 0.3"), ([2.0, 2.001], "2"), ([np.nan], "?"), ([], "?")]
)
def test_a_span_is_of_the_finite_values(values, text):
    assert span(values) == text


def test_an_outcome_holds_where_no_finite_margin_is_negative():
    words = "holds", "fails", "unknown"
    assert outcome([0.0, 1.0, np.nan], *words) == "holds"
    assert outcome([1.0, -1e-9], *words) == "fails"
    assert outcome([np.nan], *words) == outcome([], *words) == "unknown"
    assert [counted(x) for x in ([1, 1], [1, -1], [np.nan])] == ["all 2", "1 of 2", "none known"]


def test_those_that_hold_are_named_where_others_do_not():
    assert which({"a": 1, "b": [1, np.nan]}) == "all 2"
    assert which({"a": 1, "b": [1, -1], "c": 0}) == "only a, c"
    assert which({"a": -1, "b": np.nan}) == "none of 1"
    assert which({"a": np.nan, "b": []}) == which({}) == "?"


def test_the_least_finite_value_is_named():
    assert least({"a": 2, "b": 1.5, "c": np.nan, "d": 1.5}) == "b"
    assert least({"a": np.inf, "b": np.nan}) == least({}) == "?"


def test_an_exponent_is_the_slope_of_the_logarithms_of_known_points():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    assert exponent(x, 3 * x**-0.5) == "-0.50"
    assert exponent(x, np.where(x == 4, np.nan, 7 * x**2), ".0f") == "2"
    assert exponent(x, np.where(x == 1, 1.0, 0.0)) == exponent(x, np.nan * x) == "?"
