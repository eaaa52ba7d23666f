"""Claims decided by the gradient audit: a formula against a derivation that shares nothing with it."""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.verdicts import Test, Verdict, deviation, judge

EXACT = 1e-10
EXACT_REASON = (
    "round-off of sums over points and products over layers of numbers up to 100, without cancellation beyond 1e-12"
)
DIFFERENCED = 1e-7
DIFFERENCED_REASON = "central difference with step 1e-6: truncation 1e-12 times third derivatives, round-off 1e-10"
INTEGRATED = 1e-4
INTEGRATED_REASON = "trapezoid rule: squared node distance (at most 4e-6) times second derivatives up to 10"


def _spoilt(*equations: str) -> Callable[[xr.Dataset], xr.Dataset]:
    """Control: the errors of a formula that is wrong on purpose, in the place of the right one's."""

    def control(audit: xr.Dataset) -> xr.Dataset:
        wrong = audit["control"] if "control" in audit else audit["printed"]
        chosen = audit["equation"].isin(equations)
        return audit.assign(
            printed=xr.where(chosen, wrong, audit["printed"]), corrected=xr.where(chosen, wrong, audit["corrected"])
        )

    return control


def _tests(audit: xr.Dataset, equation: str, tolerance: float, reason: str) -> tuple[Test, Test]:
    errors = audit.sel(equation=equation)
    return tuple(
        deviation(errors[form], tolerance, expected="equal to the independent derivation", reason=reason)
        for form in ("printed", "corrected")
    )


def _decide(audit: xr.Dataset, equation: str, tolerance: float = EXACT, reason: str = EXACT_REASON) -> Verdict:
    return judge(*_tests(audit, equation, tolerance, reason))


@claim(
    "tf-tau-def",
    where="(1.6), (2.9), (6.2)",
    kind="identity",
    states="The truncation map of W_* R, W_* diagonal and positive, is that of R.",
    data="gradient_audit",
    control=_spoilt("(6.2) tau without W_*"),
    control_says="R W_* in the place of W_* R",
)
def tau_ignores_scale(gradient_audit: xr.Dataset) -> Verdict:
    """The definition with W^{-1} against the one with R^T."""
    return _decide(gradient_audit, "(6.2) tau without W_*")


@claim(
    "tf-tau-affine",
    where="(3.12), (7.6)",
    kind="identity",
    states="tau(x) = W^T H W x - W^T (1 - H) W beta.",
    correction="True for W in O(Q), as (7.6) has it; for a general weight the transpose must be the inverse, as in (3.13).",
    data="gradient_audit",
    control=_spoilt("(3.12) affine form"),
    control_says="the transpose in the place of the inverse",
)
def tau_is_affine(gradient_audit: xr.Dataset) -> Verdict:
    """Against the definition, weights with unequal scales."""
    return _decide(gradient_audit, "(3.12) affine form")


@claim(
    "tf-layer-pullback",
    where="(2.17), (2.23)",
    kind="identity",
    states="The l-th hidden layer is W^(l) tau^(l..1)(x).",
    correction="x^(l) = W^(l) tau^(l..1)(x) + b^(l).",
    data="gradient_audit",
    control=_spoilt("(2.17) hidden layer"),
    control_says="without b^(l)",
)
def layer_is_pulled_back(gradient_audit: xr.Dataset) -> Verdict:
    """Against the network's own hidden layer."""
    return _decide(gradient_audit, "(2.17) hidden layer")


@claim(
    "tf-output",
    where="(2.18), (2.22)",
    kind="identity",
    states="The output is W^(L+1) tau(x).",
    correction="Only with the output bias b_{L+1} = -W_{L+1} b^(L), which is never stated.",
    data="gradient_audit",
    control=_spoilt("(2.18) output"),
    control_says="output bias zero, as (8.2) sets it",
)
def output_is_pulled_back(gradient_audit: xr.Dataset) -> Verdict:
    """Against the network's own output."""
    return _decide(gradient_audit, "(2.18) output")


@claim(
    "tf-output-beta",
    where="(1.4), (2.7)",
    kind="identity",
    states="beta^(L+1) = W_{L+1}^{-1} beta^(L).",
    correction="The sum in (2.6), taken to L + 1 layers, gives sum_j (W^(j))^{-1} b_j.",
    data="gradient_audit",
    control=_spoilt("(2.7) last bias"),
    control_says="the printed vector",
)
def last_bias(gradient_audit: xr.Dataset) -> Verdict:
    """Against the sum of pulled-back biases."""
    return _decide(gradient_audit, "(2.7) last bias")


