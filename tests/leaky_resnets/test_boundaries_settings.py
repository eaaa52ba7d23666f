"""Made-up networks just inside and just outside of what claims on layer steps, settings and starts allow.

As in `test_boundaries_trained`: a boundary is passed by values, one per seed, whose interval ends just before or behind
it, or by so many of twenty networks that fair coins hardly ever give.
"""

import numpy as np
import pytest
import xarray as xr
from tests.leaky_resnets import made_up
from tests.leaky_resnets.made_up import CLAIMS, FEW, MANY, MOST, SEEDS, SPECTRA, STAGED, decided, restart_measures
from tests.made_up import CORRECTED, HOLDS, READING, REFUTED, UNDECIDED, changed

from repdyn.base.errors import NotEnoughDataError

DECAYED, FREE, FIXED = "decayed maps", "free maps", "fixed maps"
SCHEMES = ["equidistant", "irregular", "adaptive"]
COUNTS = xr.DataArray([4.0, 6.0, 10.0, 18.0], {"layers": [4, 6, 10, 18]})
OTHERS = xr.DataArray([0.0, 1.0, 1.0], {"scheme": SCHEMES})  # irregular and adaptive steps
ADAPTIVE = xr.DataArray([0.0, 0.0, 1.0], {"scheme": SCHEMES})
TURNS = xr.DataArray((-1.0) ** np.arange(18), {"layer": np.arange(18)})
SIX = xr.DataArray(np.where(np.arange(12) < 6, 1.0, 1e-3), {"value": np.arange(12)})
EQUAL_STEPS = np.linspace(0, 1, 19)


def full(dims, number, **coords):
    """A variable over all of its dimensions."""
    return (
        xr.DataArray(np.zeros([len(coords[dim]) for dim in dims]), {d: coords[d] for d in dims}, dims) + number
    ).transpose(*dims)


def schemes():
    """Networks with equidistant, irregular and adaptive steps; adaptive ones have more layers at both ends."""
    coords = {"maps": [DECAYED, FIXED], "scheme": SCHEMES, "layers": COUNTS["layers"].values, "seed": np.arange(SEEDS)}
    coords |= {"node": np.arange(19), "layer": np.arange(18), "value": np.arange(12)}
    over, own = ("maps", "scheme", "layers", "seed"), ("maps", "scheme", "seed")
    variables = {
        "test_ratio_by_layers": (over, np.exp(-OTHERS)),
        "test_error_by_layers": (over, 1 / COUNTS),
        "distance_by_layers": (over, 0.1),
        "unevenness_by_layers": (over, 2 - ADAPTIVE),
        "relative_distance": (own, 0.1),
        "plane_step": ((*own, "layer"), 1 + (0.2 - 0.1 * ADAPTIVE) * TURNS),
        "plane_unevenness": (own, 0.2),
        "p": ((*own, "node"), positions(1.4, 1.2)),
        "weight_spectrum": ((*own, "layer", "value"), SIX),
    }
    data = {name: full(dims, value, **coords) for name, (dims, value) in variables.items()}
    sizes = {"inner": ("part", [6, 3]), "dimension": 10, "width": 30, "points": 300, "steps": 500}
    return xr.Dataset(data).assign_coords(sizes)


def positions(first, last):
    """Nodes of adaptive steps with densities of layers in the first and in the last fifth, others equidistant."""
    nodes = xr.DataArray(made_up.layer_positions(first, last) - EQUAL_STEPS, {"node": np.arange(19)})
    return xr.DataArray(EQUAL_STEPS, {"node": np.arange(19)}) + ADAPTIVE * nodes


def spectrum(values, layer=None):
    """Singular values of the weights, in one layer alone or in all."""
    padded = np.pad(np.array(values, float), (0, 12 - len(values)), constant_values=1e-3)
    changes = {"weight_spectrum": xr.DataArray(padded, {"value": np.arange(12)})}
    return changes, {} if layer is None else {"layer": layer}


