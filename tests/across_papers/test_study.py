"""Experiments at small size, claims on made-up data that must turn them, figures, settings."""

import numpy as np
import pytest
import torch
import xarray as xr

from repdyn.across_papers.experiments import training
from repdyn.across_papers.experiments.theory_fits import theory_fits
from repdyn.across_papers.methods import networks
from repdyn.across_papers.methods.names import ENDS, middle_layer
from repdyn.across_papers.methods.recording import PairRecorder
from repdyn.across_papers.settings import Digits, OddBatch, TwoPoints
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.claims import claims_of
from repdyn.base.datasets import problems
from repdyn.base.decisions import decide_claim
from repdyn.base.ranks import effective_rank
from repdyn.base.streams import Stream
from repdyn.diagnostics.measure import measure
from repdyn.pipeline.run.execute.loading import load_modules

COMMON = {"width": 8, "depth": 4, "gain": 0.8, "leak": 1.0, "steps": 12}
RATES = {"plain": 0.05, "batch_norm": 0.05, "residual": 0.05, "leaky": 0.05}
TWO = TwoPoints.model_validate(COMMON | {"rates": RATES, "moments": 7, "seeds": 3})
SIXTY = Digits.model_validate(
    COMMON
    | {"rates": RATES, "moments": 6, "seeds": 2, "per_class": 2, "groups": (4, 3, 3), "decay": 0.01, "momentum": 0.5}
)
BATCH = OddBatch.model_validate(
    COMMON | {"rates": RATES | {"recentered": 0.05}, "seeds": 2, "batch": 9, "momentum": 0.5, "recentered_steps": 15}
)


def no_checkpoint():
    return Checkpoint(None, "")


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {"image": (("point", "row", "column"), rng.uniform(size=(60, 4, 4))), "label": ("point", np.arange(60) % 10)}
    )


@pytest.fixture(scope="module")
def datasets(images):
    runs = {
        "two_points": training.two_points(TWO, Stream(1, ("across_papers", "two_points")), no_checkpoint()),
        "digits": training.digits(SIXTY, images, Stream(1, ("across_papers", "digits")), no_checkpoint()),
        "odd_batch": training.odd_batch(BATCH, images, Stream(1, ("across_papers", "odd_batch")), no_checkpoint()),
    }
    return runs | {"theory_fits": theory_fits(runs["two_points"], runs["digits"])}


def test_datasets_keep_the_conventions(datasets):
    for name, data in datasets.items():
        assert not [problem for problem in problems(data) if not problem.startswith("attribute")], name


def test_two_points_begin_as_measured_on_the_network_itself(datasets):
    stream = Stream(1, ("across_papers", "two_points"))
    network = training._network("leaky", TWO, 1, 1, stream)
    X, Y = np.array(training.POINTS), np.array(training.TARGETS)
    measured = measure(network.single(1), X, ["layers.1"], targets=Y, pairs=[(0, 1)])
    begun = datasets["two_points"].sel(network="leaky", seed=1, step=0)
    for name in ("representation_distance", "prediction_distance", "prediction_alignment", "pair_loss"):
        np.testing.assert_allclose(begun[name], measured[name].squeeze(), rtol=1e-12)
    assert list(datasets["two_points"]["step"].values) == [0, 2, 4, 6, 8, 10, 12]
    np.testing.assert_allclose(datasets["two_points"]["input_distance"], 1)
    np.testing.assert_allclose(datasets["two_points"]["target_distance"], 0.5, rtol=1e-4)


def test_tasks_have_the_ranks_they_should(datasets):
    digits = datasets["digits"]
    assert list(digits["task"].values) == ["10 classes", "3 classes"]
    np.testing.assert_array_equal(digits["centered_task_rank"].isel(network=0), [9, 2])
    assert digits["step"].values[0] == 0
    assert float(digits["accuracy"].max()) <= 1
    before = digits["centered_effective_rank"].sel(end=ENDS[0])
    np.testing.assert_array_equal(  # hidden layers do not know the task before training
        before.isel(task=0).sel(layer="layers.1"), before.isel(task=1).sel(layer="layers.1")
    )


def test_what_decides_is_stored(datasets):
    digits, odd = datasets["digits"], datasets["odd_batch"]
    ranks = xr.apply_ufunc(effective_rank, digits["middle_values"], input_core_dims=[["index"]], vectorize=True)
    middle = digits["centered_effective_rank"].sel(layer=middle_layer(digits["layer"].values))
    np.testing.assert_allclose(ranks, middle.transpose(*ranks.dims), rtol=1e-9)
    outputs = xr.apply_ufunc(effective_rank, digits["output_values"], input_core_dims=[["index"]], vectorize=True)
    measured = digits["centered_effective_rank"].sel(layer="output")
    np.testing.assert_allclose(outputs, measured.transpose(*outputs.dims), rtol=1e-9)
    best = (1 - (digits["centered_task_rank"] + 1.0) ** -1) / 2  # ten equal classes; the three groups are not equal
    left = digits["unlearned"].sel(end=ENDS[1])
    np.testing.assert_allclose((left * best).isel(task=0), digits["final_loss"].isel(task=0), rtol=1e-9)
    np.testing.assert_allclose(left.isel(task=1) * (1 - 0.16 - 0.09 - 0.09) / 2, digits["final_loss"].isel(task=1))
    assert (digits["objective"] > 0).all()
    assert not digits["learned"].any()
    assert not digits["at_rest"].any()
    assert dict(odd["learned"].sizes) == {"network": 5, "seed": 2}


