"""One mutant tried: a fork of this process imports the changed source in place of the module; no file is written.

A fork that is killed leaves nothing behind but a folder of temporary files, which the process that tries the mutant
removes. What a test starts as a process of its own reads the files and so does not meet the mutant.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.util
import multiprocessing
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from repdyn.base.errors import RepdynError
from repdyn.pipeline.mutations.mutants import Mutant

CAUGHT = ("guard", "test", "claim", "time")
UNIMPORTABLE = 3  # exit status
WAIT = 20  # times the CPU limit, until a process that waits for something is given up


class Stage(NamedTuple):
    """Checks that a mutant meets one after the other.

    Attributes:
        by: what the fate is called where one of them notices: "guard", "test" or "claim".
        checks: what is checked, each a name or a file.
        notices: in the fork, what of a check notices the mutant first; nothing where it does not.
        baseline: in this process, on unchanged code, what of a check fails; nothing where it may be used.
    """

    by: str
    checks: Sequence[Hashable]
    notices: Callable[[Any], str]
    baseline: Callable[[Any], str]


class Fate(NamedTuple):
    """What became of a mutant.

    Attributes:
        by: "import", "guard", "test", "claim", "time" or "survived".
        first: the guard, test or claim that noticed it first.
        seconds: of CPU.
    """

    by: str
    first: str
    seconds: float


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed source wherever the module is imported.

    Args:
        module: its name.
        file: the file with its own source, for which it may ask.
        source: the changed source.
    """

    def __init__(self, module: str, file: Path, source: str) -> None:
        self.module, self.file, self.source = module, file, source

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Claims the changed module alone."""
        if fullname != self.module:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=str(self.file))

    def exec_module(self, module: ModuleType) -> None:
        """Runs the changed source as the module."""
        module.__file__ = str(self.file)
        exec(compile(self.source, f"<mutant of {self.module}>", "exec"), module.__dict__)


def try_mutant(
    module: str, file: Path, mutant: Mutant, stages: Sequence[Stage], *, folders: Sequence[Path], limit: int
) -> Fate:
    """Tries a mutant on each stage in a fork of its own, until something notices it.

    Args:
        module: name of the changed module.
        file: its file.
        mutant: the change.
        stages: what may notice it; those without checks are passed over.
        folders: whose modules are imported anew where they import the changed one.
        limit: CPU seconds for each stage.

    Raises:
        RepdynError: a fork ended with an error of its own.
    """
    began = _spent()
    for stage in stages:
        if not stage.checks:
            continue
        exitcode, first = _in_fork(limit, module, file, mutant, stage, folders)
        if exitcode == 1 and not first:
            raise RepdynError(f"{module}: the process that tries its mutant broke down; nothing was learned")
        if exitcode != 0:
            return Fate({1: stage.by, UNIMPORTABLE: "import"}.get(exitcode, "time"), first, _spent() - began)
    return Fate("survived", "", _spent() - began)


def _in_fork(limit: int, *arguments: object) -> tuple[int, str]:
    """Exit status of a fork, and what it found."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="mutant") as folder:
        child = context.Process(target=_try_stage, args=(theirs, limit, folder, *arguments))
        child.start()
        theirs.close()
        first = ""
        try:
            with suppress(EOFError):  # it ended without a word
                first = ours.recv() if ours.poll(WAIT * limit) else ""
            child.join(1)
        finally:
            if child.is_alive():
                child.kill()
            child.join()
    return child.exitcode or 0, first


def _try_stage(
    pipe: Connection,
    limit: int,
    temporary: str,
    module: str,
    file: Path,
    mutant: Mutant,
    stage: Stage,
    folders: Sequence[Path],
) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    tempfile.tempdir = temporary
    sys.dont_write_bytecode = True
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    forget(module, folders)
    sys.meta_path.insert(0, Replaced(module, file, mutant.source))
    try:
        importlib.import_module(module)
    except Exception:
        os._exit(UNIMPORTABLE)
    first = next((first for check in stage.checks if (first := stage.notices(check))), "")
    pipe.send(first)
    os._exit(int(first != ""))


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def forget(module: str, folders: Sequence[Path]) -> None:
    """Makes this process import a module anew, and all in these folders that import it."""
    inside = tuple(f"{folder}{os.sep}" for folder in folders)
    files = {name: _file_of(known) for name, known in list(sys.modules.items())}
    imports = {name: _imported(file) for name, file in files.items() if file.startswith(inside) and file[-3:] == ".py"}
    old, forgotten = set[str](), {module}
    while old != forgotten:
        old = forgotten
        forgotten = old | {name for name, imported in imports.items() if imported & old}
    for name in forgotten:
        parent, _, leaf = name.rpartition(".")
        sys.modules.pop(name, None)
        vars(sys.modules.get(parent, ModuleType(""))).pop(leaf, None)


def _file_of(module: object) -> str:
    return getattr(module, "__file__", None) or ""


@cache
def _imported(file: str) -> frozenset[str]:
    """Names of modules that a file may import: what stands behind `import`, and behind `from` with each name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(names)
