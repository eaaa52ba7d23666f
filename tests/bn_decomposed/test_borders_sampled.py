"""Sampled claims: intervals that end just inside and just outside of a region, at the false alarm that all cells share.

The ends are computed here, from Student's, the beta and the chi-square distribution: of several cells each has its part
of the false alarm of 1e-3, so an interval at the whole of it would end too early.
"""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.bn_decomposed.deciding import CLAIMS, on, outcome
from tests.bn_decomposed.made_up_layers import at_rest, clusters, combinations, deep, layers, longest, moments, rests
from tests.bn_decomposed.made_up_theorems import cells, hexagon, limits, ranks, rows, stalled, survivors, tails, waiting
from tests.made_up import FALSE_ALARM, HOLDS, REFUTED, UNDECIDED, changed

from repdyn.base.errors import NotEnoughDataError
from repdyn.bn_decomposed.theory.full_rank import full_rank_tail_bound, geometric_sum_tail
from repdyn.bn_decomposed.theory.kernel import arccos_kernel

DRAWS = 4000
HALF = arccos_kernel(np.array([0.5]))[0]
LAST = (1, 2, slice(None), -1)  # Gaussian points, the largest batch, the last layer
ROWS = rows().isel(batch=[0, 0, 1, 1], wait_batch=[0, 0])


def standardized(n):
    """So many values of mean 0 and standard deviation 1."""
    values = np.linspace(-1, 1, n)
    return values / values.std(ddof=1)


def around(boundary, draws, cells, distance, spread):
    """Samples whose interval, of one cell of so many, ends at the boundary where the distance is 1 or -1."""
    half = stats.t.ppf(1 - FALSE_ALARM / cells / 2, draws - 1) * spread / np.sqrt(draws)
    return boundary + distance * half + spread * standardized(draws)


def times(factor):
    return lambda x: factor * x


def plus(offset):
    return lambda x: offset + x


def of_limit(x):
    """Angles in the cluster at these binary logarithms over 20 degrees, images and Gaussian points."""
    return 20 * 2 ** x.reshape(2, 12)


def at_zero(x):
    """Points at zero of fifty where the cluster is below the mean, if a tenth is where it is above."""
    return 50 * (0.1 + x[:, None])


def off(x):
    """Angles that are off the one that is there."""
    return lambda angle: angle.mean() + x


