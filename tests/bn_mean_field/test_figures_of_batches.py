"""The figure of finite batches and of eps: means and intervals over groups, guides of slope -1, -1/2 and -2."""

import numpy as np
import pytest
from scipy import stats
from tests.drawn import read, synthetic_dataset

from repdyn.base.figures import BLACK, BLUE, RED
from repdyn.bn_mean_field.figures.batch_statistics import batches_and_eps


def dataset(name):
    file = f"bn_mean_field/data/{name}.nc"
    return synthetic_dataset(read("bn_mean_field")[file], file)


@pytest.fixture(scope="module")
def drawn():
    finite, eps = dataset("finite_batch"), dataset("batch_norm_eps")
    return finite, eps, batches_and_eps(finite, eps)


def test_noise_and_bias_over_the_batch_size_with_their_slopes(drawn):
    finite, _, figure = drawn
    panel, B = figure.axes[0], finite["batch"].values
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    shown = {container.get_label(): container for container in panel.containers}
    guides = [line for line in panel.get_lines() if line.get_color() == BLACK]
    for (name, color, slope), guide in zip((("noise", RED, -0.5), ("bias", BLUE, -1)), guides, strict=True):
        draws = finite[name].transpose("batch", "group").values
        points, _, (bars,) = shown[name].lines
        np.testing.assert_allclose(points.get_xydata(), np.stack([B, draws.mean(axis=1)], axis=1))
        assert points.get_color() == color
        low, high = np.array([segment[:, 1] for segment in bars.get_segments()]).T
        n = draws.shape[1]
        wanted = stats.t.interval(0.95, n - 1, draws.mean(axis=1), stats.sem(draws, axis=1))
        np.testing.assert_allclose([low, high], wanted)
        x, y = guide.get_data()
        np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), slope)
        assert y[-1] == pytest.approx(draws[-1].mean()), "through the mean of the largest batches"
    assert [f"{tick:g}" for tick in panel.get_xticks()] == [f"{size}" for size in B]
    told = f"{finite.sizes['group']} groups of {int(finite['repeats'])} batches"
    assert told in figure.repdyn["caption"]


def test_radial_fractions_with_eps_fall_as_the_inverse_square_of_the_length(drawn):
    _, eps, figure = drawn
    panel = figure.axes[1]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    *networks, guide = panel.get_lines()
    np.testing.assert_allclose([line.get_ydata() for line in networks], eps["radial"].sel(with_eps=1))
    np.testing.assert_allclose(networks[0].get_xdata(), eps["radius"])
    x, y = guide.get_data()
    last = np.median(eps["radial"].sel(with_eps=1, radius=eps["radius"][-1]).values)
    np.testing.assert_allclose(y, last * (float(eps["radius"][-1]) / x) ** 2)
    assert (y < 1).all()
    assert f"$\\epsilon$ = {float(eps['eps']):g}, {eps.sizes['draw']} networks" in figure.repdyn["caption"]
