"""Claims on made-up data of known answers: inside and outside of each region, and with networks that do not decide."""

import numpy as np
import pytest
import xarray as xr

from repdyn.across_papers.claims import question1_theory, question2_bottleneck, question3_odd_point
from repdyn.across_papers.methods.names import ENDS, FOUR, HALF
from repdyn.base.decisions import decide_claim
from repdyn.base.errors import NotEnoughDataError

UNDECIDED = "not decidable at this scale"


def fits(**log2_ratios):
    seeds, networks = 10, list(FOUR)
    shares = np.full((2, 4, seeds), 0.1)
    for name, ratio in log2_ratios.items():
        shares[:, networks.index(name.replace("_", " "))] *= 2.0 ** (ratio + 0.1 * np.linspace(-1, 1, seeds))
    dims, shares = ("data", "network", "seed"), np.minimum(shares, 1)
    return xr.Dataset(
        {
            "unexplained": (dims, shares),
            "learned": (dims, np.ones(shares.shape)),
            "at_bound": (dims, np.zeros(shares.shape)),
            "explained": ((*dims, "curve"), np.repeat(1 - shares[..., None], 3, axis=-1)),
        },
        {"data": ["two points", "digits"], "network": networks, "seed": range(seeds), "curve": ["h", "y", "w"]},
    )


def test_the_worst_curve_is_a_reading():
    """A network whose h alone is fitted badly has 1.3 times the mean share and 1.9 times the worst."""
    fitted = fits()
    worse = fitted["explained"].where((fitted["network"] != "leaky") | (fitted["curve"] != "h"), 0.81)
    verdict = question1_theory.theory_with_leakage(fitted.assign(explained=worse))
    readings = verdict.printed.readings
    outcomes = {key: test.outcome for key, test in readings.items() if key.endswith("1.5")}
    assert {key.split()[1]: outcome for key, outcome in outcomes.items()} == {"mean": "passes", "worst": "fails"}
    assert verdict.status == "depends on the reading"


def test_seeds_that_did_not_learn_do_not_count():
    fitted = fits(leaky=-1)
    learned = fitted["learned"].where((fitted["seed"] == 0) | (fitted["network"] != "leaky"), 0.0)
    with pytest.raises(NotEnoughDataError, match="learned"):
        question1_theory.theory_with_leakage(fitted.assign(learned=learned))


def test_a_fit_at_the_bound_does_not_refute():
    fitted = fits(residual=1.6)
    inside = fitted["at_bound"].where((fitted["network"] != "residual") | (fitted["seed"] > 3), 1.0)
    six_inside = question1_theory.theory_with_residual(fitted.assign(at_bound=inside))
    assert six_inside.status == "does not hold"
    assert {reading.n for reading in six_inside.printed.readings.values()} == {6}
    with pytest.raises(NotEnoughDataError, match="fits"):
        question1_theory.theory_with_residual(fitted.assign(at_bound=fitted["at_bound"] + 1))
    good = fits(residual=-1)
    assert question1_theory.theory_with_residual(good.assign(at_bound=good["at_bound"] + 1)).status == "holds"


TASK_RANKS = (9, 2)


def spectrum(large, tail=0.0):
    """So many values of 1, and thirty in the tail."""
    values = np.zeros(60)
    values[: large + 30] = tail
    values[:large] = 1
    return values


def ranks(middle, half=None, tail=0.0):
    """Every network with so many values of 1 at half depth in the two tasks, in all of ten seeds."""
    dims = ("task", "network", "seed", "end", "index")
    own, earlier = ([spectrum(count, tail) for count in counts] for counts in (middle, half or middle))
    looks = np.stack([np.stack([was, was, now]) for was, now in zip(earlier, own, strict=True)])
    outputs = np.stack([np.broadcast_to(spectrum(rank), (3, 60)) for rank in TASK_RANKS])
    every = lambda values: np.broadcast_to(values[:, None, None], (2, 4, 10, 3, 60)).copy()  # noqa: E731
    return xr.Dataset(
        {
            "middle_values": (dims, every(looks)),
            "output_values": (dims, every(outputs)),
            "input_values": ("index", spectrum(59)),
            "centered_task_rank": (("task", "network"), np.repeat(np.array(TASK_RANKS)[:, None], 4, axis=1)),
            "learned": (dims[:3], np.ones((2, 4, 10), int)),
            "at_rest": (dims[:3], np.ones((2, 4, 10), int)),
        },
        {"task": ["10 classes", "3 classes"], "network": list(FOUR), "end": [ENDS[0], HALF, ENDS[1]]},
    )


