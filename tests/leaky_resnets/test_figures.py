"""What the figures draw is what the datasets hold, on the axes and under the names the captions give."""

import numpy as np
import pytest
from scipy.stats import t as student
from tests.drawn import read, synthetic_dataset

from repdyn.base.figures import BLUE, ORANGE, RED
from repdyn.leaky_resnets.figures import distance, exact, schemes, trained
from repdyn.leaky_resnets.figures.shared import ENERGY
from repdyn.leaky_resnets.tables.exact import laboratory
from repdyn.leaky_resnets.tables.trained import chains

SHAPES = read("leaky_resnets")


def dataset(name):
    file = f"leaky_resnets/data/{name}.nc"
    return synthetic_dataset(SHAPES[file], file)


def lines(panel, label):
    return [line for line in panel.get_lines() if line.get_label() == label]


def line(panel, label):
    """The points (x, y) of the only line of a label."""
    (only,) = lines(panel, label)
    return np.asarray(only.get_xdata(), float), np.asarray(only.get_ydata(), float)


def edges(band):
    """The lower and the upper edge of a band, point by point."""
    x, y = band.get_paths()[0].vertices.T
    inside = np.unique(x)
    return np.array([[y[x == at].min() for at in inside], [y[x == at].max() for at in inside]])


def bars(container):
    """Lower and upper ends of the bars of an `errorbar`."""
    (ends,) = container.lines[2]
    return np.array([segment[:, 1] for segment in ends.get_segments()]).T


def test_figure_1a_shows_costs_above_energies_in_the_column_of_their_maps():
    data = dataset("chain_measures")
    kinds = data["maps"].values
    figure = trained.fig1a_hamiltonian(data)
    for column, maps in enumerate(kinds):
        above, below = figure.axes[column], figure.axes[len(kinds) + column]
        assert str(maps).split(",")[0] in above.get_title("left")
        assert (above.get_yscale(), below.get_yscale()) == ("log", "linear")
        cell = data.sel(maps=maps)
        np.testing.assert_allclose(line(above, "least COI")[1], cell["least_cost"].isel(gamma=0).mean("seed"))
        np.testing.assert_allclose(line(above, "least stable rank")[1], cell["stable_rank"].min("node").mean("seed"))
        stable = cell["median_stable"].isel(gamma=1).mean("seed")
        np.testing.assert_allclose(line(below, f"stable, $\\gamma_0$ = {float(data['gamma'][1]):g}")[1], stable)
        low, high = bars(below.containers[0])
        np.testing.assert_allclose(low, cell["hamiltonian"].min("layer").mean("seed"))
        np.testing.assert_allclose(high, cell["hamiltonian"].max("layer").mean("seed"))


def test_figure_1a_cuts_no_curve_and_shades_the_side_of_the_paper():
    data = dataset("chain_measures")
    panels = trained.fig1a_hamiltonian(data).axes
    rank, kinds = int(data["rank"]), data.sizes["maps"]
    for place, panel in enumerate(panels):
        low, high = panel.get_ylim()
        for drawn in panel.get_lines():
            assert (np.asarray(drawn.get_ydata()) >= low).all()
            assert (np.asarray(drawn.get_ydata()) <= high).all()
        (side,) = panel.patches
        bottom, top = side.get_y(), side.get_y() + side.get_height()
        assert (bottom if place < kinds else top) == pytest.approx(rank)


def test_theorem_4_fills_the_trajectories_that_break_the_printed_bound():
    data = dataset("random_geodesics")
    ratio = data["middle"].copy(data=np.linspace(0.2, 1.6, data["middle"].size).reshape(data["middle"].shape))
    data = data.assign(lower_printed=data["middle"] / ratio)
    panels = exact.theorem4(data, dataset("scalar_geodesics"), dataset("geodesics")).axes
    below = (data["middle"] < 0).values
    printed, corrected = ((data["middle"] / data[name]).values[below] for name in ("lower_printed", "lower"))
    assert 0 < (printed > 1).sum() < printed.size
    for label, kept in (("obeyed", printed <= 1), ("printed bound broken", printed > 1)):
        x, y = line(panels[0], label)
        np.testing.assert_allclose(x, printed[kept])
        np.testing.assert_allclose(y, corrected[kept])
    assert {panels[0].get_xscale(), panels[0].get_yscale(), panels[2].get_yscale()} == {"linear"}
    assert panels[1].get_yscale() == "log"


def test_theorem_4_divides_by_the_bound_on_the_side_of_the_gap():
    data = dataset("geodesics")
    panel = exact.theorem4(dataset("random_geodesics"), dataset("scalar_geodesics"), data).axes[2]
    for bias, words in ((0, "no bias"), (1, "bias")):
        middle, lower, upper = (data[name].sel(bias=bias).values for name in ("middle", "lower", "upper"))
        used = np.where(middle > 0, middle / upper, middle / lower)
        depth, drawn = line(panel, words)
        np.testing.assert_allclose(depth, data["effective_depth"])
        np.testing.assert_allclose(drawn, np.median(used, axis=data["middle"].sel(bias=0).get_axis_num("seed")))
        np.testing.assert_allclose(edges(panel.collections[bias]), [used.min(axis=-1), used.max(axis=-1)])


