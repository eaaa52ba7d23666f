"""The paper's own settings of Figures 1b and 1c: Lt = 7, L = 20, lam = 0.001 / Lt, Adam, then gradient descent.

Not stated and chosen here: Adam's rate falls along a cosine; the teacher's parts have `hidden` neurons; full batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.maps import MAPS
from repdyn.leaky_resnets.methods.network_datasets import (
    Arrays,
    arrays_of,
    network_variables,
    size_coords,
    task_variables,
    without_diverged,
)
from repdyn.leaky_resnets.methods.recipe import Recipe, lam, narrow_tasks
from repdyn.leaky_resnets.methods.teachers import Task
from repdyn.leaky_resnets.methods.training import Trainer, cosine
from repdyn.leaky_resnets.settings.training import PaperSettings
from repdyn.leaky_resnets.theory.layers import layer_steps


def paper_settings(settings: PaperSettings, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Networks per kind of maps and seed, kept several times during Adam and after gradient descent at each rate."""
    tasks = narrow_tasks(settings, stream, range(settings.seeds))
    stops, rates = np.array(settings.records), np.array(settings.descent_rates)
    shape = (len(settings.maps), settings.seeds, len(stops) + len(rates))
    recipe = Recipe(settings, stream, device, checkpoint, Progress("paper settings", int(np.prod(shape))))
    runs = [_run(settings, maps, seed, task, recipe) for maps in settings.maps for seed, task in tasks.items()]
    variables = network_variables(("maps", "seed", "stop"), shape, [arrays for run in runs for arrays in run])
    variables |= task_variables(("seed",), tasks.values())
    steps = np.concatenate([stops, np.full(len(rates), stops[-1] + settings.descent_steps)])
    strength = lam(settings.penalty, settings.dimension, settings.effective_depth)
    coords = {
        "maps": variable("maps", np.array(settings.maps), "linear maps in and out"),
        "seed": variable("seed", np.arange(settings.seeds), "teacher, data and initial weights"),
        "stop": variable("stop", np.arange(len(steps)), "where a network is kept: along Adam, then after descents"),
        "steps": variable("stop", steps, "steps of training until there"),
        "descent_rate": variable("stop", np.concatenate([0 * stops, rates]), "rate of gradient descent; 0: Adam only"),
        "effective_depth": variable((), settings.effective_depth, "effective depth Lt"),
        "lam": variable((), strength, "lam"),
        "rank": variable((), settings.rank, "inner dimension k* of the teacher"),
        "width": variable((), settings.width, "neurons w"),
        "dimension": variable((), settings.dimension, "inputs and outputs d"),
        "points": variable((), settings.points, "training points N"),
    }
    networks = dataset(
        variables, size_coords(variables) | coords, title="Networks trained with the paper's own settings"
    )
    return without_diverged(networks, "paper_settings", settings)


def _run(settings: PaperSettings, maps: str, seed: int, task: Task, recipe: Recipe) -> list[Arrays]:
    """Networks at the records and after the descents; the trainer's state is in the checkpoint after each."""
    Lt, kind = settings.effective_depth, MAPS[maps]
    fresh = recipe.fresh(kind, [seed], layer_steps("equidistant", settings.layers), Lt)
    run = recipe.trainer(fresh, [task], kind, settings.penalty)
    rates, arrays = cosine(settings.rate * (1 + Lt), settings.records[-1]), []
    for first, last in pairwise((0, *settings.records)):
        arrays.append(_stop(recipe, f"{maps}-seed{seed}-{last}", run, partial(run.adam, rates[first:last])))
    end = run.state()
    for rate in settings.descent_rates:
        run.restore(end)
        steps = np.full(settings.descent_steps, rate / settings.dimension)  # the cost here is summed over outputs
        arrays.append(_stop(recipe, f"{maps}-seed{seed}-descent{rate!r}", run, partial(run.descend, steps)))
    return arrays


def _stop(recipe: Recipe, name: str, run: Trainer, train: Callable[[], None]) -> Arrays:
    """The network after one more part of training, from the checkpoint where it holds it."""
    if state := recipe.checkpoint.get(name):
        run.restore(state)
    else:
        train()
        recipe.checkpoint.put(name, run.state())
    recipe.done += 1
    recipe.progress.step(recipe.done)
    return arrays_of(run.trained()[0])
