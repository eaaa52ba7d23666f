"""Figures, tables and claims use their data as when last reviewed: which variable, where, how.

Datasets here have recorded shapes, as large as the default scale's, and synthetic numbers (`tests.drawn`), so that
another variable, another row or an exchanged panel changes a line of text. After an intended change: `python -m
tests.drawn`, and review the diff. After a change of a dataset: `python -m tests.shapes`.
"""

import pytest
from tests.drawn import KINDS, alike, difference, golden, makers, read, text_of

from repdyn.pipeline.config.configuration import STUDIES

CASES = [
    pytest.param(study, kind, name, id=f"{study}-{name}", marks=[pytest.mark.slow] if kind == "claims" else [])
    for study in STUDIES
    for kind in KINDS  # claims have synthetic data with named outcomes, which come first
    for name in sorted(makers(study, kind))
]


@pytest.mark.parametrize(("study", "kind", "function"), CASES)
def test_figures_and_tables_equal_the_reviewed_ones(study, kind, function):
    wanted, lines = golden(study, kind).get(function, []), text_of(study, kind, function, read(study))
    same = len(wanted) == len(lines) and all(map(alike, lines, wanted))
    assert same, difference(wanted, lines)


@pytest.mark.parametrize("study", STUDIES)
def test_every_figure_and_table_was_reviewed(study):
    for kind in KINDS:
        assert set(golden(study, kind)) == set(makers(study, kind)), "python -m tests.drawn"
