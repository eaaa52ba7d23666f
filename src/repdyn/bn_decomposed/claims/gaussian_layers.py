"""Claims on one Gaussian layer, eqs. (98) and (111), Theorems 13 and 14, each with its decision and its control."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most, deviation, mean_within
from repdyn.bn_decomposed.theory.kernel import arccos_kernel

INVARIANT, FAR = "definition 12", "R > n/(n-1)"
CONSTANTS = "a twentieth: a forgotten factor 1/2, root or alpha moves the value by a fifth and more at the smallest n"
CLOSED = "closed forms of a few operations, with a wide margin for round-off"
NEXT_TO_ROUNDING = 1e-12


def means_within(samples: xr.DataArray, over: str, low: float, high: float, *, expected: str, reason: str) -> Test:
    """`mean_within` for every cell of the other dimensions at a total false-alarm rate of 1e-3; the worst speaks."""
    cells = samples.transpose(..., over).values.reshape(-1, samples.sizes[over])
    rate = 1e-3 / len(cells)
    tests = [mean_within(one, low, high, expected=expected, reason=reason, false_alarm=rate) for one in cells]
    order = ("fails", "undecided", "passes")
    worst = min(tests, key=lambda test: (order.index(test.outcome), test.margin))
    measured = f"worst of {len(cells)}: {worst.measured}" if len(cells) > 1 else worst.measured
    return replace(worst, measured=measured, false_alarm=1e-3)


def near(samples: xr.DataArray, over: str, value: str) -> Test:
    """Ratios to an expected value whose means lie within a twentieth of one."""
    return means_within(samples, over, 0.95, 1.05, expected=f"{value}, ratio 1", reason=CONSTANTS)


def linear_layer(relu_moments: xr.Dataset) -> xr.Dataset:
    """Doubles the squares and inner products: what a layer without ReLU gives at x = y."""
    return relu_moments.assign(square=2 * relu_moments["square"], quadrature=2 * relu_moments["quadrature"])


@claim(
    "bnd-eq98",
    where="eqs. (95)-(98)",
    kind="identity",
    states="E||ReLU(Wx)||^2 = d sigma^2 ||x||^2 / 2 for W of i.i.d. N(0, sigma^2) entries.",
    data="relu_moments",
    control=wrong_formula("twice the squares, as in a layer without ReLU", linear_layer),
)
def relu_halves_the_square(relu_moments: xr.Dataset) -> Verdict:
    """Quadrature at x = y, and layers of explicit weights with a sigma and a norm that are not one."""
    return Verdict.from_tests(
        all_of(
            quadrature=deviation(
                relu_moments["quadrature"].sel(cosine=1) - 1, NEXT_TO_ROUNDING, expected="0", reason=CLOSED
            ),
            sampled=near(relu_moments["square"], "draw", "d sigma^2 ||x||^2 / 2"),
        )
    )


def cosine_reversed(relu_moments: xr.Dataset) -> xr.Dataset:
    """Reads every inner product at the opposite cosine."""
    return relu_moments.assign_coords(cosine=-relu_moments["cosine"])


@claim(
    "bnd-eq111",
    where="eq. (111)",
    kind="identity",
    states="E ReLU(Wx).ReLU(Wy) = (d sigma^2 / 2) ||x|| ||y|| kappa(rho), kappa(rho) = (sqrt(1 - rho^2) + "
    "(pi - arccos rho) rho) / pi.",
    data="relu_moments",
    control=wrong_formula("the sign of rho reversed", cosine_reversed),
)
def arccosine_kernel(relu_moments: xr.Dataset) -> Verdict:
    """Quadrature over the angle of the weights and layers of explicit weights, over the cosine."""
    kappa = xr.zeros_like(relu_moments["quadrature"]) + arccos_kernel(relu_moments["cosine"].values)
    return Verdict.from_tests(
        all_of(
            quadrature=deviation(
                relu_moments["quadrature"] - kappa, NEXT_TO_ROUNDING, expected="kappa(rho)", reason=CLOSED
            ),
            sampled=means_within(
                relu_moments["inner"] - kappa,
                "draw",
                -0.05,
                0.05,
                expected="kappa(rho), which runs from 0 to 1",
                reason="a twentieth of the range; kappa and rho differ by up to 1, kappa(rho) and kappa(-rho) too",
            ),
        )
    )


@claim(
    "bnd-eq111-ineq",
    where="after eq. (111)",
    kind="bound",
    states="K(x, y) > x.y at sigma^2 = 2/d for x != y.",
    correction="K(x, y) > x.y unless y = c x with c > 0, where they are equal; the excess over ||x|| ||y|| is "
    "(sin theta - theta cos theta) / pi, at least (theta/pi)^3.",
    formula=r"K(x, y) > x \cdot y \quad \text{for } x \ne y",
    corrected_formula=(
        r"\frac{K(x, y) - x \cdot y}{\|x\|\|y\|} "
        r"= \frac{\sin\theta - \theta \cos\theta}{\pi} \ge \frac{\theta^3}{\pi^3}"
    ),
    data="relu_moments",
    control=wrong_formula("the sign of rho reversed in K", cosine_reversed),
)
def kernel_exceeds_the_product(relu_moments: xr.Dataset) -> Verdict:
    """Excess of the quadrature over the cosine; printed: for y = 2x too, corrected: for rho < 1 and zero at rho = 1."""
    rho = relu_moments["cosine"].values
    excess = relu_moments["quadrature"].values - rho
    apart = np.abs(rho) < 1
    least = (np.arccos(rho[apart]) / np.pi) ** 3
    return Verdict.from_tests(
        at_least(
            excess,
            NEXT_TO_ROUNDING,
            expected="K - x.y above 0 for all x != y, y = 2x among them",
            reason="above round-off, so above zero",
        ),
        all_of(
            excess_over_its_lower_bound=at_least(
                excess[apart] / least,
                1,
                expected="above 1, the bound (theta/pi)^3",
                reason="3 (sin theta - theta cos theta) / theta^3 falls from 1 to 3/pi^2 on [0, pi]",
            ),
            excess_for_collinear_vectors=deviation(
                excess[rho == 1], NEXT_TO_ROUNDING, expected="0 at rho = 1", reason=CLOSED
            ),
        ),
    )


def alpha_one(gaussian_layer: xr.Dataset) -> xr.Dataset:
    """Puts sigma^2 = 2/d in the place of 2 alpha/d: every square, being homogeneous, is divided by alpha."""
    squares = ("odd_square", "cluster_square", "expected_odd_square", "expected_cluster_square", "expected_inner")
    return gaussian_layer.assign({name: gaussian_layer[name] / gaussian_layer["alpha"] for name in squares})


def squares_are_kept(layer: xr.Dataset) -> dict[str, Test]:
    """E||x_1'||^2 = 1 and E||nu_c'||^2 = 1/(n-1)^2 in closed form and sampled."""
    closed = [layer["expected_odd_square"].values, layer["expected_cluster_square"].values]
    return {
        "closed_form": deviation(np.stack(closed) - 1, NEXT_TO_ROUNDING, expected="both squares 1", reason=CLOSED),
        "odd_point_sampled": near(layer["odd_square"], "block", "E||x_1'||^2 = 1"),
        "cluster_sampled": near(layer["cluster_square"], "block", "(n-1)^2 E||nu_c'||^2 = 1"),
    }


@claim(
    "bnd-thm13-norm",
    where="Theorem 13, eqs. (105)-(110)",
    kind="identity",
    states="With alpha = n^2 / (n^2 - 2n + 2) a layer keeps E||x_1||^2 = 1 and E||nu_c||^2 = 1/(n-1)^2.",
    data="gaussian_layer",
    control=wrong_formula("sigma^2 = 2/d in the place of 2 alpha/d", alpha_one),
)
def norms_are_kept(gaussian_layer: xr.Dataset) -> Verdict:
    """Closed forms and layers of explicit weights of every width on the representation of Definition 12."""
    return Verdict.from_tests(all_of(**squares_are_kept(gaussian_layer.sel(start=INVARIANT))))


def not_recentred(gaussian_layer: xr.Dataset) -> xr.Dataset:
    """Leaves the mean in: ReLU(W x_1).ReLU(W nu_c)."""
    return gaussian_layer.assign(inner=gaussian_layer["inner_not_recentred"])


def orthogonal(layer: xr.Dataset) -> Test:
    """x_1'.nu_c' = 0 in every sampled layer."""
    return deviation(
        layer["inner"],
        NEXT_TO_ROUNDING,
        expected="x_1'.nu_c' = 0 for every W",
        reason="x~_1 and nu~ are antipodal, so one factor of every product is zero up to round-off",
        n=layer.sizes["block"],
    )


@claim(
    "bnd-thm13-orth",
    where="Theorem 13, item 3",
    kind="identity",
    states="x_1' and nu_c' are orthogonal for every W.",
    data="gaussian_layer",
    control=wrong_formula("layers without recentring", not_recentred),
)
def orthogonality_is_kept(gaussian_layer: xr.Dataset) -> Verdict:
    """Largest inner product over all layers of explicit weights on the representation of Definition 12."""
    return Verdict.from_tests(orthogonal(gaussian_layer.sel(start=INVARIANT)))


@claim(
    "bnd-thm13-EX",
    where="Theorem 13",
    kind="identity",
    states="E[X^(t+1)] is an invariant representation under RC+ReLU.",
    correction="E[X'^T X'] is: the expected squared norms and inner products are those of Definition 12. The columns "
    "of E[X'] itself are all parallel, ||E x_1'||^2 = 1/pi.",
    formula=r"\|\mathbb{E}\, x_1^{(t+1)}\|^2 = 1, \quad \|\mathbb{E}\, \nu_c^{(t+1)}\|^2 = \frac{1}{(n-1)^2}",
    corrected_formula=r"\mathbb{E} \|x_1^{(t+1)}\|^2 = 1, \quad \mathbb{E} \|\nu_c^{(t+1)}\|^2 = \frac{1}{(n-1)^2}",
    data="gaussian_layer",
    control=wrong_formula("sigma^2 = 2/d in the place of 2 alpha/d", alpha_one),
)
def expectation_is_invariant(gaussian_layer: xr.Dataset) -> Verdict:
    """Definition 12 for the Gram matrix of E[X'] (printed) and for E[X'^T X'] (corrected), closed and sampled."""
    layer = gaussian_layer.sel(start=INVARIANT)
    of_mean = [layer["square_of_mean_odd"] - 1, layer["square_of_mean_cluster"] - 1, layer["inner_of_means"]]
    expected = "||x_1||^2 = 1, (n-1)^2 ||nu_c||^2 = 1, x_1.nu_c = 0"
    printed = all_of(
        closed_form=deviation(np.stack(of_mean), NEXT_TO_ROUNDING, expected=expected, reason=CLOSED),
        norm_of_mean_sampled=near(layer["odd_mean"], "block", "||E x_1'|| = 1"),
    )
    inner = deviation(layer["expected_inner"], NEXT_TO_ROUNDING, expected="E x_1'.nu_c' = 0", reason=CLOSED)
    return Verdict.from_tests(printed, all_of(**squares_are_kept(layer), inner=inner))


@claim(
    "bnd-thm14-1-2",
    where="Theorem 14, items 1 and 2",
    kind="identity",
    states="E||x_1'|| = 1 and E||nu_c'|| = 1/(n-1) at alpha = n^2 / ((n-1)^2 R^2).",
    correction="E||x_1'||^2 = 1 and E||nu_c'||^2 = 1/(n-1)^2; the expected norms are below by the factor "
    "sqrt(2/d) sum_k C(d,k) 2^-d sqrt(2) Gamma((k+1)/2) / Gamma(k/2) = 1 - 5/(8d) + O(1/d^2) of the width.",
    formula=r"\mathbb{E} \|x_1^{(t+1)}\| = 1, \quad \mathbb{E} \|\hat\nu_c\| = \frac{1}{n-1}",
    corrected_formula=r"\mathbb{E} \|x_1^{(t+1)}\|^2 = 1, \quad \mathbb{E} \|\hat\nu_c\|^2 = \frac{1}{(n-1)^2}",
    data="gaussian_layer",
    control=wrong_formula("sigma^2 = 2/d in the place of 2 alpha/d", alpha_one),
)
def norms_of_theorem_14(gaussian_layer: xr.Dataset) -> Verdict:
    """Norms and squared norms of explicit layers on a batch with R > n/(n-1), directions at random."""
    layer = gaussian_layer.sel(start=FAR)
    printed = all_of(
        odd_point=near(layer["odd_norm"], "block", "E||x_1'|| = 1"),
        cluster=near(layer["cluster_norm"], "block", "(n-1) E||nu_c'|| = 1"),
    )
    norms = all_of(
        odd_point=near(layer["odd_norm"] / layer["norm_ratio"], "block", "E||x_1'|| over its closed form"),
        cluster=near(layer["cluster_norm"] / layer["norm_ratio"], "block", "(n-1) E||nu_c'|| over its closed form"),
    )
    return Verdict.from_tests(
        printed,
        all_of(**squares_are_kept(layer), norms=norms),
        "Item 2 prints 1/(n-1) on the right, so the squares are missing on both sides, not lost in the text.",
    )


@claim(
    "bnd-thm14-3",
    where="Theorem 14, item 3",
    kind="identity",
    states="x_1'.nu_c' = 0 for every W.",
    data="gaussian_layer",
    control=wrong_formula("layers without recentring", not_recentred),
)
def orthogonality_of_theorem_14(gaussian_layer: xr.Dataset) -> Verdict:
    """Largest inner product over all layers of explicit weights, directions and norms of x_1 and nu_c at random."""
    layer = gaussian_layer.sel(start=FAR)
    cosine = float(np.abs(layer["cluster_mean_cosine"]).max())
    return Verdict.from_tests(
        orthogonal(layer),
        note="x~_1 = ((n-1)/n)(x_1 - nu_c) and nu~ = -(x_1 - nu_c)/n are antipodal for any batch. nu_c' = ReLU(W nu_c "
        f"- mu) is not the mean of the new cluster; with that mean the expected cosine is up to {cosine:.1e} here.",
    )


def at_the_invariant_distance(contraction: xr.Dataset, *others: xr.Dataset) -> tuple[xr.Dataset, ...]:
    """Puts the sigma that keeps ||x_1|| at R of an invariant representation in the place of Theorem 14's."""
    scale = contraction["norm_keeping_alpha"] / contraction["alpha"]
    return contraction.assign(largest_factor=contraction["largest_factor"] * scale), *others


@claim(
    "bnd-thm14-4",
    where="Theorem 14, item 4, eqs. (112)-(117)",
    kind="bound",
    states="E||x_i' - x_j'||^2 < ||x_i - x_j||^2 within the cluster if R > n/(n-1).",
    data=("contraction", "gaussian_layer"),
    control=wrong_formula(
        "R of an invariant representation, below n/(n-1), with the sigma that keeps ||x_1||", at_the_invariant_distance
    ),
)
def cluster_contracts(contraction: xr.Dataset, gaussian_layer: xr.Dataset) -> Verdict:
    """Closed-form factors of all pairs in random configurations; one pair's factor in layers of explicit weights."""
    factor = contraction["largest_factor"]
    layer = gaussian_layer.sel(start=FAR)
    return Verdict.from_tests(
        all_of(
            factor=at_most(factor, 1, expected="below 1", reason="the statement"),
            factor_over_alpha=at_most(
                factor / contraction["alpha"],
                1 + NEXT_TO_ROUNDING,
                expected="at most 1",
                reason="alpha is the limit of narrow clusters; round-off",
            ),
            sampled_over_closed_form=near(
                layer["pair_factor"] / layer["expected_pair_factor"], "block", "E||x_2' - x_3'||^2 as in (116)"
            ),
        ),
        note="The radius 1/n^2 of the cluster is not needed, R > n/(n-1) is alpha < 1. Positively collinear recentred "
        "points contract by alpha alone. The second expectation sign is missing in (114)-(115).",
    )


@claim(
    "bnd-thm14-hyp",
    where="Theorem 14, hypothesis",
    kind="bound",
    states="An invariant representation can have ||x_1 - nu_c|| = R > n/(n-1) and a cluster of radius below 1/n^2.",
    correction="x_1, nu_c and the cluster are arbitrary but for R > n/(n-1): an invariant representation has "
    "R = sqrt((n-1)^2 + 1)/(n-1) < n/(n-1) and a cluster of radius zero.",
    formula=r"\|x_1 - \nu_c\| = R > \frac{n}{n-1}, \quad \|x_i - \nu_c\| < \frac{1}{n^2}",
    corrected_formula=r"\|x_1 - \nu_c\| = \frac{\sqrt{(n-1)^2 + 1}}{n-1} < \frac{n}{n-1}, \quad x_i = \nu_c",
    data=("contraction", "gaussian_layer"),
    control=wrong_formula(
        "R of an invariant representation, below n/(n-1), with the sigma that keeps ||x_1||", at_the_invariant_distance
    ),
)
def hypothesis_can_be_met(contraction: xr.Dataset, gaussian_layer: xr.Dataset) -> Verdict:
    """R of Definition 12 against n/(n-1); then items 1 to 4 for batches that meet R > n/(n-1) alone."""
    layer = gaussian_layer.sel(start=FAR)
    return Verdict.from_tests(
        at_least(
            contraction["invariant_distance"] / contraction["required_distance"],
            1,
            expected="R of Definition 12 above n/(n-1)",
            reason="the hypothesis",
        ),
        all_of(
            **squares_are_kept(layer),
            item_3=orthogonal(layer),
            item_4=at_most(contraction["largest_factor"], 1, expected="below 1", reason="the statement"),
        ),
    )


def distance_kept(contraction: xr.Dataset, gaussian_layer: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Keeps R at its value in the sampled start, above n/(n-1), in every layer: alpha is then below one."""
    alpha = 1 / gaussian_layer["distance"] ** 2
    return contraction.assign(factor=contraction["factor"] * alpha / contraction["norm_keeping_alpha"]), gaussian_layer


@claim(
    "bnd-thm14-iter",
    where="Section I, text before Theorem 14",
    kind="limit",
    states="One odd point and a cluster remain geometrically unchanged; each layer brings the batch closer to an "
    "invariant representation.",
    correction="The distance after one layer is sqrt(1 + 1/(n-1)^2) < n/(n-1), so Theorem 14 cannot be applied again. "
    "At the sigma that keeps ||x_1|| a narrow cluster widens by alpha = n^2/((n-1)^2 + 1) > 1 per layer in mean "
    "square and a wide one contracts; what is stable is a cluster of angular width near 3 pi / n.",
    corrected_formula=(
        r"R'^2 = 1 + \frac{1}{(n-1)^2} < \frac{n^2}{(n-1)^2}, \quad \alpha = \frac{n^2}{(n-1)^2 + 1} > 1"
    ),
    data=("contraction", "gaussian_layer"),
    control=wrong_formula("R kept above n/(n-1) in every layer", distance_kept),
)
def step_can_be_repeated(contraction: xr.Dataset, gaussian_layer: xr.Dataset) -> Verdict:
    """The distance after a layer against n/(n-1); then growth of narrow, decay of wide clusters, stability."""
    layer = gaussian_layer.sel(start=FAR)
    n = layer["batch"]
    square = layer["expected_odd_square"] + layer["expected_cluster_square"] / (n - 1) ** 2
    sampled = (layer["odd_square"] + layer["cluster_square"] / (n - 1) ** 2) / (1 + 1 / (n - 1) ** 2)
    narrow = contraction["factor"].isel(spread=0) / contraction["norm_keeping_alpha"]
    full = contraction["full_multiplier"].values
    multipliers = np.concatenate([contraction["family_multiplier"].values, full[np.isfinite(full)]])
    corrected = all_of(
        next_square_distance=near(sampled, "block", "R'^2 = 1 + 1/(n-1)^2"),
        narrow_cluster=deviation(
            narrow - 1, 0.01, expected="factor alpha > 1", reason="leading correction 2 theta/(3 pi), theta below 0.02"
        ),
        wide_cluster=at_most(
            contraction["factor"].isel(spread=-1), 1, expected="factor below 1", reason="the cluster contracts"
        ),
        multiplier_of_the_fixed_point=at_most(
            multipliers, 1, expected="below 1", reason="stability is a modulus below 1"
        ),
    )
    printed = at_least(
        np.sqrt(square) * (n - 1) / n,
        1,
        expected="R' after a layer above n/(n-1)",
        reason="the hypothesis of a next layer",
    )
    return Verdict.from_tests(printed, corrected)
