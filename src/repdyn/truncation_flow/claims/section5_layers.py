"""Claims on several clusters and layers: separation, collapse, Theorem 5.1 and Section 7."""

from __future__ import annotations

from typing import cast

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_variables, wrong_formula
from repdyn.base.formula_audit import formula_claim
from repdyn.base.verdicts import Verdict, at_least, at_most
from repdyn.truncation_flow.claims.requirements import finite
from repdyn.truncation_flow.claims.tolerances import COUNTED, EXACT, Tolerance, zero
from repdyn.truncation_flow.theory import equations

TOO_WIDE = "clusters too wide to be separated"


@claim(
    "tf-def31-comp",
    where="Section 3.1, Definition 3.1, (3.4)-(3.5)",
    line=343,
    kind_of_slip="missing hypothesis",
    assumes="each truncation map acts as the identity on the training inputs of the other clusters",
    words=r"Given cluster separated truncations, we have that $\tau^{(\ell)}(X_{\ell'}^{(0)}) = "
    r"X_{\ell'}^{(0)} \quad \forall \ell' \neq \ell.$",
    kind="identity",
    states="With cluster separated truncations the composition acts on a cluster as its own truncation map alone.",
    correction="It also needs that later maps leave the images alone, and both conditions must hold at all times.",
    formula=r"\tau^{(\ell)}(X_{\ell'}) = X_{\ell'} \; (\ell' \ne \ell) \Rightarrow \underline{\tau}^{(Q)}(X_\ell) = "
    r"\tau^{(\ell)}(X_\ell)",
    corrected_formula=r"\tau^{(\ell)}(X_{\ell'}) = X_{\ell'} \; (\ell' \ne \ell), \quad "
    r"\tau^{(\ell')}(\tau^{(\ell)}(X_\ell)) = \tau^{(\ell)}(X_\ell) \; (\ell' > \ell) \Rightarrow "
    r"\underline{\tau}^{(Q)}(X_\ell) = \tau^{(\ell)}(X_\ell)",
    control=false_world(
        TOO_WIDE,
        lambda examples, collapse: (
            examples,
            cast("xr.Dataset", replace_variables(composed_error_largest="composed_error_largest_too_wide")(collapse)),
        ),
    ),
    message="Separated truncations do not yet act on their own cluster alone",
    cause="Definition 3.1 asks that a map leaves the inputs of other clusters alone, not their images under earlier "
    "maps, which a later map may move.",
    consequence="The composition (3.4) also needs this second condition, and both at all times.",
)
def composition_reduces(counterexamples: xr.Dataset, neural_collapse: xr.Dataset) -> Verdict:
    """A counterexample in the plane; the explicit construction, which meets the further condition, at all times."""
    return Verdict.from_tests(
        zero(counterexamples["composition_moved"], "the second map leaves the image of the first alone"),
        zero(
            neural_collapse["composed_error_largest"],
            "composition equals the own map",
            Tolerance(1e-10, "$Q$ maps, round-off 1e-13 each"),
        ),
        {"deviation from Definition 3.1 in the counterexample": float(counterexamples["composition_others"])},
    )


@claim(
    "tf-own-clusters",
    where="Sections 1 and 3.1",
    kind="bound",
    origin="ours",
    states="Three clusters in space can each be held in the negative sector of an aligned layer whose positive sector "
    "holds the two others, if they are narrow enough, exactly where no angle of the triangle of their means reaches 90 "
    "degrees.",
    formula=r"\langle m_i - m_\ell, m_j - m_\ell \rangle > 0 \text{ for all } \ell, \; i, j \ne \ell",
    control={
        "acute": wrong_formula(
            "rotations by Procrustes without a search", replace_variables(triangle_margin="triangle_margin_procrustes")
        ),
        "right or obtuse": false_world(
            "weights that need not be aligned", replace_variables(triangle_margin="triangle_margin_general")
        ),
    },
    labels={"acute": "separation margin that a search finds for acute triangles"},
    remark="The paper asks for clusters 'sufficiently separated' and constructs none; being narrow does not suffice.",
)
def acute_triangles_separate(own_clusters: xr.Dataset) -> Verdict:
    """Largest margins that a search over rotations and labels finds for clusters of one point."""
    acute = own_clusters["triangle_angle"] < 90 - 1e-9
    margins = own_clusters["triangle_margin"]
    digits = own_clusters["digit_margin"].min("condition")
    widest = float(digits["shrink"].where(digits > 0).max())
    facts = {
        "dimensions": own_clusters["dimension"].values,
        "share of random means without a right or obtuse angle, by dimension": own_clusters["acute_share"].values,
        "margin of digits of three classes": float(digits[-1]),
        "largest scale at which the digits separate": widest,
    }
    return Verdict.from_tests(
        {
            "acute": at_least(
                margins[acute.values], 1e-6, expected="positive margin", reason="sign only; the search stops at 1e-6"
            ),
            "right or obtuse": at_most(
                1 + margins[~acute.values], 1 + 1e-6, expected="no positive margin", reason="sign only, as above"
            ),
        },
        facts=facts,
    )


