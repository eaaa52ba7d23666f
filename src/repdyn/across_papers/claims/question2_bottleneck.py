"""Question 2: ranks at half depth after training to rest under weight decay."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import xarray as xr

from repdyn.across_papers.claims.undecided import undecided
from repdyn.across_papers.methods.names import ENDS, HALF
from repdyn.across_papers.methods.ranks import RANKS, counted
from repdyn.base.arrays import Array
from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, weakest

WITHIN = "a factor of two: with a tail in the spectrum a rank exceeds the number of large values"
BELOW = 2 / 3
PAIRED = "seeds are paired: any mean above zero is a higher rank"
LONGER = 10  # times the steps: a rank may go on so long at its last pace


def _over_ranks(digits: xr.Dataset, network: str, decide: Callable[..., Test]) -> Verdict:
    """Decided over all readings of rank, with the ranks of a network as facts."""
    require(digits, "digits", seed=2, end=(*ENDS, HALF))
    tasks = [digits.sel(network=network, task=task) for task in digits["task"].values]
    facts = {name: value for task in tasks for name, value in _ranks_of(task).items()}
    return Verdict.from_tests(over_readings(decide, rank=RANKS), facts={"networks": digits.sizes["seed"], **facts})


def _has_rank_of_task(digits: xr.Dataset, network: str) -> Verdict:
    """Rank at half depth over the task's in networks that learned and rest; the worse task carries the test."""
    tasks = [digits.sel(network=network, task=task) for task in digits["task"].values]
    return _over_ranks(digits, network, lambda rank: weakest([_against_task(task, rank) for task in tasks]))


def _more_than_plain(digits: xr.Dataset, network: str) -> Verdict:
    """Rank at half depth over the plain network's, in both tasks."""
    return _over_ranks(digits, network, partial(_against_plain, digits, network))


def _against_task(
    runs: xr.Dataset, rank: Callable[[Array], float], region: tuple[float, float] = (-1, 1), reason: str = WITHIN
) -> Test:
    """Log2 of the rank over the task's."""
    ratios = cast("xr.DataArray", np.log2(counted(runs["middle_values"], rank) / runs["centered_task_rank"]))
    return _at_rest(ratios, _deciding(runs), region, "rank over the task's", reason)


def _against_plain(digits: xr.Dataset, network: str, rank: Callable[[Array], float]) -> Test:
    """Log2 of the rank over the plain network's of the same seed; the less clear task carries the test."""
    tests = []
    for task in digits["task"].values:
        runs, plain = (digits.sel(task=task, network=kind) for kind in (network, "plain"))
        over_plain = counted(runs["middle_values"], rank) / counted(plain["middle_values"], rank)
        ratios = cast("xr.DataArray", np.log2(over_plain))
        deciding = _deciding(runs) & _deciding(plain)
        tests.append(_at_rest(ratios, deciding, (0, np.inf), "rank over the plain network's", PAIRED))
    return weakest(tests)


def _deciding(runs: xr.Dataset) -> np.ndarray:
    return ((runs["learned"] == 1) & (runs["at_rest"] == 1)).values


def _at_rest(ratios: xr.DataArray, deciding: np.ndarray, region: tuple[float, float], of: str, reason: str) -> Test:
    """Decided by seeds that learned and rest, if these are most and ten times the training would change nothing."""
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
        return undecided(now, f"{deciding.sum()} of {deciding.size} networks have learned and rest")
    return now if now.outcome == later.outcome and same_side else undecided(now, "still moving")


def _ranks_of(runs: xr.Dataset) -> dict[str, float]:
    """Medians and counts of one task."""
    task, values = str(runs["task"].values), runs["middle_values"].sel(end=ENDS[1])
    ranks = counted(runs["middle_values"], RANKS["effective rank"]).median("seed")
    facts = {
        f"{task}: median effective rank at half depth, {end}": float(ranks.sel(end=end))
        for end in (ENDS[0], HALF, ENDS[1])
    }
    for share in (1, 10):
        large = counted(values, RANKS[f"values above {share} % of the largest"]).median()
        facts[f"{task}: median number of singular values above {share} % of the largest"] = float(large)
    facts[f"{task}: networks that have learned"] = int(runs["learned"].sum())
    facts[f"{task}: networks at rest"] = int(runs["at_rest"].sum())
    return facts


def _given_at_half_depth(source: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """The singular values of the trained outputs or of the inputs given out for those at half depth."""

    def spoil(digits: xr.Dataset) -> xr.Dataset:
        runs, other = digits["middle_values"], digits[f"{source}_values"]
        other = other.sel(end=ENDS[1], drop=True) if "end" in other.dims else other
        return digits.assign(middle_values=other.broadcast_like(runs).transpose(*runs.dims))

    return spoil


AS_INPUTS = false_world(
    "networks whose layer at half depth still holds the images as they are", _given_at_half_depth("input")
)
AS_OUTPUTS = false_world("networks whose layer at half depth is already their output", _given_at_half_depth("output"))
RANKS_EXCHANGED = "a dataset in which this network has the ranks of the plain one and the plain one has its ranks"
BOTTLENECK: dict[str, Any] = {
    "where": "Question 2; Section 1.4 of leaky_resnets",
    "kind": "comparison",
    "origin": "ours",
    "assumes": "sixty digits in units of their own span, targets of rank 9 and 2, one depth, width, initial scale and "
    "weight decay, momentum, rates chosen on the loss; seeds that have learned and rest",
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
    runs, reason = digits.isel(task=[0]), "six of nine directions or fewer: two thirds"
    options: dict[str, Any] = {"region": (-np.inf, np.log2(BELOW)), "reason": reason}
    return _over_ranks(runs, "plain", partial(_against_task, runs.sel(network="plain").isel(task=0), **options))


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
