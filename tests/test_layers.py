"""Layers of the package: allowed imports, as contracts in pyproject.toml, and empty `__init__` files."""

import ast

from importlinter.cli import lint_imports
from tests.conftest import ROOT


def test_imports_satisfy_the_contracts_in_pyproject():
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True) == 0


def test_package_init_files_are_empty():
    files = (ROOT / "src/repdyn").rglob("*/__init__.py")  # the package itself offers its most used functions
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    assert [path for path, tree in trees.items() if len(tree.body) > (ast.get_docstring(tree) is not None)] == []
