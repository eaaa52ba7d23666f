"""A step of descent against torch's optimizer, and what it saves."""

import pytest
import torch
from torch import nn

from repdyn.base.descent import descent_step


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
