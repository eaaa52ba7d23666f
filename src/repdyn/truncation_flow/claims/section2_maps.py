"""Claims of Sections 1 and 2: truncation maps, layers, output, metric."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import replace_variables, wrong_formula
from repdyn.base.formula_audit import decide_formula, decide_own_formula, with_wrong_formula
from repdyn.base.verdicts import Verdict, all_of
from repdyn.truncation_flow.claims.tolerances import COUNTED, EXACT, zero


@claim(
    "tf-tau-def",
    where="Section 6, eq. (6.2); Sections 1 and 2, (1.6), (2.9)",
    line=879,
    assumes="$W_*$ diagonal with positive entries, so that the weight is invertible",
    words=r"$\tau^{(\ell)}$ is independent of $W_*^{(\ell)}$ when it is diagonal",
    kind="identity",
    states="The truncation map of $W_* R$, with $W_*$ diagonal and positive, is that of $R$.",
    formula=r"\tau_{W_* R, \beta}(x) = R^T \sigma(R (x + \beta)) - \beta",
    control=with_wrong_formula("$R W_*$ in place of $W_* R$", "(6.2) tau without W_*"),
)
def tau_ignores_scale(gradient_audit: xr.Dataset) -> Verdict:
    """The definition with the inverse weight against the one with the transposed rotation."""
    return decide_formula(gradient_audit, "(6.2) tau without W_*", *EXACT)


@claim(
    "tf-tau-affine",
    where="Section 3.2, eq. (3.12); Section 7, (7.6)",
    line=397,
    kind_of_slip="misprint",
    assumes=("the layer's weight W is stated for (3.13) next to it as general; aligned weights come with Theorem 3.2"),
    words=r"using $H(x)x = \sigma(x)$ , we obtain",
    kind="identity",
    states=(
        "The truncation map is a projection of the point minus a projection of the bias, with the transposed weight."
    ),
    correction="True for orthogonal weights, as (7.6) has it; for a general weight the transpose must be the inverse,"
    " as in (3.13).",
    formula=r"\tau(x) = W^T H(x) W x - W^T H^\perp(x) W \beta",
    corrected_formula=r"\tau(x) = W^{-1} H(x) W x - W^{-1} H^\perp(x) W \beta",
    control=with_wrong_formula("the transpose in place of the inverse", "(3.12) affine form"),
)
def tau_is_affine(gradient_audit: xr.Dataset) -> Verdict:
    """Against the definition, weights with unequal scales."""
    return decide_formula(gradient_audit, "(3.12) affine form", *EXACT)


@claim(
    "tf-tau-beta",
    where="Section 3.2, eq. (3.13)",
    line=406,
    assumes="invertible weight",
    words=r"= -(W^{(\ell)})^{-1} H^{\perp(\ell)}(x) W^{(\ell)}",
    kind="identity",
    states="The derivative of the truncation map in the bias projects on the truncated directions.",
    formula=r"\partial_\beta \tau(x) = -W^{-1} H^\perp(x) W",
    control=with_wrong_formula("the transposed derivative", "(3.13) derivative of tau"),
)
def derivative_of_tau(gradient_audit: xr.Dataset) -> Verdict:
    """Against complex steps of the definition, weights that are not orthogonal."""
    return decide_formula(gradient_audit, "(3.13) derivative of tau", *EXACT)


@claim(
    "tf-tau-fix",
    where="Section 2, eqs. (2.14), (2.15)",
    line=218,
    assumes=(
        r"aligned weights; $\mathbb{R}_-^Q$ is closed, $\mathbb{R}_+^Q$ open (Definition 3.3); "
        "by the rule for strict inequalities > is read as at least"
    ),
    words=r"$\mathcal{S}_\ell^+ \subset \mathbb{R}^Q$ is the fixed point set of $\tau^{(\ell)}$",
    kind="identity",
    states=(
        "The positive sector is the fixed point set of the truncation map, and the points of the "
        r"negative sector are those taken to $-\beta$."
    ),
    formula=(
        r"\tau(x) = x \Leftrightarrow x \in \mathcal{S}^+, "
        r"\quad \tau(x) = -\beta \Leftrightarrow x \in \mathcal{S}^-"
    ),
    control={
        "fixed points": wrong_formula(
            r"the map without its last term, $-\beta$", replace_variables(fixed_mismatch="fixed_mismatch_wrong")
        ),
        "apex": wrong_formula(
            r"the map without its last term, $-\beta$", replace_variables(apex_mismatch="apex_mismatch_wrong")
        ),
    },
)
def fixed_points(counterexamples: xr.Dataset) -> Verdict:
    """Random points of all sectors and of their borders, the sectors taken as closed."""
    on_border = int(counterexamples["fixed_mismatch_open"])
    note = (
        "Definition 3.3 makes the positive sector open, the negative closed. So (2.15) is right as it stands; "
        f"in (2.14) points of the border, the apex among them, are fixed too ({on_border} of those tried): there $>$ "
        "is $\\ge$."
    )
    return Verdict.from_tests(
        all_of(
            {
                "fixed points": zero(counterexamples["fixed_mismatch"], "fixed: all coordinates at least 0", COUNTED),
                "apex": zero(counterexamples["apex_mismatch"], "taken to the apex: all coordinates at most 0", COUNTED),
            }
        ),
        note=note,
    )


@claim(
    "tf-layer-pullback",
    where="Section 2, eq. (2.17); Section 2.1, (2.23)",
    line=228,
    kind_of_slip="result changes",
    assumes="invertible weights; truncation maps as in (2.9)",
    words=r"the vectors in the $\ell$ -th hidden layer are given by",
    kind="identity",
    states="A hidden layer is the cumulative weight times the composed truncation maps.",
    correction="The cumulative bias is missing.",
    formula=r"x^{(\ell)} = W^{(\ell)} \underline{\tau}^{(\ell)}(x^{(0)})",
    corrected_formula=r"x^{(\ell)} = W^{(\ell)} \underline{\tau}^{(\ell)}(x^{(0)}) + b^{(\ell)}",
    control=with_wrong_formula("without the cumulative bias", "(2.17) hidden layer"),
)
def layer_is_pulled_back(gradient_audit: xr.Dataset) -> Verdict:
    """Against the network's own hidden layer."""
    return decide_formula(gradient_audit, "(2.17) hidden layer", *EXACT)


