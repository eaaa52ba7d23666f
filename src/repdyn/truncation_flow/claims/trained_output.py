"""Claims on trained outputs: Sections 8 and 9."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Verdict, at_least, at_most, deviation, equal


def _shifted(reduced: xr.Dataset) -> xr.Dataset:
    return reduced.assign(cost_network=reduced["cost_network"] + 1e-2)


@claim(
    "tf-82-reduction",
    where="Section 8, (8.1)-(8.7)",
    kind="identity",
    states="From collapsed initial data the cost of the network is that of the reduced flow (8.6)-(8.7) at all times.",
    correction="As long as every cluster keeps its sectors, which labels far from W yt end at once.",
    data="reduced_network",
    control=wrong_formula("a network cost that is 0.01 higher", _shifted),
)
def reduction_holds_while_sectors_are_kept(reduced_network: xr.Dataset) -> Verdict:
    """Benign and adverse labels; with the adverse ones up to the loss of the sectors."""
    gap = np.abs(reduced_network["cost_network"] - reduced_network["cost_reduced"])
    kept = gap.where(reduced_network["time"] < reduced_network["lost"], 0.0)
    step = float(reduced_network["step"])
    why = "midpoint rule against a reference: h^2 times derivatives of order 1"
    lost = reduced_network["lost"].sel(labels="adverse")
    last = reduced_network.sel(labels="adverse").isel(time=-1)
    note = (
        f"Adverse labels leave the sectors by s = {float(lost):.2f}; at the end the network's cost is"
        f" {float(last['cost_network']):.2f}, the reduced {float(last['cost_reduced']):.1e}. (8.4) 'persists' is not"
        f" proved."
    )
    tests = [deviation(part, 0.2 * step, expected="equal costs", reason=why) for part in (gap, kept)]
    return Verdict.from_tests(*tests, note)


def _rescaled(propagators: xr.Dataset) -> xr.Dataset:
    return propagators.assign(
        propagator_rate=0.5 * propagators["propagator_rate"], product_ratio=0.5 * propagators["product_ratio"]
    )


@claim(
    "tf-lemma81",
    where="Lemma 8.1, (8.13)",
    kind="bound",
    states="||U_B(s, s_0)|| <= exp(-lambda_0 (s - s_0)) if B B^T > lambda_0.",
    data="propagators",
    control=wrong_formula("half the rate", _rescaled),
)
def propagator_decays(propagators: xr.Dataset) -> Verdict:
    """lambda_0 the smallest eigenvalue of I(0), which bounds that of B B^T along the orbit (8.31)."""
    return Verdict.from_tests(
        at_least(propagators["propagator_rate"], 1.0, expected="rate / lambda_0 >= 1", reason="a bound"),
        None,
        "In (8.14) the middle factor lacks a transpose.",
    )


@claim(
    "tf-lemma82",
    where="Lemma 8.2, (8.18)",
    kind="bound",
    states="||A B|| > sqrt(lambda_0) ||A|| if B B^T > lambda_0.",
    data="propagators",
    control=wrong_formula("half the ratio", _rescaled),
)
def product_is_bounded_below(propagators: xr.Dataset) -> Verdict:
    """Random pairs with lambda_0 the smallest eigenvalue; A != 0 is needed."""
    return Verdict.from_tests(
        at_least(propagators["product_ratio"], 1.0, expected="ratio >= 1", reason="a bound"),
        None,
        "The first norm in (8.19) lacks a square.",
    )


def _drifting(collapsed: xr.Dataset) -> xr.Dataset:
    euler = float(collapsed["euler_drift"].min())
    return collapsed.assign(drift=collapsed["drift"] + euler)


@claim(
    "tf-prop83",
    where="Proposition 8.3, (8.21)",
    kind="identity",
    states="I = B B^T - W^T W is conserved.",
    data="collapsed_clusters",
    control=wrong_formula("the drift of Euler steps of the smallest length", _drifting),
)
def integral_is_conserved(collapsed_clusters: xr.Dataset) -> Verdict:
    """Three signs of I, integrator of relative tolerance 1e-12; Euler drifts by O(h)."""
    drift = collapsed_clusters["euler_drift"].mean("seed")
    order = np.polyfit(np.log(drift["euler_step"]), np.log(drift), 1)[0]
    return Verdict.from_tests(
        deviation(
            collapsed_clusters["drift"], 1e-10, expected="constant", reason="relative tolerance 1e-12 times its steps"
        ),
        None,
        f"Euler steps drift in proportion to h (fitted order {order:.2f}).",
    )


def _slower(collapsed: xr.Dataset) -> xr.Dataset:
    return collapsed.assign(cost=collapsed["cost"] ** 0.4, slow_cost=collapsed["slow_cost"] ** 0.4)


def _rate_excess(collapsed: xr.Dataset) -> xr.DataArray:
    """Log C(s)/C(0) + 2 lambda_0 s where C is above round-off; the theorem says at most 0."""
    definite = collapsed.sel(sign=["positive", "negative"])
    relative = definite["cost"] / definite["cost"].isel(time=0)
    excess = np.log(relative.clip(1e-300)) + 2 * definite["gap"] * definite["time"]
    return excess.where(relative > 1e-16, 0.0)


@claim(
    "tf-thm84-rate",
    where="Theorem 8.4, (8.27)",
    kind="bound",
    states="C(s) <= exp(-2 lambda_0 s) C(0) if I(0) > lambda_0 or -I(0) > lambda_0.",
    data="collapsed_clusters",
    control=wrong_formula("0.4 of the rate", _slower),
)
def cost_decays(collapsed_clusters: xr.Dataset) -> Verdict:
    """Log ratio over random starts of both signs; the rate is attained as W -> 0 with Y = 0."""
    slow = collapsed_clusters["slow_cost"]
    attained = float(
        -np.log(slow[-1] / slow[0]) / (2 * collapsed_clusters["slow_gap"] * collapsed_clusters["time"][-1])
    )
    return Verdict.from_tests(
        at_most(_rate_excess(collapsed_clusters), 1e-9, expected="log C/C(0) + 2 lambda_0 s <= 0", reason="integrator"),
        None,
        f"Attained: rate / (2 lambda_0) = {attained:.4f} for W = 0.01, B = 1, Y = 0. In (8.33) B B^T must be B^T B.",
    )


@claim(
    "tf-thm84-indef",
    where="Theorem 8.4, hypotheses",
    kind="bound",
    states="Definiteness of I(0) is needed for the cost to vanish.",
    data="collapsed_clusters",
    control=wrong_formula(
        "a cost that vanishes", lambda collapsed: collapsed.assign(saddle_ratio=0.0 * collapsed["saddle_ratio"])
    ),
)
def definiteness_matters(collapsed_clusters: xr.Dataset) -> Verdict:
    """B = W = 0, Y = 1: a saddle."""
    return Verdict.from_tests(
        at_least(
            collapsed_clusters["saddle_ratio"],
            0.5,
            expected="C(s)/C(0) = 1",
            reason="any rate above 0.12 would halve it",
        )
    )


@claim(
    "tf-835",
    where="eq. (8.35)",
    kind="bound",
    states="||W + Y B^{-1}|| <= c exp(-2 lambda_0 s)/sqrt(lambda_0).",
    correction="sqrt(c/lambda_0) exp(-lambda_0 s): the root of (8.34) was not taken. Boundedness is not touched.",
    formula=r"\|W\| \le \|Y B^{-1}\| + \frac{c}{\sqrt{\lambda_0}} e^{-2 \lambda_0 s}",
    corrected_formula=r"\|W\| \le \|Y B^{-1}\| + \sqrt{\frac{c}{\lambda_0}} e^{-\lambda_0 s}",
    data="collapsed_clusters",
    control=wrong_formula(
        "the printed exponent",
        lambda collapsed: collapsed.assign(weight_bound_corrected=collapsed["weight_bound_printed"]),
    ),
)
def weight_is_bounded(collapsed_clusters: xr.Dataset) -> Verdict:
    """Y = 0, B = 1, W = 0.01: norm over bound."""
    tests = [
        at_most(
            collapsed_clusters["weight_norm"] / collapsed_clusters[name],
            1.0,
            expected="norm / bound <= 1",
            reason="a bound",
        )
        for name in ("weight_bound_printed", "weight_bound_corrected")
    ]
    return Verdict.from_tests(*tests)


@claim(
    "tf-thm84-limits",
    where="Theorem 8.4, (8.29)",
    kind="limit",
    states="B and W converge.",
    data="collapsed_clusters",
    control=wrong_formula(
        "a motion of 0.001 per unit of time",
        lambda collapsed: collapsed.assign(late_motion=collapsed["late_motion"] + 1e-3),
    ),
)
def limits_exist(collapsed_clusters: xr.Dataset) -> Verdict:
    """Change over one unit of time, 20 units after the start, definite I."""
    late = collapsed_clusters["late_motion"].sel(sign=["positive", "negative"])
    return Verdict.from_tests(
        deviation(late, 1e-8, expected="no motion left", reason="rate above 0.9 for 20 units leaves exp(-18)")
    )


def _off(output: xr.Dataset) -> xr.Dataset:
    return output.assign(
        formula_error=output["formula_error"] + 0.1,
        limit_error=output["crossed_error"],
        projector_defect=output["projector_defect"] + 1,
    )


@claim(
    "tf-thm91",
    where="Theorem 9.1, (9.10); (9.8), (9.12)",
    kind="identity",
    states="W(s) = W(0) e^{-s XX^T/N} + Y P (1 - e^{-s XX^T/N}).",
    correction="Y must be Y_ext, one column per point: Y P is not defined.",
    formula=r"W(s) = W(0) e^{-\frac{s}{N} X X^T} + Y \mathcal{P} \left( 1 - e^{-\frac{s}{N} X X^T} \right)",
    corrected_formula=(
        r"W(s) "
        r"= W(0) e^{-\frac{s}{N} X X^T} + Y_{\mathrm{ext}} \mathcal{P} \left( 1 - e^{-\frac{s}{N} X X^T} \right)"
    ),
    data="output_layer",
    control=wrong_formula("a closed form that is 0.1 off", _off),
)
def output_in_closed_form(output_layer: xr.Dataset) -> Verdict:
    """Shapes of Y P; closed form with Y_ext against an integrator."""
    shapes = equal(
        int(output_layer["columns_of_Y"]), int(output_layer["rows_of_P"]), expected="columns of Y = rows of P"
    )
    closed = deviation(
        output_layer["formula_error"], 1e-7, expected="equal to the integrator", reason="its relative 1e-12, stiff part"
    )
    return Verdict.from_tests(shapes, closed)


@claim(
    "tf-thm91-proj",
    where="eq. (9.11)",
    kind="identity",
    states="P = X^T (X X^T)^{-1} is the projector onto the range of X^T.",
    correction="P is a right inverse of X (N x Q); the projector is P X, of rank Q.",
    formula=r"\mathcal{P} = X^T (X X^T)^{-1} \text{ with } \mathcal{P}^2 = \mathcal{P}",
    corrected_formula=r"\mathcal{P} = X^T (X X^T)^{-1} \text{ with } (\mathcal{P} X)^2 = \mathcal{P} X",
    data="output_layer",
    control=wrong_formula("a matrix that is no projector", _off),
)
def right_inverse_is_no_projector(output_layer: xr.Dataset) -> Verdict:
    """A projector is square; (P X)^2 = P X."""
    square = equal(int(output_layer["columns_of_P"]), int(output_layer["rows_of_P"]), expected="P square")
    defect = deviation(
        output_layer["projector_defect"], 1e-10, expected="(P X)^2 = P X", reason="N x N products of order 1"
    )
    return Verdict.from_tests(square, defect)


@claim(
    "tf-thm91-limit",
    where="eq. (9.12)",
    kind="limit",
    states="The limit is the cost minimiser.",
    data="output_layer",
    control=wrong_formula("the minimiser for the other weights of the classes", _off),
)
def limit_is_least_squares(output_layer: xr.Dataset) -> Verdict:
    """Against lstsq, for the weights 1/N of (9.3) and 1/N_j of (2.22), which differ."""
    return Verdict.from_tests(
        deviation(
            output_layer["limit_error"], 1e-9, expected="least squares", reason="conditioning of X X^T below 1e5"
        ),
        None,
        f"(9.3) weighs by 1/N, (2.22) by 1/N_j: their minimisers differ by"
        f" {float(output_layer['crossed_error'].max()):.2f} here.",
    )
