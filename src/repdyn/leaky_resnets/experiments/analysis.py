"""Measures of stored networks: energies, distances to critical points, spectra, paths. Trains nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.leaky_resnets.methods.maps import MAPS
from repdyn.leaky_resnets.methods.measures import MEASURES, measure
from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.methods.stored import network_at, task_at
from repdyn.leaky_resnets.settings.training import Measures
from repdyn.leaky_resnets.theory.checks import Array

SIZES = ("dimension", "width", "points", "steps")


def chain_measures(settings: Measures, trained: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Measures of all chains (Figures 1 and 3): maps, seeds, effective depths."""
    joined = xr.concat(list(trained.values()), "seed", data_vars="minimal", coords="minimal")
    made = _measured(joined, ("maps", "seed", "effective_depth"), settings)
    return _dataset(
        made,
        joined,
        ("lam", "bias", "rank", "steps"),
        settings,
        "Measures of trained networks over effective depths",
        "Figures 1 and 3",
    )


def refinement_measures(settings: Measures, refinement: xr.Dataset) -> xr.Dataset:
    """Measures of networks refined along one path."""
    made = _measured(refinement, ("seed", "layers"), settings)
    return _dataset(
        made,
        refinement,
        ("lam", "effective_depth"),
        settings,
        "Measures of refined networks",
        "distance_to_critical, balancedness",
    )


def convergence_measures(settings: Measures, convergence: xr.Dataset) -> xr.Dataset:
    """Measures after runs of several lengths."""
    made = _measured(convergence, ("maps", "seed", "steps"), settings)
    return _dataset(
        made,
        convergence,
        ("lam", "effective_depth"),
        settings,
        "Measures after runs of several lengths",
        "distance_to_critical",
    )


def paper_measures(settings: Measures, paper_settings: xr.Dataset) -> xr.Dataset:
    """Measures along training with the paper's own settings."""
    made = _measured(paper_settings, ("maps", "steps"), settings)
    return _dataset(
        made,
        paper_settings,
        ("lam", "effective_depth", "rank"),
        settings,
        "Measures along training with the paper's own settings",
        "paper_settings",
    )


def scheme_measures(settings: Measures, discretised: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Errors over numbers of layers, measures and planar paths of the largest (Figure 2)."""
    joined = xr.concat(list(discretised.values()), "seed", data_vars="minimal", coords="minimal")
    dims = ("maps", "scheme", "seed")
    made = _measured(joined, dims, settings) | _planes(joined, dims)
    for name in ("test_error", "train_error", "unevenness", "longest_step"):
        made[f"{name}_by_layers"] = joined[name].variable
    return _dataset(
        made,
        joined,
        ("lam", "effective_depth", "layers", "inner", "part", *SIZES),
        settings,
        "Schemes of layer steps: errors, measures, paths",
        "Figure 2",
    )


def staged_measures(settings: Measures, staged: xr.Dataset) -> xr.Dataset:
    """Measures of adaptive networks for two teachers and two penalties (Figure 2b)."""
    made = _measured(staged, ("teacher", "seed"), settings)
    return _dataset(
        made,
        staged,
        ("lam", "effective_depth", "inner", "part", *SIZES),
        settings,
        "Adaptive networks for two teachers and two penalties",
        "Figure 2b",
    )


def _cells(stored: xr.Dataset, dims: Sequence[str]) -> list[xr.Dataset]:
    places = product(*(range(stored.sizes[dim]) for dim in dims))
    return [stored.isel(dict(zip(dims, place, strict=True))) for place in places]


def _network(cell: xr.Dataset) -> LeakyResNet:
    bias = MAPS[str(cell["maps"].values)].bias if "maps" in cell.coords else True
    return network_at(cell, float(cell["effective_depth"]), bias)


def _measured(stored: xr.Dataset, dims: Sequence[str], settings: Measures) -> dict[str, xr.Variable]:
    """Variables of all measures over `dims`; NaN beyond the last layer where numbers of layers differ."""
    found = [
        measure(_network(cell), task_at(cell), float(cell["lam"]), settings.gammas, settings.values)
        for cell in _cells(stored, dims)
    ]
    shape = tuple(stored.sizes[dim] for dim in dims)
    made = {}
    for name, (own, words) in MEASURES.items():
        values = _padded([one[name] for one in found])
        made[name] = variable((*dims, *own), values.reshape(*shape, *values.shape[1:]), words)
        if not np.isfinite(values).all():
            made[name].attrs["missing"] = "beyond the last layer"
    return made


def _padded(parts: Sequence[Array]) -> Array:
    largest = np.max([part.shape for part in parts], axis=0)
    if all(part.shape == tuple(largest) for part in parts):
        return np.stack(parts)
    made = np.full((len(parts), *largest), np.nan)
    for place, part in zip(made, parts, strict=True):
        place[tuple(slice(size) for size in part.shape)] = part
    return made


def _planes(stored: xr.Dataset, dims: Sequence[str]) -> dict[str, xr.Variable]:
    """Each path A_0 .. A_L on its first two principal axes, with their share of its variance."""
    found = []
    for cell in _cells(stored, dims):
        A = _network(cell).forward(cell["X"].values.astype(float))
        flat = A.reshape(len(A), -1)
        U, s, _ = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
        found.append((U[:, :2] * s[:2] / np.sqrt(A.shape[2]), np.sum(s[:2] ** 2) / np.sum(s**2)))
    shape = tuple(stored.sizes[dim] for dim in dims)
    plane, share = (np.array([one[part] for one in found]) for part in (0, 1))
    return {
        "plane": variable((*dims, "node", "axis"), plane.reshape(*shape, *plane.shape[1:]), "A_l on two axes"),
        "plane_share": variable(dims, share.reshape(shape), "share of the path's variance on two axes"),
    }


COUNTED = {"node": "layer l = 0 .. L", "value": "singular value, falling", "axis": "principal axis"}


def _dataset(
    made: dict[str, xr.Variable], stored: xr.Dataset, kept: Sequence[str], settings: Measures, title: str
) -> xr.Dataset:
    """Measures with the coordinates of their dimensions and the `kept` ones of the networks' dataset."""
    sizes = {dim: size for one in made.values() for dim, size in one.sizes.items()}
    coords = {name: stored[name].variable for name in (*sizes, *kept) if name in stored.coords}
    coords |= {dim: index(dim, sizes[dim], words) for dim, words in COUNTED.items() if dim in sizes}
    coords["gamma"] = variable("gamma", np.array(settings.gammas), "gamma_p over the operator norm of K_p")
    return dataset(made, coords, title=title)
