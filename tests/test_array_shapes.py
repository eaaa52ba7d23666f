"""Signatures of the theory tell the shapes of arrays, and the functions keep what is told."""

import ast
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from tests import checked_shapes
from tests.conftest import ROOT

SAID = '''
def scaled(matrix: Float[Array, "k n"], by: Float[Array, " n"]) -> Float[Array, "k n"]:
    """"""
'''


@pytest.mark.parametrize("study", checked_shapes.STUDIES)
def test_no_array_of_a_signature_is_without_a_shape(study):
    without = [
        f"{module}.{name}: {parameter}"
        for module, tree in checked_shapes.theory(study)
        for name, node in checked_shapes.public_functions(tree)
        for parameter, annotation in checked_shapes.annotations(node).items()
        if _is_bare(annotation)
    ]
    assert without == [], 'write Float[Array, "k n"], see repdyn.base.arrays'


@pytest.mark.parametrize(
    ("annotation", "is_bare"),
    [
        ("Array", True),
        ("tuple[Array, float]", True),
        ("np.ndarray | None", True),
        ('Float[Array, "k n"]', False),
        ('tuple[Float[Array, " n"], float]', False),
        ("float", False),
    ],
)
def test_a_bare_array_is_found(annotation, is_bare):
    assert _is_bare(ast.parse(annotation, mode="eval").body) is is_bare


@pytest.mark.parametrize(
    ("matrix", "by", "result", "wrong"),
    [
        ((2, 3), (3,), (2, 3), ""),
        ((2, 3), (2,), (2, 3), "by has shape (2,)"),
        ((2, 3), (3,), (3, 2), "the result has shape (3, 2)"),
        ((3,), (3,), (3,), "matrix has shape (3,)"),
    ],
)
def test_a_call_that_contradicts_its_signature_is_told(matrix, by, result, wrong):
    called, found = checked_shapes.Counter(), []
    node = ast.parse(SAID).body[0]

    def scaled(matrix, by):
        return np.zeros(result)

    held = checked_shapes.checked(scaled, node, "scaled", called, found)
    if wrong:
        with pytest.raises(checked_shapes.WrongShape):
            held(np.zeros(matrix), np.zeros(by))
        assert wrong in found[0]
    else:
        held(np.zeros(matrix), np.zeros(by))
        assert (found, called["scaled"]) == ([], 1)


@pytest.mark.slow
@pytest.mark.parametrize("study", checked_shapes.STUDIES)
def test_functions_keep_the_shapes_of_their_signatures(study, tmp_path):
    """The tests that import a study's theory, with every call held to the signature."""
    found = tmp_path / "shapes.json"
    imports = re.compile(rf"from repdyn\.{study}(\.theory| import theory)")
    files = [
        str(path) for path in sorted((ROOT / "tests" / study).glob("test_*.py")) if imports.search(path.read_text())
    ]
    arguments = ["-p", "tests.checked_shapes", "--shapes", str(found), "-p", "no:cacheprovider", "-q", "-n", "0"]
    subprocess.run([sys.executable, "-m", "pytest", *arguments, *files], cwd=ROOT, capture_output=True, check=False)
    said = json.loads(found.read_text(encoding="utf-8"))
    told = [
        f"{module}.{name}"
        for module, tree in checked_shapes.theory(study)
        for name, node in checked_shapes.public_functions(tree)
        if any(map(checked_shapes.has_shapes, checked_shapes.annotations(node).values()))
    ]
    assert said["wrong"] == []
    assert len(set(told) - set(said["called"])) < len(told) / 10, "few of them are called in other tests alone"


def _is_bare(annotation: ast.AST) -> bool:
    """Whether an array stands in an annotation without its shape."""
    if isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") in checked_shapes.KINDS:
        return False
    name = getattr(annotation, "id", getattr(annotation, "attr", ""))
    return name in ("Array", "ndarray") or any(map(_is_bare, ast.iter_child_nodes(annotation)))
