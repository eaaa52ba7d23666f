"""Made-up data just inside and just outside of what a claim allows, part by part, with the verdict by name.

Claims whose worlds take more to make up are in `test_claims`.
"""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.claims import claims_of
from repdyn.base.verdicts import rounding
from repdyn.pipeline.run.execute.loading import load_modules

CLAIMS = {claim.id: claim for claim in claims_of(*load_modules("bn_mean_field", "claims"))}
HOLDS, CORRECTED, REFUTED, READING = "holds", "holds as corrected", "does not hold", "depends on the reading"
SAMPLES, CONDITION = 400, 1e4
ROUND_OFF, OF_SUMS, OF_METRIC = rounding(1.0, 10 * SAMPLES), 1e-10, rounding(CONDITION, 50)
JUST = 0.01  # how far inside and outside, of the tolerance


def audit(errors):
    """An audit of two draws: largest errors as printed and as corrected by equation, those of the second."""
    pairs = np.array(list(errors.values()))
    data = {
        form: (("draw", "equation"), np.stack([0 * pairs[:, k], pairs[:, k]]))
        for k, form in enumerate(("printed", "corrected"))
    }
    return xr.Dataset(data | {"samples": SAMPLES}, {"equation": list(errors)})


LINES = {  # claim: its equations and their tolerance
    "bnm-eq12": (["12"], ROUND_OFF),
    "bnm-sec41-mean": (["4.1, size"], ROUND_OFF),
    "bnm-thm2-proof": (["Theorem 2, proof"], OF_SUMS),
    "bnm-eq6-sign": (["6, a", "6, b"], ROUND_OFF),
    "bnm-eq7": (["7, a", "7, b, unit length"], ROUND_OFF),
    "bnm-eq8": (["8, a", "8, b"], ROUND_OFF),
    "bnm-sec4-eq21": (["21", "22"], ROUND_OFF),
    "bnm-sec42-1c": (["4.2, BN", "4.2, vanilla"], ROUND_OFF),
    "bnm-sec42-angle": (["4.2, direction, BN", "4.2, direction, vanilla"], ROUND_OFF),
}
ONE_FORM = {
    "bnm-eq3": ("3", ROUND_OFF),
    "bnm-eq14": ("14", ROUND_OFF),
    "bnm-prop1-proof": ("Proposition 1, proof", OF_SUMS),
}


@pytest.mark.parametrize(("id", "line"), [(id, line) for id, (lines, _) in LINES.items() for line in lines])
def test_a_formula_is_decided_by_the_largest_error_of_each_line(id, line):
    lines, tolerance = LINES[id]
    inside, outside = (1 - JUST) * tolerance, (1 + JUST) * tolerance
    right = dict.fromkeys(lines, (inside, inside))
    assert CLAIMS[id](audit(right)).status == HOLDS
    assert CLAIMS[id](audit(right | {line: (outside, inside)})).status == CORRECTED
    assert CLAIMS[id](audit(right | {line: (outside, outside)})).status == REFUTED


@pytest.mark.parametrize("id", ONE_FORM)
def test_a_formula_that_is_right_as_printed_has_no_other_form(id):
    line, tolerance = ONE_FORM[id]
    assert CLAIMS[id](audit({line: ((1 - JUST) * tolerance, 1.0)})).status == HOLDS
    assert CLAIMS[id](audit({line: ((1 + JUST) * tolerance, 0.0)})).status == REFUTED


FLOWS = xr.Dataset(
    {
        "gap_a": (("against", "dimension", "radius"), np.zeros((3, 2, 3))),
        "gap_b": (("against", "dimension", "radius"), np.zeros((3, 2, 3))),
        "drift": (("dimension", "radius"), np.zeros((2, 3))),
    },
    {"against": ["manifold", "manifold_scaled", "vanilla"], "dimension": [2, 5], "radius": [0.5, 1.0, 2.0]},
)


def flows(name, value, **place):
    data = FLOWS.copy(deep=True)
    data[name].loc[place] = value
    return data


