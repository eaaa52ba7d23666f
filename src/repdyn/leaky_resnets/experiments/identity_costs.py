"""Cost of identity of random representations: bounds, ranks, feasibility; descent to its minima."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.audit_draws import kept_without_bias
from repdyn.leaky_resnets.settings.theory import IdentityCosts
from repdyn.leaky_resnets.theory import minima
from repdyn.leaky_resnets.theory.added_neuron import enlarged_weights
from repdyn.leaky_resnets.theory.identity_cost import (
    activation,
    cost_of_identity,
    nonnegative_cost,
    nuclear_bound,
    nuclear_bound_as_printed,
    pseudo_inverse_norm_sq,
    stable_ranks,
)
from repdyn.leaky_resnets.theory.lagrangian import least_norm_weights

SHAPES = ((3, 3), (3, 6), (4, 12), (9, 4), (12, 40))  # (w, N); the fourth is wide, so that every cost is finite
SEARCHED = (6, 3)
NEGATIVE = -0.3  # the one negative entry of the example on Proposition 2
KICKS = (1e-2, 1e-4, 1e-6, 1e-8)
KICKED_RANK = 3
NEGATIVE_NORMS = (0.3, 3.0)
CONSTANTS = (0.1, 0.3, 1.0, 3.0)  # A = c 1^T
RANKS = (1, 2, 3, 5)
BIASES = (False, True)


def identity_costs(settings: IdentityCosts, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Cost, bounds and feasibility of Gaussian representations; least ratios; non-negative ones of low rank."""
    random = np.array([[_random(bias, shape, settings.draws, stream) for shape in SHAPES] for bias in BIASES])
    ranks = np.array([[_nonnegative(bias, k, settings.draws, stream) for k in RANKS] for bias in BIASES])
    least = np.array([_least_ratios(name, settings.searches, stream, checkpoint) for name in SEARCHES])
    return dataset(
        _random_variables(random)
        | _rank_variables(ranks)
        | _constants()
        | _perturbed(settings.draws, stream)
        | _slow_layers(settings.draws, stream)
        | {"least_ratio": variable(("search", "start"), least, "least ratio of cost and bound that the search finds")},
        {
            "bias": variable("bias", np.array([0, 1]), "whether activations carry a row of ones"),
            "shape": variable("shape", np.array([f"{w} x {N}" for w, N in SHAPES]), "neurons w x points N"),
            "draw": index("draw", settings.draws, "random representation"),
            "rank": variable("rank", np.array(RANKS), "rank of the non-negative representation"),
            "row_space": variable("row_space", np.array(["without 1", "with 1"]), "whether 1 lies in the row space"),
            "search": variable("search", np.array(list(SEARCHES)), "bias and bound of the search"),
            "start": index("start", settings.searches, "random start"),
            "kick": variable("kick", np.array(KICKS), "size of a perturbation over |A|"),
            "negative_norm": variable(
                "negative_norm", np.array(NEGATIVE_NORMS), "norm of the negative part of a point"
            ),
            "constant": variable("constant", np.array(CONSTANTS), "c of A = c 1^T"),
        },
        title="Cost of identity, its bounds and its feasibility",
    )


def _random(bias: bool, shape: tuple[int, int], draws: int, stream: Stream) -> Array:
    """One row per draw: plain cost, feasible, gap, bounds printed and corrected, ranks, change on scaling by 0.9."""
    generator, rows = stream.generator("random", *shape), []
    for _ in range(draws):
        A = generator.standard_normal(shape)
        cost, ranks = cost_of_identity(A, bias), stable_ranks(A)
        plain = pseudo_inverse_norm_sq(A, activation(A, bias))
        down, up = (pseudo_inverse_norm_sq(c * A, activation(c * A, bias)) / max(plain, 1e-12) - 1 for c in (0.9, 1.1))
        bounds = nuclear_bound_as_printed(A), nuclear_bound(A, bias)
        rows.append([plain, cost.feasible, cost.gap, *bounds, *ranks, down, *_one_negative(A, bias), up])
    return np.array(rows, float).T


def _one_negative(A: Array, bias: bool) -> tuple[float, float]:
    """Coefficient of eps^2 at z = K e_1 for |A| with one entry -.3: by the expansion, and |S_1|^2 - |A_1|^2."""
    A = np.abs(A)
    A[0, 0] = NEGATIVE
    S = activation(A, bias)
    return minima.added_neuron_coefficient(A, S.T @ S[:, 0], bias), float(minima.column_coefficients(A, bias)[0])


