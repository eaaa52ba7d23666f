"""The ledger's entries of this study, and how the decisions on fits behave on made-up numbers."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from repdyn.base.claims import claims_of, decide_claim
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.verdicts import Verdict
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts
from repdyn.universality.claims import alternatives, default_network, initial_weights, two_points
from repdyn.universality.claims import final_distances as final_claim
from repdyn.universality.claims import plateaus as plateau_claim
from repdyn.universality.experiments.final_predictions import power_law_variables
from repdyn.universality.methods.networks import Net, parameter_counts
from repdyn.universality.methods.networks import initial_weights as drawn_weights
from repdyn.universality.methods.power_laws import fit_power_law
from repdyn.universality.theory import effective, final
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = claims_of(*load_modules("universality", "claims"))


def test_every_claim_has_an_accepted_verdict():
    accepted = accepted_verdicts()
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
        {"alternative_r2": (("alternative", "seed", "curve"), r2)},
        coords={"alternative": ["theory", "factor two"], "curve": ["h", "y", "w"]},
    )


def runs_of_figure_2(seeds: int = 12) -> xr.Dataset:
    """Curves of which w varies little, so that it counts little in (49)."""
    rows, rise = [*FIGURE_2, "very_high"], np.linspace(0, 1, 20)
    curves = {
        name: (("network", "seed", "epoch"), size * np.broadcast_to(rise, (len(rows), seeds, 20)))
        for name, size in (("h", 1.0), ("y", 1.0), ("w", 0.1))
    }
    return xr.Dataset(
        curves | {"units": ("network", np.full(len(rows), 100))},
        coords={"network": rows, "epoch": np.arange(20)},
    )


@pytest.mark.parametrize(
    ("r2_of_w", "seeds", "status"),
    [(0.95, 12, "holds"), (0.3, 12, "depends on the reading"), (0.95, 3, "not decidable at this scale")],
)
def test_curves_match(r2_of_w, seeds, status):
    verdict = curves_of(architecture_fits(r2_of_w, seeds))
    assert verdict.status == status
    assert len(verdict.printed.readings) == 18


def curves_of(fits: xr.Dataset) -> Verdict:
    return two_points.curves_match(fits, runs_of_figure_2(fits.sizes["seed"]), altered_fits())


def test_curves_of_all_networks_unmatched_are_refuted():
    fits = architecture_fits(0.3)
    assert curves_of(fits.assign(r2=fits["r2"] - 0.6)).status == "does not hold"


def test_one_broken_network_turns_every_reading_of_the_match():
    claim, fits = two_points.curves_match, architecture_fits(0.3)
    spoilt = claim(*claim.controls[""].data(fits, runs_of_figure_2(), altered_fits()))
    assert spoilt.status == "does not hold"
    assert {test.outcome for test in spoilt.printed.readings.values()} == {"fails"}


def test_pooled_share_is_that_of_all_residuals_together():
    generator = np.random.default_rng(6)
    measured, residual = generator.normal(size=(2, 3, 50))
    measured *= np.array([[1.0], [2.0], [0.1]])
    spread = measured - measured.mean(axis=1, keepdims=True)
    r2 = 1 - (residual**2).sum(axis=1) / (spread**2).sum(axis=1)
    runs = xr.Dataset({name: ("epoch", row) for name, row in zip("hyw", measured, strict=True)})
    fits = xr.Dataset({"r2": ("curve", r2)}, coords={"curve": list("hyw")})
    wanted = 1 - (residual**2).sum() / (spread**2).sum()
    assert float(two_points._pooled(fits, runs)) == pytest.approx(wanted)


def fit_losses(ratio: float, seeds: int = 20) -> xr.Dataset:
    generator = np.random.default_rng(1)
    names = ["theory", *alternatives.PRINTED, "factor two in h"]
    loss = np.exp(generator.normal(scale=0.3, size=(len(names), seeds)))
    loss[1:] *= ratio
    return xr.Dataset(
        {"alternative_loss": (("alternative", "seed"), loss), "units": 100}, coords={"alternative": names}
    )


def test_published_numbers_need_a_telling_interval():
    logs = np.random.default_rng(0).normal(scale=0.3, size=12)
    assert alternatives.predicted(logs, 1.0).outcome == "passes"
    assert alternatives.predicted(logs, 50.0).outcome == "fails"
    assert alternatives.predicted(6 * logs, 1.0).outcome == "undecided"  # wider than a factor 100 to either side
    assert alternatives.predicted(logs[:3], 1.0).outcome == "undecided"


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


def final_distances(scatter: float, least: float, slope: float = 1.0) -> xr.Dataset:
    """Final distances on a grid from `least` on: a power of the theory, with a scatter in the logarithm."""
    dx, dy, seeds = np.linspace(0.5, 1.5, 5), np.linspace(least, 1, 5), 8
    theory = np.maximum(dx[:, None, None] * dy[None, :, None] * np.ones(seeds), 0.02)[None].repeat(2, axis=0)
    measured = theory**slope * np.exp(scatter * np.random.default_rng(2).normal(size=theory.shape))
    good, dims = np.ones(theory.shape), ("network", "dx", "dy", "seed")
    values = {"theory": (dims, theory), "measured": (dims, measured), "good": (dims, good)}
    law = power_law_variables(measured, theory, good, dx, dy)
    coords = {"network": ["default", "skip"], "dx": dx, "dy": dy, "distance": ["dx", "dy"]}
    return xr.Dataset(values | law | {"units": ("network", [100, 100])}, coords=coords)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (final_distances(0.05, 0.0), "holds"),
        (final_distances(0.45, 0.0), "depends on the reading"),
        (final_distances(0.05, 0.0, -1.0), "does not hold"),
        (final_distances(0.05, 0.4), "not decidable at this scale"),
        (final_distances(0.05, 0.4, -1.0), "not decidable at this scale"),
    ],
)
def test_final_distances_are_judged_on_a_grid_that_reaches_equal_targets(data, status):
    assert final_claim.final_distances_follow(data).status == status


def test_distances_of_other_cells_do_not_follow():
    claim = final_claim.final_distances_follow
    spoilt = claim(claim.controls[""].data(final_distances(0.05, 0.0)))
    assert {test.outcome for test in spoilt.printed.readings.values()} == {"fails"}


def test_correlation_has_fishers_interval():
    x, noise = np.random.default_rng(7).normal(size=(2, 40))
    test = final_claim.correlates(0.5, x + noise, x, 1)
    wanted = stats.pearsonr(x + noise, x).confidence_interval(0.999)
    assert test.interval == pytest.approx((wanted.low, wanted.high), rel=1e-6)
    assert final_claim.near(1.5, 1.4 * np.ones(20), np.ones(20), 1).outcome == "passes"
    assert final_claim.near(1.5, np.ones(20) / 1.6, np.ones(20), 1).outcome == "fails"


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


def by_parameters(encoder: float, decoder: float, width: float = 1.0) -> tuple[xr.Dataset, xr.Dataset]:
    """Fits at 200 and at 50 units whose rates are powers of the numbers of parameters; with width times as steep."""
    both = []
    for units, more in ((200, width), (50, 0.0)):
        net, fits = Net("leaky relu", 1.0, units, 20), depth_fits(0.4, 0.95, (0.0, 0.0, 0.0))
        counts = np.log([parameter_counts(net, layer) for layer in range(20)])
        wider = more * np.log(200 * 201 / (50 * 51))
        for name, power, logs in (("eta_h", encoder, counts[:, 0]), ("eta_y", decoder, counts[:, 1])):
            steep = power * (logs - np.log(units * (units + 1)) + wider)
            fits[name] = fits[name] * xr.DataArray(np.exp(steep), dims="layer")
        both.append(fits.assign(units=units))
    return both[0], both[1]


def starting(ratio: float, gain: float = 0.97) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Layer gains over their theory, and XOR's starting distances at a right angle over those on a line."""
    wiggle = 1 + 0.01 * np.random.default_rng(6).normal(size=12)
    fits = xr.Dataset({"layer_gain": ("seed", 0.5 * gain * wiggle), "layer_gain_theory": 0.5, "layer_gain_linear": 1.0})
    h = np.full((1, 12, 2, 4, 4), 0.1)
    h[:, :, 0] = 2e-5 * wiggle[:, None, None]
    h[:, :, 0, 1, 2] *= ratio
    points = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    dx = np.linalg.norm(points[:, None] - points, axis=-1)
    xor = xr.Dataset(
        {"h": (("run", "trial", "look", "point", "other"), h)},
        coords={"run": ["low"], "dx": (("point", "other"), dx)},
    )
    return fits.assign(units=500), fits.assign(units=100), xor


