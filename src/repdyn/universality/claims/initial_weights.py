"""Claims on what the theory predicts over ranges of initial weights: plateau, regimes, random features."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_most, deviation
from repdyn.universality.claims.intervals import FALSE_ALARM


def _half_growth(theory_maps: xr.Dataset) -> xr.Dataset:
    return theory_maps.assign(plateau_growth=theory_maps["plateau_growth"] / 2)


def _without_output_structure(theory_maps: xr.Dataset) -> xr.Dataset:
    return theory_maps.assign(regime_low=theory_maps["regime_low"] ** 2)


def _negative_limit(theory_maps: xr.Dataset) -> xr.Dataset:
    spoilt = -theory_maps["regime_corrected"]
    return theory_maps.assign(regime_printed=spoilt, regime_corrected=spoilt)


def _printed_law(final_distribution: xr.Dataset) -> xr.Dataset:
    return final_distribution.assign(
        corrected=final_distribution["printed"], mean_corrected=final_distribution["mean_printed"]
    )


@claim(
    "uni-eq44-48-random",
    where="A.6, eqs. (44)-(48)",
    kind="limit",
    states="With initial ratios N(G, G^2), h_inf has the distribution function Phi((h - A_low^2/h)/(sqrt(2) dx^2 G)), "
    "and its randomness vanishes as G -> 0.",
    correction="A_high ~ N(dx^2 G (1 - rho), dx^4 G^2 (1 + rho^2)), rho = tau_y/tau_h; the printed law and density are "
    "those of rho = 1. It still narrows onto A_low as G -> 0.",
    formula=(
        r"P(\|dh(\infty)\|^2 < h) = \Phi \left( \frac{h - A_{\text{low}}^2 / h}{\sqrt{2} \|x_2 - x_1\|^2 G}"
        r" \right)"
    ),
    corrected_formula=(
        r"P(\|dh(\infty)\|^2 < h) = \Phi \left( \frac{h - A_{\text{low}}^2 / h - \|x_2 - x_1\|^2 G (1 -"
        r" \rho)}{\sqrt{1 + \rho^2} \|x_2 - x_1\|^2 G} \right), \quad \rho = \frac{\tau_y}{\tau_h}"
    ),
    data="final_distribution",
    control=wrong_formula(
        "the printed distribution function and density in the place of the corrected ones, rho = 0.4 and 2.5",
        _printed_law,
    ),
)
def random_features(final_distribution: xr.Dataset) -> Verdict:
    """Distribution functions at drawn quantiles, by the inequality of Dvoretzky, Kiefer and Wolfowitz; and G -> 0."""
    level, draws = final_distribution["level"], int(final_distribution["draws"])
    cells = final_distribution.sizes["rho"] * final_distribution.sizes["gain"]
    allowed = float(np.sqrt(np.log(2 * cells / FALSE_ALARM) / (2 * draws))) + 1 / draws
    reason = f"{draws} draws in each of {cells} cells, Dvoretzky-Kiefer-Wolfowitz at a false alarm of {FALSE_ALARM:g}"
    about = {"expected": "equal to the drawn law", "reason": reason, "n": draws, "false_alarm": FALSE_ALARM}
    printed, corrected = (
        deviation(final_distribution[form] - level, allowed, **about) for form in ("printed", "corrected")
    )
    narrow = final_distribution.isel(gain=-1)
    limit = at_most(
        np.concatenate([narrow["deviation"] / narrow["low"], np.abs(narrow["mean"] / narrow["low"] - 1)]),
        0.02,
        expected="h_inf -> A_low, spread -> 0",
        reason="at G = 0.01 first order in G gives a spread below 0.014 dx^2 over A_low of 0.6 and more",
    )
    note = "A Gaussian of equal mean and deviation gives negative squared distances with probability 0.159."
    printed_mean, mean = (density_mean(final_distribution, form) for form in ("printed", "corrected"))
    return Verdict.from_tests(
        all_of(law=printed, density=printed_mean, limit=limit), all_of(law=corrected, density=mean, limit=limit), note
    )


def density_mean(final_distribution: xr.Dataset, form: str) -> Test:
    """Mean of h_inf under the density (48) against the mean of the draws, in standard errors."""
    error = final_distribution["deviation"] / np.sqrt(final_distribution["draws"])
    cells, draws = error.size, int(final_distribution["draws"])
    return deviation(
        (final_distribution[f"mean_{form}"] - final_distribution["mean"]) / error,
        float(stats.norm.ppf(1 - FALSE_ALARM / (2 * cells))),
        expected="the mean of (48) is that of the draws",
        reason=f"normal quantile for the mean of {draws} draws in each of {cells} cells",
        unit=" standard errors",
        n=draws,
        false_alarm=FALSE_ALARM,
    )


@claim(
    "uni-s41-large",
    where="Section 4.1, eq. (12)",
    kind="limit",
    states="For large initial weights, (12), the final distance converges to A_high.",
    correction="It converges to max(A_high, 0), on the scale of the initial distance; (12) does not make A_high "
    "positive, and for A_high < 0 the final distance is A_low^2/|A_high| -> 0.",
    formula=r"\|dh(\infty)\|^2 \to A_{\text{high}}",
    corrected_formula=r"\|dh(\infty)\|^2 \to \max(A_{\text{high}}, 0)",
    data="theory_maps",
    control=wrong_formula("the limit with the wrong sign", _negative_limit),
)
def large_weights(theory_maps: xr.Dataset) -> Verdict:
    """At initial ratios of 1e6, for three ratios of the rates."""
    far = theory_maps.isel(size=-1)
    scale = float(far["size"])
    reason = "the next term of (10) is A_low^2/|A_high|, 1e-12 of the initial distance, and A_low itself where rho = 1"
    printed, corrected = (
        deviation((far["regime_h"] - far[form]) / scale, 1e-5, expected="h_inf equals the limit", reason=reason)
        for form in ("regime_printed", "regime_corrected")
    )
    return Verdict.from_tests(printed, corrected)


@claim(
    "uni-s41-small",
    where="Section 4.1, eq. (13)",
    kind="limit",
    states="For small initial weights, (13), the final distance converges to A_low.",
    data="theory_maps",
    control=wrong_formula("A_low^2 in the place of A_low", _without_output_structure),
)
def small_weights(theory_maps: xr.Dataset) -> Verdict:
    """At initial ratios of 1e-6."""
    near = theory_maps.isel(size=0)
    return Verdict.from_tests(
        deviation(
            near["regime_h"] / near["regime_low"] - 1,
            1e-4,
            expected="h_inf = A_low",
            reason="the next term is A_high/(2 A_low), at most 1e-5 here",
        )
    )


@claim(
    "uni-s32-plateau",
    where="Section 3.2",
    kind="scaling",
    states="Small initial weights give a plateau, large ones immediate decay.",
    data="theory_maps",
    control=wrong_formula("half the growth rate, which puts the plateaus at half their length", _half_growth),
)
def plateau(theory_maps: xr.Dataset) -> Verdict:
    """Half time against -log scale: slope one over the growth rate; at scale 1 no plateau."""
    growth = theory_maps["plateau_growth"]
    half, scale = theory_maps["plateau_half"].values, theory_maps["scale"].values
    slope = np.diff(half)[-2:] / -np.diff(np.log(scale))[-2:] * float(growth)
    fall = theory_maps["plateau_fall"]
    return Verdict.from_tests(
        all_of(
            slope_of_half_time=deviation(
                slope - 1,
                0.01,
                expected="half time grows by 1/rate per e-fold of the scale",
                reason="scales of 0.01 and below; the next term is the scale itself",
            ),
            large=at_most(
                float(half[0] / fall[0]),
                1.5,
                expected="half time comparable to the time of the next halving",
                reason="an exponential has equal times; a plateau makes the first the longer",
            ),
        )
    )
