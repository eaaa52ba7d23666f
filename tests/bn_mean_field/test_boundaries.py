"""Made-up data just inside and just outside of what a claim allows, part by part, with the verdict by name."""

import numpy as np
import pytest
import xarray as xr
from tests.bn_mean_field import made_up as made
from tests.bn_mean_field.made_up import CLAIMS, GAPS, OF_METRIC, OF_SUMS, ROUND_OFF
from tests.made_up import CORRECTED, HOLDS, READING, REFUTED, UNDECIDED

from repdyn.base.errors import NotEnoughDataError
from repdyn.base.verdicts import rounding

UNSTATED = "not reproducible as stated"
JUST = 0.01  # how far inside and outside, of the tolerance

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
    assert CLAIMS[id](made.audit(right)).status == HOLDS
    assert CLAIMS[id](made.audit(right | {line: (outside, inside)})).status == CORRECTED
    assert CLAIMS[id](made.audit(right | {line: (outside, outside)})).status == REFUTED


@pytest.mark.parametrize("id", ONE_FORM)
def test_a_formula_that_is_right_as_printed_has_no_other_form(id):
    line, tolerance = ONE_FORM[id]
    assert CLAIMS[id](made.audit({line: ((1 - JUST) * tolerance, 1.0)})).status == HOLDS
    assert CLAIMS[id](made.audit({line: ((1 + JUST) * tolerance, 0.0)})).status == REFUTED


ON_THE_MANIFOLD = {"against": "manifold", "dimension": 5, "radius": 1.0}
LONGER = {"dimension": 2, "radius": 2.0}


def general(manifold, scaled):
    """Flows on the manifold from a length of 2, with Theorem 2's time and with the one that depends on the length."""
    data = made.flows("gap_b", manifold, against="manifold", **LONGER)
    data["gap_b"].loc[LONGER | {"against": "manifold_scaled"}] = scaled
    return data


def conserved(radial, drift):
    length = {"6, length": (radial * ROUND_OFF, 0.0)}
    return made.audit(length), made.flows("drift", drift, dimension=5, radius=2.0)


def theorem_2(a=0.0, b=0.0, **changes):
    errors = {"Theorem 2, a": (2.0, a), "Theorem 2, b": (2.0, b)}
    return made.audit(errors), made.metric(**changes)


def sides(world, status, name, inside, outside, **others):
    """A world just inside of a boundary, where the verdict is the claim's, and one just outside, which refutes."""
    return [(world(**{name: value}, **others), verdict) for value, verdict in ((inside, status), (outside, REFUTED))]