@pytest.mark.parametrize(
    ("ratio", "gain", "status"),
    [
        (0.8, 0.97, "holds"),
        (0.13, 0.97, "depends on the reading"),
        (1e-4, 0.97, "does not hold"),
        (0.8, 0.8, "does not hold"),
    ],
)
def test_the_gain_per_layer_in_depth_and_in_direction(ratio, gain, status):
    claim, data = default_network.gain_per_layer, starting(ratio, gain)
    assert claim(*data).status == status
    if gain > 0.9:
        for part, control in claim.controls.items():
            assert claim(*control.data(*data)).printed.parts[part].outcome == "fails", part


def test_parameters_of_both_maps_are_those_of_the_network():
    net = Net("leaky relu", 1.0, 7, 5, inputs=3, outputs=2)
    weights = drawn_weights(net, np.random.default_rng(0))
    assert {sum(parameter_counts(net, layer)) for layer in range(5)} == {sum(map(np.size, weights.values()))}
    assert parameter_counts(net, 0)[0] == 4 * 7
    assert parameter_counts(net, 4)[1] == 8 * 2


def test_rates_of_another_power_turn_into_proportional_ones():
    claim, data = default_network.changes_follow_the_parameters, by_parameters(2.6, 0.2)
    for part, control in claim.controls.items():
        assert claim(*data).printed.parts[part].outcome == "fails"
        assert claim(*control.data(*data)).printed.parts[part].outcome == "passes"
    with pytest.raises(NotEnoughDataError, match="two widths"):
        claim(data[0], data[0])


