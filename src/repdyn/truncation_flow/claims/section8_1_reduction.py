"""Claims of Section 8.1: collapsed clusters under the standard cost, the reduced flow and its propagators."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_variables, wrong_formula
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.formula_audit import formula_claim, with_wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most
from repdyn.truncation_flow.claims.requirements import finite
from repdyn.truncation_flow.claims.tolerances import EXACT, INTEGRATED, SOLVED, Tolerance, above, zero
from repdyn.truncation_flow.theory import equations

PRINTED_GRAMS = "the Gram matrices of (8.9) as printed"


SYMBOL = r"; $W_{Q+1}$ there is the cumulative $W^{(Q+1)}$ (tf-82-cost)"


collapsed_cost = formula_claim(
    "tf-82-cost",
    where="Section 8, eq. (8.2)",
    line=1217,
    kind_of_slip="misprint",
    assumes=r"collapsed initial data (8.1), $b_{Q+1} = 0$; $W_{Q+1}$ is the output layer's weight (2.4)",
    words=r"the time-dependent standard cost reduces to ... $= \frac{1}{2} \text{Tr} \left( | "
    r"-W_{Q+1}(s)B^{(Q)}(s) - Y |^2 \right)$",
    states="For collapsed clusters the standard cost is that of the output layer's weight on the biases.",
    correction="With the cumulative output weight, and the output bias that (2.18) needs in place of 0. Sections 8 "
    "and 9 write $W_{Q+1}$ for $W^{(Q+1)}$ throughout.",
    formula=r"\widetilde{\mathcal{C}} = \frac{1}{2} \sum_\ell |{-W_{Q+1}} \beta^{(\ell)} - y_\ell|^2, \quad b_{Q+1} = "
    "0",
    corrected_formula=r"\widetilde{\mathcal{C}} = \frac{1}{2} \sum_\ell |{-W^{(Q+1)}} \beta^{(\ell)} - y_\ell|^2, "
    r"\quad b_{Q+1} = -W_{Q+1} b^{(Q)}",
    audit=("gradient_audit", equations.COLLAPSED_COST, *EXACT),
    control="the output layer's own weight, output bias 0",
    decided="Against the network whose layers have these cumulative parameters, weights free.",
    message="The cost of collapsed clusters has the wrong weight and bias",
    cause="By (2.18) the output is the cumulative weight on the composed truncations, with the output bias "
    "$-W_{Q+1} b^{(Q)}$; (8.2) prints the layer's own weight and the bias 0.",
    consequence="Sections 8 and 9 write $W_{Q+1}$ for $W^{(Q+1)}$ throughout; with the cumulative weight as the "
    "parameter their reduced flow is right (tf-84-87).",
)


collapsed_gradient = formula_claim(
    "tf-84-87",
    where="Section 8, eqs. (8.4)-(8.7)",
    line=1225,
    assumes="collapsed initial data (8.1), cumulative weights that need not be aligned" + SYMBOL,
    words="because the gradient flow is trivial for the cumulative weights",
    states="For collapsed clusters the weights rest, and biases and output follow the gradient of the reduced cost.",
    formula=r"\partial_s B = -W^T (W B + Y), \quad \partial_s W = -(W B + Y) B^T, \quad \partial_s W^{(\ell)} = 0",
    audit=("gradient_audit", equations.COLLAPSED_GRADIENT, *EXACT),
    control="labels with the other sign",
    decided="Against complex steps of the standard cost in all entries of the cumulative parameters, hidden weights "
    "free.",
)


@claim(
    "tf-82-reduction",
    where="Section 8, eqs. (8.1)-(8.7)",
    line=1225,
    kind_of_slip="missing hypothesis",
    assumes="collapsed initial data (8.1), cumulative weights that need not be aligned" + SYMBOL,
    words="this fact persists for $s > 0$ , because the gradient flow is trivial for",
    kind="identity",
    states=("From collapsed initial data the cost is that of the reduced flow (8.6)-(8.7), and this persists."),
    correction="As long as every cluster keeps its sectors, which labels exchanged between clusters end at once.",
    formula=r"\widetilde{\mathcal{C}}(s) = \frac{1}{2} |W(s) B(s) + Y|^2 \text{ for all } s",
    corrected_formula=r"\widetilde{\mathcal{C}}(s) = \frac{1}{2} |W(s) B(s) + Y|^2 \text{ while the sectors are kept}",
    control=wrong_formula("the biases at rest, without (8.6)", replace_variables(cost_reduced="cost_frozen")),
    message="The reduced flow ends when a cluster leaves its sectors",
    cause="That (8.4) persists is not proved, and labels exchanged between clusters drive them out of their sectors "
    "at once.",
    consequence="The cost is that of the reduced flow as long as every cluster keeps its sectors; afterwards the "
    "two can end at different costs.",
    labels={"": "cost of the network minus that of the reduced flow"},
)
def reduction_holds_while_sectors_are_kept(reduced_network: xr.Dataset) -> Verdict:
    """Rotations and free weights, labels near the images and exchanged ones, all or up to the loss of the sectors."""
    adverse = reduced_network.sel(labels="adverse")
    finite(adverse, "reduced_network", "lost", "lost_free")
    networks = {"cost_network": "lost", "cost_network_free": "lost_free"}
    gaps = [abs(reduced_network[name] - reduced_network["cost_reduced"]) for name in networks]
    lost = xr.concat([reduced_network[name] for name in networks.values()], "network")
    gap = xr.concat(gaps, "network")
    if gap.where(reduced_network["time"] < lost, 0.0).isnull().any():
        raise NotEnoughDataError("reduced_network: free weights come near to singular ones too early; lower the step")
    gap = gap.fillna(0.0)  # no network is followed there
    kept = gap.where(reduced_network["time"] < lost, 0.0)
    step = float(reduced_network["step"])
    solved = Tolerance(0.2 * step, "midpoint rule against a reference: $h^2$ times derivatives of order 1")
    last = adverse.isel(time=-1)
    facts = {
        "time at which exchanged labels leave the sectors": float(adverse["lost"]),
        "cost of the network at the end": float(last["cost_network"]),
        "cost of the reduced flow at the end": float(last["cost_reduced"]),
    }
    printed, corrected = (zero(part, "equal costs", solved) for part in (gap, kept))
    return Verdict.from_tests(printed, corrected, facts)


error_equation = formula_claim(
    "tf-88",
    where="Section 8.1, eq. (8.8)",
    line=1243,
    assumes="the reduced flow (8.6)-(8.7)",
    words=r"We straightforwardly deduce from (8.6) and (8.7) that ... $\partial_s (W_{Q+1}(s)B^{(Q)}(s) + Y)$ "
    r"... $= - \underbrace{W_{Q+1}(s)(W_{Q+1}(s))^T}_{\geq 0} (W_{Q+1}(s)B^{(Q)}(s) + Y)$",
    states="The output error obeys a linear equation with the Gram matrices of both factors.",
    formula=r"\partial_s (W B + Y) = -W W^T (W B + Y) - (W B + Y) B^T B",
    audit=("propagators", equations.ERROR_EQUATION, *INTEGRATED),
    control=PRINTED_GRAMS,
    decided="Integrated along the orbit against the change of the error.",
)


propagators_carry_the_error = formula_claim(
    "tf-89-811",
    where="Section 8.1, eqs. (8.9), (8.11)",
    line=1255,
    kind_of_slip="misprint",
    assumes="the reduced flow (8.6)-(8.7)",
    words=r"and find that $\begin{aligned}W_{Q+1}(s)B^{(Q)}(s) + Y \\ = \mathcal{U}_W(s)(W_{Q+1}(0)B^{(Q)}(0) "
    r"+ Y)\mathcal{U}_B(s).\end{aligned}$",
    states="Two propagators carry the output error from the start to a later time.",
    correction="With the Gram matrices of (8.8).",
    formula=r"\partial_s \mathcal{U}_B = -\mathcal{U}_B B B^T, \quad \partial_s \mathcal{U}_W = -W^T W \mathcal{U}_W",
    corrected_formula=r"\partial_s \mathcal{U}_B = -\mathcal{U}_B B^T B, \quad \partial_s \mathcal{U}_W = -W W^T "
    r"\mathcal{U}_W",
    audit=("propagators", equations.PROPAGATORS, *SOLVED),
    control="the printed Gram matrices",
    decided="Against the error along the orbit, all integrated to a relative 1e-12.",
    message="The propagators are printed with the wrong Gram matrices",
    cause="By (8.8) the output error needs $B^T B$ and $W W^T$; the printed $B B^T$ and $W^T W$ are those of the "
    "variation of constants, (8.16) and (8.17).",
    consequence="Equations (8.9) and (8.11) hold with the Gram matrices of (8.8).",
)


initial_time_derivative = formula_claim(
    "tf-810",
    where="Section 8.1, eq. (8.10)",
    line=1247,
    kind_of_slip="misprint",
    assumes="propagators defined by (8.9) with the identity at equal times",
    words=r"We define the propagators for $s > s_0$ , ... $\partial_{s_0}\mathcal{U}_B(s, s_0)$ ... "
    r"$-B^{(Q)}(s_0)(B^{(Q)}(s_0))^T\mathcal{U}_B(s, s_0)$",
    states="The derivative of the propagators in their initial time has a minus sign.",
    correction="It has a plus sign.",
    formula=r"\partial_{s_0} \mathcal{U}_B = -B B^T \mathcal{U}_B, \quad \partial_{s_0} \mathcal{U}_W = "
    r"-\mathcal{U}_W W^T W",
    corrected_formula=r"\partial_{s_0} \mathcal{U}_B = B B^T \mathcal{U}_B, \quad \partial_{s_0} \mathcal{U}_W = "
    r"\mathcal{U}_W W^T W",
    audit=(
        "propagators",
        equations.INITIAL_TIME_DERIVATIVE,
        1e-5,
        "central difference with step 1e-4: 1e-8 times third derivatives up to 100",
    ),
    control="the minus sign",
    decided="Against a central difference.",
    message="The derivative in the initial time has the wrong sign",
    cause=r"Differentiating $\mathcal{U}(s, s_0)\, \mathcal{U}(s_0, 0) = \mathcal{U}(s, 0)$ in $s_0$ gives a plus "
    "sign.",
    consequence="The sign of (8.10) changes, and nothing else in it.",
)


@claim(
    "tf-816-817",
    where="Section 8.1, eqs. (8.16), (8.17)",
    line=1281,
    kind_of_slip="misprint",
    assumes="the reduced flow (8.6)-(8.7)",
    words="we can represent the solutions to (8.6) and (8.7) by use of the Duhamel ... "
    r"$= \mathcal{U}_W(s)B^{(Q)}(0) + \int_0^s ds' \mathcal{U}_W(s, s')(W_{Q+1}(s'))^TY,$",
    kind="identity",
    states="Variation of constants gives both factors with a plus sign of the integral.",
    correction="Both integrals carry a minus sign, with the propagators of (8.9) as printed.",
    formula=r"B(s) = \mathcal{U}_W(s) B(0) + \int_0^s ds' \mathcal{U}_W(s, s') W^T Y, \quad W(s) = W(0) "
    r"\mathcal{U}_B(s) + \int_0^s ds' Y B^T \mathcal{U}_B(s, s')",
    corrected_formula=r"B(s) = \mathcal{U}_W(s) B(0) - \int_0^s ds' \mathcal{U}_W(s, s') W^T Y, \quad W(s) = W(0) "
    r"\mathcal{U}_B(s) - \int_0^s ds' Y B^T \mathcal{U}_B(s, s')",
    control={
        "biases": with_wrong_formula("the plus sign", equations.EQ_8_16),
        "output": with_wrong_formula("the plus sign", equations.EQ_8_17),
    },
    message="Both Duhamel integrals lack a minus sign",
    cause="The flow (8.6)-(8.7) has the sources $-W^T Y$ and $-Y B^T$, and the integrals carry their sign.",
    consequence="With the minus signs (8.16) and (8.17) give the orbit of the flow, with the propagators of (8.9) "
    "as printed.",
    labels={
        "biases": "bias factor by the formula, minus the integrated orbit",
        "output": "output factor by the formula, minus the integrated orbit",
    },
)
def variation_of_constants(propagators: xr.Dataset) -> Verdict:
    """Trapezoid rule against the orbit."""

    def test(form: str) -> Test:
        biases, output = (propagators[form].sel(equation=equation) for equation in ("(8.16)", "(8.17)"))
        return all_of(
            biases=zero(biases, "equal to the orbit", INTEGRATED), output=zero(output, "equal to the orbit", INTEGRATED)
        )

    return Verdict.from_tests(test("printed"), test("corrected"))


@claim(
    "tf-lemma81",
    where="Section 8.1, Lemma 8.1, (8.13)",
    line=1265,
    assumes=r"$B B^T > \lambda_0$ at all times",
    words=r"Then, the operator norm bound $\|\mathcal{U}_B(s, s_0)\|_{op} \leq e^{-(s-s_0)\lambda_0}$",
    kind="bound",
    states="A gap of the Gram matrix makes its propagator decay at that rate.",
    formula=r"\|\mathcal{U}_B(s, s_0)\| \le e^{-\lambda_0 (s - s_0)} \text{ if } B B^T > \lambda_0",
    sought=r"Gronwall's inequality for $|\mathcal{U}_B^T v|^2$ asks only for a continuous $B$, so no orbit is "
    "presupposed. Attacked with a $B B^T$ that does not commute with itself: eigenvalues 1 and 9, axes "
    "turning at rate 3; the norm stays below $e^{-s}$. With both eigenvalues 1 it is $e^{-s}$, the bound as "
    r"$\lambda_0 \to 1$. One dimension is the scalar case of that equality.",
    control=wrong_formula(
        "the largest eigenvalue in place of the smallest", replace_variables(propagator_rate="propagator_rate_largest")
    ),
    remark="In (8.14) the middle factor lacks a transpose, possibly lost in the scan.",
)
def propagator_decays(propagators: xr.Dataset) -> Verdict:
    """The gap is the smallest eigenvalue of I(0), which bounds that of the Gram matrix along the orbit (8.31)."""
    return Verdict.from_tests(above(propagators["propagator_rate"], "rate over gap"))


@claim(
    "tf-lemma81-UW",
    where="Section 8.1, Lemma 8.1, last sentence",
    line=1269,
    assumes=r"$W^T W > \lambda_0$ at all times",
    words=r"An analogous statement is true for $\mathcal{U}_W(s, s_0)$",
    kind="bound",
    states="A gap of the output weight's Gram matrix makes its propagator decay at that rate.",
    formula=r"\|\mathcal{U}_W(s, s_0)\| \le e^{-\lambda_0 (s - s_0)} \text{ if } W^T W > \lambda_0",
    sought=r"The mirror image: $\partial_s |\mathcal{U}_W v|^2 = -2 |W \mathcal{U}_W v|^2 < -2 \lambda_0 "
    r"|\mathcal{U}_W v|^2$ for any continuous $W$ and $v \ne 0$. What could go wrong is the side: the proof "
    r"needs $W^T W$ to the left of $\mathcal{U}_W$, and (8.9) prints it there. A constant $W = w \mathbf{1}$ "
    "gives exactly $e^{-w^2 s}$, so that no better rate is hidden in it.",
    control=wrong_formula(
        "the largest eigenvalue for the smallest", replace_variables(propagator_rate_W="propagator_rate_W_largest")
    ),
)
def other_propagator_decays(propagators: xr.Dataset) -> Verdict:
    """The gap is the smallest eigenvalue of -I(0), which bounds that of the Gram matrix along the orbit (8.32)."""
    return Verdict.from_tests(above(propagators["propagator_rate_W"], "rate over gap"))


@claim(
    "tf-820",
    where="Section 8.2, after eq. (8.20)",
    line=1314,
    assumes=r"both factors of $W B = -Y$ are unknown",
    words="both $W_{Q+1}(s)$ and $B^{(Q)}(s)$ are unknowns, hence this problem is overdetermined",
    kind="identity",
    kind_of_slip="misprint",
    states="The problem (8.20) is overdetermined.",
    correction="It is underdetermined: $Q^2$ equations for $2 Q^2$ unknowns leave $Q^2$ free, the gauge freedom of "
    "the same sentence.",
    formula=r"W B = -Y",
    control=false_world(
        "a known output weight, with which nothing is free",
        replace_variables(free_directions="free_directions_W_known"),
    ),
    message="The problem is underdetermined, not overdetermined",
    cause="With both factors unknown $W B = -Y$ has $Q^2$ equations for $2 Q^2$ unknowns, so $Q^2$ directions stay "
    "free.",
    consequence="One word changes: the free directions are the gauge freedom that the same sentence names.",
)
def problem_is_underdetermined(propagators: xr.Dataset) -> Verdict:
    """Unknowns less the rank of the derivative of W B at random factors."""
    free = propagators["free_directions"]
    return Verdict.from_tests(
        at_most(
            1 + free, 0.5, expected="more equations than unknowns, 1 + excess at most 0", reason="integers: below 1"
        ),
        at_least(free, 1, expected="directions left free", reason="one is enough for underdetermined"),
    )


@claim(
    "tf-lemma82",
    where="Section 8.1, Lemma 8.2, (8.18)",
    line=1293,
    assumes="for A = 0 both sides are 0, so that > is read as at least",
    words=r"Given any $A, B \in \mathbb{R}^{Q \times Q}$ with $BB^T > \lambda_0 > 0$",
    kind="bound",
    states="A gap of a Gram matrix bounds the norm of products from below.",
    formula=r"\|A B\| > \sqrt{\lambda_0} \|A\| \text{ if } B B^T > \lambda_0",
    sought=r"Proof: $\|A B\|^2 = \sup_v \langle A^T v, B B^T A^T v \rangle \ge \lambda_{\min}(B B^T) \|A\|^2$, which "
    r"exceeds $\lambda_0 \|A\|^2$ unless $A = 0$, the one exception (0 > 0). The worst pair is $A$ of rank 1 "
    r"along the least eigenvector of $B B^T$: ratio $\sqrt{\lambda_{\min} / \lambda_0}$, as near to 1 as one "
    "likes; for $Q = 1$ all pairs are of this kind. Singular $A$ is covered, $B$ is invertible by hypothesis.",
    control=wrong_formula(
        "the largest eigenvalue in place of the smallest", replace_variables(product_ratio="product_ratio_largest")
    ),
    remark="The first norm in (8.19) lacks a square, possibly lost in the scan.",
)
def product_is_bounded_below(propagators: xr.Dataset) -> Verdict:
    """Random pairs with the smallest eigenvalue as gap; the first factor must not vanish."""
    return Verdict.from_tests(above(propagators["product_ratio"], "ratio"))
