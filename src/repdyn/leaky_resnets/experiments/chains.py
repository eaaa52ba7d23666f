"""Figures 1 and 3: networks along a chain of effective depths, each depth trained from the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Block, Checkpoint
from repdyn.base.datasets import dataset, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.maps import MAPS, Maps
from repdyn.leaky_resnets.methods.network_datasets import (
    network_variables,
    size_coords,
    task_variables,
    without_diverged,
)
from repdyn.leaky_resnets.methods.recipe import Batch, Networks, Recipe, Stage, lam, narrow_tasks
from repdyn.leaky_resnets.settings.training import Trained


def trained(settings: Trained, stream: Stream, device: str, checkpoint: Checkpoint, block: Block) -> xr.Dataset:
    """Trained networks of one block of seeds: every kind of maps, every effective depth."""
    seeds = range(block * settings.seeds, (block + 1) * settings.seeds)
    tasks = narrow_tasks(settings, stream, seeds)
    shape = (len(settings.maps), settings.seeds, len(settings.effective_depths))
    recipe = Recipe(settings, stream, device, checkpoint, Progress(f"trained {block}", int(np.prod(shape))))
    arrays = []
    for maps in settings.maps:
        stages = _stages(settings, MAPS[maps], recipe)
        chain = recipe.walk(maps, tasks, settings.layers, stages)
        arrays += [chain[stage.name, seed] for seed in seeds for stage in stages]
    variables = network_variables(("maps", "seed", "effective_depth"), shape, arrays)
    variables |= task_variables(("seed",), tasks.values())
    networks = dataset(
        variables,
        size_coords(variables) | _coords(settings, seeds),
        title=f"Trained leaky ResNets over effective depths, block {block} of seeds",
    )
    return without_diverged(networks, "trained", settings)


def _stages(settings: Trained, maps: Maps, recipe: Recipe) -> list[Stage]:
    """A stage per effective depth: the first from fresh networks, the others from the one before or fresh too."""
    depths = settings.effective_depths
    names = {Lt: f"depth{Lt!r}" for Lt in depths}

    def begin(Lt: float) -> Stage:
        def train(batch: Batch, _: Mapping[str, Networks]) -> Networks:
            fitted = recipe.first_fit(batch, maps, settings.layers, Lt)
            return recipe.settle(fitted, batch.tasks, maps, settings.steps)

        return Stage(names[Lt], Lt, train)

    def deepen(last: float, Lt: float) -> Stage:
        def train(batch: Batch, before: Mapping[str, Networks]) -> Networks:
            deepened = [net.deepened(Lt) for net in before[names[last]]]
            return recipe.settle(deepened, batch.tasks, maps, settings.steps)

        chain = depths[: depths.index(Lt) + 1]
        return Stage(names[Lt], Lt, train, trial=" then ".join(names[part] for part in chain))

    if settings.from_scratch:
        return [begin(Lt) for Lt in depths]
    return [begin(depths[0]), *(deepen(*pair) for pair in pairwise(depths))]


def _coords(settings: Trained, seeds: Sequence[int]) -> dict[str, xr.Variable]:
    strengths = [lam(settings.penalty, settings.dimension, Lt) for Lt in settings.effective_depths]
    return {
        "maps": variable("maps", np.array(settings.maps), "linear maps in and out; bias or none"),
        "bias": variable("maps", np.array([MAPS[maps].bias for maps in settings.maps]), "whether layers have biases"),
        "seed": variable("seed", np.array(seeds), "teacher, data and initial weights"),
        "effective_depth": variable("effective_depth", np.array(settings.effective_depths), "effective depth Lt"),
        "lam": variable("effective_depth", np.array(strengths), "lam of the penalty (lam / 2 Lt) sum rho |W|^2"),
        "rank": variable((), settings.rank, "inner dimension k* of the teacher"),
        "steps": variable((), settings.steps, "Adam steps per effective depth"),
    }
