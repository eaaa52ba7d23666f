"""Which function reads and makes what: the graph of a study, read from its source without importing it.

An experiment, figure, table or claim names the datasets it reads as parameters. Rule inputs, the attributes "serves
figures / claims", docs/outputs.md and the report's links all derive from here.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from repdyn.base.errors import RepdynError
from repdyn.pipeline import studies
from repdyn.pipeline.packages import package_of
from repdyn.pipeline.run.execute.loading import FORMULA_CLAIM, calls, definition_name
from repdyn.pipeline.versions.fingerprint import SOURCE

DECORATORS = {"figures": "figure", "tables": "table"}
KINDS = ("experiments", *DECORATORS)
OFFERED = ("settings", "stream", "device", "checkpoint")
HIDDEN = ("_", "draw_")  # helpers, and functions that draw any dataset, for users' own networks
ORDER = "ORDER"  # name of a tuple in a study's figures or tables: the order of the paper


@dataclass(frozen=True)
class Function:
    """A function that makes a dataset, a figure or a table, or that decides a claim.

    Attributes:
        study: its study.
        package: the study's package, e.g. "repdyn.bn_decomposed".
        module: its module inside the study, e.g. "experiments.full_rank".
        name: its name; an experiment's dataset and a figure's files are called so.
        summary: first line of its docstring.
        reads: names of the datasets it takes, in order.
        parameters: all parameters, each with its annotation as text.
        claim: id of the claim it decides, else "".
    """

    study: str
    package: str
    module: str
    name: str
    summary: str
    reads: tuple[str, ...]
    parameters: dict[str, str] = field(hash=False)
    claim: str = ""

    @property
    def path(self) -> str:
        """`module:name` inside the study."""
        return f"{self.module}:{self.name}"

    @property
    def root(self) -> str:
        """The function as a root of its code version."""
        return f"{self.package}.{self.path}"


@dataclass(frozen=True)
class Study:
    """What a study consists of; figures and tables in the paper's order, claims as they are written."""

    name: str
    experiments: dict[str, Function]
    figures: dict[str, Function]
    tables: dict[str, Function]
    claims: dict[str, Function]

    def claims_of(self, *datasets: str) -> list[str]:
        """Ids of the claims that read any of the datasets."""
        return [id for id, check in self.claims.items() if set(check.reads) & set(datasets)]

    def figures_by_module(self) -> dict[str, list[Function]]:
        """Module's last name -> its figures: those that one job draws."""
        groups: dict[str, list[Function]] = {}
        for figure in self.figures.values():
            groups.setdefault(figure.module.split(".")[-1], []).append(figure)
        return groups


@cache
def read_study(study: str, source: Path = SOURCE) -> Study:
    """The graph of a study.

    Raises:
        RepdynError: there is no such study, or two functions of one kind share a name.
    """
    home(study, source)
    kinds = {kind: _functions(study, kind, source) for kind in KINDS}
    return Study(study, **kinds, claims=_claims(study, source))


def home(study: str, source: Path = SOURCE) -> tuple[str, Path]:
    """Package and folder of a study, below `source` or outside.

    Raises:
        RepdynError: there is no such study.
    """
    if (source / "repdyn" / study).is_dir():
        return f"repdyn.{study}", source / "repdyn" / study
    if study not in studies.declared():
        raise RepdynError(f"no study {study!r} under {source / 'repdyn'}")
    return package_of(study), studies.folders()[study]


def modules(study: str, package: str, source: Path = SOURCE) -> list[tuple[str, Path]]:
    """Name inside the study and file of a study's module, or of all modules where it is a package."""
    base = home(study, source)[1]
    if (base / f"{package}.py").is_file():
        return [(package, base / f"{package}.py")]
    paths = [path for path in sorted((base / package).rglob("*.py")) if path.name != "__init__.py"]
    return [(".".join(path.relative_to(base).with_suffix("").parts), path) for path in paths]


def _functions(study: str, kind: str, source: Path) -> dict[str, Function]:
    functions: dict[str, Function] = {}
    place = study, home(study, source)[0]
    order: list[str] = []
    for module, path in modules(study, kind, source):
        for node in statements(path):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == ORDER:
                order = list(ast.literal_eval(node.value))
            elif isinstance(node, ast.FunctionDef) and _makes(node, kind):
                if node.name in functions:
                    raise RepdynError(f"{study}: {node.name} is defined in {functions[node.name].module} and {module}")
                functions[node.name] = _function(place, module, node)
    if unknown := [name for name in order if name not in functions]:
        raise RepdynError(f"{study}: {ORDER} of {kind} names {', '.join(unknown)}, which no module defines")
    return {name: functions[name] for name in dict.fromkeys([*order, *functions])}


def _claims(study: str, source: Path) -> dict[str, Function]:
    functions: dict[str, Function] = {}
    package = home(study, source)[0]
    for module, path in modules(study, "claims", source):
        place = (study, package), module
        for node in statements(path):
            if isinstance(node, ast.FunctionDef) and (
                call := next((part for part in node.decorator_list if calls(part, "claim")), None)
            ):
                id = ast.literal_eval(call.args[0])
                functions[id] = _function(*place, node, claim=id)
            elif isinstance(node, ast.Assign) and calls(node.value, FORMULA_CLAIM):
                row = _row(*place, node, node.value)
                functions[row.claim] = row
    return functions


def _row(study: tuple[str, str], module: str, node: ast.Assign, call: ast.Call) -> Function:
    """A claim without a function of its own: what it reads stands first in its `audit`."""
    says = {keyword.arg: keyword.value for keyword in call.keywords}
    audit, id = says["audit"], ast.literal_eval(call.args[0])
    if not isinstance(audit, ast.Tuple) or not isinstance(audit.elts[0], ast.Constant):
        raise RepdynError(f"{'.'.join((study[1], module))}: audit of {id} begins with the name of a dataset, as text")
    reads = (str(audit.elts[0].value),)
    summary = str(ast.literal_eval(says["decided"]))
    return Function(*study, module, definition_name(node), summary, reads, dict.fromkeys(reads, "xr.Dataset"), id)


def statements(path: Path) -> list[ast.stmt]:
    """Statements at the top of a module's file, read again where it has changed."""
    return _tree(path, path.stat().st_mtime_ns).body


@cache
def _tree(path: Path, _changed: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _function(study: tuple[str, str], module: str, node: ast.FunctionDef, *, claim: str = "") -> Function:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    annotations = {arg.arg: ast.unparse(arg.annotation) if arg.annotation else "" for arg in arguments}
    reads = tuple(name for name, kind in annotations.items() if claim or "xr.Dataset" in kind)
    summary = (ast.get_docstring(node) or "").split("\n")[0]
    return Function(*study, module, node.name, summary, reads, annotations, claim)


def _makes(node: ast.FunctionDef, kind: str) -> bool:
    if node.name.startswith(HIDDEN):
        return False
    if kind in DECORATORS:
        return any(calls(decorator, DECORATORS[kind]) for decorator in node.decorator_list)
    return node.returns is not None and ast.unparse(node.returns) == "xr.Dataset"
