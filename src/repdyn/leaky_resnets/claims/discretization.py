"""Claims on layer steps: Figure 2 and the adaptive rule of Section 3, on networks near critical points."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, in_dataset, reverse
from repdyn.base.datasets import require
from repdyn.base.verdicts import Test, Verdict, all_of, mean_within
from repdyn.leaky_resnets.claims.over_seeds import LEAST_SEEDS, need_near_critical, positive
from repdyn.leaky_resnets.methods.selection import DECAYED, of_maps, size_and_distance

SCHEMES = ("irregular", "adaptive")


def _need_schemes(measures: xr.Dataset) -> None:
    """Five seeds with decayed maps near critical points, at every number of layers; fixed ones stay farther away."""
    require(measures, "scheme_measures", seed=LEAST_SEEDS, maps=(DECAYED,))
    need_near_critical(of_maps(measures)["distance_by_layers"], "scheme_measures")


def _consistent(measures: xr.Dataset) -> Test:
    ratios = np.log(of_maps(measures)["test_ratio_by_layers"].sel(scheme=list(SCHEMES)))
    share = (ratios < 0).mean([dim for dim in ratios.dims if dim != "seed"])
    return mean_within(
        share.values,
        0.75,
        np.inf,
        expected="better than equidistant in three of four pairs or more",
        reason="'consistent'; chance gives one half",
    )


def _other_outcome(measures: xr.Dataset) -> xr.Dataset:
    """The worse of each pair where the statement passes, the better one elsewhere."""
    ratio = measures["test_ratio_by_layers"]
    chosen = np.maximum if _consistent(measures).outcome == "passes" else np.minimum
    return measures.assign(test_ratio_by_layers=chosen(ratio, 1 / ratio) ** 2)


@claim(
    "lrn-fig2a",
    where="Section 3, Figure 2a",
    words="a small but consistent ... advantage in the test error when using adaptive or irregular",
    line=290,
    assumes=r"$\tilde L = 3$, numbers of layers up to 18",
    kind="comparison",
    states="Adaptive and irregular layer steps have a small but consistent advantage in the test error.",
    correction="No consistent one: the sign of the difference changes from seed to seed and between numbers of layers.",
    data="scheme_measures",
    control=false_world("test errors of each pair exchanged where that turns the outcome", _other_outcome),
)
def steps_improve_the_test_error(scheme_measures: xr.Dataset) -> Verdict:
    """Share of pairs (scheme, number of layers) that are better than equidistant steps, per seed; decayed maps."""
    _need_schemes(scheme_measures)
    ratios, words = scheme_measures["test_ratio_by_layers"], []
    for scheme in SCHEMES:
        logs = np.log(ratios.sel(scheme=scheme))
        wins = (logs < 0).sum("seed")
        cells = "; ".join(
            f"{maps}: {', '.join(f'$L = {L}$: {int(wins.sel(maps=maps, layers=L))}' for L in wins['layers'].values)}"
            for maps in wins["maps"].values
        )
        words.append(f"{scheme}, mean ratio {float(np.exp(logs.mean())):.3g}: {cells}")
    note = f"Better than equidistant in so many of {scheme_measures.sizes['seed']} seeds: {'. '.join(words)}."
    return Verdict.from_tests(_consistent(scheme_measures), None, f"{note} {size_and_distance(scheme_measures)}")


def _middle_for_stage(measures: xr.Dataset) -> xr.Dataset:
    middle = measures["weight_dimension"].isel(layer=measures.sizes["layer"] // 2)
    return measures.assign(stage_dimension=middle + 0 * measures["stage_dimension"])


@claim(
    "lrn-fig2b",
    where="Section 3, Figure 2b",
    words="the weight matrices are ... roughly 6-dimensional around p = 0.3",
    line=290,
    assumes="teacher through 6 and then 3 dimensions, adaptive steps, $L = 18$",
    kind="qualitative",
    states="With a teacher through 6 and then 3 dimensions the weights are roughly 6-dimensional near $p = 0.3$.",
    data=("scheme_measures", "staged_measures"),
    control=false_world("the middle of the network in the place of $p = 0.3$", in_dataset(0, _middle_for_stage)),
)
def six_dimensional_stage(scheme_measures: xr.Dataset, staged_measures: xr.Dataset) -> Verdict:
    """Singular values above a quarter of the largest, layer next to p = 0.3, adaptive steps, near critical points."""
    require(scheme_measures, "scheme_measures", part=2)
    _need_schemes(scheme_measures)
    values, wide = of_maps(scheme_measures)["stage_dimension"].sel(scheme="adaptive"), int(scheme_measures["inner"][0])
    test = mean_within(
        values.values,
        wide - 1,
        wide + 1,
        expected=f"{wide - 1} to {wide + 1} singular values above a quarter of the largest",
        reason="'roughly': one more or less",
    )
    means = "; ".join(
        f"{name} {float(staged_measures['stage_dimension'].sel(teacher=name).mean()):.3g}"
        f" (distance {float(staged_measures['relative_distance'].sel(teacher=name).mean()):.2g})"
        for name in staged_measures["teacher"].values
    )
    note = f"By teacher and penalty, with the distance from critical points: {means}."
    return Verdict.from_tests(test, None, f"{note} {size_and_distance(scheme_measures)}")


def _fifths(measures: xr.Dataset) -> dict[str, Test]:
    adaptive = of_maps(measures).sel(scheme="adaptive")
    return {
        name: mean_within(
            adaptive[f"{fifth}_fifth"].values,
            1.1,
            np.inf,
            expected="over 1.1",
            reason="'more': a tenth; equidistant steps give 1",
        )
        for name, fifth in (("beginning", "first"), ("end", "last"))
    }


def _equidistant(measures: xr.Dataset) -> xr.Dataset:
    names = ("first_fifth", "last_fifth")
    return measures.assign({name: 0 * measures[name] + measures[name].sel(scheme="equidistant") for name in names})


def _end_like_beginning(measures: xr.Dataset) -> xr.Dataset:
    """For the end: the beginning's layers where it fails, equidistant steps elsewhere."""
    if _fifths(measures)["end"].outcome == "fails":
        return measures.assign(last_fifth=measures["first_fifth"])
    return _equidistant(measures)


