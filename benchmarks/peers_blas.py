"""Training by hand on BLAS, without compiling anything: every product lands where it is needed, nothing is allocated.

Arrays are handed to BLAS as their transposes, which Fortran takes without a copy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import blas

from repdyn.base.training import adam_numbers
from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.universality.methods.networks import LEAK, Weights

Array = np.ndarray
Gradient = Callable[[], float]


def in_place(
    alpha: float, a: Array, b: Array, beta: float, c: Array, *, left: bool = False, right: bool = False
) -> None:
    """c <- alpha a b + beta c with `left` and `right` for transposes; c is Fortran's."""
    gemm = blas.sgemm if c.dtype == np.float32 else blas.dgemm
    out = gemm(alpha, a, b, beta, c, trans_a=left, trans_b=right, overwrite_c=1)
    assert np.shares_memory(out, c), "BLAS made a copy"


def adam(theta: Array, slope: Array, mean: Array, square: Array, room: Array, numbers: Array) -> None:
    """One step of Adam in place, in pieces that stay in the cache."""
    new, new_square, step, scale, epsilon = (theta.dtype.type(number) for number in numbers)
    for at in range(0, theta.size, 16384):
        w, g, m, v, r = (part[at : at + 16384] for part in (theta, slope, mean, square, room))
        np.subtract(g, m, out=r)
        r *= new
        m += r
        np.multiply(g, g, out=r)
        r -= v
        r *= new_square
        v += r
        np.sqrt(v, out=r)
        r *= scale
        r += epsilon
        np.divide(m, r, out=r)
        r *= step
        w -= r


class TwoPoints:
    """Dense leaky ReLU networks on two points; each product with a weight matrix is two of matrix and vector."""

    def __init__(self, weights: Weights, X: Array, Y: Array, optimizer: str, rate: float) -> None:
        kind = weights["first"].dtype
        matrices = [weights["first"], *weights["middle"], weights["last"]]
        self.theta = np.concatenate([part.ravel() for part in matrices])
        self.b = [*weights["biases"].copy(), weights["last_bias"].copy()]
        self.rate, self.done, self.Y = rate, 0, Y.astype(kind)
        self.W = _views(self.theta, [part.shape for part in matrices])
        self.a = [X.astype(kind), *(np.empty((2, len(b)), kind) for b in self.b)]
        self.slope = [np.empty((2, len(b)), kind) for b in self.b]
        self.back = [np.empty_like(part) for part in self.a]
        self.adam = optimizer == "adam"
        if self.adam:
            self.dtheta, self.mean, self.square, self.room = (np.zeros_like(self.theta) for _ in range(4))
            self.dW = _views(self.dtheta, [part.shape for part in matrices])
            self.moments = [[np.zeros_like(b) for _ in range(3)] for b in self.b]
        single = kind == np.float32
        self.gemv, self.ger = (blas.sgemv, blas.sger) if single else (blas.dgemv, blas.dger)

    def forward(self) -> float:
        """Activities and slopes of all layers, and the loss."""
        last = len(self.W) - 1
        for layer, (W, b) in enumerate(zip(self.W, self.b, strict=True)):
            a, z, slope = self.a[layer], self.a[layer + 1], self.slope[layer]
            z[:] = b
            for point in range(2):
                self.gemv(1, W.T, a[point], 1, z[point], trans=1, overwrite_y=1)
            if layer < last:
                np.greater(z, 0, out=slope)
                np.maximum(slope, LEAK, out=slope)
                z *= slope
        return float(np.sum((self.a[-1] - self.Y) ** 2)) / 4

    def step(self) -> float:
        """One step; gives the loss before it."""
        loss = self.forward()
        self.done += 1
        numbers = adam_numbers(self.rate, self.done - 1, 1)[0] if self.adam else None
        np.subtract(self.a[-1], self.Y, out=self.back[-1])
        self.back[-1] *= 0.5
        for layer in range(len(self.W) - 1, -1, -1):
            W, a, delta, below = self.W[layer], self.a[layer], self.back[layer + 1], self.back[layer]
            if layer < len(self.W) - 1:
                delta *= self.slope[layer]
            for point in range(2 if layer else 0):
                self.gemv(1, W.T, delta[point], 0, below[point], overwrite_y=1)
            if numbers is not None:
                self._by_adam(layer, delta, numbers)
                continue
            for point in range(2):
                self.ger(-self.rate, a[point], delta[point], a=W.T, overwrite_a=1, overwrite_x=0, overwrite_y=0)
            self.b[layer] -= self.rate * delta.sum(axis=0)
        if numbers is not None:
            adam(self.theta, self.dtheta, self.mean, self.square, self.room, numbers)
        return loss

    def _by_adam(self, layer: int, delta: Array, numbers: Array) -> None:
        np.matmul(delta.T, self.a[layer], out=self.dW[layer])
        adam(self.b[layer], delta.sum(axis=0), *self.moments[layer], numbers)


