"""Figures of trained networks and of bounds: which network, which layers, which bars; numbers of the captions."""

import re

import numpy as np
import pytest
from scipy.stats import t as student
from tests.leaky_resnets.test_figures import bars, dataset, edges, line, lines

from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, SKY
from repdyn.leaky_resnets.figures import distance, exact, schemes, trained
from repdyn.leaky_resnets.figures.shared import ENERGY

COLORS = {"decayed maps": BLUE, "free maps": ORANGE, "fixed maps": GREEN, "decayed maps, no bias": PURPLE}
DEEP = "decayed maps"


def geometric(draws):
    """Geometric mean over the last axis and the ends of its 95 % interval."""
    logs = np.log(draws)
    n, middle = logs.shape[-1], logs.mean(axis=-1)
    half = student.ppf(0.975, n - 1) * logs.std(axis=-1, ddof=1) / np.sqrt(n)
    return np.exp(middle), np.exp([middle - half, middle + half])


def of(data, name, *dims, **cell):
    return data[name].sel(**cell).transpose(*dims).values


@pytest.fixture(scope="module")
def apart():
    data = [dataset(name) for name in ("chain_measures", "refinement_measures", "convergence_measures")]
    return data, distance.distance_to_critical(*data)


def test_distance_and_kinks_of_every_kind_of_maps(apart):
    (chains, *_), figure = apart
    for panel, name in zip(figure.axes, ("relative_distance", "kinks"), strict=False):
        assert panel.get_yscale() == "log"
        shown = {container.get_label(): container for container in panel.containers}
        assert list(shown) == chains["maps"].values.tolist()
        for maps, container in shown.items():
            middle, ends = geometric(np.maximum(of(chains, name, "effective_depth", "seed", maps=maps), 1e-12))
            np.testing.assert_allclose(container.lines[0].get_xdata(), chains["effective_depth"])
            np.testing.assert_allclose(container.lines[0].get_ydata(), middle)
            np.testing.assert_allclose(bars(container), ends, rtol=1e-6)
            assert container.lines[0].get_color() == COLORS[maps]


def test_kinks_are_held_against_a_normal_density(apart):
    """A share of a normal variable that lies within 1e-4 of its root mean square around 0."""
    (chains, *_), figure = apart
    (level,) = (drawn for drawn in figure.axes[1].get_lines() if drawn.get_linestyle() == ":")
    density = np.exp(0) / np.sqrt(2 * np.pi)
    share = density * 2e-4
    np.testing.assert_allclose(level.get_ydata(), share)
    means = geometric(np.maximum(of(chains, "kinks", "maps", "effective_depth", "seed"), 1e-12))[0] / share
    least, most = (re.search(r"means are (\S+) to (\S+) times", figure.repdyn["caption"])).groups()
    assert float(least) == pytest.approx(means.min(), rel=0.01)
    assert float(most) == pytest.approx(means.max(), rel=0.01)


def test_halved_layers_and_longer_training(apart):
    (_, refined, longer), figure = apart
    halved, trained_on = figure.axes[2:4]
    assert (halved.get_xscale(), halved.get_yscale()) == ("log", "log")
    ranges, L = of(refined, "hamiltonian_range", "layers", "seed"), refined["layers"].values
    *networks, guide = halved.get_lines()
    np.testing.assert_allclose([drawn.get_ydata() for drawn in networks], ranges.T)
    np.testing.assert_allclose(guide.get_ydata() * L, ranges[0].mean() * L[0])
    assert guide.get_linestyle() == ":"
    assert (trained_on.get_xscale(), trained_on.get_yscale()) == ("log", "linear")
    for maps in longer["maps"].values:
        draws = of(longer, "median_hamiltonian", "steps", "seed", maps=maps)
        steps, mean = line(trained_on, maps)
        np.testing.assert_allclose(steps, longer["steps"])
        np.testing.assert_allclose(mean, draws.mean(axis=1))
        thin = [drawn for drawn in trained_on.get_lines() if drawn.get_color() == COLORS[maps]][: draws.shape[1]]
        np.testing.assert_allclose([drawn.get_ydata() for drawn in thin], draws.T)
        first, last = np.argmin(longer["steps"].values), np.argmax(longer["steps"].values)
        assert f"{draws[last].mean() - draws[first].mean():+.2g} ({maps})" in figure.repdyn["caption"]
    counts = re.findall(r"(\d+) (?:seeds|networks)", figure.repdyn["caption"])
    assert counts == [str(data.sizes["seed"]) for data in apart[0]]


