"""Experiments, claims, figure and table on full rank: what makes them decide, and what they refuse."""

import numpy as np
import pytest
import xarray as xr
from tests.bn_decomposed.deciding import decided

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.claims import claims_of
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.claims import full_rank as claims
from repdyn.bn_decomposed.claims import full_rank_proof, rank_of_layers
from repdyn.bn_decomposed.experiments import full_rank, relu_rank
from repdyn.bn_decomposed.settings import study as settings

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


def test_every_claim_is_decided_and_every_control_is_rejected(datasets):
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


def test_the_tail_below_its_range_needs_an_alpha_there():
    with pytest.raises(NotEnoughDataError, match="an alpha of 2 or less"):
        claims.tail_of_rows(xr.Dataset(coords={"alpha": [4.0, 8.0]}), xr.Dataset())
