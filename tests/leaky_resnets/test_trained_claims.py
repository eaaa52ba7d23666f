"""Claims on trained networks decide made-up measures as they should: the paper's picture, the corrected one, too few"
" seeds."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.claims import claims_of, decide_claim
from repdyn.base.errors import NotEnoughDataError
from repdyn.leaky_resnets.claims import (
    discretization,
    figure_1a,
    trained_bottleneck,
    trained_hamiltonian,
    trained_networks,
    trained_ranks,
    trained_sizes,
)

DEPTHS = np.array([2.0, 4.0, 7.0, 10.0])
MAPS = ["decayed maps", "free maps", "fixed maps", "decayed maps, no bias"]
LAYERS, VALUES = 20, 8
CLAIMS = {
    claim.id: claim
    for claim in claims_of(
        figure_1a,
        trained_hamiltonian,
        trained_bottleneck,
        trained_sizes,
        trained_networks,
        trained_ranks,
        discretization,
    )
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
    negative = 0.4 * (2 * np.abs(node - 0.5)) ** 8 + 0.3 * DEPTHS[:, None] ** -3.0
    steps = np.where(np.arange(VALUES) < kept, 1.0, 0.05)
    ones = np.ones((*shape, 1, 1))
    grow = DEPTHS[:, None] ** 1.0
    measures = {
        "hamiltonian": (("layer",), H),
        "stable_hamiltonian": (("gamma", "layer"), H[..., None, :]),
        "kinetic": (("gamma", "layer"), kinetic[..., None, :]),
        "cost": (("gamma", "layer"), (kinetic + H)[..., None, :]),
        "speed": (("layer",), np.sqrt(kinetic)),
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
    coords |= {"layer": np.arange(LAYERS), "node": np.arange(LAYERS + 1)}
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
    "lrn-fig3": "holds as corrected",
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


def from_above(*maps: str) -> xr.Dataset:
    """The picture, but with some maps the Hamiltonian comes from above."""
    above, below = chain_measures(from_below=False), picture()
    names = ("hamiltonian", "stable_hamiltonian", "median_hamiltonian", "median_stable", "hamiltonian_range")
    chosen = below["maps"].isin(maps)
    return below.assign({name: xr.where(chosen, above[name], below[name]) for name in names})


def test_the_side_that_a_hamiltonian_comes_from_is_a_matter_of_the_maps():
    assert CLAIMS["lrn-fig1a"](from_above("decayed maps")).status == "depends on the reading"
    assert CLAIMS["lrn-fig1a"](from_above(*MAPS)).status == "does not hold"
    assert CLAIMS["lrn-fig1a-fixed"](from_above("fixed maps")).status == "does not hold"
    assert CLAIMS["lrn-fig1a-decayed"](from_above("decayed maps")).status == "holds"
    assert CLAIMS["lrn-fig1a-decayed"](picture()).status == "does not hold"


@pytest.mark.parametrize(("shift", "status"), [(1.0, "holds"), (-1.0, "does not hold")])
def test_free_maps_that_pass_the_rank_on_the_way(shift, status):
    measures = picture()
    at = measures["effective_depth"] == 7
    passing = measures["median_hamiltonian"] + xr.where(at, shift, 0.0)
    assert CLAIMS["lrn-fig1a-free"](measures.assign(median_hamiltonian=passing)).status == status


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


@pytest.mark.parametrize(
    ("spectra", "status"), [(["W centered"], "depends on the reading"), (["W", "W centered"], "does not hold")]
)
def test_a_and_w_are_held_to_one_criterion(spectra, status):
    measures = chain_measures(20)
    assert CLAIMS["lrn-fig1b"](measures).status == "holds"
    smeared = xr.where(measures["spectrum_of"].isin(spectra), 0.2, measures["separation_step"])
    assert CLAIMS["lrn-fig1b"](measures.assign(separation_step=smeared)).status == status


def test_a_peak_in_the_middle_is_seen():
    jumps, speed = trained_bottleneck.jumps_in_the_middle, trained_bottleneck.stable_speed
    measures = chain_measures()
    assert not jumps(speed(measures)).any()
    assert jumps(speed(measures)).size == len(MAPS) * measures.sizes["seed"]  # chains
    kinetic = measures["kinetic"].values.copy()
    kinetic[..., 9] += 100
    peak = measures.assign(kinetic=(measures["kinetic"].dims, kinetic))
    assert jumps(speed(peak)).all()
    kinetic[..., 11:] += 100
    dip_after = measures.assign(kinetic=(measures["kinetic"].dims, kinetic))
    assert jumps(speed(dip_after)).all()


@pytest.mark.parametrize(
    ("peaks", "status"),
    [((), "holds"), (("cost",), "depends on the reading"), (("kinetic", "cost"), "does not hold")],
)
def test_one_jump_refutes_never_and_chains_with_bias_are_counted_once(peaks, status):
    measures = chain_measures()
    high = (measures["layer"] == 9) & (measures["seed"] == 0)
    changed = measures.assign({name: measures[name] + xr.where(high, 100.0, 0.0) for name in peaks})
    verdict = CLAIMS["lrn-ends-jumps"](changed)
    assert verdict.status == status
    assert verdict.note.startswith(f"{3 * measures.sizes['seed']} chains of 4 effective depths each")
    with pytest.raises(NotEnoughDataError, match="maps"):
        CLAIMS["lrn-ends-jumps"](measures.sel(maps=["decayed maps, no bias"]))


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
    assert CLAIMS["lrn-rank-varies"](restart_measures(counts)).status == status
    if status == "holds":
        assert verdict("lrn-rank-varies", restart_measures(counts)) == status


def test_a_world_of_equal_starts_keeps_what_each_teachers_first_start_keeps():
    counts = np.array([[3, 4, 5, 4], [2, 3, 3, 6]])
    world = CLAIMS["lrn-rank-varies"].controls["varies"].data(restart_measures(counts))
    kept = world["separation_place"].transpose("teacher", "start", "spectrum_of")
    np.testing.assert_array_equal(kept, np.repeat([[[3]], [[2]]], 4, axis=1) * np.ones(4))


def test_equal_or_unfinished_runs_decide_nothing():
    teachers = np.repeat([[3], [4]], 6, axis=1)  # teachers differ, starts do not
    assert verdict("lrn-rank-varies", restart_measures(teachers)) == "not decidable at this scale"
    counts = np.array([[3, 3, 4, 3, 3]])
    assert verdict("lrn-rank-varies", restart_measures(counts, 0.6)) == "not decidable at this scale"
