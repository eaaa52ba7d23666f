"""Question 3: whether one point grows far longer than the others, before and after training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import xarray as xr

from repdyn.across_papers.claims.undecided import undecided
from repdyn.across_papers.methods.names import ENDS, FOUR
from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within, share_within
from repdyn.base.verdicts import Test, Verdict, weakest

TIMES = {"twice": 2.0, "three times": 3.0}
LAYERS = {"last hidden layer": 1.0, "last quarter of the layers": 0.25}
ODD_REASON = "the fixed point of this batch has a ratio beyond ten, a batch without an odd point one near 1"


def _odd(ratios: xr.DataArray, there: bool) -> Test:
    """Log2(largest / second norm) in the last layers against a factor, in the mean or in most seeds; all readings."""
    number = np.array([int(name.rpartition(".")[2]) + 1 for name in ratios["layer"].values])

    def decide(times: float, layers: float, seeds: str) -> Test:
        late = number >= (number[-1] if layers == 1 else (1 - layers) * number[-1])
        samples = cast("xr.DataArray", np.log2(ratios.isel(layer=np.flatnonzero(late)))).mean("layer").values
        if seeds == "most":
            expected = f"odd in {word} half of the seeds"
            return share_within(samples > np.log2(times), *share, expected=expected, reason=ODD_REASON)
        low, high = (np.log2(times), np.inf) if there else (-np.inf, np.log2(times))
        expected = f"largest norm at {word} {times:g} times the second, in log2"
        return mean_within(samples, low, high, expected=expected, reason=ODD_REASON)

    word, share = ("least", (0.5, 1.0)) if there else ("most", (0.0, 0.5))
    return over_readings(decide, times=TIMES, layers=LAYERS, seeds={"mean": "mean", "most of them": "most"})


def _before(odd_batch: xr.Dataset, network: str) -> xr.DataArray:
    return odd_batch["norm_ratio"].sel(network=network, end=ENDS[0])


def _after(odd_batch: xr.Dataset, network: str) -> xr.DataArray:
    """Of the seeds that have learned."""
    runs = odd_batch.sel(network=network, end=ENDS[1])
    return runs["norm_ratio"].isel(seed=np.flatnonzero(runs["learned"].values == 1))


def _has_learned(odd_batch: xr.Dataset, network: str) -> bool:
    """More than half of its seeds, two at least."""
    learned = int(odd_batch["learned"].sel(network=network).sum())
    return learned >= 2 and 2 * learned > odd_batch.sizes["seed"]


def _learners(odd_batch: xr.Dataset, networks: tuple[str, ...]) -> dict[str, object]:
    counts, losses = odd_batch["learned"].sum("seed"), odd_batch["final_loss"].median("seed")
    facts: dict[str, object] = {"seeds": odd_batch.sizes["seed"]}
    for kind in networks:
        facts[f"seeds that have learned, {kind}"] = int(counts.sel(network=kind))
        facts[f"median final loss, {kind}"] = float(losses.sel(network=kind))
    return facts


def _odd_given_to(*networks: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Gives norms with an odd point, of recentered networks in turn, out for those of others, before and after.

    Which recentered networks have an odd point differs between processors, so those without one stay out.
    """

    def spoil(odd_batch: xr.Dataset) -> xr.Dataset:
        ratio, odd = odd_batch["norm_ratio"], _after(odd_batch, "recentered").drop_vars("network")
        odd = odd.isel(seed=np.flatnonzero(odd.isel(layer=-1).values > max(TIMES.values())))
        if not odd.sizes["seed"]:
            raise NotEnoughDataError("odd_batch: a recentered network that has learned and has an odd point")
        in_turn = odd.drop_vars("end").isel(seed=np.arange(ratio.sizes["seed"]) % odd.sizes["seed"])
        odd = in_turn.assign_coords(seed=ratio["seed"].values)
        return odd_batch.assign(norm_ratio=ratio.where(~ratio["network"].isin(networks), odd))

    return spoil


