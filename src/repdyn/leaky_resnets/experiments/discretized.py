"""Figure 2: equidistant, irregular and adaptive layer steps over numbers of layers, paired in data and weights.

Besides, adaptive networks under a stronger penalty and for a teacher of fully connected parts, whose first part is less
linear: does a stage as wide as the teacher's first inner dimension show in the weights?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Block, Checkpoint
from repdyn.base.datasets import dataset, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.maps import MAPS, Maps
from repdyn.leaky_resnets.methods.network_datasets import (
    Arrays,
    diverged,
    network_variables,
    restored,
    size_coords,
    task_variables,
    without_diverged,
)
from repdyn.leaky_resnets.methods.recipe import Batch, Networks, Recipe, Stage, descent_rates, lam
from repdyn.leaky_resnets.methods.teachers import Task, bottleneck_task
from repdyn.leaky_resnets.methods.training import Trainer, cosine
from repdyn.leaky_resnets.settings.training import Discretized
from repdyn.leaky_resnets.theory.layers import adapt_layer_steps, criticality, layer_steps, relative_speeds

SCHEMES = ("equidistant", "irregular", "adaptive")
STAGED = {  # teacher and whether the penalty is the strong one
    "random ResNets": ("residual", False),
    "random ResNets, strong penalty": ("residual", True),
    "fully connected": ("fully connected", False),
    "fully connected, strong penalty": ("fully connected", True),
}
LARGEST = 0.999  # cap on rho Lt of adaptive steps, below the 1 at which the leak changes A's sign
SCORES = {
    "test_error": "test error over the variance of the targets",
    "train_error": "training error over the variance of the targets",
    "unevenness": "largest over least |A_l - A_{l-1}| / |A_l|",
    "longest_step": "largest rho_l Lt",
    "distance": "|W - Lt B S^T| / |W| over all layers",
}


def discretized(settings: Discretized, stream: Stream, device: str, checkpoint: Checkpoint, block: Block) -> xr.Dataset:
    """Networks of all schemes over numbers of layers for one block of seeds; those of the largest number are kept."""
    stream = stream.of("discretised")  # the name that recorded networks were drawn under
    tasks = _tasks(settings, "residual", stream, range(block * settings.seeds, (block + 1) * settings.seeds))
    cells = list(product(settings.maps, SCHEMES, settings.layers))
    progress = Progress(f"discretized {block}", len(cells) * settings.seeds)
    recipe = Recipe(settings, stream, device, checkpoint, progress)
    networks: dict[tuple[str, str, int, int], Arrays] = {}
    for maps, scheme, L in cells:
        stage = _stage(recipe, MAPS[maps], scheme, L, settings.scheme_penalty)
        trained = recipe.walk(f"{maps}-{scheme}-layers{L}", tasks, L, [stage])
        networks |= {(maps, scheme, L, seed): arrays for (_, seed), arrays in trained.items()}
    shape = (len(settings.maps), len(SCHEMES), len(settings.layers), settings.seeds)
    scores = [_scores(settings, networks[(*cell, seed)], tasks[seed]) for cell in cells for seed in tasks]
    variables = {
        name: variable(("maps", "scheme", "layers", "seed"), np.reshape([row[name] for row in scores], shape), words)
        for name, words in SCORES.items()
    }
    most = [
        networks[maps, scheme, settings.layers[-1], seed]
        for maps, scheme, seed in product(settings.maps, SCHEMES, tasks)
    ]
    variables |= network_variables(("maps", "scheme", "seed"), (*shape[:2], settings.seeds), most)
    variables |= task_variables(("seed",), tasks.values())
    coords = {
        "maps": variable("maps", np.array(settings.maps), "linear maps in and out"),
        "scheme": variable("scheme", np.array(SCHEMES), "how layer steps are chosen"),
        "layers": variable("layers", np.array(settings.layers), "number of layers L; networks are of the last"),
        "seed": variable("seed", np.array(list(tasks)), "teacher, data and initial weights"),
    }
    return _dataset(settings, variables, coords, title=f"Schemes of layer steps, block {block} of seeds")


def staged(settings: Discretized, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """Adaptive networks of the largest number of layers for two teachers and two penalties, all seeds."""
    seeds, L = range(settings.staged_seeds), settings.layers[-1]
    shape = (len(STAGED), len(seeds))
    recipe = Recipe(settings, stream, device, checkpoint, Progress("staged", int(np.prod(shape))))
    networks: list[Arrays] = []
    tasks: list[Task] = []
    strengths: list[float] = []
    for name, (teacher, strong) in STAGED.items():
        penalty = settings.strong_penalty if strong else settings.penalty
        own = _tasks(settings, teacher, stream, seeds)
        stage = _stage(recipe, MAPS[settings.maps[0]], "adaptive", L, penalty)
        trained = recipe.walk(f"{name}, {settings.maps[0]}, {L} layers", own, L, [stage])
        networks += [trained[stage.name, seed] for seed in seeds]
        tasks += own.values()
        strengths.append(_strength(settings, penalty))
    variables = network_variables(("teacher", "seed"), shape, networks)
    variables |= task_variables(("teacher", "seed"), tasks, shape)
    coords = {
        "teacher": variable("teacher", np.array(list(STAGED)), "parts of the teacher, penalty"),
        "lam": variable("teacher", np.array(strengths), "lam of the penalty"),
        "seed": variable("seed", np.array(seeds), "teacher, data and initial weights"),
    }
    return _dataset(settings, variables, coords, title="Adaptive networks for two teachers and two penalties")


def _tasks(settings: Discretized, teacher: str, stream: Stream, seeds: Sequence[int]) -> dict[int, Task]:
    size, inner, points = settings.dimension, settings.inner, settings.points
    return {
        seed: bottleneck_task(size, inner, points, stream.generator(seed, "task"), teacher=teacher) for seed in seeds
    }


def _stage(recipe: Recipe, maps: Maps, scheme: str, L: int, penalty: float) -> Stage:
    """Trains fresh networks to the end; schemes share the seed's weights."""
    settings = cast("Discretized", recipe.settings)
    rho = layer_steps("irregular", L, settings.irregularity if scheme == "irregular" else 0.0)
    rates = cosine(settings.rate, settings.steps)
    moving = round(settings.steps * (1 - settings.frozen)) if scheme == "adaptive" else 0

    def train(batch: Batch, _: Mapping[str, Networks]) -> Networks:
        fresh = recipe.fresh(maps, batch.seeds, rho, settings.effective_depth)
        run = recipe.trainer(fresh, batch.tasks, maps, penalty)
        run.adam(rates[:moving], settings.every, lambda: _adapt(run, settings))
        run.adam(rates[moving:])
        run.descend(descent_rates(settings))
        return run.trained()

    return Stage("end", settings.effective_depth, train)


