"""How fast y = x_1 is learned over the step of descent, with and without BN: sections 4.1 and 4.2 of Ma and Ying."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint, Trial
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.particle_flows import descent_losses
from repdyn.bn_mean_field.methods.starts_and_targets import (
    ANISOTROPIC,
    PAIRED_FIRST,
    linear,
    paired_start,
    signed_start,
)
from repdyn.bn_mean_field.settings import LearningRates
from repdyn.bn_mean_field.theory.manifold import normalize
from repdyn.bn_mean_field.theory.velocity import Population

NETWORKS = {
    "BN": ("batch", "unit"),
    "vanilla": ("none", "unit"),
    "vanilla, same function": ("none", "Omega"),
    "BN, many lengths": ("batch", "many"),
    "vanilla, many lengths": ("none", "many"),
}


def learning_rates(settings: LearningRates, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Iterations to learn and loss at the end for every network, start and step.

    Unit lengths; on Omega, where the vanilla network begins with the BN network's function; lengths spread evenly in
    the logarithm. Networks of a start share directions, signs and, where they have them, lengths.
    """
    steps = steps_of(settings)
    starts = list(_starts(settings, stream))
    shape = (len(NETWORKS), len(starts), len(steps))
    needed, final = np.empty(shape), np.empty(shape)
    progress = Progress("learning_rates", len(NETWORKS) * len(starts))
    for (row, network), (column, start) in product(enumerate(NETWORKS), enumerate(starts)):
        name = f"{network}, start {column}"
        trial = checkpoint.get(name) or checkpoint.put(name, _learned(settings, network, start, steps))
        needed[row, column], final[row, column] = trial["needed"], trial["final"]
        progress.step(row * len(starts) + column + 1)
    return _rates_dataset(settings, steps, needed, final)


def _learned(settings: LearningRates, network: str, start: tuple[Array, Array, Array], steps: Array) -> Trial:
    """Iterations to learn and loss at the end of one network from one start, at every step."""
    (a, b, spread), (normalization, lengths) = start, NETWORKS[network]
    model, zero_loss = Population(linear(0), ANISOTROPIC, normalization), float(ANISOTROPIC[0, 0]) / 2
    own = {"unit": b, "Omega": normalize(b, ANISOTROPIC), "many": spread[:, None] * b}[lengths]
    needed, final = np.full(len(steps), np.inf), np.empty(len(steps))
    for place, step in enumerate(steps):
        losses = descent_losses(a, own, model, step, settings.iterations) / zero_loss
        final[place] = losses[-1]
        if losses[-1] <= settings.learned:
            needed[place] = np.argmax(losses <= settings.learned)
    return {"needed": needed, "final": final}


def steps_of(settings: LearningRates) -> Array:
    """The steps tried, evenly spaced in the logarithm, ends included."""
    decades = np.log10(settings.largest_step / settings.smallest_step)
    count = round(decades * settings.steps_per_decade) + 1
    return np.geomspace(settings.smallest_step, settings.largest_step, max(2, count))


def _starts(settings: LearningRates, stream: Stream) -> Iterator[tuple[Array, Array, Array]]:
    """Output weights, unit inner weights and the spread lengths: both signs first, then i.i.d. signs."""
    size = 2 * settings.directions
    spread = np.geomspace(1 / settings.spread, settings.spread, size)
    yield *paired_start(settings.directions), stream.generator("lengths").permutation(spread)
    for seed in range(settings.seeds):
        generator = stream.generator(seed)
        yield *signed_start(settings.directions, generator), generator.permutation(spread)


def _rates_dataset(settings: LearningRates, steps: Array, needed: Array, final: Array) -> xr.Dataset:
    learned = np.isfinite(needed)
    width = learned.sum(axis=-1) / settings.steps_per_decade
    learns = np.where(learned, steps, np.nan)
    dims = ("network", "start")
    variables = {
        "needed": variable((*dims, "step"), needed, "iterations until y = x1 is learned"),
        "final": variable((*dims, "step"), final, "loss at the end over the loss of f = 0"),
        "fewest": variable(dims, needed.min(axis=-1), "iterations at the best step"),
        "decades": variable(dims, width, "range of steps that learn, in decades"),
        "smallest_step": variable(dims, np.fmin.reduce(learns, axis=-1), "smallest step that learns"),
        "largest_step": variable(dims, np.fmax.reduce(learns, axis=-1), "largest step that learns"),
    }
    for name in variables:
        variables[name].attrs["missing"] = "not learned in the iterations allowed, or diverged"
    return dataset(
        variables,
        {
            "network": variable("network", np.array(list(NETWORKS)), "normalization and lengths at the start"),
            "start": index("start", needed.shape[1], PAIRED_FIRST),
            "step": variable("step", steps, "mean-field step"),
            "iterations": variable((), settings.iterations, "iterations allowed"),
            "learned": variable((), settings.learned, "learned: loss over the loss of f = 0 at most"),
            "spacing": variable((), 1 / settings.steps_per_decade, "spacing of the steps", "decade"),
        },
        title="Iterations to learn y = x1 over the step, with and without BN",
    )
