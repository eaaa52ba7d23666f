"""Source text of functions, so that the report shows the code behind a number without a checkout."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from repdyn.pipeline import studies
from repdyn.pipeline.run.declare.graph import statements
from repdyn.pipeline.run.execute.loading import definition_name
from repdyn.pipeline.versions.fingerprint import SOURCE


@dataclass(frozen=True)
class Listing:
    """A piece of code: its file, relative to the checkout, its first line, its text."""

    file: str
    line: int
    text: str


def function(code: str) -> Listing | None:
    """The definition `package.module:name` with its decorators; None if there is no such file or name."""
    module, _, name = code.partition(":")
    path, root = _file(module)
    if not path.is_file():
        return None
    node = next((node for node in statements(path) if definition_name(node) == name), None)
    if node is None:
        return None
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    lines = path.read_text(encoding="utf-8").splitlines()[first - 1 : node.end_lineno]
    return Listing(f"src/{path.relative_to(root).as_posix()}", first, "\n".join(lines))


def _file(module: str) -> tuple[Path, Path]:
    """File of a module of this package or of a study's, and the folder that holds the package."""
    for package, folder in studies.outside():
        if module.startswith(f"{package}."):
            above = folder.parents[package.count(".")]
            return above.joinpath(*module.split(".")).with_suffix(".py"), above
    return SOURCE.joinpath(*module.split(".")).with_suffix(".py"), SOURCE
