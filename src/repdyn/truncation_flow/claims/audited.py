"""Claims on maps and on Theorem 3.2 decided by the gradient audit."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.formula_audit import decide_formula, with_wrong_formula
from repdyn.base.verdicts import Verdict
from repdyn.truncation_flow.claims.tolerances import DIFFERENCED, EXACT


@claim(
    "tf-tau-def",
    where="eqs. (1.6), (2.9), (6.2)",
    kind="identity",
    states="The truncation map of W_* R, W_* diagonal and positive, is that of R.",
    data="gradient_audit",
    control=with_wrong_formula("R W_* in the place of W_* R", "(6.2) tau without W_*"),
)
def tau_ignores_scale(gradient_audit: xr.Dataset) -> Verdict:
    """The definition with W^{-1} against the one with R^T."""
    return decide_formula(gradient_audit, "(6.2) tau without W_*", *EXACT)


@claim(
    "tf-tau-affine",
    where="eqs. (3.12), (7.6)",
    kind="identity",
    states="tau(x) = W^T H W x - W^T (1 - H) W beta.",
    correction="True for W in O(Q), as (7.6) has it; for a general weight the transpose must be the inverse, as in"
    " (3.13).",
    formula=r"\tau(x) = W^T H(x) W x - W^T H^\perp(x) W \beta",
    corrected_formula=r"\tau(x) = W^{-1} H(x) W x - W^{-1} H^\perp(x) W \beta",
    data="gradient_audit",
    control=with_wrong_formula("the transpose in the place of the inverse", "(3.12) affine form"),
)
def tau_is_affine(gradient_audit: xr.Dataset) -> Verdict:
    """Against the definition, weights with unequal scales."""
    return decide_formula(gradient_audit, "(3.12) affine form", *EXACT)


@claim(
    "tf-layer-pullback",
    where="eqs. (2.17), (2.23)",
    kind="identity",
    states="The l-th hidden layer is W^(l) tau^(l..1)(x).",
    correction="x^(l) = W^(l) tau^(l..1)(x) + b^(l).",
    formula=r"x^{(\ell)} = W^{(\ell)} \underline{\tau}^{(\ell)}(x^{(0)})",
    corrected_formula=r"x^{(\ell)} = W^{(\ell)} \underline{\tau}^{(\ell)}(x^{(0)}) + b^{(\ell)}",
    data="gradient_audit",
    control=with_wrong_formula("without b^(l)", "(2.17) hidden layer"),
)
def layer_is_pulled_back(gradient_audit: xr.Dataset) -> Verdict:
    """Against the network's own hidden layer."""
    return decide_formula(gradient_audit, "(2.17) hidden layer", *EXACT)


@claim(
    "tf-output",
    where="eqs. (2.18), (2.22)",
    kind="identity",
    states="The output is W^(L+1) tau(x).",
    correction="Only with the output bias b_{L+1} = -W_{L+1} b^(L), which is never stated.",
    formula=r"x^{(L+1)} = W^{(L+1)} \underline{\tau}^{(L)}(x^{(0)})",
    corrected_formula=r"x^{(L+1)} = W^{(L+1)} \underline{\tau}^{(L)}(x^{(0)}) + W_{L+1} b^{(L)} + b_{L+1}",
    data="gradient_audit",
    control=with_wrong_formula("output bias zero, as (8.2) sets it", "(2.18) output"),
)
def output_is_pulled_back(gradient_audit: xr.Dataset) -> Verdict:
    """Against the network's own output."""
    return decide_formula(gradient_audit, "(2.18) output", *EXACT)


@claim(
    "tf-output-beta",
    where="eqs. (1.4), (2.7)",
    kind="identity",
    states="beta^(L+1) = W_{L+1}^{-1} beta^(L).",
    correction="The sum in (2.6), taken to L + 1 layers, gives sum_j (W^(j))^{-1} b_j.",
    formula=r"\beta^{(L+1)} = (W_{L+1})^{-1} \beta^{(L)}",
    corrected_formula=r"\beta^{(L+1)} = \sum_{j=1}^{L+1} (W^{(j)})^{-1} b_j",
    data="gradient_audit",
    control=with_wrong_formula("the printed vector", "(2.7) last bias"),
)
def last_bias(gradient_audit: xr.Dataset) -> Verdict:
    """Against the sum of pulled-back biases."""
    return decide_formula(gradient_audit, "(2.7) last bias", *EXACT)


