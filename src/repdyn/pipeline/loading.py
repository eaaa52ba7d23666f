"""Functions of a study by name. What is loaded here is invisible to static reading, so rules name it as a root of
their code version themselves; that is why this stands in a module of its own.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from repdyn.base.errors import RepdynError


def load_module(study: str, name: str) -> ModuleType:
    """The module `name` of a study.

    Raises:
        RepdynError: there is no such study or module.
    """
    try:
        return importlib.import_module(f"repdyn.{study}.{name}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("repdyn."):
            raise
        raise RepdynError(f"no module {name!r} in a study {study!r} ({error})") from error


def load_function(study: str, function: str) -> Callable[..., Any]:
    """The function `module:name` of a study.

    Raises:
        RepdynError: there is no such study, module or function; the message lists what there is.
    """
    module_name, _, name = function.partition(":")
    module = load_module(study, module_name)
    found = getattr(module, name, None)
    if not callable(found):
        own = sorted(
            key
            for key, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__
        )
        raise RepdynError(f"{module.__name__} has no function {name!r}; it has {', '.join(own)}")
    return found