@claim(
    "tf-cost-decomp",
    where="(3.7)",
    kind="identity",
    states="The cost is half the variance within clusters plus half the squared distance of their means from the labels.",
    data="gradient_audit",
    control=_spoilt("(3.7) split of the cost"),
    control_says="the variance alone",
)
def cost_splits(gradient_audit: xr.Dataset) -> Verdict:
    """Against the plain mean of squares."""
    return _decide(gradient_audit, "(3.7) split of the cost")


@claim(
    "tf-thm32-beta",
    where="Theorem 3.2, (3.19), (3.25)",
    kind="identity",
    states="d(beta)/ds = -R^T Jp R (beta + yt) is the negative gradient of the cost.",
    data="gradient_audit",
    control=_spoilt("(3.19) bias flow"),
    control_says="H in the place of 1 - H",
)
def bias_flow_is_the_gradient(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost."""
    return _decide(gradient_audit, "(3.19) bias flow")


@claim(
    "tf-thm32-omega",
    where="Theorem 3.2, (3.21)-(3.23); (1.17)-(1.18)",
    kind="identity",
    states="The weight flow is dR/ds = Omega R with Omega = int [H, M], M = (x b^T + b x^T)/2, b = R (beta + yt).",
    correction="M = (x b^T + b x^T - x x^T)/2.",
    data="gradient_audit",
    control=_spoilt("(3.22) weight flow"),
    control_says="without -x x^T/2",
)
def weight_flow_is_the_gradient(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost along O(Q)."""
    audit = gradient_audit
    obtuse = int((audit["cosine"] < 0).sum())
    verdict = _decide(audit, "(3.22) weight flow")
    note = (
        f"Relative error of the printed flow: median {float(audit['relative_error'].median()):.2f}, largest"
        f" {float(audit['relative_error'].max()):.2g}; obtuse to the true flow in {obtuse} of {audit['cosine'].size} draws."
    )
    return Verdict(verdict.status, verdict.printed, verdict.corrected, note)


@claim(
    "tf-thm32-51",
    where="Theorem 3.2 against Theorem 5.1",
    kind="identity",
    states="For one layer the weight flow (5.6)-(5.7) of Theorem 5.1 is that of Theorem 3.2.",
    correction="It is the corrected one: the two theorems contradict each other as printed.",
    data="gradient_audit",
    control=_spoilt("Thm 3.2 against Thm 5.1"),
    control_says="(3.22) as printed",
)
def theorems_agree(gradient_audit: xr.Dataset) -> Verdict:
    """Two formulas of the paper against each other."""
    return _decide(gradient_audit, "Thm 3.2 against Thm 5.1")


@claim(
    "tf-sign",
    where="(1.14), (4.1)",
    kind="identity",
    states="dR/ds = -Omega R.",
    correction="dR/ds = +Omega R, as (3.21) has it; with the minus sign the cost rises.",
    data="gradient_audit",
    control=_spoilt("(4.1) sign of the weight flow"),
    control_says="the minus sign",
)
def sign_of_the_weight_flow(gradient_audit: xr.Dataset) -> Verdict:
    """Corrected Omega with both signs against complex steps."""
    return _decide(gradient_audit, "(4.1) sign of the weight flow")


@claim(
    "tf-thm32-dissip",
    where="Theorem 3.2, (3.25)-(3.26)",
    kind="identity",
    states="dC/ds = -|Jp b|^2 - Tr(Omega^T Omega) along the flow.",
    data="gradient_audit",
    control=_spoilt("(3.26) dissipation"),
    control_says="the Omega of (3.22) as printed",
)
def cost_dissipates(gradient_audit: xr.Dataset) -> Verdict:
    """Against a central difference of the cost, with the true Omega."""
    return _decide(gradient_audit, "(3.26) dissipation", DIFFERENCED, DIFFERENCED_REASON)


@claim(
    "tf-cor35-half",
    where="Corollary 3.5, (3.38), (4.3)",
    kind="identity",
    states="(3.38) gives the matrix elements of (3.22).",
    correction="A factor 1/2 is missing; in (4.3) the sum over sectors also repeats the integral.",
    data="gradient_audit",
    control=_spoilt("(3.38) matrix elements"),
    control_says="without the factor 1/2",
)
def matrix_elements(gradient_audit: xr.Dataset) -> Verdict:
    """Sector by sector against the sum of commutators."""
    return _decide(gradient_audit, "(3.38) matrix elements")


@claim(
    "tf-cor35-count",
    where="(3.39)-(3.40)",
    kind="identity",
    states="Jp = diag(n_r/N), n_r the number of points truncated in direction r.",
    data="gradient_audit",
    control=_spoilt("(3.39) counted shares"),
    control_says="points that are not truncated",
)
def shares_are_counts(gradient_audit: xr.Dataset) -> Verdict:
    """Moments against counting point by point."""
    return _decide(gradient_audit, "(3.39) counted shares")


@claim(
    "tf-nobackprop",
    where="end of Section 3.3",
    kind="identity",
    states="The flow of separated truncations needs no backpropagation.",
    data="gradient_audit",
    control=_spoilt("moment form"),
    control_says="the moments S_i without the masses J",
)
def no_backpropagation(gradient_audit: xr.Dataset) -> Verdict:
    """Velocity and cost from the half-space moments alone, without a pass through the data or the network."""
    verdict = _decide(gradient_audit, "moment form")
    note = (
        "Between crossings one Q x Q matrix per coordinate decides the flow whatever N. In Theorem 5.1 the products"
        " P^+ and P^- transposed are reverse-mode differentiation by hand. Times: benchmarks/truncation_flow.py."
    )
    return Verdict(verdict.status, verdict.printed, verdict.corrected, note)


@claim(
    "tf-btilde",
    where="(4.23)",
    kind="identity",
    states="d/ds [R (beta + yt)] = Omega b - Jp b.",
    data="gradient_audit",
    control=_spoilt("(4.23) motion of the residual"),
    control_says="the sign of (4.1)",
)
def residual_moves(gradient_audit: xr.Dataset) -> Verdict:
    """Against a central difference."""
    return _decide(gradient_audit, "(4.23) motion of the residual", DIFFERENCED, DIFFERENCED_REASON)


@claim(
    "tf-lemma61",
    where="Lemma 6.1, (6.11)",
    kind="identity",
    states="d/ds f(exp(s omega) R) = -Tr(omega pi_-(G R^T)).",
    data="gradient_audit",
    control=_spoilt("(6.11) Lemma 6.1"),
    control_says="without the minus sign",
)
def lemma_6_1(gradient_audit: xr.Dataset) -> Verdict:
    """Cost along a one-parameter group, central difference."""
    return _decide(gradient_audit, "(6.11) Lemma 6.1", DIFFERENCED, DIFFERENCED_REASON)


@claim(
    "tf-616",
    where="(6.16)-(6.18)",
    kind="identity",
    states="(dC/dR) R^T = 2 H u u^T H - H u b^T - H b u^T, whose first term is symmetric.",
    correction="The first term is H u u^T H + H u u^T, with antisymmetric part [H, u u^T]/2: the slip behind Theorem 3.2.",
    data="gradient_audit",
    control=_spoilt("(6.16) gradient in R"),
    control_says="2 H u u^T H",
)
def gradient_in_r(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps in every entry of R."""
    return _decide(gradient_audit, "(6.16) gradient in R")


@claim(
    "tf-lemma71",
    where="Lemma 7.1, (7.2)",
    kind="identity",
    states="tau^(Q..l)(z) = P^+_l z - sum_{m >= l} P^-_m beta_m.",
    data="gradient_audit",
    control=_spoilt("(7.2) Lemma 7.1"),
    control_says="plus in the place of minus",
)
def lemma_7_1(gradient_audit: xr.Dataset) -> Verdict:
    """Against composing the maps, from every layer on."""
    return _decide(gradient_audit, "(7.2) Lemma 7.1")


@claim(
    "tf-lemma72",
    where="Lemma 7.2, (7.11)",
    kind="identity",
    states="The gradient of |z_Q - yt|^2/2 in beta_l is (P^-_l)^T (P^+_l z_{l-1} - sum P^- beta - yt).",
    correction="With a minus sign, as in (7.14), the last line of its own proof.",
    data="gradient_audit",
    control=_spoilt("(7.11) Lemma 7.2"),
    control_says="without the minus sign",
)
def lemma_7_2(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps."""
    return _decide(gradient_audit, "(7.11) Lemma 7.2")


@claim(
    "tf-thm51-beta",
    where="Theorem 5.1, (5.4); (7.15)",
    kind="identity",
    states="d(beta_l)/ds = - sum_{l' >= l} int mu_l' (P^-_l')^T (z_Q - yt).",
    correction="d(beta_l)/ds = + sum over all clusters c of int mu_c (P^-_l)^T (z_Q - yt_c).",
    data="gradient_audit",
    control=_spoilt("(5.4) bias flow of layers"),
    control_says="the printed sum and sign",
)
def general_bias_flow(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost of all layers."""
    return _decide(gradient_audit, "(5.4) bias flow of layers")


@claim(
    "tf-thm51-omega",
    where="Theorem 5.1, (5.6)-(5.7), (7.16)",
    kind="identity",
    states="The weight flow of layer l is - sum_c int mu_c [H_l, M_l,c] with M of (5.7).",
    data="gradient_audit",
    control=_spoilt("(5.6) weight flow of layers"),
    control_says="the other sign",
)
def general_weight_flow(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost of all layers along O(Q)."""
    return _decide(gradient_audit, "(5.6) weight flow of layers")


def _doubled(propagators: xr.Dataset) -> xr.Dataset:
    """Control for (8.8), which is right: the errors of (8.11) as printed stand for a wrong Gram matrix."""
    wrong = propagators["printed"].sel(equation="(8.9), (8.11)", drop=True)
    chosen = propagators["equation"] == "(8.8)"
    return propagators.assign(
        printed=xr.where(chosen, wrong, propagators["printed"]), corrected=xr.where(chosen, wrong, propagators["corrected"])
    )


@claim(
    "tf-88",
    where="(8.8)",
    kind="identity",
    states="dE/ds = -W W^T E - E B^T B for E = W B + Y.",
    data="propagators",
    control=_doubled,
    control_says="the Gram matrices W^T W and B B^T of (8.9) as printed",
)
def error_equation(propagators: xr.Dataset) -> Verdict:
    """Integrated along the orbit against the change of E."""
    return _decide(propagators, "(8.8)", INTEGRATED, INTEGRATED_REASON)


@claim(
    "tf-89-811",
    where="(8.9), (8.11)",
    kind="identity",
    states="E(s) = U_W E(0) U_B with dU_B = -U_B B B^T, dU_W = -W^T W U_W.",
    correction="With the Gram matrices B^T B and W W^T of (8.8).",
    data="propagators",
    control=_spoilt("(8.9), (8.11)"),
    control_says="the printed Gram matrices",
)
def propagators_carry_the_error(propagators: xr.Dataset) -> Verdict:
    """Against E along the orbit, all integrated to a relative 1e-12."""
    return _decide(propagators, "(8.9), (8.11)", 1e-9, "relative tolerance 1e-12 of the integrator times its steps (< 1000)")


@claim(
    "tf-810",
    where="(8.10)",
    kind="identity",
    states="The derivative of U_B in its initial time is -B B^T U_B.",
    correction="It is +B B^T U_B, and +U_W W^T W for U_W.",
    data="propagators",
    control=_spoilt("(8.10)"),
    control_says="the minus sign",
)
def initial_time_derivative(propagators: xr.Dataset) -> Verdict:
    """Against a central difference."""
    return _decide(propagators, "(8.10)", 1e-5, "central difference with step 1e-4: 1e-8 times third derivatives up to 100")


@claim(
    "tf-816-817",
    where="(8.16), (8.17)",
    kind="identity",
    states="B(s) = U_W B(0) + int U_W(s, s') W^T Y ds', and W(s) = W(0) U_B + int Y B^T U_B(s, s') ds'.",
    correction="Both integrals carry a minus sign (with the propagators of (8.9) as printed).",
    data="propagators",
    control=_spoilt("(8.16)", "(8.17)"),
    control_says="the plus sign",
)
def variation_of_constants(propagators: xr.Dataset) -> Verdict:
    """Trapezoid rule against the orbit, worse of the two equations."""
    both = propagators.sel(equation=["(8.16)", "(8.17)"])
    tests = [
        deviation(both[form], INTEGRATED, expected="equal to the orbit", reason=INTEGRATED_REASON)
        for form in ("printed", "corrected")
    ]
    return judge(*tests)
