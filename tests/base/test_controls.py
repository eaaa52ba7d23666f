"""Negative controls: their change of the data, and which of them only shift a number."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.controls import (
    exchange,
    in_dataset,
    in_every_dataset,
    kind_of_change,
    replace_labels,
    replace_variables,
    reverse,
    wrong_formula,
)
from repdyn.base.errors import NotEnoughDataError

RNG = np.random.default_rng(4)


def data(networks=("relu", "tanh", "linear")):
    """A loss and a wrong formula's by seed and network, counts, flags, a scalar."""
    n = len(networks)
    return xr.Dataset(
        {
            "loss": (("seed", "network"), RNG.random((4, n)) + 1),
            "printed": (("seed", "network"), RNG.random((4, n)) - 3),
            "rank": ("network", np.arange(3, 3 + n)),
            "kept": (("seed", "network"), np.arange(4 * n).reshape(4, n) % 3 == 0),
            "bound": ((), 0.23),
            "curve": ("time", np.array([1.0, np.nan, 0.5])),
        },
        {"network": list(networks), "seed": np.arange(4), "time": [0.0, 1.0, 2.0]},
    )


BEFORE = data()


def kind(change, *before, recomputes=False):
    before = before or (BEFORE,)
    after = change(*before)
    control = wrong_formula("x", change, recomputes=recomputes)
    return kind_of_change(control, before, after if isinstance(after, tuple) else (after,))


RECORDED = {
    "another variable": replace_variables(loss="printed"),
    "two labels exchanged": exchange("network", "relu", "linear"),
    "one network for all": lambda d: d.sel(network=["tanh"] * 3).assign_coords(network=d["network"]),
    "seeds reversed": lambda d: d.isel(seed=slice(None, None, -1)),
    "labels reversed": lambda d: d.assign_coords(network=d["network"].values[::-1]),
    "the first seed alone": lambda d: d.isel(seed=[0]),
    "a mixture of two variables": lambda d: d.assign(loss=xr.where(d["network"] == "relu", d["printed"], d["loss"])),
    "flags of another network": lambda d: d.assign(kept=d["kept"].isel(network=[1, 0, 2]).variable),
    "ranks of another network": lambda d: d.assign(rank=d["rank"].isel(network=[1, 1, 2]).variable),
    "a variable left out": lambda d: d.drop_vars("loss"),
    "a number of the dataset": lambda d: d.assign(bound=d["printed"][0, 0]),
}
SHIFTED = {
    "offset": lambda d: d.assign(loss=d["loss"] + 0.1),
    "scaled": lambda d: d.assign(loss=d["loss"] * 1.05),
    "sign": lambda d: d.assign(loss=-d["loss"]),
    "scaled and offset": lambda d: d.assign(loss=3 - 2 * d["loss"]),
    "offset with gaps": lambda d: d.assign(curve=d["curve"] + 1),
    "counts raised": lambda d: d.assign(rank=d["rank"] + 1),
    "flags turned round": lambda d: d.assign(kept=~d["kept"]),
    "a second variable right, one shifted": lambda d: d.assign(loss=d["printed"], curve=2 * d["curve"]),
}
CONSTANT = {
    "one number": lambda d: d.assign(bound=d["bound"] * 2),
    "a constant": lambda d: d.assign(loss=0 * d["loss"] + 7.5),
    "nothing left": lambda d: d.assign(loss=0 * d["loss"]),
    "counts to one number": lambda d: d.assign(rank=0 * d["rank"] + 3),
}
RECOMPUTED = {
    "another power": lambda d: d.assign(loss=d["loss"] ** 2),
    "another power of tiny numbers": lambda d: d.assign(loss=1e-9 * d["loss"] ** 2),
    "two variables": lambda d: d.assign(loss=d["loss"] * (1 + d["seed"])),
    "a new variable": lambda d: d.assign(fitted=d["loss"] * 2),
}


@pytest.mark.parametrize("change", RECORDED.values(), ids=RECORDED)
def test_values_in_the_datasets_count_as_recorded(change):
    assert kind(change) == "recorded"


@pytest.mark.parametrize("change", SHIFTED.values(), ids=SHIFTED)
def test_scaled_and_offset_numbers_are_shifted_numbers(change):
    assert kind(change) == kind(change, recomputes=True) == "shifted number"


