"""Notes of claims give the numbers that their words name, worked out again from made-up datasets."""

import re

import numpy as np
import pytest
from tests.noted import data_of, note_of

STUDY = "truncation_flow"


def noted(id, data=None):
    data = data or data_of(STUDY, id)
    return note_of(STUDY, id, data), *data.values()


def test_the_printed_weight_flow_is_told_by_its_errors_and_obtuse_draws():
    note, audit = noted("tf-thm32-omega")
    error, cosine = audit["relative_error"].values, audit["cosine"].values
    assert f"median {np.median(error):.2f}, largest {error.max():.2g}; " in note
    assert f"in {(cosine < 0).sum()} of {cosine.size} draws" in note


def test_the_cost_of_the_printed_example_and_the_shares_of_random_clusters_on_which_it_rises():
    data = data_of(STUDY, "tf-thm32-monotone")
    rates = data["random_clusters"]["printed_rate"]
    cases = rates.sizes["case"]
    for case in range(cases):
        rates[{"case": case}] = np.where(np.arange(rates.sizes["draw"]) < (case + 1) * 3, 1.0, -1.0)
    note, *_ = noted("tf-thm32-monotone", data)
    flows = data["printed_and_corrected"]
    final = float(flows["example_cost"].sel(formula="printed", example="rise").isel(time=-1))
    n = rates.sizes["draw"]
    assert f"from 0.125 to {final:.3f}." in note
    assert f"for {3 / n:.0%} to {3 * cases / n:.0%} of random clusters" in note


def test_exchanged_labels_lose_their_sectors_at_the_time_told():
    note, flow = noted("tf-82-reduction")
    adverse = flow.sel(labels="adverse")
    ends = [float(adverse[name].isel(time=-1)) for name in ("cost_network", "cost_reduced")]
    assert f"by $s$ = {float(adverse['lost']):.2f}; " in note
    assert f"network's cost is {ends[0]:.2f}, the reduced {ends[1]:.1e}." in note


def test_shares_without_a_right_or_obtuse_angle_are_by_dimension():
    data = data_of(STUDY, "tf-own-clusters")
    margin = data["own_clusters"]["digit_margin"]
    scales = data["own_clusters"]["shrink"]
    margin[:] = (0 * margin + 0.01 * (float(scales.median()) - scales) + 0.001).transpose(*margin.dims)
    margin[{"condition": 1}] -= 0.003
    note, clusters = noted("tf-own-clusters", data)
    shares = zip(clusters["dimension"].values, clusters["acute_share"].values, strict=True)
    assert ", ".join(f"{share:.0%} for $Q = {Q}$" for Q, share in shares) in note
    least = clusters["digit_margin"].min("condition").values
    widest = clusters["shrink"].values[least > 0].max()
    assert f"margin {least[-1]:.2f}; drawn to their means by {widest:.2g} they separate." in note


def test_numbers_of_counterexamples_stand_where_their_words_are():
    note, examples = noted("tf-prop42-s1")[0], data_of(STUDY, "tf-prop42-s1")["counterexamples"]
    turned, radius, enough = (
        float(examples[name]) for name in ("radius_turned", "printed_radius", "sufficient_radius")
    )
    assert f"(4.13), {radius:.4f}, and the flow turns by {turned:.4f}," in note
    assert note.endswith(f"The radius that suffices is {enough:.4f}.")
    for id, name, digits, words in (
        ("tf-cor35-moments", "equal_second_means", ".2f", "second pair differ by "),
        ("tf-trunc-released", "release_time", ".4f", "is released at "),
        ("tf-425", "bound_ratio_outside", ".3g", "largest ratio "),
    ):
        note, *_ = noted(id)
        value = float(data_of(STUDY, id)["counterexamples"][name])
        assert f"{words}{value:{digits}}." in note


def test_euler_steps_have_the_fitted_order_of_their_drift():
    data = data_of(STUDY, "tf-prop83")
    clusters = data["collapsed_clusters"]
    drift = clusters["euler_drift"]
    clusters["euler_drift"] = (0 * drift + 0.3 * clusters["euler_step"] ** 1.7).transpose(*drift.dims)
    note, *_ = noted("tf-prop83", data)
    assert float(re.search(r"fitted order ([\d.]+)\)", note)[1]) == 1.7


@pytest.mark.parametrize(
    ("id", "values", "words"),
    [
        ("tf-tau-fix", {"fixed_mismatch_open": 37.0, "fixed_mismatch": 5.0}, "are fixed too (37 of those tried)"),
        ("tf-eq-untrunc", {"border_speed": 0.876, "free_speed": 0.5}, "moves the cluster: speed 0.88 in an example"),
        ("tf-unaligned", {"unaligned_angle": 0.1234, "unaligned_left": 0.5}, "At the end $W W^T$ is 0.12 off the"),
        ("tf-def31-comp", {"composition_others": 3e-13, "composition_moved": 0.5}, "counterexample to 3e-13."),
        (
            "tf-thm51-domain",
            {"domain_violations": 41.0, "domain_acting": 97.0, "domain_corrected_violations": 3.0},
            "41 of 97 points lie outside (5.9).",
        ),
        ("tf-513", {"cross_product_others": 2e-9, "cross_product_512": 3e-12}, "(5.12) hold, to 2e-09."),
        ("tf-513", {"cross_product_others": 2e-12, "cross_product_512": 3e-9}, "(5.12) hold, to 3e-09."),
    ],
)
def test_a_note_tells_its_own_number_of_the_counterexamples(id, values, words):
    data = data_of(STUDY, id)
    for name, value in values.items():
        data["counterexamples"][name] = value
    assert words in note_of(STUDY, id, data)


def test_the_rate_of_a_small_output_weight_is_over_twice_the_gap_from_start_to_end():
    data = data_of(STUDY, "tf-thm84-rate")
    clusters = data["collapsed_clusters"]
    clusters["slow_gap"] = 0.4
    clusters["slow_cost"][:] = np.exp(-2 * 0.4 * 0.75 * clusters["time"].values)
    clusters["slow_cost"][1:-1] = 3.0
    assert "Attained: rate over twice the gap 0.7500 for" in note_of(STUDY, "tf-thm84-rate", data)


def test_the_cost_without_definiteness_is_the_largest_over_all_starts():
    data = data_of(STUDY, "tf-thm84-indef")
    ratio = data["collapsed_clusters"]["indefinite_ratio"]
    ratio[:] = 0.001
    ratio[1] = 0.25
    words = f"from {ratio.size} random starts without it the cost falls to at most 0.25 of its start."
    assert words in note_of(STUDY, "tf-thm84-indef", data)


def test_minimizers_differ_by_the_largest_error_of_either_weighting():
    data = data_of(STUDY, "tf-thm91-limit")
    data["output_layer"]["crossed_error"][:] = [0.125, 0.75]
    assert note_of(STUDY, "tf-thm91-limit", data).endswith("and of (2.22) differ by 0.75 here.")
