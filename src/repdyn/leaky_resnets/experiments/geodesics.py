"""Exact geodesics, no training: through a bottleneck, from random starts, and as discrete networks."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import scipy
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint, Trial, groups, stacked
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.settings.theory import CriticalPaths, GeodesicLaboratory, RandomGeodesics
from repdyn.leaky_resnets.theory.flows import Trajectory, hamiltonian_flow, symplectic_euler
from repdyn.leaky_resnets.theory.hamiltonian import (
    hamiltonian,
    theorem4_bounds,
    theorem4_bounds_as_printed,
    theorem4_speed_gap,
)
from repdyn.leaky_resnets.theory.identity_cost import activation, layer_gamma, stable_norm_sq_svd
from repdyn.leaky_resnets.theory.layers import balancedness, momenta

BIASES = (False, True)
LABORATORY = ("bias", "effective_depth", "seed", "p")
LABORATORY_RTOL = 1e-9
CRITICAL = (6, 8, 1.0)  # w, N and Lt of the discrete critical paths
GROUP = 10  # their starts that are kept together when they are finished
BIAS = variable("bias", np.array([0, 1]), "whether activations carry a row of ones")
NAMES = {
    "scaled_hamiltonian": "-2 H / Lt",
    "cost": "stable cost of identity |A|^2 in K + gamma I",
    "speed": "|dA/dp| in K + gamma I",
    "plain_speed": "Frobenius norm of dA/dp over that of A",
    "momentum_sq": "|B|_F^2",
    "gamma": "gamma",
    "weight_sq": "|W|_F^2 = Lt^2 |B S^T|_F^2",
    "bias_sq": "|b|^2, last column of W",
    "negative_mass": "|A_-|^2 / |A|^2",
    "sign_changes": "entries of A that changed sign since the last position",
}


def measure(path: Trajectory, effective_depth: float, bias: bool, gamma: Array) -> dict[str, Array]:
    """The quantities of `NAMES` along a trajectory, each of shape (P,), as gamma is."""
    A, B, Lt = path.A, path.B, effective_depth
    S = activation(A, bias)
    V = B @ np.swapaxes(S, -1, -2)
    dA, size, over = Lt * (V @ S - A), np.sum(A**2, axis=(1, 2)), (1, 2)
    return {
        "scaled_hamiltonian": 2 * np.sum(A * B, axis=over) - np.sum(V**2, axis=over),
        "cost": stable_norm_sq_svd(A, S, gamma),
        "speed": np.sqrt(stable_norm_sq_svd(dA, S, gamma)),
        "plain_speed": np.sqrt(np.sum(dA**2, axis=over) / size),
        "momentum_sq": np.sum(B**2, axis=over),
        "gamma": gamma,
        "weight_sq": Lt**2 * np.sum(V**2, axis=over),
        "bias_sq": Lt**2 * np.sum(V[:, :, A.shape[1] :] ** 2, axis=over),
        "negative_mass": np.sum(np.minimum(A, 0) ** 2, axis=over) / size,
        "sign_changes": np.sum(np.diff(np.signbit(A), axis=0, prepend=np.signbit(A[:1])), axis=over).astype(float),
    }


def layer_gammas(path: Trajectory, bias: bool, gamma_0: float) -> Array:
    """gamma_p = gamma_0 |K_p|_op along a trajectory, shape (P,)."""
    return np.array([layer_gamma(A, bias, gamma_0) for A in path.A])


def bottleneck(settings: GeodesicLaboratory, bias: bool, generator: np.random.Generator) -> tuple[Array, Array]:
    """A fixed point of the flow with -2 H / Lt = k: A >= 0 of rank k without 1 in its row space, B = A K^+."""
    A = generator.uniform(size=(settings.width, settings.rank)) @ generator.uniform(
        size=(settings.rank, settings.points)
    )
    S = activation(A, bias)
    return A, A @ np.linalg.pinv(S.T @ S, rcond=1e-10)


def kicked(
    settings: GeodesicLaboratory, effective_depth: float, bias: bool, stream: Stream, seed: int
) -> tuple[Array, Array]:
    """The fixed point with a kick of relative size perturbation e^{-decay Lt}, in the same direction for every Lt."""
    generator = stream.generator(seed)
    A, B = bottleneck(settings, bias, generator)
    size = settings.perturbation * np.exp(-settings.decay * effective_depth)
    kicks = generator.standard_normal((2, *A.shape))
    return tuple(M + size * np.sqrt(np.mean(M**2)) * kick for M, kick in zip((A, B), kicks, strict=True))


def geodesics(settings: GeodesicLaboratory, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Exact trajectories through a bottleneck at p = 1/2, integrated both ways, for every effective depth."""
    p = np.linspace(0, 1, settings.positions)
    shape = (len(BIASES), len(settings.effective_depths), settings.seeds)
    paths: list[Trial] = []
    for bias, depth, seed in product(BIASES, settings.effective_depths, range(settings.seeds)):
        own, name = checkpoint.of(depth), f"{'bias' if bias else 'no bias'}, seed {seed}"
        paths.append(own.get(name) or own.put(name, _bottleneck_path(settings, depth, bias, p, stream, seed)))
    measured = {name: stacked(paths, name, *shape) for name in NAMES}
    return dataset(
        {name: variable(LABORATORY, measured[name], text) for name, text in NAMES.items()}
        | _laboratory(measured, p, np.array(settings.effective_depths), settings.rank),
        {
            "bias": BIAS,
            "effective_depth": variable("effective_depth", np.array(settings.effective_depths), "effective depth Lt"),
            "seed": index("seed", settings.seeds, "bottleneck and direction of the kick"),
            "p": variable("p", p, "position along the network"),
            "rank": variable((), settings.rank, "rank k of the bottleneck"),
            "gamma_0": variable((), settings.gamma_0, "gamma_p over the operator norm of K_p"),
        },
        title="Exact geodesics through a bottleneck",
    )


