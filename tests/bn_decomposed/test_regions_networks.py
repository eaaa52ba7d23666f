"""Claims on networks, on made-up data just inside and just outside each of their regions, outcome by name."""

import numpy as np
import pytest
from tests.bn_decomposed.deciding import outcome
from tests.bn_decomposed.made_up_layers import at_rest, combinations, deep, longest, neurons, point_neurons, trained

from repdyn.bn_decomposed.claims import odd_point, random_networks, training, which_point
from repdyn.bn_decomposed.claims.combinations import no_other_combination_makes_an_odd_point

EPS = np.finfo(float).eps
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
