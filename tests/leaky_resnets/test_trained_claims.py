"""Claims on trained networks decide made-up measures as they should: the paper's picture, the corrected one, too few"
" seeds."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.claims import claims_of, decide_claim
from repdyn.base.errors import NotEnoughDataError
from repdyn.leaky_resnets.claims import (
    discretization,
    trained_bottleneck,
    trained_hamiltonian,
    trained_networks,
    trained_ranks,
)

DEPTHS = np.array([2.0, 4.0, 7.0, 10.0])
MAPS = ["decayed maps", "free maps", "fixed maps", "decayed maps, no bias"]
LAYERS, VALUES = 20, 8
CLAIMS = {
    claim.id: claim
    for claim in claims_of(trained_hamiltonian, trained_bottleneck, trained_networks, trained_ranks, discretization)
}
SPECTRA = ["A", "A centered", "W", "W centered"]


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
    ones = np.ones((*shape, 1, 1))
    grow = DEPTHS[:, None] ** 1.0
    measures = {
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
            ones * steps[..., None, :] * np.exp(noise * rng.standard_normal((*shape, 1, 1))),
        ),
        "negative": (("node",), negative * np.exp(noise * rng.standard_normal((*shape, 1)))),
        "weight_sq": (("layer",), 50 + p + noise * rng.standard_normal((*shape, 1))),
        "length": ((), np.broadcast_to(grow[:, 0], shape)),
        "stable_length": (("gamma",), np.broadcast_to(grow, (*shape, 1))),
        "momentum": (("layer",), np.broadcast_to(grow / (1 + p), (*shape, LAYERS))),
        "activation": (("layer",), (1 + p) * np.exp(noise * rng.standard_normal((*shape, 1)))),
        "alignment": (("layer",), 2 + noise * rng.standard_normal((*shape, LAYERS))),
    }
    measures["weight_spectrum"] = (("layer", "value"), measures["spectrum"][1] * np.ones((LAYERS, 1)))
    measures["centered_spectrum"] = (("node", "value"), measures["spectrum"][1] * np.ones((LAYERS + 1, 1)))
    measures["spectrum"], measures["centered_weight_spectrum"] = (
        measures["centered_spectrum"],
        measures["weight_spectrum"],
    )
    measures |= _summaries(measures, shape, rank)
    dims = ("maps", "seed", "effective_depth")
    coords = {"maps": MAPS, "seed": np.arange(seeds), "effective_depth": DEPTHS, "gamma": [1e-3], "rank": rank}
    coords |= {"spectrum_of": SPECTRA, "place": ["start", "middle", "end"]}
    return xr.Dataset({name: ((*dims, *own), values) for name, (own, values) in measures.items()}, coords)


def _summaries(measures: dict, shape: tuple[int, ...], rank: int) -> dict:
    """What the analysis stores beside the measures by layer."""
    H, cost = (measures[name][1] for name in ("hamiltonian", "cost"))
    middle, first = np.full((*shape, 4), float(rank)), np.full((*shape, 4), 1.0)
    share = np.where(DEPTHS[-1] == DEPTHS, 0.02, 0.3) * np.ones(shape)
    return {
        "median_hamiltonian": ((), np.median(H, axis=-1)),
        "hamiltonian_range": ((), np.ptp(H, axis=-1)),
        "median_stable": (("gamma",), np.median(measures["stable_hamiltonian"][1], axis=-1)),
        "least_cost": (("gamma",), cost.min(axis=-1)),
        "largest_momentum": ((), measures["momentum"][1].max(axis=-1)),
        "median_alignment": ((), np.median(measures["alignment"][1], axis=-1)),
        "least_negative": ((), measures["negative"][1].min(axis=-1)),
        "separation_place": (("spectrum_of",), middle),
        "separation_step": (("spectrum_of",), np.log(20.0) * np.ones((*shape, 4))),
        "first_separation_place": (("spectrum_of",), first),
        "first_separation_step": (("spectrum_of",), 0.1 * np.ones((*shape, 4))),
        "image_gap": (("layer",), np.full((*shape, LAYERS), 1e-2)),
        "merged_change": (("place",), np.stack([0 * share + 0.8, share, 0 * share + 0.5], axis=-1)),
        "merged_step": ((), np.full(shape, 1.5)),
    }


def verdict(id: str, *datasets: xr.Dataset) -> str:
    """The ledger's verdict; the control of every part is run as well."""
    claim = CLAIMS[id]
    decision = decide_claim(claim, dict(zip(claim.data, datasets, strict=True)))
    assert decision.ledger["uncontrolled_parts"] == ""
    return decision.ledger["verdict"]


PICTURE = {
    "lrn-fig1a": "holds",
    "lrn-fig1a-free": "holds",
    "lrn-fig1a-fixed": "holds",
    "lrn-no-bias-rank": "holds",
    "lrn-fig1b": "holds",
    "lrn-fig1c": "holds",
    "lrn-thm4-trained": "holds",
    "lrn-fig3": "does not hold",
    "lrn-b-inverse": "holds",
    "lrn-balanced-size": "holds",
    "lrn-only-nonneg": "holds",
    "lrn-prop5-trained": "holds",
    "lrn-ends-jumps": "holds",
    "lrn-image-never": "holds",
    "lrn-long-steps": "holds",
}