SCHEMED = schemes()
STOPS = {"maps": [FREE, FIXED], "seed": np.arange(SEEDS), "stop": np.arange(4), "spectrum_of": SPECTRA, "gamma": [1e-3]}
OWN = ("maps", "seed", "stop")
SPECTRAL = (*OWN, "spectrum_of")
PAPER = xr.Dataset(
    {
        "separation_place": full(SPECTRAL, 3.0, **STOPS),
        "separation_step": full(SPECTRAL, np.log(4.0), **STOPS),
        "first_separation_place": full(SPECTRAL, 6.0, **STOPS),
        "first_separation_step": full(SPECTRAL, 0.1, **STOPS),
        "median_stable": full((*OWN, "gamma"), 3.0, **STOPS),
        "median_hamiltonian": full(OWN, 3.0, **STOPS),
        "relative_distance": full(OWN, xr.DataArray([5.0, 1.0, 0.5, 0.8], dims="stop"), **STOPS),
    }
).assign_coords(steps=("stop", [1000, 5000, 6000, 6000]), descent_rate=("stop", [0.0, 0.0, 0.03, 0.3]))
PAPER = PAPER.assign_coords(rank=3, dimension=30, width=100, points=1000)
LENGTHS = {"maps": [DECAYED, FREE], "seed": np.arange(SEEDS), "steps": [500, 1000, 2000]}
TRAINED = xr.Dataset(
    {"median_hamiltonian": full(tuple(LENGTHS), xr.DataArray([4.0, 9.0, 3.0], dims="steps"), **LENGTHS)}
)
(TRAINED,) = changed(TRAINED, {"maps": DECAYED}, median_hamiltonian=3.5)
FINER = xr.DataArray([10.0, 20.0, 40.0], {"layers": [10, 20, 40]})
REFINED = xr.Dataset(
    {
        "hamiltonian_range": full(("seed", "layers"), 1 / FINER, seed=np.arange(SEEDS), layers=[10, 20, 40]),
        "balance_factor": full(("seed", "layers"), 1.9, seed=np.arange(SEEDS), layers=[10, 20, 40]),
        "cost": xr.DataArray(np.full((SEEDS, 3, 1, 5), 4.0), dims=("seed", "layers", "gamma", "layer")),
    }
)
REFINED["hamiltonian_range"][:, 0] = 50.0  # the coarsest network does not count
PENALTIES = {"teacher": np.arange(SEEDS), "excess": [1.0, 30.0], "spectrum_of": SPECTRA}
EXCESS = xr.Dataset(
    {
        "separation_place": full(tuple(PENALTIES), xr.DataArray([3.0, 1.0], dims="excess"), **PENALTIES),
        "separation_step": full(tuple(PENALTIES), np.log(4.0), **PENALTIES),
        "train_error": full(("teacher", "excess"), xr.DataArray([0.1, 0.9], dims="excess"), **PENALTIES),
    }
).assign_coords(rank=3)
RECORDS = xr.DataArray([100.0, 200, 400, 800, 1600, 3200], {"record": [100, 200, 400, 800, 1600, 3200]})
NAMES = ["cross-entropy", "mean squared error"]
LOSSES = {"loss_name": NAMES, "record": RECORDS["record"].values, "seed": np.arange(SEEDS)}
GROWTH = xr.Dataset({"output_size": full(tuple(LOSSES), RECORDS**0.3, **LOSSES)})
(GROWTH,) = changed(GROWTH, {"loss_name": "mean squared error"}, output_size=1.0)
GRADIENTS = xr.Dataset(
    {"gradient_error": (("draw", "cost"), [[0.0, 0.5], [0.0, 0.5]])}, {"cost": ["|f* - A|^2 / N", "|f* - A|^2 / 2"]}
)
DATA = {  # on each of these the claim holds
    **dict.fromkeys(("lrn-fig2a", "lrn-fig2b-steps", "lrn-fig2c", "lrn-appb-layers", "lrn-adaptive"), (SCHEMED,)),
    "lrn-fig2b": (SCHEMED, STAGED),
    **dict.fromkeys(("lrn-literal", "lrn-sgd"), (PAPER,)),
    "lrn-free-maps": (TRAINED,),
    "lrn-refined": (REFINED,),
    "lrn-over-regularized": (EXCESS,),
    "lrn-cross-entropy": (GROWTH,),
}


def advantage(*logs):
    """Logarithms of the test errors over those of equidistant steps, by number of layers, of both other schemes."""
    return {"test_ratio_by_layers": np.exp(OTHERS * xr.DataArray(np.array(logs, float), {"layers": [4, 6, 10, 18]}))}


def uneven(x):
    """Adaptive steps less uneven than the others' by a factor, in logarithms."""
    return {"plane_step": 1 + (0.2 * np.exp(-x * ADAPTIVE)) * TURNS}


