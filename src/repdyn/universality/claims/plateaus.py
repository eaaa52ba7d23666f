"""Claims on plateaus at varying initial weights: Figure 3."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, in_every_dataset, replace_labels
from repdyn.base.datasets import require
from repdyn.base.verdicts import Test, Verdict, all_of, over_readings
from repdyn.universality.claims.intervals import mean_of
from repdyn.universality.theory.published import FIGURE_3

WELL = 0.8
QUARTERS = (0.25, 0.5, 0.75)
GONE_REASON = "no plateau: within some factor of exponential decay, which the paper does not name"


def plateau_share(fits: xr.Dataset) -> np.ndarray:
    """Time to half of the rise over the time from a quarter to three quarters, per gain and seed."""
    chosen = fits.sel(network=list(FIGURE_3))
    return (chosen["half"] / (chosen["three_quarters"] - chosen["quarter"])).values


def _paths(architectures: xr.Dataset) -> dict[str, xr.DataArray]:
    """The curves that may have a plateau; the loss less the mean output's part, which falls first."""
    loss = 0.25 * (architectures["w"] + 0.5 * (architectures["dy2"] - architectures["y"]))
    return {"$h$": architectures["h"], "$y$": architectures["y"], "the pair's loss": loss}


def start_over_largest(curve: xr.DataArray) -> np.ndarray:
    """Speed at the start over the largest one, per seed: 1 for exponential decay, near 0 after a plateau."""
    speed = np.abs(np.diff(curve.values, axis=-1))
    return speed[:, 0] / speed.max(axis=-1)


def half_over_middle(curve: xr.DataArray) -> np.ndarray:
    """Time from a quarter to three quarters over time to half, times ln 2 / ln 3: 1 for exponential decay."""
    way = (curve - curve.isel(epoch=0)) / (curve.isel(epoch=-1) - curve.isel(epoch=0))
    times = np.array([[_first(row, curve["epoch"].values, share) for share in QUARTERS] for row in way.values])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(2) / np.log(3) * (times[:, 2] - times[:, 0]) / times[:, 1]


def _first(way: np.ndarray, epoch: np.ndarray, share: float) -> float:
    place = int(np.argmax(way >= share))
    return float(np.interp(share, way[place - 1 : place + 1], epoch[place - 1 : place + 1])) if place else np.nan


def _disappears(architecture_fits: xr.Dataset, architectures: xr.Dataset) -> Test:
    """No plateau at a large gain: within a factor of exponential decay, over all readings."""

    def decide(curve: xr.DataArray, measure: Callable[[xr.DataArray], np.ndarray], gain: str, left: float) -> Test:
        runs = curve.sel(network=gain).transpose("seed", "epoch")
        good = architecture_fits["converged"].sel(network=gain).values.astype(bool)
        values = measure(runs.isel(seed=np.flatnonzero(good)))
        expected = f"{left:g} or more; exponential decay has 1"
        return mean_of(values, left, np.inf, 1, expected=expected, reason=GONE_REASON)

    return over_readings(
        decide,
        curve=_paths(architectures),
        measure={"speed at the start over the largest": start_over_largest, "time to half": half_over_middle},
        gain={"second largest": FIGURE_3[-2], "largest": FIGURE_3[-1]},
        left={"half of exponential decay": 0.5, "a quarter": 0.25},
    )


@claim(
    "uni-fig3-init",
    where="Section 3.2, Figure 3",
    line=141,
    assumes="default network, two points; ours have 100 units for 500",
    words=("Plateau-like behavior ... can be seen at small initializations, but disappears at larger initial weights"),
    kind="comparison",
    states="The plateau shrinks as the initial weights grow and disappears at larger ones; at the largest ones the "
    "theory breaks down.",
    data=("architecture_fits", "architectures"),
    control=dict.fromkeys(
        (
            "slope of log plateau",
            "variance of h explained at the smallest gain",
            "variance of h explained at the largest gain",
            "plateau at large gains",
        ),
        false_world(
            "the five gains in reverse order",
            in_every_dataset(replace_labels("network", dict(zip(FIGURE_3, FIGURE_3[::-1], strict=True)))),
        ),
    ),
)
def plateau_shrinks(architecture_fits: xr.Dataset, architectures: xr.Dataset) -> Verdict:
    """Slope of the log plateau length in the rank of the gain; R2 of h at the ends; what is left at large gains."""
    for name, data in (("architecture_fits", architecture_fits), ("architectures", architectures)):
        require(data, name, network=FIGURE_3)
    lengths = np.log(plateau_share(architecture_fits))
    full = np.isfinite(lengths).all(axis=0)
    slopes = np.polyfit(np.arange(len(FIGURE_3)), lengths[:, full], 1)[0] if full.any() else np.empty(0)
    shrinks = mean_of(
        slopes, -np.inf, 0.0, 3, expected="negative", reason="a trend is a slope whose interval excludes 0"
    )
    bound = architecture_fits["at_bound"].sel(network=list(FIGURE_3)).mean("seed").values
    note = "share of fits without rates, by gain: " + ", ".join(f"{value:.2f}" for value in bound)
    test = all_of(
        slope_of_log_plateau=shrinks,
        plateau_at_large_gains=_disappears(architecture_fits, architectures),
        **_ends(architecture_fits),
    )
    return Verdict.from_tests(test, note=note)


def _ends(architecture_fits: xr.Dataset) -> dict[str, Test]:
    """R2 of h, clipped to [-1, 1]: matched at the smallest gain, broken down at the largest."""
    r2 = architecture_fits["r2"].sel(curve="h").clip(-1, 1)
    ends = {"smallest": ("low", WELL, np.inf), "largest": ("very_high", -np.inf, 0.5)}
    return {
        f"variance_of_h_explained_at_the_{name}_gain": mean_of(
            r2.sel(network=row).values,
            low,
            high,
            3,
            expected="0.8 or more" if row == "low" else "below 0.5",
            reason="well: four fifths explained; broken: less than half explained",
        )
        for name, (row, low, high) in ends.items()
    }
