"""Experiments on random networks at small scale: form, pairing, and what the paper says of each configuration."""

import itertools

import numpy as np
import pytest
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import REQUIRED, problems, variable
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments.random_networks import (
    RESCALES,
    SCALARS,
    ablation,
    fixed_point,
    image_batch,
    layer_angles,
    recentering_depth,
)
from repdyn.bn_decomposed.experiments.random_networks import orthogonality_gap as gap_with_depth
from repdyn.bn_decomposed.settings.study import Ablation, FixedPoint, LayerAngles, OrthogonalityGap, RecenteringDepth
from repdyn.bn_decomposed.theory.geometry import pair_angles
from repdyn.bn_decomposed.theory.layers import propagate

NOTHING_KEPT = Checkpoint(None, "")

SETTINGS = {
    "ablation": Ablation(batch=16, width=128, depth=60, seeds=3, record=(0, 1, 60)),
    "recentering_depth": RecenteringDepth(batch=5, width=16, depth=6, seeds=2),
    "orthogonality_gap": OrthogonalityGap(batch=4, input_dim=6, widths=(16, 64), depth=40, seeds=3),
    "layer_angles": LayerAngles(batches=(4, 9), width=64, depth=6, seeds=3),
    "fixed_point": FixedPoint(batches=(3, 6, 7, 9, 20)),
}
FUNCTIONS = {
    "ablation": ablation,
    "recentering_depth": recentering_depth,
    "orthogonality_gap": gap_with_depth,
    "layer_angles": layer_angles,
    "fixed_point": fixed_point,
}
SAMPLED = [name for name in FUNCTIONS if name != "fixed_point"]
ON_IMAGES = ("ablation", "recentering_depth", "layer_angles")
KEEPING = ("ablation", "layer_angles")


@pytest.fixture(scope="module")
def images():
    ink = np.random.default_rng(4).random((40, 6, 5))
    dims = ("point", "row", "column")
    coords = {name: variable(name, np.arange(size), name) for name, size in zip(dims, ink.shape, strict=True)}
    return xr.Dataset({"image": variable(dims, ink, "ink")}, coords)


@pytest.fixture(scope="module")
def run(images):
    """Runs an experiment, with changes to its small settings; each once."""
    runs = {}

    def run(name, seed=1, **changes):
        key = (name, seed, *sorted(changes.items()))
        if key not in runs:
            settings = type(SETTINGS[name])(**(dict(SETTINGS[name]) | changes))
            arguments = {"images": images} if name in ON_IMAGES else {}
            arguments |= {"stream": Stream(seed, ("bn_decomposed", name))} if name in SAMPLED else {}
            arguments |= {"checkpoint": NOTHING_KEPT} if name in KEEPING else {}
            runs[key] = FUNCTIONS[name](settings, **arguments)
        return runs[key]

    return run


# Form


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_dataset_keeps_the_conventions(run, name):
    dataset = run(name)
    provenance = dict.fromkeys(set(REQUIRED) - set(dataset.attrs), "added by the runner")
    assert problems(dataset.assign_attrs(provenance)) == []


def test_dimensions_are_those_of_the_settings(run):
    dataset = run("ablation")
    cell = {"recenter": 2, "rescale": 3, "relu": 2, "seed": 3, "layer": 3}
    assert dict(dataset.sizes) == cell | {"pair": 120}
    assert dataset["layer"].values.tolist() == [0, 1, 60]
    assert dataset["angle"].dims == (*cell, "pair")
    assert (int(dataset["point_count"]), int(dataset["width"])) == (16, 128)
    assert dict(run("recentering_depth").sizes) == {"relu": 2, "seed": 2, "layer": 6}
    assert dict(run("orthogonality_gap").sizes) == {"rescale": 2, "width": 2, "seed": 3, "layer": 41}
    dataset = run("layer_angles")
    assert dict(dataset.sizes) == {
        "normalization": 3,
        "seed": 3,
        "pair": 6 + 36,
        "batch": 2,
        "left_out": 3,
        "untypical": 4,
    }
    assert np.bincount(dataset["pair_batch"])[[4, 9]].tolist() == [6, 36]