@claim(
    "lrn-fig2b-steps",
    where="Section 3, Figure 2b",
    words="more steps especially in the beginning of the network, ... but also at the end",
    line=290,
    assumes="adaptive steps, $L = 18$",
    kind="qualitative",
    states="Adaptive steps put more layers at the beginning especially, but also at the end.",
    correction="At the beginning only: the last fifth of $[0, 1]$ holds no more layers than with equidistant steps.",
    formula=r"|\{\ell : p_\ell < \frac{1}{5}\}| > \frac{L}{5}, \quad |\{\ell : p_\ell > \frac{4}{5}\}| > \frac{L}{5}",
    data="scheme_measures",
    control={
        "beginning": false_world("equidistant steps", _equidistant),
        "end": false_world("equidistant steps, or as many layers at the end as at the beginning", _end_like_beginning),
    },
)
def more_layers_at_the_ends(scheme_measures: xr.Dataset) -> Verdict:
    """Layers in the first and the last fifth over the equidistant number, largest number of layers."""
    _need_schemes(scheme_measures)
    adaptive = scheme_measures.sel(scheme="adaptive")
    words = "; ".join(
        f"{maps} {float(of_maps(adaptive, maps)['first_fifth'].mean()):.3g} and"
        f" {float(of_maps(adaptive, maps)['last_fifth'].mean()):.3g}"
        for maps in adaptive["maps"].values
    )
    note = f"Beginning and end by maps: {words}. {size_and_distance(scheme_measures)}"
    return Verdict.from_tests(all_of(**_fifths(scheme_measures)), None, note)


SCHEMES_EXCHANGED = false_world(
    "adaptive and equidistant networks exchanged", exchange("scheme", "adaptive", "equidistant")
)


