"""Claims of section 2.2 of Ma and Ying: the metric, Theorems 2 and 3, and the isometry they leave out."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, deviation, rounding


def metric_unscaled(equivalence: xr.Dataset) -> xr.Dataset:
    """Puts the metric G in the place of r^2 G."""
    kinds = ["manifold", "manifold", "vanilla"]
    names = equivalence["against"].values
    return equivalence.sel(against=kinds).assign_coords(against=names)


FLOW_REASON = "solver tolerance 1e-12 per step; the ReLU velocity is C^1 only, which costs its order"


def _flow_gap(equivalence: xr.Dataset, against: str, radii: list[float], expected: str) -> Test:
    gaps = equivalence.sel(against=against, radius=radii)
    worst = np.maximum(gaps["gap_a"], gaps["gap_b"])
    return deviation(worst, 1e-8, expected=expected, reason=FLOW_REASON)


@claim(
    "bnm-norm-general",
    where="Section 2.1, 'without loss of generality'",
    kind="identity",
    states="The length of b_k may be taken as 1: the normalised dynamics does not depend on it.",
    correction="True of the function, not of the dynamics: for ||b_k|| = r the normalised flow is the flow on M with "
    "r^2 G in the place of G, so a neuron's length sets its learning rate (as section 4.2 uses).",
    corrected_formula=(
        r"\dot{\bar b}_k = -\left( r^2 G_{\bar b_k} \right)^{\dagger} P_{\bar b_k} \partial_{\bar b_k} L_0, "
        r"\quad r = \|b_k \|"
    ),
    data="equivalence",
    control=wrong_formula("the metric without the factor r^2", metric_unscaled),
)
def lengths_matter(equivalence: xr.Dataset) -> Verdict:
    """BN flows of other lengths against the flow on M with G (printed) and r^2 G (corrected)."""
    radii = [r for r in equivalence["radius"].values.tolist() if r != 1.0]
    return Verdict.from_tests(
        _flow_gap(equivalence, "manifold", radii, "same flow for every length"),
        _flow_gap(equivalence, "manifold_scaled", radii, "flow with the metric r^2 G"),
    )


def _metric_tolerance(metric_audit: xr.Dataset, operations: int = 50) -> tuple[float, str]:
    condition = float(metric_audit["condition"].max())
    reason = f"pseudo-inverse and products with cond Sigma = {condition:g}: {operations} cond eps"
    return rounding(condition, operations), reason


def _metric(metric_audit: xr.Dataset, name: str, expected: str, shift: float = 0.0) -> Test:
    tolerance, reason = _metric_tolerance(metric_audit)
    return deviation(metric_audit[name] - shift, tolerance, expected=expected, reason=reason)


def oblique(metric_audit: xr.Dataset) -> xr.Dataset:
    """Puts the oblique form (I - b b^T Sigma) Sigma in the place of the metric."""
    return metric_audit.assign(asymmetry=metric_audit["asymmetry_oblique"])


@claim(
    "bnm-prop1-sym",
    where="Proposition 1",
    kind="identity",
    states="h(alpha, beta) = alpha^T G beta is symmetric on the tangent space.",
    data="metric_audit",
    control=wrong_formula("the oblique form (I - b b^T Sigma) Sigma in the place of G", oblique),
)
def metric_is_symmetric(metric_audit: xr.Dataset) -> Verdict:
    """G formed literally on random covariances."""
    return Verdict.from_tests(_metric(metric_audit, "asymmetry", "h(alpha, beta) = h(beta, alpha)"))


def whole_space(metric_audit: xr.Dataset) -> xr.Dataset:
    """Puts the eigenvalues on the whole space in the place of those on the tangent space."""
    return metric_audit.assign(smallest=np.maximum(metric_audit["smallest_in_space"], 0))


@claim(
    "bnm-prop1-pd",
    where="Proposition 1",
    kind="bound",
    states="h is positive definite on the tangent space.",
    data="metric_audit",
    control=wrong_formula("the whole space, where G Sigma b = 0", whole_space),
)
def metric_is_positive(metric_audit: xr.Dataset) -> Verdict:
    """Smallest eigenvalue against its closed form cos^2(b, Sigma b) and Kantorovich's bound 4k/(k+1)^2."""
    tolerance, reason = _metric_tolerance(metric_audit)
    closed = deviation(
        metric_audit["smallest"] / metric_audit["alignment"] - 1,
        tolerance,
        expected="cos^2 of the angle",
        reason=reason,
    )
    bound = at_least(
        metric_audit["smallest"] / metric_audit["kantorovich"],
        1 - tolerance,
        expected="at least Kantorovich's bound, so positive",
        reason="a bound for all b; the slack is rounding",
    )
    others = _metric(metric_audit, "others", "all other eigenvalues of ||b||^2 G equal 1")
    return Verdict.from_tests(all_of(closed_form=closed, bound=bound, others=others))


