"""Every equation of the theory against an independent derivation: complex steps, solvers, the unreduced flow.

One function per equation; each takes a generator and returns `Errors` on one random case, relative to the size of what
is compared; for signs 0 (as stated) or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from repdyn.base.arrays import Array
from repdyn.base.formula_audit import Errors, holds, relative_error
from repdyn.universality.methods.random_cases import (
    Case,
    lifted_flow,
    matrix_flow,
    opposed,
    random_case,
    random_network,
)
from repdyn.universality.theory import effective, equations, final, identical, linearized
from repdyn.universality.theory.linearized import Linearized

STEP = 1e-30


def gradient(generator: np.random.Generator) -> Errors:
    """(17), last lines, against complex steps of the loss (16)."""
    state, points = random_network(generator)
    wanted = _complex_gradient(state, points)
    right, printed = linearized.loss_gradient(state, points), linearized.loss_gradient_as_printed(state, points)
    wrong = right._replace(D_y=-right.D_y)
    return Errors(*(_largest(form, wanted) for form in (printed, right, wrong)))


def gradient_middle(generator: np.random.Generator) -> Errors:
    """(17), middle lines, averaged over the two points."""
    state, points = random_network(generator)
    wanted = _complex_gradient(state, points)
    middle, wrong = linearized.middle_lines(state, points), linearized.loss_gradient_as_printed(state, points)
    return holds(_largest(middle, wanted), _largest(wrong, wanted))


def _largest(parts: Iterable[Array], wanted: Iterable[Array]) -> float:
    """The largest relative error of several arrays."""
    return max(relative_error(part, right) for part, right in zip(parts, wanted, strict=True))


def _complex_gradient(state: Linearized, points: linearized.Points) -> Linearized:
    parts = []
    for name, part in state._asdict().items():
        slopes = np.empty(part.shape)
        for place in np.ndindex(part.shape):
            moved = part.astype(complex)
            moved[place] += 1j * STEP
            slopes[place] = linearized.linear_loss(state._replace(**{name: moved}), points).imag / STEP
        parts.append(slopes)
    return Linearized(*parts)


def mean_output(generator: np.random.Generator) -> Errors:
    """(18) against the matrix flow of (17), in which ybar is decoupled."""
    state, points = random_network(generator)
    eta, t = (0.3, 0.2, 0.7), np.linspace(0, 3, 7)
    flow = matrix_flow(state, points, *eta, t)
    m = (points.y1 + points.y2) / 2
    right = effective.mean_prediction(t[:, None], state.ybar, m, eta[2])
    wrong = effective.mean_prediction(t[:, None], state.ybar, m, 2 * eta[2])
    return holds(relative_error(right, flow.ybar), relative_error(wrong, flow.ybar))


def reduction(generator: np.random.Generator) -> Errors:
    """(7), (20), (21) against the matrix flow with the printed factor 1/2, from a start that meets (19); else not."""
    state, points = random_network(generator)
    d = points.x2 - points.x1
    eta_h, eta_y, t = 0.2, 0.3, np.linspace(0, 8, 17)
    dh, v = state.D_h @ d, state.D_y @ state.D_h @ d
    D_h, D_y = linearized.aligned(dh, v, d)
    aligned = state._replace(D_h=D_h, D_y=D_y)
    return holds(*(_against_closed_form(start, points, eta_h, eta_y, t) for start in (aligned, state)))


def _against_closed_form(state: Linearized, points: linearized.Points, eta_h: float, eta_y: float, t: Array) -> float:
    flow = matrix_flow(state, points, eta_h, eta_y, 1.0, t, printed=True)
    d, target = points.x2 - points.x1, points.y2 - points.y1
    dh = flow.D_h @ d
    dy = np.einsum("tij,tj->ti", flow.D_y, dh)
    seen = np.stack([(dh**2).sum(1), (dy**2).sum(1), (dy**2).sum(1) - dy @ target])
    h0, y0, w0 = seen[:, 0]
    theory = effective.effective_solution(t, h0, y0, w0, eta_h, eta_y, d @ d, target @ target)
    return relative_error(seen, theory)


def loss_curve(generator: np.random.Generator) -> Errors:
    """(9), (22) against the loss (16) along the matrix flow."""
    state, points = random_network(generator)
    d, target = points.x2 - points.x1, points.y2 - points.y1
    eta_b, t = 0.7, np.linspace(0, 5, 11)
    flow = matrix_flow(state, points, 0.2, 0.3, eta_b, t)
    wanted = np.array([linearized.linear_loss(Linearized(*moment), points) for moment in zip(*flow, strict=True)]).real
    dy = np.einsum("tij,tjk,k->ti", flow.D_y, flow.D_h, d)
    y, w, dy2 = (dy**2).sum(1), (dy**2).sum(1) - dy @ target, target @ target
    offset = ((state.ybar - (points.y1 + points.y2) / 2) ** 2).sum()
    right = effective.effective_loss(t, y, w, dy2, offset, eta_b)
    wrong = effective.effective_loss(t, 0 * y, w, 0.0, offset, eta_b)
    return holds(relative_error(right, wanted), relative_error(wrong, wanted))


def invariant(generator: np.random.Generator) -> Errors:
    """(23), (24): y/h - kappa h along (7), solved numerically; control: the two rates exchanged."""
    case = random_case(generator)
    h, y, _w = _solve(case, np.linspace(0, case.span, 21))
    right = effective.conserved(h, y, case.eta_h, case.eta_y, case.dx2)
    wrong = effective.conserved(h, y, case.eta_y, case.eta_h, case.dx2)
    size, other = (np.abs(y / h).max() + k * h.max() for k in (case.kappa, case.eta_h / (case.eta_y * case.dx2)))
    drift = float(np.ptp(right) / size)
    return holds(drift, float(np.ptp(wrong) / other))


def plane(generator: np.random.Generator) -> Errors:
    """(25) against (7) on the surface (24), at random points."""
    case = random_case(generator)
    constant = float(generator.normal())
    h, w = generator.uniform(0.2, 2, 5), generator.normal(size=5)
    y = case.kappa * h**2 + constant * h
    rates = (case.eta_h, case.eta_y, case.dx2, case.dy2)
    wanted = np.stack(effective.effective_rhs(h, y, w, *rates))[[0, 2]]
    right = np.stack(effective.plane_rhs(h, w, *rates, constant))
    wrong = np.stack(effective.plane_rhs(h, w, *rates, -constant))
    return holds(relative_error(right, wanted), relative_error(wrong, wanted))


def final_value(generator: np.random.Generator) -> Errors:
    """(10), (11), (27), (28), (36) against the solver at a late time; control: sign of the second part of A_high.

    Half of the outputs start against the target; there the linear maps are solved, since (7) ends at h = 0.
    """
    case, against = random_case(generator), generator.random() < 0.5
    t = np.array([0.0, 1e4 / case.growth])  # A_high far below 0 settles slowly
    if against:
        case = opposed(case)
    end = (lifted_flow(case, t, method="LSODA") if against else _solve(case, t))[0, -1]
    dx, rho = np.sqrt(case.dx2), case.eta_h / case.eta_y
    right = final.final_distance(case.h0, case.y0, dx, np.sqrt(case.dy2), rho)
    high, low = final.amplitudes(case.h0, case.y0, dx, np.sqrt(case.dy2), rho)
    wrong = final.from_amplitudes(2 * case.h0 - high, low)
    return holds(relative_error(right, end), relative_error(wrong, end))


def stability(generator: np.random.Generator) -> Errors:
    """(29)-(31) against complex steps of (25) at the fixed point; eigenvalues against the closed form."""
    case, high, low = _random_amplitudes(generator)
    point = final.stable_point(high, low, case.eta_h, case.eta_y, case.dx2)
    wanted = _jacobian(case, high, low)
    eigenvalues = np.linalg.eigvals(wanted)
    spectrum = relative_error(np.sort(point.eigenvalues), np.sort(eigenvalues.real)) + np.abs(eigenvalues.imag).max()
    right = max(relative_error(point.jacobian, wanted), spectrum)
    other = final.stable_point(high, low, case.eta_h, 1.3 * case.eta_y, case.dx2)
    return holds(right, relative_error(other.jacobian, wanted))


def stability_signs(generator: np.random.Generator) -> Errors:
    """(30) below, (31) above 0 for different targets: 0 or 1; control: the flow run backwards."""
    case, high, low = _random_amplitudes(generator)
    jacobian = _jacobian(case, high, low)
    return holds(1.0 - _is_stable(jacobian), 1.0 - _is_stable(-jacobian))


def _is_stable(jacobian: Array) -> float:
    """1 where the trace is below and the determinant above 0 by more than a millionth of the trace squared."""
    trace = np.trace(jacobian)
    return float(trace < 0 and np.linalg.det(jacobian) > 1e-6 * trace**2)


def _jacobian(case: Case, high: float, low: float) -> Array:
    """Complex steps of (7) on the surface (24) at the fixed point (10)."""
    h = float(final.from_amplitudes(high, low))
    steps = (_complex_plane(case, high, low, *point) for point in ((h + 1j * STEP, 0.0), (h, 1j * STEP)))
    return np.array(list(steps)).T.imag / STEP


def _complex_plane(case: Case, high: float, low: float, h: complex, w: complex) -> tuple[complex, complex]:
    """(7) on the surface (24) of these amplitudes, which (25) is derived from; takes complex numbers."""
    y, dy2 = case.kappa * h**2 - case.kappa * high * h, case.kappa * low**2
    return (
        -case.eta_h * case.dx2 * w,
        -case.eta_y / 2 * (3 * w - y + dy2) * h - case.eta_h * case.dx2 / 2 * (y + w) * w / h,
    )


def saddle(generator: np.random.Generator) -> Errors:
    """(32)-(35): along w = c h the flow at small h is lambda (h, w), and the Jacobian has that eigenpair."""
    case, high, low = _random_amplitudes(generator)
    point = final.saddle_point(high, low, case.eta_h, case.eta_y, case.dx2)
    errors, wrong = [], []
    for eigenvalue, slope in zip(point.eigenvalues, point.directions, strict=True):
        vector = np.array([1.0, slope])
        jacobian = final.saddle_jacobian(slope, high, low, case.eta_h, case.eta_y, case.dx2)
        flow = _flow_from_zero(case, high, low, slope)
        errors += [relative_error(side, eigenvalue * vector) for side in (jacobian @ vector, flow)]
        wrong.append(relative_error(flow, -eigenvalue * vector))
    return holds(max(errors), min(wrong))


def _flow_from_zero(case: Case, high: float, low: float, slope: float) -> Array:
    """(h', w')/h along w = slope h on the surface (24) as h falls to 0."""
    near, far = (np.array(_complex_plane(case, high, low, size, size * slope)) / size for size in (1e-6, 2e-6))
    return 2 * near - far  # the quadratic part leaves


def saddle_signs(generator: np.random.Generator) -> Errors:
    """One growing and one falling direction for different targets: 0 or 1; control: the node's.

    Equations (33)-(35).
    """
    case, high, low = _random_amplitudes(generator)
    point = final.saddle_point(high, low, case.eta_h, case.eta_y, case.dx2)
    speeds = [_flow_from_zero(case, high, low, slope)[0] for slope in point.directions]
    node = final.stable_point(high, low, case.eta_h, case.eta_y, case.dx2)
    return holds(1.0 - _opposed(speeds, case.eta_y), 1.0 - _opposed(node.eigenvalues, case.eta_y))


def _opposed(speeds: ArrayLike, unit: float) -> float:
    """1 where one growth rate is above and one below 0, by more than a ten thousandth of the unit."""
    return float(np.min(speeds) < -1e-4 * unit and np.max(speeds) > 1e-4 * unit)


def equal_targets(generator: np.random.Generator) -> Errors:
    """(39), (40) against the lifted flow with equal targets; control: the sign of (40)."""
    case = random_case(generator, equal=True)
    t = np.linspace(0, case.span, 15)
    wanted = lifted_flow(case, t)[:2]
    arguments = (case.h0, case.y0, case.eta_h, case.eta_y, case.dx2)
    right = np.stack(identical.identical_solution(t, *arguments))
    printed = np.stack(identical.identical_solution_as_printed(t, *arguments))
    wrong = right * np.array([[1.0], [-1.0]])
    return Errors(*(_largest(form, wanted) for form in (printed, right, wrong)))


def equal_target_rates(generator: np.random.Generator) -> Errors:
    """(37), which is (7) with w = y and dy2 = 0, against h' of (38) and y = kappa h (h - A_high), (24)."""
    case = random_case(generator, equal=True)
    h, y = case.h0, case.y0
    wanted = effective.effective_rhs(h, y, y, case.eta_h, case.eta_y, case.dx2, 0.0)[:2]

    def error(high: float) -> float:
        speed = identical.identical_rhs(h, case.eta_y, high)
        return max(relative_error(speed, wanted[0]), relative_error(case.kappa * (2 * h - high) * speed, wanted[1]))

    start = y / (case.kappa * h)
    return holds(error(h - start), error(h + start))


