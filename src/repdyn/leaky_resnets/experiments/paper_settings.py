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
from repdyn.leaky_resnets.methods.recipe import fresh, lam, narrow_task, trainer
from repdyn.leaky_resnets.methods.stored import Kept, kept, network_variables, size_coords, task_variables
from repdyn.leaky_resnets.methods.teachers import Task
from repdyn.leaky_resnets.methods.training import cosine
from repdyn.leaky_resnets.settings.training import PaperSettings
from repdyn.leaky_resnets.theory.layers import layer_steps


def paper_settings(settings: PaperSettings, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """One network per kind of maps, kept several times during Adam and once after gradient descent."""
    torch.set_num_threads(1)
    task = narrow_task(settings, stream, 0)
    nets = [one for maps in settings.maps for one in _run(settings, maps, task, stream, device, checkpoint)]
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


def _run(
    settings: PaperSettings, maps: str, task: Task, stream: Stream, device: str, checkpoint: Checkpoint
) -> list[Kept]:
    """Networks at the records and after descent; the trainer's state is in the checkpoint after each record."""
    Lt, kind = settings.effective_depth, MAPS[maps]
    run = trainer(
        fresh(settings, kind, [0], layer_steps("equidistant", settings.layers), Lt, stream),
        [task],
        kind,
        settings.penalty,
        device,
    )
    rates = cosine(settings.rate * (1 + Lt), settings.records[-1])
    progress, found = Progress(f"paper settings, {maps}", settings.records[-1] + settings.descent_steps), []
    for begin, end in zip((0, *settings.records), settings.records, strict=False):
        name = f"{maps}-{end}"
        if state := checkpoint.get(name):
            run.restore(state)
        else:
            run.adam(rates[begin:end])
            checkpoint.put(name, run.state())
        found.append(kept(run.trained()[0]))
        progress.step(end)
    descent = settings.descent_rate / settings.dimension  # the cost here is summed over outputs
    run.descend(np.full(settings.descent_steps, descent))
    progress.step(progress.total)
    return [*found, kept(run.trained()[0])]
