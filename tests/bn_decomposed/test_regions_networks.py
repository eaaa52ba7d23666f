"""Claims on networks, on made-up data just inside and just outside each of their regions, outcome by name."""

import numpy as np
import pytest
import xarray as xr

from repdyn.bn_decomposed.claims import odd_point, random_networks, training, which_point
from repdyn.bn_decomposed.claims.combinations import no_other_combination_makes_an_odd_point
from repdyn.bn_decomposed.claims.training import STRICT

SEEDS, RUNS = 12, 400
SCATTER = 1 + 1e-4 * np.linspace(-1, 1, SEEDS)  # far less than the distance to any border
EPS = np.finfo(float).eps


def outcome(verdict, form, part):
    """Outcome of a form's part, or of the whole form."""
    test = getattr(verdict, form)
    return test.parts[part].outcome if part else test.outcome


def deep(*, ratio=0.1, odd=90.0, cluster=20.0, least=20, sizes=(5, 20, 50), large=1.0, energy=0.0, signs=0.2):
    """Deep networks: an odd point beside a cluster from `least` points on, none below.

    `cluster` is the angle at 20 points and falls as 1/n; `energy` is added to the predicted share; where the cluster is
    below the mean `signs` of the batch more are at zero than where it is above.
    """
    n = np.array(sizes, float)[:, None, None]
    there = n >= least
    shape = np.ones((2, len(sizes), SEEDS, 2)) * SCATTER[:, None]
    resting = 1 / (n - 1)
    predicted = 1 / (1 + (n - 1) * resting**2)
    dims = ("source", "batch", "seed", "layer")
    values = {
        "second_to_first": np.where(there, ratio, 0.9),
        "odd_angle": np.where(there, odd, 70.0),
        "intra_angle": np.where(there, np.broadcast_to(cluster, n.shape), 70.0),
        "large_of_odd": np.where(there, large, 0.3),
        "odd_energy": predicted + energy,
        "zeros_if_cluster_above": 0.1 * n,
        "zeros_if_cluster_below": (0.1 + signs) * n,
    }
    alone = {"resting_ratio": resting[:, 0, 0], "resting_intra_angle": np.full(len(sizes), 20.0)}
    return xr.Dataset(
        {name: (dims, value * shape) for name, value in values.items()}
        | {name: ("batch", value) for name, value in alone.items()},
        {"source": ["images", "Gaussian"], "batch": list(sizes), "layer": [1, 500]},
    )


def neurons(*, always=0.1, busy=0.3, expected=0.1, with_recentering=0.0):
    """Shares of 1000 neurons: active on over 90 % of the inputs, above a tenth of their largest on most."""
    place = np.arange(1000) / 1000
    active = np.where(place < always, 0.95, 0.5)
    above = np.where(place < busy, 0.6, 0.1)
    quiet = np.where(place < with_recentering, 0.6, 0.1)
    dims, shape = ("recentering", "seed", "neuron"), np.ones((SEEDS, 1))
    return xr.Dataset(
        {
            "active": (dims, np.stack([active * shape, 0.5 * np.ones((SEEDS, 1000))])),
            "above_tenth": (dims, np.stack([above * shape, quiet * shape])),
            "expected_above_90": ((), expected),
        },
        {"recentering": ["without", "with"]},
    )


def trained(*, accuracy=0.99, ranks=0.2, effective=None, default=0.1, bn=0.8):
    """The deepest networks of each mode: final accuracy, and ranks over the width of 100."""

    def mode(final, rank, effective=None):
        shape = np.ones((1, SEEDS)) * SCATTER
        names = ("effective_rank", "numerical_rank", "r1", "stable_rank")
        variables = dict.fromkeys(names, (("depth", "seed"), 100 * rank * shape))
        if effective is not None:
            variables["effective_rank"] = (("depth", "seed"), 100 * effective * shape)
        variables["accuracy"] = (("depth", "seed", "epoch"), np.stack([0.1 * shape, final * shape], axis=-1))
        return xr.Dataset(variables, {"depth": [16], "epoch": [5, 20], "width": 100.0})

    return {"he": mode(accuracy, ranks, effective), "default": mode(default, 0.01), "bn": mode(0.99, bn)}