def scaling(generator: np.random.Generator) -> Errors:
    """(42), (43): the primed variables obey (7) with dy2/G^2."""
    case, G = random_case(generator), float(generator.uniform(1.5, 4))
    start = (case.h0, case.y0, case.w0)
    speeds = effective.effective_rhs(*start, case.eta_h, case.eta_y, case.dx2, case.dy2)
    errors = []
    for change, power in ((identical.rescaled_as_printed, -2), (identical.rescaled, -2), (identical.rescaled, 2)):
        h, y, w, stretch = change(*start, G)
        *primed_speeds, _ = change(*speeds, G)
        wanted = effective.effective_rhs(h, y, w, case.eta_h, case.eta_y, case.dx2, case.dy2 * G**power)
        errors.append(relative_error(np.array(primed_speeds) / stretch, np.array(wanted)))
    return Errors(*errors)


def closed_form(generator: np.random.Generator) -> Errors:
    """The closed form against the lifted system in (alpha, v), 1, 2 or 3 outputs; control: the two rates exchanged.

    Ours: the solution of equation (7).
    """
    case = random_case(generator, outputs=int(generator.integers(1, 4)), equal=bool(generator.random() < 0.2))
    t = np.linspace(0, case.span, 21)
    wanted = lifted_flow(case, t)
    right = relative_error(effective.effective_solution(t, *case.start, *case.rates), wanted)
    eta_h, eta_y, dx2, dy2 = case.rates
    wrong = relative_error(effective.effective_solution(t, *case.start, 1.5 * eta_y / dx2, eta_h, dx2, dy2), wanted)
    return Errors(1.0, right, wrong)