@pytest.mark.parametrize("change", CONSTANT.values(), ids=CONSTANT)
def test_single_computed_number_is_accepted_but_not_recorded(change):
    """A single number does not show whether a formula produced it."""
    assert (kind(change), kind(change, recomputes=True)) == ("shifted number", "recomputed")


@pytest.mark.parametrize("change", RECOMPUTED.values(), ids=RECOMPUTED)
def test_declared_recomputed_changes_are_accepted(change):
    assert (kind(change), kind(change, recomputes=True)) == ("not recorded", "recomputed")


@pytest.mark.parametrize("change", [lambda d: d, lambda d: d.copy(deep=True), lambda d: d.assign_attrs(title="x")])
def test_unchanged_data_are_reported_as_no_change(change):
    assert kind(change) == kind(change, recomputes=True) == "nothing"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda first, second: (second, first), "recorded"),
        (lambda first, second: (first, second.assign(loss=first["loss"])), "recorded"),
        (lambda first, second: (first, second.assign(loss=second["loss"] - 1)), "shifted number"),
        (lambda first, second: (first, second), "nothing"),
    ],
)
def test_changes_of_several_datasets(change, expected):
    assert kind(change, BEFORE, data()) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda nets: {"a": nets["b"], "b": nets["a"]}, "recorded"),
        (lambda nets: {"a": nets["a"]}, "recorded"),
        (lambda nets: nets | {"b": nets["b"].assign(loss=nets["a"]["loss"])}, "recorded"),
        (lambda nets: nets | {"b": nets["b"] * 1}, "nothing"),
        (lambda nets: nets | {"b": nets["b"].assign(loss=nets["b"]["loss"] + 1)}, "shifted number"),
        (lambda nets: nets | {"b": nets["b"].assign(loss=nets["b"]["loss"] ** 3)}, "not recorded"),
        (exchange("network", "relu", "tanh"), "recorded"),
        (replace_variables(loss="printed"), "recorded"),
    ],
)
def test_changes_of_variants(change, expected):
    assert kind(change, {"a": BEFORE.drop_vars("kept"), "b": data().drop_vars("kept")}) == expected


# Building blocks


def test_exchanged_labels_keep_their_order():
    turned = exchange("network", "relu", "linear")(BEFORE)
    assert turned["network"].values.tolist() == ["relu", "tanh", "linear"]
    for here, there in (("relu", "linear"), ("linear", "relu"), ("tanh", "tanh")):
        xr.testing.assert_equal(
            turned["loss"].sel(network=here, drop=True), BEFORE["loss"].sel(network=there, drop=True)
        )


def test_replacing_variables_leaves_other_variables_unchanged():
    turned = replace_variables(loss="printed", printed="loss")(BEFORE)
    np.testing.assert_array_equal(turned["loss"], BEFORE["printed"])
    np.testing.assert_array_equal(turned["printed"], BEFORE["loss"])
    xr.testing.assert_identical(turned["curve"], BEFORE["curve"])


def numbered(*values):
    return xr.Dataset({"value": ("place", list(values))}, coords={"place": ["a", "b", "c"]})


def test_replaced_label_has_the_values_of_another():
    turned = replace_labels("place", {"a": "c"})(numbered(1, 2, 3))
    assert turned["value"].values.tolist() == [3, 2, 3]
    assert turned["place"].values.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("sources", [{"a": "d"}, {"d": "a"}])
def test_label_that_the_data_lack_leaves_the_control_undecided(sources):
    with pytest.raises(NotEnoughDataError, match="place"):
        replace_labels("place", sources)(numbered(1, 2, 3))


def test_reversed_data_keep_their_labels():
    turned = reverse("place")(numbered(1, 2, 3))
    assert turned["value"].values.tolist() == [3, 2, 1]
    assert turned["place"].values.tolist() == ["a", "b", "c"]


def test_changing_one_dataset_leaves_other_datasets_unchanged():
    datasets = [numbered(1, 2, 3), numbered(4, 5, 6), {"x": numbered(7, 8, 9)}]
    first, second, third = in_dataset(1, reverse("place"))(*datasets)
    assert (first, third) == (datasets[0], datasets[2])
    assert second["value"].values.tolist() == [6, 5, 4]
    changed = in_every_dataset(reverse("place"))(*datasets)
    assert [data["value"].values[0] for data in (changed[0], changed[1], changed[2]["x"])] == [3, 6, 9]
