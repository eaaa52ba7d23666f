"""The three questions as claims; estimands, regions and their reasons stand in `experiments`, fixed before the runs."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.across_papers.methods.names import FOUR, middle_layer
from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, mean_within

TWICE = "a factor of two: differences below it are those between seeds of one network"


def _fit_against_plain(theory_fits: xr.Dataset, network: str) -> Test:
    """Mean over seeds of log2(U / U of the plain network) on the two points alone."""
    alone = theory_fits.sel(data="two points")
    learned = (alone["learned"].sel(network=["plain", network]) == 1).all("network")
    shares = np.log2(alone["unexplained"]).sel(seed=alone["seed"][learned.values])
    expected = "at most 1: at most twice the unexplained share of the plain network"
    if shares.sizes["seed"] < 2:
        measured = f"{shares.sizes['seed']} seeds in which both networks learned the pair"
        return Test("undecided", measured, expected, 1.0, TWICE)
    ratio = shares.sel(network=network) - shares.sel(network="plain")
    return mean_within(ratio.values, -np.inf, 1, expected=expected, reason=TWICE)


def _note(theory_fits: xr.Dataset, network: str) -> str:
    def median(data: str, kind: str) -> float:
        return float(theory_fits["unexplained"].sel(data=data, network=kind).median())

    explained = theory_fits["explained"].sel(data="two points", network=network).median("seed").values
    return (
        f"Measured: log2 of the ratio. Unexplained share, medians: {median('two points', network):.2g} against "
        f"{median('two points', 'plain'):.2g} of the plain network; median R^2 of h, y, w {explained[0]:.2f}, "
        f"{explained[1]:.2f}, {explained[2]:.2f}. On pairs of digits in a batch {median('digits', network):.2g} "
        f"against {median('digits', 'plain'):.2g}."
    )


def plain_instead(theory_fits: xr.Dataset) -> xr.Dataset:
    """Gives the plain network's unexplained shares out for those of all networks."""
    plain = theory_fits["unexplained"].sel(network="plain", drop=True)
    return theory_fits.assign(unexplained=xr.zeros_like(theory_fits["unexplained"]) + plain)


def constant_instead(theory_fits: xr.Dataset) -> xr.Dataset:
    """Puts each curve's mean in the place of the fitted theory, except in the plain network: U = 1."""
    plain = theory_fits["network"] == "plain"
    return theory_fits.assign(unexplained=theory_fits["unexplained"].where(plain, 1.0))


