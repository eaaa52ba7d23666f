"""Audit of the discrete network for any weights, against automatic differentiation of the objective."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.settings.training import NetworkAudit
from repdyn.leaky_resnets.theory.identity_cost import activation
from repdyn.leaky_resnets.theory.layers import momentum_identity

LAYERS, WIDTH, SIZE, POINTS, LT, LAM = 7, 9, 4, 13, 2.3, 0.4
COSTS = {"|f* - A|^2 / N": 1.0, "|f* - A|^2 / 2": POINTS / 2}  # their momenta over that of the first


def network_audit(settings: NetworkAudit, stream: Stream) -> xr.Dataset:
    """Momentum identity, and the objective's gradient from W_l - Lt B_l S^T, with momenta of |.|^2 / N or |.|^2 / 2."""
    identity, increment, size = (np.empty((2, settings.draws, LAYERS)) for _ in range(3))
    error = np.empty((len(COSTS), 2, settings.draws))
    for b, bias in enumerate((True, False)):
        for draw in range(settings.draws):
            net, X, Y = random_network(stream.generator(bias, draw), bias)
            A = net.forward(X)
            B = net.momenta(A, Y, LAM)
            identity[b, draw] = momentum_identity(net.W, A, B, net.rho)
            increment[b, draw] = np.diff(np.sum(A * B, axis=(1, 2)))
            size[b, draw] = np.linalg.norm(A[1:], axis=(1, 2)) * np.linalg.norm(B[1:], axis=(1, 2))
            slope = automatic_gradient(net, X, Y)
            for c, factor in enumerate(COSTS.values()):
                error[c, b, draw] = np.abs(predicted_gradient(net, A, factor * B) - slope).max() / np.abs(slope).max()
    dims = ("bias", "draw")
    return dataset(
        {
            "identity": variable((*dims, "layer"), identity, "<A_l,B_l> - <A_{l-1},B_{l-1}> - rho_l b_l . (B_l 1)"),
            "increment": variable((*dims, "layer"), increment, "<A_l,B_l> - <A_{l-1},B_{l-1}>"),
            "size": variable((*dims, "layer"), size, "|A_l| |B_l|"),
            "gradient_error": variable(
                ("cost", *dims), error, "gradient of the objective against rho (lam / Lt) (W - Lt B S^T), relative"
            ),
        },
        {
            "bias": variable("bias", np.array([1, 0]), "1: layers with bias, 0: without"),
            "draw": index("draw", settings.draws, "random network and data"),
            "layer": variable("layer", np.arange(1, LAYERS + 1), "layer l"),
            "cost": variable("cost", np.array(list(COSTS)), "cost whose momentum is taken"),
        },
        title="Audit of the discrete network with random weights",
    )


def random_network(rng: np.random.Generator, bias: bool) -> tuple[LeakyResNet, Array, Array]:
    """A network with random weights, steps and maps, and data."""
    rho = rng.uniform(0.5, 1.5, LAYERS)
    into, out = rng.standard_normal((WIDTH, SIZE)), rng.standard_normal((SIZE, WIDTH))
    W = rng.standard_normal((LAYERS, WIDTH, WIDTH + bias))
    net = LeakyResNet(W, rho / rho.sum(), LT, into, out)
    return net, rng.standard_normal((SIZE, POINTS)), rng.standard_normal((SIZE, POINTS))


def automatic_gradient(net: LeakyResNet, X: Array, Y: Array) -> Array:
    """Gradient by W of |Y - f|^2 / N + (lam / (2 Lt)) sum rho |W|^2, by PyTorch from the forward pass alone."""
    W, rho = torch.tensor(net.W, requires_grad=True), torch.tensor(net.rho)
    A = torch.tensor(net.into @ X)
    for weight, step in zip(W, rho, strict=True):
        S = torch.cat([torch.relu(A), torch.ones(int(net.bias), A.shape[1], dtype=A.dtype)])
        A = (1 - step * LT) * A + step * weight @ S
    fit = torch.sum((torch.tensor(Y) - torch.tensor(net.out) @ A) ** 2) / X.shape[1]
    objective = fit + LAM / (2 * LT) * torch.sum(rho * torch.sum(W**2, dim=(1, 2)))
    return torch.autograd.grad(objective, W)[0].numpy()


def predicted_gradient(net: LeakyResNet, A: Array, B: Array) -> Array:
    """rho_l (lam / Lt) (W_l - Lt B_l S_{l-1}^T), shape of W."""
    S = np.stack([activation(part, net.bias) for part in A[:-1]])
    return net.rho[:, None, None] * LAM / LT * (net.W - LT * B[1:] @ S.transpose(0, 2, 1))
