"""Claims of section 3.2 of Ma and Ying on well-posedness: the estimate before eq. (20), stability, regular values."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_labels, replace_variables, wrong_formula
from repdyn.base.verdicts import Verdict, at_most, deviation, not_testable


@claim(
    "bnm-thm4-bl",
    where="Section 3.2, Theorem 4, proof, display before II",
    words=r"the last inequality follows from the bound of $a\sigma(\bar{\mathbf{b}}^T\mathbf{x})$",
    line=319,
    assumes=r"Assumption 2; $|a| \le r$; $\|\cdot\|_{BL}$ is the supremum over functions bounded by 1 and 1-Lipschitz",
    kind="bound",
    kind_of_slip="slip in a proof",
    states=r"The integral of $a \sigma(\bar b^T x)$ changes by at most its supremum times the bounded-Lipschitz "
    "distance.",
    correction=r"The larger of its supremum and its Lipschitz constant on $\mathcal M$ times the distance; with one "
    "constant for both the proof holds.",
    formula=r"\left| \int a \sigma(\bar b^T x)(d\bar\rho_m - d\bar\rho) \right| \le r (\sigma(0) + L_\sigma C_b C_x) "
    r"\|\bar\rho_m - \bar\rho\|_{BL}",
    corrected_formula=r"\left| \int a \sigma(\bar b^T x)(d\bar\rho_m - d\bar\rho) \right| \le \max\left( r M, "
    r"\sqrt{M^2 + (r L_\sigma C_x C_b)^2 \frac{(k+1)^2}{4 k}} \right) \|\bar\rho_m - \bar\rho\|_{BL}",
    control=wrong_formula("the supremum alone in the corrected form", replace_variables(constant="constant_printed")),
    message="The constant of the estimate leaves out the function's slope",
    cause="The bounded-Lipschitz distance wants the larger of supremum and Lipschitz constant; the supremum alone "
    "is printed, and for small $r$ the slope in $a$ exceeds it.",
    consequence="With one constant for both the proof holds.",
    sought="Point masses are extreme: pairs that differ in $a$ alone, or in $b$ alone across the steepest input. "
    r"The corrected constant is the Lipschitz constant on $\mathcal M_r$ or the supremum, and the dual norm's "
    "definition gives it for all measures.",
)
def bounded_lipschitz_estimate(well_posedness: xr.Dataset) -> Verdict:
    """Pairs of point masses, whose distance is known, on bounded data; ratio of both sides over all radii."""
    per_distance = well_posedness["change"] / well_posedness["distance"]
    printed, corrected = (per_distance / well_posedness[name] for name in ("constant_printed", "constant"))
    largest = float(well_posedness["radius"].where(printed.max("draw") > 1).max())
    return Verdict.from_tests(
        at_most(printed, 1, expected="at most the supremum times the distance", reason="a bound"),
        at_most(corrected, 1, expected="at most the larger constant times the distance", reason="a bound"),
        facts={"largest $r$ at which the printed constant fails": largest},
    )


def _exponent(well_posedness: xr.Dataset, activation: str, name: str = "gap_at_end") -> float:
    """Exponent of the distance of two flows in the angle between their starts."""
    ends = well_posedness[name].sel(activation=activation)
    return float(np.polyfit(np.log(well_posedness["gap"].values), np.log(ends.values), 1)[0])


@claim(
    "bnm-abstract-wellposed",
    where="Abstract; Section 3.2, after the proof of Theorem 4",
    words="Theoretical analysis are provided on the well-posedness and convergence of the Wasserstein gradient flow",
    line=9,
    assumes=r"Assumption 2, and $\mathbb{E} |\ell'(0, y)|$ finite; for convergence Assumption 3; well-posed as "
    "usual: existence, uniqueness, stability (as existence alone, which is what section 3.2 shows, it is "
    "bnm-thm4-conv)",
    kind="limit",
    kind_of_slip="missing hypothesis",
    states="The Wasserstein gradient flow is well-posed: solutions exist, are unique, and depend stably on the "
    "initial condition.",
    correction=r"With $\sigma'$ Lipschitz, which Assumption 3 has, the flow exists, is unique, and $W_1(\rho_t, "
    r"\rho'_t) \le e^{C_t t} W_1(\rho_0, \rho'_0)$, by proof. Under Assumption 2 alone existence and uniqueness fail "
    "(ReLU, point data).",
    control=false_world(
        "ReLU, whose derivative jumps, in the corrected form", replace_labels("activation", {"erf": "relu"})
    ),
    message="Existence and uniqueness fail under Assumption 2 alone",
    cause=r"With ReLU, $\sigma'(0) = 0$ and point data a neuron on an edge may rest or leave, and both solve (15); "
    "with other points and labels both sides drive it to an edge from which (14) would drive it away although "
    "nothing does.",
    consequence=r"With a Lipschitz $\sigma'$, as in Assumption 3, the flow is unique and depends stably on its "
    "initial condition, by a proof of ours; it exists by Theorem 4 (bnm-thm4-conv).",
    sought="Found, for existence and for uniqueness, by labels at two points on one edge. The corrected form is "
    "proved (Gronwall, study's page): velocities that are Lipschitz in the particle and in the measure leave no "
    "room for kinks or atoms of the start.",
    labels={"": "exponent of the angle between two solutions in that of their starts, minus 1"},
)
def flow_is_well_posed(well_posedness: xr.Dataset) -> Verdict:
    """One neuron at the edge of an input's half-space and neurons a small angle away: do the flows stay close?"""
    reason = "a Lipschitz flow keeps small angles in proportion, exponent 1; two solutions from one start have 0"
    tests = {
        name: deviation(_exponent(well_posedness, name) - 1, 0.05, expected="proportional angles", reason=reason)
        for name in ("relu", "erf")
    }
    ends = well_posedness["gap_at_end"].isel(gap=0)
    gap, relu, erf = float(ends["gap"]), *(float(ends.sel(activation=name)) for name in ("relu", "erf"))
    return Verdict.from_tests(
        tests["relu"],
        tests["erf"],
        {
            "distance of the starts (radian)": gap,
            "distance at the end, ReLU (radian)": relu,
            "distance at the end, erf (radian)": erf,
            "turning speed left of, on and right of an edge without a solution": well_posedness["sliding_rate"].values,
        },
    )


