"""What made-up data for claims share: the claims, samples whose interval ends at a border, one entry changed alone."""

import numpy as np
import xarray as xr
from scipy.special import stdtrit

from repdyn.base.claims import claims_of, decide_claim
from repdyn.pipeline.run.execute.loading import load_modules

CLAIMS = {claim.id: claim for claim in claims_of(*load_modules("leaky_resnets", "claims"))}
HOLDS, CORRECTED, REFUTED = "holds", "holds as corrected", "does not hold"
READING, UNDECIDED = "depends on the reading", "not decidable at this scale"
SEEDS, FALSE_ALARM = 20, 1e-3
MOST, MANY, FEW = 18, 17, 2
"""Of 20 fair coins 18 or more heads are rarer than 1 in 2000, as 2 or fewer are; 17 are not."""


def samples(border: float, halves: float, scatter: float = 1e-3, count: int = SEEDS) -> xr.DataArray:
    """Values, one per seed, with the middle of the interval of their mean so many half-widths above a border.

    Every fourth is large, so that neither the median nor the largest value stands for the mean.
    """
    shape = np.where(np.arange(count) % 4 == 0, 3.0, -1.0)
    shape = scatter * (shape - shape.mean()) / shape.std(ddof=1)
    half = stdtrit(count - 1, 1 - FALSE_ALARM / 2) * scatter / np.sqrt(count)
    return xr.DataArray(border + halves * half + shape, {"seed": np.arange(count)})


def put(datasets: tuple[xr.Dataset, ...], changes: dict, place: dict | None = None) -> tuple[xr.Dataset, ...]:
    """The datasets with variables changed at labels, or where no place is given in the last entry alone.

    A name that several of the datasets hold is written with the position of one, "1.drift".
    """
    datasets = list(datasets)
    for path, value in changes.items():
        position, name = path.split(".") if "." in path else (None, path)
        (at,) = [int(position)] if position else [at for at, data in enumerate(datasets) if name in data]
        array = datasets[at][name].astype(float)
        if place is None:
            array.values.reshape(-1)[-1] = value
        else:
            array.loc[place] = value
        datasets[at] = datasets[at].assign({name: array})
    return tuple(datasets)


def decided(id: str, datasets: tuple[xr.Dataset, ...]) -> tuple[str, str]:
    """The ledger's verdict and what the controls have come to, each of which must turn its part."""
    row = decide_claim(CLAIMS[id], dict(zip(CLAIMS[id].data, datasets, strict=True))).ledger
    assert row["uncontrolled_parts"] == ""
    return row["verdict"], row["control_outcome"]
