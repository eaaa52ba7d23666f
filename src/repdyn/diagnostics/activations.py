"""Activations of a user's torch network, layer by layer, without leaving a trace on it.

A layer is a named module; what it returns is flattened per point to float64, shape (points, units). A module that runs
several times in one forward pass counts as several layers, `act`, `act#2`, ... The network runs once, on copies of its
buffers, without gradients, as in evaluation: no dropout, running statistics. With `batch_statistics` its normalisation
layers use the statistics of the batch instead, as the theories of batch normalisation do; at initialization this is the
only sensible choice, since running statistics have seen nothing yet.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call

Array = NDArray[np.float64]
INPUT, OUTPUT = "input", "output"
BATCH_NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)


@dataclass(frozen=True)
class Activations:
    """What a network does to a batch.

    Attributes:
        layers: activations by layer in the order in which layers finish, each of shape (points, units); if none were
            named, the first is the input unless it holds integers, the last what the network returns.
        output: what the network returns, shape (points, outputs).
        left_out: layers that could not be watched and were not asked for, with the reason.
    """

    layers: dict[str, Array]
    output: Array
    left_out: dict[str, str]


def watch(
    model: nn.Module,
    inputs: Tensor | Array,
    layers: Sequence[str] | None = None,
    *,
    also: Sequence[str] = (),
    batch_statistics: bool = False,
) -> Activations:
    """Runs the network once and keeps what its layers return.

    Args:
        model: any network that takes one tensor, the first axis of which counts points.
        inputs: shape (points, ...), at least two points.
        layers: names as in `model.named_modules()`, "input" or "output"; None takes every module without modules of
            its own whose output is a tensor with a row per point, the input and the output.
        also: further names to watch when `layers` is None.
        batch_statistics: normalise by the batch instead of by running statistics.

    Raises:
        ValueError: inputs, names or activations that cannot be used; the message says which and what to do.
    """
    given = as_inputs(model, inputs)
    chosen = _chosen(model, layers, also)
    asked = set(also) if layers is None else {*layers, *also}
    seen: dict[str, object] = {}
    with undisturbed(model, batch_statistics=batch_statistics), _hooks(chosen, seen), torch.no_grad():
        output = _row_per_point(_run(model, given), len(given))
    found, left_out = _sorted_out(seen, chosen, len(given), asked)
    if given.is_floating_point() and (layers is None or INPUT in asked):
        found = {INPUT: _rows(given)} | found
    if OUTPUT in asked or (layers is None and not any(np.array_equal(output, one) for one in found.values())):
        found[OUTPUT] = output
    _refuse_nonfinite(found | {"output": output})
    return Activations(found, output, left_out)


def as_inputs(model: nn.Module, inputs: Tensor | Array) -> Tensor:
    """The inputs as a tensor on the network's device, numbers in the network's precision, refused if unusable."""
    if not isinstance(inputs, Tensor | np.ndarray):
        raise ValueError(f"inputs is a {type(inputs).__name__}; give one tensor or array of shape (points, ...)")
    given = torch.as_tensor(inputs)
    if given.ndim < 2 and given.is_floating_point():
        raise ValueError(
            f"inputs has shape {tuple(given.shape)}; give (points, ...): a row per point, even for one input"
        )
    if len(given) < 2:
        raise ValueError("inputs holds a single point; angles, ranks and batch statistics need at least two")
    if given.is_floating_point() and not bool(torch.isfinite(given).all()):
        raise ValueError(f"inputs holds {int((~torch.isfinite(given)).sum())} values that are NaN or infinite")
    if bool((given == given[:1]).all()):
        raise ValueError("all points of inputs are the same, so there is nothing to tell apart; give different points")
    example = next((part for part in model.parameters() if part.is_floating_point()), None)
    if example is None:
        return given
    return given.to(example.device, example.dtype if given.is_floating_point() else None)


@contextmanager
def undisturbed(model: nn.Module, *, batch_statistics: bool = False) -> Iterator[None]:
    """The network in evaluation mode; afterwards every module's mode and torch's random state are as they were."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.random.fork_rng(devices=[]):
            model.eval()
            for module, _ in modes:
                module.training = module.training or (batch_statistics and isinstance(module, BATCH_NORMS))
            yield
    finally:
        for module, training in modes:
            module.training = training


def run_on_copies(model: nn.Module, inputs: Tensor, parameters: dict[str, Tensor] | None = None) -> object:
    """The forward pass on copies of the buffers, so that running statistics stay; optionally on other parameters."""
    buffers = {name: part.clone() for name, part in model.named_buffers()}
    return functional_call(model, (parameters or {}) | buffers, (inputs,))