# Pairing and independence of what else is computed


@pytest.mark.parametrize("name", SAMPLED)
def test_equal_runs_give_equal_numbers_and_another_seed_others(run, images, name):
    arguments = {"images": images} if name in ON_IMAGES else {}
    arguments |= {"checkpoint": NOTHING_KEPT} if name in KEEPING else {}
    again = FUNCTIONS[name](SETTINGS[name], stream=Stream(1, ("bn_decomposed", name)), **arguments)
    xr.testing.assert_identical(again, run(name))
    first = next(iter(again.data_vars))
    assert not np.array_equal(again[first], run(name, seed=2)[first])


@pytest.mark.parametrize("name", SAMPLED)
def test_a_further_seed_leaves_the_numbers_of_the_others(run, name):
    few, more = run(name), run(name, seeds=SETTINGS[name].seeds + 1)
    xr.testing.assert_identical(more.isel(seed=slice(few.sizes["seed"])), few)


@pytest.mark.parametrize(
    ("name", "changes", "choice"),
    [
        ("ablation", {"record": (0, 1, 7, 60)}, {"layer": [0, 1, 60]}),
        ("recentering_depth", {"depth": 8}, {"layer": [1, 2, 3, 4, 5, 6]}),
        ("orthogonality_gap", {"widths": (8, 16, 64)}, {"width": [16, 64]}),
        ("orthogonality_gap", {"depth": 45}, {"layer": range(41)}),
        ("layer_angles", {"batches": (3, 4, 9)}, {"batch": [4, 9]}),
    ],
)
def test_more_layers_widths_or_batches_leave_the_numbers_of_the_others(run, name, changes, choice):
    few, more = run(name), run(name, **changes)
    if name == "layer_angles":
        few, more = few.drop_dims("pair"), more.drop_dims("pair")
    xr.testing.assert_equal(more.sel(choice), few)


def test_all_configurations_share_batch_and_weights(run, images):
    """Every cell is what one network gives whose weights come from the seed's stream alone."""
    dataset, settings, stream = run("ablation"), SETTINGS["ablation"], Stream(1, ("bn_decomposed", "ablation"))
    cells = itertools.product((0, 1), RESCALES, (0, 1), (0, 2))
    for recenter, rescale, relu, seed in cells:
        X = image_batch(images, settings.batch, stream.child(seed))
        switches = {"recenter": bool(recenter), "rescale": rescale, "relu": bool(relu)}
        layer = propagate(X, settings.width, 1, stream.generator(seed, "weights"), **switches)
        cell = dataset["angle"].sel(recenter=recenter, rescale=rescale or "none", relu=relu, seed=seed, layer=1)
        np.testing.assert_array_equal(cell, np.degrees(pair_angles(layer)))


def test_with_recentering_both_rescalings_are_one(run):
    """The deviation from a mean of zero is the root mean square, so with shared weights nothing may differ.

    Differences are rounding errors carried through 60 layers; unpaired weights would differ by degrees.
    """
    recentered = run("ablation")["angle"].sel(recenter=1)
    np.testing.assert_allclose(recentered.sel(rescale="std"), recentered.sel(rescale="rms"), atol=1e-6)
    assert float(abs(recentered.sel(seed=0) - recentered.sel(seed=1)).max()) > 1


def test_the_pairs_of_the_odd_point_are_marked(run):
    dataset = run("ablation")
    n = int(dataset["point_count"])
    assert (dataset["with_odd"].sum("pair") == n - 1).all()
    with_odd = dataset["angle"].where(dataset["with_odd"] == 1).median("pair")
    np.testing.assert_allclose(with_odd, dataset["odd_angle"], rtol=1e-12)  # the same median in degrees
    others = dataset["angle"].where(dataset["with_odd"] == 0).median("pair")
    np.testing.assert_allclose(others, dataset["intra_angle"], rtol=1e-12)


# What the experiments are to show


