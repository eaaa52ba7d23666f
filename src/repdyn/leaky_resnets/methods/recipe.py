"""The recipe that all trainings share: tasks, fresh networks, a first fit, Adam to a cosine's end, checkpoints.

The penalty is given per output, since the paper averages the cost over outputs: lam = penalty * dimension / Lt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.maps import Maps
from repdyn.leaky_resnets.methods.network_datasets import Arrays, arrays_of, restored
from repdyn.leaky_resnets.methods.networks import LeakyResNet, start
from repdyn.leaky_resnets.methods.teachers import Task, bottleneck_task
from repdyn.leaky_resnets.methods.training import Trainer, cosine
from repdyn.leaky_resnets.settings.training import Bottleneck, Discretized, Shape
from repdyn.leaky_resnets.settings.training import Recipe as RecipeSettings
from repdyn.leaky_resnets.theory.layers import layer_steps

SHARED = 1_000_000  # entries of the representations of all networks of a batch, which share the caches
FIRST = 1.5  # rate of the first fit over that of a run
Networks = list[LeakyResNet]


def lam(penalty: float, dimension: int, effective_depth: float) -> float:
    """The penalty's lam for the cost summed over outputs."""
    return penalty * dimension / effective_depth


class Batch(NamedTuple):
    """Seeds that are trained at once, and the task of each."""

    seeds: list[int]
    tasks: list[Task]


@dataclass(frozen=True)
class Stage:
    """A station of a walk.

    Attributes:
        name: names the stage among the others of its walk.
        effective_depth: of its networks.
        train: makes its networks from the batch and from the networks of the stages before it, by name.
        trial: names its networks in checkpoints, with all earlier stages that they come from; `name` where none.
    """

    name: str
    effective_depth: float
    train: Callable[[Batch, Mapping[str, Networks]], Networks]
    trial: str = ""


