"""Claims on layer steps: Figure 2 and the adaptive rule of Section 3."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Verdict, all_of, mean_within
from repdyn.leaky_resnets.claims.over_seeds import judge_sampled, positive, spoken
from repdyn.leaky_resnets.methods.selection import DECAYED, of_maps, size_and_distance

SCHEMES = ("irregular", "adaptive")


def _log_ratios(measures: xr.Dataset, scheme: str) -> xr.DataArray:
    """log(test error / test error of equidistant steps), paired over seeds."""
    errors = measures["test_error_by_layers"]
    return np.log(errors.sel(scheme=scheme, drop=True) / errors.sel(scheme="equidistant", drop=True))


def _always_better(measures: xr.Dataset) -> xr.Dataset:
    errors = measures["test_error_by_layers"]
    factors = xr.DataArray([1.0, 0.95, 0.9], dims="scheme", coords={"scheme": ["equidistant", *SCHEMES]})
    return measures.assign(test_error_by_layers=errors.sel(scheme="equidistant", drop=True) * factors)


@claim(
    "lrn-fig2a",
    where="Figure 2a, Section 3",
    kind="comparison",
    states="Adaptive and irregular layer steps have a small but consistent advantage in the test error.",
    correction="No consistent one: the sign of the difference changes from seed to seed and between numbers of layers.",
    data="scheme_measures",
    control=wrong_formula("mended: test errors 5 and 10 % below the equidistant ones in every pair", _always_better),
)
def steps_improve_the_test_error(scheme_measures: xr.Dataset) -> Verdict:
    """Share of pairs (maps, number of layers) that are better, per seed; and the mean log ratio."""
    tests, told = {}, []
    for scheme in SCHEMES:
        ratios = _log_ratios(scheme_measures, scheme)
        over = [dim for dim in ratios.dims if dim != "seed"]
        tests[f"{scheme}_consistent"] = mean_within(
            (ratios < 0).mean(over).values,
            0.75,
            np.inf,
            expected="better in three of four pairs or more",
            reason="'consistent'; chance gives one half",
        )
        tests[f"{scheme}_advantage"] = mean_within(
            ratios.mean(over).values, -np.inf, 0, expected="mean log ratio below 0", reason="'advantage': a sign"
        )
        cells = product(ratios["maps"].values, ratios["layers"].values)
        wins = {cell: int((ratios.sel(maps=cell[0], layers=cell[1]) < 0).sum()) for cell in cells}
        told.append(f"{scheme} " + "; ".join(f"{maps}, L = {L}: {n}" for (maps, L), n in wins.items()))
    note = f"Better than equidistant in so many of {scheme_measures.sizes['seed']} seeds: {'. '.join(told)}."
    note += f" {size_and_distance(scheme_measures)}"
    return judge_sampled(scheme_measures.sizes["seed"], all_of(**tests), None, note)


def _six_dimensional(measures: xr.Dataset) -> xr.Dataset:
    return measures.assign(stage_dimension=0 * measures["stage_dimension"] + int(measures["inner"][0]))


@claim(
    "lrn-fig2b",
    where="Figure 2b, Section 3",
    kind="qualitative",
    states="With a teacher through 6 and then 3 dimensions the weights are roughly 6-dimensional near p = 0.3.",
    data="staged_measures",
    control=wrong_formula("mended: six large singular values in every layer", _six_dimensional),
)
def six_dimensional_stage(staged_measures: xr.Dataset) -> Verdict:
    """Singular values above a quarter of the largest, layer next to p = 0.3, the paper's teacher and penalty."""
    found, wide = staged_measures["stage_dimension"], int(staged_measures["inner"][0])
    test = mean_within(
        found.isel(teacher=0).values,
        wide - 1,
        wide + 1,
        expected=f"{wide - 1} to {wide + 1} singular values above a quarter of the largest",
        reason="'roughly': one more or less",
    )
    weak, strong = float(staged_measures["lam"].min()), float(staged_measures["lam"].max())
    means = "; ".join(f"{name} {float(found.sel(teacher=name).mean()):.3g}" for name in found["teacher"].values)
    note = (
        f"Means over seeds by teacher and penalty: {means}. Strong: {strong / weak:.3g} times the paper's. "
        + size_and_distance(staged_measures)
    )
    return judge_sampled(staged_measures.sizes["seed"], test, None, note)


def _equidistant(measures: xr.Dataset) -> xr.Dataset:
    names = ("first_fifth", "last_fifth")
    return measures.assign({name: 0 * measures[name] + measures[name].sel(scheme="equidistant") for name in names})


@claim(
    "lrn-fig2b-steps",
    where="Figure 2b, Section 3",
    kind="qualitative",
    states="Adaptive steps put more layers at the beginning especially, but also at the end.",
    correction="At the beginning only; the last fifth of [0, 1] holds no more layers than with equidistant steps.",
    formula=r"|\{\ell : p_\ell < \frac{1}{5}\}| > \frac{L}{5}, \quad |\{\ell : p_\ell > \frac{4}{5}\}| > \frac{L}{5}",
    corrected_formula=(
        r"|\{\ell : p_\ell < \frac{1}{5}\}| > \frac{L}{5}, \quad |\{\ell : p_\ell > \frac{4}{5}\}| \approx"
        r" \frac{L}{5}"
    ),
    data="scheme_measures",
    control=wrong_formula("equidistant steps", _equidistant),
)
def more_layers_at_the_ends(scheme_measures: xr.Dataset) -> Verdict:
    """Layers in the first and the last fifth over the equidistant number, largest number of layers."""
    adaptive = scheme_measures.sel(scheme="adaptive")
    found = {
        maps: tuple(of_maps(adaptive, maps)[f"{name}_fifth"].values for name in ("first", "last"))
        for maps in adaptive["maps"].values
    }
    parts = dict(zip(("beginning", "end"), np.mean(list(found.values()), axis=0), strict=True))
    tests = {
        name: mean_within(values, 1.1, np.inf, expected="over 1.1", reason="'more': a tenth; equidistant steps give 1")
        for name, values in parts.items()
    }
    end = mean_within(parts["end"], -np.inf, 1.1, expected="at most 1.1", reason="'no more': less than a tenth")
    told = "; ".join(f"{maps} {first.mean():.3g} and {last.mean():.3g}" for maps, (first, last) in found.items())
    return judge_sampled(
        scheme_measures.sizes["seed"],
        all_of(**tests),
        all_of(beginning=tests["beginning"], end=end),
        f"Mean over maps; beginning and end by maps: {told}. {size_and_distance(scheme_measures)}",
    )


