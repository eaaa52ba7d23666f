"""One cluster by itself: staircase of rates, printed against corrected flow, integrators."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import ortho_group

from repdyn.base.checks import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments.coordinates import times_variable
from repdyn.truncation_flow.methods import occupation
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.flow import integrate_flow, scipy_flow
from repdyn.truncation_flow.settings import Integrators, PrintedAndCorrected, Staircase
from repdyn.truncation_flow.theory import separated
from repdyn.truncation_flow.theory.staircase import Schedule, bias_flow, truncation_times, truncation_times_upward

STAIRCASES = {  # data, b(0), y
    "beyond": ((0.0, 1.0, 2.0, 3.0), 0.0, 4.0),
    "between": ((0.0, 1.0, 2.0, 3.0), 0.0, 1.5),
    "below": ((0.0, 1.0, 2.0, 3.0), 3.5, -1.0),
    "ties": ((0.0, 1.0, 1.0, 3.0), 0.0, 4.0),
    "at a point": ((0.0, 1.0, 2.0, 3.0), 0.0, 2.0),
    "frozen": ((0.0, 1.0, 2.0, 3.0), -0.5, 4.0),
}
LEAST_DISTANCE = 1e-3  # from the label, below which slopes of logarithms are the integrator's error
FORMULAS = ("printed", "corrected")
EXAMPLES = {  # point, pulled-back label; beta = 0, R = 1
    "rise": ((1.0, -1.0), (0.5, 0.0)),
    "spurious equilibrium": ((1.0, -1.0), (0.0, 0.0)),
}


def staircase(settings: Staircase) -> xr.Dataset:
    """Exact bias flow in all positions of the label, and the same by the event-driven integrator with Q = 1."""
    times = np.linspace(0.0, settings.horizon, settings.samples)
    shape = (len(STAIRCASES), settings.samples)
    b, rate, reference = np.empty((3, *shape))
    meetings, expected, wrong = np.full((3, len(STAIRCASES), 4), np.inf)
    counts, slopes = np.full((2, len(STAIRCASES), 5), np.nan)
    for case, (x, b0, y) in enumerate(STAIRCASES.values()):
        schedule = truncation_times(x, b0, y)
        b[case] = bias_flow(x, b0, y, times)
        rate[case] = staircase_rate(np.array(x), b[case], y)
        solution = _by_events(np.array(x), b0, y, times)
        reference[case] = solution[0]
        meetings[case, : len(schedule.times)] = schedule.times
        expected[case, : len(solution[1])] = solution[1]
        counts[case, : len(schedule.counts)] = schedule.counts
        wrong[case, : len(schedule.times)] = _times_at_next_rate(schedule)
        slopes[case] = _stage_slopes(times, np.abs(y - reference[case]), schedule.times)
    never = {"missing": "infinite where the point is never met, not a number where there is no such meeting"}
    variables = {
        "b": variable(("case", "time"), b, "bias b(s) at fixed R, exact", "input"),
        "rate": variable(("case", "time"), rate, "truncated share n/N, the rate -d log|y - b|/ds", "1/time"),
        "b_by_events": variable(("case", "time"), reference, "bias by the event-driven integrator", "input"),
        "meeting": variable(("case", "station"), meetings, "time at which the next point is met, exact"),
        "meeting_by_events": variable(("case", "station"), expected, "the same by the event-driven integrator"),
        "meeting_at_next_rate": variable(
            ("case", "station"), wrong, "the same with the rate (n + 1)/N in the place of n/N"
        ),
        "count": variable(("case", "stage"), counts, "points truncated in each stage"),
        "printed_time": variable(
            "point", truncation_times_upward(STAIRCASES["beyond"][0], 4.0), "times of (4.49) for the case beyond"
        ),
        "printed_time_at_next_rate": variable(
            "point", np.concatenate(([0.0], wrong[0, :3])), "the same with the rate (n + 1)/N"
        ),
        "label": variable("case", np.array([y for _, _, y in STAIRCASES.values()]), "label y", "input"),
        "x": variable(("case", "point"), np.array([x for x, _, _ in STAIRCASES.values()]), "data", "input"),
    }
    shares = counts / 4
    variables |= {
        "stage_rate": variable(("case", "stage"), shares, "n/N in each stage", "1/time"),
        "stage_rate_untruncated": variable(("case", "stage"), 1 - shares, "1 - n/N in each stage", "1/time"),
        "stage_slope": variable(
            ("case", "stage"), slopes, "-d log|y - b|/ds in each stage, event-driven integrator", "1/time"
        ),
    }
    for name in ("meeting", "meeting_by_events", "meeting_at_next_rate", "count"):
        variables[name].attrs |= never
    for name in ("stage_rate", "stage_rate_untruncated", "stage_slope"):
        variables[name].attrs["missing"] = "no such stage, or fewer than two output times in it"
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
    n = schedule.counts[:-1]
    waiting = np.diff(schedule.times[np.isfinite(schedule.times)], prepend=0.0)
    times = np.full(len(schedule.times), np.inf)
    times[: len(waiting)] = np.cumsum(waiting * n[: len(waiting)] / (n[: len(waiting)] + 1))
    return times


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
    example, speed = _examples(settings, times)
    ensemble, dissipation = _ensemble(settings, times, stream)
    dims = ("formula", "cluster", "time")
    return dataset(
        {
            "example_cost": variable(("formula", "example", "time"), example, "cost of one point", "input^2"),
            "example_speed": variable(("formula", "example"), speed, "speed at the start, |d(beta)| + |Omega|"),
            "cost": variable(dims, ensemble, "cost of a random planar cluster", "input^2"),
            "dissipation": variable(dims, dissipation, "-|Jp b|^2 - Tr(Omega^T Omega) along the flow", "input^2/time"),
        },
        {
            "formula": variable("formula", np.array(FORMULAS), "weight flow as printed (3.22) or corrected"),
            "example": variable("example", np.array(list(EXAMPLES)), "one point, R = 1, beta = 0"),
            "cluster": index("cluster", settings.clusters, "random cluster"),
            "time": times_variable(times),
            "step": variable((), settings.step, "step of the scheme"),
            "points": variable((), settings.points, "points per cluster"),
        },
        title="Cost along the weight flow as printed and as corrected",
    )


def _examples(settings: PrintedAndCorrected, times: Array) -> tuple[Array, Array]:
    """Cost and speed at the start of the single points, by formula and example."""
    X = [np.array([x]) for x, _ in EXAMPLES.values()]
    yt, eye, zero = np.array([label for _, label in EXAMPLES.values()]), np.eye(2), np.zeros(2)
    cost, speed = [], []
    for formula in FORMULAS:
        path = integrate_flow(X, [eye] * len(X), np.zeros_like(yt), yt, times, step=settings.step, formula=formula)
        starts = [separated.effective_gradient(x, eye, zero, y, formula=formula) for x, y in zip(X, yt, strict=True)]
        cost.append(path["cost"].values.T)
        speed.append([np.linalg.norm(start.dbeta) + np.linalg.norm(start.Omega) for start in starts])
    return np.array(cost), np.array(speed)


def _ensemble(settings: PrintedAndCorrected, times: Array, stream: Stream) -> tuple[Array, Array]:
    """Cost and dissipation of random planar clusters, both formulas from equal starts."""
    generator = stream.generator("clusters")
    K, N = settings.clusters, settings.points
    X, yt = generator.normal(size=(K, N, 2)), generator.normal(size=(K, 2))
    R = ortho_group.rvs(2, size=K, random_state=generator)
    beta = -yt + 0.1 * generator.normal(size=(K, 2))
    paths = [integrate_flow(list(X), R, beta, yt, times, step=settings.step, formula=formula) for formula in FORMULAS]
    return tuple(np.array([path[name].values.T for path in paths]) for name in ("cost", "dissipation"))


def rotating_cluster(Q: int, N: int, generator: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """An anisotropic cluster whose weights turn visibly: X, R, beta, yt."""
    X = generator.normal(size=(N, Q)) * np.linspace(0.5, 1.5, Q) @ ortho_group.rvs(Q, random_state=generator).T
    return X, ortho_group.rvs(Q, random_state=generator), -X.mean(axis=0), np.full(Q, 0.8)


def integrators(settings: Integrators, stream: Stream) -> xr.Dataset:
    """Error against right sides for each method, and the sliding example by all of them."""
    X, R, beta, yt = rotating_cluster(settings.dimension, settings.points, stream.generator("cluster"))
    ends, w = np.array([settings.horizon]), np.full(settings.points, 1.0 / settings.points)
    reference = event_flow(X, w, yt, R, beta, ends)
    start = (X, w, yt, R, beta)

    def error(found: tuple[Array, Array]) -> float:
        return float(max(np.abs(found[0][-1] - reference[0][-1]).max(), np.abs(found[1][-1] - reference[1][-1]).max()))

    occupied = [error(occupation.occupation_flow(*start, ends, step=h)) for h in settings.steps]
    plain = [error(euler_flow(*start, ends, step=h)) for h in settings.steps]
    solved = [
        scipy_flow(X, R, beta, yt, ends, rtol=rtol, evaluations=settings.evaluations) for rtol in settings.tolerances
    ]
    steps = np.ceil(settings.horizon / np.array(settings.steps))
    missing = {"missing": "the cap on right sides was reached before the last time"}
    variables = {
        "occupation_error": variable("step", np.array(occupied), "error of the occupation scheme in R and beta"),
        "occupation_cost": variable("step", occupation.RIGHT_SIDES * steps, "right sides, occupation scheme"),
        "euler_error": variable("step", np.array(plain), "error of Euler steps with Cayley retraction"),
        "euler_cost": variable("step", steps, "right sides, Euler"),
        "scipy_error": variable("tolerance", np.array([error(run[:2]) for run in solved]), "error of RK45", "1"),
        "scipy_cost": variable("tolerance", np.array([run[2] for run in solved]), "right sides, RK45"),
        "crossings": variable((), len(reference[2]), "crossings of coordinate planes up to the last time"),
    }
    variables["scipy_error"].attrs |= missing
    variables |= _sliding_variables(settings)
    return dataset(
        variables,
        {
            "step": variable("step", np.array(settings.steps), "step of the fixed-step schemes"),
            "tolerance": variable("tolerance", np.array(settings.tolerances), "relative tolerance of RK45"),
            "time": times_variable(SLIDING_TIMES),
            "points": variable((), settings.points, "points of the cluster"),
            "dimension": variable((), settings.dimension, "dimension Q"),
            "evaluations": variable((), settings.evaluations, "cap on right sides"),
        },
        title="Accuracy of integrators against their cost, and sliding",
    )


SLIDING_TIMES = np.linspace(0.0, 8.0, 161)
SLIDING = (np.array([[-0.2, -1.0]]), np.array([-1.0, -0.5]))


def _sliding_variables(settings: Integrators) -> dict[str, xr.Variable]:
    """The point that sticks to u_1 = 0: exactly, by the occupation scheme, by solve_ivp until its cap."""
    X, yt = SLIDING
    eye, zero, w = np.eye(2), np.zeros(2), np.ones(1)
    R, beta, _ = event_flow(X, w, yt, eye, zero, SLIDING_TIMES)
    coarse = occupation.occupation_flow(X, w, yt, eye, zero, SLIDING_TIMES, step=max(settings.steps))
    cap = min(settings.evaluations, 20_000)
    stuck = scipy_flow(X, eye, zero, yt, SLIDING_TIMES, rtol=1e-6, evaluations=cap)

    def first_coordinate(R: Array, beta: Array) -> Array:
        return occupation.pre_activation(X, R, beta)[:, 0, 0]

    def cost(R: Array, beta: Array) -> Array:
        u, b = occupation.pre_activation(X, R, beta), occupation.residual_bias(R, beta, yt)
        return separated.cost((u > 0).astype(np.float64), u, b, np.ones((len(R), 1)))

    errors = []
    for h in settings.steps:
        path = occupation.occupation_flow(X, w, yt, eye, zero, SLIDING_TIMES, step=h)
        errors.append(float(np.abs(first_coordinate(*path) - first_coordinate(R, beta)).max()))
    last = float(SLIDING_TIMES[np.isfinite(stuck[1][:, 0])].max())
    variables = {
        "sliding_u": variable("time", first_coordinate(R, beta), "u_1(s), event-driven", "input"),
        "sliding_u_occupation": variable(
            "time", first_coordinate(*coarse), "u_1(s), occupation, largest step", "input"
        ),
        "sliding_u_scipy": variable("time", first_coordinate(*stuck[:2]), "u_1(s), RK45 until its cap", "input"),
        "sliding_cost": variable("time", cost(R, beta), "cost, event-driven", "input^2"),
        "sliding_error": variable("step", np.array(errors), "largest error of u_1, occupation scheme", "input"),
        "sliding_reached": variable((), last, "last output time that RK45 reached within its cap"),
        "sliding_cap": variable((), cap, "cap on right sides of RK45"),
    }
    variables["sliding_u_scipy"].attrs["missing"] = "RK45 stalls: its cap on right sides is reached"
    return variables


def euler_flow(
    X: Array, w: Array, yt: Array, R: Array, beta: Array, times: Array, *, step: float
) -> tuple[Array, Array]:
    """Euler steps with the pattern at their start and Cayley retraction, what plain gradient descent does."""

    def advance(state: tuple[Array, Array], h: float) -> tuple[Array, Array]:
        R, beta = state
        u, b = occupation.pre_activation(X, R, beta), occupation.residual_bias(R, beta, yt)
        H = (u > 0).astype(np.float64)
        return occupation.moved(state, (separated.generator(H, u, b, w), separated.bias_velocity(H, R, b, w)), h)

    return occupation.stacked(occupation.states_at(times, step, (R, beta), advance))
