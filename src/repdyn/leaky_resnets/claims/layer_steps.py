"""Claims on irregular layer steps, in exact fractions (Section 3)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import replace_variables, wrong_formula
from repdyn.base.verdicts import Verdict, deviation


@claim(
    "lrn-rho-sum",
    where="Section 3, irregular steps",
    words=r"layer-steps $ρ_1, \ldots, ρ_L$ with $\sum \rho_\ell = 1$ ... one can choose $\rho_{\ell} = "
    r"\frac{1}{L} + \frac{a}{L}(\frac{1}{4} - \left|\frac{\ell}{L} - \frac{1}{2}\right|)$",
    line=266,
    kind_of_slip="missing hypothesis",
    kind="identity",
    states="The irregular layer steps that the paper gives have the sum 1 that layer steps are to have.",
    correction=r"For even $L$, as 18 and 20 are; for odd $L$ the sum is short by $a / (4 L^2)$. With $\ell - \frac12$ "
    r"for $\ell$, divided by their sum, they are symmetric too.",
    formula=r"\rho_\ell = \frac{1}{L} + \frac{a}{L} \left( \frac{1}{4} - \left| \frac{\ell}{L} - \frac{1}{2} \right| "
    r"\right), \quad \sum_{\ell=1}^{L} \rho_\ell = 1",
    corrected_formula=r"\sum_{\ell=1}^{L} \rho_\ell = 1 - \frac{a}{4 L^2} \text{ for odd } L, \quad \rho_\ell \propto "
    r"1 + a \left( \frac{1}{4} - \left| \frac{\ell - 1/2}{L} - \frac{1}{2} \right| \right)",
    control={
        "odd": wrong_formula(
            "$a / (4 L)$ in place of $a / (4 L^2)$",
            lambda steps: steps.assign(excess=steps["excess"] * steps["layer_count"]),
            recomputes=True,
        ),
        "symmetry": wrong_formula(
            "the printed steps in place of the symmetric ones", replace_variables(corrected_asymmetry="asymmetry")
        ),
        "code": wrong_formula(
            "the symmetric steps in place of the printed ones", replace_variables(float_error="symmetric_error")
        ),
    },
    message="The irregular layer steps sum to 1 for even depths only",
    cause=r"The sum of $|\ell - L/2|$ over the layers is $L^2/4$ for even $L$, but $(L^2 + 1)/4$ for odd.",
    consequence="The paper's depths 18 and 20 are even and not touched; for odd $L$ the sum is short by $a/(4 L^2)$.",
    labels={
        "": "sum of the layer steps minus 1, as exact fractions",
        "odd": "sum of the printed steps, minus the sum by the correction",
        "symmetry": "difference of the first and the last corrected step, times $L$",
        "code": "printed steps as the code computes them, minus exact ones",
    },
)
def irregular_steps_sum(step_schemes: xr.Dataset) -> Verdict:
    """Exact fractions."""
    steps = step_schemes
    L, a = steps["layer_count"], steps["irregularity"]
    printed = deviation(steps["excess"], 1e-15, expected="sum 1", reason="exact fractions")
    corrected = {
        "odd": deviation(
            steps["excess"] + (L % 2) * a / (4 * L**2), 1e-15, expected="$-a / (4 L^2)$ for odd $L$", reason="exact"
        ),
        "symmetry": deviation(
            steps["corrected_asymmetry"], 1e-12, expected="first step equal to the last", reason="round-off"
        ),
        "code": deviation(steps["float_error"], 1e-15, expected="the code's steps", reason="round-off"),
    }
    worst = abs(steps["asymmetry"]).max()
    return Verdict.from_tests(
        printed, corrected, {"largest difference of the first and the last printed step, times L": worst}
    )


HIGHER_PEAK = wrong_formula(
    "steps that peak at $1 + a/2$",
    lambda steps: steps.assign(cap=steps["cap"] + steps["irregularity"] / 4),
    recomputes=True,
)


@claim(
    "lrn-rho-cap",
    where="Section 3, irregular steps",
    words=r"To guarantee $\rho_{\ell} \tilde{L} < 1$, we need $L > (1 + a \frac{1}{4}) \tilde{L}$",
    line=280,
    assumes=r"even $L$, where $\ell / L = 1 / 2$ is reached",
    kind="bound",
    states=r"The irregular steps have $\rho_\ell \tilde L < 1$ if $L > (1 + a/4) \tilde L$, and need it.",
    control={"enough": HIGHER_PEAK, "needed": HIGHER_PEAK},
    labels={
        "enough": "what $L$ times the largest step has above $1 + a/4$",
        "needed": "$L$ times the largest step at even $L$, minus $1 + a/4$",
    },
    remark="At odd $L$ the largest step is $(1 + a/4 - a/(2 L)) / L$: slightly fewer layers do.",
)
def steps_stay_below_the_leak(step_schemes: xr.Dataset) -> Verdict:
    """L max rho_l against 1 + a/4, exact fractions."""
    steps = step_schemes
    even = steps["cap"].where(steps["layer_count"] % 2 == 0, drop=True)
    test = {
        "enough": deviation(
            np.maximum(steps["cap"], 0), 1e-15, expected="no step above $(1 + a/4) / L$", reason="exact fractions"
        ),
        "needed": deviation(even, 1e-15, expected="equality at even $L$", reason="exact fractions"),
    }
    return Verdict.from_tests(test)
