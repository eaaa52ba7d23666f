"""Options that functions hand on to each other: a misspelt one is refused at once."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def option_names(*functions: Callable[..., Any]) -> list[str]:
    """Names of all that these functions take beside the network and the inputs, in order."""
    parameters = [entry for function in functions for entry in inspect.signature(function).parameters.values()]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [entry.name for entry in parameters if entry.kind in kinds]
    return [name for name in dict.fromkeys(names) if name not in ("self", "model", "network", "other", "inputs")]


def check_options(options: Iterable[str], known: Sequence[str]) -> None:
    """Refuses options that nobody takes.

    Raises:
        TypeError: an unknown one; the message names the nearest and all that there are.

    Example:
        >>> check_options(["bath_size"], ["axes", "batch_size"])
        Traceback (most recent call last):
        ...
        TypeError: no option 'bath_size' (did you mean 'batch_size'?); there are axes, batch_size
    """
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise TypeError(f"no option {name!r}{hint}; there are {', '.join(known)}")
