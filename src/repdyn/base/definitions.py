"""What one source file defines: a digest of each definition and the names by which it reaches others.

A digest is taken of the syntax tree with names replaced by what they stand for: `np.linalg.norm` reads
"numpy.linalg.norm" whatever the import calls it, a local variable is a number. So another function imported under an
old name is an edit; a comment, a docstring, layout, an annotation of a function or a renamed local variable is none.
Parameters, attributes and fields keep their names, since they are used by name elsewhere. Annotations of parameters
count in modules named `experiments`, whose values the runner coerces by them.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

EFFECTS = "<statements>"
LOADERS = ("importlib", "pkgutil", "runpy")
DYNAMIC = {"__import__", "eval", "exec", "globals", "locals", "vars"}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
SKIPPED = {"ctx", "type_comment", "kind", "annotation", "returns"}
ACTS = re.compile(  # functions that are called for what they change, not for what they return
    r"set_\w+|seterr\w*|setattr|delattr|setLevel|seed|manual_seed|use|(register|enable|disable|patch)\w*|filterwarnings"
    r"|simplefilter|exec|update|append|extend|insert|add|pop|clear|putenv|chdir|umask"
)
PLAIN_BASES = {"Enum", "IntEnum", "StrEnum", "Flag", "NamedTuple", "TypedDict", "Protocol", "object"}
VALIDATES = re.compile(r".*(validator|serializer)")


class Definition(NamedTuple):
    """One definition: what counts of its text, and what it uses.

    Attributes:
        digest: of its code.
        names: definitions of its own module that it names.
        imported: dotted names that it uses of this package, as imported: "repdyn.base.tools.scaled".
        dynamic: whether it finds things at run time that reading does not see, so that its whole module counts.
        attributes: names of all attributes that it asks objects for; None where it asks for one by a value.
    """

    digest: str
    names: list[str]
    imported: list[str]
    dynamic: bool
    attributes: frozenset[str] | None = frozenset()


@dataclass
class ModuleSource:
    """Definitions of one file.

    Attributes:
        definitions: by name; statements that define nothing stand together under `EFFECTS`.
        bindings: imported names, which can be imported from here again.
        imports: modules of the package that it imports anywhere, or names in them.
        stars: modules that it imports by a star.
        members: methods and class variables of settings' models, `Model.name` -> the attribute by which they are used.
    """

    definitions: dict[str, Definition] = field(default_factory=dict)
    bindings: dict[str, Definition] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)
    stars: list[str] = field(default_factory=list)
    members: dict[str, str] = field(default_factory=dict)


def read_source(text: str, module: str, *, is_package: bool = False, packages: Iterable[str] = ()) -> ModuleSource:
    """The definitions of a file.

    Args:
        text: its content.
        module: its dotted name, from which relative imports start.
        is_package: whether it is an `__init__` file.
        packages: further packages besides its own whose names are followed.

    Raises:
        SyntaxError: the file is no Python.
    """
    here = module.split(".") if is_package else module.split(".")[:-1]
    followed = {here[0], *packages}
    parts_of_name = set(module.split("."))
    is_settings = any(part.startswith("settings") for part in parts_of_name)
    statements: dict[str, list[ast.stmt]] = {}
    imports: list[ast.Import | ast.ImportFrom] = []
    body = ast.parse(text, module).body
    unread = _unread(body)
    for node in body:
        for name in _names_defined(node, unread):
            statements.setdefault(name, []).append(node)
        if not isinstance(node, FUNCTIONS | ast.ClassDef):
            imports += [part for part in ast.walk(node) if isinstance(part, ast.Import | ast.ImportFrom)]
    targets: dict[str, list[str]] = {}
    for name, target in (pair for node in imports for pair in _import_targets(node, here)):
        targets.setdefault(name, []).append(target)
    source = ModuleSource(stars=targets.pop("*", []))
    imported = {module for node in imports for module in _modules_imported(node, here)}
    own = set(statements)
    for name, parts in list(statements.items()):
        if is_settings and all(isinstance(part, ast.ClassDef) and _is_model(part) for part in parts):
            members = {f"{name}.{attribute}": (attribute, part) for attribute, part in _members(parts)}
            source.members |= {key: attribute for key, (attribute, _) in members.items()}
            statements |= {name: []} | {key: [part] for key, (_, part) in members.items()}
    for name, parts in statements.items():
        writer = _written(parts, _Writer(own, targets, here, followed, annotated="experiments" in parts_of_name))
        if writer.dynamic:  # what reads names at run time may read those of local variables
            writer = _written(
                parts, _Writer(own, targets, here, followed, renames=False, annotated="experiments" in parts_of_name)
            )
            writer.imported |= writer.texts
        imported |= writer.modules
        source.definitions[name] = Definition(
            _digest(writer.words),
            sorted(writer.names - {name}),
            sorted(writer.imported),
            writer.dynamic,
            None if writer.asks_by_value else frozenset(writer.attributes),
        )
    for name in targets.keys() - statements.keys():
        inside = [target for target in targets[name] if target.split(".")[0] in followed]
        source.bindings[name] = Definition(_digest(["import", *targets[name]]), [], inside, False)
    source.imports = sorted(module for module in imported if module.split(".")[0] in followed)
    return source


def _is_model(node: ast.ClassDef) -> bool:
    """Whether a class among the settings is a model of them, whose fields show in validated values."""
    bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases}
    return bool(bases - PLAIN_BASES)


def _members(models: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """What a model computes or holds for its class; fields, and the rules that they keep, are inputs of jobs."""
    for part in (part for model in models if isinstance(model, ast.ClassDef) for part in model.body):
        if isinstance(part, FUNCTIONS):
            decorators = {ast.unparse(decorator).split("(")[0] for decorator in part.decorator_list}
            if part.name != "problems" and not any(map(VALIDATES.fullmatch, decorators)):
                yield part.name, part
        elif isinstance(part, ast.AnnAssign) and "ClassVar" in ast.unparse(part.annotation):
            yield ast.unparse(part.target), part
        elif isinstance(part, ast.Assign):
            yield from ((name, part) for name in map(ast.unparse, part.targets) if name != "model_config")


def _unread(body: Iterable[ast.stmt]) -> set[str]:
    """Private names that a module binds at its top and never reads: what binds them is there for its effect."""
    names = [part for node in body for part in ast.walk(node) if isinstance(part, ast.Name)]
    read = {part.id for part in names if isinstance(part.ctx, ast.Load)}
    return {part.id for part in names if part.id.startswith("_") and part.id not in read}


def _acts(node: ast.Assign | ast.AnnAssign, names: Iterable[str], unread: set[str]) -> bool:
    """Whether an assignment does more than define: it calls something for its effect."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    called = [
        part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "") for part in calls
    ]
    return any(map(ACTS.fullmatch, called)) or bool(calls and set(names) <= unread)