def _adapt(run: Trainer, settings: Discretized) -> None:
    paths, cap = run.representations(), LARGEST / settings.effective_depth
    steps = [
        adapt_layer_steps(A, rho, settings.damping, cap) if np.isfinite(A).all() else rho  # diverged ones stay
        for A, rho in zip(paths, run.steps.T, strict=True)
    ]
    run.set_steps(np.stack(steps, axis=1))


def _scores(settings: Discretized, arrays: Arrays, task: Task) -> dict[str, float]:
    if diverged(arrays):
        return dict.fromkeys(SCORES, np.nan)
    net, strength = restored(arrays, settings.effective_depth), _strength(settings, settings.scheme_penalty)
    A = net.forward(task.X)
    B = net.momenta(A, task.Y, strength)
    moved: Array = relative_speeds(A, net.rho) * net.rho
    return {
        "test_error": np.mean((task.Y_test - net.output(task.X_test)) ** 2) / np.var(task.Y_test),
        "train_error": np.mean((task.Y - net.out @ A[-1]) ** 2) / np.var(task.Y),
        "unevenness": moved.max() / moved.min(),
        "longest_step": net.rho.max() * settings.effective_depth,
        "distance": criticality(net.W, A, B, net.rho, net.effective_depth).relative,
    }


def _strength(settings: Discretized, penalty: float) -> float:
    return lam(penalty, settings.dimension, settings.effective_depth)


def _dataset(
    settings: Discretized, variables: dict[str, xr.Variable], coords: dict[str, xr.Variable], *, title: str
) -> xr.Dataset:
    own = {
        "effective_depth": variable((), settings.effective_depth, "effective depth Lt"),
        "lam": variable((), _strength(settings, settings.scheme_penalty), "lam of the penalty"),
        "width": variable((), settings.width, "neurons w"),
        "dimension": variable((), settings.dimension, "inputs and outputs d"),
        "points": variable((), settings.points, "training points N"),
        "steps": variable((), settings.steps, "steps of Adam"),
        "inner": variable("part", np.array(settings.inner), "inner dimensions of the teacher"),
        "part": variable("part", np.arange(len(settings.inner)), "between the teacher's parts"),
    }
    networks = dataset(variables, size_coords(variables) | own | coords, title=title)
    return without_diverged(networks, "discretized", settings)