METRIC = [  # claim, variable, a value just inside, one just outside, which refutes
    ("bnm-prop1-sym", "asymmetry", 0.99 * OF_METRIC, 1.01 * OF_METRIC),
    ("bnm-prop1-pd", "smallest", 0.5 * (1 - 0.99 * OF_METRIC), 0.5 * (1 - 1.01 * OF_METRIC)),
    ("bnm-prop1-spectrum", "smallest", 0.5 * (1 + 0.99 * OF_METRIC), 0.5 * (1 + 1.01 * OF_METRIC)),
    ("bnm-prop1-spectrum", "others", 0.99 * OF_METRIC, 1.01 * OF_METRIC),
    ("bnm-isometry", "round_gap", 0.99 * OF_METRIC, 1.01 * OF_METRIC),
    ("bnm-isometry", "arcs", 0.99e-9, 1.01e-9),
    ("bnm-thm5-regular", "ascent", 1 - 0.99 * OF_METRIC, 1 - 1.01 * OF_METRIC),
]
TRANSPORT = [("bnm-thm4-equicont", "bound_printed", "bound", 1e-6), ("bnm-thm4-chord", "chord", "coupled", 1e-9)]
AGAINST = made.features({"BN": 200.0, **made.OTHERS}, {"BN": 13})  # slower at equal step, faster at its best one
APART = [0.3, 0.3, 0.3]
CONVERGES = made.distances(0.5)
CASES = {  # claim: datasets and the verdict on them, both sides of a boundary next to each other
    "bnm-equiv": [
        *((made.flows(gap, 0.99e-8, **ON_THE_MANIFOLD), HOLDS) for gap in ("gap_a", "gap_b")),
        *((made.flows(gap, 1.01e-8, **ON_THE_MANIFOLD), REFUTED) for gap in ("gap_a", "gap_b")),
        (made.flows("gap_a", 1.0, **ON_THE_MANIFOLD | {"radius": 2.0}), HOLDS),  # lengths other than 1 do not count
        (made.flows("gap_b", 1.0, **ON_THE_MANIFOLD | {"radius": 2.0}), HOLDS),
    ],
    "bnm-norm-general": [
        (general(0.99e-8, 0.0), HOLDS),
        (general(1.01e-8, 0.99e-8), CORRECTED),
        (general(1.01e-8, 1.01e-8), REFUTED),
    ],
    "bnm-norm-conserved": [
        (conserved(0.99, 0.99e-10), HOLDS),
        (conserved(1.01, 0.0), REFUTED),
        (conserved(0.0, 1.01e-10), REFUTED),
    ],
    **{
        id: [row for own, *values in METRIC if own == id for row in sides(made.metric, HOLDS, *values)]
        for id, *_ in METRIC
    },
    "bnm-thm2": [
        (theorem_2(0.99e-10, 0.99e-10), CORRECTED),
        (theorem_2(a=1.01e-10), REFUTED),
        (theorem_2(b=1.01e-10), REFUTED),
        *sides(theorem_2, CORRECTED, "pairing", 0.99 * OF_METRIC, 1.01 * OF_METRIC),
        *sides(theorem_2, CORRECTED, "formula_gap", 0.99 * OF_METRIC, 1.01 * OF_METRIC),
    ],
    "bnm-eps": [  # radial fraction without eps, exponent of its growth with eps
        *sides(made.radial_fractions, HOLDS, "without", 0.99 * ROUND_OFF, 1.01 * ROUND_OFF, exponent=-2.0),
        *sides(made.radial_fractions, HOLDS, "exponent", -2.49, -2.51, without=0.0),
        *sides(made.radial_fractions, HOLDS, "exponent", -1.51, -1.49, without=0.0),
    ],
    "bnm-dissipation": [
        (made.rates_of_fall(1 + 0.99e-5, 1.0), HOLDS),
        (made.rates_of_fall(-1.0, 1 + 0.99e-5), CORRECTED),
        (made.rates_of_fall(-1.0, 1 + 1.01e-5), REFUTED),
    ],
    "bnm-thm4-tr": [
        *sides(made.exits, HOLDS, "time", 1.001, 0.999, gronwall=0.5),
        *sides(made.exits, HOLDS, "gronwall", 1.999, 2.001),
        *sides(made.exits, HOLDS, "speed", 0.999, 1.001),
        *sides(made.exits, HOLDS, "growth", 1.049, 1.051),
    ],
    **{
        id: [
            (made.transport(**{printed: 1.001}), HOLDS),
            (made.transport(**{printed: 0.999}), CORRECTED),
            (made.transport(**{printed: 0.999, corrected: 1 / (1 + 0.9 * slack)}), CORRECTED),
            (made.transport(**{printed: 0.999, corrected: 1 / (1 + 1.1 * slack)}), REFUTED),
        ]
        for id, printed, corrected, slack in TRANSPORT
    },
    "bnm-thm4-weak": [
        (made.weak_form(0.99e-5, 1.0), HOLDS),
        (made.weak_form(1.0, 1 - 0.99e-5), CORRECTED),
        (made.weak_form(1.0, 1 - 1.01e-5), REFUTED),
    ],
    "bnm-thm5": [
        *sides(made.minimization, HOLDS, "end", 0.99e-2, 1.01e-2, late=2e-2),
        *sides(made.minimization, HOLDS, "end", 0.899e-3, 0.901e-3, late=1e-3),
    ],
    "bnm-thm5-counter": [
        *sides(made.minimization, HOLDS, "point", 0.0501, 0.0499),
        *sides(made.minimization, HOLDS, "pair", 0.0501, 0.0499),
        *sides(made.minimization, HOLDS, "speed", 0.99e-8, 1.01e-8),
        *sides(made.minimization, HOLDS, "arc", 0.901, 0.899),
    ],
    "bnm-sec41-law": [(made.lawful_neurons(0.99e-12), HOLDS), (made.lawful_neurons(1.01e-12), REFUTED)],
    "bnm-fig1-matched": [(made.matched(0.99), HOLDS), (made.matched(1.01), REFUTED), (made.matched(1.0), UNDECIDED)],
    "bnm-fig2": [(made.sizes(0.01), HOLDS), (made.sizes(-0.01), REFUTED), (made.sizes(0.01, late=-1.0), READING)],
    "bnm-fig3-norm": [
        (made.one_step(growth=-0.99 * rounding(1.0, 100)), HOLDS),
        (made.one_step(growth=-1.01 * rounding(1.0, 100)), REFUTED),
        (made.one_step(growth=1.0), HOLDS),
    ],
    "bnm-fig3-law": [(made.one_step(law=1 + 0.99e-10), HOLDS), (made.one_step(law=1 + 1.01e-10), REFUTED)],
    "bnm-finite-batch": [
        *sides(made.batches, HOLDS, "bias", -1.24, -1.26),
        *sides(made.batches, HOLDS, "bias", -0.76, -0.74),
        *sides(made.batches, HOLDS, "noise", -0.74, -0.76),
        *sides(made.batches, HOLDS, "noise", -0.26, -0.24),
    ],
    "bnm-sec41-linear": [(made.rates(bn=1.0), HOLDS), (made.rates(bn=-1.0), REFUTED)],
    "bnm-sec41-speedup": [
        (made.features({"BN": 50.0, **made.OTHERS}), HOLDS),
        (made.features({"BN": 200.0, **made.OTHERS}), REFUTED),
        (AGAINST, READING),
    ],
    "bnm-sec42-rate": [
        (made.features({}, {"BN": count, "BN, many lengths": count}), status)
        for count, status in ((12, HOLDS), (11, HOLDS), (9, REFUTED), (8, REFUTED))
    ],
    "bnm-sec42-adaptivity": [
        *((made.ranges(10, many=count, two=count), HOLDS) for count in (12, 11)),
        *((made.ranges(10, many=count, two=count), REFUTED) for count in (9, 8)),
        (made.ranges(many=8, two=8, many_alone=8, two_alone=12), READING),  # in one reading alone
        (made.ranges(many=12, two=8, many_alone=8, two_alone=8), READING),
    ],
    "bnm-sec41-escape": [  # helped by a twentieth and a hundredth of the neurons
        (made.near_axes([52, 52, 52], 12, 12), HOLDS),
        (made.near_axes([47, 47, 47], 12, 12), REFUTED),
        (made.near_axes([52, 52, 52], 8, 12), REFUTED),
        (made.near_axes([52, 52, 52], -8, 12), REFUTED),
        (made.near_axes([52, 52, 52], 12, 6), REFUTED),
        (made.near_axes([52, 52, 47], 12, 12), READING),
    ],
    "bnm-fig1-conc": [
        (made.figure_1([(20, 13), (20, 13)]), HOLDS),  # doubled, and 1.54 times as many as without
        (made.figure_1([(20, 14), (20, 14)]), REFUTED),  # doubled, but 1.43 times as many as without
        (made.figure_1([(19, 12), (19, 12)]), REFUTED),  # not doubled
        (made.figure_1([(20, 13), (19, 12)]), READING),  # by the target
    ],
    "bnm-fig1-speed": [  # speeds and torques near x2 by target
        (made.scan((4.0, 4.0), (2.0, 2.0)), HOLDS),
        (made.scan((4.0, 0.5), (2.0, 0.2)), READING),
        (made.scan((0.5, 0.5), (0.2, 0.2)), REFUTED),
        (made.scan((4.0, 4.0), (4.0, 4.0)), REFUTED),  # faster, but not because of the factor
        (made.scan((1.4, 1.4), (1.0, 1.0)), HOLDS),  # log10 larger by 0.15 with it
        (made.scan((1.1, 1.1), (1.0, 1.0)), REFUTED),  # by 0.04
    ],
    "bnm-abstract-wellposed": [
        (made.ends(2 * GAPS, GAPS), HOLDS),
        (made.ends(APART, GAPS / 2), CORRECTED),
        (made.ends(APART, APART), REFUTED),
        (made.ends(GAPS**0.96, APART), HOLDS),
        (made.ends(GAPS**0.94, GAPS**1.04), CORRECTED),
        (made.ends(APART, GAPS**1.06), REFUTED),
    ],
    "bnm-uniqueness": [
        *((made.ends(GAPS**0, GAPS**power), HOLDS) for power in (0.96, 1.04)),
        *((made.ends(GAPS**0, GAPS**power), REFUTED) for power in (0.94, 1.06)),
    ],
    "bnm-thm4-bl": [
        (made.estimate(change), status)
        for change, status in ((0.999, HOLDS), (1.001, CORRECTED), (1.999, CORRECTED), (2.001, REFUTED))
    ],
    "bnm-fig1-order": [
        (made.ratios({0.1: 10.0, 0.2: 12.0}), HOLDS),
        (made.ratios({0.1: 10.0, 0.2: 100.0}), UNSTATED),
        (made.ratios({0.1: 100.0, 0.2: 200.0}), REFUTED),
        (made.ratios({0.1: 2.0, 0.2: 1.0}), REFUTED),
        (made.ratios({0.1: 3.6, 0.2: 27.0}), HOLDS),  # inside of the half powers of ten, 3.2 and 32
        (made.ratios({0.1: 2.7, 0.2: 35.0}), REFUTED),
    ],
    "bnm-thm4-conv": [
        ((CONVERGES, made.edge(1.1e-3, 0.9e-3)), CORRECTED),
        ((CONVERGES, made.edge(0.9e-3, 0.9e-3)), HOLDS),
        ((CONVERGES, made.edge(1.1e-3, 1.1e-3)), REFUTED),
        ((CONVERGES, made.edge()), CORRECTED),
        ((made.distances(0.26, spread=1e-4), made.edge()), CORRECTED),
        ((made.distances(0.24, spread=1e-4), made.edge()), REFUTED),
        ((made.distances(-0.3), made.edge()), REFUTED),
    ],
    "bnm-fig3-stable": [  # the farthest turn, the growth of the loss
        (made.unsteady(29.9, 0.999), HOLDS),
        (made.unsteady(30.1, 0.999), READING),
        (made.unsteady(60.1, 0.999), READING),
        (made.unsteady(29.9, 1.001), READING),
        (made.unsteady(60.1, 1.001), REFUTED),
    ],
    "bnm-fig3-smaller-bigger": [
        (made.after_one_step([3.0, 2.0, 1.999], [0.01, 0.1, 1.0]), HOLDS),  # by any measure, every length
        (made.after_one_step([3.0, 2.0, 2.001], [0.01, 0.1, 1.0]), READING),  # the long one is longer, but gained less
        (made.after_one_step([3.0, 3.001, 2.0], [0.01, 0.1, 1.0]), READING),  # very small ones: longer, but by less
        (made.after_one_step([0.02, 0.3, 4.0], [0.01, 0.1, 1.0]), REFUTED),
    ],
    "bnm-fig3-critical": [
        (made.after_one_step([3.0, 2.999, 2.5, 2.501, 4.0], [1.0, 1.5, 2.0, 3.0, 4.0]), HOLDS),
        (made.after_one_step([3.0, 3.001, 2.5, 2.501, 4.0], [1.0, 1.5, 2.0, 3.0, 4.0]), REFUTED),  # grows below
        (made.after_one_step([3.0, 2.999, 2.5, 2.499, 4.0], [1.0, 1.5, 2.0, 3.0, 4.0]), REFUTED),  # falls above it
        # a pair of lengths that ends at the critical one, 2, lies below it
        (made.after_one_step([3.0, 2.6, 2.5, 2.6, 4.0], [1.0, 1.5, 2.0, 3.0, 4.0]), HOLDS),
        (made.after_one_step([3.0, 2.4, 2.5, 2.6, 4.0], [1.0, 1.5, 2.0, 3.0, 4.0]), REFUTED),
    ],
}


