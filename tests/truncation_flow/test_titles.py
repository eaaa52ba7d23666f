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
