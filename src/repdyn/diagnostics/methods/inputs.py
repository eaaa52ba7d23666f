"""Inputs as people have them: a tensor, several, keywords, or a loader of batches, prepared for the network."""

from __future__ import annotations

import copy
import inspect
import random
import tempfile
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from repdyn.diagnostics.methods.arguments import as_array, check_arguments, shown
from repdyn.diagnostics.methods.forward import in_one_line, unchanged_random_state, undisturbed
from repdyn.diagnostics.methods.hooks import CONTAINERS, GENERATORS, MANY

MOST_IN_MEMORY = 2**32  # bytes of a loader's inputs, beyond which they are stored on disk
MOST_SEARCHED = 10_000  # objects of a loader among which random generators are looked for
LABEL_KEYS = ("labels", "label", "targets", "target")
FORMS = "give one tensor or array of shape (points, ...), a tuple of them, a dict of keyword inputs, or a DataLoader"


class Batch(NamedTuple):
    """Arguments of one forward pass."""

    args: tuple
    kwargs: dict[str, object]

    def tensors(self) -> list[Tensor]:
        """All tensors among the arguments, in order; where there are none, those within lists, tuples and dicts."""
        parts = [*self.args, *self.kwargs.values()]
        return [part for part in parts if isinstance(part, Tensor)] or list(chain.from_iterable(map(_inside, parts)))

    def shapes(self) -> str:
        """Shapes of these tensors, as errors name them."""
        return ", ".join(str(tuple(part.shape)) for part in self.tensors())

    def length(self, axis: int) -> int | None:
        """Points, if all arguments agree; where all are lists of tensors, each entry is a point. Of graphs None."""
        if self.graphs() is not None:
            return None
        parts = [*self.args, *self.kwargs.values()]
        if parts and all(map(_is_list, parts)):
            lengths = {len(cast("list", part)) for part in parts}
        else:
            lengths = {part.shape[axis] if part.ndim > axis else -1 for part in self.tensors()}
        return lengths.pop() if len(lengths) == 1 else None

    def graphs(self) -> Tensor | None:
        """The graph of each node, shape (nodes,), of graphs that are one: `batch` of torch_geometric, or a keyword."""
        parts = [getattr(part, "batch", None) for part in self.args if _is_object(part)]
        parts += [self.kwargs.get("batch"), *(getattr(p, "batch", None) for p in self.kwargs.values() if _is_object(p))]
        tensors = (part for part in parts if isinstance(part, Tensor) and part.ndim == 1 and part.dtype != torch.bool)
        return next((part for part in tensors if not part.is_floating_point() and not part.is_complex()), None)

    def taken(self, tensor: Callable[[Tensor], Tensor], of_list: Callable[[list], list]) -> Batch:
        """Some of the points.

        Args:
            tensor: takes them of a tensor.
            of_list: takes them of a list, where the lists' entries are the points.
        """
        parts = [*self.args, *self.kwargs.values()]
        with_tensors = any(isinstance(part, Tensor) for part in parts)

        def take(part: Any) -> object:
            return tensor(part) if isinstance(part, Tensor) else part

        if not with_tensors and not all(map(_is_list, parts)):
            return self.changed(take)
        change: Callable[[Any], object] = take if with_tensors else of_list
        return Batch(tuple(map(change, self.args)), {name: change(part) for name, part in self.kwargs.items()})

    def fresh(self) -> Batch:
        """Copies for one forward pass, which may work in place on what it is given."""
        return self.changed(_copied)

    def changed(self, change: Callable[[Any], object]) -> Batch:
        """The same with every argument changed, and with every entry of lists, tuples and dicts among them."""
        changed = {name: _each(part, change) for name, part in self.kwargs.items()}
        return Batch(tuple(_each(part, change) for part in self.args), changed)


def _each(part: Any, change: Callable[[Any], object]) -> object:
    """A value changed, or each entry of a plain list, tuple or dict."""
    if type(part) in (list, tuple):
        return type(part)(_each(entry, change) for entry in part)
    if type(part) is dict:
        return {name: _each(entry, change) for name, entry in part.items()}
    return change(part)


def _inside(part: object) -> list[Tensor]:
    """Tensors within a plain list, tuple or dict."""
    tensors: list[Tensor] = []
    _each(part, lambda entry: tensors.append(entry) if isinstance(entry, Tensor) else None)
    return tensors


