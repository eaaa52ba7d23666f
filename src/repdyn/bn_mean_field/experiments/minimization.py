"""Theorem 5: flows from separating starts, and counter-examples where separation fails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.bn_mean_field.methods.particle_flows import gradient_flow, velocities_along
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, circle, directions, ring
from repdyn.bn_mean_field.settings import Minimization
from repdyn.bn_mean_field.theory.velocity import Population, Teacher


@dataclass(frozen=True)
class Start:
    """A named start with its target; `separates` says whether Theorem 5 applies to it as m grows."""

    name: str
    separates: bool
    teacher: Teacher
    a: Array
    b: Array
    activation: str = "relu"


def minimization(settings: Minimization) -> xr.Dataset:
    """Loss and largest particle speed along the flows of all starts."""
    starts = [*separating(settings), *counter_examples()]
    loss, speed, time = (np.empty((len(starts), settings.frames)) for _ in range(3))
    zero_loss = np.empty(len(starts))
    for k, start in enumerate(starts):
        end = settings.time if start.separates else settings.counter_time
        time[k] = np.concatenate([[0.0], np.geomspace(1e-2, end, settings.frames - 1)])
        model = Population(start.teacher, ANISOTROPIC, "batch", start.activation)
        flow = gradient_flow(start.a, start.b, model, time[k], rtol=1e-9, atol=1e-12)
        da, db, _ = velocities_along(flow.a, flow.b, model)
        loss[k], speed[k] = flow.loss, np.sqrt(da**2 + np.sum(db**2, axis=-1)).max(axis=-1)
        zero_loss[k] = model.moments(np.zeros(1), start.b[:1])[2]
    return dataset(
        {
            "loss": variable(("start", "frame"), loss, "population loss"),
            "relative_loss": variable(("start", "frame"), loss / zero_loss[:, None], "loss over that of f = 0"),
            "speed": variable(("start", "frame"), speed, "largest speed of a particle, sqrt(a'^2 + |b'|^2)"),
            "time": variable(("start", "frame"), time, "mean-field time"),
            "zero_loss": variable("start", zero_loss, "loss of the model f = 0"),
        },
        {
            "start": variable("start", np.array([s.name for s in starts]), "start and target"),
            "separates": variable("start", np.array([int(s.separates) for s in starts]), "1 if the start separates"),
            "particles": variable("start", np.array([len(s.a) for s in starts]), "neurons"),
            "frame": index("frame", settings.frames, "recorded time"),
        },
        title="Losses from separating starts and from counter-examples",
    )


def separating(settings: Minimization) -> list[Start]:
    """{a = 0} x circle for 1, 2, 3 teacher neurons, {a = +-1} x circle, and erf."""
    m = settings.width
    starts = [Start(f"a = 0, {n} teacher{'s' * (n > 1)}", True, ring(n), np.zeros(m), circle(m)) for n in (1, 2, 3)]
    signs = np.where(np.arange(m) % 2, 1.0, -1.0)
    pairs = np.repeat(circle(m // 2), 2, axis=0)
    starts.append(Start("a = +-1, 3 teachers", True, ring(3), signs[: len(pairs)], pairs))
    m = settings.erf_width
    return [*starts, Start("a = 0, 3 teachers, erf", True, ring(3, 1.0), np.zeros(m), circle(m), "erf")]


def counter_examples() -> list[Start]:
    """Point masses, and arcs around the antipode of a single ReLU teacher."""
    target = np.arctan2(*ring(1).w[0, ::-1])

    def arc(half_width: float, count: int) -> Array:
        return directions(target + np.pi + np.linspace(-half_width, half_width, count))

    weight = np.ones(1)
    return [
        Start("point at the antipode, 1 teacher", False, ring(1), weight, -ring(1).w),
        Start("arc of 0.05 at the antipode, 1 teacher", False, ring(1), np.ones(41), arc(0.05, 41)),
        Start("arc of 0.5 at the antipode, 1 teacher", False, ring(1), np.ones(41), arc(0.5, 41)),
        Start("one point, 2 teachers", False, ring(2), weight, directions(np.array([0.3]))),
        Start("one point, 3 teachers", False, ring(3), weight, directions(np.array([0.3]))),
        Start("two points, 3 teachers", False, ring(3), np.ones(2), directions(np.array([0.3, 2.0]))),
        Start("one point, 3 teachers, erf", False, ring(3, 1.0), weight, directions(np.array([0.3])), "erf"),
    ]
