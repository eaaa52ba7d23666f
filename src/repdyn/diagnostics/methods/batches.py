"""Arguments of forward passes, in memory or on disk, on the network's device and in its precision."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence
from torch.utils import _pytree as tree

from repdyn.diagnostics.methods.untouched import undisturbed

Entry = TypeVar("Entry")
FORMS = "give one tensor or array of shape (points, ...), a tuple of them, a dict of keyword inputs, or a DataLoader"


class Batch(NamedTuple):
    """Arguments of one forward pass."""

    args: tuple
    kwargs: dict[str, object]

    @property
    def parts(self) -> list[Any]:
        """All arguments."""
        return [*self.args, *self.kwargs.values()]

    def tensors(self) -> list[Tensor]:
        """All tensors among the arguments, in order; where there are none, those within lists, tuples and dicts."""
        direct = [part for part in self.parts if isinstance(part, Tensor)]
        leaves = direct or tree.tree_leaves(self.parts, is_leaf=is_object)
        return [part for part in leaves if isinstance(part, Tensor)]

    def shapes(self) -> str:
        """Shapes of these tensors, as errors name them."""
        return ", ".join(str(tuple(part.shape)) for part in self.tensors())

    def length(self, axis: int) -> int | None:
        """Points, if all arguments agree; where all are lists of tensors, each entry is a point. Of graphs None."""
        if self.graphs() is not None:
            return None
        if self._lists_points():
            lengths = {len(part) for part in self.parts}
        else:
            lengths = {part.shape[axis] if part.ndim > axis else -1 for part in self.tensors()}
        return lengths.pop() if len(lengths) == 1 else None

    def _lists_points(self) -> bool:
        return bool(self.parts) and all(map(is_list, self.parts))

    def graphs(self) -> Tensor | None:
        """The graph of each node, shape (nodes,), of graphs that are one: `batch` of torch_geometric, or a keyword."""
        parts = [self.kwargs.get("batch"), *(getattr(part, "batch", None) for part in self.parts if is_object(part))]
        tensors = (part for part in parts if isinstance(part, Tensor) and part.ndim == 1 and part.dtype != torch.bool)
        return next((part for part in tensors if not part.is_floating_point() and not part.is_complex()), None)

    def taken(self, at: slice | NDArray[np.int64], axis: int) -> Batch:
        """Some of the points.

        Args:
            at: their places.
            axis: of the tensors that counts points; where all arguments are lists of tensors, it is their entries.
        """
        lists = self._lists_points()

        def take(part: Any) -> object:
            if isinstance(part, Tensor):
                return part[(slice(None),) * (axis % part.ndim) + (at,)]
            return [part[k] for k in np.arange(len(part))[at]] if lists else part

        if lists or any(isinstance(part, Tensor) for part in self.parts):
            return Batch(tuple(map(take, self.args)), {name: take(part) for name, part in self.kwargs.items()})
        return self.changed(take)

    def fresh(self) -> Batch:
        """Copies of all arguments."""
        return self.changed(_copied)

    def through(self, model: nn.Module) -> Any:
        """What a network returns for copies of the arguments, as it may work in place on what it is given."""
        given = self.fresh()
        return model(*given.args, **given.kwargs)

    def changed(self, change: Callable[[Any], object]) -> Batch:
        """The same with every argument changed, and with every entry of lists, tuples and dicts among them."""
        return Batch(*tree.tree_map(change, tuple(self), is_leaf=is_object))


def is_list(part: object) -> bool:
    """Whether this is a list of tensors or arrays, such as images of several sizes."""
    return isinstance(part, list) and bool(part) and all(isinstance(entry, Tensor | np.ndarray) for entry in part)


def is_object(part: object) -> bool:
    """Whether this is one input of another kind that moves between devices: a graph, a packed sequence."""
    return callable(getattr(part, "to", None)) and not isinstance(part, Tensor | Mapping)


def as_batch(inputs: object) -> Batch:
    """What one forward pass takes: a tensor, positional inputs, or keyword inputs.

    Raises:
        ValueError: no numbers among them.
    """
    several = isinstance(inputs, Mapping | tuple | list) and not is_object(inputs)
    if isinstance(inputs, Mapping):
        batch = Batch((), {str(name): part for name, part in inputs.items()})
    else:
        batch = Batch(tuple(cast("Any", inputs)) if several else (inputs,), {})
    batch = batch.changed(_tensor)
    if several and not batch.tensors() and not any(map(is_object, batch.parts)):
        raise ValueError(f"inputs is a {type(inputs).__name__} without a tensor; {FORMS}")
    return batch


def _tensor(part: object) -> object:
    if not isinstance(part, np.ndarray):
        return part
    if part.dtype.kind not in "biufc":
        raise ValueError(f"inputs is an array of type {part.dtype}; give numbers")
    return torch.as_tensor(part.astype(part.dtype.newbyteorder("="), copy=False))  # torch knows its machine's order


def _copied(part: Any) -> object:
    if isinstance(part, PackedSequence):
        return PackedSequence(part.data.clone(), part.batch_sizes, part.sorted_indices, part.unsorted_indices)
    return part.clone() if callable(getattr(part, "clone", None)) else part


def check_numbers(model: nn.Module) -> None:
    """Refuses parameters without numbers, unless hooks may bring these for the time of a call, as offloading does.

    Raises:
        ValueError: parameters on the meta device.
    """
    meta = [name for name, part in model.named_parameters() if part.is_meta]
    hooked = any(module._forward_pre_hooks or hasattr(module, "_hf_hook") for module in model.modules())
    if meta and not hooked:
        raise ValueError(
            f"{len(meta)} parameters of the network ({meta[0]}, ...) are on the device meta, without numbers; load its "
            "weights first: load_state_dict(..., assign=True)"
        )


def placed(batch: Batch, model: nn.Module) -> Batch:
    """On the network's device, numbers in a precision that the network takes.

    Where its parameters differ in precision, that of the inputs is tried first, if some parameters have it, then the
    others, finest first. Parameters on meta, which offloading puts in place for a call, and such of eight bits, which
    are converted, do not count.
    """
    parts = [part for part in model.parameters() if part.is_floating_point() and not part.is_meta]
    if not parts:
        return batch
    device = parts[0].device
    kinds = sorted({part.dtype for part in parts if part.dtype.itemsize > 1}, key=lambda kind: torch.finfo(kind).eps)
    own = next((part.dtype for part in batch.tensors() if part.is_floating_point()), None)
    kinds.sort(key=lambda kind: kind != own)
    for kind in kinds[:-1]:
        if _is_taken(model, found := _at(batch, device, kind)):
            return found
    return _at(batch, device, kinds[-1] if kinds else None)


def _at(batch: Batch, device: torch.device, kind: torch.dtype | None) -> Batch:
    """On a device; floating-point numbers in a precision, None for the one that they have."""

    def place(part: Any) -> object:
        if not hasattr(part, "to"):
            return part
        floating = isinstance(part, Tensor | PackedSequence) and part.data.is_floating_point()
        return part.to(device, kind) if floating and kind else part.to(device)

    return batch.changed(place)


def _is_taken(model: nn.Module, batch: Batch) -> bool:
    """Whether the network takes the first two points of a batch."""
    size = batch.length(0)
    part = batch if size is None or size <= 2 else batch.taken(spread(size, 2), 0)
    try:
        with undisturbed(model, grad=True):
            part.through(model)
    except Exception:
        return False
    return True


def spread(points: int, most: int) -> NDArray[np.int64]:
    """At most so many of the points, evenly spread.

    Example:
        >>> spread(9, 5).tolist()
        [0, 2, 4, 6, 8]
    """
    return np.linspace(0, points - 1, min(points, most)).round().astype(np.int64)


def groups_within(memory: float, sizes: Iterable[tuple[Entry, float]]) -> list[list[Entry]]:
    """Entries in order, as many at a time as have room together, and one where it has none.

    Args:
        memory: room, in bytes.
        sizes: entries and their bytes.

    Example:
        >>> groups_within(5, [("a", 2), ("b", 3), ("c", 1), ("d", 9)])
        [['a', 'b'], ['c'], ['d']]
    """
    groups: list[list[Entry]] = []
    free = 0.0
    for entry, size in sizes:
        if size > free or not groups:
            groups.append([])
            free = memory
        groups[-1].append(entry)
        free -= size
    return groups


class StoredBatches(Sequence[Batch]):
    """Batches in a temporary folder, each read when it is run; the folder is deleted with the last of its users."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="repdyn_inputs_")
        self.length = 0
        self.model: nn.Module | None = None
        for batch in batches:
            self.append(batch)

    def append(self, batch: Batch) -> None:
        """One more batch to the end."""
        torch.save(tuple(batch), f"{self.folder.name}/{self.length}.pt")
        self.length += 1

    def __len__(self) -> int:
        """Number of batches."""
        return self.length

    def __getitem__(self, at: Any) -> Any:
        """One batch, on the network's device."""
        if not 0 <= at < self.length:
            raise IndexError(at)
        # graphs and packed sequences are no plain tensors; nobody but this process writes into the folder
        batch = Batch(*torch.load(f"{self.folder.name}/{at}.pt", weights_only=False))  # noqa: TID251 - our own file
        return batch if self.model is None else placed(batch, self.model)

    def placed(self, model: nn.Module) -> StoredBatches:
        """The same batches on another network's device and in its precision."""
        other = copy.copy(self)
        other.model = model
        return other
