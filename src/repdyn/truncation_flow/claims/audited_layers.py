"""Claims on Sections 6 to 8 decided by the gradient audit and by the propagators."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.formula_audit import decide_formula, with_wrong_formula
from repdyn.base.verdicts import Verdict, deviation
from repdyn.truncation_flow.claims.tolerances import DIFFERENCED, EXACT, INTEGRATED, SOLVED


def _doubled(propagators: xr.Dataset) -> xr.Dataset:
    """Control for (8.8), which is right: the errors of (8.11) as printed stand for a wrong Gram matrix."""
    wrong = propagators["printed"].sel(equation="(8.9), (8.11)", drop=True)
    chosen = propagators["equation"] == "(8.8)"
    return propagators.assign(
        printed=xr.where(chosen, wrong, propagators["printed"]),
        corrected=xr.where(chosen, wrong, propagators["corrected"]),
    )


@claim(
    "tf-lemma61",
    where="Lemma 6.1, (6.11)",
    kind="identity",
    states="d/ds f(exp(s omega) R) = -Tr(omega pi_-(G R^T)).",
    data="gradient_audit",
    control=with_wrong_formula("without the minus sign", "(6.11) Lemma 6.1"),
)
def lemma_6_1(gradient_audit: xr.Dataset) -> Verdict:
    """Cost along a one-parameter group, central difference."""
    return decide_formula(gradient_audit, "(6.11) Lemma 6.1", *DIFFERENCED)


@claim(
    "tf-616",
    where="eqs. (6.16)-(6.18)",
    kind="identity",
    states="(dC/dR) R^T = 2 H u u^T H - H u b^T - H b u^T, whose first term is symmetric.",
    correction="The first term is H u u^T H + H u u^T, with antisymmetric part [H, u u^T]/2: the slip behind Theorem"
    " 3.2.",
    formula=r"\left( \partial_R \frac{1}{2} |\tau - \tilde y|^2 \right) R^T = 2 H u u^T H - H u b^T - H b u^T",
    corrected_formula=(
        r"\left( \partial_R \frac{1}{2} |\tau - \tilde y|^2 \right) R^T = H u u^T H + H u u^T "
        r"- H u b^T - H b u^T"
    ),
    data="gradient_audit",
    control=with_wrong_formula("2 H u u^T H", "(6.16) gradient in R"),
)
def gradient_in_r(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps in every entry of R."""
    return decide_formula(gradient_audit, "(6.16) gradient in R", *EXACT)


@claim(
    "tf-lemma71",
    where="Lemma 7.1, (7.2)",
    kind="identity",
    states="tau^(Q..l)(z) = P^+_l z - sum_{m >= l} P^-_m beta_m.",
    data="gradient_audit",
    control=with_wrong_formula("plus in the place of minus", "(7.2) Lemma 7.1"),
)
def lemma_7_1(gradient_audit: xr.Dataset) -> Verdict:
    """Against composing the maps, from every layer on."""
    return decide_formula(gradient_audit, "(7.2) Lemma 7.1", *EXACT)


