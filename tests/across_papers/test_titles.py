"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import numpy as np
import pytest
import xarray as xr
from tests.titled import drawn, made_up, title_of

from repdyn.across_papers.figures import _near_the_task
from repdyn.base.wording import number


def test_question_1_names_the_networks_that_the_theory_misses():
    data = made_up("across_papers", "theory_fits")
    unexplained = data["theory_fits"]["unexplained"]
    for plain, batch_norm, others, words in (
        (0.1, 0.3, 0.15, "only batch norm left"),
        (0.4, 0.3, 0.5, "none of 3 left"),
        (0.1, 0.3, 0.4, "all 3 left"),
        (np.nan, np.nan, np.nan, ": ? left"),
    ):
        unexplained[:] = others
        unexplained.loc[{"network": "plain"}] = plain
        unexplained.loc[{"network": "batch norm"}] = batch_norm
        figure = drawn("across_papers", "theory_fits", data)
        assert words in figure.repdyn["title"]
        assert "over twice as much unexplained as plain" in figure.repdyn["title"]
        assert f"{number(plain, '.0%')} (plain), {number(batch_norm, '.0%')} (batch norm)" in figure.repdyn["caption"]


def test_question_2_names_the_networks_that_met_the_rank_of_every_task():
    data = made_up("across_papers", "bottlenecks")
    digits = data["digits"]
    start, end = "Question 2: at half depth ", " met the task's rank, to a factor of 2"
    kinds = [str(kind) for kind in digits["network"].values]
    digits["centered_task_rank"][:] = 4
    for flag in ("learned", "at_rest"):
        digits[flag][:] = 1
    rank = digits["centered_effective_rank"]
    for tasks, first, others, words in (
        (digits["task"], 7.9, 8.1, f"only {kinds[0]}"),
        (digits["task"][-1:], 1.9, 2.1, f"only {', '.join(kinds[1:])}"),
    ):
        rank[:] = others
        rank.loc[{"network": kinds[0], "task": tasks}] = first
        rank.loc[{"end": "before training"}] = 100
        assert title_of("across_papers", "bottlenecks", data) == f"{start}{words}{end}"
    rank[:] = np.nan
    assert title_of("across_papers", "bottlenecks", data) == f"{start}?{end}"


def test_question_2_names_no_network_of_which_too_few_are_at_rest_and_counts_no_other():
    data = made_up("across_papers", "bottlenecks")
    digits = data["digits"]
    kinds = [str(kind) for kind in digits["network"].values]
    seeds = digits.sizes["seed"]
    digits["centered_task_rank"][:] = 4
    digits["centered_effective_rank"][:] = 4
    digits["learned"][:], digits["at_rest"][:] = 1, 1
    digits["at_rest"].loc[{"network": kinds[0], "seed": digits["seed"][: seeds - seeds // 2]}] = 0
    assert f"only {', '.join(kinds[1:])} met" in title_of("across_papers", "bottlenecks", data)
    digits["at_rest"][:] = 1
    digits["at_rest"].loc[{"seed": digits["seed"][0]}] = 0
    digits["centered_effective_rank"].loc[{"seed": digits["seed"][0]}] = 1e6
    title = title_of("across_papers", "bottlenecks", data)
    assert ("all 4 met" if seeds > 2 else "none of 4 met") in title


@pytest.mark.parametrize("flag", ["learned", "at_rest"])
def test_question_2_takes_means_over_seeds_that_learned_and_rest_before_both_are_compared(flag):
    """Ranks 2, 2 and 8 of three of five seeds have a mean of 4 and a median of 2; the others have neither."""
    names = ["layers.0", "layers.1", "output"]
    rank = np.full((2, 2, 2, 5, 3), 100.0)
    rank[..., 1] = 5.0
    rank[1, 1, :, :, 1] = [2.1, 2.1, 9.3, 1e6, 1e6]  # 4.5 over 9 is half, 2.1 is not; of the other task 9
    digits = xr.Dataset(
        {
            "centered_effective_rank": (("end", "network", "task", "seed", "layer"), rank),
            "centered_task_rank": (("task", "network"), np.array([[8.9, 8.9], [4.0, 4.0]])),
            **{name: (("task", "network", "seed"), np.ones((2, 2, 5), int)) for name in ("learned", "at_rest")},
        },
        {"end": ["before training", "after training"], "network": ["plain", "leaky"], "layer": names},
    )
    digits[flag][:, 1, 3:] = 0
    digits["centered_effective_rank"][1, 1, :, :, 0] = 1e-3
    middle = digits.isel(layer=[1, 1, 2]).assign_coords(layer=names)  # two hidden layers, of which either is half depth
    assert _near_the_task(middle) == "all 2"
    digits[flag][0, 1, 2:] = 0  # two of five
    assert _near_the_task(digits.isel(layer=[1, 1, 2]).assign_coords(layer=names)) == "only plain"


def test_question_3_names_the_networks_with_an_odd_point_at_both_ends():
    data = made_up("across_papers", "odd_points")
    batch = data["odd_batch"]
    kinds = [str(kind) for kind in batch["network"].values]
    batch["learned"][:] = 1
    batch["norm_ratio"][:] = 1.1
    batch["norm_ratio"].loc[{"network": kinds[0], "end": "before training", "layer": batch["layer"][-1]}] = 6
    start = "Question 3, odd points: "
    title = title_of("across_papers", "odd_points", data)
    assert title == f"{start}only {kinds[0]} before training, none of {len(kinds)} after"
    batch["norm_ratio"][:] = 2.1
    batch["learned"].loc[{"network": kinds[1]}] = 0
    title = title_of("across_papers", "odd_points", data)
    assert title == f"{start}all {len(kinds)} before training, all {len(kinds) - 1} after"