@pytest.mark.parametrize("name", ["gap_a", "gap_b"])
def test_flows_are_equal_within_the_solver(name):
    check = CLAIMS["bnm-equiv"]
    place = {"against": "manifold", "dimension": 5, "radius": 1.0}
    assert check(flows(name, 0.99e-8, **place)).status == HOLDS
    assert check(flows(name, 1.01e-8, **place)).status == REFUTED
    assert check(flows(name, 1.0, **(place | {"radius": 2.0}))).status == HOLDS  # lengths other than 1 do not count


@pytest.mark.parametrize(
    ("manifold", "scaled", "status"),
    [(0.99e-8, 0.0, HOLDS), (1.01e-8, 0.99e-8, CORRECTED), (1.01e-8, 1.01e-8, REFUTED)],
)
def test_other_lengths_refute_the_loss_of_generality(manifold, scaled, status):
    data = flows("gap_b", manifold, against="manifold", dimension=2, radius=2.0)
    data["gap_b"].loc[{"against": "manifold_scaled", "dimension": 2, "radius": 2.0}] = scaled
    assert CLAIMS["bnm-norm-general"](data).status == status


@pytest.mark.parametrize(
    ("radial", "drift", "status"), [(0.99, 0.99e-10, HOLDS), (1.01, 0.0, REFUTED), (0.0, 1.01e-10, REFUTED)]
)
def test_norms_are_kept_within_round_off_and_the_solver(radial, drift, status):
    data = audit({"6, length": (radial * ROUND_OFF, 0.0)}), flows("drift", drift, dimension=5, radius=2.0)
    assert CLAIMS["bnm-norm-conserved"](*data).status == status


def metric(**changes):
    """A metric audit in which all is as it should be, but for changes at the last draw."""
    right = {
        "asymmetry": 0.0,
        "smallest": 0.5,
        "kantorovich": 0.5,
        "alignment": 0.5,
        "others": 0.0,
        "round_gap": 0.0,
        "ascent": 1.0,
        "pairing": 0.0,
        "pairing_printed": 1.0,
        "formula_gap": 0.0,
    }
    data = {name: ("draw", [value, changes.get(name, value)]) for name, value in right.items()}
    arcs = np.full(4, 2 * np.pi / 4)
    arcs[-1] *= 1 + changes.get("arcs", 0.0)
    return xr.Dataset(data | {"tick_length": ("tick", arcs)}, {"condition": [10.0, CONDITION]})


METRIC = {  # claim: variable -> value just inside and just outside
    "bnm-prop1-sym": {"asymmetry": (0.99 * OF_METRIC, 1.01 * OF_METRIC)},
    "bnm-prop1-pd": {"smallest": (0.5 * (1 - 0.99 * OF_METRIC), 0.5 * (1 - 1.01 * OF_METRIC))},
    "bnm-prop1-spectrum": {
        "smallest": (0.5 * (1 + 0.99 * OF_METRIC), 0.5 * (1 + 1.01 * OF_METRIC)),
        "others": (0.99 * OF_METRIC, 1.01 * OF_METRIC),
    },
    "bnm-isometry": {"round_gap": (0.99 * OF_METRIC, 1.01 * OF_METRIC), "arcs": (0.99e-9, 1.01e-9)},
    "bnm-thm5-regular": {"ascent": (1 - 0.99 * OF_METRIC, 1 - 1.01 * OF_METRIC)},
}


@pytest.mark.parametrize(("id", "name"), [(id, name) for id, names in METRIC.items() for name in names])
def test_statements_on_the_metric_hold_within_round_off(id, name):
    inside, outside = METRIC[id][name]
    assert CLAIMS[id](metric(**{name: inside})).status == HOLDS
    assert CLAIMS[id](metric(**{name: outside})).status == REFUTED


