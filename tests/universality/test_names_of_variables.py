"""No claim may read another variable of the same shape in place of its own: some verdict at its borders would turn."""

import pytest
from tests.exchanged import unnoticed
from tests.universality.test_borders import CASES, CLAIMS, PRINTED, changed

ALIKE = {"uni-s41-large": "the printed limit is the constant A_high itself"}  # no verdict turns, and why


@pytest.mark.parametrize("id", CASES)
def test_another_variable_of_the_same_shape_turns_a_verdict(id):
    world, _, variables = CASES[id]
    values = [{}, *({name: value} for name, (*ends, _) in variables.items() for end in ends for value in end)]
    asked = [changed([world], **value) for value in values]
    found = unnoticed(CLAIMS[id], [*asked, *([[PRINTED[id]]] if id in PRINTED else [])])
    assert bool(found) == (id in ALIKE), found