def test_balancedness_compares_one_network_with_both_factors():
    data = dataset("refinement_measures")
    figure = distance.balancedness(data)
    left, right = figure.axes
    net, L = data.isel(layers=-1, seed=0), int(data["layers"][-1])
    for label, name, color, style in (
        (r"$\|W_p\|^2$", "weight_sq", BLACK, "-"),
        (r"corrected, $2 \tilde L \int \|b\|^2$", "balance", BLUE, "--"),
        (r"printed, $\tilde L \int \|b\|^2$", "balance_printed", RED, ":"),
    ):
        (drawn,) = lines(left, label)
        np.testing.assert_allclose(drawn.get_xdata(), (np.arange(L) + 0.5) / L)
        np.testing.assert_allclose(drawn.get_ydata(), net[name].values[:L])
        assert (drawn.get_color(), drawn.get_linestyle()) == (color, style)
    factors = of(data, "balance_factor", "layers", "seed")
    networks = [drawn for drawn in right.get_lines() if drawn.get_color() == BLUE]
    np.testing.assert_allclose([drawn.get_ydata() for drawn in networks], factors.T)
    np.testing.assert_allclose(networks[0].get_xdata(), data["layers"])
    assert {text.get_text(): text.get_position()[1] for text in right.texts} == {"corrected": 2, "printed": 1}
    assert sorted(drawn.get_ydata()[0] for drawn in right.get_lines() if drawn.get_color() == BLACK) == [1, 2]
    assert (right.get_xscale(), left.get_title("left")) == ("log", f"(a) one network, $L$ = {L}")
    words = f"{factors[0].mean():.3g} at $L$ = {int(data['layers'][0])} to {factors[-1].mean():.3g} at $L$ = {L}"
    assert words in figure.repdyn["caption"]


def at_seven(data):
    return data.sel(effective_depth=min(data["effective_depth"].values, key=lambda depth: abs(depth - 7)), maps=DEEP)


