"""Functions of a study by name. What is loaded here is invisible to static reading, so rules name it as a root of
their code version themselves; that is why this stands in a module of its own.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
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


def load_rooms(study: str, name: str) -> list[ModuleType]:
    """The module `name` of a study, or where it is a folder all modules in it."""
    module = load_module(study, name)
    inside = [info.name for info in pkgutil.iter_modules(getattr(module, "__path__", ()))]
    return [load_module(study, f"{name}.{part}") for part in inside] or [module]


def load_function(study: str, function: str) -> Callable[..., Any]:
    """The function `module:name` of a study; where the module is a folder, the name is looked for in its modules.

    Raises:
        RepdynError: there is no such study, module or function; the message lists what there is.
    """
    module_name, _, name = function.partition(":")
    own = {
        key: value
        for module in load_rooms(study, module_name)
        for key, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    }
    if name not in own:
        raise RepdynError(f"{module_name} of {study} has no function {name!r}; it has {', '.join(sorted(own))}")
    return own[name]