@pytest.mark.parametrize(
    ("first", "second", "early", "status"),
    [
        (0.4, 0.95, 0.4, "holds"),
        (0.4, 0.95, 0.95, "depends on the reading"),
        (0.97, 0.97, 0.97, "does not hold"),
        (0.4, 0.6, 0.4, "does not hold"),
    ],
)
def test_depth_depends_on_single_layers_of_the_first_half(first, second, early, status):
    """`early` is the accuracy of the last layer of the first half."""
    fits = depth_fits(first, second, (0.2, -0.2, 0.3))
    fits["r2"].loc[{"layer": 9}] += early - first
    claim = default_network.accurate_in_the_second_half
    verdict = claim(fits, fits)
    assert verdict.status == status
    if status == "holds":
        spoilt = claim(*claim.controls["first half"].data(fits, fits)).printed.parts
        assert spoilt["first half"].outcome == spoilt["second half"].outcome == "fails"


def plateaus(length: float) -> tuple[xr.Dataset, xr.Dataset]:
    """Curves that rest for a multiple of their time of decay; at the two largest gains for `length`."""
    seeds, epoch = 12, np.arange(0.0, 400.0)
    rest = np.array([8.0, 5.0, 3.0, length, length])[:, None] * (1 + 0.02 * np.random.default_rng(8).random((5, seeds)))
    way = 1 - np.exp(-np.maximum(epoch / 20 - rest[..., None], 0))
    quarter, half, late = (20 * (rest - np.log(1 - share)) for share in (0.25, 0.5, 0.75))
    dims, coords = ("network", "seed"), {"network": list(FIGURE_3), "curve": ["h", "y", "w"]}
    r2 = np.broadcast_to(np.array([0.99, 0.99, 0.99, -0.5, -0.5])[:, None, None], (5, seeds, 3)).copy()
    times = {"quarter": (dims, quarter), "half": (dims, half), "three_quarters": (dims, late)}
    known = {"converged": (dims, np.ones((5, seeds))), "at_bound": (dims, np.zeros((5, seeds)))}
    curves = {"h": 0.1 + way, "y": 0.5 * way, "w": -0.25 * way * (1 - way)}
    runs = {name: ((*dims, "epoch"), values) for name, values in curves.items()} | {"dy2": ("network", np.full(5, 0.5))}
    fits = xr.Dataset(times | known | {"r2": ((*dims, "curve"), r2)}, coords=coords)
    return fits, xr.Dataset(runs, coords={"network": list(FIGURE_3), "epoch": epoch})


@pytest.mark.parametrize(("length", "outcome"), [(0.0, "passes"), (0.8, "depends"), (2.5, "fails")])
def test_plateaus_disappear_or_shrink_only(length, outcome):
    claim, data = plateau_claim.plateau_shrinks, plateaus(length)
    parts = claim(*data).printed.parts
    assert parts["slope of log plateau"].outcome == "passes"
    assert parts["plateau at large gains"].outcome == outcome
    spoilt = claim(*claim.controls["plateau at large gains"].data(*data)).printed.parts
    assert spoilt["plateau at large gains"].outcome == "fails"


