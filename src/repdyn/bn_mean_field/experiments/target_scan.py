"""Where BN's neurons are fast, over the direction of a linear target: section 4.1 of Ma and Ying."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.particle_flows import gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, NEAR, axis_angle, linear_along, signed_start
from repdyn.bn_mean_field.settings import TargetScan
from repdyn.bn_mean_field.theory.circular import circular_kernel
from repdyn.bn_mean_field.theory.flows import tangential_speed
from repdyn.bn_mean_field.theory.velocity import Population


def target_scan(settings: TargetScan, stream: Stream) -> xr.Dataset:
    """Speeds of the BN model's neurons at one iteration for targets w^T x, w from the x1 to the x2 axis."""
    starts = [signed_start(settings.directions, stream.generator(seed)) for seed in range(settings.seeds)]
    a, b = (np.stack([start[part] for start in starts]) for part in (0, 1))
    shape = (len(settings.angles), *a.shape)
    speed, torque, angle, length = (np.empty(shape) for _ in range(4))
    contrast, outer = np.empty(shape[:2]), np.empty(shape[:2])
    for row, degrees in enumerate(settings.angles):
        model = Population(linear_along(degrees), ANISOTROPIC)
        run = gradient_descent(a, b, model, settings.step, record=[settings.look])
        last_a, last_b = run.a[-1], run.b[-1]
        speed[row], angle[row] = tangential_speed(last_b, model.velocity(last_a, last_b)[1]), axis_angle(last_b)
        torque[row] = [_torque(end_a, end_b, model) for end_a, end_b in zip(last_a, last_b, strict=True)]
        length[row] = np.linalg.norm(last_b, axis=-1)
        for seed in range(settings.seeds):
            contrast[row, seed], outer[row, seed] = (
                _contrast(speed[row, seed], angle[row, seed], width) for width in (45.0, NEAR)
            )
    variance = np.cos(np.radians(angle)) ** 2 * ANISOTROPIC[0, 0] + np.sin(np.radians(angle)) ** 2 * ANISOTROPIC[1, 1]
    dims = ("angle", "seed", "neuron")
    scan = dataset(
        {
            "speed": variable(dims, speed, "tangential speed of the neuron"),
            "torque": variable(dims, torque, "|a| times the slope of the residual's potential in the whitened angle"),
            "length": variable(dims, length, "length of b"),
            "variance": variable(dims, variance, "variance of the data in the neuron's direction"),
            "axis_angle": variable(dims, angle, "angle between b and the x1 axis", "degree"),
            "contrast": variable(
                dims[:2], contrast, "log10 of the mean speed of neurons nearer to x2 over that of neurons nearer to x1"
            ),
            "outer_contrast": variable(
                dims[:2], outer, "the same for neurons within 15 degrees of x2 over those within 15 degrees of x1"
            ),
        },
        {
            "angle": variable("angle", np.array(settings.angles), "angle of the target to the x1 axis", "degree"),
            "seed": index("seed", settings.seeds, "draw of the signs of a"),
            "neuron": index("neuron", a.shape[1], "neuron"),
            "look": variable((), settings.look, "iteration"),
            "step": variable((), settings.step, "mean-field step"),
            "determinant": variable((), float(np.linalg.det(ANISOTROPIC)), "determinant of Sigma"),
        },
        title="Speeds of the BN model's neurons over the direction of the target",
    )
    for name in ("contrast", "outer_contrast"):
        scan[name].attrs["missing"] = "no neuron there"
    return scan


def _torque(a: Array, b: Array, model: Population) -> Array:
    """|a E'(psi)|, pairs of whitened angles summed directly; the lengths of b do not enter."""
    sources = np.concatenate([b, model.teacher.w]) @ model.root
    psi = np.arctan2(sources[:, 1], sources[:, 0])
    own = np.concatenate([a / len(a), -model.teacher.c * np.linalg.norm(sources[len(a) :], axis=1)])
    return np.abs(a * (circular_kernel(psi[: len(a), None] - psi[None, :])[1] @ own))


def _contrast(speed: Array, angle: Array, width: float) -> float:
    small, large = angle > 90 - width, angle < width
    if not small.any() or not large.any():
        return np.nan
    return float(np.log10(speed[small].mean() / speed[large].mean()))
