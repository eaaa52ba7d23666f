"""Measures of stored networks: energies, distances to critical points, spectra, paths. Trains nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Annotated

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import DIVERGED, dataset, index, variable
from repdyn.base.settings import EACH
from repdyn.leaky_resnets.methods.maps import MAPS
from repdyn.leaky_resnets.methods.measures import MEASURES, PLACES, SPECTRA, measure
from repdyn.leaky_resnets.methods.network_datasets import PARTS, diverged, network_at, task_at
from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.methods.selection import STAGE
from repdyn.leaky_resnets.settings.training import Measures

FIFTH = 0.2
REDUCED = ("neuron", "input", "feature", "point")  # dimensions of networks and data that no measure has


def chain_measures(
    settings: Measures, trained: Annotated[Mapping[str, xr.Dataset], EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """Measures of all chains (Figures 1 and 3): maps, seeds, effective depths."""
    joined = xr.concat(list(trained.values()), "seed", data_vars="minimal", coords="minimal")
    variables = _measured(joined, ("maps", "seed", "effective_depth"), settings, checkpoint)
    return _dataset(variables, joined, settings, "Measures of trained networks over effective depths")


def refinement_measures(
    settings: Measures, refinement: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """Measures of networks refined along one path."""
    variables = _measured(refinement, ("seed", "layers"), settings, checkpoint)
    factors = _balance_factors(variables, refinement["layers"].values)
    variables["balance_factor"] = variable(("seed", "layers"), factors, "(|W_L|^2 - |W_1|^2) / (Lt int |b|^2)")
    return _dataset(variables, refinement, settings, "Measures of refined networks")


def _balance_factors(variables: Mapping[str, xr.Variable], layers: Array) -> Array:
    """The factor of Proposition 9 from the first layer to the last that is there."""
    gains = []
    for name in ("weight_sq", "balance_printed"):
        values = variables[name].values
        last = np.stack([values[:, at, int(L) - 1] for at, L in enumerate(layers)], axis=1)
        gains.append(last - values[:, :, 0])
    return gains[0] / gains[1]


def convergence_measures(
    settings: Measures, convergence: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """Measures after runs of several lengths."""
    variables = _measured(convergence, ("maps", "seed", "steps"), settings, checkpoint)
    return _dataset(variables, convergence, settings, "Measures after runs of several lengths")


def paper_measures(
    settings: Measures, paper_settings: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """Measures along training with the paper's own settings."""
    variables = _measured(paper_settings, ("maps", "seed", "stop"), settings, checkpoint)
    return _dataset(variables, paper_settings, settings, "Measures along training with the paper's own settings")


def restart_measures(settings: Measures, restarts: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint) -> xr.Dataset:
    """Measures of networks of the same teachers from several starts."""
    variables = _measured(restarts, ("teacher", "start"), settings, checkpoint)
    return _dataset(variables, restarts, settings, "Measures of networks from several starts")


