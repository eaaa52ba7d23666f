"""Claims of section 2.2 of Ma and Ying: the metric, Theorems 2 and 3, and the isometry they leave out."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import replace_labels, replace_variables, wrong_formula
from repdyn.base.formula_audit import decide_formula, formula_claim, with_wrong_formula
from repdyn.base.verdicts import Test, Verdict, at_least, deviation, rounding
from repdyn.bn_mean_field.claims.section2_1_velocities import as_printed
from repdyn.bn_mean_field.claims.spoiled import of_audit, of_other
from repdyn.bn_mean_field.theory import equations

FLOW_REASON = "solver tolerance 1e-12 per step; the ReLU velocity is $C^1$ only, which costs its order"
ARCS_REASON = "Gauss quadrature, 40 nodes"


def _flow_gap(equivalence: xr.Dataset, against: str, radii: list[float], expected: str) -> Test:
    gaps = equivalence.sel(against=against, radius=radii)
    return deviation(np.maximum(gaps["gap_a"], gaps["gap_b"]), 1e-8, expected=expected, reason=FLOW_REASON)


@claim(
    "bnm-norm-general",
    where="Section 2.1, after eq. (6)",
    words=r"without loss of generality, we can assume $\mathbf{b}_k \in \mathbb{S}^{d-1}$ for any",
    line=66,
    kind_of_slip="missing hypothesis",
    kind="identity",
    states=r"The length of $b_k$ may be taken as 1 without loss of generality.",
    assumes="what follows is on the dynamics, (7) and Theorems 2 and 3; that the function does not depend on the "
    "length, and that training keeps it, is true",
    correction=r"True of the function. For $\|b_k\| = r$ the normalized flow is the flow on $\mathcal M$ with $r^2 G$ "
    "instead of $G$, so a neuron's length sets its learning rate (as section 4.2 uses).",
    corrected_formula=r"\dot{\bar b}_k = -\left( r^2 G_{\bar b_k} \right)^{\dagger} P_{\bar b_k} \partial_{\bar b_k} "
    r"L_0, \quad r = \|b_k \|",
    control=wrong_formula(
        "the metric without the factor $r^2$", replace_labels("against", {"manifold_scaled": "manifold"})
    ),
    message="The length of a neuron changes its dynamics",
    cause="The network's function does not depend on the length $r$, but the flow of the normalized weights has "
    "$r^2 G$ as its metric, so that the length sets the neuron's learning rate.",
    consequence="What follows on the dynamics, (7) and Theorems 2 and 3, is about unit length; Section 4.2 builds "
    "on the effect of other lengths.",
)
def lengths_matter(equivalence: xr.Dataset) -> Verdict:
    """BN flows of other lengths against the flow on M with G (printed) and r^2 G (corrected)."""
    radii = [r for r in equivalence["radius"].values.tolist() if r != 1.0]
    return Verdict.from_tests(
        _flow_gap(equivalence, "manifold", radii, "same flow for every length"),
        _flow_gap(equivalence, "manifold_scaled", radii, "flow with the metric $r^2 G$"),
    )


def _metric_tolerance(metric_audit: xr.Dataset) -> tuple[float, str]:
    condition = float(metric_audit["condition"].max())
    reason = (
        rf"pseudo-inverse and products at a condition of $\Sigma$ of {condition:g}: 50 rounding errors times "
        "the condition"
    )
    return rounding(condition, 50), reason


def _metric(metric_audit: xr.Dataset, name: str, expected: str) -> Test:
    tolerance, reason = _metric_tolerance(metric_audit)
    return deviation(metric_audit[name], tolerance, expected=expected, reason=reason)


@claim(
    "bnm-prop1-sym",
    where="Section 2.2, Proposition 1, proof",
    words=r"we directly have $\alpha^T G_{\mathbf{b}}\beta = \beta^T G_{\mathbf{b}}\alpha$",
    line=112,
    assumes="tangent vectors",
    kind="identity",
    states=r"$h(\alpha, \beta) = \alpha^T G \beta$ is symmetric on the tangent space.",
    control=wrong_formula(
        r"the oblique form $(I - b b^T \Sigma) \Sigma$ for $G$", replace_variables(asymmetry="asymmetry_oblique")
    ),
    sought="Proof: on tangents the projection in front of $G$ is the identity, and the pseudo-inverse of a "
    r"symmetric matrix is symmetric. Tried: eigen-directions of $\Sigma$, condition numbers up to $10^5$; for $d = "
    r"1$ the tangent space of $\Omega$ is 0.",
)
def metric_is_symmetric(metric_audit: xr.Dataset) -> Verdict:
    """G formed literally on random covariances."""
    return Verdict.from_tests(_metric(metric_audit, "asymmetry", r"$h(\alpha, \beta) = h(\beta, \alpha)$"))


@claim(
    "bnm-prop1-pd",
    where="Section 2.2, Proposition 1, proof",
    words=r"h is strictly positive definite on $T_{\mathbf{b}}\Omega$",
    line=118,
    assumes=r"Assumption 1: $\Sigma \succ 0$",
    kind="bound",
    states=r"$h$ is positive definite on the tangent space.",
    control=wrong_formula(r"the whole space, where $G \Sigma b = 0$", replace_variables(smallest="smallest_in_space")),
    sought=r"The least favourable $b$ lies between the extreme eigen-directions of $\Sigma$, where the smallest "
    "eigenvalue reaches Kantorovich's $4k/(k+1)^2$ and no less; tried up to $k = 10^5$. It vanishes only for a "
    r"singular $\Sigma$, which Assumption 1 excludes, or off the tangent space.",
)
def metric_is_positive(metric_audit: xr.Dataset) -> Verdict:
    """Smallest eigenvalue on the tangent space over Kantorovich's bound 4k/(k+1)^2 > 0."""
    tolerance, _ = _metric_tolerance(metric_audit)
    ratio = metric_audit["smallest"] / metric_audit["kantorovich"]
    expected, reason = "at least Kantorovich's bound, so positive", "a bound for all $b$; the slack is rounding"
    return Verdict.from_tests(at_least(ratio, 1 - tolerance, expected=expected, reason=reason))


