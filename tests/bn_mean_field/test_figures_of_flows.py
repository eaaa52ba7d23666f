"""Figures of flows and measures draw the variables, starts, times and widths that their labels give."""

import numpy as np
import pytest
from scipy.stats import t as student
from tests.bn_mean_field.test_figures import drawn, edges, recorded, titled

from repdyn.base.figures import BLACK, BLUE, CYCLE, GREEN, ORANGE, PURPLE, RED, SKY
from repdyn.bn_mean_field.figures.learning_speed import matched_loss
from repdyn.bn_mean_field.figures.manifold import round_manifold
from repdyn.bn_mean_field.figures.neuron_directions import directions_over_time
from repdyn.bn_mean_field.figures.particle_limit import equicontinuity_bounds, mean_field_limit


def line(panel, label):
    (line,) = (line for line in panel.get_lines() if line.get_label() == label)
    return line


def check(panel, label, x, y, color):
    np.testing.assert_allclose(line(panel, label).get_xdata(), np.asarray(x, float))
    np.testing.assert_allclose(line(panel, label).get_ydata(), np.asarray(y, float))
    assert line(panel, label).get_color() == color


@pytest.fixture(scope="module")
def ratios():
    data = recorded("speed_ratio")
    return data, matched_loss(data)


@pytest.mark.parametrize(("title", "name"), [("equal iteration", "ratio"), ("equal loss", "matched_ratio")])
def test_speed_ratios_of_every_step_problem_and_start(ratios, title, name):
    data, figure = ratios
    panel, time = titled(figure, f"at {title}"), data["iteration"]
    first = data.isel(start=0)[name]
    for step, color in zip(data["step"].values, (SKY, BLUE, BLACK, GREEN), strict=False):
        check(panel, f"$h$ = {step:g}", time, first.sel(problem="y = x1", step=step), color)
    own = data[name].sel(step=float(data["paper_step"]))
    check(panel, "$y = x_2$", time, own.sel(problem="y = x2").isel(start=0), ORANGE)
    check(panel, r"$y = x_1$, $\Sigma = I$", time, own.sel(problem="y = x1, Sigma = I").isel(start=0), GREEN)
    random = own.sel(problem="y = x1").transpose("start", "iteration").values[1:]
    np.testing.assert_allclose(edges(panel.collections[0]), [random.min(axis=0), random.max(axis=0)])
    tenfold, look = (line for line in panel.get_lines() if line.get_label().startswith("_"))
    np.testing.assert_allclose(tenfold.get_ydata(), 10)
    np.testing.assert_allclose(look.get_xdata(), int(data["look"]))
    assert panel.get_yscale() == "log"


def test_quartiles_of_directions_for_targets_models_and_sizes():
    anisotropy, magnitudes = recorded("anisotropy"), recorded("magnitudes")
    panels = directions_over_time(anisotropy, magnitudes).axes
    for panel, target in zip(panels, ("y = x1", "y = x2"), strict=False):
        for place, (model, color) in enumerate((("BN", BLUE), ("vanilla", RED))):
            angle = anisotropy["axis_angle"].sel(model=model, target=target).transpose("neuron", "iteration").values
            check_quartiles(panel, place, model, anisotropy["iteration"], angle, color)
    small, large = magnitudes["radius"].values
    for place, (radius, color) in enumerate(((small, BLUE), (large, PURPLE))):
        angle = magnitudes["axis_angle"].sel(radius=radius).transpose("start", "neuron", "iteration").values[1:]
        pooled = angle.reshape(-1, magnitudes.sizes["iteration"])
        check_quartiles(panels[2], place, f"length {radius:g}", magnitudes["iteration"], pooled, color)


def check_quartiles(panel, place, label, time, sample, color):
    check(panel, label, time, np.median(sample, axis=0), color)
    quartiles = [np.percentile(sample, share, axis=0) for share in (25, 75)]
    np.testing.assert_allclose(edges(panel.collections[place]), quartiles)


WIDTHS_PANELS = [
    (row, column, target, start, name)
    for row, target in enumerate(("equal signs", "opposite signs"))
    for column, (start, name) in enumerate(
        (("low discrepancy", "distance"), ("i.i.d.", "distance"), ("low discrepancy", "loss_gap"))
    )
]


