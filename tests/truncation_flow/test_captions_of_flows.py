"""Numbers in captions of flows that no other test works out again, from made-up datasets with numbers of their own."""

import numpy as np
from tests.titled import drawn, made_up

STUDY = "truncation_flow"


def captioned(name):
    data = made_up(STUDY, name)
    return drawn(STUDY, name, data).repdyn, *data.values()


def test_the_staircase_tells_rates_and_distances_from_the_label_at_its_end():
    data = made_up(STUDY, "staircase")
    stairs = data["staircase"]
    for case, rate, gap in (("beyond", 1.0, 0.25), ("between", 0.5, -0.125), ("below", 0.0, 0.75)):
        last = {"case": case, "time": stairs["time"][-1]}
        stairs["rate"].loc[last] = rate
        stairs["b"].loc[last] = float(stairs["label"].sel(case=case)) + gap
    told = drawn(STUDY, "staircase", data).repdyn
    assert "the rate ends at 1, 0.5, 0, the bias 0.25, 0.12, 0.75 from the label." in told["caption"]
    assert told["alt"].endswith("The rate ends at 1, 0.5, 0.")


def test_printed_flows_are_told_from_their_first_to_their_last_cost():
    data = made_up(STUDY, "printed_and_corrected")
    flows, clusters = data.values()
    cost = flows["example_cost"].transpose(..., "time")
    cost[:] = np.geomspace(1, 9, cost.size).reshape(cost.shape)
    flows["example_cost"] = cost
    told = drawn(STUDY, "printed_and_corrected", data).repdyn
    ends = [
        " to ".join(f"{cost:.3f}" for cost in own.values[[0, -1]])
        for own in (flows["example_cost"].sel(formula="printed", example=name) for name in flows["example"].values)
    ]
    assert f"the printed flow takes the cost from {ends[0]}. (b)" in told["caption"]
    assert rf"(b) $\tilde y = 0$: from {ends[1]}. (c)" in told["caption"]
    time = flows["time"].values
    assert f"of {int(flows['points'])} points: cost at $s$ = {time[-1]:g} over" in told["caption"]
    assert f"Share of {clusters.sizes['draw']} random clusters near" in told["caption"]
    case = clusters.isel(case=1)
    shares = [(case[f"{name}_rate"].values > 0).mean() for name in ("printed", "corrected")]
    assert f"a share of {shares[0]:.0%} under the printed flow and {shares[1]:.0%} under the corrected" in told["alt"]


def test_the_proposition_tells_bounds_and_times_of_both_kinds_of_data():
    data = made_up(STUDY, "proposition")
    flows = data["proposition"]
    flows["arrival_beyond"][:] = [3.25, 1.75]
    told = drawn(STUDY, "proposition", data).repdyn
    words = {
        name: "$s$ = " + " and ".join(f"{time:.2g}" for time in flows[name].values)
        for name in ("arrival", "arrival_bound", "arrival_beyond")
    }
    assert len(set(words.values())) == 3
    assert f"of full truncation, {words['arrival_bound']}; with" in told["caption"]
    assert f"with (4.16) broken it is full at {words['arrival_beyond']}. (b)" in told["caption"]
    assert f"truncation is full at {words['arrival']}" in told["title"]
    assert told["caption"].startswith(f"{int(flows['points'])} points, ")


def test_captions_of_collapse_and_of_the_general_flow_have_the_sizes_of_their_runs():
    told, flows = captioned("neural_collapse")
    words = f"Simplex clusters of {int(flows['points'])} points, radius {float(flows['fill']):g} of the largest"
    assert told["caption"].startswith(words)
    told, flows = captioned("conservation")
    words = f"Collapsed clusters, $Q$ = {int(flows['dimension'])}, {flows.sizes['seed']} random starts per sign"
    assert told["caption"].startswith(words)
    lengths = ", ".join(f"{step:g}" for step in sorted(flows["euler_step"].values, reverse=True))
    assert f"(lengths {lengths}, from above)" in told["caption"]
    told, flows = captioned("general_flow")
    words = f"three clusters of {int(flows['points'])} points; thin: {flows.sizes['seed']} draws, thick"
    assert words in told["caption"]
    told, flows = captioned("reduced_network")
    assert told["caption"].startswith(f"Three clusters of {int(flows['points'])} points, ")
    told, clusters = captioned("own_clusters")
    assert f"(c) {int(clusters['digit_points'])} digits in the discriminant plane" in told["caption"]
    told, clusters = captioned("truncation_in_three_dimensions")
    space = clusters.sel(dimension=3)
    assert told["caption"].startswith(f"Three clusters of {space.sizes['point']} points")
    moments = space["moment"].values
    assert f"$s$ = {moments[1]:.2g} and {moments[3]:.2g} are a quarter and all" in told["caption"]


def test_the_step_of_the_flow_and_the_rate_of_descent_are_told_each_of_its_own():
    (flows,) = made_up(STUDY, "general_flow").values()
    told = drawn(STUDY, "general_flow", {"general_flow": flows.assign_coords(step=0.025, rate=0.125)}).repdyn
    assert "Euclidean cost, step 0.025; descent: all weights and biases, standard cost, rate 0.125," in told["caption"]


def test_every_second_step_of_sliding_has_a_label():
    data = made_up(STUDY, "sliding")
    figure = drawn(STUDY, "sliding", data)
    steps = data["integrators"]["step"].values[::2]
    panel = figure.axes[2]
    np.testing.assert_allclose(panel.get_xticks(), steps)
    assert [text.get_text() for text in panel.get_xticklabels()] == [f"{step:g}" for step in steps]
