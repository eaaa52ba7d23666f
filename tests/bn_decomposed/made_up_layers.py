"""Made-up data of the claims on layers and networks: all as it should be, but for what is given."""

from functools import cache

import numpy as np
import xarray as xr
from tests.made_up import filled

from repdyn.bn_decomposed.claims import random_networks
from repdyn.bn_decomposed.claims.gaussian_layers import FAR, INVARIANT
from repdyn.bn_decomposed.claims.training import STRICT
from repdyn.bn_decomposed.theory.kernel import arccos_kernel
from repdyn.bn_decomposed.theory.odd_cluster import rms_fixed_point

DRAWS, SEEDS, RUNS = 16, 12, 400
OF_DRAWS = 1 + 1e-5 * np.linspace(-1, 1, DRAWS)  # far less than the distance to any boundary
OF_SEEDS = 1 + 1e-4 * np.linspace(-1, 1, SEEDS)
found_once = cache(rms_fixed_point)  # half a second each


def moments():
    """One layer: quadratures and samples at the kernel's values."""
    rho = np.array([-0.5, 0.5, 1.0])
    kappa = arccos_kernel(rho)
    return xr.Dataset(
        {
            "quadrature": ("cosine", kappa),
            "square": ("draw", OF_DRAWS),
            "inner": (("cosine", "draw"), np.outer(kappa, OF_DRAWS)),
            "recentered": ("entry", [1.0, 0.3]),
            "recentered_sampled": (("entry", "draw"), np.outer([1.0, 0.3], np.ones(DRAWS))),
        },
        {"cosine": rho},
    )


def layers():
    """Sampled layers at both starts, with squares and norms as expected."""
    ratio = np.array([0.7, 0.9])[None, None, :, None]
    starts, dims, blocks = ("start", "batch"), ("start", "batch", "width"), ("start", "batch", "width", "block")
    sampled = {"odd_square": 1.0, "cluster_square": 1.0, "odd_norm": ratio, "cluster_norm": ratio, "pair_factor": 0.9}
    sampled |= {"odd_mean": 0.56, "inner": 0.0}
    return xr.Dataset(
        filled(blocks, (2, 2, 2, DRAWS), **{name: value * OF_DRAWS for name, value in sampled.items()})
        | filled(dims, (2, 2, 2), expected_odd_square=1.0, expected_cluster_square=1.0, expected_inner=0.0)
        | filled(dims, (2, 2, 2), square_of_mean_odd=0.32, square_of_mean_cluster=0.32, inner_of_means=0.3)
        | filled(starts, (2, 2), expected_pair_factor=0.9, cluster_mean_cosine=1e-3, alpha=[[1.8, 1.2], [0.4, 0.4]]),
        {"start": [INVARIANT, FAR], "batch": [3, 10], "width": [1, 10]}
        | {"norm_ratio": ("width", [0.7, 0.9]), "distance": 1.5},
    )


def clusters(*, factor=0.9, limit=1.0, narrow=1.0, family=0.95, resting=20.0):
    """Expected factors of clusters: the largest, over its limit, and of narrow ones; multiplier and size at rest."""
    alpha = np.array([1.22])
    by_spread = np.array([narrow * alpha[0], 1.1, 0.9])[None, :, None]
    of_configuration = ("batch", "configuration"), (1, 2)
    return xr.Dataset(
        filled(("batch", "spread", "draw"), (1, 3, 2), factor=by_spread)
        | filled(*of_configuration, largest_factor=factor, alpha=factor / limit)
        | filled(["batch"], [1], family_multiplier=family, resting_spread=resting, norm_keeping_alpha=alpha)
        | filled(["batch"], [1], full_multiplier=0.9, full_multiplier_of_equal_points=0.9, point_multiplier=alpha)
        | filled(["batch"], [1], invariant_distance=0.95, required_distance=1.0),
        {"batch": [10], "spread": [0.01, 1.0, 30.0]},
    )


