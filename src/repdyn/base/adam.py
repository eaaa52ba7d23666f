"""Adam's constants, as in the paper and in torch, for all hand-written training loops."""

import numpy as np

from repdyn.base.arrays import Array

BETAS = (0.9, 0.999)
EPSILON = 1e-8


def adam_numbers(rate: float, done: int, count: int) -> Array:
    """Coefficients of `count` steps after the first `done`, shape (count, 5).

    Weights of the new gradient and of its square, step size, scale of the root, epsilon: a step is
    theta -= step * mean / (sqrt(square) * scale + epsilon) (Kingma & Ba 2015).
    """
    first, second = (1 - beta ** np.arange(done + 1.0, done + count + 1) for beta in BETAS)
    constant = [np.full(count, 1 - beta) for beta in BETAS]
    return np.stack([*constant, rate / first, 1 / np.sqrt(second), np.full(count, EPSILON)], axis=1)
