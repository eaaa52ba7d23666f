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

    A fit that ends at the border of its search bounds U from above only, so it can confirm but not refute: where any
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


def _note(theory_fits: xr.Dataset, network: str) -> str:
    def median(data: str, kind: str) -> float:
        return float(theory_fits["unexplained"].sel(data=data, network=kind).median())

    alone = theory_fits.sel(data="two points", network=network)
    explained, border = alone["explained"].median("seed").values, float(alone["at_bound"].mean())
    return (
        f"Unexplained share, medians: {median('two points', network):.2g} against {median('two points', 'plain'):.2g} "
        f"of the plain network; median $R^2$ of $h, y, w$ {explained[0]:.2f}, {explained[1]:.2f}, {explained[2]:.2f}; "
        f"{100 * border:.0f} % of the fits end at the border of the search. On pairs of digits in a batch "
        f"{median('digits', network):.2g} against {median('digits', 'plain'):.2g}."
    )


def _theory(theory_fits: xr.Dataset, network: str) -> Verdict:
    """Two points alone, paired over seeds."""
    return Verdict.from_tests(_fit_against_plain(theory_fits, network), facts=_note(theory_fits, network))


EXCHANGED = "a world in which this network has the fits of the plain one and the plain one has its fits"
THEORY: dict[str, Any] = {
    "where": "Question 1; eq. (7) of universality",
    "kind": "comparison",
    "origin": "ours",
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