def _is_list(part: object) -> bool:
    """Whether an argument is a list of tensors or arrays, such as images of several sizes."""
    return isinstance(part, list) and bool(part) and all(isinstance(entry, Tensor | np.ndarray) for entry in part)


def _copied(part: Any) -> object:
    if isinstance(part, PackedSequence):
        return PackedSequence(part.data.clone(), part.batch_sizes, part.sorted_indices, part.unsorted_indices)
    return part.clone() if callable(getattr(part, "clone", None)) else part


@dataclass(frozen=True)
class Inputs:
    """Batches on the network's device and in its precision.

    Attributes:
        batches: arguments of each forward pass, in memory or on disk.
        axis: axis of the inputs that counts points.
        answers: labels or targets that came with a loader, one entry per batch.
        points: points of a single batch, where its tensors differ in length.
    """

    batches: Sequence[Batch]
    axis: int = 0
    answers: list[Tensor] = field(default_factory=list)
    points: int | None = None

    @cached_property
    def sliceable(self) -> bool:
        """Whether every tensor has a row per point, so that some of the points may be run alone."""
        return all(batch.length(self.axis) is not None for batch in self.batches)

    @cached_property
    def sizes(self) -> list[int | None]:
        """Points of each batch; None where the tensors differ in length and no labels show it."""
        unknown = [self.points] if len(self.batches) == 1 else [None] * len(self.batches)
        answers = [len(part) for part in self.answers] or unknown
        return [batch.length(self.axis) or size for batch, size in zip(self.batches, answers, strict=True)]

    def labels_and_targets(self) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """What came with the loader: whole numbers as labels, others as targets; None for what did not come."""
        if not self.answers:
            return None, None
        answers = np.concatenate([as_array(part) for part in self.answers])
        return (None, answers) if answers.dtype.kind == "f" else (answers, None)

    def some(self, indices: Sequence[int]) -> Batch:
        """These points of the first batch, the first ones over again where there are fewer."""
        return self._chosen(np.array(indices) % self.sizes[0])

    def spread(self, most: int) -> tuple[Batch, NDArray[np.int64] | None]:
        """At most so many points of the first batch, evenly spread, and which; None: all of a batch that is not cut."""
        size = self.sizes[0]
        if not self.sliceable or size is None or size <= most:
            return self.batches[0], None
        indices = spread(size, most)
        return self._chosen(indices), indices

    def _chosen(self, indices: NDArray[np.int64]) -> Batch:
        """These points of the first batch."""
        index = torch.from_numpy(indices)
        return self.batches[0].taken(
            lambda part: part.index_select(self.axis, index.to(part.device)),
            lambda entries: [entries[at] for at in indices.tolist()],
        )


class Chained(Sequence[Batch]):
    """Batches of two inputs, one after the other."""

    def __init__(self, first: Sequence[Batch], second: Sequence[Batch]) -> None:
        self.parts = first, second

    def __len__(self) -> int:
        """Number of batches."""
        return sum(map(len, self.parts))

    def __getitem__(self, at: Any) -> Any:
        """One batch."""
        first, second = self.parts
        return first[at] if at < len(first) else second[at - len(first)]


def spread(points: int, most: int) -> NDArray[np.int64]:
    """At most so many of the points, evenly spread.

    Example:
        >>> spread(9, 5).tolist()
        [0, 2, 4, 6, 8]
    """
    return np.linspace(0, points - 1, min(points, most)).round().astype(np.int64)


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
        return batch if self.model is None else _placed(batch, self.model)

    def placed(self, model: nn.Module) -> StoredBatches:
        """The same batches on another network's device and in its precision."""
        other = copy.copy(self)
        other.model = model
        return other


def as_inputs(
    model: nn.Module,
    inputs: object,
    *,
    axis: int = 0,
    batch_size: int | None = None,
    unpack: Callable[[object], tuple] | None = None,
    points: int | None = None,
) -> Inputs:
    """What the network is run on, in its precision and on its device; arguments and errors are those of `read_inputs`.

    What `read_inputs` has read is not read again.
    """
    given = inputs if isinstance(inputs, Inputs) else read_inputs(model, inputs, axis=axis, unpack=unpack)
    batches = given.batches
    placed = batches.placed(model) if isinstance(batches, StoredBatches) else [_placed(b, model) for b in batches]
    usable = replace(given, batches=placed, points=given.points if points is None else points)
    _check_values(usable)
    return usable if batch_size is None else split(usable, batch_size)


