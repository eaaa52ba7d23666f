"""Flows from neighboring starts recomputed by autograd, and pairs of point masses by hand."""

import numpy as np
import pytest
import torch
from tests.bn_mean_field import plain

from repdyn.base.streams import Stream
from repdyn.bn_mean_field import settings as sizes
from repdyn.bn_mean_field.experiments.well_posedness import well_posedness

STREAM = Stream(7, ("bn_mean_field", "recomputed"))
close = np.testing.assert_allclose


def test_neighboring_starts_and_pairs_of_point_masses():
    settings = sizes.WellPosedness(gaps=[1e-3, 1e-2], time=0.5, radii=[0.5, 2.0], draws=4)
    data = well_posedness(settings, STREAM)
    for place, r in enumerate((0.5, 2.0)):
        generator = STREAM.generator(place)
        a, turn = generator.uniform(-r, r, (2, 4)), generator.uniform(0, 2 * np.pi, (2, 4))
        turn[1, 0] = turn[0, 0]
        b = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        b = b / np.sqrt((b @ plain.COV * b).sum(axis=-1))[..., None]
        x = plain.circle(48) * np.sqrt([10, 2])
        outputs = a[..., None] * np.maximum(b @ x.T, 0)
        close(data.change[place], np.abs(outputs[0] - outputs[1]).mean(axis=1))
        apart = np.abs(turn[0] - turn[1])
        distance = np.hypot(a[0] - a[1], np.minimum(apart, 2 * np.pi - apart))
        close(data.distance[place], np.minimum(2, distance), atol=1e-7)
        assert float(data.constant_printed[place]) == pytest.approx(r * np.sqrt(10))
        assert float(data.constant[place]) >= r * np.sqrt(10)


def erf_velocity(a, b):
    """Batch norm without a mean over four corners: inputs of covariance 1, labels 0, 0, 1, 0; by autograd."""
    x = np.sqrt(2) * torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]], dtype=torch.float64)
    y = torch.tensor([0.0, 0, 1, 0], dtype=torch.float64)
    a, b = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
    z = x @ (b / torch.linalg.norm(b, dim=1, keepdim=True)).T
    loss = 0.5 * ((torch.erf(z) @ a / len(a) - y) ** 2).mean()
    return [-len(a) * part.numpy() for part in torch.autograd.grad(loss, (a, b))]


@pytest.mark.parametrize(("gap", "place"), [(1e-3, 0), (1e-2, 1)])
def test_neighbors_of_erf_neurons(gap, place):
    settings = sizes.WellPosedness(gaps=[1e-3, 1e-2], time=0.5, radii=[0.5, 2.0], draws=2)
    data = well_posedness(settings, STREAM).sel(activation="erf")

    def end(a, turn):
        b = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        for _ in range(50):
            da, db = erf_velocity(a, b)
            half = erf_velocity(a + 0.005 * da, b + 0.005 * db)
            a, b = a + 0.01 * half[0], b + 0.01 * half[1]
        return a, np.arctan2(b[:, 1], b[:, 0])

    alone = [end(np.ones(1), np.array([turn]))[1][0] for turn in (0.0, gap)]
    assert float(data.gap_at_end[place]) == pytest.approx(abs(alone[1] - alone[0]), rel=1e-3)
    generator = STREAM.generator("cloud")
    a, turn = np.append(1.0, generator.uniform(-0.5, 0.5, 7)), np.append(0.0, generator.uniform(0, 2 * np.pi, 7))
    (a0, turn0), (a1, turn1) = end(a, turn), end(a + gap, turn + gap)
    across = np.angle(np.exp(1j * (turn1 - turn0)))
    assert float(data.cloud_distance[place]) == pytest.approx(np.hypot(a1 - a0, across).mean(), rel=1e-3)
