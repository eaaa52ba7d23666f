"""Claims of Sections 1 and 2: truncation maps, layers, output, metric."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import replace_variables, wrong_formula
from repdyn.base.formula_audit import formula_claim
from repdyn.base.verdicts import Verdict
from repdyn.truncation_flow.claims.tolerances import COUNTED, EXACT, zero
from repdyn.truncation_flow.theory import equations

tau_ignores_scale = formula_claim(
    "tf-tau-def",
    where="Section 6, eq. (6.2); Sections 1 and 2, (1.6), (2.9)",
    line=879,
    assumes="$W_*$ diagonal with positive entries, so that the weight is invertible",
    words=r"$\tau^{(\ell)}$ is independent of $W_*^{(\ell)}$ when it is diagonal",
    states="The truncation map of $W_* R$, with $W_*$ diagonal and positive, is that of $R$.",
    formula=r"\tau_{W_* R, \beta}(x) = R^T \sigma(R (x + \beta)) - \beta",
    audit=("gradient_audit", equations.INDEPENDENCE_OF_SCALE, *EXACT),
    control="$R W_*$ in place of $W_* R$",
    decided="The definition with the inverse weight against the one with the transposed rotation.",
)


tau_is_affine = formula_claim(
    "tf-tau-affine",
    where="Section 3.2, eq. (3.12); Section 7, (7.6)",
    line=397,
    kind_of_slip="misprint",
    assumes="the layer's weight W is stated for (3.13) next to it as general; aligned weights come with Theorem 3.2",
    words=r"using $H(x)x = \sigma(x)$ , we obtain $\tau^{(\ell)}(x) = W_\ell^T H^{(\ell)}(x) W_\ell x - "
    r"W_\ell^T H^{(\ell)\perp}(x) W_\ell \beta^{(\ell)}$",
    states="The truncation map is a projection of the point minus a projection of the bias, with the transposed "
    "weight.",
    correction="True for orthogonal weights, as (7.6) has it; for a general weight the transpose must be the inverse, "
    "as in (3.13).",
    formula=r"\tau(x) = W^T H(x) W x - W^T H^\perp(x) W \beta",
    corrected_formula=r"\tau(x) = W^{-1} H(x) W x - W^{-1} H^\perp(x) W \beta",
    audit=("gradient_audit", equations.AFFINE_FORM, *EXACT),
    control="the transpose in place of the inverse",
    decided="Against the definition, weights with unequal scales.",
    message="The weight's transpose is printed for its inverse",
    cause="The map leads back from the layer by the inverse of the weight, which is the transpose for orthogonal "
    "weights only.",
    consequence="Equation (3.13), next to it, has the inverse; for the orthogonal weights of Theorem 3.2 and of "
    "(7.6) the printed form is true.",
)


derivative_of_tau = formula_claim(
    "tf-tau-beta",
    where="Section 3.2, eq. (3.13)",
    line=406,
    assumes="invertible weight; on planes the convention $h(0) = 0$ of (1.2)",
    words=r"$= -(W^{(\ell)})^{-1} H^{\perp(\ell)}(x) W^{(\ell)}$",
    states="The derivative of the truncation map in the bias projects on the truncated directions.",
    formula=r"\partial_\beta \tau(x) = -W^{-1} H^\perp(x) W",
    audit=("gradient_audit", equations.BIAS_DERIVATIVE, *EXACT),
    control="the transposed derivative",
    decided="Against complex steps of the definition, weights that are not orthogonal.",
)


@claim(
    "tf-tau-fix",
    where="Section 2, eqs. (2.14), (2.15)",
    line=218,
    assumes=r"aligned weights; $\mathbb{R}_-^Q$ is closed, $\mathbb{R}_+^Q$ open (Definition 3.3); by the rule for "
    "strict inequalities > is read as at least",
    words=r"$\mathcal{S}_\ell^+ \subset \mathbb{R}^Q$ is the fixed point set of $\tau^{(\ell)}$",
    kind="identity",
    states="The positive sector is the fixed point set of the truncation map, and the points of the negative sector "
    r"are those taken to $-\beta$.",
    formula=r"\tau(x) = x \Leftrightarrow x \in \mathcal{S}^+, \quad \tau(x) = -\beta \Leftrightarrow x \in "
    r"\mathcal{S}^-",
    control={
        "fixed points": wrong_formula(
            r"the map without its last term, $-\beta$", replace_variables(fixed_mismatch="fixed_mismatch_wrong")
        ),
        "apex": wrong_formula(
            r"the map without its last term, $-\beta$", replace_variables(apex_mismatch="apex_mismatch_wrong")
        ),
    },
    labels={
        "apex": "points where the negative sector and mapping to the apex disagree",
        "fixed points": "points where being kept and having no negative coordinate differ",
    },
    remark="Definition 3.3 makes the positive sector open, the negative closed. So (2.15) is right as printed; in "
    r"(2.14) points of the boundary, the apex among them, are fixed too: there $>$ is $\ge$.",
)
def fixed_points(counterexamples: xr.Dataset) -> Verdict:
    """Random points of all sectors and of their boundaries, the sectors taken as closed."""
    return Verdict.from_tests(
        {
            "fixed points": zero(counterexamples["fixed_mismatch"], "fixed: all coordinates at least 0", COUNTED),
            "apex": zero(counterexamples["apex_mismatch"], "taken to the apex: all coordinates at most 0", COUNTED),
        },
        facts={"points of the boundary that are fixed": int(counterexamples["fixed_mismatch_open"])},
    )


layer_is_pulled_back = formula_claim(
    "tf-layer-pullback",
    where="Section 2, eq. (2.17); Section 2.1, (2.23)",
    line=228,
    kind_of_slip="result changes",
    assumes="invertible weights; truncation maps as in (2.9)",
    words=r"the vectors in the $\ell$ -th hidden layer are given by ... $x_{j,i}^{(\ell)} = W^{(\ell)}"
    r"\mathcal{I}^{(\ell)}(x_{j,i}^{(0)}),$",
    states="A hidden layer is the cumulative weight times the composed truncation maps.",
    correction="The cumulative bias is missing.",
    formula=r"x^{(\ell)} = W^{(\ell)} \underline{\tau}^{(\ell)}(x^{(0)})",
    corrected_formula=r"x^{(\ell)} = W^{(\ell)} \underline{\tau}^{(\ell)}(x^{(0)}) + b^{(\ell)}",
    defence="The paper needs (2.17) only to reach the output (2.18), where a bias of the last layer can cancel the "
    r"lost vector. Just above, $a^{(\ell)}$ is defined with its bias, so a reader sees that the layer is "
    r"$a^{(\ell)}(\underline{\tau}^{(\ell)}(x))$; and the origin of a layer is a matter of coordinates.",
    answer="The layers are those of (2.1), in coordinates in which ReLU acts, so their origin is not free. (2.23) "
    "and (2.24) repeat the formula, so it is not a slip of one line, and nowhere is the output bias chosen to cancel "
    "it; (8.2) sets it to 0. The defence saves what depends on the Euclidean cost (2.26), which is defined without "
    "(2.17): Sections 3 to 7. The formula itself, and (2.18) with it, changes (tf-output).",
    audit=("gradient_audit", equations.LAYER_PULLBACK, *EXACT),
    control="without the cumulative bias",
    decided="Against the network's own hidden layer.",
    message="A hidden layer lacks its cumulative bias",
    cause=r"The layer is the affine map of the composed truncations, $x^{(\ell)} = "
    r"a^{(\ell)}(\underline{\tau}^{(\ell)}(x))$, with weight and bias; (2.17) keeps the weight alone.",
    consequence=r"Layers as (2.17) gives them are off by the vector $b^{(\ell)}$, so that the output needs a "
    "condition of its own (tf-output).",
)


output_is_pulled_back = formula_claim(
    "tf-output",
    where="Section 2, eq. (2.18); Section 2.1, (2.22)",
    line=234,
    kind_of_slip="missing hypothesis",
    assumes="an output layer with a bias as in (2.4), whose value is not stated",
    words=r"The vectors in the output layer are obtained by ... $= W^{(L+1)} \underline{\tau}^{(L)}(x_{j,i}^{(0)}),$",
    states="The output is the cumulative weight times the composed truncation maps.",
    correction="Only with the output bias $b_{L+1} = -W_{L+1} b^{(L)}$, which is never stated.",
    formula=r"x^{(L+1)} = W^{(L+1)} \underline{\tau}^{(L)}(x^{(0)})",
    corrected_formula=r"x^{(L+1)} = W^{(L+1)} \underline{\tau}^{(L)}(x^{(0)}) + W_{L+1} b^{(L)} + b_{L+1}",
    audit=("gradient_audit", equations.OUTPUT_PULLBACK, *EXACT),
    control="output bias zero, as (8.2) sets it",
    decided="Against the network's own output.",
    message="The formula for the output needs a bias that is never stated",
    cause="The cumulative bias of the last hidden layer passes through the output weight and stays, unless the "
    "output bias cancels it.",
    consequence="With $b_{L+1} = -W_{L+1} b^{(L)}$ the formula is true; (8.2), which sets the output bias to 0, "
    "contradicts that.",
)


last_bias = formula_claim(
    "tf-output-beta",
    where="Section 2, eqs. (2.6), (2.7); Section 1, (1.4)",
    origin="ours",
    states="With invertible weights the output's bias that (2.7) defines is in general not the sum of (2.6) taken to "
    "$L + 1$ layers: that sum is $(W^{(L+1)})^{-1} b^{(L+1)}$. With zero biases both are 0.",
    formula=r"(W^{(L+1)})^{-1} b^{(L+1)} = \sum_{j=1}^{L+1} (W^{(j)})^{-1} b_j",
    audit=("gradient_audit", equations.OUTPUT_SHIFT, *EXACT),
    control=r"$(W_{L+1})^{-1} \beta^{(L)}$, the vector of (2.7)",
    decided="Against the sum of pulled-back biases.",
)


metric_is_invariant = formula_claim(
    "tf-225",
    where="Section 2.1, eq. (2.25)",
    line=273,
    kind_of_slip="misprint",
    assumes="$W^{(L+1)} = W_{L+1} W^{(L)}$, the metric tensor $(W^{(L+1)})^T W^{(L+1)}$",
    words=r"the pullback metric in $\mathfrak{L}_0$ is invariant under ... $W^{(L+1)} \rightarrow W^{(L+1)} A^{-1}$",
    states="The pullback metric does not change if the hidden cumulative weight is multiplied by an invertible matrix "
    "and the cumulative output weight by its inverse.",
    correction="The layer's own output weight must be multiplied by the inverse, not the cumulative one.",
    formula=r"W^{(L)} \to A W^{(L)}, \quad W^{(L+1)} \to W^{(L+1)} A^{-1}",
    corrected_formula=r"W^{(L)} \to A W^{(L)}, \quad W_{L+1} \to W_{L+1} A^{-1}",
    audit=("gradient_audit", equations.METRIC_INVARIANCE, *EXACT),
    control="the cumulative output weight times the inverse",
    decided="The metric tensor before and after, random weights.",
    message="The metric is not invariant under the printed change of weights",
    cause="The metric is made of $W^{(L+1)} = W_{L+1} W^{(L)}$: it stays if the layer's own $W_{L+1}$ is multiplied "
    "by the inverse, not the cumulative weight.",
    consequence="The metric has the invariance that the paper claims, under the corrected change of weights.",
)


cost_splits = formula_claim(
    "tf-cost-decomp",
    where="Section 3.1, eq. (3.7)",
    line=360,
    assumes=r"cluster separated truncations, deviations from the mean of each cluster; the second sum, printed over "
    r"$j$, runs over the $\ell$ of its terms, without which it has no meaning",
    words=r"the Euclidean cost yields ... $= \frac{1}{2} \sum_{\ell=1}^Q \frac{1}{N_\ell} \text{Tr} \left( "
    r"\left| \Delta \tau^{(\ell)}(X_\ell^{(0)}) \right|^2 \right) + \frac{1}{2} \sum_{j=1}^Q \left| "
    r"\overline{\tau^{(\ell)}(\{x_{\ell,i}^{(0)}\})} - (W^{(Q+1)})^{-1} y_\ell \right|^2$",
    states="The cost is half the variance within clusters plus half the squared distance of their means from the "
    "labels.",
    audit=("gradient_audit", equations.COST_SPLIT, *EXACT),
    control="the variance alone",
    decided="Against the plain mean of squares.",
)
