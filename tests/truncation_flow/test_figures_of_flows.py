"""Figures of flows: which example, sign, step and start stands where; guides, marks and numbers of the captions."""

import re

import numpy as np
import pytest
from tests.titled import dataset_of, drawn_as, named

from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED
from repdyn.truncation_flow.figures import geometry, many_layers, one_cluster


def dotted(panel, color):
    return [
        line.get_xdata()[0] for line in panel.get_lines() if (line.get_linestyle(), line.get_color()) == (":", color)
    ]


def test_the_staircase_has_rates_above_the_bias_of_the_same_case():
    data = dataset_of("truncation_flow", "staircase")
    data["meeting"].loc[{"case": "between"}] = np.nan
    axes = one_cluster.staircase(data).axes
    for column, case in enumerate(("beyond", "between", "below")):
        part = data.sel(case=case)
        above, below = axes[column], axes[3 + column]
        assert above.get_title("left").endswith(f"y = {float(part['label']):g}, b(0) = {float(part['b'][0]):g}")
        rate = above.get_lines()[0]
        drawn_as(rate, part["time"], part["rate"])
        assert (rate.get_drawstyle(), rate.get_color()) == ("steps-post", BLUE)
        drawn_as(*named(below, "$b(s)$"), part["time"], part["b"])
        (label,) = named(below, "label $y$")
        assert (set(label.get_ydata()), label.get_color(), label.is_dashed()) == ({float(part["label"])}, GREEN, True)
        points = [line.get_ydata()[0] for line in below.get_lines() if line.get_color() == BLACK]
        np.testing.assert_allclose(points, part["x"])
        meetings = part["meeting"].values
        for panel in (above, below):
            np.testing.assert_allclose(dotted(panel, ORANGE), meetings[np.isfinite(meetings)])
    assert (axes[0].get_ylabel(), axes[3].get_ylabel(), axes[5].get_xlabel()) == (
        "rate $n/N$",
        "bias, data",
        "flow time $s$",
    )


def test_integrators_are_errors_over_right_sides_each_under_its_name():
    data = dataset_of("truncation_flow", "integrators")
    figure = one_cluster.integrators(data)
    (panel,) = figure.axes
    assert (panel.get_xscale(), panel.get_yscale(), panel.get_xlabel()) == ("log", "log", "right sides evaluated")
    for name, color, words in (
        ("occupation", BLUE, "occupation-time midpoint"),
        ("scipy", RED, "solve_ivp, RK45"),
        ("euler", ORANGE, "Euler with Cayley retraction"),
    ):
        (line,) = named(panel, words)
        drawn_as(line, data[f"{name}_cost"], data[f"{name}_error"])
        assert line.get_color() == color
    numbers = [int(data[name]) for name in ("dimension", "points", "crossings")]
    assert "$Q$ = {}, $N$ = {}, with {} crossings".format(*numbers) in figure.repdyn["caption"]


def test_sliding_shows_three_solutions_up_to_time_2_and_the_order_of_the_scheme():
    data = dataset_of("truncation_flow", "integrators")
    figure = one_cluster.sliding(data)
    first, cost, order = figure.axes
    early = data["time"].values <= 2
    assert 0 < early.sum() < early.size
    h = float(data["step"].max())
    for name, words, color in (
        ("sliding_u", "event-driven", BLUE),
        ("sliding_u_occupation", f"occupation, $h$ = {h:g}", GREEN),
        ("sliding_u_scipy", "RK45", RED),
    ):
        (line,) = named(first, words)
        drawn_as(line, data["time"].values[early], data[name].values[early])
        assert line.get_color() == color
    np.testing.assert_allclose(dotted(first, RED), [float(data["sliding_reached"])])
    drawn_as(cost.get_lines()[0], data["time"], data["sliding_cost"])
    assert (cost.get_xscale(), cost.get_yscale(), order.get_xscale(), order.get_yscale()) == (
        "linear",
        "log",
        "log",
        "log",
    )
    drawn_as(*named(order, "error of $u_1$"), data["step"], data["sliding_error"])
    drawn_as(*named(order, "$h$"), data["step"], data["step"])
    told = f"uses up {int(data['sliding_cap'])} right sides by $s$ = {float(data['sliding_reached']):.2f} "
    assert told in figure.repdyn["caption"]


