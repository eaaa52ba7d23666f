"""No claim may read another variable of the same shape in place of its own: some verdict at its borders would turn."""

import pytest
from tests.exchanged import unnoticed
from tests.truncation_flow.test_borders import CASES, CLAIMS, PRINTED, changed

from repdyn.base.errors import NotEnoughDataError

ALIKE = {  # exchanged without a change of any verdict, and why
    "tf-tau-fix": "the mismatch outside of the closed sector is only told",
    "tf-410": "each of two shares decides a reading; both are asked alone in test_borders",
    "tf-thm51-domain": "how often the domain acts is only told",
    "tf-82-reduction": "when sectors are lost is the same of both networks",
    "tf-stair-times": "a difference of two times, either way",
}
HYPOTHESES = {  # of the printed radius: values with which nothing is decided
    id: [{"radius_eta_0": 1.001}, {"radius_eta_1": 1.001}, {"radius_highest": 0.001}]
    for id in ("tf-prop42-s1", "tf-prop42-freeze")
}


@pytest.mark.parametrize("id", HYPOTHESES)
def test_an_example_that_does_not_meet_the_hypotheses_decides_nothing(id):
    for values in HYPOTHESES[id]:
        with pytest.raises(NotEnoughDataError, match="data that meet the hypotheses"):
            CLAIMS[id](*changed(CASES[id][0], **values))


@pytest.mark.parametrize("id", CASES)
def test_another_variable_of_the_same_shape_turns_a_verdict(id):
    world, _, variables = CASES[id]
    borders = [{name: value} for name, (inside, outside, _) in variables.items() for value in (inside, outside)]
    values = [{}, *borders, *HYPOTHESES.get(id, []), PRINTED.get(id, {})]
    found = unnoticed(CLAIMS[id], [changed(world, **value) for value in values])
    assert bool(found) == (id in ALIKE), found
