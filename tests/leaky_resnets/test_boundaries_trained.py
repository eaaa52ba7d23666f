"""Made-up chains just inside and just outside of what claims on them allow, the verdict by name.

A boundary is passed by values, one per seed, whose interval ends a hundredth of its half-width before or behind it;
where the interval lies across it nothing is decided. Kinds of maps, estimates, layers and depths are changed alone.
"""

import numpy as np
import pytest
import xarray as xr
from tests.leaky_resnets import made_up, made_up_chains
from tests.leaky_resnets.made_up import CLAIMS, FEW, MANY, MOST, SEEDS, SPECTRA, decided, samples
from tests.leaky_resnets.made_up_chains import DECAYED, DEPTH, FIXED, FREE, LAYER, LAYERS, MAPS, NO_BIAS, along, chains
from tests.made_up import CORRECTED, HOLDS, READING, REFUTED, UNDECIDED, changed

from repdyn.base.errors import NotEnoughDataError

LAST, PAPERS, SECOND, SHALLOW = ({"effective_depth": depth} for depth in (10.0, 7.0, 4.0, 2.0))
RISING, FALLING = along("effective_depth", 0, 1, 2, 3), along("effective_depth", 30, 20, 10, 4)
FIRST_LAYER, ROOT = 1.0 * (LAYER == 0), np.sqrt(2) - 1
NOTED = {"relative_distance": 0.1}
APPROACH = {"median_hamiltonian": RISING, "median_stable": RISING, "least_cost": FALLING, **NOTED}
FROM_ABOVE = along("effective_depth", 4, 3.5, 3.2, 3)
OF_DECAYED, OF_FIXED = (
    xr.where(made_up_chains.by_maps(1, 0, 0, 0) == 1, FROM_ABOVE, others)
    for others in (RISING, along("effective_depth", 0, 1, 2.9, 9))
)
FAST = 100 * FIRST_LAYER + 1e-2 * (1 - FIRST_LAYER) / DEPTH**2
RAMP = 10.0 * (LAYER + 1)
RAMPS = {"hamiltonian": 0.01 * RAMP, "stable_hamiltonian": 0.01 * RAMP, "kinetic": RAMP, "cost": RAMP}
LARGE_ENDS = 1 + 9.0 * ((LAYER == 0) | (LAYER == LAYERS - 1))
GAPS = along("effective_depth", -20, -10, -5, -0.5)
SIZES = {"stable_length": 1.0, "momentum": 2.0, "alignment": 2.0, "largest_momentum": 2.0, "median_alignment": 2.0}
DATA = {  # on each of these the claim holds
    "lrn-fig1a": (chains(**APPROACH, separation_place=3.0),),
    "lrn-fig1a-decayed": (chains(**APPROACH | {"median_hamiltonian": OF_DECAYED, "median_stable": OF_DECAYED}),),
    "lrn-fig1a-free": (chains(**APPROACH | {"median_hamiltonian": along("effective_depth", 0, 2, 3.5, 3)}),),
    "lrn-fig1a-fixed": (
        chains(**APPROACH | {"median_stable": OF_FIXED, "least_cost": along("effective_depth", 30, 20, 4, 7)}),
    ),
    "lrn-no-bias-rank": (chains(median_hamiltonian=made_up_chains.by_maps(3, 3, 3, 4)),),
    "lrn-fig1b": (chains(separation_place=3.0, separation_step=np.log(4.0)),),
    "lrn-only-nonneg": (
        chains(least_negative=0.0, negative=0.4 * xr.DataArray(1.0 * (np.arange(21) > 19), dims="node")),
    ),
    "lrn-prop5-trained": (chains(least_negative=0.1 / DEPTH, negative=0.1 / DEPTH),),
    "lrn-ends-jumps": (chains(kinetic=1 + 99 * FIRST_LAYER, cost=1 + 99 * FIRST_LAYER, speed=1.0),),
    "lrn-fig1-speed": (chains(kinetic=FAST, cost=FAST, median_hamiltonian=0.0),),
    "lrn-fig1c": (chains(**RAMPS, median_hamiltonian=0.0, hamiltonian_range=0.0),),
    "lrn-fig1c-ends": (chains(kinetic=LARGE_ENDS),),
    "lrn-thm4-trained": (chains(gap=GAPS, hamiltonian=3.0, least_cost=3 - GAPS, bound_low=0.0, bound_high=0.0),),
    "lrn-long-steps": (chains(merged_change=along("place", 0.8, 0.05, 0.5), merged_step=1.5),),
    "lrn-image-never": (chains(image_gap=1e-2),),
    "lrn-fig3": (chains(length=2.0, least_cost=FALLING, **SIZES),),
    "lrn-balanced-size": (chains(weight_sq=4.0, cost=RAMP**2),),
    "lrn-b-inverse": (chains(activation=RAMP, momentum=1 / RAMP),),
    "lrn-ab-identity": (
        xr.Dataset(
            {
                "identity": (("bias", "layer"), np.zeros((2, 3))),
                "increment": (("bias", "layer"), np.ones((2, 3))),
                "size": (("bias", "layer"), np.full((2, 3), 5.0)),
            }
        ),
        chains(identity_error=0.0, identity_error_without=1.0),
    ),
}
LEARNED, WITH_BIAS = {"maps": [DECAYED, FREE]}, {"maps": [DECAYED, FREE, FIXED]}