def excess_measures(
    settings: Measures, overregularized: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """Measures of networks under penalties that are too large."""
    variables = _measured(overregularized, ("teacher", "excess"), settings, checkpoint)
    return _dataset(variables, overregularized, settings, "Measures under penalties that are too large")


def scheme_measures(
    settings: Measures, discretized: Annotated[Mapping[str, xr.Dataset], EACH], checkpoint: Checkpoint
) -> xr.Dataset:
    """Errors over numbers of layers, measures and planar paths of the largest (Figure 2)."""
    joined = xr.concat(list(discretized.values()), "seed", data_vars="minimal", coords="minimal")
    dims = ("maps", "scheme", "seed")
    variables = _measured(joined, dims, settings, checkpoint)
    variables |= _planes(joined, dims) | _fifths(variables["p"]) | _error_ratios(joined) | _stage(variables, dims)
    for name in ("test_error", "train_error", "unevenness", "longest_step", "distance"):
        variables[f"{name}_by_layers"] = joined[name].variable
    return _dataset(variables, joined, settings, "Schemes of layer steps: errors, measures, paths")


def _fifths(p: xr.Variable) -> dict[str, xr.Variable]:
    """Layers in [0, 0.2] and in [0.8, 1] over the number that equidistant steps have, p_l interpolated."""
    L = p.shape[-1] - 1
    nodes, paths = np.arange(L + 1), p.values.reshape(-1, L + 1)
    first = np.array([np.interp(FIFTH, path, nodes) for path in paths]) / (FIFTH * L)
    last = np.array([L - np.interp(1 - FIFTH, path, nodes) for path in paths]) / (FIFTH * L)
    gone = np.isnan(paths).any(axis=1)
    first[gone] = last[gone] = np.nan
    words = "layers in the {} fifth of [0, 1] over the equidistant number"
    return {
        f"{name}_fifth": variable([*map(str, p.dims[:-1])], values.reshape(p.shape[:-1]), words.format(name))
        for name, values in (("first", first), ("last", last))
    }


def _error_ratios(stored: xr.Dataset) -> dict[str, xr.Variable]:
    """Test errors over those of equidistant steps in the same seed."""
    errors = stored["test_error"].transpose("maps", "scheme", "layers", "seed")
    ratio = errors / errors.sel(scheme="equidistant", drop=True)
    ratio = ratio.transpose(*errors.dims)
    words = "test error over that of equidistant steps"
    return {"test_ratio_by_layers": variable([*map(str, ratio.dims)], ratio.values, words)}


def staged_measures(settings: Measures, staged: Annotated[xr.Dataset, EACH], checkpoint: Checkpoint) -> xr.Dataset:
    """Measures of adaptive networks for two teachers and two penalties (Figure 2b)."""
    variables = _measured(staged, ("teacher", "seed"), settings, checkpoint)
    variables |= _stage(variables, ("teacher", "seed"))
    return _dataset(variables, staged, settings, "Adaptive networks for two teachers and two penalties")


def _stage(variables: Mapping[str, xr.Variable], dims: Sequence[str]) -> dict[str, xr.Variable]:
    values = at_stage(variables["p"].values, variables["weight_dimension"].values)
    words = f"large singular values of the layer whose middle is next to p = {STAGE:g}"
    return {"stage_dimension": variable(dims, values, words)}


def at_stage(p: Array, values: Array) -> Array:
    """A measure in the layer whose middle lies next to p = 0.3.

    Args:
        p: positions of the nodes, shape (..., L + 1).
        values: measure by layer, shape (..., L).
    """
    nearest = np.abs((p[..., 1:] + p[..., :-1]) / 2 - STAGE).argmin(axis=-1)
    return np.take_along_axis(values, nearest[..., None], axis=-1)[..., 0]


def _cells(stored: xr.Dataset, dims: Sequence[str]) -> list[xr.Dataset]:
    places = product(*(range(stored.sizes[dim]) for dim in dims))
    return [stored.isel(dict(zip(dims, place, strict=True))) for place in places]


def _network(cell: xr.Dataset) -> LeakyResNet:
    bias = MAPS[str(cell["maps"].values)].bias if "maps" in cell.coords else True
    return network_at(cell, float(cell["effective_depth"]), bias)


def _measured(
    stored: xr.Dataset, dims: Sequence[str], settings: Measures, checkpoint: Checkpoint
) -> dict[str, xr.Variable]:
    """Variables of all measures over `dims`; NaN beyond the last layer where numbers of layers differ."""
    cells = _cells(stored, dims)
    measured = [_measures(cell, settings, checkpoint) for cell in cells]
    shape = tuple(stored.sizes[dim] for dim in dims)
    variables = {}
    for name, (own, words) in MEASURES.items():
        values = _padded([measures[name] for measures in measured])
        variables[name] = variable((*dims, *own), values.reshape(*shape, *values.shape[1:]), words)
        if not np.isfinite(values).all():
            gone = any(map(diverged, cells))
            variables[name].attrs["missing"] = f"beyond the last layer{f', or {DIVERGED}' if gone else ''}"
    return variables


def _measures(cell: xr.Dataset, settings: Measures, checkpoint: Checkpoint) -> dict[str, Array]:
    """Measures of one network; of one that has diverged all are NaN, in the shapes of another of its size."""
    gone, network, task, strength = diverged(cell), _network(cell), task_at(cell), float(cell["lam"])
    if gone:
        numbers = np.random.default_rng(0).standard_normal
        network = replace(network, **{name: numbers(getattr(network, name).shape) for name in PARTS})
    own, of = checkpoint.of(network, task, strength), (network, task, strength, settings.gammas, settings.values)
    measures = own.get("measures") or own.put("measures", measure(*of))
    return {name: np.full_like(values, np.nan, float) for name, values in measures.items()} if gone else measures


def _padded(parts: Sequence[Array]) -> Array:
    largest = np.max([part.shape for part in parts], axis=0)
    if all(part.shape == tuple(largest) for part in parts):
        return np.stack(parts)
    padded = np.full((len(parts), *largest), np.nan)
    for place, part in zip(padded, parts, strict=True):
        place[tuple(slice(size) for size in part.shape)] = part
    return padded


def _planes(stored: xr.Dataset, dims: Sequence[str]) -> dict[str, xr.Variable]:
    """Each path A_0 .. A_L on its first two principal axes, their share of its variance, and its steps there."""
    paths, shares = [], []
    for cell in _cells(stored, dims):
        net = _network(cell)
        path, share = np.full((len(net.W) + 1, 2), np.nan), np.nan
        if not diverged(cell):
            path, share = plane_of(net.forward(cell["X"].values.astype(float)))
        paths.append(path)
        shares.append(share)
    shape = tuple(stored.sizes[dim] for dim in dims)
    plane = np.array(paths).reshape(*shape, *paths[0].shape)
    steps, uneven = plane_steps(plane)
    return {
        "plane": variable((*dims, "node", "axis"), plane, "A_l on two axes"),
        "plane_share": variable(dims, np.reshape(shares, shape), "share of the path's variance on two axes"),
        "plane_step": variable((*dims, "layer"), steps, "length of a step on two axes over the mean length"),
        "plane_unevenness": variable(dims, uneven, "standard deviation over mean of the lengths on two axes"),
    }


def plane_of(A: Array) -> tuple[Array, float]:
    """A path, shape (L + 1, w, N), on its two principal axes over sqrt(N), and their share of its variance."""
    flat = A.reshape(len(A), -1)
    U, s, _ = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
    return U[:, :2] * s[:2] / np.sqrt(A.shape[2]), float(np.sum(s[:2] ** 2) / np.sum(s**2))


def plane_steps(plane: Array) -> tuple[Array, Array]:
    """Lengths of a path's steps over their mean, shape (..., L), and their relative spread; plane (..., L + 1, 2)."""
    steps = np.linalg.norm(np.diff(plane, axis=-2), axis=-1)
    mean = steps.mean(axis=-1)
    return steps / mean[..., None], steps.std(axis=-1) / mean


COUNTED = {"node": "layer l = 0 .. L", "value": "singular value, falling", "axis": "principal axis"}


def _dataset(variables: dict[str, xr.Variable], stored: xr.Dataset, settings: Measures, title: str) -> xr.Dataset:
    """Measures with the coordinates of their dimensions and those of the networks' dataset."""
    sizes = {dim: size for values in variables.values() for dim, size in values.sizes.items()}
    coords = {str(name): coord.variable for name, coord in stored.coords.items() if name not in REDUCED}
    coords |= {dim: index(dim, sizes[dim], words) for dim, words in COUNTED.items() if dim in sizes}
    coords["gamma"] = variable("gamma", np.array(settings.gammas), "gamma_p over the operator norm of K_p")
    coords["place"] = variable("place", np.array(PLACES), "where layers are merged")
    coords["spectrum_of"] = variable("spectrum_of", np.array(SPECTRA), "whose singular values; centered: no constant")
    return dataset(variables, coords, title=title)
