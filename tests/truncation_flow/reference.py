"""Truncation maps and the gradient of their cost written anew, the gradient by automatic differentiation."""

import numpy as np
import torch


def tau(X, R, beta):
    """Images of points under one truncation map."""
    return np.maximum((X + beta) @ R.T, 0) @ R - beta


def behind(X, R, beta):
    """Points behind all layers, a tensor."""
    z = torch.as_tensor(X)
    for rotation, offset in zip(R, beta, strict=True):
        z = torch.relu((z + offset) @ rotation.T) @ rotation - offset
    return z


def descent(X, cluster, R, beta, yt):
    """The cost, and its steepest descent in the biases and, as generators, in the rotations; clusters weigh alike."""
    w = torch.tensor(1.0 / np.bincount(cluster)[cluster])
    R, beta = torch.tensor(R, requires_grad=True), torch.tensor(beta, requires_grad=True)
    cost = 0.5 * (w[:, None] * (behind(X, R, beta) - torch.tensor(yt[cluster])) ** 2).sum()
    cost.backward()
    G = (R.grad @ R.mT).detach().numpy()
    return cost.item(), -beta.grad.numpy(), -(G - G.swapaxes(1, 2)) / 2
