"""The mutation audit itself: which mutants there are, that a caught one is caught and the unchanged code survives."""

import ast
from pathlib import Path

import pandas as pd
import pytest
from audits import mutation
from audits.mutants import Mutant, mutants

FORMULA = '''
"""Module."""
import numpy as np

RATE = 2 * 3


def f(x, n=1 + 1):
    """Says minus x."""
    if n < 2 - 1:
        raise ValueError(f"{n - 1}")
    return -x + np.sqrt(n) * 0.5**2
'''
MODULE = "repdyn.truncation_flow.theory.truncation"


def test_every_sign_factor_constant_and_exponent_of_a_formula_is_changed_once(tmp_path):
    path = tmp_path / "formula.py"
    path.write_text(FORMULA)
    changes = [one.change for one in mutants(path)]
    assert changes == [
        "2 - 1 -> 2 + 1",
        "2 - 1 -> 3 - 1",
        "2 - 1 -> 2 - 2",
        "-x + np.sqrt(n) * 0.5 ** 2 -> -x - np.sqrt(n) * 0.5 ** 2",
        "-x -> x",
        "np.sqrt(n) * 0.5 ** 2 -> np.sqrt(n) / 0.5 ** 2",
        "np.sqrt(n) -> np.cbrt(n)",
        "0.5 ** 2 -> 0.55 ** 2",
        "0.5 ** 2 -> 0.5 ** 3",
    ]


def test_a_mutant_differs_from_the_module_in_its_one_place(tmp_path):
    path = tmp_path / "formula.py"
    path.write_text(FORMULA)
    original = ast.unparse(ast.parse(FORMULA))
    for one in mutants(path):
        before, after = one.change.split(" -> ")
        assert one.source == original.replace(before, after, 1)
        assert one.function == "f"


def test_tests_are_found_by_what_they_reach():
    found = mutation.tests_by_definition("truncation_flow")
    names = [test.name for test in found[(MODULE, "sector_pattern")]]
    assert "test_truncation.py" in names
    assert "test_staircase.py" not in [test.name for test in found[(MODULE, "output_bias_as_printed")]]


@pytest.mark.parametrize(("old", "new", "caught"), [("X + beta", "X - beta", True), ("X + beta", "beta + X", False)])
def test_a_wrong_sign_is_caught_by_the_tests_and_an_equal_formula_is_not(old, new, caught):
    source = (mutation.ROOT / "src" / Path(*MODULE.split("."))).with_suffix(".py").read_text()
    assert old in source
    changed = Mutant("sector_pattern", 0, "", source.replace(old, new, 1))
    tests = [mutation.ROOT / "tests/truncation_flow/test_truncation.py"]
    by, _ = mutation.fate(MODULE, changed, tests, Path("no-results"), 120)
    assert by == ("test" if caught else "claim")  # without results the second stage cannot end well


def test_the_summary_counts_what_was_caught():
    found = pd.DataFrame({"fate": ["test"] * 17 + ["time", "claim", "survived"], "seconds": 3.0})
    assert mutation.summary(found) == "19 of 20 caught: 95.0% [75.1%, 99.9%], 1.0 minutes"
