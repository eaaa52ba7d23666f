"""Claims on Theorem 14, one layer on an odd point and a cluster, and on what its iteration gives."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, in_dataset, replace_variables, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.verdicts import Verdict, all_of, at_least, at_most, deviation
from repdyn.bn_decomposed.claims.gaussian_layers import (
    ALPHA_ONE,
    FAR,
    NEXT_TO_ROUNDING,
    NOT_RECENTERED,
    SQUARES,
    alpha_one,
    near,
    orthogonal,
    squares_are_kept,
)
from repdyn.bn_decomposed.theory.invariance import theorem13_alpha, theorem14_norms_as_printed

SMALLEST_CLUSTER = 1.0  # in units of 1/n^2: Theorem 14 is about clusters below


def norms_as_printed(gaussian_layer: xr.Dataset) -> xr.Dataset:
    """Expected norms as the printed theorem has them, 1 at every width."""
    ratio = xr.full_like(gaussian_layer["norm_ratio"], theorem14_norms_as_printed(3)[0])
    return gaussian_layer.assign_coords(norm_ratio=ratio)


NORMS_AS_PRINTED = wrong_formula("the printed norms, 1 at every width", norms_as_printed, recomputes=True)


@claim(
    "bnd-thm14-1-2",
    where="Section III, Theorem 14, items 1 and 2",
    line=279,
    kind_of_slip="misprint",
    assumes="the variance of Theorem 14",
    words=r"$\mathbb{E}[\|\hat{\nu}_c\|] = \frac{1}{n-1}$",
    kind="identity",
    states="At the variance of Theorem 14 the expected norm of the odd point is 1, that of the image of the cluster's "
    "mean $1 / (n - 1)$.",
    correction="That is true of the expected squared norms. The expected norms are smaller by a factor of the width, "
    "which tends to 1.",
    formula=r"\alpha = \frac{n^2}{(n-1)^2 R^2}: \quad \mathbb{E} \|x_1'\| = 1, \quad \mathbb{E} \|\hat\nu_c\| = "
    r"\frac{1}{n-1}",
    corrected_formula=r"\mathbb{E} \|x_1'\|^2 = 1, \quad \mathbb{E} \|\hat\nu_c\|^2 = \frac{1}{(n-1)^2}, \quad "
    r"\mathbb{E}\|x_1'\| = \sqrt{\tfrac{2}{d}} \sum_k \binom{d}{k} 2^{-d} \sqrt2\, "
    r"\frac{\Gamma(\frac{k+1}{2})}{\Gamma(\frac{k}{2})} = 1 - \frac{5}{8d} + O(d^{-2})",
    control=dict.fromkeys(SQUARES, ALPHA_ONE)
    | dict.fromkeys(("norm of the odd point", "norm of the cluster"), NORMS_AS_PRINTED),
    message="Items 1 and 2 hold for squared norms, not for norms",
    cause="The expected norm is smaller than the root of the expected squared norm, by a factor of the width that "
    "tends to 1.",
    consequence=r"Both items hold with squares on both sides, $\mathbb{E} \|x_1'\|^2 = 1$ and $\mathbb{E} "
    r"\|\hat\nu_c\|^2 = 1/(n - 1)^2$.",
    labels={
        "cluster": "norm of the image of the cluster's mean over the printed one",
        "closed form": "expected squared norms in closed form, against 1",
        "cluster sampled": "squared norm of the image of the cluster's mean in sampled layers, over the expected one",
        "odd point": "norm of the odd point in sampled layers, over the printed one",
    },
    remark="Item 2 prints $1 / (n - 1)$ on the right, so the squares are missing on both sides, not lost in the text.",
    sought=r"Corrected form: $\|\tilde x_1\| = \frac{n-1}{n} R$ and $\|\tilde\nu_c\| = \frac{R}{n}$ in any batch, two"
    r" points and points on a line included, so that $\alpha$ cancels $R$ whatever the shape of the cluster. "
    "The norms are chi variables of a binomial number of positive neurons; sampled down to one neuron, where "
    r"$\mathbb{E}\|x_1'\| = 1/\sqrt\pi$ is farthest from 1.",
)
def norms_of_theorem_14(gaussian_layer: xr.Dataset) -> Verdict:
    """Norms and squared norms of explicit layers on a batch with R > n/(n-1), directions at random."""
    require(gaussian_layer, "gaussian_layer", width=(1,))
    layer = gaussian_layer.sel(start=FAR)
    printed = {
        "odd point": near(layer["odd_norm"], "block", "norm 1"),
        "cluster": near(layer["cluster_norm"], "block", "norm $1 / (n - 1)$"),
    }
    norms = {
        "norm of the odd point": near(layer["odd_norm"] / layer["norm_ratio"], "block", "over its closed form"),
        "norm of the cluster": near(layer["cluster_norm"] / layer["norm_ratio"], "block", "over its closed form"),
    }
    return Verdict.from_tests(printed, {**squares_are_kept(layer), **norms})


@claim(
    "bnd-thm14-3",
    where="Section III, Theorem 14, item 3",
    line=280,
    assumes="any norms and directions before the layer",
    words="This holds for any W and not only in expectation",
    kind="identity",
    states="The odd point and the image of the cluster's mean are orthogonal for any draw of the weights, with any "
    "norms and directions before.",
    formula=r"x_1' \cdot \hat\nu_c = 0",
    control=NOT_RECENTERED,
    remark="The recentered points are antipodal for any batch. The image of the cluster's mean is not the mean of the "
    "new cluster.",
    sought="The identity behind Theorem 13 uses neither norms nor angles: both recentered vectors lie on the line "
    r"through 0 along $x_1 - \nu_c$, on opposite sides, and are zero if $x_1 = \nu_c$. Sampled at random "
    r"directions and lengths. Not covered is the mean of the new cluster, which $\hat\nu_c$ is not, and which "
    "need not be orthogonal.",
)
def orthogonality_of_theorem_14(gaussian_layer: xr.Dataset) -> Verdict:
    """Largest inner product over all layers of explicit weights, directions and norms of x_1 and nu_c at random."""
    layer = gaussian_layer.sel(start=FAR)
    return Verdict.from_tests(
        orthogonal(layer),
        facts={"largest expected cosine to the mean of the new cluster": np.abs(layer["cluster_mean_cosine"]).max()},
    )


WRONG_KERNEL = r"$\arccos \rho$ for $\pi - \arccos \rho$ in (111)"


TOO_NEAR = "$R$ of an invariant representation, below $n / (n - 1)$"


def at_the_invariant_distance(contraction: xr.Dataset) -> xr.Dataset:
    """Takes R of an invariant representation, at which Theorem 14's alpha is that of Theorem 13, above 1."""
    alpha = xr.DataArray([theorem13_alpha(n) for n in contraction["batch"].values.tolist()], dims="batch")
    return contraction.assign(largest_factor=contraction["largest_factor"] * alpha / contraction["alpha"])