@pytest.mark.parametrize("id", CASES)
def test_a_verdict_changes_at_its_boundaries(id):
    for place, (data, status) in enumerate(CASES[id]):
        assert CLAIMS[id](*(data if isinstance(data, tuple) else (data,))).status == status, place


def test_the_exponent_of_eps_is_that_of_the_two_largest_lengths():
    """Where eps outweighs the variance, at the least lengths, the fraction no longer depends on the length."""
    data = made.radial_fractions(0.0, -2.0)
    short = data.isel(radius=[0, 0]).assign_coords(radius=[0.001, 0.01])
    long = data.isel(radius=[0, 0]).assign_coords(radius=[10.0, 100.0])
    for parts, status in (((short, data), HOLDS), ((data, long), REFUTED)):
        assert CLAIMS["bnm-eps"](xr.concat(parts, "radius", data_vars="minimal")).status == status


def test_iterations_over_those_of_vanilla_are_means_over_the_drawn_starts():
    verdict = CLAIMS["bnm-sec41-linear"](made.rates(bn=1.0))
    ratio = verdict.facts["iterations of BN over those of vanilla at equal step"]
    assert ratio == pytest.approx(10 ** (1 - 0.035))
    first = made.rates(bn=-1.0)
    first["needed"][{"start": 0}] = 1e9  # both signs of a are no sample
    assert CLAIMS["bnm-sec41-linear"](first).status == REFUTED