def losses(rest: float, at_large: float = 0.0) -> tuple[xr.Dataset, xr.Dataset]:
    """A mean output that is learned within 3 epochs, then a rest in units of the pair's time of decay, 20 epochs."""
    seeds, epoch = 12, np.arange(0.0, 400.0)
    rests = np.array([rest, rest, 1.0, at_large, at_large])[:, None] * (
        1 + 0.02 * np.random.default_rng(8).random((5, seeds))
    )
    y = 0.5 * (1 - np.exp(-np.maximum(epoch / 20 - rests[..., None], 0) / 2)) ** 2
    w = y - np.sqrt(0.5 * y)
    second, dims = (w + (0.5 - y) / 2) / 4, ("network", "seed")
    curves = {"y": y, "w": w, "loss": second + 0.45 * np.exp(-2 * epoch)}
    runs = {name: ((*dims, "epoch"), values) for name, values in curves.items()} | {"dy2": ("network", np.full(5, 0.5))}
    fits = {"converged": (dims, np.ones((5, seeds))), "loss_r2": (dims, np.ones((5, seeds)))}
    coords = {"network": list(FIGURE_3)}
    return xr.Dataset(fits, coords=coords), xr.Dataset(runs, coords=coords | {"epoch": epoch})


@pytest.mark.parametrize(
    ("rest", "status"),
    [(1.25, "holds"), (0.6, "depends on the reading"), (0.2, "does not hold")],
)
def test_the_loss_waits_in_units_of_its_fall(rest, status):
    """From three quarters to a quarter it takes 1.1 times of decay, so 1.1 of rest is one fall, 0.55 a half."""
    claim, data = plateau_claim.loss_has_a_plateau, losses(rest)
    assert claim(*data).status == status
    if status == "holds":
        for part, control in claim.controls.items():
            assert claim(*data).printed.parts[part].outcome == "passes"
            assert claim(*control.data(*data)).printed.parts[part].outcome == "fails", part


def test_a_plateau_at_all_weights_has_another_cause():
    parts = plateau_claim.loss_has_a_plateau(*losses(1.25, at_large=2.0)).printed.parts
    assert parts["plateau at small weights"].outcome == "passes"
    assert parts["by small weights"].outcome == "fails"


def test_exponential_decay_waits_as_said():
    epoch = np.arange(0.0, 400.0)
    loss = xr.DataArray(2 * np.exp(-epoch / 20)[None], dims=("seed", "epoch"), coords={"epoch": epoch})
    assert plateau_claim.wait_over_fall(loss, 1.0) == pytest.approx([np.log(11 / 9) / np.log(3)], rel=1e-2)
    stays = xr.full_like(loss, 1.0)
    assert np.isnan(plateau_claim.wait_over_fall(stays, 1.0)).all()


def test_the_pairs_loss_is_the_second_term():
    _, runs = losses(1.0)
    assert plateau_claim.pair_loss(runs).values == pytest.approx((runs["w"] + (0.5 - runs["y"]) / 2).values / 4)


def test_exponential_decay_has_one_in_both_measures():
    epoch = np.arange(0.0, 400.0)
    curve = xr.DataArray(1 - np.exp(-epoch / 20)[None], dims=("seed", "epoch"), coords={"epoch": epoch})
    assert plateau_claim.start_over_largest(curve) == pytest.approx([1.0])
    assert plateau_claim.half_over_middle(curve) == pytest.approx([1.0], abs=1e-3)


def test_a_published_network_that_is_ours_lies_in_the_interval_of_the_others():
    fits = fit_losses(5.0, 12).assign(published_loss=("alternative", [0.92, 500.0, 400.0, 4.0, 5.0, np.nan]))
    claim = alternatives.published_fit_losses
    parts = claim(fits).printed.parts
    assert parts["factor two"].outcome == parts["square"].outcome == "fails"
    ours = claim(claim.controls["square"].data(fits)).printed.parts
    assert ours["square"].outcome == ours["factor two"].outcome == "passes"
    assert {test.outcome for test in ours["square"].readings.values()} == {"passes"}
    few = claim(fits.isel(seed=slice(0, 3)))
    assert few.status == "not decidable at this scale"


@pytest.mark.parametrize("sizes", [{"seed": 1}, {"seed": 2}, {"seed": 3}])
def test_few_networks_leave_claims_undecided_and_never_end_a_job(sizes):
    few = {name: slice(0, count) for name, count in sizes.items()}
    fits = fit_losses(5.0, 12).isel(few)
    data = {
        "architecture_fits": architecture_fits(0.95).isel(few),
        "architectures": runs_of_figure_2().isel(few),
        "default_ensemble_fits": xr.merge(
            [depth_fits(0.4, 0.95, (0.2, -0.2, 0.3)).isel(few), altered_fits().isel(few)]
        ),
        "default_network_fits": fits.assign(published_loss=("alternative", [0.92, 5.0, 4.0, 4.0, 5.0, np.nan])),
    }
    for claim in (
        two_points.curves_match,
        default_network.rates_in_the_second_half,
        default_network.decoder_rate_at_earlier_layers,
        alternatives.published_fit_losses,
    ):
        assert decide_claim(claim, data).ledger["verdict"] in (
            "not decidable at this scale",
            "holds as corrected",
            "holds",
        )


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