LAST_STOP, LABEL = {"stop": 3}, {"scheme": "adaptive"}
# claim: what is set to x, where, boundaries of x with the verdicts below and above
BOUNDARIES = {
    "lrn-fig2c": [(uneven, {}, [(0, REFUTED, HOLDS)], 1.1)],  # of longest and shortest steps to first order
    "lrn-appb-layers": [(lambda x: {"test_error_by_layers": COUNTS**x}, {}, [(-1e-9, HOLDS, REFUTED)])],
    "lrn-adaptive": [(lambda x: {"unevenness_by_layers": x}, LABEL, [(1.1, HOLDS, READING), (1.25, READING, REFUTED)])],
    "lrn-literal": [
        (lambda x: {"separation_step": x}, LAST_STOP, [(np.log(3), READING, HOLDS), (np.log(2), REFUTED, READING)])
    ],
    "lrn-sgd": [
        (lambda x: {"relative_distance": np.exp(x)}, {"stop": [2, 3]}, [(0, HOLDS, REFUTED)]),
        (lambda x: {"relative_distance": np.exp(x)}, {"stop": 3}, [(0, HOLDS, READING)]),
    ],
    "lrn-free-maps": [
        (lambda x: {"median_hamiltonian": x}, {"maps": FREE, "steps": 2000}, [(4, HOLDS, REFUTED)]),
        (lambda x: {"median_hamiltonian": x}, {"maps": DECAYED, "steps": 2000}, [(2.5, REFUTED, HOLDS)]),
    ],
    "lrn-refined": [
        (
            lambda x: {"hamiltonian_range": FINER**x},
            {"layers": [20, 40]},
            [(-1.5, REFUTED, HOLDS), (-0.5, HOLDS, REFUTED)],
        )
    ],
    "lrn-cross-entropy": [
        (
            lambda x: {"output_size": RECORDS**x},
            {"loss_name": "cross-entropy"},
            [(0.1, REFUTED, HOLDS), (0.5, HOLDS, READING), (1, READING, REFUTED)],
        )
    ],
}


@pytest.mark.parametrize("id", BOUNDARIES)
def test_verdict_changes_where_the_interval_passes_a_boundary(id):
    assert made_up.boundary_failures(id, DATA[id], BOUNDARIES[id]) == []


def change(changes, place=None):
    return changes, {} if place is None else place


