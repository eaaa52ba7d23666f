"""No claim may read another variable of the same shape in place of its own: some verdict at its borders would turn."""

import pytest
from tests.exchanged import unnoticed
from tests.leaky_resnets.made_up import CLAIMS, CORRECTED, HOLDS, REFUTED, put
from tests.leaky_resnets.made_up_paths import ONE_PATH
from tests.leaky_resnets.test_borders import CASES, DOWN, NOT_COUNTED, PRINTED, UP, border


def world(id, changes, place=None):
    return put(CASES[id][0], changes, place)


def printed(id, changes):
    """A world in which the claim holds as printed, with variables changed in the last entry."""
    place, inside, _ = PRINTED[id]
    return put(world(id, inside, place), changes)


# claim: further worlds and their verdicts, where the borders of `test_borders` leave a variable as it is
MORE = {
    "lrn-prop1": [
        (printed("lrn-prop1", {"bound_printed": 2 * (1 + 0.99e-9)}), HOLDS),
        (printed("lrn-prop1", {"bound_printed": 2 * (1 + 1.01e-9)}), CORRECTED),
    ],
    "lrn-stable-rank": [
        (world("lrn-stable-rank", {"nuclear_rank": value}), status)
        for value, status in (
            (1.5 * (1 - 0.99e-12), HOLDS),
            (1.5 * (1 - 1.01e-12), REFUTED),
            (3 * (1 + 0.99e-12), HOLDS),
            (3 * (1 + 1.01e-12), REFUTED),
        )
    ],
    "lrn-prop5": [
        (world("lrn-prop5", {"bias_sq": 1 + 0.99e-3}, ONE_PATH), HOLDS),
        (world("lrn-prop5", {"bias_sq": 1 + 1.01e-3}, ONE_PATH), REFUTED),
    ],
    "lrn-thm4-upper": [
        (world("lrn-thm4-upper", changes | {f"{name}": size / factor}), status)
        for factor, status in ((UP, HOLDS), (DOWN, REFUTED))
        for name, size, changes in (
            ("0.upper", 0.5, {"0.middle": 0.5}),
            ("1.upper", 0.5, {"1.middle": 0.5}),
            ("momentum_sq", 0.5, {"scaled_hamiltonian": 3.5 + 0.1 * 0.5}),
        )
    ],
    "lrn-thm4-lower": [
        (world("lrn-thm4-lower", {"0.lower": -1 / UP}), CORRECTED),
        (world("lrn-thm4-lower", {"0.lower": -1 / DOWN}), REFUTED),
        (printed("lrn-thm4-lower", {"0.lower_printed": -1 / UP}), HOLDS),
        (printed("lrn-thm4-lower", {"0.lower_printed": -1 / DOWN}), CORRECTED),
    ],
    "lrn-thm4-speed": [(printed("lrn-thm4-speed", {"scaled_hamiltonian": 3.1}), CORRECTED)],
    "lrn-prop2-descent": [
        (world("lrn-prop2-descent", {"negative_mass": 1.01e-2, "slope": slope}, {"case": "large", "start": 7}), status)
        for slope, status in ((0.099, REFUTED), (0.101, HOLDS))
    ],
}


@pytest.mark.parametrize("id", MORE)
def test_a_claim_turns_at_further_borders(id):
    assert [CLAIMS[id](*worlds).status for worlds, _ in MORE[id]] == [status for _, status in MORE[id]]


@pytest.mark.parametrize("id", CASES)
def test_another_variable_of_the_same_shape_turns_a_verdict(id):
    worlds, _, rows = CASES[id]
    asked = [worlds, *(border(id, row, value) for row in rows for value in row[1:3])]
    asked += [more for more, _ in MORE.get(id, [])]
    if id in PRINTED:
        place, *values = PRINTED[id]
        asked += [put(worlds, value, place) for value in values]
    if id in NOT_COUNTED:
        asked.append(put(worlds, *NOT_COUNTED[id]))
    assert unnoticed(CLAIMS[id], asked) == []