def powers(name, scale=1.0):
    """A variable that goes with a power of the effective depth."""
    return lambda x: {name: scale * DEPTH**x}


def in_layer(layer, inside=1.0):
    """Kinetic energies of ten to a power over the others in one layer."""
    return lambda x: {"kinetic": inside + (layer == LAYER) * (10.0**x - inside) + 9 * (LAYERS - 1 - layer == LAYER)}


def two_sizes(x):
    """Squared weights of layers that are larger and smaller in turn: a standard deviation of x of the mean."""
    return {"weight_sq": (1 + x * (-1.0) ** LAYER) ** 2}


def one_size(x):
    """Squared weights of layers of which the last alone is larger."""
    return {"weight_sq": (1 + x * (LAYER == LAYERS - 1)) ** 2}


def fast_layers(x):
    """The first layer's speed goes with a power of the effective depth, and the extra cost with it."""
    energy = 100 * FIRST_LAYER * DEPTH ** (2 * x - 2) + 1e-2 * (1 - FIRST_LAYER) / DEPTH**2
    return {"kinetic": energy, "cost": energy}


def slow_layers(x):
    """The slow layers' speed goes with a power of the effective depth."""
    energy = 100 * FIRST_LAYER + 1e-4 * (1 - FIRST_LAYER) * DEPTH ** (2 * x - 2)
    return {"kinetic": energy, "cost": energy}


def off_proportion(x):
    """The speed off the root of the extra cost by a factor of two to a power, up in one seed and down in the next."""
    turn = xr.where(x["seed"] % 2 == 0, 1.0, -1.0)
    return {"kinetic": FAST * 4.0 ** (turn * x), "cost": FAST}


def proportions(x):
    """Kinetic energy as a power of the extra cost; a Hamiltonian that is constant."""
    return {"kinetic": RAMP**x, "cost": RAMP, "hamiltonian": 0.0, "stable_hamiltonian": 0.0}


def first_and_last(name, first, middle, last):
    return {name: first * (DEPTH == 2) + middle * ((DEPTH > 2) & (DEPTH < 10)) + last * (DEPTH == 10)}