AS_PAPER = {"train_error": 0.1, "separation_place": 3.0}
CASES = [  # claim, (what is changed, where), verdict
    ("lrn-fig2a", change(advantage(-1, -1, -1, 2.9)), HOLDS),  # three pairs of four, the mean just lower
    ("lrn-fig2a", change(advantage(-1, -1, -1, 3.1)), READING),
    ("lrn-fig2a", change(advantage(-1, -1, 0.9, 0.9)), READING),  # as often higher as lower
    ("lrn-fig2a", change(advantage(1, 1, 1, -2.9)), REFUTED),
    ("lrn-fig2a", change(advantage(1, 1, 1, -3.1)), READING),
    ("lrn-fig2a", change({"test_ratio_by_layers": np.exp(0.01)}, {"scheme": "irregular"}), REFUTED),
    ("lrn-fig2a", change({"test_ratio_by_layers": np.exp(0.01)}, {"scheme": "adaptive"}), REFUTED),
    ("lrn-fig2a", change({"test_ratio_by_layers": np.exp(0.01)}, {"maps": FIXED}), HOLDS),
    *[
        ("lrn-fig2b", spectrum([1.0] * count), status)
        for count, status in ((4, REFUTED), (5, HOLDS), (7, HOLDS), (8, REFUTED))
    ],
    ("lrn-fig2b", spectrum([1.0] * 3 + [0.51] * 3), HOLDS),
    ("lrn-fig2b", spectrum([1.0] * 3 + [0.49] * 3), READING),  # not large where that is a half
    ("lrn-fig2b", spectrum([1.0] * 3 + [0.101] * 3), READING),  # large where that is a tenth
    ("lrn-fig2b", spectrum([1.0] * 3 + [0.099] * 3), REFUTED),
    ("lrn-fig2b-steps", change({"p": positions(1.41, 1.40)}), HOLDS),
    ("lrn-fig2b-steps", change({"p": positions(1.40, 1.41)}), REFUTED),  # not especially in the beginning
    ("lrn-fig2b-steps", change({"p": positions(1.4, 1.03)}), HOLDS),
    ("lrn-fig2b-steps", change({"p": positions(1.4, 0.99)}), READING),  # more than in the middle: 0.87
    ("lrn-fig2b-steps", change({"p": positions(1.4, 0.91)}), READING),
    ("lrn-fig2b-steps", change({"p": positions(1.4, 0.89)}), REFUTED),  # 0.9 in the middle
    ("lrn-fig2b-steps", change({"p": positions(1.0, 1.0)}, {"maps": FIXED}), HOLDS),
    ("lrn-fig2b-steps", change({"p": positions(1.0, 1.0)}, {"maps": DECAYED}), REFUTED),
    ("lrn-fig2c", change({"plane_step": 1 + 0.05 * TURNS}, {"scheme": "irregular"}), READING),
    ("lrn-fig2c", change({"plane_step": 1 + 0.05 * TURNS}, {"scheme": "equidistant"}), READING),
    ("lrn-fig2c", change({"plane_step": 1.21}, {"scheme": "adaptive", "layer": 3}), READING),  # one step the longest
    ("lrn-fig2c", change({"plane_step": 1.19}, {"scheme": "adaptive", "layer": 3}), HOLDS),
    *[
        ("lrn-appb-layers", change({"test_error_by_layers": COUNTS}, {"scheme": scheme, "maps": DECAYED}), READING)
        for scheme in SCHEMES
    ],
    ("lrn-appb-layers", change({"test_error_by_layers": COUNTS}, {"maps": FIXED}), HOLDS),
    ("lrn-adaptive", change({"unevenness_by_layers": 1.11}, LABEL | {"layers": 18}), READING),  # the most layers
    ("lrn-adaptive", change({"unevenness_by_layers": 1.09}, LABEL | {"layers": 18}), HOLDS),
    ("lrn-adaptive", change({"unevenness_by_layers": 1.39}, LABEL | {"layers": 4}), HOLDS),  # a mean of 1.0975
    ("lrn-adaptive", change({"unevenness_by_layers": 1.41}, LABEL | {"layers": 4}), READING),
    ("lrn-adaptive", change({"unevenness_by_layers": 1.19}, LABEL | {"maps": FIXED}), HOLDS),  # a mean of 1.095
    ("lrn-literal", change({"separation_place": 5.0}, LAST_STOP | {"seed": np.arange(MOST, SEEDS)}), HOLDS),
    ("lrn-literal", change({"separation_place": 5.0}, LAST_STOP | {"seed": np.arange(MANY, SEEDS)}), UNDECIDED),
    ("lrn-literal", change({"separation_place": 1.0}, LAST_STOP | {"seed": np.arange(FEW, SEEDS)}), REFUTED),
    ("lrn-literal", change({"separation_place": 4.0}, LAST_STOP), READING),
    ("lrn-literal", change({"separation_place": 2.0}, LAST_STOP), READING),
    *[("lrn-literal", change({"separation_place": 5.0}, LAST_STOP | {"spectrum_of": of}), READING) for of in SPECTRA],
    ("lrn-literal", change({"separation_place": 5.0}, {"stop": [0, 1, 2]}), HOLDS),
    ("lrn-literal", change({"separation_place": 5.0}, {"maps": FIXED}), HOLDS),
    ("lrn-literal", change({"separation_place": 5.0}, {"maps": FREE}), REFUTED),
    *[  # means of the logarithms over maps; 0.5 and 0.8 with free maps
        ("lrn-sgd", change({"relative_distance": far}, {"stop": [2, 3], "maps": FIXED}), status)
        for far, status in ((1.24, HOLDS), (1.26, READING), (2.01, REFUTED))
    ],
    ("lrn-sgd", change({"relative_distance": 0.1}, {"stop": 0}), HOLDS),  # long before Adam's end
    ("lrn-over-regularized", change({"separation_place": 4.0}, {"excess": 1.0}), HOLDS),
    ("lrn-over-regularized", change({"separation_place": 2.0}, {"excess": 1.0}), HOLDS),
    ("lrn-over-regularized", change({"separation_place": 5.0}, {"excess": 1.0}), REFUTED),
    ("lrn-over-regularized", change({"separation_place": 1.0}, {"excess": 1.0}), REFUTED),
    ("lrn-over-regularized", change({"separation_step": np.log(2.01)}), HOLDS),
    ("lrn-over-regularized", change({"separation_step": np.log(1.99)}), REFUTED),
    ("lrn-over-regularized", change({"train_error": 0.499}, {"excess": 1.0}), HOLDS),
    ("lrn-over-regularized", change({"train_error": 0.501}, {"excess": 1.0}), REFUTED),
    ("lrn-over-regularized", change({"separation_place": 1.0}, {"spectrum_of": ["A", "W", "W centered"]}), HOLDS),
    *[
        ("lrn-over-regularized", change({"train_error": 0.9}, {"excess": 1.0, "teacher": np.arange(count)}), status)
        for count, status in ((SEEDS - MOST, HOLDS), (SEEDS - MANY, UNDECIDED), (SEEDS - FEW, REFUTED))
    ],
    *[
        ("lrn-over-regularized", change(AS_PAPER, {"excess": 30.0, "teacher": np.arange(count)}), status)
        for count, status in ((FEW, HOLDS), (SEEDS - MANY, UNDECIDED), (MOST, REFUTED))
    ],
    ("lrn-refined", change({"hamiltonian_range": 1e-9}, {"layers": 10}), HOLDS),
    (
        "lrn-cross-entropy",
        change({"output_size": 800.0**0.3}, {"loss_name": "cross-entropy", "record": [800, 1600, 3200]}),
        READING,
    ),
    (  # the last growth is in the middle third: the last two thirds show it, the last third alone does not
        "lrn-cross-entropy",
        change({"output_size": 1600.0**0.3}, {"loss_name": "cross-entropy", "record": [1600, 3200]}),
        HOLDS,
    ),
    ("lrn-cross-entropy", change({"output_size": RECORDS**2}, {"loss_name": "mean squared error"}), HOLDS),
]


