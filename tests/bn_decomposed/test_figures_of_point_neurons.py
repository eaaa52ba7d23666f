"""The figure of one neuron per point draws every seed at its scheme's best rate, and medians."""

import numpy as np
from tests.drawn import read, synthetic_dataset

from repdyn.base.figures import BLACK, BLUE, ORANGE, PURPLE
from repdyn.bn_decomposed.figures.training import disc_point_neurons

FILE = "bn_decomposed/data/point_neurons.nc"


def test_every_scheme_at_its_best_rate():
    data = synthetic_dataset(read("bn_decomposed")[FILE], FILE)
    rates = data["rate"].values
    best = rates[np.arange(data.sizes["scheme"]) % rates.size]
    data["best_rate"] = data["best_rate"].copy(data=best)
    panels = disc_point_neurons(data).axes
    for panel, name, color in zip(panels, ("activity", "steps", "test_accuracy"), (ORANGE, BLUE, PURPLE), strict=True):
        median = [line for line in panel.get_lines() if line.get_color() == BLACK]
        dots = np.concatenate([line.get_xydata() for line in panel.get_lines() if line.get_color() == color])
        assert len(median) == 1
        for place, (scheme, rate) in enumerate(zip(data["scheme"].values, best, strict=True)):
            own = data[name].sel(scheme=scheme)
            seeds = np.sort(own.sel(rate=rate) if "rate" in own.dims else own)
            np.testing.assert_allclose(np.sort(dots[dots[:, 1] == place, 0]), seeds)
            np.testing.assert_allclose(median[0].get_xydata()[place], [np.median(seeds), place])
    words = [label.get_text() for label in panels[0].get_yticklabels()]
    assert words == [str(name).replace("he", "He") for name in data["scheme"].values]
    assert [panel.get_xscale() for panel in panels] == ["log", "linear", "linear"]
