"""Made-up networks on two points just inside and just outside of what each claim allows, with the verdict by name.

Where a claim takes an interval, it ends just inside of the border, lies across it, and ends just outside.
"""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.made_up import CORRECTED, HOLDS, READING, REFUTED, UNDECIDED, claims_by_id, filled, near, of, skew

from repdyn.universality.theory.final import from_amplitudes
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

CLAIMS = claims_by_id("universality")
N = 12  # networks
ROWS = (*FIGURE_2, "very_high")
NONE, ALL = np.zeros(N, int), np.ones(N, int)
FIRST = np.arange(N)  # the first k of the networks: FIRST < k


def architectures(changes=(), converged=None):
    """Fits of all networks of Figure 2, R2 of 0.9; changes: network, curves, values; and the runs of equal spread."""
    r2 = np.full((len(ROWS), N, 3), 0.9) + near(0.0)[:, None]
    r2[-1] = 0.1
    for name, curves, values in changes:
        r2[ROWS.index(name), :, curves] = values
    kept = np.ones((len(ROWS), N), int)
    for name, row in (converged or {}).items():
        kept[ROWS.index(name)] = row
    coords = {"network": list(ROWS), "curve": list("hyw")}
    fits = xr.Dataset({"r2": (("network", "seed", "curve"), r2), "converged": (("network", "seed"), kept)}, coords)
    rise = np.broadcast_to(np.linspace(0, 1, 5), (len(ROWS), N, 5))
    runs = dict.fromkeys("hyw", (("network", "seed", "epoch"), rise))
    runs = xr.Dataset(runs | {"units": ("network", np.full(len(ROWS), 100))}, {"network": list(ROWS)})
    altered = np.full((2, N, 3), 0.9)
    ensemble = xr.Dataset(
        {"alternative_r2": (("alternative", "seed", "curve"), altered)},
        {"alternative": ["theory", "square"], "curve": list("hyw")},
    )
    return fits, runs, ensemble


def training_loss(**of_swish):
    """R2 of the training loss of all networks, 0.95 but for one of them."""
    fits = architectures()[0]
    names = {"loss_r2": 0.95, "pair_r2": 0.95, "loss_r2_without_mean": 0.1, "pair_r2_without_y": 0.1}
    data = {}
    for name, value in names.items():
        values = np.full((len(ROWS), N), value) + near(0.0)
        if name in of_swish:
            values[ROWS.index("swish")] = of_swish[name]
        data[name] = (("network", "seed"), values)
    return (fits.assign(data | {"loss_residual": (("network", "seed"), np.ones((len(ROWS), N)))}),)


def adam(lost, of_w=1.0):
    """R2 under gradient descent and under Adam at two rates: at the second w alone has lost, the mean of three this.

    The curve of w is so large beside those of h and y.
    """
    fits, runs, _ = architectures()
    r2 = np.stack([np.full((N, 3), 0.2), np.full((N, 3), 0.9) + near(0.0)[:, None]])
    r2[1, :, 2] -= 3 * np.asarray(lost)
    by_adam = xr.Dataset({"r2": (("rate", "seed", "curve"), r2)}, {"rate": [1e-4, 1e-3], "curve": list("hyw")})
    curves = runs.isel(network=[0, 0]).drop_vars("network").rename(network="rate").assign_coords(rate=by_adam["rate"])
    return by_adam, curves.assign(w=of_w * curves["w"]), fits, runs


def data_sets(printed, ours):
    """Which networks converge on the printed data set and on the other."""
    as_printed = xr.Dataset(
        filled(("network", "seed"), (2, N), converged=[ALL, np.asarray(printed, int)], fit_loss=1.0),
        {"network": ["relu", "default"]},
    )
    ensemble = xr.Dataset(
        {"converged": (("layer", "seed"), np.asarray(ours, int)[None]), "units": 100},
        {"layer": [0], "seed": np.arange(N)},
    )
    return as_printed, ensemble


