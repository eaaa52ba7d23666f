"""How a network and its inputs are read, from the arguments of `measure`.

The network runs on batches of inputs, `Features` turn a layer's tensor into one row per point, and an adapter says
which tensor counts of what the network returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sized
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from repdyn.diagnostics.methods.arguments import as_answers, check_arguments
from repdyn.diagnostics.methods.batches import Batch, check_numbers
from repdyn.diagnostics.methods.forward import (
    INPUT,
    OUTPUT,
    Unusual,
    in_one_line,
    parts_of,
    readable,
    same_numbers,
    unusual,
    unwrapped,
    watched,
)
from repdyn.diagnostics.methods.hooks import Hook, user_hooks
from repdyn.diagnostics.methods.inputs import Inputs, as_inputs
from repdyn.diagnostics.methods.padding import real_tokens
from repdyn.diagnostics.methods.untouched import tried, undisturbed

ONE_ROW = ("pool", "first", "last")  # of all tokens of a point
KINDS = ("flatten", *ONE_ROW, "tokens")
MEMORY = 2**30  # bytes of layers in memory at a time when the points come in several batches
Adapter = Callable[[object], Tensor] | str | int | None


@dataclass(frozen=True)
class Features:
    """How a layer's tensor becomes rows.

    Attributes:
        kind: "flatten", all numbers of a point; "pool", means over all axes but points and channels, without padded
            tokens (`mask`); "first" and "last", the first and the last token of a point that is no padding, for
            classifiers that read this one; "tokens", a row for each token of each point; or a function of (name, tensor
            with points first) to a tensor (points, units).
        channels: axis of the channels with points first, 1 for convolutions, -1 for transformers; needed by all kinds
            but "flatten" in layers with more than two axes, which no shape shows.
        mask: the tokens that count, shape (points, tokens). None for all; for "pool", "first" and "last" for those that
            an input named `attention_mask` keeps, or `src_key_padding_mask` or `key_padding_mask` does not take out,
            and of a packed sequence for those that it has.
        heads: heads of attention, each an equal part of the channels, one after another; every layer that they divide
            has `name[head 0]`, `name[head 1]`, ... next to it. They mean something of queries, keys, values and of what
            enters the last projection (`name:input`). None for none.
    """

    kind: str | Callable[[str, Tensor], Tensor] = "flatten"
    channels: int | None = None
    mask: NDArray[np.bool_] | None = None
    heads: int | None = None

    def __post_init__(self) -> None:
        """Refuses unknown kinds, masks without tokens and heads of no axis."""
        if isinstance(self.kind, type) or (not callable(self.kind) and self.kind not in KINDS):
            raise ValueError(f"features is {self.kind!r}; give one of {', '.join(KINDS)} or a function")
        if self.mask is not None and self.kind not in ("tokens", *ONE_ROW):
            kinds = ", ".join(("tokens", *ONE_ROW))
            raise ValueError(f"mask says which tokens count; features={self.kind!r} takes none, some of {kinds} does")
        check_arguments(channels=self.channels, heads=self.heads)
        if self.mask is not None:
            try:
                mask = np.asarray(self.mask)
            except ValueError as error:
                raise ValueError("mask has rows of different lengths; give (points, tokens)") from error
            if mask.ndim != 2 or not np.isin(mask, (0, 1)).all():
                raise ValueError(
                    f"mask has shape {mask.shape} and type {mask.dtype}; give (points, tokens), True for what counts"
                )
            object.__setattr__(self, "mask", mask.astype(bool))
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

    def rows(self, name: str, tensor: Tensor, mask: Tensor | None = None) -> Tensor:
        """Rows of a layer, shape (rows, units).

        Args:
            name: of the layer.
            tensor: its values with points first.
            mask: where a point has one row, the tokens that count, shape (points, tokens); None for all.

        Raises:
            ValueError: the axis of channels is not known, or a layer without tokens or with others than the mask's.
        """
        if callable(self.kind):
            rows = self.kind(name, tensor.clone())  # the network goes on with the tensor itself
            if not isinstance(rows, Tensor) or rows.ndim != 2:
                raise ValueError(f"features returned {shape_text(rows)}; it must return a tensor (points, units)")
            return rows
        if self.kind == "flatten" or (tensor.ndim <= 2 and self.kind in ONE_ROW):
            return tensor.reshape(len(tensor), -1)
        if tensor.ndim <= 2:
            raise ValueError(f"it returns {shape_text(tensor)}, which has no axis of tokens")
        if self.channels is None:
            raise ValueError(f"it returns {shape_text(tensor)}, whose axis of channels is not known")
        last = tensor.movedim(self.channels, -1)
        if self.kind == "tokens" or (self.kind == "pool" and mask is None):
            last = last.flatten(1, -2)
            return last.mean(dim=1) if self.kind == "pool" else last.flatten(0, 1)
        if mask is None and last.ndim > 3:
            raise ValueError(f"it returns {shape_text(tensor)}, and no mask says which of its axes counts tokens")
        mask = last.new_ones(last.shape[:2], dtype=torch.bool) if mask is None else mask.to(last.device)
        last = _tokens_second(last, mask)
        if self.kind == "pool":
            kept = last.masked_fill(~mask[:, :, None, None], 0)  # padding may be NaN
            exact = torch.promote_types(last.dtype, torch.float32)
            return kept.sum(dim=1, dtype=exact).mean(dim=1) / mask.sum(dim=1, keepdim=True)
        ends = (
            mask.int().argmax(dim=1) if self.kind == "first" else mask.shape[1] - 1 - mask.flip(1).int().argmax(dim=1)
        )
        return last[torch.arange(len(last), device=last.device), ends].mean(dim=1)

    def per_point(self, tensor: Tensor) -> int:
        """Rows that a point has in a layer, 1 without tokens; tensor with points first."""
        if self.kind != "tokens" or tensor.ndim <= 2 or self.channels is None:
            return 1
        return tensor[0].numel() // tensor.shape[self.channels]


def _tokens_second(tensor: Tensor, mask: Tensor) -> Tensor:
    """A layer as (points, tokens, others, channels), channels last as it comes.

    Raises:
        ValueError: none of its axes has the mask's length, or several, or a point has no token.
    """
    axes = [axis for axis in range(1, tensor.ndim - 1) if tensor.shape[axis] == mask.shape[1]]
    if len(axes) != 1:
        raise ValueError(
            f"it returns {shape_text(tensor)}, channels last, of which {'no' if not axes else 'more than one'} axis "
            f"has the {mask.shape[1]} tokens of the mask; a mask that is all True counts everything"
        )
    if alone := int((~mask.any(dim=1)).sum()):
        raise ValueError(f"{alone} points are padding alone")
    moved = tensor.movedim(axes[0], 1)
    return moved.reshape(*moved.shape[:2], -1, moved.shape[-1])


def shape_text(value: object) -> str:
    """A value's shape in words."""
    if isinstance(value, Tensor):
        return unusual(value) or f"shape {tuple(value.shape)}"
    return value.text if isinstance(value, Unusual) else f"a {type(value).__name__}"


