"""Experiments on random networks at small scale: pairing, and what the paper says of each configuration."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import variable
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments.random_networks import (
    ablation,
    fixed_point,
    image_batch,
    layer_angles,
    recentering_depth,
)
from repdyn.bn_decomposed.experiments.random_networks import orthogonality_gap as gap_with_depth
from repdyn.bn_decomposed.settings.study import Ablation, FixedPoint, LayerAngles, OrthogonalityGap, RecenteringDepth

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


# Pairing and independence of what else is computed


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


def test_with_recentering_both_rescalings_are_one(run):
    """The deviation from a mean of zero is the root mean square, so with shared weights nothing may differ.

    Differences are rounding errors carried through 60 layers; unpaired weights would differ by degrees.
    """
    recentered = run("ablation")["angle"].sel(recenter=1)
    np.testing.assert_allclose(recentered.sel(rescale="std"), recentered.sel(rescale="rms"), atol=1e-6)
    assert float(abs(recentered.sel(seed=0) - recentered.sel(seed=1)).max()) > 1


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


# Batches of images


def test_a_batch_is_distinct_images_as_columns(images):
    X = image_batch(images, 12, Stream(1))
    flat = images["image"].values.reshape(40, 30)
    chosen = [int(np.flatnonzero((flat == column).all(axis=1))[0]) for column in X.T]
    assert X.shape == (30, 12)
    assert len(set(chosen)) == 12
    assert chosen == sorted(chosen)
