"""Theorem 4: particle systems of growing width, and their exact distances to a wide reference.

Two targets of two neurons: with equal signs the flow is benign, with opposite signs some particles pass near
unstable directions and tell small differences of the start apart.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint, Trial
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.settings import EACH
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.optimal_transport import wasserstein2
from repdyn.bn_mean_field.methods.particle_flows import gradient_flow
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, directions, low_discrepancy_start, random_start
from repdyn.bn_mean_field.settings import Propagation
from repdyn.bn_mean_field.theory.manifold import normalize
from repdyn.bn_mean_field.theory.velocity import Population, Teacher

TARGETS = {"equal signs": (1.0, 1.0), "opposite signs": (1.0, -1.0)}


System = list[tuple[Array, Array]]  # a and b of a system's particles, time by time


class Run(NamedTuple):
    """One particle system: its target, kind of start, width and draw."""

    target: str
    start: str
    width: int
    seed: int


def runs_of(settings: Propagation) -> list[Run]:
    """Every system: references, low-discrepancy and i.i.d. starts, for both targets."""
    runs = [Run(t, "low discrepancy", m, 0) for t in TARGETS for m in (*settings.widths, settings.reference)]
    runs += [Run(t, "i.i.d. reference", settings.random_reference, 0) for t in TARGETS]
    draws = [(m, seed) for m in settings.random_widths for seed in range(settings.seeds)]
    return runs + [Run(t, "i.i.d.", m, seed) for t in TARGETS for m, seed in draws]


def propagation(settings: Propagation, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Flows of all widths from low-discrepancy and i.i.d. starts of one law: a and direction uniform."""
    runs = runs_of(settings)
    progress, flows = Progress("propagation", len(runs)), []
    for done, run in enumerate(runs):
        name = f"{run.target}, {run.start}, width {run.width}, draw {run.seed}"
        flows.append(checkpoint.get(name) or checkpoint.put(name, _flow(settings, run, stream)))
        progress.step(done + 1)
    owner = np.repeat(np.arange(len(runs)), [run.width for run in runs])
    a, angle = (np.concatenate([flow[name] for flow in flows], axis=1) for name in ("a", "angle"))
    return dataset(
        {
            "a": variable(("time", "particle"), a, "output weight"),
            "angle": variable(("time", "particle"), angle, "direction of b", "radian"),
            "loss": variable(("time", "run"), np.stack([flow["loss"] for flow in flows], axis=1), "population loss"),
        },
        {
            "time": variable("time", np.array(settings.times), "mean-field time"),
            "particle": index("particle", owner.size, "particle, run by run"),
            "particle_run": variable("particle", owner, "run of the particle"),
            "run": index("run", len(runs), "run"),
            "target": variable("run", np.array([run.target for run in runs]), "signs of the two teachers"),
            "start": variable("run", np.array([run.start for run in runs]), "kind of start"),
            "width": variable("run", np.array([run.width for run in runs]), "neurons"),
            "seed": variable("run", np.array([run.seed for run in runs]), "draw of an i.i.d. start"),
        },
        title="Particle flows of growing width",
    )


def _flow(settings: Propagation, run: Run, stream: Stream) -> Trial:
    """Output weights and directions over time, shape (times, width), and the loss, shape (times,), of one system."""
    teachers = 2 * normalize(directions(np.radians([30.0, 150.0])), ANISOTROPIC)
    model = Population(Teacher(np.array(TARGETS[run.target]), teachers), ANISOTROPIC)
    if run.start == "i.i.d.":
        start = random_start(run.width, stream.generator(run.seed, run.width))
    else:
        start = low_discrepancy_start(run.width)
    flow = gradient_flow(*start, model, settings.times, rtol=settings.tolerance, atol=settings.tolerance / 100)
    return {"a": flow.a, "angle": np.arctan2(flow.b[..., 1], flow.b[..., 0]), "loss": flow.loss}


def propagation_distances(
    settings: Propagation, propagation: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """W2 on M of every run to its reference at every time, by exact transport."""
    runs = runs_of(settings)
    systems = [_system(propagation, k) for k in range(len(runs))]
    loss = propagation["loss"].transpose("run", "time").values
    distance, gap = (np.zeros((len(runs), propagation.sizes["time"])) for _ in range(2))
    progress = Progress("propagation_distances", len(runs))
    for k, run in enumerate(runs):
        reference = runs.index(_reference(settings, run))
        gap[k] = np.abs(loss[k] - loss[reference])
        if k != reference:
            distance[k] = _distances(systems[k], systems[reference], checkpoint)
        progress.step(k + 1)
    names = ("time", "run", "target", "start", "width", "seed")
    return dataset(
        {
            "distance": variable(("run", "time"), distance, "W2 on M to the reference, 0 for references"),
            "loss_gap": variable(("run", "time"), gap, "|L - L of the reference|"),
            "loss": variable(("run", "time"), loss, "population loss"),
        },
        {name: propagation[name].variable for name in names}
        | {
            "reference": variable((), settings.reference, "neurons of the reference of low-discrepancy starts"),
            "random_reference": variable((), settings.random_reference, "neurons of the reference of i.i.d. starts"),
        },
        title="Distances of particle flows to the mean-field limit",
    )


def _distances(system: System, reference: System, checkpoint: Checkpoint) -> Array:
    """W2 at each time, kept under the particles of both systems."""
    own = checkpoint.of(system, reference)
    if (kept := own.get("distances")) is None:
        pairs = zip(system, reference, strict=True)
        kept = own.put("distances", {"distances": [wasserstein2(*pair, ANISOTROPIC) for pair in pairs]})
    return kept["distances"]


def _reference(settings: Propagation, run: Run) -> Run:
    if run.start.startswith("i.i.d."):
        return Run(run.target, "i.i.d. reference", settings.random_reference, 0)
    return Run(run.target, "low discrepancy", settings.reference, 0)


def _system(propagation: xr.Dataset, run: int) -> System:
    """The run's particles at each time as (a, b)."""
    mine = propagation["particle_run"].values == run
    a, angle = (propagation[name].transpose("time", "particle").values[:, mine] for name in ("a", "angle"))
    return list(zip(a, directions(angle), strict=True))
