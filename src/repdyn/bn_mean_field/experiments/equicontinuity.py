"""The inequalities in the proof of Theorem 4 along particle flows: equicontinuity, weak form, exit times."""

from __future__ import annotations

import numpy as np
import scipy
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, variable
from repdyn.bn_mean_field.methods.optimal_transport import coupled_distance, wasserstein2
from repdyn.bn_mean_field.methods.particle_flows import Trajectory, gradient_flow, velocities_along
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, low_discrepancy_start, ring
from repdyn.bn_mean_field.settings import Equicontinuity
from repdyn.bn_mean_field.theory import bounds
from repdyn.bn_mean_field.theory.manifold import normalize
from repdyn.bn_mean_field.theory.velocity import Population

DIFFERENCE = 1e-5  # of the loss along the velocity: error 1e-10 + rounding 1e-11
WEAK_TESTS = ("t", "sin(angle) + a", "sin(pi t / T) (sin(angle) + a)")


def equicontinuity(settings: Equicontinuity) -> xr.Dataset:
    """Distances between all pairs of times along one flow, their bounds, dissipation and the weak form."""
    model = Population(ring(2), ANISOTROPIC)
    times = np.linspace(0, settings.time, settings.frames)
    flow = gradient_flow(*low_discrepancy_start(settings.width), model, times)
    frames = np.arange(0, settings.frames, settings.pair_stride)
    coupled, chord, exact = _distances(flow, frames, settings.transport_stride // settings.pair_stride)
    da, db, _ = velocities_along(flow.a, flow.b, model)
    pairs = ("time", "later")
    short = times[frames]
    variables = {
        "coupled": variable(pairs, coupled, "mean squared distance on M of each particle at two times"),
        "chord": variable(pairs, chord, "the same with chords (a, bbar) instead of geodesics"),
        "w2": variable(pairs, exact, "squared W2 on M, exact"),
        "bound": variable(pairs, bounds.equicontinuity_bound(flow.loss[frames], short), "(t'-t)(L(t)-L(t'))"),
        "bound_printed": variable(
            pairs, bounds.equicontinuity_bound_as_printed(flow.loss[frames], short), "(t'-t) L(t')"
        ),
        "bound_without_time": variable(
            pairs,
            bounds.equicontinuity_bound(flow.loss[frames], short) / bounds.lags(short),
            "L(t)-L(t'), t'-t left out",
        ),
        "loss": variable("frame", flow.loss, "population loss"),
        **_dissipation(model, flow, da, db),
        **_weak_form(flow, da, db),
    }
    for name in ("coupled", "chord", "bound", "bound_printed", "bound_without_time"):
        variables[name].attrs["missing"] = "not a pair with t < t'"
    variables["w2"].attrs["missing"] = "not a pair with t < t', or not among the pairs with exact transport"
    return dataset(
        variables,
        {
            "time": variable("time", short, "earlier mean-field time"),
            "later": variable("later", short, "later mean-field time"),
            "frame": variable("frame", times, "mean-field time of the fine grid"),
            "test": variable("test", np.array(WEAK_TESTS), "test function of the weak form"),
            "width": variable((), settings.width, "neurons"),
        },
        title="Equicontinuity, dissipation and weak form along one flow",
    )


def _distances(flow: Trajectory, frames: NDArray[np.intp], stride: int) -> tuple[Array, Array, Array]:
    coupled, chord, exact = (np.full((len(frames), len(frames)), np.nan) for _ in range(3))
    measures = [(flow.a[k], flow.b[k]) for k in frames]
    for i, j in zip(*np.triu_indices(len(frames), 1), strict=True):
        coupled[i, j] = coupled_distance(measures[i], measures[j], ANISOTROPIC) ** 2
        chord[i, j] = coupled_distance(measures[i], measures[j], ANISOTROPIC, "chord") ** 2
        if i % stride == 0 and j % stride == 0:
            exact[i, j] = wasserstein2(measures[i], measures[j], ANISOTROPIC) ** 2
    return coupled, chord, exact


def _dissipation(model: Population, flow: Trajectory, da: Array, db: Array) -> dict[str, xr.Variable]:
    """dL/dt by differencing the loss along the velocity, and minus the mean squared speed in two norms."""
    moved = [(flow.a + s * DIFFERENCE * da, flow.b + s * DIFFERENCE * db) for s in (1, -1)]
    up, down = (velocities_along(a, b, model)[2] for a, b in moved)
    # b has unit length, so |b'| is the angular speed, the norm of bbar' in G
    metric = -np.mean(da**2 + np.sum(db**2, axis=-1), axis=-1)
    ahead, behind = (normalize(b, ANISOTROPIC) for _, b in moved)
    chord = (ahead - behind) / (2 * DIFFERENCE)
    euclidean = -np.mean(da**2 + np.sum(chord**2, axis=-1), axis=-1)
    return {
        "rate": variable("frame", (up - down) / (2 * DIFFERENCE), "dL/dt, central difference"),
        "rate_metric": variable("frame", metric, "-(1/m) sum (|a'|^2 + |bbar'|_G^2)"),
        "rate_euclidean": variable("frame", euclidean, "-(1/m) sum (|a'|^2 + |bbar'|^2), Euclidean norm"),
        "rate_printed": variable("frame", -euclidean, "(1/m) sum (|a'|^2 + |bbar'|^2), as printed"),
    }


def _weak_form(flow: Trajectory, da: Array, db: Array) -> dict[str, xr.Variable]:
    """Left side of the weak form and the boundary term that the paper drops; the third function is 0 at both ends."""
    angle = np.arctan2(flow.b[..., 1], flow.b[..., 0])
    turning = (flow.b[..., 0] * db[..., 1] - flow.b[..., 1] * db[..., 0]) / np.sum(flow.b**2, axis=-1)
    growth = np.mean(np.cos(angle) * turning + da, axis=-1)
    mean = np.mean(np.sin(angle) + flow.a, axis=-1)
    span = flow.times[-1] - flow.times[0]
    phase = np.pi * (flow.times - flow.times[0]) / span
    ended = np.pi / span * np.cos(phase) * mean + np.sin(phase) * growth
    left = [span, scipy.integrate.simpson(growth, x=flow.times), scipy.integrate.simpson(ended, x=flow.times)]
    boundary = [span, mean[-1] - mean[0], 0.0]
    return {
        "weak_left": variable("test", np.array(left), "left side of the weak form over the whole time"),
        "weak_boundary": variable("test", np.array(boundary), "boundary term of the test function"),
        "weak_printed": variable("test", np.zeros(len(left)), "right side of the weak form as printed"),
    }