@pytest.mark.parametrize(
    ("a", "b", "changes", "status"),
    [
        ((2.0, 0.99e-10), (2.0, 0.99e-10), {}, CORRECTED),
        ((2.0, 1.01e-10), (2.0, 0.0), {}, REFUTED),
        ((2.0, 0.0), (2.0, 1.01e-10), {}, REFUTED),
        ((2.0, 0.0), (2.0, 0.0), {"pairing": 0.99 * OF_METRIC}, CORRECTED),
        ((2.0, 0.0), (2.0, 0.0), {"pairing": 1.01 * OF_METRIC}, REFUTED),
        ((2.0, 0.0), (2.0, 0.0), {"formula_gap": 0.99 * OF_METRIC}, CORRECTED),
        ((2.0, 0.0), (2.0, 0.0), {"formula_gap": 1.01 * OF_METRIC}, REFUTED),
    ],
)
def test_the_manifold_gradient_has_four_parts(a, b, changes, status):
    data = audit({"Theorem 2, a": a, "Theorem 2, b": b}), metric(**changes)
    assert CLAIMS["bnm-thm2"](*data).status == status


def radial_fractions(without, exponent):
    """Radial fraction of the gradient over two lengths with eps and without; eps falls off with an exponent."""
    radius, draws = np.array([0.1, 1.0]), 1e-4 * np.arange(4)
    with_eps = 1e-3 * radius[:, None] ** (exponent + draws)
    values = np.stack([np.full((2, 4), without), with_eps])
    return xr.Dataset(
        {
            "radial": (("with_eps", "radius", "draw"), values),
            "length": (("with_eps", "radius", "draw"), np.ones((2, 2, 4))),
            "samples": SAMPLES,
        },
        {"with_eps": [0, 1], "radius": radius},
    )


@pytest.mark.parametrize(
    ("without", "exponent", "status"),
    [
        (0.99 * ROUND_OFF, -2.0, HOLDS),
        (1.01 * ROUND_OFF, -2.0, REFUTED),
        (0.0, -2.49, HOLDS),
        (0.0, -2.51, REFUTED),
        (0.0, -1.51, HOLDS),
        (0.0, -1.49, REFUTED),
    ],
)
def test_eps_breaks_scale_invariance_at_an_exponent_near_minus_2(without, exponent, status):
    assert CLAIMS["bnm-eps"](radial_fractions(without, exponent)).status == status


def test_the_exponent_of_eps_is_that_of_the_two_largest_lengths():
    """Where eps outweighs the variance, at the least lengths, the fraction no longer depends on the length."""
    data = radial_fractions(0.0, -2.0)
    short = data.isel(radius=[0, 0]).assign_coords(radius=[0.001, 0.01])
    long = data.isel(radius=[0, 0]).assign_coords(radius=[10.0, 100.0])
    for parts, status in (((short, data), HOLDS), ((data, long), REFUTED)):
        assert CLAIMS["bnm-eps"](xr.concat(parts, "radius", data_vars="minimal")).status == status


@pytest.mark.parametrize(
    ("printed", "metric_rate", "status"),
    [(1 + 0.99e-5, 1.0, HOLDS), (-1.0, 1 + 0.99e-5, CORRECTED), (-1.0, 1 + 1.01e-5, REFUTED)],
)
def test_dissipation_is_a_rate(printed, metric_rate, status):
    rates = {"rate": [1.0, 1.0], "rate_printed": [1.0, printed], "rate_metric": [1.0, metric_rate]}
    data = xr.Dataset({name: ("time", values) for name, values in (rates | {"rate_euclidean": [1.1, 1.0]}).items()})
    assert CLAIMS["bnm-dissipation"](data).status == status


def exits(time=2.0, gronwall=1.5, speed=0.9, growth=1.0):
    n = np.array([10.0, 100.0])
    return xr.Dataset(
        {
            "exit_time": ("radius", [3.0, time, np.nan]),
            "bound": ("radius", [1.0, 1.0, 1.0]),
            "gronwall": ("radius", [gronwall, gronwall, 1.0]),
            "speed": ("radius", [0.5, speed, 0.5]),
            "speed_bound": ("radius", [1.0, 1.0, 1.0]),
            "stages": ("stage", growth * np.log(n)),
            "growth": 1.0,
        },
        {"stage": n},
    )


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"time": 1.001, "gronwall": 0.5}, HOLDS),
        ({"time": 0.999, "gronwall": 0.5}, REFUTED),
        ({"gronwall": 1.999}, HOLDS),
        ({"gronwall": 2.001}, REFUTED),
        ({"speed": 0.999}, HOLDS),
        ({"speed": 1.001}, REFUTED),
        ({"growth": 1.049}, HOLDS),
        ({"growth": 1.051}, REFUTED),
    ],
)
def test_boundaries_of_exit_times(changes, status):
    assert CLAIMS["bnm-thm4-tr"](exits(**changes)).status == status


