"""Changes of code as real bugs make them: comparison, axis, seed, index, order, names, arguments, statistics."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
Change = tuple[str, ast.AST]  # operator, what stands there instead

COMPARED: dict[type, type] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OTHER = {
    **{"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin", "nanmin": "nanmax", "nanmax": "nanmin"},
    **{"mean": "max", "median": "max", "all": "any", "any": "all", "std": "var", "sum": "mean", "cumsum": "cumprod"},
    **{"at_most": "at_least", "at_least": "at_most", "intersection": "union", "ceil": "floor", "floor": "ceil"},
}
ORDERING = {"sorted", "reversed", "sort", "unique", "flip"}
GUARDS = {"strict", "exist_ok", "parents", "check"}  # they change nothing while all is well
STYLE = {"linewidth", "markersize", "fontsize", "zorder", "capsize", "labelpad", "ncols"}  # of lines, marks, letters
STREAMS = {"child", "generator", "integer"}
COLORS = ("BLACK", "ORANGE", "SKY", "GREEN", "YELLOW", "BLUE", "RED", "PURPLE")


def changes(node: ast.AST, names: Sequence[str]) -> Iterator[Change]:
    """All changes of one node, each with its operator; `names` are the texts that the function uses as keys."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        yield "comparison", with_parts(node, ops=[COMPARED[type(node.ops[0])](), *node.ops[1:]])
    if isinstance(node, ast.BoolOp):
        yield "condition", with_parts(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "condition", node.operand
    if isinstance(node, ast.IfExp):
        yield "condition", with_parts(node, body=node.orelse, orelse=node.body)
    if isinstance(node, ast.Subscript):
        yield from _other_entry(node, names)
    if isinstance(node, ast.Name) and node.id in COLORS:
        yield "color", ast.Name(COLORS[(COLORS.index(node.id) + 3) % len(COLORS)], ast.Load())
    if isinstance(node, ast.Call):
        yield from _other_call(node)


def tells_progress(node: ast.AST) -> bool:
    """Whether a node is a call that only says how far a job is."""
    function = node.func if isinstance(node, ast.Call) else None
    owner = function.value if isinstance(function, ast.Attribute) else function
    return isinstance(owner, ast.Name) and owner.id in ("Progress", "progress")


def keys(function: ast.AST) -> list[str]:
    """Texts used as keys in a definition, in the order of the alphabet."""
    slices = (part.slice for part in ast.walk(function) if isinstance(part, ast.Subscript))
    return sorted({key.value for key in slices if isinstance(key, ast.Constant) and isinstance(key.value, str)})


def _other_entry(node: ast.Subscript, names: Sequence[str]) -> Iterator[Change]:
    """Another index, another key of the same function, a slice the other way."""
    entry = node.slice
    if isinstance(entry, ast.Constant) and type(entry.value) is int:
        yield "index", with_parts(node, slice=ast.Constant(entry.value + 1))
    elif isinstance(entry, ast.UnaryOp) and isinstance(entry.operand, ast.Constant):
        yield "index", with_parts(node, slice=ast.Constant(0))
    elif isinstance(entry, ast.Constant) and entry.value in names and len(names) > 1:
        yield "key", with_parts(node, slice=ast.Constant(names[(names.index(entry.value) + 1) % len(names)]))
    elif isinstance(entry, ast.Slice) and entry.step is not None:
        yield "order", with_parts(node, slice=with_parts(entry, step=None))


def _other_call(node: ast.Call) -> Iterator[Change]:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name in OTHER:
        yield "statistic", with_parts(node, func=_renamed(node.func, OTHER[name]))
    if name in ORDERING and len(node.args) == 1:
        yield "order", node.args[0]
    if name in STREAMS and node.args:
        yield "stream", with_parts(node, args=node.args[:-1])
    if len({part.id for part in node.args[:2] if isinstance(part, ast.Name)}) > 1:
        yield "arguments", with_parts(node, args=[node.args[1], node.args[0], *node.args[2:]])
    for place, keyword in enumerate(node.keywords):
        yield from _other_keyword(node, place, keyword)


def _other_keyword(node: ast.Call, place: int, keyword: ast.keyword) -> Iterator[Change]:
    before, after = node.keywords[:place], node.keywords[place + 1 :]
    value = keyword.value
    if keyword.arg in GUARDS | STYLE:
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        changed = with_parts(keyword, value=ast.Constant(not value.value))
        yield "option", with_parts(node, keywords=[*before, changed, *after])
    elif isinstance(value, ast.Constant) and type(value.value) is int:
        changed = with_parts(keyword, value=ast.Constant(value.value + 1))
        yield "option", with_parts(node, keywords=[*before, changed, *after])
    elif keyword.arg in ("axis", "dim", "where", "ddof", "keepdims", "skipna"):
        yield "axis", with_parts(node, keywords=[*before, *after])
    if after and len({part.id for part in (value, after[0].value) if isinstance(part, ast.Name)}) > 1:
        swapped = [with_parts(keyword, value=after[0].value), with_parts(after[0], value=value)]
        yield "arguments", with_parts(node, keywords=[*before, *swapped, *after[1:]])


def _renamed(function: ast.expr, name: str) -> ast.expr:
    return with_parts(function, attr=name) if isinstance(function, ast.Attribute) else ast.Name(name, ast.Load())


def with_parts(node: Node, **parts: object) -> Node:
    """A copy of a node with some parts replaced."""
    changed = copy.copy(node)
    for name, part in parts.items():
        setattr(changed, name, part)
    return changed
