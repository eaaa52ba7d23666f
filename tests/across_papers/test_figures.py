"""The three figures show the values of their datasets: networks, seeds, moments and tasks in their panels."""

import numpy as np
import pytest
from tests.bn_decomposed.reference import step
from tests.titled import assert_shown, dataset_of

from repdyn.across_papers.figures import bottlenecks, odd_points, theory_fits

NETWORKS = ["plain", "batch norm", "residual", "leaky"]
ENDS = ("before training", "after training")


def fits():
    """Two points of the seed in the middle by the ratio of the shares of batch normalization and the plain network."""
    runs, data = dataset_of("across_papers", "two_points"), dataset_of("across_papers", "theory_fits")
    data["unexplained"].loc[{"data": "digits", "seed": data["seed"][5:]}] = np.nan
    axes = theory_fits(runs, data).axes
    two = data["unexplained"].sel(data="two points")
    ratio = (two.sel(network="batch norm") / two.sel(network="plain")).values
    seed = data["seed"].values[np.argsort(ratio)[len(ratio) // 2]]
    for column, network in enumerate(NETWORKS):
        run = runs.sel(network=network, seed=seed).isel(pair=0)
        fit = data.sel(network=network, seed=seed)
        for panel, curve, name in (
            (axes[column], "h", "representation_distance"),
            (axes[4 + column], "y", "prediction_distance"),
            (axes[4 + column], "w", "prediction_alignment"),
        ):
            yield panel, run["step"], run[name]
            yield panel, fit["moment"], fit["theory"].sel(curve=curve)
        for of in ("two points", "digits"):
            shares = data["unexplained"].sel(network=network, data=of).dropna("seed")
            yield axes[-1], None, shares


def ranks():
    data = dataset_of("across_papers", "digits")
    for place, panel in enumerate(bottlenecks(data).axes):
        row, column = divmod(place, 4)
        for end in ENDS:
            rank = data["centered_effective_rank"].isel(task=row, network=column).sel(end=end)
            yield panel, range(data.sizes["layer"]), rank.mean("seed")


def odd():
    """Of seeds after training those that have learned alone."""
    data = dataset_of("across_papers", "odd_batch")
    for place in range(data.sizes["network"]):
        data["learned"][place] = np.arange(data.sizes["seed"]) > place
    depth = [1, 5, 10, *(int(name.split(".")[1]) + 1 for name in data["layer"].values[3:])]
    for place, (panel, network) in enumerate(zip(odd_points(data).axes, data["network"].values, strict=True)):
        for end in ENDS:
            draws = (
                data["norm_ratio"]
                .sel(network=network, end=end)
                .isel(seed=slice(0 if end == ENDS[0] else place + 1, None))
            )
            for seed in range(draws.sizes["seed"]):
                yield panel, depth, draws.isel(seed=seed)
            yield panel, depth, draws.median("seed")


@pytest.mark.parametrize("figure", [fits, ranks, odd])
def test_a_figure_shows_the_values_of_its_datasets(figure):
    assert_shown(figure())


def fixed_ratio(n):
    """Norm of an odd point over that of the others, found by iterating recentering and ReLU at infinite width."""
    gram = np.eye(n) * 1e-3 + 1
    gram[0] = gram[:, 0] = 0.0
    gram[0, 0] = float(n)
    for _ in range(4000):
        gram = step(gram)
        gram /= np.trace(gram)
    norm = np.sort(np.sqrt(np.diag(gram)))
    return norm[-1] / norm[-2]


def test_the_level_of_recentered_layers_is_the_fixed_point_at_infinite_width():
    data = dataset_of("across_papers", "odd_batch")
    panel = odd_points(data).axes[0]
    levels = [line.get_ydata()[0] for line in panel.get_lines() if len(set(np.ravel(line.get_ydata()))) == 1]
    assert any(level == pytest.approx(fixed_ratio(int(data["point_count"])), rel=0.02) for level in levels)
