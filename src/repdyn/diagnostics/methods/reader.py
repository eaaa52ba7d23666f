"""A network with its inputs, and how both are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from repdyn.diagnostics.methods.features import Features
from repdyn.diagnostics.methods.forward import in_one_line, undisturbed
from repdyn.diagnostics.methods.inputs import Batch, Inputs
from repdyn.diagnostics.methods.layers import watched
from repdyn.diagnostics.methods.outputs import Adapter, adapted

INPUT, OUTPUT = "input", "output"


@dataclass(frozen=True)
class NetworkReader:
    """Network, inputs and how both are read; the same for all passes."""

    model: nn.Module
    inputs: Inputs
    features: Features
    adapter: Adapter
    axes: Mapping[str, int]
    batch_statistics: bool
    memory: int

    def run(self, batch: Batch, emit: Callable[[str, object], None], *, functions: bool = False) -> object:
        """One forward pass; what the network returns.

        Raises:
            ValueError: the network does not take the inputs, in one line.
        """
        given = batch.fresh()

        def with_heads(name: str, value: object) -> None:
            emit(name, value)
            for head, part in self.features.heads_of(name, value):
                emit(head, part)

        with (
            undisturbed(self.model, batch_statistics=self.batch_statistics),
            watched(self.model, with_heads, functions=functions),
            torch.no_grad(),
        ):
            try:
                return self.model(*given.args, **given.kwargs)
            except Exception as error:
                shapes = ", ".join(f"{tuple(part.shape)}, {part.dtype}" for part in batch.tensors())
                raise ValueError(
                    f"{type(self.model).__name__} does not take inputs of shape {shapes}: {in_one_line(error)}"
                ) from error

    def output(self, returned: object) -> Tensor:
        """The tensor that counts of what the network returns.

        Raises:
            ValueError: there is none, or several and none is named.
        """
        return adapted(returned, self.adapter)