def read_inputs(
    model: nn.Module,
    inputs: object,
    *,
    axis: int = 0,
    batch_size: int | None = None,
    unpack: Callable[[object], tuple] | None = None,
    points: int | None = None,
) -> Inputs:
    """Reads inputs once, for all networks that are to see the same points: a loader may shuffle or augment them anew.

    Give what it returns to `measure`, `compare`, `summarize` or `Recorder` in place of the inputs.

    Args:
        model: the network.
        inputs: a tensor, a tuple of positional inputs, a dict of keyword inputs, or a loader of any of these, alone or
            as (inputs, labels). A list of tensors is one input of a network whose `forward` takes a single one, else
            it holds positional inputs; an object that knows `to`, as graphs do, is one input. Over 4 GiB of a loader
            are stored in a temporary folder.
        axis: axis of the inputs that counts points.
        batch_size: points per forward pass; None runs all at once, and a loader in its batches.
        unpack: turns a loader's batch into (inputs, labels or targets or None).
        points: how many points there are, for inputs that differ in length (graphs).

    Raises:
        ValueError: another kind of inputs, a single point, equal points, values that are not finite.
    """
    check_arguments(axis=axis, batch_size=batch_size, unpack=unpack)
    answers: list[Tensor] = []
    batches: Sequence[Batch]
    if _is_list(inputs) and len(cast("list", inputs)) > 1 and _takes_one(model):
        inputs = (inputs,)
    if isinstance(inputs, Tensor | np.ndarray | Mapping | tuple) or _is_list(inputs) or _is_object(inputs):
        batches = [_batch(inputs)]
    elif isinstance(inputs, Iterable) and not isinstance(inputs, list | str):
        with _unchanged_loader(inputs):
            batches, answers = _of_loader(inputs, unpack or usual_unpack)
    else:
        raise ValueError(f"inputs is a {type(inputs).__name__}; {FORMS}")
    for batch in batches:
        _check_shape(batch, axis)
    usable = Inputs(batches, axis, answers, points)
    return usable if batch_size is None else split(usable, batch_size)


def check_labels(name: str, inputs: Inputs, others: Inputs) -> None:
    """Refuses loaders whose labels show that their points are in different orders.

    Args:
        name: of the argument that holds the others.
        inputs: the points.
        others: the same points in another form.

    Raises:
        ValueError: at how many points they differ.
    """
    (labels, _), (other_labels, _) = inputs.labels_and_targets(), others.labels_and_targets()
    if inputs is others or labels is None or other_labels is None or labels.shape != other_labels.shape:
        return
    if (different := labels != other_labels).any():
        raise ValueError(
            f"{name}: {different.sum()} of {labels.size} labels are not those of inputs, so these are "
            "not the same points in the same order; switch off shuffling in both loaders"
        )


def usual_unpack(batch: object) -> tuple[object, object]:
    """(inputs, labels): of a pair both, of a dict what is not named labels or targets, of anything else all of it.

    Raises:
        ValueError: a tuple of other than two parts.
    """
    if isinstance(batch, Mapping):
        answers = [batch[name] for name in LABEL_KEYS if name in batch]
        return {name: part for name, part in batch.items() if name not in LABEL_KEYS}, next(iter(answers), None)
    if isinstance(batch, tuple | list):
        if len(batch) == 1:
            return batch[0], None
        if len(batch) != 2:
            raise ValueError(
                f"a batch of the loader has {len(batch)} parts; give unpack=, a function of the batch that returns "
                "(inputs, labels), inputs being a tensor, a tuple or a dict"
            )
        return batch[0], batch[1]
    return batch, None


def _takes_one(model: nn.Module) -> bool:
    """Whether the network takes a single positional input."""
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return False
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in places for parameter in parameters) == 1


def _is_object(inputs: object) -> bool:
    """Whether this is one input of another kind that moves between devices: a graph, a packed sequence."""
    return callable(getattr(inputs, "to", None)) and not isinstance(inputs, Tensor | Mapping)


