"""Every claim has an accepted verdict; the intervals and measures that claims take, against values known beforehand."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from repdyn.universality.claims import blobs, plateaus, two_points
from repdyn.universality.claims.alternatives import predicted
from repdyn.universality.claims.final_distances import correlates, near
from repdyn.universality.claims.intervals import log_mean_within, mean_of, of_learned, quantiles_within
from repdyn.universality.claims.random_features import deviation_ratio, slope_of_spread
from repdyn.universality.methods.networks import Net, parameter_counts
from repdyn.universality.methods.networks import initial_weights as drawn_weights
from repdyn.universality.methods.selection import has_learned, learned
from repdyn.universality.theory import effective, final

WORDS = {"expected": "as required", "reason": "for the test"}
EPOCH = np.arange(0.0, 400.0)


# intervals


def test_interval_of_a_geometric_mean_is_students_of_the_logs():
    ratios = np.array([0.05, 0.1, 0.2, 0.1, 0.08])
    logs = np.log(ratios)
    half = stats.t.ppf(0.9995, 4) * logs.std(ddof=1) / np.sqrt(5)
    test = log_mean_within(ratios, 0.0, 1.0, **WORDS)
    assert test.interval == pytest.approx(tuple(np.exp(logs.mean() + np.array([-half, half]))))
    assert test.outcome == "passes"
    assert log_mean_within(ratios, 0.0, 0.1, **WORDS).outcome == "undecided"
    assert log_mean_within(ratios, 1.0, np.inf, **WORDS).outcome == "fails"


def test_samples_without_a_number_are_left_out_and_parts_share_the_false_alarm():
    samples = np.array([1.0, 1.5, 3.0, 2.0])
    test = mean_of([np.nan, *samples, np.inf, -np.inf], 0.0, 9.0, 3, **WORDS)
    half = stats.t.ppf(1 - 1e-3 / 6, 3) * samples.std(ddof=1) / 2
    assert test.n == 4
    assert test.interval == pytest.approx((samples.mean() - half, samples.mean() + half))


def test_quantiles_of_the_bootstrap():
    draws = np.linspace(0.1, 0.3, 10001)
    test = quantiles_within(draws, 0.0, 1.0, 0.2, n=45, **WORDS)
    assert test.interval == pytest.approx((0.1001, 0.2999))
    assert test.outcome == "passes"
    assert quantiles_within(draws, 0.2, 1.0, 0.2, n=45, **WORDS).outcome == "undecided"


def test_correlation_has_fishers_interval():
    x, noise = np.random.default_rng(7).normal(size=(2, 40))
    test = correlates(0.5, x + noise, x, 1)
    wanted = stats.pearsonr(x + noise, x).confidence_interval(0.999)
    assert test.interval == pytest.approx((wanted.low, wanted.high), rel=1e-6)
    assert near(1.5, 1.4 * np.ones(20), np.ones(20), 1).outcome == "passes"
    assert near(1.5, np.ones(20) / 1.6, np.ones(20), 1).outcome == "fails"


@pytest.mark.parametrize(("size", "outcome"), [(0.025, "passes"), (0.1, "undecided"), (0.5, "fails")])
def test_ratio_of_deviations_has_the_interval_of_f(size, outcome):
    first, second = np.random.default_rng(1).standard_normal((2, 12))
    second *= first.std(ddof=1) / second.std(ddof=1) / size
    test = deviation_ratio(first, second, 0.1)
    factor = np.sqrt(stats.f.ppf(0.9995, 11, 11))
    assert test.interval == pytest.approx((size / factor, size * factor))
    assert test.outcome == outcome


def test_false_alarms_of_prediction_intervals_and_slopes_of_spreads_have_the_stated_rate():
    """Thousands of sets of draws: misses of the 99.9 % intervals are binomial, those of the slope at most that."""
    draws = 0.1 * np.random.default_rng(0).standard_normal((4000, 6))
    missed = sum(predicted(sample[:5], float(np.exp(sample[5]))).outcome == "fails" for sample in draws)
    assert stats.binomtest(missed, 4000, 1e-3).pvalue > 1e-3
    draws = np.random.default_rng(0).standard_normal((4000, 5, 12))
    missed = sum(slope_of_spread(list(sample)).outcome != "undecided" for sample in draws)
    assert stats.binomtest(missed, 4000, 1e-3, alternative="greater").pvalue > 1e-3


def test_too_few_networks_decide_nothing():
    tests = (
        mean_of([1.0, np.nan, 2.0, np.inf], 0.0, 9.0, 1, **WORDS),
        log_mean_within([1.0], 0.0, 9.0, **WORDS),
        of_learned(log_mean_within, np.array([1.0]), "adam_low", 0.0, 9.0, **WORDS),
        correlates(0.5, np.arange(7.0), np.arange(7.0), 1),
        near(2.0, np.arange(7.0), np.arange(7.0), 1),
        predicted(np.array([0.0, 1.0, np.nan, 2.0]), 1.0),
        deviation_ratio(np.arange(9.0), np.arange(2.0), 0.1),
        slope_of_spread([np.arange(9.0), np.arange(2.0), np.arange(5.0)]),
        two_points.most_converge(np.zeros(4)),
    )
    assert {test.outcome for test in tests} == {"undecided"}


# measures


def test_only_networks_below_a_share_of_the_plateau_have_learned():
    loss = [[1e-4, 0.019, 0.021]]  # 4 % of a plateau of 0.5
    data = xr.Dataset({"learned": (("run", "trial"), has_learned(loss, 0.5))}, coords={"run": ["low"], "plateau": 0.5})
    assert learned(data, "low").sizes["trial"] == 2


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


def test_parameters_of_both_maps_are_those_of_the_network():
    net = Net("leaky relu", 1.0, 7, 5, inputs=3, outputs=2)
    weights = drawn_weights(net, np.random.default_rng(0))
    assert {sum(parameter_counts(net, layer)) for layer in range(5)} == {sum(map(np.size, weights.values()))}
    assert parameter_counts(net, 0)[0] == 4 * 7
    assert parameter_counts(net, 4)[1] == 8 * 2


def test_exponential_decay_has_no_plateau():
    """It waits log(11/9) / log(3) of its fall at a tenth below its start; both measures of curves are 1."""
    loss = xr.DataArray(2 * np.exp(-EPOCH / 20)[None], dims=("seed", "epoch"), coords={"epoch": EPOCH})
    assert plateaus.wait_over_fall(loss, 1.0) == pytest.approx([np.log(11 / 9) / np.log(3)], rel=1e-2)
    assert np.isnan(plateaus.wait_over_fall(xr.full_like(loss, 1.0), 1.0)).all()
    assert plateaus.start_over_largest(1 - loss / 2) == pytest.approx([1.0])
    assert plateaus.half_over_middle(1 - loss / 2) == pytest.approx([1.0], abs=1e-3)


def test_the_pairs_loss_is_the_second_term_of_equation_9():
    y, w = np.random.default_rng(0).normal(size=(2, 5, 2, 7))
    dims = ("network", "seed", "epoch")
    runs = xr.Dataset({"y": (dims, y), "w": (dims, w), "dy2": ("network", np.full(5, 0.5))})
    assert plateaus.pair_loss(runs).values == pytest.approx((w + (0.5 - y) / 2) / 4)


@pytest.mark.parametrize("c", [0.3, 0.95])  # 18 degrees from the target's line the error waits, too
def test_the_angle_to_the_target_obeys_the_slow_law(c):
    """The closed form at large weights: x^2/(1 - x^2) = c^2/(1 - c^2) e^{lambda t}, squared error D^2 (1 - x^2)."""
    eta_h, eta_y, dy2, size = 0.01, 0.03, 0.5, 300.0
    h0, y0 = (size / 3) ** 2, size**4
    w0 = y0 - c * size**2 * np.sqrt(dy2)
    high, low = final.amplitudes(h0, y0, 1.0, np.sqrt(dy2), eta_h / eta_y)
    growth = eta_y * final.from_amplitudes(high, low)
    units = np.array([0.5, 1.0, 3.0, 6.0])
    _, y, w = effective.effective_solution(units / growth, h0, y0, w0, eta_h, eta_y, 1.0, dy2)
    odds = c**2 / (1 - c**2) * np.exp(units)
    assert (2 * w - y + dy2) / dy2 == pytest.approx(1 / (1 + odds), rel=1e-3)


def test_gaussians_to_a_power_have_another_variance():
    steps = np.linspace(-1, 1, 5)

    def gallery(width):
        """Blobs at five by five positions."""
        line = np.exp(-((steps[:, None] - steps) ** 2) / (2 * width))
        shown = line[:, None, :, None] * line[None, :, None, :]
        return shown / shown.sum(axis=(-2, -1), keepdims=True)

    distances = blobs.blob_distances(gallery(1.0), 0.5, lambda images: images.sum(axis=-1))
    own = gallery(0.5)
    assert distances == pytest.approx(blobs.blob_distances(own, 1.0, lambda images: np.ones(images.shape[:2])))
    assert distances.max() == pytest.approx(np.linalg.norm((own[0, 0] - own[-1, 0]).ravel()))
