"""What a statement at the top of a module defines, and whether it does more than define."""

import pytest

from repdyn.base.definitions import EFFECTS, read_source


@pytest.mark.parametrize(
    ("statement", "acts"),
    [
        ("KEPT = register(x)", True),
        ("KEPT = hooks.register(x)", True),
        ("KEPT: object = register(x)", True),
        ("KEPT = computed(x)", False),
        ("KEPT = hooks.computed(x)", False),
    ],
)
def test_an_assignment_that_calls_something_for_its_effect_has_one(statement, acts):
    """By its bare name as well as by an attribute, also where what it returns is read later."""
    source = read_source(f"x = 1\n{statement}\n\ndef kept():\n    return KEPT\n", "package.module")
    assert set(source.definitions) == {"x", "KEPT", "kept"} | ({EFFECTS} if acts else set())
    if acts:
        changed = read_source(f"x = 1\n{statement.replace('(x)', '(x, 2)')}\n", "package.module")
        assert changed.definitions[EFFECTS].digest != source.definitions[EFFECTS].digest