def _run(model: nn.Module, inputs: Tensor) -> object:
    try:
        return run_on_copies(model, inputs)
    except (RuntimeError, TypeError, IndexError) as error:
        raise ValueError(
            f"{type(model).__name__} does not take inputs of shape {tuple(inputs.shape)}, {inputs.dtype}: {error}"
        ) from error


def _chosen(model: nn.Module, layers: Sequence[str] | None, also: Sequence[str]) -> dict[str, nn.Module]:
    """Modules to watch by name; the network itself has the name "", its output is watched anyway."""
    if isinstance(layers, str):
        raise ValueError(f"layers is the text {layers!r}; give a list of names: [{layers!r}]")
    modules = dict(model.named_modules())
    names = [name for name, module in modules.items() if not any(module.children())] if layers is None else list(layers)
    names += [name for name in also if name not in names]
    if unknown := [name for name in names if name not in modules and name not in (INPUT, OUTPUT)]:
        raise ValueError(_unknown(unknown, [INPUT, *filter(None, modules), OUTPUT]))
    return {name: modules[name] for name in names if name in modules and name}


def _unknown(unknown: Iterable[str], known: Sequence[str]) -> str:
    hints = []
    for name in unknown:
        near = difflib.get_close_matches(name, known, 3)
        hints.append(f"{name!r}" + (f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""))
    return f"the network has no layer {', '.join(hints)}; it has {', '.join(known)}"


@contextmanager
def _hooks(chosen: dict[str, nn.Module], seen: dict[str, object]) -> Iterator[None]:
    """Keeps what modules return under `name`, `name#2`, ..., copied at once since the next layer may work in place."""

    def keep(name: str):
        def hook(_module: nn.Module, _given: object, returned: object) -> None:
            calls = sum(one.partition("#")[0] == name for one in seen)
            tensor = _as_tensor(returned)
            seen[f"{name}#{calls + 1}" if calls else name] = _shape_of(returned) if tensor is None else _copied(tensor)

        return hook

    handles = [module.register_forward_hook(keep(name)) for name, module in chosen.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _sorted_out(
    seen: dict[str, object], chosen: dict[str, nn.Module], points: int, asked: set[str]
) -> tuple[dict[str, Array], dict[str, str]]:
    """Usable activations, and why the others are not; a layer that was asked for must be usable."""
    trouble = {
        name: "its hook never fired: the forward pass goes round it (unused, or called by its weights alone)"
        for name in chosen
        if name not in seen
    }
    found: dict[str, Array] = {}
    for name, value in seen.items():
        if not isinstance(value, Tensor):
            trouble[name] = f"it returns {value}, not a tensor"
        elif value.ndim < 2 or len(value) != points:
            trouble[name] = f"it returns shape {tuple(value.shape)} for {points} points, which is no row per point"
        else:
            found[name] = _rows(value)
    if refused := [f"{name!r}: {why}" for name, why in trouble.items() if name.partition("#")[0] in asked]:
        raise ValueError("layer " + "; layer ".join(refused) + ". Name a module around it or after it")
    return found, trouble


def _row_per_point(returned: object, points: int) -> Array:
    output = _as_tensor(returned)
    if output is None or output.ndim < 1 or len(output) != points:
        raise ValueError(
            f"the network returns {_shape_of(returned)} for {points} points; it must return one tensor with a row per "
            "point: wrap it in a module that does"
        )
    return _rows(output)


def _as_tensor(returned: object) -> Tensor | None:
    """A layer's tensor: what it returns, or the first part of a tuple (recurrent and attention layers)."""
    if isinstance(returned, tuple | list) and returned:
        returned = returned[0]
    return returned if isinstance(returned, Tensor) else None


def _copied(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", torch.float64, copy=True)


def _rows(tensor: Tensor) -> Array:
    return _copied(tensor).reshape(len(tensor), -1).numpy()


def _shape_of(returned: object) -> str:
    return f"shape {tuple(returned.shape)}" if isinstance(returned, Tensor) else f"a {type(returned).__name__}"


def _refuse_nonfinite(found: dict[str, Array]) -> None:
    for name, values in found.items():
        if bad := int(np.sum(~np.isfinite(values))):
            raise ValueError(
                f"layer {name!r} is the first with values that are NaN or infinite ({bad} of {values.size}); "
                "measure an earlier state of the training, or lower its rate"
            )
