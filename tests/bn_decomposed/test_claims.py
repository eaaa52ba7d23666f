"""Claims that decide nothing: too few draws, networks too narrow, a control that behaves like the true data."""

import numpy as np
import pytest
from tests.bn_decomposed.made_up_layers import ablation, at_rest, left_out, recentering

from repdyn.base.decisions import decide_claim
from repdyn.bn_decomposed.claims.combinations import no_other_combination_makes_an_odd_point
from repdyn.bn_decomposed.claims.random_networks import (
    angles_of_the_fixed_points,
    full_angle,
    recentering_acts_once,
    rms_angle,
    untypical_neurons_decrease_the_angle,
)

UNDECIDED = "not decidable at this scale"


@pytest.mark.parametrize(
    ("claim", "data"),
    [
        (recentering_acts_once, {"recentering_depth": recentering(relu=0.0)}),
        (no_other_combination_makes_an_odd_point, {"ablation": ablation(ratio=0.8)}),
    ],
)
def test_a_control_that_behaves_like_the_true_data_leaves_the_claim_undecided(claim, data):
    ledger = decide_claim(claim, data).ledger
    assert (ledger["verdict"], ledger["control_outcome"]) == (UNDECIDED, "not rejected")


def test_few_draws_leave_a_sampled_claim_undecided():
    data = at_rest(0.0).isel(seed=[0, -1])
    data["mean_angle"][..., 0] += 0.9
    assert angles_of_the_fixed_points(data).status == UNDECIDED


def test_networks_too_narrow_to_leave_neurons_out_decide_nothing():
    data = left_out()
    data["angle_without"][1, 0, 0, 0] = np.nan
    decision = decide_claim(untypical_neurons_decrease_the_angle, {"layer_angles": data})
    assert decision.ledger["verdict"] == UNDECIDED


def test_fixed_points_in_the_claims_are_the_papers_angles():
    """75 and 60 degrees at nine points, to half a degree; 71.4, arccos(1/pi), for large batches."""
    assert full_angle(9) == pytest.approx(75, abs=0.5)
    assert rms_angle(9) == pytest.approx(60, abs=0.5)
    assert full_angle(100_000) == pytest.approx(np.degrees(np.arccos(1 / np.pi)), abs=1e-2)
