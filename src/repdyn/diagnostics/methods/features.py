"""From a layer's tensor to one row per point: flattened, pooled, or a row per token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

KINDS = ("flatten", "pool", "tokens")


@dataclass(frozen=True)
class Features:
    """How a layer's tensor becomes rows.

    Attributes:
        kind: "flatten", all numbers of a point; "pool", means over all axes but points and channels; "tokens", a row
            for each token of each point; or a function of (name, tensor with points first) to a tensor (points, units).
        channels: axis of the channels with points first, 1 for convolutions, -1 for transformers; needed by "pool" and
            "tokens" in layers with more than two axes, since no shape tells it.
        mask: the tokens that count, shape (points, tokens); None for all.
        heads: heads of attention, each an equal part of the channels, one after another; every layer that they divide
            has `name[head 0]`, `name[head 1]`, ... beside it. They mean something of queries, keys, values and of what
            enters the last projection (`name:input`). None for none.
    """

    kind: str | Callable[[str, Tensor], Tensor] = "flatten"
    channels: int | None = None
    mask: NDArray[np.bool_] | None = None
    heads: int | None = None

    def __post_init__(self) -> None:
        """Refuses unknown kinds, masks without tokens and heads of no axis."""
        if not callable(self.kind) and self.kind not in KINDS:
            raise ValueError(f"features is {self.kind!r}; give one of {', '.join(KINDS)} or a function")
        if self.mask is not None and self.kind != "tokens":
            raise ValueError('mask says which tokens count; give it with features="tokens"')

        if self.heads is not None and self.heads < 2:
            raise ValueError(f"heads is {self.heads}; give 2 or more")
        if self.heads is not None and (self.channels is None or self.channels >= 0):
            raise ValueError(f"channels is {self.channels}; heads are parts of the last axis, give channels=-1")

    def heads_of(self, name: str, value: object) -> Iterator[tuple[str, Tensor]]:
        """The heads of a layer by name; none where they do not divide its channels.

        Args:
            name: of the layer.
            value: what it returns.
        """
        if self.heads is None or self.channels is None or not isinstance(value, Tensor) or value.ndim < 2:
            return
        if value.shape[self.channels] % self.heads == 0:
            parts = value.chunk(self.heads, dim=self.channels)
            yield from ((f"{name}[head {number}]", part) for number, part in enumerate(parts))

    def rows(self, name: str, tensor: Tensor) -> Tensor:
        """Rows of a layer, shape (rows, units).

        Args:
            name: of the layer.
            tensor: its values with points first.

        Raises:
            ValueError: the axis of channels is not known, or a layer without tokens.
        """
        if callable(self.kind):
            rows = self.kind(name, tensor.clone())  # the network goes on with the tensor itself
            if not isinstance(rows, Tensor) or rows.ndim != 2:
                raise ValueError(f"features returned {shape_text(rows)}; it must return a tensor (points, units)")
            return rows
        if self.kind == "flatten" or (tensor.ndim <= 2 and self.kind == "pool"):
            return tensor.reshape(len(tensor), -1)
        if tensor.ndim <= 2:
            raise ValueError(f"it returns {shape_text(tensor)}, which has no axis of tokens")
        if self.channels is None:
            raise ValueError(
                f"it returns {shape_text(tensor)} and features={self.kind!r} needs the axis of the channels: give "
                "channels=1 (convolutions) or channels=-1 (transformers)"
            )
        last = tensor.movedim(self.channels, -1).flatten(1, -2)
        return last.mean(dim=1) if self.kind == "pool" else last.flatten(0, 1)

    def per_point(self, tensor: Tensor) -> int:
        """Rows that a point has in a layer, 1 without tokens; tensor with points first."""
        if self.kind != "tokens" or tensor.ndim <= 2 or self.channels is None:
            return 1
        return tensor[0].numel() // tensor.shape[self.channels]


def as_rows(tensor: Tensor) -> NDArray[np.floating]:
    """A tensor as an array on the CPU, in double or single precision as it came; a complex unit as two real ones."""
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj()).flatten(1)
    return tensor.to("cpu", tensor.dtype if tensor.dtype == torch.float64 else torch.float32).numpy()


def shape_text(value: object) -> str:
    """A value's shape in words."""
    return f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
