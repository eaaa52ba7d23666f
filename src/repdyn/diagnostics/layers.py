"""What the papers measure of one layer: angles and the odd point, ranks, orthogonality gap, cost of identity, energies.

Activations come as in `activations`, shape (points, units); the studies' theories want one column per point. What
depends on inner products alone is computed on a square factor of the Gram matrix, which is exact and small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from repdyn.bn_decomposed.theory.geometry import (
    RANK_TOLERANCE,
    effective_rank,
    geometry,
    numerical_rank,
    orthogonality_gap,
)
from repdyn.diagnostics.activations import Array
from repdyn.diagnostics.texts import described
from repdyn.leaky_resnets.theory.identity_cost import (
    activation,
    cost_of_identity,
    operator_norm_sq,
    stable_norm_sq,
    stable_ranks,
)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PER_LAYER = (
    "units",
    "constant",
    "zero_points",
    "odd_point",
    "norm_ratio",
    "odd_angle",
    "intra_angle",
    "numerical_rank",
    "effective_rank",
    "centred_effective_rank",
    "stable_rank",
    "nuclear_rank",
    "orthogonality_gap",
    "cost_of_identity",
    "identity_gap",
    "stable_cost_of_identity",
)
COUNTS = ("units", "constant", "zero_points", "odd_point", "numerical_rank")


@dataclass(frozen=True)
class Residual:
    """The residual stream of a network, A_l = (1 - rho_l Lt) A_{l-1} + rho_l W_l relu(A_{l-1}) or anything like it.

    Attributes:
        layers: names of the layers that carry A_0, A_1, ..., all of one size; "input" may be the first.
        effective_depth: the leak Lt; 0 for a plain residual network, which has kinetic energy |dA|^2 / 2 and no
            potential.
        steps: rho_l, of sum 1; None for equal steps.
    """

    layers: Sequence[str]
    effective_depth: float = 0.0
    steps: Sequence[float] | None = None

    def __post_init__(self) -> None:
        """Refuses a stream that is none."""
        if len(self.layers) < 2 or isinstance(self.layers, str):
            raise ValueError(f"residual names the layers {self.layers!r}; give two or more in the order of the stream")
        if not self.effective_depth >= 0:
            raise ValueError(f"effective_depth is {self.effective_depth}; give 0 for a plain residual network, or more")
        if self.steps is not None and (
            len(self.steps) != len(self.layers) - 1 or min(self.steps) <= 0 or abs(sum(self.steps) - 1) > 1e-9
        ):
            raise ValueError(f"steps are {self.steps}; give {len(self.layers) - 1} positive numbers of sum 1")


def layer_variables(layers: Mapping[str, Array], gamma: float, bias: bool) -> dict[str, xr.Variable]:
    """One value per layer of everything in `PER_LAYER`, quantiles of the angles, norms of the points.

    Args:
        layers: activations by layer, shape (points, units) each.
        gamma: regulariser of the stable cost of identity, relative to |K|_op.
        bias: whether the cost of identity may use a bias; without, it is the rank on non-negative layers.
    """
    measured = [_measured(A, gamma, bias) for A in layers.values()]
    found = {name: described(name, "layer", np.array([one[name] for one in measured])) for name in PER_LAYER}
    found = {name: one.astype(np.int64) if name in COUNTS else one for name, one in found.items()}
    found["angle"] = described("angle", ("layer", "quantile"), np.array([one["angle"] for one in measured]))
    found["norm"] = described("norm", ("layer", "point"), np.array([one["norm"] for one in measured]))
    return found


def _measured(A: Array, gamma: float, bias: bool) -> dict[str, object]:
    found: dict[str, object] = dict.fromkeys(PER_LAYER, np.nan)
    norms = np.linalg.norm(A, axis=1)
    odd = int(np.argmax(norms))
    found |= {
        "units": A.shape[1],
        "constant": not np.ptp(A, axis=0).any(),
        "zero_points": int(np.sum(norms == 0)),
        "odd_point": odd,
        "angle": np.full(len(QUANTILES), np.nan),
        "norm": norms,
        "norm_ratio": norms[odd] / second if (second := np.sort(norms)[-2]) else np.nan,
    }
    if not norms.any():
        return found | {"numerical_rank": 0, "cost_of_identity": 0.0, "identity_gap": 0.0}
    columns = square_factor(A)
    nuclear, spectral, _ = stable_ranks(columns)
    plain = cost_of_identity(A.T, bias, rtol=RANK_TOLERANCE)
    found |= {
        "numerical_rank": numerical_rank(columns),
        "effective_rank": effective_rank(columns),
        "centred_effective_rank": effective_rank(square_factor(A - A.mean(axis=0))),
        "stable_rank": spectral,
        "nuclear_rank": nuclear,
        "orthogonality_gap": orthogonality_gap(columns),
        "cost_of_identity": plain.value if plain.feasible else np.nan,
        "identity_gap": plain.gap,
        "stable_cost_of_identity": stable_norm(A, A, gamma, bias),
    }
    return found | (_angles(columns) if norms.all() else {})


def _angles(columns: Array) -> dict[str, object]:
    shape = geometry(columns)
    return {
        "angle": np.quantile(shape.angles, QUANTILES),
        "odd_angle": shape.odd_angle,
        "intra_angle": shape.intra_angle,
    }


def square_factor(A: Array) -> Array:
    """F with F^T F = A A^T, at most square: the points as columns in coordinates that keep all inner products."""
    return A.T if A.shape[1] <= A.shape[0] else np.linalg.qr(A.T, mode="r")


def stable_norm(M: Array, A: Array, gamma: float, bias: bool) -> float:
    """|M|^2_{K + gamma |K|_op I} with K of the positive part of A; NaN where A is nowhere positive and K is 0.

    Args:
        M: what is measured, shape (points, units).
        A: the layer it is measured in, shape (points, units).
        gamma: regulariser relative to |K|_op.
        bias: whether K has a bias.
    """
    S = square_factor(activation(A.T, bias).T)
    size = operator_norm_sq(S)
    return stable_norm_sq(square_factor(M), S, gamma * size) if size else float("nan")


def energy_variables(
    layers: Mapping[str, Array], residual: Residual, gamma: float, bias: bool
) -> dict[str, xr.Variable]:
    """Kinetic and potential energy and their sum along the residual stream, at the layer a step starts from.

    Kinetic |dA|^2 / (2 Lt), potential -(Lt / 2) |A|^2, both in the norm of K + gamma I, dA = (A_l - A_{l-1}) / rho_l;
    without a leak |dA|^2 / 2 and 0.

    Raises:
        ValueError: the layers of the stream differ in size.
    """
    stream = [layers[name] for name in residual.layers]
    if len({A.shape for A in stream}) > 1:
        sizes = ", ".join(f"{name}: {A.shape[1]}" for name, A in zip(residual.layers, stream, strict=True))
        raise ValueError(f"the layers of the residual stream have different sizes ({sizes}); name layers of one size")
    steps = residual.steps or [1 / (len(stream) - 1)] * (len(stream) - 1)
    Lt = residual.effective_depth
    speed = np.array(
        [
            stable_norm((after - before) / step, before, gamma, bias)
            for before, after, step in zip(stream[:-1], stream[1:], steps, strict=True)
        ]
    )
    kinetic = speed / (2 * Lt) if Lt else speed / 2
    cost = np.array([stable_norm(A, A, gamma, bias) for A in stream[:-1]])
    potential = -Lt / 2 * cost if Lt else np.zeros_like(kinetic)
    values = {"kinetic_energy": kinetic, "potential_energy": potential, "hamiltonian": kinetic + potential}
    return {name: described(name, "step_from", part) for name, part in values.items()}