@claim(
    "acr-theory-batch-norm",
    where="Question 1; eq. (7) of universality",
    kind="comparison",
    states="The effective two-point theory fits a network with batch normalisation as well as the plain one.",
    data="theory_fits",
    control=wrong_formula(
        "the plain network's unexplained shares given out for those with batch normalisation", plain_instead
    ),
)
def theory_with_batch_norm(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return Verdict.from_tests(_fit_against_plain(theory_fits, "batch norm"), note=_note(theory_fits, "batch norm"))


@claim(
    "acr-theory-residual",
    where="Question 1; eq. (7) of universality",
    kind="comparison",
    states="The effective two-point theory fits a residual network as well as the plain one.",
    data="theory_fits",
    control=wrong_formula(
        "the plain network's unexplained shares given out for those of the residual one", plain_instead
    ),
)
def theory_with_residual(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return Verdict.from_tests(_fit_against_plain(theory_fits, "residual"), note=_note(theory_fits, "residual"))


@claim(
    "acr-theory-leaky",
    where="Question 1; eq. (7) of universality",
    kind="comparison",
    states="The effective two-point theory fits a leaky residual network as well as the plain one.",
    data="theory_fits",
    control=wrong_formula("the mean of each curve in the place of the fitted theory", constant_instead),
)
def theory_with_leakage(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return Verdict.from_tests(_fit_against_plain(theory_fits, "leaky"), note=_note(theory_fits, "leaky"))


def _bottleneck(digits: xr.Dataset, network: str) -> Verdict:
    """Effective rank without the mean at half depth over the task's, in both tasks."""
    one = digits.sel(network=network)
    found = one["centred_effective_rank"].sel(layer=middle_layer(digits["layer"].values), end="after training")
    tests = {
        f"{task.replace(' ', '_')}": mean_within(
            np.log2(found.sel(task=task) / one["centred_task_rank"].sel(task=task)).values,
            -1,
            1,
            expected=f"log2 of rank over {int(one['centred_task_rank'].sel(task=task))} within 1",
            reason="a factor of two: with a tail in the spectrum the effective rank exceeds the number of large values",
        )
        for task in digits["task"].values
    }
    ranks = one["centred_effective_rank"].sel(layer=middle_layer(digits["layer"].values)).median("seed")
    told = "; ".join(
        f"{task}: {float(ranks.sel(task=task, end='before training')):.1f} before, "
        f"{float(ranks.sel(task=task, end='after training')):.1f} after, training accuracy "
        f"{float(one['accuracy'].sel(task=task, end='after training').median()):.2f}"
        for task in digits["task"].values
    )
    return Verdict.from_tests(all_of(**tests), note=f"Median effective rank without the mean at half depth, {told}.")


def output_instead(digits: xr.Dataset) -> xr.Dataset:
    """Gives the rank of the outputs, which have learned the task, out for that at half depth."""
    rank, middle = digits["centred_effective_rank"], digits["layer"] == middle_layer(digits["layer"].values)
    return digits.assign(centred_effective_rank=rank.where(~middle, rank.sel(layer="output", drop=True)))


BOTTLENECK = {
    "where": "Question 2; Section 1.4 of leaky_resnets",
    "kind": "comparison",
    "data": "digits",
    "control": wrong_formula(
        "the rank of the outputs, which have learned the task, given out for that at half depth", output_instead
    ),
}


@claim(
    "acr-bottleneck-plain",
    states="In the plain network the representation at half depth has the rank of the task.",
    **BOTTLENECK,
)
def bottleneck_of_plain(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _bottleneck(digits, "plain")


@claim(
    "acr-bottleneck-batch-norm",
    states="With batch normalisation the representation at half depth has the rank of the task.",
    **BOTTLENECK,
)
def bottleneck_with_batch_norm(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _bottleneck(digits, "batch norm")


@claim(
    "acr-bottleneck-residual",
    states="In the residual network the representation at half depth has the rank of the task.",
    **BOTTLENECK,
)
def bottleneck_of_residual(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _bottleneck(digits, "residual")


@claim(
    "acr-bottleneck-leaky",
    states="In the leaky residual network the representation at half depth has the rank of the task.",
    **BOTTLENECK,
)
def bottleneck_of_leaky(digits: xr.Dataset) -> Verdict:
    """Tasks of ranks 9 and 2."""
    return _bottleneck(digits, "leaky")


def _odd(odd_batch: xr.Dataset, network: str, end: str, there: bool) -> Test:
    """Mean over seeds of log2(largest / second norm) in the last hidden layer, against 1."""
    ratio = odd_batch["norm_ratio"].sel(network=network, end=end).isel(layer=-1)
    low, high = (1, np.inf) if there else (-np.inf, 1)
    return mean_within(
        np.log2(ratio).values,
        low,
        high,
        expected=f"{'at least' if there else 'at most'} 1, the largest norm {'' if there else 'not '}twice the second",
        reason="the fixed point of this batch has a ratio beyond ten, a batch without an odd point one near 1",
    )


def odd_point_given_to_all(odd_batch: xr.Dataset) -> xr.Dataset:
    """Gives the recentred network's norms after training out for those of all networks, before and after."""
    ratio = odd_batch["norm_ratio"]
    odd = ratio.sel(network="recentred", end="after training", drop=True)
    return odd_batch.assign(norm_ratio=xr.zeros_like(ratio) + odd)


def rescaled_instead(odd_batch: xr.Dataset) -> xr.Dataset:
    """Gives the norms with batch normalisation in full out for those with recentring alone."""
    ratio, recentred = odd_batch["norm_ratio"], odd_batch["network"] == "recentred"
    return odd_batch.assign(norm_ratio=ratio.where(~recentred, ratio.sel(network="batch norm", drop=True)))


@claim(
    "acr-odd-before",
    where="Question 3; Section III of bn_decomposed",
    kind="comparison",
    states="None of the four networks has an odd point before training.",
    data="odd_batch",
    control=wrong_formula(
        "the norms of the trained network with recentring alone given out for those of all", odd_point_given_to_all
    ),
)
def no_odd_point_before(odd_batch: xr.Dataset) -> Verdict:
    """Last hidden layer, each network by itself."""
    return Verdict.from_tests(
        all_of(**{kind.replace(" ", "_"): _odd(odd_batch, kind, "before training", False) for kind in FOUR})
    )


@claim(
    "acr-odd-made",
    where="Question 3; Section III of bn_decomposed",
    kind="comparison",
    states="Training makes no odd point in any of the four networks.",
    data="odd_batch",
    control=wrong_formula(
        "the norms of the trained network with recentring alone given out for those of all", odd_point_given_to_all
    ),
)
def training_makes_no_odd_point(odd_batch: xr.Dataset) -> Verdict:
    """Last hidden layer, each network by itself."""
    losses = odd_batch["final_loss"].median("seed")
    told = ", ".join(f"{kind} {float(losses.sel(network=kind)):.2g}" for kind in FOUR)
    return Verdict.from_tests(
        all_of(**{kind.replace(" ", "_"): _odd(odd_batch, kind, "after training", False) for kind in FOUR}),
        note=f"Median loss after training, half the squared error: {told}.",
    )


@claim(
    "acr-odd-survives",
    where="Question 3; Section III of bn_decomposed",
    kind="comparison",
    states="The odd point of the network with recentring alone survives training.",
    data="odd_batch",
    control=wrong_formula(
        "the norms with batch normalisation in full given out for those with recentring alone", rescaled_instead
    ),
)
def odd_point_survives(odd_batch: xr.Dataset) -> Verdict:
    """Last hidden layer, before and after."""
    one = odd_batch.sel(network="recentred")
    same = (one["odd_point"].isel(layer=-1, end=0) == one["odd_point"].isel(layer=-1, end=1)).values
    return Verdict.from_tests(
        all_of(
            before=_odd(odd_batch, "recentred", "before training", True),
            after=_odd(odd_batch, "recentred", "after training", True),
        ),
        note=f"The same point is odd before and after in {same.sum()} of {same.size} seeds. Such a deep network hardly "
        f"learns: its median loss ends at {float(one['final_loss'].median()):.2g}, against "
        f"{float(odd_batch['final_loss'].sel(network='batch norm').median()):.2g} with batch normalisation in full.",
    )
