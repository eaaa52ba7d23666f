"""Claims on the equations of the theory, decided by the audit: deviations from independent derivations."""

from __future__ import annotations

from dataclasses import replace

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.formula_audit import decide_formula, formula_claim, with_wrong_formula
from repdyn.base.verdicts import Test, Verdict, at_least, deviation, equal
from repdyn.universality.theory import equations

ROUNDING = 1e-11
ROUNDING_REASON = "a few dozen operations in float64, ratios of numbers within three decades"
SOLVED = 1e-7
SOLVED_REASON = "the solver works to 1e-11 or 1e-12 per step and grows its error over some ten growth times"
STEPPED = 1e-6
STEPPED_REASON = "speeds at $h$ of 1e-6 and 2e-6, extrapolated: quadratic in $h$ over rates of order 1e-2"


def decide_signs(audit: xr.Dataset, equation: str, signs: str, tolerance: float, reason: str) -> Verdict:
    """The verdict on an equation and the signs that are stated with it: no random case may have others."""
    errors, other = (audit["printed"].sel(equation=name) for name in (equation, signs))
    formula = deviation(errors, tolerance, expected="equal to the independent derivation", reason=reason)
    return Verdict.from_tests({"formula": formula, "signs": _signs(other)})


def _signs(other: xr.DataArray) -> Test:
    count = int(other.sum())
    test = equal(
        count, 0, expected=r"no case with other signs at $A_{\text{low}} > 0$", reason="signs, compared exactly"
    )
    return replace(test, statistic="random cases with other signs", out_of=other.size)


@claim(
    "uni-eq5-taylor",
    where="Section 2.2, eq. (5); Appendix A.1, (15)",
    line=79,
    assumes="smooth maps, as Section 2.1 has it; representations close to each other; linear approximation is read as "
    "an error of second order",
    sought="Taylor's theorem, for maps with a Lipschitz derivative. A kink at the midpoint, which leaky ReLU networks "
    "have and the stated smoothness excludes, leaves a remainder of first order.",
    words="take a linear approximation of",
    kind="scaling",
    states=r"Around the midpoint $m$ of two inputs, $h(x_i) = h(m) + D_h (x_i - x_{\neg i})/2$ up to second order.",
    control=with_wrong_formula(
        "without the factor 1/2, which leaves an error of first order", equations.LINEAR_APPROXIMATION
    ),
)
def midpoint_expansion(formula_audit: xr.Dataset) -> Verdict:
    """Exponent of the remainder in the distance of the inputs."""
    return Verdict.from_tests(
        deviation(
            formula_audit["printed"].sel(equation=equations.LINEAR_APPROXIMATION),
            0.1,
            expected="exponent of the remainder 2",
            reason="inputs 1e-3 and 2e-3 apart: the third order adds a percent where the second is small",
        )
    )


reduction_is_closed = formula_claim(
    "uni-eq7-reduction",
    where="Section 2.3, eqs. (7), (8); Appendix A.1, (19)-(21)",
    line=97,
    assumes="representations move together or apart and do not rotate, (19); $h > 0$; the flow (17) as printed",
    sought=r"Under (19) $dh = \alpha u$, $dy = \alpha v$ obey two equations, from which (7) follows by the product "
    "rule, for one or more outputs, outputs along, across or against the target, and equal targets alike. At $h = 0$, "
    "which starts against the target can reach in finite time, (7) divides by 0; the maps go on.",
    words="this results in a self-contained system of three scalar variables",
    states="If the representations move together or apart and do not rotate, (19), $h, y, w$ obey the system (7).",
    audit=("formula_audit", equations.REDUCTION, SOLVED, SOLVED_REASON),
    control="the same flow from Jacobians that do not meet (19), where (7) is off by up to 70 %",
    decided="The matrix flow (17) with its printed factor against the solution of (7).",
    remark="(19) is an assumption, not a consequence of (17).",
)