def rows(last):
    """Which networks converge in each row, all but those of the last one."""
    return architectures(converged={"swish": last, "very_high": ALL})[0], data_sets(NONE, ALL)[0]


TAU = 20.0


def path(start=1.0, rest=0.0):
    """Exponential decay to 1 whose first step is this much slower and which rests after it for so many epochs."""
    epoch = np.arange(1, 399.0)
    way = 1 - np.exp(-np.maximum(epoch - 1 - rest, 0) / TAU)
    largest = 1 - np.exp(-1 / TAU)  # of the way that is left after the first step
    first = start * largest / (1 + start * largest)
    return np.concatenate([[0.0, first], first + (1 - first) * way[1:], [1.0]])


def paths(changes=None, slope=-0.3, smallest=0.95, largest=-0.5):
    """Curves by gain and seed: plateaus at the two smallest, none at the two largest but for the changes.

    The plateau's length in units of the rise has this slope in the rank of the gain.
    """
    ways = np.array([[path(0.1, 100.0)] * 3] * 3 + [[path()] * 3] * 2)
    for (name, curve), how in (changes or {}).items():
        ways[FIGURE_3.index(name), curve] = path(*how)
    h, y, pair = (ways[:, k, None] + np.zeros((5, N, 1)) for k in range(3))
    runs = {"h": 0.1 + h, "y": 0.5 * y, "w": 0.25 * (1 - pair) - (0.5 - 0.5 * y) / 2}
    length = np.exp(np.arange(5)[:, None] * (near(0.0) + slope))
    r2 = np.full((5, N, 3), 0.9)
    r2[0, :, 0], r2[-1, :, 0] = smallest, largest
    dims, coords = ("network", "seed"), {"network": list(FIGURE_3), "curve": list("hyw")}
    fits = xr.Dataset(
        filled(dims, (5, N), quarter=0.0, half=length, three_quarters=1.0, converged=1.0, at_bound=0.0)
        | {"r2": ((*dims, "curve"), r2 + near(0.0)[:, None])},
        coords,
    )
    curves = {name: ((*dims, "epoch"), values) for name, values in runs.items()}
    runs = xr.Dataset(
        curves | {"dy2": ("network", np.full(5, 0.5))}, {"network": list(FIGURE_3), "epoch": np.arange(400.0)}
    )
    return fits, runs


def waits(**changes):
    """Training losses that wait at the level of the mean target for so many times the fall, by gain.

    The fall from three quarters to a quarter takes 10 epochs; records stand at every corner of every loss.
    """
    level, share = 0.5 / 8, np.array([2.0, 1.1, 0.9, 0.75, 0.25, 0.0])
    wait = dict.fromkeys(FIGURE_3, 0.3) | {"low": 3.0, "default": 3.0} | changes
    corners = np.array(
        [
            [np.cumsum([0.0, 10.0, 10 * w, 2.0, 10.0, 5.0]) for w in near(0.0) + np.asarray(wait[name])]
            for name in FIGURE_3
        ]
    )
    epoch = np.unique(corners)
    loss = np.array([[np.interp(epoch, at, level * share) for at in of_gain] for of_gain in corners])
    second = loss - np.interp(epoch, [0.0, 10.0], [0.9 * level, 0.0])
    dims, coords = ("network", "seed"), {"network": list(FIGURE_3)}
    curves = {"loss": loss, "y": 0 * loss, "w": 4 * second - 0.25}
    runs = {name: ((*dims, "epoch"), values) for name, values in curves.items()} | {"dy2": ("network", np.full(5, 0.5))}
    fits = {"converged": (dims, np.ones((5, N))), "loss_r2": (dims, np.ones((5, N)))}
    return xr.Dataset(fits, coords), xr.Dataset(runs, coords | {"epoch": epoch})