def adapted(returned: Any, adapter: Adapter) -> Tensor:
    """The output: by a key, name, index or function; without one a tensor itself, or the first part of a tuple."""
    if adapter is None and isinstance(returned, Mapping):
        tensors = [key for key, part in returned.items() if isinstance(part, Tensor)]
        if len(tensors) != 1:
            raise ValueError(
                f"the network returns a {type(returned).__name__} with {', '.join(map(str, returned)) or 'nothing'}; "
                f"name the part that counts: output={' or '.join(map(repr, tensors or ['key']))}"
            )
        adapter = tensors[0]
    returned = readable(returned)
    part_of_object = isinstance(adapter, str) and not isinstance(returned, Tensor | Mapping)
    if part_of_object and hasattr(returned, cast("str", adapter)):  # of a dataclass or a named tuple
        returned = getattr(returned, cast("str", adapter))
    elif isinstance(adapter, str | int):
        try:
            if isinstance(returned, Tensor) and isinstance(adapter, str):
                raise KeyError(adapter)  # torch would take a text for a list of indices
            returned = returned[adapter]
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"output={adapter!r}: the network returns {shape_text(returned)} without it") from error
    elif adapter is not None:
        returned = adapter(returned)
    elif isinstance(returned, tuple | list) and returned:
        returned = returned[0]
    returned = readable(returned)
    if not isinstance(returned, Tensor) or unusual(returned):
        raise ValueError(
            f"the network returns {shape_text(returned)}; give output=, a key, an index or a function to a tensor"
        )
    return returned


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
    mask: NDArray[np.bool_] | None = None  # of tokens that share a row
    hooks: dict[int, tuple[Hook, bool]] = field(default_factory=dict)  # of the user, and whether the network needs it
    needs: dict[str, Any] = field(default_factory=dict)  # `grad` and `written` of `undisturbed`, once it has run

    def undisturbed(self, *, batch_statistics: bool = False) -> AbstractContextManager[None]:
        """`forward.undisturbed` as this network needs it."""
        return undisturbed(self.model, **self._how(batch_statistics))

    def _how(self, batch_statistics: bool) -> dict[str, Any]:
        """Arguments of `forward.undisturbed`: off are the hooks of the user that the network does not need."""
        hooks = user_hooks(self.model)
        if any(id(hook.function) not in self.hooks for hook in hooks):
            needed = self._needed({id(hook.function) for hook in hooks})
            self.hooks.update({id(hook.function): (hook, id(hook.function) in needed) for hook in hooks})
        off = [identity for identity, (_, needed) in self.hooks.items() if not needed]
        return {"batch_statistics": batch_statistics, "off": off, **self.needs}

    def _needed(self, hooks: set[int]) -> Collection[int]:
        """Hooks that two points need: those that return something, if these alone give the same numbers, else all."""
        changing: set[int] = set()
        try:
            with_all = self._trace((), changing)
            without = self._trace(hooks - changing, set())
            same = (value is without[name] or same_numbers(value, without[name]) for name, value in with_all.items())
            alike = with_all.keys() == without.keys() and all(same)
        except Exception:  # without hooks it may not run; with them, its own error comes from the pass that follows
            alike = False
        return changing if alike else hooks

    def _trace(self, off: Collection[int], changing: set[int]) -> dict[str, object]:
        """What every module gets and returns for two points."""
        part, _ = self.inputs.spread(2)
        trace: dict[str, object] = {}

        def keep(name: str, value: object) -> None:
            trace[name] = value.detach().clone() if isinstance(value, Tensor) else None

        with undisturbed(self.model, off=off, changing=changing, **self.needs), watched(self.model, keep):
            for name, value in parts_of(OUTPUT, part.through(self.model)):
                keep(name, value)
        return trace

    def tokens_of(self, number: int) -> Tensor | None:
        """The tokens of a batch that count in a mean, shape (points, tokens); None where all do."""
        if self.features.kind not in ONE_ROW:
            return None
        if self.mask is None:
            mask = real_tokens(self.model, self.inputs.batches[number], self.inputs.sizes[number])
        else:
            sizes = self.inputs.sizes
            first, size = sum(size or 0 for size in sizes[:number]), sizes[number] or 0
            mask = torch.from_numpy(self.mask[first : first + size])
        return None if mask is None or (self.features.kind == "pool" and bool(mask.all())) else mask

    def run(self, batch: Batch, emit: Callable[[str, object], None], *, functions: bool = False) -> object:
        """One forward pass; what the network returns.

        Raises:
            ValueError: the network does not take the inputs, in one line.
        """

        def with_heads(name: str, value: object) -> None:
            emit(name, value)
            for head, part in self.features.heads_of(name, value):
                emit(head, part)

        def once() -> object:
            given = batch.fresh()  # outside, since copies are no layers
            with watched(self.model, with_heads, functions=functions):
                return self.model(*given.args, **given.kwargs)

        try:
            if not self.needs:
                return self._first(once)
            with self.undisturbed(batch_statistics=self.batch_statistics):
                return once()
        except (Exception, SystemExit) as error:
            shapes = ", ".join(f"{tuple(part.shape)}, {part.dtype}" for part in batch.tensors())
            raise ValueError(
                f"{type(self.model).__name__} does not take inputs of shape {shapes}: {in_one_line(error)}"
            ) from error

    def _first(self, once: Callable[[], object]) -> object:
        """The first pass shows what the network needs: derivatives within its pass, or copies of parameters.

        Raises:
            Exception: of the network, which does not take the inputs.
        """
        errors = []
        for grad in (False, True):
            try:
                returned, written = tried(self.model, once, **self._how(self.batch_statistics), grad=grad)
            except (Exception, SystemExit) as error:
                errors.append(error)
                continue
            self.needs.update(grad=grad, written=written)
            return returned
        raise errors[0]

    def values(self, batch: Batch, *, functions: bool = False) -> dict[str, object]:
        """Copies of all layers of one forward pass, the input first and the output last."""
        layers: dict[str, object] = {}
        if len(batch.args) == 1 and not batch.kwargs:
            layers[INPUT] = readable(batch.args[0])

        def collect(name: str, value: object) -> None:
            layers[name] = value.detach().clone() if isinstance(value, Tensor) else value

        returned = self.run(batch, collect, functions=functions)
        try:
            layers[OUTPUT] = self.output(returned).detach().clone()
        except Exception as error:  # an adapter is the user's code
            layers[OUTPUT] = error
        return layers

    def output(self, returned: object) -> Tensor:
        """The tensor that counts of what the network returns.

        Raises:
            ValueError: there is none, or several and none is named.
        """
        return adapted(returned, self.adapter)


