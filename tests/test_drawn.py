"""Figures, tables and claims make of their data what they made when somebody last looked: which variable, where, how.

Datasets here have the shape of the default scale and numbers of their own (`tests.drawn`), so that another variable,
another row, a color or a panel exchanged shows as another line of text. After a change that is meant: `python -m
tests.drawn`, and look at the difference. After a change of a dataset: `python -m tests.drawn results/default`.
"""

import difflib
import re

import pytest
from tests.drawn import GOLDEN, HEAVY, KINDS, read, text_of

from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.graph import read_study

CASES = [(study, kind, name) for study in STUDIES for kind in KINDS for name in sorted(read(study)[kind])]
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?|nan|inf")
ROUNDING = 2e-3  # of a number shown with four digits: the last of these and what another machine rounds


def golden(study, kind):
    """What stands in the file, by function."""
    text = (GOLDEN / study / f"{kind}.txt").read_text(encoding="utf-8").splitlines()
    begins = [k for k, line in enumerate(text) if line and not line.startswith(" ")]
    return {text[a]: text[a:b] for a, b in zip(begins, [*begins[1:], len(text)], strict=bool(begins))}


def alike(one, other):
    """Equal words, numbers within rounding."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(map(float, NUMBER.findall(one)), map(float, NUMBER.findall(other)), strict=True)
    return all(a == b or abs(a - b) <= ROUNDING * max(abs(a), abs(b)) or (a != a and b != b) for a, b in pairs)


@pytest.mark.parametrize(("study", "kind", "function"), CASES, ids=[f"{s}-{n}" for s, _, n in CASES])
def test_what_is_shown_is_what_was_looked_at(study, kind, function):
    wanted, found = golden(study, kind)[function], text_of(study, kind, function, read(study))
    same = len(wanted) == len(found) and all(map(alike, found, wanted))
    assert same, "\n".join(difflib.unified_diff(wanted, found, "looked at", "shown", n=1, lineterm=""))


@pytest.mark.parametrize("study", STUDIES)
def test_every_figure_and_table_has_been_looked_at(study):
    now = read_study(study)
    for kind, functions in (("figures", now.figures), ("tables", now.tables), ("claims", now.claims)):
        wanted = {one.path: set(one.reads) for one in functions.values() if one.path not in HEAVY}
        assert {name: set(inputs) for name, inputs in read(study)[kind].items()} == wanted
        assert set(golden(study, kind)) == set(wanted)


def test_an_exchange_is_seen(monkeypatch):
    """Two variables of a dataset exchanged, and two colors: each is another text."""
    study, function = "bn_mean_field", "figures.first_steps:fig3_first_step"
    shapes = read(study)
    wanted = text_of(study, "figures", function, shapes)
    assert all(map(alike, wanted, golden(study, "figures")[function]))
    data = shapes["data"]["bn_mean_field/data/first_step.nc"]["variables"]
    for name in data:
        data[name]["sizes"] = data[name]["sizes"][::-1]
        data[name]["dims"] = data[name]["dims"][::-1]  # the same numbers along other axes
    assert not all(map(alike, text_of(study, "figures", function, shapes), wanted))
