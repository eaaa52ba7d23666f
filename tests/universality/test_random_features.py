"""Spread of final distances over networks against the gain: intervals and claims on made-up networks."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from repdyn.universality.claims import random_features
from repdyn.universality.theory.published import FIGURE_3


def networks(spread: list[float], starts: float = 1e-6, seeds: int = 12) -> tuple[xr.Dataset, xr.Dataset]:
    """Final distances around 0.1 with these deviations of their logarithm by gain; starts of one size but the last's.

    The largest gain starts far from 0, and its networks stay where they start.
    """
    generator = np.random.default_rng(4)
    draws = stats.norm.ppf((np.arange(seeds) + 0.5) / seeds)
    ends = 0.1 * np.exp(np.array([size * generator.permutation(draws) for size in spread]))
    start = np.full((5, seeds), starts) * np.exp(0.7 * draws)
    start[-1] = ends[-1]
    dims, coords = ("network", "seed"), {"network": list(FIGURE_3)}
    h = np.stack([start, ends], axis=-1)
    of_row = {"dx2": np.ones(5), "dy2": np.full(5, 0.5), "gain": np.array([0.9, 1.0, 1.1, 1.3, 1.4])}
    runs = {"h": ((*dims, "epoch"), h), "y": ((*dims, "epoch"), np.zeros_like(h))}
    rates = {"eta_h": (dims, np.full((5, seeds), 1e-4)), "eta_y": (dims, np.ones((5, seeds)))}
    fits = xr.Dataset(rates | {"converged": (dims, np.ones((5, seeds)))}, coords=coords)
    return fits, xr.Dataset(runs | {name: ("network", row) for name, row in of_row.items()}, coords=coords)


@pytest.mark.parametrize(
    ("spread", "status"),
    [
        ([0.1, 0.15, 0.25, 0.4, 0.6], "holds"),
        ([0.3, 0.31, 0.32, 0.33, 0.34], "not decidable at this scale"),
        ([0.6, 0.4, 0.25, 0.15, 0.1], "does not hold"),
    ],
)
def test_features_are_more_consistent_where_the_spread_falls(spread, status):
    claim, data = random_features.consistent_at_small_weights, networks(spread)
    assert claim(*data).status == status
    if status == "holds":
        assert claim(*claim.controls[""].data(*data)).status == "does not hold"


def test_the_slope_of_the_spread_has_an_interval_of_its_rate():
    """Thousands of draws of equal spread: the interval misses 0 no more often than said, to within binomial noise."""
    draws = np.random.default_rng(0).standard_normal((4000, 5, 12))
    missed = sum(random_features.slope_of_spread(list(sample)).outcome != "undecided" for sample in draws)
    assert stats.binomtest(missed, 4000, 1e-3, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize(("at_smallest", "status"), [(0.3, "holds"), (1e-6, "does not hold")])
def test_what_is_left_at_small_weights_is_not_the_starts(at_smallest, status):
    claim, data = random_features.randomness_left, networks([at_smallest, 0.3, 0.3, 0.3, 0.7])
    assert claim(*data).status == status
    if status == "holds":
        assert claim(*claim.controls[""].data(*data)).status == "does not hold"


@pytest.mark.parametrize(("size", "outcome"), [(0.025, "passes"), (0.1, "undecided"), (0.5, "fails")])
def test_a_ratio_of_deviations_has_the_interval_of_f(size, outcome):
    first, second = np.random.default_rng(1).standard_normal((2, 12))
    second *= first.std(ddof=1) / second.std(ddof=1) / size
    test = random_features.deviation_ratio(first, second, 0.1)
    factor = np.sqrt(stats.f.ppf(0.9995, 11, 11))
    assert test.interval == pytest.approx((size / factor, size * factor))
    assert test.outcome == outcome


def test_few_networks_decide_nothing():
    few = networks([0.1, 0.15, 0.25, 0.4, 0.6], seeds=2)
    for claim in (random_features.consistent_at_small_weights, random_features.randomness_left):
        assert claim(*few).status == "not decidable at this scale"