def point_neurons(*, off=0.0, active=0.0):
    """Gram entries off the diagonal and the relative excess of the active share, at 100 points."""
    return xr.Dataset(
        {
            "off_diagonal": (("scheme", "seed"), [[off] * 2, [0.5] * 2]),
            "activity": (("scheme", "seed"), [[(1 + active) / 100] * 2, [0.5] * 2]),
        },
        {"scheme": [STRICT, "he"], "points": 100},
    )


def longest(*, longest=0.1, limit=0.1, farthest=0.9, twice=0.9, kinds=("Gaussian, k = 100", "images")):
    """Shares of runs in which the longest is odd, at width 200 and infinite, the farthest, and the long unit vector."""
    names = [*kinds, "unit norms, one of 2"]
    run = np.arange(RUNS) / RUNS
    first = (len(names), 1, RUNS)
    odd = np.where(run < longest, 1, 0) * np.ones(first, int)
    odd[-1] = np.where(run < twice, 1, 0)
    limit_odd = np.where(run < farthest, 2, np.where(run < farthest + limit, 1, 0)) * np.ones((len(names), RUNS), int)
    dims = ("kind", "run")
    constant = {"longest": 1, "farthest": 2, "nearest": 3}
    return xr.Dataset(
        {"odd": (("kind", "width", "run"), odd), "limit_odd": (dims, limit_odd)}
        | {name: (dims, np.full((len(names), RUNS), place)) for name, place in constant.items()},
        {"kind": names, "width": [200]},
    )


def combinations(others):
    """Second over first norm 0.1 with recentering and ReLU alone, `others` in every other combination."""
    ratio = np.full((2, 2, 2, SEEDS, 2), others) * SCATTER[:, None]
    data = xr.Dataset(
        {"second_to_first": (("recenter", "rescale", "relu", "seed", "layer"), ratio)},
        {"recenter": [0, 1], "rescale": ["none", "std"], "relu": [0, 1]},
    )
    data["second_to_first"].loc[{"recenter": 1, "rescale": "none", "relu": 1}] = 0.1
    return data


def at_rest(shift):
    """Mean angles of both normalizations at their fixed points, shifted by so many degrees."""
    angle = {
        "rms": [random_networks.rms_angle(9), random_networks.rms_angle(64)],
        "full": [random_networks.full_angle(9), random_networks.full_angle(64)],
    }
    mean = np.array([angle["rms"], angle["full"]])[:, :, None] + shift * SCATTER
    coords = {"normalization": ["rms", "full"], "batch": [9, 64]}
    return xr.Dataset({"mean_angle": (("normalization", "batch", "seed"), mean)}, coords)


