"""Claims on what the theory predicts over ranges of initial weights: plateau, regimes, random features."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.special import ndtri

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, replace_variables, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.sampled import spent
from repdyn.base.verdicts import Test, Verdict, all_of, at_most, deviation
from repdyn.universality.claims.intervals import FALSE_ALARM
from repdyn.universality.theory.final import large_weight_limit


@claim(
    "uni-eq44-48-random",
    where="Appendix A.6, eqs. (44)-(48)",
    line=463,
    kind_of_slip="missing hypothesis",
    assumes="both initial ratios Gaussian with mean and deviation $G$ and independent, which the paper assumes for "
    "illustration",
    words="is Gaussian ... giving us a final representational distribution",
    kind="limit",
    states="With initial ratios drawn from $N(G, G^2)$ the final distance has the distribution (47) and density (48).",
    correction=r"$A_{\text{high}} \sim N(dx^2 G (1 - \rho), dx^4 G^2 (1 + \rho^2))$; the printed law and density are "
    r"those of $\rho = 1$.",
    formula=r"P(\|dh(\infty)\|^2 < h) = \Phi \left( \frac{h - A_{\text{low}}^2 / h}{\sqrt{2} \|x_2 - x_1\|^2 G} "
    r"\right)",
    corrected_formula=r"P(\|dh(\infty)\|^2 < h) = \Phi \left( \frac{h - A_{\text{low}}^2 / h - \|x_2 - x_1\|^2 G (1 - "
    r"\rho)}{\sqrt{1 + \rho^2} \|x_2 - x_1\|^2 G} \right), \quad \rho = \frac{\tau_y}{\tau_h}",
    control={
        "law": wrong_formula(
            r"the printed law (47), right for $\rho = 1$ alone", replace_variables(corrected="printed")
        ),
        "density": wrong_formula("the printed density (48)", replace_variables(mean_corrected="mean_printed")),
    },
    message="The law of final distances holds for equal time constants only",
    cause=r"With $\rho = \tau_y/\tau_h$ the mean of $A_{\text{high}}$ is $dx^2 G (1 - \rho)$ and its variance $dx^4 "
    r"G^2 (1 + \rho^2)$; the printed law has lost the factor $\rho$.",
    consequence="Law and density change; the paper's conclusion, that randomness vanishes for small weights, stands "
    "(uni-a6-limit).",
    labels={
        "law": "distribution of the final distance, minus that of random draws",
        "density": "mean under the density minus that of the draws, in standard errors",
    },
    remark="A Gaussian of equal mean and deviation gives negative squared distances with probability 0.159.",
)
def random_features(final_distribution: xr.Dataset) -> Verdict:
    """Distribution functions at drawn quantiles, by the inequality of Dvoretzky, Kiefer and Wolfowitz."""
    level, draws = final_distribution["level"], int(final_distribution["draws"])
    cells = final_distribution.sizes["rho"] * final_distribution.sizes["gain"]
    rate = spent(FALSE_ALARM)
    allowed = float(np.sqrt(np.log(2 * cells / rate) / (2 * draws))) + 1 / draws
    reason = f"{draws} draws in each of {cells} cells, Dvoretzky-Kiefer-Wolfowitz at a false alarm of {rate:g}"
    printed, corrected = (
        deviation(
            final_distribution[form] - level,
            allowed,
            expected="equal to the drawn law",
            reason=reason,
            n=draws,
            false_alarm=rate,
        )
        for form in ("printed", "corrected")
    )
    printed_mean, mean = (density_mean(final_distribution, form) for form in ("printed", "corrected"))
    return Verdict.from_tests({"law": printed, "density": printed_mean}, {"law": corrected, "density": mean})


def density_mean(final_distribution: xr.Dataset, form: str) -> Test:
    """Mean of h_inf under the density (48) against the mean of the draws, in standard errors."""
    error = final_distribution["deviation"] / np.sqrt(final_distribution["draws"])
    cells, draws = error.size, int(final_distribution["draws"])
    return deviation(
        (final_distribution[f"mean_{form}"] - final_distribution["mean"]) / error,
        float(ndtri(1 - spent(FALSE_ALARM) / (2 * cells))),
        expected="the mean of (48) is that of the draws",
        reason=f"normal quantile for the mean of {draws} draws in each of {cells} cells",
        unit=" standard errors",
        n=draws,
        false_alarm=spent(FALSE_ALARM),
    )


@claim(
    "uni-a6-limit",
    where="Appendix A.6",
    line=475,
    words="the distribution converges, removing any randomness in the final structure",
    sought=r"From (10) $|h_\infty - A_{\text{low}}| \le |A_{\text{high}}|$ for either sign, and at equal targets, and "
    r"$A_{\text{high}}$ is of the order of $G$ with probability 1 at every ratio of the rates.",
    assumes="the limit of small initial weights, $G$ to 0, in the law of the initial ratios of A.6",
    kind="limit",
    states="As $G$ falls to 0 the distribution of the final distance converges, removing any randomness.",
    formula=r"G \to 0: \quad \|dh(\infty)\|^2 \to A_{\text{low}}",
    control=false_world("weights that stay large, $G = 0.3$ in place of 0.01", exchange("gain", 0.3, 0.01)),
    remark="The printed and the corrected law have the same limit.",
)
def randomness_vanishes(final_distribution: xr.Dataset) -> Verdict:
    """Spread and mean of the drawn final distances at the smallest G, for three ratios of the rates."""
    require(final_distribution, "final_distribution", gain=(0.3, 0.01))
    narrow = final_distribution.isel(gain=-1)
    return Verdict.from_tests(
        at_most(
            np.concatenate([narrow["deviation"] / narrow["low"], np.abs(narrow["mean"] / narrow["low"] - 1)]),
            0.02,
            expected=r"$h_\infty \to A_{\text{low}}$, spread to 0",
            reason=r"at $G = 0.01$ first order in $G$ gives a spread below $0.014 \, dx^2$, over $A_{\text{low}}$ of "
            "0.6 and more",
        )
    )


def _wrong_sign(theory_maps: xr.Dataset) -> xr.Dataset:
    """The second part of A_high with the sign +: 2 h0 - A_high, h0 the size of the initial ratios at dx = 1."""
    high = 2 * theory_maps["size"] - theory_maps["regime_high"]
    wrong = xr.zeros_like(high) + large_weight_limit(high.values)
    return theory_maps.assign(regime_printed=wrong, regime_corrected=wrong)


def _arithmetic_rates(theory_maps: xr.Dataset) -> xr.Dataset:
    """A_low with tau_y/tau_h in place of its root: low^2/D, where dx = 1."""
    squared = theory_maps["regime_low"] ** 2 / np.sqrt(float(theory_maps["dy2"]))
    return theory_maps.assign(regime_low=squared)


@claim(
    "uni-s41-large",
    where="Section 4.1, eq. (12)",
    line=170,
    kind_of_slip="missing hypothesis",
    assumes="large initial weights, (12)",
    words="the final representational distance converges to",
    kind="limit",
    states=r"For large initial weights, (12), the final distance converges to $A_{\text{high}}$.",
    correction="It converges to the positive part, on the scale of the initial distance; (12) does not make "
    r"$A_{\text{high}}$ positive, and where it is negative the final distance is $A_{\text{low}}^2/|A_{\text{high}}| "
    r"\to 0$.",
    formula=r"\|dh(\infty)\|^2 \to A_{\text{high}}",
    corrected_formula=r"\|dh(\infty)\|^2 \to \max(A_{\text{high}}, 0)",
    control=wrong_formula(
        r"$A_{\text{high}}$ with its second part added, not subtracted", _wrong_sign, recomputes=True
    ),
    message="From large weights the final distance can also fall to zero",
    cause=r"The number $A_{\text{high}}$ is a difference of two large ratios, which (12) does not make positive; "
    "where it is negative, the distance falls to 0.",
    consequence=r"The limit is the positive part of $A_{\text{high}}$, and the paper's where that number is "
    "positive.",
)
def large_weights(theory_maps: xr.Dataset) -> Verdict:
    """At initial ratios of 1e6, for three ratios of the rates."""
    far = theory_maps.isel(size=-1)
    scale = float(far["size"])
    reason = (
        r"the next term of (10) is $A_{\text{low}}^2 / |A_{\text{high}}|$, 1e-12 of the initial distance, and "
        r"$A_{\text{low}}$ itself where $\rho = 1$"
    )
    printed, corrected = (
        deviation((far["regime_h"] - far[form]) / scale, 1e-5, expected=r"$h_\infty$ equals the limit", reason=reason)
        for form in ("regime_printed", "regime_corrected")
    )
    return Verdict.from_tests(printed, corrected)


@claim(
    "uni-s41-small",
    where="Section 4.1, eq. (13)",
    line=174,
    assumes="small initial weights, (13)",
    sought=r"From (10) $|h_\infty - A_{\text{low}}| \le |A_{\text{high}}|$, and the ratios (13) bound "
    r"$|A_{\text{high}}|$; either sign and equal targets, where the limit is 0, were tried.",
    words="which depends on the input and output structure of the data",
    kind="limit",
    states=r"For small initial weights, (13), the final distance converges to $A_{\text{low}}$.",
    control=wrong_formula(
        r"$A_{\text{low}}$ with $\tau_y / \tau_h$ in place of its root", _arithmetic_rates, recomputes=True
    ),
)
def small_weights(theory_maps: xr.Dataset) -> Verdict:
    """At initial ratios of 1e-6."""
    near = theory_maps.isel(size=0)
    return Verdict.from_tests(
        deviation(
            near["regime_h"] / near["regime_low"] - 1,
            1e-4,
            expected=r"$h_\infty = A_{\text{low}}$",
            reason=r"the next term is $A_{\text{high}} / (2 A_{\text{low}})$, at most 1e-5 here",
        )
    )


def _slope_per_fold(theory_maps: xr.Dataset) -> np.ndarray:
    """Growth of the half time per e-fold of the scale, over one over the growth rate; the two smallest steps."""
    half, scale = theory_maps["plateau_half"].values, theory_maps["scale"].values
    slopes = np.diff(half, axis=1)[:, -2:] / -np.diff(np.log(scale))[-2:]
    return slopes * float(theory_maps["plateau_growth"])


def without_saddle(theory_maps: xr.Dataset) -> np.ndarray:
    """Whether a large start learns without a wait at the saddle: A_high > 0, or dy on the target's line."""
    waits = np.abs(theory_maps["direction_cosine"].values) < 1
    return (theory_maps["large_high"].values > 0)[:, None, :] | ~waits[None, :, None]


