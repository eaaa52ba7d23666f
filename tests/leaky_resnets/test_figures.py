"""Every figure shows the values of its datasets: lines and points, found in their panel by their numbers."""

import numpy as np
import pytest
from tests.drawn import makers
from tests.titled import assert_figure_shows

STUDY, DEEP = "leaky_resnets", "decayed maps"


def of(data, name, *dims, **cell):
    return data[name].sel(**cell).transpose(*dims).values


def geometric(draws):
    return np.exp(np.log(draws).mean(axis=-1))


def centers(p):
    return (p[1:] + p[:-1]) / 2


def at_seven(data):
    return data.sel(effective_depth=min(data["effective_depth"].values, key=lambda depth: abs(depth - 7)), maps=DEEP)


def hamiltonian_of_depth(chain_measures):
    depth, kinds = chain_measures["effective_depth"], chain_measures["maps"].values
    for column, maps in enumerate(kinds):
        cell, below = chain_measures.sel(maps=maps), len(kinds) + column
        yield column, depth, cell["least_cost"].isel(gamma=0).mean("seed")
        yield column, depth, cell["stable_rank"].min("node").mean("seed")
        yield below, depth, cell["median_hamiltonian"].mean("seed")
        for gamma in range(cell.sizes["gamma"]):
            yield below, depth, cell["median_stable"].isel(gamma=gamma).mean("seed")


