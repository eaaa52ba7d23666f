"""Tests of trained networks: intervals of ratios, prediction intervals, bootstrap quantiles; claims that can turn."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from repdyn.universality import readings
from repdyn.universality.claims import blobs, digits, taylor, xor
from repdyn.universality.claims.sampled import log_mean_within, prediction_of, quantiles_within

WORDS = {"expected": "as asked", "reason": "for the test"}


def test_interval_of_a_geometric_mean_is_students_of_the_logs():
    ratios = np.array([0.05, 0.1, 0.2, 0.1, 0.08])
    logs = np.log(ratios)
    half = stats.t.ppf(0.9995, 4) * logs.std(ddof=1) / np.sqrt(5)
    made = log_mean_within(ratios, 0.0, 1.0, **WORDS)
    assert made.interval == pytest.approx(tuple(np.exp(logs.mean() + np.array([-half, half]))))
    assert made.outcome == "passes"
    assert log_mean_within(ratios, 0.0, 0.1, **WORDS).outcome == "undecided"
    assert log_mean_within(ratios, 1.0, np.inf, **WORDS).outcome == "fails"


def test_prediction_interval_covers_one_more_draw_at_the_stated_rate():
    """A thousand sets of five draws and a sixth: misses of the 99.9 % interval are binomial."""
    rng = np.random.default_rng(0)
    draws = 0.02 * rng.standard_normal((4000, 6))
    missed = sum(prediction_of(one[:5], one[5], reason="").outcome == "fails" for one in draws)
    assert stats.binomtest(missed, 4000, 1e-3).pvalue > 1e-3


def test_a_prediction_interval_that_holds_everything_decides_nothing():
    wide = prediction_of([0.2, 0.7, 0.5], 0.6, reason="")
    assert wide.outcome == "undecided"
    narrow = prediction_of([0.70, 0.71, 0.69, 0.70, 0.71, 0.70], 0.3, reason="")
    assert narrow.outcome == "fails"
    assert narrow.margin < 1


def test_quantiles_of_the_bootstrap():
    draws = np.linspace(0.1, 0.3, 10001)
    made = quantiles_within(draws, 0.0, 1.0, 0.2, **WORDS)
    assert made.interval == pytest.approx((0.1001, 0.2999))
    assert made.outcome == "passes"
    assert quantiles_within(draws, 0.2, 1.0, 0.2, **WORDS).outcome == "undecided"


def structure_of(runs):
    """Made distances: name -> (ratios of both pairs, match, loss)."""
    trials = 6
    wiggle = np.exp(0.05 * np.random.default_rng(1).standard_normal((trials, 2)))
    names = list(runs)
    return xr.Dataset(
        {
            "merged": (("run", "trial", "pair"), np.array([np.array(runs[name][0]) * wiggle for name in names])),
            "match": (("run", "trial"), np.array([runs[name][1] * wiggle[:, 0] for name in names])),
            "loss": (("run", "trial"), np.array([np.full(trials, runs[name][2]) for name in names])),
            **{name: (("run", "trial"), np.ones((len(names), trials))) for name in ("growth_apart", "scale")},
            "growth_equal": (("run", "trial", "pair"), np.ones((len(names), trials, 2))),
        },
        coords={
            "run": names,
            "epochs": ("run", [1000 if n == "low_as_printed" else 3000 for n in names]),
            "plateau": 0.25,
            "rho": 0.01,
        },
    )


RUNS = {
    "low_as_printed": ((1.0, 1.0), 0.0, 0.25),
    "low": ((0.05, 0.02), 0.99, 1e-9),
    "intermediate": ((1.2, 0.5), 0.9, 1e-5),
    "high": ((1.5, 0.7), 0.99, 1e-6),
    "two_layers": ((0.15, 1.4), 0.3, 1e-9),
    "relu_low": ((0.05, 0.02), 0.99, 1e-9),
    "adam_low": ((0.01, 0.02), 0.99, 1e-9),
    "adam_intermediate": ((0.5, 0.5), 0.3, 1e-9),
    "adam_high": ((1.5, 0.7), 0.99, 1e-9),
    "adam_two_layers": ((1.3, 1.0), -0.5, 1e-9),
}
CLAIMS = {
    "uni-fig6-xor": ("low", ((0.05, 0.5), 0.99, 1e-9)),
    "uni-fig6-high": ("high", ((1.5, 0.1), 0.99, 1e-9)),
    "uni-fig6-two-layers": ("two_layers", ((0.15, 0.1), 0.3, 1e-9)),
    "uni-fig6-theory": ("intermediate", ((1.2, 0.5), 0.5, 1e-9)),
    "uni-fig16": ("adam_low", ((0.01, 0.6), 0.99, 1e-9)),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_on_xor_turn_with_one_run(name):
    one = next(c for c in vars(xor).values() if getattr(c, "id", None) == name)
    run, spoilt = CLAIMS[name]
    assert one(structure_of(RUNS)).status == "holds"
    assert one(structure_of(RUNS | {run: spoilt})).status == "does not hold"
    unlearnt = (spoilt[0], spoilt[1], 0.25)
    assert one(structure_of(RUNS | {run: unlearnt})).status == "not decidable at this scale"


def test_the_printed_settings_are_judged_at_their_own_length_only():
    one = xor.printed_settings_learn
    assert one(structure_of(RUNS)).status == "holds as corrected"
    assert one(structure_of(RUNS | {"low_as_printed": RUNS["low"]})).status == "holds"
    shorter = structure_of(RUNS).assign_coords(epochs=("run", [10] * len(RUNS)))
    assert one(shorter).status == "not decidable at this scale"


def ratios_of(start, early, late):
    """Made ratios: change over the bins in decades at the start, the paper's 30 epochs, the end; (encoder, decoder)."""
    change = np.array([start, start, early, late])[:, None, :, None] * np.linspace(0, 1, 5)
    wiggle = 0.01 * np.random.default_rng(2).standard_normal((4, 6, 2, 1))
    ratio = 10 ** (0.6 + change + wiggle * np.linspace(0, 1, 5))
    progress = taylor.EPOCH * np.array([0, 0.7, 30, 190])
    coords = {"look": [0, 1, 48, 300], "map": ["encoder", "decoder"], "progress": ("look", progress)}
    distance = (("look", "network", "bin"), np.ones((4, 6, 5)))
    return xr.Dataset({"ratio": (("look", "network", "map", "bin"), ratio), "distance": distance}, coords=coords)


