"""The two-point effective theory on a recorded training: fitted rates, predicted trajectories, final distances.

The theory (van Rossem and Saxe, eq. (7)) describes gradient descent on half the squared error. Its two rates are fitted
to each pair and its closed-form solution is compared with what was recorded; where the fit fails, the theory does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.base.datasets import variable
from repdyn.diagnostics.methods.arguments import check_kind
from repdyn.diagnostics.methods.catalog import PAPERS
from repdyn.universality.methods.fit import EffectiveFit, fit_effective_rates, has_converged, no_fit
from repdyn.universality.theory.effective import solution_unchecked
from repdyn.universality.theory.final import final_distance

CURVES = {"h": "representation_distance", "y": "prediction_distance", "w": "prediction_alignment"}
UNFITTED = "pairs that a layer does not tell apart at some moment, or of a training that diverged"
MOMENTS = 200  # at which the fitted curves are given
WANTED = (*CURVES.values(), "input_distance", "target_distance")


def fit(recorded: xr.Dataset, layer: str, pairs: Sequence[str] | None = None) -> xr.Dataset:
    """Fits the theory to every pair (and seed) of a recorded training, in one layer.

    Recorded moments count equally in the squared error (eq. (49) has one per epoch): record more densely where the
    network changes.

    Args:
        recorded: dataset of `Recorder.dataset`, with targets or labels, recorded from before training on.
        layer: whose representations h is taken from.
        pairs: names of the pairs to fit, as in `recorded["pair"]`; None takes all whose inputs and targets differ.

    Returns:
        Dataset over `pair` (and `seed`): rates, explained variance of h, y, w, whether the pair was learned, the
        final distance of the theory; the recorded curves over the recorder's time and the theory's over `moment`. A
        pair that a dead layer does not tell apart, or of a training that diverged, has none of them (NaN).

    Raises:
        ValueError: fewer than four moments, no targets, an unknown layer or pair, or none that differs.
    """
    check_kind("recorded", recorded, xr.Dataset, "the dataset of Recorder.dataset")
    time, chosen = _usable(recorded, layer, pairs)
    part = recorded[list(WANTED)].sel(layer=layer, pair=chosen)
    dims = ("pair", "seed") if "seed" in part.dims else ("pair",)
    shape = tuple(part.sizes[dim] for dim in dims)
    times = part[time].values.astype(float) - float(part[time][0])
    moments = np.linspace(0.0, 1.0, MOMENTS) ** 3 * times[-1]
    fits = [_fitted(part.isel(dict(zip(dims, place, strict=True))), times, moments) for place in np.ndindex(shape)]
    units = str(recorded[time].attrs["units"])
    dataset = xr.Dataset(_variables(fits, dims, shape, time, units))
    kept = {name: recorded[name].variable for name in (time, *dims[1:])}
    return dataset.assign_coords(
        kept
        | {
            "pair": variable("pair", np.array(chosen), "two points"),
            "moment": variable("moment", moments + float(part[time][0]), f"{time} of the theory's curves", units),
            "curve": variable("curve", np.array(list(CURVES)), "h, y or w"),
        }
    ).assign_attrs(title=f"Effective theory of {len(chosen)} pairs in layer {layer}", layer=layer, time=time)


def _usable(recorded: xr.Dataset, layer: str, pairs: Sequence[str] | None) -> tuple[str, list[str]]:
    time = recorded.attrs.get("time", "")
    if time not in recorded.dims or recorded.sizes[time] < 4:
        raise ValueError("the theory is fitted through training: record four or more moments with a Recorder")
    if missing := [name for name in WANTED if name not in recorded]:
        raise ValueError(f"the dataset has no {', '.join(missing)}: record with labels or targets")
    if layer not in recorded["layer"]:
        raise ValueError(f"the dataset has no layer {layer!r}; it has {', '.join(recorded['layer'].values)}")
    if recorded["input_distance"].isnull().all():
        raise ValueError(
            "the dataset has no input distances: record with embeddings=, the layer that stands for inputs"
        )
    first = recorded.isel(seed=0) if "seed" in recorded.dims else recorded
    different = first["pair"].values[((first["input_distance"] > 0) & (first["target_distance"] > 0)).values].tolist()
    if unusable := [pair for pair in pairs or () if pair not in different]:
        raise ValueError(
            f"pairs {', '.join(unusable)} have equal targets or are not there; usable: {', '.join(different)}"
        )
    if not different:
        raise ValueError(
            "every pair has equal inputs or equal targets; record pairs that the network has to tell apart"
        )
    return time, list(pairs or different)


def _fitted(recorded: xr.Dataset, times: Array, moments: Array) -> tuple[EffectiveFit, bool, Array, float, Array]:
    """Fit, whether the pair was learned, the curves at `moments`, the final distance and the recorded curves."""
    h, y, w = data = np.stack([recorded[name].values for name in CURVES.values()])
    if not (np.isfinite(data).all() and (h > 0).all()):
        unfitted = no_fit(MOMENTS)
        return unfitted, False, unfitted.theory, np.nan, data
    dx2, dy2 = float(recorded["input_distance"]), float(recorded["target_distance"])

    def solution(rates: Array, frames: NDArray[np.intp]) -> Array:
        eta_h, eta_y = rates[:, :, None]
        return solution_unchecked(times[frames], h[0], y[0], w[0], eta_h, eta_y, np.float64(dx2), np.float64(dy2))

    every = times[-1] / (len(times) - 1)
    effective = fit_effective_rates(h, y, w, dx2, dy2, every=every, solution=solution, allow_unconverged=True)
    rates = np.float64(effective.eta_h), np.float64(effective.eta_y), np.float64(dx2), np.float64(dy2)
    curves = solution_unchecked(moments, h[0], y[0], w[0], *rates)
    final = float(final_distance(h[0], y[0], np.sqrt(dx2), np.sqrt(dy2), effective.eta_h / effective.eta_y))
    return effective, has_converged(y, w, dy2), curves, final, data


def _variables(
    pairs: list[tuple[EffectiveFit, bool, Array, float, Array]],
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    time: str,
    units: str,
) -> dict[str, xr.Variable]:
    per = "1" if units == "1" else f"1/{units}"
    fits, learned, curves, finals, data = zip(*pairs, strict=True)

    def stacked(values: object, name: str, units: str, where: str, *more: str) -> xr.Variable:
        values = np.array(values)
        array = variable((*dims, *more), values.reshape(*shape, *values.shape[1:]), name, units)
        array.attrs |= {"paper": PAPERS["universality"], "equation": where, "study": "universality"}
        return array

    variables = {
        "eta_h": stacked(
            [fit.eta_h for fit in fits], f"effective rate of the encoder per {time}", per, "eq. (7), (49)"
        ),
        "eta_y": stacked(
            [fit.eta_y for fit in fits], f"effective rate of the decoder per {time}", per, "eq. (7), (49)"
        ),
        "explained": stacked([fit.r2 for fit in fits], "explained variance of h, y, w", "1", "eq. (49)", "curve"),
        "at_bound": stacked([int(fit.at_bound) for fit in fits], "1 where no finite rates fit", "1", "eq. (49)"),
        "learned": stacked([int(flag) for flag in learned], "1 where the pair's error fell to 0.16", "1", "Section 3"),
        "final_distance": stacked(finals, "final squared distance of the theory", "activation^2", "eq. (10)"),
    }
    variables["explained"].attrs["missing"] = f"a curve that does not move, or {UNFITTED}"
    for k, (name, measured) in enumerate(CURVES.items()):
        units = "activation^2" if name == "h" else "output^2"
        variables[f"{name}_measured"] = stacked([row[k] for row in data], f"{name}, measured", units, "eq. (8)", time)
        variables[f"{name}_theory"] = stacked([row[k] for row in curves], f"{name}, theory", units, "eq. (7)", "moment")
        variables[f"{name}_measured"].attrs["source"] = measured
    for name in ("eta_h", "eta_y", "final_distance", *(f"{name}_theory" for name in CURVES)):
        variables[name].attrs["missing"] = UNFITTED
    return variables
