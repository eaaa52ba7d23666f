"""Experiments, claims, figure and table on full rank: what makes them decide, and what they refuse."""

import numpy as np
import pytest
from pydantic import ValidationError

from repdyn.base import figures, tables
from repdyn.base.claims import claims_of, decide
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.claims import full_rank as claims
from repdyn.bn_decomposed.claims import full_rank_proof
from repdyn.bn_decomposed.experiments import full_rank, relu_rank
from repdyn.bn_decomposed.figures.full_rank import thm3_full_rank
from repdyn.bn_decomposed.settings import study as settings
from repdyn.bn_decomposed.tables import full_rank as full_rank_table

ROWS = {
    "circles": [3, 5],
    "planar": [5],
    "spatial": [4],
    "recentred": [3],
    "batches": 2,
    "draws": 150,
    "wait_points": 3,
    "wait_draws": 1500,
}
RANK = {
    "largest_circle": 8,
    "antipodal_pairs": [3, 4],
    "rows": 200,
    "input_dims": [2, 10],
    "points": 20,
    "record": [5, 20, 60],
    "image_rows": [2, 5],
    "draws": 4,
}
CELLS = {"largest_circle": 5, "planar": [5], "spatial": [4], "batches": 4, "draws": 20_000, "steps": 500}
TAIL = {"points": [1, 5], "alphas": [1.3, 2.5], "gammas": [0.01, 0.3]}


@pytest.fixture(scope="module")
def datasets():
    stalled = settings.StalledRows(planar=[1, 3], spatial=[2], configurations=12, draws=1000)
    stream = Stream(7)
    return {
        "sign_cells": full_rank.sign_cells(settings.SignCells(**CELLS), stream),
        "stalled_rows": full_rank.stalled_rows(stalled, stream),
        "rows_to_full_rank": full_rank.rows_to_full_rank(settings.RowsToFullRank(**ROWS), stream),
        "full_rank_tail": full_rank.full_rank_tail(settings.FullRankTail(**TAIL)),
        "relu_rank": relu_rank.relu_rank(settings.ReluRank(**RANK), stream),
    }


@pytest.mark.parametrize("one", claims_of(claims, full_rank_proof), ids=lambda one: one.id)
def test_every_claim_decides_and_its_control_turns(datasets, one):
    row = decide(one, datasets)  # raises if the control is not rejected
    refuted = {"bnd-ex1-count", "bnd-cor4", "bnd-e2-product", "bnd-e3-step", "bnd-yt-indep", "bnd-e4-columns"}
    assert row["verdict"] == ("holds as corrected" if one.id in refuted else "holds")


def test_circle_waits_have_their_exact_law(datasets):
    wait = datasets["rows_to_full_rank"]["wait"].isel(wait_batch=0).values
    # y_2 = 0 needs a row that has seen x_2 alone, so y_1 > 1; P(y_2 = 0) is 0.4 all the same.
    assert (wait[wait[:, 0] == 1, 1] > 0).all()
    assert abs((wait[:, 1] == 0).mean() - 0.4) < 4 * np.sqrt(0.24 / len(wait))  # four standard errors


def test_shares_have_exact_intervals():
    assert claims.share_interval(0, 100)[0] == 0
    assert claims.share_interval(100, 100)[1] == 1
    low, high = claims.share_interval(0, 100)
    assert high == pytest.approx(1 - 0.0005 ** (1 / 100))
    low, high = claims.share_interval(50, 100)
    assert low < 0.5 < high
    assert low == pytest.approx(1 - high)


def test_worst_mean_speaks_for_all_rows():
    samples = np.array([[1.0, 1.2, 0.8], [4.0, 4.1, 3.9]])
    words = {"expected": "", "reason": ""}
    assert claims.worst_mean(samples, np.array([100.0, 100.0]), **words).outcome == "passes"
    assert claims.worst_mean(np.repeat(samples, 20, axis=1), np.array([100.0, 2.0]), **words).outcome == "fails"


def test_figure_and_table_read_the_dataset(datasets):
    rows = datasets["rows_to_full_rank"]
    with figures.style():
        drawn = thm3_full_rank(rows)
    assert "150 draws" in drawn.repdyn["caption"]
    table = full_rank_table(rows)
    assert isinstance(table, tables.Table)
    frame = table.frame
    assert len(frame) == rows.sizes["batch"]
    np.testing.assert_allclose(frame["bound n/gamma"], frame["n"] / frame["gamma"])
    assert (frame["mean of y"] >= frame["n"]).all()
    assert (frame["sum of 1/gamma by column"] <= frame["bound n/gamma"] * (1 + 1e-9)).all()


def test_settings_refuse_what_has_no_answer():
    for model, given, change in (
        (settings.RowsToFullRank, ROWS, {"circles": [3, 4]}),
        (settings.RowsToFullRank, ROWS, {"wait_points": 4}),
        (settings.RowsToFullRank, ROWS, {"planar": [5, 5]}),
        (settings.FullRankTail, TAIL, {"alphas": [1.2, 1.9]}),
        (settings.SignCells, CELLS, {"spatial": [5, 4]}),
        (settings.ReluRank, RANK, {"record": [20, 5]}),
    ):
        with pytest.raises(ValidationError):
            model(**(given | change))
