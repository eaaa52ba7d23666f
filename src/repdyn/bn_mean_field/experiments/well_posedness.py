"""Well-posedness in section 3.2 of Ma and Ying: flows from neighboring starts, and the estimate before eq. (20)."""

from __future__ import annotations

import numpy as np
import scipy
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.edge_flows import KINK_SLOPES, distance_moved, distance_required, sliding_rates
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, circle, directions
from repdyn.bn_mean_field.settings import WellPosedness
from repdyn.bn_mean_field.theory import bounds
from repdyn.bn_mean_field.theory.manifold import geodesic_distance, normalize
from repdyn.bn_mean_field.theory.velocity import empirical_velocity

CORNERS = np.sqrt(2) * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])  # mean 0, covariance I
LABELS = np.array([0.0, 0.0, 1.0, 0.0])
ACTIVATIONS = ("relu", "erf")
INPUTS = 48
CLOUD = 8  # neurons of a system whose neighbor is compared with it as a whole


def well_posedness(settings: WellPosedness, stream: Stream) -> xr.Dataset:
    """Flows from neighboring starts and beside an edge, and integrals of a sigma over pairs of point masses."""
    gaps = np.array(settings.gaps)
    ends = [[_gap_at_end(gap, activation, settings.time) for gap in gaps] for activation in ACTIVATIONS]
    clouds = [
        [_distance_at_end(gap, activation, settings.time, stream.generator("cloud")) for gap in gaps]
        for activation in ACTIVATIONS
    ]
    radii = np.array(settings.radii)
    pairs = np.array([_pairs(r, stream.generator(place), settings.draws) for place, r in enumerate(radii)])
    constants = {name: np.array([_constants(r)[name] for r in radii]) for name in ("printed", "corrected")}
    return dataset(
        {
            "gap_at_end": variable(("activation", "gap"), np.array(ends), "angle between the two flows", "radian"),
            "cloud_distance": variable(
                ("activation", "gap"),
                np.array(clouds),
                f"mean distance of {CLOUD} neurons to their neighbors at the end",
            ),
            "change": variable(("radius", "draw"), pairs[:, 0], "E_x |a sigma(bbar^T x) - a' sigma(bbar'^T x)|"),
            "distance": variable(("radius", "draw"), pairs[:, 1], "bounded-Lipschitz distance of the point masses"),
            "constant_printed": variable("radius", constants["printed"], "r (sigma(0) + L C_b C_x)"),
            "constant": variable("radius", constants["corrected"], "the larger of it and the Lipschitz constant"),
            "edge_moved": variable(
                ("activation", "gap"),
                np.array([[distance_moved(gap, name, settings.time) for gap in gaps] for name in ACTIVATIONS]),
                "angle by which neurons that start the gap from an edge turn",
                "radian",
            ),
            "edge_required": variable(
                ("activation", "kink_slope"),
                np.array(
                    [[distance_required(slope, name, settings.time) for slope in KINK_SLOPES] for name in ACTIVATIONS]
                ),
                "angle by which eq. (14) turns the limit of these neurons",
                "radian",
            ),
            "sliding_rate": variable("side", sliding_rates(), "turning speed beside and on an edge", "radian"),
        },
        {
            "activation": variable("activation", np.array(ACTIVATIONS), "activation"),
            "gap": variable("gap", gaps, "angle between the two starts", "radian"),
            "radius": variable("radius", radii, "bound r of |a|"),
            "kink_slope": variable("kink_slope", np.array(KINK_SLOPES), "sigma'(0) of ReLU"),
            "side": variable("side", np.array(["left", "on it", "right"]), "side of the edge"),
            "draw": index("draw", pairs.shape[2], "pair of points of M; the first differs in a alone"),
            "time": variable((), settings.time, "mean-field time"),
        },
        title="Flows from neighboring starts, and the bounded-Lipschitz estimate",
    )


def _gap_at_end(gap: float, activation: str, time: float) -> float:
    """One neuron at the edge of the half-space of an input that pulls it in, and one turned towards it."""
    ends = [_flow(np.array([np.cos(start), np.sin(start)]), activation, time) for start in (0.0, gap)]
    return float(abs(np.arctan2(ends[1][1], ends[1][0]) - np.arctan2(ends[0][1], ends[0][0])))


def _flow(b: Array, activation: str, time: float) -> Array:
    def velocity(_: float, state: Array) -> Array:
        da, db, _ = empirical_velocity(state[:1], state[None, 1:], CORNERS, LABELS, activation=activation)
        return np.concatenate([da, db[0]])

    start = np.concatenate([[1.0], b])
    return scipy.integrate.solve_ivp(velocity, (0, time), start, rtol=1e-10, atol=1e-12).y[1:, -1]


def _distance_at_end(gap: float, activation: str, time: float, rng: np.random.Generator) -> float:
    """Mean distance of paired neurons of two systems, all moved by the gap in a and angle at the start.

    The first neuron lies at the edge of a half-space, the others have small random a. At equal widths this bounds W_1.
    """
    a, turn = np.append(1.0, rng.uniform(-0.5, 0.5, CLOUD - 1)), np.append(0.0, rng.uniform(0, 2 * np.pi, CLOUD - 1))
    ends = [_cloud_flow(a + move, directions(turn + move), activation, time) for move in (0.0, gap)]
    (a, b), (other_a, other_b) = ends
    across = b[:, 0] * other_b[:, 1] - b[:, 1] * other_b[:, 0]
    return float(np.hypot(a - other_a, np.arctan2(across, np.sum(b * other_b, axis=1))).mean())


def _cloud_flow(a: Array, b: Array, activation: str, time: float) -> tuple[Array, Array]:
    def velocity(_: float, state: Array) -> Array:
        da, db, _ = empirical_velocity(
            state[:CLOUD], state[CLOUD:].reshape(CLOUD, 2), CORNERS, LABELS, activation=activation
        )
        return np.concatenate([da, db.ravel()])

    start = np.concatenate([a, b.ravel()])
    end = scipy.integrate.solve_ivp(velocity, (0, time), start, rtol=1e-10, atol=1e-12).y[:, -1]
    return end[:CLOUD], end[CLOUD:].reshape(CLOUD, 2)


def _pairs(r: float, rng: np.random.Generator, draws: int) -> tuple[Array, Array]:
    """Pairs of points of M_r: what the network changes by, and their distance; ReLU, inputs on an ellipse."""
    x = np.sqrt(2) * circle(INPUTS) @ np.sqrt(ANISOTROPIC)
    a, turn = rng.uniform(-r, r, (2, draws)), rng.uniform(0, 2 * np.pi, (2, draws))
    turn[1, 0] = turn[0, 0]
    b = normalize(directions(turn), ANISOTROPIC)
    outputs = a[..., None] * np.maximum(b @ x.T, 0)
    distance = np.diagonal(geodesic_distance(a[0], b[0], a[1], b[1]))
    return np.abs(outputs[0] - outputs[1]).mean(axis=-1), np.minimum(2.0, distance)


def _constants(r: float) -> dict[str, float]:
    variances = np.diag(ANISOTROPIC)
    largest, longest = np.sqrt(2 * variances.max()), 1 / np.sqrt(variances.min())
    arguments = r, largest * longest, largest * longest, variances.max() / variances.min()
    return {
        "printed": bounds.bounded_lipschitz_constant_as_printed(*arguments[:2]),
        "corrected": bounds.bounded_lipschitz_constant(*arguments),
    }