def rests(*, points=(5, 7, 20, 50), scale=1.0):
    """Fixed points of batches of these sizes: the cluster's angle over 540/n degrees."""
    n = np.array(points, float)
    width = 540 / n * scale
    shape = ["batch"], [n.size]
    return xr.Dataset(
        filled(*shape, odd_intra_angle=width, odd_angle=90.0, odd_norm_ratio=1.0, odd_multiplier=0.95)
        | filled(*shape, iterated_intra_angle=np.where(n < 7, 78.0, width), iterated_odd_angle=90.0)
        | filled(*shape, simplex_angle=72 + 30 / n, rms_angle=60.0, iterated_norm_ratio=1.0),
        {"batch": n.astype(int)},
    )


LARGE_OF_ODD = [f"above_{part}_of_{whose}" for part in ("twentieth", "tenth", "fifth") for whose in ("layer", "neuron")]


def deep(*, ratio=0.1, odd=90.0, cluster=20.0, least=20, sizes=(5, 20, 50), signs=0.2):
    """Deep networks: an odd point beside a cluster from `least` points on, none below.

    Where the cluster is below the mean, `signs` of the batch more are at zero than where it is above.
    """
    n = np.array(sizes, float)[:, None, None]
    there = n >= least
    shape = np.ones((2, len(sizes), SEEDS, 2)) * OF_SEEDS[:, None]
    resting = 1 / (n - 1)
    dims = ("source", "batch", "seed", "layer")
    values = {
        "second_to_first": np.where(there, ratio, 0.9),
        "odd_angle": np.where(there, odd, 70.0),
        "intra_angle": np.where(there, np.broadcast_to(cluster, n.shape), 70.0),
        **{name: np.where(there, 1.0, 0.3) for name in LARGE_OF_ODD},
        "zeros_if_cluster_above": 0.1 * n,
        "zeros_if_cluster_below": (0.1 + signs) * n,
    }
    alone = {"resting_ratio": resting[:, 0, 0], "resting_intra_angle": np.full(len(sizes), 20.0)}
    return xr.Dataset(
        {name: (dims, value * shape) for name, value in values.items()}
        | {name: ("batch", value) for name, value in alone.items()},
        {"source": ["images", "Gaussian"], "batch": list(sizes), "layer": [1, 500]},
    )


def neurons(*, always=0.1, busy=0.3):
    """Shares of 1000 neurons: active on over 90 % of the inputs, a response above parts of their largest on many."""
    place = np.arange(1000) / 1000
    active, above = np.full((2, SEEDS, 1000), 0.5), np.full((2, SEEDS, 1000), 0.1)
    active[0], above[0] = np.where(place < always, 0.95, 0.5), np.where(place < busy, 0.8, 0.1)
    dims, parts = ("recentering", "seed", "neuron"), ("above_twentieth", "above_tenth", "above_fifth")
    return xr.Dataset(
        {"active": (dims, active), "expected_above_90": 0.1} | dict.fromkeys(parts, (dims, above)),
        {"recentering": ["without", "with"]},
    )


def trained(*, accuracy=0.99, ranks=0.2, default=0.1, bn=0.8):
    """The deepest networks of each mode: final accuracy, and ranks over the width of 100."""

    def mode(final, rank):
        shape = np.ones((1, SEEDS)) * OF_SEEDS
        names = ("effective_rank", "numerical_rank", "r1", "stable_rank")
        variables = dict.fromkeys(names, (("depth", "seed"), 100 * rank * shape))
        variables["accuracy"] = (("depth", "seed", "epoch"), np.stack([0.1 * shape, final * shape], axis=-1))
        return xr.Dataset(variables, {"depth": [16], "epoch": [5, 20], "width": 100.0})

    return {"he": mode(accuracy, ranks), "default": mode(default, 0.01), "bn": mode(0.99, bn)}


def point_neurons(*, off=0.0, active=0.0):
    """Gram entries off the diagonal and the relative excess of the active share, at 100 points."""
    shape = ("scheme", "seed"), (2, 2)
    return xr.Dataset(
        filled(*shape, off_diagonal=[[off], [0.5]], activity=[[(1 + active) / 100], [0.5]]),
        {"scheme": [STRICT, "he"], "points": 100},
    )