@claim(
    "bnm-prop1-proof",
    where="Section 2.2, Proposition 1, proof, last display",
    words=r"$0 = \alpha^T (I - \Sigma \mathbf{b} \mathbf{b}^T) \alpha = \|\alpha\|^2 + \alpha^T \Sigma "
    r"\mathbf{b} \mathbf{b}^T \alpha = \|\alpha\|^2.$",
    line=116,
    assumes=r"$\alpha$ tangent: $\alpha^T \Sigma b = 0$",
    kind="identity",
    states=r"$\alpha^T (I - \Sigma b b^T) \alpha = \|\alpha\|^2 + \alpha^T \Sigma b b^T \alpha$ for tangent $\alpha$.",
    formula=r"\alpha^T (I - \Sigma b b^T) \alpha = \|\alpha\|^2 + \alpha^T \Sigma b b^T \alpha = \|\alpha\|^2",
    control=with_wrong_formula("vectors that are not tangent", equations.POSITIVITY_DISPLAY),
    sought=r"Both sides differ by $2 \alpha^T \Sigma b\, b^T \alpha$, which tangency makes 0 whatever $b^T \alpha$ "
    r"is; $\alpha$ parallel to $b$ is no tangent unless it is 0.",
    remark="For general vectors the plus is a minus; for tangents, which the display is about, the term is zero.",
)
def positivity_display(formula_audit: xr.Dataset) -> Verdict:
    """Both sides on tangent vectors at random points and covariances."""
    verdict = decide_formula(formula_audit, equations.POSITIVITY_DISPLAY, 1e-10, "round-off of sums over the samples")
    return Verdict.from_tests(as_printed(verdict))


def _cosine_not_squared(metric_audit: xr.Dataset) -> xr.Dataset:
    return metric_audit.assign(alignment=np.sqrt(metric_audit["alignment"]))


@claim(
    "bnm-prop1-spectrum",
    where="Section 2.2, Proposition 1 (ours)",
    kind="identity",
    origin="ours",
    assumes=r"$d \ge 2$, $\Sigma \succ 0$",
    states=r"On the tangent space $\|b\|^2 G_b$ has the eigenvalue $\cos^2 \angle(b, \Sigma b)$ once; all others are "
    "1.",
    control={
        "smallest": wrong_formula("the cosine, not its square", _cosine_not_squared, recomputes=True),
        "others": wrong_formula(r"$G$ without the factor $\|b\|^2$", replace_variables(others="others_unscaled")),
    },
    labels={
        "smallest": "smallest eigenvalue on the tangent space over the squared cosine, minus 1",
        "others": "distance of all other eigenvalues on the tangent space from 1",
    },
)
def eigenvalues_of_the_metric(metric_audit: xr.Dataset) -> Verdict:
    """Eigenvalues of the literal G against the closed form."""
    tolerance, reason = _metric_tolerance(metric_audit)
    ratio = metric_audit["smallest"] / metric_audit["alignment"] - 1
    smallest = deviation(ratio, tolerance, expected=r"$\cos^2$ of the angle", reason=reason)
    return Verdict.from_tests({"smallest": smallest, "others": _metric(metric_audit, "others", "equal to 1")})


