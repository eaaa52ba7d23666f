"""Claims on several clusters and layers: separation, collapse, Theorem 5.1, Sections 8 and 9."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Verdict, all_of, at_least, at_most, deviation, not_testable
from repdyn.truncation_flow.claims.tolerances import ROUNDING


def _kept(examples: xr.Dataset) -> xr.Dataset:
    """Examples in which nothing goes wrong: for statements that do not hold."""
    names = ("domain_violations", "composition_moved", "projection_own", "weights_differ")
    return examples.assign({name: 0.0 * examples[name] for name in names})


def _broken(examples: xr.Dataset) -> xr.Dataset:
    names = ("domain_mended_violations", "pattern_other")
    return examples.assign({name: examples[name] + 1.0 for name in names})


@claim(
    "tf-thm51-domain",
    where="after Theorem 5.1, (5.8)-(5.9)",
    kind="bound",
    states="P^-_l != 0 only where later layers see the point in their positive sectors.",
    correction="Only where no later layer sees it in its negative sector: H != 0 means not in S-, it does not mean"
    " in S+.",
    formula=r"P_{\ell',Q}^-(x) \ne 0 \Rightarrow \tau^{(m-1,1)}(x) \in \mathcal{S}_m^+ \text{ for } m > \ell'",
    corrected_formula=(
        r"P_{\ell',Q}^-(x) \ne 0 \Rightarrow \tau^{(m-1,1)}(x) \notin \mathcal{S}_m^- \text{ for } m > \ell'"
    ),
    data="counterexamples",
    control=wrong_formula("a violation of the mended domain", _broken),
)
def renormalised_domain(counterexamples: xr.Dataset) -> Verdict:
    """Two random layers in R^3, points where the product does not vanish."""
    found = counterexamples
    tests = [
        deviation(found[name], 0.5, expected="no point outside the domain", reason="integers")
        for name in ("domain_violations", "domain_mended_violations")
    ]
    return Verdict.from_tests(
        *tests, f"{int(found['domain_violations'])} of {int(found['domain_acting'])} points lie outside (5.9)."
    )


@claim(
    "tf-512",
    where="eqs. (5.12)-(5.13)",
    kind="identity",
    states="With separated truncations R_l^T H(x) R_l x' = x' for x in cluster l and x' in another.",
    correction="H(x') = 1 for x' in the other clusters.",
    formula=r"R_\ell^T H^{(\ell)}(x) R_\ell x' = x'",
    corrected_formula=r"H^{(\ell)}(x') = \mathbf{1}",
    data="counterexamples",
    control=wrong_formula("a pattern that truncates another cluster", _broken),
)
def separated_projection(counterexamples: xr.Dataset) -> Verdict:
    """The explicit construction with Q = 3."""
    found = counterexamples
    tests = [
        deviation(found[name], ROUNDING.size, expected="equal", reason=ROUNDING.reason)
        for name in ("projection_own", "pattern_other")
    ]
    return Verdict.from_tests(*tests)


@claim(
    "tf-def31-comp",
    where="Definition 3.1, (3.4)-(3.5)",
    kind="identity",
    states="With cluster separated truncations the composition acts on cluster l as tau_l alone.",
    correction="It needs besides tau_l'(tau_l(x)) = tau_l(x) for l' > l, and both conditions at all times.",
    formula=(
        r"\tau^{(\ell)}(X_{\ell'}) = X_{\ell'} \; (\ell' \ne \ell) \Rightarrow \underline{\tau}^{(Q)}(X_\ell) "
        r"= \tau^{(\ell)}(X_\ell)"
    ),
    corrected_formula=(
        r"\tau^{(\ell)}(X_{\ell'}) = X_{\ell'} \; (\ell' \ne \ell), "
        r"\quad \tau^{(\ell')}(\tau^{(\ell)}(X_\ell)) = \tau^{(\ell)}(X_\ell) \; (\ell' > \ell) "
        r"\Rightarrow \underline{\tau}^{(Q)}(X_\ell) = \tau^{(\ell)}(X_\ell)"
    ),
    data=("counterexamples", "neural_collapse"),
    control=wrong_formula(
        "a composition that is 0.1 off",
        lambda examples, collapse: (examples, collapse.assign(composed_error=collapse["composed_error"] + 0.1)),
    ),
)
def composition_reduces(counterexamples: xr.Dataset, neural_collapse: xr.Dataset) -> Verdict:
    """A counterexample in the plane; the explicit construction, which meets the further condition, at all times."""
    printed = deviation(
        counterexamples["composition_moved"], ROUNDING.size, expected="tau_2 leaves tau_1(x_1)", reason=ROUNDING.reason
    )
    corrected = deviation(
        neural_collapse["composed_error"],
        1e-10,
        expected="composition equals tau_l",
        reason="Q maps, round-off 1e-13 each",
    )
    return Verdict.from_tests(printed, corrected)


def _wide(collapse: xr.Dataset) -> xr.Dataset:
    return collapse.assign(margin=collapse["margin"] - 1.0, cost=collapse["cost"] ** 0.5)


@claim(
    "tf-collapse",
    where="Abstract, Section 4, Proposition 4.2",
    kind="limit",
    states="Under cluster separated truncations every cluster contracts to a point in finite time and the cost goes to "
    "zero exponentially.",
    data="neural_collapse",
    control=wrong_formula("margins one lower, half the rate", _wide),
)
def clusters_collapse(neural_collapse: xr.Dataset) -> Verdict:
    """Explicit data for every Q: separation kept at all times, zero variance within, cost of slope -2 after s_1."""
    late = neural_collapse.sel(time=neural_collapse["time"] >= float(neural_collapse["arrival"].max()))
    slope = [np.polyfit(late["time"], np.log(late["cost"].sel(dimension=Q)), 1)[0] for Q in late["dimension"].values]
    return Verdict.from_tests(
        all_of(
            margin=at_least(
                neural_collapse["margin"].min("time"), 1e-6, expected="separation kept", reason="sign only"
            ),
            within=at_most(
                late["within"], 1e-24, expected="no variance within clusters", reason="squares of round-off"
            ),
            slope=deviation(
                np.array(slope) + 2, 1e-3, expected="slope -2", reason="midpoint rule: relative error h^2/12"
            ),
        )
    )


@claim(
    "tf-general-open",
    where="Section 5, last sentence",
    kind="qualitative",
    states="The dynamics of the general flow are left for future work.",
)
def general_flow_is_open() -> Verdict:
    """An open question."""
    return not_testable(
        "The paper makes no statement. Figure general_flow shows what the corrected flow does: full collapse from"
        " separated data, a stall for wide clusters, from random weights a falling cost that does not collapse"
        " clusters."
    )


@claim(
    "tf-own-clusters",
    where="Section 3, existence of separated truncations",
    kind="bound",
    states="Clusters that are narrow for their distance admit cluster separated truncations.",
    data="own_clusters",
    control=wrong_formula("margins one lower", lambda own: own.assign(margin=own["margin"] - 1)),
)
def narrow_clusters_separate(own_clusters: xr.Dataset) -> Verdict:
    """The narrowest synthetic clusters separate by Procrustes; digits as they are do not."""
    narrow = own_clusters["margin"].isel(width=0).min()
    digits = own_clusters["digit_margin"].min("condition")
    widest = float(digits["shrink"].where(digits > 0).max())
    return Verdict.from_tests(
        at_least(narrow, 1e-6, expected="positive margin", reason="sign only"),
        None,
        f"Digits in R^Q: margin {float(digits[-1]):.2f}, so no separation; drawn to their means by {widest:.2f} they"
        f" separate.",
    )