TRIGAMMA = np.pi**2 / 2 - 4 * sum(1 / (2 * k + 1) ** 2 for k in range(5))  # at 11/2: variance of a log chi square of 11
SLOPE = stats.norm.ppf(1 - 1e-3 / 4) * np.sqrt(TRIGAMMA / 4 / 10)  # half an interval; squared ranks sum to 10
SIZE = 1e-3 * skew(N)


def spreads(slope, mean=0.0, at_start=1e-6):
    """Final distances whose spread grows with this slope in the rank of the gain, their size with the slope `mean`."""
    rank = np.arange(5)[:, None]
    ends = 0.1 * np.exp(mean * rank) * (1 + np.exp(slope * rank) * SIZE)
    h = np.stack([np.full((5, N), at_start), ends], axis=-1)
    dims, coords = ("network", "seed"), {"network": list(FIGURE_3)}
    runs = {"h": ((*dims, "epoch"), h), "gain": ("network", np.linspace(0.9, 1.4, 5))}
    return xr.Dataset({"converged": (dims, np.ones((5, N)))}, coords), xr.Dataset(runs, coords)


def left_over(ratio):
    """Final distances at the smallest gain, whose logs spread by 1/ratio of what (10) makes of their starts."""
    start, end = np.zeros((5, N)), np.zeros((5, N))
    start[:] = 1e-3 * np.exp(0.5 * skew(N))
    rho = 1e-4
    of_theory = np.log(from_amplitudes(start[0], np.sqrt(rho * 0.5)))  # dx = 1, outputs that start equal
    end[:] = 0.1 * np.exp((of_theory - of_theory.mean()) / ratio)
    end[-1] = np.exp(of_theory)  # at the largest gain the starts are the spread
    dims, coords = ("network", "seed"), {"network": list(FIGURE_3)}
    h = np.stack([start, end], axis=-1)
    runs = {"h": ((*dims, "epoch"), h), "y": ((*dims, "epoch"), 0 * h)}
    of_row = {"dx2": ("network", np.ones(5)), "dy2": ("network", np.full(5, 0.5))}
    fits = filled(dims, (5, N), eta_h=rho, eta_y=1.0, converged=1.0)
    return xr.Dataset(fits, coords), xr.Dataset(runs | of_row, coords)


F = np.sqrt(stats.f.ppf(1 - 1e-3 / 2, N - 1, N - 1))  # ratio of two deviations


def finals(r=0.99999, factor=1.0, both=False, least=0.0):
    """Final distances of two networks of 64 trials; those of the last one, or both, have this correlation and size."""
    theory = np.linspace(1.0, 1.2, 64)
    x = (theory - theory.mean()) / theory.std()
    noise = np.cos(3 * np.pi * np.arange(64) / 63)
    noise -= noise.mean() + x * (noise @ x) / 64
    own = factor * (theory.mean() + theory.std() * (r * x + np.sqrt(1 - r**2) * noise / noise.std()))
    measured = np.stack([own if both else theory, own])
    shape, dims = (2, 4, 4, 4), ("network", "dx", "dy", "seed")
    return (
        xr.Dataset(
            filled(dims, shape, theory=theory.reshape(shape[1:]), measured=measured.reshape(shape), good=1.0)
            | filled(["network"], [2], correlation=1.0, correlation_dy=1.0, dropped=1.0, units=1.0)
            | filled(("network", "distance"), (2, 2), exponent=1.0),
            {"network": ["default", "skip"], "dx": np.linspace(0.5, 1.5, 4), "dy": np.linspace(least, 1, 4)},
        ),
    )


def fisher(level, side, share=1):
    """The correlation of 64 trials whose interval at 0.001 over `share` ends at a level, a little above or below it."""
    half = stats.norm.ppf(1 - 1e-3 / share / 2) / np.sqrt(61)
    return np.tanh(np.arctanh(level) + side * (half + 0.005))


