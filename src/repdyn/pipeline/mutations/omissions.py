"""What bugs leave out or confuse: all but the first of several, a filter, a refusal, half a condition, a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repdyn.pipeline.mutations.operators import Change, tells_progress, with_parts

LEAVES = ast.Raise | ast.Return | ast.Continue | ast.Break
REPEATED = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
ENDLESS = {"count", "cycle", "repeat", "iter"}
UNNEEDED = {"abs", "copy", "deepcopy", "strip", "lower", "expanduser", "resolve", "dropna", "squeeze", "ravel"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def omissions(node: ast.AST) -> Iterator[Change]:
    """All changes of one node that leave a part of it out, each with its operator."""
    if isinstance(node, ast.For) and not _is_endless(node.iter):
        yield "several", with_parts(node, iter=_first_of(node.iter))
    if isinstance(node, REPEATED):
        yield from _of_a_comprehension(node)
    if isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], LEAVES):
        yield "refusal", ast.Pass()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not tells_progress(node.value):
        yield "step", ast.Pass()
    if isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            left = [*node.values[:place], *node.values[place + 1 :]]
            yield "operand", with_parts(node, values=left) if len(left) > 1 else left[0]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
        yield "end", with_parts(node, slice=ast.Constant(-1))
    if isinstance(node, ast.Call):
        yield from _without_a_call(node)


def exchanges(definition: ast.AST) -> Iterator[tuple[ast.Name, Change]]:
    """Each use of a parameter whose annotation another parameter of the function shares, with the next of these."""
    for function in ast.walk(definition):
        if not isinstance(function, Function):
            continue
        others = _alike(function.args)
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in others:
                    yield node, ("name", ast.Name(others[node.id], ast.Load()))


def _alike(arguments: ast.arguments) -> dict[str, str]:
    """The next parameter with the same annotation, for each that has one."""
    groups: dict[str, list[str]] = {}
    for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if one.annotation is not None:
            groups.setdefault(ast.unparse(one.annotation), []).append(one.arg)
    return {
        name: names[(place + 1) % len(names)]
        for names in groups.values()
        if len(names) > 1
        for place, name in enumerate(names)
    }


def _of_a_comprehension(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Iterator[Change]:
    for place, part in enumerate(node.generators):
        before, after = node.generators[:place], node.generators[place + 1 :]
        if not _is_endless(part.iter):
            yield "several", with_parts(node, generators=[*before, with_parts(part, iter=_first_of(part.iter)), *after])
        for index in range(len(part.ifs)):
            kept = [*part.ifs[:index], *part.ifs[index + 1 :]]
            yield "filter", with_parts(node, generators=[*before, with_parts(part, ifs=kept), *after])


def _without_a_call(node: ast.Call) -> Iterator[Change]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in UNNEEDED:
        owner = node.func.value
        is_module = isinstance(owner, ast.Name) and owner.id in ("np", "torch", "copy", "math")
        if not is_module and not node.args:
            yield "call", owner
        elif is_module and len(node.args) == 1:
            yield "call", node.args[0]
    elif isinstance(node.func, ast.Name) and node.func.id in UNNEEDED and len(node.args) == 1:
        yield "call", node.args[0]


def _first_of(several: ast.expr) -> ast.expr:
    every = ast.List([ast.Starred(several, ast.Load())], ast.Load())
    return ast.Subscript(every, ast.Slice(None, ast.Constant(1)), ast.Load())


def _is_endless(several: ast.expr) -> bool:
    called = several.func if isinstance(several, ast.Call) else None
    return getattr(called, "attr", getattr(called, "id", "")) in ENDLESS
