"""Experiments, claims, figure and table on full rank: what makes them decide, and what they refuse."""

import numpy as np
import pytest
import xarray as xr
from pydantic import ValidationError
from tests.bn_decomposed.deciding import decided

from repdyn.base import figures, tables
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.claims import claims_of
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.claims import full_rank as claims
from repdyn.bn_decomposed.claims import full_rank_proof, rank_of_layers, worst_of
from repdyn.bn_decomposed.experiments import full_rank, relu_rank
from repdyn.bn_decomposed.figures.full_rank import thm3_full_rank
from repdyn.bn_decomposed.settings import study as settings
from repdyn.bn_decomposed.tables import full_rank as full_rank_table

NOTHING_KEPT = Checkpoint(None, "")

ROWS = {
    "circles": [3, 5],
    "planar": [5],
    "spatial": [4],
    "recentered": [3],
    "batches": 2,
    "draws": 150,
    "wait_points": 3,
    "wait_draws": 6000,
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
        "rows_to_full_rank": full_rank.rows_to_full_rank(settings.RowsToFullRank(**ROWS), stream, NOTHING_KEPT),
        "full_rank_tail": full_rank.full_rank_tail(settings.FullRankTail(**TAIL)),
        "relu_rank": relu_rank.relu_rank(settings.ReluRank(**RANK), stream),
    }


def test_every_claim_decides_and_every_part_has_a_control_that_turns_it(datasets):
    corrected = {"bnd-ex1-count", "bnd-cor4", "bnd-e2-product", "bnd-e3-step"}
    expected = {
        claim.id: "holds as corrected" if claim.id in corrected else "holds"
        for claim in claims_of(claims, full_rank_proof, rank_of_layers)
    } | {"bnd-yt-indep": "does not hold"}
    assert decided(claims_of(claims, full_rank_proof, rank_of_layers), datasets) == expected


def test_the_circle_with_antipodal_points_never_reaches_full_rank(datasets):
    rows = datasets["rows_to_full_rank"]
    assert len(np.unique(rows["y_antipodal"])) == 1
    # 2.05 n / gamma rows, beyond which the claim on (7b) looks, lie below the rows that were drawn
    assert rows["y_antipodal"].min() > 2.05 * 6 / (1 / 6)
    assert rows["wait_antipodal"].min() > 1 / rows["wait_gamma"].max()


def test_smallest_cells_are_counted(datasets):
    cells = datasets["sign_cells"]
    circles = cells.isel(batch=cells["kind"].values == "circle")
    odd = circles["n"] % 2 == 1
    # odd n: 2n equal sectors, in n pairs of opposite ones; even n: n sectors
    np.testing.assert_array_equal(circles["smallest_count"], circles["cell_count"])
    np.testing.assert_array_equal(circles["pair_count"][odd], circles["n"][odd])
    np.testing.assert_allclose(circles["volume_sum_without_smallest"], 0, atol=1e-12)
    gaussian = cells.isel(batch=cells["kind"].values != "circle")
    np.testing.assert_array_equal(2 * gaussian["pair_count"], gaussian["cell_count"])
    np.testing.assert_allclose(
        gaussian["volume_sum_without_smallest"] + gaussian["smallest_share"], gaussian["volume_sum"], rtol=1e-12
    )


def test_circle_waits_have_their_exact_law(datasets):
    wait = datasets["rows_to_full_rank"]["wait"].isel(wait_batch=0).values
    # y_2 = 0 needs a row that has seen x_2 alone, so y_1 > 1; P(y_2 = 0) is 0.4 all the same.
    assert (wait[wait[:, 0] == 1, 1] > 0).all()
    assert abs((wait[:, 1] == 0).mean() - 0.4) < 4 * np.sqrt(0.24 / len(wait))  # four standard errors


def test_worst_mean_speaks_for_all_rows():
    samples = np.array([[1.0, 1.2, 0.8], [4.0, 4.1, 3.9]])
    words = {"expected": "", "reason": ""}
    bounded = worst_of.worst_mean_over_bound
    assert bounded(samples, np.array([100.0, 100.0]), **words).outcome == "passes"
    assert bounded(np.repeat(samples, 20, axis=1), np.array([100.0, 2.0]), **words).outcome == "fails"
    # the row of the largest mean, not that of the largest draw
    assert bounded(np.array([[0.0, 5.0, 1.0], [3.0, 3.1, 2.9]]), np.full(2, 10.0), **words).value == pytest.approx(0.3)
    # one of the two rows speaks, at half of the false-alarm rate
    assert bounded(samples, np.array([100.0, 100.0]), **words).false_alarm == worst_of.FALSE_ALARM / 2


def test_7b_is_judged_on_circles_of_up_to_six_points():
    """Of seven points the bound is below what the draws resolve; the sum of geometric variables is judged on all."""
    y = np.array([[6.0], [1e4]]).repeat(1000, axis=1)
    about = {"kind": ("batch", ["circle"] * 2), "n": ("batch", [6, 7]), "gamma": ("batch", [0.5, 0.5])}
    verdicts = claims._survival(xr.Dataset({"y": (("batch", "draw"), y)} | about))
    assert (verdicts["below 7b"].outcome, verdicts["below geometric"].outcome) == ("passes", "fails")


def test_a_bound_7b_that_is_above_7a_is_refuted(datasets):
    """(7b) claims less than (7a), so its exponent is the smaller one; both are far below 1."""
    tail, rows = datasets["full_rank_tail"], datasets["rows_to_full_rank"]
    part = "exponent 7b over 7a"
    assert claims.tail_of_rows(tail, rows).printed.parts[part].outcome == "passes"
    above = tail.assign(exponent_b=1.5 * tail["exponent_a"])
    assert claims.tail_of_rows(above, rows).printed.parts[part].value == pytest.approx(1.5)


def test_the_tail_below_its_range_needs_an_alpha_there():
    with pytest.raises(NotEnoughDataError, match="an alpha of 2 or less"):
        claims.tail_of_rows(xr.Dataset(coords={"alpha": [4.0, 8.0]}), xr.Dataset())


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
    for model, arguments, change in (
        (settings.RowsToFullRank, ROWS, {"circles": [3, 4]}),
        (settings.RowsToFullRank, ROWS, {"wait_points": 4}),
        (settings.RowsToFullRank, ROWS, {"planar": [5, 5]}),
        (settings.FullRankTail, TAIL, {"alphas": [1.2, 1.9]}),
        (settings.SignCells, CELLS, {"spatial": [5, 4]}),
        (settings.ReluRank, RANK, {"record": [20, 5]}),
    ):
        with pytest.raises(ValidationError):
            model(**(arguments | change))