ODD: dict[str, Any] = {
    "where": "Question 3; Section III of bn_decomposed",
    "kind": "comparison",
    "origin": "ours",
    "assumes": "one batch of sixteen digits of similar norms, the same for all seeds (a network that neither rescales "
    "nor recenters keeps a point that was long from the start), one depth and width, zero biases at the start, "
    "statistics of the batch; said of the mean over seeds and of most of them, not of every one",
}
ODD_DATASET = "networks whose norms are those of recentered ones that have learned and have an odd point"


@claim(
    "acr-odd-before",
    states="From a batch of similar norms, none of the four networks has an odd point before training.",
    control={kind: false_world(ODD_DATASET, _odd_given_to(kind)) for kind in FOUR},
    **ODD,
    labels={
        "plain": "largest over second norm in the last layers, plain network",
        "residual": "largest over second norm in the last layers, residual network",
        "leaky": "largest over second norm in the last layers, leaky ResNet",
        "batch norm": "largest over second norm in the last layers, batch normalization",
    },
)
def no_odd_point_before(odd_batch: xr.Dataset) -> Verdict:
    """Each network by itself."""
    tests: dict[str, Test] = {kind: _odd(_before(odd_batch, kind), there=False) for kind in FOUR}
    return Verdict.from_tests(tests)


@claim(
    "acr-odd-made",
    states="Of the four networks, those that have learned have no odd point after training either.",
    control=false_world(ODD_DATASET, _odd_given_to(*FOUR)),
    **ODD,
)
def no_odd_point_after_learning(odd_batch: xr.Dataset) -> Verdict:
    """Networks of which more than half of the seeds have learned, these seeds; the worst network carries the test."""
    learned = tuple(kind for kind in FOUR if _has_learned(odd_batch, kind))
    if not learned:
        raise NotEnoughDataError("odd_batch: a network of which more than half of the seeds have learned")
    tests = [_odd(_after(odd_batch, kind), there=False) for kind in learned]
    return Verdict.from_tests(weakest(tests), facts=_learners(odd_batch, FOUR))


def _rescaled(end: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Gives the norms with batch normalization in full out for those with recentering alone; after it, who learned too.

    Before it, who learned stays: a recentered network that diverged has no norms to be counted among the learned.
    """

    def spoil(odd_batch: xr.Dataset) -> xr.Dataset:
        recentered = odd_batch["network"] == "recentered"
        other = odd_batch[["norm_ratio", "learned"]].sel(network="batch norm", drop=True)
        replaced = recentered & (odd_batch["end"] == end)
        spoiled = odd_batch.assign(norm_ratio=odd_batch["norm_ratio"].where(~replaced, other["norm_ratio"]))
        if end == ENDS[0]:
            return spoiled
        return spoiled.assign(learned=odd_batch["learned"].where(~recentered, other["learned"]))

    return spoil


@claim(
    "acr-odd-survives",
    states="The network with recentering alone has an odd point before training, and after it has learned.",
    control={
        name: false_world("a network whose norms are those with batch normalization in full", _rescaled(end))
        for name, end in zip(("before", "after"), ENDS, strict=True)
    },
    **ODD,
    labels={
        "before": "largest over second norm in the last layers, before training",
        "after": "largest over second norm in the last layers, networks that have learned",
    },
)
def odd_point_survives(odd_batch: xr.Dataset) -> Verdict:
    """Before, all seeds; after, those that have learned, more than half of all."""
    runs = odd_batch.sel(network="recentered").isel(layer=-1)
    same = (runs["odd_point"].isel(end=0) == runs["odd_point"].isel(end=1)).values[runs["learned"].values == 1]
    before, after = _odd(_before(odd_batch, "recentered"), True), _odd(_after(odd_batch, "recentered"), True)
    if not _has_learned(odd_batch, "recentered"):
        after = undecided(after, "too few networks have learned")
    facts = {
        **_learners(odd_batch, ("recentered", "batch norm")),
        "seeds that have learned in which the same point is odd before and after": int(same.sum()),
    }
    return Verdict.from_tests({"before": before, "after": after}, facts=facts)
