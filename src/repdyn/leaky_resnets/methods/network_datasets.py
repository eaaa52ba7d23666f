"""Trained networks in datasets and back, the data beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import index, left_out, variable
from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.methods.teachers import Task
from repdyn.leaky_resnets.settings.training import Discretized, PaperSettings, Recipe

Arrays = dict[str, np.ndarray]
PARTS = {"W": ("layer", "neuron", "input"), "into": ("neuron", "feature"), "out": ("feature", "neuron")}
LARGEST = 1e6  # parameters beyond have diverged: activations grow by that factor in every layer


def arrays_of(net: LeakyResNet) -> Arrays:
    """A network's arrays in float32, in which it was trained, and its steps in float64."""
    parts = {"W": net.W, "into": net.into, "out": net.out}
    return {name: part.astype(np.float32) for name, part in parts.items()} | {"rho": net.rho}


def restored(arrays: Mapping[str, np.ndarray], effective_depth: float) -> LeakyResNet:
    """The network of `arrays_of`."""
    W, into, out = (np.asarray(arrays[name], float) for name in ("W", "into", "out"))
    return LeakyResNet(W, np.asarray(arrays["rho"], float), float(effective_depth), into, out, long_steps=True)


def network_variables(dims: Sequence[str], shape: Sequence[int], nets: Sequence[Arrays]) -> dict[str, xr.Variable]:
    """Variables W, into, out, rho over `dims`, networks in C order; fewer layers or no bias are filled with zeros."""
    layers, inputs = (max(net["W"].shape[axis] for net in nets) for axis in (0, 2))

    def stacked(name: str, tail: tuple[int, ...]) -> Array:
        stack = np.zeros((len(nets), *tail), nets[0][name].dtype)
        for place, net in zip(stack, nets, strict=True):
            place[tuple(slice(size) for size in net[name].shape)] = net[name]
        return stack.reshape(*shape, *tail)

    width = nets[0]["W"].shape[1]
    return {
        "W": variable((*dims, "layer", "neuron", "input"), stacked("W", (layers, width, inputs)), "layer weights"),
        "into": variable((*dims, "neuron", "feature"), stacked("into", nets[0]["into"].shape), "linear map P in"),
        "out": variable((*dims, "feature", "neuron"), stacked("out", nets[0]["out"].shape), "linear map Q out"),
        "rho": variable((*dims, "layer"), stacked("rho", (layers,)), "layer steps; 0 beyond the last layer"),
    }


def task_variables(
    dims: Sequence[str], tasks: Collection[Task], shape: Sequence[int] = (-1,)
) -> dict[str, xr.Variable]:
    """Variables X, Y, X_test, Y_test over `dims`, tasks in C order."""
    words = {"X": "training inputs", "Y": "training targets", "X_test": "test inputs", "Y_test": "test targets"}
    variables = {}
    for name, long_name in words.items():
        values = np.stack([getattr(task, name) for task in tasks]).astype(np.float32)
        variables[name] = variable((*dims, "feature", "point"), values.reshape(*shape, *values.shape[1:]), long_name)
    return variables


def size_coords(variables: Mapping[str, xr.Variable]) -> dict[str, xr.Variable]:
    """Counting coordinates of the dimensions that networks and tasks have."""
    words = {"layer": "layer l", "neuron": "neuron", "input": "input of a layer, the bias last", "feature": "feature"}
    words |= {"point": "data point"}
    sizes = {dim: size for array in variables.values() for dim, size in array.sizes.items()}
    counted = {dim: index(dim, sizes[dim], words[dim]) for dim in words if dim in sizes}
    if "layer" in counted:
        counted["layer"] = variable("layer", np.arange(1, sizes["layer"] + 1), words["layer"])
    return counted


def diverged(network: Mapping[str, np.ndarray] | xr.Dataset) -> bool:
    """Whether one network has diverged: parameters that are not finite, or beyond all bounds."""
    return not all((np.abs(np.asarray(network[name])) < LARGEST).all() for name in PARTS)


def without_diverged(networks: xr.Dataset, section: str, settings: Recipe | Discretized | PaperSettings) -> xr.Dataset:
    """The dataset with gaps where networks have diverged; it says how many, and at which rates of the section."""
    within = [(abs(networks[name]) < LARGEST).all(own) for name, own in PARTS.items()]
    gone: xr.DataArray = ~(within[0] & within[1] & within[2])
    for name in PARTS:
        array = networks[name]
        networks[name] = array.where(~gone).transpose(*array.dims).astype(array.dtype).assign_attrs(array.attrs)
    for array in networks.data_vars.values():  # scores of networks that are not kept
        if set(gone.dims) <= set(array.dims):
            gone = gone | array.isnull().any([dim for dim in array.dims if dim not in gone.dims])
    rates = f"{section}.rate: {settings.rate:g}"
    if isinstance(settings, PaperSettings):
        rates += f"; {section}.descent_rates: {', '.join(f'{rate:g}' for rate in settings.descent_rates)}"
    elif settings.descent_steps:
        rates += f"; {section}.descent_rate: {settings.descent_rate:g}"
    return left_out(networks, gone.values, rates)


def network_at(cell: xr.Dataset, effective_depth: float, bias: bool) -> LeakyResNet:
    """The network of one cell of `network_variables`."""
    layers, width = int(np.sum(cell["rho"].values > 0)), cell.sizes["neuron"]
    parts = {name: cell[name].values for name in ("W", "into", "out", "rho")}
    parts |= {"W": parts["W"][:layers, :, : width + bias], "rho": parts["rho"][:layers]}
    return restored(parts, effective_depth)


def task_at(cell: xr.Dataset) -> Task:
    """The task of one cell of `task_variables`."""
    return Task(*(cell[name].values.astype(float) for name in ("X", "Y", "X_test", "Y_test")))
