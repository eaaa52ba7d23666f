"""What lies between a trained network and a geodesic: the number of layers, the number of steps, free maps.

Refinement: one network trained at L layers, each layer then halved and all trained again, and so on. Convergence: from
one first fit, runs of Adam of several lengths, each to its cosine's end, with decayed and with free linear maps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.maps import MAPS
from repdyn.leaky_resnets.methods.recipe import first_fit, fresh, groups, lam, narrow_task, settle
from repdyn.leaky_resnets.methods.stored import Kept, kept, network_variables, restored, size_coords, task_variables
from repdyn.leaky_resnets.methods.teachers import Task
from repdyn.leaky_resnets.settings.training import Criticality
from repdyn.leaky_resnets.theory.layers import layer_steps

COMPARED = ("decayed maps", "free maps")


def refinement(settings: Criticality, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Networks of L, 2 L, 4 L, ... layers near one path, decayed maps."""
    torch.set_num_threads(1)
    layers = [settings.layers * 2**doubling for doubling in range(settings.doublings + 1)]
    tasks = {seed: narrow_task(settings, stream, seed) for seed in range(settings.seeds)}
    found: dict[int, list[Kept]] = {seed: [] for seed in tasks}
    for group in groups(range(settings.seeds), settings, 2 * settings.layers, device):
        here = [tasks[seed] for seed in group]
        before = None
        for L in layers:
            names = [f"seed{seed}-layers{L}" for seed in group]
            done = [checkpoint.get(name) for name in names]
            if not all(done):
                begun = [net.refined() for net in before] if before else _fitted(settings, group, here, stream, device)
                nets = settle(settings, begun, here, MAPS[COMPARED[0]], settings.refinement_steps, device)
                done = [checkpoint.put(name, kept(net)) for name, net in zip(names, nets, strict=True)]
            before = [restored(one, settings.effective_depth) for one in done]
            for seed, one in zip(group, done, strict=True):
                found[seed].append(one)
    nets = [one for seed in found for one in found[seed]]
    dims = ("seed", "layers")
    return _dataset(
        settings,
        network_variables(dims, (settings.seeds, len(layers)), nets) | task_variables(("seed",), list(tasks.values())),
        {"layers": variable("layers", np.array(layers), "number of layers L")},
        title="Networks refined layer by layer along one path",
    )


def _fitted(
    settings: Criticality,
    group: Sequence[int],
    tasks: Sequence[Task],
    stream: Stream,
    device: str,
    maps: str = COMPARED[0],
    layers: int = 0,
) -> list:
    rho = layer_steps("equidistant", layers or settings.layers)
    nets = fresh(settings, MAPS[maps], group, rho, settings.effective_depth, stream)
    return first_fit(settings, nets, tasks, MAPS[maps], device)


def convergence(settings: Criticality, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Networks after runs of several lengths from one first fit, decayed and free maps, twice the coarsest layers."""
    torch.set_num_threads(1)
    tasks = {seed: narrow_task(settings, stream, seed) for seed in range(settings.seeds)}
    progress = Progress("convergence", len(COMPARED) * settings.seeds)
    found: dict[tuple[str, int], list[Kept]] = {}
    for maps in COMPARED:
        for group in groups(range(settings.seeds), settings, 2 * settings.layers, device):
            runs = _runs(settings, maps, group, [tasks[seed] for seed in group], stream, device, checkpoint)
            found |= {(maps, seed): run for seed, run in zip(group, runs, strict=True)}
            progress.step(len(found))
    nets = [one for run in found.values() for one in run]
    dims = ("maps", "seed", "steps")
    shape = (len(COMPARED), settings.seeds, len(settings.steps))
    return _dataset(
        settings,
        network_variables(dims, shape, nets) | task_variables(("seed",), list(tasks.values())),
        {
            "maps": variable("maps", np.array(COMPARED), "linear maps in and out"),
            "steps": variable("steps", np.array(settings.steps), "Adam steps from the first fit"),
        },
        title="Networks after runs of several lengths",
    )


def _runs(
    settings: Criticality,
    maps: str,
    group: Sequence[int],
    tasks: Sequence[Task],
    stream: Stream,
    device: str,
    checkpoint: Checkpoint,
) -> list[list[Kept]]:
    runs: list[list[Kept]] = [[] for _ in group]
    begun = None
    for steps in settings.steps:
        names = [f"{maps}-seed{seed}-steps{steps}" for seed in group]
        done = [checkpoint.get(name) for name in names]
        if not all(done):
            begun = begun or _fitted(settings, group, tasks, stream, device, maps, 2 * settings.layers)
            nets = settle(settings, begun, tasks, MAPS[maps], steps, device)
            done = [checkpoint.put(name, kept(net)) for name, net in zip(names, nets, strict=True)]
        for run, one in zip(runs, done, strict=True):
            run.append(one)
    return runs


def _dataset(
    settings: Criticality,
    variables: dict[str, xr.Variable],
    coords: dict[str, xr.Variable],
    *,
    title: str,
) -> xr.Dataset:
    strength = lam(settings.penalty, settings.dimension, settings.effective_depth)
    return dataset(
        variables,
        size_coords(variables)
        | coords
        | {
            "seed": variable("seed", np.arange(settings.seeds), "teacher, data and initial weights"),
            "effective_depth": variable((), settings.effective_depth, "effective depth Lt"),
            "lam": variable((), strength, "lam of the penalty"),
        },
        title=title,
    )