def _bottleneck_path(
    settings: GeodesicLaboratory, effective_depth: float, bias: bool, p: Array, stream: Stream, seed: int
) -> dict[str, Array]:
    """The quantities of `NAMES` along one trajectory, each of shape (P,)."""
    start = kicked(settings, effective_depth, bias, stream, seed)
    path = hamiltonian_flow(*start, effective_depth, bias, p, LABORATORY_RTOL, start=0.5)
    return measure(path, effective_depth, bias, layer_gammas(path, bias, settings.gamma_0))


def _laboratory(along: dict[str, Array], p: Array, depths: Array, rank: int) -> dict[str, xr.Variable]:
    """What follows from a trajectory: Theorem 4 with gamma_p, drift, share of p near the rank, proportion of energies.

    `along` holds the quantities of `NAMES` over `LABORATORY`.
    """
    H, cost, speed, momentum_sq, gamma = (
        along[name] for name in ("scaled_hamiltonian", "cost", "speed", "momentum_sq", "gamma")
    )
    Lt = depths[:, None]
    gamma_c = (gamma * momentum_sq).max(axis=-1)
    length = np.asarray(np.trapezoid(speed, p, axis=-1))
    bounds = [theorem4_bounds(length[:, at], depth, gamma_c[:, at]) for at, depth in enumerate(depths)]
    scale = Lt[..., None] * np.sqrt(gamma * momentum_sq)
    gaps = [theorem4_speed_gap(speed[:, at], cost[:, at], H[:, at], depth) for at, depth in enumerate(depths)]
    V_sq = along["weight_sq"] / Lt[..., None] ** 2
    other_sign = -H - 2 * V_sq
    doubled, without = ((speed - n * Lt[..., None] * np.sqrt(np.maximum(cost - H, 0))) / scale for n in (2, 0))
    extra, kinetic = (part - part.mean(axis=-1, keepdims=True) for part in (cost - H, speed**2))
    values = {
        "middle": (H.mean(axis=-1) - cost.min(axis=-1), "-2 H / Lt - least stable cost of identity"),
        "lower": (np.stack([part.lower for part in bounds], axis=1), "corrected lower bound of Theorem 4, gamma_p"),
        "upper": (np.stack([part.upper for part in bounds], axis=1), "upper bound of Theorem 4, gamma_p"),
        "speed_gap": (
            np.stack(gaps, axis=1) / scale,
            "|dA| - Lt root, over Lt sqrt(gamma_p) |B_p|; Theorem 4: from -1 to 2",
        ),
        "drift": (np.ptp(H, axis=-1) / np.abs(H).max(axis=-1), "range of -2 H / Lt over its largest size"),
        "wrong_drift": (np.ptp(other_sign, axis=-1) / np.abs(other_sign).max(axis=-1), "the same with -Tr[B A^T]"),
        "product": (H + V_sq, "2 Tr[B A^T], -2 H / Lt without its quadratic term"),
        "speed_gap_doubled": (doubled, "speed_gap with twice the root"),
        "speed_gap_without": (without, "speed_gap without the root"),
        "mirrored_proportion": (_correlation(extra, kinetic[..., ::-1]), "proportion to the kinetic energy at 1 - p"),
        "share_near_rank": ((cost < rank + 0.5).mean(axis=-1), "share of p with a stable cost below k + 1/2"),
        "proportion": (_correlation(extra, kinetic), "correlation over p of kinetic energy and extra cost of identity"),
    }
    return {name: variable(LABORATORY[: part.ndim], part, words) for name, (part, words) in values.items()}


