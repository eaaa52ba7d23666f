"""Claims on made-up data of known answers: inside and outside of each region, and with networks that do not decide."""

import pytest
from tests.across_papers.made_up import CLAIMS, SEEDS, fits, norms, ranks, spectrum
from tests.made_up import HOLDS, READING, REFUTED, UNDECIDED, near

from repdyn.across_papers.methods.names import ENDS
from repdyn.base.decisions import decide_claim
from repdyn.base.errors import NotEnoughDataError


def fitted(network, log2_ratio):
    """Fits of all networks on ten seeds, a network's shares larger by a factor."""
    (data,) = fits(network, log2_ratio + near(0.0, SEEDS))
    return data.assign_coords(seed=range(SEEDS)).isel(seed=slice(10))


def test_seeds_that_did_not_learn_do_not_count():
    data = fitted("leaky", -1.0)
    learned = data["learned"].where((data["seed"] == 0) | (data["network"] != "leaky"), 0.0)
    with pytest.raises(NotEnoughDataError, match="learned"):
        CLAIMS["acr-theory-leaky"](data.assign(learned=learned))


def test_a_fit_at_the_bound_does_not_refute():
    claim, data, good = CLAIMS["acr-theory-residual"], fitted("residual", 1.6), fitted("residual", -1.0)
    inside = data["at_bound"].where((data["network"] != "residual") | (data["seed"] > 3), 1.0)
    six_inside = claim(data.assign(at_bound=inside))
    assert six_inside.status == REFUTED
    assert {reading.n for reading in six_inside.printed.readings.values()} == {6}
    with pytest.raises(NotEnoughDataError, match="fits"):
        claim(data.assign(at_bound=data["at_bound"] + 1))
    assert claim(good.assign(at_bound=good["at_bound"] + 1)).status == HOLDS


@pytest.mark.parametrize(("tail", "verdict"), [(0.001, HOLDS), (0.03, READING), (0.2, REFUTED)])
def test_how_a_tail_is_counted_is_a_reading(tail, verdict):
    """Thirty values behind the task's: below 1 % of the largest, between 1 and 5 %, above 10 %."""
    assert CLAIMS["acr-bottleneck-plain"](ranks((9, 2), tail=tail)).status == verdict


def test_the_plain_network_has_to_rest_for_the_comparison():
    data = ranks((13, 3))
    data["middle_values"] = data["middle_values"].where(data["network"] != "plain", ranks((4, 2))["middle_values"])
    assert CLAIMS["acr-bottleneck-residual"](data).status == HOLDS
    five = data["at_rest"].where((data["network"] != "plain") | (data["seed"] < 5), 0)
    assert CLAIMS["acr-bottleneck-residual"](data.assign(at_rest=five)).status == UNDECIDED


@pytest.mark.parametrize(
    ("small", "half", "status"),
    [(20, 21, REFUTED), (8, 12, UNDECIDED), (8, 16, UNDECIDED), (3, 3, HOLDS)],  # 16 to 8: to below the task
)
def test_a_rank_that_still_falls_decides_nothing(small, half, status):
    assert CLAIMS["acr-bottleneck-plain"](ranks((9, small), half=(9, half))).status == status


@pytest.mark.parametrize("condition", ["learned", "at_rest"])
def test_networks_that_forgot_or_still_move_do_not_decide(condition):
    """Five of ten are not more than half; six decide, whatever the others have."""
    data = ranks((9, 2))
    of_three = data["task"] == "3 classes"
    data["middle_values"] = data["middle_values"].where(~of_three | (data["seed"] < 6), other=spectrum(30))
    for count, verdict in ((6, HOLDS), (5, UNDECIDED)):
        kept = data[condition].where(~of_three | (data["seed"] < count), 0)
        assert CLAIMS["acr-bottleneck-plain"](data.assign({condition: kept})).status == verdict
    assert CLAIMS["acr-bottleneck-plain"](data).status == UNDECIDED


def test_the_control_uses_only_networks_with_an_odd_point():
    """With 8 of 20 of them in it, it would be undecided whether most seeds are odd."""
    data = norms()
    recentered = data["network"] == "recentered"
    for check in (CLAIMS["acr-odd-before"], CLAIMS["acr-odd-made"]):
        some = data["norm_ratio"].where(~recentered | (data["seed"] >= 8), 1)
        decision = decide_claim(check, {"odd_batch": data.assign(norm_ratio=some)})
        assert decision.ledger["verdict"] == HOLDS
        assert {row["control_outcome"] for row in decision.evidence if not row["reading"]} == {"rejected"}
        none = data.assign(norm_ratio=data["norm_ratio"].where(~recentered, 1))
        assert decide_claim(check, {"odd_batch": none}).ledger["verdict"] == UNDECIDED


def test_the_control_without_odd_points_leaves_out_diverged_networks():
    """A recentered network that has diverged has no norms; the one with batch normalization of its seed has learned."""
    data = norms()
    gone = (data["network"] == "recentered") & (data["seed"] == 3)
    data["learned"] = data["learned"].where(~gone, 0)
    data["norm_ratio"] = data["norm_ratio"].where(~gone | (data["end"] == ENDS[0]))
    decision = decide_claim(CLAIMS["acr-odd-survives"], {"odd_batch": data})
    assert decision.ledger["verdict"] == HOLDS
    assert {row["control_outcome"] for row in decision.evidence if not row["reading"]} == {"rejected"}
