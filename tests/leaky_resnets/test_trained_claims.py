"""Claims on trained networks decide made-up measures as they should: the paper's picture, the mended one, too few"
" seeds."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.claims import claims_of, decide
from repdyn.leaky_resnets.claims import discretisation, sampled, trained_bottleneck, trained_hamiltonian

DEPTHS = np.array([2.0, 4.0, 7.0, 10.0])
MAPS = ["decayed maps", "free maps", "fixed maps", "decayed maps, no bias"]
LAYERS, VALUES = 20, 8
CHAIN = {one.id: one for one in claims_of(trained_hamiltonian, trained_bottleneck)}


def chain_measures(seeds: int = 12, *, from_below: bool = True, rank: int = 3, noise: float = 0.05) -> xr.Dataset:
    """Measures of chains as the paper describes them; `from_below=False` puts -2 H / Lt above k* at small Lt."""
    rng = np.random.default_rng(0)
    p = (np.arange(LAYERS) + 0.5) / LAYERS
    shape = (len(MAPS), seeds, len(DEPTHS))
    scatter = noise * rng.standard_normal((*shape, 1))
    away = np.exp(-DEPTHS[:, None] / 2.5) * (-8.0 if from_below else 4.0)
    kept = np.array([rank, rank, rank, rank + 1])[:, None, None, None]
    H = kept + away + scatter + 0.01 * np.sin(6 * p)
    kinetic = 1e-2 + (300 * np.exp(-p * 12) + 6 * p**8) + 30 * np.exp(-DEPTHS[:, None] / 2)
    kinetic = kinetic * np.exp(noise * rng.standard_normal((*shape, 1)))
    node = np.linspace(0, 1, LAYERS + 1)
    negative = 0.4 * (2 * np.abs(node - 0.5)) ** 4 + 0.3 * DEPTHS[:, None] ** -3.0
    steps = np.where(np.arange(VALUES) < kept, 1.0, 0.05)
    one = np.ones((*shape, 1, 1))
    grow = DEPTHS[:, None] ** 1.0
    made = {
        "hamiltonian": (("layer",), H),
        "stable_hamiltonian": (("gamma", "layer"), H[..., None, :]),
        "kinetic": (("gamma", "layer"), kinetic[..., None, :]),
        "cost": (("gamma", "layer"), (kinetic + H)[..., None, :]),
        "relative_distance": ((), np.full(shape, 0.05)),
        "gap": (("gamma",), np.full((*shape, 1), -10.0)),
        "bound_low": (("gamma",), np.full((*shape, 1), -20.0)),
        "bound_high": (("gamma",), np.full((*shape, 1), 0.5)),
        "spectrum": (
            ("node", "value"),
            one * steps[..., None, :] * np.exp(noise * rng.standard_normal((*shape, 1, 1))),
        ),
        "negative": (("node",), negative * np.exp(noise * rng.standard_normal((*shape, 1)))),
        "weight_sq": (("layer",), 50 + p + noise * rng.standard_normal((*shape, 1))),
        "length": ((), np.broadcast_to(grow[:, 0], shape)),
        "stable_length": (("gamma",), np.broadcast_to(grow, (*shape, 1))),
        "momentum": (("layer",), np.broadcast_to(grow / (1 + p), (*shape, LAYERS))),
        "activation": (("layer",), (1 + p) * np.exp(noise * rng.standard_normal((*shape, 1)))),
        "alignment": (("layer",), 2 + noise * rng.standard_normal((*shape, LAYERS))),
    }
    made["weight_spectrum"] = (("layer", "value"), made["spectrum"][1] * np.ones((LAYERS, 1)))
    made["centred_spectrum"] = (("node", "value"), made["spectrum"][1] * np.ones((LAYERS + 1, 1)))
    made["spectrum"], made["centred_weight_spectrum"] = made["centred_spectrum"], made["weight_spectrum"]
    dims = ("maps", "seed", "effective_depth")
    coords = {"maps": MAPS, "seed": np.arange(seeds), "effective_depth": DEPTHS, "gamma": [1e-3], "rank": rank}
    return xr.Dataset({name: ((*dims, *own), values) for name, (own, values) in made.items()}, coords)


def ends_first(measures: xr.Dataset) -> xr.Dataset:
    """First and last layers of broad spectra, as networks have them."""
    broad = np.exp(-0.2 * np.arange(VALUES) - 0.3 * (np.arange(VALUES) > 4))
    made = {}
    for name, dim in (("spectrum", "node"), ("centred_spectrum", "node"), ("weight_spectrum", "layer")):
        edge = (measures[dim] if dim in measures.coords else xr.DataArray(np.arange(measures.sizes[dim]), dims=dim)) < 2
        made[name] = xr.where(edge, xr.DataArray(broad, dims="value"), measures[name]).transpose(*measures[name].dims)
    return measures.assign(made)


def verdict(id: str, measures: xr.Dataset) -> str:
    """The ledger's verdict; `decide` runs the control as well."""
    return decide(CHAIN[id], {"chain_measures": measures})["verdict"]


