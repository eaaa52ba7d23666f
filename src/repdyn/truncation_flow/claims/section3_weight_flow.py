"""Claims on Theorem 3.2, Corollary 3.5 and Section 6: the gradient flow of one cluster."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, in_dataset, replace_labels, replace_variables, wrong_formula
from repdyn.base.formula_audit import decide_formula, decide_own_formula, with_wrong_formula
from repdyn.base.verdicts import Verdict, at_least, at_most
from repdyn.truncation_flow.claims.requirements import reaches
from repdyn.truncation_flow.claims.tolerances import DIFFERENCED, EXACT, zero

RISE_SEEN = 5.0  # flow time by which the printed flow has raised the cost of the explicit example


@claim(
    "tf-thm32-beta",
    where="Section 3.2, Theorem 3.2, (3.19), (3.25)",
    line=435,
    assumes=("cluster separated truncations; aligned weights, so that W = R is orthogonal (Theorem 3.2)"),
    words="the gradient flow for the cumulative biases is determined by",
    kind="identity",
    states="The bias flow is the negative gradient of the cost.",
    formula=r"\partial_s \beta = -R^T J_0^\perp R (\beta + \tilde y)",
    control=with_wrong_formula("the points that are not truncated", "(3.19) bias flow"),
)
def bias_flow_is_the_gradient(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost."""
    return decide_formula(gradient_audit, "(3.19) bias flow", *EXACT)