def _random_variables(values: Array) -> dict[str, xr.Variable]:
    names = {
        "plain_cost": "|A S^+|^2, whatever lies outside the image of S",
        "feasible": "whether Im A^T lies in Im S^T",
        "gap": "share of |A| outside the image of S",
        "bound_printed": "|A|_*^2 / |A|_F^2",
        "bound_corrected": "|A|_*^2 / (|A|_F^2 + N) with bias, else as printed",
        "nuclear_rank": "|A|_*^2 / |A|_F^2",
        "spectral_rank": "|A|_F^2 / |A|_op^2",
        "full_rank": "number of nonzero singular values",
        "scaling": "plain cost of 0.9 A over that of A, minus 1",
        "neuron_change": "eps^2 coefficient of an added neuron K e_1, one negative entry in A_1",
        "neuron_change_short": "|S_1|^2 - |A_1|^2, one negative entry in A_1",
        "scaling_up": "plain cost of 1.1 A over that of A, minus 1",
    }
    return {
        name: variable(("bias", "shape", "draw"), values[:, :, n], text) for n, (name, text) in enumerate(names.items())
    }


def _nonnegative(bias: bool, rank: int, draws: int, stream: Stream) -> Array:
    """Cost and its closed form for non-negative A of a rank, without and with 1 in the row space; (2, 2, draws)."""
    generator = stream.generator("non-negative", rank)
    costs = np.empty((2, 2, draws))
    for draw in range(draws):
        left, right = generator.uniform(size=(9, rank)), generator.uniform(size=(rank, 8))
        for with_ones in (0, 1):
            right[0] = 1.0 if with_ones else right[0]
            A = left @ right
            costs[:, with_ones, draw] = cost_of_identity(A, bias).value, nonnegative_cost(A, bias)
    return costs


def _rank_variables(values: Array) -> dict[str, xr.Variable]:
    dims = ("bias", "rank", "row_space", "draw")
    return {
        "nonnegative_cost": variable(dims, values[:, :, 0], "cost of identity of a non-negative representation"),
        "nonnegative_closed": variable(
            dims, values[:, :, 1], "rank, with bias less x / (1 + x) where 1 is in the rows"
        ),
    }


def _perturbed(draws: int, stream: Stream) -> dict[str, xr.Variable]:
    """Stable rank and plain cost of non-negative representations of rank 3 before and after small perturbations."""
    generator = stream.generator("perturbed")
    rank, cost, modulus = (np.empty((draws, len(KICKS))) for _ in range(3))
    for draw in range(draws):
        A = generator.uniform(size=(9, KICKED_RANK)) @ generator.uniform(size=(KICKED_RANK, 4))
        kick = generator.standard_normal(A.shape)
        kick /= np.linalg.norm(kick)
        before, plain = stable_ranks(A).nuclear, pseudo_inverse_norm_sq(A, activation(A, False))
        for at, size in enumerate(KICKS):
            near = A + size * np.linalg.norm(A) * kick
            rank[draw, at] = np.sqrt(stable_ranks(near).nuclear) - np.sqrt(before)
            cost[draw, at] = np.sqrt(pseudo_inverse_norm_sq(near, activation(near, False))) - np.sqrt(plain)
            modulus[draw, at] = size * (np.sqrt(min(A.shape)) + np.sqrt(before)) / (1 - size)
    words = "after a perturbation, less before"
    return {
        "rank_change": variable(("draw", "kick"), rank, f"root of |A|_*^2 / |A|_F^2 {words}"),
        "cost_change": variable(("draw", "kick"), cost, f"root of the plain cost of identity {words}"),
        "rank_modulus": variable(("draw", "kick"), modulus, "bound on the change of the root of the stable rank"),
    }


def _slow_layers(draws: int, stream: Stream) -> dict[str, xr.Variable]:
    """Representations whose least weights have no bias, the largest negative part of a point as given.

    At this point two neurons are added, K e_i and [A]_+^T [A_i]_+: the cost at order eps^2, and |W|^2 of a layer that
    stands still, from weights at finite eps.
    """
    changes = np.empty((len(SLOW), len(BIASES), len(NEGATIVE_NORMS), draws))
    for draw in range(draws):
        A = kept_without_bias(stream.generator("slow", draw))
        parts = np.linalg.norm(np.minimum(A, 0), axis=0)
        for b, n in np.ndindex(changes.shape[1:3]):
            changes[:, b, n, draw] = _with_neurons(A * NEGATIVE_NORMS[n] / parts.max(), int(parts.argmax()), BIASES[b])
    dims = ("bias", "negative_norm", "draw")
    return {name: variable(dims, changes[at], words) for at, (name, words) in enumerate(SLOW.items())}


