"""Leaky ResNets in float64: shapes, starts, forward and backward pass; what training in `training.py` is measured by.

Layer l = 1 .. L maps A_{l-1} to A_l = (1 - rho_l Lt) A_{l-1} + rho_l W_l S_{l-1} with S = [relu(A); 1] (without the
row of ones where there is no bias); a linear map leads in, A_0 = P X, and one out, f = Q A_L. The cost is
C = |f* - f|^2 / N, summed over outputs, the objective C + (lam / (2 Lt)) sum rho_l |W_l|^2; with the cost averaged over
outputs lam would be divided by their number. At zero ReLU has slope 0, so padded rows stay 0.
Paper: Hamiltonian Mechanics of Feature Learning, Sections 1.1, 1.5 and 3, Appendix B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from repdyn.base.arrays import Array
from repdyn.leaky_resnets.theory.arguments import effective_depth_of
from repdyn.leaky_resnets.theory.identity_cost import activation
from repdyn.leaky_resnets.theory.layers import end_momentum, momenta, propagate

SUM_TOLERANCE = 1e-12  # layer steps are sums of a few dozen numbers of order 1/L


@dataclass(frozen=True)
class LeakyResNet:
    """One network.

    Attributes:
        W: layer weights, last column the bias where there is one, shape (L, w, w + 1) or (L, w, w).
        rho: layer steps, shape (L,), positive, of sum 1.
        effective_depth: leak Lt > 0.
        into: linear map P from inputs to A_0, shape (w, d).
        out: linear map Q from A_L to outputs, shape (d_out, w).
        long_steps: allows rho_l Lt >= 1, where the leak changes A's sign; adaptive steps may need it.
    """

    W: Array
    rho: Array
    effective_depth: float
    into: Array
    out: Array
    long_steps: bool = False

    def __post_init__(self) -> None:
        """Refuses shapes and steps that make no network."""
        effective_depth_of(self.effective_depth)
        if wrong := [*_shape_problems(self), *_step_problems(self)]:
            raise ValueError("LeakyResNet: " + "; ".join(wrong))

    @property
    def bias(self) -> bool:
        """Whether the last column of each W is a bias."""
        return self.W.shape[2] == self.W.shape[1] + 1

    def forward(self, X: Array) -> Array:
        """Representations A_0 .. A_L of the inputs X, shape (d, N); gives (L + 1, w, N).

        Raises:
            ValueError: X is not finite, of another dimension, or of fewer than two points.
        """
        _refuse_bad_points(X, self.into.shape[1])
        return propagate(self.W, self.into @ X, self.rho, self.effective_depth)

    def output(self, X: Array) -> Array:
        """Outputs f = Q A_L, shape (d_out, N)."""
        return self.out @ self.forward(X)[-1]

    def momenta(self, A: Array, Y: Array, penalty: float) -> Array:
        """B_0 .. B_L = -(1 / penalty) dC/dA_l along `forward`'s A for the cost |Y - Q A_L|^2 / N; (L + 1, w, N)."""
        end = self.out.T @ end_momentum(Y - self.out @ A[-1], penalty)
        return momenta(self.W, A, end, self.rho, self.effective_depth)

    def gradient(self, X: Array, Y: Array, penalty: float) -> tuple[Array, Array, Array]:
        """Gradient of |Y - f|^2 / N + (penalty / (2 Lt)) sum rho_l |W_l|^2 by W, P and Q (maps are not penalized)."""
        A = self.forward(X)
        B = self.momenta(A, Y, penalty)
        S = np.stack([activation(part, self.bias) for part in A[:-1]])
        by_weight = penalty * (self.W / self.effective_depth - B[1:] @ S.transpose(0, 2, 1))
        residual = 2 / Y.shape[1] * (self.out @ A[-1] - Y)
        return self.rho[:, None, None] * by_weight, -penalty * B[0] @ X.T, residual @ A[-1].T

    def deepened(self, effective_depth: float) -> LeakyResNet:
        """Start for another effective depth: weights in proportion to it, so that W S / Lt stays the same."""
        return replace(
            self, W=self.W * (effective_depth / self.effective_depth), effective_depth=float(effective_depth)
        )

    def refined(self) -> LeakyResNet:
        """Every layer split into two of half the step and the same weights."""
        return replace(self, W=np.repeat(self.W, 2, axis=0), rho=np.repeat(self.rho / 2, 2))


