"""How much memory the two-point experiments need."""

from __future__ import annotations

from collections.abc import Iterable

from repdyn.universality.methods.networks import Net
from repdyn.universality.methods.two_point_training import needs_autograd

START = 1000.0  # MB of a process with its imports
COPIES = {True: 10, False: 4}  # of the weights: autograd keeps gradients, Adam's moments and activities besides


def ensemble_memory(nets: Iterable[Net], seeds: int, *, optimizer: str = "sgd", gpu: bool = False) -> int:
    """MB of a job that trains an ensemble of each network in turn, in float64.

    All trials stand side by side on a GPU and under automatic differentiation; else one trial is trained after another.
    """
    needed = [START]
    for net in nets:
        weights = 8e-6 * (net.hidden - 1) * net.units**2
        autograd = needs_autograd(net, optimizer)
        needed.append(START + COPIES[autograd] * weights * (seeds if gpu or autograd else 1))
    return round(max(needed))