@claim(
    "bnd-thm14-4",
    where="Section III, Theorem 14, item 4; Appendix F, eqs. (112)-(117)",
    line=268,
    assumes="R above n/(n-1), any two different points of the cluster, as in its proof; the mean is over all W (in "
    "print the images differ, a random event)",
    words="item 4 shows that the cluster contracts, while keeping the scale of the representation",
    kind="bound",
    states="If the odd point is farther than $n / (n - 1)$ from the cluster's mean, a layer brings any two points of "
    "the cluster closer in mean square.",
    formula=r"R > \frac{n}{n-1} \;\Rightarrow\; \mathbb{E} \|x_i' - x_j'\|^2 < \|x_i - x_j\|^2",
    control={
        "factor": false_world(TOO_NEAR, in_dataset(0, at_the_invariant_distance), recomputes=True),
        "factor over its limit": wrong_formula(
            WRONG_KERNEL, in_dataset(0, replace_variables(largest_factor="wrong_largest_factor"))
        ),
        "sampled over closed form": wrong_formula(
            WRONG_KERNEL, in_dataset(1, replace_variables(expected_pair_factor="wrong_pair_factor"))
        ),
    },
    labels={"factor": "factor on the mean square distance within the cluster"},
    remark="The radius $1 / n^2$ of the cluster is not needed. Positively collinear recentered points contract by "
    r"$\alpha$ alone. The second expectation sign is missing in (114)-(115).",
    sought=r"Proof: $\alpha (\|\tilde x_i\|^2 + \|\tilde x_j\|^2 - 2 K)$ with $K \ge \tilde x_i \cdot \tilde x_j$ "
    r"(bnd-eq111-ineq) and $\alpha < 1$. Tried: points on a line (factor $\alpha$ exactly on one side of the "
    "mean), a point at the mean of the batch, antipodal points, three points, $R$ within 1e-9 of $n/(n-1)$. "
    r"Given the event that the images differ, a layer of one neuron would have up to $2\alpha$.",
)
def cluster_contracts(contraction: xr.Dataset, gaussian_layer: xr.Dataset) -> Verdict:
    """Closed-form factors of all pairs in random configurations; one pair's factor in layers of explicit weights."""
    factor = contraction["largest_factor"]
    layer = gaussian_layer.sel(start=FAR)
    return Verdict.from_tests(
        {
            "factor": at_most(factor, 1, expected="below 1", reason="the statement"),
            "factor over its limit": at_most(
                factor / contraction["alpha"],
                1 + NEXT_TO_ROUNDING,
                expected="at most 1",
                reason=r"$\alpha$ is the limit of narrow clusters; round-off",
            ),
            "sampled over closed form": near(
                layer["pair_factor"] / layer["expected_pair_factor"], "block", "the expectation (116)"
            ),
        }
    )