def start(
    width: int,
    dimensions: tuple[int, int],
    rho: Array,
    effective_depth: float,
    rng: np.random.Generator,
    *,
    learned: bool,
    bias: bool,
) -> LeakyResNet:
    """A network before training.

    With learned maps P ~ N(0, 1/d), Q ~ N(0, 1/w) and small weights, uniform within 1/sqrt(w) like PyTorch's linear
    layers; with fixed maps, which pad with zeros and cut, W ~ N(0, 2 Lt^2/w), which keeps a leaky layer's signal, and
    zero biases.

    Args:
        width: neurons w per layer.
        dimensions: of inputs and outputs.
        rho: layer steps, shape (L,).
        effective_depth: leak Lt.
        rng: generator; the same numbers whatever Lt and the steps are.
        learned: whether the maps will be trained.
        bias: whether layers have biases.
    """
    d, d_out = dimensions
    shape = (len(rho), width, width + bias)
    if learned:
        W = rng.uniform(-1, 1, shape) / np.sqrt(width)
        into, out = rng.standard_normal((width, d)) / np.sqrt(d), rng.standard_normal((d_out, width)) / np.sqrt(width)
        return LeakyResNet(W, rho, effective_depth, into, out)
    W = effective_depth * np.sqrt(2 / width) * rng.standard_normal(shape)
    W[:, :, width:] = 0
    return LeakyResNet(W, rho, effective_depth, np.eye(width, d), np.eye(d_out, width))


def _refuse_bad_points(X: Array, dimension: int) -> None:
    if X.ndim != 2 or X.shape[0] != dimension or X.shape[1] < 2:
        raise ValueError(f"X has shape {X.shape}; give ({dimension}, N) with one column per point and N >= 2")
    if not np.isfinite(X).all():
        raise ValueError(f"X holds {np.sum(~np.isfinite(X))} values that are not finite; remove those points")


def _shape_problems(net: LeakyResNet) -> list[str]:
    if net.W.ndim != 3 or net.W.shape[2] - net.W.shape[1] not in (0, 1):
        return [f"W has shape {net.W.shape}; give (L, w, w + 1), or (L, w, w) without bias"]
    L, w, _ = net.W.shape
    faults = [] if net.rho.shape == (L,) else [f"rho has shape {net.rho.shape} for {L} layers; give one step per layer"]
    if net.into.shape[0] != w or net.out.shape[1] != w:
        faults.append(f"maps of shapes {net.into.shape} and {net.out.shape} do not fit width {w}")
    if w < max(net.into.shape[1], net.out.shape[0]):
        faults.append(f"width {w} is below the larger of the dimensions {net.into.shape[1]} and {net.out.shape[0]}")
    return faults


def _step_problems(net: LeakyResNet) -> list[str]:
    if not np.all(net.rho > 0) or abs(net.rho.sum() - 1) > SUM_TOLERANCE:
        return [f"layer steps must be positive and sum to 1; they sum to {net.rho.sum():.15g}, least {net.rho.min():g}"]
    layer = int(np.argmax(net.rho))
    if net.rho[layer] * net.effective_depth >= 1 and not net.long_steps:
        return [
            f"step {net.rho[layer]:.4g} of layer {layer + 1} times the effective depth {net.effective_depth:g} reaches"
            f" 1; keep it below {1 / net.effective_depth:.4g}, take more layers, or allow long_steps"
        ]
    return []