@claim(
    "tf-cost-decomp",
    where="eq. (3.7)",
    kind="identity",
    states="The cost is half the variance within clusters plus half the squared distance of their means from the"
    " labels.",
    data="gradient_audit",
    control=with_wrong_formula("the variance alone", "(3.7) split of the cost"),
)
def cost_splits(gradient_audit: xr.Dataset) -> Verdict:
    """Against the plain mean of squares."""
    return decide_formula(gradient_audit, "(3.7) split of the cost", *EXACT)


@claim(
    "tf-thm32-beta",
    where="Theorem 3.2, (3.19), (3.25)",
    kind="identity",
    states="d(beta)/ds = -R^T Jp R (beta + yt) is the negative gradient of the cost.",
    data="gradient_audit",
    control=with_wrong_formula("H in the place of 1 - H", "(3.19) bias flow"),
)
def bias_flow_is_the_gradient(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost."""
    return decide_formula(gradient_audit, "(3.19) bias flow", *EXACT)


@claim(
    "tf-thm32-omega",
    where="Theorem 3.2, (3.21)-(3.23); (1.17)-(1.18)",
    kind="identity",
    states="The weight flow is dR/ds = Omega R with Omega = int [H, M], M = (x b^T + b x^T)/2, b = R (beta + yt).",
    correction="M = (x b^T + b x^T - x x^T)/2.",
    formula=r"M(x) = \frac{1}{2} \left( x (\beta + \tilde y)^T R^T + R (\beta + \tilde y) x^T \right)",
    corrected_formula=(
        r"M(x) = \frac{1}{2} \left( x (\beta + \tilde y)^T R^T + R (\beta + \tilde y) x^T - x x^T \right)"
    ),
    data="gradient_audit",
    control=with_wrong_formula("without -x x^T/2", "(3.22) weight flow"),
)
def weight_flow_is_the_gradient(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost along O(Q)."""
    audit = gradient_audit
    obtuse = int((audit["cosine"] < 0).sum())
    verdict = decide_formula(audit, "(3.22) weight flow", *EXACT)
    note = (
        f"Relative error of the printed flow: median {float(audit['relative_error'].median()):.2f}, largest"
        f" {float(audit['relative_error'].max()):.2g}; obtuse to the true flow in {obtuse} of {audit['cosine'].size}"
        f" draws."
    )
    return Verdict(verdict.status, verdict.printed, verdict.corrected, note)


@claim(
    "tf-thm32-51",
    where="Theorem 3.2 against Theorem 5.1",
    kind="identity",
    states="For one layer the weight flow (5.6)-(5.7) of Theorem 5.1 is that of Theorem 3.2.",
    correction="It is the corrected one: the two theorems contradict each other as printed.",
    formula=r"\tilde\Omega = \int dx\, \mu(a^{-1}(x)) [H, M], \quad M = \frac{1}{2} \left( x b^T + b x^T \right)",
    corrected_formula=(
        r"\tilde\Omega = \int dx\, \mu(a^{-1}(x)) [H, M], \quad M = \frac{1}{2} \left( x b^T + b x^T "
        r"- x x^T \right)"
    ),
    data="gradient_audit",
    control=with_wrong_formula("(3.22) as printed", "Thm 3.2 against Thm 5.1"),
)
def theorems_agree(gradient_audit: xr.Dataset) -> Verdict:
    """Two formulas of the paper against each other."""
    return decide_formula(gradient_audit, "Thm 3.2 against Thm 5.1", *EXACT)


@claim(
    "tf-sign",
    where="eqs. (1.14), (4.1)",
    kind="identity",
    states="dR/ds = -Omega R.",
    correction="dR/ds = +Omega R, as (3.21) has it; with the minus sign the cost rises.",
    formula=r"\partial_s R_\ell = -\Omega_\ell R_\ell",
    corrected_formula=r"\partial_s R_\ell = \Omega_\ell R_\ell",
    data="gradient_audit",
    control=with_wrong_formula("the minus sign", "(4.1) sign of the weight flow"),
)
def sign_of_the_weight_flow(gradient_audit: xr.Dataset) -> Verdict:
    """Corrected Omega with both signs against complex steps."""
    return decide_formula(gradient_audit, "(4.1) sign of the weight flow", *EXACT)


@claim(
    "tf-thm32-dissip",
    where="Theorem 3.2, (3.25)-(3.26)",
    kind="identity",
    states="dC/ds = -|Jp b|^2 - Tr(Omega^T Omega) along the flow.",
    data="gradient_audit",
    control=with_wrong_formula("the Omega of (3.22) as printed", "(3.26) dissipation"),
)
def cost_dissipates(gradient_audit: xr.Dataset) -> Verdict:
    """Against a central difference of the cost, with the true Omega."""
    return decide_formula(gradient_audit, "(3.26) dissipation", *DIFFERENCED)


@claim(
    "tf-cor35-half",
    where="Corollary 3.5, (3.38), (4.3)",
    kind="identity",
    states="(3.38) gives the matrix elements of (3.22).",
    correction="A factor 1/2 is missing; in (4.3) the sum over sectors also repeats the integral.",
    formula=r"[\Omega]_{ij} = \sum_\nu (\nu_i - \nu_j) \left( (J_{1,\nu})_i b_j + b_i (J_{1,\nu})_j \right)",
    corrected_formula=(
        r"[\Omega]_{ij} "
        r"= \frac{1}{2} \sum_\nu (\nu_i - \nu_j) \left( (J_{1,\nu})_i b_j + b_i (J_{1,\nu})_j \right)"
    ),
    data="gradient_audit",
    control=with_wrong_formula("without the factor 1/2", "(3.38) matrix elements"),
)
def matrix_elements(gradient_audit: xr.Dataset) -> Verdict:
    """Sector by sector against the sum of commutators."""
    return decide_formula(gradient_audit, "(3.38) matrix elements", *EXACT)


@claim(
    "tf-cor35-count",
    where="eqs. (3.39)-(3.40)",
    kind="identity",
    states="Jp = diag(n_r/N), n_r the number of points truncated in direction r.",
    data="gradient_audit",
    control=with_wrong_formula("points that are not truncated", "(3.39) counted shares"),
)
def shares_are_counts(gradient_audit: xr.Dataset) -> Verdict:
    """Moments against counting point by point."""
    return decide_formula(gradient_audit, "(3.39) counted shares", *EXACT)


@claim(
    "tf-nobackprop",
    where="end of Section 3.3",
    kind="identity",
    states="The flow of separated truncations needs no backpropagation.",
    data="gradient_audit",
    control=with_wrong_formula("the moments S_i without the masses J", "moment form"),
)
def no_backpropagation(gradient_audit: xr.Dataset) -> Verdict:
    """Velocity and cost from the half-space moments alone, without a pass through the data or the network."""
    verdict = decide_formula(gradient_audit, "moment form", *EXACT)
    note = (
        "Between crossings one Q x Q matrix per coordinate decides the flow whatever N. In Theorem 5.1 the products"
        " P^+ and P^- transposed are reverse-mode differentiation by hand. Times: benchmarks/truncation_flow.py."
    )
    return Verdict(verdict.status, verdict.printed, verdict.corrected, note)


@claim(
    "tf-btilde",
    where="eq. (4.23)",
    kind="identity",
    states="d/ds [R (beta + yt)] = Omega b - Jp b.",
    data="gradient_audit",
    control=with_wrong_formula("the sign of (4.1)", "(4.23) motion of the residual"),
)
def residual_moves(gradient_audit: xr.Dataset) -> Verdict:
    """Against a central difference."""
    return decide_formula(gradient_audit, "(4.23) motion of the residual", *DIFFERENCED)
