"""What becomes of the recorded shape of a dataset when its experiment changes, with no finished run at hand."""

import numpy as np
import pytest
import xarray as xr
from tests.drawn import synthetic_dataset
from tests.shapes import ENOUGH, followed, shape

KINDS = ["plain", "leaky"]
RUNS = ["width 8", "width 64", "width 512"]


def dataset(kinds=KINDS, seeds=40, **variables) -> xr.Dataset:
    """A loss by kind and seed, and further variables."""
    loss = np.linspace(0.5, 9.0, len(kinds) * seeds).reshape(len(kinds), seeds)
    data = xr.Dataset(
        {"loss": (("kind", "seed"), loss, {"units": "1"})},
        {"kind": kinds, "seed": np.arange(seeds)},
        {"title": "Losses", "settings": "of this run"},
    )
    return data.assign(variables)


RECORDED = shape(dataset())


def test_a_smaller_dataset_of_the_same_kind_changes_nothing():
    assert followed(RECORDED, shape(dataset(seeds=3))) == RECORDED


def test_what_is_new_has_the_recorded_sizes_and_its_own_range():
    new = ("seed", np.array([0.25, 0.5, 4.0]), {"units": "rad"})
    entry = followed(RECORDED, shape(dataset(seeds=3, angle=new)))["variables"]["angle"]
    assert (entry["sizes"], entry["least"], entry["largest"], entry["attrs"]) == ([40], 0.25, 4.0, {"units": "rad"})


def test_what_is_gone_is_gone():
    assert set(followed(RECORDED, shape(dataset().drop_vars("loss")))["variables"]) == set()


@pytest.mark.parametrize("change", ["dims", "units", "type"])
def test_another_dimension_unit_or_type_is_followed(change):
    data = dataset(seeds=3)
    loss = {"dims": data["loss"].transpose(), "units": data["loss"].assign_attrs(units="bit"), "type": data["loss"] > 1}
    after = followed(RECORDED, shape(data.assign(loss=loss[change])))["variables"]["loss"]
    assert after != RECORDED["variables"]["loss"]
    assert sorted(after["sizes"]) == [2, 40]
    if change == "units":  # the range of the default scale stays
        assert (after["attrs"], after["largest"]) == ({"units": "bit"}, 9.0)


def test_labels_renamed_take_the_place_of_the_recorded_ones():
    after = followed(RECORDED, shape(dataset(["plain", "residual", "leaky"], seeds=3)))
    assert after["coords"]["kind"]["values"] == ["plain", "residual", "leaky"]
    assert after["variables"]["loss"]["sizes"] == [3, 40]


def test_numbers_in_labels_are_those_of_the_settings():
    recorded = shape(dataset(RUNS))
    assert followed(recorded, shape(dataset(["width 4"], seeds=3))) == recorded


def test_a_new_dataset_has_enough_of_what_is_sampled():
    after = followed(None, shape(dataset(seeds=3)))
    assert after["variables"]["loss"]["sizes"] == [2, ENOUGH]
    data = synthetic_dataset(after, "study/data/losses.nc")
    assert data["seed"].values.tolist() == list(range(ENOUGH))
    assert 0.4 < float(data["loss"].min()) < float(data["loss"].max()) < 9.4
