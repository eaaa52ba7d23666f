"""The three questions as claims of our own; estimands, regions and their reasons stand in `experiments`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from repdyn.across_papers.methods.names import ENDS, FOUR, HALF, middle_layer
from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.verdicts import Test, Verdict, all_of, mean_within, weakest

TWICE = "a factor of two: differences below it are those between seeds of one network"
UNTRAINED_LOSS = 0.5  # half the squared error of an output near zero against a one-hot target
LEARNED = UNTRAINED_LOSS / 2


def _fit_against_plain(theory_fits: xr.Dataset, network: str) -> Test:
    """Mean over seeds of log2(U / U of the plain network) on the two points alone.

    A fit that ends at the border of its search bounds U from above only, so it can confirm but not refute: where any
    seed of the network has one and the test fails, the test of the other seeds decides.
    """
    alone = theory_fits.sel(data="two points")
    learned = (alone["learned"].sel(network=["plain", network]) == 1).all("network")
    test = _ratio(alone.sel(seed=alone["seed"][learned.values]), network)
    if test.outcome != "fails":
        return test
    inside = learned & (alone["at_bound"].sel(network=["plain", network]) == 0).all("network")
    return _ratio(alone.sel(seed=alone["seed"][inside.values]), network)


def _ratio(fits: xr.Dataset, network: str) -> Test:
    if fits.sizes["seed"] < 2:
        raise NotEnoughDataError(f"theory_fits: 2 seeds in which plain and {network} learned the pair, fits inside")
    shares = np.log2(fits["unexplained"])
    ratio = shares.sel(network=network) - shares.sel(network="plain")
    expected = r"$\log_2$ of $U$ over $U$ of the plain network at most 1"
    return mean_within(ratio.values, -np.inf, 1, expected=expected, reason=TWICE)


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


def _other_fits(network: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Other unexplained shares: where the claim passes, 1, that of a curve's mean; else the plain network's."""

    def spoil(theory_fits: xr.Dataset) -> xr.Dataset:
        shares, own = theory_fits["unexplained"], theory_fits["network"] == network
        fails = _fit_against_plain(theory_fits, network).outcome == "fails"
        return theory_fits.assign(
            unexplained=shares.where(~own, shares.sel(network="plain", drop=True) if fails else 1.0)
        )

    return spoil


OTHER_FITS = (
    "a theory that explains no more than the mean of a curve or, where the claim fails, as much as in the plain one"
)
THEORY = {
    "where": "Question 1; eq. (7) of universality",
    "kind": "comparison",
    "origin": "ours",
    "data": "theory_fits",
}


@claim(
    "acr-theory-batch-norm",
    states="The effective two-point theory fits a network with batch normalization as well as the plain one.",
    control=false_world(OTHER_FITS, _other_fits("batch norm")),
    **THEORY,
)
def theory_with_batch_norm(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "batch norm")


@claim(
    "acr-theory-residual",
    states="The effective two-point theory fits a residual network as well as the plain one.",
    control=false_world(OTHER_FITS, _other_fits("residual")),
    **THEORY,
)
def theory_with_residual(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "residual")


@claim(
    "acr-theory-leaky",
    states="The effective two-point theory fits a leaky residual network as well as the plain one.",
    control=false_world(OTHER_FITS, _other_fits("leaky")),
    **THEORY,
)
def theory_with_leakage(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "leaky")


def _bottleneck(digits: xr.Dataset, network: str) -> Verdict:
    """Effective rank without the mean at half depth over the task's; the task that fits it less carries the test."""
    require(digits, "digits", seed=2, end=(*ENDS, HALF))
    own = digits.sel(network=network, layer=middle_layer(digits["layer"].values))
    ratios = np.log2(own["centered_effective_rank"] / own["centered_task_rank"])
    test = weakest([_settled(ratios.sel(task=task)) for task in digits["task"].values])
    ranks = own["centered_effective_rank"].median("seed")
    ranks_by_task = "; ".join(
        f"{task}: " + ", ".join(f"{float(ranks.sel(task=task, end=end)):.1f} {end}" for end in (ENDS[0], HALF, ENDS[1]))
        for task in digits["task"].values
    )
    return Verdict.from_tests(test, note=f"Median effective rank without the mean at half depth, {ranks_by_task}.")


