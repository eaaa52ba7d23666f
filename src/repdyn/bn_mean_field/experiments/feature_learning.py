"""Targets that need directions, with parts of batch normalization switched off: Ma and Ying, sections 4.1 and 4.2."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.compiled_pairs import (
    BN,
    EQUAL_SPEEDS,
    FROZEN,
    VANILLA,
    descend,
    least_loss_with_b_frozen,
)
from repdyn.bn_mean_field.settings import FeatureLearning
from repdyn.bn_mean_field.theory.manifold import normalize
from repdyn.bn_mean_field.theory.velocity import Teacher

STEP_OF_B = ", step of b"
NETWORKS = {  # what happens to b, and its lengths at the start
    "BN": (BN, "unit"),
    "BN, equal speeds": (EQUAL_SPEEDS, "unit"),
    "BN, b frozen": (FROZEN, "unit"),
    "vanilla": (VANILLA, "unit"),
    "vanilla, same function": (VANILLA, "Omega"),
    "BN, many lengths": (BN, "many"),
    "vanilla, many lengths": (VANILLA, "many"),
    "BN, two lengths": (BN, "two"),
    f"BN{STEP_OF_B}": (BN, "unit"),
    f"BN, many lengths{STEP_OF_B}": (BN, "many"),
    f"BN, two lengths{STEP_OF_B}": (BN, "two"),
}
SHORTER = 1e-3
"""Steps of b alone over those of all weights: long ones do no harm while the output weights keep theirs."""
TASKS = {  # variances of the data, and output weights of relu(x1), relu(-x1)
    "|x1|, one large variance": ("one", (1.0, 1.0)),
    "relu(x1), one large variance": ("one", (1.0, 0.0)),
    "|x1|, half of the variances large": ("half", (1.0, 1.0)),
    "|x1|, variances spread": ("spread", (1.0, 1.0)),
}
LARGE = 5.0  # largest variance, as in the paper's Sigma
THRESHOLD = np.array([0.03, 0.01])  # of the loss of f = 0


def feature_learning(settings: FeatureLearning, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Iterations to learn a single index along the largest variance, for networks, tasks, starts and steps.

    Networks of a start share directions, signs, lengths where they have them, and steps; the steps of a start are
    shifted by a random part of their spacing, so that counted ranges have no bias from the grid. In networks named
    "step of b" the output weights keep one step, and b has a thousandth of the others' steps.
    """
    starts = [_start(settings, stream.generator(seed)) for seed in range(settings.seeds)]
    steps = np.array([_steps(settings, stream.generator(seed, "steps")) for seed in range(settings.seeds)])
    shape = (len(TASKS), len(NETWORKS), *steps.shape, len(THRESHOLD))
    needed, frozen = np.empty(shape), np.empty((len(TASKS), settings.seeds))
    progress = Progress("feature_learning", len(TASKS) * settings.seeds)
    for (place, task), (seed, start) in product(enumerate(TASKS), enumerate(starts)):
        name = f"{task}, start {seed}"
        trial = checkpoint.get(name) or checkpoint.put(name, _learned(settings, task, start, steps[seed]))
        needed[place, :, seed], frozen[place, seed] = trial["needed"], trial["frozen"]
        progress.step(place * settings.seeds + seed + 1)
    return _learned_dataset(settings, steps, needed, frozen)


def _learned(
    settings: FeatureLearning, task: str, start: tuple[Array, Array, Array, Array], steps: Array
) -> Mapping[str, Array | float]:
    """Iterations that all networks of a start need, shape (networks, steps, thresholds), and the loss with b frozen."""
    spectrum, c = TASKS[task]
    teacher, variances = _problem(spectrum, c, settings.dimension)
    zero = np.sum(teacher.c**2) * LARGE / 4
    needed = np.empty((len(NETWORKS), len(steps), len(THRESHOLD)))
    for row, (name, (kind, lengths)) in enumerate(NETWORKS.items()):
        b, alone = _lengths(lengths, *start[1:], variances), name.endswith(STEP_OF_B)
        for place, step in enumerate(steps * SHORTER if alone else steps):
            needed[row, place] = descend(
                start[0],
                b,
                teacher,
                variances,
                kind,
                step,
                settings.iterations,
                zero * THRESHOLD,
                step_of_a=settings.step_of_a if alone else None,
            ).reached
    return {"needed": needed, "frozen": least_loss_with_b_frozen(start[1], teacher, variances) / zero}


def _start(settings: FeatureLearning, rng: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """Signs, uniform unit directions, lengths spread evenly in the logarithm, and lengths 1 and 10 by halves."""
    b = rng.standard_normal((settings.width, settings.dimension))
    many = rng.permutation(np.geomspace(1 / settings.spread, settings.spread, settings.width))
    two = rng.permutation(np.where(np.arange(settings.width) % 2, 1.0, settings.spread))
    return rng.choice([-1.0, 1.0], settings.width), b / np.linalg.norm(b, axis=1, keepdims=True), many, two


def _steps(settings: FeatureLearning, rng: np.random.Generator) -> Array:
    decades = np.log10(settings.largest_step / settings.smallest_step)
    places = (np.arange(round(decades * settings.steps_per_decade)) + rng.random()) / settings.steps_per_decade
    return settings.smallest_step * 10**places


def _problem(spectrum: str, c: tuple[float, float], dimension: int) -> tuple[Teacher, Array]:
    """A single index along x1, whose variance is the largest."""
    variances = np.ones(dimension)
    variances[: dimension // 2 if spectrum == "half" else 1] = LARGE
    if spectrum == "spread":
        variances = np.geomspace(LARGE, 1 / LARGE, dimension)
    w = np.eye(dimension)[0]
    return Teacher(np.array(c), np.stack([w, -w])), variances


def _lengths(lengths: str, b: Array, many: Array, two: Array, variances: Array) -> Array:
    if lengths == "Omega":
        return normalize(b, np.diag(variances))
    return {"unit": np.ones(len(b)), "many": many, "two": two}[lengths][:, None] * b


def _learned_dataset(settings: FeatureLearning, steps: Array, needed: Array, frozen: Array) -> xr.Dataset:
    dims = ("task", "network", "start", "step", "threshold")
    variables = {
        "needed": variable(dims, needed, "iterations until the loss is at most the threshold"),
        "tried": variable(("start", "step"), steps, "mean-field step; of b alone a thousandth of it"),
        "frozen": variable(("task", "start"), frozen, "least loss over all a with b frozen, over the loss of f = 0"),
    }
    variables["needed"].attrs["missing"] = "not learned in the iterations allowed, or diverged"
    return dataset(
        variables,
        {
            "task": variable("task", np.array(list(TASKS)), "target and variances of the data"),
            "network": variable("network", np.array(list(NETWORKS)), "normalization, speeds and lengths of b"),
            "start": index("start", len(steps), "draw of directions, signs, lengths and steps"),
            "step": index("step", steps.shape[1], "place among the steps"),
            "threshold": variable("threshold", THRESHOLD, "loss over the loss of f = 0"),
            "iterations": variable((), settings.iterations, "iterations allowed"),
            "spacing": variable((), 1 / settings.steps_per_decade, "spacing of the steps", "decade"),
        },
        title="Iterations to learn a single index, with parts of batch normalization switched off",
    )