@pytest.mark.parametrize(
    ("id", "printed", "corrected", "slack"),
    [("bnm-thm4-equicont", "bound_printed", "bound", 1e-6), ("bnm-thm4-chord", "chord", "coupled", 1e-9)],
)
def test_transport_is_held_against_both_bounds(id, printed, corrected, slack):
    names = {"w2": 1.0, "coupled": 1.0, "bound": 1.0, "bound_printed": 1.0, "chord": 1.0}

    def status(**changes):
        pairs = {name: ("pair", [np.nan, changes.get(name, value)]) for name, value in names.items()}
        return CLAIMS[id](xr.Dataset(pairs)).status

    assert status(**{printed: 1.001}) == HOLDS
    assert status(**{printed: 0.999}) == CORRECTED
    assert status(**{printed: 0.999, corrected: 1 / (1 + 0.9 * slack)}) == CORRECTED
    assert status(**{printed: 0.999, corrected: 1 / (1 + 1.1 * slack)}) == REFUTED


@pytest.mark.parametrize(
    ("left", "printed", "boundary", "status"),
    [(0.99e-5, 0.0, 1.0, HOLDS), (1.0, 0.0, 1 - 0.99e-5, CORRECTED), (1.0, 0.0, 1 - 1.01e-5, REFUTED)],
)
def test_the_weak_form_is_zero_or_the_boundary_term(left, printed, boundary, status):
    names = {"weak_left": [left, 0.0], "weak_printed": [printed, 0.0], "weak_boundary": [boundary, 0.0]}
    assert CLAIMS["bnm-thm4-weak"](xr.Dataset({name: ("test", v) for name, v in names.items()})).status == status


ARC = "arc of 0.05 at the antipode, 1 teacher"


def minimization(end=1e-3, late=2e-3, point=0.5, pair=0.5, speed=0.0, arc=1.0):
    """Losses of a start that separates, of one and two point masses and of a thin arc, over twenty records."""
    loss = np.ones((4, 20))
    loss[0, 18:], loss[1, -1], loss[2, -1], loss[3, -1] = (late, end), point, pair, arc
    return xr.Dataset(
        {
            "relative_loss": (("start", "frame"), loss),
            "speed": (("start", "frame"), np.full((4, 20), speed)),
            "separates": ("start", [1, 0, 0, 0]),
            "particles": ("start", [100, 1, 2, 100]),
        },
        {"start": ["spread", "point", "pair", ARC]},
    )


@pytest.mark.parametrize(
    ("id", "changes", "status"),
    [
        ("bnm-thm5", {"end": 0.99e-2, "late": 2e-2}, HOLDS),
        ("bnm-thm5", {"end": 1.01e-2, "late": 2e-2}, REFUTED),
        ("bnm-thm5", {"end": 0.899e-3, "late": 1e-3}, HOLDS),
        ("bnm-thm5", {"end": 0.901e-3, "late": 1e-3}, REFUTED),
        ("bnm-thm5-counter", {"point": 0.0501}, HOLDS),
        ("bnm-thm5-counter", {"point": 0.0499}, REFUTED),
        ("bnm-thm5-counter", {"pair": 0.0501}, HOLDS),
        ("bnm-thm5-counter", {"pair": 0.0499}, REFUTED),
        ("bnm-thm5-counter", {"speed": 0.99e-8}, HOLDS),
        ("bnm-thm5-counter", {"speed": 1.01e-8}, REFUTED),
        ("bnm-thm5-counter", {"arc": 0.901}, HOLDS),
        ("bnm-thm5-counter", {"arc": 0.899}, REFUTED),
    ],
)
def test_boundaries_of_losses_in_theorem_5_and_its_counterexamples(id, changes, status):
    assert CLAIMS[id](minimization(**changes)).status == status