def immediate(theory_maps: xr.Dataset, chosen: np.ndarray, which: str) -> Test:
    """The larger the chosen starts, the sooner dy is learned: times at one scale over those at the scale before."""
    times = theory_maps["learning_time"].transpose("start", "direction", "large_scale").values
    ratios = (times[..., 1:] / times[..., :-1])[chosen[..., 1:]]
    return at_most(
        ratios,
        1.0,
        expected=f"sooner the larger the start, {which}",
        reason="without a plateau every rate grows with the weights, and the time falls",
    )


def _saddle_everywhere(theory_maps: xr.Dataset) -> xr.Dataset:
    """The times of starts that pass the saddle in place of all."""
    times = theory_maps["learning_time"]
    slow = times.sel(start="decoder larger", direction="across it", drop=True)
    return theory_maps.assign(learning_time=slow.broadcast_like(times).transpose(*times.dims))


PASSES_SADDLE = false_world("starts that pass the saddle in place of all", _saddle_everywhere)


@claim(
    "uni-s32-plateau",
    where="Section 3.2",
    line=124,
    kind_of_slip="missing hypothesis",
    assumes="the system (7)",
    words="whereas for large initial weights we have immediate exponential decay",
    kind="scaling",
    states="Small initial weights give a plateau, large ones immediate decay.",
    correction=r"Large ones do where $A_{\text{high}} > 0$, or where it is negative and the first output difference "
    "lies on the target's line, as with one output; otherwise the error falls to the sine of the angle, where there is "
    "a plateau again (uni-a5-decay).",
    control={
        "plateau at small weights": wrong_formula(
            "the growth rate with the mean of the two rates", replace_variables(plateau_growth="plateau_growth_wrong")
        ),
        "decay at large weights": PASSES_SADDLE,
    },
    message="Large initial weights can bring a plateau too",
    cause=r"Where $A_{\text{high}} < 0$ and the first output difference lies off the target's line, the solution waits "
    "near the saddle $h = 0$.",
    consequence=r"The sentence holds for $A_{\text{high}} > 0$, and on that line, as with one output; that small "
    "weights give a plateau remains true.",
)
def plateau(theory_maps: xr.Dataset) -> Verdict:
    """Half time against -log scale: slope one over the growth rate; at large scales sooner and sooner."""
    require(theory_maps, "theory_maps", scale=3)
    small = deviation(
        _slope_per_fold(theory_maps) - 1,
        0.01,
        expected="half time grows by 1/rate per e-fold of the scale",
        reason="scales of 0.01 and below; the next term is the scale itself",
    )
    free = without_saddle(theory_maps)
    printed, corrected = (
        all_of({"plateau at small weights": small, "decay at large weights": immediate(theory_maps, chosen, which)})
        for chosen, which in ((np.ones_like(free), "for all starts"), (free, "away from the saddle"))
    )
    return Verdict.from_tests(printed, corrected)


