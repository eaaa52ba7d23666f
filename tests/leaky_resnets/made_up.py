"""What made-up data for claims share: claims, samples whose interval ends at a boundary, verdicts across it."""

from collections.abc import Callable

import numpy as np
import xarray as xr
from scipy.special import stdtrit
from tests.made_up import FALSE_ALARM, UNDECIDED, changed, claims_by_id

from repdyn.base.decisions import decide_claim

CLAIMS = claims_by_id("leaky_resnets")
SEEDS = 20
MOST, MANY, FEW = 18, 17, 2
"""Of 20 fair coins 18 or more heads are rarer than 1 in 2000, as 2 or fewer are; 17 are not."""


def samples(border: float, halves: float, scatter: float = 1e-3, count: int = SEEDS) -> xr.DataArray:
    """Values, one per seed, with the middle of the interval of their mean so many half-widths above a boundary.

    Every fourth is large, so that neither the median nor the largest value stands for the mean.
    """
    shape = np.where(np.arange(count) % 4 == 0, 3.0, -1.0)
    shape = scatter * (shape - shape.mean()) / shape.std(ddof=1)
    half = stdtrit(count - 1, 1 - FALSE_ALARM / 2) * scatter / np.sqrt(count)
    return xr.DataArray(border + halves * half + shape, {"seed": np.arange(count)})


def decided(id: str, datasets: tuple[xr.Dataset, ...]) -> tuple[str, str]:
    """The ledger's verdict and what the controls have come to, each of which must turn its part."""
    row = decide_claim(CLAIMS[id], dict(zip(CLAIMS[id].data, datasets, strict=True))).ledger
    assert row["uncontrolled_parts"] == ""
    return row["verdict"], row["control_outcome"]


def statuses(id: str, datasets: tuple[xr.Dataset, ...], change: Callable, place: dict, values: list) -> list[str]:
    """The verdicts where what a change gives of a value stands at a place."""
    found = []
    for value in values:
        changes = change(value)
        for name, array in changes.items():
            if isinstance(array, xr.DataArray):
                changes[name] = array.sel({dim: labels for dim, labels in place.items() if dim in array.dims})
        found.append(CLAIMS[id](*changed(datasets, place, **changes)).status)
    return found


def boundary_failures(id: str, datasets: tuple[xr.Dataset, ...], cases: list[tuple]) -> list:
    """Boundaries of sampled values that do not change the verdict as they should.

    A case is what is set to x, where, boundaries of x with the verdicts below and above, and how many half-widths of
    its interval a sample is away from them (1.01 if not given); nothing is decided across the first boundary.
    """
    failed = []
    for change, place, boundaries, *off in cases:
        far = off[0] if off else 1.01
        for boundary, *wanted in boundaries:
            found = statuses(id, datasets, change, place, [samples(boundary, h) for h in (-far, far)])
            failed += [(boundary, wanted, found)] if found != wanted else []
    change, place, boundaries, *_ = cases[0]
    across = statuses(id, datasets, change, place, [samples(boundaries[0][0], h) for h in (-0.9, 0.9)])
    return failed + ([("across", across)] if across != [UNDECIDED] * 2 else [])


def case_failures(datasets: dict[str, tuple[xr.Dataset, ...]], cases: list[tuple]) -> list:
    """Cases (claim, (changes, place), verdict) in which the verdict is another one."""
    found = [
        (id, changes, place, status, CLAIMS[id](*changed(datasets[id], place, **changes)).status)
        for id, (changes, place), status in cases
    ]
    return [case for case in found if case[3] != case[4]]


SPECTRA = ["A", "A centered", "W", "W centered"]
STAGED = xr.Dataset(
    {"stage_dimension": (("teacher", "seed"), [[6, 6]]), "relative_distance": (("teacher", "seed"), [[0.1, 0.1]])},
    {"teacher": ["random ResNets"]},
)


def layer_positions(first: float, last: float, L: int = 18) -> np.ndarray:
    """p_l with densities of layers in the first and last fifth as given over the equidistant one."""
    rest = (1 - 0.2 * first - 0.2 * last) / 0.6
    counts = np.cumsum([0.0, 0.2 * first, 0.6 * rest, 0.2 * last]) * L
    return np.interp(np.arange(L + 1), counts, [0.0, 0.2, 0.8, 1.0])


def restart_measures(counts: np.ndarray, distance: float = 0.1) -> xr.Dataset:
    """Networks in which so many dimensions remain, by teacher and start."""
    places = np.repeat(counts[:, :, None], 4, axis=2).astype(float)
    variables = {"separation_place": (("teacher", "start", "spectrum_of"), places)}
    variables["relative_distance"] = (("teacher", "start"), np.full(counts.shape, distance))
    return xr.Dataset(variables, {"spectrum_of": SPECTRA, "start": np.arange(counts.shape[1])})
