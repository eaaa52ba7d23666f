"""What claims require of flows: times that are long enough, finite measures, starts of the sign they name."""

import numpy as np
import pytest
from tests.drawn import given, makers, read
from tests.made_up import claims_by_id

from repdyn.base.errors import NotEnoughDataError

STUDY = "truncation_flow"
SHAPES = read(STUDY)
CLAIMS = claims_by_id(STUDY)

FINITE = [
    ("tf-413", "proposition", "eta_2"),
    ("tf-413", "proposition", "eta_2_printed"),
    ("tf-prop42-s1", "proposition", "sharp_arrival_bound"),
    ("tf-prop42-freeze", "proposition", "late_generator"),
    ("tf-prop42-freeze", "proposition", "late_rotation"),
    ("tf-prop42-rate", "proposition", "residual_rate"),
    ("tf-prop42-rate", "proposition", "cost_rate"),
    ("tf-collapse", "neural_collapse", "within_late"),
    ("tf-collapse", "neural_collapse", "cost_rate"),
    ("tf-82-reduction", "reduced_network", "lost"),
    ("tf-82-reduction", "reduced_network", "lost_free"),
]


def data_of(id):
    """Made-up datasets of a claim, to be changed at will."""
    return {name: data.copy(deep=True) for name, data in given(STUDY, makers(STUDY, "claims")[id], SHAPES).items()}


def decided(id, data):
    return CLAIMS[id](*(data[name] for name in CLAIMS[id].data))


@pytest.mark.parametrize(("id", "name", "variable"), FINITE)
def test_a_missing_measure_leaves_its_claim_undecided(id, name, variable):
    data = data_of(id)
    array = data[name][variable]
    place = {"labels": "adverse"} if "labels" in array.dims else {dim: array[dim][-1] for dim in array.dims}
    array.loc[place] = np.nan
    with pytest.raises(NotEnoughDataError, match=rf"{name}.*{variable}"):
        decided(id, data)


STAIRS = ("tf-stair-times", "tf-stair-rate", "tf-stair-between", "tf-stair-down")
LAST = [*[(id, "staircase", 8.0) for id in STAIRS], ("tf-thm32-monotone", "printed_and_corrected", 5.0)]


@pytest.mark.parametrize(("id", "name", "last"), LAST)
def test_a_flow_that_ends_too_early_leaves_its_claim_undecided(id, name, last):
    data = data_of(id)
    times = np.linspace(0, last, data[name].sizes["time"])
    data[name] = data[name].assign_coords(time=("time", times, data[name]["time"].attrs))
    decided(id, data)
    data[name] = data[name].assign_coords(time=("time", 0.99 * times, data[name]["time"].attrs))
    with pytest.raises(NotEnoughDataError, match=rf"{name}.*{last:g}.*{0.99 * last:g}"):
        decided(id, data)


OF_DEFINITE = {
    "tf-831": ("gram_floor",),
    "tf-thm84-rate": ("rate_excess",),
    "tf-828": ("output_error", "gap"),
    "tf-835": ("weight_size",),
    "tf-837": ("bias_size",),
    "tf-838": ("speed_of_W", "speed_of_B"),
    "tf-thm84-limits": ("late_motion",),
}


@pytest.mark.parametrize("id", OF_DEFINITE)
@pytest.mark.parametrize("value", [-1e6, 1e6])
def test_starts_that_are_not_definite_decide_nothing(id, value):
    data = data_of(id)
    clusters = data["collapsed_clusters"]
    before = decided(id, data)
    for name in OF_DEFINITE[id]:
        clusters[name].loc[{"sign": "indefinite"}] = value
    assert decided(id, data) == before
