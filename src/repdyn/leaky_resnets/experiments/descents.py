"""Descent of the cost of identity from random starts: where it ends (Section 1.4)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.settings.theory import Descents
from repdyn.leaky_resnets.theory import minima
from repdyn.leaky_resnets.theory.identity_cost import stable_ranks

CASES = ((8, 3, 0), (12, 5, 0), (8, 3, 1))  # neurons w, points N, bias
ENDS = {
    "end_cost": "cost at the end",
    "end_rank": "singular values above 1e-3 of the largest at the end",
    "negative_mass": "|A_-|^2 / |A|^2 at the end",
    "slope": "|gradient| |A| at the end",
    "negative_mass_at_start": "|A_-|^2 / |A|^2 at the start",
}


def descents(settings: Descents, stream: Stream) -> xr.Dataset:
    """Adam on |A|^2_{K + ridge I} from Gaussian starts: cost, rank and negative mass where it ends."""
    ends = np.array([_descend(case, settings, stream) for case in CASES])
    return dataset(
        {name: variable(("case", "start"), ends[:, n], words) for n, (name, words) in enumerate(ENDS.items())},
        {
            "case": variable("case", np.array([case_name(*case) for case in CASES]), "neurons, points, bias"),
            "start": index("start", settings.starts, "random start"),
        },
        title="Descent of the cost of identity from random starts",
    )


def case_name(w: int, N: int, bias: int) -> str:
    """Name of a case in the dataset."""
    return f"w = {w}, N = {N}, {'bias' if bias else 'no bias'}"


def _descend(case: tuple[int, int, int], settings: Descents, stream: Stream) -> list[Array]:
    w, N, bias = case
    first = stream.generator(w, N, 0).standard_normal((settings.starts, w, N))
    A = adam_descent(first, bool(bias), settings)
    slope = np.linalg.norm(minima.ridge_cost_gradient(A, bool(bias), settings.ridge), axis=(1, 2))
    ranks = np.array([stable_ranks(part, rtol=1e-3).rank for part in A])
    costs = minima.ridge_cost(A, bool(bias), settings.ridge)
    return [costs, ranks, _negative_mass(A), slope * np.linalg.norm(A, axis=(1, 2)), _negative_mass(first)]


def _negative_mass(A: Array) -> Array:
    return np.sum(np.minimum(A, 0) ** 2, axis=(-1, -2)) / np.sum(A**2, axis=(-1, -2))


def adam_descent(A: Array, bias: bool, settings: Descents) -> Array:
    """Where Adam with cosine decay to 0 takes a stack of representations, each on its own."""
    A, first, second = A.copy(), np.zeros_like(A), np.zeros_like(A)
    for step in range(settings.steps):
        gradient = minima.ridge_cost_gradient(A, bias, settings.ridge)
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient**2 - second)
        rate = 0.5 * settings.rate * (1 + np.cos(np.pi * step / settings.steps))
        sizes = np.sqrt(second / (1 - 0.999 ** (step + 1))) + 1e-8
        A -= rate * first / (1 - 0.9 ** (step + 1)) / sizes
    return A
