"""Steps of training: Adam's and plain descent against torch's optimizers, CUDA graphs of steps."""

import numpy as np
import pytest
import torch
from tests import pretended_gpu
from torch import nn

from repdyn.base.training import adam_numbers, descent_step, replayable


def test_steps_equal_torch_adam():
    """Seven steps on one parameter, with the coefficients of the last four computed separately."""
    theta = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([theta], lr=0.1)
    ours = mean = square = 0.0
    numbers = np.concatenate([adam_numbers(0.1, 0, 3), adam_numbers(0.1, 3, 4)])
    for step, gradient in enumerate([1.0, -2.0, 0.5, 3.0, 0.0, -1.0, 1e-9]):
        theta.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        new, new_square, size, scale, epsilon = numbers[step]
        mean += new * (gradient - mean)
        square += new_square * (gradient**2 - square)
        ours -= size * mean / (np.sqrt(square) * scale + epsilon)
        assert abs(ours - theta.item()) < 1e-13


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_equal_those_of_the_optimizer_to_the_bit(dtype):
    torch.manual_seed(0)
    X, Y = torch.randn(9, 4, dtype=dtype), torch.randn(9, 2, dtype=dtype)
    networks = [nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Linear(7, 2)).to(dtype) for _ in range(2)]
    networks[1].load_state_dict(networks[0].state_dict())
    optimizer = torch.optim.SGD(networks[0].parameters(), lr=0.3)
    for _ in range(20):
        optimizer.zero_grad()
        ((networks[0](X) - Y) ** 2).mean().backward()
        optimizer.step()
        descent_step(list(networks[1].parameters()), ((networks[1](X) - Y) ** 2).mean(), 0.3)
    for first, other in zip(*(network.parameters() for network in networks), strict=True):
        assert torch.equal(first, other)


@pytest.fixture
def graphs(monkeypatch):
    pretended_gpu.graphs(monkeypatch)


def descent():
    """A point that descends along a slope at a rate which is a tensor, and its step."""
    x, rate, slope = torch.tensor([1.0, 2.0]), torch.tensor(0.0), torch.empty(2)

    def step():
        torch.mul(x, x, out=slope)
        x.sub_((slope + 1) * rate)

    return x, rate, step


@torch.inference_mode()
def test_replayed_step_equals_the_step(graphs):
    (x, rate, step), (y, same, other) = descent(), descent()
    rate.fill_(0.3)
    replay = replayable(step, [x])
    assert x.tolist() == [1.0, 2.0]  # warming up is undone
    for value in (0.1, 0.05, 0.2):
        rate.fill_(value)
        same.fill_(value)
        replay()
        other()
        assert x.tolist() == y.tolist()
    assert x.tolist() != [1.0, 2.0]


@torch.inference_mode()
def test_state_is_restored_after_capturing(graphs):
    moved = [torch.tensor([float(value)] * size) for value, size in ((3, 2), (1, 4), (2, 1))]
    before = [tensor.tolist() for tensor in moved]

    def step():
        for place, tensor in enumerate(moved):
            tensor.add_(place + 1)

    replay = replayable(step, iter(moved))
    assert [tensor.tolist() for tensor in moved] == before
    replay()
    assert [tensor.tolist() for tensor in moved] == [[4.0] * 2, [3.0] * 4, [5.0]]


@pytest.mark.parametrize(
    "wait", [lambda x: x.sum().item(), lambda x: x.nonzero(), lambda x: x.add_(torch.tensor([1.0]))]
)
def test_step_that_synchronizes_cannot_be_captured(graphs, wait):
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"):
        replayable(lambda: wait(x), [x])
