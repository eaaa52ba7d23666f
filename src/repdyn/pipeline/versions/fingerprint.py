"""Code versions: digests of a function's behavior, at the level of definitions.

Snakemake notices edits of rules, settings and files, but not of imported library code. Every job therefore carries
`code_version("repdyn.<study>.<module>:<function>", ...)`: a digest over all definitions (functions, classes,
constants, imports) on which the named ones depend within this package. Nothing is imported, files are only read;
`definitions` defines what counts.

- Imported names are resolved, also those of other packages; the manifest records the versions of these packages.
- Statements at the top of a module that do more than define (a call, an `if`, an assignment that calls for an effect)
  count for every definition of the module and of those that import it, in `__init__` files for all of the package.
- Where static analysis ends (a module used as a value, `importlib`, `eval`, a star import), the whole module counts,
  with all dotted names in its strings. Anything else that it loads must be named as a further root.
- Of models in modules named `settings...` methods and class variables count, each for code that imports the module and
  reads an attribute of that name: the rest of a model appears in its validated values, which are inputs of jobs.
  Everything else there counts as usual.

This analysis misses changes of a definition at run time: patches of other modules, registries filled by decorators,
tables filled elsewhere. Tests compare it with what jobs execute (tests/dag).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from repdyn.pipeline.versions.definitions import EFFECTS, Definition, ModuleSource, read_source

PACKAGE = __name__.split(".")[0]
SOURCE = Path(__file__).resolve().parents[3]

Location = tuple[str, str]
Outside = tuple[tuple[str, Path], ...]


def code_version(*roots: str, source: Path = SOURCE, outside: Outside = ()) -> str:
    """Digest of everything on which the roots depend, 16 hexadecimal digits.

    Args:
        roots: `"package.module:name"` for one definition, `"package.module"` for a whole module; where the module is
            a folder, the name is looked for in its modules and the whole is all of them.
        source: folder that holds the package.
        outside: further packages to be read, each with its folder.

    Raises:
        ValueError: a root is not a module of the package or not a definition of the module.
    """
    package = _package(source, outside)
    return package.digest(package.reach(roots))


def reached(*roots: str, source: Path = SOURCE, outside: Outside = ()) -> list[Location]:
    """All definitions on which the roots depend, sorted, as (module, name), without imported names.

    Args:
        roots: as of `code_version`.
        source: folder that holds the package.
        outside: further packages to be read, each with its folder.

    Raises:
        ValueError: a root is not a module of the packages or not a definition of the module.
    """
    package = _package(source, outside)
    return sorted((module, name) for module, name in package.reach(roots) if name in package.module(module).definitions)


class _Package:
    """The packages as read from their folders, each file once."""

    def __init__(self, source: Path, outside: Outside) -> None:
        self.source = source
        self.packages = {PACKAGE, *(name.split(".")[0] for name, _ in outside)}
        self.files = dict(_module_files(source / PACKAGE, PACKAGE))
        for name, folder in outside:
            self.files |= _module_files(folder, name)
        self.module = cache(self._module)
        self.uses = cache(self._uses)  # many roots depend on the same definitions
        self.effects = cache(self._effects)
        self.loaded = cache(self._loaded)

    def _module(self, name: str) -> ModuleSource:
        file = self.files[name]
        text, is_package = file.read_text(encoding="utf-8"), file.name == "__init__.py"
        return read_source(text, name, is_package=is_package, packages=self.packages)

    def definition(self, place: Location) -> Definition:
        source, name = self.module(place[0]), place[1]
        return source.definitions[name] if name in source.definitions else source.bindings[name]

    def reach(self, roots: Iterable[str]) -> set[Location]:
        todo = [place for root in roots for place in self.root(root)]
        seen: set[Location] = set()
        while todo:
            place = todo.pop()
            if place not in seen:
                seen.add(place)
                todo += self.uses(place)
        return seen

    def digest(self, places: Iterable[Location]) -> str:
        lines = (f"{module}:{name} {self.definition((module, name)).digest}" for module, name in sorted(places))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def root(self, root: str) -> list[Location]:
        name, _, wanted = root.partition(":")
        if name not in self.files:
            raise ValueError(f"code_version: no module {name!r} under {self.source}")
        modules = [name, *(inner for inner in self.files if inner.rpartition(".")[0] == name)]
        if not wanted:
            return [(module, defined) for module in modules for defined in self.module(module).definitions]
        homes = [module for module in modules if wanted in self.module(module).definitions]
        if len(homes) != 1:
            count = f"{len(homes)} definitions of" if homes else "no definition of"
            raise ValueError(f"code_version: {count} {wanted!r} in {', '.join(modules)}")
        return [(homes[0], wanted)]

    def whole(self, module: str) -> list[Location]:
        """All that a module defines or imports, including its star imports."""
        source = self.module(module)
        own = [(module, name) for name in (*source.definitions, *source.bindings)]
        return own + [place for star in source.stars if star in self.files for place in self.whole(star)]

    def _uses(self, place: Location) -> list[Location]:
        """Direct dependencies of a definition: names it uses, settings it reads, statements that run before it."""
        module, definition = place[0], self.definition(place)
        places = [(module, name) for name in definition.names]
        for target in definition.imported:
            places += self.resolve(target)
        if definition.dynamic:
            places += self.whole(module)
        for star in self.module(module).stars:
            places += self.whole(star) if star in self.files else []
        return places + self.effects(module) + self.members(module, definition.attributes)

    def resolve(self, target: str) -> list[Location]:
        """The definition of a dotted name of this package; the whole module if it cannot be resolved."""
        parts = target.split(".")
        home = next((".".join(parts[:n]) for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in self.files), None)
        if home is None:
            return []
        rest, source = parts[len(home.split(".")) :], self.module(home)
        if not rest or not (rest[0] in source.definitions or rest[0] in source.bindings):
            return self.whole(home)
        if rest[0] in source.definitions:
            return [(home, rest[0])]
        further = [".".join([bound, *rest[1:]]) for bound in source.bindings[rest[0]].imported]
        return [(home, rest[0]), *(place for bound in further for place in self.resolve(bound))]

    def members(self, module: str, attributes: frozenset[str] | None) -> list[Location]:
        """Members of settings models that a module reads by name; all of them if it reads one by a computed name."""
        return [
            (home, key)
            for home in self.loaded(module)
            for key, name in self.module(home).members.items()
            if attributes is None or name in attributes or (name.startswith("__") and name.endswith("__"))
        ]

    def _effects(self, module: str) -> list[Location]:
        """Top-level statements of a module and of all modules imported with it."""
        return [(name, EFFECTS) for name in self.loaded(module) if EFFECTS in self.module(name).definitions]

    def _loaded(self, module: str) -> list[str]:
        """A module and all modules of the package imported with it."""
        todo, seen = [module], set()
        while todo:
            name = todo.pop()
            if name in self.files and name not in seen:
                seen.add(name)
                todo += self.module(name).imports
            todo += [name.rpartition(".")[0]] if "." in name else []
        return sorted(seen)


def _module_files(folder: Path, package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*.py")):
        parts = (package, *path.relative_to(folder).with_suffix("").parts)
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def _package(source: Path, outside: Outside) -> _Package:
    return _Package(source, outside)
