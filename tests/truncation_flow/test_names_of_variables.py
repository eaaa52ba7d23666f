"""No claim may read another variable of the same shape in place of its own: some verdict of its borders would turn."""

import itertools

import numpy as np
import pytest
from tests.truncation_flow.test_borders import CASES, CLAIMS, PRINTED, changed

from repdyn.base.errors import RepdynError

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


def statuses(id, spoiled):
    """Verdicts of a claim in its world, at both sides of every border, where it holds as printed or is not decided."""
    worlds, _, variables = CASES[id]
    borders = [{name: value} for name, (inside, outside, _) in variables.items() for value in (inside, outside)]
    found = []
    for values in ({}, *borders, *HYPOTHESES.get(id, []), PRINTED.get(id, {})):
        try:
            found.append(CLAIMS[id](*spoiled(list(changed(worlds, **values)))).status)
        except (RepdynError, ValueError, KeyError) as error:
            found.append(type(error).__name__)
    return found


def replaced(place, name, other):
    """Datasets of which one has another variable under a name, or none."""

    def spoiled(datasets):
        data = datasets[place]
        datasets[place] = data.assign({name: data[other].variable if other else np.nan * data[name].astype(float)})
        return datasets

    return spoiled


@pytest.mark.parametrize("id", CASES)
def test_another_variable_of_the_same_shape_turns_a_verdict(id):
    worlds = CASES[id][0]
    right, unseen = statuses(id, list), []
    for place, data in enumerate(worlds if isinstance(worlds, tuple) else (worlds,)):
        read = [name for name in data.data_vars if statuses(id, replaced(place, name, "")) != right]
        for name, other in itertools.product(read, data.data_vars):
            if (
                name != other
                and data[name].dims == data[other].dims
                and data[name].dtype.kind == data[other].dtype.kind
            ):
                unseen += [f"{other} for {name}"] if statuses(id, replaced(place, name, other)) == right else []
    assert bool(unseen) == (id in ALIKE), unseen
