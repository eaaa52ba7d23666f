"""The three questions as claims of our own; estimands, regions and their reasons stand in `experiments`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import xarray as xr

from repdyn.across_papers.methods.names import ENDS, FOUR, HALF
from repdyn.across_papers.methods.ranks import RANKS, counted
from repdyn.base.arrays import Array
from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within, share_within
from repdyn.base.verdicts import Test, Verdict, weakest

FACTORS = {"a quarter more": 1.25, "a factor of 1.5": 1.5, "a factor of 2": 2.0}
SHARES = {"mean of h, y, w": np.mean, "worst of h, y, w": np.max}
AS_WELL = "differences below it are those between seeds of one network"
WITHIN = "a factor of two: with a tail in the spectrum a rank exceeds the number of large values"
BELOW = 2 / 3
PAIRED = "seeds are paired: any mean above zero is a higher rank"
LONGER = 10  # times the steps: a rank may go on so long at its last pace
TIMES = {"twice": 2.0, "three times": 3.0}
LAYERS = {"last hidden layer": 1.0, "last quarter of the layers": 0.25}
ODD_REASON = "the fixed point of this batch has a ratio beyond ten, a batch without an odd point one near 1"


def _fit_against_plain(theory_fits: xr.Dataset, network: str) -> Test:
    """Mean over seeds of log2(U / U of the plain network) on the two points alone, over all readings.

    A fit that ends at the border of its search bounds U from above only, so it can confirm but not refute: where any
    seed of the network has one and the test fails, the test of the other seeds decides.
    """
    alone = theory_fits.sel(data="two points", network=["plain", network])
    learned = alone.isel(seed=np.flatnonzero((alone["learned"] == 1).all("network").values))
    inside = learned.isel(seed=np.flatnonzero((learned["at_bound"] == 0).all("network").values))

    def decide(share: Callable[..., Array], factor: float) -> Test:
        test = _ratio(learned, network, share, factor)
        return test if test.outcome != "fails" else _ratio(inside, network, share, factor)

    return over_readings(decide, share=SHARES, factor=FACTORS)


def _ratio(fits: xr.Dataset, network: str, share: Callable[..., Array], factor: float) -> Test:
    if fits.sizes["seed"] < 2:
        raise NotEnoughDataError(f"theory_fits: 2 seeds in which plain and {network} learned the pair, fits inside")
    shares = cast("xr.DataArray", np.log2((1 - fits["explained"].clip(min=0)).reduce(share, "curve")))
    ratio = shares.sel(network=network) - shares.sel(network="plain")
    expected = rf"$\log_2$ of $U$ over $U$ of the plain network at most $\log_2 {factor:g}$"
    return mean_within(ratio.values, -np.inf, np.log2(factor), expected=expected, reason=AS_WELL)


def _note(theory_fits: xr.Dataset, network: str) -> str:
    def median(data: str, kind: str) -> float:
        return float(theory_fits["unexplained"].sel(data=data, network=kind).median())

    alone = theory_fits.sel(data="two points", network=network)
    explained, border = alone["explained"].median("seed").values, float(alone["at_bound"].mean())
    return (
        f"Unexplained share, medians: {median('two points', network):.2g} against {median('two points', 'plain'):.2g} "
        f"of the plain network; median $R^2$ of $h, y, w$ {explained[0]:.2f}, {explained[1]:.2f}, {explained[2]:.2f}; "
        f"{100 * border:.0f} % of the fits end at the border of the search. On pairs of digits in a batch "
        f"{median('digits', network):.2g} against {median('digits', 'plain'):.2g}."
    )


def _theory(theory_fits: xr.Dataset, network: str) -> Verdict:
    """Two points alone, paired over seeds."""
    return Verdict.from_tests(_fit_against_plain(theory_fits, network), note=_note(theory_fits, network))


EXCHANGED = "a world in which this network has the fits of the plain one and the plain one has its fits"
THEORY: dict[str, Any] = {
    "where": "Question 1; eq. (7) of universality",
    "kind": "comparison",
    "origin": "ours",
}


@claim(
    "acr-theory-batch-norm",
    states="The effective two-point theory fits a network with batch normalization as well as the plain one.",
    control=false_world(EXCHANGED, exchange("network", "plain", "batch norm")),
    **THEORY,
)
def theory_with_batch_norm(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "batch norm")


@claim(
    "acr-theory-residual",
    states="The effective two-point theory fits a residual network as well as the plain one.",
    control=false_world(EXCHANGED, exchange("network", "plain", "residual")),
    **THEORY,
)
def theory_with_residual(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "residual")


@claim(
    "acr-theory-leaky",
    states="The effective two-point theory fits a leaky residual network as well as the plain one.",
    control=false_world(EXCHANGED, exchange("network", "plain", "leaky")),
    **THEORY,
)
def theory_with_leakage(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "leaky")


def _over_ranks(digits: xr.Dataset, network: str, decide: Callable[..., Test]) -> Verdict:
    """Decided over all readings of rank, with the ranks of a network in the note."""
    require(digits, "digits", seed=2, end=(*ENDS, HALF))
    tasks = [digits.sel(network=network, task=task) for task in digits["task"].values]
    return Verdict.from_tests(over_readings(decide, rank=RANKS), note=" ".join(_ranks_of(task) for task in tasks))


def _has_rank_of_task(digits: xr.Dataset, network: str) -> Verdict:
    """Rank at half depth over the task's in networks that learned and rest; the worse task carries the test."""
    tasks = [digits.sel(network=network, task=task) for task in digits["task"].values]
    return _over_ranks(digits, network, lambda rank: weakest([_against_task(task, rank) for task in tasks]))


