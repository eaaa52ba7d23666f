"""Claims on trained networks: Figure 2 and the initialization of the Discussion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, all_of, deviation, not_reproducible, rounding


def modes_exchanged(mode: str, other: str) -> Callable[[dict[str, xr.Dataset]], dict[str, xr.Dataset]]:
    """Takes the networks of two modes for each other."""

    def exchanged(training: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
        return training | {mode: training[other], other: training[mode]}

    return exchanged


def deepest_default(training: dict[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """Takes the deepest networks at PyTorch's default initialization for all of He's."""
    return training | {"he": training["default"].isel(depth=[-1])}


@claim(
    "bnd-fig2-he",
    where="Introduction, Figure 2",
    line=58,
    assumes="ReLU networks with He initialization; what counts as low rank is not stated",
    words="a NN may reach high training accuracy from low-rank representations at initialization",
    kind="qualitative",
    states="A network without batch normalization reaches high training accuracy from a low-rank last layer if "
    "initialized as He et al.; at PyTorch's default it fails when deep; batch normalization has a high rank.",
    control={
        "he at low rank": false_world(
            "the deepest networks at PyTorch's default initialization for He's", deepest_default
        ),
        "accuracy default when deep": false_world(
            "He's initialization for PyTorch's default", modes_exchanged("he", "default")
        ),
        "rank over width with batch normalization": false_world(
            "networks without batch normalization", modes_exchanged("bn", "default")
        ),
    },
    remark="The paper states neither its measure of rank nor data and optimizer. By the stable rank the representation "
    "with batch normalization is of low rank, too, because of the mean that ReLU leaves.",
)
def accuracy_without_rank(training: dict[str, xr.Dataset]) -> Verdict:
    """The deepest networks of each kind."""
    last = {mode: data.isel(depth=-1) for mode, data in training.items()}
    width = float(training["he"]["width"])
    return Verdict.from_tests(
        {
            "he at low rank": _accurate_at_low_rank(last["he"], width),
            "accuracy default when deep": mean_within(
                last["default"]["accuracy"].isel(epoch=-1),
                0,
                0.2,
                expected="fails: below 0.2",
                reason="twice the chance level of ten classes",
            ),
            "rank over width with batch normalization": _high_rank(last["bn"], width),
        },
        facts={
            f"median of the deepest {words} networks, {name}": last[mode][rank].median()
            for mode, words in (("he", "He"), ("bn", "batch-normalized"))
            for name, rank in RANKS.items()
        },
    )


RANKS = {
    "numerical rank at 1e-6": "numerical_rank",
    "singular values above a hundredth of the largest": "r1",
    "stable rank": "stable_rank",
    "effective rank": "effective_rank",
}


def _accurate_at_low_rank(he: xr.Dataset, width: float) -> Test:
    """Accuracy and initial rank of the deepest networks of He's, by measure of rank and by what is low."""
    accuracy = mean_within(
        he["accuracy"].isel(epoch=-1), 0.95, np.inf, expected="high: above 0.95", reason="nine in ten errors less"
    )

    def test(rank: str, low: float) -> Test:
        share = mean_within(he[rank] / width, -np.inf, low, expected=f"below {low:g} of the width", reason="low rank")
        return all_of(accuracy=accuracy, rank=share)

    return over_readings(test, rank=RANKS, low={"a quarter of the width": 0.25, "half of the width": 0.5})


def _high_rank(bn: xr.Dataset, width: float) -> Test:
    """Initial rank of the deepest networks with batch normalization, by the same measures of rank."""

    def test(rank: str) -> Test:
        return mean_within(
            bn[rank] / width, 0.5, np.inf, expected="high: above half the width", reason="most directions used"
        )

    return over_readings(test, rank=RANKS)


STRICT = "margin 0.5"


def neighbors_let_in(point_neurons: xr.Dataset) -> xr.Dataset:
    """Takes the widest threshold, where neighbors fire, for the strict one.

    Raises:
        NotEnoughDataError: no threshold lets neighbors fire.
    """
    margins = [name for name in point_neurons["scheme"].values.tolist() if name.startswith("margin")]
    if float(margins[-1].removeprefix("margin ")) <= 1:
        raise NotEnoughDataError("point_neurons: a margin above 1")
    return cast("xr.Dataset", exchange("scheme", STRICT, margins[-1])(point_neurons))


@claim(
    "bnd-disc-init",
    where="Discussion, second paragraph",
    line=289,
    assumes="every data point has a neuron that fires for it alone",
    words="This way, we attain an orthogonal representation and sparse activity in the network",
    kind="identity",
    states="Associating every data point with a neuron that fires for it alone gives an orthogonal representation and "
    "sparse activity.",
    control=dict.fromkeys(
        ("orthogonal", "activity"), wrong_formula("thresholds wide enough to let neighbors fire", neighbors_let_in)
    ),
    labels={
        "orthogonal": "inner products of different points",
        "activity": "share of positive entries times the number of points, minus 1",
    },
    remark="The paper gives no formula; thresholds lie half-way between the point and its nearest neighbor.",
)
def point_neurons_are_orthogonal_and_sparse(point_neurons: xr.Dataset) -> Verdict:
    """Gram matrix and share of positive entries at the half-way threshold."""
    require(point_neurons, "point_neurons", scheme=(STRICT,))
    strict, n = point_neurons.sel(scheme=STRICT), int(point_neurons["points"])
    return Verdict.from_tests(
        {
            "orthogonal": deviation(
                strict["off_diagonal"],
                rounding(1.0, n),
                expected="off-diagonal Gram entries zero",
                reason="round-off of $n$ products",
            ),
            "activity": deviation(
                strict["activity"] * n - 1,
                rounding(1.0, n),
                expected="$1/n$ of the entries positive",
                reason="a count over $n^2$",
            ),
        }
    )


@claim(
    "bnd-disc-init-gain",
    where="Discussion, third paragraph",
    line=291,
    assumes="settings are not stated",
    words="this might be a good initialization strategy for small data sets",
    kind="comparison",
    states="One neuron per data point might be a good initialization strategy for small data sets.",
    control=false_world("the two initializations exchanged", exchange("scheme", "he", STRICT)),
)
def point_neurons_help(point_neurons: xr.Dataset) -> Verdict:
    """Test accuracy of the strict scheme against He's, paired over draws of the training points.

    A gain confirms the statement; a loss shows only that these settings are not the paper's, which states none.
    """
    require(point_neurons, "point_neurons", scheme=(STRICT, "he"))
    at_best = point_neurons.sel(rate=point_neurons["best_rate"])
    accuracy = at_best["test_accuracy"]
    gain = (accuracy.sel(scheme=STRICT) - accuracy.sel(scheme="he")).values
    test = mean_within(
        gain, 0, np.inf, expected="not below He's initialization", reason="no worse than the usual choice"
    )
    steps = at_best["steps"].median("seed")
    if test.outcome != "fails":
        return Verdict.from_tests(test)
    facts = {
        "median steps to fit, one neuron per point": steps.sel(scheme=STRICT),
        "median steps to fit, He's initialization": steps.sel(scheme="he"),
    }
    why = (
        "The paper reports an initial experiment without settings. Tried: two layers, zero head, full-batch gradient "
        "descent on the images."
    )
    return replace(not_reproducible(why, test), facts=facts)
