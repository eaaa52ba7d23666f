"""Claims on the formulas of Appendix C, decided by the formula audit: (31) to (33) and (35)."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.formula_audit import EQUAL, NOT_EXCEEDED, decide_formula, formula_claim, with_wrong_formula
from repdyn.base.verdicts import Verdict, deviation
from repdyn.bn_decomposed.theory import equations

TOLERANCE = 1e-9
ROUNDING = "rows of up to 21 points and means that fall by 1e4, each operation within 1e-16"
CHAIN = {"35b": EQUAL, "35c": EQUAL, "35e": EQUAL, "35f": NOT_EXCEEDED}


inner_gaps_stay = formula_claim(
    "bnd-eq31",
    where="Appendix C, eqs. (30)-(31)",
    line=493,
    assumes="the proof of Theorem 10 by contradiction: no cluster is lost (29), more than three clusters; positive "
    "transformations, for which the equation is stated",
    words=r"$\Delta_{t_1} = \Delta_{t_2} := \Delta > 0, \qquad n_{t_1} = n_{t_2} \ge 2,$",
    states="With positive transformations that lose no cluster the gap between the second and the third cluster stays "
    "the same.",
    formula=r"\Delta_{t_1} = \Delta_{t_2} := \Delta > 0",
    audit=("formula_audit", equations.EQ_31, TOLERANCE, ROUNDING),
    control="the gap between the first and the second cluster",
    decided="Largest relative change along positive transformations of random rows that lose no cluster.",
    remark="It is stated for positive transformations. Negative ones reverse the gaps (bnd-eq32-mixed). The number of "
    "positive entries stays as well, without computation: a point that joins those at zero leaves one cluster less, "
    "and of more than three clusters at least three are positive.",
)


mean_stays_above_the_gap = formula_claim(
    "bnd-eq32-mixed",
    where="Appendix C, eq. (32), end of the proof",
    words="since equation ... still holds for this case, we again reach a contradiction",
    line=556,
    assumes="the proof of Theorem 10 by contradiction: no cluster is lost (29), more than three clusters; infinitely "
    "many negative transformations",
    kind="bound",
    states="With negative transformations among them the mean stays above the first row's gap between the second and "
    "the third cluster, over $n$.",
    formula=r"\bar{x}^{(t)} > \frac{\Delta}{n}",
    audit=("formula_audit", equations.EQ_32, TOLERANCE, ROUNDING),
    control=r"the first row's mean for $\Delta / n$",
    decided="Means along random mixed sequences that lose no cluster, against the gap of the first row.",
    remark=r"$\Delta_t$ itself is not constant here (bnd-eq31-mixed); the bound holds because the first row's gap "
    "stays one of the inner gaps, whose sum the largest entry exceeds.",
)


@claim(
    "bnd-eq31-mixed",
    where="Appendix C, beside eq. (32)",
    kind="identity",
    origin="ours",
    states="Across a negative transformation that loses no cluster the inner gaps are reversed, so that the smallest "
    "of them stays the same.",
    formula=r"\min_{2 \le j \le k - 2} \left(c_{j+1}(x^{(t)}) - c_j(x^{(t)})\right) = \text{const}",
    control=with_wrong_formula("the gap between the second and the third cluster", equations.EQ_31_MIXED),
    labels={"": "relative change of the smallest inner gap along random mixed sequences"},
    assumes="rows after a ReLU (least entry 0), four clusters or more, a transformation that loses no cluster: none "
    "meets the mean",
)
def smallest_inner_gap_stays(formula_audit: xr.Dataset) -> Verdict:
    """Largest relative change of the smallest inner gap along random mixed sequences that lose no cluster."""
    error = formula_audit["corrected"].sel(equation=equations.EQ_31_MIXED)
    return Verdict.from_tests(deviation(error, TOLERANCE, expected="no change", reason=ROUNDING))


positive_transformations_lower_the_mean = formula_claim(
    "bnd-eq33",
    where="Appendix C, eq. (33)",
    line=505,
    assumes="the proof of Theorem 10 by contradiction: no cluster is lost (29), more than three clusters; positive "
    "transformations from layer 1 on, so that the least coordinate is 0",
    words=r"$= \left(1 - \frac{n_t}{n}\right) \bar{x}^{(t)},$ ... from which it follows that "
    r"$\lim_{t\to\infty} \bar{x}^{(t)} = 0$",
    states="A positive transformation that loses no cluster lowers the mean of a row whose least entry is 0 by the "
    "share of the positive entries.",
    formula=r"\bar{x}^{(t+1)} = \left(1 - \frac{n_t}{n}\right) \bar{x}^{(t)}",
    audit=("formula_audit", equations.EQ_33, TOLERANCE, ROUNDING),
    control="the share of the positive entries itself",
    decided="Means before and after every positive transformation of random rows that lose no cluster.",
    remark="As $n_t$ stays (bnd-eq31), the mean falls geometrically and tends to zero.",
)


@claim(
    "bnd-eq35",
    where="Appendix C, eqs. (35b), (35c), (35e), (35f)",
    line=526,
    assumes="the proof of Theorem 10 by contradiction: no cluster is lost (29), more than three clusters; two "
    r"negative transformations with positive ones between, the first not at the start ($t_1 \ge 2$, so that the least "
    "coordinate before it is 0)",
    words="We now show that this sequence of transformations decreases the mean",
    kind="identity",
    states="From one negative transformation to the next, with positive ones between and no cluster lost, the mean "
    r"falls below $1 - \frac{2}{n}$ of its value.",
    formula=r"\bar{x}^{(t_2)} = \left(1 - \frac{n_{t_2}}{n}\right) \left(x_{\max}^{(t_2 - 1)} - \bar{x}^{(t_2 - "
    r"1)}\right) < \left(1 - \frac2n\right) \bar{x}^{(t_1 - 1)}",
    control={
        "eq 35b": with_wrong_formula("the sum over all points", equations.EQ_35B),
        "eq 35c": with_wrong_formula("the share of the positive entries itself", equations.EQ_35C),
        "eq 35e": with_wrong_formula("the largest entry one layer earlier", equations.EQ_35E),
        "eq 35f": with_wrong_formula("$2/n$ for $1 - 2/n$", equations.EQ_35F),
    },
    labels={
        "eq 35b": "mean after the second negative transformation, by (35b), against a derivation of our own",
        "eq 35c": "that mean in the form of (35c), against a derivation of our own",
        "eq 35e": "that mean in the form of (35e), against a derivation of our own",
        "eq 35f": "excess of that mean over its bound (35f)",
    },
)
def negative_transformations_lower_the_mean(formula_audit: xr.Dataset) -> Verdict:
    """Every step of the chain but (35d) on random rows that lose no cluster."""
    verdicts = {
        f"eq {name}": decide_formula(formula_audit, name, TOLERANCE, ROUNDING, expected=expected)
        for name, expected in CHAIN.items()
    }
    tests = {name: verdict.printed for name, verdict in verdicts.items() if verdict.printed}
    return Verdict.from_tests(tests)


height_does_not_rise = formula_claim(
    "bnd-eq35d",
    where="Appendix C, eq. (35d)",
    line=543,
    assumes="the proof of Theorem 10 by contradiction: no cluster is lost (29), more than three clusters; possibly no "
    "positive transformation between the two negative ones",
    words=r"$\left(1 - \frac{n_{t_2}}{n}\right) \left(x_{\text{max}}^{(t_1)} - \bar{x}^{(t_1)}\right)$",
    kind="bound",
    states="Between the two negative transformations the distance of the largest entry from the mean falls.",
    formula=r"x_{\max}^{(t_2 - 1)} - \bar{x}^{(t_2 - 1)} < x_{\max}^{(t_1)} - \bar{x}^{(t_1)}",
    audit=("formula_audit", equations.EQ_35D, TOLERANCE, ROUNDING),
    control="the reverse inequality",
    decided="Both sides on random rows, zero to three positive transformations between.",
    remark="Equal in the boundary case of no positive transformation between the two; (35f) is strict in any case.",
)
