"""The figure of exact trajectories draws medians, ranges and pairs without bias, depth by depth."""

import numpy as np
import pytest
from tests.drawn import read, synthetic_dataset

from repdyn.leaky_resnets.figures.exact import geodesic_laboratory

FILE = "leaky_resnets/data/geodesics.nc"


@pytest.fixture(scope="module")
def drawn():
    data = synthetic_dataset(read("leaky_resnets")[FILE], FILE)
    return data, geodesic_laboratory(data).axes


def paths(data, depth, name):
    """Shape (seeds, positions) of networks without bias."""
    return data[name].sel(bias=0, effective_depth=depth).transpose("seed", "p").values


def test_medians_and_ranges_of_every_depth(drawn):
    data, (cost, speed, energy, _) = drawn
    assert [panel.get_yscale() for panel in (cost, speed, energy)] == ["log", "log", "linear"]
    for place, depth in enumerate(data["effective_depth"].values):
        for panel, name, unit in (
            (cost, "cost", 1),
            (speed, "plain_speed", depth),
            (energy, "scaled_hamiltonian", 1),
        ):
            line = panel.get_lines()[place]
            np.testing.assert_allclose(line.get_xdata(), data["p"])
            np.testing.assert_allclose(line.get_ydata(), np.median(paths(data, depth, name), axis=0) / unit)
            np.testing.assert_array_equal(line.get_color(), cost.get_lines()[place].get_color())
        assert cost.get_lines()[place].get_label() == rf"$\tilde L$ = {depth:g}"
        x, y = energy.collections[place].get_paths()[0].vertices.T
        sample = paths(data, depth, "scaled_hamiltonian")
        for edge in (np.min, np.max):
            drawn_edge = [edge(y[x == at]) for at in np.unique(x)]
            np.testing.assert_allclose(drawn_edge, edge(sample, axis=0))


def test_levels_at_the_rank(drawn):
    data, (cost, _, energy, _) = drawn
    for panel in (cost, energy):
        (level,) = (line for line in panel.get_lines() if line.get_linestyle() == ":")
        np.testing.assert_allclose(level.get_ydata(), int(data["rank"]))


def test_kinetic_energy_over_the_extra_cost(drawn):
    data, (*_, panel) = drawn
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    *dots, diagonal = panel.get_lines()
    for points, depth in zip(dots, data["effective_depth"].values, strict=True):
        cost, energy, speed = (paths(data, depth, name) for name in ("cost", "scaled_hamiltonian", "speed"))
        pairs = np.stack([cost - energy, (speed / depth) ** 2], axis=-1)[cost > energy]
        shown = points.get_xydata()
        np.testing.assert_allclose(shown[np.argsort(shown[:, 0])], pairs[np.argsort(pairs[:, 0])])
    np.testing.assert_allclose(*diagonal.get_data())