class Leaky:
    """A leaky ResNet with biases and trained maps: a layer is one product that adds to what leaks."""

    def __init__(self, net: LeakyResNet, X: Array, Y: Array, penalty: float, kind: type = np.float32) -> None:
        parts = [*net.W, net.into, net.out]
        self.theta = np.concatenate([part.ravel() for part in parts]).astype(kind)
        self.grad, self.mean, self.square, self.room = (np.zeros_like(self.theta) for _ in range(4))
        shapes = [part.shape for part in parts]
        *self.W, self.P, self.Q = _views(self.theta, shapes)
        *self.dW, self.dP, self.dQ = _views(self.grad, shapes)
        (L, w, inner), N = net.W.shape, X.shape[1]
        self.weights, self.rho, self.leak = net.W.size, net.rho, 1 - net.rho * net.effective_depth
        self.decay, self.X, self.Y = penalty / net.effective_depth, X.astype(kind), Y.astype(kind)
        self.S = np.ones((L, inner, N), kind)
        self.A, self.G, self.H = (np.empty((w, N), kind) for _ in range(3))
        self.active, self.residual, self.done = np.empty((w, N), bool), np.empty_like(self.Y), 0

    def gradient(self) -> None:
        """Leaves the gradient of the objective in `grad`."""
        A, G, H, w, L = self.A, self.G, self.H, len(self.A), len(self.W)
        np.matmul(self.P, self.X, out=A)
        for layer, S in enumerate(self.S):
            np.maximum(A, 0, out=S[:w])
            in_place(self.rho[layer], S.T, self.W[layer].T, self.leak[layer], A.T)
        np.matmul(self.Q, A, out=self.residual)
        self.residual -= self.Y
        self.residual *= 2 / self.X.shape[1]
        np.matmul(self.residual, A.T, out=self.dQ)
        np.matmul(self.Q.T, self.residual, out=G)
        np.copyto(self.grad[: self.weights], self.theta[: self.weights])
        for layer in range(L - 1, -1, -1):
            rho, S = self.rho[layer], self.S[layer]
            in_place(rho, S.T, G.T, rho * self.decay, self.dW[layer].T, left=True)
            in_place(rho, G.T, self.W[layer][:, :w].T, 0, H.T, right=True)
            np.greater(S[:w], 0, out=self.active)
            H *= self.active
            G *= H.dtype.type(self.leak[layer])
            G += H
        np.matmul(G, self.X.T, out=self.dP)

    def descent_step(self, rate: float, map_rate: float) -> None:
        """One step of descent; the maps go at a rate of their own."""
        self.gradient()
        self.grad[: self.weights] *= rate
        self.grad[self.weights :] *= map_rate
        self.theta -= self.grad

    def adam_step(self, rate: float, map_rate: float) -> None:
        """One step of Adam."""
        self.gradient()
        self.done += 1
        for part, its in ((slice(self.weights), rate), (slice(self.weights, None), map_rate)):
            vectors = (vector[part] for vector in (self.theta, self.grad, self.mean, self.square, self.room))
            adam(*vectors, adam_numbers(its, self.done - 1, 1)[0])


def _views(flat: Array, shapes: list[tuple[int, ...]]) -> list[Array]:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]