BOTH = ("median_hamiltonian", "median_stable")
NEGATIVE, ALONG = ("least_negative", "negative"), ("hamiltonian", "stable_hamiltonian")
FEWER = {"maps": NO_BIAS} | LAST
# claim: what is set to x, where, boundaries of x with the verdicts below and above
BOUNDARIES = {
    "lrn-fig1a": [
        (lambda x: dict.fromkeys(BOTH, x), WITH_BIAS | PAPERS, [(3, HOLDS, REFUTED)]),
        (lambda x: dict.fromkeys(BOTH, x), WITH_BIAS | SECOND, [(3, HOLDS, REFUTED)]),
        (lambda x: dict.fromkeys(BOTH, x), WITH_BIAS | LAST, [(2, REFUTED, HOLDS), (4, HOLDS, REFUTED)]),
        (
            lambda x: first_and_last("median_hamiltonian", 2.9, 2.5, x) | first_and_last("median_stable", 2.9, 2.5, x),
            WITH_BIAS,
            [(2.9, REFUTED, HOLDS)],
        ),
        (lambda x: {"least_cost": x}, WITH_BIAS | LAST, [(2, REFUTED, HOLDS), (6, HOLDS, REFUTED)]),
        (lambda x: {"least_cost": x}, WITH_BIAS | SHALLOW, [(4, REFUTED, HOLDS)]),
    ],
    "lrn-fig1a-decayed": [
        (lambda x: {"median_hamiltonian": x}, {"maps": DECAYED} | LAST, [(2, REFUTED, HOLDS), (4, HOLDS, REFUTED)]),
        (lambda x: {"median_stable": x}, {"maps": DECAYED} | LAST, [(2, REFUTED, HOLDS), (4, HOLDS, REFUTED)]),
        (lambda x: {"median_stable": x}, {"maps": DECAYED} | SHALLOW, [(3, REFUTED, HOLDS)]),
        (lambda x: {"least_cost": x}, {"maps": DECAYED} | LAST, [(2, REFUTED, HOLDS), (6, HOLDS, REFUTED)]),
        (lambda x: {"least_cost": x}, {"maps": DECAYED} | SHALLOW, [(4, REFUTED, HOLDS)]),
    ],
    "lrn-fig1a-free": [
        (lambda x: {"median_hamiltonian": x}, {"maps": FREE} | LAST, [(2, REFUTED, HOLDS), (4, HOLDS, REFUTED)]),
        (lambda x: {"median_hamiltonian": x}, {"maps": FREE} | PAPERS, [(3, REFUTED, HOLDS)]),
        (lambda x: {"median_hamiltonian": x}, {"maps": FREE} | SHALLOW, [(3, HOLDS, REFUTED)]),
        (lambda x: {"median_stable": x}, {"maps": FREE} | LAST, [(2, REFUTED, HOLDS), (4, HOLDS, REFUTED)]),
        (lambda x: {"least_cost": x}, {"maps": FREE} | LAST, [(2, REFUTED, HOLDS), (6, HOLDS, REFUTED)]),
        (lambda x: {"least_cost": x}, {"maps": FREE} | SHALLOW, [(4, REFUTED, HOLDS)]),
    ],
    "lrn-fig1a-fixed": [
        (lambda x: {"median_stable": x}, {"maps": FIXED} | PAPERS, [(2, REFUTED, HOLDS), (4, HOLDS, REFUTED)]),
        (lambda x: {"median_stable": x}, {"maps": FIXED} | SECOND, [(3, HOLDS, REFUTED)]),
        (lambda x: {"median_stable": x}, {"maps": FIXED} | SHALLOW, [(2.9, HOLDS, REFUTED)]),
        (lambda x: {"least_cost": x}, {"maps": FIXED} | PAPERS, [(2, REFUTED, HOLDS), (6, HOLDS, REFUTED)]),
        (lambda x: {"least_cost": x}, {"maps": FIXED} | SHALLOW, [(4, REFUTED, HOLDS)]),
    ],
    "lrn-no-bias-rank": [
        (lambda x: {"median_hamiltonian": 3 + x}, FEWER, [(1e-9, REFUTED, HOLDS), (1.5, HOLDS, REFUTED)])
    ],
    "lrn-fig1b": [
        (lambda x: {"separation_step": x}, PAPERS, [(np.log(3), READING, HOLDS), (np.log(2), REFUTED, READING)])
    ],
    "lrn-only-nonneg": [
        (lambda x: dict.fromkeys(NEGATIVE, x), LAST, [(0.01, HOLDS, READING), (0.05, READING, REFUTED)])
    ],
    "lrn-prop5-trained": [
        (lambda x: dict.fromkeys(NEGATIVE, DEPTH**x), place, [(-0.5, HOLDS, READING), (-1e-9, READING, REFUTED)])
        for place in ({}, {"maps": NO_BIAS})
    ],
    "lrn-fig1-speed": [
        (fast_layers, {}, [(0.75, REFUTED, HOLDS), (1.25, HOLDS, REFUTED)]),
        (slow_layers, {}, [(0.25, HOLDS, REFUTED)]),
        (off_proportion, {}, [(0.5, HOLDS, REFUTED)]),
    ],
    "lrn-fig1c": [
        (lambda x: dict.fromkeys(ALONG, x * RAMP), PAPERS, [(0.1, HOLDS, READING), (0.25, READING, REFUTED)]),
        (proportions, {}, [(0.75, REFUTED, HOLDS), (1.25, HOLDS, REFUTED)]),
    ],
    "lrn-fig1c-ends": [
        (in_layer(layer), PAPERS, [(np.log10(1.1), REFUTED, READING), (np.log10(2), READING, HOLDS)])
        for layer in (0, LAYERS - 1)
    ],
    "lrn-thm4-trained": [
        (lambda x: {"gap": x, "least_cost": 3 - x}, LAST, [(-1, REFUTED, HOLDS), (1, HOLDS, REFUTED)]),
        (
            lambda x: (
                first_and_last("gap", -0.5, 0.1, x) | {"least_cost": 3 - first_and_last("gap", -0.5, 0.1, x)["gap"]}
            ),
            {},
            [(-0.5, REFUTED, HOLDS), (0.5, HOLDS, REFUTED)],
        ),
    ],
    "lrn-long-steps": [
        (lambda x: {"merged_change": x}, {"place": "middle"} | LAST, [(0.1, HOLDS, READING), (0.25, READING, REFUTED)])
    ],
    "lrn-fig3": [
        (powers("length"), {}, [(-0.5, REFUTED, READING), (-0.25, READING, HOLDS)]),
        *[
            (lambda x, names=names: dict.fromkeys(names, DEPTH**x), {}, [(0.25, HOLDS, READING), (0.5, READING, steep)])
            for names, steep in (
                (("length",), CORRECTED),
                (("momentum", "largest_momentum"), REFUTED),
                (("alignment", "median_alignment"), REFUTED),
            )
        ],
    ],
    "lrn-balanced-size": [
        (two_sizes, {}, [(0.1, HOLDS, READING), (0.2, READING, REFUTED)]),
        (one_size, {}, [(ROOT, HOLDS, READING)]),
    ],
    "lrn-b-inverse": [
        (lambda x: {"momentum": RAMP**x}, {}, [(-1.5, REFUTED, READING), (-1.25, READING, HOLDS)]),
        (lambda x: {"momentum": RAMP**x}, {}, [(-0.75, HOLDS, READING), (-0.5, READING, REFUTED)]),
    ],
}


