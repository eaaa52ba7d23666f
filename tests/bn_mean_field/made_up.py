"""Made-up data for the claims of the study, in which all is as it should be but for what is given."""

import numpy as np
import xarray as xr
from tests.made_up import changed, claims_by_id, filled

from repdyn.base.verdicts import rounding

CLAIMS = claims_by_id("bn_mean_field")
SAMPLES, CONDITION = 400, 1e4
ROUND_OFF, OF_SUMS, OF_METRIC = rounding(1.0, 10 * SAMPLES), 1e-10, rounding(CONDITION, 50)


def audit(errors):
    """An audit of two draws: largest errors as printed and as corrected by equation, those of the second."""
    pairs = np.array(list(errors.values()))
    data = {
        form: (("draw", "equation"), np.stack([0 * pairs[:, k], pairs[:, k]]))
        for k, form in enumerate(("printed", "corrected"))
    }
    return xr.Dataset(data | {"samples": SAMPLES}, {"equation": list(errors)})


FLOWS = xr.Dataset(
    filled(("against", "dimension", "radius"), (3, 2, 3), gap_a=0.0, gap_b=0.0)
    | filled(("dimension", "radius"), (2, 3), drift=0.0),
    {"against": ["manifold", "manifold_scaled", "vanilla"], "dimension": [2, 5], "radius": [0.5, 1.0, 2.0]},
)


def flows(name, value, **place):
    (data,) = changed(FLOWS, place, **{name: value})
    return data


def metric(**changes):
    """A metric audit in which all is as it should be, but for changes at the last draw."""
    right = {"smallest": 0.5, "kantorovich": 0.5, "alignment": 0.5, "ascent": 1.0, "pairing_printed": 1.0}
    right |= dict.fromkeys(("asymmetry", "others", "round_gap", "pairing", "formula_gap"), 0.0)
    data = {name: ("draw", [value, changes.get(name, value)]) for name, value in right.items()}
    arcs = np.full(4, 2 * np.pi / 4)
    arcs[-1] *= 1 + changes.get("arcs", 0.0)
    return xr.Dataset(data | {"tick_length": ("tick", arcs)}, {"condition": [10.0, CONDITION]})


def radial_fractions(without, exponent):
    """Radial fraction of the gradient over two lengths with eps and without; eps falls off with an exponent."""
    radius, draws = np.array([0.1, 1.0]), 1e-4 * np.arange(4)
    with_eps = 1e-3 * radius[:, None] ** (exponent + draws)
    values = np.stack([np.full((2, 4), without), with_eps])
    return xr.Dataset(
        filled(("with_eps", "radius", "draw"), (2, 2, 4), radial=values, length=1.0) | {"samples": SAMPLES},
        {"with_eps": [0, 1], "radius": radius},
    )


def rates_of_fall(printed, metric):
    rates = {"rate": [1.0, 1.0], "rate_printed": [1.0, printed], "rate_metric": [1.0, metric]}
    return xr.Dataset({name: ("time", values) for name, values in (rates | {"rate_euclidean": [1.1, 1.0]}).items()})


def exits(time=2.0, gronwall=1.5, speed=0.9, growth=1.0):
    n = np.array([10.0, 100.0])
    return xr.Dataset(
        filled(["radius"], [3], exit_time=[3.0, time, np.nan], bound=1.0, gronwall=[gronwall, gronwall, 1.0])
        | filled(["radius"], [3], speed=[0.5, speed, 0.5], speed_bound=1.0)
        | {"stages": ("stage", growth * np.log(n)), "growth": 1.0},
        {"stage": n},
    )


def transport(**bounds):
    """Two pairs of times, the first without exact transport; bounds of the second, 1 but for those given."""
    names = ("w2", "coupled", "bound", "bound_printed", "chord")
    return xr.Dataset({name: ("pair", [np.nan, bounds.get(name, 1.0)]) for name in names})


def weak_form(left, boundary):
    names = {"weak_left": [left, 0.0], "weak_printed": [0.0, 0.0], "weak_boundary": [boundary, 0.0]}
    return xr.Dataset({name: ("test", values) for name, values in names.items()})


ARC = "arc of 0.05 at the antipode, 1 teacher"


def minimization(end=1e-3, late=2e-3, point=0.5, pair=0.5, speed=0.0, arc=1.0):
    """Losses of a start that separates, of one and two point masses and of a thin arc, over twenty records."""
    loss = np.ones((4, 20))
    loss[0, 18:], loss[1, -1], loss[2, -1], loss[3, -1] = (late, end), point, pair, arc
    return xr.Dataset(
        filled(("start", "frame"), (4, 20), relative_loss=loss, speed=speed)
        | filled(["start"], [4], separates=[1, 0, 0, 0], particles=[100, 1, 2, 100]),
        {"start": ["spread", "point", "pair", ARC]},
    )


