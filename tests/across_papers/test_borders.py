"""Made-up networks just inside and just outside of what each claim allows, one entry alone changed, verdicts by name.

Where a claim takes an interval, it ends just inside of the boundary, lies across it, and ends just outside.
"""

import numpy as np
import pytest
from scipy import stats
from tests.across_papers.made_up import AFTER, BEFORE, CLAIMS, LAST, LATE, NOT_LATE, SEEDS, fits, norms, of_one, ranks
from tests.made_up import HOLDS, READING, REFUTED, UNDECIDED, Border, controls_that_do_not_turn, near

from repdyn.across_papers.methods.names import FOUR

OF_THEORY = {f"acr-theory-{name.replace(' ', '-')}": name for name in FOUR if name != "plain"}


BORDERS = {
    (id, "a quarter more"): Border(
        lambda v, network=network: fits(network, v), np.log2(1.25), False, n=SEEDS, outside=READING
    )
    for id, network in OF_THEORY.items()
}


@pytest.mark.parametrize(("id", "part"), BORDERS)
def test_verdicts_of_intervals_inside_across_and_outside_of_a_boundary(id, part):
    boundary = BORDERS[id, part]
    assert [CLAIMS[id](*boundary.world(values)).status for values, _ in boundary.cases()] == [
        status for _, status in boundary.cases()
    ]


@pytest.mark.parametrize(
    ("factor", "curves", "status"),
    [
        (1.24, slice(None), HOLDS),
        (1.26, slice(None), READING),
        (1.99, slice(None), READING),
        (2.01, slice(None), REFUTED),
        (1.24, 0, HOLDS),
        (1.7, 0, READING),  # the mean of the curves is 1.23, the worst of them is not within a half more
        (3.9, 0, READING),  # the mean is 1.97
        (4.1, 0, REFUTED),  # the mean is 2.03
    ],
)
@pytest.mark.parametrize("id", OF_THEORY)
def test_boundaries_of_factors_and_shares(id, factor, curves, status):
    values = np.log2(factor) + near(0.0, SEEDS)
    assert CLAIMS[id](*fits(OF_THEORY[id], values, curves)).status == status


@pytest.mark.parametrize("id", OF_THEORY)
def test_the_control_exchanges_fits_with_the_plain_network(id):
    assert controls_that_do_not_turn(CLAIMS[id], fits(OF_THEORY[id], near(-1.1, SEEDS)), HOLDS) == {}


RANKED = {"acr-bottleneck-plain": "plain", "acr-bottleneck-batch-norm": "batch norm"}
COMPARED = {"acr-bottleneck-residual": "residual", "acr-bottleneck-leaky": "leaky"}


@pytest.mark.parametrize(
    ("middle", "last", "status"),
    [
        ((17, 2), 1.0, HOLDS),
        ((18, 2), 0.9, HOLDS),  # twice as many values, no more
        ((19, 2), 1.0, REFUTED),
        ((5, 2), 1.0, HOLDS),
        ((4, 2), 1.0, REFUTED),
        ((9, 4), 0.9, HOLDS),
        ((9, 5), 1.0, REFUTED),
        ((9, 1), 1.0, HOLDS),
    ],
)
@pytest.mark.parametrize("id", RANKED)
def test_a_rank_is_that_of_the_task_up_to_a_factor_of_two_in_either_task(id, middle, last, status):
    assert CLAIMS[id](of_one(RANKED[id], middle, last)).status == status


@pytest.mark.parametrize(
    ("large", "last", "status"), [(5, 1.0, HOLDS), (6, 0.9, HOLDS), (7, 0.9, REFUTED), (7, 1.0, REFUTED)]
)
def test_below_ten_classes_are_six_directions_or_fewer(large, last, status):
    assert CLAIMS["acr-bottleneck-below"](of_one("plain", (large, 9), last)).status == status


@pytest.mark.parametrize(
    ("middle", "status"),
    [((10, 3), HOLDS), ((8, 3), REFUTED), ((10, 1), REFUTED), ((9, 3), UNDECIDED), ((10, 2), UNDECIDED)],
)
@pytest.mark.parametrize("id", COMPARED)
def test_a_higher_rank_is_one_more_direction_in_either_task(id, middle, status):
    """In one seed an equal rank is higher, so that its interval contains 0."""
    data = of_one(COMPARED[id], middle)
    for task, (own, plain) in enumerate(zip(middle, (9, 2), strict=True)):
        if own == plain:
            more = ranks(tuple(np.add(middle, 1)))["middle_values"][task, 0, 0]
            data["middle_values"][task, list(FOUR).index(COMPARED[id]), 0] = more.values
    assert CLAIMS[id](data).status == status


