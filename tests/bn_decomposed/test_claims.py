"""Claims that decide nothing: too few draws, batches or layers, a control that behaves like the true data."""

import numpy as np
import pytest
import xarray as xr
from tests.bn_decomposed import made_up_layers as nets
from tests.bn_decomposed.deciding import CLAIMS
from tests.bn_decomposed.made_up_theorems import survivors
from tests.made_up import UNDECIDED

from repdyn.base.decisions import decide_claim
from repdyn.base.errors import NotEnoughDataError
from repdyn.bn_decomposed.claims.random_networks import full_angle, rms_angle


def ledger(id, *datasets):
    return decide_claim(CLAIMS[id], dict(zip(CLAIMS[id].data, datasets, strict=True))).ledger


FEW, ONE_BATCH, WIDE = nets.rests(points=(50,)), nets.deep(sizes=(5,)), nets.clusters().isel(spread=[1, 2])
TWO_DRAWS, NARROW = nets.at_rest(0.0).isel(seed=[0, -1]), nets.left_out()
TWO_DRAWS["mean_angle"][..., 0] += 0.9
NARROW["angle_without"][1, 0, 0, 0] = np.nan  # too narrow to leave neurons out
LACKING = [  # claim, datasets without what it needs
    ("bnd-infwidth", FEW, nets.clusters()),
    ("bnd-eq8-closed", nets.moments(), FEW),
    ("bnd-fig3", ONE_BATCH),
    ("bnd-disc-fire", ONE_BATCH),
    ("bnd-sec3-signs", ONE_BATCH),
    ("bnd-cluster-rest", WIDE, nets.layers()),
    ("bnd-fig5-rest", TWO_DRAWS),
    ("bnd-fig6-cause", NARROW),
]


@pytest.mark.parametrize("case", LACKING)
def test_what_a_claim_lacks_leaves_it_undecided(case):
    assert ledger(*case)["verdict"] == UNDECIDED


@pytest.mark.parametrize(
    ("id", "data"),
    [
        ("bnd-sec2-rc", nets.recentering(relu=0.0)),
        ("bnd-fig1-others", nets.ablation(ratio=0.8)),
        ("bnd-symmetric-wait", nets.waits(knocked_out=True)),  # without fluctuations there is an outlier, too
    ],
)
def test_a_control_that_behaves_like_the_true_data_leaves_the_claim_undecided(id, data):
    found = ledger(id, data)
    assert (found["verdict"], found["control_outcome"]) == (UNDECIDED, "not rejected")


def test_the_tail_below_its_range_needs_an_alpha_there():
    with pytest.raises(NotEnoughDataError, match="an alpha of 2 or less"):
        CLAIMS["bnd-thm3-tail"](xr.Dataset(coords={"alpha": [4.0, 8.0]}), survivors(0.1, 20))


def test_fixed_points_in_the_claims_are_the_papers_angles():
    """75 and 60 degrees at nine points, to half a degree; 71.4, arccos(1/pi), for large batches."""
    assert full_angle(9) == pytest.approx(75, abs=0.5)
    assert rms_angle(9) == pytest.approx(60, abs=0.5)
    assert full_angle(100_000) == pytest.approx(np.degrees(np.arccos(1 / np.pi)), abs=1e-2)