def longest(*, longest=0.1, limit=0.1, farthest=0.9, twice=0.9):
    """Shares of runs in which the longest is odd, at width 200 and infinite, the farthest, and the long unit vector."""
    names = ["Gaussian, k = 100", "images", "unit norms, one of 2"]
    run = np.arange(RUNS) / RUNS
    first = (len(names), 1, RUNS)
    odd = np.where(run < longest, 1, 0) * np.ones(first, int)
    odd[-1] = np.where(run < twice, 1, 0)
    limit_odd = np.where(run < farthest, 2, np.where(run < farthest + limit, 1, 0)) * np.ones((len(names), RUNS), int)
    return xr.Dataset(
        {"odd": (("kind", "width", "run"), odd)}
        | filled(("kind", "run"), limit_odd.shape, limit_odd=limit_odd, longest=1, farthest=2, nearest=3),
        {"kind": names, "width": [200]},
    )


def combinations(others):
    """Second over first norm 0.1 with recentering and ReLU alone, `others` in every other combination."""
    ratio = np.full((2, 2, 2, SEEDS, 2), others) * OF_SEEDS[:, None]
    data = xr.Dataset(
        {"second_to_first": (("recenter", "rescale", "relu", "seed", "layer"), ratio)},
        {"recenter": [0, 1], "rescale": ["none", "std"], "relu": [0, 1]},
    )
    data["second_to_first"].loc[{"recenter": 1, "rescale": "none", "relu": 1}] = 0.1
    return data


def at_rest(shift):
    """Mean angles of both normalizations at their fixed points, shifted by so many degrees."""
    angle = {
        "rms": [np.degrees(np.arccos(found_once(n))) for n in (9, 64)],
        "full": [random_networks.full_angle(n) for n in (9, 64)],
    }
    mean = np.array([angle["rms"], angle["full"]])[:, :, None] + shift * OF_SEEDS
    coords = {"normalization": ["rms", "full"], "batch": [9, 64]}
    return xr.Dataset({"mean_angle": (("normalization", "batch", "seed"), mean)}, coords)


NOISE = np.random.default_rng(8).standard_normal(SEEDS)  # one draw for all: the tests are about means, not luck


def recentering(relu=0.3):
    difference = np.stack([np.full((SEEDS, 20), 1e-15), np.full((SEEDS, 20), relu)])
    coords = {"relu": [0, 1], "width": 64}
    return xr.Dataset({"difference": (("relu", "seed", "layer"), difference)}, coords)


def ablation(ratio=0.1):
    """Last layer of all combinations, with this second over first norm in RC + ReLU, all others alike."""
    dims = ("recenter", "rescale", "relu", "seed", "layer")
    coords = {"recenter": [0, 1], "rescale": ["none", "std", "rms"], "relu": [0, 1]}
    values = {"second_to_first": (0.8, ratio), "odd_angle": (80.0, 90.0), "intra_angle": (80.0, 25.0)}
    dataset = xr.Dataset(
        {name: (dims, np.full((2, 3, 2, SEEDS, 2), value)) for name, (value, _) in values.items()}, coords
    )
    for name, (_, value) in values.items():
        dataset[name].loc[{"recenter": 1, "rescale": "none", "relu": 1}] = value
    scatter = xr.DataArray(0.01 * NOISE, dims="seed")
    return (dataset * (1 + scatter).clip(max=1 / 0.8)).assign_coords(point_count=16)


def ablation_and_sizes(ablated, fewest=20):
    """The ablation beside networks of other batch sizes, which have an odd point from `fewest` points on."""
    sizes = [5, 16, 20, 50]
    shape = (2, len(sizes), SEEDS, 2)
    odd = (np.array(sizes) >= fewest)[:, None, None] & (np.arange(2) == 1)
    scatter = 1 + 0.01 * NOISE[:, None]
    values = {"second_to_first": (0.1, 0.8), "odd_angle": (90.0, 80.0), "intra_angle": (25.0, 80.0)}
    dims = ("source", "batch", "seed", "layer")
    networks = {name: (dims, np.where(odd, *pair) * scatter * np.ones(shape)) for name, pair in values.items()}
    coords = {"source": ["images", "Gaussian"], "batch": sizes, "layer": [1, 100]}
    return ablated, xr.Dataset(networks, coords)


