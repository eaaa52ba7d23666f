"""Mutants of a module: one sign, factor, constant or exponent changed, or what `operators` and `omissions` name."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeGuard

from repdyn.pipeline.mutations import omissions, operators
from repdyn.pipeline.mutations.operators import Change

SWAPPED: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
POWERS = {"sqrt": "cbrt", "square": "abs"}
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
UNTOUCHED = (ast.Assert, ast.arguments)
FORMULAS = ast.BinOp | ast.UnaryOp | ast.Call | ast.AugAssign
MESSAGES = (ast.Raise, ast.JoinedStr)  # are no formulas


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes:
        function: the definition at the top of the module that holds the change.
        line: line of the change.
        change: before and after, as code.
        write: gives the whole module, changed.
        operator: the kind of change, "sign", "exponent", "axis" and the like; nothing for one made by hand.
    """

    function: str
    line: int
    change: str
    write: Callable[[], str]
    operator: str = ""

    @property
    def source(self) -> str:
        """The whole module, changed."""
        return self.write()


def mutants(path: Path, *, formulas_only: bool = True) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its lines.

    Args:
        path: file of the module.
        formulas_only: whether only arithmetic is changed, as in theory; else also what `operators` and `omissions`
            name, in messages too, and numbers that stand as constants of the module.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for definition in tree.body:
        if not isinstance(definition, DEFINITIONS):
            if not formulas_only:
                yield from _constants(tree, definition)
            continue
        names = operators.keys(definition)
        sites = [site for part in definition.body for site in _sites(part, formulas_only)]
        for site in sorted(sites, key=lambda node: (node.lineno, node.col_offset)):
            for change in [*_changes(site), *(() if formulas_only else _of_code(site, names))]:
                yield _mutant(tree, site, change, definition.name)
        for site, change in () if formulas_only else omissions.exchanges(definition):
            yield _mutant(tree, site, change, definition.name)


def _of_code(site: ast.AST, names: Sequence[str]) -> Iterator[Change]:
    yield from operators.changes(site, names)
    yield from omissions.omissions(site)


def _constants(tree: ast.Module, statement: ast.stmt) -> Iterator[Mutant]:
    """Numbers that a statement at the top gives a name, each nudged."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    for part in ast.walk(statement.value):
        if isinstance(part, ast.Constant) and isinstance(target, ast.Name) and _is_number(part.value):
            nudged = ast.copy_location(ast.Constant(_nudged(part.value)), part)
            yield _mutant(tree, part, ("constant", nudged), target.id)


def _mutant(tree: ast.Module, site: ast.expr | ast.stmt, change: Change, name: str) -> Mutant:
    operator, changed = change
    shown = f"{_first_line(site)} -> {_first_line(ast.fix_missing_locations(copy.copy(changed)))}"
    return Mutant(name, site.lineno, shown, partial(_written, tree, site, changed), operator)


def _first_line(node: ast.AST) -> str:
    """Of a loop or a condition its head alone."""
    return ast.unparse(node).partition("\n")[0]


def _written(tree: ast.Module, site: ast.AST, changed: ast.AST) -> str:
    before = copy.copy(site)
    _become(site, changed)
    source = ast.unparse(ast.fix_missing_locations(tree))
    _become(site, before)
    return source


def _sites(node: ast.AST, formulas_only: bool) -> Iterator[ast.expr | ast.stmt]:
    untouched = (*UNTOUCHED, *MESSAGES) if formulas_only else UNTOUCHED
    if isinstance(node, untouched) or operators.tells_progress(node):
        return
    if isinstance(node, FORMULAS if formulas_only else ast.expr | ast.AugAssign | ast.For | ast.If | ast.Expr):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _sites(child, formulas_only)


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield "sign", node.operand
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in POWERS:
        power = ast.Attribute(node.func.value, POWERS[node.func.attr], ast.Load())
        yield "exponent", operators.with_parts(node, func=power)
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED:
        name = "sign" if isinstance(node.op, ast.Add | ast.Sub) else "factor"
        yield name, operators.with_parts(node, op=SWAPPED[type(node.op)]())
    if isinstance(node, ast.BinOp):
        for side in ("left", "right"):
            operand = getattr(node, side)
            if isinstance(operand, ast.Constant) and _is_number(operand.value):
                name = "exponent" if side == "right" and isinstance(node.op, ast.Pow) else "constant"
                yield name, operators.with_parts(node, **{side: ast.Constant(_nudged(operand.value))})


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) in (int, float)


def _nudged(value: float) -> float:
    return value + 1 if isinstance(value, int) else (1.1 * value if value else 0.1)


def _become(node: ast.AST, other: ast.AST) -> None:
    """Turns a node into another one where it stands in the tree."""
    fields = dict(other.__dict__)
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update(fields)