@claim(
    "bnd-thm14-hyp",
    where="Section III, Theorem 14, hypothesis",
    line=270,
    kind_of_slip="result changes",
    assumes="Definition 12; two points or more",
    words=r"be an invariant representation such that $||x_1 - \nu_c|| =$ $R > \frac{n}{n-1}$",
    kind="bound",
    states="Theorem 14 is about invariant representations whose odd point is farther than $n / (n - 1)$ from the "
    "cluster.",
    correction="There is none: norms 1 and $1 / (n - 1)$ and orthogonality already fix a smaller distance. The items "
    "hold for any batch whose odd point is farther than $n / (n - 1)$ from the mean of the others.",
    formula=r"\|x_1\| = 1, \quad \|\nu_c\| = \frac{1}{n-1}, \quad x_1 \cdot \nu_c = 0, \quad \|x_1 - \nu_c\| = R > "
    r"\frac{n}{n-1}",
    corrected_formula=r"x_1, \nu_c \text{ arbitrary}, \quad \|x_1 - \nu_c\| = R > \frac{n}{n-1}",
    control={
        "items 1 and 2": ALPHA_ONE,
        "item 3": NOT_RECENTERED,
        "item 4": false_world(TOO_NEAR, in_dataset(1, at_the_invariant_distance), recomputes=True),
    },
    message="No representation meets the hypothesis of Theorem 14",
    cause="Norms 1 and $1/(n - 1)$ and a right angle fix the distance, $R^2 = 1 + 1/(n - 1)^2$, below the $n/(n - "
    "1)$ that is asked for.",
    consequence="The items hold for any batch whose odd point is farther than $n/(n - 1)$ from the mean of the others.",
    labels={
        "item 3": "inner product of odd point and cluster, in every layer",
        "item 4": "factor of a layer on the size of the cluster",
    },
    remark="The text before the theorem is about a representation somewhat similar to an invariant one; items 1 to 3 "
    "of Definition 12 are enough for the contradiction, so some of them must go.",
    sought="Corrected form: bnd-thm14-1-2, -3 and -4 use no more than $R > n/(n-1)$, and hold in one dimension, for "
    "one neuron and next to the border. That no batch meets the printed form: $(n-1)^2 + 1 < n^2$ for each $n"
    r" \ge 2$.",
    defence="The text before the theorem is about a representation somewhat similar to an invariant one, and a cluster "
    "of positive radius cannot be that of Definition 12. So the hypothesis is a slip of the words, and the proof, "
    "which uses the distance $R$ alone, is right.",
    answer="Items 1 to 3 of Definition 12 fix $R$ whatever the radius of the cluster, so that one of them has to be "
    "broken, by a share of about $1/(n - 1)$ at least, and which one the paper does not say. As printed the theorem is "
    "about no batch; who applies it needs another condition, the one on $R$ alone that the proof uses.",
)
def hypothesis_can_be_met(gaussian_layer: xr.Dataset, contraction: xr.Dataset) -> Verdict:
    """R of Definition 12 against n/(n-1); then items 1 to 4 for batches that meet R > n/(n-1) alone."""
    layer = gaussian_layer.sel(start=FAR)
    return Verdict.from_tests(
        at_least(
            (contraction["invariant_distance"] / contraction["required_distance"]).max(),  # of one batch would do
            1,
            expected="distance of Definition 12 above $n / (n - 1)$",
            reason="the hypothesis",
        ),
        {
            "items 1 and 2": squares_are_kept(layer)["closed form"],
            "item 3": orthogonal(layer),
            "item 4": at_most(contraction["largest_factor"], 1, expected="below 1", reason="the statement"),
        },
    )