def spectra_of_the_network_of_median_energy(chain_measures):
    nets = at_seven(chain_measures)
    net = nets.isel(seed=int(np.argsort(nets["median_hamiltonian"].values)[nets.sizes["seed"] // 2]))
    names = ("spectrum", "centered_spectrum", "weight_spectrum", "centered_weight_spectrum")
    for panel, name in enumerate(names):
        p = centers(net["p"].values) if "weight" in name else net["p"].values
        for values in np.maximum(net[name].values, 1e-12).T:
            yield panel, p, values


def energies_by_layer(chain_measures):
    nets = at_seven(chain_measures).isel(gamma=0)
    p = (np.arange(nets.sizes["layer"]) + 0.5) / nets.sizes["layer"]
    for name in ("cost", "kinetic", "stable_hamiltonian", "hamiltonian"):
        for panel in (0, 1):
            yield panel, p, np.median(of(nets, name, "seed", "layer"), axis=0)
    extra = (nets["cost"] - nets["median_hamiltonian"]).transpose("seed", "layer").values
    yield 2, extra[extra > 0], of(nets, "kinetic", "seed", "layer")[extra > 0]


def sizes_of_depth(chain_measures):
    depth = chain_measures["effective_depth"].values
    for panel, name in enumerate(("length", "stable_length", "largest_momentum", "median_alignment")):
        values = chain_measures[name]
        values = values.isel(gamma=0) if "gamma" in values.dims else values
        first = values.sel(maps=DEEP).mean("seed").values[0]
        for line in (values.sel(maps="free maps").mean("seed"), 0 * depth + first, first * depth / depth[0]):
            yield panel, depth, line


def errors_of_schemes(scheme_measures):
    data = scheme_measures
    for row, maps in enumerate(data["maps"].values):
        for scheme in data["scheme"].values:
            yield 2 * row, None, of(data, "test_error_by_layers", "layers", "seed", maps=maps, scheme=scheme).mean(1)
            if scheme != "equidistant":
                ratios = of(data, "test_ratio_by_layers", "layers", "seed", maps=maps, scheme=scheme)
                for draws in (geometric(ratios), *ratios.T):
                    yield 2 * row + 1, None, draws


def staged_spectra(staged_measures):
    for panel, teacher in enumerate(staged_measures["teacher"].values):
        net = staged_measures.sel(teacher=teacher).isel(seed=0)
        for values in of(net, "weight_spectrum", "value", "layer"):
            yield panel, centers(net["p"].values), values


def paths_of_schemes(scheme_measures):
    learned = scheme_measures.sel(maps=DEEP)
    for panel, scheme in enumerate(("equidistant", "irregular", "adaptive")):
        x, y = of(learned.isel(seed=0), "plane", "axis", "node", scheme=scheme)
        middle = y[len(y) // 2] - (y[0] + y[-1]) / 2
        yield panel, x * (1 if x[0] >= x[-1] else -1), y * (1 if middle >= 0 else -1)
        lengths = learned["plane_step"].sel(scheme=scheme).mean("seed")
        yield 3, np.arange(lengths.size) + 1, lengths


def distances(chain_measures, refinement_measures, convergence_measures):
    for panel, name in enumerate(("relative_distance", "kinks")):
        for maps in chain_measures["maps"].values:
            draws = np.maximum(of(chain_measures, name, "effective_depth", "seed", maps=maps), 1e-12)
            yield panel, chain_measures["effective_depth"], geometric(draws)
    yield 1, None, np.full(2, 2e-4 / np.sqrt(2 * np.pi))  # of a normal variable within 1e-4 of its size around 0
    ranges, L = of(refinement_measures, "hamiltonian_range", "seed", "layers"), refinement_measures["layers"].values
    for values in (*ranges, ranges[:, 0].mean() * L[0] / L):
        yield 2, L, values
    for maps in convergence_measures["maps"].values:
        draws = of(convergence_measures, "median_hamiltonian", "seed", "steps", maps=maps)
        for values in (*draws, draws.mean(axis=0)):
            yield 3, convergence_measures["steps"], values


def balance(refinement_measures):
    L = int(refinement_measures["layers"][-1])
    for name in ("weight_sq", "balance", "balance_printed"):
        yield 0, (np.arange(L) + 0.5) / L, refinement_measures.isel(layers=-1, seed=0)[name].values[:L]
    for values in of(refinement_measures, "balance_factor", "seed", "layers"):
        yield 1, refinement_measures["layers"], values


def settings_of_the_paper(paper_measures):
    """At the last stop, after gradient descent, which follows Adam."""
    net = paper_measures.isel(maps=0, seed=0)
    adam, last = net["descent_rate"].values == 0, net.isel(stop=-1)
    for name in ("relative_distance", "test_error", "train_error"):
        for part in (adam, ~adam):
            yield 0, net["steps"].values[part], net[name].values[part]
    for panel, name in ((1, "centered_spectrum"), (2, "weight_spectrum")):
        for values in last[name].values.T:
            yield panel, None, values
    for values in (last["cost"][0], last["stable_hamiltonian"][0], last["hamiltonian"]):
        yield 3, centers(last["p"].values), values


def laboratory(geodesics):
    for depth in geodesics["effective_depth"].values:
        cell = geodesics.sel(bias=0, effective_depth=depth)
        for panel, name, unit in ((0, "cost", 1), (1, "plain_speed", depth), (2, "scaled_hamiltonian", 1)):
            yield panel, cell["p"], np.median(of(cell, name, "seed", "p"), axis=0) / unit
        extra = cell["cost"] - cell["scaled_hamiltonian"]
        positive = extra.values > 0
        yield 3, extra.values[positive], (cell["speed"].transpose(*extra.dims).values / depth)[positive] ** 2


def bounds_of_theorem_4(random_geodesics, scalar_geodesics, geodesics):
    below = (random_geodesics["middle"] < 0).values
    printed, corrected = (
        (random_geodesics["middle"] / random_geodesics[name]).values[below] for name in ("lower_printed", "lower")
    )
    for part in (printed > 1, printed <= 1):
        yield 0, printed[part], corrected[part]
    for bias in (0, 1):
        middle, lower, upper = (of(geodesics, name, "seed", ..., bias=bias) for name in ("middle", "lower", "upper"))
        yield 2, geodesics["effective_depth"], np.median(np.where(middle > 0, middle / upper, middle / lower), axis=0)


def costs_of_identity(identity_costs, descents):
    for bias, bound in ((0, "printed"), (1, "printed"), (1, "corrected")):
        cell = identity_costs.sel(bias=bias)
        ratio = (cell[f"bound_{bound}"] / cell["plain_cost"]).values[cell["feasible"].values == 1]
        yield 0, np.sort(ratio), None
        words = ("no bias", "bias")[bias]
        yield 0, 1 / identity_costs["least_ratio"].sel(search=f"{words}, {bound}").min(), None
    for bias in (0, 1):
        yield 1, np.sort(1 + identity_costs["scaling"].sel(shape="9 x 4", bias=bias)), None
    for case in descents["case"].values:
        cell = descents.sel(case=case)
        yield 2, np.sort(cell["end_cost"] - cell["end_rank"]), None


def spreads_and_gains(critical_paths, random_geodesics):
    L = critical_paths["layer_count"].values
    for bias in (0, 1):
        yield 0, L, geometric(of(critical_paths, "spread", "layer_count", "seed", bias=bias))
    gain = of(critical_paths, "norm_gain", "layer_count", "seed", bias=1)
    for factor in (1, 2):
        yield 1, L, geometric(np.abs(gain - factor))
    for panel in (0, 1):
        yield panel, L, 4 / L
    yield 2, None, random_geodesics["norm_gain"].sel(bias=1)


FIGURES = {
    "fig1a_hamiltonian": hamiltonian_of_depth,
    "fig1b_spectra": spectra_of_the_network_of_median_energy,
    "fig1c_energies": energies_by_layer,
    "fig2a_test_error": errors_of_schemes,
    "fig2b_weight_spectra": staged_spectra,
    "fig2c_paths": paths_of_schemes,
    "fig3_bounded": sizes_of_depth,
    "distance_to_critical": distances,
    "balancedness": balance,
    "paper_settings": settings_of_the_paper,
    "geodesic_laboratory": laboratory,
    "theorem4": bounds_of_theorem_4,
    "identity_cost": costs_of_identity,
    "critical_paths": spreads_and_gains,
}


@pytest.mark.parametrize("name", sorted(makers(STUDY, "figures")))
def test_a_figure_shows_the_values_of_its_datasets(name):
    assert_figure_shows(STUDY, name, FIGURES[name])
