"""The task of blobs with two features of which the context says which one counts (Section 4.5, Appendix B.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def blob_images(positions: int, pixels: int) -> tuple[NDArray, NDArray, NDArray]:
    """The task: inputs, targets, features (Appendix B.3).

    Pixels stand at even steps of [-1, 1]^2, so do the centers mu; a pixel p shows exp(-|p - mu|^2/2), an image sums
    to 1. The context is appended one-hot: in the first the target is the x-position, in the second the y-position.

    Args:
        positions: centers along each axis.
        pixels: pixels along each axis.

    Returns:
        Inputs (2 positions^2, pixels^2 + 2), targets (2 positions^2, 1), centers and context (2 positions^2, 3).
    """
    steps, grid = np.linspace(-1, 1, positions), np.linspace(-1, 1, pixels)
    centers = np.stack(np.meshgrid(steps, steps, indexing="ij"), axis=-1).reshape(-1, 2)
    places = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    shown = np.exp(-((centers[:, None] - places[None]) ** 2).sum(axis=-1) / 2)
    shown /= shown.sum(axis=1, keepdims=True)
    context = np.repeat([0, 1], len(centers))
    inputs = np.hstack([np.tile(shown, (2, 1)), np.eye(2)[context]])
    features = np.column_stack([np.tile(centers, (2, 1)), context])
    return inputs, features[np.arange(len(context)), context][:, None], features
