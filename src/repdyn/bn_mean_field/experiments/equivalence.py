"""Theorems 2 and 3: the BN flow, normalized, against the vanilla flow on M with the paper's metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.experiments.metric_audit import random_covariance
from repdyn.bn_mean_field.methods.particle_flows import Trajectory, gradient_flow
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC
from repdyn.bn_mean_field.settings import Equivalence
from repdyn.bn_mean_field.theory.manifold import gradient_by_metric, normalize
from repdyn.bn_mean_field.theory.velocity import Population, Teacher

AGAINST = ("manifold", "manifold_scaled", "vanilla")
CONDITION = 10.0


@dataclass(frozen=True)
class ByMetric(Population):
    """Vanilla loss on M: minus G^+ P grad with the paper's G formed and inverted, over `radius` squared."""

    radius: float = 1.0

    def velocity(self, a: Array, b: Array) -> tuple[Array, Array, Array]:
        """Velocities of a and bbar, and the loss."""
        bbar = normalize(b, self.cov)
        force, moment, loss = self.moments(a, bbar)
        gradient = gradient_by_metric(moment, bbar, self.cov)
        return -force, -a[:, None] / self.radius**2 * gradient, loss


def equivalence(settings: Equivalence, stream: Stream) -> xr.Dataset:
    """Largest differences between the flows over particles, at each time, for several lengths of the weights."""
    times = np.linspace(0, settings.time, settings.frames)
    shape = (len(settings.dimensions), len(settings.radii), settings.frames)
    gap_a, gap_b = (np.empty((len(AGAINST), *shape)) for _ in range(2))
    drift, drift_vanilla, loss = (np.empty(shape) for _ in range(3))
    options: dict[str, Any] = {"times": times, "rtol": settings.tolerance, "atol": settings.tolerance}
    for i, dimension in enumerate(settings.dimensions):
        teacher, cov, a, b = _problem(settings, dimension, stream.generator(dimension))
        bbar = normalize(b, cov)
        round_flow = gradient_flow(a, bbar, ByMetric(teacher, cov, "manifold"), **options)
        vanilla = gradient_flow(a, bbar, Population(teacher, cov, "none"), **options)
        for j, radius in enumerate(settings.radii):
            bn = gradient_flow(a, radius * b, Population(teacher, cov), **options)
            scaled = round_flow
            if radius != 1:
                scaled = gradient_flow(a, bbar, ByMetric(teacher, cov, "manifold", radius=radius), **options)
            for k, other in enumerate((round_flow, scaled, vanilla)):
                gap_a[k, i, j], gap_b[k, i, j] = _gaps(bn, other, cov)
            drift[i, j], drift_vanilla[i, j] = _drift(bn), _drift(vanilla)
            loss[i, j] = bn.loss
    return _equivalence_dataset(settings, times, gap_a, gap_b, drift, drift_vanilla, loss)


def _problem(settings: Equivalence, dimension: int, rng: np.random.Generator) -> tuple[Teacher, Array, Array, Array]:
    cov = ANISOTROPIC if dimension == 2 else random_covariance(dimension, CONDITION, rng)
    teacher = Teacher(np.array([1.0, -1.0]), normalize(rng.standard_normal((2, dimension)), cov))
    b = rng.standard_normal((settings.width, dimension))
    a = rng.uniform(-1, 1, size=settings.width)
    return teacher, cov, a, b / np.linalg.norm(b, axis=1, keepdims=True)


def _drift(run: Trajectory) -> Array:
    lengths = np.linalg.norm(run.b, axis=-1)
    return np.abs(lengths / lengths[0] - 1).max(axis=-1)


def _gaps(bn: Trajectory, other: Trajectory, cov: Array) -> tuple[Array, Array]:
    gap_b = np.linalg.norm(normalize(bn.b, cov) - other.b, axis=-1)
    return np.abs(bn.a - other.a).max(axis=-1), gap_b.max(axis=-1)


def _equivalence_dataset(
    settings: Equivalence, times: Array, gap_a: Array, gap_b: Array, drift: Array, drift_vanilla: Array, loss: Array
) -> xr.Dataset:
    dims = ("dimension", "radius", "time")
    return dataset(
        {
            "gap_a": variable(("against", *dims), gap_a, "largest difference of a from the BN flow"),
            "gap_b": variable(("against", *dims), gap_b, "largest difference of bbar from the BN flow"),
            "drift": variable(dims, drift, "largest relative change of ||b_k|| along the BN flow"),
            "drift_vanilla": variable(dims, drift_vanilla, "the same along the vanilla flow"),
            "loss": variable(dims, loss, "population loss of the BN flow"),
        },
        {
            "against": variable(
                "against", np.array(AGAINST), "flow on M with G; with the radius squared times G; vanilla flow"
            ),
            "dimension": variable("dimension", np.array(settings.dimensions), "input dimension"),
            "radius": variable("radius", np.array(settings.radii), "length of the BN model's weights"),
            "time": variable("time", times, "mean-field time"),
            "tolerance": variable((), settings.tolerance, "relative tolerance of the solver per step"),
            "width": variable((), settings.width, "neurons"),
        },
        title="BN flow against the vanilla flow on the manifold and in the plane",
    )