@claim(
    "tf-collapse",
    where="Section 1; Abstract; Section 4",
    line=13,
    assumes=("cluster separated truncations, aligned weights, the cluster positioned as Section 1 lists"),
    words="under the right circumstances, they are contracted to points",
    kind="limit",
    states="Under the right circumstances clusters are contracted to points in finite time, and the cost goes to zero "
    "exponentially.",
    control={
        "margin": false_world(TOO_WIDE, replace_variables(margin_least="margin_least_too_wide")),
        "within": false_world("untruncated clusters", replace_variables(within_late="within_late_untruncated")),
        "rate": false_world("untruncated clusters", replace_variables(cost_rate="cost_rate_untruncated")),
    },
    labels={
        "margin": "least separation margin along the flow",
        "within": "variance within the clusters after the collapse",
        "rate": "decay rate of the cost at the end, minus 2",
    },
    remark="Cluster separation alone does not suffice: an untruncated cluster is separated too, and rests "
    "(Proposition 4.1). The circumstances here: every direction has truncated points at the start, and the own "
    "cluster is fully truncated where its apex reaches the label.",
)
def clusters_collapse(neural_collapse: xr.Dataset) -> Verdict:
    """Explicit data for every Q: separation kept at all times, no variance within, cost of rate 2 after arrival."""
    finite(neural_collapse, "neural_collapse", "within_late", "cost_rate")
    return Verdict.from_tests(
        {
            "margin": at_least(neural_collapse["margin_least"], 1e-6, expected="separation kept", reason="sign only"),
            "within": at_most(
                neural_collapse["within_late"],
                1e-24,
                expected="no variance within clusters",
                reason="squares of round-off",
            ),
            "rate": zero(neural_collapse["cost_rate"] - 2, "rate 2", Tolerance(1e-3, "midpoint rule: error $h^2/6$")),
        }
    )


general_bias_flow = formula_claim(
    "tf-thm51-beta",
    where="Section 5, Theorem 5.1, (5.4); Section 7, (7.15)",
    line=823,
    kind_of_slip="result changes",
    assumes="aligned weights, any truncation map may act on any cluster",
    words="determines the gradient flow of the cumulative biases",
    states="The bias flow of a layer sums over later layers, and over the clusters with the same index.",
    correction="It has a plus sign, no sum over layers, and the sum runs over all clusters, each with its own label.",
    formula=r"\partial_s \beta^{(\ell)} = -\sum_{\ell'=\ell}^{Q} \int dx\, \mu_{\ell'}(x) (P_{\ell',Q}^-)^T \left( "
    r"\tau^{(Q,1)}(x) - \tilde y \right)",
    corrected_formula=r"\partial_s \beta^{(\ell)} = \sum_{\ell'=1}^{Q} \int dx\, \mu_{\ell'}(x) (P_{\ell,Q}^-)^T "
    r"\left( \tau^{(Q,1)}(x) - \tilde y_{\ell'} \right)",
    sought="The corrected form is the chain rule, layer by layer, so only the convention $h(0) = 0$ at planes is "
    "free. Held against autograd where it might degenerate: one point in two clusters with different labels, "
    "a reflection, a layer that is the identity on all points, a last layer that truncates all (the "
    "gradients of all earlier layers vanish) or none, three layers in the plane. A point on a plane of a "
    "later layer has no derivative, and none is claimed.",
    defence="The second line of (5.4) is right, and (7.13)-(7.14) have the gradient of one point with the right sign "
    "and projection; inserting them gives the corrected flow. So the third line has an index of the cluster "
    "where that of the layer belongs, and a sign: misprints. Nothing in the paper is computed from it.",
    answer="One letter serves for cluster and layer, and the paper goes on with it as a layer: the sum starts at "
    r"$\ell' = \ell$ in (5.4) and again in (7.15), (5.8)-(5.9) discuss its $\ell'$-th term as a later layer, "
    r"(5.13) runs over $\ell' \ge \ell$. The sum is meant, and sign, range and label of it are wrong in the "
    "main formula of a theorem. The defence saves the derivation, (7.14), and the weight flow.",
    audit=("gradient_audit", equations.GENERAL_BIAS_FLOW, *EXACT),
    control="the printed sum and sign",
    decided="Against complex steps of the cost of all layers.",
    message="The bias flow has the wrong sign and the wrong sums",
    cause="The derivative of the output in the bias has a minus sign, so the flow has a plus sign; only the layer "
    "itself appears, and every cluster contributes with its own label.",
    consequence="The bias flow of Theorem 5.1 changes; its weight flow (5.6)-(5.7) is right.",
)


