"""Theorem 4: particle systems of growing width, and their exact distances to a wide reference."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.experiments.problems import (
    ANISOTROPIC,
    index,
    low_discrepancy_start,
    random_start,
    ring,
)
from repdyn.bn_mean_field.settings import Propagation
from repdyn.bn_mean_field.simulation import gradient_flow
from repdyn.bn_mean_field.theory.checks import Array
from repdyn.bn_mean_field.theory.velocity import Population
from repdyn.bn_mean_field.transport import wasserstein2


def propagation(settings: Propagation, stream: Stream) -> xr.Dataset:
    """Flows of all widths from low-discrepancy and i.i.d. starts of one law, and of the reference."""
    starts = [("reference", settings.reference, 0, low_discrepancy_start(settings.reference))]
    starts += [("low discrepancy", m, 0, low_discrepancy_start(m)) for m in settings.widths]
    starts += [
        ("i.i.d.", m, seed, random_start(m, stream.generator(seed, m)))
        for m in settings.random_widths
        for seed in range(settings.seeds)
    ]
    model, progress = Population(ring(2), ANISOTROPIC), Progress("propagation", len(starts))
    flows = []
    for done, (_, _, _, start) in enumerate(starts):
        flows.append(gradient_flow(*start, model, settings.times, rtol=settings.tolerance, atol=1e-2 * settings.tolerance))
        progress.step(done + 1)
    run = np.repeat(np.arange(len(starts)), [m for _, m, _, _ in starts])
    return dataset(
        {
            "a": variable(("time", "particle"), np.concatenate([f.a for f in flows], axis=1), "output weight"),
            "angle": variable(
                ("time", "particle"),
                np.concatenate([np.arctan2(f.b[..., 1], f.b[..., 0]) for f in flows], axis=1),
                "direction of b",
                "radian",
            ),
            "loss": variable(("time", "run"), np.stack([f.loss for f in flows], axis=1), "population loss"),
        },
        {
            "time": variable("time", np.array(settings.times), "mean-field time"),
            "particle": index("particle", run.size, "particle, run by run"),
            "particle_run": variable("particle", run, "run of the particle"),
            "run": index("run", len(starts), "run"),
            "start": variable("run", np.array([s[0] for s in starts]), "kind of start"),
            "width": variable("run", np.array([s[1] for s in starts]), "neurons"),
            "seed": variable("run", np.array([s[2] for s in starts]), "draw of an i.i.d. start"),
        },
        title="Particle flows of growing width",
        figures="Theorem 4",
        claims=("bnm-thm4-conv",),
    )


def propagation_distances(settings: Propagation, propagation: xr.Dataset) -> xr.Dataset:
    """W2 on M of every run to the reference at every time, by exact transport."""
    systems = [_system(propagation, run) for run in range(propagation.sizes["run"])]
    distance = np.zeros((propagation.sizes["time"], len(systems)))
    progress = Progress("propagation_distances", len(systems) - 1)
    for run, measures in enumerate(systems[1:], start=1):
        for t, measure in enumerate(measures):
            distance[t, run] = wasserstein2(measure, systems[0][t], ANISOTROPIC)
        progress.step(run)
    loss = propagation["loss"].transpose("time", "run").values
    coords = {
        name: propagation[name].variable for name in ("time", "run", "start", "width", "seed")
    }
    return dataset(
        {
            "distance": variable(("time", "run"), distance, "W2 on M to the reference"),
            "loss_gap": variable(("time", "run"), np.abs(loss - loss[:, :1]), "|L - L of the reference|"),
            "reference_loss": variable("time", loss[:, 0], "loss of the reference"),
        },
        coords | {"reference": variable((), settings.reference, "neurons of the reference")},
        title="Distances of particle flows to the mean-field limit",
        figures="Theorem 4",
        claims=("bnm-thm4-conv",),
    )


def _system(propagation: xr.Dataset, run: int) -> list[tuple[Array, Array]]:
    """The run's particles at each time as (a, b)."""
    mine = propagation["particle_run"].values == run
    a, angle = (propagation[name].transpose("time", "particle").values[:, mine] for name in ("a", "angle"))
    return list(zip(a, np.stack([np.cos(angle), np.sin(angle)], axis=-1), strict=True))