def test_cost_of_identity_has_a_row_for_every_bound_and_case():
    costs, ends = dataset("identity_costs"), dataset("descents")
    costs["feasible"][..., 0] = 1  # the others as they are
    panels = exact.identity_cost(costs, ends).axes
    rows = [tick.get_text().replace("\n", " ") for tick in panels[0].get_yticklabels()]
    assert rows == ["no bias, printed", "bias, printed", "bias, corrected"]
    for row, (bias, name) in enumerate(((0, "bound_printed"), (1, "bound_printed"), (1, "bound_corrected"))):
        cell = costs.sel(bias=bias)
        wanted = (cell[name] / cell["plain_cost"]).values[cell["feasible"].values == 1]
        points, least = panels[0].get_lines()[2 * row : 2 * row + 2]
        np.testing.assert_allclose(points.get_xdata(), np.sort(wanted))
        assert np.abs(points.get_ydata() - row).max() < 0.5
        assert least.get_xdata()[0] == pytest.approx(1 / float(costs["least_ratio"].sel(search=rows[row]).min()))
    for bias, points in enumerate(panels[1].get_lines()[:2]):
        np.testing.assert_allclose(points.get_xdata(), np.sort(1 + costs["scaling"].sel(shape="9 x 4", bias=bias)))
    cases = [tick.get_text().replace("\n", " ") for tick in panels[2].get_yticklabels()]
    for case, points in zip(cases, panels[2].get_lines(), strict=False):
        cell = ends.sel(case=case)
        np.testing.assert_allclose(points.get_xdata(), np.sort(cell["end_cost"] - cell["end_rank"]))
        assert points.get_color() == (BLUE if "no bias" in case else RED)
        assert points.get_xdata().max() < panels[2].get_xlim()[1]


def test_critical_paths_show_both_factors_on_logarithmic_axes():
    data, random = dataset("critical_paths"), dataset("random_geodesics")
    panels = exact.critical_paths(data, random).axes
    for panel in panels[:2]:
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    for bias, words in ((0, "no bias"), (1, "bias")):
        spread = data["spread"].sel(bias=bias).transpose("layer_count", "seed").values
        layers, drawn = line(panels[0], words)
        np.testing.assert_allclose(layers, data["layer_count"])
        np.testing.assert_allclose(drawn, np.exp(np.log(spread).mean(axis=1)))
        np.testing.assert_allclose(edges(panels[0].collections[bias]), [spread.min(axis=1), spread.max(axis=1)])
    gain = data["norm_gain"].sel(bias=1).transpose("layer_count", "seed").values
    for factor, words in ((2, "corrected, 2"), (1, "printed, 1")):
        np.testing.assert_allclose(line(panels[1], words)[1], np.exp(np.log(np.abs(gain - factor)).mean(axis=1)))
    points = panels[2].get_lines()[0]
    np.testing.assert_allclose(points.get_ydata(), random["norm_gain"].sel(bias=1))


def test_figure_2a_shows_ratios_to_equidistant_steps_of_the_same_seed():
    data = dataset("scheme_measures")
    left, right = schemes.fig2a_test_error(data).axes[:2]
    assert [text.get_text() for text in left.figure.legends[0].get_texts()] == ["equidistant", "irregular", "adaptive"]
    for container, scheme in zip(left.containers, ("equidistant", "irregular", "adaptive"), strict=True):
        errors = data["test_error_by_layers"].isel(maps=0).sel(scheme=scheme).mean("seed")
        np.testing.assert_allclose(container.lines[0].get_ydata(), errors)
    for container, scheme in zip(right.containers, ("irregular", "adaptive"), strict=True):
        ratios = data["test_ratio_by_layers"].isel(maps=0).sel(scheme=scheme).transpose("layers", "seed").values
        logs = np.log(ratios)
        np.testing.assert_allclose(container.lines[0].get_ydata(), np.exp(logs.mean(axis=1)))
        n = logs.shape[1]
        quantile = student.ppf(0.975, n - 1)
        ends = np.exp(logs.mean(axis=1) + np.array([[-1], [1]]) * quantile * logs.std(axis=1, ddof=1) / np.sqrt(n))
        np.testing.assert_allclose(bars(container), ends, rtol=1e-5)
    assert left.get_ylim()[0] == 0
    assert right.get_yscale() == "linear"