ODD, CLUSTER, ALL = "odd point sampled", "cluster sampled", slice(None)
FIRST, SECOND = (0, ALL, 0), (0, ALL, 1)  # columns of the waits
FREQUENCY = "frequency minus probability"
SAMPLES = {  # claim: datasets, draws, cells, spread
    "bnd-eq98": (on(moments()), 16, 1, 1e-3),
    "bnd-eq111": (on(moments()), 16, 3, 1e-3),
    "bnd-thm13-norm": (on(layers()), 16, 4, 1e-3),
    "bnd-thm13-EX": (on(layers()), 16, 4, 1e-3),
    "bnd-thm14-1-2": (on(layers()), 16, 4, 1e-3),
    "bnd-thm14-4": (on(clusters(), layers()), 16, 4, 1e-3),
    "bnd-eq8-closed": (on(moments(), rests()), 16, 2, 1e-3),
    "bnd-fig3": (on(deep()), 12, 4, 1e-2),
    "bnd-finite-width": (on(deep()), 24, 2, 0.1),
    "bnd-sec3-signs": (on(deep()), 12, 4, 0.02),
    "bnd-fig5-rest": (on(at_rest(0.0)), 12, 2, 0.1),
    "bnd-fig1-others": (on(combinations(0.9)), 12, 1, 1e-2),
    "bnd-thm3-mean": (on(ROWS), DRAWS, 2, 0.5),
    "bnd-cor4": (on(ROWS, hexagon()), DRAWS, 2, 0.5),
    "bnd-e4-columns": (on(ROWS), DRAWS, 4, 0.5),
    "bnd-e4-columns, first": (on(rows()), DRAWS, 1, 0.5),
    "bnd-lem2-prob": (on(stalled()), 50, 1, 1e-2),
    "bnd-sec1-rank": (on(ranks()), 12, 1, 1e-2),
}
MEANS = [  # claim, part, variable, place, samples to values, boundary, side on which the claim allows values
    ("bnd-eq98", "sampled", "square", ALL, np.array, 1.05, -1),
    ("bnd-eq98", "sampled", "square", ALL, np.array, 0.95, 1),
    ("bnd-eq111", "sampled", "inner", 1, plus(HALF), 0.05, -1),
    ("bnd-eq111", "sampled", "inner", 1, plus(HALF), -0.05, 1),
    ("bnd-thm13-norm", ODD, "odd_square", (0, 1, 1), np.array, 1.05, -1),
    ("bnd-thm13-norm", CLUSTER, "cluster_square", (0, 1, 0), np.array, 0.95, 1),
    ("bnd-thm13-EX", ODD, "odd_square", (0, 1, 1), np.array, 0.95, 1),
    ("bnd-thm13-EX", CLUSTER, "cluster_square", (0, 1, 0), np.array, 1.05, -1),
    ("bnd-thm14-1-2", ODD, "odd_square", (1, 1, 1), np.array, 1.05, -1),
    ("bnd-thm14-1-2", CLUSTER, "cluster_square", (1, 1, 0), np.array, 0.95, 1),
    ("bnd-thm14-1-2", "norm of the odd point", "odd_norm", (1, 0, 0), times(0.7), 1.05, -1),
    ("bnd-thm14-1-2", "norm of the cluster", "cluster_norm", (1, 0, 1), times(0.9), 0.95, 1),
    ("bnd-thm14-4", "sampled over closed form", "pair_factor", (1, 1, 1), times(0.9), 1.05, -1),
    ("bnd-eq8-closed", "closed form minus sampled", "recentered_sampled", 1, plus(0.3), 0.05, -1),
    ("bnd-fig3", "second over first norm", "second_to_first", LAST, np.array, 0.25, -1),
    ("bnd-fig3", "odd angle", "odd_angle", LAST, np.array, 85, 1),
    ("bnd-fig3", "odd angle", "odd_angle", LAST, np.array, 95, -1),
    ("bnd-fig3", "cluster angle", "intra_angle", LAST, np.array, 45, -1),
    ("bnd-finite-width", "", "intra_angle", (ALL, 2, ALL, -1), of_limit, 1, -1),
    ("bnd-finite-width", "", "intra_angle", (ALL, 1, ALL, -1), of_limit, -1, 1),
    ("bnd-sec3-signs", "", "zeros_if_cluster_below", (1, 2), at_zero, 0.05, 1),
    ("bnd-fig5-rest", "root mean square", "mean_angle", (0, 1), off, 1, -1),
    ("bnd-fig5-rest", "batch normalization", "mean_angle", (1, 0), off, -1, 1),
    ("bnd-fig1-others", "", "second_to_first", (0, 0, 1, ALL, -1), np.array, 0.5, 1),
    ("bnd-thm3-mean", "", "y", 1, times(10), 1, -1),
    ("bnd-cor4", "mean over bound", "y", -1, times(10), 1, -1),
    ("bnd-e4-columns", "later waits", "wait", (1, ALL, 2), times(5), 1, -1),
    ("bnd-e4-columns", "all columns", "y", 1, times(10), 1, -1),
    ("bnd-e4-columns, first", "first wait", "wait", (0, ALL, 0), times(2), 1.1, -1),
    ("bnd-e4-columns, first", "first wait", "wait", (0, ALL, 0), times(2), 0.9, 1),
    ("bnd-lem2-prob", FREQUENCY, "frequency", 0, plus(0.2), 0.02, -1),
    ("bnd-lem2-prob", FREQUENCY, "frequency", 0, plus(0.2), -0.02, 1),
    ("bnd-sec1-rank", "batch rank over its limit", "rank", (0, 0, ALL, 0), times(5), 0.95, 1),
]


def decided(verdict, part):
    """Outcome of a part of the form that decides."""
    return outcome(verdict, "corrected" if verdict.corrected else "printed", part)


@pytest.mark.parametrize(("name", "part", "variable", "place", "to", "boundary", "within"), MEANS)
def test_the_interval_of_one_cell_ends_just_inside_or_outside(name, part, variable, place, to, boundary, within):
    datasets, draws, cells, spread = SAMPLES[name]
    outcomes = []
    for distance in (1.01, 0.99, -0.99, -1.01):
        values = to(around(boundary, draws, cells, within * distance, spread))
        verdict = CLAIMS[name.split(",")[0]](*changed(datasets, place, **{variable: values}))
        outcomes.append(decided(verdict, part))
    assert outcomes == ["passes", "undecided", "undecided", "fails"]


