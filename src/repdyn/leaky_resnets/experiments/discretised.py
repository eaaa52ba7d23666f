"""Figure 2: equidistant, irregular and adaptive layer steps over numbers of layers, paired in data and weights.

Besides, adaptive networks under a stronger penalty and for a teacher of fully connected parts, whose first part is less
linear: does a stage as wide as the teacher's first inner dimension show in the weights?
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import torch
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.maps import MAPS
from repdyn.leaky_resnets.methods.networks import start
from repdyn.leaky_resnets.methods.recipe import groups, lam, trainer
from repdyn.leaky_resnets.methods.stored import Kept, kept, network_variables, restored, size_coords, task_variables
from repdyn.leaky_resnets.methods.teachers import Task, bottleneck_task
from repdyn.leaky_resnets.methods.training import Trainer, cosine
from repdyn.leaky_resnets.settings.training import Discretised
from repdyn.leaky_resnets.theory.checks import Array
from repdyn.leaky_resnets.theory.layers import adapt_layer_steps, layer_steps, relative_speeds

SCHEMES = ("equidistant", "irregular", "adaptive")
STAGED = {  # teacher and whether the penalty is the strong one
    "random ResNets": ("residual", False),
    "random ResNets, strong penalty": ("residual", True),
    "fully connected": ("fully connected", False),
    "fully connected, strong penalty": ("fully connected", True),
}
LARGEST = 0.999  # cap on rho Lt of adaptive steps, below the 1 at which the leak changes A's sign


def discretised(settings: Discretised, stream: Stream, device: str, checkpoint: Checkpoint, block: int) -> xr.Dataset:
    """Networks of all schemes over numbers of layers for one block of seeds; those of the largest number are kept."""
    torch.set_num_threads(1)
    seeds = range(block * settings.seeds, (block + 1) * settings.seeds)
    tasks = {seed: _task(settings, "residual", stream, seed) for seed in seeds}
    cells = list(product(settings.maps, SCHEMES, settings.layers))
    progress, found = Progress(f"discretised {block}", len(cells)), {}
    for maps, scheme, L in cells:
        for group in groups(seeds, settings, L, device):
            names = [f"{maps}-{scheme}-layers{L}-seed{seed}" for seed in group]
            done = [checkpoint.get(name) for name in names]
            if not all(done):
                here = [tasks[seed] for seed in group]
                nets = _train(settings, here, scheme, L, maps, settings.penalty, stream, group, device)
                done = [checkpoint.put(name, kept(net)) for name, net in zip(names, nets, strict=True)]
            found |= {(maps, scheme, L, seed): one for seed, one in zip(group, done, strict=True)}
        progress.step(len(found) // settings.seeds)
    dims, shape = ("maps", "scheme", "layers", "seed"), (len(settings.maps), 3, len(settings.layers), settings.seeds)
    scores = [_scores(found[(*cell, seed)], tasks[seed], settings.effective_depth) for cell in cells for seed in seeds]
    variables = {
        name: variable(dims, np.reshape([one[name] for one in scores], shape), words) for name, words in SCORES.items()
    }
    last = settings.layers[-1]
    nets = [found[maps, scheme, last, seed] for maps, scheme in product(settings.maps, SCHEMES) for seed in seeds]
    variables |= network_variables(("maps", "scheme", "seed"), (*shape[:2], settings.seeds), nets)
    variables |= task_variables(("seed",), list(tasks.values()))
    coords = {
        "maps": variable("maps", np.array(settings.maps), "linear maps in and out"),
        "scheme": variable("scheme", np.array(SCHEMES), "how layer steps are chosen"),
        "layers": variable("layers", np.array(settings.layers), "number of layers L; networks are of the last"),
        "seed": variable("seed", np.array(seeds), "teacher, data and initial weights"),
    }
    return _dataset(settings, variables, coords, title=f"Schemes of layer steps, block {block} of seeds")


SCORES = {
    "test_error": "test error over the variance of the targets",
    "train_error": "training error over the variance of the targets",
    "unevenness": "largest over least |A_l - A_{l-1}| / |A_l|",
    "longest_step": "largest rho_l Lt",
}


def staged(settings: Discretised, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Adaptive networks of the largest number of layers for two teachers and two penalties, all seeds."""
    torch.set_num_threads(1)
    seeds, L, maps = range(settings.blocks * settings.seeds), settings.layers[-1], settings.maps[0]
    progress, nets, tasks, strengths = Progress("staged", len(STAGED)), [], [], []
    for count, (name, (teacher, strong)) in enumerate(STAGED.items()):
        here = [_task(settings, teacher, stream, seed) for seed in seeds]
        penalty = settings.strong_penalty if strong else settings.penalty
        strengths.append(lam(penalty, settings.dimension, settings.effective_depth))
        for group in groups(seeds, settings, L, device):
            names = [f"{name}-seed{seed}" for seed in group]
            done = [checkpoint.get(one) for one in names]
            if not all(done):
                some = [here[seed] for seed in group]
                trained = _train(settings, some, "adaptive", L, maps, penalty, stream, group, device)
                done = [checkpoint.put(one, kept(net)) for one, net in zip(names, trained, strict=True)]
            nets += done
        tasks += here
        progress.step(count + 1)
    shape = (len(STAGED), len(seeds))
    variables = network_variables(("teacher", "seed"), shape, nets)
    for name, values in task_variables(("cell",), tasks).items():
        flat = values.values
        dims = ("teacher", "seed", *values.dims[1:])
        variables[name] = variable(dims, flat.reshape(*shape, *flat.shape[1:]), values.attrs["long_name"])
    coords = {
        "teacher": variable("teacher", np.array(list(STAGED)), "parts of the teacher, penalty"),
        "lam": variable("teacher", np.array(strengths), "lam of the penalty"),
        "seed": variable("seed", np.array(seeds), "teacher, data and initial weights"),
    }
    return _dataset(settings, variables, coords, title="Adaptive networks for two teachers and two penalties")


