"""What claims ask of their data: a value just enough decides, one just short leaves the claim open and says why."""

import numpy as np
import pytest
import xarray as xr
from tests.noted import data_of, note_of

from repdyn.base.errors import NotEnoughDataError
from repdyn.bn_decomposed.claims import full_rank, training
from repdyn.bn_mean_field.claims import section3_limit, section4_1_speeds, section4_2_learning
from repdyn.leaky_resnets.claims import over_seeds, trained_networks
from repdyn.truncation_flow.claims import requirements
from repdyn.universality.claims import default_network


def array(values, *dims, **coords):
    return xr.DataArray(np.asarray(values, float), dims=dims, coords=coords)


def times(last):
    return xr.Dataset(coords={"time": np.array([0.0, last])})


def arrivals(first, second):
    long = {"long_name": "time of arrival"}
    return xr.Dataset({"arrival": ("run", [1.0, first], long), "rate": ("run", [2.0, second], long)})


def circles(*sizes):
    """Circles with the probability that a row is new of 1/2, all of full rank at their last row."""
    y = np.full((len(sizes), 40), 100.0)
    kinds = {"kind": ("batch", ["circle"] * len(sizes)), "n": ("batch", list(sizes))}
    return xr.Dataset({"y": (("batch", "draw"), y)}, kinds | {"gamma": ("batch", [0.5] * len(sizes))})


def margins(last):
    schemes = {"scheme": ["random", "margin 0.5", f"margin {last:g}"]}
    return xr.Dataset({"angle": ("scheme", [0.0, 1.0, 2.0])}, schemes)


def angles_to_axis(*starts):
    """Speeds of four neurons of each start for a target along the first axis, and how far they are from that axis."""
    scan = xr.Dataset({"axis_angle": array([starts], "angle", "start", "neuron", angle=[0.0])})
    return scan, array(np.ones((1, len(starts), 4)), "angle", "start", "neuron", angle=[0.0])


BOTH, FIRST, SECOND = (5.0, 10.0, 80.0, 85.0), (5.0, 10.0, 20.0, 40.0), (50.0, 60.0, 80.0, 85.0)


def needed(bn, vanilla):
    """Iterations by network, start and step; the first start, with both signs, is not counted."""
    values = [[[10.0] * 3, *network] for network in (bn, vanilla)]
    return array(values, "network", "start", "step", network=["BN", "vanilla"])


GONE = np.inf


def frozen(least):
    """Losses with b frozen of three starts in two tasks, one start near the larger of two thresholds."""
    losses = {"frozen": (("task", "start"), [[0.5, 0.5, 0.5], [0.5, least, 0.5]])}
    return xr.Dataset(losses, {"threshold": [0.03, 0.01]})


def systems(*widths):
    """Distances of two draws of particle systems to a reference of 512 particles, as the root of the width."""
    width = np.array([*widths, *widths, 512])
    runs = {"width": width, "seed": np.repeat([0, 1, 0], [len(widths), len(widths), 1])}
    kinds = {"start": ["i.i.d."] * width.size, "target": ["equal signs"] * width.size}
    coords = {name: ("run", values) for name, values in (runs | kinds).items()}
    return xr.Dataset({"distance": (("run", "time"), width[:, None] ** -0.5)}, coords | {"reference": 512})


def units(number):
    return xr.Dataset({"units": number})


def settings_of_figure(**smaller):
    """Five seeds with free maps at the settings that the appendix states, some of them smaller."""
    sizes = {"dimension": 30, "width": 100, "points": 1000, "steps": 6000} | smaller
    shape = {"seed": range(5), "maps": ["free maps"]}
    return xr.Dataset({name: (("seed", "maps"), np.full((5, 1), value)) for name, value in sizes.items()}, shape)


