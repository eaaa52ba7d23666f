"""Mutants of a formula: one sign, factor, constant or exponent changed at a time."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
POWERS = {"sqrt": "cbrt", "square": "abs"}
UNTOUCHED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.arguments)  # messages and defaults are no formulas


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes:
        function: the definition at the top of the module that holds the change.
        line: line of the change.
        change: before and after, as code.
        source: the whole module, changed.
    """

    function: str
    line: int
    change: str
    source: str


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for definition in tree.body:
        name = getattr(definition, "name", None)
        if name is None:
            continue
        sites = [site for part in definition.body for site in _sites(part)]
        for site in sorted(sites, key=lambda node: (node.lineno, node.col_offset)):
            for changed in _changes(site):
                before = copy.copy(site)
                shown = f"{ast.unparse(site)} -> {ast.unparse(changed)}"
                _become(site, changed)
                source = ast.unparse(ast.fix_missing_locations(tree))
                _become(site, before)
                yield Mutant(name, before.lineno, shown, source)


def _sites(node: ast.AST) -> Iterator[ast.expr | ast.AugAssign]:
    if isinstance(node, UNTOUCHED):
        return
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call | ast.AugAssign):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _sites(child)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in POWERS:
        yield _with(node, func=ast.Attribute(node.func.value, POWERS[node.func.attr], ast.Load()))
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED:
        yield _with(node, op=SWAPPED[type(node.op)]())
    if isinstance(node, ast.BinOp):
        for side in ("left", "right"):
            operand = getattr(node, side)
            if isinstance(operand, ast.Constant) and type(operand.value) in (int, float):
                yield _with(node, **{side: ast.Constant(_nudged(operand.value))})


def _with(node: ast.AST, **parts: ast.AST) -> ast.AST:
    changed = copy.copy(node)
    for name, part in parts.items():
        setattr(changed, name, part)
    return changed


def _nudged(value: float) -> float:
    return value + 1 if isinstance(value, int) else (1.1 * value if value else 0.1)


def _become(node: ast.AST, other: ast.AST) -> None:
    """Turns a node into another one where it stands in the tree."""
    fields = dict(other.__dict__)
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update(fields)
