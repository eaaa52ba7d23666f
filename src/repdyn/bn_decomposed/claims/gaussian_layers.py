"""Claims on one Gaussian layer of recentering and ReLU: eqs. (98) and (111), Theorem 13."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, in_dataset, replace_variables, wrong_formula
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.verdicts import Test, Verdict, at_least, deviation
from repdyn.bn_decomposed.claims.worst_of import worst_mean
from repdyn.bn_decomposed.theory.kernel import arccos_kernel

INVARIANT, FAR = "definition 12", "R > n/(n-1)"
CONSTANTS = (
    r"a twentieth: a forgotten factor 1/2, root or $\alpha$ moves the value by a fifth and more at the smallest $n$"
)
CLOSED = "closed forms of a few operations, with a wide margin for round-off"
NEXT_TO_ROUNDING = 1e-12
LINEAR = false_world(
    "a layer without ReLU",
    replace_variables(square="square_linear", inner="inner_linear", quadrature="quadrature_linear"),
)


def near(samples: xr.DataArray, over: str, value: str) -> Test:
    """Ratios to an expected value whose means lie within a twentieth of one."""
    return worst_mean(samples, over, 0.95, 1.05, expected=f"{value}, ratio 1", reason=CONSTANTS)


@claim(
    "bnd-eq98",
    where="Appendix F, eqs. (95)-(98)",
    line=982,
    assumes="Gaussian weights of variance sigma squared",
    words=r"we get that $\mathbb{E} \text{ReLU}(N)^2 = \frac{1}{2}$",
    kind="identity",
    states="A Gaussian layer with ReLU keeps half of the squared norm that a linear layer would give.",
    formula=r"\mathbb{E} \|\mathrm{ReLU}(W x)\|^2 = \frac{d \sigma^2}{2} \|x\|^2",
    control=dict.fromkeys(("quadrature", "sampled"), LINEAR),
    labels={
        "quadrature": "expected square by quadrature over half the linear layer's, minus 1",
        "sampled": "squared norm in sampled layers over half the linear layer's",
    },
)
def relu_halves_the_square(relu_moments: xr.Dataset) -> Verdict:
    """Quadrature at x = y, and layers of explicit weights with a sigma and a norm that are not one."""
    return Verdict.from_tests(
        {
            "quadrature": deviation(
                relu_moments["quadrature"].sel(cosine=1) - 1, NEXT_TO_ROUNDING, expected="0", reason=CLOSED
            ),
            "sampled": near(relu_moments["square"], "draw", "half of the linear layer's square"),
        }
    )


@claim(
    "bnd-eq111",
    where="Appendix F, eq. (111)",
    line=1073,
    assumes="Gaussian weights of variance sigma squared",
    words="We need the expected inner product between ... "
    r"$\mathbb{E}\,\mathrm{ReLU}\,(W\boldsymbol{x})\cdot\mathrm{ReLU}\,(W\boldsymbol{y}) = "
    r"\frac{d\sigma^2\,\|x\|\,\|y\|}{2}\frac{\sqrt{1-\rho^2}+\left(\pi-\cos^{-1}(\rho)\right)\rho}{\pi}$",
    kind="identity",
    states="The expected inner product after a Gaussian layer with ReLU is the arc-cosine kernel of degree one.",
    formula=r"\mathbb{E}\, \mathrm{ReLU}(W x) \cdot \mathrm{ReLU}(W y) = \frac{d \sigma^2}{2} \|x\| \|y\| "
    r"\frac{\sqrt{1 - \rho^2} + (\pi - \arccos\rho) \rho}{\pi}",
    control=dict.fromkeys(("quadrature", "sampled"), LINEAR),
    labels={
        "quadrature": "expected inner product by quadrature, minus the kernel",
        "sampled": "inner product in sampled layers, minus the kernel",
    },
)
def arccosine_kernel(relu_moments: xr.Dataset) -> Verdict:
    """Quadrature over the angle of the weights and layers of explicit weights, over the cosine."""
    kappa = xr.zeros_like(relu_moments["quadrature"]) + arccos_kernel(relu_moments["cosine"].values)
    return Verdict.from_tests(
        {
            "quadrature": deviation(
                relu_moments["quadrature"] - kappa, NEXT_TO_ROUNDING, expected="the kernel", reason=CLOSED
            ),
            "sampled": worst_mean(
                relu_moments["inner"] - kappa,
                "draw",
                -0.05,
                0.05,
                expected="the kernel, which runs from 0 to 1",
                reason="a twentieth of the range; at opposite cosines the kernel differs by up to 1",
            ),
        }
    )


@claim(
    "bnd-eq111-ineq",
    where="Appendix F, after eq. (111)",
    line=1085,
    assumes="different points, the variance that keeps norms; a strict sign that is an equality in a degenerate case, "
    "points on one ray, is read as at least",
    words=r"for $\sigma^2 = \frac{2}{d}$ $\frac{2}{d}$ and $x \neq y$",
    kind="bound",
    states=("With the variance that keeps norms, a layer with ReLU raises the inner product of two different points."),
    formula=r"K(x, y) > x \cdot y \quad \text{for } x \ne y",
    control=dict.fromkeys(("excess over its lower bound", "excess for collinear vectors"), LINEAR),
    remark="Equal for points on one ray, such as $y = 2 x$; otherwise the excess is at least a cubic function of the "
    r"angle. Item 4 of Theorem 14, for which it is used, stays strict on a ray through $\alpha < 1$.",
)
def kernel_exceeds_the_product(relu_moments: xr.Dataset) -> Verdict:
    """Excess of the quadrature over the cosine: a positive bound below for all angles, zero on one ray."""
    rho = relu_moments["cosine"].values
    excess = relu_moments["quadrature"].values - rho
    apart = np.abs(rho) < 1
    if not apart.any():
        raise NotEnoughDataError("relu_moments: a cosine between -1 and 1")
    least = (np.arccos(rho[apart]) / np.pi) ** 3
    return Verdict.from_tests(
        {
            "excess over its lower bound": at_least(
                excess[apart] / least,
                1,
                expected=r"above 1, over $(\theta / \pi)^3$",
                reason=r"$3 (\sin \theta - \theta \cos \theta) / \theta^3$ falls from 1 to $3 / \pi^2$"
                r" on $[0, \pi]$",
            ),
            "excess for collinear vectors": deviation(
                excess[rho == 1], NEXT_TO_ROUNDING, expected="0 at cosine 1", reason=CLOSED
            ),
        }
    )


def alpha_one(gaussian_layer: xr.Dataset) -> xr.Dataset:
    """Takes sigma^2 = 2/d for 2 alpha/d: ReLU being homogeneous, every square is divided by alpha."""
    squares = ("odd_square", "cluster_square", "expected_odd_square", "expected_cluster_square")
    return gaussian_layer.assign({name: gaussian_layer[name] / gaussian_layer["alpha"] for name in squares})


ALPHA_ONE = wrong_formula(r"$\sigma^2 = 2/d$ for $2 \alpha / d$", in_dataset(0, alpha_one), recomputes=True)
SQUARES = ("closed form", "odd point sampled", "cluster sampled")


def squares_are_kept(layer: xr.Dataset) -> dict[str, Test]:
    """E||x_1'||^2 = 1 and E||nu_c'||^2 = 1/(n-1)^2 in closed form and sampled."""
    closed = [layer["expected_odd_square"].values, layer["expected_cluster_square"].values]
    return {
        "closed form": deviation(np.stack(closed) - 1, NEXT_TO_ROUNDING, expected="both squares 1", reason=CLOSED),
        "odd point sampled": near(layer["odd_square"], "block", "square of the odd point 1"),
        "cluster sampled": near(layer["cluster_square"], "block", "square of the cluster's mean $1 / (n - 1)^2$"),
    }


@claim(
    "bnd-thm13-norm",
    where="Appendix F, Theorem 13, eqs. (105)-(110)",
    line=1025,
    assumes="an invariant representation (Definition 12)",
    words="we have proved item 1 since",
    kind="identity",
    states="At the variance of Theorem 13 a layer keeps the expected squared norms of odd point and cluster.",
    formula=r"\alpha = \frac{n^2}{n^2 - 2n + 2}: \quad \mathbb{E}\|x_1'\|^2 = 1, \quad \mathbb{E}\|\hat\nu_c\|^2 = "
    r"\frac{1}{(n-1)^2}",
    control=dict.fromkeys(SQUARES, ALPHA_ONE),
    labels={
        "closed form": "squared norms after the layer in closed form, against 1",
        "cluster sampled": "squared norm of the cluster's mean in sampled layers, over the expected one",
    },
    sought=r"Proof: $\mathbb{E}\|\operatorname{ReLU}(W \tilde x)\|^2 = \alpha \|\tilde x\|^2$ for each vector, and "
    r"items 1 to 3 of Definition 12 fix $\|\tilde x_1\|$ and $\|\tilde\nu_c\|$. Tried: two points, where "
    r"$\alpha = 2$ is largest, in closed form, and a single neuron, sampled. One point, or one dimension, "
    "admits no invariant representation.",
)
def norms_are_kept(gaussian_layer: xr.Dataset) -> Verdict:
    """Closed forms and layers of explicit weights of every width on the representation of Definition 12."""
    return Verdict.from_tests(squares_are_kept(gaussian_layer.sel(start=INVARIANT)))


NOT_RECENTERED = false_world(
    "layers without recentering", in_dataset(0, replace_variables(inner="inner_not_recentered"))
)


def orthogonal(layer: xr.Dataset) -> Test:
    """x_1'.nu_c' = 0 in every sampled layer."""
    return deviation(
        layer["inner"],
        NEXT_TO_ROUNDING,
        expected="inner product 0 in every layer",
        reason=r"$\tilde x_1$ and $\tilde \nu$ are antipodal, so one factor of every product is zero up to round-off",
        n=layer.sizes["block"],
    )


@claim(
    "bnd-thm13-orth",
    where="Appendix F, Theorem 13, item 3",
    line=1061,
    assumes="an invariant representation (Definition 12)",
    words=r"holds for any W . The second observation then implies ... "
    r"$\boldsymbol{x}_1^{(t+1)}\cdot\hat{\boldsymbol{\nu}}_c = \text{ReLU}\left(W\tilde{\boldsymbol{x}}_1\right)\cdot "
    r"\text{ReLU}\left(W\tilde{\boldsymbol{x}}_{n+1}\right) = 0,$",
    kind="identity",
    states="The odd point and the mean of the cluster are orthogonal after the layer, for every draw of the weights.",
    formula=r"x_1' \cdot \hat\nu_c = 0",
    control=NOT_RECENTERED,
    sought=r"Proof: $\tilde x_1 = \frac{n-1}{n}(x_1 - \nu_c)$ and $\tilde\nu_c = -\frac1n (x_1 - \nu_c)$ in any "
    "batch, so no neuron is positive at both. This needs nothing of Definition 12, and covers two points and "
    "a row of weights that is zero; single neurons were sampled.",
)
def orthogonality_is_kept(gaussian_layer: xr.Dataset) -> Verdict:
    """Largest inner product over all layers of explicit weights on the representation of Definition 12."""
    return Verdict.from_tests(orthogonal(gaussian_layer.sel(start=INVARIANT)))


OF_THE_MEAN = wrong_formula(
    "products of the expected representation, as printed",
    replace_variables(
        expected_odd_square="square_of_mean_odd",
        expected_cluster_square="square_of_mean_cluster",
        expected_inner="inner_of_means",
    ),
)


@claim(
    "bnd-thm13-EX",
    where="Section III, Theorem 13",
    line=266,
    kind_of_slip="misprint",
    assumes="an invariant representation (Definition 12), the variance of the theorem",
    words="is also an invariant representation under RC+ReLU",
    kind="identity",
    states="The expected representation after the layer is again an invariant representation.",
    correction="The expected squared norms and inner products are, as the proof shows; the columns of the expected "
    "representation itself are all parallel.",
    formula=r"\|\mathbb{E}\, x_1'\|^2 = 1, \quad \|\mathbb{E}\, \hat\nu_c\|^2 = \frac{1}{(n-1)^2}, \quad \mathbb{E}\, "
    r"x_1' \cdot \mathbb{E}\, \hat\nu_c = 0",
    corrected_formula=r"\mathbb{E} \|x_1'\|^2 = 1, \quad \mathbb{E} \|\hat\nu_c\|^2 = \frac{1}{(n-1)^2}, \quad "
    r"\mathbb{E}\, x_1' \cdot \hat\nu_c = 0",
    control={
        "closed form": OF_THE_MEAN,
        "inner": OF_THE_MEAN,
        "odd point sampled": ALPHA_ONE,
        "cluster sampled": ALPHA_ONE,
    },
    message="The expected representation has all its columns parallel",
    cause="Every entry of the layer has a mean in proportion to the norm of its point, so the columns of the "
    "expectation are multiples of one vector; the proof computes expected squared norms and inner products.",
    consequence="The theorem holds of these: they are the ones of an invariant representation.",
    labels={
        "inner": "expected inner product of the odd point and the cluster's mean",
        "closed form": "norms and inner product in closed form, against an invariant representation",
        "cluster sampled": "squared norm of the cluster's mean in sampled layers, over the expected one",
    },
    sought="Corrected form: the expected squares and products are exact for two points and more at each width (bnd-"
    "thm13-norm, bnd-thm13-orth), and item 4 is kept, since equal points have equal images in every draw. The"
    " printed form fails at each width and size: all columns of the expectation are multiples of the vector "
    "of ones.",
)
def expectation_is_invariant(gaussian_layer: xr.Dataset) -> Verdict:
    """Definition 12 for the Gram matrix of E[X'] (printed) and for E[X'^T X'] (corrected), closed and sampled."""
    layer = gaussian_layer.sel(start=INVARIANT)
    of_mean = [layer["square_of_mean_odd"] - 1, layer["square_of_mean_cluster"] - 1, layer["inner_of_means"]]
    printed = {
        "closed form": deviation(np.stack(of_mean), NEXT_TO_ROUNDING, expected="1, 1 and 0", reason=CLOSED),
        "norm of mean sampled": near(layer["odd_mean"], "block", "norm of the odd point's expectation 1"),
    }
    inner = deviation(layer["expected_inner"], NEXT_TO_ROUNDING, expected="0", reason=CLOSED)
    return Verdict.from_tests(printed, {**squares_are_kept(layer), "inner": inner})
