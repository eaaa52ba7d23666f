"""Guards of many mutants at once: claims, figures and tables on drawn data, experiments on small settings."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from tests import drawn, small

from repdyn.base.fingerprint import reached
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.jobs import input_paths

MOST = 6  # of those that reach a definition
OF_BASE = ("bn_mean_field", "truncation_flow")  # what reaches a definition of `base` is looked for in these
KEPT = Path(tempfile.mkdtemp(prefix="small"))  # small experiments of unchanged code

Guard = tuple[str, str, str]  # study, kind, function or an experiment's file


def guards(package: str, definition: tuple[str, str]) -> list[Guard]:
    """Drawn claims, figures and tables and small experiments that reach a definition; a few where they are many."""
    studies = {"base": OF_BASE}.get(package, (package,) if package in STUDIES else ())
    every = [guard for study in studies for guard, reach in _guards_of(study) if definition in reach]
    return every[:: -(-len(every) // MOST)] if every else []


@cache
def _guards_of(study: str) -> list[tuple[Guard, frozenset[tuple[str, str]]]]:
    """Each guard of a study and what it reaches of the package."""
    shapes = _shapes(study)
    named = [((study, kind, name), name) for kind in drawn.KINDS for name in sorted(shapes[kind])]
    named += [((study, "experiments", file), member["function"]) for file, member in small.members(study).items()]
    return [(guard, frozenset(reached(f"repdyn.{study}.{name}"))) for guard, name in named]


@cache
def _shapes(study: str) -> dict[str, dict]:
    return drawn.read(study)


def notices(guard: Guard, folder: Path) -> bool:
    """Whether a guard shows something else than what was looked at; the folder holds what experiments read."""
    study, kind, name = guard
    try:
        of_data = kind == "experiments"
        shown = small.text_of(name, folder) if of_data else drawn.text_of(study, kind, name, _shapes(study))
    except Exception:
        return True
    wanted = drawn.golden(study, kind)[name]
    return len(shown) != len(wanted) or not all(map(drawn.alike, shown, wanted))


def notices_anew(guard: Guard) -> bool:
    """The same where an experiment's dataset is made again and those it reads are as unchanged code made them."""
    with tempfile.TemporaryDirectory() as folder:
        if guard[1] == "experiments":
            for file in input_paths([small.maker(guard[2])[1]]):
                (Path(folder) / file).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / file).symlink_to(KEPT / file)
        return notices(guard, Path(folder))
