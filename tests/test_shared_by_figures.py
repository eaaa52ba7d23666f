"""What figures of a study share, by itself: ticks, guides, means, moments, legends, sentences on settings."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from scipy import stats

from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, RED, new, style
from repdyn.bn_mean_field.figures import axes as mean_field
from repdyn.bn_mean_field.figures.learning_speed import _faster
from repdyn.diagnostics.figures import shared as networks
from repdyn.leaky_resnets.figures import shared as leaky
from repdyn.universality.figures.printed import other_two_point_settings, size_of_default
from repdyn.universality.theory.published import TABLE_1


@pytest.fixture
def panel():
    with style():
        return new(1, 1)[1][0, 0]


# leaky_resnets


@pytest.mark.parametrize("ticks", [leaky.ticks_at, mean_field.numbered])
def test_ticks_of_a_logarithmic_axis_stand_at_the_values_as_plain_numbers(panel, ticks):
    panel.set(xscale="log", xlim=(0.1, 100))
    ticks(panel.xaxis, (0.25, 3, 40))
    panel.figure.canvas.draw()
    assert panel.get_xticks().tolist() == [0.25, 3, 40]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["0.25", "3", "40"]
    assert len(panel.get_xticks(minor=True)) == 0


@pytest.mark.parametrize(("bottom", "top"), [(np.nan, 5.0), (2.0, np.inf)])
def test_limits_that_are_no_numbers_change_nothing(panel, bottom, top):
    panel.set_ylim(0, 1)
    leaky.limits(panel, bottom, top)
    assert panel.get_ylim() == (0, 1)
    leaky.limits(panel, 2.0, 5.0)
    assert panel.get_ylim() == (2, 5)


def test_geometric_means_have_students_interval_of_the_logarithms():
    draws = np.exp(np.array([[0.0, 1.0, 2.0, 5.0], [1.0, 1.5, 1.0, 2.5]]))
    middle, (below, above) = leaky.geometric_mean(draws)
    for row, place in enumerate(np.log(draws)):
        low, high = stats.t.interval(0.95, 3, place.mean(), stats.sem(place))
        assert middle[row] == pytest.approx(np.exp(place.mean()))
        assert middle[row] - below[row] == pytest.approx(np.exp(low))
        assert middle[row] + above[row] == pytest.approx(np.exp(high))


def test_the_first_singular_values_are_in_color_on_four_decades(panel):
    p, values = np.array([0.0, 1.0]), np.array([[8.0, 2.0, 1e-9], [10.0, 1.0, 0.0]])
    leaky.spectrum_lines(panel, p, values, 2)
    lines = {tuple(line.get_ydata()): line for line in panel.lines}
    assert set(lines) == {(8, 10), (2, 1), (1e-9, 1e-12)}  # a zero stays in the picture
    assert [to_hex(lines[own].get_color()) for own in ((8, 10), (2, 1))] == [BLUE.lower()] * 2
    assert to_hex(lines[1e-9, 1e-12].get_color()) == to_hex(leaky.GRAY)
    assert panel.get_yscale() == "log"
    np.testing.assert_allclose(panel.get_ylim(), (16e-4, 16))


def test_all_singular_values_that_are_large_are_seen(panel):
    leaky.spectrum_lines(panel, np.array([0.0, 1.0]), np.array([[8.0, 2.0], [10.0, 4.0]]), 1)
    np.testing.assert_allclose(panel.get_ylim(), (1, 16))  # half of the least of the gray ones


# bn_mean_field


def test_a_guide_begins_at_its_first_value_and_has_its_slope(panel):
    mean_field.slope_guide(panel, np.array([2.0, 4.0, 16.0]), 3.0, -0.5)
    (line,) = panel.lines
    np.testing.assert_allclose(line.get_ydata(), [3, 3 / np.sqrt(2), 3 / np.sqrt(8)])
    assert to_hex(line.get_color()) == BLACK.lower()


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        ([1.01, 3.0], "faster"),
        ([1.0], "faster"),
        ([0.99, 3.0], "slower"),
        ([np.nan, 1.5], "faster"),
        ([np.nan], "of unknown speed"),
    ],
)
def test_a_ratio_of_speeds_is_faster_from_one_on(ratios, word):
    assert _faster(xr.DataArray(ratios)) == word
    assert _faster(xr.DataArray([0.5]), "no faster") == "no faster"


# networks of users


def recorded(times):
    data = xr.Dataset({"loss": ("epoch", np.arange(len(times), dtype=float))}, {"epoch": list(times)})
    return data.assign_attrs(time="epoch")


def test_of_a_recording_the_first_and_the_last_moment_are_shown_and_a_single_one_as_it_is():
    (first, last) = networks.moments(recorded([0, 5, 20]))
    assert (first[:3], last[:3]) == (("epoch 0", ORANGE, "--"), ("epoch 20", BLUE, "-"))
    assert (float(first[3]["loss"]), float(last[3]["loss"])) == (0, 2)
    single = xr.Dataset({"loss": 1.0})
    assert networks.moments(single)[0][:3] == ("measured", BLUE, "-")
    assert networks.moments(single)[0][3] is single
    assert networks.time_of(recorded([0])) == "epoch"
    with pytest.raises(ValueError, match="has one moment only; record several with a Recorder"):
        networks.time_of(single)


def test_a_line_is_the_mean_over_seeds_with_their_range(panel):
    values = xr.DataArray([[1.0, 4.0, 2.0], [5.0, 6.0, 1.0]], dims=("seed", "layer"))
    networks.line(panel, values, "rank", RED, "--")
    assert panel.lines[0].get_ydata().tolist() == [3, 5, 1.5]
    assert panel.lines[0].get_label() == "rank"
    corners = panel.collections[0].get_paths()[0].vertices
    ends = [(corners[corners[:, 0] == x, 1].min(), corners[corners[:, 0] == x, 1].max()) for x in range(3)]
    assert ends == [(1, 5), (4, 6), (1, 2)]


def test_a_line_of_one_network_has_no_band(panel):
    networks.line(panel, xr.DataArray([1.0, 2.0], dims="layer"), "rank", RED, "-")
    assert panel.lines[0].get_ydata().tolist() == [1, 2]
    assert not panel.collections


def test_without_targets_there_is_no_rank_of_the_task(panel):
    networks.shade_task_rank(panel, xr.Dataset())
    assert not panel.patches


def test_a_legend_has_each_label_once_whichever_panel_has_it():
    with style():
        figure, ((left, right),) = new(1, 2)
    left.plot([0], [0], color=BLUE, label="a")
    right.plot([0], [0], color=RED, label="a")
    right.plot([0], [0], color=GREEN, label="b")
    networks.legend_of_all(figure, [left, right])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert [to_hex(handle.get_color()) for handle in legend.legend_handles] == [BLUE.lower(), GREEN.lower()]


@pytest.mark.parametrize(
    ("seeds", "text"),
    [(0, ""), (1, "; one seed"), (2, "; means over 2 seeds, bands without another meaning are their range")],
)
def test_captions_say_how_many_seeds_there_are(seeds, text):
    data = xr.Dataset({"loss": ("seed", np.zeros(seeds))}) if seeds else xr.Dataset({"loss": 1.0})
    assert networks.seeds_text(data) == text


def test_time_of_the_start_alone_has_room_before_it(panel):
    networks.time_axis(panel, recorded([0])["epoch"], "epoch")
    assert panel.get_xlim()[0] == -0.5


# universality


def two_points(**changes):
    names = ("default", "high", "skip")
    printed = {"gain": "gain", "learning_rate": "rate", "units": "units", "hidden": "hidden"}
    rows = {name: [getattr(TABLE_1[network], own) for network in names] for name, own in printed.items()}
    rows |= {"dx2": [0.25] * 3, "dy2": [1.5] * 3} | changes
    return xr.Dataset({name: ("network", values) for name, values in rows.items()}, {"network": list(names)})


ALL = {"default": "default", "high": "high weights", "skip": "skips"}
POINTS = " Points at $dx^2 = 0.25$, $dy^2 = 1.5$; Appendix B.1 prints $dx = 0.5$, $dy = 1$."


@pytest.mark.parametrize(
    ("changes", "shown", "words"),
    [
        ({}, ALL, "the same"),
        ({"units": [100] * 3}, ALL, "units 100 for 500 (all)"),
        ({"units": [100, 500, 100]}, ALL, "units 100 for 500 (default, skips)"),
        (
            {"gain": [1.0, 1.25, 0.1], "hidden": [20, 20, 4]},
            ALL,
            "gain 1.25 for 1.3 (high weights); hidden 4 for 20 (skips)",
        ),
        ({"gain": [1.0, 1.25, 0.1], "hidden": [20, 4, 20]}, ALL, "gain 1.25 for 1.3, hidden 4 for 20 (high weights)"),
        ({"learning_rate": [0.005, 1e-3, 0.01]}, {"high": "high weights"}, "rate 0.001 for 0.00075 (high weights)"),
    ],
)
def test_settings_other_than_those_of_table_1_are_told_by_network(changes, shown, words):
    told = other_two_point_settings(two_points(**changes), shown)
    assert told == f"Used here for what Table 1 prints: {words}.{POINTS}"


@pytest.mark.parametrize(
    ("units", "end"),
    [((500,), ", as here."), ((500, 500), ", as here."), ((100,), "; here 100."), ((100, 500), "; here 100 and 500.")],
)
def test_the_width_of_the_default_network_is_told_beside_the_printed_one(units, end):
    assert size_of_default(*units) == f"Table 1 prints 500 units per layer{end}"
