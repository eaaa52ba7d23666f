"""Where neurons gather with and without the anisotropic speed of batch normalization: section 4.1 of Ma and Ying."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.compiled_pairs import BN, EQUAL_SPEEDS, descend
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, axis_angle, directions, signed_start
from repdyn.bn_mean_field.settings import Concentration
from repdyn.bn_mean_field.theory.velocity import Teacher

NETWORKS = {"BN": BN, "BN, equal speeds": EQUAL_SPEEDS}


def concentration(settings: Concentration, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Angles of neurons to the x1 axis along training, for linear targets at several angles to it."""
    starts = [signed_start(settings.directions, stream.generator(seed)) for seed in range(settings.seeds)]
    shape = (len(settings.angles), len(NETWORKS), settings.seeds, len(settings.record), 2 * settings.directions)
    angle = np.empty(shape)
    for row, w in enumerate(directions(np.radians(settings.angles))):
        own, teacher = checkpoint.of(w), Teacher(np.array([1.0, -1.0]), np.stack([w, -w]))
        for (column, (network, kind)), (seed, (a, b)) in product(enumerate(NETWORKS.items()), enumerate(starts)):
            name = f"{network}, start {seed}"
            trial = own.get(name) or own.put(name, {"angles": _angles(a, b, teacher, kind, settings)})
            angle[row, column, seed] = trial["angles"]
    dims = ("angle", "network", "start", "iteration", "neuron")
    return dataset(
        {"axis_angle": variable(dims, angle, "angle between b and the x1 axis", "degree")},
        {
            "angle": variable("angle", np.array(settings.angles), "angle of the target to the x1 axis", "degree"),
            "network": variable("network", np.array(list(NETWORKS)), "normalization and speeds"),
            "start": index("start", settings.seeds, "draw of the signs of a"),
            "iteration": variable("iteration", np.array(settings.record), "iteration"),
            "neuron": index("neuron", shape[-1], "neuron"),
            "step": variable((), settings.step, "mean-field step"),
        },
        title="Directions of neurons with and without the anisotropic speed of batch normalization",
    )


def _angles(a: Array, b: Array, teacher: Teacher, kind: int, settings: Concentration) -> Array:
    """Angles at the recorded iterations, shape (iterations, neurons)."""
    frames = [axis_angle(b)]
    for before, after in pairwise(settings.record):  # a descent of n iterations ends with the step after its last loss
        a, b, _ = descend(a, b, teacher, np.diag(ANISOTROPIC), kind, settings.step, after - before - 1)
        frames.append(axis_angle(b))
    return np.stack(frames)