def _more_than_plain(digits: xr.Dataset, network: str) -> Verdict:
    """Rank at half depth over the plain network's, in both tasks."""
    return _over_ranks(digits, network, partial(_against_plain, digits, network))


def _against_task(
    own: xr.Dataset, rank: Callable[[Array], float], region: tuple[float, float] = (-1, 1), reason: str = WITHIN
) -> Test:
    """Log2 of the rank over the task's."""
    ratios = cast("xr.DataArray", np.log2(counted(own["middle_values"], rank) / own["centered_task_rank"]))
    return _at_rest(ratios, _deciding(own), region, "rank over the task's", reason)


def _against_plain(digits: xr.Dataset, network: str, rank: Callable[[Array], float]) -> Test:
    """Log2 of the rank over the plain network's of the same seed; the less clear task carries the test."""
    tests = []
    for task in digits["task"].values:
        own, plain = (digits.sel(task=task, network=kind) for kind in (network, "plain"))
        over_plain = counted(own["middle_values"], rank) / counted(plain["middle_values"], rank)
        ratios = cast("xr.DataArray", np.log2(over_plain))
        deciding = _deciding(own) & _deciding(plain)
        tests.append(_at_rest(ratios, deciding, (0, np.inf), "rank over the plain network's", PAIRED))
    return weakest(tests)


def _deciding(own: xr.Dataset) -> np.ndarray:
    return ((own["learned"] == 1) & (own["at_rest"] == 1)).values


def _at_rest(ratios: xr.DataArray, deciding: np.ndarray, region: tuple[float, float], of: str, reason: str) -> Test:
    """Decided by seeds that learned and rest, more than half of all, if going on at the last pace turns nothing."""
    enough = deciding.sum() >= 2 and 2 * deciding.sum() > deciding.size
    low, high = region
    expected = rf"$\log_2$ of {of} in [{low:.3g}, {high:.3g}]"
    end, half = (ratios.sel(end=name).values[deciding if enough else slice(None)] for name in (ENDS[1], HALF))
    now, later = (
        mean_within(values, low, high, expected=expected, reason=reason)
        for values in (end, end + np.log2(LONGER) * (end - half))
    )
    same_side = now.outcome != "fails" or (cast("float", now.value) > low) == (cast("float", later.value) > low)
    if not enough:
        return _undecided(now, f"{deciding.sum()} of {deciding.size} networks have learned and rest")
    return now if now.outcome == later.outcome and same_side else _undecided(now, "still moving")


