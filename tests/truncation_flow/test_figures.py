"""What the study's figures draw is what its datasets hold: which formula, which time, on which axes."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

from repdyn.base import figures as base_figures
from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, RED
from repdyn.base.streams import Stream
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.claims import tolerances
from repdyn.truncation_flow.experiments.audits import gradient_audit
from repdyn.truncation_flow.experiments.collapse import truncation_in_the_plane
from repdyn.truncation_flow.experiments.propagators import propagators
from repdyn.truncation_flow.figures import geometry, many_layers

STREAM = Stream(6, ("truncation_flow", "figures"))
COLLAPSED = sizes.CollapsedClusters(dimension=3, seeds=2, horizon=6.0, samples=25, euler_steps=(0.01, 0.1), nodes=301)


def draw(function, *data):
    with base_figures.style():
        return function(*data)


def largest(data, name):
    """Equation -> its largest error over all draws."""
    errors = data[name].max([dim for dim in data[name].dims if dim != "equation"])
    return dict(zip(data["equation"].values.tolist(), errors.values.tolist(), strict=True))


@pytest.fixture(scope="module")
def audits():
    return (
        gradient_audit(sizes.GradientAudit(dimensions=(2, 3), points=10, draws=2), STREAM),
        propagators(COLLAPSED, STREAM),
    )


def test_the_audit_shows_the_largest_error_of_every_formula_under_its_name(audits):
    figure = draw(many_layers.gradient_audit, *audits)
    (panel,) = figure.axes
    names = [text.get_text() for text in panel.get_yticklabels()]
    printed, corrected = (
        {name: error for data in audits for name, error in largest(data, form).items()}
        for form in ("printed", "corrected")
    )
    assert sorted(names) == sorted(printed)
    shown = {line.get_label(): line for line in panel.get_lines()}
    wrong, right = shown["wrong as printed"], shown["right: as corrected, or as printed"]
    assert (wrong.get_color(), right.get_color()) == (RED, BLUE)
    np.testing.assert_allclose(right.get_xdata(), [max(corrected[name], 1e-17) for name in names])
    drawn = dict(zip((names[row] for row in wrong.get_ydata()), wrong.get_xdata().tolist(), strict=True))
    assert drawn == {name: error for name, error in printed.items() if error != corrected[name]}
    assert min(drawn.values()) > 1e3 * many_layers.LOOSEST
    assert max(corrected.values()) < many_layers.LOOSEST
    assert figure.repdyn["title"].startswith(f"{len(drawn)} of {len(printed)} ")


def test_the_audit_begins_with_what_is_wrong_as_printed_the_largest_error_first(audits):
    """Also where a formula that is right, a quadrature, has a larger error than one that is wrong."""
    first, second = (data.copy(deep=True) for data in audits)
    names = first["equation"].values[:4]
    for form in ("printed", "corrected"):
        for data in (first, second):
            data[form][:] = 1e-12
        first[form].loc[{"equation": names[0]}] = 1e-5
    for name, error in zip(names[1:], (1e-7, 1.0, 1e-3), strict=True):
        first["printed"].loc[{"equation": name}] = error
    (panel,) = draw(many_layers.gradient_audit, first, second).axes
    rows = [text.get_text() for text in panel.get_yticklabels()]
    assert rows[:4] == [*names[[2, 3, 1]], names[0]]
    wrong = {line.get_label(): line for line in panel.get_lines()}["wrong as printed"]
    np.testing.assert_allclose(wrong.get_xdata(), [1.0, 1e-3, 1e-7])
    assert panel.get_ylim()[0] > panel.get_ylim()[1]  # the first row is the top one


def test_the_audit_has_a_logarithmic_axis_with_the_tolerances_of_the_checks(audits):
    (panel,) = draw(many_layers.gradient_audit, *audits).axes
    assert panel.get_xscale() == "log"
    labels = dict(zip(panel.get_xticks().tolist(), (text.get_text() for text in panel.get_xticklabels()), strict=True))
    assert labels == {
        1e-17: "0", 1e-14: "$10^{-14}$", 1e-10: "$10^{-10}$", 1e-7: "$10^{-7}$", 1e-4: "$10^{-4}$", 1: "1", 100: "100",
    }  # fmt: skip
    assert {text.get_text(): text.xy[0] for text in panel.texts} == {
        "tolerance of\nexact formulas": tolerances.EXACT.size,
        "loosest\ntolerance": tolerances.INTEGRATED.size,
    }
    dashed = {line.get_xdata()[0] for line in panel.get_lines() if line.get_linestyle() == "--"}
    assert dashed == {tolerances.EXACT.size, tolerances.INTEGRATED.size}
    formulas = [t.size for t in vars(tolerances).values() if isinstance(t, tolerances.Tolerance)]
    assert max(size for size in formulas if size != tolerances.COUNTED.size) == many_layers.LOOSEST


PLANES = {
    2: (geometry.truncation_in_the_plane, np.eye(2)),
    3: (geometry.truncation_in_three_dimensions, np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])),
}


@pytest.fixture(scope="module")
def truncated():
    settings = sizes.NeuralCollapse(
        dimensions=(2, 3), points=10, fill=0.8, start=-0.3, horizon=8.0, samples=33, step=0.05
    )
    return truncation_in_the_plane(settings, STREAM)


@pytest.mark.parametrize("Q", PLANES)
def test_cluster_1_is_drawn_with_its_images_at_the_time_in_the_title(truncated, Q):
    function, frame = PLANES[Q]
    figure, data = draw(function, truncated), truncated.sel(dimension=Q)
    for panel, snapshot in zip(figure.axes[1:], (1, 3, 4), strict=True):
        part = data.sel(snapshot=snapshot)
        assert panel.get_title(loc="left").endswith(f"cluster 1 at $s$ = {float(part['moment']):.2g}")
        lines, before, after = panel.collections
        for cloud, name, alpha in ((before, "data", 0.3), (after, "image", None)):
            wanted = part[name].sel(cluster=0).values[:, :Q] @ frame.T
            np.testing.assert_allclose(cloud.get_offsets(), wanted)
            assert (to_hex(cloud.get_facecolor()), cloud.get_alpha()) == (RED.lower(), alpha)
            at = [segment[int(name == "image")] for segment in lines.get_segments()]
            np.testing.assert_allclose(at, wanted)
        path, label = (line for line in panel.get_lines())
        until = data["time"].values <= float(part["moment"]) + 1e-9
        np.testing.assert_allclose(path.get_xydata()[: until.sum()], data["apex"].values[until, :Q] @ frame.T)
        assert len(path.get_xdata()) <= until.sum() + 1
        np.testing.assert_allclose(label.get_xydata()[0], data["label"].values[:Q] @ frame.T)
        assert (path.get_color(), label.get_color(), label.get_marker()) == (BLACK, GREEN, "*")


@pytest.mark.parametrize("Q", PLANES)
def test_the_first_panel_shows_every_cluster_where_it_lies(truncated, Q):
    function, frame = PLANES[Q]
    figure, data = draw(function, truncated), truncated.sel(dimension=Q)
    panel = figure.axes[0]
    for cluster, (cloud, color) in enumerate(zip(panel.collections, (RED, BLUE, ORANGE)[:Q], strict=True)):
        wanted = data["data"].sel(cluster=cluster).values[:, :Q] @ frame.T
        np.testing.assert_allclose(cloud.get_offsets(), wanted)
        assert to_hex(cloud.get_facecolor()) == color.lower()
    for panel in figure.axes:
        assert panel.get_aspect() == 1
        assert (panel.get_xscale(), panel.get_yscale()) == ("linear", "linear")
        assert np.ptp(panel.get_xlim()) == pytest.approx(np.ptp(panel.get_ylim()))
    assert f"clusters of {data.sizes['point']} points" in figure.repdyn["caption"]


def test_the_caption_of_the_reduced_network_keeps_the_two_costs_apart():
    """With labels exchanged; those at earlier times and near the images are others."""
    network, reduced = [[1.0, 0.3], [1.0, 0.5]], [[0.4, 0.2], [1.0, 1e-9]]
    data = xr.Dataset(
        {"cost_network": (("labels", "time"), network), "cost_reduced": (("labels", "time"), reduced)},
        {"labels": ["benign", "adverse"], "time": [0.0, 10.0], "points": 12},
    ).assign(lost=("labels", [np.inf, 3.0]))
    caption = draw(many_layers.reduced_network, data).repdyn["caption"]
    assert "the network ends at 0.50 while the reduced flow claims 1e-09." in caption
    assert "the costs differ by 6e-01 at most." in caption, "at the start, and by 0.1 at the end"
