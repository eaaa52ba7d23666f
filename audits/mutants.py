"""Mutants of a module: one sign, factor, constant or exponent changed at a time, or one of `operators`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from audits import operators

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
        write: gives the whole module, changed.
    """

    function: str
    line: int
    change: str
    write: Callable[[], str]

    @property
    def source(self) -> str:
        """The whole module, changed."""
        return self.write()


def mutants(path: Path, *, formulas_only: bool = True) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its lines.

    Args:
        path: file of the module.
        formulas_only: whether only arithmetic is changed, as in theory; else also what `operators` names, and numbers
            that stand as constants of the module.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for definition in tree.body:
        name = getattr(definition, "name", None)
        if name is None:
            if not formulas_only:
                yield from _constants(tree, definition)
            continue
        names = operators.keys(definition)
        sites = [site for part in definition.body for site in _sites(part, formulas_only)]
        for site in sorted(sites, key=lambda node: (node.lineno, node.col_offset)):
            for changed in [*_changes(site), *(() if formulas_only else operators.changes(site, names))]:
                yield _mutant(tree, site, changed, name)


def _constants(tree: ast.Module, statement: ast.stmt) -> Iterator[Mutant]:
    """Numbers that a statement at the top gives a name, each nudged."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    for part in ast.walk(statement.value):
        if isinstance(part, ast.Constant) and type(part.value) in (int, float) and isinstance(target, ast.Name):
            yield _mutant(tree, part, ast.copy_location(ast.Constant(_nudged(part.value)), part), target.id)


def _mutant(tree: ast.Module, site: ast.AST, changed: ast.AST, name: str) -> Mutant:
    shown = f"{ast.unparse(site)} -> {ast.unparse(ast.fix_missing_locations(copy.copy(changed)))}"
    return Mutant(name, site.lineno, shown, partial(_written, tree, site, changed))


def _written(tree: ast.Module, site: ast.AST, changed: ast.AST) -> str:
    before = copy.copy(site)
    _become(site, changed)
    source = ast.unparse(ast.fix_missing_locations(tree))
    _become(site, before)
    return source


def _sites(node: ast.AST, formulas_only: bool) -> Iterator[ast.expr | ast.AugAssign]:
    if isinstance(node, UNTOUCHED) or operators.tells_progress(node):
        return
    arithmetic = isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call | ast.AugAssign)
    if arithmetic or (not formulas_only and isinstance(node, ast.expr)):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _sites(child, formulas_only)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield node.operand
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in POWERS:
        yield operators.with_parts(node, func=ast.Attribute(node.func.value, POWERS[node.func.attr], ast.Load()))
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED:
        yield operators.with_parts(node, op=SWAPPED[type(node.op)]())
    if isinstance(node, ast.BinOp):
        for side in ("left", "right"):
            operand = getattr(node, side)
            if isinstance(operand, ast.Constant) and type(operand.value) in (int, float):
                yield operators.with_parts(node, **{side: ast.Constant(_nudged(operand.value))})


def _nudged(value: float) -> float:
    return value + 1 if isinstance(value, int) else (1.1 * value if value else 0.1)


def _become(node: ast.AST, other: ast.AST) -> None:
    """Turns a node into another one where it stands in the tree."""
    fields = dict(other.__dict__)
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update(fields)
