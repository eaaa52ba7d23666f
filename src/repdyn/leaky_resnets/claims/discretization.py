"""Claims on layer steps: Figure 2 and the adaptive rule of Section 3, on networks near critical points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, in_dataset, knock_out
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict
from repdyn.leaky_resnets.claims.over_seeds import LEAST_SEEDS, need_near_critical, positive
from repdyn.leaky_resnets.methods.selection import DECAYED, by_label, of_maps, size_and_distance

SCHEMES = ("irregular", "adaptive")
POSITIVE = 1e-9  # more than nothing: no difference at all is none


def _need_schemes(measures: xr.Dataset) -> None:
    """Five seeds with decayed maps near critical points, at every number of layers; fixed ones stay farther away."""
    require(measures, "scheme_measures", seed=LEAST_SEEDS, maps=(DECAYED,))
    need_near_critical(of_maps(measures)["distance_by_layers"], "scheme_measures")


def _logs(measures: xr.Dataset, scheme: str) -> xr.DataArray:
    """Log of the test error over that of equidistant steps, by number of layers and seed."""
    return cast("xr.DataArray", np.log(of_maps(measures)["test_ratio_by_layers"].sel(scheme=scheme)))


def _share_better(logs: xr.DataArray) -> Array:
    """Share of the numbers of layers at which a seed does better, less one half."""
    return (logs < 0).mean("layers").values - 0.5


ADVANTAGES: dict[str, tuple[Callable[[xr.DataArray], Array], float]] = {
    "mean error lower": (lambda logs: -logs.mean("layers").values, 0.0),
    "median over layers lower": (lambda logs: -logs.median("layers").values, 0.0),
    "lower more often than not": (_share_better, 0.0),
    "lower in three pairs of four": (_share_better, 0.25),
}


def _exchanged(measures: xr.Dataset) -> xr.Dataset:
    return measures.assign(test_ratio_by_layers=1 / measures["test_ratio_by_layers"])


@claim(
    "lrn-fig2a",
    where="Section 3, Figure 2a",
    words="a small but consistent ... advantage in the test error when using adaptive or irregular",
    line=290,
    assumes=r"$\tilde L = 3$, numbers of layers up to 18",
    kind="comparison",
    states="Adaptive and irregular layer steps have a small but consistent advantage in the test error.",
    control={
        "irregular": false_world("the test errors of each pair exchanged", _exchanged, recomputes=True),
        "adaptive": false_world("the test errors of each pair exchanged", _exchanged, recomputes=True),
    },
    labels={
        "irregular": "test error with irregular against equidistant layer steps",
        "adaptive": "test error with adaptive against equidistant layer steps",
    },
)
def steps_improve_the_test_error(scheme_measures: xr.Dataset) -> Verdict:
    """Each scheme against equidistant steps, paired over seeds; readings of what a consistent advantage is."""
    _need_schemes(scheme_measures)
    tests = {
        scheme: over_readings(
            lambda advantage, scheme=scheme: mean_within(
                advantage[0](_logs(scheme_measures, scheme)),
                max(advantage[1], POSITIVE),
                np.inf,
                expected="an advantage",
                reason="a sign; 'consistent' may ask for three pairs of four, chance gives one half",
            ),
            advantage=ADVANTAGES,
        )
        for scheme in SCHEMES
    }
    return Verdict.from_tests(tests, facts=_advantages(scheme_measures) | size_and_distance(scheme_measures))


def _advantages(measures: xr.Dataset) -> dict[str, Any]:
    """Mean ratio to equidistant steps by scheme, and in what share of seeds each scheme is better."""
    ratios = measures["test_ratio_by_layers"].sel(scheme=list(SCHEMES))
    means = np.exp(cast("xr.DataArray", np.log(ratios)).mean(("maps", "layers", "seed")))
    better = (of_maps(ratios) < 1).mean("seed")
    return {
        "seeds": measures.sizes["seed"],
        **by_label("mean ratio of the test error to equidistant steps", cast("xr.DataArray", means)),
        **{f"share of seeds better by number of layers, {name}": better.sel(scheme=name) for name in SCHEMES},
    }


def _dimensions(measures: xr.Dataset, position: float, large: float) -> Array:
    """Singular values above a share of the largest, layer whose middle is next to a position, per seed."""
    p, values = measures["p"].transpose("seed", "node").values, measures["weight_spectrum"]
    nearest = np.abs((p[:, 1:] + p[:, :-1]) / 2 - position).argmin(axis=1)
    spectra = values.transpose("seed", "layer", "value").values[np.arange(len(p)), nearest]
    return np.sum(spectra > large * spectra[:, :1], axis=1)


def _first_value(measures: xr.Dataset) -> xr.Dataset:
    return measures.assign(weight_spectrum=measures["weight_spectrum"].where(measures["value"] == 0, 0.0))


@claim(
    "lrn-fig2b",
    where="Section 3, Figure 2b",
    words="the weight matrices are ... roughly 6-dimensional around p = 0.3",
    line=290,
    assumes="teacher through 6 and then 3 dimensions, adaptive steps, $L = 18$",
    kind="qualitative",
    states="The weight matrices are roughly 6-dimensional around $p = 0.3$.",
    control=false_world("weights of rank one", in_dataset(0, _first_value), recomputes=True),
)
def six_dimensional_stage(scheme_measures: xr.Dataset, staged_measures: xr.Dataset) -> Verdict:
    """Large singular values of adaptive networks near critical points; readings of large, of around and of roughly."""
    require(scheme_measures, "scheme_measures", part=2)
    _need_schemes(scheme_measures)
    adaptive, wide = of_maps(scheme_measures).sel(scheme="adaptive"), int(scheme_measures["inner"][0])
    test = over_readings(
        lambda large, around, roughly: mean_within(
            _dimensions(adaptive, around, large),
            wide - roughly,
            wide + roughly,
            expected=f"{wide - roughly:g} to {wide + roughly:g} large singular values",
            reason="'roughly': one more or less, or half of the way to the other inner dimension",
        ),
        large={"a tenth of the largest": 0.1, "a fifth": 0.2, "a quarter": 0.25, "a third": 1 / 3, "a half": 0.5},
        around={"0.25": 0.25, "0.3": 0.3, "0.35": 0.35},
        roughly={"one": 1.0, "one and a half": 1.5},
    )
    by_teacher = staged_measures.mean("seed")
    return Verdict.from_tests(
        test,
        facts={
            "singular values at 0.3 above a tenth, a quarter, a half of the largest": [
                _dimensions(adaptive, 0.3, large).mean() for large in (0.1, 0.25, 0.5)
            ],
            **by_label("singular values above a quarter", by_teacher["stage_dimension"]),
            **by_label("relative distance from a critical point", by_teacher["relative_distance"]),
            **size_and_distance(scheme_measures),
        },
    )


def _density(measures: xr.Dataset, low: float, high: float) -> Array:
    """Layers in [low, high] of [0, 1] over the number that equidistant steps have, p_l interpolated, per seed."""
    p = measures["p"].transpose("seed", "node").values
    L = p.shape[1] - 1
    ends = np.array([np.interp([low, high], path, np.arange(L + 1)) for path in p])
    return (ends[:, 1] - ends[:, 0]) / ((high - low) * L)


def _more_layers(measures: xr.Dataset, low: float, high: float, against: str) -> Array:
    """Log of the density of layers in a window over that of equidistant steps, or of the network's middle."""
    adaptive = of_maps(measures).sel(scheme="adaptive")
    other = _density(adaptive, 0.4, 0.6) if against == "middle" else 1.0
    return np.log(_density(adaptive, low, high) / other)