@pytest.mark.parametrize(
    ("tail", "verdict"), [(0.001, "holds"), (0.03, "depends on the reading"), (0.2, "does not hold")]
)
def test_how_a_tail_is_counted_is_a_reading(tail, verdict):
    """Thirty values behind the task's: below 1 % of the largest, between 1 and 5 %, above 10 %."""
    assert question2_bottleneck.bottleneck_of_plain(ranks((9, 2), tail=tail)).status == verdict


def test_the_plain_network_has_to_rest_for_the_comparison():
    data = ranks((13, 3))
    data["middle_values"] = data["middle_values"].where(data["network"] != "plain", ranks((4, 2))["middle_values"])
    assert question2_bottleneck.bottleneck_of_residual(data).status == "holds"
    five = data["at_rest"].where((data["network"] != "plain") | (data["seed"] < 5), 0)
    assert question2_bottleneck.bottleneck_of_residual(data.assign(at_rest=five)).status == UNDECIDED


def test_a_rank_that_still_falls_decides_nothing():
    assert question2_bottleneck.bottleneck_of_plain(ranks((9, 20), half=(9, 21))).status == "does not hold"
    assert question2_bottleneck.bottleneck_of_plain(ranks((9, 8), half=(9, 12))).status == UNDECIDED
    assert (
        question2_bottleneck.bottleneck_of_plain(ranks((9, 8), half=(9, 16))).status == UNDECIDED
    )  # to below the task
    assert question2_bottleneck.bottleneck_of_plain(ranks((9, 3), half=(9, 3))).status == "holds"


@pytest.mark.parametrize("condition", ["learned", "at_rest"])
def test_networks_that_forgot_or_still_move_do_not_decide(condition):
    """Five of ten are not more than half; six decide, whatever the others have."""
    data = ranks((9, 2))
    of_three = data["task"] == "3 classes"
    data["middle_values"] = data["middle_values"].where(~of_three | (data["seed"] < 6), other=spectrum(30))
    for count, verdict in ((6, "holds"), (5, UNDECIDED)):
        kept = data[condition].where(~of_three | (data["seed"] < count), 0)
        assert question2_bottleneck.bottleneck_of_plain(data.assign({condition: kept})).status == verdict
    assert question2_bottleneck.bottleneck_of_plain(data).status == UNDECIDED


def norms(four=(1.1, 1.2), recentered=(6.0, 5.0)):
    dims = ("network", "seed", "end", "layer")
    values = np.ones((5, 20, 2, 4))
    values[:4, :, :, 2:] = np.array(four)[:, None]
    values[4, :, :, 2:] = np.array(recentered)[:, None]
    values *= np.linspace(0.98, 1.02, 20)[:, None, None]
    return xr.Dataset(
        {
            "norm_ratio": (dims, values),
            "odd_point": (dims, np.ones(values.shape, int)),
            "final_loss": (dims[:2], 0.1 * values[:, :, 0, 0]),
            "learned": (dims[:2], np.ones((5, 20), int)),
        },
        {
            "network": [*FOUR, "recentered"],
            "end": list(ENDS),
            "layer": ["layers.0", "layers.19", "layers.34", "layers.39"],
        },
    )


def test_the_control_uses_only_networks_with_an_odd_point():
    """With 8 of 20 of them in it, it would be undecided whether most seeds are odd."""
    data = norms()
    recentered = data["network"] == "recentered"
    for check in (question3_odd_point.no_odd_point_before, question3_odd_point.no_odd_point_after_learning):
        some = data["norm_ratio"].where(~recentered | (data["seed"] >= 8), 1)
        decision = decide_claim(check, {"odd_batch": data.assign(norm_ratio=some)})
        assert decision.ledger["verdict"] == "holds"
        assert {row["control_outcome"] for row in decision.evidence if not row["reading"]} == {"rejected"}
        none = data.assign(norm_ratio=data["norm_ratio"].where(~recentered, 1))
        assert decide_claim(check, {"odd_batch": none}).ledger["verdict"] == UNDECIDED


def test_the_control_without_odd_points_leaves_out_diverged_networks():
    """A recentered network that has diverged has no norms; the one with batch normalization of its seed has learned."""
    data = norms()
    gone = (data["network"] == "recentered") & (data["seed"] == 3)
    data["learned"] = data["learned"].where(~gone, 0)
    data["norm_ratio"] = data["norm_ratio"].where(~gone | (data["end"] == ENDS[0]))
    decision = decide_claim(question3_odd_point.odd_point_survives, {"odd_batch": data})
    assert decision.ledger["verdict"] == "holds"
    assert {row["control_outcome"] for row in decision.evidence if not row["reading"]} == {"rejected"}