@claim(
    "lrn-fig2c",
    where="Caption of Figure 2, Section 3, Figure 2c",
    words=r"Observe how adaptive $\rho_{\ell}s$ appears to better spread out the steps",
    line=250,
    assumes="a plane through the paths, $L = 18$",
    kind="comparison",
    states="In a two-dimensional projection adaptive steps are better spread out along the path. Linear maps: learned"
    " and decayed like the layers.",
    data="scheme_measures",
    control=SCHEMES_EXCHANGED,
)
def steps_are_spread_out(scheme_measures: xr.Dataset) -> Verdict:
    """Relative spread of the steps' lengths on the path's first two principal axes, paired over seeds."""
    _need_schemes(scheme_measures)
    gained, words = {}, []
    for maps in scheme_measures["maps"].values:
        spread = of_maps(scheme_measures, maps)["plane_unevenness"]
        gained[maps] = np.log(spread.sel(scheme="equidistant") / spread.sel(scheme="adaptive")).values
        means = ", ".join(
            f"{scheme} {float(spread.sel(scheme=scheme).mean()):.3g}" for scheme in spread["scheme"].values
        )
        wins = f"adaptive below equidistant in {np.sum(gained[maps] > 0)} of {len(gained[maps])} seeds"
        words.append(f"{maps}: {means}; {wins}")
    note = (
        f"Standard deviation over mean of the steps' lengths: {'. '.join(words)}. {size_and_distance(scheme_measures)}"
    )
    return Verdict.from_tests(positive(gained[DECAYED], "adaptive steps more even than equidistant ones"), None, note)


@claim(
    "lrn-appb-layers",
    where="Appendix B, Figure 2a",
    words="larger L, ... lead to improved test performance",
    line=508,
    assumes=r"$\tilde L = 3$",
    kind="comparison",
    states="More layers $L$ improve the test performance.",
    data="scheme_measures",
    control=false_world("numbers of layers in reversed order", reverse("layers")),
)
def layers_improve_the_test_error(scheme_measures: xr.Dataset) -> Verdict:
    """Exponent of the test error in L, mean over schemes, decayed maps."""
    _need_schemes(scheme_measures)
    logs, by_layers = np.log(scheme_measures["test_error_by_layers"]), np.log(scheme_measures["layers"])
    centered = by_layers - by_layers.mean()
    slopes = (logs * centered).sum("layers") / float((centered**2).sum())
    test = mean_within(
        of_maps(slopes).mean("scheme").values, -np.inf, 0, expected="test error falls with $L$", reason="a sign"
    )
    words = "; ".join(
        f"{maps} "
        + ", ".join(
            f"{scheme} {float(slopes.sel(maps=maps, scheme=scheme).mean()):.2g}" for scheme in slopes["scheme"].values
        )
        for maps in slopes["maps"].values
    )
    note = (
        f"Exponents: {words}. That singular values separate better at larger $L$, the paper's reason, is not tested. "
        f"{size_and_distance(scheme_measures)}"
    )
    return Verdict.from_tests(test, None, note)


@claim(
    "lrn-adaptive",
    where="Section 3, adaptive steps",
    words="choosing the ρ_{ℓ} to guarantee that the distances ... are approximately the same for all ℓ",
    line=282,
    kind="comparison",
    states="Steps in proportion to the inverse of the relative speed make the relative changes of all layers the same.",
    formula=r"\rho_\ell \propto c_\ell^{-1} \Rightarrow \|A_\ell - A_{\ell-1}\| / \|A_\ell\| = \text{const}",
    data="scheme_measures",
    control=SCHEMES_EXCHANGED,
)
def adaptive_steps_even_out(scheme_measures: xr.Dataset) -> Verdict:
    """Largest over least relative change of trained networks, mean over seeds, where rho Lt < 1 does not bind."""
    require(scheme_measures, "scheme_measures", seed=LEAST_SEEDS, layers=2)
    uneven = scheme_measures["unevenness_by_layers"]
    enough = uneven.isel(layers=slice(1, None))
    test = mean_within(
        enough.sel(scheme="adaptive").mean(("maps", "layers")).values,
        1,
        1.1,
        expected="1",
        reason="steps are frozen for the last fifth of training, in which the network still moves",
    )
    even = float(enough.sel(scheme="equidistant").mean())
    least = float(uneven.sel(scheme="adaptive").isel(layers=0).mean())
    note = rf"Equidistant steps: {even:.3g}. Fewest layers, where the cap $\rho \tilde L < 1$ binds: {least:.3g}."
    return Verdict.from_tests(test, None, note)
