"""Radial gradient fraction: is normalisation scale free in this network?

A weight that is normalised away afterwards may be scaled without changing the output, so the gradient of any loss is
orthogonal to it (Ma and Ying, after eq. 6); the eps of the normalisation breaks this for small weights. In front of
batch or instance normalisation that holds for each row of the weights, in front of layer, group or root-mean-square
normalisation for the whole of weights and bias. Measured with the statistics of the batch: running statistics are no
function of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from repdyn.diagnostics.activations import BATCH_NORMS, Array, run_on_copies, undisturbed

MAPS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
WHOLE_NORMS = (nn.LayerNorm, nn.GroupNorm, *((nn.RMSNorm,) if hasattr(nn, "RMSNorm") else ()))
ROUNDING = 1e-6  # single precision: a gradient below this share of the largest holds few digits
Loss = Callable[[Tensor], Tensor]


class Normalised(NamedTuple):
    """A map whose output goes straight into a normalisation; `by_row` if each row of its weights is free."""

    name: str
    module: nn.Module
    by_row: bool


def normalised_maps(model: nn.Module, inputs: Tensor) -> list[Normalised]:
    """Linear and convolutional layers whose output a normalisation layer takes, found by following the tensors."""
    if not any(isinstance(module, (*BATCH_NORMS, *WHOLE_NORMS)) for module in model.modules()):
        return []
    made: dict[int, tuple[str, nn.Module, Tensor]] = {}
    found: dict[str, Normalised] = {}

    def after_map(name: str, module: nn.Module, returned: Tensor) -> None:
        made[id(returned)] = (name, module, returned)  # keeps the tensor, so that its id stays its own

    def before_norm(module: nn.Module, given: tuple) -> None:
        if given and id(given[0]) in made:
            name, source, _ = made[id(given[0])]
            found[name] = Normalised(name, source, isinstance(module, BATCH_NORMS))

    handles = []
    for name, module in model.named_modules():
        if isinstance(module, MAPS):
            handles.append(module.register_forward_hook(lambda m, _, out, name=name: after_map(name, m, out)))
        if isinstance(module, (*BATCH_NORMS, *WHOLE_NORMS)):
            handles.append(module.register_forward_pre_hook(before_norm))
    try:
        with undisturbed(model, batch_statistics=True), torch.no_grad():
            run_on_copies(model, inputs)
    finally:
        for handle in handles:
            handle.remove()
    return list(found.values())


def radial_fractions(model: nn.Module, inputs: Tensor, loss: Loss) -> dict[str, tuple[float, float]]:
    """Median and largest |u . grad| / |grad| per normalised map; empty without such maps.

    Rows whose gradient is rounding beside the largest are left out; NaN where all gradients vanish.

    Args:
        model: the network; neither its gradients nor its running statistics change.
        inputs: as the network takes them.
        loss: scalar function of the network's output.
    """
    maps = normalised_maps(model, inputs)
    if not maps:
        return {}
    values = {name: part.detach().clone() for name, part in model.named_parameters()}
    wanted = [f"{one.name}.{kind}" for one in maps for kind in ("weight", "bias") if f"{one.name}.{kind}" in values]
    for name in wanted:
        values[name].requires_grad_()
    with undisturbed(model, batch_statistics=True), torch.enable_grad():
        slopes = torch.autograd.grad(loss(run_on_copies(model, inputs, values)), [values[name] for name in wanted])
    return {one.name: _fraction(_free(one, values), _free(one, dict(zip(wanted, slopes, strict=True)))) for one in maps}


def _free(one: Normalised, parts: dict[str, Tensor]) -> Array:
    """What may be scaled: the rows of the weights, or weights and bias as one row."""
    weights = parts[f"{one.name}.weight"].detach().cpu().double().flatten(1).numpy()
    if one.by_row:
        return weights
    bias = parts.get(f"{one.name}.bias")
    return np.concatenate([weights.ravel(), [] if bias is None else bias.detach().cpu().double().numpy()])[None]


def _fraction(weights: Array, slopes: Array) -> tuple[float, float]:
    sizes = np.linalg.norm(slopes, axis=1)
    kept = sizes > ROUNDING * sizes.max()
    if not kept.any():
        return float("nan"), float("nan")
    along = np.abs(np.sum(weights * slopes, axis=1))[kept] / np.linalg.norm(weights, axis=1)[kept] / sizes[kept]
    return float(np.median(along)), float(np.max(along))