@pytest.mark.parametrize("id", BOUNDARIES)
def test_verdict_changes_where_the_interval_passes_a_boundary(id):
    assert made_up.boundary_failures(id, DATA[id], BOUNDARIES[id]) == []


def test_every_claim_holds_on_its_data_and_every_control_changes_its_part():
    found = {id: decided(id, data) for id, data in DATA.items() if id != "lrn-fig3"}
    assert {id: status for id, status in found.items() if status != (HOLDS, "rejected")} == {}


GROWN = changed(DATA["lrn-fig3"], {}, length=1.0 * DEPTH)


def test_controls_of_figure_3_change_the_verdict_where_the_length_grows():
    """Its controls are for what the correction says: the length is to grow, the alignment is not."""
    assert CLAIMS["lrn-fig3"](*DATA["lrn-fig3"]).status == HOLDS
    assert decided("lrn-fig3", GROWN) == (CORRECTED, "rejected")


@pytest.mark.parametrize(
    ("names", "boundary", "below", "above"),
    [
        (("length",), 0.5, READING, CORRECTED),  # below, one reading of the printed form allows it
        (("momentum", "largest_momentum"), 0.5, CORRECTED, CORRECTED),  # not said to grow
        (("alignment", "median_alignment"), 0.25, CORRECTED, REFUTED),
        (("alignment", "median_alignment"), -0.25, REFUTED, CORRECTED),
        (("alignment",), 0.25, CORRECTED, READING),
        (("median_alignment",), 0.25, CORRECTED, READING),
    ],
)
@pytest.mark.parametrize("maps", [[DECAYED, FREE], DECAYED, FREE])
def test_the_correction_of_figure_3_fails_where_an_exponent_passes_its_boundary(names, boundary, below, above, maps):
    def status(x):
        return CLAIMS["lrn-fig3"](*changed(GROWN, {"maps": maps}, **dict.fromkeys(names, DEPTH**x))).status

    of_one_kind = {REFUTED: READING} if isinstance(maps, str) else {}
    wanted = [of_one_kind.get(outcome, outcome) for outcome in (below, above)]
    assert [status(samples(boundary, halves)) for halves in (-1.01, 1.01)] == wanted


