"""Inputs as people have them: a tensor, several, keywords, or a loader of batches, prepared for the network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from repdyn.diagnostics.methods.arguments import as_array, check_arguments, takes
from repdyn.diagnostics.methods.batches import FORMS, Batch, StoredBatches, as_batch, is_list, is_object, placed, spread
from repdyn.diagnostics.methods.loaders import read_loader


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
        return self.batches[0].taken(np.array(indices) % self.sizes[0], self.axis)

    def spread(self, most: int) -> tuple[Batch, NDArray[np.int64] | None]:
        """At most so many points of the first batch, evenly spread, and which; None: all of a batch that is not cut."""
        size = self.sizes[0]
        if not self.sliceable or size is None or size <= most:
            return self.batches[0], None
        indices = spread(size, most)
        return self.batches[0].taken(indices, self.axis), indices


def as_inputs(
    model: nn.Module, inputs: object, *, batch_size: int | None = None, points: int | None = None, **how: Any
) -> Inputs:
    """What the network is run on, in its precision and on its device; arguments and errors are those of `read_inputs`.

    What `read_inputs` has read is not read again.
    """
    given = inputs if isinstance(inputs, Inputs) else read_inputs(model, inputs, **how)
    batches = given.batches
    here = batches.placed(model) if isinstance(batches, StoredBatches) else [placed(batch, model) for batch in batches]
    usable = replace(given, batches=here, points=given.points if points is None else points)
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
    if is_list(inputs) and len(cast("list", inputs)) > 1 and takes(model, 1) and not takes(model, 2):
        inputs = (inputs,)
    if isinstance(inputs, Tensor | np.ndarray | Mapping | tuple) or is_list(inputs) or is_object(inputs):
        batches = [as_batch(inputs)]
    elif isinstance(inputs, Iterable) and not isinstance(inputs, list | str):
        batches, answers = read_loader(inputs, unpack)
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


def _check_shape(batch: Batch, axis: int) -> None:
    """Inputs have numbers; a single one needs an axis of points and one more."""
    if any(part.is_meta for part in batch.tensors()):
        raise ValueError("inputs is on the device meta, without numbers; give numbers")
    if len(parts := batch.tensors()) != 1 or is_list(batch.args[0] if batch.args else None):
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


def split(inputs: Inputs, batch_size: int) -> Inputs:
    """The points of a single batch in batches of a size.

    Raises:
        ValueError: a size below 1, or inputs without a common axis.
    """
    if len(inputs.batches) > 1:
        return inputs
    check_arguments(batch_size=batch_size)
    batch = inputs.batches[0]
    if not inputs.sliceable:
        raise ValueError(
            f"batch_size cannot cut inputs of shapes {batch.shapes()}, which have no common axis; give a loader"
        )
    cuts = range(0, cast("int", inputs.sizes[0]), batch_size)  # known of what has a common axis
    batches = [batch.taken(slice(first, first + batch_size), inputs.axis) for first in cuts]
    answers = [part for answer in inputs.answers for part in answer.tensor_split(list(cuts)[1:])]
    return Inputs(batches, inputs.axis, answers)