def test_unexplained_share_is_that_of_the_explained_variance(datasets):
    fits = datasets["theory_fits"]
    alone = fits.sel(data="two points")
    np.testing.assert_allclose(alone["unexplained"], (1 - alone["explained"].clip(0)).mean("curve"))
    assert float(fits["unexplained"].max()) <= 1
    assert int(fits["unexplained"].sel(data="digits").isnull().sum()) == 4  # one seed fewer, four networks
    h = datasets["two_points"]["representation_distance"].isel(pair=0)
    np.testing.assert_allclose(fits["theory"].sel(curve="h").isel(moment=0), h.isel(step=0))


def test_every_claim_is_decided_from_the_datasets(datasets):
    decisions = [decide_claim(claim, datasets).ledger for claim in claims_of(*load_modules("across_papers", "claims"))]
    assert {row["origin"] for row in decisions} == {"ours"}
    assert {row["id"][:4] for row in decisions} == {"acr-"}


def test_seeds_differ_and_do_not_depend_on_their_number(datasets, images):
    fewer = TWO.model_copy(update={"seeds": 2})
    few = training.two_points(fewer, Stream(1, ("across_papers", "two_points")), no_checkpoint())
    many = datasets["two_points"].isel(seed=slice(0, 2))
    for name in ("representation_distance", "pair_loss", "final_loss"):
        np.testing.assert_allclose(many[name], few[name], rtol=1e-9)  # products of a batch round by its size
        assert not np.allclose(many[name].isel(seed=0), many[name].isel(seed=1))


def test_coordinates_in_the_span_change_no_training(monkeypatch):
    monkeypatch.setattr(training, "PIXELS", 9)
    rng = np.random.default_rng(0)
    X, Y = torch.from_numpy(rng.normal(size=(4, 9))), torch.from_numpy(rng.normal(size=(4, 2)))
    for kind in ("plain", "leaky"):
        whole = networks.build(kind, 9, 6, 4, 2, gain=0.8, leak=1.0, stream=Stream(1, ("t",)), seeds=2)
        inside, Z = training._in_span(whole, X)
        assert Z.shape == (4, 4)
        options = {"rate": 0.1, "decay": 0.01, "steps": 20}
        runs = [[loss for _, loss in networks.descend(*pair, Y, **options)] for pair in ((whole, X), (inside, Z))]
        np.testing.assert_allclose(*runs, rtol=1e-10)


def test_finer_images_are_learned_at_the_same_rate():
    """Every pixel doubled in both directions: the outputs, the losses and so the rates stay."""
    rng = np.random.default_rng(0)
    images, Y = rng.normal(size=(4, 8, 8)), torch.from_numpy(rng.normal(size=(4, 2)))
    runs = []
    for times in (1, 2):
        X = torch.from_numpy(images.repeat(times, axis=1).repeat(times, axis=2).reshape(4, -1))
        network = networks.build("residual", 64, 6, 4, 2, gain=0.8, leak=1.0, stream=Stream(1, ("t",)), seeds=2)
        if times == 2:  # the same maps, shared out among the four pixels of each
            number = np.arange(64).reshape(8, 8).repeat(2, axis=0).repeat(2, axis=1).ravel()
            network.into.weight.data = network.into.weight.data[:, :, number] / 4
        inside, Z = training._in_span(network, X)
        np.testing.assert_allclose(inside(Z).detach(), network(X).detach(), rtol=1e-10)
        runs.append([loss for _, loss in networks.descend(inside, Z, Y, rate=0.1, decay=0.0, steps=20)])
    np.testing.assert_allclose(*runs, rtol=1e-10)


def test_a_rate_that_diverges_is_named(images):
    fast = SIXTY.model_copy(update={"rates": SIXTY.rates.model_copy(update={"residual": 10.0}), "steps": 300})
    trained = training.digits(fast, images, Stream(1, ("across_papers", "digits")), no_checkpoint())
    assert "residual 10" in trained.attrs["diverged"]
    gone = trained["final_loss"].isnull()
    assert gone.sel(network="residual").all()
    assert not gone.sel(network="plain").any()
    assert trained["middle_values"].sel(network="residual", end="after training").isnull().all()


def test_pairs_of_all_seeds_are_measured_as_on_one_network():
    rng = np.random.default_rng(1)
    X, Y = torch.from_numpy(rng.normal(size=(5, 3))), torch.from_numpy(rng.normal(size=(5, 2)))
    network = networks.build("batch norm", 3, 6, 4, 2, gain=0.8, leak=1.0, stream=Stream(1, ("t",)), seeds=2)
    recorder = PairRecorder(X, Y, [(0, 1), (2, 4)])
    recorder(network, 7)
    for seed in range(2):
        measured = measure(network.single(seed), X, ["layers.1"], targets=Y, pairs=[(0, 1), (2, 4)], axes={"input": 0})
        for name, values in recorder.dataset().data_vars.items():
            values = values.isel(seed=seed, step=0) if "seed" in values.dims else values
            np.testing.assert_allclose(values, measured[name].values.squeeze(), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"leak": 4.0}, "leak.*4"),
        ({"depth": 5}, "5"),
        ({"groups": (5, 4)}, "9"),
    ],
)
def test_settings_refuse(change, words):
    with pytest.raises(ValueError, match=words):
        Digits.model_validate(SIXTY.model_dump() | change)