def linear_approximation(generator: np.random.Generator) -> Errors:
    """(5), (15): exponent of the remainder in ||x2 - x1|| for a smooth map; control: without the factor 1/2."""
    A, B, m = generator.normal(size=(6, 3)), generator.normal(size=(4, 6)), generator.normal(size=3)
    direction, sizes = generator.normal(size=3), np.array([1e-3, 2e-3])

    def h(x: Array) -> Array:
        return B @ np.tanh(A @ x)

    slope = B @ np.diag(1 - np.tanh(A @ m) ** 2) @ A @ direction
    errors = [
        [np.abs(h(m + size * direction / 2) - h(m) - factor * size * slope).max() for size in sizes]
        for factor in (0.5, 1.0)
    ]
    exponents = [float(np.log2(far / near)) for near, far in errors]
    return holds(abs(exponents[0] - 2), abs(exponents[1] - 2))


def _solve(case: Case, t: Array) -> Array:
    solved = scipy.integrate.solve_ivp(
        lambda _, z: effective.effective_rhs(z[0], z[1], z[2], *case.rates),
        (t[0], t[-1]),
        case.start,
        method="LSODA",
        rtol=1e-11,
        atol=1e-13,
        t_eval=t,
    )
    return solved.y


def _random_amplitudes(generator: np.random.Generator) -> tuple[Case, float, float]:
    return random_case(generator), float(generator.normal()), float(generator.uniform(0.2, 2))


EQUATIONS: dict[str, Callable[[np.random.Generator], Errors]] = {
    equations.LINEAR_APPROXIMATION: linear_approximation,
    equations.GRADIENT: gradient,
    equations.GRADIENT_MIDDLE: gradient_middle,
    equations.MEAN_OUTPUT: mean_output,
    equations.REDUCTION: reduction,
    equations.LOSS_CURVE: loss_curve,
    equations.INVARIANT: invariant,
    equations.PLANE: plane,
    equations.FINAL_VALUE: final_value,
    equations.STABILITY: stability,
    equations.STABILITY_SIGNS: stability_signs,
    equations.SADDLE: saddle,
    equations.SADDLE_SIGNS: saddle_signs,
    equations.EQUAL_TARGET_RATES: equal_target_rates,
    equations.EQUAL_TARGETS: equal_targets,
    equations.SCALING: scaling,
    equations.CLOSED_FORM: closed_form,
}