ASKED = {
    "a flow to the last time": (lambda: requirements.reaches(times(2.0), "staircase", 2.0), None),
    "a flow too short": (
        lambda: requirements.reaches(times(1.9), "staircase", 2.0),
        "staircase: flow times up to 2, has 1.9",
    ),
    "arrivals": (lambda: requirements.finite(arrivals(1.0, 2.0), "flow", "arrival", "rate"), None),
    "no arrival in one run": (
        lambda: requirements.finite(arrivals(np.inf, 2.0), "flow", "arrival", "rate"),
        "flow: time of arrival; raise the last time",
    ),
    "an unknown one of the second variable": (
        lambda: requirements.finite(arrivals(1.0, np.nan), "flow", "arrival", "rate"),
        "raise the last time",
    ),
    "near critical points": (lambda: over_seeds.need_near_critical(array([0.2, 0.3], "seed"), "trained"), None),
    "far from critical points": (
        lambda: over_seeds.need_near_critical(array([0.2, 0.32], "seed"), "trained"),
        "trained: networks within 0.25 of a critical point, mean distance 0.26",
    ),
    "at unknown distance": (
        lambda: over_seeds.need_near_critical(array([np.nan, np.nan], "seed"), "trained"),
        "mean distance nan",
    ),
    "the settings of the appendix": (lambda: trained_networks._need_own_settings(settings_of_figure()), None),
    "fewer points and steps": (
        lambda: trained_networks._need_own_settings(settings_of_figure(points=999, steps=5999)),
        "paper_measures: points = 1000, steps = 6000$",
    ),
    "a circle of six points": (lambda: full_rank._survival(circles(6, 8)), None),
    "circles of seven and more": (lambda: full_rank._survival(circles(7, 8)), "a circle of 6 points or fewer"),
    "a threshold that lets neighbors fire": (lambda: training.neighbors_let_in(margins(1.1)), None),
    "the widest threshold lets none fire": (lambda: training.neighbors_let_in(margins(1)), "a margin above 1"),
    "one pair of times": (lambda: section3_limit._pairs(array([np.nan, 1.0], "pair")), None),
    "no pair of times": (lambda: section3_limit._pairs(array([np.nan, np.inf], "pair")), "two times with exact"),
    "two starts near both axes": (
        lambda: section4_1_speeds._contrasts(*angles_to_axis(BOTH, BOTH, FIRST), 0.0, 15.0, np.mean),
        None,
    ),
    "one start near both axes": (
        lambda: section4_1_speeds._contrasts(*angles_to_axis(BOTH, FIRST, SECOND), 0.0, 15.0, np.mean),
        "2 starts with neurons near both axes",
    ),
    "two starts with a common step": (
        lambda: section4_2_learning._log_ratio(
            needed([[9, GONE, GONE], [9, 9, 9]], [[3, 3, 3], [GONE, GONE, 3]]), "BN", "vanilla"
        ),
        None,
    ),
    "one start with a common step": (
        lambda: section4_2_learning._log_ratio(
            needed([[9, GONE, GONE], [9, 9, 9]], [[GONE, 3, 3], [3, 3, 3]]), "BN", "vanilla"
        ),
        "2 starts with steps at which BN and vanilla both learn",
    ),
    "tasks that need directions": (lambda: section4_2_learning._require_directions(frozen(0.0301)), None),
    "one start of one task learned with b frozen": (
        lambda: section4_2_learning._require_directions(frozen(0.03)),
        "tasks whose loss stays above the threshold with b frozen",
    ),
    "three widths of every draw": (
        lambda: section3_limit._exponents(systems(8, 16, 32), "i.i.d.", "equal signs"),
        None,
    ),
    "two widths beside the reference": (
        lambda: section3_limit._exponents(systems(8, 16), "i.i.d.", "equal signs"),
        "3 widths of i.i.d. starts, has 2",
    ),
    "a wide network no wider than the narrow one": (
        lambda: default_network.changes_follow_the_parameters(units(100), units(100)),
        "both networks have 100 units",
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_a_claim_takes_just_enough_and_refuses_what_is_just_short(case):
    ask, words = ASKED[case]
    if words is None:
        ask()
    else:
        with pytest.raises(NotEnoughDataError, match=words):
            ask()


def one_silent(data):
    data["layer_angles"]["angle_without"].values.flat[-1] = np.nan


def on_one_ray(data):
    cosine = data["relu_moments"]["cosine"]
    data["relu_moments"]["cosine"] = cosine.copy(data=np.where(np.arange(cosine.size) % 2, 1.0, -1.0))


def spreads(place, value):
    def change(data):
        spread = data["contraction"]["spread"].values.astype(float)
        spread[place] = value
        data["contraction"] = data["contraction"].assign_coords(spread=spread)

    return change


def ends_at_the_bound(data):
    proposition = data["proposition"]
    last = float(proposition["time"].max())
    proposition["sharp_arrival_bound"][:] = last / 2
    proposition["sharp_arrival_bound"].values.flat[-1] = last


SHORT = [
    ("bn_decomposed", "bnd-fig6-cause", one_silent, "every point has a response left"),
    ("bn_decomposed", "bnd-eq111-ineq", on_one_ray, "a cosine between -1 and 1"),
    ("bn_decomposed", "bnd-cluster-rest", spreads(0, 0.051), "spreads from 0.05 or less to 20 or more"),
    ("bn_decomposed", "bnd-cluster-rest", spreads(-1, 19.9), "spreads from 0.05 or less to 20 or more"),
    ("truncation_flow", "tf-prop42-s1", ends_at_the_bound, "flow times beyond the bound"),
]


@pytest.mark.parametrize(("study", "id", "change", "words"), SHORT)
def test_made_up_data_decide_until_they_lack_one_thing(study, id, change, words):
    data = data_of(study, id)
    if id == "bnd-cluster-rest":
        spreads(0, 0.05)(data), spreads(-1, 20.0)(data)
    note_of(study, id, data)
    change(data)
    with pytest.raises(NotEnoughDataError, match=words):
        note_of(study, id, data)