SOME, ONE_NODE = [DECAYED, FREE, FIXED], xr.DataArray(1.0 * (np.arange(LAYERS + 1) == 8), dims="node")
COUNTED = {  # claim: what is outside, the kinds of maps each of which changes the verdict alone; others do not count
    "lrn-fig1a": (dict.fromkeys(BOTH, 4.5), LAST, SOME),
    "lrn-fig1a-decayed": (dict.fromkeys(BOTH, 4.5), LAST, [DECAYED]),
    "lrn-fig1a-free": (dict.fromkeys(BOTH, 4.5), LAST, [FREE]),
    "lrn-fig1a-fixed": ({"median_stable": 4.5}, PAPERS, [FIXED]),
    "lrn-no-bias-rank": ({"median_hamiltonian": 5.0}, LAST, [DECAYED, NO_BIAS]),
    "lrn-fig1b": ({"separation_place": 5.0}, PAPERS, SOME),
    "lrn-only-nonneg": (dict.fromkeys(NEGATIVE, 0.1), LAST, SOME),
    "lrn-prop5-trained": (dict.fromkeys(NEGATIVE, 0.1), {}, MAPS),
    "lrn-fig1-speed": ({"kinetic": FAST * DEPTH, "cost": FAST * DEPTH}, {}, SOME),
    "lrn-fig1c": ({"kinetic": RAMP**1.5}, PAPERS, [DECAYED, FREE]),
    "lrn-fig1c-ends": ({"kinetic": 1.0}, PAPERS, SOME),
    "lrn-thm4-trained": ({"gap": -1.5, "least_cost": 4.5}, LAST, [DECAYED, FREE]),
    "lrn-long-steps": ({"merged_change": 0.3}, {"place": "middle"} | LAST, SOME),
    "lrn-image-never": ({"image_gap": 1e-6}, {}, SOME),
    "lrn-balanced-size": (two_sizes(0.3), LAST, SOME),
    "lrn-b-inverse": ({"momentum": 1.0}, LAST, [DECAYED, FREE]),
}
OF_ONE = {"lrn-fig1a-decayed", "lrn-fig1a-free", "lrn-fig1a-fixed", "lrn-no-bias-rank"}  # no readings, so refuted


@pytest.mark.parametrize("id", COUNTED)
def test_one_kind_of_maps_changes_the_verdict_only_of_claims_on_it(id):
    changes, place, kinds = COUNTED[id]
    for maps in MAPS:
        outside = REFUTED if id in OF_ONE or (id, maps) == ("lrn-prop5-trained", NO_BIAS) else READING
        found = CLAIMS[id](*changed(DATA[id], place | {"maps": maps}, **changes)).status
        assert found == (outside if maps in kinds else HOLDS), maps


def peak(size, layer=9, maps=DECAYED, names=("kinetic", "cost")):
    """A peak of one chain at one depth, of speed and cost, over both sides."""
    heights = {"kinetic": float(size) ** 2, "cost": float(size)}
    return {name: heights[name] for name in names}, {"maps": maps, "seed": 19, "layer": layer} | PAPERS


def scores(name, value, count=SEEDS, spectra=None):
    """Largest steps at another place in so many networks."""
    place = PAPERS | {"seed": np.arange(count)} | ({"spectrum_of": spectra} if spectra else {})
    return {name: value}, place


