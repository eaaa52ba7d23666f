"""What a recording is made of, as digests: a resumed one goes on with the same points, measures and network only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from repdyn.base.errors import DataError

HOW_ONLY = ("progress", "memory")  # options that change no number


def made_of(model: nn.Module, points: object, options: Mapping[str, object]) -> dict[str, str]:
    """SHA-256 of the points, of the network's class and shapes of weights, and of every option that changes numbers.

    Args:
        model: the network; its weights do not count.
        points: inputs, in any form.
        options: of `measure`, with `layers`.
    """
    shapes = [(name, tuple(value.shape)) for name, value in model.named_parameters()]
    parts: dict[str, object] = {"points": points, "network": [type(model).__qualname__, shapes]}
    parts |= {name: value for name, value in options.items() if name not in HOW_ONLY and value is not None}
    return {name: digest(value) for name, value in parts.items()}


def check_same(file: object, recorded: Mapping[str, str], today: Mapping[str, str]) -> None:
    """Whether a file was made of the same.

    Raises:
        DataError: naming what differs.
    """
    differs = sorted(name for name in {*recorded, *today} if recorded.get(name) != today.get(name))
    if differs:
        text = (
            f"{', '.join(differs)} differ from those it was recorded of" if recorded else "does not say of what it is"
        )
        raise DataError(f"{file}: {text}, so the series would mix two things; give the same as before, or another file")


def digest(value: object) -> str:
    """SHA-256 of arrays, tensors, containers, functions by name, and of the content of other objects."""
    total = hashlib.sha256()
    for part in _bytes(value):
        total.update(part)
    return total.hexdigest()


def _bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, Tensor):
        dense = value.detach().to_dense() if value.is_sparse or value.is_sparse_csr else value.detach()
        dense = dense.cpu()
        yield str(dense.dtype).encode()
        value = dense.numpy() if dense.dtype.is_floating_point and dense.element_size() > 2 else dense.double().numpy()
    if isinstance(value, np.ndarray):
        yield f"{value.dtype}{value.shape}".encode()
        yield repr(value.tolist()).encode() if value.dtype.hasobject else np.ascontiguousarray(value).tobytes()
    elif isinstance(value, Mapping):
        yield b"mapping"
        for name in sorted(value, key=str):
            yield from (repr(name).encode(), *_bytes(value[name]))
    elif isinstance(value, str | bytes | int | float | complex | None):
        yield repr(value).encode()
    elif isinstance(value, Sequence):
        yield f"sequence{len(value)}".encode()
        for part in value:
            yield from _bytes(part)
    elif callable(value) and hasattr(value, "__qualname__"):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    else:
        yield type(value).__qualname__.encode()
        yield from _bytes(getattr(value, "__dict__", {}))
