"""What is measured on a trained network, in float64: energies layer by layer, distance to a critical point, spectra.

Layer l = 1 .. L stands for the pair (A_{l-1}, B_l), at which the discrete Hamiltonian belongs, and the derivative
(A_l - A_{l-1}) / rho_l. gamma_p = gamma_0 |K_p|_op. Paper: Sections 1.5, 2.1, Figures 1 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from repdyn.base.arrays import Array
from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.methods.teachers import Task
from repdyn.leaky_resnets.theory.hamiltonian import hamiltonian, stable_energies, theorem4_bounds
from repdyn.leaky_resnets.theory.identity_cost import activation, cost_of_identity, layer_gamma, operator_norm_sq
from repdyn.leaky_resnets.theory.layers import (
    balancedness,
    bottleneck_spectra,
    criticality,
    momentum_identity,
    relative_speeds,
)

Measured = dict[str, Array]
LAYER, NODE, GAMMA, VALUE, SPECTRUM = "layer", "node", "gamma", "value", "spectrum_of"
LARGE = 0.25  # of the largest singular value: above it a singular value counts as a dimension
AMONG = 6  # first places of a spectrum among which its largest step is looked for
PLACE, PLACES = "place", ("start", "middle", "end")
SPECTRA = ("A", "A centered", "W", "W centered")
MEASURES: dict[str, tuple[tuple[str, ...], str]] = {
    "hamiltonian": ((LAYER,), "-2 H / Lt at (A_{l-1}, B_l)"),
    "stable_hamiltonian": ((GAMMA, LAYER), "-2 H_gamma / Lt"),
    "cost": ((GAMMA, LAYER), "stable cost of identity of A_{l-1}"),
    "kinetic": ((GAMMA, LAYER), "stable kinetic energy times 2 / Lt"),
    "off_critical": ((LAYER,), "|W - Lt B S^T| / |W|"),
    "image_gap": ((LAYER,), "share of |A_{l-1}| outside the image of S_{l-1}"),
    "weight_sq": ((LAYER,), "|W_l|_F^2"),
    "balance": ((LAYER,), "|W_1|^2 + 2 Lt int |b|^2"),
    "balance_printed": ((LAYER,), "|W_1|^2 + Lt int |b|^2"),
    "momentum": ((LAYER,), "|B_l|_F"),
    "activation": ((LAYER,), "|S_{l-1}|_op, largest singular value"),
    "alignment": ((LAYER,), "|B_l S_{l-1}^T|_F"),
    "speed": ((LAYER,), "|A_l - A_{l-1}|_F / (rho_l sqrt(N))"),
    "relative_speed": ((LAYER,), "|A_l - A_{l-1}| / (rho_l |A_l|)"),
    "negative": ((NODE,), "share of negative entries in |A_l|^2"),
    "size": ((NODE,), "|A_l|_F / sqrt(N)"),
    "stable_rank": ((NODE,), "|A_l|_*^2 / |A_l|_F^2"),
    "p": ((NODE,), "p_l, sum of the first l steps"),
    "spectrum": ((NODE, VALUE), "singular values of A_l over sqrt(N)"),
    "centered_spectrum": ((NODE, VALUE), "the same after removing the mean over points"),
    "weight_spectrum": ((LAYER, VALUE), "singular values of W_l over Lt"),
    "weight_dimension": ((LAYER,), "number of singular values of W_l above a quarter of the largest"),
    "centered_weight_spectrum": ((LAYER, VALUE), "the same without the direction of the mean activation"),
    "separation_place": ((SPECTRUM,), "singular values before the largest step, middle of the network"),
    "separation_step": ((SPECTRUM,), "logarithm of that step, of its two singular values' ratio"),
    "first_separation_place": ((SPECTRUM,), "singular values before the largest step, first layer"),
    "first_separation_step": ((SPECTRUM,), "logarithm of that step"),
    "merged_change": ((PLACE,), "change of the outputs by merging layers into one of rho Lt > 1, relative"),
    "merged_step": ((), "rho Lt of the merged layer"),
    "relative_distance": ((), "|W - Lt B S^T| / |W| over all layers"),
    "kinks": ((), "share of entries of A within 1e-4 of their layer's root mean square"),
    "gradient": ((), "norm of the objective's gradient by W"),
    "objective": ((), "objective per output"),
    "train_error": ((), "training error over the variance of the targets"),
    "test_error": ((), "test error over the variance of the targets"),
    "length": ((), "path length, sum of |A_l - A_{l-1}|_F over sqrt(N)"),
    "stable_length": ((GAMMA,), "path length in the norm |.|_{K + gamma I}"),
    "bound_low": ((GAMMA,), "lower bound of Theorem 4, corrected, on the next but one"),
    "bound_high": ((GAMMA,), "upper bound of Theorem 4 on the next"),
    "gap": ((GAMMA,), "median of -2 H / Lt minus the least stable cost of identity"),
    "median_hamiltonian": ((), "median over layers of -2 H / Lt"),
    "hamiltonian_range": ((), "largest minus least -2 H / Lt over layers"),
    "median_stable": ((GAMMA,), "median over layers of -2 H_gamma / Lt"),
    "least_cost": ((GAMMA,), "least stable cost of identity over layers"),
    "largest_momentum": ((), "largest |B_l|_F over layers"),
    "median_alignment": ((), "median over layers of |B_l S_{l-1}^T|_F"),
    "least_negative": ((), "least share of negative entries in |A_l|^2 over layers"),
    "identity_error_without": ((), "the same without the term of the bias"),
    "identity_error": ((), "largest error of <A_l,B_l> - <A_{l-1},B_{l-1}> = rho_l b_l.(B_l 1) over |A_l| |B_l|"),
}


def measure(net: LeakyResNet, task: Task, lam: float, gammas: Sequence[float], values: int) -> Measured:
    """All of `MEASURES` for one network.

    Args:
        net: the network.
        task: its data.
        lam: penalty's lam for the cost summed over outputs, times the number of outputs if averaged.
        gammas: gamma_0, the first one's energies count.
        values: singular values kept.
    """
    A = net.forward(task.X)
    B = net.momenta(A, task.Y, lam)
    energies, paths, spectra = _energies(net, A, B, gammas), _paths(net, A, B), _spectra(net, A, values)
    measured = (
        energies
        | paths
        | spectra
        | _separations(spectra)
        | _summaries(energies | paths)
        | _merged(net, task.X)
        | _scalars(net, A, B, task, lam)
        | _bounds(energies, net, A, B, gammas)
    )
    return {name: np.asarray(value) for name, value in measured.items()}


def largest_step(spectrum: Array) -> tuple[int, float]:
    """After how many of the first singular values the largest step comes, and its logarithm; of 0 there is no step.

    The spectrum falls and has two values or more, shape (values,).
    """
    among = min(AMONG, len(spectrum) - 1)
    if spectrum[0] == 0:
        return 1, 0.0
    steps = np.log(spectrum[:among] / np.maximum(spectrum[1 : among + 1], 1e-12 * spectrum[0]))
    return int(steps.argmax()) + 1, float(steps.max())


def _separations(spectra: Measured) -> Measured:
    """Largest steps of the spectra of A and W, as they are and without the constant direction: middle, first layer."""
    names = ("spectrum", "centered_spectrum", "weight_spectrum", "centered_weight_spectrum")
    place, size = np.array([largest_step(spectra[name][len(spectra[name]) // 2]) for name in names]).T
    first_place, first_size = np.array([largest_step(spectra[name][0]) for name in names]).T
    return {
        "separation_place": place,
        "separation_step": size,
        "first_separation_place": first_place,
        "first_separation_step": first_size,
    }


def merged_layers(net: LeakyResNet, first: int, count: int) -> LeakyResNet:
    """The network with `count` layers from `first` on in one, of their summed step and their mean weights."""
    rho, parts = net.rho[first : first + count], slice(first, first + count)
    mean = np.tensordot(rho / rho.sum(), net.W[parts], axes=1)
    W = np.concatenate([net.W[:first], mean[None], net.W[first + count :]])
    steps = np.concatenate([net.rho[:first], [rho.sum()], net.rho[first + count :]])
    return replace(net, W=W, rho=steps, long_steps=True)


def _merged(net: LeakyResNet, X: Array) -> Measured:
    """How much outputs change when as many layers as pass rho Lt = 1 are merged, at the start, middle and end."""
    L, before = len(net.W), net.output(X)
    count = min(int(L / net.effective_depth) + 1, L)
    changes = [
        np.linalg.norm(merged_layers(net, first, count).output(X) - before) / np.linalg.norm(before)
        for first in (0, (L - count) // 2, L - count)
    ]
    return {"merged_change": np.array(changes), "merged_step": np.array(count * net.effective_depth / L)}


def _summaries(along: Measured) -> Measured:
    """Medians and extremes over layers, which figures, tables and claims read alike."""
    H = along["hamiltonian"]
    return {
        "median_hamiltonian": np.median(H),
        "hamiltonian_range": np.ptp(H),
        "median_stable": np.median(along["stable_hamiltonian"], axis=1),
        "least_cost": along["cost"].min(axis=1),
        "largest_momentum": along["momentum"].max(),
        "median_alignment": np.median(along["alignment"]),
        "least_negative": along["negative"].min(),
    }


def _energies(net: LeakyResNet, A: Array, B: Array, gammas: Sequence[float]) -> Measured:
    Lt, bias = net.effective_depth, net.bias
    scaled = [-2 / Lt * hamiltonian(a, b, Lt, bias) for a, b in zip(A[:-1], B[1:], strict=True)]
    derivative = np.diff(A, axis=0) / net.rho[:, None, None]
    cost, kinetic = (np.empty((len(gammas), len(net.W))) for _ in range(2))
    for g, gamma in enumerate(gammas):
        for layer, (a, dA) in enumerate(zip(A[:-1], derivative, strict=True)):
            energies = stable_energies(a, dA, Lt, bias, layer_gamma(a, bias, gamma))
            cost[g, layer], kinetic[g, layer] = energies.cost, energies.kinetic / Lt**2
    return {
        "hamiltonian": np.array(scaled),
        "stable_hamiltonian": cost - kinetic,
        "cost": cost,
        "kinetic": kinetic,
        "stable_length": Lt * np.sqrt(kinetic) @ net.rho,
    }


def _paths(net: LeakyResNet, A: Array, B: Array) -> Measured:
    N, steps = A.shape[2], np.linalg.norm(np.diff(A, axis=0), axis=(1, 2))
    size = np.linalg.norm(A, axis=(1, 2))
    near = criticality(net.W, A, B, net.rho, net.effective_depth)
    balance = balancedness(net.W, net.rho, net.effective_depth)
    S = [activation(part, net.bias) for part in A[:-1]]
    return {
        "off_critical": near.by_layer,
        "relative_distance": near.relative,
        "kinks": near.kinks,
        "image_gap": np.array([cost_of_identity(part, net.bias).gap for part in A[:-1]]),
        "weight_sq": balance.norm_sq,
        "balance": balance.predicted,
        "balance_printed": balance.predicted_as_printed,
        "momentum": np.linalg.norm(B[1:], axis=(1, 2)),
        "activation": np.array([np.linalg.norm(s, 2) for s in S]),
        "alignment": np.array([np.linalg.norm(b @ s.T) for b, s in zip(B[1:], S, strict=True)]),
        "speed": steps / net.rho / np.sqrt(N),
        "relative_speed": relative_speeds(A, net.rho),
        "length": steps.sum() / np.sqrt(N),
        "negative": np.sum(np.minimum(A, 0) ** 2, axis=(1, 2)) / size**2,
        "size": size / np.sqrt(N),
        "p": np.concatenate([[0.0], np.cumsum(net.rho)]),
    }


def _spectra(net: LeakyResNet, A: Array, values: int) -> Measured:
    plain, centered = (bottleneck_spectra(A, net.W, centered=way) for way in (False, True))
    root, Lt = np.sqrt(A.shape[2]), net.effective_depth
    s = plain.representations
    return {
        "stable_rank": s.sum(axis=1) ** 2 / np.sum(s**2, axis=1),
        "spectrum": s[:, :values] / root,
        "centered_spectrum": centered.representations[:, :values] / root,
        "weight_spectrum": plain.weights[:, :values] / Lt,
        "weight_dimension": np.sum(plain.weights > LARGE * plain.weights[:, :1], axis=1),
        "centered_weight_spectrum": centered.weights[:, :values] / Lt,
    }


def _scalars(net: LeakyResNet, A: Array, B: Array, task: Task, lam: float) -> Measured:
    by_weight, _, _ = net.gradient(task.X, task.Y, lam)
    fit = np.mean((task.Y - net.out @ A[-1]) ** 2)
    penalty = lam / (2 * net.effective_depth * len(task.Y)) * net.rho @ np.sum(net.W**2, axis=(1, 2))
    sizes = np.linalg.norm(A, axis=(1, 2)) * np.linalg.norm(B, axis=(1, 2))
    return {
        "gradient": np.linalg.norm(by_weight),
        "objective": fit + penalty,
        "train_error": fit / np.var(task.Y),
        "test_error": np.mean((task.Y_test - net.output(task.X_test)) ** 2) / np.var(task.Y_test),
        "identity_error_without": np.max(np.abs(np.diff(np.sum(A * B, axis=(1, 2)))) / sizes[1:]),
        "identity_error": np.max(np.abs(momentum_identity(net.W, A, B, net.rho)) / sizes[1:]),
    }


def _bounds(energies: Measured, net: LeakyResNet, A: Array, B: Array, gammas: Sequence[float]) -> Measured:
    """Theorem 4 with gamma_p: gamma c is the largest gamma_p |B_p|^2 along the path."""
    momentum_sq = np.sum(B[1:] ** 2, axis=(1, 2))
    unit = np.array([operator_norm_sq(activation(a, net.bias)) for a in A[:-1]])
    pairs = zip(gammas, energies["stable_length"], strict=True)
    largest = float(np.max(unit * momentum_sq))
    bounds = [theorem4_bounds(length, net.effective_depth, gamma * largest) for gamma, length in pairs]
    return {
        "bound_low": np.array([bound.lower for bound in bounds]),
        "bound_high": np.array([bound.upper for bound in bounds]),
        "gap": np.median(energies["hamiltonian"]) - energies["cost"].min(axis=1),
    }
