"""Claims of Section 9: untruncated data and a trained output layer."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import replace_variables, wrong_formula
from repdyn.base.formula_audit import formula_claim
from repdyn.base.verdicts import Verdict, equal
from repdyn.truncation_flow.claims.tolerances import EXACT, Tolerance, zero
from repdyn.truncation_flow.theory import equations

cost_of_untruncated = formula_claim(
    "tf-93",
    where="Section 9, eq. (9.3)",
    line=1444,
    kind_of_slip="result changes",
    assumes="the standard cost is (2.22), each class weighed by its size; every cluster lies in the positive sector "
    "of every truncation map (9.2)",
    words=r"In this situation, ... $= \frac{1}{2N} \text{Tr} \left( |W_{Q+1} X^{(0)} - Y_{ext}|^2 \right)$",
    states="For untruncated data the standard cost (2.22) is the mean of squares over all points.",
    correction="(2.22) weighs every point by the size of its class; the two differ by a factor $Q$ for classes of "
    "equal size, and have other minimizers else.",
    formula=r"\widetilde{\mathcal{C}} = \frac{1}{2N} \sum_{\ell=1}^{Q} \sum_{i=1}^{N_\ell} |W_{Q+1} x_{\ell,i} - "
    r"y_\ell|^2",
    corrected_formula=r"\widetilde{\mathcal{C}} = \frac{1}{2} \sum_{\ell=1}^{Q} \frac{1}{N_\ell} \sum_{i=1}^{N_\ell} "
    r"|W_{Q+1} x_{\ell,i} - y_\ell|^2",
    defence="Section 9 may choose the mean over all points, the usual empirical cost: (9.3) states it in full, (9.7) "
    "is its gradient, and Theorem 9.1 solves that flow. For classes of equal size the two costs differ by "
    "the factor $Q$, which is a unit of time, and have the same minimizer.",
    answer="The symbol is that of (2.22), and (9.3) is derived from it, 'in this situation'; a change of weights is "
    "not mentioned. For classes of unequal size the minimizers differ (tf-thm91-limit has the difference), "
    "so that training on (2.22) does not end at (9.12). The defence saves Theorem 9.1 as a statement on the "
    "cost (9.3), and it is counted as true there (tf-thm91); what changes is that this is not the standard "
    "cost.",
    audit=("gradient_audit", equations.COST_OF_UNTRUNCATED, *EXACT),
    control="one weight for all points",
    decided="Against the network's standard cost.",
    message="The cost of Section 9 is not the standard cost (2.22)",
    cause="The standard cost divides the sum over each class by the size of that class, (9.3) the sum over all "
    "points by their number.",
    consequence="For classes of equal size the two differ by a factor $Q$; otherwise they have different minimizers.",
)


hidden_layers_rest = formula_claim(
    "tf-96",
    where="Section 9, eq. (9.6)",
    line=1456,
    assumes="every cluster lies in the positive sector of every truncation map (9.2), weights that need not be "
    "aligned; $W_{Q+1}$ is the cumulative $W^{(Q+1)}$ (tf-82-cost)",
    words="the cost does not depend on the cumulative parameters",
    states="Untruncated data leave the hidden cumulative weights and biases at rest.",
    formula=r"\partial_s W^{(\ell)} = 0, \quad \partial_s \beta^{(\ell)} = 0",
    audit=("gradient_audit", equations.HIDDEN_LAYERS_REST, *EXACT),
    control="data that are partly truncated",
    decided="Complex steps of the standard cost in all entries of the hidden cumulative parameters, weights free.",
)


output_gradient = formula_claim(
    "tf-97",
    where="Section 9, eq. (9.7)",
    line=1460,
    assumes="every cluster lies in the positive sector of every truncation map (9.2); the cost (9.3), which weighs all "
    "points alike (that the standard cost does not is counted in tf-93)",
    words=r"the gradient flow for $W_{Q+1}$ is given by $\partial_s W_{Q+1}(s) = -\frac{1}{N} (W_{Q+1} "
    "X^{(0)} - Y_{ext})(X^{(0)})^T.$",
    states="The output weight follows the gradient of the least-squares cost.",
    formula=r"\partial_s W = -\frac{1}{N} (W X - Y_{\mathrm{ext}}) X^T",
    audit=("gradient_audit", equations.OUTPUT_GRADIENT, *EXACT),
    control="the other sign",
    decided="Against complex steps of the network's cost with the weights of (9.3).",
)


@claim(
    "tf-thm91",
    where="Section 9, Theorem 9.1, (9.10); (9.8), (9.12)",
    line=1474,
    kind_of_slip="misprint",
    assumes="$X X^T$ invertible; $Y$ is the matrix (8.3) of one label per class",
    words=r"the gradient flow (9.7) has the explicit solution $W_{Q+1}(s) = W_{Q+1}(0) e^{-\frac{s}{N} "
    r"X^{(0)}(X^{(0)})^T} + Y \mathcal{P}^{(0)} (1 - e^{-\frac{s}{N} X^{(0)}(X^{(0)})^T})$",
    kind="identity",
    states="The output weight has an explicit solution in the matrix of labels.",
    correction="The matrix must hold one label per point; with one per class the product is not defined.",
    formula=r"W(s) = W(0) e^{-\frac{s}{N} X X^T} + Y \mathcal{P} \left( 1 - e^{-\frac{s}{N} X X^T} \right)",
    corrected_formula=r"W(s) = W(0) e^{-\frac{s}{N} X X^T} + Y_{\mathrm{ext}} \mathcal{P} \left( 1 - e^{-\frac{s}{N} "
    r"X X^T} \right)",
    sought=r"Proof: with $A = X X^T / N$ the solution has the derivative $-(W - Y_{\mathrm{ext}} \mathcal{P}) A$, "
    r"which is (9.7) since $\mathcal{P} X X^T = X^T$. Invertibility forces $N \ge Q$, so the smallest data "
    "are one point per class: there, with nearly dependent points (condition number 4e4) and labels of rank "
    "1, differences in time confirm (9.7). Coincident points and equal labels do not enter the proof.",
    control=wrong_formula("without $1/N$ in the exponent", replace_variables(formula_error="formula_error_unweighted")),
    message="The solution needs one label per point, not one per class",
    cause=r"The matrix $\mathcal{P}$ has one row per point, so its product with the matrix of one label per class is "
    "not defined.",
    consequence="The explicit solution holds with the matrix of one label per point, which (9.8) and (9.12) need too.",
)
def output_in_closed_form(output_layer: xr.Dataset) -> Verdict:
    """Shapes of the product; closed form with one label per point against an integrator."""
    shapes = equal(
        int(output_layer["columns_of_Y"]), int(output_layer["rows_of_P"]), expected="columns of $Y$ are rows of $P$"
    )
    stiff = Tolerance(1e-7, "its relative 1e-12, stiff part")
    return Verdict.from_tests(shapes, zero(output_layer["formula_error"], "equal to the integrator", stiff))


@claim(
    "tf-thm91-proj",
    where="Section 9, Theorem 9.1, (9.11)",
    line=1482,
    kind_of_slip="misprint",
    assumes="$X X^T$ invertible",
    words="is the projector onto the range of $(X^{(0)})^T$",
    kind="identity",
    states=r"$\mathcal{P}$ is the projector onto the range of $X^T$.",
    correction=r"It is a right inverse of $X$, with $N$ rows and $Q$ columns; the projector is $\mathcal{P} X$.",
    formula=r"\mathcal{P} = X^T (X X^T)^{-1} \text{ with } \mathcal{P}^2 = \mathcal{P}",
    corrected_formula=r"\mathcal{P} = X^T (X X^T)^{-1} \text{ with } (\mathcal{P} X)^2 = \mathcal{P} X",
    sought=r"$(\mathcal{P} X)^2 = \mathcal{P} X X^T (X X^T)^{-1} X = \mathcal{P} X$, symmetric and of rank $Q$, the "
    "identity on the range of $X^T$: algebra once $X X^T$ is invertible. The only data for which "
    r"$\mathcal{P}$ itself is square are those with $N = Q$; then $\mathcal{P} = X^{-1}$, a projector for $X "
    "= 1$ alone, so the printed words fail at the smallest size too.",
    control={
        "projector": wrong_formula(
            "without the inverse of the Gram matrix", replace_variables(projector_defect="gram_defect")
        ),
        "range": wrong_formula(
            "without the inverse of the Gram matrix", replace_variables(range_error="gram_range_error")
        ),
    },
    message="The matrix that is called a projector is not square",
    cause="$X^T (X X^T)^{-1}$ has $N$ rows and $Q$ columns, so it has no square; it is a right inverse of $X$.",
    consequence=r"The projector onto the range of $X^T$ is $\mathcal{P} X$; the explicit solution has $\mathcal{P}$ "
    "in the right place.",
    labels={
        "": r"number of columns of $\mathcal{P}$, required as many as rows",
        "projector": r"square of the map $\mathcal{P} X$ minus the map",
        "range": r"what $\mathcal{P} X$ changes on the range of $X^T$",
    },
)
def right_inverse_is_no_projector(output_layer: xr.Dataset) -> Verdict:
    """A projector is square; the product with the data is one, and leaves the range alone."""
    square = equal(int(output_layer["columns_of_P"]), int(output_layer["rows_of_P"]), expected="P square")
    products = Tolerance(1e-10, r"$N \times N$ products of order 1")
    corrected = {
        "projector": zero(output_layer["projector_defect"], "$(P X)^2 = P X$", products),
        "range": zero(output_layer["range_error"], "$P X X^T = X^T$", products),
    }
    return Verdict.from_tests(square, corrected)


@claim(
    "tf-thm91-limit",
    where="Section 9, Theorem 9.1, (9.12)",
    line=1486,
    assumes="$X X^T$ invertible; the matrix of one label per point; the minimizer of [2], which we have not read, is "
    "that of the cost at hand, (9.3); of points weighed by class, as in (2.22), it is for equal classes only",
    words="corresponds to the cost minimizer obtained in [2]",
    kind="limit",
    states="The limit is the minimizer of the cost.",
    formula=r"\lim_{s \to \infty} W(s) = Y_{\mathrm{ext}} \mathcal{P}",
    sought="For invertible $X X^T$ the cost is strictly convex, its minimizer unique, and the flow linear with "
    "positive rates, so any start ends there. Attacked by conditioning: at $N = Q$, condition number 4e4 and "
    "labels of rank 1 the limit is $Y X^{-1}$ as it must be. Classes of unequal size under the weights of "
    "(2.22) end elsewhere; that is the gap of (9.3), counted there (tf-93).",
    control=wrong_formula(
        "the minimizer for the other weights of the classes", replace_variables(limit_error="crossed_error")
    ),
    labels={"": "limit of the flow minus the least squares solution"},
)
def limit_is_least_squares(output_layer: xr.Dataset) -> Verdict:
    """Against least squares, for the weights 1/N of (9.3) and those of (2.22), which differ."""
    conditioned = Tolerance(1e-9, "conditioning of $X X^T$ below 1e5")
    return Verdict.from_tests(
        zero(output_layer["limit_error"], "least squares", conditioned),
        facts={
            "difference of the minimizers for the weights of (9.3) and of (2.22)": float(
                output_layer["crossed_error"].max()
            )
        },
    )