general_weight_flow = formula_claim(
    "tf-thm51-omega",
    where="Section 5, Theorem 5.1, (5.6)-(5.7); Section 7, (7.16)",
    line=835,
    assumes="aligned weights, any truncation map may act on any cluster; empty products, as $P^+_{Q+1,Q}$, are 1; no "
    "point on a plane",
    words="determines the gradient flow of the cumulative weights",
    states="The weight flow of a layer is minus the sum over the clusters of the commutators of (5.6) with (5.7).",
    formula=r"\tilde\Omega_\ell = -\sum_{\ell'=1}^{Q} \int dx\, \mu_{\ell'}(x) [H^{(\ell)}, M_{\ell,\ell'}(x)]",
    sought=r"One layer gives $H (u a^T + a u^T)$ with $a$ the error pulled back, and $\pi_-$ of it is $\frac12 [H, u "
    "a^T + a u^T]$: no factor is dropped, and one layer is the corrected Theorem 3.2. Attacked with layers "
    "whose pattern is 0 or 1 on all points (both sides 0), a point that carries two labels, a reflection and "
    "more layers than dimensions, each against autograd to 1e-14. For $Q = 1$ nothing turns.",
    audit=("gradient_audit", equations.GENERAL_WEIGHT_FLOW, *EXACT),
    control="the other sign",
    decided="Against complex steps of the cost of all layers along the orthogonal group.",
)


@claim(
    "tf-thm51-domain",
    where="Section 5, after Theorem 5.1, (5.8)-(5.9)",
    line=841,
    kind_of_slip="result changes",
    assumes="aligned weights",
    words=r"is contained in the intersection set ... $(\tau^{(\ell'-1,1)})^{-1}(\mathcal{S}_{\ell'}^{\perp}) \cap "
    r"(\tau^{(\ell',1)})^{-1}(\mathcal{S}_{\ell'+1}^+) \cap$",
    kind="bound",
    states=("A layer's bias feels a point where the later layers see it in their positive sectors."),
    correction=r"Only where no later layer sees it in its negative sector: $H \ne 0$ means not in the negative "
    "sector, it does not mean in the positive one.",
    formula=r"P_{\ell',Q}^-(x) \ne 0 \Rightarrow \tau^{(m-1,1)}(x) \in \mathcal{S}_m^+ \text{ for } m > \ell'",
    corrected_formula=r"P_{\ell',Q}^-(x) \ne 0 \Rightarrow \tau^{(m-1,1)}(x) \notin \mathcal{S}_m^- \text{ for } m > "
    r"\ell'",
    sought="Proof: a product that is not 0 has no factor 0, and $H^{(m)} = 0$ is the closed negative sector, planes "
    r"included by $h(0) = 0$; likewise $H^{\perp(\ell')} \ne 0$ is the complement of the open positive one. "
    r"So no data break the corrected form. It is an inclusion only: with $R = 1$ and $H = \mathrm{diag}(1, "
    "0)$ in two layers no factor vanishes, and the product does.",
    defence=r"(5.10), next to the set, has the right conditions: $H^{(m)} \ne 0$ for the later layers. With "
    r"$\mathcal{S}_m^+$ in (5.9) read as the set in which a layer passes something on, the two agree. Nothing "
    "later rests on it: the dynamics are left open, and for separated clusters, where later layers are the "
    "identity, the set is right. For $Q = 1$ it always is.",
    answer=r"(2.12) defines $\mathcal{S}^+$ as the sector of all coordinates, and Section 1 sums up that clusters "
    "are 'renormalized by the intersection of the positive sectors of all truncation maps'; so the stronger "
    "condition is meant. It leaves out the points that a later layer truncates in part, which move the bias "
    "too (facts). (5.10) shows where it comes from: not 0 was taken for 1. That little depends on it is "
    "granted.",
    control=wrong_formula("the printed domain", replace_variables(domain_corrected_violations="domain_violations")),
    message="A layer's bias feels more points than the paper says",
    cause="A pattern that is not zero means that a point is outside the negative sector, not that it is in the "
    "positive one.",
    consequence="The set of (5.9) is too small: the points lie outside the negative sectors of the later layers.",
)
def renormalized_domain(counterexamples: xr.Dataset) -> Verdict:
    """Two random layers in space, points where the product does not vanish."""
    printed, corrected = (
        zero(counterexamples[name], "no point outside the domain", COUNTED)
        for name in ("domain_violations", "domain_corrected_violations")
    )
    facts = {
        "points tried at which the product does not vanish": int(counterexamples["domain_acting"]),
        "of these outside (5.9)": int(counterexamples["domain_violations"]),
    }
    return Verdict.from_tests(printed, corrected, facts)


