"""What lies between a trained network and a geodesic: the number of layers, the number of steps, free maps.

Refinement: one network trained at L layers, each layer then halved and all trained again, and so on. Convergence: from
one first fit, runs of Adam of several lengths, each to its cosine's end, with decayed and with free linear maps.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
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
from repdyn.leaky_resnets.settings.training import Criticality

COMPARED = ("decayed maps", "free maps")
FITTED = "first fit"


def refinement(settings: Criticality, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Networks of L, 2 L, 4 L, ... layers near one path, decayed maps."""
    layers, maps = [settings.layers * 2**doubling for doubling in range(settings.doublings + 1)], MAPS[COMPARED[0]]
    Lt = settings.effective_depth
    tasks = narrow_tasks(settings, stream, range(settings.seeds))
    shape = (settings.seeds, len(layers))
    recipe = Recipe(settings, stream, device, checkpoint, Progress("refinement", int(np.prod(shape))))

    def refined(L: int) -> Stage:
        def train(batch: Batch, before: Mapping[str, Networks]) -> Networks:
            coarser = before.get(f"layers{L // 2}")
            begun = [net.refined() for net in coarser] if coarser else recipe.first_fit(batch, maps, L, Lt)
            return recipe.settle(begun, batch.tasks, maps, settings.refinement_steps)

        return Stage(f"layers{L}", Lt, train)

    stages = [refined(L) for L in layers]
    networks = recipe.walk("refined", tasks, 2 * settings.layers, stages)
    arrays = [networks[stage.name, seed] for seed in tasks for stage in stages]
    return _dataset(
        settings,
        network_variables(("seed", "layers"), shape, arrays) | task_variables(("seed",), tasks.values()),
        {"layers": variable("layers", np.array(layers), "number of layers L")},
        title="Networks refined layer by layer along one path",
    )


def convergence(settings: Criticality, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Networks after runs of several lengths from one first fit, decayed and free maps, twice the coarsest layers."""
    tasks, layers = narrow_tasks(settings, stream, range(settings.seeds)), 2 * settings.layers
    shape = (len(COMPARED), settings.seeds, len(settings.steps))
    count = shape[0] * shape[1] * (shape[2] + 1)
    recipe, arrays = Recipe(settings, stream, device, checkpoint, Progress("convergence", count)), []
    for maps in COMPARED:
        networks = recipe.walk(maps, tasks, layers, _lengths(settings, MAPS[maps], layers, recipe))
        arrays += [networks[f"steps{steps}", seed] for seed in tasks for steps in settings.steps]
    return _dataset(
        settings,
        network_variables(("maps", "seed", "steps"), shape, arrays) | task_variables(("seed",), tasks.values()),
        {
            "maps": variable("maps", np.array(COMPARED), "linear maps in and out"),
            "steps": variable("steps", np.array(settings.steps), "Adam steps from the first fit"),
        },
        title="Networks after runs of several lengths",
    )


def _lengths(settings: Criticality, maps: Maps, layers: int, recipe: Recipe) -> list[Stage]:
    """The first fit, then a stage per number of steps, each from that fit."""
    Lt = settings.effective_depth

    def run(steps: int) -> Stage:
        def train(batch: Batch, before: Mapping[str, Networks]) -> Networks:
            return recipe.settle(before[FITTED], batch.tasks, maps, steps)

        return Stage(f"steps{steps}", Lt, train)

    fit = Stage(FITTED, Lt, lambda batch, _: recipe.first_fit(batch, maps, layers, Lt))
    return [fit, *(run(steps) for steps in settings.steps)]


def _dataset(
    settings: Criticality, variables: dict[str, xr.Variable], coords: dict[str, xr.Variable], *, title: str
) -> xr.Dataset:
    strength = lam(settings.penalty, settings.dimension, settings.effective_depth)
    own = {
        "seed": variable("seed", np.arange(settings.seeds), "teacher, data and initial weights"),
        "effective_depth": variable((), settings.effective_depth, "effective depth Lt"),
        "lam": variable((), strength, "lam of the penalty"),
    }
    networks = dataset(variables, size_coords(variables) | coords | own, title=title)
    return without_diverged(networks, "criticality", settings)
