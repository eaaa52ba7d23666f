"""Whether a network has learned its task, and whether its training has come to rest; the criteria stand here.

A network has learned where its loss is at most a tenth of that of the best constant, the mean of the targets. Under
weight decay it is at rest where the force of the decay is balanced, and the rank in question no longer moves: the last
step is at most a tenth of the step that decay alone would keep up, and over the second half of the training the
effective rank at half depth changed by at most 0.2 in log2, a fifth of the half-width of the region that decides.
Without decay the gradient vanishes with the loss: a network with at most a hundredth of it left is at rest.
"""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from repdyn.across_papers.methods.networks import Network
from repdyn.base.arrays import Array
from repdyn.base.datasets import variable

LEARNED = 0.1
NOTHING_LEFT = 0.01
BALANCED = 0.1
MOVED = 0.2


def unlearned(losses: Array, Y: Tensor) -> Array:
    """Losses over that of the best constant, which is half the variance of the targets."""
    best = (Y - Y.mean(dim=0)).pow(2).sum(dim=-1).mean().item() / 2
    return losses / best


def parameters(network: Network) -> Tensor:
    """All parameters of each seed in a row, shape (seeds, parameters); a copy."""
    return torch.cat([part.detach().flatten(1) for part in network.parameters()], dim=1)


def objective(losses: Array, theta: Tensor, decay: float) -> Array:
    """What descent lowers: the loss plus (decay / 2) |theta|^2."""
    return losses + decay / 2 * theta.pow(2).sum(dim=1).numpy()


def imbalance(before: Tensor, now: Tensor, *, rate: float, decay: float, momentum: float) -> Array:
    """Length of the last step over rate decay |theta| / (1 - momentum), the steady step of slow decay alone.

    It is 1 where nothing opposes the decay and 0 at a critical point of the objective; NaN without decay.

    Args:
        before: parameters before the last step, shape (seeds, parameters).
        now: those after it, same shape.
        rate: learning rate.
        decay: strength of the weight decay.
        momentum: share of the last move in the next one.
    """
    if not decay:
        return np.full(len(now), np.nan)
    alone = rate * decay / (1 - momentum) * now.norm(dim=1)
    return ((now - before).norm(dim=1) / alone).numpy()


def at_rest(imbalances: Array, rank_half_way: Array, rank: Array) -> NDArray[np.bool_]:
    """Whether the decay is balanced and the rank stays."""
    return (imbalances <= BALANCED) & (np.abs(np.log2(rank / rank_half_way)) <= MOVED)


class RestRecorder:
    """Losses, objective and last step of all seeds' networks during a training under weight decay.

    Args:
        Y: targets, shape (points, outputs).
        decay: weight decay.
    """

    def __init__(self, Y: Tensor, decay: float) -> None:
        self.Y, self.decay = Y, decay
        self.left: list[Array] = []
        self.objectives: list[Array] = []
        self.before = self.now = torch.empty(0)

    def stop(self, network: Network) -> None:
        """To be called at every stop of the training, the last two of which are one step apart."""
        self.before, self.now = self.now, parameters(network)

    def look(self, losses: Array) -> None:
        """Records the losses at a stop, for the dataset."""
        self.left.append(unlearned(losses, self.Y))
        self.objectives.append(objective(losses, self.now, self.decay))

    def variables(self, rank_half_way: Array, rank: Array, *, rate: float, momentum: float) -> dict[str, xr.Variable]:
        """What was recorded and what follows: whether each seed has learned, and is at rest at the end.

        Args:
            rank_half_way: rank after half of the steps, shape (seeds,).
            rank: rank at the end, shape (seeds,).
            rate: learning rate.
            momentum: share of the last move in the next one.
        """
        moved = imbalance(self.before, self.now, rate=rate, decay=self.decay, momentum=momentum)
        resting, learned = at_rest(moved, rank_half_way, rank), self.left[-1] <= LEARNED
        unopposed = variable("seed", moved, "last step over the one that weight decay alone keeps up")
        unopposed.attrs["missing"] = "training without weight decay"
        dims, added = ("end", "seed"), "loss plus half the decay times the squared parameters"
        return {
            "unlearned": variable(dims, np.array(self.left), "loss over that of the best constant"),
            "objective": variable(dims, np.array(self.objectives), added),
            "imbalance": unopposed,
            "learned": variable("seed", learned.astype(int), "1 where the network has learned"),
            "at_rest": variable("seed", resting.astype(int), "1 where decay is balanced and the rank stays"),
        }
