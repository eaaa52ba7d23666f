"""Claim on symmetric batches, which form an odd point only after a wait: Section III."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, knock_out, replace_labels
from repdyn.base.readings import over_readings
from repdyn.base.verdicts import Test, Verdict
from repdyn.bn_decomposed.claims.worst_of import worst_mean, worst_share

FAR = "one point far"
SYMMETRIC = {"equal angles": "equal angles", "equally spaced on a circle": "circle"}
AN_OUTLIER = {"twice as long as any other": 2.0, "four times as long": 4.0}


def without_randomness(symmetric_batch: xr.Dataset) -> xr.Dataset:
    """Waits of layers of infinite width, which have the same expected Gram matrix and no fluctuation."""
    limit = symmetric_batch["wait_in_the_limit"].broadcast_like(symmetric_batch["wait"])
    return symmetric_batch.assign(wait=limit.transpose(*symmetric_batch["wait"].dims))


ONE_FAR = false_world(
    "a batch with one point far from the others for the symmetric ones, and the reverse",
    replace_labels("start", {**dict.fromkeys(SYMMETRIC.values(), FAR), FAR: "equal angles"}),
)


def _forms(symmetric_batch: xr.Dataset, start: str, factor: float) -> Test:
    """Share of runs with an outlier within the depth, in each batch size and width."""
    wait = symmetric_batch["wait"].sel(factor=factor, start=start)
    return _in_each_cell(
        wait <= symmetric_batch["depth"],
        0.5,
        np.inf,
        expected="more than half of the runs",
        reason="most runs, within far more layers than the wait",
    )


def _after_a_wait(symmetric_batch: xr.Dataset, start: str, factor: float) -> Test:
    """Layers until the outlier over those with a far point, same weights, in each batch size and width."""
    wait = symmetric_batch["wait"].sel(factor=factor)
    return worst_mean(
        xr.apply_ufunc(np.log2, wait.sel(start=start) / wait.sel(start=FAR)),
        "run",
        0,
        np.inf,
        expected="binary logarithm of the ratio of waits above 0",
        reason="a wait: longer than where the batch has an odd point from the start",
    )


def _point_1(symmetric_batch: xr.Dataset, start: str) -> Test:
    """Share of runs in which point 1 is the longest, in each batch size and width."""
    return _in_each_cell(
        symmetric_batch["odd"].sel(start=start) == 0,
        -np.inf,
        0.5,
        expected="less than half of the runs",
        reason="an identified odd point would be it in most runs; $1/n$ by symmetry",
    )


def _in_each_cell(hits: xr.DataArray, low: float, high: float, **words: str) -> Test:
    trials = hits.transpose(..., "run").values
    return worst_share([*trials.reshape(-1, trials.shape[-1])], low, high, **words)


@claim(
    "bnd-symmetric-wait",
    where="Section III, text before the Remark",
    words="we must wait until the randomness, from layer to layer, will artificially produce an outlier",
    line=183,
    assumes="Gaussian matrices, recentering and ReLU; a batch whose symmetries exchange all points, in which an odd "
    "point can rest; neither batch nor width is stated",
    kind="causal",
    states="A symmetric batch has no odd point from the start; after a wait the randomness of the layers produces an "
    "outlier, any point alike.",
    control={
        "an outlier forms": knock_out(
            "layers without randomness, of infinite width, with the same expectations",
            without_randomness,
            recomputes=True,
        ),
        "after a wait": ONE_FAR,
        "point 1 is the outlier": ONE_FAR,
    },
    remark="At infinite width equal angles stay forever.",
)
def symmetric_batches_wait(symmetric_batch: xr.Dataset) -> Verdict:
    """First layers with an outlier, symmetric batches and one with a far point, every batch size and width."""
    grid: dict[str, Mapping[str, object]] = {"start": SYMMETRIC, "factor": AN_OUTLIER}
    return Verdict.from_tests(
        {
            "an outlier forms": over_readings(lambda start, factor: _forms(symmetric_batch, start, factor), **grid),
            "after a wait": over_readings(lambda start, factor: _after_a_wait(symmetric_batch, start, factor), **grid),
            "point 1 is the outlier": over_readings(lambda start: _point_1(symmetric_batch, start), start=SYMMETRIC),
        },
        facts=_waits(symmetric_batch),
    )


def _waits(symmetric_batch: xr.Dataset) -> dict[str, float]:
    """Median waits for a point twice as long as any other, from equal angles and from a far point."""
    wait = symmetric_batch["wait"].sel(factor=AN_OUTLIER["twice as long as any other"])
    return {
        f"median wait, n = {n}, width {width}, {start} (layers)": float(
            wait.sel(batch=n, width=width, start=start).median()
        )
        for n in wait["batch"].values.tolist()
        for width in wait["width"].values.tolist()
        for start in ("equal angles", FAR)
    }
