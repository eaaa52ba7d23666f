"""The fit of the two-point theory to recorded trainings, and the figures."""

import json

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from repdyn.base import figures
from repdyn.base.datasets import problems
from repdyn.base.streams import Stream
from repdyn.diagnostics.experiments.network import convolutional_network
from repdyn.diagnostics.experiments.two_points import two_points
from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.pairs import draw_pairs
from repdyn.diagnostics.figures.stream import draw_stream
from repdyn.diagnostics.figures.training import draw_training
from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods import convolutional, effective_theory
from repdyn.diagnostics.settings import ConvolutionalNetwork, TwoPoints
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


def test_rates_of_the_theory_are_found_again():
    fit = effective_theory.fit(recorded_from_theory(), "0")
    # the search ends at relative steps of 1e-12 in logarithms; rates are determined to the root of that
    np.testing.assert_allclose([fit["eta_h"][0], fit["eta_y"][0]], RATES, rtol=1e-5)
    np.testing.assert_allclose(fit["explained"], 1, atol=1e-9)
    assert fit["learned"].values == [1]
    assert (fit.attrs["layer"], fit.attrs["time"]) == ("0", "epoch")
    for name in "hyw":
        measured, theory = fit[f"{name}_measured"][0], fit[f"{name}_theory"][0]
        at = np.interp(TIMES, fit["moment"], theory)
        np.testing.assert_allclose(at, measured, atol=2e-2 * np.abs(measured).max())  # linear between 200 moments
    np.testing.assert_allclose(fit["final_distance"], fit["h_theory"][:, -1], rtol=1e-2)
    assert not [problem for problem in problems(fit) if not problem.startswith("attribute")]


def test_a_single_seed_is_a_seed():
    recorded = recorded_from_theory()
    fields = [name for name in recorded.data_vars if "epoch" in recorded[name].dims]
    seeded = recorded.assign({name: recorded[name].expand_dims("seed", -1) for name in fields}).assign_coords(seed=[3])
    fit, alone = effective_theory.fit(seeded, "0"), effective_theory.fit(recorded, "0")
    assert fit["seed"].values.tolist() == [3]
    for name in ("eta_h", "eta_y", "final_distance"):
        np.testing.assert_array_equal(fit[name].isel(seed=0), alone[name])


def test_time_counts_from_the_first_record():
    recorded = recorded_from_theory()
    late = effective_theory.fit(recorded.assign_coords(epoch=recorded["epoch"].copy(data=TIMES + 70)), "0")
    np.testing.assert_allclose([late["eta_h"][0], late["eta_y"][0]], RATES, rtol=1e-5)
    np.testing.assert_allclose(late["moment"][[0, -1]], [70, 70 + TIMES[-1]])


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
    with pytest.raises(ValueError, match="no input distances: record with embeddings="):
        effective_theory.fit(recorded.assign(input_distance=np.nan * recorded["input_distance"]), "0")