def picture() -> xr.Dataset:
    """The paper's picture: from below, fixed maps too; the last gap of Theorem 4 near 0."""
    measures = chain_measures()
    near = xr.DataArray([-30.0, -7.0, -1.0, -0.1], dims="effective_depth")
    return measures.assign(gap=0 * measures["gap"] + near + 0.01 * (measures["seed"] % 3))


@pytest.mark.parametrize("id", [id for id in PICTURE if id not in ("lrn-fig1a-fixed", "lrn-fig1a", "lrn-fig1a-free")])
def test_the_papers_picture_is_accepted(id):
    assert verdict(id, picture()) == PICTURE[id]


@pytest.mark.parametrize("id", ["lrn-fig1a", "lrn-fig1a-fixed"])
def test_a_hamiltonian_from_below_is_what_figure_1a_shows(id):
    assert CLAIMS[id](picture()).status == "holds"


def test_a_hamiltonian_from_above_needs_the_correction():
    assert CLAIMS["lrn-fig1a"](chain_measures(from_below=False)).status == "holds as corrected"
    assert CLAIMS["lrn-fig1a-fixed"](chain_measures(from_below=False)).status == "does not hold"


@pytest.mark.parametrize("id", ["lrn-fig1a", "lrn-fig1b", "lrn-fig1c", "lrn-fig3", "lrn-balanced-size"])
def test_two_seeds_decide_no_trend(id):
    assert verdict(id, chain_measures(2)) == "not decidable at this scale"


@pytest.mark.parametrize("lacking", ["decayed maps", "fixed maps"])
def test_a_run_without_some_maps_leaves_the_claims_undecided(lacking):
    few = chain_measures().drop_sel(maps=lacking)
    assert verdict("lrn-fig1a", few) == "not decidable at this scale"


def test_another_rank_is_refuted():
    wrong = chain_measures().assign_coords(rank=6)
    assert CLAIMS["lrn-fig1a"](wrong).status == "does not hold"
    assert CLAIMS["lrn-fig1b"](wrong).status == "does not hold"


@pytest.mark.parametrize(("matrix", "status"), [("W centered", "does not hold"), ("W", "holds as corrected")])
def test_a_and_w_are_held_to_one_criterion(matrix, status):
    measures = chain_measures()
    smeared = xr.where(measures["spectrum_of"] == matrix, 0.2, measures["separation_step"])
    printed_fails = xr.where(measures["spectrum_of"] == "W", 0.2, smeared)
    assert CLAIMS["lrn-fig1b"](measures.assign(separation_step=printed_fails)).status == status


def test_a_peak_in_the_middle_is_seen():
    measures = chain_measures()
    assert not trained_bottleneck.jumps_in_the_middle(measures).any()
    kinetic = measures["kinetic"].values.copy()
    kinetic[..., 9] += 100
    peak = measures.assign(kinetic=(measures["kinetic"].dims, kinetic))
    assert trained_bottleneck.jumps_in_the_middle(peak).all()
    kinetic[..., 11:] += 100
    dip_after = measures.assign(kinetic=(measures["kinetic"].dims, kinetic))
    assert trained_bottleneck.jumps_in_the_middle(dip_after).all()
    with pytest.raises(NotEnoughDataError, match="networks with bias"):
        CLAIMS["lrn-ends-jumps"](measures.sel(maps=["decayed maps, no bias"]))


@pytest.mark.parametrize(("power", "status"), [(0.0, "does not hold"), (-1.0, "holds"), (-2.0, "does not hold")])
def test_momenta_that_follow_activations_by_a_power(power, status):
    measures = chain_measures()
    changed = measures.assign(momentum=measures["activation"] ** power)
    assert CLAIMS["lrn-b-inverse"](changed).status == status


def test_energies_are_compared_with_the_cost_in_the_middle():
    """A Hamiltonian that varies by a few is no constant, however large the cost in the first layer is."""
    measures = chain_measures()
    assert CLAIMS["lrn-fig1c"](measures).status == "holds"
    assert CLAIMS["lrn-fig1c"](measures.assign(hamiltonian_range=0 * measures["length"] + 40.0)).status != "holds"


def restart_measures(kept: np.ndarray, distance: float = 0.1) -> xr.Dataset:
    """Dimensions kept by teacher and start."""
    places = np.repeat(kept[:, :, None], 4, axis=2).astype(float)
    dims = ("teacher", "start")
    variables = {"separation_place": ((*dims, "spectrum_of"), places)}
    variables["relative_distance"] = (dims, np.full(kept.shape, distance))
    return xr.Dataset(variables, {"spectrum_of": SPECTRA, "start": np.arange(kept.shape[1])})


