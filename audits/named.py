"""Mutations of the kind that real bugs are, by hand: which guard or test notices each of them first.

python -m audits.named                 # all, in 20 minutes on one core; a table as in docs/audits.md
python -m audits.named checkpoints rules
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from audits import mutation
from audits.bugs import AREAS, SEVERAL, Named
from audits.guards import KEPT, guards
from audits.mutation import ROOT, fate, source_file, tests_by_definition
from repdyn.pipeline.mutations.mutants import Mutant


def mutated(bug: Named) -> str:
    """The module's source with the mutation.

    Raises:
        ValueError: what it changes is not there.
    """
    source = source_file(f"repdyn.{bug.module}").read_text(encoding="utf-8")
    begin = max(source.find(f"{word} {bug.function}") for word in ("def", "class")) if bug.function else 0
    begin = max(begin, 0)
    head, rest = source[:begin], source[begin:]
    for before, after in zip(bug.before.split(SEVERAL), bug.after.split(SEVERAL), strict=True):
        if before not in rest:
            raise ValueError(f"{bug.says}: {bug.module} has no {before!r}")
        rest = rest.replace(before, after, 1)
    return head + rest


def noticed(bug: Named, limit: int = 120) -> tuple[str, str]:
    """What became of a mutation, and the guard or test that noticed it first."""
    module, package = f"repdyn.{bug.module}", bug.module.split(".")[0]
    definition = (module, bug.function)
    named = guards(package, definition) if bug.function else guards_of_module(package, module)
    tests = [ROOT / "tests" / test for test in bug.tests] or tests_by_definition(package).get(definition, [])[:3]
    outcome = fate(module, Mutant(bug.function, 0, bug.says, lambda: mutated(bug)), tests, None, limit, named)
    return outcome.by, outcome.first


def guards_of_module(package: str, module: str) -> list[tuple[str, str, str]]:
    """Guards of any definition of a module."""
    names = mutation.definitions_of(module)
    return list(dict.fromkeys(guard for name in names for guard in guards(package, (module, name))))


def main(arguments: Iterable[str] | None = None) -> None:
    """Prints a table of areas, mutations and what notices them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*", default=list(AREAS), help=", ".join(AREAS))
    parser.add_argument("--words", default="", help="those alone whose description holds these words")
    options = parser.parse_args(arguments)
    mutation.warm_up()
    for area in options.areas:
        for bug in (bug for bug in AREAS[area] if options.words in bug.says):
            by, first = noticed(bug)
            print(f"| {area} | {bug.says} | `{bug.module}` | {by} | {shortened(first)} |", flush=True)
    mutation.clean_up(KEPT)


def shortened(first: str) -> str:
    """A test's name without the path of this checkout."""
    return first.replace(f"{ROOT}/", "").replace("tests/", "")


if __name__ == "__main__":
    main()