def test_figure_2b_colors_the_two_inner_dimensions_apart():
    data = dataset("staged_measures")
    figure = schemes.fig2b_weight_spectra(data)
    wide, narrow = (int(n) for n in data["inner"].values[:2])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"others", f"to {wide}th", f"first {narrow}", f"paper: roughly {wide}", "a quarter"} < set(names)
    for panel, teacher in zip(figure.axes, data["teacher"].values, strict=True):
        net = data.sel(teacher=teacher).isel(seed=0)
        p, values = net["p"].values, net["weight_spectrum"].transpose("layer", "value").values
        middle = (p[1:] + p[:-1]) / 2
        np.testing.assert_allclose(line(panel, f"first {narrow}")[1], values[:, 0])
        np.testing.assert_allclose(line(panel, f"to {wide}th")[1], values[:, narrow])
        np.testing.assert_allclose(line(panel, "others")[0], middle)
        colors = {drawn.get_label(): drawn.get_color() for drawn in panel.get_lines()}
        assert (colors[f"first {narrow}"], colors[f"to {wide}th"]) == (BLUE, RED)
        assert [drawn.get_color() for drawn in panel.get_lines()].count(BLUE) == narrow
        assert [drawn.get_color() for drawn in panel.get_lines()].count(RED) == wide - narrow
        np.testing.assert_allclose(line(panel, "a quarter")[1], values[np.argmin(np.abs(middle - 0.3)), 0] / 4)
        assert line(panel, f"paper: roughly {wide}")[0] == pytest.approx(0.3)
        counted = float(data["stage_dimension"].sel(teacher=teacher).mean())
        assert panel.get_title("left").endswith(f"{teacher}: {counted:.1f}")


def test_figure_3_marks_constant_and_proportional_from_the_decayed_maps():
    data = dataset("chain_measures")
    panels = trained.fig3_bounded(data).axes
    depth = data["effective_depth"].values
    names = ("length", "stable_length", "largest_momentum", "median_alignment")
    for panel, name in zip(panels, names, strict=True):
        values = data[name].isel(gamma=0) if "gamma" in data[name].dims else data[name]
        means = values.sel(maps="decayed maps").mean("seed").values
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
        np.testing.assert_allclose(line(panel, "constant (paper)")[1], means[0])
        np.testing.assert_allclose(line(panel, r"in proportion to $\tilde L$")[1], means[0] * depth / depth[0])
        free = next(drawn for drawn in panel.containers if drawn.get_label() == "free maps")
        assert free.lines[0].get_color() == ORANGE
        np.testing.assert_allclose(free.lines[0].get_ydata(), values.sel(maps="free maps").mean("seed"))


def test_the_table_of_geodesics_holds_medians_over_seeds():
    data = dataset("geodesics")
    frame = laboratory(data).frame
    assert len(frame) == data.sizes["bias"] * data.sizes["effective_depth"]
    for row in frame.to_dict("records"):
        cell = data.sel(bias=["no", "yes"].index(row["bias"]), effective_depth=row["Lt"])
        middle = int(np.abs(cell["p"].values - 0.5).argmin())
        speed = cell["plain_speed"].transpose("seed", "p").values
        assert row["-2 H / Lt"] == pytest.approx(
            np.median(cell["scaled_hamiltonian"].transpose("seed", "p").values.mean(axis=1))
        )
        assert row["drift of H"] == pytest.approx(np.median(cell["drift"].values))
        assert row["speed at p = 1/2"] == pytest.approx(np.median(speed[:, middle]))
        assert row["largest speed"] == pytest.approx(np.median(speed.max(axis=1)))


def test_the_table_of_chains_holds_means_over_seeds_and_their_standard_deviation():
    data = dataset("chain_measures").isel(gamma=0)
    frame = chains(dataset("chain_measures")).frame
    assert len(frame) == data.sizes["maps"] * data.sizes["effective_depth"]
    for row in frame.to_dict("records"):
        cell = data.sel(maps=row["maps"], effective_depth=row["Lt"])
        energy = cell["median_hamiltonian"].values
        count = len(energy)
        assert row["-2 H / Lt"] == pytest.approx(energy.sum() / count)
        spread = np.sqrt(((energy - energy.mean()) ** 2).sum() / max(count - 1, 1))
        assert row["sd of -2 H / Lt"] == pytest.approx(spread)
        assert row["test error / variance"] == pytest.approx(cell["test_error"].values.mean())
        ranks = cell["stable_rank"].transpose("seed", "node").values
        assert row["least stable rank"] == pytest.approx(ranks.min(axis=1).mean())


def test_the_papers_settings_are_drawn_at_the_last_stop():
    """After gradient descent, which follows Adam."""
    net = dataset("paper_measures").isel(maps=0, seed=0)
    assert net["descent_rate"].values[-1] > 0
    _, spectra, weights, energies = distance.paper_settings(dataset("paper_measures")).axes
    last, rank = net.isel(stop=-1), int(net["rank"])
    for panel, name in ((spectra, "centered_spectrum"), (weights, "weight_spectrum")):
        first = [drawn.get_ydata() for drawn in panel.get_lines() if drawn.get_color() == BLUE][::-1]
        np.testing.assert_allclose(np.transpose(first), last[name].values[:, :rank])
    for label, values in (
        ("cost of identity", last["cost"].isel(gamma=0)),
        (r"$-2 \mathcal{H}_\gamma / \tilde L$", last["stable_hamiltonian"].isel(gamma=0)),
        (ENERGY, last["hamiltonian"]),
    ):
        x, y = line(energies, label)
        np.testing.assert_allclose(x, (last["p"].values[1:] + last["p"].values[:-1]) / 2)
        np.testing.assert_allclose(y, values)