@claim(
    "bnm-thm2",
    where="Section 2.2, Theorem 2",
    words=r"The manifold gradient of ... on $\mathcal{M}$ with respect $\bar{\theta}$ is ... $= -\frac{1}{m} "
    r"\mathbb{E}l'(f_0(\mathbf{x},\bar{\theta}), y) \sigma(\bar{\mathbf{b}}_k^T \mathbf{x}),$ ... $= -\frac{1}{m} "
    r"\|\bar{\mathbf{b}}_k\|^2$",
    line=122,
    assumes=r"Assumption 1; $G$ on the manifold of each neuron",
    kind_of_slip="misprint",
    kind="identity",
    states="The manifold gradient of $L_0$ is the right-hand side of Theorem 2.",
    correction="Both lines need a plus sign: the statement gives minus the gradient. Its factor $1/m$ is right.",
    formula=r"\partial_{a_k} L_0 = -\frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \partial_{\bar b_k} L_0 = "
    r"-\frac{1}{m} \|\bar b_k\|^2 A(\bar b_k)\, \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x",
    corrected_formula=r"\partial_{a_k} L_0 = \frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \partial_{\bar "
    r"b_k} L_0 = \frac{1}{m} \|\bar b_k\|^2 A(\bar b_k)\, \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x",
    control={
        "a line": of_audit("the printed sign in the corrected form", equations.GRADIENT_OUTER),
        "b line": of_audit("the printed sign in the corrected form", equations.GRADIENT_INNER),
        "pairing": of_other("the printed sign in the corrected form", pairing="pairing_printed"),
        "closed form": of_other(r"the factor $\|b\|^2$ left out", formula_gap="formula_gap_unscaled"),
    },
    message="Theorem 2 states minus the gradient",
    cause="In the metric of the theorem the gradient has a plus sign in both lines; what the statement prints is "
    "the velocity of the gradient flow.",
    consequence="Both lines change sign; the factor $1/m$ is right. The words before (15), that the velocity is the "
    "manifold gradient, lack the minus too; (15) has it.",
    sought="Proof on the study's page. Degenerate cases: a neuron with $a_k = 0$ has no inner gradient in either "
    "form; equal neurons share theirs; $d = 1$ leaves the $a$-line. Where ReLU meets an input on its edge $L_0$ "
    r"has no gradient, and both sides agree for any common choice of $\sigma'(0)$.",
    labels={
        "pairing": "product of the gradient with a tangent, against the loss's derivative",
        "a line": "output weights: velocity of Theorem 2, against the manifold gradient",
        "b line": "input weights: velocity of Theorem 2, against the manifold gradient",
        "closed form": "closed form of the gradient, against the inverse metric times the projection",
    },
)
def manifold_gradient(formula_audit: xr.Dataset, metric_audit: xr.Dataset) -> Verdict:
    """Against G^+ P dL from autograd; <t, G grad_m> against the derivative along t; closed form against G^+ P grad."""
    reason = "round-off of sums over the samples and of the inverse of $G$, relative to the largest entry"
    lines = {
        name: decide_formula(formula_audit, f"Theorem 2, {name[0]}", 1e-10, reason) for name in ("a line", "b line")
    }
    closed = _metric(metric_audit, "formula_gap", r"$\|b\|^2 A \nabla = G^+ P \nabla$")
    pairings = [
        _metric(metric_audit, name, r"$\langle t, G \nabla_m \rangle$ = derivative along $t$")
        for name in ("pairing_printed", "pairing")
    ]
    printed = {**{part: as_printed(row) for part, row in lines.items()}, "pairing": pairings[0], "closed form": closed}
    right = {part: row.corrected for part, row in lines.items() if row.corrected}
    corrected = {**right, "pairing": pairings[1], "closed form": closed}
    return Verdict.from_tests(printed, corrected)


euclidean_gradient = formula_claim(
    "bnm-thm2-proof",
    where="Section 2.2, Theorem 2, proof",
    words=r"the gradient of $L_0$ with respect to $\mathbf{\bar{b}}_k$ under Euclidean metric is ... "
    r"$\partial_{\bar{\mathbf{b}}_k} L_0(\bar{\theta}) = \mathbb{E}l'(f_0(\mathbf{x},\bar{\theta}), y) a_k "
    r"\sigma'(\bar{\mathbf{b}}_k^T \mathbf{x}) \mathbf{x}.$",
    line=128,
    kind_of_slip="slip in a proof",
    states=r"The Euclidean gradient is $\partial_{\bar b_k} L_0 = \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x$, "
    "without a factor.",
    correction="It has the factor $1/m$, as the statement of the theorem does; so has the display that ends the proof.",
    corrected_formula=r"\partial_{\bar b_k} L_0 = \frac{1}{m} \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x",
    audit=("formula_audit", equations.EUCLIDEAN_GRADIENT, 1e-10, "round-off of sums over the samples"),
    control="the printed form, without $1/m$",
    sought="The factor is the derivative of the mean over neurons, for every activation and batch; width 1 alone does "
    "not show it.",
    decided="Against autograd of the vanilla model's loss at the normalized weights.",
    message="The Euclidean gradient in the proof lacks the factor 1/m",
    cause="The network is a mean over its $m$ neurons, so the derivative in the weights of one of them has the "
    "factor $1/m$.",
    consequence="The statement of the theorem has the factor and does not change; the display that ends the proof "
    "lacks it too.",
)