def _names_defined(node: ast.stmt, unread: set[str]) -> list[str]:
    """Names that a statement at the top of a module defines, `EFFECTS` for one that does more than define."""
    if isinstance(node, FUNCTIONS | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) or _is_text(node) or _is_not_run(node):
        return []
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        plain = all(isinstance(part, ast.Name | ast.Tuple | ast.List | ast.Starred) for part in targets)
        effects = [] if plain and not _acts(node, names, unread) else [EFFECTS]
        return [*names, *_walruses(node), *effects]
    inside = [part for part in ast.walk(node) if isinstance(part, ast.stmt) and part is not node]
    defined = [name for part in inside for name in _names_defined(part, unread) if name != EFFECTS]
    return [EFFECTS, *dict.fromkeys([*_walruses(node), *defined])]


def _walruses(node: ast.stmt) -> list[str]:
    return [part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_not_run(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__": ...` or `if TYPE_CHECKING: ...`, without an else."""
    never = ("__name__ == '__main__'", "TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) in never


def _import_targets(node: ast.Import | ast.ImportFrom, here: list[str]) -> Iterator[tuple[str, str]]:
    """Local name and absolute dotted name of all that a statement imports; a star keeps the module's name."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            name = alias.asname or alias.name.split(".")[0]
            yield name, alias.name if alias.asname else name
            continue
        start = here[: len(here) + 1 - node.level] if node.level else []
        base = ".".join([*start, *([node.module] if node.module else [])])
        yield ("*", base) if alias.name == "*" else (alias.asname or alias.name, f"{base}.{alias.name}")


def _modules_imported(node: ast.Import | ast.ImportFrom, here: list[str]) -> list[str]:
    """Modules that a statement loads; of `from a import b` also a.b, which may be one."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [target for _, target in _import_targets(node, here)]


def _written(statements: Iterable[ast.stmt], writer: _Writer) -> _Writer:
    for node in statements:
        writer.visit(node)
    return writer


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


class _Writer(ast.NodeVisitor):
    """Writes a syntax tree as words, names resolved, and notes what is used.

    Args:
        own: names defined at the top of the module.
        targets: names imported there, with what each can stand for.
        here: the package that relative imports start from.
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
        renames: bool = True,
        annotated: bool = False,
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
            if re.fullmatch(rf"{self.here[0]}[\w.:]+", node.value):  # of what loads by name
                self.texts.add(node.value.replace(":", "."))

    def visit_arg(self, node: ast.arg) -> None:
        """A parameter, with its annotation where values are coerced by it."""
        self.words += ["arg", node.arg]
        if self.annotated and node.annotation and not self._scopes:
            self.visit(node.annotation)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not _is_text(node):
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
        """The word for a name; the definition it stands for, with the attributes that follow, is noted as used."""
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
        """A call; one that asks for an attribute by a value may ask for any."""
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
        self.modules.update(_modules_imported(node, self.here))
        self.words += ["import", *sorted(target for _, target in _import_targets(node, self.here))]

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
        """Parameters by name, their defaults outside, the body in a scope of its own."""
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
        """An annotated assignment: in a class the annotation may be read at run time, elsewhere it says nothing."""
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
        """What the names bound in a body stand for: what is imported, itself for functions, else a number."""
        scope: dict[str, str] = {}
        outer: set[str] = set()
        for name, word in _bound(body, self.here):
            if word is None:
                outer.add(name)
            elif name not in scope and name not in parameters:
                scope[name] = word or (f"local {len(self._scopes)} {len(scope)}" if self.renames else f"local {name}")
        return {name: word for name, word in scope.items() if name not in outer}


def _bound(nodes: Iterable[ast.AST], here: list[str]) -> Iterator[tuple[str, str | None]]:
    """Names that a body binds, in order, with a fixed word where there is one; None for names of outer scopes."""
    for node in nodes:
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            yield node.name, f"local {node.name}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((name, f"import {target}") for name, target in _import_targets(node, here))
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