def test_conservation_shows_the_largest_drift_of_each_sign_and_every_orbit():
    data = dataset_of("truncation_flow", "collapsed_clusters")
    figure = many_layers.conservation(data)
    drift, excess, weight = figure.axes
    time = data["time"].values
    colors = {"positive": BLUE, "negative": ORANGE, "indefinite": GREEN}
    for sign, color in colors.items():
        largest = data["drift"].sel(sign=sign).transpose("seed", "time").values.max(axis=0)[1:]
        (line,) = named(drift, rf"$\mathcal{{I}}(0)$ {sign}")
        drawn_as(line, time[1:], np.maximum(largest, 1e-17))
        assert line.get_color() == color
        if sign != "indefinite":
            orbits = [line for line in excess.get_lines() if line.get_color() == color and len(line.get_xdata())]
            np.testing.assert_allclose(
                [line.get_ydata() for line in orbits], data["rate_excess"].sel(sign=sign).transpose("seed", "time")
            )
    levels = [line.get_ydata()[0] for line in drift.get_lines() if line.get_color() == PURPLE]
    wanted = data["euler_drift"].mean([dim for dim in data["euler_drift"].dims if dim != "euler_step"])
    np.testing.assert_allclose(np.sort(levels), np.sort(wanted))
    (zero,) = [line for line in excess.get_lines() if line.get_color() == BLACK]
    assert set(zero.get_ydata()) == {0}
    for name, color, words in (
        ("weight_norm", BLACK, r"$\|W + Y B^{-1}\|$"),
        ("weight_bound_corrected", BLUE, "bound, corrected"),
        ("weight_bound_printed", RED, "bound (8.35), printed"),
    ):
        (line,) = named(weight, words)
        drawn_as(line, time, data[name])
        assert line.get_color() == color
    assert [panel.get_yscale() for panel in figure.axes] == ["log", "linear", "log"]
    steps = sorted(data["euler_step"].values, reverse=True)
    told = re.search(r"lengths ([^,]+(?:, [^,]+)*), from above", figure.repdyn["caption"])[1]
    assert sorted(map(float, told.split(", ")), reverse=True) == pytest.approx(steps)
    assert f"{data.sizes['seed']} random starts per sign" in figure.repdyn["caption"]


def test_the_general_flow_stands_beside_descent_from_the_same_start():
    data = dataset_of("truncation_flow", "general_flow")
    figure = many_layers.general_flow(data)
    starts = data["start"].values
    for column, start in enumerate(starts):
        for row, (name, floor) in enumerate((("cost", 1e-7), ("within", 1e-5))):
            panel = figure.axes[row * len(starts) + column]
            assert panel.get_yscale() == "log"
            for algorithm, color, dashed, words in (
                ("flow", BLUE, False, "flow of Theorem 5.1, corrected"),
                ("descent", ORANGE, True, "gradient descent"),
            ):
                part = data.sel(start=start, algorithm=algorithm)
                draws = np.maximum(part[name].transpose("seed", "time").values, floor)
                *thin, thick = [line for line in panel.get_lines() if line.get_color() == color]
                np.testing.assert_allclose([line.get_ydata() for line in thin], draws)
                drawn_as(thick, part["time"], np.median(draws, axis=0))
                assert (thick.get_label(), thick.is_dashed()) == (words, dashed)
                assert thick.get_linewidth() > thin[0].get_linewidth()
        assert figure.axes[column].get_title() == str(start)
    assert (figure.axes[0].get_ylabel(), figure.axes[len(starts)].get_ylabel()) == ("cost", "variance within / all")
    told = (
        f"step {float(data['step']):g}; descent: all weights and biases, standard cost, rate {float(data['rate']):g},"
    )
    assert told in figure.repdyn["caption"]