@pytest.mark.parametrize(("off", "status"), [(0.99e-12, HOLDS), (1.01e-12, REFUTED)])
def test_speed_is_torque_times_factor_within_round_off(off, status):
    neurons = {"torque": [1.0, 1.0], "length": [1.0, 1.0], "variance": [1.0, 1.0], "speed": [1.0, 1.0 - off]}
    data = xr.Dataset({name: ("neuron", values) for name, values in neurons.items()} | {"determinant": 1.0})
    assert CLAIMS["bnm-sec41-law"](data).status == status


@pytest.mark.parametrize(("ratio", "status"), [(0.99, HOLDS), (1.01, REFUTED), (1.0, "not decidable at this scale")])
def test_at_equal_loss_the_fastest_neurons_are_compared(ratio, status):
    shape = ("problem", "start", "step", "iteration")
    spread = ratio * (1 + 1e-4 * np.array([0.0, -1.0, 1.0, -0.5, 0.5]))  # the first has both signs of a
    data = xr.Dataset(
        {
            "matched_ratio": (shape, spread[None, :, None, None]),
            "matched_iteration": (shape, np.full((1, 5, 1, 1), 70.0)),
            "loss": (("problem", "start", "model", "step", "iteration"), np.ones((1, 5, 2, 1, 1))),
        },
        {
            "problem": ["y = x1"],
            "model": ["BN", "vanilla"],
            "step": [0.002],
            "iteration": [500],
            "look": 500,
            "paper_step": 0.002,
        },
    )
    assert CLAIMS["bnm-fig1-matched"](data).status == status


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


@pytest.mark.parametrize(("gap", "late", "status"), [(0.01, 0.0, HOLDS), (-0.01, 0.0, REFUTED), (0.01, -1.0, READING)])
def test_short_neurons_converge_first_under_every_reading(gap, late, status):
    assert CLAIMS["bnm-fig2"](sizes(gap, late)).status == status


def one_step(growth=0.0, law=1.0):
    return xr.Dataset(
        {
            "smallest_growth": ("model", [growth, -1.0]),
            "norm": (("model", "iteration", "neuron"), np.ones((2, 2, 1))),
            "norm_law": ("neuron", [1 / law]),
        },
        {"model": ["BN", "vanilla"], "iteration": [0, 1]},
    )


@pytest.mark.parametrize(
    ("id", "changes", "status"),
    [
        ("bnm-fig3-norm", {"growth": -0.99 * rounding(1.0, 100)}, HOLDS),
        ("bnm-fig3-norm", {"growth": -1.01 * rounding(1.0, 100)}, REFUTED),
        ("bnm-fig3-norm", {"growth": 1.0}, HOLDS),
        ("bnm-fig3-law", {"law": 1 + 0.99e-10}, HOLDS),
        ("bnm-fig3-law", {"law": 1 + 1.01e-10}, REFUTED),
    ],
)
def test_boundaries_of_lengths_after_one_step(id, changes, status):
    assert CLAIMS[id](one_step(**changes)).status == status


@pytest.mark.parametrize(
    ("bias", "noise", "status"),
    [
        (-1.24, -0.5, HOLDS),
        (-1.26, -0.5, REFUTED),
        (-0.76, -0.5, HOLDS),
        (-0.74, -0.5, REFUTED),
        (-1.0, -0.74, HOLDS),
        (-1.0, -0.76, REFUTED),
        (-1.0, -0.26, HOLDS),
        (-1.0, -0.24, REFUTED),
    ],
)
def test_boundaries_of_the_exponents_of_batches(bias, noise, status):
    batch, groups = np.array([8.0, 16.0, 32.0]), 1e-5 * np.arange(4)
    powers = {name: batch[:, None] ** (p + groups) for name, p in (("bias", bias), ("noise", noise))}
    data = xr.Dataset({name: (("batch", "group"), values) for name, values in powers.items()}, {"batch": batch})
    assert CLAIMS["bnm-finite-batch"](data).status == status
