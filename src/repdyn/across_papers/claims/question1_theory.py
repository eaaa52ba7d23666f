"""Question 1: whether the effective two-point theory fits other networks as well as the plain one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict

FACTORS = {"a quarter more": 1.25, "a factor of 1.5": 1.5, "a factor of 2": 2.0}
SHARES = {"mean of h, y, w": np.mean, "worst of h, y, w": np.max}
AS_WELL = "differences below it are those between seeds of one network"


def _fit_against_plain(theory_fits: xr.Dataset, network: str) -> Test:
    """Mean over seeds of log2(U / U of the plain network) on the two points alone, over all readings.

    A fit that ends at the boundary of its search bounds U from above only, so it can confirm but not refute: where any
    seed of the network has one and the test fails, the test of the other seeds decides.
    """
    alone = theory_fits.sel(data="two points", network=["plain", network])
    learned = alone.isel(seed=np.flatnonzero((alone["learned"] == 1).all("network").values))
    inside = learned.isel(seed=np.flatnonzero((learned["at_bound"] == 0).all("network").values))

    def decide(share: Callable[..., Array], factor: float) -> Test:
        test = _ratio(learned, network, share, factor)
        return test if test.outcome != "fails" else _ratio(inside, network, share, factor)

    return over_readings(decide, share=SHARES, factor=FACTORS)


def _ratio(fits: xr.Dataset, network: str, share: Callable[..., Array], factor: float) -> Test:
    if fits.sizes["seed"] < 2:
        raise NotEnoughDataError(f"theory_fits: 2 seeds in which plain and {network} learned the pair, fits inside")
    shares = cast("xr.DataArray", np.log2((1 - fits["explained"].clip(min=0)).reduce(share, "curve")))
    ratio = shares.sel(network=network) - shares.sel(network="plain")
    expected = rf"$\log_2$ of $U$ over $U$ of the plain network at most $\log_2 {factor:g}$"
    return mean_within(ratio.values, -np.inf, np.log2(factor), expected=expected, reason=AS_WELL)


def _medians(theory_fits: xr.Dataset, network: str) -> dict[str, object]:
    facts: dict[str, object] = {}
    for data in ("two points", "digits"):
        medians = theory_fits["unexplained"].sel(data=data).median("seed")
        for kind in (network, "plain"):
            facts[f"median unexplained share, {data}, {kind} network"] = medians.sel(network=kind)
    alone = theory_fits.sel(data="two points", network=network)
    facts["median $R^2$ of $h$, $y$, $w$"] = alone["explained"].median("seed")
    facts["share of fits at the boundary of the search"] = alone["at_bound"].mean()
    return facts


def _theory(theory_fits: xr.Dataset, network: str) -> Verdict:
    """Two points alone, paired over seeds."""
    return Verdict.from_tests(_fit_against_plain(theory_fits, network), facts=_medians(theory_fits, network))


EXCHANGED = "a dataset in which this network has the fits of the plain one and the plain one has its fits"
THEORY: dict[str, Any] = {
    "where": "Question 1; eq. (7) of universality",
    "kind": "comparison",
    "origin": "ours",
    "assumes": "the two points of universality alone, networks of one depth, width and initial scale, full-batch "
    "descent; seeds in which both networks learned the pair; two rates fitted per network, "
    "the cut-off of $U$ at 1 per curve",
}


@claim(
    "acr-theory-batch-norm",
    states="The effective two-point theory fits a network with batch normalization as well as the plain one.",
    control=false_world(EXCHANGED, exchange("network", "plain", "batch norm")),
    **THEORY,
)
def theory_with_batch_norm(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "batch norm")


@claim(
    "acr-theory-residual",
    states="The effective two-point theory fits a residual network as well as the plain one.",
    control=false_world(EXCHANGED, exchange("network", "plain", "residual")),
    **THEORY,
)
def theory_with_residual(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "residual")


@claim(
    "acr-theory-leaky",
    states="The effective two-point theory fits a leaky residual network as well as the plain one.",
    control=false_world(EXCHANGED, exchange("network", "plain", "leaky")),
    **THEORY,
)
def theory_with_leakage(theory_fits: xr.Dataset) -> Verdict:
    """Two points alone, paired over seeds."""
    return _theory(theory_fits, "leaky")
