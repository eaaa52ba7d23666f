"""Radial gradient fraction: is normalization scale free in this network?

A weight that is normalized away afterwards may be scaled without changing the output, so the gradient of any loss is
orthogonal to it (Ma and Ying, after eq. 6); the eps of the normalization breaks this for small weights. In front of
batch or instance normalization that holds for each row of the weights, in front of layer, group or root-mean-square
normalization for the whole of weights and bias. Measured with the statistics of the batch: running statistics are no
function of the weights.

That a map is followed by a normalization is not enough: what it returns may also go elsewhere, into a residual stream
say. So each map is tried: its weights and bias are doubled, and the eps of the normalization with their square. The
output of a free map stays as it is to rounding. Any other is not free and has no radial fraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods.batches import Batch
from repdyn.diagnostics.methods.forward import in_one_line, named_modules, watched
from repdyn.diagnostics.methods.losses import OfOutput
from repdyn.diagnostics.methods.reader import NetworkReader
from repdyn.diagnostics.methods.untouched import BATCH_NORMS

MAPS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
WHOLE_NORMS = (nn.LayerNorm, nn.GroupNorm, *((nn.RMSNorm,) if hasattr(nn, "RMSNorm") else ()))
NORMS = (*BATCH_NORMS, *WHOLE_NORMS)
ROUNDING = 1e-6  # single precision: a gradient below this share of the largest holds few digits
TRIED_ON = 4  # points on which a map's freedom is tried
POINTS = 32  # at most so many points in the gradient, which stores all activations of its pass
REENTRANT = (
    "it runs within reentrant checkpointing, which gives no gradients of single weights; "
    "checkpoint(..., use_reentrant=False) does"
)
NO_GRAD = "it runs without gradients (torch.no_grad)"
DETACHED = "the loss depends on it, but the network cuts its gradient on the way (detach)"
INDEPENDENT = "the loss does not depend on it"
UNCHANGED = 1e-4  # relative change of the output that is rounding of single precision, not an effect of the weights


class Normalized(NamedTuple):
    """A map whose output goes straight into a normalization; `by_row` if each row of its weights may be free."""

    name: str
    module: nn.Module
    norm: nn.Module
    by_row: bool


class Radial(NamedTuple):
    """Median and largest |u . grad| / |grad| of one map, or NaN and why."""

    median: float
    largest: float
    why: str = ""


def normalized_maps(reader: NetworkReader) -> list[Normalized]:
    """Linear and convolutional layers whose output a normalization layer takes, found by following the tensors."""
    modules = dict(named_modules(reader.model))
    if not any(isinstance(module, NORMS) for module in modules.values()):
        return []
    returned: dict[int, tuple[str, object]] = {}
    maps: dict[str, Normalized] = {}

    def emit(name: str, value: object) -> None:
        module_name = name.removesuffix(":input").partition("#")[0]
        module = modules.get(module_name)
        if isinstance(module, MAPS) and not name.endswith(":input"):
            returned[id(value)] = (module_name, value)  # holds the tensor, so that no other gets its id
        if isinstance(module, NORMS) and name.endswith(":input") and id(value) in returned:
            source = returned[id(value)][0]
            maps[source] = Normalized(source, modules[source], module, isinstance(module, BATCH_NORMS))

    batch, _ = reader.inputs.spread(TRIED_ON)
    with reader.undisturbed(batch_statistics=True), watched(reader.model, emit):
        batch.through(reader.model)
    return list(maps.values())


def radial_fractions(reader: NetworkReader, maps: list[Normalized], batch: Batch, loss: OfOutput) -> dict[str, Radial]:
    """Median and largest |u . grad| / |grad| per normalized map; NaN and the reason for a map that is not free.

    Rows whose gradient is rounding next to the largest are left out.

    Args:
        reader: the network; neither its gradients nor its running statistics change.
        maps: of `normalized_maps`.
        batch: the points of the gradient.
        loss: scalar function of the network's output.
    """
    before = _output_of_some(reader)
    reasons = {entry.name: _reason(reader, entry, before) for entry in maps}
    free = [entry for entry in maps if not reasons[entry.name]]
    slopes: dict[str, tuple[Array, Array]] = {}
    if free:
        try:
            slopes, cut = _gradients(reader, free, batch, loss)
            reasons |= cut
        except Exception as error:  # the loss and the network are the user's code
            reasons |= {entry.name: f"its gradient: {in_one_line(error)}" for entry in free}
    shares = {}
    for entry in maps:
        if entry.name in slopes:
            shares[entry.name] = _fraction(*slopes[entry.name])
        else:
            shares[entry.name] = Radial(np.nan, np.nan, reasons[entry.name])
    return shares


def _reason(reader: NetworkReader, target: Normalized, before: Tensor) -> str:
    """Why a map has no radial fraction; empty if it is free."""
    if not isinstance(target.module._parameters.get("weight"), nn.Parameter):
        return "its weight is computed from other parameters (weight_norm, spectral_norm or the like)"
    try:
        change = change_when_doubled(reader, target, before)
    except Exception as error:
        return f"doubling its weights: {in_one_line(error)}"
    if not change <= UNCHANGED:
        return f"not free: it also goes elsewhere, doubling its weights changes the output by {100 * change:.2g} %"
    return ""


def _output_of_some(reader: NetworkReader) -> Tensor:
    """What the network returns for a few points, with the statistics of these."""
    batch, _ = reader.inputs.spread(TRIED_ON)
    with reader.undisturbed(batch_statistics=True):
        return reader.output(batch.through(reader.model)).detach().double()


def change_when_doubled(reader: NetworkReader, target: Normalized, before: Tensor) -> float:
    """|change of the output| / |output| when weights and bias double and eps of the normalization goes with them.

    Args:
        reader: the network.
        target: the map.
        before: the output with the weights as they are.
    """
    norm, weight = cast("Any", target.norm), cast("Tensor", target.module.weight)
    eps = norm.eps
    doubled = {name: nn.Parameter(2 * part.detach()) for name, part in _parameters(target.module).items()}
    with _replaced(reader.model, target.module, doubled):
        norm.eps = 4 * (torch.finfo(weight.dtype).eps if eps is None else eps)
        try:
            after = _output_of_some(reader)
        finally:
            norm.eps = eps
    return float((after - before).norm() / before.norm().clamp_min(torch.finfo(torch.float64).tiny))


def _parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    return {name: part for name in ("weight", "bias") if (part := module._parameters.get(name)) is not None}


@contextmanager
def _replaced(model: nn.Module, module: nn.Module, new: dict[str, nn.Parameter]) -> Iterator[None]:
    """Other parameters in a module, and wherever else the network shares them; afterwards the old objects again."""
    places = [
        (owner, name, part, new[parameter])
        for parameter, part in _parameters(module).items()
        for owner in model.modules()
        for name, held in owner._parameters.items()
        if held is part
    ]
    try:
        for owner, name, _, other in places:
            owner._parameters[name] = other
        yield
    finally:
        for owner, name, part, _ in places:
            owner._parameters[name] = part


def _gradients(
    reader: NetworkReader, free: list[Normalized], batch: Batch, loss: OfOutput
) -> tuple[dict[str, tuple[Array, Array]], dict[str, str]]:
    """What may be scaled of each map and the gradient of the loss along it, rows of weights or all as one row.

    Of a map without a gradient the reason.
    """
    with torch.inference_mode(False):
        copies = [
            {name: nn.Parameter(part.detach().clone()) for name, part in _parameters(entry.module).items()}
            for entry in free
        ]
    flat = [part for parts in copies for part in parts.values()]
    without: set[str] = set()  # modules that ran without gradients

    def emit(name: str, _: object) -> None:
        if not torch.is_grad_enabled():
            without.add(name)

    with ExitStack() as stack:
        stack.enter_context(reader.undisturbed(batch_statistics=True))
        stack.enter_context(torch.enable_grad())
        for entry, parts in zip(free, copies, strict=True):
            stack.enter_context(_replaced(reader.model, entry.module, parts))
        stack.enter_context(watched(reader.model, emit))
        value = loss(reader.output(batch.through(reader.model)))
        slopes = dict(zip(map(id, flat), torch.autograd.grad(value, flat, allow_unused=True), strict=True))
    rows: dict[str, tuple[Array, Array]] = {}
    cut: dict[str, str] = {}
    for entry, parts in zip(free, copies, strict=True):
        along = {name: slopes[id(part)] for name, part in parts.items()}
        if along["weight"] is not None:
            rows[entry.name] = _rows(parts, entry.by_row), _rows(along, entry.by_row)
        elif entry.name in without:
            cut[entry.name] = REENTRANT if "CheckpointFunctionBackward" in _nodes(value) else NO_GRAD
        else:
            cut[entry.name] = DETACHED if _depends(reader, entry, batch, loss, value.detach()) else INDEPENDENT
    return rows, cut


def _depends(reader: NetworkReader, target: Normalized, batch: Batch, loss: OfOutput, before: Tensor) -> bool:
    """Whether the loss is another one with other weights of a map, of the same size and in another direction."""
    generator = torch.Generator().manual_seed(0)
    parts = {name: part.detach() for name, part in _parameters(target.module).items()}
    noise = {name: torch.randn(part.shape, generator=generator).to(part) for name, part in parts.items()}
    others = {
        name: nn.Parameter(part + noise[name] * (part.norm() / noise[name].norm())) for name, part in parts.items()
    }
    with _replaced(reader.model, target.module, others), reader.undisturbed(batch_statistics=True):
        return bool(loss(reader.output(batch.through(reader.model))) != before)


def _nodes(value: Tensor) -> set[str]:
    """Names of the functions that a number was computed by."""
    names, seen, waiting = set(), set(), [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            names.add(node.name())
            waiting += [following for following, _ in node.next_functions]
    return names


def _rows(parts: Mapping[str, Tensor], by_row: bool) -> Array:
    """What may be scaled: the rows of the weights, or weights and bias as one row."""
    weights = parts["weight"].detach().cpu().double().flatten(1).numpy()
    if by_row:
        return weights
    bias = parts.get("bias")
    return np.concatenate([weights.ravel(), [] if bias is None else bias.detach().cpu().double().numpy()])[None]


def _fraction(weights: Array, slopes: Array) -> Radial:
    sizes = np.linalg.norm(slopes, axis=1)
    counted = sizes > ROUNDING * sizes.max()
    if not counted.any():
        return Radial(np.nan, np.nan)
    along = (
        np.abs(np.sum(weights * slopes, axis=1))[counted] / np.linalg.norm(weights, axis=1)[counted] / sizes[counted]
    )
    return Radial(float(np.median(along)), float(np.max(along)))
