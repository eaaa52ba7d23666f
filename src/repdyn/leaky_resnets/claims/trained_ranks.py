"""Claims on what trained networks keep: dimensions over several starts, parts outside the image."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import UNDECIDED, Verdict, all_of, at_least, at_most
from repdyn.leaky_resnets.claims.over_seeds import ALL_MAPS, FIXED, FREE, LEAST_SEEDS, need_chains, need_near_critical
from repdyn.leaky_resnets.methods.selection import DECAYED, by_label, of_maps
from repdyn.leaky_resnets.theory.identity_cost import cost_of_identity

SPREAD = 2.5  # "by 1 or 2": whole numbers, half-way to 3


def _two_and_six(measures: xr.Dataset) -> xr.Dataset:
    counts = xr.where(measures["start"] % 2 == 1, 6, 2)
    return measures.assign(separation_place=0 * measures["separation_place"] + counts)


def _first_start(measures: xr.Dataset) -> xr.Dataset:
    places = measures["separation_place"]
    return measures.assign(separation_place=places.isel(start=0, drop=True) + 0 * places)


@claim(
    "lrn-rank-varies",
    where="Section 2.1, end",
    words="number of dimensions that are kept inside the bottleneck can vary by 1 or 2",
    line=262,
    assumes="runs on one task",
    kind="qualitative",
    states="The number of dimensions kept in the bottleneck can vary by 1 or 2.",
    control={
        "varies": false_world("every start of a teacher keeps what its first start keeps", _first_start),
        "little": false_world("two and six dimensions in turn", _two_and_six, recomputes=True),
    },
    labels={
        "varies": "largest difference of remaining dimensions among runs of one teacher",
        "little": "the same difference, against 2",
    },
)
def kept_dimension_varies(restart_measures: xr.Dataset) -> Verdict:
    """Singular values before the largest step of the centered A in the middle, starts of one teacher."""
    require(restart_measures, "restart_measures", start=LEAST_SEEDS)
    need_near_critical(restart_measures["relative_distance"], "restart_measures")
    dimensions = restart_measures["separation_place"].sel(spectrum_of="A centered").astype(int)
    spread = (dimensions.max("start") - dimensions.min("start")).values
    tests = all_of(
        varies=at_least(spread.max(), 0.5, expected="runs that differ, of one teacher", reason="whole numbers"),
        little=at_most(spread.max(), SPREAD, expected="at most 2 apart", reason="whole numbers, half-way"),
    )
    facts = {
        f"dimensions by start, teacher {place}": counts
        for place, counts in enumerate(dimensions.transpose("teacher", "start").values)
    }
    if spread.max() == 0:
        return Verdict(UNDECIDED, tests, facts=facts, why="That no run differs from another refutes no 'can'.")
    return Verdict.from_tests(tests, facts=facts)


def _without_negatives(measures: xr.Dataset) -> xr.Dataset:
    gap = cost_of_identity(np.abs(np.vander(np.linspace(-1, 1, 12), 4).T), False).gap
    return measures.assign(image_gap=gap + 0 * measures["image_gap"])


@claim(
    "lrn-image-never",
    where="Section 2.1, before Theorem 4",
    words="seems to rarely be true in practice",
    line=228,
    assumes="trained networks",
    kind="qualitative",
    states=r"The assumption $\operatorname{Im} A_p^T \subset \operatorname{Im} \sigma(A_p)^T$ is rarely true in "
    "practice.",
    formula=r"\|A_p - A_p \sigma(A_p)^+ \sigma(A_p)\| > 0",
    control=false_world(
        "representations without a part outside the image, as non-negative ones are",
        _without_negatives,
        recomputes=True,
    ),
    sought="An observation, sought to fail where it is likeliest to: with three kinds of maps, layer by layer, "
    r"the bottleneck at the largest $\tilde L$, where negative entries vanish, included. It must fail where "
    r"$A \ge 0$ and where $\sigma(A)$ has rank $N$; our networks have ten times as many points as neurons.",
    remark="Where a part of $A$ lies outside the image, cost of identity and kinetic energy are infinite.",
)
def image_is_missed(chain_measures: xr.Dataset) -> Verdict:
    """Share of layers where part of A lies outside the image, per seed; readings of maps, of rarely and of a part."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)
    gap = chain_measures["image_gap"]
    test = over_readings(
        lambda maps, outside, rarely: mean_within(
            (of_maps(gap, maps) > outside).mean([dim for dim in gap.dims if dim not in ("seed", "maps")]).values,
            1 - rarely,
            np.inf,
            expected=f"missed in all but {rarely:.0%} of the layers",
            reason="'rarely true'; 1e-5 is the root of the tolerance 1e-10 on ranks",
        ),
        maps=ALL_MAPS,
        outside={"over 1e-5 of $A$": 1e-5, "over 1e-4": 1e-4},
        rarely={"in a tenth": 0.1, "in a quarter": 0.25},
    )
    typical = by_label("median share of A outside the image", gap.median([dim for dim in gap.dims if dim != "maps"]))
    return Verdict.from_tests(test, facts=typical)
