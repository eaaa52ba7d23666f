"""The ledger's entries of this study, and how the decisions on fits behave on made-up numbers."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from repdyn.base.claims import claims_of
from repdyn.pipeline.run.loading import load_rooms
from repdyn.universality.claims import default_network, two_points
from repdyn.universality.methods import readings

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = claims_of(*load_rooms("universality", "claims"))


def test_every_claim_has_an_accepted_verdict():
    accepted = yaml.safe_load((ROOT / "workflow" / "expected_verdicts.yaml").read_text(encoding="utf-8"))
    assert {one.id for one in CLAIMS} == {id for id in accepted if id.startswith("uni-")}


@pytest.mark.parametrize("one", CLAIMS, ids=lambda one: one.id)
def test_claims_have_data_and_a_control(one):
    assert one.data
    assert one.control
    rules = (ROOT / "workflow" / "rules" / "universality.smk").read_text(encoding="utf-8")
    assert all(f'"{name}"' in rules for name in one.data)


def test_the_page_of_the_paper_names_every_claim():
    page = (ROOT / "docs" / "universality.md").read_text(encoding="utf-8")
    assert [one.id for one in CLAIMS if f"`{one.id}`" not in page] == []


def architecture_fits(r2_of_w: float, seeds: int = 12) -> xr.Dataset:
    generator = np.random.default_rng(0)
    rows = list(readings.FIGURE_2)
    r2 = np.stack([np.full((len(rows), seeds), value) for value in (0.97, 0.96, r2_of_w)], axis=-1)
    r2 = r2 + 0.005 * generator.normal(size=r2.shape)
    return xr.Dataset(
        {
            "r2": (("network", "seed", "curve"), r2),
            "converged": (("network", "seed"), np.ones((len(rows), seeds), int)),
        },
        coords={"network": rows, "curve": ["h", "y", "w"]},
    )


def altered_fits(seeds: int = 32) -> xr.Dataset:
    """The theory matches h, y and w, the altered dynamics h and y alone."""
    r2 = np.array([[0.99, 0.99, 0.94], [0.99, 0.99, 0.5]])[:, None]
    r2 = r2 + 0.01 * np.random.default_rng(4).normal(size=(2, seeds, 3))
    return xr.Dataset(
        {"alternative_r2": (("alternative", "seed", "curve"), r2)},
        coords={"alternative": ["theory", two_points.ALTERED], "curve": ["h", "y", "w"]},
    )


@pytest.mark.parametrize(
    ("r2_of_w", "seeds", "status"),
    [(0.95, 12, "holds"), (0.5, 12, "holds as corrected"), (0.95, 3, "not decidable at this scale")],
)
def test_curves_match(r2_of_w, seeds, status):
    assert two_points.curves_match(architecture_fits(r2_of_w, seeds), altered_fits()).status == status


def test_altered_dynamics_in_the_place_of_the_theory_miss_w():
    one = two_points.curves_match
    spoilt = one(*one.control(architecture_fits(0.5), altered_fits()))
    assert spoilt.status == "does not hold"
    assert "R2 of w of the default network: 0.5" in spoilt.corrected.measured


def fit_losses(ratio: float, seeds: int = 20) -> xr.Dataset:
    generator = np.random.default_rng(1)
    names = ["theory", *default_network.PRINTED, "factor two in h"]
    loss = np.exp(generator.normal(scale=0.3, size=(len(names), seeds)))
    loss[1:] *= ratio
    return xr.Dataset(
        {"alternative_loss": (("alternative", "seed"), loss), "units": 100}, coords={"alternative": names}
    )


@pytest.mark.parametrize(
    ("ratio", "status"), [(5.0, "holds"), (0.2, "does not hold"), (1.02, "not decidable at this scale")]
)
def test_alternatives(ratio, status):
    one = fit_losses(ratio)
    assert default_network.alternatives_fit_worse(one, one).status == status


def test_published_numbers_need_a_telling_interval():
    logs = np.random.default_rng(0).normal(scale=0.3, size=12)
    assert default_network.predicted(logs, 1.0).outcome == "passes"
    assert default_network.predicted(logs, 50.0).outcome == "fails"
    assert default_network.predicted(6 * logs, 1.0).outcome == "undecided"  # wider than a factor 100 to either side
    assert default_network.predicted(logs[:3], 1.0).outcome == "undecided"


def test_share_of_converged_networks():
    assert two_points.most_converge(np.ones(12)).outcome == "passes"
    assert two_points.most_converge(np.zeros(12)).outcome == "fails"
    assert two_points.most_converge(np.zeros(4)).outcome == "undecided"


def predictions(slope: float) -> xr.Dataset:
    dx, dy, seeds = np.array([0.5, 1.0, 1.5]), np.array([0.0, 0.4, 0.7, 1.0]), 4
    theory = np.maximum(dx[:, None, None] * dy[None, :, None] * np.ones(seeds), 1e-6)
    noise = 1 + 0.02 * np.random.default_rng(2).normal(size=theory.shape)
    dims = ("network", "dx", "dy", "seed")
    return xr.Dataset(
        {
            "theory": (dims, theory[None]),
            "measured": (dims, (theory**slope * noise)[None]),
            "good": (dims, np.ones((1, *theory.shape), int)),
        },
        coords={"network": ["one"], "dx": dx, "dy": dy},
    )


def test_final_distances_leave_out_equal_targets():
    found = readings.log_fit(predictions(0.8), "one")
    assert found["n"] == 36
    assert found["exponents"] == pytest.approx([0.8, 0.8], abs=0.03)
    assert found["slopes"] == pytest.approx([-0.2, -0.2], abs=0.03)
    assert found["r"] > 0.99
    assert default_network.final_distances_follow(predictions(0.8)).status == "holds"
    assert default_network.final_distances_follow(predictions(-0.8)).status == "does not hold"