SLOW = {
    "least_bias": "|b| over |[V, b]|, the least weights, of a representation made to have b = 0",
    "kept_change_printed": "eps^2 coefficient of the cost by K e_i over |[A_i]_-|^2, least weights without bias",
    "kept_change": "eps^2 coefficient of the cost by [A]_+^T [A_i]_+ over |[A_i]_-|^2, least weights without bias",
    "slow_norm_change_printed": "change of |W|^2 over (eps t Lt |[A_i]_-|)^2 by the neuron K e_i, layer at rest",
    "slow_norm_change": "change of |W|^2 over (eps t Lt |[A_i]_-|)^2 by the neuron [A]_+^T [A_i]_+, layer at rest",
}


def _with_neurons(A: Array, i: int, bias: bool) -> list[float]:
    t, eps, Lt = 0.7, 1e-3, 50.0
    S, negative_sq = activation(A, bias), float(np.sum(np.minimum(A[:, i], 0) ** 2))
    W = least_norm_weights(A, np.zeros_like(A), Lt, bias)
    least_bias = float(np.linalg.norm(W[:, A.shape[0] :]) / np.linalg.norm(W))
    neurons = S.T @ S[:, i], minima.positive_neuron(A, i)
    costs = [minima.added_neuron_coefficient(A, z, bias) / negative_sq for z in neurons]
    incoming = S[:, i], np.concatenate([np.maximum(A[:, i], 0), np.zeros(int(bias))])
    norms = [np.sum(enlarged_weights(W, A[:, i], r, t, eps, Lt) ** 2) - np.sum(W**2) for r in incoming]
    return [least_bias, *costs, *(norm / (eps * t * Lt) ** 2 / negative_sq for norm in norms)]


def _constants() -> dict[str, xr.Variable]:
    constant = [c * np.ones((1, 5)) for c in CONSTANTS]
    rows = [(cost_of_identity(A, True).value, nuclear_bound(A, True), nuclear_bound_as_printed(A)) for A in constant]
    costs, bounds, printed = np.array(rows).T
    return {
        "constant_cost": variable("constant", costs, "cost of identity of A = c 1^T, w = 1, with bias"),
        "constant_bound": variable("constant", bounds, "corrected bound of A = c 1^T"),
        "constant_bound_printed": variable("constant", printed, "bound of A = c 1^T as printed"),
    }


INFEASIBLE = 1e3  # in place of an infinite logarithm, for searches


def _ratio(bias: bool, bound: Callable[[Array], float]) -> Callable[[Array], float]:
    """Logarithm of cost over bound; the convention makes an infeasible A infinitely costly."""

    def of(flat: Array) -> float:
        A = flat.reshape(SEARCHED)
        cost = cost_of_identity(A, bias).value
        return float(np.log(cost / bound(A))) if np.isfinite(cost) else INFEASIBLE

    return of


SEARCHES = {
    "no bias, printed": _ratio(False, nuclear_bound_as_printed),
    "bias, printed": _ratio(True, nuclear_bound_as_printed),
    "bias, corrected": _ratio(True, lambda A: nuclear_bound(A, True)),
}


def _least_ratios(search: str, starts: int, stream: Stream, checkpoint: Checkpoint) -> Array:
    """Least ratio of cost and bound that a search finds from each of its starts."""
    ratios = np.empty(starts)
    for start in range(starts):
        name = f"{search}, start {start}"
        trial = checkpoint.get(name) or checkpoint.put(
            name, {"ratio": _least_ratio(SEARCHES[search], stream.generator("search", start))}
        )
        ratios[start] = trial["ratio"]
    return ratios


def _least_ratio(ratio: Callable[[Array], float], generator: np.random.Generator) -> float:
    """Least ratio by BFGS from a random start of finite cost with positive and negative entries."""
    first = generator.standard_normal(SEARCHED[0] * SEARCHED[1])
    while ratio(first) == INFEASIBLE:  # flat around: a search would stay there
        first = generator.standard_normal(SEARCHED[0] * SEARCHED[1])
    return float(np.exp(scipy.optimize.minimize(ratio, first, method="BFGS", options={"maxiter": 60}).fun))