def share_ends(limit, trials, cells):
    """Hits with which the interval lies just below a limit and just above it."""
    rate = FALSE_ALARM / cells
    hits = np.arange(1, trials)
    low, high = stats.beta.ppf(rate / 2, hits, trials - hits + 1), stats.beta.ppf(1 - rate / 2, hits + 1, trials - hits)
    return int(hits[high < limit].max()), int(hits[low > limit].min())


def hit(number, trials, value=1.0, other=0.0):
    return np.where(np.arange(trials) < number, value, other)


SIZES = limits().assign_coords(points=("case", [10] * 200 + [20] * 200))
TAIL, LATE = on(tails(), survivors(0.0, 20)), float(geometric_sum_tail(18, 1 / 6, 3))
LATER = 1 - float(full_rank_tail_bound(2.05, 1 / 6, 3, "b"))
FARTHEST, LONGEST = "farthest at infinite width", "longest where twice as long"
# claim, part, datasets, variable, place, its value on a hit and else, limit, whether above it, trials, cells
SHARES = [
    ("bnd-thm11-which", "", on(SIZES), "odd_is_last", slice(200, None), (1, 0), 0.5, True, 200, 2),
    ("bnd-remark-largest", FARTHEST, on(longest()), "limit_odd", 1, (2, 0), 0.5, True, 400, 3),
    ("bnd-remark-largest", LONGEST, on(longest()), "odd", (2, 0), (1, 0), 0.5, True, 400, 1),
    ("bnd-thm3-tail", "below geometric", TAIL, "y", 0, (20, 3), LATE, False, DRAWS, 16),  # from 3 to 18 rows
    ("bnd-thm3-tail", "below 7b", TAIL, "y", 0, (40, 3), LATER, False, DRAWS, 1),
    ("bnd-yt-dominated", "", on(waiting(0.0)), "wait", (0, ALL, 1), (11, 0), 0.9**10, False, DRAWS, 2),  # 5 and 10 rows
]


@pytest.mark.parametrize(
    ("id", "part", "datasets", "variable", "place", "values", "limit", "above", "trials", "cells"), SHARES
)
def test_the_interval_of_one_share_ends_just_inside_or_outside(
    id, part, datasets, variable, place, values, limit, above, trials, cells
):
    below, over = share_ends(limit, trials, cells)
    outcomes = [
        decided(CLAIMS[id](*changed(datasets, place, **{variable: hit(hits, trials, *values)})), part)
        for hits in (below, below + 1, over - 1, over)
    ]
    expected = ["passes", "undecided", "undecided", "fails"]
    assert outcomes == (expected[::-1] if above else expected)


@pytest.mark.parametrize("k", [2, 3])
def test_hits_of_the_smallest_cells_end_just_inside_or_outside_of_a_factor(k):
    """Poisson counts of mean 10000, each number of dimensions by itself; no sharing of the false alarm between them."""
    hits, n = np.arange(5000, 20_000), 10_000
    low, high = stats.chi2.ppf(FALSE_ALARM / 2, 2 * hits) / 2, stats.chi2.ppf(1 - FALSE_ALARM / 2, 2 * hits + 2) / 2
    least, most = n / np.sqrt(2), n * np.sqrt(2)
    for count, expected in (
        (hits[low > most].min(), "fails"),
        (hits[low > most].min() - 1, "undecided"),
        (hits[high < most].max() + 1, "undecided"),
        (hits[high < most].max(), "passes"),
        (hits[low > least].min(), "passes"),
        (hits[low > least].min() - 1, "undecided"),
        (hits[high < least].max() + 1, "undecided"),
        (hits[high < least].max(), "fails"),
    ):
        verdict = CLAIMS["bnd-def1-gamma"](*changed(cells(), k - 2, smallest_hits=count))
        assert outcome(verdict, "printed", f"k {k}") == expected, count
        assert outcome(verdict, "printed", f"k {5 - k}") == "passes", count


