"""The ledger's entries of this study, and how the decisions on fits behave on made-up numbers."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from repdyn.base.claims import claims_of, decide_claim
from repdyn.base.errors import NotEnoughDataError
from repdyn.pipeline.run.graph import read_study
from repdyn.pipeline.run.loading import load_modules
from repdyn.universality.claims import blobs, default_network, final_distances, initial_weights, two_points
from repdyn.universality.experiments.final_predictions import power_law_variables
from repdyn.universality.methods.power_laws import fit_power_law
from repdyn.universality.theory import effective, final
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = claims_of(*load_modules("universality", "claims"))


def test_every_claim_has_an_accepted_verdict():
    accepted = yaml.safe_load((ROOT / "workflow" / "expected_verdicts.yaml").read_text(encoding="utf-8"))
    assert {claim.id for claim in CLAIMS} == {id for id in accepted if id.startswith("uni-")}


def test_claims_have_data_and_controls():
    assert [claim.id for claim in CLAIMS if not claim.data or not claim.controls] == []
    study = read_study("universality")
    assert [claim.id for claim in CLAIMS if not set(claim.data) <= set(study.experiments)] == []


def test_the_page_of_the_paper_names_every_claim():
    page = (ROOT / "docs" / "universality.md").read_text(encoding="utf-8")
    assert [claim.id for claim in CLAIMS if f"`{claim.id}`" not in page] == []


def architecture_fits(r2_of_w: float, seeds: int = 12) -> xr.Dataset:
    generator = np.random.default_rng(0)
    rows = [*FIGURE_2, "very_high"]
    r2 = np.stack([np.full((len(rows), seeds), value) for value in (0.97, 0.96, r2_of_w)], axis=-1)
    r2 = r2 + 0.005 * generator.normal(size=r2.shape)
    r2[-1] = -0.5  # the largest gain, where the theory breaks down
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
        {"alternative_r2": (("alternative", "seed", "curve"), r2), "units": 100},
        coords={"alternative": ["theory", "factor two"], "curve": ["h", "y", "w"]},
    )


@pytest.mark.parametrize(
    ("r2_of_w", "seeds", "status"),
    [
        (0.95, 12, "holds"),
        (0.6, 12, "depends on the reading"),
        (0.95, 3, "not decidable at this scale"),
    ],
)
def test_curves_match(r2_of_w, seeds, status):
    assert two_points.curves_match(architecture_fits(r2_of_w, seeds), altered_fits()).status == status


def test_a_least_curve_and_a_mean_of_the_curves_are_two_readings():
    readings = two_points.curves_match(architecture_fits(0.6), altered_fits()).printed.readings
    assert {name: readings[f"statistic: least curve; well: {name}"].outcome for name in ("0.5", "0.7", "0.9")} == {
        "0.5": "passes",
        "0.7": "fails",
        "0.9": "fails",
    }
    assert readings["statistic: mean of the curves; well: 0.8"].outcome == "passes"


def test_networks_that_break_down_turn_the_match():
    claim = two_points.curves_match
    (control,) = claim.controls.values()
    assert claim(*control.data(architecture_fits(0.95), altered_fits())).printed.outcome == "fails"


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
    fits = fit_losses(ratio)
    assert default_network.alternatives_fit_worse(fits, fits).status == status


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
    """Final distances that follow the theory to a power, as `final_predictions` stores them."""
    dx, dy, seeds = np.array([0.5, 1.0, 1.5]), np.array([0.0, 0.4, 0.7, 1.0]), 4
    theory = np.maximum(dx[:, None, None] * dy[None, :, None] * np.ones(seeds), 1e-6)
    noise = 1 + 0.02 * np.random.default_rng(2).normal(size=theory.shape)
    law = power_law_variables((theory**slope * noise)[None], theory[None], np.ones((1, *theory.shape)), dx, dy)
    return xr.Dataset(law, coords={"network": ["skip"], "distance": ["dx", "dy"]})


def test_final_distances_leave_out_equal_targets():
    data = predictions(0.8).sel(network="skip")
    assert int(data["trials"]) == 36
    assert data["exponent"].values == pytest.approx([0.8, 0.8], abs=0.03)
    assert data["missed"].values == pytest.approx([-0.2, -0.2], abs=0.03)
    assert float(data["correlation"]) > 0.99
    assert float(data["correlation_plain"]) > 0.99
    assert final_distances.final_distances_follow(predictions(0.8)).status == "holds"
    assert final_distances.final_distances_follow(predictions(0.5)).status == "depends on the reading"
    assert final_distances.final_distances_follow(predictions(-0.8)).status == "does not hold"


def test_final_distances_that_are_turned_round_are_rejected():
    claim = final_distances.final_distances_follow
    (control,) = claim.controls.values()
    assert claim(control.data(predictions(0.8))).status == "does not hold"


def test_most_of_the_networks_are_more_than_half():
    fine, bad = (final_distances.follows(predictions(slope).sel(network="skip"), 1) for slope in (1.0, 0.4))
    assert final_distances.most_of({"a": fine, "b": fine, "c": bad}).outcome == "passes"
    assert final_distances.most_of({"a": bad, "b": fine, "c": bad}).outcome == "fails"
    assert final_distances.most_of({"a": fine, "b": bad}).outcome == "undecided"


def test_power_laws_against_a_regression_written_out():
    """Independent of the code: numpy's own least squares on logarithms, cell by cell."""
    generator = np.random.default_rng(3)
    dx, dy = np.array([0.5, 1.0, 1.5]), np.array([0.0, 0.5, 1.0])
    h, theory = np.exp(generator.normal(size=(2, 3, 3, 4)))
    good = generator.random((3, 3, 4)) < 0.8
    rows = [(i, j, k) for i, j, k in np.ndindex(3, 3, 4) if good[i, j, k] and dy[j] > 0]
    design = np.array([[1.0, np.log(dx[i]), np.log(dy[j])] for i, j, _ in rows])
    logs, missed = (
        np.array([f(place) for place in rows])
        for f in (lambda place: np.log(h[place]), lambda place: np.log(h[place] / theory[place]))
    )
    law = fit_power_law(h, theory, good, dx, dy)
    assert law.trials == len(rows)
    assert law.dropped == 24 - len(rows)
    assert law.exponent == pytest.approx(np.linalg.lstsq(design, logs, rcond=None)[0][1:])
    fitted = np.linalg.lstsq(design, missed, rcond=None)[0]
    assert law.missed == pytest.approx(fitted[1:])
    residual = missed - design @ fitted
    covariance = residual @ residual / (len(rows) - 3) * np.linalg.inv(design.T @ design)
    assert law.missed_error == pytest.approx(np.sqrt(np.diag(covariance))[1:])
    assert law.ratio == pytest.approx(np.exp(missed.mean()))


