"""Claims on plateaus of distances and of the loss at varying initial weights: Figure 3."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, in_every_dataset, knock_out, replace_labels
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.verdicts import Test, Verdict
from repdyn.universality.claims.intervals import mean_of
from repdyn.universality.theory.effective import effective_loss
from repdyn.universality.theory.published import FIGURE_3

WELL = 0.8
QUARTERS = (0.25, 0.5, 0.75)
GONE_REASON = "no plateau: within some factor of exponential decay, which the paper does not name"


def plateau_share(fits: xr.Dataset) -> np.ndarray:
    """Time to half of the rise over the time from a quarter to three quarters, per gain and seed."""
    chosen = fits.sel(network=list(FIGURE_3))
    return (chosen["half"] / (chosen["three_quarters"] - chosen["quarter"])).values


def pair_loss(runs: xr.Dataset) -> xr.DataArray:
    """The loss less the mean output's part, which falls first: the second term of (9)."""
    return xr.apply_ufunc(
        lambda y, w, dy2: effective_loss(0.0, y, w, dy2, 0.0, 0.0), runs["y"], runs["w"], runs["dy2"]
    ).transpose(*runs["y"].dims)


def _paths(architectures: xr.Dataset) -> dict[str, xr.DataArray]:
    """The curves that may have a plateau."""
    return {"$h$": architectures["h"], "$y$": architectures["y"], "the pair's loss": pair_loss(architectures)}


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
    test = {
        "slope of log plateau": shrinks,
        "plateau at large gains": _disappears(architecture_fits, architectures),
        **_ends(architecture_fits),
    }
    return Verdict.from_tests(test, facts={"share of fits at the border of the search, by gain": bound})


def _ends(architecture_fits: xr.Dataset) -> dict[str, Test]:
    """R2 of h, clipped to [-1, 1]: matched at the smallest gain, broken down at the largest."""
    r2 = architecture_fits["r2"].sel(curve="h").clip(-1, 1)
    ends = {"smallest": ("low", WELL, np.inf), "largest": ("very_high", -np.inf, 0.5)}
    return {
        f"variance of h explained at the {name} gain": mean_of(
            r2.sel(network=row).values,
            low,
            high,
            3,
            expected="0.8 or more" if row == "low" else "below 0.5",
            reason="well: four fifths explained; broken: less than half explained",
        )
        for name, (row, low, high) in ends.items()
    }


def wait_over_fall(loss: xr.DataArray, level: float) -> np.ndarray:
    """Time within a tenth of the level over the time from three quarters to one quarter of it, per seed.

    The level is the loss of a network that gives the mean target for both points; exponential decay has
    ln(11/9)/ln 3 = 0.18.
    """
    early, rest, upper, lower = (_last_above(loss, share * level) for share in (1.1, 0.9, 0.75, 0.25))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (rest - early) / (lower - upper)


def _last_above(loss: xr.DataArray, level: float) -> np.ndarray:
    """When each curve is at the level for the last time, between records by a straight line; the start if never."""
    epoch, times = loss["epoch"].values, []
    for curve in loss.transpose("seed", "epoch").values:
        above = np.flatnonzero(curve > level)
        place = int(above[-1]) if above.size else -1
        if place in (-1, curve.size - 1):
            times.append(epoch[0] if place < 0 else np.nan)
        else:
            times.append(np.interp(-level, -curve[place : place + 2], epoch[place : place + 2]))
    return np.array(times, float)


def _waits(architecture_fits: xr.Dataset, architectures: xr.Dataset, row: str) -> np.ndarray:
    """The waits of the training loss of a row of Table 1, NaN for trials that did not converge."""
    runs = architectures.sel(network=row)
    waits = wait_over_fall(runs["loss"], float(runs["dy2"]) / 8)
    return np.where(architecture_fits["converged"].sel(network=row).values, waits, np.nan)


def _without_second_term(architecture_fits: xr.Dataset, architectures: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    return architecture_fits, architectures.assign(loss=architectures["loss"] - pair_loss(architectures))


SMALLEST, LARGEST = FIGURE_3[0], FIGURE_3[-1]
SMALL = {"gain 0.9": SMALLEST, "gain 1": FIGURE_3[1]}


@claim(
    "uni-fig3-loss",
    where="Section 3.3, Figure 3 (bottom)",
    line=132,
    assumes="the second term of (9); default network, two points; ours have 100 units for 500",
    words="which causes a plateau in the loss at small weights ... observed for the true dynamics",
    kind="causal",
    states="The second term of (9) causes a plateau in the loss of the networks at small weights.",
    control={
        "plateau at small weights": knock_out(
            "the training loss of the same networks less the second term of (9)", _without_second_term, recomputes=True
        ),
        "by small weights": knock_out(
            "the largest weights of Figure 3 in place of the smallest and the reverse",
            in_every_dataset(exchange("network", SMALLEST, LARGEST)),
        ),
    },
)
def loss_has_a_plateau(architecture_fits: xr.Dataset, architectures: xr.Dataset) -> Verdict:
    """How long the training loss waits near the mean target's, in units of its fall; against the largest weights."""
    for name, data in (("architecture_fits", architecture_fits), ("architectures", architectures)):
        require(data, name, network=FIGURE_3)
    waits = {row: _waits(architecture_fits, architectures, row) for row in FIGURE_3}

    def decide(row: str, longer: float) -> Test:
        expected = f"{longer:g} or more; exponential decay has 0.18"
        reason = "a plateau: a wait of the order of the fall, in a share that the paper does not name"
        return mean_of(waits[row], longer, np.inf, 2, expected=expected, reason=reason)

    seen = over_readings(decide, row=SMALL, longer={"half of the fall": 0.5, "the fall": 1.0})
    with np.errstate(divide="ignore", invalid="ignore"):
        longer = np.log(waits[SMALLEST] / waits[LARGEST])
    by = mean_of(longer, 0.0, np.inf, 2, expected="longer at the smallest weights", reason="an effect has a sign")
    finite = {row: values[np.isfinite(values)] for row, values in waits.items()}
    fitted = architecture_fits["loss_r2"].sel(network=list(SMALL.values())).min().item()
    facts = {
        "mean wait over fall, by gain": [values.mean() if values.size else np.nan for values in finite.values()],
        "least variance of the loss that the fitted (9) explains at small weights": fitted,
    }
    return Verdict.from_tests({"plateau at small weights": seen, "by small weights": by}, facts=facts)