def _task(settings: Discretised, teacher: str, stream: Stream, seed: int) -> Task:
    rng = stream.generator(seed, "task")
    return bottleneck_task(settings.dimension, settings.inner, settings.points, rng, teacher=teacher)


def _train(
    settings: Discretised,
    tasks: Sequence[Task],
    scheme: str,
    L: int,
    maps: str,
    penalty: float,
    stream: Stream,
    seeds: Sequence[int],
    device: str,
) -> list:
    """Trains one network per task; schemes share the seed's weights."""
    kind, Lt, sizes = MAPS[maps], settings.effective_depth, (settings.dimension, settings.dimension)
    irregularity = settings.irregularity if scheme == "irregular" else 0.0
    rho = layer_steps("irregular", L, irregularity)
    rngs = [stream.generator(seed, "weights") for seed in seeds]
    begun = [start(settings.width, sizes, rho, Lt, rng, learned=kind.learned, bias=kind.bias) for rng in rngs]
    run = trainer(begun, tasks, kind, penalty, device)
    rates = cosine(settings.rate, settings.steps)
    moving = round(settings.steps * (1 - settings.frozen)) if scheme == "adaptive" else 0
    run.adam(rates[:moving], settings.every, lambda: _adapt(run, settings))
    run.adam(rates[moving:])
    return run.trained()


def _adapt(run: Trainer, settings: Discretised) -> None:
    paths, cap = run.representations(), LARGEST / settings.effective_depth
    steps = [adapt_layer_steps(A, rho, settings.damping, cap) for A, rho in zip(paths, run.steps.T, strict=True)]
    run.set_steps(np.stack(steps, axis=1))


def _scores(one: Kept, task: Task, effective_depth: float) -> dict[str, float]:
    net = restored(one, effective_depth)
    A = net.forward(task.X)
    moved: Array = relative_speeds(A, net.rho) * net.rho
    return {
        "test_error": np.mean((task.Y_test - net.output(task.X_test)) ** 2) / np.var(task.Y_test),
        "train_error": np.mean((task.Y - net.out @ A[-1]) ** 2) / np.var(task.Y),
        "unevenness": moved.max() / moved.min(),
        "longest_step": net.rho.max() * effective_depth,
    }


def _dataset(
    settings: Discretised,
    variables: dict[str, xr.Variable],
    coords: dict[str, xr.Variable],
    *,
    title: str,
) -> xr.Dataset:
    own = {
        "effective_depth": variable((), settings.effective_depth, "effective depth Lt"),
        "lam": variable((), lam(settings.penalty, settings.dimension, settings.effective_depth), "lam of the penalty"),
        "width": variable((), settings.width, "neurons w"),
        "dimension": variable((), settings.dimension, "inputs and outputs d"),
        "points": variable((), settings.points, "training points N"),
        "steps": variable((), settings.steps, "steps of Adam"),
        "inner": variable("part", np.array(settings.inner), "inner dimensions of the teacher"),
        "part": variable("part", np.arange(len(settings.inner)), "between the teacher's parts"),
    }
    return dataset(
        variables,
        size_coords(variables) | own | coords,
        title=title,
    )