@pytest.mark.parametrize(
    ("trends", "trained", "start"),
    [
        (((0, 0), (-0.3, -0.3), (-0.3, -0.3)), "holds", "holds"),
        (((0, 0), (0.1, 0), (-0.1, -0.4)), "holds as corrected", "holds"),
        (((-0.4, 0), (0.1, 0), (0, 0.1)), "does not hold", "does not hold"),
    ],
)
def test_claims_on_taylor_ratios_follow_the_trends(trends, trained, start):
    made = ratios_of(*trends)
    assert taylor.linear_term_fades_with_distance(made).status == trained
    assert taylor.no_trend_at_the_start(made).status == start
    assert taylor.trend_after_one_epoch(made).status == "does not hold"
    assert taylor.first_order_dominates_near(made).status == "holds"
    assert taylor.first_order_dominates_near(taylor.orders_exchanged(made)).status == "does not hold"


def test_collapse_counts_learnt_networks_only():
    made = xr.Dataset(
        {
            "collapse": (
                ("run", "trial", "context_of"),
                np.full((1, 3, 2), 0.01) * np.array([1, 1.1, 90])[None, :, None],
            ),
            "loss": (("run", "trial"), [[1e-4, 1e-4, 0.08]]),
        },
        coords={"run": ["low"], "plateau": 0.5},
    )
    assert readings.learnt(made, "low").sizes["trial"] == 2
    assert blobs.typical(made, "low", "collapse") == pytest.approx(0.01 * np.sqrt(1.1))


def test_untrained_networks_take_the_place_of_trained_ones():
    made = xr.Dataset(
        {
            "correlation": (("run", "prediction", "part", "trial"), np.ones((2, 1, 2, 3))),
            "correlation_by_look": (("look", "prediction", "part", "trial"), np.zeros((2, 1, 2, 3))),
        },
        coords={"run": ["sgd", "adam"]},
    )
    spoilt = digits.untrained(made)
    assert float(spoilt["correlation"].sel(run="sgd").sum()) == 0
    assert float(spoilt["correlation"].sel(run="adam").min()) == 1
    assert float(made["correlation"].min()) == 1
