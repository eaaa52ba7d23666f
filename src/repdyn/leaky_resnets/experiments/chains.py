"""Figures 1 and 3: networks along a chain of effective depths, each depth trained from the one before."""

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
from repdyn.leaky_resnets.settings.training import Trained
from repdyn.leaky_resnets.theory.layers import layer_steps

DIMS = ("maps", "seed", "effective_depth")


def trained(settings: Trained, stream: Stream, device: str, checkpoint: Checkpoint, block: int) -> xr.Dataset:
    """Trained networks of one block of seeds: every kind of maps, every effective depth."""
    torch.set_num_threads(1)
    seeds = range(block * settings.seeds, (block + 1) * settings.seeds)
    tasks = {seed: narrow_task(settings, stream, seed) for seed in seeds}
    progress = Progress(f"trained {block}", len(settings.maps) * settings.seeds)
    found: dict[tuple[str, int], list[Kept]] = {}
    for maps in settings.maps:
        for group in groups(seeds, settings, settings.layers, device):
            chains = _chains(settings, maps, group, [tasks[seed] for seed in group], stream, device, checkpoint)
            found |= {(maps, seed): chain for seed, chain in zip(group, chains, strict=True)}
            progress.step(len(found))
    shape = (len(settings.maps), settings.seeds, len(settings.effective_depths))
    nets = [one for maps in settings.maps for seed in seeds for one in found[maps, seed]]
    variables = network_variables(DIMS, shape, nets) | task_variables(("seed",), [tasks[seed] for seed in seeds])
    return dataset(
        variables,
        size_coords(variables) | _coords(settings, seeds),
        title=f"Trained leaky ResNets over effective depths, block {block} of seeds",
    )


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


def _chains(
    settings: Trained,
    maps: str,
    group: Sequence[int],
    tasks: Sequence[Task],
    stream: Stream,
    device: str,
    checkpoint: Checkpoint,
) -> list[list[Kept]]:
    """One chain per seed of the group; every effective depth is kept in the checkpoint as soon as it is trained."""
    chains: list[list[Kept]] = [[] for _ in group]
    before: list | None = None
    for Lt in settings.effective_depths:
        names = [f"{maps}-seed{seed}-depth{Lt:g}" for seed in group]
        done = [checkpoint.get(name) for name in names]
        if not all(done):
            kind = MAPS[maps]
            if before is None:
                rho = layer_steps("equidistant", settings.layers)
                begun = first_fit(settings, fresh(settings, kind, group, rho, Lt, stream), tasks, kind, device)
            else:
                begun = [net.deepened(Lt) for net in before]
            nets = settle(settings, begun, tasks, kind, settings.steps, device)
            done = [checkpoint.put(name, kept(net)) for name, net in zip(names, nets, strict=True)]
        before = [restored(one, Lt) for one in done]
        for chain, one in zip(chains, done, strict=True):
            chain.append(one)
    return chains
