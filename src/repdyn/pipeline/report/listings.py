"""Listings: the text of a function, so that the report shows the code behind a number without a checkout."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from repdyn.base.fingerprint import SOURCE
from repdyn.pipeline.run.graph import statements


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
    functions = (node for node in statements(path) if isinstance(node, ast.FunctionDef))
    node = next((function for function in functions if function.name == name), None)
    if node is None:
        return None
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = path.read_text(encoding="utf-8").splitlines()[first - 1 : node.end_lineno]
    return Listing(f"src/{path.relative_to(SOURCE).as_posix()}", first, "\n".join(lines))