def correlated(r):
    """Waits of two columns, each one or three, equal in such a share of the draws that their correlation is r."""
    first = np.tile([1.0, 3.0], DRAWS // 2)
    equal = hit(round((1 + r) / 2 * DRAWS / 2), DRAWS // 2).repeat(2)
    both = np.stack([first, np.where(equal, first, 4 - first)], axis=-1)
    return changed(rows(), (0, ALL, slice(2)), wait=both)


@pytest.mark.parametrize("sign", [-1, 1])
def test_waits_are_dependent_where_the_interval_of_their_correlation_leaves_a_tenth(sign):
    """Products of standardized waits are 1 or -1, so their standard deviation follows from the mean."""
    r = np.arange(0, 0.3, 0.001)
    half = stats.t.ppf(1 - FALSE_ALARM / 2, DRAWS - 1) * np.sqrt((1 - r**2) / (DRAWS - 1))
    inside, outside = r[r + half < 0.1].max(), r[r - half > 0.1].min()
    for value, status in (
        (inside, HOLDS),
        (inside + 0.001, UNDECIDED),
        (outside - 0.001, UNDECIDED),
        (outside, REFUTED),
    ):
        assert CLAIMS["bnd-yt-indep"](*correlated(sign * value)).status == status, value


def test_one_past_alone_in_which_a_column_waits_too_long_refutes_domination():
    """Half of the draws have waited 0, half 2 and more; over all of them the share is below the limit."""
    claim, past = CLAIMS["bnd-yt-dominated"], np.where(np.arange(DRAWS) % 2, 2.0, 0.0)
    data = changed(waiting(0.0), FIRST, wait=past)
    below, over = share_ends(0.9**10, DRAWS // 2, 4)
    for hits, status in ((below, HOLDS), (over, REFUTED)):
        waits = hit(2 * hits, DRAWS, 1000.0) * (past == 2)
        assert claim(*changed(data, SECOND, wait=waits)).status == status
    assert over / DRAWS < 0.9 * 0.9**10


def test_draws_of_a_rare_past_decide_nothing():
    """A past of fewer than 200 draws is left out."""
    for draws, status in ((199, HOLDS), (200, REFUTED)):
        data = changed(waiting(0.0), FIRST, wait=hit(draws, DRAWS, 2.0))
        assert CLAIMS["bnd-yt-dominated"](*changed(data, SECOND, wait=hit(draws, DRAWS, 1000.0))).status == status


def test_pasts_above_one_are_one_class():
    """Two and three rows together are the 200 draws that are asked for, though neither is alone."""
    past = hit(100, DRAWS, 2.0) + np.roll(hit(100, DRAWS, 3.0), 100)
    late = changed(changed(waiting(0.0), FIRST, wait=past), SECOND, wait=hit(200, DRAWS, 1000.0))
    assert CLAIMS["bnd-yt-dominated"](*late).status == REFUTED


def gains(distance, schemes=("margin 0.5", "he"), best=(1.0, 1.0)):
    """Test accuracies that differ much over the draws, in pairs by a gain whose interval ends at 0 at distance 1."""
    draws = np.linspace(0.3, 0.7, 8)
    gain = around(0.0, 8, 1, distance, 0.01)
    accuracy = np.stack([draws + gain, draws])[:, None] * np.ones((2, 2, 1))
    accuracy[0, 1], accuracy[1, 1] = 0.0, 1.0  # at the other rate
    return xr.Dataset(
        {
            "test_accuracy": (("scheme", "rate", "seed"), accuracy),
            "steps": (("scheme", "rate", "seed"), np.ones((2, 2, 8))),
        },
        {"scheme": list(schemes), "rate": [1.0, 2.0], "best_rate": ("scheme", list(best))},
    )


@pytest.mark.parametrize(
    ("distance", "status"),
    [(1.01, HOLDS), (0.99, UNDECIDED), (-0.99, UNDECIDED), (-1.01, "not reproducible as stated")],
)
def test_a_gain_is_paired_over_the_draws_at_each_schemes_best_rate(distance, status):
    assert CLAIMS["bnd-disc-init-gain"](gains(distance)).status == status


def test_7b_is_decided_on_circles_of_up_to_six_points_alone():
    """From seven points on the bound is below what the draws resolve."""
    tail, triangle = tails(), survivors(0.0, 20)
    larger = triangle.assign_coords(n=("batch", [7]))
    assert CLAIMS["bnd-thm3-tail"](tail, xr.concat([triangle, larger], "batch")).status == HOLDS
    with pytest.raises(NotEnoughDataError, match="6 points or fewer"):
        CLAIMS["bnd-thm3-tail"](tail, larger)
