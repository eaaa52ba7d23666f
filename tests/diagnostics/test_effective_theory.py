"""The fit of the two-point theory to recorded trainings, of several pairs and seeds."""

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from repdyn.base.datasets import problems
from repdyn.diagnostics.measure import Recorder
from repdyn.diagnostics.methods import effective_theory
from repdyn.universality.theory.effective import effective_solution

TIMES = np.array([0, 3, 6, 10, 15, 25, 40, 60, 100, 160])
RATES = (0.03, 0.2)


def recorded_from_theory() -> xr.Dataset:
    """What a recorder would give of two points that obey the theory exactly, at uneven moments."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2)).double()
    X, Y = np.array([[0.0, 0.0], [1.0, 0.5]]), np.array([[1.0, 0.0], [0.0, 0.5]])
    recorder = Recorder(model, X, targets=Y, time="epoch")
    for time in TIMES:
        recorder(int(time))
    recorded = recorder.dataset()
    dx2, dy2 = float(recorded["input_distance"][0]), float(recorded["target_distance"][0])
    h, y, w = effective_solution(TIMES, 0.01, 1e-4, 0.0, *RATES, dx2, dy2)
    recorded["representation_distance"] = (
        recorded["representation_distance"].dims,
        np.broadcast_to(h[:, None, None], recorded["representation_distance"].shape),
    )
    recorded["prediction_distance"] = ("epoch", "pair"), y[:, None]
    recorded["prediction_alignment"] = ("epoch", "pair"), w[:, None]
    return recorded


def test_a_trained_linear_network_is_fitted():
    """Small equal start, two points: the setting of the theory, where it is known to hold."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 20, bias=False), nn.Linear(20, 1, bias=False)).double()
    with torch.no_grad():
        for layer in model:
            layer.weight.mul_(0.1)
    X, Y = torch.tensor([[1.0, 0, 0], [0, 1.0, 0]]).double(), torch.tensor([[1.0], [-1.0]]).double()
    recorder = Recorder(model, X, targets=Y)
    descent = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(401):
        if step % 20 == 0:
            recorder(step)
        descent.zero_grad()
        ((model(X) - Y) ** 2).sum().div(4).backward()
        descent.step()
    fit = effective_theory.fit(recorder.dataset(), "0")
    assert fit["learned"].values == [1]
    assert float(fit["explained"].min()) > 0.9
    assert (fit.attrs["layer"], fit.attrs["time"]) == ("0", "step")
    assert not [problem for problem in problems(fit) if not problem.startswith("attribute")]


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_pair_that_cannot_be_fitted_has_no_rates_and_the_others_have_theirs(value):
    """A layer that dies, or a training that diverges, leaves gaps and stops nothing."""
    single = recorded_from_theory()
    recorded = xr.concat([single, single.assign_coords(pair=["other"])], "pair", data_vars="minimal").copy(deep=True)
    pair = recorded["pair"].values[0]
    recorded["representation_distance"].loc[{"pair": pair, "epoch": int(TIMES[4])}] = value
    fit = effective_theory.fit(recorded, "0")
    assert np.isnan(fit["eta_h"].sel(pair=pair)).all()
    assert not fit["learned"].sel(pair=pair).any()
    assert np.isfinite(fit["eta_h"].drop_sel(pair=pair)).all()
    gaps = [name for name, array in fit.data_vars.items() if np.isnan(array).any() and "missing" not in array.attrs]
    assert set(gaps) <= {"h_measured"}


def test_a_pair_without_an_input_distance_is_left_out_and_the_others_are_fitted():
    single = recorded_from_theory()
    recorded = xr.concat([single, single.assign_coords(pair=["other"])], "pair", data_vars="minimal").copy(deep=True)
    recorded["input_distance"] = ("pair", [float(single["input_distance"][0]), np.nan])
    recorded["target_distance"] = ("pair", [float(single["target_distance"][0])] * 2)
    assert effective_theory.fit(recorded, "0")["pair"].values.tolist() == single["pair"].values.tolist()
    with pytest.raises(ValueError, match="embeddings"):
        effective_theory.fit(recorded.assign(input_distance=np.nan * recorded["input_distance"]), "0")


ERRORS = [
    (lambda recorded: recorded.isel(epoch=0).drop_attrs(), {}, "moments"),
    (lambda recorded: recorded.isel(epoch=slice(3)), {}, "moments"),
    (lambda recorded: recorded.drop_vars("prediction_alignment"), {}, "prediction_alignment"),
    (lambda recorded: recorded, {"layer": "9"}, "'9'.*input, 0, 1"),
    (lambda recorded: recorded, {"pairs": ["0-7"]}, "0-7"),
    (lambda recorded: recorded.assign(target_distance=0 * recorded["target_distance"]), {}, "pair"),
]


@pytest.mark.parametrize(("change", "options", "message"), ERRORS)
def test_recordings_that_cannot_be_fitted_are_refused(change, options, message):
    with pytest.raises(ValueError, match=message):
        effective_theory.fit(change(recorded_from_theory()), **{"layer": "0"} | options)


# several pairs and seeds

PAIRS, LAYERS, SEEDS = ["0-1", "0-2", "1-2"], ["a", "b"], [3, 8]
ALL_RATES = {(0, 0): (0.03, 0.2), (0, 1): (0.05, 0.1), (2, 0): (0.02, 0.3), (2, 1): (0.0001, 0.0002)}
INPUTS = np.array([[1.25, 1.5], [2.0, 2.1], [0.8, 0.9]])
TARGETS = np.array([[1.5, 1.4], [0.0, 0.3], [0.7, 0.75]])
START = 0.01, 1e-4, 0.0


def several():
    """Curves of the theory itself.

    The second pair has equal targets in the first seed, the last one learns nothing in the second.
    """
    curves = np.ones((3, 3, 2, len(TIMES)))
    for (pair, seed), rates in ALL_RATES.items():
        distances = INPUTS[pair, seed], TARGETS[pair, seed]
        curves[:, pair, seed] = effective_solution(TIMES, *START, *rates, *distances)
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
        {"layer": LAYERS, "pair": PAIRS, "seed": SEEDS, "epoch": ("epoch", 5 + TIMES, {"units": "1"})},
        {"time": "epoch"},
    ), curves


@pytest.fixture(scope="module")
def fits():
    data, curves = several()
    return effective_theory.fit(data, "b"), curves


def final(pair, seed):
    """Equation (10) by its limit: the theory after a long time."""
    distances = INPUTS[pair, seed], TARGETS[pair, seed]
    return effective_solution(np.array([0.0, 1e6]), *START, *ALL_RATES[pair, seed], *distances)[0][-1]


def test_rates_and_curves_of_every_pair_and_seed_are_those_of_the_theory(fits):
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
            np.testing.assert_allclose([cell["eta_h"], cell["eta_y"]], ALL_RATES[pair, seed], rtol=1e-4)
            np.testing.assert_allclose(cell["final_distance"], final(pair, seed), rtol=1e-4)
            np.testing.assert_allclose(cell["explained"], 1, atol=1e-6)
            distances = INPUTS[pair, seed], TARGETS[pair, seed]
            wanted = effective_solution(fitted["moment"].values - 5, *START, *ALL_RATES[pair, seed], *distances)
            for at, name in enumerate("hyw"):
                np.testing.assert_allclose(cell[f"{name}_theory"], wanted[at], rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(fitted["moment"], 5 + 160 * (np.arange(200) / 199) ** 3)  # denser at the start
