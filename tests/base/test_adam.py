"""Adam's constants and numbers."""

import numpy as np
import torch

from repdyn.base.adam import adam_numbers


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
