"""The two-point theory fitted to several pairs and seeds at once: each has rates, curves and ends of its own."""

import numpy as np
import pytest
import xarray as xr

from repdyn.diagnostics.methods import effective_theory
from repdyn.universality.methods.fit import EffectiveFit
from repdyn.universality.theory.effective import effective_solution

TIMES = 5 + np.array([0, 3, 6, 10, 15, 25, 40, 60, 100, 160])
PAIRS, LAYERS, SEEDS = ["0-1", "0-2", "1-2"], ["a", "b"], [3, 8]
RATES = {(0, 0): (0.03, 0.2), (0, 1): (0.05, 0.1), (2, 0): (0.02, 0.3), (2, 1): (0.0001, 0.0002)}
INPUTS = np.array([[1.25, 1.5], [2.0, 2.1], [0.8, 0.9]])
TARGETS = np.array([[1.5, 1.4], [0.0, 0.3], [0.7, 0.75]])
START = 0.01, 1e-4, 0.0


def recorded():
    """Curves of the theory itself.

    The second pair has equal targets in the first seed, the last one learns nothing in the second.
    """
    curves = np.ones((3, 3, 2, len(TIMES)))
    for (pair, seed), rates in RATES.items():
        distances = INPUTS[pair, seed], TARGETS[pair, seed]
        curves[:, pair, seed] = effective_solution(TIMES - 5, *START, *rates, *distances)
    other = np.random.default_rng(0).lognormal(size=curves[0].shape)
    h = np.stack([other, curves[0]])
    both = ("pair", "seed", "epoch")
    return xr.Dataset(
        {
            "representation_distance": (("layer", *both), h),
            "prediction_distance": (both, curves[1]),
            "prediction_alignment": (both, curves[2]),
            "input_distance": (("pair", "seed"), INPUTS),
            "target_distance": (("pair", "seed"), TARGETS),
        },
        {"layer": LAYERS, "pair": PAIRS, "seed": SEEDS, "epoch": ("epoch", TIMES, {"units": "1"})},
        {"time": "epoch"},
    ), curves


@pytest.fixture(scope="module")
def fits():
    data, curves = recorded()
    return effective_theory.fit(data, "b"), curves


def final(pair, seed):
    """Equation (10) by its limit: the theory after a long time."""
    distances = INPUTS[pair, seed], TARGETS[pair, seed]
    return effective_solution(np.array([0.0, 1e6]), *START, *RATES[pair, seed], *distances)[0][-1]


def test_every_pair_and_seed_has_rates_and_curves_of_its_own(fits):
    fitted, curves = fits
    assert fitted["pair"].values.tolist() == ["0-1", "1-2"]  # of the other one the first seed has equal targets
    assert fitted["seed"].values.tolist() == SEEDS
    assert fitted["learned"].transpose("pair", "seed").values.tolist() == [[1, 1], [1, 0]]
    for place, pair in enumerate((0, 2)):
        for seed in (0, 1):
            cell = fitted.isel(pair=place, seed=seed)
            for at, name in enumerate("hyw"):
                np.testing.assert_array_equal(cell[f"{name}_measured"], curves[at, pair, seed])
                assert float(cell[f"{name}_theory"][0]) == pytest.approx(START[at])
            if (pair, seed) == (2, 1):
                continue
            np.testing.assert_allclose([cell["eta_h"], cell["eta_y"]], RATES[pair, seed], rtol=1e-4)
            np.testing.assert_allclose(cell["final_distance"], final(pair, seed), rtol=1e-4)
            np.testing.assert_allclose(cell["explained"], 1, atol=1e-6)
            distances = INPUTS[pair, seed], TARGETS[pair, seed]
            wanted = effective_solution(fitted["moment"].values - 5, *START, *RATES[pair, seed], *distances)
            for at, name in enumerate("hyw"):
                np.testing.assert_allclose(cell[f"{name}_theory"], wanted[at], rtol=1e-3, atol=1e-6)


def test_curves_of_the_theory_are_denser_at_the_start_and_end_with_the_record(fits):
    moments = fits[0]["moment"].values
    np.testing.assert_allclose(moments, 5 + 160 * (np.arange(200) / 199) ** 3)


