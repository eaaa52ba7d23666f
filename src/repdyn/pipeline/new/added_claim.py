"""`python -m repdyn new --claim my-theorem-3`: a claim to be filled in, with its control, border test and verdict."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.base.files import write_text

IMPORTS = {
    "xr": "import xarray as xr",
    "claim": "from repdyn.base.claims import claim",
    "wrong_formula": "from repdyn.base.controls import wrong_formula",
    "Verdict": "from repdyn.base.verdicts import Verdict",
}
CLAIM = '''

def with_wrong_{name}({data}: xr.Dataset) -> xr.Dataset:
    """Data in which the statement is false, computed from those of the run."""
    raise NotImplementedError("{id}: write its control")


@claim(
    "{id}",
    where="section, then theorem, equation or figure",
    kind="identity",
    states="The statement in one sentence.",
    control=wrong_formula("what is wrong in these data", with_wrong_{name}),
)
def {name}({data}: xr.Dataset) -> Verdict:
    """How it is decided."""
    raise NotImplementedError("{id}: decide it: the size of the region and the reason, before you see the numbers")
'''
TEST = '''"""The claim {id} on data just inside and just outside its region."""

import pytest
from {study}.claims import {name}


@pytest.mark.parametrize(("error", "verdict"), [(0.9, "holds"), (1.1, "does not hold")])
def test_{name}_at_the_border(error, verdict):
    data = pytest.fail("{id}: data whose error is this multiple of the tolerance")
    assert {name}(data).status == verdict
'''


def write(id: str, project: Path) -> list[Path]:
    """Adds a claim to a project's only study; run and tests fail until it is filled in.

    Args:
        id: the new claim's id, e.g. "my-theorem-3".
        project: folder of the project.

    Returns:
        The files that were written or extended.

    Raises:
        ConfigError: the id is not valid or exists, the folder has no study or several, or the test's file exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", id):
        raise ConfigError(f"{id!r} is no id for a claim: small letters and digits, joined by hyphens: my-theorem-3")
    found = sorted(project.glob("src/*/claims.py"))
    if len(found) != 1:
        names = ", ".join(path.parent.name for path in found) or "none"
        raise ConfigError(f"{project / 'src'}: a claim is added to a project's only study with a claims.py: {names}")
    claims, study = found[0], found[0].parent.name
    verdicts, text = claims.with_name("verdicts.yaml"), claims.read_text(encoding="utf-8")
    name = id.partition("-")[2].replace("-", "_")
    name = name if name.isidentifier() else f"claim_{name}"
    test = project / "tests" / f"test_{name}.py"
    tree = ast.parse(text)
    if f'"{id}"' in text or any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body):
        raise ConfigError(f"{claims}: has {id!r} or a function {name!r} already")
    if test.exists():
        raise ConfigError(f"{test}: exists; choose another id")
    read = next(
        (node.args.args[0].arg for node in tree.body if isinstance(node, ast.FunctionDef) and node.args.args), "data"
    )
    values = {"id": id, "name": name, "study": study, "data": read}
    accepted = verdicts.read_text(encoding="utf-8") if verdicts.exists() else ""
    accepted += "" if not accepted or accepted.endswith("\n") else "\n"
    write_text(claims, _with_imports(text, tree).rstrip() + "\n" + CLAIM.format(**values))
    write_text(verdicts, f"{accepted}{id}: {{verdict: holds, undecided_at: []}}\n")
    write_text(test, TEST.format(**values))
    return [claims, verdicts, test]


def _with_imports(text: str, tree: ast.Module) -> str:
    """A module's text with the imports that a claim needs, after its last one."""
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    known = {alias.asname or alias.name for node in imports for alias in node.names}
    missing = [line for name, line in IMPORTS.items() if name not in known]
    lines = text.splitlines()
    end = imports[-1].end_lineno if imports else (tree.body[0].end_lineno if ast.get_docstring(tree) else 0)
    return "\n".join([*lines[:end], *missing, *lines[end:]])
