"""Gaps of networks that have diverged: what datasets say of them, pass on, and which of their arrays have no number."""

import numpy as np
import xarray as xr

from repdyn.base.datasets import (
    DIVERGED,
    LEFT_OUT,
    inherit,
    left_out,
    said_to_have_diverged,
    variable,
    without_a_number,
)

NAN, INF = np.nan, np.inf
GONE = np.array([[True, False, False], [True, True, False]])


def recorded(**attrs):
    """Arrays with each kind of gap and without one, the third alone with a reason of its own."""
    variables = {
        "kept": variable("run", [3, 1, 2], "kept"),
        "loss": variable("run", [0.5, INF, NAN], "loss", "nat"),
        "rank": variable("run", [NAN, 4.0, -INF], "rank"),
        "whole": variable("run", [2.0, 7.0, 1.0], "whole"),
        "gap": variable("run", [NAN, 8.0, 9.0], "gap"),
        "name": variable("run", ["c", "a", "b"], "name"),
    }
    variables["rank"].attrs["missing"] = "no layer"
    return xr.Dataset(variables, {"run": variable("run", [7, 5, 6], "run")}, attrs)


def saying(words):
    return xr.Dataset(attrs={LEFT_OUT: words} if words else {})


def with_gaps(**attrs):
    """What `recorded` is where networks have diverged: no infinite number, and each gap has its reason."""
    wanted = recorded(**attrs)
    wanted["loss"] = wanted["loss"].copy(data=[0.5, NAN, NAN])
    wanted["rank"] = wanted["rank"].copy(data=[NAN, 4.0, NAN])
    for name in ("loss", "gap"):
        wanted[name].attrs["missing"] = DIVERGED
    return wanted


def test_networks_that_have_diverged_leave_gaps_and_are_counted():
    said = "3 of 6 networks have diverged (training.rates: 0.5)"
    xr.testing.assert_identical(
        left_out(recorded(title="t"), GONE, "training.rates: 0.5"), with_gaps(title="t", **{LEFT_OUT: said})
    )
    xr.testing.assert_identical(left_out(recorded(), np.zeros((2, 3), bool), "training.rates: 0.5"), recorded())


def test_each_dataset_says_once_of_which_networks_it_and_those_it_was_made_from_lack_numbers():
    variants = {"sgd": saying("2 of 7"), "adam": saying(""), "he": saying("3 of 8"), "bn": saying("1 of 9")}
    inputs = [saying(""), saying("4 of 5"), variants, saying("3 of 8")]
    assert said_to_have_diverged(*inputs) == "4 of 5; 2 of 7; 3 of 8; 1 of 9"
    assert said_to_have_diverged(saying(""), {"sgd": saying("")}) == said_to_have_diverged() == ""
    own = inherit(recorded(**{LEFT_OUT: "6 of 6"}), *inputs)
    xr.testing.assert_identical(own, with_gaps(**{LEFT_OUT: "6 of 6; 4 of 5; 2 of 7; 3 of 8; 1 of 9"}))
    xr.testing.assert_identical(inherit(recorded(), saying(""), {"sgd": saying("")}), recorded())


def test_arrays_without_a_number_are_named_with_their_dataset_variant_and_reasons():
    def lost(reason):
        return ("run", [NAN, INF], {"missing": reason} if reason else {})

    parts = {"some": ("run", [NAN, 1.0]), "none": ("run", np.zeros(0, int)), "count": ("run", [1, 2])}
    whole = xr.Dataset({"some": parts["some"], "count": parts["count"], "empty": ("other", np.zeros(0))})
    sgd = xr.Dataset({"some": parts["some"], "loss": lost("it diverged"), "rank": lost("it diverged")})
    adam = xr.Dataset({"depth": lost("no layer"), "width": lost(""), "gain": lost("it diverged")})
    data = {
        "audit": whole,
        "training": {"sgd": sgd, "he": whole, "adam": adam},
        "flow": xr.Dataset({"cost": lost("")}),
    }
    assert without_a_number(data) == (
        "loss, rank of training sgd (it diverged); depth, width, gain of training adam (no layer; it diverged); "
        "cost of flow"
    )
    assert without_a_number({"audit": whole, "training": {"he": whole}}) == ""