BORDERS = [  # claim, values, boundary, whether the claim allows what is above it, parts, verdict outside
    ("uni-fig3-init", of(paths, "slope"), 0.0, False, 3),
    ("uni-fig3-init", of(paths, "smallest"), 0.8, True, 3),
    ("uni-fig3-init", of(paths, "largest"), 0.5, False, 3),
    ("uni-fig3-loss", of(waits, "low"), 1.0, True, 2, READING),
    ("uni-fig3-loss", of(waits, "default"), 1.0, True, 2, READING),
    ("uni-fig3-loss", lambda v: waits(low=np.full(N, 3.0), very_high=3 * np.exp(-v)), 0.0, True, 2),
]


def swish(value, curves=slice(None), converged=N):
    """All networks match but one, of which so many have converged."""
    return architectures([("swish", curves, value)], {"swish": np.arange(N) < converged})


MOST = next(k for k in range(N + 1) if stats.binomtest(k, N).proportion_ci(1 - 0.05 / len(ROWS)).low > 0.5)
REST = TAU * np.log(2)  # after which exponential decay takes twice as long to its half
LARGE = [(name, curve) for name in ("high", "very_high") for curve in range(3)]
LEVELS = ((0.801, HOLDS), (0.799, READING), (0.501, READING), (0.499, REFUTED))  # of explained variance
CASES = {  # claim: worlds and their verdicts
    "uni-fig2-fit": [
        *((swish(value), status) for value, status in LEVELS),
        (swish(0.801, 2), HOLDS),
        (swish(0.799, 2), READING),  # each curve, not their mean
        (swish(0.499, converged=10), REFUTED),
        (swish(0.499, converged=9), HOLDS),  # too few to decide
    ],
    "uni-fig12-loss": [
        (training_loss(**{name: value}), status) for name in ("loss_r2", "pair_r2") for value, status in LEVELS
    ],
    "uni-fig15-adam": [
        (adam(0.101), HOLDS),
        (adam(0.099), READING),  # w alone is missed
        (adam(0.034), READING),
        (adam(0.033), REFUTED),
        (adam(0.2, of_w=0.1), READING),  # pooled, w counts little
    ],
    "uni-e6-data": [  # of twelve all or none: eleven leave the share open
        (data_sets(ALL, ALL), HOLDS),
        (data_sets(FIRST < 11, ALL), UNDECIDED),
        (data_sets(FIRST < 1, ALL), UNDECIDED),
        (data_sets(NONE, ALL), CORRECTED),
        (data_sets(NONE, FIRST < 11), UNDECIDED),
        (data_sets(NONE, FIRST < 1), UNDECIDED),
        (data_sets(NONE, NONE), REFUTED),
    ],
    "uni-b1-converge": [
        *((rows(count > FIRST), status) for count, status in ((MOST, HOLDS), (N - MOST, REFUTED))),
        *((rows(count > FIRST), UNDECIDED) for count in (MOST - 1, N - MOST + 1)),
    ],
    "uni-fig3-init": [
        (paths(dict.fromkeys(LARGE, (0.505,))), HOLDS),
        *((paths({place: (0.495,)}), READING) for place in LARGE),
        (paths(dict.fromkeys(LARGE, (1.0, 0.98 * REST))), HOLDS),
        *((paths({place: (1.0, 1.02 * REST)}), READING) for place in LARGE),
        (paths(dict.fromkeys(LARGE, (0.24, 3.05 * REST))), REFUTED),
        (paths(dict.fromkeys(LARGE, (0.255, 3.05 * REST))), READING),
        (paths(dict.fromkeys(LARGE, (0.24, 2.9 * REST))), READING),
        (paths({("intermediate", 0): (0.1, 200.0)}), HOLDS),  # not among the large gains
    ],
    "uni-fig3-loss": [
        (waits(low=0.51, default=0.51), READING),  # half of the fall, not the fall
        (waits(low=0.49, default=0.49), REFUTED),
        (waits(low=0.49), READING),
    ],
    "uni-a6-networks": [
        *((spreads(slope * SLOPE), status) for slope, status in ((1.01, HOLDS), (-1.01, REFUTED))),
        *((spreads(slope * SLOPE), UNDECIDED) for slope in (0.99, -0.99)),
        (spreads(1.01 * SLOPE, mean=SLOPE), HOLDS),
        (spreads(-1.01 * SLOPE, mean=4.05 * SLOPE), READING),  # of logarithms alone it falls
    ],
    "uni-a6-left": [
        (left_over(0.099 / F), HOLDS),
        (left_over(0.101 / F), UNDECIDED),
        (left_over(0.099 * F), UNDECIDED),
        (left_over(0.101 * F), REFUTED),
    ],
    "uni-fig5-final": [
        (finals(fisher(np.sqrt(0.8), 1, share=2)), HOLDS),
        (finals(fisher(np.sqrt(0.8), 1)), HOLDS),  # open for each of both networks alone: one reading of twelve
        (finals(np.sqrt(0.8)), UNDECIDED),
        (finals(fisher(np.sqrt(0.8), -1, share=2)), READING),
        *((finals(factor=factor), HOLDS) for factor in (1.499, 1 / 1.499)),
        *((finals(factor=factor), READING) for factor in (1.501, 1 / 1.501)),
        (finals(fisher(np.sqrt(0.5), -1, share=2), factor=3.0, both=True), REFUTED),
        (finals(fisher(np.sqrt(0.5), 1, share=2), factor=3.0, both=True), READING),
        (finals(factor=1.999, both=True), READING),
        (finals(least=0.001), UNDECIDED),
    ],
}
RIGHT = [  # claim, a world with the verdict that the claim has there, in which its controls have to turn it
    ("uni-fig2-fit", architectures(), HOLDS),
    ("uni-fig12-loss", training_loss(), HOLDS),
    ("uni-fig15-adam", adam(0.2), HOLDS),
    ("uni-e6-data", data_sets(NONE, ALL), CORRECTED),
    ("uni-b1-converge", rows(ALL), HOLDS),
    ("uni-fig3-init", paths(), HOLDS),
    ("uni-fig3-loss", waits(), HOLDS),
    ("uni-a6-networks", spreads(2 * SLOPE), HOLDS),
    ("uni-a6-left", left_over(0.05 / F), HOLDS),
    ("uni-fig5-final", finals(), HOLDS),
]


