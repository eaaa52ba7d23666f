"""Code versions: digests of what a function does, at the level of definitions.

Snakemake notices edits of rules, settings and files, but not of imported library code. Every rule therefore
carries `code_version("repdyn.<study>.<module>:<function>", ...)` as a parameter: a hash over the source of all
definitions (functions, classes, constants) that the named ones reach by name through the modules of this package.
Nothing is imported, the files are only read.

What counts and what does not:

- Comments, docstrings, layout do not count: syntax trees are compared.
- Modules named `settings...` do not count: their validated values are rule parameters already.
- Statements at the top of a module that define nothing (a call, an `if`) count for every definition of it.
- Where static reading ends (a module handed on as a value, `importlib`, `eval`, a star import), the whole module
  counts. What such code loads at run time must be named as a further root.
- Other packages and data files do not count: versions stand in the manifest, files are inputs of rules.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = __name__.split(".")[0]
SOURCE = Path(__file__).resolve().parents[2]
EFFECTS = "<statements>"
DYNAMIC = {"importlib", "import_module", "__import__", "eval", "exec", "globals", "vars"}

Definition = tuple[str, str]


def code_version(*roots: str, source: Path = SOURCE) -> str:
    """Digest of everything the roots reach, 16 hexadecimal digits.

    Args:
        roots: `"package.module:name"` for one definition, `"package.module"` for a whole module; where the module is
            a folder, the name is looked for in its modules and the whole is all of them.
        source: folder that holds the package.

    Raises:
        ValueError: a root names no module of the package or no definition of the module.
    """
    text = "\n".join(
        f"{module}:{name}\n{_modules(source).text(module, name)}" for module, name in reached(*roots, source=source)
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def reached(*roots: str, source: Path = SOURCE) -> list[Definition]:
    """All definitions that the roots reach by name, sorted, as (module, name); see `code_version`."""
    package = _modules(source)
    todo = [definition for root in roots for definition in package.root(root)]
    seen: set[Definition] = set()
    while todo:
        definition = todo.pop()
        if definition not in seen:
            seen.add(definition)
            todo += package.uses(*definition)
    return sorted(seen)


class _Strip(ast.NodeTransformer):
    """Drops docstrings, of constants too; comments and layout are not in the tree anyway."""

    def _body(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
        return node

    visit_Module = visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _body  # noqa: N815


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class _Module:
    """Definitions and imports of one source file."""

    def __init__(self, name: str, path: Path) -> None:
        tree = _Strip().visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
        self.is_package = path.name == "__init__.py"
        self.name = name
        self.imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        self.definitions: dict[str, list[ast.stmt]] = {}
        for node in tree.body:
            for defined in _names_defined(node):
                self.definitions.setdefault(defined, []).append(node)


def _names_defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Pass):
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = [part.id for target in targets if target for part in ast.walk(target) if isinstance(part, ast.Name)]
    return names if names and isinstance(node, ast.Assign | ast.AnnAssign) else [EFFECTS]


class _Modules:
    """The package as read from one folder, each file once."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self._read: dict[str, _Module] = {}
        self.locate = cache(self._locate)
        self.text = cache(self._text)  # many roots reach the same definitions
        self.uses = cache(self._uses)

    def _locate(self, name: str) -> Path | None:
        base = self.source.joinpath(*name.split("."))
        return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)

    def counts(self, name: str) -> bool:
        bits = name.split(".")
        knobs = any(bit.startswith("settings") for bit in bits)
        return bits[0] == PACKAGE and not knobs and self.locate(name) is not None

    def module(self, name: str) -> _Module:
        if name not in self._read:
            self._read[name] = _Module(name, self.locate(name))
        return self._read[name]

    def root(self, root: str) -> list[Definition]:
        name, _, wanted = root.partition(":")
        if not self.counts(name):
            raise ValueError(f"code_version: no module {name!r} under {self.source}")
        rooms = [name, *self.inside(name)]
        if not wanted:
            return [definition for room in rooms for definition in self.whole(room)]
        homes = [room for room in rooms if wanted in self.module(room).definitions]
        if len(homes) != 1:
            found = f"{len(homes)} definitions of" if homes else "no definition of"
            raise ValueError(f"code_version: {found} {wanted!r} in {', '.join(rooms)}")
        return [(homes[0], wanted)]

    def inside(self, name: str) -> list[str]:
        """Modules of a folder, where `name` is one: a room that outgrew its file."""
        folder = self.source.joinpath(*name.split("."))
        return sorted(f"{name}.{path.stem}" for path in folder.glob("*.py") if path.stem != "__init__")

    def whole(self, name: str) -> list[Definition]:
        """All definitions of a module, and of those that it imports by a star."""
        own = [(name, defined) for defined in self.module(name).definitions]
        return own + [definition for star in self._stars(self.module(name)) for definition in self.whole(star)]

    def _text(self, name: str, defined: str) -> str:
        """A definition as code, without comments, docstrings and layout."""
        return "\n".join(ast.unparse(node) for node in self.module(name).definitions[defined])

    def _uses(self, name: str, defined: str) -> list[Definition]:
        """Definitions that one definition names, directly."""
        module = self.module(name)
        found = self.whole(name) if any(self._is_dynamic(node) for node in module.definitions[defined]) else []
        if EFFECTS in module.definitions:
            found.append((name, EFFECTS))
        for node in module.definitions[defined]:
            for dotted in _dotted_names(node):
                found += self._resolve(module, dotted)
        return found + [definition for star in self._stars(module) for definition in self.whole(star)]

    def _is_dynamic(self, node: ast.stmt) -> bool:
        return any(isinstance(part, ast.Name) and part.id in DYNAMIC for part in ast.walk(node))

    def _resolve(self, module: _Module, dotted: tuple[str, ...]) -> list[Definition]:
        """What a dotted name can mean: a definition of the module, and all that is imported under its first part."""
        head, *rest = dotted
        found = [(module.name, head)] if head in module.definitions else []
        for name, defined in self._imported(module).get(head, ()):
            found += self._follow(name, defined, rest)
        return found

    def _follow(self, name: str, defined: str | None, rest: list[str]) -> list[Definition]:
        while defined is None and rest and self.locate(f"{name}.{rest[0]}"):
            name, rest = f"{name}.{rest[0]}", rest[1:]
        if not self.counts(name):
            return []
        wanted = defined or (rest[0] if rest else None)
        return self._definition(name, wanted) if wanted else self.whole(name)

    def _definition(self, name: str, wanted: str) -> list[Definition]:
        """Where a name of a module is defined, through re-exports; the whole module where that cannot be read."""
        module = self.module(name)
        known = wanted in module.definitions or wanted in self._imported(module)
        return self._resolve(module, (wanted,)) if known else self.whole(name)

    def _stars(self, module: _Module) -> list[str]:
        """Modules of this package that a module imports by a star."""
        nodes = [node for node in module.imports if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"]
        return [base for base in (_base_of(module, node) for node in nodes) if self.counts(base)]

    def _imported(self, module: _Module) -> dict[str, list[tuple[str, str | None]]]:
        """Local name -> every (module, name within it or None for the module itself) that this package gives it."""
        found: dict[str, list[tuple[str, str | None]]] = {}
        for node in module.imports:
            for alias in node.names:
                local, *target = self._target(module, node, alias)
                if target[0].split(".")[0] == PACKAGE:
                    found.setdefault(local, []).append(tuple(target))
        return found

    def _target(
        self, module: _Module, node: ast.Import | ast.ImportFrom, alias: ast.alias
    ) -> tuple[str, str, str | None]:
        """Local name, module, and name within it or None, of one imported name."""
        if isinstance(node, ast.Import):
            top = alias.name.split(".")[0]
            return (alias.asname, alias.name, None) if alias.asname else (top, top, None)
        base = _base_of(module, node)
        inside, local = f"{base}.{alias.name}", alias.asname or alias.name
        return (local, inside, None) if self.locate(inside) else (local, base, alias.name)


def _base_of(module: _Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module
    here = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
    return ".".join(here[: len(here) - (node.level - 1)] + ([node.module] if node.module else []))


def _dotted_names(node: ast.AST) -> set[tuple[str, ...]]:
    """Names read in a piece of code, attribute chains kept together: `theory.kappa(x)` -> ("theory", "kappa")."""
    found: set[tuple[str, ...]] = set()

    def visit(part: ast.AST) -> None:
        chain: list[str] = []
        inner = part
        while isinstance(inner, ast.Attribute):
            chain.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            found.add((inner.id, *chain))
            return
        for child in ast.iter_child_nodes(part):
            visit(child)

    visit(node)
    return found


@cache
def _modules(source: Path) -> _Modules:
    return _Modules(source)
