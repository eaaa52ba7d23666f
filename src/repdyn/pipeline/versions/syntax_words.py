"""A syntax tree as words, names resolved: what `definitions` takes digests of."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

LOADERS = ("importlib", "pkgutil", "runpy")
DYNAMIC = {"__import__", "eval", "exec", "globals", "locals", "vars"}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
SKIPPED = {"ctx", "type_comment", "kind", "annotation", "returns"}


def import_targets(node: ast.Import | ast.ImportFrom, here: list[str]) -> Iterator[tuple[str, str]]:
    """Local name and absolute dotted name of everything a statement imports; for a star the module's name."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            name = alias.asname or alias.name.split(".")[0]
            yield name, alias.name if alias.asname else name
            continue
        start = here[: len(here) + 1 - node.level] if node.level else []
        base = ".".join([*start, *([node.module] if node.module else [])])
        yield ("*", base) if alias.name == "*" else (alias.asname or alias.name, f"{base}.{alias.name}")


def modules_imported(node: ast.Import | ast.ImportFrom, here: list[str]) -> list[str]:
    """Modules that a statement loads; for `from a import b` also a.b, which may be one."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [target for _, target in import_targets(node, here)]


def is_text(node: ast.AST) -> bool:
    """Whether a statement is only a text, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def written(statements: Iterable[ast.stmt], *names: Any, renames: bool, annotated: bool) -> _Writer:
    """Statements as words, and what they use; `names` and the other arguments as in `_Writer`."""
    writer = _Writer(*names, renames=renames, annotated=annotated)
    for node in statements:
        writer.visit(node)
    return writer