@pytest.mark.parametrize(
    ("id", "data"),
    [("bnm-sec41-speedup", made.features({"BN": 50.0})), ("bnm-sec42-adaptivity", made.ranges())],
    ids=["b frozen", "lengths switched off"],
)
def test_what_is_switched_off_speeds_up_and_widens_nothing(id, data):
    assert CLAIMS[id](CLAIMS[id].controls[""].data(data)).status == REFUTED


@pytest.mark.parametrize("id", ["bnm-sec41-speedup", "bnm-sec42-rate", "bnm-sec42-adaptivity"])
def test_tasks_that_need_no_directions_decide_nothing(id):
    with pytest.raises(NotEnoughDataError, match="b frozen"):
        CLAIMS[id](made.features({}, frozen=0.02))


def test_the_start_with_both_signs_is_a_reading_of_its_own():
    data = made.ratios({0.1: 10.0, 0.2: 12.0})
    data["ratio"][{"start": 0, "step": 1}] = 1e3
    assert CLAIMS["bnm-fig1-order"](data).status == UNSTATED


def test_one_slope_at_the_kink_is_enough_to_solve_the_equation():
    data = made.edge()
    data["edge_required"][0, 1] = data["edge_moved"][0, 0]
    assert CLAIMS["bnm-thm4-conv"](CONVERGES, data).status == HOLDS


