"""Code versions: digests of what a function does, at the level of definitions.

Snakemake notices edits of rules, settings and files, but not of imported library code. Every job therefore carries
`code_version("repdyn.<study>.<module>:<function>", ...)`: a digest over all definitions (functions, classes,
constants, imports) that the named ones reach by name through the modules of this package. Nothing is imported, the
files are only read; `definitions` says what counts of each.

- What an imported name stands for counts, of other packages too; what those packages do is told by their versions in
  the manifest.
- Statements at the top of a module that do more than define (a call, an `if`, an assignment that calls for an effect)
  count for every definition of the module and of those that import it, in `__init__` files for all of the package.
- Where static reading ends (a module handed on as a value, `importlib`, `eval`, a star import), the whole module
  counts, and what its texts name in full. What it loads besides must be named as a further root.
- Of models in modules named `settings...` methods and class variables count, each for what imports the module and asks
  for an attribute of that name: the rest of such a model shows in its validated values, which are inputs of jobs. What
  else stands there counts as usual.

This reading misses what other code does to a definition at run time: patches of other modules, registries filled by
decorators, tables of a module filled elsewhere. Tests compare what jobs execute with what is read (tests/dag).
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
    """Digest of everything the roots reach, 16 hexadecimal digits.

    Args:
        roots: `"package.module:name"` for one definition, `"package.module"` for a whole module; where the module is
            a folder, the name is looked for in its modules and the whole is all of them.
        source: folder that holds the package.
        outside: further packages to be read, each with its folder.

    Raises:
        ValueError: a root names no module of the package or no definition of the module.
    """
    package = _package(source, outside)
    return package.digest(package.reach(roots))


def reached(*roots: str, source: Path = SOURCE, outside: Outside = ()) -> list[Location]:
    """All definitions that the roots reach by name, sorted, as (module, name); imported names are left out.

    Args:
        roots: as of `code_version`.
        source: folder that holds the package.
        outside: further packages to be read, each with its folder.

    Raises:
        ValueError: a root names no module of the packages or no definition of the module.
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
        self.uses = cache(self._uses)  # many roots reach the same definitions
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
        """All that a module defines or imports, and what stands in the modules that it imports by a star."""
        source = self.module(module)
        own = [(module, name) for name in (*source.definitions, *source.bindings)]
        return own + [place for star in source.stars if star in self.files for place in self.whole(star)]

    def _uses(self, place: Location) -> list[Location]:
        """Definitions that one definition names, directly, what it asks settings for, statements that run before it."""
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
        """What a dotted name of this package stands for; all of a module where that cannot be read."""
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
        """Members of the settings' models a module can meet that are asked for by name; all where asked by a value."""
        return [
            (home, key)
            for home in self.loaded(module)
            for key, name in self.module(home).members.items()
            if attributes is None or name in attributes or (name.startswith("__") and name.endswith("__"))
        ]

    def _effects(self, module: str) -> list[Location]:
        """Statements at the top of a module and of all that are imported with it."""
        return [(name, EFFECTS) for name in self.loaded(module) if EFFECTS in self.module(name).definitions]

    def _loaded(self, module: str) -> list[str]:
        """A module and all of the package that are imported with it."""
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