@pytest.mark.parametrize(("share", "both"), [(1, "undecided"), (2, "passes")])
def test_networks_that_are_decided_together_share_the_false_alarm(share, both):
    readings = CLAIMS["uni-fig5-final"](*finals(fisher(np.sqrt(0.8), 1, share))).printed.readings
    outcomes = {name: test.outcome for name, test in readings.items() if "four fifths" in name}
    assert outcomes == {
        "networks: default; measure: four fifths of the variance": "passes",
        "networks: skip; measure: four fifths of the variance": "passes",
        "networks: each of them; measure: four fifths of the variance": both,
    }


@pytest.mark.parametrize(("factor", "outcome"), [(1.999, "passes"), (2.001, "fails")])
def test_within_a_factor_of_two_is_a_reading(factor, outcome):
    readings = CLAIMS["uni-fig5-final"](*finals(factor=factor)).printed.readings
    assert readings["networks: skip; measure: within a factor of 2"].outcome == outcome


def test_spreads_of_logarithms_distances_and_their_squares_are_readings():
    """Sizes that double and redouble with the gain make squares spread more, and distances half as much more."""
    outcomes = [
        [test.outcome for test in CLAIMS["uni-a6-networks"](*spreads(slope, mean)).printed.readings.values()]
        for slope, mean in ((-1.02 * SLOPE, 4.1 * SLOPE), (-1.02 * SLOPE, 2.1 * SLOPE))
    ]
    assert outcomes == [["fails", "passes", "passes"], ["fails", "passes", "undecided"]]
