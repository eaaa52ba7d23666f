"""Listings: the text of a function, so that the report shows the code behind a number without a checkout."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from repdyn.base.fingerprint import SOURCE


@dataclass(frozen=True)
class Listing:
    """A piece of code: the file it stands in, relative to the checkout, its first line, its text."""

    file: str
    line: int
    text: str


def function(code: str) -> Listing | None:
    """The definition `package.module:name` with its decorators; None where there is no such file or name."""
    module, _, name = code.partition(":")
    path = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
    if not path.is_file():
        return None
    text, definitions = _definitions(path)
    node = definitions.get(name)
    if node is None:
        return None
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return Listing(f"src/{path.relative_to(SOURCE).as_posix()}", first, "\n".join(lines))


@cache
def _definitions(path: Path) -> tuple[str, dict[str, ast.FunctionDef]]:
    text = path.read_text(encoding="utf-8")
    return text, {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