def lawful_neurons(off):
    """Two neurons, the speed of the second a little off the law."""
    neurons = {"torque": [1.0, 1.0], "length": [1.0, 1.0], "variance": [1.0, 1.0], "speed": [1.0, 1.0 - off]}
    return xr.Dataset({name: ("neuron", values) for name, values in neurons.items()} | {"determinant": 1.0})


def matched(ratio):
    """Ratios of the fastest neurons at equal loss, paired start first, which has both signs of a."""
    shape = ("problem", "start", "step", "iteration"), (1, 5, 1, 1)
    spread = ratio * (1 + 1e-4 * np.array([0.0, -1.0, 1.0, -0.5, 0.5]))[:, None, None]
    return xr.Dataset(
        filled(*shape, matched_ratio=spread, matched_iteration=70.0)
        | filled(("problem", "start", "model", "step", "iteration"), (1, 5, 2, 1, 1), loss=1.0),
        {"problem": ["y = x1"], "model": ["BN", "vanilla"], "step": [0.002], "iteration": [500]}
        | {"look": 500, "paper_step": 0.002},
    )


def sizes(gap, late=0.0):
    """Axis angles and turns of short and long neurons of four random starts after one with both signs; gap in the turn.

    Of 100 neurons as many more short ones are near the axis as the gap has hundredths.
    """
    starts, iterations, neurons = 5, 11, 100
    turned = np.zeros((2, starts, iterations, neurons))
    turned[0] = gap + 1e-4 * np.arange(starts)[:, None, None]
    angle = np.full(turned.shape, 60.0)
    for start in range(starts):
        near = round(50 + 1000 * gap) + start
        angle[0, start, :, :near], angle[1, start, :, : 50 + start] = 5.0, 5.0
    turned[0, :, -1] += late
    dims = ("radius", "start", "iteration", "neuron")
    data = {"axis_angle": (dims, angle), "turned": (dims, turned), "mean_turn": (dims[:3], turned.mean(axis=-1))}
    return xr.Dataset(data, {"radius": [1.0, 10.0]})


def one_step(growth=0.0, law=1.0):
    return xr.Dataset(
        {
            "smallest_growth": ("model", [growth, -1.0]),
            "norm": (("model", "iteration", "neuron"), np.ones((2, 2, 1))),
            "norm_law": ("neuron", [1 / law]),
        },
        {"model": ["BN", "vanilla"], "iteration": [0, 1]},
    )


def batches(bias=-1.0, noise=-0.5):
    """Bias and noise of mini-batches that fall as these powers of their size."""
    batch, groups = np.array([8.0, 16.0, 32.0]), 1e-5 * np.arange(4)
    powers = {name: batch[:, None] ** (p + groups) for name, p in (("bias", bias), ("noise", noise))}
    return xr.Dataset({name: (("batch", "group"), values) for name, values in powers.items()}, {"batch": batch})


def rates(bn=1.0, vanilla=0.0, decades=(2.5, 2.0)):
    """Made-up learning rates: log10 of iterations and range of steps of BN and vanilla networks, six starts."""
    names = ["BN", "vanilla", "vanilla, same function", "BN, many lengths", "vanilla, many lengths"]
    draws = 0.01 * np.arange(7)
    needed = 10 ** (np.array([bn, vanilla, vanilla, bn, vanilla])[:, None] + draws * np.arange(5)[:, None])
    spans = np.array([decades[0], decades[1], decades[1], decades[0], decades[1]])[:, None] + draws
    dims = ("network", "start")
    return xr.Dataset(
        filled((*dims, "step"), (5, 7, 2), needed=needed[..., None])
        | filled(dims, (5, 7), decades=spans, fewest=needed, smallest_step=1.0, largest_step=10.0),
        {"network": names, "start": np.arange(7), "step": [1.0, 2.0]}
        | {"iterations": 10, "spacing": 0.125, "learned": 0.01},
    )


NETWORKS = ["BN", "BN, equal speeds", "BN, b frozen", "vanilla", "vanilla, same function"]
NETWORKS += ["BN, many lengths", "vanilla, many lengths", "BN, two lengths", "BN, step of b"]
NETWORKS += ["BN, many lengths, step of b", "BN, two lengths, step of b"]
OTHERS = {"vanilla": 100.0, "vanilla, same function": 100.0, "BN, equal speeds": 100.0}  # iterations of networks


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


LENGTHS = ("BN, many lengths", "BN, two lengths")