@dataclass
class Recipe:
    """What all trainings of an experiment share.

    Attributes:
        settings: sizes; for `first_fit` and `settle` penalties, rates and steps too.
        stream: random numbers; tasks and weights depend on the seed alone.
        device: torch device.
        checkpoint: where finished networks are kept.
        progress: reports trained networks.
        done: how many networks are trained.
    """

    settings: Shape
    stream: Stream
    device: str
    checkpoint: Checkpoint
    progress: Progress
    done: int = 0

    def __post_init__(self) -> None:
        """Gives torch one thread: sums that threads share round differently."""
        torch.set_num_threads(1)

    def walk(
        self, label: str, tasks: Mapping[int, Task], layers: int, stages: Sequence[Stage]
    ) -> dict[tuple[str, int], Arrays]:
        """Trains the stages in order, every seed on its task; what the checkpoint holds is not trained again.

        Args:
            label: begins the names in the checkpoint.
            tasks: task of each seed.
            layers: number of layers L.
            stages: what is trained, in order.

        Returns:
            Arrays of the networks by stage and seed.
        """
        trained: dict[tuple[str, int], Arrays] = {}
        for batch in self.batches(tasks, layers):
            before: dict[str, Networks] = {}
            for stage in stages:
                arrays = self._finished(f"{label}-{stage.trial or stage.name}", batch, stage, before)
                before[stage.name] = [restored(part, stage.effective_depth) for part in arrays]
                trained |= {(stage.name, seed): part for seed, part in zip(batch.seeds, arrays, strict=True)}
            self.done += len(batch.seeds) * len(stages)
            self.progress.step(self.done)
        return trained

    def _finished(self, label: str, batch: Batch, stage: Stage, before: Mapping[str, Networks]) -> list[Arrays]:
        """A stage's networks: those of the checkpoint, the others trained."""
        names = [f"{label}-seed{seed}" for seed in batch.seeds]
        arrays = [self.checkpoint.get(name) for name in names]
        missing = [place for place, part in enumerate(arrays) if part is None]
        if missing:
            seeds, tasks = [batch.seeds[place] for place in missing], [batch.tasks[place] for place in missing]
            starts = {name: [networks[place] for place in missing] for name, networks in before.items()}
            networks = stage.train(Batch(seeds, tasks), starts)
            new = {names[place]: arrays_of(net) for place, net in zip(missing, networks, strict=True)}
            for place, part in zip(missing, self.checkpoint.put_all(new).values(), strict=True):
                arrays[place] = part
        return [part for part in arrays if part is not None]

    def batches(self, tasks: Mapping[int, Task], layers: int) -> list[Batch]:
        """Seeds in batches: all on a GPU, else as many as the caches hold, at least one.

        The numbers are the same either way.
        """
        entries, seeds = self.settings.width * self.settings.points * layers, list(tasks)
        count = len(seeds) if self.device == "cuda" else max(1, SHARED // entries)
        parts = (seeds[first : first + count] for first in range(0, len(seeds), count))
        return [Batch(part, [tasks[seed] for seed in part]) for part in parts]

    def fresh(self, maps: Maps, seeds: Iterable[int], rho: Array, effective_depth: float) -> Networks:
        """Networks before training; their numbers depend on the seed alone.

        Args:
            maps: the linear maps in and out.
            seeds: a network each.
            rho: layer steps, sum 1, shape (L,).
            effective_depth: Lt.
        """
        width, sizes = self.settings.width, (self.settings.dimension, self.settings.dimension)
        generators = (self.stream.generator(seed, "weights") for seed in seeds)
        return [
            start(width, sizes, rho, effective_depth, generator, learned=maps.learned, bias=maps.bias)
            for generator in generators
        ]

    def trainer(self, networks: Sequence[LeakyResNet], tasks: Sequence[Task], maps: Maps, penalty: float) -> Trainer:
        """A trainer of the networks on their tasks.

        Args:
            networks: where training starts.
            tasks: task of each network.
            maps: the linear maps in and out.
            penalty: strength of the penalty per output.
        """
        X, Y = np.stack([task.X for task in tasks]), np.stack([task.Y for task in tasks])
        strength = lam(penalty, Y.shape[1], networks[0].effective_depth)
        return Trainer(networks, X, Y, penalty=strength, learned=maps.learned, map_decay=maps.decay, device=self.device)

    def first_fit(self, batch: Batch, maps: Maps, layers: int, effective_depth: float) -> Networks:
        """Fits fresh networks at the small first penalty; at the full one 0 is a minimum that would hold them.

        Args:
            batch: seeds and their tasks.
            maps: the linear maps in and out.
            layers: number of layers L.
            effective_depth: Lt.
        """
        settings = self._settings()
        networks = self.fresh(maps, batch.seeds, layer_steps("equidistant", layers), effective_depth)
        if not settings.first_steps:
            return networks
        run = self.trainer(networks, batch.tasks, maps, settings.first_penalty)
        run.adam(np.full(settings.first_steps, FIRST * settings.rate * (1 + effective_depth)))
        return run.trained()

    def settle(
        self, networks: Sequence[LeakyResNet], tasks: Sequence[Task], maps: Maps, steps: int, excess: float = 1.0
    ) -> Networks:
        """Brings networks near a critical point at the full penalty: Adam along half a cosine, then descent.

        Args:
            networks: where training starts.
            tasks: one per network.
            maps: kind of linear maps.
            steps: of Adam.
            excess: factor on the penalty.
        """
        settings = self._settings()
        run = self.trainer(networks, tasks, maps, settings.penalty * excess)
        run.adam(cosine(settings.rate * (1 + networks[0].effective_depth), steps))
        run.descend(descent_rates(settings))
        return run.trained()

    def _settings(self) -> RecipeSettings:
        if not isinstance(self.settings, RecipeSettings):
            raise TypeError(f"{type(self.settings).__name__} has no first fit; give settings with first_penalty")
        return self.settings


def descent_rates(settings: RecipeSettings | Discretized) -> Array:
    """Rates of the gradient descent after Adam; the cost is summed over outputs here."""
    return np.full(settings.descent_steps, settings.descent_rate / settings.dimension)


def narrow_tasks(settings: Bottleneck, stream: Stream, seeds: Iterable[int]) -> dict[int, Task]:
    """Points of each seed's teacher: two fully connected parts through `rank` dimensions."""
    sizes, kind = (settings.dimension, (settings.rank,), settings.points), "fully connected"
    return {
        seed: bottleneck_task(*sizes, stream.generator(seed, "task"), teacher=kind, hidden=settings.hidden)
        for seed in seeds
    }
