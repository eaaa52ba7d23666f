"""Which tensor counts of what a network returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from repdyn.diagnostics.methods.features import shape_text
from repdyn.diagnostics.methods.layers import readable

Adapter = Callable[[object], Tensor] | str | int | None


def adapted(returned: Any, adapter: Adapter) -> Tensor:
    """The output: by a key, an index or a function; without one a tensor itself, or the first part of a tuple."""
    if adapter is None and isinstance(returned, Mapping):
        tensors = [key for key, part in returned.items() if isinstance(part, Tensor)]
        if len(tensors) != 1:
            raise ValueError(
                f"the network returns a {type(returned).__name__} with {', '.join(map(str, returned)) or 'nothing'}; "
                f"name the part that counts: output={' or '.join(map(repr, tensors or ['key']))}"
            )
        adapter = tensors[0]
    returned = readable(returned)
    if isinstance(adapter, str | int):
        try:
            returned = returned[adapter]
        except (KeyError, IndexError, TypeError) as error:
            raise ValueError(f"output={adapter!r}: the network returns {shape_text(returned)} without it") from error
    elif adapter is not None:
        returned = adapter(returned)
    elif isinstance(returned, tuple | list) and returned:
        returned = returned[0]
    returned = readable(returned)
    if not isinstance(returned, Tensor):
        raise ValueError(
            f"the network returns {shape_text(returned)}; give output=, a key, an index or a function to a tensor"
        )
    return returned