def _equidistant(measures: xr.Dataset) -> xr.Dataset:
    return measures.assign(p=0 * measures["p"] + measures["p"].sel(scheme="equidistant"))


EQUIDISTANT = knock_out("equidistant steps: the steps do not adapt, all else equal", _equidistant)


@claim(
    "lrn-fig2b-steps",
    where="Section 3, Figure 2b",
    words="more steps especially in the beginning of the network, ... but also at the end",
    line=290,
    assumes="adaptive steps, $L = 18$",
    kind="qualitative",
    states="Adaptive steps put more layers especially in the beginning of the network, but also at the end.",
    control={"beginning": EQUIDISTANT, "end": EQUIDISTANT, "especially": EQUIDISTANT},
    labels={
        "beginning": "density of layers at the beginning, against equidistant steps or the middle",
        "end": "density of layers at the end, against equidistant steps or the middle",
        "especially": "density of layers at the beginning against that at the end",
    },
)
def more_layers_at_the_ends(scheme_measures: xr.Dataset) -> Verdict:
    """Density of layers in windows at both ends, largest number of layers; readings of window and of than what."""
    _need_schemes(scheme_measures)
    windows = {"5 %": 0.05, "10 %": 0.1, "20 %": 0.2}

    def more(values: Array) -> Test:
        return mean_within(values, POSITIVE, np.inf, expected="a log ratio above 0", reason="'more': a sign")

    def more_at(ends: Callable[[float], tuple[float, float]]) -> Test:
        return over_readings(
            lambda window, against: more(_more_layers(scheme_measures, *ends(window), against)),
            window=windows,
            against={"equidistant steps": "equidistant", "the middle fifth": "middle"},
        )

    tests = {
        "beginning": more_at(lambda window: (0.0, window)),
        "end": more_at(lambda window: (1 - window, 1.0)),
        "especially": over_readings(
            lambda window: more(
                _more_layers(scheme_measures, 0.0, window, "") - _more_layers(scheme_measures, 1 - window, 1.0, "")
            ),
            window=windows,
        ),
    }
    adaptive = of_maps(scheme_measures).sel(scheme="adaptive")
    densities = {
        f"layers over the equidistant number, first and last {name}": [
            _density(adaptive, 0.0, window).mean(),
            _density(adaptive, 1 - window, 1.0).mean(),
        ]
        for name, window in windows.items()
    }
    return Verdict.from_tests(tests, facts=densities | size_and_distance(scheme_measures))


SCHEMES_EXCHANGED = false_world(
    "adaptive and equidistant networks exchanged", exchange("scheme", "adaptive", "equidistant")
)


