"""The mutation audit itself: which mutants there are, that a caught one is caught and the unchanged code survives."""

import ast
from pathlib import Path

import pandas as pd
import pytest
from audits import mutation, named
from audits.bugs import AREAS

from repdyn.pipeline.mutations.audit import summary
from repdyn.pipeline.mutations.mutants import Mutant, mutants

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
    changes = [mutant.change for mutant in mutants(path)]
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
    names = [mutant.operator for mutant in mutants(path)]
    assert names == ["sign", "constant", "constant", "sign", "sign", "factor", "exponent", "constant", "exponent"]


def test_a_mutant_differs_from_the_module_in_its_one_place(tmp_path):
    path = tmp_path / "formula.py"
    path.write_text(FORMULA)
    original = ast.unparse(ast.parse(FORMULA))
    for mutant in mutants(path):
        before, after = mutant.change.split(" -> ")
        assert mutant.source == original.replace(before, after, 1)
        assert mutant.function == "f"


CODE = """
LIMIT = 3
NAMES = ("a", "b")

def f(data, stream, x, y):
    if x < LIMIT and not y:
        return sorted(data["first"])[0]
    z = data["last"][-1] if x in y else draw(x, y, color=RED, axis=0)
    return z.mean(dim="seed").max() == g(stream.child("trial", x), low=x, high=y, sort=True)[::-1]
"""


def test_other_code_is_changed_as_bugs_change_it(tmp_path):
    path = tmp_path / "code.py"
    path.write_text(CODE)
    changes = {tuple(mutant.change.split(" -> ")) for mutant in mutants(path, formulas_only=False)}
    assert {
        ("3", "4"),
        ("x < LIMIT and (not y)", "x < LIMIT or not y"),
        ("x < LIMIT", "x > LIMIT"),
        ("not y", "y"),
        ("sorted(data['first'])", "data['first']"),
        ("sorted(data['first'])[0]", "sorted(data['first'])[1]"),
        ("data['first']", "data['last']"),
        ("data['last'][-1]", "data['last'][0]"),
        ("x in y", "x not in y"),
        (
            "data['last'][-1] if x in y else draw(x, y, color=RED, axis=0)",
            "draw(x, y, color=RED, axis=0) if x in y else data['last'][-1]",
        ),
        ("RED", "ORANGE"),
        ("draw(x, y, color=RED, axis=0)", "draw(y, x, color=RED, axis=0)"),
        ("draw(x, y, color=RED, axis=0)", "draw(x, y, color=RED, axis=1)"),
        ("z.mean(dim='seed')", "z.max(dim='seed')"),
        ("z.mean(dim='seed')", "z.mean()"),
        ("z.mean(dim='seed').max()", "z.mean(dim='seed').min()"),
        ("stream.child('trial', x)", "stream.child('trial')"),
        (
            "g(stream.child('trial', x), low=x, high=y, sort=True)",
            "g(stream.child('trial', x), low=y, high=x, sort=True)",
        ),
        (
            "g(stream.child('trial', x), low=x, high=y, sort=True)",
            "g(stream.child('trial', x), low=x, high=y, sort=False)",
        ),
    } <= changes
    assert len({mutant.source for mutant in mutants(path, formulas_only=False)}) == len(
        list(mutants(path, formulas_only=False))
    ), "each mutant is another module"


def test_every_mutant_of_a_real_module_can_be_compiled():
    pairs = mutation.mutants_of("base/verdicts")
    assert len(pairs) > 10
    for site in pairs:
        compile(site.mutant.source, "mutant", "exec")


def test_tests_are_found_by_what_they_reach():
    tests = mutation.tests_by_definition("truncation_flow")
    names = [test.name for test in tests[(MODULE, "sector_pattern")]]
    assert "test_truncation.py" in names
    assert "test_staircase.py" not in [test.name for test in tests[(MODULE, "output_bias_as_printed")]]


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new", "caught"), [("X + beta", "X - beta", True), ("X + beta", "beta + X", False)])
def test_a_wrong_sign_is_caught_by_the_tests_and_an_equal_formula_is_not(old, new, caught):
    source = (mutation.ROOT / "src" / Path(*MODULE.split("."))).with_suffix(".py").read_text()
    assert old in source
    changed = Mutant("sector_pattern", 0, "", lambda: source.replace(old, new, 1))
    tests = [mutation.ROOT / "tests/truncation_flow/test_truncation.py"]
    by = mutation.fate(MODULE, changed, tests, None, 120).by
    assert by == ("test" if caught else "survived")


def test_the_summary_counts_what_was_caught():
    fates = pd.DataFrame({"fate": ["test"] * 17 + ["time", "claim", "untested", "import"], "seconds": 3.0})
    assert summary(fates) == "19 of 20 caught: 95.0% [75.1%, 99.9%], 1.1 minutes; 1 more cannot be imported"


def test_every_mutation_by_hand_changes_its_module():
    for bug in (bug for area in AREAS.values() for bug in area):
        changed = named.mutated(bug)
        assert changed != mutation.source_file(f"repdyn.{bug.module}").read_text(encoding="utf-8")
        compile(changed, bug.says, "exec")