CASES = [  # claim, (what is changed, where), verdict
    ("lrn-fig1a", ({"median_stable": 4.5}, WITH_BIAS | LAST), READING),  # one of two estimates
    ("lrn-fig1a", ({"median_hamiltonian": 3.5}, WITH_BIAS | LAST), HOLDS),
    ("lrn-fig1a", ({"median_hamiltonian": 9.0}, {"maps": FIXED} | LAST), HOLDS),  # too far from critical points
    ("lrn-fig1a", ({"median_hamiltonian": 9.0}, {"maps": FREE} | LAST), READING),
    ("lrn-fig1a", ({"separation_place": 1.0}, LAST), READING),  # two dimensions less than the task's: 5 for 3
    ("lrn-fig1a", ({"separation_place": 1.0}, SHALLOW), HOLDS),
    ("lrn-fig1a-fixed", ({"median_hamiltonian": 99.0}, {}), HOLDS),  # of the form without momenta alone
    ("lrn-fig1b", scores("separation_place", 5.0, SEEDS - MOST), HOLDS),
    ("lrn-fig1b", scores("separation_place", 5.0, SEEDS - MANY), UNDECIDED),
    ("lrn-fig1b", scores("separation_place", 5.0, SEEDS - FEW), REFUTED),
    ("lrn-fig1b", scores("separation_place", 4.0), READING),
    ("lrn-fig1b", scores("separation_place", 2.0), READING),
    *[("lrn-fig1b", scores("separation_place", 5.0, SEEDS, [of]), READING) for of in SPECTRA],
    ("lrn-fig1b", scores("separation_place", 5.0, SEEDS, ["W", "W centered"]), REFUTED),
    ("lrn-fig1b", ({"separation_place": 5.0}, LAST), HOLDS),
    *[
        ("lrn-only-nonneg", ({"negative": 0.1}, LAST | {"node": node}), status)
        for node, status in ((3, HOLDS), (4, READING), (16, READING), (17, HOLDS))
    ],
    # the largest over 1 %, its mean of five not
    ("lrn-only-nonneg", ({"negative": 0.049}, LAST | {"node": 8}), READING),
    ("lrn-only-nonneg", (dict.fromkeys(NEGATIVE, 0.5), PAPERS), HOLDS),
    # near 1/2 the mean counts, which is a fifth of what one of five layers has
    ("lrn-only-nonneg", ({"least_negative": 0.06, "negative": 0.06 * ONE_NODE}, LAST), READING),
    ("lrn-only-nonneg", ({"least_negative": 0.06, "negative": 0.26 * ONE_NODE}, LAST), REFUTED),
    ("lrn-ends-jumps", peak(1.49), HOLDS),
    ("lrn-ends-jumps", peak(1.51), READING),
    ("lrn-ends-jumps", peak(2.99), READING),
    ("lrn-ends-jumps", peak(3.01), REFUTED),
    ("lrn-ends-jumps", peak(3.01, np.arange(9, LAYERS)), HOLDS),  # a cliff is no peak
    ("lrn-ends-jumps", peak(3.01, maps=FIXED), REFUTED),
    ("lrn-ends-jumps", peak(3.01, maps=NO_BIAS), HOLDS),
    ("lrn-ends-jumps", peak(3.01, names=["cost"]), READING),
    ("lrn-ends-jumps", peak(3.01, names=["kinetic"]), READING),
    *[
        ("lrn-ends-jumps", peak(3.01, layer), status)
        for layers, status in (((1, 18), HOLDS), ((2, 3, 16), READING), ((4, 15), REFUTED))
        for layer in layers
    ],
    # grows with the depth there
    ("lrn-fig1-speed", ({"kinetic": 1e-2, "cost": 1e-2}, {"layer": [8, 9, 10, 11]}), READING),
    ("lrn-fig1c", ({"stable_hamiltonian": RAMP}, PAPERS), READING),
    ("lrn-fig1c", ({"stable_hamiltonian": RAMP}, {"maps": FIXED} | PAPERS), READING),
    ("lrn-fig1c", ({"hamiltonian": RAMP}, {"maps": FIXED} | PAPERS), HOLDS),  # momenta far from critical points
    ("lrn-fig1c", ({"hamiltonian": 0.15 * RAMP}, PAPERS), READING),
    ("lrn-fig1c", ({"hamiltonian": RAMP}, LAST), HOLDS),
    ("lrn-fig1c", ({"hamiltonian": 60.0, "stable_hamiltonian": 60.0}, PAPERS | {"layer": 0}), READING),  # one end alone
    ("lrn-fig1c-ends", ({"kinetic": 1.5}, PAPERS | {"layer": 0}), READING),
    ("lrn-fig1c-ends", ({"kinetic": 1.0}, PAPERS | {"layer": 0}), REFUTED),
    ("lrn-fig1c-ends", ({"kinetic": 1.0}, PAPERS | {"layer": 19}), REFUTED),
    ("lrn-fig1c-ends", ({"kinetic": 2.1}, PAPERS | {"layer": [0, 19]}), HOLDS),
    ("lrn-fig1c-ends", ({"kinetic": 6.0}, PAPERS | {"layer": 5}), HOLDS),
    ("lrn-thm4-trained", ({"gap": 1.01}, LAST), READING),  # of the median layer alone
    ("lrn-thm4-trained", ({"hamiltonian": 10.0}, LAST | {"layer": 7}), HOLDS),  # the mean moves by 0.35
    ("lrn-thm4-trained", ({"hamiltonian": 43.0}, LAST | {"layer": 7}), READING),  # by 2
    ("lrn-long-steps", ({"merged_change": 0.9}, {"place": ["start", "end"]}), HOLDS),
    ("lrn-long-steps", ({"merged_change": 0.9}, PAPERS), HOLDS),
    *[
        ("lrn-image-never", ({"image_gap": 0.0}, {"layer": np.arange(whole)}), status)
        for whole, status in ((1, HOLDS), (3, READING), (4, READING), (6, REFUTED))
    ],
    *[
        ("lrn-image-never", ({"image_gap": gap}, {}), status)
        for gap, status in ((1.01e-4, HOLDS), (0.99e-4, READING), (1.01e-5, READING), (0.99e-5, REFUTED))
    ],
    ("lrn-fig3", ({"length": DEPTH}, {"maps": FIXED}), READING),
    ("lrn-fig3", (dict.fromkeys(set(SIZES) - {"stable_length"}, DEPTH), {"maps": FIXED}), HOLDS),
    ("lrn-fig3", ({"largest_momentum": DEPTH}, {}), READING),  # the median over layers stays
    ("lrn-fig3", ({"alignment": 2 * DEPTH}, {"layer": 3}), READING),  # the largest grows
    ("lrn-fig3", ({"momentum": 2 * DEPTH}, {"layer": 3}), HOLDS),
    ("lrn-balanced-size", (two_sizes(0.3), PAPERS), READING),
    ("lrn-balanced-size", (two_sizes(0.3), SECOND), HOLDS),
    ("lrn-b-inverse", ({"momentum": 1.0}, PAPERS), READING),
    ("lrn-b-inverse", ({"momentum": 1.0}, SECOND), HOLDS),
    ("lrn-ab-identity", ({"identity": 5 * 0.99e-12}, None), HOLDS),
    ("lrn-ab-identity", ({"identity": -5 * 1.01e-12}, None), REFUTED),
    ("lrn-ab-identity", ({"identity_error": -0.99e-12}, None), HOLDS),
    ("lrn-ab-identity", ({"identity_error": -1.01e-12}, None), REFUTED),
]


