"""Figures of the experiments on data sets draw what their datasets hold, under the names that they write."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.drawn import read, synthetic_dataset

from repdyn.base.figures import BLUE, ORANGE
from repdyn.universality.figures.printed import other_settings
from repdyn.universality.figures.xor import PANELS, fig6_xor, fig16_xor_adam


def made_up(name):
    """A dataset of the recorded shape with numbers of its own, all of whose networks have learned."""
    file = f"universality/data/{name}.nc"
    data = synthetic_dataset(read("universality")[file], file)
    return data.assign(learned=data["learned"] * 0 + 1) if "learned" in data else data


@pytest.mark.parametrize(("figure", "prefix"), [(fig6_xor, ""), (fig16_xor_adam, "adam_")])
def test_xor_matrices_share_a_scale_by_column_and_are_sorted_by_target(figure, prefix):
    data = made_up("xor_structure")
    axes = figure(data).axes
    order = [0, 3, 1, 2]  # (0, 0), (1, 1): target 0; (1, 0), (0, 1): target 1
    for column, run in enumerate(PANELS, start=1):
        means = [data[name].sel(run=f"{prefix}{run}").mean("trial").values for name in ("theory", "distance")]
        for panel, mean in zip((axes[column], axes[5 + column]), means, strict=True):
            drawn = panel.collections[0]
            np.testing.assert_allclose(drawn.get_array().reshape(4, 4), mean[np.ix_(order, order)])
            assert drawn.get_clim() == (0, max(map(np.max, means)))
            assert [label.get_text() for label in panel.get_xticklabels()] == ["00", "11", "10", "01"]
            colors = [to_hex(label.get_color()) for label in panel.get_yticklabels()]
            assert colors == [color.lower() for color in (BLUE, BLUE, ORANGE, ORANGE)]
            assert panel.get_ylim() == (4, 0), "the first row is above"
    assert (axes[1].get_ylabel(), axes[6].get_ylabel()) == ("theory (10)", "network")


def test_what_the_paper_says_of_each_xor_network_is_written_below_it():
    written = [panel.get_xlabel() for panel in fig6_xor(made_up("xor_structure")).axes[6:10]]
    assert written == [f"paper: {words}" for words in ("2 pairs merge", "as in (10)", "none merges", "1 pair merges")]


def test_settings_that_differ_from_table_2_are_told_with_what_it_prints():
    data = made_up("xor_structure")
    places = {"gain": 0.85, "rate": 0.015, "epochs": 3000, "units": 500, "nonlinearity": "leaky relu"}
    data = data.assign_coords({name: ("run", [value] * data.sizes["run"]) for name, value in places.items()})
    words = other_settings("xor", data, {"low": "small"})
    assert words == "Used here for what Table 2 prints: gain 0.85 for 0.7, epochs 3000 for 1000 (small)."
    same = data.assign_coords(gain=("run", [0.7] * data.sizes["run"]), epochs=("run", [1000] * data.sizes["run"]))
    assert other_settings("xor", same, {"low": "small"}) == "Used here for what Table 2 prints: the same."