@claim(
    "tf-512",
    where="Section 5, eq. (5.12)",
    line=855,
    kind_of_slip="misprint",
    possible_ocr_error=True,
    assumes="cluster separated truncations",
    words="If cluster separated truncations exist ... then they satisfy the condition that ... "
    r"$R_\ell^T H^{(\ell)}(x) R_\ell x' = x'$",
    kind="identity",
    states="With separated truncations the pattern of an own point takes the points of other clusters to themselves.",
    correction="The pattern of a point of another cluster is the identity.",
    formula=r"R_\ell^T H^{(\ell)}(x) R_\ell x' = x'",
    corrected_formula=r"H^{(\ell)}(x') = \mathbf{1}",
    control=false_world(TOO_WIDE, replace_variables(pattern_other="pattern_other_wide")),
    message="The identity is required of the pattern of the wrong point",
    cause=r"Separation says that the map is the identity at points $x'$ of other clusters, $H^{(\ell)}(x') = 1$; the "
    "pattern of a cluster's own point $x$ may truncate.",
    consequence="In its right form the condition says that the map leaves points of other clusters where they are, "
    "as Definition 3.1 does.",
    labels={"": "how far patterns are from leaving other clusters alone"},
)
def separated_projection(counterexamples: xr.Dataset) -> Verdict:
    """The explicit construction in space."""
    return Verdict.from_tests(
        zero(counterexamples["projection_own"], "equal points"), zero(counterexamples["pattern_other"], "all passed on")
    )


@claim(
    "tf-513",
    where="Section 5, eq. (5.13)",
    line=863,
    kind_of_slip="missing hypothesis",
    assumes="cluster separated truncations in the sense of Definition 3.1",
    words="in agreement with Theorem 3.2",
    kind="identity",
    states="With separated truncations the data drop out of the bias flow of Theorem 5.1, as in Theorem 3.2.",
    correction="It needs besides, as (3.4) does, that later maps leave the images alone.",
    formula=r"(P_{\ell',Q}^-(x))^T P_{\ell',Q}^+(x) \tau^{(\ell'-1,1)}(x) = 0",
    corrected_formula=r"\tau^{(\ell')}(\tau^{(\ell)}(X_\ell)) = \tau^{(\ell)}(X_\ell) \; (\ell' > \ell) \Rightarrow "
    r"(P_{\ell',Q}^-(x))^T P_{\ell',Q}^+(x) \tau^{(\ell'-1,1)}(x) = 0",
    control=false_world("random truncation maps", replace_variables(cross_product="cross_product_random")),
    message="Separation alone does not remove the data from the bias flow",
    cause="Definition 3.1 leaves later maps free to move the image of a cluster: in an example in the plane a "
    "second cone cuts it off, and the product is $(0, 1/2)$.",
    consequence="Agreement with Theorem 3.2 needs, as (3.4) does, that later maps leave the images alone.",
    labels={"": "the term of the data that (5.13) says vanishes"},
)
def data_drop_out(counterexamples: xr.Dataset) -> Verdict:
    """Two clusters in the plane, a cone turned by 45 degrees; the explicit construction in space, which meets (3.4)."""
    return Verdict.from_tests(
        zero(counterexamples["cross_product_moved"], "product zero under Definition 3.1 alone"),
        zero(counterexamples["cross_product"], "product zero"),
        {
            "deviation from Definition 3.1 in the plane": float(counterexamples["cross_product_others"]),
            "deviation from (5.12) in the plane": float(counterexamples["cross_product_512"]),
        },
    )