@claim(
    "tf-output",
    where="Section 2, eq. (2.18); Section 2.1, (2.22)",
    line=234,
    kind_of_slip="missing hypothesis",
    assumes="an output layer with a bias as in (2.4), whose value is not stated",
    words="The vectors in the output layer are obtained by",
    kind="identity",
    states="The output is the cumulative weight times the composed truncation maps.",
    correction="Only with the output bias $b_{L+1} = -W_{L+1} b^{(L)}$, which is never stated.",
    formula=r"x^{(L+1)} = W^{(L+1)} \underline{\tau}^{(L)}(x^{(0)})",
    corrected_formula=r"x^{(L+1)} = W^{(L+1)} \underline{\tau}^{(L)}(x^{(0)}) + W_{L+1} b^{(L)} + b_{L+1}",
    control=with_wrong_formula("output bias zero, as (8.2) sets it", "(2.18) output"),
)
def output_is_pulled_back(gradient_audit: xr.Dataset) -> Verdict:
    """Against the network's own output."""
    return decide_formula(gradient_audit, "(2.18) output", *EXACT)


@claim(
    "tf-output-beta",
    where="Section 2, eqs. (2.6), (2.7); Section 1, (1.4)",
    kind="identity",
    origin="ours",
    states=r"The output's bias that (2.7) defines is not the sum of (2.6) taken to $L + 1$ layers: that sum is"
    r" $(W^{(L+1)})^{-1} b^{(L+1)}$.",
    formula=r"(W^{(L+1)})^{-1} b^{(L+1)} = \sum_{j=1}^{L+1} (W^{(j)})^{-1} b_j",
    control=with_wrong_formula(r"$(W_{L+1})^{-1} \beta^{(L)}$, the vector of (2.7)", "(2.7) last bias"),
)
def last_bias(gradient_audit: xr.Dataset) -> Verdict:
    """Against the sum of pulled-back biases."""
    return decide_own_formula(gradient_audit, "(2.7) last bias", *EXACT)


@claim(
    "tf-225",
    where="Section 2.1, eq. (2.25)",
    line=273,
    kind_of_slip="misprint",
    assumes="$W^{(L+1)} = W_{L+1} W^{(L)}$, the metric tensor $(W^{(L+1)})^T W^{(L+1)}$",
    words=r"the pullback metric in $\mathfrak{L}_0$ is invariant under",
    kind="identity",
    states="The pullback metric does not change if the hidden cumulative weight is multiplied by an invertible matrix"
    " and the cumulative output weight by its inverse.",
    correction="The layer's own output weight must be multiplied by the inverse, not the cumulative one.",
    formula=r"W^{(L)} \to A W^{(L)}, \quad W^{(L+1)} \to W^{(L+1)} A^{-1}",
    corrected_formula=r"W^{(L)} \to A W^{(L)}, \quad W_{L+1} \to W_{L+1} A^{-1}",
    control=with_wrong_formula("the cumulative output weight times the inverse", "(2.25) invariance of the metric"),
)
def metric_is_invariant(gradient_audit: xr.Dataset) -> Verdict:
    """The metric tensor before and after, random weights."""
    return decide_formula(gradient_audit, "(2.25) invariance of the metric", *EXACT)


@claim(
    "tf-cost-decomp",
    where="Section 3.1, eq. (3.7)",
    line=360,
    assumes="cluster separated truncations, deviations from the mean of each cluster",
    words="the Euclidean cost yields",
    kind="identity",
    states="The cost is half the variance within clusters plus half the squared distance of their means from the"
    " labels.",
    control=with_wrong_formula("the variance alone", "(3.7) split of the cost"),
)
def cost_splits(gradient_audit: xr.Dataset) -> Verdict:
    """Against the plain mean of squares."""
    return decide_formula(gradient_audit, "(3.7) split of the cost", *EXACT)