def test_convergence_needs_three_widths_below_the_reference():
    few = CONVERGES.isel(run=np.flatnonzero(CONVERGES["width"] != 64))
    with pytest.raises(NotEnoughDataError, match="3 widths"):
        CLAIMS["bnm-thm4-conv"](few, made.edge())


def test_false_alarms_of_the_parts_add_up():
    verdict = CLAIMS["bnm-thm4-conv"](CONVERGES, made.edge())
    shares = [part.false_alarm for part in verdict.corrected.parts.values()]
    assert verdict.corrected.false_alarm == pytest.approx(sum(shares))
    assert shares == [0.0, 0.0, 0.0, 5e-4, 5e-4]  # two times share 0.001 in each i.i.d. part


@pytest.mark.parametrize("place", ["first iteration", "vanilla", "median alone"])
def test_other_turns_do_not_count_as_unstable(place):
    data = made.turns_and_losses()
    if place == "first iteration":
        data["turn_quantile"][:, 0], data["loss_growth"][0] = 90.0, 5.0
    if place == "vanilla":
        data["turn_quantile"][:, :, :, :, made.VANILLA], data["loss_growth"][:, :, :, made.VANILLA] = 90.0, 5.0
    if place == "median alone":
        data["turn_quantile"][0] = 90.0
    assert CLAIMS["bnm-fig3-stable"](data).status == HOLDS


def test_long_neurons_alone_leave_open_whether_small_ones_are_stable():
    data = made.turns_and_losses()
    data["turn_quantile"][made.FARTHEST, 1, 0, 2, made.BN], data["loss_growth"][1, 0, 2, made.BN] = 80.0, 1.5
    assert CLAIMS["bnm-fig3-stable"](data).status == READING
    with pytest.raises(NotEnoughDataError, match="2 lengths"):
        CLAIMS["bnm-fig3-stable"](made.turns_and_losses().isel(radius=[1, 2]))


@pytest.mark.parametrize("critical", [0.5, 2.0, 50.0], ids=["all above", "both", "all below"])
def test_lengths_on_one_side_of_the_critical_one_decide_nothing(critical):
    radius = np.array([1.0, 1.5, 2.0, 3.0, 4.0])
    data = made.after_one_step(np.sqrt(radius**2 + (critical**2 / radius) ** 2), radius, critical)
    if critical == 2.0:
        assert CLAIMS["bnm-fig3-critical"](data).status == HOLDS
        return
    with pytest.raises(NotEnoughDataError, match=r"pairs of lengths below r\* and above it"):
        CLAIMS["bnm-fig3-critical"](data)