def gradient_sign_as_printed(metric_audit: xr.Dataset) -> xr.Dataset:
    """Puts the printed sign of Theorem 2 in the place of the corrected one."""
    return metric_audit.assign(pairing=metric_audit["pairing_printed"])


@claim(
    "bnm-thm2",
    where="Theorem 2",
    kind="identity",
    states="The manifold gradient of L_0 is minus (1/m) (E l' sigma, ||b||^2 A E l' a sigma' x).",
    correction="Plus in both lines: the statement gives minus the gradient. Its 1/m is right; the proof drops it.",
    formula=(
        r"\partial_{a_k} L_0 = -\frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), "
        r"\quad \partial_{\bar b_k} L_0 "
        r"= -\frac{1}{m} \|\bar b_k\|^2 A(\bar b_k)\, \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x"
    ),
    corrected_formula=(
        r"\partial_{a_k} L_0 = \frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), "
        r"\quad \partial_{\bar b_k} L_0 "
        r"= \frac{1}{m} \|\bar b_k\|^2 A(\bar b_k)\, \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x"
    ),
    data="metric_audit",
    control=wrong_formula("the printed sign in the corrected form", gradient_sign_as_printed),
)
def manifold_gradient(metric_audit: xr.Dataset) -> Verdict:
    """<t, G grad_m> against the derivative along tangents t, and the closed form against G^+ P grad."""
    formula = _metric(metric_audit, "formula_gap", "||b||^2 A grad = G^+ P grad")
    forms = [
        all_of(pairing=_metric(metric_audit, name, "<t, G grad_m> = derivative along t"), closed_form=formula)
        for name in ("pairing_printed", "pairing")
    ]
    return Verdict.from_tests(*forms)


def vanilla_flow_in_the_plane(equivalence: xr.Dataset) -> xr.Dataset:
    """Puts the Euclidean vanilla flow in the place of the one on M."""
    names = equivalence["against"].values
    return equivalence.sel(against=["vanilla"] * len(names)).assign_coords(against=names)


@claim(
    "bnm-equiv",
    where="Theorems 2, 3",
    kind="identity",
    states="For ||b_k|| = 1 the normalised BN flow is the gradient flow of the vanilla model on M.",
    data="equivalence",
    control=wrong_formula("the Euclidean flow of the vanilla model from the same start", vanilla_flow_in_the_plane),
)
def flows_are_equal(equivalence: xr.Dataset) -> Verdict:
    """BN flow in Euclidean b, normalised, against -G^+ P grad with G inverted at every step."""
    return Verdict.from_tests(_flow_gap(equivalence, "manifold", [1.0], "equal trajectories"))


def chord_metric(metric_audit: xr.Dataset) -> xr.Dataset:
    """Puts the Euclidean metric of Omega in the place of the round one."""
    return metric_audit.assign(round_gap=metric_audit["chord_gap"])


@claim(
    "bnm-isometry",
    where="Section 2.2 (ours)",
    kind="identity",
    states="(Omega, G) is isometric to the round unit sphere by b -> b/||b||, so distances on M are "
    "sqrt(da^2 + angle^2).",
    data="metric_audit",
    control=wrong_formula("the Euclidean metric of the ellipsoid", chord_metric),
)
def manifold_is_round(metric_audit: xr.Dataset) -> Verdict:
    """G on tangent bases against (I - u u^T)/||b||^2, and arcs of an ellipse measured with G against angles."""
    lengths = metric_audit["tick_length"]
    arcs = deviation(
        lengths * lengths.size / (2 * np.pi) - 1, 1e-9, expected="length = angle", reason="Gauss quadrature, 40 nodes"
    )
    return Verdict.from_tests(all_of(metric=_metric(metric_audit, "round_gap", "equal on tangent vectors"), arcs=arcs))