def network_reader(
    model: nn.Module,
    inputs: object,
    *,
    features: Features | str | Callable[[str, Tensor], Tensor] = "flatten",
    output: Adapter = None,
    axes: Mapping[str, int] | None = None,
    batch_size: int | None = None,
    unpack: Callable[[object], tuple] | None = None,
    labels: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    batch_statistics: bool = False,
    memory: int = MEMORY,
) -> NetworkReader:
    """Network and inputs as all passes take them, from arguments of `measure`.

    Raises:
        ValueError: unusable inputs or options.
    """
    check_arguments(axes=axes, output=output, batch_size=batch_size, unpack=unpack, memory=memory)
    model, axes = unwrapped(model), dict(axes or {})
    check_numbers(model)
    labels, targets = as_answers("labels", labels), as_answers("targets", targets)
    points = next((len(cast("Sized", answer)) for answer in (labels, targets) if answer is not None), None)
    batches = as_inputs(model, inputs, axis=axes.get("input", 0), batch_size=batch_size, unpack=unpack, points=points)
    if batch_statistics and len(batches.batches) > 1:
        raise ValueError("batch_statistics normalizes by all points at once; give them in one batch")
    features = features if isinstance(features, Features) else Features(features)
    mask = None
    if features.kind in ONE_ROW and features.mask is not None:
        mask, features = features.mask, replace(features, mask=None)
        if mask.ndim != 2 or len(mask) != sum(size or 0 for size in batches.sizes):
            sizes = " + ".join(map(str, batches.sizes))
            raise ValueError(f"mask has shape {mask.shape}; give (points, tokens) for {sizes} points")
    return NetworkReader(model, batches, features, output, axes, bool(batch_statistics), memory, mask)


def reader_of(name: str, model: nn.Module, inputs: object, reading: Mapping[str, Any]) -> NetworkReader:
    """`network_reader` of further points, whose errors name the argument that holds them.

    Raises:
        ValueError: as `network_reader`.
    """
    try:
        return network_reader(model, inputs, **reading)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