def _batch(inputs: object) -> Batch:
    if isinstance(inputs, Mapping):
        batch = Batch((), {str(name): part for name, part in inputs.items()}).changed(_tensor)
    elif isinstance(inputs, tuple | list) and not _is_object(inputs):
        batch = Batch(tuple(inputs), {}).changed(_tensor)
    else:
        batch = Batch((_tensor(inputs),), {})
    several = isinstance(inputs, Mapping | tuple | list) and not _is_object(inputs)
    if several and not batch.tensors() and not any(map(_is_object, (*batch.args, *batch.kwargs.values()))):
        raise ValueError(f"inputs is a {type(inputs).__name__} without a tensor; {FORMS}")
    return batch


def _tensor(part: object) -> object:
    if not isinstance(part, np.ndarray):
        return part
    if part.dtype.kind not in "biufc":
        raise ValueError(f"inputs is an array of type {part.dtype}; give numbers")
    return torch.as_tensor(part.astype(part.dtype.newbyteorder("="), copy=False))  # torch knows its machine's order


def _of_loader(loader: Iterable, unpack: Callable[[object], tuple]) -> tuple[Sequence[Batch], list[Tensor]]:
    """All batches, and the answers if each has one."""
    batches: list[Batch] | StoredBatches = []
    answers: list[Tensor] = []
    size = 0
    for entry in loader:
        inputs, answer = _unpacked(entry, unpack)
        batch = _batch(inputs).fresh()  # a loader may fill the same memory with the next batch
        size += sum(part.element_size() * part.numel() for part in batch.tensors())
        if size > MOST_IN_MEMORY and isinstance(batches, list):
            batches = StoredBatches(batches)
        batches.append(batch)
        if answer is not None:
            answers.append(_answers(answer))
    if not batches:
        raise ValueError("the loader of inputs has no batches")
    return batches, answers if len(answers) == len(batches) else []


def _unpacked(entry: object, unpack: Callable[[object], tuple]) -> tuple[object, object]:
    """Inputs and answers of a batch.

    Raises:
        ValueError: the user's function fails, or returns anything else.
    """
    try:
        returned = unpack(entry)
    except Exception as error:
        if unpack is usual_unpack:
            raise
        raise ValueError(f"unpack raised {in_one_line(error)}; it must return (inputs, labels) of a batch") from error
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise ValueError(f"unpack returned {shown(returned)}; it must return (inputs, labels) of a batch")
    return returned[0], returned[1]


def _answers(answer: object) -> Tensor:
    """Labels or targets of a batch, one per point.

    Raises:
        ValueError: they are no numbers.
    """
    try:
        return torch.atleast_1d(torch.as_tensor(answer)).clone()
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"a batch of the loader has the labels {shown(answer)}; give numbers, one per point, or unpack=, a "
            "function of the batch that returns (inputs, labels or None)"
        ) from error


@contextmanager
def _unchanged_loader(loader: object) -> Iterator[None]:
    """Going through a loader draws random numbers; all generators that it may use are afterwards as they were."""
    restored = [_restoring(generator) for generator in _generators(loader)]
    try:
        with unchanged_random_state():
            yield
    finally:
        for restore in restored:
            restore()


def _restoring(generator: Any) -> partial:
    """Sets a generator back to its state of now."""
    if isinstance(generator, np.random.Generator):
        return partial(setattr, generator.bit_generator, "state", generator.bit_generator.state)
    if isinstance(generator, random.Random):
        return partial(generator.setstate, generator.getstate())
    return partial(generator.set_state, generator.get_state())


def _generators(loader: object) -> list[Any]:
    """Random generators of a loader and of what it holds: samplers, datasets, transforms, functions."""
    waiting, seen = deque([loader]), dict[int, object]()  # objects by id, so that none gets the id of another
    while waiting and len(seen) < MOST_SEARCHED:
        owner = waiting.popleft()
        if id(owner) not in seen:
            seen[id(owner)] = owner
            waiting += _held(owner)
    return [owner for owner in seen.values() if type(owner) in GENERATORS]


def _held(owner: Any) -> list[Any]:
    """What an object keeps that may have a random generator."""
    if isinstance(owner, partial):
        return [owner.func, *owner.args, *owner.keywords.values()]
    if isinstance(owner, types.MethodType):
        return [owner.__self__]
    if isinstance(owner, types.FunctionType):
        named = [owner.__globals__.get(name) for name in owner.__code__.co_names]
        cells = [cell.cell_contents for cell in owner.__closure__ or () if cell != types.CellType()]  # no empty ones
        return [*cells, *(part for part in named if type(part) in GENERATORS)]
    if isinstance(owner, (*CONTAINERS, tuple)):
        return list(owner.values() if isinstance(owner, dict) else owner) if len(owner) <= MANY else []
    apart = (Tensor, np.ndarray, nn.Module, type, types.ModuleType)
    return [] if isinstance(owner, apart) else list(getattr(owner, "__dict__", {}).values())