def test_the_reduced_flow_stands_beside_the_network_and_where_sectors_are_lost():
    data = dataset_of("truncation_flow", "reduced_network")
    lost = data["lost"].copy(data=[np.nan if labels == "benign" else 1.5 for labels in data["labels"].values])
    figure = many_layers.reduced_network(data.assign(lost=lost))
    for panel, labels in zip(figure.axes, data["labels"].values, strict=True):
        part = data.sel(labels=labels)
        words = {"benign": "labels near the images", "adverse": "labels exchanged"}[labels]
        assert panel.get_title("left").endswith(words)
        assert panel.get_yscale() == "log"
        for name, color, label in (("network", BLUE, "network"), ("reduced", RED, "reduced flow (8.6)-(8.7)")):
            (line,) = named(panel, label)
            drawn_as(line, part["time"], part[f"cost_{name}"])
            assert line.get_color() == color
        assert dotted(panel, BLACK) == ([] if labels == "benign" else [1.5])
    assert "the sectors are lost at the dotted line, the network" in figure.repdyn["caption"]
    without = many_layers.reduced_network(data.assign(lost=lost * np.nan))
    assert "the sectors stay, the network" in without.repdyn["caption"]


@pytest.fixture(scope="module")
def collapse():
    data = dataset_of("truncation_flow", "neural_collapse")
    return data, geometry.neural_collapse(data)


def test_cost_collapse_and_margin_of_every_dimension_have_their_panels(collapse):
    data, figure = collapse
    for panel, name in zip(figure.axes, ("cost", "ratio", "margin"), strict=True):
        assert panel.get_yscale() == "log"
        for Q in data["dimension"].values:
            values = data[name].sel(dimension=Q).values
            (line,) = named(panel, f"$Q$ = {Q}")
            drawn_as(line, data["time"], np.where(values > 1e-26, values, np.nan))
    titles = [panel.get_title("left") for panel in figure.axes]
    assert titles == ["(a) Euclidean cost", "(b) variance within / between", "(c) margin of separation"]


def test_the_guide_of_the_cost_falls_as_exp_minus_2_s(collapse):
    _, figure = collapse
    (guide,) = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == ":"]
    s, level = guide.get_data()
    np.testing.assert_allclose(np.diff(np.log(level)), -2 * np.diff(s))
    (words,) = figure.axes[0].texts
    assert words.get_text() == "$e^{-2s}$"
    assert np.log(words.xy[1]) == pytest.approx(np.interp(words.xy[0], s, np.log(level)), abs=0.2)


def test_own_clusters_have_their_conditions_over_width_and_scale():
    data = dataset_of("truncation_flow", "own_clusters")
    figure = geometry.own_clusters(data)
    synthetic, digits = figure.axes[:2]
    for panel, name, axis in ((synthetic, "margin", "width"), (digits, "digit_margin", "shrink")):
        for condition, color, words in (
            ("own", ORANGE, "own cluster truncated"),
            ("others", BLUE, "other clusters untouched"),
            ("images", GREEN, "images untouched"),
        ):
            (line,) = named(panel, words)
            drawn_as(line, data[axis], data[name].sel(condition=condition))
            assert line.get_color() == color
    assert f"({float(data['digit_explained']):.0%} of the variance)" in figure.repdyn["caption"]
    angles, margins = data["triangle_angle"].values, data["triangle_margin"].values
    acute = angles < 90
    told = re.findall(r"\d+", figure.repdyn["title"])
    assert [*map(int, told)] == [(margins[acute] > 0).sum(), acute.sum(), (margins[~acute] > 0).sum(), (~acute).sum()]


