"""No claim may read another variable of the same shape in place of its own: some verdict at its borders would turn."""

import pytest
from tests.bn_decomposed import test_borders_layers as of_layers
from tests.bn_decomposed import test_borders_theorems as of_theorems
from tests.bn_decomposed.deciding import changed, on
from tests.bn_decomposed.made_up_layers import layers, rests
from tests.bn_decomposed.made_up_theorems import limits, rows
from tests.bn_decomposed.test_borders import (
    ABLATED,
    CLAIMS,
    DEEP_ENOUGH,
    HOLDS,
    READING,
    READINGS,
    REFUTED,
    cause,
    quiet,
)
from tests.bn_decomposed.test_borders_layers import TWO
from tests.bn_decomposed.test_borders_sampled import MEANS, SHARES, around, hit, share_ends
from tests.bn_decomposed.test_borders_theorems import CIRCLES, OUTSIDE_ONE_EXTREME, RANKS, ROWS, TREE, with_a_tie
from tests.exchanged import unnoticed

ALIKE = {"bnd-thm14-hyp": "of the squares the closed forms alone decide"}  # exchanged without a change, and why
BY_COLUMN = rows(by_column=0.25).isel(batch=[0, 0, 1, 1], wait_batch=[0, 0])  # twice the bound of the theorem
ALL = slice(None)


def at(world, place, value, *names):
    """A world with the same place of several variables at a value."""
    for name in names:
        world = changed(world, name, place, value)
    return world


# claim: further worlds and their verdicts, where the borders leave a variable as it is
MORE = {
    "bnd-thm3-mean": [(at([BY_COLUMN], 1, 10.01 * of_theorems.SCATTER, "y"), REFUTED)],
    "bnd-cor4": [
        (at([BY_COLUMN, CIRCLES], -1, 10.01 * of_theorems.SCATTER, "y"), REFUTED),
        (at([ROWS, CIRCLES], 3, 6, "rank_cells", "rank_sampled", "rank_lines"), REFUTED),
    ],
    "bnd-e4-columns": [(at([BY_COLUMN], 1, 19.99 * of_theorems.SCATTER, "y"), HOLDS)],
    "bnd-thm3-hyp": [
        (at([RANKS], 1, 7, "rank_cells", "rank_sampled", "rank_lines"), REFUTED),  # of six points
        (at([RANKS], ALL, 0, "pairs_given"), HOLDS),
        (at([RANKS], 3, 6, "rank_cells", "rank_sampled", "rank_lines"), REFUTED),
    ],
    "bnd-excess": [(on(with_a_tie(TREE)), HOLDS)],
    "bnd-thm11-sharp": [
        (changed([world], variable, of_theorems.LAST, value(1 + excess)), status)
        for world, variable, value in OUTSIDE_ONE_EXTREME.values()
        for excess, status in ((0.99e-9, HOLDS), (1.01e-9, REFUTED))
    ],
    "bnd-thm11-which": [(at([limits()], ALL, 0, "longer_is_last"), HOLDS)],
    "bnd-cluster-rest": [(at([TWO, layers()], ALL, 2.0, "point_multiplier"), HOLDS)],
    "bnd-infwidth": [(on(rests(points=(5, 7, 20, 50, 100)), TWO), READING)],  # dots on the scale of the odd point
    "bnd-fig6-b": [(at([quiet()], ALL, 0.6, name), READING) for name in ("above_tenth", "above_fifth")],
    "bnd-fig1-cause": [(at([cause(0.1, 0.9, 0.9)], ..., 0.9, name), HOLDS) for name in ("odd_angle", "intra_angle")],
    "bnd-fig1-ablation": [(at([ABLATED, DEEP_ENOUGH], ..., 45.5, "intra_angle@0"), READING)],
}


@pytest.mark.parametrize("id", MORE)
def test_a_claim_turns_at_further_borders(id):
    assert [CLAIMS[id](*world).status for world, _ in MORE[id]] == [status for _, status in MORE[id]]


def asked(id):
    """Data of a claim at the borders of all tables, those of one entry first."""
    worlds = []
    for cases in (of_layers.CASES, of_theorems.CASES):
        for name, (world, _, variables) in cases.items():
            if name.split(",")[0] == id:
                ends = [(*place, end) for _, *place, inside, outside in variables for end in (inside, outside)]
                worlds += [world, *(changed(world, *end) for end in ends)]
    worlds += [world for world, _ in MORE.get(id, [])]
    worlds += [world if isinstance(world, tuple) else (world,) for world, _ in READINGS.get(id, [])]
    for name, (world, (draws, cells, spread), borders) in MEANS.items():
        for _, variable, place, to, border, within in borders if name.split(",")[0] == id else []:
            ends = [to(around(border, draws, cells, within * distance, spread)) for distance in (1.01, -1.01)]
            worlds += [world, *(changed(world, variable, place, end) for end in ends)]
    for name, _, world, variable, place, values, limit, _, trials, cells in SHARES:
        ends = [hit(hits, trials, *values) for hits in share_ends(limit, trials, cells)] if name == id else []
        worlds += [world, *(changed(world, variable, place, end) for end in ends)] if ends else []
    for tables in (of_layers.NOT_COUNTED, of_theorems.NOT_COUNTED):
        worlds += [changed(world, *value) for name, world, _, *value in tables if name == id]
    for name, world, variable, place, *ends in of_layers.PRINTED:
        worlds += [changed(world, variable, place, end) for end in ends] if name == id else []
    return worlds


@pytest.mark.parametrize("id", [id for id in CLAIMS if asked(id)])
def test_another_variable_of_the_same_shape_turns_a_verdict(id):
    found = unnoticed(CLAIMS[id], asked(id))
    assert bool(found) == (id in ALIKE), found
