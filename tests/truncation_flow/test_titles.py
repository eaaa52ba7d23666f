"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import numpy as np
import pytest
from tests.titled import drawn, made_up, title_of


def cluster_shrinks(data):
    data["image"][:] = data["data"]
    data["image"].loc[{"cluster": 0}] = data["label"]
    data["apex"][:] = data["label"]
    data["apex"].loc[{"time": data["time"][0]}] = data["label"] + 1


@pytest.mark.parametrize("name", ["truncation_in_the_plane", "truncation_in_three_dimensions"])
def test_truncation_says_what_becomes_of_the_clusters(name):
    data = made_up("truncation_flow", name)
    clusters = data["truncation_in_the_plane"]
    cluster_shrinks(clusters)
    title = title_of("truncation_flow", name, data)
    assert "cluster 1 shrinks to one point, which runs to its label" in title
    assert title.endswith("; cluster 2 stays") == (name == "truncation_in_the_plane")
    clusters["image"][:] = clusters["data"] + 0.5
    clusters["apex"].loc[{"time": clusters["time"][-1]}] = clusters["label"] + 0.5
    title = title_of("truncation_flow", name, data)
    clusters["apex"].loc[{"time": clusters["time"][1]}] = clusters["label"] + 3  # further off on the way
    assert title_of("truncation_flow", name, data) == title
    assert "cluster 1 keeps 100% of its size, and its apex stops with 50% of the way to its label left" in title
    assert title.endswith("; cluster 2 moves by up to 0.5") == (name == "truncation_in_the_plane")


def test_neural_collapse_says_what_is_left_of_clusters_and_whether_they_stay_separated():
    data = made_up("truncation_flow", "neural_collapse")
    clusters = data["neural_collapse"]
    for left, margin, words in (
        (0.0, 0.1, "every cluster becomes one point, all stay separated"),
        (0.2, -0.1, "of the variance within clusters 0.2 of that between is left, not all stay separated"),
        (np.nan, np.nan, "what becomes of clusters is not known, their separation is not known"),
    ):
        clusters["ratio"][:], clusters["margin"][:] = left, margin
        assert title_of("truncation_flow", "neural_collapse", data) == f"Neural collapse by truncation: {words}"
    clusters["ratio"][:], clusters["margin"][:] = 0.0, 0.1
    clusters["margin"].loc[{"time": clusters["time"][1], "dimension": clusters["dimension"][0]}] = 0.0
    assert title_of("truncation_flow", "neural_collapse", data).endswith("one point, not all stay separated")


def test_the_audit_says_whether_all_corrected_formulas_hold():
    data = made_up("truncation_flow", "gradient_audit")
    for part in data.values():
        part["corrected"][:] = 1e-12
    assert title_of("truncation_flow", "gradient_audit", data).endswith("corrected, all hold")
    data["propagators"]["corrected"][:] = 1.0
    assert title_of("truncation_flow", "gradient_audit", data).endswith(
        f"corrected, {data['gradient_audit'].sizes['equation']} hold"
    )


def test_conservation_says_which_bound_on_the_weight_holds():
    data = made_up("truncation_flow", "conservation")
    clusters = data["collapsed_clusters"]
    clusters["weight_norm"][:] = 1
    for printed, corrected, words in (
        (0.5, 2.0, "the printed bound fails, the corrected one holds"),
        (2.0, 0.5, "the printed bound holds, the corrected one fails"),
        (np.nan, np.nan, "the printed bound is not known, the corrected one is not known"),
    ):
        clusters["weight_bound_printed"][:] = printed
        clusters["weight_bound_corrected"][:] = corrected
        figure = drawn("truncation_flow", "conservation", data)
        assert words in figure.repdyn["caption"]
        assert words in figure.repdyn["alt"]
        assert figure.repdyn["title"] == f"Section 8, output weight: {words}"


def test_the_end_of_the_general_flow_is_compared_with_descent():
    data = made_up("truncation_flow", "general_flow")
    cost = data["general_flow"]["cost"]
    first = str(cost["start"].values[0])
    for flow, words in ((1.0, f"only {first}"), (9.0, f"none of {cost.sizes['start']}")):
        cost[:] = 2.0
        cost.loc[{"algorithm": "flow"}] = 3.0
        cost.loc[{"algorithm": "flow", "start": first}] = flow
        title = title_of("truncation_flow", "general_flow", data)
        assert title == f"General flow: ends no higher than descent for {words} starts"
    cost[:] = np.nan
    assert title_of("truncation_flow", "general_flow", data).endswith("for ? starts")


def test_errors_of_integrators_are_compared_at_equal_cost():
    data = made_up("truncation_flow", "integrators")
    runs = data["integrators"]
    for name in ("occupation", "scipy", "euler"):
        runs[f"{name}_cost"][:] = np.geomspace(1000, 100, runs[f"{name}_cost"].size)
    for level, words in (
        (1e-6, "errs least at equal cost"),
        (1e3, "does not err least at equal cost"),
        (np.nan, "is not compared"),
    ):
        for name, power in (("occupation", -2), ("scipy", -1), ("euler", -1)):
            runs[f"{name}_error"][:] = (runs[f"{name}_cost"].values / 100) ** power
        runs["occupation_error"][:] *= level
        title = title_of("truncation_flow", "integrators", data)
        assert title == f"Accuracy against cost: the occupation scheme {words}"


def test_the_reduced_flow_says_how_far_its_cost_ends_from_the_networks():
    data = made_up("truncation_flow", "reduced_network")
    flow = data["reduced_network"]
    for benign, adverse in ((1e-9, 0.5), (2e-3, 0.04)):
        flow["cost_reduced"][:] = 0.1
        flow["cost_network"].loc[{"labels": "benign"}] = 0.1 + benign
        flow["cost_network"].loc[{"labels": "adverse"}] = 0.1 - adverse
        title = title_of("truncation_flow", "reduced_network", data)
        assert title == (
            f"Reduced flow: its cost ends {benign:.0e} off the network's, {adverse:g} with exchanged labels"
        )


def test_sliding_says_where_rk45_stops_and_the_error_of_the_occupation_scheme():
    data = made_up("truncation_flow", "sliding")
    for stop, error in ((0.35, 0.0077), (2.0, 0.1)):
        data["integrators"]["sliding_reached"] = stop
        data["integrators"]["sliding_error"][:] = error / 2
        data["integrators"]["sliding_error"][0] = error
        title = title_of("truncation_flow", "sliding", data)
        assert title == f"Sliding: RK45 stops at $s$ = {stop:.2f}, the occupation scheme errs by {error:g} at most"


def test_the_staircase_gives_the_rates_at_its_end():
    data = made_up("truncation_flow", "staircase")
    stairs = data["staircase"]
    for rates in ((1.0, 0.5, 0.0), (0.25, 0.75, 1.0)):
        for case, rate in zip(("beyond", "between", "below"), rates, strict=True):
            stairs["rate"].loc[{"case": case, "time": stairs["time"][-1]}] = rate
        ends = ", ".join(f"{rate:g}" for rate in rates)
        title = title_of("truncation_flow", "staircase", data)
        assert title == f"Section 4.3: the rate steps to {ends} for labels beyond, between, below"