def test_figure_1b_shows_the_network_of_median_energy_next_to_depth_7():
    data = dataset("chain_measures")
    nets = at_seven(data)
    energies = nets["median_hamiltonian"].values
    (seed,) = (k for k, energy in enumerate(energies) if (energies < energy).sum() == len(energies) // 2)
    figure = trained.fig1b_spectra(data)
    net, rank = nets.isel(seed=seed), int(data["rank"])
    assert f"(seed {int(net['seed'])}), $\\tilde L$ = {float(net['effective_depth']):g}," in figure.repdyn["caption"]
    p = net["p"].values
    middle = (p[1:] + p[:-1]) / 2
    names = ("spectrum", "centered_spectrum", "weight_spectrum", "centered_weight_spectrum")
    for panel, name in zip(figure.axes, names, strict=True):
        values = np.maximum(net[name].values, 1e-12)
        first = [drawn for drawn in panel.get_lines() if drawn.get_color() == BLUE][::-1]
        others = [drawn for drawn in panel.get_lines() if drawn.get_color() != BLUE][::-1]
        np.testing.assert_allclose([drawn.get_ydata() for drawn in first], values.T[:rank])
        np.testing.assert_allclose([drawn.get_ydata() for drawn in others], values.T[rank:])
        np.testing.assert_allclose(first[0].get_xdata(), middle if "weight" in name else p)
        low, high = panel.get_ylim()
        assert panel.get_yscale() == "log"
        assert (low, high) == pytest.approx(
            (max(1.6e-4 * values.max(), values[:, rank:].min() / 2), 1.6 * values.max())
        )


def test_figure_1c_shows_medians_and_ranges_of_the_energies_and_their_proportion():
    data = dataset("chain_measures")
    nets = at_seven(data).isel(gamma=0)
    figure = trained.fig1c_energies(data)
    above, near, pairs = figure.axes
    assert (above.get_yscale(), near.get_yscale(), pairs.get_xscale(), pairs.get_yscale()) == (
        "log",
        "linear",
        "log",
        "log",
    )
    L = nets.sizes["layer"]
    for panel in (above, near):
        for number, (name, color, label) in enumerate(
            (
                ("cost", RED, "cost of identity"),
                ("kinetic", ORANGE, "kinetic energy"),
                ("stable_hamiltonian", SKY, r"$-2 \mathcal{H}_\gamma / \tilde L$"),
                ("hamiltonian", BLUE, ENERGY),
            )
        ):
            draws = of(nets, name, "seed", "layer")
            (drawn,) = lines(panel, label)
            np.testing.assert_allclose(drawn.get_xdata(), (np.arange(L) + 0.5) / L)
            np.testing.assert_allclose(drawn.get_ydata(), np.median(draws, axis=0))
            assert drawn.get_color() == color
            np.testing.assert_allclose(edges(panel.collections[number]), [draws.min(axis=0), draws.max(axis=0)])
        (level,) = (drawn for drawn in panel.get_lines() if drawn.get_linestyle() == ":")
        np.testing.assert_allclose(level.get_ydata(), int(data["rank"]))
    assert near.get_ylim() == (0, 4 * int(data["rank"]))
    extra = (nets["cost"] - nets["median_hamiltonian"]).transpose("seed", "layer").values
    kinetic = of(nets, "kinetic", "seed", "layer")
    dots, diagonal = pairs.get_lines()
    wanted = np.stack([extra[extra > 0], kinetic[extra > 0]], axis=1)
    shown = dots.get_xydata()
    np.testing.assert_allclose(shown[np.argsort(shown[:, 0])], wanted[np.argsort(wanted[:, 0])])
    np.testing.assert_allclose(*diagonal.get_data())


def test_figure_1a_draws_points_that_are_no_geodesics_hollow():
    data = dataset("chain_measures").copy(deep=True)
    depths = np.arange(data.sizes["effective_depth"])
    far = np.where(depths % 2 == 0, 0.11, 0.09)
    data["relative_distance"] = data["relative_distance"] * 0 + data["effective_depth"].copy(data=far)
    figure = trained.fig1a_hamiltonian(data)
    kinds = data["maps"].values
    for column, maps in enumerate(kinds):
        panel = figure.axes[len(kinds) + column]
        mean = data["median_hamiltonian"].sel(maps=maps).mean("seed").values
        x, y = line(panel, f"{ENERGY}, not critical")
        np.testing.assert_allclose(x, data["effective_depth"].values[::2])
        np.testing.assert_allclose(y, mean[::2])
        filled = [drawn for drawn in panel.get_lines() if drawn.get_linestyle() == "None" and drawn.get_marker() == "o"]
        np.testing.assert_allclose(filled[0].get_ydata(), mean[1::2])
        assert filled[0].get_markerfacecolor() == BLUE
        assert lines(panel, f"{ENERGY}, not critical")[0].get_markerfacecolor() == "white"
    assert "exceeds 0.1," in figure.repdyn["caption"]


def test_figure_2c_begins_on_the_right_and_bends_upwards():
    data = dataset("scheme_measures").copy(deep=True)
    data["plane"][:] = np.random.default_rng(3).standard_normal(data["plane"].shape)
    figure = schemes.fig2c_paths(data)
    learned = data.sel(maps=DEEP)
    for panel, scheme, color in zip(
        figure.axes, ("equidistant", "irregular", "adaptive"), (BLUE, GREEN, RED), strict=False
    ):
        plane = learned["plane"].sel(scheme=scheme).isel(seed=0).transpose("node", "axis").values
        (path,) = panel.get_lines()
        x, y = path.get_data()
        np.testing.assert_allclose(np.abs([x, y]), np.abs(plane.T))
        np.testing.assert_allclose(np.abs(np.diff([x, y])), np.abs(np.diff(plane.T)))
        assert x[0] > x[-1]
        assert y[len(y) // 2] > (y[0] + y[-1]) / 2
        assert path.get_color() == color
        assert {text.get_text(): text.xy for text in panel.texts}["$p = 0$"] == pytest.approx((x[0], y[0]))
        assert {text.get_text(): text.xy for text in panel.texts}["$p = 1$"] == pytest.approx((x[-1], y[-1]))
        steps, lengths = line(figure.axes[3], scheme)
        np.testing.assert_allclose(lengths, learned["plane_step"].sel(scheme=scheme).mean("seed"))
        np.testing.assert_array_equal(steps, np.arange(len(lengths)) + 1)
        spread = float(learned["plane_unevenness"].sel(scheme=scheme).mean())
        assert f"{scheme} {spread:.2f}" in figure.repdyn["caption"]
    assert f"hold {float(learned['plane_share'].mean()):.0%} of the variance" in figure.repdyn["caption"]


def test_theorem_4_colors_the_scalar_geodesics_by_the_gap_over_the_printed_bound():
    random, scalar, laboratory = (dataset(name) for name in ("random_geodesics", "scalar_geodesics", "geodesics"))
    figure = exact.theorem4(random, scalar, laboratory)
    panel, bar = figure.axes[1], figure.axes[3]
    mesh = panel.collections[0]
    ratio = (scalar["middle"] / scalar["lower_printed"]).transpose("c", "u").values
    assert exact.CELLS < ratio.size < 4 * exact.CELLS  # every second point in both directions
    colored = ratio[::2, ::2]
    np.testing.assert_allclose(mesh.get_array().reshape(colored.shape), np.clip(colored, 0, 2))
    assert mesh.get_clim() == (0, 2)
    corners = mesh.get_coordinates()
    assert (np.ptp(corners[0, :, 0]) > 0, np.ptp(corners[:, 0, 1]) > 0) == (True, True)
    (cross,) = (drawn for drawn in panel.get_lines() if drawn.get_marker() == "x")
    assert cross.get_xydata().tolist() == [[-1, 0.01]]
    assert bar.get_xlabel() == "gap / printed bound"
    broken = (scalar["middle"] < scalar["lower_printed"]).values.mean()
    most = (scalar["middle"] / scalar["lower"]).values.max()
    caption = figure.repdyn["caption"]
    assert f"({broken:.0%} of the grid, of which one point in 4 is colored); the gap over the corrected" in caption
    assert f"bound is at most {most:.2f}." in caption
    below = (random["middle"] < 0).values
    assert f"(a) The {below.sum()} of {below.size} random exact trajectories" in caption
    assert f"broken ({(random['middle'] < random['lower_printed']).values.sum()} times, filled)" in caption


def test_captions_of_exact_figures_count_what_is_drawn():
    costs, ends = dataset("identity_costs"), dataset("descents")
    costs = costs.assign(scaling=3e-9 * costs["scaling"])
    caption = exact.identity_cost(costs, ends).repdyn["caption"]
    assert f"({costs.sizes['draw']} per shape)" in caption
    assert f"that {costs.sizes['start']} searches find" in caption
    off = np.abs(costs["scaling"].sel(shape="9 x 4", bias=0).values).max()
    assert f"without bias within {off:.0e} of 1" in caption
    assert f"Ends of {ends.sizes['start']} descents per case" in caption
    mass = ends["negative_mass"].copy(
        data=np.where(np.arange(ends["negative_mass"].size) % 4 == 0, 1.1e-3, 0.9e-3).reshape(
            ends["negative_mass"].shape
        )
    )
    share = (mass.values < 1e-3).mean()
    again = exact.identity_cost(costs, ends.assign(negative_mass=mass)).repdyn["caption"]
    assert f"{share:.0%} of them have a negative mass" in again
    paths, random = dataset("critical_paths"), dataset("random_geodesics")
    figure = exact.critical_paths(paths, random)
    assert f"(a), (b) {paths.sizes['seed']} random critical paths each" in figure.repdyn["caption"]
    assert f"(c) {random.sizes['draw']} random exact trajectories" in figure.repdyn["caption"]
    for panel in figure.axes[:2]:
        layers, guide = line(panel, "slope $-1$")
        np.testing.assert_allclose(guide * layers, 4)
    levels = {text.get_text(): text.xy[1] for text in figure.axes[2].texts}
    assert levels == {"corrected": pytest.approx(2.05), "printed": pytest.approx(1.05)}
    horizontal = {drawn.get_ydata()[0]: drawn.get_color() for drawn in figure.axes[2].get_lines()[1:]}
    assert horizontal == {2: BLUE, 1: RED}
    np.testing.assert_allclose(
        figure.axes[2].get_lines()[0].get_xdata(),
        random["effective_depth"].sel(bias=1)
        if "bias" in random["effective_depth"].dims
        else random["effective_depth"],
    )


def test_the_papers_settings_show_adam_filled_and_descent_hollow():
    data = dataset("paper_measures")
    net = data.isel(maps=0, seed=0)
    panel = distance.paper_settings(data).axes[0]
    rate = net["descent_rate"].values
    assert panel.get_yscale() == "log"
    filled, hollow = panel.get_lines()[::2], panel.get_lines()[1::2]
    for one, other, name, color in zip(
        filled, hollow, ("relative_distance", "test_error", "train_error"), (BLUE, ORANGE, RED), strict=True
    ):
        for drawn, kept in ((one, rate == 0), (other, rate > 0)):
            np.testing.assert_allclose(drawn.get_xdata(), net["steps"].values[kept])
            np.testing.assert_allclose(drawn.get_ydata(), net[name].values[kept])
            assert drawn.get_color() == color
        assert (one.get_markerfacecolor(), other.get_markerfacecolor()) == (color, "none")
    words = [text.get_text() for text in panel.get_legend().get_texts()]
    assert words == [r"$\|W - \tilde L B S^T\| / \|W\|$", "test error / variance", "training error / variance"]


def test_captions_of_figure_1_take_means_of_the_first_gamma_and_medians_of_ranges():
    data = dataset("chain_measures")
    deep = data.isel(effective_depth=-1)
    costs = deep["least_cost"].isel(gamma=0).transpose("maps", "seed").values.mean(axis=1)
    caption = trained.fig1a_hamiltonian(data).repdyn["caption"]
    energies = deep["median_hamiltonian"].transpose("maps", "seed").values.mean(axis=1)
    for maps, cost, energy in zip(data["maps"].values, costs, energies, strict=True):
        assert f"{cost:.1f}, {energy:.1f} ({maps})" in caption
    nets = at_seven(data).isel(gamma=0)
    caption = trained.fig1c_energies(data).repdyn["caption"].partition("Largest less least")[2]
    for name, words in (("hamiltonian", "Hamiltonian"), ("cost", "cost of identity"), ("kinetic", "kinetic energy")):
        told = float(re.search(rf"{words} ([\d.e+-]+)", caption)[1].rstrip(","))
        assert told == pytest.approx(np.median(np.ptp(of(nets, name, "seed", "layer"), axis=1)), rel=0.06)


def test_figure_2a_marks_the_side_of_the_paper_and_its_largest_change():
    data = dataset("scheme_measures")
    figure = schemes.fig2a_test_error(data)
    means = geometric(data["test_ratio_by_layers"].transpose(..., "seed").values)[0]
    assert f"by {100 * np.abs(means - 1).max():.2g} % at most" in figure.repdyn["title"]
    assert f"means {means.min():.3f} to {means.max():.3f}." in figure.repdyn["caption"]
    for row, maps in enumerate(data["maps"].values):
        left, right = figure.axes[2 * row : 2 * row + 2]
        assert left.get_title("left").endswith(str(maps))
        (side,) = right.patches
        assert side.get_y() + side.get_height() == pytest.approx(1)
        (level,) = (drawn for drawn in right.get_lines() if drawn.get_linestyle() == ":")
        np.testing.assert_allclose(level.get_ydata(), 1)
        for scheme, color in (("irregular", GREEN), ("adaptive", RED)):
            ratios = of(data, "test_ratio_by_layers", "layers", "seed", maps=maps, scheme=scheme)
            dots = [drawn for drawn in right.get_lines() if drawn.get_marker() == "." and drawn.get_color() == color]
            np.testing.assert_allclose([drawn.get_ydata() for drawn in dots], ratios.T)
            assert np.abs(dots[0].get_xdata() / data["layers"].values - 1).max() < 0.1