ERRORS = {
    "no time": (lambda recorded: recorded.isel(epoch=0).drop_attrs(), {"layer": "0"}, "record four or more moments"),
    "few": (lambda recorded: recorded.isel(epoch=slice(3)), {"layer": "0"}, "record four or more moments"),
    "no targets": (
        lambda recorded: recorded.drop_vars("prediction_alignment"),
        {"layer": "0"},
        "no prediction_alignment: record with labels or targets",
    ),
    "layer": (lambda recorded: recorded, {"layer": "9"}, "no layer '9'; it has input, 0, 1"),
    "pair": (
        lambda recorded: recorded,
        {"layer": "0", "pairs": ["0-7"]},
        "pairs 0-7 have equal targets or are not there",
    ),
    "same": (
        lambda recorded: recorded.assign(target_distance=0 * recorded["target_distance"]),
        {"layer": "0"},
        "every pair has equal inputs or equal targets",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    spoil, options, words = ERRORS[case]
    with pytest.raises(ValueError, match=words):
        effective_theory.fit(spoil(recorded_from_theory()), **options)


# the network of the report


SMALL = ConvolutionalNetwork(
    channels=3, blocks=2, width=8, gain=0.1, rate=0.1, batch=16, record=(0, 1, 2, 4, 8), per_class=2, seeds=2
)


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {"image": (("point", "row", "column"), rng.uniform(size=(60, 4, 4))), "label": ("point", np.arange(60) % 10)}
    )


@pytest.fixture(scope="module")
def measured(images):
    return convolutional_network(SMALL, images, Stream(1, ("diagnostics", "convolutional_network")))


def test_network_of_the_report(measured):
    assert not [problem for problem in problems(measured) if not problem.startswith("attribute")]
    assert dict(measured.sizes)["seed"] == 2
    assert list(measured["step"].values) == [0, 1, 2, 4, 8]
    assert list(measured["normalized"].values) == ["conv", "dense"]
    assert float(measured["loss"].isel(step=-1).max()) < float(measured["loss"].isel(step=0).min())


def test_a_seed_does_not_depend_on_the_others(measured, images):
    settings = SMALL.model_copy(update={"seeds": 1})
    assert ConvolutionalNetwork.model_validate(settings.model_dump()) == settings
    alone = convolutional_network(settings, images, Stream(1, ("diagnostics", "convolutional_network")))
    xr.testing.assert_identical(alone.isel(seed=0).drop_vars("seed"), measured.isel(seed=0).drop_vars("seed"))


def test_start_is_hes_times_the_gain():
    network = convolutional.ConvolutionalNetwork(16, 1, 400, 8, 10)
    convolutional.start(network, 0.5, np.random.default_rng(0))
    weights = network.dense.weight.detach().numpy()
    assert weights.std() == pytest.approx(0.5 * np.sqrt(2 / 256), rel=0.01)  # 1e5 draws: standard error 0.2 %
    assert not network.dense.bias.any()


@pytest.mark.slow
def test_figures_of_the_report(measured, tmp_path):
    fitted = two_points(TwoPoints(layer="relu"), measured)
    assert not [problem for problem in problems(fitted) if not problem.startswith("attribute")]
    drawn = {
        "depth": draw_depth(measured),
        "training": draw_training(measured),
        "stream": draw_stream(measured),
        "pairs": draw_pairs(measured, fitted),
    }
    for name, figure in drawn.items():
        figures.save(figure, tmp_path / name)
        about = json.loads((tmp_path / f"{name}.json").read_text())
        assert about["title"]
        assert about["alt"]
        assert "2 seeds" in about["caption"] or "first seed" in about["caption"]


def test_panels_of_pairs_are_named_in_the_first_row():
    single = recorded_from_theory()
    recorded = xr.concat([single, single.assign_coords(pair=["other"])], "pair", data_vars="minimal")
    drawn = draw_pairs(recorded.assign_attrs(title="two pairs"), effective_theory.fit(recorded, "0"))
    titles = [panel.get_title(loc="left") + panel.get_title() for panel in drawn.axes]
    assert [title[:3] for title in titles[:3]] == ["(a)", "(b)", "(c)"]
    assert not any(title.startswith("(") for title in titles[3:])


def test_figures_of_one_moment_without_labels():
    diagnostics = measure(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4)), np.random.default_rng(0).normal(size=(5, 3)))
    assert len(draw_depth(diagnostics).axes) == 4
    assert len(draw_stream(diagnostics).axes) == 1
    with pytest.raises(ValueError, match="one moment only"):
        draw_training(diagnostics)
    with pytest.raises(ValueError, match="name `residual` when measuring"):
        draw_stream(diagnostics.drop_vars(["radial_fraction"]))


@pytest.mark.parametrize(("draw", "place"), [(draw_depth, 2), (draw_training, 0)])
@pytest.mark.parametrize("narrow", [False, True])
def test_the_band_of_the_tasks_rank_lies_behind_the_ranks_alone(draw, place, narrow):
    """From the rank of the task without its mean to the whole, half a dimension high where they agree."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(9, 1)) * [1.0, 0.5, 2.0] + (0.0 if narrow else 3.0)
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3))
    recorder = Recorder(model, rng.normal(size=(9, 2)), targets=Y - Y.mean(axis=0) if narrow else Y)
    for step in range(3):
        recorder(step)
    dataset = recorder.dataset()
    panels = draw(dataset).axes
    bands = [[patch.get_bbox() for patch in panel.patches] for panel in panels]
    assert [len(band) for band in bands] == [int(number == place) for number in range(len(panels))]
    assert "effective rank" in panels[place].get_title(loc="left") + panels[place].get_title()
    low, high = float(dataset["centered_task_rank"].min()), float(dataset["task_rank"].min())
    assert (high - low < 0.5) == narrow
    assert (bands[place][0].y0, bands[place][0].y1) == (low, low + 0.5 if narrow else high)


def test_panels_of_classes_need_both_collapse_and_sectors():
    X = np.random.default_rng(0).normal(size=(6, 3))
    diagnostics = measure(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), X, labels=np.arange(6) % 2)
    assert len(draw_depth(diagnostics).axes) == 6
    for without in ("nc1", "sectors"):
        assert len(draw_depth(diagnostics.drop_vars(without)).axes) == 4


@pytest.mark.parametrize("first", [0, 10])
def test_the_axis_of_training_begins_at_its_start(first):
    recorder = Recorder(nn.Linear(3, 2), np.random.default_rng(0).normal(size=(5, 3)))
    for step in (first, first + 10, first + 1000):
        recorder(step)
    left, right = draw_training(recorder.dataset()).axes[0].get_xlim()
    assert -1 < left < 0
    assert right == pytest.approx(1.02 * (first + 1000))


def test_first_record_is_before_training():
    with pytest.raises(ValueError, match="the first measurement is before training"):
        ConvolutionalNetwork.model_validate(SMALL.model_dump() | {"record": (1, 2, 3, 4)})