@claim(
    "tf-lemma72",
    where="Lemma 7.2, (7.11)",
    kind="identity",
    states="The gradient of |z_Q - yt|^2/2 in beta_l is (P^-_l)^T (P^+_l z_{l-1} - sum P^- beta - yt).",
    correction="With a minus sign, as in (7.14), the last line of its own proof.",
    formula=(
        r"\partial_{\beta^{(\ell)}} \frac{1}{2} |\tau^{(Q,1)}(x) - \tilde y|^2 = (P_{\ell,Q}^-)^T "
        r"\left( \tau^{(Q,1)}(x) - \tilde y \right)"
    ),
    corrected_formula=(
        r"\partial_{\beta^{(\ell)}} \frac{1}{2} |\tau^{(Q,1)}(x) - \tilde y|^2 = -(P_{\ell,Q}^-)^T "
        r"\left( \tau^{(Q,1)}(x) - \tilde y \right)"
    ),
    data="gradient_audit",
    control=with_wrong_formula("without the minus sign", "(7.11) Lemma 7.2"),
)
def lemma_7_2(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps."""
    return decide_formula(gradient_audit, "(7.11) Lemma 7.2", *EXACT)


@claim(
    "tf-thm51-beta",
    where="Theorem 5.1, (5.4); (7.15)",
    kind="identity",
    states="d(beta_l)/ds = - sum_{l' >= l} int mu_l' (P^-_l')^T (z_Q - yt).",
    correction="d(beta_l)/ds = + sum over all clusters c of int mu_c (P^-_l)^T (z_Q - yt_c).",
    formula=(
        r"\partial_s \beta^{(\ell)} = -\sum_{\ell'=\ell}^{Q} \int dx\, \mu_{\ell'}(x) (P_{\ell',Q}^-)^T "
        r"\left( \tau^{(Q,1)}(x) - \tilde y \right)"
    ),
    corrected_formula=(
        r"\partial_s \beta^{(\ell)} = \sum_{\ell'=1}^{Q} \int dx\, \mu_{\ell'}(x) (P_{\ell,Q}^-)^T "
        r"\left( \tau^{(Q,1)}(x) - \tilde y_{\ell'} \right)"
    ),
    data="gradient_audit",
    control=with_wrong_formula("the printed sum and sign", "(5.4) bias flow of layers"),
)
def general_bias_flow(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost of all layers."""
    return decide_formula(gradient_audit, "(5.4) bias flow of layers", *EXACT)


@claim(
    "tf-thm51-omega",
    where="Theorem 5.1, (5.6)-(5.7), (7.16)",
    kind="identity",
    states="The weight flow of layer l is - sum_c int mu_c [H_l, M_l,c] with M of (5.7).",
    data="gradient_audit",
    control=with_wrong_formula("the other sign", "(5.6) weight flow of layers"),
)
def general_weight_flow(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost of all layers along O(Q)."""
    return decide_formula(gradient_audit, "(5.6) weight flow of layers", *EXACT)


@claim(
    "tf-88",
    where="eq. (8.8)",
    kind="identity",
    states="dE/ds = -W W^T E - E B^T B for E = W B + Y.",
    data="propagators",
    control=wrong_formula("the Gram matrices W^T W and B B^T of (8.9) as printed", _doubled),
)
def error_equation(propagators: xr.Dataset) -> Verdict:
    """Integrated along the orbit against the change of E."""
    return decide_formula(propagators, "(8.8)", *INTEGRATED)


@claim(
    "tf-89-811",
    where="eqs. (8.9), (8.11)",
    kind="identity",
    states="E(s) = U_W E(0) U_B with dU_B = -U_B B B^T, dU_W = -W^T W U_W.",
    correction="With the Gram matrices B^T B and W W^T of (8.8).",
    formula=r"\partial_s \mathcal{U}_B = -\mathcal{U}_B B B^T, \quad \partial_s \mathcal{U}_W = -W^T W \mathcal{U}_W",
    corrected_formula=(
        r"\partial_s \mathcal{U}_B = -\mathcal{U}_B B^T B, \quad \partial_s \mathcal{U}_W "
        r"= -W W^T \mathcal{U}_W"
    ),
    data="propagators",
    control=with_wrong_formula("the printed Gram matrices", "(8.9), (8.11)"),
)
def propagators_carry_the_error(propagators: xr.Dataset) -> Verdict:
    """Against E along the orbit, all integrated to a relative 1e-12."""
    return decide_formula(propagators, "(8.9), (8.11)", *SOLVED)


@claim(
    "tf-810",
    where="eq. (8.10)",
    kind="identity",
    states="The derivative of U_B in its initial time is -B B^T U_B.",
    correction="It is +B B^T U_B, and +U_W W^T W for U_W.",
    formula=(
        r"\partial_{s_0} \mathcal{U}_B = -B B^T \mathcal{U}_B, \quad \partial_{s_0} \mathcal{U}_W "
        r"= -\mathcal{U}_W W^T W"
    ),
    corrected_formula=(
        r"\partial_{s_0} \mathcal{U}_B = B B^T \mathcal{U}_B, \quad \partial_{s_0} \mathcal{U}_W "
        r"= \mathcal{U}_W W^T W"
    ),
    data="propagators",
    control=with_wrong_formula("the minus sign", "(8.10)"),
)
def initial_time_derivative(propagators: xr.Dataset) -> Verdict:
    """Against a central difference."""
    return decide_formula(
        propagators, "(8.10)", 1e-5, "central difference with step 1e-4: 1e-8 times third derivatives up to 100"
    )


@claim(
    "tf-816-817",
    where="eqs. (8.16), (8.17)",
    kind="identity",
    states="B(s) = U_W B(0) + int U_W(s, s') W^T Y ds', and W(s) = W(0) U_B + int Y B^T U_B(s, s') ds'.",
    correction="Both integrals carry a minus sign (with the propagators of (8.9) as printed).",
    formula=(
        r"B(s) = \mathcal{U}_W(s) B(0) + \int_0^s ds' \mathcal{U}_W(s, s') W^T Y, \quad W(s) "
        r"= W(0) \mathcal{U}_B(s) + \int_0^s ds' Y B^T \mathcal{U}_B(s, s')"
    ),
    corrected_formula=(
        r"B(s) = \mathcal{U}_W(s) B(0) - \int_0^s ds' \mathcal{U}_W(s, s') W^T Y, \quad W(s) "
        r"= W(0) \mathcal{U}_B(s) - \int_0^s ds' Y B^T \mathcal{U}_B(s, s')"
    ),
    data="propagators",
    control=with_wrong_formula("the plus sign", "(8.16)", "(8.17)"),
)
def variation_of_constants(propagators: xr.Dataset) -> Verdict:
    """Trapezoid rule against the orbit, worse of the two equations."""
    both = propagators.sel(equation=["(8.16)", "(8.17)"])
    tests = [
        deviation(both[form], INTEGRATED.size, expected="equal to the orbit", reason=INTEGRATED.reason)
        for form in ("printed", "corrected")
    ]
    return Verdict.from_tests(*tests)
