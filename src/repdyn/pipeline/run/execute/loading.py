"""Functions of a study by name. Static analysis cannot see what is loaded here, so rules name it as a root of their
code version; hence this separate module.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from repdyn.base.errors import RepdynError
from repdyn.pipeline.packages import package_of

FORMULA_CLAIM = "formula_claim"
RUNNERS = ("simulate", "draw", "tabulate", "decide", "images", "ledger", "manifest", "site")


def load_runner(kind: str) -> Callable[..., None]:
    """The function that runs tasks of this kind: `run` of the module of its name.

    Raises:
        RepdynError: there is no such kind.
    """
    if kind not in RUNNERS:
        raise RepdynError(f"no kind of job {kind!r}; the kinds are {', '.join(RUNNERS)}")
    runner: Callable[..., None] = importlib.import_module(f"repdyn.pipeline.run.kinds.{kind}").run
    return runner


def load_module(study: str, name: str) -> ModuleType:
    """The module `name` of a study.

    Raises:
        RepdynError: there is no such study or module.
    """
    package = package_of(study)
    try:
        return importlib.import_module(f"{package}.{name}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith(f"{package}."):
            raise
        raise RepdynError(f"no module {name!r} in study {study!r} ({error})") from error


def load_modules(study: str, name: str) -> list[ModuleType]:
    """The module `name` of a study, or, if it is a folder, all modules in it."""
    return [load_module(study, module) for module in _modules_of(study, name)]


def load_function(study: str, function: str) -> Any:
    """The function, or claim, `module:name` of a study; of a package, the name is looked for in its modules.

    Only the module that defines the function is imported: others may need torch, which takes seconds.

    Raises:
        RepdynError: there is no such study, module or function; the message lists the existing ones.
    """
    module_name, _, name = function.partition(":")
    defined = {entry: module for module in _modules_of(study, module_name) for entry in _functions(study, module)}
    if name not in defined:
        raise RepdynError(f"{module_name} of {study} has no function {name!r}; it has {', '.join(sorted(defined))}")
    return getattr(load_module(study, defined[name]), name)


def _modules_of(study: str, name: str) -> list[str]:
    folder = getattr(load_module(study, name), "__path__", ())
    return [f"{name}.{info.name}" for info in pkgutil.iter_modules(folder)] or [name]


def _functions(study: str, module: str) -> list[str]:
    found = importlib.util.find_spec(f"{package_of(study)}.{module}")
    if found is None or found.origin is None:
        raise RepdynError(f"no module {module!r} in study {study!r}")
    source = Path(found.origin).read_text(encoding="utf-8")
    names = [definition_name(node) for node in ast.parse(source).body]
    return [name for name in names if name and not name.startswith("_")]


def definition_name(node: ast.stmt) -> str:
    """Name of the function, or of the claim without a function, that a statement defines; else empty."""
    if isinstance(node, ast.FunctionDef):
        return node.name
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) and calls(node.value, FORMULA_CLAIM) else ""


def calls(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    """Whether an expression calls a function of this name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
