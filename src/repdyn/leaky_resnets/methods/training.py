"""Full-batch training of leaky ResNets: hand-written gradient, Adam or gradient descent, several networks at once.

On a CPU networks take compiled steps, one after the other; on a GPU they share batched products.
Their numbers do not depend on each other. All buffers are made once, in float32. On a GPU a step is one CUDA graph.
Paper: Section 3, Appendix B (full batch, Adam, then gradient descent at a smaller rate).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from repdyn.base.arrays import Array
from repdyn.base.training import BETAS, EPSILON, replayable
from repdyn.leaky_resnets.methods import compiled_steps
from repdyn.leaky_resnets.methods.networks import LeakyResNet

MAP_RATE = 0.2  # rate of the linear maps over that of the layers
_masked = torch.ops.aten.threshold_backward.grad_input


class Trainer:
    """M networks of one shape on data of their own.

    The objective of each is |Y - f|^2 / N + (penalty / (2 Lt)) (sum rho_l |W_l|^2 + map_decay (|P|^2 + |Q|^2)).

    Args:
        networks: M networks of one shape, bias and effective depth.
        X: inputs, shape (M, d, N).
        Y: targets, shape (M, d_out, N).
        penalty: lam > 0.
        learned: whether P and Q are trained.
        map_decay: weight of the maps in the penalty; 0 leaves them free.
        device: torch device.
        dtype: floating type of everything.
        batched: on a CPU too, the products of a GPU.

    Raises:
        ValueError: penalty, data or networks do not fit.
    """

    def __init__(
        self,
        networks: Sequence[LeakyResNet],
        X: Array,
        Y: Array,
        *,
        penalty: float,
        learned: bool = True,
        map_decay: float = 0.0,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        batched: bool = False,
    ) -> None:
        _check(networks, X, Y, penalty)
        torch.backends.cuda.matmul.allow_tf32 = False  # Hamiltonians are differences of large numbers
        self.networks, self.learned = list(networks), learned
        self.device, self.dtype = torch.device(device), dtype
        self.decay, self.map_decay = penalty / networks[0].effective_depth, map_decay
        self.X, self.Y = self._tensor(X), self._tensor(Y)
        parts = [np.stack([net.W for net in networks], axis=1)]
        maps = [np.stack([net.into for net in networks]), np.stack([net.out for net in networks])]
        self.theta = self._tensor(np.concatenate([part.ravel() for part in (parts + maps if learned else parts)]))
        shapes = [part.shape for part in parts + maps]
        self.grad, self.first, self.second, self.scratch = (torch.zeros_like(self.theta) for _ in range(4))
        self.W, self.P, self.Q = _views(self.theta, shapes, [self._tensor(part) for part in maps])
        self.dW, self.dP, self.dQ = _views(self.grad, shapes, [torch.empty(0), torch.empty(0)])
        self.pace = torch.ones_like(self.theta)
        self.pace[self.W.numel() :] = MAP_RATE
        self.rate, self.done = torch.zeros((), dtype=dtype, device=self.device), 0
        self._allocate(shapes[0])
        self._on_cpu = None if batched or self.device.type != "cpu" else self._compiled(shapes)
        self.set_steps(np.stack([net.rho for net in networks], axis=1))

    def _tensor(self, values: Array) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device, self.dtype)

    def _allocate(self, shape: tuple[int, ...]) -> None:
        """Buffers of the forward and the backward pass, and the views that a step walks through."""
        (L, M, w, inner), N = shape, self.X.shape[2]
        options: dict[str, Any] = {"dtype": self.dtype, "device": self.device}
        self.rho, self.leak = (torch.empty((L, M, 1, 1), **options) for _ in range(2))
        self.U = torch.empty_like(self.W)
        S, G = torch.ones((L, M, inner, N), **options), torch.zeros((L + 1, M, w, N), **options)
        self.A, self.residual = torch.empty((M, w, N), **options), torch.empty_like(self.Y)
        self.layers = list(zip(self.U.unbind(), S.unbind(), S[:, :, :w].unbind(), self.leak.unbind(), strict=True))
        turned = self.U[..., :w].transpose(2, 3)
        self.back = list(zip(turned.unbind(), S[:, :, :w].unbind(), self.leak.unbind(), strict=True))
        self.G = list(G.unbind())
        self.all_G, self.all_S = G[1:].view(L * M, w, N), S.view(L * M, inner, N).transpose(1, 2)
        self.all_dW = self.dW.view(L * M, w, inner)

    def _compiled(self, shapes: Sequence[tuple[int, ...]]) -> tuple[Array, ...]:
        """Arguments of the compiled gradient: this trainer's arrays, and room for one network."""
        (L, M, w, inner), N = shapes[0], self.X.shape[2]
        arrays = [part.numpy() for part in (self.W, self.P, self.Q, self.X, self.Y)]
        steps = [part.view(L, M).numpy() for part in (self.rho, self.leak)]
        sizes = [(L + 1, inner, N), (L, w, inner), (L, w, w), *[(w, N)] * 3, self.Y.shape[1:]]
        room = [np.ones(size, arrays[0].dtype) for size in sizes]
        slopes = self.dW, *([self.dP, self.dQ] if self.learned else [torch.empty(shape) for shape in shapes[1:]])
        kind = arrays[0].dtype.type
        return *arrays, *steps, kind(self.decay), self.learned, *room, *(part.to(self.dtype).numpy() for part in slopes)

    def set_steps(self, rho: Array) -> None:
        """Gives the layers new steps, shape (L, M), kept in float64 so that they sum to 1."""
        self.steps = np.asarray(rho, float)
        self.rho.copy_(self._tensor(self.steps)[:, :, None, None])
        self.leak.copy_(self._tensor(1 - self.steps * self.networks[0].effective_depth)[:, :, None, None])

    def forward(self) -> Iterator[torch.Tensor]:
        """Runs the networks; gives A_0 .. A_L, each in the buffer of the one before, and leaves activations."""
        torch.mul(self.W, self.rho, out=self.U)
        yield torch.bmm(self.P, self.X, out=self.A)
        for U, S, active, leak in self.layers:
            torch.clamp_min(self.A, 0, out=active)
            yield self.A.mul_(leak).baddbmm_(U, S)

    def gradient(self) -> None:
        """Leaves the gradient of the objective in `grad`."""
        if self._on_cpu:
            compiled_steps.gradient(*self._on_cpu)
        else:
            self._batched_gradient()
        if self.learned:
            self.grad[self.W.numel() :].add_(self.theta[self.W.numel() :], alpha=self.decay * self.map_decay)

    def _batched_gradient(self) -> None:
        for _ in self.forward():
            pass
        torch.baddbmm(self.Y, self.Q, self.A, beta=-1, out=self.residual)
        scale = 2 / self.X.shape[2]
        self.G[-1].baddbmm_(self.Q.transpose(1, 2), self.residual, beta=0, alpha=scale)
        for layer in range(len(self.back) - 1, -1 if self.learned else 0, -1):
            (U, active, leak), later, now = self.back[layer], self.G[layer + 1], self.G[layer]
            torch.bmm(U, later, out=now)
            _masked(now, active, 0, grad_input=now)
            now.addcmul_(later, leak)
        torch.bmm(self.all_G, self.all_S, out=self.all_dW)
        self.dW.add_(self.W, alpha=self.decay).mul_(self.rho)
        if self.learned:
            self.dQ.baddbmm_(self.residual, self.A.transpose(1, 2), beta=0, alpha=scale)
            torch.bmm(self.G[0], self.X.transpose(1, 2), out=self.dP)

    def adam_step(self) -> None:
        """One step of Adam; `rate` holds minus the rate with the correction for early moments."""
        self.gradient()
        if self._on_cpu:
            vectors = (self.theta, self.grad, self.first, self.second, self.pace)
            kind = self._on_cpu[0].dtype.type
            numbers = (kind(self.rate), *map(kind, BETAS), kind(EPSILON))
            compiled_steps.adam(*(vector.numpy() for vector in vectors), *numbers)
            return
        self.first.lerp_(self.grad, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(self.grad, self.grad, value=1 - BETAS[1])
        torch.sqrt(self.second, out=self.scratch).add_(EPSILON)
        torch.div(self.first, self.scratch, out=self.scratch).mul_(self.pace)
        self.theta.addcmul_(self.scratch, self.rate)

    def descent_step(self) -> None:
        """One step of plain gradient descent; `rate` holds minus the rate."""
        self.gradient()
        self.grad.mul_(self.pace)
        self.theta.addcmul_(self.grad, self.rate)

    @torch.inference_mode()
    def adam(self, rates: Array, every: int = 0, between: Callable[[], None] | None = None) -> None:
        """Steps of Adam at the given rates; `between` runs before every `every`-th step."""
        step = self._replayable(self.adam_step)
        for index, rate in enumerate(np.asarray(rates, float)):
            if between and index % every == 0:
                between()
            self.done += 1
            self.rate.fill_(-rate * np.sqrt(1 - BETAS[1] ** self.done) / (1 - BETAS[0] ** self.done))
            step()

    @torch.inference_mode()
    def descend(self, rates: Array) -> None:
        """Steps of plain gradient descent at the given rates."""
        step = self._replayable(self.descent_step)
        for rate in np.asarray(rates, float):
            self.rate.fill_(-rate)
            step()

    def _replayable(self, step: Callable[[], None]) -> Callable[[], None]:
        """The step itself, or on a GPU its CUDA graph: a hundred small kernels would wait for their launches."""
        if self.device.type != "cuda":
            return step
        return replayable(step, (self.theta, self.first, self.second))

    @torch.inference_mode()
    def representations(self) -> Array:
        """A_0 .. A_L of all networks, shape (M, L + 1, w, N), from the present weights."""
        return torch.stack([A.clone() for A in self.forward()], dim=1).cpu().numpy()

    def state(self) -> dict[str, np.ndarray]:
        """What a resumed training needs: parameters, moments, layer steps, number of steps done."""
        kept = {"theta": self.theta, "first": self.first, "second": self.second}
        arrays = {name: part.cpu().numpy().copy() for name, part in kept.items()}
        return arrays | {"steps": self.steps.copy(), "done": np.array(self.done)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Goes on from a `state` of a trainer made alike."""
        for name in ("theta", "first", "second"):
            getattr(self, name).copy_(torch.from_numpy(state[name]))
        self.set_steps(state["steps"])
        self.done = int(state["done"])

    def trained(self) -> list[LeakyResNet]:
        """The networks with their present parameters, in float64."""
        W, P, Q = (part.cpu().double().numpy().copy() for part in (self.W, self.P, self.Q))
        return [
            replace(net, W=W[:, m], rho=self.steps[:, m], into=P[m], out=Q[m], long_steps=True)
            for m, net in enumerate(self.networks)
        ]


def cosine(rate: float, steps: int) -> Array:
    """Rates that fall from `rate` to 0 along half a cosine."""
    return 0.5 * rate * (1 + np.cos(np.pi * np.arange(steps) / steps))


def _views(flat: torch.Tensor, shapes: Sequence[tuple[int, ...]], fixed: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """W, P, Q as views of a flat tensor, or the fixed maps where the flat tensor holds the weights alone."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    if flat.numel() == sizes[0]:
        return [flat.view(shapes[0]), *fixed]
    return [part.view(shape) for part, shape in zip(flat.split(sizes), shapes, strict=True)]


def _check(networks: Sequence[LeakyResNet], X: Array, Y: Array, penalty: float) -> None:
    shapes = {(net.W.shape, net.into.shape, net.out.shape, net.effective_depth) for net in networks}
    if len(shapes) != 1:
        raise ValueError(f"networks of {len(shapes)} different shapes or effective depths; give equal ones")
    d, d_out, N = networks[0].into.shape[1], networks[0].out.shape[0], X.shape[-1]
    wanted = {"X": (X, (len(networks), d, N)), "Y": (Y, (len(networks), d_out, N))}
    for name, (values, shape) in wanted.items():
        if values.shape != shape or N < 2:
            raise ValueError(f"{name} has shape {values.shape}; give {shape}, one data set per network, N >= 2")
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds {np.sum(~np.isfinite(values))} values that are not finite; remove them")
    if not penalty > 0:
        raise ValueError(f"penalty {penalty} is not above 0; momenta divide by it")