def distance_kept(contraction: xr.Dataset, gaussian_layer: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Keeps the odd point, in every layer, as far as in the sampled start; alpha of Theorem 14 is then below one."""
    alpha = 1 / gaussian_layer["distance"] ** 2
    norm_keeping = xr.DataArray([theorem13_alpha(n) for n in contraction["batch"].values.tolist()], dims="batch")
    return contraction.assign(factor=contraction["factor"] * alpha / norm_keeping), gaussian_layer


def point_at_its_distance(contraction: xr.Dataset) -> xr.Dataset:
    """Takes Definition 12 literally: its cluster is a point and its odd point nearer than Theorem 14 asks."""
    return at_the_invariant_distance(contraction).assign(family_multiplier=contraction["point_multiplier"])


DISTANCE_KEPT = false_world(
    "an odd point kept farther than $n / (n - 1)$ in every layer", distance_kept, recomputes=True
)


@claim(
    "bnd-thm14-iter",
    where="Introduction, Our Contribution; Section III, Theorem 14",
    line=71,
    kind_of_slip="result changes",
    assumes="a cluster of the width of Theorem 14 and one separate point; a network of one layer or of several",
    words=("remains geometrically unchanged after the application of a randomly initialized network with RC"),
    kind="limit",
    states="A narrow cluster and one separate point remain geometrically unchanged through the layers of a network.",
    correction="A cluster as narrow as Theorem 14's widens at the variance that keeps the odd point's norm; what "
    "remains is a separate point and a cluster of a finite width (bnd-cluster-rest).",
    formula=r"\frac{\mathbb{E} \|x_i' - x_j'\|^2}{\|x_i - x_j\|^2} < 1 \quad \text{at } \alpha = \frac{n^2}{(n-1)^2 + "
    "1}",
    control=false_world(
        "the point-like cluster of Definition 12, at its own distance from the odd point",
        in_dataset(0, point_at_its_distance),
        recomputes=True,
    ),
    remark="One layer from a distance above $n / (n - 1)$ does contract the cluster (bnd-thm14-4); after it the "
    "distance is smaller (bnd-cluster-rest), so that the next layers widen it.",
    defence="Geometrically unchanged means that a separate point and a cluster remain such, at a right angle: so it "
    "is in each layer, and after a disturbance they return. The network of the sentence is the one random "
    "layer of Theorem 14, in which the cluster contracts (item 4); the theorem does not say that it can be "
    "iterated.",
    answer="In kind, and in one layer, this is right: two of the three readings pass. In size it is not: after the "
    r"layer of the theorem the distance is $\sqrt{1 + 1/(n-1)^2} < n/(n-1)$, so that the theorem does not "
    r"apply to the next one, and at the variance that keeps $\|x_1\|$ clusters as narrow as its own widen by "
    r"up to $\alpha = n^2/((n-1)^2+1)$ per layer in mean square, until they have the width of bnd-infwidth.",
)
def narrow_clusters_contract(contraction: xr.Dataset, gaussian_layer: xr.Dataset) -> Verdict:
    """Factor of the mean square size of clusters narrower than 1/n^2, odd point and cluster as in Definition 12."""
    narrow = contraction["factor"].where(contraction["spread"] <= SMALLEST_CLUSTER, drop=True)
    if not narrow.sizes["spread"]:
        raise NotEnoughDataError("contraction: a spread of 1 or less")
    full = contraction["full_multiplier"]
    stable = np.concatenate([contraction["family_multiplier"].values, full[np.isfinite(full)].values])
    sizes = contraction["resting_spread"] / contraction["batch"] ** 2
    readings = {
        "the cluster does not widen": at_most(narrow, 1, expected="factor at most 1", reason="unchanged in size"),
        "the cluster does not widen in one layer of Theorem 14": at_most(
            contraction["largest_factor"], 1, expected="factor at most 1", reason="unchanged in size, one layer"
        ),
        "a cluster and a separate point stay": all_of(
            returns=at_most(stable, 1, expected="below 1", reason="stability is a modulus below 1"),
            size=at_most(sizes, 0.25, expected="narrow", reason="a quarter of the distance to the odd point"),
        ),
    }
    return Verdict.from_tests(over_readings(lambda unchanged: unchanged, unchanged=readings))


def layer_without_relu(contraction: xr.Dataset) -> xr.Dataset:
    """A linear layer, which scales every distance alike."""
    return contraction.assign(factor=xr.zeros_like(contraction["factor"]) + contraction["norm_keeping_alpha"])


@claim(
    "bnd-cluster-rest",
    where="Section III, beside Theorem 14",
    kind="limit",
    origin="ours",
    states="After the layer of Theorem 14 the distance is below $n / (n - 1)$. At the variance that keeps the odd "
    "point's norm a narrow cluster widens, a wide one contracts, and what is stable is a cluster of a finite "
    r"width, which tends to $3\pi/n$.",
    formula=r"R'^2 = 1 + \frac{1}{(n-1)^2} < \frac{n^2}{(n-1)^2}, \quad \alpha = \frac{n^2}{(n-1)^2 + 1} > 1, \quad "
    r"\theta = \frac{3\pi}{n} \left(1 + O\!\left(\tfrac1n\right)\right)",
    control={
        "next square distance": wrong_formula(ALPHA_ONE.says, in_dataset(1, alpha_one), recomputes=True),
        "narrow cluster": DISTANCE_KEPT,
        "wide cluster": false_world("a layer without ReLU", in_dataset(0, layer_without_relu)),
        "multiplier of the fixed point": false_world(
            "the point-like cluster of Definition 12",
            in_dataset(0, replace_variables(family_multiplier="point_multiplier")),
        ),
    },
    labels={
        "narrow cluster": "factor of a layer on the size of a narrow cluster",
        "wide cluster": "factor of a layer on the size of a wide cluster",
    },
    assumes="recentering and ReLU, Gaussian weights without biases, expectations at infinite width; ten points and "
    "more, cluster and odd point as in Definition 12 but for the size of the cluster; the variance is fixed "
    r"by $\alpha$",
)
def cluster_comes_to_rest(contraction: xr.Dataset, gaussian_layer: xr.Dataset) -> Verdict:
    """The distance after a layer; growth of narrow, decay of wide clusters, stability of the resting one."""
    layer = gaussian_layer.sel(start=FAR)
    n, spread = layer["batch"], contraction["spread"].values
    if spread[0] > 0.05 or spread[-1] < 20:
        raise NotEnoughDataError("contraction: spreads from 0.05 or less to 20 or more")
    sampled = (layer["odd_square"] + layer["cluster_square"] / (n - 1) ** 2) / (1 + 1 / (n - 1) ** 2)
    narrow = contraction["factor"].isel(spread=0) / contraction["norm_keeping_alpha"]
    full = contraction["full_multiplier"].values
    multipliers = np.concatenate([contraction["family_multiplier"].values, full[np.isfinite(full)]])
    return Verdict.from_tests(
        {
            "next square distance": near(sampled, "block", "$1 + 1 / (n - 1)^2$"),
            "narrow cluster": deviation(
                narrow - 1,
                0.01,
                expected=r"factor $\alpha > 1$",
                reason=r"leading correction $2 \theta / (3 \pi)$, $\theta < 0.02$",
            ),
            "wide cluster": at_most(
                contraction["factor"].isel(spread=-1), 1, expected="factor below 1", reason="the cluster contracts"
            ),
            "multiplier of the fixed point": at_most(
                multipliers, 1, expected="below 1", reason="stability is a modulus below 1"
            ),
        }
    )
