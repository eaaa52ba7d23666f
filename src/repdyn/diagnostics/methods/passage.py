"""Whether all that a network returns passes through one of its layers, as it does not through a branch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from repdyn.diagnostics.methods.layer_shapes import base
from repdyn.diagnostics.methods.layers import named_modules
from repdyn.diagnostics.methods.reader import OUTPUT
from repdyn.diagnostics.methods.streaming import Plan

TRIED_ON = 8  # points
ROUNDING = 1e-3  # of the difference between outputs


def passes_through(planned: Plan, name: str) -> bool:
    """Whether points exchange their outputs when their values of a layer are exchanged.

    They do not where a skip connection leads around the layer. Tried on at most `TRIED_ON` points, in reverse.

    Args:
        planned: network, inputs and layers.
        name: of what a module returns; of others, as functions, windows, nodes of graphs and what goes into a module,
            nothing is known: True.
    """
    module = dict(named_modules(planned.reader.model)).get(base(name))
    shapes = [planned.shapes[layer] for layer in (name, OUTPUT)]
    axes = [None if shape.of_nodes or shape.windows > 1 else shape.axis for shape in shapes]
    if module is None or name.endswith((":input", "]")) or None in axes:
        return True
    as_it_is, exchanged = _output(planned, None, "", 0), _output(planned, module, name, axes[0] or 0)
    wanted = as_it_is.flip(axes[1] or 0)
    return bool((exchanged - wanted).norm() <= ROUNDING * (as_it_is - wanted).norm())


def _output(planned: Plan, module: nn.Module | None, name: str, axis: int) -> Tensor:
    """What the network returns, in double precision, with the points of a call of a module in reverse."""
    reader, calls = planned.reader, 0
    wanted = int(name.partition("#")[2] or 1)

    def reverse(_module: nn.Module, _inputs: object, value: object) -> object:
        nonlocal calls
        calls += 1
        if calls != wanted:
            return value
        if isinstance(value, tuple) and isinstance(value[0], Tensor):
            return (value[0].flip(axis), *value[1:])
        return value.flip(axis) if isinstance(value, Tensor) else value

    handle = module.register_forward_hook(reverse) if module else None
    try:
        batch, _ = reader.inputs.spread(TRIED_ON)
        return reader.output(reader.run(batch, lambda *_: None)).detach().to(torch.float64)
    finally:
        if handle:
            handle.remove()