def _settled(ratios: xr.DataArray) -> Test:
    """Decided where ten times the training, at the pace of the last doubling, does not change the outcome."""
    end, half = (ratios.sel(end=name).values for name in (ENDS[1], HALF))
    now, later = (
        mean_within(values, -1, 1, expected=r"$\log_2$ of rank over the task's between -1 and 1", reason=RANKS)
        for values in (end, end + np.log2(10) * (end - half))
    )
    same_side = now.outcome != "fails" or (now.value > 0) == (later.value > 0)
    return now if now.outcome == later.outcome and same_side else _undecided(now)


def _undecided(test: Test) -> Test:
    return replace(test, outcome="undecided", measured=f"{test.measured}, still moving", margin=1.0)


RANKS = "a factor of two: with a tail in the spectrum the effective rank exceeds the number of large values"


def _other_ranks(network: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Gives the images' ranks out for those at half depth where the claim passes, else the outputs', which fit."""

    def spoil(digits: xr.Dataset) -> xr.Dataset:
        source = "output" if _bottleneck(digits, network).printed.outcome == "fails" else "input"
        rank, middle = digits["centered_effective_rank"], digits["layer"] == middle_layer(digits["layer"].values)
        return digits.assign(
            centered_effective_rank=rank.where(~middle, rank.sel(layer=source, end=ENDS[1], drop=True))
        )

    return spoil


OTHER_RANKS = "networks whose rank at half depth is that of the images or, where the claim fails, of the outputs"
BOTTLENECK = {
    "where": "Question 2; Section 1.4 of leaky_resnets",
    "kind": "comparison",
    "origin": "ours",
    "data": "digits",
}


@claim(
    "acr-bottleneck-plain",
    states="In the plain network the representation at half depth has the rank of the task.",
    control=false_world(OTHER_RANKS, _other_ranks("plain")),
    **BOTTLENECK,
)
def bottleneck_of_plain(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _bottleneck(digits, "plain")


@claim(
    "acr-bottleneck-batch-norm",
    states="With batch normalization the representation at half depth has the rank of the task.",
    control=false_world(OTHER_RANKS, _other_ranks("batch norm")),
    **BOTTLENECK,
)
def bottleneck_with_batch_norm(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _bottleneck(digits, "batch norm")


@claim(
    "acr-bottleneck-residual",
    states="In the residual network the representation at half depth has the rank of the task.",
    control=false_world(OTHER_RANKS, _other_ranks("residual")),
    **BOTTLENECK,
)
def bottleneck_of_residual(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _bottleneck(digits, "residual")


@claim(
    "acr-bottleneck-leaky",
    states="In the leaky residual network the representation at half depth has the rank of the task.",
    control=false_world(OTHER_RANKS, _other_ranks("leaky")),
    **BOTTLENECK,
)
def bottleneck_of_leaky(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _bottleneck(digits, "leaky")


def _odd(odd_batch: xr.Dataset, network: str, end: str, there: bool) -> Test:
    """Mean over seeds of log2(largest / second norm) in the last hidden layer, against 1."""
    ratio = odd_batch["norm_ratio"].sel(network=network, end=end).isel(layer=-1)
    low, high = (1, np.inf) if there else (-np.inf, 1)
    expected = f"log2 of largest over second norm at {'least' if there else 'most'} 1"
    reason = "the fixed point of this batch has a ratio beyond ten, a batch without an odd point one near 1"
    return mean_within(np.log2(ratio).values, low, high, expected=expected, reason=reason)


def _has_learned(odd_batch: xr.Dataset, network: str) -> bool:
    return float(odd_batch["final_loss"].sel(network=network).median()) <= LEARNED


def _losses(odd_batch: xr.Dataset, networks: tuple[str, ...]) -> str:
    losses = odd_batch["final_loss"].median("seed")
    return ", ".join(f"{kind} {float(losses.sel(network=kind)):.2g}" for kind in networks)


def _odd_given_to(*networks: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Gives the recentered network's norms after training out for those of other networks, before and after."""

    def spoil(odd_batch: xr.Dataset) -> xr.Dataset:
        ratio = odd_batch["norm_ratio"]
        odd = ratio.sel(network="recentered", end=ENDS[1], drop=True)
        return odd_batch.assign(norm_ratio=ratio.where(~ratio["network"].isin(networks), odd))

    return spoil


ODD = {"where": "Question 3; Section III of bn_decomposed", "kind": "comparison", "origin": "ours", "data": "odd_batch"}
ODD_WORLD = "networks whose norms are those with recentering alone"


@claim(
    "acr-odd-before",
    states="None of the four networks has an odd point before training.",
    control={kind: false_world(ODD_WORLD, _odd_given_to(kind)) for kind in FOUR},
    **ODD,
)
def no_odd_point_before(odd_batch: xr.Dataset) -> Verdict:
    """Last hidden layer, each network by itself."""
    return Verdict.from_tests(
        all_of(**{kind.replace(" ", "_"): _odd(odd_batch, kind, ENDS[0], False) for kind in FOUR})
    )


@claim(
    "acr-odd-made",
    states="Training makes no odd point in those of the four networks that learn.",
    control=false_world(ODD_WORLD, _odd_given_to(*FOUR)),
    **ODD,
)
def training_makes_no_odd_point(odd_batch: xr.Dataset) -> Verdict:
    """Last hidden layer of the networks whose loss has at least halved; the worst of them carries the test."""
    learned = tuple(kind for kind in FOUR if _has_learned(odd_batch, kind))
    if not learned:
        raise NotEnoughDataError(f"odd_batch: a network whose loss falls below {LEARNED:g}, half of its start")
    tests = [_odd(odd_batch, kind, ENDS[1], False) for kind in learned]
    note = f"Learned: {', '.join(learned)}. Median loss after training, 0.5 before: {_losses(odd_batch, FOUR)}."
    return Verdict.from_tests(weakest(tests), note=note)


def _rescaled(end: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Gives the norms with batch normalization in full out for those with recentering alone, and its losses."""

    def spoil(odd_batch: xr.Dataset) -> xr.Dataset:
        own = (odd_batch["network"] == "recentered") & (odd_batch["end"] == end)
        ratio, loss = odd_batch["norm_ratio"], odd_batch["final_loss"]
        rescaled = ratio.sel(network="batch norm", drop=True)
        loss = loss.where(loss["network"] != "recentered", loss.sel(network="batch norm", drop=True))
        return odd_batch.assign(norm_ratio=ratio.where(~own, rescaled), final_loss=loss)

    return spoil


@claim(
    "acr-odd-survives",
    states="The odd point of the network with recentering alone survives training that learns.",
    control={
        name: false_world("a network whose norms are those with batch normalization in full", _rescaled(end))
        for name, end in zip(("before", "after"), ENDS, strict=True)
    },
    **ODD,
)
def odd_point_survives(odd_batch: xr.Dataset) -> Verdict:
    """Last hidden layer, before and after; undecided while the network has not learned."""
    own = odd_batch.sel(network="recentered")
    same = (own["odd_point"].isel(layer=-1, end=0) == own["odd_point"].isel(layer=-1, end=1)).values
    before, after = (_odd(odd_batch, "recentered", end, True) for end in ENDS)
    note = (
        f"The same point is odd before and after in {same.sum()} of {same.size} seeds. Median loss after training, 0.5 "
        f"before: {_losses(odd_batch, ('recentered', 'batch norm'))}."
    )
    if not _has_learned(odd_batch, "recentered"):
        after = _undecided(after)
        note += " This network has not learned, so that its odd point survives learning is not decided."
    return Verdict.from_tests(all_of(before=before, after=after), note=note)