FIG3, SIGNS, FIRE = (
    odd_point.cluster_forms_beside_odd_point,
    odd_point.cluster_maps_to_zero,
    odd_point.large_responses_are_the_odd_points,
)
BUSY, HE, INIT = (
    odd_point.busy_without_recentering,
    training.accuracy_without_rank,
    training.point_neurons_are_orthogonal_and_sparse,
)
LONGEST, REST = which_point.odd_point_is_the_longest, random_networks.angles_of_the_fixed_points
ORTHOGONAL, ACTIVE = "orthogonal", "activity"
REGIONS = [  # claim, form, part, data just inside, data just outside
    (FIG3, "corrected", "second over first norm", deep(ratio=0.249), deep(ratio=0.251)),
    (FIG3, "corrected", "odd angle", deep(odd=85.1), deep(odd=84.9)),
    (FIG3, "corrected", "odd angle", deep(odd=94.9), deep(odd=95.1)),
    (FIG3, "corrected", "cluster angle", deep(cluster=44.9), deep(cluster=45.1)),
    (odd_point.cluster_width_is_that_of_the_limit, "printed", "", deep(cluster=39.9), deep(cluster=40.1)),
    (odd_point.cluster_width_is_that_of_the_limit, "printed", "", deep(cluster=10.1), deep(cluster=9.9)),
    (SIGNS, "corrected", "", deep(signs=0.051), deep(signs=0.049)),
    (SIGNS, "printed", "", deep(signs=-0.051), deep(signs=-0.049)),
    (FIRE, "printed", "share of the large responses", deep(large=0.951), deep(large=0.949)),
    (FIRE, "printed", "energy minus prediction", deep(energy=0.049), deep(energy=0.051)),
    (FIRE, "printed", "energy minus prediction", deep(energy=-0.049), deep(energy=-0.051)),
    (BUSY, "printed", "active on 90 percent over prediction", neurons(always=0.199), neurons(always=0.201)),
    (BUSY, "printed", "active on 90 percent over prediction", neurons(always=0.051), neurons(always=0.049)),
    (BUSY, "printed", "above a tenth of their maximum for most inputs", neurons(busy=0.101), neurons(busy=0.099)),
    (HE, "printed", "accuracy default when deep", trained(default=0.199), trained(default=0.201)),
    (HE, "printed", "rank over width with batch normalization", trained(bn=0.501), trained(bn=0.499)),
    (HE, "printed", "he at low rank", trained(ranks=0.249), trained(ranks=0.501)),
    (HE, "printed", "he at low rank", trained(accuracy=0.951), trained(accuracy=0.949)),
    (INIT, "printed", "orthogonal", point_neurons(off=99 * EPS), point_neurons(off=101 * EPS)),
    (INIT, "printed", "activity", point_neurons(active=98 * EPS), point_neurons(active=102 * EPS)),
    (LONGEST, "corrected", "farthest at infinite width", longest(farthest=0.62), longest(farthest=0.38)),
    (LONGEST, "corrected", "longest where twice as long", longest(twice=0.6), longest(twice=0.4)),
    (no_other_combination_makes_an_odd_point, "printed", "", combinations(0.501), combinations(0.499)),
    (REST, "printed", "root mean square", at_rest(0.99), at_rest(1.01)),
    (REST, "printed", "batch normalization", at_rest(-0.99), at_rest(-1.01)),
]


def name(value):
    return value if isinstance(value, str) else getattr(value, "id", "")


@pytest.mark.parametrize(("claim", "form", "part", "inside", "outside"), REGIONS, ids=name)
def test_the_outcome_turns_at_the_border_of_the_region(claim, form, part, inside, outside):
    assert outcome(claim(inside), form, part) == "passes"
    assert outcome(claim(outside), form, part) == "fails"


@pytest.mark.parametrize(
    ("claim", "data", "status"),
    [
        (FIG3, deep(least=3), "holds"),
        (FIG3, deep(), "depends on the reading"),
        (FIG3, deep(least=100), "does not hold"),
        (SIGNS, deep(), "holds as corrected"),
        (SIGNS, deep(signs=-0.2), "holds"),
        (SIGNS, deep(signs=0.0), "does not hold"),
        (HE, trained(), "holds"),
        (HE, trained(ranks=0.3), "depends on the reading"),  # below half of the width, not below a quarter
        (HE, trained(ranks=0.9, effective=0.2), "depends on the reading"),
        (HE, trained(ranks=0.9), "does not hold"),
        (LONGEST, longest(longest=0.9, limit=0.9, farthest=0.0), "holds"),
        (LONGEST, longest(longest=0.9), "depends on the reading"),
        (LONGEST, longest(longest=0.1), "holds as corrected"),
        (LONGEST, longest(longest=0.1, farthest=0.1), "does not hold"),
    ],
    ids=name,
)
def test_a_verdict_follows_the_readings(claim, data, status):
    assert claim(data).status == status


@pytest.mark.parametrize(
    ("factor", "cluster", "odd", "status"),
    [
        (1.0, 9.9, 90.0, "holds"),
        (1.45, 9.9, 99.9, "holds"),
        (1.55, 9.9, 90.0, "depends on the reading"),  # within a factor two, not 1.5
        (1.0, 10.1, 90.0, "depends on the reading"),  # within 20 and 30 degrees
        (1.0, 29.9, 90.0, "depends on the reading"),
        (1.0, 30.1, 90.0, "does not hold"),
        (1.0, 9.9, 59.9, "does not hold"),
        (2.1, 9.9, 90.0, "does not hold"),
    ],
)
def test_definition_12_resembles_under_every_reading_of_close(factor, cluster, odd, status):
    data = deep(sizes=(20,), ratio=factor / 19, cluster=cluster, odd=odd)
    assert odd_point.definition_12_is_seen(data).status == status
