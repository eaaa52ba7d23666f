"""Several networks of one teacher: does the dimension kept in the bottleneck depend on the start (Section 2.1, end)?

And penalties that are too large, from the same first fits: what over-regularized training leaves (Appendix B).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.maps import MAPS
from repdyn.leaky_resnets.methods.network_datasets import (
    network_variables,
    size_coords,
    task_variables,
    without_diverged,
)
from repdyn.leaky_resnets.methods.recipe import Batch, Networks, Recipe, Stage, lam, narrow_tasks
from repdyn.leaky_resnets.methods.teachers import Task
from repdyn.leaky_resnets.settings.training import Restarts

LEARNED = MAPS["decayed maps"]


def restarts(settings: Restarts, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Networks of every teacher from every start at the penalty."""
    shape = (settings.teachers, settings.starts)
    starts, tasks = _starts(settings, stream)
    recipe = Recipe(settings, stream, device, checkpoint, Progress("restarts", 2 * int(np.prod(shape))))
    networks = recipe.walk("restart", starts, settings.layers, _stages(settings, recipe, (1.0,)))
    arrays = [networks["excess1.0", start] for start in starts]
    variables = network_variables(("teacher", "start"), shape, arrays) | task_variables(("teacher",), tasks)
    coords = {"start": variable("start", np.arange(settings.starts), "initial weights")}
    strength = lam(settings.penalty, settings.dimension, settings.effective_depth)
    coords["lam"] = variable((), strength, "lam of the penalty")
    return _dataset(settings, variables, coords, "Networks of the same teachers from several starts")


def overregularized(settings: Restarts, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """The first start of every teacher at the penalty and at its multiples."""
    factors = (1.0, *settings.excess)
    shape = (settings.teachers, len(factors))
    starts, tasks = _starts(settings, stream)
    first = {start: task for start, task in starts.items() if start % settings.starts == 0}
    count = settings.teachers * (1 + len(factors))
    recipe = Recipe(settings, stream, device, checkpoint, Progress("overregularized", count))
    networks = recipe.walk("excess", first, settings.layers, _stages(settings, recipe, factors))
    arrays = [networks[f"excess{factor!r}", start] for start in first for factor in factors]
    variables = network_variables(("teacher", "excess"), shape, arrays) | task_variables(("teacher",), tasks)
    strength = lam(settings.penalty, settings.dimension, settings.effective_depth)
    coords = {
        "excess": variable("excess", np.array(factors), "factor on the penalty"),
        "lam": variable("excess", strength * np.array(factors), "lam of the penalty"),
    }
    return _dataset(settings, variables, coords, "Networks under penalties that are too large")


def _starts(settings: Restarts, stream: Stream) -> tuple[dict[int, Task], list[Task]]:
    """The task of every start, numbered teacher by teacher, and the tasks by teacher."""
    tasks = list(narrow_tasks(settings, stream.child("teachers"), range(settings.teachers)).values())
    return {at: tasks[at // settings.starts] for at in range(settings.teachers * settings.starts)}, tasks


def _stages(settings: Restarts, recipe: Recipe, factors: tuple[float, ...]) -> list[Stage]:
    """A first fit, then a run from it at each multiple of the penalty."""
    Lt = settings.effective_depth

    def run(factor: float) -> Stage:
        def train(batch: Batch, before: Mapping[str, Networks]) -> Networks:
            return recipe.settle(before["first fit"], batch.tasks, LEARNED, settings.steps, factor)

        return Stage(f"excess{factor!r}", Lt, train)

    fit = Stage("first fit", Lt, lambda batch, _: recipe.first_fit(batch, LEARNED, settings.layers, Lt))
    return [fit, *(run(factor) for factor in factors)]


def _dataset(
    settings: Restarts, variables: dict[str, xr.Variable], coords: dict[str, xr.Variable], title: str
) -> xr.Dataset:
    own = {
        "teacher": variable("teacher", np.arange(settings.teachers), "teacher and its data"),
        "effective_depth": variable((), settings.effective_depth, "effective depth Lt"),
        "rank": variable((), settings.rank, "inner dimension k* of the teachers"),
    }
    networks = dataset(variables, size_coords(variables) | own | coords, title=title)
    return without_diverged(networks, "restarts", settings)