@claim(
    "bnm-uniqueness",
    where="Section 3.2, beside Theorem 4 (ours)",
    kind="scaling",
    origin="ours",
    assumes=r"Assumption 2; $\mathbb{E} |\ell'(0, y)|$ finite; solutions whose supports stay bounded in bounded times",
    states=r"With $\sigma'$ bounded and Lipschitz (15) has one solution from each start of bounded support, it "
    "depends on the start in proportion, and in Theorem 4 the whole sequence converges.",
    formula=r"W_1(\bar\rho_t, \bar\rho'_t) \le e^{C_t t}\, W_1(\bar\rho_0, \bar\rho'_0)",
    control=false_world("ReLU, whose derivative jumps", replace_labels("activation", {"erf": "relu"})),
    remark="By Gronwall's lemma; the proof is on the study's page.",
)
def distance_stays_in_proportion(well_posedness: xr.Dataset) -> Verdict:
    """A system of neurons on point data and its neighbor, which differs in all: distance over that at the start."""
    exponent = _exponent(well_posedness, "erf", "cloud_distance")
    ratio = float((well_posedness["cloud_distance"] / well_posedness["gap"]).sel(activation="erf").max())
    return Verdict.from_tests(
        deviation(
            exponent - 1,
            0.05,
            expected="distance in proportion to that of the starts",
            reason="a Lipschitz flow has exponent 1, two solutions from one start have 0",
        ),
        facts={"largest distance over the starts' angle": ratio},
    )


@claim(
    "bnm-assumption3-regular",
    where="Section 3.3, Assumption 3.3",
    words=r"For any $\rho$ , the set of regular values of ... is dense in its range",
    line=344,
    kind="qualitative",
    states=r"Regular values of $g_\rho$ are dense in its range, for every $\rho$.",
)
def regular_values() -> Verdict:
    """An assumption over all measures."""
    return not_testable(
        "An assumption about every probability measure. In two and three dimensions it follows from Assumption 3.1 "
        "wherever $g$ is not constant (Sard, Bates; proof on the study's page), beyond it needs a smoother activation. "
        "Its transfer between metrics in the proof of Theorem 5 is right (bnm-thm5-regular)."
    )