@claim(
    "tf-thm32-omega",
    where="Section 3.2, Theorem 3.2, (3.21)-(3.23); Section 1, (1.17)-(1.18)",
    line=446,
    kind_of_slip="result changes",
    assumes=("cluster separated truncations; aligned weights, so that W = R is orthogonal (Theorem 3.2)"),
    words=(
        r"the gradient flow for the cumulative weights $R_{\ell}$ , $\ell = 1, \dots, Q$ , is "
        "determined by"
    ),
    kind="identity",
    states=r"The weight flow is $\partial_s R = \Omega R$, $\Omega$ the mean of the commutators $[H, M]$.",
    correction="A quadratic term is missing in $M$.",
    formula=r"M(x) = \frac{1}{2} \left( x (\beta + \tilde y)^T R^T + R (\beta + \tilde y) x^T \right)",
    corrected_formula=(
        r"M(x) = \frac{1}{2} \left( x (\beta + \tilde y)^T R^T + R (\beta + \tilde y) x^T - x x^T \right)"
    ),
    control=with_wrong_formula("without the quadratic term", "(3.22) weight flow"),
)
def weight_flow_is_the_gradient(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost along the orthogonal group."""
    audit = gradient_audit
    obtuse = int((audit["cosine"] < 0).sum())
    note = (
        f"Relative error of the printed flow: median {float(audit['relative_error'].median()):.2f}, largest"
        f" {float(audit['relative_error'].max()):.2g}; obtuse to the true flow in {obtuse} of {audit['cosine'].size}"
        f" draws."
    )
    return decide_formula(audit, "(3.22) weight flow", *EXACT, note=note)


@claim(
    "tf-thm32-51",
    where="Section 3.2, Theorem 3.2 against Section 5, Theorem 5.1",
    kind="identity",
    origin="ours",
    states="For one layer the weight flow (5.6)-(5.7) of Theorem 5.1 is the corrected one of Theorem 3.2: as printed"
    " the two theorems contradict each other.",
    formula=(
        r"\tilde\Omega = \int dx\, \mu(a^{-1}(x)) [H, M], \quad M = \frac{1}{2} \left( x b^T + b x^T "
        r"- x x^T \right)"
    ),
    control=with_wrong_formula("(3.22) as printed", "Thm 3.2 against Thm 5.1"),
)
def theorems_agree(gradient_audit: xr.Dataset) -> Verdict:
    """Two formulas of the paper against each other."""
    return decide_own_formula(gradient_audit, "Thm 3.2 against Thm 5.1", *EXACT)


def _largest_rise(cost: xr.DataArray) -> xr.DataArray:
    """Largest rise of the cost above its lowest value so far."""
    return (cost - xr.apply_ufunc(np.minimum.accumulate, cost, kwargs={"axis": cost.get_axis_num("time")})).max()


@claim(
    "tf-thm32-monotone",
    where="Section 3.2, Theorem 3.2, (3.24)",
    line=461,
    assumes="the gradient flow, which (3.19) and the first line of (3.22) define; strictly is read as not rising",
    words="Along orbits of the gradient flow, the cost is monotone decreasing",
    kind="bound",
    states="Along orbits of the gradient flow the cost does not rise.",
    formula=r"\partial_s \mathcal{C} \le 0",
    control=wrong_formula(
        "the printed flow in place of the corrected",
        in_dataset(0, replace_labels("formula", {"corrected": "printed"})),
    ),
)
def cost_falls(printed_and_corrected: xr.Dataset, random_clusters: xr.Dataset) -> Verdict:
    """Largest rebound over the explicit examples and the random clusters."""
    reaches(printed_and_corrected, "printed_and_corrected", RISE_SEEN)
    step = float(printed_and_corrected["step"])

    part = printed_and_corrected.sel(formula="corrected")
    test = at_most(
        [float(_largest_rise(part[name])) for name in ("example_cost", "cost")],
        0.1 * step,
        expected="no rise",
        reason="a scheme of step $h$ may rise by $O(h)$ while sliding: $h/10$",
    )
    share = (random_clusters["printed_rate"] > 0).mean("draw")
    final = float(printed_and_corrected["example_cost"].sel(formula="printed", example="rise")[-1])
    note = (
        rf"Not so along (3.22) as evaluated in its second line (`tf-thm32-omega`): for one point, $x = (1, -1)$,"
        rf" $\tilde y = (1/2, 0)$, that flow takes the cost from 0.125 to {final:.3f}."
        f" The cost rises under it for {float(share.min()):.0%} to {float(share.max()):.0%} of random"
        r" clusters with $\beta$ near $-\tilde y$."
    )
    return Verdict.from_tests(test, None, note)


@claim(
    "tf-sign",
    where="Section 4, eq. (4.1); Section 1, (1.14)",
    line=559,
    kind_of_slip="misprint",
    assumes="the generator of (3.22), whose flow (3.37) has the other sign",
    words="We use the expressions for the gradient flow equations as given in Corollary 3.5",
    kind="identity",
    states="The weights move against the generator.",
    correction="They move with it, as (3.21) has it; with the minus sign the cost rises.",
    formula=r"\partial_s R_\ell = -\Omega_\ell R_\ell",
    corrected_formula=r"\partial_s R_\ell = \Omega_\ell R_\ell",
    control=with_wrong_formula("the minus sign", "(4.1) sign of the weight flow"),
)
def sign_of_the_weight_flow(gradient_audit: xr.Dataset) -> Verdict:
    """The corrected generator with both signs against complex steps."""
    return decide_formula(gradient_audit, "(4.1) sign of the weight flow", *EXACT)


@claim(
    "tf-thm32-dissip",
    where="Section 3.2, Theorem 3.2, (3.25)-(3.26)",
    line=473,
    assumes=("cluster separated truncations; aligned weights, so that W = R is orthogonal (Theorem 3.2)"),
    words=r"are separately negative semidefinite for every $\ell = 1, \dots, Q$",
    kind="identity",
    states="Biases and weights each lower the cost by the square of their velocity.",
    formula=r"\partial_s \mathcal{C} = -|J_0^\perp b|^2 - \mathrm{Tr}(\Omega^T \Omega)",
    control=with_wrong_formula("the generator (3.22) as printed", "(3.26) dissipation"),
)
def cost_dissipates(gradient_audit: xr.Dataset) -> Verdict:
    """Against a central difference of the cost, with the true generator."""
    return decide_formula(gradient_audit, "(3.26) dissipation", *DIFFERENCED)


@claim(
    "tf-327",
    where="Section 3.2, eq. (3.27)",
    line=477,
    words=r"We remark that for any symmetric matrix $M = M^T \in \mathbb{R}^{Q \times Q}$",
    kind="identity",
    states=("The commutator of a pattern with a symmetric matrix links truncated with other directions."),
    formula=r"H M - M H = H M H^\perp - H^\perp M H",
    control=with_wrong_formula("a plus sign between the blocks", "(3.27) blocks of the commutator"),
)
def commutator_has_two_blocks(gradient_audit: xr.Dataset) -> Verdict:
    """Random symmetric matrices, patterns of random clusters."""
    return decide_formula(gradient_audit, "(3.27) blocks of the commutator", *EXACT)


@claim(
    "tf-335",
    where="Section 3.3, eq. (3.35)",
    line=519,
    words=(
        r"for any symmetric matrix $M = M^T \in \mathbb{R}^{Q \times Q}$ , $$[H(x), M]_{ij} = (\nu_i "
        r"- \nu_j) M_{ij} \quad , \quad \forall x \in \mathbb{R}_{\underline{\nu}}^Q \quad (3.35)$$ "
        r"for all $i, j \in \{1, \dots, Q\}$"
    ),
    kind="identity",
    states="In a sector the commutator multiplies every entry by a difference of the pattern.",
    formula=r"[H(x), M]_{ij} = (\nu_i - \nu_j) M_{ij}, \quad x \in \mathbb{R}_\nu^Q",
    control=with_wrong_formula("the sum of the pattern's entries", "(3.35) elements of the commutator"),
)
def commutator_by_elements(gradient_audit: xr.Dataset) -> Verdict:
    """Random symmetric matrices, patterns of random clusters."""
    return decide_formula(gradient_audit, "(3.35) elements of the commutator", *EXACT)


@claim(
    "tf-cor35-half",
    where="Section 3.3, Corollary 3.5, (3.38); Section 4, (4.3)",
    line=533,
    kind_of_slip="misprint",
    assumes="the assumptions of Theorem 3.2, the generator (3.22)",
    words=r"where the matrix elements of $\Omega_\ell$ are given by",
    kind="identity",
    states="(3.38) gives the matrix elements of (3.22).",
    correction=r"A factor $\frac12$ is missing; in (4.3) the sum over sectors also repeats the integral.",
    formula=r"[\Omega]_{ij} = \sum_\nu (\nu_i - \nu_j) \left( (J_{1,\nu})_i b_j + b_i (J_{1,\nu})_j \right)",
    corrected_formula=(
        r"[\Omega]_{ij} "
        r"= \frac{1}{2} \sum_\nu (\nu_i - \nu_j) \left( (J_{1,\nu})_i b_j + b_i (J_{1,\nu})_j \right)"
    ),
    control=with_wrong_formula("without the factor 1/2", "(3.38) matrix elements"),
)
def matrix_elements(gradient_audit: xr.Dataset) -> Verdict:
    """Sector by sector against the sum of commutators."""
    return decide_formula(gradient_audit, "(3.38) matrix elements", *EXACT)


@claim(
    "tf-cor35-moments",
    where="Section 3.3, Corollary 3.5",
    line=537,
    kind_of_slip="result changes",
    assumes="the assumptions of Theorem 3.2; moments restricted to the sectors",
    words="the gradient flow depends on the training inputs only through the first degree moments",
    kind="identity",
    states="The flow depends on the data only through first moments, restricted to the sectors.",
    correction="It depends on them only through masses and second moments of the half spaces; the first sentence of"
    " Section 3.3, which names second moments, is right.",
    formula=r"[\Omega]_{ij} = \sum_\nu (\nu_i - \nu_j) \left( (J_{1,\nu})_i b_j + b_i (J_{1,\nu})_j \right)",
    corrected_formula=(
        r"[\Omega]_{ij} = \frac{1}{2} \left( (J_i - J_j) b_i b_j - r_i^T S_i r_j + r_i^T S_j r_j \right)"
    ),
    control=false_world(
        "two clusters with equal first and other second moments",
        replace_variables(equal_second_true="equal_means_true"),
    ),
)
def first_moments_do_not_suffice(counterexamples: xr.Dataset) -> Verdict:
    """Two clusters with equal masses and means of the sectors; two with equal masses and second moments."""
    printed = zero(counterexamples["equal_means_true"], "equal generators for equal first moments")
    corrected = zero(counterexamples["equal_second_true"], "equal generators for equal second moments")
    note = f"The means of the second pair differ by {float(counterexamples['equal_second_means']):.2f}."
    return Verdict.from_tests(printed, corrected, note)


@claim(
    "tf-cor35-count",
    where="Section 3.3, eqs. (3.39)-(3.40)",
    line=547,
    assumes="the assumptions of Theorem 3.2",
    words=r"driven by the number of training inputs $x_{\ell,i}^{(0)}$ that have been truncated",
    kind="identity",
    states="The bias flow is driven by the share of points truncated in a direction.",
    formula=r"J_0^\perp = \mathrm{diag}(n_1/N, \dots, n_Q/N)",
    control=with_wrong_formula("points that are not truncated", "(3.39) counted shares"),
)
def shares_are_counts(gradient_audit: xr.Dataset) -> Verdict:
    """Moments against counting point by point."""
    return decide_formula(gradient_audit, "(3.39) counted shares", *EXACT)


@claim(
    "tf-nobackprop",
    where="Section 3.3, end",
    line=551,
    assumes="cluster separated truncations, Theorem 3.2",
    words="no backpropagation is needed",
    kind="identity",
    states="The flow of separated truncations needs no backpropagation.",
    control=with_wrong_formula("the second moments without the masses", "moment form"),
)
def no_backpropagation(gradient_audit: xr.Dataset) -> Verdict:
    """Velocity and cost from the half-space moments alone, without a pass through the data or the network."""
    note = (
        r"Between crossings one $Q \times Q$ matrix per coordinate decides the flow whatever $N$. In Theorem 5.1 the "
        "products $P^+$ and $P^-$ transposed are reverse-mode differentiation by hand. Times: "
        "benchmarks/truncation_flow.py."
    )
    return decide_formula(gradient_audit, "moment form", *EXACT, note=note)


@claim(
    "tf-btilde",
    where="Section 4.2, eq. (4.23)",
    line=679,
    assumes=("cluster separated truncations; aligned weights, so that W = R is orthogonal (Theorem 3.2)"),
    words="we obtain",
    kind="identity",
    states=r"The residual $\tilde b = R(\beta + \tilde y)$ turns with the weights and is damped by truncated shares.",
    formula=r"\partial_s \tilde b = \Omega \tilde b - J_0^\perp \tilde b",
    control=with_wrong_formula("the sign of (4.1)", "(4.23) motion of the residual"),
)
def residual_moves(gradient_audit: xr.Dataset) -> Verdict:
    """Against a central difference."""
    return decide_formula(gradient_audit, "(4.23) motion of the residual", *DIFFERENCED)


@claim(
    "tf-64",
    where="Section 6, eq. (6.4)",
    line=885,
    assumes="any invertible cumulative weight, cluster separated truncations",
    words=(
        r"we determine the expression for the gradient with respect to $\beta^\ell$ for general "
        r"$W^{(\ell)}$"
    ),
    kind="identity",
    states="For any invertible weight the bias gradient pulls the error back through the inverse transposed.",
    formula=r"\partial_\beta \mathcal{C} = -\int dx\, \mu(x) W^T H^\perp(x) W^{-T} (\tau(x) - \tilde y)",
    control=with_wrong_formula("the weights not transposed", "(6.4) bias gradient of any weight"),
)
def gradient_for_any_weight(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the cost, weights that are not orthogonal."""
    return decide_formula(gradient_audit, "(6.4) bias gradient of any weight", *EXACT)


@claim(
    "tf-68",
    where="Section 6, eqs. (6.6)-(6.8)",
    line=905,
    assumes=("weights aligned with the activation: the cumulative weight is a rotation R (Definition 2.2, (3.17))"),
    words="because of the key cancelation property",
    kind="identity",
    states="What is truncated and what is passed on do not overlap, which removes the data from the bias flow.",
    formula=r"H^\perp(x) \sigma(R (x + \beta)) = 0",
    control=with_wrong_formula("the directions that are passed on", "(6.8) cancellation"),
)
def truncated_part_cancels(gradient_audit: xr.Dataset) -> Verdict:
    """Random clusters."""
    return decide_formula(gradient_audit, "(6.8) cancellation", *EXACT)


@claim(
    "tf-68-standard",
    where="Section 6, after eq. (6.8)",
    line=909,
    assumes=("weights aligned with the activation: the cumulative weight is a rotation R (Definition 2.2, (3.17))"),
    words="It does not in general hold for the standard cost",
    kind="qualitative",
    states="The cancellation that takes (6.5) to (6.7) does not in general hold for the standard cost.",
    formula=r"\int dx\, \mu(x) R^T H^\perp R\, g\, R^T \sigma(R(x + \beta)) \ne 0, \quad g = (W^{(Q+1)})^T W^{(Q+1)}",
    control=false_world("the Euclidean metric", replace_variables(cross_term="cross_term_euclidean")),
)
def no_cancellation_in_another_metric(gradient_audit: xr.Dataset) -> Verdict:
    """Size of the term for random output weights, smallest over the draws of each dimension's median."""
    return Verdict.from_tests(
        at_least(
            gradient_audit["cross_term"].median("draw"),
            1e-3,
            expected="a term that does not vanish",
            reason="rounding is below 1e-14; residuals are of order 1",
        ),
        None,
        "(6.8) itself holds in any metric; what fails is that the metric's product with it vanishes.",
    )


@claim(
    "tf-lemma61",
    where="Section 6, Lemma 6.1, (6.11)",
    line=923,
    assumes=r"$R(s) = \exp(s \omega)$, $\omega$ antisymmetric",
    words=r"for any smooth $f : O(Q) \rightarrow \mathbb{R}$",
    kind="identity",
    states="Along a one-parameter group a function changes by the trace with the antisymmetric part of its gradient.",
    formula=r"\partial_s f(R(s)) = -\mathrm{Tr}\left( \omega\, \pi_-(\partial_R f\, R^T) \right)",
    control=with_wrong_formula("without the minus sign", "(6.11) Lemma 6.1"),
)
def lemma_6_1(gradient_audit: xr.Dataset) -> Verdict:
    """Cost along a one-parameter group, central difference."""
    return decide_formula(gradient_audit, "(6.11) Lemma 6.1", *DIFFERENCED)


@claim(
    "tf-616",
    where="Section 6, eqs. (6.16)-(6.18)",
    line=988,
    kind_of_slip="result changes",
    assumes=("weights aligned with the activation: the cumulative weight is a rotation R (Definition 2.2, (3.17))"),
    words="the first term on the r.h.s. is eliminated",
    kind="identity",
    states=("The quadratic term of the gradient in the weights is symmetric, so that the projection eliminates it."),
    correction="Its two halves differ; the antisymmetric part is $[H, u u^T]/2$: the slip behind Theorem 3.2.",
    formula=r"\left( \partial_R \frac{1}{2} |\tau - \tilde y|^2 \right) R^T = 2 H u u^T H - H u b^T - H b u^T",
    corrected_formula=(
        r"\left( \partial_R \frac{1}{2} |\tau - \tilde y|^2 \right) R^T = H u u^T H + H u u^T "
        r"- H u b^T - H b u^T"
    ),
    control=with_wrong_formula("twice the symmetric half", "(6.16) gradient in R"),
)
def gradient_in_r(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps in every entry of the weight."""
    return decide_formula(gradient_audit, "(6.16) gradient in R", *EXACT)
