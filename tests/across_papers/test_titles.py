"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import numpy as np
from tests.titled import drawn, made_up

from repdyn.base.wording import number


def test_question_1_names_the_networks_that_the_theory_misses():
    data = made_up("across_papers", "theory_fits")
    unexplained = data["theory_fits"]["unexplained"]
    for plain, batch_norm, others, words in (
        (0.1, 0.3, 0.15, "only batch norm left"),
        (0.4, 0.3, 0.5, "none of 3 left"),
        (0.1, 0.3, 0.4, "all 3 left"),
        (np.nan, np.nan, np.nan, ": ? left"),
    ):
        unexplained[:] = others
        unexplained.loc[{"network": "plain"}] = plain
        unexplained.loc[{"network": "batch norm"}] = batch_norm
        figure = drawn("across_papers", "theory_fits", data)
        assert words in figure.repdyn["title"]
        assert "over twice as much unexplained as plain" in figure.repdyn["title"]
        assert f"{number(plain, '.0%')} (plain), {number(batch_norm, '.0%')} (batch norm)" in figure.repdyn["caption"]
