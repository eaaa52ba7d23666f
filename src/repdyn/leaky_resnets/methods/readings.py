"""What claims, figures and tables read alike: networks that speak, steps in the plane, balance, Theorem 4."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.checks import Array
from repdyn.leaky_resnets.theory.hamiltonian import theorem4_bounds, theorem4_speed_gap

DECAYED = "decayed maps"
"""Linear maps that weight decay keeps finite, so that training has where to settle."""
PAPER_DEPTH = 7.0
"""Effective depth of Figures 1b and 1c."""
STAGE = 0.3
"""Position p of Figure 2b's 6-dimensional stage."""
PAPER_SIZES = "the paper: 30, 100, 1000, 6000"
"""Dimension, width, points and steps of the paper, beside ours."""


def of_maps(measures: xr.Dataset, maps: str = DECAYED) -> xr.Dataset:
    """The networks with one kind of linear maps."""
    return measures.sel(maps=maps)


def at_paper_depth(measures: xr.Dataset) -> xr.Dataset:
    """The effective depth next to the paper's 7."""
    return measures.sel(effective_depth=PAPER_DEPTH, method="nearest")


def at_stage(measures: xr.Dataset, name: str) -> xr.DataArray:
    """A measure of each network's layer whose middle lies next to p = 0.3; without the dimension `layer`."""
    node = measures["p"].transpose(..., "node").values
    nearest = np.abs((node[..., 1:] + node[..., :-1]) / 2 - STAGE).argmin(axis=-1)
    dims = [dim for dim in measures["p"].dims if dim != "node"]
    return measures[name].isel(layer=xr.DataArray(nearest, dims=dims))


def size_and_distance(measures: xr.Dataset) -> str:
    """Size, length of training and distance from a critical point of Figure 2's networks, in words."""
    kind = "maps" if "maps" in measures.dims else "teacher"
    distance = measures["relative_distance"]
    means = distance.mean([dim for dim in distance.dims if dim != kind])
    far = ", ".join(f"{float(mean):.2g} ({name})" for name, mean in zip(means[kind].values, means, strict=True))
    d, w, N, steps = (int(measures[name]) for name in ("dimension", "width", "points", "steps"))
    size = f"d = {d}, w = {w}, N = {N}, {steps} steps of Adam ({PAPER_SIZES})"
    return f"{size}; |W - Lt B S^T| / |W| with most layers: {far}."


def steps_in_plane(plane: xr.DataArray) -> Array:
    """Lengths of a path's steps on its first two principal axes, shape (seeds, L)."""
    return np.linalg.norm(np.diff(plane.transpose("seed", "node", "axis").values, axis=1), axis=-1)


def unevenness_in_plane(plane: xr.DataArray) -> Array:
    """Standard deviation over mean of the steps' lengths in the plane of the path, shape (seeds,)."""
    steps = steps_in_plane(plane)
    return steps.std(axis=1) / steps.mean(axis=1)


def balance_factor(refined: xr.Dataset) -> Array:
    """(|W_L|^2 - |W_1|^2) / (Lt int |b|^2), the factor of Proposition 9, shape (numbers of layers, seeds)."""
    gains = []
    for name in ("weight_sq", "balance"):
        values = refined[name].transpose("layers", "seed", "layer").values
        last = [row[:, int(L) - 1] for row, L in zip(values, refined["layers"].values, strict=True)]
        gains.append(np.array(last) - values[:, :, 0])
    return 2 * gains[0] / gains[1]


def bottleneck_bounds(geodesics: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Theorem 4 along each trajectory, with gamma_p: -2 H / Lt - min COI, corrected lower and upper bound."""
    lab = geodesics
    middle = lab["scaled_hamiltonian"].mean("p") - lab["cost"].min("p")
    gamma_c = (lab["gamma"] * lab["momentum_sq"]).max("p")
    arguments = (lab["speed"].integrate("p"), lab["effective_depth"], gamma_c)
    return middle, *xr.apply_ufunc(theorem4_bounds, *arguments, output_core_dims=[[], []], vectorize=True)


def bottleneck_speed_gap(geodesics: xr.Dataset) -> xr.DataArray:
    """Theorem 4's second display over Lt sqrt(gamma_p) |B_p| at every position: within [-1, 2]."""
    lab = geodesics
    arguments = (lab["speed"], lab["cost"], lab["scaled_hamiltonian"], lab["effective_depth"])
    size = lab["effective_depth"] * np.sqrt(lab["gamma"] * lab["momentum_sq"])
    return xr.apply_ufunc(theorem4_speed_gap, *arguments, vectorize=True) / size
