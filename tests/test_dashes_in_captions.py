"""Broken lines of which captions speak: the line at that place, or of that label, is broken as the words say."""

from functools import cache, partial

import numpy as np
import pytest
from tests.pictured import dashes
from tests.titled import drawn, made_up

from repdyn.bn_decomposed.theory.odd_cluster import odd_fixed_point


@cache
def as_made(study, name):
    data = made_up(study, name)
    return drawn(study, name, data), data


def across_panels(axis, *place):
    """Finds straight lines through whole panels at numbers, at those of a dataset or at what a function makes of data.

    The place is a number, several, the function, or the names of the dataset and of its variable.
    """

    def find(figure, data):
        if len(place) == 2:
            places = data[place[0]][place[1]].values
        else:
            places = place[0](data) if callable(place[0]) else place[0]
        known = [value for value in np.ravel(places) if np.isfinite(value)]
        assert known
        lines = [line for panel in figure.axes for line in panel.lines if line.get_transform() != panel.transData]
        found = []
        for value in known:
            here = [line for line in lines if np.allclose(getattr(line, f"get_{axis}data")(), value, rtol=1e-9)]
            assert here, f"no line at {axis} = {value}"
            found += here
        return found

    return find


vertical, horizontal = partial(across_panels, "x"), partial(across_panels, "y")


def labelled(label):
    return lambda figure, data: [line for panel in figure.axes for line in panel.lines if line.get_label() == label]


def through(values):
    """Finds lines with the ordinates that a function makes of the data."""

    def find(figure, data):
        heights = np.asarray(values(data))
        lines = [line for panel in figure.axes for line in panel.lines if len(line.get_ydata()) == len(heights)]
        return [line for line in lines if np.allclose(line.get_ydata(), heights, rtol=1e-9, equal_nan=True)]

    return find


def of_infinite_width(data):
    images = data["odd_point"].sel(source="images").isel(batch=-1)
    return images["limit_second_to_first"].median("seed")


def half_way(data):
    fits = data["architecture_fits"].sel(network="default")
    return fits["half"].isel(seed=int(fits["shown"]))


def meetings(data):
    return data["staircase"]["meeting"].sel(case=["beyond", "between", "below"])


def bounds_of_conditions(data):
    return data["metric_audit"]["kantorovich"].isel(dimension=0, draw=0, missing_dims="ignore")


def largest_at_rest(data):
    return data["odd_point"]["resting_ratio"][-3:]


def fixed_ratio(data):
    n = int(data["odd_batch"]["point_count"])
    return (n - 1) / odd_fixed_point(n).norm_ratio


SAID = [  # figure, words of the caption, the line of which they speak
    ("universality", "fig10_depth", "Dotted: the layer halfway", vertical("default_network_fits", "halfway")),
    ("universality", "fig11_alternatives", "the best fit (dashed)", labelled("fit")),
    ("universality", "fig3_initial_weights", "Dotted: the epoch at which $y$ is half", vertical(half_way)),
    ("universality", "n4_correlations", "dotted: the paper's numbers", vertical([0.703, 0.512])),
    ("bn_decomposed", "fig3_odd_point", "Gray dashes: the paper's words", horizontal([90, 0])),
    ("bn_decomposed", "fig3_odd_point", "dotted: in (c) the fixed point", horizontal(largest_at_rest)),
    ("bn_decomposed", "fig3_odd_point", "dashed lines: the same batches at infinite width", through(of_infinite_width)),
    ("bn_decomposed", "fig5_layer_angles", "Gray dashes: the paper's values", horizontal([75, 60])),
    ("bn_decomposed", "thm11_limits", "dashed: bounds as printed", labelled("bound as printed")),
    ("bn_decomposed", "thm11_limits", "would be at $1/(n-1)$ (gray dashes)", labelled("one odd point")),
    ("leaky_resnets", "fig1a_hamiltonian", "Dotted: $k^*$ of the teacher", horizontal("chain_measures", "rank")),
    ("leaky_resnets", "fig1c_energies", "dotted: $k^*$", horizontal("chain_measures", "rank")),
    ("leaky_resnets", "fig2b_weight_spectra", "Dotted: $p$ = 0.3", vertical(0.3)),
    ("leaky_resnets", "fig3_bounded", r"dotted: in proportion to $\tilde L$", labelled(r"in proportion to $\tilde L$")),
    ("leaky_resnets", "fig3_bounded", "dashed: constant", labelled("constant (paper)")),
    ("truncation_flow", "own_clusters", "zero from 90 degrees on (dotted)", vertical(90)),
    ("truncation_flow", "staircase", "at every meeting (dotted", vertical(meetings)),
    ("truncation_flow", "proposition", "for $Q$ = 2 (full)", labelled("$Q$ = 2, hypotheses met")),
    ("truncation_flow", "proposition", "and 3 (dashed)", labelled("$Q$ = 3, hypotheses met")),
    ("truncation_flow", "proposition", "dash-dotted: bounds on the time", vertical("proposition", "arrival_bound")),
    ("truncation_flow", "proposition", r"Dash-dotted: the bounds $\eta_2$", horizontal("proposition", "eta_2")),
    ("truncation_flow", "sliding", "(dotted). (b)", vertical("integrators", "sliding_reached")),
    ("truncation_flow", "sliding", "dotted: first order in $h$", labelled("$h$")),
    ("truncation_flow", "reduced_network", "are lost at the dotted line", vertical("reduced_network", "lost")),
    ("truncation_flow", "gradient_audit", "Dashed: tolerances of the checks", vertical([1e-10, 1e-4])),
    ("bn_mean_field", "matched_loss", "dotted: the paper's iteration", vertical("speed_ratio", "look")),
    ("bn_mean_field", "round_manifold", "Kantorovich's bound $4k/(k+1)^2$ (dashed)", horizontal(bounds_of_conditions)),
    ("bn_mean_field", "equicontinuity_bounds", "exact transport (dots)", labelled("exact $W_2^2$")),
    ("across_papers", "odd_points", "dashed: its fixed point for infinite width", horizontal(fixed_ratio)),
]
NAMED = {"dash-dotted": "dash-dotted", "dotted": "dotted", "dash": "dashed", "full": None}  # the first that is there


@pytest.mark.parametrize(("study", "name", "words", "find"), SAID)
def test_a_line_is_broken_as_the_caption_says(study, name, words, find):
    figure, data = as_made(study, name)
    assert words in " ".join(figure.repdyn["caption"].split())
    lines = find(figure, data)
    assert lines
    if "dots" in words.split("(")[-1]:
        assert {(line.get_linestyle(), line.get_marker()) for line in lines} == {("None", "o")}
        return
    kind = next(NAMED[word] for word in NAMED if word in words.lower())
    assert set().union(*map(dashes, lines)) == {kind}