def test_recentering_and_relu_alone_make_an_odd_point(run):
    last = run("ablation").isel(layer=-1).median("seed")
    odd = last.sel(recenter=1, rescale="none", relu=1)
    assert float(odd["second_to_first"]) < 0.25
    assert abs(float(odd["odd_angle"]) - 90) < 5
    assert float(odd["intra_angle"]) < 60
    ratio = last["second_to_first"].copy(deep=True)
    ratio.loc[{"recenter": 1, "rescale": "none", "relu": 1}] = 1
    assert float(ratio.min()) > 0.5


def test_ranks_and_gaps_keep_their_bounds(run):
    dataset = run("ablation")
    n = int(dataset["point_count"])
    assert set(SCALARS) <= set(dataset.data_vars)
    slack = 1e-9  # rounding of sums of n squares
    for name in ("stable_rank", "effective_rank", "numerical_rank"):
        assert 1 - slack <= float(dataset[name].min()) <= float(dataset[name].max()) <= n + slack
    assert float(dataset["orthogonality_gap"].min()) >= 0
    assert float(dataset["orthogonality_gap"].max()) <= np.sqrt(1 - 1 / n) + slack
    assert float(dataset["second_to_first"].max()) <= 1


def test_recentering_acts_in_the_first_layer_alone_of_a_linear_network(run):
    difference = run("recentering_depth")["difference"]
    assert (difference.sel(layer=1) == 0).all()  # both networks are recentered there, with the same weights
    assert float(difference.sel(relu=0).max()) < 6 * 16 * np.finfo(float).eps  # products of width 16 in 6 layers
    assert float(difference.sel(relu=1, layer=slice(2, None)).min()) > 1e-3


def test_rescaling_alone_makes_orthonormal_or_collapses(run):
    dataset = run("orthogonality_gap")
    gap, collapsed = dataset["gap"], np.sqrt(1 - 1 / 4)
    end = gap.isel(layer=slice(20, None)).mean("layer")
    assert (gap <= collapsed + 1e-12).all()
    assert (end.sel(rescale="rms", width=64) < gap.isel(layer=0, rescale=0, width=0)).all()
    assert (end.sel(rescale="rms", width=64) < end.sel(rescale="rms", width=16)).all()
    # 5 %: after 40 layers the batch is on its way to a line, not yet there
    np.testing.assert_allclose(gap.sel(rescale="std").isel(layer=-1), collapsed, rtol=0.05)


def test_fixed_points_are_the_papers_angles(run):
    """75 degrees at nine points and 60 without recentering, to the five degrees of the paper's own rounding."""
    dataset = run("fixed_point")
    assert float(dataset["simplex_angle"].sel(batch=9)) == pytest.approx(75, abs=0.5)
    assert (dataset["simplex_angle"].diff("batch") < 0).all()
    assert float(dataset["simplex_angle"].sel(batch=20)) > np.degrees(np.arccos(1 / np.pi))  # limit of large batches
    assert float(dataset["rms_angle"].sel(batch=9)) == pytest.approx(60, abs=0.5)


def test_the_odd_fixed_point_exists_from_seven_points_on(run):
    dataset = run("fixed_point")
    for name in ("odd_intra_angle", "odd_angle", "odd_norm_ratio"):
        assert np.isnan(dataset[name].sel(batch=[3, 6])).all()
        assert np.isfinite(dataset[name].sel(batch=[7, 9, 20])).all()
        assert "no fixed point" in dataset[name].attrs["missing"]


def test_the_reduced_map_rests_where_the_full_one_does(run):
    """The iteration stops when an entry changes by 1e-13: at a rate of convergence up to 1 - 1e-5, 1e-6 degree."""
    dataset = run("fixed_point").sel(batch=[9, 20])
    np.testing.assert_allclose(dataset["iterated_odd_angle"], dataset["odd_angle"], atol=1e-6)
    np.testing.assert_allclose(dataset["iterated_intra_angle"], dataset["odd_intra_angle"], atol=1e-6)


# Batches of images


def test_a_batch_is_distinct_images_as_columns(images):
    X = image_batch(images, 12, Stream(1))
    flat = images["image"].values.reshape(40, 30)
    chosen = [int(np.flatnonzero((flat == column).all(axis=1))[0]) for column in X.T]
    assert X.shape == (30, 12)
    assert len(set(chosen)) == 12
    assert chosen == sorted(chosen)