def test_what_is_told_of_a_fit_is_under_its_own_name(monkeypatch):
    """Stand-ins for the fit, with numbers that no two variables share."""
    calls = []

    def fit(h, y, w, dx2, dy2, **options):
        calls.append((h, y, w, dx2, dy2, options))
        number = len(calls)
        r2 = number + np.array([0.1, 0.2, 0.3])
        theory = np.zeros((3, len(h)))
        return EffectiveFit(0.01 * number, 0.1 * number, 9.0, r2, np.eye(2), 7, 5, number % 2 == 0, theory)

    monkeypatch.setattr(effective_theory, "fit_effective_rates", fit)
    data, curves = recorded()
    fitted = effective_theory.fit(data, "b", ["1-2", "0-1"]).transpose("pair", "seed", ...)
    assert fitted["pair"].values.tolist() == ["1-2", "0-1"]
    np.testing.assert_allclose(fitted["eta_h"], 0.01 * np.array([[1, 2], [3, 4]]))
    np.testing.assert_allclose(fitted["eta_y"], 0.1 * np.array([[1, 2], [3, 4]]))
    assert fitted["at_bound"].values.tolist() == [[0, 1], [0, 1]]
    np.testing.assert_allclose(fitted["explained"][1, 0], [3.1, 3.2, 3.3])
    assert fitted["explained"].dims == ("pair", "seed", "curve")
    assert fitted["curve"].values.tolist() == ["h", "y", "w"]
    for (pair, seed), (h, y, w, dx2, dy2, options) in zip([(2, 0), (2, 1), (0, 0), (0, 1)], calls, strict=True):
        np.testing.assert_array_equal([h, y, w], curves[:, pair, seed])
        assert (dx2, dy2) == (INPUTS[pair, seed], TARGETS[pair, seed])
        assert options["every"] == pytest.approx(160 / 9)
        assert options["allow_unconverged"] is True
        rates = np.array([[0.02, 0.04], [0.3, 0.1]])  # of two starts
        solved = options["solution"](rates, np.array([2, 7]))
        for start in (0, 1):
            wanted = effective_solution(TIMES[[2, 7]] - 5.0, *curves[:, pair, seed, 0], *rates[:, start], dx2, dy2)
            np.testing.assert_allclose(np.asarray(solved)[:, start], wanted, rtol=1e-9)


def test_units_of_the_rates_are_those_of_the_time():
    data = recorded()[0].isel(seed=0, drop=True)
    data["epoch"].attrs["units"] = "s"
    fitted = effective_theory.fit(data, "b", ["0-1"])
    assert (fitted["eta_h"].attrs["units"], fitted["eta_y"].attrs["units"]) == ("1/s", "1/s")
    assert fitted["eta_h"].dims == ("pair",)
    for name, source in (("h", "representation"), ("y", "prediction"), ("w", "prediction")):
        ends = {"h": "distance", "y": "distance", "w": "alignment"}
        assert fitted[f"{name}_measured"].attrs["source"] == f"{source}_{ends[name]}"
        assert fitted[f"{name}_measured"].attrs["units"] == ("activation^2" if name == "h" else "output^2")


@pytest.mark.parametrize("name", ["prediction_distance", "prediction_alignment"])
def test_a_pair_of_which_a_number_is_lost_has_no_fit_and_no_curve(name):
    data = recorded()[0]
    data[name][0, 0, 4] = np.nan
    fitted = effective_theory.fit(data, "b", ["0-1"])
    assert np.isnan(fitted["eta_h"]).values.tolist() == [[True, False]]
    assert np.isnan(fitted["h_theory"]).all("moment").values.tolist() == [[True, False]]
    assert np.isnan(fitted["final_distance"]).values.tolist() == [[True, False]]


@pytest.mark.parametrize("name", ["input_distance", "target_distance"])
def test_pairs_of_equal_inputs_or_targets_are_not_fitted(name):
    data = recorded()[0].isel(pair=[0, 2], seed=0, drop=True, epoch=slice(4))  # four moments are enough
    data[name][1] = 0.0
    assert effective_theory._usable(data, "b", None) == ("epoch", ["0-1"])