def _correlation(x: Array, y: Array) -> Array:
    """Correlation along the last axis of arrays of mean 0 there."""
    return np.sum(x * y, axis=-1) / np.sqrt(np.sum(x**2, axis=-1) * np.sum(y**2, axis=-1))


class Start(NamedTuple):
    """A random start of a trajectory, with the gamma of its bounds."""

    A: Array
    B: Array
    effective_depth: float
    gamma: float


def random_start(generator: np.random.Generator, bias: bool) -> Start:
    """Sizes, depth and gamma over decades; momenta of a size that keeps weights of order Lt."""
    w, N = generator.integers(2, 8, size=2)
    A, B = generator.standard_normal((2, w, N))
    A *= np.exp(generator.uniform(-1, 1.5))
    S = activation(A, bias)
    B *= generator.uniform(0.2, 1.2) / max(float(np.linalg.norm(B @ S.T)), 1e-3)
    depth = float(np.exp(generator.uniform(np.log(0.05), np.log(4))))
    return Start(A, B, depth, float(np.exp(generator.uniform(np.log(1e-3), np.log(30))) * np.mean(S**2) * N))


def random_geodesics(settings: RandomGeodesics, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Theorem 4, conservation of H and Proposition 9 along trajectories from random starts."""
    draws: list[Trial] = []
    for draw in range(settings.draws):
        name = f"draw {draw}"
        draws.append(checkpoint.get(name) or checkpoint.put(name, _random_paths(settings, stream.child(draw))))
    bounds, drift = stacked(draws, "bounds"), stacked(draws, "drift").swapaxes(0, 1)
    dims = ("bias", "draw")
    return dataset(
        {name: variable(dims, bounds[..., n].T, text) for n, (name, text) in enumerate(BOUNDS.items())}
        | {"drift": variable((*dims, "tolerance"), drift, "range of H over its largest size on the way")},
        {
            "bias": BIAS,
            "draw": index("draw", settings.draws, "random trajectory"),
            "tolerance": variable("tolerance", np.array(settings.tolerances), "relative tolerance of DOP853"),
        },
        title="Random exact trajectories: Theorem 4, conservation of H, balancedness",
    )


def _random_paths(settings: RandomGeodesics, stream: Stream) -> dict[str, Array]:
    """Quantities of `BOUNDS`, shape (bias, quantity), and drift, shape (bias, tolerance), from one random start."""
    p = np.linspace(0, 1, settings.positions)
    bounds, drift = [], []
    for bias in BIASES:
        start = random_start(stream.generator(), bias)
        paths = [hamiltonian_flow(*start[:3], bias, p, rtol) for rtol in settings.tolerances]
        drift.append([_drift(path, start.effective_depth, bias) for path in paths])
        bounds.append(_bounds(paths[0], start, bias))
    return {"bounds": np.array(bounds), "drift": np.array(drift)}


BOUNDS = {
    "effective_depth": "effective depth Lt",
    "gamma": "gamma",
    "c": "sup |B|^2",
    "length": "path length in K + gamma I",
    "middle": "-2 H / Lt - min |A|^2 in K + gamma I",
    "upper": "upper bound gamma c",
    "lower": "corrected lower bound",
    "lower_printed": "printed lower bound",
    "slowest": "least |dA| - Lt root, over Lt sqrt(gamma c); at least -1",
    "fastest": "largest |dA| - Lt root, over Lt sqrt(gamma c); at most 2",
    "wrong_drift": "range of Lt |B S^T|^2 / 2 + Lt <A, B>, the other sign, over its largest size",
    "sign_changes": "sign changes of entries of A along the path",
    "norm_gain": "|W_1|^2 - |W_0|^2 over Lt int |b|^2, 0 without bias",
    "norm_range": "range of |W|^2 over its mean",
    "norm_gain_all": "|W_1|^2 - |W_0|^2 over Lt int |W|^2, all columns in place of the bias",
    "lagrangian_middle": "mean of |A|^2 + |dA|^2 / Lt^2 - min |A|^2 in K + gamma I, energies added",
    "lower_without": "lower bound without sqrt(gamma c)",
    "slowest_doubled": "least |dA| - 2 Lt root, over Lt sqrt(gamma c)",
    "fastest_without": "largest |dA|, over Lt sqrt(gamma c)",
}


def _bounds(path: Trajectory, start: Start, bias: bool) -> list[float]:
    Lt, gamma = start.effective_depth, start.gamma
    along = measure(path, Lt, bias, np.full(len(path.p), gamma))
    cost, speed, weight_sq = along["cost"], along["speed"], along["weight_sq"]
    H, c, length = along["scaled_hamiltonian"][0], along["momentum_sq"].max(), scipy.integrate.simpson(speed, x=path.p)
    corrected, printed = theorem4_bounds(length, Lt, gamma * c), theorem4_bounds_as_printed(length, Lt, gamma, c)
    gap = theorem4_speed_gap(speed, cost, H, Lt) / (Lt * np.sqrt(gamma * c))
    doubled = (2 * gap * Lt * np.sqrt(gamma * c) - speed) / (Lt * np.sqrt(gamma * c))
    wrong = weight_sq / (2 * Lt) + Lt * np.sum(path.A * path.B, axis=(1, 2))
    gained = Lt * scipy.integrate.simpson(along["bias_sq"], x=path.p)
    return [
        Lt,
        gamma,
        c,
        length,
        H - cost.min(),
        corrected.upper,
        corrected.lower,
        printed.lower,
        gap.min(),
        gap.max(),
        np.ptp(wrong) / np.abs(wrong).max(),
        along["sign_changes"].sum(),
        (weight_sq[-1] - weight_sq[0]) / gained if bias else 0.0,
        np.ptp(weight_sq) / weight_sq.mean(),
        (weight_sq[-1] - weight_sq[0]) / (Lt * scipy.integrate.simpson(weight_sq, x=path.p)),
        np.mean(cost + (speed / Lt) ** 2) - cost.min(),
        theorem4_bounds(length, Lt, 0.0).lower,
        doubled.min(),
        speed.max() / (Lt * np.sqrt(gamma * c)),
    ]


def _drift(path: Trajectory, effective_depth: float, bias: bool) -> float:
    """Range of H over the largest of its two terms, between which it may vanish."""
    H = _hamiltonians(path.A, path.B, effective_depth, bias)
    terms = effective_depth * np.abs(np.sum(path.A * path.B, axis=(1, 2)))
    return float(np.ptp(H) / max(terms.max(), np.abs(H).max()))


def critical_paths(settings: CriticalPaths, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Critical points of the discrete network, as symplectic Euler steps, against the number of layers."""
    columns = []
    for L in settings.layers:
        parts: list[Trial] = []
        for group in groups(settings.seeds, GROUP):
            name = f"{L} layers, seeds {group.start} to {group.stop - 1}"
            parts.append(checkpoint.get(name) or checkpoint.put(name, {"measured": _critical_paths(L, group, stream)}))
        columns.append(np.concatenate([part["measured"] for part in parts], axis=1))
    measured = np.stack(columns, axis=2)
    dims = ("bias", "seed", "layer_count")
    return dataset(
        {name: variable(dims, measured[..., n], text) for n, (name, text) in enumerate(CRITICAL_NAMES.items())},
        {
            "bias": BIAS,
            "seed": index("seed", settings.seeds, "random start"),
            "layer_count": variable("layer_count", np.array(settings.layers), "number of layers L"),
            "width": variable((), CRITICAL[0], "neurons w"),
            "points": variable((), CRITICAL[1], "points N"),
            "effective_depth": variable((), CRITICAL[2], "effective depth Lt"),
        },
        title="Critical points of the discrete network",
    )


CRITICAL_NAMES = {
    "spread": "range of H(A_{l-1}, B_l) over |H|",
    "momenta": "momenta of the backward pass minus those of the steps, relative",
    "norm_gain": "|W_L|^2 - |W_1|^2 over Lt times the sum of rho |b|^2, 0 without bias",
    "momenta_shifted": "momenta of the backward pass minus those of the next steps, relative",
    "norm_gain_all": "|W_L|^2 - |W_1|^2 over Lt times the mean of |W|^2",
}


def _critical_paths(L: int, seeds: range, stream: Stream) -> Array:
    """Quantities of `CRITICAL_NAMES` on networks of L layers, shape (bias, seed, quantity)."""
    return np.array([[_critical(bias, stream.generator(seed), L) for seed in seeds] for bias in BIASES])


def _critical(bias: bool, generator: np.random.Generator, L: int) -> list[float]:
    w, N, Lt = CRITICAL
    A, B = generator.standard_normal((2, w, N))
    B /= 2 * np.linalg.norm(B @ activation(A, bias).T)
    path = symplectic_euler(A, B, Lt, bias, L)
    W = np.stack([Lt * b @ activation(a, bias).T for a, b in zip(path.A[:-1], path.B[1:], strict=True)])
    rho = np.full(L, 1 / L)
    back, balance = momenta(W, path.A, path.B[-1], rho, Lt), balancedness(W, rho, Lt)
    gained = balance.predicted_as_printed[-1] - balance.norm_sq[0]
    gain = (balance.norm_sq[-1] - balance.norm_sq[0]) / gained if bias else 0.0
    off = float(np.linalg.norm(back - path.B) / np.linalg.norm(path.B))
    shifted = float(np.linalg.norm(back[:-1] - path.B[1:]) / np.linalg.norm(path.B))
    gain_all = (balance.norm_sq[-1] - balance.norm_sq[0]) / (Lt * balance.norm_sq.mean())
    H = _hamiltonians(path.A[:-1], path.B[1:], Lt, bias)
    return [float(np.ptp(H) / np.abs(H).mean()), off, gain, shifted, gain_all]


def _hamiltonians(A: Array, B: Array, effective_depth: float, bias: bool) -> Array:
    return np.array([hamiltonian(a, b, effective_depth, bias) for a, b in zip(A, B, strict=True)])