def _across_at_an_angle(theory_maps: xr.Dataset) -> xr.Dataset:
    """The times of starts across the target for all directions."""
    times = theory_maps["learning_time"]
    across = times.sel(direction="across it", drop=True)
    angled = np.abs(theory_maps["direction_cosine"]) == 0.5
    return theory_maps.assign(learning_time=times.where(~angled, across))


def _rate_of_small_weights(theory_maps: xr.Dataset) -> xr.Dataset:
    return theory_maps.assign(large_growth=theory_maps["plateau_growth"].broadcast_like(theory_maps["large_growth"]))


@claim(
    "uni-a5-decay",
    where="Appendix A.5",
    line=451,
    kind_of_slip="missing hypothesis",
    assumes="the limit of large initial weights",
    words="exponentially decay to zero without a plateau at large initial weights",
    kind="limit",
    states="At large initial weights the training loss decays exponentially to zero without a plateau.",
    correction=r"It does for $A_{\text{high}} > 0$. For $A_{\text{high}} < 0$ the outputs turn toward the target at a "
    r"rate that falls as the square of the weights' scale $s$: from an angle of cosine $c$, $|c| < \sqrt{3}/2$, the "
    r"error is halved after the time given; across the target the time has a factor $\ln s$ besides.",
    corrected_formula=r"A_{\text{high}} < 0: \quad \lambda_+ t \to \ln \frac{3 (1 - c^2)}{c^2} \; (0 < |c| < "
    r"\tfrac{\sqrt{3}}{2}), \quad \lambda_+ t \simeq 4 \ln s \; (c = 0), \quad \lambda_+ = "
    r"\frac{A_{\text{low}}^2}{|A_{\text{high}}| \tau_y}",
    control={
        "decay": PASSES_SADDLE,
        "across the target": wrong_formula("the growth rate of small weights at $h = 0$", _rate_of_small_weights),
        "at an angle": wrong_formula("the law of starts across the target for those at an angle", _across_at_an_angle),
    },
    message="From large weights the loss can wait on a plateau first",
    cause=r"A.5 scales the targets away, and for $A_{\text{high}} < 0$ what was scaled away decides how long the "
    "solution stays at the saddle $h = 0$.",
    consequence=r"For $A_{\text{high}} > 0$ the loss decays as the paper says; for $A_{\text{high}} < 0$ the outputs "
    "turn toward the target at a rate that falls as the square of the weights' scale.",
    labels={"decay": "time of learning over that from the next smaller start"},
)
def decay_at_large_weights(theory_maps: xr.Dataset) -> Verdict:
    """Times until dy is learned from large starts of three kinds and directions; the saddle's growth rate."""
    require(theory_maps, "theory_maps", large_scale=3)
    free = without_saddle(theory_maps)
    printed = immediate(theory_maps, np.ones_like(free), "for all starts")
    waiting = theory_maps.sel(start="decoder larger")
    slow = waiting.sel(direction="across it")
    waits = np.diff((slow["learning_time"] * slow["large_growth"]).values) / np.diff(np.log(slow["large_scale"].values))
    law = deviation(
        waits / 4 - 1,
        0.02,
        expected="time in units of the saddle's growth time rises by 4 per e-fold of the scale",
        reason="the next term falls as one over the square of the scale, 1/9 of a percent and less of what is seen",
    )
    angled = waiting.isel(large_scale=-1, direction=np.flatnonzero(np.abs(waiting["direction_cosine"].values) == 0.5))
    squared = angled["direction_cosine"] ** 2
    turning = deviation(
        angled["learning_time"] * angled["large_growth"] / np.log(3 * (1 - squared) / squared) - 1,
        0.01,
        expected=r"time in units of the saddle's growth time is $\ln(3 (1 - c^2) / c^2)$",
        reason="the next term falls as one over the square of the scale and is below a thousandth at the largest",
    )
    times = slow["learning_time"].values
    facts = {
        "time from the smallest start across the target (epochs)": times[0],
        "time from the largest start across the target (epochs)": times[-1],
    }
    return Verdict.from_tests(
        printed,
        {
            "decay": immediate(theory_maps, free, "away from the saddle"),
            "across the target": law,
            "at an angle": turning,
        },
        facts,
    )
