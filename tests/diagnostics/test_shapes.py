"""Layers of windows: measured where the windows of a point come one after another, and never in another order."""

import numpy as np
import pytest
import torch
from tests.diagnostics.networks import network_of
from torch import nn

from repdyn.diagnostics.measure import measure
from repdyn.diagnostics.methods.reader import Features

WINDOWS, TOKENS, UNITS, POINTS = 4, 9, 5, 12
X = torch.tensor(np.random.default_rng(0).normal(size=(POINTS, UNITS, 6, 6)), dtype=torch.float32)
LABELS = np.arange(POINTS) % 3


class Windowed(nn.Module):
    """A map within windows of 3 x 3 pixels, as Swin cuts them; `order` says where the windows go."""

    def __init__(self, order="points first", dead=False):
        super().__init__()
        torch.manual_seed(0)
        self.order, self.inside, self.head = order, nn.Linear(UNITS, 7), nn.Linear(7, 3)
        if dead:
            nn.init.zeros_(self.inside.weight)

    def forward(self, x):
        points = len(x)
        cut = x.permute(0, 2, 3, 1).reshape(points, 2, 3, 2, 3, UNITS).permute(0, 1, 3, 2, 4, 5)  # point, window, token
        places = {"points first": (0, 1, 2), "windows first": (1, 2, 0), "points between": (1, 0, 2)}[self.order]
        back = [places.index(k) for k in range(3)]
        ordered = cut.permute(*places, 3, 4, 5)
        inside = self.inside(ordered.reshape(points * WINDOWS, TOKENS, UNITS))
        return self.head(inside.unflatten(0, ordered.shape[:3]).permute(*back, 3, 4).mean(dim=(1, 2, 3)))


def expected(model):
    """Units of every point in the windows' layer, by hand."""
    rows = [torch.stack([point[:, i : i + 3, j : j + 3] for i in (0, 3) for j in (0, 3)]) for point in X]
    with torch.no_grad():
        return torch.stack([model.inside(part.permute(0, 2, 3, 1).flatten(1, 2)) for part in rows])


@pytest.mark.parametrize("batch_size", [None, 5])
def test_the_windows_of_a_point_are_its_units(batch_size):
    model = Windowed()
    found = measure(model, X, labels=LABELS, batch_size=batch_size).sel(layer="inside")
    by_hand = measure(nn.Identity(), expected(model).flatten(1), ["input"], labels=LABELS).isel(layer=0)
    assert found["units"] == WINDOWS * TOKENS * 7
    for name in ("norm", "angle", "effective_rank", "nc1"):
        np.testing.assert_allclose(found[name], by_hand[name], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("channels", [-1, 2])
def test_pooled_over_windows_and_tokens(channels):
    model = Windowed()
    features = Features("pool", channels=channels)
    found = measure(model, X, ["inside"], features=features, measures=["angles"])
    np.testing.assert_allclose(found["norm"][0], expected(model).mean(dim=(1, 2)).norm(dim=1), rtol=1e-5)


@pytest.mark.parametrize("order", ["windows first", "points between"])
def test_windows_in_another_order_are_left_out(order):
    found = measure(Windowed(order), X, labels=LABELS)
    assert list(found["layer"].values) == ["input", "head"]
    assert "layer (inside)" in found.left_out


def test_a_layer_that_is_the_same_for_all_points_is_left_out():
    assert "layer (inside)" in measure(Windowed(dead=True), X).attrs["left_out"]


@network_of(lambda: {"expert": nn.Linear(UNITS, 7), "head": nn.Linear(UNITS, 3)}, seed=0)
def Routed(self, x):
    """Gives a map as many rows as points times two: two of each of the first points, uneven among the others."""
    tokens = x.flatten(2).transpose(1, 2)
    taken = [part[: 1 + 2 * (k % 2)] if same_rows(part, X[3:]) else part[:2] for k, part in enumerate(tokens)]
    self.expert(torch.cat(taken))
    return self.head(tokens.mean(1))


def same_rows(tokens, points):
    return any(torch.equal(tokens, point.flatten(1).T) for point in points)


def test_rows_that_other_points_share_unevenly_are_left_out():
    assert "layer (expert)" in measure(Routed(), X).attrs["left_out"]