loss_of_the_theory = formula_claim(
    "uni-eq9-loss",
    where="Section 3.3, eq. (9); Appendix A.2, (22)",
    line=351,
    assumes="the linear approximation (16)",
    words="The loss can be expressed in terms of variables in the 3-dimensional system",
    states=r"The training loss is $L = \frac12 \|\bar y(0) - \bar y^*\|^2 e^{-2t/\tau_{\bar y}} + \frac14 \left(w + "
    r"\frac12 (\|y_2 - y_1\|^2 - \|dy\|^2)\right)$.",
    audit=("formula_audit", equations.LOSS_CURVE, SOLVED, SOLVED_REASON),
    control=r"without the term $(\|y_2 - y_1\|^2 - y) / 2$",
    decided="Against the loss (16) along the matrix flow.",
)


final_distance = formula_claim(
    "uni-eq10-final",
    where="Section 4.1, eqs. (10), (11); Appendix A.3, (27), (28), (36)",
    line=156,
    assumes="no rotation, (19); the constant of (24); targets and inputs differ: equal targets are treated in A.4; "
    "outputs that start against the target may take $h$ to 0, where (7) ends: there the linear maps (6) go on; "
    "exceptional starts of measure zero, which end at the saddle, are left out",
    sought=r"In closed form the flow is linear up to a common factor, so its fixed points are the eigenvectors of $H$ "
    r"with a positive eigenvalue: one is (10), the other, for $A_{\text{high}} < 0$, the saddle $h = 0$. Starts "
    r"without a part along the first exist for $A_{\text{high}} \le 0$ (one output against the target at "
    r"$A_{\text{high}} = 0$): they end at $h = 0$, while their neighbors on both sides end at (10).",
    words="We find that there is only one stable fixed point",
    kind="limit",
    states=r"The final distance is $h_\infty = \frac12 A_{\text{high}} + \sqrt{\frac14 A_{\text{high}}^2 + "
    r"A_{\text{low}}^2}$.",
    audit=("formula_audit", equations.FINAL_VALUE, SOLVED, SOLVED_REASON),
    control=r"the second part of $A_{\text{high}}$ with the sign +",
    decided="Against (7), or the linear maps where it ends, solved until it rests.",
)