def _clumped(measures: xr.Dataset) -> xr.Dataset:
    steps = measures["plane_step"]
    odd = measures["layer"] % 2 == 1
    moved = 0.9 * steps.where(~odd, 0.0)
    paired = xr.where(odd, steps + moved.shift(layer=1, fill_value=0.0), steps - moved)
    return measures.assign(plane_step=xr.where(measures["scheme"] == "adaptive", paired, steps))


@claim(
    "lrn-fig2c",
    where="Caption of Figure 2, Section 3, Figure 2c",
    words=r"Observe how adaptive $\rho_{\ell}s$ appears to better spread out the steps",
    line=250,
    assumes="a plane through the paths, $L = 18$",
    kind="comparison",
    states="In a two-dimensional projection adaptive steps appear to be better spread out.",
    control=false_world(
        "adaptive steps that clump in pairs, nine tenths of each second one moved", _clumped, recomputes=True
    ),
)
def steps_are_spread_out(scheme_measures: xr.Dataset) -> Verdict:
    """Steps' lengths on the path's first two principal axes, paired; readings of spread and of better than what."""
    _need_schemes(scheme_measures)
    steps = of_maps(scheme_measures)["plane_step"]
    spreads = {
        "standard deviation": steps.std("layer"),
        "longest": steps.max("layer"),
        "shortest": 1 / steps.min("layer"),
    }
    test = over_readings(
        lambda spread, than: positive(
            np.log(spread.sel(scheme=than) / spread.sel(scheme="adaptive")).values, "adaptive steps more even"
        ),
        spread=spreads,
        than={"equidistant steps": "equidistant", "irregular steps": "irregular"},
    )
    uneven = of_maps(scheme_measures)["plane_unevenness"]
    spread = by_label("standard deviation over mean of the steps' lengths", uneven.mean("seed"))
    return Verdict.from_tests(test, facts=spread | size_and_distance(scheme_measures))


def _same_layers(measures: xr.Dataset) -> xr.Dataset:
    errors = measures["test_error_by_layers"]
    return measures.assign(test_error_by_layers=errors.isel(layers=0, drop=True) + 0 * errors)


@claim(
    "lrn-appb-layers",
    where="Appendix B, Figure 2a",
    words="larger L, ... lead to improved test performance",
    line=508,
    assumes=r"$\tilde L = 3$",
    kind="causal",
    states="More layers $L$ lead to improved test performance.",
    control=knock_out("networks of the least number of layers under every label, all else equal", _same_layers),
    remark="That singular values separate better at larger $L$, the paper's reason, is not tested.",
)
def layers_improve_the_test_error(scheme_measures: xr.Dataset) -> Verdict:
    """Exponent of the test error in L, decayed maps; readings of the scheme."""
    _need_schemes(scheme_measures)
    logs, by_layers = np.log(scheme_measures["test_error_by_layers"]), np.log(scheme_measures["layers"])
    centered = by_layers - by_layers.mean()
    slopes = of_maps((logs * centered).sum("layers") / float((centered**2).sum()))
    schemes = {str(name): slopes.sel(scheme=name) for name in slopes["scheme"].values}
    test = over_readings(
        lambda scheme: mean_within(
            scheme.values, -np.inf, -POSITIVE, expected="test error falls with $L$", reason="a sign"
        ),
        scheme={"mean over schemes": slopes.mean("scheme"), **schemes},
    )
    exponents = {f"exponent of the test error in L, {scheme}": values.mean() for scheme, values in schemes.items()}
    return Verdict.from_tests(test, facts=exponents | size_and_distance(scheme_measures))


@claim(
    "lrn-adaptive",
    where="Section 3, adaptive steps",
    words="choosing the $ρ_{ℓ}$ to guarantee that the distances ... are approximately the same for all ℓ",
    line=282,
    kind="comparison",
    states="Steps in proportion to the inverse of the relative speed make the relative changes of all layers the same.",
    formula=r"\rho_\ell \propto c_\ell^{-1} \Rightarrow \|A_\ell - A_{\ell-1}\| / \|A_\ell\| = \text{const}",
    control=SCHEMES_EXCHANGED,
)
def adaptive_steps_even_out(scheme_measures: xr.Dataset) -> Verdict:
    """Largest over least relative change of layers, mean over maps; readings."""
    require(scheme_measures, "scheme_measures", seed=LEAST_SEEDS, layers=2)
    uneven = scheme_measures["unevenness_by_layers"].mean("maps")
    adaptive = uneven.sel(scheme="adaptive")
    test = over_readings(
        lambda layers, same: mean_within(
            layers.values,
            1,
            same,
            expected=f"at most {same:g}",
            reason="steps are frozen for the last fifth of training, in which the network still moves",
        ),
        layers={"mean over numbers of layers": adaptive.mean("layers"), "most layers": adaptive.isel(layers=-1)},
        same={"within a tenth": 1.1, "within a quarter": 1.25},
    )
    equidistant = uneven.sel(scheme="equidistant").mean()
    return Verdict.from_tests(
        test, facts={"largest over least relative change of layers, equidistant steps": equidistant}
    )
