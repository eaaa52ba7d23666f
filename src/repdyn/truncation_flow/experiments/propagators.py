"""Propagators of Section 8 and the two lemmas on them, as printed and corrected."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.formula_audit import Errors, audit_variables, fixed, holds
from repdyn.base.streams import Stream
from repdyn.truncation_flow.methods import collapsed
from repdyn.truncation_flow.methods.formula_audit import worst
from repdyn.truncation_flow.settings import CollapsedClusters
from repdyn.truncation_flow.theory import equations, standard_cost

DIFFERENCE = 1e-4
SHORT = 1.0


def propagators(settings: CollapsedClusters, stream: Stream) -> xr.Dataset:
    """Errors of (8.8)-(8.11), (8.16), (8.17) as printed and corrected, and the lemmas 8.1 and 8.2."""
    Q, times, longer = settings.dimension, np.linspace(0.0, SHORT, settings.nodes), np.linspace(0.0, 3.0, 61)
    audited = (
        equations.ERROR_EQUATION,
        equations.PROPAGATORS,
        equations.INITIAL_TIME_DERIVATIVE,
        equations.EQ_8_16,
        equations.EQ_8_17,
    )
    errors = np.empty((settings.seeds, len(audited), 3))
    decay, ratio, decay_W, free = (np.empty((2, settings.seeds)) for _ in range(4))
    Y = np.eye(Q)
    for seed in range(settings.seeds):
        B0, W0 = collapsed.definite_start(Q, "positive", stream.generator(seed))
        errors[seed] = _propagator_errors(B0, W0, Y, times)
        _, _, U_B, _ = collapsed.trajectory_with_propagators(
            B0, W0, Y, longer, standard_cost.propagator_rates_as_printed
        )
        spectrum = np.linalg.eigvalsh(standard_cost.conserved_quantity(B0, W0))
        rate = -np.log(np.linalg.matrix_norm(U_B[1:], ord=2)) / longer[1:]
        decay[:, seed] = rate.min() / spectrum[[0, -1]]
        ratio[:, seed] = _product_ratio(stream.generator(seed, "pairs"), Q)
        decay_W[:, seed] = _decay_of_the_other(*collapsed.definite_start(Q, "negative", stream.generator(seed)), longer)
        free[:, seed] = _free_directions(B0, W0)
    return dataset(
        {
            **audit_variables(errors, ("seed", "equation"), scale="largest error"),
            "propagator_rate": variable("seed", decay[0], "least -log||U_B||/(lambda_0 s); Lemma 8.1 says at least 1"),
            "propagator_rate_largest": variable("seed", decay[1], "the same with the largest eigenvalue of I(0)"),
            "propagator_rate_W": variable("seed", decay_W[0], "least -log||U_W||/(lambda_0 s), I negative definite"),
            "propagator_rate_W_largest": variable("seed", decay_W[1], "the same with the largest eigenvalue of -I(0)"),
            "free_directions": variable("seed", free[0], "directions in (W, B) that keep W B, of 2 Q^2"),
            "free_directions_W_known": variable("seed", free[1], "directions in B that keep W B, of Q^2"),
            "product_ratio": variable("seed", ratio[0], "least ||A B||/(sqrt(lambda_0) ||A||), Lemma 8.2 says above 1"),
            "product_ratio_largest": variable("seed", ratio[1], "the same with the largest eigenvalue of B B^T"),
        },
        {
            "seed": index("seed", settings.seeds, "random start, I positive definite"),
            "equation": variable("equation", np.array(audited), "equation of the paper"),
        },
        title="Propagators of Section 8 as printed and corrected",
    )


def _propagator_errors(B0: Array, W0: Array, Y: Array, times: Array) -> list[Errors]:
    """Errors of each equation over the given nodes."""
    E0 = standard_cost.output_error(B0, W0, Y)
    forms = standard_cost.propagator_rates_as_printed, standard_cost.propagator_rates
    printed, corrected = (collapsed.trajectory_with_propagators(B0, W0, Y, times, rates) for rates in forms)
    B, W, _, _ = corrected
    E = standard_cost.output_error(B, W, Y)
    integrals = [collapsed.duhamel(B, W, Y, *printed[2:], times, sign) for sign in (1.0, -1.0)]
    return [
        _error_flow(B, W, Y, times),
        fixed(*(worst(U_W @ E0 @ U_B - E) for _, _, U_B, U_W in (printed, corrected))),
        _initial_time_derivative(B0, W0, Y),
        fixed(*(worst(integral - B[-1]) for integral, _ in integrals)),
        fixed(*(worst(integral - W[-1]) for _, integral in integrals)),
    ]


def _error_flow(B: Array, W: Array, Y: Array, times: Array) -> Errors:
    """(8.8) in integrated form, E(s) - E(0) by the trapezoid rule; W^T W and B B^T for control."""
    E = standard_cost.output_error(B, W, Y)
    swapped = -W.mT @ W @ E - E @ B @ B.mT
    rates = standard_cost.error_flow(B, W, Y)
    return holds(*(worst(E[0] + np.trapezoid(form, times, axis=0) - E[-1]) for form in (rates, swapped)))


def _initial_time_derivative(B0: Array, W0: Array, Y: Array) -> Errors:
    """(8.10): derivative in the initial time is +(B B^T) U_B, by central differences; printed with a minus."""
    nodes = np.array([0.0, 0.5 - DIFFERENCE, 0.5, 0.5 + DIFFERENCE, 1.0])
    B, _, U_B, _ = collapsed.trajectory_with_propagators(B0, W0, Y, nodes, standard_cost.propagator_rates_as_printed)
    later = [np.linalg.solve(U_B[k], U_B[-1]) for k in range(5)]
    slope = (later[3] - later[1]) / (2 * DIFFERENCE)
    exact = B[2] @ B[2].T @ later[2]
    return fixed(worst(slope + exact), worst(slope - exact))


def _decay_of_the_other(B0: Array, W0: Array, times: Array) -> Array:
    """Least rate of U_W of (8.9) over the smallest and over the largest eigenvalue of -I(0)."""
    rates = standard_cost.propagator_rates_as_printed
    _, _, _, U_W = collapsed.trajectory_with_propagators(B0, W0, np.eye(len(B0)), times, rates)
    rate = -np.log(np.linalg.matrix_norm(U_W[1:], ord=2)) / times[1:]
    return rate.min() / np.linalg.eigvalsh(-standard_cost.conserved_quantity(B0, W0))[[0, -1]]


def _free_directions(B: Array, W: Array) -> tuple[int, int]:
    """Unknowns minus rank of d(W B) = dW B + W dB, in both factors and in B alone."""
    eye = np.eye(len(B))
    in_W, in_B = np.kron(eye, B.T), np.kron(W, eye)  # row-major vec
    both = np.hstack([in_W, in_B])
    return both.shape[1] - np.linalg.matrix_rank(both), in_B.shape[1] - np.linalg.matrix_rank(in_B)


def _product_ratio(generator: np.random.Generator, Q: int, pairs: int = 200) -> tuple[float, float]:
    """Least ||A B|| / (sqrt(lambda_0) ||A||) over random pairs, lambda_0 an extreme eigenvalue of B B^T."""
    A, B = generator.normal(size=(2, pairs, Q, Q))
    spectrum = np.linalg.eigvalsh(B @ B.mT)
    product, single = (np.linalg.matrix_norm(M, ord=2) for M in (A @ B, A))
    smallest, largest = (float(np.min(product / (np.sqrt(spectrum[:, n]) * single))) for n in (0, -1))
    return smallest, largest