@claim(
    "uni-eq17-grad",
    where="Appendix A.1, eq. (17)",
    line=323,
    kind_of_slip="slip in a proof",
    assumes="the loss (16)",
    words="we apply gradient decent optimization directly with respect to",
    kind="identity",
    states=r"The flow of $D_h$ and $D_y$, with the factor $\frac12$, is the gradient flow of the loss (16).",
    correction=r"The factor is $\frac14$, as the middle lines of (17) give; (7) then holds with $\tau_h$ and $\tau_y$ "
    "doubled.",
    formula=r"\frac{d}{dt} D_h = -\frac{1}{\tau_h} \frac{1}{2} D_y^T (dy - (y_2 - y_1)) (x_2 - x_1)^T, \quad "
    r"\frac{d}{dt} D_y = -\frac{1}{\tau_y} \frac{1}{2} (dy - (y_2 - y_1)) dh^T",
    corrected_formula=r"\frac{d}{dt} D_h = -\frac{1}{\tau_h} \frac{1}{4} D_y^T (dy - (y_2 - y_1)) (x_2 - x_1)^T, "
    r"\quad \frac{d}{dt} D_y = -\frac{1}{\tau_y} \frac{1}{4} (dy - (y_2 - y_1)) dh^T",
    control=with_wrong_formula("the flow of $D_y$ with the wrong sign", equations.GRADIENT),
    message="The factor of the gradient flow is 1/4, not 1/2",
    cause="The middle lines of (17), averaged over the two points, leave a factor 1/4.",
    consequence="The system (7) holds with both time constants doubled, which matters only where they are compared "
    r"with $\tau_{\bar y}$.",
)
def gradient_flow(formula_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the loss."""
    middle = float(formula_audit["printed"].sel(equation=equations.GRADIENT_MIDDLE).max())
    return decide_formula(
        formula_audit,
        equations.GRADIENT,
        ROUNDING,
        ROUNDING_REASON,
        facts={"largest error of the middle lines of (17)": middle},
    )


mean_decouples = formula_claim(
    "uni-eq18-mean",
    where="Appendix A.1, eq. (18)",
    line=333,
    assumes="decoupled: the equation of the mean in (17) has no Jacobian in it",
    words="takes the form of exponential decay towards the target output mean",
    states=r"The mean output decays to the mean target as $e^{-t/\tau_{\bar y}}$.",
    audit=("formula_audit", equations.MEAN_OUTPUT, SOLVED, SOLVED_REASON),
    control="twice the rate",
    decided="Against the matrix flow.",
)


conserved_ratio = formula_claim(
    "uni-eq23-24-invariant",
    where="Appendix A.3, eqs. (23), (24)",
    line=361,
    assumes="solutions of (7)",
    sought=r"From (7) $(\|dy\|^2 / \|dh\|^2)' = -w / \tau_y$, the change of the second term, at every $h > 0$: "
    "no case is excepted. Outputs against the target, outputs at rest ($dy = 0$) and $h$ near 0 were tried.",
    words="Integrating both sides, we can write ... as a function of",
    states=r"$\frac{\|dy\|^2}{\|dh\|^2} - \frac{\tau_h}{\tau_y} \frac{\|dh\|^2}{\|x_2 - x_1\|^2}$ is constant along "
    "(7).",
    audit=("formula_audit", equations.INVARIANT, SOLVED, SOLVED_REASON),
    control=r"$\tau_y / \tau_h$ in place of $\tau_h / \tau_y$",
    decided="Drift along numerical solutions.",
)


plane_system = formula_claim(
    "uni-eq25-2d",
    where="Appendix A.3, eq. (25)",
    line=365,
    assumes="solutions of (7) with the constant of (24)",
    words="reducing the dynamics to a 2-dimensional system",
    states="With (24) the system reduces to the plane $(h, w)$.",
    audit=("formula_audit", equations.PLANE, ROUNDING, ROUNDING_REASON),
    control="the constant of (24) with the wrong sign",
    decided="Against (7) on the surface (24).",
)


@claim(
    "uni-eq29-31-stable",
    where="Appendix A.3, eqs. (29)-(31)",
    line=397,
    assumes="no rotation, (19); the constant of (24); targets and inputs differ: equal targets are treated in A.4",
    sought=r"The eigenvalues are $-S / (2 \tau_y)$ and $-h_\infty / \tau_y$ with $S^2 = A_{\text{high}}^2 + 4 "
    r"A_{\text{low}}^2$, negative whenever $A_{\text{low}} > 0$. At equal targets, which the text takes out, the "
    r"second is 0 for $A_{\text{high}} \le 0$.",
    words="This fixed point is therefore always stable",
    kind="identity",
    states="The fixed point (10) has the Jacobian (29), with negative trace (30) and positive determinant (31): it is "
    "always stable.",
    control={
        "formula": with_wrong_formula(r"another $\tau_y$ in (29)", equations.STABILITY),
        "signs": with_wrong_formula("the flow run backwards", equations.STABILITY_SIGNS),
    },
    labels={
        "formula": "entries of the Jacobian, its trace and determinant",
        "signs": "random cases with other signs of trace or determinant",
    },
    remark=r"The eigenvalues are $-S / (2 \tau_y)$ and $-h / \tau_y$, $S = \sqrt{A_{\text{high}}^2 + 4 "
    r"A_{\text{low}}^2}$: never a spiral. For equal targets, which A.4 treats apart, the determinant at "
    r"$A_{\text{high}} < 0$ is 0 and $h$ falls to 0.",
)
def stable_node(formula_audit: xr.Dataset) -> Verdict:
    """Jacobian, its signs and the eigenvalues -S/(2 tau_y), -h/tau_y against complex steps of the flow."""
    return decide_signs(formula_audit, equations.STABILITY, equations.STABILITY_SIGNS, ROUNDING, ROUNDING_REASON)


@claim(
    "uni-eq32-35-saddle",
    where="Appendix A.3, eqs. (32)-(35)",
    line=411,
    assumes="no rotation, (19); the constant of (24); targets and inputs differ: equal targets are treated in A.4",
    sought=r"The product of both eigenvalues is $-A_{\text{low}}^2 / \tau_y^2$, so for $A_{\text{low}} > 0$ the signs "
    r"differ whatever $A_{\text{high}}$ is; at equal targets, which the text takes out, one is 0.",
    words="one positive and one negative eigenvalue ... There is always one direction along which perturbations "
    "increase",
    kind="identity",
    states="At $h = 0$ there is one positive and one negative eigenvalue along the directions (34): there is always "
    "one direction along which perturbations increase.",
    control={
        "formula": with_wrong_formula("the eigenvalues with the wrong sign", equations.SADDLE),
        "signs": with_wrong_formula("the eigenvalues of the node", equations.SADDLE_SIGNS),
    },
    labels={
        "formula": "eigenvalues and directions, against the speeds of (7) at small $h$",
        "signs": "random cases with other signs of the eigenvalues",
    },
    remark=r"For equal targets, which A.4 treats apart, one eigenvalue is 0; at $A_{\text{high}} < 0$ nothing grows.",
)
def saddle_point(formula_audit: xr.Dataset) -> Verdict:
    """Against the speed of (7) at small h along these directions."""
    return decide_signs(formula_audit, equations.SADDLE, equations.SADDLE_SIGNS, STEPPED, STEPPED_REASON)


@claim(
    "uni-eq38-40-identical",
    where="Appendix A.4, eqs. (37)-(40)",
    line=429,
    kind_of_slip="misprint",
    assumes="equal targets; (38), which has the rate that (39) lacks",
    words="is a Bernoulli equation and has solution",
    kind="identity",
    states="For equal targets distance and output have the closed forms (39) and (40).",
    correction=r"Every exponent is $-A_{\text{high}} t/\tau_y$: (38), from which (39) comes, has the rate "
    r"$A_{\text{high}}/\tau_y$.",
    formula=r"\|dh(t)\|^2 = \frac{A_{\text{high}}}{1 + \left( \frac{A_{\text{high}}}{\|dh(0)\|^2} - 1 \right) "
    r"e^{-A_{\text{high}} t}}, \quad \|dy\|^2 = \frac{\tau_h}{\tau_y} \frac{A_{\text{high}}^2}{\|x_2 - x_1\|^2} "
    r"\frac{\left( 1 - \frac{A_{\text{high}}}{\|dh(0)\|^2} \right) e^{-A_{\text{high}} t}}{\left( 1 + \left( "
    r"\frac{A_{\text{high}}}{\|dh(0)\|^2} - 1 \right) e^{-A_{\text{high}} t} \right)^2}",
    corrected_formula=r"\|dh(t)\|^2 = \frac{A_{\text{high}}}{1 + \left( \frac{A_{\text{high}}}{\|dh(0)\|^2} - 1 "
    r"\right) e^{-A_{\text{high}} t / \tau_y}}, \quad \|dy\|^2 = \frac{\tau_h}{\tau_y} \frac{A_{\text{high}}^2}{\|x_2 "
    r"- x_1\|^2} \frac{\left( 1 - \frac{A_{\text{high}}}{\|dh(0)\|^2} \right) e^{-A_{\text{high}} t / \tau_y}}{\left( "
    r"1 + \left( \frac{A_{\text{high}}}{\|dh(0)\|^2} - 1 \right) e^{-A_{\text{high}} t / \tau_y} \right)^2}",
    control=with_wrong_formula("(40) with the wrong sign", equations.EQUAL_TARGETS),
    message="The exponents of the solution lack a time constant",
    cause=r"Equation (38) has the rate $A_{\text{high}}/\tau_y$, and its solution has it in every exponent.",
    consequence=r"With $-A_{\text{high}} t/\tau_y$ in the exponents (39) and (40) are right.",
)
def equal_targets(formula_audit: xr.Dataset) -> Verdict:
    """Against numerical solutions of the lifted system."""
    speed = float(formula_audit["printed"].sel(equation=equations.EQUAL_TARGET_RATES).max())
    return decide_formula(
        formula_audit, equations.EQUAL_TARGETS, SOLVED, SOLVED_REASON, facts={"largest error of (37) and (38)": speed}
    )


change_of_scale = formula_claim(
    "uni-eq43-scaling",
    where="Appendix A.5, eqs. (41)-(43)",
    line=443,
    kind_of_slip="slip in a proof",
    assumes="the starts of (41); the limit of large $G$ is what is used",
    words="Under the variable change ... the dynamics change to",
    states="The change of variables (42) turns (7) into (43), in which the targets are nearer by $G$.",
    correction="The inverse map does.",
    formula=r"(\|dh\|^2)' = G \|dh\|^2, \quad (\|dy\|^2)' = G^2 \|dy\|^2, \quad w' = G^2 w, \quad t' = G^{-1} t "
    r"\Rightarrow \|y_2 - y_1\|^2 \to G^{-2} \|y_2 - y_1\|^2",
    corrected_formula=r"(\|dh\|^2)' = G^{-1} \|dh\|^2, \quad (\|dy\|^2)' = G^{-2} \|dy\|^2, \quad w' = G^{-2} w, "
    r"\quad t' = G t \Rightarrow \|y_2 - y_1\|^2 \to G^{-2} \|y_2 - y_1\|^2",
    audit=("formula_audit", equations.SCALING, ROUNDING, ROUNDING_REASON),
    control=r"the corrected map, with $G^{+2} \|y_2 - y_1\|^2$",
    decided="Both maps against the right-hand side of (7).",
    message="The change of variables is printed as its inverse",
    cause="Under the printed map the squared distance of the targets grows by $G^2$; under the inverse map it falls "
    "by as much.",
    consequence="Equation (43) follows from the inverse map.",
)


@claim(
    "uni-closed-form",
    where="Appendix A.3",
    line=357,
    kind_of_slip="slip in a proof",
    assumes="the system (7)",
    words="The system in Equation 21 cannot be solved analytically in the general case",
    kind="identity",
    states="The system cannot be solved analytically in the general case.",
    correction=r"It can: with $dh = \alpha u$ and $dy = \alpha v$ it is a two-layer linear network of unequal rates, "
    "whose Riccati flow has the solution given on the study's page.",
    corrected_formula=r"Q(t) = \frac{e^{g H t} Q(0)}{\sqrt{n(t)}}, \quad n(t) = 1 + 2 g^2 \int_0^t \|e^{g H t'} "
    r"Q(0)\|^2 dt', \quad \|dh\|^2 = a^2 Q_1^2, \quad \|dy\|^2 = a^2 b^2 Q_1^2 (Q_2^2 + Q_3^2), \quad w = \|dy\|^2 - "
    r"a b D Q_1 Q_2, \quad a^2 = \frac{\|x_2 - x_1\|^2}{\tau_h}, \quad b^2 = \frac{1}{\tau_y}, \quad g = \frac{a "
    r"b}{2}, \quad D = \|y_2 - y_1\|, \quad m = g (Q_1^2 - Q_2^2 - Q_3^2), \quad H = \begin{pmatrix} m & D & 0 \\ D & "
    r"-m & 0 \\ 0 & 0 & -m \end{pmatrix}",
    control=with_wrong_formula("the two rates exchanged", equations.CLOSED_FORM),
    message="The system can be solved in closed form",
    cause="The difference of the representations keeps its direction, which makes (7) a two-layer linear network of "
    "unequal rates: a linear flow with a common factor.",
    consequence="The general case has the solution given here; the special cases that the paper solves are unaffected.",
)
def closed_form(formula_audit: xr.Dataset) -> Verdict:
    """The closed form against the lifted system, one to three outputs, equal targets among them: it solves (7)."""
    off = formula_audit["corrected"].sel(equation=equations.CLOSED_FORM)
    worst = float(off.max())
    none = at_least(worst, 1e-3, expected="no formula solves (7): each off by 1e-3 or more", reason="visible in a plot")
    none = replace(none, statistic="deviation of the closed form")
    return Verdict.from_tests(none)
