"""What is recorded of all seeds' networks at once, during training: pairs of points, and singular values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from repdyn.across_papers.methods.names import CURVES
from repdyn.across_papers.methods.networks import Network
from repdyn.base.datasets import variable
from repdyn.diagnostics.methods.catalog import TEXTS


class PairRecorder:
    """h, y, w and the loss of pairs of points, as `diagnostics.measure` defines them, for every seed.

    Args:
        X: inputs, shape (points, inputs).
        Y: targets, shape (points, outputs).
        pairs: pairs of points.
    """

    def __init__(self, X: Tensor, Y: Tensor, pairs: Sequence[tuple[int, int]]) -> None:
        self.X, self.Y, self.pairs = X, Y, list(pairs)
        self.first, self.second = torch.tensor(self.pairs).T
        self.steps: list[int] = []
        self.values: list[np.ndarray] = []

    @torch.no_grad()
    def __call__(self, network: Network, step: int) -> None:
        """Records the networks as they are, at a step."""
        middle, output = network.at_half_depth(self.X)
        h = (middle[:, self.second] - middle[:, self.first]).pow(2).sum(dim=-1)
        dy = output[:, self.second] - output[:, self.first]
        wanted = self.Y[self.second] - self.Y[self.first]
        error = (output - self.Y).pow(2).sum(dim=-1) / 2
        alignment = ((dy - wanted) * dy).sum(dim=-1)
        loss = (error[:, self.first] + error[:, self.second]) / 2
        self.steps.append(step)
        self.values.append(torch.stack([h, dy.pow(2).sum(dim=-1), alignment, loss]).numpy())

    def dataset(self) -> xr.Dataset:
        """All that was recorded: the curves over (seed, step, pair), and the pairs' distances in data and targets."""
        curves = np.moveaxis(np.stack(self.values), 0, 2)  # curve, seed, step, pair
        variables = {
            name: variable(("seed", "step", "pair"), curves[k], TEXTS[name].long_name, TEXTS[name].units)
            for k, name in enumerate(CURVES)
        }
        for name, values, what, unit in (
            ("input_distance", self.X, "inputs", "input^2"),
            ("target_distance", self.Y, "targets", "output^2"),
        ):
            distance = (values[self.second] - values[self.first]).pow(2).sum(dim=-1).numpy()
            variables[name] = variable("pair", distance, f"squared distance of the {what}", unit)
        names = np.array([f"{i}-{j}" for i, j in self.pairs])
        coords = {"seed": np.arange(curves.shape[1]), "step": np.array(self.steps), "pair": names}
        return xr.Dataset(variables, coords)


class SpectrumRecorder:
    """Singular values without the mean over points: at half depth, of the outputs and of the inputs.

    Args:
        X: inputs, shape (points, inputs).
    """

    def __init__(self, X: Tensor) -> None:
        self.X = X
        self.looks: list[list[np.ndarray]] = []

    @torch.no_grad()
    def __call__(self, network: Network) -> None:
        """Records the networks as they are."""
        self.looks.append([self._values(part) for part in network.at_half_depth(self.X)])

    def dataset(self, ends: Sequence[str]) -> xr.Dataset:
        """Singular values over (seed, end, index), as many as points, of the inputs over (index)."""
        middle, output = np.moveaxis(np.array(self.looks), (0, 1), (2, 0))
        dims, without = ("seed", "end", "index"), "without the mean over points"
        variables = {
            "middle_values": variable(dims, middle, f"singular values at half depth {without}", "activation"),
            "output_values": variable(dims, output, f"singular values of the outputs {without}", "output"),
            "input_values": variable(
                "index", self._values(self.X), f"singular values of the inputs {without}", "input"
            ),
        }
        return xr.Dataset(variables, {"end": list(ends), "index": np.arange(len(self.X))})

    def _values(self, points: Tensor) -> np.ndarray:
        """As many as points, the last ones 0; NaN of networks that have diverged."""
        gone = ~points.isfinite().all(dim=(-2, -1))
        centered = points - points.mean(dim=-2, keepdim=True)
        values = torch.linalg.svdvals(centered.nan_to_num(0.0)).numpy()
        padded = np.pad(values, [*[(0, 0)] * (values.ndim - 1), (0, len(self.X) - values.shape[-1])])
        padded[gone.numpy()] = np.nan
        return padded