def left_out():
    """Mean angles of all neurons, without the untypical ones and without as many others, at 9 and 64 points."""
    kinds = ["active on 90 percent", "active on 75 percent", "above a tenth on half", "above a tenth on two thirds"]
    gains = np.array([4.5, 10.0, 10.0, 10.0])
    changes = np.stack([0 * gains, gains, np.full(4, 0.2)])[:, :, None, None] * (1 + 0.02 * NOISE)
    angle = 60 + changes * np.ones((1, 1, 2, 1))
    return xr.Dataset(
        {"angle_without": (("left_out", "untypical", "batch", "seed"), angle)}
        | filled(("normalization", "batch", "seed"), (3, 2, SEEDS), mean_angle=60.0)
        | filled(("untypical", "batch", "seed"), (4, 2, SEEDS), untypical_share=0.2),
        {"left_out": ["none", "untypical", "random"], "untypical": kinds}
        | {"batch": [9, 50], "normalization": ["rms", "std", "full"]},
    )


def cause(both, without_recentering, without_relu):
    """Second over first norm of networks with both components and with one alone."""
    ratio = np.full((2, 2, OF_SEEDS.size, 1), 0.9) * OF_SEEDS[:, None]
    ratio[1, 1], ratio[0, 1], ratio[1, 0] = (
        value * OF_SEEDS[:, None] for value in (both, without_recentering, without_relu)
    )
    dims = ("recenter", "relu", "seed", "layer")
    names = ("second_to_first", "odd_angle", "intra_angle")
    data = xr.Dataset(dict.fromkeys(names, (dims, ratio)), {"recenter": [0, 1], "relu": [0, 1]})
    return data.expand_dims(rescale=["none", "std"])


def waits(*, hits=40, longer=1.0, first=4, knocked_out=False):
    """Waits: so many runs with an outlier, so many binary orders longer than with a far point, point 1 so often."""
    wait = np.full((3, 1, 1, 40, 2), 100 + 1.0)
    scatter = 1 + 0.01 * np.arange(40)[:, None]
    wait[:2, ..., :hits, :] = 4 * 2.0**longer * scatter[:hits]
    wait[2, ..., :, :] = 4 * scatter
    odd = np.ones((3, 1, 1, 40), int)
    odd[:2, ..., :first] = 0
    odd[2] = 0
    limit = np.full((3, 1, 2), 20 if knocked_out else 100 + 1)
    limit[2] = 1
    dims = ("start", "batch", "width", "run")
    return xr.Dataset(
        {
            "wait": ((*dims, "factor"), wait),
            "odd": (dims, odd),
            "wait_in_the_limit": (("start", "batch", "factor"), limit),
        },
        {"start": ["equal angles", "circle", "one point far"], "batch": [10], "width": [100]}
        | {"factor": [2.0, 4.0], "depth": 100},
    )


def gaps(share=0.2, slope=-0.5, std=1.0):
    """Orthogonality gaps of both scales over depth: this share is left at the largest width, this power of others."""
    width = np.array([64, 256, 1024])
    plateau = share * (width / 1024) ** slope
    gap = np.ones((2, 3, SEEDS, 40)) * OF_SEEDS[:, None]
    gap[0, ..., 1:] *= plateau[:, None, None]
    gap[1, ..., 1:] *= std * (1 if std == 1 else plateau[:, None, None])
    return xr.Dataset(
        {"gap": (("rescale", "width", "seed", "layer"), gap)}, {"rescale": ["rms", "std"], "width": width}
    )


def quiet(neurons=1.0, above=0.2, active=0.0):
    """Neurons above every fraction of their largest on a share of the inputs; so many quiet, so many always active."""
    place = np.arange(1000) / 1000
    shares = np.where(place < neurons, above, 0.9) * np.ones((2, SEEDS, 1))
    on = np.where(place < active, 0.95, 0.5) * np.ones((2, SEEDS, 1))
    shares[0], on[0] = 0.9, 0.95  # without recentering
    names = ("above_twentieth", "above_tenth", "above_fifth")
    dims = ("recentering", "seed", "neuron")
    return xr.Dataset(
        dict.fromkeys(names, (dims, shares)) | {"active": (dims, on)}, {"recentering": ["without", "with"]}
    )
