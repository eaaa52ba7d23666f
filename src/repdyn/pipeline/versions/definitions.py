"""Definitions of one source file: a digest of each and the names of the definitions it depends on.

A digest is computed from the syntax tree with names resolved: `np.linalg.norm` becomes "numpy.linalg.norm" whatever its
import is called, and local variables become numbers. So another function imported under an old name is an edit; a
comment, a docstring, layout, an annotation of a function or a renamed local variable is not. Parameters, attributes and
fields keep their names, since they are used by name elsewhere. Annotations of parameters count in modules named
`experiments`, whose values the runner coerces by them.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from repdyn.pipeline.versions.syntax_words import FUNCTIONS, import_targets, is_text, modules_imported, written

EFFECTS = "<statements>"
ACTS = re.compile(  # functions that are called for what they change, not for what they return
    r"set_\w+|seterr\w*|setattr|delattr|setLevel|seed|manual_seed|use|(register|enable|disable|patch)\w*|filterwarnings"
    r"|simplefilter|exec|update|append|extend|insert|add|pop|clear|putenv|chdir|umask"
)
PLAIN_BASES = {"Enum", "IntEnum", "StrEnum", "Flag", "NamedTuple", "TypedDict", "Protocol", "object"}
VALIDATES = re.compile(r".*(validator|serializer)")


class Definition(NamedTuple):
    """One definition: a digest of its relevant text, and what it uses.

    Attributes:
        digest: of its code.
        names: definitions of its module that it uses.
        imported: dotted names that it uses of this package, as imported: "repdyn.base.tools.scaled".
        dynamic: whether it looks up names at run time, so that its whole module counts.
        attributes: names of all attributes that it reads; None if it reads one by a computed name.
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
        definitions: by name; statements that define nothing are under `EFFECTS`.
        bindings: imported names, which can be imported from this module.
        imports: modules of the package that it imports anywhere, or names in them.
        stars: modules that it star-imports.
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
        packages: further packages whose names are followed.

    Raises:
        SyntaxError: the file is not valid Python.
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
        if not isinstance(node, FUNCTIONS | ast.ClassDef) and not _is_not_run(node):
            imports += [part for part in ast.walk(node) if isinstance(part, ast.Import | ast.ImportFrom)]
    targets: dict[str, list[str]] = {}
    for name, target in (pair for node in imports for pair in import_targets(node, here)):
        targets.setdefault(name, []).append(target)
    source = ModuleSource(stars=targets.pop("*", []))
    imported = {module for node in imports for module in modules_imported(node, here)}
    own = set(statements)
    for name, parts in list(statements.items()):
        if is_settings and all(isinstance(part, ast.ClassDef) and _is_model(part) for part in parts):
            members = {f"{name}.{attribute}": (attribute, part) for attribute, part in _members(parts)}
            source.members |= {key: attribute for key, (attribute, _) in members.items()}
            statements |= {name: []} | {key: [part] for key, (_, part) in members.items()}
    for name, parts in statements.items():
        names, annotated = (own, targets, here, followed), "experiments" in parts_of_name
        writer = written(parts, *names, renames=True, annotated=annotated)
        if writer.dynamic:  # code that looks up names at run time may read local variables
            writer = written(parts, *names, renames=False, annotated=annotated)
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
    """Whether a class is a settings model, whose fields appear in validated values."""
    bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases}
    return bool(bases - PLAIN_BASES)


def _members(models: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Methods and class variables of a model; fields and their rules are inputs of jobs."""
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
    """Private names that a module binds but never reads, so that their statements exist for their effect."""
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
    """Names that a top-level statement defines, `EFFECTS` for one that does more than define."""
    if isinstance(node, FUNCTIONS | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) or is_text(node) or _is_not_run(node):
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


def _is_not_run(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__": ...` or `if TYPE_CHECKING: ...`, without an else."""
    never = ("__name__ == '__main__'", "TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) in never


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