def test_single_entries_change_the_verdict_or_do_not_count():
    assert made_up.case_failures(DATA, CASES) == []


def test_every_claim_holds_on_its_data_and_every_control_changes_its_part():
    found = {id: decided(id, data) for id, data in DATA.items()}
    assert {id: status for id, status in found.items() if status != (HOLDS, "rejected")} == {}


def test_too_few_seeds_or_networks_far_from_critical_points_decide_nothing():
    far = SCHEMED.assign(distance_by_layers=SCHEMED["distance_by_layers"] + 1.3)
    for data in (SCHEMED.isel(seed=slice(2)), far):
        assert decided("lrn-fig2a", (data,))[0] == UNDECIDED


@pytest.mark.parametrize(("layer", "status"), [(3, HOLDS), (4, READING), (5, READING), (6, READING), (7, HOLDS)])
def test_six_dimensions_are_counted_at_three_positions(layer, status):
    """The layers whose middle is next to 0.25, 0.3 and 0.35 of eighteen equidistant ones are the fifth to seventh."""
    data = changed((SCHEMED, STAGED), {}, p=positions(1.0, 1.0))
    changes, place = spectrum([1.0] * 3, layer)
    assert CLAIMS["lrn-fig2b"](*changed(data, place, **changes)).status == status
    assert CLAIMS["lrn-fig2b"](*changed(data, place | {"scheme": "irregular"}, **changes)).status == HOLDS
    assert CLAIMS["lrn-fig2b"](*changed(data, place | {"maps": FIXED}, **changes)).status == HOLDS


@pytest.mark.parametrize("size", ["dimension", "width", "points", "steps"])
def test_smaller_networks_than_the_papers_say_nothing_of_its_settings(size):
    smaller = PAPER.assign_coords({size: PAPER[size] - 1})
    with pytest.raises(NotEnoughDataError, match=size):
        CLAIMS["lrn-literal"](smaller)


def test_the_papers_settings_are_of_learned_maps_in_any_order():
    (broken,) = changed(PAPER, {"maps": FIXED}, separation_place=5.0)
    assert CLAIMS["lrn-literal"](broken.isel(maps=[1, 0])).status == HOLDS


@pytest.mark.parametrize(
    ("half", "right", "status"),
    [(0.99e-12, 1.0, HOLDS), (1.01e-12, 0.99e-12, CORRECTED), (1.01e-12, 1.01e-12, REFUTED)],
)
def test_momenta_at_the_output_are_those_of_one_cost(half, right, status):
    (data,) = changed(GRADIENTS, {"draw": 1}, gradient_error=xr.DataArray([right, half], dims="cost"))
    data["gradient_error"][0] = 0.0
    assert CLAIMS["lrn-critical"](data).status == status
    assert decided("lrn-critical", (GRADIENTS,)) == (CORRECTED, "rejected")


@pytest.mark.parametrize(
    ("count", "status"), [(5, HOLDS), (6, REFUTED), (2, HOLDS), (1, HOLDS), (0, REFUTED), (3, UNDECIDED)]
)
def test_starts_with_up_to_two_dimensions_fewer_or_more(count, status):
    counts = np.full((3, 5), 3)
    counts[2, 4] = count
    assert CLAIMS["lrn-rank-varies"](restart_measures(counts, 0.249)).status == status
    with pytest.raises(NotEnoughDataError):
        CLAIMS["lrn-rank-varies"](restart_measures(counts, 0.251))


def test_teachers_that_differ_do_not_count_as_starts_that_differ():
    assert decided("lrn-rank-varies", (restart_measures(np.repeat([[3], [4]], 6, axis=1)),))[0] == UNDECIDED
