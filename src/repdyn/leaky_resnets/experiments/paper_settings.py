"""The paper's own settings of Figures 1b and 1c: Lt = 7, L = 20, lam = 0.001 / Lt, Adam, then gradient descent.

Not stated and chosen here: Adam's rate falls along a cosine; the teacher's parts have `hidden` neurons; full batch.
"""

from __future__ import annotations

import numpy as np
import torch
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
)
from repdyn.leaky_resnets.methods.recipe import Recipe, lam, narrow_task
from repdyn.leaky_resnets.methods.teachers import Task
from repdyn.leaky_resnets.methods.training import cosine
from repdyn.leaky_resnets.settings.training import PaperSettings
from repdyn.leaky_resnets.theory.layers import layer_steps


def paper_settings(settings: PaperSettings, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """One network per kind of maps, kept several times during Adam and once after gradient descent."""
    torch.set_num_threads(1)
    task = narrow_task(settings, stream, 0)
    total = len(settings.maps) * (settings.records[-1] + settings.descent_steps)
    recipe = Recipe(settings, stream, device, checkpoint, Progress("paper settings", total))
    nets = [one for maps in settings.maps for one in _run(settings, maps, task, recipe)]
    stops = np.array([*settings.records, settings.records[-1] + settings.descent_steps])
    variables = network_variables(("maps", "steps"), (len(settings.maps), len(stops)), nets)
    variables |= task_variables((), [task])
    return dataset(
        variables,
        size_coords(variables)
        | {
            "maps": variable("maps", np.array(settings.maps), "linear maps in and out"),
            "steps": variable("steps", stops, "steps of training; the last ones are gradient descent"),
            "effective_depth": variable((), settings.effective_depth, "effective depth Lt"),
            "lam": variable((), lam(settings.penalty, settings.dimension, settings.effective_depth), "lam"),
            "rank": variable((), settings.rank, "inner dimension k* of the teacher"),
        },
        title="Networks trained with the paper's own settings",
    )


def _run(settings: PaperSettings, maps: str, task: Task, recipe: Recipe) -> list[Arrays]:
    """Networks at the records and after descent; the trainer's state is in the checkpoint after each record."""
    Lt, kind, begun = settings.effective_depth, MAPS[maps], recipe.done
    fresh = recipe.fresh(kind, [0], layer_steps("equidistant", settings.layers), Lt)
    run = recipe.trainer(fresh, [task], kind, settings.penalty)
    rates, arrays = cosine(settings.rate * (1 + Lt), settings.records[-1]), []
    for first, last in zip((0, *settings.records), settings.records, strict=False):
        name = f"{maps}-{last}"
        if state := recipe.checkpoint.get(name):
            run.restore(state)
        else:
            run.adam(rates[first:last])
            recipe.checkpoint.put(name, run.state())
        arrays.append(arrays_of(run.trained()[0]))
        recipe.progress.step(begun + last)
    descent = settings.descent_rate / settings.dimension  # the cost here is summed over outputs
    run.descend(np.full(settings.descent_steps, descent))
    recipe.done = begun + settings.records[-1] + settings.descent_steps
    recipe.progress.step(recipe.done)
    return [*arrays, arrays_of(run.trained()[0])]
