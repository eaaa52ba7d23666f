"""The pages of public functions, `docs/api/`: signature, first paragraph and examples, read from the files."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from repdyn.base.fingerprint import SOURCE
from repdyn.pipeline.config.configuration import Config
from repdyn.pipeline.run.declare.workflow import paper_of

OTHERS = ("diagnostics", "base")
"""Packages whose other modules are meant for import too."""
INNER = ("checks", "inputs", "command", "convolutional", "experiments", "settings", "texts")
FOLDER = "docs/api"
Definition = ast.FunctionDef | ast.ClassDef
TOP = """\
# Public functions

What other code may import, a page per package: the formulas of the five papers, the diagnostics, what all share.
Arguments, units and errors are in each docstring (`help(...)`, or follow the link of the module), shapes of arrays in
the signature: `Float[Array, 'k n']` are k rows and n columns of numbers ([words](../../src/repdyn/base/arrays.py)). A
formula that the paper has wrong has a twin `..._as_printed` next to the corrected one. Every example is run by a test.

These pages are generated from the code (`python -m repdyn reference`); a test holds them to it.

| package | modules | functions and classes |
| --- | --- | --- |
"""


def pages() -> dict[str, str]:
    """Path in the checkout -> page as Markdown: the list of packages, then each of them."""
    written = {f"{FOLDER}/{package}.md": _page(package) for package in packages()}
    return {f"{FOLDER}/index.md": TOP + "".join(_row(package) for package in packages()), **written}


def packages() -> list[str]:
    """Every study with formulas, in the order of the configuration, then what serves them."""
    return [name for name in Config.model_fields if name not in OTHERS and _theory(name)] + list(OTHERS)


def modules(package: str) -> list[Path]:
    """The files of a package whose functions are public."""
    files = sorted((SOURCE / "repdyn" / package).glob("*.py")) if package in OTHERS else []
    return [path for path in files + _theory(package) if path.stem not in ("__init__", *INNER)]


def _row(package: str) -> str:
    public = [[node for node in _tree(path).body if _is_public(node)] for path in modules(package)]
    return f"| [{package}]({package}.md) | {sum(map(bool, public))} | {sum(map(len, public))} |\n"


def _page(package: str) -> str:
    parts = [f"# {package}\n"]
    if package != "base":
        notes = SOURCE.parent / "docs" / f"{package}.md"
        more = f" More: [{notes.name}](../{notes.name})." if notes.is_file() else ""
        parts.append(f"{paper_of(package)}.{more}\n")
    return "\n".join(parts + [line for path in modules(package) for line in _module(path)])


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _theory(package: str) -> list[Path]:
    """Files of a package's formulas, one or a folder's; none where it has no such module."""
    base = SOURCE / "repdyn" / package
    return sorted([*base.glob("theory/*.py"), *base.glob("theory.py")])


def _module(path: Path) -> Iterator[str]:
    tree = _tree(path)
    public = [node for node in tree.body if _is_public(node)]
    if not public:
        return
    inside = path.relative_to(SOURCE)
    module = ".".join(inside.with_suffix("").parts)
    yield f"## [{module}](../../src/{inside.as_posix()})\n\n{_paragraph(tree)}\n"
    for node in public:
        yield f"### `{node.name}`\n\n```python\n{_signature(node)}\n```\n\n{_paragraph(node)}\n"
        if examples := _examples(ast.get_docstring(node) or ""):
            yield f"```pycon\n>>> from {module} import {node.name}\n{examples}\n```\n"


def _is_public(node: ast.AST) -> TypeGuard[Definition]:
    return isinstance(node, Definition) and not node.name.startswith("_")


def _signature(node: Definition) -> str:
    """As one would call it: of a class with declared fields its fields, of another the arguments of `__init__`."""
    if isinstance(node, ast.FunctionDef):
        return f"{node.name}({ast.unparse(node.args)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
    init = next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"), None)
    if init:
        return f"{node.name}({ast.unparse(init.args).removeprefix('self, ')})"
    fields = ", ".join(ast.unparse(part) for part in node.body if isinstance(part, ast.AnnAssign))
    return f"{node.name}({fields})"


def _paragraph(node: ast.Module | Definition) -> str:
    """First paragraph of the docstring on one line; what Markdown would take for markup outside code is escaped."""
    text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    code = re.compile(r"(`[^`]+`)")
    return "".join(
        part if code.fullmatch(part) else re.sub(r"([\\*_<\[\]$|~])", r"\\\1", part) for part in code.split(text)
    )


def _examples(docstring: str) -> str:
    examples = doctest.DocTestParser().get_examples(docstring)
    return "\n".join((f">>> {example.source}" + example.want).rstrip("\n") for example in examples)
