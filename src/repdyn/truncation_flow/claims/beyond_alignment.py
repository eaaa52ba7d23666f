"""Claims on the choice of parameters: cumulative ones against the layers' own, weights that lose alignment."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_variables, wrong_formula
from repdyn.base.verdicts import Verdict, at_least
from repdyn.truncation_flow.claims.tolerances import COUNTED, EXACT, zero

BREAKS_416 = "clusters that break (4.16)"


@claim(
    "tf-22-free",
    where="Section 2.2, last paragraph",
    line=289,
    words="the cumulative weights and biases ... are independent parameters",
    assumes="invertible weights, all layers of one width",
    kind="identity",
    states="The cumulative weights and biases of different layers are independent parameters.",
    control=false_world("layers that share one weight", replace_variables(cumulative_error="cumulative_error_tied")),
)
def cumulative_parameters_are_free(counterexamples: xr.Dataset) -> Verdict:
    """Layers built for cumulative parameters that are drawn freely, (2.6) applied to these layers."""
    error = counterexamples["cumulative_error"]
    return Verdict.from_tests(zero(error, "any cumulative parameters are reached", EXACT))


@claim(
    "tf-22-flow",
    where="Section 2.2, beside the last paragraph",
    kind="comparison",
    origin="ours",
    states="The gradient flow of the cumulative parameters is in general not that of the layers' own: with two "
    "layers of width 1 and a point that the second truncates, the cumulative bias moves at the rate of the formula "
    "instead of 1; for biases 0, or weights held fixed, this is $W_1^{-2} + (W_1 W_2)^{-2}$.",
    formula=r"\partial_s \beta^{(2)} = -\left( \frac{1 + (\beta^{(2)})^2}{W_1^2} + \frac{1 + (b_2 / W_2)^2}{(W_1 "
    r"W_2)^2} \right) (\beta^{(2)} + \tilde y)",
    control={
        "another": false_world(
            "a first weight so large that the first layer's parameters have no effect, $W_1 W_2 = -1$, biases 0",
            replace_variables(layer_rate="layer_rate_last"),
        ),
        "formula": wrong_formula(
            "without the motion of the weights", replace_variables(layer_rate_error="layer_rate_error_resting")
        ),
    },
    labels={
        "another": "rate of the cumulative bias by the layers' flow, biases 0, off 1",
        "formula": "rate by the layers' flow minus the formula, biases 0 and 1",
    },
)
def layer_flow_is_another(counterexamples: xr.Dataset) -> Verdict:
    """Complex steps of the network's cost in all weights and biases; the rate of the cumulative flow is 1."""
    return Verdict.from_tests(
        {
            "another": at_least(
                abs(counterexamples["layer_rate"] - 1),
                0.1,
                expected="a rate other than 1",
                reason="$W_1 = 2$, $W_2 = -1/2$ give 1/4 more; a tenth is seen",
            ),
            "formula": zero(counterexamples["layer_rate_error"], "the rate of the formula"),
        },
        facts={"rate with biases 1": float(counterexamples["layer_rate_biased"])},
    )


@claim(
    "tf-unaligned",
    where="Section 2.3, beside Definition 2.2",
    kind="comparison",
    origin="ours",
    states=r"From an orthogonal weight, alignment is not kept by the gradient flow in $(W, \beta)$ while clusters that "
    "meet (4.16) are truncated in part: the part of the velocity that ends it is at least a tenth of the rotating "
    "part. The clusters tried for Proposition 4.2 collapse there as well.",
    control={
        "lost": false_world(
            "fully truncated clusters, whose weights rest", replace_variables(misaligning="misaligning_truncated")
        ),
        "collapses": false_world(BREAKS_416, replace_variables(unaligned_left="unaligned_left_beyond")),
    },
    labels={
        "lost": "misaligning part of the velocity over the rotating part",
        "collapses": "share of points that are not fully truncated at the end",
    },
)
def alignment_is_lost(counterexamples: xr.Dataset) -> Verdict:
    """Parts of dW/ds of random clusters; the flow in both parameters from the data of Proposition 4.2."""
    angle = float(counterexamples["unaligned_angle"])
    return Verdict.from_tests(
        {
            "lost": at_least(
                counterexamples["misaligning"],
                0.1,
                expected="misaligning over rotating part",
                reason="a tenth of the velocity is no small correction",
            ),
            "collapses": zero(
                counterexamples["unaligned_left"], "all points truncated at the end", COUNTED._replace(size=1e-12)
            ),
        },
        facts={"largest entry of $W W^T$ off the diagonal at the end": angle},
    )
