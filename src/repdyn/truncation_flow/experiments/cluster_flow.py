"""One cluster by itself: staircase of rates, printed against corrected flow, integrators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.coordinates import times_variable
from repdyn.truncation_flow.methods import occupation
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.flow import integrate_flow, scipy_flow
from repdyn.truncation_flow.methods.formula_audit import worst
from repdyn.truncation_flow.settings import Integrators, PrintedAndCorrected, Staircase
from repdyn.truncation_flow.theory import separated
from repdyn.truncation_flow.theory.staircase import Schedule, bias_flow, truncation_times, truncation_times_upward
from repdyn.truncation_flow.theory.truncation import truncate

STAIRCASES = {  # data, b(0), y
    "beyond": ((0.0, 1.0, 2.0, 3.0), 0.0, 4.0),
    "between": ((0.0, 1.0, 2.0, 3.0), 0.0, 1.5),
    "below": ((0.0, 1.0, 2.0, 3.0), 3.5, -1.0),
    "ties": ((0.0, 1.0, 1.0, 3.0), 0.0, 4.0),
    "at a point": ((0.0, 1.0, 2.0, 3.0), 0.0, 2.0),
    "frozen": ((0.0, 1.0, 2.0, 3.0), -0.5, 4.0),
}
LEAST_DISTANCE = 1e-3  # from the label, below which slopes of logarithms are the integrator's error
MISSING = {  # why entries of a staircase along these dimensions are none
    "station": "infinite where the point is never met, not a number where there is no such meeting",
    "stage": "no such stage, or fewer than two output times in it",
}
FORMULAS = ("printed", "corrected")
EXAMPLES = {  # point, pulled-back label; beta = 0, R = 1
    "rise": ((1.0, -1.0), (0.5, 0.0)),
    "spurious equilibrium": ((1.0, -1.0), (0.0, 0.0)),
}
SLIDING = np.array([[-0.2, -1.0]]), np.array([-1.0, -0.5])  # point and label: it sticks to u_1 = 0
SLIDING_TIMES = np.linspace(0.0, 8.0, 161)


def staircase(settings: Staircase) -> xr.Dataset:
    """Exact bias flow in all positions of the label, and the same by the event-driven integrator with Q = 1."""
    times = np.linspace(0.0, settings.horizon, settings.samples)
    cases = [_staircase(np.array(x), b0, y, times) for x, b0, y in STAIRCASES.values()]
    columns = {name: np.array([case[name] for case in cases]) for name in cases[0]}
    texts = {
        "b": ("time", "bias b(s) at fixed R, exact", "input"),
        "rate": ("time", "truncated share n/N, the rate -d log|y - b|/ds", "1/time"),
        "b_by_events": ("time", "bias by the event-driven integrator", "input"),
        "meeting": ("station", "time at which the next point is met, exact", "1"),
        "meeting_by_events": ("station", "the same by the event-driven integrator", "1"),
        "meeting_at_next_rate": ("station", "the same with the rate (n + 1)/N in place of n/N", "1"),
        "stage_rate": ("stage", "n/N in each stage", "1/time"),
        "stage_rate_untruncated": ("stage", "1 - n/N in each stage", "1/time"),
        "stage_slope": ("stage", "-d log|y - b|/ds in each stage, event-driven integrator", "1/time"),
    }
    variables = {name: variable(("case", dim), columns[name], text, unit) for name, (dim, text, unit) in texts.items()}
    for name, (dim, _, _) in texts.items():
        if dim in MISSING:
            variables[name].attrs["missing"] = MISSING[dim]
    variables |= {
        "printed_time": variable(
            "point", truncation_times_upward(STAIRCASES["beyond"][0], 4.0), "times of (4.49) for the case beyond"
        ),
        "printed_time_at_next_rate": variable(
            "point", np.concatenate(([0.0], columns["meeting_at_next_rate"][0, :3])), "the same with the rate (n + 1)/N"
        ),
        "label": variable("case", np.array([y for _, _, y in STAIRCASES.values()]), "label y", "input"),
        "x": variable(("case", "point"), np.array([x for x, _, _ in STAIRCASES.values()]), "data", "input"),
    }
    return dataset(
        variables,
        {
            "case": variable("case", np.array(list(STAIRCASES)), "position of the label"),
            "time": times_variable(times),
            "station": index("station", 4, "meeting"),
            "stage": index("stage", 5, "stage between meetings"),
            "point": index("point", 4, "data point"),
        },
        title="Bias flow at fixed weights: the staircase of rates",
    )


def _staircase(x: Array, b0: float, y: float, times: Array) -> dict[str, Array]:
    """Series and numbers of one case, filled up to four stations and five stages."""
    schedule, b = truncation_times(x, b0, y), bias_flow(x, b0, y, times)
    by_events, met = _by_events(x, b0, y, times)
    shares = np.pad(schedule.counts / 4, (0, 5 - len(schedule.counts)), constant_values=np.nan)
    meetings = {
        "meeting": schedule.times,
        "meeting_by_events": met,
        "meeting_at_next_rate": _times_at_next_rate(schedule),
    }
    return {
        "b": b,
        "rate": staircase_rate(x, b, y),
        "b_by_events": by_events,
        "stage_rate": shares,
        "stage_rate_untruncated": 1 - shares,
        "stage_slope": _stage_slopes(times, np.abs(y - by_events), schedule.times),
    } | {name: np.pad(part, (0, 4 - len(part)), constant_values=np.inf) for name, part in meetings.items()}


def _stage_slopes(times: Array, distance: Array, meetings: Array) -> Array:
    """Slope of -log(distance) between successive meetings, from the first and last output time of each stage."""
    edges = np.concatenate(([0.0], meetings[np.isfinite(meetings)], [times[-1]]))
    slopes = np.full(5, np.nan)
    for stage in range(len(edges) - 1):
        inside = np.flatnonzero((times >= edges[stage]) & (times <= edges[stage + 1]) & (distance > LEAST_DISTANCE))
        if len(inside) > 1:
            first, last = inside[0], inside[-1]
            slopes[stage] = np.log(distance[first] / distance[last]) / (times[last] - times[first])
    return slopes


def _times_at_next_rate(schedule: Schedule) -> Array:
    """Times of meeting if the rate were (n + 1)/N: every waiting time is n/(n + 1) of the true one."""
    waiting = np.diff(schedule.times[np.isfinite(schedule.times)], prepend=0.0)
    n = schedule.counts[: len(waiting)]
    return np.cumsum(waiting * n / (n + 1))


def staircase_rate(x: Array, b: Array, y: float) -> Array:
    """Rate n(b)/N at each b; on its way down b stops at the smallest point, where the rate is 0 (Filippov)."""
    truncated = np.mean(x[:, None] <= b[None, :], axis=0)
    return np.where((y < b) & (b <= x.min()), 0.0, truncated)


def _by_events(x: Array, b0: float, y: float, times: Array) -> tuple[Array, Array]:
    """The same flow as a cluster in R^1 under the event-driven integrator; b = -beta."""
    w = np.full(len(x), 1.0 / len(x))
    _, beta, events = event_flow(x[:, None], w, np.array([y]), np.eye(1), np.array([-b0]), times)
    return -beta[:, 0], np.array([event.time for event in events if event.time > 0])


def printed_and_corrected(settings: PrintedAndCorrected, stream: Stream) -> xr.Dataset:
    """Cost along both flows: two explicit examples and an ensemble of planar clusters."""
    times = np.linspace(0.0, settings.horizon, settings.samples)
    X, R, beta, yt = _examples()
    examples = _paths(X, R, beta, yt, times, settings.step)
    ensemble = _paths(*_ensemble(settings, stream), times, settings.step)
    along = ("formula", "example", "time")
    return dataset(
        {
            "example_cost": variable(along, _costs(examples), "cost of one point", "input^2"),
            "cost": variable(
                ("formula", "cluster", "time"), _costs(ensemble), "cost of a random planar cluster", "input^2"
            ),
            **_in_the_plane(X, examples, along),
            "example_point": variable(("example", "coordinate"), X[:, 0], "the point", "input"),
            "example_label": variable(("example", "coordinate"), yt, "its pulled-back label", "input"),
        },
        {
            "formula": variable("formula", np.array(FORMULAS), "weight flow as printed (3.22) or corrected"),
            "example": variable("example", np.array(list(EXAMPLES)), "one point, R = 1, beta = 0"),
            "cluster": index("cluster", settings.clusters, "random cluster"),
            "time": times_variable(times),
            "coordinate": index("coordinate", 2, "input coordinate"),
            "step": variable((), settings.step, "step of the scheme"),
            "points": variable((), settings.points, "points per cluster"),
        },
        title="Cost along the weight flow as printed and as corrected",
    )


def _paths(X: Array, R: Array, beta: Array, yt: Array, times: Array, step: float) -> list[xr.Dataset]:
    """Clusters along the flow by both formulas from equal starts."""
    return [integrate_flow(list(X), R, beta, yt, times, step=step, formula=formula) for formula in FORMULAS]


def _costs(paths: Sequence[xr.Dataset]) -> Array:
    """Cost of clusters by both formulas, shape (2, K, T)."""
    return np.array([path["cost"].values.T for path in paths])


def _in_the_plane(X: Array, paths: Sequence[xr.Dataset], along: tuple[str, ...]) -> dict[str, xr.Variable]:
    """Where apex and turn of the cone and image of a point are; the start has R = 1 and no reflection follows."""
    R, beta = (np.array([path[name].values.swapaxes(0, 1) for path in paths]) for name in ("R", "beta"))
    image = truncate(X[:, None], R, beta)[..., 0, :]
    turn = np.degrees(np.unwrap(np.arctan2(R[..., 1, 0], R[..., 0, 0])))
    return {
        "example_apex": variable((*along, "coordinate"), -beta, "apex of the cone", "input"),
        "example_turn": variable(along, turn, "angle of R", "degree"),
        "example_image": variable((*along, "coordinate"), image, "image of the point", "input"),
    }


def _examples() -> tuple[Array, Array, Array, Array]:
    """The single points as clusters: X, R, beta, yt."""
    X, yt = (np.array(part) for part in zip(*EXAMPLES.values(), strict=True))
    return X[:, None], np.array([np.eye(2)] * len(X)), np.zeros_like(yt), yt


def _ensemble(settings: PrintedAndCorrected, stream: Stream) -> tuple[Array, Array, Array, Array]:
    """Random planar clusters: X, R, beta, yt."""
    generator = stream.generator("clusters")
    K, N = settings.clusters, settings.points
    X, yt = generator.normal(size=(K, N, 2)), generator.normal(size=(K, 2))
    R = scipy.stats.ortho_group.rvs(2, size=K, random_state=generator)
    return X, R, -yt + 0.1 * generator.normal(size=(K, 2)), yt


def rotating_cluster(Q: int, N: int, generator: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """An anisotropic cluster whose weights turn visibly: X, R, beta, yt."""
    X = (
        generator.normal(size=(N, Q))
        * np.linspace(0.5, 1.5, Q)
        @ scipy.stats.ortho_group.rvs(Q, random_state=generator).T
    )
    return X, scipy.stats.ortho_group.rvs(Q, random_state=generator), -X.mean(axis=0), np.full(Q, 0.8)


def integrators(settings: Integrators, stream: Stream) -> xr.Dataset:
    """Error against right sides for each method, and the sliding example by all of them."""
    X, R, beta, yt = rotating_cluster(settings.dimension, settings.points, stream.generator("cluster"))
    ends, start = np.array([settings.horizon]), (X, np.full(settings.points, 1.0 / settings.points), yt, R, beta)
    *reference, crossings = event_flow(*start, ends)

    def error(computed: tuple[Array, Array]) -> float:
        return worst(*(path - right for path, right in zip(computed, reference, strict=True)))

    occupied = [error(occupation.occupation_flow(*start, ends, step=h)) for h in settings.steps]
    plain = [error(euler_flow(*start, ends, step=h)) for h in settings.steps]
    cap = settings.evaluations
    solved = [scipy_flow(X, R, beta, yt, ends, rtol=rtol, evaluations=cap) for rtol in settings.tolerances]
    steps = np.ceil(settings.horizon / np.array(settings.steps))
    variables = {
        "occupation_error": variable("step", np.array(occupied), "error of the occupation scheme in R and beta"),
        "occupation_cost": variable("step", occupation.RIGHT_SIDES * steps, "right sides, occupation scheme"),
        "euler_error": variable("step", np.array(plain), "error of Euler steps with Cayley retraction"),
        "euler_cost": variable("step", steps, "right sides, Euler"),
        "scipy_error": variable("tolerance", np.array([error(run[:2]) for run in solved]), "error of RK45"),
        "scipy_cost": variable("tolerance", np.array([run[2] for run in solved]), "right sides, RK45"),
        "crossings": variable((), len(crossings), "crossings of coordinate planes up to the last time"),
    }
    variables["scipy_error"].attrs["missing"] = "the cap on right sides was reached before the last time"
    variables |= _sliding_variables(settings)
    return dataset(
        variables,
        {
            "step": variable("step", np.array(settings.steps), "step of the fixed-step schemes"),
            "tolerance": variable("tolerance", np.array(settings.tolerances), "relative tolerance of RK45"),
            "time": times_variable(SLIDING_TIMES),
            "points": variable((), settings.points, "points of the cluster"),
            "dimension": variable((), settings.dimension, "dimension Q"),
            "evaluations": variable((), cap, "cap on right sides"),
        },
        title="Accuracy of integrators against their cost, and sliding",
    )


def _sliding_variables(settings: Integrators) -> dict[str, xr.Variable]:
    """The point that sticks to u_1 = 0: exactly, by the occupation scheme, by solve_ivp until its cap."""
    X, yt = SLIDING
    eye, zero, w = np.eye(2), np.zeros(2), np.ones(1)
    cap = min(settings.evaluations, 20_000)

    def first_coordinate(R: Array, beta: Array) -> Array:
        return occupation.pre_activation(X, R, beta)[:, 0, 0]

    exact = integrate_flow([X], eye[None], zero[None], yt[None], SLIDING_TIMES, "events").isel(cluster=0)
    u = first_coordinate(exact["R"].values, exact["beta"].values)
    stuck = first_coordinate(*scipy_flow(X, eye, zero, yt, SLIDING_TIMES, rtol=1e-6, evaluations=cap)[:2])
    by_step = [
        first_coordinate(*occupation.occupation_flow(X, w, yt, eye, zero, SLIDING_TIMES, step=h))
        for h in settings.steps
    ]
    last = float(SLIDING_TIMES[np.isfinite(stuck)].max())
    variables = {
        "sliding_u": variable("time", u, "u_1(s), event-driven", "input"),
        "sliding_u_occupation": variable("time", by_step[-1], "u_1(s), occupation, largest step", "input"),
        "sliding_u_scipy": variable("time", stuck, "u_1(s), RK45 until its cap", "input"),
        "sliding_cost": variable("time", exact["cost"].values, "cost, event-driven", "input^2"),
        "sliding_error": variable(
            "step", np.abs(np.array(by_step) - u).max(axis=1), "largest error of u_1, occupation scheme", "input"
        ),
        "sliding_reached": variable((), last, "last output time that RK45 reached within its cap"),
        "sliding_cap": variable((), cap, "cap on right sides of RK45"),
    }
    variables["sliding_u_scipy"].attrs["missing"] = "RK45 stalls: its cap on right sides is reached"
    return variables


def euler_flow(
    X: Array, w: Array, yt: Array, R: Array, beta: Array, times: Array, *, step: float
) -> tuple[Array, Array]:
    """Euler steps with the pattern at their start and Cayley retraction, what plain gradient descent does."""

    def advance(state: tuple[Array, ...], h: float) -> tuple[Array, ...]:
        R, beta = state
        u, b = occupation.pre_activation(X, R, beta), occupation.residual_bias(R, beta, yt)
        H = (u > 0).astype(np.float64)
        velocity = separated.generator(H, u, b, w), separated.bias_velocity(H, R, b, w)
        return occupation.moved(state, velocity, h)

    R_at, beta_at = occupation.stacked(occupation.states_at(times, step, (R, beta), advance))
    return R_at, beta_at