lemma_7_1 = formula_claim(
    "tf-lemma71",
    where="Section 7, Lemma 7.1, (7.2)",
    line=1038,
    assumes="aligned weights",
    words=r"$\tau^{(\ell_1, \ell_2)}(x) = P_{\ell_1, \ell_2}^+(x)x - \sum_{\ell=\ell_1}^{\ell_2} P_{\ell, "
    r"\ell_2}^-(x)\beta^{(\ell)}$",
    states="The composed truncation maps are a product of projections of the point minus those of the biases.",
    formula=r"\tau^{(\ell_1,\ell_2)}(x) = P_{\ell_1,\ell_2}^+(x) x - \sum_{\ell=\ell_1}^{\ell_2} P_{\ell,\ell_2}^-(x) "
    r"\beta^{(\ell)}",
    sought=r"Induction over the layers on $\tau = R^T H R\, x - R^T H^\perp R\, \beta$, true at points of the planes "
    r"too, since $\sigma(u) = H u$ at $u = 0$; no sector, tie or label enters. Smallest and emptiest cases: "
    "one layer, a layer with $H = 1$ (its bias drops out), one with $H = 0$ (the point is forgotten, its own "
    "and later biases remain). The audit composes inner ranges of layers as well.",
    audit=("gradient_audit", equations.COMPOSITION_PRODUCTS, *EXACT),
    control="plus in place of minus",
    decided="Against composing the maps of every range of layers, inner ones too.",
)


lemma_7_2 = formula_claim(
    "tf-lemma72",
    where="Section 7, Lemma 7.2, (7.11)",
    line=1090,
    kind_of_slip="misprint",
    assumes="aligned weights; on planes the convention $h(0) = 0$ of (3.9), which (3.13) uses for all x",
    words=r"For any $x \in \mathbb{R}^Q$ , the following holds ... $= (P_{\ell, Q}^-(x))^T$",
    states="The gradient in the bias of a layer is the error pulled back, with a plus sign.",
    correction="With a minus sign, as in (7.14), the last line of its own proof.",
    formula=r"\partial_{\beta^{(\ell)}} \frac{1}{2} |\tau^{(Q,1)}(x) - \tilde y|^2 = (P_{\ell,Q}^-)^T \left( "
    r"\tau^{(Q,1)}(x) - \tilde y \right)",
    corrected_formula=r"\partial_{\beta^{(\ell)}} \frac{1}{2} |\tau^{(Q,1)}(x) - \tilde y|^2 = -(P_{\ell,Q}^-)^T "
    r"\left( \tau^{(Q,1)}(x) - \tilde y \right)",
    sought=r"Chain rule with $\partial_\beta \tau = -R^T H^\perp R$; the sign is that of (7.14). 'For any x' "
    r"includes planes: for $Q = 1$ and $x = -\beta$ the derivatives from right and left are 0 and $\beta + "
    r"\tilde y$, and the corrected form gives the second, by the convention $h(0) = 0$ of (3.9) that (3.13) "
    "uses for all x. It is granted here; elsewhere layers that truncate nothing or all were tried.",
    audit=("gradient_audit", equations.POINT_BIAS_GRADIENT, *EXACT),
    control="without the minus sign",
    decided="Against complex steps.",
    message="The gradient in the bias lacks a minus sign",
    cause="The truncation map subtracts the bias, so the derivative has a minus sign; (7.14), the last line of the "
    "lemma's own proof, has it.",
    consequence="The bias flow (5.4) of Theorem 5.1 has the sign of the lemma as printed, and is wrong too "
    "(tf-thm51-beta).",
)
