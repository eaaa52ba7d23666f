"""Audit of the formulas on minima: neurons added to a representation or along a path, neurons merged.

As in `formula_audit`, whose table holds them. Paper: Hamiltonian Mechanics of Feature Learning, Propositions 2, 3, 5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from repdyn.base.arrays import Array
from repdyn.base.formula_audit import Errors, holds, relative_error
from repdyn.leaky_resnets.methods.audit_draws import DEPTH, TALL, WIDE, Generator, kept_without_bias, wide
from repdyn.leaky_resnets.theory import added_neuron as neuron
from repdyn.leaky_resnets.theory import minima
from repdyn.leaky_resnets.theory.flows import symplectic_euler
from repdyn.leaky_resnets.theory.identity_cost import activation, cost_of_identity
from repdyn.leaky_resnets.theory.layers import propagate


def added_neuron(bias: bool, rng: Generator) -> Errors:
    """Proof of Proposition 2: coefficient of eps^2 in the COI of [A; eps z], and at z = K e_i; by Richardson."""
    A = wide(rng)
    S = activation(A, bias)
    K, cost, N = S.T @ S, cost_of_identity(A, bias).value, WIDE[1]
    columns = [K @ rng.standard_normal(N), *K]
    scale = [0.02 / float(np.linalg.norm(z)) for z in columns]

    def slope(z: Array, eps: float) -> float:
        return (cost_of_identity(np.vstack([A, eps * z]), bias).value - cost) / eps**2

    measured = [
        (64 * slope(z, e / 4) - 20 * slope(z, e / 2) + slope(z, e)) / 45 for z, e in zip(columns, scale, strict=True)
    ]
    formula = [minima.added_neuron_coefficient(A, z, bias) for z in columns]
    short = minima.column_coefficients(A, bias)
    error = max(relative_error(formula, measured), relative_error(short, measured[1:]))
    return holds(error, relative_error(-short, measured[1:]))


def positive_neuron(bias: bool, rng: Generator) -> Errors:
    """Proposition 2: coefficient of eps^2 of the neuron [A]_+^T [A_i]_+ where the least weights have no bias.

    Printed is K e_i's, |S_i|^2 - |A_i|^2, of the same points; against Richardson extrapolation of the cost.
    """
    A = kept_without_bias(rng)
    S, cost, N = activation(A, bias), cost_of_identity(A, bias).value, A.shape[1]
    onto = S @ np.linalg.pinv(S, rcond=1e-12)
    active = np.concatenate([np.maximum(A, 0), np.zeros((int(bias), N))])
    columns = [minima.positive_neuron(A, i) for i in range(N)]
    scale = [0.02 / float(np.linalg.norm(z)) for z in columns]

    def slope(z: Array, eps: float) -> float:
        return (cost_of_identity(np.vstack([A, eps * z]), bias).value - cost) / eps**2

    measured = np.array(
        [(64 * slope(z, e / 4) - 20 * slope(z, e / 2) + slope(z, e)) / 45 for z, e in zip(columns, scale, strict=True)]
    )
    formula = np.sum((onto @ active) ** 2, axis=0) - np.sum(A**2, axis=0)
    size = float(np.max(np.abs(measured)))
    wrong = np.max(np.abs(np.sum(active**2, axis=0) + np.sum(A**2, axis=0) - measured)) / size
    return holds(float(np.max(np.abs(formula - measured)) / size), float(wrong))


def added_neuron_objective(bias: bool, rng: Generator) -> Errors:
    """Proposition 5: the objective's change at order eps^2 by a neuron added to a critical network, any other change.

    Against the objective of enlarged networks at finite eps. Wrong on purpose: the neuron's activation left out.
    """
    (w, N), L = (6, 8), 12
    path = symplectic_euler(*_start(w, N, bias, rng), 1.0, bias, L)
    S = activation(path.A[:-1], bias)
    W, rho = path.B[1:] @ np.swapaxes(S, -1, -2), np.full(L, 1 / L)
    t = np.sin(np.pi * np.arange(L) / L)[:, None]
    point = np.argmax(np.any(path.A[1:-1] > 0, axis=(0, 1)))  # the first one that the neuron can respond to
    r = t * np.concatenate([np.maximum(path.A[:-1, :, point], 0), np.zeros((L, int(bias)))], axis=1)
    other, target = rng.standard_normal(W.shape), path.A[-1] + path.B[-1]
    added = np.zeros((L + 1, N))
    for at in range(L):
        added[at + 1] = (1 - rho[at]) * added[at] + rho[at] * (r[at] @ S[at])
    c = np.einsum("lwn,ln->lw", path.B[1:], np.maximum(added[:-1], 0))
    c *= np.linalg.norm(r) / np.linalg.norm(c)

    def objective(eps: float) -> float:
        full = np.zeros((L, w + 1, w + 1 + bias))
        full[:, :w, :w], full[:, :w, w] = (W - eps**2 * other)[:, :, :w], eps * c
        full[:, w, :w] = eps * r[:, :w]
        full[:, :w, w + 1 :] = (W - eps**2 * other)[:, :, w:]
        end = propagate(full, np.vstack([path.A[0], np.zeros(N)]), rho, 1.0)[-1]
        return float(np.sum((end[:w] - target) ** 2) / 2 + rho @ np.sum(full**2, axis=(1, 2)) / 2)

    coarse, fine = ((objective(eps) - objective(0.0)) / eps**2 for eps in (2e-3, 1e-3))
    parts = (c, r, path.B[1:], np.maximum(added[:-1], 0), rho, 1.0)
    formula, wrong = neuron.objective_change(*parts), neuron.objective_change(*parts[:3], 0 * parts[3], *parts[4:])
    return holds(*(relative_error(value, float(4 * fine - coarse) / 3) for value in (formula, wrong)))


def _start(w: int, N: int, bias: bool, rng: Generator) -> tuple[Array, Array]:
    A, B = rng.standard_normal((2, w, N))
    return A, B / (2 * np.linalg.norm(B @ activation(A, bias).T))


def merged_neurons(bias: bool, rng: Generator) -> Errors:
    """Propositions 3 and 6: constant COI along the path, a row that vanishes, and gradients that scale with rows."""
    A = wide(rng, (9, 2))
    a, cost = minima.merging_coefficients(A), cost_of_identity(A, bias).value
    path = [cost_of_identity(minima.merged(A, a, t), bias).value for t in (0.25, 0.5, 0.75, 1.0)]
    last, kept = minima.merged(A, a, 1.0), a > 0
    gradient = minima.ridge_cost_gradient(A, bias, 0.0)[kept] * np.sqrt(a[kept])[:, None]
    same_slope = relative_error(minima.ridge_cost_gradient(last, bias, 0.0)[kept], gradient)
    rows = 0.0 if kept.sum() <= 6 and not last[~kept].any() else 1.0
    wrong = cost_of_identity(a[:, None] * A, bias).value  # the root forgotten
    return holds(max(relative_error(path, np.full(4, cost)), same_slope, rows), relative_error(wrong, cost))


def enlarged_norm(bias: bool, rng: Generator) -> Errors:
    """Proof of Proposition 8: change of |W|^2 by the added neuron at order eps^2, W at finite eps by Richardson."""
    w, N = TALL
    W, A = rng.standard_normal((w, w + bias)), rng.standard_normal((w, N))
    S = activation(A, bias)
    A_i, S_i, t = A[:, 0], S[:, 0], rng.uniform(0.2, 0.8)
    dA_i = W @ S_i - DEPTH * A_i

    def measured(enlarged: Callable[..., Array]) -> float:
        coarse, fine = (
            (np.sum(enlarged(W, A_i, S_i, t, eps, DEPTH) ** 2) - np.sum(W**2)) / eps**2 for eps in (0.02, 0.01)
        )
        return float(4 * fine - coarse) / 3

    printed = neuron.norm_change_as_printed(A_i, S_i, dA_i, t, DEPTH)
    corrected = neuron.norm_change(A_i, S_i, dA_i, t, DEPTH)
    right, scale = measured(neuron.enlarged_weights), DEPTH**2 * t**2 * float(A_i @ A_i + S_i @ S_i)
    wrong = measured(neuron.enlarged_weights_as_printed)
    return Errors(abs(printed - wrong) / scale, abs(corrected - right) / scale, abs(printed - right) / scale)
