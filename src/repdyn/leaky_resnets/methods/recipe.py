"""Steps of a training that the experiments share: the task, a fresh fit, a run of Adam to a cosine's end.

The penalty is given per output, since the paper averages the cost over outputs: lam = penalty * dimension / Lt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.maps import Maps
from repdyn.leaky_resnets.methods.networks import LeakyResNet, start
from repdyn.leaky_resnets.methods.teachers import Task, bottleneck_task
from repdyn.leaky_resnets.methods.training import Trainer, cosine
from repdyn.leaky_resnets.settings.training import Bottleneck, Recipe, Shape
from repdyn.leaky_resnets.theory.checks import Array

SMALL = 500_000  # entries of all representations of a network below which several share the caches
FIRST = 1.5  # rate of the first fit over that of a run


def lam(penalty: float, dimension: int, effective_depth: float) -> float:
    """The penalty's lam for the cost summed over outputs."""
    return penalty * dimension / effective_depth


def groups(seeds: Sequence[int], settings: Shape, layers: int, device: str) -> list[list[int]]:
    """Seeds that are trained at once: all on a GPU or where a network is small, else each alone, which caches prefer.

    The numbers are the same either way.
    """
    together = device == "cuda" or settings.width * settings.points * layers < SMALL
    return [list(seeds)] if together else [[seed] for seed in seeds]


def narrow_task(settings: Bottleneck, stream: Stream, seed: int) -> Task:
    """Points of the seed's teacher: two fully connected parts through `rank` dimensions."""
    rng = stream.generator(seed, "task")
    size, inner = settings.dimension, (settings.rank,)
    return bottleneck_task(size, inner, settings.points, rng, teacher="fully connected", hidden=settings.hidden)


def fresh(
    settings: Shape, maps: Maps, seeds: Iterable[int], rho: Array, Lt: float, stream: Stream
) -> list[LeakyResNet]:
    """Networks before training; their numbers depend on the seed alone."""
    sizes = (settings.dimension, settings.dimension)
    return [
        start(settings.width, sizes, rho, Lt, stream.generator(s, "weights"), learned=maps.learned, bias=maps.bias)
        for s in seeds
    ]


def trainer(nets: Sequence[LeakyResNet], tasks: Sequence[Task], maps: Maps, penalty: float, device: str) -> Trainer:
    """A trainer of the networks on their tasks; `penalty` per output."""
    X, Y = np.stack([task.X for task in tasks]), np.stack([task.Y for task in tasks])
    strength = lam(penalty, Y.shape[1], nets[0].effective_depth)
    return Trainer(nets, X, Y, penalty=strength, learned=maps.learned, map_decay=maps.decay, device=device)


def first_fit(
    settings: Recipe, nets: Sequence[LeakyResNet], tasks: Sequence[Task], maps: Maps, device: str
) -> list[LeakyResNet]:
    """Fits fresh networks at the small first penalty; at the full one 0 is a minimum that would hold them."""
    run = trainer(nets, tasks, maps, settings.first_penalty, device)
    run.adam(np.full(settings.first_steps, FIRST * settings.rate * (1 + nets[0].effective_depth)))
    return run.trained()


def settle(
    settings: Recipe, nets: Sequence[LeakyResNet], tasks: Sequence[Task], maps: Maps, steps: int, device: str
) -> list[LeakyResNet]:
    """Brings networks near a critical point at the full penalty: Adam along half a cosine."""
    run = trainer(nets, tasks, maps, settings.penalty, device)
    run.adam(cosine(settings.rate * (1 + nets[0].effective_depth), steps))
    return run.trained()
