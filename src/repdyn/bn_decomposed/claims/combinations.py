"""Claims on recentering, rescaling and ReLU in combination: Figure 1 and the Abstract."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, knock_out
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict
from repdyn.bn_decomposed.claims.infinite_width import batches_from
from repdyn.bn_decomposed.claims.odd_point import CLUSTER, FAR_AWAY, LARGE_BATCH, cluster_and_odd

ODD: dict[str, int | str] = {"recenter": 1, "rescale": "none", "relu": 1}
RESCALED: dict[str, int | str] = {"recenter": 1, "rescale": "std", "relu": 1}
GEOMETRY = ("odd_angle", "second_to_first", "intra_angle")


def rescaling_exchanged(ablation: xr.Dataset) -> xr.Dataset:
    """Exchanges RC + ReLU with and without RS."""
    swapped = ablation.copy(deep=True)
    for name in GEOMETRY:
        for place, source in ((ODD, RESCALED), (RESCALED, ODD)):
            swapped[name].loc[place] = ablation[name].sel(source, drop=True)
    return swapped


EXCHANGED = false_world("networks with and without rescaling exchanged", rescaling_exchanged)


def rescaled_and_shallow(ablation: xr.Dataset, odd_point: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Takes networks with rescaling for those without, and the first layer where there are none with rescaling."""
    rescaled = ablation.copy(deep=True)
    for name in GEOMETRY:
        rescaled[name].loc[ODD] = ablation[name].sel(RESCALED, drop=True)
    return rescaled, odd_point.isel(layer=[0])


def _combination(ablation: xr.Dataset, place: dict[str, int | str]) -> xr.Dataset:
    """The last layer of one combination, as one batch size of `odd_point`."""
    return ablation.isel(layer=-1).sel(place).expand_dims(batch=[int(ablation["point_count"])])


@claim(
    "bnd-fig1-ablation",
    where="Abstract; Figure 1; Section III",
    line=7,
    assumes="recentering and the non-linearity without rescaling, as the Discussion says; the Abstract names no batch",
    words="converges to a single cluster except for an odd data point that breaks far away",
    kind="qualitative",
    kind_of_slip="missing hypothesis",
    states="Recentering and the non-linearity together send the representation of a batch to a single cluster, except "
    "for one odd point far away in an orthogonal direction.",
    correction="For batches of sixteen points and more: with fewer the cluster is wide or there is no odd point "
    "(bnd-fig3). With rescaling there is none (bnd-fig1-others).",
    control=dict.fromkeys(
        ("without the others", "larger batches"),
        false_world("networks with rescaling, and the first layer for the last", rescaled_and_shallow),
    ),
)
def recentering_and_relu_make_an_odd_point(ablation: xr.Dataset, odd_point: xr.Dataset) -> Verdict:
    """Longer than the next and orthogonal to the rest, which are close to each other, in batches of all sizes."""
    last = odd_point.isel(layer=-1)
    batches = {f"{n} points": last.sel(batch=[n]) for n in last["batch"].values.tolist()}
    batches[f"{int(ablation['point_count'])} points, as in Figure 1"] = _combination(ablation, ODD)
    return Verdict.from_tests(
        over_readings(
            lambda batch, ratio, cluster: cluster_and_odd(batch, ratio=ratio, cluster=cluster),
            batch=batches,
            ratio=FAR_AWAY,
            cluster=CLUSTER,
        ),
        {
            "without the others": cluster_and_odd(_combination(ablation, ODD)),
            "larger batches": cluster_and_odd(batches_from(last, "odd_point", LARGE_BATCH)),
        },
    )


def _switched_off(component: str) -> Callable[[xr.Dataset], xr.Dataset]:
    def off(ablation: xr.Dataset) -> xr.Dataset:
        alone = ablation.copy(deep=True)
        for name in GEOMETRY:
            alone[name].loc[ODD] = ablation[name].sel({**ODD, component: 0}, drop=True)
        return alone

    return off


COMPONENTS = {"recentering": "recenter", "the non-linearity": "relu"}


@claim(
    "bnd-fig1-cause",
    where="Abstract; Figure 1",
    line=7,
    assumes="no rescaling; one batch of images of similar norms, the same weights with and without a component",
    words="When these two components are present, we observe a curious behavior at initialization",
    kind="causal",
    states="One point breaks away from the others when recentering and the non-linearity are present, and not without "
    "either of them.",
    control={
        part: knock_out(f"{words} switched off, same batch and weights", _switched_off(COMPONENTS[words]))
        for part, words in (("by recentering", "recentering"), ("by the non linearity", "the non-linearity"))
    },
    labels={"by recentering": "gain of the largest norm's lead that recentering adds, in binary logarithms"},
)
def both_components_are_needed(ablation: xr.Dataset) -> Verdict:
    """How much longer the longest point is with both components than with one, same weights."""
    ratio = ablation["second_to_first"].isel(layer=-1)
    longer = -np.log2(ratio.sel(ODD))

    def by(component: str) -> Test:
        alone = -np.log2(ratio.sel({**ODD, component: 0}))
        return over_readings(
            lambda factor: mean_within(
                longer - alone,
                np.log2(1 / factor),
                np.inf,
                expected=f"binary logarithm of the gain above {np.log2(1 / factor):g}",
                reason="as many times as long beside the next point as with one component, under this reading",
            ),
            factor=FAR_AWAY,
        )

    return Verdict.from_tests(
        {"by recentering": by("recenter"), "by the non linearity": by("relu")},
        facts={
            f"mean of longest over second longest norm, {name}": (1 / ratio.sel(place)).mean()
            for name, place in {
                "both components": ODD,
                "without recentering": {**ODD, "recenter": 0},
                "without ReLU": {**ODD, "relu": 0},
            }.items()
        },
    )


@claim(
    "bnd-fig1-others",
    where="Introduction, beside Figure 1",
    kind="qualitative",
    origin="ours",
    states="From a batch of similar norms, no other combination of recentering, rescaling and ReLU makes a point "
    "twice as long as the others.",
    control=EXCHANGED,
    labels={"": "second largest over largest norm, the least of all other combinations"},
    assumes="batches of sixteen images, whose norms are similar; Gaussian weights, no biases, one width; for the "
    "other combinations the smallest ratio of second to first norm, averaged over draws",
    remark="It creates no such point, but keeps an existing one: where nothing rescales, an input five times as long "
    "as the others is still about four times as long after a hundred layers, with ReLU or recentering alone or with "
    "neither.",
)
def no_other_combination_makes_an_odd_point(ablation: xr.Dataset) -> Verdict:
    """Second over first norm in every other combination, the smallest in each draw."""
    ratio = ablation.isel(layer=-1)["second_to_first"].stack(configuration=("recenter", "rescale", "relu"))
    odd = np.array([key == tuple(ODD.values()) for key in ratio["configuration"].values])
    others = ratio.isel(configuration=~odd).min("configuration")
    return Verdict.from_tests(
        mean_within(others, 0.5, 1, expected="above 1/2", reason="no point twice as long as the next")
    )