def _undecided(test: Test, why: str) -> Test:
    return replace(test, outcome="undecided", measured=f"{test.measured}, {why}", margin=1.0)


def _ranks_of(own: xr.Dataset) -> str:
    """Medians in words, of one task."""
    values = own["middle_values"].sel(end=ENDS[1])
    ranks = counted(own["middle_values"], RANKS["effective rank"]).median("seed")
    large = [float(counted(values, RANKS[f"values above {share} % of the largest"]).median()) for share in (1, 10)]
    return (
        f"{str(own['task'].values).capitalize()}: median effective rank without the mean at half depth "
        + ", ".join(f"{float(ranks.sel(end=end)):.1f} {end}" for end in (ENDS[0], HALF, ENDS[1]))
        + f"; {large[0]:g} singular values above 1 % of the largest, {large[1]:g} above 10 %. Of "
        f"{own.sizes['seed']} networks {int(own['learned'].sum())} have learned the task and "
        f"{int(own['at_rest'].sum())} are at rest."
    )


def _given_at_half_depth(source: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """The singular values of the trained outputs or of the inputs given out for those at half depth."""

    def spoil(digits: xr.Dataset) -> xr.Dataset:
        own, other = digits["middle_values"], digits[f"{source}_values"]
        other = other.sel(end=ENDS[1], drop=True) if "end" in other.dims else other
        return digits.assign(middle_values=other.broadcast_like(own).transpose(*own.dims))

    return spoil


AS_INPUTS = false_world(
    "networks whose layer at half depth still holds the images as they are", _given_at_half_depth("input")
)
AS_OUTPUTS = false_world("networks whose layer at half depth is already their output", _given_at_half_depth("output"))
RANKS_EXCHANGED = "a world in which this network has the ranks of the plain one and the plain one has its ranks"
BOTTLENECK: dict[str, Any] = {
    "where": "Question 2; Section 1.4 of leaky_resnets",
    "kind": "comparison",
    "origin": "ours",
}


@claim(
    "acr-bottleneck-plain",
    states="Trained to rest under weight decay, the plain network has the rank of the task at half depth, up to a "
    "factor of two.",
    control=AS_INPUTS,
    **BOTTLENECK,
)
def bottleneck_of_plain(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _has_rank_of_task(digits, "plain")


@claim(
    "acr-bottleneck-below",
    states="Trained to rest under weight decay, the plain network at half depth goes below the rank of ten classes.",
    control=AS_OUTPUTS,
    **BOTTLENECK,
)
def plain_goes_below_the_task(digits: xr.Dataset) -> Verdict:
    """The task of rank 9: a network of ReLU layers may tell many classes apart along few directions."""
    own, reason = digits.isel(task=[0]), "six of nine directions or fewer: two thirds"
    options: dict[str, Any] = {"region": (-np.inf, np.log2(BELOW)), "reason": reason}
    return _over_ranks(own, "plain", partial(_against_task, own.sel(network="plain").isel(task=0), **options))


@claim(
    "acr-bottleneck-batch-norm",
    states="Trained to rest under weight decay, the network with batch normalization has the rank of the task at half "
    "depth, up to a factor of two.",
    control=AS_INPUTS,
    **BOTTLENECK,
)
def bottleneck_with_batch_norm(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _has_rank_of_task(digits, "batch norm")


@claim(
    "acr-bottleneck-residual",
    states="Trained to rest under weight decay, the residual network has a higher rank at half depth than the plain "
    "network.",
    control=false_world(RANKS_EXCHANGED, exchange("network", "plain", "residual")),
    **BOTTLENECK,
)
def bottleneck_of_residual(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _more_than_plain(digits, "residual")


@claim(
    "acr-bottleneck-leaky",
    states="Trained to rest under weight decay, the leaky network has a higher rank at half depth than the plain "
    "network.",
    control=false_world(RANKS_EXCHANGED, exchange("network", "plain", "leaky")),
    **BOTTLENECK,
)
def bottleneck_of_leaky(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _more_than_plain(digits, "leaky")


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
    own = odd_batch.sel(network=network, end=ENDS[1])
    return own["norm_ratio"].isel(seed=np.flatnonzero(own["learned"].values == 1))


def _has_learned(odd_batch: xr.Dataset, network: str) -> bool:
    """More than half of its seeds, two at least."""
    learned = int(odd_batch["learned"].sel(network=network).sum())
    return learned >= 2 and 2 * learned > odd_batch.sizes["seed"]


def _learners(odd_batch: xr.Dataset, networks: tuple[str, ...]) -> str:
    counts, losses = odd_batch["learned"].sum("seed"), odd_batch["final_loss"].median("seed")
    return f"Learned, of {odd_batch.sizes['seed']} seeds (median loss): " + ", ".join(
        f"{kind} {int(counts.sel(network=kind))} ({float(losses.sel(network=kind)):.2g})" for kind in networks
    )


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


ODD: dict[str, Any] = {"where": "Question 3; Section III of bn_decomposed", "kind": "comparison", "origin": "ours"}
ODD_WORLD = "networks whose norms are those of recentered ones that have learned and have an odd point"


@claim(
    "acr-odd-before",
    states="None of the four networks has an odd point before training.",
    control={kind: false_world(ODD_WORLD, _odd_given_to(kind)) for kind in FOUR},
    **ODD,
)
def no_odd_point_before(odd_batch: xr.Dataset) -> Verdict:
    """Each network by itself."""
    tests: dict[str, Test] = {kind: _odd(_before(odd_batch, kind), there=False) for kind in FOUR}
    return Verdict.from_tests(tests)


@claim(
    "acr-odd-made",
    states="Those of the four networks that have learned have no odd point after training either.",
    control=false_world(ODD_WORLD, _odd_given_to(*FOUR)),
    **ODD,
)
def no_odd_point_after_learning(odd_batch: xr.Dataset) -> Verdict:
    """Networks of which more than half of the seeds have learned, these seeds; the worst network carries the test."""
    learned = tuple(kind for kind in FOUR if _has_learned(odd_batch, kind))
    if not learned:
        raise NotEnoughDataError("odd_batch: a network of which more than half of the seeds have learned")
    tests = [_odd(_after(odd_batch, kind), there=False) for kind in learned]
    return Verdict.from_tests(weakest(tests), note=f"{_learners(odd_batch, FOUR)}.")


def _rescaled(end: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Gives the norms with batch normalization in full out for those with recentering alone; after it, who learned too.

    Before it, who learned stays: a recentered network that diverged has no norms to be counted among the learned.
    """

    def spoil(odd_batch: xr.Dataset) -> xr.Dataset:
        recentered = odd_batch["network"] == "recentered"
        other = odd_batch[["norm_ratio", "learned"]].sel(network="batch norm", drop=True)
        own = recentered & (odd_batch["end"] == end)
        spoiled = odd_batch.assign(norm_ratio=odd_batch["norm_ratio"].where(~own, other["norm_ratio"]))
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
)
def odd_point_survives(odd_batch: xr.Dataset) -> Verdict:
    """Before, all seeds; after, those that have learned, more than half of all."""
    own = odd_batch.sel(network="recentered").isel(layer=-1)
    same = (own["odd_point"].isel(end=0) == own["odd_point"].isel(end=1)).values[own["learned"].values == 1]
    before, after = _odd(_before(odd_batch, "recentered"), True), _odd(_after(odd_batch, "recentered"), True)
    if not _has_learned(odd_batch, "recentered"):
        after = _undecided(after, "too few networks have learned")
    learners = _learners(odd_batch, ("recentered", "batch norm"))
    note = f"{learners}. Before and after the same point is odd in {same.sum()} of {same.size} that have learned."
    return Verdict.from_tests({"before": before, "after": after}, note=note)