def depth_fits(first: float, second: float, slopes: tuple[float, float, float]) -> xr.Dataset:
    """Fits by layer: R2 of both halves; slopes of log eta_h and eta_y in the second, of eta_y in the first half."""
    seeds, layers = 12, np.arange(20)
    noise = 0.01 * np.random.default_rng(5).normal(size=(2, 20, seeds))
    later = layers >= 10
    eta_h = np.exp(slopes[0] * layers[:, None] + noise[0])
    eta_y = np.exp(np.where(later, slopes[1], slopes[2])[:, None] * layers[:, None] + noise[1])
    r2 = np.where(later, second, first)[:, None, None] * np.ones((20, seeds, 3)) + noise[0][..., None]
    dims = ("layer", "seed")
    return xr.Dataset(
        {
            "eta_h": (dims, eta_h),
            "eta_y": (dims, eta_y),
            "r2": ((*dims, "curve"), r2),
            "fit_loss": (dims, np.exp(noise[1])),
            "units": 100,
        },
        coords={"layer": layers},
    )


def test_depth_and_rates_turn_with_their_own_numbers():
    good = depth_fits(0.4, 0.95, (0.2, -0.2, 0.3))
    depth = default_network.accurate_in_the_second_half
    assert depth(good, good).status == "holds"
    late = good.assign(r2=good["r2"].where(good["layer"] != good.sizes["layer"] // 2 - 1, 0.95))
    assert depth(good, late).status == "depends on the reading"  # one accurate layer in the first half
    for first, second, part in ((0.95, 0.95, "first half"), (0.4, 0.6, "second half")):
        other = depth_fits(first, second, (0.2, -0.2, 0.3))
        assert depth(good, other).printed.parts[part].outcome == "fails"
    rates, early = default_network.rates_in_the_second_half, default_network.decoder_rate_at_earlier_layers
    assert rates(good).status == early(good).status == "holds"
    assert rates(depth_fits(0.4, 0.95, (-0.2, -0.2, 0.3))).printed.parts["encoder"].outcome == "fails"
    assert rates(depth_fits(0.4, 0.95, (0.2, 0.2, 0.3))).printed.parts["decoder"].outcome == "fails"
    assert early(depth_fits(0.4, 0.95, (0.2, -0.2, -0.3))).status == "does not hold"
    first = xr.DataArray(np.arange(good.sizes["seed"]) == 0, dims="seed")
    lost = good.assign(eta_h=good["eta_h"].where((good["layer"] != 15) | ~first))
    assert default_network.slope_in_layer(lost, "eta_h").size == good.sizes["seed"] - 1
    with pytest.raises(NotEnoughDataError, match="half of the network"):
        early(good.isel(layer=slice(0, 3)))


def test_a_published_network_that_is_ours_lies_in_the_interval_of_the_others():
    fits = fit_losses(5.0, 12).assign(published_loss=("alternative", [0.92, 500.0, 400.0, 4.0, 5.0, np.nan]))
    claim = default_network.published_fit_losses
    parts = claim(fits).printed.parts
    assert parts["factor two"].outcome == parts["square"].outcome == "fails"
    ours = claim(claim.controls["square"].data(fits)).printed.parts
    assert ours["square"].outcome == ours["factor two"].outcome == "passes"
    few = claim(fits.isel(seed=slice(0, 3)))
    assert few.status == "not decidable at this scale"


@pytest.mark.parametrize("sizes", [{"seed": 1}, {"seed": 2}, {"seed": 3}])
def test_few_networks_leave_claims_undecided_and_never_end_a_job(sizes):
    few = {name: slice(0, count) for name, count in sizes.items()}
    fits = fit_losses(5.0, 12).isel(few)
    data = {
        "architecture_fits": architecture_fits(0.95).isel(few),
        "default_ensemble_fits": xr.merge(
            [depth_fits(0.4, 0.95, (0.2, -0.2, 0.3)).isel(few), altered_fits().isel(few)]
        ),
        "default_network_fits": fits.assign(published_loss=("alternative", [0.92, 5.0, 4.0, 4.0, 5.0, np.nan])),
    }
    for claim in (
        two_points.curves_match,
        default_network.rates_in_the_second_half,
        default_network.decoder_rate_at_earlier_layers,
        default_network.published_fit_losses,
    ):
        assert decide_claim(claim, data).ledger["verdict"] in (
            "not decidable at this scale",
            "holds as corrected",
            "holds",
        )


def test_the_images_of_c3_leave_their_scale_open():
    def data(ratio: float, other: float) -> xr.Dataset:
        return xr.Dataset(
            {
                "input_between": 2.0,
                "input_along_read": (("blob_variance", "blob_scale"), [[2 / ratio, 2 / other]]),
            },
            coords={"blob_variance": [1.0], "blob_scale": ["sums to 1", "peak of 1"]},
        )

    claim = blobs.contexts_dominate_the_input
    assert claim(data(3.1, 3.1)).status == "holds"
    assert claim(data(3.1, 0.5)).status == "depends on the reading"
    assert claim(data(1.9, 0.5)).status == "does not hold"
    (control,) = claim.controls.values()
    assert claim(control.data(data(3.1, 3.1))).status == "does not hold"


def large_starts(waits: list[float], slanted: float) -> xr.Dataset:
    """Starts with A_high < 0 that wait so long, in growth times of the saddle; along the target nothing waits."""
    scale = np.array([10.0, 100.0, 1000.0])
    times = np.stack([1 / scale, slanted * scale**2, np.array(waits) * scale**2])[None]
    return xr.Dataset(
        {
            "learning_time": (("start", "direction", "large_scale"), times),
            "large_growth": (("start", "large_scale"), scale[None] ** -2.0),
            "large_high": (("start", "large_scale"), -(scale[None] ** 2)),
            "plateau_growth": 1.0,
            "direction_cosine": ("direction", [1.0, 0.5, 0.0]),
        },
        coords={
            "start": ["decoder larger"],
            "direction": ["along the target", "at a slant", "across it"],
            "large_scale": scale,
        },
    )


def test_the_wait_at_the_saddle_depends_on_the_angle():
    claim, across = initial_weights.decay_at_large_weights, [4 * np.log(s) + 1 for s in (10, 100, 1000)]
    right = large_starts(across, np.log(9))
    assert claim(right).status == "holds as corrected"
    for part, other in (
        ("at an angle", large_starts(across, 1.02 * np.log(9))),
        ("across the target", large_starts([2.05 * np.log(s) for s in (10, 100, 1000)], np.log(9))),
    ):
        assert claim(other).corrected.parts[part].outcome == "fails"
        assert claim(claim.controls[part].data(right)).corrected.parts[part].outcome == "fails"


def test_the_angle_to_the_target_obeys_the_slow_law():
    """The closed form at large weights: x^2/(1 - x^2) = c^2/(1 - c^2) e^{lambda t}, squared error D^2 (1 - x^2)."""
    eta_h, eta_y, dy2, size, c = 0.01, 0.03, 0.5, 300.0, 0.3
    h0, y0 = (size / 3) ** 2, size**4
    w0 = y0 - c * size**2 * np.sqrt(dy2)
    high, low = final.amplitudes(h0, y0, 1.0, np.sqrt(dy2), eta_h / eta_y)
    growth = eta_y * final.from_amplitudes(high, low)
    units = np.array([0.5, 1.0, 3.0, 6.0])
    _, y, w = effective.effective_solution(units / growth, h0, y0, w0, eta_h, eta_y, 1.0, dy2)
    odds = c**2 / (1 - c**2) * np.exp(units)
    assert (2 * w - y + dy2) / dy2 == pytest.approx(1 / (1 + odds), rel=1e-3)


@pytest.mark.parametrize(("large", "status"), [(0.9, "holds"), (2.0, "depends on the reading"), (3.5, "does not hold")])
def test_a_plateau_disappears_by_its_length(large, status):
    shares = dict(zip(FIGURE_3, (12.0, 8.0, 5.0, large, large), strict=True))
    noise = 0.02 * np.random.default_rng(3).normal(size=(len(shares), 12))
    r2 = np.array([0.99, 0.99, 0.99, 0.9, -0.5])[:, None, None] + noise[..., None] * np.ones(3)
    dims = ("network", "seed")
    fits = xr.Dataset(
        {
            "half": (dims, np.array(list(shares.values()))[:, None] * (1 + noise)),
            "quarter": (dims, np.full(noise.shape, 1.0)),
            "three_quarters": (dims, np.full(noise.shape, 2.0)),
            "r2": ((*dims, "curve"), r2),
            "at_bound": (dims, np.zeros(noise.shape)),
        },
        coords={"network": list(FIGURE_3), "curve": ["h", "y", "w"]},
    )
    claim = two_points.plateau_shrinks
    assert claim(fits).status == status
    part = "plateau gone at larger gains"
    assert claim(claim.controls[part].data(fits)).printed.parts[part].outcome == "fails"