class _Writer(ast.NodeVisitor):
    """Writes a syntax tree as words with names resolved, and records what is used.

    Args:
        own: names defined at the top of the module.
        targets: names imported there, with their possible meanings.
        here: the package that relative imports start from.
        followed: packages whose names are recorded.
        renames: whether local variables become numbers.
        annotated: whether annotations of parameters count.
    """

    def __init__(
        self,
        own: set[str],
        targets: dict[str, list[str]],
        here: list[str],
        followed: set[str],
        *,
        renames: bool,
        annotated: bool,
    ) -> None:
        self.own, self.targets, self.here, self.followed = own, targets, here, followed
        self.renames, self.annotated = renames, annotated
        self.words: list[str] = []
        self.names: set[str] = set()
        self.imported: set[str] = set()
        self.modules: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: set[str] = set()
        self.asks_by_value = False
        self.dynamic = False
        self._scopes: list[dict[str, str]] = []
        self._in_class = False

    def generic_visit(self, node: ast.AST) -> None:
        """Writes one node and all below it."""
        self.words.append(type(node).__name__)
        self._fields(node)
        self.words.append(")")

    def _fields(self, node: ast.AST, *done: str) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None or name in SKIPPED or name in done or value == []:
                continue
            self.words.append(name)
            self._value(value)

    def _value(self, value: object) -> None:
        if isinstance(value, list):
            for part in value:
                self._value(part)
        elif isinstance(value, ast.AST):
            self.visit(value)
        else:
            self.words.append(repr(value))

    def visit_Constant(self, node: ast.Constant) -> None:
        self.words.append(repr(node.value))
        if isinstance(node.value, str):
            self.attributes.update([node.value] if node.value.isidentifier() else [])  # of getattr
            if re.fullmatch(rf"{self.here[0]}[\w.:]+", node.value):  # functions that load modules by name
                self.texts.add(node.value.replace(":", "."))

    def visit_arg(self, node: ast.arg) -> None:
        """A parameter, with its annotation if values are coerced by it."""
        self.words += ["arg", node.arg]
        if self.annotated and node.annotation and not self._scopes:
            self.visit(node.annotation)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not is_text(node):
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        self.words.append(self._resolve(node.id, []))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            chain.insert(0, inner.attr)
            inner = inner.value
        self.attributes.update(chain)
        self.dynamic |= "__subclasses__" in chain or "__globals__" in chain
        if isinstance(inner, ast.Name):
            self.words.append(self._resolve(inner.id, chain))
        else:
            self.visit(inner)
        self.words += ["." + part for part in chain]

    def _resolve(self, name: str, chain: list[str]) -> str:
        """The word for a name; its definition, with the attributes that follow, is recorded as used."""
        for scope in reversed(self._scopes):
            if name in scope:
                word = scope[name]
                if word.startswith("import "):
                    self._use(word.removeprefix("import "), chain)
                return word
        targets = self.targets.get(name, [])
        for target in targets:
            self._use(target, chain)
        if name in self.own:
            self.names.add(name)
        elif not targets:
            self.dynamic |= name in DYNAMIC
            self._use(f"builtins.{name}" if hasattr(builtins, name) else name, chain)
        return "import " + " ".join(targets) if targets else f"global {name}"

    def visit_Call(self, node: ast.Call) -> None:
        """A call; one that reads an attribute by a computed name may read any."""
        asks = isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) > 1
        self.asks_by_value |= asks and not isinstance(node.args[1], ast.Constant)
        self.generic_visit(node)

    def _use(self, target: str, chain: list[str]) -> None:
        parts = [*target.split("."), *chain]
        self.asks_by_value |= "attrgetter" in parts
        if parts[0] in self.followed:
            self.imported.add(".".join(parts))
        self.dynamic |= parts[0] in LOADERS and "metadata" not in parts
        self.dynamic |= parts[0] == "builtins" and parts[-1] in DYNAMIC
        self.dynamic |= parts[:2] == ["sys", "modules"]

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.modules.update(modules_imported(node, self.here))
        self.words += ["import", *sorted(target for _, target in import_targets(node, self.here))]

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.words += [type(node).__name__, node.name, "decorators"]
        self._value(node.decorator_list)
        self._called(node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.words.append("Lambda")
        self._called(node.args, [node.body])

    def _called(self, arguments: ast.arguments, body: Sequence[ast.AST]) -> None:
        """Parameters by name, their defaults outside, the body in a new scope."""
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters += [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
        self._fields(arguments)
        in_class, self._in_class = self._in_class, False
        names = {parameter.arg: f"parameter {parameter.arg}" for parameter in parameters}
        self._scopes.append(self._local(body, names) | names)
        self.words.append("body")
        self._value(body)
        self._scopes.pop()
        self._in_class = in_class
        self.words.append(")")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.words += ["ClassDef", node.name]
        in_class, self._in_class = self._in_class, True
        self._fields(node, "name")
        self._in_class = in_class
        self.words.append(")")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """An annotated assignment: in a class the annotation may be read at run time, elsewhere it has no effect."""
        if self._in_class:
            self.words.append("field")
            self.visit(node.annotation)
        if node.value:
            self.visit(ast.Assign([node.target], node.value))
        else:
            self.visit(node.target)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        first, *others = node.generators
        self.words.append(type(node).__name__)
        self.visit(first.iter)
        self._scopes.append(self._local([generator.target for generator in node.generators], {}))
        for generator in node.generators:
            self.words.append("async" if generator.is_async else "for")
            self.visit(generator.target)
            if generator in others:
                self.visit(generator.iter)
            self._value(generator.ifs)
        self._fields(node, "generators")
        self._scopes.pop()
        self.words.append(")")

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.words += ["Nonlocal", *(self._resolve(name, []) for name in node.names), ")"]

    def visit_ExceptHandler(self, node: ast.AST) -> None:
        """Patterns and exception handlers, which bind a name that is written as text."""
        self.words.append(type(node).__name__)
        bound = "rest" if isinstance(node, ast.MatchMapping) else "name"
        if name := getattr(node, bound):
            self.words += [bound, self._resolve(name, [])]
        self._fields(node, bound)
        self.words.append(")")

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = visit_ExceptHandler  # noqa: N815

    def _local(self, body: Iterable[ast.AST], parameters: Iterable[str]) -> dict[str, str]:
        """Meaning of the names bound in a body: the imported name, the name itself for functions, else a number."""
        scope: dict[str, str] = {}
        outer: set[str] = set()
        for name, word in _bound(body, self.here):
            if word is None:
                outer.add(name)
            elif name not in scope and name not in parameters:
                scope[name] = word or (f"local {len(self._scopes)} {len(scope)}" if self.renames else f"local {name}")
        return {name: word for name, word in scope.items() if name not in outer}


def _bound(nodes: Iterable[ast.AST], here: list[str]) -> Iterator[tuple[str, str | None]]:
    """Names that a body binds, in order, with a fixed word if there is one; None for names of outer scopes."""
    for node in nodes:
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            yield node.name, f"local {node.name}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((name, f"import {target}") for name, target in import_targets(node, here))
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from ((name, None) for name in node.names)
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node.id, ""
        elif isinstance(node, COMPREHENSIONS):
            yield from ((part.target.id, "") for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
        elif not isinstance(node, ast.Lambda):
            name = getattr(node, "rest" if isinstance(node, ast.MatchMapping) else "name", None)
            if isinstance(name, str) and isinstance(node, ast.ExceptHandler | ast.pattern):
                yield name, ""
            yield from _bound(ast.iter_child_nodes(node), here)
