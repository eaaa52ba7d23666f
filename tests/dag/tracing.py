"""Tracer: definitions of the package that a job executes, compared with those in its code version.

    python -m tests.dag.tracing executed.json run logs/smoke/leaky_resnets/exact.job.json

runs a command of `python -m repdyn` and writes what it executed. Code that runs while a module is imported is omitted:
a module's constants serve all importers, and each counts where it is used. Compiled code (numba) and other processes
are not seen.
"""

from __future__ import annotations

import ast
import json
import sys
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from repdyn.pipeline.versions.fingerprint import SOURCE, reached

Definition = tuple[str, str]
OPTIMIZED = 0x1  # flag of functions' code; bodies of modules and classes lack it


@contextmanager
def executed_definitions(source: Path = SOURCE) -> Iterator[set[Definition]]:
    """Collects (module, name) of every definition of which a function runs inside the block, in all new threads too.

    Args:
        source: folder that holds the package.
    """
    executed: set[Definition] = set()
    seen: set[CodeType] = set()
    inside = f"{source / 'repdyn'}/"

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(inside) or code in seen:
            return
        if not code.co_filename.endswith(".py"):  # a page's template, under its own name
            return
        if not code.co_flags & OPTIMIZED or _is_import(frame, inside):
            return
        seen.add(code)
        if definition := _definition_at(code.co_filename, code.co_firstlineno, source):
            executed.add(definition)

    before = sys.gettrace()
    sys.settrace(note)
    threading.settrace(note)
    try:
        yield executed
    finally:
        sys.settrace(before)
        threading.settrace(None)


def outside_closure(executed: Iterable[Definition], roots: Iterable[str], source: Path = SOURCE) -> list[Definition]:
    """Executed definitions on which the roots do not depend by name, sorted: edits of these would rerun nothing.

    Classes of settings are left out; their validated values are inputs of jobs.
    """
    counted = set(reached(*roots, source=source))
    return sorted(
        definition for definition in executed if definition not in counted and not _is_model(*definition, source)
    )


def _is_import(frame: FrameType, inside: str) -> bool:
    """Whether a module of the package is being imported further up."""
    above = frame.f_back
    while above:
        if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(inside):
            return True
        above = above.f_back
    return False


def _definition_at(file: str, line: int, source: Path) -> Definition | None:
    starts, names = _definitions(file)
    position = bisect_right(starts, line) - 1
    if position < 0:
        return None
    parts = Path(file).relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts), names[position]


@cache
def _definitions(file: str) -> tuple[list[int], list[str]]:
    """First lines of the statements at the top of a file, decorators included, and the names they define."""
    lines, names = [], []
    for node in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        decorators = getattr(node, "decorator_list", [])
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        name = getattr(node, "name", None) or getattr(target, "id", "<statements>")
        lines.append(min([node.lineno, *(decorator.lineno for decorator in decorators)]))
        names.append(name)
    return lines, names


def _is_model(module: str, name: str, source: Path) -> bool:
    if not any(part.startswith("settings") for part in module.split(".")):
        return False
    base = source.joinpath(*module.split("."))
    file = base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
    classes = (node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef))
    return name in {node.name for node in classes}


def main(words: list[str]) -> int:
    """Runs a command of `python -m repdyn` and writes what it executed as pairs of module and name."""
    from repdyn.__main__ import main as command

    output, *arguments = words
    with executed_definitions() as executed:
        status = command(arguments)
    Path(output).write_text(json.dumps(sorted(executed)), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
