"""Building blocks of synthetic data at the boundaries of claims: samples with a given interval, changed entries.

A sample has the required interval at a claim's false-alarm rate, and it is skewed, so that its mean is neither its
median nor the middle of its range.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy import stats

from repdyn.base.claims import Claim, claims_of
from repdyn.base.decisions import decide_claim
from repdyn.pipeline.run.execute.loading import load_modules

HOLDS, CORRECTED, REFUTED = "holds", "holds as corrected", "does not hold"
READING, UNDECIDED = "depends on the reading", "not decidable at this scale"
FALSE_ALARM = 1e-3
JUST = 0.01  # how far inside and outside, of an interval's width


def skew(n: int) -> np.ndarray:
    """Values of mean 0 and standard deviation 1 whose median lies below their mean."""
    values = np.linspace(0, 1, n) ** 2
    return (values - values.mean()) / values.std(ddof=1)


def sample(low: float, high: float, n: int = 12, share: float = 1) -> np.ndarray:
    """Values whose mean has the t-interval [low, high] at the false-alarm rate 0.001 divided by `share`."""
    quantile = stats.t.ppf(1 - FALSE_ALARM / share / 2, n - 1)
    return (low + high) / 2 + (high - low) / 2 * np.sqrt(n) / quantile * skew(n)


def near(value: float, n: int = 12) -> np.ndarray:
    """Values whose interval is narrow at any false alarm, all within a ten-thousandth."""
    return value + 1e-5 * skew(n)


class Border(NamedTuple):
    """A boundary of the region that a claim allows for a sampled mean.

    Attributes:
        world: maps the sample to the claim's datasets.
        at: the boundary, on the scale on which the mean is taken.
        above: whether the claim allows values above it.
        share: number of parts that share the false alarm.
        outside: the verdict if the whole interval is outside, `across` if it crosses the boundary.
    """

    world: Callable[[np.ndarray], tuple[xr.Dataset, ...]]
    at: float
    above: bool
    share: float = 1
    width: float = 0.05
    n: int = 12
    outside: str = REFUTED
    across: str = UNDECIDED
    inside: str = HOLDS

    def cases(self) -> list[tuple[np.ndarray, str]]:
        """Samples whose interval ends just inside, begins just inside but ends across, and ends just outside."""
        side = 1 if self.above else -1
        starts = ((JUST, self.inside), (-JUST, self.across), (-1 - JUST, self.outside))
        made = []
        for start, status in starts:
            ends = sorted(self.at + side * self.width * np.array([start, start + 1]))
            made.append((sample(*ends, n=self.n, share=self.share), status))
        return made


def of(world: Callable[..., tuple[xr.Dataset, ...]], name: str) -> Callable[[np.ndarray], tuple[xr.Dataset, ...]]:
    """Datasets in which a sample is one of a world's arguments."""
    return lambda values: world(**{name: values})


def in_logs(world: Callable[[np.ndarray], tuple[xr.Dataset, ...]]) -> Callable[[np.ndarray], tuple[xr.Dataset, ...]]:
    """Datasets of ratios, of which a claim takes the geometric mean, from their logarithms."""
    return lambda logs: world(np.exp(logs))


def filled(dims: Sequence[str], shape: Sequence[int], **values: object) -> dict[str, tuple]:
    """Variables of one shape, each filled up with its values."""
    shape = tuple(shape)
    return {name: (tuple(dims), np.array(np.broadcast_to(value, shape), order="C")) for name, value in values.items()}


@cache
def claims_by_id(study: str) -> Mapping[str, Claim]:
    return {claim.id: claim for claim in claims_of(*load_modules(study, "claims"))}


def changed(
    datasets: xr.Dataset | Sequence[xr.Dataset], place: object = None, /, **values: object
) -> tuple[xr.Dataset, ...]:
    """Copies of the datasets with variables changed at a place: an index, labels by dimension, or the last entry alone.

    A value may be a function of what is there. Of a variable that several datasets hold, the position of one is
    written before its name, "1.drift".
    """
    copies = [datasets] if isinstance(datasets, xr.Dataset) else list(datasets)
    for path, value in values.items():
        position, _, name = path.rpartition(".")
        (home,) = [int(position)] if position else [at for at, data in enumerate(copies) if name in data]
        array = copies[home][name].astype(float)
        if place is None:
            array.values.flat[-1] = value
        elif isinstance(place, dict):
            array.loc[place] = value
        else:
            array.values[place] = value(array.values[place]) if callable(value) else value
        copies[home] = copies[home].assign({name: array})
    return tuple(copies)


def controls_that_do_not_turn(claim: Claim, datasets: Sequence[xr.Dataset], status: str) -> dict[str, str]:
    """Part -> outcome of the controls that are not rejected; also the verdict if it is not this one."""
    decision = decide_claim(claim, dict(zip(claim.data, datasets, strict=True)))
    rows = [row for row in decision.evidence if row["control"]]
    found = {row["part"]: row["control_outcome"] for row in rows if row["control_outcome"] != "rejected"}
    if decision.ledger["verdict"] != status:
        found["verdict"] = decision.ledger["verdict"]
    if decision.ledger["uncontrolled_parts"]:
        found["without a control"] = decision.ledger["uncontrolled_parts"]
    return found