def test_single_entries_change_the_verdict_or_do_not_count():
    assert made_up.case_failures(DATA, CASES) == []


def test_too_few_seeds_or_maps_or_another_rank():
    """Two seeds decide no trend; claims on all maps need all of them."""
    found = {id: decided(id, (DATA[id][0].isel(seed=slice(2)),))[0] for id in ("lrn-fig1a", "lrn-fig1b", "lrn-fig1c")}
    assert set(found.values()) == {UNDECIDED}
    for maps in (DECAYED, FIXED):
        assert decided("lrn-fig1a", (DATA["lrn-fig1a"][0].drop_sel(maps=maps),))[0] == UNDECIDED
    with pytest.raises(NotEnoughDataError, match="maps"):
        CLAIMS["lrn-ends-jumps"](DATA["lrn-ends-jumps"][0].sel(maps=[NO_BIAS]))
    for id in ("lrn-fig1a", "lrn-fig1b"):
        assert CLAIMS[id](DATA[id][0].assign_coords(rank=6)).status == REFUTED


@pytest.mark.parametrize(("x", "status"), [(0.0999, HOLDS), (0.1001, READING), (0.2501, READING)])
def test_the_stable_hamiltonian_of_figure_1c_is_read_at_every_gamma(x, status):
    (chain,) = DATA["lrn-fig1c"]
    other = chain.assign(stable_hamiltonian=chain["stable_hamiltonian"] * 100 * x).assign_coords(gamma=[1e-2])
    assert decided("lrn-fig1c", (xr.concat([chain, other], "gamma", data_vars="minimal"),))[0] == status