def test_the_examples_of_theorem_3_2_fall_and_rise_in_their_columns():
    flows, clusters = (
        dataset_of("truncation_flow", "printed_and_corrected"),
        dataset_of("truncation_flow", "random_clusters"),
    )
    figure = one_cluster.printed_and_corrected(flows, clusters)
    case = str(clusters["case"].values[1])
    for formula, color in (("printed", RED), ("corrected", BLUE)):
        for column, example in enumerate(flows["example"].values):
            panel = figure.axes[column]
            (line,) = named(panel, formula)
            drawn_as(line, flows["time"], flows["example_cost"].sel(formula=formula, example=example))
            assert line.get_color() == color
            assert panel.get_title("left").endswith(f"one point, {example}")
        (dots,) = named(figure.axes[2], formula)
        cost = flows["cost"].sel(formula=formula).transpose("time", "cluster").values
        drawn_as(dots, cost[0], cost[-1] / cost[0])
        rates = clusters[f"{formula}_rate"].sel(case=case).values
        share = (rates[np.isfinite(rates)] > 0).mean()
        assert (
            f"{share:.0%} of random clusters" in figure.repdyn["title"]
            or f"as corrected of {share:.0%}" in figure.repdyn["title"]
        )
    rise = flows["example_cost"].sel(formula="printed", example="rise").values
    assert f"the cost from {rise[0]:.3f} to {rise[-1]:.3f}." in figure.repdyn["caption"]
    told = f"{flows.sizes['cluster']} clusters of {int(flows['points'])} points: cost at $s$ = "
    assert f"{told}{float(flows['time'][-1]):g} " in figure.repdyn["caption"]


def test_digits_are_separated_only_where_all_conditions_hold():
    data = dataset_of("truncation_flow", "own_clusters")
    margin, scales = data["digit_margin"], data["shrink"].values
    order = np.argsort(scales)
    margin[:] = -1.0
    for condition, reach in zip(data["condition"].values, (4, 2, 3), strict=True):
        margin.loc[{"condition": condition, "shrink": scales[order[:reach]]}] = 1.0
    told = f"all conditions hold up to a scale of {scales[order[1]]:g}."
    assert told in geometry.own_clusters(data).repdyn["caption"]
    margin.loc[{"condition": data["condition"][0]}] = -1.0
    assert "all conditions hold at no scale drawn." in geometry.own_clusters(data).repdyn["caption"]


@pytest.mark.parametrize(
    ("Q", "draw"), [(2, geometry.truncation_in_the_plane), (3, geometry.truncation_in_three_dimensions)]
)
def test_each_picture_is_centered_on_what_it_shows(Q, draw):
    """With a tenth of the extent of cluster 1, its path and label to spare, an eighth of all clusters."""
    data = dataset_of("truncation_flow", "truncation_in_the_plane")
    own = data.sel(dimension=Q)
    frame = np.eye(2) if Q == 2 else np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    flat = {name: own[name].values[..., :Q] @ frame.T for name in ("data", "apex", "label")}
    clusters = (
        flat["data"] if "snapshot" not in own["data"].dims else own["data"].isel(snapshot=0).values[..., :Q] @ frame.T
    )
    path = flat["apex"].reshape(-1, 2)
    shown = [np.vstack([clusters[:Q].reshape(-1, 2), path])]
    shown += [np.vstack([clusters[0], path, flat["label"].reshape(-1, 2)])] * 3
    for panel, points, spare in zip(draw(data).axes, shown, (0.12, 0.1, 0.1, 0.1), strict=True):
        low, high = points.min(axis=0), points.max(axis=0)
        half = (0.5 + spare) * (high - low).max()
        for limits, middle in zip((panel.get_xlim(), panel.get_ylim()), (low + high) / 2, strict=True):
            assert limits == pytest.approx((middle - half, middle + half))


@pytest.mark.parametrize("kept", [0.5, 0.25])
def test_the_size_of_a_cluster_is_its_root_mean_square_distance_from_its_mean(kept):
    data = dataset_of("truncation_flow", "truncation_in_the_plane")
    own = data["data"].sel(cluster=0)
    middle = own.mean("point")
    place = {"cluster": data["cluster"][0], "snapshot": data["snapshot"][-1]}
    data["image"].loc[place] = (middle + kept * (own - middle)).transpose(*data["image"].loc[place].dims)
    assert f"cluster 1 keeps {kept:.0%} of its size" in geometry.truncation_in_the_plane(data).repdyn["title"]