PICTURE = {
    "lrn-fig1a": "holds",
    "lrn-fig1a-free": "holds",
    "lrn-fig1a-fixed": "holds",
    "lrn-no-bias-rank": "holds",
    "lrn-fig1b": "holds",
    "lrn-fig1c": "holds",
    "lrn-thm4-trained": "holds",
    "lrn-fig3": "holds as corrected",
    "lrn-b-inverse": "holds",
    "lrn-balanced-size": "holds",
    "lrn-only-nonneg": "holds",
    "lrn-prop5-trained": "holds",
    "lrn-ends-jumps": "holds",
}


@pytest.mark.parametrize("id", PICTURE)
def test_the_papers_picture_is_accepted(id):
    assert verdict(id, ends_first(chain_measures())) == PICTURE[id]


@pytest.mark.parametrize(
    "id", ["lrn-fig1a", "lrn-fig1b", "lrn-fig1c", "lrn-fig3", "lrn-balanced-size", "lrn-prop5-trained"]
)
def test_two_seeds_decide_no_trend(id):
    assert verdict(id, ends_first(chain_measures(2))) == "not decidable at this scale"


def test_a_hamiltonian_from_above_needs_the_correction():
    assert verdict("lrn-fig1a", chain_measures(from_below=False)) == "holds as corrected"


@pytest.mark.parametrize(("depth", "status"), [(7.0, "holds as corrected"), (4.0, "does not hold")])
def test_free_maps_overshoot_at_the_papers_depth(depth, status):
    measures = chain_measures()
    raised = (measures["maps"] == "free maps") & (measures["effective_depth"] == depth)
    found = measures.assign(hamiltonian=measures["hamiltonian"] + xr.where(raised, 2.0, 0.0))
    assert CHAIN["lrn-fig1a-free"](found).status == status


def test_another_rank_is_refuted():
    wrong = chain_measures().assign_coords(rank=6)
    assert CHAIN["lrn-fig1a"](wrong).status == "does not hold"
    assert trained_bottleneck.k_values_separate(ends_first(wrong)).status == "does not hold"


def test_a_peak_in_the_middle_is_seen():
    measures = chain_measures()
    assert not trained_bottleneck.jumps_in_the_middle(measures).any()
    kinetic = measures["kinetic"].values.copy()
    kinetic[..., 9] += 100
    peak = measures.assign(kinetic=(measures["kinetic"].dims, kinetic))
    assert trained_bottleneck.jumps_in_the_middle(peak).all()


@pytest.mark.parametrize(("kept", "status"), [(4, "holds"), (5, "holds"), (6, "does not hold")])
def test_kept_dimensions_that_differ(kept, status):
    measures = chain_measures()
    spectrum = measures["centred_spectrum"].copy()
    spectrum.loc[{"seed": 3}] = np.where(np.arange(VALUES) < kept, 1.0, 0.05)
    assert CHAIN["lrn-rank-varies"](measures.assign(centred_spectrum=spectrum)).status == status


def test_few_equal_runs_do_not_refute_a_variation():
    assert verdict("lrn-rank-varies", chain_measures(5)) == "not decidable at this scale"


@pytest.mark.parametrize(("power", "status"), [(0.0, "does not hold"), (-1.0, "holds"), (-2.0, "does not hold")])
def test_momenta_that_follow_activations_by_a_power(power, status):
    measures = chain_measures()
    found = measures.assign(momentum=measures["activation"] ** power)
    assert CHAIN["lrn-b-inverse"](found).status == status