def ranges(vanilla=0, **counts):
    """Learning of which so many steps learn with many and two lengths, at both steps of a or at the step of b alone."""
    widths = {name: counts.get(name.split()[1], 12) for name in LENGTHS}
    widths |= {f"{name}, step of b": counts.get(f"{name.split()[1]}_alone", count) for name, count in widths.items()}
    return features({}, widths | ({"vanilla, many lengths": vanilla} if vanilla else {}))


def near_axes(grown, helped, left):
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
    return xr.Dataset(
        {"axis_angle": (("angle", "network", "start", "iteration", "neuron"), angle)},
        {"angle": [0.0, 45.0, 90.0], "network": ["BN", "BN, equal speeds"], "iteration": [0, 1, 2, 3, 4]},
    )


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


def scan(speed_near_x2, torque_near_x2):
    """Made-up speeds of neurons near either axis, 1 near x1, by target."""
    angles = np.tile([5.0, 10.0, 80.0, 85.0], (2, 4, 1))
    speeds, torques = np.ones((2, 4, 4)), np.ones((2, 4, 4))
    for target in range(2):
        speeds[target, :, 2:] = speed_near_x2[target] * (1 + 0.01 * np.arange(4)[:, None])
        torques[target, :, 2:] = torque_near_x2[target]
    return xr.Dataset(
        filled(("angle", "seed", "neuron"), (2, 4, 4), speed=speeds, torque=torques, axis_angle=angles)
        | filled(("angle", "seed"), (2, 4), outer_contrast=0.0),
        {"angle": [0.0, 90.0]},
    )


GAPS = np.array([1e-6, 1e-4, 1e-2])


def ends(relu, erf):
    """Distances of neighboring starts at the end, of ReLU and erf networks."""
    gaps, dims = np.array([relu, erf]), ("activation", "gap")
    return xr.Dataset(
        {"gap_at_end": (dims, gaps), "cloud_distance": (dims, gaps), "sliding_rate": ("side", [0.2, 0.05, -0.1])},
        {"activation": ["relu", "erf"], "gap": GAPS},
    )


def estimate(change):
    """The change of the output of one pair of point masses, over a printed constant of 1 and a corrected one of 2."""
    return xr.Dataset(
        filled(("radius", "draw"), (1, 2), change=[change, 0.1], distance=1.0)
        | filled(["radius"], [1], constant_printed=1.0, constant=2.0),
        {"radius": [0.5]},
    )


def ratios(by_step):
    """Made-up ratios of largest speeds at one iteration, paired start first."""
    steps = list(by_step)
    draws = np.array([[by_step[h] * (1 + 0.01 * k) for h in steps] for k in range(5)])
    shape = (1, 5, len(steps), 1)
    return xr.Dataset(
        {"ratio": (("problem", "start", "step", "iteration"), draws.reshape(shape))},
        {"problem": ["y = x1"], "start": range(5), "step": steps, "iteration": [500]}
        | {"look": 500, "paper_step": steps[0]},
    )


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
        filled(["run"], [len(rows)], start=start, target=target, width=width, seed=seed)
        | {"time": [0.0, 1.0], "reference": 512, "random_reference": 512},
    )


def edge(relu=-0.17, erf=0.0):
    """Made-up turns of neurons next to an edge: by how much they differ from that of their limit, by activation."""
    required = np.array([[-0.2] * 3, [-0.05] * 3])
    moved = required[:, :1] + np.array([[relu], [erf]])
    return xr.Dataset(
        {"edge_moved": (("activation", "gap"), moved), "edge_required": (("activation", "kink_slope"), required)},
        {"activation": ["relu", "erf"], "gap": [1e-4], "kink_slope": [0.0, 0.5, 1.0]},
    )


FARTHEST, BN, VANILLA = 1, 0, 1


def turns_and_losses():
    """Made-up iterations of neurons that turn by 1 degree each while the loss falls, short ones and long ones."""
    dims = ("later", "start", "radius", "model", "step")
    return xr.Dataset(
        filled(("quantile", *dims), (2, 3, 1, 3, 2, 1), turn_quantile=1.0)
        | filled(dims, (3, 1, 3, 2, 1), loss_growth=0.9)
        | filled(("later", "start", "radius", "step"), (3, 1, 3, 1), loss_growth_kept=1.2),
        {"quantile": [0.5, 1.0], "later": [1, 2, 3], "radius": [0.01, 0.1, 1.0], "model": ["BN", "vanilla"]},
    )


def unsteady(turns, growth):
    """The farthest turn and the loss of very small neurons, which both readings of the neurons count."""
    data = turns_and_losses()
    data["turn_quantile"][FARTHEST, 2, 0, 0, BN] = turns
    data["loss_growth"][2, 0, 0, BN] = growth
    return data


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