def _schemes_reversed(measures: xr.Dataset) -> xr.Dataset:
    return measures.sel(scheme=measures["scheme"].values[::-1]).assign_coords(scheme=measures["scheme"].values)


@claim(
    "lrn-fig2c",
    where="Figure 2c",
    kind="comparison",
    states="In a two-dimensional projection adaptive steps are better spread out along the path. Linear maps: learned"
    " and decayed like the layers.",
    data="scheme_measures",
    control=wrong_formula("adaptive and equidistant networks exchanged", _schemes_reversed),
)
def steps_are_spread_out(scheme_measures: xr.Dataset) -> Verdict:
    """Relative spread of the steps' lengths on the path's first two principal axes, paired over seeds."""
    gained, told = {}, []
    for maps in scheme_measures["maps"].values:
        uneven = of_maps(scheme_measures, maps)["plane_unevenness"]
        spreads = {scheme: uneven.sel(scheme=scheme).values for scheme in uneven["scheme"].values}
        gained[maps] = np.log(spreads["equidistant"] / spreads["adaptive"])
        means = ", ".join(f"{scheme} {values.mean():.3g}" for scheme, values in spreads.items())
        wins = f"adaptive below equidistant in {np.sum(gained[maps] > 0)} of {len(gained[maps])} seeds"
        told.append(f"{maps}: {means}; {wins}")
    return judge_sampled(
        scheme_measures.sizes["seed"],
        positive(gained[DECAYED], "adaptive steps more even than equidistant ones"),
        None,
        f"Standard deviation over mean of the steps' lengths: {'. '.join(told)}. {size_and_distance(scheme_measures)}",
    )


def _layers_reversed(measures: xr.Dataset) -> xr.Dataset:
    layers = measures["layers"].values
    return measures.sel(layers=layers[::-1]).assign_coords(layers=layers)


@claim(
    "lrn-appb-layers",
    where="Appendix B, Figure 2a",
    kind="comparison",
    states="More layers L improve the test performance.",
    data="scheme_measures",
    control=wrong_formula("numbers of layers in reversed order", _layers_reversed),
)
def layers_improve_the_test_error(scheme_measures: xr.Dataset) -> Verdict:
    """Exponent of the test error in L, mean over maps, by scheme."""
    logs = np.log(scheme_measures["test_error_by_layers"])
    by_layers = np.log(scheme_measures["layers"])
    centred = by_layers - by_layers.mean()
    slopes = (logs * centred).sum("layers") / float((centred**2).sum())
    tests = {
        str(scheme): mean_within(
            slopes.sel(scheme=scheme).mean("maps").values,
            -np.inf,
            0,
            expected="test error falls with L",
            reason="a sign",
        )
        for scheme in slopes["scheme"].values
    }
    told = "; ".join(f"{maps} {spoken(slopes.sel(maps=maps), 2)}" for maps in slopes["maps"].values)
    note = (
        f"Exponents by maps, for {', '.join(slopes['scheme'].values)} steps: {told}. That singular values separate"
        f" better at larger L, the paper's reason, is not tested. {size_and_distance(scheme_measures)}"
    )
    return judge_sampled(scheme_measures.sizes["seed"], all_of(**tests), None, note)


def _never_adapted(measures: xr.Dataset) -> xr.Dataset:
    names = measures["scheme"].values
    return measures.sel(scheme=["equidistant"] * len(names)).assign_coords(scheme=names)


@claim(
    "lrn-adaptive",
    where="Section 3",
    kind="comparison",
    states="rho_l in proportion to 1 / c_l makes |A_l - A_{l-1}| / |A_l| the same for all layers.",
    data="scheme_measures",
    control=wrong_formula("equidistant networks", _never_adapted),
)
def adaptive_steps_even_out(scheme_measures: xr.Dataset) -> Verdict:
    """Largest over least relative change of trained networks, mean over seeds, where rho Lt < 1 does not bind."""
    uneven = scheme_measures["unevenness_by_layers"].sel(scheme="adaptive").isel(layers=slice(1, None))
    test = mean_within(
        uneven.mean(("maps", "layers")).values,
        1,
        1.1,
        expected="1",
        reason="steps are frozen for the last fifth of training, in which the network still moves",
    )
    even = scheme_measures["unevenness_by_layers"].sel(scheme="equidistant").isel(layers=slice(1, None))
    least = scheme_measures["unevenness_by_layers"].sel(scheme="adaptive").isel(layers=0)
    note = f"Equidistant steps: {float(even.mean()):.3g}. Fewest layers, where the cap rho Lt < 1 binds:"
    return judge_sampled(scheme_measures.sizes["seed"], test, None, f"{note} {float(least.mean()):.3g}.")
