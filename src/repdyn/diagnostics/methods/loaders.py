"""Loaders of batches: gone through once, while all random generators that they may use stay as they were."""

from __future__ import annotations

import random
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from repdyn.diagnostics.methods.arguments import shown
from repdyn.diagnostics.methods.batches import Batch, StoredBatches, as_batch
from repdyn.diagnostics.methods.forward import in_one_line
from repdyn.diagnostics.methods.hooks import CONTAINERS, GENERATORS, MANY
from repdyn.diagnostics.methods.untouched import unchanged_random_state

MOST_IN_MEMORY = 2**32  # bytes of a loader's inputs, beyond which they are stored on disk
MOST_SEARCHED = 10_000  # objects of a loader among which random generators are looked for
LABEL_KEYS = ("labels", "label", "targets", "target")


def read_loader(loader: Iterable, unpack: Callable[[object], tuple] | None) -> tuple[Sequence[Batch], list[Tensor]]:
    """All batches of a loader, whose generators stay as they were, and the answers if each batch has one.

    Args:
        loader: of inputs, alone or with answers.
        unpack: turns a batch into (inputs, labels or targets or None); None takes `usual_unpack`.

    Raises:
        ValueError: no batches, or batches that are no inputs and numbers.
    """
    with _unchanged_loader(loader):
        return _read(loader, unpack or usual_unpack)


def _read(loader: Iterable, unpack: Callable[[object], tuple]) -> tuple[Sequence[Batch], list[Tensor]]:
    batches: list[Batch] | StoredBatches = []
    answers: list[Tensor] = []
    size = 0
    for entry in loader:
        inputs, answer = _unpacked(entry, unpack)
        batch = as_batch(inputs).fresh()  # a loader may fill the same memory with the next batch
        size += sum(part.element_size() * part.numel() for part in batch.tensors())
        if size > MOST_IN_MEMORY and isinstance(batches, list):
            batches = StoredBatches(batches)
        batches.append(batch)
        if answer is not None:
            answers.append(_answers(answer))
    if not batches:
        raise ValueError("the loader of inputs has no batches")
    return batches, answers if len(answers) == len(batches) else []


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
