"""The ledger's entries of this study: accepted verdicts, and made-up data that must turn them."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.errors import NotEnoughDataError
from repdyn.bn_mean_field.claims import (
    section3_limit,
    section3_well_posed,
    section4_1_speeds,
    section4_2_learning,
    section4_3_first_step,
)


def rates(bn=1.0, vanilla=0.0, decades=(2.5, 2.0)):
    """Made-up learning rates: log10 of iterations and range of steps of BN and vanilla networks, six starts."""
    names = ["BN", "vanilla", "vanilla, same function", "BN, many lengths", "vanilla, many lengths"]
    draws = 0.01 * np.arange(7)
    needed = 10 ** (np.array([bn, vanilla, vanilla, bn, vanilla])[:, None] + draws * np.arange(5)[:, None])
    spans = np.array([decades[0], decades[1], decades[1], decades[0], decades[1]])[:, None] + draws
    dims = ("network", "start")
    return xr.Dataset(
        {
            "needed": ((*dims, "step"), np.stack([needed, needed], axis=-1)),
            "decades": (dims, spans),
            "fewest": (dims, needed),
            "smallest_step": (dims, np.ones((5, 7))),
            "largest_step": (dims, np.full((5, 7), 10.0)),
        },
        {
            "network": names,
            "start": np.arange(7),
            "step": [1.0, 2.0],
            "iterations": 10,
            "spacing": 0.125,
            "learned": 0.01,
        },
    )


def test_learning_rates_decide_the_claim():
    slower = section4_2_learning.linear_target_takes_longer
    verdict = slower(rates(bn=1.0))
    assert verdict.status == "holds"
    ratio = verdict.facts["iterations of BN over those of vanilla at equal step"]
    assert ratio == pytest.approx(10 ** (1 - 0.035))
    assert slower(rates(bn=-1.0)).status == "does not hold"
    first = rates(bn=-1.0)
    first["needed"][{"start": 0}] = 1e9  # both signs of a are no sample
    assert slower(first).status == "does not hold"


NETWORKS = [
    "BN",
    "BN, equal speeds",
    "BN, b frozen",
    "vanilla",
    "vanilla, same function",
    "BN, many lengths",
    "vanilla, many lengths",
    "BN, two lengths",
    "BN, step of b",
    "BN, many lengths, step of b",
    "BN, two lengths, step of b",
]


def features(iterations, widths=None, frozen=0.1):
    """Made-up learning: iterations at the first of twenty steps by network, halved from step to step, and how many of
    the steps learn."""
    widths = widths or {}
    needed = np.full((2, len(NETWORKS), 6, 20, 2), np.inf)
    for row, name in enumerate(NETWORKS):
        for start in range(6):
            learns = widths.get(name, 10) + start % 2
            curve = iterations.get(name, 100.0) * 0.5 ** np.arange(20) * (1 + 0.01 * start * (row + 1))
            needed[:, row, start, :learns] = curve[None, :learns, None]
    needed[:, NETWORKS.index("BN, b frozen")] = np.inf
    return xr.Dataset(
        {
            "needed": (("task", "network", "start", "step", "threshold"), needed),
            "frozen": (("task", "start"), np.full((2, 6), frozen)),
        },
        {"task": ["one", "two"], "network": NETWORKS, "threshold": [0.03, 0.01], "iterations": 300, "spacing": 0.2},
    )


def test_learning_is_sped_up_where_bn_needs_fewer_iterations_under_every_reading():
    check = section4_2_learning.learning_is_sped_up
    others = {"vanilla": 100.0, "vanilla, same function": 100.0, "BN, equal speeds": 100.0}
    assert check(features({"BN": 50.0, **others})).status == "holds"
    assert check(features({"BN": 200.0, **others})).status == "does not hold"
    against = features({"BN": 200.0, **others}, {"BN": 13})  # slower at equal step, faster at its best one
    assert check(against).status == "depends on the reading"


def test_a_network_whose_b_is_frozen_speeds_nothing_up():
    claim = section4_2_learning.learning_is_sped_up
    frozen = claim.controls[""].data(features({"BN": 50.0}))
    assert claim(frozen).status == "does not hold"


def test_tasks_that_need_no_directions_decide_nothing():
    for check in (
        section4_2_learning.learning_is_sped_up,
        section4_2_learning.range_of_steps_is_wider,
        section4_2_learning.many_lengths_widen_the_range,
    ):
        with pytest.raises(NotEnoughDataError, match="b frozen"):
            check(features({}, frozen=0.02))


def test_the_start_with_both_signs_is_a_reading_of_its_own():
    data = ratios({0.1: 10.0, 0.2: 12.0})
    data["ratio"][{"start": 0, "step": 1}] = 1e3
    assert section4_1_speeds.order_of_magnitude(data).status == "not reproducible as stated"


@pytest.mark.parametrize(
    ("many", "two", "status"), [(12, 12, "holds"), (11, 11, "holds"), (9, 9, "does not hold"), (8, 8, "does not hold")]
)
def test_ranges_of_steps_decide_the_claims(many, two, status):
    lengths = {"BN, many lengths": many, "BN, two lengths": two}
    alone = {f"{name}, step of b": count for name, count in lengths.items()}
    data = features({}, lengths | alone | {"vanilla, many lengths": 10})
    assert section4_2_learning.many_lengths_widen_the_range(data).status == status
    data = features({}, {"BN": many, "BN, many lengths": many})
    assert section4_2_learning.range_of_steps_is_wider(data).status == status


@pytest.mark.parametrize("widened", ["BN, many lengths", "BN, two lengths, step of b"])
def test_several_lengths_that_widen_in_one_reading_alone_depend_on_it(widened):
    several = ("BN, many lengths", "BN, two lengths")
    counts = {f"{name}{step}": 8 for name in several for step in ("", ", step of b")} | {widened: 12}
    assert section4_2_learning.many_lengths_widen_the_range(features({}, counts)).status == "depends on the reading"


def test_lengths_that_are_switched_off_widen_nothing():
    claim = section4_2_learning.many_lengths_widen_the_range
    counts = {f"{name}{step}": 12 for name in ("BN, many lengths", "BN, two lengths") for step in ("", ", step of b")}
    assert claim(features({}, counts)).status == "holds"
    assert claim(claim.controls[""].data(features({}, counts))).status == "does not hold"


@pytest.mark.parametrize(
    ("grown", "helped", "left", "status"),
    [
        ([52, 52, 52], 12, 12, "holds"),
        ([47, 47, 47], 12, 12, "does not hold"),
        ([52, 52, 52], 8, 12, "does not hold"),
        ([52, 52, 52], -8, 12, "does not hold"),
        ([52, 52, 52], 12, 6, "does not hold"),
        ([52, 52, 47], 12, 12, "depends on the reading"),
    ],
)
def test_neurons_are_helped_by_a_twentieth_and_a_hundredth_of_them(grown, helped, left, status):
    """Of a thousand neurons how many more are near x1 at the end, by target, and how many with the effect alone.

    Early on 300 are far from x1 at equal speeds, `left` fewer with the effect.
    """
    angle = np.full((3, 2, 6, 5, 1000), 50.0)
    for target, network, iteration in np.ndindex(3, 2, 5):
        more = (grown[target] - helped * network) * (iteration > 2)
        angle[target, network, :, iteration, : 200 + more] = 5.0
        if iteration in (1, 2):
            angle[target, network, :, iteration, 600 : 900 - left * (network == 0)] = 80.0
    angle[:, :, 1::2, 1:, -1] = 5.0  # one neuron more in every other start
    angle[:, 1, 1::2, 1:3, -2] = 80.0
    data = xr.Dataset(
        {"axis_angle": (("angle", "network", "start", "iteration", "neuron"), angle)},
        {"angle": [0.0, 45.0, 90.0], "network": ["BN", "BN, equal speeds"], "iteration": [0, 1, 2, 3, 4]},
    )
    assert section4_1_speeds.neurons_are_helped(data).status == status


def figure_1(near_x1):
    """Made-up angles of 100 neurons: how many are near x1 late in training, by target, with BN and without.

    A tenth is at the start, all else lies at 60 degrees.
    """
    iterations = [0, 4000, 6000, 8000]
    angle = np.full((2, len(near_x1), len(iterations), 100), 60.0)
    angle[..., :10] = 5.0
    for target, counts in enumerate(near_x1):
        for model, count in enumerate(counts):
            angle[model, target, 1:] = np.where(np.arange(100) < count, 5.0, 60.0)
    dims = ("model", "target", "iteration", "neuron")
    return xr.Dataset(
        {"axis_angle": (dims, angle)},
        {"model": ["BN", "vanilla"], "target": [f"y = {k}" for k in range(len(near_x1))], "iteration": iterations},
    )


@pytest.mark.parametrize(
    ("near_x1", "status"),
    [
        ([(20, 13), (20, 13)], "holds"),  # doubled, and 1.54 times as many as without
        ([(20, 14), (20, 14)], "does not hold"),  # doubled, but 1.43 times as many as without
        ([(19, 12), (19, 12)], "does not hold"),  # not doubled
        ([(20, 13), (19, 12)], "depends on the reading"),  # by the target
    ],
)
def test_whether_neurons_concentrate_is_read_over_the_targets(near_x1, status):
    assert section4_1_speeds.neurons_concentrate(figure_1(near_x1)).status == status


def scan(speed_near_x2, torque_near_x2):
    """Made-up speeds of neurons near either axis, 1 near x1, by target."""
    angles = np.tile([5.0, 10.0, 80.0, 85.0], (2, 4, 1))
    speeds, torques = np.ones((2, 4, 4)), np.ones((2, 4, 4))
    for target in range(2):
        speeds[target, :, 2:] = speed_near_x2[target] * (1 + 0.01 * np.arange(4)[:, None])
        torques[target, :, 2:] = torque_near_x2[target]
    dims = ("angle", "seed", "neuron")
    return xr.Dataset(
        {
            "speed": (dims, speeds),
            "torque": (dims, torques),
            "axis_angle": (dims, angles),
            "outer_contrast": (dims[:2], np.zeros((2, 4))),
        },
        {"angle": [0.0, 90.0]},
    )


@pytest.mark.parametrize(
    ("speeds", "torques", "status"),
    [
        ((4.0, 4.0), (2.0, 2.0), "holds"),
        ((4.0, 0.5), (2.0, 0.2), "depends on the reading"),
        ((0.5, 0.5), (0.2, 0.2), "does not hold"),
        ((4.0, 4.0), (4.0, 4.0), "does not hold"),  # faster, but not because of the factor
        ((1.4, 1.4), (1.0, 1.0), "holds"),  # log10 larger by 0.15 with it
        ((1.1, 1.1), (1.0, 1.0), "does not hold"),  # by 0.04
    ],
)
def test_neurons_are_faster_because_of_the_factor(speeds, torques, status):
    assert section4_1_speeds.faster_where_data_are_small(scan(speeds, torques)).status == status


def flows(relu, erf):
    return xr.Dataset(
        {"gap_at_end": (("activation", "gap"), np.array([relu, erf])), "sliding_rate": ("side", [0.2, 0.05, -0.1])},
        {"activation": ["relu", "erf"], "gap": [1e-6, 1e-4, 1e-2]},
    )


@pytest.mark.parametrize(
    ("relu", "erf", "status"),
    [
        ([2e-6, 2e-4, 2e-2], [1e-6, 1e-4, 1e-2], "holds"),
        ([0.3, 0.3, 0.3], [5e-7, 5e-5, 5e-3], "holds as corrected"),
        ([0.3, 0.3, 0.3], [0.3, 0.3, 0.3], "does not hold"),
        ([1e-6**0.96, 1e-4**0.96, 1e-2**0.96], [0.3, 0.3, 0.3], "holds"),
        ([1e-6**0.94, 1e-4**0.94, 1e-2**0.94], [1e-6**1.04, 1e-4**1.04, 1e-2**1.04], "holds as corrected"),
        ([0.3, 0.3, 0.3], [1e-6**1.06, 1e-4**1.06, 1e-2**1.06], "does not hold"),
    ],
)
def test_flows_are_well_posed_where_small_angles_stay_in_proportion(relu, erf, status):
    assert section3_well_posed.flow_is_well_posed(flows(relu, erf)).status == status


@pytest.mark.parametrize(
    ("exponent", "status"), [(0.96, "holds"), (1.04, "holds"), (0.94, "does not hold"), (1.06, "does not hold")]
)
def test_uniqueness_is_a_distance_in_proportion_to_that_of_the_starts(exponent, status):
    gaps = np.array([1e-6, 1e-4, 1e-2])
    ends = xr.Dataset(
        {"cloud_distance": (("activation", "gap"), np.array([gaps**0, gaps**exponent]))},
        {"activation": ["relu", "erf"], "gap": gaps},
    )
    assert section3_well_posed.distance_stays_in_proportion(ends).status == status


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (0.5, "holds"),
        (0.999, "holds"),
        (1.001, "holds as corrected"),
        (1.999, "holds as corrected"),
        (2.001, "does not hold"),
    ],
)
def test_the_constant_of_the_estimate_bounds_the_change(change, status):
    pairs = xr.Dataset(
        {
            "change": (("radius", "draw"), [[change, 0.1]]),
            "distance": (("radius", "draw"), [[1.0, 1.0]]),
            "constant_printed": ("radius", [1.0]),
            "constant": ("radius", [2.0]),
        },
        {"radius": [0.5]},
    )
    assert section3_well_posed.bounded_lipschitz_estimate(pairs).status == status


def ratios(by_step):
    """Made-up ratios of largest speeds at one iteration, paired start first."""
    steps = list(by_step)
    draws = np.array([[by_step[h] * (1 + 0.01 * k) for h in steps] for k in range(5)])
    shape = (1, 5, len(steps), 1)
    return xr.Dataset(
        {"ratio": (("problem", "start", "step", "iteration"), draws.reshape(shape))},
        {
            "problem": ["y = x1"],
            "start": range(5),
            "step": steps,
            "iteration": [500],
            "look": 500,
            "paper_step": steps[0],
        },
    )


@pytest.mark.parametrize(
    ("by_step", "status"),
    [
        ({0.1: 10.0, 0.2: 12.0}, "holds"),
        ({0.1: 10.0, 0.2: 100.0}, "not reproducible as stated"),
        ({0.1: 100.0, 0.2: 200.0}, "does not hold"),
        ({0.1: 2.0, 0.2: 1.0}, "does not hold"),
        ({0.1: 3.6, 0.2: 27.0}, "holds"),  # inside of the half powers of ten, 3.2 and 32
        ({0.1: 2.7, 0.2: 35.0}, "does not hold"),
    ],
)
def test_the_order_of_magnitude_can_move(by_step, status):
    assert section4_1_speeds.order_of_magnitude(ratios(by_step)).status == status


def distances(exponent, spread=0.02):
    """Made-up distances to the limit that fall as m^-exponent."""
    rng = np.random.default_rng(0)
    rows = [
        (start, target, m, seed, m**-exponent * np.exp(spread * rng.normal()))
        for start, seeds in (("low discrepancy", 1), ("i.i.d.", 6))
        for target in ("equal signs", "opposite signs")
        for seed in range(seeds)
        for m in (16, 32, 64, 512)
    ]
    start, target, width, seed, value = (np.array(column) for column in zip(*rows, strict=True))
    return xr.Dataset(
        {"distance": (("run", "time"), np.stack([value, value], axis=1))},
        {
            "start": ("run", start),
            "target": ("run", target),
            "width": ("run", width),
            "seed": ("run", seed),
            "time": [0.0, 1.0],
            "reference": 512,
            "random_reference": 512,
        },
    )


def edge(relu=-0.17, erf=0.0):
    """Made-up turns of neurons next to an edge: by how much they differ from that of their limit, by activation."""
    required = np.array([[-0.2] * 3, [-0.05] * 3])
    moved = required[:, :1] + np.array([[relu], [erf]])
    return xr.Dataset(
        {"edge_moved": (("activation", "gap"), moved), "edge_required": (("activation", "kink_slope"), required)},
        {"activation": ["relu", "erf"], "gap": [1e-4], "kink_slope": [0.0, 0.5, 1.0]},
    )


@pytest.mark.parametrize(
    ("relu", "erf", "status"),
    [(1.1e-3, 0.9e-3, "holds as corrected"), (0.9e-3, 0.9e-3, "holds"), (1.1e-3, 1.1e-3, "does not hold")],
)
def test_limit_of_the_neurons_next_to_an_edge_solves_the_equation(relu, erf, status):
    assert section3_limit.particles_converge(distances(0.5), edge(relu, erf)).status == status


def test_one_slope_at_the_kink_is_enough_to_solve_the_equation():
    data = edge()
    data["edge_required"][0, 1] = data["edge_moved"][0, 0]
    assert section3_limit.particles_converge(distances(0.5), data).status == "holds"


def test_convergence_is_a_falling_distance():
    def check(data):
        return section3_limit.particles_converge(data, edge())

    assert check(distances(0.5)).status == "holds as corrected"
    assert check(distances(0.26, spread=1e-4)).status == "holds as corrected"
    assert check(distances(0.24, spread=1e-4)).status == "does not hold"
    assert check(distances(0.1)).status == "does not hold"
    assert check(distances(-0.3)).status == "does not hold"
    narrow = distances(0.5)
    with pytest.raises(NotEnoughDataError, match="3 widths"):
        check(narrow.isel(run=np.flatnonzero(narrow["width"] != 64)))


def test_false_alarms_of_the_parts_add_up():
    verdict = section3_limit.particles_converge(distances(0.5), edge())
    shares = [part.false_alarm for part in verdict.corrected.parts.values()]
    assert verdict.corrected.false_alarm == pytest.approx(sum(shares))
    assert shares == [0.0, 0.0, 0.0, 5e-4, 5e-4]  # two times share 0.001 in each i.i.d. part


def turns_and_losses():
    """Made-up iterations of neurons that turn by 1 degree each while the loss falls, short ones and long ones."""
    shape = (2, 3, 1, 3, 2, 1)  # quantile, later, start, radius, model, step
    dims = ("later", "start", "radius", "model", "step")
    return xr.Dataset(
        {
            "turn_quantile": (("quantile", *dims), np.ones(shape)),
            "loss_growth": (dims, np.full(shape[1:], 0.9)),
            "loss_growth_kept": (("later", "start", "radius", "step"), np.full((3, 1, 3, 1), 1.2)),
        },
        {"quantile": [0.5, 1.0], "later": [1, 2, 3], "radius": [0.01, 0.1, 1.0], "model": ["BN", "vanilla"]},
    )


FARTHEST, BN, VANILLA = 1, 0, 1


@pytest.mark.parametrize(
    ("turns", "growth", "status"),
    [
        (29.9, 0.999, "holds"),
        (30.1, 0.999, "depends on the reading"),
        (60.1, 0.999, "depends on the reading"),
        (29.9, 1.001, "depends on the reading"),
        (60.1, 1.001, "does not hold"),
    ],
)
def test_what_unstable_means_decides_whether_later_steps_are_stable(turns, growth, status):
    """The farthest turn and the loss of very small neurons, which both readings of the neurons count."""
    data = turns_and_losses()
    data["turn_quantile"][FARTHEST, 2, 0, 0, BN] = turns
    data["loss_growth"][2, 0, 0, BN] = growth
    assert section4_3_first_step.stable_from_the_second_step(data).status == status


@pytest.mark.parametrize("place", ["first iteration", "vanilla", "median alone"])
def test_other_turns_do_not_count_as_unstable(place):
    data = turns_and_losses()
    if place == "first iteration":
        data["turn_quantile"][:, 0], data["loss_growth"][0] = 90.0, 5.0
    if place == "vanilla":
        data["turn_quantile"][:, :, :, :, VANILLA], data["loss_growth"][:, :, :, VANILLA] = 90.0, 5.0
    if place == "median alone":
        data["turn_quantile"][0] = 90.0
    assert section4_3_first_step.stable_from_the_second_step(data).status == "holds"


def test_long_neurons_alone_leave_open_whether_small_ones_are_stable():
    data = turns_and_losses()
    data["turn_quantile"][FARTHEST, 1, 0, 2, BN], data["loss_growth"][1, 0, 2, BN] = 80.0, 1.5
    assert section4_3_first_step.stable_from_the_second_step(data).status == "depends on the reading"


def test_stability_is_undecided_without_small_neurons():
    with pytest.raises(NotEnoughDataError, match="2 lengths"):
        section4_3_first_step.stable_from_the_second_step(turns_and_losses().isel(radius=[1, 2]))


def after_one_step(norm, radius, critical=2.0):
    """Made-up lengths after one step of one neuron of each initial length."""
    return xr.Dataset(
        {
            "norm": (
                ("model", "iteration", "radius", "start", "step", "neuron"),
                np.asarray(norm, float)[None, None, :, None, None, None],
            ),
            "critical": (("start", "step", "neuron"), np.full((1, 1, 1), critical)),
        },
        {"model": ["BN"], "iteration": [1], "radius": np.asarray(radius, float)},
    )


LENGTHS = np.array([0.01, 0.1, 1.0])


@pytest.mark.parametrize(
    ("norm", "status"),
    [
        ([3.0, 2.0, 1.999], "holds"),  # by any measure, every length
        ([3.0, 2.0, 2.001], "depends on the reading"),  # the long one is longer, but gained less
        ([3.0, 3.001, 2.0], "depends on the reading"),  # very small ones: longer, but by less
        ([0.02, 0.3, 4.0], "does not hold"),
    ],
)
def test_what_bigger_means_decides_whether_small_neurons_become_bigger(norm, status):
    assert section4_3_first_step.smaller_becomes_bigger(after_one_step(norm, LENGTHS)).status == status


@pytest.mark.parametrize("critical", [0.5, 2.0, 50.0], ids=["all above", "both", "all below"])
def test_lengths_on_one_side_of_the_critical_one_decide_nothing(critical):
    radius = np.array([1.0, 1.5, 2.0, 3.0, 4.0])
    data = after_one_step(np.sqrt(radius**2 + (critical**2 / radius) ** 2), radius, critical)
    check = section4_3_first_step.length_is_least_at_the_critical_one
    if critical == 2.0:
        assert check(data).status == "holds"
        return
    with pytest.raises(NotEnoughDataError, match=r"pairs of lengths below r\* and above it"):
        check(data)


@pytest.mark.parametrize(
    ("norm", "status"),
    [
        ([3.0, 2.999, 2.5, 2.501, 4.0], "holds"),
        ([3.0, 3.001, 2.5, 2.501, 4.0], "does not hold"),  # grows below the critical length
        ([3.0, 2.999, 2.5, 2.499, 4.0], "does not hold"),  # falls above it
    ],
)
def test_the_critical_length_parts_falling_from_growing(norm, status):
    data = after_one_step(norm, [1.0, 1.5, 2.0, 3.0, 4.0])
    assert section4_3_first_step.length_is_least_at_the_critical_one(data).status == status
