"""One task, threshold, time, length, start or pair alone turns a claim on all of them, and all are in its facts."""

import numpy as np
import pytest
from tests.bn_mean_field.made_up import CLAIMS, OTHERS, distances, edge, exits, features, flows, scan, sizes, transport
from tests.bn_mean_field.test_readings_of_speeds import decided, lawful
from tests.made_up import CORRECTED, HOLDS, READING, REFUTED

from repdyn.base.errors import NotEnoughDataError

CELLS = [("one", 0.03), ("one", 0.01), ("two", 0.03), ("two", 0.01)]


def slower(factors):
    """BN at twice the speed of all others, its iterations by task and threshold times a factor."""
    data = features({"BN": 50.0, **OTHERS})
    for (task, threshold), factor in factors.items():
        data["needed"].loc[{"network": "BN", "task": task, "threshold": threshold}] *= factor
    return data


@pytest.mark.parametrize("cell", CELLS)
def test_one_task_at_one_threshold_makes_faster_learning_a_matter_of_reading(cell):
    assert CLAIMS["bnm-sec41-speedup"](slower({})).status == HOLDS
    assert CLAIMS["bnm-sec41-speedup"](slower({cell: 8})).status == READING


def test_iterations_over_those_without_are_geometric_means_over_tasks_and_thresholds():
    before, after = (
        np.array(list(CLAIMS["bnm-sec41-speedup"](slower(factors)).facts.values()))
        for factors in ({}, dict(zip(CELLS, (2, 4, 8, 32), strict=True)))
    )
    np.testing.assert_allclose(after / before, 2 ** (11 / 4), rtol=1e-9)


def test_ranges_are_wider_by_the_mean_over_tasks_and_thresholds():
    """Steps of 0.2 decades; 12, 14, 10 and 20 of them learn with BN, 10 without: 0.4, 0.8, 0 and 2 decades more."""
    data = features({})
    for (task, threshold), count in zip(CELLS, (12, 14, 10, 20), strict=True):
        for network, learns in (("BN", count), ("vanilla", 10)):
            own = np.where(np.arange(20) < learns, 50.0, np.inf)
            data["needed"].loc[{"network": network, "task": task, "threshold": threshold}] = own
    assert CLAIMS["bnm-sec42-rate"](data).facts["gain of range, unit lengths (decades)"] == pytest.approx(0.8)


def test_a_task_that_just_reaches_the_largest_threshold_with_b_frozen_decides_nothing():
    data = slower({})
    for task, start in ((0, 2), (1, 5)):
        frozen = data["frozen"].copy(deep=True)
        frozen[task, start] = 0.03
        with pytest.raises(NotEnoughDataError, match="b frozen"):
            CLAIMS["bnm-sec41-speedup"](data.assign(frozen=frozen))
        frozen[task, start] = 0.0301
        assert CLAIMS["bnm-sec41-speedup"](data.assign(frozen=frozen)).status == HOLDS


def test_turns_of_short_and_long_neurons_are_compared_by_mean_and_median():
    data = sizes(0.01)
    data["turned"][1, :, :, 0] = 0.5  # one long neuron alone turns further than any short one
    assert CLAIMS["bnm-fig2"](data).status == HOLDS
    data = sizes(0.01)
    data["turned"][0, ..., :55] = -0.001  # the median short neuron turns less, the mean more
    data["turned"][0, ..., 55:] = 0.1
    assert CLAIMS["bnm-fig2"](data).status == READING


def test_the_rate_in_the_euclidean_norm_is_off_in_either_direction():
    for rates, off in (([1.1, 0.7, 1.0], 0.3), ([1.4, 0.7, 1.0], 0.4)):
        data = exits().assign({f"rate{kind}": ("time", [1.0] * 3) for kind in ("", "_printed", "_metric")})
        (largest,) = CLAIMS["bnm-dissipation"](data.assign(rate_euclidean=("time", rates))).facts.values()
        assert largest == pytest.approx(off)


@pytest.mark.parametrize("start", ["low discrepancy", "i.i.d."])
@pytest.mark.parametrize("target", ["equal signs", "opposite signs"])
@pytest.mark.parametrize("time", [0, 1])
def test_one_time_of_one_kind_of_start_and_target_at_which_distances_rise_refutes_convergence(start, target, time):
    data = distances(0.5)
    runs = np.flatnonzero((data["start"] == start) & (data["target"] == target))
    data["distance"][runs, time] = 1 / data["distance"][runs, time]
    assert CLAIMS["bnm-thm4-conv"](data, edge()).status == REFUTED


@pytest.mark.parametrize(("time", "status"), [(4.004, HOLDS), (3.996, REFUTED)])
def test_times_and_growth_are_over_their_own_bound_and_rate(time, status):
    """Bounds 0.7 and 4; the sum grows as the logarithm over a rate of 2."""
    data = exits(time=time, gronwall=0.5, growth=0.5).assign(growth=2.0)
    data["bound"][:2] = [0.7, 4.0]
    verdict = CLAIMS["bnm-thm4-tr"](data)
    assert verdict.status == status
    assert verdict.facts["least time over its bound (18)"] == pytest.approx(time / 4)


@pytest.mark.parametrize("id", ["bnm-thm4-equicont", "bnm-thm4-chord"])
def test_no_pair_with_exact_transport_decides_nothing(id):
    with pytest.raises(NotEnoughDataError, match="two times with exact transport, has fewer"):
        CLAIMS[id](transport(w2=np.nan))


@pytest.mark.parametrize("near", [5.0, 85.0])
def test_starts_without_neurons_near_either_axis_do_not_count(near):
    data = scan((4.0, 4.0), (2.0, 2.0))
    data["axis_angle"][:, 1] = near  # one of four
    assert CLAIMS["bnm-fig1-speed"](data).status == HOLDS
    data["axis_angle"][:, 2:] = near
    with pytest.raises(NotEnoughDataError, match="2 starts with neurons near both axes"):
        CLAIMS["bnm-fig1-speed"](data)


def test_the_law_of_the_speed_is_relative_to_the_largest_speed():
    world = lawful(lambda name, value: 1e9 * value if name in ("torque", "speed") else value)
    assert decided("bnm-sec41-law", world).status == HOLDS
    world = lawful(lambda name, value: 1e-9 * value * (1.1 if name == "speed" else 1) if name[-1] != "h" else value)
    assert decided("bnm-sec41-law", world).status == REFUTED


@pytest.mark.parametrize("radius", [0.5, 2.0])
@pytest.mark.parametrize("dimension", [2, 5])
def test_one_length_in_one_dimension_refutes_both_flows_on_the_manifold(radius, dimension):
    data = flows("gap_a", 1.01e-8, against="manifold", dimension=dimension, radius=radius)
    assert CLAIMS["bnm-norm-general"](data).status == CORRECTED
    data["gap_a"].loc[{"against": "manifold_scaled", "dimension": dimension, "radius": radius}] = 1.01e-8
    assert CLAIMS["bnm-norm-general"](data).status == REFUTED