@pytest.fixture(scope="module")
def distances():
    """All pairs of starts and targets, at two widths and at that of the reference, which is not drawn."""
    data = recorded("propagation_distances")
    runs = np.arange(data.sizes["run"])
    start = np.array(["low discrepancy", "i.i.d."])[runs % 2]
    target = np.array(["equal signs", "opposite signs"])[runs // 2 % 2]
    width = np.array([8, 32, int(data["reference"])])[runs // 4 % 3]
    data = data.assign_coords(start=("run", start), target=("run", target), width=("run", width))
    return data, mean_field_limit(data).axes


@pytest.mark.parametrize(("row", "column", "target", "start", "name"), WIDTHS_PANELS)
def test_distances_over_the_width(distances, row, column, target, start, name):
    data, axes = distances
    panel = axes[3 * row + column]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    mine = (data["target"].values == target) & (data["start"].values == start)
    values = data[name].transpose("run", "time").values
    for place, (container, color) in enumerate(zip(panel.containers, CYCLE, strict=False)):
        assert container.get_label() == f"$t$ = {float(data['time'][place]):g}"
        points, _, (bars,) = container.lines
        assert points.get_color() == color
        for x, y, bar, width in zip(*points.get_data(), bars.get_segments(), (8, 32), strict=True):
            sample = values[mine & (data["width"].values == width), place]
            half = student.ppf(0.975, sample.size - 1) * sample.std(ddof=1) / np.sqrt(sample.size)
            assert (x, y) == (width, pytest.approx(sample.mean()))
            np.testing.assert_allclose(bar[:, 1], [sample.mean() - half, sample.mean() + half])
    if name == "distance":
        (guide,) = (line for line in panel.get_lines() if line.get_linewidth() == 0.6)
        np.testing.assert_allclose(guide.get_ydata(), [0.5, 0.5 / 2])


def test_bounds_of_equicontinuity_from_the_times_with_transport():
    data = recorded("equicontinuity")
    known = np.isin(np.arange(data.sizes["time"]), (0, 2))
    data["w2"] = data["w2"].where(data["time"].copy(data=known))
    panels = equicontinuity_bounds(data).axes
    for panel, k in zip(panels, (0, 2), strict=False):
        row = data.isel(time=k)
        assert float(f"{float(row['time']):.3g}") == float(panel.get_title("left").split("=")[1])
        for label, name, color in (
            ("corrected bound", "bound", BLUE),
            ("coupling of the proof", "coupled", BLACK),
            ("exact $W_2^2$", "w2", BLACK),
            ("printed bound", "bound_printed", RED),
        ):
            check(panel, label, data["later"], row[name], color)
        assert panel.get_yscale() == "log"
    for label, name, color in (
        ("norm of $G$", "rate_metric", BLUE),
        ("Euclidean norm, as printed", "rate_euclidean", RED),
    ):
        check(panels[2], label, data["frame"], data[name].values / data["rate"].values, color)


def test_points_of_the_manifold_and_eigenvalues():
    data = recorded("metric_audit")
    ellipse, circle, eigenvalues = round_manifold(data).axes
    points = data["tick_position"].values
    unit = points / np.hypot(*points.T)[:, None]
    for panel, expected in ((ellipse, points), (circle, unit)):
        closed, dots, *rays = drawn(panel)
        np.testing.assert_allclose(dots, expected.T)
        np.testing.assert_allclose(closed, np.r_[expected, expected[:1]].T)
        np.testing.assert_allclose([ray[:, 1] for ray in rays], 1.1 * unit[::6])
    assert (eigenvalues.get_xscale(), eigenvalues.get_yscale()) == ("log", "log")
    for place, (condition, color) in enumerate(zip(data["condition"].values, (BLUE, RED, GREEN), strict=False)):
        cell = data.sel(condition=condition).transpose("dimension", "draw", ...)
        x, y = (cell[name].values.ravel() for name in ("alignment", "smallest"))
        check(eigenvalues, f"cond {condition:g}", x, y, color)
        bound = eigenvalues.get_lines()[2 * place + 1]
        np.testing.assert_allclose(bound.get_ydata(), np.ravel(cell["kantorovich"])[0])
        assert bound.get_color() == color