def _check_shape(batch: Batch, axis: int) -> None:
    """Inputs have numbers; a single one needs an axis of points and one more."""
    if any(part.is_meta for part in batch.tensors()):
        raise ValueError("inputs is on the device meta, without numbers; give numbers")
    if len(parts := batch.tensors()) != 1 or _is_list(batch.args[0] if batch.args else None):
        return
    part = parts[0]
    if part.layout is not torch.strided:
        raise ValueError(f"inputs is a tensor of layout {part.layout}, whose points cannot be taken; give .to_dense()")
    if not -part.ndim <= axis < part.ndim:
        raise ValueError(f"axes['input'] is {axis}, but inputs has shape {tuple(part.shape)}; give an axis that it has")
    if part.ndim and not part.shape[axis]:
        raise ValueError(f"inputs has shape {tuple(part.shape)}, without a point; leave out empty batches")
    if part.ndim < 2 and part.is_floating_point():
        raise ValueError(
            f"inputs has shape {tuple(part.shape)}; give (points, ...): a row per point, even for one input"
        )


def _check_values(inputs: Inputs) -> None:
    """Two different points at least, all finite."""
    sizes = [size for size in inputs.sizes if size is not None]
    if len(sizes) == len(inputs.sizes) and sum(sizes) < 2:
        raise ValueError("inputs holds a single point; angles, ranks and batch statistics need at least two")
    bad, first, same = 0, None, True
    for batch in inputs.batches:
        parts = [part for part in batch.tensors() if part.layout is torch.strided and not part.is_nested]
        for part in parts[:1]:
            bad += int((~torch.isfinite(part)).sum()) if part.is_floating_point() else 0
        same = same and len(parts) == len(batch.tensors()) == 1
        if same:
            first = parts[0].narrow(inputs.axis, 0, 1).clone() if first is None else first
            alike = parts[0].movedim(inputs.axis, 0).shape[1:] == first.movedim(inputs.axis, 0).shape[1:]
            same = alike and bool((parts[0] == first).all())
    if bad:
        raise ValueError(f"inputs holds {bad} values that are NaN or infinite")
    if same:
        raise ValueError("all points of inputs are the same, so there is nothing to tell apart; give different points")


def _placed(batch: Batch, model: nn.Module) -> Batch:
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
    own = [part.dtype for part in batch.tensors() if part.is_floating_point()]
    kinds = [*(kind for kind in own[:1] if kind in kinds), *(kind for kind in kinds if kind not in own[:1])]
    return next((placed for kind in kinds[:-1] if _is_taken(model, placed := _at(batch, device, kind))), None) or _at(
        batch, device, kinds[-1] if kinds else None
    )


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
    part = Inputs([batch]).spread(2)[0].fresh()
    try:
        with undisturbed(model, grad=True):
            model(*part.args, **part.kwargs)
    except Exception:
        return False
    return True


def split(inputs: Inputs, batch_size: int) -> Inputs:
    """The points of a single batch in batches of a size.

    Raises:
        ValueError: a size below 1, or inputs without a common axis.
    """
    if len(inputs.batches) > 1:
        return inputs
    check_arguments(batch_size=batch_size)
    if not inputs.sliceable:
        shapes = inputs.batches[0].shapes()
        raise ValueError(f"batch_size cannot cut inputs of shapes {shapes}, which have no common axis; give a loader")
    points = cast("int", inputs.sizes[0])  # known of what has a common axis
    cuts = range(0, points, batch_size)
    batch = inputs.batches[0]

    def part_at(first: int) -> Batch:
        size = min(batch_size, points - first)
        return batch.taken(
            lambda part: part.narrow(inputs.axis, first, size), lambda entries: entries[first : first + size]
        )

    answers = [part for answer in inputs.answers for part in answer.tensor_split(list(cuts)[1:])]
    return Inputs([part_at(first) for first in cuts], inputs.axis, answers)