@pytest.mark.parametrize(("kept", "status"), [(4, "holds"), (5, "holds"), (6, "does not hold")])
def test_kept_dimensions_that_differ(kept, status):
    counts = np.full((3, 6), 3)
    counts[1, 2] = kept
    assert verdict("lrn-rank-varies", restart_measures(counts)) == status


def test_equal_or_unfinished_runs_decide_nothing():
    teachers = np.repeat([[3], [4]], 6, axis=1)  # teachers differ, starts do not
    assert verdict("lrn-rank-varies", restart_measures(teachers)) == "not decidable at this scale"
    counts = np.array([[3, 3, 4, 3, 3]])
    assert verdict("lrn-rank-varies", restart_measures(counts, 0.6)) == "not decidable at this scale"


def scheme_measures(advantage: float, noise: float = 0.05, seeds: int = 12, distance: float = 0.1) -> xr.Dataset:
    """Test errors with a constant log advantage of the other schemes."""
    rng = np.random.default_rng(1)
    logs = noise * rng.standard_normal((2, 3, 4, seeds)) - advantage * np.array([0, 1, 1])[:, None, None]
    errors, dims = 0.3 * np.exp(logs), ("maps", "scheme", "layers", "seed")
    coords = {
        "maps": MAPS[:1] + MAPS[2:3],
        "scheme": ["equidistant", "irregular", "adaptive"],
        "layers": [4, 6, 10, 18],
        "inner": ("part", [6, 3]),
    }
    coords |= {"dimension": 10, "width": 30, "points": 300, "steps": 500}
    counts = 6 + rng.integers(-1, 2, size=(2, 3, seeds)) * (noise > 0)
    variables = {
        "test_error_by_layers": (dims, errors),
        "test_ratio_by_layers": (dims, errors / errors[:, :1]),
        "distance_by_layers": (dims, np.full(errors.shape, distance)),
        "relative_distance": (("maps", "scheme", "seed"), np.full((2, 3, seeds), distance)),
        "stage_dimension": (("maps", "scheme", "seed"), counts),
        "weight_dimension": (("maps", "scheme", "seed", "layer"), np.full((2, 3, seeds, 5), 3)),
    }
    for name, value in (("first", 1.4), ("last", 1.0)):
        even = np.ones((2, 3, seeds))
        even[:, 2] = value + 0.01 * rng.standard_normal((2, seeds))
        variables[f"{name}_fifth"] = (("maps", "scheme", "seed"), even)
    return xr.Dataset(variables, coords)


def test_figure_2a_tells_an_advantage_from_chance():
    assert verdict("lrn-fig2a", scheme_measures(0.2)) == "holds"
    assert verdict("lrn-fig2a", scheme_measures(0.0, seeds=40)) == "does not hold"
    for undecided in (scheme_measures(0.2, seeds=2), scheme_measures(0.2, distance=1.4)):
        assert verdict("lrn-fig2a", undecided) == "not decidable at this scale"


@pytest.mark.parametrize(("power", "status"), [(-0.2, "holds"), (0.2, "does not hold")])
def test_test_errors_that_fall_with_layers(power, status):
    measures = scheme_measures(0.0)
    errors = measures["test_error_by_layers"] * measures["layers"] ** power
    assert verdict("lrn-appb-layers", measures.assign(test_error_by_layers=errors)) == status


@pytest.mark.parametrize(("shift", "status"), [(0, "holds"), (6, "does not hold")])
def test_stage_of_six_dimensions(shift, status):
    measures = scheme_measures(0.0, seeds=40)
    counts = measures["stage_dimension"] + shift
    staged = xr.Dataset(
        {"stage_dimension": (("teacher", "seed"), [[6, 6]]), "relative_distance": (("teacher", "seed"), [[0.1, 0.1]])},
        {"teacher": ["random ResNets"]},
    )
    claim = CLAIMS["lrn-fig2b"]
    assert claim(measures.assign(stage_dimension=counts), staged).status == status


@pytest.mark.parametrize(("last", "status"), [(1.4, "holds"), (1.0, "does not hold")])
def test_layers_at_both_ends(last, status):
    measures = scheme_measures(0.0)
    fifth = xr.where(measures["scheme"] == "adaptive", measures["last_fifth"] - 1 + last, 1.0)
    assert verdict("lrn-fig2b-steps", measures.assign(last_fifth=fifth)) == status


@pytest.mark.parametrize(("exponent", "status"), [(0.3, "holds"), (0.0, "does not hold"), (1.5, "does not hold")])
def test_outputs_that_grow_by_a_power(exponent, status):
    steps = np.array([100, 200, 400, 800, 1600, 3200])
    rng = np.random.default_rng(0)
    sizes = steps[:, None] ** exponent * np.exp(0.01 * rng.standard_normal((6, 8)))
    flat = np.exp(0.001 * rng.standard_normal((6, 8)))
    growth = xr.Dataset(
        {"output_size": (("loss_name", "record", "seed"), np.stack([sizes, flat]))},
        {"loss_name": ["cross-entropy", "mean squared error"], "record": steps},
    )
    assert CLAIMS["lrn-cross-entropy"](growth).status == status