@claim(
    "bnm-equiv",
    where="Section 2.2, Theorem 2; Section 3.1, Theorem 3",
    words="the gradient flow dynamics of BN model in the Euclidean space equals to",
    line=120,
    assumes=r"the same initialization; $\|b_k\| = 1$",
    kind="identity",
    states=r"For $\|b_k\| = 1$ the normalized BN flow is the gradient flow of the vanilla model on $\mathcal M$.",
    control=wrong_formula(
        "the Euclidean flow of the vanilla model", replace_labels("against", {"manifold": "vanilla"})
    ),
    sought=r"Proof: $\|b_k\|$ is conserved, and the chain rule through $b \mapsto b / \|b\|_\Sigma$ gives "
    r"$G^\dagger P$ for any batch with $\Sigma \succ 0$. Lengths other than 1, which Theorem 3 excludes by "
    r"$\mathbb{S}^{d-1}$, break it (bnm-norm-general); at kinks of ReLU solutions need not be unique on either side.",
    labels={"": r"normalized BN flow minus the vanilla flow on $\mathcal{M}$"},
)
def flows_are_equal(equivalence: xr.Dataset) -> Verdict:
    """BN flow in Euclidean b, normalized, against -G^+ P grad with G inverted at every step."""
    return Verdict.from_tests(_flow_gap(equivalence, "manifold", [1.0], "equal trajectories"))


@claim(
    "bnm-isometry",
    where="Section 2.2 (ours)",
    kind="identity",
    origin="ours",
    assumes=r"$d \ge 2$, $\Sigma \succ 0$",
    states=r"$(\Omega, G)$ is isometric to the round unit sphere by $b \mapsto b/\|b\|$, so distances on $\mathcal M$ "
    r"are $\sqrt{(a-a')^2 + \angle(b,b')^2}$.",
    control={
        "metric": wrong_formula("the Euclidean metric of the ellipsoid", replace_variables(round_gap="chord_gap")),
        "arcs": wrong_formula("Euclidean lengths of the arcs", replace_variables(tick_length="tick_euclidean")),
    },
    labels={
        "metric": "metric on tangent vectors against that of the unit sphere",
        "arcs": "length of arcs over the angle between the ends, minus 1",
    },
)
def manifold_is_round(metric_audit: xr.Dataset) -> Verdict:
    """G on tangent bases against (I - u u^T)/||b||^2, and arcs of an ellipse measured with G against angles."""
    lengths = metric_audit["tick_length"]
    ratio = lengths * lengths.size / (2 * np.pi) - 1
    arcs = deviation(ratio, 1e-9, expected="length equal to the angle", reason=ARCS_REASON)
    return Verdict.from_tests({"metric": _metric(metric_audit, "round_gap", "equal on tangent vectors"), "arcs": arcs})


@claim(
    "bnm-thm5-regular",
    where="Section 3.3, Theorem 5, proof",
    words="we show a regular value of ... under standard metric is still a regular value",
    line=354,
    assumes=r"$\nabla g$ tangent to $\Omega$",
    kind="bound",
    states=r"A regular point for the standard metric is one for $G$: $\nabla g^T \nabla_m g > 0$ for tangent $\nabla "
    r"g \ne 0$.",
    control=wrong_formula("all vectors for the tangents", replace_variables(ascent="ascent_in_space")),
    sought=r"Proof: for tangent $t$, $Q t$ with $Q = I - \Sigma b b^T$ differs from $t$ by a multiple of $\Sigma "
    r"b$, orthogonal to it, so $|Q t| \ge |t|$; equality in eigen-directions of $\Sigma$. Tried up to condition "
    "$10^5$, $d = 2$ to 5.",
)
def regular_points_agree(metric_audit: xr.Dataset) -> Verdict:
    """Smallest <t, A t>/|t|^2 over tangents: on the tangent space A is at least the identity."""
    tolerance, _ = _metric_tolerance(metric_audit)
    expected, reason = (
        "at least 1, so positive",
        r"$I - b b^T \Sigma$ is a projection onto the tangents; slack: rounding",
    )
    return Verdict.from_tests(at_least(metric_audit["ascent"], 1 - tolerance, expected=expected, reason=reason))