def test_energies_are_compared_with_the_cost_in_the_middle():
    """A Hamiltonian that varies by a few is no constant, however large the cost in the first layer is."""
    measures = chain_measures()
    varies = 3 + 4 * np.linspace(0, 1, LAYERS)
    found = measures.assign(hamiltonian=0 * measures["hamiltonian"] + xr.DataArray(varies, dims="layer"))
    assert CHAIN["lrn-fig1c"](measures).status == "holds"
    assert CHAIN["lrn-fig1c"](found).status != "holds"


def test_largest_gap_and_step():
    spectrum = xr.DataArray(
        np.array([[8.0, 7, 6, 1, 0.9, 0.8, 0.7], [8, 2, 1.9, 1.8, 1.7, 1.6, 1.5]]), dims=("seed", "value")
    )
    np.testing.assert_allclose(sampled.largest_gap(spectrum, 3), [np.log(6 / (7 / 6)), np.log(1.9 / 1.8) - np.log(4)])
    place, step = sampled.largest_step(spectrum)
    np.testing.assert_allclose(place, [3, 1])
    np.testing.assert_allclose(step, np.log([6, 4]))


def scheme_measures(advantage: float, noise: float = 0.05, seeds: int = 12) -> xr.Dataset:
    """Test errors with a constant log advantage of the other schemes."""
    rng = np.random.default_rng(1)
    logs = noise * rng.standard_normal((2, 3, 4, seeds)) - advantage * np.array([0, 1, 1])[:, None, None]
    coords = {
        "maps": MAPS[:1] + MAPS[2:3],
        "scheme": ["equidistant", "irregular", "adaptive"],
        "layers": [4, 6, 10, 18],
    }
    coords |= {"dimension": 10, "width": 30, "points": 300, "steps": 500}
    made = {
        "test_error_by_layers": (("maps", "scheme", "layers", "seed"), 0.3 * np.exp(logs)),
        "relative_distance": (("maps", "scheme", "seed"), np.ones((2, 3, seeds))),
    }
    return xr.Dataset(made, coords)


def test_figure_2a_tells_an_advantage_from_chance():
    assert discretisation.steps_improve_the_test_error(scheme_measures(0.2)).status == "holds"
    assert discretisation.steps_improve_the_test_error(scheme_measures(0.0, seeds=40)).status == "does not hold"
    assert (
        discretisation.steps_improve_the_test_error(scheme_measures(0.05, seeds=2)).status
        == "not decidable at this scale"
    )


@pytest.mark.parametrize(
    ("power", "seeds", "status"),
    [
        (-0.2, 12, "holds"),
        (0.0, 12, "not decidable at this scale"),
        (0.2, 12, "does not hold"),
        (-0.2, 2, "not decidable at this scale"),
    ],
)
def test_test_errors_that_fall_with_layers(power, seeds, status):
    measures = scheme_measures(0.0, seeds=seeds)
    errors = measures["test_error_by_layers"] * measures["layers"] ** power
    assert discretisation.layers_improve_the_test_error(measures.assign(test_error_by_layers=errors)).status == status


@pytest.mark.parametrize(("dimension", "status"), [(6, "holds"), (12, "does not hold"), (3, "does not hold")])
def test_stage_of_six_dimensions(dimension, status):
    rng = np.random.default_rng(2)
    counts = dimension + rng.integers(-1, 2, size=(2, 40, 5))
    measures = xr.Dataset(
        {
            "weight_dimension": (("teacher", "seed", "layer"), counts),
            "p": (("teacher", "seed", "node"), np.broadcast_to(np.linspace(0, 1, 6), (2, 40, 6))),
            "relative_distance": (("teacher", "seed"), np.ones((2, 40))),
        },
        {"teacher": ["random ResNets", "random ResNets, strong penalty"], "lam": ("teacher", [0.1, 2.0])}
        | {"inner": ("part", [6, 3]), "dimension": 10, "width": 30, "points": 300, "steps": 500},
    )
    assert discretisation.six_dimensional_stage(measures).status == status


def test_layers_in_the_first_and_last_fifth():
    p = np.stack([np.linspace(0, 1, 11), np.linspace(0, 1, 11) ** 2])
    first, last = discretisation._layers_in_fifths(xr.Dataset({"p": (("seed", "node"), p)}))
    # p = (l / 10)^2 reaches 0.2 at l = 4.47 and 0.8 at l = 8.94, up to linear interpolation
    np.testing.assert_allclose(first, [1, 4.47 / 2], atol=0.02)
    np.testing.assert_allclose(last, [1, 1.06 / 2], atol=0.02)