@pytest.mark.parametrize("id", [*RANKED, *COMPARED, "acr-bottleneck-below"])
def test_every_control_on_ranks_changes_the_outcome(id):
    middle = (10, 3) if id in COMPARED else (9, 2) if id in RANKED else (5, 2)
    network = (RANKED | COMPARED).get(id, "plain")
    assert controls_that_do_not_turn(CLAIMS[id], [of_one(network, middle)], HOLDS) == {}


@pytest.mark.parametrize("id", RANKED)
def test_ranks_of_other_networks_do_not_count(id):
    assert CLAIMS[id](of_one("residual", (19, 5))).status == HOLDS


FEW = max(k for k in range(SEEDS) if stats.binomtest(k, SEEDS).proportion_ci(0.999).high < 0.5)


def odd_seeds(count, odd=4.0, other=2.0**-10):
    return np.where(np.arange(SEEDS) < count, odd, other)


NO_ODD = [
    (LATE, 1.99, HOLDS),
    (LATE, 2.01, READING),  # by what odd means
    (LATE, 2.99, READING),
    (LATE, 3.01, REFUTED),
    (NOT_LATE, 100.0, HOLDS),
    (LAST, 2.01, READING),  # the last layer, not the mean of the late ones
    (LAST, 1.99, HOLDS),
    (2, 3.9, HOLDS),
    (2, 4.1, READING),  # the mean of the late layers, not the last one
    (LATE, odd_seeds(FEW), HOLDS),
    (LATE, odd_seeds(FEW + 1), UNDECIDED),  # most seeds
]
ODD = {"acr-odd-before": BEFORE, "acr-odd-made": AFTER}


@pytest.mark.parametrize(("layers", "ratio", "status"), NO_ODD)
@pytest.mark.parametrize(("id", "network"), [(id, network) for id in ODD for network in ("plain", "leaky")])
def test_one_network_with_an_odd_point_changes_the_verdict_on_four(id, network, layers, ratio, status):
    assert CLAIMS[id](norms((network, ODD[id], layers, ratio))).status == status


@pytest.mark.parametrize("id", ODD)
def test_odd_points_at_the_other_end_and_in_recentered_networks_do_not_count(id):
    assert CLAIMS[id](norms(("leaky", 1 - ODD[id], LATE, 10.0))).status == HOLDS
    assert CLAIMS[id](norms(("recentered", ODD[id], LATE, 100.0))).status == HOLDS
    assert CLAIMS["acr-odd-survives"](norms(("plain", ODD[id], LATE, 10.0))).status == HOLDS


@pytest.mark.parametrize("end", [BEFORE, AFTER])
@pytest.mark.parametrize(
    ("layers", "ratio", "status"),
    [
        (LATE, 3.01, HOLDS),
        (LATE, 2.99, READING),
        (LATE, 2.01, READING),
        (LATE, 1.99, REFUTED),
        (NOT_LATE, 1.0, HOLDS),
        (LAST, 2.99, READING),
        (2, 3.01**2 / 6, HOLDS),
        (2, 2.99**2 / 6, READING),
        (LATE, odd_seeds(SEEDS - FEW, 2.0**14, 1.9), HOLDS),
        (LATE, odd_seeds(SEEDS - FEW - 1, 2.0**14, 1.9), UNDECIDED),
    ],
)
def test_an_odd_point_survives_if_it_is_there_at_both_ends(end, layers, ratio, status):
    assert CLAIMS["acr-odd-survives"](norms(("recentered", end, layers, ratio))).status == status


@pytest.mark.parametrize(("learned", "status"), [(11, HOLDS), (10, UNDECIDED)])
def test_more_than_half_of_the_networks_must_have_learned(learned, status):
    assert CLAIMS["acr-odd-survives"](norms(learned=learned)).status == status


@pytest.mark.parametrize(("learned", "status"), [(10, HOLDS), (11, REFUTED)])
def test_network_counts_where_more_than_half_of_its_seeds_have_learned(learned, status):
    data = norms(("plain", AFTER, LATE, 10.0))
    data["learned"][0] = np.arange(SEEDS) < learned
    assert CLAIMS["acr-odd-made"](data).status == status


@pytest.mark.parametrize("id", [*ODD, "acr-odd-survives"])
def test_every_control_on_odd_points_changes_the_outcome(id):
    assert controls_that_do_not_turn(CLAIMS[id], [norms()], HOLDS) == {}
